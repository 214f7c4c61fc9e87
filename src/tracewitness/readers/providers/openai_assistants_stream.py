"""Read streams of OpenAI Assistants: lists of events of a thread's run, its steps and messages."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from typing import Any, Final

from msgspec import UNSET

from tracewitness.readers.providers import openai_assistants
from tracewitness.readers.providers.shared import Call, doubt_lost
from tracewitness.readers.providers.streams import Answer, Stream, StreamRecording, joined, lists_any, read_stream
from tracewitness.readers.reader import Reader
from tracewitness.readers.recording import Path, each_mapping, word
from tracewitness.trace import Trace

__all__ = ["READER"]

_RUN: Final = "thread.run"
_STEP: Final = "thread.run.step"
_MESSAGE: Final = "thread.message"
_DELTAS: Final = {f"{_STEP}.delta": _STEP, f"{_MESSAGE}.delta": _MESSAGE}
_OBJECTS: Final = frozenset({"thread", _RUN, _STEP, _MESSAGE, *_DELTAS})
# What a run is when its stream ends.
_ENDS: Final = frozenset({"cancelled", "completed", "expired", "failed", "incomplete", "requires_action"})


def read(document: Any, name: str = "") -> Trace:
    """Read a list of events, of one stream or of several, and of outputs of tools between them.

    A call stands in deltas, in its step and in what the run requires, and later in its step again, with its output.
    It is one call.

    Raises:
        ReadError: it is no list.

    >>> function = {"name": "search", "arguments": '{"q": "lamp"}'}
    >>> call = {"index": 0, "id": "c1", "type": "function", "function": function}
    >>> delta = {"step_details": {"type": "tool_calls", "tool_calls": [call]}}
    >>> read([{"object": "thread.run.step.delta", "id": "s1", "delta": delta},
    ...       {"object": "thread.run", "id": "r1", "status": "requires_action", "required_action":
    ...        {"submit_tool_outputs": {"tool_calls": [call]}}}]).to_events()
    [{'call': 'search', 'args': {'q': 'lamp'}, 'id': 'c1'}]
    """
    return read_stream(document, name, _STREAM)


def _event_of(item: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the object that an event has, which the SDK wraps."""
    wrapped = item.get("data") if word(item, "event") else None
    found = wrapped if isinstance(wrapped, Mapping) else item
    if word(found, "object") in _OBJECTS:
        return found
    return item if word(item, "event") == "error" or (item.get("error") and "object" not in item) else None


class _Object:
    """A step or a message in the making."""

    def __init__(self, kind: str, path: Path) -> None:
        self.kind = kind
        self.path = path
        self.latest: Mapping[str, Any] = {}
        self._pieces: dict[Any, list[Mapping[str, Any]]] = {}

    def add(self, delta: Mapping[str, Any]) -> None:
        """Take what a delta has of the calls of a step, or of the contents of a message."""
        details = delta.get("step_details")
        pieces = details.get("tool_calls") if isinstance(details, Mapping) else delta.get("content")
        for piece in pieces if isinstance(pieces, list) else ():
            if isinstance(piece, Mapping):
                index = piece.get("index")
                self._pieces.setdefault(index if isinstance(index, int) else None, []).append(piece)

    def calls(self) -> list[Any]:
        """Return the calls of a step: as the step itself has them, else as the deltas told them."""
        details = self.latest.get("step_details")
        calls = details.get("tool_calls") if isinstance(details, Mapping) else None
        if isinstance(calls, list) and calls:
            return calls
        return [_call_of(pieces) for pieces in self._pieces.values()]

    def doubt_calls(self, recording: StreamRecording) -> None:
        """Look for calls that the deltas told and the step itself lacks."""
        if self.latest and self._pieces:
            told = [_content(_call_of(pieces)) for pieces in self._pieces.values()]
            doubt_lost(
                recording, told, [_content(call) for call in self.calls() if isinstance(call, Mapping)], self.path
            )

    def text(self) -> dict[str, Any]:
        """Return a message: as it was in the end, else as the deltas told it."""
        if self.latest.get("content"):
            return {key: value for key, value in self.latest.items() if key != "created_at"}
        texts = [word(text, "value") for text in self._texts()]
        content = [{"type": "text", "text": {"value": "".join(texts)}}]
        return {"object": _MESSAGE, "role": word(self.latest, "role") or "assistant", "content": content}

    def _texts(self) -> Iterator[Mapping[str, Any]]:
        for pieces in self._pieces.values():
            for piece in pieces:
                text = piece.get("text")
                if isinstance(text, Mapping):
                    yield text


