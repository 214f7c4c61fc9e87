"""Witness what an AI agent really did: deterministic checks of its tool calls."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tracewitness.errors import ExpectationError as ExpectationError
    from tracewitness.errors import ReadError as ReadError
    from tracewitness.errors import SuiteError as SuiteError
    from tracewitness.errors import TracewitnessError as TracewitnessError
    from tracewitness.errors import UsageError as UsageError
    from tracewitness.expectations import check as check
    from tracewitness.expectations import compile_checks as compile_checks
    from tracewitness.matching import ABSENT as ABSENT
    from tracewitness.matching import ANY as ANY
    from tracewitness.trace import Trace as Trace

_ROOMS = {
    "errors": ["ExpectationError", "ReadError", "SuiteError", "TracewitnessError", "UsageError"],
    "expectations": ["check", "compile_checks"],
    "trace": ["Trace"],
}
_HOMES = {name: room for room, names in _ROOMS.items() for name in names}
__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(name)
    return getattr(importlib.import_module(f"tracewitness.{_HOMES[name]}"), name)
