"""Traces of the real MLflow, and what the tools noted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from framework_support import FIRST_TURN, SECOND_TURN, Tools, assert_witnessed
from telemetry_support import completion

from tracewitness.readers import read_all

pytestmark = pytest.mark.filterwarnings("ignore")  # the frameworks' own


def test_mlflow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What it traces by its decorators: its own spans, its own JSON."""
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "1")
    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")  # to its makers
    mlflow = pytest.importorskip("mlflow", reason="mlflow is not installed")
    mlflow.set_tracking_uri(tmp_path.as_uri())
    mlflow.set_experiment("shop")
    tools = Tools()
    traced = {
        name: mlflow.trace(getattr(tools, name), span_type="TOOL", name=name) for name in ("search", "steer", "weather")
    }
    answers = [
        completion("Looking.", *FIRST_TURN, prefix="a"),
        completion(None, *SECOND_TURN, prefix="b"),
        completion("Done."),
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
                function = call["function"]
                try:
                    told = json.dumps(traced[function["name"]](**json.loads(function["arguments"])))
                except RuntimeError as error:
                    told = f"Error: {error}"
                messages.append({"role": "tool", "tool_call_id": call["id"], "content": told})
        return message["content"]

    agent("Find.")
    mlflow.flush_trace_async_logging()
    recorded = mlflow.get_trace(mlflow.get_last_active_trace_id())
    for source in (recorded.to_json(), recorded.to_dict(), [json.loads(recorded.to_json())]):
        (trace,) = read_all(source)
        assert_witnessed(trace, tools)
        assert [event["agent"] for event in trace.to_events() if "agent" in event] == ["Looking.", "Done."]
