"""``assert_tools(…)``: an evaluation that has to pass."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tracewitness.fluent.contents import without_frames
from tracewitness.fluent.failure import ToolScoreAssertionError, explain
from tracewitness.scoring import EvaluationResult, ExpectedCall, assess, warn_of_missing_calls
from tracewitness.trace import ToolCall, Trace

__all__ = ["assert_tools"]


def assert_tools(
    expected: Sequence[Mapping[str, Any] | ExpectedCall],
    actual: Trace | Iterable[Mapping[str, Any] | ToolCall],
    min_score: float | None = None,
    weights: Mapping[str, float] | None = None,
    strict: bool = False,
    forbidden: Iterable[str | Mapping[str, Any] | ExpectedCall] | None = None,
    tools: Any = None,
) -> EvaluationResult:
    """Assert that an agent did what was expected.

    Arguments:
        min_score: the score from which it passes. Left out it is 0.9, and a missing call fails by itself; with a bar
            of your own it does not, and a warning names a call that the bar lets through.
        expected, actual, weights, strict, forbidden, tools: as those of `evaluate`.

    Raises:
        ToolScoreAssertionError: it did not.
        ExpectationError: ``expected``, ``tools`` or ``forbidden`` is malformed; it says where.
        UsageError: ``actual``, ``weights`` or ``min_score`` is; it names it.

    >>> assert_tools([{"tool": "search", "args": {"to": "NYC"}}], [{"tool": "search", "args": {"to": "NYC"}}])
    <EvaluationResult passed: score 1.00 (A), 1 pair>
    """
    __tracebackhide__ = True
    result = without_frames(lambda: assess(expected, actual, weights, strict, forbidden, min_score, tools=tools))
    if not result.passed:
        raise ToolScoreAssertionError(explain(result), result)
    warn_of_missing_calls(result)
    return result
