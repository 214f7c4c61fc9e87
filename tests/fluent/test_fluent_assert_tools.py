"""``assert_tools``: an evaluation that has to pass, with the same error as a contract."""

from __future__ import annotations

import inspect
import warnings
from typing import Any

import pytest

from tracewitness import (
    ExpectationError,
    ExpectedCall,
    ToolScoreAssertionError,
    UsageError,
    assert_tools,
    evaluate,
    expect,
)
from tracewitness.testing import call, trace

MADE = [{"tool": "a", "args": {"x": 1}}, {"tool": "rm"}]


def test_its_parameters_are_those_of_evaluate() -> None:
    """All of them, the bar third."""
    own, others = inspect.signature(assert_tools).parameters, inspect.signature(evaluate).parameters
    assert list(own)[:3] == ["expected", "actual", "min_score"]
    assert {name: each.default for name, each in own.items()} == {name: each.default for name, each in others.items()}


def test_it_returns_the_result() -> None:
    """The result is that of `evaluate`."""
    wanted = [{"tool": "a", "args": {"x": 1}}, ExpectedCall("rm")]
    assert assert_tools(wanted, MADE) == evaluate(wanted, MADE)
    assert assert_tools([{"tool": "a"}], trace(call("a"))).score == 1.0
    assert assert_tools([], [], forbidden=["rm"]).passed


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ({"expected": [{"tool": "a", "args": {"x": 2}}, {"tool": "rm"}]}, "a.x: expected 2, got 1 (score 0.70 < 0.90)"),
        ({"expected": [{"tool": "a"}, {"tool": "rm"}, {"tool": "b"}]}, "b was never called (score 0.93 >= 0.90)"),
        ({"expected": [{"tool": "a"}]}, "rm at event 1 was not expected (score 0.65 < 0.90)"),
        ({"expected": [], "forbidden": ["rm"]}, "rm was called at event 1, which is forbidden (score 1.00 >= 0.90)"),
        ({"expected": [{"tool": "a", "args": {"x": 1.0}}, {"tool": "rm"}], "strict": True},
         "a.x: expected 1.0, got 1 (of type int, not float) (score 0.70 < 0.90)"),
        ({"expected": [{"tool": "a"}], "weights": {"redundant_rate": 9}, "min_score": 0.6},
         "rm at event 1 was not expected (score 0.52 < 0.60)"),
    ],
)  # fmt: skip
def test_it_raises_the_error_of_a_contract(arguments: dict[str, Any], line: str) -> None:
    """The same first line, the same table, the same result."""
    with pytest.raises(ToolScoreAssertionError) as caught:
        assert_tools(actual=MADE, **arguments)
    assert str(caught.value).splitlines()[0] == line
    assert caught.value.result == evaluate(actual=MADE, **arguments)


def test_it_says_what_a_contract_says() -> None:
    """Word for word."""
    with pytest.raises(ToolScoreAssertionError) as of_contract:
        expect(MADE).calls("a", x=2).calls("b").run()
    with pytest.raises(ToolScoreAssertionError) as of_call:
        assert_tools([{"tool": "a", "args": {"x": 2}}, {"tool": "b"}], MADE)
    assert str(of_call.value) == str(of_contract.value)


def test_a_bar_of_the_callers_own() -> None:
    """By default a missing call fails; with a bar, also one of 0.9, it is warned of at the caller's line."""
    wanted = [{"tool": "a"}, {"tool": "b"}]
    with pytest.raises(ToolScoreAssertionError, match=r"^b was never called \(score 0\.90 >= 0\.90\)"):
        assert_tools(wanted, MADE[:1])
    with pytest.warns(UserWarning, match="not called: b") as caught:
        assert_tools(wanted, MADE[:1], 0.9)
    assert caught[0].filename == __file__
    assert caught[0].lineno == inspect.currentframe().f_lineno - 2  # type: ignore[union-attr]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert_tools(wanted[:1], MADE[:1], 0.9)


@pytest.mark.parametrize(
    ("arguments", "kind", "problem"),
    [
        ({"expected": [{"name": "a"}]}, ExpectationError, "tool is meant"),
        ({"expected": [{"tool": "a", "arguments": {}}]}, ExpectationError, "args is meant"),
        ({"expected": [{"tool": "a"}], "min_score": 90}, UsageError, "from 0 to 1"),
        ({"expected": [{"tool": "a"}], "weights": {"recall": 1}}, UsageError, "recall"),
        ({"expected": [{"tool": "a"}], "forbidden": "rm"}, ExpectationError, "list"),
    ],
)
def test_what_is_malformed(arguments: dict[str, Any], kind: type[Exception], problem: str) -> None:
    """It is an error that names it, and no failed assertion."""
    with pytest.raises(kind, match=problem):
        assert_tools(actual=MADE, **arguments)
