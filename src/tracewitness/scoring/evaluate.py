"""Score what an agent did against what was expected."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from tracewitness.display import show
from tracewitness.errors import ExpectationError, UsageError
from tracewitness.trace import ToolCall, Trace
from tracewitness.verdict import Verdict

from .actual import as_trace
from .alignment import align
from .defaults import without_defaults
from .demands import LENIENT, STRICT, Demand, Policy, demand_of
from .doubts import doubts_about
from .expected import ExpectedCall
from .forbidden import Rule, read_forbidden, violations_in
from .lineup import Lineup, line_up_both
from .metrics import ArgumentTotals, Metrics, measure, merged_weights, score_of
from .order import put_in_order
from .pair import Pair
from .paths import paths_through
from .result import EvaluationResult, warn_of_missing_calls

__all__ = ["assess", "checked_min_score", "evaluate"]


def evaluate(
    expected: Sequence[Mapping[str, Any] | ExpectedCall],
    actual: Trace | Iterable[Mapping[str, Any] | ToolCall],
    weights: Mapping[str, float] | None = None,
    strict: bool = False,
    forbidden: Iterable[str | Mapping[str, Any] | ExpectedCall] | None = None,
    min_score: float | None = None,
    tools: Any = None,
) -> EvaluationResult:
    """Score what an agent did against what was expected.

    Arguments:
        expected: the expected calls, each ``{tool, args?, result?}`` or an `ExpectedCall`. Arguments that are left
            out are not checked, ``{}`` says that there are none; matchers may stand at every depth. In place of a call
            there may be ``{one_of: […]}``, a list of paths, each a call or a list of calls: the best path counts.
        actual: a `Trace`; or a list or tuple of the calls made, each ``{tool, args?, result?, error?, id?}`` or a
            `ToolCall`. An empty list says that no call was made. What leaves in doubt that it shows all calls (an
            event or arguments that could not be read, a name that two tools share) does not pass, whatever the score;
            the result's ``verdicts`` say so.
        weights: how much metrics count; those that are left out count as much as by default. Then all are divided by
            their sum.
        strict: compare values by the policy ``strict``, else by ``lenient``.
        forbidden: what must not be called: tools' names, or ``{tool, args?}`` for calls with at least such arguments.
        min_score: the score from which it passes, 0.9 if left out. With a bar of your own a missing call does not
            fail by itself; where the bar lets one through, a warning names it.
        tools: definitions of the tools (OpenAI, Anthropic, MCP, or a JSON Schema for each name). Where they are given,
            an argument that equals its tool's default is the same as one that is left out.

    Raises:
        ExpectationError: ``expected``, ``tools`` or ``forbidden`` is malformed; it says where.
        UsageError: ``actual``, ``weights`` or ``min_score`` is; it names it.

    >>> result = evaluate([{"tool": "search"}, {"tool": "book"}], [{"tool": "search", "args": {"to": "NYC"}}])
    >>> result.score, result.passed, result.missing_calls
    (0.9, False, (ExpectedCall(tool='book'),))
    """
    result = assess(expected, actual, weights, strict, forbidden, min_score, tools=tools)
    warn_of_missing_calls(result)
    return result


def assess(
    expected: Sequence[Mapping[str, Any] | ExpectedCall],
    actual: Trace | Iterable[Mapping[str, Any] | ToolCall],
    weights: Mapping[str, float] | None = None,
    strict: bool = False,
    forbidden: Iterable[str | Mapping[str, Any] | ExpectedCall] | None = None,
    min_score: float | None = None,
    verdicts: Sequence[Verdict] = (),
    primary: Callable[[str], str] | None = None,
    in_order: bool = False,
    tools: Any = None,
) -> EvaluationResult:
    """Do what `evaluate` does, but leave it to the caller to warn (`warn_of_missing_calls`).

    Arguments:
        verdicts: of checks that have to hold as well.
        primary: gives the name that stands for all names of a tool, where it has several. Who gives it or verdicts
            has checks for what the trace leaves in doubt; else that is looked for here, and has verdicts.
        in_order: whether of pairings that are equally good one is taken in which the calls have the expected order.
        tools: as for `evaluate`.

    Returns:
        What the best path comes to: of those that pass, else of all, the one with the highest score; the first of
        those that tie.
    """
    paths = paths_through(expected)
    rules = read_forbidden(forbidden)
    in_force = merged_weights(weights)
    bar = None if min_score is None else checked_min_score(min_score)
    trace = as_trace(actual)
    policy = STRICT if strict else LENIENT
    results = [
        _assess_path(wanted, trace, rules, in_force, bar, verdicts, policy, primary, in_order, tools)
        for wanted in paths
    ]
    return max(results, key=lambda result: (result.passed, result.score))


def _assess_path(
    wanted: Sequence[ExpectedCall],
    trace: Trace,
    rules: Sequence[Rule],
    in_force: dict[str, float],
    bar: float | None,
    verdicts: Sequence[Verdict],
    policy: Policy,
    primary: Callable[[str], str] | None,
    in_order: bool,
    tools: Any,
) -> EvaluationResult:
    """Score what an agent did against one path."""
    violations = violations_in(trace, rules)
    calls: Sequence[ToolCall] = trace.index.calls
    if tools is not None:
        wanted, calls = without_defaults(wanted, calls, tools, policy, primary)
    demands = _demands(wanted, policy)
    only_checks = not wanted and bool(rules or verdicts)
    if not verdicts and primary is None:
        verdicts = doubts_about(trace, (call.tool for call in (*wanted, *[rule.call for rule in rules])))
    if only_checks:
        metrics = Metrics()
        return EvaluationResult(metrics, in_force, 1.0, (), (), (), violations, trace, bar, tuple(verdicts))
    expected_tools, made_tools = line_up_both([call.tool for call in wanted], calls, primary)
    aligned = align(demands, expected_tools, calls, made_tools, policy)
    if in_order:
        aligned = put_in_order(aligned, demands, expected_tools, calls, made_tools, policy)
    pairs = [pair for pair in aligned if pair is not None]
    metrics = measure(expected_tools, made_tools, _failed(calls, made_tools), _totals(demands, pairs))
    return EvaluationResult(
        metrics,
        in_force,
        score_of(metrics, in_force),
        tuple(pairs),
        _missing(wanted, aligned) if len(pairs) < len(wanted) else (),
        _unexpected(calls, pairs) if len(pairs) < len(calls) else (),
        violations,
        trace,
        bar,
        tuple(verdicts),
    )


def checked_min_score(min_score: object) -> float:
    """Return a bar for the score.

    Raises:
        UsageError: it is no number from 0 to 1.
    """
    if isinstance(min_score, bool) or not isinstance(min_score, (int, float)) or not 0 <= min_score <= 1:
        raise UsageError(f"min_score is a number from 0 to 1, not {show(min_score)}")
    return float(min_score)


def _demands(wanted: Sequence[ExpectedCall], policy: Policy) -> list[Demand]:
    demands = []
    for index, call in enumerate(wanted):
        try:
            demands.append(demand_of(call, policy))
        except ExpectationError as error:
            raise error.under("expected", index) from error.__cause__
    return demands


def _failed(calls: Sequence[ToolCall], made: Lineup) -> list[str]:
    """Return the tools of the calls whose result is an error."""
    return [
        tool
        for tool, call in zip(made.tools, calls, strict=True)
        if (answer := call.answer) is not None and answer.is_error is True
    ]


def _totals(demands: Sequence[Demand], pairs: Sequence[Pair]) -> ArgumentTotals:
    correct = given = expected = 0
    for pair in pairs:
        correct += pair.correct
        given += pair.given
    for demand in demands:
        expected += len(demand.wanted)
    return ArgumentTotals(correct, given, expected)


def _missing(wanted: Sequence[ExpectedCall], aligned: Sequence[Pair | None]) -> tuple[ExpectedCall, ...]:
    return tuple([call for call, pair in zip(wanted, aligned, strict=True) if pair is None])


def _unexpected(calls: Sequence[ToolCall], pairs: Sequence[Pair]) -> tuple[ToolCall, ...]:
    paired = {pair.actual.number for pair in pairs}
    return tuple([call for call in calls if call.number not in paired])
