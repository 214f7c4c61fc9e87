"""Read the AI SDK of Vercel: messages of its user interface and of models, results of ``generateText``, and streams.

Messages of the user interface hold a call and its result in one part; those of models hold them in two messages.
A result, or its steps, may stand beside messages: it comes after them, but for what they tell as well.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, Final

from msgspec import UNSET

from tracewitness.display import show
from tracewitness.readers.reader import CONTENT_LIST, Reader
from tracewitness.readers.recording import Path, Recording, each_mapping, payload_of, refuse, word
from tracewitness.trace import Role, Trace

__all__ = ["READER", "SHAPE", "detects", "read"]

SHAPE: Final = "a message of the AI SDK has parts, or content with tool-call and tool-result; a result of it has steps"

_ROLES: Final[dict[str, Role]] = {"user": "user", "system": "system", "assistant": "agent"}
_DYNAMIC: Final = "dynamic-tool"
_INVOCATION: Final = "tool-invocation"
_TOOL: Final = "tool-"
# Parts of models' messages that call and answer. They begin as the tools of the user interface do.
_PAIRED: Final = frozenset({"tool-call", "tool-result", "tool-error"})
_SILENT_PARTS: Final = frozenset(
    {
        "custom",
        "file",
        "image",
        "reasoning",
        "reasoning-file",
        "redacted-reasoning",
        "source",
        "source-document",
        "source-url",
        "step-start",
        "tool-approval-request",
        "tool-approval-response",
    }
)
# Pieces of a stream: those of calls, and those that neither call nor answer.
_CALL_CHUNKS: Final = frozenset(
    {
        "tool-input-start",
        "tool-input-delta",
        "tool-input-available",
        "tool-input-error",
        "tool-output-available",
        "tool-output-error",
        "tool-output-denied",
    }
)
_SILENT_CHUNKS: Final = _SILENT_PARTS | {
    "abort",
    "finish",
    "finish-step",
    "message-metadata",
    "reasoning-delta",
    "reasoning-end",
    "reasoning-start",
    "start",
    "start-step",
    "text-end",
    "text-start",
}
_DENIED: Final = "execution-denied"
_LISTS: Final = ("messages", "steps")
# What a result, or one of its steps, lists beside its text, and the kinds of the parts there.
_LISTED: Final = (("toolCalls", "tool-call"), ("toolResults", "tool-result"))


def detects(document: Any) -> bool:
    """Whether decoded data is of this format."""
    if isinstance(document, list):
        return any(map(_is_own, document))
    if not isinstance(document, Mapping):
        return False
    if _is_message(document) or _is_result(document):
        return True
    return any(isinstance(document.get(key), list) and any(map(_is_own, document[key])) for key in _LISTS)


def read(document: Any, name: str = "") -> Trace:
    """Read a message, a list of them or of steps, a mapping with ``messages`` or ``steps``, or pieces of a stream.

    Raises:
        ReadError: it is nothing of the kind.

    >>> part = {"type": "tool-search", "toolCallId": "c1", "state": "input-available", "input": {"q": "lamp"}}
    >>> read([{"role": "assistant", "parts": [part]}]).to_events()
    [{'call': 'search', 'args': {'q': 'lamp'}, 'id': 'c1'}]
    """
    recording = Recording()
    if isinstance(document, list):
        _read_items(recording, document, ())
    elif isinstance(document, Mapping) and (_is_result(document) or _has_list(document)):
        _read_mapping(recording, document)
    elif isinstance(document, Mapping) and "role" in document:
        _read_message(recording, document, ())
    else:
        raise refuse(document, SHAPE)
    return recording.trace(name)


def _read_mapping(recording: Recording, document: Mapping[str, Any]) -> None:
    """Read messages, the steps of a result, and what a result lists of its last step, each but for what was told."""
    for key in _LISTS:
        if isinstance(document.get(key), list):
            _read_items(recording, document[key], (key,), _Told(recording))
    if _is_result(document):
        _read_step(recording, document, (), _Told(recording))


# ----------------------------------------------------------------------------------------------------------- detection


def _is_own(item: Any) -> bool:
    """Whether an item is a message, a step, or a piece of a stream, of this format and of no other."""
    if not isinstance(item, Mapping):
        return False
    return _is_message(item) if "role" in item else _is_step(item) or _is_chunk(item)


def _is_message(item: Mapping[str, Any]) -> bool:
    if "role" not in item:
        return False
    parts, content = item.get("parts"), item.get("content")
    if isinstance(item.get("toolInvocations"), list):
        return True
    if isinstance(parts, list):
        return any(map(_is_ui_part, parts))
    return isinstance(content, list) and any(map(_is_paired, content))


def _is_ui_part(part: Any) -> bool:
    if not isinstance(part, Mapping):
        return False
    kind = word(part, "type")
    if kind == "text":
        return isinstance(part.get("text"), str)
    return _tool_of(part) is not None or kind in ("step-start", _INVOCATION, "source-url", "source-document")


def _is_paired(part: Any) -> bool:
    return isinstance(part, Mapping) and word(part, "type") in _PAIRED and "toolCallId" in part


def _is_step(item: Mapping[str, Any]) -> bool:
    """Whether an item is a step of ``generateText``; older ones list calls beside results."""
    has_content = isinstance(item.get("content"), list) or isinstance(item.get("toolCalls"), list)
    return _is_result(item) or ("finishReason" in item and has_content)


def _is_result(item: Mapping[str, Any]) -> bool:
    """Whether a mapping lists calls as a result of ``generateText`` does."""
    calls = item.get("toolCalls")
    return isinstance(calls, list) and any(isinstance(call, Mapping) and "toolCallId" in call for call in calls)


def _has_list(document: Mapping[str, Any]) -> bool:
    return any(isinstance(document.get(key), list) for key in _LISTS)


def _is_chunk(item: Mapping[str, Any]) -> bool:
    kind = word(item, "type")
    return kind in ("start-step", "finish-step") or ("toolCallId" in item and (kind in _CALL_CHUNKS or kind in _PAIRED))


# ------------------------------------------------------------------------------------------------------------- reading


class _Told:
    """Knows what a recording has so far, so that a result tells none of it again."""

    def __init__(self, recording: Recording) -> None:
        self._calls = {record.id for record in recording.records if record.call is not UNSET}
        self._answers = {record.id for record in recording.records if record.result is not UNSET}
        self._texts = Counter(record.agent for record in recording.records if record.agent is not UNSET)

    def without(self, parts: Any) -> Any:
        """Return parts with silent ones in the place of those that were told."""
        return [_NOTHING if self._has(part) else part for part in parts] if isinstance(parts, list) else parts

    def _has(self, part: Any) -> bool:
        if not isinstance(part, Mapping):
            return False
        kind, call_id = word(part, "type"), part.get("toolCallId")
        if kind == "text":
            return self.has_text(word(part, "text"))
        known = self._calls if kind == "tool-call" else self._answers if kind in _PAIRED else ()
        return isinstance(call_id, str) and call_id in known

    def has_text(self, text: str) -> bool:
        """Whether the agent said that, and no part told it again yet."""
        self._texts[text] -= 1
        return self._texts[text] >= 0


# Stands in the place of a part that was told, so that the parts after it keep their places.
_NOTHING: Final = {"type": "reasoning"}


def _read_items(recording: Recording, items: Any, path: Path, told: _Told | None = None) -> None:
    chunks: list[tuple[Mapping[str, Any], Path]] = []
    for item, place in each_mapping(recording, items, path, "a message"):
        if "role" in item:
            _read_message(recording, item, place)
        elif _is_step(item):
            _read_step(recording, item, place, told or _Told(Recording()))
        elif word(item, "type"):
            chunks.append((item, place))
        else:
            recording.doubt(f"neither a message nor a step: {show(list(item))}", place)
    if chunks:
        _Stream(recording).read(chunks)


def _read_message(recording: Recording, message: Mapping[str, Any], path: Path) -> None:
    role = word(message, "role")
    if message.get("tool_calls"):
        recording.doubt("a message of the AI SDK has no tool_calls", path)
    if "parts" in message:
        _read_ui_message(recording, message, path)
    elif role == "tool" or role in _ROLES:
        content = message.get("content")
        if isinstance(content, str):
            content = [{"type": "text", "text": content}]
        _read_parts(recording, content, (*path, "content"), _ROLES.get(role))
        for invocation, place in _invocations(recording, message, path):
            _read_tool(recording, invocation, word(invocation, "toolName"), place)
            _read_outcome(recording, invocation, place)
    else:
        recording.doubt(f"an unknown role {show(message.get('role'))}", path)


def _invocations(
    recording: Recording, message: Mapping[str, Any], path: Path
) -> Iterable[tuple[Mapping[str, Any], Path]]:
    return each_mapping(recording, message.get("toolInvocations"), (*path, "toolInvocations"), "a tool invocation")


# ---------------------------------------------------------------------------------------- messages of a user interface


def _read_ui_message(recording: Recording, message: Mapping[str, Any], path: Path) -> None:
    """Read the parts of a message.

    All tools of a step were called before any of them answered. Where steps are not marked, text begins a new one.
    """
    role = word(message, "role")
    if role not in _ROLES:
        recording.doubt(f"an unknown role {show(message.get('role'))}", path)
    speaker = _ROLES.get(role, "agent")
    texts: list[str] = []
    ran: list[tuple[Mapping[str, Any], Path]] = []
    parts = list(each_mapping(recording, message.get("parts"), (*path, "parts"), "a part"))
    has_steps = any(part.get("type") == "step-start" for part, _ in parts)
    for part, place in parts:
        kind = word(part, "type")
        inner = part.get("toolInvocation")
        own = inner if kind == _INVOCATION and isinstance(inner, Mapping) else part
        tool = _tool_of(own) if own is part else word(own, "toolName")
        if kind == "step-start" or (kind == "text" and not has_steps):
            _read_outcomes(recording, ran)
        if tool is not None:
            _read_tool(recording, own, tool, place)
            if own.get("providerExecuted"):
                _read_outcome(recording, own, place)
            else:
                ran.append((own, place))
        elif kind == "text" and speaker == "agent":
            recording.say(speaker, word(part, "text"), place)
        elif kind == "text":
            texts.append(word(part, "text"))
        elif kind not in _SILENT_PARTS and not kind.startswith("data-"):
            recording.doubt(f"an unknown part {show(part)}", place, hides_call=speaker == "agent")
    _read_outcomes(recording, ran)
    if texts or speaker != "agent":
        recording.say(speaker, "\n".join(texts), path)


def _tool_of(part: Mapping[str, Any]) -> str | None:
    """Return the name of the tool that a part is a call to, or None where it is none."""
    kind = word(part, "type")
    if kind == _DYNAMIC:
        return word(part, "toolName")
    is_tool = kind.startswith(_TOOL) and kind not in _PAIRED and kind not in _SILENT_PARTS and "toolCallId" in part
    return kind.removeprefix(_TOOL) if is_tool and "state" in part else None


def _read_tool(recording: Recording, part: Mapping[str, Any], tool: str, path: Path) -> None:
    arguments = next((part[key] for key in ("input", "rawInput", "args") if part.get(key) is not None), None)
    _call(recording, part, arguments, path, tool)
    if part.get("state") in ("input-streaming", "partial-call"):
        recording.doubt(f"a call to {show(tool)} that is not complete", path)


def _read_outcomes(recording: Recording, ran: list[tuple[Mapping[str, Any], Path]]) -> None:
    for part, place in ran:
        _read_outcome(recording, part, place)
    ran.clear()


def _read_outcome(recording: Recording, part: Mapping[str, Any], path: Path) -> None:
    """Read what a tool gave, where it has: what it gave on the way is not its result."""
    state, call_id = word(part, "state"), part.get("toolCallId")
    if state == "output-available" and not part.get("preliminary"):
        recording.answer(part.get("output"), call_id, path, is_error=False)
    elif state == "output-error":
        recording.answer(part.get("errorText"), call_id, path, is_error=True)
    elif state == "output-denied":
        approval = part.get("approval")
        recording.answer(
            approval.get("reason") if isinstance(approval, Mapping) else None, call_id, path, is_error=True
        )
    elif state == "result":
        recording.answer(part.get("result"), call_id, path)


# ------------------------------------------------------------------------------------- messages of models, and results


def _read_step(recording: Recording, step: Mapping[str, Any], path: Path, told: _Told) -> None:
    """Read a step, or a result.

    Errors stand in it as objects that JSON makes nothing of; their texts stand in its messages.
    """
    content = step.get("content")
    if isinstance(content, list):
        _read_parts(recording, told.without(content), (*path, "content"), "agent", _error_texts(step))
        return
    if word(step, "text") and not told.has_text(word(step, "text")):
        recording.say("agent", word(step, "text"), path)
    for key, kind in _LISTED:
        parts = step.get(key)
        if isinstance(parts, list):
            parts = [{"type": kind, **part} if isinstance(part, Mapping) else part for part in parts]
        for part, place in each_mapping(recording, told.without(parts), (*path, key), "a tool's part"):
            _read_part(recording, part, place, "agent", {})
    if step.get("finishReason") == "tool-calls" and not step.get("toolCalls"):
        recording.doubt("finishReason is tool-calls, and there is no call", path)


def _error_texts(step: Mapping[str, Any]) -> dict[Any, Any]:
    response = step.get("response")
    messages = response.get("messages") if isinstance(response, Mapping) else None
    texts: dict[Any, Any] = {}
    for message in messages if isinstance(messages, list) else ():
        content = message.get("content") if isinstance(message, Mapping) else None
        for part in content if isinstance(content, list) else ():
            output = part.get("output") if isinstance(part, Mapping) else None
            if isinstance(output, Mapping) and isinstance(part.get("toolCallId"), str):
                texts[part["toolCallId"]] = output.get("value")
    return texts


def _read_parts(
    recording: Recording, parts: Any, path: Path, speaker: Role | None, error_texts: Mapping[Any, Any] | None = None
) -> None:
    """Read the parts of a message. All texts of a message that is not the agent's are one."""
    texts: list[str] = []
    for part, place in each_mapping(recording, parts, path, "a part"):
        if part.get("type") != "text":
            _read_part(recording, part, place, speaker, error_texts or {})
        elif speaker == "agent":
            recording.say(speaker, word(part, "text"), place)
        else:
            texts.append(word(part, "text"))
    if speaker not in ("agent", None):
        recording.say(speaker, "\n".join(texts), path[:-1])


