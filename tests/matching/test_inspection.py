"""What can be said of an expectation before any value comes, and what no expectation may raise while it is made."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from hypothesis import example, given
from matching_strategies import expectations, plain_values

from tracewitness.errors import ExpectationError
from tracewitness.matching import (
    ABSENT,
    Approx,
    IsDateTime,
    IsType,
    JSONSchema,
    Regex,
    Satisfies,
    Search,
    compile_expected,
    fits_mappings,
    matches,
    parse,
    regexes_that_stop_at_lines,
)
from tracewitness.matching.inspection import demands_key, sees_envelope
from tracewitness.matching.structures import Eq, Exactly

EVERY: list[Any] = [
    {},
    {"$any": True},
    {"$partial": {}},
    {"$eq": {}},
    {"$type": "object"},
    {"$type": ["object", "null"]},
    {"$not": {"$type": "string"}},
    {"$not": {"$absent": True}},
    {"$not": [1]},
    {"$any": True, "$not": {"$regex": "a"}},
    {"$any_of": [5, {"$any": True}]},
    {"$one_of": ["a", {}]},
    IsType(dict),
]
NONE: list[Any] = [
    {"$absent": True},
    {"$regex": "a"},
    {"$search": "a"},
    {"$approx": 1},
    {"$gt": 1},
    {"$gte": "2024-01-01"},
    {"$lt": 1},
    {"$lte": 1},
    {"$date": True},
    {"$datetime": True},
    {"$each": 1},
    {"$unordered": [1]},
    {"$type": ["string", "array"]},
    {"$one_of": ["a", 1, None, [1]]},
    {"$any_of": ["a", {"$regex": "b"}]},
    {"$all_of": [{"$any": True}, {"$type": "string"}]},
    {"$not": {}},
    {"$not": {"$any": True}},
    {"$exactly": 5},
    {"$eq": "a"},
    IsType(str, None),
]
SOME: list[Any] = [
    {"a": 1},
    {"a": {"$any": True}},
    {"$partial": {"a": 1}},
    {"$exactly": {}},
    {"$exactly": {"a": 1}},
    {"$not": {"a": 1}},
    {"$length": 3},
    {"$contains": "a"},
    {"$schema": {"type": "string"}},
    {"$one_of": ["a", {"a": 1}]},
    {"$all_of": [{"$any": True}, {"a": 1}]},
    "*",
    '{"a": 1}',
    Satisfies(bool),
    IsType(Mapping),
]


@pytest.mark.parametrize(
    ("expected", "answer"),
    [
        pytest.param(each, answer, id=repr(each))
        for answer, table in ((True, EVERY), (False, NONE), (None, SOME))
        for each in table
    ],
)
def test_fits_mappings(expected: Any, answer: bool | None) -> None:
    """Each mapping matches, or none, or it depends; where it is said, it is so."""
    assert fits_mappings(parse(expected)) is answer
    if answer is not None:
        assert {matches(expected, each) for each in ({}, {"a": 1}, {"b": [2]})} == {answer}


@given(expectations, plain_values)
@example(Exactly(Eq({})), None)
@example(Exactly(~Eq({})), 1)
def test_what_is_said_of_mappings_is_so(expected: Any, actual: Any) -> None:
    """For any expectation and any mapping."""
    actual = actual if isinstance(actual, dict) else {"a": actual}
    said = fits_mappings(parse(expected))
    assert said is None or compile_expected(expected).decides(actual) is said


@pytest.mark.parametrize(
    ("expected", "answer"),
    [
        ({"result": 5}, True),
        ({"result": None, "x": 1}, True),
        ({"result": {"$any": True}}, True),
        ('{"result": 5}', True),
        ({}, False),
        ({"x": 5}, False),
        ({"result": ABSENT}, False),
        ({"result": {"$any_of": [{"$absent": True}, 5]}}, False),
        ({"$partial": {"result": 5}}, False),
        ({"$not": {"result": 5}}, False),
        (["result"], False),
        ("result", False),
        (None, False),
    ],
)
def test_demands_key(expected: Any, answer: bool) -> None:
    """A plain mapping demands its keys, but for those that may be absent."""
    assert demands_key(parse(expected), "result") is answer


@pytest.mark.parametrize("pattern", ["rm .*", "a.", r"\\.", "[.].", "(?i)a.b", r"[\]].", "[]a].", "(.)", "(?P<s>.)"])
def test_a_dot_stops_at_lines(pattern: str) -> None:
    """A dot that stands for any character stops at a line break, wherever the Regex stands."""
    regex = Regex(pattern)
    for expected in (
        regex,
        {"a": [regex]},
        {"a": regex & Search("b")},
        {"$each": {"a": regex}},
        {"$any_of": [1, regex]},
    ):
        assert list(regexes_that_stop_at_lines(parse(expected))) == [regex]
    assert not list(regexes_that_stop_at_lines({"a": ~regex}))


CROSSING = [
    *map(Regex, (r"a\.b", "[.]", "a[^.]*b", r"[\].]", "[].]", "ab", "(?s)a.*", "(?s:a.*)", "(?is)a.*")),
    Regex("a.", flags=16),
    Search("a."),
]


@pytest.mark.parametrize("regex", CROSSING, ids=repr)
def test_no_dot_stops_at_lines(regex: Regex) -> None:
    """An escaped dot, one in a class, and one that crosses lines are none."""
    assert not list(regexes_that_stop_at_lines({"a": regex}))


class Hostile(Mapping[str, Any]):
    def __getitem__(self, key: str) -> Any:
        raise OSError("no")

    def __iter__(self) -> Iterator[str]:
        raise OSError("no")

    def __len__(self) -> int:
        raise OSError("no")


@pytest.mark.parametrize(
    "expected",
    [
        {"$regex": "a{99999999999999}"},
        {"$search": "a{99999999999999}"},
        {"$regex": "(" * 5000 + ")" * 5000},
        {"$schema": {"$schema": 5}},
        {"$schema": {"$schema": []}},
        {"$schema": {"pattern": "("}},
        {"$length": {"min": []}},
        {"$datetime": {"near": [], "within": []}},
        {"$approx": 1, "rel": []},
        Hostile(),
        {"a": [Hostile()]},
        {"$not": Hostile()},
    ],
    ids=lambda each: repr(type(each)) if isinstance(each, Hostile) else str(each)[:40],
)
def test_nothing_else_is_raised_while_an_expectation_is_read(expected: Any) -> None:
    """Whatever is wrong with an expectation, it is an ExpectationError."""
    with pytest.raises(ExpectationError):
        compile_expected(expected)
    with pytest.raises(ExpectationError):
        parse(expected)


def test_nothing_else_is_raised_by_constructors() -> None:
    """The same in Python."""
    from decimal import Decimal

    with pytest.raises(ExpectationError):
        JSONSchema({"$schema": 5})  # type: ignore[dict-item]
    with pytest.raises(ExpectationError):
        Approx(1, rel=Decimal("sNaN"))
    with pytest.raises(ExpectationError):
        IsDateTime(near="2024-05-01T10:00:00Z", within=Decimal("sNaN"))


@pytest.mark.parametrize(
    ("expected", "answer"),
    [({}, True), ({"result": 1}, True), ({"status": 1}, False), ("*", False), ({"$not": 5}, False), (None, False)],
)
def test_sees_envelope(expected: Any, answer: bool) -> None:
    """An envelope itself counts for a mapping that demands its key, or nothing at all."""
    assert sees_envelope(parse(expected)) is answer
