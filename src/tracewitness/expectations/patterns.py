"""Sequences with nested groups: what of a pattern is left after each call, and the monitors that follow it.

What is left of a pattern after a call is a pattern again, or several where the call fits in more than one way: its
partial derivatives (Antimirov, Partial derivatives of regular expressions and finite automaton constructions, 1996),
with the shuffle of independent branches for what comes in any order. So the state of a run is a set of patterns, and
the work per call is bounded by its size, which is bounded when a pattern is loaded.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from collections.abc import Sequence as Listing
from math import comb, prod
from typing import Any, Final, NamedTuple

from msgspec import UNSET, UnsetType

from tracewitness.display import show
from tracewitness.errors import ExpectationError
from tracewitness.expectations import wording
from tracewitness.expectations.evidence import ArgumentsTest, Misses, arguments_test
from tracewitness.expectations.operators import Entry, Group, Repeat, Sequence, Step, steps_of
from tracewitness.expectations.plan import Monitor, Plan, Subscription, ToolNames
from tracewitness.matching import strict_key
from tracewitness.trace import EventIndex, ToolCall, short_tool_name
from tracewitness.verdict import Status, Verdict

__all__ = ["check_pattern", "pattern_plan"]

#: In so many states a pattern may be at once. Each call costs as much.
_MOST_STATES: Final = 4096
#: So deep groups may be nested, and so many calls a pattern may have.
_DEEPEST: Final = 30
_MOST_STEPS: Final = 1000

#: A pattern as a tuple whose first item says what it is; such patterns compare and hash by what they say.
#: ``("step", number)``, ``("row", parts)``, ``("mix", parts)``, ``("any", parts)``, ``("round", part, min, max)``.
_Pattern = tuple[Any, ...]
_DONE: Final[_Pattern] = ("row", ())


# ---------------------------------------------------------------------------------------- what is refused


def check_pattern(entries: Listing[Entry], mode: str) -> None:
    """Refuse a pattern that says nothing in its mode, or that could be in too many states at once.

    Raises:
        ExpectationError: it is such a pattern; the path says where.
    """
    if mode not in ("exact", "in_order"):
        raise ExpectationError(f"groups go with mode exact or in_order, not {mode}", ("mode",))
    for index, entry in enumerate(entries):
        _check_entry(entry, mode, ("calls", index), 0)
    steps = [step for entry in entries for step in steps_of(entry)]
    if len(steps) > _MOST_STEPS:
        raise ExpectationError(f"a pattern has at most {_MOST_STEPS} calls, this has {len(steps)}", ("calls",))
    names = Counter(_bare(step.tool) for step in steps)
    shared = {name for name, count in names.items() if count > 1}
    states = sum(_states(entry, mode, shared) for entry in entries)
    if states > _MOST_STATES:
        what = f"the pattern can be in {states} states at once, at most {_MOST_STATES} are followed"
        raise ExpectationError(f"{what}; put fewer calls to the same tool into groups in any order", ("calls",))


def _check_entry(entry: Entry, mode: str, path: tuple[Any, ...], depth: int) -> None:
    if not isinstance(entry, Group):
        return
    if depth >= _DEEPEST:
        raise ExpectationError(f"groups are nested at most {_DEEPEST} deep", path)
    if mode == "in_order":
        _check_says_something(entry, path)
    for index, each in enumerate(entry.entries):
        _check_entry(each, mode, (*path, entry.kind, *(("calls",) if entry.kind == "repeat" else ()), index), depth + 1)


def _check_says_something(group: Group, path: tuple[Any, ...]) -> None:
    """Refuse what makes no difference where other calls may come anyway."""
    where = "with mode in_order other calls may come anyway"
    if group.kind == "optional":
        raise ExpectationError(f"{where}, so that optional ones say nothing; use mode exact", (*path, "optional"))
    if isinstance(group.repeat, Repeat) and (group.repeat.max is not UNSET or group.repeat.min == 0):
        what = "a maximum says" if group.repeat.max is not UNSET else "min: 0 says"
        raise ExpectationError(f"{where}, so that {what} nothing; use mode exact", (*path, "repeat"))


def _bare(tool: str) -> str:
    return short_tool_name(tool) or tool


def _states(entry: Entry, mode: str, shared: set[str]) -> int:
    """Return a bound for the number of states that an entry can be in after the same calls.

    It is one where each call fits one step alone, and taking it as soon as it comes shuts out nothing.
    """
    is_plain = shared.isdisjoint(_bare(step.tool) for step in steps_of(entry))
    if is_plain and (mode == "exact" or not _has_choice(entry)):
        return 1
    if isinstance(entry, Step):
        return 2
    if isinstance(entry, tuple) or entry.kind == "unordered":
        return _states_of_mix(entry if isinstance(entry, tuple) else entry.entries, mode, shared)
    parts = [_states(each, mode, shared) for each in entry.entries]
    total = sum(parts)
    if isinstance(entry.repeat, Repeat):
        rounds = entry.repeat.min if isinstance(entry.repeat.max, UnsetType) else entry.repeat.max
        return total * (rounds + 1)
    return total


def _states_of_mix(entries: Listing[Entry], mode: str, shared: set[str]) -> int:
    """Return that bound for entries in any order; of those that say the same, only how many are where counts."""
    alike: dict[Any, list[Entry]] = {}
    for entry in entries:
        alike.setdefault(_key(entry), []).append(entry)
    return prod(comb(len(same) + _states(same[0], mode, shared) - 1, len(same)) for same in alike.values())


def _key(entry: Entry) -> Any:
    """Return what is equal for entries that say the same."""
    if isinstance(entry, Step):
        return entry.tool, entry.args is UNSET, strict_key(entry.args)
    if isinstance(entry, tuple):
        return tuple(map(_key, entry))
    rounds = (entry.repeat.min, entry.repeat.max) if isinstance(entry.repeat, Repeat) else ()
    return (entry.kind, *rounds, *map(_key, entry.entries))


def _has_choice(entry: Entry) -> bool:
    return isinstance(entry, Group) and (entry.kind == "one_of" or any(map(_has_choice, entry.entries)))


# ---------------------------------------------------------------------------------------- patterns


class _CompiledStep(NamedTuple):
    """One call of a pattern.

    Attributes:
        place: where it stands, as a path in the check.
    """

    tool: str
    primary: str
    test: ArgumentsTest | None
    shown: str
    place: str

    def accepts(self, call: ToolCall, counted: tuple[str, ...]) -> bool:
        return self.primary in counted and (self.test is None or self.test.holds(call))


class _Compiler:
    """Turns entries into a pattern, and numbers the steps."""

    def __init__(self, names: ToolNames, mode: str) -> None:
        self._names = names
        self._mode = mode
        self.steps: list[_CompiledStep] = []

    def row(self, entries: Listing[Entry], place: str) -> _Pattern:
        return _row(self.entry(each, f"{place}[{index}]") for index, each in enumerate(entries))

    def entry(self, entry: Entry, place: str) -> _Pattern:
        if isinstance(entry, Step):
            return self._step(entry, place)
        if isinstance(entry, tuple):
            return _mix(self._alike(entry, place))
        return self._group(entry, f"{place}.{entry.kind}")

    def _group(self, group: Group, place: str) -> _Pattern:
        if isinstance(group.repeat, Repeat):
            most = None if isinstance(group.repeat.max, UnsetType) else group.repeat.max
            if self._mode == "in_order":
                most = group.repeat.min  # others may come anyway: who has seen so many rounds has seen enough
            return _rounds(self.row(group.repeat.calls, f"{place}.calls"), group.repeat.min, most)
        if group.kind == "ordered":
            return self.row(group.entries, place)
        if group.kind == "optional":
            return ("any", (self.row(group.entries, place), _DONE))
        if group.kind == "unordered":
            return _mix(self._alike(group.entries, place))
        return ("any", tuple(self.entry(each, f"{place}[{index}]") for index, each in enumerate(group.entries)))

    def _alike(self, entries: Listing[Entry], place: str) -> list[_Pattern]:
        """Compile entries in any order, those that say the same as one: which of them a call takes is no difference."""
        known: dict[Any, _Pattern] = {}
        for index, entry in enumerate(entries):
            if _key(entry) not in known:
                known[_key(entry)] = self.entry(entry, f"{place}[{index}]")
        return [known[_key(entry)] for entry in entries]

    def _step(self, step: Step, place: str) -> _Pattern:
        shown = wording.tool(step.tool) + ("" if step.args is UNSET else f" with {show(step.args, 60)}")
        primary, test = self._names.primary(step.tool), arguments_test(step.args)
        self.steps.append(_CompiledStep(step.tool, primary, test, shown, place))
        return ("step", len(self.steps) - 1)


def _row(parts: Iterable[_Pattern]) -> _Pattern:
    """Put patterns one after the other."""
    flat = [each for part in parts for each in (part[1] if part[0] == "row" else (part,))]
    return flat[0] if len(flat) == 1 else ("row", tuple(flat))


def _mix(parts: Iterable[_Pattern]) -> _Pattern:
    """Put patterns beside each other; in which order they are named makes no difference."""
    flat = [each for part in parts for each in (part[1] if part[0] == "mix" else (part,)) if each != _DONE]
    if not flat:
        return _DONE
    return flat[0] if len(flat) == 1 else ("mix", tuple(sorted(flat, key=repr)))


def _rounds(part: _Pattern, least: int, most: int | None) -> _Pattern:
    """Repeat a pattern."""
    return _DONE if most == 0 or part == _DONE else ("round", part, least, most)


def _may_end(pattern: _Pattern) -> bool:
    """Whether nothing needs to come any more."""
    kind, parts = pattern[0], pattern[1]
    if kind == "step":
        return False
    if kind == "round":
        return pattern[2] == 0 or _may_end(parts)
    return any(map(_may_end, parts)) if kind == "any" else all(map(_may_end, parts))


def _left(pattern: _Pattern, accepting: frozenset[int]) -> Iterator[tuple[_Pattern, bool]]:
    """Yield what can be left of a pattern after a call that some steps accept.

    Each comes with whether taking the call shuts out nothing: whatever calls could complete the pattern, with others
    in between, could complete what is left.
    """
    return _LEFT[pattern[0]](pattern, accepting)


def _left_of_step(pattern: _Pattern, accepting: frozenset[int]) -> Iterator[tuple[_Pattern, bool]]:
    if pattern[1] in accepting:
        yield _DONE, True


def _left_of_row(pattern: _Pattern, accepting: frozenset[int]) -> Iterator[tuple[_Pattern, bool]]:
    parts = pattern[1]
    for index, part in enumerate(parts):
        for left, is_free in _left(part, accepting):
            yield _row((left, *parts[index + 1 :])), is_free and index == 0
        if not _may_end(part):
            break


def _left_of_mix(pattern: _Pattern, accepting: frozenset[int]) -> Iterator[tuple[_Pattern, bool]]:
    parts = pattern[1]
    for index, part in enumerate(parts):
        if index and part == parts[index - 1]:
            continue
        for left, is_free in _left(part, accepting):
            yield _mix((*parts[:index], left, *parts[index + 1 :])), is_free


def _left_of_any(pattern: _Pattern, accepting: frozenset[int]) -> Iterator[tuple[_Pattern, bool]]:
    for part in pattern[1]:
        yield from ((left, False) for left, _ in _left(part, accepting))


def _left_of_round(pattern: _Pattern, accepting: frozenset[int]) -> Iterator[tuple[_Pattern, bool]]:
    _, part, least, most = pattern
    rest = _rounds(part, max(least - 1, 0), None if most is None else most - 1)
    for left, is_free in _left(part, accepting):
        yield _row((left, rest)), is_free and least > 0


_LEFT: Final = {
    "step": _left_of_step,
    "row": _left_of_row,
    "mix": _left_of_mix,
    "any": _left_of_any,
    "round": _left_of_round,
}


def _shortest(pattern: _Pattern) -> tuple[int, ...]:
    """Return the steps of the shortest way to complete a pattern."""
    kind, parts = pattern[0], pattern[1]
    if kind == "step":
        return (parts,)
    if kind == "any":
        return min(map(_shortest, parts), key=len)
    if kind == "round":
        return _shortest(parts) * int(pattern[2])
    return tuple(step for part in parts for step in _shortest(part))


def _next_steps(pattern: _Pattern) -> Iterator[int]:
    """Yield the steps that could take the next call."""
    kind, parts = pattern[0], pattern[1]
    if kind == "step":
        yield parts
    elif kind == "round":
        yield from _next_steps(parts)
    else:
        for part in parts:
            yield from _next_steps(part)
            if kind == "row" and not _may_end(part):
                break


# ---------------------------------------------------------------------------------------- monitors


class _Parts(NamedTuple):
    """What a pattern was compiled to, with what is left of it that was found already."""

    pattern: _Pattern
    steps: list[_CompiledStep]
    names: ToolNames
    by_tool: dict[str, list[int]]
    found: dict[tuple[_Pattern, frozenset[int]], dict[_Pattern, bool]]

    def accepting(self, call: ToolCall) -> frozenset[int]:
        """Return the steps that accept a call."""
        counted = self.names.counted_as(call.name)
        candidates = [number for name in counted for number in self.by_tool.get(name, ())]
        return frozenset(number for number in candidates if self.steps[number].accepts(call, counted))

    def left(self, pattern: _Pattern, accepting: frozenset[int]) -> dict[_Pattern, bool]:
        """Return what can be left after a call, and whether that shuts out nothing; kept, since runs are alike."""
        key = (pattern, accepting)
        known = self.found.get(key)
        if known is None:
            if len(self.found) >= _MOST_STATES:
                self.found.clear()
            known = {}
            for left, is_free in _left(pattern, accepting):
                known[left] = known.get(left, False) or is_free
            self.found[key] = known
        return known


def pattern_plan(operator: Sequence, names: ToolNames) -> Plan:
    """Compile a sequence with groups."""
    compiler = _Compiler(names, operator.mode)
    pattern = compiler.row(operator.calls, "calls")
    by_tool: dict[str, list[int]] = {}
    for number, step in enumerate(compiler.steps):
        by_tool.setdefault(step.primary, []).append(number)
    is_exact = operator.mode == "exact"
    wanted = None if is_exact else lambda counted: not by_tool.keys().isdisjoint(counted)
    watch = _ExactPattern if is_exact else _InOrderPattern
    parts = _Parts(pattern, compiler.steps, names, by_tool, {})
    return Plan(operator, watch, [Subscription("call", wanted, watch.call)], parts)


class _TooManyStatesError(Exception):
    """A pattern is in more states than could be told when it was loaded, by names that stand for one tool."""


class _PatternWatch(Monitor, gc=False):
    """What the two modes share: the states, each with the calls that led to it, latest first."""

    states: dict[_Pattern, Any] = {}
    calls: int = 0
    last: ToolCall | None = None

    def __post_init__(self) -> None:
        self.states = {self.plan.parts.pattern: None}

    def _keep(self, states: dict[_Pattern, Any]) -> None:
        if len(states) > _MOST_STATES:
            raise _TooManyStatesError(f"more than {_MOST_STATES} ways to go on")
        self.states = states

    def _nearest_end(self) -> _Pattern:
        """Return the state from which the fewest calls are missing."""
        return min(self.states, key=lambda state: len(_shortest(state)))

    def _incomplete(self, evidence: tuple[int, ...], calls: Iterable[ToolCall]) -> Verdict:
        """Say what is missing on the best path."""
        parts = self.plan.parts
        missing = [parts.steps[number] for number in _shortest(self._nearest_end())]
        step, mode = missing[0], self.plan.operator.mode
        after = evidence[-1] if evidence else None
        words = (wording.pattern_incomplete, step.shown, step.place, after, mode, [each.shown for each in missing[1:]])
        return self._broken(evidence, *words, misses=self._misses([step], calls).nearest)

    def _misses(self, steps: Iterable[_CompiledStep], calls: Iterable[ToolCall]) -> Misses:
        """Return the calls to the tools of steps that have other arguments."""
        misses = Misses()
        for step in steps:
            for call in calls:
                counted = self.plan.parts.names.counted_as(call.name)
                if step.test is not None and step.primary in counted and not step.test.holds(call):
                    test = step.test
                    misses.add(call.position, call.name, lambda test=test, call=call: test.differences(call))  # type: ignore[misc]
        return misses

    def _complete(self, evidence: tuple[int, ...]) -> Verdict:
        operator = self.plan.operator
        return self._held(evidence, wording.sequence_held, operator.mode, len(operator.steps))


class _ExactPattern(_PatternWatch, gc=False):
    """Takes every call; the first that no state has a place for ends it."""

    positions: list[int] = []
    misfit: ToolCall | None = None

    def call(self, call: ToolCall) -> None:
        if self.misfit is not None:
            return
        parts = self.plan.parts
        accepting = parts.accepting(call)
        states = {left: None for state in self.states for left in parts.left(state, accepting)}
        if states:
            self.positions.append(call.position)
            self._keep(states)
        else:
            self.misfit = call

    def verdict(self, index: EventIndex) -> Verdict:  # noqa: ARG002 - the same for every monitor
        if self.misfit is not None:
            return self._misfitting(self.misfit)
        if any(map(_may_end, self.states)):
            return self._complete(tuple(self.positions)) if self.positions else self._held((), wording.no_calls)
        return self._incomplete(tuple(self.positions), ())

    def _misfitting(self, call: ToolCall) -> Verdict:
        numbers = dict.fromkeys(number for state in self.states for number in _next_steps(state))
        steps = [self.plan.parts.steps[number] for number in numbers]
        could_end = any(map(_may_end, self.states))
        words = (
            wording.pattern_misfit,
            [(each.shown, each.place) for each in steps],
            could_end,
            call.name,
            call.position,
        )
        return self._broken((call.position,), *words, misses=self._misses(steps, [call]).nearest)

    def is_final(self, status: Status) -> bool:
        return status == "broken" and self.misfit is not None


class _InOrderPattern(_PatternWatch, gc=False):
    """Takes calls where they fit, and lets others pass; a state stays where taking a call could shut something out."""

    lasting = frozenset({"held"})

    done: Any = None
    missed: list[ToolCall] = []

    def call(self, call: ToolCall) -> None:
        if self.done is not None:
            return
        parts = self.plan.parts
        accepting = parts.accepting(call)
        states: dict[_Pattern, Any] = {}
        for state, way in self.states.items():
            left = parts.left(state, accepting) if accepting else {}
            if not any(left.values()):
                states.setdefault(state, way)
            for each in left:
                states.setdefault(each, (call.position, way))
        if not accepting and len(self.missed) < _MOST_STATES:
            self.missed.append(call)
        self.done = states.get(_DONE)
        self._keep(states)

    def verdict(self, index: EventIndex) -> Verdict:  # noqa: ARG002 - the same for every monitor
        if self.done is not None:
            return self._complete(_positions(self.done))
        return self._incomplete(_positions(self.states[self._nearest_end()]), self.missed)


def _positions(way: Any) -> tuple[int, ...]:
    """Return the positions of the calls that led to a state, in order."""
    found = []
    while way is not None:
        position, way = way
        found.append(position)
    return tuple(reversed(found))
