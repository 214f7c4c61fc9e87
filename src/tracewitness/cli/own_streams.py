"""Standard streams that stay usable, whatever code that runs in this process does to those that it knows."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Self, TextIO

__all__ = ["OwnStreams"]


class OwnStreams:
    """The standard streams as they are now, as copies that nobody else has. Used as a context.

    An agent may close ``sys.stdout``, put something else in its place, or close what is below it. What is printed
    within `used` goes to the copies. At the end the process has streams again that work.
    """

    def __init__(self) -> None:
        self._given = (sys.stdout, sys.stderr)
        self._own = (_copy(sys.stdout), _copy(sys.stderr))

    @contextmanager
    def used(self) -> Iterator[None]:
        """Let what is printed meanwhile go to the copies."""
        before = (sys.stdout, sys.stderr)
        sys.stdout, sys.stderr = self._own
        try:
            yield
        finally:
            sys.stdout, sys.stderr = before

    @property
    def errors(self) -> TextIO:
        """The standard error output."""
        return self._own[1]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        out, errors = (_working(given, own) for given, own in zip(self._given, self._own, strict=True))
        # What is told later, at the end of the program, goes there too.
        self._own = (out, errors)
        sys.stdout, sys.stderr = out, errors


def _copy(stream: TextIO) -> TextIO:
    """Return a stream that goes where another does; the same one where that is no file of the system."""
    try:
        stream.flush()
        descriptor = os.dup(stream.fileno())
    except (AttributeError, OSError, ValueError):
        return stream
    return open(descriptor, "w", encoding=stream.encoding, errors=stream.errors)  # noqa: PTH123 - it is no path


def _working(given: TextIO, own: TextIO) -> TextIO:
    """Return a stream where it still works, and else its copy."""
    if given is own:
        return given
    try:
        given.flush()
        if not os.path.samestat(os.fstat(given.fileno()), os.fstat(own.fileno())):
            return own
    except (OSError, ValueError):
        return own
    own.close()
    return given
