"""What streams are written in: server-sent events, and event streams of AWS."""

from __future__ import annotations

import base64
import gzip
import json
import struct
import zlib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracewitness.errors import ReadError
from tracewitness.readers import read, read_all
from tracewitness.readers.documents import decode_document, encoding_of
from tracewitness.readers.encodings import aws_event_stream, server_sent_events

# -------------------------------------------------------------------------------------------------- server-sent events


@pytest.mark.parametrize(
    ("text", "events"),
    [
        ('data: {"a": 1}\n\ndata: {"a": 2}\n\n', [{"a": 1}, {"a": 2}]),
        ('data:{"a": 1}\r\n\r\ndata:{"a": 2}\r\n\r\n', [{"a": 1}, {"a": 2}]),
        ('data: {"a": 1}\r\rdata: {"a": 2}\r\r', [{"a": 1}, {"a": 2}]),
        ('data: {"a":\ndata: 1}\n\n', [{"a": 1}]),
        ('data: {"a": 1}\n\ndata: [DONE]\n\n', [{"a": 1}]),
        ('data: {"a": 1}', [{"a": 1}]),
        ('data: {"a": 1}\n\ndata: {"a": ', [{"a": 1}, '{"a": ']),
        (': ping\n\ndata: {"a": 1}\n: ping\n\n', [{"a": 1}]),
        ('\ufeffdata: {"a": 1}\n\n', [{"a": 1}]),
        ('\n\ndata: {"a": 1}\n\n', [{"a": 1}]),
        ('id: 1\nretry: 5\nevent: x\ndata: {"a": 1}\n\n', [{"type": "x", "a": 1}]),
        ('event: x\ndata: {"type": "y"}\n\n', [{"type": "y"}]),
        ('event: x\ndata: {"event_type": "y"}\n\n', [{"event_type": "y"}]),
        ('event: x\ndata: {"object": "y"}\n\n', [{"object": "y"}]),
        ('event: message\ndata: {"jsonrpc": "2.0"}\n\n', [{"jsonrpc": "2.0"}]),
        ('event: message\ndata: {"a": 1}\n\n', [{"a": 1}]),
        ("event: x\ndata: [1]\n\n", [[1]]),
        ('event: x\n\ndata: {"a": 1}\n\n', [{"a": 1}]),
        ('data: {"a": "\u2028"}\n\n', [{"a": "\u2028"}]),
        ('data: {"a": 1}\n\n{"error": "no"}\n', [{"a": 1}, {"error": "no"}]),
        ('data: {"a": 1}\n\n<html>\n', [{"a": 1}, "<html>"]),
        ('data: {"a": 1, "a": 2}\n\n', ['{"a": 1, "a": 2}']),
        ("data: one\ndata\ndata: two\n\n", ["one\n\ntwo"]),
    ],
)
def test_events(text: str, events: list[Any]) -> None:
    """Every way in which servers write them, and every way in which they end too early."""
    assert decode_document(text.encode()) == events
    assert decode_document(gzip.compress(text.encode())) == events


@pytest.mark.parametrize(
    "text",
    ['{"data": 1}', '[{"event": "x"}]', "interactions:\n- request: {}\n", "data:\n- a\n", "id: 5\nname: x\n", "", "5"],
)
def test_what_is_no_stream(text: str) -> None:
    """JSON, and YAML whose keys are the same words."""
    assert not server_sent_events.fits(text.encode())


@pytest.mark.parametrize("text", [": ping\n\n", "data: [DONE]\n\n", "event: x\n\n"])
def test_a_stream_without_an_event_is_an_error(text: str) -> None:
    """It holds no run."""
    with pytest.raises(ReadError, match="no event in this stream"):
        decode_document(text.encode())


def test_a_stream_is_one_run(tmp_path: Path) -> None:
    """Also where each of its events could be read alone, and whatever its file is called."""
    answers = [{"candidates": [{"content": {"parts": [{"text": text}]}, "finishReason": "STOP"}]} for text in "ab"]
    text = "".join(f"data: {json.dumps(answer)}\n\n" for answer in answers)
    path = tmp_path / "recording.json"
    path.write_text(text)
    for trace in (read(text), read(path), *read_all(text), *read_all(path)):
        assert trace.to_events() == [{"agent": "a"}, {"agent": "b"}]


