"""Read neutral JSON: ``{"name": …, "events": [...]}``, or the list of events alone."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Container, Mapping
from typing import Any, Final, Generic, TypeVar

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from tracewitness.display import printable, show
from tracewitness.errors import ReadError
from tracewitness.readers.json_text import Decoded, decode_text, holds_raw, keys_are_unique, raw_text
from tracewitness.readers.neutral_schema import VERSION_KEYS, refuse_unknown_version
from tracewitness.readers.reader import Reader
from tracewitness.trace import FrequentRecord, Problem, Record, Trace

__all__ = [
    "READER",
    "UnusableError",
    "decode_plainly",
    "decode_trace",
    "is_neutral",
    "read_neutral",
    "refuse_two_accounts",
    "usable",
]

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_ACCOUNTS = ("events", "results", "detailed_trace")
_EVENT_FIELDS = frozenset(Record.__struct_fields__)
# A run of so many digits as Python does not convert covers at least ten of the bytes that stand so far apart.
_MOST_DIGITS: Final = sys.int_info.default_max_str_digits
_STRIDE: Final = _MOST_DIGITS // 10
_ten_digits = re.compile(rb"[0-9][0-9]{9}").search


class _UndecodedRecord(Record, frozen=True, gc=False, forbid_unknown_fields=True):
    """A record whose result stays JSON, as that of a `FrequentRecord` does."""

    result: Raw | UnsetType = UNSET


_Event = TypeVar("_Event", FrequentRecord, _UndecodedRecord)


class _Document(Struct, Generic[_Event], gc=False):
    """A trace as most of them are written: every event as it should be. Other keys are skipped.

    What follows the error is not read: it is here to be refused.
    """

    events: list[_Event]
    name: str = ""
    error: Any = None
    results: Raw | UnsetType = UNSET
    detailed_trace: Raw | UnsetType = UNSET
    version: Any = None
    schema_version: Any = None
    problems: Any = None


_decode_frequent = msgspec.json.Decoder(_Document[FrequentRecord]).decode
_decode_document = msgspec.json.Decoder(_Document[_UndecodedRecord]).decode
#: Most documents whose events have other fields as well show it in their last event, so that no time is lost on them.
_LAST_BYTES: Final = 100
_other_field = re.compile(rb'"(?:end|transfer|by|at|until|metadata)"').search
_decode_plain = msgspec.json.Decoder().decode


class UnusableError(ReadError):
    """Data that was decoded and can't be used.

    Attributes:
        data: what was decoded, for what can be told of it, such as its name.
    """

    def __init__(self, problem: str, data: Any) -> None:
        super().__init__(problem)
        self.data = data
        self.args = (problem, data)


def is_neutral(document: Any) -> bool:
    """Whether decoded data is meant as a trace in neutral form."""
    return isinstance(document, list) or (isinstance(document, Mapping) and "events" in document)


def refuse_two_accounts(keys: Container[Any]) -> None:
    """Refuse a document that tells twice what was done: one of the two would be left aside in silence.

    Raises:
        ReadError: two of ``events``, ``results`` and ``detailed_trace`` are among the keys.
    """
    found = [key for key in _ACCOUNTS if key in keys]
    if len(found) > 1:
        raise ReadError(f"both {found[0]} and {found[1]}, which is ambiguous; write them as rows of their own")


def read_neutral(document: Any, *, name: str = "") -> Trace:
    """Read a decoded document.

    Arguments:
        document: a mapping with ``events``, and perhaps ``name`` and ``error``; or the list of events alone.
        name: the run's name where the document has none.

    Raises:
        ReadError: it has no events, or another account of the run beside them, or it is in an unknown version.

    >>> read_neutral({"name": "order-1", "events": [{"call": "create_order"}]})
    <Trace order-1: 1 events>
    """
    if isinstance(document, list):
        return Trace.from_events(document, name=name)
    if not isinstance(document, Mapping):
        raise ReadError(f"a trace is a mapping with events, not {show(document)}")
    if "events" not in document:
        raise ReadError(f"a trace has the key events; this has {show(list(document))}")
    refuse_two_accounts(document)
    for key in VERSION_KEYS:
        refuse_unknown_version(document.get(key))
    own_name = document.get("name")
    trace = Trace.from_events(
        document["events"],
        name=own_name if isinstance(own_name, str) and own_name else name,
        error=document.get("error"),
    )
    problems = document.get("problems")
    return trace if problems in (None, []) else _with_problems(trace, problems)


def _with_problems(trace: Trace, written: Any) -> Trace:
    """Return a trace with the problems that were written down with it.

    Those of its events are found again when it is read; what was written of them is where they stood.
    """
    found = {(problem.reason, problem.position, problem.hides_call) for problem in trace.problems}
    problems: list[Problem] = []
    places: dict[int, str] = {}
    for index, item in enumerate(written if isinstance(written, list) else [written]):
        problem = _problem(item, f"$.problems[{index}]", len(trace))
        if (problem.reason, problem.position, problem.hides_call) not in found:
            problems.append(problem)
        elif problem.position is not None:
            places[problem.position] = problem.place
    return Trace(
        trace._records,
        name=trace.name,
        problems=problems,
        no_evidence=trace.no_evidence,
        unreadable=trace.unreadable,
        place_of=(lambda position: places.get(position, "")) if places else None,
    )


def _problem(item: Any, place: str, events: int) -> Problem:
    """Return a problem as it was written; one that can't be read is a problem as well."""
    try:
        problem = msgspec.convert(item, Problem)
    except (msgspec.ValidationError, RecursionError) as error:
        return Problem(f"a problem was written down that can't be read: {error}: {show(item)}", place=place)
    if problem.position is not None and not 0 <= problem.position < events:
        return Problem(f"a problem of event {problem.position}, which is not there: {problem.reason}", place=place)
    return problem


