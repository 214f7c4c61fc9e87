"""Spans, whatever exported them: one model of them, made of OTLP and of the mappings that SDKs and platforms write.

A reader of another export makes mappings of its rows that `span_of` understands, or `Span`s, and gives them to
`runs.runs_of` and `timeline.trace_of_spans`.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, Final

import msgspec
from msgspec import Struct

from tracewitness.display import show
from tracewitness.readers.recording import Path, Recording, each_mapping
from tracewitness.readers.telemetry.attributes import flattened, opened

__all__ = ["Event", "Span", "is_span", "otlp_attributes", "otlp_spans", "span_of"]

_NAMES: Final = ("name", "span_name", "spanName", "event_name")
_TRACE_IDS: Final = ("trace_id", "traceId", "context.trace_id", "traceID")
_SPAN_IDS: Final = ("span_id", "spanId", "context.span_id", "spanID")
_PARENT_IDS: Final = ("parent_span_id", "parentSpanId", "parent_id", "parentId")
_STARTS: Final = (
    *("start_time", "startTime", "start_time_unix_nano", "startTimeUnixNano", "start_time_ns", "start_timestamp"),
    "start_ns",
)
_ENDS: Final = (
    *("end_time", "endTime", "end_time_unix_nano", "endTimeUnixNano", "end_time_ns", "end_timestamp"),
    "end_ns",
)
_EVENT_TIMES: Final = ("timestamp", "time_unix_nano", "timeUnixNano", "time", "timestamp_ns", "event_timestamp")
_EVENTS: Final = ("span_events", "events", "otel_events")
_SCOPES: Final = ("scope", "instrumentation_scope", "instrumentationScope")
_COLUMN: Final = "attributes."
_OK: Final = frozenset({"ok", "status_code_ok", "statuscode.ok", "1"})
_ERROR: Final = frozenset({"error", "status_code_error", "statuscode.error", "2"})
_LONGEST_NUMBER: Final = 20
_NANOSECONDS: Final = 1_000_000_000
# Larger numbers are nanoseconds, then microseconds, milliseconds: each ends in the year 2286.
_UNITS: Final = ((10**17, 1), (10**14, 1_000), (10**11, 1_000_000))
# How a key says that its number is nanoseconds, however small that is.
_SAID_TO_BE_NANOSECONDS: Final = ("_nano", "UnixNano", "_ns")


class Event(Struct, frozen=True):
    """Something that happened during a span.

    Attributes:
        body: what an event of a log holds beside its attributes.
        path: where in the document it stands.
    """

    name: str
    attributes: dict[str, Any]
    body: Any
    path: Path


class Span(Struct, frozen=True):
    """A span.

    Attributes:
        parent_id: empty where it has no parent.
        start, end: nanoseconds since 1970; None where they are not recorded, or where it has not ended.
        attributes: one key for each value.
        failed: what its status says; None where it says nothing.
        message: what its status says in words.
        scope: the name of the instrumentation that made it.
        side: what kind of span it is to OpenTelemetry: internal, or one side of a request.
        path: where in the document it stands.
    """

    trace_id: str
    span_id: str
    parent_id: str
    name: str
    start: int | None
    end: int | None
    attributes: dict[str, Any]
    events: tuple[Event, ...] = ()
    failed: bool | None = None
    message: str = ""
    scope: str = ""
    side: str = ""
    resource: dict[str, Any] = {}
    path: Path = ()


def is_span(item: Any) -> bool:
    """Whether a mapping is a span: it has the ids of one, and says when it was or what it was."""
    if not isinstance(item, Mapping):
        return False
    context = item.get("context")
    ids = context if isinstance(context, Mapping) else item
    has_ids = any(key in ids for key in _TRACE_IDS) and any(key in ids for key in _SPAN_IDS)
    return has_ids and any(key in item for key in _NAMES) and any(key in item for key in _STARTS)


def span_of(item: Mapping[str, Any], path: Path, recording: Recording) -> Span | None:
    """Make a span of a mapping, in whatever spelling its keys are; None, with a problem, where it is none.

    >>> span_of({"traceId": "t", "spanId": "s", "name": "chat", "startTime": 5}, (), Recording()).name
    'chat'
    """
    context = item.get("context")
    ids = {**item, **context} if isinstance(context, Mapping) else item
    span_id = _id(_first(ids, _SPAN_IDS))
    if not span_id:
        recording.doubt(f"a span without an id: {show(list(item))}", path)
        return None
    failed, message = _status(item)
    name = _first(item, _NAMES)
    return Span(
        trace_id=_id(_first(ids, _TRACE_IDS)),
        span_id=span_id,
        parent_id=_id(_first(item, _PARENT_IDS)),
        name=name if isinstance(name, str) else "",
        start=_time_of(item, _STARTS),
        end=_time_of(item, _ENDS),
        attributes=_attributes(item, path, recording),
        events=tuple(_events(_first(item, _EVENTS), path, recording)),
        failed=failed,
        message=message,
        scope=_scope(item),
        side=str(item.get("kind") or ""),
        path=path,
    )


def _first(mapping: Mapping[str, Any], keys: Iterable[str]) -> Any:
    return next((mapping[key] for key in keys if mapping.get(key) is not None), None)


def _id(value: Any) -> str:
    """Return an id as a text; an empty one for none, which some write with zeros."""
    if isinstance(value, int) and not isinstance(value, bool):
        value = format(value, "x") if value >= 0 else ""
    if not isinstance(value, str):
        return ""
    text = value.removeprefix("0x")
    return text if text.strip("0") and not (text.startswith("AAAAAAAA") and not text.strip("A=")) else ""


def _time_of(item: Mapping[str, Any], keys: Iterable[str]) -> int | None:
    """Return the time that stands at the first of the keys that has one."""
    key = next((key for key in keys if item.get(key) is not None), "")
    return _nanoseconds(item.get(key), is_guessed=not key.endswith(_SAID_TO_BE_NANOSECONDS))


def _nanoseconds(value: Any, *, is_guessed: bool) -> int | None:
    """Return a time in nanoseconds: of a number, in a text or not, or of an ISO 8601 text.

    Arguments:
        is_guessed: whether the unit of a number is to be guessed by its size.
    """
    if isinstance(value, str):
        if not value.isdecimal() or len(value) > 20:
            return _parsed(value)
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < 10**20:
        return None
    if not is_guessed:
        return int(value)
    for least, factor in _UNITS:
        if value >= least:
            return int(value) * factor if isinstance(value, int) else int(value * factor)
    return int(value * _NANOSECONDS)


def _parsed(text: str) -> int | None:
    try:
        moment = datetime.fromisoformat(text)
        base = moment.replace(microsecond=0).timestamp()
    except (ValueError, OverflowError, OSError):
        return None
    return int(base) * _NANOSECONDS + moment.microsecond * 1_000


def _attributes(item: Mapping[str, Any], path: Path, recording: Recording) -> dict[str, Any]:
    """Return a span's attributes, those too that a table has in columns of their own."""
    value = opened(item.get("attributes"))
    if isinstance(value, list):
        return otlp_attributes(value, (*path, "attributes"), recording)
    columns = {
        key.removeprefix(_COLUMN): part
        for key, part in item.items()
        if isinstance(key, str) and key.startswith(_COLUMN) and part is not None
    }
    if isinstance(value, Mapping):
        columns.update(value)
    elif value is not None:
        recording.doubt(f"the attributes of a span are a mapping, not {show(value)}", (*path, "attributes"))
    kind = item.get("span_kind")  # of Phoenix; OpenTelemetry's own kinds stand here too, and tell nothing
    if isinstance(kind, str) and not kind.startswith("SPAN_KIND") and kind != "UNKNOWN":
        columns.setdefault("openinference.span.kind", kind)
    return flattened(columns)


