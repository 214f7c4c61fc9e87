"""Trajectories of mini-swe-agent, by hand and of real agents that act by functions, by Responses and by text."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from framework_mutations import assert_known_alone, assert_mutants_are_read_or_refused

from tracewitness.errors import ReadError
from tracewitness.readers import read
from tracewitness.trace import UNANSWERED

ASKED = [{"role": "system", "content": "Act."}, {"role": "user", "content": "Fix it."}]
EXIT = {"role": "exit", "content": "done", "extra": {"exit_status": "Submitted", "submission": "done"}}


def _acted(*commands: str, **fields: Any) -> dict[str, Any]:
    actions = [{"command": command} for command in commands]
    return {"role": "assistant", "content": "I act.", "extra": {"actions": actions}, **fields}


def _came(output: str, code: Any = 0, **fields: Any) -> dict[str, Any]:
    return {"role": "user", "content": output, "extra": {"returncode": code, "raw_output": output}, **fields}


def test_commands_as_text() -> None:
    """Each is a call; what came of it is its result, and its status says whether it failed."""
    trace = read({"messages": [*ASKED, _acted("ls", "false"), _came("a.py"), _came("", 1), _acted("submit"), EXIT]})
    assert [next(iter(event)) for event in trace.to_events()] == [
        *("system", "user", "agent", "call", "call", "result", "result", "agent", "call", "result", "end"),
    ]
    assert [(call.name, call.args, call.result, call.is_error) for call in trace.calls] == [
        ("bash", {"command": "ls"}, "a.py", False),
        ("bash", {"command": "false"}, "", True),
        ("bash", {"command": "submit"}, "done", False),
    ]
    assert trace.problems == ()


def test_actions_that_were_broken_off() -> None:
    """What comes later is no result of theirs; nor is a submission of one of several."""
    trace = read([_acted("a", "b"), _came("x"), _acted("c"), _came("y"), _acted("d", "e"), EXIT])
    assert [call.result for call in trace.calls] == ["x", UNANSWERED, "y", UNANSWERED, UNANSWERED]
    assert trace.problems == ()


@pytest.mark.parametrize(
    ("messages", "reason"),
    [
        ([_acted("a"), _came("x"), _came("y")], "an observation of no action"),
        ([_acted("a"), {**EXIT, "extra": {"exit_status": "LimitsExceeded"}}], "ended early: 'LimitsExceeded'"),
        ([_acted("a"), {"role": "user", "content": "?", "extra": {"interrupt_type": "FormatError"}}], "was refused"),
    ],
)
def test_what_hides_no_call(messages: Any, reason: str) -> None:
    """It is a problem all the same."""
    (problem,) = read(messages).problems
    assert reason in problem.reason
    assert not problem.hides_call


def test_detection() -> None:
    """Messages that tell of actions are this; others are what they were."""
    call = {"id": "c1", "type": "function", "function": {"name": "bash", "arguments": "{}"}}
    own = _acted("ls", tool_calls=[call])
    assert_known_alone("mini-swe-agent", {"messages": [*ASKED, _acted("ls")]}, [*ASKED, own], {"messages": [own, EXIT]})
    assert_known_alone("openai-chat", {"messages": [*ASKED, {**own, "extra": {}}]})
    with pytest.raises(ReadError):
        read({"x": 1}, "mini-swe-agent")


def test_mutants() -> None:
    """They raise nothing else."""
    messages = [*ASKED, _acted("ls", "false"), _came("a.py"), _came("", 1), _acted("submit"), EXIT]
    assert_mutants_are_read_or_refused("mini-swe-agent", {"messages": messages, "info": {}})


# ------------------------------------------------------------------------------------------------------------ the real

COMMANDS = ("echo one", "echo two >&2; false", "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT; echo done")


def _models() -> dict[str, Any]:
    """Return scripted models, one for each way in which the agent is told what to do."""
    models = pytest.importorskip("minisweagent.models.test_models")

    def call(number: int) -> dict[str, Any]:
        function = {"name": "bash", "arguments": json.dumps({"command": COMMANDS[number]})}
        return {"id": f"c{number}", "type": "function", "function": function}

    def actions(*numbers: int) -> list[dict[str, Any]]:
        return [{"command": COMMANDS[number], "tool_call_id": f"c{number}"} for number in numbers]

    by_text = [models.make_output(f"I run {command}.", [{"command": command}]) for command in COMMANDS]
    turns = ((0, 1), (2,))
    by_calls = [models.make_toolcall_output("I run.", [*map(call, turn)], actions(*turn)) for turn in turns]
    by_items = [models.make_response_api_output("I run.", actions(number)) for number in range(3)]
    return {
        "text": models.DeterministicModel(outputs=by_text),
        "calls": models.DeterministicToolcallModel(outputs=by_calls),
        "items": models.DeterministicResponseAPIToolcallModel(outputs=by_items),
    }


@pytest.mark.parametrize("way", ["text", "calls", "items"])
def test_a_real_agent(way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its trajectory tells the commands that ran in its shell, with what they printed."""
    monkeypatch.setenv("MSWEA_SILENT_STARTUP", "1")
    monkeypatch.setenv("MSWEA_GLOBAL_CONFIG_DIR", str(tmp_path))
    agents = pytest.importorskip("minisweagent.agents.default", reason="mini-swe-agent is not installed")
    environments = pytest.importorskip("minisweagent.environments.local")
    ran: list[tuple[str, dict[str, Any]]] = []

    class Noting(environments.LocalEnvironment):
        def execute(self, action: dict[str, Any], *arguments: Any, **options: Any) -> dict[str, Any]:
            try:
                output = super().execute(action, *arguments, **options)
            except Exception as error:
                ran.append((action["command"], error.messages[0]["extra"]))
                raise
            ran.append((action["command"], output))
            return output

    path = tmp_path / "run.traj.json"
    agent = agents.DefaultAgent(
        _models()[way], Noting(), system_template="Act.", instance_template="{{task}}", output_path=path, cost_limit=100
    )
    agent.run("Fix it.")
    for source in (path, agent.messages):
        trace = read(source)
        assert trace.problems == ()
        assert [(call.name, call.args["command"]) for call in trace.calls] == [("bash", command) for command, _ in ran]
        assert [call.is_error for call in trace.calls] == [output.get("returncode", 0) != 0 for _, output in ran]
        for call, (_, output) in zip(trace.calls, ran, strict=True):
            assert (output.get("output") or output.get("submission")).strip() in call.result
        assert [event["user"] for event in trace.to_events() if "user" in event] == ["Fix it."]
