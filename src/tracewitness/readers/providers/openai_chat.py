"""Read OpenAI chat completions, and what compatible servers make of them: responses, messages, requests, histories."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from tracewitness.display import show
from tracewitness.readers.reader import Reader
from tracewitness.readers.recording import (
    Path,
    Recording,
    each_mapping,
    one_text,
    payload_of,
    refuse,
    word,
)
from tracewitness.trace import Role, Trace

__all__ = ["READER", "SHAPE", "detects", "read"]

SHAPE: Final = "a chat completion has choices with a message, or is a list of messages with role and content"

_SPEAKERS: Final[dict[str, Role]] = {"user": "user", "system": "system", "developer": "system", "assistant": "agent"}
_ANSWERERS: Final = frozenset({"tool", "function"})
# Parts of a content that are no text and can hide no call.
_SILENT_PARTS: Final = frozenset(
    {"image_url", "input_audio", "audio", "file", "video_url", "image", "document", "document_url", "thinking"}
)
_PLAIN_PARTS: Final = frozenset({"text", "refusal", "image_url", "input_audio", "file"})
_WITHHELD: Final = frozenset({"content_filter", "error"})
_CALLING: Final = frozenset({"tool_calls", "function_call"})


def detects(document: Any) -> bool:
    """Whether decoded data is of this format.

    Messages without any call fit several formats, and read the same in all; they are taken for this one.
    """
    if isinstance(document, Mapping):
        # Anthropic's requests say beside their messages what the system is to be.
        messages = None if "system" in document else document.get("messages")
        return _is_response(document) or _is_history(messages) or _is_history([document])
    return _is_history(document)


def read(document: Any, name: str = "") -> Trace:
    """Read a response, a message, a list of them, or a request with ``messages``.

    Of several choices the first is read.

    Raises:
        ReadError: it is nothing of the kind.

    >>> read({"choices": [{"message": {"role": "assistant", "content": "Hello."}}]}).to_events()
    [{'agent': 'Hello.'}]
    """
    recording = Recording()
    if isinstance(document, list):
        for item, path in each_mapping(recording, document, (), "a message"):
            _read_item(recording, item, path)
    elif isinstance(document, Mapping) and not document.keys().isdisjoint({"choices", "messages", "role", "function"}):
        for message, path in each_mapping(recording, document.get("messages"), ("messages",), "a message"):
            _read_item(recording, message, path)
        if "messages" not in document or "choices" in document:
            _read_item(recording, document, ())
    else:
        raise refuse(document, SHAPE)
    return recording.trace(name)


# ----------------------------------------------------------------------------------------------------------- detection


def _is_response(item: Any) -> bool:
    if not isinstance(item, Mapping):
        return False
    choices = item.get("choices")
    if not isinstance(choices, list) or item.get("object") == "chat.completion.chunk":
        return False
    if item.get("object") == "chat.completion":
        return True
    return any(isinstance(choice, Mapping) and isinstance(choice.get("message"), Mapping) for choice in choices)


def _is_history(items: Any) -> bool:
    if not isinstance(items, list) or not items:
        return False
    return any(map(_is_marked, items)) or all(map(_is_plain_message, items))


def _is_marked(item: Any) -> bool:
    """Whether an item is of this format and of no other."""
    if not isinstance(item, Mapping):
        return False
    role = word(item, "role")
    if role == "assistant":
        calls = item.get("tool_calls")
        return (isinstance(calls, list) and any(map(_is_call, calls))) or _is_function(item.get("function_call"))
    if role in _ANSWERERS and "type" not in item:
        return any(isinstance(item.get(key), str) for key in ("tool_call_id", "name", "tool_name"))
    return _is_response(item) or (_is_call(item) and "arguments" in item.get("function", {"arguments": None}))


def _is_call(item: Any) -> bool:
    return isinstance(item, Mapping) and (_is_function(item.get("function")) or isinstance(item.get("custom"), Mapping))


def _is_function(item: Any) -> bool:
    return isinstance(item, Mapping) and "name" in item


def _is_plain_message(item: Any) -> bool:
    """Whether an item is a message without a call, as several formats write it."""
    if not isinstance(item, Mapping) or word(item, "role") not in _SPEAKERS or "content" not in item:
        return False
    if any(item.get(key) for key in ("type", "tool_calls", "function_call", "parts", "stop_reason")):
        return False
    content = item["content"]
    return content is None or isinstance(content, str) or (isinstance(content, list) and all(map(_is_plain, content)))


def _is_plain(part: Any) -> bool:
    return isinstance(part, str) or (isinstance(part, Mapping) and word(part, "type") in _PLAIN_PARTS)


# ------------------------------------------------------------------------------------------------------------- reading


def _read_item(recording: Recording, item: Mapping[str, Any], path: Path) -> None:
    if "choices" in item:
        _read_response(recording, item, path)
    elif "role" in item:
        _read_message(recording, item, path)
    elif _is_call(item):
        _read_call(recording, item, path)
    else:
        recording.doubt(f"neither a message nor a response: {show(list(item))}", path)


def _read_response(recording: Recording, response: Mapping[str, Any], path: Path) -> None:
    choices = list(each_mapping(recording, response.get("choices"), (*path, "choices"), "a choice"))
    if not choices:
        recording.failure = "the response has no choice"
        recording.doubt("the response has no choice", path)
        return
    choice, place = min(choices, key=lambda item: _index_of(item[0]))
    calls_before = recording.calls
    message = choice.get("message")
    if isinstance(message, Mapping):
        _read_message(recording, {"role": "assistant", **message}, (*place, "message"))
    else:
        recording.doubt(f"a choice has a message, this has {show(list(choice))}", place)
    _doubt_end(recording, choice, place, called=recording.calls > calls_before)


def _index_of(choice: Mapping[str, Any]) -> int:
    index = choice.get("index")
    return index if isinstance(index, int) else 0


def _doubt_end(recording: Recording, choice: Mapping[str, Any], path: Path, *, called: bool) -> None:
    """Look for a call that the end of an answer speaks of and that is not there."""
    reason = word(choice, "finish_reason")
    if choice.get("error"):
        recording.doubt(f"the answer failed: {show(choice['error'])}", path)
    elif reason in _WITHHELD:
        recording.doubt(f"the answer was withheld: finish_reason {reason}", path)
    elif reason in _CALLING and not called:
        recording.doubt(f"finish_reason is {reason}, and there is no call", path)


def _read_message(recording: Recording, message: Mapping[str, Any], path: Path) -> None:
    role = word(message, "role")
    if role == "assistant":
        _read_answer(recording, message, path)
    elif role in _ANSWERERS:
        _read_result(recording, message, path)
    elif role in _SPEAKERS:
        recording.say(_SPEAKERS[role], _text(recording, message.get("content"), path, may_call=False), path)
        if message.get("tool_calls") or message.get("function_call"):
            recording.doubt(f"a message of {role} that calls tools", path)
    else:
        recording.doubt(f"an unknown role {show(message.get('role'))}", path)


def _read_answer(recording: Recording, message: Mapping[str, Any], path: Path) -> None:
    """Read what the model said, then what it called."""
    agent = message.get("name")
    text = _text(recording, message.get("content"), path, may_call=True)
    text = "\n".join(filter(None, (text, word(message, "refusal"), _spoken(message))))
    calls, function = message.get("tool_calls"), message.get("function_call")
    if text or not (calls or _is_filled(function)):  # an empty answer is an answer
        recording.say("agent", text, path, agent)
    if calls:
        for call, place in each_mapping(recording, calls, (*path, "tool_calls"), "a tool call"):
            _read_call(recording, call, place, agent)
    if _is_filled(function):
        _read_function_call(recording, function, calls, (*path, "function_call"), agent)


def _spoken(message: Mapping[str, Any]) -> str:
    """Return the words of an answer that was spoken."""
    audio = message.get("audio")
    return word(audio, "transcript") if isinstance(audio, Mapping) else ""


def _read_call(recording: Recording, call: Mapping[str, Any], path: Path, agent: Any = None) -> None:
    function, custom = call.get("function"), call.get("custom")
    if isinstance(custom, Mapping) and (call.get("type") == "custom" or not isinstance(function, Mapping)):
        text = custom.get("input")
        arguments = None if text is None else {"input": text}
        recording.call(custom.get("name"), arguments, call.get("id"), path, by=agent)
    elif isinstance(function, Mapping):
        recording.call(function.get("name"), function.get("arguments"), call.get("id"), path, by=agent)
    else:
        recording.doubt(f"a tool call has a function, this is {show(dict(call))}", path)


def _read_function_call(recording: Recording, function: Any, calls: Any, path: Path, agent: Any) -> None:
    """Read a call as it was written before there were tools. Some servers write one call in both ways."""
    if not isinstance(function, Mapping):
        recording.doubt(f"a function call is a mapping, not {show(function)}", path)
    elif not any(_is_same(call, function) for call in calls or ()):
        recording.call(function.get("name"), function.get("arguments"), None, path, by=agent)


def _is_filled(function: Any) -> bool:
    """Whether there is a function call: some servers write one with an empty name for none."""
    return any(function.values()) if isinstance(function, Mapping) else bool(function)


def _is_same(call: Any, function: Mapping[str, Any]) -> bool:
    other = call.get("function") if isinstance(call, Mapping) else None
    return isinstance(other, Mapping) and all(other.get(key) == function.get(key) for key in ("name", "arguments"))


def _read_result(recording: Recording, message: Mapping[str, Any], path: Path) -> None:
    name = message.get("name") or message.get("tool_name")
    payload = payload_of(message.get("content"))
    recording.answer(payload, message.get("tool_call_id"), path, of=name, is_error=_is_error(message))


def _is_error(message: Mapping[str, Any]) -> bool | None:
    """Return what a result says of itself. The format has no word for it; some that write it have."""
    flag = message.get("is_error")
    if isinstance(flag, bool):
        return flag
    return True if message.get("status") == "error" else None


def _text(recording: Recording, content: Any, path: Path, *, may_call: bool) -> str:
    """Return the text of a content.

    Arguments:
        may_call: whether what is not understood may hide a call.
    """
    if content is None or isinstance(content, str):
        return content or ""
    if not isinstance(content, list):
        recording.doubt(f"content is a text or a list, not {show(content)}", path, hides_call=may_call)
        return ""
    texts: list[str] = []
    for index, part in enumerate(content):
        text = one_text(part)
        if text is not None:
            texts.append(text)
        elif isinstance(part, Mapping) and word(part, "type") == "refusal":
            texts.append(word(part, "refusal"))
        elif not isinstance(part, Mapping) or word(part, "type") not in _SILENT_PARTS:
            recording.doubt(f"an unknown part {show(part)}", (*path, "content", index), hides_call=may_call)
    return "\n".join(texts)


READER: Final = Reader(
    "openai-chat",
    detects=detects,
    read=read,
    shape=SHAPE,
    keys=frozenset({"choices", "messages", "role", "content", "tool_calls", "tool_call_id", "function", "custom"}),
)
