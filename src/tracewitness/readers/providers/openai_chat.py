"""Read OpenAI chat completions, and what compatible servers make of them: responses, messages, requests, histories."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from tracewitness.display import show
from tracewitness.readers.providers.shared import (
    CALL_FIELDS,
    doubt_cut,
    doubt_others,
    give_back,
    holds_actions,
    take_answer,
    told_trace,
)
from tracewitness.readers.providers.streams import holds_events
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

__all__ = ["READER", "SHAPE", "detects", "read", "read_item"]

SHAPE: Final = "a chat completion has choices with a message, or is a list of messages with role and content"

_SPEAKERS: Final[dict[str, Role]] = {"user": "user", "system": "system", "developer": "system", "assistant": "agent"}
_ANSWERERS: Final = frozenset({"tool", "function"})
# Parts of a content that are no text and can hide no call.
_SILENT_PARTS: Final = frozenset(
    {"image_url", "input_audio", "audio", "file", "video_url", "image", "document", "document_url", "thinking"}
)
_PLAIN_PARTS: Final = frozenset({"text", "refusal", "image_url", "input_audio", "file"})
_WITHHELD: Final = frozenset({"content_filter", "error", "error_limit", "error_toxic"})
_CALLING: Final = frozenset({"tool_calls", "tool_call", "function_call"})
# How a response ends that is one choice without a list around it: Cohere writes the first, Ollama the others.
_ENDS: Final = ("finish_reason", "done_reason", "done")
_REASONS: Final = ("finish_reason", "finishReason", "done_reason")
_READABLE: Final = frozenset({"choices", "custom", "function", "message", "messages", "role"})
# What a message without a call in this format does not have: calls, or what other formats write.
_KEYS_OF_OTHERS: Final = (
    *("type", "object", "tool_calls", "function_call", "parts", "stop_reason"),
    *("additional_kwargs", "toolInvocations"),
)


def detects(document: Any) -> bool:
    """Whether decoded data is of this format.

    Messages without any call fit several formats, and read the same in all; they are taken for this one.
    """
    if isinstance(document, Mapping):
        # Anthropic's requests say beside their messages what the system is to be, Inspect's samples which try it was.
        is_other = "system" in document or "epoch" in document
        messages = None if is_other else document.get("messages")
        return _is_response(document) or _is_history(messages) or _is_history([document])
    return _is_history(document)


def read(document: Any, name: str = "", *, choice: int | None = None) -> Trace:
    """Read a response, a message, a list of them, or a request with ``messages``.

    Arguments:
        choice: which is read where a response has several, by its index. Where none is told it is the first, and that
            others call tools is noted.

    Raises:
        ReadError: it is nothing of the kind.

    >>> read({"choices": [{"message": {"role": "assistant", "content": "Hello."}}]}).to_events()
    [{'agent': 'Hello.'}]
    """
    recording = Recording()
    if isinstance(document, list):
        for item, path in each_mapping(recording, document, (), "a message"):
            read_item(recording, item, path, choice)
    elif isinstance(document, Mapping) and not document.keys().isdisjoint(_READABLE):
        _read_document(recording, document, choice)
    else:
        raise refuse(document, SHAPE)
    return told_trace(recording, document, name, detects, SHAPE)


# ----------------------------------------------------------------------------------------------------------- detection


def _is_response(item: Any) -> bool:
    if not isinstance(item, Mapping):
        return False
    choices = item.get("choices")
    if choices is None:
        return isinstance(item.get("message"), Mapping) and any(key in item for key in _ENDS)
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
        return any(isinstance(item.get(key), str) for key in ("tool_call_id", "name", "tool_name", "toolCallId"))
    return _is_response(item) or (_is_call(item) and "arguments" in item.get("function", {"arguments": None}))


def _is_call(item: Any) -> bool:
    return isinstance(item, Mapping) and (_is_function(item.get("function")) or isinstance(item.get("custom"), Mapping))


def _is_function(item: Any) -> bool:
    return isinstance(item, Mapping) and "name" in item


def _is_plain_message(item: Any) -> bool:
    """Whether an item is a message without a call, as several formats write it."""
    if not isinstance(item, Mapping) or word(item, "role") not in _SPEAKERS or "content" not in item:
        return False
    if any(item.get(key) for key in _KEYS_OF_OTHERS):
        return False
    content = item["content"]
    return content is None or isinstance(content, str) or (isinstance(content, list) and all(map(_is_plain, content)))


def _is_plain(part: Any) -> bool:
    return isinstance(part, str) or (isinstance(part, Mapping) and word(part, "type") in _PLAIN_PARTS)


# ------------------------------------------------------------------------------------------------------------- reading


def _read_document(recording: Recording, document: Mapping[str, Any], choice: int | None) -> None:
    """Read a request, and the answer to it where that was kept beside it, or the answer alone."""
    if "messages" not in document:
        read_item(recording, document, (), choice)
        return
    for message, path in each_mapping(recording, document["messages"], ("messages",), "a message"):
        read_item(recording, message, path, choice)
    answer = {key: value for key, value in document.items() if key != "messages"}
    is_message = "role" in answer and ("content" in answer or _called(answer))
    if "choices" in answer or is_message or isinstance(answer.get("message"), Mapping):
        told = Recording()
        read_item(told, answer, (), choice)
        take_answer(recording, told)
    elif _called(answer) and not isinstance(answer.get("function_call"), str):  # "auto" is what a request asks for
        recording.doubt(f"calls beside the messages, and no message with them: {show(list(answer))}", ())


def read_item(recording: Recording, item: Mapping[str, Any], path: Path, choice: int | None = None) -> None:
    """Read a response, a message or a call that stands alone."""
    if "messages" in item and item["messages"] and not item.keys().isdisjoint({"choices", "message", "role"}):
        recording.doubt("messages beside an answer in a list, which may repeat what stands before it", path)
    if "choices" in item:
        _read_response(recording, item, path, choice)
    elif "message" in item:
        _read_choice(recording, item, path)
    elif "role" in item:
        _read_message(recording, item, path)
    elif _is_call(item):
        _read_call(recording, item, path)
    else:
        recording.doubt(f"neither a message nor a response: {show(list(item))}", path)


def _read_response(recording: Recording, response: Mapping[str, Any], path: Path, wanted: int | None) -> None:
    choices = list(each_mapping(recording, response.get("choices"), (*path, "choices"), "a choice"))
    if not choices:
        recording.failure = "the response has no choice"
        recording.doubt("the response has no choice", path)
        return
    numbered = [(_index_of(choice, number), choice, place) for number, (choice, place) in enumerate(choices)]
    found = [(choice, place) for index, choice, place in numbered if index == (wanted or 0)]
    if not found and not wanted:  # indexes that begin at 1, or anywhere
        found = [min(numbered, key=lambda item: item[0])[1:]]
    if not found:
        recording.failure = f"the response has no choice {wanted}"
        recording.doubt(recording.failure, path)
        return
    _read_choice(recording, *found[0])
    if wanted is None:
        others = [place for _, choice, place in numbered if place != found[0][1] and _choice_calls(choice)]
        doubt_others(recording, others, "choice")


def _choice_calls(choice: Mapping[str, Any]) -> bool:
    message = choice.get("message")
    return _called(choice) or (isinstance(message, Mapping) and _called(message))


def _read_choice(recording: Recording, choice: Mapping[str, Any], path: Path) -> None:
    events_before, calls_before = len(recording), recording.calls
    message = choice.get("message")
    if isinstance(message, Mapping) and "choices" in message:
        recording.doubt("a whole response in the place of a message; read it apart", (*path, "message"))
    elif isinstance(message, Mapping):
        _read_message(recording, {"role": "assistant", **message}, (*path, "message"))
    else:
        recording.doubt(f"a choice has a message, this has {show(list(choice))}", path)
        message = {}
    beside = _read_calls_beside(recording, choice, message, path)
    _doubt_end(recording, choice, path, called=recording.calls > calls_before)
    reason = next((choice[key] for key in _REASONS if isinstance(choice.get(key), str)), None)
    doubt_cut(recording, events_before, reason, _last_arguments(beside if _called(beside) else message), path)


def _read_calls_beside(
    recording: Recording, choice: Mapping[str, Any], message: Mapping[str, Any], path: Path
) -> Mapping[str, Any]:
    """Read calls that stand in a choice beside its message, and return the fields that hold any."""
    fields = (*CALL_FIELDS, "function_call")
    beside = {
        field: choice[field]
        for field in fields
        if choice.get(field) and not any(choice[field] == message.get(own) for own in fields)
    }
    if _called(beside):
        _read_calls(recording, beside, path, message.get("name"))
        if _called(message):
            recording.doubt("a choice with calls, whose message has others, which may be the same", path)
    return beside


def _called(message: Mapping[str, Any]) -> bool:
    """Whether a message has calls, or what stands in the place of them."""
    return any(message.get(field) for field in CALL_FIELDS) or _is_filled(message.get("function_call"))


def _last_arguments(message: Mapping[str, Any]) -> Any:
    """Return the arguments of the last call of a message as they were recorded, where these are JSON."""
    told = message.get("function_call")
    if not _is_filled(told):
        calls = next((message[field] for field in reversed(CALL_FIELDS) if message.get(field)), None)
        last = calls[-1] if isinstance(calls, list) else calls
        told = last.get("function") if isinstance(last, Mapping) else None
    return told.get("arguments") if isinstance(told, Mapping) else None


def _index_of(choice: Mapping[str, Any], number: int) -> int:
    """Return a choice's index; where it has none, its number in the list."""
    index = choice.get("index")
    return index if isinstance(index, int) and not isinstance(index, bool) else number


