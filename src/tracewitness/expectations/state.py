"""The monitor of state: the rows of a database before and after a run, as they were recorded with its trace."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from msgspec import UNSET, Struct

from tracewitness.display import show
from tracewitness.expectations import wording
from tracewitness.expectations.operators import RowChange, RowChanges, State
from tracewitness.expectations.plan import Monitor, Plan, Subscription, ToolNames
from tracewitness.matching import Eq, Partial, Unordered, differences, matches, strict_key
from tracewitness.trace import EventIndex, Message
from tracewitness.verdict import NearMiss, Verdict

__all__ = ["STATE_KEY", "StateWatch"]

#: Under which key of a system message's metadata the rows stand.
STATE_KEY: Final = "database_state"

_Row = dict[str, Any]


class _UnknownStateError(Exception):
    """What was recorded can't be used; the text says why."""


class _Rows(Struct, frozen=True):
    """What a query gave before and after the run."""

    before: list[_Row]
    after: list[_Row]


class StateWatch(Monitor, gc=False):
    """Keeps what was recorded of the query, and whether anything happened after it."""

    found: list[Message] = []
    later: int | None = None  # an event after the rows were recorded

    @classmethod
    def compile(cls, operator: State, names: ToolNames) -> Plan:  # noqa: ARG003 - no tool is concerned
        happened = [Subscription(kind, None, cls.happened) for kind in ("call", "result")]
        return Plan(operator, cls, [Subscription("message", None, cls.message), *happened])

    def message(self, message: Message) -> None:
        metadata = message.record.metadata
        if message.role == "system" and isinstance(metadata, Mapping) and STATE_KEY in metadata:
            state = metadata[STATE_KEY]
            if not isinstance(state, Mapping) or state.get("database") == self.plan.operator.database:
                self.found.append(message)
                self.later = None

    def happened(self, event: Any, call: Any = None) -> None:  # noqa: ARG002 - results come with their call
        if self.found and self.later is None:
            self.later = event.position

    def verdict(self, index: EventIndex) -> Verdict:  # noqa: ARG002 - the same for every monitor
        evidence = tuple(message.position for message in self.found)
        try:
            rows = self._rows()
        except _UnknownStateError as unknown:
            return self._broken(evidence, wording.state_unknown, self.plan.operator.database, str(unknown))
        return self._judged(rows, evidence)

    def _rows(self) -> _Rows:
        operator = self.plan.operator
        if not self.found:
            raise _UnknownStateError("the trace has no record of it; have the runner take one before and after the run")
        if len(self.found) > 1:
            raise _UnknownStateError("the trace has two records of it, and they can't both be right")
        if self.later is not None:
            raise _UnknownStateError(f"the run went on after it was recorded (event {self.later})")
        record = self.found[0].record.metadata[STATE_KEY]  # type: ignore[index]
        queries = record.get("queries") if isinstance(record, Mapping) else None
        asked = [each for each in queries if _asks(each, operator.query)] if isinstance(queries, list) else []
        if len(asked) != 1:
            raise _UnknownStateError(
                f"its record has {'no' if not asked else 'two'} rows of this query; record the run again"
            )
        return _Rows(_table(asked[0], "before"), _table(asked[0], "after"))

    def _judged(self, rows: _Rows, evidence: tuple[int, ...]) -> Verdict:
        operator = self.plan.operator
        if operator.rows is not UNSET and not _same_rows(operator.rows, rows.after):
            return self._differ(evidence, "after the run", operator.rows, rows.after)
        if operator.unchanged and _bag(rows.before) != _bag(rows.after):
            added, removed = _without_key(rows)
            return self._broken(evidence, wording.state_changed, operator.database, added, removed)
        if isinstance(operator.changed, RowChanges):
            broken = self._changes(operator.changed, rows, evidence)
            if broken is not None:
                return broken
        return self._held(evidence, wording.state_as_expected, operator.database, len(rows.after))

    def _changes(self, wanted: RowChanges, rows: _Rows, evidence: tuple[int, ...]) -> Verdict | None:
        key = self.plan.operator.key
        try:
            added, removed, changed = (*_without_key(rows), []) if key is UNSET else _by_key(rows, key)
        except _UnknownStateError as unknown:
            return self._broken(evidence, wording.state_unknown, self.plan.operator.database, str(unknown))
        if not _same_rows(wanted.added, added):
            return self._differ(evidence, "added", wanted.added, added)
        if not _same_rows(wanted.removed, removed):
            return self._differ(evidence, "removed", wanted.removed, removed)
        expected = [_change(each) for each in wanted.changed]
        return None if _same_rows(expected, changed) else self._differ(evidence, "changed", expected, changed)

    def _differ(self, evidence: tuple[int, ...], what: str, expected: Sequence[Any], actual: list[_Row]) -> Verdict:
        words = (wording.rows_differ, self.plan.operator.database, what, list(expected), actual)
        near = NearMiss(
            evidence[0], self.plan.operator.database, tuple(differences(_unordered(expected), actual, "subset"))
        )
        return self._broken(evidence, *words, misses=lambda: near)


