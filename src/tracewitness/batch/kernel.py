"""The kernel: an Arrow batch of raw records in, an Arrow batch of verdicts out.

It is a function of its input alone, so that every engine can run it on any batch, again where need be, and gets the
same verdicts. Nothing in a record makes it raise.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain, repeat
from typing import Any, Final, get_args

import pyarrow as pa
from msgspec import Struct

from tracewitness.batch.breakdown import Breakdown
from tracewitness.batch.justifying import Justifier, WordsOfRun
from tracewitness.batch.schemas import verdict_schema
from tracewitness.display import nearest_name, printable, show
from tracewitness.errors import ReadError, UsageError
from tracewitness.expectations import compile_checks
from tracewitness.readers.records import RecordReader
from tracewitness.secret_shapes import without_secrets
from tracewitness.suites import Suite
from tracewitness.trace import Trace
from tracewitness.verdict import Status, Verdict

__all__ = ["READ_LABEL", "READ_OPERATOR", "Kernel", "check_batch"]

#: What stands in the place of a check for a record that can't be read.
READ_LABEL: Final = "the record can be read"
READ_OPERATOR: Final = "read"

_STATUSES: Final = get_args(Status)
_STATUS_NUMBERS: Final = {status: number for number, status in enumerate(_STATUSES)}
_ERROR: Final = _STATUS_NUMBERS["error"]
_LONGEST_NAME: Final = 500


class _Checks(Struct, frozen=True):
    """The checks of one case, compiled.

    Attributes:
        check: checks a trace.
        rows: which rows they are in the table of checks.
    """

    check: Callable[[Trace], list[Verdict]]
    rows: range


class _Output:
    """The columns of one batch of verdicts, while they are filled: a few numbers for each row, no texts."""

    def __init__(self) -> None:
        # One for each run.
        self.records: list[int] = []
        self.runs: list[int] = []
        self.names: list[str] = []
        self.counts: list[int] = []
        # One for each verdict.
        self.checks: list[int] = []
        self.statuses: list[int] = []
        self.justifications: list[str | None] = []
        self.evidence: list[int] = []
        self.evidence_ends: list[int] = [0]

    def add_run(self, position: int, run: int, name: str, count: int) -> None:
        self.records.append(position)
        self.runs.append(run)
        self.names.append(name)
        self.counts.append(count)

    def add_verdicts(self, checks: range, verdicts: list[Verdict], justifications: list[str | None]) -> None:
        self.checks += checks
        self.statuses += [_STATUS_NUMBERS[verdict.status] for verdict in verdicts]
        self.justifications += justifications
        evidence, add_end = self.evidence, self.evidence_ends.append
        for verdict in verdicts:
            evidence += verdict.evidence
            add_end(len(evidence))

    def add_unreadable(self, position: int, run: int, name: str, problem: str) -> None:
        self.add_run(position, run, name, 1)
        self.checks.append(0)
        self.statuses.append(_ERROR)
        self.justifications.append(problem)
        self.evidence_ends.append(len(self.evidence))


class Kernel:
    """Checks batches of raw records against a suite. It can be pickled; what it compiles is compiled again there.

    Arguments:
        suite: the eval file. A run is checked against the case of its name, else against what is common to all.
        case: the name of the case that all runs are checked against.
        format_name: the format that all records are in; None finds out for each.
        by: what the rates are broken down by: columns of the batch, or else keys of the record (``metadata.model``),
            or else parts of the source's path (``day=2026-01-01``).
        justify_held: whether the justifications of checks that held are written, too: few are ever read.

    Raises:
        UsageError: there is no such case, or two columns of one name.
        ReadError: there is no such format.
    """

    def __init__(
        self,
        suite: Suite,
        *,
        case: str | None = None,
        format_name: str | None = None,
        by: Sequence[str] = (),
        justify_held: bool = False,
    ) -> None:
        self.suite = suite
        self.case = case
        self.format_name = format_name
        self.by = tuple(by)
        self.justify_held = justify_held
        if len(set(self.by)) != len(self.by):
            raise UsageError(f"rates are broken down by each column once, not by {', '.join(map(show, self.by))}")
        self.schema: pa.Schema = verdict_schema(self.by)
        self._reader = RecordReader(format_name)
        self._cases = {each.name: each for each in suite.cases}
        if case is not None and case not in self._cases:
            near = nearest_name(case, self._cases)
            meant = f"{near} was meant" if near else f"there are {', '.join(self._cases) or 'none'}"
            raise UsageError(f"{suite.source} has no case {show(case)}; {meant}")
        self._justifier = Justifier()
        self._compiled: dict[str | None, _Checks] = {}
        self._table: dict[str, list[Any]] = {"case": [], "check": [], "label": [], "operator": [], "tool": []}
        self._table["reason"] = []
        self._arrays: dict[str, pa.Array] = {}
        self._add_to_table(None, None, READ_LABEL, READ_OPERATOR, None, None)

    def __reduce__(self) -> tuple[Any, ...]:
        return _kernel, (self.suite, self.case, self.format_name, self.by, self.justify_held)

    def with_format(self, format_name: str | None) -> Kernel:
        """Return the same kernel for records of a format."""
        return _kernel(self.suite, self.case, format_name, self.by, self.justify_held)

    def __call__(self, batch: pa.RecordBatch | pa.Table) -> pa.RecordBatch:
        """Check a batch.

        Arguments:
            batch: has the columns of `raw_schema`, of which only ``raw`` must be there, and any others.

        Returns:
            A batch with the columns of `verdict_schema`, in the order of the records: for each of them one set of
            verdicts for each of its runs, or one verdict ``error`` where it can't be read.

        Raises:
            UsageError: a column is missing, or of another type.
        """
        columns = _RawColumns(batch)
        output = _Output()
        for position, raw in enumerate(columns.raw):
            self._check_record(position, raw, columns, output)
        return self._batch_of(output, columns, batch)

    def _check_record(self, position: int, raw: bytes | None, columns: _RawColumns, output: _Output) -> None:
        run = 0
        default = columns.names[position] or ""
        try:
            if raw is None:
                raise ReadError(columns.problems[position] or "there is no record: it is null")
            for trace in self._reader.traces(raw, default):
                run += 1
                checks = self._checks_of(trace.name or default)
                verdicts = checks.check(trace)
                output.add_run(position, run, _text(trace.name or default), len(verdicts))
                output.add_verdicts(checks.rows, verdicts, self._justifications(verdicts, trace, raw))
        except ReadError as error:
            problem = error.problem
        except Exception as error:  # noqa: BLE001 - what a reader did not foresee must not end a scan of millions
            problem = f"the reader failed: {type(error).__name__}: {printable(str(error), 300)}"
        else:
            return
        odd = columns.problems[position]
        if odd and raw is not None:
            problem = f"{problem}; {odd}"
        output.add_unreadable(position, run + 1, _text(default), without_secrets(_text(problem, 1000)))

    def _justifications(self, verdicts: list[Verdict], trace: Trace, raw: bytes) -> list[str | None]:
        words = WordsOfRun(trace, raw)
        make, also_held = self._justifier.text, self.justify_held
        return [make(verdict, words) if also_held or verdict.status != "held" else None for verdict in verdicts]

    def _checks_of(self, name: str) -> _Checks:
        key = self.case or (name if name in self._cases else None)
        checks = self._compiled.get(key)
        if checks is None:
            checks = self._compiled[key] = self._compile(key)
        return checks

    def _compile(self, key: str | None) -> _Checks:
        operators = self.suite.common_tool_expectations if key is None else self._cases[key].tool_expectations
        compiled = compile_checks(operators, self.suite.aliases)
        first = len(self._table["check"])
        for number, operator in enumerate(compiled.operators):
            tool = next(iter(operator.named_tools), None)
            self._add_to_table(key, number, operator.title, operator.type_name, tool, operator.reason_text or None)
        return _Checks(compiled.check, range(first, first + len(compiled.operators)))

    def _add_to_table(self, *values: Any) -> None:
        for column, value in zip(self._table.values(), values, strict=True):
            column.append(_text(value) if isinstance(value, str) else value)
        self._arrays.clear()

    def _of_checks(self, column: str) -> pa.Array:
        if column not in self._arrays:
            self._arrays[column] = pa.array(self._table[column], self.schema.field(column).type)
        return self._arrays[column]

    def _batch_of(self, output: _Output, columns: _RawColumns, batch: pa.RecordBatch | pa.Table) -> pa.RecordBatch:
        # A text is written once for each run or check, and then taken for each row, which Arrow does by itself.
        run_of_row = pa.array(chain.from_iterable(map(repeat, range(len(output.counts)), output.counts)), pa.int32())
        check_of_row = pa.array(output.checks, pa.int32())
        found = {
            "status": pa.array(_STATUSES).take(pa.array(output.statuses, pa.int8())),
            "justification": pa.array(output.justifications, pa.string()),
            "evidence": pa.ListArray.from_arrays(
                pa.array(output.evidence_ends, pa.int32()), pa.array(output.evidence, pa.int32())
            ),
        }
        found |= {column: self._of_checks(column).take(check_of_row) for column in self._table}
        of_runs = columns.of_runs(output) | Breakdown(self.by, batch, columns.sources).columns(
            columns.raw, output.records
        )
        found |= {column: values.take(run_of_row) for column, values in of_runs.items()}
        return pa.RecordBatch.from_arrays([found[name] for name in self.schema.names], schema=self.schema)


def check_batch(batch: pa.RecordBatch | pa.Table, suite: Suite, **options: Any) -> pa.RecordBatch:
    """Check a batch of raw records against a suite.

    Arguments:
        batch: as of `Kernel.__call__`.
        suite: the eval file.
        options: as of `Kernel`. To check many batches, make one `Kernel` of them: it compiles the suite once.

    Raises:
        UsageError: an option or a column can't be used.

    >>> from tracewitness.suites import parse_suite
    >>> suite = parse_suite("{common_tool_expectations: [{type: tool_called, tool: pay}], evals: []}")
    >>> batch = pa.RecordBatch.from_pydict({"raw": [b'{"events": [{"call": "pay"}]}', b"oh"]})
    >>> check_batch(batch, suite).to_pydict()["status"]
    ['held', 'held', 'error']
    """
    return Kernel(suite, **options)(batch)


def _kernel(suite: Suite, case: str | None, format_name: str | None, by: tuple[str, ...], justify_held: bool) -> Kernel:
    return Kernel(suite, case=case, format_name=format_name, by=by, justify_held=justify_held)


class _RawColumns:
    """The columns of a batch of raw records, with what stands for those that are not there."""

    def __init__(self, batch: pa.RecordBatch | pa.Table) -> None:
        self._batch = batch
        if "raw" not in batch.schema.names:
            raise UsageError(f"a batch of records has a column raw, this has {', '.join(batch.schema.names) or 'none'}")
        self.raw: list[bytes | None] = _pylist(batch, "raw", pa.binary())
        self.sources: list[str] = [source or "" for source in self._given("source", pa.string(), "")]
        self.problems: list[str | None] = self._given("problem", pa.string(), None)
        self.names: list[str | None] = self._given("name", pa.string(), None)
        self._numbers = (
            self._given("record", pa.int64(), None) if "record" in batch.schema.names else range(1, batch.num_rows + 1)
        )

    def _given(self, column: str, kind: pa.DataType, default: Any) -> list[Any]:
        if column not in self._batch.schema.names:
            return [default] * self._batch.num_rows
        return _pylist(self._batch, column, kind)

    def of_runs(self, output: _Output) -> dict[str, pa.Array]:
        """Return the columns that say which run it is, a value for each run."""
        sources = [self.sources[position] for position in output.records]
        numbers = [self._numbers[position] for position in output.records]
        places = zip(sources, numbers, output.runs, strict=True)
        ids = [f"{source}#{number}.{run}" if run > 1 else f"{source}#{number}" for source, number, run in places]
        return {
            "trace_id": pa.array(ids, pa.string()),
            "source": pa.array(sources, pa.string()),
            "record": pa.array(numbers, pa.int64()),
            "run": pa.array(output.runs, pa.int32()),
            "name": pa.array(output.names, pa.string()),
        }


def _pylist(batch: pa.RecordBatch | pa.Table, column: str, kind: pa.DataType) -> list[Any]:
    try:
        values: list[Any] = batch.column(column).cast(kind).to_pylist()
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        found = batch.schema.field(column).type
        raise UsageError(f"the column {column} holds {kind}, not {found}") from error
    return values


def _text(text: str, limit: int = _LONGEST_NAME) -> str:
    """Return a text that Arrow can hold and a terminal can show."""
    return printable(text, limit)
