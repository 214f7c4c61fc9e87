"""Which tests ran to their end."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

__all__ = ["RanTests"]


class RanTests:
    """Which tests ran to their end, by module.

    Arguments:
        config: says from where node ids name files, and what was asked for.
        passed, failed: the node ids of tests that passed, and of those that ended otherwise.
        deselected: whether tests were left out.
    """

    def __init__(self, config: pytest.Config, passed: set[str], failed: set[str], *, deselected: bool) -> None:
        self._root = config.rootpath
        self._passed = _by_module(passed)
        self._failed = _by_module(failed)
        self._in_part = deselected or any("::" in argument for argument in config.args)

    def of(self, module: Path) -> tuple[list[str], bool]:
        """Return the ids, within a module, of its tests that ran to their end, and whether they are all that it has."""
        path = module.resolve()
        name = path.relative_to(self._root).as_posix() if path.is_relative_to(self._root) else str(path)
        passed = self._passed.get(name, [])
        return passed, bool(passed) and not self._in_part and name not in self._failed


def _by_module(nodeids: set[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for nodeid in sorted(nodeids):
        module, _, test = nodeid.partition("::")
        found.setdefault(module, []).append(test)
    return found
