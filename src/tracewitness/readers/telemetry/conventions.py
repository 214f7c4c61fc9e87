"""What a span tells, whichever convention it follows: that a tool ran, an agent was asked, a model answered.

OpenTelemetry's GenAI conventions of all ages, OpenInference, Traceloop's OpenLLMetry, Logfire, the Vercel AI SDK,
Google's ADK, Strands and MLflow are told apart by their attributes, several of which one span may have.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from msgspec import Struct

from tracewitness.readers.recording import Path
from tracewitness.readers.telemetry.attributes import arguments_of, decoded, gathered, is_broken, opened
from tracewitness.readers.telemetry.messages import payload_of_tool
from tracewitness.readers.telemetry.payloads import read_payload
from tracewitness.readers.telemetry.span import Event, Span

__all__ = [
    "OF_THE_END",
    *("Messages", "ToolRun", "agent_of", "handover", "inputs_of", "is_of_adk", "kind_of", "outputs_of", "session_of"),
    "tool_run",
]

_KINDS: Final = {
    **dict.fromkeys(("execute_tool", "tool", "ai.toolcall"), "tool"),
    **dict.fromkeys(("invoke_agent", "agent"), "agent"),
    **dict.fromkeys(("chat", "text_completion", "generate_content", "generation", "llm", "chat_model"), "model"),
    **dict.fromkeys(("agent_handoff", "handoff"), "handover"),
}
_KIND_KEYS: Final = ("openinference.span.kind", "traceloop.span.kind", "mlflow.spanType", "langfuse.observation.type")
_SESSIONS: Final = ("gen_ai.conversation.id", "session.id", "gcp.vertex.agent.session_id", "langfuse.session.id")
_TOOL_NAMES: Final = ("gen_ai.tool.name", "tool.name", "ai.toolCall.name", "traceloop.entity.name")
_TOOL_IDS: Final = ("gen_ai.tool.call.id", "tool_call.id", "tool.id", "ai.toolCall.id")
_ARGUMENTS: Final = (
    *("gen_ai.tool.call.arguments", "tool_arguments", "ai.toolCall.args", "ai.toolCall.input"),
    *("gcp.vertex.agent.tool_call_args", "traceloop.entity.input", "mlflow.spanInputs", "input.value"),
    "langfuse.observation.input",
)
_RESULTS: Final = (
    *("gen_ai.tool.call.result", "tool_response", "ai.toolCall.result", "ai.toolCall.output"),
    *("gcp.vertex.agent.tool_response", "traceloop.entity.output", "mlflow.spanOutputs", "output.value"),
    "langfuse.observation.output",
)
#: Attributes of a tool's span that are there only where the tool gave something back, or failed.
OF_THE_END: Final = frozenset({*_RESULTS, "error.type"})
# Attributes that hold JSON whatever the value is, so that a text stands in quotes.
_ENCODED: Final = frozenset(
    {"ai.toolCall.result", "ai.toolCall.output", "traceloop.entity.output", "mlflow.spanOutputs"}
    | {"gcp.vertex.agent.tool_response"}
)
_AGENT_NAMES: Final = ("gen_ai.agent.name", "agent.name", "agent_name", "graph.node.id", "traceloop.entity.name")
_SPAN_NAME: Final = re.compile(r"(?:execute_tool |tools/call |running tool: )?(.*?)(?:\.tool)?", re.DOTALL)
# The scope of Langfuse's SDK, which names an agent's span after the agent.
_LANGFUSE: Final = "langfuse-sdk"
_MERGED: Final = "(merged tools)"
_AZURE_BODY: Final = "gen_ai.event.content"
_DETAILS: Final = "gen_ai.client.inference.operation.details"
_PARTS_OF_INPUT: Final = frozenset(
    {"gen_ai.system.message", "gen_ai.user.message", "gen_ai.assistant.message", "gen_ai.tool.message"}
)


class ToolRun(Struct, frozen=True):
    """That a tool ran.

    Attributes:
        arguments, result: None where they are not recorded.
        has_result: whether the result is recorded, which may be None.
        is_named: whether the name is the tool's; else it is the span's, which a wrapper has too.
    """

    name: str
    arguments: Any
    call_id: Any
    result: Any
    has_result: bool
    is_error: bool | None
    is_named: bool


class Messages(Struct, frozen=True):
    """Messages of a span, as they were recorded.

    Attributes:
        role: of messages that don't say theirs.
    """

    data: Any
    path: Path
    role: str


def kind_of(span: Span) -> str:
    """Return what a span is: tool, agent, model, handover, or an empty text for anything else.

    An instrumentation's own word goes before what can be concluded.
    """
    attributes = span.attributes
    operation = attributes.get("gen_ai.operation.name")
    if isinstance(operation, str) and operation in _KINDS:
        return _KINDS[operation]
    for key in _KIND_KEYS:
        word = decoded(attributes.get(key))
        kind = _KINDS.get(word.lower(), "") if isinstance(word, str) else ""
        if kind:
            return _of_openinference(span) if kind == "tool" else kind
    return "" if isinstance(operation, str) and operation == "create_agent" else _concluded_kind(span)


def _of_openinference(span: Span) -> str:
    """Tell a handover from a tool: OpenInference has no word for it."""
    is_handover = span.name.startswith("handoff to ") and not _text(span, _TOOL_NAMES)
    return "handover" if is_handover else "tool"


def _concluded_kind(span: Span) -> str:
    attributes = span.attributes
    if "gen_ai.handoff.to_agent" in attributes:
        return "handover"
    operation = attributes.get("ai.operationId")
    if operation == "ai.toolCall" or attributes.get("mcp.method.name") == "tools/call":
        return "tool"
    if isinstance(operation, str) and operation.endswith((".doGenerate", ".doStream")):
        return "model"
    if "gen_ai.tool.name" in attributes and not attributes.keys().isdisjoint((*_TOOL_IDS, *_ARGUMENTS, *_RESULTS)):
        return "tool"
    if not attributes.keys().isdisjoint(("gcp.vertex.agent.llm_request", "llm.request.type", "request_data")):
        return "model"
    if "agent_name" in attributes and "model_name" in attributes:
        return "agent"
    return _kind_of_bodies(span)


def session_of(span: Span) -> str:
    """Return the id of the conversation that a span belongs to, or an empty text."""
    return _text(span, _SESSIONS)


def agent_of(span: Span) -> str:
    """Return the name of the agent that a span says it is of, or an empty text."""
    if kind_of(span) != "agent":
        return _text(span, _AGENT_NAMES[:2])
    return _text(span, _AGENT_NAMES) or (span.name if span.scope == _LANGFUSE else "")


def is_of_adk(span: Span) -> bool:
    """Whether Google's ADK made a span."""
    return any(key.startswith("gcp.vertex.agent.") for key in span.attributes)


