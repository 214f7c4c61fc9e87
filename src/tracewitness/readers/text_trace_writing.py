"""Write a trace as the lines of text that `text_trace` reads back: the form that simulation tools show and judge."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tracewitness.display import printable
from tracewitness.trace import (
    Event,
    MalformedArguments,
    MalformedResult,
    Message,
    ToolCall,
    ToolResult,
    Trace,
    Transfer,
)

__all__ = ["text_entries"]

_MOST_RAW = 2000


def text_entries(trace: Trace) -> list[str]:
    """Return a trace as entries: one for each message of the user, and one for what the agent did after it.

    Text has no place for some things: ids, and with them answers to calls of one tool that came in another order;
    whether a result is an error; the session's end. And what an agent says can look like a line of a tool. So it does
    not replace the events.

    >>> text_entries(Trace.from_events([{"user": "hi"}, {"call": "greet", "args": {"n": 1}}, {"agent": "Hello."}]))
    ['User: hi', "Tool Call: greet with args {'n': 1}\\nAgent Text: Hello."]
    """
    entries: list[str] = []
    lines: list[str] = []
    for event in trace.events:
        if isinstance(event, Message) and event.role == "user":
            entries += _joined(lines)
            entries.append(f"User: {event.text}")
            lines = []
        else:
            lines += _lines(trace, event)
    return entries + _joined(lines)


def _joined(lines: list[str]) -> list[str]:
    return ["\n".join(lines)] if lines else []


def _lines(trace: Trace, event: Event) -> Iterator[str]:
    """Yield the line of an event; an event that has none, or could not be read, is left out."""
    if isinstance(event, Message):
        yield f"{'Agent Text' if event.role == 'agent' else 'Custom Payload'}: {event.text}"
    elif isinstance(event, ToolCall):
        yield f"Tool Call: {_name(event.name)} with args {_literal(event.args)}"
    elif isinstance(event, ToolResult):
        yield f"Tool Response: {_name(_tool_of(trace, event))} with result {_literal(event.payload)}"
    elif isinstance(event, Transfer):
        yield f"Agent Transfer: Transferred to {_name(event.agent)}"


def _name(name: str) -> str:
    """Return a name on one line, so that none forges another line."""
    return printable(name, _MOST_RAW)


def _tool_of(trace: Trace, result: ToolResult) -> str:
    """Return the name of the tool that a result came from."""
    if result.call_number is not None:
        return trace.calls[result.call_number].name
    return result.record.of if isinstance(result.record.of, str) and result.record.of else "unknown"


def _literal(value: Any) -> str:
    """Return a value as a literal; what was malformed as the text that it was, on one line."""
    if isinstance(value, (MalformedArguments, MalformedResult)):
        return printable(value.raw, _MOST_RAW) if isinstance(value.raw, str) else repr(value.raw)
    return repr(value)
