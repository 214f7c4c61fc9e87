"""Contracts of several runs: how many held, how sure that is, and what differed."""

from __future__ import annotations

import asyncio
import gc
import json
import math
from collections.abc import Callable, Iterable
from fractions import Fraction
from itertools import combinations
from typing import Any

import pytest

from tracewitness import Expectation, RepeatedResult, ToolScoreAssertionError, UsageError, expect
from tracewitness.fluent import wilson_interval
from tracewitness.scoring import EvaluationResult, evaluate

GOOD, BAD = [{"tool": "a"}], [{"tool": "a"}, {"tool": "rm"}]


def replaying(*runs: Any) -> Callable[[str], Any]:
    """Return an agent that does one of the runs after the other; an exception is raised."""
    left = iter(runs)

    def agent(prompt: str) -> Any:
        made = next(left)
        if isinstance(made, BaseException):
            raise made
        return made

    return agent


def contract(*runs: Any) -> Expectation:
    """Return a contract that holds on GOOD and not on BAD."""
    return expect(replaying(*runs)).on("hi").calls("a").does_not_call("rm").with_score(0.1)


def result_of(held: int, runs: int, at_least: int = 1) -> RepeatedResult:
    """Return what came of runs of which some held."""
    results: list[EvaluationResult] = [evaluate([], [], forbidden=["rm"])] * held
    results += [evaluate([], BAD, forbidden=["rm"])] * (runs - held)
    return RepeatedResult(tuple(results), at_least)


@pytest.mark.parametrize(
    ("held", "runs", "at_least", "passes"),
    [(10, 10, None, True), (9, 10, None, False), (9, 10, 9, True), (8, 10, 9, False), (0, 1, 1, False),
     (1, 3, 1, True)],
)  # fmt: skip
def test_enough_runs_have_to_hold(held: int, runs: int, at_least: int | None, passes: bool) -> None:
    """All of them, where nothing else is said."""
    repeated = contract(*[GOOD] * held, *[BAD] * (runs - held)).repeat(runs, at_least=at_least)
    if passes:
        found = repeated.run()
        assert (found.runs, found.held, found.passed, found.rate) == (runs, held, True, held / runs)
        assert [result.passed for result in found.results] == [True] * held + [False] * (runs - held)
    else:
        with pytest.raises(ToolScoreAssertionError) as caught:
            repeated.run()
        assert caught.value.repeated is not None
        assert caught.value.repeated.held == held
        assert not caught.value.result.passed


# The last four: R. Newcombe, Two-sided confidence intervals for the single proportion, Statistics in Medicine 17
# (1998), table I, method 3.
@pytest.mark.parametrize(
    ("held", "runs", "low", "high"),
    [(9, 10, 0.595850, 0.982124), (0, 10, 0.0, 0.277533), (10, 10, 0.722467, 1.0), (5, 10, 0.236593, 0.763407),
     (1, 1, 0.206549, 1.0), (0, 1, 0.0, 0.793451), (81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605),
     (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)],
)  # fmt: skip
def test_the_interval(held: int, runs: int, low: float, high: float) -> None:
    """Known values."""
    assert wilson_interval(held, runs) == pytest.approx((low, high), abs=1e-6 if runs <= 10 else 5e-5)
    assert result_of(held, runs).interval == wilson_interval(held, runs)


@pytest.mark.parametrize("runs", [1, 2, 7, 30])
def test_the_interval_holds_the_rate(runs: int) -> None:
    """Within 0 and 1, around the rate, the same from both sides; its bounds solve (p - rate)² = z² p (1 - p) / n."""
    for held in range(runs + 1):
        low, high = wilson_interval(held, runs)
        assert 0 <= low <= held / runs <= high <= 1
        assert wilson_interval(runs - held, runs) == pytest.approx((1 - high, 1 - low))
        for bound in (low, high):
            if 0 < bound < 1:
                assert (bound - held / runs) ** 2 == pytest.approx(
                    1.959963985**2 * bound * (1 - bound) / runs, rel=1e-6
                )


