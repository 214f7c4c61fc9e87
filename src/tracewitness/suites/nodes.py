"""The values of an eval file with their places, and the builder that YAML and JSON share.

The builder is where hostile input ends: it bounds depth and size before anything is expanded.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple, NoReturn

from msgspec import Struct

from tracewitness.display import show
from tracewitness.errors import PathPart
from tracewitness.suites.places import NO_CHARACTER, SURROGATE, Place
from tracewitness.suites.problems import Problems

__all__ = [
    "MAX_DEPTH",
    "MAX_VALUES",
    "TOO_DEEP",
    "Entry",
    "Leaf",
    "ListNode",
    "MapNode",
    "Node",
    "TreeBuilder",
    "place_of",
    "plain_value",
]

MAX_DEPTH: Final = 100
MAX_VALUES: Final = 1_000_000
TOO_DEEP: Final = f"nested more than {MAX_DEPTH} levels deep; an eval file needs a few"


# gc=False is safe and saves much: a value is finished before what contains it, so nothing can refer back.
class Leaf(Struct, frozen=True, gc=False):
    """A text, number, bool or null; ``text`` is how it was written, without quotes."""

    place: Place
    value: Any
    text: str


class ListNode(Struct, frozen=True, gc=False):
    """A list of values."""

    place: Place
    items: list[Node]


class Entry(Struct, frozen=True, gc=False):
    """One key of a mapping: the place of the key, and its value."""

    place: Place
    node: Node


class MapNode(Struct, frozen=True, gc=False):
    """A mapping; its keys are text, since what it describes is JSON."""

    place: Place
    entries: dict[str, Entry]


Node = Leaf | ListNode | MapNode


def plain_value(node: Node) -> Any:
    """Return the value without its places: mappings, lists, texts, numbers, bools, None."""
    if isinstance(node, MapNode):
        return {key: plain_value(entry.node) for key, entry in node.entries.items()}
    if isinstance(node, ListNode):
        return [plain_value(item) for item in node.items]
    return node.value


def place_of(node: Node, path: tuple[PathPart, ...]) -> Place:
    """Return where a path below ``node`` begins: its last key, or list item.

    What is not there, such as a missing key, is at the innermost value that is.
    """
    place = node.place
    for part in path:
        if isinstance(node, MapNode) and isinstance(part, str) and part in node.entries:
            entry = node.entries[part]
            node, place = entry.node, entry.place
        elif isinstance(node, ListNode) and isinstance(part, int) and 0 <= part < len(node.items):
            node = node.items[part]
            place = node.place
        else:
            break
    return place


class _Measured(NamedTuple):
    """A finished value with what it costs to write it out in full."""

    node: Node
    size: int
    height: int


class _Frame:
    """A list or mapping that is still open."""

    __slots__ = ("anchor", "height", "is_mapping", "key", "key_place", "node", "size")

    def __init__(self, node: ListNode | MapNode, anchor: str | None) -> None:
        self.node = node
        self.is_mapping = isinstance(node, MapNode)
        self.anchor = anchor
        self.key: str | None = None
        self.key_place = node.place
        self.size = 1
        self.height = 1

    def here(self) -> PathPart | None:
        """Return the key or index at which the next value will stand; None where a key comes next."""
        return len(self.node.items) if isinstance(self.node, ListNode) else self.key


class TreeBuilder:
    """Builds the tree of one document from the events of a parser.

    Arguments:
        problems: takes the problems after which reading can go on, such as a duplicate key.

    Raises:
        SuiteError: from any method, where the document is too deep, too large, or refers to itself.
    """

    def __init__(self, problems: Problems) -> None:
        self.root: Node | None = None
        self._problems = problems
        self._open: list[_Frame] = []
        self._anchors: dict[str, _Measured] = {}
        self._size = 0

    def open_list(self, place: Place, anchor: str | None = None) -> None:
        """Begin a list."""
        self._push(ListNode(place, []), anchor)

    def open_mapping(self, place: Place, anchor: str | None = None) -> None:
        """Begin a mapping."""
        self._push(MapNode(place, {}), anchor)

    def close(self) -> None:
        """End the innermost list or mapping."""
        frame = self._open.pop()
        self._finish(_Measured(frame.node, frame.size, frame.height), frame.anchor)

    def leaf(self, leaf: Leaf, anchor: str | None = None) -> None:
        """Add a text, number, bool or null: a value, or the next key of the innermost mapping."""
        if SURROGATE.search(leaf.text):
            self._problems.add(NO_CHARACTER, self.path(), *leaf.place)
        if self.wants_key():
            self._take_key(leaf)
            if anchor is not None:
                self._anchors[anchor] = _Measured(leaf, 1, 0)
            return
        self._count(1, leaf.place)
        self._finish(_Measured(leaf, 1, 0), anchor)

    def alias(self, anchor: str, place: Place) -> None:
        """Add the value that was given a name earlier; it is shared, not copied."""
        target = self._anchors.get(anchor)
        if target is None:
            raise self._problems.fatal(self._why_no_anchor(anchor), self.path(), *place)
        if self.wants_key():
            if not isinstance(target.node, Leaf):
                self.refuse_key(place)
            self._take_key(Leaf(place, target.node.value, target.node.text))
            return
        self._check_depth(len(self._open) + target.height, place)
        self._count(target.size, place)
        self._finish(target)

    def refuse_key(self, place: Place) -> NoReturn:
        """Raise for a key that is a list or a mapping."""
        raise self._problems.fatal("a key is text here, not a list or a mapping", self.path(), *place)

    @property
    def has_anchors(self) -> bool:
        """Whether a value has a name, by which it may stand in other places as well."""
        return bool(self._anchors)

    def wants_key(self) -> bool:
        """Tell whether the next leaf is a key."""
        if not self._open:
            return False
        frame = self._open[-1]
        return frame.is_mapping and frame.key is None

    def path(self) -> tuple[PathPart, ...]:
        """Return the path of the value that comes next."""
        return tuple(part for frame in self._open if (part := frame.here()) is not None)

    def _push(self, node: ListNode | MapNode, anchor: str | None) -> None:
        if self.wants_key():
            self.refuse_key(node.place)
        self._check_depth(len(self._open) + 1, node.place)
        self._count(1, node.place)
        if anchor is not None:  # an older value of that name must not be found from within
            self._anchors.pop(anchor, None)
        self._open.append(_Frame(node, anchor))

    def _take_key(self, leaf: Leaf) -> None:
        frame = self._open[-1]
        frame.key, frame.key_place = leaf.text, leaf.place

    def _finish(self, value: _Measured, anchor: str | None = None) -> None:
        if anchor is not None:
            self._anchors[anchor] = value
        if not self._open:
            self.root = value.node
            return
        frame = self._open[-1]
        frame.size += value.size
        frame.height = max(frame.height, value.height + 1)
        if isinstance(frame.node, ListNode):
            frame.node.items.append(value.node)
        else:
            self._enter(frame, frame.node, value.node)

    def _enter(self, frame: _Frame, mapping: MapNode, node: Node) -> None:
        key = str(frame.key)
        first = mapping.entries.get(key)
        if first is None:
            mapping.entries[key] = Entry(frame.key_place, node)
        else:
            problem = f"duplicate key {show(key)}, first on line {first.place.line}; keep one of the two"
            self._problems.add(problem, self.path(), *frame.key_place)
        frame.key = None

    def _check_depth(self, depth: int, place: Place) -> None:
        if depth > MAX_DEPTH:
            raise self._problems.fatal(TOO_DEEP, (), *place)

    def _count(self, size: int, place: Place) -> None:
        self._size += size
        if self._size > MAX_VALUES:
            problem = f"more than {MAX_VALUES:,} values, anchors written out; split the file"
            raise self._problems.fatal(problem, (), *place)

    def _why_no_anchor(self, anchor: str) -> str:
        name = show(anchor, 40)
        if any(frame.anchor == anchor for frame in self._open):
            return f"anchor {name} contains itself; write the value out"
        return f"no anchor {name} before this alias; put text that begins with * in quotes"
