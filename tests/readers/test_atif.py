"""ATIF: what trajectories say, and that a trace written as one is the same trace when it is read back."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tracewitness.errors import ReadError
from tracewitness.readers import READERS, read
from tracewitness.readers.frameworks.atif_writing import ATIF_VERSION, atif_of
from tracewitness.readers.registry import detected
from tracewitness.testing import events, json_values
from tracewitness.trace import ToolCall, ToolResult, Trace, Unreadable


def _trajectory(*steps: Any, **more: Any) -> dict[str, Any]:
    numbered = [{"step_id": number, **step} if isinstance(step, dict) else step for number, step in enumerate(steps, 1)]
    agent = {"name": "scout", "version": "1"}
    return {"schema_version": "ATIF-v1.7", "session_id": "s1", "agent": agent, "steps": numbered, **more}


def _call(call_id: str, name: str, **arguments: Any) -> dict[str, Any]:
    return {"tool_call_id": call_id, "function_name": name, "arguments": arguments}


def _step(message: Any = "", calls: Any = None, results: Any = None, **more: Any) -> dict[str, Any]:
    step: dict[str, Any] = {"source": "agent", "message": message, **more}
    if calls is not None:
        step["tool_calls"] = calls
    if results is not None:
        step["observation"] = {"results": results}
    return step


def _result(call_id: str | None, content: Any, **more: Any) -> dict[str, Any]:
    return {"source_call_id": call_id, "content": content, **more}


_USER = {"source": "user", "message": "Find GOOGL."}
TRAJECTORY = _trajectory(
    {"source": "system", "message": "Help."},
    _USER,
    _step(
        [{"type": "text", "text": "Looking."}, {"type": "image", "source": {"path": "x.png"}}],
        [_call("a", "price", of="GOOGL"), {**_call("b", "volume"), "extra": {"timeout": 3}}],
        [_result("b", [{"type": "text", "text": "1.5M"}]), _result("a", "185", extra={"is_error": True})],
        timestamp="2026-01-01T00:00:00Z",
        reasoning_content="not said",
    ),
    _step("Done."),
)
EVENTS = [
    {"system": "Help."},
    {"user": "Find GOOGL."},
    {"agent": "Looking.", "by": "scout"},
    {"call": "price", "args": {"of": "GOOGL"}, "id": "a", "by": "scout", "at": "2026-01-01T00:00:00Z"},
    {
        "call": "volume",
        "args": {},
        "id": "b",
        "by": "scout",
        "at": "2026-01-01T00:00:00Z",
        "metadata": {"timeout": 3},
    },
    {"result": "1.5M", "id": "b"},
    {"result": "185", "id": "a", "is_error": True},
    {"agent": "Done.", "by": "scout"},
]


@pytest.mark.parametrize("version", ["ATIF-v1.0", "ATIF-v1.8", "ATIF-v1.42", "1.4", None])
def test_a_trajectory(version: Any) -> None:
    """Messages, calls, results and times; reasoning is not said, and pictures are no words."""
    trace = read({**TRAJECTORY, "schema_version": version})
    assert (trace.name, trace.to_events(), trace.problems) == ("s1", EVENTS, ())


@pytest.mark.parametrize("version", ["ATIF-v2.0", "ATIF-v0.9", "ATIF-vX"])
def test_another_major_version_is_refused(version: str) -> None:
    """What it means is not known."""
    with pytest.raises(ReadError, match="versions 1"):
        read({**TRAJECTORY, "schema_version": version})


def _sub(trajectory_id: str, *steps: Any, **more: Any) -> dict[str, Any]:
    return {
        **_trajectory(*steps, **more),
        "agent": {"name": trajectory_id, "version": "1"},
        "trajectory_id": trajectory_id,
    }


def test_sub_agents_stand_before_the_result_of_their_call() -> None:
    """Each under its own name; whoever calls them is no user, and one that nothing refers to comes last."""
    inner = _sub("inner", _step("", [_call("x", "dig")], [_result("x", "gold")]))
    outer = _sub(
        "outer",
        {"source": "user", "message": "Dig."},
        _step("", [_call("y", "ask")], [_result("y", None, subagent_trajectory_ref=[{"trajectory_id": "inner"}])]),
        subagent_trajectories=[inner],
    )
    reference = {"trajectory_id": "outer"}
    document = _trajectory(
        _USER,
        _step("", [_call("z", "delegate")], [_result("z", "ok", subagent_trajectory_ref=[reference])]),
        subagent_trajectories=[_sub("aside", _step("", [_call("w", "idle")])), outer],
    )
    trace = read(document)
    assert [(call.agent, call.name, call.turn) for call in trace.calls] == [
        ("scout", "delegate", 1),
        ("outer", "ask", 1),
        ("inner", "dig", 1),
        ("aside", "idle", 1),
    ]
    assert [next(iter(event)) for event in trace.to_events()] == [
        *("user", "call", "system", "call", "call", "result", "result", "result", "call"),
    ]
    assert trace.problems == ()


def test_results_without_ids() -> None:
    """As many as there are calls are in their order; of fewer nobody knows whose they are."""
    calls = [_call("a", "x"), _call("b", "x")]
    trace = read(_trajectory(_step("", calls, [_result(None, "1"), _result(None, "2")])))
    assert [call.result for call in trace.calls] == ["1", "2"]
    trace = read(_trajectory(_step("", calls, [_result(None, "both")])))
    assert [(problem.hides_call, "names no call" in str(problem)) for problem in trace.problems] == [(False, True)]


def test_what_a_system_step_gives_back_is_said() -> None:
    """It is no result of a call."""
    step = {"source": "system", "message": "", "observation": {"results": [_result(None, "summed up")]}}
    assert read(_trajectory(step)).to_events() == [{"system": "summed up"}]


def test_an_empty_answer_is_an_answer() -> None:
    """Where nothing else is in its step."""
    assert read(_trajectory(_step(""))).to_events() == [{"agent": "", "by": "scout"}]


@pytest.mark.parametrize(
    ("document", "reason", "hides"),
    [
        (_trajectory(5), "a step is a mapping", True),
        (_trajectory({"source": "robot", "message": ""}), "an unknown source", True),
        (_trajectory(_step(5)), "a message is a text", True),
        (_trajectory(_step("x", {"a": 1})), "a list was promised", True),
        (_trajectory(_step("x", [5])), "a tool call is a mapping", True),
        (_trajectory(_step("x", [{}])), "a call without a name", True),
        (_trajectory(_step("x", [_call("a", "x")], [5])), "a result is a mapping", True),
        (_trajectory(_step("x", observation="ok")), "an observation is a mapping", True),
        (_trajectory(_step("x", results=[_result(None, "a.py")])), "an action that is not told", True),
        (_trajectory(_step("x", results=[_result("q", "a.py")])), "no unanswered call", True),
        (_trajectory(_USER, continued_trajectory_ref="next.json"), "recorded elsewhere: 'next.json'", True),
        (_trajectory(_USER, subagent_trajectories=[5]), "a trajectory is a mapping", True),
        (
            _trajectory(
                _step("", [_call("a", "x")], [_result("a", "", subagent_trajectory_ref=[{"trajectory_path": "p"}])])
            ),
            "recorded elsewhere",
            True,
        ),
    ],
)
def test_what_is_odd_is_a_problem(document: Any, reason: str, hides: bool) -> None:
    """Above all what is recorded in other files."""
    (problem,) = read(document).problems
    assert reason in str(problem)
    assert problem.hides_call is hides


def test_sub_agents_without_end_are_refused() -> None:
    """A trajectory that is deeper than Python's stack is an error."""
    document = _trajectory(_USER)
    for _ in range(5000):
        document = _trajectory(_USER, subagent_trajectories=[document])
    with pytest.raises(ReadError, match="nested too deeply"):
        read(document, "atif")