@pytest.mark.parametrize(("held", "runs"), [(0, 4), (1, 4), (3, 4), (4, 4), (2, 6), (5, 7)])
def test_pass_at_k_and_pass_hat_k(held: int, runs: int) -> None:
    """At least one, or all, of k runs drawn without putting them back: counted out."""
    outcomes = [True] * held + [False] * (runs - held)
    found = result_of(held, runs)
    for k in range(1, runs + 1):
        drawn = list(combinations(outcomes, k))
        assert found.pass_at(k) == pytest.approx(float(Fraction(sum(map(any, drawn)), len(drawn))))
        assert found.pass_hat(k) == pytest.approx(float(Fraction(sum(map(all, drawn)), len(drawn))))


@pytest.mark.parametrize("k", [0, -1, 5, True, 1.5, "2"])
def test_a_k_that_makes_no_sense(k: Any) -> None:
    """More runs can't be drawn than there were."""
    for chance in (result_of(2, 4).pass_at, result_of(2, 4).pass_hat):
        with pytest.raises(UsageError, match="k is a whole number from 1 to 4"):
            chance(k)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [({"runs": 0}, "runs"), ({"runs": True}, "runs"), ({"runs": 2.0}, "runs"), ({"runs": 3, "at_least": 4}, "at_least"),
     ({"runs": 3, "at_least": 0}, "at_least"), ({"runs": 3, "concurrency": 0}, "concurrency")],
)  # fmt: skip
def test_numbers_that_make_no_sense(arguments: dict[str, Any], problem: str) -> None:
    """They are refused before the agent runs: no run at all, or a number that none can reach."""
    with pytest.raises(UsageError, match=f"^{problem} is a whole number"):
        contract().repeat(**arguments)


def test_only_an_agent_can_be_asked_again() -> None:
    """The same recording ten times says nothing more than once."""
    for recorded in (GOOD, iter(GOOD), {"events": [{"call": "a"}]}):
        with pytest.raises(UsageError, match="only an agent"):
            expect(recorded).calls("a").repeat(2)


def test_what_is_refused_before_the_first_run() -> None:
    """A contract that can't work is found at once."""
    asked = []
    with pytest.raises(UsageError, match="prompt"):
        expect(asked.append).calls("a").repeat(3).run()
    with pytest.raises(UsageError, match="prompt"):
        asyncio.run(expect(asked.append).calls("a").repeat(3).run_async())
    assert asked == []


def test_what_differed() -> None:
    """Only what no held run has, the most frequent first; positions and what the score tolerates are left out."""
    tolerated = [{"tool": "a"}, {"tool": "b", "args": {"x": 1}}]
    runs = [
        tolerated,
        [*tolerated, {"tool": "rm"}],
        [{"tool": "rm"}, *tolerated],
        [{"tool": "rm"}, {"tool": "b", "args": {"x": 3}}],
        GOOD,
    ]
    agent = replaying(*runs)
    repeated = (
        expect(agent).on("hi").calls("a").calls("b", x=2).does_not_call("rm").with_score(0.5).repeat(5, at_least=5)
    )
    with pytest.raises(ToolScoreAssertionError) as caught:
        repeated.run()
    found = caught.value.repeated
    assert found is not None
    assert [result.passed for result in found.results] == [True, False, False, False, True]
    assert found.differences() == [
        "3 of 3 broken runs: rm was called at event 2, which is forbidden",
        "1 of 3 broken runs: a was never called",
        "1 of 3 broken runs: b.x: expected 2, got 3",
    ]
    assert str(caught.value).splitlines() == [
        "2 of 5 runs held, at least 5 had to; 3 of 3 broken runs: rm was called at event 2, which is forbidden",
        "",
        "2 of 5 runs held (rate 0.40, 95 % interval 0.12 to 0.77)",
        "pass@1 0.40, pass^1 0.40",
        "pass@2 0.70, pass^2 0.10",
        "pass@5 1.00, pass^5 0.00",
        *found.differences(),
    ]


def test_a_call_that_a_held_run_lacks_is_no_difference() -> None:
    """What the caller's bar lets through does not tell runs apart, and is warned of where enough runs hold."""
    agent = replaying(GOOD, GOOD, BAD)
    repeated = expect(agent).on("hi").calls("a").calls("b").does_not_call("rm").with_score(0.5).repeat(3, at_least=2)
    with pytest.warns(UserWarning, match="not called: b") as caught:
        found = repeated.run()
    assert {warning.filename for warning in caught} == {__file__}
    assert found.differences() == ["1 of 1 broken run: rm was called at event 1, which is forbidden"]


