"""What the benchmarks share: the recorded conversations, and the table of ratios that is printed at the end."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

TAU_BENCH = "tau-bench/historical_trajectories/gpt-4o-airline.json"
TAU2 = "tau2-toolorchestra"
_LINES: list[str] = []


def corpora() -> Path:
    """Return the folder of real recordings: beside the checkout, or where TRACEWITNESS_CORPORA says."""
    default = Path(__file__).resolve().parents[2] / "shared" / "corpora"
    return Path(os.environ.get("TRACEWITNESS_CORPORA", default))


def neutral(row: dict[str, Any], *, decode_results: bool) -> bytes:
    """Write a recorded conversation in neutral form, all of it, results as the recorded texts or decoded."""
    events: list[dict[str, Any]] = []
    for message in row["traj"]:
        role, content = message["role"], message.get("content")
        if role == "tool":
            payload = _decoded(content) if decode_results else content
            events.append({"result": payload, "of": message["name"], "id": message["tool_call_id"]})
        elif role != "assistant":
            events.append({role: content})
        elif content:
            events.append({"agent": content})
        for call in message.get("tool_calls") or []:
            function = call["function"]
            arguments = json.loads(function["arguments"])
            events.append({"call": function["name"], "args": arguments, "id": call["id"]})
    return json.dumps({"name": f"task-{row['task_id']}", "events": events}).encode()


def anthropic(row: dict[str, Any]) -> list[dict[str, Any]]:
    """Write a recorded conversation as messages of Anthropic, which have no place for what the system says."""
    messages: list[dict[str, Any]] = []
    for message in row["traj"]:
        role, content = message["role"], message.get("content")
        if role == "tool":
            result = {"type": "tool_result", "tool_use_id": message["tool_call_id"], "content": content}
            messages.append({"role": "user", "content": [result]})
        elif calls := message.get("tool_calls"):
            blocks = [{"type": "text", "text": content}] if content else []
            for call in calls:
                function = call["function"]
                arguments = json.loads(function["arguments"])
                blocks.append({"type": "tool_use", "id": call["id"], "name": function["name"], "input": arguments})
            messages.append({"role": role, "content": blocks})
        elif role != "system":
            messages.append({"role": role, "content": content})
    return messages


def _decoded(content: str) -> Any:
    try:
        return json.loads(content)
    except ValueError:
        return content


@pytest.fixture(scope="session")
def recorded_rows() -> list[dict[str, Any]]:
    """Return the 200 recorded conversations of tau-bench."""
    path = corpora() / TAU_BENCH
    if not path.exists():
        pytest.skip(f"the recordings of {TAU_BENCH} are not here")
    rows: list[dict[str, Any]] = json.loads(path.read_text("utf-8"))
    return rows


@pytest.fixture(scope="session")
def recorded_simulations() -> list[dict[str, Any]]:
    """Return the 50 recorded simulations of tau2-bench."""
    path = next((corpora() / TAU2).rglob("toolorchestra_airline_*.json"), None)
    if path is None:
        pytest.skip(f"the recordings of {TAU2} are not here")
    simulations: list[dict[str, Any]] = json.loads(path.read_text("utf-8"))["simulations"]
    return simulations


@pytest.fixture(scope="session")
def say() -> Any:
    """Return a function that adds a line to what is printed at the end."""
    return _LINES.append


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print the lines."""
    if _LINES:
        terminalreporter.section("ratios and whole processes")
        for line in _LINES:
            terminalreporter.write_line(line)
