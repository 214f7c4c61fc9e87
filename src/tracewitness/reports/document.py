"""The report document, version 2: what every format is written from, what ``--json`` writes and what is read again.

A field that is `UNSET` is left out of the JSON; all others are always there.
"""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from tracewitness.evals import RunOutcome, RunStatus
from tracewitness.verdict import Status

__all__ = [
    "REPORT_VERSION",
    "SCHEMA_ID",
    "CaseEntry",
    "Command",
    "DifferenceEntry",
    "Head",
    "JudgedEntry",
    "NearMissEntry",
    "ProblemEntry",
    "ReportDocument",
    "RunEntry",
    "StepEntry",
    "SummaryEntry",
    "VerdictEntry",
    "report_schema",
]

#: The version of the document. It grows when a reader of the old form could be misled by the new one.
REPORT_VERSION: Final = 2
#: The name of the schema; it is no address.
SCHEMA_ID: Final = f"urn:tracewitness:report:{REPORT_VERSION}"

Command = Literal["check", "simulate", "pytest", "report"]

_Position = Annotated[int, Meta(ge=0, description="The position of an event among the run's events, from 0.")]
_Count = Annotated[int, Meta(ge=0)]


class DifferenceEntry(Struct, frozen=True):
    """One place where a value is not as expected. What is not there is left out."""

    path: Annotated[str, Meta(description="Where, such as args.items[0].id.")]
    reason: Annotated[str, Meta(description="Why the two differ, where that says more than the values do.")]
    text: Annotated[str, Meta(description="The difference in one line.")]
    expected: Annotated[Any, Meta(description="What was expected: plain JSON, or a matcher in file notation.")] = UNSET
    actual: Annotated[Any, Meta(description="What came.")] = UNSET

    def __str__(self) -> str:
        return self.text


class NearMissEntry(Struct, frozen=True):
    """The event that came nearest to what a broken check asked for."""

    position: _Position
    tool: str
    differences: tuple[DifferenceEntry, ...]


class VerdictEntry(Struct, frozen=True):
    """What one check found on the run."""

    operator: Annotated[str, Meta(description="The operator's name in an eval file, such as tool_called.")]
    label: Annotated[str, Meta(description="The check in a few words.")]
    status: Status
    evidence: Annotated[tuple[_Position, ...], Meta(description="The positions of the events that prove it.")]
    justification: str
    reason: Annotated[str, Meta(description="What the check's author wants to be shown when it fails.")]
    tools: Annotated[tuple[str, ...], Meta(description="The tools that the check names.")]
    near_miss: NearMissEntry | None
    file: Annotated[str | None, Meta(description="The eval file that the check stands in.")]
    line: Annotated[Annotated[int, Meta(ge=1)] | None, Meta(description="The check's line there, from 1.")]
    column: Annotated[Annotated[int, Meta(ge=1)] | None, Meta(description="Its column, from 1.")]

    @property
    def held(self) -> bool:
        """Whether the check held."""
        return self.status == "held"


class StepEntry(Struct, frozen=True):
    """How far the user of a simulation got with a goal."""

    goal: str
    success_criteria: str
    status: Annotated[str, Meta(description="Completed, or what it is instead.")]
    justification: str

    @property
    def reached(self) -> bool:
        """Whether the goal was reached."""
        return self.status == "Completed"


class JudgedEntry(Struct, frozen=True):
    """What a judge decided."""

    expectation: str
    status: Annotated[str, Meta(description="Met, Not Met, or what a verdict is that could not be had.")]
    justification: str
    title: str | UnsetType = UNSET
    votes: Annotated[Any, Meta(description="How the judge voted, where it was asked several times.")] = UNSET

    @property
    def met(self) -> bool:
        """Whether the judge is content."""
        return self.status == "Met"


class ProblemEntry(Struct, frozen=True):
    """Something in the recording that could not be made sense of."""

    reason: str
    position: int | None
    place: str
    hides_call: Annotated[bool, Meta(description="Whether a tool call may be hidden by it.")]
    cut: Annotated[bool, Meta(description="Whether the recording breaks off here, before the run's end.")] = False


