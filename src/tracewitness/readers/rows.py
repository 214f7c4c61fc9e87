"""Stream the runs of result files: a JSON array of rows, a mapping with ``results``, one row, or JSON Lines.

A file is never loaded whole: rows are decoded one after the other from a buffer that holds little more than
the row at hand. What is wrong with a whole file before its first row is raised; later it becomes the error of
the row where it was found, so that the rows before it are not lost.
"""

from __future__ import annotations

import codecs
import gzip
import io
import json
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain, islice
from pathlib import Path
from typing import Any, BinaryIO, Final, cast

from msgspec import Struct

from tracewitness.display import printable, show
from tracewitness.errors import ReadError
from tracewitness.readers import neutral
from tracewitness.readers.documents import (
    GZIP,
    LINE_BEGINS,
    LINE_ENDS,
    MAX_DOCUMENT,
    MAX_PACKED,
    Lines,
    encoding_of,
    lines_of,
    refuse_other_charset,
)
from tracewitness.readers.encodings.events import Events
from tracewitness.readers.files_beside import refuse_unfinished, with_files_beside
from tracewitness.readers.folders import LINES_SUFFIXES, PACKED_SUFFIXES, Found, find_files
from tracewitness.readers.json_pieces import LONGEST_PIECE, JsonPieces
from tracewitness.readers.json_text import decode_value
from tracewitness.readers.neutral import UnusableError, decode_plainly, refuse_two_accounts, usable
from tracewitness.readers.quick import begins_as_history, decode_quickly
from tracewitness.readers.reader import Reader
from tracewitness.readers.registry import detected, is_log, traces_of
from tracewitness.trace import Record, Trace

__all__ = [
    "MAX_ROW",
    "Row",
    "Run",
    "holds_one_run",
    "is_piece",
    "iter_rows",
    "iter_runs",
    "rows_of",
    "rows_of_lines",
    "stem_of",
]

MAX_ROW: Final = 256 * 1024 * 1024
_CHUNK: Final = 1024 * 1024
# A log shows what it is on its first lines, though some are of kinds that other programs write too.
_LINES_LOOKED_AT: Final = 64
# Items of an array may be runs, and long: fewer of them are held before the first is handed on.
_ITEMS_LOOKED_AT: Final = 16
_BYTE_ORDER_MARK = codecs.BOM_UTF8
#: What a whole answer or run has; a message or item has none of them.
_WHOLE_KEYS = frozenset({"events", "detailed_trace", "results", "choices", "output", "candidates", "messages"})
_EVENT_KINDS = frozenset(Record.__struct_fields__[:8])


class Row(Struct, frozen=True):
    """One row of a file: decoded data, or what is wrong with it.

    Attributes:
        source: the file's name as it was given.
        number: the row's number, from 1.
        place: where in the file, for example ``row 3``, ``line 3`` or ``line 3, row 2``.
    """

    source: str
    number: int
    place: str
    data: Any = None
    error: ReadError | None = None

    def traces(self, reader: Reader | None = None) -> Iterator[Trace]:
        """Yield the row's traces, mostly one. Where the row has no name, it is the file's without its ending.

        Arguments:
            reader: of the row's format; by default it is found.

        Raises:
            ReadError: the row, or what is left of it, can't be used.
        """
        if self.error is not None:
            raise self.error
        try:
            yield from traces_of(self.data, stem_of(self.source), reader)
        except ReadError as error:
            raise ReadError(error.problem, self.source, self.place) from error


class Run(Struct, frozen=True):
    """One run: a trace, or why there is none.

    Attributes:
        source, number, place: as of its row; the number is 0 where the whole file can't be read.
        name: the row's own, else the file's without its ending.
        data: the row as it was decoded, where it is plain data.
    """

    source: str
    number: int
    place: str
    name: str
    trace: Trace | None = None
    error: ReadError | None = None
    data: Any = None


class _QuickRow(Row, frozen=True, kw_only=True):
    """A row that was decoded to its trace at once; what it says beside that is decoded where somebody asks for it."""

    trace: Trace
    written: bytes

    @property  # type: ignore[misc]  # a frozen field, of which only the value is asked for
    def data(self) -> Any:
        """The row, decoded anew."""
        return decode_plainly(self.written)

    def traces(self, reader: Reader | None = None) -> Iterator[Trace]:  # noqa: ARG002 - the trace is of its format
        yield self.trace