def handover(span: Span) -> tuple[str, str]:
    """Return who handed the conversation over, and to whom; empty texts where it is not recorded."""
    from_agent = _text(span, ("gen_ai.handoff.from_agent", "input.value"))
    to_agent = _text(span, ("gen_ai.handoff.to_agent", "output.value"))
    return from_agent, to_agent or span.name.removeprefix("handoff to ")


def _text(span: Span, keys: tuple[str, ...]) -> str:
    for key in keys:
        value = span.attributes.get(key)
        if isinstance(value, str) and value:
            return value
    return ""


# --------------------------------------------------------------------------------------------------------------- tools


def tool_run(span: Span) -> ToolRun | None:
    """Return what a tool's span tells of its run; None where it stands for other spans."""
    name = _text(span, _TOOL_NAMES)
    if name == _MERGED:
        return None
    body = _tool_body(span)
    if body is not None:
        return body
    key, result = _recorded(span, _RESULTS)
    arguments = _tool_arguments(span)
    call_id = next((span.attributes[key] for key in _TOOL_IDS if span.attributes.get(key)), None)
    if _is_redacted(span):
        arguments, key = None, ""
    result, has_result = (_tool_result(span, key, result), True) if key else _result_of_events(span)
    is_error = _tool_failed(span)
    if has_result:
        result, own_id, own_error = _unwrapped(result)
        call_id = call_id or own_id
        is_error = own_error if own_error is not None else is_error
    elif is_error:
        result, has_result = _failure(span), True
    return ToolRun(name or _name_of(span), arguments, call_id, result, has_result, is_error, bool(name))


