"""What a simulated user and an agent say and do: the protocol of agents, and a conversation as it grows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal, Protocol

from msgspec import UNSET, Struct

from tracewitness.display import show
from tracewitness.errors import AgentError
from tracewitness.trace import Problem, Record, Trace

__all__ = ["MOST_COST", "MOST_TOKENS", "Agent", "AgentTurn", "Conversation", "Session", "Usage", "UserTurn"]

#: More than any turn of an agent can use: what is beyond is a mistake, and would end a budget.
MOST_TOKENS: Final = 10**12
MOST_COST: Final = 10**6


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

    @property
    def problem(self) -> str:
        """What is wrong with it as the usage of one turn; empty where nothing is. An agent can tell anything."""
        counts = {name: getattr(self, name) for name in ("requests", "input_tokens", "output_tokens")}
        for name, count in counts.items():
            if not isinstance(count, int) or not 0 <= count <= MOST_TOKENS:
                return f"{name} is a number from 0 to {MOST_TOKENS:,}, not {show(count)}"
        if self.cost is None or (isinstance(self.cost, (int, float)) and 0 <= self.cost <= MOST_COST):
            return ""
        return f"cost is None or a number of dollars from 0 to {MOST_COST:,}, not {show(self.cost)}"

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
            AgentError: what it gave can't be understood.
            InfrastructureError: it could not be asked. What an agent that runs in this process raises passes through;
                whose failure that is, `failures` says.
        """
        ...

    async def close(self) -> None:
        """Free what the session holds. It is called once, also after an error.

        Raises:
            AgentError: the agent did something after its last turn. The run fails by it; by no other error.
        """
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
        """Add what the agent did.

        Raises:
            AgentError: it says that it used what can't be.
        """
        if turn.usage.problem:
            raise AgentError(f"the agent tells a usage that can't be: {turn.usage.problem}")
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
