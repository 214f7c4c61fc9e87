"""Recordings that were cut, retyped or shuffled are read, or refused with a `ReadError`; nothing else comes out."""

from __future__ import annotations

import contextlib
import copy
import json
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from mutants import paths

from tracewitness.errors import ReadError
from tracewitness.readers import READERS, read
from tracewitness.trace import Trace

_CALL = {"id": "c1", "type": "function", "function": {"name": "a", "arguments": '{"n": 1}'}}
SAMPLES: dict[str, Any] = {
    "openai-chat": [
        {"role": "system", "content": "Help."},
        {"role": "user", "content": [{"type": "text", "text": "hi"}, {"type": "image_url", "image_url": {}}]},
        {
            "object": "chat.completion",
            "choices": [{"index": 0, "message": {"role": "assistant", "tool_calls": [_CALL]}}],
        },
        {"role": "tool", "tool_call_id": "c1", "content": [{"type": "text", "text": "ok"}]},
        {"role": "assistant", "content": None, "function_call": {"name": "b", "arguments": "{}"}},
        {"role": "function", "name": "b", "content": "ok"},
        {"role": "assistant", "tool_calls": [{"type": "custom", "custom": {"name": "c", "input": "x"}}]},
        {"role": "assistant", "content": "Done.", "refusal": None, "audio": {"transcript": "x"}},
    ],
    "openai-responses": {
        "object": "response",
        "status": "completed",
        "instructions": "Help.",
        "input": [{"role": "user", "content": "hi"}],
        "output": [
            {"type": "reasoning", "summary": []},
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "x"}]},
            {"type": "function_call", "id": "f1", "call_id": "c1", "name": "a", "arguments": '{"n": 1}'},
            {"type": "function_call_output", "call_id": "c1", "output": [{"type": "input_text", "text": "ok"}]},
            {"type": "mcp_call", "id": "m1", "server_label": "s", "name": "b", "arguments": "{}", "output": "1"},
            {"type": "web_search_call", "id": "w1", "action": {"type": "search", "query": "q"}, "status": "failed"},
            {"type": "local_shell_call", "id": "l1", "call_id": "c2", "action": {"command": ["ls"]}},
            {"type": "local_shell_call_output", "id": "l1", "output": "x"},
            {"type": "item_reference", "id": "f1"},
        ],
    },
    "anthropic-messages": {
        "system": [{"type": "text", "text": "Help."}],
        "messages": [
            {"role": "user", "content": "hi"},
            {
                "role": "assistant",
                "type": "message",
                "stop_reason": "tool_use",
                "content": [
                    {"type": "text", "text": "x"},
                    {"type": "tool_use", "id": "t1", "name": "a", "input": {"n": 1}},
                    {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}},
                    {"type": "web_search_tool_result", "tool_use_id": "s1", "content": {"type": "x_error"}},
                ],
            },
            {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": "t1", "content": [], "is_error": True}],
            },
        ],
    },
    "gemini": [
        {"role": "user", "parts": [{"text": "hi"}]},
        {
            "automaticFunctionCallingHistory": [{"role": "user", "parts": [{"text": "hi"}]}],
            "candidates": [
                {
                    "index": 0,
                    "finishReason": "STOP",
                    "content": {
                        "role": "model",
                        "parts": [
                            {"functionCall": {"name": "a", "args": {"n": 1}}},
                            {"executable_code": {"code": "1"}},
                            {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}},
                        ],
                    },
                }
            ],
        },
        {"parts": [{"functionResponse": {"name": "a", "response": {"r": 1}}}]},
        {"promptFeedback": {"blockReason": "SAFETY"}},
    ],
}
SAMPLES |= {
    "bedrock-converse": {
        "system": [{"text": "Help."}],
        "messages": [
            {"role": "user", "content": [{"text": "hi"}]},
            {
                "role": "assistant",
                "content": [
                    {"reasoningContent": {"reasoningText": {"text": "x"}}},
                    {"toolUse": {"toolUseId": "c1", "name": "a", "input": {"n": 1}}},
                ],
            },
            {
                "role": "user",
                "content": [{"toolResult": {"toolUseId": "c1", "content": [{"json": {}}], "status": "error"}}],
            },
        ],
    },
    "cohere-chat": [
        {"role": "USER", "message": "hi"},
        {"text": "x", "generation_id": "g", "tool_calls": [{"name": "a", "parameters": {"n": 1}}]},
        {"role": "TOOL", "tool_results": [{"call": {"name": "a", "parameters": {"n": 1}}, "outputs": [{"x": 1}]}]},
        {"message": "hi", "preamble": "Help.", "chat_history": [{"role": "CHATBOT", "message": "x"}]},
    ],
    "mistral-conversations": {
        "instructions": "Help.",
        "inputs": [
            {"type": "message.input", "role": "user", "content": "hi"},
            {"type": "function.call", "tool_call_id": "c1", "name": "a", "arguments": "{}", "agent_id": "x"},
            {"type": "function.result", "tool_call_id": "c1", "result": "ok"},
            {"type": "agent.handoff", "next_agent_id": "y", "next_agent_name": "b", "previous_agent_id": "x"},
            {"type": "tool.execution", "id": "t1", "name": "b", "arguments": "{}", "info": {"x": 1}},
            {"type": "message.output", "agent_id": "y", "content": [{"type": "text", "text": "x"}]},
        ],
    },
    "gemini-interactions": {
        "object": "interaction",
        "input": [{"role": "user", "content": "hi"}],
        "steps": [
            {"type": "thought", "signature": "x"},
            {"type": "function_call", "id": "c1", "name": "a", "arguments": {"n": 1}},
            {"type": "function_result", "call_id": "c1", "result": [{"type": "text", "text": "x"}], "is_error": True},
            {"type": "model_output", "content": [{"type": "text", "text": "x"}]},
        ],
    },
    "openai-assistants": [
        {"object": "thread.message", "role": "user", "content": [{"type": "text", "text": {"value": "hi"}}]},
        {
            "id": "r1",
            "object": "thread.run",
            "status": "requires_action",
            "required_action": {"submit_tool_outputs": {"tool_calls": [_CALL]}},
        },
        {"tool_outputs": [{"tool_call_id": "c1", "output": "ok"}]},
        {
            "object": "list",
            "data": [
                {
                    "object": "thread.run.step",
                    "created_at": 1,
                    "step_details": {"tool_calls": [{"id": "i", "type": "code_interpreter", "code_interpreter": {}}]},
                }
            ],
        },
    ],
    "http-recording": {
        "interactions": [
            {
                "request": {"method": "POST", "body": '{"messages": [{"role": "user", "content": "hi"}]}'},
                "response": {
                    "status": {"code": 200},
                    "parsed_body": {"choices": [{"message": {"tool_calls": [_CALL]}}]},
                },
            },
            {
                "request": {
                    "parsed_body": {
                        "messages": [
                            {"role": "user", "content": "hi"},
                            {"role": "assistant", "tool_calls": [_CALL]},
                            {"role": "tool", "tool_call_id": "c1", "content": "ok"},
                        ]
                    }
                },
                "response": {"status": 200, "content": {"text": '{"choices": [{"message": {"content": "x"}}]}'}},
            },
        ]
    },
}
_ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=3),
    st.sampled_from(["", "null", "{", "user", "tool_use", "function_call", "\ud800"]),
    st.builds(list),
    st.builds(dict),
    st.just([[]]),
    st.just({"type": ["x"]}),
    st.just({"role": {}}),
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
    elif how == "rename" and isinstance(holder, dict):
        holder[str(odd)] = holder.pop(path[-1])
    else:
        holder[path[-1]] = odd
    return document


