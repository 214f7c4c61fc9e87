"""Mappings and lists: compiled from their compiled parts.

`build_mapping`'s tests are the hot path of every check; they are flat on purpose.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, Final, NamedTuple

from tracewitness.display import nearest_name, plural, show

from .difference import Difference, Path, why_different
from .jsontext import LEVELS, reading_of, unfold
from .keys import strict_key
from .nodes import Buildable, Node, Test
from .values import MISSING, UndecidedError, as_list, as_mapping, noun, undecided_by

_MOST_NAMES: Final = 1000  # keys among which one is looked for that was meant; it is done for every key that is wrong

Content = dict[Any, object]
# Opens a value: its content or None, and how many JSON texts may still be opened below.
OpenMapping = Callable[[object, int], tuple[Content | None, int]]
OpenList = Callable[[object, int], tuple[Sequence[object] | None, int]]
# Key, quick type, quick value, test, and whether the key may be absent.
Entry = tuple[Hashable, type | None, object, Test, bool]


class TypedKey(NamedTuple):
    """A key that is told apart from keys that a dict takes for the same: 1, 1.0 and True."""

    strict: Hashable
    key: Hashable


def open_mapping(actual: object, levels: int) -> tuple[Content | None, int]:
    """Return a mapping's content."""
    return as_mapping(actual), levels


def open_mapping_or_text(actual: object, levels: int) -> tuple[Content | None, int]:
    """Return a mapping's content, also that of one written as JSON in a text."""
    if isinstance(actual, str):
        actual, levels = unfold(actual, levels)
    return as_mapping(actual), levels


def _opening_at_keys(keys: Iterable[str]) -> OpenMapping:
    """Return what opens a mapping, also one written as JSON in a text, for who asks for some keys and no others."""
    read = reading_of(keys)

    def open_at_keys(actual: object, levels: int) -> tuple[Content | None, int]:
        if levels and actual.__class__ is str and (content := read(actual)) is not None:
            return content, levels - 1
        return open_mapping_or_text(actual, levels)

    return open_at_keys


def open_list(actual: object, levels: int) -> tuple[Sequence[object] | None, int]:
    """Return a list's items."""
    return as_list(actual), levels


def open_list_or_text(actual: object, levels: int) -> tuple[Sequence[object] | None, int]:
    """Return a list's items, also those of one written as JSON in a text."""
    if isinstance(actual, str):
        actual, levels = unfold(actual, levels)
    return as_list(actual), levels


def build_mapping(expected: object, parts: Mapping[Any, Node], *, coerces: bool, open_keys: bool) -> Node:
    """Compile a mapping.

    Arguments:
        expected: what a report shows as expected.
        parts: the compiled value of each expected key.
        coerces: a mapping written as JSON in a text counts.
        open_keys: more keys are fine.
    """
    opened: OpenMapping = open_mapping_or_text if coerces else open_mapping
    plain_type: type | None = dict
    if not all(type(key) is str for key in parts):
        opened, plain_type = _opening_by_typed_key(opened), None
        parts = {_typed(key): node for key, node in parts.items()}
    entries = tuple(_entry(key, node) for key, node in parts.items())
    if coerces and open_keys and all(type(key) is str and key.isascii() for key in parts):
        quickly_opened = _opening_at_keys(parts)
    else:
        quickly_opened = opened
    test = _test_of_mapping(entries, quickly_opened, plain_type, open_keys=open_keys)

    def explain(actual: object, path: Path, levels: int) -> Iterable[Difference]:
        try:
            content, left = opened(actual, levels)
        except UndecidedError as undecided:
            return [Difference(path, expected, actual, undecided.reason)]
        if content is None:
            shown = {} if isinstance(expected, Buildable) else expected
            reason = why_not_opened(actual, shown, levels, coerces=coerces)
            return [Difference(path, expected, actual, reason)]
        found = _explained_entries(parts, content, path, left)
        return found if open_keys else chain(found, _unexpected(parts, content, path))

    return Node(expected, test, explain)


def _entry(key: Hashable, node: Node) -> Entry:
    quick_type, quick_value = node.quick or (None, None)
    return key, quick_type, quick_value, node.test, node.absent is True


def _test_of_mapping(
    entries: tuple[Entry, ...], opened: OpenMapping, plain_type: type | None, *, open_keys: bool
) -> Test:
    if not open_keys:
        return _test_same_keys(entries, opened, plain_type)
    if len(entries) == 1:
        return _test_one_key(entries[0], opened, plain_type)
    return _test_some_keys(entries, opened, plain_type)


