"""Plain copies of values, taken when they are passed: what changes later does not change them.

Plain is what JSON has, and what has one obvious form in it. What has none is opaque: it is said to be so, and never
passed off as a text.
"""

from __future__ import annotations

import base64
import dataclasses
import json
from collections import deque
from collections.abc import Callable, Mapping, Set
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from pathlib import PurePath
from types import NoneType
from typing import Any, Final
from uuid import UUID

from msgspec import Struct

from tracewitness.display import printable
from tracewitness.errors import PathPart

__all__ = ["Opaque", "Snapshot", "snapshot"]

Path = tuple[PathPart, ...]

#: So many levels are copied; a value that is nested in itself has no end.
_MOST_LEVELS: Final = 100
_PLAIN: Final = frozenset({str, int, float, bool, NoneType})


class Opaque(Struct, frozen=True):
    """What stands in a copy for a value that has no plain form. Its `repr` reads as no literal, so that nobody takes it
    for one.

    Attributes:
        path: where it stood.
        reason: what it is.
    """

    path: Path
    reason: str

    def __repr__(self) -> str:
        return f"<{self.reason}>"


class Snapshot(Struct, frozen=True):
    """A copy of a value.

    Attributes:
        value: the copy.
        opaque: what of it has no plain form; each stands in the copy, too.
    """

    value: Any
    opaque: tuple[Opaque, ...] = ()


def snapshot(value: object, path: Path = (), plain: Callable[[Any], Any] | None = None) -> Snapshot:
    """Copy a value to plain data. Nothing that a value's own methods raise comes out of it.

    Tuples, ranges and sets become lists (those of sets sorted), dates and times ISO 8601, time spans seconds, decimals,
    UUIDs and paths text, bytes base64, members of enumerations their values, and dataclasses, models of pydantic, and
    classes of attrs and msgspec mappings. Keys become text as JSON has it.

    Arguments:
        value: anything.
        path: where it stands, for what is said of it.
        plain: is given what has no plain form, and returns something that has.

    >>> snapshot({"at": date(2024, 5, 1), "tags": {"b", "a"}}).value
    {'at': '2024-05-01', 'tags': ['a', 'b']}
    >>> snapshot([1, object()], ("args",)).opaque[0].path
    ('args', 1)
    """
    copier = _Copier(plain)
    copied = copier.copy(value, path, 0)
    return Snapshot(copied, tuple(copier.opaque))


class _Members(list[Any]):
    """The members of a set."""


class _Copier:
    def __init__(self, plain: Callable[[Any], Any] | None) -> None:
        self.opaque: list[Opaque] = []
        self._plain = plain

    def copy(self, value: Any, path: Path, depth: int) -> Any:
        kind = type(value)
        if kind in _PLAIN:
            return value
        if depth > _MOST_LEVELS:
            return self._give_up(path, f"nested more than {_MOST_LEVELS} levels deep, perhaps in itself")
        try:
            return self._copied(value, kind, path, depth)
        except Exception as error:  # noqa: BLE001 - the methods of foreign classes may raise anything
            return self._give_up(path, f"{_name(kind)}, which raised {_name(type(error))}")

    def _copied(self, value: Any, kind: type, path: Path, depth: int) -> Any:
        content = _content(value, kind)
        if content is value:
            return self._foreign(value, kind, path, depth)
        if type(content) is dict:
            return self._mapping(content, path, depth)
        if type(content) is list:
            return [self.copy(item, (*path, index), depth + 1) for index, item in enumerate(content)]
        if type(content) is _Members:
            return self._sorted(content, path, depth)
        return self.copy(content, path, depth + 1)

    def _mapping(self, content: dict[Any, Any], path: Path, depth: int) -> Any:
        copied: dict[str, Any] = {}
        for key, item in content.items():
            text = _key(key)
            if text is None or text in copied:
                return self._give_up(path, f"a mapping whose key {_name(type(key))} has no form in JSON of its own")
            copied[text] = self.copy(item, (*path, text), depth + 1)
        return copied

    def _sorted(self, content: _Members, path: Path, depth: int) -> list[Any]:
        """Copy a set to a list in an order that is the same in every process."""
        items = [self.copy(item, path, depth + 1) for item in content]
        return sorted(items, key=lambda item: json.dumps(item, sort_keys=True, default=repr))

    def _foreign(self, value: Any, kind: type, path: Path, depth: int) -> Any:
        made = value if self._plain is None else self._plain(value)
        if made is value:
            return self._give_up(path, _name(kind))
        return self.copy(made, path, depth + 1)

    def _give_up(self, path: Path, reason: str) -> Opaque:
        opaque = Opaque(path, reason)
        self.opaque.append(opaque)
        return opaque


def _content(value: Any, kind: type) -> Any:
    """Return what a value is made of, one level of it; the value itself where nobody knows."""
    for base, content in _CONTENTS:
        if issubclass(kind, base):
            return content(value)
    return _content_of_fields(value, kind)


def _content_of_fields(value: Any, kind: type) -> Any:
    if isinstance(value, type):
        return value
    names = _field_names(kind)
    if names is not None:
        return {name: getattr(value, name) for name in names if hasattr(value, name)}
    if callable(getattr(kind, "model_dump", None)):
        return dict(value.model_dump(warnings=False))
    if kind.__module__.partition(".")[0] == "numpy" and callable(getattr(kind, "tolist", None)):
        return value.tolist()
    return value


def _field_names(kind: type) -> tuple[str, ...] | None:
    """Return the names of the fields of a dataclass, or of a class of attrs or msgspec."""
    if dataclasses.is_dataclass(kind):
        return tuple(field.name for field in dataclasses.fields(kind))
    if hasattr(kind, "__attrs_attrs__"):
        return tuple(field.name for field in kind.__attrs_attrs__)
    fields: tuple[str, ...] | None = getattr(kind, "__struct_fields__", None)
    return fields


def _key(key: Any) -> str | None:
    """Return a key as JSON has it, or None."""
    while isinstance(key, Enum):
        key = key.value
    if isinstance(key, str):
        return str.__str__(key)
    return json.dumps(key) if type(key) in _PLAIN else None


def _name(kind: type) -> str:
    module = "" if kind.__module__ == "builtins" else f"{kind.__module__}."
    return printable(f"{module}{kind.__qualname__}", 100)


def _encoded(value: Any) -> str:
    return base64.b64encode(bytes(value)).decode("ascii")


#: What is made of values, the first base that fits. A class may say that it is another; its type does not.
_CONTENTS: Final[tuple[tuple[Any, Callable[[Any], Any]], ...]] = (
    (Enum, lambda value: value.value),
    (str, str.__str__),
    (int, int.__int__),
    (float, float.__float__),
    (Mapping, dict),
    ((list, tuple, range, deque), list),
    (Set, _Members),
    ((bytes, bytearray, memoryview), _encoded),
    ((datetime, date, time), lambda value: value.isoformat()),
    (timedelta, lambda value: value.total_seconds()),
    ((Decimal, UUID, PurePath), str),
)
