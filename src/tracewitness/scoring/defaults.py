"""Arguments that equal a tool's own default count as left out, where the definitions of the tools are given."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from tracewitness.matching import ABSENT, AnyOf, Eq, matches
from tracewitness.trace import ToolCall, short_tool_name

from .definitions import ToolDefinitions, defaults_of
from .demands import Policy
from .expected import ExpectedCall

__all__ = ["without_defaults"]


def without_defaults(
    expected: Sequence[ExpectedCall],
    calls: Iterable[ToolCall],
    tools: Any,
    policy: Policy,
    primary: Callable[[str], str] | None = None,
) -> tuple[list[ExpectedCall], list[ToolCall]]:
    """Return expected and actual calls in which a default is the same as an argument that is left out.

    An expected argument that its default would match may be absent. An actual one that is the default is taken away,
    but where something else is expected of it, which then is not met.

    Arguments:
        tools: the definitions, as `ToolDefinitions.read` takes them.
        primary: gives the name that stands for all names of a tool.
    """
    name_of = primary or str
    defaults = {name_of(tool): defaults_of(schema) for tool, schema in ToolDefinitions.read(tools).items()}
    wanted = [_informed(call, defaults.get(name_of(call.tool), {}), policy.name) for call in expected]
    fixed = _asked_otherwise(wanted, name_of)
    return wanted, [_stripped(call, defaults, fixed, name_of) for call in calls]


def _informed(call: ExpectedCall, defaults: Mapping[str, Any], policy: Any) -> ExpectedCall:
    if type(call.args) is not dict:
        return call
    found = {
        name: AnyOf(call.args[name], ABSENT)
        for name, default in defaults.items()
        if name in call.args and matches({"it": call.args[name]}, {"it": default}, policy)
    }
    return replace(call, args={**call.args, **found}) if found else call


def _asked_otherwise(wanted: Iterable[ExpectedCall], name_of: Callable[[str], str]) -> set[tuple[str, str]]:
    """Return the arguments, each with its tool, that some call may not leave out."""
    return {
        (name_of(call.tool), name)
        for call in wanted
        if type(call.args) is dict
        for name, value in call.args.items()
        if not matches({"it": value}, {})
    }


def _stripped(
    call: ToolCall,
    defaults: Mapping[str, Mapping[str, Any]],
    fixed: set[tuple[str, str]],
    name_of: Callable[[str], str],
) -> ToolCall:
    tool = next((name for name in _names(call, name_of) if name in defaults), None)
    if tool is None or not isinstance(call.args, dict):
        return call
    given = {
        name: value
        for name, value in call.args.items()
        if (tool, name) in fixed
        or name not in defaults[tool]
        or not matches(Eq(defaults[tool][name]), value, "lenient")
    }
    return call if len(given) == len(call.args) else replace(call, args=given)


def _names(call: ToolCall, name_of: Callable[[str], str]) -> list[str]:
    short = short_tool_name(call.name)
    return [name_of(call.name), *([] if short is None else [name_of(short)])]
