"""How wide a text is on a terminal, where a character may take two columns or none."""

from __future__ import annotations

from collections.abc import Iterator

__all__ = ["cells", "padded", "wrapped"]


def cells(text: str) -> int:
    """Return how many columns a text takes.

    >>> cells("注文 1")
    6
    """
    if text.isascii():
        return len(text)
    from rich.cells import cell_len  # most texts don't need it, and commands are to answer at once

    return cell_len(text)


def padded(text: str, width: int) -> str:
    """Return a text with spaces behind it, so that it takes at least so many columns."""
    return text + " " * (width - cells(text))


def wrapped(text: str, width: int, begin: int = 0) -> list[str]:
    """Return a text in lines that a terminal of that width can show. Spaces within a line stay as they are.

    Arguments:
        begin: how many columns of each line are taken by what stands before it.

    >>> wrapped("create_order was never called", 24, 4)
    ['create_order was', 'never called']
    """
    room = max(width - begin, 1)
    lines: list[str] = []
    line = ""
    for word in _words(text, room):
        if line.strip(" ") and cells((line + word).rstrip(" ")) > room:
            lines.append(line.rstrip(" "))
            line = word.lstrip(" ")
        else:
            line += word
    return [*lines, line.rstrip(" ")]


def _words(text: str, room: int) -> Iterator[str]:
    """Yield the words of a text, each with the spaces before it; one that no line can hold comes in pieces."""
    start = 0
    for piece in text.split(" "):
        word = (" " if start else "") + piece
        start += len(word)
        if cells(piece) <= room:
            yield word
            continue
        from rich.cells import chop_cells

        first, *others = chop_cells(piece, room)
        yield word[: len(word) - len(piece)] + first
        yield from others
