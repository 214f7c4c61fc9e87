"""Where and why a value does not match."""

from __future__ import annotations

import msgspec

from tracewitness.display import printable, show
from tracewitness.errors import PathPart, path_text

from .numeric import same_number
from .values import MISSING, described, kind_of

Path = tuple[PathPart, ...]

_SHOWN = 80
_BEFORE = 20


class Difference(msgspec.Struct, frozen=True):
    """One place where a value is not as expected.

    Arguments:
        path: the keys and indexes that lead to the place.
        expected: what was expected there; `MISSING` where nothing was.
        actual: what came; `MISSING` where nothing did.
        reason: why the two don't match, where that says more than the values do. Where both are `MISSING`, it says
            how many differences are left out.

    >>> print(Difference(("args", "city"), "NYC", "LAX"))
    args.city: expected 'NYC', got 'LAX'
    """

    path: Path
    expected: object
    actual: object
    reason: str = ""

    def __str__(self) -> str:
        place = printable(path_text(self.path, root=""))
        text = printable(_sentence(self), 400)
        return f"{place}: {text}" if place else text


def _sentence(difference: Difference) -> str:
    reason = difference.reason
    suffix = f" ({reason})" if reason else ""
    if difference.expected is MISSING and difference.actual is MISSING:
        return reason
    if difference.expected is MISSING:
        return f"did not expect {show(difference.actual)}{suffix}"
    if difference.actual is MISSING:
        return f"expected {show(difference.expected)}, but it is missing{suffix}"
    if reason.startswith("expected "):
        return reason
    expected, actual = _shown_pair(difference.expected, difference.actual)
    return f"expected {expected}, got {actual}{suffix}"


def _shown_pair(expected: object, actual: object) -> tuple[str, str]:
    """Show two values; of two texts that are long, the part from where they differ."""
    if not (isinstance(expected, str) and isinstance(actual, str)):
        return show(expected), show(actual)
    if max(len(expected), len(actual)) <= _SHOWN - 2:
        return show(expected), show(actual)
    start = max(0, first_difference(expected, actual) - _BEFORE)
    return _window(expected, start), _window(actual, start)


def _window(text: str, start: int) -> str:
    part = text[start : start + _SHOWN - 6]
    before = "…" if start else ""
    after = "…" if start + len(part) < len(text) else ""
    return before + show(part) + after


def first_difference(one: str, other: str) -> int:
    """Return the first index at which two texts differ."""
    low, high = 0, min(len(one), len(other))
    while low < high:  # slices compare in C, so that halving beats a loop over the characters
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def why_different(expected: object, actual: object) -> str:
    """Return what is worth saying about two plain values that don't match, or an empty text."""
    expected_kind, actual_kind = kind_of(expected), kind_of(actual)
    if expected_kind != actual_kind:
        return f"expected {described(expected)}, got {described(actual)}"
    if isinstance(expected, str) and isinstance(actual, str):
        return _why_texts_differ(expected, actual)
    if type(expected) is type(actual) or (expected_kind == "number" and not same_number(expected, actual)):
        return ""
    return f"of type {type(actual).__name__}, not {type(expected).__name__}"


def _why_texts_differ(expected: str, actual: str) -> str:
    import unicodedata  # only failures need it

    def composed(text: str) -> str:
        return unicodedata.normalize("NFC", text)

    if expected.strip() == actual.strip():
        return "differs only in surrounding white space"
    if composed(expected) == composed(actual):
        return "differs only in Unicode normalisation"
    if expected.casefold() == actual.casefold():
        return "differs only in case"
    if composed(expected.casefold()).strip() == composed(actual.casefold()).strip():
        return "differs only in case, surrounding white space or Unicode normalisation"
    return _why_characters_differ(expected, actual)


def _why_characters_differ(expected: str, actual: str) -> str:
    """Name the first two characters that differ where one is not ASCII, since the two may look alike."""
    index = first_difference(expected, actual)
    pair = expected[index : index + 1], actual[index : index + 1]
    if "" in pair or "".join(pair).isascii():
        return ""
    wanted, came = (f"U+{ord(character):04X}" for character in pair)
    return f"character {index} is {came}, not {wanted}"
