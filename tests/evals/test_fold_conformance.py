"""Every case of the conformance file about folding checks into a result."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from tracewitness.evals import apply_to_result

_FILE = Path(__file__).parent.parent / "conformance" / "fold.json"
_CASES = json.loads(_FILE.read_text(encoding="utf-8"))["cases"]


def _own_statuses(result: dict[str, Any]) -> list[str]:
    return [entry["status"] for entry in result.get("expectation_details", []) if _is_own(entry)]


def _is_own(entry: dict[str, Any]) -> bool:
    return "operator" in entry and entry["expectation"].startswith("[tool] ")


@pytest.mark.parametrize("case", _CASES, ids=[case["id"] for case in _CASES])
def test_case(case: dict[str, Any]) -> None:
    """After all applications the result is what the conformance file says."""
    result = copy.deepcopy(case["result"])
    for application in case["apply"]:
        changes = {key: value for key, value in application.items() if key != "judge_passed"}
        verdicts = apply_to_result(
            {**case["test_case"], **changes}, result, judge_passed=application.get("judge_passed")
        )
        assert (
            [entry["status"] == "Met" for entry in result["expectation_details"] if _is_own(entry)]
            == [verdict.held for verdict in verdicts]
            if verdicts
            else True
        )
    expected = dict(case["expect"])
    assert (result == case["result"]) is expected.pop("untouched")
    if "tool_statuses" in expected:
        assert _own_statuses(result) == expected.pop("tool_statuses"), case["why"]
    assert {key: result.get(key) for key in expected} == expected, case["why"]
