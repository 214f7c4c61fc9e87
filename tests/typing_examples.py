"""How the library is typed, checked by mypy and never run: a change of a public type shows here."""

from __future__ import annotations

from typing import assert_type

from tracewitness import (
    ANY,
    CheckSet,
    Difference,
    Not,
    OneOf,
    Regex,
    ToolCall,
    Trace,
    Verdict,
    apply_to_result,
    check,
    compile_checks,
    differences,
    load_suite,
    matches,
)
from tracewitness.expectations import Marker, ToolCalled, ToolNotCalled
from tracewitness.suites import Case
from tracewitness.verdict import NearMiss


def traces() -> None:
    """A trace gives typed events."""
    trace = Trace.from_events([{"call": "search"}], name="run-1")
    assert_type(trace, Trace)
    assert_type(trace.calls, tuple[ToolCall, ...])
    assert_type(trace.calls[0].name, str)


def checks() -> None:
    """Checks are mappings or operators, and give verdicts."""
    trace = Trace.from_events([])
    operators = [
        ToolCalled("search", args={"city": ANY, "cabin": OneOf("economy", "business")}, min=2, name="searched"),
        ToolNotCalled("book", before=Marker("search", result={"id": Regex(r"F\d+") & Not("F0")})),
    ]
    assert_type(check(trace, operators), list[Verdict])
    assert_type(compile_checks([{"type": "end_session"}]), CheckSet)
    verdict = compile_checks(operators).check(trace)[0]
    assert_type(verdict.near_miss, NearMiss | None)
    assert_type(verdict.evidence, tuple[int, ...])


def values() -> None:
    """Values match or differ."""
    assert_type(matches({"a": 1}, {"a": 1}, policy="strict"), bool)
    assert_type(differences(1, 2), list[Difference])


def files() -> None:
    """Eval files give cases; rows of results are changed in place."""
    suite = load_suite("orders.evals.yaml")
    assert_type(suite.cases, tuple[Case, ...])
    row: dict[str, object] = {"passed": True}
    assert_type(apply_to_result(suite.cases[0].to_mapping(), row), list[Verdict])