def decode_trace(data: bytes, *, test_keys: bool = False) -> Trace:
    """Decode one JSON document that is a trace in neutral form.

    An event that can't be understood is a problem of the trace.

    A key that stands twice in one object is ambiguous. Quick decoders keep the last one and say nothing, and
    no test for that is quick beside them, so here it is made on request only: without it *no* such key is
    found in a document whose events are all well formed, at whatever depth. Runs from files are always tested.

    Arguments:
        data: UTF-8, with or without a byte order mark.
        test_keys: whether to make sure that no key stands twice, at any depth. It costs several times as
            much; leave it out only for data whose writer can't write such keys.

    Raises:
        ReadError: it is no JSON, or no trace, or ambiguous, or in an unknown version.

    >>> decode_trace(b'{"events": [{"call": "search", "args": {"q": "lamp"}}]}').calls
    (<ToolCall 0: search({'q': 'lamp'})>,)
    """
    if not test_keys:
        trace = _decode_quickly(data)
        if trace is not None:
            return trace
    return read_neutral(decode_plainly(data))


def _decode_quickly(data: bytes) -> Trace | None:
    """Decode one JSON document to a trace at once, or return None where it is not one without any oddity."""
    if len(data) > _MOST_DIGITS and _ten_digits(data[::_STRIDE]) is not None:
        return None  # a whole number may be too long to be converted: a result that stays JSON would hide that
    try:
        if not data.isascii():
            data.decode("utf-8")  # what stays JSON is not tested for it by the decoder
        document = _decode_events(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    if not (document.results is document.detailed_trace is UNSET and document.problems in (None, [])):
        return None  # two accounts of one run, or problems that a reader of another format found
    if not (document.version is document.schema_version is None):
        refuse_unknown_version(document.version)
        refuse_unknown_version(document.schema_version)
    if document.events and not document.error:
        return Trace(document.events, name=document.name)
    return Trace.from_events(document.events, name=document.name, error=document.error)


def _decode_events(data: bytes) -> _Document[Any]:
    """Decode a document; to frequent records where all of its events are such."""
    if _other_field(data, len(data) - _LAST_BYTES) is None:
        try:
            return _decode_frequent(data)
        except msgspec.ValidationError:
            pass  # an event has another field, or is none
    return _decode_document(data)


def decode_plainly(data: bytes) -> Any:
    """Decode one JSON document to plain data; no key in it stands twice.

    JSON is read as widely as it is written: also ``NaN``, ``1e400`` and halves of surrogate pairs.

    Raises:
        ReadError: it is no JSON in UTF-8, or nested too deeply, or ambiguous.
    """
    try:
        value = _decode_plain(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return _decode_leniently(data)
    return value if keys_are_unique(data, value) else _decode_leniently(data)


def _decode_leniently(data: bytes) -> Any:
    try:
        return usable(decode_text(data.removeprefix(_BYTE_ORDER_MARK).decode("utf-8")))
    except UnicodeDecodeError as error:
        raise ReadError(f"not UTF-8: {error.reason} at byte {error.start}") from error
    except RecursionError as error:
        raise ReadError("nested too deeply to be read") from error
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise ReadError(f"not JSON: {printable(error.msg.removesuffix(' at'))} at {place}") from error


def usable(decoded: Decoded) -> Any:
    """Return the value that was decoded, made so that it can be used.

    An event whose result or arguments hold a number that is too long keeps them as text: they are there, and
    can't be read, which is a problem of the trace and not of the whole file.

    Raises:
        UnusableError: a key stands twice, or such a number stands elsewhere.
    """
    value = decoded.value
    if decoded.repeated_key is not None:
        problem = f"the key {show(decoded.repeated_key)} stands twice in one object, which is ambiguous"
        raise UnusableError(problem, value)
    if not decoded.has_raw:
        return value
    value = _with_raw_texts(value)
    if holds_raw(value):
        raise UnusableError(f"a number that can't be read: it has more than {_MOST_DIGITS} digits", value)
    return value


def _with_raw_texts(value: Any) -> Any:
    """Keep what can't be read in events as text, wherever events stand: in a list, in a trace, in rows."""
    if isinstance(value, list):
        return [_with_raw_texts(item) for item in value]
    if not isinstance(value, Mapping):
        return value
    if "events" in value:
        return {**value, "events": _with_raw_texts(value["events"])}
    return _event_with_raw_texts(value) if _EVENT_FIELDS.issuperset(value) else value


def _event_with_raw_texts(event: Mapping[str, Any]) -> dict[str, Any]:
    kept: dict[str, Any] = {}
    for key, value in event.items():
        raw_key = f"raw_{key}"
        text = raw_text(value) if key in ("args", "result") and raw_key not in event and holds_raw(value) else None
        kept[key if text is None else raw_key] = value if text is None else text
    return kept


# ----------------------------------------------------------------------------------------------------------- detection

_EVENT_KINDS = frozenset(Record.__struct_fields__[:8])
_OTHER_KINDS = _EVENT_KINDS - {"result", "raw_result"}
_RESULT_KEYS = frozenset({"result", "raw_result"})
_WORDS = _EVENT_KINDS - {"result"}


def _detects(document: Any) -> bool:
    """Whether data has events, of which one at least is as it should be, or none at all.

    Keys such as ``result`` and ``events`` stand in data of any kind, so a list of results alone says nothing.
    """
    if isinstance(document, list):
        return not document or any(
            _is_event(event) and _is_without_oddity(event) and _is_more_than_result(event) for event in document
        )
    if not is_neutral(document):
        return False
    events = document["events"]
    return not isinstance(events, list) or not events or any(_is_event(e) and _is_without_oddity(e) for e in events)


def _is_more_than_result(event: Any) -> bool:
    return isinstance(event, Record) or not _OTHER_KINDS.isdisjoint(event)


def _is_event(item: Any) -> bool:
    return isinstance(item, Record) or (isinstance(item, Mapping) and not _EVENT_KINDS.isdisjoint(item))


def _is_listed_elsewhere(document: Any) -> bool:
    """Whether most events have an oddity: keys such as ``user`` and ``result`` stand in other formats too.

    So do nodes of a graph which are called so: nothing that is said or called is a mapping. What came back may be one,
    but nothing comes back where nothing was called.
    """
    events = document.get("events") if isinstance(document, Mapping) else document
    if not isinstance(events, list):
        return False
    usual = [item for item in events if _is_event(item) and _is_without_oddity(item)]
    if not any(isinstance(item, Record) or _RESULT_KEYS.isdisjoint(item) for item in usual):
        usual = []
    return len(usual) * 2 < max(len(events), 1)


def _is_without_oddity(event: Any) -> bool:
    if isinstance(event, Record):
        return True
    return _EVENT_FIELDS.issuperset(event) and all(isinstance(event[key], (str, bool)) for key in _WORDS & event.keys())


READER: Final = Reader(
    "neutral",
    detects=_detects,
    read=read_neutral,
    shape="a run has events",
    keys=_EVENT_KINDS | {"events"},
    yields=_is_listed_elsewhere,
)
