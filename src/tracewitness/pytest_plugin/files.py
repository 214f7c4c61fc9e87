"""The reports that are asked for by ``--witness-json`` and ``--witness-html``."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path

import pytest

from tracewitness.errors import UsageError
from tracewitness.pytest_plugin.notes import Note
from tracewitness.reports.counting import Counts
from tracewitness.reports.document import RunEntry
from tracewitness.reports.json_file import JsonReport
from tracewitness.reports.listening import Listener, new_head
from tracewitness.reports.output import STANDARD_OUTPUT, OutputFile

__all__ = ["check_targets", "write_reports"]

_OPTIONS = ("witness_json", "witness_html")


def check_targets(config: pytest.Config) -> None:
    """Find out before any test runs that a report can't be written.

    Raises:
        pytest.UsageError: that is so.
    """
    for option in _OPTIONS:
        path = config.getoption(option)
        if path is None:
            continue
        problem = _problem_of(path)
        if problem:
            raise pytest.UsageError(f"--{option.replace('_', '-')}: {problem}")


def _problem_of(path: str) -> str:
    if path == STANDARD_OUTPUT:
        return "the standard output is pytest's; name a file"
    try:
        OutputFile(path)
    except UsageError as error:
        return str(error)
    folder = Path(os.path.realpath(path)).parent
    return "" if folder.is_dir() else f"{path} can't be written: there is no folder {folder}"


def write_reports(config: pytest.Config, notes: Sequence[Note], notices: Sequence[str], exit_status: int) -> None:
    """Write what was asked for. Each run is there once, though several tests looked at it.

    Raises:
        UsageError: a file can't be written.
    """
    runs = {note.contract: note.run for note in notes if note.run is not None}
    missing = tuple(dict.fromkeys(note.missing for note in notes if note.missing))
    listeners = _listeners(config, _suite_of(runs.values()))
    counts = Counts()
    with ExitStack() as stack:
        for listener in listeners:
            stack.enter_context(listener)
        for run in runs.values():
            counts.add(run)
            for listener in listeners:
                listener.run(run)
        summary = counts.entry(exit_status, missing=missing)
        for listener in listeners:
            listener.finish(summary, notices)


def _listeners(config: pytest.Config, suite: str) -> list[Listener]:
    head = new_head(suite, "pytest")
    listeners: list[Listener] = []
    if path := config.getoption("witness_json"):
        listeners.append(JsonReport(OutputFile(path), head))
    if path := config.getoption("witness_html"):
        from tracewitness.reports.html import HtmlReport

        listeners.append(HtmlReport(path, head))
    return listeners


def _suite_of(runs: Iterable[RunEntry]) -> str:
    """Return the eval file that all checks stand in, or an empty text where there are several or none."""
    files = {verdict.file for run in runs for verdict in run.verdicts if verdict.file is not None}
    return files.pop() if len(files) == 1 else ""
