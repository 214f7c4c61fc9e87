"""Decode JSON so that nothing of it is lost in silence: no key that stands twice, no number that is too long.

Decoders keep the last of two equal keys and say nothing. None of them is quick and tells of it, so a quick one
decodes, and its work is tested: see `keys_are_unique`. Where the test fails a slow one says which key it is.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import msgspec
from msgspec import Raw

__all__ = ["Decoded", "decode_object", "decode_text", "decode_value", "holds_raw", "keys_are_unique", "raw_text"]

_encode = msgspec.json.Encoder().encode
_decode_any = msgspec.json.Decoder().decode


class Decoded(NamedTuple):
    """A value, and what is odd about it.

    Attributes:
        value: the data. A whole number with more digits than Python converts is in it as `msgspec.Raw`.
        end: where it ended in the text.
        repeated_key: a key that stands twice in one object, or None.
        has_raw: whether such a number is in it.
    """

    value: Any
    end: int
    repeated_key: str | None
    has_raw: bool


class _Hooks:
    """What the decoder calls for each object and, the second time, for each whole number."""

    def __init__(self) -> None:
        self.repeated_key: str | None = None
        self.has_raw = False

    def mapping(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        mapping = dict(pairs)
        if len(mapping) < len(pairs) and self.repeated_key is None:
            seen: set[str] = set()
            self.repeated_key = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        return mapping

    def whole_number(self, digits: str) -> int | Raw:
        try:
            return int(digits)
        except ValueError:
            self.has_raw = True
            return Raw(digits.encode())


def decode_text(text: str) -> Decoded:
    """Decode a text that is one JSON value.

    JSON is read as widely as it is written: also ``NaN``, ``1e400`` and halves of surrogate pairs.

    Raises:
        json.JSONDecodeError: it is none.
        RecursionError: it is nested too deeply.
    """
    return _decode(lambda decoder: (decoder.decode(text), len(text)))


def decode_value(text: str, start: int) -> Decoded:
    """Decode the JSON value that begins at ``start``; what follows it is not looked at.

    Raises:
        json.JSONDecodeError, RecursionError: as for `decode_text`.
    """
    return _decode(lambda decoder: decoder.raw_decode(text, start))


def _decode(decode_with: Callable[[json.JSONDecoder], tuple[Any, int]]) -> Decoded:
    hooks = _Hooks()
    try:
        value, end = decode_with(json.JSONDecoder(object_pairs_hook=hooks.mapping))
    except json.JSONDecodeError:
        raise
    except ValueError:  # a whole number is too long; to be called for each of them would slow down all others
        hooks = _Hooks()
        decoder = json.JSONDecoder(object_pairs_hook=hooks.mapping, parse_int=hooks.whole_number)
        value, end = decode_with(decoder)
    return Decoded(value, end, hooks.repeated_key, hooks.has_raw)


def keys_are_unique(data: bytes, value: Any) -> bool:
    """Whether it is certain that no key stands twice in an object of ``data``, at any depth.

    Each key has one colon, and all other colons stand in texts. What a decoder dropped is missing when the
    value is encoded again, so that there are fewer colons than before; as many show that nothing was dropped.
    A colon in a text could be written as an escape and make up for one: then it is not certain.

    Arguments:
        value: what ``data`` was decoded to.
    """
    if b"\\" in data and b"\\u003" in data:
        return False
    return data.count(b":") == _colons_of(value)


def decode_object(text: str) -> dict[str, Any] | None:
    """Return the object that a text holds; None where it holds none, or where a key may stand twice in it.

    As `keys_are_unique` has it; but most objects are flat, and have as many keys as the text has colons.
    """
    try:
        decoded = _decode_any(text)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None
    if decoded.__class__ is not dict:
        return None
    colons = text.count(":")
    is_certain = colons == len(decoded) or (
        colons == _colons_of(decoded) and ("\\" not in text or "\\u003" not in text)
    )
    return decoded if is_certain else None


def _colons_of(value: Any) -> int:
    """Count the colons in what a value is encoded to; -1 where it can't be."""
    try:
        return _encode(value).count(b":")
    except (ValueError, OverflowError, RecursionError):
        return -1


def holds_raw(value: Any) -> bool:
    """Whether a number that could not be converted is in plain data."""
    stack = [value]  # not by recursion: data may be as deep as Python's stack
    while stack:
        item = stack.pop()
        if isinstance(item, Raw):
            return True
        if isinstance(item, Mapping):
            stack += item.values()
        elif isinstance(item, list):
            stack += item
    return False


def raw_text(value: Any) -> str | None:
    """Write data that holds such a number as JSON again, with all its digits.

    Returns:
        The text; None where there is none, since half a surrogate pair stands beside the number.
    """
    try:
        return _encode(value).decode("utf-8")
    except (ValueError, RecursionError):
        return None
