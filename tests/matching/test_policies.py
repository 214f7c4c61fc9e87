"""What the shared cases can't say: values beyond JSON, sizes, depths, and foreign objects."""

from __future__ import annotations

import dataclasses
import datetime
import enum
import sys
from collections import Counter, OrderedDict, UserDict, UserList, deque, namedtuple
from decimal import Decimal
from fractions import Fraction
from types import MappingProxyType
from typing import Any
from unittest import mock

import dirty_equals
import pytest

from tracewitness.matching import ANY, Length, Not, OneOf, Partial, Unordered, compile_expected, differences, matches


class Colour(enum.Enum):
    RED = 1


class Word(str, enum.Enum):  # noqa: UP042  StrEnum is another thing: its str() differs
    HELLO = "hello"
    NOTHING = ""


class Level(enum.IntEnum):
    HIGH = 2


@dataclasses.dataclass
class Money:
    amount: int


class Near(float):
    """A number that says itself what it equals."""

    __hash__ = float.__hash__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, float) and abs(float(self) - other) < 1


class Broken:
    """What can't be compared."""

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        raise LookupError("no\x1b[31m such thing")


class BrokenMapping(UserDict[str, object]):
    def __iter__(self) -> Any:
        raise LookupError("no keys")


class BrokenList(UserList[object]):
    def __iter__(self) -> Any:
        raise LookupError("no items")

    def __len__(self) -> int:
        raise LookupError("no length")


class Everything:
    """What claims to be equal to everything; on the actual side it must not be believed."""

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        return True


Pair = namedtuple("Pair", "left right")

