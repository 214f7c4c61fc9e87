"""Every case of the conformance file about the text trace."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tracewitness.readers.text_trace import read_text_trace
from tracewitness.trace import UNANSWERED, MalformedArguments, ToolCall

_FILE = Path(__file__).parent.parent / "conformance" / "text_traces.json"
_CASES = json.loads(_FILE.read_text(encoding="utf-8"))["cases"]


def _comparable(value: Any) -> Any:
    """Tag numbers and bools, so that `True` is not `1` and `nan` is `nan`."""
    if isinstance(value, dict):
        if set(value) == {"$float"}:
            return ("number", value["$float"])
        return {key: _comparable(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_comparable(item) for item in value]
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return (type(value).__name__, value)
    return ("number", repr(value) if value != value or value in (float("inf"), float("-inf")) else value)


def _written(call: ToolCall) -> dict[str, Any]:
    written: dict[str, Any] = {"name": call.name}
    if isinstance(call.args, MalformedArguments):
        written["malformed"] = True
    else:
        written["args"] = _comparable(call.args)
    if call.result is not UNANSWERED:
        written["result"] = _comparable(call.result)
    return written


def _expected(call: dict[str, Any]) -> dict[str, Any]:
    return {key: value if key in ("name", "malformed") else _comparable(value) for key, value in call.items()}


@pytest.mark.parametrize("case", _CASES, ids=[case["id"] for case in _CASES])
def test_case(case: dict[str, Any]) -> None:
    """A result's trace has the calls and the problems that the conformance file says."""
    trace = read_text_trace(case["result"])
    if case["calls"] is not None:
        expected = [_expected(call) for call in case["calls"]]
        assert [_written(call) for call in trace.calls] == expected, case["why"]
    assert bool(trace.problems) == (case["problems"] == "some"), (case["why"], trace.problems)
