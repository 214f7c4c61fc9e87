"""Find the messages of LangChain in what holds them: lists, states of LangGraph, its snapshots and its streams.

A message is written in three ways, as a mapping with its `type` and fields, as `{type, data}`, and as
`{lc, type: constructor, id, kwargs}`. States hold lists of messages under any key, and streams repeat them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from tracewitness.display import show
from tracewitness.readers.frameworks.langchain_pieces import joined_fields
from tracewitness.readers.recording import Path, Recording, word

__all__ = ["FOREIGN", "FoundMessage", "find_messages", "holds_message", "is_task", "message_at"]

#: The kind of a message of a chat that is not LangChain's; frameworks take these too.
FOREIGN: Final = "foreign"
_REMOVAL: Final = "remove"
_NAMES: Final = ("human", "ai", "system", "tool", "function", "chat")
_CLASSES: Final = {
    f"{prefix}Message{suffix}": kind
    for kind, prefix in zip(_NAMES, ("Human", "AI", "System", "Tool", "Function", "Chat"), strict=True)
    for suffix in ("", "Chunk")
} | {"RemoveMessage": _REMOVAL}
_TYPES: Final = {name: name for name in (*_NAMES, _REMOVAL)} | {
    name: kind for name, kind in _CLASSES.items() if name.endswith("Chunk")
}
# Types that other formats have too: fields that tell a message of these from another thing.
_COMMON_TYPES: Final = frozenset({"system", "function", "chat", _REMOVAL})
_OWN_FIELDS: Final = frozenset({"additional_kwargs", "response_metadata"})
_PLAIN_FIELDS: Final = frozenset({"type", "content", "id", "name", "role", *_OWN_FIELDS})
# What stands beside a message in a stream of messages: where in the graph it was made.
_STREAM_FIELDS: Final = frozenset({"langgraph_node", "langgraph_step", "ls_provider", "ls_model_type"})
_CALLS: Final = frozenset({"tool_calls", "function_call"})
# What tells that a task of a graph began, or ended, beside its id and its name.
_TASKS: Final = ({"input", "triggers"}, {"result", "interrupts"})
_LOOKED_AT: Final = 4
_DEPTH: Final = 6


class FoundMessage(NamedTuple):
    """A message, and where it stands.

    Attributes:
        kind: human, ai, system, tool, function, chat or `FOREIGN`.
        fields: what it has. Of pieces of a stream that were put together, those of the first, with all content.
        path: its place in the document.
        is_piece: whether it is one of several pieces of a message.
    """

    kind: str
    fields: Mapping[str, Any]
    path: Path
    is_piece: bool = False


def message_at(item: Any, path: Path = ()) -> FoundMessage | None:
    """Return the message that an item is, or None."""
    if not isinstance(item, Mapping):
        return None
    name = item.get("type")
    if not isinstance(name, str):
        return None
    if name == "constructor":
        return _constructed(item, path)
    kind, fields = _TYPES.get(name), item.get("data", item)
    if kind is None or not isinstance(fields, Mapping):
        return None
    if not (_is_message(name, item) if fields is item else "content" in fields):
        return None
    return FoundMessage(kind, fields, path, is_piece=name.endswith("Chunk"))


def _constructed(item: Mapping[str, Any], path: Path) -> FoundMessage | None:
    """Return the message that is written as its class and its fields."""
    names, fields = item.get("id"), item.get("kwargs")
    name = names[-1] if isinstance(names, list) and names else None
    kind = _CLASSES.get(name) if isinstance(name, str) else None
    if kind is None or not isinstance(fields, Mapping):
        return None
    return FoundMessage(kind, fields, path, is_piece=str(name).endswith("Chunk"))


def _is_message(type_name: str, item: Mapping[str, Any]) -> bool:
    if type_name == "tool":
        return "tool_call_id" in item and "role" not in item
    if "content" not in item or ("role" in item and type_name != "chat"):
        return False
    return type_name not in _COMMON_TYPES or not _OWN_FIELDS.isdisjoint(item) or item.keys() <= _PLAIN_FIELDS


def holds_message(node: Any, depth: int = _DEPTH) -> bool:
    """Whether a message stands in data, not too deep and near the beginning of its list."""
    if isinstance(node, list):
        return any(holds_message(item, depth - 1) for item in node[:_LOOKED_AT]) if depth else False
    if not isinstance(node, Mapping):
        return False
    if message_at(node) is not None:
        return True
    if not depth or "role" in node or "run_id" in node:  # messages and spans of others
        return False
    return any(
        holds_message(value, depth - 1) for value in node.values() if value.__class__ is list or value.__class__ is dict
    )


def is_task(item: Any) -> bool:
    """Whether an item of a stream tells that a task of a graph began or ended."""
    if not isinstance(item, Mapping) or not word(item, "id") or not word(item, "name"):
        return False
    return any(item.keys() >= keys for keys in _TASKS)


def find_messages(recording: Recording, document: Any) -> list[FoundMessage]:
    """Return the messages of a document, each once, in order. What stands among them and is none is a problem."""
    search = _Search(recording, has_tasks=isinstance(document, list) and any(map(is_task, document)))
    search.walk(_oldest_first(document), ())
    return search.messages()


def _oldest_first(document: Any) -> Any:
    """Return snapshots of a thread in the order of time: its history is listed from the newest on."""
    if not isinstance(document, list) or len(document) < 2:
        return document
    times = [word(item, "created_at") if isinstance(item, Mapping) and "values" in item else "" for item in document]
    return document[::-1] if all(times) and times[0] > times[-1] else document


class _Search:
    """Walks through a document and keeps the messages.

    The same message stands in every state of a stream, told by its id, or, where a state of the stream repeats the
    messages before, by its place. A later version of a message takes the place of the former.
    """

    def __init__(self, recording: Recording, *, has_tasks: bool) -> None:
        self._recording = recording
        self._has_tasks = has_tasks
        self._groups: list[list[FoundMessage]] = []
        self._by_id: dict[str, list[FoundMessage]] = {}
        self._states: dict[Path, list[Any]] = {}
        self._channels: dict[Path, Any] = {}

    def messages(self) -> list[FoundMessage]:
        """Return what was found."""
        return [_joined(self._recording, group) for group in self._groups]

    def walk(self, node: Any, path: Path) -> None:
        """Look for messages in a part of the document."""
        message = message_at(node, path)
        if message is not None:
            self._add([message._replace(is_piece=False)], path)
        elif isinstance(node, Mapping):
            self._doubt_lost(node, path)
            for key, value in node.items():
                self.walk(value, (*path, str(key)))
        elif isinstance(node, list):
            self._walk_list(node, path)

    def _walk_list(self, items: list[Any], path: Path) -> None:
        if items and isinstance(items[0], Mapping) and any(message_at(item) is not None for item in items):
            self._add(list(self._history(items, path)), path)
            return
        for index, item in enumerate(items):
            self.walk(item, (*path, index))

    def _history(self, items: list[Any], path: Path) -> Iterator[FoundMessage]:
        """Yield the messages of a list of them.

        Pieces of messages are put together where a stream of messages has them; in a state they are whole.
        """
        is_stream = not path or any(_is_of_stream(item) for item in items)
        for index, item in enumerate(items):
            place = (*path, index)
            message = message_at(item, place)
            if message is not None:
                yield message._replace(is_piece=message.is_piece and is_stream)
            elif isinstance(item, Mapping) and "role" in item:
                yield FoundMessage(FOREIGN, item, place)
            elif isinstance(item, list):
                self.walk(item, place)
            elif not _is_of_stream(item):
                self._recording.doubt(f"among messages stands what is none: {show(item)}", place)

    def _add(self, history: list[FoundMessage], path: Path) -> None:
        """Add the messages of a list that are new."""
        is_new = [self._add_message(message) for message in self._after_known(history, path)]
        if any(is_new) and any(message.kind in ("ai", "tool", "function") for message in history):
            self._doubt_order(path)

    def _after_known(self, history: list[FoundMessage], path: Path) -> list[FoundMessage]:
        """Return the messages of a state without those that the state before it begins with too.

        What a task of a graph is given is a state as well, of all that was told before.
        """
        if len(path) < 2 or not isinstance(path[0], int):
            return history
        fields = [message.fields for message in history]
        if self._has_tasks and path[1] == "input":
            known: list[Any] = [group[0].fields for group in self._groups[: len(fields)]]
        elif len(path) == 2:
            known = self._states.get(path[1:], [])
            self._states[path[1:]] = fields
        else:
            return history
        return history[len(known) :] if fields[: len(known)] == known else history

    def _add_message(self, message: FoundMessage) -> bool:
        """Add a message; say whether it is one that was not seen yet. To remove one undoes nothing of what it told."""
        if message.kind == _REMOVAL:
            return False
        message_id = word(message.fields, "id")
        group = self._by_id.get(message_id) if message_id else None
        if group is None and message.is_piece and not message_id:
            group = self._open_group(message)
        if group is None:
            group = [message]
            self._groups.append(group)
            if message_id:
                self._by_id[message_id] = group
            return True
        if not message.is_piece:
            group[:] = [message._replace(path=group[0].path)]
        elif group[0].is_piece:
            group.append(message)
        return False

    def _open_group(self, chunk: FoundMessage) -> list[FoundMessage] | None:
        """Return the pieces that a piece without an id goes on from."""
        last = self._groups[-1] if self._groups else None
        if not last or not last[-1].is_piece or last[-1].kind != chunk.kind:
            return None
        return None if last[-1].fields.get("chunk_position") == "last" or word(last[-1].fields, "id") else last

    def _doubt_order(self, path: Path) -> None:
        """Messages under two keys of one state: nothing says which came first."""
        parent, key = path[:-1], path[-1:]
        if key and isinstance(key[0], str) and self._channels.setdefault(parent, key) != key:
            reason = f"a state has messages under {self._channels[parent][0]} and {key[0]}; their order is not recorded"
            self._recording.doubt(reason, path)

    def _doubt_lost(self, node: Mapping[str, Any], path: Path) -> None:
        """Look for a message that could not be written down."""
        names = node.get("id")
        if node.get("type") == "not_implemented" and "lc" in node and isinstance(names, list) and names:
            self._recording.doubt(f"not written down: {show(names[-1])}", path)


def _is_of_stream(item: Any) -> bool:
    """Whether something is what stands beside a message in a stream of messages."""
    return isinstance(item, Mapping) and not _STREAM_FIELDS.isdisjoint(item)


def _joined(recording: Recording, group: list[FoundMessage]) -> FoundMessage:
    """Return the message that pieces make."""
    first = group[0]
    if len(group) == 1:
        return first
    fields = joined_fields([message.fields for message in group])
    kept = fields.pop("additional_kwargs", None)
    if isinstance(kept, Mapping) and not _CALLS.isdisjoint(kept) and not fields["tool_call_chunks"]:
        recording.doubt("pieces of a call that only their provider can put together", first.path)
    return first._replace(fields=fields)
