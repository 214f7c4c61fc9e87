"""Baselines: the calls of a first run, kept in a readable file beside the test, which later runs are compared with."""

from __future__ import annotations

from tracewitness.baselines.locations import baseline_path, belongs_to, entry_key, find_baselines, test_module_of
from tracewitness.baselines.store import BaselineResult, BaselineStore

__all__ = [
    "BaselineResult",
    "BaselineStore",
    "baseline_path",
    "belongs_to",
    "entry_key",
    "find_baselines",
    "test_module_of",
]
