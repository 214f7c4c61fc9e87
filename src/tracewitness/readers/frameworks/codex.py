"""Read Codex: rollouts of sessions, the events of ``codex exec --json``, and the items of its SDK's turns.

What is decided here:

- A rollout's lines of type ``response_item`` are the conversation. Its other lines tell some of it over again: of them
  are taken which messages are a user's, whether a call failed, and messages and calls that no item tells of.
- A turn that was aborted is a problem, though one that hides no call.
- In events an item is told when it starts and when it is done: its call stands at the first place, with the arguments
  that were told last, and its result at the second.
- Calls of tools that have no name in an item are named by its type, such as ``command_execution``. A command failed
  where its exit code is not 0. What a user ran in the shell is no call of the agent.
- ``exec`` leaves the prompt out. An empty message of the user stands for it where a turn starts.
- What was said before a conversation was compacted or rolled back is in the file, and was said all the same.
"""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import msgspec
from msgspec import UNSET

from tracewitness.display import show
from tracewitness.readers.frameworks.stamps import stamp
from tracewitness.readers.providers import openai_responses
from tracewitness.readers.providers.gemini import fields_of
from tracewitness.readers.reader import Reader
from tracewitness.readers.recording import Path, Recording, each_mapping, payload_of, refuse, texts_of, word
from tracewitness.trace import Trace

__all__ = ["READER", "SHAPE", "detects", "read"]

SHAPE: Final = "a run of Codex has lines with a type and a payload, or events such as item.completed with an item"

_LISTS: Final = ("items", "events", "turns")
_LINES: Final = frozenset({"session_meta", "response_item", "event_msg", "turn_context", "compacted"})
_EVENTS: Final = frozenset({"thread.started", "turn.started", "turn.completed", "turn.failed"})
_ITEM_EVENTS: Final = frozenset({"item.started", "item.updated", "item.completed"})
# Responses items by which Codex keeps its own state.
_OWN_ITEMS: Final = frozenset({"ghost_snapshot", "compaction", "compaction_summary", "context_compaction"})
# Items that call nothing.
_SILENT_ITEMS: Final = frozenset(
    {
        "context_compaction",
        "entered_review_mode",
        "exited_review_mode",
        "hook_prompt",
        "plan",
        "reasoning",
        "sub_agent_activity",
        "todo_list",
    }
)
_inner_capital: Final = re.compile("(?<=[a-z])(?=[A-Z])")
_USER_SHELL: Final = frozenset({"user_shell", "userShell", "UserShell"})


def detects(document: Any) -> bool:
    """Whether decoded data is of this format."""
    if isinstance(document, list):
        return any(_is_line(item) or _is_event(item) or _is_turn(item) for item in document)
    key = _list_key(document) if isinstance(document, Mapping) else None
    return key is not None and any(map(_is_listed, document[key]))


def read(document: Any, name: str = "") -> Trace:
    """Read lines of a rollout, events, items, or a mapping with ``items``, ``events`` or ``turns`` of items.

    Raises:
        ReadError: it is nothing of the kind.

    >>> item = {"id": "item_0", "type": "command_execution", "command": "ls", "aggregated_output": "a", "exit_code": 0}
    >>> read([{"type": "item.completed", "item": item}]).calls
    (<ToolCall 0: command_execution({'command': 'ls'})>,)
    """
    path: Path = ()
    if isinstance(document, Mapping):
        key = _list_key(document)
        if key is None:
            raise refuse(document, SHAPE)
        name = word(document, "thread_id") or word(document, "id") or name
        document, path = document[key], (key,)
    if not isinstance(document, list):
        raise refuse(document, SHAPE)
    recording = Recording()
    items = list(each_mapping(recording, document, path, "an item"))
    if any(_is_line(item) for item, _ in items):
        rollout = _Rollout(recording, items)
        rollout.read()
        return recording.trace(rollout.name or name)
    _Items(recording).read(items)
    name = next((word(item, "thread_id") for item, _ in items if word(item, "thread_id")), name)
    return recording.trace(name)


# ----------------------------------------------------------------------------------------------------------- detection


def _list_key(document: Mapping[str, Any]) -> str | None:
    """Return the key of what a mapping lists; None where it lists nothing, or more than one thing."""
    keys = [key for key in _LISTS if isinstance(document.get(key), list)]
    return keys[0] if len(keys) == 1 else None


def _is_line(item: Any) -> bool:
    return (
        isinstance(item, Mapping)
        and isinstance(item.get("payload"), Mapping)
        and isinstance(item.get("type"), str)
        and item["type"] in _LINES
    )