def _events(items: Any, path: Path, recording: Recording) -> Iterator[Event]:
    for item, place in each_mapping(recording, opened(items), (*path, "events"), "an event"):
        name = _first(item, ("name", "event_name"))
        attributes = item.get("attributes", item.get("event_attributes"))
        if isinstance(attributes, list):
            attributes = otlp_attributes(attributes, place, recording)
        attributes = attributes if isinstance(attributes, Mapping) else {}
        own_name = name if isinstance(name, str) else attributes.get("event.name")
        yield Event(own_name if isinstance(own_name, str) else "", dict(attributes), item.get("body"), place)


def _status(item: Mapping[str, Any]) -> tuple[bool | None, str]:
    status = item.get("status")
    code, message = status, item.get("status_message")
    if isinstance(status, Mapping):
        code = _first(status, ("code", "status_code"))
        message = _first(status, ("message", "description")) or message
    elif status is None:
        code = _first(item, ("status_code", "otel_status_code"))
        message = message or item.get("otel_status_message")
    text = str(code).lower() if isinstance(code, (str, int)) else ""
    failed = True if text in _ERROR else False if text in _OK else None
    return failed, message if isinstance(message, str) else ""


def _scope(item: Mapping[str, Any]) -> str:
    scope = _first(item, _SCOPES)
    name = scope.get("name") if isinstance(scope, Mapping) else item.get("otel_scope_name")
    return name if isinstance(name, str) else ""


