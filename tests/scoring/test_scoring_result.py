"""The result's own words: grade, repr, and the form that is written down."""

from __future__ import annotations

import copy
import json
import pickle
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scoring_strategies import expected, made

from tracewitness.display import nearest_name
from tracewitness.fluent import ToolScoreAssertionError, expect
from tracewitness.matching import ANY, Regex, Satisfies
from tracewitness.scoring import EvaluationResult, ExpectedCall, evaluate, grade_of
from tracewitness.scoring.plain import json_data


@pytest.mark.parametrize(
    ("score", "grade"),
    [(1.0, "A"), (0.9, "A"), (0.9 - 1e-15, "A"), (0.89, "B"), (0.8, "B"), (0.79, "C"), (0.7, "C"), (0.69, "D"),
     (0.6, "D"), (0.59, "F"), (0.0, "F")],
)  # fmt: skip
def test_grades(score: float, grade: str) -> None:
    """A from 0.9, B from 0.8, C from 0.7, D from 0.6, F below."""
    assert grade_of(score) == grade


def test_a_result_never_changes() -> None:
    """Nothing of a result can be set."""
    result = evaluate([{"tool": "a"}], [{"tool": "a"}])
    with pytest.raises(AttributeError):
        result.score = 0.5  # type: ignore[misc]
    with pytest.raises(AttributeError):
        result.pairs[0].correct = 5  # type: ignore[misc]


def test_a_result_can_be_copied_and_pickled() -> None:
    """A copy is equal, so that a result can come from another process."""
    result = evaluate([{"tool": "a", "args": {"x": Regex("b")}}], [{"tool": "a", "args": {"x": "c"}, "result": 1}])
    for again in (copy.deepcopy(result), pickle.loads(pickle.dumps(result))):  # noqa: S301 - our own
        assert again == result
        assert [str(difference) for difference in again.pairs[0].differences] == [
            "args.x: expected Regex('b'), got 'c'"
        ]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (([], []), "<EvaluationResult passed: score 1.00 (A), 0 pairs>"),
        (([{"tool": "a"}], [{"tool": "a"}]), "<EvaluationResult passed: score 1.00 (A), 1 pair>"),
        (([{"tool": "a"}, {"tool": "b"}], [{"tool": "a"}]),
         "<EvaluationResult not passed: score 0.90 (A), 1 pair, 1 missing>"),
        (([{"tool": "a"}], [{"tool": "a"}, {"tool": "b"}], None, False, ["b"]),
         "<EvaluationResult not passed: score 0.65 (D), 1 pair, 1 unexpected, 1 violation>"),
    ],
)  # fmt: skip
def test_repr(arguments: Any, text: str) -> None:
    """A line says what matters first."""
    assert repr(evaluate(*arguments)) == text


def test_repr_fits_a_line() -> None:
    """Also of thousands of calls with long names."""
    long = [{"tool": "x" * 500 + str(number)} for number in range(3_000)]
    assert len(repr(evaluate(long[:2_000], long[1_000:], forbidden=[long[-1]["tool"]]))) < 120


def test_the_written_form() -> None:
    """All of a result stands in it, matchers as in a file, differences in words."""
    result = evaluate(
        [{"tool": "a", "args": {"x": Regex("b"), "y": 1}, "result": ANY}, {"tool": "b"}],
        [{"tool": "a", "args": {"x": "c", "y": 1}, "result": None}, {"tool": "rm", "error": "no"}],
        forbidden=[{"tool": "rm", "args": {}}],
    )
    assert result.to_dict() == {
        "version": 1,
        "passed": False,
        "score": result.score,
        "grade": "F",
        "min_score": 0.9,
        "metrics": {
            "selection_accuracy": 0.5,
            "argument_f1": pytest.approx(2 / 3),
            "sequence_accuracy": 0.5,
            "redundant_rate": 0.5,
            "required_call_recall": 0.5,
        },
        "weights": dict(result.weights),
        "pairs": [
            {
                "expected": {
                    "tool": "a",
                    "args": {"x": {"$regex": "b"}, "y": 1},
                    "result": {"$any": True},
                },
                "actual": {
                    "tool": "a",
                    "position": 0,
                    "args": {"x": "c", "y": 1},
                    "result": None,
                    "is_error": False,
                },
                "differences": ["args.x: expected Regex('b'), got 'c'"],
            }
        ],
        "missing_calls": [{"tool": "b"}],
        "unexpected_calls": [{"tool": "rm", "position": 2, "args": {}, "result": "no", "is_error": True}],
        "violations": [
            {
                "rule": {"tool": "rm", "args": {}},
                "position": 2,
                "call": {"tool": "rm", "position": 2, "args": {}, "result": "no", "is_error": True},
                "reason": "",
            }
        ],
        "verdicts": [],
        "no_evidence": None,
    }


