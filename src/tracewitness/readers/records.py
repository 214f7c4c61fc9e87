"""Read the records of a stream: each holds a run or some, and all are in the format of the first ones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from tracewitness.display import printable, show
from tracewitness.errors import ReadError
from tracewitness.readers.documents import LINE_BEGINS, Lines, decode_document
from tracewitness.readers.encodings.events import Events
from tracewitness.readers.neutral import decode_plainly
from tracewitness.readers.quick import decode_quickly
from tracewitness.readers.reader import Reader
from tracewitness.readers.registry import detected, is_log, reader_named, traces_of
from tracewitness.readers.rows import is_piece, rows_of, rows_of_lines
from tracewitness.trace import Trace

__all__ = ["RecordReader", "format_of_records"]

# In this format are read, too, the messages of others in which nothing is called: they are the same in all.
_PLAIN_MESSAGES: Final = "openai-chat"


class RecordReader:
    """Makes traces of records. It keeps nothing of them.

    Arguments:
        format_name: the format that all are in; None finds out for each.

    Raises:
        ReadError: there is no such format.
    """

    def __init__(self, format_name: str | None = None) -> None:
        self._reader = None if format_name is None else reader_named(format_name)

    def traces(self, raw: bytes, name: str = "") -> Iterator[Trace]:
        """Yield the traces of a record, mostly one.

        Arguments:
            raw: the record as it was written: a JSON text, or a whole document in another encoding.
            name: the name of a run that has none of its own.

        Raises:
            ReadError: it can't be read, or is in another format than it should be.

        >>> [len(trace) for trace in RecordReader().traces(b'{"events": [{"call": "search"}]}')]
        [1]
        """
        trace = decode_quickly(raw, None if self._reader is None else self._reader.name, name=name)
        if trace is not None:
            yield trace
            return
        found_any = False
        for row in _rows_of(raw, self._reader):
            for trace in self._traces_of_row(row, name):
                found_any = True
                yield trace
        if not found_any:
            raise ReadError("it holds no run")

    def _traces_of_row(self, row: Any, name: str) -> Iterator[Trace]:
        reader = self._reader
        if reader is None or reader.detects(row):
            yield from traces_of(row, name, reader)
            return
        others = detected(row)
        if [other.name for other in others] != [_PLAIN_MESSAGES]:
            raise ReadError(_why_other(reader, others))
        for trace in traces_of(row, name, others[0]):
            if trace.calls or trace.problems:
                raise ReadError(_why_other(reader, others))
            yield trace


def format_of_records(records: Iterable[bytes]) -> str | None:
    """Return the format that most of some records are in; None where none of them is in a known one.

    Messages without a call are the same in several formats, and only count where nothing else is there.
    """
    counts: dict[str, int] = {}
    plain = 0
    for raw in records:
        for name in _formats_of(raw):
            if name == _PLAIN_MESSAGES and not _calls_anything(raw):
                plain += 1
            else:
                counts[name] = counts.get(name, 0) + 1
    if not counts:
        return _PLAIN_MESSAGES if plain else None
    return max(counts, key=lambda name: counts[name])


def _formats_of(raw: bytes) -> list[str]:
    """Return the one format of each row of a record, where it is in one."""
    try:
        found = [detected(row) for row in _rows_of(raw, None)]
    except ReadError:
        return []
    return [readers[0].name for readers in found if len(readers) == 1]


def _calls_anything(raw: bytes) -> bool:
    try:
        return any(trace.calls for trace in RecordReader(_PLAIN_MESSAGES).traces(raw))
    except ReadError:
        return True


def _rows_of(raw: bytes, reader: Reader | None) -> Iterable[Any]:
    """Return the rows of a record, as those of a line of JSON Lines; of a whole document, those of the document."""
    if not raw.startswith(LINE_BEGINS) or b"\n" in raw.rstrip():
        data = decode_document(raw)
        if isinstance(data, Events):
            return [data]
        if isinstance(data, Lines):
            is_one_run = reader.is_log if reader is not None else is_log(data)
            return [data] if is_one_run else rows_of_lines(data)
        if not isinstance(data, (Mapping, list)):
            raise ReadError(f"a row is a mapping, not {show(data)}")
        if not raw.lstrip().startswith(LINE_BEGINS):
            return rows_of(data, reader)
    else:
        data = decode_plainly(raw)
    is_whole = reader is not None and not is_piece(data) and reader.detects(data)
    return [data] if is_whole else rows_of_lines(Lines([data]))


def _why_other(reader: Reader, others: list[Reader]) -> str:
    names = " and ".join(other.name for other in others)
    found = f"in the format {names}" if names else "in no known format"
    return printable(
        f"it is {found}, and not in that of the first records, {reader.name}: scan it apart, or name the format", 500
    )
