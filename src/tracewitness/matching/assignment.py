"""Who goes with whom: the largest one-to-one assignment."""

from __future__ import annotations

from collections.abc import Sequence

_FAR = -1


def assign(compatible: Sequence[Sequence[int]], right: int) -> list[int | None]:
    """Give as many left items as possible a partner of their own.

    The method is J. Hopcroft and R. Karp's (SIAM Journal on Computing 2, 1973): phases of shortest augmenting
    paths, O(E sqrt V). Nothing recurses, and the same input always gives the same answer.

    Arguments:
        compatible: for each left item, the indexes of the right items that it accepts.
        right: how many right items there are.

    Returns the right index of each left item, or None where it has to go without.

    >>> assign([[0, 1], [0]], 2)
    [1, 0]
    """
    partner_of_left: list[int | None] = [None] * len(compatible)
    partner_of_right: list[int | None] = [None] * right
    _assign_greedily(compatible, partner_of_left, partner_of_right)
    while True:
        layer = _layers(compatible, partner_of_left, partner_of_right)
        if layer is None:
            return partner_of_left
        _augment(compatible, partner_of_left, partner_of_right, layer)


def _assign_greedily(
    compatible: Sequence[Sequence[int]],
    partner_of_left: list[int | None],
    partner_of_right: list[int | None],
) -> None:
    """Take what is free, which leaves little for the phases."""
    for left, accepted in enumerate(compatible):
        for candidate in accepted:
            if partner_of_right[candidate] is None:
                partner_of_left[left], partner_of_right[candidate] = candidate, left
                break


def _layers(
    compatible: Sequence[Sequence[int]],
    partner_of_left: Sequence[int | None],
    partner_of_right: Sequence[int | None],
) -> list[int] | None:
    """Number the left items by their distance from an unassigned one; None when no path can grow."""
    layer = [0 if partner is None else _FAR for partner in partner_of_left]
    current = [left for left, partner in enumerate(partner_of_left) if partner is None]
    reached_free = False
    while current and not reached_free:
        following: list[int] = []
        for left in current:
            for candidate in compatible[left]:
                holder = partner_of_right[candidate]
                if holder is None:
                    reached_free = True
                elif layer[holder] == _FAR:
                    layer[holder] = layer[left] + 1
                    following.append(holder)
        current = following
    return layer if reached_free else None


def _augment(
    compatible: Sequence[Sequence[int]],
    partner_of_left: list[int | None],
    partner_of_right: list[int | None],
    layer: list[int],
) -> None:
    """Grow the assignment along disjoint shortest paths."""
    untried = [iter(accepted) for accepted in compatible]
    roots = [left for left, partner in enumerate(partner_of_left) if partner is None]
    for root in roots:
        path = [root]
        taken: list[int] = []  # the right item by which each left item of the path leads on
        while path:
            left = path[-1]
            candidate = next(untried[left], None)
            if candidate is None:
                layer[left] = _FAR
                path.pop()
                if taken:
                    taken.pop()
                continue
            holder = partner_of_right[candidate]
            if holder is None:
                for giver, receiver in zip(path, [*taken, candidate], strict=True):
                    partner_of_left[giver], partner_of_right[receiver] = receiver, giver
                break
            if layer[holder] == layer[left] + 1:
                path.append(holder)
                taken.append(candidate)
