"""The notation of matchers in files: ``{$regex: "FL-.*"}`` and the like."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from tracewitness.display import nearest_name, show
from tracewitness.errors import ExpectationError, PathPart

from . import amounts, base, constants, dates, json_types, patterns, schema, structures
from .base import AllOf, Matcher
from .containers import part_of_path
from .nodes import DEPTH, TOO_DEEP
from .values import MISSING, kind_of, named, nested_deeper_than

_CLASSES: Final[tuple[type[Matcher], ...]] = (
    type(constants.ANY),
    type(constants.ABSENT),
    base.AllOf,
    base.AnyOf,
    base.Not,
    base.OneOf,
    amounts.Approx,
    amounts.GreaterOrEqual,
    amounts.GreaterThan,
    dates.IsDate,
    dates.IsDateTime,
    json_types.IsType,
    amounts.Length,
    amounts.LessOrEqual,
    amounts.LessThan,
    patterns.Regex,
    patterns.Search,
    schema.JSONSchema,
    structures.Contains,
    structures.Each,
    structures.Eq,
    structures.Exactly,
    structures.Partial,
    structures.Unordered,
)
MATCHERS: Final = {matcher.key: matcher for matcher in _CLASSES}
"""The matchers by their names in files."""

_APPROX: Final = amounts.Approx.key
_BESIDE_APPROX: Final = ("rel", "abs")


def parse(expected: object) -> object:
    """Return an expectation with its file notation turned into matchers, at every depth.

    Errors:
        ExpectationError: an unknown ``$key``, or a matcher that can't be made; it knows the path.

    >>> parse({"id": {"$regex": "A.*"}})
    {'id': Regex('A.*')}
    """
    try:
        if nested_deeper_than(expected, DEPTH):  # before anything recurses, so that no long path is written down
            raise ExpectationError(TOO_DEEP)
        return _parse(expected, DEPTH)
    except ExpectationError:
        raise
    except Exception as error:
        raise ExpectationError(f"the expectation can't be read: {named(error)}") from error


def _parse(expected: object, levels: int) -> object:
    if levels < 0:
        raise ExpectationError(TOO_DEEP)
    if isinstance(expected, Matcher):
        return expected.with_parts(lambda part: _parse(part, levels - 1))
    if isinstance(expected, Mapping):
        if _is_matcher(expected):
            return _parse_matchers(expected, levels)
        return {key: _parse_at(key, value, levels - 1) for key, value in expected.items()}
    if type(expected) is list:
        return [_parse_at(index, item, levels - 1) for index, item in enumerate(expected)]
    if type(expected) is tuple:
        return tuple(_parse_at(index, item, levels - 1) for index, item in enumerate(expected))
    return expected


def _parse_at(key: object, part: object, levels: int) -> object:
    try:
        return _parse(part, levels)
    except ExpectationError as error:
        raise error.under(part_of_path(key)) from error.__cause__


def _is_matcher(mapping: Mapping[Any, object]) -> bool:
    beside = _BESIDE_APPROX if _APPROX in mapping else ()
    names = [key for key in mapping if key not in beside]
    return bool(names) and all(isinstance(key, str) and key.startswith("$") for key in names)


def _parse_matchers(mapping: Mapping[str, object], levels: int) -> Matcher:
    """Parse a mapping of matchers, all of which have to hold."""
    matchers = [
        _parse_approx(mapping) if key == _APPROX else _parse_matcher(key, value, levels)
        for key, value in mapping.items()
        if key not in _BESIDE_APPROX
    ]
    return matchers[0] if len(matchers) == 1 else AllOf(*matchers)


def _parse_approx(mapping: Mapping[str, Any]) -> Matcher:
    tolerances = {name: mapping[name] for name in _BESIDE_APPROX if name in mapping}
    try:
        return amounts.Approx(mapping[_APPROX], **tolerances)
    except ExpectationError as error:
        raise error.under(_APPROX) from error.__cause__


def _parse_matcher(key: str, value: object, levels: int) -> Matcher:
    def read(part: object, *path: PathPart) -> object:
        try:
            return _parse(part, levels - 1)
        except ExpectationError as error:
            raise error.under(*path) from error.__cause__

    matcher = MATCHERS.get(key)
    if matcher is None:
        raise ExpectationError(_unknown(key), (key,))
    try:
        return matcher.from_file(value, read)
    except ExpectationError as error:
        raise error.under(key) from error.__cause__
    except Exception as error:
        raise ExpectationError(f"{key} can't be made of {show(value)}: {named(error)}", (key,)) from error


def _unknown(key: str) -> str:
    near = nearest_name(key, MATCHERS)
    meant = f"did you mean {near!r}?" if near else f"there are {', '.join(sorted(MATCHERS))}."
    return f"unknown matcher {show(key)}; {meant} Data whose keys all start with $ is written {{$eq: ...}}"


def to_file_notation(expected: object) -> object:
    """Return an expectation as a file holds it; the inverse of `parse`.

    Errors:
        ExpectationError: a file can't hold it: a `Satisfies`, or an object that is no plain data.

    >>> to_file_notation({"id": Regex("A.*")})
    {'id': {'$regex': 'A.*'}}
    """
    return _write(parse(expected))


def _write(expected: object) -> object:
    if isinstance(expected, AllOf):
        return _merged(expected) or expected.to_file(_write)
    if isinstance(expected, Matcher):
        return expected.to_file(_write)
    if isinstance(expected, Mapping):
        return {key: _write_at(key, value) for key, value in expected.items()}
    if isinstance(expected, list | tuple):
        return [_write_at(index, item) for index, item in enumerate(expected)]
    if kind_of(expected) == "other" or expected is MISSING:
        raise ExpectationError(f"a file can't hold {show(expected)}, which is no plain data")
    return expected


def _write_at(key: object, part: object) -> object:
    try:
        return _write(part)
    except ExpectationError as error:
        raise error.under(part_of_path(key)) from error.__cause__


def _merged(combination: AllOf) -> dict[str, object] | None:
    """Write several matchers of different names as one mapping; None where it takes ``$all_of``."""
    forms = [part.to_file(_write) for part in combination.parts if isinstance(part, Matcher)]
    merged = {key: value for form in forms for key, value in form.items()}
    is_whole = 1 < len(combination.parts) == len(forms)
    return merged if is_whole and len(merged) == sum(len(form) for form in forms) else None
