"""Matchers that look at one value."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Final

from tracewitness.display import nearest_name, show
from tracewitness.errors import ExpectationError

from .base import Matcher, Read, Write
from .moments import comparable, date_of, datetime_of, moment_of
from .nodes import Node, Rules, leaf
from .numeric import is_integral, is_nan, same_number
from .values import UndecidedError, described, kind_of, named, noun


class _Constant(Matcher):
    """A matcher of which there is one; a file writes it ``{key: true}``."""

    __slots__ = ()
    name: ClassVar[str] = ""

    def __repr__(self) -> str:
        return self.name

    def __reduce__(self) -> str:
        return self.name

    @classmethod
    def from_file(cls, value: object, _read: Read, /) -> Matcher:
        if value is not True:
            raise ExpectationError(f"{cls.key} takes only true, not {show(value)}")
        return _CONSTANTS[cls]

    def to_file(self, _write: Write, /) -> dict[str, object]:
        return {self.key: True}


class _Any(_Constant):
    __slots__ = ()
    key = "$any"
    name = "ANY"

    def build(self, _rules: Rules, /) -> Node:
        return leaf(self, lambda _actual, _levels: True, lambda _actual: "")


class _Absent(_Constant):
    __slots__ = ()
    key = "$absent"
    name = "ABSENT"

    def build(self, _rules: Rules, /) -> Node:
        return leaf(self, lambda _actual, _levels: False, lambda _actual: "it must not be there", absent=True)


ANY: Final = _Any()
"""Matches whatever is there, None included."""
ABSENT: Final = _Absent()
"""Stands for a key that is not there."""
_CONSTANTS: Final[dict[type[_Constant], _Constant]] = {_Any: ANY, _Absent: ABSENT}


class Regex(Matcher):
    """Match a text that the pattern matches as a whole.

    Arguments:
        pattern: a regular expression of Python's `re`.
        flags: of `re`; a file can't write them, ``(?i)`` in the pattern does.

    >>> Regex(r"FL-\\d+")
    Regex('FL-\\\\d+')
    """

    __slots__ = ("flags", "pattern")
    key = "$regex"
    fields = ("pattern", "flags")
    pattern: str
    flags: int

    def __init__(self, pattern: str, flags: int = 0) -> None:
        self._set(pattern=pattern, flags=int(flags))
        self._compiled()

    def _compiled(self) -> re.Pattern[str]:
        if not isinstance(self.pattern, str):
            raise ExpectationError(f"{type(self).__name__} needs a pattern as text, not {show(self.pattern)}")
        try:
            return re.compile(self.pattern, self.flags)
        except re.error as error:
            place = "" if error.pos is None else f" at character {error.pos}"
            problem = f"the pattern {show(self.pattern)} does not compile: {error.msg}{place}"
            raise ExpectationError(problem) from error
        except (OverflowError, RecursionError, ValueError) as error:
            raise ExpectationError(f"the pattern {show(self.pattern)} does not compile: {error}") from error

    def arguments(self) -> tuple[tuple[object, ...], dict[str, object]]:
        return (self.pattern,), {"flags": self.flags} if self.flags else {}

    def to_file(self, _write: Write, /) -> dict[str, object]:
        if self.flags:
            raise ExpectationError(
                f"a file can't hold the flags of {self!r}; write (?i) and the like in the pattern"
            )
        return {self.key: self.pattern}

    def build(self, _rules: Rules, /) -> Node:
        compiled = self._compiled()

        def test(actual: object, _levels: int) -> bool:
            return isinstance(actual, str) and compiled.fullmatch(actual) is not None

        def why(actual: object) -> str:
            if not isinstance(actual, str):
                return f"a text is needed, not {noun(actual)}"
            return "only a part of it matches" if compiled.search(actual) else ""

        return leaf(self, test, why)


class Search(Regex):
    """Match a text in which the pattern is found anywhere; ``.`` crosses lines.

    >>> Search("rm .*-rf")
    Search('rm .*-rf')
    """

    __slots__ = ()
    key = "$search"

    def build(self, _rules: Rules, /) -> Node:
        compiled = re.compile(self.pattern, self.flags | re.DOTALL)

        def test(actual: object, _levels: int) -> bool:
            return isinstance(actual, str) and compiled.search(actual) is not None

        return leaf(self, test, lambda actual: _unless("text", actual))


def _unless(kind: str, actual: object) -> str:
    """Say that a value of another kind is needed, or nothing if it is of that kind."""
    return "" if kind_of(actual) == kind else f"a {kind} is needed, not {noun(actual)}"


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
            if kind_of(tolerance) != "number" or not 0 <= tolerance < float("inf"):
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

        return leaf(self, test, lambda actual: _unless("number", actual))

    def _is_near(self, actual: Any) -> bool:
        if same_number(self.value, actual):
            return True
        if isinstance(actual, float) and isinstance(self.value, float):
            tolerance = max(self.rel * abs(self.value), self.abs)
            return tolerance < float("inf") and bool(abs(actual - self.value) <= tolerance)
        return self._is_exactly_near(actual)

    def _is_exactly_near(self, actual: Any) -> bool:
        """Compare by fractions, since ints and decimals may have more digits than a float."""
        value, came = _fraction(self.value), _fraction(actual)
        if value is None or came is None:
            return False
        tolerance = max(_fraction(self.rel) * abs(value), _fraction(self.abs))
        return bool(abs(came - value) <= tolerance)


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


_TYPES: Final[dict[str, Callable[[object], bool]]] = {
    "string": lambda value: isinstance(value, str),
    "integer": lambda value: kind_of(value) == "number" and is_integral(value),
    "number": lambda value: kind_of(value) == "number",
    "boolean": lambda value: isinstance(value, bool),
    "array": lambda value: kind_of(value) == "list",
    "object": lambda value: kind_of(value) == "mapping",
    "null": lambda value: value is None,
}
_PYTHON_TYPES: Final[dict[object, str]] = {
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    list: "array",
    tuple: "array",
    dict: "object",
    type(None): "null",
    None: "null",
}
_OTHER_NAMES: Final = {
    "str": "string",
    "text": "string",
    "int": "integer",
    "float": "number",
    "double": "number",
    "decimal": "number",
    "bool": "boolean",
    "list": "array",
    "tuple": "array",
    "dict": "object",
    "mapping": "object",
    "map": "object",
    "none": "null",
    "nonetype": "null",
    "nil": "null",
}


class IsType(Matcher):
    """Match a value of one of the types.

    Arguments:
        types: names of JSON types (string, integer, number, boolean, array, object, null), or Python classes;
            those that have a JSON type stand for it, so that ``float`` takes ``2`` and no bool is an ``int``.

    >>> IsType("string", "null")
    IsType('string', 'null')
    """

    __slots__ = ("types",)
    key = "$type"
    fields = ("types",)
    types: tuple[object, ...]

    def __init__(self, *types: object) -> None:
        if not types:
            raise ExpectationError(f"IsType needs at least one type: {', '.join(_TYPES)}")
        for kind in types:
            _check_type(kind)
        self._set(types=types)

    def arguments(self) -> tuple[tuple[object, ...], dict[str, object]]:
        return self.types, {}

    def __repr__(self) -> str:
        shown = (kind.__name__ if isinstance(kind, type) else repr(kind) for kind in self.types)
        return f"IsType({', '.join(shown)})"

    @classmethod
    def from_file(cls, value: object, _read: Read, /) -> Matcher:
        names = value if isinstance(value, list | tuple) else [value]
        for name in names:
            if not isinstance(name, str):
                raise ExpectationError(f"$type needs names of types ({', '.join(_TYPES)}), not {show(name)}")
        return cls(*names)

    def to_file(self, _write: Write, /) -> dict[str, object]:
        names = [_json_type(kind) for kind in self.types]
        if None in names:
            raise ExpectationError(f"a file can't hold {self!r}; it knows the types {', '.join(_TYPES)}")
        return {self.key: names[0] if len(names) == 1 else names}

    def build(self, _rules: Rules, /) -> Node:
        tests = [_type_test(kind) for kind in self.types]

        def test(actual: object, _levels: int) -> bool:
            return any(is_of_type(actual) for is_of_type in tests)

        return leaf(self, test, lambda actual: f"it is {noun(actual)}")


def _check_type(kind: object) -> None:
    if isinstance(kind, type) or kind is None or (isinstance(kind, str) and kind in _TYPES):
        return
    if not isinstance(kind, str):
        raise ExpectationError(f"{show(kind)} is no type; use one of {', '.join(_TYPES)}, or a class")
    near = _OTHER_NAMES.get(kind.lower()) or nearest_name(kind.lower(), _TYPES)
    hint = f"; did you mean {near!r}?" if near else ""
    raise ExpectationError(f"unknown type {show(kind)}{hint} The types are {', '.join(_TYPES)}")


def _json_type(kind: object) -> str | None:
    return kind if isinstance(kind, str) else _PYTHON_TYPES.get(kind)


def _type_test(kind: object) -> Callable[[object], bool]:
    name = _json_type(kind)
    if name is not None:
        return _TYPES[name]
    return lambda value: isinstance(value, kind)  # type: ignore[arg-type]


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
        largest = float("inf") if self.max is None else self.max

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


def check_keys(key: str, value: Mapping[Any, object], known: tuple[str, ...]) -> None:
    """Raise an ExpectationError for a key beside the known ones in what stands under a matcher's key."""
    for name in value:
        if name not in known:
            near = nearest_name(str(name), known)
            hint = f"; did you mean {near!r}?" if near else f"; it takes {' and '.join(known)}"
            raise ExpectationError(f"{key} does not know {show(name)}{hint}")


