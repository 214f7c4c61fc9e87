"""OpenAI's Agents SDK: items, saved states, exported traces, and the real framework with a script."""

from __future__ import annotations

import ast
import asyncio
import json
from typing import Any

import pytest
from framework_support import (
    FIRST_TURN,
    SECOND_TURN,
    Tools,
    assert_mutants_are_read,
    assert_witnessed,
    decoded,
    detected_names,
)

from tracewitness import ReadError
from tracewitness.readers import read, read_all
from tracewitness.trace import MalformedArguments, Trace


def function_call(name: str = "search", call_id: Any = "c1", arguments: Any = "{}") -> dict[str, Any]:
    return {"type": "function_call", "id": f"fc_{call_id}", "call_id": call_id, "name": name, "arguments": arguments}


def item(kind: str, raw: Any, agent: str = "shop", **fields: Any) -> dict[str, Any]:
    return {"type": kind, "raw_item": raw, "agent": {"name": agent}, **fields}


def call(*args: Any, agent: str = "shop") -> dict[str, Any]:
    return item("tool_call_item", function_call(*args), agent)


def output(payload: Any, call_id: Any = "c1", agent: str = "shop") -> dict[str, Any]:
    raw = {"type": "function_call_output", "call_id": call_id, "output": str(payload)}
    return item("tool_call_output_item", raw, agent, output=payload)


def approval(call_id: Any = "c1", **raw: Any) -> dict[str, Any]:
    return item("tool_approval_item", {**function_call(call_id=call_id), **raw})


def message(text: str, agent: str = "shop") -> dict[str, Any]:
    content = [{"type": "output_text", "text": text}]
    return item("message_output_item", {"type": "message", "role": "assistant", "content": content}, agent)


def called(trace: Trace) -> list[tuple[str, Any]]:
    return [(call.name, call.args) for call in trace.calls]


# ---------------------------------------------------------------------------------------------------------------- items

