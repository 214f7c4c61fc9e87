"""What a broken contract raises, and the line that says why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from tracewitness.display import printable
from tracewitness.errors import TracewitnessError, path_text
from tracewitness.expectations.wording import times
from tracewitness.fluent.table import nearest_calls, out_of_order, table
from tracewitness.fluent.verdicts import is_plain_ban
from tracewitness.matching import Difference
from tracewitness.scoring import EvaluationResult, Pair, Violation
from tracewitness.trace import ToolCall
from tracewitness.verdict import Verdict

if TYPE_CHECKING:
    from tracewitness.fluent.repeat import RepeatedResult

__all__ = ["Reason", "ToolScoreAssertionError", "explain", "reasons", "unheld", "with_tool"]

_LISTED = 3


class ToolScoreAssertionError(TracewitnessError, AssertionError):
    """A contract that an agent has broken.

    Attributes:
        result: the `EvaluationResult`; of several runs, that of the worst.
        repeated: what came of all runs, where there were several; else None.
    """

    def __init__(self, message: str, result: EvaluationResult, repeated: RepeatedResult | None = None) -> None:
        super().__init__(message)
        self.result = result
        self.repeated = repeated

    def __reduce__(self) -> tuple[type[ToolScoreAssertionError], tuple[str, EvaluationResult, RepeatedResult | None]]:
        return type(self), (str(self), self.result, self.repeated)


class Reason(NamedTuple):
    """Why a contract is broken.

    Attributes:
        trait: what stays the same where another run has the same reason at other positions.
        text: the reason, in a short line.
    """

    trait: str
    text: str


def explain(result: EvaluationResult) -> str:
    """Return the whole message: the summary, the table by pairing, and the metrics."""
    return "\n".join([_summary(result), "", *table(result, unheld(result)), "", _metrics(result)])


def _summary(result: EvaluationResult) -> str:
    """Return the line that a test runner shows."""
    why = [reason.text for reason in reasons(result)]
    more = f"; and {len(why) - _LISTED} more" if len(why) > _LISTED else ""
    sign = ">=" if result.reaches_min_score else "<"
    return f"{'; '.join(why[:_LISTED])}{more} (score {result.score:.2f} {sign} {result.bar:.2f})"


def reasons(result: EvaluationResult) -> list[Reason]:
    """Return why a contract is broken, the gravest first. Of one that holds, what it tolerates."""
    if result.trace.no_evidence is not None:
        text = f"no evidence: {printable(result.trace.no_evidence)}"
        return [Reason(text, text)]
    broken = [Reason(verdict.label, _explained(verdict)) for verdict in unheld(result)]
    scored = [*_missing(result), *_differing(result)]
    if not result.reaches_min_score:
        scored += [*_disorder(result), *_unexpected(result), *_failed(result)]
    elif result.min_score is not None or not result.missing_calls:  # the score is not what breaks it
        broken, scored = [], [*broken, *scored]
    return list(dict.fromkeys([*map(_violated, result.violations), *scored, *broken]))


def unheld(result: EvaluationResult) -> list[Verdict]:
    """Return the verdicts that are not held, but for the bans that violations show. Without evidence all say so."""
    if result.trace.no_evidence is not None:
        return []
    return [verdict for verdict in result.verdicts if not verdict.held and not is_plain_ban(verdict.check)]


def with_tool(pair: Pair, difference: Difference) -> str:
    """Write a difference with its tool in place of ``args``: ``search_flights.destination: expected …``."""
    tool, text = printable(pair.expected.tool, 60), str(difference)
    if difference.path[:1] != ("args",):
        return f"{tool} {text}"
    return tool + text.removeprefix(path_text(("args",), root=""))


def _explained(verdict: Verdict) -> str:
    own_name = getattr(verdict.check, "name", None)
    named = f"{verdict.label}: " if isinstance(own_name, str) and own_name else ""
    return named + verdict.explain()


def _violated(violation: Violation) -> Reason:
    return Reason(f"{violation.rule} is forbidden {violation.reason and 'and not ruled out'}", str(violation))


def _missing(result: EvaluationResult) -> Iterator[Reason]:
    near_names = nearest_calls(result)
    made = Counter(pair.expected.tool for pair in result.pairs)
    for tool, count in Counter(call.tool for call in result.missing_calls).items():
        near, name = near_names[tool], printable(tool, 60)
        if made[tool]:
            text = f"{name} was called {times(made[tool])}, expected {times(made[tool] + count)}"
        else:
            text = f"{name} was never called"
        yield Reason(text, f"{text}, but {printable(near, 60)} was" if near else text)


def _differing(result: EvaluationResult) -> Iterator[Reason]:
    for pair in result.pairs:
        for difference in pair.differences:
            text = with_tool(pair, difference)
            yield Reason(text, text)


def _disorder(result: EvaluationResult) -> Iterator[Reason]:
    early = out_of_order(result)
    for pair in result.pairs:
        if pair.actual.position in early:
            yield _at(pair.actual, "is out of order")


def _unexpected(result: EvaluationResult) -> Iterator[Reason]:
    forbidden = {violation.position for violation in result.violations}
    for call in result.unexpected_calls:
        if call.position not in forbidden:
            yield _at(call, "was not expected")


def _failed(result: EvaluationResult) -> Iterator[Reason]:
    """Name the calls that failed, where that counts."""
    if not result.weights["required_call_recall"]:
        return
    for pair in result.pairs:
        if pair.actual.is_error:
            yield _at(pair.actual, "failed")


def _at(call: ToolCall, what: str) -> Reason:
    name = printable(call.name, 60)
    return Reason(f"{name} {what}", f"{name} at event {call.position} {what}")


def _metrics(result: EvaluationResult) -> str:
    metrics = ", ".join(
        f"{name} {getattr(result, name):.2f} (weight {weight:.2f})" for name, weight in result.weights.items()
    )
    return f"score {result.score:.2f}, grade {result.grade}: {metrics}"
