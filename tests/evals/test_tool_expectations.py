"""Folding checks into a result beyond the conformance file: entries, malformed checks, and the caller's data."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tracewitness.errors import UsageError
from tracewitness.evals import apply_to_result, evaluate_case
from tracewitness.expectations import ToolCalled, parse_operator
from tracewitness.matching import Satisfies
from tracewitness.trace import Trace

_CALLED = {"type": "tool_called", "tool": "pay"}
_JUDGED = {"expectation": "polite", "status": "Met", "justification": "It was."}


def _row(**fields: Any) -> dict[str, Any]:
    row = {
        "name": "case",
        "passed": True,
        "expectations": "1/1",
        "expectation_details": [dict(_JUDGED)],
        "detailed_trace": ["User: x", "Tool Call: pay with args {'amount': 5.0}\nAgent Text: Paid"],
    }
    return {**row, **fields}


def _apply(row: dict[str, Any], *checks: Any, **case: Any) -> list[dict[str, Any]]:
    """Apply checks, and return the own entries."""
    apply_to_result({"name": "case", "tool_expectations": list(checks), **case}, row)
    return [entry for entry in row["expectation_details"] if "operator" in entry]


def test_an_entry_begins_with_operator_and_tool() -> None:
    """Reports group on the beginning of the text, so that it names the check, and what else it says comes after."""
    row = _row()
    entry, parsed = _apply(row, {**_CALLED, "args": {"amount": 5}, "name": "paid in full"})
    assert list(entry) == ["operator", "expectation", "status", "justification"]
    assert entry["operator"] == "tool_called"
    assert entry["expectation"] == "[tool] tool_called pay: paid in full args={'amount': 5}"
    assert parsed["expectation"] == "[tool] trace_parsed"


def test_the_judged_entries_come_first_and_stay() -> None:
    """What the judge wrote is not touched."""
    row = _row()
    _apply(row, _CALLED)
    assert row["expectation_details"][0] == _JUDGED


def test_a_failed_entry_says_why_and_what_came_nearest() -> None:
    """The justification has the nearest call, and the author's reason."""
    entry, _ = _apply(_row(), {**_CALLED, "args": {"amount": 7}, "reason": "the whole price"})
    assert entry["status"] == "Not Met"
    assert "args.amount: expected 7, got 5.0" in entry["justification"]
    assert "the whole price" in entry["justification"]


def test_entries_say_when_the_trace_is_text_alone() -> None:
    """A reader can tell that an agent's words could have forged the call; spans that agree take it back."""
    alone, _ = _apply(_row(), _CALLED)
    span = {"name": "Tool", "attributes": {"name": "pay", "args": {"amount": 5}}}
    turns = [{"turn_index": 0, "root_span": {"childSpans": [span]}}]
    vouched, _ = _apply(_row(turn_traces=turns), _CALLED)
    assert "text alone" in alone["justification"]
    assert "text alone" not in vouched["justification"]


_MALFORMED = {
    "unknown operator": ({"type": "tool_caled", "tool": "pay"}, "[tool] tool_caled pay", "tool_called was meant"),
    "unknown field": ({**_CALLED, "arg": {}}, "[tool] tool_called pay", "args was meant"),
    "missing field": ({"type": "tool_called"}, "[tool] tool_called", "missing field tool"),
    "wrong type": ({**_CALLED, "min": "2"}, "[tool] tool_called pay", "expected a whole number"),
    "unknown matcher": ({**_CALLED, "args": {"q": {"$regx": "x"}}}, "[tool] tool_called pay", "regex"),
    "no type": ({"tool": "pay"}, "[tool] malformed pay", "missing field type"),
    "empty type": ({"type": "", "tool": "pay"}, "[tool] malformed pay", "unknown operator"),
    "no mapping": ("tool_called", "[tool] malformed", "expected a mapping"),
    "type no text": ({"type": ["x"], "tool": 5}, "[tool] malformed", "name of an operator"),
}


@pytest.mark.parametrize(("check", "text", "reason"), _MALFORMED.values(), ids=_MALFORMED.keys())
def test_a_malformed_check_is_not_met_in_its_place(check: Any, text: str, reason: str) -> None:
    """It says what is wrong, the checks beside it are evaluated, and the case has not passed."""
    row = _row()
    entries = _apply(row, _CALLED, check, _CALLED)
    assert [entry["status"] for entry in entries] == ["Met", "Not Met", "Met", "Met"]
    assert entries[1]["expectation"] == text
    assert reason in entries[1]["justification"]
    assert "$[1]" in entries[1]["justification"]
    assert row["passed"] is False


