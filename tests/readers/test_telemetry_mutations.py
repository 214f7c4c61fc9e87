"""Spans that were cut, retyped or shuffled are read, or refused with a `ReadError`, in bounded time."""

from __future__ import annotations

import time
from typing import Any

import pytest
from framework_support import assert_mutants_are_read
from test_telemetry_spans import CALLS, LAMP, _otlp, called, chat, span, tool

from tracewitness.errors import ReadError
from tracewitness.readers import read
from tracewitness.readers.encodings import otlp_protobuf

_DOCUMENTS: dict[str, Any] = {case: spans for case, (spans, _) in CALLS.items()}
_DOCUMENTS["OTLP"] = _otlp([item for spans, _ in CALLS.values() for item in spans][:12])


@pytest.mark.parametrize("case", _DOCUMENTS)
def test_mutants_raise_nothing_else(case: str) -> None:
    """By detection, and where the format is named."""
    assert_mutants_are_read(_DOCUMENTS[case], 60, ("opentelemetry",))


def test_a_request_in_protocol_buffers_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error says what to install."""
    monkeypatch.setitem(__import__("sys").modules, otlp_protobuf._MESSAGES, None)
    request = b"\x0a\x06\x12\x04\x12\x02\x2a\x00"
    assert otlp_protobuf.fits(request)
    with pytest.raises(ReadError, match=r"tracewitness\[otel\]"):
        read(request)


@pytest.mark.parametrize("text", [b'\n{\n  "resourceSpans": []}', b"\n\n\n- a: b\n", b"", b"\n", b"\x0a\xff", b"{}"])
def test_texts_are_no_protocol_buffers(text: bytes) -> None:
    """Though some begin as a request does."""
    assert not otlp_protobuf.fits(text)


def test_broken_protocol_buffers() -> None:
    """A request that is cut off, or in which bits are others."""
    pytest.importorskip(
        "opentelemetry.proto.collector.trace.v1.trace_service_pb2", reason="opentelemetry-proto is missing"
    )
    request = b"\x0a\x06\x12\x04\x12\x02\x2a\x00"
    for end in range(len(request)):
        with pytest.raises(ReadError):
            read(request[:end])


def test_many_calls_are_matched_in_bounded_time() -> None:
    """All to one tool, without ids, with a history that repeats."""
    begin = time.perf_counter()
    spans = [
        item
        for number in range(300)
        for item in (
            chat(number, number + 0.3, [called(None, "search", LAMP)] * (number % 20), [called(None, "search", LAMP)]),
            tool("search", number + 0.4, number + 0.5, attributes={"tool_arguments": '{"q": "lamp"}'}),
        )
    ]
    assert len(read(spans).calls) == 300
    many = [span("x", 0, 1, span_id=str(number), attributes={"gen_ai.tool.name": "a"}) for number in range(3_000)]
    read(many)
    assert time.perf_counter() - begin < 30
