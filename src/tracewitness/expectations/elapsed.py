"""The monitor of within_seconds: how long a run, a call, or the way from one call to another took."""

from __future__ import annotations

from datetime import UTC, datetime
from math import isfinite
from typing import Any, ClassVar

from msgspec import UNSET, UnsetType

from tracewitness.expectations import wording
from tracewitness.expectations.evidence import ArgumentsTest, PayloadTest, arguments_test
from tracewitness.expectations.operators import Next, WithinSeconds
from tracewitness.expectations.plan import Monitor, Plan, Subscription, ToolNames, calls_to
from tracewitness.matching.moments import datetime_of
from tracewitness.trace import Event, EventIndex, Message, ToolCall, ToolResult
from tracewitness.verdict import Status, Verdict

__all__ = ["elapsed_plan", "seconds_between"]

_Time = datetime | float


def elapsed_plan(operator: WithinSeconds, names: ToolNames) -> Plan:
    """Compile the check: what is timed picks the monitor."""
    if isinstance(operator.tool, UnsetType):
        return Plan(
            operator, _RunTimer, [Subscription(kind, None, _RunTimer.event) for kind in ("message", "call", "result")]
        )
    wanted, test = calls_to(names, operator.tool), arguments_test(operator.args)
    if isinstance(operator.next, Next):
        return _FollowTimer.timing(operator, names, test)
    own = Subscription("call", wanted, _CallTimer.call), Subscription("result", wanted, _CallTimer.result)
    return Plan(operator, _CallTimer, list(own), (test,))


def time_of(given: Any) -> _Time | None:
    """Return a recorded time: a day and time of ISO 8601, or a number of seconds; None where it is neither."""
    if isinstance(given, str):
        return datetime_of(given)
    if isinstance(given, bool) or not isinstance(given, (int, float)):
        return None
    try:
        return float(given) if isfinite(given) else None
    except OverflowError:
        return None


def seconds_between(begin: Any, end: Any) -> float | None:
    """Return how long it is from one recorded time to another; None where that can't be told.

    A number can't be compared with a text, nor a time that says its distance from UTC with one that does not.

    >>> seconds_between("2025-01-01T12:00:00Z", "2025-01-01T12:00:02.500Z"), seconds_between(3, "12:00")
    (2.5, None)
    """
    one, other = time_of(begin), time_of(end)
    if isinstance(one, float) and isinstance(other, float):
        return other - one
    if not (isinstance(one, datetime) and isinstance(other, datetime)):
        return None
    if (one.utcoffset() is None) is not (other.utcoffset() is None):
        return None
    if one.utcoffset() is None:
        one, other = one.replace(tzinfo=UTC), other.replace(tzinfo=UTC)
    return (other - one).total_seconds()


def _recorded(event: Event, field: str) -> Any:
    """Return the time that an event has in a field, as it was recorded; None where it has none."""
    value = getattr(event.record, field)  # type: ignore[union-attr]
    return None if value is UNSET else value


class _Timer(Monitor, gc=False):
    """What the three have in common: what was too slow, and what is not known."""

    subject: ClassVar[str]

    timed: int = 0
    slow: tuple[int, int, float] | None = None  # where it began and ended, and how long it took
    unknown: int | None = None  # an event whose time is missing or can't be compared
    latest: tuple[int, int, float] | None = None  # the slowest that was in time

    def _time(self, begin: int, end: int, took: float | None) -> None:
        """Judge a span of time. One that ends before it begins tells nothing."""
        self.timed += 1
        if took is None or took < 0:
            self.unknown = end if self.unknown is None else self.unknown
        elif took > self.plan.operator.seconds:
            self.slow = self.slow or (begin, end, took)
        elif self.latest is None or took > self.latest[2]:
            self.latest = (begin, end, took)

    def _said(self) -> Verdict:
        limit = self.plan.operator.seconds
        if self.slow is not None:
            begin, end, took = self.slow
            evidence = (begin, end) if begin != end else (begin,)
            return self._broken(evidence, wording.too_slow, self.subject, took, limit, begin, end)
        if self.unknown is not None:
            return self._broken((self.unknown,), wording.time_unknown, self.unknown)
        assert self.latest is not None  # noqa: S101 - the callers have sorted out that nothing was timed
        begin, end, took = self.latest
        evidence = (begin, end) if begin != end else (begin,)
        return self._held(evidence, wording.in_time, self.subject, took, limit)

    def is_final(self, status: Status) -> bool:
        return status == "broken" and (self.slow is not None or self.unknown is not None)


