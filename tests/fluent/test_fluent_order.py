"""``in_order`` and ``exactly``: the order of the very calls that the table shows, by the contract's own comparison."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracewitness import ANY, Expectation, Trace, compile_checks, expect
from tracewitness.fluent.failure import explain
from tracewitness.scoring import EvaluationResult
from tracewitness.suites import parse_suite

Say = Callable[[Expectation], Expectation]


def call(tool: str, /, **args: Any) -> dict[str, Any]:
    """Write a call that was made."""
    return {"tool": tool, "args": args}


PAYS = [call("pay", amount=5), call("ship"), call("pay", amount=10)]
ORDERS: list[tuple[str, list[dict[str, Any]], Say, bool]] = [
    ("the right call came too late", PAYS, lambda c: c.calls("pay", amount=10).calls("ship"), False),
    ("the right call came in time", PAYS, lambda c: c.calls("ship").calls("pay", amount=10), True),
    ("any call will do", PAYS, lambda c: c.calls("pay").calls("ship"), True),
    ("any call will do, the later one", PAYS, lambda c: c.calls("ship").calls("pay"), True),
    ("any value will do", PAYS, lambda c: c.calls("ship").calls("pay", amount=ANY), True),
    ("a wrong argument in the right place", PAYS[:2], lambda c: c.calls("pay", amount=1).calls("ship"), True),
    ("a wrong argument in the wrong place", PAYS[1:], lambda c: c.calls("pay", amount=1).calls("ship"), False),
    ("one of two equal calls has a wrong argument", [call("a", x=1), call("a", x=3)],
     lambda c: c.calls("a", x=1).calls("a", x=1), True),
    ("a call is missing", PAYS[:1], lambda c: c.calls("pay").calls("ship"), False),
    ("no arguments, in time", [call("l"), call("s"), call("l", x=1)],
     lambda c: c.calls_without_args("l").calls("s"), True),
    ("no arguments, too late", [call("l", x=1), call("s"), call("l")],
     lambda c: c.calls_without_args("l").calls("s"), False),
    ("no arguments, of two", [call("l"), call("l", x=1)],
     lambda c: c.calls("l", x=1).calls_without_args("l"), False),
    ("an argument more, before the exact call", [call("l", x=1, y=2), call("s"), call("l", x=1)],
     lambda c: c.calls("l", x=1).calls("s"), False),
    ("a text is no number", [call("a", x="1"), call("a", x=1)], lambda c: c.calls("a", x=1).calls("a", x="1"), False),
    ("a text is no number, in order", [call("a", x=1), call("a", x="1")],
     lambda c: c.calls("a", x=1).calls("a", x="1"), True),
    ("space around a text", [call("a", x="k "), call("a", x="l")], lambda c: c.calls("a", x="k").calls("a", x="l"),
     True),
    ("an integer for a float", [call("a", x=1), call("a", x=1.0)], lambda c: c.calls("a", x=1.0).calls("a", x=1), True),
    ("an integer for a float, strictly", [call("a", x=1), call("a", x=1.0)],
     lambda c: c.with_strict_args().calls("a", x=1.0).calls("a", x=1), False),
]  # fmt: skip


def outcome(contract: Expectation, made: list[dict[str, Any]]) -> EvaluationResult:
    """Return what comes of calls, whatever the score is."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return contract.with_score(0).evaluate(
            Trace.from_events([{"call": c["tool"], "args": c["args"]} for c in made])
        )


@pytest.mark.parametrize(("made", "say", "holds"), [row[1:] for row in ORDERS], ids=[row[0] for row in ORDERS])
def test_the_order_is_that_of_the_right_calls(made: list[dict[str, Any]], say: Say, holds: bool) -> None:
    """A call with other arguments does not stand in for the right one that came too late."""
    contract = say(expect(made)).in_order()
    assert outcome(contract, made).passed is holds


@pytest.mark.parametrize(
    ("made", "say"), [row[1:3] for row in ORDERS if not row[3]], ids=[row[0] for row in ORDERS if not row[3]]
)
def test_what_is_out_of_order_is_not_exactly_so(made: list[dict[str, Any]], say: Say) -> None:
    """`exactly` says all that `in_order` does."""
    assert not outcome(say(expect(made)).exactly(), made).passed


values = st.sampled_from([1, 1.0, "1", "1 ", 2])
arguments = st.dictionaries(st.sampled_from("xy"), values, max_size=2)
made_calls = st.lists(
    st.builds(lambda tool, args: {"tool": tool, "args": args}, st.sampled_from("ab"), arguments), max_size=6
)


@given(
    made_calls, st.lists(st.tuples(st.sampled_from("ab"), st.none() | arguments), min_size=1, max_size=4), st.booleans()
)
def test_the_table_and_the_verdict_agree(
    made: list[dict[str, Any]], expected: list[tuple[str, dict[str, Any] | None]], strict: bool
) -> None:
    """WRONG ORDER stands in the table just where the order is broken; the file says the same."""
    contract = expect(made).in_order()
    for tool, args in expected:
        if args is None:
            contract.calls(tool)
        elif args:
            contract.calls(tool, **args)
        else:
            contract.calls_without_args(tool)
    if strict:
        contract.with_strict_args()
    result = outcome(contract, made)
    assert result.passed is not ("WRONG ORDER" in explain(result) or bool(result.missing_calls))
    (case,) = parse_suite(contract.to_yaml("x")).cases
    assert all(verdict.held for verdict in compile_checks(case.tool_expectations).check(result.trace)) is result.passed


def test_putting_in_order_leaves_the_score_as_it_is() -> None:
    """Of equally good pairings another one is taken, no worse one."""
    made = [call("b"), call("a"), call("b")]
    plain = outcome(expect(made).calls("a").calls("b"), made)
    ordered = outcome(expect(made).calls("a").calls("b").in_order(), made)
    assert plain.metrics == ordered.metrics
    assert [pair.actual.position for pair in ordered.pairs] == [1, 2]


def test_long_runs_are_put_in_order() -> None:
    """Ten thousand calls are no trouble."""
    made = [call("b"), *(call("a", n=n) for n in range(10_000)), call("b"), call("a", n=10_000)]
    contract = expect(made).calls("a").calls("b").calls("a", n=10_000).in_order()
    assert outcome(contract, made).passed
