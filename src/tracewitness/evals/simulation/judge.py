"""The judge: a model that decides expectations in words, on what happened."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from msgspec import Struct

from tracewitness.errors import UsageError
from tracewitness.evals.simulation.conversation import Conversation, Usage
from tracewitness.evals.simulation.models import ModelClient
from tracewitness.evals.simulation.prompts import JUDGE, quoted, transcript
from tracewitness.suites import JudgedExpectation
from tracewitness.trace import Trace

__all__ = ["Judge", "JudgedEntry", "Judgement", "Votes"]


@dataclass
class Opinion:
    """The verdict on one expectation."""

    number: int
    """The number of the expectation."""
    justification: str
    """In one or two sentences, the evidence for the verdict."""
    met: bool
    """Whether the transcript shows that the expectation is met."""

    __pydantic_config__: ClassVar[Mapping[str, Any]] = {"use_attribute_docstrings": True}


@dataclass
class Opinions:
    """One verdict for each expectation."""

    verdicts: list[Opinion]


class Votes(Struct, frozen=True):
    """How the votes on an expectation fell; ``missing`` ones gave no verdict."""

    met: int = 0
    not_met: int = 0
    missing: int = 0

    @property
    def total(self) -> int:
        """How many votes there were."""
        return self.met + self.not_met + self.missing

    def __str__(self) -> str:
        said = f"{self.met} Met, {self.not_met} Not Met"
        return f"{said}, {self.missing} missing" if self.missing else said


class JudgedEntry(Struct, frozen=True):
    """The judgement of one expectation.

    Attributes:
        expectation, title: as in the case.
        status: the majority's verdict; a tie, and what is undecided, is Not Met.
        justification: why; with several votes the split first. It is a model's words, and untrusted.
        votes: the split.
        decided: whether there were verdicts enough to decide.
    """

    expectation: str
    title: str
    status: Literal["Met", "Not Met"]
    justification: str
    votes: Votes
    decided: bool = True


class Judgement(Struct, frozen=True):
    """What a judge decided.

    Attributes:
        entries: one for each expectation, in order.
        usage: what the model was used for.
    """

    entries: tuple[JudgedEntry, ...] = ()
    usage: Usage = Usage()

    @property
    def missing(self) -> int:
        """How many expectations could not be decided since verdicts are missing: the run is inconclusive."""
        return sum(not entry.decided for entry in self.entries)

    @property
    def passed(self) -> bool:
        """Whether all expectations are met."""
        return all(entry.status == "Met" for entry in self.entries)


class Judge:
    """A model as a judge.

    Arguments:
        model: the model.
        votes: how often it is asked, independently; the majority decides, and a tie is Not Met.

    Raises:
        UsageError: there is no vote.
    """

    def __init__(self, model: ModelClient, votes: int = 1) -> None:
        if votes < 1:
            raise UsageError(f"a judge has 1 vote or more, not {votes}; an odd number can't tie")
        self._model = model
        self._votes = votes

    async def judge(self, subject: Conversation | Trace, expectations: Sequence[JudgedExpectation]) -> Judgement:
        """Judge what happened by each expectation.

        Arguments:
            subject: what happened: messages, calls and results.
            expectations: what is expected. Without any, no model is asked.

        Raises:
            InfrastructureError: the model could not be asked.
        """
        if not expectations:
            return Judgement()
        trace = subject.trace("") if isinstance(subject, Conversation) else subject
        events = transcript(trace)
        voting = (self._vote(events, expectations, number) for number in range(1, self._votes + 1))
        # All are waited for, so that where one fails none goes on behind the caller's back.
        cast = await asyncio.gather(*voting, return_exceptions=True)
        ballots = [_raised(ballot) for ballot in cast]
        entries = (
            _entry(expectation, [ballot.opinions.get(number) for ballot in ballots])
            for number, expectation in enumerate(expectations, 1)
        )
        return Judgement(tuple(entries), sum((ballot.usage for ballot in ballots), Usage()))

    async def _vote(self, events: list[Any], expectations: Sequence[JudgedExpectation], vote: int) -> _Ballot:
        """Ask for a verdict on each expectation, and once more for those that got none."""
        numbered = dict(enumerate(expectations, 1))
        ballot = await self._ask(events, numbered, f"judge vote {vote}")
        left = {number: numbered[number] for number in numbered if number not in ballot.opinions}
        if not left:
            return ballot
        again = await self._ask(events, left, f"judge vote {vote} again")
        return _Ballot(ballot.opinions | again.opinions, ballot.usage + again.usage)

    async def _ask(self, events: list[Any], numbered: Mapping[int, JudgedExpectation], purpose: str) -> _Ballot:
        asked = [{"number": number, "expectation": each.expectation} for number, each in numbered.items()]
        prompt = quoted({"expectations": asked, "transcript": events})
        answer = await self._model.ask(JUDGE, prompt, Opinions, purpose)
        return _Ballot(_usable(answer.output.verdicts, numbered), answer.usage)


class _Ballot(Struct, frozen=True):
    """The verdicts of one vote, by the number of the expectation."""

    opinions: dict[int, Opinion]
    usage: Usage


def _raised(ballot: _Ballot | BaseException) -> _Ballot:
    if isinstance(ballot, BaseException):
        raise ballot
    return ballot


def _usable(opinions: Sequence[Opinion], asked: Mapping[int, JudgedExpectation]) -> dict[int, Opinion]:
    """Return the verdicts by number. Of an expectation that got two there is no telling which one counts."""
    counts = Counter(opinion.number for opinion in opinions)
    return {each.number: each for each in opinions if each.number in asked and counts[each.number] == 1}


def _entry(expectation: JudgedExpectation, opinions: Sequence[Opinion | None]) -> JudgedEntry:
    """Count the votes on an expectation. It is undecided where those that are missing could have made it met."""
    given = [opinion for opinion in opinions if opinion is not None]
    in_favour = sum(opinion.met for opinion in given)
    votes = Votes(in_favour, len(given) - in_favour, len(opinions) - len(given))
    met = in_favour * 2 > len(opinions)
    decided = met or (in_favour + votes.missing) * 2 <= len(opinions)
    return JudgedEntry(
        expectation.expectation,
        expectation.title,
        "Met" if met else "Not Met",
        _justification(given, votes, met=met, decided=decided),
        votes,
        decided,
    )


def _justification(given: Sequence[Opinion], votes: Votes, *, met: bool, decided: bool) -> str:
    """Return the words of the first vote on each side, the deciding one first; of several votes after the split."""
    if not given:
        return "The judge gave no verdict."
    words = {side: _words(given, side) for side in (met, not met) if any(each.met is side for each in given)}
    if votes.total == 1:
        return words[met]
    why = "" if decided else " Too many verdicts are missing to decide."
    if votes.met == votes.not_met and not votes.missing:
        why = " A tie is Not Met."
    sides = (f" {'Met' if side else 'Not Met'}: {said}" for side, said in words.items())
    return f"{votes}.{why}{''.join(sides)}"


def _words(given: Sequence[Opinion], side: bool) -> str:
    """Return the reason of the first vote on a side that gives one."""
    reasons = (each.justification.strip() for each in given if each.met is side)
    return next(filter(None, reasons), "The judge gave no reason.")
