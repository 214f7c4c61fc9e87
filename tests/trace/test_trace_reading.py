"""How neutral events are read: turns, arguments, what can't be read, and that nothing is lost."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

import pytest

from tracewitness.errors import ReadError
from tracewitness.trace import End, MalformedArguments, Message, ToolCall, Trace, Transfer, Unreadable, short_tool_name


def test_every_kind_of_event() -> None:
    """Each event becomes one of its kind, at its position, with what it carries."""
    trace = Trace.from_events(
        [
            {"system": "be brief"},
            {"user": "hi"},
            {
                "call": "get",
                "args": {"q": 1},
                "id": "c1",
                "by": "sales",
                "at": "2026-01-01",
                "until": 5,
                "metadata": {},
            },
            {"result": [1], "id": "c1"},
            {"agent": "done"},
            {"transfer": "billing"},
            {"end": True},
        ],
        name="one",
    )
    assert trace.name == "one"
    assert [event.position for event in trace.events] == list(range(7)) == list(range(len(trace)))
    messages = [(event.role, event.text) for event in trace.events if isinstance(event, Message)]
    assert messages == [("system", "be brief"), ("user", "hi"), ("agent", "done")]
    (call,) = trace.calls
    assert (call.name, call.args, call.id, call.agent) == ("get", {"q": 1}, "c1", "sales")
    assert (call.started_at, call.ended_at, call.metadata) == ("2026-01-01", 5, {})
    assert isinstance(trace.events[5], Transfer)
    assert trace.events[5].agent == "billing"
    assert isinstance(trace.events[6], End)
    assert trace.problems == ()


def test_what_a_call_does_not_say_is_none() -> None:
    """The id, agent, times and metadata of a call that lacks them are None."""
    (call,) = Trace.from_events([{"call": "get"}]).calls
    assert [call.id, call.agent, call.started_at, call.ended_at, call.metadata] == [None] * 5


def test_turns() -> None:
    """A turn begins at each user message; turn 0 is what comes before the first one."""
    events = [
        {"agent": "hello"},
        {"call": "x"},
        {"user": "1"},
        {"result": 1},
        {"user": ""},
        {"user": "3"},
        {"end": True},
    ]
    assert [event.turn for event in Trace.from_events(events).events] == [0, 0, 1, 1, 2, 3, 3]


def test_an_unreadable_message_begins_no_turn() -> None:
    """Only what is known to be a user's message begins a turn."""
    trace = Trace.from_events([{"user": "1"}, {"user": 2}, {"user": "x", "agent": "y"}, {"call": "x"}, {"agent": "."}])
    assert trace.calls[0].turn == 1
    assert trace.events[4].turn == 1


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"args": None},
        {"args": ""},
        {"args": {}},
        {"raw_args": None},
        {"raw_args": ""},
        {"args": {}, "raw_args": ""},
    ],
    ids=str,
)
def test_no_arguments(given: dict[str, Any]) -> None:
    """Absent, null and empty-string arguments are an empty object, and no problem."""
    trace = Trace.from_events([{"call": "x", **given}])
    assert trace.calls[0].args == {}
    assert trace.problems == ()


@pytest.mark.parametrize(
    ("given", "raw"),
    [
        ({"args": []}, []),
        ({"args": [1, 2]}, [1, 2]),
        ({"args": 0}, 0),
        ({"args": 5}, 5),
        ({"args": 1.5}, 1.5),
        ({"args": False}, False),
        ({"args": " "}, " "),
        ({"args": '{"a": 1}'}, '{"a": 1}'),
        ({"raw_args": '{"a": '}, '{"a": '),
        ({"raw_args": "[1]"}, "[1]"),
        ({"raw_args": "None"}, "None"),
        ({"args": None, "raw_args": "{"}, "{"),
        ({"args": "", "raw_args": "{"}, "{"),
    ],
    ids=str,
)
def test_malformed_arguments(given: dict[str, Any], raw: Any) -> None:
    """Arguments that are no object stay as they were, never an empty object; the call itself is known."""
    trace = Trace.from_events([{"call": "x", **given}])
    (call,) = trace.calls
    assert isinstance(call.args, MalformedArguments)
    assert call.args.raw == raw
    assert type(call.args.raw) is type(raw)
    assert call.args.reason
    (problem,) = trace.problems
    assert (problem.position, problem.hides_call) == (0, False)
    assert "malformed arguments of x" in str(problem)


def test_any_mapping_is_an_object() -> None:
    """Arguments, and events, may be mappings of any type."""
    (call,) = Trace.from_events([MappingProxyType({"call": "x", "args": MappingProxyType({"q": 1})})]).calls
    assert call.args == {"q": 1}


