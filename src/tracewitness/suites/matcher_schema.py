"""The JSON Schema of an expected value, with matchers at every depth."""

from __future__ import annotations

from typing import Any, Final

from tracewitness.matching.notation import MATCHERS

__all__ = ["matcher_definitions"]

JsonSchema = dict[str, Any]

_EXPECTED: Final[JsonSchema] = {"$ref": "#/$defs/expected"}
_LIST: Final[JsonSchema] = {"type": "array", "items": _EXPECTED}
_TRUE: Final[JsonSchema] = {"const": True}
_TEXT: Final[JsonSchema] = {"type": "string"}
_BOUND: Final[JsonSchema] = {"type": ["number", "string"]}
_SIZE: Final[JsonSchema] = {"type": "integer", "minimum": 0}
_TYPE: Final[JsonSchema] = {"enum": ["string", "integer", "number", "boolean", "array", "object", "null"]}
_NUMBER_FROM_0: Final[JsonSchema] = {"type": "number", "minimum": 0}

_MEANINGS: Final[dict[str, tuple[str, JsonSchema]]] = {
    "$any": ("Whatever is there, null included; the key must be there.", _TRUE),
    "$absent": ("The key is not there.", _TRUE),
    "$all_of": ("What every one of these matches.", _LIST),
    "$any_of": ("What at least one of these matches.", _LIST),
    "$not": ("What this does not match; the key must be there.", _EXPECTED),
    "$one_of": ("Any of these values.", _LIST),
    "$approx": ("A number near this one; rel and abs beside it say how near.", {"type": "number"}),
    "$gt": ("A number, or an ISO date, greater than this.", _BOUND),
    "$gte": ("A number, or an ISO date, greater than this or equal to it.", _BOUND),
    "$lt": ("A number, or an ISO date, less than this.", _BOUND),
    "$lte": ("A number, or an ISO date, less than this or equal to it.", _BOUND),
    "$date": ("A text that is an ISO 8601 date.", _TRUE),
    "$datetime": (
        "A text that is an ISO 8601 date with a time; near and within say how close to another.",
        {
            "anyOf": [
                _TRUE,
                {
                    "type": "object",
                    "properties": {"near": _TEXT, "within": {"type": "number"}},
                    "additionalProperties": False,
                },
            ]
        },
    ),
    "$type": (
        "A value of this JSON type, or of one of these.",
        {"anyOf": [_TYPE, {"type": "array", "items": _TYPE}]},
    ),
    "$length": (
        "A text, list or mapping of this size, or of a size from min to max.",
        {
            "anyOf": [
                _SIZE,
                {"type": "object", "properties": {"min": _SIZE, "max": _SIZE}, "additionalProperties": False},
            ]
        },
    ),
    "$regex": ("A text that this regular expression matches as a whole.", _TEXT),
    "$search": ("A text in which this regular expression is found anywhere.", _TEXT),
    "$schema": ("A value that is valid under this JSON Schema.", {"type": "object"}),
    "$contains": (
        "A text with this text in it, a list with such an item, a mapping with this key.",
        _EXPECTED,
    ),
    "$each": ("A list every item of which matches this.", _EXPECTED),
    "$eq": ("Just this value: nothing in it is a matcher or a wildcard.", {}),
    "$exactly": ("This value with nothing more, and of the same types.", _EXPECTED),
    "$partial": ("A mapping that has at least these keys.", {"type": "object", **_EXPECTED}),
    "$unordered": ("A list of these items in any order.", _LIST),
}

_ALL_DOLLAR: Final[JsonSchema] = {"minProperties": 1, "propertyNames": {"pattern": r"^\$"}}
_APPROX_ALONE: Final[JsonSchema] = {
    "required": ["$approx"],
    "propertyNames": {"pattern": r"^(\$|(rel|abs)$)"},
}


def matcher_definitions() -> dict[str, JsonSchema]:
    """Return the definitions of expected values: of any kind, of arguments, and of a matcher."""
    return {
        "expected": {
            "description": 'A value to match: plain, "*" for anything not empty, or a matcher like $regex.',
            "if": {"type": "object", "anyOf": [_ALL_DOLLAR, _APPROX_ALONE]},
            "then": {"$ref": "#/$defs/matcher"},
            "else": {"items": _EXPECTED, "additionalProperties": _EXPECTED},
        },
        "arguments": {"type": "object", **_EXPECTED},
        "matcher": {
            "description": "A matcher; with several keys, all of them hold.",
            "type": "object",
            "minProperties": 1,
            "properties": {
                **{key: _described(key) for key in MATCHERS},
                "rel": {"description": "The tolerance of $approx as a part of the number.", **_NUMBER_FROM_0},
                "abs": {"description": "The tolerance of $approx as it is.", **_NUMBER_FROM_0},
            },
            "additionalProperties": False,
            "dependentRequired": {"rel": ["$approx"], "abs": ["$approx"]},
        },
    }


def _described(key: str) -> JsonSchema:
    description, schema = _MEANINGS[key]
    return {"description": description, **schema}
