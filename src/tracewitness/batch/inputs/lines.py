"""JSON Lines, cut into segments of whole lines."""

from __future__ import annotations

from collections.abc import Iterator
from io import FileIO
from pathlib import Path
from typing import Final

from tracewitness.batch.inputs.segments import (
    MAX_RECORD,
    FileLines,
    RawRecord,
    Records,
    Segment,
    TextLines,
    too_long,
)
from tracewitness.batch.inputs.streams import HEAD, Opened
from tracewitness.errors import ReadError
from tracewitness.readers.documents import LINE_BEGINS, LINE_ENDS, lines_of
from tracewitness.readers.registry import is_log

__all__ = ["SEGMENT_BYTES", "is_one_log", "looks_like_lines", "segments_of_file", "segments_of_lines"]

#: About how many bytes a segment has.
SEGMENT_BYTES: Final = 2 * 1024 * 1024
_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
# A log shows what it is on its first lines, though some are of kinds that other programs write too.
_LINES_LOOKED_AT: Final = 64


def looks_like_lines(head: bytes) -> bool:
    """Whether a whole object or array stands on the first line and another begins after it.

    No JSON document looks like that: after an object in it comes a comma or a closing bracket.
    """
    line, newline, rest = head.removeprefix(_BYTE_ORDER_MARK).lstrip().partition(b"\n")
    if not newline or not line.startswith(LINE_BEGINS):
        return False
    return line.rstrip()[-1:] == LINE_ENDS[line[:1]] and rest.lstrip().startswith(LINE_BEGINS)


def is_one_log(head: bytes) -> bool:
    """Whether the lines of a file are pieces of one run, in a format that is written so."""
    begun = head.split(b"\n", _LINES_LOOKED_AT)[:_LINES_LOOKED_AT]
    if len(head) >= HEAD and len(begun) > 1:
        begun.pop()  # which may be cut off
    lines = lines_of(b"\n".join(begun))
    return lines is not None and is_log(lines)


def segments_of_file(source: str, name: str, path: str) -> Iterator[Segment]:
    """Yield the lines of a plain file in segments, which only say where they are: little more is done than to count.

    Raises:
        ReadError: it can't be read any more.
    """
    first, offset = 1, 0
    buffer = bytearray(SEGMENT_BYTES)
    try:
        with Path(path).open("rb", buffering=0) as file:
            while size := file.readinto(memoryview(buffer)):
                is_last = size < len(buffer) and not file.read(1)
                length = size if is_last else buffer.rfind(b"\n", 0, size) + 1
                if length:
                    yield FileLines(source, name, path, offset, length, first, is_last)
                    first += buffer.count(b"\n", 0, length)
                    buffer = buffer if len(buffer) == SEGMENT_BYTES else bytearray(SEGMENT_BYTES)
                elif len(buffer) <= MAX_RECORD:
                    buffer = bytearray(2 * len(buffer))  # and again from the same place
                else:
                    yield Records((RawRecord(source, first, None, too_long("line"), name),))
                    length = size + _rest_of_line(file, buffer)
                    first, buffer = first + 1, bytearray(SEGMENT_BYTES)
                offset = file.seek(offset + length)
    except OSError as error:
        raise ReadError(f"it can't be read: {error.strerror or error}") from error


def _rest_of_line(file: FileIO, buffer: bytearray) -> int:
    """Return how many bytes there are to the end of a line that is read from its middle on."""
    passed = 0
    while size := file.readinto(memoryview(buffer)):
        end = buffer.find(b"\n", 0, size) + 1
        if end:
            return passed + end
        passed += size
    return passed


def segments_of_lines(stream: Opened, source: str, name: str) -> Iterator[Segment]:
    """Yield the lines of a stream in segments, which have the lines in them, and at last what is wrong with it."""
    first, held = 1, b""
    try:
        while chunk := stream.read(SEGMENT_BYTES):
            end = chunk.rfind(b"\n") + 1
            if not end and len(held) + len(chunk) <= MAX_RECORD:
                held += chunk
                continue
            if not end:
                _pass_over_line(stream)
                yield Records((RawRecord(source, first, None, too_long("line"), name),))
                first, held = first + 1, b""
                continue
            data, held = held + chunk[:end], chunk[end:]
            yield TextLines(source, name, data, first, is_last=False)
            first += data.count(b"\n")
    except ReadError as error:
        problem = f"{error.problem}; what comes after it can't be read"
        yield Records((RawRecord(source, first, None, problem, name),))
        return
    if held:
        yield TextLines(source, name, held, first, is_last=True)


def _pass_over_line(stream: Opened) -> None:
    """Read to the end of the line; what comes after it in the chunk is given back."""
    while chunk := stream.read(SEGMENT_BYTES):
        end = chunk.find(b"\n") + 1
        if end:
            stream.give_back(chunk[end:])
            return
