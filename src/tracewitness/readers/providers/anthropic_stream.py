"""Read streams of Anthropic Messages: lists of events such as ``content_block_delta``."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any, Final

from tracewitness.display import show
from tracewitness.readers.providers import anthropic_messages
from tracewitness.readers.providers.streams import Answer, Stream, StreamRecording, joined, lists_any, read_stream
from tracewitness.readers.reader import Reader
from tracewitness.readers.recording import Path, word
from tracewitness.trace import Trace

__all__ = ["READER"]

_BLOCK_EVENTS: Final = frozenset({"content_block_start", "content_block_delta", "content_block_stop"})
_EVENTS: Final = _BLOCK_EVENTS | {"message_start", "message_delta", "message_stop"}
# Events of the SDK's helper, which repeat what a delta brought.
_REPEATING: Final = frozenset({"text", "input_json", "citation", "thinking", "compaction"})
# Deltas of what is neither said nor called.
_SILENT_DELTAS: Final = frozenset({"citations_delta", "compaction_delta", "signature_delta", "thinking_delta"})


def read(document: Any, name: str = "") -> Trace:
    """Read a list of events, of one stream or of several, and of messages between them.

    Raises:
        ReadError: it is no list.

    >>> block = {"type": "tool_use", "id": "t1", "name": "search", "input": {}}
    >>> read([{"type": "message_start", "message": {"role": "assistant", "content": []}},
    ...       {"type": "content_block_start", "index": 0, "content_block": block},
    ...       {"type": "content_block_delta", "index": 0,
    ...        "delta": {"type": "input_json_delta", "partial_json": '{"q": "lamp"}'}},
    ...       {"type": "message_stop"}]).to_events()
    [{'call': 'search', 'args': {'q': 'lamp'}, 'id': 't1'}]
    """
    return read_stream(document, name, _STREAM)


def _event_of(item: Mapping[str, Any]) -> Mapping[str, Any] | None:
    kind = word(item, "type")
    if kind in _EVENTS or (kind == "error" and "role" not in item):
        return item
    if kind == "ping" or (kind in _REPEATING and "snapshot" in item) or (kind == "signature" and "signature" in item):
        return {}
    return None


class _Block:
    """A block in the making."""

    def __init__(self, block: Mapping[str, Any], path: Path) -> None:
        self.path = path
        self._block = block
        self._texts: list[str] = []
        self._input: list[Any] = []

    def add(self, delta: Mapping[str, Any]) -> bool:
        """Take what a delta brings. False where it is of an unknown kind."""
        kind = word(delta, "type")
        if kind == "text_delta":
            self._texts.append(word(delta, "text"))
        elif kind == "input_json_delta":
            self._input.append(delta.get("partial_json"))
        return kind in _SILENT_DELTAS or kind in ("text_delta", "input_json_delta")

    def whole(self) -> Mapping[str, Any]:
        """Return the block with what its deltas brought."""
        arguments = joined(self._input)
        if self._texts:
            return {**self._block, "text": word(self._block, "text") + "".join(self._texts)}
        return {**self._block, "input": arguments} if arguments else self._block


class _Events(Answer):
    """The message that the events of a stream are."""

    def __init__(self, recording: StreamRecording, path: Path) -> None:
        super().__init__(recording, path)
        self._message: dict[str, Any] = {}
        self._blocks: list[_Block] = []
        self._open: dict[Any, _Block] = {}

    def ends_before(self, event: Mapping[str, Any]) -> bool:
        """Whether a message begins after this one, which has begun, or after its end."""
        kind = word(event, "type")
        if self.is_ended:
            return kind in _EVENTS
        return kind == "message_start" and bool(self._message or self._blocks)

    def add(self, event: Mapping[str, Any], path: Path) -> None:
        """Take an event."""
        kind = word(event, "type")
        if kind == "message_start":
            message = event.get("message")
            self._message.update(message if isinstance(message, Mapping) else {})
        elif kind in _BLOCK_EVENTS:
            self._take_block_event(kind, event, path)
        elif kind == "message_delta":
            delta = event.get("delta")
            self._message.update(delta if isinstance(delta, Mapping) else {})
        elif kind == "message_stop":
            self.is_ended = True
        elif kind == "error":
            self.fail(event.get("error"), path)

    def _take_block_event(self, kind: str, event: Mapping[str, Any], path: Path) -> None:
        index, block, delta = event.get("index"), event.get("content_block"), event.get("delta")
        index = index if isinstance(index, int) else None
        if kind == "content_block_start" and isinstance(block, Mapping):
            self._open[index] = _Block(block, path)
            self._blocks.append(self._open[index])
        elif kind == "content_block_delta" and isinstance(delta, Mapping) and index in self._open:
            if not self._open[index].add(delta):
                self.recording.doubt(f"an unknown delta of type {show(delta.get('type'))}", path)
        elif kind != "content_block_stop":
            self.recording.doubt(f"an event of a block that is not here: {show(dict(event))}", path)

    def whole(self) -> dict[str, Any] | None:
        """Return the message. Some begin with blocks that are whole."""
        if not self._message and not self._blocks:
            return None
        content = self._message.get("content")
        first = content if isinstance(content, list) else []
        for number, block in enumerate(self._blocks, len(first)):
            self.recording.begin((*self.path, "content", number), block.path)
        blocks = [*first, *(block.whole() for block in self._blocks)]
        return {**self._message, "type": "message", "role": "assistant", "content": blocks}


_STREAM: Final = Stream(
    shape="a stream of Anthropic Messages is a list of events with a type such as content_block_delta",
    event_of=_event_of,
    answer=_Events,
    end="message_stop",
    is_message=lambda item: anthropic_messages.detects([item]),
    reader_of=lambda recording: functools.partial(anthropic_messages.read_item, recording),
)

READER: Final = Reader(
    "anthropic-stream",
    detects=lists_any(lambda item: word(item, "type") in _EVENTS),
    read=read,
    shape=_STREAM.shape,
    keys=frozenset({"type"}),
    is_log=True,
)