@pytest.mark.parametrize("checks", [{}, {"type": "tool_called"}, "tool_called", 0, False, 5])
def test_checks_that_are_no_list_are_not_met(checks: Any) -> None:
    """Only an absent, null or empty list means that there are none."""
    row = _row()
    apply_to_result({"tool_expectations": checks}, row)
    assert (row["passed"], row["tool_checks"]) == (False, "1/2")
    assert "a list" in row["expectation_details"][1]["justification"]


@pytest.mark.parametrize("aliases", [["pay"], {"pay": "settle"}, {"pay": [5]}, 5])
def test_malformed_aliases_are_not_met(aliases: Any) -> None:
    """Aliases that can't be used would make checks fail, or hold, for the wrong reason."""
    row = _row()
    entries = _apply(row, _CALLED, aliases=aliases)
    assert [entry["operator"] for entry in entries] == ["tool_called", "aliases", "trace_parsed"]
    assert row["passed"] is False


def test_aliases_of_the_case_count() -> None:
    """A suite's other names of a tool stand in the case."""
    row = _row()
    _apply(row, {"type": "tool_called", "tool": "settle"}, aliases={"settle": ["pay"]})
    assert row["passed"] is True


def test_operators_made_in_python_count_too() -> None:
    """A check may be an operator already, beside mappings."""
    entries = _apply(_row(), ToolCalled(tool="pay"), _CALLED)
    assert [entry["status"] for entry in entries] == ["Met", "Met", "Met"]


def test_a_matcher_that_files_lack_is_left_out_of_the_text() -> None:
    """The entry still names operator and tool."""
    operator = ToolCalled(tool="pay", args={"amount": Satisfies(lambda amount: amount > 4)})
    entry, _ = _apply(_row(), operator)
    assert (entry["expectation"], entry["status"]) == ("[tool] tool_called pay", "Met")


def test_a_listed_trace_parsed_is_not_added_again() -> None:
    """It stands where it was listed."""
    entries = _apply(_row(), {"type": "trace_parsed"}, _CALLED)
    assert [entry["operator"] for entry in entries] == ["trace_parsed", "tool_called"]


def test_the_verdicts_are_returned_in_order() -> None:
    """One for each entry; what is malformed has the status `error`."""
    verdicts = apply_to_result({"tool_expectations": [_CALLED, "oops", {"type": "last_tool", "tool": "x"}]}, _row())
    assert [verdict.status for verdict in verdicts] == ["held", "error", "broken", "held"]


def test_evaluate_case_checks_any_trace() -> None:
    """The same path serves traces that were read elsewhere."""
    trace = Trace.from_events([{"call": "pay"}])
    assert [verdict.held for verdict in evaluate_case({"tool_expectations": [_CALLED]}, trace)] == [True, True]
    assert [verdict.operator for verdict in evaluate_case({}, trace)] == ["trace_parsed"]


@pytest.mark.parametrize(
    ("case", "row"),
    [
        ("case", _row()),
        ({"tool_expectations": [_CALLED]}, [1]),
        ({"tool_expectations": [_CALLED]}, _row(expectation_details={"x": 1})),
        ({"tool_expectations": [_CALLED]}, _row(expectation_details="polite")),
    ],
)
def test_arguments_of_the_wrong_kind_change_nothing(case: Any, row: Any) -> None:
    """The error is raised before the result is touched."""
    before = copy.deepcopy(row)
    with pytest.raises(UsageError):
        apply_to_result(case, row)
    assert row == before


@pytest.mark.parametrize("passed", ["true", 1, "false", None, "yes"])
def test_only_true_is_a_passed_judgement(passed: Any) -> None:
    """A verdict that is no bool is not taken for one."""
    row = _row(passed=passed)
    _apply(row, _CALLED)
    assert (row["passed"], row["judge_passed"]) == (False, False)


def test_judged_entries_of_any_kind_are_counted() -> None:
    """An entry that is no mapping stays, and is not met."""
    row = _row(expectation_details=["odd", dict(_JUDGED), {"status": 5}])
    _apply(row, _CALLED)
    assert row["expectation_details"][:3] == ["odd", _JUDGED, {"status": 5}]
    assert row["expectations"] == "3/5"


