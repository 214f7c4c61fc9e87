"""``tracewitness query``: the verdicts of a scan by SQL."""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, Final

import click
import msgspec

from tracewitness.batch.extras import need
from tracewitness.display import printable

__all__ = ["command"]

#: Of so many rows the widths of columns are measured.
_MEASURED: Final = 200
_WIDEST: Final = 60


@click.command("query")
@click.argument("verdicts", type=click.Path())
@click.argument("sql")
@click.option("--csv", "form", flag_value="csv", help="Write comma-separated values.")
@click.option("--json", "form", flag_value="json", help="Write JSON Lines.")
def command(verdicts: str, sql: str, form: str | None) -> None:
    """Ask the verdicts of a scan by SQL.

    VERDICTS is the file that `tracewitness scan` wrote; in the query it is the table verdicts, with a row for each
    check of each run. The SQL is that of DuckDB. The query sees this table alone, and changes nothing.

    \b
    Columns: trace_id, source, record, run, name, case, check, label, operator, tool, status (held, broken or error),
    justification, reason, evidence, and by_NAME for each --by NAME of the scan. "case" and "check" need quotes.

    \b
    Examples:
      tracewitness query verdicts.parquet "select label, count(*) from verdicts where status <> 'held' group by all"
      tracewitness query verdicts.parquet "select trace_id, justification from verdicts where status = 'error'" --csv
    """
    found = need("tracewitness.batch.querying", "batch", "a query").query(verdicts, sql)
    {"csv": _write_csv, "json": _write_json, None: _write_table}[form](found.columns, found.rows)


def _write_csv(columns: Sequence[str], rows: Iterator[Sequence[Any]]) -> None:
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)


def _write_json(columns: Sequence[str], rows: Iterator[Sequence[Any]]) -> None:
    for row in rows:
        click.echo(msgspec.json.encode(dict(zip(columns, row, strict=True)), enc_hook=str).decode())


def _write_table(columns: Sequence[str], rows: Iterator[Sequence[Any]]) -> None:
    """Write aligned columns. The first rows say how wide they are, so that a long result is not held."""
    first = [_cells(row) for row in islice(rows, _MEASURED)]
    widths = [max(map(len, column)) for column in zip(_cells(columns), *first, strict=True)]
    _write_row(_cells(columns), widths)
    _write_row(["-" * width for width in widths], widths)
    for cells in first:
        _write_row(cells, widths)
    for row in rows:
        _write_row(_cells(row), widths)


def _cells(row: Sequence[Any]) -> list[str]:
    return ["" if value is None else printable(str(value), _WIDEST) for value in row]


def _write_row(cells: Sequence[str], widths: Sequence[int]) -> None:
    click.echo("  ".join(f"{cell:<{width}}" for cell, width in zip(cells, widths, strict=True)).rstrip())
