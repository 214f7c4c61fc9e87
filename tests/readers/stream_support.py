"""What the tests of streams share: server-sent events as a server writes them, and what detection says of a list."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from tracewitness.readers import read
from tracewitness.readers.registry import detected
from tracewitness.trace import Trace


def server_sent(events: Iterable[Any], *, named: bool = False, done: bool = False) -> str:
    """Return events as text.

    Arguments:
        named: whether each event says its type before its data too.
        done: whether the mark comes after which nothing is to come.
    """
    lines = []
    for event in events:
        lines += [f"event: {event['type']}"] if named else []
        lines += [f"data: {json.dumps(event)}", ""]
    return "\n".join([*lines, *(["data: [DONE]", "", ""] if done else [""])])


def json_lines(events: Iterable[Any]) -> str:
    """Return events as JSON Lines."""
    return "".join(f"{json.dumps(event)}\n" for event in events)


def read_everywhere(events: list[Any], name: str) -> Trace:
    """Read a stream from all that it is written in, make sure that each reads the same, and return the trace.

    Arguments:
        name: of the format, which must be the only one that is found.
    """
    assert [reader.name for reader in detected(events)] == [name]
    trace = read(events)
    sources = [server_sent(events), json.dumps(events)]
    for source in [*sources, json_lines(events)] if len(events) > 1 else sources:  # one line is no list
        other = read(source)
        assert other.to_events() == trace.to_events()
        assert list(map(str, other.problems)) == list(map(str, trace.problems))
    return trace


def reasons(trace: Trace) -> list[str]:
    """Return why the problems of a trace are some."""
    return [problem.reason for problem in trace.problems]
