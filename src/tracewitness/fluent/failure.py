"""What a broken contract raises, and the line that says why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from tracewitness.display import printable
from tracewitness.errors import TracewitnessError, path_text
from tracewitness.expectations import Score
from tracewitness.expectations.wording import ambiguous, from_text_alone, times
from tracewitness.fluent.table import nearest_calls, table
from tracewitness.fluent.verdicts import is_plain_ban
from tracewitness.matching import Difference
from tracewitness.scoring import EvaluationResult, Pair, Violation, out_of_order
from tracewitness.scoring.doubts import ambiguous as ambiguous_name
from tracewitness.trace import ToolCall
from tracewitness.verdict import Verdict

if TYPE_CHECKING:
    from tracewitness.fluent.repeat import RepeatedResult

__all__ = ["ChecksAssertionError", "Reason", "ToolScoreAssertionError", "explain", "reasons", "unheld", "with_tool"]

_LISTED = 3
_COMPARED = 20


class ToolScoreAssertionError(TracewitnessError, AssertionError):
    """A contract that an agent has broken.

    Attributes:
        result: the `EvaluationResult`; of several runs, that of the worst.
        repeated: what came of all runs, where there were several; else None.
    """

    #: Where users import it from; a test runner's summary line has no room for more.
    __module__ = "tracewitness"

    def __init__(self, message: str, result: EvaluationResult, repeated: RepeatedResult | None = None) -> None:
        super().__init__(message)
        self.result = result
        self.repeated = repeated

    def __reduce__(self) -> tuple[type[ToolScoreAssertionError], tuple[str, EvaluationResult, RepeatedResult | None]]:
        return type(self), (str(self), self.result, self.repeated)


class ChecksAssertionError(TracewitnessError, AssertionError):
    """Checks that an agent has broken.

    Attributes:
        verdicts: what all checks came to, also those that held.
    """

    #: Where users import it from, as above.
    __module__ = "tracewitness"

    def __init__(self, message: str, verdicts: Sequence[Verdict]) -> None:
        super().__init__(message)
        self.verdicts = tuple(verdicts)

    def __reduce__(self) -> tuple[type[ChecksAssertionError], tuple[str, tuple[Verdict, ...]]]:
        return type(self), (str(self), self.verdicts)


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
    verdicts = unheld(result)
    doubts = [_explained(verdict) for verdict in verdicts if _is_ambiguous(verdict)]
    score_is_hard = any(_is_about_score(verdict, result) for verdict in verdicts)
    scored = [*_missing(result), *_differing(result)]
    if not result.reaches_min_score or score_is_hard:
        scored += [*_disorder(result), *_unexpected(result), *_failed(result)]
    # What breaks the score's own check is said by what it is about, in more telling words.
    said = [verdict for verdict in verdicts if _is_ambiguous(verdict) or (scored and _is_about_score(verdict, result))]
    broken = [_explained(verdict) for verdict in verdicts if verdict not in said]
    if result.reaches_min_score and not score_is_hard and (result.min_score is not None or not result.missing_calls):
        gravest = [*broken, *scored]  # the score is not what breaks it
    else:
        gravest = [*scored, *broken]
    return _without_repeats([*doubts, *map(_violated, result.violations), *gravest])


def _without_repeats(found: list[Reason]) -> list[Reason]:
    """Leave out what the first reasons, which are the ones that are read, say already as a part of their own."""
    kept: list[Reason] = []
    for reason in dict.fromkeys(found):
        if not any(reason.text in each.text or reason.text.endswith(f": {each.text}") for each in kept[:_COMPARED]):
            kept.append(reason)
    return kept


def _is_ambiguous(verdict: Verdict) -> bool:
    """Whether a verdict says that a tool's name is ambiguous; whatever else is broken may come of that."""
    make, *rest = verdict.words
    return (rest[0][0] if make is from_text_alone else make) in (ambiguous_name, ambiguous)


def _is_about_score(verdict: Verdict, result: EvaluationResult) -> bool:
    """Whether a verdict is of the score of the same calls, as in `Expectation.exactly`."""
    check = verdict.check
    if not isinstance(check, Score) or _is_ambiguous(verdict):
        return False
    expected = [*(pair.expected for pair in result.pairs), *result.missing_calls]
    return Counter(call.tool for call in check.calls) == Counter(call.tool for call in expected)


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


def _explained(verdict: Verdict) -> Reason:
    own_name = getattr(verdict.check, "name", None)
    named = f"{verdict.label}: " if isinstance(own_name, str) and own_name else ""
    return Reason(verdict.label, named + verdict.explain())


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
    early = out_of_order(result.pairs)
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