def _name_of(span: Span) -> str:
    """Return the tool's name that is in the name of its span."""
    found = _SPAN_NAME.fullmatch(span.name)
    return found[1] if found else span.name


def _recorded(span: Span, keys: tuple[str, ...]) -> tuple[str, Any]:
    for key in keys:
        value = span.attributes.get(key)
        if value is not None:
            return key, value
    return "", None


def _is_redacted(span: Span) -> bool:
    """Whether ADK was told to record no contents: it writes empty ones."""
    keys = ("gcp.vertex.agent.tool_call_args", "gcp.vertex.agent.tool_response")
    return all(span.attributes.get(key) == "{}" for key in keys)


def _tool_arguments(span: Span) -> Any:
    key, value = _recorded(span, _ARGUMENTS)
    if not key:
        return _arguments_of_events(span)
    arguments = arguments_of(value)
    if not isinstance(arguments, dict):
        return arguments
    if "sanitize_inputs_outputs" in arguments:  # smolagents: how its tools are called from Python
        return _bound(arguments, span)
    if arguments.keys() == {"args", "kwargs"}:
        return arguments["args"] or arguments["kwargs"]
    if "input_str" in arguments:  # LangChain, by Traceloop
        inputs = arguments.get("inputs")
        return inputs if isinstance(inputs, dict) and inputs else arguments_of(arguments["input_str"])
    return arguments


def _bound(call: Mapping[str, Any], span: Span) -> Any:
    """Return the arguments of a call by position by the names that the tool's schema has for them."""
    positional, named = call.get("args"), call.get("kwargs")
    if not isinstance(positional, list) or not isinstance(named, dict):
        return dict(call)
    names = opened(span.attributes.get("tool.parameters"))
    if not positional:
        return named
    if not isinstance(names, dict) or len(names) < len(positional):
        return positional
    return {**dict(zip(names, positional, strict=False)), **named}


def _arguments_of_events(span: Span) -> Any:
    """Return the arguments that an event of a tool's span holds, as Strands writes them."""
    for event in span.events:
        if event.name == "gen_ai.tool.message" and "content" in event.attributes:
            return arguments_of(event.attributes["content"])
    return None


def _result_of_events(span: Span) -> tuple[Any, bool]:
    for event in span.events:
        if event.name == "gen_ai.choice" and "message" in event.attributes:
            return payload_of_tool(event.attributes["message"]), True
    return None, False


def _tool_result(span: Span, key: str, value: Any) -> Any:
    is_json = key in _ENCODED or (key == "output.value" and span.attributes.get("output.mime_type") == _JSON)
    is_json = is_json or (key == _RESULTS[0] and _is_encoded(value))
    return payload_of_tool(decoded(value) if is_json else value)


def _is_encoded(value: Any) -> bool:
    """Whether a result that is JSON by the conventions is; many write plain text there, which may look like a number.

    A number in a text equals the number in checks, so that nothing is lost where it stays text.
    """
    return isinstance(value, str) and (value == "null" or (value[:1], value[-1:]) in _BRACKETS)


_JSON: Final = "application/json"
_BRACKETS: Final = frozenset({('"', '"'), ("{", "}"), ("[", "]")})


def _unwrapped(result: Any) -> tuple[Any, Any, bool | None]:
    """Return the payload, the call's id and whether it failed, where LangChain's message with a result was recorded."""
    message = opened(result)
    if isinstance(message, dict) and isinstance(message.get("output"), (dict, str)) and message.keys() <= _WRAPPERS:
        message = opened(message["output"])
    if isinstance(message, dict) and isinstance(message.get("kwargs"), dict):
        message = message["kwargs"]
    if not isinstance(message, dict) or "content" not in message or not isinstance(message.get("tool_call_id"), str):
        return result, None, None
    failed = {"error": True, "success": False}.get(str(message.get("status")))
    return payload_of_tool(message["content"]), message["tool_call_id"], failed


_WRAPPERS: Final = frozenset({"output", "kwargs"})


def _tool_failed(span: Span) -> bool | None:
    if span.failed or span.attributes.get("error.type"):
        return True
    status = span.attributes.get("gen_ai.tool.status")
    return True if status == "error" else span.failed


def _failure(span: Span) -> Any:
    """Return what is recorded of a failure, which is the result that a caller got."""
    for event in span.events:
        message = event.attributes.get("exception.message")
        if isinstance(message, str) and message:
            return message
    return span.message or span.attributes.get("error.type") or span.attributes.get("error.message")


