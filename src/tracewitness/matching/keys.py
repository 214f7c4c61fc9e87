"""Keys by which equal values are found without comparing each with each."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from types import NoneType
from typing import Any

from tracewitness.display import show

from .numeric import is_nan
from .values import UndecidedError, as_mapping, equals, kind_of

_FLAT_KEYS = (int, bool, NoneType)
_END = object()


def strict_key(value: object) -> Hashable:
    """Return a key that two plain values share exactly when they match under ``strict``.

    The key is flat, so that neither hashing nor comparing recurses at any depth. A value that contains itself
    gets a key by its shape. Other objects count by type and their own ``__eq__``; those that can't be hashed
    share a bucket by type, and are then compared.

    >>> strict_key({"a": 1, "b": 2}) == strict_key({"b": 2, "a": 1})
    True
    >>> strict_key(1) == strict_key(True)
    False
    """
    try:
        return _key_of(value)
    except (UndecidedError, RecursionError):  # a foreign mapping that can't be read, sets in sets without end
        return object, type(value), _ByEquality(value)


def _key_of(value: object) -> Hashable:
    if isinstance(value, str):
        return str.__str__(value)
    return _simple_tokens(value) or tuple(_tokens(value))


def _simple_tokens(value: object) -> tuple[Hashable, ...] | None:
    """Write down, quickly, what most arguments are: a mapping of texts to texts and whole numbers."""
    if type(value) is not dict:
        return None
    tokens: list[Hashable] = [dict, 2 * len(value)]
    try:
        for key in sorted(value):
            item = value[key]
            if type(key) is not str or (type(item) is not str and type(item) is not int):
                return None
            tokens += key, item
    except TypeError:  # keys of several types have no order
        return None
    return tuple(tokens)


class _ByEquality:
    """Stands for an object that can't be hashed."""

    __slots__ = ("value",)

    def __init__(self, value: object) -> None:
        self.value = value

    def __hash__(self) -> int:
        return hash(type(self.value))

    def __eq__(self, other: object) -> bool:
        try:
            return isinstance(other, _ByEquality) and equals(self.value, other.value)
        except UndecidedError:
            return False


def _tokens(value: object) -> Iterator[Hashable]:
    """Write a value down as a flat row in which the first token of each part says what follows."""
    layers: list[Iterator[object]] = [iter((value,))]
    parents: dict[int, int] = {0: 0}  # the containers being written and their depths, to notice a cycle
    while layers:
        item = next(layers[-1], _END)
        if item is _END:
            layers.pop()
            parents.popitem()
        elif id(item) in parents:
            yield from (Mapping, parents[id(item)])
        elif (children := _children(item)) is None:
            yield from _leaf(item)
        else:
            yield from (_head(item), len(children))
            layers.append(iter(children))
            parents[id(item)] = len(parents)


def _head(container: object) -> type:
    """Return what marks a container: mappings of all types are alike, lists and tuples are not."""
    return dict if isinstance(container, Mapping) else type(container)


def _children(item: Any) -> list[object] | None:
    """Return the keys and values, or the items, of a container; None for everything else."""
    kind = kind_of(item)
    if kind == "list":
        return list(item)
    if kind != "mapping":
        return None
    mapping = as_mapping(item) or {}
    is_flat = all(type(key) in _FLAT_KEYS or isinstance(key, str) for key in mapping)
    ordered = sorted(mapping, key=_rank if is_flat else _rank_of_odd)
    return [part for key in ordered for part in (key, mapping[key])]


def _rank(key: Any) -> tuple[str, Any]:
    """Order keys of several types, each among its own."""
    return ("str" if isinstance(key, str) else type(key).__name__), key is not None and key


def _rank_of_odd(key: Hashable) -> tuple[str, int, str]:
    """Order keys that have no order of their own."""
    kind = "str" if isinstance(key, str) else type(key).__name__
    return kind, hash(_key_of(key)), show(key)


def _leaf(item: object) -> tuple[Any, ...]:
    if isinstance(item, str):
        return (str.__str__(item),)
    kind = kind_of(item)
    if kind == "number":
        return _number(item)
    if kind in ("bool", "null"):
        return type(item), bool(item)
    if isinstance(item, set | frozenset):
        return object, type(item), frozenset(map(_key_of, item))
    return object, type(item), _hashable(item)


def _number(number: Any) -> tuple[Any, ...]:
    if type(number) is int:
        return (number,)
    return type(number), "nan" if is_nan(number) else number


def _hashable(item: object) -> Hashable:
    try:
        hash(item)
    except Exception:  # noqa: BLE001  a foreign __hash__ may raise anything
        return _ByEquality(item)
    return item
