"""What a person reads when a contract is broken: one line that says it all, and the table below it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from tracewitness.display import plural, printable, show
from tracewitness.errors import TracewitnessError
from tracewitness.expectations import ToolNotCalled
from tracewitness.expectations.wording import near_tool
from tracewitness.matching import Difference
from tracewitness.scoring import EvaluationResult, ExpectedCall, Pair
from tracewitness.trace import MalformedArguments, ToolCall
from tracewitness.verdict import Verdict

if TYPE_CHECKING:
    from tracewitness.fluent.repeat import RepeatedResult

__all__ = ["ToolScoreAssertionError", "explain", "explain_repeated", "reasons"]

_REASONS = 3
_WIDTH = 44
_ROWS = 60


class ToolScoreAssertionError(TracewitnessError, AssertionError):
    """A contract that an agent has broken.

    Attributes:
        result: the `EvaluationResult`.
    """

    def __init__(self, message: str, result: EvaluationResult) -> None:
        super().__init__(message)
        self.result = result

    def __reduce__(self) -> tuple[type[ToolScoreAssertionError], tuple[str, EvaluationResult]]:
        return type(self), (str(self), self.result)


def reasons(result: EvaluationResult) -> list[str]:
    """Return why a contract is broken, a short line each, the gravest first."""
    lost = [f"{printable(call.tool, 60)} was never called" for call in result.missing_calls]
    differing = [
        _with_tool(pair, difference) for pair in result.pairs if not pair.is_exact for difference in pair.differences
    ]
    violated = [str(violation) for violation in result.violations]
    return [*violated, *lost, *differing, *(verdict.explain() for verdict in _broken(result))]


def _broken(result: EvaluationResult) -> list[Verdict]:
    """Return the verdicts that are not held, but for bans, whose violations are shown by themselves."""
    banned = {violation.rule.tool for violation in result.violations}
    return [
        verdict
        for verdict in result.verdicts
        if not verdict.held
        and not (isinstance(verdict.check, ToolNotCalled) and not verdict.check.before and verdict.check.tool in banned)
    ]


def _with_tool(pair: Pair, difference: Difference) -> str:
    """Write a difference with its tool in place of ``args``: ``search_flights.destination: expected …``."""
    tool, text = printable(pair.expected.tool, 60), str(difference)
    for root in ("args.", "args"):
        if text.startswith(root):
            joint = "." if root == "args." else ""
            return f"{tool}{joint}{text.removeprefix(root)}"
    return f"{tool} {text}"


def explain(result: EvaluationResult) -> str:
    """Return the whole message: the summary, the table by pairing, and the metrics."""
    return "\n".join([summary(result), "", *_table(result), *_hints(result), "", _metrics(result)])


def summary(result: EvaluationResult) -> str:
    """Return the line that a test runner shows."""
    why = reasons(result)
    listed = "; ".join(why[:_REASONS])
    more = f"; and {len(why) - _REASONS} more" if len(why) > _REASONS else ""
    sign = "<" if not result.reaches_min_score else ">="
    unexpected = result.unexpected_calls
    if not why and unexpected:
        listed = f"{plural(len(unexpected), 'unexpected call')}, first {printable(unexpected[0].name, 60)}"
    return f"{listed}{more} (score {result.score:.2f} {sign} {result.bar:.2f})"


def _table(result: EvaluationResult) -> list[str]:
    """Lay out expected and actual calls side by side, by pairing."""
    rows = [_row("", "expected", "actual")]
    late = _out_of_order(result)
    for pair in result.pairs:
        rows.append(_row(_mark(pair, late), _expected(pair.expected), f"{_actual(pair.actual)}"))
        rows += [f"{'':13}{difference}" for difference in pair.differences]
    rows += [_row("MISSING", _expected(call), "-") for call in result.missing_calls]
    forbidden = {violation.position for violation in result.violations if violation.call is not None}
    for violation in result.violations:
        rows.append(_row("FORBIDDEN", "-", _actual(violation.call) if violation.call else str(violation)))
    rows += [_row("EXTRA", "-", _actual(call)) for call in result.unexpected_calls if call.position not in forbidden]
    rows += [f"{'BROKEN':13}{verdict.label}: {verdict.explain()}" for verdict in _broken(result)]
    return rows if len(rows) <= _ROWS else [*rows[:_ROWS], f"… and {len(rows) - _ROWS} more lines"]


def _out_of_order(result: EvaluationResult) -> set[int]:
    """Return the positions of calls that come before one that was expected earlier."""
    late: set[int] = set()
    furthest = -1
    for pair in result.pairs:
        if pair.actual.position < furthest:
            late.add(pair.actual.position)
        furthest = max(furthest, pair.actual.position)
    return late


def _mark(pair: Pair, late: set[int]) -> str:
    if pair.actual.position in late:
        return "WRONG ORDER"
    return "ok" if pair.is_exact else "DIFFERENT"


def _row(mark: str, expected: str, actual: str) -> str:
    return f"{mark:13}{expected:{_WIDTH}} {actual}".rstrip()


def _expected(call: ExpectedCall) -> str:
    args = call.args
    if not isinstance(args, dict):
        shown = "…" if not args else show(args, 30)
        return printable(f"{call.tool}({shown})", _WIDTH)
    return printable(f"{call.tool}({_keywords(args.items())})", _WIDTH)


def _actual(call: ToolCall) -> str:
    args = "<malformed>" if isinstance(call.args, MalformedArguments) else _keywords(call.args.items())
    failed = ", failed" if call.is_error else ""
    return f"{printable(f'{call.name}({args})', _WIDTH)}  event {call.position}{failed}"


def _keywords(items: Iterable[tuple[object, object]]) -> str:
    return ", ".join(f"{key}={show(value, 24)}" for key, value in items)


def _hints(result: EvaluationResult) -> list[str]:
    """Name the called tool that was probably meant by one that is missing."""
    called = [call.name for call in result.unexpected_calls]
    found = [(call.tool, near_tool(call.tool, called)) for call in result.missing_calls]
    return [f"{'':13}{printable(near)} was called: is it {printable(tool)}?" for tool, near in found if near]


def _metrics(result: EvaluationResult) -> str:
    metrics = ", ".join(
        f"{name} {getattr(result, name):.2f} (weight {weight:.2f})" for name, weight in result.weights.items()
    )
    return f"score {result.score:.2f}, grade {result.grade}: {metrics}"


def explain_repeated(result: RepeatedResult) -> str:
    """Return the message of a contract of several runs."""
    low, high = result.interval
    head = (
        f"{result.held} of {result.runs} runs held, {result.at_least} had to "
        f"(rate {result.rate:.2f}, 95 % interval {low:.2f} to {high:.2f})"
    )
    return "\n".join([head, "", *result.differences()])