def _call_of(pieces: list[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the call that its pieces are: texts of a field are joined, of all else the latest counts."""
    call: dict[str, Any] = {}
    told: dict[str, list[Any]] = {}
    for piece in pieces:
        call.update({key: value for key, value in piece.items() if value is not None})
        fields = piece.get(word(call, "type") or "function")
        for field, value in fields.items() if isinstance(fields, Mapping) else ():
            if value is not None:
                told.setdefault(field, []).append(value)
    return {**call, word(call, "type") or "function": {field: _latest(values) for field, values in told.items()}}


def _content(call: Mapping[str, Any]) -> Call:
    """Return what a call is known by."""
    function, kind = call.get("function"), word(call, "type")
    return call.get("id"), word(function, "name") if isinstance(function, Mapping) else kind, UNSET


def _latest(values: list[Any]) -> Any:
    given = [value for value in values if value]
    return joined(given) if all(isinstance(value, str) for value in given) else given[-1]


class _Events(Answer):
    """What a run did while its events were streamed."""

    def __init__(self, recording: StreamRecording, path: Path) -> None:
        super().__init__(recording, path)
        self._run: Mapping[str, Any] = {}
        self._run_path = path
        self._objects: dict[Any, _Object] = {}

    def ends_before(self, event: Mapping[str, Any]) -> bool:
        """Whether the run has paused or ended before. What has no object is an error, and belongs to it."""
        return self.is_ended and "object" in event

    def add(self, event: Mapping[str, Any], path: Path) -> None:
        """Take an event."""
        kind = word(event, "object")
        if kind in (_STEP, _MESSAGE):
            self._object(kind, event, path).latest = event
        elif kind in _DELTAS:
            delta = event.get("delta")
            if isinstance(delta, Mapping):
                self._object(_DELTAS[kind], event, path).add(delta)
            else:
                self.recording.doubt("a delta that is none", path)
        elif kind == _RUN:
            self._run, self._run_path = event, path
            self.is_ended = word(event, "status") in _ENDS
        elif not kind:
            self.fail(event.get("error") or event.get("data"), path)

    def _object(self, kind: str, event: Mapping[str, Any], path: Path) -> _Object:
        identity = event.get("id") if isinstance(event.get("id"), str) else None
        return self._objects.setdefault((kind, identity), _Object(kind, path))

    def whole(self) -> dict[str, Any] | None:
        """Return a list of the run's steps and messages, and of the run."""
        known = {record.id for record in self.recording.records if isinstance(record.call, str)}
        answered = {record.id for record in self.recording.records if not isinstance(record.call, str)}
        found: list[tuple[Mapping[str, Any], Path]] = []
        for thing in self._objects.values():
            if thing.kind == _MESSAGE:
                found.append((thing.text(), thing.path))
                continue
            thing.doubt_calls(self.recording)
            for call, _ in each_mapping(self.recording, thing.calls(), thing.path, "a call"):
                told = _untold(call, known, answered)
                found += [(told, thing.path)] if told else []
                known.add(_id_of(call))
        found += [(self._required(known), self._run_path)] if self._run else []
        for number, (_, origin) in enumerate(found):
            self.recording.begin((*self.path, "data", number), origin)
        return {"object": "list", "data": [item for item, _ in found]} if found else None

    def _required(self, known: set[Any]) -> dict[str, Any]:
        """Return the run with those of the calls that it requires which no step told."""
        run = {key: value for key, value in self._run.items() if key != "created_at"}
        action = run.get("required_action")
        asked = action.get("submit_tool_outputs") if isinstance(action, Mapping) else None
        calls = asked.get("tool_calls") if isinstance(asked, Mapping) else None
        if not isinstance(calls, list):
            return run
        left = [call for call in calls if not (isinstance(call, Mapping) and _id_of(call) in known)]
        return {**run, "required_action": {"submit_tool_outputs": {"tool_calls": left}}}


def _id_of(call: Mapping[str, Any]) -> Any:
    call_id = call.get("id")
    return call_id if isinstance(call_id, str) and call_id else object()


def _untold(call: Mapping[str, Any], known: set[Any], answered: set[Any]) -> dict[str, Any] | None:
    """Return a step with a call; only the call's output where the call was told, and nothing where that was too."""
    if _id_of(call) not in known:
        return {"object": _STEP, "step_details": {"type": "tool_calls", "tool_calls": [call]}}
    function = call.get("function")
    output = function.get("output") if isinstance(function, Mapping) else None
    if output is None or call["id"] in answered:
        return None
    return {"tool_outputs": [{"tool_call_id": call["id"], "output": output}]}


_STREAM: Final = Stream(
    shape="a stream of OpenAI Assistants is a list of events of a thread.run and its steps",
    event_of=_event_of,
    answer=_Events,
    end="the run's end",
    is_message=lambda item: openai_assistants.detects([item]),
    reader_of=lambda recording: functools.partial(openai_assistants.read_item, recording),
)


def _is_event(item: Mapping[str, Any]) -> bool:
    return word(item, "object") in _DELTAS or word(item, "event").startswith("thread.")


READER: Final = Reader(
    "openai-assistants-stream",
    detects=lists_any(_is_event),
    read=read,
    shape=_STREAM.shape,
    keys=frozenset({"object", "event"}),
    is_log=True,
)
