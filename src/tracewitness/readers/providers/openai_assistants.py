"""Read OpenAI Assistants: runs, their steps, messages of threads, lists of these, and outputs of tools."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from tracewitness.display import show
from tracewitness.readers.providers.shared import give_back, told_trace
from tracewitness.readers.providers.streams import holds_events
from tracewitness.readers.reader import Reader
from tracewitness.readers.recording import Path, Recording, each_mapping, refuse, word
from tracewitness.trace import Trace

__all__ = ["READER", "SHAPE", "detects", "read", "read_item"]

SHAPE: Final = "what belongs to a thread has object: thread.run, thread.run.step or thread.message"

_OBJECTS: Final = frozenset({"thread.run", "thread.run.step", "thread.message"})
_PENDING: Final = frozenset({"queued", "in_progress"})
_FAILED: Final = frozenset({"failed", "expired", "incomplete"})
_SILENT_PARTS: Final = frozenset({"image_file", "image_url"})


def detects(document: Any) -> bool:
    """Whether decoded data is of this format."""
    if isinstance(document, Mapping):
        return _is_marked(document)
    return isinstance(document, list) and any(map(_is_marked, document))


def read(document: Any, name: str = "") -> Trace:
    """Read a run, a step, a message of a thread, outputs of tools, or a list of these.

    Raises:
        ReadError: it is nothing of the kind.

    >>> read({"object": "thread.run", "required_action": {"submit_tool_outputs": {"tool_calls": [
    ...     {"id": "c1", "function": {"name": "search", "arguments": "{}"}}]}}}).to_events()
    [{'call': 'search', 'args': {}, 'id': 'c1'}]
    """
    recording = Recording()
    if isinstance(document, list):
        _read_items(recording, document)
    elif isinstance(document, Mapping) and _is_marked(document):
        read_item(recording, document, ())
    else:
        raise refuse(document, SHAPE)
    return told_trace(recording, document, name, detects, SHAPE)


def _is_marked(item: Any) -> bool:
    """Whether an item is of this format and of no other."""
    if not isinstance(item, Mapping):
        return False
    kind, data = word(item, "object"), item.get("data")
    if kind == "list" and isinstance(data, list):
        return any(isinstance(entry, Mapping) and word(entry, "object") in _OBJECTS for entry in data)
    outputs = item.get("tool_outputs")
    return kind in _OBJECTS or (isinstance(outputs, list) and any(map(_is_output, outputs)))


def _is_output(item: Any) -> bool:
    return isinstance(item, Mapping) and "tool_call_id" in item and "output" in item


def _read_items(recording: Recording, items: list[Any]) -> None:
    """Read objects in order. Of one that is there several times, since it was watched, only what it became is read."""
    later: set[Any] = set()
    kept = []
    for item, path in reversed(list(each_mapping(recording, items, (), "an object"))):
        item_id = item.get("id") if isinstance(item.get("id"), str) else None
        if word(item, "status") not in _PENDING or item_id not in later:
            kept.append((item, path))
        later.add(item_id)
    for item, path in reversed(kept):
        read_item(recording, item, path)


def read_item(recording: Recording, item: Mapping[str, Any], path: Path) -> None:
    """Read a run, a step, a message of a thread, a list of these, or outputs of tools."""
    kind = word(item, "object")
    if kind == "list":
        _read_list(recording, item, path)
    elif kind == "thread.run":
        _read_run(recording, item, path)
    elif kind == "thread.run.step":
        _read_step(recording, item, path)
    elif kind == "thread.message":
        _read_message(recording, item, path)
    elif "tool_outputs" in item:
        place = (*path, "tool_outputs")
        for output, at in each_mapping(recording, item["tool_outputs"], place, "an output"):
            give_back(recording, output, output.get("output"), output.get("tool_call_id"), at)
    else:
        recording.doubt(f"neither a run nor what belongs to one: {show(list(item))}", path)


def _read_list(recording: Recording, page: Mapping[str, Any], path: Path) -> None:
    """Read a page of objects, which begins with the latest unless another order was asked for."""
    found = list(each_mapping(recording, page.get("data"), (*path, "data"), "an object"))
    times = [time for time in (item.get("created_at") for item, _ in found) if isinstance(time, (int, float))]
    is_dated = len(times) == len(found)
    for item, place in reversed(found) if is_dated and times == sorted(times, reverse=True) else found:
        read_item(recording, item, place)


def _read_run(recording: Recording, run: Mapping[str, Any], path: Path) -> None:
    action, status = run.get("required_action"), word(run, "status")
    if isinstance(action, Mapping):
        asked = action.get("submit_tool_outputs")
        calls = asked.get("tool_calls") if isinstance(asked, Mapping) else None
        place = (*path, "required_action", "submit_tool_outputs", "tool_calls")
        for call, at in each_mapping(recording, calls, place, "a call"):
            _read_call(recording, call, at)
    elif action is not None or status == "requires_action":
        recording.doubt(f"an action is required that is not here: {show(action)}", path)
    if status in _FAILED or run.get("last_error"):
        recording.failure = f"the run is {status}: {show(run.get('last_error'))}"
        recording.doubt(recording.failure, path)


def _read_step(recording: Recording, step: Mapping[str, Any], path: Path) -> None:
    details = step.get("step_details")
    calls = details.get("tool_calls") if isinstance(details, Mapping) else None
    for call, place in each_mapping(recording, calls, (*path, "step_details", "tool_calls"), "a call"):
        _read_call(recording, call, place)
    if step.get("last_error"):
        recording.doubt(f"the step failed: {show(step['last_error'])}", path)


def _read_call(recording: Recording, call: Mapping[str, Any], path: Path) -> None:
    """Read a call, and its output where that is there."""
    function, kind, call_id = call.get("function"), word(call, "type"), call.get("id")
    if isinstance(function, Mapping):
        recording.call(function.get("name"), function.get("arguments"), call_id, path)
        output = function.get("output")
    else:
        own = call.get(kind)
        known = dict(own) if isinstance(own, Mapping) else {}
        output = known.pop("outputs", None) or known.pop("results", None)
        recording.call(kind, known, call_id, path)
    if output is not None:
        recording.answer(output, call_id, path)


def _read_message(recording: Recording, message: Mapping[str, Any], path: Path) -> None:
    speaker = "agent" if message.get("role") == "assistant" else "user"
    texts = []
    for part, place in each_mapping(recording, message.get("content"), (*path, "content"), "a part"):
        text = part.get("text")
        value = text.get("value") if isinstance(text, Mapping) else None
        if isinstance(value, str):
            texts.append(value)
        elif word(part, "type") not in _SILENT_PARTS:
            recording.doubt(f"an unknown part {show(dict(part))}", place, hides_call=False)
    recording.say("agent" if speaker == "agent" else "user", "\n".join(texts), path)


READER: Final = Reader(
    "openai-assistants",
    detects=detects,
    read=read,
    shape=SHAPE,
    yields=holds_events,
    keys=frozenset({"object", "tool_outputs"}),
)