# ------------------------------------------------------------------------------------------------------------ messages


def inputs_of(span: Span) -> list[Messages]:
    """Return the messages that a model or an agent was given; none where they were not recorded."""
    found = list(_attribute_inputs(span)) or list(_event_inputs(span))
    return found or list(_plain_inputs(span)) or list(_langfuse_messages(span, "input", "user"))


def outputs_of(span: Span) -> list[Messages]:
    """Return the messages that a model or an agent answered, or of all of a run; none where they were not recorded."""
    found = list(_attribute_outputs(span)) or list(_event_outputs(span))
    return found or list(_plain_outputs(span)) or list(_langfuse_messages(span, "output", "assistant"))


def _messages(span: Span, keys: tuple[str, ...], role: str) -> Iterator[Messages]:
    for key in keys:
        value = span.attributes.get(key)
        if value is not None and value != "" and value != "{}":
            yield Messages(value, (*span.path, "attributes", key), role)
            return


def _spread(span: Span, prefix: str, unwrap: str, role: str) -> Iterator[Messages]:
    """Yield the messages that are spread over keys, one for each of their fields."""
    messages = gathered(span.attributes, prefix + ".")
    if isinstance(messages, list):
        data = [item.get(unwrap, item) if isinstance(item, dict) else item for item in messages]
        yield Messages(data, (*span.path, "attributes", prefix), role)


def _attribute_inputs(span: Span) -> Iterator[Messages]:
    yield from _messages(span, ("gen_ai.system_instructions",), "system")
    yield from (
        list(_messages(span, ("gen_ai.input.messages",), "user"))
        or list(_spread(span, "llm.input_messages", "message", "user"))
        or list(_spread(span, "gen_ai.prompt", "message", "user"))
    )


def _attribute_outputs(span: Span) -> Iterator[Messages]:
    yield from (
        list(
            _messages(span, ("pydantic_ai.all_messages", "all_messages_events", "gen_ai.output.messages"), "assistant")
        )
        or list(_spread(span, "llm.output_messages", "message", "assistant"))
        or list(_spread(span, "gen_ai.completion", "message", "assistant"))
    )


def _event_inputs(span: Span) -> Iterator[Messages]:
    for event in span.events:
        if event.name == _DETAILS:
            yield from _event_messages(event, "gen_ai.system_instructions", "system")
            yield from _event_messages(event, "gen_ai.input.messages", "user")
        elif event.name in _PARTS_OF_INPUT:
            yield Messages({"event.name": event.name, **_event_fields(event)}, event.path, "user")
        elif event.name == "gen_ai.content.prompt":
            yield from _event_messages(event, "gen_ai.prompt", "user")
        elif kind_of(span):
            yield from _body_messages(event, "input", "user")


def _event_outputs(span: Span) -> Iterator[Messages]:
    for event in span.events:
        if event.name == _DETAILS:
            yield from _event_messages(event, "gen_ai.output.messages", "assistant")
        elif event.name == "gen_ai.choice":
            yield Messages({"event.name": event.name, **_event_fields(event)}, event.path, "assistant")
        elif event.name == "gen_ai.content.completion":
            yield from _event_messages(event, "gen_ai.completion", "assistant")
        elif kind_of(span):
            yield from _body_messages(event, "output", "assistant")


def _event_messages(event: Event, key: str, role: str) -> Iterator[Messages]:
    fields = _event_fields(event)
    if fields.get(key) is not None:
        yield Messages(fields[key], (*event.path, key), role)


def _event_fields(event: Event) -> dict[str, Any]:
    """Return what an event holds, in attributes or in a body, which Azure writes into an attribute as JSON."""
    fields = dict(event.attributes)
    for body in (opened(fields.pop(_AZURE_BODY, None)), opened(event.body)):
        if isinstance(body, Mapping):
            fields.update(body)
        elif is_broken(body):
            fields["content"] = body
    return fields


def _body_messages(event: Event, side: str, role: str) -> Iterator[Messages]:
    """Yield the messages of an event of a log, as AWS's distribution makes them of what went in and came out."""
    holder = event.body.get(side) if isinstance(event.body, Mapping) else None
    if isinstance(holder, Mapping) and "messages" in holder:
        yield Messages(holder["messages"], (*event.path, "body", side, "messages"), role)


