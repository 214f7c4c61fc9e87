"""Streams that were cut, retyped or shuffled are read, or refused with a `ReadError`; nothing else comes out."""

from __future__ import annotations

import contextlib
import copy
import json
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mutants import paths
from stream_support import json_lines, server_sent

from tracewitness.errors import ReadError
from tracewitness.readers import read
from tracewitness.readers.providers.streams import StreamRecording
from tracewitness.trace import Trace

_CALL = {"index": 0, "id": "c1", "type": "function", "function": {"name": "a", "arguments": '{"n":'}}
_REST = {"index": 0, "function": {"arguments": " 1}"}}
_ITEM = {"type": "function_call", "id": "f1", "call_id": "c1", "name": "a", "arguments": ""}
_BLOCK = {"type": "tool_use", "id": "t1", "name": "a", "input": {}}
SAMPLES: dict[str, list[Any]] = {
    "openai-chat-stream": [
        {"role": "user", "content": "hi"},
        {"object": "chat.completion.chunk", "id": "x", "choices": [{"index": 0, "delta": {"role": "assistant"}}]},
        {"object": "chat.completion.chunk", "id": "x", "choices": [{"index": 0, "delta": {"tool_calls": [_CALL]}}]},
        {"object": "chat.completion.chunk", "id": "x", "choices": [{"index": 0, "delta": {"tool_calls": [_REST]}}]},
        {
            "choices": [
                {
                    "delta": {
                        "function_call": {"name": "b", "arguments": "{}"},
                        "content": [{"type": "text", "text": "x"}],
                    }
                }
            ]
        },
        {"choices": [{"delta": {"tool_calls": [{"index": 1, "custom": {"name": "c", "input": "x"}}]}}]},
        {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]},
        {"error": {"message": "x"}},
    ],
    "openai-responses-stream": [
        {"type": "response.created", "response": {"object": "response", "instructions": "Help."}},
        {"type": "response.output_item.added", "output_index": 0, "item": _ITEM},
        {"type": "response.function_call_arguments.delta", "output_index": 0, "delta": "{}"},
        {"type": "response.output_item.added", "output_index": 1, "item": {"type": "shell_call", "action": {}}},
        {"type": "response.shell_call_command.done", "output_index": 1, "command": "ls"},
        {"type": "response.output_item.done", "output_index": 2, "item": {**_ITEM, "call_id": "c2"}},
        {"type": "response.completed", "response": {"object": "response", "status": "completed", "output": []}},
        {"type": "function_call_output", "call_id": "c1", "output": "x"},
    ],
    "anthropic-stream": [
        {"type": "message_start", "message": {"role": "assistant", "content": [_BLOCK]}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "x"}},
        {"type": "content_block_start", "index": 1, "content_block": {**_BLOCK, "id": "t2"}},
        {"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": "{}"}},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}},
        {"type": "message_stop"},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "x"}]},
    ],
    "gemini-stream": [
        {"candidates": [{"content": {"parts": [{"text": "x"}]}}], "responseId": "r1"},
        {
            "candidates": [{"content": {"parts": [{"functionCall": {"name": "a", "willContinue": True}}]}}],
            "responseId": "r1",
        },
        {
            "candidates": [
                {
                    "content": {
                        "parts": [{"functionCall": {"partialArgs": [{"jsonPath": "$.a[0].b", "stringValue": "x"}]}}],
                    },
                    "finishReason": "STOP",
                }
            ],
            "responseId": "r1",
        },
        {"role": "user", "parts": [{"functionResponse": {"name": "a", "response": {}}}]},
        {
            "automaticFunctionCallingHistory": [{"role": "model", "parts": [{"functionCall": {"name": "a"}}]}],
            "candidates": [{"index": 0, "finishReason": "STOP", "content": {"parts": [{"text": "x"}]}}],
            "responseId": "r2",
        },
    ],
    "gemini-interactions-stream": [
        {"event_type": "interaction.created", "interaction": {"object": "interaction", "status": "in_progress"}},
        {
            "event_type": "step.start",
            "index": 0,
            "step": {"type": "function_call", "id": "c1", "name": "a", "arguments": {}},
        },
        {"event_type": "step.delta", "index": 0, "delta": {"type": "arguments_delta", "arguments": "{}"}},
        {"event_type": "step.delta", "index": 1, "delta": {"type": "text", "text": "x"}},
        {"event_type": "interaction.completed", "interaction": {"object": "interaction", "status": "completed"}},
    ],
    "bedrock-converse-stream": [
        {"messageStart": {"role": "assistant"}},
        {"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"text": "x"}}},
        {"contentBlockStart": {"contentBlockIndex": 1, "start": {"toolUse": {"toolUseId": "t1", "name": "a"}}}},
        {"contentBlockDelta": {"contentBlockIndex": 1, "delta": {"toolUse": {"input": "{}"}}}},
        {"contentBlockStop": {"contentBlockIndex": 1}},
        {"messageStop": {"stopReason": "tool_use"}},
        {"metadata": {}},
    ],
    "cohere-stream": [
        {"type": "message-start", "delta": {"message": {}}},
        {
            "type": "tool-call-start",
            "index": 0,
            "delta": {"message": {"tool_calls": {"id": "c1", "function": {"name": "a"}}}},
        },
        {
            "type": "tool-call-delta",
            "index": 0,
            "delta": {"message": {"tool_calls": {"function": {"arguments": "{}"}}}},
        },
        {"type": "message-end", "delta": {"finish_reason": "TOOL_CALL"}},
        {"event_type": "tool-calls-generation", "tool_calls": [{"name": "a", "parameters": {}}]},
        {"event_type": "stream-end", "finish_reason": "COMPLETE", "response": {"text": "x", "tool_calls": []}},
    ],
    "ollama-stream": [
        {
            "message": {"content": "x", "tool_calls": [{"function": {"name": "a", "arguments": {"n": 1}}}]},
            "done": False,
        },
        {"message": {"content": ""}, "done": True},
        {"error": "x"},
    ],
    "mistral-conversations-stream": [
        {"type": "conversation.response.started"},
        {"type": "message.output.delta", "id": "m1", "output_index": 0, "content": [{"type": "text", "text": "x"}]},
        {"type": "function.call.delta", "id": "f1", "output_index": 1, "name": "a", "arguments": "{}"},
        {"event": "x", "data": {"type": "agent.handoff.done", "output_index": 2, "next_agent_name": "b"}},
        {"type": "conversation.response.done"},
    ],
    "openai-assistants-stream": [
        {"object": "thread.run.step.delta", "id": "s1", "delta": {"step_details": {"tool_calls": [_CALL]}}},
        {"object": "thread.run.step.delta", "id": "s1", "delta": {"step_details": {"tool_calls": [_REST]}}},
        {"object": "thread.message.delta", "id": "m1", "delta": {"content": [{"index": 0, "text": {"value": "x"}}]}},
        {
            "object": "thread.run",
            "status": "requires_action",
            "required_action": {"submit_tool_outputs": {"tool_calls": [{**_CALL, "id": "c2"}]}},
        },
        {
            "object": "thread.run.step",
            "id": "s1",
            "step_details": {"tool_calls": [{**_CALL, "function": {"output": "x"}}]},
        },
        {"event": "thread.run.completed", "data": {"object": "thread.run", "status": "completed"}},
    ],
}
_ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=3),
    st.sampled_from(["", "null", "{", "{}", "tool_use", "message-end", "$.a[3]", "\ud800"]),
    st.builds(list),
    st.builds(dict),
    st.just([[]]),
    st.just({"type": ["x"]}),
    st.just({"index": {}, "id": [], "function": {"name": {}}}),
    st.binary(max_size=2),
)


