"""Event streams of AWS (``application/vnd.amazon.eventstream``), in which Bedrock streams its answers.

A message is: its length, the length of its headers, a checksum of the two, headers, payload, a checksum of all.
"""

from __future__ import annotations

import base64
import binascii
import struct
import zlib
from collections.abc import Iterator, Mapping
from typing import Any, Final

from tracewitness.display import show
from tracewitness.errors import ReadError
from tracewitness.readers.encodings.events import Events
from tracewitness.readers.neutral import decode_plainly

__all__ = ["decode", "fits"]

_PRELUDE: Final = struct.Struct(">III")
_CHECKSUM: Final = struct.Struct(">I")
_LEAST_LENGTH: Final = _PRELUDE.size + _CHECKSUM.size
# How many bytes a header's value has, by its type; those of two types say so themselves.
_SIZES: Final = {0: 0, 1: 0, 2: 1, 3: 2, 4: 4, 5: 8, 8: 8, 9: 16}
_OF_ANY_LENGTH: Final = frozenset({6, 7})


def fits(head: bytes) -> bool:
    """Whether a document begins as such a stream does: with two lengths and their checksum."""
    return _is_prelude(head)


def decode(data: bytes) -> Events:
    """Decode the messages, each to its payload by its type.

    Messages after one that is cut off or broken are not read: where they begin is not known.

    Raises:
        ReadError: not even the first message can be read.
    """
    events = Events()
    try:
        for headers, payload in _messages(data):
            events.append(_event(headers, payload))
    except ReadError as error:
        if not events:
            raise
        events.append(str(error))
    return events


def _is_prelude(data: bytes) -> bool:
    if len(data) < _PRELUDE.size:
        return False
    return _has_checksum(data[: _PRELUDE.size])


def _messages(data: bytes) -> Iterator[tuple[dict[str, bytes], bytes]]:
    """Yield the headers and the payload of each message."""
    start = 0
    while start < len(data):
        prelude = data[start : start + _PRELUDE.size]
        if not _is_prelude(prelude):
            raise ReadError(f"a broken event stream: byte {start} begins no message")
        length, headers_length, _ = _PRELUDE.unpack(prelude)
        message = data[start : start + length]
        if len(message) < length:
            raise ReadError(f"the event stream is cut off at byte {len(data)}")
        if length < _LEAST_LENGTH + headers_length or not _has_checksum(message):
            raise ReadError(f"a broken event stream: the checksum of the message at byte {start} is wrong")
        headers_end = _PRELUDE.size + headers_length
        yield _headers(message[_PRELUDE.size : headers_end]), message[headers_end : -_CHECKSUM.size]
        start += length


def _has_checksum(data: bytes) -> bool:
    """Whether data ends with the checksum of what stands before it."""
    return data[-_CHECKSUM.size :] == _CHECKSUM.pack(zlib.crc32(data[: -_CHECKSUM.size]))


def _headers(data: bytes) -> dict[str, bytes]:
    """Return the values of headers by name, undecoded: those that are needed are texts."""
    headers: dict[str, bytes] = {}
    at = 0
    try:
        while at < len(data):
            name_end = at + 1 + data[at]
            kind, value_start = data[name_end], name_end + 1
            size = _SIZES.get(kind)
            if kind in _OF_ANY_LENGTH:
                (size,) = struct.unpack_from(">H", data, value_start)
                value_start += 2
            if size is None:
                raise ReadError(f"a broken event stream: a header of the unknown type {kind}")
            headers[data[at + 1 : name_end].decode("utf-8", "replace")] = data[value_start : value_start + size]
            at = value_start + size
    except (IndexError, struct.error) as error:
        raise ReadError("a broken event stream: the headers of a message are cut off") from error
    return headers


def _event(headers: dict[str, bytes], payload: bytes) -> Any:
    """Return a message as a mapping from its type to its payload, as the client of AWS does."""
    kinds = (headers.get(key) for key in (":event-type", ":exception-type", ":error-code"))
    kind = next((value for value in kinds if value), b"error").decode("utf-8", "replace")
    try:
        content = decode_plainly(payload) if payload else {}
    except ReadError as error:
        return f"{kind}: {error}"
    message = headers.get(":error-message")
    if message and isinstance(content, dict):
        content = {"message": message.decode("utf-8", "replace"), **content}
    packed = content.get("bytes") if isinstance(content, Mapping) else None
    return _unpacked(packed) if kind == "chunk" and isinstance(packed, str) else {kind: content}


def _unpacked(packed: str) -> Any:
    """Return an event that a model's own format has, which is passed on in base64."""
    try:
        return decode_plainly(base64.b64decode(packed, validate=True))
    except (ReadError, binascii.Error, ValueError):
        return f"a chunk that is no JSON in base64: {show(packed)}"
