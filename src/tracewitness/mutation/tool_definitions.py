"""The defaults of arguments, from definitions of tools as models are given them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from tracewitness.display import show
from tracewitness.errors import UsageError

__all__ = ["declared_defaults"]

#: Where the schema of the arguments stands: OpenAI's forms, Anthropic's, and MCP's.
_SCHEMAS: Final = ("parameters", "input_schema", "inputSchema")


def declared_defaults(definitions: Any) -> dict[str, dict[str, Any]]:
    """Return for each tool the values of arguments that are left out.

    Arguments:
        definitions: a list of tools as OpenAI, Anthropic or MCP have them, or a mapping with one under ``tools``.

    Raises:
        UsageError: it is nothing of the kind.

    >>> declared_defaults([{"name": "order", "input_schema": {"properties": {"quantity": {"default": 1}}}}])
    {'order': {'quantity': 1}}
    """
    listed = definitions.get("tools") if isinstance(definitions, Mapping) else definitions
    if not isinstance(listed, list):
        raise UsageError(f"definitions of tools are a list, or a mapping with tools, not {show(definitions)}")
    return dict(map(_defaults, listed))


def _defaults(definition: Any) -> tuple[str, dict[str, Any]]:
    inner = definition.get("function", definition) if isinstance(definition, Mapping) else None
    name = inner.get("name") if isinstance(inner, Mapping) else None
    if not isinstance(inner, Mapping) or not isinstance(name, str):
        raise UsageError(f"a tool's definition is a mapping with a name, not {show(definition)}")
    return name, {key: schema["default"] for key, schema in _properties(inner) if "default" in schema}


def _properties(inner: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for key in _SCHEMAS:
        schema = inner.get(key)
        properties = schema.get("properties") if isinstance(schema, Mapping) else None
        if isinstance(properties, Mapping):
            yield from ((name, each) for name, each in properties.items() if isinstance(each, Mapping))
