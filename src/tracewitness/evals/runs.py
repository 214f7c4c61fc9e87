"""Check recorded runs against a suite, one after the other, and count what came of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, Final, Literal

from msgspec import Struct

from tracewitness.display import nearest_name, show
from tracewitness.errors import UsageError
from tracewitness.expectations import CheckSet, compile_checks
from tracewitness.readers import Run
from tracewitness.suites import Case, Place, Suite
from tracewitness.trace import Trace
from tracewitness.verdict import Status, Verdict

__all__ = ["OUTCOMES", "CaseCount", "RunOutcome", "RunReport", "RunStatus", "SuiteCheck", "Summary", "status_of"]

RunStatus = Literal["held", "broken", "inconclusive", "unreadable"]
RunOutcome = Literal["passed", "failed", "inconclusive", "infrastructure", "not_run", "unreadable"]

#: What became of a run of which nothing is known but its checks.
OUTCOMES: Final[dict[RunStatus, RunOutcome]] = {
    "held": "passed",
    "broken": "failed",
    "inconclusive": "inconclusive",
    "unreadable": "unreadable",
}


def status_of(statuses: Iterable[Status]) -> RunStatus:
    """Return what the statuses of a run's checks come to: inconclusive only where nothing is broken."""
    found = set(statuses)
    return "broken" if found & {"broken", "error"} else "inconclusive" if "inconclusive" in found else "held"


class RunReport(Struct, frozen=True):
    """What came of one run.

    Attributes:
        source, number, place: where it was recorded, as of `Run`.
        name: its own name.
        case: the name of the case that it was checked against; None where no case has its name. Then only what is
            common to all was checked.
        verdicts: one for each check; none where the run could not be read.
        places: for each verdict where its check stands in the eval file, or None for a check that was added.
        error: why the run could not be read, or an empty text.
        run: which run of its case it is, or of its name where it has no case, from 1.
        tags: those of its case.
        trace: what was checked; None where the run could not be read.
        data: the row that it was read from, where it is plain data.
    """

    source: str
    number: int
    place: str
    name: str
    case: str | None
    verdicts: tuple[Verdict, ...] = ()
    places: tuple[Place | None, ...] = ()
    error: str = ""
    run: int = 1
    tags: tuple[str, ...] = ()
    trace: Trace | None = None
    data: Any = None

    @property
    def status(self) -> RunStatus:
        """Held where all checks held; inconclusive where none is broken, and some can't be told."""
        if self.error:
            return "unreadable"
        return status_of(verdict.status for verdict in self.verdicts)

    @property
    def outcome(self) -> RunOutcome:
        """What became of the whole run; where nothing but checks decide, what came of these."""
        return OUTCOMES[self.status]


class CaseCount(Struct):
    """How the runs of one case went."""

    name: str
    runs: int = 0
    held: int = 0


class Summary(Struct):
    """What came of all runs.

    Attributes:
        cases: the counts of each selected case.
        held, broken, inconclusive, unreadable: how many runs went so.
        without_case: the names of runs that no case has, each once.
        not_selected: how many runs a filter left out.
        missing: the cases without a run, where that is not allowed; a run that can't be read is one.
    """

    cases: list[CaseCount]
    held: int = 0
    broken: int = 0
    inconclusive: int = 0
    unreadable: int = 0
    without_case: list[str] = []
    not_selected: int = 0
    missing: list[str] = []

    @property
    def checked_nothing(self) -> bool:
        """Whether there are cases, and no run of any of them; that must not look like success."""
        return bool(self.cases) and not any(case.runs for case in self.cases)

    @property
    def exit_status(self) -> int:
        """0: all held. 1: something is broken. 2: something can't be read, or nothing was checked. 3: inconclusive."""
        if self.unreadable or (self.checked_nothing and not self.broken and not self.missing):
            return 2
        return 1 if self.broken or self.missing else 3 if self.inconclusive else 0

    def to_dict(self) -> dict[str, Any]:
        """Return the summary as plain data that JSON can hold."""
        counts = [{"name": case.name, "runs": case.runs, "held": case.held} for case in self.cases]
        return {
            "exit_status": self.exit_status,
            "held": self.held,
            "broken": self.broken,
            "inconclusive": self.inconclusive,
            "unreadable": self.unreadable,
            "cases": counts,
            "missing": self.missing,
            "without_case": self.without_case,
            "not_selected": self.not_selected,
        }


