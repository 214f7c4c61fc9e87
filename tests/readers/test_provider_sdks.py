"""The real SDKs, over a transport inside the process: what is read is what the tools were really called with."""

from __future__ import annotations

import json
from typing import Any

import pytest
from provider_support import PLAN, WHEEL, Tools, assert_as_planned, called, scripted

from tracewitness import ReadError, expect
from tracewitness.readers import read
from tracewitness.readers.objects import is_sdk_object, plain

httpx = pytest.importorskip("httpx2", reason="the clients of the providers' SDKs need it")

QUESTIONS = ("Find a lamp and a desk.", "Turn the wheel.")

# --------------------------------------------------------------------------------------------- OpenAI, chat completions


def _chat_answer(message: dict[str, Any], finish: str) -> dict[str, Any]:
    choice = {"index": 0, "message": {"role": "assistant", "content": None, **message}, "finish_reason": finish}
    return {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}


def _chat_call(number: int) -> dict[str, Any]:
    name, arguments = PLAN[number]
    return {
        "id": f"call_{number}",
        "type": "function",
        "function": {"name": name, "arguments": json.dumps(arguments)},
        "of_a_new_api": {"kept": True},
    }


def _chat_history(tools: Tools, dumped: bool) -> tuple[list[Any], list[Any]]:
    """Converse over two turns; return the messages, and the responses alone."""
    openai = pytest.importorskip("openai")
    answers = [
        _chat_answer({"tool_calls": [_chat_call(0), _chat_call(1)]}, "tool_calls"),
        _chat_answer({"content": "A lamp and a desk."}, "stop"),
        _chat_answer({"content": "I try.", "tool_calls": [_chat_call(2)]}, "tool_calls"),
        _chat_answer({"content": None, "refusal": "I can't."}, "stop"),
    ]
    client = openai.OpenAI(api_key="none", http_client=scripted(httpx, answers, []), max_retries=0)
    messages: list[Any] = [{"role": "system", "content": "You help."}]
    responses = []
    for question in QUESTIONS:
        messages.append({"role": "user", "content": question})
        while True:
            response = client.chat.completions.create(model="m", messages=messages)
            responses.append(response)
            message = response.choices[0].message
            messages.append(message.model_dump() if dumped else message)
            for call in message.tool_calls or ():
                text, _ = tools.run(call.function.name, json.loads(call.function.arguments))
                messages.append({"role": "tool", "tool_call_id": call.id, "content": text})
            if not message.tool_calls:
                break
    return messages, responses


@pytest.mark.parametrize("dumped", [False, True])
def test_chat_history_of_the_client(dumped: bool) -> None:
    """Messages of the client, as they came or dumped with all their nulls, beside plain ones."""
    tools = Tools()
    messages, _ = _chat_history(tools, dumped)
    trace = read(messages)
    assert_as_planned(trace, tools)
    assert [event for event in trace.to_events() if "agent" in event] == [
        {"agent": "A lamp and a desk."},
        {"agent": "I try."},
        {"agent": "I can't."},
    ]
    assert [call.is_error for call in trace.calls] == [None, None, None]


def test_chat_responses_of_the_client() -> None:
    """Responses as they are, alone and in a list; fields that the SDK does not know are kept."""
    tools = Tools()
    _, responses = _chat_history(tools, dumped=False)
    assert called(read(responses[0])) == list(PLAN[:2])
    assert called(read(responses)) == tools.made
    assert plain(responses[0])["choices"][0]["message"]["tool_calls"][0]["of_a_new_api"] == {"kept": True}
    assert is_sdk_object(responses[0])


# ---------------------------------------------------------------------------------------------------- OpenAI, Responses


def _response(number: int, *output: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": f"resp_{number}",
        "object": "response",
        "created_at": 1,
        "status": "completed",
        "error": None,
        "incomplete_details": None,
        "instructions": "You help.",
        "model": "m",
        "output": list(output),
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [{"type": "function", "name": "search", "parameters": {}, "strict": True}],
    }


def _function_call(number: int) -> dict[str, Any]:
    name, arguments = PLAN[number]
    return {
        "type": "function_call",
        "id": f"fc_{number}",
        "call_id": f"call_{number}",
        "name": name,
        "arguments": json.dumps(arguments),
        "status": "completed",
    }


