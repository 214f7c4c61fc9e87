"""The monitor of `Claim`: what the agent says it did, it must have done before."""

from __future__ import annotations

import re

from msgspec import UNSET

from tracewitness.expectations import wording
from tracewitness.expectations.evidence import Misses, PayloadTest, arguments_test, instead
from tracewitness.expectations.operators import Claim
from tracewitness.expectations.plan import Monitor, Plan, Subscription, ToolNames, calls_to
from tracewitness.trace import EventIndex, Message, ToolCall, ToolResult
from tracewitness.verdict import Verdict

__all__ = ["ClaimWatch"]


class ClaimWatch(Monitor, gc=False):
    """Looks for the claim in the agent's messages, and for the call, or its result, before the first of them."""

    lasting = frozenset({"broken"})

    backing: int | None = None  # the first matching call, or result
    backed_by: tuple[int, int] | None = None  # the first claim, and what backs it
    unbacked: tuple[int, str] | None = None
    misses: Misses | None = None

    @classmethod
    def compile(cls, operator: Claim, names: ToolNames) -> Plan:
        payload = None if operator.result is UNSET else PayloadTest(operator.result)
        wanted = calls_to(names, operator.tool)
        backing = (
            Subscription("call", wanted, cls.call) if payload is None else Subscription("result", wanted, cls.result)
        )
        says = re.compile(operator.says, re.DOTALL)
        parts = (says, arguments_test(operator.args), payload, names)
        return Plan(operator, cls, [Subscription("message", None, cls.message), backing], parts)

    def message(self, message: Message) -> None:
        if message.role != "agent" or self.unbacked is not None:
            return
        found = self.plan.parts[0].search(message.text)
        if found is None:
            return
        if self.backing is None:
            self.unbacked = (message.position, found.group())
        elif self.backed_by is None:
            self.backed_by = (message.position, self.backing)

    def call(self, call: ToolCall) -> None:
        test = self.plan.parts[1]
        if test is None or test.holds(call):
            self.backing = call.position if self.backing is None else self.backing
        else:
            self._missed(call.position, call.name, lambda: test.differences(call))

    def result(self, result: ToolResult, call: ToolCall) -> None:
        _, test, payload, _ = self.plan.parts
        if test is not None and not test.holds(call):
            self._missed(call.position, call.name, lambda: test.differences(call))
        elif payload.holds(result):
            self.backing = result.position if self.backing is None else self.backing
        else:
            self._missed(result.position, call.name, lambda: payload.differences(result))

    def _missed(self, position: int, tool: str, differences: object) -> None:
        if self.misses is None:
            self.misses = Misses()
        self.misses.add(position, tool, differences)  # type: ignore[arg-type]

    def verdict(self, index: EventIndex) -> Verdict:
        tool = self.plan.operator.tool
        if self.unbacked is not None:
            position, said = self.unbacked
            others = instead(tool, [call for call in index.calls if call.position < position], self.plan.parts[3])
            words = (wording.claim_unbacked, tool, position, said, others)
            return self._broken((position,), *words, misses=self.misses.nearest if self.misses else None)
        if self.backed_by is None:
            return self._held((), wording.claim_never_made)
        return self._held(self.backed_by[::-1], wording.claim_backed, tool, *self.backed_by)
