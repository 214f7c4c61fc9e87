"""What was asked and what was answered, kept in one mapping: both are read, and neither of them twice."""

from __future__ import annotations

from typing import Any

import pytest

from tracewitness.readers import read

_CHAT_CALL = {"id": "c1", "type": "function", "function": {"name": "act", "arguments": "{}"}}
_CHAT_ANSWER = {"role": "assistant", "content": None, "tool_calls": [_CHAT_CALL]}
_CHAT = {"messages": [{"role": "user", "content": "hi"}]}
_USE = {"type": "tool_use", "id": "c1", "name": "act", "input": {}}
_TOOL_USE = {"role": "assistant", "content": [{"toolUse": {"toolUseId": "c1", "name": "act", "input": {}}}]}
_BEDROCK = {"messages": [{"role": "user", "content": [{"text": "hi"}]}]}
_CONTENT = {"role": "model", "parts": [{"functionCall": {"id": "c1", "name": "act", "args": {}}}]}
_GEMINI = {"contents": [{"role": "user", "parts": [{"text": "hi"}]}]}
_CANDIDATES = [{"content": _CONTENT, "finishReason": "STOP"}]

#: What was asked, what stands beside it, and the answer as it would stand at the end of what was asked.
TOGETHER: dict[str, tuple[dict[str, Any], dict[str, Any], Any]] = {
    "a chat completion": (_CHAT, {"choices": [{"message": _CHAT_ANSWER}], "object": "chat.completion"}, _CHAT_ANSWER),
    "a choice": (_CHAT, {"message": _CHAT_ANSWER, "done": True}, _CHAT_ANSWER),
    "a choice of Cohere": (_CHAT, {"message": _CHAT_ANSWER, "finish_reason": "TOOL_CALL"}, _CHAT_ANSWER),
    "a message": (_CHAT, _CHAT_ANSWER, _CHAT_ANSWER),
    "a message of Anthropic": (
        _CHAT,
        {"type": "message", "role": "assistant", "content": [_USE], "stop_reason": "tool_use"},
        {"role": "assistant", "content": [_USE]},
    ),
    "a message of Anthropic without its end": (
        {"system": "Help.", **_CHAT},
        {"role": "assistant", "content": [_USE]},
        {"role": "assistant", "content": [_USE]},
    ),
    "a response of Bedrock": (_BEDROCK, {"output": {"message": _TOOL_USE}, "stopReason": "tool_use"}, _TOOL_USE),
    "a response of Gemini": (_GEMINI, {"candidates": _CANDIDATES}, _CONTENT),
}


@pytest.mark.parametrize(("asked", "answered", "again"), TOGETHER.values(), ids=TOGETHER.keys())
def test_both_are_read(asked: dict[str, Any], answered: dict[str, Any], again: Any) -> None:
    """In order; an answer that was put at the end of what was asked too is one."""
    key = "contents" if "contents" in asked else "messages"
    for document in ({**asked, **answered}, {**answered, **asked}, {**asked, **answered, key: [*asked[key], again]}):
        trace = read(document)
        assert [event for event in trace.to_events() if "system" not in event] == [
            {"user": "hi"},
            {"call": "act", "args": {}, "id": "c1"},
        ]
        assert trace.problems == ()


def test_the_history_of_calls_is_kept() -> None:
    """Calls that stand in what was asked are as much evidence as those in the answer."""
    answer = {"content": {"role": "model", "parts": [{"text": "Done."}]}, "finishReason": "STOP"}
    result = {"role": "user", "parts": [{"functionResponse": {"id": "c1", "name": "act", "response": {"r": 1}}}]}
    trace = read({"contents": [*_GEMINI["contents"], _CONTENT, result], "candidates": [answer]})
    assert [next(iter(event)) for event in trace.to_events()] == ["user", "call", "result", "agent"]
    block = {"toolResult": {"toolUseId": "c1", "content": [{"text": "ok"}]}}
    messages = [*_BEDROCK["messages"], _TOOL_USE, {"role": "user", "content": [block]}]
    output = {"message": {"role": "assistant", "content": [{"text": "Done."}]}}
    trace = read({"messages": messages, "output": output, "stopReason": "end_turn"})
    assert [next(iter(event)) for event in trace.to_events()] == ["user", "call", "result", "agent"]


