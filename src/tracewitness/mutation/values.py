"""Wrong values in the place of right ones: those that look alike, and those of another type."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from tracewitness.errors import PathPart

__all__ = ["look_alike", "look_alikes", "of_another_type"]

_DIGITS: Final = re.compile(r"[0-9]{2,}")
_LETTERS: Final = re.compile(r"[A-Za-z]{2,}")
_NEXT_DIGIT: Final = str.maketrans("0123456789", "1234567890")
#: So deep are values looked into, and so many places of one argument are changed; longer lists say the same again.
_MOST_LEVELS: Final = 8
_MOST_PLACES: Final = 16
#: A longer text is no identifier.
_LONGEST: Final = 200

Path = tuple[PathPart, ...]


def look_alike(value: Any) -> Any:
    """Return a wrong value that could be taken for the right one, or None where there is no such thing.

    An identifier has two neighbouring characters exchanged, as people and models mistake them, or else one digit
    changed. Of prose there is none: with a letter exchanged it says the same.

    >>> look_alike("ITEM-42"), look_alike("ITEM-7"), look_alike(2), look_alike(True)
    ('ITEM-24', 'ITEM-8', 3, False)
    >>> look_alike("no longer needed") is None
    True
    """
    if isinstance(value, bool):
        return not value
    if isinstance(value, (int, float)):
        return _other_number(value)
    if isinstance(value, str) and value and len(value) <= _LONGEST and not re.search(r"\s", value):
        return _exchanged(value, _DIGITS) or _with_next_digit(value) or _exchanged(value, _LETTERS)
    return None


def _other_number(value: float) -> float | None:
    """Return the next number, or None where there is none: the value is no number, or beyond counting."""
    other = value + 1
    return other if value != other and value == value else None


def _exchanged(text: str, runs: re.Pattern[str]) -> str | None:
    """Exchange the last two neighbours of a kind that differ."""
    for found in reversed(list(runs.finditer(text))):
        for at in range(found.end() - 2, found.start() - 1, -1):
            one, other = text[at], text[at + 1]
            if one.lower() != other.lower():
                return text[:at] + other + one + text[at + 2 :]
    return None


def _with_next_digit(text: str) -> str | None:
    for at in range(len(text) - 1, -1, -1):
        if text[at] in "0123456789":
            return text[:at] + text[at].translate(_NEXT_DIGIT) + text[at + 1 :]
    return None


def look_alikes(value: Any) -> Iterator[tuple[Path, Any]]:
    """Yield a value with one place of it changed to a look-alike, for each place, with the path of that place.

    >>> list(look_alikes({"id": "A12", "note": "a b"}))
    [(('id',), {'id': 'A21', 'note': 'a b'})]
    """
    for number, (path, leaf) in enumerate(_leaves(value, ())):
        if number == _MOST_PLACES:
            return
        yield path, _replaced(value, path, leaf)


def _leaves(value: Any, path: Path) -> Iterator[tuple[Path, Any]]:
    """Yield each place that has a look-alike, with that."""
    if len(path) > _MOST_LEVELS:
        return
    if isinstance(value, dict):
        for key, child in value.items():
            yield from _leaves(child, (*path, key))
    elif isinstance(value, list):
        for index, child in enumerate(value):
            yield from _leaves(child, (*path, index))
    else:
        other = look_alike(value)
        if other is not None:
            yield path, other


def _replaced(value: Any, path: Path, leaf: Any) -> Any:
    """Return a copy with another leaf, sharing all that is not on the way to it."""
    if not path:
        return leaf
    copy = value.copy()
    copy[path[0]] = _replaced(value[path[0]], path[1:], leaf)
    return copy


def of_another_type(value: Any) -> Any:
    """Return what holds a value and is of another type; none of our policies takes the two for the same.

    >>> of_another_type("ITEM-42"), of_another_type([1]), of_another_type(None)
    (['ITEM-42'], {'items': [1]}, 'none')
    """
    if value is None:
        return "none"
    return {"items": value} if isinstance(value, list) else [value]
