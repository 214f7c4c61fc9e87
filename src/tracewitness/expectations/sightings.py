"""What was seen so far, indexed, so that where a value comes from is found in one step whatever the trace's length."""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any, Final, Protocol

from msgspec import Struct

from tracewitness.expectations.readings import FORMS, Form, folded, written
from tracewitness.matching import Eq, json_number, matches, strict_key

__all__ = ["Origin", "Sightings", "sightings_in", "stands_in"]


class Origin(Struct, frozen=True, gc=False):
    """Where something was seen.

    Attributes:
        positions: of the events that show it; none for the session's parameters.
        describe: makes the words that say where: called with the value that was found there.
    """

    positions: tuple[int, ...]
    describe: Callable[[Any], str]

    def is_before(self, position: int) -> bool:
        """Whether all of it was there before an event."""
        return all(each < position for each in self.positions)


class Sightings(Protocol):
    """Values and texts that were seen at one place, in one form of writing."""

    def add(self, value: Any, origin: Origin) -> None:
        """Add a value that stood there as a whole."""

    def say(self, text: str, origin: Origin) -> None:
        """Add a text in which a value may stand."""

    def find(self, value: Any) -> Origin | None:
        """Return where the value was first seen, or None."""

    def candidates(self) -> Iterator[tuple[Any, Origin]]:
        """Yield the values that were seen whole, and the texts in which any could stand."""


def sightings_in(form: str) -> Sightings:
    """Make an empty index for one form of writing: ``same``, or one of `FORMS`."""
    if form == "same":
        return _AsTheyAre()
    return _Folded() if form == "text" else _Read(FORMS[form])


class _AsTheyAre:
    """Values that are the same, and texts in which a value's own characters stand with no letter or digit beside."""

    __slots__ = ("_values", "_words")

    def __init__(self) -> None:
        self._values = _Values()
        self._words = _Words()

    def add(self, value: Any, origin: Origin) -> None:
        self._values.add(value, origin)

    def say(self, text: str, origin: Origin) -> None:
        self._words.add(text, origin)

    def find(self, value: Any) -> Origin | None:
        found = self._values.find(value)
        if found is not None:
            return found
        return next((said for text in written(value) if (said := self._words.find(text)) is not None), None)

    def candidates(self) -> Iterator[tuple[Any, Origin]]:
        yield from self._values.all()
        yield from self._words.all()


class _Folded:
    """Texts, whatever their case and however their parts are separated."""

    __slots__ = ("_values", "_words")

    def __init__(self) -> None:
        self._values: dict[str, Origin] = {}
        self._words = _Words()

    def add(self, value: Any, origin: Origin) -> None:
        for reading in FORMS["text"].of(value):
            self._values.setdefault(str(reading.key), origin)

    def say(self, text: str, origin: Origin) -> None:
        self._words.add(folded(text), origin)

    def find(self, value: Any) -> Origin | None:
        for reading in FORMS["text"].of(value):
            found = self._values.get(str(reading.key)) or self._words.find(str(reading.key))
            if found is not None:
                return found
        return None

    def candidates(self) -> Iterator[tuple[Any, Origin]]:
        yield from self._values.items()
        yield from self._words.all()


class _Read:
    """Values by what they are read as: numbers, amounts of money, days."""

    __slots__ = ("_by_key", "_form", "_seen")

    def __init__(self, form: Form) -> None:
        self._form = form
        self._by_key: dict[Hashable, dict[Any, Origin]] = {}
        self._seen: list[tuple[Any, Origin]] = []

    def add(self, value: Any, origin: Origin) -> None:
        self._seen.append((value, origin))
        for reading in self._form.of(value):
            self._by_key.setdefault(reading.key, {}).setdefault(reading.detail, origin)

    def say(self, text: str, origin: Origin) -> None:
        self._seen.append((text, origin))
        for reading in self._form.within(text) if self._form.within is not None else ():
            self._by_key.setdefault(reading.key, {}).setdefault(reading.detail, origin)

    def find(self, value: Any) -> Origin | None:
        for reading in self._form.of(value):
            for detail, origin in self._by_key.get(reading.key, {}).items():
                if self._form.agree(reading.detail, detail):
                    return origin
        return None

    def candidates(self) -> Iterator[tuple[Any, Origin]]:
        yield from self._seen


