"""Agents of frameworks that run in this process: LangGraph, Pydantic AI, OpenAI's Agents SDK and Google ADK.

No framework is imported here before an agent of it was given: then its user has imported it. Each session is a
conversation of its own, and of what a framework tells only what is new in a turn is read. Session parameters and
variables go where the framework has a place for them. What an agent raises passes through.
"""

from __future__ import annotations

import importlib
import json
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from copy import deepcopy
from typing import Any, Final

from msgspec import UNSET

from tracewitness.display import printable, show
from tracewitness.errors import AgentError, ReadError, UsageError
from tracewitness.evals.simulation.agents.replies import own_events
from tracewitness.evals.simulation.conversation import Agent, AgentTurn, Session, Usage, UserTurn
from tracewitness.readers import read
from tracewitness.trace import Problem, Record

__all__ = ["GoogleADKAgent", "LangGraphAgent", "OpenAIAgentsAgent", "PydanticAIAgent", "framework_agent"]


def framework_agent(value: Any, name: str) -> Agent | None:
    """Return an agent for an object of a framework, or None where it is of none of them.

    Raises:
        UsageError: it is of a framework, and can't be talked to.
    """
    kinds = {f"{kind.__module__}.{kind.__qualname__}" for kind in type(value).__mro__}
    for known, make in _KINDS.items():
        if known in kinds:
            agent: Agent = make(value, name)
            return agent
    return None


def _turn(records: Iterable[Record], problems: Iterable[Problem], usage: Usage) -> AgentTurn:
    kept, ends = own_events(records)
    return AgentTurn(tuple(kept), ended=ends, problems=tuple(problems), usage=usage)


def _read_turn(items: list[Any], format_name: str, usage: Usage) -> AgentTurn:
    """Read what a framework gave for a turn."""
    if not items:
        return AgentTurn((), usage=usage)
    try:
        trace = read(items, format=format_name)
    except ReadError as error:
        raise AgentError(f"what the agent did can't be read: {error}") from error
    return _turn(trace.records, trace.reader_problems, usage)


class _Agent:
    """What the agents of all frameworks share.

    Arguments:
        agent: the framework's object.
        name: what it is called in reports.
    """

    def __init__(self, agent: Any, name: str) -> None:
        self.name = name
        self._agent = agent

    async def prepare(self) -> None:
        """Do nothing: that the object is there is all that can be known."""

    async def close(self) -> None:
        """Do nothing: the object belongs to the module that it was imported from."""


class _Session:
    """What the sessions with all frameworks share.

    Attributes:
        id: what the session is called.
    """

    def __init__(self, agent: Any, parameters: Mapping[str, Any], session_id: str) -> None:
        self.id = session_id
        self._agent = agent
        self._variables: dict[str, Any] = deepcopy(dict(parameters))

    async def close(self) -> None:
        """Do nothing: what the session holds goes with it."""


# ----------------------------------------------------------------------------------------------------------- LangGraph


class LangGraphAgent(_Agent):
    """A compiled graph whose state has ``messages``.

    With a checkpointer the session is a thread of its own; without one the state is carried from turn to turn.
    Parameters and variables are set in the state and in the context where these have keys of their names, and
    parameters stand in the ``configurable`` of the config. Calls in subgraphs are calls of the agent; what is said
    there is heard only where it comes into the messages of the graph itself. A graph that interrupts itself says what
    it interrupts itself with, and what the user says then is the answer.

    Raises:
        UsageError: its state has no messages.
    """

    def __init__(self, agent: Any, name: str) -> None:
        super().__init__(agent, name)
        if "messages" not in agent.channels:
            keys = ", ".join(sorted(key for key in agent.channels if key.isidentifier() and not key.startswith("__")))
            reason = f"the state of the graph {printable(name)} has no messages (it has {keys or 'no keys'})"
            raise UsageError(f"{reason}; name a function that takes what the user says and invokes the graph")

    async def open(self, parameters: Mapping[str, Any], session_id: str) -> Session:
        """Begin a thread."""
        return _LangGraphSession(self._agent, parameters, session_id)