class _QuickRun(Run, frozen=True, kw_only=True):
    """The run of such a row."""

    written: bytes

    @property  # type: ignore[misc]  # a frozen field, of which only the value is asked for
    def data(self) -> Any:
        """The row, decoded anew."""
        return decode_plainly(self.written)


def stem_of(source: str) -> str:
    """Return a file's name without its ending, nor that of what it is packed in."""
    path = Path(source)
    return Path(path.stem).stem if path.suffix.lower() in PACKED_SUFFIXES else path.stem


def iter_runs(paths: Iterable[str | Path], reader: Reader | None = None) -> Iterator[Run]:
    """Yield the runs of files and folders, in order.

    Arguments:
        paths: result files, pipes, and folders; of a folder all files whose names end as those of recordings do,
            in capitals too, also those in folders under it and behind links, sorted.
        reader: of the format that they are all in; by default each row's is found.

    Raises:
        ReadError: a path does not exist, or a folder holds no such file. What is wrong inside a file, or with a
            file or folder inside a folder, is the error of a run.
    """
    for found in [found for path in paths for found in find_files(Path(path))]:
        yield from _runs_of(found, reader)


def _runs_of(found: Found, reader: Reader | None) -> Iterator[Run]:
    path, problem = found
    try:
        if problem:
            raise ReadError(problem, str(path))
        for row in iter_rows(path, reader):
            yield from _runs_of_row(row, reader)
    except ReadError as error:
        yield Run(str(path), 0, "", stem_of(str(path)), error=error)


def _runs_of_row(row: Row, reader: Reader | None) -> Iterator[Run]:
    """Yield the runs of a row. The row's data goes with the first: a row of several is no result to write into."""
    if isinstance(row, _QuickRow):
        yield _QuickRun(row.source, row.number, row.place, row.trace.name, row.trace, written=row.written)
        return
    count = 0
    try:
        for trace in row.traces(reader):
            count += 1
            place = row.place if count == 1 else f"{row.place}, run {count}"
            yield Run(row.source, row.number, place, trace.name, trace, data=row.data if count == 1 else None)
    except ReadError as error:
        own_name = row.data.get("name") if isinstance(row.data, Mapping) else None
        name = own_name if isinstance(own_name, str) and own_name else stem_of(row.source)
        yield Run(row.source, row.number, row.place, name, error=error, data=row.data)
        return
    if not count:
        nothing = ReadError("it holds no run", row.source, row.place)
        yield Run(row.source, row.number, row.place, stem_of(row.source), error=nothing, data=row.data)


def iter_rows(path: str | Path, reader: Reader | None = None) -> Iterator[Row]:
    """Yield the rows of a file, as it is read.

    Arguments:
        path: a JSON array of rows, a mapping with a list ``results``, one row or one trace alone, JSON Lines, or
            what else `documents.ENCODINGS` has; packed by gzip or not.
        reader: of the format that the rows are in; by default it is found.

    Raises:
        ReadError: the file can't be read, or not from its first row on. What is wrong further on is a row's
            error; in JSON Lines it is so from the start, and the lines after it still come.
    """
    source = str(path)
    rows = _open_rows(Path(path), source, reader)
    count = 0
    try:
        for row in rows:
            count += 1
            yield row
    except ReadError as error:
        if not count:
            raise
        yield Row(source, count + 1, error.place, error=error)


def rows_of(data: Any, reader: Reader | None = None) -> Iterator[Any]:
    """Yield the rows that decoded data lists, or the data itself where it is one.

    Raises:
        ReadError: what is in the place of a row can't be one.
    """
    is_whole = reader is not None and reader.detects(data)
    listed = None if is_whole else _listed_rows(data)
    for row in [data] if listed is None else _rows_or_trace(listed):
        if isinstance(row, _Refused):
            raise ReadError(row.problem)
        yield row


