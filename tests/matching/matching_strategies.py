"""Hypothesis strategies of values and expectations, shared by the tests of matching."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from hypothesis import strategies as st

from tracewitness.matching import (
    ABSENT,
    ANY,
    AllOf,
    AnyOf,
    Approx,
    Contains,
    Each,
    Eq,
    Exactly,
    GreaterThan,
    IsDate,
    IsDateTime,
    IsType,
    Length,
    LessOrEqual,
    Not,
    OneOf,
    Partial,
    Regex,
    Satisfies,
    Search,
    Unordered,
)

POLICIES = ("strict", "lenient", "subset")

# Few values, close to each other, so that near misses and coercions come up all the time.
_TEXTS = ["", "*", "a", "A", " a", "1", "2", "2.0", "1e0", "-0", "007", "true", "FALSE", "null"]
_JSON_TEXTS = [
    '{"a": 1}',
    '{"a": "1", "b": [2]}',
    "[1, 2]",
    '"[1]"',
    '"\\"[1]\\""',
    '{"a": "[1]"}',
    "[",
    "NaN",
]
_NUMBERS = [
    0,
    1,
    2,
    -1,
    1.0,
    2.0,
    0.1,
    -0.0,
    2**53,
    2**53 + 1,
    float(2**53),
    float("nan"),
    float("inf"),
    10**400,
]

scalars: st.SearchStrategy[Any] = st.one_of(
    st.none(), st.booleans(), st.sampled_from(_NUMBERS), st.sampled_from(_TEXTS), st.sampled_from(_JSON_TEXTS)
)
keys = st.sampled_from(["a", "b", "c"])


def _containers(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(st.lists(inner, max_size=3), st.dictionaries(keys, inner, max_size=3))


json_values = st.recursive(scalars, _containers, max_leaves=6)
"""What JSON can hold."""

odd_scalars: st.SearchStrategy[Any] = st.one_of(
    scalars,
    st.sampled_from([Decimal(1), Decimal("2.0"), Decimal("NaN"), b"a", frozenset({1}), frozenset({True})]),
)


def _odd_containers(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    odd_keys = st.one_of(keys, st.sampled_from([1, True, None, 1.0]))
    return st.one_of(_containers(inner), st.lists(inner, max_size=2).map(tuple), st.dictionaries(odd_keys, inner))


plain_values = st.recursive(odd_scalars, _odd_containers, max_leaves=6)
"""What Python can hold without foreign objects."""


def _raises(value: object) -> bool:
    raise LookupError(f"no {value!r}")


writable_leaves = st.one_of(
    st.sampled_from([ANY, ABSENT, IsDate(), IsDateTime(), IsDateTime(near="2024-05-01T10:00:00Z", within=60)]),
    st.builds(Regex, st.sampled_from(["a", "[12].*"])),
    st.builds(Search, st.sampled_from(["a", "[12]"])),
    st.builds(Approx, st.sampled_from([1, 2.0]), st.sampled_from([1e-6, 0.5]), st.sampled_from([0.0, 1])),
    st.sampled_from([IsType("string"), IsType("integer", "null"), IsType("array", "object")]),
    st.sampled_from([Length(1), Length(min=1), Length(max=2), Length(1, 2)]),
    st.sampled_from([GreaterThan(1), LessOrEqual(2.0), GreaterThan("2024-01-01")]),
    st.builds(Eq, json_values),
)


def _matchers_around(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    several = st.lists(inner, min_size=1, max_size=3)
    return st.one_of(
        several.map(lambda parts: AllOf(*parts)),
        several.map(lambda parts: AnyOf(*parts)),
        several.map(lambda parts: OneOf(*parts)),
        st.builds(Not, inner),
        st.builds(Exactly, inner),
        st.builds(Contains, inner),
        st.builds(Each, inner),
        st.builds(Partial, st.dictionaries(keys, inner, max_size=2)),
        st.builds(Unordered, several),
        _containers(inner),
    )


writable = st.recursive(st.one_of(scalars, writable_leaves), _matchers_around, max_leaves=6)
"""Expectations that a file can hold."""

expectations = st.recursive(
    st.one_of(scalars, writable_leaves, st.sampled_from([Satisfies(bool), Satisfies(_raises)])),
    _matchers_around,
    max_leaves=6,
)
"""Expectations of all kinds."""