#: What can't be read, and what its reason must say.
UNREADABLE: list[tuple[Any, str]] = [
    ({}, "one of the keys call, result"),
    (None, "an event is a mapping, this is None"),
    (7, "an event is a mapping, this is 7"),
    ("call", "an event is a mapping"),
    (b"call", "an event is a mapping"),
    ([], "an event is a mapping"),
    ([("call", "x")], "an event is a mapping"),
    ({"cal": "x"}, "one of the keys call"),
    ({1: 2}, "one of the keys call"),
    ({"args": {}}, "one of the keys call"),
    ({"call": "x", "arg": {}}, "no 'arg'; args was meant"),
    ({"call": "x", "arguments": {}}, "no 'arguments'"),
    ({"call": "x", "meta_data": {}}, "metadata was meant"),
    ({"call": "x", 1: 2}, "no 1"),
    ({"call": "x", "is_error": True}, "no 'is_error'"),
    ({"call": "x", "of": "y"}, "no 'of'"),
    ({"result": 1, "off": "x"}, "of was meant"),
    ({"result": 1, "iserror": True}, "is_error was meant"),
    ({"result": 1, "args": {}}, "no 'args'"),
    ({"result": 1, "args": None}, "no 'args'"),
    ({"user": "x", "args": {}}, "no 'args'"),
    ({"user": "x", "text": "y"}, "no 'text'"),
    ({"transfer": "x", "raw_args": "y"}, "no 'raw_args'"),
    ({"call": "x", "user": "y"}, "this has call and user"),
    ({"call": "x", "result": None}, "this has call and result"),
    ({"result": 1, "agent": "y"}, "this has result and agent"),
    ({"result": 1, "raw_result": "y"}, "this has result and raw_result"),
    ({"user": "x", "agent": "y"}, "this has user and agent"),
    ({"user": "x", "system": "y"}, "this has user and system"),
    ({"agent": "x", "system": "y"}, "this has agent and system"),
    ({"transfer": "x", "end": True}, "this has transfer and end"),
    ({"call": "x", "end": True}, "this has call and end"),
    ({"user": "x", "end": False}, "this has user and end"),
    ({"call": "x", "args": {}, "raw_args": "{"}, "args or raw_args, not both"),
    ({"call": "x", "args": [1], "raw_args": "{"}, "args or raw_args, not both"),
    ({"call": 5}, "wrong type"),
    ({"call": None}, "wrong type"),
    ({"call": ["x"]}, "wrong type"),
    ({"call": b"x"}, "wrong type"),
    ({"call": "x", "id": 1.5}, "wrong type"),
    ({"call": "x", "id": True}, "wrong type"),
    ({"call": "x", "id": ["a"]}, "wrong type"),
    ({"call": "x", "by": 5}, "wrong type"),
    ({"call": "x", "at": True}, "wrong type"),
    ({"call": "x", "metadata": [1]}, "wrong type"),
    ({"call": "x", "raw_args": {}}, "wrong type"),
    ({"result": 1, "of": 5}, "wrong type"),
    ({"result": 1, "is_error": "yes"}, "wrong type"),
    ({"result": 1, "is_error": 1}, "wrong type"),
    ({"user": None}, "wrong type"),
    ({"agent": ["x"]}, "wrong type"),
    ({"raw_result": {}}, "wrong type"),
    ({"end": False}, "end is true or not there"),
    ({"end": None}, "wrong type"),
    ({"end": 1}, "wrong type"),
]


@pytest.mark.parametrize(("event", "reason"), [pytest.param(*case, id=str(case[0])) for case in UNREADABLE])
def test_unreadable_events(event: Any, reason: str) -> None:
    """What can't be read keeps its position and its shape, says why, and may hide a call; its neighbours are read."""
    trace = Trace.from_events([{"call": "before"}, event, {"result": 1}, {"call": "after"}])
    unreadable = trace.events[1]
    assert isinstance(unreadable, Unreadable)
    assert unreadable.position == 1
    assert unreadable.to_event() == event
    assert trace.to_events()[1] == event
    (problem,) = trace.problems
    assert (problem.position, problem.hides_call) == (1, True)
    assert reason in problem.reason
    assert str(problem).startswith("event 1: ")
    assert str(problem).isprintable()
    assert [(call.name, call.position, bool(call.answer)) for call in trace.calls] == [
        ("before", 0, True),
        ("after", 3, False),
    ]


def test_several_unreadable_events() -> None:
    """Each event that can't be read is a problem of its own, in order, among those of other kinds."""
    events = [None, {"call": "x", "args": 5}, {"cal": 1}, {"result": 1, "id": "nobody"}, 7]
    trace = Trace.from_events(events)
    assert [problem.position for problem in trace.problems] == [0, 1, 2, 3, 4]
    assert [problem.hides_call for problem in trace.problems] == [True, False, True, True, True]
    assert trace.to_events() == events


@pytest.mark.parametrize("given", ["text", b"bytes", {"call": "x"}, 5, None, 1.5], ids=repr)
def test_what_is_no_list_of_events(given: Any) -> None:
    """Anything but events one after another is refused with one line."""
    with pytest.raises(ReadError, match="events are a list of mappings"):
        Trace.from_events(given)


