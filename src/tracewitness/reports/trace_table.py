"""A trace as a table: one line an event, and below it what could not be made sense of."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Final, NamedTuple

import click

from tracewitness.display import plural, printable, show
from tracewitness.trace import (
    End,
    Event,
    MalformedArguments,
    MalformedResult,
    Message,
    Problem,
    ToolCall,
    ToolResult,
    Trace,
    Transfer,
)

__all__ = ["excerpt_lines", "table_lines"]

_COLORS: Final = {"user": "cyan", "agent": "green", "call": "yellow", "error": "red", "unreadable": "red"}
_TITLES: Final = ("event", "turn", "kind", "agent", "tool", "")
#: The most characters of a name, and of what was said, passed or returned.
_NAME: Final = 32
_TEXT: Final = 96


class _Row(NamedTuple):
    """A line of the table; what stands in it is safe to print."""

    position: str
    turn: str
    kind: str
    agent: str
    tool: str
    text: str


def table_lines(trace: Trace) -> Iterator[str]:
    """Yield the lines of a trace's table, coloured; nothing in them moves the cursor or turns the line round.

    >>> import click
    >>> for line in table_lines(Trace.from_events([{"user": "hi"}, {"call": "greet", "args": {"n": 1}}])):
    ...     print(click.unstyle(line))
    event  turn  kind  agent  tool
    0      1     user                "hi"
    1      1     call         greet  {'n': 1}  (unanswered)
    """
    if trace.no_evidence is not None:
        yield click.style(f"no evidence: {printable(trace.no_evidence, 500)}", fg="red")
    rows = [_row(trace, event) for event in trace.events]
    if rows:
        widths = [max(map(len, column)) for column in zip(_TITLES, *rows, strict=True)]
        yield click.style(_line(_TITLES, widths), dim=True)
        for row in rows:
            yield click.style(_line(row, widths), fg=_COLORS.get(row.kind))
    if trace.problems:
        yield click.style(f"{plural(len(trace.problems), 'problem')}:", fg="red")
        for problem in trace.problems:
            yield f"  {_told(problem)}"


def excerpt_lines(trace: Trace, positions: Collection[int], *, around: int = 3) -> Iterator[str]:
    """Yield the lines of a trace's table, uncoloured, of some events and of those around them.

    Arguments:
        positions: the positions of these events; ``>`` stands before them. Without any, it is the last events.
        around: how many events are shown before and after each.

    >>> trace = Trace.from_events([{"call": "greet"}, {"agent": "Hi"}, {"end": True}])
    >>> for line in excerpt_lines(trace, {1}, around=0):
    ...     print(line)
      event  turn  kind   agent  tool
      … 1 event
    > 1      0     agent               "Hi"
      … 1 event
    """
    events = trace.events
    if not events:
        yield f"  no evidence: {printable(trace.no_evidence or 'no call was made', 500)}"
        return
    centres = sorted(set(positions) & set(range(len(events)))) or [len(events) - 1]
    shown = sorted({near for centre in centres for near in range(centre - around, centre + around + 1)})
    rows = [_row(trace, events[position]) for position in shown if 0 <= position < len(events)]
    widths = [max(map(len, column)) for column in zip(_TITLES, *rows, strict=True)]
    yield f"  {_line(_TITLES, widths)}"
    before = -1
    for row in rows:
        position = int(row.position)
        yield from _gap(position - before - 1)
        yield f"{'>' if position in positions else ' '} {_line(row, widths)}"
        before = position
    yield from _gap(len(events) - before - 1)


def _gap(count: int) -> Iterator[str]:
    if count:
        yield f"  … {plural(count, 'event')}"


def _line(cells: tuple[str, ...], widths: list[int]) -> str:
    return "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip()


def _row(trace: Trace, event: Event) -> _Row:
    kind, tool, text = _told_of(trace, event)
    record = getattr(event, "record", None)
    agent = record.by if record is not None and isinstance(record.by, str) else ""
    turn = str(event.turn) if hasattr(event, "turn") else ""
    return _Row(str(event.position), turn, kind, printable(agent, _NAME), printable(tool, _NAME), text)


def _told_of(trace: Trace, event: Event) -> tuple[str, str, str]:
    """Return what kind of event it is, the tool's name, and what was said, passed or returned."""
    if isinstance(event, Message):
        return event.role, "", f'"{printable(event.text, _TEXT)}"'
    if isinstance(event, ToolCall):
        malformed = isinstance(event.args, MalformedArguments)
        args = f"malformed: {show(event.args.raw, _TEXT)}" if malformed else show(event.args, _TEXT)  # type: ignore[union-attr]
        return "call", event.name, args if event.answer is not None else f"{args}  (unanswered)"
    if isinstance(event, ToolResult):
        return _told_of_result(trace, event)
    if isinstance(event, Transfer):
        return "transfer", "", f"to {printable(event.agent, _NAME)}"
    if isinstance(event, End):
        return "end", "", ""
    return "unreadable", "", show(event.raw, _TEXT)


def _told_of_result(trace: Trace, result: ToolResult) -> tuple[str, str, str]:
    payload = result.payload
    text = f"undecodable: {show(payload.raw, _TEXT)}" if isinstance(payload, MalformedResult) else show(payload, _TEXT)
    kind = "error" if result.is_error else "result"
    if result.call_number is None:
        return kind, "", f"{text}  (answers no call)"
    return kind, trace.calls[result.call_number].name, f"{text}  (of {result.call_position})"


def _told(problem: Problem) -> str:
    where = printable(problem.place, 200) or (f"event {problem.position}" if problem.position is not None else "")
    hides = "; the recording breaks off here" if problem.cut else "; it may hide a call" if problem.hides_call else ""
    return f"{f'{where}: ' if where else ''}{printable(problem.reason, 500)}{hides}"
