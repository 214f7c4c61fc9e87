"""Say whose the events are that a reader of a provider's format added, where the framework knows and they don't."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import UNSET

from tracewitness.readers.recording import Recording

__all__ = ["attribute"]


def attribute(recording: Recording, begin: int, agent: Any) -> None:
    """Name the agent in the calls and the agent's messages from ``begin`` on that name none."""
    if not isinstance(agent, str) or not agent:
        return
    records = recording.records
    for position in range(begin, len(records)):
        record = records[position]
        if record.by is UNSET and (record.call is not UNSET or record.agent is not UNSET):
            records[position] = msgspec.structs.replace(record, by=agent)
