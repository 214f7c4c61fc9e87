"""The simulated user: it pursues the steps of a case, one after the other, with what it is told aloud."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Literal

from msgspec import Struct

from tracewitness.display import show
from tracewitness.errors import UsageError
from tracewitness.evals.simulation.conversation import Conversation, Usage, UserTurn
from tracewitness.evals.simulation.models import ModelClient
from tracewitness.evals.simulation.prompts import USER, quoted
from tracewitness.suites import Case, Step

__all__ = ["MOST_TURNS", "SimulatedUser", "StepProgress", "StepStatus"]

MOST_TURNS: Final = 30

StepStatus = Literal["not_started", "in_progress", "completed", "failed"]


class StepProgress(Struct):
    """How far the user got with a step.

    Attributes:
        goal, success_criteria, static_utterance: as in the step.
        status: what became of it.
        justification: why, in the words of the user's model or of this library; a model's words are untrusted.
        turns: how many turns it took.
    """

    goal: str
    success_criteria: str
    static_utterance: str = ""
    status: StepStatus = "not_started"
    justification: str = ""
    turns: int = 0


@dataclass
class Decision:
    """What you make of the conversation, and what you say next."""

    justification: str
    """In one sentence, what in the conversation meets the success criteria, or what is still missing."""
    completed: bool
    """Whether what was said meets the success criteria."""
    words: str
    """What you say next, word for word; empty if there is nothing to say."""

    __pydantic_config__: ClassVar[Mapping[str, Any]] = {"use_attribute_docstrings": True}


class SimulatedUser:
    """A user with goals. It hears what the agent says, and never what it calls.

    A step is done where its criteria are met by what was said, in the judgement of the user's model, or where its
    static utterance was said; never because the session ended. A later goal is told to the model, and so to the agent,
    only after the steps before it are done or failed.

    Arguments:
        case: the case, with its steps and session parameters.
        model: who speaks for the user; a case of static utterances alone needs none.
        opening: what is said before the first step, such as ``event: welcome``; None where the user speaks first.
        max_turns: how often the user speaks at the most; None for the case's own limit, or else 30.

    Attributes:
        steps: how far each step got.
        usage: what the model was used for.

    Raises:
        UsageError: the case has a goal, and there is no model to pursue it.
    """

    def __init__(
        self,
        case: Case,
        model: ModelClient | None,
        *,
        opening: str | None = None,
        max_turns: int | None = None,
    ) -> None:
        if model is None:
            _refuse_goals(case)
        self._case = case
        self._model = model
        self._opening = opening
        self._max_turns = max_turns or case.max_turns or MOST_TURNS
        self._current = 0
        self.usage = Usage()
        self.steps = [StepProgress(step.goal, step.success_criteria, step.static_utterance) for step in case.steps]

    async def next(self, conversation: Conversation) -> UserTurn | None:
        """Return what the user says next; None where it has nothing more to say, or can't say any more.

        Call it after the session ended too, and after the last turn: only then what was said last counts.

        Raises:
            InfrastructureError: the model could not be asked.
        """
        over = conversation.ended or conversation.turns >= self._max_turns
        if self._opening is not None and not conversation.turns:
            return self._turn(conversation, self._opening)
        while self._current < len(self.steps):
            step, progress = self._case.steps[self._current], self.steps[self._current]
            if step.static_utterance:
                return None if over else self._say_static(conversation, step, progress)
            words = await self._pursue(conversation, step, progress, over)
            if progress.status not in ("completed", "failed"):
                return self._turn(conversation, words, step, progress) if words else None
            self._current += 1
        return None

    def _say_static(self, conversation: Conversation, step: Step, progress: StepProgress) -> UserTurn:
        progress.status = "completed"
        progress.justification = "The utterance was said as it is."
        self._current += 1
        return self._turn(conversation, step.static_utterance, step, progress)

    async def _pursue(self, conversation: Conversation, step: Step, progress: StepProgress, over: bool) -> str:
        """Enter how far a step got with what was said so far, and return what to say next: nothing if it is over."""
        if over and not _agent_spoke(conversation):
            return ""
        decision = await self._decide(conversation, step, over)
        progress.justification = decision.justification
        if decision.completed:
            progress.status = "completed"
        elif step.max_turns and progress.turns >= step.max_turns:
            progress.status = "failed"
            progress.justification = f"Not reached within {step.max_turns} turns. {decision.justification}".rstrip()
        elif progress.turns or not over:
            progress.status = "in_progress"
        return "" if over else decision.words.strip()

    async def _decide(self, conversation: Conversation, step: Step, over: bool) -> Decision:
        """Ask the model whether a step is done, and what to say if it isn't."""
        assert self._model is not None  # noqa: S101 - without a model there are no goals
        prompt = quoted(
            {
                "conversation": [{speaker: words} for speaker, words in conversation.heard()],
                "goal": step.goal,
                "success_criteria": step.success_criteria,
                "response_guide": step.response_guide,
                "over": over,
            }
        )
        check = None if _agent_spoke(conversation) else _nothing_is_done_yet
        answer = await self._model.ask(USER, prompt, Decision, f"user turn {conversation.turns + 1}", check)
        self.usage += answer.usage
        return answer.output

    def _turn(
        self, conversation: Conversation, words: str, step: Step | None = None, progress: StepProgress | None = None
    ) -> UserTurn:
        """Return a turn with the variables that belong to it: the session's with the first, a step's with its first."""
        variables = {} if conversation.turns else dict(self._case.session_parameters)
        if step is not None and progress is not None:
            variables |= {} if progress.turns else step.inject_variables
            progress.turns += 1
        return UserTurn(words, variables)


def _refuse_goals(case: Case) -> None:
    for number, step in enumerate(case.steps, 1):
        if not step.static_utterance:
            reason = f"step {number} of the case {show(case.name)} has a goal, and no model is there to pursue it"
            raise UsageError(f"{reason}; name one with --user-model, or give the step a static_utterance")


def _agent_spoke(conversation: Conversation) -> bool:
    return any(speaker == "agent" for speaker, _ in conversation.heard())


def _nothing_is_done_yet(decision: Decision) -> str | None:
    """Say what is wrong with an answer before the agent said anything."""
    if decision.completed or not decision.words.strip():
        return 'The agent said nothing yet: "completed" is false, and "words" is what you begin with.'
    return None
