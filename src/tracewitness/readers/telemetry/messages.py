"""Read messages as spans hold them: the parts of the GenAI conventions, and what instrumentations write in their place.

Those copy the messages of many providers and frameworks, mostly as JSON in a text, and mix their shapes. So parts are
told by their keys, whatever convention holds them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from msgspec import UNSET, structs

from tracewitness.display import show
from tracewitness.readers.recording import Path, Recording, each_mapping, word
from tracewitness.readers.telemetry.attributes import arguments_of, decoded, is_broken, opened
from tracewitness.trace import Role

__all__ = ["NOT_RECORDED", "doubt_broken", "payload_of_tool", "read_messages"]

#: Stands for arguments that were left out of a recording. It is no JSON object, so that nobody takes it for one.
NOT_RECORDED: Final = "(the arguments were not recorded)"

_MAX_DEPTH: Final = 8
_ROLES: Final[dict[str, Role]] = {
    "user": "user",
    "human": "user",
    "system": "system",
    "developer": "system",
    "assistant": "agent",
    "ai": "agent",
    "model": "agent",
    # Of smolagents: texts that tell again what the spans of tools hold.
    "tool-call": "agent",
    "tool-response": "system",
}
_ANSWERERS: Final = frozenset({"tool", "function", "ipython"})
_EVENT_ROLES: Final = {
    "gen_ai.system.message": "system",
    "gen_ai.user.message": "user",
    "gen_ai.assistant.message": "assistant",
    "gen_ai.tool.message": "tool",
    "gen_ai.choice": "assistant",
}
_CALL_TYPES: Final = frozenset(
    {"tool_call", "tool-call", "tool_use", "toolUse", "function_call", "function", "server_tool_use", "mcp_tool_use"}
    | {"server_tool_call", "builtin-tool-call"}
)
_RESULT_TYPES: Final = frozenset(
    {"tool_call_response", "tool-result", "tool_result", "tool_response", "function_call_output", "function_response"}
    | {"server_tool_call_response", "builtin-tool-return", "mcp_tool_result", "web_search_tool_result"}
)
_SILENT_TYPES: Final = frozenset(
    {"audio", "binary", "blob", "cachePoint", "compaction", "data", "document", "file", "guardContent", "image"}
    | {"image-url", "image_url", "input_audio", "input_file", "input_image", "media", "modality", "reasoning"}
    | {"redacted_thinking", "reasoningContent", "source", "step-start", "thinking", "uri", "video", "inline_data"}
    | {"inlineData", "file_data", "fileData", "thought"}
)
_CALL_KEYS: Final = ("toolUse", "tool_use", "function_call", "functionCall")
_RESULT_KEYS: Final = ("toolResult", "tool_result", "function_response", "functionResponse")
_IDS: Final = ("id", "call_id", "toolCallId", "toolUseId", "tool_call_id", "tool_use_id")
_RESULT_IDS: Final = ("tool_call_id", "tool_use_id", "toolUseId", "toolCallId", "call_id", "id")
_NAMES: Final = ("name", "toolName", "tool_name")
_ARGUMENTS: Final = ("arguments", "args", "input")
_PAYLOADS: Final = ("response", "result", "output", "content")
# The kinds of outputs of the Vercel AI SDK that say whether a tool failed.
_OUTPUTS: Final = {"text": None, "json": None, "content": None, "error-text": True, "error-json": True}
_MISSING: Final = object()
# How an answer of LangChain begins where it was taken for text.
_GENERATIONS: Final = '{"generations"'
# What a mapping has that is a whole message, whatever it stands in.
_CALLS: Final = ("tool_calls", "toolCalls", "function_call")
# How the parts of a message begin, where they are JSON in a text.
_begins_as_parts = re.compile(
    r"""\s*\[\s*\{\s*["'](?:type|text|toolUse|tool_use|function_call|functionCall|reasoningContent)["']"""
).match


def read_messages(
    recording: Recording, messages: Any, path: Path, *, by: Any = None, role: str = "user", depth: int = 0
) -> None:
    """Add what messages say, call and answer.

    Arguments:
        messages: a list of messages or one, perhaps as JSON in a text, or a text alone; or a recording of such, which
            a platform's reader made.
        by: the agent whose messages they are.
        role: of messages that don't say theirs.
    """
    if isinstance(messages, Recording):
        _take(recording, messages, by)
        return
    messages = opened(messages)
    if is_broken(messages):
        doubt_broken(recording, messages, path)
    elif isinstance(messages, str):
        _say(recording, _ROLES.get(role, "user"), [messages], path, by)
    elif isinstance(messages, Mapping):
        _read_message(recording, messages, path, by, role, depth)
    elif isinstance(messages, list) and any(isinstance(item, list) for item in messages) and depth < _MAX_DEPTH:
        for index, batch in enumerate(messages):  # LangChain's models are given several conversations at once
            read_messages(recording, batch, (*path, index), by=by, role=role, depth=depth + 1)
    elif isinstance(messages, list) and messages and all(isinstance(item, str) for item in messages):
        _say(recording, _ROLES.get(role, "user"), messages, path, by)
    else:
        for message, place in each_mapping(recording, messages, path, "a message"):
            _read_message(recording, message, place, by, role, depth)


def doubt_broken(recording: Recording, text: Any, path: Path) -> None:
    """Add that a text was meant as JSON and can't be read: nobody said it, and what was called is lost with it."""
    recording.doubt(f"a text that begins as JSON and is none, as one that was cut off: {show(text)}", path)


def _take(recording: Recording, told: Recording, by: Any) -> None:
    """Add what was read already, of the agent whose messages they are where they don't say whose."""
    begin = len(recording)
    recording.take(told)
    records = recording.records
    for position in range(begin, len(records)):
        record = records[position]
        is_spoken = record.call is not UNSET or record.agent is not UNSET
        if by and is_spoken and record.by is UNSET:
            records[position] = structs.replace(record, by=by)


def _read_message(
    recording: Recording, message: Mapping[str, Any], path: Path, by: Any, default: str, depth: int
) -> None:
    """Read a message, or what holds one: an answer with choices, an event, a message that was dumped by LangChain."""
    inner = _inner(message)
    if inner is not None and depth < _MAX_DEPTH:
        read_messages(recording, inner, path, by=by, role=_role(message, default), depth=depth + 1)
        return
    role = _role(message, default)
    if role in _ANSWERERS and not _holds_parts(message) and not _holds_calls(message):
        payload = _first(message, ("content", "response", "result", "output"))
        if payload is not _MISSING:
            _answer(recording, message, payload_of_tool(payload), path)
        return
    if "role" not in message and _kind(message) is not None:  # a part that stands where messages do
        _Parts(recording, path, by, _ROLES.get(role, "agent")).read([message])
        return
    speaker = _ROLES.get(role)
    if speaker is None and role not in _ANSWERERS:
        recording.doubt(f"an unknown role {show(role)}", path)
        return
    _read_spoken(recording, message, path, by, speaker or "system")


def _read_spoken(recording: Recording, message: Mapping[str, Any], path: Path, by: Any, speaker: Role) -> None:
    parts = _Parts(recording, path, by, speaker)
    content = _content(message)
    if speaker == "agent" and _is_broken_content(message, content):
        doubt_broken(recording, content, path)
        content = None
    parts.read(content)
    calls = message.get("tool_calls") or message.get("toolCalls")
    for call, place in each_mapping(recording, opened(calls), (*path, "tool_calls"), "a tool call"):
        inner = call.get("tool_call")
        _call(recording, inner if isinstance(inner, Mapping) else call, place, by)
    function = message.get("function_call")
    if isinstance(function, Mapping) and function and not calls:
        _call(recording, function, (*path, "function_call"), by)
    _doubt_end(recording, message, path, called=parts.called or bool(calls or function))


def _is_broken_content(message: Mapping[str, Any], content: Any) -> bool:
    """Whether a content was meant as JSON: elsewhere an agent may well say what begins so."""
    return is_broken(content) and ("event.name" in message or _begins_as_parts(content) is not None)


def _inner(message: Mapping[str, Any]) -> Any:
    """Return what a mapping that is no message itself holds messages in, or None."""
    for key in ("choices", "candidates"):  # of several answers the first is read
        if isinstance(message.get(key), list):
            return message[key][:1]
    if isinstance(message.get("generations"), list):
        return _generated(message["generations"])
    if message.get("lc") and isinstance(message.get("kwargs"), Mapping):
        return message["kwargs"]
    whole = _whole_message(message)
    if whole is not None:
        return whole
    return _inner_of_content(message) if "role" in message else _inner_without_role(message)


def _whole_message(message: Mapping[str, Any]) -> Any:
    """Return the message that stands in another's place for its content, also as JSON in a text; None for none."""
    for key in ("message", "content"):
        inside = message.get(key)
        if key == "message" or "event.name" in message:
            inside = opened(inside)
        if isinstance(inside, Mapping) and _is_message(inside):
            return {**{key: message[key] for key in ("finish_reason", "id") if message.get(key)}, **inside}
    return None


def _is_message(mapping: Mapping[str, Any]) -> bool:
    role = mapping.get("role")
    has_role = isinstance(role, str) and (role.lower() in _ROLES or role.lower() in _ANSWERERS)
    return has_role or any(isinstance(mapping.get(key), (list, Mapping)) for key in _CALLS)


def _inner_of_content(message: Mapping[str, Any]) -> Any:
    content = message.get("content")
    if isinstance(content, str) and content.startswith(_GENERATIONS):
        return opened(content)
    return None


def _inner_without_role(message: Mapping[str, Any]) -> Any:
    inner, data, content = (message.get(key) for key in ("message", "data", "content"))
    if isinstance(inner, Mapping):
        return inner
    if isinstance(data, Mapping) and "type" in message and "content" not in message:
        return {"type": message["type"], **data}
    if isinstance(content, Mapping) and "parts" in content:
        return {"role": "model", **content}
    if "type" in message:
        return None
    return next(
        (message[key] for key in ("messages", "contents", "output") if isinstance(message.get(key), list)), None
    )


def _generated(generations: Any) -> Any:
    """Return the first message of what LangChain's models generate: for each conversation a list."""
    while isinstance(generations, list) and generations:
        generations = generations[0]
    if not isinstance(generations, Mapping):
        return []
    message = generations.get("message")
    if not isinstance(message, Mapping):
        return {"role": "assistant", "content": generations.get("text")}
    message = message["kwargs"] if isinstance(message.get("kwargs"), Mapping) else message
    return {"content": generations.get("text"), **message, "role": "assistant"}


def _role(message: Mapping[str, Any], default: str) -> str:
    role = message.get("role")
    if isinstance(role, str) and role:
        return role.lower()
    event = message.get("event.name")
    if isinstance(event, str) and event in _EVENT_ROLES:
        return _EVENT_ROLES[event]
    kind = word(message, "type")
    return kind if kind in _ROLES or kind in _ANSWERERS else default


def _content(message: Mapping[str, Any]) -> Any:
    """Return the parts of a message, or its text."""
    for key in ("parts", "contents", "content", "message"):
        content = message.get(key)
        if content is None or content == "":
            continue
        while isinstance(content, Mapping) and not content.keys().isdisjoint(("content", "message")):
            content = content.get("content", content.get("message"))
        inside = opened(content)
        is_parts = isinstance(inside, list) and inside and all(map(_is_part, inside))
        return inside if is_parts or not isinstance(content, str) else content
    return None


def _is_part(item: Any) -> bool:
    return isinstance(item, Mapping) and (_kind(item) is not None or "text" in item)


def _holds_parts(message: Mapping[str, Any]) -> bool:
    content = _content(message)
    return isinstance(content, list) and any(isinstance(item, Mapping) and _kind(item) == "result" for item in content)


def _holds_calls(message: Mapping[str, Any]) -> bool:
    """Whether a tool's message is no result but calls, as Koog writes them into histories: it has no id of a call."""
    content = _content(message) if _first(message, _RESULT_IDS) is _MISSING else None
    return isinstance(content, list) and bool(content) and all(map(_is_function_call, content))


def _is_function_call(part: Any) -> bool:
    function = part.get("function") if isinstance(part, Mapping) else None
    return isinstance(function, Mapping) and "arguments" in function and isinstance(part.get("id"), str)


def _kind(part: Mapping[str, Any]) -> str | None:
    """Return what a part is: a call, a result, a text, or silent; None where it can't be told."""
    kind = part.get("type")
    if isinstance(kind, str):
        if kind in _CALL_TYPES:
            return "call"
        if kind in _RESULT_TYPES:
            return "result"
        if kind in _SILENT_TYPES:
            return "silent"
        if kind in ("text", "input_text", "output_text", "refusal", "message", "message_content"):
            return "text"
    if any(part.get(key) for key in _CALL_KEYS):
        return "call"
    if any(part.get(key) for key in _RESULT_KEYS):
        return "result"
    if "message_content" in part or isinstance(part.get("text"), str):
        return "text"
    return None if _SILENT_TYPES.isdisjoint(part) else "silent"


class _Parts:
    """Reads the parts of one message. Texts that stand together are one message.

    Attributes:
        called: whether one of them is a call.
    """

    def __init__(self, recording: Recording, path: Path, by: Any, speaker: Role) -> None:
        self._recording = recording
        self._path = path
        self._by = by
        self._speaker = speaker
        self._texts: list[str] = []
        self.called = False

    def read(self, parts: Any) -> None:
        """Read parts, one part, or a text."""
        if parts is None:
            return
        for index, part in enumerate(parts if isinstance(parts, list) else [parts]):
            if isinstance(part, str):
                self._texts.append(part)
            elif isinstance(part, Mapping):
                self._read_part(part, (*self._path, "parts", index))
            else:
                self._doubt(part, (*self._path, "parts", index))
        self._flush()

    def _read_part(self, part: Mapping[str, Any], path: Path) -> None:
        kind = _kind(part)
        if kind == "text":
            self._texts += _part_texts(part)
        elif kind == "call":
            self._flush()
            self.called = True
            _call(self._recording, _under(part, _CALL_KEYS), path, self._by, default=NOT_RECORDED)
        elif kind == "result":
            self._flush()
            _result(self._recording, _under(part, _RESULT_KEYS), path)
        elif kind is None:
            self._doubt(part, path)

    def _doubt(self, part: Any, path: Path) -> None:
        self._recording.doubt(f"an unknown part {show(part)}", path, hides_call=self._speaker == "agent")

    def _flush(self) -> None:
        _say(self._recording, self._speaker, self._texts, self._path, self._by)
        self._texts = []


def _part_texts(part: Mapping[str, Any]) -> list[str]:
    inner = part.get("message_content")
    holder = inner if isinstance(inner, Mapping) else part
    if word(holder, "type") in _SILENT_TYPES:
        return []
    text = next((holder[key] for key in ("text", "content", "refusal") if isinstance(holder.get(key), str)), None)
    if text is not None:
        return [text]
    nested = holder.get("content")
    return (
        [item for one in nested if isinstance(one, Mapping) for item in _part_texts({**one, "message_content": None})]
        if isinstance(nested, list)
        else []
    )


def _say(recording: Recording, speaker: Role, texts: list[str], path: Path, by: Any) -> None:
    text = "\n".join(filter(None, texts))
    if text:
        recording.say(speaker, text, path, by if speaker == "agent" else None)


def _under(part: Mapping[str, Any], keys: tuple[str, ...]) -> Mapping[str, Any]:
    """Return what a part holds under the key that says its kind, or the part itself."""
    return next((part[key] for key in keys if isinstance(part.get(key), Mapping)), part)


def _first(mapping: Mapping[str, Any], keys: tuple[str, ...]) -> Any:
    return next((mapping[key] for key in keys if mapping.get(key) is not None), _MISSING)


def _call(recording: Recording, call: Mapping[str, Any], path: Path, by: Any, default: Any = None) -> None:
    """Add a call.

    Arguments:
        default: what stands for arguments that are not there: some formats leave them out where there are none.
    """
    function = call.get("function")
    holder = function if isinstance(function, Mapping) else call
    arguments = _first(holder, _ARGUMENTS)
    if arguments is _MISSING:
        arguments = None if any(key in holder for key in _ARGUMENTS) else default
    call_id = _first(call, _IDS)
    name = _first(holder, _NAMES)
    recording.call(
        None if name is _MISSING else name,
        arguments_of(arguments),
        None if call_id is _MISSING else call_id,
        path,
        by=by,
    )


def _result(recording: Recording, result: Mapping[str, Any], path: Path) -> None:
    """Add a result. Where its payload was left out of the recording there is nothing to add."""
    payload = _first(result, _PAYLOADS)
    if payload is _MISSING and any(key in result for key in _PAYLOADS):
        payload = None
    if payload is not _MISSING:
        _answer(recording, result, payload_of_tool(payload), path)


def _answer(recording: Recording, result: Mapping[str, Any], payload: Any, path: Path) -> None:
    is_error = _is_error(result)
    if isinstance(payload, Mapping) and payload.keys() == {"type", "value"} and word(payload, "type") in _OUTPUTS:
        is_error = _OUTPUTS[word(payload, "type")] if is_error is None else is_error
        payload = payload["value"]
    call_id, name = _first(result, _RESULT_IDS), _first(result, _NAMES)
    recording.answer(
        payload,
        None if call_id is _MISSING else call_id,
        path,
        of=None if name is _MISSING else name,
        is_error=is_error,
    )


def _is_error(result: Mapping[str, Any]) -> bool | None:
    for key in ("is_error", "isError"):
        if isinstance(result.get(key), bool):
            return bool(result[key])
    return {"error": True, "success": False}.get(word(result, "status"))


def payload_of_tool(payload: Any) -> Any:
    """Return what a tool gave back: a list of one text or value is that, everything else stays as it was recorded.

    >>> payload_of_tool([{"text": "sunny"}]), payload_of_tool([{"json": {"n": 1}}])
    ('sunny', {'n': 1})
    """
    inside = decoded(payload) if isinstance(payload, str) and payload.lstrip().startswith("[{") else payload
    if not isinstance(inside, list) or len(inside) != 1 or not isinstance(inside[0], Mapping):
        return payload
    part = inside[0]
    if part.keys() <= {"type", "text"} and isinstance(part.get("text"), str):
        return part["text"]
    return part["json"] if part.keys() == {"json"} else payload


_CALLING: Final = frozenset({"tool_call", "tool_calls", "tool_use", "function_call"})
_WITHHELD: Final = frozenset({"content_filter", "error", "malformed_function_call", "unexpected_tool_call"})


def _doubt_end(recording: Recording, message: Mapping[str, Any], path: Path, *, called: bool) -> None:
    """Look for a call that the end of an answer speaks of and that is not there."""
    reason = word(message, "finish_reason").lower()
    if reason in _WITHHELD:
        recording.doubt(f"the answer was withheld: finish_reason {reason}", path)
    elif reason in _CALLING and not called:
        recording.doubt(f"finish_reason is {reason}, and there is no call", path)