def _is_event(item: Any) -> bool:
    if not isinstance(item, Mapping) or not isinstance(item.get("type"), str):
        return False
    if item["type"] in _ITEM_EVENTS:
        return isinstance(item.get("item"), Mapping)
    return item["type"] == "thread.started" and "thread_id" in item


def _is_listed(item: Any) -> bool:
    """Whether something that a mapping lists is a line, an event, an item, or a turn with items."""
    if _is_line(item) or _is_event(item) or _is_turn(item):
        return True
    return isinstance(item, Mapping) and (_kind(item) in _ITEM_READERS or openai_responses.detects([item]))


def _is_turn(item: Any) -> bool:
    """Whether something is a turn as the SDK tells it."""
    items = item.get("items") if isinstance(item, Mapping) else None
    return isinstance(items, list) and any(isinstance(own, Mapping) and _kind(own) in _ITEM_READERS for own in items)


# --------------------------------------------------------------------------------------------------------------- items


def _kind(item: Mapping[str, Any]) -> str:
    """Return the type of an item, which older versions call otherwise."""
    return _snake(word(item, "type") or word(item, "item_type"))


@functools.lru_cache(maxsize=1024)
def _snake(kind: str) -> str:
    """Return a type in one spelling: events, the SDK and rollouts have three."""
    return _inner_capital.sub("_", kind).lower()


def _as_told_last(items: list[tuple[Mapping[str, Any], Path]]) -> list[Mapping[str, Any] | None]:
    """Return for each event what its item is when it is done; None where that is not told."""
    done: dict[str, Mapping[str, Any]] = {}
    found: list[Mapping[str, Any] | None] = []
    for event, _ in reversed(items):
        item = event.get("item")
        item_id = word(item, "id") if isinstance(item, Mapping) else ""
        if isinstance(item, Mapping) and event.get("type") == "item.completed":
            done[item_id] = item
        found.append(done.get(item_id))
    return found[::-1]


