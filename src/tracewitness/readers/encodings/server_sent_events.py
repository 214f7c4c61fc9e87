"""Server-sent events (``text/event-stream``), in which most providers stream their answers over HTTP."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from tracewitness.errors import ReadError
from tracewitness.readers.encodings.events import Events
from tracewitness.readers.neutral import decode_plainly

__all__ = ["decode", "fits"]

_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
# The first line is a comment or a field. `id` and `retry` are common words, so that a field must come after them.
_BEGINNING: Final = re.compile(
    rb"(?:\xef\xbb\xbf)?[\r\n]*(?::|(?:data|event): ?[^\s]|(?:id|retry):[^\r\n]*[\r\n]+(?:event|data|id|retry):)"
)
_LINE_END: Final = re.compile(rb"\r\n|\n|\r")
_END_MARK: Final = b"[DONE]"
_FIELDS_BESIDE: Final = frozenset({b"id", b"retry"})
# Keys that say of an event what it is.
_KINDS: Final = frozenset({"type", "event_type", "event", "object", "jsonrpc"})
# What an event is called that has no name.
_NAMELESS: Final = frozenset({"", "message"})


def fits(head: bytes) -> bool:
    """Whether the beginning of a document looks like server-sent events."""
    return _BEGINNING.match(head) is not None


def decode(data: bytes) -> Events:
    """Decode the data of every event.

    The name of an event is its ``type`` where its data says nothing of the kind. Lines that the standard has
    skipped stand for themselves: some servers write an error there.

    Raises:
        ReadError: there is no event.

    >>> decode(b'event: ping\\ndata: {}\\n\\ndata: {"type": "text",\\ndata: "text": "Hello"}\\n\\ndata: [DONE]\\n\\n')
    [{'type': 'ping'}, {'type': 'text', 'text': 'Hello'}]
    """
    events = Events(_decoded(name, lines) for name, lines in _events_of(data) if lines.strip() != _END_MARK)
    if not events:
        raise ReadError("there is no event in this stream")
    return events


def _events_of(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield the name and the data of each event, the last one also where it is cut off."""
    name, lines = b"", list[bytes]()
    for line in _LINE_END.split(data.removeprefix(_BYTE_ORDER_MARK)):
        field, colon, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if not line:
            if lines:
                yield name, b"\n".join(lines)
            name, lines = b"", []
        elif field == b"data":
            lines.append(value)
        elif field == b"event":
            name = value
        elif field and not (colon and field in _FIELDS_BESIDE):
            yield b"", line
    if lines:
        yield name, b"\n".join(lines)


def _decoded(name: bytes, data: bytes) -> Any:
    try:
        event = decode_plainly(data)
    except ReadError:
        return data.decode("utf-8", "replace")
    kind = name.decode("utf-8", "replace")
    if kind not in _NAMELESS and isinstance(event, dict) and _KINDS.isdisjoint(event):
        return {"type": kind, **event}
    return event
