"""Read streams of Gemini: lists of chunks, each a response in itself, with the next parts of the answer."""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Mapping
from typing import Any, Final

from msgspec import UNSET

from tracewitness.display import show
from tracewitness.readers.providers import gemini
from tracewitness.readers.providers.gemini import fields_of
from tracewitness.readers.providers.streams import Answer, Stream, StreamRecording, read_stream
from tracewitness.readers.reader import Reader
from tracewitness.readers.recording import Path, Recording, each_mapping, word
from tracewitness.trace import Record, Trace

__all__ = ["READER"]

_HISTORY: Final = "automatic_function_calling_history"
# The fields of a partial argument that hold its value; that of null says its own name.
_VALUES: Final = ("string_value", "number_value", "bool_value", "null_value")
# No arguments are nested deeper.
_MOST_STEPS: Final = 100
_STEP: Final = re.compile(
    r"""\.(?P<name>[^.\[\]]+)|\[(?P<index>\d{1,6})\]|\[(?P<quote>['"])(?P<key>[^'"\\]*)(?P=quote)\]"""
)


def read(document: Any, name: str = "", *, choice: int | None = None) -> Trace:
    """Read a list of chunks, of one stream or of several, and of contents between them.

    Arguments:
        choice: as of gemini.

    Raises:
        ReadError: it is no list.

    >>> chunk = lambda **call: {"candidates": [{"content": {"parts": [{"functionCall": call}]}}], "responseId": "r"}
    >>> read([chunk(name="search", willContinue=True),
    ...       chunk(partialArgs=[{"jsonPath": "$.q", "stringValue": "la", "willContinue": True}], willContinue=True),
    ...       chunk(partialArgs=[{"jsonPath": "$.q", "stringValue": "mp"}]),
    ...       {"candidates": [{"finishReason": "STOP"}]}]).to_events()
    [{'call': 'search', 'args': {'q': 'lamp'}}]
    """
    read_item = functools.partial(gemini.read_item, choice=choice)
    return read_stream(document, name, _STREAM._replace(reader_of=lambda told: functools.partial(read_item, told)))


class _Call:
    """A function call of which the arguments come piece by piece.

    Attributes:
        path: where it began.
        is_open: whether more of it is to come.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.is_open = True
        self._fields: dict[str, Any] = {}
        self._args: dict[str, Any] = {}
        self._pieces: list[Any] = []
        self._is_broken = False

    def add(self, call: dict[str, Any]) -> None:
        """Take what a chunk has of the call."""
        self._fields = {**call, **self._fields}
        args, pieces = call.get("args"), call.get("partial_args")
        if isinstance(args, Mapping):
            self._args.update(args)
        for piece in pieces if isinstance(pieces, list) else [] if pieces is None else [pieces]:
            self._pieces.append(piece)
            self._is_broken = self._is_broken or not (isinstance(piece, Mapping) and _put(self._args, fields_of(piece)))
        self.is_open = bool(call.get("will_continue"))

    def whole(self) -> dict[str, Any]:
        """Return the part. Pieces that make no arguments stay as they are."""
        args = self._pieces if self._is_broken else self._args
        call = {"name": self._fields.get("name"), "id": self._fields.get("id"), "args": args}
        return {"function_call": {**call, "will_continue": self.is_open}}


def _put(args: dict[str, Any], piece: dict[str, Any]) -> bool:
    """Put a piece of the arguments where its path says. False where it doesn't fit what is there."""
    steps = _steps(word(piece, "json_path"))
    kind = next((kind for kind in _VALUES if kind in piece), None)
    if not 0 < len(steps) <= _MOST_STEPS or kind is None:
        return False
    holder: Any = args
    for step, next_step in itertools.pairwise(steps):
        if not _has(holder, step) and not _set(holder, step, [] if isinstance(next_step, int) else {}):
            return False
        holder = holder[step]
    value = None if kind == "null_value" else piece[kind]
    if not _has(holder, steps[-1]):
        return _set(holder, steps[-1], value)
    before = holder[steps[-1]]
    return isinstance(before, str) and isinstance(value, str) and _set(holder, steps[-1], before + value)


def _steps(path: str) -> list[str | int]:
    """Return the keys and indexes of a JSON path; none where it is not one of those that lead to a single place."""
    steps: list[str | int] = []
    at = 1
    while path.startswith("$") and at < len(path):
        found = _STEP.match(path, at)
        if found is None:
            return []
        index = found["index"]
        steps.append(int(index) if index is not None else found["name"] or found["key"] or "")
        at = found.end()
    return steps


def _has(holder: Any, step: str | int) -> bool:
    if isinstance(step, int):
        return isinstance(holder, list) and step < len(holder)
    return isinstance(holder, dict) and step in holder


def _set(holder: Any, step: str | int, value: Any) -> bool:
    """Set a value of a mapping, or of a list, where it may be the next one. False where neither is possible."""
    if isinstance(step, str) and isinstance(holder, dict):
        holder[step] = value
    elif isinstance(step, int) and isinstance(holder, list) and step <= len(holder):
        holder[step : step + 1] = [value]
    else:
        return False
    return True


