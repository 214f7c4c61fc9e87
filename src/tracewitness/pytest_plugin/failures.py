"""What a failed test of an eval file shows: the check's place in the file, the verdict, the trace around it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

from _pytest._code.code import ReprEntryNative, ReprExceptionInfo, ReprFileLocation, ReprTraceback

from tracewitness.display import plural, printable
from tracewitness.evals import RunReport
from tracewitness.redaction import Redaction
from tracewitness.reports.document import RunEntry, VerdictEntry
from tracewitness.reports.entries import run_entry
from tracewitness.reports.trace_table import excerpt_lines
from tracewitness.suites import Place
from tracewitness.trace import Trace

if TYPE_CHECKING:
    import pytest

    from tracewitness.pytest_plugin.cases import Checked

__all__ = ["BrokenRuns", "Refused", "entry_of", "explanation_of", "trace_lines", "verdict_lines"]

_MOST_RUNS: Final = 10
_MOST_EVENTS: Final = 12


class Refused(Exception):  # noqa: N818 - nobody catches it; pytest shows its text
    """What a test needs is not there or can't be read."""


class BrokenRuns(AssertionError):  # noqa: N818 - nobody catches it; pytest shows its text
    """Runs of a test that are not as expected.

    Arguments:
        checked: what came of the runs.
        number: which check alone was looked at; None for all.
    """

    def __init__(self, checked: Checked, number: int | None) -> None:
        super().__init__(_in_a_line(checked, number))
        self.checked = checked
        self.number = number


def explanation_of(error: BaseException, item: pytest.Item) -> ReprExceptionInfo | None:
    """Return what pytest shows of an error of ours; None of any other.

    It is made of the parts that pytest sends between processes, so that the summary and JUnit have its first line
    there, too.
    """
    if not isinstance(error, (BrokenRuns, Refused)):
        return None
    line = item.reportinfo()[1]
    if isinstance(error, BrokenRuns):
        lines = list(_broken_lines(error))
        place = _first_place(error.checked, error.number)
        line = place.line if place else (line or 0) + 1
        file = error.checked.suite.source
    else:
        file, line = item.nodeid.partition("::")[0], (line or 0) + 1
        lines = [f"{file}:{line}: {error}"]
    native = ReprEntryNative([f"{text}\n" for text in lines])
    crash = ReprFileLocation(file, line, str(error))
    return ReprExceptionInfo(reprtraceback=ReprTraceback([native], None, style="native"), reprcrash=crash)


def entry_of(report: RunReport, suite: str) -> RunEntry:
    """Return what is shown of a run: secrets are hidden in it."""
    return run_entry(report, Redaction(), suite)


def _unheld(entry: RunEntry, number: int | None) -> list[VerdictEntry]:
    verdicts = entry.verdicts if number is None else entry.verdicts[number : number + 1]
    return [verdict for verdict in verdicts if not verdict.held]


def _is_broken(report: RunReport, number: int | None) -> bool:
    verdicts = report.verdicts if number is None else report.verdicts[number : number + 1]
    return bool(report.error) or not all(verdict.held for verdict in verdicts)


def _first_place(checked: Checked, number: int | None) -> Place | None:
    places = (
        place
        for report in checked.reports
        for position, (verdict, place) in enumerate(zip(report.verdicts, report.places, strict=True))
        if place is not None and not verdict.held and number in (None, position)
    )
    return next(places, None)


def _in_a_line(checked: Checked, number: int | None) -> str:
    """Return the line of the summary."""
    broken = [report for report in checked.reports if _is_broken(report, number)]
    first = entry_of(broken[0], checked.suite.source)
    labels = ", ".join(printable(verdict.label) for verdict in _unheld(first, number))
    what = printable(first.error) if first.error else f"broken: {labels}"
    return what if len(checked.reports) == 1 else f"{len(broken)} of {len(checked.reports)} runs, {what}"


def _broken_lines(error: BrokenRuns) -> Iterator[str]:
    reports = error.checked.reports
    broken = [report for report in reports if _is_broken(report, error.number)]
    if len(reports) > 1:
        yield f"{len(broken)} of {len(reports)} runs are not as expected"
    for report in broken[:_MOST_RUNS]:
        yield from _run_lines(report, error)
    if len(broken) > _MOST_RUNS:
        yield f"… and {plural(len(broken) - _MOST_RUNS, 'more run')}"


def _run_lines(report: RunReport, error: BrokenRuns) -> Iterator[str]:
    entry = entry_of(report, error.checked.suite.source)
    yield f"run {printable(entry.name)} ({printable(entry.where)})"
    if entry.error:
        yield f"  it can't be read: {printable(entry.error, 500)}"
    unheld = _unheld(entry, error.number)
    for verdict in unheld:
        yield from (f"  {line}" for line in verdict_lines(verdict))
    if report.trace is not None:
        yield ""
        yield from (f"  {line}" for line in trace_lines(entry, report.trace, unheld))
    yield ""


def verdict_lines(verdict: VerdictEntry) -> Iterator[str]:
    """Yield the lines that tell of a check that is not held."""
    place = f"{verdict.file}:{verdict.line}: " if verdict.file is not None else ""
    yield f"{place}{verdict.status}: {printable(verdict.label)}"
    yield f"    {printable(verdict.justification, 1000)}"
    near = verdict.near_miss
    for difference in () if near is None else near.differences:
        yield f"    nearest, at event {near.position if near else ''}: {printable(difference.text, 500)}"
    if verdict.reason:
        yield f"    reason: {printable(verdict.reason, 500)}"


def trace_lines(entry: RunEntry, trace: Trace, verdicts: Iterable[VerdictEntry], around: int = 3) -> Iterator[str]:
    """Yield the lines of the events that verdicts are about, and of those around them.

    Arguments:
        entry: the run as it may be shown.
        trace: what happened; it says why there is no evidence.
        verdicts: checks that are not held.
        around: how many events are shown before and after each.
    """
    positions: set[int] = set()
    for verdict in verdicts:
        positions.update(verdict.evidence[:_MOST_EVENTS])
        positions.update(() if verdict.near_miss is None else {verdict.near_miss.position})
    shown = Trace(()) if not entry.events else Trace.from_events(entry.events)
    if shown.events:
        yield from excerpt_lines(shown, positions, around=around)
    else:
        yield printable(f"no evidence: {trace.no_evidence}" if trace.no_evidence else "no call was made", 500)