def _said(text: str) -> dict[str, Any]:
    part = {"type": "output_text", "text": text, "annotations": []}
    return {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [part]}


@pytest.mark.parametrize("as_responses", [False, True], ids=["items", "responses"])
def test_responses_of_the_client(as_responses: bool) -> None:
    """A history of items, or of whole responses, with what the tools gave back between them."""
    openai = pytest.importorskip("openai")
    tools = Tools()
    thought = {"type": "reasoning", "id": "rs_1", "summary": []}
    answers = [
        _response(0, thought, _function_call(0), _function_call(1)),
        _response(1, _said("A lamp and a desk.")),
        _response(2, _function_call(2)),
        _response(3, _said("It is stuck.")),
    ]
    client = openai.OpenAI(api_key="none", http_client=scripted(httpx, answers, []), max_retries=0)
    items: list[Any] = []
    history: list[Any] = []
    for question in QUESTIONS:
        items.append({"role": "user", "content": question})
        history.append(items[-1])
        called_any = True
        while called_any:
            response = client.responses.create(model="m", input=items)
            items += response.output
            history += [response] if as_responses else response.output
            calls = [item for item in response.output if item.type == "function_call"]
            for call in calls:
                text, _ = tools.run(call.name, json.loads(call.arguments))
                items.append({"type": "function_call_output", "call_id": call.call_id, "output": text})
                history.append(items[-1])
            called_any = bool(calls)
    trace = read(history)
    assert_as_planned(trace, tools)
    assert [call.id for call in trace.calls] == ["call_0", "call_1", "call_2"]


# ----------------------------------------------------------------------------------------------------------- Anthropic


def _anthropic_answer(stop: str, *content: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": list(content),
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }


def _tool_use(number: int) -> dict[str, Any]:
    name, arguments = PLAN[number]
    return {"type": "tool_use", "id": f"toolu_{number}", "name": name, "input": arguments}


@pytest.mark.parametrize("shape", ["content", "response", "dumped"])
def test_anthropic_history_of_the_client(shape: str) -> None:
    """Messages whose content is a list of the client's blocks, whole responses, and dumped ones."""
    anthropic = pytest.importorskip("anthropic")
    tools = Tools()
    answers = [
        _anthropic_answer("tool_use", {"type": "text", "text": "I look."}, _tool_use(0), _tool_use(1)),
        _anthropic_answer("end_turn", {"type": "text", "text": "A lamp and a desk."}),
        _anthropic_answer("tool_use", _tool_use(2)),
        _anthropic_answer("end_turn"),
    ]
    client = anthropic.Anthropic(api_key="none", http_client=scripted(httpx, answers, []), max_retries=0)
    messages: list[Any] = []
    history: list[Any] = []
    for question in QUESTIONS:
        messages.append({"role": "user", "content": question})
        history.append(messages[-1])
        while True:
            response = client.messages.create(model="m", max_tokens=9, messages=messages)
            messages.append({"role": "assistant", "content": response.content})
            history.append(
                {"content": messages[-1], "response": response, "dumped": response.model_dump(mode="json")}[shape]
            )
            results = []
            for block in response.content:
                if block.type == "tool_use":
                    text, failed = tools.run(block.name, block.input)
                    results.append(
                        {"type": "tool_result", "tool_use_id": block.id, "content": text, "is_error": failed}
                    )
            if not results:
                break
            messages.append({"role": "user", "content": results})
            history.append(messages[-1])
    trace = read(history)
    assert_as_planned(trace, tools)
    assert [call.is_error for call in trace.calls] == [False, False, True]
    assert trace.to_events()[-1] == {"agent": ""}


# -------------------------------------------------------------------------------------------------------------- Gemini


def _candidate(*parts: dict[str, Any]) -> dict[str, Any]:
    content = {"role": "model", "parts": list(parts)}
    return {"candidates": [{"content": content, "finishReason": "STOP", "index": 0}], "modelVersion": "m"}


def _gemini_call(number: int) -> dict[str, Any]:
    name, arguments = PLAN[number]
    return {"functionCall": {"name": name, "args": arguments}, "thoughtSignature": "aGk="}


