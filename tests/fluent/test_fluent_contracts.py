"""What a contract says: expected calls, bans, the twins of the operators, and what is refused before an agent runs."""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import Callable
from typing import Any
from unittest.mock import Mock

import pytest

from tracewitness import (
    ANY,
    Contains,
    Expectation,
    Not,
    OneOf,
    Regex,
    Satisfies,
    Search,
    Trace,
    UsageError,
    check,
    evaluate,
    expect,
)
from tracewitness.expectations import Marker, MaxErrors, ToolCalled, ToolNotCalled
from tracewitness.scoring import EvaluationResult
from tracewitness.testing import agent, call, result, trace, user

SEARCH_AND_BOOK = [
    {"tool": "search", "args": {"to": "NYC"}, "result": {"flights": ["FL-1"]}},
    {"tool": "book", "args": {"flight": "FL-1"}, "result": {"status": "confirmed"}},
]


def made(*names: str) -> list[dict[str, Any]]:
    """Return calls without arguments."""
    return [{"tool": name} for name in names]


def outcome(contract: Expectation) -> bool:
    """Run a contract, and tell whether it held."""
    try:
        passed = contract.run().passed
    except AssertionError:
        return False
    assert passed
    return True


# ---------------------------------------------------------------------------------------- expected calls


def test_every_method_returns_the_builder() -> None:
    """A contract is built in one expression."""
    contract = expect(SEARCH_AND_BOOK)
    built = (
        contract.calls("search", to=ANY)
        .then_calls("book", flight=Regex(r"FL-\d+"))
        .does_not_call("cancel")
        .returns("book", status="confirmed")
        .every_call("search", to="NYC")
        .not_before("book", "search")
        .followed_by("search", "book")
        .ends_with("book")
        .terminal("book")
        .at_most("search", 1)
        .nothing_else()
        .in_order()
        .exactly()
        .check({"type": "max_errors", "max": 0})
        .with_score(0.9)
        .with_weights(argument_f1=1)
        .with_strict_args()
    )
    assert built is contract
    assert expect([]).calls_without_args("a").no_calls() is not contract
    assert built.run().score == 1.0


HOSTILE_NAMES = ("tool", "self", "prompt", "next", "marker", "args", "most", "name", "kwargs", "expectation", "result")


def test_a_tools_own_arguments_may_have_any_name() -> None:
    """No name of an argument collides with one of ours."""
    args = {name: number for number, name in enumerate(HOSTILE_NAMES)}
    subject = [{"tool": "a", "args": args, "result": args}, {"tool": "b", "args": args}]
    expect(subject).calls("a", **args).then_calls("b", **args).every_call("a", **args).returns("a", **args).run()
    expect(subject).followed_by("a", "b", **args).ends_with("b", **args).not_before("b", "a", **args).run()
    for broken in (
        expect(subject).does_not_call("a", **args),
        expect(subject).not_before("a", "b", **args),
        expect(subject).every_call("a", **{**args, "tool": "x"}),
        expect(subject).followed_by("a", "b", **{**args, "next": "x"}),
        expect(subject).ends_with("b", **{**args, "self": "x"}),
        expect(subject).returns("a", **{**args, "marker": "x"}),
    ):
        assert not outcome(broken)


@pytest.mark.parametrize(
    ("args", "score"), [({}, 1.0), ({"x": 1}, 1.0), ('{"x": ', 1.0)], ids=["none", "some", "malformed"]
)
def test_without_arguments_they_are_not_checked(args: Any, score: float) -> None:
    """`calls("a")` says nothing of arguments; the score does not know them."""
    assert expect([]).calls("a").evaluate(trace_of({"tool": "a", "args": args})).score == score


def trace_of(*calls: dict[str, Any]) -> Trace:
    """Return calls as a trace."""
    return expect(list(calls)).no_calls().attempt().trace


def test_calls_without_args() -> None:
    """`calls_without_args` says that there are none: an argument breaks it."""
    assert outcome(expect([{"tool": "a", "args": {}}]).calls_without_args("a"))
    assert outcome(expect([{"tool": "a", "args": None}]).calls_without_args("a"))
    assert not outcome(expect([{"tool": "a", "args": {"x": 1}}]).calls_without_args("a"))


