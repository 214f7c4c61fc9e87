"""Read Bedrock Converse: responses, messages, their blocks, requests with ``messages``, and histories of these."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from tracewitness.display import show
from tracewitness.readers.providers.shared import doubt_cut, doubt_foreign_calls, give_back, take_answer, told_trace
from tracewitness.readers.providers.streams import holds_events
from tracewitness.readers.reader import CONTENT_LIST, Reader
from tracewitness.readers.recording import Path, Recording, each_mapping, refuse, word
from tracewitness.trace import Role, Trace

__all__ = ["READER", "SHAPE", "detects", "read", "read_item"]

SHAPE: Final = (
    "a response of Bedrock has an output with a message, or is a list of messages with blocks such as toolUse"
)

_SPEAKERS: Final[dict[str, Role]] = {"user": "user", "assistant": "agent", "system": "system"}
# Blocks, by the field that makes one: what no other format has, and what neither calls nor answers.
_MARKS: Final = frozenset({"toolUse", "toolResult", "reasoningContent", "cachePoint", "guardContent"})
_SILENT: Final = frozenset(
    {
        "audio",
        "cachePoint",
        "citationsContent",
        "document",
        "guardContent",
        "image",
        "reasoningContent",
        "searchResult",
        "toolAddition",
        "toolRemoval",
        "video",
    }
)
# What a response or a request has beside its messages.
_OWN_KEYS: Final = frozenset({"stopReason", "toolConfig", "inferenceConfig", "additionalModelRequestFields"})
_BROKEN: Final = frozenset({"guardrail_intervened", "content_filtered", "malformed_model_output", "malformed_tool_use"})


def detects(document: Any) -> bool:
    """Whether decoded data is of this format."""
    if not isinstance(document, Mapping):
        return _is_history(document)
    return _is_response(document) or _is_history([document]) or _is_request(document)


def read(document: Any, name: str = "") -> Trace:
    """Read a response, a message, a list of them, or a request with ``messages``.

    Raises:
        ReadError: it is nothing of the kind.

    >>> read({"output": {"message": {"role": "assistant", "content": [
    ...     {"toolUse": {"toolUseId": "t1", "name": "search", "input": {"q": "lamp"}}}]}}}).to_events()
    [{'call': 'search', 'args': {'q': 'lamp'}, 'id': 't1'}]
    """
    recording = Recording()
    if isinstance(document, list):
        _read_items(recording, document, ())
    elif isinstance(document, Mapping) and not document.keys().isdisjoint({"output", "messages", "role", *_MARKS}):
        read_item(recording, document, ())
    else:
        raise refuse(document, SHAPE)
    return told_trace(recording, document, name, detects, SHAPE)


# ----------------------------------------------------------------------------------------------------------- detection


def _is_response(item: Any) -> bool:
    if not isinstance(item, Mapping):
        return False
    output = item.get("output")
    message = output.get("message") if isinstance(output, Mapping) else None
    return isinstance(message, Mapping) and isinstance(message.get("content"), list)


def _is_request(document: Mapping[str, Any]) -> bool:
    messages = document.get("messages")
    # Strands says beside its messages what the agent was told.
    if not isinstance(messages, list) or "system_prompt" in document:
        return False
    return _is_history(messages) or (not messages and not _OWN_KEYS.isdisjoint(document))


def _is_history(items: Any) -> bool:
    if not isinstance(items, list) or not items:
        return False
    return any(map(_is_marked, items)) or all(map(_is_plain_message, items))


def _is_marked(item: Any) -> bool:
    """Whether an item is of this format and of no other."""
    if not isinstance(item, Mapping):
        return False
    if "role" not in item:
        return _is_response(item) or _is_own_block(item)
    content = item.get("content")
    return word(item, "role") in _SPEAKERS and isinstance(content, list) and any(map(_is_own_block, content))


def _is_own_block(block: Any) -> bool:
    return isinstance(block, Mapping) and any(isinstance(block.get(mark), Mapping) for mark in _MARKS)


def _is_plain_message(item: Any) -> bool:
    """Whether an item is a message of texts alone: other formats give a block a type."""
    if not isinstance(item, Mapping) or word(item, "role") not in _SPEAKERS:
        return False
    content = item.get("content")
    return isinstance(content, list) and bool(content) and all(map(_is_plain_block, content))


def _is_plain_block(block: Any) -> bool:
    if not isinstance(block, Mapping) or "type" in block:
        return False
    return isinstance(block.get("text"), str) or any(isinstance(block.get(kind), Mapping) for kind in _SILENT)


# ------------------------------------------------------------------------------------------------------------- reading


def _read_items(recording: Recording, items: Any, path: Path) -> None:
    for item, place in each_mapping(recording, items, path, "a message"):
        read_item(recording, item, place)


def read_item(recording: Recording, item: Mapping[str, Any], path: Path) -> None:
    """Read a response, a request, a message, or a block of an answer that stands alone."""
    if "messages" in item:
        _read_request(recording, item, path)
        if "output" in item:
            answer = Recording()
            _read_response(answer, item, path)
            take_answer(recording, answer)
    elif "output" in item:
        _read_response(recording, item, path)
    elif "role" in item:
        _read_message(recording, item, path)
    else:
        _read_block(recording, item, path, may_call=True)


def _read_request(recording: Recording, request: Mapping[str, Any], path: Path) -> None:
    place = (*path, "system")
    blocks = [block for block, _ in each_mapping(recording, request.get("system"), place, "a block")]
    texts = [block["text"] for block in blocks if isinstance(block.get("text"), str)]
    if texts:
        recording.say("system", "\n".join(texts), place)
    _read_items(recording, request["messages"], (*path, "messages"))


def _read_response(recording: Recording, response: Mapping[str, Any], path: Path) -> None:
    output, reason = response.get("output"), word(response, "stopReason")
    message = output.get("message") if isinstance(output, Mapping) else None
    events_before, calls_before = len(recording), recording.calls
    if isinstance(message, Mapping):
        _read_message(recording, {"role": "assistant", **message}, (*path, "output", "message"))
    else:
        recording.failure = "the response has no message"
        recording.doubt(recording.failure, path)
    if reason in _BROKEN:
        recording.doubt(f"the answer was withheld: stopReason {reason}", path)
    elif reason == "tool_use" and recording.calls == calls_before:
        recording.doubt("stopReason is tool_use, and there is no call", path)
    doubt_cut(recording, events_before, reason, _last_input(message), path)


def _last_input(message: Any) -> Any:
    blocks = message.get("content") if isinstance(message, Mapping) else None
    last = blocks[-1] if isinstance(blocks, list) and blocks else None
    use = last.get("toolUse") if isinstance(last, Mapping) else None
    return use.get("input") if isinstance(use, Mapping) else None


def _read_message(recording: Recording, message: Mapping[str, Any], path: Path) -> None:
    """Read blocks in order. All texts of a user's message are one message, hence one turn, after the results in it."""
    speaker = _SPEAKERS.get(word(message, "role"))
    if speaker is None:
        recording.doubt(f"an unknown role {show(message.get('role'))}", path)
        return
    is_foreign = doubt_foreign_calls(recording, message, path)
    events_before, content = len(recording), message.get("content")
    texts: list[str] = []
    for block, place in each_mapping(recording, content, (*path, "content"), "a block"):
        text, is_marked = block.get("text"), not _MARKS.isdisjoint(block)
        if isinstance(text, str) and (text or not is_marked):
            if speaker == "agent":
                recording.say(speaker, text, place)
            else:
                texts.append(text)
        if is_marked or not isinstance(text, str):
            _read_block(recording, block, place, may_call=speaker == "agent")
    is_empty = len(recording) == events_before and (isinstance(content, list) or (content is None and not is_foreign))
    if texts or is_empty:  # an empty answer is an answer
        recording.say(speaker, "\n".join(texts), path)


