"""Where the values of arguments came from: results of other tools, and what the user said."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator
from typing import Any, Final

from tracewitness.expectations import ArgsFrom, Source
from tracewitness.learning.facts import Facts
from tracewitness.learning.proposal import Candidate
from tracewitness.matching import json_value, opened
from tracewitness.trace import MalformedResult, Message, ToolCall, ToolResult, Trace

__all__ = ["grounding_candidates"]

#: Of a result so many places are remembered; a longer one is a table.
_MOST_PLACES: Final = 3000
_MOST_LEVELS: Final = 12
_MOST_SOURCES: Final = 3
#: What can stand in a path without being taken for a part of its notation.
_PLAIN_KEY: Final = re.compile(r"[^.\[\]]+")

#: A tool and a path in its result, or the user.
_Place = tuple[str, str]
_USER: Final[_Place] = ("", "user")


def grounding_candidates(facts: Facts) -> Iterator[Candidate]:
    """Propose for each argument that is no prose the places where all its values had been seen before."""
    sightings = _sightings(facts)
    for (tool, argument), runs in sightings.items():
        if len(runs) < facts.needed or len(runs) != facts.calling(tool):
            continue
        chosen = _covering(runs, facts.needed)
        if chosen:
            sources = [_source(place) for place in chosen]
            operator = ArgsFrom(tool, {argument: sources if len(sources) > 1 else sources[0]})
            yield Candidate("grounding", operator, len(chosen), len(runs))


def _source(place: _Place) -> Source | str:
    return "user" if place == _USER else Source(*place)


#: For each run that calls a tool, for each of these calls, where the value of an argument had been seen.
_Sightings = dict[tuple[str, str], list[list[frozenset[_Place]]]]


def _sightings(facts: Facts) -> _Sightings:
    found: _Sightings = {}
    for trace, calls in zip(facts.traces, facts.calls, strict=True):
        tool_of = {call.number: tool for tool, each in calls.items() for call in each}
        for key, places in _of_run(trace, tool_of).items():
            found.setdefault(key, []).append(places)
    return {key: runs for key, runs in found.items() if facts.values(*key) is not None}


def _of_run(trace: Trace, tool_of: dict[int, str]) -> dict[tuple[str, str], list[frozenset[_Place]]]:
    """Go through a run, remembering where each value stood, and look up each argument."""
    seen: dict[Hashable, set[_Place]] = {}
    said: list[str] = []
    found: dict[tuple[str, str], list[frozenset[_Place]]] = {}
    for event in trace.events:
        if isinstance(event, Message) and event.role == "user":
            said.append(event.text)
        elif isinstance(event, ToolResult) and event.call_number is not None and event.is_error is not True:
            _remember(seen, tool_of[event.call_number], event.payload)
        elif isinstance(event, ToolCall) and isinstance(event.args, dict):
            for argument, value in event.args.items():
                if _can_be_grounded(value):
                    places = seen.get(_text(value), set()) | ({_USER} if _said(_text(value), said) else set())
                    found.setdefault((tool_of[event.number], argument), []).append(frozenset(places))
    return found


def _can_be_grounded(value: Any) -> bool:
    """Whether it says something where a value comes from: that of an identifier, not of a flag or a small number."""
    if isinstance(value, str):
        return 3 <= len(value) <= 80 and len(value.split()) == 1
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) > 10


def _text(value: Any) -> str:
    return str(int(value)) if isinstance(value, float) and value.is_integer() and abs(value) < 1e15 else str(value)


def _said(text: str, messages: list[str]) -> bool:
    looked = re.compile(rf"(?<![^\W_]){re.escape(text)}(?![^\W_])")
    return any(looked.search(message) for message in messages)


def _remember(seen: dict[Hashable, set[_Place]], tool: str, payload: Any) -> None:
    if isinstance(payload, MalformedResult):
        return
    for number, (path, value) in enumerate(_leaves(opened(payload), "", _MOST_LEVELS)):
        if number == _MOST_PLACES:
            return
        seen.setdefault(_text(value), set()).add((tool, path))


def _leaves(value: Any, path: str, levels: int) -> Iterator[tuple[str, Any]]:
    """Yield each text and number with its path; every item of a list has the same path."""
    opened_value = json_value(value) if isinstance(value, str) and value[:1] in ("{", "[") else value
    if isinstance(opened_value, dict) and levels:
        for key, child in opened_value.items():
            if isinstance(key, str) and _PLAIN_KEY.fullmatch(key):
                yield from _leaves(child, f"{path}.{key}" if path else key, levels - 1)
    elif isinstance(opened_value, list) and levels:
        for child in opened_value:
            yield from _leaves(child, f"{path}[*]", levels - 1)
    elif path and isinstance(value, (str, int, float)) and not isinstance(value, bool):
        yield path, value


def _covering(runs: list[list[frozenset[_Place]]], needed: int) -> list[_Place]:
    """Return the fewest places, found greedily, such that each value was seen at one of them; none where that fails.

    A place must have served in as many runs as are needed, so that no run decides alone.
    """
    calls = [(number, places) for number, run in enumerate(runs) for places in run]
    chosen: list[_Place] = []
    while calls and len(chosen) < _MOST_SOURCES:
        served: dict[_Place, set[int]] = {}
        count: dict[_Place, int] = {}
        for number, places in calls:
            for place in sorted(places):
                served.setdefault(place, set()).add(number)
                count[place] = count.get(place, 0) + 1
        usable = [place for place in count if len(served[place]) >= needed]
        if not usable:
            return []
        best = max(usable, key=lambda place: (count[place], place == _USER, -len(place[1]), place))
        chosen.append(best)
        calls = [(number, places) for number, places in calls if best not in places]
    return [] if calls else chosen
