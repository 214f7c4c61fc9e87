"""The tools of calls, in order and by tool."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from msgspec import Struct

from tracewitness.trace import ToolCall, short_tool_name

__all__ = ["Lineup", "line_up", "line_up_both", "tools_of"]


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


def line_up_both(
    expected: list[str], calls: Sequence[ToolCall], primary: Callable[[str], str] | None = None
) -> tuple[Lineup, Lineup]:
    """Make the lineups of what is expected and of the calls, in which the same tool has the same name.

    Where a full resource name and its last part are both expected, calls of the full name count as either. That
    matters where more of them are made than are expected so, and none by the last part: then both names are one tool.

    Arguments:
        expected: the expected tools.
        primary: as that of `tools_of`.
    """
    wanted = line_up(expected)
    made = line_up(tools_of(calls, wanted.places, primary))
    one_tool = _one_tool(wanted, made, primary)
    if not one_tool:
        return wanted, made
    both = [line_up([one_tool.get(tool, tool) for tool in each.tools]) for each in (wanted, made)]
    return both[0], both[1]


def _one_tool(wanted: Lineup, made: Lineup, primary: Callable[[str], str] | None) -> dict[str, str]:
    """Return the full names that stand for their last parts as well."""
    if "projects/" not in "".join(made.places):
        return {}
    shorts = {name: short for name in made.places if (short := short_tool_name(name)) is not None}
    if primary is not None:
        shorts = {name: primary(short) for name, short in shorts.items()}
    having = list(shorts.values())
    return {
        name: short
        for name, short in shorts.items()
        if short in wanted.places and short not in made.places and having.count(short) == 1
        if 0 < len(wanted.places.get(name, ())) < len(made.places[name])
    }


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
