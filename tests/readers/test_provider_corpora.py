"""Real recordings of providers' answers are read by detection alone, with as many calls as their own markers say."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from provider_support import corpora

from tracewitness.readers import READERS, read
from tracewitness.trace import ToolResult

TAU_BENCH = "tau-bench/historical_trajectories/gpt-4o-airline.json"
#: By folder: how many documents are of a provider's format, and how many calls are in them.
CASSETTES = {"pydantic-ai": (885, 665), "openllmetry": (141, 91)}
_FORMATS = ("openai-chat", "openai-responses", "anthropic-messages", "gemini")


def _folder(name: str) -> Path:
    path = corpora() / name
    if not path.exists():
        pytest.skip(f"the recordings of {name} are not here")
    return path


def test_tau_bench() -> None:
    """200 conversations with 1,164 calls; ids are reused, and no result goes to a call of another tool."""
    rows: list[dict[str, Any]] = json.loads(_folder(TAU_BENCH).read_text("utf-8"))
    traces = [read(row["traj"]) for row in rows]
    assert (len(traces), sum(len(trace.calls) for trace in traces)) == (200, 1164)
    assert [trace.problems for trace in traces if trace.problems] == []
    for row, trace in zip(rows, traces, strict=True):
        names = [message["name"] for message in row["traj"] if message["role"] == "tool"]
        results = [event for event in trace.events if isinstance(event, ToolResult)]
        assert [trace.calls[result.call_number or 0].name for result in results] == names
        calls = [call for message in row["traj"] for call in message.get("tool_calls") or ()]
        assert [call.args for call in trace.calls] == [json.loads(call["function"]["arguments"]) for call in calls]


def _bodies(folder: Path) -> Iterator[tuple[str, Any]]:
    """Yield what was sent and what came back, where it is JSON: of one interaction what was sent comes first."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    for path in sorted(folder.rglob("*.yaml")):
        cassette = yaml.load(path.read_bytes(), Loader=loader)  # noqa: S506 - it is a safe one
        for interaction in cassette.get("interactions") or ():
            for side in ("request", "response"):
                yield f"{path.name} {side}", _body(interaction[side])


def _body(part: dict[str, Any]) -> Any:
    if "parsed_body" in part:
        return part["parsed_body"]
    body = part.get("body")
    body = body.get("string") if isinstance(body, dict) else body
    if isinstance(body, bytes) and body.startswith(b"\x1f\x8b"):
        body = gzip.decompress(body)
    try:
        return json.loads(body or "null")
    except ValueError:
        return None


_CALL_TYPES = frozenset(
    {"function_call", "custom_tool_call", "mcp_call", "tool_use", "server_tool_use", "mcp_tool_use"}
    | {"web_search_call", "file_search_call", "code_interpreter_call", "image_generation_call", "tool_search_call"}
    | {"shell_call", "local_shell_call", "apply_patch_call", "computer_call"}
)
_ASIDE = frozenset({"tools", "input", "args", "arguments"})


def _marked(node: Any) -> int:
    """Count the markers of calls in an answer, whatever the format."""
    if isinstance(node, list):
        return sum(map(_marked, node))
    if not isinstance(node, dict):
        return 0
    count = int(node.get("type") in _CALL_TYPES)
    for key, value in node.items():
        if key in ("functionCall", "executableCode", "toolCall"):
            count += 1
        elif key == "tool_calls":
            count += len(value or ())
        elif key == "function_call" and isinstance(value, dict):
            count += any(value.values())
        elif key not in _ASIDE:
            count += _marked(value)
    return count


@pytest.mark.parametrize("name", CASSETTES)
def test_cassettes(name: str) -> None:
    """Requests with their histories, and answers: of each as many calls as there are markers."""
    readers = [reader for reader in READERS if reader.name in _FORMATS]
    documents = calls = 0
    for place, body in _bodies(_folder(name)):
        if not isinstance(body, (dict, list)) or not any(reader.detects(body) for reader in readers):
            continue
        told = next((body[key] for key in ("input", "messages", "contents") if key in body), body)
        trace = read(body)
        assert (place, len(trace.calls)) == (place, _marked(told))
        documents += 1
        calls += len(trace.calls)
    assert (documents, calls) == CASSETTES[name]
