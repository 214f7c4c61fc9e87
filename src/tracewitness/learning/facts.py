"""What the runs of a case have in common is looked for in this: their calls, by tool and in order."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

from msgspec import Struct

from tracewitness.trace import MalformedArguments, ToolCall, Trace

__all__ = ["Facts", "deciding", "facts_of", "supported"]

Item = TypeVar("Item")
State = TypeVar("State")


class Facts(Struct, frozen=True):
    """The runs of a case.

    Attributes:
        traces: the runs.
        names: for each run the tools of its calls, in order; other names of a tool are that tool.
        calls: for each run its calls by tool.
    """

    traces: tuple[Trace, ...]
    names: tuple[tuple[str, ...], ...]
    calls: tuple[dict[str, list[ToolCall]], ...]

    @property
    def runs(self) -> int:
        """How many runs there are."""
        return len(self.traces)

    @property
    def tools(self) -> tuple[str, ...]:
        """Every tool that is called, in the order of the first calls."""
        return tuple(dict.fromkeys(name for names in self.names for name in names))

    @property
    def common_tools(self) -> tuple[str, ...]:
        """The tools that every run calls."""
        return tuple(tool for tool in self.tools if all(tool in calls for calls in self.calls))

    @property
    def needed(self) -> int:
        """In how many runs something must be seen to be proposed: 2 where there are two, and a tenth of many.

        Then no run decides alone, and what was hardly ever looked at is not taken for a habit.
        """
        return max(min(2, self.runs), math.ceil(self.runs / 10))

    def calling(self, tool: str) -> int:
        """In how many runs a tool is called."""
        return sum(tool in calls for calls in self.calls)

    def values(self, tool: str, argument: str) -> list[list[Any]] | None:
        """Return the values of an argument for each run that calls the tool; None where a call lacks it."""
        found = []
        for calls in self.calls:
            if tool in calls:
                args = [_mapping(call) for call in calls[tool]]
                if not all(argument in each for each in args):
                    return None
                found.append([each[argument] for each in args])
        return found

    def arguments(self, tool: str) -> list[list[dict[str, Any]]]:
        """Return the arguments of the calls of a tool, for each run that calls it."""
        return [[_mapping(call) for call in calls[tool]] for calls in self.calls if tool in calls]


def _mapping(call: ToolCall) -> dict[str, Any]:
    return {} if isinstance(call.args, MalformedArguments) else call.args


def facts_of(traces: Sequence[Trace], name_of: Callable[[str], str]) -> Facts:
    """Look through runs.

    Arguments:
        traces: the runs.
        name_of: gives the name that stands for all names of a tool.
    """
    names, by_tool = [], []
    for trace in traces:
        calls: dict[str, list[ToolCall]] = {}
        for call in trace.calls:
            calls.setdefault(name_of(call.name), []).append(call)
        names.append(tuple(name_of(call.name) for call in trace.calls))
        by_tool.append(calls)
    return Facts(tuple(traces), tuple(names), tuple(by_tool))


def supported(runs: Iterable[Iterable[Item]], needed: int) -> Iterator[Item]:
    """Yield what is there in at least so many runs, in the order in which it first comes."""
    counts = Counter(item for items in runs for item in dict.fromkeys(items))
    return (item for item, count in counts.items() if count >= needed)


def deciding(runs: Iterable[Item], state: State, grow: Callable[[State, Item], State]) -> tuple[State, int]:
    """Grow something run by run; return it, with the number of runs that changed it: those alone decide it."""
    changes = 0
    for each in runs:
        grown = grow(state, each)
        changes += grown != state
        state = grown
    return state, changes