TABLE: list[tuple[Any, Any, str]] = [
    # Numbers of other types.
    (Decimal("2.0"), Decimal(2), "strict lenient subset"),
    (Decimal(2), 2, "lenient subset"),
    (2, Decimal("2.00"), "lenient subset"),
    (2.5, Fraction(5, 2), "lenient subset"),
    (Decimal("0.1"), "0.1", "subset"),
    (0.1, Decimal("0.1"), ""),
    (Decimal("NaN"), float("nan"), "lenient subset"),
    (Decimal("sNaN"), Decimal("sNaN"), ""),
    (2, Level.HIGH, "lenient subset"),
    (Level.HIGH, Level.HIGH, "strict lenient subset"),
    (-0.0, 0.0, "strict lenient subset"),
    (1j, 1j, "strict lenient subset"),
    (True, Decimal(1), ""),
    # Numbers in texts.
    (0.1, "0.10", "subset"),
    (0.1, "0.1000000000000000055511151231257827", "subset"),
    (0, "-0", "subset"),
    (0, "0.0e5", "subset"),
    (0, "0e99999999999999999999999", "subset"),
    (5, "5e-0", "subset"),
    (50, "0.5e2", "subset"),
    (5, "1e999999999", ""),
    (5, "1e-999999999", ""),
    (5, "1234e999999999999999999", ""),
    (5, "1e99999999999999999999999", ""),
    (10**400, "1e400", "subset"),
    (10**400 + 1, "1e400", ""),
    (float("inf"), "Infinity", ""),
    (float("nan"), "NaN", ""),
    (10**5_000, "1" + "0" * 5_000, "subset"),
    (10**5_000 + 1, "1" + "0" * 5_000, ""),
    (5, "9" * 1_000_000, ""),
    (2**53 + 1, "9007199254740993.0", "subset"),
    (float(2**53), "9007199254740993", ""),
    (float(2**53), "9007199254740993.0", "subset"),
    ("2", Decimal("2.0"), "subset"),
    ("1e3", 1000, "subset"),
    ("2.0", 2, "subset"),
    # Texts.
    ("hello", Word.HELLO, "strict lenient subset"),
    (Word.HELLO, "hello", "strict lenient subset"),
    ("\ud800", "\ud800", "strict lenient subset"),
    ("\ud800", "\ud801", ""),
    ("a" * 1_000_000, "a" * 999_999 + "b", ""),
    ("\u00a0a", "a", "lenient"),
    (True, "tr\u00fce", ""),
    # Mappings and lists of other types, keys that are no texts.
    ({"a": 1}, OrderedDict(a=1), "strict lenient subset"),
    (OrderedDict(a=1), {"a": 1}, "strict lenient subset"),
    ({"a": 1}, MappingProxyType({"a": 1}), "strict lenient subset"),
    ({"a": 1}, UserDict({"a": 1}), "strict lenient subset"),
    (Counter("a"), {"a": 1}, "strict lenient subset"),
    ([1], UserList([1]), "lenient subset"),
    ([1, 2], (1, 2), "lenient subset"),
    ((1, 2), (1, 2), "strict lenient subset"),
    ([1, 2], deque([1, 2]), "lenient subset"),
    (Pair(1, 2), Pair(1, 2), "strict lenient subset"),
    (Pair(1, 2), (1, 2), "lenient subset"),
    ([97], b"a", ""),
    ({1: "a"}, {1: "a"}, "strict lenient subset"),
    ({1: "a"}, {True: "a"}, ""),
    ({1: "a"}, {1.0: "a"}, ""),
    ({1: "a"}, {"1": "a"}, ""),
    ({(1,): "a", None: 2}, {None: 2, (1,): "a"}, "strict lenient subset"),
    ({(1,): "a"}, {(True,): "a"}, ""),
    ({None: "a", "b": 1}, {None: "a", "b": 1, "c": 2}, "subset"),
    ({"hello": 1}, {Word.HELLO: 1}, "strict lenient subset"),
    ({Word.HELLO: 1}, {"hello": 1}, "strict lenient subset"),
    # Sets and bytes: by type and equality.
    ({1, 2}, {2, 1}, "strict lenient subset"),
    ({1}, {True}, ""),
    ({1}, frozenset({1}), ""),
    (b"a", b"a", "strict lenient subset"),
    (b"a", bytearray(b"a"), ""),
    (b"a", "a", ""),
    ("*", {1}, "subset"),
    ("*", Word.HELLO, "subset"),
    ("*", "", ""),
    ("*", Word.NOTHING, ""),
    ("*", UserDict(), ""),
    ("*", deque(), ""),
    (Decimal(2), "1e99999999999999999", ""),
    ("[" * 300 + "]" * 300, 5, ""),
    (Not("[" * 300 + "]" * 300), [1], "strict lenient"),
    (Not('{"a": ' + "9" * 10_000 + "}"), {"a": 1}, "strict lenient"),
    (Not('{"a": ' + "9" * 10_000 + "}"), 5, "strict lenient subset"),
    ([1], BrokenList([1]), ""),
    (Not([1]), BrokenList([1]), "strict"),
    (Not(Length(2)), BrokenList([1]), ""),
    (Unordered([Decimal(1), 1, "1", True]), [True, "1", 1, Decimal(1)], "strict lenient subset"),
    (Unordered([1, True]), [True, 1.0], "lenient subset"),
    (Unordered([1] * 20 + [{"a": 1}]), [{"a": 1}] + [1] * 20, "strict lenient subset"),
    (Unordered([ANY] * 20), [1] * 20, "strict lenient subset"),
    (Unordered([{"a": "x"}] * 20), [{"a": "x ", "b": 1}] * 20, ""),
    (Unordered([{"a": 1}] * 20), [{"a": 1, "b": 1}] * 20, "subset"),
    # Objects with an equality of their own.
    (datetime.date(2024, 1, 1), datetime.date(2024, 1, 1), "strict lenient subset"),
    (Colour.RED, Colour.RED, "strict lenient subset"),
    (Colour.RED, 1, ""),
    (Money(5), Money(5), "strict lenient subset"),
    (Money(5), Money(6), ""),
    (Near(2.0), 2.5, "strict lenient subset"),
    (mock.ANY, None, "strict lenient subset"),
    (pytest.approx(2.5), 2.5000001, "strict lenient subset"),
    (pytest.approx(2.5), 2.6, ""),
    (dirty_equals.IsInt(gt=3), 5, "strict lenient subset"),
    (dirty_equals.IsInt(gt=3), "5", ""),
    (dirty_equals.IsPartialDict(a=1), {"a": 1, "b": 2}, "strict lenient subset"),
    (Broken(), 5, ""),
    (Not(Broken()), 5, ""),
    (5, Broken(), ""),
    (5, Everything(), ""),
    ("a", Everything(), ""),
    ({"a": 1}, Everything(), ""),
    ([1], Everything(), ""),
    (Money(5), Everything(), ""),
    (b"a", Everything(), ""),
    ({"a": 1}, BrokenMapping(a=1), ""),
    (Not({"a": 1}), BrokenMapping(a=1), ""),
    # JSON in texts.
    ({"a": 1}, '{"a": 2, "a": 1}', "subset"),
    ({"a": 2}, '{"a": 2, "a": 1}', ""),
    ({"a": float("nan"), "b": float("inf")}, '{"a": NaN, "b": 1e400}', "subset"),
    ({"a": 2**64 + 1}, '{"a": 18446744073709551617}', "subset"),
    ({"a": 2**64}, '{"a": 18446744073709551617}', ""),
    ({"a": 1}, ' \n{"a": 1}\t', "subset"),
    ({"a": 1}, '\ufeff{"a": 1}', ""),
    ({"a": 1}, '{"a": 1} x', ""),
    ({"a": 1}, "{" * 1_000_000, ""),
    ({"a": ANY}, '{"a": ' + "[" * 100_000 + "]" * 100_000 + "}", ""),
    ({"a": ANY}, '{"a": ' + "9" * 10_000 + "}", ""),
    ({"a": "\ud800"}, '{"a": "\\ud800"}', "subset"),
    ('{"a": {"$any": true}}', {"a": {"$any": True}}, "subset"),
    ('{"a": {"$any": true}}', {"a": 5}, ""),
    ('{"a": "*"}', {"a": "x"}, ""),
    ('"\\"[1]\\""', [1], "subset"),
    ('"\\"\\\\\\"[1]\\\\\\"\\""', [1], ""),
    ("[" * 300 + "]" * 300, [1], ""),
    ("[" * 300 + "]" * 300, "[" * 300 + "]" * 300, "strict lenient subset"),
    ({"a": "[1]"}, '{"a": [1]}', "subset"),
    ('{"a": [1]}', {"a": '"[1]"'}, "subset"),
    ('{"a": [1]}', {"a": '"\\"[1]\\""'}, ""),
    ({"a": {"b": [1]}}, {"a": '{"b": "[1]"}'}, "subset"),
]


