"""Read results of tau-bench: rows of a task, its reward, and a history in OpenAI's form under ``traj``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from tracewitness.display import show
from tracewitness.readers.providers.openai_chat import read_item
from tracewitness.readers.reader import Reader
from tracewitness.readers.recording import Recording, each_mapping, refuse
from tracewitness.trace import Trace

__all__ = ["READER", "read"]

SHAPE: Final = "a result of tau-bench has the messages of its run in traj, beside task_id or reward"

_BESIDE: Final = frozenset({"task_id", "reward"})


def read(document: Any, name: str = "") -> Trace:
    """Read the result of one run. Its name is the task's, so that all trials of a task are runs of one case.

    Raises:
        ReadError: it is nothing of the kind.

    >>> read({"task_id": 7, "trial": 0, "reward": 1.0, "traj": [{"role": "user", "content": "hi"}]})
    <Trace 7: 1 events>
    """
    if not isinstance(document, Mapping) or "traj" not in document:
        raise refuse(document, SHAPE)
    recording = Recording()
    for message, path in each_mapping(recording, document["traj"], ("traj",), "a message"):
        read_item(recording, message, path)
    recording.failure = _failure(document.get("info"))
    return recording.trace(_name_of(document) or name)


def _failure(info: Any) -> str | None:
    """Return what ended a run that could not be completed; its history is empty."""
    error = info.get("error") if isinstance(info, Mapping) else None
    return f"the run failed: {show(error)}" if error else None


def _name_of(row: Mapping[str, Any]) -> str:
    task = row.get("task_id")
    return str(task) if isinstance(task, (str, int)) else ""


def _detects(document: Any) -> bool:
    if isinstance(document, list):
        return bool(document) and all(map(_is_row, document))
    return _is_row(document)


def _is_row(item: Any) -> bool:
    return isinstance(item, Mapping) and isinstance(item.get("traj"), list) and not _BESIDE.isdisjoint(item)


def _runs(document: Any) -> list[Any]:
    return document if isinstance(document, list) else [document]


READER: Final = Reader(
    "tau-bench",
    detects=_detects,
    read=read,
    shape=SHAPE,
    keys=frozenset({"traj"}),
    runs=_runs,
)