class _Items:
    """Reads items, which call and answer, and events, which tell of items."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._responses = openai_responses.ItemReader(recording)
        self._open: set[str] = set()

    def read(self, items: list[tuple[Mapping[str, Any], Path]]) -> None:
        """Read all, in order."""
        for (event, path), last in zip(items, _as_told_last(items), strict=True):
            self._read(event, path, last)

    def _read(self, event: Mapping[str, Any], path: Path, last: Mapping[str, Any] | None) -> None:
        kind = word(event, "type")
        item = event.get("item")
        if kind in _ITEM_EVENTS:
            if isinstance(item, Mapping):
                self._item_of_event(kind, item, (*path, "item"), last or item)
            else:
                self._recording.doubt(f"an item is a mapping, not {show(item)}", path)
        elif kind == "turn.started":
            self._recording.say("user", "", path)
        elif kind == "turn.failed":
            self._recording.failure = f"the turn failed: {show(event.get('error'))}"
            self._recording.doubt(self._recording.failure, path, hides_call=False)
        elif kind == "error":
            self._recording.say("system", word(event, "message"), path)
        elif isinstance(event.get("items"), list):
            for inner, place in each_mapping(self._recording, event["items"], (*path, "items"), "an item"):
                self.item(inner, place)
        elif kind not in _EVENTS:
            self.item(event, path)

    def _item_of_event(self, event: str, item: Mapping[str, Any], path: Path, last: Mapping[str, Any]) -> None:
        item_id = word(item, "id")
        if item_id not in self._open:
            if event == "item.completed" or _kind(item) in _CALLING:
                self._begin(last, path)
            if event != "item.completed" and _kind(item) in _CALLING:
                self._open.add(item_id)
        if event == "item.completed":
            self._open.discard(item_id)
            self._end(item, path)

    def item(self, item: Mapping[str, Any], path: Path) -> None:
        """Read an item that is done."""
        if _kind(item) not in _ITEM_READERS and openai_responses.detects([item]):
            self._responses.item(item, path)
        else:
            self._begin(item, path)
            self._end(item, path)

    def _begin(self, item: Mapping[str, Any], path: Path) -> None:
        """Read what an item says or calls."""
        kind = _kind(item)
        reader = _ITEM_READERS.get(kind)
        if reader is not None:
            reader(self._recording, fields_of(item), path)
        elif kind not in _SILENT_ITEMS:
            self._recording.doubt(f"an unknown item of type {show(item.get('type'))}", path)

    def _end(self, item: Mapping[str, Any], path: Path) -> None:
        """Read what came back."""
        kind, fields = _kind(item), fields_of(item)
        if kind not in _CALLING or _is_users_own(fields):
            return
        payload = _CALLING[kind](fields)
        error = fields.get("error")
        name = word(fields, "tool") or kind
        self._recording.answer(
            payload if error is None else error, fields.get("id"), path, of=name, is_error=_is_error(fields)
        )


def _say_agent(recording: Recording, item: dict[str, Any], path: Path) -> None:
    texts = [word(item, "text")] if "text" in item else _texts(item)
    recording.say("agent", "\n".join(texts), path)


def _say_user(recording: Recording, item: dict[str, Any], path: Path) -> None:
    recording.say("user", "\n".join(_texts(item)), path)


def _say_error(recording: Recording, item: dict[str, Any], path: Path) -> None:
    """Read a warning of the program, which ends nothing."""
    recording.say("system", word(item, "message"), path)


def _texts(item: dict[str, Any]) -> list[str]:
    content = item.get("content")
    parts = content if isinstance(content, list) else [content]
    return [text for part in parts for text in ([part] if isinstance(part, str) else [_text(part)]) if text]


def _text(part: Any) -> str:
    return word(part, "text") if isinstance(part, Mapping) else ""


def _call_command(recording: Recording, item: dict[str, Any], path: Path) -> None:
    if not _is_users_own(item):
        recording.call("command_execution", {"command": item.get("command")}, item.get("id"), path)


def _is_users_own(item: dict[str, Any]) -> bool:
    """Whether it is a command that the user ran."""
    return word(item, "source") in _USER_SHELL


def _call_tool(recording: Recording, item: dict[str, Any], path: Path) -> None:
    server = word(item, "server") or word(item, "namespace")
    beside = {"server_label": server} if server else None
    recording.call(item.get("tool"), item.get("arguments"), item.get("id"), path, metadata=beside)


def _call_agent(recording: Recording, item: dict[str, Any], path: Path) -> None:
    """Read a call that begins another agent, or tells it something."""
    given = {key: item[key] for key in ("prompt", "receiver_thread_ids") if item.get(key)}
    recording.call(item.get("tool"), given, item.get("id"), path)


def _calling(kind: str, *keys: str) -> Callable[[Recording, dict[str, Any], Path], None]:
    """Return what reads a call that is named by its type.

    Arguments:
        keys: the fields that are its arguments.
    """

    def call(recording: Recording, item: dict[str, Any], path: Path) -> None:
        recording.call(kind, {key: item[key] for key in keys if item.get(key) is not None}, item.get("id"), path)

    return call


def _mcp_result(item: dict[str, Any]) -> Any:
    result = item.get("result")
    return payload_of(result["content"]) if isinstance(result, Mapping) and "content" in result else result


def _field(key: str) -> Callable[[dict[str, Any]], Any]:
    return lambda item: item.get(key)


# Items that call, with what finds the result in them.
_CALLING: Final[dict[str, Callable[[dict[str, Any]], Any]]] = {
    "collab_agent_tool_call": _field("agents_states"),
    "collab_tool_call": _field("agents_states"),
    "command_execution": _field("aggregated_output"),
    "dynamic_tool_call": _field("content_items"),
    "file_change": _field("status"),
    "image_generation": _field("result"),
    "image_view": _field("result"),
    "mcp_tool_call": _mcp_result,
    "sleep": _field("result"),
    "web_search": _field("results"),
}
_ITEM_READERS: Final[dict[str, Callable[[Recording, dict[str, Any], Path], None]]] = {
    "agent_message": _say_agent,
    "assistant_message": _say_agent,
    "collab_agent_tool_call": _call_agent,
    "collab_tool_call": _call_agent,
    "command_execution": _call_command,
    "dynamic_tool_call": _call_tool,
    "error": _say_error,
    "file_change": _calling("file_change", "changes"),
    "image_generation": _calling("image_generation", "revised_prompt"),
    "image_view": _calling("image_view", "path"),
    "mcp_tool_call": _call_tool,
    "sleep": _calling("sleep", "duration_ms"),
    "user_message": _say_user,
    "web_search": _calling("web_search", "query", "action"),
}


def _is_error(item: Mapping[str, Any]) -> bool | None:
    """Return whether a call that is done failed: by its exit code, else by what it says of itself."""
    code, success, status = item.get("exit_code"), item.get("success"), word(item, "status")
    result = item.get("result")
    flags = fields_of(result) if isinstance(result, Mapping) else {}
    if item.get("error") is not None or status in ("failed", "declined") or flags.get("is_error") is True:
        return True
    if isinstance(code, int) and not isinstance(code, bool):
        return code != 0
    if isinstance(success, bool):
        return not success
    return False if status == "completed" else None


# ------------------------------------------------------------------------------------------------------------ rollouts


class _Rollout:
    """Reads the lines of a rollout.

    Attributes:
        name: of the session.
    """

    def __init__(self, recording: Recording, lines: list[tuple[Mapping[str, Any], Path]]) -> None:
        self._recording = recording
        self._lines = lines
        self._responses = openai_responses.ItemReader(recording)
        self._items = _Items(recording)
        self._told = dict(_told_items(lines))
        self._prompts = {_plain_text("\n".join(_texts(item))) for item in _user_items(lines)}
        self._call_ids = set(_call_ids(lines))
        self._said = _Said(_payloads(lines, "response_item"))
        self.name = next((word(meta, "id") for meta in _payloads(lines, "session_meta")), "")

    def read(self) -> None:
        """Read all lines."""
        for line, path in self._lines:
            begin = len(self._recording)
            kind, payload, place = word(line, "type"), line.get("payload"), (*path, "payload")
            if not isinstance(payload, Mapping):
                self._recording.doubt(f"a line has a payload, this has {show(list(line))}", path)
            elif kind == "response_item":
                self._item(payload, place)
            elif kind == "event_msg":
                self._event(payload, place)
            elif kind not in _LINES and "call_id" in payload:
                self._recording.doubt(f"an unknown line of type {show(kind)}", path)
            stamp(self._recording, begin, at=line.get("timestamp"))

    def _item(self, item: Mapping[str, Any], path: Path) -> None:
        if word(item, "type") in _OWN_ITEMS:
            return
        if item.get("type") == "message" and item.get("role") == "user" and not self._is_users(item):
            item = {**item, "role": "developer"}
        begin = len(self._recording)
        self._responses.item(item, path)
        namespace = word(item, "namespace")
        stamp(self._recording, begin, metadata=lambda _: {"namespace": namespace} if namespace else {})
        for position in range(begin, len(self._recording)):
            self._judge(position, item)

    def _is_users(self, message: Mapping[str, Any]) -> bool:
        """Whether a message that the model took for the user's is the user's: Codex says much in that role."""
        if not self._prompts:
            return True
        texts = texts_of(message.get("content"))
        return any(_plain_text(text) in self._prompts for text in ("\n".join(texts), *texts))

    def _judge(self, position: int, item: Mapping[str, Any]) -> None:
        """Say of a result whether it is an error, where another line or the result itself tells."""
        records = self._recording.records
        record = records[position]
        if record.result is UNSET or record.is_error is not UNSET:
            return
        told = self._told.get(word(item, "call_id"))
        verdict = _is_error(told) if told is not None else _exit_verdict(record.result)
        if verdict is not None:
            records[position] = msgspec.structs.replace(record, is_error=verdict)

    def _event(self, event: Mapping[str, Any], path: Path) -> None:
        """Read a call or a message that no item tells of, or why a turn ended."""
        if event.get("type") == "turn_aborted":
            self._recording.doubt(f"the turn was aborted: {show(event.get('reason'))}", path, hides_call=False)
        item = _item_told(event)
        if item is not None and _kind(item) in _SPEAKERS:
            self._message(word(event, "type"), fields_of(item), path)
        # A search and an image have no id in an item to go by, and always have an item.
        if item is None or _kind(item) not in _CALLING.keys() - {"web_search", "image_generation"}:
            return
        if word(item, "id") not in self._call_ids:
            self._items.item(item, path)

    def _message(self, event: str, item: dict[str, Any], path: Path) -> None:
        kind = _kind(item)
        content = item.get("text", item.get("content"))
        if not isinstance(content, (str, list)):
            self._recording.doubt(f"a message is a text or a list, not {show(content)}", path, hides_call=False)
            return
        text = content if isinstance(content, str) else "\n".join(_texts(item))
        if not self._said.take(event, kind, text):
            # Older versions tell in this kind also what the program adds to what the user says.
            is_users = kind == "user_message" and word(item, "kind") in ("", "plain")
            self._recording.say("agent" if kind != "user_message" else "user" if is_users else "system", text, path)


# Who says what an item tells, in the words of events and of items of the conversation.
_SPEAKERS: Final = {"agent_message": "assistant", "assistant_message": "assistant", "user_message": "user"}
# What stands in a message of the conversation and not in the event that tells of it.
_unseen: Final = re.compile(r"<oai-mem-citation>.*?</oai-mem-citation>|</?proposed_plan>|</?image\b[^<>]*>", re.DOTALL)


class _Said:
    """Counts what the items of a conversation say, so that events tell of it no second time.

    Arguments:
        items: of the conversation.
    """

    def __init__(self, items: Iterator[Mapping[str, Any]]) -> None:
        self._messages: Counter[tuple[str, str]] = Counter()
        self._taken: Counter[tuple[str, str, str]] = Counter()
        for item in items:
            if item.get("type") == "message":
                texts = texts_of(item.get("content"))
                role = word(item, "role")
                self._messages.update({(role, _plain_text(text)) for text in ("\n".join(texts), *texts)})

    def take(self, event: str, kind: str, text: str) -> bool:
        """Whether a message that an event tells is one that was told, and by no other event of its type.

        One that was not is told now: versions that tell of a message in events of two types mean the same by both.
        """
        key = (_SPEAKERS[kind], _plain_text(text))
        self._taken[event, *key] += 1
        if self._taken[event, *key] <= self._messages[key]:
            return True
        self._messages[key] += 1
        return False


def _plain_text(text: str) -> str:
    return _unseen.sub("", text).strip()


def _exit_verdict(result: Any) -> bool | None:
    """Return whether a result failed, as older versions say in it: they wrote it as JSON with an exit code."""
    if not isinstance(result, str) or not result.startswith('{"output"'):
        return None
    try:
        metadata = msgspec.json.decode(result).get("metadata")
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None
    return _is_error(metadata) if isinstance(metadata, Mapping) else None


def _payloads(lines: list[tuple[Mapping[str, Any], Path]], kind: str) -> Iterator[Mapping[str, Any]]:
    return (line["payload"] for line, _ in lines if _is_line(line) and line["type"] == kind)


def _call_ids(lines: list[tuple[Mapping[str, Any], Path]]) -> Iterator[str]:
    return (word(item, "call_id") for item in _payloads(lines, "response_item"))


def _told_items(lines: list[tuple[Mapping[str, Any], Path]]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the items that events tell of, by their ids."""
    for event in _payloads(lines, "event_msg"):
        item = _item_told(event)
        if item is not None:
            yield word(item, "id"), item


