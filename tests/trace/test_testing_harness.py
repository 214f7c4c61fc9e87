"""The public harness: traces in a line, and strategies."""

from __future__ import annotations

import doctest
import subprocess
import sys
from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings

from tracewitness import testing
from tracewitness.errors import UsageError
from tracewitness.expectations import OPERATORS, parse_operator
from tracewitness.testing import agent, call, end, result, system, trace, transfer, user
from tracewitness.trace import MalformedArguments, Trace, short_tool_name

WRITTEN: list[tuple[Any, dict[str, Any], str]] = [
    (user("hi"), {"user": "hi"}, "user('hi')"),
    (agent("done"), {"agent": "done"}, "agent('done')"),
    (system("brief"), {"system": "brief"}, "system('brief')"),
    (transfer("billing"), {"transfer": "billing"}, "transfer('billing')"),
    (end(), {"end": True}, "end()"),
    (call("x"), {"call": "x", "args": {}}, "call('x')"),
    (call("x", q=1), {"call": "x", "args": {"q": 1}}, "call('x', q=1)"),
    (call("x", **{"a b": 1}), {"call": "x", "args": {"a b": 1}}, "call('x', **{'a b': 1})"),
    (
        call("x", tool="hammer", self=1, id=2).with_(id="c1"),
        {"call": "x", "args": {"tool": "hammer", "self": 1, "id": 2}, "id": "c1"},
        "call('x', tool='hammer', self=1, id=2).with_(id='c1')",
    ),
    (
        call("x", q=1).with_(raw_args="{"),
        {"call": "x", "raw_args": "{"},
        "call('x').with_(raw_args='{')",
    ),
    (
        call("x").with_(by="sales", at="2026-01-01", until=5.0, metadata={"a": 1}),
        {"call": "x", "args": {}, "by": "sales", "at": "2026-01-01", "until": 5.0, "metadata": {"a": 1}},
        "call('x').with_(by='sales', at='2026-01-01', until=5.0, metadata={'a': 1})",
    ),
    (result(None), {"result": None}, "result(None)"),
    (
        result({"a": 1}, of="x", id=0, is_error=False),
        {"result": {"a": 1}, "of": "x", "id": 0, "is_error": False},
        "result({'a': 1}, of='x', id=0, is_error=False)",
    ),
    (result(1).with_(at=5), {"result": 1, "at": 5}, "result(1).with_(at=5)"),
    (user("hi").with_(by="me"), {"user": "hi", "by": "me"}, "user('hi').with_(by='me')"),
]


@pytest.mark.parametrize(("event", "neutral", "text"), WRITTEN, ids=[case[2] for case in WRITTEN])
def test_events_in_a_line(event: Any, neutral: dict[str, Any], text: str) -> None:
    """A written event is a mapping in neutral form, and its repr is the expression that makes it."""
    assert event == neutral
    assert repr(event) == text
    assert eval(text, vars(testing)) == neutral  # noqa: S307 - our own text
    assert trace(event).to_events() == [neutral]
    assert not any("wrong" in problem.reason or "no '" in problem.reason for problem in trace(event).problems)


def test_a_trace_in_a_line() -> None:
    """The example of the module reads as it is meant."""
    shop = trace(user("Order"), call("create_order", item_id="ITEM-42"), result({"ok": True}), agent("Done."), name="a")
    assert shop.name == "a"
    assert shop.calls[0].args == {"item_id": "ITEM-42"}
    assert shop.calls[0].result == {"ok": True}
    assert shop.problems == ()


def test_plain_mappings_may_stand_among_written_events() -> None:
    """What the harness has no word for is written as a mapping."""
    assert isinstance(trace({"call": "x", "args": [1]}, result(2)).calls[0].args, MalformedArguments)


def test_with_makes_a_new_event() -> None:
    """Adding fields leaves the event as it was."""
    plain = call("x", q=1)
    assert plain.with_(id="c1") is not plain
    assert plain == {"call": "x", "args": {"q": 1}}


