"""Results that have both an id and a name: the id decides, and a name that speaks against it is a problem."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tracewitness.readers import read


def _history(calls: list[tuple[str, str]], results: list[tuple[str, str | None]]) -> list[Any]:
    told = [{"id": i, "type": "function", "function": {"name": name, "arguments": "{}"}} for i, name in calls]
    answers = [{"role": "tool", "tool_call_id": i, "content": f"of {name}", "name": name} for i, name in results]
    return [{"role": "user", "content": "hi"}, {"role": "assistant", "content": None, "tool_calls": told}, *answers]


@pytest.mark.parametrize("encoded", [False, True])
@pytest.mark.parametrize(
    ("calls", "results", "count"),
    [
        ([("a", "f"), ("a", "g")], [("a", "f"), ("a", "g")], 2),
        ([("a", "f"), ("a", "g")], [("a", "g"), ("a", "f")], 0),
        ([("a", "f"), ("b", "g")], [("a", "g"), ("b", "g")], 1),
        ([("a", "f"), ("b", "g")], [("b", "g"), ("a", "f")], 0),
        ([("a", "f")], [("a", "mcp__shop__f")], 0),
        ([("a", "mcp__shop__f")], [("a", "f")], 0),
        ([("a", "functions.f")], [("a", "f")], 0),
        ([("a", "projects/p/tools/f")], [("a", "f")], 0),
        ([("a", "f")], [("a", "projects/p/tools/5f2c")], 0),
        ([("a", "projects/p/tools/5f2d")], [("a", "projects/p/tools/5f2c")], 1),
        ([("a", "mcp__shop__f")], [("a", "mcp__shop__g")], 1),
        ([("a", "f")], [("a", "")], 0),
        ([("a", "f")], [("a", None)], 0),
        ([("", "f")], [("", "f")], 0),
    ],
)
def test_a_name_that_is_not_that_of_the_call(calls: Any, results: Any, count: int, encoded: bool) -> None:
    """Pairing goes by ids all the same."""
    document = _history(calls, results)
    trace = read(json.dumps(document) if encoded else document)
    doubts = [problem for problem in trace.problems if "which is that of a call to" in problem.reason]
    assert [problem.hides_call for problem in doubts] == [False] * count
    assert len(trace.problems) == count


def test_an_id_that_is_used_again_for_another_tool() -> None:
    """Each result has the name of the call that was unanswered then."""
    document = _history([("a", "f")], [("a", "f")]) + _history([("a", "g")], [("a", "g")])
    for source in (document, json.dumps(document)):
        trace = read(source)
        assert [call.result for call in trace.calls] == ["of f", "of g"]
        assert trace.problems == ()


def test_other_formats() -> None:
    """Gemini's results have names and may have ids."""
    call, result = {"name": "f", "id": "1"}, {"name": "g", "id": "1", "response": {}}
    trace = read([{"role": "model", "parts": [{"functionCall": call}]}, {"parts": [{"functionResponse": result}]}])
    assert len(trace.problems) == 1
