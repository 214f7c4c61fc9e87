"""What a failed check shows as nearest: the call that differs least, or the tool that was probably meant."""

from __future__ import annotations

from typing import Any

import pytest

from tracewitness.expectations import compile_checks
from tracewitness.expectations.wording import near_tool
from tracewitness.trace import Trace
from tracewitness.verdict import Verdict


def verdict_of(check: dict[str, Any], *events: Any) -> Verdict:
    return compile_checks([check]).check(Trace.from_events(list(events)))[0]


GOOD = {"a": 1, "b": 2, "c": 3}
BAD = {"a": 7, "b": 8, "c": 9}


@pytest.mark.parametrize(("before", "after"), [(0, 0), (7, 500), (16, 0), (16, 7), (5_000, 7)])
def test_the_nearest_of_many(before: int, after: int) -> None:
    """Of the first eight and the last eight candidates the one with the fewest differences is shown."""
    calls = [BAD] * before + [{**GOOD, "c": 9}] + [BAD] * after
    for check in (
        {"type": "tool_input", "tool": "x", "args": GOOD},
        {"type": "tool_called", "tool": "x", "args": GOOD, "max": 3},
        {"type": "every_call", "tool": "x", "args": GOOD},
    ):
        near = verdict_of(check, *({"call": "x", "args": args} for args in calls)).near_miss
        assert near is not None
        assert near.position == before
        assert str(near) == "args.c: expected 3, got 9"


@pytest.mark.parametrize(
    ("expected", "nearer", "further"),
    [
        ({"items": [1, 2]}, {"items": [8, 9]}, {"items": []}),
        ({"items": [1, 2, 3]}, {"items": [1, 8, 9]}, {"items": [1, 2]}),
        ({"items": [1]}, {"items": [2]}, {"items": [1, 2]}),
        ({"a": {"b": 1, "c": 2}}, {"a": {"b": 8, "c": 9}}, {}),
        ({"a": {"b": 1, "c": 2}}, {"a": {"b": 8, "c": 9}}, {"a": None}),
        ({"a": {"b": 1, "c": 2}}, {"a": {"b": 1, "c": 9}}, {"a": {"b": 8, "c": 9}}),
        ({"$exactly": {"a": 1}}, {"a": 2}, {"a": 1, "b": {"c": 1, "d": 2}}),
        ({"a": {"$regex": "x"}, "b": 1}, {"a": [1, 2, 3], "b": 1}, {"a": "y", "b": 2}),
    ],
)
def test_leaves_are_counted(expected: Any, nearer: Any, further: Any) -> None:
    """What is missing, too much, or of another length counts with all that is in it."""
    check = {"type": "tool_input", "tool": "x", "args": expected}
    for pair in ((nearer, further), (further, nearer)):
        near = verdict_of(check, *({"call": "x", "args": args} for args in pair)).near_miss
        assert near is not None
        assert near.position == pair.index(nearer)


def test_of_those_that_tie_the_earliest() -> None:
    near = verdict_of(
        {"type": "tool_input", "tool": "x", "args": {"a": 1}},
        *({"call": "x", "args": {"a": value}} for value in (2, 3)),
    ).near_miss
    assert near is not None
    assert near.position == 0


MEANT = "create_order"
NEAR = ["mcp__shop__create_order", "functions.create_order", "CREATE_ORDER", "shop:create_order", "create_ordr"]
#: Checks that fail for lack of a call to the tool that is named, and what happened, with the tool that was called.
LACKING: dict[str, tuple[dict[str, Any], list[Any]]] = {
    "tool_called": ({"tool": MEANT}, [{"call": "?"}]),
    "tool_called with max": ({"type": "tool_called", "tool": MEANT, "max": 2}, [{"call": "?"}]),
    "tool_input": ({"tool": MEANT, "args": {"a": 1}}, [{"call": "?"}]),
    "tool_output": ({"tool": MEANT, "result": 1}, [{"call": "?"}, {"result": 1}]),
    "last_tool": ({"tool": MEANT}, [{"call": "x"}, {"call": "?"}]),
    "followed_by": ({"tool": "x", "next": {"tool": MEANT}}, [{"call": "x"}, {"call": "?"}]),
    "followed_by with result": (
        {"type": "followed_by", "tool": "x", "next": {"tool": MEANT, "result": {}}},
        [{"call": "x"}, {"call": "?"}, {"result": 1, "of": "?"}],
    ),
    "claim": ({"tool": MEANT, "says": "done"}, [{"call": "?"}, {"agent": "done"}]),
    "tool_not_called": ({"tool": "x", "before": {"tool": MEANT}}, [{"call": "?"}, {"call": "x"}]),
    "tool_not_called with result": (
        {"type": "tool_not_called", "tool": "x", "before": {"tool": MEANT, "result": {}}},
        [{"call": "?"}, {"result": 1}, {"call": "x"}],
    ),
}


def filled(events: list[Any], name: str) -> list[Any]:
    return [{key: name if value == "?" else value for key, value in event.items()} for event in events]


@pytest.mark.parametrize("near", NEAR)
@pytest.mark.parametrize("case", LACKING)
def test_the_tool_that_was_meant_is_named(case: str, near: str) -> None:
    """A check that fails because a tool was not called names the one that was, and what to do."""
    check, events = LACKING[case]
    verdict = verdict_of({"type": case, **check}, *filled(events, near))
    assert verdict.status == "broken"
    assert verdict.justification.endswith(f"; {near} was called: if it is the same tool, give it as an alias")


