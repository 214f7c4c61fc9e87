"""Monitors of what an agent does after an error: retry_after_error and must_recover."""

from __future__ import annotations

from tracewitness.expectations import wording
from tracewitness.expectations.operators import MustRecover, RetryAfterError
from tracewitness.expectations.plan import Monitor, Plan, Subscription, ToolNames, calls_to
from tracewitness.trace import EventIndex, ToolCall, ToolResult
from tracewitness.verdict import Status, Verdict

__all__ = ["RecoveryWatch", "RetryWatch"]


class RetryWatch(Monitor, gc=False):
    """Follows the calls to a tool from its first error to its next success.

    A call that comes after an error is a further one, until a result is no error; where all that are allowed were
    made, an error needs no other.
    """

    knows_vacuity = True

    errors: int = 0
    open_error: int | None = None  # the last error after which there must be a call, and is none
    last_error: int | None = None
    is_failing: bool = False
    retries: list[int] = []
    too_many: tuple[int, ...] = ()

    @classmethod
    def compile(cls, operator: RetryAfterError, names: ToolNames) -> Plan:
        wanted = calls_to(names, operator.tool)
        most = operator.max if isinstance(operator.max, int) else None
        return Plan(
            operator, cls, [Subscription("call", wanted, cls.call), Subscription("result", wanted, cls.result)], most
        )

    def call(self, call: ToolCall) -> None:
        self.open_error = None
        if not self.is_failing or self.too_many:
            return
        self.retries.append(call.position)
        most = self.plan.parts
        if most is not None and len(self.retries) > most:
            self.too_many = tuple(self.retries)

    def result(self, result: ToolResult, call: ToolCall) -> None:  # noqa: ARG002 - handlers take both
        if result.is_error is not True:
            self.is_failing = False
            self.retries = []
            return
        self.errors += 1
        self.is_failing = True
        self.last_error = result.position
        most = self.plan.parts
        if most is None or len(self.retries) < most:
            self.open_error = result.position

    def verdict(self, index: EventIndex) -> Verdict:  # noqa: ARG002 - the same for every monitor
        tool = self.plan.operator.tool
        if self.too_many:
            return self._broken(self.too_many, wording.retried_too_often, tool, self.plan.parts, self.too_many)
        if self.open_error is not None:
            return self._broken((self.open_error,), wording.not_retried, tool, self.open_error)
        if not self.errors:
            return self._held((), wording.never_failed, tool)
        return self._held((), wording.retried, tool, self.errors)

    def is_final(self, status: Status) -> bool:
        return status == "broken" and bool(self.too_many)


class RecoveryWatch(Monitor, gc=False):
    """Watches that a call that is made after the last error succeeds; then one does after every earlier error, too."""

    knows_vacuity = True

    errors: int = 0
    last_error: int | None = None
    recovered_at: int | None = None
    tried: bool = False

    @classmethod
    def compile(cls, operator: MustRecover, names: ToolNames) -> Plan:
        wanted = calls_to(names, operator.tool)
        return Plan(operator, cls, [Subscription("call", wanted, cls.call), Subscription("result", wanted, cls.result)])

    def call(self, call: ToolCall) -> None:  # noqa: ARG002 - handlers take it
        self.tried = True

    def result(self, result: ToolResult, call: ToolCall) -> None:
        if result.is_error is True:
            self.errors += 1
            self.last_error = result.position
            self.recovered_at = None
            self.tried = False
        elif self.last_error is not None and call.position > self.last_error and not result.is_malformed:
            self.recovered_at = result.position

    def verdict(self, index: EventIndex) -> Verdict:  # noqa: ARG002 - the same for every monitor
        tool = self.plan.operator.tool
        if self.last_error is None:
            return self._held((), wording.never_failed, tool)
        if self.recovered_at is None:
            return self._broken((self.last_error,), wording.not_recovered, tool, self.last_error, self.tried)
        evidence = (self.last_error, self.recovered_at)
        return self._held(evidence, wording.recovered, tool, *evidence)
