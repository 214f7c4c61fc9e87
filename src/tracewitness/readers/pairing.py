"""Pair tool calls that two accounts of one turn tell of: which of them are the same call."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, NamedTuple

from tracewitness.display import show
from tracewitness.readers.literals import MAX_DEPTH

__all__ = ["CallKey", "freeze", "is_resource_name", "pair_calls"]


class CallKey(NamedTuple):
    """What makes two accounts of a call the same: the tool's name, and its frozen arguments."""

    name: str
    args: Hashable


def is_resource_name(name: str) -> bool:
    """Whether a name is a resource's, ``projects/…/tools/X``, of which the tool's own name can't be told.

    >>> is_resource_name("projects/p/tools/5f2c0d"), is_resource_name("create_order")
    (True, False)
    """
    return "/tools/" in name or "/toolsets/" in name


def pair_calls(first: Sequence[CallKey], second: Sequence[CallKey]) -> dict[int, int]:
    """Pair the calls of two accounts one for one, and return the index in ``second`` for that in ``first``.

    Calls are the same where the arguments are equal and the names are equal or one of them, and only one, is
    a resource name. Equal names go first, so that a resource name takes no partner from a call that has its
    own.
    """
    pairs: dict[int, int] = {}
    _pair(first, second, pairs)
    _pair(
        [(key.args, not is_resource_name(key.name)) for key in first],
        [(key.args, is_resource_name(key.name)) for key in second],
        pairs,
    )
    return pairs


def _pair(wanted: Sequence[Hashable], offered: Sequence[Hashable], pairs: dict[int, int]) -> None:
    """Add a pair for each that still has none and whose key is offered, the earliest first."""
    taken = set(pairs.values())
    waiting: dict[Hashable, deque[int]] = {}
    for index, key in enumerate(offered):
        if index not in taken:
            waiting.setdefault(key, deque()).append(index)
    for index, key in enumerate(wanted):
        queue = waiting.get(key)
        if index not in pairs and queue:
            pairs[index] = queue.popleft()


def freeze(value: Any, depth: int = 0) -> Hashable:
    """Return a hashable stand-in for plain data: equal where the data are equal by value.

    Numbers are equal by value, a bool is no number, ``nan`` equals ``nan``, and lists and tuples are alike.
    What is nested deeper than any literal of a text trace is equal to nothing in one.

    >>> freeze({"n": [1, True]}) == freeze({"n": (1.0, True)}), freeze(1) == freeze(True)
    (True, False)
    """
    if depth > MAX_DEPTH:
        return "too deep"
    if isinstance(value, Mapping):
        return "mapping", frozenset((freeze(key), freeze(item, depth + 1)) for key, item in value.items())
    if isinstance(value, (list, tuple)):
        return "list", tuple(freeze(item, depth + 1) for item in value)
    if isinstance(value, bool):
        return "bool", value
    if isinstance(value, float) and math.isnan(value):
        return "nan"
    if value is None or isinstance(value, (int, float, str)):
        return "plain", value
    return type(value).__name__, show(value, 1000)
