"""Which recorded runs are good, as far as they say so themselves."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from tracewitness.readers import Run

__all__ = ["failed_by_its_own_word", "with_rows"]


def with_rows(runs: Iterable[Run]) -> Iterator[tuple[Run, Any]]:
    """Yield each run with the row that it was read from, where it is known.

    A document that lists several runs goes as a whole with the first of them.
    """
    listed: list[Any] = []
    place, count = ("", 0), 0
    for run in runs:
        if isinstance(run.data, list):
            listed, place, count = run.data, (run.source, run.number), 0
        if listed and (run.source, run.number) == place:
            yield run, listed[count] if count < len(listed) else None
            count += 1
        else:
            yield run, run.data


def failed_by_its_own_word(row: Any) -> bool:
    """Whether a row says that its run failed: it is not ``passed``, or its ``reward`` is less than 1.

    >>> failed_by_its_own_word({"reward": 0.0}), failed_by_its_own_word({"name": "a"})
    (True, False)
    """
    if not isinstance(row, Mapping):
        return False
    reward = row.get("reward")
    falls_short = isinstance(reward, (int, float)) and not isinstance(reward, bool) and reward < 1
    return row.get("passed") is False or falls_short
