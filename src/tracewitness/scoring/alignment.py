"""Which actual call stands for which expected one: one to one, exactly, at every size."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence

from tracewitness.trace import ToolCall

from .demands import Demand, Offer, Policy, compare, offer_of, strange_names
from .lineup import Lineup
from .network import pair_by_flow
from .pair import Pair
from .things import Things

__all__ = ["align", "pair_of"]

Pairs = list[tuple[int, int]]
"""Indexes of an expected and an actual call."""


def align(
    demands: Sequence[Demand], expected: Lineup, calls: Sequence[ToolCall], made: Lineup, policy: Policy
) -> list[Pair | None]:
    """Give the expected calls partners of the same tool: the most pairs, and of these the most that is correct.

    Of pairings that tie, the one is taken in which the fewest things came in vain; of those that tie still, the one
    with the fewest arguments under names that are not expected.

    Arguments:
        demands: what is expected, and ``expected`` its tools.
        calls: what was called, and ``made`` its tools.
        policy: how values are compared.

    Returns the pair of each expected call, or None.
    """
    pairs: list[Pair | None] = [None] * len(demands)
    for tool, wanted in expected.places.items():
        called = made.places.get(tool)
        if called is None:
            continue
        if len(wanted) == len(called) == 1:
            pairs[wanted[0]] = pair_of(demands[wanted[0]], offer_of(calls[called[0]], policy), policy)
            continue
        left = [demands[index] for index in wanted]
        right = [offer_of(calls[index], policy) for index in called]
        for one, other in _paired(left, right, policy):
            pairs[wanted[one]] = pair_of(left[one], right[other], policy)
    return pairs


def pair_of(demand: Demand, offer: Offer, policy: Policy) -> Pair:
    """Pair an expected call with an actual one."""
    counts = compare(demand, offer, policy)
    return Pair(demand.call, offer.call, policy.name, counts.correct, counts.given, len(demand.wanted))


def _paired(demands: list[Demand], offers: list[Offer], policy: Policy) -> Pairs:
    """Pair the calls of one tool."""
    in_order = _perfect_in_order(demands, offers, policy)
    if in_order is not None:
        return in_order
    fixed: Pairs = []
    if all(demand.plain or not demand.checked for demand in demands):
        fixed = _perfect_anywhere(demands, offers)
    left, right = _without(demands, [one for one, _ in fixed]), _without(offers, [other for _, other in fixed])
    rest = _pair_rest([demands[one] for one in left], [offers[other] for other in right], policy)
    return fixed + [(left[one], right[other]) for one, other in rest]


def _perfect_in_order(demands: list[Demand], offers: list[Offer], policy: Policy) -> Pairs | None:
    """Pair every expected call with one that meets it perfectly, in order; None where that can't be.

    There is no better pairing, since nobody can have a better partner.
    """
    pairs: Pairs = []
    ahead = iter(enumerate(offers))
    for one, demand in enumerate(demands):
        for other, offer in ahead:
            if _is_perfect(demand, offer, policy):
                pairs.append((one, other))
                break
        else:
            return None
    return pairs


def _is_perfect(demand: Demand, offer: Offer, policy: Policy) -> bool:
    if demand.plain:
        return demand.wanted == offer.given
    counts = compare(demand, offer, policy)
    return len(demand.wanted) == counts.correct == counts.given


def _perfect_anywhere(demands: list[Demand], offers: list[Offer]) -> Pairs:
    """Pair expected calls with actual ones that have the same arguments, wherever they are.

    This loses nothing where all that is demanded is plain arguments, or nothing at all. Let e and a have the same
    arguments, and let a best pairing have (e, b) and (d, a) instead. Equality under a policy is an equivalence
    relation, so an argument that d has in common with a and b has in common with e = a is common to d and b as well:
    correct(d, b) >= correct(d, a) + correct(e, b) - correct(e, a). Hence (e, a) and (d, b) have as much that is
    correct; then what came is the same, so as much came in vain; and of the names that are not expected,
    |b - d| <= |b - e| + |a - d|. Where d demands nothing, or e or a has no partner, taking (e, a) only adds to what
    is correct, since nothing suits e or a better. So some best pairing has (e, a), and what is left is a smaller
    problem of the same kind.
    """
    same: dict[Hashable, list[int]] = {}
    for other in range(len(offers) - 1, -1, -1):
        given = offers[other].given
        if given is not None:
            same.setdefault(frozenset(given.items()), []).append(other)
    pairs: Pairs = []
    for one, demand in enumerate(demands):
        if demand.plain:
            waiting = same.get(frozenset(demand.wanted.items()))
            if waiting:
                pairs.append((one, waiting.pop()))
    return pairs


def _without(items: Sequence[object], taken: Iterable[int]) -> list[int]:
    """Return the indexes of the items that are not taken."""
    gone = set(taken)
    return [index for index in range(len(items)) if index not in gone]


def _pair_rest(demands: list[Demand], offers: list[Offer], policy: Policy) -> Pairs:
    """Pair what has no perfect partner."""
    if len(demands) < 2 or len(offers) < 2:
        return _pair_one(demands, offers, policy)
    things = Things(demands, offers, policy)
    apart = things.pairs_apart()
    left, right = _without(demands, [one for one, _ in apart]), _without(offers, [other for _, other in apart])
    if len(left) < 2 or len(right) < 2:
        rest = _pair_one([demands[one] for one in left], [offers[other] for other in right], policy)
    else:
        wanted = [(demands[one].shape, things.wanted[one]) for one in left]
        rest = pair_by_flow(wanted, [(offers[other].shape, things.found[other]) for other in right], things)
    return apart + [(left[one], right[other]) for one, other in rest]


def _pair_one(demands: list[Demand], offers: list[Offer], policy: Policy) -> Pairs:
    """Pair calls of which there is one at most on one of the sides."""
    pairs = [(one, other) for one in range(len(demands)) for other in range(len(offers))]
    if len(pairs) < 2:
        return pairs
    return [min(pairs, key=lambda pair: _badness(demands[pair[0]], offers[pair[1]], policy))]


def _badness(demand: Demand, offer: Offer, policy: Policy) -> tuple[int, int, int]:
    counts = compare(demand, offer, policy)
    return -counts.correct, counts.given - counts.correct, strange_names(demand.shape, offer.shape)
