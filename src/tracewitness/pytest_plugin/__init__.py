"""The plugin for pytest: eval files as tests, fixtures, explanations of ``==``, and a section at the end.

pytest imports this module in every project in whose environment the library is, whether the project uses it or not. So
there is nothing here but hooks and fixtures; what they do stands in the modules beside it, which are imported when a
feature is used.
"""

from __future__ import annotations

import sys
from collections.abc import Generator, Iterator
from fnmatch import fnmatch
from typing import TYPE_CHECKING, Any, Final

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from tracewitness.pytest_plugin.baselines import WitnessBaseline
    from tracewitness.pytest_plugin.checking import Witness
    from tracewitness.pytest_plugin.notes import Evidence
    from tracewitness.pytest_plugin.session import WitnessSession

__all__ = ["EVIDENCE", "session_of"]

#: What a test put on record, until its reports take it along.
EVIDENCE: Final[pytest.StashKey[Evidence]] = pytest.StashKey()
_SESSION: Final[pytest.StashKey[WitnessSession]] = pytest.StashKey()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the settings and options."""
    parser.addini("tracewitness_files", "patterns of the names of eval files", "args", ["*.evals.yaml"])
    parser.addini(
        "tracewitness_per_check", "make a test of each check of an eval file, not of each case", "bool", False
    )
    parser.addini(
        "tracewitness_results",
        "recorded runs for the eval files: files, folders, patterns, from the rootdir",
        "args",
        [],
    )
    group = parser.getgroup("tracewitness", "tracewitness: what agents did")
    group.addoption(
        "--witness-results",
        action="append",
        metavar="PATH",
        help="recorded runs for the eval files, in place of the setting tracewitness_results; may be repeated",
    )
    group.addoption("--witness-update", action="store_true", help="rewrite the baselines that have changed")
    group.addoption(
        "--witness-ci", action="store_true", help="let a missing baseline fail, as where CI is set in the environment"
    )
    group.addoption("--witness-json", metavar="FILE", help="write what the checks came to as a JSON report")
    group.addoption("--witness-html", metavar="FILE", help="write what the checks came to as an HTML page")


def pytest_configure(config: pytest.Config) -> None:
    """Make the marker known, and listen to the reports of tests."""
    config.addinivalue_line(
        "markers", "witness(runs, at_least): run a test several times, of which so many have to hold"
    )
    config.pluginmanager.register(_Listener(config), "tracewitness-listener")
    if _writes_reports(config):
        from tracewitness.pytest_plugin.files import check_targets

        check_targets(config)


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Collect an eval file."""
    if not _is_eval_file(file_path, parent.config):
        return None
    from tracewitness.pytest_plugin.collection import EvalFile

    file: pytest.Collector = EvalFile.from_parent(parent, path=file_path)
    return file


def _is_eval_file(path: Path, config: pytest.Config) -> bool:
    """Whether a file's name, or where a pattern has a slash its path from the rootdir, fits a pattern."""
    for pattern in config.getini("tracewitness_files"):
        if "/" not in pattern:
            if fnmatch(path.name, pattern):
                return True
        elif path.is_relative_to(config.rootpath) and path.relative_to(config.rootpath).match(pattern):
            return True
    return False


@pytest.hookimpl(hookwrapper=True)
def pytest_make_collect_report() -> Generator[None, Any, None]:
    """Make sure that the markers of what was collected can be read."""
    outcome = yield
    report = outcome.get_result()
    marked = [item for item in report.result or () if isinstance(item, pytest.Item) and _is_marked(item)]
    if marked:
        from tracewitness.pytest_plugin.repeats import check_markers

        check_markers(marked, report)


def _is_marked(item: pytest.Item) -> bool:
    """Whether a test has our marker. Every test is asked, and pytest's own look-up takes more than twice the time."""
    node: Any = item
    while node is not None:
        for mark in node.own_markers:
            if mark.name == "witness":
                return True
        node = node.parent
    return False


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """Run a test several times where its marker says so."""
    if not _is_marked(item):
        return None
    from tracewitness.pytest_plugin.repeats import run_repeatedly

    return run_repeatedly(item, nextitem)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, Any, None]:
    """Give a report what was noted during its phase; so it comes along from other processes, too."""
    outcome = yield
    evidence = item.stash.get(EVIDENCE, None)
    if evidence is not None:
        evidence.hand_over(outcome.get_result())


