"""AutoGen: messages, events, results and states, and what real teams of agents make."""

from __future__ import annotations

import asyncio
import json
from datetime import datetime, timedelta
from typing import Any

import pytest
from framework_mutations import assert_known_alone, assert_mutants_are_read_or_refused
from framework_support import FIRST_TURN, SECOND_TURN, Tools, assert_witnessed

from tracewitness.readers import read
from tracewitness.readers.registry import detected
from tracewitness.trace import UNANSWERED, MalformedArguments, Trace

_AT = "2026-01-01T00:00:00Z"


def _call(call_id: str = "c1", name: str = "search", arguments: Any = "{}") -> dict[str, Any]:
    return {"id": call_id, "name": name, "arguments": arguments}


def _result(call_id: str = "c1", content: Any = "x", name: str = "search", **more: Any) -> dict[str, Any]:
    return {"call_id": call_id, "name": name, "content": content, **more}


def _message(kind: str, content: Any, source: str = "alice", **more: Any) -> dict[str, Any]:
    return {"type": kind, "source": source, "content": content, **more}


def _request(*calls: Any, **more: Any) -> dict[str, Any]:
    return _message("ToolCallRequestEvent", list(calls), **more)


def _execution(*results: Any, **more: Any) -> dict[str, Any]:
    return _message("ToolCallExecutionEvent", list(results), **more)


TASK = _message("TextMessage", "Find both.", "user")


def test_a_conversation() -> None:
    """Agents, times, errors, and a summary that tells calls again."""
    calls = [_call("1", arguments='{"n": 1}'), _call("2", arguments='{"n": 2}')]
    results = [_result("1", "one", is_error=False), _result("2", "two", is_error=True)]
    trace = read(
        {
            "messages": [
                TASK,
                _message("ThoughtEvent", "hm"),
                _request(*calls, created_at=_AT),
                _execution(*results, created_at=_AT),
                _message("ToolCallSummaryMessage", "one\ntwo", tool_calls=calls, results=results),
                _message("MultiModalMessage", ["Done.", {"data": ""}], "bob"),
            ],
            "stop_reason": None,
        }
    )
    assert trace.to_events() == [
        {"user": "Find both."},
        {"call": "search", "args": {"n": 1}, "id": "1", "by": "alice", "at": _AT},
        {"call": "search", "args": {"n": 2}, "id": "2", "by": "alice", "at": _AT},
        {"result": "one", "of": "search", "id": "1", "is_error": False, "at": _AT},
        {"result": "two", "of": "search", "id": "2", "is_error": True, "at": _AT},
        {"agent": "one\ntwo", "by": "alice"},
        {"agent": "Done.", "by": "bob"},
    ]
    assert trace.problems == ()


def test_a_summary_alone() -> None:
    """Where events were not kept, its calls are told by it; of the same call twice, each is told once."""
    calls, results = [_call("1"), _call("1")], [_result("1", "a"), _result("1", "b")]
    summary = _message("ToolCallSummaryMessage", "x", tool_calls=calls, results=results)
    assert [call.result for call in read([TASK, summary]).calls] == ["b", "a"]
    again = read([TASK, _request(calls[0]), _execution(results[0]), summary])
    assert len(again.calls) == 2


def test_the_end_of_a_stream_tells_all_again() -> None:
    """Messages are known by their ids."""
    messages = [{**TASK, "id": "1"}, _request(_call(), id="2"), _execution(_result(), id="3")]
    trace = read([*messages, {"messages": messages, "stop_reason": "end"}])
    assert [next(iter(event)) for event in trace.to_events()] == ["user", "call", "result"]


def test_a_handoff() -> None:
    """What was called at the same time is told to the other agent; it was told already."""
    calls = [_call("1"), _call("2", "transfer_to_bob")]
    context = [
        {"type": "AssistantMessage", "source": "alice", "content": [calls[0]]},
        {"type": "FunctionExecutionResultMessage", "content": [_result("1", "one")]},
    ]
    handoff = _message("HandoffMessage", "Over to bob.", target="bob", context=context)
    events = [_request(*calls), _execution(_result("1", "one"), _result("2", "Over to bob."))]
    trace = read([TASK, *events, handoff])
    assert [next(iter(event)) for event in trace.to_events()] == [
        "user",
        *["call"] * 2,
        *["result"] * 2,
        "agent",
        "transfer",
    ]
    assert trace.to_events()[-1] == {"transfer": "bob", "by": "alice"}
    assert [next(iter(event)) for event in read([TASK, handoff]).to_events()] == [
        "user",
        "call",
        "result",
        "agent",
        "transfer",
    ]


def test_who_is_a_user() -> None:
    """An agent that asked for input speaks for one."""
    asked = {"type": "UserInputRequestedEvent", "source": "human", "request_id": "r", "content": ""}
    trace = read([TASK, asked, _message("TextMessage", "Yes.", "human"), _message("StopMessage", "Bye.")])
    assert [next(iter(event)) for event in trace.to_events()] == ["user", "user", "agent"]


