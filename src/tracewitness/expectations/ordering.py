"""Monitors of order: tool_not_called, followed_by, last_tool, terminal_tool and end_session."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import UNSET

from tracewitness.expectations import wording
from tracewitness.expectations.evidence import ArgumentsTest, Misses, PayloadTest, arguments_test, instead
from tracewitness.expectations.operators import (
    EndSession,
    FollowedBy,
    LastTool,
    Marker,
    TerminalTool,
    ToolNotCalled,
)
from tracewitness.expectations.plan import Monitor, Plan, Subscription, ToolNames, calls_to
from tracewitness.matching import Difference
from tracewitness.trace import EventIndex, MalformedArguments, ToolCall, ToolResult
from tracewitness.verdict import Status, Verdict

__all__ = ["FollowedByWatch", "LastToolWatch", "SessionEndWatch", "TerminalWatch", "UncalledWatch"]


class UncalledWatch(Monitor, gc=False):
    """Watches for forbidden calls; with a marker, for those that come before it.

    A call that stands before the first marker is an offence as soon as it is made: if the marker never comes, the agent
    has acted before something that never happened.
    """

    knows_vacuity = True

    calls: int = 0
    offenders: list[int] = []
    unread: ToolCall | None = None  # the first call of which it can't be told whether it matches
    marker_position: int | None = None

    @classmethod
    def compile(cls, operator: ToolNotCalled, names: ToolNames) -> Plan:
        subscriptions = [Subscription("call", calls_to(names, operator.tool), cls.call)]
        before = operator.before
        # The order matters: a call is handed to `call` before `marker_call`, so it is never its own marker.
        if isinstance(before, Marker):
            wanted = calls_to(names, before.tool)
            on_result = before.result is not UNSET
            handler = cls.marker_result if on_result else cls.marker_call
            subscriptions.append(Subscription("result" if on_result else "call", wanted, handler))
        return Plan(operator, cls, subscriptions, (arguments_test(operator.args), *_marker_tests(before), names))

    def call(self, call: ToolCall) -> None:
        self.calls += 1
        if self.marker_position is not None:
            return
        test = self.plan.parts[0]
        if test is None:
            self.offenders.append(call.position)
            return
        decided = None if call.args.__class__ is MalformedArguments else test.decides(call.args)
        if decided:
            self.offenders.append(call.position)
        elif decided is None:
            self.unread = self.unread or call

    def marker_call(self, call: ToolCall) -> None:
        test = self.plan.parts[1]
        if self.marker_position is None and (test is None or test.holds(call)):
            self.marker_position = call.position

    def marker_result(self, result: ToolResult, call: ToolCall) -> None:
        _, test, payload, _ = self.plan.parts
        if self.marker_position is None and (test is None or test.holds(call)) and payload.holds(result):
            self.marker_position = result.position

    def verdict(self, index: EventIndex) -> Verdict:
        operator = self.plan.operator
        tool, before = operator.tool, operator.before
        evidence = tuple(self.offenders)
        if evidence and before is UNSET:
            return self._broken(evidence, wording.forbidden, tool, evidence)
        if evidence and self.marker_position is not None:
            return self._broken(evidence, wording.before_marker, tool, before.tool, evidence, self.marker_position)
        if evidence:
            others = instead(before.tool, index.calls, self.plan.parts[3])
            return self._broken(evidence, wording.never_marked, tool, before.tool, evidence, others)
        if self.unread is not None:
            position, doubt = self.unread.position, self.plan.parts[0].doubt(self.unread)
            return self._broken((position,), wording.not_ruled_out, tool, position, doubt)
        return self._uncalled(tool, before)

    def is_final(self, status: Status) -> bool:
        return status == "broken" or self.marker_position is not None

    def _uncalled(self, tool: str, before: Any) -> Verdict:
        if not self.calls:
            return self._held((), wording.not_called, tool)
        if self.marker_position is not None:
            evidence = (self.marker_position,)
            return self._held(evidence, wording.after_marker, tool, before.tool, self.marker_position)
        return self._held((), wording.not_called_so, tool)


def _marker_tests(before: Any) -> tuple[ArgumentsTest | None, PayloadTest | None]:
    if not isinstance(before, Marker):
        return None, None
    payload = None if before.result is UNSET else PayloadTest(before.result, is_error=before.is_error is True)
    return arguments_test(before.args), payload


class FollowedByWatch(Monitor, gc=False):
    """Watches that a matching call comes after the last call to a tool; then one comes after every earlier one too."""

    knows_vacuity = True

    last: int | None = None
    served_by: int = -1  # the position of the latest call that matches `next`
    misses: Misses | None = None

    @classmethod
    def compile(cls, operator: FollowedBy, names: ToolNames) -> Plan:
        following = operator.next
        payload = None if following.result is UNSET else PayloadTest(following.result)
        wanted = calls_to(names, following.tool)
        # `next_call` comes first: where both tools are the same, a call does not follow itself.
        serving = (
            Subscription("call", wanted, cls.next_call)
            if payload is None
            else Subscription("result", wanted, cls.next_result)
        )
        own = Subscription("call", calls_to(names, operator.tool), cls.call)
        return Plan(operator, cls, [serving, own], (arguments_test(following.args), payload, names))

    def call(self, call: ToolCall) -> None:
        self.last = call.position

    def next_call(self, call: ToolCall) -> None:
        test = self.plan.parts[0]
        if test is None or test.holds(call):
            self.served_by = call.position
        else:
            self._missed(call.position, call, test.differences, call)

    def next_result(self, result: ToolResult, call: ToolCall) -> None:
        test, payload, _ = self.plan.parts
        if test is not None and not test.holds(call):
            self._missed(call.position, call, test.differences, call)
        elif payload.holds(result):
            self.served_by = max(self.served_by, call.position)
        else:
            self._missed(result.position, call, payload.differences, result)

    def _missed(self, position: int, call: ToolCall, differences: Any, event: Any) -> None:
        if self.last is None or call.position <= self.last:
            return
        if self.misses is None:
            self.misses = Misses()
        self.misses.add(position, call.name, lambda: differences(event))

    def verdict(self, index: EventIndex) -> Verdict:
        operator = self.plan.operator
        tool, following = operator.tool, operator.next.tool
        if self.last is None:
            return self._held((), wording.not_called, tool)
        if self.served_by > self.last:
            return self._held((self.last, self.served_by), wording.followed, tool, following, self.served_by)
        others = instead(following, [call for call in index.calls if call.position > self.last], self.plan.parts[2])
        words = (wording.not_followed, tool, following, self.last, others)
        return self._broken((self.last,), *words, misses=self.misses.nearest if self.misses else None)


class LastToolWatch(Monitor, gc=False):
    """Looks at the last call; it needs no event of its own."""

    sees_all_calls = True

    @classmethod
    def compile(cls, operator: LastTool | EndSession, names: ToolNames) -> Plan:
        tool = operator.named_tools[0]
        return Plan(operator, cls, [], (cls._test(operator.args), tool, names.primary(tool), names))

    @staticmethod
    def _test(expected: Any) -> Any:
        return arguments_test(expected)

    def verdict(self, index: EventIndex) -> Verdict:
        if not index.calls:
            return self._broken((), wording.no_calls)
        test, tool, primary, names = self.plan.parts
        last = index.calls[-1]
        if primary not in names.counted_as(last.name):
            return self._broken((last.position,), wording.last_is_not, tool, last.name, last.position)
        if test is None or test.holds(last):
            return self._held((last.position,), wording.last_is, last.name, last.position)
        misses = Misses()
        misses.add(last.position, last.name, lambda: test.differences(last))
        words = (wording.last_differs, last.name, last.position)
        return self._broken((last.position,), *words, misses=misses.nearest)


class SessionEndWatch(LastToolWatch, gc=False):
    """Looks at the last call, to ``end_session``: its arguments, its metadata, or the two merged may match."""

    @staticmethod
    def _test(expected: Any) -> Any:
        return None if expected is UNSET else _SessionEndTest(expected)


class _SessionEndTest:
    """Whether the arguments of ``end_session``, its metadata, or the two merged are as expected."""

    def __init__(self, expected: Any) -> None:
        self._test = ArgumentsTest(expected)

    def holds(self, call: ToolCall) -> bool:
        return any(self._test.matches(reading) for reading in self._readings(call))

    def differences(self, call: ToolCall) -> list[Difference]:
        if isinstance(call.args, MalformedArguments):
            return self._test.differences(call)
        *_, merged = self._readings(call)
        return self._test.mapping_differences(merged)

    def _readings(self, call: ToolCall) -> list[Mapping[str, Any]]:
        if isinstance(call.args, MalformedArguments):
            return []
        inside = call.args.get("metadata")
        found = [data for data in (inside, call.metadata) if isinstance(data, Mapping)]
        merged: dict[str, Any] = {}
        for data in reversed(found):
            merged.update(data)
        merged.update(call.args)
        return [call.args, *found, merged]


class TerminalWatch(Monitor, gc=False):
    """Watches that a tool is called once and nothing is called after it."""

    lasting = frozenset({"broken"})

    knows_vacuity = True
    sees_all_calls = True

    call_made: ToolCall | None = None
    again: ToolCall | None = None

    @classmethod
    def compile(cls, operator: TerminalTool, names: ToolNames) -> Plan:
        return Plan(operator, cls, [Subscription("call", calls_to(names, operator.tool), cls.call)])

    def call(self, call: ToolCall) -> None:
        if self.call_made is None:
            self.call_made = call
        elif self.again is None:
            self.again = call

    def verdict(self, index: EventIndex) -> Verdict:
        tool, first, again = self.plan.operator.tool, self.call_made, self.again
        if first is None:
            return self._held((), wording.not_called, tool)
        if again is not None:
            positions = (first.position, again.position)
            return self._broken(positions, wording.called_again, tool, *positions)
        last = index.calls[-1]
        if last.position != first.position:
            words = (wording.call_after, tool, first.position, last.name, last.position)
            return self._broken((first.position, last.position), *words)
        return self._held((first.position,), wording.terminal, tool, first.position)