def _doubt_end(recording: Recording, choice: Mapping[str, Any], path: Path, *, called: bool) -> None:
    """Look for a call that the end of an answer speaks of and that is not there."""
    reason = (word(choice, "finish_reason") or word(choice, "finishReason")).lower()
    if choice.get("error"):
        recording.doubt(f"the answer failed: {show(choice['error'])}", path)
    elif choice.get("done") is False:
        recording.doubt("the answer is not complete: done is false", path, cut=True)
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
        if _called(message):
            recording.doubt(f"a message of {role} that calls tools", path)
    else:
        recording.doubt(f"an unknown role {show(message.get('role'))}", path)


def _read_answer(recording: Recording, message: Mapping[str, Any], path: Path) -> None:
    """Read what the model said, then what it called."""
    agent = message.get("name")
    text = _text(recording, message.get("content"), path, may_call=True)
    text = "\n".join(filter(None, (text, word(message, "refusal"), _spoken(message))))
    is_called = _called(message)
    if text or not is_called:  # an empty answer is an answer
        recording.say("agent", text, path, agent)
    if is_called:
        _read_calls(recording, message, path, agent)


def _read_calls(recording: Recording, message: Mapping[str, Any], path: Path, agent: Any) -> None:
    """Read the calls of a message, from each field that has any; the same list in two of them is one."""
    seen: list[Any] = []
    for field in CALL_FIELDS:
        calls = message.get(field)
        if not calls:
            continue
        is_alone = _is_call(calls) or (field == "tool_call" and isinstance(calls, Mapping))
        calls = [calls] if is_alone else calls
        if seen and calls not in seen:
            recording.doubt(f"calls in two fields, which may be the same: {field} too", (*path, field))
        if calls not in seen:
            for call, place in each_mapping(recording, calls, (*path, field), "a tool call"):
                _read_call(recording, call, place, agent)
        seen.append(calls)
    function = message.get("function_call")
    if _is_filled(function):
        told = [call for calls in seen if isinstance(calls, list) for call in calls]
        _read_function_call(recording, function, told, (*path, "function_call"), agent)


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
    name = message.get("name") or message.get("tool_name") or message.get("toolName")
    call_id = message.get("tool_call_id", message.get("toolCallId"))
    give_back(recording, message, _payload(message.get("content")), call_id, path, of=name)


def _payload(content: Any) -> Any:
    """Return what a tool gave back. Cohere writes it as documents; one alone is its data."""
    if isinstance(content, list) and len(content) == 1 and isinstance(content[0], Mapping):
        document = content[0].get("document")
        if isinstance(document, Mapping) and "data" in document:
            return document["data"]
    return payload_of(content)


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


def _yields(document: Any) -> bool:
    """Whether data is events of a stream, or holds messages of which none is of this format alone."""
    if holds_events(document) or holds_actions(document):
        return True
    messages = document.get("messages") if isinstance(document, Mapping) else None
    return isinstance(messages, list) and "choices" not in document and not any(map(_is_marked, messages))


READER: Final = Reader(
    "openai-chat",
    detects=detects,
    read=read,
    shape=SHAPE,
    yields=_yields,
    keys=frozenset({"choices", "message", "messages", "role", "function", "custom"}),
)
