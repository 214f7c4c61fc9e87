"""More real SDKs, streaming over a transport inside the process; each is tested where it is installed."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from provider_support import PLAN, Tools, assert_as_planned
from stream_support import json_lines, server_sent

from tracewitness.readers import read
from tracewitness.readers.documents import decode_document

QUESTIONS = ("Find a lamp and a desk.", "Turn the wheel.")
# What the model answers in two turns: the calls that it makes, by their place in the plan, or what it says.
SCRIPT: tuple[tuple[tuple[int, ...], str], ...] = (
    ((0, 1), ""),
    ((), "A lamp and a desk."),
    ((2,), "I try."),
    ((), "It is stuck."),
)


def _converse(
    tools: Tools,
    ask: Callable[[], list[Any]],
    user: Callable[[str], Any],
    answered: Callable[[int, str, bool], Any],
) -> list[Any]:
    """Converse over two turns, and return all that was sent and that came back.

    Arguments:
        ask: makes a request, and returns what the client gives of the stream.
        user: returns a question as the client takes it.
        answered: returns a result as the client takes it: of which call of the plan, the text, whether it failed.
    """
    history: list[Any] = []
    script = iter(SCRIPT)
    for question in QUESTIONS:
        history.append(user(question))
        calls: tuple[int, ...] = (-1,)
        while calls:
            history += ask()
            calls, _ = next(script)
            for number in calls:
                text, failed = tools.run(*PLAN[number])
                history.append(answered(number, text, failed))
    return history


def _halves(number: int) -> tuple[str, str]:
    """Return the arguments of a call in two pieces."""
    text = json.dumps(PLAN[number][1])
    return text[:7], text[7:]


def _transport(httpx: Any, answers: Iterator[str], kind: str = "text/event-stream") -> Any:
    headers = {"content-type": kind}
    return httpx.MockTransport(lambda _: httpx.Response(200, text=next(answers), headers=headers))


# ------------------------------------------------------------------------------------------------------------- Bedrock


def _message(kind: str, content: Any) -> bytes:
    """Return an event as AWS writes it."""
    texts = {":message-type": "event", ":content-type": "application/json", ":event-type": kind}
    headers = b"".join(
        bytes([len(name)]) + name.encode() + b"\x07" + struct.pack(">H", len(text)) + text.encode()
        for name, text in texts.items()
    )
    payload = json.dumps(content).encode()
    prelude = struct.pack(">II", 16 + len(headers) + len(payload), len(headers))
    message = prelude + struct.pack(">I", zlib.crc32(prelude)) + headers + payload
    return message + struct.pack(">I", zlib.crc32(message))


def _bedrock_events(calls: tuple[int, ...], text: str) -> Iterator[bytes]:
    yield _message("messageStart", {"role": "assistant"})
    if text:
        for piece in (text[:4], text[4:]):
            yield _message("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": piece}})
        yield _message("contentBlockStop", {"contentBlockIndex": 0})
    for index, number in enumerate(calls, 1):
        use = {"toolUseId": f"tool_{number}", "name": PLAN[number][0]}
        yield _message("contentBlockStart", {"contentBlockIndex": index, "start": {"toolUse": use}})
        for half in _halves(number):
            delta = {"toolUse": {"input": half}}
            yield _message("contentBlockDelta", {"contentBlockIndex": index, "delta": delta})
        yield _message("contentBlockStop", {"contentBlockIndex": index})
    yield _message("messageStop", {"stopReason": "tool_use" if calls else "end_turn"})
    yield _message("metadata", {"usage": {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2}, "metrics": {}})


class _Body:
    """The body of an answer, as the client wants it."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def stream(self) -> Iterator[bytes]:
        yield self._data

    def close(self) -> None:
        """Nothing is open."""


