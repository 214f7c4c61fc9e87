"""What an agent did, in the forms that `evaluate` takes: a trace, call mappings, or tool calls."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NoReturn

from msgspec import UNSET
from msgspec.structs import replace

from tracewitness.display import nearest_name, show
from tracewitness.errors import UsageError, path_text
from tracewitness.matching import json_value
from tracewitness.trace import LiveTrace, Record, ToolCall, Trace

__all__ = ["as_trace"]

_FIELDS: Final = frozenset({"tool", "args", "result", "error", "id"})
_PLAIN_FIELDS: Final = frozenset({"tool", "args"})
#: What says nothing of arguments, result or failure. It is kept as the call's metadata, and checked by nothing.
_PASSIVE: Final = frozenset(
    {
        "agent",
        "duration",
        "duration_ms",
        "ended_at",
        "index",
        "latency",
        "latency_ms",
        "metadata",
        "model",
        "span_id",
        "started_at",
        "step",
        "timestamp",
        "timestamps",
        "trace_id",
        "turn",
        "type",
    }
)
_SAME_AS: Final = {
    "tool": ("name", "call", "function", "tool_name", "function_name"),
    "args": (
        *("arguments", "parameters", "params", "input", "inputs", "kwargs", "tool_input", "tool_args", "raw_args"),
        *("payload", "data", "body", "options", "query", "request"),
    ),
    "result": ("output", "outputs", "response", "returns", "return_value", "tool_output", "content"),
    "error": ("is_error", "error_message", "error_type", "exception", "failed", "status", "success", "ok"),
    "id": ("call_id", "tool_call_id"),
}
_OTHER_WORDS: Final = {word.replace("_", ""): field for field, words in _SAME_AS.items() for word in words}


def as_trace(actual: object) -> Trace:
    """Return what an agent did as a trace.

    Arguments:
        actual: a `Trace`; or a list or tuple of the calls made, each a mapping ``{tool, args?, result?, error?, id?}``
            or a `ToolCall`. An empty list says that no call was made. An ``error`` that is neither null nor false, an
            empty text too, marks the call as failed. Beside these there may be agent, duration, duration_ms, ended_at,
            index, latency, latency_ms, metadata, model, span_id, started_at, step, timestamp, timestamps, trace_id,
            turn and type, which are kept as the call's metadata. Any other key is refused: what stands under it could
            be the arguments, and a call without these would keep bans that it breaks.

    Raises:
        UsageError: it is no such thing; it says where.

    >>> as_trace([{"tool": "search", "args": {"q": "lamp"}, "result": ["L-1"]}]).calls[0].result
    ['L-1']
    """
    if isinstance(actual, Trace):
        return actual
    if isinstance(actual, LiveTrace):
        return actual.trace
    if not isinstance(actual, (list, tuple)):  # of what is used up by reading, nothing might be left to be seen
        raise UsageError(
            f"actual is a Trace or a list of calls such as {{'tool': 'search'}}, not {show(actual)}; "
            "read(…) makes a Trace of a recording"
        )
    records: list[Record] = []
    for index, item in enumerate(actual):
        if item.__class__ is dict or isinstance(item, Mapping):
            _add_mapping(records, item, index)
        elif isinstance(item, ToolCall):
            _add_call(records, item, index)
        else:
            _refuse(f"a call is a mapping {{tool, args?, result?, error?, id?}} or a ToolCall, not {show(item)}", index)
    return Trace(records)


def _refuse(problem: str, index: int) -> NoReturn:
    raise UsageError(f"{problem} (at {path_text(('actual', index))})")


def _add_mapping(records: list[Record], item: Mapping[Any, Any], index: int) -> None:
    if item.keys() <= _PLAIN_FIELDS:  # by far the most frequent
        tool, args = item.get("tool"), item.get("args", {})
        if tool.__class__ is str and tool and args.__class__ is dict:
            records.append(Record(call=tool, args=args))
            return
    metadata = None if item.keys() <= _FIELDS else _metadata(item, index)
    tool, call_id = item.get("tool"), item.get("id")
    if not isinstance(tool, str) or not tool:
        _refuse(f"tool is a tool's name, not {show(tool)}", index)
    if not isinstance(call_id, (str, int, type(None))):
        _refuse(f"id is a text or a whole number, not {show(call_id)}", index)
    error = item.get("error")
    has_failed = error is not None and error is not False
    if not has_failed and "result" not in item:
        records.append(_call_record(tool, item.get("args"), call_id, metadata))
        return
    # A result is paired by the call's id, so that it can't go to an earlier call of that name.
    call_id = call_id if call_id or call_id == 0 else index
    records.append(_call_record(tool, item.get("args"), call_id, metadata))
    payload = item.get("result", error)
    records.append(Record(result=payload, of=tool, id=call_id, is_error=True if has_failed else UNSET))


def _call_record(tool: str, args: Any, call_id: str | int | None, metadata: dict[str, Any] | None) -> Record:
    own_id = UNSET if call_id is None else call_id
    beside = UNSET if metadata is None else metadata
    if isinstance(args, str) and args:
        decoded = json_value(args) if args.lstrip()[:1] == "{" else args
        if isinstance(decoded, str):
            return Record(call=tool, raw_args=args, id=own_id, metadata=beside)
        args = decoded
    return Record(call=tool, args=UNSET if args is None else args, id=own_id, metadata=beside)


def _metadata(item: Mapping[Any, Any], index: int) -> dict[str, Any]:
    """Return what stands beside the fields; a key that is not known to say nothing of them is refused."""
    beside = {key: value for key, value in item.items() if key not in _FIELDS}
    for key in beside:
        if key not in _PASSIVE:
            _refuse(_unknown_key(key, item), index)
    return beside


def _unknown_key(key: object, item: Mapping[Any, Any]) -> str:
    """Say that a key is not known, and which one was meant."""
    near = _OTHER_WORDS.get(key.lower().replace("_", "").replace("-", "")) if isinstance(key, str) else None
    near = near or nearest_name(str(key), [field for field in sorted(_FIELDS) if field not in item])
    meant = f"{near} is meant" if near else "a call has tool, args, result, error and id; put others under metadata"
    return f"unknown key {show(key, 40)}; {meant}"


def _add_call(records: list[Record], call: ToolCall, index: int) -> None:
    answer = call.answer
    if answer is None:
        records.append(call.record)
        return
    call_id = call.id if call.id or call.id == 0 else index
    records.append(replace(call.record, id=call_id))
    records.append(replace(answer.record, id=call_id))