def _user_items(lines: list[tuple[Mapping[str, Any], Path]]) -> Iterator[dict[str, Any]]:
    for event in _payloads(lines, "event_msg"):
        item = _item_told(event)
        if item is not None and _kind(item) == "user_message":
            yield fields_of(item)


def _item_told(event: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the item that an event tells of, in whatever way its version does; None where it tells of none."""
    kind, call_id = word(event, "type"), event.get("call_id")
    if kind == "item_completed":
        item = event.get("item")
        return item if isinstance(item, Mapping) else None
    if kind == "user_message":
        return {"type": kind, "content": event.get("message"), "kind": event.get("kind")}
    if kind == "agent_message":
        return {"type": kind, "text": event.get("message")}
    if kind == "exec_command_end":
        return {**event, "type": "command_execution", "id": call_id}
    if kind == "patch_apply_end":
        return {**event, "type": "file_change", "id": call_id}
    if kind == "mcp_tool_call_end":
        return {"type": "mcp_tool_call", "id": call_id, **_mcp_fields(event)}
    return None


def _mcp_fields(event: Mapping[str, Any]) -> dict[str, Any]:
    """Return what an event says of a call to a server, as an item does."""
    invocation, result = event.get("invocation"), event.get("result")
    fields = dict(invocation) if isinstance(invocation, Mapping) else {}
    if isinstance(result, Mapping):
        fields["error"], fields["result"] = result.get("Err"), result.get("Ok")
        fields["status"] = "failed" if "Err" in result else "completed"
    return fields


def _converted(value: Any) -> Any:
    """Make data of the result of a turn, which is no model as its items are."""
    slots = getattr(type(value), "__slots__", None)
    if hasattr(type(value), "model_dump") or not slots:
        return value
    return {name: getattr(value, name, None) for name in slots}


READER: Final = Reader(
    "codex",
    detects=detects,
    read=read,
    shape=SHAPE,
    keys=frozenset({"payload", "item", "thread_id", *_LISTS}),
    is_log=True,
    objects={"openai_codex": _converted},
)
