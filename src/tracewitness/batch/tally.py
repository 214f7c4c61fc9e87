"""The counts of a scan, made of batches of verdicts. Counts of parts are added up, in any order."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any, Final, get_args

import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Struct

from tracewitness.batch.schemas import by_column
from tracewitness.evals import RunStatus, status_of
from tracewitness.verdict import Status

__all__ = ["OTHER", "CheckTally", "Tally", "ValueTally"]

#: What all values are counted as that come after the first thousand different ones.
OTHER: Final = "(others)"
_MOST_VALUES: Final = 1000
_MOST_REASONS: Final = 1000
_MOST_EXAMPLES: Final = 3
_RUN_OUTCOMES: Final[tuple[RunStatus, ...]] = get_args(RunStatus)
_OF_CHECK: Final = ("case", "check", "label", "operator", "tool")
# What differs from run to run in the words of one reason.
_PARTICULARS: Final = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|\b\d[\d.:,TZ-]*")


class CheckTally(Struct):
    """How one check of a case went.

    Attributes:
        case, check, label, operator, tool: as of the columns of verdicts.
        held, broken, inconclusive, error: how many runs went so.
        examples: the trace ids of some that did not hold.
    """

    case: str | None
    check: int | None
    label: str
    operator: str
    tool: str | None
    held: int = 0
    broken: int = 0
    inconclusive: int = 0
    error: int = 0
    examples: list[str] = []

    @property
    def runs(self) -> int:
        """How many runs it was checked on."""
        return self.held + self.broken + self.inconclusive + self.error


class ValueTally(Struct):
    """How the runs went that have one value in a column."""

    held: int = 0
    broken: int = 0
    inconclusive: int = 0
    unreadable: int = 0


class Tally(Struct):
    """The counts.

    Attributes:
        held, broken, inconclusive, unreadable: how many runs went so; unreadable is also a record that can't be read.
        verdicts: how many rows there are.
        checks: by case and number of the check.
        reasons: how often checks are not held for the same reason: particulars are left out of the words.
        by: for each column, the counts of each of its values; the empty text stands for none.
        unreadable_examples: trace ids and why.
    """

    held: int = 0
    broken: int = 0
    inconclusive: int = 0
    unreadable: int = 0
    verdicts: int = 0
    checks: dict[str, CheckTally] = {}
    reasons: dict[str, int] = {}
    by: dict[str, dict[str, ValueTally]] = {}
    unreadable_examples: list[tuple[str, str]] = []

    @property
    def runs(self) -> int:
        """How many runs there were, those that can't be read included."""
        return self.held + self.broken + self.inconclusive + self.unreadable

    def add(self, verdicts: pa.RecordBatch, by: tuple[str, ...] = ()) -> list[int]:
        """Count a batch of verdicts, of which each run is whole.

        Returns:
            The rows where the broken runs begin.
        """
        self.verdicts += verdicts.num_rows
        self._count_checks(pa.Table.from_batches([verdicts]))
        broken = self._count_runs(verdicts, by)
        self._note_unheld(verdicts)
        return broken

    def _count_checks(self, verdicts: pa.Table) -> None:
        counted = verdicts.group_by([*_OF_CHECK, "status"]).aggregate([([], "count_all")])
        for row in counted.to_pylist():
            check = self._check(*(row[column] for column in _OF_CHECK))
            setattr(check, row["status"], getattr(check, row["status"]) + row["count_all"])

    def _check(self, case: str | None, number: int | None, *rest: Any) -> CheckTally:
        return self.checks.setdefault(_key(case, number), CheckTally(case, number, *rest))

    def _count_runs(self, verdicts: pa.RecordBatch, by: tuple[str, ...]) -> list[int]:
        statuses: list[Status] = verdicts.column("status").to_pylist()
        numbers: list[int | None] = verdicts.column("check").to_pylist()
        # A run begins with its first check; where it can't be read it has none.
        begins = [row for row, number in enumerate(numbers) if not number]
        ends = [*begins[1:], len(numbers)]
        outcomes = [
            "unreadable" if numbers[begin] is None else _outcome(statuses[begin:end])
            for begin, end in zip(begins, ends, strict=False)
        ]
        for outcome, count in Counter(outcomes).items():
            setattr(self, outcome, getattr(self, outcome) + count)
        for column in by:
            values = verdicts.column(by_column(column)).take(pa.array(begins, pa.int64())).to_pylist()
            for (value, outcome), count in Counter(zip(values, outcomes, strict=True)).items():
                self._add_value(column, value or "", outcome, count)
        return [begin for begin, outcome in zip(begins, outcomes, strict=True) if outcome == "broken"]

    def _add_value(self, column: str, value: str, outcome: str, count: int) -> None:
        values = self.by.setdefault(column, {})
        if value not in values and len(values) >= _MOST_VALUES:
            value = OTHER
        counts = values.setdefault(value, ValueTally())
        setattr(counts, outcome, getattr(counts, outcome) + count)

    def _note_unheld(self, verdicts: pa.RecordBatch) -> None:
        wanted = ["trace_id", "case", "check", "label", "operator", "tool", "justification"]
        unheld = verdicts.select(wanted).filter(pc.not_equal(verdicts.column("status"), "held"))
        for row in unheld.to_pylist():
            if row["check"] is None and len(self.unreadable_examples) < _MOST_EXAMPLES:
                self.unreadable_examples.append((row["trace_id"], row["justification"]))
            examples = self._check(*(row[column] for column in _OF_CHECK)).examples
            if len(examples) < _MOST_EXAMPLES:
                examples.append(row["trace_id"])
            reason = f"{row['label']}: {_PARTICULARS.sub('…', row['justification'] or '')}"
            self.reasons[reason] = self.reasons.get(reason, 0) + 1
        self._forget_rare_reasons()

    def _forget_rare_reasons(self) -> None:
        if len(self.reasons) > 2 * _MOST_REASONS:
            self.reasons = dict(Counter(self.reasons).most_common(_MOST_REASONS))

    def include(self, other: Tally) -> None:
        """Add the counts of another."""
        for field in (*_RUN_OUTCOMES, "verdicts"):
            setattr(self, field, getattr(self, field) + getattr(other, field))
        for key, check in other.checks.items():
            own = self.checks.get(key)
            if own is None:
                self.checks[key] = check
                continue
            for field in get_args(Status):
                setattr(own, field, getattr(own, field) + getattr(check, field))
            own.examples = (own.examples + check.examples)[:_MOST_EXAMPLES]
        for reason, count in other.reasons.items():
            self.reasons[reason] = self.reasons.get(reason, 0) + count
        self._forget_rare_reasons()
        for column, values in other.by.items():
            for value, counts in values.items():
                for outcome in _RUN_OUTCOMES:
                    self._add_value(column, value, outcome, getattr(counts, outcome))
        self.unreadable_examples = (self.unreadable_examples + other.unreadable_examples)[:_MOST_EXAMPLES]


def _outcome(statuses: list[Status]) -> RunStatus:
    return "held" if statuses.count("held") == len(statuses) else status_of(statuses)


def _key(case: str | None, number: int | None) -> str:
    return f"{'' if number is None else number}:{'' if case is None else '=' + case}"
