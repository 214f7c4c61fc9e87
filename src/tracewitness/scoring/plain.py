"""Any value as data that strict JSON can hold."""

from __future__ import annotations

import math
from typing import Any, Final

from tracewitness.display import show
from tracewitness.errors import ExpectationError
from tracewitness.matching import to_file_notation

__all__ = ["expectation_data", "json_data"]

_DEEPEST: Final = 50
_LARGEST: Final = 2**63 - 1
_LONG: Final = 1000


def json_data(value: object) -> Any:
    """Return a value as JSON data: no NaN, no lone surrogates, no number that readers can't hold, texts for the rest.

    >>> json_data({"ratio": float("nan"), "seen": {3}, "list": (1, "\\ud800")})
    {'ratio': 'nan', 'seen': '{3}', 'list': [1, '\\\\ud800']}
    """
    return _data(value, ())


def expectation_data(expected: object) -> Any:
    """Return an expectation as JSON data, matchers as they stand in a file where a file can hold them."""
    try:
        return json_data(to_file_notation(expected))
    except ExpectationError:
        return json_data(expected)


def _data(value: object, parents: tuple[int, ...]) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode("utf-8")
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return int(value) if -_LARGEST <= value <= _LARGEST else show(value, _LONG)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else str(float(value))
    if id(value) not in parents and len(parents) < _DEEPEST:
        within = (*parents, id(value))
        if isinstance(value, dict):
            return {_key(name): _data(item, within) for name, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [_data(item, within) for item in value]
    return show(value, _LONG)


def _key(name: object) -> str:
    return str(_data(name, ())) if isinstance(name, str) else show(name, _LONG)
