"""The published form of neutral JSON: its version, and its JSON Schema, which is made from the fields of `Record`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import msgspec

from tracewitness.display import show
from tracewitness.errors import ReadError
from tracewitness.trace import Record

__all__ = ["SCHEMA_ID", "TRACE_VERSION", "VERSION_KEYS", "refuse_unknown_version", "trace_schema"]

#: The major version of neutral JSON. It grows when a reader of the old form could be misled by the new one.
TRACE_VERSION: Final = 1
#: The name of the schema; it is no address.
SCHEMA_ID: Final = f"urn:tracewitness:trace:{TRACE_VERSION}"
#: Where a document may say which version it is in.
VERSION_KEYS: Final = ("version", "schema_version")

JsonSchema = dict[str, Any]

_WORDS: Final = {
    "call": "A call: the tool's name.",
    "result": "What a call returned.",
    "raw_result": "What a call returned, where it could not be decoded.",
    "user": "What the user said; it begins a turn.",
    "agent": "What the agent said.",
    "system": "What a system message said.",
    "transfer": "The agent that the session was handed over to.",
    "end": "The session ended without a tool saying so.",
    "args": "The arguments, an object; nothing, null or an empty text for none. Anything else is malformed.",
    "raw_args": "The arguments' text, where it could not be decoded.",
    "of": "The tool whose call is answered, where there is no id.",
    "id": "The call's id. A result without id and name answers the earliest call that nothing has answered.",
    "is_error": "Whether the recording marks the result as an error.",
    "by": "The agent that did it.",
    "at": "When it began: ISO 8601 text or seconds since 1970.",
    "until": "When it ended: ISO 8601 text or seconds since 1970.",
    "metadata": "What stands beside the arguments or the payload.",
}
_EVERYWHERE: Final = ("id", "by", "at", "until", "metadata")
_BESIDE_CALL: Final = ("args", "raw_args", *_EVERYWHERE)
# To be read, other events need not be results: these fields say nothing there.
_BESIDE_OTHERS: Final = ("of", "is_error", *_EVERYWHERE)
_KINDS: Final = Record.__struct_fields__[:8]
_ABSENT: Final[JsonSchema] = {"enum": [None, ""]}


def refuse_unknown_version(version: Any) -> None:
    """Refuse a document in a version that is not known: what it says may mean something else.

    Arguments:
        version: what stands at one of `VERSION_KEYS`; None where nothing does.

    Raises:
        ReadError: it is another major version, or none at all.

    >>> refuse_unknown_version("1.4")
    """
    if version is None or (type(version) is int and version == TRACE_VERSION):
        return
    if isinstance(version, str) and version.partition(".")[0] == str(TRACE_VERSION):
        return
    raise ReadError(f"a trace in version {show(version)}; version {TRACE_VERSION} is read")


def trace_schema() -> JsonSchema:
    """Return the JSON Schema (draft 2020-12) of a trace in neutral JSON; the caller may change it.

    What is valid has no event that is unreadable, and the other way round. Valid events may still be odd, such as a
    result of a call that was never made: reading them finds that.

    Example::

        json.dumps(trace_schema(), indent=2)
    """
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": SCHEMA_ID,
        "title": "Trace of tracewitness",
        "description": "What an agent did in one session, in order: a mapping with events, or the events alone.",
        "anyOf": [{"$ref": "#/$defs/trace"}, {"$ref": "#/$defs/events"}],
        "$defs": {
            "trace": _trace(),
            "events": {"type": "array", "items": {"$ref": "#/$defs/event"}},
            "event": {"anyOf": [{"$ref": f"#/$defs/{kind}"} for kind in _KINDS]},
            **_events(),
        },
    }


def _trace() -> JsonSchema:
    version = {
        "description": f"The version of this form: {TRACE_VERSION}, or a text that begins with it and a dot.",
        "anyOf": [{"enum": [TRACE_VERSION, None]}, {"type": "string", "pattern": rf"^{TRACE_VERSION}(\.|$)"}],
    }
    return {
        "type": "object",
        "required": ["events"],
        "properties": {
            **dict.fromkeys(VERSION_KEYS, version),
            "name": {"description": "The run's name; it picks the case of an eval file."},
            "events": {"$ref": "#/$defs/events"},
            "error": {"description": "What ended the run, where it failed; then it is no evidence."},
            "problems": _problems(),
            "results": False,
            "detailed_trace": False,
        },
    }


def _problems() -> JsonSchema:
    return {
        "description": "What a reader could not make sense of; it breaks the checks that it may concern.",
        "type": ["array", "null"],
        "items": {
            "type": "object",
            "required": ["reason"],
            "properties": {
                "reason": {"description": "What is wrong.", "type": "string"},
                "position": {"description": "The event's position, from 0.", "type": ["integer", "null"], "minimum": 0},
                "place": {"description": "Where in the source.", "type": "string"},
                "hides_call": {"description": "Whether a call may be hidden; by default it may.", "type": "boolean"},
                "cut": {"description": "Whether the recording breaks off here, too early.", "type": "boolean"},
            },
        },
    }


def _events() -> dict[str, JsonSchema]:
    """Return the schema of each kind of event."""
    _, components = msgspec.json.schema_components([Record], ref_template="{name}")
    fields: dict[str, JsonSchema] = components["Record"]["properties"]
    described = {field: {"description": _WORDS[field], **fields[field]} for field in Record.__struct_fields__}
    described["end"]["const"] = True
    events = {kind: _event(kind, described, _BESIDE_CALL if kind == "call" else _BESIDE_OTHERS) for kind in _KINDS}
    twice = {"args": {"not": _ABSENT}, "raw_args": {"not": _ABSENT}}
    events["call"]["not"] = {"required": list(twice), "properties": twice}
    return events


def _event(kind: str, fields: dict[str, JsonSchema], beside: Iterable[str]) -> JsonSchema:
    return {
        "type": "object",
        "required": [kind],
        "properties": {field: fields[field] for field in (kind, *beside)},
        "additionalProperties": False,
    }