@given(st.binary(max_size=60))
def test_any_bytes_after_data(data: bytes) -> None:
    """Nothing is lost in silence, and nothing but `ReadError` is raised."""
    try:
        events = server_sent_events.decode(b"data: " + data)
    except ReadError:
        return
    assert events


# ----------------------------------------------------------------------------------------------- AWS's event streams


def _header(name: str, value: str) -> bytes:
    return bytes([len(name)]) + name.encode() + b"\x07" + struct.pack(">H", len(value)) + value.encode()


def _message(payload: bytes, headers: bytes) -> bytes:
    prelude = struct.pack(">II", 16 + len(headers) + len(payload), len(headers))
    message = prelude + struct.pack(">I", zlib.crc32(prelude)) + headers + payload
    return message + struct.pack(">I", zlib.crc32(message))


def _event(kind: str, content: Any) -> bytes:
    headers = _header(":message-type", "event") + _header(":event-type", kind)
    return _message(json.dumps(content).encode(), headers)


_TWO = _event("messageStart", {"role": "assistant"}) + _event("messageStop", {"stopReason": "end_turn"})
_DECODED = [{"messageStart": {"role": "assistant"}}, {"messageStop": {"stopReason": "end_turn"}}]


def test_messages() -> None:
    """Each is a mapping from its type to its payload; headers of all types are passed over."""
    odd = b"\x01a\x00\x01b\x01\x01c\x021\x01d\x0312\x01e\x041234\x01f\x0512345678"
    odd += b"\x01g\x06\x00\x02ab\x01h\x0812345678\x01i\x091234567890123456"
    third = _message(b"", odd + _header(":event-type", "metadata"))
    assert decode_document(_TWO + third) == [*_DECODED, {"metadata": {}}]
    assert [encoding.name for encoding in (encoding_of(_TWO[:64]),) if encoding] == ["AWS event stream"]


def test_events_in_an_event() -> None:
    """What a model's own format streams stands in base64."""
    packed = base64.b64encode(b'{"type": "message_stop"}').decode()
    assert decode_document(_event("chunk", {"bytes": packed, "p": "abc"})) == [{"type": "message_stop"}]
    (broken,) = decode_document(_event("chunk", {"bytes": "%"}))
    assert broken.startswith("a chunk that is no JSON")


def test_failures() -> None:
    """An exception has its name as a header, an error its code and its message."""
    exception = _message(b'{"message": "slow"}', _header(":exception-type", "throttlingException"))
    error = _message(b"", _header(":error-code", "InternalError") + _header(":error-message", "broken"))
    assert decode_document(exception + error) == [
        {"throttlingException": {"message": "slow"}},
        {"InternalError": {"message": "broken"}},
    ]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (_TWO[:-1], "cut off at byte"),
        (_TWO[: len(_TWO) // 2 + 9], "begins no message"),
        (_TWO[:-3] + b"abc", "the checksum of the message at byte"),
        (_TWO[:-20] + b"x" + _TWO[-19:], "the checksum of the message at byte"),
    ],
)
def test_what_breaks_off_leaves_what_was_before_it(data: bytes, reason: str) -> None:
    """The messages before are there, and a text says why no other is."""
    first, second = decode_document(data)
    assert first == _DECODED[0]
    assert reason in second


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (_message(b"{}", b"\x01a\x63"), "a header of the unknown type 99"),
        (_message(b"{}", b"\x05a"), "headers of a message are cut off"),
        (_message(b"{}", b"\x01a\x07\x00"), "headers of a message are cut off"),
        (_TWO[:40], "cut off"),
    ],
)
def test_a_stream_of_which_nothing_can_be_read(data: bytes, reason: str) -> None:
    """It is an error."""
    with pytest.raises(ReadError, match=reason):
        aws_event_stream.decode(data)


@given(st.integers(0, len(_TWO) - 1), st.integers(0, 255))
def test_a_flipped_byte(place: int, byte: int) -> None:
    """It is found by a checksum, and nothing but `ReadError` is raised."""
    data = bytearray(_TWO)
    data[place] = byte
    try:
        events = aws_event_stream.decode(bytes(data))
    except ReadError:
        return
    assert events == _DECODED or isinstance(events[-1], str)
