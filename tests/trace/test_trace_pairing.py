"""Which call a result answers: every rule of section 1 as a row of a table."""

from __future__ import annotations

from typing import Any

import pytest

from tracewitness.trace import UNANSWERED, MalformedResult, Trace

FULL = "projects/p/locations/l/apps/a/tools/get"
OTHER = "projects/q/tools/get"


def call(name: str, **fields: Any) -> dict[str, Any]:
    return {"call": name, **fields}


def result(**fields: Any) -> dict[str, Any]:
    return {"result": "payload", **fields}


#: What a case shows, its events, and for each call the position of its result or None.
PAIRED: list[tuple[str, list[dict[str, Any]], list[int | None]]] = [
    ("nothing answers", [call("get")], [None]),
    ("by id", [call("get", id="a"), result(id="a")], [1]),
    ("by id, out of order", [call("x", id="a"), call("y", id="b"), result(id="b"), result(id="a")], [3, 2]),
    ("by id, whatever the name says", [call("x", id="a"), call("y"), result(id="a", of="y")], [2, None]),
    ("by a number as id", [call("x", id=7), call("y", id=8), result(id=8)], [None, 2]),
    ("0 is an id", [call("x"), call("y", id=0), result(id=0)], [None, 2]),
    ("a number and its text are two ids", [call("x", id="1"), call("y", id=1), result(id=1)], [None, 2]),
    ("a huge number is an id", [call("x", id=2**80), call("y", id=2**80 + 1), result(id=2**80)], [2, None]),
    ("a text of spaces is an id", [call("x", id=" "), call("y"), result(id=" ")], [2, None]),
    ("reused for the same tool: the latest", [call("x", id="a"), call("x", id="a"), result(id="a")], [None, 2]),
    ("reused for another tool: the latest", [call("x", id="a"), call("y", id="a"), result(id="a")], [None, 2]),
    (
        "reused, two results: the latest first",
        [call("x", id="a"), call("y", id="a"), result(id="a"), result(id="a")],
        [3, 2],
    ),
    (
        "reused after an answer",
        [call("x", id="a"), result(id="a"), call("y", id="a"), result(id="a")],
        [1, 3],
    ),
    (
        "reused three times",
        [call("x", id="a"), call("y", id="a"), result(id="a"), call("z", id="a"), result(id="a"), result(id="a")],
        [5, 2, 4],
    ),
    (
        "reused, and one of them answered by name",
        [call("x", id="a"), call("y", id="a"), result(of="y"), result(id="a")],
        [3, 2],
    ),
    ("by name", [call("x"), call("y"), result(of="y")], [None, 2]),
    ("by name, the earliest", [call("x"), call("x"), result(of="x")], [2, None]),
    ("by name, the earliest unanswered", [call("x"), result(of="x"), call("x"), result(of="x")], [1, 3]),
    ("by name, also a call with an id", [call("x", id="a"), call("x"), result(of="x")], [2, None]),
    ("by name, where the id is empty", [call("x", id=""), call("y", id=""), result(of="y", id="")], [None, 2]),
    ("by name, where the id is null", [call("x", id=None), call("y", id=None), result(of="y", id=None)], [None, 2]),
    ("by name, past those answered by id", [call("x", id="a"), call("x"), result(id="a"), result(of="x")], [2, 3]),
    ("by position", [call("x"), call("y"), result(), result()], [2, 3]),
    ("by position, also a call with an id", [call("x", id="a"), call("y"), result()], [2, None]),
    ("by position, where name and id are empty", [call("x"), call("y"), result(of="", id="")], [2, None]),
    ("by position, where name and id are null", [call("x"), call("y"), result(of=None, id=None)], [2, None]),
    ("by position, past those answered by name", [call("x"), call("y"), result(of="x"), result()], [2, 3]),
    ("a full resource name by its last part", [call(FULL), result(of="get")], [1]),
    ("a last part by its full resource name", [call("get"), result(of=FULL)], [1]),
    ("a full resource name by itself", [call(OTHER), call(FULL), result(of=FULL)], [None, 2]),
    ("not by the last part of another", [call(OTHER), call("x"), call(FULL), result(of=FULL)], [None, None, 3]),
    ("a shared last part: the earliest", [call(OTHER), call(FULL), result(of="get")], [2, None]),
    (
        "a last part and full names: the earliest of all",
        [call(FULL), call("get"), result(of="get"), result(of="get")],
        [2, 3],
    ),
    ("an answer that is undecodable", [call("x"), {"raw_result": "{", "of": "x"}], [1]),
    ("the calls of unreadable events are not there", [{"call": 5}, call("x"), result()], [2]),
]


