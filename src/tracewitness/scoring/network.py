"""The calls of one tool as a network in which the cheapest flow is the best pairing.

There are up to as many pairs as the product of both sides, too many to be written down. Most of them are told apart
by little, so three things make the network small, and none of them changes what is best:

1. Only what is demanded *and* came counts. Calls that are alike in that are one node with several units.
2. What few calls have in common (an id) makes an arc from each expected to each actual call that share it, at what
   that pair costs.
3. What many have in common (a page size) makes hubs: one for each set of such things that are demanded together.
   Whoever demands the things of a hub has an arc to it, whoever brings them has one from it. A pair then goes by the
   hub of all that it has in common; by the hubs of less it would cost more, so that the cheapest way tells its cost.
   The hub of nothing joins every expected call to every actual one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, combinations, product
from typing import Final, TypeVar

from .demands import DemandShape, OfferShape, SlotName, count, strange_names
from .flow import Arc, cheapest_flow
from .things import Things

__all__ = ["DemandKind", "OfferKind", "pair_by_flow"]

DemandKind = tuple[DemandShape, tuple[int, ...]]
"""What a demand speaks of, and the things that it wants."""
OfferKind = tuple[OfferShape, tuple[int, ...]]
"""What a call brings, and the things that it has."""
Kind = TypeVar("Kind", bound=Hashable)
Shape = TypeVar("Shape", bound=Hashable)

_MOST_HUB_SLOTS: Final = 12  # a call has a hub for each subset, so that more would be thousands


def pair_by_flow(demands: Sequence[DemandKind], offers: Sequence[OfferKind], things: Things) -> list[tuple[int, int]]:
    """Pair the calls of one tool, exactly.

    Returns the pairs as indexes of a demand and an offer.
    """
    left, right = _grouped(demands), _grouped(offers)
    network = _Network(list(left), list(right), things, min(len(demands), len(offers)))
    supply = {node: len(group) for node, group in enumerate(left.values())}
    room = {node: len(group) for node, group in enumerate(right.values(), len(left))}
    inflow = cheapest_flow(network.arcs, supply, room)
    return list(_unravelled(inflow, list(left.values()), list(right.values())))


def _grouped(kinds: Iterable[Kind]) -> dict[Kind, list[int]]:
    """Group indexes by kind, kinds in the order in which they come first."""
    groups: dict[Kind, list[int]] = {}
    for index, kind in enumerate(kinds):
        groups.setdefault(kind, []).append(index)
    return groups


class _Network:
    """The arcs between kinds of calls; the demands' nodes come first, then the offers', then what joins them.

    Arguments:
        units: how many pairs there will be.

    Attributes:
        arcs: for each node, where they lead and what they cost.
    """

    def __init__(self, left: Sequence[DemandKind], right: Sequence[OfferKind], things: Things, units: int) -> None:
        self._left, self._right, self._things = left, right, things
        self._owners: list[list[int]] = [[] for _ in things.slots]
        for index, (_, found) in enumerate(right):
            for thing in found:
                self._owners[thing].append(index)
        self._cost = _Cost(left, right, things, units)
        self.arcs: list[list[Arc]] = [[] for _ in range(len(left) + len(right))]
        by_hubs, directly = self._divided()
        if directly:
            self._join_pairs(directly)
        self._join_hubs(by_hubs)

    def _divided(self) -> tuple[set[SlotName], set[SlotName]]:
        """Choose the slots whose things go by hubs: as many of those with the most pairs as make the fewest arcs.

        Returns these slots, and those whose things make arcs from call to call.
        """
        slots, pairs = self._things.slots, Counter[SlotName]()
        for _, wanted in self._left:
            for thing in wanted:
                pairs[slots[thing]] += len(self._owners[thing])
        shapes = len({shape for shape, _ in self._right})
        most, rest = len(self._left) * len(self._right), pairs.total()
        fewest, chosen = min(rest, most), 0
        ordered = sorted(pairs, key=lambda slot: -pairs[slot])
        for number, slot in enumerate(ordered[:_MOST_HUB_SLOTS], 1):
            rest -= pairs[slot]
            arcs = min(rest, most) + ((len(self._left) * shapes + len(self._right)) << number)
            if arcs < fewest:
                fewest, chosen = arcs, number
        return set(ordered[:chosen]), set(ordered[chosen:])

    def _join_pairs(self, directly: Collection[SlotName]) -> None:
        """Join each expected call with the actual calls that have in common with it what does not go by hubs."""
        slots, right, first = self._things.slots, self._right, len(self._left)
        sets = [frozenset(found) for _, found in right]
        for node, (shape, wanted) in enumerate(self._left):
            owners = [self._owners[thing] for thing in wanted if slots[thing] in directly]
            mine, arcs = frozenset(wanted), self.arcs[node]
            for index in dict.fromkeys(chain.from_iterable(owners)):
                arcs.append((first + index, self._cost.of(shape, right[index][0], mine & sets[index])))

    def _join_hubs(self, by_hubs: Collection[SlotName]) -> None:
        """Join everybody with everybody by what goes by hubs. Calls that are alike in that share the way to hubs."""
        demands = self._alike(self._left, by_hubs)
        offers = self._alike(self._right, by_hubs)
        hubs = self._join_hubs_to_offers(offers, set(chain.from_iterable(_subsets(things) for _, things in demands)))
        shapes = dict.fromkeys(shape for shape, _ in offers)
        for (shape, things), members in demands.items():
            start = self._common_node(members)
            if len(members) > 1:
                for member in members:
                    self.arcs[member].append((start, 0))
            for hub_kind in product(shapes, _subsets(things)):
                hub = hubs.get(hub_kind)
                if hub is not None:
                    self.arcs[start].append((hub, self._cost.of(shape, *hub_kind)))

    def _join_hubs_to_offers(
        self, offers: Mapping[OfferKind, list[int]], demanded: Collection[tuple[int, ...]]
    ) -> dict[OfferKind, int]:
        """Make the hubs for what is demanded together, and join them with the calls that have it."""
        hubs: dict[OfferKind, int] = {}
        for (shape, things), members in offers.items():
            nodes = [len(self._left) + member for member in members]
            end = self._common_node(nodes)
            if len(nodes) > 1:
                self.arcs[end] = [(node, 0) for node in nodes]
            for part in _subsets(things):
                if part in demanded:
                    if (shape, part) not in hubs:
                        hubs[shape, part] = self._new_node()
                    self.arcs[hubs[shape, part]].append((end, 0))
        return hubs

    def _alike(
        self, kinds: Sequence[tuple[Shape, tuple[int, ...]]], by_hubs: Collection[SlotName]
    ) -> dict[tuple[Shape, tuple[int, ...]], list[int]]:
        """Group kinds that are alike in what goes by hubs."""
        slots = self._things.slots
        return _grouped(
            [(shape, tuple([thing for thing in things if slots[thing] in by_hubs])) for shape, things in kinds]
        )

    def _common_node(self, nodes: Sequence[int]) -> int:
        return nodes[0] if len(nodes) == 1 else self._new_node()

    def _new_node(self) -> int:
        self.arcs.append([])
        return len(self.arcs) - 1


def _subsets(things: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    return chain.from_iterable(combinations(things, size) for size in range(len(things) + 1))


class _Cost:
    """What pairs cost: as one number, since of many sums the least is wanted by several criteria, one after another.

    The first is how many demands are not met, the second how many things came in vain, the third, which never changes
    a score, how many arguments have names that are not expected. A criterion's total is always less than the scale.
    """

    def __init__(self, left: Sequence[DemandKind], right: Sequence[OfferKind], things: Things, units: int) -> None:
        self._slots, self._optional = things.slots, things.optional
        self._most = max(len(wanted) for _, wanted in left)
        most_came = max(len(shape.names or ()) for shape, _ in right) + self._most + 2
        self._scale = units * most_came + 1
        self._known: dict[tuple[DemandShape, OfferShape, int, int], int] = {}

    def of(self, demand: DemandShape, offer: OfferShape, shared: Collection[int]) -> int:
        """Return what a pair costs that has so much in common."""
        absent = 0
        if self._optional and offer.names is not None:
            absent = sum([self._slots[thing] not in offer.names for thing in self._optional.intersection(shared)])
        key = demand, offer, len(shared), absent
        cost = self._known.get(key)
        if cost is None:
            counts = count(demand, offer, len(shared), absent)
            missed, vain = self._most - counts.correct, counts.given - counts.correct
            cost = self._known[key] = (missed * self._scale + vain) * self._scale + strange_names(demand, offer)
        return cost


def _unravelled(
    inflow: Sequence[dict[int, int]], left: Sequence[list[int]], right: Sequence[list[int]]
) -> Iterator[tuple[int, int]]:
    """Follow every unit back from where it ended to where it started. The flow is used up."""
    starts = [iter(members) for members in left]
    for end, members in enumerate(right, len(left)):
        for other in members[: sum(inflow[end].values())]:
            node = end
            while node >= len(left):
                node = _step_back(inflow[node])
            yield next(starts[node]), other


def _step_back(came: dict[int, int]) -> int:
    before = next(iter(came))
    came[before] -= 1
    if not came[before]:
        del came[before]
    return before