def _test_one_key(entry: Entry, opened: OpenMapping, plain_type: type | None) -> Test:
    key, quick_type, quick_value, part_test, may_be_absent = entry

    def test(actual: Any, levels: int) -> bool:
        if actual.__class__ is not plain_type:
            actual, levels = opened(actual, levels)
            if actual is None:
                return False
        found = actual.get(key, MISSING)
        if found.__class__ is quick_type:
            return bool(found == quick_value)
        if found is MISSING:
            return may_be_absent
        return part_test(found, levels)

    return test


def _test_some_keys(  # noqa: C901  flat on purpose
    entries: tuple[Entry, ...], opened: OpenMapping, plain_type: type | None
) -> Test:
    def test(actual: Any, levels: int) -> bool:
        if actual.__class__ is not plain_type:
            actual, levels = opened(actual, levels)
            if actual is None:
                return False
        try:
            for key, quick_type, quick_value, part_test, may_be_absent in entries:
                found = actual.get(key, MISSING)
                if found.__class__ is quick_type:
                    if found != quick_value:
                        return False
                elif found is MISSING:
                    if not may_be_absent:
                        return False
                elif not part_test(found, levels):
                    return False
        except Exception as error:  # noqa: BLE001  of a foreign value; a later key may decide all the same
            return _without_entry(key, error, entries, actual, levels)
        return True

    return test


def _without_entry(key: Hashable, error: Exception, entries: tuple[Entry, ...], actual: Any, levels: int) -> bool:
    """Return False where an entry after the one that can't be told of does not match.

    Errors:
        UndecidedError: there is none.
    """
    keys = [entry[0] for entry in entries]
    for entry in entries[keys.index(key) + 1 :]:
        try:
            if not _test_one_key(entry, open_mapping, dict)(actual, levels):
                return False
        except Exception:  # noqa: BLE001, S112  the first that can't be told of says why
            continue
    raise undecided_by(error)


def _test_same_keys(  # noqa: C901  flat on purpose
    entries: tuple[Entry, ...], opened: OpenMapping, plain_type: type | None
) -> Test:
    def test(actual: Any, levels: int) -> bool:
        if actual.__class__ is not plain_type:
            actual, levels = opened(actual, levels)
            if actual is None:
                return False
        surplus = len(actual)
        try:
            for key, quick_type, quick_value, part_test, may_be_absent in entries:
                found = actual.get(key, MISSING)
                if found.__class__ is quick_type:
                    if found != quick_value:
                        return False
                    surplus -= 1
                elif found is MISSING:
                    if not may_be_absent:
                        return False
                elif not part_test(found, levels):
                    return False
                else:
                    surplus -= 1
        except Exception as error:  # noqa: BLE001  of a foreign value; another key may decide all the same
            has_more = not {entry[0] for entry in entries}.issuperset(actual)
            return not has_more and _without_entry(key, error, entries, actual, levels)
        return surplus == 0

    return test


def _typed(key: Hashable) -> Hashable:
    return key if isinstance(key, str) else TypedKey(strict_key(key), key)


def _opening_by_typed_key(opened: OpenMapping) -> OpenMapping:
    def open_by_typed_key(actual: object, levels: int) -> tuple[Content | None, int]:
        content, levels = opened(actual, levels)
        if content is None:
            return None, levels
        return {_typed(key): value for key, value in content.items()}, levels

    return open_by_typed_key


def why_not_opened(actual: object, expected: object, levels: int, *, coerces: bool) -> str:
    """Say why a value is not the mapping or list that was expected.

    Arguments:
        expected: the plain value, or an empty one of its kind where a matcher stands for it.
        levels: how many JSON texts may still be opened.
        coerces: JSON in texts counts.
    """
    if not isinstance(actual, str) or not actual.lstrip().startswith(("{", "[", '"')):
        needed = f"{noun(expected)} is needed, not {noun(actual)}"
        return why_different(expected, actual) if expected else needed
    if not coerces:
        return "JSON in a text counts only under the policy 'subset'"
    value, left = unfold(actual, levels)
    if not isinstance(value, str):
        return f"the text holds {noun(value)}, not {noun(expected)}"
    return "the text is not JSON" if left else f"more than {LEVELS} texts in texts are not looked into"


def part_of_path(key: object) -> str | int:
    """Return a key as a path can hold it."""
    if isinstance(key, TypedKey):
        key = key.key
    return key if isinstance(key, str) or type(key) is int else show(key)


