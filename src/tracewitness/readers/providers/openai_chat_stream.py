"""Read streams of OpenAI chat completions, and what compatible servers make of them: lists of chunks."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Any, Final

from tracewitness.display import show
from tracewitness.readers.providers import openai_chat
from tracewitness.readers.providers.shared import CALL_FIELDS, Call, doubt_lost
from tracewitness.readers.providers.streams import Answer, Stream, StreamRecording, joined, lists_any, read_stream
from tracewitness.readers.reader import Reader
from tracewitness.readers.recording import Path, each_mapping, one_text, word
from tracewitness.trace import Trace

__all__ = ["READER"]

# Events of the SDK's helper that repeat what its event `chunk` brought.
_REPEATING: Final = ("content.", "refusal.", "tool_calls.function.arguments.", "logprobs.")


def read(document: Any, name: str = "", *, choice: int | None = None) -> Trace:
    """Read a list of chunks, of one stream or of several, and of messages between them.

    Arguments:
        choice: as of openai-chat.

    Raises:
        ReadError: it is no list.

    >>> call = {"index": 0, "id": "c1", "function": {"name": "search", "arguments": '{"q": '}}
    >>> rest = {"index": 0, "function": {"arguments": '"lamp"}'}}
    >>> read([{"choices": [{"delta": {"tool_calls": [call]}}]},
    ...       {"choices": [{"delta": {"tool_calls": [rest]}, "finish_reason": "tool_calls"}]}]).to_events()
    [{'call': 'search', 'args': {'q': 'lamp'}, 'id': 'c1'}]
    """
    read_item = functools.partial(openai_chat.read_item, choice=choice)
    return read_stream(document, name, _STREAM._replace(reader_of=lambda told: functools.partial(read_item, told)))


def _event_of(item: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return a chunk, also out of what the clients of OpenAI and Mistral wrap it in."""
    if _is_chunk(item):
        return item
    kind = word(item, "type")
    if kind.startswith(_REPEATING):
        return {}
    wrapped = item.get("chunk") if kind == "chunk" else item.get("data")
    if isinstance(wrapped, Mapping) and _is_chunk(wrapped):
        return wrapped
    return item if item.get("error") and item.keys().isdisjoint({"role", "choices", "content"}) else None


def _is_chunk(item: Mapping[str, Any]) -> bool:
    if item.get("object") == "chat.completion.chunk":
        return True
    choices = item.get("choices")
    return isinstance(choices, list) and any(isinstance(choice, Mapping) and "delta" in choice for choice in choices)


def _holds_chunk(item: Mapping[str, Any]) -> bool:
    return any(isinstance(found, Mapping) and _is_chunk(found) for found in (item, item.get("chunk"), item.get("data")))


class _Call:
    """A call in the making.

    Attributes:
        path: where it began.
        kind: the field that holds its name: ``function`` or ``custom``.
    """

    def __init__(self, index: Any, path: Path) -> None:
        self.path = path
        self.index = index
        self.call_id: Any = None
        self.kind = "function"
        self.name: Any = ""
        self._fragments: list[Any] = []
        self._object = _ObjectText()

    def add(self, fragment: Mapping[str, Any]) -> None:
        """Take what a fragment has."""
        self.call_id = self.call_id or fragment.get("id")
        kind, told = _told(fragment)
        self.kind = kind or self.kind
        self.name = self.name or told.get("name") or ""
        self._fragments.append(told.get("input") if kind == "custom" else told.get("arguments"))

    def continues_with(self, fragment: Mapping[str, Any]) -> bool:
        """Whether a fragment with this call's index is a part of it.

        A call begins with a name. Some servers repeat the name, or send another id, with every fragment.
        """
        name, call_id = _told(fragment)[1].get("name"), fragment.get("id")
        has_other_id = bool(call_id and self.call_id and call_id != self.call_id)
        if not name or not self.name:
            return not (has_other_id and self._is_complete())
        return not has_other_id and name == self.name and not self._is_complete()

    def may_be_named_with(self, fragment: Mapping[str, Any]) -> bool:
        """Whether a fragment that names another call may have the rest of this one's name.

        Names come whole; what joins fragments as they come would join this one too, where no id speaks against it.
        """
        call_id = fragment.get("id")
        has_other_id = bool(call_id and self.call_id and call_id != self.call_id)
        is_named = bool(self.name and _told(fragment)[1].get("name"))
        is_here = isinstance(self.index, int) and fragment.get("index") == self.index
        return is_named and is_here and not has_other_id and not any(self._fragments)

    def is_same(self, fragment: Mapping[str, Any]) -> bool:
        """Whether a fragment has this call's id, and nothing that speaks against it."""
        if not self.call_id or fragment.get("id") != self.call_id:
            return False
        name, index = _told(fragment)[1].get("name"), fragment.get("index")
        return (not name or name == self.name) and (index is None or self.index in (None, index))

    def whole(self) -> dict[str, Any]:
        """Return the call as it is in a message."""
        told = {"name": self.name, "input" if self.kind == "custom" else "arguments": joined(self._fragments)}
        return {"id": self.call_id, "type": self.kind, self.kind: told}

    def _is_complete(self) -> bool:
        """Whether the arguments so far are whole, so that nothing can be added to them."""
        return self._object.ends_with(self._fragments)


