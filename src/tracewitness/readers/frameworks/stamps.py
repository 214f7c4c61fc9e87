"""Add to events that a reader of a provider's format made what only the framework knows: whose they are, and when."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from msgspec import UNSET

from tracewitness.readers.recording import Recording
from tracewitness.trace import Record

__all__ = ["stamp"]


def _nothing(_: Record) -> Mapping[str, Any]:
    return {}


def stamp(
    recording: Recording,
    begin: int,
    *,
    by: Any = None,
    at: Any = None,
    metadata: Callable[[Record], Mapping[str, Any]] = _nothing,
) -> None:
    """Say of all events from ``begin`` on what they don't say themselves.

    Arguments:
        by: the agent, for calls, transfers and what an agent says.
        at: when they happened, as of `Recording.call`.
        metadata: what stands beside a call, or beside the end of the session.
    """
    has_time = isinstance(at, (str, int, float)) and not isinstance(at, bool) and at != ""
    records = recording.records
    for position in range(begin, len(records)):
        record = records[position]
        changes: dict[str, Any] = {}
        if isinstance(by, str) and by and record.by is UNSET and _is_act(record):
            changes["by"] = by
        if has_time and record.at is UNSET:
            changes["at"] = at
        beside = {} if record.call is record.end is UNSET else metadata(record)
        if beside:
            changes["metadata"] = {**(record.metadata or {}), **beside}
        if changes:
            records[position] = msgspec.structs.replace(record, **changes)


def _is_act(record: Record) -> bool:
    return not (record.call is record.agent is record.transfer is UNSET)
