"""What the readers of providers' formats share: a trace is built event by event, each with its place in the source."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec
from msgspec import UNSET, UnsetType

from tracewitness.display import show
from tracewitness.errors import PathPart, ReadError, path_text
from tracewitness.readers.json_text import decode_object, decode_text, keys_are_unique
from tracewitness.readers.pairing import is_resource_name
from tracewitness.trace import Problem, Record, Role, Trace

__all__ = [
    "NO_IDS",
    "Path",
    "Recording",
    "each_mapping",
    "id_of",
    "is_same_tool",
    "one_text",
    "payload_of",
    "read_arguments",
    "refuse",
    "texts_of",
    "word",
]

Path = tuple[PathPart, ...]

TEXT_PARTS: Final = frozenset({"text", "input_text", "output_text"})
# What some servers write for “no arguments” that is not JSON: an empty object, and an empty fragment after it.
_NO_ARGUMENTS: Final = frozenset({"", '{}""'})
# Mistral's client writes a missing id as this text.
NO_IDS: Final = frozenset({"", "null"})
_NAME_PARTS: Final = re.compile(r"/|__|\.|:")
_NOT_JSON: Final = object()
_decode_json: Final = msgspec.json.Decoder().decode


class Recording:
    """A trace in the making.

    Attributes:
        calls: how many calls were added.
        failure: why the last answer never came; it is the trace's lack of evidence where nothing else was read.
    """

    __slots__ = ("_open_names", "_paths", "_problems", "_records", "calls", "failure")

    def __init__(self) -> None:
        self._records: list[Record] = []
        self._paths: list[Path] = []
        self._problems: list[Problem] = []
        self._open_names: dict[Any, list[str]] = {}
        self.calls = 0
        self.failure: str | None = None

    def __len__(self) -> int:
        """Return how many events were added."""
        return len(self._records)

    @property
    def records(self) -> list[Record]:
        """The events so far."""
        return self._records

    def say(self, role: Role, text: str, path: Path, by: Any = None) -> None:
        """Add a message."""
        if role == "agent":
            record = Record(agent=text, by=_text(by))
        elif role == "user":
            record = Record(user=text)
        else:
            record = Record(system=text)
        self._add(record, path)

    def call(
        self,
        name: Any,
        arguments: Any,
        call_id: Any,
        path: Path,
        *,
        by: Any = None,
        at: Any = None,
        until: Any = None,
        metadata: dict[str, Any] | None = None,
    ) -> None:
        """Add a call. One without a name is a problem.

        Arguments:
            name, call_id: as they were recorded.
            arguments: a mapping, JSON text, or whatever stands there for none.
            by: the agent that called, where it is known.
            at, until: when it was made and when it had ended, in ISO 8601 or in seconds since 1970, where known.
            metadata: what stands beside the arguments.
        """
        if not isinstance(name, str) or not name:
            self.doubt(f"a call without a name: {show(name)}", path)
            return
        args, raw_args = read_arguments(arguments)
        self.calls += 1
        known_id = self._id(call_id, path)
        if known_id is not UNSET:
            self._open_names.setdefault(known_id, []).append(name)
        record = Record(
            call=name,
            args=args,
            raw_args=raw_args,
            id=known_id,
            by=_text(by),
            at=_time(at),
            until=_time(until),
            metadata=metadata or UNSET,
        )
        self._add(record, path)

    def answer(
        self,
        payload: Any,
        call_id: Any,
        path: Path,
        *,
        of: Any = None,
        is_error: bool | None = None,
        at: Any = None,
        metadata: dict[str, Any] | None = None,
    ) -> None:
        """Add a result.

        Arguments:
            of: the tool's name, where it is recorded.
            is_error: None where the recording doesn't say.
            at: when it came, as of `call`.
            metadata: what stands beside the payload.
        """
        known_id, name = self._id(call_id, path), _text(of)
        if known_id is not UNSET and known_id in self._open_names:
            self._doubt_name(self._open_names[known_id], known_id, name, path)
        record = Record(
            result=payload,
            of=name,
            id=known_id,
            is_error=UNSET if is_error is None else is_error,
            at=_time(at),
            metadata=metadata or UNSET,
        )
        self._add(record, path)

    def transfer(self, agent: Any, path: Path, by: Any = None) -> None:
        """Add that the conversation was handed over to an agent."""
        if isinstance(agent, str) and agent:
            self._add(Record(transfer=agent, by=_text(by)), path)
        else:
            self.doubt(f"a transfer to nobody: {show(agent)}", path, hides_call=False)

    def end(self, path: Path) -> None:
        """Add that the session ended without a tool saying so."""
        self._add(Record(end=True), path)

    def doubt(self, reason: str, path: Path, *, hides_call: bool = True, cut: bool = False) -> None:
        """Add a problem: something that could not be made sense of, or that the recording is cut, see `Problem`."""
        self._problems.append(Problem(reason, place=path_text(path), hides_call=hides_call, cut=cut))

    def take(self, other: Recording, begin: int = 0) -> None:
        """Add what another recording has, its events from ``begin`` on."""
        self._records += other._records[begin:]
        self._paths += other._paths[begin:]
        self._problems += other._problems
        self.calls += other.calls

    def trace(self, name: str) -> Trace:
        """Return the trace."""
        paths = self._paths
        return Trace(
            self._records,
            name=name,
            problems=self._problems,
            no_evidence=None if self._records else self.failure or "the recording is empty",
            place_of=lambda position: path_text(paths[position]),
        )

    def _doubt_name(self, names: list[str], known_id: Any, of: str | UnsetType, path: Path) -> None:
        """Look whether a result has the name of the call that its id makes it answer, the latest unanswered one."""
        name = names.pop() if names else None
        if name is not None and of is not UNSET and not is_same_tool(name, of):
            reason = f"a result of {show(of)} has the id {show(known_id)}, which is that of a call to {show(name)}"
            self.doubt(reason, path, hides_call=False)

    def _add(self, record: Record, path: Path) -> None:
        self._records.append(record)
        self._paths.append(path)

    def _id(self, value: Any, path: Path) -> str | int | UnsetType:
        if value is None or isinstance(value, str):
            return id_of(value)
        if isinstance(value, int) and not isinstance(value, bool):
            return value
        self.doubt(f"an id is a text, not {show(value)}", path, hides_call=False)
        return UNSET


def is_same_tool(first: str, second: str) -> bool:
    """Whether two names may be of the same tool: one may be that of a resource, or stand after its server's."""
    if is_resource_name(first) != is_resource_name(second):
        return True  # the last part of a resource's name may be anything
    return _own_name(first) == _own_name(second)


