"""What the quick decoders of histories share: they decode messages to lean records, and leave what is odd to readers.

A history is decoded by types whose texts stay JSON, so that little more is done than passing over the bytes. That it
is what the format's reader would read is made sure of at once: when a text is decoded later, or a call is paired,
nothing can turn out to be otherwise.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable
from typing import Annotated, Any, Final

import msgspec
from msgspec import UNSET, Meta, Raw, UnsetType

from tracewitness.readers import json_text

__all__ = [
    "AFTER_TEXTS",
    "NULL",
    "Name",
    "OptionalName",
    "converter_to",
    "decode_optional_text",
    "decode_text",
    "decoder_to",
    "has_unique_keys",
    "is_absent",
    "is_filled",
    "keys_are_unique",
    "without_spaces",
]

#: The JSON of a text is less than this, and all other JSON is more: no value begins with as small a byte as the
#: quote. A `Raw` can be compared with a bytearray as it is.
AFTER_TEXTS: Final[Any] = bytearray(b"#")
#: The JSON of null, to compare with a `Raw`.
NULL: Final[Any] = bytearray(b"null")
# Texts and numbers are less than this, and lists and objects are more.
_LISTS: Final[Any] = bytearray(b"[")
#: A text that says something.
Name = Annotated[str, Meta(min_length=1)]
OptionalName = Name | UnsetType

_EMPTY: Final[Any] = bytearray(b'""')
_has_no_space: Final = re.compile(rb'[\[{]+"\w+":\S').match
_encode: Final = msgspec.json.Encoder().encode
_encode_into: Final = msgspec.json.Encoder().encode_into
_decode_any: Final = msgspec.json.Decoder().decode
#: Decodes a text or null that stayed JSON.
decode_optional_text: Final[Callable[[Raw], str | None]] = msgspec.json.Decoder(str | None).decode


def decoder_to(kind: Any) -> Callable[[bytes | Raw], Any | None]:
    """Return what decodes a document, or a piece of one that stayed JSON, to a type, and to None what does not fit."""
    decode = msgspec.json.Decoder(kind, float_hook=_fraction).decode

    def decode_document(data: bytes | Raw) -> Any | None:
        try:
            if type(data) is bytes and not data.isascii():
                data.decode("utf-8")  # what stays JSON is not tested for it by the decoder
            return decode(data)
        except (msgspec.MsgspecError, ValueError, RecursionError):
            return None

    return decode_document


def _fraction(digits: str) -> float:
    """Make a number that is encoded in no more digits than it was written in: see `keys_are_unique`.

    Raises:
        ValueError: it would be encoded in more, as 1e5 is, or not at all, as 1e400.
    """
    fraction = float(digits)
    if not math.isfinite(fraction) or len(_encode(fraction)) > len(digits):
        raise ValueError
    return fraction


def converter_to(kind: Any) -> Callable[[Any], Any | None]:
    """Return what converts decoded data to a type, and to None what does not fit it."""

    def convert(data: Any) -> Any | None:
        try:
            return msgspec.convert(data, kind)
        except (msgspec.ValidationError, UnicodeEncodeError, RecursionError):
            return None

    return convert


def without_spaces(data: bytes) -> bytes:
    """Return a document without the spaces between its tokens, where it begins as if it had some."""
    if _has_no_space(data):
        return data
    try:
        return msgspec.json.format(data, indent=-1)
    except (msgspec.MsgspecError, RecursionError):
        return data


def keys_are_unique(data: bytes | Raw, decoded: Any) -> bool:
    """Whether it is certain that no key stands twice in an object of a document, but for what stayed JSON.

    A decoder keeps the last of two equal keys, so that the other is missing when what it decoded is encoded again.
    Everything that is left comes out as it was written, or, where it was decoded, no longer than it was written: so
    an encoding as long as the document shows that nothing is missing, nor are there any spaces. Where there are, or
    where texts were written with more escapes than they need, colons are counted: each key has one, and all others
    stand in texts. An escape could only make up for one where it is written as such.

    Arguments:
        data: best `without_spaces`.
        decoded: what it was decoded to by `decoder_to`, by types that pass over no key.
    """
    encoded = bytearray(len(data))  # as long as it mostly becomes, so that it need not grow
    try:
        _encode_into(decoded, encoded)
    except (OverflowError, RecursionError):  # a whole number that is too long
        return False
    if len(encoded) == len(data):
        return True
    data = bytes(data)
    return b"\\u003" not in data and data.count(b":") == encoded.count(b":")


def has_unique_keys(value: Any) -> bool:
    """Whether it is certain that what stayed JSON and is not read could be: no key in it stands twice.

    Nor has it a number with more digits than Python converts.
    """
    if type(value) is not Raw or value < AFTER_TEXTS or value == NULL:
        return True
    if value < _LISTS and len(value) <= sys.int_info.default_max_str_digits:
        return True
    try:
        decoded = _decode_any(value)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return False
    return json_text.keys_are_unique(bytes(value), decoded)


def is_filled(text: Any) -> bool:
    """Whether there is a text, decoded or not, that is not empty."""
    if text.__class__ is Raw:
        return text < AFTER_TEXTS and len(text) > len('""')
    return text is not UNSET and bool(text)


def is_absent(text: Any) -> bool:
    """Whether there is no text, or an empty one."""
    return text is UNSET or not text or (text.__class__ is Raw and text in (NULL, _EMPTY))


def decode_text(text: Any) -> str | None:
    """Return a text that may have stayed JSON; None where there is none."""
    if text.__class__ is Raw:
        return decode_optional_text(text)
    return None if text is UNSET else text
