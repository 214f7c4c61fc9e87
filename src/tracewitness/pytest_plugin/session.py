"""What is kept of a session: the suites and runs of this process, and what came of all tests."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tracewitness.errors import UsageError
from tracewitness.evals import RunReport
from tracewitness.pytest_plugin.notes import Note, read_note
from tracewitness.pytest_plugin.runs import RecordedRuns, shown_path
from tracewitness.reports.document import RunEntry
from tracewitness.suites import Suite

if TYPE_CHECKING:
    from tracewitness.baselines import BaselineStore
    from tracewitness.pytest_plugin.ran import RanTests

__all__ = ["WitnessSession"]


class WitnessSession:
    """What is kept of a session.

    Attributes:
        notes: what came of checks, from tests of this process and of others.
        notices: what the user should know, each once.
        case_names: the names of all cases that were collected.
    """

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self.notes: list[Note] = []
        self.notices: dict[str, None] = {}
        self.case_names: set[str] = set()
        self._stores: dict[Path, BaselineStore] = {}
        options = ("witness_json", "witness_html")
        self._writes_reports = any(config.getoption(option) is not None for option in options)

    def add_suite(self, suite: Suite) -> None:
        """Take note of an eval file that was collected."""
        self.case_names.update(case.name for case in suite.cases)
        self.notices.update({f"note: {notice}": None for notice in suite.notices})

    @cached_property
    def recorded(self) -> RecordedRuns:
        """The recorded runs. It is asked for when all files are collected, so that all names are known."""
        return RecordedRuns(self._config)

    def entry_of(self, report: RunReport, suite: str) -> RunEntry | None:
        """Return a run for the reports; None where no report is asked for."""
        if not self._writes_reports:
            return None
        from tracewitness.pytest_plugin.failures import entry_of

        return entry_of(report, suite)

    def hear(self, notes: Iterable[str]) -> None:
        """Keep what a test noted."""
        self.notes.extend(map(read_note, notes))

    def store_of(self, path: Path) -> BaselineStore:
        """Return the store of a file of baselines, the same for all tests of this process."""
        if path not in self._stores:
            from tracewitness.baselines import BaselineStore
            from tracewitness.pytest_plugin.baselines import NO_UPDATE, writes_nothing

            update, ci = bool(self._config.getoption("witness_update")), writes_nothing(self._config)
            if update and ci:
                self.notices[NO_UPDATE] = None
            shown = shown_path(path, self._config.invocation_params.dir)
            self._stores[path] = BaselineStore(path, update=update, ci=ci, shown=shown)
        return self._stores[path]

    def finish(self, session: pytest.Session) -> None:
        """Write the reports that were asked for."""
        if not self._writes_reports:
            return
        from tracewitness.pytest_plugin.files import write_reports

        try:
            write_reports(self._config, self.notes, list(self.notices), int(session.exitstatus))
        except UsageError as error:
            self.notices[f"error: {error}"] = None
            session.exitstatus = pytest.ExitCode.USAGE_ERROR

    def summarize(self, terminal: Any, ran: RanTests) -> None:
        """Write the section at the end."""
        from tracewitness.pytest_plugin.terminal import write_section

        unused: Iterable[str] = ()
        if any(note.baseline is not None for note in self.notes):
            from tracewitness.pytest_plugin.baselines import unused_lines

            unused = unused_lines(self.notes, ran, self._config.invocation_params.dir)
        write_section(terminal, self.notes, (*unused, *self.notices))
