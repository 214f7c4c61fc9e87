"""Monitors that count calls or results: tool_called, tool_input, tool_output, every_call and the budgets."""

from __future__ import annotations

from typing import Any, ClassVar

from msgspec import UNSET

from tracewitness.expectations import wording
from tracewitness.expectations.evidence import Misses, PayloadTest, arguments_test
from tracewitness.expectations.operators import (
    EveryCall,
    MaxCalls,
    MaxErrors,
    MaxTurns,
    NoDuplicateCalls,
    NoOtherTools,
    ToolCalled,
    ToolInput,
    ToolOutput,
)
from tracewitness.expectations.plan import Monitor, Plan, Subscription, ToolNames, calls_to
from tracewitness.matching import strict_key
from tracewitness.trace import EventIndex, MalformedArguments, ToolCall, ToolResult
from tracewitness.verdict import Status, Verdict

__all__ = [
    "CallBudget",
    "CallCounter",
    "DuplicateWatch",
    "ErrorBudget",
    "EveryCallWatch",
    "OtherToolsWatch",
    "OutputCounter",
    "TurnBudget",
]


def _called_names(index: EventIndex) -> tuple[str, ...]:
    return tuple(dict.fromkeys([call.name for call in index.calls]))


class CallCounter(Monitor, gc=False):
    """Counts the calls to a tool that match, for tool_called and tool_input."""

    calls: int = 0
    matching: int = 0
    positions: list[int] = []
    unread: int = 0  # calls of which it can't be told whether they match
    first_unread: ToolCall | None = None
    misses: Misses | None = None

    @classmethod
    def compile(cls, operator: ToolCalled | ToolInput, names: ToolNames) -> Plan:
        test = arguments_test(operator.args)
        most = operator.max if isinstance(operator, ToolCalled) and operator.max is not UNSET else None
        # So many positions prove the verdict: the least that must be there, or one more than may be.
        kept = operator.min if most is None else most + 1
        handler = cls.any_call if test is None else cls.call if most is None else cls.bounded_call
        subscription = Subscription("call", calls_to(names, operator.tool), handler)
        return Plan(operator, cls, [subscription], (test, most, kept))

    def any_call(self, call: ToolCall) -> None:
        self.matching += 1
        if self.matching <= self.plan.parts[2]:
            self.positions.append(call.position)

    def call(self, call: ToolCall) -> None:
        test, _, kept = self.plan.parts
        self.calls += 1
        if call.args.__class__ is not MalformedArguments and test.matches(call.args):
            self.matching += 1
            if self.matching <= kept:
                self.positions.append(call.position)
        else:
            self._missed(call)

    def bounded_call(self, call: ToolCall) -> None:
        """Count a call where there is a maximum: a call that can't be told of counts as one that may match."""
        test, _, kept = self.plan.parts
        self.calls += 1
        decided = None if call.args.__class__ is MalformedArguments else test.decides(call.args)
        if decided:
            self.matching += 1
            if self.matching <= kept:
                self.positions.append(call.position)
            return
        if decided is None:
            self.unread += 1
            self.first_unread = self.first_unread or call
        self._missed(call)

    def _missed(self, call: ToolCall) -> None:
        if self.misses is None:
            self.misses = Misses()
        test = self.plan.parts[0]
        self.misses.add(call.position, call.name, lambda: test.differences(call))

    def verdict(self, index: EventIndex) -> Verdict:
        operator, (test, most, _) = self.plan.operator, self.plan.parts
        tool, evidence = operator.tool, tuple(self.positions)
        with_args = test is not None
        if most is not None and self.matching > most:
            return self._broken(evidence, wording.too_many, tool, most, evidence, with_args)
        if self.matching < operator.min:
            return self._too_few(index)
        unread = self.first_unread
        if unread is not None and self.matching + self.unread > most:
            words = (wording.not_ruled_out, tool, unread.position, test.doubt(unread))
            return self._broken((unread.position,), *words)
        if not self.matching:
            return self._held((), wording.not_called_so if self.calls else wording.not_called, tool)
        return self._held(evidence, wording.matching_calls, tool, evidence, self.matching, with_args)

    def is_final(self, status: Status) -> bool:
        most = self.plan.parts[1]
        return status == "held" if most is None else self.matching + self.unread > most

    def _too_few(self, index: EventIndex) -> Verdict:
        operator = self.plan.operator
        with_args = self.plan.parts[0] is not None
        if not self.calls and not self.matching:
            return self._broken((), wording.never_called, operator.tool, _called_names(index))
        words = (wording.too_few, operator.tool, self.matching, operator.min, self.calls, with_args)
        return self._broken(tuple(self.positions), *words, misses=self.misses.nearest if self.misses else None)


