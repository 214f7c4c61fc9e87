"""Split a JSON document into its values as they were written, holding little more than the value at hand."""

from __future__ import annotations

import codecs
import json
from typing import Final

from tracewitness.batch.inputs.segments import MAX_RECORD, too_long
from tracewitness.batch.inputs.streams import Opened
from tracewitness.display import printable, show
from tracewitness.errors import ReadError

__all__ = ["JsonStream"]

_CHUNK: Final = 1024 * 1024
_SPACE: Final = " \t\r\n"
# The longest piece of JSON that is no text and can be cut in two by the end of what is held, with room to spare.
_LONGEST_PIECE: Final = 16
# Numbers are only passed over: a long one must not be converted.
_scan: Final = json.JSONDecoder(parse_int=len, parse_float=len).raw_decode


class JsonStream:
    """Reads a document value by value."""

    def __init__(self, stream: Opened) -> None:
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")()
        self._text = ""
        self._at = 0
        self._lines = 0

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
            came = self.peek()
            raise self._error(f"{mark!r} was expected, {show(came) if came else 'the end of the file'} came")

    def value(self) -> str:
        """Return the next value as it was written.

        Raises:
            ReadError: it is none, or longer than a record may be.
        """
        self.peek()
        while True:
            try:
                _, end = _scan(self._text, self._at)
            except json.JSONDecodeError as error:
                if not self._is_cut_off(error) or not self._fill():
                    raise self._error(f"not JSON: {printable(error.msg.removesuffix(' at'))}", error.pos) from error
            except RecursionError as error:
                raise self._error("a record is nested too deeply to be read") from error
            else:
                # A number at the end of what is held may go on.
                if end < len(self._text) or not self._fill():
                    break
        begin, self._at = self._at, end
        return self._text[begin:end]

    def end(self) -> None:
        """Make sure that nothing follows.

        Raises:
            ReadError: something does.
        """
        if self.peek():
            raise self._error(f"{show(self.peek())} after the end of the document")

    def _error(self, problem: str, position: int | None = None) -> ReadError:
        at = self._at if position is None else position
        return ReadError(f"{problem} at line {self._lines + self._text.count(chr(10), 0, at) + 1}")

    def _is_cut_off(self, error: json.JSONDecodeError) -> bool:
        if error.msg.startswith("Unterminated string"):
            return True
        return len(self._text[error.pos :].rstrip(_SPACE)) <= _LONGEST_PIECE

    def _fill(self) -> bool:
        """Read on, as much again as is left: a long value is not decoded too often. False at the end."""
        left = len(self._text) - self._at
        if left > MAX_RECORD:
            raise ReadError(too_long("record"))
        chunk = self._stream.read(max(_CHUNK, left))
        try:
            text = self._decoder.decode(chunk, final=not chunk)
        except UnicodeDecodeError as error:
            raise self._error(f"not UTF-8: {error.reason}", len(self._text)) from error
        self._lines += self._text.count("\n", 0, self._at)
        self._text = self._text[self._at :] + text
        self._at = 0
        return bool(chunk)