def _own_name(name: str) -> str:
    return _NAME_PARTS.split(name)[-1]


def id_of(text: str | UnsetType | None) -> str | UnsetType:
    """Return an id that is a text as an event has it."""
    return UNSET if text is UNSET or text is None or text in NO_IDS else text


def _text(value: Any) -> str | UnsetType:
    return value if isinstance(value, str) and value else UNSET


def _time(value: Any) -> str | int | float | UnsetType:
    """Return a time as an event has it. A time that is none is left out: no check can be wrong for the want of it."""
    is_time = isinstance(value, (str, int, float)) and not isinstance(value, bool) and value != ""
    return value if is_time else UNSET


def read_arguments(value: Any) -> tuple[Any, str | UnsetType]:
    """Return arguments as an object, or as they were where they are none: a value, or a text that is not JSON."""
    if value.__class__ is dict:
        return value, UNSET
    if isinstance(value, str):
        args = decode_object(value)
        if args is not None:
            return args, UNSET
        decoded = _decoded(value)
        if isinstance(decoded, str):  # encoded twice
            decoded = _decoded(decoded)
        if isinstance(decoded, dict):
            return decoded, UNSET
        return ({}, UNSET) if _is_nothing(decoded) else (UNSET, value)
    if isinstance(value, Mapping):
        return dict(value), UNSET
    return ({} if _is_nothing(value) else value), UNSET


def _decoded(text: str) -> Any:
    """Decode JSON text."""
    if text.strip() in _NO_ARGUMENTS:
        return None
    try:
        data = text.encode()
        value = _decode_json(data)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return _decoded_slowly(text)
    return value if keys_are_unique(data, value) else _decoded_slowly(text)


def _decoded_slowly(text: str) -> Any:
    """Decode JSON text as widely as JSON is written; one with a key that stands twice is ambiguous."""
    try:
        decoded = decode_text(text)
    except (ValueError, RecursionError):
        return _NOT_JSON
    return _NOT_JSON if decoded.repeated_key is not None or decoded.has_raw else decoded.value


def _is_nothing(value: Any) -> bool:
    """Whether a value stands for no arguments: null, or the empty list that PHP makes of an empty object."""
    return value is None or (isinstance(value, (list, tuple)) and not value)


def word(mapping: Mapping[str, Any], key: str) -> str:
    """Return the text that stands at a key, or an empty one where there is none."""
    value = mapping.get(key)
    return value if isinstance(value, str) else ""


def texts_of(parts: Any) -> list[str]:
    """Return the texts among the parts of a message's content, which may be one text."""
    if isinstance(parts, str):
        return [parts]
    return [text for text in map(one_text, parts) if text is not None] if isinstance(parts, list) else []


def one_text(part: Any) -> str | None:
    """Return the text of a part, or None where it is of another kind."""
    if isinstance(part, str):
        return part
    if isinstance(part, Mapping) and word(part, "type") in TEXT_PARTS:
        text = part.get("text")
        return text if isinstance(text, str) else None
    return None


def payload_of(content: Any) -> Any:
    """Return what a tool gave back: a list of one text is that text, everything else stays as it was recorded."""
    if isinstance(content, list) and len(content) == 1:
        text = one_text(content[0])
        return content if text is None else text
    return content


def each_mapping(recording: Recording, items: Any, path: Path, what: str) -> Iterator[tuple[Mapping[str, Any], Path]]:
    """Yield the mappings of a list with their places; whatever else is there is a problem.

    Arguments:
        what: what the items are, in the singular.
    """
    if not isinstance(items, list):
        if items is not None:
            recording.doubt(f"a list was promised, this is {show(items)}", path)
        return
    for index, item in enumerate(items):
        if isinstance(item, Mapping):
            yield item, (*path, index)
        else:
            recording.doubt(f"{what} is a mapping, not {show(item)}", (*path, index))


def refuse(document: Any, shape: str) -> ReadError:
    """Return the error for a document that is nothing of the kind."""
    found = show(list(document)) if isinstance(document, Mapping) else show(document)
    return ReadError(f"{shape}; this is {found}")
