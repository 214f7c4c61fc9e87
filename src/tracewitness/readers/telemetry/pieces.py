"""Parts of recordings: some of their events, or their problems alone."""

from __future__ import annotations

from tracewitness.readers.recording import Recording

__all__ = ["piece_of", "problems_of"]


def piece_of(recording: Recording, begin: int, end: int) -> Recording:
    """Return the events from ``begin`` to ``end``, without any problem."""
    piece = Recording()
    piece._records += recording._records[begin:end]
    piece._paths += recording._paths[begin:end]
    return piece


def problems_of(recording: Recording) -> Recording:
    """Return the problems, without any event."""
    problems = Recording()
    problems._problems += recording._problems
    return problems
