"""The monitor of valid_arguments, and what the definitions of tools change in other checks: their defaults."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import UNSET
from msgspec.structs import replace

from tracewitness.expectations import fields, wording
from tracewitness.expectations.evidence import Misses
from tracewitness.expectations.fields import Fields
from tracewitness.expectations.operators import Operator, Score, ValidArguments
from tracewitness.expectations.plan import Monitor, Plan, Subscription, ToolNames, calls_to
from tracewitness.matching import ABSENT, AnyOf, Eq, JSONSchema, compile_expected, matches
from tracewitness.scoring.definitions import ToolDefinitions, defaults_of
from tracewitness.trace import EventIndex, MalformedArguments, ToolCall
from tracewitness.verdict import Verdict

__all__ = ["SchemaWatch", "with_tools"]


class SchemaWatch(Monitor, gc=False):
    """Looks at each call's arguments by the schema of its tool."""

    lasting = frozenset({"broken"})

    calls: int = 0
    offender: tuple[Any, ...] | None = None  # the words about the first call that is not as defined
    position: int = -1
    misses: Misses | None = None

    @classmethod
    def compile(cls, operator: ValidArguments, names: ToolNames) -> Plan:
        wanted = None if operator.tool is UNSET else calls_to(names, operator.tool)
        definitions = None if operator.tools is UNSET else ToolDefinitions.read(operator.tools)
        schemas = {
            names.primary(tool): compile_expected(JSONSchema(schema), "strict")
            for tool, schema in (definitions or {}).items()
        }
        return Plan(operator, cls, [Subscription("call", wanted, cls.call)], (schemas, names))

    def call(self, call: ToolCall) -> None:
        self.calls += 1
        if self.offender is not None:
            return
        schemas, names = self.plan.parts
        schema = next((schemas[name] for name in names.counted_as(call.name) if name in schemas), None)
        if schema is None:
            self._offends(call, wording.tool_undefined, call.name, call.position, list(schemas))
        elif isinstance(call.args, MalformedArguments):
            self._offends(call, wording.not_ruled_out_valid, call.name, call.position)
        elif schema.decides(call.args) is not True:
            self._offends(call, wording.arguments_invalid, call.name, call.position)
            self.misses = Misses()
            self.misses.add(call.position, call.name, lambda: schema.differences(call.args, ("args",)))

    def _offends(self, call: ToolCall, *words: Any) -> None:
        self.offender, self.position = words, call.position

    def verdict(self, index: EventIndex) -> Verdict:  # noqa: ARG002 - the same for every monitor
        if not self.plan.parts[0]:
            return self._broken((), wording.no_definitions)
        if self.offender is not None:
            misses = None if self.misses is None else self.misses.nearest
            return self._broken((self.position,), *self.offender, misses=misses)
        if not self.calls:
            return self._held((), wording.no_calls)
        return self._held((), wording.arguments_valid, self.calls)


def with_tools(
    operators: Iterable[Operator], tools: Any, aliases: Mapping[str, Iterable[str]] | None = None
) -> list[Operator]:
    """Return checks that know the definitions of the tools.

    `ValidArguments` without definitions of its own gets these. In every other check, an argument that equals the
    tool's own default is the same as one that is left out: where the default would match what is expected of an
    argument, the argument may be absent, and where it must be absent, it may be the default. What is said of all
    arguments by one matcher, such as ``$exactly``, stays as it is.

    Arguments:
        operators: the checks.
        tools: definitions, as `ToolDefinitions.read` takes them.
        aliases: for a tool's name, its other names.

    Raises:
        ExpectationError: the definitions are malformed.

    >>> from tracewitness.expectations import ToolCalled
    >>> search = {"name": "search", "input_schema": {"properties": {"limit": {"default": 10}}}}
    >>> with_tools([ToolCalled("search", {"limit": 10})], [search])
    [ToolCalled(tool='search', args={'limit': AnyOf(10, ABSENT)})]
    """
    definitions = ToolDefinitions.read(tools)
    known = {name: tuple(others) for name, others in (aliases or {}).items()}
    return [_informed(operator, tools, definitions, known) for operator in operators]


def _informed(operator: Operator, tools: Any, definitions: ToolDefinitions, aliases: Mapping[str, Any]) -> Operator:
    if isinstance(operator, ValidArguments):
        return operator if operator.tools is not UNSET else replace(operator, tools=tools)
    if isinstance(operator, Score):
        return operator if operator.tools is not UNSET else replace(operator, tools=_of_score(operator, definitions))
    informed: Operator = _with_defaults(operator, definitions, aliases)
    return informed


def _of_score(operator: Score, definitions: ToolDefinitions) -> Any:
    """Return the definitions of the tools that a score names and that have defaults, if there are any."""
    named = {tool: dict(definitions[tool]) for tool in operator.named_tools if tool in definitions}
    return {tool: schema for tool, schema in named.items() if defaults_of(schema)} or UNSET


def _with_defaults(given: Any, definitions: ToolDefinitions, aliases: Mapping[str, Any]) -> Any:
    """Return an operator, or a part of one, whose expected arguments know the defaults."""
    if isinstance(given, tuple):
        changed = tuple(_with_defaults(each, definitions, aliases) for each in given)
        return changed if any(one is not other for one, other in zip(changed, given, strict=True)) else given
    if not isinstance(given, Fields):
        return given
    parts = {field: getattr(given, field) for field in given.__struct_fields__}
    changes = {field: _with_defaults(value, definitions, aliases) for field, value in parts.items()}
    tool, args = parts.get("tool"), parts.get("args")
    schema = definitions.of(tool, aliases) if isinstance(tool, str) else None
    if schema is not None and type(args) is dict and given.validators["args"] is fields.values:
        changes["args"] = _lenient_of_defaults(args, defaults_of(schema))
    different = {field: value for field, value in changes.items() if value is not parts[field]}
    return replace(given, **different) if different else given


def _lenient_of_defaults(expected: dict[str, Any], defaults: dict[str, Any]) -> dict[str, Any]:
    found = {name: _with_default(expected[name], default) for name, default in defaults.items() if name in expected}
    changed = any(value is not expected[name] for name, value in found.items())
    return {**expected, **found} if changed else expected


def _with_default(expected: Any, default: Any) -> Any:
    """Return what is expected of an argument where being absent and being the default are one."""
    if matches({"it": expected}, {}, "subset"):
        return AnyOf(expected, Eq(default))
    return AnyOf(expected, ABSENT) if matches({"it": expected}, {"it": default}, "subset") else expected
