"""A trace as a value: it never changes, it can be compared, copied and sent elsewhere, and it may be large."""

from __future__ import annotations

import copy
import json
import pickle
from typing import Any

import pytest
from hypothesis import given, settings
from msgspec import Raw

from tracewitness import testing
from tracewitness.expectations import compile_checks
from tracewitness.trace import Problem, Record, Trace

EVENTS: list[Any] = [
    {"user": "order it"},
    {"call": "order", "args": {"item": "A1"}, "id": "c1"},
    {"call": "order", "raw_args": "{", "id": "c2"},
    {"result": {"ok": True}, "id": "c1"},
    {"result": 1, "id": "nobody"},
    {"cal": "order"},
    {"agent": "done"},
    {"transfer": "billing"},
    {"end": True},
]


@pytest.mark.parametrize("attribute", ["name", "records", "no_evidence", "unreadable", "calls", "_index", "other"])
def test_a_trace_never_changes(attribute: str) -> None:
    """No attribute of a trace can be set or deleted, known or unknown."""
    trace = Trace.from_events(EVENTS)
    with pytest.raises(AttributeError):
        setattr(trace, attribute, None)
    with pytest.raises(AttributeError):
        delattr(trace, attribute)
    assert trace == Trace.from_events(EVENTS)


@pytest.mark.parametrize("position", range(len(EVENTS)))
def test_events_never_change(position: int) -> None:
    """No attribute of an event can be set."""
    event = Trace.from_events(EVENTS).events[position]
    for attribute in ("position", "turn", "answer", "other"):
        with pytest.raises(AttributeError):
            setattr(event, attribute, None)


def test_what_is_given_out_is_no_handle() -> None:
    """Changing the lists that a trace was made of or gives out does not change it."""
    events = [{"user": "hi"}, {"call": "x", "args": {"q": 1}}]
    trace = Trace.from_events(events)
    events.append({"call": "y"})
    events[0]["user"] = "bye"
    trace.to_events().clear()
    trace.to_events()[0]["user"] = "bye"
    assert trace.to_events() == [{"user": "hi"}, {"call": "x", "args": {"q": 1}}]
    assert len(trace.calls) == 1


def test_equality() -> None:
    """Traces are equal by name and events, and equal to nothing else."""
    trace = Trace.from_events(EVENTS, name="one")
    assert trace == Trace.from_events(EVENTS, name="one")
    assert trace != Trace.from_events(EVENTS, name="two")
    assert trace != Trace.from_events(EVENTS[:-1], name="one")
    assert trace != EVENTS
    with pytest.raises(TypeError):
        hash(trace)


COPIES: dict[str, Any] = {
    **{f"pickle {each}": each for each in range(2, pickle.HIGHEST_PROTOCOL + 1)},
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
}


def copied(trace: Trace, way: str) -> Trace:
    """Return a trace's copy, or what comes out of another process."""
    how = COPIES[way]
    return pickle.loads(pickle.dumps(trace, how)) if isinstance(how, int) else how(trace)  # noqa: S301 - our own


@pytest.mark.parametrize("used", [False, True], ids=["new", "used"])
@pytest.mark.parametrize("way", COPIES)
def test_copies_are_equal(way: str, used: bool) -> None:
    """A trace that was sent to another process or copied is the same trace, also after its events were asked for."""
    trace = Trace.from_events(EVENTS, name="one")
    if used:
        assert trace.events
    again = copied(trace, way)
    assert again == trace
    assert again.name == "one"
    assert again.problems == trace.problems
    assert [repr(event) for event in again.events] == [repr(event) for event in trace.events]
    assert [call.result for call in again.calls] == [call.result for call in trace.calls]


@pytest.mark.parametrize("way", COPIES)
def test_copies_keep_what_readers_know(way: str) -> None:
    """The reader's problems, the lack of evidence and the places of problems survive."""
    trace = Trace(
        [Record(user="hi"), Record(result=Raw(b'{"a": 1}'), id="nobody")],
        name="one",
        problems=[Problem("a line of no kind", place="line 3")],
        no_evidence="the run failed",
        text_alone=True,
        place_of=lambda position: f"line {position + 10}",
    )
    again = copied(copied(trace, way), way)
    assert again == trace
    assert (again.no_evidence, again.text_alone) == ("the run failed", True)
    assert [str(problem) for problem in again.problems] == [str(problem) for problem in trace.problems]
    assert [problem.place for problem in again.problems] == ["line 3", "line 11"]


@settings(max_examples=60, deadline=None)
@given(testing.traces())
def test_any_trace_survives_pickling(trace: Trace) -> None:
    """Whatever a trace holds, what comes out of another process is equal and has the same problems."""
    again = copied(trace, "pickle 5")
    assert again == trace
    assert again.problems == trace.problems


