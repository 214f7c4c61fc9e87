"""Read runs of OpenAI's Agents SDK: results, the items of a run, its stream of events, and saved states.

A handover is a call with a result, as any, and a transfer to the other agent after it. What an agent that serves as
a tool does is a run of its own and not among the items. That tools failed is told in words alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec
from msgspec import UNSET

from tracewitness.display import show
from tracewitness.readers.frameworks.agents import attribute
from tracewitness.readers.providers.openai_responses import ItemReader
from tracewitness.readers.reader import Reader
from tracewitness.readers.recording import Path, Recording, each_mapping, refuse, word
from tracewitness.trace import Trace

__all__ = ["READER", "SHAPE", "detects", "read"]

SHAPE: Final = "a run of the Agents SDK has new_items or generated_items, or is a list of items with a raw_item"

_APPROVAL: Final = "tool_approval_item"
_ITEM_EVENT: Final = "run_item_stream_event"
_SILENT_EVENTS: Final = frozenset({"raw_response_event", "agent_updated_stream_event"})
_ITEMS: Final = frozenset(
    {
        _APPROVAL,
        "compaction_item",
        "handoff_call_item",
        "handoff_output_item",
        "input_item",
        "mcp_approval_request_item",
        "mcp_approval_response_item",
        "mcp_list_tools_item",
        "message_output_item",
        "reasoning_item",
        "tool_call_item",
        "tool_call_output_item",
        "tool_search_call_item",
        "tool_search_output_item",
    }
)
_CALLS: Final = frozenset({"tool_call_item", "handoff_call_item"})
# Where a document has its items, the fullest account first.
_LISTS: Final = ("new_items", "session_items", "generated_items")
_INPUTS: Final = ("original_input", "input")


def detects(document: Any) -> bool:
    """Whether decoded data is of this format."""
    if isinstance(document, list):
        return any(map(_is_piece, document))
    return isinstance(document, Mapping) and (_is_piece(document) or _is_run(document))


def read(document: Any, name: str = "") -> Trace:
    """Read a result, a saved state, an item, or a list of items or of events.

    Raises:
        ReadError: it is nothing of the kind.

    >>> read({"new_items": [{"type": "tool_call_item", "agent": {"name": "shop"}, "raw_item":
    ...     {"type": "function_call", "call_id": "c1", "name": "search", "arguments": "{}"}}]}).to_events()
    [{'call': 'search', 'args': {}, 'id': 'c1', 'by': 'shop'}]
    """
    reading = _Reading()
    if isinstance(document, list):
        reading.pieces(document, ())
    elif isinstance(document, Mapping) and _is_run(document):
        reading.run(document)
    elif isinstance(document, Mapping) and _is_piece(document):
        reading.piece(document, ())
    else:
        raise refuse(document, SHAPE)
    return reading.recording.trace(name)


# ----------------------------------------------------------------------------------------------------------- detection


def _is_run(document: Mapping[str, Any]) -> bool:
    """Whether a mapping is a result or a saved state. Either has items, though perhaps none."""
    lists = [document[key] for key in _LISTS if isinstance(document.get(key), list)]
    return any(any(map(_is_item, items)) for items in lists) or (bool(lists) and _INPUTS[0] in document)


def _is_piece(item: Any) -> bool:
    return _is_item(item) or (
        isinstance(item, Mapping) and item.get("type") == _ITEM_EVENT and _is_item(item.get("item"))
    )


def _is_item(item: Any) -> bool:
    return isinstance(item, Mapping) and word(item, "type") in _ITEMS and "raw_item" in item


# ------------------------------------------------------------------------------------------------------------- reading


class _Reading:
    """Reads items in order.

    Attributes:
        recording: the trace in the making.
    """

    def __init__(self) -> None:
        self.recording = Recording()
        self._raw = ItemReader(self.recording)
        # Calls that wait to be approved are told twice, then and when they are made.
        self._call_ids: set[str] = set()

    def run(self, document: Mapping[str, Any]) -> None:
        """Read a result or a saved state: what was asked, then what came of it."""
        for key in _INPUTS:
            self._input(document.get(key), (key,))
        filled = next((key for key in _LISTS if document.get(key)), None)
        if filled is not None:
            self.pieces(document[filled], (filled,))
        self._interruptions(document)
        if document.get("is_complete") is False:
            self.recording.failure = "the run is not complete"
            self.recording.doubt(self.recording.failure, ())

    def pieces(self, pieces: Any, path: Path) -> None:
        """Read a list of items or events."""
        if isinstance(pieces, list):
            self._call_ids.update(_call_ids(pieces))
        for piece, place in each_mapping(self.recording, pieces, path, "an item"):
            self.piece(piece, place)

    def piece(self, piece: Mapping[str, Any], path: Path) -> None:
        """Read an item, or the event that brings it."""
        kind = word(piece, "type")
        item = piece.get("item")
        if kind == _ITEM_EVENT and isinstance(item, Mapping):
            self._item(item, (*path, "item"))
        elif kind not in _SILENT_EVENTS:
            self._item(piece, path)

    def _input(self, given: Any, path: Path) -> None:
        if isinstance(given, str):
            self.recording.say("user", given, path)
        else:
            self._raw.items(given, path)

    def _interruptions(self, document: Mapping[str, Any]) -> None:
        """Read the calls that the run stopped for, which somebody is to approve."""
        step, path = document.get("current_step"), ("current_step", "data", "interruptions")
        data = step.get("data") if isinstance(step, Mapping) else None
        if isinstance(data, Mapping):
            self.pieces(data.get("interruptions"), path)
        self.pieces(document.get("interruptions"), ("interruptions",))

    def _item(self, item: Mapping[str, Any], path: Path) -> None:
        kind, raw = word(item, "type"), item.get("raw_item")
        if kind not in _ITEMS or not isinstance(raw, Mapping):
            self.recording.doubt(f"an unknown item of type {show(item.get('type'))}", path)
            return
        begin, place = len(self.recording), (*path, "raw_item")
        if kind == _APPROVAL:
            self._approval(item, raw, place)
        else:
            self._raw.item(raw, place)
        if kind == "tool_call_output_item":
            self._take_output(item, begin)
        elif kind == "handoff_output_item":
            self._transfer(item, path)
        attribute(self.recording, begin, _agent(item, "agent"))

    def _approval(self, item: Mapping[str, Any], raw: Mapping[str, Any], path: Path) -> None:
        """Read a call that is to be approved, unless it is told elsewhere."""
        call_id = raw.get("call_id") or raw.get("id")
        if isinstance(call_id, str) and call_id in self._call_ids:
            return
        if isinstance(call_id, str):
            self._call_ids.add(call_id)
        if word(raw, "type") == "mcp_approval_request" or not raw.get("type"):
            name = raw.get("name") or item.get("tool_name")
            self.recording.call(name, raw.get("arguments"), call_id, path)
        else:
            self._raw.item(raw, path)

    def _take_output(self, item: Mapping[str, Any], begin: int) -> None:
        """Put what the tool returned in the place of what the model was told of it, which may be its `repr`."""
        records = self.recording.records
        if item.get("output") is not None and begin < len(records) and records[begin].result is not UNSET:
            records[begin] = msgspec.structs.replace(records[begin], result=item["output"])

    def _transfer(self, item: Mapping[str, Any], path: Path) -> None:
        self.recording.transfer(_agent(item, "target_agent"), path, by=_agent(item, "source_agent"))


def _agent(item: Mapping[str, Any], key: str) -> Any:
    agent = item.get(key)
    return agent.get("name") if isinstance(agent, Mapping) else agent


def _call_ids(pieces: list[Any]) -> Iterator[str]:
    """Yield the ids of the calls that were made."""
    for piece in pieces:
        item = piece.get("item", piece) if isinstance(piece, Mapping) else None
        if isinstance(item, Mapping) and word(item, "type") in _CALLS and isinstance(item.get("raw_item"), Mapping):
            raw = item["raw_item"]
            call_id = raw.get("call_id") or raw.get("id")
            if isinstance(call_id, str):
                yield call_id


# ------------------------------------------------------------------------------------------------------------- objects

_ITEM_FIELDS: Final = ("type", "raw_item", "output", "tool_name")
_AGENT_FIELDS: Final = ("agent", "source_agent", "target_agent")
_RUN_FIELDS: Final = ("new_items", "interruptions", "is_complete")


def _plain(value: Any) -> Any:
    """Return what an object of the SDK tells. Objects of other packages of that name stay as they are."""
    kinds = {kind.__name__ for kind in type(value).__mro__ if kind.__module__.partition(".")[0] == "agents"}
    if "RunItemBase" in kinds:
        return _plain_item(value)
    if "RunResultBase" in kinds:
        fields = {key: getattr(value, key) for key in _RUN_FIELDS if hasattr(value, key)}
        return {"original_input": value.input, **fields}
    if "RunState" in kinds:
        return value.to_json()
    if "RunItemStreamEvent" in kinds:
        return {"type": value.type, "item": value.item}
    if kinds & {"RawResponsesStreamEvent", "AgentUpdatedStreamEvent"}:
        return {"type": value.type}
    if kinds & {"Span", "Trace"} and callable(getattr(value, "export", None)):
        return value.export()
    if "ModelResponse" in kinds:
        return {"object": "response", "output": value.output}
    return value


def _plain_item(item: Any) -> dict[str, Any]:
    fields = {key: getattr(item, key) for key in _ITEM_FIELDS if hasattr(item, key)}
    agents = {key: getattr(item, key) for key in _AGENT_FIELDS if hasattr(item, key)}
    return fields | {key: {"name": getattr(agent, "name", None)} for key, agent in agents.items()}


READER: Final = Reader(
    "openai-agents",
    detects=detects,
    read=read,
    shape=SHAPE,
    keys=frozenset({*_LISTS, "raw_item", "item"}),
    objects={"agents": _plain},
)
