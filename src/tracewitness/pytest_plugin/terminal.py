"""The section at the end: how many contracts and checks there were, what is broken, what became of baselines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Final, get_args

from tracewitness.display import plural, printable
from tracewitness.pytest_plugin.notes import Note
from tracewitness.verdict import Status

__all__ = ["section_lines", "write_section"]

_MOST_GROUPS: Final = 20
_MOST_TESTS: Final = 3
_MOST_BASELINES: Final = 20


def write_section(terminal: Any, notes: Sequence[Note], notices: Sequence[str]) -> None:
    """Write the section to pytest's terminal, where there is anything to say.

    Arguments:
        notices: further lines for the end.
    """
    lines = list(section_lines(notes, notices))
    if not lines:
        return
    terminal.section("tracewitness")
    for line in lines:
        terminal.write_line(line)


def section_lines(notes: Sequence[Note], notices: Sequence[str]) -> Iterator[str]:
    """Yield the lines of the section."""
    if any(note.checks for note in notes):
        yield _totals(notes)
        yield from _broken(notes)
    unreadable = len({note.contract for note in notes if note.contract and not note.checks})
    if unreadable:
        yield f"  {plural(unreadable, 'run')} could not be read"
    missing = dict.fromkeys(note.missing for note in notes if note.missing)
    if missing:
        yield f"  not checked, since there is no run: {', '.join(missing)}"
    yield from _baselines(notes)
    for notice in notices:
        yield printable(notice, 1000)


def _totals(notes: Sequence[Note]) -> str:
    contracts = len({note.contract for note in notes if note.checks})
    statuses = Counter(check.status for note in notes for check in note.checks)
    counts = [f"{count} {status}" for status in get_args(Status) if (count := statuses[status])]
    return f"{plural(contracts, 'contract')}, {plural(statuses.total(), 'check')}: {', '.join(counts)}"


def _broken(notes: Sequence[Note]) -> Iterator[str]:
    """Yield a line for each operator and tool of which checks are not held, the most frequent first."""
    tests: dict[str, list[str]] = {}
    for note in notes:
        for check in note.checks:
            if check.status != "held":
                what = " ".join((check.operator, ", ".join(check.tools))).rstrip()
                tests.setdefault(what, []).append(note.test)
    groups = sorted(tests.items(), key=lambda group: (-len(group[1]), group[0]))
    for what, named in groups[:_MOST_GROUPS]:
        different = list(dict.fromkeys(named))
        more = f" and {plural(len(different) - _MOST_TESTS, 'more test')}" if len(different) > _MOST_TESTS else ""
        yield f"  {what}: {len(named)} not held, in {', '.join(different[:_MOST_TESTS])}{more}"
    if len(groups) > _MOST_GROUPS:
        yield f"  … and {plural(len(groups) - _MOST_GROUPS, 'more operator')} and tools"


def _baselines(notes: Sequence[Note]) -> Iterator[str]:
    found = [note.baseline for note in notes if note.baseline is not None]
    if not found:
        return
    states = Counter(baseline.state for baseline in found)
    counts = [f"{count} {state}" for state in ("held", "broken", "written", "updated") if (count := states[state])]
    yield f"{plural(len(found), 'baseline')}: {', '.join(counts)}"
    changed = [baseline for baseline in found if baseline.state in ("written", "updated")]
    for baseline in changed[:_MOST_BASELINES]:
        yield f"  {baseline.state}: {baseline.key} in {baseline.file}"
    if len(changed) > _MOST_BASELINES:
        yield f"  … and {len(changed) - _MOST_BASELINES} more"
