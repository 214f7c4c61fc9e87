"""A sample of broken runs: drawn by a hash of the run's id, so that it is the same however the work is shared."""

from __future__ import annotations

import hashlib
import heapq
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from msgspec import Struct

from tracewitness.errors import UsageError

__all__ = ["Drawn", "Sample", "refuse_filled", "save"]

_LONGEST_NAME: Final = 100


class Drawn(Struct, frozen=True, order=True):
    """A record of the sample.

    Attributes:
        rank: a hash of the seed and the id; those with the lowest are drawn.
        trace_id: the id of its first broken run.
        name: the run's name.
        raw: the record as it was written.
    """

    rank: int
    trace_id: str
    name: str
    raw: bytes


class Sample:
    """Draws at most ``size`` records.

    Arguments:
        size: how many at most.
        seed: another seed draws others.
        below: only ranks below this one can still be drawn, as is known from other parts of the work.
    """

    def __init__(self, size: int, seed: int, below: int | None = None) -> None:
        self._size = size
        self._seed = seed
        self._below = below
        self._drawn: list[Drawn] = []

    @property
    def highest(self) -> int | None:
        """The rank that a record must be below to be drawn; None while there is room."""
        return self._drawn[-1].rank if self._drawn and len(self._drawn) >= self._size else None

    def rank_of(self, trace_id: str) -> int | None:
        """Return the rank of a record, or None where it can't be drawn."""
        rank = int.from_bytes(hashlib.blake2b(f"{self._seed} {trace_id}".encode(), digest_size=8).digest(), "big") >> 1
        limits = [limit for limit in (self._below, self.highest) if limit is not None]
        return rank if self._size and rank < min(limits, default=rank + 1) else None

    def include(self, drawn: Iterable[Drawn]) -> None:
        """Add records, and keep those with the lowest ranks."""
        unique = {each.trace_id: each for each in (*self._drawn, *drawn)}
        self._drawn = heapq.nsmallest(self._size, unique.values())

    @property
    def drawn(self) -> list[Drawn]:
        """The records, by rank."""
        return list(self._drawn)


def refuse_filled(folder: str) -> None:
    """Make sure that a sample can be saved in a folder.

    Raises:
        UsageError: something is in it, or it is none.
    """
    root = Path(folder)
    if root.exists() and (not root.is_dir() or any(root.iterdir())):
        raise UsageError(f"{folder} is not empty; name another folder for the sample by --sample-to")


def save(drawn: Iterable[Drawn], folder: str) -> int:
    """Save the records of a sample, exactly as they were written, each in a file that is called as its run is.

    Arguments:
        folder: is made; it must be empty, where there is one.

    Returns:
        How many there are.

    Raises:
        UsageError: the folder is not empty, or can't be written.
    """
    root = Path(folder)
    count = 0
    try:
        root.mkdir(parents=True, exist_ok=True)
        refuse_filled(folder)
        for count, each in enumerate(drawn, 1):
            # A folder for each: runs of one case have one name, by which the case is found again.
            place = root / f"{count:05}"
            place.mkdir()
            (place / f"{_file_name(each.name)}.json").write_bytes(each.raw)
    except OSError as error:
        raise UsageError(f"{folder} can't be written: {error.strerror or error}") from error
    return count


def _file_name(name: str) -> str:
    """Return a run's name as the name of a file; one that can't be that is of no case of an eval file, mostly."""
    kept = "".join("_" if character in '/\\:*?"<>|' or not character.isprintable() else character for character in name)
    return kept.strip(". ")[:_LONGEST_NAME] or "run"
