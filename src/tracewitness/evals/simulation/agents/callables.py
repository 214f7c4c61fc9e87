"""Agents that are code of this process: functions, objects, and what makes one of these for each session."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from copy import deepcopy
from functools import partial
from typing import Any, Final

from tracewitness.display import printable
from tracewitness.errors import UsageError
from tracewitness.evals.simulation.agents.replies import Replies, joined
from tracewitness.evals.simulation.agents.threads import SessionThread, raised_by_agent
from tracewitness.evals.simulation.conversation import Agent, AgentTurn, Conversation, Session, UserTurn

__all__ = ["CallableAgent", "Factory", "FactoryAgent", "produced"]

#: What a function is given under these names, where it has parameters so named.
_TOLD_EACH_TURN: Final = ("history", "trace", "variables", "session_id", "parameters")
_TOLD_ONCE: Final = ("session_id", "parameters")
_ROLES: Final = {"user": "user", "agent": "assistant"}
_POSITIONAL: Final = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
_VARIADIC: Final = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


class CallableAgent:
    """An agent that is a function: it takes what the user said, and returns what it did.

    It may be async, a generator, or an object that is callable. One that is not async runs in a thread of the session's
    own, so that it holds up no other session; one that hangs can't be stopped there, only left. Its first parameter is
    what the user said. It is given more where it has parameters with these names:

    - ``history``: what was said before, as a list of mappings with ``role`` (``user`` or ``assistant``) and
      ``content``;
    - ``trace``: what happened before, as a `Trace`;
    - ``variables``: the session variables that are set with what the user said, as a mapping;
    - ``session_id``: what the session is called;
    - ``parameters``: the session parameters of the case, as a mapping.

    What it returns is read as `replies` says.

    Arguments:
        function: the function or callable object.
        name: what it is called in reports.

    Raises:
        UsageError: it can't be called so.
    """

    def __init__(self, function: Callable[..., Any], name: str) -> None:
        self.name = name
        self._function = function
        self._wanted = _wanted(function, name, _TOLD_EACH_TURN, takes_text=True)

    async def prepare(self) -> None:
        """Do nothing: all that can be known is known when it is made."""

    async def open(
        self, parameters: Mapping[str, Any], session_id: str, thread: SessionThread | None = None
    ) -> Session:
        """Begin a session.

        Arguments:
            parameters, session_id: as of `Agent.open`.
            thread: where code runs that is not async; by default a new one.
        """
        return _CallableSession(self._function, self._wanted, parameters, session_id, thread or SessionThread())

    async def close(self) -> None:
        """Do nothing: there is nothing to free."""


class _CallableSession:
    def __init__(
        self,
        function: Callable[..., Any],
        wanted: tuple[str, ...],
        parameters: Mapping[str, Any],
        session_id: str,
        thread: SessionThread,
    ) -> None:
        self.id = session_id
        self._function = function
        self._wanted = wanted
        self._parameters = deepcopy(dict(parameters))
        self._thread = thread
        self._replies = Replies()
        self._before = Conversation()

    async def send(self, turn: UserTurn) -> AgentTurn:
        """Call the function."""
        arguments = {name: self._told(name, turn) for name in self._wanted}
        value = await produced(partial(self._function, turn.text, **arguments), self._thread)
        answer = self._replies.turn(value, turn.text)
        self._before.add_user(turn)
        self._before.add_agent(answer)
        return answer

    def _told(self, name: str, turn: UserTurn) -> Any:
        if name == "history":
            return [{"role": _ROLES[role], "content": text} for role, text in self._before.heard()]
        if name == "trace":
            return self._before.trace(self.id)
        if name == "variables":
            return deepcopy(dict(turn.variables))
        return self.id if name == "session_id" else self._parameters

    async def close(self) -> None:
        """Let the thread end."""
        self._thread.close()


class Factory:
    """What makes something for each session: a class or a function, sync or async.

    It is given ``session_id`` and ``parameters`` where it has parameters with these names.

    Arguments:
        function: the class or function.
        name: what it is called in messages.

    Raises:
        UsageError: it can't be called so.
    """

    def __init__(self, function: Callable[..., Any], name: str) -> None:
        self._function = function
        self._wanted = _wanted(function, name, _TOLD_ONCE, takes_text=False)

    async def make(self, parameters: Mapping[str, Any], session_id: str, thread: SessionThread) -> Any:
        """Return what it makes for a session, made in the session's thread unless it is async."""
        told = {"session_id": session_id, "parameters": deepcopy(dict(parameters))}
        return await produced(partial(self._function, **{name: told[name] for name in self._wanted}), thread)


