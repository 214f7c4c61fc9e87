"""What an evaluation came to: `EvaluationResult`, with its pairs of calls."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from msgspec import UNSET, Struct

from tracewitness.callers import warn_caller
from tracewitness.display import plural, printable
from tracewitness.trace import MalformedArguments, MalformedResult, ToolCall, Trace
from tracewitness.verdict import Verdict

from .expected import ExpectedCall
from .forbidden import Violation
from .metrics import Metrics
from .pair import Pair
from .plain import expectation_data, json_data

__all__ = ["DEFAULT_MIN_SCORE", "RESULT_VERSION", "EvaluationResult", "grade_of", "warn_of_missing_calls"]

DEFAULT_MIN_SCORE: Final = 0.9
"""The score from which an evaluation passes, where the caller does not say."""
RESULT_VERSION: Final = 1
"""The version of `EvaluationResult.to_dict`. It grows when a reader of the old form could be misled by the new one."""

_GRADES: Final = ((0.9, "A"), (0.8, "B"), (0.7, "C"), (0.6, "D"))
_ROUNDING: Final = 1e-12  # a mean of decimal fractions can come out so much too low
_NAMED: Final = 3


class EvaluationResult(Struct, frozen=True):
    """How well an agent did what was expected. Made by `evaluate`.

    Attributes:
        metrics: the five metrics; each is a property, too.
        weights: how much each metric counts in the score; their sum is 1.
        score: the weighted mean of the metrics, from 0 to 1; 1.0 where nothing but bans is expected.
        pairs: the expected calls that have a partner, in their order, with it.
        missing_calls: the expected calls without a partner.
        unexpected_calls: the actual calls without a partner; none where nothing but bans is expected.
        violations: the forbidden calls that were made.
        trace: what the agent did.
        min_score: the score that the caller asks for; None where he leaves it to the default, which is 0.9.
        verdicts: of the checks that have to hold whatever the score is; without such checks, of what leaves in doubt
            that the trace shows all calls.
    """

    metrics: Metrics
    weights: dict[str, float]
    score: float
    pairs: tuple[Pair, ...]
    missing_calls: tuple[ExpectedCall, ...]
    unexpected_calls: tuple[ToolCall, ...]
    violations: tuple[Violation, ...]
    trace: Trace
    min_score: float | None = None
    verdicts: tuple[Verdict, ...] = ()

    @property
    def bar(self) -> float:
        """The score that has to be reached."""
        return DEFAULT_MIN_SCORE if self.min_score is None else self.min_score

    @property
    def selection_accuracy(self) -> float:
        """Of the calls made, the share whose tool is expected."""
        return self.metrics.selection_accuracy

    @property
    def argument_f1(self) -> float:
        """The harmonic mean of precision and recall of the arguments."""
        return self.metrics.argument_f1

    @property
    def sequence_accuracy(self) -> float:
        """How alike the orders of the tools are."""
        return self.metrics.sequence_accuracy

    @property
    def redundant_rate(self) -> float:
        """Of the calls made, the share beyond the expected number of each tool."""
        return self.metrics.redundant_rate

    @property
    def required_call_recall(self) -> float:
        """Of the expected calls, the share that was made and did not fail."""
        return self.metrics.required_call_recall

    @property
    def grade(self) -> str:
        """The score as a letter; see `grade_of`."""
        return grade_of(self.score)

    @property
    def reaches_min_score(self) -> bool:
        """Whether the score is high enough, whatever else is wrong."""
        return _reaches(self.score, self.bar)

    @property
    def passed(self) -> bool:
        """Whether the score is high enough, nothing forbidden was done, all checks held, and there is evidence at all.

        The score is blind to a missing call, so that without a bar of the caller's own none may be missing.
        """
        if self.violations or self.trace.no_evidence is not None or not self.reaches_min_score:
            return False
        if not all(verdict.held for verdict in self.verdicts):
            return False
        return self.min_score is not None or not self.missing_calls

    def __bool__(self) -> bool:
        """Whether it passed, so that ``assert`` of it means what it says."""
        return self.passed

    def to_dict(self) -> dict[str, Any]:
        """Return the result as data that strict JSON can hold: no NaN, no lone surrogates."""
        return {
            "version": RESULT_VERSION,
            "passed": self.passed,
            "score": self.score,
            "grade": self.grade,
            "min_score": self.bar,
            "metrics": {name: getattr(self.metrics, name) for name in Metrics.__struct_fields__},
            "weights": dict(self.weights),
            "pairs": [_pair_data(pair) for pair in self.pairs],
            "missing_calls": [_expected_data(call) for call in self.missing_calls],
            "unexpected_calls": [_actual_data(call) for call in self.unexpected_calls],
            "verdicts": [json_data(verdict.to_dict()) for verdict in self.verdicts],
            "violations": [_violation_data(violation) for violation in self.violations],
            "no_evidence": json_data(self.trace.no_evidence),
        }

    def __repr__(self) -> str:
        counts = [plural(len(self.pairs), "pair")]
        counts += [f"{len(self.missing_calls)} missing"] if self.missing_calls else []
        counts += [f"{len(self.unexpected_calls)} unexpected"] if self.unexpected_calls else []
        counts += [plural(len(self.violations), "violation")] if self.violations else []
        broken = sum(not verdict.held for verdict in self.verdicts)
        counts += [plural(broken, "broken check")] if broken else []
        verdict = "passed" if self.passed else "not passed"
        return f"<EvaluationResult {verdict}: score {self.score:.2f} ({self.grade}), {', '.join(counts)}>"


def grade_of(score: float) -> str:
    """Return the letter of a score: A from 0.9, B from 0.8, C from 0.7, D from 0.6, and F below.

    >>> grade_of(0.9), grade_of(0.75), grade_of(0.2)
    ('A', 'C', 'F')
    """
    return next((letter for bound, letter in _GRADES if _reaches(score, bound)), "F")


def _reaches(score: float, bound: float) -> bool:
    return score >= bound - _ROUNDING


def warn_of_missing_calls(result: EvaluationResult) -> None:
    """Warn where the caller's own bar lets a missing call through, and name the call."""
    if result.min_score is None or not result.missing_calls or not result.passed:
        return
    scores = f"the score {result.score:.2f} reaches {result.min_score:.2f} all the same"
    warn_caller(f"expected, but not called: {_named(result.missing_calls)}; {scores}")


