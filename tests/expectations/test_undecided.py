"""What can't be told can't be ruled out: bans and maxima are broken by it, and all that needs a match is too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import naive
import pytest

from tracewitness.expectations import ToolCalled, ToolNotCalled, compile_checks
from tracewitness.matching import Satisfies
from tracewitness.trace import Trace

DEEP = '{"all": true, "x": ' + "[" * 3000 + "]" * 3000 + "}"
LONG = '{"all": true, "x": ' + "9" * 5000 + "}"


def refuse(_: Any) -> bool:
    raise OSError("no")


class Unequal:
    """Says itself what it equals, and can't."""

    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        raise OSError("no")


# The banned arguments, the arguments that came, where they can't be compared and why.
DOUBTS: dict[str, tuple[Any, Any, str, str]] = {
    "too deep": ({"filter": {"all": True}}, {"filter": DEEP}, "args.filter", "nests too deeply"),
    "too long": ({"filter": {"all": True}}, {"filter": LONG}, "args.filter", "too many digits"),
    "list too deep": ({"ids": {"$each": 1}}, {"ids": "[" * 3000 + "]" * 3000}, "args.ids", "nests too deeply"),
    "below": ({"a": {"b": [{"c": 1}]}}, {"a": {"b": [DEEP]}}, "args.a.b[0]", "nests too deeply"),
    "zones": ({"at": {"$gt": "2024-01-01T00:00:00Z"}}, {"at": "2025-06-01T00:00:00"}, "args.at", "time zone"),
    "not": ({"filter": {"$not": {"all": True}}}, {"filter": DEEP}, "args.filter", "nests too deeply"),
    "all of it": ({"$not": {"filter": {"all": True}}}, {"filter": DEEP}, "args", "nests too deeply"),
    "schema": ({"a": {"$schema": {"$ref": "https://example.com/x"}}}, {"a": 1}, "args.a", "does not hold"),
    "function": ({"a": Satisfies(refuse)}, {"a": 1}, "args.a", "OSError: no"),
    "equality": ({"a": Unequal()}, {"a": 1}, "args.a", "OSError: no"),
    "beside what matches": ({"a": 1, "b": Satisfies(refuse)}, {"a": 1, "b": 1}, "args.b", "OSError: no"),
}


def bans(args: Any) -> list[dict[str, Any]]:
    """Return all checks that need arguments not to match."""
    return [
        {"type": "tool_not_called", "tool": "delete", "args": args},
        {"type": "tool_not_called", "tool": "delete", "args": args, "before": {"tool": "confirm"}},
        {"type": "tool_not_called", "tool": "delete", "args": args, "before": {"tool": "confirm", "result": {}}},
        {"type": "tool_called", "tool": "delete", "args": args, "min": 0, "max": 0},
    ]


def demands(args: Any) -> list[dict[str, Any]]:
    """Return all checks that need arguments to match; the last of them on what comes after the call."""
    step = {"tool": "delete", "args": args}
    return [
        {"type": "tool_called", **step},
        {"type": "tool_called", **step, "max": 3},
        {"type": "tool_input", **step},
        {"type": "last_tool", **step},
        {"type": "every_call", **step},
        {"type": "followed_by", "tool": "begin", "next": step},
        {"type": "claim", "says": "done", **step},
        *({"type": "sequence", "calls": [step], "mode": mode} for mode in ("exact", "in_order", "any_order", "subset")),
        {"type": "tool_not_called", "tool": "after", "before": step},
    ]


@pytest.mark.parametrize("case", DOUBTS)
def test_a_ban_is_broken_by_what_cannot_be_told(case: str) -> None:
    """The verdict names the argument and why it can't be compared."""
    args, came, place, reason = DOUBTS[case]
    events = [{"call": "delete", "args": came}]
    for check in bans(args):
        verdict = compile_checks([check]).check(Trace.from_events(events))[0]
        assert verdict.status == "broken" == naive.verdict(check, events)
        assert verdict.evidence == (0,)
        assert f"({place}: " in verdict.justification
        assert reason in verdict.justification
        assert "can't be ruled out" in verdict.justification