class _Checks:
    """The checks of a case, compiled when its first run comes."""

    def __init__(self, case: Case | None, suite: Suite) -> None:
        operators = suite.common_tool_expectations if case is None else case.tool_expectations
        places = suite.common_places if case is None else case.places
        self._checks: CheckSet = compile_checks(operators, suite.aliases)
        self.places: tuple[Place | None, ...] = (
            *places,
            *(None,) * (len(self._checks.operators) - len(places)),
        )

    def check(self, run: Run) -> tuple[Verdict, ...]:
        assert run.trace is not None  # noqa: S101 - the caller has sorted out runs that can't be read
        return tuple(self._checks.check(run.trace))


class SuiteCheck:
    """Checks runs against a suite while they come; nothing of a run is kept but the counts.

    Arguments:
        suite: the eval file, whole; every run that a case has is known as such.
        names, tags: where given, only cases with one of these names, and one of these tags, are checked.
        case: where given, the name of the case that all runs are checked against.
        allow_missing: whether a case may have no run.

    Raises:
        UsageError: there is no such case, name or tag.
    """

    def __init__(
        self,
        suite: Suite,
        *,
        names: Iterable[str] = (),
        tags: Iterable[str] = (),
        case: str | None = None,
        allow_missing: bool = False,
    ) -> None:
        self._suite = suite
        self._cases = {each.name: each for each in suite.cases}
        self._forced = None if case is None else self._known(case)
        names, tags = tuple(names), tuple(tags)
        self._filtered = bool(names or tags)
        selected = suite.select(names, tags).cases if self._forced is None else (self._forced,)
        self._allow_missing = allow_missing
        self._counts = {each.name: CaseCount(each.name) for each in selected}
        self._compiled: dict[str | None, _Checks] = {}
        self._unmatched: dict[str, None] = {}
        self._unread: set[str] = set()
        self._numbers: Counter[str] = Counter()
        self.summary = Summary(list(self._counts.values()))

    def _known(self, name: str) -> Case:
        if name not in self._cases:
            near = nearest_name(name, self._cases)
            meant = f"{near} was meant" if near else f"there are {', '.join(self._cases) or 'none'}"
            raise UsageError(f"{self._suite.source} has no case {show(name)}; {meant}")
        return self._cases[name]

    def reports(self, runs: Iterable[Run]) -> Iterator[RunReport]:
        """Yield what came of each run, and count it in `summary`, which is complete at the end."""
        for run in runs:
            report = self._report(run)
            if report is None:
                self.summary.not_selected += 1
            else:
                self._count(report)
                yield report
        self.summary.without_case = list(self._unmatched)
        if not self._allow_missing:
            self.summary.missing = [
                count.name for count in self._counts.values() if not count.runs and count.name not in self._unread
            ]

    def _report(self, run: Run) -> RunReport | None:
        """Check one run; None where a filter leaves it out."""
        if run.error is not None:
            return self._unreadable(run, run.error.problem)
        case = self._forced or self._cases.get(run.name)
        if self._filtered and self._forced is None and (case is None or case.name not in self._counts):
            return None
        key = None if case is None else case.name
        checks = self._compiled.get(key)
        if checks is None:
            checks = self._compiled[key] = _Checks(case, self._suite)
        return self._checked(run, case, checks)

    def _checked(self, run: Run, case: Case | None, checks: _Checks) -> RunReport:
        return RunReport(
            run.source,
            run.number,
            run.place,
            run.name,
            None if case is None else case.name,
            checks.check(run),
            checks.places,
            run=self._next_number(run.name if case is None else case.name),
            tags=() if case is None else case.tags,
            trace=run.trace,
            data=run.data,
        )

    def _unreadable(self, run: Run, problem: str) -> RunReport:
        number = self._next_number(self._name_of_unread(run.name))
        return RunReport(run.source, run.number, run.place, run.name, None, error=problem, run=number, data=run.data)

    def _name_of_unread(self, name: str) -> str:
        """Return the case that a run which can't be read would be checked against, as far as its name tells."""
        return name if self._forced is None else self._forced.name

    def _next_number(self, name: str) -> int:
        self._numbers[name] += 1
        return self._numbers[name]

    def _count(self, report: RunReport) -> None:
        summary, status = self.summary, report.status
        setattr(summary, status, getattr(summary, status) + 1)
        if report.case is not None:
            count = self._counts[report.case]
            count.runs += 1
            count.held += status == "held"
        elif status == "unreadable":
            self._unread.add(self._name_of_unread(report.name))
        else:
            self._unmatched[report.name] = None
