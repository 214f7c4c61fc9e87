"""What a simulated user and an agent say and do: the protocol of agents, and a conversation as it grows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, Protocol

from msgspec import UNSET, Struct

from tracewitness.trace import Problem, Record, Trace

__all__ = ["Agent", "AgentTurn", "Conversation", "Session", "Usage", "UserTurn"]


class Usage(Struct, frozen=True):
    """What models were used for, as far as it is known.

    Attributes:
        requests: how many requests were made.
        input_tokens, output_tokens: how many tokens went in and came out.
        cost: in US dollars; None where a price is not known, which is not the same as nothing.
    """

    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = 0.0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.requests + other.requests,
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            None if self.cost is None or other.cost is None else self.cost + other.cost,
        )


class UserTurn(Struct, frozen=True):
    """What the user does in a turn.

    Attributes:
        text: what is said; ``event: …`` and ``dtmf: …`` are passed on as they are.
        variables: session variables that are set with it, on the first turn the session's parameters too.
    """

    text: str
    variables: Mapping[str, Any] = {}


class AgentTurn(Struct, frozen=True):
    """What happened from a user's turn to the next one.

    Attributes:
        records: messages of the agent, calls, results and transfers, in order; not the user's message.
        ended: whether the session is over, so that nothing more can be said.
        problems: what could not be made sense of.
        usage: what the agent's own models were used for, where it tells.
    """

    records: tuple[Record, ...]
    ended: bool = False
    problems: tuple[Problem, ...] = ()
    usage: Usage = Usage()

    @property
    def text(self) -> str:
        """What the agent said, its messages joined by line breaks."""
        return "\n".join(record.agent for record in self.records if isinstance(record.agent, str) and record.agent)


class Session(Protocol):
    """One conversation with an agent. It is used from one task, a turn after the other.

    Attributes:
        id: what the session is called on the agent's side, or a random name.
    """

    id: str

    async def send(self, turn: UserTurn) -> AgentTurn:
        """Send a user's turn and wait for what the agent does.

        Raises:
            InfrastructureError: it could not be asked, or what it gave can't be understood. What an agent that runs
                in this process raises passes through.
        """
        ...

    async def close(self) -> None:
        """Free what the session holds. It is called once, also after an error."""
        ...


class Agent(Protocol):
    """An agent to talk to; it may be talked to in many sessions at once.

    Attributes:
        name: what it is called in reports.
    """

    name: str

    async def prepare(self) -> None:
        """Find out, as far as can be known before the first run, whether it can be talked to.

        Raises:
            InfrastructureError: it can't; it says what and what to do.
        """
        ...

    async def open(self, parameters: Mapping[str, Any], session_id: str) -> Session:
        """Begin a session.

        Arguments:
            parameters: the case's session parameters.
            session_id: a random name to call it by, where the agent gives none of its own.
        """
        ...

    async def close(self) -> None:
        """Free what the agent holds."""
        ...


class Conversation:
    """A conversation as it grows.

    Attributes:
        records: all events so far, users' messages included.
        turns: how many times the user spoke.
        ended: whether the agent's side ended the session.
        usage: what the agent's own models were used for.
    """

    def __init__(self) -> None:
        self.records: list[Record] = []
        self.problems: list[Problem] = []
        self.turns = 0
        self.ended = False
        self.usage = Usage()

    def add_user(self, turn: UserTurn) -> None:
        """Add what the user said."""
        self.turns += 1
        self.records.append(Record(user=turn.text))

    def add_agent(self, turn: AgentTurn) -> None:
        """Add what the agent did."""
        self.records += turn.records
        self.problems += turn.problems
        self.usage += turn.usage
        if turn.ended and not self.ended:
            self.ended = True
            self.records.append(Record(end=True))

    def trace(self, name: str) -> Trace:
        """Return what happened so far."""
        return Trace(list(self.records), name=name, problems=self.problems)

    def heard(self) -> list[tuple[Literal["user", "agent"], str]]:
        """Return what was said aloud: all that a user knows of, and no tool call."""
        spoken: list[tuple[Literal["user", "agent"], str]] = []
        for record in self.records:
            if record.user is not UNSET:
                spoken.append(("user", str(record.user)))
            elif record.agent is not UNSET and record.agent:
                spoken.append(("agent", str(record.agent)))
        return spoken
