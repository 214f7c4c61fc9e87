"""Spark: the kernel over a DataFrame by `mapInArrow`, for those who have a cluster; and the engine of scans."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self

import pyarrow as pa

from tracewitness.batch.checking import Job
from tracewitness.batch.clusters import ANSWERS, TRIES, Window, answer_all, packed_job, part_of, windows_of
from tracewitness.batch.extras import need
from tracewitness.batch.inputs import Columns
from tracewitness.batch.kernel import Kernel
from tracewitness.batch.parts import Part
from tracewitness.batch.pieces import Piece
from tracewitness.batch.schemas import by_column
from tracewitness.display import printable
from tracewitness.errors import ReadError, UsageError
from tracewitness.suites import Suite, load_suite

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

__all__ = ["Pool", "verdicts"]

# How many records are checked at once, whatever the size of Spark's batches.
_RECORDS: Final = 512
# Enough that none waits long for the last of a window; what comes back of one is held until all of it is there.
_PIECES_A_WORKER: Final = 16
#: Where one of these is set it says where Spark is and how it runs; else it is started on this machine.
_ELSEWHERE: Final = ("SPARK_REMOTE", "SPARK_CONF_DIR", "PYSPARK_SUBMIT_ARGS")
_PYTHON: Final = "PYSPARK_PYTHON"


def verdicts(
    df: DataFrame,
    suite: Suite | str,
    *,
    column: str | None = None,
    case: str | None = None,
    format_name: str | None = None,
    by: Sequence[str] = (),
    justify_held: bool = False,
) -> DataFrame:
    """Check the traces in a DataFrame, where they are.

    A row is a record. Beside the trace, these columns are used where they are there: ``source`` and ``record`` (a whole
    number), of which the trace's id is made, and ``name``, which picks the case. Without a ``record`` rows are numbered
    by `monotonically_increasing_id`: the numbers are unique, but others where the same rows are read another way.

    Arguments:
        df: the traces; tracewitness must be installed where its partitions are.
        suite: the eval file, or its path.
        column: the column with the trace, or with its messages: text, bytes, or a nested value. Without it a column of
            a usual name is taken (``trace``, ``messages`` …), or else the whole row.
        case, format_name, by, justify_held: as of `Kernel`.

    Returns:
        A DataFrame with the columns of `verdict_schema`. Like all of them it is a plan until its rows are asked for.

    Raises:
        UsageError: Spark is not installed, or a column or an option can't be used.
        SuiteError: the suite can't be read.
    """
    types = need("pyspark.sql.pandas.types", "spark", "checking a DataFrame")
    loaded = load_suite(suite) if isinstance(suite, str) else suite
    kernel = Kernel(loaded, case=case, format_name=format_name, by=by, justify_held=justify_held)
    records = df.select(*_raw_columns(df, column, kernel.by))
    return records.mapInArrow(_checking(kernel), types.from_arrow_schema(kernel.schema))


def _raw_columns(df: DataFrame, column: str | None, by: Sequence[str]) -> list[Column]:
    """Return the columns of raw records, made of those that the DataFrame has."""
    functions = need("pyspark.sql.functions", "spark", "checking a DataFrame")
    types = {field.name: field.dataType.typeName() for field in df.schema.fields}
    try:
        found = Columns(column, tuple(by)).of(list(types))
    except ReadError as error:
        raise UsageError(f"the DataFrame can't be checked: {error.problem}") from error
    quoted = {name: functions.col(f"`{name.replace('`', '``')}`") for name in types}
    if found.record is None:
        raw = functions.to_json(functions.struct(*quoted.values()))
    elif types[found.record] in ("string", "binary"):
        raw = quoted[found.record]
    else:
        raw = _as_json(functions, quoted[found.record], types[found.record], found.record)
    number = functions.monotonically_increasing_id() + 1
    if found.record != "record" and types.get("record") in ("byte", "short", "integer", "long"):
        # Where it is null the number is below 0, so that it is no other record's.
        number = functions.coalesce(quoted["record"].cast("long"), -number)
    source = quoted["source"].cast("string") if "source" in types else functions.lit("")
    return [
        raw.cast("binary").alias("raw"),
        number.alias("record"),
        functions.coalesce(source, functions.lit("")).alias("source"),
        *([quoted[found.name].cast("string").alias("name")] if found.name else []),
        *(quoted[name].cast("string").alias(by_column(name)) for name in by if name in types),
    ]


def _as_json(functions: Any, value: Column, kind: str, name: str) -> Column:
    if kind not in ("struct", "array", "map", "variant"):
        raise UsageError(f"the column {name} holds {kind}; a trace is text, bytes, or a nested value of messages")
    written: Column = functions.to_json(value)
    return written


def _checking(kernel: Kernel) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def check(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for begin in range(0, batch.num_rows, _RECORDS):
                yield kernel(batch.slice(begin, _RECORDS))

    return check


class _Failed(Exception):  # noqa: N818 - it is seen to here, and nowhere else
    """A job of Spark failed, as its cause says."""


class Pool:
    """Checks pieces by Spark: by the session that is active, or where the environment says, or else on this machine.

    Used as a context: what was started for it is stopped at its end.

    Arguments:
        job: what is done with each piece.
        workers: how many processes there are, on this machine.

    Raises:
        UsageError: Spark is not installed, or can't be started.
    """

    def __init__(self, job: Job, workers: int) -> None:
        self._sql = need("pyspark.sql", "spark", "the engine spark")
        self._types = need("pyspark.sql.pandas.types", "spark", "the engine spark")
        errors, bridge = (need(name, "spark", "the engine spark") for name in ("pyspark.errors", "py4j.protocol"))
        self._failures = (errors.PySparkException, bridge.Py4JError)
        self._job = job
        self._workers = workers
        self._session: Any = None
        self._began = False
        #: How many processes died: Spark replaces them by itself and does not tell.
        self.deaths = 0

    def __enter__(self) -> Self:
        self._session = self._sql.SparkSession.getActiveSession()
        if self._session is None:
            self._session = self._started()
            self._began = True
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._began:
            self._session.stop()
            self._session = None

    def _started(self) -> Any:
        builder = self._sql.SparkSession.builder.appName("tracewitness scan")
        if not any(name in os.environ for name in _ELSEWHERE):
            for name, value in _on_this_machine(self._workers).items():
                builder = builder.config(name, value)
        given = os.environ.setdefault(_PYTHON, sys.executable)
        try:
            return builder.getOrCreate()
        except Exception as error:  # Spark's own, of the bridge to Java, and of the way to a server
            raise UsageError(f"Spark can't be started or reached: {printable(str(error), 500)}") from error
        finally:
            if given == sys.executable:
                del os.environ[_PYTHON]

    def parts(self, pieces: Iterable[Piece], below: Callable[[], int | None] = lambda: None) -> Iterator[Part]:
        """Yield the part of each piece, in the order in which they are finished.

        Arguments:
            below: a function that returns what `check_piece` takes.

        Raises:
            UsageError, ReadError: as of `check_piece`.
        """
        job = packed_job(self._job)
        for window in windows_of(pieces, self._workers * _PIECES_A_WORKER):
            try:
                parts = self._answers(window, job, below())
            except _Failed:
                # More died than a job may lose. What is done is done; what is not has a job of its own.
                parts = [part for each in window.singly() for part in self._answered_at_last(each, job, below())]
            yield from parts

    def _answered_at_last(self, window: Window, job: bytes, below: int | None) -> list[Part]:
        try:
            return self._answers(window, job, below)
        except _Failed as error:
            raise UsageError(f"Spark failed: {printable(str(error.__cause__).strip(), 1000)}") from error.__cause__

    def _answers(self, window: Window, job: bytes, below: int | None) -> list[Part]:
        def check(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for batch in batches:
                yield from answer_all(batch, job, below)

        frame = self._session.createDataFrame(pa.concat_tables(window.tables))
        try:
            found = frame.mapInArrow(check, self._types.from_arrow_schema(ANSWERS)).toArrow()
        except self._failures as error:
            raise _Failed from error
        return [part_of(answer) for answer in found["answer"].to_pylist()]


def _on_this_machine(workers: int) -> dict[str, str]:
    return {
        "spark.master": f"local[{workers},{TRIES + 1}]",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.log.level": "OFF",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
