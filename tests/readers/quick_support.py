"""What the tests of the quick decoders share."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from tracewitness.trace import Trace


def optional(
    fields: dict[str, st.SearchStrategy[Any]], **others: st.SearchStrategy[Any]
) -> st.SearchStrategy[dict[str, Any]]:
    """Generate mappings that have all fields, and any of the others."""
    return st.fixed_dictionaries(fields, optional=others)


def told(trace: Trace) -> tuple[Any, ...]:
    """Return what a trace says of itself."""
    calls = [(call.position, call.answer and call.answer.position, call.id, call.is_error) for call in trace.calls]
    events: list[Any] = list(trace.events)
    shown = [(event.turn, repr(event), event.record) for event in events]
    return trace.to_events(), shown, list(trace.records), calls, trace.index.turn_starts, len(trace)
