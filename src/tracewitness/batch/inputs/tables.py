"""Records that stand in tables: Parquet, Arrow IPC, and what a query of DuckDB or SQLite returns."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
from msgspec import Struct

from tracewitness.batch.extras import need
from tracewitness.batch.inputs.locating import Input
from tracewitness.batch.inputs.segments import MAX_RECORD, RawRecord, too_long
from tracewitness.display import nearest_name, printable
from tracewitness.errors import ReadError, UsageError

__all__ = ["ARROW", "PARQUET", "Columns", "records_of_arrow", "records_of_parquet", "records_of_query"]

PARQUET: Final = b"PAR1"
ARROW: Final = b"ARROW1"
# Few rows at a time: each may be long.
_ROWS: Final = 64
#: Columns that are taken for the record where none is named.
_USUAL: Final = ("trace", "messages", "raw", "record", "conversation", "traj", "transcript")
_NAME: Final = "name"
_encode: Final = msgspec.json.Encoder(enc_hook=str).encode


class Columns(Struct, frozen=True):
    """Which columns of a table are what.

    Attributes:
        record: the column with the record; None where there is one of the usual names, or where the whole row is it.
        by: columns to break the rates down by, as far as they are there.
    """

    record: str | None = None
    by: tuple[str, ...] = ()

    def of(self, names: Sequence[str]) -> _Found:
        """Find out what the columns of a table are.

        Raises:
            ReadError: it has no such column.
        """
        record = self.record
        if record is not None and record not in names:
            near = nearest_name(record, names)
            meant = f"; {near} was meant" if near else ""
            raise ReadError(f"it has no column {record}{meant}; it has {printable(', '.join(names), 500)}")
        if record is None:
            usual = (name for name in _USUAL if name in names)
            record = names[0] if len(names) == 1 else next(usual, None)
        return _Found(record, _NAME if _NAME in names and record is not None else None, self.by)


class _Found(Struct, frozen=True):
    record: str | None
    name: str | None
    by: tuple[str, ...]

    def wanted(self, names: Sequence[str]) -> list[str]:
        """Return the columns that have to be read."""
        if self.record is None:
            return list(names)
        return [name for name in names if name in (self.record, self.name, *self.by)]


def records_of_parquet(file: Any, source: str, name: str, columns: Columns) -> Iterator[RawRecord]:
    """Yield the rows of a Parquet file, and what is wrong with it where it goes wrong."""
    count = 0
    try:
        parquet = pq.ParquetFile(file, buffer_size=1 << 20, pre_buffer=False)
        names = parquet.schema_arrow.names
        found = columns.of(names)
        for batch in parquet.iter_batches(_ROWS, columns=found.wanted(names)):
            yield from _records_of_batch(batch, found, (source, name, count))
            count += batch.num_rows
    except ReadError as error:
        yield RawRecord(source, 0, None, error.problem, name)
    except (pa.ArrowException, OSError) as error:
        yield _broken("Parquet", source, name, count, error)


def records_of_arrow(file: Any, source: str, name: str, columns: Columns, *, is_file: bool) -> Iterator[RawRecord]:
    """Yield the rows of Arrow's format for files or for streams, as of `records_of_parquet`."""
    count = 0
    try:
        for batch in _arrow_batches(file, is_file=is_file):
            found = columns.of(batch.schema.names)
            for begin in range(0, batch.num_rows, _ROWS):
                piece = batch.slice(begin, _ROWS).select(found.wanted(batch.schema.names))
                yield from _records_of_batch(piece, found, (source, name, count))
                count += piece.num_rows
    except ReadError as error:
        yield RawRecord(source, 0, None, error.problem, name)
    except (pa.ArrowException, OSError) as error:
        yield _broken("Arrow", source, name, count, error)


def _arrow_batches(file: Any, *, is_file: bool) -> Iterator[pa.RecordBatch]:
    if not is_file:
        with pa.ipc.open_stream(file) as stream:
            yield from stream
        return
    with pa.ipc.open_file(file) as reader:
        for number in range(reader.num_record_batches):
            yield reader.get_batch(number)


