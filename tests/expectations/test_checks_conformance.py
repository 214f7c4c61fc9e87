"""Every case of the conformance file: one check on one trace."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tracewitness.errors import ExpectationError
from tracewitness.expectations import compile_checks, parse_operator
from tracewitness.trace import Trace

CASES = json.loads((Path(__file__).parent.parent / "conformance" / "checks.json").read_text("utf-8"))["cases"]


@pytest.mark.parametrize("case", [pytest.param(case, id=case["id"]) for case in CASES])
def test_verdict(case: dict[str, Any]) -> None:
    """A check gives the verdict of the file; one that is malformed is refused when it is loaded."""
    if case["verdict"] == "load_error":
        with pytest.raises(ExpectationError) as raised:
            compile_checks([case["check"]], case.get("aliases"))
        assert str(raised.value)
        return
    trace = Trace.from_events(case["trace"])
    verdict = compile_checks([case["check"]], case.get("aliases")).check(trace)[0]
    assert verdict.status == case["verdict"], verdict.explain()
    assert verdict.explain().isprintable()
    assert all(0 <= position < len(trace) for position in verdict.evidence)


@pytest.mark.parametrize(
    "case", [pytest.param(case, id=case["id"]) for case in CASES if case["verdict"] != "load_error"]
)
def test_operators_survive_being_written(case: dict[str, Any]) -> None:
    """An operator written as a mapping and read again is the same operator."""
    operator = parse_operator(case["check"])
    assert parse_operator(operator.to_mapping()) == operator


@pytest.mark.parametrize(
    "case", [pytest.param(case, id=case["id"]) for case in CASES if case["verdict"] != "load_error"]
)
def test_live_verdicts_agree(case: dict[str, Any]) -> None:
    """The monitors give the same verdict when the events come one by one."""
    if not case["trace"]:
        return  # an empty recording is no evidence; a live trace that has only begun is not judged so
    live = compile_checks([case["check"]], case.get("aliases")).watch()
    for event in case["trace"]:
        live.feed(event)
        live.verdicts()
    assert live.verdicts()[0].status == case["verdict"]
