"""Read the spans of OpenTelemetry, exported in any of the ways that SDKs and platforms have for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from tracewitness.display import show
from tracewitness.readers.reader import Reader
from tracewitness.readers.recording import Path, Recording, refuse
from tracewitness.readers.telemetry.runs import SpanRun, runs_of
from tracewitness.readers.telemetry.span import Span, is_span, otlp_spans, span_of
from tracewitness.readers.telemetry.timeline import trace_of_spans
from tracewitness.trace import Trace

__all__ = ["READER", "SHAPE", "detects", "read", "runs"]

SHAPE: Final = "spans have trace_id, span_id, name and start_time, in a list, under spans, or in resourceSpans of OTLP"

_EXPORTS: Final = frozenset({"resourceSpans", "resource_spans"})
# What lists of spans stand under: in the files of others, in answers of platforms, in a trace of MLflow.
_LISTS: Final = ("spans", "data", "trace", "traces", "batches")
_MAX_DEPTH: Final = 4
_SPAN_KEYS: Final = frozenset({"trace_id", "traceId", "traceID", "context", "context.trace_id"})


def detects(document: Any) -> bool:
    """Whether decoded data is of this format."""
    if isinstance(document, list):
        return any(is_span(item) or _holds_spans(item, 0) for item in document)
    return is_span(document) or _holds_spans(document, 0)


def _holds_spans(item: Any, depth: int) -> bool:
    if not isinstance(item, Mapping) or depth == _MAX_DEPTH:
        return False
    if any(isinstance(item.get(key), list) for key in _EXPORTS):
        return True
    for key in _LISTS:
        inside = item.get(key)
        if isinstance(inside, Mapping) and _holds_spans(inside, depth + 1):
            return True
        if isinstance(inside, list) and any(is_span(one) or _holds_spans(one, depth + 1) for one in inside):
            return True
    return False


def runs(document: Any) -> list[SpanRun]:
    """Split a document into its runs.

    Raises:
        ReadError: there is no span in it.
    """
    problems = Recording()
    spans = list(_spans(document, (), problems, 0))
    if not spans:
        raise refuse(document, SHAPE)
    return runs_of(spans, problems)


def read(document: Any, name: str = "") -> Trace:
    """Read spans, or what holds some, as one run.

    Raises:
        ReadError: there is no span in it.

    >>> attributes = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.call.arguments": '{"q": "lamp"}'}
    >>> span = {"trace_id": "t", "span_id": "s", "name": "execute_tool search", "start_time": 1}
    >>> read([{**span, "attributes": attributes}]).calls
    (<ToolCall 0: search({'q': 'lamp'})>,)
    """
    if isinstance(document, SpanRun):
        return trace_of_spans(document.spans, document.name or name, document.problems)
    problems = Recording()
    spans = list(_spans(document, (), problems, 0))
    if not spans:
        raise refuse(document, SHAPE)
    return trace_of_spans(spans, name, problems)


def _spans(document: Any, path: Path, problems: Recording, depth: int) -> Iterator[Span]:
    """Yield the spans of a document. A line of a log that is none is a problem: it may hide a call."""
    if isinstance(document, list):
        for index, item in enumerate(document):
            if is_span(item):
                span = span_of(item, (*path, index), problems)
                if span is not None and span.attributes.get("logfire.span_type") != "pending_span":
                    yield span
            elif isinstance(item, Mapping) and depth < _MAX_DEPTH:
                yield from _spans(item, (*path, index), problems, depth + 1)
            else:
                problems.doubt(f"a span is a mapping, not {show(item)}", (*path, index))
    elif is_span(document):
        yield from _spans([document], path, problems, depth)
    elif isinstance(document, Mapping):
        yield from _spans_under(document, path, problems, depth)


def _spans_under(document: Mapping[str, Any], path: Path, problems: Recording, depth: int) -> Iterator[Span]:
    if not _EXPORTS.isdisjoint(document):
        yield from otlp_spans(document, path, problems)
        return
    keys = [key for key in _LISTS if isinstance(document.get(key), (list, Mapping))]
    for key in keys if depth < _MAX_DEPTH else []:
        yield from _spans(document[key], (*path, key), problems, depth + 1)
    if not keys:
        problems.doubt(f"neither a span nor a list of them: {show(list(document))}", path)


def _plain_span(value: Any) -> Any:
    """Return data of a span of the SDK, finished or not; any other object is returned as it is."""
    context: Any = getattr(value, "context", None)
    if not hasattr(type(value), "to_json") or not hasattr(context, "span_id"):
        return value
    parent, status, scope = value.parent, value.status, value.instrumentation_scope
    return {
        "name": value.name,
        "trace_id": format(context.trace_id, "032x"),
        "span_id": format(context.span_id, "016x"),
        "parent_span_id": None if parent is None else format(parent.span_id, "016x"),
        "start_time": value.start_time,
        "end_time": value.end_time,
        "status": {"code": status.status_code.name, "message": status.description},
        "attributes": dict(value.attributes or {}),
        "events": [
            {"name": event.name, "timestamp": event.timestamp, "attributes": dict(event.attributes or {})}
            for event in value.events
        ],
        "scope": {"name": scope.name if scope is not None else ""},
        "resource": {"attributes": dict(value.resource.attributes)},
    }


READER: Final = Reader(
    "opentelemetry",
    detects=detects,
    read=read,
    shape=SHAPE,
    keys=_EXPORTS | _SPAN_KEYS | frozenset(_LISTS),
    runs=runs,
    is_log=True,
    objects={"opentelemetry": _plain_span},
)
