"""Stream the runs of result files: a JSON array of rows, a mapping with ``results``, one row, or JSON Lines.

A file is never loaded whole: rows are decoded one after the other from a buffer that holds little more than
the row at hand. What is wrong with a whole file before its first row is raised; later it becomes the error of
the row where it was found, so that the rows before it are not lost.
"""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO, Final

from msgspec import Struct

from tracewitness.display import printable, show
from tracewitness.errors import ReadError
from tracewitness.readers.neutral import decode_plainly, decode_quickly
from tracewitness.readers.registry import READERS, trace_of
from tracewitness.trace import Record, Trace

__all__ = ["MAX_ROW", "Row", "Run", "iter_rows", "iter_runs"]

MAX_ROW: Final = 256 * 1024 * 1024
_CHUNK: Final = 1024 * 1024
_BYTE_ORDER_MARK = codecs.BOM_UTF8
_SPACE = " \t\r\n"
_LINES_SUFFIXES = frozenset({".jsonl", ".ndjson"})
_SUFFIXES = _LINES_SUFFIXES | {".json"}
_EVENT_KINDS = frozenset(Record.__struct_fields__[:8])
# The longest piece of JSON that is no text and can be cut in two by the end of the buffer, with room to
# spare.
_LONGEST_PIECE: Final = 16
_raw_decode = json.JSONDecoder().raw_decode


class Row(Struct, frozen=True):
    """One row of a file: decoded data, or a trace where it was decoded at once, or what is wrong with it.

    Attributes:
        source: the file's name as it was given.
        number: the row's number, from 1.
        place: where in the file, for example ``row 3`` or ``line 3``.
    """

    source: str
    number: int
    place: str
    data: Any = None
    trace: Trace | None = None
    error: ReadError | None = None

    def read(self) -> Trace:
        """Return the row's trace. Where the row has no name, it is the file's without its ending.

        Raises:
            ReadError: the row can't be used.
        """
        if self.error is not None:
            raise self.error
        if self.trace is not None:
            return self.trace
        try:
            return trace_of(self.data, Path(self.source).stem)
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


def iter_runs(paths: Iterable[str | Path]) -> Iterator[Run]:
    """Yield the runs of files and folders, in order.

    Arguments:
        paths: result files, and folders; of a folder all files that end in .json, .jsonl or .ndjson, also
            those in folders under it, sorted.

    Raises:
        ReadError: a path does not exist, or a folder holds no such file. What is wrong inside a file is the
            error of a run.
    """
    for file in [file for path in paths for file in _files_of(Path(path))]:
        try:
            for row in iter_rows(file):
                yield _run(row)
        except ReadError as error:
            yield Run(str(file), 0, "", file.stem, error=error)


def _files_of(path: Path) -> list[Path]:
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise ReadError("there is no such file or folder", str(path))
    files = sorted(file for file in path.rglob("*") if file.suffix in _SUFFIXES and file.is_file())
    if not files:
        raise ReadError(f"a folder without any file that ends in {', '.join(sorted(_SUFFIXES))}", str(path))
    return files


def _run(row: Row) -> Run:
    try:
        trace = row.read()
    except ReadError as error:
        own_name = row.data.get("name") if isinstance(row.data, Mapping) else None
        name = own_name if isinstance(own_name, str) and own_name else Path(row.source).stem
        return Run(row.source, row.number, row.place, name, error=error, data=row.data)
    return Run(row.source, row.number, row.place, trace.name, trace, data=row.data)


def iter_rows(path: str | Path) -> Iterator[Row]:
    """Yield the rows of a file, as it is read.

    Arguments:
        path: a JSON array of rows, a mapping with a list ``results``, one row or one trace alone, or JSON
            Lines.

    Raises:
        ReadError: the file can't be read, or not from its first row on. What is wrong further on is a row's
            error; in JSON Lines it is so from the start, and the lines after it still come.
    """
    source = str(path)
    rows = _open_rows(Path(path), source)
    count = 0
    try:
        for row in rows:
            count += 1
            yield row
    except ReadError as error:
        if not count:
            raise
        yield Row(source, count + 1, error.place, error=error)


