"""Matchers that look into mappings and lists, or change the policy for what is inside."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from tracewitness.display import show
from tracewitness.errors import ExpectationError

from .base import Matcher, Read, Write
from .containers import OpenList, build_mapping, open_list, open_list_or_text, why_not_opened
from .difference import Difference, Path
from .keys import strict_key
from .nodes import Node, Rules, Test, leaf
from .pairing import Pairing
from .policies import build
from .values import UndecidedError, as_list, as_mapping, has_own_equality, kind_of, noun, undecided_by

_MANY = 16  # items from which counting them by key pays


class _Wrapper(Matcher):
    """A matcher around one expectation."""

    __slots__ = ("part",)
    fields = ("part",)
    part: Any

    def __init__(self, part: object) -> None:
        self._set(part=part)

    def with_parts(self, change: Callable[[object], object], /) -> Matcher:
        return type(self)(change(self.part))

    @classmethod
    def from_file(cls, value: object, read: Read, /) -> Matcher:
        return cls(read(value))


class Exactly(_Wrapper):
    """Match ``part`` under the policy ``strict``; matchers inside it still work.

    >>> Exactly({"id": 1})
    Exactly({'id': 1})
    """

    __slots__ = ()
    key = "$exactly"

    def build(self, rules: Rules, /) -> Node:
        node = build(self.part, rules.below().strictly())
        return Node(self, node.test, node.explain, absent=node.absent, quick=node.quick)


class Eq(_Wrapper):
    """Match ``part`` by the policy in force, with nothing inside it taken for a matcher or a wildcard.

    >>> Eq("*")
    Eq('*')
    """

    __slots__ = ()
    key = "$eq"

    def with_parts(self, _change: Callable[[object], object], /) -> Matcher:
        return self

    @classmethod
    def from_file(cls, value: object, _read: Read, /) -> Matcher:
        return cls(value)

    def to_file(self, _write: Write, /) -> dict[str, object]:
        return {self.key: self.part}

    def build(self, rules: Rules, /) -> Node:
        node = build(self.part, rules.below().taken_literally())
        return Node(self, node.test, node.explain, quick=node.quick)


class Partial(_Wrapper):
    """Match a mapping that has at least the keys of ``part``, under any policy; one level deep.

    >>> Partial({"id": 1})
    Partial({'id': 1})
    """

    __slots__ = ()
    key = "$partial"

    def __init__(self, part: Mapping[Any, object]) -> None:
        if not isinstance(part, Mapping):
            raise ExpectationError(f"Partial needs a mapping of keys to values, not {show(part)}")
        super().__init__(part)

    def build(self, rules: Rules, /) -> Node:
        below = rules.below()
        nodes = {key: build(value, below) for key, value in self.part.items()}
        return build_mapping(self, nodes, coerces=rules.coerces, open_keys=True)


class Contains(_Wrapper):
    """Match a text with the text ``part`` in it, a list with a matching item, or a mapping with that key.

    >>> Contains("rm -rf")
    Contains('rm -rf')
    """

    __slots__ = ()
    key = "$contains"

    def build(self, rules: Rules, /) -> Node:
        item = build(self.part, rules.below())
        key = build(self.part, rules.below().strictly())

        def test(actual: object, levels: int) -> bool:
            if isinstance(actual, str):
                return isinstance(self.part, str) and self.part in actual
            mapping = as_mapping(actual)
            if mapping is not None:
                return _any_matches(key.test, tuple(mapping), levels)
            return _any_matches(item.test, as_list(actual) or (), levels)

        return leaf(self, test, self._why)

    def _why(self, actual: object) -> str:
        kind = kind_of(actual)
        if kind == "text":
            return "" if isinstance(self.part, str) else "a text contains only texts"
        if kind == "mapping":
            return "there is no such key"
        return "no item matches" if kind == "list" else f"{noun(actual)} contains nothing"


def _any_matches(test: Test, items: Sequence[object], levels: int) -> bool:
    return not _all_give(test, items, levels, answer=False)


def _all_give(test: Test, items: Sequence[object], levels: int, *, answer: bool) -> bool:
    """Tell whether a test gives the same answer for all items; one other answer decides, whatever can't be told."""
    undecided: UndecidedError | None = None
    for item in items:
        try:
            if test(item, levels) is not answer:
                return False
        except Exception as error:  # noqa: BLE001  of a foreign value; another item may decide all the same
            undecided = undecided_by(error)
    if undecided is not None:
        raise undecided
    return True


