"""Recordings that were cut, flipped or retyped: they are read or refused, and nothing else comes of them."""

from __future__ import annotations

import contextlib
import copy
import json
import random
from collections.abc import Iterator
from typing import Any

from tracewitness.errors import ReadError
from tracewitness.readers import read
from tracewitness.readers.registry import detected
from tracewitness.trace import Trace

_ODD = (None, True, -1, 0.5, "", "x", "null", "{", "tool", "\ud800", [], {}, [[]], {"type": ["x"]}, {"role": {}}, b"\0")
_NESTED = 900


def assert_known_alone(name: str, *documents: Any) -> None:
    """Check that documents are of a format, and of no other."""
    for document in documents:
        assert [reader.name for reader in detected(document)] == [name], document


def assert_mutants_are_read_or_refused(name: str, document: Any, count: int = 300) -> None:
    """Read many mutants of a document, by detection and as of its format."""
    randomness = random.Random(name)
    mutants = [*_retyped(document, count, randomness), *_cut(document, count, randomness), _deep(document)]
    for mutant in mutants:
        for format_name in (None, name):
            with contextlib.suppress(ReadError):
                _exhaust(read(mutant, format_name))


def _exhaust(trace: Trace) -> None:
    assert len(trace.events) == len(trace.to_events())
    assert all(isinstance(call.name, str) and call.result is not ... for call in trace.calls)
    assert all(isinstance(str(problem), str) for problem in trace.problems)


def _retyped(document: Any, count: int, randomness: random.Random) -> Iterator[Any]:
    for _ in range(count):
        mutant = copy.deepcopy(document)
        for _ in range(randomness.randint(1, 4)):
            *path, last = randomness.choice(_paths(mutant)) or [None]
            holder = mutant
            for key in path:
                holder = holder[key]
            _mutate(holder, last, randomness)
        yield mutant


def _mutate(holder: Any, key: Any, randomness: random.Random) -> None:
    how = randomness.choice(["drop", "double", "rename", "set", "set"])
    odd = copy.deepcopy(randomness.choice(_ODD))
    if key is None or not holder:
        return
    if how == "drop":
        del holder[key]
    elif how == "double" and isinstance(holder, list):
        holder.insert(key, copy.deepcopy(holder[key]))
    elif how == "rename" and isinstance(holder, dict):
        holder[str(odd)] = holder.pop(key)
    else:
        holder[key] = odd


def _paths(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path] if path else []
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in children:
        found += _paths(item, (*path, key))
    return found or [()]


def _cut(document: Any, count: int, randomness: random.Random) -> Iterator[bytes]:
    encoded = json.dumps(document).encode()
    for _ in range(count):
        mutant = bytearray(encoded)
        for _ in range(randomness.randint(0, 3)):
            mutant[randomness.randrange(len(mutant))] = randomness.randrange(256)
        yield bytes(mutant[: randomness.choice([len(mutant), randomness.randrange(len(mutant))])])


def _deep(document: Any) -> Any:
    """Return a document in which the last value that can be is nested deeply."""
    mutant = copy.deepcopy(document)
    *path, last = _paths(mutant)[-1]
    holder = mutant
    for key in path:
        holder = holder[key]
    deep: Any = []
    for _ in range(_NESTED):
        deep = [deep]
    holder[last] = deep
    return mutant
