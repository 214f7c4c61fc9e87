"""How a simulation is to be run, and what can be known of that before the first run."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from msgspec import Struct

from tracewitness.display import printable, show
from tracewitness.errors import InfrastructureError, TracewitnessError, UsageError
from tracewitness.evals.simulation.conversation import Agent
from tracewitness.evals.simulation.failures import named
from tracewitness.evals.simulation.judge import Judge
from tracewitness.evals.simulation.models import ModelClient, Retries
from tracewitness.evals.simulation.traffic import Traffic
from tracewitness.evals.simulation.user import SimulatedUser
from tracewitness.suites import Case, Suite

__all__ = ["CLOSE_SECONDS", "Limits", "Plan", "close", "prepare"]

#: How long an agent may take to free what it, or a session, holds.
CLOSE_SECONDS: Final = 10.0


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
        retries: how often a run is tried again from its beginning where something around the agent failed for the
            moment. No agent tries anything again by itself: what was done twice would be told once.
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

    @property
    def models(self) -> list[ModelClient]:
        """The models, one that plays both parts once."""
        found = [model for model in (self.user_model, self.judge_model) if model is not None]
        return list(dict.fromkeys(found))


async def prepare(suite: Suite, plan: Plan) -> None:
    """Find out what can be known before the first run. Where it can't be run, the agent and the models are closed.

    Raises:
        UsageError: there is nothing to run, or a model is missing, or one can't be asked.
        InfrastructureError: the agent or a model can't be reached.
    """
    try:
        await _prepare(suite, plan)
    except BaseException:
        await close(plan)
        raise


async def _prepare(suite: Suite, plan: Plan) -> None:
    if not suite.cases:
        raise UsageError(f"{suite.source} has no evals, so there is nothing to simulate")
    for case in suite.cases:
        _check_case(case, plan)
    if plan.judge_model is not None:
        Judge(plan.judge_model, plan.judge_votes)
    for model in plan.models:
        await model.prepare()
    await _prepare_agent(plan.agent, plan.limits.turn)


async def _prepare_agent(agent: Agent, seconds: float) -> None:
    name = printable(agent.name)
    try:
        async with asyncio.timeout(seconds):
            await agent.prepare()
    except (TracewitnessError, asyncio.CancelledError, KeyboardInterrupt):
        raise
    except TimeoutError as error:
        reason = f"the agent {name} was not ready within {seconds:g} s; --timeout sets the limit"
        raise InfrastructureError(reason) from error
    except BaseException as error:  # an agent may raise anything
        raise UsageError(f"the agent {name} can't be made ready: {named(error)}") from error


def _check_case(case: Case, plan: Plan) -> None:
    if not case.steps:
        raise UsageError(
            f"the case {show(case.name)} has no steps, so a simulated user has nothing to do; "
            "give it some, or pick others with --name or --tag"
        )
    for number, step in enumerate(case.steps, 1):
        if not any(text.strip() for text in (step.goal, step.success_criteria)) and not step.static_utterance:
            raise UsageError(
                f"step {number} of the case {show(case.name)} says nothing, so any model can call it done; "
                "give it a goal or a static_utterance"
            )
    SimulatedUser(case, plan.user_model, opening=plan.opening)
    if case.expectations and plan.judge_model is None:
        raise UsageError(f"the case {show(case.name)} has expectations for a judge; name its model with --judge-model")


async def close(plan: Plan) -> list[str]:
    """Free what the models and the agent hold, and return what went wrong with that, a line each."""
    parts = [(f"the model {model.name}", model.close) for model in plan.models]
    parts.append((f"the agent {plan.agent.name}", plan.agent.close))
    return [told for name, closing in parts if (told := await _closed(name, closing))]


async def _closed(name: str, closing: Callable[[], Awaitable[None]]) -> str:
    """Return what went wrong with closing something; nothing where it went well."""
    try:
        async with asyncio.timeout(CLOSE_SECONDS):
            await closing()
    except (asyncio.CancelledError, KeyboardInterrupt):
        raise
    except BaseException as error:  # noqa: BLE001 - whatever it is, it says nothing of the runs
        return f"{printable(name)} could not be closed: {named(error)}"
    return ""
