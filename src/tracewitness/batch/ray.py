"""The engine of Ray: pieces of a scan are a dataset, and checked by its `map_batches`."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Final, Self

import pyarrow as pa

from tracewitness.batch.checking import Job
from tracewitness.batch.clusters import Window, answer_all, packed_job, part_of, windows_of
from tracewitness.batch.extras import need
from tracewitness.batch.parts import Part
from tracewitness.batch.pieces import Piece
from tracewitness.display import printable
from tracewitness.errors import UsageError

__all__ = ["Pool"]

# Enough that none waits long for the last of a window, and that a sample of what comes back stays small.
_PIECES_A_WORKER: Final = 64
# Pieces and answers are small; by default Ray takes a third of the machine for them.
_STORE: Final = 512 * 1024 * 1024
_ADDRESS: Final = "RAY_ADDRESS"


class Pool:
    """Checks pieces by Ray: where it runs already, or where ``RAY_ADDRESS`` says, or else on this machine.

    Used as a context: what was started for it is stopped at its end.

    Arguments:
        job: what is done with each piece.
        workers: how many processes there are, on this machine.

    Raises:
        UsageError: Ray is not installed, or can't be reached.
    """

    def __init__(self, job: Job, workers: int) -> None:
        self._ray = need("ray", "ray", "the engine ray")
        self._data = need("ray.data", "ray", "the engine ray")
        self._job = job
        self._workers = workers
        self._began = False
        #: How many processes died: Ray replaces them by itself and does not tell.
        self.deaths = 0

    def __enter__(self) -> Self:
        if self._ray.is_initialized():
            return self
        quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
        if _ADDRESS not in os.environ:
            quiet |= {
                "address": "local",
                "num_cpus": self._workers,
                "include_dashboard": False,
                "object_store_memory": _STORE,
            }
        try:
            self._ray.init(**quiet)
        except (ConnectionError, RuntimeError, ValueError, OSError) as error:
            raise UsageError(f"Ray can't be started or reached: {error}") from error
        self._began = True
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._began:
            self._ray.shutdown()

    def parts(self, pieces: Iterable[Piece], below: Callable[[], int | None] = lambda: None) -> Iterator[Part]:
        """Yield the part of each piece, in the order in which they are finished.

        Arguments:
            below: a function that returns what `check_piece` takes.

        Raises:
            UsageError, ReadError: as of `check_piece`.
        """
        job = packed_job(self._job)
        for window in windows_of(pieces, self._workers * _PIECES_A_WORKER):
            yield from self._answers(window, job, below())

    def _answers(self, window: Window, job: bytes, below: int | None) -> Iterator[Part]:
        def check(table: pa.Table) -> pa.Table:
            return pa.Table.from_batches(list(answer_all(table, job, below)))

        with _quietly(self._data):
            # One piece a task. Ray tries again what died; `answer_all` sees to it that this comes to an end.
            dataset = self._data.from_arrow(window.tables).map_batches(check, batch_format="pyarrow", batch_size=1)
            try:
                for table in dataset.iter_batches(batch_size=None, batch_format="pyarrow", prefetch_batches=0):
                    yield from map(part_of, table["answer"].to_pylist())
            except self._ray.exceptions.RayError as error:
                raise UsageError(f"Ray failed: {printable(str(error).strip(), 1000)}") from error


@contextmanager
def _quietly(data: Any) -> Iterator[None]:
    """Have datasets print nothing; afterwards all is as it was."""
    context, logger = data.DataContext.get_current(), logging.getLogger("ray.data")
    before, level = context.enable_progress_bars, logger.level
    try:
        context.enable_progress_bars = False
        logger.setLevel(logging.CRITICAL)
        yield
    finally:
        context.enable_progress_bars = before
        logger.setLevel(level)
