"""Read streams of Bedrock Converse: lists of events such as ``contentBlockDelta``."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any, Final

from tracewitness.display import show
from tracewitness.readers.providers import bedrock
from tracewitness.readers.providers.streams import Answer, Stream, StreamRecording, joined, lists_any, read_stream
from tracewitness.readers.reader import Reader
from tracewitness.readers.recording import Path, word
from tracewitness.trace import Trace

__all__ = ["READER"]

_BLOCK_EVENTS: Final = ("contentBlockStart", "contentBlockDelta", "contentBlockStop")
_EVENTS: Final = ("messageStart", *_BLOCK_EVENTS, "messageStop", "metadata")
_MARKS: Final = frozenset(_EVENTS) - {"metadata"}
_SILENT_DELTAS: Final = frozenset({"citation", "image", "reasoningContent"})


def read(document: Any, name: str = "") -> Trace:
    """Read a list of events, of one stream or of several, and of messages between them.

    Raises:
        ReadError: it is no list.

    >>> start = {"toolUse": {"toolUseId": "t1", "name": "search"}}
    >>> read([{"contentBlockStart": {"contentBlockIndex": 0, "start": start}},
    ...       {"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"toolUse": {"input": '{"q": "lamp"}'}}}},
    ...       {"contentBlockStop": {"contentBlockIndex": 0}},
    ...       {"messageStop": {"stopReason": "tool_use"}}]).to_events()
    [{'call': 'search', 'args': {'q': 'lamp'}, 'id': 't1'}]
    """
    return read_stream(document, name, _STREAM)


def _event_of(item: Mapping[str, Any]) -> Mapping[str, Any] | None:
    if len(item) != 1:  # a client writes null for all that an event is not
        told = {key: value for key, value in item.items() if value is not None}
        return told if len(told) == 1 and not _MARKS.isdisjoint(told) else None
    return item if any(key in _EVENTS or _is_failure(key) for key in item) else None


def _is_failure(kind: Any) -> bool:
    return isinstance(kind, str) and kind.endswith(("Exception", "Error", "error"))


class _Block:
    """A block in the making."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._fields: dict[str, Any] = {}
        self._texts: list[str] = []
        self._input: list[Any] = []
        self._result: list[Any] = []

    def start(self, start: Mapping[str, Any]) -> None:
        """Take what the block begins with."""
        self._fields.update(start)

    def add(self, delta: Mapping[str, Any]) -> bool:
        """Take what a delta brings. False where it is of an unknown kind."""
        use, result = delta.get("toolUse"), delta.get("toolResult")
        self._texts.append(word(delta, "text"))
        self._fields.update({kind: delta[kind] for kind in _SILENT_DELTAS & delta.keys()})
        if isinstance(use, Mapping):
            self._fields.setdefault("toolUse", {})
            self._input.append(use.get("input"))
        if isinstance(result, list):
            self._result += result
        return not delta.keys().isdisjoint({"text", "toolUse", "toolResult", *_SILENT_DELTAS})

    def whole(self) -> dict[str, Any]:
        """Return the block as it is in a message."""
        use, result = self._fields.get("toolUse"), self._fields.get("toolResult")
        if isinstance(use, Mapping):
            return {"toolUse": {**use, "input": joined(self._input)}}
        if isinstance(result, Mapping):
            return {"toolResult": {**result, "content": self._result}}
        text = "".join(self._texts)
        return {"text": text} if text or not self._fields else self._fields


class _Events(Answer):
    """The response that the events of a stream are."""

    def __init__(self, recording: StreamRecording, path: Path) -> None:
        super().__init__(recording, path)
        self._stop_reason: Any = None
        self._blocks: list[_Block] = []
        self._open: dict[Any, _Block] = {}

    def ends_before(self, event: Mapping[str, Any]) -> bool:
        """Whether a message begins after this one, or after its end. Numbers come at the end or after it."""
        return "metadata" not in event and (self.is_ended or ("messageStart" in event and bool(self._blocks)))

    def add(self, event: Mapping[str, Any], path: Path) -> None:
        """Take an event."""
        for kind, content in event.items():
            if _is_failure(kind):
                self.fail({kind: content}, path)
            elif not isinstance(content, Mapping):
                self.recording.doubt(f"an event is a mapping, not {show(content)}", path)
            elif kind == "messageStop":
                self._stop_reason = content.get("stopReason")
                self.is_ended = True
            elif kind in _BLOCK_EVENTS:
                self._take_block_event(kind, content, path)

    def _take_block_event(self, kind: str, content: Mapping[str, Any], path: Path) -> None:
        index = content.get("contentBlockIndex")
        index = index if isinstance(index, int) else None
        if kind == "contentBlockStop":
            self._open.pop(index, None)
            return
        if kind == "contentBlockStart" or index not in self._open:  # texts have no start
            self._open[index] = _Block(path)
            self._blocks.append(self._open[index])
        start, delta = content.get("start"), content.get("delta")
        if isinstance(start, Mapping):
            self._open[index].start(start)
        if isinstance(delta, Mapping) and not self._open[index].add(delta):
            self.recording.doubt(f"an unknown delta {show(dict(delta))}", path)

    def whole(self) -> dict[str, Any] | None:
        """Return the response."""
        if self.recording.failure is not None and not self._blocks:
            return None
        for number, block in enumerate(self._blocks):
            self.recording.begin((*self.path, "output", "message", "content", number), block.path)
        message = {"role": "assistant", "content": [block.whole() for block in self._blocks]}
        return {"output": {"message": message}, "stopReason": self._stop_reason}


_STREAM: Final = Stream(
    shape="a stream of Bedrock Converse is a list of events such as contentBlockDelta",
    event_of=_event_of,
    answer=_Events,
    end="messageStop",
    is_message=lambda item: bedrock.detects([item]),
    reader_of=lambda recording: functools.partial(bedrock.read_item, recording),
)


READER: Final = Reader(
    "bedrock-converse-stream",
    detects=lists_any(lambda item: any(isinstance(item.get(mark), Mapping) for mark in _MARKS)),
    read=read,
    shape=_STREAM.shape,
    keys=_MARKS,
    is_log=True,
)
