"""The SDKs of further providers, over a transport inside the process; each is skipped where it is not installed."""

from __future__ import annotations

import io
import json
import warnings
from collections.abc import Callable
from typing import Any

import pytest
from provider_support import PLAN, Tools, assert_as_planned, called

from tracewitness.readers import read

QUESTIONS = ("Find a lamp and a desk.", "Turn the wheel.")

Answer = Callable[[dict[str, Any]], Any]


def _client(httpx: Any, answers: list[Any], requests: list[Any]) -> Any:
    def answer(request: Any) -> Any:
        requests.append(json.loads(request.content))
        return httpx.Response(200, json=answers.pop(0))

    return httpx.Client(transport=httpx.MockTransport(answer))


def _assert_read(messages: Any, responses: list[Any], requests: list[Any], tools: Tools) -> None:
    """Check the history, the requests as they went over the wire, and the responses alone."""
    assert_as_planned(read(messages), tools)
    assert_as_planned(read(requests[-1]), tools)
    assert called(read(responses[0])) == list(PLAN[:2])
    assert called(read(responses)) == tools.made


# ------------------------------------------------------------------------------------------------ like OpenAI's clients


def _chat_call(number: int, *, as_text: bool = True, **more: Any) -> dict[str, Any]:
    name, arguments = PLAN[number]
    function = {"name": name, "arguments": json.dumps(arguments) if as_text else arguments}
    return {"id": f"call_{number}", "type": "function", "function": function, **more}


def _chat_answers(envelope: Callable[[dict[str, Any], str], Any], **how: Any) -> list[Any]:
    return [
        envelope({"tool_calls": [_chat_call(0, **how), _chat_call(1, **how)]}, "tool_calls"),
        envelope({"content": "A lamp and a desk."}, "stop"),
        envelope({"content": "I try.", "tool_calls": [_chat_call(2, **how)]}, "tool_calls"),
        envelope({"content": "I can't."}, "stop"),
    ]


