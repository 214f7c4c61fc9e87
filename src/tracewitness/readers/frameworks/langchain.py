"""Read messages of LangChain and states of LangGraph: as objects, in all ways in which they are saved, and as streams.

A handover to another agent (`transfer_to_…`, with or without a `Command`) is a call like any other: nothing in the
messages says for certain that it was one. `AIMessage.name` is the agent.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from types import NoneType
from typing import Any, Final, NamedTuple

from tracewitness.display import show
from tracewitness.errors import ReadError
from tracewitness.readers.frameworks import langchain_events
from tracewitness.readers.frameworks.agents import attribute
from tracewitness.readers.frameworks.langchain_messages import (
    FOREIGN,
    FoundMessage,
    find_messages,
    holds_message,
    is_task,
    message_at,
)
from tracewitness.readers.providers import anthropic_messages, openai_chat
from tracewitness.readers.providers.openai_responses import ItemReader
from tracewitness.readers.reader import Reader
from tracewitness.readers.recording import (
    Path,
    Recording,
    each_mapping,
    one_text,
    payload_of,
    read_arguments,
    refuse,
    word,
)
from tracewitness.trace import Trace

__all__ = ["READER", "SHAPE", "detects", "read"]

SHAPE: Final = "messages of LangChain have a type such as human, ai or tool, and content; a state holds a list of them"

_STATE_KEYS: Final = ("messages", "values", "channel_values", "checkpoint")
_USUAL_KEYS: Final = frozenset({*_STATE_KEYS, "data", "generations", "lc", "result", "type", "value"})
_ROLES: Final = {
    "user": "human",
    "human": "human",
    "assistant": "ai",
    "ai": "ai",
    "system": "system",
    "developer": "system",
}
# Blocks of an answer that repeat a call which stands in `tool_calls`, and the field with its arguments.
_COPIES: Final = {
    "custom_tool_call": "input",
    "function_call": "arguments",
    "invalid_tool_call": "args",
    "tool_call": "args",
    "tool_call_chunk": "args",
    "tool_use": "input",
}
# Calls of tools that the provider has, as LangChain and as Gemini's integration write them.
_HOSTED_CALLS: Final = frozenset({"server_tool_call", "server_tool_call_chunk"})
_ANTHROPIC_CALLS: Final = frozenset({"server_tool_use", "mcp_tool_use", "compaction"})
_CODE: Final = "code_execution"
_GEMINI_OK: Final = (1, "OUTCOME_OK")
_SILENT_BLOCKS: Final = frozenset(
    {
        "audio",
        "cachePoint",
        "cache_point",
        "citation",
        "document",
        "file",
        "function_call_signature",
        "guard_content",
        "image",
        "image_url",
        "input_audio",
        "input_file",
        "input_image",
        "input_json_delta",
        "media",
        "reasoning",
        "reasoning_content",
        "redacted_thinking",
        "search_result",
        "text-plain",
        "thinking",
        "video",
    }
)
_CALLING: Final = frozenset({"tool_calls", "function_call", "tool_use"})
_WITHHELD: Final = frozenset({"content_filter", "SAFETY", "MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL"})


def detects(document: Any) -> bool:
    """Whether decoded data is of this format.

    A state may have its messages under any key. Those of other names than the usual are not searched any deeper.
    """
    if langchain_events.are_events(document):
        return True
    if isinstance(document, Mapping) and _USUAL_KEYS.isdisjoint(document):
        return any(value.__class__ is list and value and message_at(value[0]) for value in document.values())
    return holds_message(document)


def read(document: Any, name: str = "") -> Trace:
    """Read a message, a list of them, a state or what else holds messages, or the events of a run.

    Raises:
        ReadError: it is nothing of the kind.

    >>> read([{"type": "ai", "content": "", "tool_calls": [{"name": "search", "args": {"q": "lamp"}, "id": "c1"}]},
    ...       {"type": "tool", "content": "a lamp", "tool_call_id": "c1", "status": "success"}]).to_events()
    [{'call': 'search', 'args': {'q': 'lamp'}, 'id': 'c1'}, {'result': 'a lamp', 'id': 'c1', 'is_error': False}]
    """
    try:
        if langchain_events.are_events(document):
            return langchain_events.read(document, _read_messages).trace(name)
        recording = Recording()
        if not _read_messages(recording, document):
            raise refuse(document, SHAPE)
    except RecursionError as error:
        raise ReadError("nested too deeply to be read") from error
    return recording.trace(name)


def _read_messages(recording: Recording, document: Any) -> int:
    """Read the messages that a document holds, and return how many there are."""
    messages = find_messages(recording, document)
    for message in messages:
        _READERS[message.kind](recording, message)
    return len(messages)


# ------------------------------------------------------------------------------------------------------------ messages


def _read_foreign(recording: Recording, message: FoundMessage) -> None:
    openai_chat.read_item(recording, message.fields, message.path)


def _read_chat(recording: Recording, message: FoundMessage) -> None:
    """Read a message whose role is free: who speaks is told by the usual ones."""
    kind = _ROLES.get(word(message.fields, "role").lower())
    if kind is None:
        recording.doubt(f"an unknown role {show(message.fields.get('role'))}", message.path)
    else:
        _READERS[kind](recording, message)


def _read_human(recording: Recording, message: FoundMessage) -> None:
    """Read what the user said, and results that stand in the same message before it."""
    texts: list[str] = []
    for block, path in _blocks(recording, message, may_call=False):
        text = _block_text(block)
        if text is not None:
            texts.append(text)
        elif word(block, "type") == "tool_result":
            anthropic_messages.read_item(recording, block, path)
        elif word(block, "type") not in _SILENT_BLOCKS:
            recording.doubt(f"an unknown block {show(dict(block))}", path, hides_call=False)
    recording.say("system" if message.kind == "system" else "user", "\n".join(texts), message.path)


def _read_result(recording: Recording, message: FoundMessage) -> None:
    fields = message.fields
    status = fields.get("status")
    recording.answer(
        payload_of(fields.get("content")),
        fields.get("tool_call_id"),
        message.path,
        of=fields.get("name"),
        is_error=status == "error" if status in ("error", "success") else None,
        metadata=None if fields.get("artifact") is None else {"artifact": fields["artifact"]},
    )


def _read_answer(recording: Recording, message: FoundMessage) -> None:
    """Read what the model said and had the provider do, then what it called."""
    begin, calls_before = len(recording), recording.calls
    calls = _calls(recording, message)
    _Content(recording, message, calls).read()
    for call in calls:
        recording.call(call.name, call.arguments, call.id, call.path, metadata=call.metadata)
    _read_outputs(recording, message)
    if len(recording) == begin:
        recording.say("agent", "", message.path)  # an empty answer is an answer
    attribute(recording, begin, message.fields.get("name"))
    _doubt_end(recording, message, called=recording.calls > calls_before)


def _read_outputs(recording: Recording, message: FoundMessage) -> None:
    """Read calls of tools that the provider has, where they stand beside the content."""
    kept = message.fields.get("additional_kwargs")
    outputs = kept.get("tool_outputs") if isinstance(kept, Mapping) else None
    items = ItemReader(recording)
    for item, path in each_mapping(recording, outputs, (*message.path, "additional_kwargs", "tool_outputs"), "an item"):
        items.item(item, path)


def _doubt_end(recording: Recording, message: FoundMessage, *, called: bool) -> None:
    """Look for a call that the end of an answer speaks of and that is not there."""
    metadata = message.fields.get("response_metadata")
    if not isinstance(metadata, Mapping):
        return
    reason = word(metadata, "finish_reason") or word(metadata, "stop_reason") or word(metadata, "stopReason")
    if reason in _WITHHELD:
        recording.doubt(f"the answer was withheld: {reason}", message.path)
    elif reason in _CALLING and not called:
        recording.doubt(f"the answer ended with {reason}, and there is no call", message.path)


_READERS: Final[dict[str, Callable[[Recording, FoundMessage], None]]] = {
    "ai": _read_answer,
    "chat": _read_chat,
    "function": _read_result,
    "human": _read_human,
    "system": _read_human,
    "tool": _read_result,
    FOREIGN: _read_foreign,
}


# --------------------------------------------------------------------------------------------------------------- calls


class _Known:
    """Tells which copies of calls are of those that a message lists: by their ids, or by names where there is none."""

    def __init__(self, calls: list[_Call]) -> None:
        self.ids = {call.id for call in calls if isinstance(call.id, str) and call.id}
        self.names = {call.name for call in calls if isinstance(call.name, str)}
        self._names_without_id = {call.name for call in calls if isinstance(call.name, str) and not call.id}

    def has(self, copy_id: Any, name: Any) -> bool:
        """Whether a copy with that id and that name is of a call that is listed."""
        has_name = isinstance(name, str)
        if has_name and name in self._names_without_id:
            return True
        if isinstance(copy_id, str) and copy_id:
            return copy_id in self.ids
        return has_name and name in self.names


class _Call(NamedTuple):
    """A call as a message has it: nothing in it is checked."""

    name: Any
    arguments: Any
    id: Any
    path: Path
    metadata: dict[str, Any] | None = None


def _calls(recording: Recording, message: FoundMessage) -> list[_Call]:
    """Return the calls of an answer, in the order of the copies in its content where it has some."""
    calls = list(_listed_calls(recording, message))
    order = {copy_id: number for number, copy_id in enumerate(_ids_of_copies(message.fields))}
    return sorted(calls, key=lambda call: order.get(call.id, len(order)) if isinstance(call.id, str) else len(order))


def _listed_calls(recording: Recording, message: FoundMessage) -> Iterator[_Call]:
    """Yield the calls: those of pieces as they were streamed, whose parsed arguments were mended."""
    fields, path = message.fields, message.path
    keys = ("tool_call_chunks",) if fields.get("tool_call_chunks") else ("tool_calls", "invalid_tool_calls")
    listed: list[_Call] = []
    for key in keys:
        for call, place in each_mapping(recording, fields.get(key), (*path, key), "a tool call"):
            listed.append(_listed_call(call, place))
            yield listed[-1]
    kept = fields.get("additional_kwargs")
    if isinstance(kept, Mapping):
        yield from _unlisted(listed, list(_kept_calls(recording, kept, (*path, "additional_kwargs"))))


def _unlisted(listed: list[_Call], kept: list[_Call]) -> Iterator[_Call]:
    """Yield the calls that a message has only as its provider wrote them. The copies of some have ids of their own."""
    known, kept_ids = _Known(listed), _Known(kept).ids
    renamed = Counter(_told(call) for call in listed if not isinstance(call.id, str) or call.id not in kept_ids)
    for call in kept:
        if listed and known.has(call.id, call.name):
            continue
        if renamed[_told(call)]:
            renamed[_told(call)] -= 1
        else:
            yield call


def _told(call: _Call) -> str:
    return repr((call.name, read_arguments(call.arguments)))


def _listed_call(call: Mapping[str, Any], path: Path) -> _Call:
    """Return a call. Where its arguments could not be parsed they are a text, and what was wrong is kept."""
    function = call.get("function")
    if isinstance(function, Mapping):  # as OpenAI writes it
        return _Call(function.get("name"), function.get("arguments"), call.get("id"), path)
    arguments = call["args"] if "args" in call else call.get("arguments")
    error = call.get("error")
    return _Call(call.get("name"), arguments, call.get("id"), path, None if error is None else {"error": error})


def _kept_calls(recording: Recording, kept: Mapping[str, Any], path: Path) -> Iterator[_Call]:
    """Yield the calls as their provider wrote them: old messages have no others."""
    for call, place in each_mapping(recording, kept.get("tool_calls"), (*path, "tool_calls"), "a tool call"):
        yield _listed_call(call, place)
    function = kept.get("function_call")
    if isinstance(function, Mapping) and not kept.get("tool_calls"):
        yield _Call(function.get("name"), function.get("arguments"), None, (*path, "function_call"))


def _ids_of_copies(fields: Mapping[str, Any]) -> Iterator[str]:
    kept, content = fields.get("additional_kwargs"), fields.get("content")
    lists = (content, kept.get("tool_calls") if isinstance(kept, Mapping) else None)
    for copies in lists:
        for copy in copies if isinstance(copies, list) else ():
            copy_id = _copy_id(copy) if isinstance(copy, Mapping) else None
            if isinstance(copy_id, str) and copy_id:
                yield copy_id


def _copy_id(block: Mapping[str, Any]) -> Any:
    return block.get("call_id") or block.get("id")


# ------------------------------------------------------------------------------------------------------------- content


def _blocks(recording: Recording, message: FoundMessage, *, may_call: bool) -> Iterator[tuple[Mapping[str, Any], Path]]:
    """Yield the blocks of a content; a text is one block."""
    content, path = message.fields.get("content"), (*message.path, "content")
    if isinstance(content, str):
        yield {"type": "text", "text": content}, message.path
        return
    if content is not None and not isinstance(content, (list, Mapping)):
        recording.doubt(f"content is a text or a list, not {show(content)}", path, hides_call=may_call)
        return
    for index, block in enumerate([content] if isinstance(content, Mapping) else content or ()):
        if isinstance(block, Mapping):
            yield block, (*path, index)
        elif isinstance(block, str):
            yield {"type": "text", "text": block}, (*path, index)
        else:
            recording.doubt(f"a block is a mapping, not {show(block)}", (*path, index), hides_call=may_call)


def _block_text(block: Mapping[str, Any]) -> str | None:
    return word(block, "refusal") if block.get("type") == "refusal" else one_text(block)


class _Content:
    """Reads the content of an answer: texts, and calls that are not in the list of calls."""

    def __init__(self, recording: Recording, message: FoundMessage, calls: list[_Call]) -> None:
        self._recording = recording
        self._message = message
        self._items = ItemReader(recording)
        self._known = _Known(calls)
        self._texts: list[str] = []

    def read(self) -> None:
        """Add what the content tells, in order."""
        for block, path in _blocks(self._recording, self._message, may_call=True):
            text = _block_text(block)
            if text is None:
                self._block(block, path)
            elif text:
                self._texts.append(text)
        self._say()

    def _say(self) -> None:
        if self._texts:
            self._recording.say("agent", "\n".join(self._texts), self._message.path)
            self._texts = []

    def _block(self, block: Mapping[str, Any], path: Path) -> None:
        kind = word(block, "type")
        if kind in _SILENT_BLOCKS:
            return
        self._say()
        if kind == "non_standard" and isinstance(block.get("value"), Mapping):
            self._block(block["value"], (*path, "value"))
        elif kind in _COPIES:
            self._copy(kind, block, path)
        elif kind in _HOSTED_CALLS:
            self._recording.call(block.get("name"), block.get("args"), block.get("id"), path)
        elif kind == "server_tool_result":
            is_error = block["status"] == "error" if block.get("status") in ("error", "success") else None
            self._recording.answer(block.get("output"), block.get("tool_call_id"), path, is_error=is_error)
        elif kind in ("executable_code", "code_execution_result"):
            self._code(kind, block, path)
        elif kind in _ANTHROPIC_CALLS or kind.endswith("_tool_result"):
            anthropic_messages.read_item(self._recording, block, path)
        else:
            self._items.item(block, path)

    def _copy(self, kind: str, block: Mapping[str, Any], path: Path) -> None:
        """Read a block that calls, where the call is not listed."""
        copy_id, name = _copy_id(block), block.get("name")
        is_piece = kind == "tool_call_chunk" and bool(self._known.ids or self._known.names)
        if not is_piece and not self._known.has(copy_id, name):
            self._recording.call(name, block.get(_COPIES[kind]), copy_id, path)

    def _code(self, kind: str, block: Mapping[str, Any], path: Path) -> None:
        """Read code that Gemini ran, or what came of it."""
        if kind == "executable_code":
            arguments = {key: block[key] for key in ("code", "executable_code", "language") if key in block}
            self._recording.call(_CODE, arguments, block.get("id"), path)
        else:
            is_error = None if block.get("outcome") is None else block["outcome"] not in _GEMINI_OK
            payload, call_id = block.get("code_execution_result"), block.get("tool_call_id")
            self._recording.answer(payload, call_id, path, of=_CODE, is_error=is_error)


# ------------------------------------------------------------------------------------------------------------ registry


def _yields(document: Any) -> bool:
    """Whether messages only stand somewhere in a document, which may be another framework's that keeps them."""
    if isinstance(document, list) and (_are_updates(document) or any(map(is_task, document))):
        return False
    first = document[0] if isinstance(document, list) and document else document
    return message_at(first) is None and not (isinstance(first, Mapping) and any(key in first for key in _STATE_KEYS))


def _are_updates(items: list[Any]) -> bool:
    """Whether items are what the nodes of a graph gave: under the name of each, which may be any, its state."""
    return all(map(_is_update, items)) and any(_holds_messages(state) for item in items for state in item.values())


def _is_update(item: Any) -> bool:
    return isinstance(item, Mapping) and all(isinstance(state, (Mapping, list, NoneType)) for state in item.values())


def _holds_messages(state: Any) -> bool:
    values = state.values() if isinstance(state, Mapping) else ()
    return any(isinstance(value, list) and value and message_at(value[0]) is not None for value in values)


def _plain(value: Any) -> Any:
    """Return the fields of what LangGraph wraps messages in. Messages dump themselves."""
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return value._asdict()
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name, None) for field in dataclasses.fields(value)}
    return value


READER: Final = Reader(
    "langchain",
    detects=detects,
    read=read,
    shape=SHAPE,
    yields=_yields,
    objects={"langchain_core": lambda message: message, "langgraph": _plain},
)
