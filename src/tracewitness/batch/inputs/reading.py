"""From an input to its segments: what it is shows in its first bytes, whatever its file is called."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from tracewitness.batch.inputs.documents import records_of_document
from tracewitness.batch.inputs.lines import (
    SEGMENT_BYTES,
    is_one_log,
    looks_like_lines,
    segments_of_file,
    segments_of_lines,
)
from tracewitness.batch.inputs.locating import Input, name_of
from tracewitness.batch.inputs.segments import MAX_RECORD, RawRecord, Records, Segment, too_long
from tracewitness.batch.inputs.streams import Opened, opened
from tracewitness.batch.inputs.tables import (
    ARROW,
    PARQUET,
    Columns,
    records_of_arrow,
    records_of_parquet,
    records_of_query,
)
from tracewitness.errors import ReadError
from tracewitness.readers.documents import encoding_of, refuse_other_charset
from tracewitness.readers.folders import LINES_SUFFIXES

__all__ = ["segments_of"]

_MOST_RECORDS: Final = 1024
_STREAM_OF_ARROW: Final = b"\xff\xff\xff\xff"
_LINES_ENDINGS: Final = tuple(suffix + packed for suffix in LINES_SUFFIXES for packed in ("", ".gz", ".zst", ".zstd"))


def segments_of(source: Input, columns: Columns) -> Iterator[Segment]:
    """Yield the segments of an input, in order. What is wrong with it is a record of its own, where it goes wrong.

    Raises:
        UsageError: a database or a query can't be used; or something that is needed is not installed.
    """
    name = name_of(source.source)
    if source.problem:
        yield Records((RawRecord(source.source, 0, None, source.problem, name),))
        return
    if source.kind in ("duckdb", "sqlite"):
        yield from _grouped(records_of_query(source, columns))
        return
    try:
        with opened(source) as stream:
            yield from _segments_of_stream(stream, source, name, columns)
    except ReadError as error:
        yield Records((RawRecord(source.source, 0, None, error.problem, name),))


def _segments_of_stream(stream: Opened, source: Input, name: str, columns: Columns) -> Iterator[Segment]:
    head, shown = stream.head, source.source
    if not head:
        stream.read(1)  # which says what is broken, where something is
        raise ReadError("the file is empty")
    if head.startswith(PARQUET):
        yield from _grouped(records_of_parquet(_seekable(stream, source), shown, name, columns))
    elif head.startswith(ARROW):
        yield from _grouped(records_of_arrow(_seekable(stream, source), shown, name, columns, is_file=True))
    elif head.startswith(_STREAM_OF_ARROW):
        yield from _grouped(records_of_arrow(stream.as_file(), shown, name, columns, is_file=False))
    elif encoding_of(head) is not None:
        yield Records((_whole(stream, shown, name),))
    else:
        refuse_other_charset(head)
        yield from _segments_of_json(stream, source, name)


def _segments_of_json(stream: Opened, source: Input, name: str) -> Iterator[Segment]:
    shown = source.source
    if not (shown.lower().endswith(_LINES_ENDINGS) or looks_like_lines(stream.head)):
        yield from _grouped(records_of_document(stream, shown, name))
    elif is_one_log(stream.head):
        yield Records((_whole(stream, shown, name),))
    else:
        is_at_hand = source.kind == "file" and stream.is_plain
        found = segments_of_file(shown, name, source.address) if is_at_hand else segments_of_lines(stream, shown, name)
        yield from found


def _seekable(stream: Opened, source: Input) -> object:
    if not stream.is_plain or source.kind == "stream":
        raise ReadError("a table has its index at its end: unpack it, and give it as a file")
    return stream.read_again()


def _whole(stream: Opened, source: str, name: str) -> RawRecord:
    """Return the whole of a stream as one record."""
    held: list[bytes] = []
    size = 0
    try:
        while size <= MAX_RECORD and (chunk := stream.read(SEGMENT_BYTES)):
            held.append(chunk)
            size += len(chunk)
    except ReadError as error:
        return RawRecord(source, 1, None, error.problem, name)
    if size > MAX_RECORD:
        return RawRecord(source, 1, None, too_long("document"), name)
    return RawRecord(source, 1, b"".join(held), None, name)


def _grouped(records: Iterable[RawRecord]) -> Iterator[Segment]:
    held: list[RawRecord] = []
    size = 0
    for record in records:
        held.append(record)
        size += len(record.raw or b"")
        if size >= SEGMENT_BYTES or len(held) >= _MOST_RECORDS:
            yield Records(tuple(held))
            held, size = [], 0
    if held:
        yield Records(tuple(held))
