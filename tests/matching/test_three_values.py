"""Matching has three answers for who must rule a match out: yes, no, and that it can't be told."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from matching_strategies import POLICIES, expectations, plain_values

from tracewitness.matching import (
    ANY,
    AllOf,
    AnyOf,
    Contains,
    Each,
    Exactly,
    GreaterThan,
    IsDateTime,
    IsType,
    JSONSchema,
    Length,
    Not,
    Partial,
    Regex,
    Satisfies,
    Unordered,
    compile_expected,
    matches,
)

DEEP = '{"all": true, "x": ' + "[" * 3000 + "]" * 3000 + "}"
LONG = '{"all": true, "x": ' + "9" * 5000 + "}"


def refuse(*_: Any, **__: Any) -> Any:
    raise OSError("no")


RAISES = Satisfies(refuse)


class Unequal:
    """Says itself what it equals, and can't."""

    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        raise OSError("no")


class BadDict(dict[str, Any]):
    get = __len__ = __iter__ = keys = items = values = refuse


class BadList(list[Any]):
    __len__ = __iter__ = refuse


class BadText(str):
    lower = lstrip = strip = startswith = __len__ = __eq__ = refuse
    __hash__ = str.__hash__


class BadInt(int):
    __eq__ = __gt__ = __lt__ = __ne__ = __mod__ = __abs__ = refuse
    __hash__ = int.__hash__


class BadMapping(Mapping[str, Any]):
    def __getitem__(self, key: str) -> Any:
        raise OSError("no")

    def __iter__(self) -> Iterator[str]:
        raise OSError("no")

    def __len__(self) -> int:
        raise OSError("no")


# Expected, actual: nobody can tell whether they match; nor, then, whether the negation does.
UNDECIDED: dict[str, tuple[Any, Any]] = {
    "JSON too deep": ({"all": True}, DEEP),
    "JSON number too long": ({"all": True}, LONG),
    "JSON below": ({"filter": {"all": True}}, {"filter": DEEP}),
    "list in JSON": ([1], "[" * 3000 + "]" * 3000),
    "each in JSON": (Each(1), LONG),
    "unordered in JSON": (Unordered([1]), LONG),
    "schema in JSON": (JSONSchema({"type": "object"}), LONG),
    "schema without its end": (JSONSchema({"$ref": "https://example.com/nowhere"}), {}),
    "text against a value": (DEEP, {"all": True}),
    "one time zone of two": (GreaterThan("2024-01-01T00:00:00Z"), "2025-06-01T00:00:00"),
    "the other time zone of two": (GreaterThan("2024-01-01T00:00:00"), "2025-06-01T00:00:00Z"),
    "near without a zone": (IsDateTime(near="2024-05-01T10:00:00Z", within=60), "2024-05-01T10:00:00"),
    "function that raises": (RAISES, 1),
    "equality that raises": (Unequal(), 1),
    "key that can't be told": ({"a": RAISES, "b": 1}, {"a": 1, "b": 1}),
    "key that can't be told, last": ({"b": 1, "a": RAISES}, {"a": 1, "b": 1}),
    "same keys": (Exactly({"a": RAISES, "b": 1}), {"a": 1, "b": 1}),
    "item that can't be told": ([RAISES, 1], [1, 1]),
    "some item": (Contains(RAISES), [1]),
    "each item": (Each(RAISES), [1]),
    "paired item": (Unordered([RAISES, 1]), [2, 1]),
    "all of": (AllOf(ANY, RAISES), 1),
    "any of": (AnyOf(2, RAISES), 1),
    "not": (Not(RAISES), 1),
    "mapping whose get raises": ({"a": 1}, BadDict(a=1)),
    "mapping whose get raises, two keys": ({"a": 1, "b": 2}, BadDict(a=1, b=2)),
    "mapping whose get raises, partial": (Partial({"a": 1}), BadDict(a=1)),
    "mapping that can't be read": ({"a": 1}, BadMapping()),
    "list whose length raises": ([1], BadList([1])),
    "list that can't be walked": (Each(1), BadList([1])),
    "size that raises": (Length(1), BadList([1])),
    "text whose lower raises": (True, BadText("true")),
    "text whose strip raises": ({"a": 1}, BadText('{"a": 1}')),
    "number whose equality raises": (5, BadInt(5)),
    "number that can't be compared": (GreaterThan(1), BadInt(5)),
    "below any of": (AnyOf([5], {"a": 1}), [BadInt(5)]),
}

