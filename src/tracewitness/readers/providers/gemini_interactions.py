"""Read Gemini's interactions: responses with ``steps``, or ``outputs`` as they were once, requests and single steps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from tracewitness.display import show
from tracewitness.readers.providers.shared import doubt_cut, doubt_foreign_calls, give_back, told_trace
from tracewitness.readers.providers.streams import holds_events
from tracewitness.readers.reader import Reader
from tracewitness.readers.recording import Path, Recording, each_mapping, one_text, payload_of, refuse, word
from tracewitness.trace import Role, Trace

__all__ = ["READER", "SHAPE", "detects", "read", "read_item"]

SHAPE: Final = "an interaction has object: interaction, and steps such as function_call with arguments as a mapping"

_LISTS: Final = ("input", "steps", "outputs")
_SPEAKERS: Final[dict[str, Role]] = {"user": "user", "model": "agent", "system": "system"}
# Steps that no other format has; OpenAI's function_call has its arguments as text.
_OWN_STEPS: Final = frozenset(
    {
        "code_execution_call",
        "code_execution_result",
        "function_result",
        "google_maps_call",
        "google_maps_result",
        "google_search_call",
        "google_search_result",
        "mcp_server_tool_call",
        "mcp_server_tool_result",
        "model_output",
        "url_context_call",
        "url_context_result",
        "user_input",
    }
)
_SILENT: Final = frozenset({"audio", "document", "image", "thought", "video"})
_RUNNING: Final = frozenset({"in_progress", "queued"})
_UNFINISHED: Final = _RUNNING | {"cancelled", "failed", "budget_exceeded"}


def detects(document: Any) -> bool:
    """Whether decoded data is of this format."""
    if isinstance(document, Mapping):
        return _is_marked(document)
    return isinstance(document, list) and any(map(_is_marked, document))


def read(document: Any, name: str = "") -> Trace:
    """Read an interaction, a request for one, a step, or a list of these.

    Raises:
        ReadError: it is nothing of the kind.

    >>> read({"object": "interaction", "steps": [
    ...     {"type": "function_call", "id": "c1", "name": "search", "arguments": {"q": "lamp"}}]}).to_events()
    [{'call': 'search', 'args': {'q': 'lamp'}, 'id': 'c1'}]
    """
    recording = Recording()
    if isinstance(document, list):
        _read_items(recording, document, ())
    elif isinstance(document, Mapping) and (not document.keys().isdisjoint({*_LISTS, "type"}) or _is_marked(document)):
        read_item(recording, document, ())
    else:
        raise refuse(document, SHAPE)
    return told_trace(recording, document, name, detects, SHAPE)


def _is_marked(item: Any) -> bool:
    """Whether an item is of this format and of no other."""
    if not isinstance(item, Mapping):
        return False
    if "type" not in item:
        steps = (item.get(key) for key in _LISTS)
        return item.get("object") == "interaction" or any(
            isinstance(items, list) and any(map(_is_step, items)) for items in steps
        )
    return _is_step(item)


def _is_step(item: Any) -> bool:
    if not isinstance(item, Mapping):
        return False
    kind = word(item, "type")
    if kind == "function_call":
        return isinstance(item.get("arguments"), Mapping) and "call_id" not in item
    return kind in _OWN_STEPS


def _read_items(recording: Recording, items: Any, path: Path) -> None:
    for item, place in each_mapping(recording, items, path, "a step"):
        read_item(recording, item, place)


def read_item(recording: Recording, item: Mapping[str, Any], path: Path) -> None:
    """Read an interaction, a request for one, a turn or a step."""
    kind = word(item, "type")
    if kind:
        _read_step(recording, kind, item, path)
    elif "role" in item:
        _read_turn(recording, item, path)
    else:
        _read_interaction(recording, item, path)


def _read_interaction(recording: Recording, interaction: Mapping[str, Any], path: Path) -> None:
    if interaction.keys().isdisjoint({*_LISTS, "system_instruction"}) and interaction.get("object") != "interaction":
        recording.doubt(f"neither an interaction nor a step: {show(list(interaction))}", path)
    instruction = word(interaction, "system_instruction")
    if instruction:
        recording.say("system", instruction, (*path, "system_instruction"))
    _read_input(recording, interaction.get("input"), (*path, "input"))
    for key in ("steps", "outputs"):
        _read_items(recording, interaction.get(key), (*path, key))
    status = word(interaction, "status")
    doubt_cut(recording, 0, status, None, path)
    if status in _UNFINISHED or interaction.get("errors"):
        recording.failure = f"the interaction is {status}: {show(interaction.get('errors'))}"
        recording.doubt(recording.failure, path, cut=status in _RUNNING and not interaction.get("errors"))


def _read_input(recording: Recording, given: Any, path: Path) -> None:
    """Read what was given: a text, contents, steps, or turns."""
    items = [given] if isinstance(given, Mapping) else given
    if isinstance(items, str):
        recording.say("user", items, path)
    elif isinstance(items, list) and not any(isinstance(item, Mapping) and "role" in item for item in items):
        contents = [item for item in items if isinstance(item, Mapping) and word(item, "type") in {"text", *_SILENT}]
        if contents and len(contents) == len(items):
            _say(recording, "user", items, path)
        else:
            _read_items(recording, items, path)
    else:
        _read_items(recording, items, path)


def _read_turn(recording: Recording, turn: Mapping[str, Any], path: Path) -> None:
    doubt_foreign_calls(recording, turn, path)
    speaker = _SPEAKERS.get(word(turn, "role"))
    content = turn.get("content")
    if speaker is None:
        recording.doubt(f"an unknown role {show(turn.get('role'))}", path)
    elif isinstance(content, list) and any(map(_is_step, content)):
        _read_items(recording, content, (*path, "content"))
    else:
        _say(recording, speaker, content, path)


def _read_step(recording: Recording, kind: str, step: Mapping[str, Any], path: Path) -> None:
    if kind == "text":
        recording.say("agent", word(step, "text"), path)
    elif kind in ("model_output", "user_input"):
        _say(recording, "agent" if kind == "model_output" else "user", step.get("content"), path)
    elif kind.endswith("_call"):
        server = step.get("server_name")
        beside = {"server_name": server} if isinstance(server, str) else None
        recording.call(_tool(kind, step), step.get("arguments"), step.get("id"), path, metadata=beside)
    elif kind.endswith("_result"):
        give_back(recording, step, payload_of(step.get("result")), step.get("call_id"), path, of=step.get("name"))
    elif kind not in _SILENT:
        recording.doubt(f"an unknown step of type {show(kind)}", path)


def _tool(kind: str, step: Mapping[str, Any]) -> Any:
    """Return the name of a tool; one that the provider has is named by the step's type."""
    return step.get("name") if kind in ("function_call", "mcp_server_tool_call") else kind.removesuffix("_call")


def _say(recording: Recording, speaker: Role, content: Any, path: Path) -> None:
    if isinstance(content, str):
        recording.say(speaker, content, path)
        return
    texts = []
    for part, place in each_mapping(recording, content, (*path, "content"), "a content"):
        text = one_text(part)
        if text is not None:
            texts.append(text)
        elif word(part, "type") not in _SILENT:
            recording.doubt(f"an unknown content {show(dict(part))}", place, hides_call=speaker == "agent")
    recording.say(speaker, "\n".join(texts), path)


READER: Final = Reader(
    "gemini-interactions",
    detects=detects,
    read=read,
    shape=SHAPE,
    yields=holds_events,
    keys=frozenset({*_LISTS, "object", "type"}),
)
