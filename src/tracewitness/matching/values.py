"""What kinds of value there are, and the words that reasons use for them."""

from __future__ import annotations

import numbers
import sys
from collections.abc import Mapping, Sequence
from types import FunctionType, NoneType
from typing import Final, Literal

from tracewitness.display import printable, show

Kind = Literal["null", "bool", "number", "text", "mapping", "list", "other"]

_KINDS: Final[dict[type, Kind]] = {
    NoneType: "null",
    bool: "bool",
    int: "number",
    float: "number",
    str: "text",
    dict: "mapping",
    list: "list",
    tuple: "list",
}
_END = object()
_OPAQUE = (bytes, bytearray, memoryview, range)


class Missing:
    """The type of `MISSING`, which stands where a value is not there."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "<missing>"

    def __reduce__(self) -> str:
        return "MISSING"


MISSING: Final = Missing()


class UndecidedError(Exception):
    """Whether a value matches can't be told; neither an expectation nor its negation holds.

    Arguments:
        reason: why it can't be told.
    """

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(reason)


def kind_of(value: object) -> Kind:
    """Return which kind of value this is; a bool is never a number."""
    kind = _KINDS.get(type(value))
    return _kind_of_rare(value) if kind is None else kind


def _kind_of_rare(value: object) -> Kind:
    if isinstance(value, str):
        return "text"
    if isinstance(value, Mapping):
        return "mapping"
    if isinstance(value, Sequence) and not isinstance(value, _OPAQUE):
        return "list"
    # Decimal is registered as a Number, but neither as Real nor as Complex.
    is_number = isinstance(value, numbers.Number)
    is_real = isinstance(value, numbers.Real) or not isinstance(value, numbers.Complex)
    return "number" if is_number and is_real else "other"


def has_own_equality(value: object) -> bool:
    """Tell whether the value's class, outside the standard library, says itself what it equals."""
    if type(value) in _KINDS:
        return False
    owner = next(base for base in type(value).__mro__ if "__eq__" in vars(base))
    is_standard = owner.__module__.partition(".")[0] in sys.stdlib_module_names
    return not is_standard and isinstance(vars(owner)["__eq__"], FunctionType)


def named(error: BaseException) -> str:
    """Name an exception and what it says, in a few words."""
    try:
        said = str(error)
    except Exception as broken:  # noqa: BLE001  a foreign exception's __str__ may raise anything
        said = f"its message raised {type(broken).__name__}"
    return f"{type(error).__name__}: {printable(said, 80)}" if said else type(error).__name__


def undecided_by(error: Exception) -> UndecidedError:
    """Return what it means that comparing raised something, whatever it was: a match can't be told."""
    if isinstance(error, UndecidedError):
        return error
    if isinstance(error, RecursionError):
        return UndecidedError("the value nests too deeply to be compared")
    return UndecidedError(f"comparing raised {named(error)}")


def equals(expected: object, actual: object) -> bool:
    """Ask ``expected`` alone whether it equals ``actual``; what came has no say in that.

    Errors:
        UndecidedError: its ``__eq__`` raised.
    """
    try:
        answer = type(expected).__eq__(expected, actual)
        return answer is not NotImplemented and bool(answer)
    except Exception as error:
        raise UndecidedError(f"comparing raised {named(error)}") from error


def as_mapping(value: object) -> dict[object, object] | None:
    """Return a mapping's content as a dict, or None for what is no mapping."""
    if isinstance(value, dict):
        return value
    return _copied(value) if isinstance(value, Mapping) else None


def _copied(value: Mapping[object, object]) -> dict[object, object]:
    try:
        return dict(value)
    except Exception as error:
        raise UndecidedError(f"reading the mapping raised {named(error)}") from error


def as_list(value: object) -> Sequence[object] | None:
    """Return a list's or other sequence's items, or None for what is none (a text is none)."""
    if isinstance(value, (list, tuple)):  # a union would be built at every call
        return value
    if kind_of(value) != "list":
        return None
    try:
        return list(value)  # type: ignore[call-overload, no-any-return]
    except Exception as error:
        raise UndecidedError(f"reading the list raised {named(error)}") from error


def nested_deeper_than(value: object, limit: int) -> bool:
    """Tell whether mappings and lists nest deeper than ``limit``; a value that contains itself does."""
    layers = [iter((value,))]
    while layers:
        item = next(layers[-1], _END)
        if item is _END:
            layers.pop()
        elif isinstance(item, Mapping):
            layers.append(iter(tuple(item.values())))
        elif isinstance(item, list | tuple):
            layers.append(iter(item))
        if len(layers) > limit + 1:
            return True
    return False


_NOUNS: Final[dict[Kind, str]] = {
    "null": "null",
    "bool": "a bool",
    "number": "a number",
    "text": "a text",
    "mapping": "a mapping",
    "list": "a list",
}


def noun(value: object) -> str:
    """Say what kind of value this is: ``a text``, ``a number``, ``a set``."""
    return _NOUNS.get(kind_of(value)) or f"a value of type {type(value).__name__}"


def described(value: object) -> str:
    """Show a value with its kind: ``the number 2``, ``the text '2'``."""
    kind = kind_of(value)
    if kind in ("null", "other"):
        return "null" if kind == "null" else f"{show(value)} of type {type(value).__name__}"
    return f"the {kind} {show(value)}"
