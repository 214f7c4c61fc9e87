"""Every file of the corpora of real recordings: it is read by detection alone, or holds no answer of a model."""

from __future__ import annotations

from pathlib import Path

import pytest
from provider_support import corpora

from tracewitness.readers.rows import iter_runs

# What is no recording, by the end of its path, and why.
NO_ANSWERS = {
    "LICENSE": "a licence",
    "LICENSE.txt": "a licence",
    ".md": "a description",
    "test_config.json": "thresholds of an evaluation",
    "submission.json": "what a leaderboard says of a submission",
    "1D_Test_Cases.json": "the name of a test case",
    "no-samples.json": "an evaluation that was not run yet",
    "cxaslint.yaml": "settings of a linter",
    "_example.yaml": "an eval file: what is expected of an agent",
    "_simulations.yaml": "an eval file",
    "_tool_tests.yaml": "tests of tools",
    "example_auth_routing.yaml": "an eval file",
    "example_escalation.yaml": "an eval file",
}


def _files() -> list[Path]:
    return sorted(path for path in corpora().rglob("*") if path.is_file())


def _is_read(path: Path) -> bool:
    runs = list(iter_runs([path]))
    assert all(run.trace is None or len(run.trace.events) >= len(run.trace.calls) for run in runs)
    return bool(runs) and all(run.error is None for run in runs)


def test_every_file_is_read_or_holds_no_answer() -> None:
    """Nothing raises but errors of reading, and those are for what is listed."""
    files = _files()
    if not files:
        pytest.skip("the corpora are not there")
    unread = [str(path) for path in files if not _is_read(path)]
    assert [path for path in unread if not path.endswith(tuple(NO_ANSWERS))] == []
    assert len(unread) < len(files) / 10
