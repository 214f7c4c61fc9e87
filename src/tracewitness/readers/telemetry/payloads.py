"""Read what platforms keep as the input and the output of a step: documents of providers and frameworks, in any format.

Platforms take what they are given and keep it as JSON, often as JSON in a text in JSON. The readers of the formats know
best what is in it; what none of them knows is read as messages, as far as it is some.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from tracewitness.errors import ReadError
from tracewitness.readers.conversation import recording_of
from tracewitness.readers.reader import Reader
from tracewitness.readers.recording import Path, Recording
from tracewitness.readers.telemetry.attributes import decoded, is_broken, opened
from tracewitness.readers.telemetry.messages import doubt_broken, read_messages

__all__ = ["called_with", "hides_call", "is_empty", "nanoseconds", "read_payload", "unwrapped"]

_MAX_LAYERS: Final = 8
# Formats that a step's input or output is never in: runs of several steps, and whatever holds some.
_NO_PAYLOADS: Final = frozenset(
    {"neutral", "simulation result", "named-runs", "http-recording", "opentelemetry", "langfuse", "langsmith"}
    | {"langfuse-chatml"}
)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
_LATEST_SECOND: Final = 10**11
_LATEST: Final = 10**14
# What a text has in it that tells of messages, whoever wrote it.
_tells_of_messages = re.compile(r"""["'](?:role|messages|choices|tool_calls|toolCalls|parts)["']\s*:""").search
_HOLDERS: Final = ("messages", "choices", "candidates", "generations")


def unwrapped(value: Any) -> Any:
    """Return what is in a text that is a JSON object or list, or a text in quotes, however often it was written so.

    >>> unwrapped('"[1]"'), unwrapped('"sunny"'), unwrapped("1")
    ([1], 'sunny', '1')
    """
    for _ in range(_MAX_LAYERS):
        if not isinstance(value, str):
            return value
        is_quoted = value.startswith('"') and value.endswith('"')
        inside = decoded(value) if is_quoted else opened(value)
        if inside is value or inside == value:
            return value
        value = inside
    return value


def is_empty(value: Any) -> bool:
    """Whether nothing was recorded: columns of tables are there for every row."""
    return value is None or (isinstance(value, (str, list, Mapping)) and (not value or value in ("{}", "[]", "null")))


def called_with(value: Any) -> Any:
    """Return the arguments of a call as decorators record them, with what stands by position apart.

    One argument by position is all there is to it; several have no names that are known here.

    >>> called_with({"args": [], "kwargs": {"q": "lamp"}}), called_with({"args": ["lamp"], "kwargs": {}})
    ({'q': 'lamp'}, 'lamp')
    """
    if not isinstance(value, Mapping) or value.keys() != {"args", "kwargs"}:
        return value
    positional, named = value["args"], value["kwargs"]
    if not positional:
        return named
    return positional[0] if isinstance(positional, (list, tuple)) and len(positional) == 1 and not named else value


def nanoseconds(value: Any) -> int | None:
    """Return a time in nanoseconds since 1970. Platforms leave out the offset where they mean UTC.

    Arguments:
        value: in ISO 8601, or a number of seconds or, as JavaScript has it, of milliseconds.

    >>> nanoseconds("1970-01-01 00:00:01.5"), nanoseconds("1970-01-01T01:00:01+01:00")
    (1500000000, 1000000000)
    """
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            return None
    if isinstance(value, datetime):
        zoned = value if value.tzinfo is not None else value.replace(tzinfo=UTC)
        return (zoned - _EPOCH) // _MICROSECOND * 1_000
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < _LATEST:
        return None
    return int(value * (1_000_000 if value > _LATEST_SECOND else 1_000_000_000))


def read_payload(payload: Any, path: Path, role: str, *, speaks: bool) -> Recording | None:
    """Return what an input or output says, calls and answers; None where it is nothing of the kind.

    Arguments:
        role: of messages that don't say theirs.
        speaks: whether it is what a model or an agent was told, or said: then a text alone is a message.
    """
    try:
        payload = called_with(unwrapped(payload))
        if is_empty(payload):
            return None
        if isinstance(payload, (Mapping, list)):
            return _read_document(payload, path, role, speaks=speaks)
    except RecursionError:
        return _unread(payload, path)
    if not isinstance(payload, str) or not (speaks or _tells_of_messages(payload)):
        return None
    recording = Recording()
    if is_broken(payload):
        doubt_broken(recording, payload, path)
        return recording
    if not speaks:
        return None
    recording.say("user" if role == "user" else "agent", payload, path)
    return recording


def _unread(payload: Any, path: Path) -> Recording:
    recording = Recording()
    recording.doubt(f"nested too deeply to be read: a {type(payload).__name__}", path)
    return recording


def _read_document(payload: Any, path: Path, role: str, *, speaks: bool) -> Recording | None:
    known = _read_as_format(payload, path)
    if known is not None and known.calls and not hides_call(known):
        return known
    if not speaks and not _is_messages(payload):
        return known
    messages = Recording()
    read_messages(messages, payload, path, role=role)
    if known is None:
        return messages if len(messages) or hides_call(messages) else None
    # Some write calls into texts, which no format has there, or mix formats.
    is_better = messages.calls > known.calls or hides_call(known)
    return messages if is_better and len(messages) and not hides_call(messages) else known


def hides_call(recording: Recording) -> bool:
    """Whether something in a recording could not be made sense of that may be a call."""
    return any(problem.hides_call for problem in recording._problems)


def _read_as_format(payload: Any, path: Path) -> Recording | None:
    """Read a payload in the one format that it is in."""
    reader = _reader_of(payload)
    if reader is None:
        return None
    try:
        return recording_of(reader.read(payload, name=""), path)
    except ReadError:
        return None


def _reader_of(payload: Any) -> Reader | None:
    from tracewitness.readers.registry import detected  # the registry has the modules that use this one

    found = detected(payload)
    is_one = len(found) == 1 and found[0].runs is None and found[0].name not in _NO_PAYLOADS
    return found[0] if is_one else None


def _is_messages(payload: Any) -> bool:
    """Whether a payload can be nothing but messages, whoever recorded it."""
    if isinstance(payload, Mapping):
        return any(_is_messages(payload.get(key)) for key in _HOLDERS)
    if not isinstance(payload, list) or not payload:
        return False
    return all(isinstance(item, Mapping) and isinstance(item.get("role"), str) for item in payload)
