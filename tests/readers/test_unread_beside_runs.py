"""What stands beside the runs of a document and looks like a recording: it is not passed over."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from tracewitness.readers import read_all

CALL = {"id": "c9", "type": "function", "function": {"name": "act", "arguments": "{}"}}
ANSWER = {"choices": [{"message": {"role": "assistant", "content": None, "tool_calls": [CALL]}}]}
SPAN = {
    "traceId": "1",
    "spanId": "2",
    "name": "execute_tool search",
    "startTimeUnixNano": "1",
    "attributes": [
        {"key": "gen_ai.operation.name", "value": {"stringValue": "execute_tool"}},
        {"key": "gen_ai.tool.name", "value": {"stringValue": "search"}},
        {"key": "gen_ai.tool.call.arguments", "value": {"stringValue": "{}"}},
    ],
}
PART = {"functionCall": {"name": "search", "args": {}}}
TURN = {
    "invocation_id": "i",
    "user_content": {"parts": [{"text": "hi"}]},
    "intermediate_data": {"tool_uses": [{"name": "search", "args": {}}]},
}
MESSAGE = {"role": "assistant", "content": "", "tool_calls": [{"id": "c1", "name": "search", "arguments": {}}]}
LINE = {"type": "assistant", "uuid": "u", "parentUuid": None, "isSidechain": False}
USE = {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "search", "input": {}}]}

DOCUMENTS: dict[str, tuple[dict[str, Any], int]] = {
    "spans": ({"resourceSpans": [{"scopeSpans": [{"spans": [SPAN]}]}]}, 1),
    "spans of two runs": (
        {"resourceSpans": [{"scopeSpans": [{"spans": [SPAN, {**SPAN, "traceId": "5"}]}]}]},
        2,
    ),
    "an evaluation set": (
        {"eval_set_id": "s", "eval_cases": [{"eval_id": name, "conversation": [TURN]} for name in "ab"]},
        2,
    ),
    "simulations": (
        {
            "tasks": [],
            "info": {},
            "simulations": [{"id": name, "task_id": "1", "messages": [MESSAGE]} for name in "ab"],
        },
        2,
    ),
    "sessions": ({"messages": [{**LINE, "uuid": name, "sessionId": name, "message": USE} for name in "ab"]}, 2),
    "threads": (
        {
            "threads": [
                {"thread_id": name, "values": [{"messages": [{"type": "human", "content": "hi"}]}]} for name in "ab"
            ]
        },
        2,
    ),
}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_an_answer_beside_the_runs(name: str) -> None:
    """It may belong to any of them, so each has the problem."""
    document, count = DOCUMENTS[name]
    plain = list(read_all(copy.deepcopy(document)))
    assert len(plain) == count
    beside = list(read_all({**copy.deepcopy(document), "response": copy.deepcopy(ANSWER)}))
    assert [trace.to_events() for trace in beside] == [trace.to_events() for trace in plain]
    for trace, alone in zip(beside, plain, strict=True):
        (problem,) = [problem for problem in trace.problems if problem not in alone.problems]
        assert (problem.place, problem.hides_call) == ("$.response", True)


@pytest.mark.parametrize("name", DOCUMENTS)
@pytest.mark.parametrize("beside", [{"metadata": ANSWER}, {"note": "x"}, {"response": {}}, {"scores": [{"value": 1}]}])
def test_what_is_no_recording_beside_the_runs(name: str, beside: dict[str, Any]) -> None:
    """It is no problem."""
    document, _ = DOCUMENTS[name]
    before = [trace.problems for trace in read_all(document)]
    assert [trace.problems for trace in read_all({**document, **beside})] == before


def test_calls_that_the_runs_have_too() -> None:
    """The history with which a simulation began stands in its task as well."""
    document = {**DOCUMENTS["simulations"][0], "tasks": [{"id": "1", "initial_state": {"message_history": [MESSAGE]}}]}
    assert [trace.problems for trace in read_all(document)] == [(), ()]
    other = {**MESSAGE, "tool_calls": [{"id": "c7", "name": "search", "arguments": {}}]}
    document["tasks"] = [{"id": "1", "initial_state": {"message_history": [other]}}]
    assert [[problem.place for problem in trace.problems] for trace in read_all(document)] == [["$.tasks"]] * 2
