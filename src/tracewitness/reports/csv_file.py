"""The report as CSV: one row a check, as RFC 4180 has it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, Self

from tracewitness.display import printable
from tracewitness.reports.document import RunEntry, SummaryEntry, VerdictEntry
from tracewitness.reports.listening import FileReport

__all__ = ["CsvReport"]

_COLUMNS: Final = (
    *("case", "run", "name", "source", "place", "tags", "outcome", "error"),
    *("operator", "check", "status", "justification", "reason", "nearest", "tools", "evidence", "file", "line"),
)
#: A spreadsheet takes a cell that begins so for a formula, also after spaces and in full width.
_FORMULA_STARTS: Final = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")  # noqa: RUF001
_MOST: Final = 5000


class CsvReport(FileReport):
    """Writes one row for each check. A run without any has one with the run's own columns alone.

    A text that a spreadsheet would take for a formula has an apostrophe before it, which a spreadsheet does not show.
    """

    def __enter__(self) -> Self:
        super().__enter__()
        self._write(_COLUMNS)
        return self

    def run(self, run: RunEntry) -> None:
        """Write the checks of one run."""
        beginning = (
            run.case or "",
            str(run.run),
            run.name,
            run.source,
            run.place,
            " ".join(run.tags),
            run.outcome,
            run.error,
        )
        rows = [(*beginning, *_cells(verdict)) for verdict in run.verdicts]
        for row in rows or [(*beginning, *[""] * (len(_COLUMNS) - len(beginning)))]:
            self._write(row)

    def finish(self, summary: SummaryEntry, notices: Sequence[str]) -> None:  # noqa: ARG002 - as all who listen
        """Write a row for each case without a run, and put the file in its place."""
        for name in summary.missing:
            cells = [name, *[""] * (len(_COLUMNS) - 1)]
            cells[_COLUMNS.index("outcome")] = "missing"
            self._write(cells)
        self._file.complete()

    def _write(self, cells: Sequence[str]) -> None:
        self._file.write(",".join(map(_quoted, cells)) + "\r\n")


def _cells(verdict: VerdictEntry) -> Iterator[str]:
    near = verdict.near_miss
    yield verdict.operator
    yield verdict.label
    yield verdict.status
    yield verdict.justification
    yield verdict.reason
    yield "; ".join(difference.text for difference in near.differences) if near else ""
    yield " ".join(verdict.tools)
    yield " ".join(map(str, verdict.evidence))
    yield verdict.file or ""
    yield str(verdict.line) if verdict.line else ""


def _quoted(text: str) -> str:
    """Return a text as a cell.

    >>> _quoted('=HYPERLINK("http://x")')
    '"\\'=HYPERLINK(""http://x"")"'
    """
    if text.lstrip().startswith(_FORMULA_STARTS) or text.startswith(_FORMULA_STARTS):
        text = f"'{text}"
    text = printable(text, _MOST)
    return '"' + text.replace('"', '""') + '"' if any(mark in text for mark in '",;') else text
