"""What an agent did, in the forms that `evaluate` takes: a trace, call mappings, or tool calls."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NoReturn

from msgspec import UNSET
from msgspec.structs import replace

from tracewitness.display import nearest_name, show
from tracewitness.errors import UsageError, path_text
from tracewitness.matching import json_value
from tracewitness.trace import Record, ToolCall, Trace

from .expected import is_listing

__all__ = ["as_trace"]

_FIELDS: Final = frozenset({"tool", "args", "result", "error", "id"})
_PLAIN_FIELDS: Final = frozenset({"tool", "args"})
_OTHER_WORDS: Final = {
    "name": "tool",
    "call": "tool",
    "function": "tool",
    "arguments": "args",
    "parameters": "args",
    "params": "args",
    "input": "args",
    "kwargs": "args",
    "output": "result",
    "response": "result",
    "is_error": "error",
    "call_id": "id",
    "tool_call_id": "id",
}
_SURELY_MEANT: Final = 85.0  # of 100: below it a key is taken for metadata of the caller's own


def as_trace(actual: object) -> Trace:
    """Return what an agent did as a trace.

    Arguments:
        actual: a `Trace`; or a list of the calls made, each a mapping ``{tool, args?, result?, error?, id?}`` or a
            `ToolCall`. An empty list says that no call was made. ``error`` marks the result as an error; other keys
            are kept as the call's metadata.

    Raises:
        UsageError: it is no such thing; it says where.

    >>> as_trace([{"tool": "search", "args": {"q": "lamp"}, "result": ["L-1"]}]).calls[0].result
    ['L-1']
    """
    if isinstance(actual, Trace):
        return actual
    if not is_listing(actual):
        raise UsageError(f"actual is a Trace or a list of calls such as {{'tool': 'search'}}, not {show(actual)}")
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
    error = item.get("error") or None
    if error is None and "result" not in item:
        records.append(_call_record(tool, item.get("args"), call_id, metadata))
        return
    # A result is paired by the call's id, so that it can't go to an earlier call of that name.
    call_id = call_id if call_id or call_id == 0 else index
    records.append(_call_record(tool, item.get("args"), call_id, metadata))
    payload = item.get("result", error)
    records.append(Record(result=payload, of=tool, id=call_id, is_error=UNSET if error is None else True))


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
    """Return what stands beside the fields; a key that another word is meant by is refused."""
    beside = {key: value for key, value in item.items() if key not in _FIELDS}
    for key in beside:
        near = _OTHER_WORDS.get(key) or nearest_name(str(key), _FIELDS, _SURELY_MEANT)
        if near:
            _refuse(f"unknown key {show(key, 40)}; {near} is meant", index)
    return {str(key): value for key, value in beside.items()}


def _add_call(records: list[Record], call: ToolCall, index: int) -> None:
    answer = call.answer
    if answer is None:
        records.append(call.record)
        return
    call_id = call.id if call.id or call.id == 0 else index
    records.append(replace(call.record, id=call_id))
    records.append(replace(answer.record, id=call_id))
