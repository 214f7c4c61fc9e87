"""The monitors agree with the naive definitions on random traces, recorded and live, at every point of a trace."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import naive
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tracewitness import testing
from tracewitness.expectations import OPERATORS, compile_checks
from tracewitness.matching import Eq, matches
from tracewitness.trace import Trace

CONFORMANCE = Path(__file__).parent.parent / "conformance" / "checks.json"
CASES = [case for case in json.loads(CONFORMANCE.read_text("utf-8"))["cases"] if case["verdict"] != "load_error"]
#: Mostly none; else one that joins two tools, one of a name that only looks like a resource, one of a full name.
ALIASES = (None, None, {"order": ["search"]}, {"order": ["shop/order"]}, {"order": ["projects/q/tools/order"]})

quick = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@pytest.mark.parametrize("case", [pytest.param(case, id=case["id"]) for case in CASES])
def test_naive_definitions_conform(case: dict[str, Any]) -> None:
    """The naive definitions give the verdicts of the conformance file, so they are a measure to go by."""
    assert naive.verdict(case["check"], case["trace"], case.get("aliases")) == case["verdict"]


#: What Hypothesis found once, or what the page leaves to the reader: a check, a trace, and the verdict.
FOUND: list[tuple[str, dict[str, Any], list[Any], str]] = [
    (
        "a full name and its last part are the same tool",
        {"type": "no_duplicate_calls"},
        [{"call": "order"}, {"call": "projects/p/tools/order"}],
        "broken",
    ),
    (
        "two full names are two tools",
        {"type": "no_duplicate_calls"},
        [{"call": "projects/p/tools/order"}, {"call": "projects/q/tools/order"}],
        "held",
    ),
    (
        "an unread call may be the same as one of its last part",
        {"type": "no_duplicate_calls"},
        [{"call": "projects/p/tools/order", "args": 5}, {"call": "order"}],
        "broken",
    ),
    (
        "an unread call of another tool is none of the same",
        {"type": "no_duplicate_calls"},
        [{"call": "search", "args": 5}, {"call": "order"}],
        "held",
    ),
    (
        "one more unread call is within the budget",
        {"type": "tool_called", "tool": "order", "args": {"q": 1}, "max": 2},
        [{"call": "order", "args": {"q": 1}}, {"call": "order", "args": 5}],
        "held",
    ),
    (
        "one more unread call may be too much",
        {"type": "tool_called", "tool": "order", "args": {"q": 1}, "max": 1},
        [{"call": "order", "args": {"q": 1}}, {"call": "order", "args": 5}],
        "broken",
    ),
    (
        "metadata that is empty counts",
        {"type": "end_session", "args": {"$exactly": {}}},
        [{"call": "end_session", "args": {"q": 1}, "metadata": {}}],
        "held",
    ),
    (
        "metadata does not make up for arguments that can't be read",
        {"type": "end_session", "args": {"status": "done"}},
        [{"call": "end_session", "args": 5, "metadata": {"status": "done"}}],
        "broken",
    ),
    (
        "metadata inside and beside is merged with the arguments",
        {"type": "end_session", "args": {"a": 1, "b": 2, "c": 3}},
        [{"call": "end_session", "args": {"a": 1, "metadata": {"b": 2}}, "metadata": {"a": 0, "c": 3}}],
        "held",
    ),
    (
        "a result by name answers the call to that full name",
        {"type": "tool_output", "tool": "projects/p/tools/order", "result": 1},
        [
            {"call": "projects/q/tools/order"},
            {"call": "projects/p/tools/order"},
            {"result": 1, "of": "projects/p/tools/order"},
        ],
        "held",
    ),
    (
        "an error beside a call can't be read",
        {"type": "max_errors", "max": 0},
        [{"call": "order", "is_error": True}],
        "broken",
    ),
]


@pytest.mark.parametrize(("check", "events", "expected"), [pytest.param(*case[1:], id=case[0]) for case in FOUND])
def test_found_before(check: dict[str, Any], events: list[Any], expected: str) -> None:
    """Cases that were wrong once, or that had to be decided."""
    assert compile_checks([check]).check(Trace.from_events(events))[0].status == expected
    assert naive.verdict(check, events) == expected


SCALARS = [0, 1, 1.0, 0.1, "0.1", "1", "1.0", "1e0", "01", " 1", "true", "FALSE", True, False, None, "", "null", "*"]
SCALARS += [2**53, 2**53 + 1, float(2**53), "9007199254740993.0", 10**400, "1e400", 1e300, "1e300", -0.0, "-0"]
SCALARS += [float("inf"), float("nan")]


@pytest.mark.parametrize("value", SCALARS, ids=lambda value: repr(value)[:20])
def test_sources_compare_as_subset_does(value: Any) -> None:
    """An argument comes from a result exactly where the two scalars match by the policy of files."""
    check = {"type": "args_from", "tool": "order", "args": {"q": {"tool": "search", "path": "id"}}}
    compiled = compile_checks([check])
    for found in SCALARS:
        events = [{"call": "search"}, {"result": {"id": found}}, {"call": "order", "args": {"q": value}}]
        verdict = compiled.check(Trace.from_events(events))[0]
        assert verdict.held == matches(Eq(value), found, "subset"), found


@pytest.mark.parametrize("type_name", OPERATORS)
def test_monitors_agree(type_name: str) -> None:
    """After each event, live and recorded verdicts are those of the naive definition."""

    @quick
    @given(testing.events(), testing.checks(type_name), st.sampled_from(ALIASES))
    def agree(events: list[Any], check: dict[str, Any], aliases: dict[str, list[str]] | None) -> None:
        checks = compile_checks([check], aliases)
        live = checks.watch()
        for count, event in enumerate(events, 1):
            live.feed(event)
            verdict = live.verdicts()[0]
            assert verdict.status == naive.verdict(check, events[:count], aliases), verdict
        recorded = checks.check(Trace.from_events(events))[0]
        assert recorded.status == verdict.status, recorded

    agree()


@pytest.mark.parametrize("type_name", OPERATORS)
def test_held_and_broken_both_occur(type_name: str) -> None:
    """Of the traces and checks that are generated, enough are held and enough are broken to show something."""
    statuses: Counter[str] = Counter()

    @settings(quick, derandomize=True)
    @given(testing.events(), testing.checks(type_name))
    def count(events: list[Any], check: dict[str, Any]) -> None:
        statuses[naive.verdict(check, events)] += 1

    count()
    assert min(statuses["held"], statuses["broken"]) >= 5, statuses


@pytest.mark.parametrize("type_name", OPERATORS)
def test_recorded_prefixes_agree(type_name: str) -> None:
    """A recording that breaks off anywhere has the verdict of the naive definition on what is there."""

    @settings(quick, max_examples=30)
    @given(testing.events(), testing.checks(type_name), st.data())
    def agree(events: list[Any], check: dict[str, Any], data: st.DataObject) -> None:
        prefix = events[: data.draw(st.integers(0, len(events)))]
        verdict = compile_checks([check]).check(Trace.from_events(prefix))[0]
        assert verdict.status == naive.verdict(check, prefix), verdict

    agree()


@quick
@given(testing.events())
def test_pairing_agrees(events: list[Any]) -> None:
    """Each result answers the call that the rules of the page give it, and what answers nothing is a problem."""
    trace, reading = Trace.from_events(events), naive.read(events)
    assert [call.position for call in trace.calls] == [call.position for call in reading.calls]
    assert {call.position: call.answer and call.answer.position for call in trace.calls} == {
        call.position: call.answer and call.answer.position for call in reading.calls
    }
    assert bool(trace.problems) == reading.has_problem
    assert any(problem.hides_call for problem in trace.problems) == reading.hides_call


@quick
@given(testing.events(), st.lists(testing.checks(), min_size=1, max_size=6))
def test_no_check_raises(events: list[Any], checks: list[dict[str, Any]]) -> None:
    """Whatever a trace holds, every check has a verdict that is held or broken, with words that can be printed."""
    for verdict in compile_checks(checks).check(Trace.from_events(events)):
        assert verdict.status in ("held", "broken")
        assert verdict.explain().isprintable()
        assert verdict.to_dict()["status"] == verdict.status
