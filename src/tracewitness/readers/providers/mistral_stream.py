"""Read streams of Mistral's conversations: lists of events such as ``function.call.delta``.

Streams of its chat completions are what `openai_chat_stream` reads.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from tracewitness.readers.providers import mistral
from tracewitness.readers.providers.streams import Answer, Stream, StreamRecording, joined, lists_any, read_stream
from tracewitness.readers.reader import Reader
from tracewitness.readers.recording import Path, one_text, word
from tracewitness.trace import Trace

__all__ = ["READER"]

_BEGIN: Final = "conversation.response.started"
_END: Final = "conversation.response.done"
_ERROR: Final = "conversation.response.error"
# Events that tell of an entry, and the type of that.
_ENTRIES: Final = {
    "agent.handoff.done": "agent.handoff",
    "agent.handoff.started": "agent.handoff",
    "function.call.delta": "function.call",
    "message.output.delta": "message.output",
    "tool.execution.delta": "tool.execution",
    "tool.execution.done": "tool.execution",
    "tool.execution.started": "tool.execution",
}
_EVENTS: Final = frozenset({_BEGIN, _END, _ERROR, *_ENTRIES})


def read(document: Any, name: str = "") -> Trace:
    """Read a list of events, of one stream or of several, and of entries between them.

    Raises:
        ReadError: it is no list.

    >>> call = {"type": "function.call.delta", "id": "f1", "tool_call_id": "c1", "name": "search"}
    >>> read([{**call, "arguments": '{"q": '}, {**call, "arguments": '"lamp"}'},
    ...       {"type": "conversation.response.done"}]).to_events()
    [{'call': 'search', 'args': {'q': 'lamp'}, 'id': 'c1'}]
    """
    return read_stream(document, name, _STREAM)


def _event_of(item: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return an event, also out of what the client wraps it in."""
    wrapped = item.get("data")
    found = wrapped if isinstance(wrapped, Mapping) else item
    return found if word(found, "type") in _EVENTS else None


class _Entry:
    """An entry in the making."""

    def __init__(self, kind: str, path: Path) -> None:
        self.path = path
        self._kind = kind
        self._fields: dict[str, Any] = {}
        self._content: list[Any] = []
        self._arguments: list[Any] = []

    def add(self, event: Mapping[str, Any]) -> None:
        """Take what an event brings."""
        self._fields.update({key: value for key, value in event.items() if value is not None})
        self._arguments.append(event.get("arguments"))
        content = event.get("content")
        self._content += content if isinstance(content, list) else [content]

    def whole(self) -> dict[str, Any]:
        """Return the entry as a response has it."""
        entry = {**self._fields, "type": self._kind}
        if self._kind == "message.output":
            return {**entry, "content": "".join(filter(None, map(one_text, self._content)))}
        return {**entry, "arguments": joined(self._arguments)}


class _Events(Answer):
    """The response that the events of a stream are."""

    def __init__(self, recording: StreamRecording, path: Path) -> None:
        super().__init__(recording, path)
        self._entries: dict[tuple[str, Any], _Entry] = {}

    def ends_before(self, event: Mapping[str, Any]) -> bool:
        """Whether a response begins after this one, which has begun, or after its end."""
        return self.is_ended or (word(event, "type") == _BEGIN and bool(self._entries))

    def add(self, event: Mapping[str, Any], path: Path) -> None:
        """Take an event."""
        kind = word(event, "type")
        if kind == _ERROR:
            self.fail(event.get("message") or event.get("code"), path)
        elif kind == _END:
            self.is_ended = True
        elif kind in _ENTRIES:
            entry = _ENTRIES[kind]
            # The two events of a handoff have ids of their own.
            key = word(event, "id") if entry != "agent.handoff" else ""
            index = event.get("output_index")
            place = (entry, key or (index if isinstance(index, int) else None))
            self._entries.setdefault(place, _Entry(entry, path)).add(event)

    def whole(self) -> dict[str, Any] | None:
        """Return the response."""
        if not self._entries and self.recording.failure is not None:
            return None
        for number, entry in enumerate(self._entries.values()):
            self.recording.begin((*self.path, "outputs", number), entry.path)
        return {"object": "conversation.response", "outputs": [entry.whole() for entry in self._entries.values()]}


_STREAM: Final = Stream(
    shape="a stream of a conversation of Mistral is a list of events with a type such as function.call.delta",
    event_of=_event_of,
    answer=_Events,
    end=_END,
    is_message=lambda item: mistral.detects([item]),
    reader_of=lambda recording: mistral.ItemReader(recording).item,
)

READER: Final = Reader(
    "mistral-conversations-stream",
    detects=lists_any(lambda item: _event_of(item) is not None),
    read=read,
    shape=_STREAM.shape,
    keys=frozenset({"type", "data"}),
    is_log=True,
)
