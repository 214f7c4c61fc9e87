"""Tell whether a message and a tool's span say different things of one call: then it is not known which is true.

Both write the same in many ways: as JSON or as Python shows it, wrapped or not, with defaults, cut off.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Mapping
from typing import Any, Final

from tracewitness.readers.pairing import freeze
from tracewitness.readers.telemetry.payloads import unwrapped
from tracewitness.trace import Record

__all__ = ["arguments_differ", "payloads_differ"]

_MAX_DEPTH: Final = 20
# A text that is cut off ends in the middle of a word; shorter ones may begin as another by chance.
_LEAST_CUT: Final = 20
_words = re.compile(r"[^\W_]+").findall
_plain_words = re.compile(r"[a-z0-9]+").findall
_ESCAPED: Final = "\\u"
_without_escapes = functools.partial(re.compile(r"\\(?:u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|[a-z])").sub, " ")
# What some put in the place of nothing, each in its own words.
_NOTHING: Final = ("", "none", "null")


def arguments_differ(asked: Record, ran: Record) -> bool:
    """Whether a tool ran with other arguments than a model gave.

    A tool may get more than those, such as defaults. What can't be read as a mapping can't be compared.
    """
    if not isinstance(asked.args, Mapping) or not isinstance(ran.args, Mapping):
        return False
    return not _covers(asked.args, ran.args, 0)


def _covers(asked: Any, ran: Any, depth: int) -> bool:
    if depth > _MAX_DEPTH:
        return True
    asked, ran = unwrapped(asked), unwrapped(ran)
    if isinstance(asked, Mapping) and isinstance(ran, Mapping):
        is_covered = all(
            _covers(value, ran[key], depth + 1) if key in ran else value is None for key, value in asked.items()
        )
        # Some put a name of theirs around all of the arguments.
        return is_covered or (len(ran) == 1 and _covers(asked, next(iter(ran.values())), depth + 1))
    if isinstance(asked, (list, tuple)) and isinstance(ran, (list, tuple)):
        return len(asked) == len(ran) and all(_covers(*pair, depth + 1) for pair in zip(asked, ran, strict=True))
    if isinstance(asked, Mapping) or isinstance(ran, Mapping):
        return False
    return freeze(asked) == freeze(ran) or _in_words(asked, ran) == _in_words(ran, asked)


def payloads_differ(told: Any, gave: Any) -> bool:
    """Whether a model was told another result than a tool gave.

    One whose words are in the other is the same: results are wrapped, cut off, and told with words around them. Where
    a tool gives nothing, frameworks have words of their own.

    >>> payloads_differ("R", "DIFFERENT"), payloads_differ("It is: sunny", '{"result": "sunny"}')
    (True, False)
    """
    one, other = _in_words(told, gave), _in_words(gave, told)
    return one not in _NOTHING and other not in _NOTHING and not (_is_in(one, other) or _is_in(other, one))


def _is_in(part: str, whole: str) -> bool:
    """Whether words stand in others, or begin as them and are cut off."""
    return f" {part} " in f" {whole} " or (len(part) >= _LEAST_CUT and part in whole)


def _in_words(value: Any, other: Any) -> str:
    """Return the words of a value, however it is written down: only their plain letters where one has escapes."""
    text = _text(value)
    if _ESCAPED in text or _ESCAPED in _text(other):
        return " ".join(_plain_words(_without_escapes(text).casefold()))
    return " ".join(_words(_without_escapes(text).casefold()))


def _text(value: Any) -> str:
    value = _inner(value)
    try:
        return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    except (ValueError, TypeError, RecursionError):
        return ""


def _inner(value: Any) -> Any:
    """Return what is in a mapping with one key, under whatever name, and the text of a list of texts."""
    for _ in range(_MAX_DEPTH):
        value = unwrapped(value)
        if isinstance(value, Mapping) and len(value) == 1:
            value = next(iter(value.values()))
        elif isinstance(value, list) and value and all(isinstance(_said(item), str) for item in value):
            value = "\n".join(map(_said, value))
        else:
            return value
    return value


def _said(part: Any) -> Any:
    return part.get("text") if isinstance(part, Mapping) else part
