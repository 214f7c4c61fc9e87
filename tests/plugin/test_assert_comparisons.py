"""What pytest shows where ``==`` of something of ours is not as asserted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tracewitness import ANY, ExpectedCall, Regex, Trace, UsageError, evaluate, expect, record
from tracewitness.pytest_plugin.comparison import explain_comparison

if TYPE_CHECKING:
    from plugin_support import Project


def trace(*events: dict[str, Any], name: str = "") -> Trace:
    """Return a trace of events."""
    return Trace.from_events(list(events), name=name)


ONE = {"call": "search", "args": {"city": "NYC", "days": 2}}
OTHER = {"call": "search", "args": {"city": "LAX", "days": 2}}
CONTRACT = expect([]).calls("search", city="NYC", days=2)


def lines(left: object, right: object, op: str = "==") -> list[str]:
    """Return the lines of an explanation, of a comparison that is not as asserted."""
    assert (left == right) is (op == "!=")
    shown = explain_comparison(op, left, right)
    assert shown is not None
    return shown


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        (trace(ONE), trace(OTHER), ["DIFFERENT    search(city='LAX', days=2)", "args.city: expected 'LAX', got 'NYC'"]),
        (trace(ONE), trace(ONE, OTHER), ["MISSING      search(city='LAX', days=2)"]),
        (trace(ONE, OTHER), trace(ONE), ["EXTRA        -", "event 1"]),
        (trace(ONE, OTHER), trace(OTHER, ONE), ["WRONG ORDER"]),
        (trace(ONE), trace(ONE, name="b"), ["the names differ: expected 'b', got ''"]),
        (
            trace(ONE, {"agent": "hi"}),
            trace(ONE, {"agent": "ho"}),
            ["beside calls, event 0: expected {'agent': 'ho'}, got"],
        ),
        (trace(ONE), trace(ONE, {"end": True}), ["beside calls, event 0: expected {'end': True}, got nothing"]),
        (trace(ONE), trace({**ONE, "id": "c1"}), ["event 0: expected {'args'", "'id': 'c1'"]),
        (
            trace({"call": "a", "args": {"n": 1}}),
            trace({"call": "a", "args": {"n": "1"}}),
            ["args.n: expected the text '1', got the number 1"],
        ),
        (trace(OTHER), CONTRACT, ["search.city: expected 'NYC', got 'LAX' (score", "DIFFERENT"]),
        (CONTRACT, trace(OTHER), ["search.city: expected 'NYC', got 'LAX' (score", "DIFFERENT"]),
        (trace(), CONTRACT, ["no evidence: the recording is empty"]),
        (
            trace(ONE),
            [ExpectedCall("search")],
            ["a Trace is never equal to a list", "evaluate(calls, trace)", "they are as exp"],
        ),
        (trace(ONE), [{"tool": "pay"}], ["a Trace is never equal to a list", "pay was never called"]),
        (
            trace(ONE),
            [{"type": "tool_called", "tool": "pay"}],
            ["check(trace, checks)", "broken: tool_called pay: pay was never"],
        ),
        ([OTHER], trace(ONE), ["trace.to_events()", "[0].args.city: expected 'LAX', got 'NYC'"]),
        (trace(ONE), 3, ["a Trace is equal to a Trace, and to a contract"]),
        (trace(ONE), None, ["a Trace is equal to a Trace, and to a contract"]),
        (
            {"a": ANY},
            {"a": 1},
            ["== does not ask matchers: use matches(expected, actual)", "it matches, by the policy lenient"],
        ),
        ({"b": ["x", 1]}, {"b": [Regex("y+"), 2]}, ["b[0]: expected Regex('y+'), got 'x'", "b[1]: expected 2, got 1"]),
        (Regex("a+"), "b", ["expected Regex('a+'), got 'b'"]),
        (evaluate([{"tool": "pay"}], []), 1, ["pay was never called", "MISSING"]),
    ],
)
def test_explanations(left: object, right: object, expected: list[str]) -> None:
    """What differs is said by pairs and paths."""
    text = "\n".join(lines(left, right))
    for part in expected:
        assert part in text


def test_a_contract_is_equal_to_a_trace_on_which_it_holds() -> None:
    """``==`` of a trace and a contract asks the contract, either way round; ``!=`` is the opposite."""
    assert trace(ONE) == CONTRACT
    assert CONTRACT == trace(ONE)  # noqa: SIM300 - the other way round
    assert trace(OTHER) != CONTRACT
    assert lines(trace(ONE), CONTRACT, "!=")[1:] == ["the contract holds on the trace"]


def test_a_contract_is_equal_to_nothing_else() -> None:
    """A contract is no set of calls: another one is another, and it has a hash as any object."""
    assert expect([]).calls("a") != expect([]).calls("a")
    assert CONTRACT == CONTRACT
    assert CONTRACT != [ONE]
    assert len({CONTRACT, CONTRACT}) == 1


def test_a_contract_that_expects_nothing() -> None:
    """Where nothing is expected, nothing is equal either."""
    with pytest.raises(UsageError, match="the contract expects nothing"):
        assert trace(ONE) == expect([])


def test_recordings() -> None:
    """A recording is compared with a contract as its trace is; to a trace it is not equal, which is said."""

    @record.tool
    def search(city: str, days: int) -> None: ...

    with record() as recording:
        search("NYC", 2)
    assert recording == CONTRACT
    assert CONTRACT == recording  # noqa: SIM300 - the other way round
    shown = lines(recording, trace(OTHER))
    assert shown[1] == "a recording is equal to nothing but itself and a contract that holds: compare its trace"
    assert any("args.city" in line for line in shown)


@pytest.mark.parametrize(
    ("op", "left", "right"),
    [
        ("==", 1, 2),
        ("==", {"a": 1}, {"a": 2}),
        ("==", [], [object()]),
        ("!=", ANY, ANY),
        ("!=", trace(ONE), trace(ONE)),
    ],
)
def test_what_is_not_ours_to_explain(op: str, left: object, right: object) -> None:
    """Of everything else pytest speaks as always."""
    assert explain_comparison(op, left, right) is None


def test_values_that_have_themselves_in_them() -> None:
    """A value without an end is no trouble."""
    loop: list[Any] = []
    loop.extend([loop, loop])
    assert explain_comparison("==", loop, [1]) is None


def test_nothing_is_shown_raw() -> None:
    """What stands in a trace can't move the cursor."""
    evil = {"call": "\x1b[2J", "args": {"\u202e": "\x1b[31m"}}
    for other in (trace(ONE), CONTRACT, [evil], [{"tool": "\x1b[2J"}]):
        shown = "".join(lines(trace(evil, {"agent": "\x1b[2J\r"}), other))
        assert shown.isprintable() or set(filter(lambda character: not character.isprintable(), shown)) == set()


def test_many_differences_are_cut() -> None:
    """Of very many lines the first are shown; -v shows all."""
    many = trace(*({"call": f"tool_{number}"} for number in range(100)))
    shown = explain_comparison("==", many, CONTRACT)
    assert shown is not None
    assert len(shown) == 42
    assert shown[-1].endswith("lines, which -v shows")
    assert len(explain_comparison("==", many, CONTRACT, verbose=True) or ()) > 42


TEST = """
from tracewitness import Trace, expect

def test_trace():
    assert Trace.from_events([{"call": "search", "args": {"city": "LAX"}}]) == expect([]).calls("search", city="NYC")
"""


def test_in_pytest(project: Project) -> None:
    """pytest shows it below the user's line."""
    project.write("test_a.py", TEST)
    project.run().stdout.fnmatch_lines(
        [
            "E *assert <Trace: 1 events> == expect(…)",
            "E         search.city: expected 'NYC', got 'LAX' (score 0.70 < 0.90)",
            "E         DIFFERENT    search(city='NYC')  search(city='LAX')  event 0",
        ]
    )
