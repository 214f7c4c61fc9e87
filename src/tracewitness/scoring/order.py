"""Whether the calls that stand for the expected ones came in the expected order."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import NamedTuple

from tracewitness.trace import ToolCall

from .alignment import pair_of
from .demands import Demand, Policy, offer_of
from .lineup import Lineup
from .pair import Pair

__all__ = ["out_of_order", "put_in_order"]

Worth = tuple[int, int]
"""What pairs are worth: what is correct, then less what came in vain, the number of things that did."""


class _Chain(NamedTuple):
    """Partners of the first few expected calls, one after the other.

    Attributes:
        worth: what the pairs are worth together.
        place: of the last partner among the calls.
        pair: the last pair; None before the first.
        before: the partners before it.
    """

    worth: Worth
    place: int
    pair: Pair | None
    before: _Chain | None


_START = _Chain((0, 0), -1, None, None)


def out_of_order(pairs: Sequence[Pair]) -> set[int]:
    """Return the positions of the fewest calls without which the rest has the expected order.

    The rest is a longest increasing subsequence of the positions. Source: M. Fredman, On computing the length of
    longest increasing subsequences, Discrete Mathematics 11 (1975).
    """
    positions = [pair.actual.position for pair in pairs]
    ends: list[int] = []  # of the subsequences of each length, the least last position
    lengths = []
    for position in positions:
        length = bisect_left(ends, position)
        ends[length : length + 1] = [position]
        lengths.append(length)
    wanted, early = len(ends) - 1, set()
    for position, length in zip(reversed(positions), reversed(lengths), strict=True):
        if length == wanted:
            wanted -= 1
        else:
            early.add(position)
    return early


def put_in_order(
    aligned: list[Pair | None],
    demands: Sequence[Demand],
    expected: Lineup,
    calls: Sequence[ToolCall],
    made: Lineup,
    policy: Policy,
) -> list[Pair | None]:
    """Return, of the pairings that are as good as a given one, one in the expected order where there is any.

    Pairing does not look at the order: of two calls that suit equally well it may take the one that came too early.
    An expected call has its partner in order only where nothing that suits better came out of order, so that a call
    with other arguments can't stand in for the right one that came too late.

    Arguments:
        aligned, demands, expected, calls, made, policy: what `align` returned, and what it was given.
    """
    pairs = [pair for pair in aligned if pair is not None]
    if len(pairs) < len(aligned) or not out_of_order(pairs):
        return aligned
    chain = _best_in_order(demands, expected, calls, made, policy)
    if chain is None or chain.worth < _sum(pairs):
        return aligned
    return list(reversed(_pairs_of(chain)))


def _sum(pairs: Sequence[Pair]) -> Worth:
    total = _START.worth
    for pair in pairs:
        total = _plus(total, pair)
    return total


def _plus(worth: Worth, pair: Pair) -> Worth:
    correct, not_in_vain = worth
    return correct + pair.correct, not_in_vain + pair.correct - pair.given


def _pairs_of(chain: _Chain) -> list[Pair | None]:
    """Return the pairs of a chain, the last first."""
    pairs: list[Pair | None] = []
    link: _Chain | None = chain
    while link is not None and link.pair is not None:
        pairs.append(link.pair)
        link = link.before
    return pairs


def _best_in_order(
    demands: Sequence[Demand], expected: Lineup, calls: Sequence[ToolCall], made: Lineup, policy: Policy
) -> _Chain | None:
    """Return the partners in order that are worth most, or None where there are too few calls in order."""
    latest = _latest(expected, made)
    if latest is None:
        return None
    chains = [_START]
    for demand, tool, last in zip(demands, expected.tools, latest, strict=True):
        places = made.places[tool]
        chains = _extended(chains, demand, calls, places[: bisect_right(places, last)], policy)
    return max(chains, key=lambda chain: chain.worth, default=None)


def _extended(
    chains: list[_Chain], demand: Demand, calls: Sequence[ToolCall], places: Sequence[int], policy: Policy
) -> list[_Chain]:
    """Give one more expected call a partner, at each of the places where one can be."""
    longer: list[_Chain] = []
    best: _Chain | None = None
    ahead = 0
    for index in places:
        while ahead < len(chains) and chains[ahead].place < index:
            if best is None or chains[ahead].worth > best.worth:
                best = chains[ahead]
            ahead += 1
        if best is not None:
            pair = pair_of(demand, offer_of(calls[index], policy), policy)
            longer.append(_Chain(_plus(best.worth, pair), index, pair, best))
    return longer


def _latest(expected: Lineup, made: Lineup) -> list[int] | None:
    """Return how late the partner of each expected call may come by its tool, so that the later ones find theirs."""
    latest: list[int] = []
    before = len(made.tools)
    for tool in reversed(expected.tools):
        places = made.places.get(tool, ())
        at = bisect_left(places, before) - 1
        if at < 0:
            return None
        before = places[at]
        latest.append(before)
    return latest[::-1]
