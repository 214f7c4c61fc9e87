"""A baseline as it has to be for a run to be as it says: what differs is taken from the run, all else stays."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from tracewitness.baselines.comparing import Comparison, WantedCall
from tracewitness.baselines.document import Entry, NewItem
from tracewitness.baselines.encoding import expectation, looks_like_matcher, written
from tracewitness.baselines.records import CallRecord, Groups, Preparation
from tracewitness.matching import compile_expected, strict_key

__all__ = ["merged", "recorded"]


def recorded(groups: Groups, preparation: Preparation, *, results: bool) -> list[NewItem]:
    """Return the steps of the first baseline of a run. The calls of a group stand in an order that any run gives."""
    items = []
    for group in groups:
        calls = [preparation.recorded(record.seen(results=results)) for record in group]
        items.append(NewItem(tuple(sorted(calls, key=_sorting)), len(calls) > 1))
    return items


def _sorting(call: dict[str, Any]) -> str:
    return json.dumps(call, sort_keys=True)


def merged(entry: Entry, comparison: Comparison, preparation: Preparation, *, results: bool) -> list[NewItem]:
    """Return the steps of a baseline after a run that differed from it.

    Matchers that a person has written stay where they match what came. Steps of which nothing has changed stay as they
    are, with the order of their calls.

    Arguments:
        entry: the baseline as it was.
        comparison: what comparing the run with it came to.
        results: whether the results of calls are recorded that the baseline does not have.
    """
    return _Merging(entry, comparison, preparation, results=results).items()


class _Merging:
    def __init__(self, entry: Entry, comparison: Comparison, preparation: Preparation, *, results: bool) -> None:
        self._entry = entry
        self._preparation = preparation
        self._results = results
        self._came = comparison.came
        self._wanted_by = {
            other: comparison.wanted[one] for one, other in enumerate(comparison.partners) if other is not None
        }

    def items(self) -> list[NewItem]:
        """Return the steps."""
        groups: list[list[CallRecord]] = []
        for record in self._came:
            if groups and self._belongs(groups[-1], record):
                groups[-1].append(record)
            else:
                groups.append([record])
        taken: set[int] = set()
        return [self._item(group, taken) for group in groups]

    def _belongs(self, group: Sequence[CallRecord], record: CallRecord) -> bool:
        """Whether a call is of one group with that before it: by the baseline where it knows both, else as they came.

        Two that the baseline has one after the other, and that came together the other way round, are a group now.
        """
        before = group[-1]
        one, other = self._wanted_by.get(before.number), self._wanted_by.get(record.number)
        came_together = before.parallel == record.parallel
        if one is None or other is None:
            return came_together
        return one.item == other.item or (came_together and one.item > other.item)

    def _item(self, group: Sequence[CallRecord], taken: set[int]) -> NewItem:
        """Return a step. It takes the place of the first step of the baseline that it has a call of."""
        ordered = sorted(group, key=lambda record: (self._place(record), _sorting(written(record.call))))
        calls = tuple(self._call(record) for record in ordered)
        old = min(
            (self._wanted_by[record.number].item for record in group if record.number in self._wanted_by), default=None
        )
        if old is None or old in taken:
            return NewItem(calls, len(calls) > 1)
        taken.add(old)
        before = self._entry.items[old]
        is_group = len(calls) > 1 or (before.is_group and len(before.calls) == 1)
        is_same = is_group == before.is_group and strict_key(list(calls)) == strict_key(
            [call.fields for call in before.calls]
        )
        return NewItem(calls, is_group, old, is_same)

    def _place(self, record: CallRecord) -> float:
        wanted = self._wanted_by.get(record.number)
        return float("inf") if wanted is None else wanted.number

    def _call(self, record: CallRecord) -> dict[str, Any]:
        wanted = self._wanted_by.get(record.number)
        if wanted is None:
            return self._preparation.recorded(record.seen(results=self._results))
        if wanted.matches(record):
            return wanted.written.fields
        return self._merged_call(wanted, record)

    def _merged_call(self, wanted: WantedCall, record: CallRecord) -> dict[str, Any]:
        came = record.seen(results=wanted.results)
        fresh = self._preparation.recorded(came)
        call = {}
        for field in fresh:
            if field in wanted.written.fields:
                call[field] = _merged(wanted.written.fields[field], fresh[field], came[field])
            else:
                call[field] = fresh[field]
        return call


def _merged(old: Any, fresh: Any, came: Any) -> Any:
    """Return a value of the file after another one came.

    Arguments:
        old: what the file has.
        fresh: what it would have if it were recorded now.
        came: what came, as it is compared.
    """
    if isinstance(old, dict) and looks_like_matcher(old):
        return old if _matches(old, came) else fresh
    if isinstance(old, dict) and isinstance(came, dict) and isinstance(fresh, dict) and not looks_like_matcher(fresh):
        return _merged_mapping(old, fresh, came)
    if isinstance(old, list) and isinstance(came, list) and isinstance(fresh, list):
        merged = [_merged(*values) for values in zip(old, fresh, came, strict=False)]
        return [*merged, *fresh[len(merged) :]]
    return fresh


def _merged_mapping(old: dict[str, Any], fresh: dict[str, Any], came: dict[Any, Any]) -> dict[str, Any]:
    merged = {
        key: _merged(old[key], fresh[key], came[key]) if key in old else fresh[key] for key in fresh if key in came
    }
    absent = {
        key: value
        for key, value in old.items()
        if key not in fresh and isinstance(value, dict) and looks_like_matcher(value) and _may_be_absent(value)
    }
    return dict(sorted({**merged, **absent}.items()))


def _may_be_absent(matcher: dict[str, Any]) -> bool:
    """Whether a matcher matches where its key is not there; the key itself may look like anything."""
    return _matches({"key": matcher}, {})


def _matches(old: Any, came: Any) -> bool:
    return compile_expected(expectation(old), "strict").matches(came)
