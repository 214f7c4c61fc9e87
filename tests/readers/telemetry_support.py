"""What the tests of telemetry share: spans recorded in memory, every way in which the SDK exports them, and models."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from framework_support import Tools, assert_witnessed, decoded, detected_names

from tracewitness.readers import read, read_all
from tracewitness.trace import Trace

OTHER_AGENT = "clerk"


class Recorder:
    """Records the spans of an instrumentation. ``provider`` is what that is given."""

    def __init__(self) -> None:
        pytest.importorskip("opentelemetry.sdk.trace", reason="opentelemetry-sdk is not installed")
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import SimpleSpanProcessor
        from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

        self._exporter = InMemorySpanExporter()
        self.provider = TracerProvider()
        self.provider.add_span_processor(SimpleSpanProcessor(self._exporter))

    @property
    def spans(self) -> list[Any]:
        """The spans that have ended, in the order in which they did."""
        return list(self._exporter.get_finished_spans())


def exports(spans: Sequence[Any]) -> Iterator[tuple[str, Any]]:
    """Yield the spans as they are, and as the SDK's exporters write them."""
    yield "objects", list(spans)
    yield "JSON of the SDK", [json.loads(span.to_json()) for span in spans]
    yield "lines", "\n".join(span.to_json(indent=None) for span in spans)
    try:
        from google.protobuf.json_format import MessageToDict
        from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
    except ImportError:
        return
    request = encode_spans(spans)
    yield "OTLP in protocol buffers", request.SerializeToString()
    yield "OTLP in JSON", MessageToDict(request)


def assert_told_once(spans: Any, tools: Tools, *, errors_told: bool = True, decode: Any = decoded) -> Trace:
    """Check that however the spans were exported, the trace has the calls that were made, and return it."""
    known = None
    for kind, source in exports(spans):
        (trace,) = read_all(source)
        assert_witnessed(trace, tools, errors_told=errors_told, decode=decode)
        events = [{key: event[key] for key in event if key not in ("at", "until")} for event in trace.to_events()]
        assert known in (None, events), kind
        known = events
    assert detected_names([json.loads(span.to_json()) for span in spans]) == ["opentelemetry"]
    return read(list(spans))


def calls(trace: Trace) -> list[tuple[str, str | None]]:
    """Return the names of the calls, each with the agent that made it."""
    return [(call.name, call.agent) for call in trace.calls]


def completion(text: str | None, *made: tuple[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return what a model of OpenAI answers that says a text and makes some calls."""
    called = [
        {"id": f"{prefix}{number}", "type": "function", "function": {"name": name, "arguments": json.dumps(args)}}
        for number, (name, args) in enumerate(made)
    ]
    message = {"role": "assistant", "content": text, **({"tool_calls": called} if called else {})}
    choice = {"index": 0, "finish_reason": "tool_calls" if called else "stop", "message": message}
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    return {"id": "x", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], "usage": usage}