@pytest.mark.parametrize(
    ("expected", "actual", "lenient", "strict"),
    [(1, 1.0, True, False), (" x", "x", True, False), ((1,), [1], True, False), (1, True, False, False),
     (1, "1", False, False), (1, 1, True, True), (OneOf(1, 2), True, False, False), (2**53, 2**53 + 1, False, False)],
)  # fmt: skip
def test_strict_arguments(expected: Any, actual: Any, lenient: bool, strict: bool) -> None:
    """Numbers go by value, texts by their words; strictly, types count and texts are identical."""
    subject = [{"tool": "a", "args": {"x": actual}}]
    assert outcome(expect(subject).calls("a", x=expected)) is lenient
    assert outcome(expect(subject).calls("a", x=expected).with_strict_args()) is strict


def test_the_score_is_that_of_evaluate() -> None:
    """A contract scores as `evaluate` does, weights included."""
    from tracewitness import evaluate

    subject = [*SEARCH_AND_BOOK, {"tool": "extra"}]
    contract = expect(subject).calls("search", to="LAX").calls("book").with_weights(argument_f1=3.0).with_score(0)
    wanted = [{"tool": "search", "args": {"to": "LAX"}}, {"tool": "book"}]
    expected = evaluate(wanted, subject, {"argument_f1": 3.0}, min_score=0)
    found = contract.run()
    assert (found.score, found.metrics, found.weights) == (expected.score, expected.metrics, expected.weights)
    assert found.score not in (0.0, 1.0)


def test_weights_add_up() -> None:
    """Weights of several calls count together; later ones replace earlier ones."""
    contract = expect(made("a")).calls("a").with_weights(argument_f1=0, sequence_accuracy=9).with_weights(argument_f1=1)
    weights = contract.run().weights
    assert weights["sequence_accuracy"] == pytest.approx(9 / 10.5)
    assert weights["argument_f1"] == pytest.approx(1 / 10.5)


# ---------------------------------------------------------------------------------------- missing calls


def test_a_missing_call_fails_without_a_bar() -> None:
    """The score alone, 0.90, would let it through."""
    found = expect(made("a")).calls("a").calls("b").attempt()
    assert (found.score, found.passed, found.reaches_min_score) == (0.9, False, True)
    with pytest.raises(AssertionError, match=r"^b was never called \(score 0\.90 >= 0\.90\)"):
        expect(made("a")).calls("a").calls("b").run()


def test_a_missing_call_that_the_callers_bar_lets_through_is_warned_of() -> None:
    """The warning names the call, and points at the line of the caller."""
    with pytest.warns(UserWarning, match="expected, but not called: b; the score 0.90 reaches 0.90") as caught:
        expect(made("a")).calls("a").calls("b").with_score(0.9).run()
    assert caught[0].filename == __file__
    assert caught[0].lineno == line_of(test_a_missing_call_that_the_callers_bar_lets_through_is_warned_of, ".run()")
    with pytest.raises(AssertionError):
        expect(made("a")).calls("a").calls("b").with_score(0.91).run()


def test_the_warning_of_an_async_run_and_of_judge_points_at_the_caller() -> None:
    """So it does where a coroutine awaits it, and where a trace is judged."""

    async def main() -> EvaluationResult:
        return await expect(made("a")).calls("a").calls("b").with_score(0.5).run_async()

    here = test_the_warning_of_an_async_run_and_of_judge_points_at_the_caller
    with pytest.warns(UserWarning, match="not called: b") as of_run:
        asyncio.run(main())
    with pytest.warns(UserWarning, match="not called: b") as of_judge:
        expect([]).calls("a").calls("b").with_score(0.5).judge(trace(call("a")))
    for warning, part in ((of_run[0], ".run_async()"), (of_judge[0], ".judge(")):
        assert (warning.filename, warning.lineno) == (__file__, line_of(here, part))


@pytest.mark.parametrize(
    "warned",
    [
        lambda: expect(made("a")).does_not_call("a", command=Regex("rm .*")),
        lambda: expect(made("a")).check(
            {"type": "tool_not_called", "tool": "a", "args": {"command": {"$regex": "rm .*"}}}
        ),
        lambda: check(trace(), [ToolNotCalled(tool="a", args={"command": Regex("rm .*")})]),
        lambda: asyncio.run(expect(made("a")).calls("a").calls("b").with_score(0.5).run_async()),
        lambda: evaluate([{"tool": "a"}, {"tool": "b"}], [{"tool": "a"}], min_score=0.5),
    ],
    ids=["ban", "check", "operator", "coroutine", "evaluate"],
)
def test_every_warning_points_at_the_users_line(warned: Callable[[], Any]) -> None:
    """However many frames of ours or of an event loop lie between."""
    with pytest.warns(UserWarning, match="line break|not called") as caught:
        warned()
    assert {(warning.filename, warning.lineno) for warning in caught} == {(__file__, warned.__code__.co_firstlineno)}


