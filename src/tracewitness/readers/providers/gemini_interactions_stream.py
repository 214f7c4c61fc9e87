"""Read streams of Gemini's interactions: lists of events with ``event_type``, such as ``step.delta``."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any, Final

from msgspec import UNSET

from tracewitness.readers.providers import gemini_interactions
from tracewitness.readers.providers.shared import Call, doubt_lost
from tracewitness.readers.providers.streams import Answer, Stream, StreamRecording, joined, lists_any, read_stream
from tracewitness.readers.reader import Reader
from tracewitness.readers.recording import Path, word
from tracewitness.trace import Trace

__all__ = ["READER"]

# Older clients have contents where newer ones have steps.
_PREFIXES: Final = ("interaction.", "step.", "content.")
_ENDS: Final = frozenset({"interaction.completed", "interaction.complete", "interaction.cancelled"})
_LISTS: Final = ("steps", "outputs")


def read(document: Any, name: str = "") -> Trace:
    """Read a list of events, of one stream or of several, and of interactions and steps between them.

    Raises:
        ReadError: it is no list.

    >>> step = {"type": "function_call", "id": "c1", "name": "search", "arguments": {}}
    >>> delta = {"type": "arguments_delta", "arguments": '{"q": "lamp"}'}
    >>> read([{"event_type": "step.start", "index": 0, "step": step},
    ...       {"event_type": "step.delta", "index": 0, "delta": delta},
    ...       {"event_type": "interaction.completed", "interaction": {"status": "requires_action"}}]).to_events()
    [{'call': 'search', 'args': {'q': 'lamp'}, 'id': 'c1'}]
    """
    return read_stream(document, name, _STREAM)


def _event_of(item: Mapping[str, Any]) -> Mapping[str, Any] | None:
    kind = word(item, "event_type")
    return item if kind.startswith(_PREFIXES) or kind == "error" else None


class _Step:
    """A step in the making.

    Attributes:
        path: where it began.
        is_done: whether all of it was there.
    """

    def __init__(self, step: Mapping[str, Any], path: Path) -> None:
        self.is_done = False
        self.path = path
        self._step = dict(step)
        self._texts: list[str] = []
        self._arguments: list[Any] = []

    def add(self, delta: Mapping[str, Any]) -> None:
        """Take what a delta brings: a piece of a text or of arguments, or more fields of a call or a result."""
        kind = word(delta, "type")
        if kind == "text":
            self._texts.append(word(delta, "text"))
        elif kind == "arguments_delta":
            self._arguments.append(delta.get("arguments"))
        elif kind.endswith(("_call", "_result")):
            self._step.update({key: value for key, value in delta.items() if value is not None})

    def whole(self) -> dict[str, Any]:
        """Return the step with what its deltas brought."""
        step, text = self._step, "".join(self._texts)
        if text and step.get("type") == "text":
            return {**step, "text": word(step, "text") + text}
        if text:
            content = step.get("content")
            before = content if isinstance(content, list) else []
            return {**step, "content": [*before, {"type": "text", "text": text}]}
        return {**step, "arguments": joined(self._arguments)} if self._arguments else step


class _Events(Answer):
    """The interaction that the events of a stream are."""

    def __init__(self, recording: StreamRecording, path: Path) -> None:
        super().__init__(recording, path)
        self._interaction: dict[str, Any] = {}
        self._steps: list[_Step] = []
        self._open: dict[Any, _Step] = {}

    def ends_before(self, event: Mapping[str, Any]) -> bool:
        """Whether an interaction begins after this one, which has begun, or after its end."""
        begins = word(event, "event_type") in ("interaction.created", "interaction.start")
        return self.is_ended or (begins and bool(self._interaction or self._steps))

    def add(self, event: Mapping[str, Any], path: Path) -> None:
        """Take an event."""
        kind, interaction = word(event, "event_type"), event.get("interaction")
        if isinstance(interaction, Mapping):
            self._interaction.update(interaction)
        if kind == "error":
            self.fail(event.get("error"), path)
        elif kind in _ENDS:
            self.is_ended = True
        elif kind.startswith(("step.", "content.")):
            self._take_step_event(kind.partition(".")[2], event, path)

    def _take_step_event(self, stage: str, event: Mapping[str, Any], path: Path) -> None:
        index, step, delta = event.get("index"), event.get("step") or event.get("content"), event.get("delta")
        index = index if isinstance(index, int) else None
        if stage == "start" and isinstance(step, Mapping):
            self._open[index] = _Step(step, path)
            self._steps.append(self._open[index])
        elif stage == "delta" and isinstance(delta, Mapping):
            if index not in self._open:
                self._open[index] = _Step({"type": delta.get("type")}, path)
                self._steps.append(self._open[index])
            self._open[index].add(delta)
        elif stage == "stop" and index in self._open:
            self._open[index].is_done = True
        elif stage != "stop":
            self.recording.doubt("an event of a step that has none", path)

    def whole(self) -> dict[str, Any] | None:
        """Return the interaction: with the steps that it has itself, else with those that the events told."""
        if not self._interaction and not self._steps:
            return None
        told = {key: value for key, value in self._interaction.items() if self.is_ended or key != "status"}
        kept = [step for key in _LISTS for step in _mappings(told.get(key))]
        if any(told.get(key) for key in _LISTS):
            calls = [_content(step.whole(), is_done=step.is_done) for step in self._steps if _is_call(step.whole())]
            doubt_lost(self.recording, calls, map(_content, filter(_is_call, kept)), self.path)
            return told
        for number, step in enumerate(self._steps):
            self.recording.begin((*self.path, "steps", number), step.path)
        return {**told, "object": "interaction", "steps": [step.whole() for step in self._steps]}


def _mappings(items: Any) -> list[Mapping[str, Any]]:
    return [item for item in items if isinstance(item, Mapping)] if isinstance(items, list) else []


def _is_call(step: Mapping[str, Any]) -> bool:
    return word(step, "type").endswith("_call")


def _content(step: Mapping[str, Any], *, is_done: bool = True) -> Call:
    """Return what must be the same where a call is told two times."""
    name = word(step, "name") or word(step, "type")
    return word(step, "id"), name, step.get("arguments") if is_done else UNSET


_STREAM: Final = Stream(
    shape="a stream of a Gemini interaction is a list of events with an event_type such as step.delta",
    event_of=_event_of,
    answer=_Events,
    end="interaction.completed",
    is_message=lambda item: gemini_interactions.detects([item]),
    reader_of=lambda recording: functools.partial(gemini_interactions.read_item, recording),
)


READER: Final = Reader(
    "gemini-interactions-stream",
    detects=lists_any(lambda item: word(item, "event_type").startswith(_PREFIXES)),
    read=read,
    shape=_STREAM.shape,
    keys=frozenset({"event_type"}),
    is_log=True,
)