@pytest.mark.parametrize("document", [TRAJECTORY, _trajectory(), {"steps": TRAJECTORY["steps"]}])
def test_detected_by_its_reader_alone(document: Any) -> None:
    """By its version, or by its steps."""
    assert [reader.name for reader in detected(document)] == ["atif"]


@pytest.mark.parametrize("document", [{"steps": []}, {"schema_version": "ATIF-v1.7"}, {"steps": [{"step_id": 1}]}])
def test_what_is_not_of_it(document: Any) -> None:
    """A key alone is not enough."""
    assert "atif" not in [reader.name for reader in detected(document)]


@pytest.mark.parametrize("document", [{}, 5, None, [TRAJECTORY], {"steps": {}}])
def test_what_is_nothing_of_the_kind_is_refused(document: Any) -> None:
    """It says what was expected."""
    reader = next(reader for reader in READERS if reader.name == "atif")
    with pytest.raises(ReadError, match="trajectory of ATIF"):
        reader.read(document)


# ------------------------------------------------------------------------------------------------------------- writing


def _there_and_back(trace: Trace) -> Trace:
    return read(json.dumps(atif_of(trace)))


def _told(trace: Trace) -> list[Any]:
    """Return all that checks look at."""
    calls = [
        (call.position, call.turn, call.name, call.args, call.id, call.agent, call.result, call.is_error, call.metadata)
        for call in trace.calls
    ]
    times = [(call.started_at, call.ended_at) for call in trace.calls]
    others = [_other(event) for event in trace.events if not isinstance(event, ToolCall)]
    return [trace.name, calls, times, others, trace.no_evidence, trace.text_alone, *map(_reason, trace.problems)]