class OutputCounter(Monitor, gc=False):
    """Counts the results of a tool that match."""

    lasting = frozenset({"held"})

    results: int = 0
    looked_at: int = 0  # results until the one that proved it
    positions: list[int] = []
    misses: Misses | None = None

    @classmethod
    def compile(cls, operator: ToolOutput, names: ToolNames) -> Plan:
        test = PayloadTest(operator.result, is_error=operator.is_error, empty_is_any=False)
        subscription = Subscription("result", calls_to(names, operator.tool), cls.result)
        return Plan(operator, cls, [subscription], (test, names))

    def result(self, result: ToolResult, call: ToolCall) -> None:
        self.results += 1
        if len(self.positions) == self.plan.operator.min:
            return  # proved already; what comes after can't change it
        self.looked_at = self.results
        test = self.plan.parts[0]
        if test.holds(result):
            self.positions.append(result.position)
            return
        if self.misses is None:
            self.misses = Misses()
        self.misses.add(result.position, call.name, lambda: test.differences(result))

    def verdict(self, index: EventIndex) -> Verdict:
        operator, evidence = self.plan.operator, tuple(self.positions)
        if len(evidence) >= operator.min:
            return self._held(evidence, wording.outputs, operator.tool, evidence, self.results > self.looked_at)
        if not self.results:
            names = self.plan.parts[1]
            primary = names.primary(operator.tool)
            calls = sum(primary in names.counted_as(call.name) for call in index.calls)
            return self._broken((), wording.no_output, operator.tool, calls, _called_names(index))
        words = (wording.too_few_outputs, operator.tool, len(evidence), operator.min, self.results)
        return self._broken(evidence, *words, misses=self.misses.nearest if self.misses else None)


class EveryCallWatch(Monitor, gc=False):
    """Watches for a call whose arguments do not match."""

    lasting = frozenset({"broken"})

    knows_vacuity = True

    calls: int = 0
    offenders: list[int] = []
    misses: Misses | None = None

    @classmethod
    def compile(cls, operator: EveryCall, names: ToolNames) -> Plan:
        subscription = Subscription("call", calls_to(names, operator.tool), cls.call)
        return Plan(operator, cls, [subscription], arguments_test(operator.args))

    def call(self, call: ToolCall) -> None:
        test = self.plan.parts
        self.calls += 1
        if test.holds(call):
            return
        self.offenders.append(call.position)
        if self.misses is None:
            self.misses = Misses()
        self.misses.add(call.position, call.name, lambda: test.differences(call))

    def verdict(self, index: EventIndex) -> Verdict:  # noqa: ARG002 - the same for every monitor
        tool = self.plan.operator.tool
        if self.misses is not None:
            words = (wording.call_differs, tool, self.offenders)
            return self._broken(tuple(self.offenders), *words, misses=self.misses.nearest)
        if not self.calls:
            return self._held((), wording.not_called, tool)
        return self._held((), wording.every_call_matches, tool, self.calls)


class OtherToolsWatch(Monitor, gc=False):
    """Watches for calls to tools that are not listed. Calls to listed ones never reach it."""

    lasting = frozenset({"broken"})

    others: list[str] = []
    positions: list[int] = []

    @classmethod
    def compile(cls, operator: NoOtherTools, names: ToolNames) -> Plan:
        listed = {names.primary(tool) for tool in operator.tools}
        return Plan(operator, cls, [Subscription("call", listed.isdisjoint, cls.call)])

    def call(self, call: ToolCall) -> None:
        self.others.append(call.name)
        self.positions.append(call.position)

    def verdict(self, index: EventIndex) -> Verdict:
        if self.positions:
            others = list(dict.fromkeys(self.others))
            return self._broken(tuple(self.positions), wording.other_tools, others, self.positions)
        if not index.calls:
            return self._held((), wording.no_calls)
        return self._held((), wording.only_these, len(index.calls))