def _choice(message: dict[str, Any], finish: str) -> dict[str, Any]:
    choice = {"index": 0, "message": {"role": "assistant", "content": None, **message}, "finish_reason": finish}
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    return {"id": "c-1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], "usage": usage}


def _converse(ask: Callable[[list[Any]], Any], message_of: Callable[[Any], Any], tools: Tools) -> tuple[list[Any], ...]:
    """Converse over two turns; return the messages, and the responses."""
    messages: list[Any] = [{"role": "system", "content": "You help."}]
    responses = []
    for question in QUESTIONS:
        messages.append({"role": "user", "content": question})
        while True:
            response = ask(messages)
            responses.append(response)
            message = message_of(response)
            messages.append(message)
            for call in message.tool_calls or ():
                arguments = call.function.arguments
                arguments = json.loads(arguments) if isinstance(arguments, str) else dict(arguments)
                text, _ = tools.run(call.function.name, arguments)
                call_id = getattr(call, "id", None)
                answered = {"tool_call_id": call_id} if call_id else {"tool_name": call.function.name}
                messages.append({"role": "tool", "content": text, **answered})
            if not message.tool_calls:
                break
    return messages, responses


def test_groq() -> None:
    """Its client is made as OpenAI's is."""
    groq = pytest.importorskip("groq")
    httpx = pytest.importorskip("httpx")
    tools, requests = Tools(), []
    client = groq.Groq(api_key="none", http_client=_client(httpx, _chat_answers(_choice), requests), max_retries=0)
    messages, responses = _converse(
        lambda history: client.chat.completions.create(model="m", messages=history),
        lambda response: response.choices[0].message,
        tools,
    )
    _assert_read(messages, responses, requests, tools)


@pytest.mark.parametrize("as_text", [True, False])
def test_mistral(as_text: bool) -> None:
    """Arguments come as text or as a mapping; the client's class for what is not set is no value."""
    mistralai = pytest.importorskip("mistralai.client")
    httpx = pytest.importorskip("httpx")
    tools, requests = Tools(), []
    answers = _chat_answers(_choice, as_text=as_text)
    client = mistralai.Mistral(api_key="none", client=_client(httpx, answers, requests))
    messages, responses = _converse(
        lambda history: client.chat.complete(model="m", messages=history),
        lambda response: response.choices[0].message,
        tools,
    )
    _assert_read(messages, responses, requests, tools)


def test_mistral_without_ids() -> None:
    """The client writes the text ``null`` for an id that is not there."""
    mistralai = pytest.importorskip("mistralai.client")
    httpx = pytest.importorskip("httpx")
    calls = [{key: value for key, value in _chat_call(number).items() if key != "id"} for number in (0, 1)]
    answers = [_choice({"tool_calls": calls}, "tool_calls")]
    client = mistralai.Mistral(api_key="none", client=_client(httpx, answers, []))
    response = client.chat.complete(model="m", messages=[{"role": "user", "content": "x"}])
    assert response.choices[0].message.tool_calls[0].id == "null"
    trace = read(response)
    assert ([call.id for call in trace.calls], called(trace)) == ([None, None], list(PLAN[:2]))


def test_mistral_conversations() -> None:
    """Entries with calls, results, tools of the provider and handoffs."""
    mistralai = pytest.importorskip("mistralai.client")
    httpx = pytest.importorskip("httpx")
    tools, requests = Tools(), []
    times = {"object": "entry", "created_at": "2026-01-01T00:00:00Z", "completed_at": "2026-01-01T00:00:01Z"}
    calls = [
        {
            "type": "function.call",
            "tool_call_id": f"call_{number}",
            "name": name,
            "arguments": json.dumps(arguments),
            "agent_id": "ag_1",
            "id": f"fc_{number}",
            **times,
        }
        for number, (name, arguments) in enumerate(PLAN)
    ]
    said = {"type": "message.output", "content": "Done.", "agent_id": "ag_2", "role": "assistant", "id": "m1", **times}
    handoff = {
        "type": "agent.handoff",
        "previous_agent_id": "ag_1",
        "previous_agent_name": "desk",
        "next_agent_id": "ag_2",
        "next_agent_name": "driver",
        "id": "h1",
        **times,
    }
    ran = {"type": "tool.execution", "name": "web_search", "arguments": '{"query": "x"}', "id": "t1", **times}
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    answers = [
        {"object": "conversation.response", "conversation_id": "conv_1", "outputs": outputs, "usage": usage}
        for outputs in ([calls[0], calls[1]], [{**said, "agent_id": "ag_1"}], [handoff, calls[2]], [ran, said])
    ]
    client = mistralai.Mistral(api_key="none", client=_client(httpx, answers, requests))
    given: list[Any] = []
    history: list[Any] = []
    for question in QUESTIONS:
        given = [{"type": "message.input", "role": "user", "content": question}]
        while given:
            history += given
            response = client.beta.conversations.start(agent_id="ag_1", inputs=given)
            history.append(response)
            given = [
                {
                    "type": "function.result",
                    "tool_call_id": entry.tool_call_id,
                    "result": tools.run(entry.name, json.loads(entry.arguments))[0],
                }
                for entry in response.outputs
                if entry.type == "function.call"
            ]
    trace = read(history)
    search = trace.calls[-1]
    assert (search.name, search.args, search.answer) == ("web_search", {"query": "x"}, None)
    assert called(trace)[:3] == tools.made == list(PLAN)
    assert [event["transfer"] for event in trace.to_events() if "transfer" in event] == ["driver"]
    assert [event["by"] for event in trace.to_events() if event.get("agent") == "Done."] == ["ag_1", "driver"]
    assert (trace.problems, max(call.turn for call in trace.calls)) == ((), 2)


def test_ollama() -> None:
    """Calls have no ids, and arguments are mappings; results have the tool's name."""
    ollama = pytest.importorskip("ollama")
    httpx = pytest.importorskip("httpx")
    tools, requests = Tools(), []

    def envelope(message: dict[str, Any], finish: str) -> dict[str, Any]:
        calls = [{"function": call["function"]} for call in message.get("tool_calls", ())]
        message = {"role": "assistant", "content": message.get("content") or "", "tool_calls": calls or None}
        return {"model": "m", "created_at": "2026-01-01T00:00:00Z", "message": message, "done": True}

    client = ollama.Client()
    client._client.close()
    client._client = _client(httpx, _chat_answers(envelope, as_text=False), requests)
    client._client.base_url = "http://localhost"
    messages, responses = _converse(
        lambda history: client.chat(model="m", messages=history), lambda response: response.message, tools
    )
    _assert_read(messages, responses, requests, tools)


# -------------------------------------------------------------------------------------------------------------- Cohere


def _cohere(answers: list[Any], requests: list[Any], kind: str) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cohere = pytest.importorskip("cohere")
    httpx = pytest.importorskip("httpx")
    return getattr(cohere, kind)(api_key="none", httpx_client=_client(httpx, answers, requests))


def test_cohere() -> None:
    """A response is one choice; a result may be documents."""
    tools, requests = Tools(), []

    def envelope(message: dict[str, Any], finish: str) -> dict[str, Any]:
        finish = "TOOL_CALL" if finish == "tool_calls" else "COMPLETE"
        text = message.pop("content", None)
        content = [{"type": "text", "text": text}] if text else None
        message = {"role": "assistant", "content": content, **message}
        return {"id": "r-1", "finish_reason": finish, "message": message, "usage": {}}

    client = _cohere(_chat_answers(envelope), requests, "ClientV2")
    messages, responses = _converse(
        lambda history: client.chat(model="m", messages=history), lambda response: response.message, tools
    )
    _assert_read(messages, responses, requests, tools)
    answered = [message for message in requests[-1]["messages"] if message["role"] == "tool"]
    for message in answered:
        message["content"] = [{"type": "document", "document": {"data": message["content"], "id": "0"}}]
    assert_as_planned(read(requests[-1]), tools)


def test_cohere_as_it_was() -> None:
    """No ids: a result has its call. Results of calls that are alike but for their arguments may come in any order."""
    tools, requests = Tools(), []

    def envelope(text: str, *numbers: int) -> dict[str, Any]:
        calls = [{"name": PLAN[number][0], "parameters": PLAN[number][1]} for number in numbers]
        return {"text": text, "generation_id": "g", "tool_calls": calls or None, "finish_reason": "COMPLETE"}

    answers = [envelope("", 0, 1), envelope("A lamp and a desk."), envelope("I try.", 2), envelope("I can't.")]
    client = _cohere(answers, requests, "Client")
    history: list[Any] = []
    responses = []
    for question in QUESTIONS:
        message, results = question, []
        while True:
            response = client.chat(message=message, chat_history=history, tool_results=results or None)
            responses.append(response)
            history += (
                [{"role": "USER", "message": message}] if message else [{"role": "TOOL", "tool_results": results}]
            )
            calls = [call.model_dump() for call in response.tool_calls or ()]
            history.append({"role": "CHATBOT", "message": response.text, "tool_calls": calls})
            if not calls:
                break
            message = ""
            results = [
                {"call": call, "outputs": [{"text": tools.run(call["name"], call["parameters"])[0]}]} for call in calls
            ]
            results.reverse()
    trace = read(history)
    assert called(trace) == tools.made == list(PLAN)
    assert [json.loads(call.result["text"]) for call in trace.calls[:2]] == [
        {"found": ["lamp-0", "lamp-1"]},
        {"found": ["desk-0"]},
    ]
    assert (trace.problems, max(call.turn for call in trace.calls)) == ((), 2)
    assert called(read(requests[-1])) == list(PLAN)
    assert called(read(responses)) == tools.made


# ------------------------------------------------------------------------------------------------------------- Bedrock


class _Wire:
    """Answers in the place of the network."""

    def __init__(self, awsrequest: Any, answers: list[Any], requests: list[Any]) -> None:
        self._awsrequest = awsrequest
        self._answers = answers
        self._requests = requests

    def __call__(self, request: Any, **_: Any) -> Any:
        self._requests.append(json.loads(request.body))
        raw = _Raw(json.dumps(self._answers.pop(0)).encode())
        return self._awsrequest.AWSResponse(request.url, 200, {"content-type": "application/json"}, raw)


class _Raw(io.BytesIO):
    def stream(self, **_: Any) -> Any:
        yield self.read()


def _block(number: int) -> dict[str, Any]:
    name, arguments = PLAN[number]
    return {"toolUse": {"toolUseId": f"tool_{number}", "name": name, "input": arguments}}


def _converse_answer(stop: str, *blocks: dict[str, Any]) -> dict[str, Any]:
    usage = {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2}
    message = {"role": "assistant", "content": list(blocks)}
    return {"output": {"message": message}, "stopReason": stop, "usage": usage, "metrics": {"latencyMs": 1}}


def test_bedrock() -> None:
    """The client gives plain data; a failed tool has a status."""
    boto3 = pytest.importorskip("boto3")
    awsrequest = pytest.importorskip("botocore.awsrequest")
    tools, requests = Tools(), []
    answers = [
        _converse_answer("tool_use", _block(0), _block(1)),
        _converse_answer("end_turn", {"text": "A lamp and a desk."}),
        _converse_answer("tool_use", {"text": "I try."}, _block(2)),
        _converse_answer("end_turn", {"text": "I can't."}),
    ]
    keys = {"aws_access_key_id": "none", "aws_secret_access_key": "none"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        client = boto3.client("bedrock-runtime", region_name="us-east-1", **keys)
    client.meta.events.register_first("before-send.bedrock-runtime.*", _Wire(awsrequest, answers, requests))
    messages: list[Any] = []
    responses = []
    for question in QUESTIONS:
        messages.append({"role": "user", "content": [{"text": question}]})
        while True:
            response = client.converse(modelId="m", messages=messages, system=[{"text": "You help."}])
            responses.append(response)
            messages.append(response["output"]["message"])
            uses = [block["toolUse"] for block in messages[-1]["content"] if "toolUse" in block]
            if not uses:
                break
            messages.append({"role": "user", "content": [_tool_result(tools, use) for use in uses]})
    _assert_read(messages, responses, requests, tools)
    assert [call.is_error for call in read(messages).calls] == [False, False, True]


def _tool_result(tools: Tools, use: dict[str, Any]) -> dict[str, Any]:
    text, failed = tools.run(use["name"], use["input"])
    content = {"text": text} if failed else {"json": json.loads(text)}
    status = "error" if failed else "success"
    return {"toolResult": {"toolUseId": use["toolUseId"], "content": [content], "status": status}}