class _LangGraphSession(_Session):
    def __init__(self, agent: Any, parameters: Mapping[str, Any], session_id: str) -> None:
        super().__init__(agent, parameters, session_id)
        self._config = {"configurable": {**self._variables, "thread_id": session_id}}
        self._carried: dict[str, Any] = {}
        self._interrupted = False
        self._known: set[Hashable] = set()

    async def send(self, turn: UserTurn) -> AgentTurn:
        """Run the graph until it ends or interrupts itself."""
        self._variables |= deepcopy(dict(turn.variables))
        news = _Messages(self._known)
        state: Mapping[str, Any] = {}
        async for namespace, values in self._agent.astream(
            self._input(turn), self._config, context=self._context(), stream_mode="values", subgraphs=True
        ):
            news.take(values.get("messages"), aloud=not namespace)
            state = values if not namespace else state
        self._known = news.known
        if not self._agent.checkpointer:
            self._carried = {key: value for key, value in state.items() if key in self._agent.channels}
        asked = [_as_text(interrupt.value) for interrupt in state.get("__interrupt__", ())]
        self._interrupted = bool(asked)
        records, problems = news.read()
        return _turn([*records, *(Record(agent=text) for text in asked)], problems, news.usage)

    def _input(self, turn: UserTurn) -> Any:
        if self._interrupted:
            return importlib.import_module("langgraph.types").Command(resume=turn.text)
        known = {key: value for key, value in self._variables.items() if key in self._agent.channels}
        said = {"role": "user", "content": turn.text}
        return {**self._carried, **known, "messages": [*self._carried.get("messages", ()), said]}

    def _context(self) -> dict[str, Any] | None:
        schema = self._agent.context_schema
        if schema is None:
            return None
        fields = {field for kind in schema.__mro__ for field in vars(kind).get("__annotations__", ())}
        return {key: value for key, value in self._variables.items() if key in fields}


class _Messages:
    """The messages that come into a graph's state, and into those of its subgraphs, while it runs.

    A message is known by its id; one without by what it is, and by how many of the same stand before it.

    Attributes:
        known: what was there before, and what has come since.
        usage: what the graph's models were used for, as the messages tell.
    """

    def __init__(self, known: set[Hashable]) -> None:
        self.known = set(known)
        self.usage = Usage()
        self._came: dict[Hashable, Any] = {}
        self._aloud: set[Hashable] = set()

    def take(self, messages: Any, *, aloud: bool) -> None:
        """Take the messages of a state.

        Arguments:
            aloud: whether the user hears what is said in them.
        """
        counts: Counter[Hashable] = Counter()
        for message in messages if isinstance(messages, list) else ():
            key = getattr(message, "id", None) or repr(message)
            counts[key] += 1
            if (key, counts[key]) not in self.known:
                self.known.add((key, counts[key]))
                self._came[key, counts[key]] = message
                self.usage += _usage_of(getattr(message, "usage_metadata", None), "input_tokens", "output_tokens")
            if aloud:
                self._aloud.add((key, counts[key]))

    def read(self) -> tuple[list[Record], list[Problem]]:
        """Return what is told in the messages that have come."""
        records: list[Record] = []
        problems: list[Problem] = []
        for key, message in self._came.items():
            try:
                trace = read([message], format="langchain")
            except ReadError as error:
                problems.append(Problem(f"a message in the graph's state can't be read: {error}"))
                continue
            problems += trace.reader_problems
            records += (record for record in trace.records if key in self._aloud or record.agent is UNSET)
        return records, problems


def _usage_of(counts: Any, incoming: str, outgoing: str) -> Usage:
    """Return the usage that a model's answer tells; nothing where it tells none."""
    if counts is None:
        return Usage()
    fields = counts if isinstance(counts, Mapping) else vars(counts)
    return Usage(1, fields.get(incoming) or 0, fields.get(outgoing) or 0, cost=None)


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


