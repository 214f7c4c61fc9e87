"""A set of checks as a whole: many threads, other processes, aliases, and traces that have only begun."""

from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tracewitness import CheckSet, ExpectationError, ReadError, Trace, check, compile_checks
from tracewitness.expectations import NoOtherTools, ToolCalled, checked_aliases, checkset
from tracewitness.expectations.plan import Monitor, Plan, Subscription
from tracewitness.testing import agent, call, result, trace, user
from tracewitness.trace import EventIndex
from tracewitness.verdict import Verdict

CHECKS = [
    {"type": "tool_called", "tool": "order", "args": {"item": "A1"}, "reason": "the customer wants it"},
    {"type": "claim", "says": "ordered", "tool": "order"},
    {"type": "sequence", "calls": [{"tool": "order"}, {"tool": "pay"}]},
]
WRONG_ITEM = trace(user("A1, please"), call("order", item="A2"), result("ok"), agent("I have ordered it."))


def test_a_check_set_goes_to_other_processes() -> None:
    """A pickled set of checks gives the same verdicts."""
    checks = compile_checks(CHECKS, {"order": ["shop_order"]})
    copy = pickle.loads(pickle.dumps(checks))  # noqa: S301 - our own
    assert [one.explain() for one in copy.check(WRONG_ITEM)] == [one.explain() for one in checks.check(WRONG_ITEM)]
    assert copy.check(trace(call("shop_order", item="A1")))[0].held


def test_verdicts_go_to_other_processes() -> None:
    """A pickled verdict keeps its status, words, evidence and nearest miss."""
    for verdict in check(WRONG_ITEM, CHECKS):
        copy = pickle.loads(pickle.dumps(verdict))  # noqa: S301 - our own
        assert copy.to_dict() == verdict.to_dict()
    assert str(check(WRONG_ITEM, CHECKS)[0].near_miss) == "args.item: expected 'A1', got 'A2'"


def test_threads_may_share_a_trace() -> None:
    """Threads that check one trace at once get what one alone gets."""
    steps = [(user("go on"), call("step", n=number), agent("done")) for number in range(5_000)]
    long = trace(*(event for step in steps for event in step))
    checks = compile_checks(
        [{"type": "claim", "says": "done", "tool": "step"}, {"type": "tool_called", "tool": "step", "max": 5_000}]
    )
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: [one.status for one in checks.check(long)], range(8)))
    assert found == [["held", "held", "held"]] * 8
    assert len(long.events) == 15_000


def test_a_live_trace_without_an_event_is_no_evidence() -> None:
    """Before anything has happened nothing holds, not even that something was not called."""
    live = compile_checks([{"type": "tool_not_called", "tool": "delete"}]).watch()
    assert [one.status for one in live.verdicts()] == ["broken", "broken"]
    live.feed({"user": "hello"})
    assert [one.status for one in live.verdicts()] == ["held", "held"]


@pytest.mark.parametrize(
    "aliases",
    [
        {"a": "xyz"},
        {"a": ["b"], "b": ["c"]},
        {"a": ["x"], "b": ["x"]},
        {"a": ["a"]},
        {"a": [5]},
        {5: ["a"]},
        ["a"],
        {"a": None},
    ],
)
def test_aliases_that_can_not_be_used(aliases: Any) -> None:
    """Aliases that are no lists of names, or by which one name means two tools, are refused."""
    with pytest.raises(ExpectationError):
        compile_checks([{"type": "tool_not_called", "tool": "a"}], aliases)


def test_aliases_that_can_be_used() -> None:
    """Aliases are a mapping of names to lists of names; none at all is fine."""
    assert checked_aliases(None) == {}
    assert checked_aliases({"a": ["x", "y"], "b": ("z",)}) == {"a": ["x", "y"], "b": ("z",)}


class _Failing(Monitor, gc=False):
    """A monitor that raises at every call, or when it is asked for its verdict."""

    def call(self, _call: Any) -> None:
        raise ZeroDivisionError("in the monitor")

    def verdict(self, index: EventIndex) -> Verdict:  # noqa: ARG002 - the same for every monitor
        raise ZeroDivisionError("in the verdict")


@pytest.mark.parametrize("subscriptions", [[Subscription("call", None, _Failing.call)], []])
def test_a_check_that_raises_is_an_error(subscriptions: list[Subscription], monkeypatch: pytest.MonkeyPatch) -> None:
    """An exception inside a check is the verdict `error`, which is not held; the other checks go on."""
    monkeypatch.setitem(
        checkset._COMPILERS, "no_other_tools", lambda operator, _names: Plan(operator, _Failing, subscriptions)
    )
    failing, good, parsed = CheckSet([NoOtherTools(("order",)), ToolCalled("order")]).check(WRONG_ITEM)
    assert failing.status == "error"
    assert not failing.held
    assert "ZeroDivisionError" in failing.justification
    assert good.held
    assert parsed.held


def test_a_problem_of_the_trace_breaks_what_it_puts_in_doubt() -> None:
    """A result without its call may hide a call: negative checks are broken, positive ones are not."""
    hidden = Trace.from_events([{"call": "order", "id": 1}, {"result": "ok", "id": 2}])
    positive, negative = {"type": "tool_called", "tool": "order"}, {"type": "tool_not_called", "tool": "pay"}
    assert [one.status for one in check(hidden, [positive, negative])] == ["held", "broken", "broken"]


@pytest.mark.parametrize(
    "recording",
    [
        [{"call": "search"}],
        '{"events": [{"call": "search"}]}',
        {"choices": [{"message": {"role": "assistant", "tool_calls": [{"function": {"name": "search"}}]}}]},
    ],
    ids=["events", "text", "response"],
)
def test_a_recording_needs_no_trace_made_of_it_first(recording: Any) -> None:
    """Whatever `read` takes is checked as the trace that it makes."""
    expected = [{"type": "tool_called", "tool": "search"}, {"type": "tool_not_called", "tool": "search"}]
    assert [verdict.status for verdict in check(recording, expected)] == ["held", "broken", "held"]


@pytest.mark.parametrize("recording", [5, None, "no JSON", object()], ids=["number", "none", "text", "object"])
def test_what_is_no_recording_is_refused(recording: Any) -> None:
    """Before any check says something of it."""
    with pytest.raises(ReadError):
        check(recording, [{"type": "tool_not_called", "tool": "search"}])
