"""What the readers of streams share: events are put together into an answer, which is read as if it came in one piece.

A list may hold several streams, one after the other, and messages between them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from tracewitness.display import show
from tracewitness.errors import ReadError
from tracewitness.readers.recording import Path, Recording, each_mapping, refuse, word
from tracewitness.trace import Record, Trace

__all__ = ["Answer", "Stream", "StreamRecording", "holds_events", "joined", "lists_any", "read_stream"]

_BEDROCK_EVENTS = frozenset(
    {"messageStart", "messageStop", "contentBlockStart", "contentBlockDelta", "contentBlockStop"}
)
_TYPE_PREFIXES = (
    *("content_block_", "message_delta", "message_start", "message_stop", "response."),
    *("content-delta", "message-start", "message-end", "tool-call-", "tool-plan-delta"),
    *("conversation.response.", "function.call.delta", "message.output.delta", "tool.execution."),
)
_OBJECTS = frozenset({"chat.completion.chunk", "thread.message.delta", "thread.run.step.delta"})


def holds_events(document: Any) -> bool:
    """Whether a list holds an event of a stream, whatever the provider. Readers of whole answers yield then."""
    return isinstance(document, list) and any(map(_is_event, document))


def _is_event(item: Any) -> bool:
    """Whether an item is an event, or holds one, as the clients of OpenAI and Mistral wrap chunks."""
    if not isinstance(item, Mapping):
        return False
    return any(map(_is_bare_event, (item, item.get("chunk"), item.get("data"))))


def _is_bare_event(item: Any) -> bool:
    if not isinstance(item, Mapping):
        return False
    choices = item.get("choices")
    return (
        word(item, "type").startswith(_TYPE_PREFIXES)
        or isinstance(item.get("event_type"), str)
        or not _BEDROCK_EVENTS.isdisjoint(item)
        or (item.get("done") is False and isinstance(item.get("message"), Mapping))
        or word(item, "object") in _OBJECTS
        or word(item, "event").startswith("thread.")
        or (isinstance(choices, list) and any(isinstance(choice, Mapping) and "delta" in choice for choice in choices))
    )


def lists_any(is_event: Callable[[Mapping[str, Any]], bool]) -> Callable[[Any], bool]:
    """Return what tells whether data is a list with an event of a certain kind."""
    return lambda document: (
        isinstance(document, list) and any(isinstance(item, Mapping) and is_event(item) for item in document)
    )


def joined(fragments: list[Any]) -> Any:
    """Return arguments that came in fragments: texts as one, and what is no text as it is where it came whole.

    Several mappings are no arguments; they stay a list, which no reader takes for any.
    """
    given = [fragment for fragment in fragments if fragment is not None and fragment != ""]
    if all(isinstance(fragment, str) for fragment in given):
        return "".join(given)
    return given[0] if len(given) == 1 else given


class StreamRecording(Recording):
    """A trace in the making whose events stand where they began in the stream, not where they are in the answer."""

    __slots__ = ("_origins",)

    def __init__(self) -> None:
        super().__init__()
        self._origins: dict[Path, Path] = {}

    def begin(self, part: Path, origin: Path) -> None:
        """Note where in the stream a part of the answer began, for all that is in that part."""
        self._origins[part] = origin

    def retell(self, other: Recording) -> None:
        """Put the events of another recording in the place of all that were told, and add its problems."""
        self._records, self._paths, self.calls = list(other._records), list(other._paths), other.calls
        self._problems += other._problems

    def doubt(self, reason: str, path: Path, *, hides_call: bool = True, cut: bool = False) -> None:
        """Add a problem, at the place in the stream where its part of the answer began."""
        super().doubt(reason, self._origin(path), hides_call=hides_call, cut=cut)

    def _add(self, record: Record, path: Path) -> None:
        super()._add(record, self._origin(path))

    def _origin(self, path: Path) -> Path:
        parts = (path[:length] for length in range(len(path), 0, -1))
        return next((self._origins[part] for part in parts if part in self._origins), path)


class Answer(ABC):
    """An answer in the making.

    Attributes:
        recording: the trace that it is for.
        path: where its first event stands.
        is_ended: whether the event was there after which nothing is to come.
    """

    def __init__(self, recording: StreamRecording, path: Path) -> None:
        self.recording = recording
        self.path = path
        self.is_ended = False

    @abstractmethod
    def add(self, event: Mapping[str, Any], path: Path) -> None:
        """Take what an event brings."""

    @abstractmethod
    def ends_before(self, event: Mapping[str, Any]) -> bool:
        """Whether an event belongs to another answer, which begins with it."""

    @abstractmethod
    def whole(self) -> Mapping[str, Any] | None:
        """Return the answer as the provider gives it in one piece; None where nothing came but an error."""

    def fail(self, error: Any, path: Path) -> None:
        """Take an error that ended the stream."""
        self.is_ended = True
        self.recording.failure = f"the stream failed: {show(error)}"
        self.recording.doubt(self.recording.failure, path)


class Stream(NamedTuple):
    """A way of streaming.

    Attributes:
        shape: what its documents look like, as a sentence.
        event_of: returns the event that an item is or holds; an empty one where that brings nothing, and None where
            it is none.
        answer: puts the events of one stream together.
        end: what the last event of a stream has or is.
        is_message: whether an item that is no event, and has no role, stands between two streams as a message does.
        reader_of: returns what reads such messages, and answers that were put together, into a recording.
    """

    shape: str
    event_of: Callable[[Mapping[str, Any]], Mapping[str, Any] | None]
    answer: type[Answer]
    end: str
    is_message: Callable[[Any], bool]
    reader_of: Callable[[Recording], Callable[[Mapping[str, Any], Path], None]]


def read_stream(document: Any, name: str, stream: Stream) -> Trace:
    """Read a list of events, of one stream or of several, and of messages between them.

    Raises:
        ReadError: it is no list, or nothing in it was understood.
    """
    if not isinstance(document, list):
        raise refuse(document, stream.shape)
    reading = _Reading(stream)
    for item, path in each_mapping(reading.recording, document, (), "an event"):
        reading.add(item, path)
    reading.finish()
    trace = reading.recording.trace(name)
    if not (reading.has_events or len(trace)) and trace.reader_problems:
        raise ReadError(f"{trace.reader_problems[0]}; {stream.shape}")
    return trace


class _Reading:
    """Reads the items of a list in order.

    Attributes:
        recording: the trace in the making.
        has_events: whether an item was an event.
    """

    def __init__(self, stream: Stream) -> None:
        self.has_events = False
        self.recording = StreamRecording()
        self._stream = stream
        self._read_item = stream.reader_of(self.recording)
        self._answer: Answer | None = None
        self._last_path: Path = ()

    def add(self, item: Mapping[str, Any], path: Path) -> None:
        """Take an item: an event of the answer at hand or of the next one, or a message."""
        event = self._stream.event_of(item)
        if event is not None and not event:
            return
        if event is not None:
            self.has_events = True
            if self._answer is None or self._answer.ends_before(event):
                self.finish()
                self._answer = self._stream.answer(self.recording, path)
            self._answer.add(event, path)
            self._last_path = path
        elif "role" in item or self._stream.is_message(item):
            self.finish()
            self._read_item(item, path)
        else:
            self.recording.doubt(f"neither an event nor a message: {show(list(item))}", path)

    def finish(self) -> None:
        """Read the answer at hand, which has all its events."""
        answer, self._answer = self._answer, None
        if answer is None:
            return
        self.recording.begin(answer.path, answer.path)
        whole = answer.whole()
        if whole is not None:
            self._read_item(whole, answer.path)
        if not answer.is_ended:
            self.recording.doubt(f"the stream breaks off: {self._stream.end} is missing", self._last_path, cut=True)