@pytest.mark.parametrize("case", DOUBTS)
def test_a_demand_is_broken_by_it_too(case: str) -> None:
    """What can't be told is no match, and no marker of what may come after."""
    args, came, _, _ = DOUBTS[case]
    events = [{"call": "begin"}, {"call": "delete", "args": came}, {"agent": "done"}]
    *others, on_what_follows = demands(args)
    for check, seen in [*((each, events) for each in others), (on_what_follows, [*events, {"call": "after"}])]:
        verdict = compile_checks([check]).check(Trace.from_events(seen))[0]
        assert verdict.status == "broken" == naive.verdict(check, seen), check


@pytest.mark.parametrize(
    ("maximum", "matching", "undecided", "status"),
    [(2, 1, 1, "held"), (2, 2, 1, "broken"), (2, 1, 2, "broken"), (1, 0, 1, "broken"), (1, 1, 0, "held")],
)
def test_what_cannot_be_told_counts_towards_a_maximum(maximum: int, matching: int, undecided: int, status: str) -> None:
    """A call that may match is one that may be too many, read or not."""
    check = {"type": "tool_called", "tool": "delete", "args": {"filter": {"all": True}}, "max": maximum}
    for doubtful in ({"args": {"filter": DEEP}}, {"raw_args": "{"}):
        events = [{"call": "delete", "args": {"filter": {"all": True}}}] * matching
        events += [{"call": "delete", **doubtful}] * undecided
        assert compile_checks([check]).check(Trace.from_events(events))[0].status == status
        assert naive.verdict(check, events) == status


def test_what_another_argument_rules_out_is_ruled_out() -> None:
    """One argument that is decidedly another rules the match out, in whatever order the arguments stand."""
    events = [{"call": "delete", "args": {"filter": DEEP, "user": "b"}}]
    for args in ({"filter": {"all": True}, "user": "a"}, {"user": "a", "filter": {"all": True}}):
        for check in bans(args):
            assert compile_checks([check]).check(Trace.from_events(events))[0].status == "held"


def test_after_the_marker_nothing_is_in_doubt() -> None:
    """A call after the marker may match whatever it likes."""
    check = bans({"filter": {"all": True}})[1]
    events = [{"call": "confirm"}, {"call": "delete", "args": {"filter": DEEP}}]
    assert compile_checks([check]).check(Trace.from_events(events))[0].status == "held"


LINES = {"cmd": {"$regex": "rm -rf.*"}}


@pytest.mark.parametrize("check", [*bans(LINES), *bans({"a": [{"$any_of": [1, {"$regex": "a.b"}]}]})])
def test_a_ban_that_a_line_break_slips_past_is_warned_of(check: dict[str, Any]) -> None:
    """The warning names the pattern, and what to write instead."""
    with pytest.warns(UserWarning, match=r"Regex\(.*\$search or \$contains.*\(\?s\)") as caught:
        compile_checks([check])
    assert len(caught) == 1


@pytest.mark.parametrize(
    "args",
    [
        {"cmd": {"$search": "rm -rf.*"}},
        {"cmd": {"$contains": "rm -rf"}},
        {"cmd": {"$regex": "(?s)rm -rf.*"}},
        {"cmd": {"$regex": r"rm\.exe"}},
        {"cmd": {"$not": {"$regex": "ls.*"}}},
    ],
)
def test_what_crosses_lines_is_not_warned_of(args: Any) -> None:
    """Nor is a pattern that allows, or one in a check that needs a match: there a line break breaks the check."""
    for check in bans(args):
        compile_checks([check])
    for check in demands(LINES):
        compile_checks([check])


@pytest.mark.parametrize(
    "make",
    [lambda: ToolNotCalled(tool="run", args=LINES), lambda: ToolCalled(tool="run", args=LINES, min=0, max=0)],
)
def test_the_warning_points_at_who_made_the_operator(make: Callable[[], Any]) -> None:
    """Operators made in Python are warned of at the line that makes them."""
    with pytest.warns(UserWarning, match="line break") as caught:
        make()
    assert [warning.filename for warning in caught] == [__file__]
