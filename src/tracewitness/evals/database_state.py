"""Ask a database before and after a run, and record the rows with the trace, for checks of the operator ``state``."""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

from tracewitness.display import nearest_name, printable, show
from tracewitness.errors import UsageError
from tracewitness.expectations import Operator, State
from tracewitness.expectations.state import STATE_KEY
from tracewitness.trace import Record, Trace

__all__ = ["DatabaseStates"]

#: So many rows of a query are recorded; who compares more asks for less of them, or for their number.
_MOST_ROWS: Final = 10_000

_Table = dict[str, Any]


class DatabaseStates:
    """The rows that the ``state`` checks of a suite ask for, before and after a run.

    Nothing is written: files are opened to be read only, and whatever is no query fails. A query that fails is
    recorded as such, and breaks its check.

    Arguments:
        checks: those that are to be checked; only the queries of ``state`` among them are asked.
        databases: for each name that they use, a file of SQLite or DuckDB (``.duckdb``, ``.ddb``), or an open
            connection of `sqlite3`.

    Raises:
        UsageError: a check names a database that is not given, or one is given that is none.

    >>> import sqlite3
    >>> from tracewitness.testing import call, result, trace
    >>> shop = sqlite3.connect(":memory:")
    >>> _ = shop.execute("CREATE TABLE orders (id, status)")
    >>> paid = State("shop", "SELECT * FROM orders", changed={"added": [{"id": 7, "status": "paid"}]})
    >>> with DatabaseStates([paid], {"shop": shop}) as states:
    ...     _ = shop.execute("INSERT INTO orders VALUES (7, 'paid')")
    >>> from tracewitness import check
    >>> check(states.witnessed(trace(call("pay"), result("ok"))), [paid])[0].status
    'held'
    """

    def __init__(self, checks: Iterable[Operator], databases: Mapping[str, Any]) -> None:
        self._queries: dict[str, list[str]] = {}
        self._databases = dict(databases)
        for check in checks:
            if isinstance(check, State):
                asked = self._queries.setdefault(self._known(check.database), [])
                if check.query not in asked:
                    asked.append(check.query)
        self._before: dict[str, list[_Table]] | None = None
        self._after: dict[str, list[_Table]] | None = None

    def _known(self, name: str) -> str:
        if name not in self._databases:
            near = nearest_name(name, self._databases)
            given = f"{near} was meant" if near else f"given are {', '.join(map(show, self._databases)) or 'none'}"
            raise UsageError(f"a check asks for the state of {show(name)}, and no such database is given; {given}")
        given = self._databases[name]
        if not isinstance(given, (str, Path, sqlite3.Connection)):
            raise UsageError(f"the database {show(name)} is a file or a connection of sqlite3, not {show(given)}")
        return name

    def __enter__(self) -> DatabaseStates:
        self.before()
        return self

    def __exit__(self, *_: object) -> None:
        self.after()

    def before(self) -> None:
        """Ask all queries; call it before the run."""
        self._before, self._after = self._asked(), None

    def after(self) -> None:
        """Ask all queries again; call it when the run is over."""
        self._after = self._asked()

    def witnessed(self, trace: Trace) -> Trace:
        """Return a trace with what was recorded, as its last events: a message of the system for each database.

        Raises:
            UsageError: `before` or `after` was not called.
        """
        if self._before is None or self._after is None:
            raise UsageError("the databases are asked before and after the run: call before() and after(), or use with")
        records = [self._record(name) for name in self._queries]
        made = Trace(
            [*trace._records, *records],
            name=trace.name,
            problems=trace.reader_problems,
            no_evidence=trace.no_evidence,
            text_alone=trace.text_alone,
            unreadable=trace.unreadable,
            place_of=trace._place_of,
        )
        return trace if not records else made

    def _record(self, name: str) -> Record:
        assert self._before is not None  # noqa: S101 - the caller has asked
        assert self._after is not None  # noqa: S101 - as above
        queries = [
            {"query": query, "before": before, "after": after}
            for query, before, after in zip(self._queries[name], self._before[name], self._after[name], strict=True)
        ]
        return Record(
            system=f"state of {name} before and after the run",
            metadata={STATE_KEY: {"database": name, "queries": queries}},
        )

    def _asked(self) -> dict[str, list[_Table]]:
        return {name: _ask_all(self._databases[name], queries) for name, queries in self._queries.items()}


def _ask_all(database: Any, queries: Sequence[str]) -> list[_Table]:
    """Ask a database all its queries, each of which may fail."""
    if isinstance(database, sqlite3.Connection):
        return [_ask_open(database, query) for query in queries]
    path = Path(database)
    if not path.is_file():
        return [{"error": "there is no such file"} for _ in queries]
    try:
        return _ask_duckdb(path, queries) if path.suffix in (".duckdb", ".ddb") else _ask_sqlite(path, queries)
    except UsageError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever a database raises when it is opened is recorded
        return [_failure(error) for _ in queries]


def _ask_sqlite(path: Path, queries: Sequence[str]) -> list[_Table]:
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
        return [_ask_open(connection, query) for query in queries]


def _ask_open(connection: sqlite3.Connection, query: str) -> _Table:
    """Ask one query on a connection that others may use, too: what would write fails meanwhile."""
    was_set = connection.execute("PRAGMA query_only").fetchone()[0]
    try:
        connection.execute("PRAGMA query_only = ON")
        connection.set_authorizer(_only_reading)
        with closing(connection.cursor()) as cursor:
            cursor.row_factory = None
            return _table(cursor.execute(query))
    except Exception as error:  # noqa: BLE001 - whatever a query raises is recorded
        return _failure(error)
    finally:
        connection.set_authorizer(None)
        connection.execute(f"PRAGMA query_only = {'ON' if was_set else 'OFF'}")


def _only_reading(action: int, *_: object) -> int:
    allowed = (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE)
    return sqlite3.SQLITE_OK if action in allowed else sqlite3.SQLITE_DENY


def _ask_duckdb(path: Path, queries: Sequence[str]) -> list[_Table]:
    try:
        import duckdb
    except ImportError as error:
        raise UsageError("the state of a DuckDB file needs duckdb; run: pip install 'tracewitness[batch]'") from error
    with duckdb.connect(str(path), read_only=True, config={"enable_external_access": "false"}) as connection:
        return [_ask_duck(connection, query) for query in queries]


def _ask_duck(connection: Any, query: str) -> _Table:
    try:
        statements = connection.extract_statements(query)
        if len(statements) != 1 or statements[0].type.name != "SELECT":
            raise UsageError("only a single query is asked")
        return _table(connection.execute(query))
    except Exception as error:  # noqa: BLE001 - whatever a query raises is recorded
        return _failure(error)


def _table(cursor: Any) -> _Table:
    if cursor.description is None:
        return {"error": "it gives no rows"}
    columns = [str(column[0]) for column in cursor.description]
    rows = cursor.fetchmany(_MOST_ROWS + 1)
    if len(rows) > _MOST_ROWS:
        return {"error": f"it gives more than {_MOST_ROWS} rows; ask for fewer, or for their number"}
    return {"columns": columns, "rows": [[_plain(value) for value in row] for row in rows]}


def _failure(error: Exception) -> _Table:
    return {"error": printable(f"{type(error).__name__}: {error}", 300)}


def _plain(value: Any) -> Any:
    """Return a value of a column as JSON can hold it: times as ISO 8601, bytes in hexadecimal digits."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, (date, datetime, time)):
        return value.isoformat()
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value).hex()
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    return str(value)
