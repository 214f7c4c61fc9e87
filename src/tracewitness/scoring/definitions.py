"""Definitions of tools, as providers and servers take them: their names, the schemas of their arguments, defaults."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from tracewitness.display import show
from tracewitness.errors import ExpectationError

__all__ = ["ToolDefinitions"]

#: Under which key a definition has the schema of its arguments: Anthropic, MCP, OpenAI and plain.
_SCHEMA_KEYS: Final = ("input_schema", "inputSchema", "parameters")
_NO_ARGUMENTS: Final[Mapping[str, Any]] = {"type": "object", "properties": {}, "additionalProperties": False}
_FORMS: Final = "a list of definitions of OpenAI, Anthropic or MCP, or a mapping from each tool to its JSON Schema"


class ToolDefinitions(Mapping[str, Mapping[str, Any]]):
    """The JSON Schema of each tool's arguments, by the tool's name.

    >>> ToolDefinitions.read([{"type": "function", "function": {"name": "search", "parameters": {"type": "object"}}}])
    <ToolDefinitions: search>
    """

    def __init__(self, schemas: Mapping[str, Mapping[str, Any]]) -> None:
        self._schemas = dict(schemas)

    @classmethod
    def read(cls, given: Any) -> ToolDefinitions:
        """Read definitions.

        Arguments:
            given: a list of definitions, of OpenAI (chat or Responses), Anthropic or MCP, also mixed; what MCP's
                ``tools/list`` answers; or a mapping from names to JSON Schemas.

        Raises:
            ExpectationError: it is none of these, a tool is defined twice, or there is none; the path says where.
        """
        if isinstance(given, ToolDefinitions):
            return given
        if isinstance(given, Mapping) and isinstance(given.get("tools"), (list, tuple)):
            return cls._of_list(given["tools"], ("tools",))
        if isinstance(given, Mapping) and not _is_definition(given):
            return cls._of_mapping(given)
        return cls._of_list([given] if isinstance(given, Mapping) else given, ())

    @classmethod
    def _of_list(cls, given: Any, path: tuple[str, ...]) -> ToolDefinitions:
        if not isinstance(given, (list, tuple)):
            raise ExpectationError(f"expected {_FORMS}, got {show(given)}", path)
        schemas: dict[str, Mapping[str, Any]] = {}
        for index, each in enumerate(given):
            try:
                name, schema = _definition(each)
                if name in schemas:
                    raise ExpectationError(f"a second definition of {show(name)}; leave one out")
            except ExpectationError as error:
                raise error.under(*path, index) from None
            schemas[name] = schema
        return cls._some(schemas, path)

    @classmethod
    def _of_mapping(cls, given: Mapping[Any, Any]) -> ToolDefinitions:
        for name, schema in given.items():
            if not isinstance(name, str) or not name or not isinstance(schema, Mapping):
                path = (name,) if isinstance(name, str) else ()
                raise ExpectationError(f"expected the JSON Schema of a tool's arguments, got {show(schema)}", path)
        return cls._some(given, ())

    @classmethod
    def _some(cls, schemas: Mapping[str, Mapping[str, Any]], path: tuple[str, ...]) -> ToolDefinitions:
        if not schemas:
            raise ExpectationError(f"expected the definition of at least one tool: {_FORMS}", path)
        return cls(schemas)

    def of(self, tool: str, aliases: Mapping[str, Any] | None = None) -> Mapping[str, Any] | None:
        """Return the schema of a tool, under its own name or another of its names; None where it is not defined."""
        names = (tool, *(aliases or {}).get(tool, ()))
        return next((self._schemas[name] for name in names if name in self._schemas), None)

    def __getitem__(self, tool: str) -> Mapping[str, Any]:
        return self._schemas[tool]

    def __iter__(self) -> Iterator[str]:
        return iter(self._schemas)

    def __len__(self) -> int:
        return len(self._schemas)

    def __repr__(self) -> str:
        return f"<ToolDefinitions: {', '.join(map(str, self._schemas))}>"


def defaults_of(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the defaults that a schema gives for arguments.

    >>> defaults_of({"properties": {"q": {"type": "string"}, "limit": {"type": "integer", "default": 10}}})
    {'limit': 10}
    """
    properties = schema.get("properties")
    if not isinstance(properties, Mapping):
        return {}
    return {
        name: about["default"]
        for name, about in properties.items()
        if isinstance(about, Mapping) and "default" in about
    }


def _is_definition(given: Mapping[Any, Any]) -> bool:
    """Whether a mapping is the definition of one tool, not a mapping of tools; a tool may be called ``name``."""
    return isinstance(given.get("name"), str) or (given.get("type") == "function" and "function" in given)


def _definition(given: Any) -> tuple[str, Mapping[str, Any]]:
    """Return the name and the schema of one definition."""
    if not isinstance(given, Mapping):
        raise ExpectationError(f"expected the definition of a tool, got {show(given)}")
    if given.get("type") == "function" and "function" in given:
        try:
            return _definition(given["function"])
        except ExpectationError as error:
            raise error.under("function") from None
    name = given.get("name")
    if not isinstance(name, str) or not name:
        raise ExpectationError(
            f"a definition has a name, the tool's, and the schema of its arguments; got {show(given)}"
        )
    keys = [key for key in _SCHEMA_KEYS if given.get(key) is not None]
    if len(keys) > 1:
        raise ExpectationError(f"{' and '.join(keys)} both give the schema of {show(name)}; leave one out")
    if not keys:
        return name, _NO_ARGUMENTS  # in the form of OpenAI, a function without parameters takes none
    schema = given[keys[0]]
    if not isinstance(schema, Mapping):
        raise ExpectationError(f"expected a JSON Schema, got {show(schema)}", (keys[0],))
    return name, schema
