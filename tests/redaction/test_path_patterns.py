"""Patterns of paths: what each means, what it does not, and what is said of one that can't be read."""

from __future__ import annotations

import copy
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracewitness.errors import PathPart, UsageError, path_text
from tracewitness.path_patterns import PathPattern, PathPatterns

Path = tuple[PathPart, ...]

MEANT: list[tuple[str, list[Path], list[Path]]] = [
    ("args", [("args",)], [(), ("args", "card"), ("result",)]),
    ("args.card", [("args", "card")], [("args",), ("args", "card", "number"), ("card",), ("args", "cards")]),
    ("args.card.*", [("args", "card", "number"), ("args", "card", 0)], [("args", "card"), ("args", "card", "a", "b")]),
    ("args.*.number", [("args", "card", "number"), ("args", 3, "number")], [("args", "number")]),
    (
        "**.request_id",
        [("request_id",), ("a", "request_id"), ("a", 0, "b", "request_id")],
        [("request_id", "a"), ("a",)],
    ),
    ("args.**", [("args",), ("args", "a"), ("args", "a", 0, "b")], [("result",), ()]),
    ("**", [(), ("a",), ("a", 0)], []),
    ("a.**.b.**.c", [("a", "b", "c"), ("a", "x", "b", "c"), ("a", "b", "y", "z", "c")], [("a", "c"), ("b", "a", "c")]),
    ("**.**.a", [("a",), ("b", "a")], [("b",)]),
    ("items[*].token", [("items", 0, "token"), ("items", 17, "token")], [("items", "0", "token"), ("items", "token")]),
    ("items[0]", [("items", 0)], [("items", 1), ("items", "0"), ("items",)]),
    ("[2].a", [(2, "a")], [("2", "a")]),
    ('a["odd key"]', [("a", "odd key")], [("a", "odd"), ("a", "odd", "key")]),
    ("a['it\\'s']['\\u20ac\\n']", [("a", "it's", "€\n")], []),
    ("['*']", [("*",)], [("a",)]),
    ("['a.b']", [("a.b",)], [("a", "b")]),
    ("x-api-key", [("x-api-key",)], [("x_api_key",)]),
    ("größe.名前", [("größe", "名前")], []),
    ("$.args.card", [("args", "card")], [("$", "args", "card")]),
    ("$[0]", [(0,)], []),
    ("['$']", [("$",)], [()]),
]


@pytest.mark.parametrize(("text", "meant", "not_meant"), MEANT, ids=[text for text, _, _ in MEANT])
def test_a_pattern_means_these_paths_and_no_others(text: str, meant: list[Path], not_meant: list[Path]) -> None:
    pattern = PathPattern(text)
    assert [pattern.matches(path) for path in meant] == [True] * len(meant)
    assert [pattern.matches(path) for path in not_meant] == [False] * len(not_meant)


@pytest.mark.parametrize(
    ("text", "character"),
    [
        (".", 1),
        (".a", 1),
        ("a..b", 3),
        ("a.[0]", 3),
        ("a[", 2),
        ("a[]", 2),
        ("a[-1]", 2),
        ("a[01]", 2),
        ("a[1.5]", 2),
        ("a['b", 2),
        ("a['b\"]", 2),
        (r"a['\q']", 2),
        (r"a['\U00110000']", 2),
        ("a b", 2),
        ("a.2", 3),
        ("2", 1),
        ("a**", 2),
        ("***", 3),
        ("a.*b", 4),
        ("$a", 1),
        ("a\n", 2),
        ("a.b]", 4),
    ],
)
def test_a_malformed_pattern_is_an_error_that_says_where(text: str, character: int) -> None:
    with pytest.raises(UsageError) as caught:
        PathPattern(text)
    assert f" at character {character} on" in str(caught.value)
    assert "args.card.number" in str(caught.value)


@pytest.mark.parametrize("text", ["", "a.", "args.card."])
def test_a_pattern_that_ends_too_early_says_so(text: str) -> None:
    with pytest.raises(UsageError, match="from its end on"):
        PathPattern(text)


@pytest.mark.parametrize("given_", [None, 3, b"args", ["args"]])
def test_a_pattern_is_a_text(given_: object) -> None:
    with pytest.raises(UsageError, match="a pattern of paths is a text"):
        PathPattern(given_)  # type: ignore[arg-type]


@pytest.mark.parametrize("given_", ["args.card", None, 3])
def test_patterns_are_a_list_and_no_single_text(given_: object) -> None:
    """A text is iterable: its letters would be patterns, and hide nothing."""
    with pytest.raises(UsageError, match="expected a list of patterns"):
        PathPatterns(given_)  # type: ignore[arg-type]


parts = st.one_of(
    st.text(max_size=6), st.sampled_from(["args", "odd key", "it's", '"', "a.b", "*", "-"]), st.integers(0, 99)
)


@given(st.lists(parts, min_size=1, max_size=5))
def test_a_path_as_it_is_shown_is_the_pattern_of_itself(path: list[PathPart]) -> None:
    """What an error shows can be copied into a setting."""
    pattern = PathPattern(path_text(path, root="" if isinstance(path[0], str) else "$"))
    assert pattern.matches(tuple(path))
    assert not pattern.matches((*path, "more"))
    assert not pattern.matches(tuple(path[:-1]))


steps = st.lists(st.sampled_from(["a", "b", "*", "**", 0, "[*]"]), min_size=1, max_size=6)


@given(steps, st.lists(st.sampled_from(["a", "b", 0, 1]), max_size=6))
def test_following_a_pattern_agrees_with_its_definition(pattern: list[object], path: list[PathPart]) -> None:
    text = ""
    for step in pattern:
        text += f"[{step}]" if step == 0 else str(step) if step == "[*]" else f".{step}" if text else str(step)

    def means(left: list[object], rest: list[PathPart]) -> bool:
        if not left:
            return not rest
        if left[0] == "**":
            return means(left[1:], rest) or (bool(rest) and means(left, rest[1:]))
        if not rest:
            return False
        first, part = left[0], rest[0]
        is_met = (
            first == "*" or (first == "[*]" and isinstance(part, int)) or (type(first) is type(part) and first == part)
        )
        return is_met and means(left[1:], rest[1:])

    compiled = PathPattern(text)
    assert compiled.matches(path) == means(pattern, path)
    assert compiled.covers(path) == any(means(pattern, path[:length]) for length in range(len(path) + 1))


def test_many_wildcards_over_a_long_path_are_followed_at_once() -> None:
    """What is left of a pattern is a set: ways that come to the same are one way."""
    pattern = PathPattern(".".join(["**", "a"] * 30))
    assert pattern.matches(("a",) * 400)
    assert not pattern.matches(("a",) * 29)


def test_patterns_are_values() -> None:
    pattern = PathPattern("args.card.*")
    assert pattern == PathPattern("args['card'].*") != PathPattern("args.card")
    assert len({pattern, PathPattern("args.card.*")}) == 1
    assert pickle.loads(pickle.dumps(pattern)) == copy.copy(pattern) == pattern  # noqa: S301 - our own
    assert repr(pattern) == "PathPattern('args.card.*')"
    assert (pattern == "args.card.*") is False