class DuplicateWatch(Monitor, gc=False):
    """Watches for two calls with the same tool and the same arguments, and for one that could be such a call."""

    lasting = frozenset({"broken"})

    knows_vacuity = True

    calls: int = 0
    seen: dict[Any, int] = {}
    tools: dict[Any, int] = {}  # the first call to a tool
    unread: dict[Any, int] = {}  # the first of them whose arguments can't be read
    twins: tuple[str, int, int] | None = None
    doubt: tuple[str, int, int] | None = None  # the tool, an unread call, and one that could be the same

    @classmethod
    def compile(cls, operator: NoDuplicateCalls, names: ToolNames) -> Plan:
        wanted = None if operator.tool is UNSET else calls_to(names, operator.tool)
        return Plan(operator, cls, [Subscription("call", wanted, cls.call)], names)

    def call(self, call: ToolCall) -> None:
        self.calls += 1
        if self.twins is not None:
            return
        known_as, same_as = self._names(call)
        if isinstance(call.args, MalformedArguments):
            self._unread(call, known_as, same_as)
            return
        key = strict_key(call.args)
        for name in same_as:
            if (name, key) in self.seen:
                self.twins = (call.name, self.seen[name, key], call.position)
                return
            if self.doubt is None and name in self.unread:
                self.doubt = (call.name, self.unread[name], call.position)
        for name in known_as:
            self.seen[name, key] = call.position
            self.tools.setdefault(name, call.position)

    def _names(self, call: ToolCall) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """Return what the call's tool is known as, and what a call to the same tool may have been known as.

        A full resource name also counts as its last part; two full names that share it still are two tools.
        """
        own, *last_part = self.plan.parts.counted_as(call.name)
        if last_part:
            return (own, ("in full", *last_part)), (own, *last_part)
        return (own,), (own, ("in full", own))

    def _unread(self, call: ToolCall, known_as: tuple[Any, ...], same_as: tuple[Any, ...]) -> None:
        """Keep a call whose arguments can't be read: it could be the same as any other of its tool."""
        for name in same_as:
            if self.doubt is None and name in self.tools:
                self.doubt = (call.name, call.position, self.tools[name])
        for name in known_as:
            self.tools.setdefault(name, call.position)
            self.unread.setdefault(name, call.position)

    def verdict(self, index: EventIndex) -> Verdict:  # noqa: ARG002 - the same for every monitor
        if self.twins is not None:
            return self._broken(self.twins[1:], wording.duplicates, *self.twins)
        if self.doubt is not None:
            tool, unread, other = self.doubt
            return self._broken((unread, other), wording.maybe_duplicates, tool, unread)
        if not self.calls:
            return self._held((), wording.no_calls)
        return self._held((), wording.no_duplicates, self.calls)


class _Budget(Monitor, gc=False):
    """Counts up to a limit; the event that is one too many is the evidence."""

    lasting = frozenset({"broken"})

    knows_vacuity = True
    noun: ClassVar[str]

    count: int = 0
    positions: list[int] = []

    def _add(self, position: int) -> None:
        self.count += 1
        if self.count <= self.plan.operator.max + 1:
            self.positions.append(position)

    def verdict(self, index: EventIndex) -> Verdict:  # noqa: ARG002 - the same for every monitor
        most, evidence = self.plan.operator.max, tuple(self.positions)
        if self.count > most:
            return self._broken(evidence, wording.over, self.count, most, self.noun, self.positions)
        return self._held(evidence, wording.within, self.count, most, self.noun)


class CallBudget(_Budget, gc=False):
    """Counts calls."""

    noun = "call"

    @classmethod
    def compile(cls, operator: MaxCalls, names: ToolNames) -> Plan:
        wanted = None if operator.tool is UNSET else calls_to(names, operator.tool)
        return Plan(operator, cls, [Subscription("call", wanted, cls.call)])

    def call(self, call: ToolCall) -> None:
        self._add(call.position)


class ErrorBudget(_Budget, gc=False):
    """Counts results that the recording marks as errors."""

    noun = "error"

    @classmethod
    def compile(cls, operator: MaxErrors, names: ToolNames) -> Plan:
        wanted = None if operator.tool is UNSET else calls_to(names, operator.tool)
        return Plan(operator, cls, [Subscription("result", wanted, cls.result)])

    def result(self, result: ToolResult, call: ToolCall) -> None:  # noqa: ARG002 - handlers take both
        if result.is_error is True:
            self._add(result.position)


class TurnBudget(Monitor, gc=False):
    """Looks at the number of turns; it needs no event of its own."""

    lasting = frozenset({"broken"})

    @classmethod
    def compile(cls, operator: MaxTurns, names: ToolNames) -> Plan:  # noqa: ARG003 - no tool is concerned
        return Plan(operator, cls, [])

    def verdict(self, index: EventIndex) -> Verdict:
        most, count = self.plan.operator.max, len(index.turn_starts)
        proof = index.turn_starts[: most + 1]
        if count > most:
            return self._broken(tuple(proof), wording.over, count, most, "turn", proof)
        return self._held(tuple(proof), wording.within, count, most, "turn")
