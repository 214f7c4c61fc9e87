"""Read messages of Pydantic AI: as objects, in results of runs, and as JSON of any release.

What the framework tells the model on its own (that an answer is no good, that it is to try again) is no word of the
user's, and no turn begins with it: where it answers no call it is a message of the system.
An agent that a tool runs has messages of its own; these are another run.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Mapping
from datetime import datetime
from types import NoneType
from typing import Any, Final

from tracewitness.display import show
from tracewitness.readers.reader import Reader
from tracewitness.readers.recording import Path, Recording, each_mapping, refuse, word
from tracewitness.trace import Trace

__all__ = ["READER", "SHAPE", "detects", "read"]

SHAPE: Final = "messages of Pydantic AI have kind: request or response, and parts with a part_kind"

_KINDS: Final = frozenset({"request", "response"})
# Where saved results of runs have their messages, from the outside in; or, beside the history, those of the run alone.
_HOLDERS: Final = ("_state", "message_history", "messages")
_NEW: Final = "new_messages"
# Parts that neither call nor answer: thoughts, files, and what changed in what the model is told or may use.
_SILENT_PARTS: Final = frozenset(
    {
        "capability-load-delta",
        "file",
        "instruction",
        "instruction-baseline",
        "instruction-delta",
        "instruction-digest",
        "model-settings-delta",
        "thinking",
        "tool-availability-delta",
    }
)
_WITHHELD: Final = frozenset({"content_filter", "error"})
_CUT_OFF: Final = frozenset({"incomplete", "interrupted", "suspended"})
# How the first releases wrapped arguments: as a mapping or as text.
_WRAPPED_ARGUMENTS: Final = ("args_dict", "args_json")
_KIND_FIELDS: Final = frozenset({"kind", "part_kind"})


def detects(document: Any) -> bool:
    """Whether decoded data is of this format."""
    if _is_message(document):
        return True
    return any(any(map(_is_message, messages)) for messages, _ in _lists(document))


def read(document: Any, name: str = "") -> Trace:
    """Read a message, a list of them, or the saved result of a run.

    Raises:
        ReadError: it is nothing of the kind.

    >>> read([{"kind": "response", "parts": [
    ...     {"part_kind": "tool-call", "tool_name": "search", "args": "{}", "tool_call_id": "c1"}]}]).to_events()
    [{'call': 'search', 'args': {}, 'id': 'c1'}]
    """
    reading = _Reading()
    lists = _lists(document)
    if _is_message(document):
        reading.message(document, ())
    elif not lists:
        raise refuse(document, SHAPE)
    for messages, path in lists:
        for message, place in each_mapping(reading.recording, messages, path, "a message"):
            reading.message(message, place)
    return reading.recording.trace(name)


# ----------------------------------------------------------------------------------------------------------- detection


def _lists(document: Any) -> list[tuple[list[Any], Path]]:
    """Return the lists of messages that a document holds, in order, and where they stand in it.

    The messages of a run alone may be the last of the history, or come after them.
    """
    held: Any = document
    path: Path = ()
    for key in _HOLDERS:
        if isinstance(held, Mapping) and key in held:
            held, path = held[key], (*path, key)
    if not isinstance(held, (list, NoneType)):
        return []
    lists = [] if held is None else [(held, path)]
    new = document.get(_NEW) if path else None
    is_own = not held or any(map(_is_message, held))  # beside messages of another format they are not of this run
    if isinstance(new, list) and is_own and not (held and new == held[len(held) - len(new) :]):
        lists.append((new, (_NEW,)))
    return lists


def _is_message(item: Any) -> bool:
    """Whether an item is of this format and of no other."""
    if not isinstance(item, Mapping) or word(item, "kind") not in _KINDS:
        return False
    parts = item.get("parts")
    return isinstance(parts, list) and (
        not parts or any(isinstance(part, Mapping) and "part_kind" in part for part in parts)
    )


# ------------------------------------------------------------------------------------------------------------- reading


class _Reading:
    """Reads messages in order.

    Attributes:
        recording: the trace in the making.
    """

    def __init__(self) -> None:
        self.recording = Recording()
        self._instructions: str | None = None

    def message(self, message: Mapping[str, Any], path: Path) -> None:
        """Read a request or a response."""
        kind = word(message, "kind")
        if kind not in _KINDS:
            self.recording.doubt(f"a message is a request or a response, not {show(message.get('kind'))}", path)
            return
        instructions = message.get("instructions")
        if isinstance(instructions, str) and instructions != self._instructions:
            self._instructions = instructions
            self.recording.say("system", instructions, (*path, "instructions"))
        events_before, calls_before = len(self.recording), self.recording.calls
        for part, place in each_mapping(self.recording, message.get("parts"), (*path, "parts"), "a part"):
            _read_part(self.recording, part, place, message)
        if kind == "response":
            if len(self.recording) == events_before:
                self.recording.say("agent", "", path)  # an empty answer is an answer
            _doubt_end(self.recording, message, path, called=self.recording.calls > calls_before)


def _doubt_end(recording: Recording, response: Mapping[str, Any], path: Path, *, called: bool) -> None:
    """Look for signs that there was to be more than is there."""
    reason, state = word(response, "finish_reason"), word(response, "state")
    if reason in _WITHHELD:
        recording.doubt(f"the answer was withheld: finish_reason {reason}", path)
    elif reason == "tool_call" and not called:
        recording.doubt("finish_reason is tool_call, and there is no call", path)
    if state in _CUT_OFF:
        recording.doubt(f"the answer is {state}", path, cut=True)


def _read_part(recording: Recording, part: Mapping[str, Any], path: Path, message: Mapping[str, Any]) -> None:
    kind = word(part, "part_kind")
    read_kind = _PART_READERS.get(kind)
    if read_kind is not None:
        read_kind(recording, part, path, message)
    elif kind not in _SILENT_PARTS:
        recording.doubt(f"an unknown part {show(dict(part))}", path)


def _read_call(recording: Recording, part: Mapping[str, Any], path: Path, message: Mapping[str, Any]) -> None:
    recording.call(
        part.get("tool_name"),
        _unwrapped(part.get("args")),
        part.get("tool_call_id"),
        path,
        at=_time(message),
    )


def _time(holder: Mapping[str, Any]) -> Any:
    """Return when a message or a part came, which in objects and in their dumps is a `datetime`."""
    moment = holder.get("timestamp")
    return moment.isoformat() if isinstance(moment, datetime) else moment


def _unwrapped(arguments: Any) -> Any:
    """Return arguments as they are written now."""
    if isinstance(arguments, Mapping) and len(arguments) == 1:
        for key in _WRAPPED_ARGUMENTS:
            if isinstance(arguments.get(key), (str, Mapping)):
                return arguments[key]
    return arguments


def _read_result(recording: Recording, part: Mapping[str, Any], path: Path, _: Mapping[str, Any]) -> None:
    """Read a result. What its outcome says is no success was not what the tool returned."""
    outcome, metadata = word(part, "outcome"), part.get("metadata")
    beside = {key: value for key, value in (("outcome", outcome), ("metadata", metadata)) if value}
    recording.answer(
        part.get("content"),
        part.get("tool_call_id"),
        path,
        of=part.get("tool_name"),
        is_error=outcome != "success" if outcome else None,
        at=_time(part),
        metadata=beside if beside.keys() - {"outcome"} or outcome not in ("", "success") else None,
    )


def _read_retry(recording: Recording, part: Mapping[str, Any], path: Path, _: Mapping[str, Any]) -> None:
    """Read what the model is told to do again: a call, or an answer that called nothing."""
    tool = part.get("tool_name")
    content = part.get("content")
    if tool:
        recording.answer(content, part.get("tool_call_id"), path, of=tool, is_error=True, at=_time(part))
    else:
        recording.say("system", content if isinstance(content, str) else _json(content), path)


def _json(content: Any) -> str:
    try:
        return json.dumps(content)
    except (TypeError, ValueError, RecursionError):
        return show(content)


def _read_system(recording: Recording, part: Mapping[str, Any], path: Path, _: Mapping[str, Any]) -> None:
    recording.say("system", _text(recording, part.get("content"), path), path)


def _read_prompt(recording: Recording, part: Mapping[str, Any], path: Path, _: Mapping[str, Any]) -> None:
    recording.say("user", _text(recording, part.get("content"), path), path)


def _read_text(recording: Recording, part: Mapping[str, Any], path: Path, _: Mapping[str, Any]) -> None:
    recording.say("agent", _text(recording, part.get("content"), path), path)


def _read_speech(recording: Recording, part: Mapping[str, Any], path: Path, _: Mapping[str, Any]) -> None:
    role = "user" if part.get("speaker") == "user" else "agent"
    recording.say(role, word(part, "transcript"), path)  # type: ignore[arg-type]


def _read_summary(recording: Recording, _: Mapping[str, Any], path: Path, __: Mapping[str, Any]) -> None:
    recording.doubt("what came before was summed up and may not be here", path)


def _text(recording: Recording, content: Any, path: Path) -> str:
    """Return the text of a content: one text, or a list of texts and files. None of these can be a call."""
    if content is None or isinstance(content, str):
        return content or ""
    if not isinstance(content, list):
        recording.doubt(f"content is a text or a list, not {show(content)}", path, hides_call=False)
        return ""
    texts: list[str] = []
    for index, item in enumerate(content):
        if isinstance(item, str):
            texts.append(item)
        elif isinstance(item, Mapping):
            texts.append(word(item, "content"))
        else:
            recording.doubt(f"an unknown part {show(item)}", (*path, "content", index), hides_call=False)
    return "\n".join(filter(None, texts))


_PART_READERS: Final[dict[str, Callable[[Recording, Mapping[str, Any], Path, Mapping[str, Any]], None]]] = {
    "builtin-tool-call": _read_call,
    "builtin-tool-return": _read_result,
    "compaction": _read_summary,
    "retry-feedback": _read_retry,
    "retry-prompt": _read_retry,
    "speech": _read_speech,
    "system-prompt": _read_system,
    "text": _read_text,
    "tool-call": _read_call,
    "tool-return": _read_result,
    "user-prompt": _read_prompt,
}


# ------------------------------------------------------------------------------------------------------------- objects


def _plain(value: Any) -> Any:
    """Return the messages of the result of a run, or the fields of a message or a part."""
    kind = type(value)
    if callable(getattr(kind, "all_messages", None)):
        return value.all_messages()
    if not dataclasses.is_dataclass(kind):
        return value
    fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(kind)}
    if _KIND_FIELDS.isdisjoint(fields):
        return value
    return fields


READER: Final = Reader(
    "pydantic-ai",
    detects=detects,
    read=read,
    shape=SHAPE,
    keys=frozenset({"kind", _NEW, *_HOLDERS}),
    objects={"pydantic_ai": _plain},
)
