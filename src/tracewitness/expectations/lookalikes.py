"""The value that was seen and looks most like one that was not."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, Final

from tracewitness.expectations.readings import written
from tracewitness.expectations.sightings import Origin

__all__ = ["nearest_seen"]

_RUN = re.compile(r"[^\W_]+")
#: So many values and parts of texts are compared; a report must be written in any case.
_MOST_COMPARED: Final = 20_000
#: What is longer is prose.
_LONGEST: Final = 100


def nearest_seen(value: Any, seen: Iterable[tuple[Any, Origin]], before: int) -> tuple[str, Origin, int] | None:
    """Return what looks most like a value, where that is, and by how many edits they differ; or None.

    An edit puts in, takes out or replaces a character, or swaps two neighbours (optimal string alignment), whatever
    their case. More than a third of the characters may not differ, and where a value has only two, one may.

    Arguments:
        value: the value that was not seen.
        seen: values, and texts of which parts are compared that have as many words.
        before: the position of the event before which it must have been seen.
    """
    from rapidfuzz.distance import OSA  # only failures need it

    text = next(iter(written(value)), "")
    if not 2 <= len(text) <= _LONGEST:
        return None
    most = max(1, len(text) // 3)
    best: tuple[str, Origin, int] | None = None
    for count, (other, origin) in enumerate(_parts(text, seen, before)):
        distance = OSA.distance(text.lower(), other.lower(), score_cutoff=most)
        if distance <= most:
            best, most = (other, origin, distance), distance - 1
        if most < 0 or count >= _MOST_COMPARED:
            break
    return best


def _parts(text: str, seen: Iterable[tuple[Any, Origin]], before: int) -> Iterator[tuple[str, Origin]]:
    runs = len(_RUN.findall(text))
    for value, origin in seen:
        if not origin.is_before(before):
            continue
        for whole in written(value)[:1]:
            if len(whole) <= _LONGEST:
                yield whole, origin
            if runs:
                yield from ((part, origin) for part in _windows(whole, runs))


def _windows(text: str, runs: int) -> Iterator[str]:
    """Yield the parts of a text that have so many runs of letters and digits."""
    spans = [found.span() for found in _RUN.finditer(text)]
    for first, last in zip(spans, spans[runs - 1 :], strict=False):
        if last[1] - first[0] <= _LONGEST and last[1] - first[0] < len(text):
            yield text[first[0] : last[1]]
