"""Scope: a check that looks at some turns, at one agent, or at what comes after a marker alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from tracewitness.expectations import wording
from tracewitness.expectations.evidence import ArgumentsTest, PayloadTest, arguments_test
from tracewitness.expectations.operators import Marker, ScopedOperator
from tracewitness.expectations.plan import Handler, Monitor, Plan, Subscription, ToolNames, calls_to
from tracewitness.trace import Event, EventIndex, MalformedArguments, Message, ToolCall, ToolResult
from tracewitness.verdict import Status, Verdict

__all__ = ["scoped"]

#: Whether something is in the scope; None where it can't be told.
_Answer = bool | None


class _MarkerTest(NamedTuple):
    """The tests of `Marker`; a result's, where there is one to be waited for."""

    args: ArgumentsTest | None
    payload: PayloadTest | None

    def of_call(self, call: ToolCall) -> _Answer:
        if self.args is None:
            return True
        return None if call.args.__class__ is MalformedArguments else self.args.decides(call.args)

    def of_result(self, result: ToolResult, call: ToolCall) -> _Answer:
        assert self.payload is not None  # noqa: S101 - results are asked for where there is a test of them
        called = self.of_call(call)
        if called is False or (result.is_error is True) is not self.payload.is_error:
            return False
        if result.is_malformed:
            return None
        return called and self.payload.holds(result)


class _Parts(NamedTuple):
    """What a scope was compiled to."""

    inner: Plan
    turns: tuple[int, int] | None
    agent: str | None
    marker: _MarkerTest | None
    words: Callable[[int | None], str]


def scoped(plan: Plan, names: ToolNames) -> Plan:
    """Return a plan that hands on to ``plan`` the events in its operator's scope; itself where it has none.

    Handlers of the check come before those of the marker: a call is never its own marker.
    """
    operator = plan.operator
    if not operator.is_scoped:
        return plan
    subscriptions = [Subscription(each.kind, each.wanted, _handed_on(each.handler)) for each in plan.subscriptions]
    after = operator.after
    marker = None
    if isinstance(after, Marker):
        marker = _marker_test(after)
        wanted = calls_to(names, after.tool)
        subscriptions.append(
            Subscription("call", wanted, ScopedWatch.marker_call)
            if marker.payload is None
            else Subscription("result", wanted, ScopedWatch.marker_result)
        )
    turns = None if isinstance(operator.within, UnsetType) else operator.within.bounds
    agent = None if operator.agent is UNSET else operator.agent
    return Plan(operator, ScopedWatch, subscriptions, _Parts(plan, turns, agent, marker, _words(operator, turns)))


def _marker_test(marker: Marker) -> _MarkerTest:
    payload = None if marker.result is UNSET else PayloadTest(marker.result, is_error=marker.is_error is True)
    return _MarkerTest(arguments_test(marker.args), payload)


def _words(operator: ScopedOperator, turns: tuple[int, int] | None) -> Callable[[int | None], str]:
    agent = None if isinstance(operator.agent, UnsetType) else operator.agent
    marker = operator.after.tool if isinstance(operator.after, Marker) else None
    return lambda position: wording.scope(turns, agent, marker, position)


def _handed_on(handler: Handler) -> Handler:
    """Make a handler that hands on what is in the scope, and remembers that it can't be told of something."""

    def hand_on(watch: ScopedWatch, event: Any, *call: ToolCall) -> None:
        inside = watch.contains(event, *call)
        if inside:
            handler(watch.inner, event, *call)
        elif inside is None and watch.doubt is None:
            watch.doubt = event.position

    return hand_on


class ScopedWatch(Monitor, gc=False):
    """Hands the events of the scope to the monitor of the check.

    Where it can't be told whether an event is in the scope, since its agent is not known or what could be the marker
    can't be read, the event does not count for the check; and what speaks of all events can't hold.
    """

    inner: Monitor = None  # type: ignore[assignment]  # comes from __post_init__, for it depends on the plan
    marked_at: int | None = None
    maybe_marked_at: int | None = None  # the first event of which it can't be told whether it is the marker
    doubt: int | None = None  # the first event of which it can't be told whether it is in the scope

    def __post_init__(self) -> None:
        self.inner = self.plan.parts.inner.start()

    def marker_call(self, call: ToolCall) -> None:
        self._mark(call.position, self.plan.parts.marker.of_call(call))

    def marker_result(self, result: ToolResult, call: ToolCall) -> None:
        self._mark(result.position, self.plan.parts.marker.of_result(result, call))

    def _mark(self, position: int, is_marker: _Answer) -> None:
        if self.marked_at is None and is_marker:
            self.marked_at = position
        elif self.maybe_marked_at is None and is_marker is None:
            self.maybe_marked_at = position

    def contains(self, event: Any, call: ToolCall | None = None) -> _Answer:
        """Whether an event is in the scope; a result is where its call is, too."""
        parts = self.plan.parts
        begins_with = event if call is None else call
        if parts.turns is not None:
            first, last = parts.turns
            if not (first <= begins_with.turn and event.turn <= last):
                return False
        after = True if parts.marker is None else self._comes_after_marker(begins_with.position)
        by = True if parts.agent is None else _is_by(parts.agent, begins_with)
        if after is False or by is False:
            return False
        return None if after is None or by is None else True

    def _comes_after_marker(self, position: int) -> _Answer:
        if self.marked_at is not None and self.marked_at < position:
            return True
        return None if self.maybe_marked_at is not None and self.maybe_marked_at < position else False

    def verdict(self, index: EventIndex) -> Verdict:
        parts = self.plan.parts
        view: Any = _ScopedIndex(index, self)
        verdict = self.inner.verdict(view)
        doubt = self._doubt(index)
        if verdict.held and self.plan.universal and doubt is not None:
            words = (wording.scope_unknown, doubt, parts.agent)
            verdict = Verdict(verdict.check, "broken", (doubt,), words)
        return replace(verdict, words=(wording.scoped, parts.words(self.marked_at), verdict.words))

    def _doubt(self, index: EventIndex) -> int | None:
        """Return the first event that counts for the check if it is in the scope, and may be."""
        if self.doubt is None and self.inner.sees_all_calls:
            return next((call.position for call in index.calls if self.contains(call) is None), None)
        return self.doubt

    def looks_at_all(self) -> bool:
        return self.inner.looks_at_all()

    def is_final(self, status: Status) -> bool:
        doubted = self.plan.universal and self.doubt is not None and status == "broken"
        return doubted or self.inner.is_final(status)


def _is_by(agent: str, event: Event) -> _Answer:
    """Whether an event is an agent's; what the user or the system says is said to every agent."""
    if isinstance(event, ToolCall):
        by = event.agent
    elif isinstance(event, Message) and event.role == "agent":
        by = None if isinstance(event.record.by, UnsetType) else event.record.by
    else:
        return True
    return by == agent if by else None


class _ScopedIndex:
    """What of an index is in a scope, for monitors that look at calls or turns when they are asked."""

    def __init__(self, index: EventIndex, scope: ScopedWatch) -> None:
        self._index = index
        self._scope = scope
        self.records = index.records

    @property
    def calls(self) -> list[ToolCall]:
        """The calls in the scope. A result outside of it does not exist: then nothing answers the call."""
        return [self._seen(call) for call in self._index.calls if self._scope.contains(call)]

    def _seen(self, call: ToolCall) -> ToolCall:
        answer = call.answer
        return call if answer is None or self._scope.contains(answer, call) else replace(call, answer=None)
