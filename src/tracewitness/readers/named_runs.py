"""Read a mapping of names to runs, each in a format of its own: ``{"first": {…}, "second": {…}}``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from tracewitness.readers.reader import Reader
from tracewitness.readers.recording import refuse
from tracewitness.trace import Trace

__all__ = ["READER", "SHAPE", "detects", "read", "runs"]

SHAPE: Final = "a mapping of names to runs has a run in a known format at each name"


class _Named(NamedTuple):
    """A run and its name."""

    name: str
    run: Any


def detects(document: Any) -> bool:
    """Whether decoded data is of this format: all that it holds are runs."""
    if not isinstance(document, Mapping) or not document:
        return False
    for value in document.values():  # nearly every other mapping holds a text or a number
        if not isinstance(value, Mapping):
            return False
    return all(isinstance(name, str) and _is_run(run) for name, run in document.items())


def _is_run(data: Mapping[Any, Any]) -> bool:
    """Whether a mapping is a run, and no mapping of names to others: that would go on without end."""
    from tracewitness.readers.registry import detected  # the registry has this module

    return not all(isinstance(value, Mapping) for value in data.values()) and bool(detected(data))


def runs(document: Any) -> Iterator[Any]:
    """Yield each run with its name."""
    if not isinstance(document, Mapping):
        raise refuse(document, SHAPE)
    for name, run in document.items():
        yield _Named(str(name), run)


def read(document: Any, name: str = "") -> Trace:
    """Read a run that has a name.

    Raises:
        ReadError: it is nothing of the kind.

    >>> list(read_all({"first": {"messages": [{"role": "user", "content": "Hello."}]}}))
    [<Trace first: 1 events>]
    """
    from tracewitness.readers.registry import trace_of  # as above

    if not isinstance(document, _Named):
        raise refuse(document, SHAPE)
    return trace_of(document.run, document.name or name)


def _always(_: Any) -> bool:
    return True


READER: Final = Reader("named-runs", detects=detects, read=read, shape=SHAPE, yields=_always, runs=runs)
