"""Agents that do what a test says, and cases whose user needs no model."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from tracewitness.evals.simulation.conversation import AgentTurn, Usage, UserTurn
from tracewitness.expectations import parse_operator
from tracewitness.suites import Case, JudgedExpectation, Step, Suite
from tracewitness.suites.places import Place
from tracewitness.trace import Record

ORDER = AgentTurn(
    (
        Record(call="create_order", args={"item": "ITEM-42"}, id="c1"),
        Record(result={"order_id": 7}, id="c1"),
        Record(agent="I have placed your order."),
    )
)
LIE = AgentTurn((Record(agent="I have placed your order."),))

Reply = Callable[[UserTurn, "ScriptedSession"], Awaitable[AgentTurn]]


class ScriptedSession:
    """A session of `ScriptedAgent`.

    Attributes:
        number: which session of its agent it is, from 1.
        turns: how many turns it got.
    """

    def __init__(self, agent: ScriptedAgent, parameters: Mapping[str, Any], session_id: str) -> None:
        self._agent = agent
        self.id = session_id
        self.parameters = parameters
        self.number = agent.opened
        self.turns = 0

    async def send(self, turn: UserTurn) -> AgentTurn:
        self.turns += 1
        return await self._agent.reply(turn, self)

    async def close(self) -> None:
        self._agent.closed += 1
        if self._agent.failing_close is not None:
            raise self._agent.failing_close


class ScriptedAgent:
    """An agent that answers as a function says.

    Attributes:
        opened, closed: how many sessions were opened and closed.
        at_once, most_at_once: how many are open, and how many were at the most.
    """

    def __init__(self, reply: Reply | AgentTurn = ORDER) -> None:
        self.name = "scripted"
        self.reply: Reply = reply if not isinstance(reply, AgentTurn) else _always(reply)
        self.opened = 0
        self.closed = 0
        self.most_at_once = 0
        self.failing_close: Exception | None = None
        self.is_closed = False

    async def prepare(self) -> None: ...

    async def open(self, parameters: Mapping[str, Any], session_id: str) -> ScriptedSession:
        self.opened += 1
        self.most_at_once = max(self.most_at_once, self.opened - self.closed)
        return ScriptedSession(self, parameters, session_id)

    async def close(self) -> None:
        self.is_closed = True


def _always(turn: AgentTurn) -> Reply:
    async def reply(user: UserTurn, session: ScriptedSession) -> AgentTurn:
        return turn

    return reply


def slow(turn: AgentTurn, seconds: float) -> Reply:
    """Answer after some time."""

    async def reply(user: UserTurn, session: ScriptedSession) -> AgentTurn:
        await asyncio.sleep(seconds)
        return turn

    return reply


def costing(cost: float | None, tokens: int = 10) -> AgentTurn:
    """An order, by an agent whose own model cost so much."""
    return AgentTurn(ORDER.records, usage=Usage(1, tokens, 0, cost))


def case(name: str = "order", *checks: dict[str, Any], judged: tuple[str, ...] = (), **fields: Any) -> Case:
    """A case whose user says one thing and needs no model."""
    operators = tuple(map(parse_operator, checks))
    return Case(
        name,
        Place(1, 1),
        **{"steps": (Step(static_utterance="Order ITEM-42."),), **fields},
        tool_expectations=operators,
        places=tuple(Place(number + 2, 1) for number in range(len(operators))),
        expectations=tuple(map(JudgedExpectation, judged)),
    )


def suite(*cases: Case) -> Suite:
    return Suite("suite.yaml", cases or (case(),))


CREATED = {"type": "tool_called", "tool": "create_order"}
