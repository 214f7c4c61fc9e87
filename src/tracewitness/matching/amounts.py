"""Matchers of numbers and sizes, and of dates on one side of a bound."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from tracewitness.display import show
from tracewitness.errors import ExpectationError

from .base import Matcher, Read, Write, check_keys, unless
from .moments import comparable, moment_of
from .nodes import Node, Rules, leaf
from .numeric import is_nan, same_number
from .values import UndecidedError, described, kind_of, named, noun


class Approx(Matcher):
    """Match a number near ``value``: no further away than the larger of the two tolerances.

    Arguments:
        value: a number; infinities match only themselves.
        rel: the tolerance as a part of ``value``.
        abs: the tolerance as it is.

    >>> Approx(2.5, rel=0.01)
    Approx(2.5, rel=0.01)
    """

    __slots__ = ("abs", "rel", "value")
    key = "$approx"
    fields = ("value", "rel", "abs")
    value: Any
    rel: Any
    abs: Any

    def __init__(self, value: Any, rel: Any = 1e-6, abs: Any = 0.0) -> None:  # noqa: A002  as in math.isclose
        if kind_of(value) != "number":
            raise ExpectationError(f"Approx needs a number, not {show(value)}")
        for name, tolerance in (("rel", rel), ("abs", abs)):
            if kind_of(tolerance) != "number" or is_nan(tolerance) or not 0 <= tolerance < _INFINITY:
                raise ExpectationError(f"Approx needs as {name} a number from 0 up, not {show(tolerance)}")
        self._set(value=value, rel=rel, abs=abs)

    def _tolerances(self) -> dict[str, object]:
        given = {"rel": (self.rel, 1e-6), "abs": (self.abs, 0.0)}
        return {name: value for name, (value, default) in given.items() if value != default}

    def arguments(self) -> tuple[tuple[object, ...], dict[str, object]]:
        return (self.value,), self._tolerances()

    def to_file(self, write: Write, /) -> dict[str, object]:
        return {self.key: write(self.value), **self._tolerances()}

    def build(self, _rules: Rules, /) -> Node:
        def test(actual: object, _levels: int) -> bool:
            return kind_of(actual) == "number" and self._is_near(actual)

        return leaf(self, test, lambda actual: unless("number", actual))

    def _is_near(self, actual: Any) -> bool:
        if same_number(self.value, actual):
            return True
        if type(actual) is type(self.value) is type(self.rel) is type(self.abs) is float:
            distance, tolerance = abs(actual - self.value), max(self.rel * abs(self.value), self.abs)
            if distance < _INFINITY and tolerance < _INFINITY:
                return bool(distance <= tolerance)
        return self._is_exactly_near(actual)

    def _is_exactly_near(self, actual: Any) -> bool:
        """Compare by fractions, since ints and decimals may have more digits than a float."""
        value, came = _fraction(self.value), _fraction(actual)
        if value is None or came is None:
            return False
        tolerance = max(_fraction(self.rel) * abs(value), _fraction(self.abs))
        return bool(abs(came - value) <= tolerance)


_INFINITY = float("inf")
_LARGEST_EXPONENT = 10_000


def _fraction(number: Any) -> Any:
    """Return a number's exact value, or None if it is not finite or its digits would fill the memory."""
    from fractions import Fraction  # slow to import

    if hasattr(number, "adjusted") and number.is_finite() and abs(number.adjusted()) > _LARGEST_EXPONENT:
        return None
    try:
        return Fraction(number)
    except (ValueError, OverflowError):
        return None