def line_of(function: Callable[..., Any], part: str) -> int:
    """Return the number of a function's line that has a part."""
    import inspect

    lines, start = inspect.getsourcelines(function)
    return next(start + number for number, line in enumerate(lines) if part in line)


def test_no_warning_without_a_missing_call() -> None:
    """Nothing is warned of where all is there, or where the contract is broken anyway."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        expect(made("a")).calls("a").with_score(0.5).run()
        with pytest.raises(AssertionError):
            expect(made("a")).calls("a").calls("b").with_score(0.5).no_calls().run()


# ---------------------------------------------------------------------------------------- bans


def test_a_ban_alone() -> None:
    """It has nothing to score: 1.0, and passed."""
    found = expect(made("a", "b")).does_not_call("delete").run()
    assert (found.score, found.passed, found.unexpected_calls, found.violations) == (1.0, True, (), ())


def test_a_ban_lists_the_offending_calls_with_their_positions() -> None:
    """Every call that offends, and no other."""
    commands = ["ls", "cd /\nrm -rf *", "rm -rf", "echo rm"]
    run = trace(user("go"), *[call("sh", command=command, cwd="/") for command in commands])
    contract = expect(run).does_not_call("sh", command=Contains("rm -rf"))
    found = contract.attempt()
    assert [violation.position for violation in found.violations] == [2, 3]
    assert [violation.call and violation.call.args["command"] for violation in found.violations] == commands[1:3]
    with pytest.raises(AssertionError) as caught:
        contract.run()
    first, second = str(caught.value).splitlines()[0].split("; ")
    assert first.startswith("sh with args {'command': Contains('rm -rf')} was called at event 2, which is forbidden")
    assert "event 3" in second


@pytest.mark.parametrize("ban", [Contains("rm -rf"), Search("rm -rf"), Regex("(?s).*rm -rf.*")], ids=repr)
def test_a_ban_over_two_lines(ban: Any) -> None:
    """A line break is no way round a ban, nor is a further argument."""
    subject = [{"tool": "sh", "args": {"command": "cd /\nrm -rf *", "cwd": "/"}}]
    assert not outcome(expect(subject).does_not_call("sh", command=ban))


def test_a_ban_that_a_line_break_slips_past_is_warned_of() -> None:
    """A dot stops at a line break; who bans by such a pattern is told so."""
    with pytest.warns(UserWarning, match="a line break slips past"):
        expect([]).does_not_call("sh", command=Regex(".*rm -rf.*"))


@pytest.mark.parametrize("args", ['{"command": ', [1]], ids=["text", "list"])
def test_a_ban_on_arguments_that_cannot_be_read(args: Any) -> None:
    """What can't be read can't be ruled out."""
    found = expect([{"tool": "sh", "args": args}]).does_not_call("sh", command="rm").attempt()
    assert not found.passed
    assert [(violation.position, bool(violation.reason)) for violation in found.violations] == [(0, True)]


def test_a_ban_where_a_problem_may_hide_a_call() -> None:
    """An event that is none may hide what is forbidden."""
    found = expect(Trace.from_events([{"call": "a"}, {"cal": "sh"}])).does_not_call("sh").attempt()
    assert not found.passed
    assert [violation.call for violation in found.violations] == [None]


def test_a_ban_whatever_the_score_is() -> None:
    """Ten right calls do not outweigh a forbidden one."""
    subject = made(*"abcdefghij", "delete_all")
    contract = expect(subject).does_not_call("delete_all").with_score(0.5)
    for tool in "abcdefghij":
        contract.calls(tool)
    found = contract.attempt()
    assert found.score > 0.9
    assert not found.passed


def test_a_full_resource_name_counts_as_its_last_part() -> None:
    """A ban on it holds, and a name that two tools share breaks every check on it, whatever the score is."""
    one, other = "projects/p/locations/l/tools/order", "projects/q/locations/l/tools/order"
    assert outcome(expect(made(one)).calls("order"))
    assert not outcome(expect(made(one)).does_not_call("order"))
    found = expect(made(one, other)).calls("order").with_score(0).attempt()
    assert not found.passed
    assert "ambiguous" in found.verdicts[0].justification
    with pytest.raises(AssertionError, match=r"^order is forbidden, and may have been called: order is ambiguous: "):
        expect(made(one, other)).does_not_call("order").run()


def test_the_score_is_no_verdict_of_its_own() -> None:
    """Nothing is said twice: a score that is too low is no broken check besides."""
    found = expect(made("projects/p/locations/l/tools/order", "x", "y")).calls("order").attempt()
    assert not found.passed
    assert [verdict.operator for verdict in found.verdicts] == ["trace_parsed"]


# ---------------------------------------------------------------------------------------- twins

FULL = trace(
    user("NYC please"),
    call("search", to="NYC"),
    result({"flights": ["FL-1"], "more": 1}),
    call("search", to="LAX"),
    result("none", is_error=True),
    call("book", flight="FL-1", seat=2),
    result({"status": "confirmed", "id": 7}),
    agent("Booked."),
)
TWINS: list[tuple[str, Callable[[Expectation], Expectation], bool]] = [
    ("returns", lambda c: c.returns("book", status="confirmed"), True),
    ("returns another", lambda c: c.returns("book", status="failed"), False),
    ("returns anything", lambda c: c.returns("search"), True),
    ("returns of what was never called", lambda c: c.returns("pay"), False),
    ("every call", lambda c: c.every_call("search", to=Not("SFO")), True),
    ("every call, one otherwise", lambda c: c.every_call("search", to="NYC"), False),
    ("every call of none", lambda c: c.every_call("pay", amount=1), True),
    ("not before", lambda c: c.not_before("book", "search"), True),
    ("not before, the other way", lambda c: c.not_before("search", "book"), False),
    ("not before a result", lambda c: c.not_before("book", {"tool": "search", "result": {"flights": ANY}}), True),
    ("not before a failed result", lambda c: c.not_before("book", Marker("search", result="none")), False),
    ("not before, with arguments", lambda c: c.not_before("search", "book", to="SFO"), True),
    ("not before what never came", lambda c: c.not_before("book", "pay"), False),
    ("followed by", lambda c: c.followed_by("search", "book", seat=2), True),
    ("followed by other arguments", lambda c: c.followed_by("search", "book", seat=3), False),
    ("followed by nothing", lambda c: c.followed_by("book", "search"), False),
    ("ends with", lambda c: c.ends_with("book", flight="FL-1"), True),
    ("ends with other arguments", lambda c: c.ends_with("book", flight="FL-2"), False),
    ("ends with another", lambda c: c.ends_with("search"), False),
    ("terminal", lambda c: c.terminal("book"), True),
    ("not terminal", lambda c: c.terminal("search"), False),
    ("at most", lambda c: c.at_most("search", 2), True),
    ("more than at most", lambda c: c.at_most("search", 1), False),
    ("no calls", lambda c: c.no_calls(), False),
    ("does not call", lambda c: c.does_not_call("pay"), True),
    ("does call", lambda c: c.does_not_call("book"), False),
    ("does not call so", lambda c: c.does_not_call("book", seat=3), True),
    ("does call so", lambda c: c.does_not_call("book", seat=2), False),
    ("check of a file", lambda c: c.check({"type": "claim", "says": "Booked", "tool": "book"}), True),
    ("broken check of a file", lambda c: c.check({"type": "claim", "says": "Booked", "tool": "pay"}), False),
    ("check as an operator", lambda c: c.check(MaxErrors(1)), True),
    ("broken check as an operator", lambda c: c.check(MaxErrors(0)), False),
    ("nothing else", lambda c: c.calls("search").calls("book").nothing_else(), True),
    ("something else", lambda c: c.calls("search").nothing_else(), False),
    ("nothing else, said first", lambda c: c.nothing_else().calls("search").calls("book"), True),
    ("nothing else than checks name", lambda c: c.ends_with("book").at_most("search", 3).nothing_else(), True),
    ("nothing else than a ban names", lambda c: c.ends_with("book").does_not_call("search", to="SFO").nothing_else(),
     False),
    ("nothing else than what may not be called", lambda c: c.ends_with("book").at_most("search", 0).nothing_else(),
     False),
    ("nothing else than nothing", lambda c: c.nothing_else(), False),
    ("in order", lambda c: c.calls("search").then_calls("book").in_order(), True),
    ("out of order", lambda c: c.calls("book").then_calls("search").in_order(), False),
    ("in order by arguments", lambda c: c.calls("search", to="NYC").then_calls("search", to="LAX").in_order(), True),
    ("out of order by arguments", lambda c: c.calls("search", to="LAX").then_calls("search", to="NYC").in_order(),
     False),
    ("in order, other arguments", lambda c: c.calls("search", to="SFO").then_calls("book").in_order(), True),
    ("exactly", lambda c: c.calls("search").calls("search").calls("book", flight="FL-1", seat=2).exactly(), True),
    ("exactly, by value", lambda c: c.calls("search").calls("search").calls("book", flight=" FL-1", seat=2.0).exactly(),
     False),
    ("exactly, numbers by value", lambda c: c.calls("search").calls("search").calls("book", flight=ANY, seat=2.0)
     .exactly(), True),
    ("exactly, strictly", lambda c: c.calls("search").calls("search").calls("book", flight=ANY, seat=2.0).exactly()
     .with_strict_args(), False),
    ("exactly with one argument more", lambda c: c.calls("search").calls("search").calls("book", seat=2).exactly(),
     False),
    ("exactly with a call more", lambda c: c.calls("search").calls("book").exactly(), False),
    ("exactly, swapped", lambda c: c.calls("search", to="LAX").calls("search", to="NYC").calls("book").exactly(),
     False),
    ("exactly nothing", lambda c: c.exactly(), False),
]  # fmt: skip


@pytest.mark.parametrize(("say", "holds"), [row[1:] for row in TWINS], ids=[row[0] for row in TWINS])
def test_twins(say: Callable[[Expectation], Expectation], holds: bool) -> None:
    """Each twin holds or is broken as its operator says, and a broken one fails whatever the score is."""
    contract = say(expect(FULL)).with_score(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        assert outcome(contract) is holds


@pytest.mark.parametrize(
    ("say", "holds"),
    [(lambda c: c.no_calls(), True), (lambda c: c.nothing_else(), True), (lambda c: c.exactly(), True),
     (lambda c: c.ends_with("a"), False), (lambda c: c.terminal("a"), True), (lambda c: c.at_most("a", 0), True)],
)  # fmt: skip
def test_twins_on_a_run_without_calls(say: Callable[[Expectation], Expectation], holds: bool) -> None:
    """“No calls” can be said, and what needs a call is broken."""
    assert outcome(say(expect([]))) is holds


def test_a_perfect_score_does_not_save_a_broken_twin() -> None:
    """Score 1.0, and the contract is broken all the same."""
    contract = expect(SEARCH_AND_BOOK).calls("search").calls("book").at_most("book", 0)
    assert contract.attempt().score == 1.0
    with pytest.raises(AssertionError, match=r"\(score 1\.00 >= 0\.90\)"):
        contract.run()


def test_two_calls_swapped_after_then_calls() -> None:
    """The caller's bar may let it through; `in_order` does not."""
    contract = expect(made("b", "a")).calls("a").then_calls("b").with_score(0.8)
    assert outcome(contract)
    assert not outcome(contract.in_order())