def _read_part(
    recording: Recording,
    part: Mapping[str, Any],
    path: Path,
    speaker: Role | None,
    error_texts: Mapping[Any, Any],
) -> None:
    kind = word(part, "type")
    if kind == "tool-call":
        _call(recording, part, part["input"] if "input" in part else part.get("args"), path, part.get("toolName"))
    elif kind == "tool-result":
        payload, is_error = _result_of(part)
        recording.answer(payload, part.get("toolCallId"), path, of=part.get("toolName"), is_error=is_error)
    elif kind == "tool-error":
        call_id = part.get("toolCallId")
        payload = part.get("error") or error_texts.get(call_id if isinstance(call_id, str) else None)
        recording.answer(payload, call_id, path, of=part.get("toolName"), is_error=True)
    elif kind not in _SILENT_PARTS:
        recording.doubt(f"an unknown part {show(part)}", path, hides_call=speaker in ("agent", None))


def _call(recording: Recording, part: Mapping[str, Any], arguments: Any, path: Path, tool: Any) -> None:
    beside = {"providerExecuted": True} if part.get("providerExecuted") is True else None
    recording.call(tool, arguments, part.get("toolCallId"), path, metadata=beside)


def _result_of(part: Mapping[str, Any]) -> tuple[Any, bool | None]:
    """Return what a tool gave, and whether that is an error. Messages wrap it with its type; steps do not."""
    output = part.get("output")
    if "output" not in part:
        flag = part.get("isError")
        return part.get("result"), flag if isinstance(flag, bool) else None
    if "input" in part or not isinstance(output, Mapping):
        return output, False
    kind = word(output, "type")
    if kind == _DENIED:
        return output.get("reason"), True
    if "value" not in output:
        return output, None
    return payload_of(output["value"]), kind.startswith("error-")


