"""The baselines of one module of tests: record, compare, rewrite."""

from __future__ import annotations

import os
import shlex
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from msgspec import Struct

from tracewitness.baselines.comparing import Comparison, compare
from tracewitness.baselines.document import Document, Entry, NewItem
from tracewitness.baselines.files import KeptDocument, pending_path
from tracewitness.baselines.locations import belongs_to
from tracewitness.baselines.merging import merged, recorded
from tracewitness.baselines.records import Groups, Preparation, records_of
from tracewitness.display import plural, printable
from tracewitness.errors import ExpectationError, UsageError
from tracewitness.redaction import Redaction
from tracewitness.trace import Trace

__all__ = ["BaselineResult", "BaselineStore"]


class BaselineResult(Struct, frozen=True):
    """What comparing a run with its baseline came to.

    Attributes:
        key: the baseline's key in its file.
        passed: whether the run is as the baseline has it, or has become the baseline.
        written: whether the baseline was recorded just now, for the first time.
        updated: whether the baseline was rewritten just now, because the run differed.
        explanation: a text for people, of one or more printable lines: what was done, or what differs. Empty where
            the run is as the baseline has it.
    """

    key: str
    passed: bool
    written: bool = False
    updated: bool = False
    explanation: str = ""


class BaselineStore:
    """The baselines of one module of tests, in one file.

    Arguments:
        path: the file, as `baseline_path` gives it. It need not be there.
        update: whether baselines from which runs differ are rewritten.
        ci: whether nothing is written at all, and a baseline that is missing is a failure. It goes before ``update``.
        shown: what the file is called in what people read, such as its path from where they work; left out, its path.

    A store may be kept for a session: it reads the file again when that has changed. Any number of processes may use
    one file at once.
    """

    def __init__(
        self, path: str | os.PathLike[str], *, update: bool = False, ci: bool = False, shown: str = ""
    ) -> None:
        self.path = Path(path)
        self.shown = shown or str(self.path)
        self._update = update and not ci
        self._ci = ci
        self._kept = KeptDocument(self.path, self.shown)
        self._pending = KeptDocument(pending_path(self.path))

    def check(
        self,
        key: str,
        trace: Trace,
        *,
        ignore: Iterable[str] = (),
        redact: Iterable[str] = (),
        secrets: bool = True,
        matchers: Mapping[str, Any] | None = None,
        results: bool = False,
    ) -> BaselineResult:
        """Compare a run with its baseline; record it where there is none.

        Arguments:
            key: the baseline's key, see `entry_key`.
            trace: the run.
            ignore: patterns of paths (`PathPattern`) of what is neither recorded nor compared. Paths begin with
                ``args``, ``result`` or ``by``, the agent's name: ``args.request_id``, ``**.created_at``.
            redact: patterns of paths of what is hidden before anything is written or compared.
            secrets: whether known secrets are hidden as well, see `Redaction`.
            matchers: by pattern of paths, what a value has to match in place of being equal.
            results: whether the results of the calls are recorded and compared as well. By default only the results
                that the file has are compared.

        Raises:
            UsageError: a pattern is malformed, the file can't be written, or a value can't be held by a file.
            SuiteError: the file is broken; it says at which line and column. It is left as it is.
        """
        redaction = Redaction(redact, secrets=secrets)
        doubt = _doubt(trace)
        if doubt:
            said = f"{self._title(key)}: {redaction.text(doubt)}"
            return BaselineResult(key, passed=False, explanation=said)
        run = self._run(trace, ignore, redaction, matchers, results=results)
        entry = self._kept.read().entries.get(key)
        return self._missing(key, run) if entry is None else self._compared(key, entry, run)

    def unused(self, used: Collection[str], ran: Iterable[str] | None = None) -> tuple[str, ...]:
        """Return the keys of baselines that were not used.

        Arguments:
            used: the keys that were checked in this session, by any process.
            ran: the tests that ran to their end in this session, as `entry_key` takes them: only their baselines
                count. None where all tests of the module ran.

        Raises:
            SuiteError: as `check`.
        """
        keys = self._kept.read().entries
        tests = None if ran is None else tuple(ran)
        return tuple(
            key for key in keys if key not in used and (tests is None or any(belongs_to(key, test) for test in tests))
        )

    def _run(
        self,
        trace: Trace,
        ignore: Iterable[str],
        redaction: Redaction,
        matchers: Mapping[str, Any] | None,
        *,
        results: bool,
    ) -> _Run:
        try:
            preparation = Preparation(ignore, redaction, matchers)
        except ExpectationError as error:
            raise UsageError(f"a matcher of a baseline can't be used: {error}") from error
        return _Run(records_of(trace, preparation), preparation, results)

    def _missing(self, key: str, run: _Run) -> BaselineResult:
        """Record a first run."""
        if self._ci:
            what_to_do = "in CI none is recorded: run the test elsewhere, look at the file, and commit it"
            return BaselineResult(key, passed=False, explanation=f"{self._title(key)} is missing; {what_to_do}")
        try:
            items = recorded(run.groups, run.preparation, results=run.results)
        except ExpectationError as error:
            said = f"{self._title(key)} is not recorded: {run.redaction.text(printable(str(error), 1000))}"
            return BaselineResult(key, passed=False, explanation=said)
        entry = self._put(key, items, only_new=True)
        if entry is not None:  # another process was quicker
            return self._compared(key, entry, run)
        count = sum(len(item.calls) for item in items)
        said = f"{self._title(key)}: recorded {plural(count, 'call')}; look at them, and commit the file"
        return BaselineResult(key, passed=True, written=True, explanation=said)

    def _compared(self, key: str, entry: Entry, run: _Run) -> BaselineResult:
        comparison = compare(entry, run.groups, run.preparation, results=run.results)
        if comparison.is_same:
            self._forget(key)
            return BaselineResult(key, passed=True)
        if self._ci:
            return BaselineResult(key, passed=False, explanation=self._difference(key, comparison, run, ""))
        try:
            items = merged(entry, comparison, run.preparation, results=run.results)
        except ExpectationError:  # a matcher of the test's own, which the comparison speaks of
            return BaselineResult(key, passed=False, explanation=self._difference(key, comparison, run, ""))
        if self._update:
            self._put(key, items)
            self._forget(key)
            said = f"{self._title(key)}: rewritten, {comparison.summary()}"
            return BaselineResult(key, passed=True, updated=True, explanation=said)
        what_to_do = self._keep_for_later(key, items)
        return BaselineResult(key, passed=False, explanation=self._difference(key, comparison, run, what_to_do))

    def _put(self, key: str, items: Sequence[NewItem], *, only_new: bool = False) -> Entry | None:
        """Write a baseline. Where there must be none and there is one, return that and write nothing."""
        found: list[Entry] = []

        def put(document: Document) -> Document:
            if only_new and key in document.entries:
                found.append(document.entries[key])
                return document
            return document.with_entry(key, items)

        self._kept.change(put)
        return found[0] if found else None

    def _keep_for_later(self, key: str, items: Sequence[NewItem]) -> str:
        """Keep what came, so that it can be accepted without another run; return what to do."""
        accept = f"tracewitness baseline accept {shlex.quote(self.shown)} {shlex.quote(key)}"
        try:
            self._pending.change(lambda document: document.with_entry(key, items), lock=self.path)
        except UsageError:
            return "run with --witness-update to take it over"  # accepting needs a folder that can be written to
        return f"if that is right, `{accept}` takes it over, or a run with --witness-update"

    def _forget(self, key: str) -> None:
        """Drop what an earlier run left to be accepted."""
        if not self._ci and self._pending.exists() and key in self._pending.read().entries:
            self._pending.change(lambda document: document.without_entries([key]), lock=self.path)

    def _difference(self, key: str, comparison: Comparison, run: _Run, what_to_do: str) -> str:
        lines = [f"{self._title(key)}: {comparison.summary()}", *comparison.lines()]
        if what_to_do:
            lines.append(printable(what_to_do, 1000))
        return "\n".join(run.redaction.text(line) for line in lines)

    def _title(self, key: str) -> str:
        return f"the baseline {printable(repr(key), 300)} in {printable(self.shown, 400)}"


class _Run(NamedTuple):
    """A run, ready to be compared."""

    groups: Groups
    preparation: Preparation
    results: bool

    @property
    def redaction(self) -> Redaction:
        """What is hidden."""
        return self.preparation.redaction


def _doubt(trace: Trace) -> str:
    """Say why a trace can't be relied on to show all calls; empty where it can."""
    if trace.no_evidence is not None:
        return f"there is nothing to compare with it: {printable(trace.no_evidence)}"
    hiding = [problem for problem in trace.problems if problem.hides_call]
    if not hiding:
        return ""
    more = f", and {plural(len(hiding) - 1, 'more problem')}" if len(hiding) > 1 else ""
    return f"a call may be hidden by what could not be read: {printable(str(hiding[0]), 300)}{more}"
