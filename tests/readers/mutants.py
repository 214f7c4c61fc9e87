"""What the tests that mutate recordings share."""

from __future__ import annotations

from typing import Any


def paths(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return where every value of a document stands."""
    found = [path]
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in children:
        found += paths(item, (*path, key))
    return found
