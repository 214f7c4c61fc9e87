"""The fixture ``record_trace``: a block of `tracewitness.record` for one test."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from tracewitness.capture import Recording, record
from tracewitness.pytest_plugin.notes import evidence_of
from tracewitness.redaction import Redaction, redact_events
from tracewitness.reports.trace_table import excerpt_lines
from tracewitness.trace import Trace

if TYPE_CHECKING:
    import pytest

__all__ = ["recorded"]

_SHOWN: Final = 24


@contextmanager
def recorded(item: pytest.Item) -> Iterator[Recording]:
    """Record while a test runs. Where it fails, the last events are in its report."""
    with record() as recording:
        sections = evidence_of(item).sections
        sections.append(("recorded trace", lambda: _lines(recording.trace)))
        yield recording


def _lines(trace: Trace) -> Iterator[str]:
    """Yield the last events, without secrets."""
    shown = Trace.from_events(redact_events(trace.to_events(), Redaction()))
    return excerpt_lines(trace if trace.no_evidence else shown, (), around=_SHOWN)
