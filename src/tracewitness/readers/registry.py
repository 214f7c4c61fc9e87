"""The formats that are read. A new one is a module beside this one and a line in `READERS`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from tracewitness.display import show
from tracewitness.errors import ReadError
from tracewitness.readers.neutral import is_neutral, read_neutral, refuse_two_accounts
from tracewitness.readers.text_trace import is_simulation_result, read_text_trace
from tracewitness.trace import Trace

__all__ = ["READERS", "Reader", "trace_of"]


class Reader(NamedTuple):
    """A format.

    Attributes:
        name: what it is called.
        detects: whether decoded data is of this format.
        read: makes a trace of it; its keyword ``name`` is the run's name where the data has none.
    """

    name: str
    detects: Callable[[Any], bool]
    read: Callable[..., Trace]


READERS = (
    Reader("neutral", is_neutral, read_neutral),
    Reader("simulation result", is_simulation_result, read_text_trace),
)


def trace_of(data: Any, name: str = "") -> Trace:
    """Read decoded data in the first format that it is in.

    Arguments:
        data: a row of a file, decoded.
        name: the run's name where the data has none.

    Raises:
        ReadError: it is in none of the formats, or in two of them at once.

    >>> trace_of({"events": [{"call": "search"}]}, "order-1")
    <Trace order-1: 1 events>
    """
    if isinstance(data, Mapping):
        refuse_two_accounts(data)
    for reader in READERS:
        if reader.detects(data):
            return reader.read(data, name=name)
    found = show(list(data)) if isinstance(data, Mapping) else show(data)
    raise ReadError(f"a run has events, or is a simulation's result with a detailed_trace; this has {found}")
