"""Every case of the shared conformance file holds: value comparison is what SEMANTICS.md says it is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tracewitness.matching import differences, matches

CASES = json.loads((Path(__file__).parents[1] / "conformance" / "values.json").read_text("utf-8"))["cases"]


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_case(case: dict[str, Any]) -> None:
    """A value matches, or not, as the case says, and the differences agree."""
    arguments = case["expected"], case["actual"], case["policy"]
    assert matches(*arguments) is case["match"], case["why"]
    assert (differences(*arguments) == []) is case["match"], case["why"]


def test_there_are_cases() -> None:
    """The file is really read: ids are unique, and both answers occur under each policy."""
    assert len({case["id"] for case in CASES}) == len(CASES) > 200
    answers = {(case["policy"], case["match"]) for case in CASES}
    assert len(answers) == 6
