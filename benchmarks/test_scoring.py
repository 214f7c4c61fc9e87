"""How long scoring takes, side by side with tool-scorer where it is installed."""

from __future__ import annotations

import copy
import random
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tracewitness.scoring import evaluate

Calls = list[dict[str, Any]]
Say = Callable[[str], None]

PEER = "tool-scorer"
TWENTY_THOUSAND = 20_000


def call(tool: str, **args: Any) -> dict[str, Any]:
    """Write a call."""
    return {"tool": tool, "args": args}


def with_wrong(calls: Calls, share: float, change: Callable[[dict[str, Any]], dict[str, Any]]) -> Calls:
    """Return the calls shuffled, some with other arguments."""
    generator = random.Random(1)  # noqa: S311 - the same numbers every time
    made = [
        {**each, "args": change(dict(each["args"])) if generator.random() < share else each["args"]} for each in calls
    ]
    generator.shuffle(made)
    return made


def peer() -> Callable[[Calls, Calls], Any]:
    """Return tool-scorer's way to evaluate calls."""
    toolscore = pytest.importorskip("toolscore", reason=f"{PEER} is not installed")
    evaluate_there: Callable[[Calls, Calls], Any] = toolscore.evaluate
    return evaluate_there


def seconds(work: Callable[[], object], times: int = 1) -> float:
    """Return the processor time of one run of the work, of so many: what else runs on the machine counts less."""
    begun = time.process_time()
    for _ in range(times):
        work()
    return (time.process_time() - begun) / times