def test_a_history_of_automatic_calls_beside_its_contents() -> None:
    """It repeats them, which is not done twice."""
    history = [*_GEMINI["contents"], _CONTENT]
    candidate = {"content": {"role": "model", "parts": [{"text": "Done."}]}, "finishReason": "STOP"}
    trace = read({**_GEMINI, "automaticFunctionCallingHistory": history, "candidates": [candidate]})
    assert [next(iter(event)) for event in trace.to_events()] == ["user", "call", "agent"]
    assert trace.problems == ()


def test_a_request_of_cohere_with_its_answer() -> None:
    """What was asked stands before the answer, once, also where the history has it."""
    asked = {"message": "hi", "chat_history": [{"role": "USER", "message": "before"}], "preamble": "Help."}
    answered = {"text": "", "generation_id": "g", "tool_calls": [{"name": "act", "parameters": {}}]}
    events = [{"system": "Help."}, {"user": "before"}, {"user": "hi"}, {"call": "act", "args": {}}]
    assert read({**asked, **answered}).to_events() == events
    told = [*asked["chat_history"], {"role": "USER", "message": "hi"}]
    assert read({**asked, **answered, "chat_history": told}).to_events() == events


@pytest.mark.parametrize(
    "document",
    [
        [{**_CHAT, "choices": [{"message": _CHAT_ANSWER}]}],
        {**_CHAT, "tool_calls": [_CHAT_CALL]},
    ],
)
def test_what_may_be_lost_is_a_problem(document: Any) -> None:
    """Messages in a list of answers may repeat what stands before them, and calls without a message have no place."""
    assert any(problem.hides_call for problem in read(document, "openai-chat").problems)


# --------------------------------------------------------------------------------------------- calls in another field


@pytest.mark.parametrize("field", ["toolCalls", "tool_call", "tool_calls"])
@pytest.mark.parametrize("whole", [False, True])
def test_calls_of_a_message_in_another_field(field: str, whole: bool) -> None:
    """Some clients write them so; one alone needs no list."""
    calls = _CHAT_CALL if field == "tool_call" else [_CHAT_CALL]
    message = {"role": "assistant", "content": None, field: calls}
    told = {"role": "tool", "toolCallId": "c1", "content": "ok"}
    trace = read({"choices": [{"message": message}]} if whole else [{"role": "user", "content": "hi"}, message, told])
    assert [(call.name, call.id) for call in trace.calls] == [("act", "c1")]
    assert whole or trace.calls[0].result == "ok"
    assert trace.problems == ()


@pytest.mark.parametrize("field", ["toolCalls", "tool_call", "tool_calls"])
@pytest.mark.parametrize("message", [{"role": "assistant", "content": None}, _CHAT_ANSWER])
def test_calls_beside_the_message(field: str, message: dict[str, Any]) -> None:
    """They are the message's; the same ones in both places are the same."""
    choice = {"message": message, field: [_CHAT_CALL], "finish_reason": "tool_calls"}
    trace = read({"object": "chat.completion", "choices": [choice]})
    assert [(call.name, call.id) for call in trace.calls] == [("act", "c1")]
    assert trace.problems == ()


@pytest.mark.parametrize(
    "choice",
    [
        {"message": _CHAT_ANSWER, "tool_calls": [{**_CHAT_CALL, "id": "c2"}]},
        {"message": {**_CHAT_ANSWER, "toolCalls": [{**_CHAT_CALL, "id": "c2"}]}},
        {"message": {"role": "assistant", "toolCalls": [{"toolName": "act", "args": {}}]}},
        {"message": {"role": "assistant", "tool_call": "act"}},
        {"message": {"role": "user", "content": "hi", "toolCalls": [_CHAT_CALL]}},
        {"message": {"role": "assistant"}, "tool_calls": {"name": "act"}},
    ],
)
def test_calls_that_are_not_plain(choice: dict[str, Any]) -> None:
    """Two lists that differ may tell of the same calls; what is no call may be one."""
    trace = read({"object": "chat.completion", "choices": [choice]})
    assert any(problem.hides_call for problem in trace.problems)


@pytest.mark.parametrize("field", ["toolCalls", "tool_call", "tool_calls"])
@pytest.mark.parametrize("beside", [False, True])
def test_calls_of_a_stream_in_another_field(field: str, beside: bool) -> None:
    """In a delta, or beside it."""
    told = {field: [{"index": 0, **_CHAT_CALL}]}
    first = {"delta": {"role": "assistant"}, **told} if beside else {"delta": told}
    chunks = [{"choices": [first]}, {"choices": [{"delta": {}, "finishReason": "tool_calls"}]}]
    trace = read(chunks)
    assert [(call.name, call.id) for call in trace.calls] == [("act", "c1")]
    assert trace.problems == ()
