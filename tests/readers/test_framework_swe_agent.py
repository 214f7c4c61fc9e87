"""Trajectories of SWE-agent: functions that were called, actions as text, and what the history leaves out."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tracewitness.errors import ReadError
from tracewitness.readers import READERS, read, read_all
from tracewitness.readers.registry import detected


def _function(name: str, arguments: Any, call_id: str) -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def _action(action: str, **more: Any) -> dict[str, Any]:
    thought = f"I will {action}."
    item = {"role": "assistant", "content": thought, "thought": thought, "action": action, "agent": "main"}
    return {**item, "message_type": "action", **more}


def _step(action: str, observation: str, **more: Any) -> dict[str, Any]:
    thought = f"I will {action}."
    step = {"action": action, "observation": observation, "response": thought, "thought": thought, "state": {}}
    return {**step, "query": [{"role": "system", "content": "x"}], "execution_time": 0.1, **more}


_PROMPTS = [
    {"role": "system", "content": "Fix it.", "agent": "main", "message_type": "system_prompt"},
    {"role": "user", "content": "look at this", "is_demo": True, "message_type": "demonstration"},
    {"role": "assistant", "content": "demo", "action": "rm -rf /", "is_demo": True, "message_type": "action"},
    {"role": "user", "content": [{"type": "text", "text": "It is broken."}], "message_type": "observation"},
]
FUNCTIONS: dict[str, Any] = {
    "environment": "main",
    "trajectory": [
        _step("find_file a.py", "/a.py"),
        _step("edit", "a lint error, taken back"),
        _step("submit", "diff --git"),
    ],
    "history": [
        *_PROMPTS,
        _action("find_file a.py", tool_calls=[_function("find_file", '{"file_name": "a.py"}', "c1")]),
        {"role": "tool", "content": "OBSERVATION: /a.py", "message_type": "observation", "tool_call_ids": ["c1"]},
        _action("submit", tool_calls=[_function("submit", "", "c2")]),
        {"role": "tool", "content": "OBSERVATION: diff", "message_type": "observation", "tool_call_ids": ["c2"]},
    ],
    "info": {"exit_status": "submitted"},
}
_BEGIN = [{"system": "Fix it."}, {"user": "It is broken."}]


def test_functions() -> None:
    """Names and arguments are the history's, what came back is the steps'; what was taken back is a call too."""
    trace = read(FUNCTIONS)
    assert trace.to_events() == [
        *_BEGIN,
        {"agent": "I will find_file a.py.", "by": "main"},
        {"call": "find_file", "args": {"file_name": "a.py"}, "id": "c1", "by": "main"},
        {"result": "/a.py", "id": "c1"},
        {"agent": "I will edit."},
        {"call": "bash", "args": {"command": "edit"}},
        {"result": "a lint error, taken back"},
        {"agent": "I will submit.", "by": "main"},
        {"call": "submit", "args": {}, "id": "c2", "by": "main"},
        {"result": "diff --git", "id": "c2"},
    ]
    assert trace.problems == ()


def test_a_history_alone() -> None:
    """An observation is what the model was told of it."""
    trace = read({"history": FUNCTIONS["history"]})
    assert [(call.name, call.args, call.result) for call in trace.calls] == [
        ("find_file", {"file_name": "a.py"}, "OBSERVATION: /a.py"),
        ("submit", {}, "OBSERVATION: diff"),
    ]
    assert trace.to_events()[:2] == _BEGIN
    assert trace.problems == ()


TEXT = {
    "trajectory": [_step("ls && cat a.py\n", "a.py"), _step("", "", thought="", response="Done.")],
    "history": [
        *_PROMPTS,
        _action("ls && cat a.py"),
        {"role": "user", "content": "a.py (bash$)", "message_type": "observation", "agent": "main"},
        {"role": "user", "content": "go on", "message_type": "observation", "agent": "main"},
        {"role": "assistant", "content": "Done.", "agent": "main", "message_type": "assistant"},
    ],
}


def test_actions_as_text() -> None:
    """The whole line is one call to the shell; a step without an action is words."""
    trace = read(TEXT)
    assert trace.to_events() == [
        *_BEGIN,
        {"agent": "I will ls && cat a.py\n.", "by": "main"},
        {"call": "bash", "args": {"command": "ls && cat a.py\n"}, "by": "main"},
        {"result": "a.py"},
        {"agent": "Done."},
    ]


def test_a_history_with_actions_as_text() -> None:
    """The first observation after an action is its result; other messages of the user are the user's."""
    trace = read({"history": TEXT["history"]})
    assert trace.to_events()[2:] == [
        {"agent": "I will ls && cat a.py.", "by": "main"},
        {"call": "bash", "args": {"command": "ls && cat a.py"}, "by": "main"},
        {"result": "a.py (bash$)"},
        {"user": "go on"},
        {"agent": "Done.", "by": "main"},
    ]


