"""The metrics' edges, the weights and the score."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scoring_strategies import plain_expected, plain_made

from tracewitness.errors import UsageError
from tracewitness.scoring import DEFAULT_WEIGHTS, EvaluationResult, ExpectedCall, evaluate, merged_weights

METRICS = list(DEFAULT_WEIGHTS)
weights = st.dictionaries(st.sampled_from(METRICS), st.floats(0, 1e6), max_size=5)


def tools(names: str) -> list[dict[str, Any]]:
    """Make a call without arguments of each letter."""
    return [{"tool": name} for name in names]


@pytest.mark.parametrize(
    ("expected", "made", "selection", "sequence", "redundant", "recall"),
    [
        ("", "", 1.0, 1.0, 0.0, 1.0),
        ("a", "", 0.0, 0.0, 0.0, 0.0),
        ("", "a", 0.0, 0.0, 1.0, 1.0),
        ("ab", "ab", 1.0, 1.0, 0.0, 1.0),
        ("ab", "ba", 1.0, 0.0, 0.0, 1.0),
        ("ab", "a", 1.0, 0.5, 0.0, 0.5),
        ("ab", "abab", 1.0, 0.5, 0.5, 1.0),
        ("aab", "abb", 1.0, 2 / 3, 1 / 3, 2 / 3),
        ("abc", "xyz", 0.0, 0.0, 1.0, 0.0),
        ("abc", "xabc", 0.75, 0.75, 0.25, 1.0),
        ("abcd", "bcda", 1.0, 0.5, 0.0, 1.0),
    ],
)
def test_metrics_of_tools(
    expected: str, made: str, selection: float, sequence: float, redundant: float, recall: float
) -> None:
    """The metrics that look at tools alone, over hand-counted cases."""
    result = evaluate(tools(expected), tools(made))
    found = (result.selection_accuracy, result.sequence_accuracy, result.redundant_rate, result.required_call_recall)
    assert found == pytest.approx((selection, sequence, redundant, recall))


@pytest.mark.parametrize(
    ("failed", "recall"),
    [("", 1.0), ("a", 2 / 3), ("aa", 1 / 3), ("b", 1.0), ("bb", 2 / 3), ("x", 1.0)],
)
def test_recall_counts_calls_that_did_not_fail(failed: str, recall: float) -> None:
    """Of two expected calls of a and one of b, failed ones do not count; one of two calls of b is enough."""
    made = tools("aabbx")
    for tool in failed:
        next(call for call in made if call["tool"] == tool and "error" not in call)["error"] = "failed"
    assert evaluate(tools("aab"), made).required_call_recall == pytest.approx(recall)


def test_nothing_to_check_in_arguments() -> None:
    """Where calls were expected and made and no argument is looked at, the arguments are right."""
    assert evaluate(tools("ab"), tools("xy")).argument_f1 == 1.0
    assert evaluate([{"tool": "a", "args": {}}], tools("a")).argument_f1 == 1.0


def test_names_that_differ_in_little_are_different_tools() -> None:
    """Names compare exactly, and a sequence of other names is as far as can be."""
    result = evaluate([{"tool": "Search"}, {"tool": "search "}], [{"tool": "search"}, {"tool": "Search "}])
    assert result.selection_accuracy == result.sequence_accuracy == 0.0


def test_twenty_thousand_names() -> None:
    """The distance of long sequences is that of the names, whether there are few of them or many."""
    size = 20_000
    many = [{"tool": f"t{number}"} for number in range(size)]
    assert evaluate(many, many[1:] + many[:1]).sequence_accuracy == pytest.approx(1 - 2 / size)
    few = [{"tool": f"t{number % 5}"} for number in range(size)]
    assert evaluate(few, few[1:]).sequence_accuracy == pytest.approx(1 - 1 / size)


@settings(max_examples=60, deadline=None)
@given(st.lists(plain_expected, max_size=5), st.lists(plain_made, max_size=5), weights)
def test_everything_is_from_0_to_1(
    wanted: list[ExpectedCall], calls: list[dict[str, Any]], given_weights: dict[str, float]
) -> None:
    """No metric and no score leaves its bounds, whatever the weights; they add up to 1."""
    if not any({**DEFAULT_WEIGHTS, **given_weights}.values()):
        given_weights["argument_f1"] = 1.0
    result = evaluate(wanted, calls, given_weights)
    assert all(0.0 <= getattr(result, metric) <= 1.0 for metric in METRICS)
    assert 0.0 <= result.score <= 1.0
    assert math.fsum(result.weights.values()) == pytest.approx(1.0)


@settings(max_examples=60, deadline=None)
@given(st.lists(plain_made, max_size=6), weights.filter(lambda given_weights: len(given_weights) < 5))
def test_a_perfect_match_scores_exactly_1(calls: list[dict[str, Any]], given_weights: dict[str, float]) -> None:
    """No rounding takes anything from a perfect match, under any weights."""
    if not any({**DEFAULT_WEIGHTS, **given_weights}.values()):
        given_weights = {}
    assert evaluate(calls, calls, given_weights).score == 1.0


@settings(max_examples=60, deadline=None)
@given(st.lists(plain_expected, min_size=1, max_size=5), st.lists(plain_made, max_size=5), st.sampled_from(METRICS))
def test_a_weight_alone_is_its_metric(wanted: list[ExpectedCall], calls: list[dict[str, Any]], metric: str) -> None:
    """Where all other weights are zero the score is the metric, turned round for redundant calls."""
    result = evaluate(wanted, calls, {**dict.fromkeys(METRICS, 0), metric: 3})
    value = getattr(result, metric)
    assert result.score == pytest.approx(1 - value if metric == "redundant_rate" else value)


def test_given_weights_replace_theirs_and_are_shown() -> None:
    """One weight of 1 does not count alone: the others stay, all are divided by the sum, and the result says so."""
    assert merged_weights(None) == merged_weights({}) == dict(DEFAULT_WEIGHTS)
    result = evaluate(tools("a"), tools("a"), {"argument_f1": 1})
    assert result.weights == pytest.approx(
        {
            "selection_accuracy": 0.4 / 1.7,
            "argument_f1": 1 / 1.7,
            "sequence_accuracy": 0.2 / 1.7,
            "redundant_rate": 0.1 / 1.7,
            "required_call_recall": 0.0,
        }
    )


@pytest.mark.parametrize(
    ("given_weights", "says"),
    [
        ({"selection": 1}, "selection_accuracy"),
        ({"argument_F1": 1}, "argument_f1"),
        ({"zzz": 1}, "required_call_recall"),
        ({1: 1}, "unknown weight 1"),
        ({"argument_f1": -0.1}, "argument_f1"),
        ({"argument_f1": math.nan}, "argument_f1"),
        ({"argument_f1": math.inf}, "argument_f1"),
        ({"argument_f1": -math.inf}, "argument_f1"),
        ({"argument_f1": 10**400}, "argument_f1"),
        ({"argument_f1": True}, "argument_f1"),
        ({"argument_f1": "1"}, "argument_f1"),
        ({"argument_f1": None}, "argument_f1"),
        (dict.fromkeys(METRICS, 0), "zero"),
        ({"selection_accuracy": 0, "argument_f1": 0, "sequence_accuracy": 0, "redundant_rate": 0}, "zero"),
        ([("argument_f1", 1)], "mapping"),
    ],
    ids=str,
)
def test_weights_that_are_refused(given_weights: Any, says: str) -> None:
    """A weight that can't be used is a ValueError that names the key, and the key that was meant."""
    with pytest.raises(UsageError) as raised:
        evaluate([], [], given_weights)
    assert isinstance(raised.value, ValueError)
    assert says in str(raised.value)


@pytest.mark.parametrize("scale", [1e-300, 1e-5, 1, 1e300])
def test_only_proportions_of_weights_count(scale: float) -> None:
    """Weights that are all very small or very large do what their proportions say."""
    result: EvaluationResult = evaluate(tools("ab"), tools("a"), {name: scale * part for name, part in PARTS.items()})
    assert result.score == pytest.approx(evaluate(tools("ab"), tools("a"), PARTS).score)


PARTS = dict(zip(METRICS, (0.5, 0.25, 0.5, 0.125, 0.75), strict=True))
