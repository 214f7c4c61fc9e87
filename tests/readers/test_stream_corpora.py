"""Real streams are read by detection alone, with as many calls as their own markers say."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from provider_support import corpora

from tracewitness.readers import read, read_all
from tracewitness.readers.documents import decode_document

#: How many files of chunks there are, and how many calls are in them.
CHUNKS = (57, 104)
#: By folder: how many bodies are streams of a model's answer, and how many calls are in them.
BODIES = {"pydantic-ai": (47, 48), "openllmetry": (38, 55)}
#: Its first and its last line lack a bracket each: without an end it is a broken stream, though its call is there.
TORN = "parallel-tool-call-wrapper.1.chunks.txt"
#: It begins with a summary of what came before, which may have called anything.
SUMMED_UP = "anthropic-compaction.1.chunks.txt"
#: It holds the answer to a call that an earlier response made.
CONTINUED = "programmatic-tool-calling.3.chunks.txt"

_CALL_ITEMS = frozenset(
    {"function_call", "custom_tool_call", "mcp_call", "tool_search_call", "local_shell_call", "shell_call"}
    | {"web_search_call", "file_search_call", "code_interpreter_call", "image_generation_call", "apply_patch_call"}
)
_USES = frozenset({"tool_use", "server_tool_use", "mcp_tool_use"})


def _made(event: Any) -> int:
    """Count the calls that begin with an event, whatever the format."""
    if not isinstance(event, dict):
        return 0
    kind = event.get("type") or event.get("event_type")
    if kind == "response.output_item.done":
        return int(event["item"]["type"] in _CALL_ITEMS)
    if kind == "content_block_start":
        return int(event["content_block"]["type"] in _USES)
    if kind == "message_start":
        return sum(block["type"] in _USES for block in event["message"]["content"])
    if kind == "step.start":
        return int(event["step"]["type"].endswith("_call"))
    if kind == "tool-call-start" or "toolUse" in event.get("contentBlockStart", {}).get("start", {}):
        return 1
    if event.get("object") == "thread.run.step.delta":
        return sum("id" in call for call in event["delta"]["step_details"].get("tool_calls") or ())
    parts = [part for candidate in event.get("candidates") or () for part in candidate["content"]["parts"]]
    deltas = [choice["delta"] for choice in event.get("choices") or ()]
    calls = [call for delta in deltas for call in delta.get("tool_calls") or ()]
    return sum(bool(part.get("functionCall", {}).get("name")) for part in parts) + sum(
        bool(call["function"].get("name")) for call in calls
    )


def _decoded(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None


def test_chunks_of_the_ai_sdk() -> None:
    """One chunk on each line, of every provider; each file is one run."""
    folder = corpora() / "vercel-ai"
    if not folder.exists():
        pytest.skip("the recordings of vercel-ai are not here")
    files = sorted(folder.rglob("*.chunks.txt"))
    calls = 0
    broken = []
    for path in files:
        (trace,) = read_all(path)
        events = map(_decoded, path.read_text("utf-8").split("\n"))
        assert (path.name, len(trace.calls)) == (path.name, sum(map(_made, events)))
        calls += len(trace.calls)
        broken += [path.name] if trace.problems else []
    assert (len(files), calls) == CHUNKS
    assert broken == [SUMMED_UP, TORN, CONTINUED]


def _bodies(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Yield what came back as a stream, of whatever provider."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    for path in sorted(folder.rglob("*.yaml")):
        cassette = yaml.load(path.read_bytes(), Loader=loader)  # noqa: S506 - it is a safe one
        for number, interaction in enumerate(cassette.get("interactions") or ()):
            response = interaction["response"]
            headers = {name.lower(): value for name, value in (response.get("headers") or {}).items()}
            body = (response.get("body") or {}).get("string")
            if "event" in str(headers.get("content-type")) and body:
                yield f"{path.name} {number}", body.encode() if isinstance(body, str) else body


@pytest.mark.parametrize("name", BODIES)
def test_bodies_of_cassettes(name: str) -> None:
    """Server-sent events and event streams; answers of MCP servers come as events, too, and are no model's."""
    folder = corpora() / name
    if not folder.exists():
        pytest.skip(f"the recordings of {name} are not here")
    bodies = calls = 0
    broken = []
    for place, body in _bodies(folder):
        plain = gzip.decompress(body) if body.startswith(b"\x1f\x8b") else body
        events = decode_document(plain)
        if any("jsonrpc" in event for event in events):
            continue
        trace = read(body)
        assert (place, len(trace.calls)) == (place, sum(map(_made, events)))
        bodies += 1
        calls += len(trace.calls)
        broken += [place] if trace.problems else []
    assert (bodies, calls) == BODIES[name]
    # The server refused what the model had answered.
    assert broken == (["test_tool_use_failed_error_streaming_with_text.yaml 0"] if name == "pydantic-ai" else [])
