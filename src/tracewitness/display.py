"""Show untrusted values to people: escaped, shortened, never evaluated.

What stands in a trace is written by models, tools and users. It must not be able to move the cursor, change colours,
reverse the direction of a line, or fill the screen.
"""

from __future__ import annotations

import reprlib
from collections.abc import Iterable

__all__ = ["nearest_name", "plural", "printable", "show"]

_CUT = "…"
#: Comparing takes as long as the product of the lengths; what is longer was not mistyped by a person.
_LONGEST_NAME = 500


def printable(text: str, limit: int = 200) -> str:
    """Return ``text`` on one line with every non-printable character escaped, at most ``limit`` characters.

    >>> printable("a\\x1b[31mb\\n")
    'a\\\\x1b[31mb\\\\n'
    """
    if len(text) > limit:
        text = text[: limit - 1] + _CUT
    if text.isprintable():
        return text
    return "".join(character if character.isprintable() else repr(character)[1:-1] for character in text)


class _Shower(reprlib.Repr):
    """A bounded ``repr``: depth, length and the number of items are limited, so that any value costs little."""

    def __init__(self, limit: int) -> None:
        super().__init__()
        self.maxlevel = 5
        self.maxdict = self.maxlist = self.maxtuple = self.maxset = self.maxfrozenset = 12
        self.maxstring = self.maxother = self.maxlong = limit
        self.fillvalue = _CUT


def show(value: object, limit: int = 80) -> str:
    """Return a short, safe, one-line rendering of any value, in Python's notation.

    >>> show({"city": "NYC"})
    "{'city': 'NYC'}"
    """
    try:
        text = _Shower(limit).repr(value)
    except Exception as error:  # noqa: BLE001 - a foreign __repr__ may raise anything; the report must still be written
        text = f"<{type(value).__name__} whose repr raised {type(error).__name__}>"
    return printable(text, limit)


def nearest_name(name: str, known: Iterable[str], score: float = 60.0) -> str | None:
    """Return the name of ``known`` that was probably meant by ``name``, or None. Very long names are not compared.

    Arguments:
        score: how alike the two must be, 0 to 100: 200 · matches / (both lengths), whatever their case (rapidfuzz's
            ``ratio``, of the indel distance).
    """
    if len(name) > _LONGEST_NAME:
        return None
    from rapidfuzz import fuzz, process  # only failures need it, and `import tracewitness` is to stay quick

    likely = [other for other in known if len(other) <= _LONGEST_NAME]
    found = process.extractOne(name, likely, scorer=fuzz.ratio, processor=str.lower, score_cutoff=score)
    return found[0] if found else None


def plural(count: int, noun: str) -> str:
    """Return ``count`` with its noun: ``1 call``, ``2 calls``."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
