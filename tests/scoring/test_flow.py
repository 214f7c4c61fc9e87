"""The cheapest flow."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

from tracewitness.scoring.flow import cheapest_flow

sides = st.lists(st.integers(1, 3), min_size=1, max_size=4)


@st.composite
def problems(draw: st.DrawFn) -> tuple[list[int], list[int], list[list[int]]]:
    """Return units to send, room for them, and what a unit costs from each source to each end."""
    units, room = draw(sides), draw(sides)
    costs = [[draw(st.integers(0, 6)) for _ in room] for _ in units]
    return units, room, costs


def oracle(units: list[int], room: list[int], costs: list[list[int]]) -> int:
    """Return the least cost, with each unit and each place as a row and a column of their own."""
    rows = [row for row, count in enumerate(units) for _ in range(count)]
    columns = [column for column, count in enumerate(room) for _ in range(count)]
    matrix = np.array([[costs[row][column] for column in columns] for row in rows])
    return int(matrix[linear_sum_assignment(matrix)].sum())


def assert_is_flow(inflow: list[dict[int, int]], units: list[int], room: list[int]) -> None:
    """Check that nothing is lost or made, and that all is sent that there is or that there is room for."""
    outflow = [0] * len(inflow)
    for came in inflow:
        for node, amount in came.items():
            assert amount > 0
            outflow[node] += amount
    ends = range(len(units), len(units) + len(room))
    assert all(outflow[node] <= count for node, count in enumerate(units))
    assert all(sum(inflow[end].values()) <= room[end - len(units)] for end in ends)
    assert sum(sum(inflow[end].values()) for end in ends) == min(sum(units), sum(room))
    for node in range(ends.stop, len(inflow)):
        assert outflow[node] == sum(inflow[node].values())


@settings(max_examples=200, deadline=None)
@given(problems())
def test_no_flow_is_cheaper(problem: tuple[list[int], list[int], list[list[int]]]) -> None:
    """Sent along arcs of their own, as many units as can be cost the least that they can."""
    units, room, costs = problem
    first = len(units)
    arcs: list[list[tuple[int, int]]] = [[(first + end, cost) for end, cost in enumerate(row)] for row in costs] + [
        [] for _ in room
    ]
    inflow = cheapest_flow(arcs, dict(enumerate(units)), dict(enumerate(room, first)))
    assert_is_flow(inflow, units, room)
    cost = sum(costs[node][end] * amount for end in range(len(room)) for node, amount in inflow[first + end].items())
    assert cost == oracle(units, room, costs)


@settings(max_examples=200, deadline=None)
@given(problems(), st.data())
def test_no_flow_through_hubs_is_cheaper(problem: Any, data: st.DataObject) -> None:
    """The same where units also go by hubs: a hub joins some sources with some ends at a cost of each source."""
    units, room, costs = problem
    first, size = len(units), len(units) + len(room)
    arcs: list[list[tuple[int, int]]] = [[(first + end, cost) for end, cost in enumerate(row)] for row in costs]
    arcs += [[] for _ in room]
    for hub in range(size, size + data.draw(st.integers(1, 3))):
        ends = data.draw(st.lists(st.integers(0, len(room) - 1), unique=True))
        arcs.append([(first + end, 0) for end in ends])
        for node in data.draw(st.lists(st.integers(0, len(units) - 1), unique=True)):
            cost = data.draw(st.integers(0, 6))
            arcs[node].append((hub, cost))
            for end in ends:
                costs[node][end] = min(costs[node][end], cost)
    inflow = cheapest_flow(arcs, dict(enumerate(units)), dict(enumerate(room, first)))
    assert_is_flow(inflow, units, room)
    cost = sum(dict(arcs[node])[end] * amount for end, came in enumerate(inflow) for node, amount in came.items())
    assert cost == oracle(units, room, costs)


def test_nothing_to_send() -> None:
    """Without units, or without room, nothing flows."""
    assert cheapest_flow([[(1, 0)], []], {0: 0}, {1: 5}) == [{}, {}]
    assert cheapest_flow([[(1, 0)], []], {0: 5}, {1: 0}) == [{}, {}]
