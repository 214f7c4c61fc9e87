"""Answers that ended for their length: the arguments of the last call may be less than the model was to write."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tracewitness.readers import read
from tracewitness.trace import MalformedArguments, Trace


def _chat_call(arguments: Any, number: int = 1) -> dict[str, Any]:
    return {"id": f"c{number}", "type": "function", "function": {"name": "act", "arguments": arguments}}


def _chat_message(arguments: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": None, "tool_calls": [_chat_call("{}", 0), _chat_call(arguments)]}


def _item(arguments: Any, **more: Any) -> dict[str, Any]:
    return {"type": "function_call", "id": "f1", "call_id": "c1", "name": "act", "arguments": arguments, **more}


def _use(given: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": "c1", "name": "act", "input": given}


def _bedrock_use(given: Any) -> dict[str, Any]:
    return {"toolUse": {"toolUseId": "c1", "name": "act", "input": given}}


def _content(args: Any) -> dict[str, Any]:
    return {"role": "model", "parts": [{"functionCall": {"name": "act", "args": args}}]}


_CUT_ITEM = {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}, "object": "response"}
#: Makes an answer that was cut of the arguments of its last call.
ANSWERS: dict[str, Callable[[Any], Any]] = {
    "chat": lambda args: {"choices": [{"finish_reason": "length", "message": _chat_message(args)}]},
    "chat of Mistral": lambda args: {"choices": [{"finish_reason": "model_length", "message": _chat_message(args)}]},
    "chat of Cohere": lambda args: {"finish_reason": "MAX_TOKENS", "message": _chat_message(args)},
    "chat of Ollama": lambda args: {"done": True, "done_reason": "length", "message": _chat_message(args)},
    "chat with a function call": lambda args: {
        "object": "chat.completion",
        "choices": [{"finish_reason": "length", "message": {"function_call": {"name": "act", "arguments": args}}}],
    },
    "chat with a call beside the message": lambda args: {
        "choices": [{"finish_reason": "length", "message": {"content": None}, "tool_calls": [_chat_call(args)]}],
    },
    "responses": lambda args: {**_CUT_ITEM, "output": [_item(args)]},
    "an item of responses": lambda args: {"object": "response", "output": [_item(args, status="incomplete")]},
    "anthropic": lambda args: {
        "type": "message",
        "role": "assistant",
        "stop_reason": "max_tokens",
        "content": [{"type": "text", "text": "I act."}, _use(args)],
    },
    "anthropic with a full window": lambda args: [
        {"role": "assistant", "stop_reason": "model_context_window_exceeded", "content": [_use(args)]}
    ],
    "bedrock": lambda args: {
        "output": {"message": {"role": "assistant", "content": [_bedrock_use(args)]}},
        "stopReason": "max_tokens",
    },
    "gemini": lambda args: {"candidates": [{"content": _content(args), "finishReason": "MAX_TOKENS"}]},
    "gemini of older clients": lambda args: {"candidates": [{"content": _content(args), "finish_reason": 2}]},
    "interactions": lambda args: {
        "object": "interaction",
        "status": "incomplete",
        "steps": [{"type": "function_call", "id": "c1", "name": "act", "arguments": args}],
    },
    "cohere": lambda args: {
        "text": "",
        "generation_id": "g",
        "finish_reason": "MAX_TOKENS",
        "tool_calls": [{"name": "act", "parameters": args}],
    },
}
_TEXTS = ("chat", "responses", "an item of")


def _cuts(trace: Trace) -> list[Any]:
    return [problem for problem in trace.problems if problem.reason.startswith("the answer was cut")]


@pytest.mark.parametrize("arguments", [None, {}], ids=str)
@pytest.mark.parametrize("make", ANSWERS.values(), ids=ANSWERS.keys())
def test_no_arguments_of_a_cut_call_are_not_none(make: Callable[[Any], Any], arguments: Any) -> None:
    """They are malformed, and a problem says why."""
    trace = read(make(arguments))
    assert isinstance(trace.calls[-1].args, MalformedArguments)
    assert [problem.hides_call for problem in _cuts(trace)] == [False]


@pytest.mark.parametrize("name", [name for name in ANSWERS if name.startswith(_TEXTS)])
def test_arguments_that_are_text(name: str) -> None:
    """An empty one is not known to be none; one that is whole can't have been longer."""
    assert isinstance(read(ANSWERS[name]("")).calls[-1].args, MalformedArguments)
    assert isinstance(read(ANSWERS[name]('{"n": ')).calls[-1].args, MalformedArguments)
    trace = read(ANSWERS[name]('{"n": 1}'))
    assert (trace.calls[-1].args, trace.problems) == ({"n": 1}, ())


