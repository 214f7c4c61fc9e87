"""Section 6 of the semantics, written down naively: the oracle of the tests of pairing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from msgspec import UNSET
from scipy.optimize import linear_sum_assignment

from tracewitness.matching import Matcher, matches
from tracewitness.scoring import EvaluationResult, ExpectedCall
from tracewitness.trace import MalformedArguments, MalformedResult, ToolCall

_SCALE = 10_000  # more than any sum of the tests, so that the criteria come one after another; floats hold its square


class Sums(NamedTuple):
    """What a pairing comes to: pairs, what is correct, what came in vain, what came under strange names."""

    pairs: int
    correct: int
    vain: int
    strange: int


def met(expected: ExpectedCall, call: ToolCall, policy: str) -> Sums:
    """Count one pair, by asking about each value."""
    arguments = _met_arguments(expected.args, call.args, policy)
    if expected.result is UNSET:
        return arguments
    is_right = _is_result(expected.result, call, policy)
    came_in_vain = call.answer is not None and not is_right
    return arguments._replace(correct=arguments.correct + is_right, vain=arguments.vain + came_in_vain)


def _met_arguments(expected: Any, args: Any, policy: str) -> Sums:
    if expected is UNSET:
        return Sums(1, 0, 0, 0)
    if isinstance(args, MalformedArguments):
        return Sums(1, 0, 1, 0)
    if isinstance(expected, Matcher):
        is_right = matches(expected, args, policy)
        return Sums(1, int(is_right), int(not is_right), 0)
    right = {
        name
        for name, value in expected.items()
        if matches({name: value}, {name: args[name]} if name in args else {}, policy)
    }
    return Sums(1, len(right), len(args.keys() - right), len(args.keys() - expected.keys()))


def _is_result(expected: Any, call: ToolCall, policy: str) -> bool:
    if call.answer is None or call.is_error or isinstance(call.result, MalformedResult):
        return False
    payload = call.result
    if isinstance(payload, Mapping) and payload.keys() == {"result"}:
        inside = matches(expected, payload["result"], policy)
        return inside or (not isinstance(expected, Matcher) and matches(expected, payload, policy))
    return matches(expected, payload, policy)


def best(expected: Sequence[ExpectedCall], calls: Sequence[ToolCall], policy: str) -> Sums:
    """Return what the best pairing comes to, by another's solver (`scipy.optimize.linear_sum_assignment`)."""
    total = [0, 0, 0, 0]
    for tool in {call.tool for call in expected}:
        wanted = [call for call in expected if call.tool == tool]
        made = [call for call in calls if call.name == tool]
        pairs = {(one, other): met(one_call, other_call, policy)
                 for one, one_call in enumerate(wanted) for other, other_call in enumerate(made)}  # fmt: skip
        costs = np.zeros((len(wanted), len(made)))
        for place, sums in pairs.items():
            costs[place] = (-sums.correct * _SCALE + sums.vain) * _SCALE + sums.strange
        for one, other in zip(*linear_sum_assignment(costs), strict=True):
            for number, count in enumerate(pairs[int(one), int(other)]):
                total[number] += count
    return Sums(*total)


def reached(result: EvaluationResult, policy: str) -> Sums:
    """Return what an evaluation's pairs come to, counted naively."""
    sums = [met(pair.expected, pair.actual, policy) for pair in result.pairs]
    return Sums(*(sum(counts) for counts in zip(*sums, strict=True))) if sums else Sums(0, 0, 0, 0)


def demanded(expected: Sequence[ExpectedCall]) -> int:
    """Count what is expected of arguments and results."""
    return sum(_demanded_by(call) for call in expected)


def _demanded_by(call: ExpectedCall) -> int:
    arguments = 0 if call.args is UNSET else 1 if isinstance(call.args, Matcher) else len(call.args)
    return arguments + (call.result is not UNSET)


def argument_f1(expected: Sequence[ExpectedCall], calls: Sequence[ToolCall], policy: str) -> float:
    """Return the metric, from the best pairing."""
    if bool(expected) is not bool(calls):
        return 0.0
    sums, wanted = best(expected, calls, policy), demanded(expected)
    precision = sums.correct / (sums.correct + sums.vain) if sums.correct else 0.0
    recall = sums.correct / wanted if wanted else 0.0
    if sums.correct + sums.vain + wanted == 0:
        return 1.0
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0
