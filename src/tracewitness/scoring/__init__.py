"""Scores: expected calls paired with actual ones, the five metrics, and what they come to."""

from __future__ import annotations

from .actual import as_trace
from .evaluate import assess, checked_min_score, evaluate
from .expected import ExpectedCall
from .forbidden import Violation
from .metrics import DEFAULT_WEIGHTS, Metrics, merged_weights
from .order import out_of_order
from .pair import Pair
from .result import DEFAULT_MIN_SCORE, EvaluationResult, grade_of, warn_of_missing_calls

__all__ = [
    "DEFAULT_MIN_SCORE",
    "DEFAULT_WEIGHTS",
    "EvaluationResult",
    "ExpectedCall",
    "Metrics",
    "Pair",
    "Violation",
    "as_trace",
    "assess",
    "checked_min_score",
    "evaluate",
    "grade_of",
    "merged_weights",
    "out_of_order",
    "warn_of_missing_calls",
]
