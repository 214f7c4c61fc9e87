"""Spans of all conventions and exports: what is read of them, and that a call is told once."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from tracewitness.errors import ReadError
from tracewitness.readers import READERS, read, read_all, registry
from tracewitness.readers.telemetry import opentelemetry
from tracewitness.trace import UNANSWERED, MalformedArguments

_SECOND = 1_000_000_000
_TASK = [{"role": "user", "parts": [{"type": "text", "content": "Find a lamp."}]}]


def span(name: str, start: float, end: float, parent: str = "", **fields: Any) -> dict[str, Any]:
    """Return a span as a plain mapping. Its id is its name and start, unless ``span_id`` says so."""
    attributes = fields.pop("attributes", {})
    return {
        "trace_id": "t1",
        "span_id": f"{name}-{start}",
        "parent_span_id": parent or None,
        "name": name,
        "start_time": int(1_700_000_000 * _SECOND + start * _SECOND),
        "end_time": int(1_700_000_000 * _SECOND + end * _SECOND),
        "attributes": attributes,
        "status": {"code": "UNSET"},
        **fields,
    }


def tool(name: str, start: float, end: float, parent: str = "", **fields: Any) -> dict[str, Any]:
    """Return the span of a tool by OpenTelemetry's conventions."""
    attributes = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name, **fields.pop("attributes", {})}
    return span(f"execute_tool {name}", start, end, parent, attributes=attributes, **fields)


def chat(start: float, end: float, given: Any, answer: Any, parent: str = "", **fields: Any) -> dict[str, Any]:
    """Return the span of a model by OpenTelemetry's conventions."""
    attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.input.messages": json.dumps(given),
        "gen_ai.output.messages": json.dumps(answer),
    }
    return span("chat m", start, end, parent, attributes=attributes, **fields)


def called(call_id: str | None, name: str, arguments: Any) -> dict[str, Any]:
    """Return a message that calls a tool."""
    part = {"type": "tool_call", "name": name, "arguments": arguments, **({"id": call_id} if call_id else {})}
    return {"role": "assistant", "parts": [part]}


def answered(call_id: str | None, response: Any) -> dict[str, Any]:
    """Return a message with a tool's result."""
    part = {"type": "tool_call_response", "response": response, **({"id": call_id} if call_id else {})}
    return {"role": "tool", "parts": [part]}


def told(document: Any) -> list[tuple[Any, ...]]:
    """Return what happened in a run, in short."""
    events: list[tuple[Any, ...]] = []
    for event in read(document).to_events():
        if "call" in event:
            events.append(("call", event["call"], event.get("args", "?")))
        elif "result" in event:
            events.append(("result", event.get("of"), event["result"]))
        else:
            kind = next(key for key in ("user", "agent", "system", "transfer") if key in event)
            events.append((kind, event[kind]))
    return events


