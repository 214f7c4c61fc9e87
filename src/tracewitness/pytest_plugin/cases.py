"""What the tests of eval files check: the runs of a case, and the runs that no case has."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from tracewitness.display import printable, show
from tracewitness.errors import UsageError
from tracewitness.evals import RunReport, SuiteCheck
from tracewitness.fluent.verdicts import on_calls_alone
from tracewitness.pytest_plugin import session_of
from tracewitness.pytest_plugin.notes import Note, check_notes, keep
from tracewitness.pytest_plugin.runs import ask_agent, has_recorded_runs
from tracewitness.readers import Run
from tracewitness.suites import Case, Suite

__all__ = ["CaseRuns", "Checked", "OtherRuns"]

#: Hides the frames of this module in a traceback.
__tracebackhide__ = True

_WHAT_TO_SET = (
    "set tracewitness_results (or --witness-results) to recorded runs, or give a fixture witness_agent in conftest.py: "
    "a function, sync or async, that takes the case and returns what the agent did"
)


class Checked:
    """The runs of a test, checked.

    Arguments:
        suite: the eval file.
        case: the case's name; None for runs that no case has.
        reports: what came of each run.
    """

    def __init__(self, suite: Suite, case: str | None, reports: Sequence[RunReport]) -> None:
        self.suite = suite
        self.case = case
        self.reports = reports

    def held(self, number: int | None) -> bool:
        """Whether all runs held, or in all runs the check of a number."""
        if number is None:
            return all(report.status == "held" for report in self.reports)
        return all(not report.error and report.verdicts[number].held for report in self.reports)

    def note(self, item: pytest.Item, number: int | None) -> None:
        """Put on record what the checks came to, for the end of the session and for JUnit."""
        entry_of = session_of(item.config).entry_of
        for report in self.reports:
            verdicts = report.verdicts if number is None or report.error else report.verdicts[number : number + 1]
            contract = f"{self.suite.source}\n{report.case}\n{report.source}\n{report.number}\n{report.place}"
            run = entry_of(report, self.suite.source)
            keep(item, Note(printable(item.nodeid, 1000), printable(contract, 1000), check_notes(verdicts), run))
        item.user_properties.extend(self._properties(number))

    def _properties(self, number: int | None) -> Iterable[tuple[str, str]]:
        if self.case is not None:
            yield "witness_case", printable(self.case)
        yield "witness_status", "held" if self.held(number) else self._worst()
        yield "witness_runs", str(len(self.reports))
        told = [
            verdict.operator
            for report in self.reports
            for position, verdict in enumerate(report.verdicts)
            if (not verdict.held if number is None else position == number)
        ]
        if told:
            yield "witness_operator", ", ".join(dict.fromkeys(told))

    def _worst(self) -> str:
        statuses = {report.status for report in self.reports}
        return next(status for status in ("unreadable", "broken", "inconclusive") if status in statuses)


class CaseRuns:
    """The runs of a case. They are checked once, however many tests look at single checks."""

    def __init__(self, suite: Suite, case: Case) -> None:
        self.suite = suite
        self.case = case
        self._checked: Checked | None = None

    def check(self, request: pytest.FixtureRequest) -> Checked:
        """Return what came of the case's runs.

        Raises:
            UsageError: there are none, or nothing that could give some.
            ReadError: they can't be read.
        """
        if self._checked is None:
            reports = self._recorded(request) if has_recorded_runs(request.config) else [self._played(request)]
            self._checked = Checked(self.suite, self.case.name, reports)
        return self._checked

    def note_missing(self, item: pytest.Item) -> None:
        """Put on record that the case could not be checked."""
        item.user_properties.extend([("witness_case", printable(self.case.name)), ("witness_status", "missing")])
        keep(item, Note(printable(item.nodeid, 1000), "", missing=printable(self.case.name)))

    def _recorded(self, request: pytest.FixtureRequest) -> list[RunReport]:
        runs = session_of(request.config).recorded
        found = runs.of(self.case.name)
        if not found:
            raise UsageError(f"no run of the case {show(self.case.name)} was found in {runs.shown}")
        return list(SuiteCheck(self.suite, case=self.case.name).reports(found))

    def _played(self, request: pytest.FixtureRequest) -> RunReport:
        seen = ask_agent(_agent(request), self.case)
        run = Run("witness_agent", 1, "", self.case.name, seen.trace)
        (report,) = SuiteCheck(self.suite, case=self.case.name).reports([run])
        if seen.calls_only:
            report = replace(report, verdicts=tuple(on_calls_alone(report.verdicts, seen.trace)))
        return report


def _agent(request: pytest.FixtureRequest) -> Any:
    """Return what the fixture of the project's conftest gives.

    Raises:
        UsageError: there is no such fixture.
    """
    try:
        return request.getfixturevalue("witness_agent")
    except pytest.FixtureLookupError as error:
        if error.argname != "witness_agent":
            raise
        raise UsageError(f"there are no runs to check: {_WHAT_TO_SET}") from None


class OtherRuns:
    """The recorded runs that no case has: they have to be readable, and the checks common to all runs hold on them."""

    def __init__(self, suite: Suite) -> None:
        self.suite = suite

    def check(self, request: pytest.FixtureRequest) -> Checked:
        """Return what came of these runs. There may be none.

        Raises:
            UsageError, ReadError: as of `CaseRuns`.
        """
        if not has_recorded_runs(request.config):
            raise UsageError(f"there are no runs to check: {_WHAT_TO_SET}")
        session = session_of(request.config)
        runs = session.recorded.beyond(session.case_names)
        return Checked(self.suite, None, list(SuiteCheck(self.suite, allow_missing=True).reports(runs)))

    def note_missing(self, item: pytest.Item) -> None:
        """Put on record that the runs could not be checked."""
        item.user_properties.append(("witness_status", "missing"))
