"""Laws that hold for all values and expectations, found out by generated cases."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from matching_strategies import POLICIES, expectations, json_values, plain_values, writable

from tracewitness.matching import (
    AllOf,
    AnyOf,
    Eq,
    Matcher,
    Not,
    compile_expected,
    matches,
    parse,
    strict_key,
    to_file_notation,
)
from tracewitness.matching.jsontext import LEVELS
from tracewitness.matching.values import UndecidedError

policies = st.sampled_from(POLICIES)


def naive(expected: Any, actual: Any, policy: str, levels: int = 3) -> bool:
    """Compare two JSON values as the table of policies says, in the most direct way."""
    if policy == "subset" and expected == "*" and isinstance(expected, str):
        return actual is not None and actual not in ("", [], {})
    if isinstance(expected, dict) and isinstance(actual, dict):
        has_keys = expected.keys() <= actual.keys() if policy == "subset" else expected.keys() == actual.keys()
        return has_keys and all(naive(value, actual[key], policy, levels) for key, value in expected.items())
    if isinstance(expected, list) and isinstance(actual, list):
        pairs = zip(expected, actual, strict=False)
        return len(expected) == len(actual) and all(naive(*pair, policy, levels) for pair in pairs)
    if isinstance(expected, str) and isinstance(actual, str):
        return expected.strip() == actual.strip() if policy == "lenient" else expected == actual
    if policy == "subset" and isinstance(actual, str):
        return naive_coerced(actual, expected, lambda inside, left: naive(expected, inside, policy, left), levels)
    if policy == "subset" and isinstance(expected, str):
        return naive_coerced(
            expected, actual, lambda inside, left: matches(Eq(inside), actual, policy) and left >= 0, levels
        )
    return naive_scalar(expected, actual, policy)


def naive_coerced(text: str, other: Any, compare: Any, levels: int) -> bool:
    """Compare a text with what is none, under subset."""
    if isinstance(other, bool):
        return text.lower() == str(other).lower()
    try:
        inside = json.loads(text)
    except ValueError:
        return False
    if isinstance(other, (dict, list)):
        if levels == 0 or not isinstance(inside, (dict, list, str)):
            return False
        if isinstance(inside, str):
            return naive_coerced(inside, other, compare, levels - 1)
        return bool(compare(inside, levels - 1))
    is_number = isinstance(other, (int, float)) and isinstance(inside, (int, float))
    if not is_number or isinstance(inside, bool) or text == "NaN":
        return False
    return naive_scalar(other, inside, "lenient")


def naive_scalar(expected: Any, actual: Any, policy: str) -> bool:
    """Compare two values of which not both are texts, mappings or lists."""
    if expected is None or isinstance(expected, bool) or isinstance(actual, bool):
        return expected is actual
    if not (isinstance(expected, (int, float)) and isinstance(actual, (int, float))):
        return False
    if policy == "strict" and type(expected) is not type(actual):
        return False
    if any(isinstance(number, float) and not math.isfinite(number) for number in (expected, actual)):
        return repr(expected) == repr(actual)
    return Fraction(expected) == Fraction(actual)


@given(json_values, json_values, policies)
def test_the_table_of_policies(expected: Any, actual: Any, policy: str) -> None:
    """The compiled comparison is the one that the table of policies describes."""
    assert matches(expected, actual, policy) is naive(expected, actual, policy)


@given(json_values, policies)
def test_every_value_matches_itself(value: Any, policy: str) -> None:
    """A value taken literally matches itself under each policy."""
    assert matches(Eq(value), value, policy)


@given(plain_values, plain_values)
def test_strict_is_the_narrowest(expected: Any, actual: Any) -> None:
    """What matches under strict matches under lenient and subset as well, literally."""
    if matches(Eq(expected), actual, "strict"):
        assert matches(Eq(expected), actual, "lenient")
        assert matches(Eq(expected), actual, "subset")


@given(plain_values, plain_values)
def test_strict_keys_are_equal_where_values_match(one: Any, other: Any) -> None:
    """Two plain values have equal keys if, and only if, they match under strict."""
    equal = strict_key(one) == strict_key(other)
    assert equal is matches(Eq(one), other, "strict")
    assert not equal or hash(strict_key(one)) == hash(strict_key(other))


@given(plain_values)
def test_a_strict_key_does_not_depend_on_order(value: Any) -> None:
    """A mapping with its keys in another order has the same key."""
    assert strict_key(_reversed(value)) == strict_key(value)


def _reversed(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _reversed(value[key]) for key in reversed(value)}
    return type(value)(map(_reversed, value)) if isinstance(value, (list, tuple)) else value


@given(expectations, plain_values, policies)
def test_differences_agree_with_matches(expected: Any, actual: Any, policy: str) -> None:
    """There are differences if, and only if, the value does not match; each can be written on one line."""
    compiled = compile_expected(expected, policy)
    # What is asked is the explanation itself: the front asks the test before it.
    found = list(compiled._node.explain(actual, ("args",), LEVELS))
    assert compiled.matches(actual) is (found == [])
    assert (compiled.differences(actual) == []) is compiled.matches(actual)
    assert all(str(difference).isprintable() for difference in found)
    assert all(difference.path[0] == "args" for difference in found)


@given(expectations, plain_values, policies)
def test_negation(expected: Any, actual: Any, policy: str) -> None:
    """Not holds where the part does not, except where it can't be told; then neither does."""
    compiled = compile_expected(expected, policy)
    try:
        holds = compiled._node.test(actual, LEVELS)
    except UndecidedError:
        assert not compiled.matches(actual)
        assert not matches(Not(expected), actual, policy)
    else:
        assert matches(Not(expected), actual, policy) is not holds


@given(expectations, expectations, st.dictionaries(st.just("a"), plain_values), policies)
def test_de_morgan(one: Any, other: Any, actual: dict[str, Any], policy: str) -> None:
    """The negation of an alternative is both negations, also for a key that is absent."""
    either = matches({"a": Not(AnyOf(one, other))}, actual, policy)
    assert either is matches({"a": AllOf(Not(one), Not(other))}, actual, policy)
    both = matches({"a": Not(AllOf(one, other))}, actual, policy)
    assert both is matches({"a": AnyOf(Not(one), Not(other))}, actual, policy)


@given(expectations)
def test_a_double_negation_is_none(expected: Any) -> None:
    """Not(Not(matcher)) is the matcher itself."""
    if isinstance(expected, Matcher):
        assert Not(Not(expected)) == expected
        assert ~~expected == expected


@given(writable)
def test_parsing_undoes_writing(expected: Any) -> None:
    """What is written to file notation, also through JSON, comes back as it was."""
    written = to_file_notation(expected)
    assert Eq(parse(written)) == Eq(parse(expected))
    assert Eq(parse(json.loads(json.dumps(written)))) == Eq(parse(expected))


@given(writable)
def test_writing_undoes_parsing(expected: Any) -> None:
    """What is read from file notation is written the same again."""
    written = to_file_notation(expected)
    assert strict_key(to_file_notation(parse(written))) == strict_key(written)


@given(expectations)
def test_parsing_twice_changes_nothing(expected: Any) -> None:
    """What is parsed has no file notation left in it."""
    assert Eq(parse(parse(expected))) == Eq(parse(expected))


@given(expectations, expectations)
def test_equal_matchers_have_equal_hashes(one: Any, other: Any) -> None:
    """Hashing agrees with equality, so that matchers can be members of sets."""
    if isinstance(one, Matcher) and one == other:
        assert hash(one) == hash(other)
