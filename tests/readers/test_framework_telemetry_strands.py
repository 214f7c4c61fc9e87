"""Spans of the real Strands, and what the tools noted."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from framework_support import FIRST_TURN, SECOND_TURN, Tools
from telemetry_support import Recorder, assert_told_once

pytestmark = pytest.mark.filterwarnings("ignore")  # the frameworks' own


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
