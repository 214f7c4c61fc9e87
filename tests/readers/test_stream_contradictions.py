"""Streams that tell a call two times, in pieces and at their end, and not in the same way: neither account is lost."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tracewitness.readers import read
from tracewitness.trace import Trace

#: A call as id, name and arguments.
_Call = tuple[str, str, dict[str, Any]]


def _item(call: _Call) -> dict[str, Any]:
    call_id, name, args = call
    return {
        "type": "function_call",
        "id": f"f{call_id}",
        "call_id": call_id,
        "name": name,
        "arguments": json.dumps(args),
    }


def _responses(told: list[_Call], kept: list[_Call]) -> list[Any]:
    done = [
        {"type": "response.output_item.done", "output_index": index, "item": _item(call)}
        for index, call in enumerate(told)
    ]
    response = {"object": "response", "status": "completed", "output": [_item(call) for call in kept]}
    return [*done, {"type": "response.completed", "response": response}]


def _chat_call(call: _Call, **more: Any) -> dict[str, Any]:
    return {**more, "id": call[0], "function": {"name": call[1], "arguments": json.dumps(call[2])}}


def _chat(told: list[_Call], kept: list[_Call]) -> list[Any]:
    fragments = [_chat_call(call, index=index) for index, call in enumerate(told)]
    message = {"role": "assistant", "tool_calls": [_chat_call(call) for call in kept]}
    return [
        {"choices": [{"delta": {"tool_calls": fragments}}]},
        {"choices": [{"message": message, "finish_reason": "tool_calls"}], "object": "chat.completion.chunk"},
    ]


def _cohere(told: list[_Call], kept: list[_Call]) -> list[Any]:
    calls = [[{"name": name, "parameters": args} for _, name, args in found] for found in (told, kept)]
    return [
        {"event_type": "stream-start"},
        {"event_type": "tool-calls-generation", "tool_calls": calls[0]},
        {"event_type": "stream-end", "finish_reason": "COMPLETE", "response": {"text": "", "tool_calls": calls[1]}},
    ]


def _interactions(told: list[_Call], kept: list[_Call]) -> list[Any]:
    steps = [
        [{"type": "function_call", "id": call_id, "name": name, "arguments": args} for call_id, name, args in found]
        for found in (told, kept)
    ]
    events: list[Any] = []
    for index, step in enumerate(steps[0]):
        events += [{"event_type": "step.start", "index": index, "step": step}]
        events += [{"event_type": "step.stop", "index": index}]
    interaction = {"object": "interaction", "status": "requires_action", "steps": steps[1]}
    return [*events, {"event_type": "interaction.completed", "interaction": interaction}]


def _assistants(told: list[_Call], kept: list[_Call]) -> list[Any]:
    pieces = [_chat_call(call, index=index, type="function") for index, call in enumerate(told)]
    calls = [_chat_call(call, type="function") for call in kept]
    return [
        {"object": "thread.run.step.delta", "id": "s", "delta": {"step_details": {"tool_calls": pieces}}},
        {"object": "thread.run.step", "id": "s", "step_details": {"tool_calls": calls}},
        {"object": "thread.run", "id": "r", "status": "completed"},
    ]


STREAMS: dict[str, Callable[[list[_Call], list[_Call]], list[Any]]] = {
    "responses": _responses,
    "chat": _chat,
    "cohere": _cohere,
    "interactions": _interactions,
    "assistants": _assistants,
}
_F, _G, _OTHER = ("a", "f", {"n": 1}), ("b", "g", {"n": 2}), ("a", "f", {"n": 3})


def _is_doubted(trace: Trace) -> bool:
    return any("the stream had a call to 'f'" in problem.reason and problem.hides_call for problem in trace.problems)


@pytest.mark.parametrize("kept", [[_G], [_G, _G], [("b", "f2", {"n": 1})]], ids=str)
@pytest.mark.parametrize("make", STREAMS.values(), ids=STREAMS.keys())
def test_a_call_that_the_end_lacks(make: Any, kept: list[_Call]) -> None:
    """It may have been made."""
    trace = read(make([_F], kept))
    assert _is_doubted(trace)
    names = {call.name for call in trace.calls}
    assert names >= {kept[0][1]}


@pytest.mark.parametrize("make", [STREAMS[name] for name in STREAMS if name != "assistants"])
def test_other_arguments(make: Any) -> None:
    """Nobody knows which were meant."""
    assert _is_doubted(read(make([_F], [_OTHER])))


@pytest.mark.parametrize("calls", [[_F], [_F, _G], [_F, ("c", "f", {"n": 1})]], ids=str)
@pytest.mark.parametrize("make", STREAMS.values(), ids=STREAMS.keys())
def test_the_same_calls(make: Any, calls: list[_Call]) -> None:
    """They are told once, in whatever order they stand at the end."""
    for kept in (calls, calls[::-1]):
        trace = read(make(calls, kept))
        assert sorted(json.dumps(call.args) for call in trace.calls) == sorted(json.dumps(args) for _, _, args in calls)
        assert trace.problems == ()


@pytest.mark.parametrize("make", STREAMS.values(), ids=STREAMS.keys())
def test_more_calls_at_the_end(make: Any) -> None:
    """They are read too."""
    trace = read(make([_G], [_F, _G]))
    assert sorted(call.name for call in trace.calls) == ["f", "g"]
    assert trace.problems == ()


def test_a_call_that_had_only_begun() -> None:
    """What was not there yet can't speak against the end; that it began has to be there."""
    added = {
        "type": "response.output_item.added",
        "output_index": 0,
        "item": {**_item(_F), "arguments": ""},
    }
    begun = {"event_type": "step.start", "index": 0, "step": {"type": "function_call", "id": "a", "name": "f"}}
    for first, make in ((added, _responses), (begun, _interactions)):
        assert read([first, *make([], [_F])]).problems == ()
        assert _is_doubted(read([first, *make([], [_G])]))