class _Bound(Matcher):
    """A matcher of numbers, or of ISO dates, on one side of a bound."""

    __slots__ = ("value",)
    fields = ("value",)
    value: Any
    holds: ClassVar[Callable[[Any, Any], bool]]

    def __init__(self, value: Any) -> None:
        is_number = kind_of(value) == "number" and not is_nan(value)
        if not is_number and moment_of(value) is None:
            raise ExpectationError(
                f"{type(self).__name__} needs a number or an ISO 8601 date, not {show(value)}"
            )
        self._set(value=value)

    def to_file(self, write: Write, /) -> dict[str, object]:
        is_moment = hasattr(self.value, "isoformat")
        return {self.key: self.value.isoformat() if is_moment else write(self.value)}

    def build(self, _rules: Rules, /) -> Node:
        return self._build_for_numbers() if kind_of(self.value) == "number" else self._build_for_moments()

    def _build_for_numbers(self) -> Node:
        bound, holds = self.value, type(self).holds

        def test(actual: object, _levels: int) -> bool:
            return kind_of(actual) == "number" and not is_nan(actual) and bool(holds(actual, bound))

        return leaf(self, test, lambda actual: _unless("number", actual))

    def _build_for_moments(self) -> Node:
        bound, holds = moment_of(self.value), type(self).holds
        assert bound is not None  # noqa: S101  the constructor saw to it; mypy can't know

        def test(actual: object, _levels: int) -> bool:
            moment = moment_of(actual)
            return moment is not None and bool(holds(*comparable(moment, bound)))

        def why(actual: object) -> str:
            return (
                ""
                if moment_of(actual) is not None
                else f"an ISO 8601 date is needed, not {described(actual)}"
            )

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