class _Candidate:
    """One of the answers that a stream gives side by side."""

    def __init__(self) -> None:
        self.fields: dict[str, Any] = {}
        self.parts: list[tuple[_Call | Mapping[str, Any], Path]] = []
        self._call: _Call | None = None

    def add(self, recording: Recording, candidate: dict[str, Any], path: Path) -> None:
        """Take what a chunk has."""
        content = candidate.pop("content", None)
        self.fields.update(candidate)
        if isinstance(content, Mapping):
            place = (*path, "content", "parts")
            for part, part_place in each_mapping(recording, content.get("parts"), place, "a part"):
                self._add_part(part, part_place)
        elif content is not None:
            recording.doubt(f"a content is a mapping, not {show(content)}", path)

    def _add_part(self, part: Mapping[str, Any], path: Path) -> None:
        own = fields_of(part)
        if own.get("text") == "" and own.keys() <= {"text", "thought", "thought_signature"}:
            return  # the last chunk has one, to say how the answer ends
        told = own.get("function_call")
        if not isinstance(told, Mapping):
            self.parts.append((part, path))
            return
        if own.get("text"):  # beside the call
            self.parts.append(({key: own[key] for key in ("text", "thought") if key in own}, path))
            part = {"function_call": told}
        call = fields_of(told)
        is_next_piece = self._call is not None and self._call.is_open and not call.get("name")
        if self._call is not None and is_next_piece:
            self._call.add(call)
        elif call.get("will_continue") or call.get("partial_args"):
            self._call = _Call(path)
            self._call.add(call)
            self.parts.append((self._call, path))
        else:
            self.parts.append((part, path))

    def whole(self) -> dict[str, Any]:
        """Return the candidate of a response."""
        parts = [part.whole() if isinstance(part, _Call) else part for part, _ in self.parts]
        return {**self.fields, "content": {"role": "model", "parts": parts}}


class _Chunks(Answer):
    """The response that the chunks of a stream are."""

    def __init__(self, recording: StreamRecording, path: Path) -> None:
        super().__init__(recording, path)
        self._fields: dict[str, Any] = {}
        self._candidates: dict[int, _Candidate] = {}

    def ends_before(self, event: Mapping[str, Any]) -> bool:
        """Whether a chunk comes after the end, with more than numbers, or has another id."""
        fields = fields_of(event)
        response_id, other_id = self._fields.get("response_id"), fields.get("response_id")
        return bool(response_id and other_id and response_id != other_id) or (
            self.is_ended and bool(fields.get("candidates"))
        )

    def add(self, event: Mapping[str, Any], path: Path) -> None:
        """Take a chunk. Of the history of automatic calls, which each chunk repeats, the first is enough."""
        fields = fields_of(event)
        self._fields = {**fields, **self._fields}
        candidates = fields.get("candidates")
        for candidate, place in each_mapping(self.recording, candidates, (*path, "candidates"), "a candidate"):
            own = fields_of(candidate)
            index = own.get("index")
            taken = self._candidates.setdefault(index if isinstance(index, int) else 0, _Candidate())
            taken.add(self.recording, own, place)
        feedback = self._fields.get("prompt_feedback")
        is_blocked = isinstance(feedback, Mapping) and bool(fields_of(feedback).get("block_reason"))
        ends = ["finish_reason" in taken.fields for taken in self._candidates.values()]
        self.is_ended = all(ends) if ends else is_blocked

    def whole(self) -> dict[str, Any]:
        """Return the response that the chunks are."""
        fields = dict(self._fields)
        if fields.get(_HISTORY) and self._is_told_in(fields[_HISTORY]):
            del fields[_HISTORY]
        candidates = [candidate for _, candidate in sorted(self._candidates.items())]
        for number, candidate in enumerate(candidates):
            for position, (_, origin) in enumerate(candidate.parts):
                self.recording.begin((*self.path, "candidates", number, "content", "parts", position), origin)
        return {**fields, "candidates": [candidate.whole() for candidate in candidates]}

    def _is_told_in(self, history: Any) -> bool:
        """Read the history of automatic calls in the place of the chunks before it, where it has all of their calls.

        It has what the chunks lack: what was sent, and what the tools gave back.
        """
        told = Recording()
        gemini.read_items(told, history, (*self.path, "automaticFunctionCallingHistory"))
        if told.calls < self.recording.calls:
            return False
        known = _calls_and_results(self.recording.records)
        if _calls_and_results(told.records)[: len(known)] != known:
            return False
        self.recording.retell(told)
        return True


def _calls_and_results(records: list[Record]) -> list[tuple[Any, ...]]:
    return [
        (record.call, record.args, record.result)
        for record in records
        if isinstance(record.call, str) or record.result is not UNSET
    ]


_STREAM: Final = Stream(
    shape="a stream of Gemini is a list of responses, of which only the last says how it ended",
    event_of=lambda item: item if gemini.is_response(item) else None,
    answer=_Chunks,
    end="a finishReason",
    is_message=lambda item: gemini.detects([item]),
    reader_of=lambda recording: functools.partial(gemini.read_item, recording),
)

READER: Final = Reader(
    "gemini-stream",
    detects=gemini.holds_chunks,
    read=read,
    shape=_STREAM.shape,
    keys=frozenset({"candidates"}),
    is_log=True,
)
