"""ISO 8601 dates and times."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .values import UndecidedError

if TYPE_CHECKING:
    from datetime import date, datetime

_LONGEST = 40


def date_of(text: str) -> date | None:
    """Return the day that an ISO 8601 text names, without a time; None for any other text."""
    from datetime import date  # imported where it is needed, to keep the package quick to import

    if not text.isascii() or len(text) > _LONGEST:
        return None
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None


def datetime_of(text: str) -> datetime | None:
    """Return the day and time that an ISO 8601 text names; None for any other text."""
    from datetime import datetime

    if not text.isascii() or len(text) > _LONGEST or not any(mark in text for mark in "Tt "):
        return None
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None


def moment_of(value: object) -> date | datetime | None:
    """Return the day, or day and time, that a value is or names; None where it is neither."""
    from datetime import date

    if isinstance(value, str):
        return date_of(value) or datetime_of(value)
    return value if isinstance(value, date) else None


def comparable(one: date | datetime, other: date | datetime) -> tuple[date, date]:
    """Return the two in a form that compares: as days where one of them has no time.

    Errors:
        UndecidedError: one says its distance from UTC and the other does not.
    """
    from datetime import datetime

    if not (isinstance(one, datetime) and isinstance(other, datetime)):
        return _day(one), _day(other)
    if (one.utcoffset() is None) is not (other.utcoffset() is None):
        raise UndecidedError("one of the times says its time zone and the other does not")
    return one, other


def _day(moment: date | datetime) -> date:
    from datetime import datetime

    return moment.date() if isinstance(moment, datetime) else moment
