"""Read neutral JSON: ``{"name": …, "events": [...]}``, or the list of events alone."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct

from tracewitness.display import printable, show
from tracewitness.errors import ReadError
from tracewitness.trace import Record, Trace

__all__ = ["decode_plainly", "decode_quickly", "decode_trace", "is_neutral", "read_neutral"]

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class _UndecodedRecord(Record, frozen=True, gc=False, forbid_unknown_fields=True):
    """A record whose result stays JSON until somebody looks at it: most results are never looked at."""

    result: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


class _Document(Struct, gc=False):
    """A trace as most of them are written: every event as it should be. Other keys are skipped."""

    events: list[_UndecodedRecord]
    name: str = ""
    error: Any = None


_decode_document = msgspec.json.Decoder(_Document).decode
_decode_plain = msgspec.json.Decoder().decode


def is_neutral(document: Any) -> bool:
    """Whether decoded data is meant as a trace in neutral form."""
    return isinstance(document, list) or (isinstance(document, Mapping) and "events" in document)


def read_neutral(document: Any, *, name: str = "") -> Trace:
    """Read a decoded document.

    Arguments:
        document: a mapping with ``events``, and perhaps ``name`` and ``error``; or the list of events alone.
        name: the run's name where the document has none.

    Raises:
        ReadError: it has no events.

    >>> read_neutral({"name": "order-1", "events": [{"call": "create_order"}]})
    <Trace order-1: 1 events>
    """
    if isinstance(document, list):
        return Trace.from_events(document, name=name)
    if not isinstance(document, Mapping):
        raise ReadError(f"a trace is a mapping with events, not {show(document)}")
    if "events" not in document:
        raise ReadError(f"a trace has the key events; this has {show(list(document))}")
    own_name = document.get("name")
    return Trace.from_events(
        document["events"],
        name=own_name if isinstance(own_name, str) and own_name else name,
        error=document.get("error"),
    )


def decode_trace(data: bytes) -> Trace:
    """Decode one JSON document that is a trace in neutral form.

    An event that can't be understood is a problem of the trace.

    Arguments:
        data: UTF-8, with or without a byte order mark.

    Raises:
        ReadError: it is no JSON, or no trace.

    >>> decode_trace(b'{"events": [{"call": "search", "args": {"q": "lamp"}}]}').calls
    (<ToolCall 0: search({'q': 'lamp'})>,)
    """
    trace = decode_quickly(data)
    return read_neutral(decode_plainly(data)) if trace is None else trace


def decode_quickly(data: bytes, name: str = "") -> Trace | None:
    """Decode one JSON document to a trace at once, or return None where it is not one without any oddity.

    Arguments:
        name: the run's name where the document has none.
    """
    try:
        if not data.isascii():
            data.decode("utf-8")  # what stays JSON is not tested for it by the decoder
        document = _decode_document(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    if document.events and not document.error:
        return Trace(document.events, name=document.name or name)
    return Trace.from_events(document.events, name=document.name or name, error=document.error)


def decode_plainly(data: bytes) -> Any:
    """Decode one JSON document to plain data.

    JSON is read as widely as it is written: also ``NaN``, ``1e400`` and halves of surrogate pairs.

    Raises:
        ReadError: it is no JSON in UTF-8, or nested too deeply.
    """
    try:
        return _decode_plain(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return _decode_leniently(data)


def _decode_leniently(data: bytes) -> Any:
    try:
        return json.loads(data.removeprefix(_BYTE_ORDER_MARK).decode("utf-8"))
    except UnicodeDecodeError as error:
        raise ReadError(f"not UTF-8: {error.reason} at byte {error.start}") from error
    except RecursionError as error:
        raise ReadError("nested too deeply to be read") from error
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise ReadError(f"not JSON: {printable(error.msg)} at {place}") from error
    except ValueError as error:  # a whole number with more digits than Python converts
        raise ReadError(f"a number that can't be read: {printable(str(error))}") from error