def rows_of_lines(lines: Lines) -> Iterator[Any]:
    """Yield the rows of decoded JSON Lines, each of which holds a run or some, as those of a file come.

    Raises:
        ReadError: what stands on a line can't be a row.
    """
    for number, line in enumerate(lines, 1):
        # A line that could not be decoded stands there as text; decoded again it says why, also where it is no UTF-8.
        again = line.encode("utf-8", "surrogatepass") if isinstance(line, str) else None
        found = _rows_of_decoded_line(line) if again is None else _rows_of_line(again)
        for place_in_line, data in found:
            row = _row(data, "", number, f"line {number}{place_in_line}")
            if row.error is not None:
                raise row.error
            yield row.data


def _open_rows(path: Path, source: str, reader: Reader | None) -> Iterator[Row]:
    try:
        with path.open("rb") as file:
            yield from _rows_of(file, path, source, reader)
    except IsADirectoryError as error:
        raise ReadError("a folder, not a file", source) from error
    except FileNotFoundError as error:
        raise ReadError("there is no such file", source) from error
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ReadError(f"broken gzip: {error}", source) from error
    except OSError as error:
        raise ReadError(f"it can't be read: {error.strerror or error}", source) from error


def _rows_of(
    file: BinaryIO, path: Path, source: str, reader: Reader | None, *, packed: int = 0, rewinds: bool = True
) -> Iterator[Row]:
    """Yield the rows of an open file.

    Arguments:
        packed: in how many layers of gzip it was found.
        rewinds: whether what it was unpacked from can be read twice; a file of gzip always says so.
    """
    rewinds = rewinds and file.seekable()
    beginning = _Beginning(file, rewinds=rewinds)
    head = beginning.read(_CHUNK)
    if head.startswith(GZIP):
        if packed == MAX_PACKED:
            raise ReadError("gzip in gzip in gzip", source)
        unpacked = gzip.GzipFile(fileobj=beginning.read_again(), mode="rb")
        buffered = io.BufferedReader(cast("io.RawIOBase", unpacked), _CHUNK)
        return _rows_of(buffered, Path(path.stem), source, reader, packed=packed + 1, rewinds=rewinds)
    encoding = encoding_of(head)
    if encoding is not None:
        refuse_unfinished(Path(source), encoding)
        return _rows_of_whole(encoding.decode, beginning.read_again(), source, reader)
    try:
        refuse_other_charset(head)
    except ReadError as error:
        raise ReadError(error.problem, source) from error
    if path.suffix.lower() in LINES_SUFFIXES or _looks_like_lines(head, beginning):
        if _is_log(head, reader):
            whole = _rows_of_whole(lines_of, beginning.read_again(), source, reader)
            return with_files_beside(whole, Path(source), reader)
        return _rows_of_lines(beginning.read_again(), source, reader)
    # Most folders hold one small trace in each file: decoded at once, they are read several times as fast.
    alone = _row_alone(head, source, reader) if len(head) < _CHUNK else None
    if alone is not None:
        return iter([alone])
    return _rows_of_document(_Buffer(beginning.read_again()), source)


def _rows_of_whole(decode: Callable[[bytes], Any], file: BinaryIO, source: str, reader: Reader | None) -> Iterator[Row]:
    """Yield the rows of a file that has to be decoded at once."""
    data = file.read(MAX_DOCUMENT + 1)
    if len(data) > MAX_DOCUMENT:
        raise ReadError(f"it is one document, and longer than {MAX_DOCUMENT // 1024 // 1024} MiB", source)
    try:
        decoded = decode(data)
        is_whole = isinstance(decoded, (Events, Lines)) or bool(reader or detected(decoded))
        for number, row in enumerate([decoded] if is_whole else rows_of(decoded), 1):
            yield _row(row, source, number, f"row {number}")
    except ReadError as error:
        raise ReadError(error.problem, source) from error


def _is_log(head: bytes, reader: Reader | None) -> bool:
    """Whether the first lines of a file are pieces of one run."""
    if reader is not None:
        return reader.is_log
    whole, _, _ = head.rpartition(b"\n") if len(head) >= _CHUNK else (head, b"", b"")
    first = whole.splitlines()[:_LINES_LOOKED_AT]
    if first and decode_quickly(first[0]) is not None and all(map(begins_as_history, filter(None, first))):
        return False  # whole runs; to find out that of all formats none writes its pieces so takes longer
    lines = lines_of(b"\n".join(first))
    return lines is not None and is_log(lines)


