"""Read a JSON document piece by piece, holding little more of it than the piece at hand."""

from __future__ import annotations

import codecs
import json
from collections.abc import Callable
from typing import Final

from tracewitness.display import show
from tracewitness.errors import ReadError

__all__ = ["LONGEST_PIECE", "JsonPieces"]

_CHUNK: Final = 1024 * 1024
_SPACE: Final = " \t\r\n"
#: The longest piece of JSON that is no text and can be cut in two by the end of what is held, with room to spare.
LONGEST_PIECE: Final = 16


class JsonPieces:
    """Looks at a document's characters, and reads on where what is held ends. What decodes a value derives from it.

    Arguments:
        read: returns at most so many bytes of the document, none at its end.
        longest: how many characters a value may have.
        too_long: what to say of one that has more.
    """

    def __init__(self, read: Callable[[int], bytes], longest: int, too_long: str) -> None:
        self._read = read
        self._longest = longest
        self._too_long = too_long
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")()
        self._text = ""
        self._at = 0
        self._bytes = 0
        # How much of the document came before the text that is held.
        self._lines = 0
        self._columns = 0

    def peek(self) -> str:
        """Return the next character that is no space, or an empty text at the end."""
        while True:
            text, at = self._text, self._at
            while at < len(text) and text[at] in _SPACE:
                at += 1
            self._at = at
            if at < len(text):
                return text[at]
            if not self._fill():
                return ""

    def skip(self, mark: str) -> bool:
        """Pass the next character if it is ``mark``, and say so."""
        if self.peek() != mark:
            return False
        self._at += 1
        return True

    def take(self, mark: str) -> None:
        """Pass the next character, which must be ``mark``.

        Raises:
            ReadError: it is another.
        """
        if not self.skip(mark):
            raise self.error(f"{mark!r} was expected, {self.shown()} came")

    def shown(self) -> str:
        """Return the next character as errors show it."""
        character = self.peek()
        return show(character) if character else "the end of the file"

    def error(self, problem: str, position: int | None = None) -> ReadError:
        """Return an error that says where: by default here, else at a position in the text that is held."""
        lines, columns = self._place(self._at if position is None else position)
        return ReadError(f"{problem} at line {lines + 1}, column {columns + 1}")

    def _place(self, end: int) -> tuple[int, int]:
        """Return how many lines came before a position, and how many characters of its own line."""
        newlines = self._text.count("\n", 0, end)
        if newlines:
            return self._lines + newlines, end - self._text.rindex("\n", 0, end) - 1
        return self._lines, self._columns + end

    def _is_cut_off(self, error: json.JSONDecodeError, near: int) -> bool:
        """Whether decoding failed at the end of what is held, or at most so many characters before it."""
        if error.msg.startswith("Unterminated string"):
            return True
        return len(self._text[error.pos :].rstrip(_SPACE)) <= near

    def _fill(self) -> bool:
        """Read on, as much again as is left: a long value is not decoded too often. False at the end."""
        left = len(self._text) - self._at
        if left > self._longest:
            raise ReadError(self._too_long)
        chunk = self._read(max(_CHUNK, left))
        self._bytes += len(chunk)
        try:
            text = self._decoder.decode(chunk, final=not chunk)
        except UnicodeDecodeError as error:
            place = self._bytes - len(error.object) + error.start
            raise ReadError(f"not UTF-8: {error.reason} at byte {place}") from error
        self._lines, self._columns = self._place(self._at)
        self._text = self._text[self._at :] + text
        self._at = 0
        return bool(chunk)