def test_a_malformed_argument_is_not_none() -> None:
    """Arguments that can't be read match no arguments, not even none."""
    assert not outcome(expect([{"tool": "a", "args": '{"x": '}]).calls_without_args("a"))


def test_a_contract_can_be_judged_on_many_traces() -> None:
    """The contract keeps nothing of a run."""
    contract = expect([]).calls("a").does_not_call("b")
    assert contract.evaluate(trace(call("a"))).passed
    assert not contract.evaluate(trace(call("a"), call("b"))).passed
    assert contract.judge(trace(call("a"))).passed
    with pytest.raises(AssertionError, match=r"^b was called at event 0"):
        contract.judge(trace(call("b"), call("a")))


# ---------------------------------------------------------------------------------------- refused

REFUSED: dict[str, tuple[Callable[[Any], Any], str]] = {
    "nothing": (lambda a: expect(a).on("hi").run(), "expects nothing"),
    "a score alone": (lambda a: expect(a).on("hi").with_score(0.5).run(), "expects nothing"),
    "no prompt": (lambda a: expect(a).calls("a").run(), r"\.on\(prompt\)"),
    "score above": (lambda a: expect(a).on("hi").calls("a").with_score(1.1).run(), "from 0 to 1"),
    "score below": (lambda a: expect(a).on("hi").calls("a").with_score(-0.1).run(), "from 0 to 1"),
    "score nan": (lambda a: expect(a).on("hi").calls("a").with_score(float("nan")).run(), "from 0 to 1"),
    "score a bool": (lambda a: expect(a).on("hi").calls("a").with_score(True).run(), "from 0 to 1"),
    "score a text": (lambda a: expect(a).on("hi").calls("a").with_score("high").run(), "from 0 to 1"),
    "unknown weight": (lambda a: expect(a).on("hi").calls("a").with_weights(argument_f2=1).run(), "argument_f1"),
    "negative weight": (lambda a: expect(a).on("hi").calls("a").with_weights(argument_f1=-1).run(), "argument_f1"),
    "no weight": (
        lambda a: (
            expect(a)
            .on("hi")
            .calls("a")
            .with_weights(selection_accuracy=0, argument_f1=0, sequence_accuracy=0, redundant_rate=0)
            .run()
        ),
        "all weights are zero",
    ),
    "empty tool": (lambda a: expect(a).on("hi").calls("").run(), "tool"),
    "tool no text": (lambda a: expect(a).on("hi").calls(7).run(), "tool"),
    "every call of anything": (lambda a: expect(a).on("hi").every_call("a").run(), "could not fail"),
    "order of nothing": (lambda a: expect(a).on("hi").no_calls().in_order().run(), "could not fail"),
    "negative number": (lambda a: expect(a).on("hi").at_most("a", -1).run(), "0 or more"),
    "unknown matcher": (lambda a: expect(a).on("hi").calls("a", x={"$regx": "b"}).run(), r"\$regex"),
    "unknown matcher in a ban": (lambda a: expect(a).on("hi").does_not_call("a", x={"$regx": "b"}).run(), r"\$regex"),
    "malformed schema": (lambda a: expect(a).on("hi").calls("a", x={"$schema": {"type": 7}}).run(), "schema"),
    "unknown operator": (lambda a: expect(a).on("hi").check({"type": "tool_caled"}).run(), "tool_called"),
    "unknown field": (lambda a: expect(a).on("hi").check({"type": "last_tool", "tol": "a"}).run(), "tool"),
    "unknown field of a marker": (lambda a: expect(a).on("hi").not_before("a", {"tol": "b"}).run(), "tool"),
}