# ------------------------------------------------------------------------------------------------------------- streams


class _Stream:
    """Puts the pieces of a stream together."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._texts: dict[Any, list[str]] = {}
        # Calls of which the input is on its way, by id: the tool's name, the pieces, and where it began.
        self._begun: dict[Any, tuple[Any, list[str], Path]] = {}

    def read(self, chunks: list[tuple[Mapping[str, Any], Path]]) -> None:
        for chunk, path in chunks:
            self._read_chunk(chunk, path)
        for text_id in list(self._texts):
            self._end_text(text_id, chunks[-1][1])
        for call_id, (tool, pieces, path) in self._begun.items():
            self._recording.call(tool, "".join(pieces), call_id, path)
            self._recording.doubt(f"a call to {show(tool)} that is not complete", path, cut=True)

    def _read_chunk(self, chunk: Mapping[str, Any], path: Path) -> None:
        kind, call_id = word(chunk, "type"), chunk.get("toolCallId")
        if kind in _CALL_CHUNKS and isinstance(call_id, str):
            self._read_call_chunk(kind, call_id, chunk, path)
        elif kind == "text-delta":
            text = chunk.get("delta", chunk.get("text", chunk.get("textDelta")))
            self._texts.setdefault(_text_id(chunk), []).append(text if isinstance(text, str) else "")
        elif kind == "text-end":
            self._end_text(_text_id(chunk), path)
        elif kind == "error":
            self._recording.doubt(f"the answer failed: {show(chunk.get('errorText', chunk.get('error')))}", path)
        elif kind in _PAIRED:
            _read_part(self._recording, chunk, path, "agent", {})
        elif kind not in _SILENT_CHUNKS and not kind.startswith("data-"):
            self._recording.doubt(f"an unknown piece {show(chunk)}", path)

    def _end_text(self, text_id: Any, path: Path) -> None:
        if text_id in self._texts:
            self._recording.say("agent", "".join(self._texts.pop(text_id)), path)

    def _read_call_chunk(self, kind: str, call_id: str, chunk: Mapping[str, Any], path: Path) -> None:
        recording = self._recording
        if kind == "tool-input-start":
            self._begun[call_id] = (chunk.get("toolName"), [], path)
        elif kind == "tool-input-delta":
            begun = self._begun.get(call_id)
            if begun is None:
                recording.doubt(f"a piece of a call that did not begin: {show(call_id)}", path)
            else:
                begun[1].append(word(chunk, "inputTextDelta"))
        elif kind in ("tool-input-available", "tool-input-error"):
            self._begun.pop(call_id, None)
            _call(recording, chunk, chunk.get("input"), path, chunk.get("toolName"))
        elif kind == "tool-output-available":
            if not chunk.get("preliminary"):
                recording.answer(chunk.get("output"), call_id, path, is_error=False)
        else:
            recording.answer(chunk.get("errorText"), call_id, path, is_error=True)


def _text_id(chunk: Mapping[str, Any]) -> Any:
    text_id = chunk.get("id")
    return text_id if isinstance(text_id, str) else None


READER: Final = Reader(
    "vercel-ai",
    detects=detects,
    read=read,
    shape=SHAPE,
    keys=frozenset(
        {"parts", CONTENT_LIST, "toolInvocations", *_LISTS, "finishReason", "toolCallId", "toolCalls", "type"}
    ),
)