def test_steps_alone() -> None:
    """Older files have the state as text, and no history."""
    steps = [{"action": "ls", "observation": "a.py", "response": "Look.", "state": "{}", "thought": ""}]
    assert read({"trajectory": steps, "history": [], "info": {}}).to_events() == [
        {"agent": "Look."},
        {"call": "bash", "args": {"command": "ls"}},
        {"result": "a.py"},
    ]


def test_attempts_are_runs() -> None:
    """An agent that tries several times saves each, and the best on top once more."""
    document = {"attempts": [TEXT, FUNCTIONS], **FUNCTIONS}
    assert [len(trace.calls) for trace in read_all(json.dumps(document))] == [1, 3]
    assert [len(trace.calls) for trace in read_all({"attempts": [TEXT]})] == [1]


@pytest.mark.parametrize(
    ("document", "reason", "hides"),
    [
        ({"history": [*_PROMPTS, _action("x", tool_calls=[{"id": "1"}])]}, "a tool call has a function", True),
        ({"history": [*_PROMPTS, _action("x", tool_calls={"id": "1"})]}, "a list was promised", True),
        ({"history": [*_PROMPTS, {**_action("x"), "action": 5}]}, "an action is a text", True),
        ({"history": [_action("x"), {"role": "robot"}]}, "where nothing was called", True),
        ({"history": [_action("x"), 5]}, "a message is a mapping", True),
        ({"trajectory": [_step("x", "y"), 5]}, "a step is a mapping", True),
        ({"trajectory": [_step("x", "y")], "history": [_action("z"), _action("z")]}, "the history has 2 actions", True),
        (
            {"history": [_action("", tool_calls=[_function("a", "", "1"), _function("b", "", "2")]), _PROMPTS[3]]},
            "one observation of 2 calls",
            False,
        ),
    ],
)
def test_what_is_odd_is_a_problem(document: Any, reason: str, hides: bool) -> None:
    """It may hide a call, but where it only leaves open whose an observation is."""
    problem = read(document).problems[0]
    assert reason in str(problem)
    assert problem.hides_call is hides


@pytest.mark.parametrize("document", [FUNCTIONS, TEXT, {"history": TEXT["history"]}, {"attempts": [TEXT]}])
def test_detected_by_its_reader_alone(document: Any) -> None:
    """Though its history looks like messages of chat completions."""
    assert [reader.name for reader in detected(document)] == ["swe-agent"]


@pytest.mark.parametrize(
    "document", [{"trajectory": []}, {"history": [{"role": "user", "content": "x"}]}, {"attempts": 5}]
)
def test_what_is_not_of_it(document: Any) -> None:
    """A key alone is not enough."""
    assert "swe-agent" not in [reader.name for reader in detected(document)]


@pytest.mark.parametrize("document", [{}, 5, None, [FUNCTIONS]])
def test_what_is_nothing_of_the_kind_is_refused(document: Any) -> None:
    """It says what was expected."""
    reader = next(reader for reader in READERS if reader.name == "swe-agent")
    with pytest.raises(ReadError, match="SWE-agent"):
        reader.read(document)
