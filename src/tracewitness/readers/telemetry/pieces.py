"""Parts of recordings: some of their events, or their problems alone."""

from __future__ import annotations

from collections.abc import Callable

from tracewitness.readers.recording import Recording
from tracewitness.trace import Record

__all__ = ["chosen_of", "piece_of", "problems_of"]


def piece_of(recording: Recording, end: int) -> Recording:
    """Return the events before ``end``, without any problem."""
    piece = Recording()
    piece._records += recording._records[:end]
    piece._paths += recording._paths[:end]
    return piece


def chosen_of(recording: Recording, is_chosen: Callable[[Record], bool]) -> Recording:
    """Return the events that are chosen, and the problems."""
    chosen = problems_of(recording)
    for record, path in zip(recording._records, recording._paths, strict=True):
        if is_chosen(record):
            chosen._add(record, path)
    return chosen


def problems_of(recording: Recording) -> Recording:
    """Return the problems, without any event."""
    problems = Recording()
    problems._problems += recording._problems
    return problems
