"""Matchers as values: how they are made, written, compared, combined; and what can't be made."""

from __future__ import annotations

import copy
import pickle
import re
import sys
from collections.abc import Callable
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
    Matcher,
    Not,
    OneOf,
    Partial,
    Regex,
    Satisfies,
    Search,
    Unordered,
    compile_expected,
    matches,
)

# How a matcher is written, and what makes it.
WRITTEN: dict[str, Callable[[], Matcher]] = {
    "ANY": lambda: ANY,
    "ABSENT": lambda: ABSENT,
    "Regex('A.*')": lambda: Regex("A.*"),
    "Regex('a', flags=2)": lambda: Regex("a", flags=2),
    "Search('a')": lambda: Search("a"),
    "Approx(2.5)": lambda: Approx(2.5),
    "Approx(2.5, rel=0.01, abs=1)": lambda: Approx(2.5, rel=0.01, abs=1),
    "Contains('a')": lambda: Contains("a"),
    "OneOf('a', 2)": lambda: OneOf("a", 2),
    "IsType('string', 'null')": lambda: IsType("string", "null"),
    "IsType(str, None)": lambda: IsType(str, None),
    "AllOf(IsDate(), Length(10))": lambda: AllOf(IsDate(), Length(10)),
    "AnyOf(ABSENT, 5)": lambda: AnyOf(ABSENT, 5),
    "Not(Regex('a'))": lambda: Not(Regex("a")),
    "Partial({'a': ANY})": lambda: Partial({"a": ANY}),
    "Exactly([1])": lambda: Exactly([1]),
    "Unordered([1, 2])": lambda: Unordered([1, 2]),
    "Each(GreaterThan(0))": lambda: Each(GreaterThan(0)),
    "Length(3)": lambda: Length(3),
    "Length(min=1)": lambda: Length(min=1),
    "Length(max=3)": lambda: Length(max=3),
    "Length(min=1, max=3)": lambda: Length(min=1, max=3),
    "GreaterOrEqual(1)": lambda: GreaterOrEqual(1),
    "LessThan(1)": lambda: LessThan(1),
    "LessOrEqual('2024-01-01')": lambda: LessOrEqual("2024-01-01"),
    "IsDate()": lambda: IsDate(),
    "IsDateTime()": lambda: IsDateTime(),
    "IsDateTime(near='2024-05-01T10:00:00Z', within=60)": lambda: IsDateTime(near="2024-05-01T10:00:00Z", within=60),
    "JSONSchema({'type': 'object'})": lambda: JSONSchema({"type": "object"}),
    "Eq({'$a': '*'})": lambda: Eq({"$a": "*"}),
    "Satisfies(str.isupper)": lambda: Satisfies(str.isupper),
}


@pytest.mark.parametrize("text", WRITTEN)
def test_a_repr_reads_as_it_was_written(text: str) -> None:
    """The repr is the expression that makes an equal matcher."""
    assert repr(WRITTEN[text]()) == text
    assert WRITTEN[text]() == WRITTEN[text]()
    assert hash(WRITTEN[text]()) == hash(WRITTEN[text]())


@pytest.mark.parametrize("text", WRITTEN)
def test_a_matcher_survives_copying_and_pickling(text: str) -> None:
    """A copy is equal; the two constants stay the ones they are."""
    made = WRITTEN[text]()
    for copied in (copy.copy(made), copy.deepcopy(made), pickle.loads(pickle.dumps(made))):  # noqa: S301  our own bytes
        assert copied == made
        assert made not in (ANY, ABSENT) or copied is made


def test_different_matchers_are_not_equal() -> None:
    """No two of the table are equal, nor is a matcher equal to what it matches."""
    made = [make() for make in WRITTEN.values()]
    assert len(set(made)) == len(WRITTEN)
    assert Regex("a") != "a"
    assert Regex("a") != Search("a")
    assert Eq(1) != Eq(True)
    assert Eq(1) != Eq(1.0)
    assert ANY != 5


def test_operators() -> None:
    """&, | and ~ combine matchers, also with plain values on either side."""
    one, other = Regex("a"), Length(1)
    assert one & other & 5 == AllOf(one, other, 5)
    assert one | other | 5 == AnyOf(one, other, 5)
    assert 5 & one == AllOf(5, one)
    assert {"a": 1} | one == AnyOf({"a": 1}, one)
    assert ~one == Not(one)
    assert ~~one == one
    assert OneOf(1) | one == AnyOf(OneOf(1), one)


def test_a_matcher_cannot_be_changed() -> None:
    """Setting or deleting an attribute raises."""
    matcher = Regex("a")
    with pytest.raises(AttributeError, match="make a new one"):
        matcher.pattern = "b"
    with pytest.raises(AttributeError, match="make a new one"):
        del matcher.pattern


