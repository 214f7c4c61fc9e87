"""The report on a terminal: a line for each run, and for what is broken the check, why, and the nearest miss."""

from __future__ import annotations

import shutil
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from types import TracebackType
from typing import IO, Final, Self, TypeVar

import click

from tracewitness.display import plural, printable
from tracewitness.reports.document import CaseEntry, RunEntry, SummaryEntry, VerdictEntry
from tracewitness.reports.widths import cells, padded, wrapped

__all__ = ["ConsoleReport", "with_progress"]

#: How each status is written, and its colour.
_STATUSES: Final = {
    "held": ("HELD", "green"),
    "broken": ("BROKEN", "red"),
    "unreadable": ("UNREADABLE", "yellow"),
    "error": ("ERROR", "yellow"),
    "missing": ("MISSING", "red"),
    "passed": ("PASSED", "green"),
    "failed": ("FAILED", "red"),
    "inconclusive": ("INCONCLUSIVE", "yellow"),
    "infrastructure": ("INFRA", "yellow"),
    "not_run": ("NOT RUN", "yellow"),
}
_GOOD: Final = frozenset({"held", "passed"})
#: The widest column of names; a longer name makes its own line longer.
_WIDEST_NAME: Final = 32
_NARROWEST: Final = 40
#: Work that takes longer than this many seconds shows its progress on a terminal.
_LONG = 1.0

Item = TypeVar("Item")


class ConsoleReport:
    """Writes reports as they come. On a terminal long lines are wrapped; elsewhere each stays one, for who greps.

    Arguments:
        color: whether to colour; None leaves it to the terminal.
        quiet: whether to leave out runs that held, and notices.
        names: those of the cases, so that what stands behind them is aligned.
        to_errors: whether to write to the standard error output, where the standard output is taken.
    """

    needs_all: bool = False

    def __init__(
        self,
        *,
        color: bool | None = None,
        quiet: bool = False,
        names: Iterable[str] = (),
        to_errors: bool = False,
    ) -> None:
        self._color = color
        self._quiet = quiet
        self._to_errors = to_errors
        self._width = _terminal_width(sys.stderr if to_errors else sys.stdout)
        self._name_width = min(max((cells(printable(name)) for name in names), default=0), _WIDEST_NAME)
        self._not_held: dict[str, Counter[str]] = {}
        self._is_silent = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Do nothing: every line is out already."""

    @contextmanager
    def silenced(self) -> Iterator[None]:
        """Print no runs for a while."""
        self._is_silent = True
        try:
            yield
        finally:
            self._is_silent = False

    def notices(self, notices: Iterable[str]) -> None:
        """Write what the eval file's reader wants to be known."""
        if not self._quiet:
            for notice in notices:
                click.echo(f"note: {printable(notice, 500)}", err=True)

    def run(self, run: RunEntry) -> None:
        """Write what came of one run."""
        self._remember(run)
        if self._is_silent or (self._quiet and run.status == "held"):
            return
        name = padded(printable(run.name), self._name_width)
        self._line(f"{name}  ({printable(run.where)})  {_counted(run)}", status=run.status)
        if run.error:
            self._line(printable(run.error, 500), indent=4)
        self._checks(run)

    def _checks(self, run: RunEntry) -> None:
        """Write the checks that are not held."""
        for verdict in run.verdicts:
            if not verdict.held:
                self._broken(verdict)

    def _remember(self, run: RunEntry) -> None:
        """Count the checks that are not held, for those cases that have several runs."""
        for verdict in run.verdicts:
            if not verdict.held:
                self._not_held.setdefault(run.group, Counter())[verdict.label] += 1

    def _broken(self, verdict: VerdictEntry) -> None:
        place = f"  ({verdict.file}:{verdict.line})" if verdict.file else ""
        self._line(f"{verdict.label}{printable(place)}", indent=4, status=verdict.status)
        self._line(verdict.justification, indent=8)
        near = verdict.near_miss
        if near is not None:
            for difference in near.differences:
                self._line(f"nearest, at event {near.position}: {printable(difference.text, 500)}", indent=8)
        if verdict.reason:
            self._line(f"reason: {printable(verdict.reason, 500)}", indent=8)

    def finish(self, summary: SummaryEntry, notices: Sequence[str]) -> None:  # noqa: ARG002 - they were told before
        """Write the counts, and what must not pass in silence."""
        for name in summary.missing:
            self._line(f"{printable(name)}  no run of this case was found", status="missing")
        for name in summary.without_case:
            self._line(f"note: no case is named {printable(name)}; its runs had the common checks only")
        if summary.exit_status == 2 and not (summary.missing or summary.unreadable):  # which say the same
            self._line("no run was checked against a case: is it named as the case is?", status="missing")
        self._cases([case for case in summary.cases if case.held + case.broken > 1])
        self._line(_totals(summary))

    def _cases(self, cases: Sequence[CaseEntry]) -> None:
        """Write for each case with several runs how many held, and which checks did not."""
        width = min(max((cells(printable(case.name)) for case in cases), default=0), _WIDEST_NAME) + 1
        for case in cases:
            runs = case.held + case.broken
            self._line(f"{padded(f'{printable(case.name)}:', width)} {case.held}/{runs} held")
            for label, count in self._not_held.get(case.name, Counter()).most_common():
                self._line(f"not held in {count} of {runs}: {label}", indent=4)

    def _line(self, text: str, *, indent: int = 0, status: str = "") -> None:
        """Write a line; where it is wrapped, what follows stands under its beginning."""
        written, color = _STATUSES.get(status, ("", None))
        word = f"{written.ljust(6)} " if status else ""
        begin = indent + len(word)
        lines = [text] if self._width is None else wrapped(text, max(self._width, _NARROWEST), begin)
        if status:
            word = click.style(word[:-1], fg=color, bold=status not in _GOOD) + " "
        told = f"\n{' ' * begin}".join(lines)
        click.echo(f"{' ' * indent}{word}{told}", color=self._color, err=self._to_errors)


