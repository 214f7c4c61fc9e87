"""Numbers, compared exactly, and texts that are numbers."""

from __future__ import annotations

import re
from typing import Any

# JSON's grammar, so that an identifier such as 007 is no number.
_JSON_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?(?:[eE]([+-]?[0-9]+))?")
_SHORT = 600  # digits: int() takes as many whatever sys.set_int_max_str_digits says
_EXPONENT_DIGITS = 18  # of what decimal can hold
_SPELLED = 10**18


def same_number(one: Any, other: Any) -> bool:
    """Tell whether two numbers have the same value, whatever their types; NaN is the same as NaN."""
    try:
        return bool(one == other or (one != one and other != other))
    except ArithmeticError:  # decimal's signalling NaN
        return False


def is_nan(number: Any) -> bool:
    """Tell whether this is no number at all: NaN, signalling or not."""
    try:
        return bool(number != number)
    except ArithmeticError:
        return True


def text_equals(text: str, number: Any) -> bool:
    """Tell whether a text is a JSON number with this value; a signalling NaN has none.

    A text with a fraction or an exponent equals the float nearest to it; against other numbers, and for
    integer texts, the exact value counts.
    """
    found = _JSON_NUMBER.fullmatch(text)
    if found is None or is_nan(number):
        return False
    _, fraction, exponent = found.groups()
    is_integer_text = fraction is None and exponent is None
    if isinstance(number, float) and not is_integer_text:
        return float(text) == number
    if is_integer_text and len(text) <= _SHORT:
        return bool(int(text) == number)
    return _decimal_equals(text, exponent or "0", number)


def spelling_of(number: object) -> str | None:
    """Return the one integer text that equals a number, or None where it takes a closer look."""
    return str(number) if type(number) is int and 0 < abs(number) < _SPELLED else None


def _decimal_equals(text: str, exponent: str, number: Any) -> bool:
    """Compare by decimal, which neither expands an exponent nor limits the digits."""
    from decimal import Decimal  # slow to import, and rare

    significand = text.lower().partition("e")[0]
    if not significand.strip("-0."):
        return bool(number == 0)
    if len(exponent.lstrip("+-0")) > _EXPONENT_DIGITS:
        return False
    try:
        return bool(Decimal(text) == number)
    except ArithmeticError:
        return False


def is_integral(number: Any) -> bool:
    """Tell whether a number has no fraction: 2, 2.0, Decimal("2.00")."""
    if hasattr(number, "to_integral_value"):  # a Decimal, whose abs() and % fail where there are many digits
        return bool(number.is_finite() and number == number.to_integral_value())
    return not is_nan(number) and abs(number) != float("inf") and bool(number % 1 == 0)


def json_number(text: str) -> int | float | None:
    """Read a text that is a JSON number: exactly if an integer, else as the nearest float; or None."""
    found = _JSON_NUMBER.fullmatch(text)
    if found is None or len(text) > _SHORT:
        return None
    return int(text) if found.group(2) is None and found.group(3) is None else float(text)