def test_the_result_as_data() -> None:
    """Strict JSON, and a line for people."""
    found = contract(GOOD, BAD).repeat(2, at_least=1).run()
    data = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert {key: data[key] for key in ("version", "passed", "runs", "held", "at_least", "rate")} == {
        "version": 1, "passed": True, "runs": 2, "held": 1, "at_least": 1, "rate": 0.5,
    }  # fmt: skip
    assert data["pass_at"] == {"1": 0.5, "2": 1.0}
    assert data["pass_hat"] == {"1": 0.5, "2": 0.0}
    assert [each["passed"] for each in data["results"]] == [True, False]
    assert repr(found) == "<RepeatedResult passed: 1/2 held, 0.50 (0.09 to 0.91)>"


class Meter:
    """An async agent that knows how many of its runs were in flight at once."""

    def __init__(self, fails_at: Iterable[int] = (), error: BaseException | None = None) -> None:
        self.begun = self.running = self.most = self.finished = 0
        self._fails_at = frozenset(fails_at)
        self._error = error

    async def __call__(self, _prompt: str) -> list[dict[str, Any]]:
        self.begun += 1
        number = self.begun
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            for _ in range(5):
                await asyncio.sleep(0)
                if number in self._fails_at and self._error is not None:
                    raise self._error
            self.finished += 1
        finally:
            self.running -= 1
        return GOOD


@pytest.mark.parametrize(("runs", "concurrency"), [(10, 1), (10, 3), (10, 10), (4, 100)])
def test_concurrency_is_bounded(runs: int, concurrency: int) -> None:
    """As many runs go on at a time as were allowed, and no more."""
    agent = Meter()
    repeated = expect(agent).on("hi").calls("a").repeat(runs, concurrency=concurrency)
    assert asyncio.run(repeated.run_async()).held == runs
    assert agent.most == min(runs, concurrency)
    assert agent.finished == runs


@pytest.mark.parametrize("error", [LookupError("run 3"), AssertionError("run 3")], ids=repr)
@pytest.mark.parametrize("concurrency", [1, 2, 4, 10])
def test_an_agent_that_raises_in_a_later_run(error: Exception, concurrency: int) -> None:
    """The very object passes through, and no task is left running."""
    agent = Meter([3], error)

    async def main() -> None:
        with pytest.raises(type(error)) as caught:
            await expect(agent).on("hi").calls("a").repeat(10, concurrency=concurrency).run_async()
        assert caught.value is error
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(main())
    assert agent.running == 0
    assert agent.begun == (3 if concurrency == 1 else min(10, max(4, concurrency))), "no further run is begun"
    assert agent.finished == (2 if concurrency <= 2 else 0), "what was in flight is cancelled"
    gc.collect()


def test_two_agents_that_raise() -> None:
    """The first error passes through; the second is not lost in a warning."""
    agent = Meter([2, 3], LookupError("both"))
    with pytest.raises(LookupError):
        asyncio.run(expect(agent).on("hi").calls("a").repeat(4, concurrency=4).run_async())
    gc.collect()


def test_a_cancelled_repetition() -> None:
    """Who gives up waiting leaves no task behind."""
    agent = Meter()

    async def main() -> None:
        waiting = asyncio.ensure_future(expect(agent).on("hi").calls("a").repeat(10, concurrency=2).run_async())
        for _ in range(3):
            await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(main())
    assert agent.running == 0
    assert agent.begun == 2


def test_a_sync_agent_that_raises() -> None:
    """The very object passes through."""
    error = LookupError("run 3")
    with pytest.raises(LookupError) as caught:
        contract(GOOD, GOOD, error, GOOD).repeat(4).run()
    assert caught.value is error


def test_sync_agents_can_be_repeated_by_run_async_and_async_ones_not_by_run() -> None:
    """As for one run."""
    assert asyncio.run(contract(GOOD, GOOD).repeat(2, concurrency=2).run_async()).held == 2
    with pytest.raises(TypeError, match="run_async"):
        expect(Meter()).on("hi").calls("a").repeat(2).run()
    gc.collect()


def test_a_rate_is_exact() -> None:
    """No run is lost in rounding."""
    assert math.isclose(result_of(1, 3).rate * 3, 1)