def test_bedrock_of_the_client() -> None:
    """Events of the client, with messages between the streams; its bytes read the same."""
    boto3 = pytest.importorskip("boto3")
    awsrequest = pytest.importorskip("botocore.awsrequest")
    keys = {"aws_access_key_id": "none", "aws_secret_access_key": "none", "region_name": "us-east-1"}
    client = boto3.client("bedrock-runtime", **keys)
    bodies = [b"".join(_bedrock_events(*step)) for step in SCRIPT]
    script = iter(bodies)
    headers = {"content-type": "application/vnd.amazon.eventstream"}
    client.meta.events.register(
        "before-send.bedrock-runtime.ConverseStream",
        lambda **_: awsrequest.AWSResponse("https://bedrock", 200, headers, _Body(next(script))),
    )
    asked = {"modelId": "m", "messages": [{"role": "user", "content": [{"text": QUESTIONS[0]}]}]}
    tools = Tools()

    def answered(number: int, text: str, failed: bool) -> Any:
        status = "error" if failed else "success"
        result = {"toolUseId": f"tool_{number}", "content": [{"text": text}], "status": status}
        return {"role": "user", "content": [{"toolResult": result}]}

    history = _converse(
        tools,
        lambda: list(client.converse_stream(**asked)["stream"]),
        lambda question: {"role": "user", "content": [{"text": question}]},
        answered,
    )
    trace = read(history)
    assert_as_planned(trace, tools)
    assert [call.is_error for call in trace.calls] == [False, False, True]
    assert [event for body in bodies for event in decode_document(body)] == [
        event for event in history if "role" not in event
    ]


# -------------------------------------------------------------------------------------------------------------- Cohere


def _cohere_events(calls: tuple[int, ...], text: str) -> str:
    message = {"role": "assistant", "content": [], "tool_plan": "", "tool_calls": [], "citations": []}
    events: list[dict[str, Any]] = [{"type": "message-start", "id": "x", "delta": {"message": message}}]
    if calls:
        events.append({"type": "tool-plan-delta", "delta": {"message": {"tool_plan": "I look."}}})
    for index, number in enumerate(calls):
        call = {"id": f"call_{number}", "type": "function", "function": {"name": PLAN[number][0], "arguments": ""}}
        events.append({"type": "tool-call-start", "index": index, "delta": {"message": {"tool_calls": call}}})
        for half in _halves(number):
            piece = {"tool_calls": {"function": {"arguments": half}}}
            events.append({"type": "tool-call-delta", "index": index, "delta": {"message": piece}})
        events.append({"type": "tool-call-end", "index": index})
    if text and not calls:
        content = {"type": "text", "text": ""}
        events.append({"type": "content-start", "index": 0, "delta": {"message": {"content": content}}})
        events.append({"type": "content-delta", "index": 0, "delta": {"message": {"content": {"text": text}}}})
        events.append({"type": "content-end", "index": 0})
    reason = "TOOL_CALL" if calls else "COMPLETE"
    return server_sent([*events, {"type": "message-end", "delta": {"finish_reason": reason}}], named=True)


def test_cohere_of_the_client() -> None:
    """Events of the client, with messages between the streams."""
    cohere, httpx = pytest.importorskip("cohere"), pytest.importorskip("httpx")
    transport = _transport(httpx, (_cohere_events(*step) for step in SCRIPT))
    client = cohere.ClientV2(api_key="none", httpx_client=httpx.Client(transport=transport))
    tools = Tools()
    history = _converse(
        tools,
        lambda: list(client.chat_stream(model="m", messages=[{"role": "user", "content": "x"}])),
        lambda question: {"role": "user", "content": question},
        lambda number, text, _: {"role": "tool", "tool_call_id": f"call_{number}", "content": text},
    )
    trace = read(history)
    assert_as_planned(trace, tools)
    assert trace.to_events()[-1] == {"agent": "It is stuck."}


# -------------------------------------------------------------------------------------------------------------- Ollama