def _named(calls: Iterable[ExpectedCall]) -> str:
    names = [printable(call.tool, 60) for call in calls]
    more = f" and {plural(len(names) - _NAMED, 'more call')}" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more


def _pair_data(pair: Pair) -> dict[str, Any]:
    return {
        "expected": _expected_data(pair.expected),
        "actual": _actual_data(pair.actual),
        "differences": [f"{difference}" for difference in pair.differences],
    }


def _expected_data(call: ExpectedCall) -> dict[str, Any]:
    fields = {"args": call.args, "result": call.result}
    data = {name: expectation_data(value) for name, value in fields.items() if value is not UNSET}
    return {"tool": json_data(call.tool), **data}


def _actual_data(call: ToolCall) -> dict[str, Any]:
    args, answer = call.args, call.answer
    data: dict[str, Any] = {"tool": json_data(call.name), "position": call.position}
    if isinstance(args, MalformedArguments):
        data["raw_args"] = json_data(args.raw)
    else:
        data["args"] = json_data(args)
    if answer is not None:
        payload = answer.payload
        data["result"] = json_data(payload.raw if isinstance(payload, MalformedResult) else payload)
        data["is_error"] = answer.is_error is True
    return data


def _violation_data(violation: Violation) -> dict[str, Any]:
    return {
        "rule": _expected_data(violation.rule),
        "position": violation.position,
        "call": None if violation.call is None else _actual_data(violation.call),
        "reason": json_data(violation.reason),
    }