class _ObjectText:
    """Finds where the text of a JSON object ends, of which each piece is looked at once."""

    _mark = re.compile(r'[{}"]|\\.', re.DOTALL)

    def __init__(self) -> None:
        self._pieces = 0
        self._depth = 0
        self._is_in_text = False
        self._rest = ""
        self._has_ended = False

    def ends_with(self, pieces: list[Any]) -> bool:
        """Whether an object ends in the last of pieces, which are those that were there before and new ones."""
        for piece in pieces[self._pieces :]:
            self._has_ended = self._has_ended or isinstance(piece, Mapping)
            self._look_at(piece if isinstance(piece, str) else "")
        self._pieces = len(pieces)
        return self._has_ended

    def _look_at(self, piece: str) -> None:
        text = self._rest + piece
        for found in self._mark.finditer(text):
            mark = found[0]
            if mark == '"':
                self._is_in_text = not self._is_in_text
            elif mark in "{}" and not self._is_in_text:
                self._depth += 1 if mark == "{" else -1
                self._has_ended = self._has_ended or self._depth <= 0
        # A backslash at the end belongs to what comes next.
        self._rest = "\\" if (len(text) - len(text.rstrip("\\"))) % 2 else ""


def _told(fragment: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """Return the field of a fragment that holds name and arguments, and what stands there."""
    for kind in ("custom", "function"):
        told = fragment.get(kind)
        if isinstance(told, Mapping):
            return kind, told
    return "", {}


class _Choice:
    """One of the answers that a stream gives side by side."""

    def __init__(self) -> None:
        self.message: dict[str, Any] = {}
        self.finish_reason: Any = None
        self.error: Any = None
        self.calls: list[_Call] = []
        self._by_id: dict[str, _Call] = {}
        self._by_index: dict[int, _Call] = {}
        self.function: _Call | None = None
        self._content: list[Any] = []
        self._texts: dict[str, list[str]] = {"refusal": [], "transcript": []}

    def add(self, recording: StreamRecording, delta: Mapping[str, Any], path: Path) -> None:
        """Take what a delta brings."""
        content = delta.get("content")
        self._content += content if isinstance(content, list) else [content]
        self._texts["refusal"].append(word(delta, "refusal"))
        audio = delta.get("audio")
        self._texts["transcript"].append(word(audio, "transcript") if isinstance(audio, Mapping) else "")
        self.add_calls(recording, delta, path)
        function = delta.get("function_call")
        if not isinstance(function, Mapping):
            if function is not None:
                recording.doubt(f"a function call is a mapping, not {show(function)}", path)
        elif any(function.values()):
            self.function = self.function or _Call(None, (*path, "function_call"))
            self.function.add({"function": function})

    def add_calls(self, recording: StreamRecording, holder: Mapping[str, Any], path: Path) -> None:
        """Take fragments of calls, in whichever field they stand."""
        for field in CALL_FIELDS:
            fragments = holder.get(field)
            fragments = [fragments] if isinstance(fragments, Mapping) else fragments
            for fragment, place in each_mapping(recording, fragments, (*path, field), "a tool call"):
                self._add_fragment(recording, fragment, place)

    def _add_fragment(self, recording: StreamRecording, fragment: Mapping[str, Any], path: Path) -> None:
        call, before = self._call_of(fragment), self._call_before(fragment)
        if call is None and before is not None and before.may_be_named_with(fragment):
            name = _told(fragment)[1].get("name")
            recording.doubt(f"{show(name)} is the name of another call, or the rest of {show(before.name)}", path)
        if call is None:
            call = _Call(fragment.get("index"), path)
            self.calls.append(call)
        if isinstance(call.index, int):
            self._by_index[call.index] = call
        call.add(fragment)
        if isinstance(call.call_id, str):
            self._by_id[call.call_id] = call

    def _call_of(self, fragment: Mapping[str, Any]) -> _Call | None:
        """Return the call that a fragment goes on with: that with its id, else the latest with its index."""
        call_id = fragment.get("id")
        same = self._by_id.get(call_id) if isinstance(call_id, str) else None
        if same is not None and same.is_same(fragment):
            return same
        last = self._call_before(fragment)
        return last if last is not None and last.continues_with(fragment) else None

    def _call_before(self, fragment: Mapping[str, Any]) -> _Call | None:
        """Return the latest call with the index of a fragment, or the latest of all where that has none."""
        index = fragment.get("index")
        return self._by_index.get(index) if isinstance(index, int) else self.calls[-1] if self.calls else None

    def whole(self, recording: StreamRecording, path: Path) -> dict[str, Any]:
        """Return the choice of a response. A message that came whole wins over fragments, in what it has."""
        message: dict[str, Any] = {
            "role": "assistant",
            "content": _merged(self._content),
            "refusal": "".join(self._texts["refusal"]),
            "audio": {"transcript": "".join(self._texts["transcript"])},
        }
        if self.function is not None:
            message["function_call"] = self.function.whole()["function"]
        message.update({key: value for key, value in self.message.items() if value})
        if self.calls and not self.message.get("tool_calls"):
            message["tool_calls"] = self._told()
        elif self.calls:
            kept = message["tool_calls"] if isinstance(message["tool_calls"], list) else []
            doubt_lost(recording, map(_content, self._told()), map(_content, kept), path)
        return {"message": message, "finish_reason": self.finish_reason, "error": self.error}

    def _told(self) -> list[dict[str, Any]]:
        return [call.whole() for call in self.calls]


def _content(call: Any) -> Call:
    """Return what must be the same where a call is told two times."""
    if not isinstance(call, Mapping):
        return None, None, call
    told = _told(call)[1]
    return call.get("id"), told.get("name"), told.get("arguments", told.get("input"))


def _merged(pieces: list[Any]) -> Any:
    """Return the content that its pieces are: one text where all of them are text.

    Texts that follow on one another are joined at once: to add each to those before takes the square of the time.
    """
    told = [piece for piece in pieces if piece is not None]
    merged: list[Any] = []
    for is_text, run in groupby(told, key=lambda piece: one_text(piece) is not None):
        parts = list(run)
        merged += ["".join(filter(None, map(one_text, parts)))] if is_text else parts
    return merged[0] if len(merged) == 1 and isinstance(merged[0], str) else merged or None


class _Chunks(Answer):
    """The answer that the chunks of a stream are."""

    def __init__(self, recording: StreamRecording, path: Path) -> None:
        super().__init__(recording, path)
        self._chunk_id = ""
        self._choices: dict[int, _Choice] = {}

    def ends_before(self, event: Mapping[str, Any]) -> bool:
        """Whether a chunk has another id, and begins as a stream does or comes after the end of one.

        Some servers have no ids, some have another in every chunk.
        """
        deltas = list(_deltas(event))
        begins = any(delta.get("role") for delta in deltas)
        chunk_id = word(event, "id")
        if chunk_id and self._chunk_id:
            return chunk_id != self._chunk_id and bool(deltas) and (begins or self.is_ended)
        return begins and self.is_ended

    def add(self, event: Mapping[str, Any], path: Path) -> None:
        """Take a chunk."""
        self._chunk_id = self._chunk_id or word(event, "id")
        for choice, place in each_mapping(self.recording, event.get("choices"), (*path, "choices"), "a choice"):
            self._add_choice(choice, place)
        if event.get("error"):
            self.fail(event["error"], path)

    def _add_choice(self, choice: Mapping[str, Any], path: Path) -> None:
        index = choice.get("index")
        taken = self._choices.setdefault(index if isinstance(index, int) else 0, _Choice())
        delta, message = choice.get("delta"), choice.get("message")
        taken.add_calls(self.recording, choice, path)
        if isinstance(delta, Mapping):
            taken.add(self.recording, delta, (*path, "delta"))
        elif isinstance(message, Mapping):
            taken.message = dict(message)
        elif delta is not None or message is not None:
            self.recording.doubt(f"a delta is a mapping, not {show(message if delta is None else delta)}", path)
        taken.finish_reason = choice.get("finish_reason") or choice.get("finishReason") or taken.finish_reason
        taken.error = choice.get("error") or taken.error
        self.is_ended = all(taken.finish_reason or taken.error for taken in self._choices.values())

    def whole(self) -> dict[str, Any] | None:
        """Return the response that the chunks are."""
        if not self._choices and self.is_ended:
            return None
        choices = sorted(self._choices.items())
        for number, (_, choice) in enumerate(choices):
            place = (*self.path, "choices", number, "message")
            for position, call in enumerate(choice.calls):
                self.recording.begin((*place, "tool_calls", position), call.path)
            if choice.function is not None:
                self.recording.begin((*place, "function_call"), choice.function.path)
        told = [{"index": index, **choice.whole(self.recording, self.path)} for index, choice in choices]
        return {"object": "chat.completion", "choices": told}


def _deltas(event: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    choices = event.get("choices")
    for choice in choices if isinstance(choices, list) else ():
        if isinstance(choice, Mapping) and isinstance(choice.get("delta"), Mapping):
            yield choice["delta"]


_STREAM: Final = Stream(
    shape="a stream of a chat completion is a list of chunks, whose choices have a delta",
    event_of=_event_of,
    answer=_Chunks,
    end="a finish_reason",
    is_message=lambda item: openai_chat.detects([item]),
    reader_of=lambda recording: functools.partial(openai_chat.read_item, recording),
)

READER: Final = Reader(
    "openai-chat-stream",
    detects=lists_any(_holds_chunk),
    read=read,
    shape=_STREAM.shape,
    keys=frozenset({"choices", "object", "chunk", "data"}),
    is_log=True,
)
