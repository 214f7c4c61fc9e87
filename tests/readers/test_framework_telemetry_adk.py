"""Spans of the real Google ADK, and what the tools noted."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import pytest
from framework_support import FIRST_TURN, SECOND_TURN, Tools, decoded
from telemetry_support import OTHER_AGENT, Recorder, assert_told_once, calls

pytestmark = pytest.mark.filterwarnings("ignore")  # the frameworks' own


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
