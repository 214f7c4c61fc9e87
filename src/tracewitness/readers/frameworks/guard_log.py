"""Read the logs of `tracewitness.Guard`: lines of decisions with the events that they are about."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from tracewitness.readers.reader import Reader
from tracewitness.readers.recording import refuse
from tracewitness.trace import Trace

__all__ = ["READER", "blocked_event", "read"]

SHAPE: Final = "the log of a guard has lines with guard, one of allow, warn, block and event, and an event"

_ACTIONS: Final = ("allow", "warn", "block", "event")  # compared, not hashed: what stands in a log may be anything


def detects(document: Any) -> bool:
    """Whether these are lines of a guard's log."""
    return isinstance(document, list) and any(map(_is_line, document))


def _is_line(line: Any) -> bool:
    return isinstance(line, Mapping) and "event" in line and line.get("guard") in _ACTIONS


def blocked_event(event: Any, reasons: Any) -> dict[str, Any]:
    """Return what stands in a trace for a call that was held back: it did not happen, so it is no call."""
    told = "; ".join(map(str, reasons)) if isinstance(reasons, (list, tuple)) else ""
    return {"system": f"A call was held back: {told}", "metadata": {"blocked": event}}


def read(document: Any, name: str = "") -> Trace:
    """Read a log; a line that is none is kept as an event that can't be understood.

    >>> line = {"guard": "block", "event": {"call": "refund", "args": {}}, "reasons": ["ask first"]}
    >>> read([line]).to_events()[0]["system"]
    'A call was held back: ask first'
    """
    if not detects(document):
        raise refuse(document, SHAPE)
    return Trace.from_events([_event_of(line) for line in document], name=name)


def _event_of(line: Any) -> Any:
    if not _is_line(line):
        return line if not isinstance(line, Mapping) else {"not a line of a guard": dict(line)}
    return blocked_event(line["event"], line.get("reasons")) if line["guard"] == "block" else line["event"]


READER: Final = Reader("guard-log", detects, read, SHAPE, keys=frozenset({"guard"}), is_log=True)