@pytest.mark.parametrize("case", LACKING)
def test_another_tool_is_not_taken_for_it(case: str) -> None:
    """A name that is not near is not said to be meant."""
    check, events = LACKING[case]
    verdict = verdict_of({"type": case, **check}, *filled(events, "cancel"))
    assert verdict.status == "broken"
    assert "alias" not in verdict.justification


@pytest.mark.parametrize("case", ["followed_by", "claim", "tool_not_called"])
@pytest.mark.parametrize("name", [MEANT, f"projects/p/tools/{MEANT}"])
def test_where_the_tool_was_called_no_other_was_meant(case: str, name: str) -> None:
    """A tool that was called, with other arguments, is not misnamed."""
    part = {"tool": MEANT, "args": {"a": 1}}
    checks = {
        "followed_by": {"tool": "x", "next": part},
        "claim": {"says": "done", **part},
        "tool_not_called": {"tool": "x", "before": part},
    }
    _, events = LACKING[case]
    verdict = verdict_of({"type": case, **checks[case]}, *[each for event in events for each in filled([event], name)])
    assert verdict.status == "broken"
    assert "alias" not in verdict.justification


def test_end_session_names_what_was_meant() -> None:
    verdict = verdict_of({"type": "end_session"}, {"call": "mcp__end_session"})
    assert "mcp__end_session was called: if it is the same tool" in verdict.justification


@pytest.mark.parametrize(
    ("wanted", "called", "near"),
    [
        ("create_order", ["x", "mcp__shop__create_order"], "mcp__shop__create_order"),
        ("mcp__shop__create_order", ["create_order"], "create_order"),
        ("create_order", ["Create_Order"], "Create_Order"),
        ("create_order", ["create_order"], None),
        ("shop.create", ["bank.create_all_of_it"], None),
        ("", ["x"], None),
        ("x", [], None),
        ("x", [""], None),
    ],
)
def test_near_tool(wanted: str, called: list[str], near: str | None) -> None:
    assert near_tool(wanted, called) == near


# ---------------------------------------------------------------------------------------- words


CALLS = [{"call": "x"}] * 5
RESULTS = [event for _ in range(5) for event in ({"call": "x"}, {"result": {"s": 1}})]


@pytest.mark.parametrize(
    ("check", "events", "words"),
    [
        ({"type": "tool_called", "tool": "x"}, CALLS, "5 calls to x, the first at event 0"),
        ({"type": "tool_called", "tool": "x", "min": 2}, CALLS, "5 calls to x, the first at events 0, 1"),
        ({"type": "tool_called", "tool": "x", "min": 5}, CALLS, "5 calls to x (events 0, 1, 2, 3, 4)"),
        ({"type": "tool_called", "tool": "x"}, CALLS[:1], "1 call to x (event 0)"),
        ({"type": "tool_called", "tool": "x", "max": 9}, CALLS[:2], "2 calls to x (events 0, 1)"),
        ({"type": "tool_input", "tool": "x", "args": {}}, CALLS, "5 matching calls to x, the first at event 0"),
        ({"type": "tool_input", "tool": "x", "args": {}}, CALLS[:1], "a matching call to x (event 0)"),
        (
            {"type": "tool_called", "tool": "x", "max": 1},
            CALLS,
            "more than 1 call to x (events 0, 1), expected at most 1",
        ),
        (
            {"type": "tool_called", "tool": "x", "min": 0, "max": 0},
            CALLS,
            "more than 0 calls to x (event 0), expected at most 0",
        ),
        (
            {"type": "tool_called", "tool": "x", "args": {}, "max": 1},
            CALLS,
            "more than 1 matching call to x (events 0, 1), expected at most 1",
        ),
        (
            {"type": "tool_called", "tool": "x", "args": {}, "max": 2},
            CALLS,
            "more than 2 matching calls to x (events 0, 1, 2), expected at most 2",
        ),
        ({"type": "tool_output", "tool": "x", "result": {}}, RESULTS, "at least 1 matching result of x (event 1)"),
        ({"type": "tool_output", "tool": "x", "result": {}}, RESULTS[:2], "1 matching result of x (event 1)"),
        (
            {"type": "tool_output", "tool": "x", "result": {}, "min": 2},
            RESULTS,
            "at least 2 matching results of x (events 1, 3)",
        ),
        (
            {"type": "tool_output", "tool": "x", "result": {"s": 1}},
            [{"call": "x"}, {"result": 5}, *RESULTS[:2]],
            "1 matching result of x (event 3)",
        ),
        ({"type": "tool_not_called", "tool": "X "}, CALLS, "no call was made to 'X '"),
        ({"type": "tool_called", "tool": " "}, [{"call": ""}], "' ' was never called; called were ''"),
        ({"type": "tool_called", "tool": "a\tb"}, [{"call": "a b"}], "'a\\tb' was never called; called were 'a b'"),
        ({"type": "no_other_tools", "tools": []}, [{"call": "x y"}], "'x y' was called (event 0), and not listed"),
    ],
)
def test_words(check: dict[str, Any], events: list[Any], words: str) -> None:
    """Counts and evidence agree, and a name that can't be seen is in quotes."""
    justification = verdict_of(check, *events).justification
    assert justification.startswith(words)
    assert justification.partition(";")[0] == words.partition(";")[0]


def test_a_verdict_keeps_its_words() -> None:
    """What a live check has said does not change with what comes after."""
    live = compile_checks([{"type": "tool_called", "tool": "x", "min": 3, "max": 3}]).watch()
    live.feed({"call": "x"})
    early = live.verdicts()[0]
    words = early.justification
    live.feed({"call": "x"})
    live.feed({"call": "x"})
    assert live.verdicts()[0].held
    assert early.justification == words