def _terminal_width(stream: IO[str]) -> int | None:
    """Return how many columns there are, or None where it is no terminal."""
    return shutil.get_terminal_size().columns if stream is not None and stream.isatty() else None


def _counted(run: RunEntry) -> str:
    if run.status == "unreadable":
        return "could not be read"
    held = sum(verdict.held for verdict in run.verdicts)
    without = "" if run.case is not None else ", no case of that name"
    return f"{held}/{len(run.verdicts)} checks held{without}"


def _totals(summary: SummaryEntry) -> str:
    parts = [f"{plural(summary.held, 'run')} held", f"{summary.broken} broken"]
    if summary.unreadable:
        parts.append(f"{summary.unreadable} could not be read")
    if summary.missing:
        parts.append(f"{plural(len(summary.missing), 'case')} without a run")
    if summary.not_selected:
        parts.append(f"{summary.not_selected} not selected")
    return ", ".join(parts)


def with_progress(items: Iterable[Item], terminal: IO[str] | None, noun: str) -> Iterator[Item]:
    """Yield the items; where that takes long and ``terminal`` is one, show how many there were."""
    if terminal is None or not terminal.isatty():
        yield from items
        return
    begun = time.monotonic()
    with ExitStack() as stack:
        advance = None
        for count, item in enumerate(items, 1):
            if advance is None and time.monotonic() - begun > _LONG:
                advance = _progress_bar(stack, terminal, noun)
            if advance is not None:
                advance(count)
            yield item


def _progress_bar(stack: ExitStack, terminal: IO[str], noun: str):  # type: ignore[no-untyped-def]
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    bar = stack.enter_context(
        Progress(
            SpinnerColumn(),
            TextColumn(f"{{task.completed}} {noun}"),
            TimeElapsedColumn(),
            console=Console(file=terminal),
            transient=True,
        )
    )
    task = bar.add_task("", total=None)
    return lambda count: bar.update(task, completed=count)
