"""The runs that eval files are checked on: recorded ones, found by setting or option, or an agent's."""

from __future__ import annotations

import asyncio
import glob
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final

from tracewitness.display import printable, show
from tracewitness.errors import ReadError, UsageError
from tracewitness.fluent.subject import Subject, Witnessed
from tracewitness.readers import Run, iter_runs
from tracewitness.suites import Case

if TYPE_CHECKING:
    import pytest

__all__ = ["RecordedRuns", "ask_agent", "has_recorded_runs", "shown_path"]

#: Hides the frames of this module in a traceback: an agent's own are what matters.
__tracebackhide__ = True

_OPTION: Final = "--witness-results"
_SETTING: Final = "tracewitness_results"


def shown_path(path: str | Path, here: Path | None = None) -> str:
    """Return a path as it is shown: from the folder in which pytest works, where it lies below it.

    Arguments:
        here: that folder, where a test may have gone to another one; left out, the one of now.
    """
    here = here or Path.cwd()
    return str(path.relative_to(here) if isinstance(path, Path) and path.is_relative_to(here) else path)


def has_recorded_runs(config: pytest.Config) -> bool:
    """Whether option or setting names recorded runs."""
    return bool(config.getoption("witness_results") or config.getini(_SETTING))


class RecordedRuns:
    """The recorded runs of a session, read when the first of them is asked for.

    Arguments:
        config: its option or setting names them.
    """

    def __init__(self, config: pytest.Config) -> None:
        self.shown: Final = ", ".join(map(printable, _given(config)))
        self._config = config
        self._by_name: dict[str, list[Run]] | None = None

    def of(self, name: str) -> list[Run]:
        """Return the runs of a name, readable or not.

        Raises:
            UsageError: there is nothing where they should be.
            ReadError: a folder or file can't be read.
        """
        return self._all().get(name, [])

    def beyond(self, names: Iterable[str]) -> list[Run]:
        """Return the runs of no name among ``names``."""
        known = frozenset(names)
        return [run for name, runs in self._all().items() if name not in known for run in runs]

    def _all(self) -> dict[str, list[Run]]:
        if self._by_name is None:
            found: dict[str, list[Run]] = {}
            for run in iter_runs(_paths(self._config)):
                found.setdefault(run.name, []).append(run)
            self._by_name = found
        return self._by_name


def _given(config: pytest.Config) -> list[str]:
    """Return the paths as they were given; the option takes the place of the setting."""
    option: list[str] | None = config.getoption("witness_results")
    given: list[str] = option or config.getini(_SETTING)
    return given


def _paths(config: pytest.Config) -> list[str]:
    """Return the paths of recorded runs, those of the setting from the rootdir."""
    by_option = bool(config.getoption("witness_results"))
    base = config.invocation_params.dir if by_option else config.rootpath
    return [path for given in _given(config) for path in _expanded(given, base, _OPTION if by_option else _SETTING)]


def _expanded(given: str, base: Path, named_by: str) -> list[str]:
    """Return the paths that a path or pattern stands for.

    Raises:
        UsageError: nothing is there.
    """
    path = base / given
    if path.exists():
        return [shown_path(path)]
    found = sorted(glob.glob(given, root_dir=base, recursive=True)) if glob.has_magic(given) else []  # noqa: PTH207
    if not found:
        kind = "no file fits this pattern" if glob.has_magic(given) else "there is no such file or folder"
        raise UsageError(f"{named_by} names {show(given)}, from {printable(str(base))}: {kind}")
    return [shown_path(base / each) for each in found]


def ask_agent(agent: Any, case: Case) -> Witnessed:
    """Let an agent play a case, and return what it did.

    Arguments:
        agent: what the fixture ``witness_agent`` gives: a callable, sync or async, that takes the case.

    Raises:
        UsageError: it can't be called, or gives nothing that can be read.
    """
    subject = Subject(agent)
    if not subject.is_agent:
        raise UsageError(
            f"the fixture witness_agent gives {show(agent)}; expected a function that takes a case and returns what "
            "the agent did: a Trace, a list of calls, or a recording in a form that a reader knows"
        )
    try:
        # In a loop of its own, which is not made the thread's: what other plugins set up there stays.
        with asyncio.Runner(loop_factory=asyncio.new_event_loop) as runner:
            return runner.run(subject.witness_async(case))
    except ReadError as error:
        raise UsageError(f"what witness_agent returned for the case {show(case.name)} can't be read: {error}") from None
    except BaseException as error:
        error.__traceback__ = _own_frames(error)
        raise


def _own_frames(error: BaseException) -> TracebackType | None:
    """Return the frames of what an agent raised, without those of the event loop that called it."""
    frames = error.__traceback__
    while frames is not None and frames.tb_frame.f_code is not Subject.witness_async.__code__:
        frames = frames.tb_next
    return error.__traceback__ if frames is None else frames
