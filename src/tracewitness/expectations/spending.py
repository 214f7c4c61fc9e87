"""Monitors of what a run cost and how many tokens it took, as far as the recording says so."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any, ClassVar

from msgspec import UNSET

from tracewitness.expectations import wording
from tracewitness.expectations.operators import MaxCost, MaxTokens
from tracewitness.expectations.plan import Monitor, Plan, Subscription, ToolNames
from tracewitness.trace import EventIndex, Message, ToolCall
from tracewitness.verdict import Status, Verdict

__all__ = ["CostBudget", "TokenBudget"]

#: What is recorded can't be read as an amount.
_ODD = object()


def _amount(given: Any) -> Any:
    """Return an amount as a decimal fraction, exactly as it is written; `_ODD` where it is none."""
    if isinstance(given, bool) or not isinstance(given, (int, float)):
        return _ODD
    number = Decimal(repr(given))
    return number if number.is_finite() and number >= 0 else _ODD


def _cost(metadata: Mapping[str, Any]) -> Any:
    """Return what metadata says of the cost: ``cost``, also inside of ``usage``; None where it says nothing."""
    usage = metadata.get("usage")
    found = metadata.get("cost")
    if found is None and isinstance(usage, Mapping):
        found = usage.get("cost")
    return None if found is None else _amount(found)


def _tokens(metadata: Mapping[str, Any]) -> Any:
    """Return what metadata says of tokens: the total of ``usage``, else what went in and what came out."""
    usage = metadata.get("usage")
    if usage is None:
        return None
    if not isinstance(usage, Mapping):
        return _ODD
    if usage.get("total_tokens") is not None:
        return _amount(usage["total_tokens"])
    for pair in (("input_tokens", "output_tokens"), ("prompt_tokens", "completion_tokens")):
        if any(usage.get(name) is not None for name in pair):
            amounts = [_amount(usage.get(name)) for name in pair]
            return _ODD if _ODD in amounts else sum(amounts)
    return None


class _Spending(Monitor, gc=False):
    """Adds up what events say. A turn in which the agent did something and no event says anything is not known."""

    noun: ClassVar[str]

    total: Decimal = Decimal(0)
    told: int = 0
    last: int | None = None
    over: int | None = None
    odd: int | None = None
    acted: dict[int, int] = {}  # by turn, the first thing that the agent did
    known: set[int] = set()

    @classmethod
    def compile(cls, operator: MaxCost | MaxTokens, names: ToolNames) -> Plan:  # noqa: ARG003 - no tool is concerned
        limit = Decimal(repr(operator.max))
        return Plan(
            operator, cls, [Subscription(kind, None, cls.event) for kind in ("message", "call", "result")], limit
        )

    @staticmethod
    def _told(metadata: Mapping[str, Any]) -> Any:
        raise NotImplementedError

    def event(self, event: Any, call: ToolCall | None = None) -> None:  # noqa: ARG002 - results come with their call
        if isinstance(event, ToolCall) or (isinstance(event, Message) and event.role == "agent"):
            self.acted.setdefault(event.turn, event.position)
        metadata = event.record.metadata
        told = None if metadata is UNSET or metadata is None else self._told(metadata)
        if told is _ODD:
            self.odd = event.position if self.odd is None else self.odd
        elif told is not None:
            self.told += 1
            self.known.add(event.turn)
            self.total += told
            if self.over is None and self.total > self.plan.parts:
                self.over = event.position
            self.last = event.position

    def verdict(self, index: EventIndex) -> Verdict:  # noqa: ARG002 - the same for every monitor
        limit = self.plan.operator.max
        if self.over is not None:
            return self._broken((self.over,), wording.overspent, self.noun, self.total, limit, self.over)
        unknown = self.odd if self.odd is not None else self._untold()
        if unknown is not None:
            return self._broken((unknown,), wording.spending_unknown, self.noun, unknown, self.odd is not None)
        if self.last is None:
            return self._broken((), wording.nothing_spent, self.noun)
        return self._held((self.last,), wording.spent, self.noun, self.total, limit)

    def _untold(self) -> int | None:
        return next((position for turn, position in self.acted.items() if turn not in self.known), None)

    def is_final(self, status: Status) -> bool:
        return status == "broken" and (self.over is not None or self.odd is not None)


class CostBudget(_Spending, gc=False):
    """Adds up costs."""

    noun = "cost"

    @staticmethod
    def _told(metadata: Mapping[str, Any]) -> Any:
        return _cost(metadata)


class TokenBudget(_Spending, gc=False):
    """Adds up tokens."""

    noun = "tokens"

    @staticmethod
    def _told(metadata: Mapping[str, Any]) -> Any:
        return _tokens(metadata)
