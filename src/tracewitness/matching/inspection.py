"""What can be said of an expectation before any value comes: checks that could not fail, or hold, are found so."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from . import amounts, base, constants, dates, json_types, patterns, structures
from .base import Matcher
from .compiled import compile_expected
from .jsontext import json_value
from .values import has_own_equality, kind_of

#: Matchers of something else than a mapping.
_OF_OTHERS: Final = (
    type(constants.ABSENT),
    amounts.Approx,
    amounts.GreaterOrEqual,
    amounts.GreaterThan,
    amounts.LessOrEqual,
    amounts.LessThan,
    dates.IsDate,
    dates.IsDateTime,
    patterns.Regex,
    structures.Each,
    structures.Unordered,
)

_THE_SAME_UNDER_STRICT: Final = (*_OF_OTHERS, type(constants.ANY), json_types.IsType)


def fits_mappings(expected: object) -> bool | None:
    """Tell whether a mapping matches under ``subset``: True if each does, False if none, None if it depends.

    Arguments:
        expected: an expectation, its file notation parsed. Where nobody can know, as with `Satisfies`, it depends.

    >>> fits_mappings({}), fits_mappings(patterns.Regex("A.*")), fits_mappings({"id": 1})
    (True, False, None)
    """
    if isinstance(expected, _OF_OTHERS):
        return False
    if isinstance(expected, Matcher):
        judge = next((_JUDGES[kind] for kind in type(expected).__mro__ if kind in _JUDGES), None)
        return None if judge is None else judge(expected)
    return None if has_own_equality(expected) else _plain_fits(expected)


def _plain_fits(expected: Any) -> bool | None:
    kind = kind_of(expected)
    if kind == "mapping":
        return None if expected else True
    if kind == "text":  # may be a mapping written as JSON, or the wildcard
        return None if expected == "*" or json_value(expected) is not expected else False
    return None if kind == "other" else False


def _all_fit(matcher: base.AllOf) -> bool | None:
    found = {fits_mappings(part) for part in matcher.parts}
    return False if False in found else None if None in found else True


def _any_fits(matcher: base.AnyOf) -> bool | None:
    found = {fits_mappings(part) for part in matcher.parts}
    return True if True in found else None if None in found else False


def _other_than(matcher: base.Not) -> bool | None:
    fits = fits_mappings(matcher.part)
    return None if fits is None else not fits


def _exactly_fits(matcher: structures.Exactly) -> bool | None:
    """Tell of what is compared under ``strict``: there ``{}`` is the empty mapping alone, also inside a matcher."""
    part = matcher.part
    depends_on_policy = isinstance(part, Matcher) and not isinstance(part, _THE_SAME_UNDER_STRICT)
    return None if depends_on_policy or kind_of(part) == "mapping" else fits_mappings(part)


def _type_fits(matcher: json_types.IsType) -> bool | None:
    names = {json_types.json_type(kind) for kind in matcher.types}
    return True if "object" in names else None if None in names else False


_JUDGES: Final[dict[type[Matcher], Callable[[Any], bool | None]]] = {
    type(constants.ANY): lambda _: True,
    base.AllOf: _all_fit,
    base.AnyOf: _any_fits,
    base.Not: _other_than,
    json_types.IsType: _type_fits,
    structures.Eq: lambda matcher: _plain_fits(matcher.part),
    structures.Exactly: _exactly_fits,
    structures.Partial: lambda matcher: _plain_fits(matcher.part),
}


def sees_envelope(expected: object) -> bool:
    """Tell whether an expected result may be met by an envelope ``{"result": …}`` itself, not only by what is inside.

    Only a plain mapping that demands the key ``result``, or nothing at all, may: everything else could hold on the
    wrapping because something is not there.
    """
    if isinstance(expected, Mapping) and not expected and not has_own_equality(expected):
        return True
    return demands_key(expected, "result")


def demands_key(expected: object, key: str) -> bool:
    """Tell whether an expectation is a plain mapping, perhaps written as JSON, in which a key has to be there.

    >>> demands_key({"result": 5}, "result"), demands_key({"result": constants.ABSENT}, "result")
    (True, False)
    """
    if isinstance(expected, str):  # what stands in a text is data: its $keys are no matchers
        inside = json_value(expected)
        return isinstance(inside, dict) and key in inside
    if not isinstance(expected, Mapping) or has_own_equality(expected):
        return False
    return key in expected and not compile_expected({key: expected[key]}).matches({})


def regexes_that_stop_at_lines(expected: object) -> Iterator[patterns.Regex]:
    """Find the `Regex` matchers in an expectation that a line break in the text can slip past.

    Those in a `Not` are left out: what slips past them is what the expectation asks for.
    """
    if isinstance(expected, patterns.Regex):
        if expected.stops_at_lines:
            yield expected
    elif isinstance(expected, Matcher):
        for part in _parts(expected):
            yield from regexes_that_stop_at_lines(part)
    elif isinstance(expected, Mapping):
        for value in expected.values():
            yield from regexes_that_stop_at_lines(value)
    elif isinstance(expected, list | tuple):
        for item in expected:
            yield from regexes_that_stop_at_lines(item)


def _parts(matcher: Matcher) -> list[object]:
    """Return the expectations inside a matcher."""
    if isinstance(matcher, base.Not):
        return []
    found: list[object] = []

    def keep(part: object) -> object:
        found.append(part)
        return part

    matcher.with_parts(keep)
    return found
