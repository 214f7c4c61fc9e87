"""What is written as ATIF fits the models that are published for the format, and theirs is read."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tracewitness.readers import read, read_all
from tracewitness.readers.frameworks.atif_writing import atif_of
from tracewitness.trace import Trace

atif = pytest.importorskip("atif", reason="atif is not installed")

_CALL = {"call": "a", "args": {"n": 1}, "id": "c1", "by": "scout", "at": "2026-01-01T00:00:00Z", "until": 9.5}
_TRACES: list[list[Any]] = [
    [],
    [{"user": "hi", "at": 5}, {"agent": "", "by": "scout"}, {"system": "brief"}],
    [_CALL, _CALL, {"result": {"n": [1.5, None]}, "id": "c1", "is_error": True}, {"result": "x", "id": "c1"}],
    [{"agent": "one"}, _CALL, {"user": "wait"}, {"result": "late", "id": "c1"}, {"result": "of nothing", "id": "q"}],
    [{"call": "a", "raw_args": "{"}, {"call": "b", "args": [1], "metadata": {"x": 1}}, {"raw_result": "{", "of": "b"}],
    [{"transfer": "billing", "at": "yesterday"}, {"end": True}, {"x": 1}, 5],
]


@pytest.mark.parametrize("events", _TRACES)
def test_what_is_written_is_valid(events: list[Any]) -> None:
    """Steps are numbered, ids are unique, and a result names a call of its own step."""
    atif.Trajectory.model_validate(atif_of(Trace.from_events(events, name="order-1")))


def test_an_object_is_read_as_what_it_dumps_to() -> None:
    """So are several lines of JSON."""
    call = {"tool_call_id": "a", "function_name": "x", "arguments": {"n": 1}}
    made = atif.Trajectory(
        schema_version="ATIF-v1.8",
        agent={"name": "scout", "version": "1"},
        steps=[
            {"step_id": 1, "source": "user", "message": "hi"},
            {"step_id": 2, "source": "agent", "message": "", "tool_calls": [call]},
        ],
    )
    events = [{"user": "hi"}, {"call": "x", "args": {"n": 1}, "id": "a", "by": "scout"}]
    assert read(made).to_events() == events
    lines = "\n".join(json.dumps(made.to_json_dict()) for _ in range(2))
    assert [trace.to_events() for trace in read_all(lines)] == [events, events]
