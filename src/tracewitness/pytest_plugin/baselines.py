"""The fixture ``witness_baseline``: compare what an agent did with what it did when the test ran first."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tracewitness.baselines import (
    BaselineResult,
    BaselineStore,
    baseline_path,
    entry_key,
    find_baselines,
    test_module_of,
)
from tracewitness.display import plural, printable, show
from tracewitness.errors import TracewitnessError, UsageError
from tracewitness.fluent.subject import Subject
from tracewitness.pytest_plugin import session_of
from tracewitness.pytest_plugin.notes import BaselineNote, BaselineState, Note, keep
from tracewitness.pytest_plugin.ran import RanTests
from tracewitness.pytest_plugin.runs import shown_path
from tracewitness.trace import Trace

if TYPE_CHECKING:
    import pytest

__all__ = ["NO_UPDATE", "WitnessBaseline", "unused_lines", "writes_nothing"]

#: Hides the frames of this module in a traceback.
__tracebackhide__ = True

#: What is said where both are asked for: a machine that nobody looks at must not decide what is right.
NO_UPDATE: Final = "--witness-update wrote nothing, since this is CI (the variable CI is set, or --witness-ci)"
_MOST: Final = 20


class WitnessBaseline:
    """Compares runs with the baselines of a test; the first run becomes the baseline.

    Arguments:
        item: the test.

    Example::

        def test_refund(witness_baseline):
            witness_baseline(agent("I want my money back"), ignore=["**.request_id"])
    """

    def __init__(self, item: pytest.Item) -> None:
        self._item = item
        self._store = session_of(item.config).store_of(baseline_path(item.path))
        self._count = 0
        self._used: set[str] = set()

    def __call__(
        self,
        subject: Any,
        *,
        name: str | None = None,
        ignore: Iterable[str] = (),
        redact: Iterable[str] = (),
        secrets: bool = True,
        matchers: Mapping[str, Any] | None = None,
        results: bool = False,
    ) -> BaselineResult:
        """Compare a run with its baseline.

        Arguments:
            subject: what an agent did: a `Trace`, a list of calls, a recording in a form that a reader knows.
            name: what tells the baseline from others of the same test; left out, they are numbered.
            ignore, redact, secrets, matchers, results: as of `BaselineStore.check`.

        Raises:
            AssertionError: the run differs from its baseline, or there is none where none may be made.
            UsageError: the subject is an agent or has to be awaited, or a name is used twice.
            SuiteError: the file of baselines is broken.
        """
        __tracebackhide__ = True
        try:
            key, trace = self._key(name), _trace_of(subject)
            result = self._store.check(
                key, trace, ignore=ignore, redact=redact, secrets=secrets, matchers=matchers, results=results
            )
        except TracewitnessError as error:
            raise error.with_traceback(None) from None  # it says all; the frames of the library say nothing more
        self._note(result)
        if not result.passed:
            raise AssertionError(result.explanation)
        return result

    def __repr__(self) -> str:
        return "<witness_baseline>"

    def _key(self, name: str | None) -> str:
        """Return the key of the next baseline: the test's id in its module, and what tells it from others."""
        self._count += 1
        key = entry_key(_id_in_module(self._item.nodeid), name or (self._count if self._count > 1 else None))
        if key in self._used:
            raise UsageError(f"a second baseline of this test is called {show(name)}; rename one of them")
        self._used.add(key)
        return key

    def _note(self, result: BaselineResult) -> None:
        state = _state(result)
        file = printable(self._store.shown, 1000)
        note = Note(printable(self._item.nodeid, 1000), "", baseline=BaselineNote(file, _readable(result.key), state))
        keep(self._item, note)
        self._item.user_properties.append(("witness_baseline", state))


def _trace_of(subject: Any) -> Trace:
    """Return what an agent did.

    Raises:
        UsageError: the subject is an agent or has to be awaited.
        ReadError: it can't be read.
    """
    given = Subject(subject)
    if given.is_agent or given.is_async:
        given.discard()
        raise UsageError(f"a baseline is of what an agent did, and {show(subject)} is none: give what it returns")
    trace: Trace = given.witness(None).trace
    return trace


def _id_in_module(nodeid: str) -> str:
    return nodeid.partition("::")[2]


def _readable(text: str) -> str:
    """Return a text without lone surrogates, which have no UTF-8."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _state(result: BaselineResult) -> BaselineState:
    if not result.passed:
        return "broken"
    return "written" if result.written else "updated" if result.updated else "held"


def writes_nothing(config: pytest.Config) -> bool:
    """Whether a missing baseline fails: by the option, or since this is a CI machine."""
    return bool(config.getoption("witness_ci")) or os.environ.get("CI", "").lower() not in ("", "0", "false")


def unused_lines(notes: Sequence[Note], ran: RanTests, here: Path) -> Iterator[str]:
    """Yield what is to be said of baselines that no test used, of the files from which some were used.

    Arguments:
        here: the folder in which pytest was started, from which the notes name files.
    """
    used: dict[str, set[str]] = {}
    for note in notes:
        if note.baseline is not None:
            used.setdefault(note.baseline.file, set()).add(note.baseline.key)
    unused = [line for file, keys in used.items() for line in _unused_of(here / file, keys, ran, file)]
    folders = dict.fromkeys((here / file).parent for file in used)
    orphans = [path for folder in folders for path in find_baselines(folder) if not test_module_of(path).exists()]
    unused += [f"{printable(shown_path(path, here), 500)}: its module of tests is not there" for path in orphans]
    if unused:
        yield f"{plural(len(unused), 'baseline')} unused; tracewitness baseline rm takes them away"
        yield from (f"  {line}" for line in unused[:_MOST])
    if len(unused) > _MOST:
        yield f"  … and {len(unused) - _MOST} more"


def _unused_of(file: Path, used: set[str], ran: RanTests, shown: str) -> Iterator[str]:
    tests, all_ran = ran.of(test_module_of(file))
    try:
        unused = BaselineStore(file, shown=shown).unused(used, None if all_ran else tests)
    except TracewitnessError as error:
        yield printable(str(error), 500)
        return
    for key in unused:
        yield f"{printable(key, 300)} in {printable(shown, 500)}"
