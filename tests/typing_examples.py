"""How the library is typed, checked by mypy and never run: a change of a public type shows here."""

from __future__ import annotations

from typing import assert_type

from tracewitness import (
    ANY,
    CheckSet,
    Difference,
    EvaluationResult,
    Expectation,
    ExpectedCall,
    Not,
    OneOf,
    Regex,
    RepeatedResult,
    ToolCall,
    ToolScoreAssertionError,
    Trace,
    Verdict,
    apply_to_result,
    assert_tools,
    check,
    compile_checks,
    differences,
    evaluate,
    expect,
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


def contracts() -> None:
    """A contract is built in one expression; what ends it gives a result."""
    contract = (
        expect(lambda prompt: [{"tool": prompt}])
        .on("hi")
        .calls("search", city=ANY)
        .then_calls("book", flight=Regex(r"FL-\d+"))
        .not_before("book", {"tool": "search", "result": {}})
        .followed_by("search", "book", flight=ANY)
        .at_most("search", 2)
        .check({"type": "max_errors", "max": 0})
        .with_score(0.9)
        .with_weights(argument_f1=2)
    )
    assert_type(contract, Expectation)
    assert_type(contract.run(), EvaluationResult)
    assert_type(contract.repeat(10, at_least=9).run(), RepeatedResult)
    assert_type(contract.to_yaml("books"), str)


async def async_contracts() -> None:
    """What is awaited gives the same."""
    contract = expect([]).no_calls()
    assert_type(await contract.run_async(), EvaluationResult)
    assert_type(await contract.repeat(10, concurrency=5).run_async(), RepeatedResult)


def scores() -> None:
    """Expected calls are mappings or `ExpectedCall`; actual ones a trace, mappings or calls."""
    made = [{"tool": "search", "args": {"city": "NYC"}}]
    result = evaluate([ExpectedCall("search", {"city": ANY})], made, {"argument_f1": 1}, forbidden=["delete"])
    assert_type(result, EvaluationResult)
    assert_type(result.missing_calls, tuple[ExpectedCall, ...])
    assert_type(result.unexpected_calls, tuple[ToolCall, ...])
    assert_type(assert_tools(made, Trace.from_events([]), 0.9), EvaluationResult)
    try:
        assert_tools(made, made)
    except ToolScoreAssertionError as error:
        assert_type(error.result, EvaluationResult)
        assert_type(error.repeated, RepeatedResult | None)


def files() -> None:
    """Eval files give cases; rows of results are changed in place."""
    suite = load_suite("orders.evals.yaml")
    assert_type(suite.cases, tuple[Case, ...])
    row: dict[str, object] = {"passed": True}
    assert_type(apply_to_result(suite.cases[0].to_mapping(), row), list[Verdict])
