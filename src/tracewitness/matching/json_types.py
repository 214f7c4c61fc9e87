"""The matcher of values by their type."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from tracewitness.display import nearest_name, show
from tracewitness.errors import ExpectationError

from .base import Matcher, Read, Write
from .nodes import Node, Rules, leaf
from .numeric import is_integral
from .values import kind_of, noun

_TYPES: Final[dict[str, Callable[[object], bool]]] = {
    "string": lambda value: isinstance(value, str),
    "integer": lambda value: kind_of(value) == "number" and is_integral(value),
    "number": lambda value: kind_of(value) == "number",
    "boolean": lambda value: isinstance(value, bool),
    "array": lambda value: kind_of(value) == "list",
    "object": lambda value: kind_of(value) == "mapping",
    "null": lambda value: value is None,
}
_PYTHON_TYPES: Final[dict[object, str]] = {
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    list: "array",
    tuple: "array",
    dict: "object",
    type(None): "null",
    None: "null",
}
_OTHER_NAMES: Final = {
    "str": "string",
    "text": "string",
    "int": "integer",
    "float": "number",
    "double": "number",
    "decimal": "number",
    "bool": "boolean",
    "list": "array",
    "tuple": "array",
    "dict": "object",
    "mapping": "object",
    "map": "object",
    "none": "null",
    "nonetype": "null",
    "nil": "null",
}


class IsType(Matcher):
    """Match a value of one of the types.

    Arguments:
        types: names of JSON types (string, integer, number, boolean, array, object, null), or Python classes;
            those that have a JSON type stand for it, so that ``float`` takes ``2`` and no bool is an ``int``.

    >>> IsType("string", "null")
    IsType('string', 'null')
    """

    __slots__ = ("types",)
    key = "$type"
    fields = ("types",)
    types: tuple[object, ...]

    def __init__(self, *types: object) -> None:
        if not types:
            raise ExpectationError(f"IsType needs at least one type: {', '.join(_TYPES)}")
        for kind in types:
            _check_type(kind)
        self._set(types=types)

    def arguments(self) -> tuple[tuple[object, ...], dict[str, object]]:
        return self.types, {}

    def __repr__(self) -> str:
        shown = (kind.__name__ if isinstance(kind, type) else repr(kind) for kind in self.types)
        return f"IsType({', '.join(shown)})"

    @classmethod
    def from_file(cls, value: object, _read: Read, /) -> Matcher:
        names = value if isinstance(value, list | tuple) else [value]
        for name in names:
            if not isinstance(name, str):
                raise ExpectationError(f"$type needs names of types ({', '.join(_TYPES)}), not {show(name)}")
        return cls(*names)

    def to_file(self, _write: Write, /) -> dict[str, object]:
        names = [json_type(kind) for kind in self.types]
        if None in names:
            raise ExpectationError(f"a file can't hold {self!r}; it knows the types {', '.join(_TYPES)}")
        return {self.key: names[0] if len(names) == 1 else names}

    def build(self, _rules: Rules, /) -> Node:
        tests = [_type_test(kind) for kind in self.types]

        def test(actual: object, _levels: int) -> bool:
            return any(is_of_type(actual) for is_of_type in tests)

        return leaf(self, test, lambda actual: f"it is {noun(actual)}")


def _check_type(kind: object) -> None:
    if isinstance(kind, type) or kind is None or (isinstance(kind, str) and kind in _TYPES):
        return
    if not isinstance(kind, str):
        raise ExpectationError(f"{show(kind)} is no type; use one of {', '.join(_TYPES)}, or a class")
    near = _OTHER_NAMES.get(kind.lower()) or nearest_name(kind.lower(), _TYPES)
    hint = f"did you mean {near!r}? The" if near else "the"
    raise ExpectationError(f"unknown type {show(kind)}; {hint} types are {', '.join(_TYPES)}")


def json_type(kind: object) -> str | None:
    """Return the JSON type that a name or a Python class stands for, or None."""
    return kind if isinstance(kind, str) else _PYTHON_TYPES.get(kind)


def _type_test(kind: object) -> Callable[[object], bool]:
    name = json_type(kind)
    if name is not None:
        return _TYPES[name]
    return lambda value: isinstance(value, kind)  # type: ignore[arg-type]
