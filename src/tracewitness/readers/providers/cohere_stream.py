"""Read streams of Cohere: lists of events of the second chat interface, with ``type``, or the first, ``event_type``."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any, Final

from tracewitness.readers.providers import openai_chat
from tracewitness.readers.providers.shared import CUT, Call, doubt_lost
from tracewitness.readers.providers.streams import Answer, Stream, StreamRecording, joined, lists_any, read_stream
from tracewitness.readers.reader import Reader
from tracewitness.readers.recording import Path, each_mapping, word
from tracewitness.trace import Trace

__all__ = ["READER"]

_EVENTS: Final = frozenset(
    {
        "citation-end",
        "citation-start",
        "content-delta",
        "content-end",
        "content-start",
        "debug",
        "message-end",
        "message-start",
        "tool-call-delta",
        "tool-call-end",
        "tool-call-start",
        "tool-plan-delta",
    }
)
_FIRST_EVENTS: Final = frozenset(
    {
        "citation-generation",
        "debug",
        "search-queries-generation",
        "search-results",
        "stream-end",
        "stream-start",
        "text-generation",
        "tool-calls-chunk",
        "tool-calls-generation",
    }
)
_FAILED: Final = frozenset({"ERROR", "ERROR_TOXIC", "ERROR_LIMIT", "TIMEOUT", "USER_CANCEL"})


def read(document: Any, name: str = "") -> Trace:
    """Read a list of events, of one stream or of several, and of messages between them.

    Raises:
        ReadError: it is no list.

    >>> def event(kind, call): return {"type": kind, "index": 0, "delta": {"message": {"tool_calls": call}}}
    ...
    >>> read([event("tool-call-start", {"id": "c1", "function": {"name": "search", "arguments": ""}}),
    ...       event("tool-call-delta", {"function": {"arguments": '{"q": "lamp"}'}}),
    ...       {"type": "message-end", "delta": {"finish_reason": "TOOL_CALL"}}]).to_events()
    [{'call': 'search', 'args': {'q': 'lamp'}, 'id': 'c1'}]
    """
    return read_stream(document, name, _STREAM)


def _is_event(item: Mapping[str, Any]) -> bool:
    if "data" in item:  # other streams have events called debug too, with data
        return False
    return word(item, "type") in _EVENTS or word(item, "event_type") in _FIRST_EVENTS


class _Call:
    """A call in the making."""

    def __init__(self, call: Mapping[str, Any], path: Path) -> None:
        self.path = path
        self._call = call
        self._fragments: list[Any] = []

    def add(self, fragment: Any) -> None:
        """Take a piece of the arguments, or all of them."""
        self._fragments.append(fragment)

    def content(self) -> Call:
        """Return what must be the same where a call is told two times."""
        return self._call.get("id"), self._call.get("name"), joined(self._fragments)

    def whole(self) -> dict[str, Any]:
        """Return the call as `openai_chat` reads it."""
        function = {"name": self._call.get("name"), "arguments": joined(self._fragments)}
        return {"id": self._call.get("id"), "type": "function", "function": function}


class _Events(Answer):
    """The response that the events of a stream are."""

    def __init__(self, recording: StreamRecording, path: Path) -> None:
        super().__init__(recording, path)
        self._texts: list[str] = []
        self._calls: list[_Call] = []
        self._open: dict[int | None, _Call] = {}
        self._finish_reason = ""
        self._has_begun = False

    def ends_before(self, event: Mapping[str, Any]) -> bool:
        """Whether a message begins after this one, which has begun, or after its end."""
        begins = word(event, "type") == "message-start" or word(event, "event_type") == "stream-start"
        return self.is_ended or (begins and self._has_begun)

    def add(self, event: Mapping[str, Any], path: Path) -> None:
        """Take an event."""
        self._has_begun = True
        if word(event, "event_type"):
            self._add_first(word(event, "event_type"), event, path)
        else:
            self._add_second(word(event, "type"), event, path)

    def _add_second(self, kind: str, event: Mapping[str, Any], path: Path) -> None:
        delta = event.get("delta")
        delta = delta if isinstance(delta, Mapping) else {}
        message = delta.get("message")
        message = message if isinstance(message, Mapping) else {}
        content, call = message.get("content"), message.get("tool_calls")
        if kind in ("content-start", "content-delta") and isinstance(content, Mapping):
            self._texts.append(word(content, "text"))
        elif kind in ("tool-call-start", "tool-call-delta"):
            self._take_call(kind, event.get("index"), call, path)
        elif kind == "message-end":
            self._finish(word(delta, "finish_reason"), delta.get("error"), path)

    def _take_call(self, kind: str, index: Any, call: Any, path: Path) -> None:
        function = call.get("function") if isinstance(call, Mapping) else None
        if not isinstance(call, Mapping) or not isinstance(function, Mapping):
            self.recording.doubt("an event of a call that has none", path)
            return
        index = index if isinstance(index, int) else None
        if kind == "tool-call-start" or index not in self._open:
            self._open[index] = _Call({"id": call.get("id"), "name": function.get("name")}, path)
            self._calls.append(self._open[index])
        self._open[index].add(function.get("arguments"))

    def _add_first(self, kind: str, event: Mapping[str, Any], path: Path) -> None:
        if kind == "text-generation":
            self._texts.append(word(event, "text"))
        elif kind == "tool-calls-generation":
            self._take_calls(event.get("tool_calls"), (*path, "tool_calls"))
        elif kind == "stream-end":
            response = event.get("response")
            if isinstance(response, Mapping):
                self._texts = [word(response, "text")] if word(response, "text") else self._texts
                self._take_calls(response.get("tool_calls"), (*path, "response", "tool_calls"))
            self._finish(word(event, "finish_reason"), None, path)

    def _take_calls(self, calls: Any, path: Path) -> None:
        """Take calls that came whole; they come once as they are made, and again at the end."""
        taken = []
        for call, place in each_mapping(self.recording, calls, path, "a call"):
            taken.append(_Call(call, place))
            taken[-1].add(call.get("parameters"))
        if self._calls and calls is not None:
            told, kept = ([call.content() for call in found] for found in (self._calls, taken))
            taken = [taken[index] for index in doubt_lost(self.recording, told, kept, path)]
        self._calls += taken

    def _finish(self, reason: str, error: Any, path: Path) -> None:
        self.is_ended = True
        self._finish_reason = reason
        if error or reason in _FAILED:
            self.fail(error or reason, path)

    def whole(self) -> dict[str, Any]:
        """Return the response as `openai_chat` reads it."""
        for number, call in enumerate(self._calls):
            self.recording.begin((*self.path, "choices", 0, "message", "tool_calls", number), call.path)
        if self._finish_reason == "TOOL_CALL" and not self._calls:
            self.recording.doubt("finish_reason is TOOL_CALL, and there is no call", self.path)
        calls = [call.whole() for call in self._calls]
        message = {"content": "".join(self._texts), "tool_calls": calls}
        reason = self._finish_reason if self._finish_reason.lower() in CUT else None
        return {"choices": [{"message": message, "finish_reason": reason}]}


_STREAM: Final = Stream(
    shape="a stream of Cohere is a list of events with a type such as tool-call-delta",
    event_of=lambda item: item if _is_event(item) else None,
    answer=_Events,
    end="message-end",
    is_message=lambda item: openai_chat.detects([item]),
    reader_of=lambda recording: functools.partial(openai_chat.read_item, recording),
)


READER: Final = Reader(
    "cohere-stream",
    detects=lists_any(_is_event),
    read=read,
    shape=_STREAM.shape,
    keys=frozenset({"type", "event_type"}),
    is_log=True,
)