# ---------------------------------------------------------------------------------------------------------- Pydantic AI


class PydanticAIAgent(_Agent):
    """An agent of Pydantic AI, which is given its earlier messages on each turn.

    Its ``deps`` are the session parameters and variables: as a dict, or as an object of its ``deps_type`` where that is
    a dataclass, a model or a typed dictionary. What it gives that is no text is heard as JSON.

    Raises:
        UsageError: its dependencies can't be made of session parameters.
    """

    def __init__(self, agent: Any, name: str) -> None:
        super().__init__(agent, name)
        self._make_deps = _maker_of(agent.deps_type, name)

    async def open(self, parameters: Mapping[str, Any], session_id: str) -> Session:
        """Begin a conversation.

        Raises:
            UsageError: the parameters don't fit the agent's dependencies.
        """
        session = _PydanticAISession(self._agent, parameters, session_id)
        session.deps = self._make_deps(session.variables)
        return session


class _PydanticAISession(_Session):
    def __init__(self, agent: Any, parameters: Mapping[str, Any], session_id: str) -> None:
        super().__init__(agent, parameters, session_id)
        self.deps: Any = None
        self._messages: list[Any] = []

    @property
    def variables(self) -> dict[str, Any]:
        """The session's parameters, and variables since."""
        return self._variables

    async def send(self, turn: UserTurn) -> AgentTurn:
        """Run the agent."""
        self._set(turn.variables)
        result = await self._agent.run(turn.text, message_history=self._messages, deps=self.deps)
        self._messages = result.all_messages()
        used = result.usage
        usage = Usage(used.requests, used.input_tokens, used.output_tokens, cost=None)
        answer = _read_turn(result.new_messages(), "pydantic-ai", usage)
        if isinstance(result.output, str) or result.output is None:
            return answer
        said = Record(agent=_json(result.output))
        return AgentTurn((*answer.records, said), answer.ended, answer.problems, answer.usage)

    def _set(self, variables: Mapping[str, Any]) -> None:
        """Set variables in the dependencies, which may be frozen: those alone that are not set so already."""
        changed = {name: value for name, value in variables.items() if self._variables.get(name, UNSET) != value}
        for name, value in deepcopy(changed).items():
            self._variables[name] = value
            if isinstance(self.deps, dict):
                self.deps[name] = value
            elif hasattr(self.deps, name):
                setattr(self.deps, name, value)


def _maker_of(kind: Any, name: str) -> Any:
    """Return what makes an agent's dependencies of the session's parameters."""
    if kind is type(None):
        return lambda _: None
    if kind in (dict, object, Any):
        return lambda parameters: parameters
    pydantic = importlib.import_module("pydantic")
    try:
        adapter = pydantic.TypeAdapter(kind)
    except pydantic.errors.PydanticSchemaGenerationError as error:
        reason = f"the agent {printable(name)} needs deps of the type {show(kind)}, which session parameters can't make"
        raise UsageError(f"{reason}; name a function that takes what the user says and runs the agent") from error

    def make(parameters: Mapping[str, Any]) -> Any:
        try:
            return adapter.validate_python(dict(parameters))
        except pydantic.ValidationError as error:
            reason = f"the session parameters don't fit the deps of the agent {printable(name)}"
            raise UsageError(f"{reason}: {_first_problem(error)}") from error

    return make


def _first_problem(error: Any) -> str:
    found = error.errors(include_url=False)[0]
    return f"{'.'.join(map(str, found['loc']))}: {printable(found['msg'])}"


def _json(value: Any) -> str:
    return str(importlib.import_module("pydantic_core").to_json(value, fallback=str).decode())


# -------------------------------------------------------------------------------------------------- OpenAI's Agents SDK