MADE = {"call": "search", "args": {}, "id": "c1", "by": "shop"}
CASES: dict[str, tuple[list[Any], list[dict[str, Any]]]] = {
    "a call and what the tool returned": (
        [item("reasoning_item", {"type": "reasoning", "summary": []}), call(), output({"n": 1}), message("Done.")],
        [MADE, {"result": {"n": 1}, "id": "c1"}, {"agent": "Done.", "by": "shop"}],
    ),
    "a handover": (
        [
            item("handoff_call_item", function_call("transfer_to_billing")),
            item(
                "handoff_output_item",
                {"type": "function_call_output", "call_id": "c1", "output": '{"assistant": "billing"}'},
                source_agent={"name": "shop"},
                target_agent={"name": "billing"},
            ),
            call("pay", "c2", agent="billing"),
        ],
        [
            {**MADE, "call": "transfer_to_billing"},
            {"result": '{"assistant": "billing"}', "id": "c1"},
            {"transfer": "billing", "by": "shop"},
            {"call": "pay", "args": {}, "id": "c2", "by": "billing"},
        ],
    ),
    "approved and made": ([approval(), call(), output("1")], [MADE, {"result": "1", "id": "c1"}]),
    "made and then up for approval": ([call(), approval()], [MADE]),
    "up for approval alone": ([approval(), approval()], [MADE]),
    "up for approval at a server": (
        [
            item("tool_approval_item", {"type": "mcp_approval_request", "id": "r1", "name": "get", "arguments": "{}"}),
            item("mcp_approval_request_item", {"type": "mcp_approval_request", "id": "r1", "name": "get"}),
        ],
        [{"call": "get", "args": {}, "id": "r1", "by": "shop"}],
    ),
    "an id that comes again": (
        [call(), output("1"), call("steer"), output("2")],
        [MADE, {"result": "1", "id": "c1"}, {**MADE, "call": "steer"}, {"result": "2", "id": "c1"}],
    ),
    "tools of the provider": (
        [
            item("tool_call_item", {"type": "web_search_call", "id": "w1", "action": {"query": "x"}}),
            item(
                "tool_call_item",
                {"type": "mcp_call", "id": "m1", "server_label": "s", "name": "get", "arguments": "{}", "output": "1"},
            ),
            item("mcp_list_tools_item", {"type": "mcp_list_tools", "tools": []}),
        ],
        [
            {"call": "web_search_call", "args": {"query": "x"}, "id": "w1", "by": "shop"},
            {"call": "get", "args": {}, "id": "m1", "by": "shop", "metadata": {"server_label": "s"}},
            {"result": "1", "of": "get", "id": "m1", "is_error": False},
        ],
    ),
    "no agent": (
        [{"type": "tool_call_item", "raw_item": function_call()}],
        [{"call": "search", "args": {}, "id": "c1"}],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_items(name: str) -> None:
    items, events = CASES[name]
    state = {"$schemaVersion": "1.21", "original_input": "Go.", "generated_items": items, "session_items": []}
    stream: list[Any] = [{"type": "run_item_stream_event", "item": found} for found in items]
    documents: list[tuple[Any, bool]] = [
        (items, False),
        (state, True),
        ({"original_input": "Go.", "new_items": items}, True),
        ([{"type": "agent_updated_stream_event"}, {"type": "raw_response_event"}, *stream], False),
    ]
    for document, is_asked in documents:
        assert detected_names(document) == ["openai-agents"]
        trace = read(document)
        assert trace.to_events() == [{"user": "Go."}] * is_asked + events
        assert trace.problems == ()


def test_a_state_that_waits_has_the_calls_to_be_approved() -> None:
    step = {"type": "next_step_interruption", "data": {"interruptions": [approval("c1"), approval("c2")]}}
    document = {"original_input": "Go.", "generated_items": [call()], "session_items": [], "current_step": step}
    trace = read(document)
    assert [call.id for call in trace.calls] == ["c1", "c2"]
    assert trace.problems == ()


def test_a_run_without_a_call() -> None:
    document = {"original_input": [{"role": "user", "content": "Hi."}], "new_items": []}
    assert detected_names(document) == ["openai-agents"]
    assert read(document).to_events() == [{"user": "Hi."}]


@pytest.mark.parametrize("arguments", [None, "", "{}", "null", "[]", '{}""'])
def test_no_arguments(arguments: Any) -> None:
    assert called(read([call("search", "c1", arguments)])) == [("search", {})]


@pytest.mark.parametrize("arguments", ['{"q', "[1]", '{"a": 1}{"a": 2}'])
def test_arguments_that_are_none(arguments: Any) -> None:
    (found,) = read([call("search", "c1", arguments)]).calls
    assert isinstance(found.args, MalformedArguments)


PROBLEMS: dict[str, tuple[Any, str]] = {
    "an unknown item": ([call(), item("teleport_item", {})], "teleport"),
    "no raw item": ([call(), item("tool_call_item", None)], "tool_call_item"),
    "an unknown raw item": ([item("tool_call_item", {"type": "teleport_call"})], "teleport"),
    "a call without a name": ([call("")], "without a name"),
    "no item": ([call(), 3], "an item is a mapping"),
    "a run that goes on": ({"original_input": "Go.", "new_items": [call()], "is_complete": False}, "not complete"),
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_what_makes_no_sense_is_a_problem(name: str) -> None:
    document, reason = PROBLEMS[name]
    (problem,) = read(document).problems
    assert reason in problem.reason
    assert problem.hides_call


def test_a_transfer_to_nobody() -> None:
    raw = {"type": "function_call_output", "call_id": "c1", "output": "x"}
    (problem,) = read([call(), item("handoff_output_item", raw)]).problems
    assert "nobody" in problem.reason
    assert not problem.hides_call


# ------------------------------------------------------------------------------------------------------ exported traces

TRACE = {"object": "trace", "id": "t1", "workflow_name": "Agent workflow"}


def span(span_id: str, data: dict[str, Any], at: int = 0, end: int = 0, **fields: Any) -> dict[str, Any]:
    times = {"started_at": f"2026-01-01T00:00:{at:02}", "ended_at": f"2026-01-01T00:00:{end or at:02}"}
    return {
        "object": "trace.span",
        "id": span_id,
        "trace_id": "t1",
        "error": None,
        "span_data": data,
        **times,
        **fields,
    }


def function(name: str = "search", given: Any = "{}", returned: Any = "1") -> dict[str, Any]:
    return {"type": "function", "name": name, "input": given, "output": returned}


def generation(given: list[Any], *answers: Any) -> dict[str, Any]:
    return {"type": "generation", "input": given, "output": list(answers)}


ASKED = {"role": "user", "content": "Go."}
TOLD = {"id": "c1", "type": "function", "function": {"name": "search", "arguments": "{}"}}
EXPORT = [
    TRACE,
    span("f1", function(), 3, 5, parent_id="a1"),
    span("f2", function("steer", '{"a": 1}', "stuck"), 4, 6, parent_id="a1", error={"message": "x"}),
    span("g1", generation([ASKED], {"role": "assistant", "tool_calls": [TOLD]}), 1, 2, parent_id="a1"),
    span("h1", {"type": "handoff", "from_agent": "shop", "to_agent": "billing"}, 7, 8, parent_id="a1"),
    span("g2", generation([ASKED, {"role": "tool"}], {"role": "assistant", "content": "Done."}), 9, 9, parent_id="a1"),
    span("a1", {"type": "agent", "name": "shop", "tools": ["search"]}, 1, 9),
]


def test_a_trace_is_read_in_the_order_of_time() -> None:
    assert detected_names(EXPORT) == ["openai-agents-trace"]
    trace = read(EXPORT)
    assert trace.name == "t1"
    assert [
        {key: value for key, value in event.items() if key not in ("at", "until")} for event in trace.to_events()
    ] == [
        {"user": "Go."},
        {"call": "search", "args": {}, "id": "f1", "by": "shop"},
        {"call": "steer", "args": {"a": 1}, "id": "f2", "by": "shop"},
        {"result": "1", "of": "search", "id": "f1", "is_error": False},
        {"result": "stuck", "of": "steer", "id": "f2", "is_error": True},
        {"transfer": "billing", "by": "shop"},
        {"agent": "Done.", "by": "shop"},
    ]
    assert trace.problems == ()


def test_a_call_that_no_tool_span_tells_of() -> None:
    trace = read([span("g1", generation([ASKED], {"role": "assistant", "tool_calls": [TOLD, TOLD]})), *EXPORT[:2]])
    assert called(trace) == [("search", {}), ("search", {})]
    assert sum(call.answer is None for call in trace.calls) == 1


@pytest.mark.parametrize(
    ("agents", "hides_call"),
    [
        ([], True),
        ([{"type": "agent", "name": "shop", "tools": ["search"]}], False),
        ([{"type": "agent", "name": "shop", "tools": ["search", "web_search"]}], True),
        ([{"type": "agent", "name": "shop", "tools": None}], True),
    ],
)
def test_a_response_that_is_an_id_alone(agents: list[dict[str, Any]], hides_call: bool) -> None:
    spans = [span(f"a{number}", data) for number, data in enumerate(agents)]
    (problem,) = read([span("r1", {"type": "response", "response_id": "x"}), span("f1", function()), *spans]).problems
    assert problem.hides_call is hides_call


def test_a_trace_of_which_a_tool_has_not_ended() -> None:
    (found,) = read([span("f1", function(returned=None), ended_at=None)]).calls
    assert found.answer is None


@pytest.mark.parametrize("data", [{"type": "teleport"}, None])
def test_an_unknown_span_is_a_problem(data: Any) -> None:
    (problem,) = read([span("x", data), span("f1", function())]).problems
    assert problem.hides_call


def test_several_traces(tmp_path: Any) -> None:
    other = [{**TRACE, "id": "t2"}, {**span("f9", function("other")), "trace_id": "t2"}]
    document = [*EXPORT, *other]
    path = tmp_path / "traces.jsonl"
    path.write_text("\n".join(map(json.dumps, document)))
    for source in (document, {"data": document}, json.dumps(document), path):
        names = [(trace.name, [call.name for call in trace.calls]) for trace in read_all(source)]
        assert names == [("t1", ["search", "steer"]), ("t2", ["other"])]


# ------------------------------------------------------------------------------------------------ detection and mutants


@pytest.mark.parametrize(
    "document",
    [
        [function_call()],
        {"input": [function_call()], "model": "m"},
        {"object": "response", "output": [function_call()]},
        {"new_items": []},
        {"object": "trace", "id": "1"},
        {"data": [{"object": "chat.completion"}]},
    ],
)
def test_other_documents_are_left_to_others(document: Any) -> None:
    assert not {"openai-agents", "openai-agents-trace"} & set(detected_names(document))


@pytest.mark.parametrize("document", [{}, {"new_items": 1}])
@pytest.mark.parametrize("name", ["openai-agents", "openai-agents-trace"])
def test_nothing_of_the_kind(document: Any, name: str) -> None:
    with pytest.raises(ReadError):
        read(document, name)


def test_mutants() -> None:
    for items, _ in CASES.values():
        state = {"original_input": "Go.", "generated_items": items, "current_step": {"data": {"interruptions": items}}}
        assert_mutants_are_read(state, 100, ("openai-agents",))
        assert_mutants_are_read(items, 100, ("openai-agents",))
    assert_mutants_are_read(EXPORT, 1000, ("openai-agents-trace",))


# -------------------------------------------------------------------------------------------------------- the framework


@pytest.fixture
def sdk() -> Any:
    sdk = pytest.importorskip("agents")
    sdk.set_trace_processors([])
    return sdk


def made(name: str, args: dict[str, Any], call_id: str) -> Any:
    """Return a call as the model's client gives it."""
    from openai.types.responses import ResponseFunctionToolCall

    return ResponseFunctionToolCall(**function_call(name, call_id, json.dumps(args)))


def said(text: str) -> Any:
    from openai.types.responses import ResponseOutputMessage, ResponseOutputText

    content = [ResponseOutputText(type="output_text", text=text, annotations=[])]
    return ResponseOutputMessage(id="m1", type="message", role="assistant", status="completed", content=content)


def model_of(sdk: Any, script: list[list[Any]]) -> Any:
    """Return a model that answers what it is told to, at once or as a stream."""
    from openai.types.responses import Response, ResponseCompletedEvent

    class Scripted(sdk.Model):  # type: ignore[misc]
        async def get_response(self, *_: Any, **__: Any) -> Any:
            return sdk.ModelResponse(output=script.pop(0), usage=sdk.Usage(), response_id="r1")

        async def stream_response(self, *_: Any, **__: Any) -> Any:
            whole = {"id": "r1", "created_at": 0, "model": "m", "object": "response", "output": script.pop(0)}
            response = Response(**whole, parallel_tool_calls=True, tool_choice="auto", tools=[])
            yield ResponseCompletedEvent(type="response.completed", response=response, sequence_number=0)

    return Scripted()


def tools_of(tools: Tools, **options: Any) -> list[Any]:
    from agents.tool import function_tool

    def told(_: Any, error: Exception) -> str:
        return f"Error: {error}"

    plain = (tools.search, tools.steer, tools.weather)
    return [function_tool(tool, failure_error_function=told, **options) for tool in plain]


def turn(calls: tuple[tuple[str, dict[str, Any]], ...], prefix: str) -> list[Any]:
    return [made(name, args, f"{prefix}{number}") for number, (name, args) in enumerate(calls)]


def run(sdk: Any, agent: Any, given: Any) -> Any:
    """Run an agent in an event loop of its own, and close that."""
    return asyncio.run(sdk.Runner.run(agent, given))


def in_two_turns(sdk: Any, tools: Tools) -> Any:
    script = [turn(FIRST_TURN, "a"), [said("Found.")], turn(SECOND_TURN, "b"), [said("It is stuck.")]]
    agent = sdk.Agent("shop", instructions="Help.", tools=tools_of(tools), model=model_of(sdk, script))
    first = run(sdk, agent, "Find.")
    return agent, run(sdk, agent, [*first.to_input_list(), {"role": "user", "content": "Turn."}])


def value_of(payload: Any) -> Any:
    """Return what a tool returned: a model is told the `repr` of what is no text."""
    is_repr = isinstance(payload, str) and payload.startswith("{'")
    return ast.literal_eval(payload) if is_repr else decoded(payload)


def test_agents_sdk(sdk: Any) -> None:
    tools = Tools()
    _, result = in_two_turns(sdk, tools)
    state = result.to_state()
    for source in (result, state, state.to_json(), state.to_string(), result.to_input_list()):
        trace = read(source)
        assert_witnessed(trace, tools, errors_told=False, decode=value_of)
        assert called(trace) == [*FIRST_TURN, *SECOND_TURN]
        assert [call.turn for call in trace.calls] == [1, 1, 2, 2]
    assert [call.agent for call in read(result).calls] == [None, None, "shop", "shop"]  # what was given names none
    assert called(read(result.new_items)) == list(SECOND_TURN)
    assert called(read(result.raw_responses)) == list(SECOND_TURN)


def test_agents_sdk_outputs_are_what_the_tools_returned(sdk: Any) -> None:
    tools = Tools()
    script = [turn(FIRST_TURN, "a"), [said("Found.")]]
    agent = sdk.Agent("shop", tools=tools_of(tools), model=model_of(sdk, script))
    trace = read(run(sdk, agent, "Find."))
    assert_witnessed(trace, tools, errors_told=False, decode=lambda payload: payload)


def test_agents_sdk_stream(sdk: Any) -> None:
    tools = Tools()
    script = [turn(SECOND_TURN, "b"), [said("It is stuck.")]]
    agent = sdk.Agent("shop", tools=tools_of(tools), model=model_of(sdk, script))

    async def streamed_run() -> tuple[Any, list[Any], Trace]:
        streamed = sdk.Runner.run_streamed(agent, "Turn.")
        early = read(streamed)
        return streamed, [event async for event in streamed.stream_events()], early

    streamed, events, early = asyncio.run(streamed_run())
    assert [problem.reason for problem in early.problems] == ["the run is not complete"]
    for source in (streamed, events):
        trace = read(source)
        assert_witnessed(trace, tools, errors_told=False)
        assert called(trace) == list(SECOND_TURN)


def test_agents_sdk_handover(sdk: Any) -> None:
    tools = Tools()
    billing = sdk.Agent(
        "billing", tools=tools_of(tools), model=model_of(sdk, [turn(SECOND_TURN[1:], "b"), [said("Done.")]])
    )
    model = model_of(sdk, [[made("search", FIRST_TURN[0][1], "a1"), made("transfer_to_billing", {}, "h1")]])
    shop = sdk.Agent("shop", tools=tools_of(tools), model=model, handoffs=[billing])
    result = run(sdk, shop, "Go.")
    for source in (result, result.to_state().to_json()):
        trace = read(source)
        assert_witnessed(trace, tools, errors_told=False, decode=value_of)
        assert [(call.name, call.agent) for call in trace.calls] == [
            ("search", "shop"),
            ("transfer_to_billing", "shop"),
            ("weather", "billing"),
        ]
        assert trace.calls[1].answer is not None
        assert {"transfer": "billing", "by": "shop"} in trace.to_events()


def test_agents_sdk_approval(sdk: Any) -> None:
    """A call that waits for a person, and the same call made."""
    tools = Tools()
    script = [turn(SECOND_TURN[1:], "b"), [said("Sunny.")]]
    agent = sdk.Agent("shop", tools=tools_of(tools, needs_approval=True), model=model_of(sdk, script))
    waiting = run(sdk, agent, "Is it sunny?")
    state = waiting.to_state()
    for source in (waiting, state, json.dumps(state.to_json())):
        (found,) = read(source).calls
        assert found.answer is None
        assert called(read(source)) == list(SECOND_TURN[1:])
    state.approve(waiting.interruptions[0])
    approved = read(run(sdk, agent, state))
    assert_witnessed(approved, tools, errors_told=False)
    assert len(approved.calls) == 1


def test_agents_sdk_traces(sdk: Any) -> None:
    """What a processor of traces gets: each run a trace."""
    tools = Tools()
    exported: list[Any] = []

    class Keep(sdk.TracingProcessor):  # type: ignore[misc]
        def on_trace_start(self, trace: Any) -> None:
            exported.append(trace)

        def on_span_end(self, span: Any) -> None:
            exported.append(span)

        def on_trace_end(self, trace: Any) -> None: ...
        def on_span_start(self, span: Any) -> None: ...
        def shutdown(self) -> None: ...
        def force_flush(self) -> None: ...

    sdk.set_trace_processors([Keep()])
    in_two_turns(sdk, tools)
    sdk.set_trace_processors([])
    for source in (exported, [found.export() for found in exported]):
        first, second = read_all(source)
        assert [called(first), called(second)] == [list(FIRST_TURN), list(SECOND_TURN)]
        assert [call.is_error for call in second.calls] == [True, False]
        assert {call.agent for call in (*first.calls, *second.calls)} == {"shop"}
        assert all(call.started_at and call.ended_at for call in first.calls)
        assert first.problems == second.problems == ()
