"""What a call that is not made yet would break: its monitors are copied, and the copies are handed the call."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable
from copy import copy
from typing import Any, NamedTuple

from msgspec.structs import replace

from tracewitness.expectations import wording
from tracewitness.expectations.checkset import CheckSet, LiveCheck, _FailedMonitor, _Watched
from tracewitness.expectations.evidence import Misses
from tracewitness.expectations.plan import Monitor
from tracewitness.trace import EventIndex, ToolCall, Trace
from tracewitness.verdict import Verdict

__all__ = ["Offence", "TentativeCheck"]

#: A mapping with more entries is not copied for a call; what the call adds lies over it.
_COPIED_ENTRIES = 16


class Offence(NamedTuple):
    """A check that a call would break for good, or that can't be evaluated with it.

    Attributes:
        number: the number of the check among those of the set.
        verdict: what the check would say of the trace with the call in it.
    """

    number: int
    verdict: Verdict


class TentativeCheck(LiveCheck):
    """A live check that can tell what a call would break before it is made.

    A check is broken for good where no later event can mend it: a forbidden call, one too many, one with arguments that
    must not be. What only the end decides is never broken by a call. Offences that happen all the same do not count for
    later ones: after a call over the budget, each further one is an offence of its own.

    >>> from tracewitness.expectations import compile_checks
    >>> live = TentativeCheck(compile_checks([{"type": "tool_called", "tool": "pay", "min": 0, "max": 1}]))
    >>> live.would_break({"call": "pay"})
    []
    >>> live.feed({"call": "pay"})
    >>> [offence.verdict.justification for offence in live.would_break({"call": "pay"})]
    ['more than 1 call to pay (events 0, 1), expected at most 1']
    """

    def __init__(self, checks: CheckSet) -> None:
        super().__init__(checks)
        #: The monitors that decide: those of the verdicts, but without the offences that happened.
        self._deciding: list[Monitor] = [plan.start() for plan in checks._plans]
        self._looking = tuple(number for number, plan in enumerate(checks._plans) if plan.pristine.looks_at_all())

    @property
    def trace(self) -> Trace:
        """The events so far."""
        return Trace.of_index(self._index)

    def would_break(self, event: Any) -> list[Offence]:
        """Return the checks that a call in neutral form would break for good, in the order of the checks.

        Raises:
            ValueError: the event is no call that can be read.
        """
        call = self._tentative(event)
        handlers: dict[int, list[Callable[..., None]]] = {number: [] for number in self._looking}
        calling, _, short = self._checks._route(call.name)
        for number, handler in calling:
            handlers.setdefault(number, []).append(handler)
        self._index.calls.append(call)
        try:
            offences = [self._tried(number, handlers[number], call) for number in sorted(handlers)]
        finally:
            self._index.calls.pop()
        found = [offence for offence in offences if offence is not None]
        return found if short is None else [*found, *self._made_ambiguous(call.name, short, found)]

    def feed(self, event: Any, offended: frozenset[int] = frozenset()) -> None:
        """Add an event in neutral form that happened.

        Arguments:
            event: the event.
            offended: the numbers of the checks that it breaks, as `would_break` told.
        """
        before = len(self._index.events)
        super().feed(event)
        deciding = _Watched(list(self._deciding))
        for number in offended:
            deciding.monitors[number] = None  # the event goes to a monitor that is thrown away
        self._checks._pass_over(self._index.events[before:], deciding, self._index)
        for number, monitor in enumerate(deciding.monitors):
            if monitor is not None and number not in offended:
                self._deciding[number] = monitor

    def _tentative(self, event: Any) -> ToolCall:
        """Make the call as it would stand in the trace."""
        trace = Trace.from_events([event])
        alone = EventIndex()
        alone.extend(trace.records, trace.unreadable)
        if not alone.calls or alone.problems:
            reason = alone.problems[0].reason if alone.problems else "it is no call"
            raise ValueError(reason)
        index = self._index
        return replace(alone.calls[0], position=len(index), turn=len(index.turn_starts), number=len(index.calls))

    def _tried(self, number: int, handlers: list[Callable[..., None]], call: ToolCall) -> Offence | None:
        plan = self._checks._plans[number]
        monitor = self._deciding[number]
        if isinstance(monitor, _FailedMonitor):
            return Offence(number, monitor.verdict(self._index))
        try:
            trial = _copied(monitor)
            for handler in handlers:
                handler(trial, call)
            if not self._is_broken(trial):
                return None
            if not self._was_broken(monitor, call):
                return Offence(number, trial.verdict(self._index))
        except Exception as error:  # noqa: BLE001 - a check that raises is the verdict `error`
            return Offence(number, _FailedMonitor(plan, error).verdict(self._index))
        return None  # broken by what happened before: holding this call back mends nothing

    def _is_broken(self, monitor: Monitor) -> bool:
        return monitor.is_final("broken") and monitor.verdict(self._index).status != "held"

    def _was_broken(self, monitor: Monitor, call: ToolCall) -> bool:
        """Whether it was broken before the call, which is the last of the index."""
        calls = self._index.calls
        calls.pop()
        try:
            return self._is_broken(monitor)
        finally:
            calls.append(call)

    def _made_ambiguous(self, name: str, short: str, found: list[Offence]) -> list[Offence]:
        """Return the checks on a name that the call would make stand for two tools."""
        checks, others = self._checks, self._watched.full_names.get(short, {})
        full = list(dict.fromkeys((*others, name)))
        primary = checks._names.primary(short)
        if name in others or len({checks._names.primary(each) for each in full}) < 2:
            return []
        known = {offence.number for offence in found}
        words = (wording.ambiguous, primary, full)
        return [
            Offence(number, Verdict(operator, "broken", (), words))
            for number, operator in enumerate(checks.operators)
            if primary in checks._named[number] and number not in known
        ]


def _copied(monitor: Monitor) -> Monitor:
    """Copy a monitor so far that a call handed to the copy changes nothing in it; a long trace costs no more."""
    trial = copy(monitor)
    for field in monitor.__struct_fields__:
        value = getattr(monitor, field)
        kind = value.__class__
        if kind is list or kind is set:
            setattr(trial, field, value.copy())
        elif kind is dict:
            setattr(trial, field, value.copy() if len(value) <= _COPIED_ENTRIES else ChainMap({}, value))
        elif kind is Misses:
            setattr(trial, field, None)  # what earlier calls missed does not say what this one does
        elif field != "plan" and isinstance(value, Monitor):
            setattr(trial, field, _copied(value))
    return trial
