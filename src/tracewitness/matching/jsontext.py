"""JSON in texts: read in bounds, never guessed at."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any, Final, TypedDict

import msgspec

from .values import UndecidedError

LEVELS: Final = 3  # texts in texts along one path that are looked into


def unfold(text: str, levels: int) -> tuple[object, int]:
    """Read the mapping or list that a text holds, perhaps as a text in a text.

    Arguments:
        levels: how many readings are left.

    Returns the value and the readings left then; the text it came to where that holds no mapping and no list.

    Errors:
        UndecidedError: it is JSON, but nests too deeply or has a number too long to be read.
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


def reading_of(keys: Iterable[str]) -> Callable[[str], dict[Any, object] | None]:
    """Make a function that reads only what stands at some keys of the mapping that a text is; all else is skipped.

    It returns None where it is not certain that this is what decoding the whole text would give. Skipping tests the
    grammar just as decoding does; only numbers that are too long pass unseen, and a short text has none.

    Arguments:
        keys: all in ASCII; the decoder does not find others reliably.
    """

    @cache  # made when the first text comes: most expectations never meet one
    def decoder() -> Callable[[str], Any]:
        content = TypedDict("Content", dict.fromkeys(keys, Any), total=False)  # type: ignore[misc]
        return msgspec.json.Decoder(content).decode

    def read(text: str) -> dict[Any, object] | None:
        if not text.startswith("{") or len(text) > sys.get_int_max_str_digits():
            return None
        try:
            content: dict[Any, object] = decoder()(text)
        except (msgspec.MsgspecError, UnicodeEncodeError, RecursionError):
            return None
        return content

    return read


def _decoded(text: str) -> object:
    """Decode a text; None where it is no JSON. Of a key that is there twice the last counts, as for every reader."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.MsgspecError, UnicodeEncodeError, RecursionError):
        return _decoded_widely(text)  # NaN, 1e400 and halves of surrogate pairs are written too


def _decoded_widely(text: str) -> object:
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return None
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
