"""Spans of real clients and frameworks, by their own instrumentations and others', and what the tools noted."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

import pytest
from framework_support import FIRST_TURN, SECOND_TURN, Tools, decoded
from provider_support import scripted
from telemetry_support import OTHER_AGENT, Recorder, assert_told_once, calls, completion

pytestmark = pytest.mark.filterwarnings("ignore")  # the frameworks' own


# -------------------------------------------------------------------------------------------------------------- openai


def _ask(openai: Any, tools: Tools) -> None:
    """Let a model call the tools, in two turns of a conversation that is kept by hand."""
    http = pytest.importorskip("httpx2", reason="httpx2 is not installed")
    answers = [
        completion("Looking.", *FIRST_TURN, prefix="a"),
        completion("Found."),
        completion(None, *SECOND_TURN, prefix="b"),
        completion("Done."),
    ]
    client = openai.OpenAI(api_key="x", base_url="http://model.invalid", http_client=scripted(http, answers, []))
    messages: list[Any] = [{"role": "system", "content": "Help."}]
    for words in ("Find.", "Turn."):
        messages.append({"role": "user", "content": words})
        while (message := client.chat.completions.create(model="m", messages=messages).choices[0].message).tool_calls:
            messages.append(message.model_dump(exclude_none=True))
            messages += [
                {"role": "tool", "tool_call_id": call.id, "content": _run(tools, call.function)}
                for call in message.tool_calls
            ]
        messages.append({"role": "assistant", "content": message.content})


def _run(tools: Tools, function: Any) -> str:
    try:
        return json.dumps(getattr(tools, function.name)(**json.loads(function.arguments)))
    except RuntimeError as error:
        return f"Error: {error}"


@pytest.mark.parametrize("package", ["opentelemetry.instrumentation.openai", "openinference.instrumentation.openai"])
def test_openai(package: str) -> None:
    """A client: each of its spans has the whole history, and no span is a tool's."""
    openai = pytest.importorskip("openai", reason="openai is not installed")
    instrumentation = pytest.importorskip(package, reason=f"{package} is not installed")
    recorder, tools = Recorder(), Tools()
    instrumentor = instrumentation.OpenAIInstrumentor()
    instrumentor.instrument(tracer_provider=recorder.provider)
    try:
        with recorder.provider.get_tracer("test").start_as_current_span("conversation"):
            _ask(openai, tools)
    finally:
        instrumentor.uninstrument()
        _unwrap_openai()
    trace = assert_told_once(recorder.spans, tools, errors_told=False)
    assert [call.turn for call in trace.calls] == [1, 1, 2, 2]
    said = [event["agent"] for event in trace.to_events() if "agent" in event]
    assert said == ["Looking.", "Found.", "Done."]


def _unwrap_openai() -> None:
    """Undo what an instrumentation wrapped: its own way back ends at the first module that is no more."""
    wrapt = pytest.importorskip("wrapt", reason="wrapt is not installed")
    modules = [module for name, module in sys.modules.items() if name.startswith("openai.resources")]
    for kind in [value for module in modules for value in vars(module).values() if isinstance(value, type)]:
        for name, member in list(vars(kind).items()):
            if isinstance(member, wrapt.FunctionWrapper):
                setattr(kind, name, member.__wrapped__)


# --------------------------------------------------------------------------------------------------------- pydantic-ai


@pytest.mark.parametrize("version", [2, 5])
def test_pydantic_ai(version: int) -> None:
    """Spans of its agent, its models and its tools, in an old and a new version of the conventions."""
    pydantic_ai = pytest.importorskip("pydantic_ai", reason="pydantic-ai is not installed")
    from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
    from pydantic_ai.models.function import FunctionModel
    from pydantic_ai.models.instrumented import InstrumentationSettings

    recorder, tools = Recorder(), Tools()
    script = [
        [TextPart("Looking."), *(ToolCallPart(name, args, f"a{args['query']}") for name, args in FIRST_TURN)],
        [TextPart("Found.")],
        [ToolCallPart(name, args, f"b{name}") for name, args in SECOND_TURN],
        [TextPart("Done.")],
    ]
    agent = pydantic_ai.Agent(FunctionModel(lambda *_: ModelResponse(parts=script.pop(0))), name="shop")
    agent.instrument = InstrumentationSettings(tracer_provider=recorder.provider, version=version)
    for tool in (tools.search, tools.weather):
        agent.tool_plain(tool)

    @agent.tool_plain(retries=2)
    def steer(angle: float) -> str:
        try:
            return tools.steer(angle)
        except RuntimeError as error:
            raise pydantic_ai.ModelRetry(str(error)) from error

    with recorder.provider.get_tracer("test").start_as_current_span("conversation"):
        first = asyncio.run(agent.run("Find."))
        asyncio.run(agent.run("Turn.", message_history=first.all_messages()))
    trace = assert_told_once(recorder.spans, tools)
    assert [call.turn for call in trace.calls] == [1, 1, 2, 2]
    assert {call.agent for call in trace.calls} == {"shop"}
    assert [event["user"] for event in trace.to_events() if "user" in event] == ["Find.", "Turn."]


