"""Recordings of every format that were cut, flipped, retyped or shuffled are read, or refused; nothing else comes out.

TRACEWITNESS_MUTANTS says how many are tried in all; `make fuzz` tries 200,000.
"""

from __future__ import annotations

import contextlib
import copy
import json
import os
import random
import time
import tracemalloc
from collections.abc import Iterator
from typing import Any

import pytest
from recording_seeds import SEEDS

from tracewitness.errors import ReadError
from tracewitness.readers import READERS, read_all
from tracewitness.readers.registry import candidates, detected, traces_of
from tracewitness.trace import Trace

MUTANTS = int(os.environ.get("TRACEWITNESS_MUTANTS", "4000"))
#: The most seconds for all mutants of a seed together, for each of them, and the most bytes that one may take.
_SECONDS_EACH = 0.05
_SECONDS_ALONE = 5.0
_BYTES = 64 * 1024 * 1024
_ODD: tuple[Any, ...] = (
    *(None, True, -1, 0, 0.5, 10**30, float("nan"), float("inf"), b"\0"),
    *("", " ", "x", "null", "{", "[]", '{"a": 1}', "user", "tool", "\ud800", "9" * 5000),
    *([], {}, [[]], [None], {"": {}}, {"type": ["x"]}, {"role": {}}, {"id": []}, {"name": 5}),
)
_BYTE_CHANGES = b'\0\n "{}[]:,\\0-\xff\xc3'


def test_every_format_has_a_seed() -> None:
    """Else its mutants are not tried. Those of formats that are registered by users are theirs."""
    assert [reader.name for reader in READERS if reader.name not in SEEDS] == []


@pytest.mark.parametrize("name", SEEDS)
def test_seeds_are_read_whole(name: str) -> None:
    """By their readers alone, without a problem: else their mutants would show nothing."""
    assert [reader.name for reader in detected(SEEDS[name])] == [name]
    traces = list(traces_of(SEEDS[name]))
    assert any(trace.calls for trace in traces)
    assert [trace.problems for trace in traces if trace.problems] == []


