"""A test that runs several times and fails by a rule: ``@pytest.mark.witness(runs=10, at_least=9)``.

To pytest it is one test with one outcome. Each run has fixtures of its own, those of a wider scope but for the test's
end are kept, and runs end as soon as the outcome is decided.
"""

from __future__ import annotations

import copy
import inspect
import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any, Literal, NamedTuple

import pytest
from _pytest.runner import call_and_report
from msgspec import Struct

from tracewitness.display import nearest_name, plural, printable, show
from tracewitness.errors import UsageError
from tracewitness.fluent.rates import Rate, check_number
from tracewitness.pytest_plugin.repeated_failures import Failure, common_lines, with_summary

__all__ = ["Rule", "check_markers", "rule_of", "run_repeatedly"]

#: What came of a run: it held or failed, a skip or an error of a fixture ended it, or it made no call.
_Kind = Literal["held", "failed", "skipped", "error", "uncalled"]

_STRICT_XPASS = "[XPASS(strict)]"


class Rule(Struct, frozen=True):
    """How often a test runs, and how many of these runs have to hold."""

    runs: int
    at_least: int


def rule_of(marker: pytest.Mark) -> Rule:
    """Read the marker.

    ``at_least`` is a number of runs, or as a fraction with a point the share of them that has to hold; left out, all of
    them have to.

    Raises:
        UsageError: something else stands in it.

    >>> rule_of(pytest.mark.witness(runs=10, at_least=0.85).mark)
    Rule(runs=10, at_least=9)
    """
    known = ("runs", "at_least")
    if marker.args:
        raise UsageError(f"runs=… and at_least=… are given by name, not {show(marker.args[0])} alone")
    for name in marker.kwargs:
        if name not in known:
            near = nearest_name(name, known)
            raise UsageError(
                f"there is no {show(name, 40)}; {f'{near} was meant' if near else 'it has runs and at_least'}"
            )
    if "runs" not in marker.kwargs:
        raise UsageError("runs=… is missing: how often the test is run")
    runs = marker.kwargs["runs"]
    check_number("runs", runs, 1, math.inf)
    at_least = marker.kwargs.get("at_least", runs)
    if isinstance(at_least, float):
        return Rule(runs, _runs_of_share(at_least, runs))
    check_number("at_least", at_least, 1, runs)
    return Rule(runs, at_least)


def _runs_of_share(share: float, runs: int) -> int:
    """Return how many runs are a share of all, exactly as it is written in decimals."""
    if not 0 < share <= 1:
        raise UsageError(f"at_least is a number of runs, or a share above 0.0 and up to 1.0, not {show(share)}")
    return math.ceil(Fraction(repr(share)) * runs)


def check_markers(items: Iterable[pytest.Item], report: pytest.CollectReport) -> None:
    """Let the collection of what has a marker that can't be read fail.

    Arguments:
        items: those of what was collected that have one.
        report: that of the collection.
    """
    problems = [problem for item in items if (problem := _problem_of(item))]
    if problems:
        report.outcome, report.result, report.longrepr = "failed", [], "\n".join(problems)


def _problem_of(item: pytest.Item) -> str:
    """Return what is wrong with a test's marker, or an empty text."""
    try:
        _rule_of_item(item)
    except UsageError as error:
        return str(error)
    return ""


def _rule_of_item(item: pytest.Item) -> Rule:
    """Return the rule by which a test runs.

    Raises:
        UsageError: its marker can't be read, or it can't be run so.
    """
    try:
        if "subtests" in getattr(item, "fixturenames", ()):
            raise UsageError("subtests are reported one by one, whatever all runs come to; use parameters instead")
        return rule_of(next(item.iter_markers("witness")))
    except UsageError as error:
        raise UsageError(f"{item.nodeid}: @pytest.mark.witness: {error}") from error


class _Run(NamedTuple):
    """What came of one run.

    Attributes:
        kind: as of `_Kind`; an expected failure is a failure.
        reports: of its phases, by their names.
    """

    kind: _Kind
    reports: dict[str, pytest.TestReport]


def run_repeatedly(item: pytest.Item, nextitem: pytest.Item | None) -> bool:
    """Run a test by its marker, in the place of pytest's own protocol, and report it as one test."""
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    try:
        rule = _rule_of_item(item)
    except UsageError as error:  # the marker was added after the collection
        reports = [_refusal(item, error)]
    else:
        reports = _reports(_run_all(item, nextitem, rule), rule, str(item.config.rootpath))
    for report in reports:
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


