"""What all tests share: the public names in docstring examples, and how Hypothesis runs."""

from __future__ import annotations

import os
from typing import Any

import pytest
from hypothesis import settings

import tracewitness

# A loaded machine is slow now and then; that is no failure of a law. Where a change is judged, the same examples are
# tried each time, as Hypothesis has it by default, so that it is judged by what it changes; elsewhere they are new.
settings.register_profile("tracewitness", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("tracewitness")


@pytest.fixture(autouse=True)
def _public_names_in_doctests(doctest_namespace: dict[str, Any]) -> None:
    """Let the examples of docstrings use the public names as a user would who has imported them."""
    for name in tracewitness.__all__:
        doctest_namespace[name] = getattr(tracewitness, name)


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Fail a run in which a test was skipped, where that was asked for: an environment made for tests runs them all."""
    reporter: Any = session.config.pluginmanager.get_plugin("terminalreporter")
    if "TRACEWITNESS_NO_SKIPS" in os.environ and exitstatus == 0 and reporter and reporter.stats.get("skipped"):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
