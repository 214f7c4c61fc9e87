"""Tell runs apart: the spans of a trace, and of all traces of a conversation."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from tracewitness.readers.recording import Recording
from tracewitness.readers.telemetry.conventions import kind_of, session_of
from tracewitness.readers.telemetry.span import Span

__all__ = ["SpanRun", "runs_of"]


class SpanRun(Struct, frozen=True):
    """The spans of a run.

    Attributes:
        name: the id of its conversation, else of its trace; empty where it is the only run.
        problems: what was odd about the document that it is from.
    """

    name: str
    spans: list[Span]
    problems: Recording


def runs_of(spans: Sequence[Span], problems: Recording) -> list[SpanRun]:
    """Return the runs that spans are of, in the order in which they began.

    Traces that say that they are of one conversation, or session, are one run. Traces in which there is no model, no
    agent and no tool are none, unless there are no others.
    """
    runs = _joined(spans)
    telling = [run for run in runs if any(map(kind_of, run))] or runs[:1]
    telling.sort(key=lambda run: min((span.start for span in run if span.start is not None), default=0))
    is_alone = len(telling) == 1
    return [SpanRun("" if is_alone else _name_of(run), run, problems) for run in telling]


def _joined(spans: Sequence[Span]) -> list[list[Span]]:
    traces: dict[str, list[Span]] = {}
    for span in spans:
        traces.setdefault(span.trace_id, []).append(span)
    leaders: dict[str, str] = {}
    runs: dict[str, list[Span]] = {}
    for trace_id, own in traces.items():
        sessions = dict.fromkeys(filter(None, map(session_of, own)))
        leader = next((leaders[session] for session in sessions if session in leaders), trace_id)
        for session in sessions:
            other = leaders.setdefault(session, leader)
            if other != leader and other in runs:  # this trace is of both conversations
                runs.setdefault(leader, []).extend(runs.pop(other))
                leaders.update({key: leader for key, value in leaders.items() if value == other})
        runs.setdefault(leader, []).extend(own)
    return list(runs.values())


def _name_of(spans: Sequence[Span]) -> str:
    return next(filter(None, map(session_of, spans)), spans[0].trace_id)
