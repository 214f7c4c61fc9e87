"""What pytest shows where ``==`` of a trace, a contract, a result or a matcher is not as asserted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain, islice, zip_longest
from typing import Any, Final

from tracewitness.display import plural, printable, show
from tracewitness.errors import TracewitnessError
from tracewitness.expectations import check
from tracewitness.fluent import Expectation
from tracewitness.fluent.failure import explain
from tracewitness.fluent.table import table
from tracewitness.matching import Matcher, differences
from tracewitness.scoring import EvaluationResult, ExpectedCall, assess
from tracewitness.trace import LiveTrace, MalformedArguments, ToolCall, Trace

__all__ = ["explain_comparison"]

_MOST: Final = 20
_MOST_LINES: Final = 40
_MANY: Final = 10_000


def explain_comparison(op: str, left: object, right: object, *, verbose: bool = False) -> list[str] | None:
    """Explain why a comparison is not as asserted; None where it is not about anything of ours.

    Arguments:
        op: ``==`` or ``!=``.
        left, right: what was compared; by custom the right one is what was expected.
        verbose: whether to leave out nothing.
    """
    try:
        explained = _explained(op, left, right)
        lines = None if explained is None else list(explained)
    except TracewitnessError as error:
        lines = [printable(str(error), 1000)]
    if lines is None:
        return None
    if len(lines) > _MOST_LINES and not verbose:
        lines[_MOST_LINES:] = [f"… and {plural(len(lines) - _MOST_LINES, 'line')}, which -v shows"]
    return [f"{_named(left)} {op} {_named(right)}", *lines]


def _named(value: object) -> str:
    return "expect(…)" if isinstance(value, Expectation) else show(value, 60)


def _explained(op: str, left: object, right: object) -> Iterator[str] | None:
    if op == "==" and isinstance(left, LiveTrace) != isinstance(right, LiveTrace) and not _is_contract(left, right):
        hint = "a recording is equal to nothing but itself and a contract that holds: compare its trace"
        return chain([hint], _with_traces(op, left, right) or ())
    return _with_traces(op, left, right)


def _is_contract(*sides: object) -> bool:
    return any(isinstance(side, Expectation) for side in sides)


def _with_traces(op: str, left: object, right: object) -> Iterator[str] | None:
    left, right = (side.trace if isinstance(side, LiveTrace) else side for side in (left, right))
    for trace, other in ((left, right), (right, left)):
        if isinstance(trace, Trace):
            return _of_trace(op, trace, other)
    if op == "!=":
        return None
    results = [side for side in (left, right) if isinstance(side, EvaluationResult)]
    if results:
        return _of_results(results)
    if _has_matcher(right) or _has_matcher(left):
        return _of_matcher(*((right, left) if _has_matcher(right) else (left, right)))
    return None


def _of_trace(op: str, trace: Trace, other: object) -> Iterator[str] | None:
    if isinstance(other, Expectation):
        return _of_contract(op, trace, other)
    if op == "!=":
        return None
    if isinstance(other, Trace):
        return _of_two_traces(trace, other)
    if isinstance(other, (list, tuple)):
        return _of_list(trace, list(other))
    return iter(["a Trace is equal to a Trace, and to a contract (expect(…)) that holds on it, and to nothing else"])


def _of_contract(op: str, trace: Trace, contract: Expectation) -> Iterator[str]:
    if op == "!=":
        return iter(["the contract holds on the trace"])
    return iter(explain(contract.evaluate(trace)).splitlines())


def _of_two_traces(actual: Trace, expected: Trace) -> Iterator[str]:
    if actual.name != expected.name:
        yield f"the names differ: expected {show(expected.name)}, got {show(actual.name)}"
    told = [*_calls_side_by_side(actual, [_as_expected(call) for call in expected.calls])]
    told += _differing("beside calls, event", _rest(actual), _rest(expected))
    yield from told or _differing("event", actual.to_events(), expected.to_events())


def _as_expected(call: ToolCall) -> ExpectedCall:
    """Return a call as one that is expected exactly so; what can't be read can't be expected."""
    args: Any = {} if isinstance(call.args, MalformedArguments) else call.args
    return ExpectedCall(call.name, args)


def _calls_side_by_side(actual: Trace, expected: list[ExpectedCall]) -> Iterator[str]:
    """Yield the table of calls by pairing, where one is not as expected."""
    if len(actual.calls) > _MANY or len(expected) > _MANY:
        yield f"expected {plural(len(expected), 'call')}, got {len(actual.calls)}"
        return
    result = assess(expected, actual, strict=True)
    in_order = [pair.actual.position for pair in result.pairs]
    exact = all(pair.is_exact for pair in result.pairs) and in_order == sorted(in_order)
    if not exact or result.missing_calls or result.unexpected_calls:
        yield from table(result, ())


def _differing(noun: str, actual: list[Any], expected: list[Any]) -> list[str]:
    """Say which events differ, the first ones."""
    pairs = enumerate(zip_longest(actual, expected))
    found = (
        f"{noun} {number}: expected {_told(wanted)}, got {_told(came)}"
        for number, (came, wanted) in pairs
        if came != wanted
    )
    return list(islice(found, _MOST))


def _rest(trace: Trace) -> list[Any]:
    """Return the events that are no calls; these are in the table."""
    written = trace.to_events()
    return [written[event.position] for event in trace.events if not isinstance(event, ToolCall)]


def _told(event: Any) -> str:
    return "nothing" if event is None else show(event, 120)


def _of_list(trace: Trace, expected: list[Any]) -> Iterator[str]:
    """Explain a trace that is compared with a list: of events, of checks, or of expected calls."""
    yield "a Trace is never equal to a list"
    if all(isinstance(item, Mapping) and "type" in item for item in expected) and expected:
        yield "these are checks: use witness(trace, checks) or check(trace, checks)"
        yield from (f"{verdict.status}: {verdict.label}: {verdict.explain()}" for verdict in check(trace, expected))
    elif all(isinstance(item, ExpectedCall) or (isinstance(item, Mapping) and "tool" in item) for item in expected):
        yield "these are expected calls: use witness(trace, calls) or evaluate(calls, trace)"
        result = assess(expected, trace)
        yield from ["they are as expected"] if result.passed else explain(result).splitlines()
    else:
        yield "if these are events in neutral form: compare with trace.to_events(), or with Trace.from_events(…)"
        yield from _paths(expected, trace.to_events())


def _of_results(results: list[EvaluationResult]) -> Iterator[str]:
    for result in results:
        yield repr(result)
        yield from explain(result).splitlines()


def _of_matcher(expected: object, actual: object) -> Iterator[str]:
    """Explain a matcher that is compared with a value, path by path."""
    found = list(_paths(expected, actual))
    yield "== does not ask matchers: use matches(expected, actual)"
    yield from found or ["it matches, by the policy lenient"]


def _paths(expected: object, actual: object) -> Iterator[str]:
    return (str(difference) for difference in differences(expected, actual, policy="lenient"))


def _has_matcher(value: object) -> bool:
    """Whether a matcher of ours is in a value; of very large values a part is looked at."""
    seen: set[int] = set()
    rest = [value]
    while rest and len(seen) < _MANY:
        item = rest.pop()
        if isinstance(item, Matcher):
            return True
        if isinstance(item, (dict, list, tuple)) and id(item) not in seen:
            seen.add(id(item))
            rest.extend(item.values() if isinstance(item, dict) else item)
    return False
