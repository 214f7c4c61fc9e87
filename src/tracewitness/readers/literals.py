"""Read one Python or JSON literal, strictly: nothing is evaluated, and a text reads in one way or in none.

The grammar is what ``repr`` and ``json.dumps`` write for plain values: texts in one kind of quotes, numbers,
lists, tuples (read as lists), mappings, and the words of either notation (``None`` or ``null``, ``nan`` or
``NaN``). It has no triple quotes, no adjacent texts, no prefixes, no comments, no sets, no trailing commas,
no arithmetic and no names.
"""

from __future__ import annotations

import math
import re
from typing import Any, Final

from tracewitness.display import show
from tracewitness.errors import ReadError

__all__ = ["MAX_DEPTH", "MAX_LENGTH", "LiteralError", "parse_literal"]

MAX_DEPTH: Final = 100
MAX_LENGTH: Final = 64 * 1024 * 1024

# Possessive quantifiers throughout: no character is ever read twice, so that the time is linear in the text.
_PIECE = re.compile(
    r"""[ \t\r\n]*+(
        '(?:[^'\\\n]++|\\[^\n])*+' | "(?:[^"\\\n]++|\\[^\n])*+"          # a text
      | [][{}(),:]                                                        # a mark
      | -?+(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?+(?:[eE][-+]?+[0-9]++)?+ (?![\w.])  # a number
      | -?+[A-Za-z]++ (?![\w.(])                                          # a word
    )""",
    re.VERBOSE,
)
_SPACE = re.compile(r"[ \t\r\n]*+")
_ESCAPE = re.compile(r"\\(?:x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|([^xuU])|.?)")
_ESCAPED: Final = {
    **dict(zip("abfnrtv", "\a\b\f\n\r\t\v", strict=True)),
    **{character: character for character in "\\'\"/"},
}
_WORDS: Final[dict[str, Any]] = {
    "None": None,
    "True": True,
    "False": False,
    "nan": math.nan,
    "inf": math.inf,
    "-inf": -math.inf,
    "null": None,
    "true": True,
    "false": False,
    "NaN": math.nan,
    "Infinity": math.inf,
    "-Infinity": -math.inf,
}
_QUOTES: Final = frozenset("'\"")
_OPENING: Final = frozenset("{[(")
_SURROGATE = re.compile("[\ud800-\udfff]")


class LiteralError(ReadError):
    """A text that is no literal.

    Attributes:
        position: how far the text was read when that became clear.
    """

    def __init__(self, problem: str, position: int) -> None:
        super().__init__(problem, place=f"character {position + 1}")
        self.position = position
        self.args = (problem, position)


def parse_literal(text: str, start: int = 0) -> Any:
    """Return the value of the literal that ``text`` is, from ``start`` to its end.

    Arguments:
        text: a Python literal, as ``repr`` writes it, or JSON. Space around it is fine.
        start: where in ``text`` it begins.

    Raises:
        LiteralError: it is no literal, is nested more than 100 levels deep, or is longer than 64 Mi
            characters.

    >>> parse_literal("{'at': (1, -2.5), 'why': None}")
    {'at': [1, -2.5], 'why': None}
    """
    if len(text) - start > MAX_LENGTH:
        raise LiteralError(f"longer than {MAX_LENGTH} characters", start)
    reader = _Reader(text, start)
    value = reader.value(reader.next_piece(), 0)
    end = _end_of_space(text, reader.position)
    if end != len(text):
        raise LiteralError(f"{show(text[end : end + 20])} after the literal", end)
    return value


def _end_of_space(text: str, position: int) -> int:
    found = _SPACE.match(text, position)
    return found.end() if found else position


