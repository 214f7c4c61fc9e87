"""What the tests of telemetry share: spans recorded in memory, and every way in which the SDK exports them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import pytest


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
