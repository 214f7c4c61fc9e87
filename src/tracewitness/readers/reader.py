"""What a format is to the registry: how its documents are known, and how each of them becomes a trace."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from tracewitness.trace import Trace

__all__ = ["CONTENT_LIST", "Reader"]

#: Stands among a document's keys where the ``content`` of it, or of one of its items, is a list.
CONTENT_LIST: Final = "content[]"


def _never(_: Any) -> bool:
    return False


class Reader(NamedTuple):
    """A format.

    Attributes:
        name: what it is called.
        detects: whether decoded data is of this format.
        read: makes a trace of it; its keyword ``name`` is the run's name where the data has none.
        shape: what its documents look like, as a sentence.
        keys: keys of which each of its documents has at least one: a mapping on top, a list in one of its items; or
            `CONTENT_LIST`. Only then is ``detects`` asked; where there are none it is asked always. They also tell
            which format was probably meant where none fits.
        yields: whether data that it detects would rather be of another format, where one detects it.
        runs: splits a document that holds several runs into one document for each, which ``read`` reads; None where
            a document is one run.
        is_log: whether a file of JSON Lines in this format is one run, written event by event: each of its lines is
            a piece and none is a run. ``detects`` gets the list of what stands on the lines, or on the first of them.
        beside: makes one document of the lines of a log and of what belongs to them in files beside theirs, whose path
            it is given; the lines alone where there is nothing.
        objects: for SDKs whose objects do not dump themselves well: the top package of an object's class, and what
            makes data of such an object. What it returns may hold objects again; objects that are none of its
            business are returned as they are.
    """

    name: str
    detects: Callable[[Any], bool]
    read: Callable[..., Trace]
    shape: str = ""
    keys: frozenset[str] = frozenset()
    yields: Callable[[Any], bool] = _never
    runs: Callable[[Any], Iterable[Any]] | None = None
    is_log: bool = False
    beside: Callable[[Any, Path], Any] | None = None
    objects: Mapping[str, Callable[[Any], Any]] = {}
