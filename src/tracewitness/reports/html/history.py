"""Earlier reports beside the present one: pass rates over time, and which cases changed since the last."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec import Struct

from tracewitness.evals import RunOutcome
from tracewitness.reports.document import Head, RunEntry

__all__ = ["CaseResults", "Results", "changes", "results_of"]

_DECIDED: frozenset[RunOutcome] = frozenset({"passed", "failed", "unreadable"})


class CaseResults(Struct):
    """How the runs of one case went.

    Attributes:
        passed: how many passed.
        decided: how many passed, failed or could not be read; what infrastructure broke says nothing of the agent.
        broken: the labels of checks that some run broke.
    """

    passed: int = 0
    decided: int = 0
    broken: set[str] = set()


class Results:
    """How the runs of one report went, by case."""

    def __init__(self, head: Head) -> None:
        self._head = head
        self.outcomes: dict[RunOutcome, int] = {}
        self.cases: dict[str, CaseResults] = {}

    def add(self, run: RunEntry) -> None:
        """Count a run."""
        self.outcomes[run.outcome] = self.outcomes.get(run.outcome, 0) + 1
        case = self.cases.setdefault(run.group, CaseResults())
        case.passed += run.outcome == "passed"
        case.decided += run.outcome in _DECIDED
        case.broken.update(check.label for check in run.verdicts if not check.held)

    def to_dict(self) -> dict[str, Any]:
        """Return the counts of the whole report."""
        return {
            "created_at": self._head.created_at,
            "suite": self._head.suite,
            "passed": sum(case.passed for case in self.cases.values()),
            "decided": sum(case.decided for case in self.cases.values()),
            "runs": sum(self.outcomes.values()),
            "outcomes": self.outcomes,
        }


def changes(before: Results, now: Results) -> dict[str, Any]:
    """Say what changed from one report to the next, by case.

    Returns: under ``worse`` and ``better`` the cases whose share of passed runs fell or rose, with both counts and the
        checks that only one of the two broke; under ``new`` and ``vanished`` the names of the others; and how many are
        the ``same``.
    """
    found: dict[str, Any] = {"worse": [], "better": [], "new": [], "vanished": [], "same": 0}
    for name, case in now.cases.items():
        earlier = before.cases.get(name)
        if earlier is None:
            found["new"].append(name)
            continue
        # Compared crosswise, so that no fraction is rounded; a case in which nothing was decided is neither.
        rise = case.passed * earlier.decided - earlier.passed * case.decided
        if rise:
            found["better" if rise > 0 else "worse"].append(_change(name, earlier, case))
        else:
            found["same"] += 1
    found["vanished"] = [name for name in before.cases if name not in now.cases]
    return found


def _change(name: str, before: CaseResults, now: CaseResults) -> dict[str, Any]:
    return {
        "case": name,
        "before": [before.passed, before.decided],
        "now": [now.passed, now.decided],
        "newly_broken": sorted(now.broken - before.broken),
        "no_longer_broken": sorted(before.broken - now.broken),
    }


def results_of(head: Head, runs: Iterable[RunEntry]) -> Results:
    """Return how the runs of a document went."""
    results = Results(head)
    for run in runs:
        results.add(run)
    return results
