"""Keys of plain values stand for the policies' comparison."""

from __future__ import annotations

from decimal import Decimal
from enum import IntEnum
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tracewitness.matching import ANY, Eq, matches
from tracewitness.scoring.keys import Odd, argument_keys, key_or_odd, plain_keys

_LEAVES: list[Any] = [
    None, True, False, 0, 1, 2, -1, 1.0, 2.0, 0.0, -0.0, 0.1, float("nan"), float("inf"), 2**53, 2**53 + 1,
    float(2**53), 10**400, "", " ", "a", " a ", "A", "1", "1.0", "True", "None", "nan", "a\u0301", "\u00e1", "*",
]  # fmt: skip
leaves = st.sampled_from(_LEAVES)
plain_values = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.lists(inner, max_size=2),
        st.lists(inner, max_size=2).map(tuple),
        st.dictionaries(st.sampled_from(["a", "b", " a"]), inner, max_size=2),
    ),
    max_leaves=4,
)


@settings(max_examples=1000, deadline=None)
@given(plain_values, plain_values, st.booleans())
def test_plain_values_share_a_key_exactly_when_they_match(one: Any, other: Any, exact: bool) -> None:
    """Equality of keys is the policy's comparison, both ways."""
    policy = "strict" if exact else "lenient"
    is_same = key_or_odd(one, exact) == key_or_odd(other, exact)
    assert is_same is matches(Eq(one), other, policy) is matches(Eq(other), one, policy)


@pytest.mark.parametrize("exact", [False, True])
def test_every_pair_of_leaves(exact: bool) -> None:
    """The same for every pair of the leaves, which the generated cases meet only now and then."""
    policy = "strict" if exact else "lenient"
    for one in _LEAVES:
        for other in _LEAVES:
            is_same = key_or_odd(one, exact) == key_or_odd(other, exact)
            assert is_same is matches(Eq(one), other, policy), (one, other)


class Level(IntEnum):
    """A number that is no plain one."""

    HIGH = 1


class Name(str):
    """A text that is no plain one."""


def nested(levels: int) -> Any:
    """Nest lists."""
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


def endless() -> Any:
    """Return a list that holds itself twice."""
    value: list[Any] = []
    value += [value, value]
    return value


@pytest.mark.parametrize(
    "value",
    [Decimal(1), Level.HIGH, Name("a"), b"a", {1}, object(), {1: 2}, {Name("a"): 1}, [Decimal(1)], ANY, {"a": ANY},
     nested(101), nested(100_000), endless()],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_what_is_not_plain_has_no_key(value: Any) -> None:
    """A value that takes a closer look, at any depth, equals no key and no other value without one."""
    odd = key_or_odd(value, False)
    assert isinstance(odd, Odd)
    assert odd != key_or_odd(value, False)


def test_what_may_be_a_matcher_has_no_key_where_it_is_expected() -> None:
    """``$`` names are notation in an expectation, and plain data in a call."""
    value = {"x": {"$any": True}}
    assert plain_keys(value, False) is None
    assert plain_keys({"x": [value["x"]]}, False) is None
    assert plain_keys({"$any": True}, False) is None
    assert not isinstance(argument_keys(value, False)["x"], Odd)
    assert isinstance(key_or_odd(value, False, notation=True), Odd)


def test_deep_values_up_to_the_limit_have_keys() -> None:
    """What an expectation may hold has a key, so that it is found by hashing."""
    assert key_or_odd(nested(100), False) == key_or_odd(nested(100), False)
    assert key_or_odd(nested(100), False) != key_or_odd(nested(99), False)
