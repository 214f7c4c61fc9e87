"""The JSON Schema of an eval file, for editors that complete, explain and underline while one writes.

It is made from the tables that the reader goes by and from the operators' own fields, so it can't drift.
"""

from __future__ import annotations

from copy import deepcopy
from typing import Any, Final

from tracewitness.suites.operator_schema import operator_definitions
from tracewitness.suites.shapes import CASE, JUDGED, STEP, SUITE, Field, Kind, Shape

__all__ = ["suite_schema"]

JsonSchema = dict[str, Any]

_FILLED_TEXT: Final[JsonSchema] = {"type": "string", "pattern": r"\S"}
_BY_KIND: Final[dict[Kind, JsonSchema]] = {
    "aliases": {
        "type": "object",
        "propertyNames": {"pattern": r"\S"},
        "additionalProperties": {"type": "array", "minItems": 1, "items": _FILLED_TEXT},
    },
    "cases": {"type": "array", "items": {"$ref": "#/$defs/case"}},
    "count": {"type": "integer", "minimum": 0},
    "expectations": {"type": "array", "items": {"$ref": "#/$defs/judged_expectation"}},
    "name": _FILLED_TEXT,
    "operators": {"type": "array", "items": {"$ref": "#/$defs/tool_expectation"}},
    "steps": {"type": "array", "items": {"$ref": "#/$defs/step"}},
    "tags": {"type": "array", "items": _FILLED_TEXT},
    "text": {"type": "string"},
    "tools": {"type": ["array", "object", "string"], "minItems": 1, "minProperties": 1, "minLength": 1},
    "values": {"type": "object"},
}
_FOREIGN_KEY: Final = "Belongs to another tool: kept as it is, and not used by tracewitness."


def suite_schema() -> JsonSchema:
    """Return the JSON Schema (draft 2020-12) of an eval file; the caller may change it.

    Example::

        json.dumps(suite_schema(), indent=2)
    """
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Eval file of tracewitness",
        "description": "What agents are expected to do: a mapping with evals, or a bare list of evals.",
        **_shape_schema(SUITE),
        "type": ["object", "array"],
        "items": {"$ref": "#/$defs/case"},
        "minItems": 1,
        "anyOf": [{"type": "array"}, _has_items("evals"), _has_items("common_tool_expectations")],
        "$defs": {
            "case": _shape_schema(CASE),
            "step": _shape_schema(STEP),
            "judged_expectation": {**_shape_schema(JUDGED), **_FILLED_TEXT, "type": ["string", "object"]},
            **operator_definitions(),
        },
    }
    return deepcopy(schema)  # its parts share tables of this module


def _shape_schema(shape: Shape) -> JsonSchema:
    foreign = {key: {"description": _FOREIGN_KEY} for key in shape.foreign}
    return {
        "type": "object",
        "properties": {**{field.name: _field_schema(field) for field in shape.fields}, **foreign},
        "required": [field.name for field in shape.fields if field.required],
        "additionalProperties": False,
    }


def _field_schema(field: Field) -> JsonSchema:
    """Return the schema of one key; where it may be left out, it may also have no value."""
    schema = {"description": field.description, **_BY_KIND[field.kind]}
    given = schema["type"]
    types = given if isinstance(given, list) else [given]
    return schema if field.required else {**schema, "type": [*types, "null"]}


def _has_items(key: str) -> JsonSchema:
    return {"type": "object", "required": [key], "properties": {key: {"type": "array", "minItems": 1}}}
