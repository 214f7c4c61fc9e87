"""What the checks of a test came to, as it travels with the test's report: also out of processes of pytest-xdist."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Literal

import msgspec
from msgspec import Struct

from tracewitness.display import printable
from tracewitness.pytest_plugin import EVIDENCE, session_of
from tracewitness.reports.document import RunEntry
from tracewitness.verdict import Status, Verdict

if TYPE_CHECKING:
    import pytest

__all__ = [
    "BaselineNote",
    "BaselineState",
    "CheckNote",
    "Evidence",
    "Note",
    "check_notes",
    "evidence_of",
    "keep",
    "read_note",
]

BaselineState = Literal["held", "written", "updated", "broken"]


class CheckNote(Struct, frozen=True):
    """What one check came to.

    Attributes:
        operator, tools: what it asked, and of which tools.
        status: what it came to.
    """

    operator: str
    tools: tuple[str, ...]
    status: Status


class BaselineNote(Struct, frozen=True):
    """What became of one baseline.

    Attributes:
        file: the file that it is kept in.
        key: its name there.
        state: whether it held, was broken, or was written.
    """

    file: str
    key: str
    state: BaselineState


class Note(Struct, frozen=True, omit_defaults=True):
    """What was checked at one time.

    Attributes:
        test: the test's node id.
        contract: what was checked, by a text that is its own: tests of single checks of a run share it.
        checks: what each check came to.
        run: the run for the reports, where some are asked for.
        baseline: of a baseline, what became of it.
        missing: the name of a case that could not be checked, since it has no run.
    """

    test: str
    contract: str
    checks: tuple[CheckNote, ...] = ()
    run: RunEntry | None = None
    baseline: BaselineNote | None = None
    missing: str = ""


def check_notes(verdicts: Iterable[Verdict]) -> tuple[CheckNote, ...]:
    """Return notes of what checks came to."""
    return tuple(CheckNote(verdict.operator, _tools(verdict), verdict.status) for verdict in verdicts)


def _tools(verdict: Verdict) -> tuple[str, ...]:
    return tuple(printable(tool, 60) for tool in getattr(verdict.check, "named_tools", ()))


class Evidence:
    """What a test put on record, until the reports of its phases take it along.

    Attributes:
        notes: `Note` as JSON.
        sections: what a report of a failure shows beside it: titles, and functions that make the lines.
        witnessed: how often something was checked in the test, however often it is repeated.
    """

    def __init__(self) -> None:
        self.witnessed = 0
        self.notes: list[str] = []
        self.sections: list[tuple[str, Callable[[], Iterable[str]]]] = []

    def hand_over(self, report: Any) -> None:
        """Put what was noted to a report. It is texts, which every way of sending reports can send."""
        if self.notes:
            report.tracewitness, self.notes = self.notes, []
        if report.failed:
            report.sections.extend((title, "\n".join(lines())) for title, lines in self.sections)
        if report.failed or report.when != "setup":
            self.sections.clear()


def evidence_of(item: pytest.Item) -> Evidence:
    """Return where a test puts on record what it saw."""
    return item.stash.setdefault(EVIDENCE, Evidence())


def keep(item: pytest.Item, note: Note) -> None:
    """Keep a note until the report of the test's phase takes it along."""
    session_of(item.config)
    evidence_of(item).notes.append(msgspec.json.encode(note).decode())


def read_note(text: str) -> Note:
    """Return a note that came with a report."""
    return msgspec.json.decode(text, type=Note)
