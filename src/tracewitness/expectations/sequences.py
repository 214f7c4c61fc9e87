"""Monitors of `Sequence`, one for each mode, and the pairing of calls with entries that they share."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET

from tracewitness.display import plural, show
from tracewitness.expectations import wording
from tracewitness.expectations.evidence import Misses, arguments_test
from tracewitness.expectations.operators import Sequence, Step, steps_of
from tracewitness.expectations.patterns import pattern_plan
from tracewitness.expectations.plan import Monitor, Plan, Subscription, ToolNames
from tracewitness.matching import strict_key
from tracewitness.trace import EventIndex, ToolCall
from tracewitness.verdict import Verdict

__all__ = ["sequence_plan"]


class _Entry:
    """One entry of a sequence, compiled; entries that say the same share one, with a count."""

    __slots__ = ("count", "primary", "shown", "test", "tool")

    def __init__(self, step: Step, names: ToolNames, count: int) -> None:
        self.tool = step.tool
        self.shown = wording.tool(step.tool) + ("" if step.args is UNSET else f" with {show(step.args, 60)}")
        self.primary = names.primary(step.tool)
        self.test = arguments_test(step.args)
        self.count = count

    def accepts(self, call: ToolCall, counted: tuple[str, ...]) -> bool:
        return self.primary in counted and (self.test is None or self.test.holds(call))


def _entries(group: tuple[Step, ...], names: ToolNames) -> list[_Entry]:
    """Compile the entries of a group, those that say the same as one."""
    same: dict[Any, list[Step]] = {}
    for step in group:
        same.setdefault((step.tool, step.args is UNSET, strict_key(step.args)), []).append(step)
    return [_Entry(steps[0], names, len(steps)) for steps in same.values()]


class _Pairing:
    """Pairs calls with entries one to one as the calls come: each new call is let in where a rearrangement allows it.

    An augmenting path from the new call, by breadth first; it is tried once for each call, which is enough, since a
    call that can't be let in now can't be let in later either. A call that only one entry accepts can never move, so
    paths go only through the others.
    """

    __slots__ = ("_accepted", "_by_tool", "_movable", "calls", "entries", "free", "taken")

    def __init__(self, entries: list[_Entry]) -> None:
        self.entries = entries
        self.free = sum(entry.count for entry in entries)
        self.taken: list[set[int]] = [set() for _ in entries]  # of each entry, the indexes in `calls`
        self.calls: list[ToolCall] = []
        self._movable: list[set[int]] = [set() for _ in entries]
        self._accepted: list[list[int]] = []
        self._by_tool: dict[str, list[int]] = {}
        for at, entry in enumerate(entries):
            self._by_tool.setdefault(entry.primary, []).append(at)

    @property
    def complete(self) -> bool:
        return self.free == 0

    def missing(self) -> _Entry:
        """Return the first entry that lacks a call."""
        return next(entry for entry, taken in zip(self.entries, self.taken, strict=True) if len(taken) < entry.count)

    def positions(self) -> tuple[int, ...]:
        return tuple(sorted(self.calls[at].position for taken in self.taken for at in taken))

    def offer(self, call: ToolCall, counted: tuple[str, ...]) -> bool:
        """Pair a call with an entry if that is possible, and say whether it was."""
        candidates = [at for name in counted for at in self._by_tool.get(name, ())]
        accepted = [at for at in candidates if self.entries[at].accepts(call, counted)]
        if not accepted:
            return False
        number = len(self.calls)
        came_from = dict.fromkeys(accepted, number)
        queue = list(accepted)
        for at in queue:
            if len(self.taken[at]) < self.entries[at].count:
                self.calls.append(call)
                self._accepted.append(accepted)
                self._shift(at, came_from, number)
                return True
            for owner in self._movable[at]:
                for other in self._accepted[owner]:
                    if other not in came_from:
                        came_from[other] = owner
                        queue.append(other)
        return False

    def _shift(self, entry: int, came_from: dict[int, int], new: int) -> None:
        """Give ``entry`` to the call from which it was reached, and what that call gives up to the one before it."""
        while True:
            call = came_from[entry]
            given_up = next((at for at in self._accepted[call] if call in self.taken[at]), None)
            self.taken[entry].add(call)
            if len(self._accepted[call]) > 1:
                self._movable[entry].add(call)
            if call == new or given_up is None:
                break
            self.taken[given_up].discard(call)
            self._movable[given_up].discard(call)
            entry = given_up
        self.free -= 1


_NO_PAIRING = _Pairing([])


def _all_entries(plan: Plan) -> _Pairing:
    (group,) = plan.parts[0]
    return _Pairing(group)


class _SequenceWatch(Monitor, gc=False):
    """What the four modes share: the entries' near misses."""

    misses: list[ToolCall] = []

    def _keep_miss(self, call: ToolCall) -> None:
        if len(self.misses) < 64:
            self.misses.append(call)

    def _missing(self, entry: _Entry, evidence: tuple[int, ...], after: int | None, index: EventIndex) -> Verdict:
        """Say that an entry has no call, with the call to that tool whose arguments came nearest.

        Arguments:
            evidence: the positions of the calls that entries have.
            after: the position after which the call had to come; None where it could come anywhere.
        """
        _, names = self.plan.parts
        misses = Misses()
        test = entry.test
        if test is not None:
            for call in self.misses:
                if entry.primary in names.counted_as(call.name) and not test.holds(call):
                    misses.add(call.position, call.name, lambda call=call: test.differences(call))  # type: ignore[misc]
        words = (wording.sequence_missing, entry.shown, self.plan.operator.mode, after)
        return self._broken(evidence, *words, self._instead(entry, evidence, after, index), misses=misses.nearest)

    def _instead(self, entry: _Entry, evidence: tuple[int, ...], after: int | None, index: EventIndex) -> str:
        """Say what is known of a missing call: that it came too early, too seldom, or under another name."""
        _, names = self.plan.parts
        found = [call for call in index.calls if entry.accepts(call, names.counted_as(call.name))]
        early = [call.position for call in found if after is not None and call.position not in evidence]
        if early:
            return f"; it came too early, at {wording.events(early)}"
        if found:
            return f"; {plural(len(found), 'such call')} in all"
        return "" if self.misses else wording.meant(entry.tool, [call.name for call in index.calls])

    def _all_there(self, evidence: tuple[int, ...]) -> Verdict:
        operator = self.plan.operator
        return self._held(evidence, wording.sequence_held, operator.mode, len(operator.steps))


