"""Keys by which equal values are found."""

from __future__ import annotations

import copy
import dataclasses
import time
from collections import UserDict
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest

from tracewitness.matching import strict_key

APART: list[Any] = [
    None, True, False, 0, 1, 1.0, 0.0, Decimal(1), "", "1", "None", b"1", [], (), {}, [1], (1,), [[1]], [[], 1],
    [1, []], {"a": 1}, {"a": 1.0}, {"a": True}, {"a": None}, {"a": {}}, {"a": "1"}, {"a": 1, "b": 2}, {"a": 2, "b": 1},
    {"a": {"b": 1}}, {"a": ["b", 1]}, ["a", 1], [dict, 2, "a", 1], {1: "a"}, {True: "a"}, {1.0: "a"}, {None: "a"},
    {(1,): 2}, {(True,): 2}, {1}, {True}, frozenset({1}), float("nan"), "nan", [float("nan")], ["nan"], 2**53,
    2**53 + 1, float(2**53), [None], [True], [False], [[None]], {"x": []}, {"x": ()}, int, [int],
]  # fmt: skip


def test_different_values_have_different_keys() -> None:
    """No two values of the list share a key, though Python takes some of them for equal."""
    assert len({strict_key(value) for value in APART}) == len(APART)


@pytest.mark.parametrize("value", APART, ids=range(len(APART)))
def test_equal_values_share_a_key(value: Any) -> None:
    """A copy has the same key."""
    assert strict_key(copy.deepcopy(value)) == strict_key(value)


def test_a_deep_value() -> None:
    """10,000 levels are neither written, hashed nor compared by recursion."""
    one: Any = 1
    other: Any = 1
    for _ in range(10_000):
        one, other = [one], [other]
    assert strict_key(one) == strict_key(other)
    assert strict_key(one) != strict_key([one])


def test_a_value_that_contains_itself() -> None:
    """Such values have keys by their shape."""
    one: list[Any] = []
    one += [one, one]
    other: list[Any] = []
    other += [other, other]
    assert strict_key(one) == strict_key(other)
    assert strict_key(one) != strict_key([[], []])


def test_objects_that_cannot_be_hashed() -> None:
    """They are compared by their own equality; one that raises is equal to none."""

    @dataclasses.dataclass
    class Money:
        amount: int

    class Broken:
        __hash__ = None  # type: ignore[assignment]

        def __eq__(self, other: object) -> bool:
            raise LookupError

    assert strict_key([Money(5)]) == strict_key([Money(5)])
    assert strict_key([Money(5)]) != strict_key([Money(6)])
    assert strict_key(Broken()) != strict_key(Broken())


def test_what_cannot_be_read_has_a_key_of_its_own() -> None:
    """A mapping whose content can't be read raises nothing."""

    class Unreadable(UserDict[str, int]):
        def __iter__(self) -> Iterator[str]:
            raise LookupError

    assert strict_key(Unreadable(a=1)) != strict_key({"a": 1})


def test_a_mapping_with_odd_keys() -> None:
    """Keys without an order are put in one, and a mapping that holds itself by such keys takes no time."""
    forwards = {(-1,): 1, (-2,): 2, 2.5: 3, "a": 4, b"a": 5, frozenset({1}): 6}
    backwards = dict(reversed(forwards.items()))
    assert strict_key(forwards) == strict_key(backwards)
    assert strict_key(forwards) != strict_key({**backwards, (-1,): 2, (-2,): 1})
    circle: dict[Any, Any] = {}
    circle |= {(1, 2): circle, (3, 4): circle}
    other: dict[Any, Any] = {}
    other |= {(3, 4): other, (1, 2): other}
    assert strict_key(circle) == strict_key(other)
    assert strict_key(circle) != strict_key({(1, 2): 5, (3, 4): 5})


def test_many_values_take_little_time() -> None:
    """100,000 small mappings are told apart in linear time."""
    values = [{"id": str(number % 50_000), "n": 1} for number in range(100_000)]
    began = time.perf_counter()
    assert len({strict_key(value) for value in values}) == 50_000
    assert time.perf_counter() - began < 5
