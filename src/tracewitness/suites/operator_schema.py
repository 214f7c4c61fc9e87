"""The JSON Schema of the operators, made from the fields of their classes."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Annotated, Any, Final, Union, get_args, get_origin

from msgspec import UNSET, Meta, Struct, UnsetType, structs

from tracewitness.expectations import OPERATORS, Operator, Source
from tracewitness.expectations.operators import ALIASES
from tracewitness.matching import Matcher
from tracewitness.suites.matcher_schema import matcher_definitions

__all__ = ["operator_definitions"]

JsonSchema = dict[str, Any]

_PLAIN: Final[dict[Any, JsonSchema]] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    Any: {"$ref": "#/$defs/expected"},
    Matcher: {"$ref": "#/$defs/arguments"},
    dict: {"$ref": "#/$defs/arguments"},
}
_LIMITS: Final = {"ge": "minimum", "le": "maximum", "min_length": "minLength"}
_ONE_SOURCE: Final[JsonSchema] = {"anyOf": [{"const": "user"}, {"$ref": "#/$defs/Source"}]}
_SOURCES: Final[JsonSchema] = {
    "type": "object",
    "minProperties": 1,
    "additionalProperties": {"anyOf": [*_ONE_SOURCE["anyOf"], {"type": "array", "minItems": 1, "items": _ONE_SOURCE}]},
}
_TOOLS: Final[JsonSchema] = {"type": ["array", "object"], "minItems": 1, "minProperties": 1}
_BY_HAND: Final[dict[tuple[str, str], JsonSchema]] = {
    ("args_from", "args"): _SOURCES,
    ("score", "tools"): _TOOLS,
    ("valid_arguments", "tools"): _TOOLS,
}
"""Fields of which the class says less than its validator knows."""


def operator_definitions() -> dict[str, JsonSchema]:
    """Return the definitions that an eval file's schema needs for its tool expectations."""
    writer = _Writer()
    kinds = {name: OPERATORS[ALIASES.get(name, name)] for name in (*OPERATORS, *ALIASES)}
    operators = {name: writer.operator(name, kind) for name, kind in kinds.items()}
    writer.struct(Source)
    expectation = {
        "description": "Something that the agent must or must not have done.",
        "type": "object",
        "required": ["type"],
        "properties": {"type": {"enum": list(kinds)}},
        "oneOf": [{"$ref": f"#/$defs/{name}"} for name in operators],
    }
    return {"tool_expectation": expectation, **operators, **writer.parts, **matcher_definitions()}


def _first_line(docstring: str) -> str:
    """Return what a docstring begins with. Editors show a quote of code as it is written, so it has plain quotes."""
    return docstring.strip().split("\n")[0].replace("``", "'")


class _Writer:
    """Writes schemas of classes, and keeps those of the classes that they refer to."""

    def __init__(self) -> None:
        self.parts: dict[str, JsonSchema] = {}

    def operator(self, name: str, kind: type[Operator]) -> JsonSchema:
        """Return the schema of an operator: its fields, and its name under ``type``."""
        schema = self._fields(kind)
        by_hand = {field: form for (operator, field), form in _BY_HAND.items() if operator == kind.type_name}
        for field, form in by_hand.items():
            schema["properties"][field].pop("$ref")
            schema["properties"][field].update(form)
        known_by = {"const": name, "description": schema["description"]}  # editors show it where the name stands
        schema["properties"] = {"type": known_by, **schema["properties"]}
        schema["required"].insert(0, "type")
        return schema

    def struct(self, kind: type[Struct]) -> JsonSchema:
        """Return a reference to the schema of a class."""
        if kind.__name__ not in self.parts:
            self.parts[kind.__name__] = {}  # known before it is made: a group holds groups
            self.parts[kind.__name__] = self._fields(kind)
        return {"$ref": f"#/$defs/{kind.__name__}"}

    def _fields(self, kind: type[Struct]) -> JsonSchema:
        fields = structs.fields(kind)
        return {
            "description": _first_line(kind.__doc__ or ""),
            "type": "object",
            "properties": {field.encode_name: self._with_default(field) for field in fields},
            "required": [field.encode_name for field in fields if field.required],
            "additionalProperties": False,
        }

    def _with_default(self, field: structs.FieldInfo) -> JsonSchema:
        schema = self._of(field.type)
        if field.required or field.default is UNSET:
            return schema
        default = list(field.default) if isinstance(field.default, tuple) else field.default
        return {**schema, "default": default}

    def _of(self, annotation: Any) -> JsonSchema:
        """Return the schema of a type."""
        if annotation in _PLAIN:
            return dict(_PLAIN[annotation])
        if isinstance(annotation, type) and issubclass(annotation, Struct):
            return self.struct(annotation)
        return self._forms()[get_origin(annotation)](annotation)

    def _forms(self) -> dict[Any, Callable[[Any], JsonSchema]]:
        return {
            Annotated: self._annotated,
            Union: self._union,
            types.UnionType: self._union,
            tuple: lambda annotation: {"type": "array", "items": self._of(get_args(annotation)[0])},
            dict: self._mapping,
        }

    def _mapping(self, annotation: Any) -> JsonSchema:
        _, value = get_args(annotation)
        return dict(_PLAIN[dict]) if value is Any else {"type": "object", "additionalProperties": self._of(value)}

    def _annotated(self, annotation: Any) -> JsonSchema:
        schema = self._of(get_args(annotation)[0])
        for meta in annotation.__metadata__:
            if isinstance(meta, Meta):
                schema |= _meta(meta)
        return schema

    def _union(self, annotation: Any) -> JsonSchema:
        forms = [self._of(kind) for kind in get_args(annotation) if kind is not UnsetType]
        different = [form for index, form in enumerate(forms) if form not in forms[:index]]
        return different[0] if len(different) == 1 else {"anyOf": different}


def _meta(meta: Meta) -> JsonSchema:
    found = {name: getattr(meta, attribute) for attribute, name in _LIMITS.items()}
    described = {"description": meta.description, **found, **(meta.extra_json_schema or {})}
    return {name: value for name, value in described.items() if value is not None}