def _refusal(item: pytest.Item, error: UsageError) -> pytest.TestReport:
    """Return the report of a test that can't be run."""

    def refuse() -> None:
        pytest.fail(str(error), pytrace=False)

    call = pytest.CallInfo.from_call(refuse, "setup")
    report: pytest.TestReport = item.ihook.pytest_runtest_makereport(item=item, call=call)
    return report


def _run_all(item: pytest.Item, nextitem: pytest.Item | None, rule: Rule) -> list[_Run]:
    properties = list(item.user_properties)
    function = getattr(item, "_obj", None)
    runs: list[_Run] = []
    while not runs or not _is_decided(runs, rule):
        item.user_properties[:] = properties
        _renew(item, function)
        runs.append(_run(item, nextitem, runs, rule))
        if item.session.shouldstop or item.session.shouldfail:
            break
    return runs


def _is_decided(runs: Sequence[_Run], rule: Rule) -> bool:
    """Whether no further run can change the outcome."""
    if runs[-1].kind not in ("held", "failed"):
        return True
    held = _held(runs)
    return held >= rule.at_least or held + rule.runs - len(runs) < rule.at_least


def _held(runs: Sequence[_Run]) -> int:
    return sum(run.kind == "held" for run in runs)


# ---------------------------------------------------------------------------------------------------------- one run


def _renew(item: Any, function: object) -> None:
    """Make a test be run again as if it never was: with fixtures, an object of its class and captured texts anew.

    Arguments:
        function: what was to be run before the first run; other plugins put something else in its place.
    """
    if getattr(item, "_request", True) is False:
        item._initrequest()
    item._report_sections = []
    if function is None:
        return
    item._obj = function
    parent = getattr(item, "cls", None)
    if parent is not None and inspect.ismethod(function) and type(function.__self__) is parent:
        item._obj = None
        vars(item).pop("_instance", None)


def _run(item: Any, nextitem: pytest.Item | None, before: Sequence[_Run], rule: Rule) -> _Run:
    """Run a test once. What lives longer than the test is torn down where no further run comes."""
    has_request = hasattr(item, "_request")
    reports: dict[str, pytest.TestReport] = {}
    try:
        reports["setup"] = call_and_report(item, "setup", log=False)
        if reports["setup"].passed:
            _show_setup(item)
            if not item.config.getoption("setuponly", False):
                reports["call"] = call_and_report(item, "call", log=False)
        run = _Run(_kind(reports), reports)
        if item.session.shouldstop or item.session.shouldfail:
            following = None
        elif _is_decided([*before, run], rule):
            following = nextitem
        else:
            following = copy.copy(item)  # another test at the same place: what belongs to this one alone is torn down
        reports["teardown"] = call_and_report(item, "teardown", log=False, nextitem=following)
        if reports["teardown"].failed and following is not nextitem:
            call_and_report(item, "teardown", log=False, nextitem=nextitem)  # no further run comes after all
    finally:
        if has_request:
            item._request = False
            item.funcargs = None
    return _Run("error" if reports["teardown"].failed else run.kind, reports)


def _show_setup(item: pytest.Item) -> None:
    """Name the test among its fixtures, where these are shown."""
    if item.config.getoption("setupshow", False):
        writer = item.config.get_terminal_writer()
        writer.line()
        writer.write(f"        {item.nodeid}", flush=True)


def _kind(reports: dict[str, pytest.TestReport]) -> _Kind:
    setup, call = reports["setup"], reports.get("call")
    if setup.failed:
        return "error"
    if setup.skipped:
        return "skipped"
    if call is None:
        return "uncalled"
    if _is_strict_xpass(call):
        return "held"
    if call.skipped:
        return "failed" if hasattr(call, "wasxfail") else "skipped"
    return "held" if call.passed else "failed"


def _is_strict_xpass(report: pytest.TestReport) -> bool:
    """Whether a test held that was not to."""
    return report.failed and isinstance(report.longrepr, str) and report.longrepr.startswith(_STRICT_XPASS)


# ---------------------------------------------------------------------------------------------------------- all runs