# ------------------------------------------------------------------------------------------------------- openai-agents


def _made(name: str, args: Any, call_id: str) -> Any:
    from openai.types.responses import ResponseFunctionToolCall

    return ResponseFunctionToolCall(
        type="function_call", id=f"fc_{call_id}", call_id=call_id, name=name, arguments=json.dumps(args)
    )


def _said(text: str) -> Any:
    from openai.types.responses import ResponseOutputMessage, ResponseOutputText

    content = [ResponseOutputText(type="output_text", text=text, annotations=[])]
    return ResponseOutputMessage(id="m1", type="message", role="assistant", status="completed", content=content)


def _scripted_model(sdk: Any, script: list[list[Any]]) -> Any:
    """Return a model whose answers are traced as those of OpenAI's are."""
    from agents.tracing import response_span
    from openai.types.responses import Response

    class Scripted(sdk.Model):  # type: ignore[misc]
        async def get_response(self, system_instructions: Any, input: Any, **_: Any) -> Any:  # noqa: A002
            with response_span() as span:
                output = script.pop(0)
                whole = {"id": "r1", "created_at": 0, "model": "m", "object": "response", "output": output}
                span.span_data.response = Response(
                    **whole, instructions=system_instructions, parallel_tool_calls=True, tool_choice="auto", tools=[]
                )
                span.span_data.input = input
                return sdk.ModelResponse(output=output, usage=sdk.Usage(), response_id="r1")

        def stream_response(self, *_: Any, **__: Any) -> Any:
            raise NotImplementedError

    return Scripted()


def test_openai_agents() -> None:
    """Two agents, one of which hands over to the other."""
    sdk = pytest.importorskip("agents", reason="openai-agents is not installed")
    package = "openinference.instrumentation.openai_agents"
    instrumentation = pytest.importorskip(package, reason=f"{package} is not installed")
    recorder, tools = Recorder(), Tools()
    instrumentation.OpenAIAgentsInstrumentor().instrument(tracer_provider=recorder.provider)

    def told(_: Any, error: Exception) -> str:
        return f"Error: {error}"

    own = [sdk.function_tool(tool, failure_error_function=told) for tool in (tools.search, tools.steer, tools.weather)]
    clerk = sdk.Agent(
        OTHER_AGENT,
        tools=own,
        model=_scripted_model(sdk, [[_made(*SECOND_TURN[0], "b0"), _made(*SECOND_TURN[1], "b1")], [_said("Done.")]]),
    )
    script = [[_made(*FIRST_TURN[0], "a0"), _made(*FIRST_TURN[1], "a1")], [_made("transfer_to_clerk", {}, "h0")]]
    shop = sdk.Agent("shop", tools=own, handoffs=[clerk], model=_scripted_model(sdk, script))
    try:
        asyncio.run(sdk.Runner.run(shop, "Find."))
    finally:
        instrumentation.OpenAIAgentsInstrumentor().uninstrument()
    trace = assert_told_once(recorder.spans, tools, decode=_value_of)
    assert calls(trace) == [
        *(("search", "shop"), ("search", "shop"), ("transfer_to_clerk", "shop")),
        *(("steer", OTHER_AGENT), ("weather", OTHER_AGENT)),
    ]
    assert [event for event in trace.to_events() if "transfer" in event] == [{"transfer": OTHER_AGENT, "by": "shop"}]


def _value_of(payload: Any) -> Any:
    """Return what a tool returned: a model is told the `repr` of what is no text."""
    is_repr = isinstance(payload, str) and payload.startswith("{'")
    return json.loads(payload.replace("'", '"')) if is_repr else decoded(payload)
