"""Eval files written to do harm: every one ends in a `SuiteError` of one line, soon."""

from __future__ import annotations

import time
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from tracewitness.errors import SuiteError
from tracewitness.suites import Suite, load_suite, parse_suite, yaml_source
from tracewitness.suites.loading import MAX_BYTES

LEVELS = 10_000


def bomb(levels: int) -> str:
    """Write anchors each of which holds the one before ten times."""
    lines = ["evals: [{name: a}]", "l0: &l0 x"]
    lines += [f"l{level}: &l{level} [{', '.join([f'*l{level - 1}'] * 10)}]" for level in range(1, levels)]
    return "\n".join(lines)


TOO_DEEP = "nested more than 100 levels deep"
HOSTILE: dict[str, tuple[str, str]] = {
    "flow lists": ("[" * LEVELS, TOO_DEEP),
    "closed flow lists": ("[" * LEVELS + "]" * LEVELS, TOO_DEEP),
    "flow mappings": ("{a: " * LEVELS, TOO_DEEP),
    "block lists": ("- " * LEVELS + "x", TOO_DEEP),
    "block mappings": ("\n".join(" " * level + "a:" for level in range(LEVELS // 10)), TOO_DEEP),
    "JSON": ('{"a":' * LEVELS, TOO_DEEP),
    "flow in YAML": ("evals: " + "[" * LEVELS, TOO_DEEP),
    "keys": ("? " * LEVELS + "x", "a key is text here"),
    "anchor bomb": (bomb(12), "more than 1,000,000 values"),
    "larger anchor bomb": (bomb(1_000), "more than 1,000,000 values"),
    "chain of anchors": (
        "evals: [{name: a}]\nl0: &l0 [x]\n" + "\n".join(f"l{n}: &l{n} [*l{n - 1}]" for n in range(1, 200)),
        TOO_DEEP,
    ),
    "recursive anchor": ("evals: &a\n- name: x\n  steps: *a\n", "anchor 'a' contains itself"),
    "recursive key": ("&a {*a : x}", "anchor 'a' contains itself"),
}


@pytest.mark.parametrize("parser", [yaml_source._Parser, yaml.SafeLoader], ids=["quick parser", "parser in Python"])
@pytest.mark.parametrize(("text", "problem"), HOSTILE.values(), ids=HOSTILE.keys())
def test_it_is_refused_soon(text: str, problem: str, parser: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Depth and size are bounded before anything is expanded: neither time nor memory follow the attack."""
    monkeypatch.setattr(yaml_source, "_Parser", parser)
    tracemalloc.start()
    started = time.process_time()
    with pytest.raises(SuiteError) as error:
        parse_suite(text)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert problem in str(error.value)
    assert "\n" not in str(error.value)
    assert time.process_time() - started < 5
    assert peak < 50_000_000


def test_depth_up_to_the_limit_is_fine() -> None:
    """A hundred levels are read, one more is refused, in YAML and JSON alike."""
    for name in ("f.yaml", "f.json"):
        inner = "[" * 97 + "]" * 97
        text = f'[{{"name": "a", "session_parameters": {{"x": {inner}}}}}]'
        assert parse_suite(text, source=name).cases[0].name == "a"
        with pytest.raises(SuiteError, match=TOO_DEEP):
            parse_suite(text.replace(inner, f"[{inner}]"), source=name)


def test_anchors_within_the_limit_are_fine() -> None:
    """Reuse that stays small is what anchors are for."""
    text = "- name: a\n  session_parameters: {x: &x [1, 2], y: [*x, *x], z: {k: *x}}\n"
    assert parse_suite(text).cases[0].session_parameters == {
        "x": [1, 2],
        "y": [[1, 2]] * 2,
        "z": {"k": [1, 2]},
    }


def test_a_huge_text_is_refused() -> None:
    """More than 64 MiB are not even decoded."""
    with pytest.raises(SuiteError, match="the file is larger than 64 MiB; split it"):
        parse_suite(b"x" * (MAX_BYTES + 1))


def test_an_endless_file_is_refused() -> None:
    """A device that never ends is read only so far."""
    endless = Path("/dev/zero")
    if not endless.exists():
        pytest.skip("no /dev/zero here")
    with pytest.raises(SuiteError, match="the file is larger than 64 MiB"):
        load_suite(endless)


def load_or_error(data: str | bytes, source: str) -> Suite | None:
    """Read anything; what is raised must be a printable line of ours."""
    try:
        return parse_suite(data, source=source)
    except SuiteError as error:
        for line in (str(error), *getattr(error, "__notes__", ())):
            assert line.startswith(source)
            assert len(line.splitlines()) == 1
        return None


@given(st.text(), st.sampled_from(["f.yaml", "f.json"]))
@example("? - x\n: y", "f.yaml")
@example("!<x> y", "f.yaml")
@example("&a", "f.yaml")
@example("- !!str\n-", "f.yaml")
def test_any_text_is_a_suite_or_our_error(text: str, source: str) -> None:
    """No text brings out the error of a foreign library."""
    load_or_error(text, source)


@given(st.binary(), st.sampled_from(["f.yaml", "f.json"]))
def test_any_bytes_are_a_suite_or_our_error(data: bytes, source: str) -> None:
    """No bytes bring out the error of a foreign library."""
    load_or_error(data, source)


SEEDS = (
    '{"evals": [{"name": "a", "max_turns": 3, "tool_expectations": [{"type": "last_tool", "tool": "b"}]}]}',
    "aliases: {a: [b]}\nevals:\n- name: &n a\n  steps: [{goal: *n}]\n  expectations:\n  - >\n    text\n",
)


@given(st.data())
def test_a_damaged_file_is_a_suite_or_our_error(data: st.DataObject) -> None:
    """A good file with some characters changed is read or refused, never anything else."""
    text = data.draw(st.sampled_from(SEEDS))
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(text)))
        end = min(len(text), start + data.draw(st.integers(0, 5)))
        text = text[:start] + data.draw(st.text("\n :-[]{}&*!|>'\"%#?,a1~\\", max_size=4)) + text[end:]
    load_or_error(text, data.draw(st.sampled_from(["f.yaml", "f.json"])))