def test_code_that_an_agent_runs() -> None:
    """It is a call with the code as its argument."""
    blocks = [{"code": "1/0", "language": "python", "packages": []}]
    trace = read(
        [
            _message("CodeGenerationEvent", "I try.", code_blocks=blocks, retry_attempt=0),
            _message("CodeExecutionEvent", None, result={"exit_code": 1, "output": "no"}, retry_attempt=0),
            _message("CodeGenerationEvent", "I give up.", code_blocks=[], retry_attempt=1),
        ]
    )
    (call,) = trace.calls
    assert (call.name, call.args, call.result, call.is_error) == ("code_execution", {"code_blocks": blocks}, "no", True)


@pytest.mark.parametrize("nothing", [None, "", "{}", "null", '{}""', "[]", [], {}])
def test_no_arguments(nothing: Any) -> None:
    """However they are written."""
    assert read([_request(_call(arguments=nothing))]).calls[0].args == {}


@pytest.mark.parametrize("text", ["{bad", '{"a":1}{"a":2}', "[1]", "7"])
def test_arguments_that_are_none(text: str) -> None:
    """They stay as they were."""
    trace = read([_request(_call(arguments=text))])
    assert (type(trace.calls[0].args), len(trace.problems)) == (MalformedArguments, 1)


def test_ids() -> None:
    """Reused ones, empty ones, results out of order, and one that answers nothing."""
    trace = read(
        [
            _request(_call("1", "a"), _call("", "b"), _call("", "b")),
            _execution(_result("", "b1", "b"), _result("1", "a", "a"), _result("", "b2", "b")),
            _request(_call("1", "c")),
            _execution(_result("1", "c", "c"), _result("1", "again", "c")),
            _request(_call("9", "d")),
        ]
    )
    assert [(call.name, call.result) for call in trace.calls] == [
        *(("a", "a"), ("b", "b1"), ("b", "b2"), ("c", "c"), ("d", UNANSWERED)),
    ]
    assert [call.is_error for call in trace.calls] == [None] * 5
    assert len(trace.problems) == 1


def _memory(*messages: Any) -> dict[str, Any]:
    return {"type": "AssistantAgentState", "version": "1.0.0", "llm_context": {"messages": list(messages)}}


MEMORY = [
    {"type": "SystemMessage", "content": "Help."},
    {"type": "UserMessage", "source": "user", "content": ["Find both.", {"data": ""}]},
    {"type": "AssistantMessage", "source": "alice", "content": [_call()], "thought": "hm"},
    {"type": "FunctionExecutionResultMessage", "content": [_result()]},
    {"type": "AssistantMessage", "source": "alice", "content": "Done."},
]


def test_the_state_of_an_agent() -> None:
    """It is what the agent remembers; so is a list of such messages."""
    expected = [
        {"system": "Help."},
        {"user": "Find both."},
        {"call": "search", "args": {}, "id": "c1", "by": "alice"},
        {"result": "x", "of": "search", "id": "c1"},
        {"agent": "Done.", "by": "alice"},
    ]
    container = {"type": "ChatAgentContainerState", "agent_state": _memory(*MEMORY), "message_buffer": []}
    for document in (_memory(*MEMORY), container, MEMORY):
        assert read(document).to_events() == expected


def test_the_state_of_a_team() -> None:
    """Its thread tells all in order. Of what only an agent remembers it is not known when it was."""
    manager = {"type": "RoundRobinManagerState", "message_thread": [TASK, _request(_call()), _execution(_result())]}
    state = {"type": "TeamState", "agent_states": {"alice": {"agent_state": _memory(*MEMORY)}, "manager": manager}}
    trace = read(state)
    assert [next(iter(event)) for event in trace.to_events()] == ["user", "call", "result"]
    assert trace.problems == ()
    inner = {"type": "TeamState", "agent_states": {"bob": {"agent_state": _memory(*MEMORY[:2], *MEMORY[2:4] * 2)}}}
    trace = read({"type": "TeamState", "agent_states": {"inner": {"agent_state": inner}, "manager": manager}})
    assert [problem.hides_call for problem in trace.problems] == [True]
    assert "'bob' remembers 1 calls" in trace.problems[0].reason


@pytest.mark.parametrize(
    "item",
    [
        _message("Teleport", "x"),
        _message("ToolCallRequestEvent", "x"),
        _request("x"),
        _request({"id": "1"}),
        {"type": "LLMMessage", "content": 1},
        "x",
    ],
)
def test_what_can_not_be_understood_may_hide_a_call(item: Any) -> None:
    """It is a problem with its place; the messages beside it are read."""
    trace = read([_request(_call("1")), item, _execution(_result("1"))])
    assert trace.calls[0].result == "x"
    assert [problem.hides_call for problem in trace.problems] == [True]
    assert trace.problems[0].place.startswith("$[1]")


