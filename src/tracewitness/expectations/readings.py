"""The forms in which one value is written: as text, a number, an amount of money, a day.

A form reads a value, or finds its readings in a text, and says which readings agree. Nothing is guessed by a clock or
a locale: where a text can be read in two ways, as ``1,299`` or ``05/03/2024``, both readings count.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Hashable, Iterator, Mapping
from datetime import date
from decimal import Decimal
from typing import Any, Final

from msgspec import Struct

__all__ = ["FORMS", "Form", "Reading", "amount_of", "amounts_of", "folded", "written"]

#: What is longer is no number, day or amount that somebody wrote down.
_LONGEST: Final = 80


class Reading(Struct, frozen=True):
    """One way to read a value.

    Attributes:
        key: what all readings that may agree share.
        detail: what must agree as well where both have it: a currency, a year.
    """

    key: Hashable
    detail: Any = None


class Form(Struct, frozen=True):
    """A form of writing.

    Attributes:
        of: reads a whole value.
        within: finds readings anywhere in a text; None where texts are searched for the value's own characters.
        agree: whether the details of two readings with the same key go together.
    """

    of: Callable[[Any], list[Reading]]
    within: Callable[[str], Iterator[Reading]] | None
    agree: Callable[[Any, Any], bool]


# ---------------------------------------------------------------------------------------- text


def written(value: Any) -> tuple[str, ...]:
    """Return how a person would write a value: ``2.0`` also as ``2``. Lists and mappings are not said in one piece.

    >>> written(2.0), written(True), written([1])
    (('2.0', '2'), ('true', 'True'), ())
    """
    if isinstance(value, str):
        return (value,) if value else ()
    if isinstance(value, bool):
        return ("true", "True") if value else ("false", "False")
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return (str(value), str(int(value)))
    return (str(value),) if isinstance(value, (int, float)) else ()


_SEPARATORS = re.compile(r"[\s\-_/]+")


def folded(text: str) -> str:
    """Return a text without what two writings of a name differ in: case, width, accents' composition, separators.

    >>> folded("Item_42"), folded(" ITEM 42")
    ('item 42', 'item 42')
    """
    return _SEPARATORS.sub(" ", unicodedata.normalize("NFKC", text).casefold()).strip()


def _text_readings(value: Any) -> list[Reading]:
    return [Reading(key) for key in dict.fromkeys(map(folded, written(value))) if key]


# ---------------------------------------------------------------------------------------- numbers

#: A number as people write it: groups of three, a decimal point or comma; no part of a word or an identifier.
#: Digits after a leading zero are an identifier, as they are everywhere.
_NUMBER = r"(?!0\d)(?:\d{1,3}(?:[.,'\u2019\u00a0\u202f]\d{3})+(?:[.,]\d{1,2})?|\d+(?:[.,]\d+)?)"
_NUMBER_IN_TEXT = re.compile(rf"(?<![\w.,-])(?<!\w-)-?(?:{_NUMBER})(?![\w])(?!-\w)(?![.,]\d)")
_WHOLE_NUMBER = re.compile(rf"-?(?:{_NUMBER})")
_UNIT_NAMES: Final = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
)
_TEN_NAMES: Final = "twenty thirty forty fifty sixty seventy eighty ninety"
_UNITS = {name: number for number, name in enumerate(_UNIT_NAMES.split())}
_TENS = {name: 10 * number for number, name in enumerate(_TEN_NAMES.split(), 2)}
_WORDS = re.compile(
    rf"\b(?:(?P<tens>{'|'.join(_TENS)})(?:[- ](?P<ones>{'|'.join(list(_UNITS)[1:10])}))?"
    rf"|(?P<unit>{'|'.join(sorted(_UNITS, key=len, reverse=True))})|(?P<dozen>dozen))\b",
    re.IGNORECASE,
)


def amount_of(value: Any) -> Decimal | None:
    """Return how much a JSON number is, exactly as it is written; None for what is none.

    >>> amount_of(0.1) + amount_of(0.2)
    Decimal('0.3')
    """
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    if isinstance(value, int):
        return Decimal(value) if abs(value) < 10**_LONGEST else None
    amount = Decimal(repr(value))
    return amount if amount.is_finite() else None


def amounts_of(value: Any) -> list[Decimal]:
    """Return the amounts that a number, or a text that is one with or without a currency, can be read as."""
    return list(dict.fromkeys(reading.key for reading in _money_readings(value) if isinstance(reading.key, Decimal)))


def _number_readings(value: Any) -> list[Reading]:
    amount = amount_of(value)
    if amount is not None:
        return [Reading(amount)]
    text = _short(value)
    if _WHOLE_NUMBER.fullmatch(text):
        return [Reading(each) for each in _amounts(text)]
    spelt = _WORDS.fullmatch(text)
    return [Reading(_spelt(spelt))] if spelt else []


def _numbers_within(text: str) -> Iterator[Reading]:
    for found in _NUMBER_IN_TEXT.finditer(text):
        for amount in _amounts(found.group()):
            yield Reading(amount)
    for found in _WORDS.finditer(text):
        yield Reading(_spelt(found))


def _spelt(found: re.Match[str]) -> Decimal:
    if found["dozen"]:
        return Decimal(12)
    if found["unit"]:
        return Decimal(_UNITS[found["unit"].lower()])
    ones = found["ones"]
    return Decimal(_TENS[found["tens"].lower()] + (_UNITS[ones.lower()] if ones else 0))


def _amounts(text: str) -> list[Decimal]:
    """Read a number with groups or decimals; where ``1,299`` may be either, both."""
    if len(text) > _LONGEST:
        return []
    plain = re.sub(r"['\u2019\u00a0\u202f]", "", text)
    marks = [character for character in plain if character in ".,"]
    if not marks:
        return [Decimal(plain)]
    last = marks[-1]
    grouped = re.sub(r"[.,]", "", plain)
    head, _, tail = plain.rpartition(last)
    decimal = f"{re.sub('[.,]', '', head)}.{tail}"
    if len(marks) > 1 and len(set(marks)) == 1:
        return [Decimal(grouped)]
    if len(marks) == 1 and len(tail) == 3 and len(head.lstrip("-")) <= 3:
        return [Decimal(decimal), Decimal(grouped)]
    return [Decimal(decimal)]


# ---------------------------------------------------------------------------------------- money

_DOLLARS: Final = "$"  # of some country: agrees with the code of each
_DOLLAR_CODES = frozenset({"USD", "CAD", "AUD", "NZD", "SGD", "HKD", "MXN"})
_OTHER_CODES: Final = "EUR GBP JPY CNY INR CHF SEK NOK DKK PLN CZK HUF BRL ZAR KRW ILS THB IDR"
_CURRENCIES: dict[str, str] = {
    "us$": "USD",
    "c$": "CAD",
    "a$": "AUD",
    "$": _DOLLARS,
    "€": "EUR",
    "£": "GBP",
    "¥": "JPY",
    "₹": "INR",
    "dollars": _DOLLARS,
    "dollar": _DOLLARS,
    "bucks": _DOLLARS,
    "euros": "EUR",
    "euro": "EUR",
    "pounds": "GBP",
    "pound": "GBP",
    "yen": "JPY",
    "rupees": "INR",
    "francs": "CHF",
    **{code.lower(): code for code in (*_DOLLAR_CODES, *_OTHER_CODES.split())},
}
_CURRENCY = "|".join(re.escape(each) for each in sorted(_CURRENCIES, key=len, reverse=True))
_MONEY = re.compile(
    rf"(?<![\w.,])(?<!\w-)(?P<minus>-?)(?:(?P<before>{_CURRENCY})\s?)?(?P<amount>{_NUMBER})"
    rf"(?:\s?(?P<after>{_CURRENCY})(?!\w))?(?!\w)(?!-\w)(?![.,]\d)",
    re.IGNORECASE,
)


def _money_readings(value: Any) -> list[Reading]:
    amount = amount_of(value)
    if amount is not None:
        return [Reading(amount)]
    if isinstance(value, Mapping):
        return _of_parts(value)
    found = _MONEY.fullmatch(_short(value))
    return list(_money(found)) if found else []


def _of_parts(value: Mapping[str, Any]) -> list[Reading]:
    """Read a mapping with an amount and a currency."""
    amounts = [value[key] for key in ("amount", "value") if key in value]
    named = [value[key] for key in ("currency", "currency_code") if isinstance(value.get(key), str)]
    if len(amounts) != 1 or len(named) > 1:
        return []
    currency = _CURRENCIES.get(named[0].strip().lower(), named[0].strip().upper()) if named else None
    readings = [] if isinstance(amounts[0], Mapping) else _money_readings(amounts[0])
    return [Reading(reading.key, currency or reading.detail) for reading in readings]


def _money_within(text: str) -> Iterator[Reading]:
    for found in _MONEY.finditer(text):
        yield from _money(found)


def _money(found: re.Match[str]) -> Iterator[Reading]:
    name = found["before"] or found["after"]
    for amount in _amounts(found["amount"]):
        yield Reading(-amount if found["minus"] else amount, _CURRENCIES[name.lower()] if name else None)


def _same_currency(one: str | None, other: str | None) -> bool:
    if one is None or other is None or one == other:
        return True
    return _DOLLARS in (one, other) and {one, other} <= _DOLLAR_CODES | {_DOLLARS}


# ---------------------------------------------------------------------------------------- days

_MONTH_NAMES: Final = (
    "january,jan february,feb march,mar april,apr may june,jun july,jul august,aug september,sept,sep october,oct "
    "november,nov december,dec"
)
_MONTHS = {name: number for number, names in enumerate(_MONTH_NAMES.split(), 1) for name in names.split(",")}
_MONTH = "|".join(sorted(_MONTHS, key=len, reverse=True))
_DAY = re.compile(
    r"(?<!\d)(?P<iso_year>\d{4})(?P<mark>[-/.])(?P<iso_month>\d{1,2})(?P=mark)(?P<iso_day>\d{1,2})(?!\d)"
    r"|(?<![\d/.-])(?P<one>\d{1,2})(?P<between>[-/.])(?P<other>\d{1,2})(?P=between)(?P<year>\d{4}|\d{2})(?![\d/-])"
    rf"|(?<!\w)(?P<day_before>\d{{1,2}})(?:st|nd|rd|th)?(?:\s+of)?[\s-]+(?P<month_after>{_MONTH})\b\.?"
    r"(?:,?[\s-]+(?P<year_a>\d{4})(?!\d))?"
    rf"|\b(?P<month_before>{_MONTH})\b\.?\s+(?P<day_after>\d{{1,2}})(?:st|nd|rd|th)?(?!\w)"
    r"(?:,?\s+(?P<year_b>\d{4})(?!\d))?",
    re.IGNORECASE,
)
_COMPACT = re.compile(r"(\d{4})(\d{2})(\d{2})")
_TIME = re.compile(r"[T ,]*(?:at )?\d{1,2}(?::\d{2})*(?:\.\d+)?\s?(?:[ap]m)?(?:Z|[+-]\d{2}:?\d{2})?", re.IGNORECASE)


def _day_readings(value: Any) -> list[Reading]:
    text = _short(value)
    compact = _COMPACT.fullmatch(text)
    if compact:
        year, month, day = map(int, compact.groups())
        return list(_day(year, month, day))
    found = _DAY.match(text)
    if found is None or not (found.end() == len(text) or _TIME.fullmatch(text, found.end())):
        return []
    return list(_days(found))


def _days_within(text: str) -> Iterator[Reading]:
    for found in _DAY.finditer(text):
        yield from _days(found)


def _days(found: re.Match[str]) -> Iterator[Reading]:
    """Read what was found as a day; ``05/03`` as one of May and of March."""
    if found["iso_year"]:
        yield from _day(int(found["iso_year"]), int(found["iso_month"]), int(found["iso_day"]))
    elif found["one"]:
        year = int(found["year"]) + (2000 if len(found["year"]) == 2 else 0)
        one, other = int(found["one"]), int(found["other"])
        yield from _day(year, one, other)
        if one != other:
            yield from _day(year, other, one)
    else:
        month = _MONTHS[(found["month_after"] or found["month_before"]).lower()]
        named = found["year_a"] or found["year_b"]
        yield from _day(int(named) if named else None, month, int(found["day_before"] or found["day_after"]))


def _day(year: int | None, month: int, day: int) -> Iterator[Reading]:
    try:
        date(2000 if year is None else year, month, day)  # 2000 has a 29th of February
    except ValueError:
        return
    yield Reading((month, day), year)


def _same_if_known(one: Any, other: Any) -> bool:
    return one is None or other is None or bool(one == other)


def _short(value: Any) -> str:
    return value.strip() if isinstance(value, str) and len(value) <= _LONGEST else ""


FORMS: dict[str, Form] = {
    "text": Form(_text_readings, None, _same_if_known),
    "number": Form(_number_readings, _numbers_within, _same_if_known),
    "money": Form(_money_readings, _money_within, _same_currency),
    "date": Form(_day_readings, _days_within, _same_if_known),
}
"""The forms by their names in a file."""
