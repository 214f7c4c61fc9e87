"""Spans of one tool in one another: one call that several instrumentations tell of, or a tool that runs itself."""

from __future__ import annotations

from typing import Any

import pytest
from test_telemetry_spans import told, tool

from tracewitness.readers import read

ASKED = {"gen_ai.tool.call.arguments": '{"q": "lamp"}'}
FOUND = {**ASKED, "gen_ai.tool.call.result": "a lamp"}
ONE = [("call", "search", {"q": "lamp"}), ("result", "search", "a lamp")]


def _inside(*own: dict[str, Any]) -> list[dict[str, Any]]:
    """Return spans of one tool, each in the one before."""
    spans: list[dict[str, Any]] = []
    for number, fields in enumerate(own):
        parent = spans[-1]["span_id"] if spans else ""
        own_name = {"name": fields["span_name"]} if "span_name" in fields else {}
        spans.append({**tool("search", number, 20 - number, parent, **fields), **own_name})
    return spans


def _scoped(scope: str, **fields: Any) -> dict[str, Any]:
    return {"scope": {"name": scope}, "attributes": FOUND, **fields}


@pytest.mark.parametrize(
    "own",
    [
        (_scoped("a"), _scoped("b")),
        (_scoped("a", kind="SPAN_KIND_CLIENT"), _scoped("a", kind="SPAN_KIND_SERVER")),
        (_scoped("a"), _scoped("a", attributes={**FOUND, "mcp.method.name": "tools/call"})),
        (_scoped("a"), _scoped("a", span_name="search.run")),
        (_scoped("a"), _scoped("a", attributes={**FOUND, "gen_ai.tool.call.id": "c1"})),
        (_scoped("a", attributes={}), _scoped("a")),
        (_scoped("a"), _scoped("b"), _scoped("a")),
    ],
    ids=range(7),
)
def test_layers_that_differ_are_one_call(own: Any) -> None:
    """By their instrumentation, their side of a request, their name, or what they say of the call."""
    spans = _inside(*own)
    assert told(spans) == ONE
    assert read(spans).problems == ()


def test_layers_with_one_id_are_one_call() -> None:
    """Whatever else they say: a call has one id."""
    spans = _inside(*[_scoped("a", attributes={**FOUND, "gen_ai.tool.call.id": "c1"})] * 2)
    assert told(spans) == ONE
    assert read(spans).problems == ()


@pytest.mark.parametrize("count", [2, 3, 4])
@pytest.mark.parametrize("fields", [_scoped("a"), {"attributes": ASKED}, _scoped("a", kind=1)])
def test_spans_that_are_alike_may_be_calls_of_their_own(fields: dict[str, Any], count: int) -> None:
    """Nothing shows whether a tool ran itself: there is one call at least, and the others can't be ruled out."""
    spans = _inside(*[fields] * count)
    assert [name for name, *_ in told(spans)].count("call") == 1
    problems = read(spans).problems
    assert [(problem.hides_call, problem.place) for problem in problems] == [
        (True, f"$[{number}]") for number in range(1, count)
    ]


def test_a_result_that_only_one_of_them_has_makes_no_difference() -> None:
    """The outer one may have failed, or not have been told what came of it."""
    spans = _inside(_scoped("a", attributes=ASKED), _scoped("a"))
    assert [problem.hides_call for problem in read(spans).problems] == [True]


def test_more_than_layers_there_are_are_calls() -> None:
    """So deep no instrumentations lie in one another."""
    spans = _inside(*[_scoped("a")] * 5)
    assert [name for name, *_ in told(spans)].count("call") == 5
    assert read(spans).problems == ()