def assert_strict_json(data: Any) -> None:
    """Check that data survives being written by two encoders, one of them as strict as can be."""
    assert json.loads(json.dumps(data, allow_nan=False)) == data
    assert msgspec.json.decode(msgspec.json.encode(data)) == data
    json.dumps(data, ensure_ascii=False).encode("utf-8")


@settings(max_examples=60, deadline=None)
@given(st.lists(expected, max_size=4), st.lists(made, max_size=4))
def test_the_written_form_is_strict_json(wanted: list[ExpectedCall], calls: list[dict[str, Any]]) -> None:
    """Whatever was expected and came, matchers and objects too."""
    result: EvaluationResult = evaluate(wanted, calls, forbidden=[*wanted[:1]] if wanted and not _asks(wanted) else [])
    assert_strict_json(result.to_dict())


def _asks(wanted: list[ExpectedCall]) -> bool:
    return wanted[0].result is not msgspec.UNSET


class Loud:
    """An object whose repr raises."""

    def __repr__(self) -> str:
        raise RuntimeError("no")


def endless() -> dict[str, Any]:
    """Return a mapping that holds itself."""
    value: dict[str, Any] = {"x": 1}
    value["itself"] = [value, value]
    return value


@pytest.mark.parametrize(
    "value",
    [float("nan"), float("-inf"), "\ud800", {"\udfff": 1}, 10**30, -(10**5000), {1: 2, None: 3}, {1, 2}, b"\xff",
     Loud(), endless(), [[[[float("nan")]]]], Satisfies(bool), ("a", 1.5), "\x1b[31m\u202e"],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_any_value_can_be_written(value: Any) -> None:
    """Values that JSON has no form for become texts, at any depth."""
    assert_strict_json(json_data(value))
    calls = [{"tool": "a", "args": {"x": value}, "result": value}]
    assert_strict_json(evaluate([], calls).to_dict())
    if not (isinstance(value, dict) and "itself" in value):  # no expectation may hold itself
        assert_strict_json(evaluate([{"tool": "b", "args": {"x": value}}], calls).to_dict())


def test_a_deep_value_can_be_written() -> None:
    """100,000 levels are cut where nobody reads on."""
    value: Any = 1
    for _ in range(100_000):
        value = [value]
    assert_strict_json(json_data(value))


def test_a_failure_says_a_thing_once() -> None:
    """What breaks `exactly` and the score alike is said in the words of the calls, once in the first line."""
    made = [{"tool": "a", "args": {"x": 1}}, {"tool": "b", "args": {}}]
    contracts = (
        expect(made).calls("a", x=1).then_calls("b").then_calls("c").exactly(),
        expect(made).calls("a", x=1).exactly(),
        expect(made).calls("b").then_calls("a").in_order(),
    )
    for contract in contracts:
        with pytest.raises(ToolScoreAssertionError) as raised:
            contract.run()
        first = str(raised.value).splitlines()[0]
        assert "expected at least 1.00" not in first
        reasons = first.rpartition(" (score")[0].split("; ")
        assert not [one for one in reasons for other in reasons if one is not other and one in other]


def test_an_ambiguous_name_comes_first() -> None:
    """It is why the calls are missing, so it stands in the line that a test runner shows."""
    made = [{"tool": f"projects/{project}/tools/create", "args": {}} for project in "pqrstu"]
    with pytest.raises(ToolScoreAssertionError, match=r"^create is ambiguous: "):
        expect(made).calls("create").run()


def test_long_names_cost_little() -> None:
    """Near names are looked for among those that a person could have mistyped."""
    long = "x" * 1_000_000
    with pytest.raises(ToolScoreAssertionError) as raised:
        expect([{"tool": long + "y", "args": {long: 1}}]).calls(long, **{long + "z": 1}).run()
    assert len(str(raised.value)) < 2000
    assert nearest_name(long, [long + "y", "x"]) is None
    assert nearest_name("serch", [long, "search"]) == "search"