def pytest_assertrepr_compare(config: pytest.Config, op: str, left: object, right: object) -> list[str] | None:
    """Explain why a trace, a contract or a matcher is not equal to something."""
    if op not in ("==", "!=") or sys.modules.keys().isdisjoint({"tracewitness.trace", "tracewitness.matching"}):
        return None  # without these modules there is nothing of ours to be compared
    from tracewitness.pytest_plugin.comparison import explain_comparison

    return explain_comparison(op, left, right, verbose=config.getoption("verbose") > 0)


@pytest.fixture
def witness(request: pytest.FixtureRequest) -> Witness:
    """Check what an agent did, and put it on record: ``witness(subject, case_or_contract_or_checks)``."""
    from tracewitness.pytest_plugin.checking import Witness

    return Witness(request.node)


@pytest.fixture
def record_trace(request: pytest.FixtureRequest) -> Iterator[Any]:
    """Record what the tools do that were wrapped by ``@record.tool``, during one test."""
    from tracewitness.pytest_plugin.recording import recorded

    with recorded(request.node) as recording:
        yield recording


@pytest.fixture
def witness_baseline(request: pytest.FixtureRequest) -> WitnessBaseline:
    """Compare what an agent did with what it did when the test ran first: ``witness_baseline(subject)``."""
    from tracewitness.pytest_plugin.baselines import WitnessBaseline

    return WitnessBaseline(request.node)


def session_of(config: pytest.Config) -> WitnessSession:
    """Return what is kept of a session, made when something of it is used."""
    session = config.stash.get(_SESSION, None)
    if session is None:
        from tracewitness.pytest_plugin.session import WitnessSession

        session = config.stash[_SESSION] = WitnessSession(config)
    return session


class _Listener:
    """Hears what came of tests, in this process or in others, and speaks at the end where something was heard."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._passed: set[str] = set()
        self._failed: set[str] = set()
        self._deselected = False

    def pytest_deselected(self) -> None:
        """Remember that tests were left out."""
        self._deselected = True

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep what a test noted, and whether it ran to its end."""
        outcome: str = report.outcome
        if outcome == "rerun":  # as pytest-rerunfailures calls what does not count, since the test is run again
            return
        if report.when == "call" and report.passed:
            self._passed.add(report.nodeid)
        elif not report.passed:
            self._failed.add(report.nodeid)
        repeats = getattr(report, "tracewitness_repeats", None)
        if repeats is not None:
            session_of(self._config).notices[repeats] = None
        notes = getattr(report, "tracewitness", None)
        if notes:
            session_of(self._config).hear(notes)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Keep what another process has to say beside its reports."""
        told = getattr(node, "workeroutput", {}).get("tracewitness")
        if told is not None:
            self._deselected |= told["deselected"]
            if told["notices"]:
                session_of(self._config).notices.update(dict.fromkeys(told["notices"]))

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write the reports that were asked for, or tell the process that started this one."""
        told: dict[str, Any] | None = getattr(self._config, "workeroutput", None)
        if told is not None:
            notices = session_of(self._config).notices if _SESSION in self._config.stash else ()
            told["tracewitness"] = {"deselected": self._deselected, "notices": list(notices)}
        elif self._is_used():
            session_of(self._config).finish(session)

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Write the section at the end."""
        if self._is_used():
            from tracewitness.pytest_plugin.ran import RanTests

            ran = RanTests(self._config, self._passed, self._failed, deselected=self._deselected)
            session_of(self._config).summarize(terminalreporter, ran)

    def _is_used(self) -> bool:
        return _SESSION in self._config.stash or _writes_reports(self._config)


def _writes_reports(config: pytest.Config) -> bool:
    return any(config.getoption(option) is not None for option in ("witness_json", "witness_html"))