@pytest.mark.parametrize(
    ("event", "fields"),
    [(result(1), {"raw_args": "{"}), (user("hi"), {"id": "c1"}), (end(), {"id": 1})],
    ids=str,
)
def test_fields_of_other_kinds(event: Any, fields: dict[str, Any]) -> None:
    """A field that an event of this kind does not have is refused."""
    with pytest.raises(UsageError, match="goes with a call"):
        event.with_(**fields)


def test_no_event_is_an_empty_recording() -> None:
    """A trace of nothing is no evidence, not a run without calls."""
    assert trace().no_evidence


def test_the_examples_of_the_harness_are_true() -> None:
    """What the docstrings show is what comes out, and there is something shown."""
    failed, tried = doctest.testmod(testing)
    assert (failed, tried > 10) == (0, True)


def test_hypothesis_is_not_needed_to_write_traces() -> None:
    """Importing the harness does not import Hypothesis."""
    code = "import sys, tracewitness.testing; sys.exit('hypothesis' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@settings(max_examples=30, deadline=None)
@given(testing.traces(faults=False))
def test_traces_without_faults_have_no_problem(made: Trace) -> None:
    """Without faults every generated event is read and every result answers a call."""
    assert made.problems == ()
    assert len(made) > 0


@settings(max_examples=30, deadline=None)
@given(testing.events(tools=("one", "two"), faults=False, max_size=4), testing.checks("tool_called", tools=("one",)))
def test_strategies_of_other_tools(events: list[Any], check: dict[str, Any]) -> None:
    """Traces and checks are made of the tools that are asked for, and traces are no longer than asked for."""
    assert 1 <= len(events) <= 4
    assert {event["call"] for event in events if "call" in event} <= {"one", "two"}
    assert check["type"] == "tool_called"


@pytest.mark.parametrize("type_name", OPERATORS)
def test_every_generated_check_can_be_loaded(type_name: str) -> None:
    """A generated check is a well-formed mapping of a file."""

    @settings(max_examples=30, deadline=None)
    @given(testing.checks(type_name))
    def loads(check: dict[str, Any]) -> None:
        assert parse_operator(check).type_name == type_name

    loads()


def test_checks_of_no_operator() -> None:
    """A name that no operator has is refused, with the one that was meant."""
    with pytest.raises(UsageError, match="did you mean 'tool_called'"):
        testing.checks("tool_caled")


def test_all_that_can_go_wrong_is_generated() -> None:
    """Generated traces have, somewhere, every kind of event, every kind of problem, and tools that share a name."""
    seen: Counter[str] = Counter()

    @settings(max_examples=400, deadline=None, derandomize=True)
    @given(testing.events())
    def look(events: list[Any]) -> None:
        made = Trace.from_events(events)
        seen.update(type(event).__name__ for event in made.events)
        seen.update(problem.reason.split()[0] for problem in made.problems)
        seen.update("malformed" for each in made.calls if isinstance(each.args, MalformedArguments))
        seen.update("unanswered" for each in made.calls if each.answer is None)
        seen.update(f"id {each.id!r}" for each in made.calls)
        seen["shared"] += len({each.name for each in made.calls if short_tool_name(each.name)}) > 1

    look()
    kinds = ["Message", "ToolCall", "ToolResult", "Transfer", "End", "Unreadable"]
    others = ["malformed", "undecodable", "unanswered", "id 0", "id ''", "id None", "shared"]
    assert not [kind for kind in [*kinds, *others] if not seen[kind]]


@settings(max_examples=50, deadline=None)
@given(testing.json_values(allow_nan=True))
def test_json_values_are_plain(value: Any) -> None:
    """Generated values are made of what JSON has."""
    plain = (dict, list, str, int, float, bool, type(None))
    assert isinstance(value, plain)