def _mutated(document: Any, path: tuple[Any, ...], how: str, odd: Any) -> Any:
    """Return a document in which what stands at a path is gone, of another type, or there twice."""
    if not path:
        return odd
    holder = document
    for key in path[:-1]:
        holder = holder[key]
    if how == "drop":
        del holder[path[-1]]
    elif how == "double" and isinstance(holder, list):
        holder.insert(path[-1], copy.deepcopy(holder[path[-1]]))
    elif how == "swap" and isinstance(holder, list):
        holder.append(holder.pop(path[-1]))
    else:
        holder[path[-1]] = odd
    return document


@st.composite
def _mutants(draw: st.DrawFn) -> tuple[str, Any]:
    name = draw(st.sampled_from(sorted(SAMPLES)))
    document = copy.deepcopy(SAMPLES[name])
    for _ in range(draw(st.integers(1, 4))):
        path = draw(st.sampled_from(paths(document)))
        how = draw(st.sampled_from(["drop", "double", "swap", "set"]))
        document = _mutated(document, path, how, copy.deepcopy(draw(_ODD)))
    return name, document


def _exhaust(trace: Trace) -> None:
    """Look at all that a trace has."""
    assert len(trace.events) == len(trace.to_events())
    for call in trace.calls:
        assert isinstance(call.name, str)
        assert call.result is not ...
    assert all(isinstance(str(problem), str) for problem in trace.problems)


