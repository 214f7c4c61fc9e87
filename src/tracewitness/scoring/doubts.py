"""What leaves in doubt that a trace shows everything: problems of its recording, and names that two tools share.

A contract or an eval file has checks for that. Who only evaluates has none, so it is looked for here: a score of what
can be seen says nothing of what can't.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Final

from msgspec import Struct

from tracewitness.display import printable
from tracewitness.trace import Problem, ToolCall, Trace, short_tool_name
from tracewitness.verdict import Status, Verdict

__all__ = ["ambiguous", "doubts_about"]

_NAMED: Final = 5


class _Check(Struct, frozen=True):
    """What a doubt breaks, as a verdict needs to know it."""

    type_name: str
    title: str
    reason_text: str = ""


_PARSED: Final = _Check("trace_parsed", "trace_parsed")


def doubts_about(trace: Trace, named: Iterable[str]) -> tuple[Verdict, ...]:
    """Return broken verdicts that say why a trace can't be relied on; none where it can.

    Arguments:
        named: the tools that are expected or forbidden; only what they are called can be ambiguous.
    """
    if trace.no_evidence is not None:  # which says enough
        return ()
    index = trace.index
    found = [_unparsed(trace.problems)] if index.problems or trace.reader_problems else []
    if "projects/" in "".join([call.name for call in index.calls]):  # the quickest way to see that most have none
        found += _ambiguities(index.calls, set(named))
    return tuple(found)


def _unparsed(problems: Sequence[Problem]) -> Verdict:
    positions = [problem.position for problem in problems if problem.position is not None]
    status: Status = "inconclusive" if all(problem.cut for problem in problems) else "broken"
    return Verdict(_PARSED, status, tuple(dict.fromkeys(positions)), (_said, problems))


def _said(problems: Sequence[Problem]) -> str:
    return f"{problems[0]} (and {len(problems) - 1} more)" if len(problems) > 1 else f"{problems[0]}"


def _ambiguities(calls: Sequence[ToolCall], named: Collection[str]) -> Iterator[Verdict]:
    full_names: dict[str, dict[str, None]] = {}
    for call in calls:
        short = short_tool_name(call.name)
        if short is not None and short in named:
            full_names.setdefault(short, {})[call.name] = None
    for short, full in full_names.items():
        if len(full) > 1:
            check = _Check("score", printable(f"score {short}", 100))
            yield Verdict(check, "broken", (), (ambiguous, short, list(full)))


def ambiguous(short: str, full_names: Sequence[str]) -> str:
    """Say that several tools of a trace share a name."""
    shown = " and ".join(printable(name, 60) for name in full_names[:_NAMED])
    return f"{printable(short, 60)} is ambiguous: {shown} share that name"
