"""The tools of calls, in order and by tool."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from msgspec import Struct

from tracewitness.trace import ToolCall, short_tool_name

__all__ = ["Lineup", "line_up", "tools_of"]


class Lineup(Struct, frozen=True, gc=False):
    """The tools of calls.

    Attributes:
        tools: the tool of each call, in order.
        places: for each tool, the indexes of its calls.
    """

    tools: list[str]
    places: dict[str, list[int]]


def line_up(tools: list[str]) -> Lineup:
    """Make a lineup.

    >>> line_up(["search", "book", "search"]).places
    {'search': [0, 2], 'book': [1]}
    """
    places: dict[str, list[int]] = {}
    for index, tool in enumerate(tools):
        if tool in places:
            places[tool].append(index)
        else:
            places[tool] = [index]
    return Lineup(tools, places)


def tools_of(
    calls: Sequence[ToolCall], expected: Collection[str], primary: Callable[[str], str] | None = None
) -> list[str]:
    """Return for each call its tool, as the expectation names it.

    A full resource name also counts as its last part, where that is expected and no other tool of the trace has it.

    Arguments:
        primary: gives the name that stands for all names of a tool; None where each has one.
    """
    names = [call.name for call in calls] if primary is None else [primary(call.name) for call in calls]
    if "projects/" not in "".join(names):  # most often there is none, and this is the quickest way to see that
        return names
    short_names = {name: short for name in names if (short := short_tool_name(name)) is not None}
    if primary is not None:
        short_names = {name: primary(short) for name, short in short_names.items()}
    having = list(short_names.values())
    counted = {
        name: short
        for name, short in short_names.items()
        if name not in expected and short in expected and having.count(short) == 1
    }
    return [counted.get(name, name) for name in names]
