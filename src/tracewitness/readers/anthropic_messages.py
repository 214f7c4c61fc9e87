"""Read Anthropic Messages: responses, messages, their blocks, requests with ``messages``, and histories of these."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from tracewitness.display import show
from tracewitness.readers.recording import Path, Recording, each_mapping, one_text, payload_of, refuse, texts_of
from tracewitness.trace import Role, Trace

__all__ = ["SHAPE", "detects", "read"]

SHAPE: Final = "a message of Anthropic has a role and blocks such as tool_use, or is a list of such messages"

_SPEAKERS: Final[dict[str, Role]] = {"user": "user", "assistant": "agent", "system": "system"}
_CALLS: Final = frozenset({"tool_use", "server_tool_use", "mcp_tool_use"})
# Blocks that neither call nor answer: thoughts, files, which tools there are, a change of the model.
_SILENT_BLOCKS: Final = frozenset(
    {
        "container_upload",
        "document",
        "fallback",
        "image",
        "mcp_tool_listing",
        "redacted_thinking",
        "search_result",
        "thinking",
        "tool_addition",
        "tool_removal",
    }
)
_OWN_BLOCKS: Final = _CALLS | frozenset({"tool_result", "thinking", "redacted_thinking", "container_upload"})
_OWN_KEYS: Final = ("stop_reason", "stop_sequence")


def detects(document: Any) -> bool:
    """Whether decoded data is of this format."""
    if isinstance(document, Mapping):
        messages = document.get("messages")
        if not isinstance(messages, list):
            return _is_marked(document)
        # A request says what the system is to be beside its messages, and nobody else's does.
        has_system = isinstance(document.get("system"), (str, list)) and all(map(_is_message, messages))
        return has_system or any(map(_is_marked, messages))
    return isinstance(document, list) and any(map(_is_marked, document))


def read(document: Any, name: str = "") -> Trace:
    """Read a response, a message, a list of them or of blocks, or a request with ``messages``.

    Raises:
        ReadError: it is nothing of the kind.

    >>> read({"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "search", "input": {}}]}).calls
    (<ToolCall 0: search({})>,)
    """
    recording = Recording()
    if isinstance(document, list):
        _read_items(recording, document, ())
    elif isinstance(document, Mapping) and "messages" in document:
        system = "\n".join(texts_of(document.get("system")))
        if system:
            recording.say("system", system, ("system",))
        _read_items(recording, document["messages"], ("messages",))
    elif isinstance(document, Mapping) and not document.keys().isdisjoint({"role", "type"}):
        _read_item(recording, document, ())
    else:
        raise refuse(document, SHAPE)
    return recording.trace(name)


# ----------------------------------------------------------------------------------------------------------- detection


def _is_message(item: Any) -> bool:
    return isinstance(item, Mapping) and item.get("role") in ("user", "assistant") and "content" in item


def _is_marked(item: Any) -> bool:
    """Whether an item is of this format and of no other."""
    if not isinstance(item, Mapping):
        return False
    if item.get("role") not in _SPEAKERS:
        return _is_own_block(item)
    content = item.get("content")
    if item.get("type") == "message" and any(key in item for key in _OWN_KEYS):
        return True
    return isinstance(content, list) and any(map(_is_own_block, content))


def _is_own_block(block: Any) -> bool:
    if not isinstance(block, Mapping):
        return False
    kind = block.get("type")
    if not isinstance(kind, str):
        return False
    return kind in _OWN_BLOCKS or (kind.endswith("_tool_result") and "tool_use_id" in block)


# ------------------------------------------------------------------------------------------------------------- reading


def _read_items(recording: Recording, items: Any, path: Path) -> None:
    for item, place in each_mapping(recording, items, path, "a message"):
        _read_item(recording, item, place)


def _read_item(recording: Recording, item: Mapping[str, Any], path: Path) -> None:
    if "role" in item:
        _read_message(recording, item, path)
    elif "type" in item:  # the content of an answer alone
        _read_blocks(recording, "agent", [item], path, inside=())
    else:
        recording.doubt(f"neither a message nor a block: {show(list(item))}", path)


def _read_message(recording: Recording, message: Mapping[str, Any], path: Path) -> None:
    role = message.get("role")
    speaker = _SPEAKERS.get(role) if isinstance(role, str) else None
    if speaker is None:
        recording.doubt(f"an unknown role {show(role)}", path)
        return
    events_before, calls_before = len(recording), recording.calls
    content = message.get("content")
    if isinstance(content, str):
        recording.say(speaker, content, path)
    else:
        _read_blocks(recording, speaker, content, path)
    if message.get("stop_reason") == "tool_use" and recording.calls == calls_before:
        recording.doubt("stop_reason is tool_use, and there is no call", path)
    if len(recording) == events_before:
        recording.say(speaker, "", path)  # an empty answer is an answer


def _read_blocks(
    recording: Recording, speaker: Role, blocks: Any, path: Path, inside: tuple[str, ...] = ("content",)
) -> None:
    """Read blocks in order. The texts of a user that stand together are one message, hence one turn."""
    texts: list[str] = []
    begin: Path = path
    for block, place in each_mapping(recording, blocks, (*path, *inside), "a block"):
        place = place if inside else path
        text = one_text(block)
        if text is None:
            if _read_block(recording, speaker, block, place):
                _say(recording, speaker, texts, begin)
        else:
            begin = begin if texts else place
            texts.append(text)
            if speaker == "agent":
                _say(recording, speaker, texts, begin)
    _say(recording, speaker, texts, begin)


def _say(recording: Recording, speaker: Role, texts: list[str], path: Path) -> None:
    if texts:
        recording.say(speaker, "\n".join(texts), path)
        texts.clear()
