"""Values that are computed of others: is an argument the sum, the count, the difference … of what was seen?"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal, DecimalException
from functools import reduce
from itertools import product
from math import prod
from typing import Any, Final

from tracewitness.expectations.readings import amounts_of, written

__all__ = ["Groups", "computed", "is_computed", "ways_to_choose"]

#: Of each place so many of the latest results are kept.
KEPT_RESULTS: Final = 16
#: Where there are more results than these, they are not taken all together.
_MOST_TOGETHER: Final = 256
#: So many ways to choose a result for each place are tried; where there are more, only the latest results.
_MOST_WAYS: Final = 4096
_CENT: Final = Decimal("0.01")

#: What stands at a place in one result, and where that is.
Group = tuple[list[Any], Any]


class Groups:
    """The values at one place, by the result in which they stood."""

    __slots__ = ("_every", "_latest")

    def __init__(self) -> None:
        self._latest: deque[Group] = deque(maxlen=KEPT_RESULTS)
        self._every: list[Group] = []

    def add(self, values: Sequence[Any], origin: Any) -> None:
        """Add what stands there in a result; a list stands for its items. Where nothing stands, nothing is added."""
        if not values:
            return
        group = (
            [item for value in values for item in (value if isinstance(value, (list, tuple)) else [value])],
            origin,
        )
        self._latest.append(group)
        if len(self._every) <= _MOST_TOGETHER:
            self._every.append(group)

    def latest(self) -> list[Group]:
        """Return what stood there in each of the latest results."""
        return list(self._latest)

    def every(self) -> list[Group]:
        """Return what stood there in each of all results; nothing where these are too many."""
        return self._every if len(self._every) <= _MOST_TOGETHER else []


def _items(value: Any) -> Sequence[Any]:
    return value if isinstance(value, (list, tuple)) else [value]


def ways_to_choose(places: Sequence[Groups]) -> Iterator[list[Group]]:
    """Yield the ways to take, for each place, the values of one result; for a single place, all of them, too."""
    kept = [groups.latest()[::-1] for groups in places]
    if prod(map(len, kept)) > _MOST_WAYS:
        kept = [groups[:1] for groups in kept]
    for chosen in product(*kept):
        yield list(chosen)
    if len(places) == 1 and len(places[0].every()) > 1:
        yield places[0].every()


def is_computed(value: Any, result: Decimal | str | None) -> bool:
    """Whether a value is a result: a text to the letter; a number exactly, or to the cent.

    A number may be written with a currency. Rounding is half up or half to even.

    >>> [is_computed(value, Decimal("23.7881")) for value in (23.79, "$23.79", 23.78, 24)]
    [True, True, False, False]
    """
    if isinstance(result, str):
        return result in written(value)
    if result is None:
        return False
    wanted = {result, *_to_the_cent(result)}
    return any(amount in wanted for amount in amounts_of(value))


def _to_the_cent(result: Decimal) -> list[Decimal]:
    try:
        return [result.quantize(_CENT, rounding) for rounding in (ROUND_HALF_UP, ROUND_HALF_EVEN)]
    except DecimalException:  # more digits than decimal reckons with
        return []


def computed(operation: str, values: Sequence[Any], separator: str) -> Decimal | str | None:
    """Compute an operation of values; None where one of them is not what it is for.

    >>> computed("sum", [0.1, 0.2, "$3"], " ")
    Decimal('3.3')
    >>> computed("concat", ["Ada", "Lovelace"], " ")
    'Ada Lovelace'
    """
    if operation == "count":
        return Decimal(len(values))
    if operation == "concat":
        texts = [written(value)[-1:] for value in values]
        return separator.join(text for (text,) in texts) if all(texts) else None
    amounts = [amounts_of(value)[:1] for value in values]
    if not values or not all(amounts):
        return _first_or_last(operation, values)
    try:
        return _OPERATIONS[operation]([amount for (amount,) in amounts])
    except DecimalException:
        return None


def _first_or_last(operation: str, values: Sequence[Any]) -> str | None:
    """Return the least or greatest of texts, such as days as ISO 8601 writes them."""
    if operation not in ("min", "max") or not values or not all(isinstance(value, str) for value in values):
        return None
    return str(min(values) if operation == "min" else max(values))


_OPERATIONS: Final[dict[str, Callable[[list[Decimal]], Decimal]]] = {
    "sum": lambda amounts: sum(amounts, Decimal(0)),
    "min": min,
    "max": max,
    "mean": lambda amounts: sum(amounts, Decimal(0)) / len(amounts),
    "difference": lambda amounts: reduce(lambda rest, amount: rest - amount, amounts),
    "product": lambda amounts: reduce(lambda made, amount: made * amount, amounts),
}
