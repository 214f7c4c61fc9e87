"""The engine for one machine: processes that take pieces and write parts.

A process that dies is replaced, and its piece is tried once more. Where that dies, too, the records of the piece get
the verdict ``error``: something in it ends whatever reads it.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections import deque
from collections.abc import Iterable, Iterator
from multiprocessing.connection import Connection, wait
from types import TracebackType
from typing import Any, Final, NamedTuple, Self

from tracewitness.batch.checking import Job, check_piece, report_piece
from tracewitness.batch.extras import use_little_memory
from tracewitness.batch.parts import Part
from tracewitness.batch.pieces import Piece
from tracewitness.errors import ReadError, TracewitnessError

__all__ = ["Pool", "default_workers"]

_TRIES: Final = 2
# How many pieces a process is given before it has finished one: while it waits for none, memory stays bounded.
_AHEAD: Final = 2
_PATIENCE: Final = 10.0


def default_workers() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class _Attempt(NamedTuple):
    """A piece, and how often it was given to a process that died."""

    piece: Piece
    deaths: int = 0


class _Worker:
    """A process, and what it was given."""

    def __init__(self, job: Job) -> None:
        context = multiprocessing.get_context("spawn")
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=_work, args=(theirs, job), daemon=True)
        self.process.start()
        self.pid = self.process.pid
        theirs.close()
        self.given: deque[_Attempt] = deque()

    def give(self, attempt: _Attempt, below: int | None) -> None:
        self.given.append(attempt)
        try:
            self.connection.send((attempt.piece, below))
        except (BrokenPipeError, ConnectionResetError):
            return  # it died; that is seen when its answer is waited for

    def stop(self) -> None:
        self.connection.close()
        self.process.terminate()
        self.process.join(_PATIENCE)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()
        self.process.close()


class Pool:
    """Processes that check pieces. Used as a context: at its end they are ended.

    Arguments:
        job: what is done with each piece.
        workers: how many processes.
    """

    def __init__(self, job: Job, workers: int) -> None:
        self._job = job
        self._count = workers
        self._workers: list[_Worker] = []
        self._again: deque[_Attempt] = deque()
        #: How many processes died.
        self.deaths = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for worker in self._workers:
            worker.stop()
        self._workers.clear()

    @property
    def process_ids(self) -> list[int]:
        """The ids of the processes that live."""
        return [worker.pid for worker in self._workers if worker.pid is not None]

    def parts(self, pieces: Iterable[Piece], below: Any = None) -> Iterator[Part]:
        """Yield the part of each piece, in the order in which they are finished.

        Arguments:
            below: a function that returns what `check_piece` takes.

        Raises:
            UsageError, ReadError: as of `check_piece`.
        """
        limit = below or (lambda: None)
        attempts = map(_Attempt, pieces)
        while True:
            self._hand_out(attempts, limit)
            busy = {worker.connection: worker for worker in self._workers if worker.given}
            if not busy:
                return
            for connection in wait(list(busy)):
                part = self._received(busy[connection])  # type: ignore[index]
                if part is not None:
                    yield part

    def _hand_out(self, attempts: Iterator[_Attempt], limit: Any) -> None:
        """Give each process something to do, where there is something; the idle ones first."""
        for wanted in range(1, _AHEAD + 1):
            for number in range(self._count):
                if number < len(self._workers) and len(self._workers[number].given) >= wanted:
                    continue
                attempt = self._again.popleft() if self._again else next(attempts, None)
                if attempt is None:
                    return
                if number >= len(self._workers):
                    self._workers.append(_Worker(self._job))
                self._workers[min(number, len(self._workers) - 1)].give(attempt, limit())

    def _received(self, worker: _Worker) -> Part | None:
        try:
            answer = worker.connection.recv()
        except (EOFError, ConnectionResetError):
            return self._buried(worker)
        if isinstance(answer, TracewitnessError):
            raise answer
        worker.given.popleft()
        part: Part = answer
        return part

    def _buried(self, worker: _Worker) -> Part | None:
        """Replace a process that died, and see to what it was given; what it had not begun did not kill it."""
        self.deaths += 1
        worker.process.join(_PATIENCE)
        how = _how_it_died(worker.process.exitcode)
        begun, *others = worker.given
        worker.stop()
        self._workers[self._workers.index(worker)] = _Worker(self._job)
        self._again.extend(others)
        tried = begun._replace(deaths=begun.deaths + 1)
        if tried.deaths < _TRIES:
            self._again.append(tried)
            return None
        problem = f"it was not checked: the process that checked its batch died {tried.deaths} times, {how}"
        return report_piece(tried.piece, self._job, problem)


def _how_it_died(code: int | None) -> str:
    if code is None or code >= 0:
        return f"with exit status {code}"
    try:
        return f"by {signal.Signals(-code).name}"
    except ValueError:
        return f"by signal {-code}"


def _work(connection: Connection, job: Job) -> None:
    """Check pieces as long as some come. What ends the scan is sent in the place of a part."""
    use_little_memory()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the first process decides what an interruption means
    while True:
        try:
            piece, below = connection.recv()
        except EOFError:
            return
        try:
            answer: Part | TracewitnessError = check_piece(piece, job, below)
        except TracewitnessError as error:
            answer = error
        except OSError as error:
            answer = ReadError(f"the input can't be read any more: {error.strerror or error}")
        try:
            connection.send(answer)
        except (BrokenPipeError, ConnectionResetError):
            return
