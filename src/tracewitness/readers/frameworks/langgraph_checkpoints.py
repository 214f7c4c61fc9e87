"""Read the threads of a database of LangGraph's checkpoints: each is one run, with the messages of all its states."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from tracewitness.readers.encodings.sqlite_checkpoints import THREADS
from tracewitness.readers.frameworks import langchain
from tracewitness.readers.reader import Reader
from tracewitness.readers.recording import refuse, word
from tracewitness.trace import Trace

__all__ = ["READER", "SHAPE", "detects", "read", "runs"]

SHAPE: Final = "a database of LangGraph's checkpoints has threads, each with a thread_id and the values of its states"


def detects(document: Any) -> bool:
    """Whether decoded data is of this format."""
    threads = document.get(THREADS) if isinstance(document, Mapping) else None
    return isinstance(threads, list) and bool(threads) and all(map(_is_thread, threads))


def _is_thread(item: Any) -> bool:
    return isinstance(item, Mapping) and {"thread_id", "values"} <= item.keys()


def runs(document: Any) -> list[Any]:
    """Return the threads of a document, or the document itself where it is one."""
    threads: list[Any] = document[THREADS] if detects(document) else [document]
    return threads


def read(document: Any, name: str = "") -> Trace:
    """Read a thread.

    Raises:
        ReadError: it is none, or has no messages.

    >>> read({"thread_id": "t1", "values": [{"messages": [{"type": "human", "content": "Hello."}]}]})
    <Trace t1: 1 events>
    """
    if not _is_thread(document):
        raise refuse(document, SHAPE)
    return langchain.read({"values": document["values"]}, word(document, "thread_id") or name)


READER: Final = Reader(
    "langgraph-checkpoints", detects=detects, read=read, shape=SHAPE, keys=frozenset({THREADS}), runs=runs
)
