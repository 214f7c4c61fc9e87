"""What a contract keeps of what it is given, and how it hands on errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from tracewitness.errors import TracewitnessError
from tracewitness.trace import Message, Record, Trace

__all__ = ["copied", "with_prompt", "without_frames"]

_Made = TypeVar("_Made")

#: Hides the frames of this module in a test runner's traceback.
__tracebackhide__ = True

_DEEPEST = 200


def copied(value: Any, depth: int = 0) -> Any:
    """Return a value with every plain list and mapping in it made anew, so that nobody can change it behind our back.

    Whatever else there is, a matcher for one, stays the same object. What is nested too deeply stays as it is, for
    whoever reads it to refuse.
    """
    if depth > _DEEPEST:
        return value
    if type(value) is dict:
        return {key: copied(item, depth + 1) for key, item in value.items()}
    if type(value) is list:
        return [copied(item, depth + 1) for item in value]
    if type(value) is tuple:
        return tuple([copied(item, depth + 1) for item in value])
    return value


def with_prompt(trace: Trace, prompt: Any) -> Trace:
    """Return a trace that begins with what the user said, where it has no word of theirs.

    A trace with problems stays as it is: what it says of places would be wrong, and what asks for words is broken.
    """
    if not isinstance(prompt, str) or not prompt or trace.no_evidence is not None or trace.problems:
        return trace
    if any(isinstance(event, Message) and event.role == "user" for event in trace.events):
        return trace
    return Trace((Record(user=prompt), *trace.records), name=trace.name, text_alone=trace.text_alone)


def without_frames(make: Callable[[], _Made]) -> _Made:
    """Return what a function makes; an error of ours comes without the frames between its place and the user's line.

    Nothing of the user's own may run in it: what an agent raises passes through untouched.
    """
    try:
        return make()
    except TracewitnessError as error:
        raise error.with_traceback(None) from error.__cause__