class OpenAIAgentsAgent(_Agent):
    """An agent of OpenAI's Agents SDK, which is given all earlier items on each turn.

    After a handover the other agent goes on. The run's context is a dict of the session parameters and variables.
    """

    async def open(self, parameters: Mapping[str, Any], session_id: str) -> Session:
        """Begin a conversation."""
        return _OpenAIAgentsSession(self._agent, parameters, session_id)


class _OpenAIAgentsSession(_Session):
    def __init__(self, agent: Any, parameters: Mapping[str, Any], session_id: str) -> None:
        super().__init__(agent, parameters, session_id)
        self._runner = importlib.import_module("agents").Runner
        self._items: list[Any] = []

    async def send(self, turn: UserTurn) -> AgentTurn:
        """Run the agent that has the conversation."""
        self._variables |= deepcopy(dict(turn.variables))
        items = [*self._items, {"role": "user", "content": turn.text}]
        result = await self._runner.run(self._agent, items, context=self._variables)
        self._items = result.to_input_list()
        self._agent = result.last_agent
        used = result.context_wrapper.usage
        usage = Usage(used.requests, used.input_tokens, used.output_tokens, cost=None)
        return _read_turn(list(result.new_items), "openai-agents", usage)


# ---------------------------------------------------------------------------------------------------------- Google ADK


class GoogleADKAgent(_Agent):
    """An agent, an app or a runner of Google ADK.

    An agent or an app runs in memory. The session's state begins with the parameters, and variables change it.
    """

    _USER: Final = "simulated-user"

    def __init__(self, agent: Any, name: str) -> None:
        super().__init__(agent, name)
        runners = importlib.import_module("google.adk.runners")
        self._is_own = not isinstance(agent, runners.Runner)
        self._runner = agent
        if self._is_own:
            is_agent = isinstance(agent, importlib.import_module("google.adk.agents").BaseAgent)
            self._runner = runners.InMemoryRunner(**{"agent" if is_agent else "app": agent})

    async def open(self, parameters: Mapping[str, Any], session_id: str) -> Session:
        """Make a session in the runner's session service."""
        made = await self._runner.session_service.create_session(
            app_name=self._runner.app_name, user_id=self._USER, session_id=session_id, state=deepcopy(dict(parameters))
        )
        return _GoogleADKSession(self._runner, made.user_id, made.id, is_own=self._is_own)

    async def close(self) -> None:
        """Close the runner, unless it was given."""
        if self._is_own:
            await self._runner.close()


class _GoogleADKSession:
    def __init__(self, runner: Any, user_id: str, session_id: str, *, is_own: bool) -> None:
        self.id = session_id
        self._runner = runner
        self._is_own = is_own
        self._user_id = user_id
        self._types = importlib.import_module("google.genai.types")

    async def send(self, turn: UserTurn) -> AgentTurn:
        """Run the agent."""
        message = self._types.Content(role="user", parts=[self._types.Part(text=turn.text)])
        events = [
            event
            async for event in self._runner.run_async(
                user_id=self._user_id,
                session_id=self.id,
                new_message=message,
                state_delta=deepcopy(dict(turn.variables)) or None,
            )
        ]
        counts = (_usage_of(event.usage_metadata, "prompt_token_count", "candidates_token_count") for event in events)
        return _read_turn(events, "google-adk", sum(counts, Usage()))

    async def close(self) -> None:
        """Free the memory that the session takes; a service that was given keeps its sessions."""
        if self._is_own:
            await self._runner.session_service.delete_session(
                app_name=self._runner.app_name, user_id=self._user_id, session_id=self.id
            )


_KINDS: Final[Mapping[str, Any]] = {
    "langgraph.pregel.main.Pregel": LangGraphAgent,
    "pydantic_ai.agent.abstract.AbstractAgent": PydanticAIAgent,
    "agents.agent.Agent": OpenAIAgentsAgent,
    "google.adk.agents.base_agent.BaseAgent": GoogleADKAgent,
    "google.adk.apps.app.App": GoogleADKAgent,
    "google.adk.runners.Runner": GoogleADKAgent,
}
