"""Read streams of OpenAI Responses: lists of events such as ``response.output_item.done``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from msgspec import UNSET

from tracewitness.readers.providers import openai_responses
from tracewitness.readers.providers.shared import Call, doubt_lost
from tracewitness.readers.providers.streams import Answer, Stream, StreamRecording, lists_any, read_stream
from tracewitness.readers.reader import Reader
from tracewitness.readers.recording import Path, word
from tracewitness.trace import Trace

__all__ = ["READER"]

_PREFIX: Final = "response."
_ENDS: Final = frozenset({"response.completed", "response.incomplete", "response.failed", "response.cancelled"})
# Events that bring pieces of an item, by what stands before `.delta` and `.done`: the item's field that they make,
# and the field of the last event that has it whole.
_PIECES: Final = {
    "response.apply_patch_call_operation_diff": ("diff", "diff"),
    "response.code_interpreter_call_code": ("code", "code"),
    "response.custom_tool_call_input": ("input", "input"),
    "response.function_call_arguments": ("arguments", "arguments"),
    "response.mcp_call_arguments": ("arguments", "arguments"),
    "response.output_text": ("text", "text"),
    "response.refusal": ("text", "refusal"),
    "response.shell_call_command": ("command", "command"),
}


def read(document: Any, name: str = "") -> Trace:
    """Read a list of events, of one stream or of several, and of items between them.

    Raises:
        ReadError: it is no list.

    >>> item = {"type": "function_call", "call_id": "c1", "name": "search", "arguments": ""}
    >>> read([{"type": "response.output_item.added", "output_index": 0, "item": item},
    ...       {"type": "response.output_item.done", "output_index": 0, "item": {**item, "arguments": "{}"}},
    ...       {"type": "response.completed", "response": {"object": "response", "output": []}}]).to_events()
    [{'call': 'search', 'args': {}, 'id': 'c1'}]
    """
    return read_stream(document, name, _STREAM)


def _event_of(item: Mapping[str, Any]) -> Mapping[str, Any] | None:
    kind = word(item, "type")
    if kind == "keepalive":
        return {}
    return item if kind.startswith(_PREFIX) or (kind == "error" and "role" not in item) else None


class _Item:
    """An item in the making: as it was added, and the pieces that came since, by the field that they make."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._added: dict[str, Any] = {}
        self._done: Mapping[str, Any] | None = None
        self._pieces: dict[str, list[str]] = {}
        self._whole: dict[str, str] = {}

    @property
    def is_told(self) -> bool:
        """Whether the item itself was there, not only pieces of it."""
        return bool(self._added) or self._done is not None

    @property
    def is_done(self) -> bool:
        """Whether the item was there as it is in the end."""
        return self._done is not None

    def take(self, item: Mapping[str, Any], *, is_done: bool) -> None:
        """Take the item as an event has it."""
        if is_done:
            self._done = item
        else:
            self._added = dict(item)

    def add(self, field: str, piece: str) -> None:
        """Take a piece of a field."""
        self._pieces.setdefault(field, []).append(piece)

    def finish(self, field: str, text: str) -> None:
        """Take a field that came whole."""
        self._whole[field] = text

    def whole(self) -> Mapping[str, Any]:
        """Return the item: as it was at its end, else as it was added, with what came since."""
        if self._done is not None:
            return self._done
        item = self._added
        told = {field: "".join(pieces) for field, pieces in self._pieces.items()} | self._whole
        for field, text in told.items():
            if field == "text":
                item = {**item, "content": [{"type": "output_text", "text": text}]}
            elif field in ("diff", "command"):
                item = {**item, **_with_operation(item, field, text)}
            else:
                item = {**item, field: text}
        return item


def _with_operation(item: Mapping[str, Any], field: str, text: str) -> dict[str, Any]:
    """Return the arguments of a patch or of a command with what was streamed of them."""
    if field == "diff":
        operation = item.get("operation")
        return {"operation": {**(operation if isinstance(operation, Mapping) else {}), "diff": text}}
    action = item.get("action")
    return {"action": {**(action if isinstance(action, Mapping) else {}), "commands": [text]}}


