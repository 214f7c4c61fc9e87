"""Real instrumentations of real frameworks, with models that answer as they are told: spans, and what the tools noted.

Each test is skipped where what it needs is not installed.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from framework_support import FIRST_TURN, SECOND_TURN, Tools, assert_witnessed, decoded, detected_names
from provider_support import scripted
from telemetry_support import Recorder, exports

from tracewitness.readers import read, read_all
from tracewitness.trace import Trace

pytestmark = pytest.mark.filterwarnings("ignore")  # the frameworks' own
OTHER_AGENT = "clerk"


def assert_told_once(spans: Any, tools: Tools, *, errors_told: bool = True, decode: Any = decoded) -> Trace:
    """Check that however the spans were exported, the trace has the calls that were made, and return it."""
    known = None
    for kind, source in exports(spans):
        (trace,) = read_all(source)
        assert_witnessed(trace, tools, errors_told=errors_told, decode=decode)
        events = [{key: event[key] for key in event if key not in ("at", "until")} for event in trace.to_events()]
        assert known in (None, events), kind
        known = events
    assert detected_names([json.loads(span.to_json()) for span in spans]) == ["opentelemetry"]
    return read(list(spans))


def calls(trace: Trace) -> list[tuple[str, str | None]]:
    return [(call.name, call.agent) for call in trace.calls]


# -------------------------------------------------------------------------------------------------------------- openai


def _completion(text: str | None, *made: tuple[str, Any], prefix: str = "") -> dict[str, Any]:
    called = [
        {"id": f"{prefix}{number}", "type": "function", "function": {"name": name, "arguments": json.dumps(args)}}
        for number, (name, args) in enumerate(made)
    ]
    message = {"role": "assistant", "content": text, **({"tool_calls": called} if called else {})}
    choice = {"index": 0, "finish_reason": "tool_calls" if called else "stop", "message": message}
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    return {"id": "x", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], "usage": usage}


def _ask(openai: Any, tools: Tools) -> None:
    """Let a model call the tools, in two turns of a conversation that is kept by hand."""
    http = pytest.importorskip("httpx2", reason="httpx2 is not installed")
    answers = [
        _completion("Looking.", *FIRST_TURN, prefix="a"),
        _completion("Found."),
        _completion(None, *SECOND_TURN, prefix="b"),
        _completion("Done."),
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
    trace = assert_told_once(recorder.spans, tools, errors_told=False)
    assert [call.turn for call in trace.calls] == [1, 1, 2, 2]
    said = [event["agent"] for event in trace.to_events() if "agent" in event]
    assert said == ["Looking.", "Found.", "Done."]


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


# ------------------------------------------------------------------------------------------------------------- strands


def _strands_model(script: list[list[Any]]) -> Any:
    """Return a model that says the texts and makes the calls of its script, one list after the other."""
    from strands.models.model import Model

    class Scripted(Model):  # type: ignore[misc]
        def update_config(self, **_: Any) -> None:
            """Do nothing."""

        def get_config(self) -> dict[str, Any]:
            return {}

        async def structured_output(self, *_: Any, **__: Any) -> AsyncIterator[Any]:
            yield {}

        async def stream(self, *_: Any, **__: Any) -> AsyncIterator[Any]:
            answer = script.pop(0)
            yield {"messageStart": {"role": "assistant"}}
            for number, part in enumerate(answer):
                for event in _strands_events(part, f"{len(script)}-{number}"):
                    yield event
            is_call = any(isinstance(part, tuple) for part in answer)
            yield {"messageStop": {"stopReason": "tool_use" if is_call else "end_turn"}}

    return Scripted()


def _strands_events(part: Any, call_id: str) -> Iterator[Any]:
    if isinstance(part, str):
        yield {"contentBlockStart": {"start": {}}}
        yield {"contentBlockDelta": {"delta": {"text": part}}}
    else:
        yield {"contentBlockStart": {"start": {"toolUse": {"name": part[0], "toolUseId": call_id}}}}
        yield {"contentBlockDelta": {"delta": {"toolUse": {"input": json.dumps(part[1])}}}}
    yield {"contentBlockStop": {}}


@pytest.mark.parametrize("conventions", ["", "gen_ai_latest_experimental"])
def test_strands(conventions: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Messages in events, by the old conventions or the new."""
    strands = pytest.importorskip("strands", reason="strands-agents is not installed")
    monkeypatch.setenv("OTEL_SEMCONV_STABILITY_OPT_IN", conventions)
    recorder, tools = Recorder(), Tools()
    monkeypatch.setattr("strands.telemetry.tracer._tracer_instance", None, raising=False)
    monkeypatch.setattr("opentelemetry.trace.get_tracer_provider", lambda: recorder.provider)
    monkeypatch.setattr("strands.telemetry.tracer.trace_api.get_tracer_provider", lambda: recorder.provider)
    own = [strands.tool(tool) for tool in (tools.search, tools.steer, tools.weather)]
    script: list[list[Any]] = [["Looking.", *FIRST_TURN], ["Found."], [*SECOND_TURN], ["Done."]]
    agent = strands.Agent(
        model=_strands_model(script), tools=own, name="shop", system_prompt="Help.", callback_handler=None
    )
    with recorder.provider.get_tracer("test").start_as_current_span("conversation"):
        agent("Find.")
        agent("Turn.")
    trace = assert_told_once(recorder.spans, tools)
    assert [call.turn for call in trace.calls] == [1, 1, 2, 2]
    assert {call.agent for call in trace.calls} == {"shop"}
    said = [event["agent"] for event in trace.to_events() if "agent" in event]
    assert said == ["Looking.", "Found.", "Done."]


