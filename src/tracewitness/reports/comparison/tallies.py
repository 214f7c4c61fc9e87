"""How often each check of a case held in the runs of a report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from msgspec import Struct, field

from tracewitness.reports.document import JudgedEntry, ReportDocument, RunEntry

from .model import Rate

__all__ = ["Tally", "tallies_of"]

#: What says nothing of the agent.
_UNDECIDED = ("inconclusive", "infrastructure", "not_run")


class Tally(Struct):
    """The runs of one case.

    Attributes:
        runs: all of them.
        passed, conclusive: how many passed, and how many say something of the agent. A run that can't be read does not
            pass.
        held: for each check, in how many of the runs that have it, it held.
        seen: in how many of them it was checked.
        lost: how many runs ended before they could be checked; in none of them a check holds.
        why: for each check, its justification in the first run in which it does not hold.
    """

    runs: list[RunEntry] = field(default_factory=list)
    passed: int = 0
    conclusive: int = 0
    held: Counter[str] = field(default_factory=Counter)
    seen: Counter[str] = field(default_factory=Counter)
    lost: int = 0
    why: dict[str, str] = field(default_factory=dict)

    @property
    def rate(self) -> Rate:
        """How many runs passed, of those that say something of the agent."""
        return Rate(self.passed, self.conclusive)

    def rate_of(self, check: str) -> Rate:
        """Return how often a check held."""
        return Rate(self.held[check], self.seen[check] + self.lost)

    def add(self, run: RunEntry) -> None:
        """Count a run."""
        self.runs.append(run)
        if run.outcome not in _UNDECIDED:
            self.conclusive += 1
            self.passed += run.outcome == "passed"
        checks = list(_checks(run))
        if not checks:
            self.lost += run.outcome not in (*_UNDECIDED, "passed")
        for label, holds, why in checks:
            self.seen[label] += 1
            self.held[label] += holds
            if not holds:
                self.why.setdefault(label, why)


def tallies_of(document: ReportDocument) -> dict[str, Tally]:
    """Return the tally of each case, in the order in which their first runs come."""
    tallies: dict[str, Tally] = {}
    for run in document.runs:
        tallies.setdefault(run.group, Tally()).add(run)
    return tallies


def _checks(run: RunEntry) -> Iterator[tuple[str, bool, str]]:
    """Yield the checks of a run, each with whether it holds and why; one that stands twice is numbered."""
    if run.outcome in ("infrastructure", "not_run"):
        return
    decided = (verdict for verdict in run.verdicts if verdict.status != "inconclusive")
    found = [(verdict.label, verdict.held, verdict.justification) for verdict in decided]
    found += [(f"goal: {step.goal}", step.reached, f"{step.status}: {step.justification}") for step in run.steps]
    found += list(_decided(run.judged))
    seen: Counter[str] = Counter()
    for label, holds, why in found:
        seen[label] += 1
        yield label if seen[label] == 1 else f"{label} #{seen[label]}", holds, why


def _decided(judged: Iterable[JudgedEntry]) -> Iterator[tuple[str, bool, str]]:
    for entry in judged:
        if entry.status in ("Met", "Not Met"):
            yield f"judged: {entry.title or entry.expectation}", entry.met, entry.justification