@pytest.mark.parametrize(("run", "problem"), REFUSED.values(), ids=REFUSED)
def test_what_is_refused_before_the_agent_runs(run: Callable[[Any], Any], problem: str) -> None:
    """It is a ValueError that says what to do, and the agent was never asked."""
    subject = Mock(return_value=[])
    with pytest.raises(ValueError, match=problem):
        run(subject)
    subject.assert_not_called()


@pytest.mark.parametrize("recorded", [[], made("a"), FULL, {"events": [{"call": "a"}]}], ids=repr)
def test_a_prompt_for_what_cannot_be_called(recorded: Any) -> None:
    """It is refused by `run` and `run_async`."""
    with pytest.raises(ValueError, match="an agent that can be called"):
        expect(recorded).on("hi").no_calls().run()
    with pytest.raises(UsageError, match="an agent that can be called"):
        asyncio.run(expect(recorded).on("hi").no_calls().run_async())


def test_refused_by_run_async_before_the_agent_runs() -> None:
    """`run_async` refuses the same."""
    subject = Mock(return_value=[])
    with pytest.raises(ValueError, match="prompt"):
        asyncio.run(expect(subject).calls("a").run_async())
    with pytest.raises(ValueError, match="expects nothing"):
        asyncio.run(expect(subject).on("hi").run_async())
    subject.assert_not_called()


def test_an_empty_contract_holds_on_no_trace() -> None:
    """A contract that expects nothing is refused everywhere."""
    for use in (lambda c: c.evaluate(FULL), lambda c: c.judge(FULL), lambda c: c.to_yaml("x")):
        with pytest.raises(UsageError, match="expects nothing"):
            use(expect([]))


def test_a_function_that_raises_is_no_match() -> None:
    """A broken `Satisfies` fails the contract, and says which exception it was."""
    with pytest.raises(AssertionError, match="ZeroDivisionError"):
        expect([{"tool": "a", "args": {"x": 0}}]).calls("a", x=Satisfies(lambda x: 1 / x)).run()


def test_a_check_keeps_its_name_and_reason() -> None:
    """What its author wrote is shown."""
    with pytest.raises(AssertionError) as caught:
        expect([]).check(ToolCalled("pay", name="pays", reason="the order must be paid")).run()
    assert str(caught.value).splitlines()[0].startswith("pays: pay was never called")
    assert "the order must be paid" in str(caught.value)
