"""Those who listen to what comes of runs, and the one who tells them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, ExitStack
from datetime import UTC, datetime
from types import TracebackType
from typing import Protocol, Self

from msgspec import structs

from tracewitness import __version__
from tracewitness.evals import RunReport, Summary
from tracewitness.redaction import Redaction
from tracewitness.reports.counting import Counts
from tracewitness.reports.document import Command, Head, RunEntry, SummaryEntry
from tracewitness.reports.entries import Entries
from tracewitness.reports.output import OutputFile

__all__ = ["FileReport", "Listener", "Reports", "new_head"]


class Listener(AbstractContextManager["Listener"], Protocol):
    """Writes a report in some form.

    Attributes:
        needs_all: whether it needs what happened in each run, and the words of checks that held. It costs time.
    """

    needs_all: bool

    def run(self, run: RunEntry) -> None:
        """Take what came of one run."""

    def finish(self, summary: SummaryEntry, notices: Sequence[str]) -> None:
        """Take the counts and what the user should know; nothing comes after that."""


class FileReport:
    """What the forms that are files share.

    Arguments:
        file: where it is written.
        head: what stands before the runs.
    """

    needs_all: bool = True

    def __init__(self, file: OutputFile, head: Head) -> None:
        self._file = file
        self._head = head

    def __enter__(self) -> Self:
        self._file.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.__exit__(kind, error, trace)


class Reports:
    """Tells each listener of each run, with what must not be shown hidden. Used as a context.

    Arguments:
        listeners: those who are told.
        redaction: what is hidden, in every form alike.
        suite: the eval file's name.
    """

    def __init__(self, listeners: Iterable[Listener], redaction: Redaction, suite: str = "") -> None:
        self._listeners = tuple(listeners)
        self._redaction = redaction
        self._entries = Entries(redaction, suite, in_full=any(listener.needs_all for listener in self._listeners))
        self._counts = Counts()
        self._renamed: dict[str, str] = {}
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            for listener in self._listeners:
                stack.enter_context(listener)
            self._stack = stack.pop_all()
        return self

    def run(self, report: RunReport) -> None:
        """Tell of one run."""
        entry = self._entries.run(report)
        if entry.name != report.name:
            self._renamed[report.name] = entry.name
        self.tell(entry)

    def tell(self, run: RunEntry) -> None:
        """Tell of one run that is an entry already, with nothing in it that must not be shown."""
        self._counts.add(run)
        for listener in self._listeners:
            listener.run(run)

    def finish(self, summary: Summary, notices: Iterable[str] = ()) -> None:
        """Tell the counts; then each form is complete."""
        counts = self._counts.summary(summary)
        names = tuple(dict.fromkeys(self._renamed.get(name, name) for name in counts.without_case))
        self.tell_end(structs.replace(counts, without_case=names), notices)

    def tell_end(self, summary: SummaryEntry, notices: Iterable[str] = ()) -> None:
        """Tell the counts that are known already."""
        told = tuple(map(self._redaction.text, notices))
        for listener in self._listeners:
            listener.finish(summary, told)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.__exit__(kind, error, trace)


def new_head(suite: str, command: Command) -> Head:
    """Return the head of a report that is begun now."""
    return Head(2, __version__, suite, command, datetime.now(UTC).isoformat(timespec="seconds"))
