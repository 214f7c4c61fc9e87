"""A table for each matcher: what matches and what does not."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

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
    Matcher,
    Not,
    OneOf,
    Partial,
    Regex,
    Satisfies,
    Search,
    Unordered,
    matches,
)

INFINITY = float("inf")
NAN = float("nan")
NEAR = IsDateTime(near="2024-05-01T10:00:00Z", within=60)
ORDER = JSONSchema({"type": "object", "required": ["id"], "properties": {"id": {"type": "string"}}})
FEW = JSONSchema({"properties": {"seats": {"maximum": 5}}})


def is_even(value: int) -> bool:
    return value % 2 == 0


# Matcher, what matches, what does not; under every policy.
TABLE: list[tuple[Any, list[Any], list[Any]]] = [
    (ANY, [None, 0, "", [], {}, Ellipsis], []),
    (ABSENT, [], [None, 0, "absent"]),
    (Regex("A.*"), ["A", "A1"], ["", "BA", "A\n1", 5, None, b"A", ["A"]]),
    (Regex("a", flags=2), ["a", "A"], ["b"]),
    (Regex("\ud800."), ["\ud800x"], ["x"]),
    (Search("b.c"), ["b\nc", "abxcd"], ["bc", 5, None, ["bxc"]]),
    (Approx(2.5), [2.5, 2.5000001, Decimal("2.5")], [2.51, "2.5", True, None, NAN, INFINITY, -INFINITY]),
    (Approx(1), [1, 1.0, Fraction(1)], [True, 1.1]),
    (Approx(0), [0, -0.0], [1e-300]),
    (Approx(0, abs=0.5), [0.5, -0.5], [0.51]),
    (Approx(-100, rel=0.01), [-99, -101], [-98.9, 100]),
    (Approx(INFINITY), [INFINITY, Decimal("inf")], [1e308, -INFINITY, 10**400]),
    (Approx(NAN), [NAN], [0]),
    (Approx(2**53, rel=0), [2**53], [2**53 + 1]),
    (Approx(10**400), [10**400, 10**400 + 1], [1e308, INFINITY, Decimal("1e999999999")]),
    (Approx(Decimal("0.1"), rel=0), [Decimal("0.10")], [0.1]),
    (Approx(1e308, rel=10), [1e307], [INFINITY]),
    (Contains("b"), ["abc", ["a", "b"], {"b": 1}, ("b",)], ["ac", ["abc"], {"a": "b"}, 5, None, b"b"]),
    (Contains(Regex("b.")), [["a", "bc"], {"bc": 1}], ["bc", ["b"], {"a": "bc"}]),
    (Contains(1), [[0, 1]], [[True], "1", 1, {True: 1}]),
    (OneOf("a", 2), ["a", 2], ["b", 3, True, None, ["a", 2]]),
    (OneOf(1, 2), [1, 2], [True, False]),
    (OneOf("a", "b"), ["a", "b"], ["c", "", 1, None]),
    (IsType("string"), ["", "a"], [5, None, b"a"]),
    (IsType("integer"), [5, 2.0, Decimal("2.0"), 10**400], [2.5, True, "5", NAN, INFINITY, Decimal("inf")]),
    (IsType("number"), [5, 2.5, Decimal(1), NAN], [True, "5", 1j]),
    (IsType("boolean"), [True, False], [0, "true"]),
    (IsType("array"), [[], (1,)], [{}, "[]", b"", {1}]),
    (IsType("object"), [{}, {"a": 1}], [[], "{}"]),
    (IsType("null"), [None], [0, "", "null"]),
    (IsType("string", "null"), ["a", None], [0, []]),
    (IsType(str, None), ["a", None], [0, []]),
    (IsType(int), [1, 2.0], [True, 1.5]),
    (IsType(float), [1.5, 1], [True, "1.5"]),
    (IsType(datetime.date), [datetime.date(2024, 1, 1)], ["2024-01-01"]),
    (AllOf(IsType("string"), Contains("A")), ["A1"], ["B1", ["A"]]),
    (AnyOf(Regex(r"A\d"), 5), ["A1", 5], ["B1", 6, None]),
    (Not(Regex("A.*")), ["B", 5, None], ["A1"]),
    (Not(5), [6, "x", None], [5]),
    (~OneOf("a", "b") & IsType("string"), ["c"], ["a", "b", 5]),
    (Partial({"a": 1}), [{"a": 1}, {"a": 1, "b": 2}], [{}, {"a": 2}, {"b": 1}, [], None]),
    (Partial({}), [{}, {"a": 1}], [[], "", None]),
    (Partial({"a": ABSENT}), [{}, {"b": 1}], [{"a": None}]),
    (Exactly({"a": 1}), [{"a": 1}], [{"a": 1, "b": 2}, {"a": 1.0}, {"a": "1"}, '{"a": 1}']),
    (Exactly([1, ANY]), [[1, None]], [(1, None), [1], "[1, null]"]),
    (Unordered([]), [[], ()], [[1], "", {}, None]),
    (Unordered([1, 2]), [[1, 2], [2, 1], (2, 1)], [[1], [1, 1], [1, 2, 2], {1: 2}, 1]),
    (Unordered([ANY, 1]), [[1, 2], [2, 1], [1, 1]], [[2, 3], [1]]),
    (Unordered([OneOf(1, 2), OneOf(2, 3), OneOf(1, 3)]), [[1, 2, 3], [3, 1, 2]], [[1, 1, 1], [2, 2, 4]]),
    (Each(GreaterThan(0)), [[], [1, 2.5], (1,)], [[1, -1], [None], {}, "", 1, None]),
    (Length(2), ["ab", [1, 2], {"a": 1, "b": 2}, b"ab", {1, 2}], ["a", [], 2, None, 22]),
    (Length(min=1), ["a", [0]], ["", []]),
    (Length(max=1), ["a", ""], ["ab"]),
    (Length(1, 2), ["a", "ab"], ["", "abc"]),
    (GreaterThan(5), [5.5, 6, Decimal(6), INFINITY], [5, 4, "6", True, None, NAN, "2024-01-01"]),
    (GreaterThan(2**53), [2**53 + 1], [float(2**53)]),
    (GreaterOrEqual(0), [0, -0.0, 1], [-1, False]),
    (LessThan(0), [-1, -INFINITY], [0, None]),
    (LessOrEqual(1.5), [1.5, 1], [2, True]),
    (GreaterThan("2024-01-31"), ["2024-02-01", "2024-02-01T00:00:00Z"], ["2024-01-31", "2024-01-31T23:00Z", "soon", 5]),
    (LessOrEqual("2024-01-31"), ["2024-01-31T23:00:00Z", datetime.date(2024, 1, 1)], ["2024-02-01", None]),
    (LessThan("2024-01-01T10:00:00+02:00"), ["2024-01-01T07:59Z"], ["2024-01-01T08:00Z", "2024-01-01T07:00"]),
    (IsDate(), ["2024-02-29"], ["2023-02-29", "2024-02-29T10:00", "", "29/02/2024", 20240229, "\uff12024-02-29"]),
    (IsDateTime(), ["2024-05-01T10:30:00Z", "2024-05-01 10:30"], ["2024-05-01", "2024-05-01T25:00:00Z", "noon", 5]),
    (NEAR, ["2024-05-01T12:00:30+02:00", "2024-05-01T09:59:00Z"], ["2024-05-01T10:01:01Z", "2024-05-01T10:00:00"]),
    (IsDateTime(near=datetime.datetime(2024, 5, 1), within=datetime.timedelta(1)), ["2024-05-01T20:00"], ["2024-05"]),
    (ORDER, [{"id": "A", "x": 1}], [{"id": 1}, {}, [], "A", None]),
    (JSONSchema({"type": "array", "items": {"type": "integer"}}), [[1], (1, 2)], [["a"], {}, 1]),
    (Satisfies(is_even), [2, 4.0], [3, "a", None]),
    (Satisfies(len), ["a"], ["", 5]),
    (Eq({"$any": True}), [{"$any": True}], [5, {}, None]),
    (Eq("*"), ["*"], ["a", 5, None]),
]  # fmt: skip

CASES = [
    pytest.param(matcher, value, answer, id=f"{row}-{type(matcher).__name__}-{type(value).__name__}-{answer}")
    for row, (matcher, matching, others) in enumerate(TABLE)
    for answer, values in ((True, matching), (False, others))
    for value in values
]


@pytest.mark.parametrize("policy", ["strict", "lenient", "subset"])
@pytest.mark.parametrize(("matcher", "value", "answer"), CASES)
def test_table(matcher: Matcher, value: object, answer: bool, policy: str) -> None:
    """A matcher matches the same values under every policy, at the top and inside a list."""
    assert matches(matcher, value, policy) is answer
    assert matches([matcher], [value], policy) is answer


@pytest.mark.parametrize(
    ("expected", "actual", "policies"),
    [
        (OneOf(1, 2), "2", "subset"),
        (OneOf(1, 2), 2.0, "lenient subset"),
        (OneOf("a"), " a", "lenient"),
        (OneOf("a", "*"), "b", "subset"),
        (Not(2), "2", "strict lenient"),
        (Contains({"a": 1}), [{"a": 1, "b": 2}], "subset"),
        (Each({"a": 1}), [{"a": 1, "b": 2}], "subset"),
        (Unordered([1, 2]), ["2", "1"], "subset"),
        (Unordered(["a", "b"]), ["b ", " a"], "lenient"),
        (Partial({"a": {"b": 1}}), {"a": {"b": 1, "c": 2}}, "subset"),
        (Partial({"a": 1}), {"a": 1.0}, "lenient subset"),
        (Eq({"a": "*"}), {"a": "x"}, ""),
        (Eq({"a": 1}), {"a": "1", "b": 2}, "subset"),
        (Exactly(1), 1.0, ""),
        (Exactly({"a": OneOf(1)}), {"a": 1.0}, ""),
        # JSON in a text is looked into by these four alone.
        (Partial({"a": 1}), '{"a": 1, "b": 2}', "subset"),
        (Each(GreaterThan(0)), "[1, 2]", "subset"),
        (Unordered([2, 1]), "[1, 2]", "subset"),
        (ORDER, '{"id": "A"}', "subset"),
        (ORDER, '"{\\"id\\": \\"A\\"}"', "subset"),
        (Contains(1), "[1, 2]", ""),
        (Length(2), "[1, 2]", ""),
        (IsType("array"), "[1, 2]", ""),
        (Exactly([1, 2]), "[1, 2]", ""),
        # A limit can't be slipped past by encoding; a schema of texts sees the text.
        (FEW, '{"seats": 9}', "strict lenient"),
        (FEW, '{"seats": 5}', "strict lenient subset"),
        (JSONSchema({"type": "string"}), '{"id": 1}', "strict lenient subset"),
        (JSONSchema({"type": ["object", "string"]}), '{"id": 1}', "strict lenient subset"),
    ],
)
def test_by_policy(expected: object, actual: object, policies: str) -> None:
    """Plain values inside a matcher are compared by the policy in force."""
    found = [policy for policy in ("strict", "lenient", "subset") if matches(expected, actual, policy)]
    assert " ".join(found) == policies


@pytest.mark.parametrize("policy", ["strict", "lenient", "subset"])
@pytest.mark.parametrize(
    ("matcher", "when_absent", "when_5", "when_6"),
    [
        (ABSENT, True, False, False),
        (ANY, False, True, True),
        (Not(ABSENT), False, True, True),
        (AnyOf(ABSENT, 5), True, True, False),
        (OneOf(5, ABSENT), True, True, False),
        (ABSENT | GreaterThan(5), True, False, True),
        (AllOf(ABSENT, 5), False, False, False),
        (AllOf(Not(ABSENT), 5), False, True, False),
        (AllOf(AnyOf(ABSENT, 5), AnyOf(ABSENT, 6)), True, False, False),
        (Not(5), False, False, True),
        (Not(AnyOf(ABSENT, 5)), False, False, True),
        (Not(AllOf(Not(ABSENT), 5)), True, False, True),
        (Exactly(AnyOf(ABSENT, 5)), True, True, False),
        (Not(Not(ABSENT)), True, False, False),
        (AnyOf(Not(ABSENT), 5), False, True, True),
        (AnyOf(Not(ABSENT)), False, True, True),
        (Not(AnyOf(Not(ABSENT))), True, False, False),
        (Not(AllOf(ABSENT)), False, True, True),
        (Eq(ABSENT), False, False, False),
        ({"$absent": True}, True, False, False),
        (Satisfies(lambda _value: True), False, True, True),
    ],
)
def test_a_key_that_is_absent(matcher: object, when_absent: bool, when_5: bool, when_6: bool, policy: str) -> None:
    """A key has to be there, unless the matcher speaks of its absence."""
    expected: Mapping[str, object] = {"a": matcher, "b": 1}
    assert matches(expected, {"b": 1}, policy) is when_absent
    assert matches(expected, {"b": 1, "a": 5}, policy) is when_5
    assert matches(expected, {"b": 1, "a": 6}, policy) is when_6


def _broken(value: object) -> bool:
    raise LookupError("no such thing")


@pytest.mark.parametrize(
    ("expected", "actual", "answer"),
    [
        (Satisfies(_broken), 5, False),
        (Not(Satisfies(_broken)), 5, False),
        (AnyOf(Satisfies(_broken), 5), 5, True),
        (AnyOf(Satisfies(_broken), 5), 6, False),
        (Not(AnyOf(Satisfies(_broken), 5)), 6, False),
        (Not(AllOf(Satisfies(_broken), 5)), 6, True),
        (Not(Contains(Satisfies(_broken))), [1], False),
        (Not({"a": Satisfies(_broken)}), {"a": 1}, False),
        (Not(Unordered([Satisfies(_broken)])), [1], False),
        (Not(Unordered([Satisfies(_broken), 2])), [1, 3], True),
        (Not(GreaterThan("2024-01-01T00:00:00Z")), "2024-01-01T00:00:00", False),
        (Not({"a": 1}), "[" * 100_000, False),
        (Not(JSONSchema({"$ref": "https://example.com/schema"})), 5, False),
        (Not(JSONSchema({"$ref": "#"})), 5, False),
    ],
)
def test_what_cannot_be_told_matches_neither_way(expected: object, actual: object, answer: bool) -> None:
    """Where it can't be told whether a part matches, neither the part nor its negation does."""
    assert matches(expected, actual) is answer


