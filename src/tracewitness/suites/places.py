"""Places in a text, as an editor shows them."""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import Final, NamedTuple

__all__ = ["NO_CHARACTER", "SURROGATE", "Lines", "Place"]

SURROGATE: Final = re.compile("[\ud800-\udfff]")
NO_CHARACTER: Final = "half of a surrogate pair is no character; take it out"


class Place(NamedTuple):
    """A place in a file, both numbers from 1."""

    line: int
    column: int


class Lines:
    """Finds line and column of an offset. Only ``\\n`` ends a line, as in editors; YAML has other breaks."""

    def __init__(self, text: str) -> None:
        self._starts = [0, *(match.end() for match in re.finditer("\n", text))]

    def place(self, offset: int) -> Place:
        """Return the place of a character."""
        line = bisect_right(self._starts, offset)
        return Place(line, offset - self._starts[line - 1] + 1)
