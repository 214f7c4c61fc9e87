"""Agents to talk to: code of this process, agents of frameworks, endpoints and commands."""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any, Final, cast

from tracewitness.display import printable, show
from tracewitness.errors import UsageError
from tracewitness.evals.simulation.addresses import why_no_address, without_password
from tracewitness.evals.simulation.agents.callables import CallableAgent, FactoryAgent
from tracewitness.evals.simulation.agents.command import CommandAgent
from tracewitness.evals.simulation.agents.frameworks import framework_agent
from tracewitness.evals.simulation.agents.importing import import_attribute
from tracewitness.evals.simulation.conversation import Agent

__all__ = ["agent_from", "agent_of"]

_COMMANDS: Final = ("cmd:", "command:")
_FACTORY: Final = "factory:"
_ENDPOINTS: Final = ("http://", "https://")
_METHODS: Final = ("prepare", "open", "close")
_USABLE: Final = (
    "an agent is a function that takes what the user says, an object with a method send, a class of such objects, "
    "or an agent of LangGraph, Pydantic AI, OpenAI's Agents SDK or Google ADK"
)


def agent_from(
    spec: str,
    *,
    tools: str | None = None,
    model: str | None = None,
    instructions: str | None = None,
    headers: Mapping[str, str] | None = None,
) -> Agent:
    """Make the agent that a text names.

    Arguments:
        spec: one of

            - ``http://…`` or ``https://…``: an endpoint that speaks OpenAI's chat-completions protocol, as of `http`;
            - ``cmd: …`` or ``command: …``: a command that speaks JSON Lines, as of `command`;
            - ``module:attribute``: code of this process, or an agent of a framework, as of `agent_of`;
            - ``factory:module:attribute``: a function that makes such an agent for each session, as of `FactoryAgent`.

        tools, model, instructions, headers: for an endpoint, as of `http.ChatAgent`.

    Raises:
        UsageError: it names no agent, or an option does not go with it.
    """
    if spec.startswith(_ENDPOINTS):
        return _endpoint(spec, tools=tools, model=model, instructions=instructions, headers=headers)
    given = {"tools": tools, "a model": model, "instructions": instructions, "headers": headers}
    for option, value in given.items():
        if value is not None:
            reason = f"{option} can only be given for an endpoint (http://…), and the agent is {printable(spec)}"
            raise UsageError(f"{reason}; leave that out, or let the agent's own code do it")
    for prefix in _COMMANDS:
        if spec.startswith(prefix):
            return CommandAgent(spec.removeprefix(prefix).strip())
    name = spec.removeprefix(_FACTORY).strip()
    if ":" not in name:
        forms = "module:attribute, factory:module:attribute, http://… or 'cmd: …'"
        raise UsageError(f"an agent is named {forms}, not {show(spec)}")
    value = import_attribute(name, "an agent")
    return _made_by(value, name) if spec.startswith(_FACTORY) else agent_of(value, name)


def agent_of(value: Any, name: str = "") -> Agent:
    """Make an agent of an object.

    Arguments:
        value: an agent of LangGraph, Pydantic AI, OpenAI's Agents SDK or Google ADK; a function, which is called with
            what the user said, or an object with such a method ``send``; a class, of which each session has an object
            of its own; an `Agent`, which is returned as it is.
        name: what it is called in reports.

    Raises:
        UsageError: it is nothing of the kind, or can't be called so.
    """
    name = name or str(getattr(value, "__name__", None) or type(value).__name__)
    if not isinstance(value, type) and all(callable(getattr(value, method, None)) for method in _METHODS):
        return cast("Agent", value)
    found = framework_agent(value, name)
    if found is not None:
        return found
    if isinstance(value, type):
        return _made_by(value, name)
    function = getattr(value, "send", None)
    function = function if callable(function) else value
    if not callable(function):
        raise UsageError(f"{printable(name)} is {_described(value)}; {_USABLE}")
    return CallableAgent(function, name)


def _made_by(value: Any, name: str) -> Agent:
    if isinstance(value, type) and not _makes_agents(value):
        raise UsageError(f"objects of the class {printable(name)} are no agents: they have no method send; {_USABLE}")
    if not callable(value):
        raise UsageError(f"{printable(name)} is {_described(value)}; what makes agents is a function or a class")
    return FactoryAgent(value, name, agent_of)


def _makes_agents(kind: type) -> bool:
    return callable(getattr(kind, "send", None)) or any("__call__" in vars(base) for base in kind.__mro__)


def _described(value: Any) -> str:
    """Say what an object is that is no agent."""
    if isinstance(value, ModuleType):
        return f"a module; name what is in it: {printable(value.__name__)}:…"
    if callable(getattr(value, "compile", None)):
        return f"{show(value, 60)}, which is not compiled: name what its compile() returns"
    if callable(getattr(value, "ainvoke", None)):
        return f"{show(value, 60)}, which is no graph: name a function that takes what the user says and invokes it"
    return show(value, 60)


def _endpoint(spec: str, **options: Any) -> Agent:
    reason = why_no_address(spec)
    if reason:
        shown = printable(without_password(spec))
        raise UsageError(f"the address of the agent {reason}: {shown}; it is such as http://localhost:8000/v1")
    try:
        from tracewitness.evals.simulation.agents.http import ChatAgent
    except ImportError as error:
        reason = f"endpoints are asked by OpenAI's client, which can't be imported ({error})"
        raise UsageError(f"{reason}; install it: pip install 'tracewitness[simulate]'") from error
    return ChatAgent(spec, name=without_password(spec), **options)
