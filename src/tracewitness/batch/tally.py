"""The counts of a scan, made of batches of verdicts. Counts of parts are added up, in any order."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any, Final, get_args

import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Struct
from msgspec.structs import replace

from tracewitness.batch.schemas import by_column
from tracewitness.evals import RunStatus, status_of
from tracewitness.verdict import Status

__all__ = ["OTHER", "CheckTally", "Example", "Tally", "ValueTally"]

#: What all values are counted as that come after the first thousand different ones.
OTHER: Final = "(others)"
_MOST_VALUES: Final = 1000
_MOST_REASONS: Final = 1000
_MOST_EXAMPLES: Final = 3
_RUN_OUTCOMES: Final[tuple[RunStatus, ...]] = get_args(RunStatus)
_OF_CHECK: Final = ("case", "check", "label", "operator", "tool")
_OF_EXAMPLE: Final = ("record", "source", "run", "trace_id", "justification")
# What differs from run to run in the words of one reason.
_PARTICULARS: Final = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|\b\d[\d.:,TZ-]*")


class Example(Struct, frozen=True, order=True):
    """A run that did not hold, or could not be read. They are kept by their order, whichever was met first.

    Attributes:
        record, source, run, trace_id: as of the columns of verdicts.
        why: what was wrong, where that is kept.
    """

    record: int
    source: str
    run: int
    trace_id: str
    why: str = ""


class CheckTally(Struct):
    """How one check of a case went.

    Attributes:
        case, check, label, operator, tool: as of the columns of verdicts.
        held, broken, inconclusive, error: how many runs went so.
        examples: the first runs that did not hold, by the numbers of their records.
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
    examples: list[Example] = []

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
        unreadable_examples: the first that can't be read, each with the reason.
    """

    held: int = 0
    broken: int = 0
    inconclusive: int = 0
    unreadable: int = 0
    verdicts: int = 0
    checks: dict[str, CheckTally] = {}
    reasons: dict[str, int] = {}
    by: dict[str, dict[str, ValueTally]] = {}
    unreadable_examples: list[Example] = []

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
        unheld = pa.Table.from_batches([verdicts]).filter(pc.not_equal(verdicts.column("status"), "held"))
        columns = [unheld.column(name).to_pylist() for name in ("check", *_OF_EXAMPLE, *_OF_CHECK)]
        for number, record, source, run, trace_id, why, *of_check in zip(*columns, strict=True):
            example = Example(record, source, run, trace_id)
            if number is None:
                _keep_first(self.unreadable_examples, [replace(example, why=why)])
            _keep_first(self._check(*of_check).examples, [example])
        # Of few checks that are not held the words differ: each text is looked at once.
        counted = unheld.group_by(["label", "justification"]).aggregate([([], "count_all")])
        for row in counted.to_pylist():
            reason = f"{row['label']}: {_PARTICULARS.sub('…', row['justification'] or '')}"
            self.reasons[reason] = self.reasons.get(reason, 0) + row["count_all"]
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
                self.checks[key] = replace(check, examples=list(check.examples))
                continue
            for field in get_args(Status):
                setattr(own, field, getattr(own, field) + getattr(check, field))
            _keep_first(own.examples, check.examples)
        for reason, count in other.reasons.items():
            self.reasons[reason] = self.reasons.get(reason, 0) + count
        self._forget_rare_reasons()
        for column, values in other.by.items():
            for value, counts in values.items():
                for outcome in _RUN_OUTCOMES:
                    self._add_value(column, value, outcome, getattr(counts, outcome))
        _keep_first(self.unreadable_examples, other.unreadable_examples)


def _keep_first(examples: list[Example], more: list[Example]) -> None:
    if len(examples) < _MOST_EXAMPLES or min(more, default=examples[-1]) < examples[-1]:
        examples[:] = sorted({*examples, *more})[:_MOST_EXAMPLES]


def _outcome(statuses: list[Status]) -> RunStatus:
    return "held" if statuses.count("held") == len(statuses) else status_of(statuses)


def _key(case: str | None, number: int | None) -> str:
    return f"{'' if number is None else number}:{'' if case is None else '=' + case}"