# ---------------------------------------------------------------------------------------------------------- google-adk


def _adk_model(types: Any, script: list[tuple[Any, ...]]) -> Any:
    from google.adk.models import BaseLlm, LlmResponse

    class Scripted(BaseLlm):  # type: ignore[misc]
        async def generate_content_async(self, *_: Any, **__: Any) -> AsyncIterator[Any]:
            parts = [
                types.Part(text=part)
                if isinstance(part, str)
                else types.Part.from_function_call(name=part[0], args=part[1])
                for part in script.pop(0)
            ]
            yield LlmResponse(content=types.Content(role="model", parts=parts))

    return Scripted(model="scripted")


async def _converse(runner: Any, types: Any, said: list[str]) -> None:
    session = await runner.session_service.create_session(app_name="app", user_id="u")
    for words in said:
        content = types.Content(role="user", parts=[types.Part(text=words)])
        async for _ in runner.run_async(user_id="u", session_id=session.id, new_message=content):
            pass


_ADK_CONVENTIONS = {
    "its own": {"ADK_TELEMETRY_SCHEMA_VERSION_OPT_IN": "1"},
    "OpenTelemetry's": {
        "OTEL_SEMCONV_STABILITY_OPT_IN": "gen_ai_latest_experimental",
        "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "SPAN_ONLY",
    },
}


@pytest.mark.parametrize("conventions", _ADK_CONVENTIONS)
def test_google_adk(conventions: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two turns, each a trace of one session, and a transfer; parallel calls have a span of all of them, too."""
    adk = pytest.importorskip("google.adk.agents", reason="google-adk is not installed")
    from google.adk.runners import InMemoryRunner
    from google.genai import types

    recorder, tools = Recorder(), Tools()
    for name, value in _ADK_CONVENTIONS[conventions].items():
        monkeypatch.setenv(name, value)
    _record_adk(recorder, monkeypatch)
    own = [tools.search, tools.steer, tools.weather]
    about = {"tools": own, "on_tool_error_callback": lambda *_, error, **__: {"error": str(error)}}
    clerk = adk.LlmAgent(name=OTHER_AGENT, model=_adk_model(types, [SECOND_TURN, ("Done.",)]), **about)
    script = [("Looking.", *FIRST_TURN), ("Found.",), (("transfer_to_agent", {"agent_name": OTHER_AGENT}),)]
    shop = adk.LlmAgent(name="shop", model=_adk_model(types, script), sub_agents=[clerk], **about)
    asyncio.run(_converse(InMemoryRunner(shop, app_name="app"), types, ["Find.", "Turn."]))
    trace = assert_told_once(recorder.spans, tools, decode=_adk_result)
    assert calls(trace) == [
        *(("search", "shop"), ("search", "shop"), ("transfer_to_agent", "shop")),
        *(("steer", OTHER_AGENT), ("weather", OTHER_AGENT)),
    ]
    assert [event["user"] for event in trace.to_events() if "user" in event] == ["Find.", "Turn."]
    assert [event for event in trace.to_events() if "transfer" in event] == [{"transfer": OTHER_AGENT, "by": "shop"}]


def _record_adk(recorder: Recorder, monkeypatch: pytest.MonkeyPatch) -> None:
    from google.adk.telemetry import tracing

    tracer = recorder.provider.get_tracer("gcp.vertex.agent")
    monkeypatch.setattr(tracing, "tracer", tracer)
    for module in ("runners", "agents.base_agent", "flows.llm_flows.base_llm_flow", "flows.llm_flows.functions"):
        with contextlib.suppress(AttributeError, ImportError):
            monkeypatch.setattr(f"google.adk.{module}.tracer", tracer)


def _adk_result(payload: Any) -> Any:
    found = decoded(payload)
    return found["result"] if isinstance(found, dict) and set(found) == {"result"} else found


# -------------------------------------------------------------------------------------------------------------- mlflow


def test_mlflow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What it traces by its decorators: its own spans, its own JSON."""
    mlflow = pytest.importorskip("mlflow", reason="mlflow is not installed")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "1")
    mlflow.set_tracking_uri(tmp_path.as_uri())
    mlflow.set_experiment("shop")
    tools = Tools()
    traced = {
        name: mlflow.trace(getattr(tools, name), span_type="TOOL", name=name) for name in ("search", "steer", "weather")
    }
    answers = [
        _completion("Looking.", *FIRST_TURN, prefix="a"),
        _completion(None, *SECOND_TURN, prefix="b"),
        _completion("Done."),
    ]

    @mlflow.trace(span_type="CHAT_MODEL")  # type: ignore[untyped-decorator]
    def chat(messages: list[Any]) -> Any:
        return answers.pop(0)

    @mlflow.trace(span_type="AGENT")  # type: ignore[untyped-decorator]
    def agent(task: str) -> Any:
        messages: list[Any] = [{"role": "user", "content": task}]
        while "tool_calls" in (message := chat(list(messages))["choices"][0]["message"]):
            messages.append(message)
            for call in message["tool_calls"]:
                with contextlib.suppress(RuntimeError):
                    traced[call["function"]["name"]](**json.loads(call["function"]["arguments"]))
                messages.append({"role": "tool", "tool_call_id": call["id"], "content": "(told)"})
        return message["content"]

    agent("Find.")
    mlflow.flush_trace_async_logging()
    recorded = mlflow.get_trace(mlflow.get_last_active_trace_id())
    for source in (recorded.to_json(), recorded.to_dict(), [json.loads(recorded.to_json())]):
        (trace,) = read_all(source)
        assert_witnessed(trace, tools)
        assert [event["agent"] for event in trace.to_events() if "agent" in event] == ["Looking.", "Done."]
