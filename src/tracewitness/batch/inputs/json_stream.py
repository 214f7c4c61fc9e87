"""Split a JSON document into its values as they were written, holding little more than the value at hand."""

from __future__ import annotations

import json
from typing import Final

from tracewitness.batch.inputs.segments import MAX_RECORD, too_long
from tracewitness.batch.inputs.streams import Opened
from tracewitness.display import printable, show
from tracewitness.readers.json_pieces import LONGEST_PIECE, JsonPieces

__all__ = ["JsonStream"]

# Numbers are only passed over: a long one must not be converted.
_scan: Final = json.JSONDecoder(parse_int=len, parse_float=len).raw_decode


class JsonStream(JsonPieces):
    """Reads a document value by value."""

    def __init__(self, stream: Opened) -> None:
        super().__init__(stream.read, MAX_RECORD, too_long("record"))

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
                # Made before reading on, which moves the text.
                failure = self.error(f"not JSON: {printable(error.msg.removesuffix(' at'))}", error.pos)
                if not self._is_cut_off(error, LONGEST_PIECE) or not self._fill():
                    raise failure from error
            except RecursionError as error:
                raise self.error("a record is nested too deeply to be read") from error
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
            raise self.error(f"{show(self.peek())} after the end of the document")
