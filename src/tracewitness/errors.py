"""Every error that tracewitness raises.

::

    TracewitnessError
    ├── AgentError         an agent that is simulated gave what can't be understood: its failure, as if it had raised
    ├── ExpectationError   an expectation, matcher or operator is malformed (also a ValueError)
    │   └── SuiteError     … in an eval file: it knows the file, the line and the column
    ├── InfrastructureError  what a simulation needs failed: an agent's endpoint, a model, a recording of its traffic
    ├── ReadError          a recording can't be read or understood (also a ValueError)
    └── UsageError         the library was called in a way that can't work (also a ValueError)

Each message says what was expected, what came, where, and what to do.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

PathPart = str | int

__all__ = [
    "AgentError",
    "ExpectationError",
    "InfrastructureError",
    "PathPart",
    "ReadError",
    "SuiteError",
    "TracewitnessError",
    "UsageError",
    "path_text",
]


def path_text(path: Sequence[PathPart], root: str = "$") -> str:
    """Write a path as people write it: ``("evals", 0, "min")`` is ``$.evals[0].min``.

    A key that is not a plain word is put in brackets and quotes, so that no key can forge another path.
    """
    text = root
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        elif part.replace("-", "_").isidentifier():
            text += f".{part}" if text else part
        else:
            text += f"[{part!r}]"
    return text


class TracewitnessError(Exception):
    """The root of all errors of this library."""

    #: Where users import it from; a test runner's summary line has no room for more. So for each class below.
    __module__ = "tracewitness"


class AgentError(TracewitnessError):
    """What an agent did in a simulation can't be understood, or breaks its protocol: the agent's own failure."""

    __module__ = "tracewitness"


class ExpectationError(TracewitnessError, ValueError):
    """An expectation that can't be used.

    Arguments:
        problem: what is wrong and what to do, without the place.
        path: where in the expectation, as keys and indexes from its root.
    """

    __module__ = "tracewitness"

    def __init__(self, problem: str, path: Sequence[PathPart] = ()) -> None:
        self.problem = problem
        self.path = tuple(path)
        super().__init__(problem, self.path)

    def under(self, *parents: PathPart) -> ExpectationError:
        """Return the same error seen from further out: its path begins with ``parents``."""
        return type(self)(self.problem, (*parents, *self.path))

    def __str__(self) -> str:
        return f"{self.problem} (at {path_text(self.path)})" if self.path else self.problem


class SuiteError(ExpectationError):
    """An eval file that can't be used.

    Arguments:
        problem: what is wrong and what to do, without the place.
        path: where in the file's data.
        source: the file's name as the user gave it.
        line, column: the place in the file, both from 1; 0 where it is not known.
    """

    __module__ = "tracewitness"

    def __init__(
        self,
        problem: str,
        path: Sequence[PathPart] = (),
        source: str = "",
        line: int = 0,
        column: int = 0,
    ) -> None:
        super().__init__(problem, path)
        self.source = source
        self.line = line
        self.column = column
        self.args = (problem, self.path, source, line, column)

    def under(self, *parents: PathPart) -> SuiteError:
        return type(self)(self.problem, (*parents, *self.path), self.source, self.line, self.column)

    def __str__(self) -> str:
        place = f"{self.source}:{self.line}:{self.column}: " if self.line else f"{self.source}: "
        return (place if self.source else "") + super().__str__()


class InfrastructureError(TracewitnessError):
    """Something that a simulation needs failed. It says nothing of what the agent would have done.

    Arguments:
        problem: what failed and what to do.
        transient: whether it may work a little later: a time-out, a lost connection, a limit of requests.
    """

    __module__ = "tracewitness"

    def __init__(self, problem: str, *, transient: bool = False) -> None:
        self.problem = problem
        self.transient = transient
        super().__init__(problem)

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(type(self), transient=self.transient), (self.problem,)


class ReadError(TracewitnessError, ValueError):
    """A recording that can't be read.

    Arguments:
        problem: what is wrong and what to do, without the place.
        source: the file's name as the user gave it, or what else it came from.
        place: where in the source, for example ``line 3`` or ``$.events[2]``.
    """

    __module__ = "tracewitness"

    def __init__(self, problem: str, source: str = "", place: str = "") -> None:
        self.problem = problem
        self.source = source
        self.place = place
        super().__init__(problem, source, place)

    def __str__(self) -> str:
        where = ", ".join(part for part in (self.source, self.place) if part)
        return f"{where}: {self.problem}" if where else self.problem


class UsageError(TracewitnessError, ValueError):
    """A call of the library that can't work, found before anything ran."""

    __module__ = "tracewitness"