def test_verdicts_on_copies() -> None:
    """The copy of a trace has the verdicts of the trace."""
    checks = compile_checks([{"type": "tool_called", "tool": "order"}, {"type": "max_calls", "max": 9}])
    trace = Trace.from_events(EVENTS)
    words = [verdict.to_dict() for verdict in checks.check(trace)]
    assert [verdict.to_dict() for verdict in checks.check(copied(trace, "pickle 5"))] == words


LARGE = 100_000
MANY: dict[str, list[dict[str, Any]]] = {
    "ids": [{"call": "x", "id": f"c{number}"} for number in range(LARGE)]
    + [{"result": number, "id": f"c{number}"} for number in range(LARGE)],
    "one id": [{"call": "x", "id": "c"} for _ in range(LARGE)] + [{"result": 1, "id": "c"} for _ in range(LARGE)],
    "one name": [{"call": "x"} for _ in range(LARGE)] + [{"result": 1, "of": "x"} for _ in range(LARGE)],
    "one last part": [{"call": f"projects/{number % 7}/tools/x"} for number in range(LARGE)]
    + [{"result": 1, "of": "x"} for _ in range(LARGE)],
    "no name": [{"call": f"x{number}"} for number in range(LARGE)] + [{"result": 1} for _ in range(LARGE)],
    "by turns": [event for _ in range(LARGE) for event in ({"call": "x"}, {"result": 1, "of": "x"})],
    "messages": [event for _ in range(LARGE) for event in ({"user": "x"}, {"agent": "y"})],
}


@pytest.mark.parametrize("kind", MANY)
def test_a_large_trace_is_read(kind: str) -> None:
    """200,000 events of one kind are read and paired; a rule that looked at all others for each would not end."""
    trace = Trace.from_events(MANY[kind])
    assert len(trace.events) == 2 * LARGE
    assert trace.problems == ()
    assert all(call.answer is not None for call in trace.calls)


def test_a_large_trace_is_watched_live() -> None:
    """50,000 live events, with the verdicts asked for now and then, cost no more each than the first ones."""
    live = compile_checks([{"type": "max_turns", "max": 5}, {"type": "tool_called", "tool": "x"}]).watch()
    for number in range(25_000):
        live.feed({"call": "x", "id": number})
        live.feed({"result": 1, "id": number})
        if number % 1000 == 0:
            assert live.verdicts()[1].held
    assert [verdict.status for verdict in live.verdicts()][:2] == ["held", "held"]


def deep(levels: int) -> Any:
    """Make a payload that nests deeply, without recursion."""
    value: Any = 1
    for _ in range(levels):
        value = {"a": [value]}
    return value


@pytest.mark.parametrize("levels", [100, 2_000, 20_000])
def test_deep_payloads(levels: int) -> None:
    """Arguments and payloads of any depth are read, kept, and checked without an error of Python's."""
    events = [{"call": "x", "args": {"q": deep(levels)}}, {"result": deep(levels), "of": "x"}, {"result": deep(levels)}]
    trace = Trace.from_events(events)
    assert len(trace.calls) == 1
    assert repr(trace.calls[0]).isprintable()
    assert [problem.position for problem in trace.problems] == [2]
    assert trace.to_events()[0]["args"]["q"] is events[0]["args"]["q"]
    checks: list[Any] = [
        {"type": "tool_called", "tool": "x", "args": {"q": {"a": "*"}}},
        {"type": "tool_output", "tool": "x", "result": {"a": [{"a": "*"}]}},
        {"type": "no_duplicate_calls"},
        {"type": "args_from", "tool": "x", "args": {"q": "user"}},
    ]
    verdicts = compile_checks(checks).check(trace)
    assert [verdict.status for verdict in verdicts][:2] == ["held", "held"]
    assert all(verdict.status != "error" and verdict.explain().isprintable() for verdict in verdicts)


def test_huge_names_and_texts() -> None:
    """A name or text of a million characters is read, compared and shown like any other."""
    huge = "x" * 1_000_000
    trace = Trace.from_events([{"user": huge}, {"call": huge, "args": {huge: huge}}, {"result": huge, "of": huge}])
    assert trace.problems == ()
    assert trace.calls[0].result == huge
    verdicts = compile_checks([{"type": "tool_called", "tool": huge}, {"type": "tool_called", "tool": "y"}]).check(
        trace
    )
    assert [verdict.status for verdict in verdicts] == ["held", "broken", "held"]
    assert all(len(verdict.explain()) < 3_000 for verdict in verdicts)


def test_neutral_events_are_json() -> None:
    """A readable trace survives being written as JSON and read again."""
    events = [event for event in EVENTS if event != {"cal": "order"}]
    assert Trace.from_events(json.loads(json.dumps(Trace.from_events(events).to_events()))) == Trace.from_events(events)
