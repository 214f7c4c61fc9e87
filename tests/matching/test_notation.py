"""The notation of matchers in files."""

from __future__ import annotations

import datetime
from types import MappingProxyType
from typing import Any

import pytest

from tracewitness.errors import ExpectationError
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
    GreaterOrEqual,
    GreaterThan,
    IsDate,
    IsDateTime,
    IsType,
    JSONSchema,
    Length,
    LessOrEqual,
    LessThan,
    Not,
    OneOf,
    Partial,
    Regex,
    Satisfies,
    Search,
    Unordered,
    matches,
    parse,
    to_file_notation,
)

SAME: list[tuple[Any, Any]] = [
    ({"$any": True}, ANY),
    ({"$absent": True}, ABSENT),
    ({"$regex": "A.*"}, Regex("A.*")),
    ({"$search": "a"}, Search("a")),
    ({"$approx": 2.5}, Approx(2.5)),
    ({"$approx": 2.5, "rel": 0.1, "abs": 1}, Approx(2.5, rel=0.1, abs=1)),
    ({"$approx": 2.5, "abs": 1, "$lt": 2.4}, Approx(2.5, abs=1) & LessThan(2.4)),
    ({"$contains": {"$any": True}}, Contains(ANY)),
    ({"$one_of": ["a", {"$regex": "b"}]}, OneOf("a", Regex("b"))),
    ({"$type": "string"}, IsType("string")),
    ({"$type": ["string", "null"]}, IsType("string", "null")),
    ({"$all_of": [1, {"$any": True}]}, AllOf(1, ANY)),
    ({"$all_of": [{"$gt": 1}, {"$gt": 2}]}, AllOf(GreaterThan(1), GreaterThan(2))),
    ({"$all_of": [{"$gt": 1}]}, AllOf(GreaterThan(1))),
    ({"$any_of": [1, 2]}, AnyOf(1, 2)),
    ({"$not": {"$regex": "a"}}, Not(Regex("a"))),
    ({"$partial": {"a": {"$any": True}}}, Partial({"a": ANY})),
    ({"$exactly": {"a": 1}}, Exactly({"a": 1})),
    ({"$unordered": [1, {"$any": True}]}, Unordered([1, ANY])),
    ({"$each": {"$gt": 0}}, Each(GreaterThan(0))),
    ({"$length": 3}, Length(3)),
    ({"$length": {"min": 1}}, Length(min=1)),
    ({"$length": {"min": 1, "max": 2}}, Length(1, 2)),
    ({"$gt": 1, "$lte": 5}, AllOf(GreaterThan(1), LessOrEqual(5))),
    ({"$gte": "2024-01-01"}, GreaterOrEqual("2024-01-01")),
    ({"$date": True}, IsDate()),
    ({"$datetime": True}, IsDateTime()),
    ({"$datetime": {"near": "2024-05-01T10:00:00Z", "within": 5}}, IsDateTime(near="2024-05-01T10:00:00Z", within=5)),
    ({"$schema": {"$schema": "https://json-schema.org/draft/2020-12/schema", "$ref": "#/$defs/a", "$defs": {"a": {}}}},
     JSONSchema({"$schema": "https://json-schema.org/draft/2020-12/schema", "$ref": "#/$defs/a", "$defs": {"a": {}}})),
    ({"$eq": {"$any": True}}, Eq({"$any": True})),
    ({"$eq": {"$eq": "*"}}, Eq({"$eq": "*"})),
    ({}, {}),
    ({"a": {}}, {"a": {}}),
    ({"$ref": 1, "a": {"$any": True}}, {"$ref": 1, "a": ANY}),
    ({"$approx": 1, "other": 2}, {"$approx": 1, "other": 2}),
    ([{"a": [{"$any": True}]}], [{"a": [ANY]}]),
    ({1: {"$any": True}, "$": 5}, {1: ANY, "$": 5}),
]  # fmt: skip


@pytest.mark.parametrize(("written", "expected"), SAME)
def test_what_is_written_and_what_it_means(written: Any, expected: Any) -> None:
    """A file's notation and Python's say the same, both ways."""
    assert Eq(parse(written)) == Eq(expected)
    assert Eq(to_file_notation(expected)) == Eq(written)
    assert Eq(to_file_notation(written)) == Eq(written)