def test_any_iterable_of_events() -> None:
    """A tuple or a generator of events reads as the list of them does."""
    events = [{"user": "hi"}, {"call": "x"}]
    assert Trace.from_events(tuple(events)) == Trace.from_events(event for event in events) == Trace.from_events(events)


def test_an_empty_recording_is_no_evidence() -> None:
    """No event at all, or a run that failed, is no evidence, with a reason."""
    assert Trace.from_events([]).no_evidence == "the recording is empty"
    assert Trace.from_events([{"user": "hi"}]).no_evidence is None
    assert "timed out" in str(Trace.from_events([{"user": "hi"}], error="timed out").no_evidence)
    nothing = Trace.without_evidence("no such file", name="one")
    assert (nothing.no_evidence, nothing.name, len(nothing)) == ("no such file", "one", 0)
    assert [str(problem) for problem in nothing.problems] == ["no such file"]


WRITTEN: list[list[Any]] = [
    [{"call": "x"}, {"call": "x", "args": None}, {"call": "x", "args": ""}, {"call": "x", "args": {}}],
    [{"call": "x", "id": None}, {"call": "x", "id": ""}, {"call": "x", "id": 0}, {"result": None, "id": 0}],
    [{"call": "x", "raw_args": None}, {"call": "x", "args": [1]}, {"call": "x", "raw_args": "{"}],
    [{"result": None}, {"result": "1", "of": None}, {"result": False, "is_error": None}, {"raw_result": ""}],
    [{"call": "x", "at": 5, "until": 5.0, "by": None, "metadata": None}],
    [{"end": True, "at": "2026-01-01"}, {"transfer": "", "metadata": {"a": 1}}, {"user": "", "by": "me"}],
    [None, {}, 7, {"cal": 1}, {"user": "x", "agent": "y"}, ["x"]],
    [{"user": "\u2028\x00\ud800 \U0001f600"}, {"call": "\ud800", "args": {"\ud800": "\udfff"}}],
    [{"result": {"$any": True}, "of": "x"}, {"call": "$", "args": {"$eq": 1}}],
]


@pytest.mark.parametrize("events", WRITTEN, ids=str)
def test_events_come_back_as_they_were_given(events: list[Any]) -> None:
    """The events come back exactly: no default is filled in, nothing is converted, nothing is dropped."""
    trace = Trace.from_events(events)
    assert trace.to_events() == events
    assert [repr(type(value)) for event in trace.to_events() if event for value in _values(event)] == [
        repr(type(value)) for event in events if event for value in _values(event)
    ]
    assert Trace.from_events(trace.to_events()) == trace


def _values(event: Any) -> list[Any]:
    return [event[key] for key in sorted(event)] if isinstance(event, dict) else [event]


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("projects/p/tools/x", "x"),
        ("projects/p/locations/l/apps/a/tools/x", "x"),
        ("projects/tools/x", "x"),
        ("projects/p/tools/", None),
        ("projects/p/tools/x/y", None),
        ("projects/p/x", None),
        ("projects/p/toolsets/x", None),
        ("Projects/p/tools/x", None),
        ("/projects/p/tools/x", None),
        ("p/tools/x", None),
        ("shop/x", None),
        ("tools/x", None),
        ("x", None),
        ("", None),
    ],
)
def test_full_resource_names(name: str, short: str | None) -> None:
    """Only a full resource name also counts as its last part."""
    assert short_tool_name(name) == short


def test_every_event_is_shown_in_one_line() -> None:
    """What models, tools and users wrote can't leave the line it is shown in, however long it is."""
    hostile = "\x1b[31m\n" + "x" * 10_000
    events = [{"user": hostile}, {"call": hostile, "args": {hostile: hostile}}, {"result": hostile}, {"agent": hostile}]
    for event in Trace.from_events(events, name=hostile).events:
        if not isinstance(event, (Transfer, End, Unreadable)):
            assert repr(event).isprintable()
            assert len(repr(event)) < 300
    assert repr(Trace.from_events(events, name=hostile)).isprintable()


def test_calls_are_events() -> None:
    """The calls are the events themselves, in order."""
    trace = Trace.from_events([{"call": "x"}, {"user": "hi"}, {"call": "y"}])
    assert trace.calls == tuple(event for event in trace.events if isinstance(event, ToolCall))
    assert all(call is trace.events[call.position] for call in trace.calls)


@pytest.mark.parametrize("event", ["\ud800", {"\ud800": 1}, {"user": "\ud800", "odd": 1}, ["\ud800"]])
def test_half_a_surrogate_pair_is_an_unreadable_event(event: Any) -> None:
    """Text that has no UTF-8 is no reason to fail; as an event it is unreadable like any other."""
    trace = Trace.from_events([{"call": "search"}, event])
    assert [problem.position for problem in trace.problems] == [1]
    assert trace.to_events()[1] == event
