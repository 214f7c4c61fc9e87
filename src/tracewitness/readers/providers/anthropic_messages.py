"""Read Anthropic Messages: responses, messages, their blocks, requests with ``messages``, and histories of these."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from tracewitness.display import show
from tracewitness.readers.providers.shared import doubt_cut, doubt_foreign_calls, give_back, take_answer, told_trace
from tracewitness.readers.providers.streams import holds_events
from tracewitness.readers.reader import CONTENT_LIST, Reader
from tracewitness.readers.recording import Path, Recording, each_mapping, one_text, payload_of, refuse, texts_of, word
from tracewitness.trace import Role, Trace

__all__ = ["READER", "SHAPE", "detects", "read", "read_item"]

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
_OWN_BLOCKS: Final = _CALLS | frozenset(
    {"tool_result", "thinking", "redacted_thinking", "container_upload", "tool_addition", "tool_removal"}
)
_OWN_KEYS: Final = ("stop_reason", "stop_sequence")


def detects(document: Any) -> bool:
    """Whether decoded data is of this format."""
    if isinstance(document, Mapping):
        messages = document.get("messages")
        if not isinstance(messages, list):
            return _is_marked(document)
        # A request says what the system is to be beside its messages, and nobody else's does.
        has_system = isinstance(document.get("system"), (str, list)) and all(map(_is_message, messages))
        return has_system or any(map(_is_marked, messages)) or _is_marked(document)
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
        if "role" in document or _is_marked(document):  # the answer, which was kept beside what was asked
            answer = Recording()
            read_item(answer, document, ())
            take_answer(recording, answer)
    elif isinstance(document, Mapping) and not document.keys().isdisjoint({"role", "type"}):
        read_item(recording, document, ())
    else:
        raise refuse(document, SHAPE)
    return told_trace(recording, document, name, detects, SHAPE)


# ----------------------------------------------------------------------------------------------------------- detection


def _is_message(item: Any) -> bool:
    if not isinstance(item, Mapping) or word(item, "role") not in _SPEAKERS:
        return False
    content = item.get("content")
    if isinstance(content, list):
        return all(isinstance(block, Mapping) and word(block, "type") for block in content)
    return isinstance(content, str)


def _is_marked(item: Any) -> bool:
    """Whether an item is of this format and of no other."""
    if not isinstance(item, Mapping):
        return False
    if word(item, "role") not in _SPEAKERS:
        return _is_own_block(item)
    content = item.get("content")
    if item.get("type") == "message" and any(key in item for key in _OWN_KEYS):
        return True
    return isinstance(content, list) and any(map(_is_own_block, content))


def _is_own_block(block: Any) -> bool:
    if not isinstance(block, Mapping):
        return False
    kind = word(block, "type")
    return kind in _OWN_BLOCKS or (kind.endswith("_tool_result") and "tool_use_id" in block)


# ------------------------------------------------------------------------------------------------------------- reading


def _read_items(recording: Recording, items: Any, path: Path) -> None:
    for item, place in each_mapping(recording, items, path, "a message"):
        read_item(recording, item, place)


def read_item(recording: Recording, item: Mapping[str, Any], path: Path) -> None:
    """Read a message, or a block of an answer that stands alone."""
    if "role" in item:
        _read_message(recording, item, path)
        return
    text = one_text(item)  # a block of an answer, alone
    if text is None:
        _read_block(recording, item, path, may_call=True)
    else:
        recording.say("agent", text, path)


def _read_message(recording: Recording, message: Mapping[str, Any], path: Path) -> None:
    speaker = _SPEAKERS.get(word(message, "role"))
    if speaker is None:
        recording.doubt(f"an unknown role {show(message.get('role'))}", path)
        return
    doubt_foreign_calls(recording, message, path)
    events_before, calls_before = len(recording), recording.calls
    content = message.get("content")
    if isinstance(content, str):
        recording.say(speaker, content, path)
    else:
        _read_blocks(recording, speaker, content, path)
    if message.get("stop_reason") == "tool_use" and recording.calls == calls_before:
        recording.doubt("stop_reason is tool_use, and there is no call", path)
    doubt_cut(recording, events_before, message.get("stop_reason"), _last_input(content), path)
    if len(recording) == events_before:
        recording.say(speaker, "", path)  # an empty answer is an answer


def _last_input(blocks: Any) -> Any:
    last = blocks[-1] if isinstance(blocks, list) and blocks else None
    return last.get("input") if isinstance(last, Mapping) else None


def _read_blocks(recording: Recording, speaker: Role, blocks: Any, path: Path) -> None:
    """Read blocks in order. All texts of a user's message are one message, hence one turn, after the results in it."""
    texts: list[str] = []
    for block, place in each_mapping(recording, blocks, (*path, "content"), "a block"):
        text = one_text(block)
        if text is None:
            _read_block(recording, block, place, may_call=speaker == "agent")
        elif speaker == "agent":
            recording.say(speaker, text, place)
        else:
            texts.append(text)
    if texts:
        recording.say(speaker, "\n".join(texts), path)


def _read_block(recording: Recording, block: Mapping[str, Any], path: Path, *, may_call: bool) -> None:
    kind = word(block, "type")
    if not kind:
        recording.doubt(f"a block without a type: {show(dict(block))}", path, hides_call=may_call)
    elif kind in _CALLS:
        server = block.get("server_name")
        beside = {"server_name": server} if isinstance(server, str) else None
        recording.call(block.get("name"), block.get("input"), block.get("id"), path, metadata=beside)
    elif kind == "tool_result" or kind.endswith("_tool_result"):
        content = block.get("content")
        flag = _is_error(kind, block, content)
        give_back(recording, block, payload_of(content), block.get("tool_use_id"), path, is_error=flag)
    elif kind == "compaction":
        recording.doubt("what came before was summed up and is not here", path)
    elif kind not in _SILENT_BLOCKS:
        recording.doubt(f"an unknown block of type {show(kind)}", path, hides_call=may_call)


def _is_error(kind: str, block: Mapping[str, Any], content: Any) -> bool | None:
    """Return what a result says of itself: by a flag, or, where the provider ran the tool, by what its content is."""
    flag = block.get("is_error")
    if isinstance(flag, bool) or kind in ("tool_result", "mcp_tool_result"):
        return flag if isinstance(flag, bool) else None
    if isinstance(content, Mapping):
        return word(content, "type").endswith("_error")
    return False if isinstance(content, list) else None


READER: Final = Reader(
    "anthropic-messages",
    detects=detects,
    read=read,
    shape=SHAPE,
    yields=holds_events,
    keys=frozenset({CONTENT_LIST, "stop_reason", "type", "messages"}),
)
