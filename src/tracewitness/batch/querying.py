"""Ask the verdicts of a scan by SQL. The query sees them alone: no other file, no network, no settings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from tracewitness.batch.extras import need
from tracewitness.batch.schemas import BY_PREFIX, by_column, verdict_schema
from tracewitness.display import printable
from tracewitness.errors import ReadError, UsageError

__all__ = ["TABLE", "Rows", "query"]

#: What the verdicts are called in a query.
TABLE: Final = "verdicts"
_ROWS: Final = 1000
#: In this order: after the last no setting can be changed.
_SETTINGS: Final = (
    "set python_enable_replacements = false",
    "set autoinstall_known_extensions = false",
    "set autoload_known_extensions = false",
    "set enable_external_access = false",
    "set lock_configuration = true",
)


class Rows(NamedTuple):
    """What a query returns.

    Attributes:
        columns: the names.
        rows: the rows, as they come.
    """

    columns: tuple[str, ...]
    rows: Iterator[Sequence[Any]]


def query(path: str, sql: str) -> Rows:
    """Ask the verdicts of a scan.

    Arguments:
        path: the file that a scan wrote, Parquet or JSON Lines.
        sql: a query of the table ``verdicts``, in the SQL of DuckDB.

    Raises:
        ReadError: the file can't be read, or holds no verdicts.
        UsageError: the query can't be run, or DuckDB is not installed.
    """
    rows = _rows(_dataset(path), sql)
    return Rows(tuple(next(rows)), rows)


def _dataset(path: str) -> ds.Dataset:
    file = Path(path)
    if not file.is_file():
        raise ReadError("a folder, not a file" if file.is_dir() else "there is no such file", path)
    try:
        if file.suffix.lower() == ".parquet":
            schema = pq.read_schema(path)
            found = ds.dataset(path, schema=schema, format="parquet")
        else:
            schema = verdict_schema(_by_of_lines(file))
            found = ds.dataset(path, schema=schema, format="json")
    except (pa.ArrowException, msgspec.MsgspecError, OSError, ValueError) as error:
        raise ReadError(f"it can't be read: {printable(str(error), 300)}", path) from error
    missing = [name for name in verdict_schema().names if name not in schema.names]
    if missing:
        raise ReadError(f"it holds no verdicts of a scan: it has no column {missing[0]}", path)
    return found


def _by_of_lines(path: Path) -> list[str]:
    with path.open("rb") as file:
        row = msgspec.json.decode(file.readline(), type=dict[str, Any])
    if "trace_id" not in row:
        raise ValueError("its first line is no verdict")
    return [name.removeprefix(BY_PREFIX) for name in row if name.startswith(by_column(""))]


def _rows(dataset: ds.Dataset, sql: str) -> Iterator[Sequence[Any]]:
    """Yield the names of the columns, and then the rows."""
    duckdb = need("duckdb", "batch", "a query")
    with closing(duckdb.connect(":memory:")) as connection:
        connection.register(TABLE, dataset)
        for setting in _SETTINGS:
            connection.execute(setting)
        try:
            connection.execute(sql)
            yield [column[0] for column in connection.description or ()]
            while rows := connection.fetchmany(_ROWS):
                yield from rows
        except (duckdb.Error, pa.ArrowException) as error:
            raise UsageError(f"the query can't be run: {printable(str(error), 1000)}") from error
