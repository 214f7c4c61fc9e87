"""Segments: stretches of an input that can be handed to another process, and the raw records in them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import pyarrow as pa
from msgspec import Struct

from tracewitness.batch.schemas import by_column, raw_schema

__all__ = ["MAX_RECORD", "FileLines", "RawRecord", "Records", "Segment", "TextLines", "batches_of_records", "too_long"]

#: The most bytes that a record has. What is longer is an error of its own: memory stays bounded.
MAX_RECORD: Final = 32 * 1024 * 1024
#: How many records, and about how many bytes of them, are checked at once.
_MOST_RECORDS: Final = 512
_MOST_BYTES: Final = 1 * 1024 * 1024

_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
_TORN: Final = "the file ends in the middle of this line"


class RawRecord(NamedTuple):
    """A record as it was written.

    Attributes:
        source, number: where it was found; 0 is the file itself.
        raw: its bytes; None where it can't be had.
        problem: why not, or what is odd about it.
        name: the run's name where the record has none.
        by: what the rates are broken down by, as far as the source gives it.
    """

    source: str
    number: int
    raw: bytes | None
    problem: str | None = None
    name: str | None = None
    by: tuple[str | None, ...] = ()


class FileLines(Struct, frozen=True):
    """Whole lines of a file that any process can read.

    Attributes:
        source: what the file is called.
        name: the name of its runs.
        path: where it is.
        offset, length: which of its bytes.
        first: the number of the first line, from 1.
        is_last: whether the file ends with them.
    """

    source: str
    name: str
    path: str
    offset: int
    length: int
    first: int
    is_last: bool

    @property
    def size(self) -> int:
        return self.length

    def records(self) -> Iterator[RawRecord]:
        """Yield its records.

        Raises:
            OSError: the file can't be read any more.
        """
        with Path(self.path).open("rb", buffering=0) as file:
            file.seek(self.offset)
            data = file.read(self.length)
            while len(data) < self.length and (more := file.read(self.length - len(data))):
                data += more
        if len(data) < self.length:
            raise OSError(f"{self.source} became shorter while it was read")
        return records_of_lines(data, self)


class TextLines(Struct, frozen=True):
    """Whole lines, unpacked.

    Attributes: as of `FileLines`.
    """

    source: str
    name: str
    data: bytes
    first: int
    is_last: bool

    @property
    def size(self) -> int:
        return len(self.data)

    def records(self) -> Iterator[RawRecord]:
        """Yield its records."""
        return records_of_lines(self.data, self)


class Records(Struct, frozen=True):
    """Single records."""

    records_: tuple[RawRecord, ...]

    @property
    def size(self) -> int:
        return sum(len(record.raw or b"") for record in self.records_)

    def records(self) -> Iterator[RawRecord]:
        """Yield them."""
        return iter(self.records_)


Segment = FileLines | TextLines | Records


def records_of_lines(data: bytes, lines: FileLines | TextLines) -> Iterator[RawRecord]:
    """Yield the lines that are not blank."""
    if lines.first == 1:
        data = data.removeprefix(_BYTE_ORDER_MARK)
    begin, end, number = 0, len(data), lines.first
    while begin < end:
        newline = data.find(b"\n", begin)
        problem = None
        if newline < 0:
            newline = end
            problem = _TORN if lines.is_last else None
        line = data[begin:newline]
        if line and not line.isspace():
            if len(line) > MAX_RECORD:
                yield RawRecord(lines.source, number, None, too_long("line"), lines.name)
            else:
                yield RawRecord(lines.source, number, line.strip(), problem, lines.name)
        begin, number = newline + 1, number + 1


def too_long(what: str) -> str:
    """Say that something is longer than a record may be."""
    return f"the {what} is longer than {MAX_RECORD // 1024 // 1024} MiB"


def batches_of_records(records: Iterable[RawRecord], by: Sequence[str] = ()) -> Iterator[pa.RecordBatch]:
    """Yield batches of raw records, each of a bounded size."""
    held: list[RawRecord] = []
    size = 0
    for record in records:
        held.append(record)
        size += len(record.raw or b"")
        if len(held) >= _MOST_RECORDS or size >= _MOST_BYTES:
            yield _batch(held, by)
            held, size = [], 0
    if held:
        yield _batch(held, by)


def _batch(records: Sequence[RawRecord], by: Sequence[str]) -> pa.RecordBatch:
    given = len(by) if any(record.by for record in records) else 0
    schema = raw_schema(by[:given])
    sources, numbers, raws, problems, names, values = zip(*records, strict=True)
    arrays = [
        pa.array([_valid(source) for source in sources], pa.string()),
        pa.array(numbers, pa.int64()),
        pa.array(raws, pa.binary()),
        pa.array([problem and _valid(problem) for problem in problems], pa.string()),
        pa.array([name and _valid(name) for name in names], pa.string()),
    ]
    arrays += [
        pa.array([each[number] if each else None for each in values], schema.field(by_column(by[number])).type)
        for number in range(given)
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _valid(text: str) -> str:
    """Return a text that has UTF-8: names of files may have bytes that are none."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "backslashreplace").decode()
    return text