class IsDate(Matcher):
    """Match a text that is an ISO 8601 date without a time.

    >>> IsDate()
    IsDate()
    """

    __slots__ = ()
    key = "$date"

    @classmethod
    def from_file(cls, value: object, _read: Read, /) -> Matcher:
        if value is not True:
            raise ExpectationError(f"$date takes only true, not {show(value)}")
        return cls()

    def to_file(self, _write: Write, /) -> dict[str, object]:
        return {self.key: True}

    def build(self, _rules: Rules, /) -> Node:
        def test(actual: object, _levels: int) -> bool:
            return isinstance(actual, str) and date_of(actual) is not None

        return leaf(self, test, lambda actual: _unless("text", actual) or "not an ISO 8601 date")


class IsDateTime(Matcher):
    """Match a text that is an ISO 8601 date with a time, perhaps one near another.

    Arguments:
        near: an ISO 8601 text or a datetime.
        within: how far away the time may be, in seconds or as a timedelta.

    >>> IsDateTime(near="2024-05-01T10:00:00Z", within=60)
    IsDateTime(near='2024-05-01T10:00:00Z', within=60)
    """

    __slots__ = ("near", "within")
    key = "$datetime"
    fields = ("near", "within")
    near: Any
    within: Any

    def __init__(self, *, near: Any = None, within: Any = None) -> None:
        if (near is None) is not (within is None):
            raise ExpectationError("IsDateTime needs near and within together, or neither")
        if near is not None:
            _check_near(near, within)
        self._set(near=near, within=within)

    def arguments(self) -> tuple[tuple[object, ...], dict[str, object]]:
        return (), {} if self.near is None else {"near": self.near, "within": self.within}

    @classmethod
    def from_file(cls, value: object, _read: Read, /) -> Matcher:
        if value is True:
            return cls()
        if not isinstance(value, Mapping):
            raise ExpectationError(f"$datetime takes true, or near and within, not {show(value)}")
        check_keys("$datetime", value, ("near", "within"))
        return cls(**value)

    def to_file(self, _write: Write, /) -> dict[str, object]:
        if self.near is None:
            return {self.key: True}
        near = self.near if isinstance(self.near, str) else self.near.isoformat()
        return {self.key: {"near": near, "within": _seconds(self.within)}}

    def build(self, _rules: Rules, /) -> Node:
        near = None if self.near is None else _datetime(self.near)

        def test(actual: object, _levels: int) -> bool:
            moment = datetime_of(actual) if isinstance(actual, str) else None
            if moment is None or near is None:
                return moment is not None
            return bool(_distance(moment, near) <= _seconds(self.within))

        def why(actual: object) -> str:
            moment = datetime_of(actual) if isinstance(actual, str) else None
            if moment is None or near is None:
                return _unless("text", actual) or "not an ISO 8601 date with a time"
            return f"{_distance(moment, near):g} seconds away"

        return leaf(self, test, why)


