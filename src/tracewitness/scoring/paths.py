"""Expected calls with alternatives: every path through them, of which the best is scored."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from math import prod
from typing import Any, Final

from tracewitness.display import show
from tracewitness.errors import ExpectationError

from .expected import ExpectedCall, is_listing, read_expected

__all__ = ["MOST_PATHS", "paths_through"]

#: So many paths are scored.
MOST_PATHS: Final = 64

_Path = list[ExpectedCall]


def paths_through(expected: Any) -> list[_Path]:
    """Return every way to make the expected calls, each as a list of calls.

    Arguments:
        expected: a list of calls; in place of one there may be ``{"one_of": […]}``, a list of paths, each a call or a
            list of calls.

    Raises:
        ExpectationError: it is malformed, or there are more than 64 ways; it says where.

    >>> way = {"one_of": [{"tool": "card"}, [{"tool": "quote"}, {"tool": "transfer"}]]}
    >>> [[call.tool for call in path] for path in paths_through([{"tool": "search"}, way])]
    [['search', 'card'], ['search', 'quote', 'transfer']]
    """
    if not is_listing(expected):
        return [read_expected(expected)]  # which says what is wrong
    entries = list(expected)
    if not any(map(_is_choice, entries)):
        return [read_expected(entries)]
    choices = [_paths_of(entry, index) for index, entry in enumerate(entries)]
    count = prod(map(len, choices))
    if count > MOST_PATHS:
        what = f"one_of gives {count} ways in all, at most {MOST_PATHS} are scored; leave alternatives out"
        raise ExpectationError(what, ("expected",))
    return [[call for part in parts for call in part] for parts in product(*choices)]


def _is_choice(entry: Any) -> bool:
    return isinstance(entry, Mapping) and "one_of" in entry


def _paths_of(entry: Any, index: int) -> list[_Path]:
    if not _is_choice(entry):
        return [_read(entry, index)]
    paths = entry["one_of"]
    if len(entry) > 1 or not isinstance(paths, (list, tuple)) or len(paths) < 2:
        what = f"expected one_of alone, with a list of at least two paths, got {show(entry)}"
        raise ExpectationError(what, ("expected", index))
    return [_read(path, index, "one_of", at) for at, path in enumerate(paths)]


def _read(given: Any, *path: str | int) -> _Path:
    """Read a call, or a list of calls; errors say where that stands."""
    calls = list(given) if isinstance(given, (list, tuple)) else [given]
    if not calls:
        raise ExpectationError("a path has at least one call", ("expected", *path))
    try:
        return read_expected(calls)
    except ExpectationError as error:
        inside = error.path[1:] if isinstance(given, (list, tuple)) else error.path[2:]
        raise ExpectationError(error.problem, ("expected", *path, *inside)) from error.__cause__