# ---------------------------------------------------------------------------------------------------------------- OTLP


def otlp_spans(export: Mapping[str, Any], path: Path, recording: Recording) -> Iterator[Span]:
    """Yield the spans of a request to export, in the JSON of OTLP, with its names in either case."""
    for resource, place in _listed(recording, export, path, ("resourceSpans", "resource_spans")):
        holder = resource.get("resource")
        listed = holder.get("attributes") if isinstance(holder, Mapping) else None
        attributes = otlp_attributes(listed, (*place, "resource", "attributes"), recording)
        keys = ("scopeSpans", "scope_spans", "instrumentationLibrarySpans")
        for scope, within in _listed(recording, resource, place, keys):
            own = scope.get("scope", scope.get("instrumentationLibrary"))
            for item, at in _listed(recording, scope, within, ("spans",)):
                span = span_of({**item, "scope": own}, at, recording)
                if span is not None:
                    yield msgspec.structs.replace(span, resource=attributes)


def _listed(
    recording: Recording, holder: Mapping[str, Any], path: Path, keys: tuple[str, ...]
) -> Iterator[tuple[Mapping[str, Any], Path]]:
    key = next((key for key in keys if key in holder), keys[0])
    return each_mapping(recording, holder.get(key), (*path, key), "an entry")


def otlp_attributes(items: Any, path: Path, recording: Recording) -> dict[str, Any]:
    """Return attributes that are a list of keys and typed values.

    >>> otlp_attributes([{"key": "n", "value": {"intValue": "3"}}], (), Recording())
    {'n': 3}
    """
    attributes: dict[str, Any] = {}
    for item, place in each_mapping(recording, items, path, "an attribute"):
        key = item.get("key")
        if isinstance(key, str):
            attributes[key] = _otlp_value(item.get("value"), place, recording)
        else:
            recording.doubt(f"an attribute without a key: {show(dict(item))}", place)
    return flattened(attributes)


def _otlp_value(value: Any, path: Path, recording: Recording) -> Any:
    if not isinstance(value, Mapping):
        return value
    for kind, inside in value.items():
        name = str(kind).replace("_v", "V")  # live mappings may have any keys
        if name in ("stringValue", "boolValue", "doubleValue"):
            return inside
        if name == "intValue":
            return _whole_number(inside)
        if name == "bytesValue":
            return _text_of_bytes(inside)
        if name in ("arrayValue", "kvlistValue"):
            return _otlp_container(name, inside, path, recording)
    return None


def _otlp_container(kind: str, inside: Any, path: Path, recording: Recording) -> Any:
    values = inside.get("values") if isinstance(inside, Mapping) else None
    if kind == "kvlistValue":
        items = each_mapping(recording, values, path, "an attribute")
        return {str(item.get("key")): _otlp_value(item.get("value"), place, recording) for item, place in items}
    if not isinstance(values, list):
        return []
    return [_otlp_value(item, path, recording) for item in values]


def _whole_number(value: Any) -> Any:
    """Return a number that is written as a text, since JSON has none of 64 bits."""
    is_number = isinstance(value, str) and len(value) <= _LONGEST_NUMBER and value.removeprefix("-").isdecimal()
    return int(value) if is_number else value


def _text_of_bytes(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return base64.b64decode(value, validate=True).decode()
    except (binascii.Error, ValueError):
        return value
