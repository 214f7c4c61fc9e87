"""One attempt at a run: a conversation of a simulated user with the agent, and its judgement."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Awaitable, Callable
from copy import deepcopy
from functools import partial
from typing import TypeVar

from msgspec import structs

from tracewitness.errors import AgentError, InfrastructureError, UsageError
from tracewitness.evals.simulation.agent_task import AgentFailedError, AgentTask
from tracewitness.evals.simulation.conversation import AgentTurn, Conversation, Session, Usage
from tracewitness.evals.simulation.failures import AroundAgentError, named
from tracewitness.evals.simulation.judge import Judge, Judgement
from tracewitness.evals.simulation.models import ModelClient
from tracewitness.evals.simulation.plan import CLOSE_SECONDS, Plan
from tracewitness.evals.simulation.recorded_runs import RecordedRun, load_run, save_run
from tracewitness.evals.simulation.results import Played, Row, Spent, error_row, finished_row
from tracewitness.evals.simulation.traffic import RunTraffic
from tracewitness.evals.simulation.user import SimulatedUser
from tracewitness.suites import Case

__all__ = ["Attempt"]

T = TypeVar("T")


class Attempt:
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
        self._late: AgentError | None = None
        self._agent_task = AgentTask()
        self._session: Session | None = None

    @property
    def spent(self) -> Spent:
        """What was used of models so far."""
        user, judge = (model.usage if model else Usage() for model in (self._user_model, self._judge_model))
        return Spent(user, judge, self._conversation.usage)

    @property
    def _models(self) -> list[ModelClient]:
        return [model for model in (self._user_model, self._judge_model) if model is not None]

    async def row(self) -> Row:
        """Play the conversation, judge it, and return the row.

        Raises:
            InfrastructureError: something around the agent failed.
            UsageError: a model can't be asked at all.
        """
        try:
            judgement = await self._limited()
        except AgentFailedError as failed:
            raised = None if isinstance(failed.error, AgentError) else failed.error
            return self._kept(error_row(self._played(), "agent", failed.error, raised))
        except (InfrastructureError, UsageError):
            raise
        except Exception as error:  # noqa: BLE001 - what is wrong with one run must not end the others
            return self._kept(error_row(self._played(), "infrastructure", error, error))
        return self._kept(finished_row(self._played(), judgement))

    def error_row(self, error: InfrastructureError) -> Row:
        """Return the row for what happened until something around the agent failed.

        Where the agent's own code raised it, its traceback says where.
        """
        raised = error.__cause__ if isinstance(error, AroundAgentError) else None
        return self._kept(error_row(self._played(), "infrastructure", error, raised))

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
            trouble = next((model.trouble for model in self._models if model.trouble), "")
            last = f"; the last that failed: {trouble}" if trouble else ""
            reason = f"the run was not over within {seconds:g} s; --case-timeout sets the limit{last}"
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
        if self._late is not None:
            raise AgentFailedError(self._late)

    async def _open(self) -> Session:
        """Begin a session; it is kept at once, to be closed also where nobody waits for it anymore."""
        self._session = await self._plan.agent.open(deepcopy(self._case.session_parameters), self._session_id)
        return self._session

    def _add(self, answer: AgentTurn) -> None:
        try:
            self._conversation.add_agent(answer)
        except Exception as error:  # an agent may give anything in place of a turn
            raise AgentFailedError(error) from error

    async def _of_agent(self, ask: Callable[[], Awaitable[T]]) -> T:
        """Wait for the agent.

        Raises:
            InfrastructureError: it does not answer in time, or what it asks can't be reached.
            AgentFailedError: it raised anything else.
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
        """Let the agent free what the session holds.

        What goes wrong with that says nothing of the run, but is kept: unless it is what the agent did after its last
        turn, which nobody would know of otherwise.
        """
        if self._agent_task.is_lost:
            await self._agent_task.end()
            self._agent_task = AgentTask()
        try:
            await self._agent_task.run(session.close, CLOSE_SECONDS)
        except Exception as failed:  # noqa: BLE001 - an agent may raise anything
            error = failed.error if isinstance(failed, AgentFailedError) else failed
            self._late = error if isinstance(error, AgentError) else None
            self._close_error = named(error, 500)


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