class _Beginning:
    """The beginning of a file, which is read twice: a pipe can't be, so what was read of one is kept."""

    def __init__(self, file: BinaryIO, *, rewinds: bool) -> None:
        self._file = file
        self._kept: list[bytes] | None = None if rewinds else []

    def read(self, size: int) -> bytes:
        chunk = self._file.read(size)
        if self._kept is not None:
            self._kept.append(chunk)
        return chunk

    def read_again(self) -> BinaryIO:
        """Return a file that begins where this one began."""
        if self._kept is None:
            self._file.seek(0)
            return self._file
        return io.BufferedReader(_Joined(b"".join(self._kept), self._file), _CHUNK)


class _Joined(io.RawIOBase):
    """What was read of a file, and then the rest of it."""

    def __init__(self, head: bytes, file: BinaryIO) -> None:
        self._head = io.BytesIO(head)
        self._file = file

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._head.read(len(buffer)) or self._file.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)


def _looks_like_lines(head: bytes, beginning: _Beginning) -> bool:
    """Whether a whole object or array stands on the first line and another begins after it.

    No JSON document looks like that: after an object in it comes a comma or a closing bracket.
    """
    first_line = head.removeprefix(_BYTE_ORDER_MARK).lstrip()
    if not first_line.startswith(LINE_BEGINS):
        return False
    length, last, chunk = 0, b"", first_line
    while chunk and length <= MAX_ROW:
        line, newline, rest = chunk.partition(b"\n")
        last = line.rstrip()[-1:] or last
        if newline:
            return last == LINE_ENDS[first_line[:1]] and _first_byte(rest, beginning) in LINE_BEGINS
        length += len(chunk)
        chunk = beginning.read(_CHUNK)
    return False


def _first_byte(rest: bytes, beginning: _Beginning) -> bytes:
    while not (rest := rest.lstrip()):
        rest = beginning.read(_CHUNK)
        if not rest:
            return b""
    return rest[:1]


def _row_alone(document: bytes, source: str, reader: Reader | None) -> Row | None:
    """Decode a document that is one row alone; None where it is not, or where it takes more to say what is wrong."""
    row = _quick_row(document, source, 1, "row 1", reader)
    if row is not None:
        return row
    try:
        data = decode_plainly(document)
    except ReadError:
        return None
    return Row(source, 1, "row 1", data) if isinstance(data, Mapping) and "results" not in data else None


def _quick_row(document: bytes, source: str, number: int, place: str, reader: Reader | None) -> Row | None:
    """Decode a usual history, which is one row; None where a document is none."""
    trace = decode_quickly(document, None if reader is None else reader.name, name=stem_of(source))
    return None if trace is None else _QuickRow(source, number, place, trace=trace, written=document)


class _Refused(Struct, frozen=True):
    """Stands in the place of a row that can't be used.

    Attributes:
        data: the row, as far as it was decoded.
    """

    data: Any
    problem: str


def _rows_of_lines(file: BinaryIO, source: str, reader: Reader | None) -> Iterator[Row]:
    """Yield the rows of each line that is not blank; a bad one is an error of its own."""
    count = line_number = 0
    while line := file.readline(MAX_ROW + 1):
        line_number += 1
        if line_number == 1:
            line = line.removeprefix(_BYTE_ORDER_MARK)
        if len(line) > MAX_ROW:
            _pass_over_rest(line, file)
            rows: Iterable[tuple[str, Any]] = [("", _Refused(None, _too_long()))]
        elif (row := _quick_row(line, source, count + 1, f"line {line_number}", reader)) is not None:
            count += 1
            yield row
            continue
        elif line.strip():
            rows = _rows_of_line(line)
        else:
            continue
        for place_in_line, data in rows:
            count += 1
            yield _row(data, source, count, f"line {line_number}{place_in_line}")
    if not count:
        raise ReadError("the file is empty", source)


def _pass_over_rest(line: bytes, file: BinaryIO) -> None:
    while line and not line.endswith(b"\n"):
        line = file.readline(_CHUNK)


def _rows_of_line(line: bytes) -> Iterable[tuple[str, Any]]:
    """Return the rows of a line, each with its place in it: most lines are one row, some hold several."""
    try:
        data = decode_plainly(line)
        return _rows_of_decoded_line(data)
    except ReadError as error:
        data = error.data if isinstance(error, UnusableError) else None
        return [("", _Refused(data, f"{error.problem}; each line is a run in JSON"))]


