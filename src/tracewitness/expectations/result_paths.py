"""Paths in what tools return and in arguments: dotted keys with ``[n]`` and ``[*]``; JSON in text is looked into."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from tracewitness.errors import ExpectationError
from tracewitness.matching import json_value, opened

__all__ = ["Place", "Steps", "leaves_of", "parse_path", "placed_at", "readings_of", "values_at"]

_EACH: Final = "*"
_STEP = re.compile(r"(?:^|\.)(?P<key>[^.\[\]]+)|\[(?P<index>\d+|\*)\]")
#: So deep lists and mappings are looked into for their leaves.
_DEEPEST: Final = 50

#: A path, read: pairs of ``key`` or ``index`` and what it is.
Steps = tuple[tuple[str, Any], ...]
#: Where a value stands: keys and indexes.
Place = tuple[str | int, ...]


def parse_path(path: str) -> Steps:
    """Read a path of dotted keys with ``[n]`` and ``[*]``.

    Raises:
        ExpectationError: the path is none.

    >>> parse_path("items[*].id")
    (('key', 'items'), ('index', '*'), ('key', 'id'))
    """
    steps: list[tuple[str, Any]] = []
    at = 0
    while at < len(path):
        found = _STEP.match(path, at)
        if found is None:
            raise ExpectationError(
                f"not a path: {path!r} at character {at + 1}; write keys with dots and [n] or [*], as items[*].id"
            )
        key, index = found.group("key"), found.group("index")
        steps.append(("key", key) if key is not None else ("index", _EACH if index == _EACH else int(index)))
        at = found.end()
    return tuple(steps)


def values_at(payload: Any, steps: Steps) -> list[Any]:
    """Return what stands at a path; JSON in text is looked into.

    >>> values_at({"items": [{"id": "A1"}, {"id": "B2"}]}, parse_path("items[*].id"))
    ['A1', 'B2']
    """
    found = [payload]
    for kind, part in steps:
        found = [child for value in found for child in _children(_decoded(value), kind, part)]
    return found


def placed_at(payload: Any, steps: Steps) -> list[tuple[Place, Any]]:
    """Return what stands at a path, each with the very keys and indexes that lead there.

    >>> placed_at({"items": [{"id": "A1"}]}, parse_path("items[*].id"))
    [(('items', 0, 'id'), 'A1')]
    """
    found: list[tuple[Place, Any]] = [((), payload)]
    for kind, part in steps:
        found = [
            ((*place, index if part == _EACH else part), child)
            for place, value in found
            for index, child in enumerate(_children(_decoded(value), kind, part))
        ]
    return found


def leaves_of(payload: Any) -> Iterator[tuple[Place, Any]]:
    """Yield every value in a payload that is no list and no mapping, with its place; JSON in text is looked into.

    What is nested deeper than 50 levels is left out: nothing is found in it, so that a check fails closed.

    >>> list(leaves_of({"id": "A1", "tags": ["new"]}))
    [(('id',), 'A1'), (('tags', 0), 'new')]
    """
    rest: list[tuple[Place, Any]] = [((), payload)]
    while rest:
        place, value = rest.pop()
        content = _decoded(value)
        if len(place) < _DEEPEST and isinstance(content, Mapping):
            rest.extend(reversed([((*place, str(key)), child) for key, child in content.items()]))
        elif len(place) < _DEEPEST and isinstance(content, (list, tuple)):
            rest.extend(reversed([((*place, index), child) for index, child in enumerate(content)]))
        elif not isinstance(content, (Mapping, list, tuple)):
            yield place, content


def readings_of(payload: Any) -> list[Any]:
    """Return a payload, and where it is an envelope what is inside it as well."""
    inside = opened(payload)
    return [payload] if inside is payload else [payload, inside]


def _decoded(value: Any) -> Any:
    return json_value(value) if isinstance(value, str) else value


def _children(value: Any, kind: str, part: Any) -> Iterable[Any]:
    if kind == "key":
        return [value[part]] if isinstance(value, Mapping) and part in value else []
    if not isinstance(value, (list, tuple)):
        return []
    return value if part == _EACH else value[part : part + 1]
