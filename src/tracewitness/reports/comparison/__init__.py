"""Two reports side by side: what broke, what holds now, what comes and goes, and which calls changed."""

from .comparing import compare
from .model import CallChange, CallsChanged, CaseChange, CheckChange, Comparison, Rate, comparison_schema

__all__ = [
    "CallChange",
    "CallsChanged",
    "CaseChange",
    "CheckChange",
    "Comparison",
    "Rate",
    "compare",
    "comparison_schema",
]
