"""The counts of a report, made while the runs come."""

from __future__ import annotations

from typing import Any, Final, get_args

from msgspec import UNSET, UnsetType

from tracewitness.evals import RunOutcome, Summary
from tracewitness.reports.document import CaseEntry, RunEntry, SummaryEntry

__all__ = ["Counts"]

_OUTCOMES: Final[tuple[str, ...]] = get_args(RunOutcome)


class Counts:
    """Counts runs and their checks, by case."""

    def __init__(self) -> None:
        self._cases: dict[str, CaseEntry] = {}
        self._checks = 0
        self._checks_held = 0

    def add(self, run: RunEntry) -> None:
        """Count a run."""
        self._cases.setdefault(run.group, CaseEntry(run.group)).add(run)
        self._checks += len(run.verdicts)
        self._checks_held += sum(verdict.held for verdict in run.verdicts)

    def summary(self, summary: Summary) -> SummaryEntry:
        """Return the counts, with what only the one who checked the runs knows."""
        told = summary.to_dict()
        return self.entry(
            summary.exit_status,
            missing=tuple(summary.missing),
            without_case=tuple(summary.without_case),
            not_selected=summary.not_selected,
            unfinished=told.get("unfinished", UNSET),
            usage=told.get("usage", UNSET),
        )

    def entry(
        self,
        exit_status: int,
        *,
        missing: tuple[str, ...] = (),
        without_case: tuple[str, ...] = (),
        not_selected: int = 0,
        unfinished: int | UnsetType = UNSET,
        usage: Any = UNSET,
    ) -> SummaryEntry:
        """Return the counts.

        Arguments: as of `SummaryEntry`, what can't be counted from runs.
        """
        cases = tuple(self._cases.values())
        fields = ("runs", *_OUTCOMES, "held", "broken")
        counts = {field: sum(getattr(case, field) for case in cases) for field in fields}
        return SummaryEntry(
            exit_status=exit_status,
            checks=self._checks,
            checks_held=self._checks_held,
            cases=cases,
            missing=missing,
            without_case=without_case,
            not_selected=not_selected,
            unfinished=unfinished,
            usage=usage,
            **counts,
        )