class Length(Matcher):
    """Match a text, list, mapping or other sized value by its size.

    Arguments:
        bounds: one number for just that size, or the smallest and the largest.
        min, max: the same by name; either may be left out.

    >>> Length(3), Length(min=1)
    (Length(3), Length(min=1))
    """

    __slots__ = ("max", "min")
    key = "$length"
    fields = ("min", "max")
    min: int | None
    max: int | None

    def __init__(self, *bounds: int, min: int | None = None, max: int | None = None) -> None:  # noqa: A002
        if len(bounds) > 2 or (bounds and (min, max) != (None, None)):
            raise ExpectationError("Length takes one number, or a smallest and a largest")
        if bounds:
            min, max = bounds[0], bounds[-1]  # noqa: A001
        if min is None and max is None:
            raise ExpectationError("Length needs a number: Length(3), Length(min=1) or Length(min=1, max=3)")
        for bound in (min, max):
            if bound is not None and (type(bound) is not int or bound < 0):
                raise ExpectationError(f"Length needs whole numbers from 0 up, not {show(bound)}")
        if min is not None and max is not None and min > max:
            raise ExpectationError(f"no length is at least {min} and at most {max}; swap them")
        self._set(min=min, max=max)

    def _bounds(self) -> dict[str, object]:
        given = {"min": self.min, "max": self.max}
        return {name: bound for name, bound in given.items() if bound is not None}

    def arguments(self) -> tuple[tuple[object, ...], dict[str, object]]:
        return ((self.min,), {}) if self.min == self.max else ((), self._bounds())

    @classmethod
    def from_file(cls, value: object, _read: Read, /) -> Matcher:
        if not isinstance(value, Mapping):
            return cls(value)  # type: ignore[arg-type]  # the constructor checks it
        check_keys("$length", value, ("min", "max"))
        return cls(**value)

    def to_file(self, _write: Write, /) -> dict[str, object]:
        return {self.key: self.min if self.min == self.max else self._bounds()}

    def build(self, _rules: Rules, /) -> Node:
        smallest = self.min or 0
        largest = _INFINITY if self.max is None else self.max

        def test(actual: object, _levels: int) -> bool:
            size = _size(actual)
            return size is not None and smallest <= size <= largest

        def why(actual: object) -> str:
            size = _size(actual)
            return f"{noun(actual)} has no length" if size is None else f"its length is {size}"

        return leaf(self, test, why)


def _size(value: object) -> int | None:
    if not hasattr(type(value), "__len__"):
        return None
    try:
        return len(value)  # type: ignore[arg-type]
    except Exception as error:
        raise UndecidedError(f"taking the length raised {named(error)}") from error


class _Bound(Matcher):
    """A matcher of numbers, or of ISO dates, on one side of a bound."""

    __slots__ = ("value",)
    fields = ("value",)
    value: Any
    holds: ClassVar[Callable[[Any, Any], bool]]

    def __init__(self, value: Any) -> None:
        is_number = kind_of(value) == "number" and not is_nan(value)
        if not is_number and moment_of(value) is None:
            raise ExpectationError(f"{type(self).__name__} needs a number or an ISO 8601 date, not {show(value)}")
        self._set(value=value)

    def to_file(self, write: Write, /) -> dict[str, object]:
        is_moment = hasattr(self.value, "isoformat")
        return {self.key: self.value.isoformat() if is_moment else write(self.value)}

    def build(self, _rules: Rules, /) -> Node:
        return self._build_for_numbers() if kind_of(self.value) == "number" else self._build_for_moments()

    def _build_for_numbers(self) -> Node:
        bound, holds = self.value, type(self).holds

        def test(actual: object, _levels: int) -> bool:
            if kind_of(actual) != "number" or is_nan(actual):
                return False
            try:
                return bool(holds(actual, bound))
            except Exception as error:
                raise UndecidedError(f"comparing raised {named(error)}") from error

        return leaf(self, test, lambda actual: unless("number", actual))

    def _build_for_moments(self) -> Node:
        bound, holds = moment_of(self.value), type(self).holds
        assert bound is not None  # noqa: S101  the constructor saw to it; mypy can't know

        def test(actual: object, _levels: int) -> bool:
            moment = moment_of(actual)
            return moment is not None and bool(holds(*comparable(moment, bound)))

        def why(actual: object) -> str:
            return "" if moment_of(actual) is not None else f"an ISO 8601 date is needed, not {described(actual)}"

        return leaf(self, test, why)


class GreaterThan(_Bound):
    """Match a number, or an ISO date, greater than ``value``.

    Where only one of two dates has a time, the days are compared.

    >>> GreaterThan("2024-01-01")
    GreaterThan('2024-01-01')
    """

    __slots__ = ()
    key = "$gt"
    holds = operator.gt


class GreaterOrEqual(_Bound):
    """Match a number, or an ISO date, greater than ``value`` or equal to it."""

    __slots__ = ()
    key = "$gte"
    holds = operator.ge


class LessThan(_Bound):
    """Match a number, or an ISO date, less than ``value``."""

    __slots__ = ()
    key = "$lt"
    holds = operator.lt


class LessOrEqual(_Bound):
    """Match a number, or an ISO date, less than ``value`` or equal to it."""

    __slots__ = ()
    key = "$lte"
    holds = operator.le
