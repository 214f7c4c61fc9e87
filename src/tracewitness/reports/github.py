"""The report for a workflow of GitHub: annotations at the lines of the eval file, and the summary of the step."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Final, Self

from msgspec import Struct

from tracewitness.display import plural, printable
from tracewitness.errors import UsageError
from tracewitness.reports.document import Head, RunEntry, SummaryEntry, VerdictEntry
from tracewitness.reports.markdown import MOST_BYTES, MarkdownText

__all__ = ["SUMMARY_VARIABLE", "GithubReport", "annotation"]

#: GitHub shows no more errors of a step.
_MOST: Final = 10
_LONGEST: Final = 1000
SUMMARY_VARIABLE: Final = "GITHUB_STEP_SUMMARY"


class _Finding(Struct):
    """A check that is not held, wherever that was."""

    verdict: VerdictEntry
    case: str
    runs: int = 0


class GithubReport:
    """Prints annotations, and appends to the summary of the step.

    Whatever is printed between the first and the last line of it is no command to GitHub, so that nothing of a trace
    can be one.

    Arguments:
        head: what stands before the runs.
        stream: where the annotations are printed.
        summary: the file of the summary; None where there is none.
    """

    needs_all = False

    def __init__(self, head: Head, stream: IO[str], summary: str | None = None) -> None:
        self._text = MarkdownText(head)
        self._stream = stream
        self._summary = None if not summary else Path(summary)
        self._findings: dict[tuple[str, str, int | None, str], _Finding] = {}
        self._others: list[tuple[str, str]] = []
        self._other_count = 0
        self._token = ""

    def __enter__(self) -> Self:
        if self._summary is not None and not os.access(self._summary.parent, os.W_OK):
            raise UsageError(f"{self._summary}, of ${SUMMARY_VARIABLE}, can't be written")
        self._token = secrets.token_hex(16)
        self._print(f"::stop-commands::{self._token}")
        return self

    def run(self, run: RunEntry) -> None:
        """Keep what is not well in a run."""
        self._text.run(run)
        if run.outcome == "passed":
            return
        broken = [verdict for verdict in run.verdicts if not verdict.held]
        for verdict in broken:
            key = (verdict.file or "", run.group, verdict.line, verdict.label)
            if key in self._findings or len(self._findings) < 10 * _MOST:
                self._findings.setdefault(key, _Finding(verdict, run.group)).runs += 1
        if not broken:
            self._other_count += 1
            if len(self._others) < _MOST:
                self._others.append((f"{run.group}, run {run.run}", f"{run.outcome}: {run.error or 'not passed'}"))

    def finish(self, summary: SummaryEntry, notices: Sequence[str]) -> None:
        """Print the annotations, a bounded number of them, and append to the summary."""
        self._resume()
        lines = list(self._annotations(summary))
        if len(lines) > _MOST:
            more = f"{plural(len(lines) - _MOST + 1, 'more finding')}; the report has all"
            lines = [*lines[: _MOST - 1], annotation("tracewitness", more)]
        for line in lines:
            self._print(line)
        if self._summary is not None:
            self._append(self._summary, summary, notices)

    def _annotations(self, summary: SummaryEntry) -> Iterator[str]:
        runs = {case.name: case.runs for case in summary.cases}
        for finding in self._findings.values():
            verdict = finding.verdict
            often = f"in {finding.runs} of {plural(runs.get(finding.case, finding.runs), 'run')}: "
            text = f"{verdict.status} {often}{verdict.justification}"
            yield annotation(f"{finding.case}: {verdict.label}", text, verdict.file, verdict.line, verdict.column)
        for name in summary.missing:
            yield annotation(name, "no run of this case was found")
        for title, text in self._others:
            yield annotation(title, text)
        for _ in range(self._other_count - len(self._others)):
            yield annotation("tracewitness", "not passed")

    def _append(self, path: Path, summary: SummaryEntry, notices: Sequence[str]) -> None:
        """Append to the summary as much as GitHub takes: where it is too long, GitHub shows nothing of it."""
        room = MOST_BYTES - (path.stat().st_size if path.exists() else 0)
        if room <= 0:
            return
        text = self._text.text(summary, notices, room)
        try:
            with path.open("a", encoding="utf-8", errors="backslashreplace") as file:
                file.write(text)
        except OSError as error:
            raise UsageError(f"{path}, of ${SUMMARY_VARIABLE}, can't be written: {error.strerror or error}") from error

    def _resume(self) -> None:
        if self._token:
            self._print(f"::{self._token}::")
            self._token = ""

    def _print(self, line: str) -> None:
        self._stream.write(f"{line}\n")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._resume()


def annotation(
    title: str, text: str, file: str | None = None, line: int | None = None, column: int | None = None
) -> str:
    """Return the command that annotates a line with an error.

    >>> annotation("a, b", "100%", "x.yaml", 3)
    '::error file=x.yaml,line=3,title=a%2C b::100%25'
    """
    given = {"file": file, "line": line, "col": column if line else None, "title": title}
    properties = ",".join(f"{name}={_property(str(value))}" for name, value in given.items() if value)
    return f"::error {properties}::{_data(text)}"


def _data(text: str) -> str:
    """Escape a text as GitHub's own toolkit does; nothing in it can end the command."""
    return printable(text, _LONGEST).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
