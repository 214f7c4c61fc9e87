"""Models on this machine for programs that ask theirs over HTTP: each answers as a script says."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Script = Callable[[dict[str, Any]], list[dict[str, Any]]]
Events = Iterator[tuple[str, dict[str, Any]]]


class Model:
    """Answers requests with what a script makes of them, as a stream of server-sent events.

    Arguments:
        script: makes an answer's blocks or items of what was asked.
        stream: makes events of them.
    """

    def __init__(self, script: Script, stream: Callable[[dict[str, Any], list[dict[str, Any]], int], Events]) -> None:
        self._script = script
        self._stream = stream
        self._lock = threading.Lock()
        self._asked = 0

    def answer(self, asked: dict[str, Any]) -> bytes:
        """Return the events of an answer."""
        with self._lock:
            self._asked += 1
            number = self._asked
        events = self._stream(asked, self._script(asked), number)
        return "".join(f"event: {name}\ndata: {json.dumps(data)}\n\n" for name, data in events).encode()


@contextlib.contextmanager
def served(model: Model) -> Iterator[str]:
    """Serve a model, and yield its address."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])) or b"{}")
            if "messages" in body or "input" in body:
                self._send(200, "text/event-stream", model.answer(body))
            else:
                self._send(404, "application/json", b"{}")

        def do_GET(self) -> None:
            self._send(404, "application/json", b"{}")

        def do_HEAD(self) -> None:
            self._send(200, "application/json", b"")

        def log_message(self, *arguments: Any) -> None:
            """Keep quiet."""

        def _send(self, status: int, kind: str, body: bytes) -> None:
            self.send_response(status)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def anthropic_stream(asked: dict[str, Any], blocks: list[dict[str, Any]], number: int) -> Events:
    """Yield the events of an answer of Anthropic Messages."""
    calls = any(block["type"] == "tool_use" for block in blocks)
    message = {"id": f"msg_{number}", "type": "message", "role": "assistant", "model": asked["model"], "content": []}
    ends: dict[str, Any] = {"stop_reason": None, "stop_sequence": None}
    usage = {"usage": {"input_tokens": 1, "output_tokens": 1}}
    yield "message_start", {"type": "message_start", "message": {**message, **ends, **usage}}
    for index, block in enumerate(blocks):
        place = {"index": index}
        if block["type"] == "text":
            begun, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": block["text"]}
        else:
            begun = {**block, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        yield "content_block_start", {"type": "content_block_start", **place, "content_block": begun}
        yield "content_block_delta", {"type": "content_block_delta", **place, "delta": delta}
        yield "content_block_stop", {"type": "content_block_stop", **place}
    ends["stop_reason"] = "tool_use" if calls else "end_turn"
    yield "message_delta", {"type": "message_delta", "delta": ends, "usage": {"output_tokens": 1}}
    yield "message_stop", {"type": "message_stop"}


def responses_stream(asked: dict[str, Any], items: list[dict[str, Any]], number: int) -> Events:
    """Yield the events of an answer of OpenAI Responses."""
    response: dict[str, Any] = {"id": f"resp_{number}"}
    yield "response.created", {"type": "response.created", "response": response}
    for index, item in enumerate(items):
        done = {"type": "response.output_item.done", "output_index": index, "item": item}
        yield "response.output_item.done", done
    usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
    yield (
        "response.completed",
        {"type": "response.completed", "response": {**response, "output": items, "usage": usage}},
    )