def test_a_schema_fetches_nothing(tmp_path: Any) -> None:
    """A reference to a file leads nowhere, though the file is there; one to a meta-schema is known."""
    schema = tmp_path / "schema.json"
    schema.write_text('{"type": "string"}', "utf-8")
    assert not matches(JSONSchema({"$ref": schema.as_uri()}), "text")
    assert matches(JSONSchema({"$ref": "https://json-schema.org/draft/2020-12/schema"}), {"type": "string"})
    assert not matches(JSONSchema({"$ref": "https://json-schema.org/draft/2020-12/schema"}), {"type": 5})


@pytest.mark.parametrize(
    ("expected", "answer"),
    [(list(range(2_000)), True), ([*range(1_999), 5], False), ([{"i": number} for number in range(2_000)], False)],
)
def test_many_items_in_any_order(expected: list[object], answer: bool) -> None:
    """2,000 items are assigned without recursion."""
    assert matches(Unordered(expected), list(reversed(range(2_000)))) is answer


def test_many_items_that_need_repairing() -> None:
    """An item that took another's only partner gives it back, at every size."""
    expected = Unordered([*[ANY] * 300, *range(300)])
    assert matches(expected, [*range(300), *["x"] * 300])
    assert not matches(expected, [*range(1, 300), *["x"] * 301])
