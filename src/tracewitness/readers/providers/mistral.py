"""Read Mistral's conversations: responses with ``outputs``, histories with ``entries``, and the entries themselves.

Its chat completions are what `openai_chat` reads.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from tracewitness.display import show
from tracewitness.readers.providers.shared import give_back, told_trace
from tracewitness.readers.providers.streams import holds_events
from tracewitness.readers.reader import Reader
from tracewitness.readers.recording import Path, Recording, each_mapping, payload_of, refuse, texts_of, word
from tracewitness.trace import Trace

__all__ = ["READER", "SHAPE", "ItemReader", "detects", "read"]

SHAPE: Final = "a conversation of Mistral has outputs or entries of types such as function.call"

_TYPES: Final = frozenset(
    {"agent.handoff", "function.call", "function.result", "message.input", "message.output", "tool.execution"}
)
_LISTS: Final = ("entries", "messages", "inputs", "outputs")


def detects(document: Any) -> bool:
    """Whether decoded data is of this format."""
    if isinstance(document, Mapping):
        return _is_entry(document) or any(_has_entries(document.get(key)) for key in _LISTS)
    return _has_entries(document)


def read(document: Any, name: str = "") -> Trace:
    """Read a response, a history, a request with ``inputs``, an entry, or a list of these.

    Raises:
        ReadError: it is nothing of the kind.

    >>> read({"object": "conversation.response", "outputs": [
    ...     {"type": "function.call", "tool_call_id": "c1", "name": "search", "arguments": "{}"}]}).to_events()
    [{'call': 'search', 'args': {}, 'id': 'c1'}]
    """
    reading = ItemReader(Recording())
    if isinstance(document, list):
        reading.items(document, ())
    elif isinstance(document, Mapping) and not document.keys().isdisjoint({*_LISTS, "type"}):
        reading.item(document, ())
    else:
        raise refuse(document, SHAPE)
    return told_trace(reading.recording, document, name, detects, SHAPE)


def _has_entries(items: Any) -> bool:
    return isinstance(items, list) and any(map(_is_marked, items))


def _is_marked(item: Any) -> bool:
    return _is_entry(item) or (isinstance(item, Mapping) and any(_has_entries(item.get(key)) for key in _LISTS[2:]))


def _is_entry(item: Any) -> bool:
    return isinstance(item, Mapping) and word(item, "type") in _TYPES


class ItemReader:
    """Reads entries in order.

    Attributes:
        recording: the trace in the making.
    """

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self._names: dict[str, str] = {}

    def items(self, items: Any, path: Path) -> None:
        """Read a list of entries, or of responses with some."""
        for item, place in each_mapping(self.recording, items, path, "an entry"):
            self.item(item, place)

    def item(self, item: Mapping[str, Any], path: Path) -> None:
        """Read an entry, a response, a history or a request."""
        if "type" in item:
            self._entry(item, path)
            return
        if item.keys().isdisjoint(_LISTS):
            self.recording.doubt(f"neither an entry nor a response: {show(list(item))}", path)
        instructions = word(item, "instructions")
        if instructions:
            self.recording.say("system", instructions, (*path, "instructions"))
        for key in _LISTS:
            if isinstance(item.get(key), str):
                self.recording.say("user", item[key], (*path, key))
            else:
                self.items(item.get(key), (*path, key))

    def _entry(self, entry: Mapping[str, Any], path: Path) -> None:
        kind = word(entry, "type")
        if kind.startswith("message."):
            self._message(kind, entry, path)
        elif kind == "function.call":
            self._call(entry, entry.get("tool_call_id"), path)
        elif kind == "function.result":
            payload, call_id = payload_of(entry.get("result")), entry.get("tool_call_id")
            give_back(self.recording, entry, payload, call_id, path, at=entry.get("created_at"))
        elif kind == "tool.execution":
            self._execution(entry, path)
        elif kind == "agent.handoff":
            self._handoff(entry, path)
        else:
            self.recording.doubt(f"an unknown entry of type {show(entry.get('type'))}", path)

    def _message(self, kind: str, entry: Mapping[str, Any], path: Path) -> None:
        speaker = "agent" if kind == "message.output" or entry.get("role") == "assistant" else "user"
        text = "\n".join(texts_of(entry.get("content")))
        self.recording.say("agent" if speaker == "agent" else "user", text, path, self._agent(entry))

    def _call(self, entry: Mapping[str, Any], call_id: Any, path: Path) -> None:
        self.recording.call(
            entry.get("name"), entry.get("arguments"), call_id, path, by=self._agent(entry), at=entry.get("created_at")
        )

    def _execution(self, entry: Mapping[str, Any], path: Path) -> None:
        """Read a call of a tool that the provider has; what is told of its result is in ``info``."""
        self._call(entry, entry.get("id"), path)
        if entry.get("info") or entry.get("error"):
            give_back(self.recording, entry, entry.get("info"), entry.get("id"), path, of=entry.get("name"))

    def _handoff(self, entry: Mapping[str, Any], path: Path) -> None:
        by = self._named(entry, "previous_agent")
        self.recording.transfer(self._named(entry, "next_agent"), path, by)

    def _named(self, entry: Mapping[str, Any], which: str) -> str:
        """Return the name of an agent in a handoff; its other entries are known by its id alone."""
        agent_id, name = word(entry, f"{which}_id"), word(entry, f"{which}_name")
        self._names[agent_id] = name or agent_id
        return name or agent_id

    def _agent(self, entry: Mapping[str, Any]) -> str:
        agent_id = word(entry, "agent_id")
        return self._names.get(agent_id, agent_id)


READER: Final = Reader(
    "mistral-conversations",
    detects=detects,
    read=read,
    shape=SHAPE,
    yields=holds_events,
    keys=frozenset({"type", *_LISTS}),
)
