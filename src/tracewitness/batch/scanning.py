"""Scan recorded runs: inputs, kernel, engine and output put together."""

from __future__ import annotations

import hashlib
import importlib
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any, Final, Literal

import msgspec
from msgspec import Struct, structs

from tracewitness import __version__
from tracewitness.batch.checking import Job
from tracewitness.batch.inputs import Columns, Input, RawRecord, locate
from tracewitness.batch.kernel import Kernel
from tracewitness.batch.local import default_workers
from tracewitness.batch.parts import Part, Parts, Plan
from tracewitness.batch.pieces import Piece, pieces_of
from tracewitness.batch.sampling import Drawn, Sample, refuse_filled
from tracewitness.batch.tally import Tally
from tracewitness.display import plural, show
from tracewitness.errors import ExpectationError, ReadError, UsageError
from tracewitness.expectations import Operator
from tracewitness.fluent.rates import check_number
from tracewitness.readers.records import format_of_records
from tracewitness.suites import Suite, load_suite

__all__ = ["Engine", "Options", "Progress", "ScanResult", "scan"]

Engine = Literal["local", "ray", "spark"]

#: How many records are looked at to find out in which format all are.
_LOOKED_AT: Final = 64
#: What stands in the place of a format's name to have it found out for each record.
ANY_FORMAT: Final = "any"
_MOST_KNOWN: Final = 1000


class Options(Struct, frozen=True, kw_only=True):
    """How a scan is done.

    Attributes:
        case: the name of the case that all runs are checked against; None takes each run's own.
        format_name: the format of the records; ``any`` finds it out for each, None on the first ones for all.
        column: of tables, the column with the record.
        by: what the rates are broken down by.
        justify_held: whether the justifications of checks that held are written, too.
        engine: what the work is done by.
        workers: how many processes; None takes as many as there are cores.
        max_errors: more records that can't be read than this end the scan; None sets no limit.
        resume: whether to go on with a scan that did not end.
        sample: how many broken runs are drawn.
        sample_to: the folder that whoever scans will save them to, which must be empty till then; it is no input.
        seed: by what they are drawn.
    """

    case: str | None = None
    format_name: str | None = None
    column: str | None = None
    by: tuple[str, ...] = ()
    justify_held: bool = False
    engine: Engine = "local"
    workers: int | None = None
    max_errors: int | None = None
    resume: bool = False
    sample: int = 0
    sample_to: str | None = None
    seed: int = 0


class Progress(Struct, frozen=True):
    """How far a scan is.

    Attributes:
        runs: how many runs are checked.
        bytes_done: of how many bytes of the input.
        bytes_all: how many there are, where that is known.
        seconds: for how long it has run.
    """

    runs: int
    bytes_done: int
    bytes_all: int | None
    seconds: float


class ScanResult(Struct, frozen=True):
    """What came of a scan.

    Attributes:
        output: the file with the verdicts.
        tally: the counts.
        format_name: in which format the records were taken to be.
        missing: the cases without a run.
        resumed: how many parts were there from before.
        deaths: how many processes died and were replaced.
        drawn: the sample of broken runs.
        seconds: how long it took.
    """

    output: str
    tally: Tally
    format_name: str | None
    missing: tuple[str, ...]
    resumed: int
    deaths: int
    drawn: tuple[Drawn, ...]
    seconds: float

    def exit_status(self, *, allow_missing: bool = False) -> int:
        """Return 0: all held; 1: something is broken; 2: something can't be read, or nothing was; 3: inconclusive."""
        missing = () if allow_missing else self.missing
        if self.tally.unreadable or not self.tally.runs:
            return 2
        return 1 if self.tally.broken or missing else 3 if self.tally.inconclusive else 0


def scan(
    suite: Suite | str,
    inputs: Sequence[str],
    output: str,
    options: Options | None = None,
    *,
    progress: Callable[[Progress], None] | None = None,
) -> ScanResult:
    """Check recorded runs against a suite and write the verdicts to a file.

    Where it is called from a script, the script's own work stands under ``if __name__ == "__main__":``, as for all
    that starts processes.

    Arguments:
        suite: the eval file, or its path.
        inputs: files, folders, globs, URLs, tables (``duckdb://FILE?query=…``), or - for the standard input.
        output: the file to write: it ends in ``.parquet`` or ``.jsonl``, and has the columns of
            `schemas.verdict_schema`.
        options: how it is done.
        progress: is called when some is done.

    Raises:
        SuiteError: the suite can't be used.
        UsageError: an option, or the output, can't be used; or the output can't be written.
        ReadError: there is no such input; or more than ``max_errors`` records can't be read. What is wrong with a
            record or with a file among others is a verdict.
    """
    options = options or Options()
    if options.workers is not None:
        check_number("the number of workers", options.workers, 1, 10_000)
    suite = load_suite(suite) if isinstance(suite, str) else suite
    return _Scan(suite, inputs, Parts(output), options, progress).run()