@pytest.mark.parametrize("name", SAMPLES)
def test_the_samples_are_read(name: str) -> None:
    """Else their mutants would show nothing."""
    trace = read(SAMPLES[name])
    assert trace.calls
    assert read(SAMPLES[name], name).to_events() == trace.to_events()


@given(_mutants())
@settings(max_examples=1500)
def test_mutants_raise_nothing_else(mutant: tuple[str, Any]) -> None:
    """By detection, and by every reader of streams that could be named."""
    _, document = mutant
    for name in (None, *SAMPLES):
        with contextlib.suppress(ReadError):
            _exhaust(read(document, name))


@given(st.sampled_from(sorted(SAMPLES)), st.sampled_from([json.dumps, json_lines, server_sent]), st.data())
@settings(max_examples=700)
def test_cut_and_flipped_bytes_raise_nothing_else(name: str, write: Any, data: st.DataObject) -> None:
    """A file that ends early, or in which a byte is another."""
    encoded = bytearray(write(SAMPLES[name]).encode())
    for _ in range(data.draw(st.integers(0, 3))):
        encoded[data.draw(st.integers(0, len(encoded) - 1))] = data.draw(st.integers(0, 255))
    end = data.draw(st.integers(0, len(encoded)) | st.just(len(encoded)))
    with contextlib.suppress(ReadError):
        _exhaust(read(bytes(encoded[:end])))


@pytest.mark.parametrize("name", SAMPLES)
def test_what_is_cut_off_is_a_problem(name: str) -> None:
    """Where a stream ends right after it began, something says so."""
    events = [event for event in SAMPLES[name] if "role" not in event]
    assert "the stream breaks off" in str(read(events[:1], name).problems)


def _many(fragment: dict[str, Any], count: int) -> list[dict[str, Any]]:
    chunk = {"choices": [{"index": 0, "delta": {"tool_calls": [fragment]}}]}
    return [chunk] * count


@pytest.mark.parametrize(
    "fragment",
    [
        {"index": 0, "function": {"name": "a", "arguments": '{"a": "}'}},
        {"index": 0, "function": {"name": "a", "arguments": "{}"}},
        {"index": 0, "id": "c", "function": {"arguments": "}"}},
        {"id": "", "function": {"name": "a", "arguments": "{" * 50}},
        {"function": {"arguments": "\\" * 50}},
    ],
)
def test_many_fragments_take_time_in_proportion(fragment: dict[str, Any]) -> None:
    """Fragments of which it is not plain what they belong to are looked at once each."""
    started = time.perf_counter()
    with contextlib.suppress(ReadError):
        _exhaust(read(_many(fragment, 20_000)))
    assert time.perf_counter() - started < 20


def test_deep_paths_and_deep_nesting() -> None:
    """They end in a problem or in a `ReadError`."""
    deep = '{"a":' * 100_000
    with contextlib.suppress(ReadError):
        _exhaust(read(server_sent(_many({"index": 0, "id": "c", "function": {"name": "a", "arguments": deep}}, 2))))
    piece = {"jsonPath": "$" + "[0]" * 100_000, "stringValue": "x"}
    call = {"functionCall": {"name": "a", "partialArgs": [piece], "willContinue": True}}
    chunk = {"candidates": [{"content": {"parts": [call]}}], "responseId": "r"}
    assert read([chunk, chunk]).problems


def test_what_stands_where_in_a_recording() -> None:
    """A part begins where the longest beginning of its path does; others stay where they are."""
    recording = StreamRecording()
    recording.begin((1,), (2,))
    recording.begin((1, "a", 0), (3, "b"))
    for path in ((0,), (1,), (1, "a"), (1, "a", 0), (1, "a", 0, "c")):
        recording.doubt("x", path)
    assert [problem.place for problem in recording.trace("").problems] == ["$[0]", "$[2]", "$[2]", "$[3].b", "$[3].b"]