@pytest.mark.parametrize("name", [name for name in ANSWERS if not name.startswith(_TEXTS)])
def test_arguments_that_are_a_mapping(name: str) -> None:
    """They may be what was there of more."""
    trace = read(ANSWERS[name]({"n": 1}))
    assert trace.calls[-1].args == {"n": 1}
    assert [problem.hides_call for problem in trace.problems] == [False]
    assert len(_cuts(trace)) == 1


@pytest.mark.parametrize(
    "answer",
    [
        {"choices": [{"finish_reason": "length", "message": {"content": "I a", "tool_calls": []}}]},
        {"choices": [{"finish_reason": "tool_calls", "message": _chat_message("")}]},
        {**_CUT_ITEM, "output": [_item(""), {"type": "message", "role": "assistant", "content": "I a"}]},
        {
            "role": "assistant",
            "stop_reason": "max_tokens",
            "content": [_use({}), {"type": "text", "text": "I a"}],
        },
        {"role": "assistant", "stop_reason": "tool_use", "content": [_use({})]},
        {
            "output": {"message": {"role": "assistant", "content": [_bedrock_use({}), {"text": "I a"}]}},
            "stopReason": "max_tokens",
        },
        {"candidates": [{"content": _content({}), "finishReason": "STOP"}]},
    ],
)
def test_what_was_not_cut(answer: Any) -> None:
    """A call after which there is more, or whose answer ended by itself, is whole."""
    trace = read(answer)
    assert trace.problems == ()
    assert [call.args for call in trace.calls] == [{}] * len(trace.calls)


@pytest.mark.parametrize(
    "item",
    [
        {"type": "custom_tool_call", "id": "f1", "call_id": "c1", "name": "act", "input": "half a scri"},
        {"type": "code_interpreter_call", "id": "f1", "code": "half a scri"},
    ],
)
def test_texts_that_are_no_json_may_end_anywhere(item: Any) -> None:
    """So they are a problem as mappings are."""
    assert len(_cuts(read([{**item, "status": "incomplete"}]))) == 1
    assert len(_cuts(read({**_CUT_ITEM, "output": [item]}))) == 1


_START = {"toolUse": {"toolUseId": "c1", "name": "act"}}
_GEMINI_CHUNK = {"candidates": [{"content": _content({})}], "responseId": "r"}
STREAMS: dict[str, list[Any]] = {
    "chat": [
        {"choices": [{"delta": {"tool_calls": [{"index": 0, "id": "c1", "function": {"name": "act"}}]}}]},
        {"choices": [{"delta": {}, "finish_reason": "length"}]},
    ],
    "ollama": [
        {"message": {"tool_calls": [{"function": {"name": "act", "arguments": {}}}]}, "done": False},
        {"message": {"content": ""}, "done": True, "done_reason": "length"},
    ],
    "responses": [
        {"type": "response.output_item.added", "output_index": 0, "item": _item("")},
        {"type": "response.output_item.done", "output_index": 0, "item": _item("", status="incomplete")},
        {"type": "response.incomplete", "response": {**_CUT_ITEM, "output": [_item("", status="incomplete")]}},
    ],
    "responses without an output at the end": [
        {"type": "response.output_item.added", "output_index": 0, "item": _item("")},
        {"type": "response.incomplete", "response": {**_CUT_ITEM, "output": []}},
    ],
    "anthropic": [
        {"type": "message_start", "message": {"role": "assistant", "content": []}},
        {"type": "content_block_start", "index": 0, "content_block": _use({})},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "max_tokens"}},
        {"type": "message_stop"},
    ],
    "bedrock": [
        {"messageStart": {"role": "assistant"}},
        {"contentBlockStart": {"contentBlockIndex": 0, "start": _START}},
        {"contentBlockStop": {"contentBlockIndex": 0}},
        {"messageStop": {"stopReason": "max_tokens"}},
    ],
    "gemini": [_GEMINI_CHUNK, {"candidates": [{"finishReason": "MAX_TOKENS"}], "responseId": "r"}],
    "cohere": [
        {"type": "message-start"},
        {
            "type": "tool-call-start",
            "index": 0,
            "delta": {"message": {"tool_calls": {"id": "c1", "function": {"name": "act", "arguments": ""}}}},
        },
        {"type": "message-end", "delta": {"finish_reason": "MAX_TOKENS"}},
    ],
    "interactions": [
        {"event_type": "interaction.created", "interaction": {"id": "i", "status": "in_progress"}},
        {"event_type": "step.start", "index": 0, "step": {"type": "function_call", "id": "c1", "name": "act"}},
        {"event_type": "interaction.completed", "interaction": {"id": "i", "status": "incomplete"}},
    ],
}


@pytest.mark.parametrize("stream", STREAMS.values(), ids=STREAMS.keys())
def test_a_stream_that_ended_before_the_arguments_came(stream: list[Any]) -> None:
    """It is no call without arguments."""
    trace = read(stream)
    (call,) = trace.calls
    assert isinstance(call.args, MalformedArguments)
    assert len(_cuts(trace)) == 1