BROKEN: list[tuple[Any, str, tuple[Any, ...]]] = [
    ({"a": [{"$regx": "x"}]}, r"unknown matcher '\$regx'; did you mean '\$regex'\?", ("a", 0, "$regx")),
    ({"$xyzzy": 1}, r"unknown matcher '\$xyzzy'; there are \$absent, .*\{\$eq: \.\.\.\}", ("$xyzzy",)),
    ({"$any": True, "$rexeg": 1}, "unknown matcher", ("$rexeg",)),
    ({"$any": False}, r"\$any takes only true, not False", ("$any",)),
    ({"$date": "yes"}, r"\$date takes only true, not 'yes'", ("$date",)),
    ({"$type": "str"}, "did you mean 'string'", ("$type",)),
    ({"$type": 5}, "names of types", ("$type",)),
    ({"$type": []}, "at least one type", ("$type",)),
    ({"$one_of": "ab"}, r"\$one_of needs a list, not 'ab'", ("$one_of",)),
    ({"$one_of": []}, "at least one value", ("$one_of",)),
    ({"$any_of": [1, {"b": {"$regex": "("}}]}, "does not compile", ("$any_of", 1, "b", "$regex")),
    ({"$not": {"$bad": 1}}, "unknown matcher", ("$not", "$bad")),
    ({"$each": [{"$bad": 1}]}, "unknown matcher", ("$each", 0, "$bad")),
    ({"$partial": {"a": {"$bad": 1}}}, "unknown matcher", ("$partial", "a", "$bad")),
    ({"$partial": {"$gt": 1}}, r"a mapping of keys to values, not GreaterThan\(1\)", ("$partial",)),
    ({"$unordered": {"a": 1}}, "a list of items", ("$unordered",)),
    ({"$approx": 1, "rel": "x"}, "rel a number", ("$approx",)),
    ({"$approx": {"$gt": 1}}, "needs a number", ("$approx",)),
    ({"$length": {"mn": 1}}, "does not know 'mn'; did you mean 'min'", ("$length",)),
    ({"$length": {"xyz": 1}}, "does not know 'xyz'; it takes min and max", ("$length",)),
    ({"$length": "3"}, "whole numbers from 0 up, not '3'", ("$length",)),
    ({"$length": {}}, "Length needs a number", ("$length",)),
    ({"$datetime": {"near": "2024-05-01T10:00:00Z"}}, "near and within together", ("$datetime",)),
    ({"$datetime": "now"}, r"\$datetime takes true, or near and within, not 'now'", ("$datetime",)),
    ({"$schema": "https://json-schema.org/draft/2020-12/schema"}, "a schema as a mapping", ("$schema",)),
    ({"a": (1, {"$bad": 1})}, "unknown matcher", ("a", 1, "$bad")),
    ({None: {"$bad": 1}}, "unknown matcher", ("None", "$bad")),
]  # fmt: skip


@pytest.mark.parametrize(("written", "message", "path"), BROKEN)
def test_what_cannot_be_read(written: Any, message: str, path: tuple[Any, ...]) -> None:
    """A notation that can't be used raises, and the error knows the place."""
    with pytest.raises(ExpectationError, match=message) as raised:
        parse(written)
    assert raised.value.path == path


@pytest.mark.parametrize(
    ("expected", "message", "path"),
    [
        ({"a": [Satisfies(len)]}, r"can't hold Satisfies\(len\)", ("a", 0)),
        ({"a": {1}}, r"can't hold \{1\}, which is no plain data", ("a",)),
        (Regex("a", flags=2), "can't hold the flags", ()),
        (IsType(datetime.date), r"can't hold IsType\(date\); it knows the types string", ()),
    ],
)
def test_what_cannot_be_written(expected: object, message: str, path: tuple[Any, ...]) -> None:
    """What a file can't hold raises, and the error knows the place."""
    with pytest.raises(ExpectationError, match=message) as raised:
        to_file_notation(expected)
    assert raised.value.path == path


def test_what_python_can_write_in_other_words() -> None:
    """Classes, times and tuples are written as a file says the same."""
    noon = datetime.datetime(2024, 5, 1, 12)
    assert to_file_notation(IsType(str, int, None)) == {"$type": ["string", "integer", "null"]}
    assert to_file_notation(GreaterThan(noon)) == {"$gt": "2024-05-01T12:00:00"}
    written = to_file_notation(IsDateTime(near=noon, within=datetime.timedelta(minutes=1)))
    assert written == {"$datetime": {"near": "2024-05-01T12:00:00", "within": 60.0}}
    assert to_file_notation((1, ANY)) == [1, {"$any": True}]


@pytest.mark.parametrize(
    "expected",
    [
        {"a": {"$regex": "A.*"}},
        MappingProxyType({"a": {"$regex": "A.*"}}),
        {"a": Not({"$regex": "B.*"})},
        {"a": OneOf("x", {"$regex": "A.*"})},
        Partial({"a": {"$regex": "A.*"}}),
        Exactly({"a": {"$regex": "A.*"}}),
    ],
)
def test_the_notation_is_read_wherever_an_expectation_is_given(expected: object) -> None:
    """Python's mappings and the insides of matchers may use it too."""
    assert matches(expected, {"a": "A1"})
    assert not matches(expected, {"a": "B1"})


def test_notation_that_nests_too_deeply() -> None:
    """Matchers in matchers without end raise, as lists in lists do."""
    written: Any = 1
    for _ in range(60):
        written = {"$not": {"$exactly": written}}
    with pytest.raises(ExpectationError, match="nests more than 100 levels deep"):
        parse(written)
    with pytest.raises(ExpectationError, match="nests more than 100 levels deep"):
        parse(Exactly(Exactly(written["$not"]["$exactly"])))


def test_parsing_leaves_the_given_data_alone() -> None:
    """What was given is not changed."""
    given = {"a": [{"$any": True}]}
    parse(given)
    assert given == {"a": [{"$any": True}]}