def _explained_entries(parts: Mapping[Any, Node], content: Content, path: Path, levels: int) -> Iterable[Difference]:
    for key, node in parts.items():
        below = (*path, part_of_path(key))
        found = content.get(key, MISSING)
        if found is not MISSING:
            yield from node.explain(found, below, levels)
        elif node.absent is not True:
            yield Difference(below, node.expected, MISSING, _hint(key, content, parts, "there is"))


def _unexpected(parts: Mapping[Any, Node], content: Content, path: Path) -> Iterable[Difference]:
    return (
        Difference((*path, part_of_path(key)), MISSING, value, _hint(key, parts, content, "perhaps it should be"))
        for key, value in content.items()
        if key not in parts
    )


def _hint(key: object, names: Collection[object], taken: Collection[object], words: str) -> str:
    """Name the key that was probably meant, among ``names`` without the ones that are ``taken``."""
    if not isinstance(key, str) or max(len(names), len(taken)) > _MOST_NAMES:
        return ""
    excluded = set(taken)
    near = nearest_name(key, [name for name in names if isinstance(name, str) and name not in excluded])
    return f"{words} the key {show(near)}" if near else ""


class Items:
    """The compiled items of an expected list. Lists are long and mostly come as they are expected, so a plain value is
    compiled only where another comes.

    Arguments:
        expected: the items.
        is_deferred: tells of an item whether it equals what is of its type and value, whatever the policy, and whether
            compiling it raises nothing.
        build: compiles an item.
    """

    __slots__ = ("_build", "nodes", "values")

    def __init__(
        self, expected: Sequence[object], is_deferred: Callable[[object], bool], build: Callable[[object], Node]
    ) -> None:
        self.values = tuple(expected)
        self.nodes = [None if is_deferred(item) else build(item) for item in self.values]
        self._build = build

    def node(self, index: int) -> Node:
        """Return a compiled item."""
        node = self.nodes[index]
        if node is None:
            node = self.nodes[index] = self._build(self.values[index])
        return node

    def differing(self, actual: Sequence[object]) -> Iterator[tuple[int, Node, object]]:
        """Yield the items that are not the plain value that is expected, with what is expected of them."""
        nodes = self.nodes
        for index, (value, item) in enumerate(zip(self.values, actual, strict=True)):
            if nodes[index] is not None or type(item) is not type(value) or item != value:
                yield index, self.node(index), item


def build_list(expected: Sequence[object], parts: Items, *, coerces: bool, exact: bool) -> Node:
    """Compile a list whose items are compared in order.

    Arguments:
        expected: what a report shows as expected.
        parts: the compiled items.
        coerces: a list written as JSON in a text counts.
        exact: a list is not a tuple.
    """
    opened: OpenList = open_list_or_text if coerces else open_list
    expected_type = type(expected) if exact else None

    def explain(actual: object, path: Path, levels: int) -> Iterable[Difference]:
        try:
            items, left = opened(actual, levels)
        except UndecidedError as undecided:
            return [Difference(path, expected, actual, undecided.reason)]
        if items is None or (exact and type(actual) is not expected_type):
            reason = why_not_opened(actual, expected, levels, coerces=coerces)
            return [Difference(path, expected, actual, reason)]
        if len(items) != len(parts.values):
            return [Difference(path, expected, actual, _why_length(len(parts.values), len(items)))]
        return (
            difference
            for index, part, item in parts.differing(items)
            for difference in part.explain(item, (*path, index), left)
        )

    return Node(expected, _test_of_list(parts, opened, expected_type), explain)


def _test_of_list(parts: Items, opened: OpenList, exact_type: type | None) -> Test:
    length = len(parts.values)

    def test(actual: Any, levels: int) -> bool:
        if actual.__class__ is not list:
            actual, levels = opened(actual, levels)
        if actual is None or len(actual) != length:
            return False
        differing = parts.differing(actual)
        try:
            for _, part, item in differing:
                if not part.test(item, levels):
                    return False
        except Exception as error:  # noqa: BLE001  of a foreign value; a later item may decide all the same
            return _without_item(error, differing, levels)
        return True

    if exact_type is None:
        return test
    return lambda actual, levels: type(actual) is exact_type and test(actual, levels)


def _without_item(error: Exception, rest: Iterable[tuple[int, Node, object]], levels: int) -> bool:
    """Return False where an item after the one that can't be told of does not match.

    Errors:
        UndecidedError: there is none.
    """
    for _, part, item in rest:
        try:
            if not part.test(item, levels):
                return False
        except Exception:  # noqa: BLE001, S112  the first that can't be told of says why
            continue
    raise undecided_by(error)


def _why_length(expected: int, actual: int) -> str:
    return f"expected {plural(expected, 'item')}, got {actual}"