class _Reader:
    """Walks over the pieces of one text: texts, marks, numbers and words."""

    __slots__ = ("position", "text")

    def __init__(self, text: str, start: int) -> None:
        self.text = text
        self.position = start

    def next_piece(self) -> str:
        """Return the next piece. Its first character tells what it is."""
        found = _PIECE.match(self.text, self.position)
        if found is None:
            raise self._no_piece()
        self.position = found.end()
        return found[1]

    def value(self, piece: str, depth: int) -> Any:
        """Return the value that begins with the given piece."""
        first = piece[0]
        if first in _QUOTES:
            return self._unescape(piece) if "\\" in piece else piece[1:-1]
        if first in _OPENING:
            return self._container(first, depth + 1)
        if piece in _WORDS:
            return _WORDS[piece]
        if first.isdigit() or piece[1:2].isdigit():
            return self._number(piece)
        raise self._error(f"a value was expected, {show(piece)} came", piece)

    def _container(self, opening: str, depth: int) -> Any:
        if depth > MAX_DEPTH:
            raise self._error(f"nested more than {MAX_DEPTH} levels deep", opening)
        if opening == "{":
            return self._mapping(depth)
        return self._list(depth) if opening == "[" else self._tuple(depth)

    def _list(self, depth: int) -> list[Any]:
        items: list[Any] = []
        piece = self.next_piece()
        if piece == "]":
            return items
        while True:
            items.append(self.value(piece, depth))
            piece = self.next_piece()
            if piece == "]":
                return items
            self._expect(",", piece)
            piece = self.next_piece()

    def _tuple(self, depth: int) -> list[Any]:
        """Read a tuple. One with a single item, and no other, has a comma at its end."""
        items: list[Any] = []
        piece = self.next_piece()
        while piece != ")":
            items.append(self.value(piece, depth))
            piece = self.next_piece()
            if piece == ")" and len(items) > 1:
                return items
            self._expect(",", piece)
            piece = self.next_piece()
            if piece == ")" and len(items) > 1:
                raise self._error("a comma before the closing bracket", piece)
        return items

    def _mapping(self, depth: int) -> dict[Any, Any]:
        mapping: dict[Any, Any] = {}
        piece = self.next_piece()
        if piece == "}":
            return mapping
        while True:
            key = self._key(piece, mapping)
            self._expect(":", self.next_piece())
            mapping[key] = self.value(self.next_piece(), depth)
            piece = self.next_piece()
            if piece == "}":
                return mapping
            self._expect(",", piece)
            piece = self.next_piece()

    def _key(self, piece: str, mapping: dict[Any, Any]) -> Any:
        if piece in _OPENING:
            raise self._error(f"a key was expected, {show(piece)} came", piece)
        key = self.value(piece, 0)
        if key in mapping:
            raise self._error(f"the key {show(key, 40)} stands there twice, which is ambiguous", piece)
        return key

    def _number(self, piece: str) -> int | float:
        if "." in piece or "e" in piece or "E" in piece:
            return float(piece)
        try:
            return int(piece)
        except ValueError as error:  # Python's limit on the digits of a whole number
            raise self._error(f"a whole number of {len(piece)} digits is too long", piece) from error

    def _unescape(self, piece: str) -> str:
        text = _ESCAPE.sub(self._escaped, piece[1:-1])
        if _SURROGATE.search(text):
            # JSON writes what is beyond U+FFFF as two escapes; one that stands alone stays.
            text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
        return text

    def _escaped(self, found: re.Match[str]) -> str:
        character = found[4]
        if character in _ESCAPED:
            return _ESCAPED[character]
        code = found[1] or found[2] or found[3]
        if code and int(code, 16) < 0x110000:
            return chr(int(code, 16))
        raise self._error(f"no escape is written {show(found[0])}", "")

    def _expect(self, mark: str, piece: str) -> None:
        if piece != mark:
            raise self._error(f"{mark!r} was expected, {show(piece, 40)} came", piece)

    def _error(self, problem: str, piece: str) -> LiteralError:
        return LiteralError(problem, self.position - len(piece))

    def _no_piece(self) -> LiteralError:
        """Say why no piece stands here. A text without its closing quote was read to the end."""
        start = _end_of_space(self.text, self.position)
        if start == len(self.text):
            return LiteralError("it ends in the middle", start)
        if self.text[start] in _QUOTES:
            return LiteralError("a text without its closing quote", len(self.text))
        return LiteralError(f"no literal begins with {show(self.text[start : start + 20])}", start)
