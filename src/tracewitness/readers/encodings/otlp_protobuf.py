"""Requests to export spans in the protocol buffers of OTLP, which the package ``opentelemetry-proto`` decodes."""

from __future__ import annotations

import importlib
from typing import Any, Final

from tracewitness.errors import ReadError

__all__ = ["decode", "fits"]

# The field that a request consists of: resource_spans, number 1, with a length.
_FIELD: Final = 0x0A
# Inside, a resource comes first, or where it is left out the spans of a scope, or a schema's address.
_INNER_FIELDS: Final = frozenset({0x0A, 0x12, 0x1A})
# Bytes that no text has, and every request: they are the numbers of fields.
_CONTROLS: Final = frozenset(range(32)) - frozenset(b"\t\n\r")
_MORE: Final = 0x80
_LONGEST_LENGTH: Final = 5
_MESSAGES: Final = "opentelemetry.proto.collector.trace.v1.trace_service_pb2"
_MISSING: Final = (
    "spans of OTLP in protocol buffers are read with the package opentelemetry-proto: install tracewitness[otel]"
)


def fits(head: bytes) -> bool:
    """Whether a document begins as such a request does, and is no text: JSON may begin with a line feed, too.

    >>> fits(b"\\x0a\\x04\\x0a\\x02\\x0a\\x00"), fits(b'\\n{"resourceSpans": []}')
    (True, False)
    """
    if head[:1] != bytes([_FIELD]) or _CONTROLS.isdisjoint(head):
        return False
    length, size = _varint(head[1 : 1 + _LONGEST_LENGTH])
    inside = head[1 + size : 1 + size + length]
    if not size or not inside or inside[0] not in _INNER_FIELDS:
        return False
    inner_length, inner_size = _varint(inside[1 : 1 + _LONGEST_LENGTH])
    return bool(inner_size) and inner_length + inner_size < length


def _varint(data: bytes) -> tuple[int, int]:
    """Return a whole number and how many bytes it takes; 0 bytes where it does not end."""
    value = 0
    for index, byte in enumerate(data):
        value |= (byte & ~_MORE) << (7 * index)
        if not byte & _MORE:
            return value, index + 1
    return 0, 0


def decode(data: bytes) -> Any:
    """Decode a request to what it is in the JSON of OTLP.

    Raises:
        ReadError: the package is missing, or the request is broken.
    """
    try:
        messages: Any = importlib.import_module(_MESSAGES)
        to_json: Any = importlib.import_module("google.protobuf.json_format")
        errors: Any = importlib.import_module("google.protobuf.message")
    except ImportError as error:
        raise ReadError(_MISSING) from error
    request = messages.ExportTraceServiceRequest()
    try:
        request.ParseFromString(data)
        return to_json.MessageToDict(request)
    except (errors.DecodeError, RecursionError, ValueError, to_json.Error) as error:
        raise ReadError(f"broken protocol buffers: {error}") from error