# Raw values on purpose: what a type checker would have caught.
BROKEN: list[tuple[Callable[..., object], tuple[Any, ...], dict[str, Any], str]] = [
    (Regex, ("(",), {}, r"'\(' does not compile: .*unterminated subpattern at character 0"),
    (Regex, (b"a",), {}, "needs a pattern as text, not b'a'"),
    (Regex, (re.compile("a"),), {}, "needs a pattern as text"),
    (Regex, ("(" * 5_000,), {}, "does not compile"),
    (Regex, ("a{99999999999}",), {}, "does not compile"),
    (Search, ("*",), {}, "nothing to repeat at character 0"),
    (Approx, ("2",), {}, "Approx needs a number, not '2'"),
    (Approx, (True,), {}, "needs a number"),
    (Approx, (1,), {"rel": -1}, "rel a number from 0 up, not -1"),
    (Approx, (1,), {"abs": float("nan")}, "abs a number from 0 up, not nan"),
    (OneOf, (), {}, "OneOf needs at least one value"),
    (AllOf, (), {}, "AllOf needs at least one value"),
    (IsType, (), {}, "at least one type: string, integer"),
    (IsType, ("str",), {}, "unknown type 'str'; did you mean 'string'"),
    (IsType, ("Int",), {}, "did you mean 'integer'"),
    (IsType, ("nul",), {}, "did you mean 'null'"),
    (IsType, ("xyzzy",), {}, "unknown type 'xyzzy'; the types are string"),
    (IsType, (5,), {}, "5 is no type"),
    (Length, (), {}, "Length needs a number"),
    (Length, (-1,), {}, "from 0 up, not -1"),
    (Length, (True,), {}, "from 0 up, not True"),
    (Length, (1.5,), {}, "from 0 up, not 1.5"),
    (Length, (3, 1), {}, "no length is at least 3 and at most 1"),
    (Length, (1, 2, 3), {}, "takes one number, or a smallest and a largest"),
    (Length, (1,), {"max": 2}, "takes one number, or a smallest and a largest"),
    (GreaterThan, ("soon",), {}, "a number or an ISO 8601 date, not 'soon'"),
    (LessThan, (float("nan"),), {}, "a number or an ISO 8601 date, not nan"),
    (LessOrEqual, (True,), {}, "a number or an ISO 8601 date, not True"),
    (IsDateTime, (), {"near": "2024-05-01T10:00:00Z"}, "near and within together"),
    (IsDateTime, (), {"within": 5}, "near and within together"),
    (IsDateTime, (), {"near": "2024-05-01", "within": 5}, "with a time, not '2024-05-01'"),
    (IsDateTime, (), {"near": "2024-05-01T10:00:00Z", "within": -5}, "seconds from 0 up, not -5"),
    (IsDateTime, (), {"near": "2024-05-01T10:00:00Z", "within": "5"}, "seconds from 0 up, not '5'"),
    (Partial, ([1],), {}, r"a mapping of keys to values, not \[1\]"),
    (Unordered, ("ab",), {}, "a list of items, not 'ab'"),
    (JSONSchema, ("x",), {}, "a schema as a mapping, not 'x'"),
    (JSONSchema, ({"type": "strin"},), {}, "the schema is not valid at type: 'strin'"),
    (Satisfies, (5,), {}, "needs a function, not 5"),
    (compile_expected, (1, "subst"), {}, "unknown policy 'subst'; did you mean 'subset'"),
    (compile_expected, (1, None), {}, "unknown policy None; the policies are strict, lenient, subset"),
    (matches, ({"$regx": "a"}, "a"), {}, "unknown matcher"),
]  # fmt: skip


@pytest.mark.parametrize(("make", "positional", "named", "message"), BROKEN)
def test_what_cannot_be_made(
    make: Callable[..., object], positional: tuple[Any, ...], named: dict[str, Any], message: str
) -> None:
    """An argument that can't be used raises at once, and the error says what is wrong."""
    with pytest.raises(ExpectationError, match=message):
        make(*positional, **named)


def test_a_schema_without_its_library_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where jsonschema is missing, the error says what to install."""
    monkeypatch.setitem(sys.modules, "jsonschema.exceptions", None)
    with pytest.raises(ExpectationError, match=r"pip install 'tracewitness\[schema\]'"):
        JSONSchema({"type": "object"})


def test_an_expectation_that_nests_too_deeply() -> None:
    """Nesting without end raises, whether of lists, of matchers or of a value in itself."""
    deep: Any = 1
    for _ in range(10_000):
        deep = [deep]
    circle: list[Any] = []
    circle.append(circle)
    matcher: Any = 1
    for _ in range(150):
        matcher = Exactly(matcher)
    for expected in (deep, circle, matcher, Eq(deep), {"a": Exactly(circle)}):
        with pytest.raises(ExpectationError, match="nests more than 100 levels deep"):
            compile_expected(expected)


def test_an_expectation_may_nest_as_deeply_as_is_said() -> None:
    """99 lists in a list are compared, and explained, at every depth."""
    expected: Any = 1
    actual: Any = 2
    for _ in range(100):
        expected, actual = [expected], [actual]
    compiled = compile_expected(expected)
    assert compiled.matches(expected)
    (difference,) = compiled.differences(actual)
    assert difference.path == (0,) * 100


def test_compiled_expectations_can_be_sent_to_another_process() -> None:
    """A pickled one is compiled again, and knows what it expects."""
    compiled = pickle.loads(pickle.dumps(compile_expected({"id": {"$regex": "A.*"}}, "lenient")))  # noqa: S301  ours
    assert compiled.expected == {"id": Regex("A.*")}
    assert compiled.policy == "lenient"
    assert compiled.matches({"id": "A1"})
    assert not compiled.matches({"id": "A1", "x": 1})
