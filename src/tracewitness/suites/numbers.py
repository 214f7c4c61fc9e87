"""Numbers of an eval file, exact or refused."""

from __future__ import annotations

import math
from typing import Final

from tracewitness.display import show

__all__ = ["finite_float", "whole_number"]

_MAX_DIGITS: Final = 4_000  # Python itself refuses to convert more than 4,300


def whole_number(text: str, base: int = 10) -> int:
    """Return an integer of any size that makes sense.

    Raises:
        ValueError: it has more digits than Python converts.
    """
    if len(text) > _MAX_DIGITS:
        raise ValueError(f"a number of {len(text):,} digits is too long; put it in quotes")
    return int(text, base)


def finite_float(text: str) -> float:
    """Return a float.

    Raises:
        ValueError: it is too large; infinity would be another value than the one written.
    """
    value = float(text)
    if math.isinf(value):
        raise ValueError(f"{show(text, 40)} is too large for a number; put it in quotes")
    return value
