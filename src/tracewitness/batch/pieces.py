"""Pieces: what a process checks at a time, and what makes one part of the output.

The same input gives the same pieces.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from msgspec import Struct

from tracewitness.batch.inputs import Columns, Input, RawRecord, Segment, segments_of
from tracewitness.batch.inputs.segments import FileLines

__all__ = ["Piece", "pieces_of"]

#: About how many bytes a piece has. Some are in memory for each process, and may have to be handed on.
_PIECE: Final = 4 * 1024 * 1024
#: Lines of files are only pointed at: when there are many, more of them make a piece, and fewer parts a whole.
_PIECE_OF_FILE: Final = 16 * 1024 * 1024
_SMALL_PIECES: Final = 32
#: A file up to this size is opened by the process that checks it.
_SMALL_FILE: Final = 1024 * 1024
_MOST_FILES: Final = 512
_MOST_SEGMENTS: Final = 64


class Piece(Struct, frozen=True):
    """Some of the input.

    Attributes:
        number: from 0, in the order of the input.
        content: segments, and small files that are still to be opened.
        columns: which columns of tables are what.
    """

    number: int
    content: tuple[Segment | Input, ...]
    columns: Columns

    @property
    def size(self) -> int:
        """About how many bytes it has."""
        return sum(each.size or 0 for each in self.content)

    def records(self) -> Iterator[RawRecord]:
        """Yield its records, in order.

        Raises:
            OSError: a file can't be read any more.
            UsageError: something that is needed is not installed.
        """
        for each in self.content:
            for segment in segments_of(each, self.columns) if isinstance(each, Input) else (each,):
                yield from segment.records()


def pieces_of(inputs: Iterable[Input], columns: Columns) -> Iterator[Piece]:
    """Yield the pieces of inputs.

    Raises:
        UsageError, ReadError: as of `inputs.segments_of` and of what yields the inputs.
    """
    number = 0
    held: list[Segment | Input] = []
    size = 0
    for content in _contents(inputs, columns):
        held.append(content)
        size += content.size or 0
        wanted = _PIECE_OF_FILE if isinstance(content, FileLines) and number >= _SMALL_PIECES else _PIECE
        if size >= wanted or len(held) >= (_MOST_FILES if isinstance(content, Input) else _MOST_SEGMENTS):
            yield Piece(number, tuple(held), columns)
            number += 1
            held, size = [], 0
    if held:
        yield Piece(number, tuple(held), columns)


def _contents(inputs: Iterable[Input], columns: Columns) -> Iterator[Segment | Input]:
    for each in inputs:
        if each.kind == "file" and not each.problem and (each.size or 0) <= _SMALL_FILE:
            yield each
        else:
            yield from segments_of(each, columns)
