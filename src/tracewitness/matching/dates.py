"""Matchers of ISO 8601 dates in texts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tracewitness.display import show
from tracewitness.errors import ExpectationError

from .base import Matcher, Read, Write, check_keys, unless
from .moments import comparable, date_of, datetime_of
from .nodes import Node, Rules, leaf
from .numeric import is_nan
from .values import kind_of


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

        return leaf(self, test, lambda actual: unless("text", actual) or "not an ISO 8601 date")


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
                return unless("text", actual) or "not an ISO 8601 date with a time"
            return f"{_distance(moment, near):g} seconds away"

        return leaf(self, test, why)


def _check_near(near: object, within: object) -> None:
    if _datetime(near) is None:
        raise ExpectationError(f"IsDateTime needs as near an ISO 8601 date with a time, not {show(near)}")
    seconds = _seconds(within)
    if kind_of(seconds) != "number" or is_nan(seconds) or not seconds >= 0:
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
