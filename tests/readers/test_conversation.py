"""A conversation that is told again with each request is read once, whatever was done to its history on the way."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracewitness.readers.conversation import Conversation, recording_of
from tracewitness.readers.recording import Recording
from tracewitness.trace import Trace

Event = dict[str, Any]


def _recorded(events: list[Event], *path: str | int) -> Recording:
    return recording_of(Trace.from_events(events), path)


def _merged(*steps: tuple[str, list[Event]]) -> list[Event]:
    conversation = Conversation()
    for kind, events in steps:
        if kind == "response":
            conversation.add_response(_recorded(events))
        else:
            conversation.add_request(_recorded(events), is_whole=kind == "request")
    merged = conversation.trace("")
    assert conversation.calls == len(merged.calls)
    return merged.to_events()


def _user(text: str = "Find a lamp.") -> Event:
    return {"user": text}


def _call(name: str = "search", **more: Any) -> Event:
    return {"call": name, "args": more.pop("args", {}), **more}


def _result(payload: Any = "ok", **more: Any) -> Event:
    return {"result": payload, **more}


SYSTEM, DONE = {"system": "Help."}, {"agent": "Done."}
A, B = _call("a", id="c1"), _call("b", id="c2")
OF_A, OF_B = _result("of a", id="c1"), _result("of b", id="c2")
BARE, OF_BARE = _call(), _result(of="search")


CASES: dict[str, tuple[list[tuple[str, list[Event]]], list[Event]]] = {
    "a request alone is read as it is": (
        [("request", [SYSTEM, _user(), A, A, OF_A, _user(), DONE])],
        [SYSTEM, _user(), A, A, OF_A, _user(), DONE],
    ),
    "history, then what is new": (
        [
            ("request", [SYSTEM, _user()]),
            ("response", [A, B]),
            ("request", [SYSTEM, _user(), A, B, OF_B, OF_A]),
            ("response", [DONE]),
            ("request", [SYSTEM, _user(), A, B, OF_B, OF_A, DONE, _user("Thanks.")]),
            ("response", [{"agent": "Welcome."}]),
        ],
        [SYSTEM, _user(), A, B, OF_B, OF_A, DONE, _user("Thanks."), {"agent": "Welcome."}],
    ),
    "only what is new is sent": (
        [
            ("request", [_user("yes")]),
            ("response", [A]),
            ("delta", [OF_A]),
            ("response", [DONE]),
            ("delta", [_user("yes")]),
        ],
        [_user("yes"), A, OF_A, DONE, _user("yes")],
    ),
    "sent once more after it failed": (
        [("request", [_user()]), ("request", [_user()]), ("response", [A])],
        [_user(), A],
    ),
    "the same words said again": (
        [
            ("request", [_user("yes")]),
            ("response", [DONE]),
            ("request", [_user("yes"), DONE, _user("yes")]),
            ("response", [DONE]),
            ("request", [_user("yes"), DONE, _user("yes"), DONE, _user("yes")]),
        ],
        [_user("yes"), DONE, _user("yes"), DONE, _user("yes")],
    ),
    "calls without ids that are alike": (
        [
            ("request", [_user()]),
            ("response", [BARE]),
            ("request", [_user(), BARE, OF_BARE]),
            ("response", [BARE]),
            ("request", [_user(), BARE, OF_BARE, BARE, OF_BARE]),
        ],
        [_user(), BARE, OF_BARE, BARE, OF_BARE],
    ),
    "ids used again": (
        [
            ("request", [_user()]),
            ("response", [A]),
            ("request", [_user(), A, OF_A]),
            ("response", [A]),
            ("request", [_user(), A, OF_A, A, OF_A]),
            ("response", [_call("b", id="c1")]),
            ("request", [_user(), A, OF_A, A, OF_A, _call("b", id="c1"), _result("of b", id="c1")]),
        ],
        [_user(), A, OF_A, A, OF_A, _call("b", id="c1"), _result("of b", id="c1")],
    ),
    "parallel calls that are alike but for their ids": (
        [
            ("request", [_user()]),
            ("response", [_call(id="c1"), _call(id="c2")]),
            ("request", [_user(), _call(id="c1"), _call(id="c2"), _result(id="c2"), _result(id="c1")]),
        ],
        [_user(), _call(id="c1"), _call(id="c2"), _result(id="c2"), _result(id="c1")],
    ),
    "ids that were given later": (
        [
            ("request", [_user()]),
            ("response", [BARE, BARE]),
            ("request", [_user(), _call(id="x1"), _call(id="x2"), _result(id="x1", of="search")]),
        ],
        [_user(), _call(id="x1"), _call(id="x2"), _result(id="x1", of="search")],
    ),
    "a response that is not here": (
        [("request", [_user()]), ("request", [_user(), A, OF_A]), ("response", [B])],
        [_user(), A, OF_A, B],
    ),
    "a response that is not here, without ids": (
        [
            ("request", [_user()]),
            ("response", [BARE]),
            ("request", [_user(), BARE, _result(1), BARE, _result(2)]),
        ],
        [_user(), BARE, _result(1), BARE, _result(2)],
    ),
    "the beginning was dropped": (
        [
            ("request", [SYSTEM, _user("1")]),
            ("response", [BARE]),
            ("request", [SYSTEM, _user("1"), BARE, _result(1)]),
            ("response", [BARE]),
            ("request", [SYSTEM, BARE, _result(2)]),
            ("response", [DONE]),
        ],
        [SYSTEM, _user("1"), BARE, _result(1), BARE, _result(2), DONE],
    ),
    "summed up": (
        [
            ("request", [SYSTEM, _user("1")]),
            ("response", [A]),
            ("request", [SYSTEM, _user("1"), A, OF_A]),
            ("response", [B]),
            ("request", [SYSTEM, _user("So far: a."), B, OF_B]),
            ("response", [DONE]),
            ("request", [SYSTEM, _user("So far: a."), B, OF_B, DONE, _user("2")]),
        ],
        [SYSTEM, _user("1"), A, OF_A, B, _user("So far: a."), OF_B, DONE, _user("2")],
    ),
    "results were cleared": (
        [
            ("request", [_user()]),
            ("response", [A]),
            ("request", [_user(), A, OF_A]),
            ("response", [B]),
            ("request", [_user(), A, _result("[cleared]", id="c1"), B, OF_B]),
        ],
        [_user(), A, OF_A, B, OF_B],
    ),
    "a result whose call was dropped": (
        [
            ("request", [_user()]),
            ("response", [A]),
            ("request", [_user(), A, OF_A]),
            ("response", [B]),
            ("request", [OF_A, B, OF_B]),
        ],
        [_user(), A, OF_A, B, OF_B],
    ),
    "arguments were rewritten": (
        [
            ("request", [_user()]),
            ("response", [{"call": "a", "raw_args": "{", "id": "c1"}]),
            ("request", [_user(), _call("a", args={"broken": "{"}, id="c1"), OF_A]),
        ],
        [_user(), {"call": "a", "raw_args": "{", "id": "c1"}, OF_A],
    ),
    "a provider's tool has another name elsewhere": (
        [
            ("request", [_user()]),
            ("response", [_call("find_tools", id="srvtool_0123456789abcdef")]),
            ("request", [_user(), _call("tool_search", id="srvtool_0123456789abcdef")]),
            ("response", [_call("b", id="1")]),
            ("request", [_call("c", id="1")]),
        ],
        [_user(), _call("find_tools", id="srvtool_0123456789abcdef"), _call("b", id="1"), _call("c", id="1")],
    ),
    "numbers became floats": (
        [
            ("request", [_user()]),
            ("response", [_call(args={"n": 1})]),
            ("request", [_user(), _call(args={"n": 1.0}), OF_BARE]),
        ],
        [_user(), _call(args={"n": 1}), OF_BARE],
    ),
    "words before calls or after them": (
        [
            ("request", [_user()]),
            ("response", [A, {"agent": "I look."}]),
            ("request", [_user(), {"agent": "I look."}, A, OF_A]),
        ],
        [_user(), A, {"agent": "I look."}, OF_A],
    ),
    "an empty answer beside its call": (
        [("request", [_user()]), ("response", [A]), ("request", [_user(), {"agent": ""}, A, OF_A])],
        [_user(), A, OF_A],
    ),
    "other instructions each time": (
        [
            ("request", [{"system": "It is one."}, _user()]),
            ("response", [A]),
            ("request", [{"system": "It is two."}, _user(), A, OF_A]),
        ],
        [{"system": "It is one."}, _user(), A, {"system": "It is two."}, OF_A],
    ),
    "an answer that repeats its instructions": (
        [("request", [SYSTEM, _user()]), ("response", [SYSTEM, A]), ("response", [{"system": "Other."}, DONE])],
        [SYSTEM, _user(), A, {"system": "Other."}, DONE],
    ),
    "an agent within an agent": (
        [
            ("request", [SYSTEM, _user()]),
            ("response", [A]),
            ("request", [{"system": "Inner."}, _user("Do a.")]),
            ("response", [BARE]),
            ("request", [{"system": "Inner."}, _user("Do a."), BARE, OF_BARE]),
            ("response", [DONE]),
            ("request", [SYSTEM, _user(), A, OF_A]),
            ("response", [DONE]),
        ],
        [SYSTEM, _user(), A, {"system": "Inner."}, _user("Do a."), BARE, OF_BARE, DONE, OF_A, DONE],
    ),
    "a second run with the same words": (
        [
            ("request", [_user()]),
            ("response", [BARE]),
            ("request", [_user(), BARE, OF_BARE]),
            ("response", [DONE]),
            ("request", [_user()]),
            ("response", [BARE]),
            ("request", [_user(), BARE, OF_BARE]),
            ("response", [DONE]),
        ],
        [_user(), BARE, OF_BARE, DONE, BARE, OF_BARE, DONE],
    ),
    "handed over": (
        [
            ("request", [SYSTEM, _user()]),
            ("response", [A]),
            ("request", [SYSTEM, _user(), A, OF_A, {"transfer": "billing"}]),
            ("response", [DONE]),
            ("request", [SYSTEM, _user(), A, OF_A, {"transfer": "billing"}, DONE, {"end": True}]),
        ],
        [SYSTEM, _user(), A, OF_A, {"transfer": "billing"}, DONE, {"end": True}],
    ),
    "two results for one call, and one for none": (
        [
            ("request", [A, OF_A, _result(2, id="c1"), _result(3, id="c9")]),
            ("response", [B]),
            ("request", [A, OF_A, _result(2, id="c1"), _result(3, id="c9"), B, OF_B]),
        ],
        [A, OF_A, _result(2, id="c1"), _result(3, id="c9"), B, OF_B],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_what_is_told(name: str) -> None:
    """Each event once, in the order in which it came up."""
    steps, events = CASES[name]
    assert _merged(*steps) == events


def test_places_and_problems() -> None:
    """Each event keeps its place; a problem that each request has again is told once."""
    conversation = Conversation()
    for number in range(3):
        history = _recorded([_call("a", args=[number]), {"user": "hi"}], number, "odd key")
        history.doubt("an unknown part", (number,), hides_call=False)
        conversation.add_request(history)
    answer = Recording()
    answer.failure = "the response failed"
    answer.doubt("an unknown part", ("response",))
    conversation.add_response(answer)
    trace = conversation.trace("run")
    assert [str(problem) for problem in trace.problems] == [
        "$[0]: an unknown part",
        "$.response: an unknown part",
        "$[0]['odd key']: malformed arguments of a: [0] (arguments are an object, this is a list)",
        "$[1]['odd key']: malformed arguments of a: [1] (arguments are an object, this is a list)",
        "$[2]['odd key']: malformed arguments of a: [2] (arguments are an object, this is a list)",
    ]
    assert conversation.failure == "the response failed"


def test_places_of_a_reader_are_put_under_the_path_of_the_part() -> None:
    """Whatever the keys are."""
    inner = Recording()
    inner.say("user", "hi", ("a", 0, "it's", "odd key", "b-c"))
    outer = recording_of(inner.trace(""), ("entries", 2))
    assert outer._paths == [("entries", 2, "a", 0, "it's", "odd key", "b-c")]


# ---------------------------------------------------------------------------------------------------------- properties

_names = st.sampled_from(["a", "b"])


@st.composite
def _conversations(draw: st.DrawFn) -> list[list[Event]]:
    """Return a conversation: by turns what the model is given anew and what it answers.

    Ids are there or not and may be used again; calls may be alike. Results come in any order, some never do.
    """
    with_ids = draw(st.booleans())
    turns: list[list[Event]] = []
    open_calls: list[Event] = []
    for number in range(draw(st.integers(1, 6))):
        given_anew: list[Event] = []
        for call in draw(st.permutations(open_calls)) if with_ids else open_calls:
            answered = {"id": call["id"]} if with_ids else {"of": call["call"]}
            given_anew.append(_result(draw(st.integers(0, 2)), **answered))
        if draw(st.booleans()) or not given_anew:
            given_anew.append(_user(f"question {number}"))
        ids = draw(st.permutations(["c1", "c2", "c3"])) if with_ids else []
        open_calls = [
            _call(draw(_names), args={"n": draw(st.integers(0, 1))}, **({"id": ids[index]} if with_ids else {}))
            for index in range(draw(st.integers(0, 3)))
        ]
        says = [{"agent": f"answer {number}"}] if draw(st.booleans()) or not open_calls else []
        turns += [given_anew, says + open_calls]
    return turns


def _whole(turns: list[list[Event]]) -> list[Event]:
    return [event for turn in turns for event in turn]


@given(_conversations())
def test_a_conversation_cut_into_model_calls_reads_as_itself(turns: list[list[Event]]) -> None:
    """Each request has all that came before."""
    steps = []
    for at in range(0, len(turns), 2):
        steps += [("request", _whole(turns[: at + 1])), ("response", turns[at + 1])]
    assert _merged(*steps) == _whole(turns)


@given(_conversations(), st.data())
def test_a_shortened_history_neither_loses_nor_doubles_a_call(turns: list[list[Event]], data: st.DataObject) -> None:
    """Whatever was dropped from the beginning of each request, up to the last answer."""
    steps = []
    for at in range(0, len(turns), 2):
        begin = data.draw(st.integers(0, max(0, at // 2 - 1))) * 2 + 1 if at >= 2 else 0
        steps += [("request", _whole(turns[begin : at + 1])), ("response", turns[at + 1])]
    assert _merged(*steps) == _whole(turns)


@given(_conversations(), _conversations(), st.data())
def test_two_conversations_at_once(first: list[list[Event]], second: list[list[Event]], data: st.DataObject) -> None:
    """Of two agents with tools and words of their own each is read whole, in its own order."""
    told = [first, [[_renamed(event) for event in turn] for turn in second]]
    at, steps = [0, 0], []
    while left := [one for one in (0, 1) if at[one] < len(told[one])]:
        one = data.draw(st.sampled_from(left))
        turns = told[one]
        steps += [("request", _whole(turns[: at[one] + 1])), ("response", turns[at[one] + 1])]
        at[one] += 2
    merged = _merged(*steps)
    for one in (0, 1):
        own = _whole(told[one])
        assert [event for event in merged if event in own] == own
    assert len(merged) == sum(len(_whole(turns)) for turns in told)


def _renamed(event: Event) -> Event:
    """Return an event as another agent would have it."""
    own = {key: f"other {value}" for key, value in event.items() if key in ("call", "user", "agent", "of", "id")}
    return {**event, **own}
