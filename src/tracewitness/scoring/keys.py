"""Keys of plain values: two values share one exactly when they match under the policy."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any, Final

__all__ = ["Odd", "argument_keys", "key_or_odd", "plain_keys"]

_DEEPEST: Final = 100  # levels of an expectation; a key takes a stack frame a level, and so does comparing keys
_NAN: Final = (float, "nan")


class Odd:
    """Stands for a value without a key: a matcher, an object that is no plain data, or one that nests too deeply.

    It equals nothing but itself; what it matches has to be tried.
    """

    __slots__ = ()


class _NoKeyError(Exception):
    """The value has no key."""


def argument_keys(args: Mapping[str, Any], exact: bool) -> dict[str, Hashable]:
    """Return the key of every argument of a call, or an `Odd`.

    Arguments:
        exact: whether the policy is ``strict``, else it is ``lenient``.

    >>> argument_keys({"city": " NYC ", "nights": 2.0}, False) == argument_keys({"city": "NYC", "nights": 2}, False)
    True
    """
    keys: dict[str, Hashable] = {}
    for name, value in args.items():
        kind = value.__class__
        if kind is str:
            keys[name] = value if exact else value.strip()
        elif kind is int:
            keys[name] = value
        else:
            keys[name] = key_or_odd(value, exact)
    return keys


def plain_keys(args: Mapping[Any, Any], exact: bool) -> dict[str, Hashable] | None:
    """Return the keys of expected arguments; None where one of them has none, or could be a matcher of a file."""
    keys: dict[str, Hashable] = {}
    for name, value in args.items():
        if name.__class__ is not str or name[:1] == "$":
            return None
        kind = value.__class__
        if kind is str:
            keys[name] = value if exact else value.strip()
        elif kind is int:
            keys[name] = value
        else:
            key = keys[name] = key_or_odd(value, exact, True)
            if key.__class__ is Odd:
                return None
    return keys


def key_or_odd(value: object, exact: bool, notation: bool = False) -> Hashable:
    """Return the key of one value, or an `Odd` where it has none.

    Arguments:
        notation: whether mappings with ``$`` names are matchers.
    """
    try:
        return _plain_key(value, _DEEPEST, exact, notation)
    except _NoKeyError:
        return Odd()


def _plain_key(value: Any, levels: int, exact: bool, notation: bool) -> Hashable:
    """Return the key of a value that nests no more than so many levels.

    What is compared by value keeps its value, for that is how Python compares keys: whole numbers and floats exactly,
    whatever their type. A bool is no number, so it is marked; so is what counts by type under ``strict``.
    """
    kind = value.__class__
    if kind is str or kind is int or value is None:
        key: Hashable = value.strip() if kind is str and not exact else value
        return key
    if kind is bool:
        return bool, value
    if kind is float:
        return _float_key(value, exact)
    if not levels:
        raise _NoKeyError
    if kind is dict:
        return dict, _mapping_key(value, levels - 1, exact, notation)
    if kind is list or kind is tuple:
        return kind if exact else list, tuple([_plain_key(item, levels - 1, exact, notation) for item in value])
    raise _NoKeyError


def _float_key(value: float, exact: bool) -> Hashable:
    if value != value:
        return _NAN
    return (float, value) if exact else value


def _mapping_key(mapping: dict[Any, Any], levels: int, exact: bool, notation: bool) -> Hashable:
    for name in mapping:
        if name.__class__ is not str or (notation and name.startswith("$")):
            raise _NoKeyError
    return frozenset([(name, _plain_key(item, levels, exact, notation)) for name, item in mapping.items()])
