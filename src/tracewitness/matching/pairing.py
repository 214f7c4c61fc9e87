"""Expected items of a list, each with an actual one of its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from .assignment import assign
from .difference import Difference, Path
from .nodes import Node
from .values import MISSING, UndecidedError, undecided_by

_FINDABLE: Final = (str, int, float, bool)
_TRIED: Final = 50  # partners that are tried to explain why an item has none


class Pairing:
    """Gives each expected item of a list an actual one of its own.

    Arguments:
        nodes: the expected items, compiled.
    """

    def __init__(self, nodes: list[Node]) -> None:
        self._nodes = nodes

    def is_complete(self, items: Sequence[object], levels: int) -> bool:
        """Tell whether all expected items find a partner.

        Errors:
            UndecidedError: they might, but for a pair of which it can't be told whether it matches.
        """
        indexed = _Indexed(items, levels)
        rows: list[list[int]] = []
        undecided: UndecidedError | None = None
        for node in self._nodes:
            row, doubt = indexed.accepted_by(node)
            if not row and doubt is None:
                return False
            rows.append(row)
            undecided = undecided or doubt
        if None not in assign(rows, len(items)):
            return True
        if undecided is not None:
            raise undecided
        return False

    def explained(self, items: Sequence[object], levels: int, path: Path) -> Iterator[Difference]:
        """Give what keeps each item that is left over from its nearest partner."""
        indexed = _Indexed(items, levels)
        partners = assign([indexed.accepted_by(node)[0] for node in self._nodes], len(items))
        taken = set(partners)
        surplus = [index for index in range(len(items)) if index not in taken]
        for number, (node, partner) in enumerate(zip(self._nodes, partners, strict=True)):
            if partner is None:
                yield from _left_over(number, node, items, surplus, levels, path)
        for index in surplus:
            yield Difference((*path, index), MISSING, items[index], "no expected item is left for it")


def _left_over(
    number: int, node: Node, items: Sequence[object], surplus: list[int], levels: int, path: Path
) -> list[Difference]:
    """Explain an expected item by its nearest partner, which is taken from the surplus."""
    if not surplus:
        return [Difference(path, node.expected, MISSING, f"no item is left for expected item {number}")]
    tries = {index: list(node.explain(items[index], (*path, index), levels)) for index in surplus[:_TRIED]}
    nearest = min(tries, key=lambda index: (len(tries[index]), index))
    surplus.remove(nearest)
    return tries[nearest]


class _Indexed:
    """The actual items, those of simple types to be found by value, so that many take linear time."""

    def __init__(self, items: Sequence[object], levels: int) -> None:
        self._items = items
        self._levels = levels
        self._places: dict[type, dict[Any, list[int]]] = {kind: {} for kind in _FINDABLE}
        self._others: dict[type, list[int]] = {}
        for index, item in enumerate(items):
            if type(item) in self._places:
                self._places[type(item)].setdefault(item, []).append(index)

    def accepted_by(self, node: Node) -> tuple[list[int], UndecidedError | None]:
        """Return which items a node matches, and why it could not tell of one."""
        kind, value = node.quick or (None, None)
        if kind not in self._places:
            return self._tested(node, range(len(self._items)), [])
        return self._tested(node, self._not_of(kind), self._places[kind].get(value, []))

    def _tested(
        self, node: Node, candidates: Sequence[int], found: list[int]
    ) -> tuple[list[int], UndecidedError | None]:
        row = [*found]
        doubt: UndecidedError | None = None
        for index in candidates:
            try:
                if node.test(self._items[index], self._levels):
                    row.append(index)
            except Exception as error:  # noqa: BLE001  of a foreign value; there may be other partners
                doubt = undecided_by(error)
        return row, doubt

    def _not_of(self, kind: type) -> list[int]:
        """Return the items that are of another type."""
        if kind not in self._others:
            self._others[kind] = [index for index, item in enumerate(self._items) if type(item) is not kind]
        return self._others[kind]