def test_detection() -> None:
    """Each kind of document is known, and others are not taken for it."""
    assert_known_alone("autogen", [TASK], {"messages": [TASK]}, MEMORY, _memory(*MEMORY), _request(_call()))
    for document in ([{"type": "text", "text": "x"}], {"type": "TextMessage"}, {"type": "State", "messages": []}):
        assert "autogen" not in {reader.name for reader in detected(document)}


def test_mutants() -> None:
    """They raise nothing else."""
    summary = _message("ToolCallSummaryMessage", "x", tool_calls=[_call()], results=[_result()])
    handoff = _message("HandoffMessage", "x", target="bob", context=MEMORY)
    messages = [TASK, _request(_call(), id="1"), _execution(_result()), summary, handoff]
    assert_mutants_are_read_or_refused("autogen", {"messages": messages})
    manager = {"type": "ManagerState", "message_thread": messages}
    state = {"type": "TeamState", "agent_states": {"alice": {"agent_state": _memory(*MEMORY)}, "manager": manager}}
    assert_mutants_are_read_or_refused("autogen", state)


# ------------------------------------------------------------------------------------------------------------ the real


def _swarm(tools: Tools) -> Any:
    """Return a team in which one agent hands over to another, with models that answer from a list."""
    pytest.importorskip("autogen_agentchat", reason="AutoGen is not installed")
    replay = pytest.importorskip("autogen_ext.models.replay", reason="AutoGen's model that replays is not installed")
    from autogen_agentchat import agents, conditions, teams
    from autogen_core import FunctionCall
    from autogen_core.models import CreateResult, RequestUsage

    def calling(*calls: tuple[str, dict[str, Any]]) -> Any:
        made = [FunctionCall(id=f"{name}-{args}", name=name, arguments=json.dumps(args)) for name, args in calls]
        usage = RequestUsage(prompt_tokens=0, completion_tokens=0)
        return CreateResult(finish_reason="function_calls", usage=usage, cached=False, content=made, thought="hm")

    def model(*answers: Any) -> Any:
        info = {"vision": False, "function_calling": True, "json_output": False, "structured_output": False}
        return replay.ReplayChatCompletionClient(list(answers), model_info={**info, "family": "unknown"})

    first = [calling(*FIRST_TURN), "Found both. STOP", calling(SECOND_TURN[0]), calling(("transfer_to_bob", {}))]
    second = [calling(SECOND_TURN[1]), "Sunny. STOP"]
    about = {"max_tool_iterations": 3, "reflect_on_tool_use": False}
    alice = agents.AssistantAgent(
        "alice", model(*first), tools=[tools.search, tools.steer], handoffs=["bob"], system_message="Help.", **about
    )
    bob = agents.AssistantAgent("bob", model(*second), tools=[tools.weather], **about)
    return teams.Swarm(
        [alice, bob], termination_condition=conditions.TextMentionTermination("STOP", sources=["alice", "bob"])
    )


async def _run(team: Any) -> tuple[list[Any], list[Any], Any]:
    """Run two turns; return what they streamed, their results, and the state."""
    streamed: list[Any] = []
    results = []
    for task in ("Find both.", "Turn the wheel."):
        streamed += [item async for item in team.run_stream(task=task)]
        results.append(streamed[-1])
    return streamed, results, await team.save_state()


def _decoded(payload: Any) -> Any:
    """AutoGen writes what a tool returned as Python does."""
    return json.loads(payload.replace("'", '"')) if payload.startswith("{") else payload


@pytest.mark.filterwarnings("ignore")
def test_what_a_real_team_makes() -> None:
    """Results as objects and as JSON, streams and states: all of them tell the same."""
    tools = Tools()
    streamed, results, state = asyncio.run(_run(_swarm(tools)))
    dumped = [json.loads(result.model_dump_json()) for result in results]
    saved = json.loads(json.dumps(state, default=str))
    messages = [message for result in results for message in result.messages]
    for source in (streamed, messages, [item for result in dumped for item in result["messages"]], saved):
        trace = read(source)
        assert_witnessed(trace, tools, decode=_decoded)
        _assert_handed_over(trace)
    assert_known_alone("autogen", *dumped, saved)
    assert read(results[0]).calls == read(results[0].messages).calls
    assert [call.args for call in read(dumped[0]).calls] == [args for _, args in FIRST_TURN]


def _assert_handed_over(trace: Trace) -> None:
    assert [(call.name, call.agent, call.turn) for call in trace.calls] == [
        ("search", "alice", 1),
        ("search", "alice", 1),
        ("steer", "alice", 2),
        ("transfer_to_bob", "alice", 2),
        ("weather", "bob", 2),
    ]
    assert [event for event in trace.to_events() if "transfer" in event] == [{"transfer": "bob", "by": "alice"}]
    started = [call.started_at for call in trace.calls]
    assert all(datetime.fromisoformat(str(at)).utcoffset() == timedelta(0) for at in started)
