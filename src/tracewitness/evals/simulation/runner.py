"""Run simulations: many at once, each tried again where something around the agent failed, within a budget."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable, Iterator

from tracewitness.callers import warn_caller
from tracewitness.errors import InfrastructureError
from tracewitness.evals.simulation.attempt import Attempt
from tracewitness.evals.simulation.budget import Budget
from tracewitness.evals.simulation.journal import Journal
from tracewitness.evals.simulation.models import retrying
from tracewitness.evals.simulation.plan import Plan, close
from tracewitness.evals.simulation.results import Row, Spent, not_run_row
from tracewitness.suites import Case, Suite

__all__ = ["simulate"]


async def simulate(
    suite: Suite,
    plan: Plan,
    *,
    budget: Budget | None = None,
    journal: Journal | None = None,
    notice: Callable[[str], None] = warn_caller,
) -> AsyncGenerator[Row, None]:
    """Run each case of a suite and yield the rows as they come, each after it is in the journal.

    Runs that the journal has already are not run again, nor yielded. When it is cancelled, it ends the runs that go on,
    yields what was finished in between, and then passes the cancellation on. The agent and the models are closed at the
    end. A call of an agent that is too slow and does not end when it is cancelled is left behind: its task stays in the
    event loop, and `asyncio.run` would wait for it.

    Arguments:
        suite: the cases; filter it with `Suite.select` first.
        plan: how they are run. Call `prepare` with the two first.
        budget: what may be used of models; runs that don't fit into it are yielded as not run.
        journal: where finished runs are written.
        notice: takes a line on what could not be closed at the end; by default it is a warning.

    Raises:
        UsageError: a model can't be asked, or the journal not be written. All runs end.
    """
    work = _Work(suite, plan, budget or Budget(), journal)
    try:
        async with contextlib.aclosing(work.rows()) as rows:
            async for row in rows:
                yield row
    finally:
        for line in await close(plan):
            notice(line)


class _Work:
    """All runs of a simulation, and those who do them."""

    def __init__(self, suite: Suite, plan: Plan, budget: Budget, journal: Journal | None) -> None:
        finished = journal.finished if journal is not None else frozenset()
        jobs = ((case, run) for case in suite.cases for run in range(1, plan.runs + 1))
        self._jobs = [(case, run) for case, run in jobs if (case.name, run) not in finished]
        self._left: Iterator[tuple[Case, int]] = iter(self._jobs)
        self._plan = plan
        self._budget = budget
        self._journal = journal
        self._done: asyncio.Queue[Row | Exception] = asyncio.Queue()
        # A run begins only where its row will have room: rows that nobody asks for yet don't pile up.
        self._room = asyncio.Semaphore(2 * plan.parallel)
        for row in journal.rows() if journal is not None else ():
            budget.add(row.usage)

    async def rows(self) -> AsyncGenerator[Row, None]:
        """Yield the rows as they come."""
        workers = [asyncio.create_task(self._work()) for _ in range(min(self._plan.parallel, len(self._jobs)))]
        try:
            for _ in self._jobs:
                done = await self._done.get()
                self._room.release()
                if isinstance(done, Exception):
                    raise done
                yield done
        except asyncio.CancelledError:
            await _end(workers)
            while not self._done.empty():
                done = self._done.get_nowait()
                if isinstance(done, Row):
                    yield done
            raise
        finally:
            await _end(workers)

    async def _work(self) -> None:
        for case, run in self._left:
            await self._room.acquire()
            try:
                self._done.put_nowait(await self._row(case, run))
            except Exception as error:  # noqa: BLE001 - it is raised where the rows are waited for
                self._done.put_nowait(error)

    async def _row(self, case: Case, run: int) -> Row:
        reason = self._budget.why_used_up()
        if reason is not None:
            return not_run_row(case, run, reason)
        row = await _CaseRun(case, run, self._plan, self._budget).row()
        if self._journal is not None:
            self._journal.append(row)
        return row


async def _end(workers: list[asyncio.Task[None]]) -> None:
    """End the runs that go on, and wait until their sessions are closed."""
    for worker in workers:
        worker.cancel()
    await asyncio.gather(*workers, return_exceptions=True)


class _CaseRun:
    """One run of a case, with all attempts at it."""

    def __init__(self, case: Case, run: int, plan: Plan, budget: Budget) -> None:
        self._case = case
        self._run = run
        self._plan = plan
        self._budget = budget
        self._attempts: list[Attempt] = []
        self._reasons: list[str] = []  # one for each attempt that came to no result
        self._spent = Spent()

    async def row(self) -> Row:
        """Return the row of the last attempt, with what all of them used."""
        row = await self._answered()
        for _ in range(self._plan.retry_inconclusive):
            if row.is_conclusive or self._budget.why_used_up() is not None:
                break
            row = await self._answered()
        if len(self._attempts) == 1:
            return row
        attempts = {"attempts": len(self._attempts), "retried_because": self._reasons[: len(self._attempts) - 1]}
        return Row(row.data | {"usage": self._spent.to_dict()} | attempts)

    async def _answered(self) -> Row:
        """Return the row of an attempt, after others where the agent could not be reached for the moment."""
        try:
            return await retrying(self._attempt, self._plan.retries)
        except InfrastructureError as error:
            return self._attempts[-1].error_row(self._with_earlier_reason(error))

    def _with_earlier_reason(self, error: InfrastructureError) -> InfrastructureError:
        """Return the error of the last attempt with what failed one before, if that was another: it may tell more."""
        earlier = [reason for reason in self._reasons[:-1] if reason != error.problem]
        if not earlier:
            return error
        told = type(error)(f"{error.problem}; before that: {earlier[-1]}", transient=error.transient)
        told.__cause__ = error.__cause__
        return told

    async def _attempt(self) -> Row:
        attempt = Attempt(self._case, self._run, self._plan)
        self._attempts.append(attempt)
        try:
            row = await attempt.row()
        except InfrastructureError as error:
            self._reasons.append(error.problem)
            raise
        else:
            if not row.is_conclusive:
                self._reasons.append(str(row.data.get("error", "verdicts of the judge are missing")))
            return row
        finally:
            self._spent += attempt.spent
            for part in (attempt.spent.user, attempt.spent.judge, attempt.spent.agent):
                self._budget.add(part)
