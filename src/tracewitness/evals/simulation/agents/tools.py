"""Tools of a model that are plain functions: their schemas, and running them with what the model gave as arguments.

Import it only where there are such tools: it is built on Pydantic AI, which is big.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from msgspec import Struct
from pydantic import ValidationError
from pydantic_ai import Tool
from pydantic_ai.exceptions import UserError
from pydantic_core import to_json, to_jsonable_python

from tracewitness.display import nearest_name, printable, show
from tracewitness.errors import UsageError
from tracewitness.evals.simulation.agents.callables import Factory, produced
from tracewitness.evals.simulation.agents.importing import import_attribute
from tracewitness.evals.simulation.agents.threads import SessionThread
from tracewitness.trace import Record

__all__ = ["LocalTools", "ToolAnswer", "ToolBox"]


class ToolAnswer(Struct, frozen=True):
    """What came of a call.

    Attributes:
        payload: what the tool returned, as data that JSON can hold; where it failed, what the model is told.
        is_error: whether it failed, or was never called.
    """

    payload: Any
    is_error: bool = False

    @property
    def text(self) -> str:
        """What the model is told."""
        return self.payload if isinstance(self.payload, str) else to_json(self.payload).decode()


class ToolBox:
    """Where the tools of a session come from.

    Arguments:
        spec: ``module:attribute``. It is a list or a tuple of functions, or a dict of functions by the names that the
            model knows them by; or what makes one of these for each session: a function that may take ``session_id``
            and ``parameters``.

    Raises:
        UsageError: it can't be imported, or is nothing of the kind.
    """

    def __init__(self, spec: str) -> None:
        self._spec = printable(spec)
        given = import_attribute(spec, "a list of tools", "shop:TOOLS")
        self._factory = _factory_of(given, self._spec) if callable(given) else None
        self._tools = {} if self._factory else _tools_of(given, self._spec)

    async def open(self, parameters: Mapping[str, Any], session_id: str) -> LocalTools:
        """Return the tools of a session. What makes them may raise anything.

        Raises:
            UsageError: what was made is no list of tools.
        """
        thread = SessionThread()
        if self._factory is None:
            return LocalTools(self._tools, thread)
        try:
            made = await self._factory.make(parameters, session_id, thread)
            return LocalTools(_tools_of(made, self._spec), thread)
        except BaseException:
            thread.close()
            raise


class LocalTools:
    """The tools of one session. What is not async runs in a thread of the session's own.

    Attributes:
        schemas: how a model that speaks the chat-completions protocol is told of them.
    """

    def __init__(self, tools: Mapping[str, Tool[None]], thread: SessionThread) -> None:
        self._tools = tools
        self._thread = thread
        self.schemas = list(map(_schema, tools.values()))

    async def run(self, call: Record) -> ToolAnswer:
        """Run the tool that a model called, with what it gave as arguments."""
        name = str(call.call)
        tool = self._tools.get(name)
        if tool is None:
            near = nearest_name(name, self._tools)
            meant = f"; {near} was meant" if near else ""
            return ToolAnswer(f"Error: there is no tool {show(name)}{meant}", is_error=True)
        arguments = call.raw_args if isinstance(call.raw_args, str) else json.dumps(call.args)
        try:
            given = tool.function_schema.validator.validate_json(arguments)
        except (ValidationError, UnicodeEncodeError) as error:
            return ToolAnswer(f"Error: {_what_is_wrong(error)}", is_error=True)
        try:
            value = await produced(_call_of(tool, given), self._thread)
            return ToolAnswer(to_jsonable_python(value, fallback=str))
        except Exception as error:  # noqa: BLE001 - what a tool raises is for the model to deal with
            return ToolAnswer(f"Error: {type(error).__name__}: {error}", is_error=True)

    def close(self) -> None:
        """Let the thread end."""
        self._thread.close()


def _factory_of(given: Callable[..., Any], spec: str) -> Factory:
    """Return what makes the tools of each session; a function that can't be that is likely meant as a tool."""
    try:
        return Factory(given, spec)
    except UsageError as error:
        raise UsageError(
            f"{spec} is one function, and tools are a list of functions, or what makes one for each session from "
            "session_id and parameters; to give one tool, name a list of it"
        ) from error


def _call_of(tool: Tool[None], given: dict[str, Any]) -> partial[Any]:
    schema = tool.function_schema
    positional = [given.pop(name) for name in schema.positional_fields]
    if schema.var_positional_field is not None:
        positional += given.pop(schema.var_positional_field, ())
    return partial(tool.function, *positional, **given)


def _tools_of(given: Any, spec: str) -> dict[str, Tool[None]]:
    """Return the tools by their names.

    Raises:
        UsageError: it is no list of functions, or one of them can't be called by a model.
    """
    if isinstance(given, Mapping):
        named = list(given.items())
    elif isinstance(given, (list, tuple)):
        named = [(getattr(function, "__name__", ""), function) for function in given]
    else:
        raise UsageError(f"{spec} is a list of functions, or a dict of them by name, not {show(given)}")
    for name, function in named:
        if not callable(function) or not isinstance(name, str) or not name:
            raise UsageError(f"{spec} is a list of functions; this is none: {show(function)}")
    tools = {name: _tool(name, function, spec) for name, function in named}
    if len(tools) < len(named):
        raise UsageError(f"two tools of {spec} have the same name; give each a name of its own, in a dict")
    return tools


def _tool(name: str, function: Any, spec: str) -> Tool[None]:
    try:
        return Tool(function, takes_ctx=False, name=name)
    except (UserError, NameError, TypeError) as error:  # NameError: an annotation of what was not imported
        reason = printable(" ".join(str(error).split()))
        raise UsageError(f"the tool {printable(name)} of {spec} has no usable signature: {reason}") from error


def _schema(tool: Tool[None]) -> dict[str, Any]:
    definition = tool.tool_def
    function = {"name": definition.name, "parameters": definition.parameters_json_schema}
    if definition.description:
        function["description"] = definition.description
    return {"type": "function", "function": function}


def _what_is_wrong(error: ValidationError | UnicodeEncodeError) -> str:
    if isinstance(error, UnicodeEncodeError):
        return f"the arguments are no Unicode: {error.reason}"
    found = error.errors(include_url=False, include_context=False, include_input=False)
    return "; ".join(": ".join(filter(None, (".".join(map(str, item["loc"])), item["msg"]))) for item in found)
