"""The largest one-to-one assignment."""

from __future__ import annotations

from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracewitness.matching import assign

graphs = st.integers(0, 4).flatmap(
    lambda right: st.tuples(
        st.lists(st.lists(st.integers(0, max(right - 1, 0)), unique=True, max_size=right), max_size=4),
        st.just(right),
    )
)


def brute_force(compatible: list[list[int]], right: int) -> int:
    """Return the size of the largest assignment by trying all."""
    slots = [*range(right), *[-1] * len(compatible)]
    chosen = set(permutations(slots, len(compatible)))
    sizes = [
        sum(partner in row for partner, row in zip(choice, compatible, strict=True) if partner >= 0)
        for choice in chosen
        if all(partner < 0 or partner in row for partner, row in zip(choice, compatible, strict=True))
    ]
    return max(sizes, default=0)


@given(graphs)
def test_as_large_as_any(graph: tuple[list[list[int]], int]) -> None:
    """No other assignment gives more items a partner; each partner is accepted and given once."""
    compatible, right = graph
    partners = assign(compatible, right)
    given_away = [partner for partner in partners if partner is not None]
    assert len(set(given_away)) == len(given_away)
    assert all(partner is None or partner in row for partner, row in zip(partners, compatible, strict=True))
    assert len(given_away) == brute_force(compatible, right)


@given(graphs)
def test_the_same_input_gives_the_same_answer(graph: tuple[list[list[int]], int]) -> None:
    """The answer depends on nothing but the input."""
    assert assign(*graph) == assign(*graph)


@pytest.mark.parametrize(
    ("compatible", "right", "expected"),
    [
        ([], 0, []),
        ([], 3, []),
        ([[]], 0, [None]),
        ([[0], [0]], 1, [0, None]),
        ([[0, 1], [0]], 2, [1, 0]),
        ([[0, 1], [0, 2], [0]], 3, [1, 2, 0]),
    ],
)
def test_small(compatible: list[list[int]], right: int, expected: list[int | None]) -> None:
    """Items give way where they have another choice; earlier ones go first where they have none."""
    assert assign(compatible, right) == expected


def test_a_long_chain_of_items_that_give_way() -> None:
    """A path through 5,000 items grows without recursion."""
    size = 5_000
    compatible = [[index, index + 1] for index in range(size - 1)] + [[0]]
    assert None not in assign(compatible, size)