def _plain_inputs(span: Span) -> Iterator[Messages]:
    """Yield what a model or an agent was given, where it stands as whoever asked it wrote it."""
    events = opened(span.attributes.get("events"))  # Logfire's attribute, of inputs and outputs
    if isinstance(events, list):
        inputs = [item for item in events if not _is_choice(item)]
        yield Messages(inputs, (*span.path, "attributes", "events"), "user")
        return
    keys = ("ai.prompt.messages", "ai.prompt", "gcp.vertex.agent.llm_request", "request_data", "mlflow.spanInputs")
    found = list(_messages(span, keys, "user"))
    is_prompt = span.attributes.get("input.mime_type") == "text/plain" and kind_of(span) in ("agent", "model")
    for messages in found or (list(_messages(span, ("input.value",), "user")) if is_prompt else []):
        yield from _within_request(messages)


def _within_request(messages: Messages) -> Iterator[Messages]:
    """Yield the messages of a request, which also says of what kind the answer is to be."""
    data = opened(messages.data)
    if not isinstance(data, dict):
        yield messages
        return
    instructions = data.get("system_instruction", data.get("instructions", data.get("system")))
    config = data.get("config")
    if instructions is None and isinstance(config, dict):
        instructions = config.get("system_instruction")
    if instructions:
        yield Messages(instructions, messages.path, "system")
    for key in ("messages", "contents", "input", "prompt"):
        if data.get(key):
            yield Messages(data[key], (*messages.path, key), "user")
            return


def _plain_outputs(span: Span) -> Iterator[Messages]:
    events = opened(span.attributes.get("events"))
    if isinstance(events, list):
        yield Messages([item for item in events if _is_choice(item)], (*span.path, "attributes", "events"), "assistant")
        return
    if is_broken(events):
        yield Messages(events, (*span.path, "attributes", "events"), "assistant")
        return
    text, calls = span.attributes.get("ai.response.text"), opened(span.attributes.get("ai.response.toolCalls"))
    if text or calls:
        data = {"role": "assistant", "content": text, "tool_calls": calls}
        yield Messages(data, (*span.path, "attributes", "ai.response"), "assistant")
    elif kind_of(span) == "model":
        keys = ("gcp.vertex.agent.llm_response", "response_data", "mlflow.spanOutputs")
        yield from _messages(span, keys, "assistant")


def _langfuse_messages(span: Span, side: str, role: str) -> Iterator[Messages]:
    key = f"langfuse.observation.{side}"
    path = (*span.path, "attributes", key)
    told = read_payload(span.attributes.get(key), path, role, speaks=bool(kind_of(span)))
    if told is not None:
        yield Messages(told, path, role)


def _is_choice(item: Any) -> bool:
    return isinstance(item, Mapping) and item.get("event.name") == "gen_ai.choice"


# --------------------------------------------------------------------------- what AWS writes of LangChain in log events


def _body_of(span: Span) -> tuple[Any, Any]:
    """Return what is in the only message that went in and the only one that came out, of a body in a log's event."""
    for event in span.events:
        sides = [list(_body_messages(event, side, "")) for side in ("input", "output")]
        if all(sides):
            return tuple(_content_of(side[0].data) for side in sides)
    return None, None


def _content_of(messages: Any) -> Any:
    last = messages[-1] if isinstance(messages, list) and messages else None
    return last.get("content") if isinstance(last, Mapping) else None


def _kind_of_bodies(span: Span) -> str:
    output = opened(_body_of(span)[1]) if span.events else None
    if not isinstance(output, dict):
        return ""
    if output.get("type") == "tool" and "tool_call_id" in output:
        return "tool"
    return "model" if "generations" in output else ""


def _tool_body(span: Span) -> ToolRun | None:
    given, came = _body_of(span)
    output = opened(came)
    if not isinstance(output, dict) or output.get("type") != "tool":
        return None
    payload, call_id, failed = _unwrapped(output)
    name = output.get("name")
    own_name = name if isinstance(name, str) else ""
    return ToolRun(own_name or span.name, arguments_of(given), call_id, payload, True, failed, is_named=bool(own_name))
