"""What the demands on one tool and the calls to it have in common."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from itertools import chain

from .demands import Condition, Demand, Offer, Policy, Slot, SlotName, result_keys
from .keys import Odd

__all__ = ["Things"]


class Things:
    """The different things that are demanded, by number, and which of them each call has.

    A thing is a value in a slot, or what a condition holds for. A call meets a demand as far as they share things.

    Arguments:
        demands: what is expected of one tool.
        offers: the calls to it.
        policy: how values are compared.

    Attributes:
        slots: for each thing, what it is demanded of.
        wanted: for each demand, the things of it that any call has.
        found: for each call, the things that it has.
        optional: the things that an argument's absence may be.
    """

    def __init__(self, demands: Sequence[Demand], offers: Sequence[Offer], policy: Policy) -> None:
        self._policy = policy
        self._numbers: dict[tuple[SlotName, Hashable], int] = {}
        self._conditions: list[tuple[int, Condition]] = []
        self._values: dict[SlotName, list[tuple[int, Demand]]] = {}
        self.slots: list[SlotName] = []
        wanted = [self._wanted_by(demand) for demand in demands]
        self.found = [self._found_in(offer) for offer in offers]
        came = set(chain.from_iterable(self.found))
        self.wanted = [tuple(sorted(came.intersection(things))) for things in wanted]
        self.optional = frozenset(number for number, condition in self._conditions if condition.optional)

    def _wanted_by(self, demand: Demand) -> list[int]:
        numbers = self._numbers
        things = []
        for item in demand.wanted.items():
            number = numbers.get(item)
            if number is None:
                number = numbers[item] = len(self.slots)
                self.slots.append(item[0])
                self._keep(number, item, demand)
            things.append(number)
        return things

    def _keep(self, number: int, item: tuple[SlotName, Hashable], demand: Demand) -> None:
        slot, want = item
        if isinstance(want, Condition):
            self._conditions.append((number, want))
        elif slot in self._values:
            self._values[slot].append((number, demand))
        else:
            self._values[slot] = [(number, demand)]

    def _found_in(self, offer: Offer) -> tuple[int, ...]:
        numbers, given = self._numbers, offer.given or {}
        found = [number for item in given.items() if (number := numbers.get(item)) is not None]
        if self._conditions or Slot.RESULT in self._values or Odd in map(type, given.values()):
            found = list({*found, *self._tried(offer)})
        found.sort()
        return tuple(found)

    def _tried(self, offer: Offer) -> Iterator[int]:
        """Find what takes more than a look at the keys of arguments."""
        for number, condition in self._conditions:
            if condition.holds(offer.call):
                yield number
        for slot, key in (offer.given or {}).items():
            if key.__class__ is Odd:
                yield from self._tried_value(slot, offer)
        if Slot.RESULT in self._values:
            yield from self._results(offer)

    def _results(self, offer: Offer) -> Iterator[int]:
        for key in result_keys(offer.call, self._policy):
            if (Slot.RESULT, key) in self._numbers:
                yield self._numbers[Slot.RESULT, key]
            elif key.__class__ is Odd:
                yield from self._tried_value(Slot.RESULT, offer)

    def _tried_value(self, slot: SlotName, offer: Offer) -> Iterator[int]:
        """Try a value without a key on every plain value that is demanded there."""
        for number, demand in self._values.get(slot, ()):
            if Condition(slot, demand.value_of(slot), self._policy).holds(offer.call):
                yield number

    def pairs_apart(self) -> list[tuple[int, int]]:
        """Return the demands and calls that have something in common with each other, and with nobody else.

        They belong together: if one had another partner, nothing of that pair would be right.
        """
        wanting, having = self._only(self.wanted), self._only(self.found)
        pairs = []
        for one, things in enumerate(self.wanted):
            others = {having[thing] for thing in things}
            if len(others) == 1:
                other = others.pop()
                if other is not None and all(wanting[thing] == one for thing in self.found[other]):
                    pairs.append((one, other))
        return pairs

    def _only(self, sides: Sequence[tuple[int, ...]]) -> list[int | None]:
        """Return for each thing the index of the one that has it; None where there are several."""
        only: list[int | None] = [None] * len(self.slots)
        is_new = [True] * len(self.slots)
        for index, things in enumerate(sides):
            for thing in things:
                only[thing] = index if is_new[thing] else None
                is_new[thing] = False
        return only