class _OfList(_Wrapper):
    """A matcher of lists, also of those written as JSON in a text where the policy looks into texts."""

    __slots__ = ()

    def _opening(self, rules: Rules) -> OpenList:
        return open_list_or_text if rules.coerces else open_list

    def _opened(
        self, rules: Rules, actual: object, path: Path, levels: int
    ) -> tuple[Sequence[object], int] | list[Difference]:
        """Return the items and the JSON levels left, or the difference that there is no list."""
        try:
            items, left = self._opening(rules)(actual, levels)
        except UndecidedError as undecided:
            return [Difference(path, self, actual, undecided.reason)]
        if items is None:
            return [Difference(path, self, actual, why_not_opened(actual, [], levels, coerces=rules.coerces))]
        return items, left


class Each(_OfList):
    """Match a list every item of which matches ``part``.

    >>> Each(GreaterThan(0))
    Each(GreaterThan(0))
    """

    __slots__ = ()
    key = "$each"

    def build(self, rules: Rules, /) -> Node:
        node, opened = build(self.part, rules.below()), self._opening(rules)

        def test(actual: object, levels: int) -> bool:
            items, levels = opened(actual, levels)
            return items is not None and _all_give(node.test, items, levels, answer=True)

        def explain(actual: object, path: Path, levels: int) -> Iterable[Difference]:
            found = self._opened(rules, actual, path, levels)
            if isinstance(found, list):
                return found
            items, levels = found
            return (
                difference
                for index, item in enumerate(items)
                for difference in node.explain(item, (*path, index), levels)
            )

        return Node(self, test, explain)


class Unordered(_OfList):
    """Match a list of the same items in any order, each expected one with an item of its own.

    >>> Unordered(["a", "b"])
    Unordered(['a', 'b'])
    """

    __slots__ = ()
    key = "$unordered"

    def __init__(self, part: Sequence[object]) -> None:
        if not isinstance(part, list | tuple):
            raise ExpectationError(f"Unordered needs a list of items, not {show(part)}")
        super().__init__(part)

    def build(self, rules: Rules, /) -> Node:
        below = rules.below()
        pairing = Pairing([build(item, below) for item in self.part])
        opened, bag = self._opening(rules), _bag_of_plain(self.part)

        def test(actual: object, levels: int) -> bool:
            items, levels = opened(actual, levels)
            if items is None or len(items) != len(self.part):
                return False
            if bag is not None and bag == Counter(map(strict_key, items)):
                return True  # what is the same under strict matches under every policy
            return pairing.is_complete(items, levels)

        def explain(actual: object, path: Path, levels: int) -> Iterable[Difference]:
            found = self._opened(rules, actual, path, levels)
            return found if isinstance(found, list) else pairing.explained(*found, path)

        return Node(self, test, explain)


def _bag_of_plain(items: Sequence[object]) -> Counter[Any] | None:
    """Count many items by key; None where they are few, or something in them is not plain."""
    if len(items) < _MANY or not all(map(_is_plain, items)):
        return None
    return Counter(map(strict_key, items))


def _is_plain(value: object) -> bool:
    if has_own_equality(value):
        return False
    if isinstance(value, Mapping):
        return all(map(_is_plain, value.values()))
    if isinstance(value, list | tuple):
        return all(map(_is_plain, value))
    return kind_of(value) != "other"