def _rows_of_decoded_line(data: Any) -> Iterable[tuple[str, Any]]:
    rows = _listed_rows(data)
    if rows is None and is_piece(data):
        return [("", _Refused(data, "a message or an item of a history, not a run; write the history as one array"))]
    if rows is None:
        return [("", data)]
    found = list(_rows_or_trace(rows))
    if not found:
        return [("", _Refused(data, "it holds no row"))]
    is_one_trace = rows is data and found == [data]
    return [("", data)] if is_one_trace else [(f", row {number}", row) for number, row in enumerate(found, 1)]


def _listed_rows(data: Any) -> list[Any] | None:
    """Return the rows that a document lists; None where it is one row itself."""
    if isinstance(data, list):
        return data
    if isinstance(data, Mapping) and isinstance(data.get("results"), list):
        refuse_two_accounts(data)
        return data["results"]  # type: ignore[no-any-return]
    return None


def _row(data: Any, source: str, number: int, place: str) -> Row:
    problem = ""
    if isinstance(data, _Refused):
        data, problem = data.data, data.problem
    elif not isinstance(data, (Mapping, list)):
        problem = f"a row is a mapping, not {show(data)}"
    error = ReadError(problem, source, place) if problem else None
    return Row(source, number, place, data, error)


def _rows_of_document(buffer: _Buffer, source: str) -> Iterator[Row]:
    """Yield the rows of one JSON document."""
    count = 0
    try:
        first = buffer.peek()
        if not first:
            raise ReadError("the file is empty")
        found = _array(buffer) if first == "[" else _rows_of_mapping(buffer) if first == "{" else _single(buffer)
        for data in found:
            count += 1
            yield _row(data, source, count, f"row {count}")
        if buffer.peek():
            raise buffer.error(f"{show(buffer.peek())} after the end of the document")
    except ReadError as error:
        raise ReadError(error.problem, source, f"row {count + 1}" if count else "") from error
    if not count:
        raise ReadError("the file holds no row", source)


def _single(buffer: _Buffer) -> Iterator[Any]:
    yield buffer.row()


def _array(buffer: _Buffer) -> Iterator[Any]:
    return _rows_or_trace(_items(buffer))


def _rows_or_trace(items: Iterable[Any]) -> Iterator[Any]:
    """Yield the items of an array; where they are pieces of one run, the array is that run, and is yielded whole.

    A format decides that on the first items. In none, or in neutral form, it is one trace where the first item looks
    like an event and none looks like a row; items that come before a row and look like events are rows that can't be
    used.
    """
    ahead = _Ahead(items)
    if _is_one_run([_decoded(item) for item in ahead.first]):
        yield from _whole(ahead)
        return
    events: list[Any] = []
    for item in ahead:
        if events or _is_event(item):
            if not _is_row(item):
                events.append(item)
                continue
            yield from map(_refused_event, events)
            events.clear()
        yield item
        yield from ahead
    yield from _whole(events)


def _whole(items: Iterable[Any]) -> Iterator[Any]:
    """Yield a list of all items as one row, or what is wrong with one of them."""
    events = list(items)
    if events:
        refused = next((event for event in events if isinstance(event, _Refused)), None)
        yield events if refused is None else refused


class _Ahead:
    """Items of which the first are known before they are taken.

    Attributes:
        first: those items. What went wrong behind them is raised when it is reached.
    """

    def __init__(self, items: Iterable[Any]) -> None:
        self._items = iter(items)
        self._error: ReadError | None = None
        self.first: list[Any] = []
        try:
            self.first += islice(self._items, _ITEMS_LOOKED_AT)
        except ReadError as error:
            self._error = error
        self._all = chain(self.first, self._rest())

    def __iter__(self) -> Iterator[Any]:
        return self._all

    def _rest(self) -> Iterator[Any]:
        if self._error is not None:
            raise self._error
        yield from self._items


def holds_one_run(first: list[Any]) -> bool:
    """Whether the first items of an array show that it is one run, and its items are pieces of it."""
    return bool(first) and (_is_one_run(first) or _is_event(first[0]))


