"""Find many values in many texts, in time that goes by the length of a text, and not by the number of values."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Collection, Iterable, Sequence
from typing import Final

__all__ = ["ValueSearch"]

#: Shorter texts and smaller numbers are found only where they stand in quotes: any word may have them in it.
_SHORTEST: Final = 4
#: Where a text was shortened, what is left of a value is looked for by so many characters.
_LONGEST_REST: Final = 80
_CUT: Final = re.compile("…")
#: Of longer values a text may show a part without the mark of a cut.
_LONG: Final = 16
_PART: Final = 10


class ValueSearch:
    """Finds values in texts, in small letters and capitals alike.

    Arguments:
        texts: values that are texts, each in all forms in which it is looked for.
        numbers: values that are numbers, as they are written; they are not found within longer ones.

    >>> search = ValueSearch(["ITEM-42"], ["4711"])
    >>> search.replaced("item-42 for 4711, not 47110", "***")
    '*** for ***, not 47110'
    """

    def __init__(self, texts: Collection[str], numbers: Collection[str]) -> None:
        folded = {_folded(text) for text in texts}
        self._numbers = {_folded(number) for number in numbers} - folded
        self._wholes = folded | self._numbers
        #: How long the values are that begin with a few characters, the longest first.
        self._lengths: dict[str, dict[int, None]] = {}
        for value in sorted(self._wholes, key=len, reverse=True):
            if len(value) >= _SHORTEST:
                self._lengths.setdefault(value[:_SHORTEST], {})[len(value)] = None
        self._short = _in_quotes([value for value in (*texts, *numbers) if len(value) < _SHORTEST])
        long = [value for value in folded if len(value) > _LONG]
        self._parts = frozenset(part for value in long for part in (value[:_PART], value[-_PART:]))
        self._forwards = sorted(folded)
        self._backwards = sorted(value[::-1] for value in folded)

    def is_value(self, text: str) -> bool:
        """Whether all of a text is one of the values."""
        return _folded(text) in self._wholes

    def replaced(self, text: str, by: str) -> str:
        """Return a text with each value in it replaced, the longest first."""
        folded = _folded(text)
        pieces: list[str] = []
        done = at = 0
        while at <= len(folded) - _SHORTEST:
            lengths = self._lengths.get(folded[at : at + _SHORTEST])
            found = self._found(lengths, folded, at) if lengths else 0
            if found:
                pieces += (text[done:at], by)
                done = at = at + found
            else:
                at += 1
        text = "".join([*pieces, text[done:]])
        return text if self._short is None else self._short.sub(lambda _: by, text)

    def _found(self, lengths: Iterable[int], text: str, at: int) -> int:
        """Return the length of the value that stands at a place, or 0."""
        for length in lengths:
            value = text[at : at + length]
            if value in self._wholes and (value not in self._numbers or _is_apart(text, at, at + length)):
                return length
        return 0

    def shows_part(self, text: str) -> bool:
        """Whether a text shows the beginning or the end of a value before or after a cut, or much of a long one."""
        folded = _folded(text)
        if self._parts and any(folded[at : at + _PART] in self._parts for at in range(len(folded) - _PART + 1)):
            return True
        return any(self._is_cut_at(folded, match.start()) for match in _CUT.finditer(folded))

    def _is_cut_at(self, text: str, cut: int) -> bool:
        before = text[max(cut - _LONGEST_REST, 0) : cut]
        after = text[cut + 1 : cut + 1 + _LONGEST_REST][::-1]
        return _ends_with_beginning(before, self._forwards) or _ends_with_beginning(after, self._backwards)


def _folded(text: str) -> str:
    """Return a text in small letters, each character where it was."""
    folded = text.lower()
    if len(folded) != len(text):  # a few capitals become two characters
        folded = "".join(small if len(small := character.lower()) == 1 else character for character in text)
    return folded.replace("\N{GREEK SMALL LETTER FINAL SIGMA}", "\N{GREEK SMALL LETTER SIGMA}")  # by what follows


def _is_apart(text: str, start: int, end: int) -> bool:
    """Whether a number is not a part of a longer one."""
    before, after = text[max(start - 1, 0) : start], text[end : end + 1]
    return not (before.isdecimal() or before == "." or after.isdecimal())


def _in_quotes(values: Sequence[str]) -> re.Pattern[str] | None:
    """Return the pattern of values in quotes. The quote stands first, or each value would be tried at each place."""
    if not values:
        return None
    return re.compile(rf"(?<=['\"])(?:{'|'.join(map(re.escape, values))})(?=['\"])", re.IGNORECASE)


def _ends_with_beginning(text: str, ordered: Sequence[str]) -> bool:
    """Whether a text ends with the beginning of one of the ordered values."""
    for size in range(_SHORTEST, len(text) + 1):
        end = text[-size:]
        at = bisect_left(ordered, end)
        if at < len(ordered) and ordered[at].startswith(end):
            return True
    return False
