"""Which expectations are worth having: those that tell wrong runs from right ones, and nothing that others tell too."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from msgspec import Struct

from tracewitness.expectations import CheckSet, Operator, compile_checks
from tracewitness.learning.candidates import FAMILIES
from tracewitness.learning.proposal import Candidate
from tracewitness.trace import Trace

__all__ = ["Chosen", "breaks", "choose", "least", "ranked"]

_RANK: Final = {family: rank for rank, family in enumerate(FAMILIES)}


class Chosen(Struct, frozen=True):
    """A candidate that is worth having.

    Attributes:
        candidate: the candidate.
        kills: the numbers of the wrong runs that it breaks on.
        refutes: the numbers of the recorded bad runs that it breaks on.
        parts: of how many candidates it was made.
    """

    candidate: Candidate
    kills: frozenset[int]
    refutes: frozenset[int] = frozenset()
    parts: int = 1


def breaks(
    operators: Iterable[Operator], traces: Sequence[Trace], aliases: Mapping[str, Sequence[str]] | None = None
) -> list[frozenset[int]]:
    """Return for each check the numbers of the traces that it does not hold on."""
    checks: CheckSet = compile_checks(operators, aliases)
    found: list[list[int]] = [[] for _ in checks.operators]
    for number, trace in enumerate(traces):
        for broken, verdict in zip(found, checks.check(trace), strict=True):
            if not verdict.held:
                broken.append(number)
    return list(map(frozenset, found))


def choose(
    candidates: Sequence[Candidate],
    wrong: Sequence[Trace],
    bad: Sequence[Trace] = (),
    aliases: Mapping[str, Sequence[str]] | None = None,
) -> list[Chosen]:
    """Choose candidates that together break on all wrong runs that any breaks on, the most useful first.

    Arguments:
        candidates: what could be expected.
        wrong: runs that were made wrong.
        bad: recorded bad runs; what breaks on one of these is preferred to all that breaks only on others.
        aliases: for a tool's name, its other names.
    """
    operators = [candidate.operator for candidate in candidates]
    kills, refutes = breaks(operators, wrong, aliases), breaks(operators, bad, aliases)
    pool = [Chosen(*each) for each in zip(candidates, kills, refutes, strict=False)]
    return least(pool)


def least(pool: Sequence[Chosen]) -> list[Chosen]:
    """Return few of a pool that together break on all that the pool breaks on.

    Each next one is that which adds most; then those that the later ones made superfluous are dropped.
    """
    left = sorted(pool, key=lambda each: _RANK[each.candidate.family])
    killed: frozenset[int] = frozenset()
    refuted: frozenset[int] = frozenset()
    chosen: list[Chosen] = []
    while True:
        left = [each for each in left if each.kills - killed or each.refutes - refuted]
        if not left:
            return ranked(_without_superfluous(chosen))
        best = max(left, key=lambda each: (len(each.refutes - refuted), len(each.kills - killed)))
        chosen.append(best)
        killed, refuted = killed | best.kills, refuted | best.refutes


def _without_superfluous(chosen: list[Chosen]) -> list[Chosen]:
    """Drop those whose every kill another has too, the last chosen first."""
    kept = list(chosen)
    for each in reversed(chosen):
        others = [other for other in kept if other is not each]
        killed = frozenset().union(*(other.kills for other in others))
        refuted = frozenset().union(*(other.refutes for other in others))
        if each.kills <= killed and each.refutes <= refuted:
            kept = others
    return kept


def ranked(chosen: Iterable[Chosen]) -> list[Chosen]:
    """Return the most useful first: by the recorded bad runs that they break on, then by the wrong ones."""
    return sorted(chosen, key=lambda each: (-len(each.refutes), -len(each.kills)))
