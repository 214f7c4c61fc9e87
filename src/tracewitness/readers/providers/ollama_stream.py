"""Read streams of Ollama: lists, or JSON Lines, of responses of which only the last is done."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any, Final

from tracewitness.readers.providers import openai_chat
from tracewitness.readers.providers.streams import Answer, Stream, StreamRecording, lists_any, read_stream
from tracewitness.readers.reader import Reader
from tracewitness.readers.recording import Path, each_mapping, word
from tracewitness.trace import Trace

__all__ = ["READER"]


def read(document: Any, name: str = "") -> Trace:
    """Read a list of chunks, of one stream or of several, and of messages between them.

    Raises:
        ReadError: it is no list.

    >>> call = {"function": {"name": "search", "arguments": {"q": "lamp"}}}
    >>> read([{"message": {"role": "assistant", "tool_calls": [call]}, "done": False},
    ...       {"message": {"role": "assistant", "content": ""}, "done": True}]).to_events()
    [{'call': 'search', 'args': {'q': 'lamp'}}]
    """
    return read_stream(document, name, _STREAM)


def _event_of(item: Mapping[str, Any]) -> Mapping[str, Any] | None:
    is_error = bool(item.get("error")) and item.keys() <= {"error", "status", "status_code"}
    return item if _is_chunk(item) or is_error else None


def _is_chunk(item: Mapping[str, Any]) -> bool:
    return isinstance(item.get("done"), bool) and isinstance(item.get("message"), Mapping)


class _Chunks(Answer):
    """The response that the chunks of a stream are."""

    def __init__(self, recording: StreamRecording, path: Path) -> None:
        super().__init__(recording, path)
        self._texts: list[str] = []
        self._calls: list[tuple[Mapping[str, Any], Path]] = []
        self._reason: Any = None

    def ends_before(self, event: Mapping[str, Any]) -> bool:
        """Whether the chunk before was the last one."""
        return self.is_ended and "message" in event

    def add(self, event: Mapping[str, Any], path: Path) -> None:
        """Take a chunk. Each has calls that are whole."""
        message = event.get("message")
        if isinstance(message, Mapping):
            self._texts.append(word(message, "content"))
            calls, place = message.get("tool_calls"), (*path, "message", "tool_calls")
            self._calls += each_mapping(self.recording, calls, place, "a tool call")
        self.is_ended = self.is_ended or event.get("done") is True
        self._reason = event.get("done_reason") or self._reason
        if event.get("error"):
            self.fail(event["error"], path)

    def whole(self) -> dict[str, Any]:
        """Return the response as `openai_chat` reads it."""
        for number, (_, origin) in enumerate(self._calls):
            self.recording.begin((*self.path, "choices", 0, "message", "tool_calls", number), origin)
        calls = [call for call, _ in self._calls]
        message = {"content": "".join(self._texts), "tool_calls": calls}
        return {"choices": [{"message": message, "done_reason": self._reason}]}


_STREAM: Final = Stream(
    shape="a stream of Ollama is a list of responses with a message, of which only the last is done",
    event_of=_event_of,
    answer=_Chunks,
    end="done: true",
    is_message=lambda item: openai_chat.detects([item]),
    reader_of=lambda recording: functools.partial(openai_chat.read_item, recording),
)

READER: Final = Reader(
    "ollama-stream",
    detects=lists_any(lambda item: _is_chunk(item) and item["done"] is False),
    read=read,
    shape=_STREAM.shape,
    keys=frozenset({"done"}),
    is_log=True,
)
