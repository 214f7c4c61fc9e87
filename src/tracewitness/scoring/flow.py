"""The cheapest way to send units through a network, found by successive shortest paths.

The method is the primal-dual one of L. R. Ford and D. R. Fulkerson (Flows in Networks, 1962, chapter III) with whole
numbers as prices: shortest paths by the prices that stand (E. W. Dijkstra, 1959), then as many units as those paths
hold at once, in layers (E. A. Dinic, 1970; on assignments that is J. Hopcroft and R. Karp's method). It is exact,
nothing recurses, and the same network always gives the same flow.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from heapq import heappop, heappush
from typing import Final

__all__ = ["Arc", "cheapest_flow"]

Arc = tuple[int, int]
"""The node that an arc leads to, and what a unit through it costs."""

_FAR: Final = float("inf")


def cheapest_flow(
    arcs: Sequence[Sequence[Arc]], supply: Mapping[int, int], room: Mapping[int, int]
) -> list[dict[int, int]]:
    """Send as many units as there are or as there is room for, at the least cost.

    Arguments:
        arcs: for each node, the arcs that leave it. Costs are whole and not negative; an arc holds any number of
            units; no way leads back to where it came from.
        supply: how many units start at a node.
        room: how many units may end at a node. From every node with a supply there is a way to each of them.

    Returns for each node how many units came to it from which node.

    >>> cheapest_flow([[(2, 5), (3, 1)], [(2, 4), (3, 3)], [], []], {0: 1, 1: 1}, {2: 1, 3: 1})
    [{}, {}, {1: 1}, {0: 1}]
    """
    flow = _Flow(arcs, supply, room)
    while flow.units:
        flow.send(flow.shortest_paths())
    return flow.inflow


class _Flow:
    """A flow that grows until it is as large as it can be; at any time it is the cheapest of its size.

    Along an arc that carries units, prices and cost agree (complementary slackness), so that taking a unit back costs
    nothing by the prices that stand.

    Attributes:
        units: how many have still to be sent.
        inflow: for each node, the units that came from each node.
    """

    __slots__ = ("_arcs", "_before", "_left", "_prices", "_room", "inflow", "units")

    def __init__(self, arcs: Sequence[Sequence[Arc]], supply: Mapping[int, int], room: Mapping[int, int]) -> None:
        size = len(arcs)
        self._arcs = arcs
        self._left = dict(supply)
        self._room = [room.get(node, 0) for node in range(size)]
        self._prices = [0] * size
        self._before: dict[int, list[int]] = {}
        self.inflow: list[dict[int, int]] = [{} for _ in range(size)]
        self.units = min(sum(supply.values()), sum(room.values()))

    def shortest_paths(self) -> list[int]:  # noqa: C901 - flat on purpose, see below
        """Return the nearest nodes with room; note before each node those that lead to it on a shortest path.

        One flat loop on purpose: most of the time of a large pairing goes here.
        """
        arcs, prices, room, inflow = self._arcs, self._prices, self._room, self.inflow
        before = self._before = {}
        layers = [0] * len(arcs)  # 0 is not reached
        nearest: list[float] = [_FAR] * len(arcs)
        waiting = {0: [node for node, left in self._left.items() if left][::-1]}  # so that the first is taken first
        distances = [0]
        passed: list[tuple[int, list[int]]] = []
        layer = 0
        while True:
            distance = heappop(distances)
            layer += 1
            wave = []
            for node in waiting.pop(distance):
                if not layers[node]:
                    layers[node] = layer
                    wave.append(node)
            while wave:
                ends = [node for node in wave if room[node]]
                if ends:
                    self._charge(passed, distance)
                    return ends
                passed.append((distance, wave))
                layer += 1
                further = []
                for node in wave:
                    base = distance + prices[node]
                    for target, cost in arcs[node]:
                        at = layers[target]
                        if not at:
                            reached = base + cost - prices[target]
                            if reached == distance:
                                layers[target] = layer
                                before[target] = [node]
                                further.append(target)
                            elif reached < nearest[target]:
                                nearest[target] = reached
                                before[target] = [node]
                                if reached in waiting:
                                    waiting[reached].append(target)
                                else:
                                    waiting[reached] = [target]
                                    heappush(distances, reached)
                            elif reached == nearest[target]:
                                before[target].append(node)
                        elif at == layer and prices[node] + cost == prices[target]:
                            before[target].append(node)
                    for target in inflow[node]:
                        at = layers[target]
                        if not at:
                            layers[target] = layer
                            before[target] = [~node]
                            further.append(target)
                        elif at == layer:
                            before[target].append(~node)
                wave = further

    def _charge(self, passed: list[tuple[int, list[int]]], distance: int) -> None:
        """Lower the prices of what lies nearer than ``distance``, so that shortest paths cost nothing more."""
        for nearer, wave in passed:
            if nearer == distance:
                return
            for node in wave:
                self._prices[node] -= distance - nearer

    def send(self, ends: list[int]) -> None:
        """Send what the shortest paths hold."""
        for end in ends:
            while self._room[end]:
                path = self._path_back(end)
                if path is None:
                    break
                self._send_along(path)

    def _path_back(self, end: int) -> list[int] | None:
        """Return a shortest path from ``end`` back to a node with units left; None where there is none any more.

        A step that takes units back is marked by the complement of its node. What leads nowhere is forgotten.
        """
        left, before, path = self._left, self._before, [end]
        while path:
            step = path[-1]
            node = step if step >= 0 else ~step
            if left.get(node):
                return path
            options = before.get(node)
            if options:
                step = options[-1]
                if step >= 0 or node in self.inflow[~step]:
                    path.append(step)
                else:
                    options.pop()
            else:
                path.pop()
                if path:
                    self._forget(path[-1])
        return None

    def _forget(self, step: int) -> None:
        """Drop the way that was tried last from a node."""
        self._before[step if step >= 0 else ~step].pop()

    def _send_along(self, path: list[int]) -> None:
        nodes = [step if step >= 0 else ~step for step in path]
        steps = list(zip(nodes[1:], nodes[:-1], [step < 0 for step in path[1:]], strict=True))
        taken_back = [self.inflow[start][end] for start, end, is_back in steps if is_back]
        amount = min(self._left[nodes[-1]], self._room[nodes[0]], *taken_back)
        for start, end, is_back in steps:
            if is_back:
                self._take_back(start, end, amount)
            else:
                self.inflow[end][start] = self.inflow[end].get(start, 0) + amount
        self._left[nodes[-1]] -= amount
        self._room[nodes[0]] -= amount
        self.units -= amount

    def _take_back(self, node: int, before: int, amount: int) -> None:
        came = self.inflow[node]
        came[before] -= amount
        if not came[before]:
            del came[before]
