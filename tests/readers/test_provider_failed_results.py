"""Results that say of themselves that they are errors, in every format and in every way that this is written."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tracewitness.readers import read
from tracewitness.trace import ToolResult

_CHAT_CALL = {"id": "c1", "type": "function", "function": {"name": "act", "arguments": "{}"}}
_COHERE_CALL = {"name": "act", "parameters": {}}


def _gemini(content: Any, beside: Any) -> list[Any]:
    call = {"role": "model", "parts": [{"functionCall": {"name": "act", "args": {}}}]}
    return [
        call,
        {"role": "user", "parts": [{"functionResponse": {"name": "act", "response": content, **beside}}]},
    ]


def _bedrock(content: Any, beside: Any) -> list[Any]:
    use = {"role": "assistant", "content": [{"toolUse": {"toolUseId": "c1", "name": "act", "input": {}}}]}
    blocks = [{"text": content}] if content else []
    return [use, {"role": "user", "content": [{"toolResult": {"toolUseId": "c1", "content": blocks, **beside}}]}]


#: By format: makes a recording of a result's content and of what stands beside it.
FORMATS: dict[str, Callable[[Any, Any], list[Any]]] = {
    "openai-chat": lambda content, beside: [
        {"role": "assistant", "content": None, "tool_calls": [_CHAT_CALL]},
        {"role": "tool", "tool_call_id": "c1", "content": content, **beside},
    ],
    "openai-responses": lambda content, beside: [
        {"type": "function_call", "call_id": "c1", "name": "act", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c1", "output": content, **beside},
    ],
    "anthropic-messages": lambda content, beside: [
        {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "act", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": content, **beside}]},
    ],
    "gemini": _gemini,
    "bedrock-converse": _bedrock,
    "cohere-chat": lambda content, beside: [
        {"role": "CHATBOT", "message": "", "tool_calls": [_COHERE_CALL]},
        {"role": "TOOL", "tool_results": [{"call": _COHERE_CALL, "outputs": [content] if content else [], **beside}]},
    ],
    "mistral-conversations": lambda content, beside: [
        {"type": "function.call", "tool_call_id": "c1", "name": "act", "arguments": "{}"},
        {"type": "function.result", "tool_call_id": "c1", "result": content, **beside},
    ],
    "gemini-interactions": lambda content, beside: [
        {"type": "function_call", "id": "c1", "name": "act", "arguments": {}},
        {"type": "function_result", "call_id": "c1", "result": content, **beside},
    ],
    "openai-assistants": lambda content, beside: [
        {
            "object": "thread.run",
            "status": "requires_action",
            "required_action": {"submit_tool_outputs": {"tool_calls": [_CHAT_CALL]}},
        },
        {"tool_outputs": [{"tool_call_id": "c1", "output": content, **beside}]},
    ],
}
_FAILED = [
    {"error": "boom"},
    {"error": {"message": "boom"}},
    {"error": True},
    {"is_error": True},
    {"is_error": "true"},
    {"isError": True},
    {"isError": "True"},
    {"status": "error"},
    {"is_error": False, "error": "boom"},
]


@pytest.mark.parametrize("beside", _FAILED, ids=str)
@pytest.mark.parametrize("name", FORMATS)
def test_a_result_that_failed(name: str, beside: dict[str, Any]) -> None:
    """It is an error; the cause is what it gave where it gave nothing else, and stands beside that where it did."""
    cause = None if beside.get("error") in (None, True) else beside["error"]
    (empty,) = read(FORMATS[name]("", beside), name).calls
    assert empty.is_error is True
    assert empty.result == cause or cause is None
    trace = read(json.dumps(FORMATS[name]("partial", beside)), name)
    assert (trace.calls[0].is_error, trace.calls[0].result) == (True, "partial")
    result = next(event for event in trace.events if isinstance(event, ToolResult))
    assert result.record.metadata == {"error": cause} or cause is None
    assert trace.problems == ()


@pytest.mark.parametrize("beside", [{}, {"error": None}, {"error": ""}, {"error": False}, {"error": "null"}], ids=str)
@pytest.mark.parametrize("name", FORMATS)
def test_a_result_that_did_not_fail(name: str, beside: dict[str, Any]) -> None:
    """An error that is none says nothing."""
    (call,) = read(FORMATS[name]("ok", beside), name).calls
    assert (call.is_error, call.result) == (None, "ok")


@pytest.mark.parametrize("beside", [{"is_error": False}, {"isError": "false"}], ids=str)
@pytest.mark.parametrize("name", FORMATS)
def test_a_result_that_says_that_it_did_not_fail(name: str, beside: dict[str, Any]) -> None:
    """A flag says so, also as a text."""
    assert read(FORMATS[name]("ok", beside), name).calls[0].is_error is False