def _ollama_lines(calls: tuple[int, ...], text: str) -> str:
    messages: list[dict[str, Any]] = [{"role": "assistant", "content": piece} for piece in (text[:4], text[4:])]
    for number in calls:
        name, arguments = PLAN[number]
        call = {"function": {"name": name, "arguments": arguments}}
        messages.append({"role": "assistant", "content": "", "tool_calls": [call]})
    chunks = [{"model": "m", "message": message, "done": False} for message in messages]
    end = {"model": "m", "message": {"role": "assistant", "content": ""}, "done": True, "done_reason": "stop"}
    return json_lines([*chunks, end])


def test_ollama_of_the_client() -> None:
    """Chunks of the client, with messages between the streams; calls have no ids, results the names of tools."""
    ollama, httpx = pytest.importorskip("ollama"), pytest.importorskip("httpx")
    transport = _transport(httpx, (_ollama_lines(*step) for step in SCRIPT), "application/x-ndjson")
    client = ollama.Client(host="http://none", transport=transport)
    tools = Tools()
    history = _converse(
        tools,
        lambda: list(client.chat(model="m", messages=[{"role": "user", "content": "x"}], stream=True)),
        lambda question: {"role": "user", "content": question},
        lambda number, text, _: {"role": "tool", "tool_name": PLAN[number][0], "content": text},
    )
    trace = read(history)
    assert_as_planned(trace, tools)
    assert trace.to_events()[-1] == {"agent": "It is stuck."}


# ---------------------------------------------------------------------------------- servers that write OpenAI's chunks


def _chunks(calls: tuple[int, ...], text: str, *, whole: bool) -> str:
    """Return chunks with calls that are whole, or in pieces."""
    common = {"id": f"chatcmpl-{id(calls)}-{text}", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}, {"content": text}]
    for index, number in enumerate(calls):
        halves = ("".join(_halves(number)),) if whole else _halves(number)
        call = {"id": f"call_{number}", "type": "function", "index": index}
        for place, half in enumerate(halves):
            function = {"name": "" if place else PLAN[number][0], "arguments": half}
            deltas.append({"content": "", "tool_calls": [{**call, "function": function}]})
    choices = [{"index": 0, "delta": delta, "finish_reason": None} for delta in [*deltas, {"content": ""}]]
    choices[-1]["finish_reason"] = "tool_calls" if calls else "stop"
    return server_sent([{**common, "choices": [choice]} for choice in choices], done=True)


def test_mistral_of_the_client() -> None:
    """Events of the client, which wrap chunks with whole calls."""
    mistral, httpx = pytest.importorskip("mistralai.client"), pytest.importorskip("httpx")
    transport = _transport(httpx, (_chunks(*step, whole=True) for step in SCRIPT))
    client = mistral.Mistral(api_key="none", client=httpx.Client(transport=transport))
    tools = Tools()
    history = _converse(
        tools,
        lambda: list(client.chat.stream(model="m", messages=[{"role": "user", "content": "x"}])),
        lambda question: {"role": "user", "content": question},
        lambda number, text, _: {"role": "tool", "tool_call_id": f"call_{number}", "content": text},
    )
    assert_as_planned(read(history), tools)


def test_groq_of_the_client() -> None:
    """Chunks of the client, with calls in pieces."""
    groq, httpx = pytest.importorskip("groq"), pytest.importorskip("httpx")
    transport = _transport(httpx, (_chunks(*step, whole=False) for step in SCRIPT))
    client = groq.Groq(api_key="none", http_client=httpx.Client(transport=transport))
    tools = Tools()
    history = _converse(
        tools,
        lambda: list(
            client.chat.completions.create(model="m", messages=[{"role": "user", "content": "x"}], stream=True)
        ),
        lambda question: {"role": "user", "content": question},
        lambda number, text, _: {"role": "tool", "tool_call_id": f"call_{number}", "content": text},
    )
    assert_as_planned(read(history), tools)