@st.composite
def _mutants(draw: st.DrawFn) -> tuple[str, Any]:
    name = draw(st.sampled_from(sorted(SAMPLES)))
    document = copy.deepcopy(SAMPLES[name])
    for _ in range(draw(st.integers(1, 4))):
        path = draw(st.sampled_from(paths(document)))
        document = _mutated(
            document, path, draw(st.sampled_from(["drop", "double", "rename", "set"])), copy.deepcopy(draw(_ODD))
        )
    return name, document


def _exhaust(trace: Trace) -> None:
    """Look at all that a trace has."""
    assert len(trace.events) == len(trace.to_events())
    for call in trace.calls:
        assert isinstance(call.name, str)
        assert call.result is not ...
    assert all(isinstance(str(problem), str) for problem in trace.problems)
    assert Trace.from_events(trace.to_events()).calls == trace.calls or trace.unreadable


@pytest.mark.parametrize("name", SAMPLES)
def test_the_samples_are_read_whole(name: str) -> None:
    """Else their mutants would show nothing."""
    trace = read(SAMPLES[name])
    assert trace.calls
    assert [problem.reason for problem in trace.problems if name != "gemini"] == []
    assert read(SAMPLES[name], name).to_events() == trace.to_events()


@given(_mutants())
@settings(max_examples=1500)
@example(("openai-chat", [{"role": "assistant", "content": [{"type": ["x"]}], "tool_calls": [{"function": {}}]}]))
@example(("neutral", ["\ud800", {"call": "a"}]))
def test_mutants_raise_nothing_else(mutant: tuple[str, Any]) -> None:
    """By detection, and by every reader that could be named."""
    _, document = mutant
    for name in (None, *(reader.name for reader in READERS if reader.name != "simulation result")):
        with contextlib.suppress(ReadError):
            _exhaust(read(document, name))


@given(st.sampled_from(sorted(SAMPLES)), st.data())
@settings(max_examples=500)
def test_cut_and_flipped_bytes_raise_nothing_else(name: str, data: st.DataObject) -> None:
    """A file that ends early, or in which a byte is another."""
    encoded = bytearray(json.dumps(SAMPLES[name]).encode())
    for _ in range(data.draw(st.integers(0, 3))):
        encoded[data.draw(st.integers(0, len(encoded) - 1))] = data.draw(st.integers(0, 255))
    end = data.draw(st.integers(0, len(encoded)) | st.just(len(encoded)))
    with contextlib.suppress(ReadError):
        _exhaust(read(bytes(encoded[:end])))
