"""Runs of agents, and values of every kind, for the tests of baselines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from tracewitness import Trace
from tracewitness.baselines import BaselineResult, BaselineStore, baseline_path


def run(*calls: Any) -> Trace:
    """Return a run: a mapping is a call ``{tool: args}`` that is answered at once, a list calls made in parallel."""
    events: list[dict[str, Any]] = [{"user": "go"}]
    for step in calls:
        group = step if isinstance(step, list) else [step]
        first = len(events)
        for offset, call in enumerate(group):
            ((tool, args),) = call.items()
            events.append({"call": tool, "args": args, "id": f"c{first + offset}"})
        events += [{"result": f"done {first + offset}", "id": f"c{first + offset}"} for offset in range(len(group))]
    return Trace.from_events(events)


def store(folder: Path, **options: Any) -> BaselineStore:
    """Return the store of a module of tests in a folder."""
    return BaselineStore(baseline_path(folder / "test_orders.py"), **options)


def text(folder: Path) -> str:
    """Return what is in its file."""
    return baseline_path(folder / "test_orders.py").read_text(encoding="utf-8")


def write(folder: Path, content: str) -> Path:
    """Write its file, as a person does."""
    path = baseline_path(folder / "test_orders.py")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content, encoding="utf-8")
    return path


def check(folder: Path, trace: Trace, **options: Any) -> BaselineResult:
    """Compare a run with the baseline ``test_order``; options of the store and of the check."""
    own = {name: options.pop(name) for name in ("update", "ci") if name in options}
    return store(folder, **own).check("test_order", trace, **options)


ODD_TEXTS = [
    *(
        "",
        " ",
        "no",
        "on",
        "null",
        "~",
        "true",
        "12:30",
        "1_000",
        "007",
        "0x10",
        "1e3",
        ".nan",
        "*",
        "&a",
        "!tag",
        "- a",
    ),
    *(
        "a: b",
        "#",
        "a #b",
        "'",
        '"',
        "\\",
        "{",
        "[",
        "a\nb",
        "a\n",
        "\n",
        "a\n\n",
        " a\nb",
        "a \nb",
        "a\tb\nc",
        "\ta\nb",
    ),
    *(
        "a\r\nb",
        "\r",
        "\x00",
        "\x85",
        "\u2028",
        "\ufeff",
        "\ud800",
        "😀",
        "é",
        "e\u0301",
        "\u202e",
        "---",
        "...\n",
        "?",
    ),
    *("<<", "=", "%", "@", "`", "$any", "{$any: true}", "[redacted]", "a" * 300 + " b" * 100, "x\n# no comment\ny"),
    *("  indented\n    more\n", "trailing \\\nline", "a:\n- b\n", "|", ">", "|-\n a", "hi \n", "\u00a0a\nb"),
]
ODD_NUMBERS = [0, -0.0, 1, 1.0, True, 10**30, 10**1200, -(10**4200), 1e300, 5e-324, 0.1, float("inf"), float("-inf")]

leaves = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=12),
    st.text(st.characters(categories=None), max_size=6),
    st.sampled_from(ODD_TEXTS),
    st.sampled_from([-0.0, 1, 1.0, True, 10**30, 1e300]),
)
keys = st.one_of(
    st.sampled_from(
        [
            "a",
            "b",
            "on",
            "y",
            "",
            "odd key",
            "a: b",
            "$any",
            "$regex",
            "$eq",
            "$bytes",
            "$pairs",
            "$approx",
            "rel",
            "$x",
            "\n",
        ]
    ),
    st.text(max_size=5),
    st.text(st.characters(categories=None), max_size=3),
)
json_values = st.recursive(
    leaves, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=4), max_leaves=12
)
any_values = st.recursive(
    st.one_of(leaves, st.binary(max_size=6)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(keys | st.integers(0, 3) | st.booleans() | st.none(), inner, max_size=3),
    ),
    max_leaves=8,
)
arguments = st.dictionaries(keys, json_values, max_size=4)
