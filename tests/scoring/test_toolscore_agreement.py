"""Agreement with tool-scorer 1.10.0, which evaluates in the same five metrics, where both define them alike.

Left out is where it is known to differ (see `test_peers.py`): bools beside numbers, white space and bools inside
containers, more than 12 calls of a tool, its sums of floats, nothing to check in the arguments of unpaired calls; and
what it leaves open: which of several pairings with as much that is right.
"""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tracewitness.scoring import DEFAULT_WEIGHTS, evaluate

toolscore = pytest.importorskip("toolscore", reason="tool-scorer is not installed")
CLOSE = 1e-9

#: Each tool has arguments of its own that always come, so that which of several best pairings is taken does not matter.
NAMES = {"search": ["q", "limit"], "book": ["id", "seat", "class"], "pay": ["amount"], "ping": []}
VALUES: list[Any] = [1, 2, 2.0, "x", " x ", "y", None, [1, 2], {"k": 1}, {"k": 1.0}]


def _call(tool: str, values: list[Any]) -> dict[str, Any]:
    return {"tool": tool, "args": dict(zip(NAMES[tool], values, strict=False))}


calls = st.lists(
    st.builds(_call, st.sampled_from(list(NAMES)), st.lists(st.sampled_from(VALUES), min_size=3, max_size=3)),
    max_size=12,
)
outcomes = st.sampled_from([{}, {}, {"result": 1}, {"error": "failed"}, {"error": None}])
weights = st.one_of(
    st.none(),
    st.dictionaries(st.sampled_from(list(DEFAULT_WEIGHTS)), st.floats(0.01, 5), max_size=5),
)


def assert_agree(expected: list[Any], actual: list[Any], given_weights: Any, strict: bool) -> None:
    """Check the five metrics and the score."""
    ours = evaluate(expected, actual, given_weights, strict)
    theirs = toolscore.evaluate(expected, actual, given_weights, strict)
    redundant = theirs.metrics["efficiency_metrics"]["redundant_rate"]
    recall = theirs.required_call_recall
    assert ours.selection_accuracy == pytest.approx(theirs.selection_accuracy, abs=CLOSE)
    assert ours.argument_f1 == pytest.approx(theirs.argument_f1, abs=CLOSE)
    assert ours.sequence_accuracy == pytest.approx(theirs.sequence_accuracy, abs=CLOSE)
    assert ours.redundant_rate == pytest.approx(redundant, abs=CLOSE)
    assert ours.required_call_recall == pytest.approx(1.0 if recall is None else recall, abs=CLOSE)
    assert ours.score == pytest.approx(theirs.score, abs=CLOSE)


def has_something_to_check(expected: list[Any], actual: list[Any]) -> bool:
    """Whether arguments are checked at all, or every side is empty; else the two define the metric differently."""
    if not expected or not actual:
        return True
    made = {call["tool"] for call in actual}
    return any(call.get("args") for call in expected) or any(call["tool"] in made for call in expected)


@settings(max_examples=300, deadline=None)
@given(calls, calls, st.lists(outcomes, min_size=12, max_size=12), weights, st.booleans())
def test_metrics_and_score_agree(
    expected: list[Any], actual: list[Any], results: list[Any], given_weights: Any, strict: bool
) -> None:
    """Five metrics and the score are the same over random calls, results, weights and both policies."""
    made = [{**call, **outcome} for call, outcome in zip(actual, results, strict=False)]
    assume(has_something_to_check(expected, made))
    assert_agree(expected, made, given_weights, strict)


@settings(max_examples=200, deadline=None)
@given(calls, calls, st.sets(st.sampled_from(list(NAMES))), weights)
def test_they_agree_where_arguments_are_not_checked(
    expected: list[Any], actual: list[Any], unchecked: set[str], given_weights: Any
) -> None:
    """The same where the arguments of some tools are left out."""
    wanted = [{"tool": call["tool"]} if call["tool"] in unchecked else call for call in expected]
    assume(has_something_to_check(wanted, actual))
    assert_agree(wanted, actual, given_weights, strict=False)


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_arguments_that_come_and_go(data: st.DataObject) -> None:
    """Where arguments may be missing, theirs is one of the best pairings, ours the one of them with the least extra."""
    args = st.dictionaries(st.sampled_from("abc"), st.integers(0, 2), max_size=3)
    one_tool = st.lists(args.map(lambda each: {"tool": "t", "args": each}), min_size=1, max_size=8)
    expected, actual = data.draw(one_tool), data.draw(one_tool)
    ours, theirs = evaluate(expected, actual), toolscore.evaluate(expected, actual)
    assert ours.argument_f1 >= theirs.argument_f1 - CLOSE
    correct = sum(pair.correct for pair in ours.pairs)
    wanted = sum(len(call["args"]) for call in expected)
    assert correct == pytest.approx(theirs.metrics["argument_metrics"]["recall"] * wanted, abs=1e-6)


@pytest.mark.parametrize("seed", range(20))
def test_long_sequences_agree(seed: int) -> None:
    """Hundreds of calls without arguments agree in everything."""
    generator = random.Random(seed)
    sequences = [[{"tool": generator.choice("abcdef")} for _ in range(generator.randint(1, 300))] for _ in range(2)]
    assert_agree(*sequences, None, strict=False)
