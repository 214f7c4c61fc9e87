"""What the tests of frameworks share: tools that note how they were called, and a trace compared with the notes."""

from __future__ import annotations

import contextlib
import copy
import json
from collections.abc import Callable, Iterator
from random import Random
from typing import Any, NamedTuple

from tracewitness.errors import ReadError
from tracewitness.readers import read_all
from tracewitness.readers.registry import detected
from tracewitness.trace import UNANSWERED, ToolCall, Trace

WHEEL = "the wheel is stuck"


class Note(NamedTuple):
    """What a tool noted of one call.

    Attributes:
        name: of the tool.
        args: what it was called with.
        result: what it returned; None where it raised.
        error: what it raised, as text; None where it returned.
    """

    name: str
    args: dict[str, Any]
    result: Any = None
    error: str | None = None


class Tools:
    """Tools as plain functions, one of which always fails, and a note of every call to them.

    Each has a twin for frameworks that await their tools. They are methods: the receiver is no parameter of theirs.
    """

    def __init__(self) -> None:
        self.made: list[Note] = []

    def search(self, query: str, limit: int = 3) -> dict[str, Any]:
        """Find things.

        Args:
            query: what to look for.
            limit: how many to find.
        """
        result = {"found": [f"{query}-{number}" for number in range(limit)]}
        self.made.append(Note("search", {"query": query, "limit": limit}, result))
        return result

    def steer(self, angle: float) -> str:
        """Turn the wheel, which can't be turned.

        Args:
            angle: how far, in degrees.
        """
        self.made.append(Note("steer", {"angle": angle}, error=WHEEL))
        raise RuntimeError(WHEEL)

    def weather(self, city: str) -> str:
        """Say what the weather is like.

        Args:
            city: where.
        """
        result = f"sunny in {city}"
        self.made.append(Note("weather", {"city": city}, result))
        return result

    async def search_async(self, query: str, limit: int = 3) -> dict[str, Any]:
        """Find things.

        Args:
            query: what to look for.
            limit: how many to find.
        """
        return self.search(query, limit)

    async def steer_async(self, angle: float) -> str:
        """Turn the wheel, which can't be turned.

        Args:
            angle: how far, in degrees.
        """
        return self.steer(angle)

    async def weather_async(self, city: str) -> str:
        """Say what the weather is like.

        Args:
            city: where.
        """
        return self.weather(city)


# What a script makes the model do, in two turns: two calls at once, then one that fails and one after it.
FIRST_TURN = (("search", {"query": "lamp", "limit": 2}), ("search", {"query": "desk", "limit": 1}))
SECOND_TURN = (("steer", {"angle": 12.5}), ("weather", {"city": "Bern"}))


def assert_witnessed(
    trace: Trace, tools: Tools, *, errors_told: bool = True, decode: Callable[[Any], Any] | None = None
) -> None:
    """Check that a trace has the calls that the tools noted, in order, with what came back, and no problem.

    Arguments:
        trace: its calls to other tools than these (a handoff, a last answer) are passed over.
        errors_told: whether the format says which results are errors; one that does not must leave it unknown.
        decode: makes of a recorded result what the tool returned; by default JSON text is decoded.
    """
    assert trace.problems == ()
    assert trace.no_evidence is None
    known = {"search", "steer", "weather"}
    calls = [call for call in trace.calls if call.name in known]
    # Tools that are called at once may run in any order.
    assert sorted(map(_told, calls), key=repr) == sorted(((note.name, note.args) for note in tools.made), key=repr)
    noted = list(tools.made)
    for call in calls:
        note = next(note for note in noted if (note.name, note.args) == _told(call))
        noted.remove(note)
        _assert_answered(call, note, errors_told=errors_told, decode=decode or decoded)


def _told(call: ToolCall) -> tuple[str, Any]:
    return call.name, call.args


def _assert_answered(call: ToolCall, note: Note, *, errors_told: bool, decode: Callable[[Any], Any]) -> None:
    assert call.result is not UNANSWERED, f"{call} has no result"
    if note.error is None:
        assert decode(call.result) == note.result
        assert call.is_error in ((False, None) if errors_told else (None,))
    else:
        assert note.error in str(call.result)
        assert call.is_error is (True if errors_told else None)


def decoded(payload: Any) -> Any:
    """Return a payload, decoded where it is JSON text."""
    if not isinstance(payload, str):
        return payload
    try:
        return json.loads(payload)
    except ValueError:
        return payload


_ODD: tuple[Any, ...] = (None, True, 0, -1.5, "", "null", "{", "tool", "\ud800", [], {}, [[]], {"type": ["x"]}, b"\x00")


def mutants(document: Any, count: int, seed: int = 0) -> Iterator[Any]:
    """Yield copies of a document in which values are gone, of another type, doubled, or under another key."""
    random = Random(seed)
    for _ in range(count):
        mutant = copy.deepcopy(document)
        for _ in range(random.randint(1, 4)):
            mutant = _mutated(mutant, random)
        yield mutant


def _mutated(document: Any, random: Random) -> Any:
    path = random.choice(_paths(document))
    odd = copy.deepcopy(random.choice(_ODD))
    if not path:
        return odd
    holder, key = document, path[-1]
    for part in path[:-1]:
        holder = holder[part]
    how = random.choice(("drop", "double", "rename", "set"))
    if how == "drop":
        del holder[key]
    elif how == "double" and isinstance(holder, list):
        holder.insert(key, copy.deepcopy(holder[key]))
    elif how == "rename" and isinstance(holder, dict):
        holder[str(odd)] = holder.pop(key)
    else:
        holder[key] = odd
    return document


def _paths(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return where every value of a document stands."""
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(found for key, item in children for found in _paths(item, (*path, key)))]


def exhaust(trace: Trace) -> None:
    """Look at all that a trace has: what is odd in it must not show only then."""
    assert len(trace.events) == len(trace.to_events())
    assert all(isinstance(call.name, str) and call.result is not ... for call in trace.calls)
    assert all(str(problem) for problem in trace.problems)


def assert_mutants_are_read(document: Any, count: int, formats: tuple[str, ...]) -> None:
    """Check that mutants are read or refused, by detection and by the readers named, and nothing else happens."""
    for mutant in mutants(document, count):
        for name in (None, *formats):
            with contextlib.suppress(ReadError):
                for trace in read_all(mutant, name):
                    exhaust(trace)
    encoded = json.dumps(document).encode()
    random = Random(1)
    for _ in range(count // 4):
        broken = bytearray(encoded)
        broken[random.randrange(len(broken))] = random.randrange(256)
        with contextlib.suppress(ReadError):
            for trace in read_all(bytes(broken[: random.randint(1, len(broken))])):
                exhaust(trace)


def detected_names(document: Any) -> list[str]:
    """Return the names of the formats that a document is in."""
    return [reader.name for reader in detected(document)]