def _check_near(near: object, within: object) -> None:
    if _datetime(near) is None:
        raise ExpectationError(f"IsDateTime needs as near an ISO 8601 date with a time, not {show(near)}")
    seconds = _seconds(within)
    if kind_of(seconds) != "number" or not seconds >= 0:
        raise ExpectationError(f"IsDateTime needs as within seconds from 0 up, not {show(within)}")


def _datetime(value: object) -> Any:
    from datetime import datetime

    if isinstance(value, str):
        return datetime_of(value)
    return value if isinstance(value, datetime) else None


def _seconds(within: Any) -> Any:
    return within.total_seconds() if hasattr(within, "total_seconds") else within


def _distance(moment: Any, near: Any) -> float:
    one, other = comparable(moment, near)
    return float(abs((one - other).total_seconds()))


class Satisfies(Matcher):
    """Match a value for which a function returns something true; a file can't hold it.

    Arguments:
        function: takes the value. What it raises is no match, nor one for the negation.

    >>> Satisfies(str.isupper)
    Satisfies(isupper)
    """

    __slots__ = ("function",)
    fields = ("function",)
    function: Callable[[Any], object]

    def __init__(self, function: Callable[[Any], object]) -> None:
        if not callable(function):
            raise ExpectationError(f"Satisfies needs a function, not {show(function)}")
        self._set(function=function)

    def __repr__(self) -> str:
        return f"Satisfies({getattr(self.function, '__name__', None) or repr(self.function)})"

    def to_file(self, _write: Write, /) -> dict[str, object]:
        raise ExpectationError(f"a file can't hold {self!r}; use another matcher")

    def build(self, _rules: Rules, /) -> Node:
        def test(actual: object, _levels: int) -> bool:
            try:
                return bool(self.function(actual))
            except Exception as error:
                raise UndecidedError(f"it raised {named(error)}") from error

        return leaf(self, test, lambda _actual: "")