class RunEntry(Struct, frozen=True):
    """One run."""

    source: Annotated[str, Meta(description="What it was read from, or the agent that it was played with.")]
    number: Annotated[int, Meta(ge=0, description="Its number in the source, from 1; 0 for a whole file.")]
    place: Annotated[str, Meta(description="Where in the source.")]
    name: str
    case: Annotated[str | None, Meta(description="The case that it was checked against, if any.")]
    run: Annotated[int, Meta(ge=1, description="Which run of its case it is, from 1.")]
    tags: Annotated[tuple[str, ...], Meta(description="The tags of its case.")]
    status: Annotated[RunStatus, Meta(description="What came of the tool checks.")]
    outcome: Annotated[RunOutcome, Meta(description="What became of the whole run.")]
    error: Annotated[str, Meta(description="What ended it, or why it could not be read; else empty.")]
    verdicts: tuple[VerdictEntry, ...]
    steps: tuple[StepEntry, ...]
    judged: tuple[JudgedEntry, ...]
    events: Annotated[
        list[Any] | None,
        Meta(description="What happened, as events of neutral JSON; null where it is not known."),
    ]
    problems: tuple[ProblemEntry, ...]
    error_kind: Annotated[str | UnsetType, Meta(description="Whether the agent failed or what is around it.")] = UNSET
    traceback: str | UnsetType = UNSET
    turns: _Count | UnsetType = UNSET
    duration_s: Annotated[float, Meta(ge=0)] | UnsetType = UNSET
    session_id: str | UnsetType = UNSET
    usage: Annotated[Any, Meta(description="What models were used for.")] = UNSET

    @property
    def group(self) -> str:
        """The case that it counts for: its own, or else its name."""
        return self.name if self.case is None else self.case

    @property
    def where(self) -> str:
        """What it was read from, and where in it."""
        return f"{self.source}, {self.place}" if self.place else self.source


class CaseEntry(Struct):
    """How the runs of one case went."""

    name: str
    runs: _Count = 0
    passed: _Count = 0
    failed: _Count = 0
    inconclusive: _Count = 0
    infrastructure: _Count = 0
    not_run: _Count = 0
    unreadable: _Count = 0
    held: Annotated[int, Meta(ge=0, description="How often all tool checks held.")] = 0
    broken: _Count = 0

    def add(self, run: RunEntry) -> None:
        """Count a run."""
        self.runs += 1
        setattr(self, run.outcome, getattr(self, run.outcome) + 1)
        if run.status in ("held", "broken"):  # other statuses are outcomes, too
            setattr(self, run.status, getattr(self, run.status) + 1)


class SummaryEntry(Struct, frozen=True):
    """The counts."""

    exit_status: int
    runs: _Count
    passed: _Count
    failed: _Count
    inconclusive: _Count
    infrastructure: _Count
    not_run: _Count
    unreadable: _Count
    held: _Count
    broken: _Count
    checks: _Count
    checks_held: _Count
    cases: tuple[CaseEntry, ...]
    missing: Annotated[tuple[str, ...], Meta(description="The cases that no run was found of.")] = ()
    without_case: Annotated[tuple[str, ...], Meta(description="The names of runs that no case has.")] = ()
    not_selected: _Count = 0
    unfinished: _Count | UnsetType = UNSET
    usage: Annotated[Any, Meta(description="What models were used for.")] = UNSET


class Head(Struct, frozen=True):
    """What stands before the runs."""

    version: Literal[2]
    tracewitness: Annotated[str, Meta(description="The version of the library that wrote it.")]
    suite: Annotated[str, Meta(description="The eval file, or an empty text.")]
    command: Command
    created_at: Annotated[str, Meta(description="When: ISO 8601, UTC.")]


class ReportDocument(Head, frozen=True):
    """A whole report."""

    runs: tuple[RunEntry, ...]
    summary: SummaryEntry
    notices: tuple[str, ...]

    @property
    def head(self) -> Head:
        """What stands before the runs."""
        return Head(self.version, self.tracewitness, self.suite, self.command, self.created_at)


def report_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of a report document; the caller may change it.

    Example::

        json.dumps(report_schema(), indent=2)
    """
    (found,), components = msgspec.json.schema_components([ReportDocument], ref_template="#/$defs/{name}")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": SCHEMA_ID,
        "title": "Report of tracewitness",
        "description": "What came of runs: checks, judged expectations, and what happened.",
        **found,
        "$defs": components,
    }
