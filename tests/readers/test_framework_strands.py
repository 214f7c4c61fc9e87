"""Strands: agents, results, sessions and teams, a real recording, and what real agents make."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from framework_mutations import assert_known_alone, assert_mutants_are_read_or_refused
from framework_support import FIRST_TURN, SECOND_TURN, Tools, assert_witnessed
from provider_support import corpora

from tracewitness.readers import read, read_all
from tracewitness.readers.registry import detected
from tracewitness.trace import UNANSWERED, MalformedArguments

SKILLS = "strands-evals/tests/strands_evals/extractors/fixtures/strands_agent_skills.json"


def _use(call_id: str = "1", name: str = "search", **more: Any) -> dict[str, Any]:
    return {"toolUse": {"toolUseId": call_id, "name": name, "input": {}, **more}}


def _result(call_id: str = "1", text: str = "x", status: str = "success") -> dict[str, Any]:
    return {"toolResult": {"toolUseId": call_id, "content": [{"text": text}], "status": status}}


def _said(*blocks: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks)}


def _asked(*blocks: Any) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks)}


def _step(end: float, message: Any, call_id: str | None = None, **more: Any) -> dict[str, Any]:
    about = {"toolUseId": call_id, "tool_name": "search"} if call_id else {}
    return {"start_time": end - 1, "end_time": end, "message": message, "metadata": about, "children": [], **more}


def _cycle(*steps: Any) -> dict[str, Any]:
    return {"name": "Cycle 1", "start_time": 0.0, "end_time": 99.0, "message": None, "children": list(steps)}


MESSAGES = [
    _asked({"text": "Find "}, {"text": "both."}),
    _said({"text": "I look."}, _use("1", input={"n": 1}), _use("2", input={"n": 2})),
    _asked(_result("2", "no", "error"), _result("1", "one")),
    _said({"reasoningContent": {}}, {"text": "Done."}),
]
EVENTS = [
    {"user": "Find \nboth."},
    {"agent": "I look.", "by": "alice"},
    {"call": "search", "args": {"n": 1}, "id": "1", "by": "alice", "at": 1.0, "until": 2.0},
    {"call": "search", "args": {"n": 2}, "id": "2", "by": "alice"},
    {"result": "no", "id": "2", "is_error": True},
    {"result": "one", "id": "1", "is_error": False},
    {"agent": "Done.", "by": "alice"},
]


def test_an_agent() -> None:
    """Its messages, with its name, and when its tools ran."""
    traces = [_cycle(_step(2.0, None, "1"))]
    prompt = [{"text": "Help."}, {"cachePoint": {}}]
    agent = {"agent_name": "alice", "system_prompt": prompt, "messages": MESSAGES, "traces": traces}
    assert read(agent).to_events() == [{"system": "Help."}, *EVENTS]
    plain = read({"system_prompt": "Help.", "messages": MESSAGES}).to_events()
    without = ("by", "at", "until")
    assert plain == [{"system": "Help."}, *({k: v for k, v in event.items() if k not in without} for event in EVENTS)]


def test_several_agents() -> None:
    """Each is a run with the name that it has there."""
    agents = {
        "one": {"system_prompt": None, "messages": MESSAGES},
        "two": {"system_prompt": "", "messages": MESSAGES[:1]},
    }
    assert [(trace.name, len(trace.calls)) for trace in read_all(agents)] == [("one", 2), ("two", 0)]


def test_a_snapshot_and_a_session() -> None:
    """They save the same messages; a session numbers them, and may have changed one."""
    calls = [
        call.args for call in read({"scope": "agent", "schema_version": "1.0", "data": {"messages": MESSAGES}}).calls
    ]
    saved = [{"message": message, "message_id": number} for number, message in enumerate(MESSAGES)]
    saved[0]["redact_message"] = _asked({"text": "[gone]"})
    trace = read(saved[::-1])
    assert [call.args for call in trace.calls] == calls == [{"n": 1}, {"n": 2}]
    assert trace.to_events()[0] == {"user": "[gone]"}
    assert len(read(saved[1]).calls) == 2


def test_a_result() -> None:
    """What came before its last message stands in the traces of its metrics."""
    traces = [
        _cycle(
            _step(1.0, MESSAGES[1]), _step(3.0, _asked(_result("1", "one")), "1"), _step(2.0, _asked(_result("2")), "2")
        ),
        _cycle(_step(4.0, MESSAGES[3])),
    ]
    result = {"type": "agent_result", "message": MESSAGES[3], "stop_reason": "end_turn", "traces": traces}
    trace = read(result)
    assert [next(iter(event)) for event in trace.to_events()] == ["agent", "call", "call", "result", "result", "agent"]
    assert [(call.result, call.started_at, call.ended_at) for call in trace.calls] == [
        ("one", 2.0, 3.0),
        ("x", 1.0, 2.0),
    ]
    assert trace.problems == ()


def test_a_result_that_was_saved() -> None:
    """It has but its last message."""
    trace = read({"type": "agent_result", "message": MESSAGES[3], "stop_reason": "end_turn", "checkpoint": None})
    assert trace.to_events() == [{"agent": "Done."}]
    assert [problem.hides_call for problem in trace.problems] == [True]


def test_a_team() -> None:
    """What its agents did is told in order of time, and who handed over to whom."""
    handoff = _said(_use("h", "handoff_to_agent", input={"agent_name": "bob"}))
    first = [_cycle(_step(1.0, handoff), _step(2.0, _asked(_result("h")), "h")), _cycle(_step(6.0, MESSAGES[3]))]
    second = [_cycle(_step(3.0, _said(_use("2"))), _step(4.0, _asked(_result("2", "y")), "2"))]
    nodes = {
        name: {"result": {"type": "agent_result", "traces": traces}} for name, traces in (("a", first), ("bob", second))
    }
    trace = read({"type": "multiagent_result", "results": nodes})
    kinds = [next(iter(event)) for event in trace.to_events()]
    assert kinds == ["call", "result", "transfer", "call", "result", "agent"]
    assert [call.agent for call in trace.calls] == ["a", "bob"]
    nodes["c"] = {"result": {"type": "exception", "message": "gone"}}
    nodes["d"] = {"result": {"type": "multiagent_result", "results": {"e": {"result": 1}}}}
    trace = read({"type": "multiagent_result", "results": nodes})
    assert [problem.hides_call for problem in trace.problems] == [True, True]


def test_ids_and_arguments() -> None:
    """Reused and empty ids, arguments that are none, and a result that answers nothing."""
    messages = [
        _said(_use("1", "a"), _use("", "b", input="{bad"), _use("", "b", input=None)),
        _asked(_result("1", "a"), _result("", "b")),
        _said(_use("1", "c", input='{"n": 1}')),
        _asked(_result("1", "c"), _result("1", "again")),
    ]
    trace = read({"system_prompt": None, "messages": messages})
    assert [(call.name, call.result) for call in trace.calls] == [("a", "a"), ("b", "b"), ("b", UNANSWERED), ("c", "c")]
    assert [type(call.args) for call in trace.calls] == [dict, MalformedArguments, dict, dict]
    assert len(trace.problems) == 2


@pytest.mark.parametrize(
    "item", [_said({"teleport": {}}), _said("x"), {"role": "robot", "content": []}, {"content": []}, "x"]
)
def test_what_can_not_be_understood_may_hide_a_call(item: Any) -> None:
    """It is a problem with its place; the messages beside it are read."""
    trace = read({"system_prompt": None, "messages": [_said(_use()), item, _asked(_result())]})
    assert trace.calls[0].result == "x"
    assert [problem.hides_call for problem in trace.problems] == [True]
    assert trace.problems[0].place.startswith("$.messages[1]")


def test_detection() -> None:
    """Each kind of document is known. Messages alone are of Bedrock, which is what they are."""
    agent = {"system_prompt": "x", "messages": MESSAGES}
    saved = {"message": MESSAGES[1], "message_id": 1}
    result = {"type": "agent_result", "message": MESSAGES[3]}
    snapshot = {"schema_version": "1.0", "data": {"messages": MESSAGES}}
    assert_known_alone("strands", agent, {"a": agent, "b": agent}, saved, [saved], result, snapshot)
    for document in (
        MESSAGES,
        {"system": [{"text": "x"}], "messages": MESSAGES},
        {"a": {"messages": MESSAGES}},
        {},
        [],
    ):
        assert "strands" not in {reader.name for reader in detected(document)}


def test_mutants() -> None:
    """They raise nothing else."""
    traces = [_cycle(_step(1.0, MESSAGES[1]), _step(3.0, _asked(_result("1", "one")), "1"))]
    agent = {"agent_name": "alice", "system_prompt": "x", "messages": MESSAGES, "traces": traces}
    handoff = _step(1.0, _said(_use("h", "handoff_to_agent", input={"agent_name": "bob"})))
    nodes = {"a": {"result": {"type": "agent_result", "traces": [*traces, handoff], "message": MESSAGES[3]}}}
    saved = [{"message": message, "message_id": number} for number, message in enumerate(MESSAGES)]
    for document in (agent, {"a": agent}, {"type": "multiagent_result", "results": nodes}, saved):
        assert_mutants_are_read_or_refused("strands", document, 150)


def test_a_real_recording() -> None:
    """Six agents that load skills, read by detection alone, with as many calls as there are uses of tools."""
    path = corpora() / SKILLS
    if not path.exists():
        pytest.skip("the recordings of strands-evals are not here")
    traces = list(read_all(path))
    marked = {
        name: json.dumps(agent["messages"]).count('"toolUse"') for name, agent in json.loads(path.read_bytes()).items()
    }
    assert {trace.name: len(trace.calls) for trace in traces} == marked
    assert (len(traces), sum(marked.values())) == (6, 9)
    assert [trace.problems for trace in traces if trace.problems] == []


# ------------------------------------------------------------------------------------------------------------ the real


def _model(*answers: Any) -> Any:
    """Return a model that streams answers from a list: texts, and calls as pairs of a name and arguments."""
    from strands.models.model import Model

    class Scripted(Model):
        def update_config(self, **_: Any) -> None:
            pass

        def get_config(self) -> Any:
            return {}

        async def structured_output(self, *_: Any, **__: Any) -> Any:
            raise NotImplementedError
            yield

        async def stream(self, *_: Any, **__: Any) -> Any:
            for event in _streamed(left.pop(0)):
                yield event

    left = list(answers)
    return Scripted()


def _streamed(blocks: Any) -> list[Any]:
    events: list[Any] = [{"messageStart": {"role": "assistant"}}]
    for block in blocks:
        start, delta = {}, {"text": block}
        if not isinstance(block, str):
            name, arguments = block
            start = {"toolUse": {"name": name, "toolUseId": f"{name}-{arguments}"}}
            delta = {"toolUse": {"input": json.dumps(arguments)}}
        events += [
            {"contentBlockStart": {"start": start}},
            {"contentBlockDelta": {"delta": delta}},
            {"contentBlockStop": {}},
        ]
    stop = "end_turn" if all(isinstance(block, str) for block in blocks) else "tool_use"
    usage = {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2}
    return [*events, {"messageStop": {"stopReason": stop}}, {"metadata": {"usage": usage, "metrics": {"latencyMs": 1}}}]


def _own_tools(tools: Tools) -> list[Any]:
    from strands import tool

    return [tool(name=name)(getattr(tools, name)) for name in ("search", "steer", "weather")]


@pytest.mark.filterwarnings("ignore")
def test_what_a_real_agent_makes(tmp_path: Path) -> None:
    """The agent, its last result, its snapshot, and what a session saved of it: two turns, and a tool that fails."""
    strands = pytest.importorskip("strands", reason="Strands is not installed")
    from strands.session.file_session_manager import FileSessionManager

    tools = Tools()
    model = _model(["I look.", *FIRST_TURN], ["Found."], [*SECOND_TURN], ["Done."])
    session = FileSessionManager("s", storage_dir=str(tmp_path))
    about = {"callback_handler": None, "session_manager": session, "system_prompt": "You help.", "name": "alice"}
    agent = strands.Agent(model=model, tools=_own_tools(tools), **about)
    agent("Find both.")
    result = agent("Turn the wheel.")
    saved = [json.loads(path.read_bytes()) for path in tmp_path.rglob("message_*.json")]
    for source in (agent, result, saved, {"system_prompt": "x", "messages": agent.messages}):
        assert_witnessed(read(source), tools)
    assert [call.turn for call in read(agent).calls] == [1, 1, 2, 2]
    assert {call.agent for call in read(agent).calls} == {"alice"}
    for source in (agent, result):
        assert all(isinstance(call.started_at, float) and call.ended_at for call in read(source).calls)
    assert read(result.to_dict()).problems[0].hides_call


@pytest.mark.filterwarnings("ignore")
def test_what_a_real_swarm_makes() -> None:
    """One agent hands over to another."""
    strands = pytest.importorskip("strands", reason="Strands is not installed")
    from strands.multiagent import Swarm

    tools = Tools()
    handoff = ("handoff_to_agent", {"agent_name": "bob", "message": "The weather, please."})
    about = {"callback_handler": None, "tools": _own_tools(tools)}
    alice = strands.Agent(name="alice", model=_model([*FIRST_TURN], [SECOND_TURN[0]], [handoff], ["Over."]), **about)
    bob = strands.Agent(name="bob", model=_model([SECOND_TURN[1]], ["Sunny."]), **about)
    result = Swarm([alice, bob])("Find both.")
    trace = read(result)
    assert_witnessed(trace, tools)
    assert [(call.name, call.agent) for call in trace.calls] == [
        ("search", "alice"),
        ("search", "alice"),
        ("steer", "alice"),
        ("handoff_to_agent", "alice"),
        ("weather", "bob"),
    ]
    assert [event for event in trace.to_events() if "transfer" in event] == [{"transfer": "bob", "by": "alice"}]