class _RunTimer(_Timer, gc=False):
    """Times the run: from the earliest time of an event to the latest; its first and last event must have one."""

    subject = "the run"

    first: Any = None  # the event that it begins with
    last: Any = None
    earliest: tuple[Any, int] | None = None
    newest: tuple[Any, int] | None = None
    odd: int | None = None  # an event whose time can't be compared with the others

    def event(self, event: Any, call: ToolCall | None = None) -> None:  # noqa: ARG002 - results come with their call
        if isinstance(event, Message) and event.role == "system":
            return  # what surrounds the agent says, before the run or after it
        self.first = self.first or event
        self.last = event
        for field in ("at", "until"):
            time = _recorded(event, field)
            if time is not None:
                self._note(time, event.position)

    def _note(self, time: Any, position: int) -> None:
        if self.earliest is None or self.newest is None:
            if time_of(time) is None:
                self.odd = position if self.odd is None else self.odd
            else:
                self.earliest = self.newest = (time, position)
            return
        since, ahead = seconds_between(self.earliest[0], time), seconds_between(self.newest[0], time)
        if since is None or ahead is None:
            self.odd = position if self.odd is None else self.odd
        elif since < 0:
            self.earliest = (time, position)
        elif ahead > 0:
            self.newest = (time, position)

    def verdict(self, index: EventIndex) -> Verdict:  # noqa: ARG002 - the same for every monitor
        if self.first is None:
            return self._held((), wording.nothing_timed)
        limit = self.plan.operator.seconds
        took = 0.0
        if self.earliest is not None and self.newest is not None:
            took = seconds_between(self.earliest[0], self.newest[0]) or 0.0
            evidence = tuple(dict.fromkeys((self.earliest[1], self.newest[1])))
            if took > limit:
                return self._broken(evidence, wording.too_slow, self.subject, took, limit, evidence[0], evidence[-1])
        unknown = self._unknown()
        if unknown is not None:
            return self._broken((unknown,), wording.time_unknown, unknown)
        return self._held((self.first.position,), wording.in_time, self.subject, took, limit)

    def _unknown(self) -> int | None:
        """Return an event that leaves in doubt when the run began or ended."""
        if self.odd is not None:
            return self.odd
        ends = (each.position for each in (self.first, self.last) if _recorded(each, "at") is None)
        return next(ends, None)

    def is_final(self, status: Status) -> bool:
        if status != "broken" or self.first is None:
            return False
        begins_unknown: bool = self.odd is not None or _recorded(self.first, "at") is None
        if begins_unknown or self.earliest is None or self.newest is None:
            return begins_unknown
        took = seconds_between(self.earliest[0], self.newest[0]) or 0.0
        return bool(took > self.plan.operator.seconds)


class _CallTimer(_Timer, gc=False):
    """Times each call to its result: the later of the result's time and the end that the call has itself."""

    subject = "the call"

    open_calls: dict[int, ToolCall] = {}

    def call(self, call: ToolCall) -> None:
        test = self.plan.parts[0]
        decided = True if test is None else None if call.args.__class__ is not dict else test.decides(call.args)
        if decided is None:
            self.unknown = call.position if self.unknown is None else self.unknown
            self.timed += 1
        elif decided:
            self.open_calls[call.position] = call

    def result(self, result: ToolResult, call: ToolCall) -> None:
        if self.open_calls.pop(call.position, None) is None:
            return
        ends = [time for time in (_recorded(result, "at"), _recorded(call, "until")) if time is not None]
        took = [seconds_between(call.started_at, end) for end in ends]
        known = [each for each in took if each is not None]
        self._time(call.position, result.position, max(known) if known and len(known) == len(took) else None)

    def verdict(self, index: EventIndex) -> Verdict:  # noqa: ARG002 - the same for every monitor
        if self.slow is None and self.unknown is None and self.open_calls:
            position = next(iter(self.open_calls))
            return self._broken((position,), wording.no_answer, self.plan.operator.tool, position)
        if not self.timed:
            return self._held((), wording.not_called, self.plan.operator.tool)
        return self._said()


class _FollowTimer(_Timer, gc=False):
    """Times the way from each call to the next matching call that comes after it."""

    subject = "the way to the next call"

    waiting: list[ToolCall] = []

    @classmethod
    def timing(cls, operator: WithinSeconds, names: ToolNames, test: ArgumentsTest | None) -> Plan:
        following = operator.next
        assert isinstance(following, Next)  # noqa: S101 - the caller has asked
        payload = None if following.result is UNSET else PayloadTest(following.result)
        wanted = calls_to(names, following.tool)
        # What follows comes first: where both tools are the same, a call does not follow itself.
        serving = (
            Subscription("call", wanted, cls.next_call)
            if payload is None
            else Subscription("result", wanted, cls.next_result)
        )
        own = Subscription("call", calls_to(names, operator.tool), cls.call)  # type: ignore[arg-type]
        return Plan(operator, cls, [serving, own], (test, arguments_test(following.args), payload))

    def call(self, call: ToolCall) -> None:
        test = self.plan.parts[0]
        decided = True if test is None else None if call.args.__class__ is not dict else test.decides(call.args)
        if decided is None:
            self.unknown = call.position if self.unknown is None else self.unknown
            self.timed += 1
        elif decided:
            self.waiting.append(call)

    def next_call(self, call: ToolCall) -> None:
        test = self.plan.parts[1]
        if test is None or test.holds(call):
            self._reach(call, call.position, call.started_at)

    def next_result(self, result: ToolResult, call: ToolCall) -> None:
        _, test, payload = self.plan.parts
        if (test is None or test.holds(call)) and payload.holds(result):
            self._reach(call, result.position, _recorded(result, "at"))

    def _reach(self, call: ToolCall, position: int, time: Any) -> None:
        reached = [each for each in self.waiting if each.position < call.position]
        self.waiting = [each for each in self.waiting if each.position >= call.position]
        for each in reached:
            self._time(each.position, position, seconds_between(each.started_at, time))

    def verdict(self, index: EventIndex) -> Verdict:  # noqa: ARG002 - the same for every monitor
        operator = self.plan.operator
        if self.slow is None and self.unknown is None and self.waiting:
            position = self.waiting[0].position
            return self._broken((position,), wording.not_followed, operator.tool, operator.next.tool, position, ())
        if not self.timed:
            return self._held((), wording.not_called, operator.tool)
        return self._said()