class _InOrderWatch(_SequenceWatch, gc=False):
    """Takes the entries as a subsequence. The earliest call that completes a group leaves the most for the rest."""

    lasting = frozenset({"held"})

    stage: int = 0
    positions: tuple[int, ...] = ()
    stages: list[_Pairing] = []

    def __post_init__(self) -> None:
        self.stages = [_Pairing(group) for group in self.plan.parts[0]]

    def call(self, call: ToolCall) -> None:
        if self.stage == len(self.stages):
            return
        pairing = self.stages[self.stage]
        if not pairing.offer(call, self.plan.parts[1].counted_as(call.name)):
            self._keep_miss(call)
        elif pairing.complete:
            self.positions += pairing.positions()
            self.stage += 1

    def verdict(self, index: EventIndex) -> Verdict:
        if self.stage == len(self.stages):
            return self._all_there(self.positions)
        after = self.positions[-1] if self.positions else None
        return self._missing(self.stages[self.stage].missing(), self.positions, after, index)


class _AnyOrderWatch(_SequenceWatch, gc=False):
    """Gives each entry a call of its own, in any order."""

    lasting = frozenset({"held"})

    pairing: _Pairing = _NO_PAIRING  # its own comes from __post_init__, for it depends on the plan

    def __post_init__(self) -> None:
        self.pairing = _all_entries(self.plan)

    def call(self, call: ToolCall) -> None:
        if not self.pairing.complete and not self.pairing.offer(call, self.plan.parts[1].counted_as(call.name)):
            self._keep_miss(call)

    def verdict(self, index: EventIndex) -> Verdict:
        if self.pairing.complete:
            return self._all_there(self.pairing.positions())
        return self._missing(self.pairing.missing(), self.pairing.positions(), None, index)


