"""JSON in texts: read in bounds, never guessed at."""

from __future__ import annotations

import json
from typing import Final

from .values import UndecidedError

LEVELS: Final = 3  # texts in texts along one path that are looked into


class _RepeatedKeyError(Exception):
    pass


def _without_repetition(pairs: list[tuple[str, object]]) -> dict[str, object]:
    mapping = dict(pairs)
    if len(mapping) != len(pairs):
        raise _RepeatedKeyError
    return mapping


_DECODER = json.JSONDecoder(object_pairs_hook=_without_repetition)


def unfold(text: str, levels: int) -> tuple[object, int]:
    """Read the mapping or list that a text holds, perhaps as a text in a text.

    Arguments:
        levels: how many readings are left.

    Returns the value and the readings left then; the text it came to where that holds no mapping and no list.

    Errors:
        UndecidedError: it is JSON, but there is no single or no bounded way to read it.
    """
    value: object = text
    while levels and isinstance(value, str):
        if not value.lstrip(" \t\n\r").startswith(("{", "[", '"')):
            break
        inner = _decoded(value)
        if inner is None:
            break
        value, levels = inner, levels - 1
    return value, levels


def _decoded(text: str) -> object:
    try:
        return _DECODER.decode(text)
    except json.JSONDecodeError:
        return None
    except _RepeatedKeyError:
        raise UndecidedError("the JSON text has a key twice in one mapping") from None
    except RecursionError:
        raise UndecidedError("the JSON text nests too deeply to be read") from None
    except ValueError:  # of int(), which limits the digits
        raise UndecidedError("the JSON text has a number with too many digits to be read") from None


def json_value(text: str) -> object:
    """Read the mapping or list that a text holds as JSON; return the text itself where it holds none."""
    try:
        value, _ = unfold(text, LEVELS)
    except UndecidedError:
        return text
    return value if isinstance(value, (dict, list)) else text
