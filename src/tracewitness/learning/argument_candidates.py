"""What the calls of a tool have in common: constants, enumerations, formats, types and names of arguments."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any, Final

from tracewitness.expectations import EveryCall
from tracewitness.learning.facts import Facts, deciding, supported
from tracewitness.learning.proposal import Candidate
from tracewitness.matching import ANY, Eq, Exactly, IsType, OneOf, Regex, strict_key

__all__ = ["argument_candidates", "expected_value", "format_of"]

#: A longer enumeration is a list of what happened.
_MOST_VALUES: Final = 6
#: So many different values show a format.
_VALUES_FOR_FORMAT: Final = 3
#: A longer text is no identifier, and a constant of more is prose.
_LONGEST: Final = 80

_TYPES: Final = {bool: "boolean", int: "number", float: "number", str: "string", list: "array", dict: "object"}
#: Stands for arguments of calls that have not the same ones; no argument has an empty name.
_MIXED: Final = ""
_Kinds = dict[str, str]
_Runs = list[list[Any]]
_Token = tuple[str, str]
_PIECE: Final = re.compile(r"[A-Z]+|[a-z]+|[0-9]+|[^A-Za-z0-9]")


def argument_candidates(facts: Facts) -> Iterator[Candidate]:
    """Propose what every call of a tool has, for each of its arguments by itself."""
    for tool in facts.tools:
        calls = facts.arguments(tool)
        if len(calls) < facts.needed:
            continue
        yield from _shape(tool, calls)
        for argument in dict.fromkeys(chain.from_iterable(args for each in calls for args in each)):
            runs = facts.values(tool, argument)
            if runs is not None:
                yield from _of_values(tool, argument, runs, facts.needed)


def _of_values(tool: str, argument: str, runs: _Runs, needed: int) -> Iterator[Candidate]:
    def every(family: str, expected: Any, decided_by: int) -> Candidate:
        return Candidate(family, EveryCall(tool, {argument: expected}), decided_by, len(runs))

    distinct = {strict_key(value): value for value in chain.from_iterable(runs)}
    values = list(distinct.values())
    kinds = {_TYPES.get(type(value)) for value in values}
    if len(kinds) == 1 and (kind := kinds.pop()) is not None:
        yield every("argument type", IsType(kind), 1)
    if len(values) == 1 and not _is_prose(values[0]):
        yield every("argument constant", expected_value(values[0]), 1)
    elif _is_enumeration(runs, values, needed):
        yield every("enumeration", OneOf(*values), len(values))
    if len(values) >= _VALUES_FOR_FORMAT and all(isinstance(value, str) for value in values):
        pattern, changes = deciding(runs, None, _format_of_more)
        if pattern:
            yield every("format", Regex(_written(pattern)), changes)


def _is_enumeration(runs: _Runs, values: list[Any], needed: int) -> bool:
    """Whether values repeat so often that there are hardly others: each in two runs, and each twice on average."""
    if not 1 < len(values) <= _MOST_VALUES or not all(isinstance(value, (str, int)) for value in values):
        return False
    if any(map(_is_prose, values)) or sum(map(len, runs)) < 2 * len(values):
        return False
    return len(list(supported(runs, needed))) == len(values)


def _is_prose(value: Any) -> bool:
    return isinstance(value, str) and (len(value) > _LONGEST or len(value.split()) > 3)


def _shape(tool: str, calls: list[list[dict[str, Any]]]) -> Iterator[Candidate]:
    """Propose that a tool is given these arguments and no others, each of its type, where it always was."""
    kinds, changes = deciding(calls, None, _kinds_of_more)
    if kinds is not None and _MIXED not in kinds:
        shape = {name: IsType(kind) if kind else ANY for name, kind in kinds.items()}
        yield Candidate("argument shape", EveryCall(tool, Exactly(shape)), changes, len(calls))


def _kinds_of_more(kinds: _Kinds | None, calls: list[dict[str, Any]]) -> _Kinds | None:
    """Widen the types of arguments; an empty one is any. Where calls differ in what they have, it is mixed for good."""
    for args in calls:
        these = {name: _TYPES.get(type(value), "") for name, value in args.items()}
        if kinds is None:
            kinds = these
        elif kinds.keys() != these.keys():
            kinds = {_MIXED: ""}
        else:
            kinds = {name: kind if kind == these[name] else "" for name, kind in kinds.items()}
    return kinds


def expected_value(value: Any) -> Any:
    """Return what expects exactly a recorded value, as a person would write it.

    >>> expected_value(2.0), expected_value("*"), expected_value("A")
    (2, Eq('*'), 'A')
    """
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)
    return Eq(value) if _could_be_notation(value) else value


def _could_be_notation(value: Any) -> bool:
    """Whether an expectation would take something in a value for a wildcard or a matcher."""
    if isinstance(value, str):
        return value == "*"
    if isinstance(value, Mapping):
        return any(str(key).startswith("$") for key in value) or any(map(_could_be_notation, value.values()))
    return isinstance(value, (list, tuple)) and any(map(_could_be_notation, value))


def format_of(values: list[str]) -> str | None:
    """Return a regular expression of small classes that all values match, or None where they have no common form.

    >>> format_of(["ITEM-42", "ITEM-7", "ITEM-108"])
    'ITEM\\\\-[0-9]+'
    >>> format_of(["a b", "c"]) is None
    True
    """
    pattern = _format_of_more(None, values)
    return _written(pattern) if pattern else None


def _format_of_more(pattern: tuple[_Token, ...] | None, values: list[Any]) -> tuple[_Token, ...] | None:
    """Widen a pattern so that more values match it; an empty one matches nothing any more."""
    for value in values:
        tokens = tuple((_class_of(piece), piece) for piece in _PIECE.findall(value)) if len(value) <= _LONGEST else ()
        pattern = tokens if pattern is None else _joined(pattern, tokens)
    return pattern


def _class_of(piece: str) -> str:
    first = piece[0]
    return (
        "[0-9]"
        if first in "0123456789"
        else "[A-Z]"
        if "A" <= first <= "Z"
        else "[a-z]"
        if first.isascii() and first.islower()
        else ""
    )


def _joined(one: tuple[_Token, ...], other: tuple[_Token, ...]) -> tuple[_Token, ...]:
    """Keep what two have in common: pieces that are the same, else their class and, where it is one, their length."""
    if len(one) != len(other):
        return ()
    joined = []
    for (kind, piece), (other_kind, other_piece) in zip(one, other, strict=True):
        if piece == other_piece and kind == other_kind:
            joined.append((kind, piece))
        elif not kind or kind.partition("]")[0] != other_kind.partition("]")[0]:
            return ()
        else:
            joined.append(_widened(kind, piece, other_piece))
    return tuple(joined)


def _widened(kind: str, piece: str, other_piece: str) -> _Token:
    """Return the class of two pieces. A piece that was widened before is empty, and its class has its length."""
    base, _, length = kind.partition("]")
    length = length or f"{{{len(piece)}}}"
    same = (not piece and length == "+") or length == f"{{{len(other_piece)}}}"
    return (f"{base}]{length if same else '+'}", "")


def _written(pattern: tuple[_Token, ...]) -> str:
    return "".join(re.escape(piece) if piece else kind for kind, piece in pattern)
