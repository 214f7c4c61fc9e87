"""Collect what is wrong with one eval file, so that a single run tells all of it."""

from __future__ import annotations

from collections.abc import Sequence

from tracewitness.display import plural, printable
from tracewitness.errors import PathPart, SuiteError

__all__ = ["Problems"]

_KEPT = 1_000
_SHOWN = 20


class Problems:
    """The problems of one file, in the order in which they were found.

    Arguments:
        source: the file's name as the user gave it.
    """

    def __init__(self, source: str) -> None:
        self.source = printable(source, 4_096)
        self._found: list[SuiteError] = []

    def __bool__(self) -> bool:
        return bool(self._found)

    def add(self, problem: str, path: Sequence[PathPart] = (), line: int = 0, column: int = 0) -> None:
        """Keep a problem; reading goes on. More than a file full of them is of no use to anybody."""
        if len(self._found) < _KEPT:
            self._found.append(SuiteError(problem, path, self.source, line, column))

    def fatal(self, problem: str, path: Sequence[PathPart] = (), line: int = 0, column: int = 0) -> SuiteError:
        """Return the error to raise where reading can't go on; earlier problems come along."""
        self._found.append(SuiteError(problem, path, self.source, line, column))
        return self._first()

    def include(self, other: Problems) -> None:
        """Take over what another reading of the same file has found."""
        self._found.extend(other._found)

    def raise_any(self) -> None:
        """Raise the first problem in the file, if there is one, with the others as its notes.

        Raises:
            SuiteError: its text is one line, the first problem; ``__notes__`` has a line for each other one.
        """
        if self._found:
            raise self._first()

    def _first(self) -> SuiteError:
        # a value that anchors put in several places is wrong once
        found = {(error.line, error.column, error.problem): error for error in reversed(self._found)}
        first, *others = (found[key] for key in sorted(found))
        for other in others[:_SHOWN]:
            first.add_note(str(other))
        if len(others) > _SHOWN:
            first.add_note(f"{self.source}: and {plural(len(others) - _SHOWN, 'more problem')}")
        return first