# Expected, actual, answer: one part decides, whatever can't be told of the others, in whatever order they stand.
DECIDED: dict[str, tuple[Any, Any, bool]] = {
    "a key after": ({"a": RAISES, "b": 1}, {"a": 1, "b": 2}, False),
    "a key before": ({"b": 1, "a": RAISES}, {"a": 1, "b": 2}, False),
    "a missing key": ({"a": RAISES, "b": 1}, {"a": 1}, False),
    "a key of a hostile value": ({"a": 1, "b": 2}, {"a": BadInt(1), "b": 3}, False),
    "one key too many": (Exactly({"a": RAISES}), {"a": 1, "b": 2}, False),
    "an item after": ([RAISES, 1], [1, 2], False),
    "another length": ([RAISES], [1, 2], False),
    "some item matches": (Contains(AnyOf(1, RAISES)), [5, 1], True),
    "one of each does not": (Each(AnyOf(Length(3), AllOf(RAISES, Length(1)))), ["b", ""], False),
    "all of": (AllOf(RAISES, 2), 1, False),
    "any of": (AnyOf(RAISES, 1), 1, True),
    "any of, hostile": (AnyOf([5], ANY), [BadInt(5)], True),
    "not all of": (Not(AllOf(RAISES, 2)), 1, True),
    "not a mapping": (Not({"a": RAISES, "b": 1}), {"a": 1, "b": 2}, True),
    "no partner at all": (Unordered([3, RAISES]), [1, 2], False),
    "text that is no JSON": ({"a": 1}, "[x]", False),
    "no number": (1, Decimal("sNaN"), False),
    "text of a signalling NaN": ("1", Decimal("sNaN"), False),
    "text with a fraction": ("1.5", Decimal("sNaN"), False),
    "a large decimal is whole": (IsType("integer"), Decimal("1e99999999"), True),
    "a small decimal is not": (IsType("integer"), Decimal("1e-99999999"), False),
    "a signalling NaN is no integer": (IsType("integer"), Decimal("sNaN"), False),
    "an infinite decimal is none": (IsType("integer"), Decimal("inf"), False),
}


@pytest.mark.parametrize("case", UNDECIDED)
def test_undecided(case: str) -> None:
    """Neither an expectation nor its negation holds, at any depth; the one difference says why, in its place."""
    expected, actual = UNDECIDED[case]
    for outer, value in (
        (expected, actual),
        (Not(expected), actual),
        ({"at": expected}, {"at": actual}),
        ({"at": Not(expected), "x": 1}, {"at": actual, "x": 1}),
    ):
        compiled = compile_expected(outer)
        assert compiled.decides(value) is None
        assert compiled.matches(value) is False
        (difference,) = compiled.differences(value)
        assert difference.reason
        assert str(difference).isprintable()
    inner = compile_expected({"at": Not(expected)}).differences({"at": actual})
    assert inner[0].path == ("at",)


@pytest.mark.parametrize("case", DECIDED)
def test_decided_all_the_same(case: str) -> None:
    """What one part decides is decided."""
    expected, actual, answer = DECIDED[case]
    compiled = compile_expected(expected)
    assert compiled.decides(actual) is answer
    assert compiled.matches(actual) is answer
    assert matches(Not(expected), actual) is not answer


@given(expectations, plain_values, st.sampled_from(POLICIES))
def test_laws_of_three_values(expected: Any, actual: Any, policy: str) -> None:
    """``matches`` is that ``decides`` is true; a negation is decided where its part is, the other way round."""
    decided = compile_expected(expected, policy).decides(actual)
    assert compile_expected(expected, policy).matches(actual) is (decided is True)
    assert compile_expected(Not(expected), policy).decides(actual) is (None if decided is None else not decided)


@given(st.permutations(["a", "b", "c"]), st.tuples(*[st.sampled_from([True, False, None])] * 3))
def test_order_does_not_matter(order: list[str], answers: tuple[bool | None, ...]) -> None:
    """A mapping, a list and a combination are false if a part is, else undecided if a part is, in whatever order."""
    parts = dict(zip("abc", ({True: 1, False: 2, None: RAISES}[answer] for answer in answers), strict=True))
    actual = dict.fromkeys("abc", 1)
    expected = False if False in answers else None if None in answers else True
    ordered = {key: parts[key] for key in order}
    for written in (ordered, Exactly(ordered), AllOf(*({key: part} for key, part in ordered.items()))):
        assert compile_expected(written).decides(actual) is expected
    assert compile_expected(list(ordered.values())).decides([1, 1, 1]) is expected
    assert compile_expected(AllOf(*ordered.values())).decides(1) is expected


def test_undecided_deep_down_costs_little() -> None:
    """A part that can't be told of is asked once, however deep it stands, not once more at each level."""
    asked: list[object] = []

    def ask(value: object) -> bool:
        asked.append(value)
        raise OSError("no")

    expected: Any = Satisfies(ask)
    actual: Any = 1
    for _ in range(40):
        expected, actual = {"a": expected, "b": [1, 1]}, {"a": actual, "b": [1, 1]}
    assert compile_expected(expected).decides(actual) is None
    assert len(asked) == 1


def test_regex_on_hostile_text() -> None:
    """A text subclass is matched by what it holds, whatever its methods raise."""
    assert compile_expected(Regex("tru.")).decides(BadText("true")) is True