def _gemini(answers: list[Any]) -> tuple[Any, Any]:
    genai = pytest.importorskip("google.genai")
    types = genai.types
    options = types.HttpOptions(httpx_client=scripted(httpx, answers, []))
    return genai.Client(api_key="none", http_options=options), types


def _gemini_answers() -> list[dict[str, Any]]:
    return [
        _candidate({"text": "hm", "thought": True}, _gemini_call(0), _gemini_call(1)),
        _candidate({"text": "A lamp "}, {"text": "and a desk."}),
        _candidate(_gemini_call(2)),
        _candidate({"text": "It is stuck."}),
    ]


def _gemini_payload(payload: Any) -> Any:
    """Open what the client wraps results in; it tells of an error in more words."""
    if "error" in payload:
        assert payload["error"].endswith(WHEEL)
        return f"Error: {WHEEL}"
    return payload.get("result", payload)


def test_gemini_chat_of_the_client() -> None:
    """The client calls the tools by itself; the history of its chat has all of it."""
    client, types = _gemini(_gemini_answers())
    tools = Tools()
    config = types.GenerateContentConfig(tools=[tools.search, tools.steer])
    chat = client.chats.create(model="m", config=config)
    for question in QUESTIONS:
        chat.send_message(question)
    trace = read(chat.get_history())
    assert_as_planned(trace, tools, decode=_gemini_payload)
    assert {"agent": "A lamp and a desk."} in trace.to_events()


def test_gemini_response_with_automatic_calls() -> None:
    """A response has the history of the calls that the client made by itself before it."""
    client, types = _gemini(_gemini_answers()[:2])
    tools = Tools()
    config = types.GenerateContentConfig(tools=[tools.search])
    response = client.models.generate_content(model="m", contents=QUESTIONS[0], config=config)
    trace = read(response)
    assert called(trace) == tools.made == list(PLAN[:2])
    assert [type(event).__name__ for event in trace.events][::5] == ["Message", "Message"]
    # What was sent stands in the history too, and is there once.
    sent = types.Content(role="user", parts=[types.Part(text=QUESTIONS[0])])
    assert read([sent, response]).to_events() == trace.to_events()
    other = types.Content(role="user", parts=[types.Part(text="Another question")])
    assert "history of automatic calls" in str(read([other, response]).problems[0])


def test_gemini_contents_by_hand() -> None:
    """Contents and parts of the client, with results given back as parts alone."""
    client, types = _gemini(_gemini_answers())
    tools = Tools()
    contents: list[Any] = []
    history: list[Any] = []
    for question in QUESTIONS:
        contents.append(types.Content(role="user", parts=[types.Part(text=question)]))
        history.append(contents[-1])
        while True:
            response = client.models.generate_content(model="m", contents=contents)
            contents.append(response.candidates[0].content)
            history.append(response)
            results = []
            for call in response.function_calls or ():
                text, failed = tools.run(call.name, call.args)
                given = {"error": text.removeprefix("Error: ")} if failed else {"result": json.loads(text)}
                results.append(types.Part.from_function_response(name=call.name, response=given))
            if not results:
                break
            contents.append(types.Content(role="user", parts=results))
            history += results
    for source in (contents, history):
        assert_as_planned(read(source), tools, decode=_gemini_payload)


# -------------------------------------------------------------------------------------------------------- all of them


def test_a_callable_response_is_a_response() -> None:
    """A class of an SDK may have been given a way to be called; that makes no agent of its objects."""
    chat = pytest.importorskip("openai.types.chat")

    class Callable(chat.ChatCompletion):  # type: ignore[misc, name-defined]
        def __call__(self, _: str) -> None:
            raise AssertionError("it was called")

    response = Callable.model_construct(**_chat_answer({"tool_calls": [_chat_call(0)]}, "tool_calls"))
    assert expect(response).calls("search", query="lamp", limit=2).run().score == 1.0


def test_an_object_that_can_not_be_dumped_is_an_error() -> None:
    """What an object's own method raises is no crash; the error names the object and the reason."""

    class Broken:
        def model_dump(self) -> Any:
            raise KeyError("gone")

    with pytest.raises(ReadError, match=r"Broken can't be turned into plain data: KeyError: .*gone"):
        read(Broken())