@pytest.mark.parametrize("name", SEEDS)
def test_mutants_are_read_or_refused(name: str) -> None:
    """By detection, and as of the seed's format."""
    count = max(MUTANTS // len(SEEDS), 1)
    begun = time.perf_counter()
    for mutant in _mutants(SEEDS[name], count, random.Random(f"{name} {MUTANTS}")):
        for format_name in (None, name):
            alone = time.perf_counter()
            _read(mutant, format_name)
            assert time.perf_counter() - alone < _SECONDS_ALONE, mutant
    assert time.perf_counter() - begun < count * _SECONDS_EACH + _SECONDS_ALONE


@pytest.mark.parametrize("name", SEEDS)
def test_the_keys_of_a_reader_leave_out_nothing_that_it_detects(name: str) -> None:
    """A reader is asked only where a document has one of its keys: whatever it would detect has one."""
    for mutant in [SEEDS[name], *_mutants(SEEDS[name], 100, random.Random(name))]:
        if not isinstance(mutant, bytes):
            asked = candidates(mutant)
            assert [reader.name for reader in READERS if reader not in asked and reader.detects(mutant)] == []


@pytest.mark.parametrize("name", SEEDS)
def test_repeated_parts_take_memory_in_proportion(name: str) -> None:
    """And so does what is nested: in lists, in mappings, in itself."""
    for mutant in (_repeated(SEEDS[name], 200), _wrapped(SEEDS[name], 900), json.dumps(SEEDS[name]) * 50):
        tracemalloc.start()
        try:
            _read(mutant, None)
            _read(mutant, name)
            assert tracemalloc.get_traced_memory()[1] < _BYTES
        finally:
            tracemalloc.stop()


def test_what_holds_itself_is_read_or_refused() -> None:
    """Only live objects can: no file does."""
    for name, seed in SEEDS.items():
        knot: Any = copy.deepcopy(seed)
        _, holder, key = random.Random(name).choice(list(_places(knot)))
        holder[key] = knot
        for format_name in (None, name):
            _read(knot, format_name)


def _read(mutant: Any, format_name: str | None) -> None:
    """Read a mutant and look at all that the traces have."""
    with contextlib.suppress(ReadError):
        for trace in read_all(mutant, format_name):
            _exhaust(trace)


def _exhaust(trace: Trace) -> None:
    assert len(trace.events) == len(trace.to_events())
    assert all(isinstance(call.name, str) and call.result is not ... for call in trace.calls)
    assert all(isinstance(str(problem), str) for problem in trace.problems)


# ------------------------------------------------------------------------------------------------------------ mutating


def _mutants(seed: Any, count: int, randomness: random.Random) -> Iterator[Any]:
    """Yield mutants as data, as text in which a byte is another, and as lines."""
    for number in range(count):
        document = copy.deepcopy(seed)
        for _ in range(randomness.randint(1, 4)):
            document = _mutated(document, randomness)
        kind = number % 4
        if kind < 2:
            yield document
        elif kind == 2:
            yield _flipped(json.dumps(_encodable(document)).encode(), randomness)
        else:
            items = document if isinstance(document, list) else [document, document]
            yield _flipped(b"\n".join(json.dumps(_encodable(item)).encode() for item in items), randomness)


def _encodable(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _encodable(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_encodable(item) for item in value]
    return value.decode("latin-1") if isinstance(value, bytes) else value


def _places(value: Any) -> Iterator[tuple[Any, Any, Any]]:
    """Yield every value of a document with what holds it and its key or index there."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield item, value, key
        yield from _places(item)


def _mutated(document: Any, randomness: random.Random) -> Any:
    """Return a document in which one thing is gone, of another type, elsewhere, or there twice."""
    places = list(_places(document))
    if not places:
        return copy.deepcopy(randomness.choice(_ODD))
    item, holder, key = randomness.choice(places)
    how = randomness.randrange(8)
    if how == 0:
        del holder[key]
    elif how == 1 and isinstance(holder, list):
        holder.insert(randomness.randrange(len(holder) + 1), copy.deepcopy(item))
    elif how == 2 and isinstance(holder, dict):
        holder[str(randomness.choice(places)[2])] = holder.pop(key)
    elif how == 3:
        _shuffle(holder, randomness)
    elif how == 4:
        holder[key] = [item] if randomness.randrange(2) else {str(key): item}
    elif how == 5:
        holder[key] = json.dumps(_encodable(item))
    elif how == 6:
        holder[key] = copy.deepcopy(randomness.choice(places)[0])
    else:
        holder[key] = copy.deepcopy(randomness.choice(_ODD))
    return document


def _shuffle(holder: Any, randomness: random.Random) -> None:
    if isinstance(holder, list):
        randomness.shuffle(holder)
        return
    items = list(holder.items())
    randomness.shuffle(items)
    holder.clear()
    holder.update(items)


def _flipped(data: bytes, randomness: random.Random) -> bytes:
    """Return bytes of which a few are others, and whose end may be missing."""
    changed = bytearray(data or b" ")
    for _ in range(randomness.randrange(3)):
        changed[randomness.randrange(len(changed))] = randomness.choice(_BYTE_CHANGES)
    return bytes(changed[: randomness.randrange(len(changed))] if randomness.randrange(2) else changed)


def _repeated(seed: Any, times: int) -> Any:
    """Return a document in which every item of every list stands many times, but not those inside it as well."""
    if isinstance(seed, dict):
        return {key: _repeated(item, times) for key, item in seed.items()}
    return seed * times if isinstance(seed, list) else seed


def _wrapped(seed: Any, depth: int) -> Any:
    """Return a document whose first part is nested deeply."""
    document = copy.deepcopy(seed)
    item, holder, key = next(_places(document))
    for _ in range(depth):
        item = [item]
    holder[key] = item
    return document
