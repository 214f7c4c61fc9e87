"""The report as JSON: the report document, written while the runs come."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Self

import msgspec

from tracewitness.reports.document import RunEntry, SummaryEntry
from tracewitness.reports.listening import FileReport

__all__ = ["JsonReport", "json_line"]


class JsonReport(FileReport):
    """Writes the report document (`tracewitness schema --of report`)."""

    _count = 0

    def __enter__(self) -> Self:
        super().__enter__()
        self._file.write(json_line(self._head)[:-1] + ',"runs":[')
        return self

    def run(self, run: RunEntry) -> None:
        """Write what came of one run, on a line of its own."""
        self._file.write((",\n" if self._count else "\n") + json_line(run))
        self._count += 1

    def finish(self, summary: SummaryEntry, notices: Sequence[str]) -> None:
        """Write the counts, and put the file in its place."""
        tail = {"summary": summary, "notices": list(notices)}
        self._file.write("\n]," + json_line(tail)[1:] + "\n")
        self._file.complete()


def json_line(value: Any) -> str:
    """Return a value as JSON on one line in which nothing moves the cursor or turns the line round.

    >>> json_line({"said": "\\u202eok"})
    '{"said":"\\\\u202eok"}'
    """
    text = msgspec.json.encode(value).decode("utf-8")
    return text if text.isprintable() else "".join(map(_escaped, text))


def _escaped(character: str) -> str:
    return character if character.isprintable() else json.dumps(character)[1:-1]
