"""The report on a terminal: a line for each run, and for what is broken the check, why, and the nearest miss."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from typing import IO, TypeVar

import click

from tracewitness.display import plural, printable
from tracewitness.evals import RunReport, Summary
from tracewitness.verdict import Verdict

__all__ = ["ConsoleReport", "with_progress"]

_COLORS = {"held": "green", "broken": "red", "unreadable": "yellow", "error": "yellow", "missing": "red"}
#: Work that takes longer than this many seconds shows its progress on a terminal.
_LONG = 1.0

Item = TypeVar("Item")


class ConsoleReport:
    """Writes reports as they come.

    Arguments:
        suite: the eval file's name; the lines of broken checks are given in it.
        color: whether to colour; None leaves it to the terminal.
        quiet: whether to leave out runs that held, and notices.
    """

    def __init__(self, suite: str, *, color: bool | None = None, quiet: bool = False) -> None:
        self._suite = suite
        self._color = color
        self._quiet = quiet

    def notices(self, notices: Iterable[str]) -> None:
        """Write what the eval file's reader wants to be known."""
        if not self._quiet:
            for notice in notices:
                click.echo(f"note: {printable(notice, 500)}", err=True)

    def run(self, report: RunReport) -> None:
        """Write what came of one run."""
        if self._quiet and report.status == "held":
            return
        where = printable(f"{report.source}, {report.place}" if report.place else report.source)
        self._line(f"{self._status(report.status)} {printable(report.name)}  ({where})  {_counted(report)}")
        if report.error:
            self._line(f"    {printable(report.error, 500)}")
        for verdict, place in zip(report.verdicts, report.places, strict=True):
            if not verdict.held:
                self._broken(verdict, f"  ({self._suite}:{place.line})" if place else "")

    def _broken(self, verdict: Verdict, place: str) -> None:
        self._line(f"    {self._status(verdict.status)} {verdict.label}{place}")
        self._line(f"        {verdict.justification}")
        near = verdict.near_miss
        if near is not None:
            for difference in near.differences:
                self._line(f"        nearest, at event {near.position}: {printable(str(difference), 500)}")
        if verdict.reason:
            self._line(f"        reason: {printable(verdict.reason, 500)}")

    def summary(self, summary: Summary) -> None:
        """Write the counts, and what must not pass in silence."""
        for name in summary.missing:
            self._line(f"{self._status('missing')} {printable(name)}  no run of this case was found")
        for name in summary.without_case:
            self._line(f"note: no case is named {printable(name)}; its runs had the common checks only")
        if summary.checked_nothing and not (summary.missing or summary.unreadable):  # which say the same
            self._line(f"{self._status('missing')} no run was checked against a case: is it named as the case is?")
        for case in summary.cases:
            if case.runs > 1:
                self._line(f"{printable(case.name)}: {case.held}/{case.runs} held")
        self._line(_totals(summary))

    def _status(self, status: str) -> str:
        return click.style(status.upper().ljust(6), fg=_COLORS[status], bold=status != "held")

    def _line(self, text: str) -> None:
        click.echo(text, color=self._color)


def _counted(report: RunReport) -> str:
    if report.error:
        return "could not be read"
    held = sum(verdict.held for verdict in report.verdicts)
    without = "" if report.case else ", no case of that name"
    return f"{held}/{len(report.verdicts)} checks held{without}"


def _totals(summary: Summary) -> str:
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
