"""The monitor of `Score`: it looks at all calls, at the end."""

from __future__ import annotations

from msgspec import UNSET

from tracewitness.expectations import wording
from tracewitness.expectations.operators import Score
from tracewitness.expectations.plan import Monitor, Plan, ToolNames
from tracewitness.scoring import EvaluationResult, ExpectedCall, assess, out_of_order
from tracewitness.trace import EventIndex, Trace
from tracewitness.verdict import NearMiss, Verdict

__all__ = ["ScoreWatch"]


class ScoreWatch(Monitor, gc=False):
    """Scores the calls; it needs no event of its own."""

    sees_all_calls = True

    @classmethod
    def compile(cls, operator: Score, names: ToolNames) -> Plan:
        expected = [ExpectedCall(names.primary(call.tool), call.args, call.result) for call in operator.calls]
        return Plan(operator, cls, [], (expected, names))

    def verdict(self, index: EventIndex) -> Verdict:
        operator, (expected, names) = self.plan.operator, self.plan.parts
        result = assess(
            expected,
            Trace.of_index(index),
            weights=None if operator.weights is UNSET else operator.weights,
            strict=operator.strict,
            min_score=None if operator.min is UNSET else operator.min,
            primary=names.primary,
            in_order=operator.in_order,
        )
        evidence = tuple(pair.actual.position for pair in result.pairs)
        words = (wording.scored, result.score, result.bar, [call.tool for call in result.missing_calls])
        if not result.passed:
            return self._broken(evidence, *words, misses=lambda: _nearest(result))
        if operator.in_order and not _is_in_order(result):
            missing, early = [call.tool for call in result.missing_calls], _early(result)
            return self._broken(early or evidence, wording.scored_in_order, missing, _named(result, early))
        return self._held(evidence, *words)


def _is_in_order(result: EvaluationResult) -> bool:
    return not result.missing_calls and not out_of_order(result.pairs)


def _early(result: EvaluationResult) -> tuple[int, ...]:
    """Return the positions of the calls that are out of order."""
    return tuple(sorted(out_of_order(result.pairs)))


def _named(result: EvaluationResult, early: tuple[int, ...]) -> tuple[str, int] | None:
    """Return the first of the calls that are out of order, with its tool."""
    if not early:
        return None
    return next(pair.actual.name for pair in result.pairs if pair.actual.position == early[0]), early[0]


def _nearest(result: EvaluationResult) -> NearMiss | None:
    """Return the first pair that is not as expected."""
    for pair in result.pairs:
        differences = pair.differences
        if differences:
            return NearMiss(pair.actual.position, pair.actual.name, tuple(differences))
    return None