def _read_block(recording: Recording, block: Mapping[str, Any], path: Path, *, may_call: bool) -> None:
    use, result = block.get("toolUse"), block.get("toolResult")
    if isinstance(use, Mapping):
        recording.call(use.get("name"), use.get("input"), use.get("toolUseId"), (*path, "toolUse"))
    if isinstance(result, Mapping):
        payload = _payload(result.get("content"))
        place = (*path, "toolResult")
        give_back(recording, result, payload, result.get("toolUseId"), place, is_error=_is_error(result))
    if not isinstance(use, Mapping) and not isinstance(result, Mapping) and _SILENT.isdisjoint(block):
        recording.doubt(f"an unknown block {show(dict(block))}", path, hides_call=may_call)


def _payload(content: Any) -> Any:
    """Return what a tool gave back: a list of one text or one JSON value is that, all else stays as it was recorded."""
    if isinstance(content, list) and len(content) == 1 and isinstance(content[0], Mapping):
        block = content[0]
        if isinstance(block.get("text"), str):
            return block["text"]
        if "json" in block:
            return block["json"]
    return content


def _is_error(result: Mapping[str, Any]) -> bool | None:
    status = result.get("status")
    return status == "error" if status in ("error", "success") else None


READER: Final = Reader(
    "bedrock-converse",
    detects=detects,
    read=read,
    shape=SHAPE,
    yields=holds_events,
    keys=frozenset({"output", "messages", CONTENT_LIST}) | _MARKS,
)