class _Events(Answer):
    """The response that the events of a stream are."""

    def __init__(self, recording: StreamRecording, path: Path) -> None:
        super().__init__(recording, path)
        self._response: dict[str, Any] = {}
        self._items: dict[Any, _Item] = {}

    def ends_before(self, event: Mapping[str, Any]) -> bool:
        """Whether a response begins after this one, which has begun, or after its end."""
        kind = word(event, "type")
        return kind.startswith(_PREFIX) and (
            self.is_ended or (kind == "response.created" and bool(self._response or self._items))
        )

    def add(self, event: Mapping[str, Any], path: Path) -> None:
        """Take an event. Those of hosted tools' progress bring nothing that the items don't have."""
        kind = word(event, "type")
        response = event.get("response")
        if isinstance(response, Mapping):
            self._response.update(response)
        if kind in _ENDS:
            self.is_ended = True
        elif kind == "error":
            self.fail(event.get("error") or event.get("message") or event.get("code"), path)
        elif kind in ("response.output_item.added", "response.output_item.done"):
            self._take_item(event, path, is_done=kind.endswith("done"))
        else:
            self._take_piece(kind, event, path)

    def _take_item(self, event: Mapping[str, Any], path: Path, *, is_done: bool) -> None:
        item = event.get("item")
        if isinstance(item, Mapping):
            self._item(event.get("output_index"), item.get("id"), path).take(item, is_done=is_done)
        else:
            self.recording.doubt("an event of an item that has none", path)

    def _take_piece(self, kind: str, event: Mapping[str, Any], path: Path) -> None:
        what, _, stage = kind.rpartition(".")
        field, whole_field = _PIECES.get(what, ("", ""))
        if not field or stage not in ("delta", "done"):
            return
        item = self._item(event.get("output_index"), event.get("item_id"), path)
        if stage == "delta":
            item.add(field, word(event, "delta"))
        else:
            item.finish(field, word(event, whole_field))

    def _item(self, index: Any, item_id: Any, path: Path) -> _Item:
        """Return the item that stands at an index or, in streams without indexes, has an id."""
        key = index if isinstance(index, int) else item_id if isinstance(item_id, str) else None
        return self._items.setdefault(key, _Item(path))

    def _doubt_calls(self, output: list[Any]) -> None:
        """Look for calls that the stream had and the response lacks, which repeats all of them."""
        told = [_content(item.whole(), is_done=item.is_done) for item in self._items.values() if _is_call(item.whole())]
        kept = [_content(item) for item in output if isinstance(item, Mapping) and _is_call(item)]
        doubt_lost(self.recording, told, kept, self.path)

    def whole(self) -> dict[str, Any] | None:
        """Return the response: with the output that its end has, else with the items that the events told."""
        if not self._response and not self._items:
            return None
        output = self._response.get("output")
        if self.is_ended and output:
            if isinstance(output, list) and len(output) < len(self._items):
                self.recording.doubt("the response has fewer items at its end than its stream had", self.path)
            self._doubt_calls(output if isinstance(output, list) else [])
            return {"object": "response", **self._response}
        items = sorted(self._items.items(), key=lambda item: item[0] if isinstance(item[0], int) else len(self._items))
        for number, (_, item) in enumerate(items):
            self.recording.begin((*self.path, "output", number), item.path)
            if not item.is_told:
                self.recording.doubt("pieces of an item that is not here", item.path)
        told = self._response if self.is_ended else {"instructions": self._response.get("instructions")}
        return {"object": "response", **told, "output": [item.whole() for _, item in items if item.is_told]}


def _is_call(item: Mapping[str, Any]) -> bool:
    return word(item, "type").endswith("_call")


def _content(item: Mapping[str, Any], *, is_done: bool = True) -> Call:
    """Return what must be the same where a call is told two times."""
    call_id, kind = word(item, "call_id") or word(item, "id"), word(item, "type")
    return call_id, word(item, "name") or kind, item.get("arguments", item.get("input")) if is_done else UNSET


_STREAM: Final = Stream(
    shape="a stream of OpenAI Responses is a list of events with a type such as response.completed",
    event_of=_event_of,
    answer=_Events,
    end="response.completed",
    is_message=lambda item: openai_responses.detects([item]),
    reader_of=lambda recording: openai_responses.ItemReader(recording).item,
)

READER: Final = Reader(
    "openai-responses-stream",
    detects=lists_any(lambda item: word(item, "type").startswith(_PREFIX)),
    read=read,
    shape=_STREAM.shape,
    keys=frozenset({"type"}),
    is_log=True,
)
