"""Data of a report as the page takes it: JSON that a browser reads without loss, packed by gzip, in base64."""

from __future__ import annotations

import base64
import gzip
import json
import math
import re
from typing import Any, Final

from msgspec import UNSET, Struct

from tracewitness.display import show

__all__ = ["browser_json", "fields_of", "inline_json", "packed"]

#: Begins a text that stands for a number which JavaScript has no exact value for; a text of the data that begins with
#: it gets another one before it.
MARK: Final = "\0"
#: Digits after a point are those of a float, which both sides hold alike.
_LONG_NUMBER = re.compile(r"(?<![\d.])\d{16}")
#: Deeper than anything that people look at, and well within what either side reads.
_DEEPEST: Final = 200
_LARGEST: Final = 2**53


def browser_json(value: Any) -> bytes:
    r"""Return a value as JSON on one line, without loss in a browser.

    Numbers that JavaScript can't hold are texts after a mark (`MARK`), what is nested very deep is shown as a text, and
    a lone surrogate is an escape.

    >>> browser_json({"n": [1, 2**53 + 1, float("nan")], "text": "\ud800"}).decode()
    '{"n":[1,"\\u00009007199254740993","\\u0000NaN"],"text":"\\ud800"}'
    """
    try:
        text = _encoded(value)
    except (ValueError, RecursionError):
        return _utf8(_encoded(_exact(value)))
    if '"\\u0000' in text or _LONG_NUMBER.search(text):
        text = _encoded(_exact(value))
    return _utf8(text)


def _encoded(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=fields_of)


def fields_of(entry: Struct) -> dict[str, Any]:
    """Return the fields of an entry of a document that are set, as they stand in it."""
    fields = ((name, getattr(entry, name)) for name in entry.__struct_fields__)
    return {name: value for name, value in fields if value is not UNSET}


def _utf8(text: str) -> bytes:
    # In JSON the escape of a lone surrogate is written as Python writes it.
    return text.encode("utf-8", "backslashreplace")


def _exact(value: Any, depth: int = 0) -> Any:
    """Return a value with what JavaScript can't hold as marked texts."""
    if isinstance(value, str):
        return MARK + value if value.startswith(MARK) else value
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int):
        return value if abs(value) < _LARGEST else MARK + _digits(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else MARK + _not_finite(value)
    if depth >= _DEEPEST:
        return f"… nested deeper than {_DEEPEST} levels: {show(value)}"
    if isinstance(value, Struct):
        value = fields_of(value)
    if isinstance(value, dict):
        return {key: _exact(each, depth + 1) for key, each in value.items()}
    return [_exact(each, depth + 1) for each in value]


def _digits(value: int) -> str:
    """Return a number's digits; Python writes no number of many thousands."""
    try:
        return str(value)
    except ValueError:
        return hex(value)


def _not_finite(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    return "Infinity" if value > 0 else "-Infinity"


def packed(data: bytes) -> str:
    """Return data packed by gzip, in base64: nothing in it can end an element of the page."""
    return base64.b64encode(gzip.compress(data, 6, mtime=0)).decode("ascii")


def inline_json(value: Any) -> str:
    r"""Return a value as JSON that can stand in a script element as it is.

    >>> print(inline_json("</script><!--"))
    "\u003c/script\u003e\u003c!--"
    """
    text = browser_json(value).decode("utf-8")
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text