@pytest.mark.parametrize("details", [None, []])
def test_a_result_without_judged_entries_gains_its_own(details: Any) -> None:
    """Absent, null or empty, the list is made."""
    row = _row(expectation_details=details)
    assert len(_apply(row, _CALLED)) == 2
    del row["expectation_details"]
    assert len(_apply(row, _CALLED)) == 2


@pytest.mark.parametrize(
    "entry", [{"operator": "x", "expectation": 5}, {"operator": 5, "expectation": "[tool] x"}, {"operator": "x"}]
)
def test_an_entry_that_only_looks_like_an_own_one_stays(entry: dict[str, Any]) -> None:
    """Both the operator and the beginning of the text must be there."""
    row = _row(expectation_details=[entry])
    apply_to_result({"tool_expectations": [_CALLED]}, row)
    assert row["expectation_details"][0] == entry


@pytest.mark.parametrize(
    "left", [{"tool_checks": "1/1"}, {"expectation_details": [{"operator": "x", "expectation": "[tool] x"}]}]
)
def test_whatever_is_left_of_an_application_is_taken_away(left: dict[str, Any]) -> None:
    """Also where somebody has replaced the list, or the count, since."""
    row = _row(judge_passed=True, passed=False, **left)
    assert apply_to_result({}, row) == []
    assert row["passed"] is True
    assert "tool_checks" not in row
    assert all("operator" not in entry for entry in row["expectation_details"])


def test_entries_can_be_written_to_any_file() -> None:
    """Whatever stands in the trace, the entries are printable text."""
    row = _row(
        detailed_trace=["User: x", "Tool Call: pay\x1b[2J\ud800 with args {'n': '\\ud800\\x1b'}\nTool Call: \u202e"]
    )
    for entry in _apply(row, {"type": "tool_called", "tool": "pay\x1b[2J\u202e", "args": {"n": "\x1b"}}, "\x1b\ud800"):
        assert all(value.isprintable() for value in entry.values())
        json.dumps(entry, ensure_ascii=False).encode()


_CHECKS = st.lists(
    st.sampled_from(
        [
            _CALLED,
            {"type": "tool_not_called", "tool": "pay"},
            {"type": "end_session"},
            {"type": "tool_caled"},
            parse_operator({"type": "max_calls", "max": 1}),
            "oops",
        ]
    ),
    max_size=4,
)
_DETAILS = st.lists(
    st.sampled_from([_JUDGED, {**_JUDGED, "status": "Not Met"}, {"expectation": "[tool] x", "status": "Met"}]),
    max_size=3,
)


@settings(deadline=None)
@given(_CHECKS, _CHECKS, _DETAILS, st.booleans())
def test_applying_obeys_its_laws(first: list[Any], second: list[Any], details: list[Any], passed: bool) -> None:
    """Twice is once; what came between leaves no trace; and taking the checks away gives everything back."""
    row = _row(expectation_details=copy.deepcopy(details), passed=passed)
    original = copy.deepcopy(row)
    once = copy.deepcopy(row)
    apply_to_result({"tool_expectations": second}, once)
    twice = copy.deepcopy(once)
    apply_to_result({"tool_expectations": second}, twice)
    assert twice == once

    apply_to_result({"tool_expectations": first}, row)
    apply_to_result({"tool_expectations": second}, row)
    if second:
        assert row == once
    apply_to_result({}, row)
    assert row["expectation_details"] == original["expectation_details"]
    assert row["passed"] is passed
    assert "tool_checks" not in row


@settings(deadline=None)
@given(_CHECKS.filter(bool), _DETAILS, st.booleans())
def test_passed_is_the_judge_and_every_check(checks: list[Any], details: list[Any], passed: bool) -> None:
    """The counts are those of the list, and nothing that is not met lets a row pass."""
    row = _row(expectation_details=copy.deepcopy(details), passed=passed)
    verdicts = apply_to_result({"tool_expectations": checks}, row)
    assert row["passed"] is (passed and all(verdict.held for verdict in verdicts))
    met = [entry for entry in row["expectation_details"] if entry["status"] == "Met"]
    assert row["expectations"] == f"{len(met)}/{len(details) + len(verdicts)}"
    assert row["tool_checks"] == f"{sum(verdict.held for verdict in verdicts)}/{len(verdicts)}"