def _asks(given: Any, query: str) -> bool:
    return isinstance(given, Mapping) and given.get("query") == query


def _table(record: Mapping[str, Any], when: str) -> list[_Row]:
    """Return the rows that were recorded, by the names of their columns."""
    table = record.get(when)
    if isinstance(table, Mapping) and isinstance(table.get("error"), str):
        raise _UnknownStateError(f"the query failed {when} the run: {table['error']}")
    columns, rows = (table.get("columns"), table.get("rows")) if isinstance(table, Mapping) else (None, None)
    if not isinstance(columns, list) or not isinstance(rows, list):
        raise _UnknownStateError(f"its record has no rows from {when} the run")
    if not all(isinstance(name, str) for name in columns) or len(set(columns)) < len(columns):
        raise _UnknownStateError(f"two columns have the same name, or one has none: {show(columns)}; name them with AS")
    if not all(isinstance(row, list) and len(row) == len(columns) for row in rows):
        raise _UnknownStateError(f"a row from {when} the run has not {len(columns)} values")
    return [dict(zip(columns, row, strict=True)) for row in rows]


def _bag(rows: Iterable[_Row]) -> list[Any]:
    """Return rows in a form that is equal for the same rows in any order."""
    return sorted(repr(strict_key(row)) for row in rows)


def _without_key(rows: _Rows) -> tuple[list[_Row], list[_Row]]:
    """Return the rows that are only there after, and those only before; the same row may be there several times."""
    return _missing(rows.after, rows.before), _missing(rows.before, rows.after)


def _missing(rows: list[_Row], others: list[_Row]) -> list[_Row]:
    """Return the rows that are not among others, each of which stands for one."""
    left: dict[Any, int] = {}
    for row in others:
        left[strict_key(row)] = left.get(strict_key(row), 0) + 1
    found = []
    for row in rows:
        key = strict_key(row)
        if left.get(key, 0):
            left[key] -= 1
        else:
            found.append(row)
    return found


def _by_key(rows: _Rows, key: tuple[str, ...]) -> tuple[list[_Row], list[_Row], list[_Row]]:
    """Return what was added, removed and changed, where a row is known by its key."""
    before, after = _keyed(rows.before, key, "before"), _keyed(rows.after, key, "after")
    added = [row for each, row in after.items() if each not in before]
    removed = [row for each, row in before.items() if each not in after]
    changed = [
        {"before": before[each], "after": row}
        for each, row in after.items()
        if each in before and strict_key(before[each]) != strict_key(row)
    ]
    return added, removed, changed


def _keyed(rows: list[_Row], key: tuple[str, ...], when: str) -> dict[Any, _Row]:
    found: dict[Any, _Row] = {}
    for row in rows:
        if not all(name in row for name in key):
            raise _UnknownStateError(f"the rows have no column {show(next(name for name in key if name not in row))}")
        each = strict_key([row[name] for name in key])
        if each in found:
            raise _UnknownStateError(f"two rows from {when} the run have the key {show([row[name] for name in key])}")
        found[each] = row
    return found


def _change(wanted: RowChange) -> Any:
    """Return what is expected of one changed row."""
    sides = {"before": wanted.before, "after": wanted.after}
    return Partial({side: expected for side, expected in sides.items() if expected is not UNSET})


def _unordered(expected: Sequence[Any]) -> Any:
    return Unordered(list(expected)) if expected else Eq([])


def _same_rows(expected: Sequence[Any], actual: list[_Row]) -> bool:
    return matches(_unordered(expected), actual, "subset")
