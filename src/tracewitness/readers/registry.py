"""The formats that are read. A new one is a module beside this one and a line in `READERS`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from tracewitness.display import nearest_name, show
from tracewitness.errors import ReadError, UsageError
from tracewitness.readers import anthropic_messages, gemini, openai_chat, openai_responses
from tracewitness.readers.neutral import decode_plainly, is_neutral, read_neutral, refuse_two_accounts
from tracewitness.readers.objects import plain
from tracewitness.readers.text_trace import is_simulation_result, read_text_trace
from tracewitness.trace import Record, Trace

__all__ = ["READERS", "Reader", "read", "register_reader", "trace_of"]

_EVENT_FIELDS = frozenset(Record.__struct_fields__)
_EVENT_KINDS = frozenset(Record.__struct_fields__[:8])


def _never(_: Any) -> bool:
    return False


class Reader(NamedTuple):
    """A format.

    Attributes:
        name: what it is called.
        detects: whether decoded data is of this format.
        read: makes a trace of it; its keyword ``name`` is the run's name where the data has none.
        shape: what its documents look like, as a sentence.
        keys: the keys that its documents have on top; they tell which format was probably meant.
        yields: whether data that it detects would rather be of another format, where one detects it.
    """

    name: str
    detects: Callable[[Any], bool]
    read: Callable[..., Trace]
    shape: str = ""
    keys: frozenset[str] = frozenset()
    yields: Callable[[Any], bool] = _never


def _is_neutral(data: Any) -> bool:
    """Whether data is neutral: has events, or is a list with at least one event, or an empty one."""
    if isinstance(data, list):
        return not data or any(map(_is_event, data))
    return is_neutral(data)


def _is_event(item: Any) -> bool:
    return isinstance(item, Record) or (isinstance(item, Mapping) and not _EVENT_KINDS.isdisjoint(item))


def _is_listed_elsewhere(data: Any) -> bool:
    """Whether no item of a list is an event without any oddity: a key such as ``user`` stands in other formats too."""
    return isinstance(data, list) and not any(_is_event(item) and _is_without_oddity(item) for item in data)


def _is_without_oddity(event: Any) -> bool:
    return isinstance(event, Record) or _EVENT_FIELDS.issuperset(event)


def _is_bare_result(data: Any) -> bool:
    """Whether a simulation's result has nothing that others have not: an answer may have an ``error`` too."""
    return "detailed_trace" not in data and "expectation_details" not in data


READERS: list[Reader] = [
    Reader(
        "neutral", _is_neutral, read_neutral, "a run has events", frozenset({"events", "name"}), _is_listed_elsewhere
    ),
    Reader(
        "simulation result",
        is_simulation_result,
        read_text_trace,
        "a simulation's result has a detailed_trace",
        frozenset({"detailed_trace", "expectation_details", "session_id", "turn_traces"}),
        _is_bare_result,
    ),
    Reader(
        "openai-chat",
        openai_chat.detects,
        openai_chat.read,
        openai_chat.SHAPE,
        frozenset({"choices", "messages", "role", "content", "tool_calls", "tool_call_id"}),
    ),
    Reader(
        "openai-responses",
        openai_responses.detects,
        openai_responses.read,
        openai_responses.SHAPE,
        frozenset({"output", "input", "object", "type", "call_id", "arguments", "instructions"}),
    ),
    Reader(
        "anthropic-messages",
        anthropic_messages.detects,
        anthropic_messages.read,
        anthropic_messages.SHAPE,
        frozenset({"role", "content", "stop_reason", "type", "messages", "system", "input"}),
    ),
    Reader(
        "gemini",
        gemini.detects,
        gemini.read,
        gemini.SHAPE,
        frozenset({"candidates", "contents", "parts", "role", "promptFeedback", "usageMetadata", "modelVersion"}),
    ),
]


def register_reader(reader: Reader) -> Reader:
    """Add a format.

    Raises:
        UsageError: there is one of that name.
    """
    if any(known.name == reader.name for known in READERS):
        raise UsageError(f"there is a reader {show(reader.name)} already; give yours another name")
    READERS.append(reader)
    return reader


def read(source: Any, format: str | None = None) -> Trace:  # noqa: A002 - the word that users write
    """Read what was recorded, in whatever format it is in.

    Arguments:
        source: a `Trace`, which is returned as it is; JSON as text or bytes; a mapping; a list of messages and
            responses of one format; an SDK's response, or a list with some.
        format: the name of the format, where several fit or none is recognised.

    Raises:
        ReadError: it is in no format, in several, or not in the one that was named.

    >>> read('{"choices": [{"message": {"role": "assistant", "content": "Hello."}}]}').to_events()
    [{'agent': 'Hello.'}]
    """
    if isinstance(source, Trace):
        return source
    reader = None if format is None else _named(format)
    if isinstance(source, (str, bytes, bytearray, memoryview)):
        source = decode_plainly(_encoded(source))
    else:
        source = plain(source)
    if reader is None:
        return trace_of(source)
    trace: Trace = reader.read(source, name="")
    return trace


def _encoded(source: str | bytes | bytearray | memoryview) -> bytes:
    if not isinstance(source, str):
        return bytes(source)
    try:
        return source.encode()
    except UnicodeEncodeError as error:
        raise ReadError(f"not Unicode: {error.reason} at character {error.start}") from error


def _named(name: str) -> Reader:
    known = {reader.name: reader for reader in READERS}
    if name in known:
        return known[name]
    near = nearest_name(name, known) if isinstance(name, str) else None
    meant = f"; {near} was meant" if near else ""
    raise ReadError(f"there is no format {show(name)}{meant}; the formats are {', '.join(known)}")


def trace_of(data: Any, name: str = "") -> Trace:
    """Read decoded data in the format that it is in.

    Arguments:
        data: a row of a file, decoded.
        name: the run's name where the data has none.

    Raises:
        ReadError: it is in none of the formats, or in several.

    >>> trace_of({"events": [{"call": "search"}]}, "order-1")
    <Trace order-1: 1 events>
    """
    if isinstance(data, Mapping):
        refuse_two_accounts(data)
    found = [reader for reader in READERS if reader.detects(data)]
    if len(found) > 1:
        found = [reader for reader in found if not reader.yields(data)] or found[:1]
    if len(found) == 1:
        trace: Trace = found[0].read(data, name=name)
        return trace
    raise ReadError(_why_several(found) if found else _why_none(data))


def _why_several(found: list[Reader]) -> str:
    names = " and ".join(reader.name for reader in found)
    return f"it is in several formats, {names}; name the one that is meant, or read them apart"


def _why_none(data: Any) -> str:
    names = ", ".join(reader.name for reader in READERS)
    keys = _keys_of(data)
    shown = show(sorted(keys)) if keys else show(data)
    nearest = max(READERS, key=lambda reader: len(reader.keys & keys))
    shared = sorted(nearest.keys & keys)
    near = f"; the nearest is {nearest.name}, by {', '.join(shared)}, but {_why_not(nearest, data)}" if shared else ""
    return f"a run has events, or is in one of the formats {names}; this has {shown}{near}"


def _why_not(reader: Reader, data: Any) -> str:
    """Say what a reader finds odd in data that it does not know for its own."""
    try:
        problems = reader.read(data, name="").problems
    except ReadError as error:
        return str(error)
    return str(problems[0]) if problems else reader.shape


def _keys_of(data: Any) -> frozenset[str]:
    """Return the keys of a mapping, or of the mappings of a list."""
    items = data if isinstance(data, list) else [data]
    return frozenset(key for item in items if isinstance(item, Mapping) for key in item if isinstance(key, str))
