"""What all tests share: the public names in docstring examples, and how Hypothesis runs."""

from __future__ import annotations

import os
from typing import Any

import pytest
from hypothesis import settings

import tracewitness

#: Runs pytest inside of tests, for those of our plugin.
pytest_plugins = ["pytester"]

# A loaded machine is slow now and then; that is no failure of a law. Where a change is judged, the same examples are
# tried each time, as Hypothesis has it by default, so that it is judged by what it changes; elsewhere they are new.
settings.register_profile("tracewitness", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("tracewitness")

# Files that `tracewitness init` writes into a project; here they have no agent.
collect_ignore = ["src/tracewitness/cli/templates"]


@pytest.fixture(autouse=True)
def _public_names_in_doctests(request: pytest.FixtureRequest, doctest_namespace: dict[str, Any]) -> None:
    """Let the examples of docstrings use the public names as a user would who has imported them.

    A module's own names win: what has a public name may have a namesake in a room.
    """
    example = getattr(request.node, "dtest", None)
    own = () if example is None else example.globs
    for name in tracewitness.__all__:
        if name in own:
            doctest_namespace.pop(name, None)
        else:
            doctest_namespace[name] = getattr(tracewitness, name)


def pytest_configure(config: pytest.Config) -> None:
    """Let no test be skipped where that was asked for."""
    if "TRACEWITNESS_NO_SKIPS" in os.environ:
        config.pluginmanager.register(NoSkips(config))


class NoSkips:
    """Fails a run in which a test or a module of tests was skipped: an environment made for tests runs them all.

    Only recordings may be missing, since they lie outside of the project.
    """

    def __init__(self, config: pytest.Config) -> None:
        # What a process that runs some of the tests (of pytest-xdist) tells the one that started it.
        self._told: dict[str, Any] | None = getattr(config, "workeroutput", None)
        self._skipped: set[str] = set()

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Note a module that was skipped."""
        self._note(report)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note a test that was skipped."""
        self._note(report)

    def _note(self, report: Any) -> None:
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else ""
        if report.skipped and not hasattr(report, "wasxfail") and "the recordings of " not in reason:
            self._skipped.add(report.nodeid)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Note what another process skipped: a skipped module is known to nobody else."""
        self._skipped.update(getattr(node, "workeroutput", {}).get("skipped", ()))

    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Fail the run where all else in it is well."""
        if self._told is not None:
            self._told["skipped"] = sorted(self._skipped)
        elif self._skipped and exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Say what should not have been skipped."""
        if self._skipped:
            terminalreporter.write_line(
                f"skipped, which TRACEWITNESS_NO_SKIPS forbids: {', '.join(sorted(self._skipped))}"
            )
