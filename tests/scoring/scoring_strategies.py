"""Hypothesis strategies of expected and actual calls, shared by the tests of scoring."""

from __future__ import annotations

import random
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from hypothesis import strategies as st
from msgspec import UNSET

from tracewitness.matching import ABSENT, ANY, AnyOf, IsType, Not, OneOf, Partial, Regex
from tracewitness.scoring import ExpectedCall

# Few values, close to each other, so that calls have much in common.
VALUES: list[Any] = [0, 1, 1.0, True, "x", " x ", "1", None, [1], (1,), {"k": 1}, {"k": 1.0}, float("nan")]
ODD_VALUES: list[Any] = [*VALUES, Decimal(1), {1: 2}, b"x"]
MATCHERS: list[Any] = [
    ANY, ABSENT, OneOf(1, "x"), AnyOf(ABSENT, 1), Not(1), Not(ABSENT), Regex("x"), IsType("integer"),
    {"$any": True}, {"$one_of": [0, None]}, {"k": ANY}, [OneOf(1, 2)],
]  # fmt: skip
TOOLS = ["search", "book"]
NAMES = ["a", "b", "c"]

names = st.sampled_from(NAMES)
actual_args = st.dictionaries(names, st.sampled_from(ODD_VALUES), max_size=3)
plain_args = st.dictionaries(names, st.sampled_from(VALUES), max_size=3)
matcher_args = st.dictionaries(names, st.sampled_from(VALUES + MATCHERS), max_size=3)

plain_expected = st.builds(ExpectedCall, st.sampled_from(TOOLS), st.one_of(st.just(UNSET), plain_args))
"""Expected calls without matchers."""

expected = st.builds(
    ExpectedCall,
    st.sampled_from(TOOLS),
    st.one_of(st.just(UNSET), plain_args, matcher_args, st.builds(Partial, matcher_args)),
    st.one_of(st.just(UNSET), st.sampled_from([*VALUES, ANY, OneOf(1, "x")])),
)
"""Expected calls of all kinds."""


def _made(tool: str, args: Any, outcome: dict[str, Any]) -> dict[str, Any]:
    return {"tool": tool, "args": args, **outcome}


outcomes = st.one_of(
    st.just({}),
    st.builds(lambda value: {"result": value}, st.sampled_from(ODD_VALUES)),
    st.builds(lambda value: {"result": {"result": value}}, st.sampled_from(VALUES)),
    st.just({"error": "failed"}),
    st.just({"result": 1, "error": True}),
)
made = st.builds(
    _made, st.sampled_from([*TOOLS, "other"]), st.one_of(actual_args, st.just("not JSON"), st.just([1])), outcomes
)
"""Calls that were made, of all kinds."""
plain_made = st.builds(_made, st.sampled_from([*TOOLS, "other"]), plain_args, st.just({}))
"""Calls that were made with plain arguments."""


def random_args(generator: random.Random, names: Sequence[str], values: Sequence[Any], share: float) -> dict[str, Any]:
    """Return arguments, each of which is there with a probability of ``share``."""
    return {name: generator.choice(values) for name in names if generator.random() < share}