def _broken(what: str, source: str, name: str, count: int, error: Exception) -> RawRecord:
    problem = f"broken {what}: {printable(str(error), 300)}; what comes after it can't be read"
    return RawRecord(source, count + 1 if count else 0, None, problem, name)


def _records_of_batch(batch: pa.RecordBatch, found: _Found, place: tuple[str, str, int]) -> Iterator[RawRecord]:
    lists = {column: batch.column(column).to_pylist() for column in batch.schema.names}
    for number in range(batch.num_rows):
        yield _record({column: values[number] for column, values in lists.items()}, found, place, number + 1)


def _record(row: Mapping[str, Any], found: _Found, place: tuple[str, str, int], number: int) -> RawRecord:
    source, default, before = place
    value = row if found.record is None else row[found.record]
    name = default if found.name is None else row[found.name]
    by = tuple(None if row.get(column) is None else printable(str(row[column]), 200) for column in found.by)
    raw, problem = _raw(value, found.record)
    return RawRecord(source, before + number, raw, problem, str(name) if name is not None else None, by)


def _raw(value: Any, column: str | None) -> tuple[bytes | None, str | None]:
    """Return a value as the JSON text that the readers take, or why there is none."""
    if value is None:
        return None, f"the column {column} is null"
    if isinstance(value, str):
        raw = value.encode("utf-8", "surrogatepass")
    elif isinstance(value, bytes):
        raw = value
    else:
        try:
            raw = _encode(_without_nulls(value))
        except (msgspec.MsgspecError, TypeError, ValueError, RecursionError) as error:
            return None, f"it is no text and can't be written as JSON: {printable(str(error), 200)}"
    if len(raw) > MAX_RECORD:
        return None, too_long("record")
    return raw.strip(), None


def _without_nulls(value: Any) -> Any:
    """Leave out the fields that are null: in a table every row has the fields of all rows."""
    if isinstance(value, Mapping):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    return [_without_nulls(item) for item in value] if isinstance(value, list) else value


def records_of_query(asked: Input, columns: Columns) -> Iterator[RawRecord]:
    """Yield the rows that a query returns.

    Raises:
        UsageError: the database or the query can't be used; or the result has no such column.
    """
    rows = _rows_of_duckdb(asked) if asked.kind == "duckdb" else _rows_of_sqlite(asked)
    found: _Found | None = None
    number = 0
    for number, row in enumerate(rows, 1):
        if found is None:
            try:
                found = columns.of(list(row))
            except ReadError as error:
                raise UsageError(f"{asked.source}: {error.problem}") from error
        yield _record(row, found, (asked.source, "", 0), number)
    if not number:
        raise UsageError(f"{asked.source}: the query returned no row")


def _rows_of_duckdb(asked: Input) -> Iterator[Mapping[str, Any]]:
    duckdb = need("duckdb", "batch", "reading a table of DuckDB")
    try:
        with closing(duckdb.connect(asked.address, read_only=True)) as connection:
            connection.execute("set threads = 1")  # so that rows come in the same order when a scan is resumed
            connection.execute("set memory_limit = '128MB'")
            reader = connection.sql(asked.query).to_arrow_reader(_ROWS)
            for batch in reader:
                yield from batch.to_pylist()
    except duckdb.Error as error:
        raise UsageError(f"{asked.source}: {printable(str(error), 500)}") from error


def _rows_of_sqlite(asked: Input) -> Iterator[Mapping[str, Any]]:
    try:
        uri = f"{Path(asked.address).absolute().as_uri()}?mode=ro"
        with closing(sqlite3.connect(uri, uri=True)) as connection:
            cursor = connection.execute(asked.query)
            names = [column[0] for column in cursor.description or ()]
            while rows := cursor.fetchmany(_ROWS):
                for row in rows:
                    yield dict(zip(names, row, strict=True))
    except sqlite3.Error as error:
        raise UsageError(f"{asked.source}: {printable(str(error), 500)}") from error
