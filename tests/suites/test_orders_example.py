"""The shipped example: a suite with each of the nine operators, and runs that do not all do what they say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tracewitness.suites import Case, load_suite, parse_suite
from tracewitness.suites.nodes import plain_value
from tracewitness.suites.problems import Problems
from tracewitness.suites.yaml_source import build_from_yaml

ORDERS = Path(__file__).parents[2] / "examples" / "orders"
SUITE = load_suite(ORDERS / "orders.evals.yaml")
ROWS: list[dict[str, Any]] = json.loads((ORDERS / "results.json").read_text("utf-8"))
NINE = [
    "tool_called",
    "tool_not_called",
    "tool_input",
    "tool_output",
    "last_tool",
    "every_call",
    "followed_by",
    "terminal_tool",
    "end_session",
]


def case_named(name: str) -> Case:
    """Return a case of the example."""
    (case,) = SUITE.select(names=[name]).cases
    return case


def test_the_cases() -> None:
    """The example has three cases, and nothing in it gives a notice."""
    assert [case.name for case in SUITE.cases] == [
        "order-in-stock",
        "order-needs-availability-check",
        "cancel-order",
    ]
    assert SUITE.notices == ()


def test_one_case_uses_all_nine_operators() -> None:
    """After the common checks, the first case has each of the nine once."""
    own = case_named("order-in-stock").tool_expectations[len(SUITE.common_tool_expectations) :]
    assert [operator.type_name for operator in own] == NINE


def test_each_place_is_the_line_of_its_check() -> None:
    """The places of the checks point at the operators in the file."""
    lines = (ORDERS / "orders.evals.yaml").read_text("utf-8").splitlines()
    for case in SUITE.cases:
        for operator, place in zip(case.tool_expectations, case.places, strict=True):
            assert lines[place.line - 1][place.column - 1 :].startswith(f"type: {operator.type_name}")


def test_the_same_file_in_json_is_the_same_suite() -> None:
    """Written as JSON, with tabs, the example reads the same but for its places."""
    root = build_from_yaml((ORDERS / "orders.evals.yaml").read_text("utf-8"), Problems("")).root
    assert root is not None
    twin = parse_suite(json.dumps(plain_value(root), indent="\t"), source="orders.json")
    assert [case.to_mapping() for case in twin.cases] == [case.to_mapping() for case in SUITE.cases]
    assert [case.tool_expectations for case in twin.cases] == [case.tool_expectations for case in SUITE.cases]


def test_a_common_parameter_gives_way() -> None:
    """A case's own session parameter wins over the common one."""
    assert case_named("cancel-order").session_parameters == {"channel": "phone", "customer_id": "0042731"}
    assert case_named("order-in-stock").session_parameters == SUITE.common_session_parameters


def test_every_case_has_runs_and_every_run_a_case() -> None:
    """The results belong to the suite, one case having several runs."""
    names = [row["name"] for row in ROWS]
    assert set(names) == {case.name for case in SUITE.cases}
    assert names.count("order-in-stock") == 3


def test_the_judge_believed_every_agent() -> None:
    """The judge of the example passed every run, which is why the checks are there."""
    assert all(row["passed"] for row in ROWS)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: str(row["session_id"]))
def test_runs_are_held_or_broken_as_they_should_be(row: dict[str, Any]) -> None:
    """The agent that only said so and the one that ordered before it looked are found out."""
    from tracewitness.evals.tool_expectations import apply_to_result

    result = json.loads(json.dumps(row))
    apply_to_result(case_named(row["name"]).to_mapping(), result)
    assert result["passed"] is (row["session_id"] not in {"order-claimed-only", "order-without-check"})
    assert result["session_parameters"] == case_named(row["name"]).session_parameters