@pytest.mark.parametrize(("events", "answers"), [pytest.param(*case[1:], id=case[0]) for case in PAIRED])
def test_pairing(events: list[dict[str, Any]], answers: list[int | None]) -> None:
    """A result answers the call that the rules give it, and each knows the other."""
    trace = Trace.from_events(events)
    assert [call.answer.position if call.answer else None for call in trace.calls] == answers
    for call in trace.calls:
        assert (call.result is UNANSWERED) == (call.answer is None)
        if call.answer is not None:
            assert call.answer is trace.events[call.answer.position]
            assert call.answer.call_position == call.position


#: What a case shows, its events, and the position of the result that answers nothing.
ORPHANS: list[tuple[str, list[dict[str, Any]], int]] = [
    ("no call at all", [result()], 0),
    ("by position, all answered", [call("x"), result(), result()], 2),
    ("by name, none of that name", [call("x"), result(of="y")], 1),
    ("by name, all answered", [call("x"), result(of="x"), result(of="x")], 2),
    ("by name, another case", [call("x"), result(of="X")], 1),
    ("by name, a near one", [call("mcp__shop__x"), result(of="x")], 1),
    ("by name, no full resource name", [call("shop/get"), result(of="get")], 1),
    ("by the full name of another", [call(FULL), result(of=OTHER)], 1),
    ("by id, none of that id", [call("x", id="a"), result(id="b")], 1),
    ("an id is not second-guessed by a name", [call("x", id="a"), result(id="b", of="x")], 1),
    ("an id is not second-guessed by a place", [call("x"), result(id="b")], 1),
    ("by id, answered already", [call("x", id="a"), result(id="a"), result(id="a")], 2),
    ("by id, answered by name", [call("x", id="a"), result(of="x"), result(id="a")], 2),
    ("by id, the call comes later", [result(id="a"), call("x", id="a")], 0),
    ("by name, the call comes later", [result(of="x"), call("x")], 0),
    ("by id, reused and all answered", [call("x", id="a"), call("x", id="a"), *[result(id="a")] * 3], 4),
    ("a text is not the number", [call("x", id=1), result(id="1")], 1),
    ("0 is not missing", [call("x"), result(id=0)], 1),
]


@pytest.mark.parametrize(("events", "position"), [pytest.param(*case[1:], id=case[0]) for case in ORPHANS])
def test_orphans(events: list[dict[str, Any]], position: int) -> None:
    """A result that answers nothing stays in the trace, and is a problem that may hide a call."""
    trace = Trace.from_events(events)
    (problem,) = trace.problems
    assert problem.position == position
    assert problem.hides_call
    assert "no unanswered call" in problem.reason
    orphan = trace.events[position]
    assert orphan.call_position is None
    assert orphan.payload == "payload"


def test_reused_ids_are_no_problem() -> None:
    """Ids that are used again, also for other tools, are what real recordings have."""
    events = [call("x", id="a"), result(id="a"), call("y", id="a"), result(id="a"), call("z", id="a")]
    assert Trace.from_events(events).problems == ()


def test_an_unanswered_call_has_no_payload() -> None:
    """The result of an unanswered call is a sentinel, false and not None; None is a payload."""
    unanswered, answered = Trace.from_events([call("x", id=1), call("y", id=2), {"result": None, "id": 2}]).calls
    assert unanswered.result is UNANSWERED
    assert not unanswered.result
    assert repr(unanswered.result) == "UNANSWERED"
    assert unanswered.is_error is None
    assert answered.result is None


@pytest.mark.parametrize(("mark", "is_error"), [({}, None), ({"is_error": None}, None), ({"is_error": False}, False)])
def test_what_is_no_error(mark: dict[str, Any], is_error: bool | None) -> None:
    """Only a recording that marks a result as an error makes it one; a key `error` in the payload does not."""
    (answered,) = Trace.from_events([call("x"), {"result": {"error": "none left"}, **mark}]).calls
    assert answered.is_error is is_error


def test_an_undecodable_result_answers_its_call() -> None:
    """A result that could not be decoded is a problem, but hides no call where it answers one."""
    trace = Trace.from_events([call("x"), {"raw_result": '{"a": ', "is_error": True}, {"raw_result": "{"}])
    assert isinstance(trace.calls[0].result, MalformedResult)
    assert trace.calls[0].result.raw == '{"a": '
    assert trace.calls[0].is_error is True
    undecodable, *orphan = trace.problems
    assert (undecodable.position, undecodable.hides_call) == (1, False)
    assert {problem.position for problem in orphan} == {2}
    assert any(problem.hides_call for problem in orphan)


def test_a_call_and_its_result_are_two_events() -> None:
    """Parallel calls and their results keep their own positions and turns."""
    trace = Trace.from_events([call("x", id=1), call("y", id=2), {"user": "?"}, result(id=1), result(id=2)])
    assert [(each.position, each.answer.position) for each in trace.calls] == [(0, 3), (1, 4)]
    assert [(each.turn, each.answer.turn) for each in trace.calls] == [(0, 1), (0, 1)]
