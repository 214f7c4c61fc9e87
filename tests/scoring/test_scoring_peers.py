"""What evaluations elsewhere get wrong, each situation as a test: what is right is said in each docstring."""

from __future__ import annotations

from typing import Any

import pytest

from tracewitness.matching import Contains, OneOf, Regex
from tracewitness.scoring import evaluate


def call(tool: str, **args: Any) -> dict[str, Any]:
    """Write a call."""
    return {"tool": tool, "args": args}


@pytest.mark.parametrize(("size", "score"), [(2, 0.9), (10, 0.98)])
def test_one_of_the_expected_calls_missing(size: int, score: float) -> None:
    """Half the work left out scores 0.90, a tenth 0.98; both fail, and the call is named."""
    wanted = [{"tool": f"t{number}"} for number in range(size)]
    result = evaluate(wanted, wanted[:-1])
    assert result.score == pytest.approx(score)
    assert not result.passed
    assert [missing.tool for missing in result.missing_calls] == [f"t{size - 1}"]


def test_a_required_call_that_failed() -> None:
    """It is not met where recall counts, and the result shows it where recall doesn't."""
    failed = [{**call("pay", amount=5), "error": "declined"}]
    shown = evaluate([call("pay", amount=5)], failed)
    assert shown.required_call_recall == 0.0
    assert shown.to_dict()["pairs"][0]["actual"]["is_error"] is True
    assert not evaluate([call("pay", amount=5)], failed, {"required_call_recall": 1}).passed


def test_an_unexpected_call_beside_right_ones() -> None:
    """A `delete_all` beside ten right calls is visible, and fails where it is forbidden."""
    wanted = [call(f"t{number}") for number in range(10)]
    result = evaluate(wanted, [*wanted, call("delete_all")])
    assert [extra.name for extra in result.unexpected_calls] == ["delete_all"]
    assert not evaluate(wanted, [*wanted, call("delete_all")], forbidden=["delete_all"]).passed


def test_two_calls_swapped() -> None:
    """The wrong order takes all that the sequence is worth, and the pairs show both positions."""
    result = evaluate([call("a"), call("b")], [call("b"), call("a")])
    assert result.sequence_accuracy == 0.0
    assert [pair.actual.position for pair in result.pairs] == [1, 0]


@pytest.mark.parametrize("size", [12, 13, 40])
def test_permuted_calls_of_one_tool_with_one_more(size: int) -> None:
    """Pairing is exact at every size: one call more than expected takes nothing from the arguments."""
    wanted = [call("t", x=number, y=number // 2) for number in range(size)]
    made = [call("t", x=size, y=0), *reversed(wanted)]
    assert evaluate(wanted, made).argument_f1 == 1.0


def test_two_thousand_expected_calls_and_one_made() -> None:
    """It is evaluated, without recursion."""
    wanted = [call("t", x=number) for number in range(2_000)]
    result = evaluate(wanted, [call("t", x=1_999)])
    assert result.pairs[0].is_exact
    assert len(result.missing_calls) == 1_999


def test_the_same_call_expected_and_made_twice() -> None:
    """It is a full match."""
    assert evaluate([call("t", x=1)] * 2, [call("t", x=1)] * 2).score == 1.0


@pytest.mark.parametrize(
    ("one", "other"),
    [("1", 1), ("None", None), ("True", True), (True, 1), (False, 0), (2**53, 2**53 + 1), (float(2**53), 2**53 + 1)],
    ids=repr,
)
@pytest.mark.parametrize("strict", [False, True])
def test_values_that_are_not_the_same(one: Any, other: Any, strict: bool) -> None:
    """Nothing is compared by its text, no bool is a number, and numbers are exact."""
    for wanted, made in ((one, other), (other, one)):
        assert evaluate([call("t", x=wanted)], [call("t", x=made)], strict=strict).argument_f1 == 0.0
        assert evaluate([call("t", x=[wanted])], [call("t", x=[made])], strict=strict).argument_f1 == 0.0


@pytest.mark.parametrize(
    ("one", "other"),
    [(10, 10.0), ({"a": 1, "b": [2]}, {"b": [2.0], "a": 1.0}), (10**400, 10**400), ({"k": " x "}, {"k": "x"})],
    ids=["number", "nested", "huge", "text"],
)
def test_values_that_are_the_same_by_value(one: Any, other: Any) -> None:
    """Numbers count by value at every depth, keys in any order, and a huge number raises nothing."""
    assert evaluate([call("t", x=one)], [call("t", x=other)]).score == 1.0
    assert evaluate([call("t", x=10**400)], [call("t", x=0.5)]).argument_f1 == 0.0


def test_one_of_numbers_and_a_bool() -> None:
    """`OneOf(1, 2)` does not match `True`."""
    for strict in (False, True):
        assert evaluate([call("t", x=OneOf(1, 2))], [call("t", x=True)], strict=strict).argument_f1 == 0.0


def test_an_extra_argument_that_was_made_up() -> None:
    """It lowers the score, and the difference names it."""
    result = evaluate([call("t", x=1)], [call("t", x=1, made_up=2)])
    assert result.argument_f1 == pytest.approx(2 / 3)
    assert "made_up" in str(result.pairs[0].differences[0])


def test_a_call_that_omits_all_arguments() -> None:
    """A call is not right because nothing in it is wrong."""
    result = evaluate([call("t", x=1, y=2)], [call("t")])
    assert result.argument_f1 == 0.0
    assert len(result.pairs[0].differences) == 2


def test_malformed_arguments_and_none() -> None:
    """Arguments that can't be read are not ``{}``, and the raw text is kept; null and an empty text are ``{}``."""
    malformed = evaluate([call("t")], [{"tool": "t", "args": '{"x": '}])
    assert malformed.argument_f1 == 0.0
    assert malformed.to_dict()["pairs"][0]["actual"]["raw_args"] == '{"x": '
    assert evaluate([call("t")], [{"tool": "t", "args": None}]).score == 1.0
    assert evaluate([call("t")], [{"tool": "t", "args": ""}]).score == 1.0


def test_a_clean_run_and_bans_alone() -> None:
    """A run without calls is a valid run, and where only bans are given it scores 1.0."""
    result = evaluate([], [], forbidden=["delete_all"])
    assert (result.score, result.passed) == (1.0, True)


def test_a_ban_on_a_command_over_two_lines() -> None:
    """`Contains` is not slipped past by a line break, and no further argument slips past a ban."""
    ban = [call("sh", command=Contains("rm -rf"))]
    assert not evaluate([], [call("sh", command="cd /\nrm -rf *", cwd="/")], forbidden=ban).passed
    assert not evaluate([], [call("sh", command="rm -rf")], forbidden=[call("sh", command=Regex("rm.*"))]).passed


def test_an_argument_called_tool() -> None:
    """A tool's own arguments may have any names."""
    assert evaluate([call("t", args=1, self=2, result=3)], [call("t", args=1, self=2, result=3)]).passed
    wanted = [{"tool": "t", "args": {"tool": "x"}}]
    assert evaluate(wanted, wanted).score == 1.0


def test_weights_say_what_they_come_to() -> None:
    """A single weight joins the others, and the result shows each one's share."""
    result = evaluate([call("t")], [call("t")], {"argument_f1": 1})
    assert result.weights["argument_f1"] == pytest.approx(1 / 1.7)


@pytest.mark.parametrize("size", range(1, 12))
def test_a_perfect_match_scores_1(size: int) -> None:
    """Exactly, at every size."""
    wanted = [call(f"t{number % 3}", x=number) for number in range(size)]
    assert evaluate(wanted, wanted).score == 1.0