LAMP = {"q": "lamp"}
DESK = {"q": "desk"}
TEXT = {"role": "assistant", "parts": [{"type": "text", "content": "Done."}]}
CALLS: dict[str, tuple[list[dict[str, Any]], list[tuple[Any, ...]]]] = {
    "a tool's span alone": (
        [
            tool(
                "search",
                1,
                2,
                attributes={"gen_ai.tool.call.arguments": '{"q": "lamp"}', "gen_ai.tool.call.result": "x"},
            )
        ],
        [("call", "search", LAMP), ("result", "search", "x")],
    ),
    "a call seen in an answer, a span and a history, by its id": (
        [
            chat(0, 1, _TASK, [called("c1", "search", LAMP)]),
            tool("search", 1, 2, attributes={"gen_ai.tool.call.id": "c1", "gen_ai.tool.call.result": "x"}),
            chat(2, 3, [*_TASK, called("c1", "search", LAMP), answered("c1", "x")], [TEXT]),
        ],
        [("user", "Find a lamp."), ("call", "search", LAMP), ("result", "search", "x"), ("agent", "Done.")],
    ),
    "parallel calls without any id, whose spans end in another order": (
        [
            chat(0, 1, _TASK, [called(None, "search", LAMP), called(None, "search", DESK)]),
            tool("search", 1.1, 3, attributes={"tool_arguments": '{"q":"lamp"}', "tool_response": "lamp-1"}),
            tool("search", 1.2, 2, attributes={"tool_arguments": '{"q":"desk"}', "tool_response": "desk-1"}),
            chat(
                3,
                4,
                [
                    *(*_TASK, called(None, "search", LAMP), called(None, "search", DESK)),
                    *(answered(None, "lamp-1"), answered(None, "desk-1")),
                ],
                [TEXT],
            ),
        ],
        [
            ("user", "Find a lamp."),
            ("call", "search", LAMP),
            ("call", "search", DESK),
            ("result", "search", "desk-1"),
            ("result", "search", "lamp-1"),
            ("agent", "Done."),
        ],
    ),
    "the same call twice without ids is two calls": (
        [
            chat(0, 1, _TASK, [called(None, "search", LAMP)]),
            tool("search", 1, 2, attributes={"tool_arguments": '{"q":"lamp"}'}),
            chat(2, 3, [], [called(None, "search", LAMP)]),
            tool("search", 3, 4, attributes={"tool_arguments": '{"q":"lamp"}'}),
        ],
        [("user", "Find a lamp."), ("call", "search", LAMP), ("call", "search", LAMP)],
    ),
    "a span that has the defaults too is the call that was made without them": (
        [
            chat(0, 1, _TASK, [called("c1", "search", LAMP)]),
            tool("search", 1, 2, attributes={"gen_ai.tool.call.arguments": '{"q":"lamp","limit":3}'}),
        ],
        [("user", "Find a lamp."), ("call", "search", LAMP)],
    ),
    "an answer whose content was left out gets the arguments of the span": (
        [
            chat(0, 1, _TASK, [{"role": "assistant", "parts": [{"type": "tool_call", "id": "c1", "name": "search"}]}]),
            tool(
                "search", 1, 2, attributes={"gen_ai.tool.call.id": "c1", "gen_ai.tool.call.arguments": '{"q":"lamp"}'}
            ),
        ],
        [("user", "Find a lamp."), ("call", "search", LAMP)],
    ),
    "a history with the ids of items in the place of those of calls": (
        [
            chat(0, 1, _TASK, [called("call_1", "search", LAMP)]),
            tool(
                "search",
                1,
                2,
                attributes={"gen_ai.tool.call.arguments": '{"q":"lamp"}', "gen_ai.tool.call.result": "x"},
            ),
            chat(2, 3, [*_TASK, called("fc_9", "search", LAMP), answered("call_1", "x")], [TEXT]),
        ],
        [("user", "Find a lamp."), ("call", "search", LAMP), ("result", "search", "x"), ("agent", "Done.")],
    ),
    "only a later history has the id of the call": (
        [
            tool(
                "search",
                1,
                2,
                attributes={"gen_ai.tool.call.arguments": '{"q":"lamp"}', "gen_ai.tool.call.result": "x"},
            ),
            chat(2, 3, [*_TASK, called("c1", "search", LAMP), answered("c1", "x")], [TEXT]),
        ],
        [("call", "search", LAMP), ("result", "search", "x"), ("user", "Find a lamp."), ("agent", "Done.")],
    ),
    "a tool inside of the model's span, as ADK has it": (
        [
            span(
                "call_llm",
                0,
                3,
                attributes={
                    "gcp.vertex.agent.llm_request": json.dumps(
                        {"contents": [{"role": "user", "parts": [{"text": "hi"}]}]}
                    ),
                    "gcp.vertex.agent.llm_response": json.dumps(
                        {
                            "content": {
                                "role": "model",
                                "parts": [
                                    {"text": "Wait."},
                                    {"function_call": {"id": "c1", "name": "search", "args": LAMP}},
                                ],
                            }
                        }
                    ),
                },
            ),
            span("generate_content m", 0.1, 3, "call_llm-0", attributes={"gen_ai.operation.name": "generate_content"}),
            tool(
                "search",
                1,
                2,
                "generate_content m-0.1",
                attributes={
                    "gen_ai.tool.call.id": "c1",
                    "gcp.vertex.agent.tool_call_args": '{"q":"lamp"}',
                    "gcp.vertex.agent.tool_response": '{"result": "x"}',
                },
            ),
            span(
                "execute_tool (merged)",
                2,
                2.1,
                "call_llm-0",
                attributes={
                    "gen_ai.operation.name": "execute_tool",
                    "gen_ai.tool.name": "(merged tools)",
                    "gcp.vertex.agent.tool_response": "{}",
                },
            ),
        ],
        [("user", "hi"), ("agent", "Wait."), ("call", "search", LAMP), ("result", "search", {"result": "x"})],
    ),
    "a wrapper that has no tool's name, and the protocol's span under the tool's": (
        [
            span("Tool node", 0, 9, attributes={"openinference.span.kind": "TOOL", "input.value": '{"q":"lamp"}'}),
            tool("shop_search", 1, 5, "Tool node-0", attributes={"gen_ai.tool.call.arguments": '{"q":"lamp"}'}),
            span(
                "tools/call search",
                2,
                4,
                "execute_tool shop_search-1",
                attributes={
                    "mcp.method.name": "tools/call",
                    "gen_ai.tool.name": "search",
                    "gen_ai.tool.call.result": "x",
                },
            ),
        ],
        [("call", "shop_search", LAMP), ("result", "shop_search", "x")],
    ),
    "a tool that runs another is two calls": (
        [
            tool("plan", 0, 9, attributes={"gen_ai.tool.call.arguments": "{}", "gen_ai.tool.call.result": "ok"}),
            tool("delete", 1, 2, "execute_tool plan-0", attributes={"gen_ai.tool.call.arguments": '{"id": 1}'}),
        ],
        [("call", "plan", {}), ("call", "delete", {"id": 1}), ("result", "plan", "ok")],
    ),
    "a sub-agent under a tool: its prompt is not the user's": (
        [
            span("boss", 0, 9, attributes={"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "boss"}),
            chat(0.1, 1, _TASK, [called("c1", "ask", {"about": "lamps"})], "boss-0"),
            tool("ask", 1, 5, "boss-0", attributes={"gen_ai.tool.call.id": "c1", "gen_ai.tool.call.result": "two"}),
            span("clerk", 1.1, 4.9, attributes={"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "clerk"}),
            chat(
                2,
                3,
                [{"role": "user", "parts": [{"type": "text", "content": "lamps"}]}],
                [called("c2", "count", {})],
                "clerk-1.1",
            ),
            tool("count", 3, 4, "clerk-1.1", attributes={"gen_ai.tool.call.id": "c2", "gen_ai.tool.call.result": "2"}),
        ],
        [
            ("user", "Find a lamp."),
            ("call", "ask", {"about": "lamps"}),
            ("system", "lamps"),
            ("call", "count", {}),
            ("result", "count", "2"),
            ("result", "ask", "two"),
        ],
    ),
    "definitions of tools, HTTP, chains and workflows are no calls": (
        [
            span(
                "chain", 0, 9, attributes={"openinference.span.kind": "CHAIN", "input.value": "x", "output.value": "y"}
            ),
            span("POST", 1, 2, attributes={"http.method": "POST"}),
            span("w.workflow", 1, 2, attributes={"traceloop.span.kind": "workflow", "traceloop.entity.name": "w"}),
            span(
                "chat m",
                3,
                4,
                attributes={
                    "gen_ai.operation.name": "chat",
                    "gen_ai.tool.definitions": '[{"type": "function", "name": "search"}]',
                    "llm.tools.0.tool.json_schema": '{"name": "search"}',
                    "gen_ai.output.messages": json.dumps([TEXT]),
                },
            ),
        ],
        [("agent", "Done.")],
    ),
    "OpenInference: flattened messages, arguments left out where there are none": (
        [
            span(
                "llm",
                0,
                1,
                attributes={
                    "openinference.span.kind": "LLM",
                    "llm.input_messages.0.message.role": "user",
                    "llm.input_messages.0.message.contents.0.message_content.type": "text",
                    "llm.input_messages.0.message.contents.0.message_content.text": "hi",
                    "llm.output_messages.0.message.role": "assistant",
                    "llm.output_messages.0.message.tool_calls.1.tool_call.function.name": "ping",
                    "llm.output_messages.0.message.tool_calls.0.tool_call.id": "c1",
                    "llm.output_messages.0.message.tool_calls.0.tool_call.function.name": "search",
                    "llm.output_messages.0.message.tool_calls.0.tool_call.function.arguments": '{"q":"lamp"}',
                },
            ),
            span(
                "search",
                1,
                2,
                attributes={
                    "openinference.span.kind": "TOOL",
                    "tool.name": "search",
                    "tool.parameters": '{"type": "object", "properties": {"q": {}}}',
                    "input.value": "{'q': 'lamp'}",
                    "output.value": '{"content": "x", "tool_call_id": "c1", "status": "error"}',
                },
            ),
        ],
        [("user", "hi"), ("call", "search", LAMP), ("call", "ping", {}), ("result", "search", "x")],
    ),
    "smolagents: arguments by position, named by the schema": (
        [
            span(
                "FinalAnswerTool",
                0,
                1,
                attributes={
                    "openinference.span.kind": "TOOL",
                    "tool.name": "final_answer",
                    "tool.parameters": '{"answer": {"type": "any"}}',
                    "input.value": '{"args": ["42"], "sanitize_inputs_outputs": false, "kwargs": {}}',
                    "output.value": "42",
                },
            )
        ],
        [("call", "final_answer", {"answer": "42"}), ("result", "final_answer", "42")],
    ),
    "Traceloop: prompts and completions by number, a tool by a decorator": (
        [
            span(
                "openai.chat",
                0,
                1,
                attributes={
                    "llm.request.type": "chat",
                    "gen_ai.prompt.0.role": "user",
                    "gen_ai.prompt.0.content": "hi",
                    "gen_ai.completion.0.role": "assistant",
                    "gen_ai.completion.0.finish_reason": "tool_calls",
                    "gen_ai.completion.0.tool_calls.0.id": "c1",
                    "gen_ai.completion.0.tool_calls.0.name": "search",
                    "gen_ai.completion.0.tool_calls.0.arguments": '{"q":"lamp"}',
                },
            ),
            span(
                "search.tool",
                1,
                2,
                attributes={
                    "traceloop.span.kind": "tool",
                    "traceloop.entity.name": "search",
                    "traceloop.entity.input": '{"args": [], "kwargs": {"q": "lamp"}}',
                    "traceloop.entity.output": '"x"',
                },
            ),
            span(
                "openai.chat",
                2,
                3,
                attributes={
                    "llm.request.type": "chat",
                    "gen_ai.prompt.0.role": "user",
                    "gen_ai.prompt.0.content": "hi",
                    "gen_ai.prompt.1.role": "assistant",
                    "gen_ai.prompt.1.tool_calls.0.id": "c1",
                    "gen_ai.prompt.1.tool_calls.0.name": "search",
                    "gen_ai.prompt.1.tool_calls.0.arguments": '{"q":"lamp"}',
                    "gen_ai.prompt.2.role": "tool",
                    "gen_ai.prompt.2.tool_call_id": "c1",
                    "gen_ai.prompt.2.content": "x",
                    "gen_ai.completion.0.role": "assistant",
                    "gen_ai.completion.0.content": "Done.",
                },
            ),
        ],
        [("user", "hi"), ("call", "search", LAMP), ("result", "search", "x"), ("agent", "Done.")],
    ),
    "LangChain's tool, by Traceloop": (
        [
            span(
                "search.tool",
                0,
                1,
                attributes={
                    "traceloop.span.kind": "tool",
                    "traceloop.entity.name": "search",
                    "traceloop.entity.input": json.dumps({"input_str": "{'q': 'lamp'}", "tags": [], "inputs": LAMP}),
                    "traceloop.entity.output": json.dumps(
                        {"output": {"content": "x", "tool_call_id": "c1"}, "kwargs": {}}
                    ),
                },
            )
        ],
        [("call", "search", LAMP), ("result", "search", "x")],
    ),
    "Vercel AI SDK": (
        [
            span(
                "ai.generateText",
                0,
                9,
                attributes={
                    "ai.operationId": "ai.generateText",
                    "ai.prompt": '{"prompt": "hi"}',
                    "ai.response.text": "Done.",
                },
            ),
            span(
                "ai.generateText.doGenerate",
                0.1,
                1,
                "ai.generateText-0",
                attributes={
                    "ai.operationId": "ai.generateText.doGenerate",
                    "ai.prompt.messages": json.dumps([{"role": "user", "content": [{"type": "text", "text": "hi"}]}]),
                    "ai.response.toolCalls": json.dumps(
                        [
                            {
                                "toolCallType": "function",
                                "toolCallId": "c1",
                                "toolName": "search",
                                "input": '{"q":"lamp"}',
                            }
                        ]
                    ),
                },
            ),
            span(
                "ai.toolCall",
                1,
                2,
                "ai.generateText-0",
                attributes={
                    "ai.operationId": "ai.toolCall",
                    "ai.toolCall.name": "search",
                    "ai.toolCall.id": "c1",
                    "ai.toolCall.args": '{"q":"lamp"}',
                    "ai.toolCall.result": '"x"',
                },
            ),
            span(
                "ai.generateText.doGenerate",
                2,
                3,
                "ai.generateText-0",
                attributes={
                    "ai.operationId": "ai.generateText.doGenerate",
                    "ai.prompt.messages": json.dumps(
                        [
                            {"role": "user", "content": [{"type": "text", "text": "hi"}]},
                            {
                                "role": "assistant",
                                "content": [
                                    {"type": "tool-call", "toolCallId": "c1", "toolName": "search", "input": LAMP}
                                ],
                            },
                            {
                                "role": "tool",
                                "content": [
                                    {
                                        "type": "tool-result",
                                        "toolCallId": "c1",
                                        "toolName": "search",
                                        "output": {"type": "text", "value": "x"},
                                    }
                                ],
                            },
                        ]
                    ),
                    "ai.response.text": "Done.",
                },
            ),
        ],
        [("user", "hi"), ("call", "search", LAMP), ("result", "search", "x"), ("agent", "Done.")],
    ),
    "events for each message, as the older conventions and Strands have them": (
        [
            span(
                "chat",
                0,
                1,
                attributes={"gen_ai.operation.name": "chat"},
                events=[
                    {"name": "gen_ai.system.message", "attributes": {"content": "Help."}},
                    {"name": "gen_ai.user.message", "attributes": {"content": '[{"text": "hi"}]'}},
                    {
                        "name": "gen_ai.choice",
                        "attributes": {
                            "finish_reason": "tool_use",
                            "message": json.dumps(
                                [{"text": "Wait."}, {"toolUse": {"toolUseId": "c1", "name": "search", "input": LAMP}}]
                            ),
                        },
                    },
                ],
            ),
            tool(
                "search",
                1,
                2,
                attributes={"gen_ai.tool.call.id": "c1", "gen_ai.tool.status": "error"},
                events=[
                    {
                        "name": "gen_ai.tool.message",
                        "attributes": {"role": "tool", "content": '{"q":"lamp"}', "id": "c1"},
                    },
                    {"name": "gen_ai.choice", "attributes": {"message": '[{"text": "stuck"}]', "id": "c1"}},
                ],
            ),
            span(
                "chat",
                2,
                3,
                attributes={"gen_ai.operation.name": "chat"},
                events=[
                    {"name": "gen_ai.user.message", "attributes": {"content": '[{"text": "hi"}]'}},
                    {
                        "name": "gen_ai.assistant.message",
                        "attributes": {
                            "content": json.dumps(
                                [{"text": "Wait."}, {"toolUse": {"toolUseId": "c1", "name": "search", "input": LAMP}}]
                            )
                        },
                    },
                    {
                        "name": "gen_ai.tool.message",
                        "attributes": {
                            "content": json.dumps(
                                [{"toolResult": {"toolUseId": "c1", "status": "error", "content": [{"text": "stuck"}]}}]
                            )
                        },
                    },
                    {"name": "gen_ai.choice", "attributes": {"message": '[{"text": "Done."}]'}},
                ],
            ),
        ],
        [
            ("system", "Help."),
            ("user", "hi"),
            ("agent", "Wait."),
            ("call", "search", LAMP),
            ("result", "search", "stuck"),
            ("agent", "Done."),
        ],
    ),
    "Logfire: messages as events in an attribute": (
        [
            span(
                "chat m",
                0,
                1,
                attributes={
                    "gen_ai.operation.name": "chat",
                    "events": json.dumps(
                        [
                            {"event.name": "gen_ai.user.message", "role": "user", "content": "hi"},
                            {
                                "event.name": "gen_ai.choice",
                                "index": 0,
                                "message": {
                                    "role": "assistant",
                                    "tool_calls": [
                                        {
                                            "id": "c1",
                                            "type": "function",
                                            "function": {"name": "search", "arguments": '{"q":"lamp"}'},
                                        }
                                    ],
                                },
                            },
                        ]
                    ),
                },
            )
        ],
        [("user", "hi"), ("call", "search", LAMP)],
    ),
    "only the agent's span has messages: they are told between the tools": (
        [
            span(
                "agent",
                0,
                9,
                attributes={
                    "openinference.span.kind": "AGENT",
                    "input.value": "hi",
                    "input.mime_type": "text/plain",
                    "llm.output_messages.0.message.role": "assistant",
                    "llm.output_messages.0.message.content.0": "First.",
                    "llm.output_messages.1.message.role": "assistant",
                    "llm.output_messages.1.message.tool_calls.0.tool_call.id": "c1",
                    "llm.output_messages.1.message.tool_calls.0.tool_call.function.name": "search",
                    "llm.output_messages.2.message.role": "assistant",
                    "llm.output_messages.2.message.content": "Last.",
                },
            ),
            span(
                "search",
                1,
                2,
                "agent-0",
                attributes={
                    "openinference.span.kind": "TOOL",
                    "tool.name": "search",
                    "tool.id": "c1",
                    "output.value": "x",
                },
            ),
        ],
        [("user", "hi"), ("agent", "First."), ("call", "search", {}), ("result", "search", "x"), ("agent", "Last.")],
    ),
    "a handover": (
        [
            span("a", 0, 1, attributes={"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "a"}),
            span(
                "handoff to b",
                0.5,
                0.6,
                "a-0",
                attributes={"openinference.span.kind": "TOOL", "input.value": "a", "output.value": "b"},
            ),
        ],
        [("transfer", "b")],
    ),
}


@pytest.mark.parametrize("case", CALLS)
def test_what_happened_is_told_once(case: str) -> None:
    """Whatever convention the spans follow, in whatever order they were exported."""
    spans, expected = CALLS[case]
    assert told(spans) == expected
    assert told(spans[::-1]) == expected
    assert [str(problem) for problem in read(spans).problems] == []
    assert [reader.name for reader in registry.detected(spans)] == ["opentelemetry"]


def test_agents_times_and_failures() -> None:
    """The agent's name is that of the span around; a failure is what the exception said."""
    trace = read(
        [
            span("a", 0, 9, attributes={"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "clerk"}),
            tool(
                "steer",
                1,
                2,
                "a-0",
                attributes={"gen_ai.agent.name": "OpenAI Agent", "gen_ai.tool.call.arguments": "null"},
                status={"code": "ERROR"},
                events=[{"name": "exception", "attributes": {"exception.message": "stuck"}}],
            ),
            tool("ok", 3, 4, status={"status_code": "OK"}, attributes={"gen_ai.tool.call.result": ""}),
        ]
    )
    steer, fine = trace.calls
    assert (steer.args, steer.agent, steer.result, steer.is_error) == ({}, "clerk", "stuck", True)
    assert (steer.record.at, steer.record.until) == (1_700_000_001.0, 1_700_000_002.0)
    assert (fine.result, fine.is_error) == ("", False)


def test_what_was_not_recorded_is_not_made_up() -> None:
    """Contents are recorded only where somebody asked for them."""
    (call,) = read([tool("search", 1, 2)]).calls
    assert isinstance(call.args, MalformedArguments)
    assert call.result is UNANSWERED
    silent = span("chat m", 0, 1, attributes={"gen_ai.operation.name": "chat"})
    assert [problem.hides_call for problem in read([silent]).problems] == [True]
    silent["attributes"]["gen_ai.response.finish_reasons"] = ["stop"]
    assert read([silent]).problems == ()
    assert read([silent]).no_evidence


def test_a_call_that_only_a_text_tells_of_is_a_problem() -> None:
    """An instrumentation wrote how Python shows the call; a model may write so as well."""
    text = "ResponseFunctionToolCall(arguments='{}', call_id='c1', name='delete', type='function_call')"
    message = {"role": "assistant", "parts": [{"type": "text", "content": text}]}
    trace = read([chat(0, 1, _TASK, [message])])
    assert [problem.hides_call for problem in trace.problems] == [True]
    assert (
        read([chat(0, 1, _TASK, [message]), tool("delete", 1, 2, attributes={"tool_arguments": "{}"})]).problems == ()
    )


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ([{"role": "assistant", "parts": [], "finish_reason": "tool_call"}], "there is no call"),
        ([{"role": "assistant", "parts": [], "finish_reason": "content_filter"}], "withheld"),
        ([{"role": "assistant", "parts": [{"type": "novelty"}]}], "unknown part"),
        ([{"role": "wizard", "parts": []}], "unknown role"),
        ([{"role": "assistant", "parts": [{"type": "tool_call", "arguments": {}}]}], "without a name"),
        (["x", 7], "not 7"),
        ({"role": "assistant", "tool_calls": {"id": "c1"}}, "a list was promised"),
    ],
)
def test_odd_answers_are_problems(answer: Any, reason: str) -> None:
    """What can't be made sense of may hide a call."""
    problems = read([chat(0, 1, _TASK, answer)]).problems
    assert any(reason in problem.reason and problem.hides_call for problem in problems), problems


# ------------------------------------------------------------------------------------------------------------- exports


def _otlp(spans: list[dict[str, Any]], encode: Any = lambda text: text) -> dict[str, Any]:
    """Return spans as OTLP's JSON has them."""
    return {
        "resourceSpans": [
            {
                "resource": {"attributes": [{"key": "service.name", "value": {"stringValue": "shop"}}]},
                "scopeSpans": [{"scope": {"name": "test"}, "spans": [_otlp_span(item, encode) for item in spans]}],
            }
        ]
    }


def _otlp_span(item: dict[str, Any], encode: Any) -> dict[str, Any]:
    return {
        "traceId": encode(item["trace_id"]),
        "spanId": encode(item["span_id"]),
        "parentSpanId": encode(item["parent_span_id"] or ""),
        "name": item["name"],
        "kind": 3,
        "startTimeUnixNano": str(item["start_time"]),
        "endTimeUnixNano": str(item["end_time"]),
        "status": {"code": {"OK": 1, "ERROR": "STATUS_CODE_ERROR"}.get(item["status"]["code"], 0)},
        "attributes": [{"key": key, "value": _otlp_value(value)} for key, value in item["attributes"].items()],
        "events": [
            {
                "name": event["name"],
                "attributes": [{"key": key, "value": _otlp_value(value)} for key, value in event["attributes"].items()],
            }
            for event in item.get("events", ())
        ],
    }


def _otlp_value(value: Any) -> dict[str, Any]:
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, list):
        return {"arrayValue": {"values": [_otlp_value(item) for item in value]}}
    if isinstance(value, dict):
        return {"kvlistValue": {"values": [{"key": key, "value": _otlp_value(item)} for key, item in value.items()]}}
    return {"stringValue": value}


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


@pytest.mark.parametrize("case", CALLS)
def test_otlp_says_the_same(case: str) -> None:
    """In JSON, with ids in hex or base64, one export or one on each line."""
    spans, expected = CALLS[case]
    assert told(_otlp(spans)) == expected
    assert told(_otlp(spans, _base64)) == expected
    lines = "\n".join(json.dumps(_otlp([item])) for item in spans)
    if len(spans) > 1:
        assert told(lines) == expected
        assert told(lines.encode()) == expected


@pytest.mark.parametrize("case", CALLS)
def test_other_exports_say_the_same(case: str, tmp_path: Path) -> None:
    """Wrapped, as rows of a table with times as text, as one span on each line, in a file."""
    spans, expected = CALLS[case]
    assert told({"session_id": "s", "spans": spans}) == expected
    assert told({"info": {}, "data": {"spans": spans}}) == expected
    rows = [
        {
            "name": item["name"],
            "context.trace_id": item["trace_id"],
            "context.span_id": item["span_id"],
            "parent_id": item["parent_span_id"],
            "start_time": item["start_time"] / _SECOND,
            "end_time": item["end_time"] / _SECOND,
            "status_code": item["status"]["code"],
            "events": item.get("events", []),
            **{f"attributes.{key}": value for key, value in item["attributes"].items()},
        }
        for item in spans
    ]
    assert told(rows) == expected
    file = tmp_path / "spans.jsonl"
    file.write_text("".join(json.dumps(item) + "\n" for item in spans))
    (trace,) = read_all(file)
    assert trace.to_events() == read(spans).to_events()
    assert trace.name == "spans"


def test_tables_have_lists_where_spans_have_dotted_keys() -> None:
    """As Phoenix writes its frames."""
    row = {
        "name": "ChatCompletion",
        "span_kind": "LLM",
        "parent_id": None,
        "start_time": "2026-11-30T16:29:29.331511+00:00",
        "end_time": "2026-11-30T16:29:30.331511+00:00",
        "context": {"trace_id": "t", "span_id": "s"},
        "attributes": {
            "llm": {
                "output_messages": [
                    {
                        "message.role": "assistant",
                        "message.tool_calls": [
                            {
                                "tool_call.id": "c1",
                                "tool_call.function.name": "search",
                                "tool_call.function.arguments": '{"q":"lamp"}',
                            }
                        ],
                    }
                ]
            }
        },
    }
    assert told({"data": [row], "next_cursor": None}) == [("call", "search", LAMP)]


def test_mlflow_encodes_twice() -> None:
    """And fills in the defaults of a tool that the model did not give."""

    def own(name: str, kind: str, start: int, given: Any, came: Any) -> dict[str, Any]:
        attributes = {"mlflow.spanType": kind, "mlflow.spanInputs": given, "mlflow.spanOutputs": came}
        return {
            "trace_id": "OpTQMdTQE6N+rAPcWTxQpQ==",
            "span_id": _base64(name),
            "parent_span_id": None,
            "name": name,
            "start_time_unix_nano": start * _SECOND,
            "end_time_unix_nano": (start + 1) * _SECOND,
            "status": {"code": "STATUS_CODE_OK", "message": ""},
            "attributes": {key: json.dumps(value) for key, value in attributes.items()},
        }

    call = {"id": "c1", "type": "function", "function": {"name": "search", "arguments": '{"q": "lamp"}'}}
    answer = {"choices": [{"message": {"role": "assistant", "content": None, "tool_calls": [call]}}]}
    messages = {"messages": [{"role": "user", "content": "hi"}], "model": "m"}
    spans = [
        own("agent", "AGENT", 1_700_000_000, {"task": "hi"}, "x"),
        own("chat", "CHAT_MODEL", 1_700_000_000, messages, answer),
        own("search", "TOOL", 1_700_000_002, {"q": "lamp", "limit": 3}, "x"),
    ]
    document = {"info": {"trace_id": "tr-1"}, "data": {"spans": spans}}
    assert told(document) == [("user", "hi"), ("call", "search", LAMP), ("result", "search", "x")]


def test_logfire_rows() -> None:
    """As its query interface returns them."""
    row = {
        "trace_id": "t",
        "span_id": "s",
        "parent_span_id": None,
        "span_name": "running tool",
        "kind": "span",
        "start_timestamp": "2026-11-30T16:29:29.331511Z",
        "end_timestamp": "2026-11-30T16:29:29.332911Z",
        "otel_status_code": "ERROR",
        "otel_status_message": "stuck",
        "attributes": json.dumps(
            {"gen_ai.tool.name": "steer", "gen_ai.tool.call.id": "c1", "tool_arguments": '{"angle": 1.5}'}
        ),
    }
    pending = {**row, "span_id": "p", "parent_span_id": "s", "attributes": {"logfire.span_type": "pending_span"}}
    (call,) = read([row, pending]).calls
    assert (call.name, call.args, call.result, call.is_error) == ("steer", {"angle": 1.5}, "stuck", True)


# ---------------------------------------------------------------------------------------------------------------- runs


def test_each_trace_is_a_run_and_those_of_a_session_are_one() -> None:
    """A trace in which no model, agent or tool is, is none."""
    ask = {"tool_arguments": "{}"}
    spans = [
        tool("b", 5, 6, attributes=ask, trace_id="t2"),
        tool("a", 1, 2, attributes=ask),
        span("GET", 0, 1, trace_id="t0"),
        span("create_agent x", 0, 1, trace_id="t3", attributes={"gen_ai.operation.name": "create_agent"}),
    ]
    assert [(trace.name, [call.name for call in trace.calls]) for trace in read_all(spans)] == [
        ("t1", ["a"]),
        ("t2", ["b"]),
    ]
    with pytest.raises(ReadError, match="several runs"):
        read(spans)
    for item in spans[:2]:
        item["attributes"]["session.id"] = "s1"
    assert [call.name for call in read(spans).calls] == ["a", "b"]


def test_a_turn_in_a_later_trace_of_a_session_is_one_whatever_its_words() -> None:
    """With its whole history or without; what the user says again is said again."""
    hello = {"role": "user", "parts": [{"type": "text", "content": "yes"}]}
    first = chat(0, 1, [hello], [TEXT])
    for given in ([hello], [hello, TEXT, hello]):
        second = chat(2, 3, given, [TEXT], trace_id="t2")
        for item in (first, second):
            item["attributes"]["gen_ai.conversation.id"] = "s1"
        assert told([first, second]) == [("user", "yes"), ("agent", "Done.")] * 2


def test_spans_that_are_each_others_parents_or_come_twice() -> None:
    """And one that was exported when it began and again when it had ended."""
    early = tool("a", 1, 2, "execute_tool b-3", attributes={"tool_arguments": "{}"})
    late = tool("b", 3, 4, "execute_tool a-1", attributes={"tool_arguments": "{}"})
    begun = {**early, "end_time": None, "attributes": {}}
    assert told([begun, early, late, late]) == [("call", "a", {}), ("call", "b", {})]


def test_deep_trees_and_long_lists_are_read_in_bounded_time() -> None:
    """Not by recursion."""
    chain: list[dict[str, Any]] = [span("s", 0, 1, span_id="0")]
    chain += [span("s", 0, 1, str(index), span_id=str(index + 1)) for index in range(5_000)]
    chain.append(tool("a", 1, 2, "5000", attributes={"tool_arguments": "{}"}))
    assert told(chain) == [("call", "a", {})]
    nested = json.dumps([called("c1", "search", LAMP)])
    for _ in range(12):
        nested = json.dumps([{"message": nested}])
    assert read([chat(0, 1, _TASK, nested)]).events is not None


def test_a_line_that_is_no_span_is_a_problem() -> None:
    """It may have been one."""
    lines = json.dumps(tool("a", 1, 2, attributes={"tool_arguments": "{}"})) + '\n{"cut off\n{"x": 1}\n'
    trace = read(lines)
    assert [call.name for call in trace.calls] == ["a"]
    assert [problem.hides_call for problem in trace.problems] == [True, True]


@pytest.mark.parametrize("document", [[], {}, {"spans": []}, {"spans": [1]}, "x", None, [{"trace_id": "t"}]])
def test_what_is_no_span_is_refused(document: Any) -> None:
    """And not detected."""
    assert not opentelemetry.detects(document)
    with pytest.raises(ReadError):
        opentelemetry.read(document)


def test_its_keys_are_complete() -> None:
    """Else a document that it detects would not be offered to it."""
    for spans, _ in CALLS.values():
        for document in (spans, _otlp(spans), {"spans": spans}, {"data": {"spans": spans}}):
            own = set(document) if isinstance(document, dict) else set().union(*document)
            assert not opentelemetry.READER.keys.isdisjoint(own)
    assert opentelemetry.READER in READERS


def test_an_answer_that_nothing_tells_of_may_hide_a_call() -> None:
    """Unless a tool ran after it, or a later history tells of it, or the model failed."""
    silent = {"gen_ai.operation.name": "chat"}
    asked = chat(0, 1, _TASK, [called("c1", "search", LAMP)])
    ran = tool("search", 1, 2, attributes={"gen_ai.tool.call.id": "c1"})
    last = span("chat m", 3, 4, attributes=silent)
    assert [problem.place for problem in read([asked, ran, last]).problems] == ["$[2]"]
    later = tool("delete", 5, 6, attributes={"tool_arguments": "{}"})
    assert read([asked, ran, last, later]).problems == ()
    history = chat(7, 8, [*_TASK, called("c1", "search", LAMP)], [TEXT])
    assert read([asked, ran, last, history]).problems == ()
    failed = span("chat m", 3, 4, attributes=silent, status={"code": "ERROR", "message": "overloaded"})
    assert read([asked, ran, failed]).problems == ()
    assert read([failed]).no_evidence == "overloaded"
