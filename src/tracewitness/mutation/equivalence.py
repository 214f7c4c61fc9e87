"""Which changed runs are as right as the ones they were made of, as far as that can be known."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from msgspec import Struct

from tracewitness.matching import Eq, matches
from tracewitness.mutation.script import Step

__all__ = ["NOTHING", "Declared", "same_although_dropped", "same_although_repeated", "same_although_swapped"]


class Declared(Struct, frozen=True):
    """What a person says of tools; nothing of it can be told from a recording.

    Attributes:
        read_only: tools that change nothing: to call one again, or two in another order, is as good.
        defaults: for each tool the values that its arguments have where they are left out.
    """

    read_only: frozenset[str] = frozenset()
    defaults: Mapping[str, Mapping[str, Any]] = {}


#: Nothing is known of any tool.
NOTHING: Final = Declared()


def same_although_swapped(one: Step, other: Step, declared: Declared) -> str:
    """Say why two neighbouring calls may come in either order, or return an empty text.

    Arguments:
        one, other: the earlier and the later call.
    """
    if one.tool == other.tool and one.args == other.args:
        return "both calls are the same"
    if one.answered_at is None or one.answered_at > other.at:
        return "no result came between the two calls, so that they have no order"
    if {one.tool, other.tool} <= declared.read_only:
        return f"{one.tool} and {other.tool} only read"
    return ""


def same_although_repeated(step: Step, declared: Declared) -> str:
    """Say why a call may be made again, or return an empty text."""
    return f"{step.tool} only reads" if step.tool in declared.read_only else ""


def same_although_dropped(step: Step, argument: str, declared: Declared) -> str:
    """Say why an argument may be left out, or return an empty text."""
    defaults = declared.defaults.get(step.tool, {})
    if argument in defaults and matches(Eq(defaults[argument]), step.args[argument], "subset"):
        return f"{argument} is by default what it was here"
    return ""
