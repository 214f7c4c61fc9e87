"""Warnings that point at the user's line, however many of our own frames lie between."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Final

__all__ = ["warn_caller"]

_OWN: Final = str(Path(__file__).parent)
# What calls a coroutine on its user's behalf.
_LOOPS: Final = frozenset({"asyncio", "anyio", "trio"})


def warn_caller(message: str) -> None:
    """Warn, and name as the place the nearest frame that is neither ours nor an event loop's."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and _is_between(frame.f_code.co_filename, frame.f_globals.get("__name__")):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, UserWarning, level)


def _is_between(filename: str, module: object) -> bool:
    return filename.startswith(_OWN) or str(module).partition(".")[0] in _LOOPS
