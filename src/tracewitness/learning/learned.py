"""Learn from good runs of one case which expectations are worth having."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from tracewitness.errors import UsageError
from tracewitness.expectations import ArgsFrom, EveryCall
from tracewitness.learning.bounds import bound_of_all, bound_of_one
from tracewitness.learning.candidates import candidates
from tracewitness.learning.proposal import Candidate, without_secrets
from tracewitness.learning.ranking import Chosen, breaks, choose, ranked
from tracewitness.mutation import NOTHING, Declared, mutants, shares
from tracewitness.redaction import Redaction
from tracewitness.trace import Trace

__all__ = ["Learned", "learn"]


class Learned(Struct, frozen=True):
    """What was learned of a case.

    Attributes:
        runs: how many good runs there were.
        checks: the expectations, the most useful first.
        considered: of how many expectations they were chosen, those that some run refutes included.
        wrong: how many wrong runs were made of the good ones.
        bad: how many recorded bad runs there were.
        withheld: how many expectations were left out, since a secret would have stood in them.
        left_out: on how many good runs the checks broke that were learned from the others, and how many runs that is.
    """

    runs: int
    checks: tuple[Chosen, ...]
    considered: int
    wrong: int
    bad: int = 0
    withheld: int = 0
    left_out: tuple[int, int] = (0, 0)

    @property
    def killed(self) -> frozenset[int]:
        """The numbers of the wrong runs that some check breaks on."""
        return frozenset().union(*(chosen.kills for chosen in self.checks))

    @property
    def refuted(self) -> frozenset[int]:
        """The numbers of the bad runs that some check breaks on."""
        return frozenset().union(*(chosen.refutes for chosen in self.checks))

    @property
    def bound(self) -> float:
        """How often at least one of the checks breaks on good runs at most, at 95 %; see `bound_of_all`."""
        deciding = sum(chosen.candidate.deciding for chosen in self.checks)
        parts = sum(chosen.parts for chosen in self.checks)
        return bound_of_all(self.runs, min(deciding, self.runs), parts, max(parts, self.considered))

    def bound_of(self, chosen: Chosen) -> float:
        """How often this check alone breaks on good runs at most, at 95 %; see `bound_of_one`."""
        return bound_of_one(self.runs, min(chosen.candidate.deciding, self.runs))


def learn(
    traces: Sequence[Trace],
    *,
    bad: Sequence[Trace] = (),
    most: int = 1000,
    seed: int = 0,
    declared: Declared = NOTHING,
    aliases: Mapping[str, Sequence[str]] | None = None,
    redaction: Redaction | None = None,
    folds: int = 10,
) -> Learned:
    """Propose expectations that hold on all good runs of a case and tell wrong ones.

    Arguments:
        traces: the good runs. Each must be whole: a recording with problems shows nothing to rely on.
        bad: recorded bad runs; expectations that break on these are preferred.
        most: how many wrong runs are made of the good ones, at most.
        seed: decides which, where there are more.
        declared: what is known of the tools.
        aliases: for a tool's name, its other names.
        redaction: no expectation is proposed in which this would hide something; by default, known secrets.
        folds: into how many parts the runs are divided to see what each does to checks learned from the others; 0 for
            none.

    Raises:
        UsageError: there is no run, or one has problems or is no evidence.

    >>> run = Trace.from_events([{"call": "order", "args": {"item": "A12"}}, {"result": "done"}])
    >>> [chosen.candidate.operator for chosen in learn([run, run]).checks][0]
    EveryCall(tool='order', args=Exactly({'item': IsType('string')}))
    """
    if not traces:
        raise UsageError("there is no good run to learn from")
    for trace in traces:
        if trace.no_evidence is not None or trace.problems:
            problem = trace.no_evidence or trace.problems[0]
            raise UsageError(f"nothing can be learned from a run that is not wholly understood: {problem}")
    settings = _Settings(bad, most, seed, declared, aliases, Redaction() if redaction is None else redaction)
    return replace(settings.learned(traces), left_out=settings.left_out(traces, folds))


class _Settings(Struct, frozen=True):
    """How is learned, whatever the runs."""

    bad: Sequence[Trace]
    most: int
    seed: int
    declared: Declared
    aliases: Mapping[str, Sequence[str]] | None
    redaction: Redaction

    def learned(self, traces: Sequence[Trace]) -> Learned:
        """Learn from good runs."""
        found, considered = candidates(traces, self.aliases)
        shown = without_secrets(found, self.redaction)
        wrong = _wrong(traces, self.most, self.seed, self.declared)
        checks = _merged(choose(shown, wrong, self.bad, self.aliases))
        withheld = len(found) - len(shown)
        return Learned(len(traces), tuple(checks), considered, len(wrong), len(self.bad), withheld)

    def left_out(self, traces: Sequence[Trace], folds: int) -> tuple[int, int]:
        """Learn from all but some runs and check these, until each was left out once; count those that broke."""
        parts = min(folds, len(traces))
        if parts < 2:
            return 0, 0
        broken = 0
        for part in range(parts):
            others = [trace for number, trace in enumerate(traces) if number % parts != part]
            operators = [chosen.candidate.operator for chosen in self.learned(others).checks]
            broken += len(frozenset().union(*breaks(operators, traces[part::parts], self.aliases)))
        return broken, len(traces)


def _wrong(traces: Sequence[Trace], most: int, seed: int, declared: Declared) -> list[Trace]:
    """Make wrong runs, of each good one as many."""
    made = []
    for trace, share in zip(traces, shares(most, len(traces)), strict=True):
        made += [each.trace for each in mutants(trace, most=share, seed=seed, declared=declared) if not each.same_as]
    return made


def _merged(chosen: Iterable[Chosen]) -> list[Chosen]:
    """Make one check of those that say something of different arguments of one tool."""
    merged: dict[Any, Chosen] = {}
    for number, each in enumerate(chosen):
        operator = each.candidate.operator
        is_open = isinstance(operator, (ArgsFrom, EveryCall)) and isinstance(operator.args, dict)
        key = (operator.type_name, operator.named_tools[0]) if is_open else number
        merged[key] = each if key not in merged else _both(merged[key], each)
    return ranked(merged.values())


def _both(one: Chosen, other: Chosen) -> Chosen:
    operator: Any = one.candidate.operator
    further: Any = other.candidate.operator
    args = {**further.args, **operator.args}
    families = dict.fromkeys((*one.candidate.family.split(", "), *other.candidate.family.split(", ")))
    candidate = Candidate(
        ", ".join(families),
        type(operator)(operator.tool, args),
        one.candidate.deciding + other.candidate.deciding,
        one.candidate.speaks,
    )
    return Chosen(candidate, one.kills | other.kills, one.refutes | other.refutes, one.parts + other.parts)