class FactoryAgent:
    """An agent that is made anew for each session.

    What is made is talked to: a function, an object that is callable or has a method ``send``, or an agent of a
    framework. An object's ``close`` or ``aclose`` is called when the session ends.

    Arguments:
        factory: the class or function that makes one, as of `Factory`.
        name: what it is called in reports.
        agent_of: makes an agent of what the factory makes.

    Raises:
        UsageError: the factory can't be called so.
    """

    def __init__(self, factory: Callable[..., Any], name: str, agent_of: Callable[[Any, str], Agent]) -> None:
        self.name = name
        self._factory = Factory(factory, name)
        self._agent_of = agent_of

    async def prepare(self) -> None:
        """Do nothing: making one may have effects, so none is made before it is needed."""

    async def open(self, parameters: Mapping[str, Any], session_id: str) -> Session:
        """Make an agent, and begin a session with it. What makes it may raise anything.

        Raises:
            UsageError: what was made is no agent.
        """
        thread = SessionThread()
        try:
            made = await self._factory.make(parameters, session_id, thread)
            agent = self._agent_of(made, self.name)
            await agent.prepare()
            if isinstance(agent, CallableAgent):
                session = await agent.open(parameters, session_id, thread)
            else:
                session = await agent.open(parameters, session_id)
        except BaseException:
            thread.close()
            raise
        return _MadeSession(made, agent, session, thread)

    async def close(self) -> None:
        """Do nothing: what was made was freed with its session."""


class _MadeSession:
    """A session with an agent that is its own."""

    def __init__(self, made: Any, agent: Agent, session: Session, thread: SessionThread) -> None:
        self.id = session.id
        self.send = session.send
        self._made = made
        self._agent = agent
        self._session = session
        self._thread = thread

    async def close(self) -> None:
        """Close the session, the agent, and the object; not one whose thread hangs: nobody knows when that ends."""
        closing = next((getattr(self._made, name, None) for name in ("aclose", "close") if self._closes(name)), None)
        try:
            if closing is not None and not self._thread.hangs:
                await produced(closing, self._thread)
        finally:
            await self._session.close()
            await self._agent.close()
            self._thread.close()

    def _closes(self, name: str) -> bool:
        return isinstance(self._agent, CallableAgent) and callable(getattr(self._made, name, None))


async def produced(call: Callable[[], Any], thread: SessionThread) -> Any:
    """Return what a call of an agent's code gives in the end, be it sync, async or a generator.

    Arguments:
        call: the call.
        thread: where it runs, unless it is async.
    """
    try:
        value = call() if _is_async(call) else await thread.run(partial(_exhausted, call))
        if inspect.isawaitable(value):
            value = await value
        if isinstance(value, AsyncIterator):
            return joined([item async for item in value])
    except SystemExit as error:  # in a task it would end the event loop, and all sessions with it
        raise raised_by_agent(error) from error
    return value


def _exhausted(call: Callable[[], Any]) -> Any:
    value = call()
    return joined(list(value)) if isinstance(value, Iterator) and not inspect.isawaitable(value) else value


def _is_async(function: Any) -> bool:
    """Whether calling it gives something to be awaited, as far as that shows without calling it."""
    while isinstance(function, partial):
        function = function.func
    called = (function, getattr(type(function), "__call__", None))  # noqa: B004 - the method itself is looked at
    return any(inspect.iscoroutinefunction(each) or inspect.isasyncgenfunction(each) for each in called)


def _wanted(function: Callable[..., Any], name: str, offered: tuple[str, ...], *, takes_text: bool) -> tuple[str, ...]:
    """Return the names under which a function is to be given something.

    Raises:
        UsageError: it takes no text where it has to, or needs something that nobody gives.
    """
    try:
        signature = inspect.signature(function)
    except (ValueError, TypeError):  # what is built in may have none
        return ()
    return _wanted_of(signature, printable(name), offered, takes_text=takes_text)


def _wanted_of(
    signature: inspect.Signature, name: str, offered: tuple[str, ...], *, takes_text: bool
) -> tuple[str, ...]:
    parameters = list(signature.parameters.values())
    if takes_text:
        if not parameters or parameters[0].kind not in (*_POSITIONAL, inspect.Parameter.VAR_POSITIONAL):
            made = "" if parameters else f"; a function that makes an agent is named factory:{name}"
            raise UsageError(f"the agent {name} takes nothing; its first parameter is what the user says{made}")
        parameters = [each for each in parameters[1:] if each.kind not in _VARIADIC]
    wanted = [each.name for each in parameters if each.name in offered and each.kind is not _POSITIONAL[0]]
    for each in parameters:
        if each.name not in wanted and each.default is each.empty and each.kind not in _VARIADIC:
            given = ", ".join(offered)
            raise UsageError(f"the agent {name} needs {each.name}, which nobody gives; it can have {given}")
    return tuple(wanted)
