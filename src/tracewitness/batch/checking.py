"""Check a piece of the input and write the part of the output that it makes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import pyarrow as pa

from tracewitness.batch.inputs import RawRecord, batches_of_records
from tracewitness.batch.kernel import Kernel
from tracewitness.batch.parts import Part, Parts
from tracewitness.batch.pieces import Piece
from tracewitness.batch.sampling import Drawn, Sample
from tracewitness.batch.tally import Tally

__all__ = ["Job", "check_piece", "report_piece"]


class Job(NamedTuple):
    """What is done with each piece. It can be pickled.

    Attributes:
        kernel: checks batches.
        parts: where the verdicts go.
        sample_size, seed: how many broken runs are drawn, and by what.
    """

    kernel: Kernel
    parts: Parts
    sample_size: int = 0
    seed: int = 0


def check_piece(piece: Piece, job: Job, below: int | None = None) -> Part:
    """Check a piece, and write its part.

    Arguments:
        below: as of `Sample`.

    Raises:
        UsageError: the part can't be written; or a file can't be opened for want of what is not installed.
        OSError: a file can't be read any more.
    """
    return _write_part(piece, piece.records(), job, below)


def report_piece(piece: Piece, job: Job, problem: str) -> Part:
    """Write the part of a piece that can't be checked: each of its records has the verdict ``error``.

    Raises:
        UsageError, OSError: as of `check_piece`.
    """
    return _write_part(piece, _with_problem(piece.records(), problem), job, None)


def _with_problem(records: Iterable[RawRecord], problem: str) -> Iterator[RawRecord]:
    for record in records:
        yield record._replace(raw=None, problem=problem if record.raw is not None else record.problem)


def _write_part(piece: Piece, records: Iterable[RawRecord], job: Job, below: int | None) -> Part:
    tally, sample = Tally(), Sample(job.sample_size, job.seed, below)
    writer = job.parts.writer(job.kernel.schema)
    for batch in batches_of_records(records, job.kernel.by):
        verdicts = job.kernel(batch)
        broken = tally.add(verdicts, job.kernel.by)
        if job.sample_size and broken:
            sample.include(_drawn(batch, verdicts, broken, sample))
        writer.add(verdicts)
    part = Part(piece.number, piece.size, tally, sample.drawn)
    writer.complete(part)
    return part


def _drawn(batch: pa.RecordBatch, verdicts: pa.RecordBatch, broken: list[int], sample: Sample) -> Iterator[Drawn]:
    """Yield the records of broken runs that may be drawn."""
    places = dict(zip(zip(*_columns(batch, "source", "record"), strict=True), range(batch.num_rows), strict=True))
    rows = verdicts.take(pa.array(broken, pa.int64()))
    for source, record, name in zip(*_columns(rows, "source", "record", "name"), strict=True):
        trace_id = f"{source}#{record}"
        rank = sample.rank_of(trace_id)
        if rank is not None:
            yield Drawn(rank, trace_id, name, batch.column("raw")[places[source, record]].as_py())


def _columns(batch: pa.RecordBatch, *names: str) -> list[list[object]]:
    return [batch.column(name).to_pylist() for name in names]