class _Values:
    """Values that stood in results, so that a later argument is found in one step.

    Scalars are equal by ``subset``: a number or a bool and its text are the same, two different texts are not. Those
    that could be equal share a bucket, so that few are compared. Mappings and lists are equal by ``strict``.
    """

    __slots__ = ("_buckets",)

    def __init__(self) -> None:
        self._buckets: dict[Hashable, list[tuple[Any, Origin]]] = {}

    def add(self, value: Any, origin: Origin) -> None:
        kind, key = _bucket(value)
        bucket = self._buckets.setdefault((kind, key), [])
        if not bucket or (kind in _COERCED and key != _NAN and not any(_is_just(value, each) for each, _ in bucket)):
            bucket.append((value, origin))

    def find(self, value: Any) -> Origin | None:
        kind, key = _bucket(value)
        bucket = self._buckets.get((kind, key), [])
        if kind not in _COERCED:
            return bucket[0][1] if bucket else None
        for each, origin in bucket:
            if _is_just(value, each) or matches(Eq(each), value, "subset"):
                return origin
        return None

    def all(self) -> Iterator[tuple[Any, Origin]]:
        for bucket in self._buckets.values():
            yield from bucket


_COERCED: Final = ("number", "bool")
_NAN: Final = "nan"  # stands for itself in a bucket's key; the number is not even equal to itself


def _bucket(value: Any) -> tuple[str, Hashable]:
    """Return the kind of a value, and a key that all values share that are the same."""
    if isinstance(value, bool):
        return "bool", value
    if isinstance(value, str):
        if value.lower() in ("true", "false"):
            return "bool", value.lower() == "true"
        return ("text", value) if json_number(value) is None else ("number", _magnitude(value))
    return ("number", _magnitude(value)) if _is_number(value) else ("value", strict_key(value))


def _magnitude(number: Any) -> float | str:
    """Return about how much a number is, or the text of one."""
    try:
        about = float(number)
    except OverflowError:  # of a whole number beyond what a float holds
        return math.inf if number > 0 else -math.inf
    return _NAN if math.isnan(about) else about


def _is_just(one: Any, other: Any) -> bool:
    return type(one) is type(other) and bool(one == other)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


#: Letters and digits that stand together; nothing that is looked for ends inside of one.
_RUN = re.compile(r"[^\W_]+")


class _Words:
    """Texts, by the runs of letters and digits in them.

    A text that stands somewhere with no letter or digit beside it has whole runs there, so that only texts with its
    rarest run are searched. Each text is searched once for the same value.
    """

    __slots__ = ("_found", "_texts", "_with_run")

    def __init__(self) -> None:
        self._texts: list[tuple[str, Origin]] = []
        self._with_run: dict[str, list[int]] = {}
        self._found: dict[str, Origin | int] = {}

    def add(self, text: str, origin: Origin) -> None:
        number = len(self._texts)
        self._texts.append((text, origin))
        for run in set(_RUN.findall(text)):
            self._with_run.setdefault(run, []).append(number)

    def find(self, text: str) -> Origin | None:
        """Return where the text stands with no letter or digit beside it."""
        looked = self._found.get(text, 0)
        if isinstance(looked, Origin):
            return looked
        for number in self._likely(text, since=looked):
            message, origin = self._texts[number]
            if stands_in(text, message):
                self._found[text] = origin
                return origin
        self._found[text] = len(self._texts)
        return None

    def _likely(self, text: str, since: int) -> Sequence[int]:
        """Return the numbers of the texts that may have the text in them, from a number on."""
        runs = _RUN.findall(text)
        if not runs:
            return range(since, len(self._texts))
        numbers = min((self._with_run.get(run, []) for run in runs), key=len)
        return numbers[bisect_left(numbers, since) :]

    def all(self) -> Iterator[tuple[str, Origin]]:
        yield from self._texts


def stands_in(text: str, message: str) -> bool:
    """Whether a message has the text in it with no letter or digit beside it.

    >>> stands_in("5", "15 or 5"), stands_in("5", "15")
    (True, False)
    """
    at = message.find(text)
    while at >= 0:
        end = at + len(text)
        if not (message[at - 1 : at].isalnum() if at else False) and not message[end : end + 1].isalnum():
            return True
        at = message.find(text, at + 1)
    return False