def _open_rows(path: Path, source: str) -> Iterator[Row]:
    try:
        with path.open("rb") as file:
            yield from _rows_of(file, path, source)
    except IsADirectoryError as error:
        raise ReadError("a folder, not a file", source) from error
    except FileNotFoundError as error:
        raise ReadError("there is no such file", source) from error
    except OSError as error:
        raise ReadError(f"it can't be read: {error.strerror or error}", source) from error


def _rows_of(file: BinaryIO, path: Path, source: str) -> Iterator[Row]:
    head = file.read(_CHUNK)
    if path.suffix in _LINES_SUFFIXES or _looks_like_lines(head, file):
        file.seek(0)
        return _rows_of_lines(file, path.stem, source)
    # Most folders hold one small trace in each file: decoded at once, they are read several times as fast.
    alone = decode_quickly(head, path.stem) if len(head) < _CHUNK else None
    if alone is not None:
        return iter([Row(source, 1, "row 1", trace=alone)])
    file.seek(0)
    return _rows_of_document(_Buffer(file), source)


def _looks_like_lines(head: bytes, file: BinaryIO) -> bool:
    """Whether a whole object stands on the first line and another begins after it.

    No JSON document looks like that: after an object in it comes a comma or a closing bracket.
    """
    first_line = head.removeprefix(_BYTE_ORDER_MARK).lstrip()
    if not first_line.startswith(b"{"):
        return False
    length, last, chunk = 0, b"", first_line
    while chunk and length <= MAX_ROW:
        line, newline, rest = chunk.partition(b"\n")
        last = line.rstrip()[-1:] or last
        if newline:
            return last == b"}" and _first_byte(rest, file) == b"{"
        length += len(chunk)
        chunk = file.read(_CHUNK)
    return False


def _first_byte(rest: bytes, file: BinaryIO) -> bytes:
    while not (rest := rest.lstrip()):
        rest = file.read(_CHUNK)
        if not rest:
            return b""
    return rest[:1]


def _rows_of_lines(file: BinaryIO, stem: str, source: str) -> Iterator[Row]:
    """Yield a row for each line that is not blank; a bad one is an error of its own."""
    number = line_number = 0
    while line := file.readline(MAX_ROW + 1):
        line_number += 1
        if line_number == 1:
            line = line.removeprefix(_BYTE_ORDER_MARK)
        too_long = len(line) > MAX_ROW
        if not too_long and not line.strip():
            continue
        number += 1
        place = f"line {line_number}"
        if too_long:
            _pass_over_rest(line, file)
            yield Row(source, number, place, error=ReadError(_too_long(), source, place))
            continue
        trace = decode_quickly(line, stem)
        if trace is None:
            yield _odd_line(line, source, number, place)
        else:
            yield Row(source, number, place, trace=trace)
    if not number:
        raise ReadError("the file is empty", source)


def _pass_over_rest(line: bytes, file: BinaryIO) -> None:
    while line and not line.endswith(b"\n"):
        line = file.readline(_CHUNK)


def _odd_line(line: bytes, source: str, number: int, place: str) -> Row:
    try:
        return _row(decode_plainly(line), source, number, place)
    except ReadError as error:
        problem = f"{error.problem}; each line is a run in JSON"
        return Row(source, number, place, error=ReadError(problem, source, place))


def _row(data: Any, source: str, number: int, place: str) -> Row:
    if isinstance(data, (Mapping, list)):
        return Row(source, number, place, data)
    return Row(source, number, place, error=ReadError(f"a row is a mapping, not {show(data)}", source, place))


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
            raise ReadError(f"{show(buffer.peek())} after the end of the document")
    except ReadError as error:
        raise ReadError(error.problem, source, f"row {count + 1}" if count else "") from error
    if not count:
        raise ReadError("the file holds no row", source)


def _single(buffer: _Buffer) -> Iterator[Any]:
    yield buffer.value()


