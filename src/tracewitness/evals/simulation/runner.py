"""Run simulations: many at once, each tried again where something around the agent failed, within a budget."""

from __future__ import annotations

import asyncio
import contextlib
import time
import uuid
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator
from copy import deepcopy
from functools import partial
from typing import Any, Final, TypeVar

from msgspec import Struct, structs

from tracewitness.display import printable, show
from tracewitness.errors import InfrastructureError, UsageError
from tracewitness.evals.simulation.budget import Budget
from tracewitness.evals.simulation.conversation import Agent, AgentTurn, Conversation, Session, Usage
from tracewitness.evals.simulation.journal import Journal
from tracewitness.evals.simulation.judge import Judge, Judgement
from tracewitness.evals.simulation.models import ModelClient, Retries, retrying
from tracewitness.evals.simulation.recorded_runs import RecordedRun, load_run, save_run
from tracewitness.evals.simulation.results import Played, Row, Spent, error_row, finished_row, not_run_row
from tracewitness.evals.simulation.traffic import RunTraffic, Traffic
from tracewitness.evals.simulation.user import SimulatedUser
from tracewitness.suites import Case, Suite

__all__ = ["Limits", "Plan", "prepare", "simulate"]

T = TypeVar("T")

#: How long an agent may take to free what a session holds.
_CLOSE_SECONDS: Final = 10.0

#: How long an agent that is cancelled may take to end what it does, before it is left to itself.
_GRACE_SECONDS: Final = 2.0


class Limits(Struct, frozen=True):
    """How long things may take, in seconds.

    Attributes:
        turn: the agent's answer to one turn of the user.
        case: a whole run, with its judgement.
    """

    turn: float = 60.0
    case: float = 900.0


class Plan(Struct, frozen=True):
    """How each case is run.

    Attributes:
        agent: who is talked to.
        user_model: who speaks for the user; None where there are only static utterances.
        judge_model: who judges; None where nothing is to be judged.
        judge_votes: how many votes the judge has.
        opening: what is said before the first step, such as ``event: welcome``.
        runs: how often each case is run.
        parallel: how many runs go on at once.
        limits: how long things may take.
        retries: how often a run is tried again from its beginning where the agent could not be reached for the moment.
        retry_inconclusive: how often a run is tried again that infrastructure failed for good, or that is inconclusive.
        traffic: where the models' traffic is recorded, or comes from; the models were made with it too.
    """

    agent: Agent
    user_model: ModelClient | None = None
    judge_model: ModelClient | None = None
    judge_votes: int = 1
    opening: str | None = None
    runs: int = 1
    parallel: int = 1
    limits: Limits = Limits()
    retries: Retries = Retries(most=2)
    retry_inconclusive: int = 0
    traffic: Traffic | None = None


async def prepare(suite: Suite, plan: Plan) -> None:
    """Find out what can be known before the first run. Where it can't be run, the agent and the models are closed.

    Raises:
        UsageError: there is nothing to run, or a model is missing, or one can't be asked.
        InfrastructureError: the agent or a model can't be reached.
    """
    try:
        await _prepare(suite, plan)
    except BaseException:
        await _close(plan)
        raise


async def _prepare(suite: Suite, plan: Plan) -> None:
    if not suite.cases:
        raise UsageError(f"{suite.source} has no evals, so there is nothing to simulate")
    for case in suite.cases:
        _check_case(case, plan)
    if plan.judge_model is not None:
        Judge(plan.judge_model, plan.judge_votes)
    for model in _models(plan):
        await model.prepare()
    await plan.agent.prepare()


def _check_case(case: Case, plan: Plan) -> None:
    if not case.steps:
        raise UsageError(
            f"the case {show(case.name)} has no steps, so a simulated user has nothing to do; "
            "give it some, or pick others with --name or --tag"
        )
    SimulatedUser(case, plan.user_model, opening=plan.opening)
    if case.expectations and plan.judge_model is None:
        raise UsageError(f"the case {show(case.name)} has expectations for a judge; name its model with --judge-model")


