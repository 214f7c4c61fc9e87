"""Envelopes: a result that is wrapped in a mapping with the one key ``result``, also as JSON text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from .jsontext import LEVELS, unfold
from .values import UndecidedError

_BEGINS_AS_ENVELOPE: Final = re.compile(r'[ \t\n\r]*\{[ \t\n\r]*"(?:result"|[^"]*\\u)')


def opened(payload: Any) -> Any:
    """Return what is inside an envelope, or the payload itself where it is none.

    >>> opened({"result": 5}), opened('{"result": 5}'), opened({"result": 5, "took": 1})
    (5, 5, {'result': 5, 'took': 1})
    """
    try:
        return inside_envelope(payload)
    except UndecidedError:
        return payload


def inside_envelope(payload: Any) -> Any:
    """Return what is inside an envelope, or the payload itself where it is none.

    Raises:
        UndecidedError: it is JSON that can't be read, so that nobody knows.
    """
    candidate = payload
    if isinstance(payload, str):
        if not _may_be_envelope(payload):
            return payload
        candidate, _ = unfold(payload, LEVELS)
    if candidate.__class__ is not dict and not isinstance(candidate, Mapping):
        return payload
    return candidate["result"] if len(candidate) == 1 and "result" in candidate else payload


def _may_be_envelope(text: str) -> bool:
    """Tell cheaply that a text is no envelope, since decoding is dear. A key may be spelt with escapes."""
    if _BEGINS_AS_ENVELOPE.match(text):
        return True
    # In a text in a text quotes are escaped, so that the bare word is looked for.
    return text.lstrip(" \t\n\r").startswith('"') and ("result" in text or "\\u" in text)
