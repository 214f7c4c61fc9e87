"""A comparison in words: the same sections and lines for the terminal, Markdown and HTML."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from msgspec import Struct

from tracewitness.display import plural, printable

from .model import CaseChange, CheckChange, Comparison, Kind, Rate

__all__ = ["TITLES", "Line", "Told", "heading", "notes", "told_cases", "totals"]

#: How each kind is called, in the order in which they are told.
TITLES: Final[dict[Kind, str]] = {
    "newly_broken": "newly broken",
    "vanished": "vanished",
    "undecided": "undecided",
    "flaky": "flaky",
    "newly_held": "newly held",
    "new": "new",
    "same": "same",
}
_NAME: Final = 200
_MOST_CALLS: Final = 20


class Line(Struct, frozen=True):
    """One thing that is told; all of it is printable.

    Attributes:
        title: what it is about.
        text: what is said of it.
        more: what stands below it.
    """

    title: str
    text: str = ""
    more: tuple[str, ...] = ()


class Told(Struct, frozen=True):
    """A case in words.

    Attributes:
        kind: how it changed.
        case: the case itself.
        checks: its checks, each with how it changed.
        calls: the calls that changed.
    """

    kind: Kind
    case: Line
    checks: tuple[tuple[Kind, Line], ...] = ()
    calls: Line | None = None


def heading(comparison: Comparison) -> str:
    """Return the comparison in a line."""
    return "nothing broke" if comparison.exit_status == 0 else "something broke or can't be told any more"


def totals(comparison: Comparison) -> str:
    """Return how many cases and checks changed, by kind."""
    told = [f"{comparison.counts.get(kind, 0)} {title}" for kind, title in TITLES.items() if kind in comparison.counts]
    unchanged = f"{plural(comparison.unchanged, 'case')} as before"
    return ", ".join([*told, unchanged])


def notes(comparison: Comparison) -> tuple[str, ...]:
    """Return what makes a comparison doubtful. A folder's name may differ: each checkout has its own."""
    suites = comparison.base.suite, comparison.new.suite
    if not all(suites) or len({re.split(r"[/\\]", suite)[-1] for suite in suites}) == 1:
        return ()
    named = " and ".join(printable(suite, _NAME) for suite in suites)
    return (f"note: the reports are of two eval files, {named}",)


def told_cases(comparison: Comparison) -> Iterator[Told]:
    """Yield the cases in words, those that broke first."""
    order = list(TITLES)
    for case in sorted(comparison.cases, key=lambda case: min(order.index(kind) for kind in _kinds(case))):
        checks = sorted(case.checks, key=lambda check: order.index(check.kind))
        yield Told(case.kind, _case(case), tuple((check.kind, _check(check)) for check in checks), _calls(case))


def _kinds(case: CaseChange) -> list[Kind]:
    return [case.kind, *(check.kind for check in case.checks)]


def _case(case: CaseChange) -> Line:
    return Line(printable(case.name, _NAME), _rates(case, "passed"))


def _check(check: CheckChange) -> Line:
    why = (printable(check.why, 600),) if check.why and check.kind in ("newly_broken", "flaky") else ()
    return Line(printable(check.label, _NAME), _rates(check, "held"), why)


def _rates(change: CaseChange | CheckChange, word: str) -> str:
    told = f"{_rate(change.base)} → {_rate(change.new)} {word}"
    notes = [] if change.p_value is None else [f"p = {change.p_value:.3g}"]
    notes += [change.allowed] if change.allowed else []
    return f"{told} ({', '.join(notes)})" if notes else told


def _rate(rate: Rate | None) -> str:
    return "none" if rate is None or not rate.runs else str(rate)


def _calls(case: CaseChange) -> Line | None:
    if case.calls is None:
        return None
    words = {"missing": "no longer called", "added": "now called", "different": "changed", "order": ""}
    lines = [
        " ".join(part for part in (change.tool, words[change.kind], change.text) if part)
        for change in case.calls.changes
    ]
    more = [f"and {len(lines) - _MOST_CALLS} more"] if len(lines) > _MOST_CALLS else []
    text = f"run {case.calls.base_run} → run {case.calls.new_run}"
    return Line("calls", text, tuple(printable(line, 400) for line in [*lines[:_MOST_CALLS], *more]))
