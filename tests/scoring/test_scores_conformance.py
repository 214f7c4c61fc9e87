"""Every case of the shared conformance file: the five metrics and the score are what SEMANTICS.md says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tracewitness.scoring import evaluate

CASES = json.loads((Path(__file__).parents[1] / "conformance" / "scores.json").read_text("utf-8"))["cases"]
CLOSE = 1e-9


@pytest.mark.parametrize("case", [pytest.param(case, id=case["id"]) for case in CASES if "score" in case])
def test_score(case: dict[str, Any]) -> None:
    """Metrics and score are as the case says; a score of 1.0 is exact."""
    result = evaluate(case["expected"], case["actual"], case.get("weights"), case.get("strict", False))
    measured = {metric: getattr(result, metric) for metric in case["metrics"]}
    assert measured == pytest.approx(case["metrics"], abs=CLOSE), case["why"]
    assert result.score == pytest.approx(case["score"], abs=CLOSE), case["why"]
    assert (result.score == 1.0) is (case["score"] == 1.0)


@pytest.mark.parametrize("case", [pytest.param(case, id=case["id"]) for case in CASES if "error" in case])
def test_error(case: dict[str, Any]) -> None:
    """What can't be evaluated is refused, and the message names the key."""
    assert case["error"] == "ValueError"
    with pytest.raises(ValueError) as raised:
        evaluate(case["expected"], case["actual"], case.get("weights"), case.get("strict", False))
    assert (case["names"] or "weight") in str(raised.value)


def test_there_are_cases() -> None:
    """The file is really read: ids are unique, and scores and errors both occur."""
    assert len({case["id"] for case in CASES}) == len(CASES) > 50
    assert sum("error" in case for case in CASES) >= 3
