"""Which calls of a run are not as they were in another: calls are paired one to one, so that most of them agree."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from msgspec import UNSET, structs

from tracewitness.display import printable, show
from tracewitness.matching import Difference, Eq
from tracewitness.reports.document import RunEntry
from tracewitness.scoring import ExpectedCall
from tracewitness.scoring.evaluate import assess
from tracewitness.scoring.result import EvaluationResult
from tracewitness.trace import MalformedArguments, ToolCall, Trace

from .model import CallChange, CallsChanged
from .tallies import Tally

__all__ = ["changed_calls"]

#: The pairing is exact, so that it takes its time where there are very many calls.
_MOST_CALLS: Final = 400
_NAMELESS: Final = "(no name)"


def changed_calls(base: Tally, new: Tally) -> CallsChanged | None:
    """Return how the calls of the new runs differ from those of the base, or None where they don't or nothing is known.

    Of the base the first run that passed stands for all; of the new ones the first that failed. Where there is none,
    it is the first.
    """
    one = _first(base, passed=True)
    other = _first(new, passed=False)
    if one is None or other is None:
        return None
    changes = tuple(_changes(_trace(one), _trace(other)))
    return CallsChanged(one.run, other.run, changes) if changes else None


def _first(tally: Tally, *, passed: bool) -> RunEntry | None:
    known = [run for run in tally.runs if run.events]
    return next((run for run in known if (run.outcome == "passed") is passed), known[0] if known else None)


def _trace(run: RunEntry) -> Trace:
    """Return a run's trace; a call that names no tool has a name in it, since no call is expected without one."""
    events = run.events or []
    is_nameless = [isinstance(event, dict) and event.get("call") == "" for event in events]
    return Trace.from_events(
        [
            {**event, "call": _NAMELESS} if nameless else event
            for event, nameless in zip(events, is_nameless, strict=True)
        ]
    )


def _changes(base: Trace, new: Trace) -> Iterator[CallChange]:
    if max(len(base.calls), len(new.calls)) > _MOST_CALLS:
        counted = f"{len(base.calls)} calls before, {len(new.calls)} now: too many to be paired"
        yield CallChange("different", "", counted)
        return
    expected = {id(call): call for call in base.calls}
    wanted = [_as_expected(call) for call in base.calls]
    result = assess(wanted, new, strict=True, in_order=True)
    came_from = {id(one): call for one, call in zip(wanted, expected.values(), strict=True)}
    yield from _different(result, came_from)
    for missing in result.missing_calls:
        call = came_from[id(missing)]
        yield CallChange("missing", printable(call.name), _told(call), base_position=call.position)
    for call in result.unexpected_calls:
        yield CallChange("added", printable(call.name), _told(call), new_position=call.position)
    places = [pair.actual.position for pair in result.pairs]
    if places != sorted(places):
        yield CallChange("order", "", "the calls come in another order")


def _different(result: EvaluationResult, came_from: dict[int, ToolCall]) -> Iterator[CallChange]:
    for pair in result.pairs:
        before, now = came_from[id(pair.expected)], pair.actual
        for difference in pair.differences:
            text = _as_it_was(difference).replace("expected ", "was ", 1).replace(", got ", ", is ", 1)
            yield CallChange("different", printable(now.name), text, before.position, now.position)


def _as_it_was(difference: Difference) -> str:
    """Return a difference in words, with the value that came before and not what stands for it."""
    expected = difference.expected
    return str(structs.replace(difference, expected=expected.part) if isinstance(expected, Eq) else difference)


def _as_expected(call: ToolCall) -> ExpectedCall:
    """Return a call as what is expected: literally, since a recorded argument may look like a matcher."""
    args = call.args
    if isinstance(args, MalformedArguments):
        return ExpectedCall(call.name, UNSET)
    return ExpectedCall(call.name, {name: Eq(value) for name, value in args.items()})


def _told(call: ToolCall) -> str:
    args = call.args
    return show(args.raw if isinstance(args, MalformedArguments) else args, 120)