class _Scan:
    def __init__(
        self,
        suite: Suite,
        inputs: Sequence[str],
        parts: Parts,
        options: Options,
        progress: Callable[[Progress], None] | None,
    ) -> None:
        self._suite = suite
        self._inputs = tuple(inputs)
        self._parts = parts
        self._own = (parts.output, parts.folder, *(() if options.sample_to is None else (options.sample_to,)))
        self._options = options
        self._progress = progress
        self._columns = Columns(options.column, options.by)
        self._tally = Tally()
        self._sample = Sample(options.sample, options.seed)
        self._has_stream = False
        self._resumed = 0
        self._count = 0
        self._bytes_done = 0
        self._begun = time.monotonic()

    def run(self) -> ScanResult:
        given = self._options.format_name
        kernel = Kernel(  # first, so that what is wrong with the options is said before anything is read
            self._suite,
            case=self._options.case,
            format_name=None if given == ANY_FORMAT else given,
            by=self._options.by,
            justify_held=self._options.justify_held,
        )
        if self._options.sample_to is not None:
            refuse_filled(self._options.sample_to)
        plan, self._bytes_all = self._plan()
        with self._parts.locked():
            self._parts.begin(plan, resume=self._options.resume)
            try:
                return self._write(kernel)
            except BaseException:  # an interruption, too
                self._parts.give_up(can_resume=not self._has_stream)
                raise

    def _write(self, kernel: Kernel) -> ScanResult:
        pieces = pieces_of(locate(self._inputs, self._own), self._columns)
        first = next(pieces, None)
        if self._options.format_name is None and first is not None:
            kernel = kernel.with_format(_format_of(first))
        job = Job(kernel, self._parts, self._options.sample, self._options.seed)
        deaths = self._check(job, pieces if first is None else chain((first,), pieces))
        if not self._tally.runs:
            raise ReadError(f"there is no record in {', '.join(self._inputs)}")
        self._parts.join(self._count, kernel.schema)
        return self._result(kernel.format_name, deaths)

    def _plan(self) -> tuple[Plan, int | None]:
        """Look at all inputs: what they are, and how many bytes they have."""
        seen, size, is_known = hashlib.sha256(), 0, True
        known: dict[str, str] = {}
        for each in locate(self._inputs, self._own):
            _refuse_output(each, self._parts)
            self._has_stream = self._has_stream or each.kind == "stream"
            mark = f"{each.source}\0{each.version}\0{each.query}\0"
            seen.update(mark.encode("utf-8", "surrogateescape"))
            if len(known) < _MOST_KNOWN:
                known[each.source.encode("utf-8", "backslashreplace").decode()] = f"{each.version} {each.query}"
            is_known = is_known and each.size is not None
            size += each.size or 0
        if self._options.resume and self._has_stream:
            raise UsageError("a scan of the standard input or of a pipe can't be resumed: what was read of it is gone")
        options = self._options
        # These may be others when the scan goes on: they decide on no verdict. Another version may cut other pieces.
        decides = structs.replace(options, engine="local", workers=None, max_errors=None, resume=False, sample_to=None)
        decided = _hash_of([__version__, decides, self._inputs])
        plan = Plan(_hash_of(_checks_of(self._suite)), decided, seen.hexdigest(), known)
        return plan, size if is_known else None

    def _check(self, job: Job, pieces: Iterable[Piece]) -> int:
        """Check the pieces whose parts are not there yet, and return how many processes died."""
        workers = self._options.workers or default_workers()
        engine = self._options.engine
        with importlib.import_module(f"tracewitness.batch.{engine}").Pool(job, workers) as pool:
            for part in pool.parts(self._not_done(pieces), lambda: self._sample.highest):
                self._include(part)
            deaths: int = pool.deaths
            return deaths

    def _not_done(self, pieces: Iterable[Piece]) -> Iterator[Piece]:
        for piece in pieces:
            self._count += 1
            part = self._parts.done(piece.number)
            if part is None:
                yield piece
            else:
                self._resumed += 1
                self._include(part)

    def _include(self, part: Part) -> None:
        self._tally.include(part.tally)
        self._sample.include(part.drawn)
        self._bytes_done += part.size
        most = self._options.max_errors
        if most is not None and self._tally.unreadable > most:
            examples = "; ".join(f"{each.trace_id}: {each.why}" for each in self._tally.unreadable_examples)
            raise ReadError(
                f"{plural(self._tally.unreadable, 'record')} can't be read, more than the {most} that are allowed: "
                f"{examples}. What is complete is kept, and --resume goes on with a higher --max-errors"
            )
        if self._progress is not None:
            seconds = time.monotonic() - self._begun
            self._progress(Progress(self._tally.runs, self._bytes_done, self._bytes_all, seconds))

    def _result(self, format_name: str | None, deaths: int) -> ScanResult:
        seen = {check.case for check in self._tally.checks.values()}
        wanted = [case.name for case in self._suite.cases] if self._options.case is None else [self._options.case]
        return ScanResult(
            str(self._parts.output),
            self._tally,
            format_name,
            tuple(name for name in wanted if name not in seen),
            self._resumed,
            deaths,
            tuple(self._sample.drawn),
            time.monotonic() - self._begun,
        )


def _hash_of(value: object) -> str:
    """Return a hash of what decides on the verdicts, the same in every process."""
    return hashlib.sha256(msgspec.json.encode(value, order="deterministic", enc_hook=repr)).hexdigest()


def _checks_of(suite: Suite) -> list[Any]:
    """Return what of a suite decides on verdicts, as plain data."""
    cases = [(case.name, [_plain(operator) for operator in case.tool_expectations]) for case in suite.cases]
    return [[_plain(operator) for operator in suite.common_tool_expectations], cases, suite.aliases]


def _plain(operator: Operator) -> Any:
    try:
        return operator.to_mapping()
    except ExpectationError:  # a matcher that only Python has
        return repr(operator)


def _format_of(piece: Piece) -> str | None:
    """Return the format that the first records of a piece are in."""
    records: Iterator[RawRecord] = islice((record for record in piece.records() if record.raw is not None), _LOOKED_AT)
    return format_of_records(record.raw for record in records if record.raw is not None)


def _refuse_output(each: Input, parts: Parts) -> None:
    """Make sure that what is read is not written over."""
    if each.kind == "file" and not each.problem and parts.output.exists() and parts.output.samefile(each.address):
        raise UsageError(f"{show(str(Path(each.address)))} is being read; the verdicts need a file of their own")
