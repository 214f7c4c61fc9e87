"""Checkpoints of LangGraph as its checkpointer for SQLite saves them: a database with each state of each thread.

States are MessagePack, with extensions for objects: a class and what makes one. Of these only the data is taken; no
class is looked up, and nothing that was pickled is read.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from tracewitness.display import show
from tracewitness.errors import ReadError

if TYPE_CHECKING:
    import sqlite3

__all__ = ["THREADS", "decode", "fits"]

#: The key of the threads of a database, each with its ``thread_id`` and its ``values``.
THREADS: Final = "threads"

_MAGIC: Final = b"SQLite format 3\x00"
# Where a database says how it is written; one with a log beside it can't be opened from memory.
_VERSIONS: Final = slice(18, 20)
_WITHOUT_LOG: Final = b"\x01\x01"
# So many steps of the database's machine are enough for any that was not made to take for ever.
_MOST_STEPS: Final = 1_000_000_000
_STEPS_AT_A_TIME: Final = 1_000_000
_TABLES: Final = "SELECT name, type, sql FROM sqlite_master WHERE name IN ('checkpoints', 'writes')"
_STATES: Final = """
    SELECT thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint
    FROM checkpoints ORDER BY thread_id, checkpoint_id
"""
_WRITES: Final = """
    SELECT thread_id, checkpoint_ns, checkpoint_id, channel, type, value
    FROM writes ORDER BY thread_id, checkpoint_id, task_id, idx
"""
# Extensions that hold a class, and at which place what makes an object of it: fields, a value or several.
_OBJECTS: Final = frozenset(range(6))
_DATA: Final = 2
_SNAPSHOT: Final = 7
_DEPTH: Final = 50


def fits(head: bytes) -> bool:
    """Whether a document begins as a database does."""
    return head.startswith(_MAGIC)


def decode(data: bytes) -> Any:
    """Decode a database to its threads, each with what its states had, in order, that the states before had not.

    Raises:
        ReadError: it is broken, or has no checkpoints.
    """
    import sqlite3  # which only such a database needs

    data = data[: _VERSIONS.start] + _WITHOUT_LOG + data[_VERSIONS.stop :]
    try:
        with closing(sqlite3.connect(":memory:")) as database:
            database.deserialize(data)
            return {THREADS: list(_threads(_guarded(database)))}
    except (sqlite3.Error, AttributeError, OverflowError) as error:
        raise ReadError(f"a database that can't be read: {error}") from error


def _guarded(database: sqlite3.Connection) -> sqlite3.Connection:
    """Make sure that a database made by anybody runs nothing of its own, and not for ever.

    Raises:
        ReadError: its tables are none.
    """
    for setting in ("trusted_schema = OFF", "query_only = ON", "cell_size_check = ON"):
        database.execute(f"PRAGMA {setting}")
    steps = iter(range(_MOST_STEPS // _STEPS_AT_A_TIME))
    database.set_progress_handler(lambda: int(next(steps, None) is None), _STEPS_AT_A_TIME)
    found = {
        name: kind == "table" and "VIRTUAL" not in str(sql).upper() for name, kind, sql in database.execute(_TABLES)
    }
    if found != {"checkpoints": True, "writes": True}:
        raise ReadError("a database without checkpoints of LangGraph, which has the tables checkpoints and writes")
    return database


class _State(NamedTuple):
    """A state of a graph, or of a graph in it.

    Attributes:
        graph: its namespace.
        checkpoint: its id.
        channels: what it has, by channel.
    """

    graph: Any
    checkpoint: Any
    channels: dict[str, Any]


def _threads(database: sqlite3.Connection) -> Iterator[dict[str, Any]]:
    states: dict[Any, list[_State]] = {}
    parents: set[Any] = set()
    for thread, graph, checkpoint, parent, kind, blob in database.execute(_STATES):
        parents.add((thread, graph, parent))
        states.setdefault(thread, []).append(_State(graph, checkpoint, _channels(kind, blob)))
    for thread, graph, checkpoint, channel, kind, blob in database.execute(_WRITES):
        if (thread, graph, checkpoint) not in parents:  # what tasks gave, and no state took in any more
            states.setdefault(thread, []).append(_State(None, None, {str(channel): _decoded(kind, blob)}))
    for thread, found in states.items():
        yield {"thread_id": str(thread), "values": list(_news(found))}


def _channels(kind: Any, blob: Any) -> dict[str, Any]:
    checkpoint = _decoded(kind, blob)
    channels = checkpoint.get("channel_values") if isinstance(checkpoint, dict) else None
    return {str(name): value for name, value in channels.items()} if isinstance(channels, dict) else {"": checkpoint}


def _news(states: list[_State]) -> Iterator[dict[str, Any]]:
    """Yield what each state has that the one before it, of the same graph, does not have."""
    former: dict[Any, Any] = {}
    for state in states:
        new: dict[str, Any] = {}
        for channel, value in state.channels.items():
            known = former.get((state.graph, channel))
            if isinstance(value, list) and isinstance(known, list) and value[: len(known)] == known:
                new.update({channel: value[len(known) :]} if len(value) > len(known) else {})
            elif value != known:
                new[channel] = value
            former[state.graph, channel] = value
        if new:
            yield new


def _decoded(kind: Any, blob: Any) -> Any:
    """Return what a blob holds; what can't be read stands there as an object that was not written down."""
    if kind in ("null", None) or not isinstance(blob, (bytes, str)):
        return None if kind == "null" or blob is None else _unread(f"a {type(blob).__name__} as a blob")
    data = blob.encode() if isinstance(blob, str) else blob
    try:
        if kind == "msgpack":
            return _unpacked(data, _DEPTH)
        return json.loads(data) if kind == "json" else _unread(f"data of the kind {show(kind)}")
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        return _unread(f"broken {kind}: {show(str(error))}")


def _unpacked(data: bytes | memoryview, depth: int) -> Any:
    def extension(code: int, inside: memoryview) -> Any:
        if not depth:
            return _unread("objects in objects without end")
        if code not in _OBJECTS and code != _SNAPSHOT:
            return _unread(f"an extension of MessagePack, number {code}")
        made = _unpacked(inside, depth - 1)
        if code == _SNAPSHOT:
            return made
        return made[_DATA] if isinstance(made, list) and len(made) > _DATA else _unread(f"an object: {show(made)}")

    return msgspec.msgpack.decode(data, ext_hook=extension)


def _unread(what: str) -> dict[str, Any]:
    """Return what stands in the place of something that can't be read: an object that was not written down."""
    return {"lc": 1, "type": "not_implemented", "id": [what]}