def _models(plan: Plan) -> list[ModelClient]:
    """Return the models, one that plays both parts once."""
    found = [model for model in (plan.user_model, plan.judge_model) if model is not None]
    return list(dict.fromkeys(found))


async def simulate(
    suite: Suite, plan: Plan, *, budget: Budget | None = None, journal: Journal | None = None
) -> AsyncIterator[Row]:
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

    Raises:
        UsageError: a model can't be asked, or the journal not be written. All runs end.
    """
    work = _Work(suite, plan, budget or Budget(), journal)
    try:
        async with contextlib.aclosing(work.rows()) as rows:
            async for row in rows:
                yield row
    finally:
        await _close(plan)


async def _close(plan: Plan) -> None:
    for model in _models(plan):
        await model.close()
    await plan.agent.close()


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
        self._attempts: list[_Attempt] = []
        self._reasons: list[str] = []
        self._spent = Spent()

    async def row(self) -> Row:
        """Return the row of the last attempt, with what all of them used."""
        row = await self._answered()
        for _ in range(self._plan.retry_inconclusive):
            if row.is_conclusive or self._budget.why_used_up() is not None:
                break
            self._reasons.append(str(row.data.get("error", "verdicts of the judge are missing")))
            row = await self._answered()
        if len(self._attempts) == 1:
            return row
        attempts = {"attempts": len(self._attempts), "retried_because": self._reasons}
        return Row(row.data | {"usage": self._spent.to_dict()} | attempts)

    async def _answered(self) -> Row:
        """Return the row of an attempt, after others where the agent could not be reached for the moment."""
        try:
            return await retrying(self._attempt, self._plan.retries)
        except InfrastructureError as error:
            return self._attempts[-1].error_row(error)

    async def _attempt(self) -> Row:
        attempt = _Attempt(self._case, self._run, self._plan)
        self._attempts.append(attempt)
        try:
            return await attempt.row()
        except InfrastructureError as error:
            if error.transient:
                self._reasons.append(error.problem)
            raise
        finally:
            self._spent += attempt.spent
            for part in (attempt.spent.user, attempt.spent.judge, attempt.spent.agent):
                self._budget.add(part)


class _AgentFailedError(Exception):
    """The agent raised ``error``, which says something of the agent."""

    def __init__(self, error: BaseException) -> None:
        super().__init__(error)
        self.error = error


class _Outcome(Struct, frozen=True):
    """What became of a call: what it returned or raised, and after how many seconds."""

    value: Any
    error: BaseException | None
    seconds: float


class _AgentTask:
    """The task in which an agent's code runs, one call after the other, as `Session` promises.

    It is not the task of the run. So whatever the agent makes of a cancellation, and whatever it does to its own task,
    the run goes on: a call that does not end is left to itself.
    """

    def __init__(self) -> None:
        self._is_left = False
        self._calls: asyncio.Queue[tuple[Callable[[], Awaitable[Any]], asyncio.Future[_Outcome]] | None]
        self._calls = asyncio.Queue()
        self._task = asyncio.create_task(self._work())

    @property
    def is_lost(self) -> bool:
        """Whether nothing more can be called here, since a call was left to itself or the task was ended."""
        return self._is_left or self._task.done()

    async def run(self, call: Callable[[], Awaitable[T]], seconds: float) -> T:
        """Return what a call returns.

        Raises:
            TimeoutError: it took longer, also where it held up the event loop and returned after all.
            InfrastructureError: it raised that.
            _AgentFailedError: it raised anything else.
        """
        future: asyncio.Future[_Outcome] = asyncio.get_running_loop().create_future()
        self._calls.put_nowait((call, future))
        try:
            await self._wait(future, seconds)
        except asyncio.CancelledError:
            await self._stop(future)
            raise
        if not future.done():
            await self._stop(future)
            raise TimeoutError(f"it took longer than {seconds:g} s")
        value: T = _returned(future.result(), seconds)
        return value

    async def end(self) -> None:
        """End the task, unless a call was left in it."""
        self._calls.put_nowait(None)
        if not self._is_left:
            await asyncio.wait([self._task], timeout=_GRACE_SECONDS)

    async def _stop(self, future: asyncio.Future[_Outcome]) -> None:
        """Cancel the call, and leave it where it does not end soon."""
        if future.done():
            return
        self._is_left = True
        self._task.cancel()
        await self._wait(future, _GRACE_SECONDS)
        self._is_left = not future.done()

    async def _wait(self, future: asyncio.Future[_Outcome], seconds: float) -> None:
        """Wait until a call is over. One that had not begun when the task was cancelled never is."""
        either: tuple[asyncio.Future[Any], ...] = (future, self._task)
        await asyncio.wait(either, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)

    async def _work(self) -> None:
        while (asked := await self._calls.get()) is not None:
            call, future = asked
            outcome = await _outcome(call)
            await _settled()
            future.set_result(outcome)


async def _outcome(call: Callable[[], Awaitable[Any]]) -> _Outcome:
    """Make a call, and tell what became of it."""
    began = time.monotonic()
    try:
        value = await call()
    except (KeyboardInterrupt, GeneratorExit):
        raise
    except BaseException as error:  # noqa: BLE001 - whatever it is, it is for the one who waits
        return _Outcome(None, error, time.monotonic() - began)
    return _Outcome(value, None, time.monotonic() - began)


async def _settled() -> None:
    """Take a cancellation of this task that came late, so that it does not end what comes next."""
    with contextlib.suppress(asyncio.CancelledError):
        await asyncio.sleep(0)
    task = asyncio.current_task()
    while task is not None and task.uncancel() > 0:
        pass


def _returned(outcome: _Outcome, seconds: float) -> Any:
    """Return what a call returned, or raise what `_AgentTask.run` says."""
    if isinstance(outcome.error, InfrastructureError):
        raise outcome.error
    if outcome.error is not None:
        raise _AgentFailedError(outcome.error) from outcome.error
    if outcome.seconds > seconds:
        raise TimeoutError(f"it took {outcome.seconds:.3g} s, longer than {seconds:g} s")
    return outcome.value


class _Attempt:
    """One conversation of a simulated user with the agent, and its judgement."""

    def __init__(self, case: Case, run: int, plan: Plan) -> None:
        self._case = case
        self._run = run
        self._plan = plan
        self._began = time.monotonic()
        traffic = None if plan.traffic is None else plan.traffic.of_run(case.name, run)
        self._user_model = _within(plan.user_model, traffic)
        self._judge_model = _within(plan.judge_model, traffic)
        self._user = SimulatedUser(_own_copy(case), self._user_model, opening=plan.opening)
        self._conversation = Conversation()
        self._recorded = load_run(plan.traffic, case.name, run) if plan.traffic and plan.traffic.replays else None
        self._session_id = self._recorded.session_id if self._recorded else str(uuid.uuid4())
        self._close_error = ""
        self._agent_task = _AgentTask()
        self._session: Session | None = None

    @property
    def spent(self) -> Spent:
        """What was used of models so far."""
        user, judge = (model.usage if model is not None else Usage() for model in (self._user_model, self._judge_model))
        return Spent(user, judge, self._conversation.usage)

    async def row(self) -> Row:
        """Play the conversation, judge it, and return the row.

        Raises:
            InfrastructureError: something around the agent failed.
            UsageError: a model can't be asked at all.
        """
        try:
            judgement = await self._limited()
        except _AgentFailedError as failed:
            return self._kept(error_row(self._played(), "agent", failed.error, with_traceback=True))
        except (InfrastructureError, UsageError):
            raise
        except Exception as error:  # noqa: BLE001 - what is wrong with one run must not end the others
            return self._kept(error_row(self._played(), "infrastructure", error, with_traceback=True))
        return self._kept(finished_row(self._played(), judgement))

    def error_row(self, error: InfrastructureError) -> Row:
        """Return the row for what happened until something around the agent failed."""
        return self._kept(error_row(self._played(), "infrastructure", error))

    def _kept(self, row: Row) -> Row:
        """Record the run where its traffic is recorded, and return its row."""
        traffic = self._plan.traffic
        if traffic is not None and not traffic.replays:
            recorded = RecordedRun(str(row.data["session_id"]), row.data["duration_s"])
            save_run(traffic, self._case.name, self._run, recorded)
        return Row(row.data | {"close_error": self._close_error}) if self._close_error else row

    def _played(self) -> Played:
        measured = time.monotonic() - self._began
        return Played(
            self._case,
            self._run,
            self._session_id,
            self._conversation,
            self._user.steps,
            self._recorded.duration if self._recorded else measured,
            self.spent,
        )

    async def _limited(self) -> Judgement:
        seconds = self._plan.limits.case
        try:
            async with asyncio.timeout(seconds) as limit:
                return await self._judged()
        except TimeoutError as error:
            if not limit.expired():
                raise
            reason = f"the run was not over within {seconds:g} s; --case-timeout sets the limit"
            raise InfrastructureError(reason) from error

    async def _judged(self) -> Judgement:
        await self._converse()
        if self._judge_model is None:
            return Judgement()
        judge = Judge(self._judge_model, self._plan.judge_votes)
        return await _of_model(judge.judge(self._conversation, self._case.expectations))

    async def _converse(self) -> None:
        try:
            session = await self._of_agent(self._open)
            self._session_id = session.id
            while (turn := await _of_model(self._user.next(self._conversation))) is not None:
                self._conversation.add_user(turn)
                self._add(await self._of_agent(partial(session.send, turn)))
        finally:
            await self._end()

    async def _open(self) -> Session:
        """Begin a session; it is kept at once, to be closed also where nobody waits for it anymore."""
        self._session = await self._plan.agent.open(deepcopy(self._case.session_parameters), self._session_id)
        return self._session

    def _add(self, answer: AgentTurn) -> None:
        try:
            self._conversation.add_agent(answer)
        except Exception as error:  # an agent may give anything in place of a turn
            raise _AgentFailedError(error) from error

    async def _of_agent(self, ask: Callable[[], Awaitable[T]]) -> T:
        """Wait for the agent.

        Raises:
            InfrastructureError: it does not answer in time, or says itself that it can't be reached.
            _AgentFailedError: it raised anything else.
        """
        seconds = self._plan.limits.turn
        try:
            return await self._agent_task.run(ask, seconds)
        except TimeoutError as error:
            reason = f"the agent did not answer within {seconds:g} s; --timeout sets the limit"
            raise InfrastructureError(reason, transient=True) from error

    async def _end(self) -> None:
        """Close the session where one was begun, and end the agent's task."""
        try:
            if self._session is not None:
                await self._close(self._session)
        finally:
            await self._agent_task.end()

    async def _close(self, session: Session) -> None:
        """Let the agent free what the session holds. What goes wrong with that says nothing of the run, but is kept."""
        if self._agent_task.is_lost:
            await self._agent_task.end()
            self._agent_task = _AgentTask()
        try:
            await self._agent_task.run(session.close, _CLOSE_SECONDS)
        except Exception as failed:  # noqa: BLE001 - an agent may raise anything
            error = failed.error if isinstance(failed, _AgentFailedError) else failed
            self._close_error = f"{type(error).__name__}: {printable(str(error), 500)}"


async def _of_model(answer: Awaitable[T]) -> T:
    """Wait for what needs a model. Its requests were tried again already, so the run is not tried again for them."""
    try:
        return await answer
    except InfrastructureError as error:
        if error.transient:
            raise InfrastructureError(error.problem) from error
        raise


def _within(model: ModelClient | None, traffic: RunTraffic | None) -> ModelClient | None:
    return None if model is None else model.within(traffic)


def _own_copy(case: Case) -> Case:
    """Return the case with variables of its own: an agent that changes them must not change those of the next run."""
    steps = tuple(structs.replace(step, inject_variables=deepcopy(step.inject_variables)) for step in case.steps)
    return structs.replace(case, steps=steps, session_parameters=deepcopy(case.session_parameters))
