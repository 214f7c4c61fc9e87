"""Checks that could not fail, or could not hold, are refused when they are loaded; and nothing but that is raised."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from tracewitness.errors import ExpectationError
from tracewitness.expectations import compile_checks, parse_operator
from tracewitness.matching import IsType, Satisfies

ALWAYS: list[Any] = [
    {},
    {"$any": True},
    {"$partial": {}},
    {"$type": "object"},
    {"$not": {"$type": "array"}},
    {"$not": {"$absent": True}},
    {"$any_of": [{"$any": True}, {"a": 1}]},
    IsType(dict),
]
NEVER: list[Any] = [
    {"$absent": True},
    {"$regex": "rm.*"},
    {"$search": "rm"},
    {"$type": "string"},
    {"$each": 1},
    {"$unordered": [1]},
    {"$approx": 1},
    {"$gt": 1},
    {"$lte": "2024-01-01"},
    {"$date": True},
    {"$datetime": True},
    {"$one_of": ["a", 1]},
    {"$not": {}},
    {"$not": {"$any": True}},
    {"$all_of": [{"a": 1}, {"$regex": "a"}]},
]
PERHAPS: list[Any] = [
    {"a": 1},
    {"$partial": {"a": 1}},
    {"$exactly": {}},
    {"$not": {"a": 1}},
    {"$length": 1},
    {"$contains": "a"},
    {"$schema": {"required": ["a"]}},
    {"$one_of": [{"a": 1}, {"a": 2}]},
    Satisfies(bool),
]


def with_args(args: Any) -> list[tuple[dict[str, Any], str]]:
    """Return a check for each place where expected arguments stand, and its path."""
    step = {"tool": "run", "args": args}
    return [
        ({"type": "tool_called", **step}, "args"),
        ({"type": "tool_called", **step, "min": 0, "max": 0}, "args"),
        ({"type": "tool_not_called", **step}, "args"),
        ({"type": "tool_not_called", "tool": "x", "before": step}, "before.args"),
        ({"type": "tool_input", **step}, "args"),
        ({"type": "last_tool", **step}, "args"),
        ({"type": "every_call", **step}, "args"),
        ({"type": "followed_by", "tool": "x", "next": step}, "next.args"),
        ({"type": "end_session", "args": args}, "args"),
        ({"type": "sequence", "calls": [step]}, "calls[0].args"),
        ({"type": "sequence", "calls": [[step]]}, "calls[0][0].args"),
        ({"type": "claim", "says": "done", **step}, "args"),
        ({"type": "score", "calls": [step]}, "calls[0].args"),
    ]


@pytest.mark.parametrize("args", NEVER, ids=repr)
def test_what_no_arguments_match_is_refused(args: Any) -> None:
    """In every operator, at every place; the error says where and what to do."""
    for check, place in with_args(args):
        with pytest.raises(ExpectationError, match="args are always a mapping, and none matches") as raised:
            parse_operator(check)
        assert str(raised.value).endswith(f"(at $.{place})")


@pytest.mark.parametrize("args", ALWAYS, ids=repr)
def test_every_call_that_could_not_fail_is_refused(args: Any) -> None:
    """What every mapping matches can't fail for all calls; elsewhere it asks for a call, whatever its arguments."""
    for check, place in with_args(args):
        if check["type"] == "every_call":
            with pytest.raises(ExpectationError, match="could not fail") as raised:
                parse_operator(check)
            assert str(raised.value).endswith(f"(at $.{place})")
        else:
            parse_operator(check)


@pytest.mark.parametrize("args", PERHAPS, ids=repr)
def test_what_may_hold_and_may_fail_is_taken(args: Any) -> None:
    """What nobody can know beforehand is allowed."""
    for check, _ in with_args(args):
        parse_operator(check)


class Hostile(Mapping[str, Any]):
    def __getitem__(self, key: str) -> Any:
        raise OSError("no")

    def __iter__(self) -> Iterator[str]:
        raise OSError("no")

    def __len__(self) -> int:
        raise OSError("no")


@pytest.mark.parametrize(
    ("check", "place"),
    [
        ({"type": "claim", "tool": "x", "says": "a{99999999999999}"}, "says"),
        ({"type": "claim", "tool": "x", "says": "(" * 5000 + ")" * 5000}, "says"),
        ({"type": "claim", "tool": "x", "says": "("}, "says"),
        ({"type": "tool_input", "tool": "x", "args": {"a": {"$regex": "a{99999999999999}"}}}, "args.a['$regex']"),
        ({"type": "tool_input", "tool": "x", "args": {"a": {"$schema": {"$schema": 5}}}}, "args.a['$schema']"),
        ({"type": "tool_input", "tool": "x", "args": Hostile()}, "args"),
        ({"type": "tool_output", "tool": "x", "result": [Hostile()]}, "result"),
        ({"type": "tool_not_called", "tool": "x", "before": Hostile()}, "before"),
        ({"type": "args_from", "tool": "x", "args": Hostile()}, "args"),
    ],
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_nothing_else_is_raised(check: dict[str, Any], place: str) -> None:
    """Whatever reading a check raises is an ExpectationError that says where."""
    with pytest.raises(ExpectationError) as raised:
        compile_checks([check])
    assert str(raised.value).endswith(f"(at $[0].{place})")