def _other(event: Any) -> Any:
    """Return an event that is no call; null for what it may have is as good as nothing."""
    if isinstance(event, Unreadable):
        return event.position, event.raw
    fields = event.record.to_event().items()
    answered = event.call_position if isinstance(event, ToolResult) else None
    return event.position, event.turn, answered, {key: value for key, value in fields if value is not None}


def _reason(problem: Any) -> Any:
    return problem.reason, problem.hides_call, problem.position


_RICH = [
    {"user": "hi", "at": 5},
    {"agent": "", "by": "scout"},
    {"call": "a", "args": {"n": 1}, "id": "c1", "by": "scout", "at": "2026-01-01T00:00:00Z", "until": 9.5},
    {"call": "b", "raw_args": '{"n": ', "id": "c1", "metadata": {"x": None}},
    {"result": {"n": [1.5, None]}, "id": "c1", "is_error": False},
    {"agent": "well", "metadata": {"x": 1}},
    {"raw_result": "{", "id": "c1", "of": "a"},
    {"result": "[1]", "id": 9},
    {"call": "c", "args": [1], "id": 7},
    {"call": "d", "args": "x", "id": ""},
    {"call": "e", "args": '{"a": 1}', "id": None},
    {"call": "f", "args": []},
    {"result": None, "of": "c"},
    {"result": False, "is_error": True, "until": 3},
    {"transfer": "billing", "by": "scout"},
    {"end": True, "at": 7},
    {"system": "over"},
]


def test_a_rich_trace_is_the_same_when_it_is_read_back() -> None:
    """Everything that an event may have."""
    trace = Trace.from_events(_RICH, name="order-1")
    assert _told(_there_and_back(trace)) == _told(trace)


_LISTS = events(max_size=14)


@given(_LISTS, st.sampled_from(["", "order-1"]), st.sampled_from([None, None, "crashed"]))
@example(_RICH, "order-1", None)
@example([], "", None)
@example([{"result": "x"}], "", None)
@example([{"agent": ""}, {"call": "a"}], "", None)
@example([{"call": "a", "id": "call-1"}, {"call": "a"}, {"result": 1}], "", None)
def test_every_trace_is_the_same_when_it_is_read_back(made: list[Any], name: str, error: str | None) -> None:
    """Of its events those that can be read; of one that can't there is a problem."""
    trace = Trace.from_events(made, name=name, error=error)
    if trace.unreadable:
        assert not all(problem.hides_call is False for problem in _there_and_back(trace).problems)
        readable = [event for position, event in enumerate(made) if position not in trace.unreadable]
        trace = Trace.from_events(readable, name=name, error=error)
    assert _told(_there_and_back(trace)) == _told(trace)


@given(json_values(), json_values())
def test_every_payload_is_the_same_when_it_is_read_back(payload: Any, other: Any) -> None:
    """Text stays text, also where it is JSON."""
    made = [{"call": "a", "args": {"x": other}}, {"result": payload}, {"call": "a"}, {"result": json.dumps(payload)}]
    trace = Trace.from_events(made)
    assert _told(_there_and_back(trace)) == _told(trace)


def test_what_a_reader_could_not_read_is_kept() -> None:
    """With the place where it stood."""
    trace = read([{"role": "user", "content": "hi"}, {"role": "robot"}], "openai-chat")
    (problem,) = _there_and_back(trace).problems
    assert (problem.reason, problem.hides_call) == ("$[1]: an unknown role 'robot'", True)


def test_whoever_reads_atif_can_read_it() -> None:
    """Names, arguments and texts are where the format has them; what it has no place for is aside."""
    document = atif_of(Trace.from_events(_RICH, name="order-1"))
    assert (document["schema_version"], document["session_id"]) == (ATIF_VERSION, "order-1")
    assert document["agent"]["name"] == "scout"
    assert [step["step_id"] for step in document["steps"]] == list(range(1, len(document["steps"]) + 1))
    calls = [call for step in document["steps"] for call in step.get("tool_calls", ())]
    assert [call["function_name"] for call in calls] == ["a", "b", "c", "d", "e", "f"]
    assert len({call["tool_call_id"] for call in calls}) == 6
    assert [call["arguments"] for call in calls] == [{"n": 1}, {}, {}, {}, {}, {}]