def compare(say: Say, what: str, expected: Calls, made: Calls, *, goal: int, times: int, rounds: int = 9) -> None:
    """Evaluate here and there by turns, and say how many times faster it is here."""
    there = peer()
    here_seconds, ratios = [], []
    for _ in range(rounds):
        here = seconds(lambda: evaluate(expected, made), times)
        here_seconds.append(here)
        ratios.append(seconds(lambda: there(expected, made), max(times // 5, 1)) / here)
    say(
        f"{what}: {statistics.median(here_seconds) * 1e6:,.0f} µs, {statistics.median(ratios):.1f} times as fast as "
        f"{PEER} (median of {rounds}, {min(ratios):.1f} to {max(ratios):.1f}); the goal is {goal}"
    )


FIVE = [call(f"t{number}", q=f"lamp {number}", n=number) for number in range(5)]
ONE_TOOL = [call("t", q=f"lamp {number}", n=number) for number in range(5)]
FIVES: dict[str, tuple[Calls, Calls]] = {
    "all right": (FIVE, copy.deepcopy(FIVE)),
    "an argument wrong in each": (FIVE, [call(each["tool"], q=each["args"]["q"], n=9) for each in FIVE]),
    "arguments not checked": ([{"tool": each["tool"]} for each in FIVE], FIVE),
    "two missing, two unexpected": (FIVE, [*FIVE[:3], {"tool": "x"}, {"tool": "y"}]),
    "one tool, reversed": (ONE_TOOL, ONE_TOOL[::-1]),
    "one tool, an argument wrong in each": (ONE_TOOL, [call("t", q=each["args"]["q"], n=9) for each in ONE_TOOL[::-1]]),
}


@pytest.mark.parametrize("shape", FIVES)
def test_five_calls(shape: str, say: Say) -> None:
    """The usual size: what counts is how little there is around it."""
    compare(say, f"evaluate 5 calls, {shape}", *FIVES[shape], goal=5, times=500)


def thousand() -> dict[str, tuple[Calls, Calls]]:
    """Return 1,000 calls of five tools on both sides, in several shapes."""
    generator = random.Random(1)  # noqa: S311 - the same numbers every time
    calls = [call(f"t{number % 5}", q=f"lamp {number}", n=number) for number in range(1000)]

    def few_values() -> Calls:
        values = [(f"lamp {number}", page, unit) for number in range(20) for page in range(5) for unit in "ab"]
        drawn = [generator.choice(values) for _ in range(1000)]
        return [call(f"t{generator.randrange(5)}", q=q, n=n, u=u) for q, n, u in drawn]

    return {
        "all right": (calls, copy.deepcopy(calls)),
        "permuted": (calls, with_wrong(calls, 0, dict)),
        "permuted, 30 % wrong in one argument": (calls, with_wrong(calls, 0.3, lambda args: {**args, "n": -1})),
        "three arguments of few values at random": (few_values(), few_values()),
    }


@pytest.mark.parametrize("shape", thousand())
def test_a_thousand_calls_of_five_tools(shape: str, say: Say) -> None:
    """Two hundred calls of each tool, which have to be paired."""
    compare(say, f"evaluate 1,000 calls of five tools, {shape}", *thousand()[shape], goal=50, times=3, rounds=5)


@pytest.mark.parametrize(("names", "values"), [(3, 50), (3, 5), (10, 5), (10, 2)])
def test_two_hundred_random_calls_of_one_tool(names: int, values: int, benchmark: Any, say: Say) -> None:
    """200 expected against 200 actual calls, paired exactly; the fewer the values, the more pairs are as good."""
    generator = random.Random(names)  # noqa: S311

    def draw() -> Calls:
        return [call("t", **{f"a{name}": generator.randrange(values) for name in range(names)}) for _ in range(200)]

    expected, made = draw(), draw()
    result = benchmark.pedantic(lambda: evaluate(expected, made), rounds=5)
    say(
        f"200 calls of one tool against 200, {names} random arguments of {values} values: "
        f"{benchmark.stats.stats.median * 1000:.0f} ms; the goal is 500 ms"
    )
    assert len(result.pairs) == 200


def test_two_thousand_expected_calls_and_one_made(say: Say) -> None:
    """Time grows with the number of calls, not with its square, and nothing recurses."""
    times = []
    for size in (2_000, 20_000):
        expected = [call("t", x=number, y=0) for number in range(size)]
        times.append(min(seconds(lambda: evaluate(expected, [call("t", x=1, y=1)])) for _ in range(5)))  # noqa: B023
    say(
        f"2,000 expected calls of one tool and one made: {times[0] * 1000:.1f} ms; ten times as many: "
        f"{times[1] / times[0]:.1f} times as long"
    )


def twenty_thousand(shape: str) -> tuple[Calls, Calls]:
    """Return 20,000 calls of one tool on both sides."""
    size = range(TWENTY_THOUSAND)
    calls = [call("t", id=number, q=f"query {number}", page=number % 10, city=f"c{number % 50}") for number in size]
    if shape == "permuted":
        return calls, with_wrong(calls, 0, dict)
    if shape == "all different":
        return calls, [call("t", id=-1 - number, q=f"other {number}", page=-1, city="") for number in size]
    if shape == "all equal":
        return calls[:1] * TWENTY_THOUSAND, calls[:1] * TWENTY_THOUSAND
    if shape == "30 % wrong in one argument":
        generator = random.Random(2)  # noqa: S311
        return calls, with_wrong(calls, 0.3, lambda args: {**args, generator.choice(list(args)): 7})
    if shape == "all wrong in one argument":
        return calls, with_wrong(calls, 1, lambda args: {**args, "page": (args["page"] + 1) % 10})
    if shape == "of five tools, permuted, 30 % wrong":
        spread = [{**each, "tool": f"t{number % 5}"} for number, each in enumerate(calls)]
        return spread, with_wrong(spread, 0.3, lambda args: {**args, "city": "nowhere"})
    generator = random.Random(3)  # noqa: S311
    drawn = [[call("t", q=generator.randrange(1000), n=generator.randrange(10)) for _ in size] for _ in range(2)]
    return drawn[0], drawn[1]


SHAPES = [
    "permuted",
    "all different",
    "all equal",
    "30 % wrong in one argument",
    "all wrong in one argument",
    "of five tools, permuted, 30 % wrong",
    "two arguments at random",
]


@pytest.mark.parametrize("shape", SHAPES)
def test_twenty_thousand_calls(shape: str, say: Say) -> None:
    """20,000 calls on both sides, each shape in a process of its own."""
    code = f"import test_scoring; test_scoring.print_twenty_thousand({shape!r})"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=Path(__file__).parent
    )
    say(done.stdout.strip())


def print_twenty_thousand(shape: str) -> None:
    """Evaluate 20,000 calls and print the cost."""
    expected, made = twenty_thousand(shape)
    begun = time.perf_counter()
    processor = min(seconds(lambda: evaluate(expected, made)) for _ in range(3))
    whole = (time.perf_counter() - begun) / 3
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"20,000 calls on both sides, {shape}: {processor:.2f} s of processor time, {whole:.2f} s in all, "
        f"{peak:.0f} MiB at most; the goal is 2 s and 1 GB"
    )