class _SubsetWatch(_SequenceWatch, gc=False):
    """Gives each call made an entry of its own; entries may stay unused."""

    lasting = frozenset({"broken"})

    calls: int = 0
    pairing: _Pairing = _NO_PAIRING  # its own comes from __post_init__, for it depends on the plan
    surplus: ToolCall | None = None

    def __post_init__(self) -> None:
        self.pairing = _all_entries(self.plan)

    def call(self, call: ToolCall) -> None:
        self.calls += 1
        if self.surplus is None and not self.pairing.offer(call, self.plan.parts[1].counted_as(call.name)):
            self.surplus = call

    def verdict(self, index: EventIndex) -> Verdict:  # noqa: ARG002 - the same for every monitor
        if self.surplus is not None:
            name, position = self.surplus.name, self.surplus.position
            return self._broken((position,), wording.sequence_surplus, name, position, "subset")
        if not self.calls:
            return self._held((), wording.no_calls)
        return self._all_there(self.pairing.positions())


class _ExactWatch(_SequenceWatch, gc=False):
    """Takes the calls group by group, with nothing between, before or after them."""

    calls: list[ToolCall] = []
    listed: int = 0

    def __post_init__(self) -> None:
        self.listed = sum(entry.count for group in self.plan.parts[0] for entry in group)

    def call(self, call: ToolCall) -> None:
        if len(self.calls) <= self.listed:  # one more proves that there are too many
            self.calls.append(call)

    def verdict(self, index: EventIndex) -> Verdict:
        groups, _ = self.plan.parts
        at = 0
        for group in groups:
            size = sum(entry.count for entry in group)
            broken = self._mismatch(group, self.calls[at : at + size], index)
            if broken is not None:
                return broken
            at += size
        if len(self.calls) > at:
            surplus = self.calls[at]
            return self._broken((surplus.position,), wording.sequence_surplus, surplus.name, surplus.position, "exact")
        return self._all_there(tuple(call.position for call in self.calls))

    def _mismatch(self, group: list[_Entry], found: list[ToolCall], index: EventIndex) -> Verdict | None:
        """Return the verdict where the calls that stand in a group's place are not the group's."""
        names = self.plan.parts[1]
        pairing = _Pairing(group)
        spares = [call for call in found if not pairing.offer(call, names.counted_as(call.name))]
        if pairing.complete:
            return None
        unpaired = pairing.missing()
        spare = spares[0] if spares else None
        if spare is None:
            after = self.calls[-1].position if self.calls else None
            return self._missing(unpaired, tuple(call.position for call in self.calls), after, index)
        self.misses = [spare]
        if unpaired.primary in names.counted_as(spare.name):
            return self._missing(unpaired, (spare.position,), None, index)
        return self._broken((spare.position,), wording.sequence_other, unpaired.tool, spare.name, spare.position)


_MODES: dict[str, Any] = {
    "exact": _ExactWatch,
    "in_order": _InOrderWatch,
    "any_order": _AnyOrderWatch,
    "subset": _SubsetWatch,
}


def sequence_plan(operator: Sequence, names: ToolNames) -> Plan:
    """Compile a sequence: the mode picks the monitor; modes that allow other calls see only the listed tools."""
    if operator.has_groups:
        return pattern_plan(operator, names)
    watch = _MODES[operator.mode]
    free = operator.mode in ("any_order", "subset")  # then all entries are one group
    groups = [_entries(group, names) for group in ([operator.steps] if free else map(steps_of, operator.calls))]
    listed = {entry.primary for group in groups for entry in group}
    wanted = None if operator.is_universal() else lambda counted: not listed.isdisjoint(counted)
    return Plan(operator, watch, [Subscription("call", wanted, watch.call)], (groups, names))