def _array(buffer: _Buffer) -> Iterator[Any]:
    """Yield the items of an array; where they are events, the array is one trace, and is yielded whole."""
    items = _items(buffer)
    for item in items:
        if _is_event(item):
            yield [item, *items]
        else:
            yield item


def _is_event(item: Any) -> bool:
    is_mapping = isinstance(item, Mapping) and not _EVENT_KINDS.isdisjoint(item)
    return is_mapping and not any(reader.detects(item) for reader in READERS)


def _items(buffer: _Buffer) -> Iterator[Any]:
    buffer.take("[")
    if buffer.skip("]"):
        return
    while True:
        yield buffer.value()
        if buffer.skip("]"):
            return
        buffer.take(",")


def _rows_of_mapping(buffer: _Buffer) -> Iterator[Any]:
    """Yield the items of the mapping's ``results``, or the mapping itself where it has no such list."""
    buffer.take("{")
    mapping: dict[str, Any] = {}
    has_rows = False
    while not buffer.skip("}"):
        if mapping or has_rows:
            buffer.take(",")
        if buffer.peek() != '"':
            raise ReadError(f"a key was expected, {_shown(buffer.peek())} came")
        key = buffer.value()
        buffer.take(":")
        if key == "results" and buffer.peek() == "[":
            has_rows = True
            yield from _array(buffer)
        else:
            mapping[key] = buffer.value()
    if not has_rows:
        yield mapping


class _Buffer:
    """Reads JSON piece by piece from a file, holding little more of it than the piece at hand."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")()
        self._text = ""
        self._at = 0

    def peek(self) -> str:
        """Return the next character that is no space, or an empty text at the end."""
        while True:
            text, at = self._text, self._at
            while at < len(text) and text[at] in _SPACE:
                at += 1
            self._at = at
            if at < len(text):
                return text[at]
            if not self._fill():
                return ""

    def skip(self, mark: str) -> bool:
        """Pass the next character if it is ``mark``, and say so."""
        if self.peek() != mark:
            return False
        self._at += 1
        return True

    def take(self, mark: str) -> None:
        """Pass the next character, which must be ``mark``."""
        if not self.skip(mark):
            raise ReadError(f"{mark!r} was expected, {_shown(self.peek())} came")

    def value(self) -> Any:
        """Decode the next value."""
        self.peek()
        while True:
            try:
                value, end = _raw_decode(self._text, self._at)
            except json.JSONDecodeError as error:
                torn = self._is_cut_off(error, 0)
                if not self._is_cut_off(error, _LONGEST_PIECE) or not self._fill():
                    what = "the file ends in the middle of a row" if torn else "not JSON"
                    raise ReadError(f"{what}: {printable(error.msg)}") from error
            except RecursionError as error:
                raise ReadError("a row is nested too deeply to be read") from error
            except ValueError as error:  # a whole number with more digits than Python converts
                raise ReadError(f"a number that can't be read: {printable(str(error))}") from error
            else:
                # A number at the end of the buffer may go on.
                if end < len(self._text) or not self._fill():
                    self._at = end
                    return value

    def _is_cut_off(self, error: json.JSONDecodeError, near: int) -> bool:
        """Whether decoding failed at the buffer's end, or at most so many characters before it."""
        if error.msg.startswith("Unterminated string"):
            return True
        return len(self._text[error.pos :].rstrip(_SPACE)) <= near

    def _fill(self) -> bool:
        """Read on, as much again as is left: a long row is not decoded too often. False at the end."""
        left = len(self._text) - self._at
        if left > MAX_ROW:
            raise ReadError(_too_long())
        chunk = self._file.read(max(_CHUNK, left))
        try:
            text = self._decoder.decode(chunk, final=not chunk)
        except UnicodeDecodeError as error:
            raise ReadError(f"not UTF-8: {error.reason}") from error
        self._text = self._text[self._at :] + text
        self._at = 0
        return bool(chunk)


def _shown(character: str) -> str:
    return show(character) if character else "the end of the file"


def _too_long() -> str:
    return f"a row is longer than {MAX_ROW // 1024 // 1024} MiB"
