"""The faults: each kind of them makes wrong runs of a right one.

Every fault is first a `_Change`, which says what it is and can make the records; only those that are chosen are made.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise, zip_longest
from typing import Any, Final

from msgspec import UNSET, Struct
from msgspec.structs import replace

from tracewitness.display import printable, show
from tracewitness.errors import PathPart, path_text
from tracewitness.mutation.equivalence import (
    NOTHING,
    Declared,
    same_although_dropped,
    same_although_repeated,
    same_although_swapped,
)
from tracewitness.mutation.script import Build, Records, Script, Step, script_of
from tracewitness.mutation.values import look_alikes, of_another_type
from tracewitness.redaction import Redaction
from tracewitness.trace import Trace

__all__ = ["KINDS", "Mutant", "mutants", "shares"]

Path = tuple[PathPart, ...]

_ADDED: Final = "unexpected"
_REFUSED: Final = {"error": "the tool failed"}


class Mutant(Struct, frozen=True):
    """A run with one fault.

    Attributes:
        kind: the kind of the fault, one of `KINDS`.
        tool: the tool whose call is concerned, as it was recorded.
        path: where in the arguments the fault lies; empty where it concerns the whole call.
        position: where in the right run the call stands.
        what: the fault in words.
        value: the wrong value, or UNSET.
        same_as: why the run is as right as before, or an empty text. Such a one says nothing of any check.
        trace: the run.
    """

    kind: str
    tool: str
    path: Path
    position: int
    what: str
    value: Any
    same_as: str
    trace: Trace

    def words(self, redaction: Redaction) -> str:
        """Return the fault in words, the wrong value with them, but for what must not be shown."""
        if self.value is UNSET:
            return printable(redaction.text(self.what))
        return printable(redaction.text(f"{self.what}: {show(redaction.value(self.value, ('args', *self.path)))}"))


class _Change(Struct, frozen=True):
    """A fault that can be made."""

    tool: str
    position: int
    what: str
    build: Build
    path: Path = ()
    value: Any = UNSET
    same_as: str = ""


_Changes = Iterator[_Change]


def _dropped(script: Script, declared: Declared) -> _Changes:  # noqa: ARG001 - as all kinds
    for step in script.steps:
        places = {*step.places, *script.words_after(step)}
        yield _change(step, "is not made, and nothing is said of it", partial(script.without, places))


def _only_claimed(script: Script, declared: Declared) -> _Changes:  # noqa: ARG001 - as all kinds
    for step in script.steps:
        if script.words_after(step):
            what = "is not made; what the agent says after it stays"
            yield _change(step, what, partial(script.without, set(step.places)))


def _repeated(script: Script, declared: Declared) -> _Changes:
    for step in script.steps:
        same_as = same_although_repeated(step, declared)
        yield _change(step, "is made twice", partial(script.repeated, step), same_as=same_as)


def _swapped(script: Script, declared: Declared) -> _Changes:
    for one, other in pairwise(script.steps):
        what = f"comes after {_called(other)}"
        yield _change(
            one, what, partial(_exchange, script, one, other), same_as=same_although_swapped(one, other, declared)
        )


def _exchange(script: Script, one: Step, other: Step) -> Records:
    """Put each of two calls in the place of the other, and so their results; without one, move the later."""
    records = script.records
    if one.answered_at is None or other.answered_at is None:
        return script.moved(other.places, one.at)
    exchanged = {one.at: records[other.at], other.at: records[one.at]}
    if one.answered_at < other.at:
        exchanged |= {one.answered_at: records[other.answered_at], other.answered_at: records[one.answered_at]}
    return script.with_records(exchanged)


def _delayed(script: Script, declared: Declared) -> _Changes:  # noqa: ARG001 - as all kinds
    end = len(script.records)
    for step in script.steps[:-2]:  # the last but one is exchanged with the last
        yield _change(step, "is made at the very end", partial(script.moved, step.places, end))


def _too_early(script: Script, declared: Declared) -> _Changes:
    """Make a call while the answer to the one before it, by which it may have to go, is still on its way."""
    for one, other in pairwise(script.steps):
        if one.answered_at is not None and one.answered_at < other.at:
            what = f"is made before the result of {_called(one)} is there"
            same_as = same_although_swapped(one, other, declared)
            yield _change(other, what, partial(script.moved, (other.at,), one.answered_at), same_as=same_as)


def _changed(script: Script, declared: Declared) -> _Changes:  # noqa: ARG001 - as all kinds
    for step in script.steps:
        for argument, value in step.args.items():
            for path, other in look_alikes(value):
                place = (argument, *path)
                what = f"has another value in {path_text(place, '').lstrip('.')}"
                yield _with(script, step, what, place, other, _at(other, path))


def _retyped(script: Script, declared: Declared) -> _Changes:  # noqa: ARG001 - as all kinds
    for step in script.steps:
        for argument, value in step.args.items():
            other = of_another_type(value)
            what = f"has a value of another type in {argument}"
            yield _with(script, step, what, (argument,), other, other)


def _nulled(script: Script, declared: Declared) -> _Changes:  # noqa: ARG001 - as all kinds
    for step in script.steps:
        for argument, value in step.args.items():
            if value is not None:
                yield _with(script, step, f"has null in {argument}", (argument,), None)


def _argument_dropped(script: Script, declared: Declared) -> _Changes:
    for step in script.steps:
        for argument in step.args:
            args = {key: value for key, value in step.args.items() if key != argument}
            same_as = same_although_dropped(step, argument, declared)
            build = partial(script.with_args, step, args)
            yield _change(step, f"lacks {argument}", build, (argument,), same_as=same_as)


def _argument_added(script: Script, declared: Declared) -> _Changes:  # noqa: ARG001 - as all kinds
    for step in script.steps:
        if _ADDED not in step.args:
            yield _with(script, step, f"has one argument more, {_ADDED}", (_ADDED,), True)


def _failed(script: Script, declared: Declared) -> _Changes:  # noqa: ARG001 - as all kinds
    for step in script.steps:
        answer = None if step.answered_at is None else script.records[step.answered_at]
        if step.answered_at is not None and answer is not None and answer.is_error is not True:
            refused = replace(answer, result=_REFUSED, raw_result=UNSET, is_error=True)
            build = partial(script.with_records, {step.answered_at: refused})
            yield _change(step, "fails, and the agent goes on as if it had not", build)


def _stopped(script: Script, declared: Declared) -> _Changes:  # noqa: ARG001 - as all kinds
    for step in script.steps:
        if step.at:
            yield _change(step, "and all after it never happens", partial(_head, script, step.at))


def _head(script: Script, end: int) -> Records:
    return list(script.records[:end])


_MAKERS: Final[dict[str, Callable[[Script, Declared], _Changes]]] = {
    "drop_call": _dropped,
    "claim_without_call": _only_claimed,
    "repeat_call": _repeated,
    "swap_calls": _swapped,
    "delay_call": _delayed,
    "act_before_result": _too_early,
    "change_value": _changed,
    "change_type": _retyped,
    "null_argument": _nulled,
    "drop_argument": _argument_dropped,
    "add_argument": _argument_added,
    "fail_result": _failed,
    "stop_early": _stopped,
}
#: The kinds of faults.
KINDS: Final = tuple(_MAKERS)


def mutants(trace: Trace, *, most: int | None = None, seed: int = 0, declared: Declared = NOTHING) -> list[Mutant]:
    """Make wrong runs of a right one, each with one fault.

    Arguments:
        trace: the right run. Of what has problems, or of which there is no evidence, none are made.
        most: how many at most; of each kind as many, as far as there are so many. None makes all.
        seed: decides which are chosen where there are more; the same number always chooses the same.
        declared: what is known of the tools.

    >>> run = Trace.from_events([{"call": "order", "args": {"item": "A12"}}, {"result": "done"}])
    >>> for mutant in mutants(run)[:4]:
    ...     print(mutant.kind, "|", mutant.what)
    drop_call | order (event 0) is not made, and nothing is said of it
    repeat_call | order (event 0) is made twice
    change_value | order (event 0) has another value in item
    change_type | order (event 0) has a value of another type in item
    """
    if trace.no_evidence is not None or trace.problems:
        return []
    script = script_of(trace)
    by_kind = {kind: list(make(script, declared)) for kind, make in _MAKERS.items()}
    chosen = _spread(by_kind, most, seed)
    made: dict[tuple[int, ...], Mutant] = {}
    for kind, change in chosen:
        records = change.build()
        # Records that were not changed are the same objects, so that two faults with the same outcome are told.
        made.setdefault(tuple(map(id, records)), _mutant(kind, change, script.trace(records)))
    return list(made.values())


def shares(most: int, runs: int) -> list[int]:
    """Divide a number of mutants among runs.

    >>> shares(8, 3)
    [3, 3, 2]
    """
    return [most // runs + (number < most % runs) for number in range(runs)]


def _spread(by_kind: dict[str, list[_Change]], most: int | None, seed: int) -> list[tuple[str, _Change]]:
    """Choose so many changes, in turn one of each kind, and return them in the order of the kinds."""
    every = [(kind, number) for kind, changes in by_kind.items() for number in range(len(changes))]
    if most is None or len(every) <= most:
        kept = set(every)
    else:
        draws = random.Random(seed)  # noqa: S311 - nothing secret hangs on it
        shuffled = [draws.sample(range(len(changes)), len(changes)) for changes in by_kind.values()]
        in_turn = [
            (kind, number)
            for row in zip_longest(*shuffled)
            for kind, number in zip(by_kind, row, strict=True)
            if number is not None
        ]
        kept = set(in_turn[:most])
    return [(kind, by_kind[kind][number]) for kind, number in every if (kind, number) in kept]


def _mutant(kind: str, change: _Change, trace: Trace) -> Mutant:
    return Mutant(kind, change.tool, change.path, change.position, change.what, change.value, change.same_as, trace)


def _change(step: Step, what: str, build: Build, path: Path = (), value: Any = UNSET, *, same_as: str = "") -> _Change:
    return _Change(step.tool, step.at, f"{_called(step)} {what}", build, path, value, same_as)


def _with(script: Script, step: Step, what: str, path: Path, other: Any, shown: Any = UNSET) -> _Change:
    """Change an argument to another value."""
    build = partial(script.with_args, step, {**step.args, str(path[0]): other})
    return _change(step, what, build, path, shown)


def _called(step: Step) -> str:
    return f"{step.tool} (event {step.at})"


def _at(value: object, path: tuple[str | int, ...]) -> object:
    for part in path:
        value = value[part]  # type: ignore[index]  # the path was found in the value
    return value