def _reports(runs: Sequence[_Run], rule: Rule, root: str) -> list[pytest.TestReport]:
    """Return the reports of the whole: those of the run that it comes out as, with what came of all."""
    shown = _shown(runs, rule)
    reports = {when: copy.copy(report) for when, report in shown.reports.items()}
    reports["teardown"] = copy.copy(runs[-1].reports["teardown"])
    counted = [run for run in runs if run.kind in ("held", "failed")]
    properties = [("witness_runs", len(counted)), ("witness_held", _held(counted))]
    own = list(shown.reports.get("call", shown.reports["setup"]).user_properties)
    for when, report in reports.items():
        report.user_properties = [*own, *properties]
        _add_up(report, [run.reports[when] for run in runs if when in run.reports])
    _explain(reports, runs, rule, root)
    return list(reports.values())


def _shown(runs: Sequence[_Run], rule: Rule) -> _Run:
    """Return the run whose reports stand for all.

    Where enough held it is one that held, so that an expected failure that did not come is said; where not, the first
    failure that was not expected, or the first of all.
    """
    if runs[-1].kind not in ("held", "failed") and not _is_left_open(runs):
        return runs[-1]
    if _held(runs) >= rule.at_least:
        return runs[-1]
    failed = [run for run in runs if run.kind == "failed"]
    if not failed:  # the session was stopped before it was decided
        return runs[-1]
    return next((run for run in failed if _is_unexpected(run)), failed[0])


def _is_left_open(runs: Sequence[_Run]) -> bool:
    """Whether a run was skipped after one had failed: nobody knows what came of the rest, and that is no success."""
    return runs[-1].kind == "skipped" and any(run.kind == "failed" and _is_unexpected(run) for run in runs)


def _is_unexpected(failed: _Run) -> bool:
    return not hasattr(failed.reports["call"], "wasxfail")


def _add_up(report: Any, all_reports: Sequence[Any]) -> None:
    """Give a report the times of all runs, and what the plugin noted in them."""
    report.duration = sum(each.duration for each in all_reports)
    if hasattr(report, "start"):
        report.start, report.stop = all_reports[0].start, all_reports[-1].stop
    notes = [note for each in all_reports for note in getattr(each, "tracewitness", ())]
    if notes:
        report.tracewitness = notes


def _explain(reports: dict[str, Any], runs: Sequence[_Run], rule: Rule, root: str) -> None:
    """Say in the reports what came of the runs."""
    counted = [run for run in runs if run.kind in ("held", "failed")]
    if runs[-1].kind in ("skipped", "error") and not _is_left_open(runs):
        _explain_end(reports, len(runs), rule, counted)
        return
    if not counted:
        return
    call, rate = reports["call"], Rate(_held(counted), len(counted))
    failures = [Failure.of(run.reports["call"], root) for run in counted if run.kind == "failed"]
    enough = rate.held >= rule.at_least
    if enough and failures:
        call.tracewitness_repeats = f"{call.nodeid}: {rate}; {common_lines(failures)[0]}"
    elif not enough and not hasattr(call, "wasxfail"):
        demand = f"at least {rule.at_least} of {rule.runs} had to{_skip_of(runs)}"
        head = f"{rate.held} of {plural(rate.runs, 'run')} held, {demand}"
        first, *chances = rate.lines()
        with_summary(call, head, [f"{first}, {demand}", *chances, *common_lines(failures)])


def _skip_of(runs: Sequence[_Run]) -> str:
    """Say that the last run was skipped, if it was, and why."""
    if runs[-1].kind != "skipped":
        return ""
    report = runs[-1].reports.get("call", runs[-1].reports["setup"])
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    return f", and run {len(runs)} was skipped ({printable(reason.removeprefix('Skipped: '), 200)})"


def _explain_end(reports: dict[str, Any], number: int, rule: Rule, counted: Sequence[_Run]) -> None:
    """Say in which run a skip or an error ended it."""
    which = f"in run {number} of {rule.runs}"
    if counted:
        which += f", after {_held(counted)} of {plural(len(counted), 'run')} held"
    for report in reports.values():
        if report.skipped and isinstance(report.longrepr, tuple):
            path, line, reason = report.longrepr
            report.longrepr = (path, line, f"{reason} ({which})")
        elif report.failed:
            report.sections = [*report.sections, ("repeated runs", f"ended by this {which}")]
