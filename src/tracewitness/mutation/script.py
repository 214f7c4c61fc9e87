"""A run as a list of records that can be cut and put together again, with its calls and their results marked."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

from msgspec import UNSET, Struct
from msgspec.structs import replace

from tracewitness.trace import MalformedArguments, Record, Trace

__all__ = ["Script", "Step", "script_of"]

Records = list[Record]
Build = Callable[[], Records]


class Step(Struct, frozen=True):
    """A call and its result.

    Attributes:
        number: its place among the calls, from 0.
        at: the call's position.
        answered_at: the result's position, or None where nothing answered.
        tool: the tool's name, as it was recorded.
        args: the call's arguments.
    """

    number: int
    at: int
    answered_at: int | None
    tool: str
    args: dict[str, Any]

    @property
    def places(self) -> tuple[int, ...]:
        """The positions of the call and of its result."""
        return (self.at,) if self.answered_at is None else (self.at, self.answered_at)

    @property
    def last_at(self) -> int:
        """The later of the two positions."""
        return self.at if self.answered_at is None else self.answered_at


class Script(Struct, frozen=True):
    """A run, ready to be changed. Every call has an id of its own, so that results stay with their calls.

    Attributes:
        name: the run's name.
        records: its events.
        steps: its calls, in order.
    """

    name: str
    records: tuple[Record, ...]
    steps: tuple[Step, ...]

    def trace(self, records: Records) -> Trace:
        """Make a trace of changed records."""
        return Trace(records, name=self.name, no_evidence=None if records else "the recording is empty")

    def without(self, places: Collection[int]) -> Records:
        """Return the records without those at some positions."""
        return [record for position, record in enumerate(self.records) if position not in places]

    def moved(self, places: Collection[int], before: int) -> Records:
        """Return the records with those at some positions put before another one; the number of records is the end."""
        taken = [self.records[position] for position in sorted(places)]
        head = [record for position, record in enumerate(self.records[:before]) if position not in places]
        tail = [record for position, record in enumerate(self.records[before:], start=before) if position not in places]
        return [*head, *taken, *tail]

    def with_records(self, others: Mapping[int, Record]) -> Records:
        """Return the records with some replaced."""
        records = list(self.records)
        for position, record in others.items():
            records[position] = record
        return records

    def with_args(self, step: Step, args: dict[str, Any]) -> Records:
        """Return the records with other arguments of a call."""
        return self.with_records({step.at: replace(self.records[step.at], args=args)})

    def repeated(self, step: Step) -> Records:
        """Return the records with a call, and its result, once more behind it."""
        again = [replace(self.records[position], id=f"again-{step.number}") for position in step.places]
        end = step.last_at + 1
        return [*self.records[:end], *again, *self.records[end:]]

    def words_after(self, step: Step) -> tuple[int, ...]:
        """Return the positions of what the agent says after a step, until somebody else acts or it calls again."""
        found = []
        for position in range(step.last_at + 1, len(self.records)):
            if self.records[position].agent is UNSET:
                break
            found.append(position)
        return tuple(found)


def script_of(trace: Trace) -> Script:
    """Prepare a run to be changed. Calls whose arguments are no object are left as they are.

    >>> script = script_of(Trace.from_events([{"call": "a"}, {"result": 1}, {"call": "b"}]))
    >>> [(step.tool, step.places) for step in script.steps]
    [('a', (0, 1)), ('b', (2,))]
    """
    records = list(trace.records)
    steps = []
    for call in trace.calls:
        step_id = f"call-{call.number}"
        records[call.position] = replace(records[call.position], id=step_id)
        answer = None if call.answer is None else call.answer.position
        if answer is not None:
            records[answer] = replace(records[answer], id=step_id)
        if not isinstance(call.args, MalformedArguments):
            steps.append(Step(call.number, call.position, answer, call.name, call.args))
    return Script(trace.name, tuple(records), tuple(steps))