def _is_one_run(first: list[Any]) -> bool:
    """Whether the items of an array are pieces of one run, in a format that is not our own."""
    found = detected(first)
    if len(found) != 1 or found[0] is neutral.READER:
        return False
    item = first[0]
    return found[0].is_log or not found[0].detects(item) or (isinstance(item, Mapping) and _WHOLE_KEYS.isdisjoint(item))


def _decoded(item: Any) -> Any:
    return item.data if isinstance(item, _Refused) else item


def _is_row(item: Any) -> bool:
    data = _decoded(item)
    return not is_piece(data) and bool(detected(data))


def _is_event(item: Any) -> bool:
    data = _decoded(item)
    if is_piece(data):
        return True
    return isinstance(data, Mapping) and not _EVENT_KINDS.isdisjoint(data) and not _is_row(data)


def is_piece(data: Any) -> bool:
    """Whether data is a message or an item of a history, which is no run: what it lacks may stand in the next one."""
    is_of_a_history = isinstance(data, Mapping) and ("role" in data or isinstance(data.get("type"), str))
    return is_of_a_history and _WHOLE_KEYS.isdisjoint(data)


def _refused_event(item: Any) -> _Refused:
    if isinstance(item, _Refused):
        return item
    return _Refused(item, f"an event among rows: a row has events or a detailed_trace; this is {show(item)}")


def _items(buffer: _Buffer) -> Iterator[Any]:
    buffer.take("[")
    if buffer.skip("]"):
        return
    while True:
        yield buffer.row()
        if buffer.skip("]"):
            return
        buffer.take(",")


def _rows_of_mapping(buffer: _Buffer) -> Iterator[Any]:
    """Yield the items of the mapping's ``results``, or the mapping itself where it has no such list."""
    buffer.take("{")
    mapping: dict[str, Any] = {}
    has_rows = False
    while not buffer.skip("}"):
        if mapping:
            buffer.take(",")
        key = _new_key(buffer, mapping)
        mapping[key] = None
        refuse_two_accounts(mapping)
        buffer.take(":")
        if key == "results" and buffer.peek() == "[":
            has_rows = True
            yield from _array(buffer)
        else:
            mapping[key] = buffer.value()
    if not has_rows:
        yield mapping


def _new_key(buffer: _Buffer, mapping: Mapping[str, Any]) -> str:
    if buffer.peek() != '"':
        raise buffer.error(f"a key was expected, {buffer.shown()} came")
    key: str = buffer.value()
    if key in mapping:
        raise buffer.error(f"the key {show(key)} stands twice in one object, which is ambiguous")
    return key


class _Buffer(JsonPieces):
    """Decodes rows and values of a file one by one."""

    def __init__(self, file: BinaryIO) -> None:
        super().__init__(file.read, MAX_ROW, _too_long())

    def row(self) -> Any:
        """Decode the next value. One whose end is known but which can't be used is a `_Refused`."""
        return self._next(refuse=True)

    def value(self) -> Any:
        """Decode the next value."""
        return self._next(refuse=False)

    def _next(self, *, refuse: bool) -> Any:
        self.peek()
        while True:
            try:
                decoded = decode_value(self._text, self._at)
            except json.JSONDecodeError as error:
                failure = self._failure(error)  # before reading on, which moves the text
                if not self._is_cut_off(error, LONGEST_PIECE) or not self._fill():
                    raise failure from error
            except RecursionError as error:
                raise self.error("a row is nested too deeply to be read") from error
            else:
                # A number at the end of the buffer may go on.
                if decoded.end < len(self._text) or not self._fill():
                    break
        try:
            value = usable(decoded)
        except UnusableError as error:
            if not refuse:
                raise self.error(error.problem) from error
            value = _Refused(error.data, self.error(error.problem).problem)
        self._at = decoded.end
        return value

    def _failure(self, error: json.JSONDecodeError) -> ReadError:
        what = "the file ends in the middle of a row" if self._is_cut_off(error, 0) else "not JSON"
        return self.error(f"{what}: {printable(error.msg.removesuffix(' at'))}", error.pos)


def _too_long() -> str:
    return f"a row is longer than {MAX_ROW // 1024 // 1024} MiB"