@pytest.mark.parametrize(("expected", "actual", "policies"), TABLE, ids=range(len(TABLE)))
def test_table(expected: object, actual: object, policies: str) -> None:
    """The value matches under these policies and no others, and a mismatch can be shown."""
    found = [policy for policy in ("strict", "lenient", "subset") if matches(expected, actual, policy)]
    assert " ".join(found) == policies
    for policy in {"strict", "lenient", "subset"} - set(found):
        assert all(str(difference).isprintable() for difference in differences(expected, actual, policy))


def deep_list(depth: int) -> Any:
    """Return a list in a list in a list."""
    value: Any = []
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize("policy", ["strict", "lenient", "subset"])
def test_values_that_nest_deeply_or_contain_themselves(policy: str) -> None:
    """Such a value is compared as far as the expectation goes, and shown in short."""
    circle: dict[str, Any] = {}
    circle["a"] = circle
    for actual in (deep_list(10_000), circle):
        for expected in ([[1]], {"a": {"a": 1}}, Partial({"a": 5}), "x", OneOf(1, [2])):
            (difference, *_) = differences(expected, actual, policy)
            assert len(str(difference)) < 1_000
    assert matches({"a": {"a": {"a": ANY}}}, circle, policy)


def test_a_stack_that_is_almost_full_is_a_mismatch() -> None:
    """Where the caller has left no room on the stack, nothing matches and nothing crashes."""
    expected = compile_expected([[[[[[[[[[1]]]]]]]]]])
    value: Any = [[[[[[[[[[1]]]]]]]]]]

    def at_depth(left: int) -> tuple[bool, int]:
        return at_depth(left - 1) if left else (expected.matches(value), len(expected.differences(value)))

    assert at_depth(0) == (True, 0)
    answers = set()
    for left in range(sys.getrecursionlimit()):
        try:
            answers.add(at_depth(left))
        except RecursionError:
            break
    # The two calls reach different depths, so that one may fail where the other does not.
    assert answers <= {(True, 0), (True, 1), (False, 1)}


def test_a_mapping_subclass_is_asked_for_no_default() -> None:
    """A mapping that makes up missing values still misses them."""

    class Generous(dict[str, int]):
        def __missing__(self, key: str) -> int:
            return 1

    assert not matches({"a": 1}, Generous())


def test_an_equality_that_raises_is_named() -> None:
    """The difference names the exception and shows what it says, escaped."""
    (difference,) = differences({"a": Broken()}, {"a": 5})
    assert difference.path == ("a",)
    assert difference.reason == "comparing raised LookupError: no\\x1b[31m such thing"


def test_an_answer_that_is_no_bool_is_named() -> None:
    """So is what comes of an __eq__ that returns something without a truth value."""

    class Vague:
        __hash__ = None  # type: ignore[assignment]

        def __eq__(self, other: object) -> Any:
            return Unclear()

    class Unclear:
        def __bool__(self) -> bool:
            raise ValueError("ambiguous")

    (difference,) = differences(Vague(), 5)
    assert difference.reason == "comparing raised ValueError: ambiguous"


def test_an_exception_that_cannot_be_shown_is_named_all_the_same() -> None:
    """Where an exception's own text raises, the difference says so."""

    class UnshownError(Exception):
        def __str__(self) -> str:
            raise LookupError

    class Raising:
        __hash__ = None  # type: ignore[assignment]

        def __eq__(self, other: object) -> bool:
            raise UnshownError

    (difference,) = differences(Raising(), 5)
    assert difference.reason == "comparing raised UnshownError: its message raised LookupError"
