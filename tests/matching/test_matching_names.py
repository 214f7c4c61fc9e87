"""The room's front: names, and what importing it costs."""

from __future__ import annotations

import subprocess
import sys

import pytest

import tracewitness.matching
from tracewitness.matching import json_number, json_value
from tracewitness.matching.notation import MATCHERS


def test_the_names_are_sorted_and_there() -> None:
    """__all__ is sorted as ruff sorts it, complete, and every name leads somewhere."""
    names = tracewitness.matching.__all__
    constants = [name for name in names if name.isupper()]
    classes = [name for name in names if name[0].isupper() and not name.isupper()]
    functions = [name for name in names if name[0].islower()]
    assert names == sorted(constants) + sorted(classes) + sorted(functions)
    assert all(getattr(tracewitness.matching, name) is not None for name in names)


def test_every_matcher_is_exported_and_has_a_file_name() -> None:
    """A matcher that was added is found in __all__, and in files but for Satisfies."""
    exported = {getattr(tracewitness.matching, name) for name in tracewitness.matching.__all__}
    assert all(matcher in exported or matcher.__name__ in ("_Any", "_Absent") for matcher in MATCHERS.values())
    assert all(key.startswith("$") for key in MATCHERS)
    assert len(MATCHERS) == 24


@pytest.mark.parametrize("module", ["jsonschema", "rapidfuzz", "datetime", "decimal", "fractions", "unicodedata"])
def test_importing_stays_quick(module: str) -> None:
    """What only some matchers or only failures need is not imported with the package."""
    # msgspec itself imports some of these; what counts is what comes on top of it.
    code = (
        "import sys, msgspec; before = set(sys.modules); import tracewitness.matching;"
        f"sys.exit({module!r} in set(sys.modules) - before)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(
    ("text", "value"),
    [('{"a": 1}', {"a": 1}), ('"[1]"', [1]), ("5", "5"), ("[", "["), ('"a"', '"a"'), ("[" * 100_000, "[" * 100_000)],
    ids=["mapping", "text in text", "number", "broken", "text", "deep"],
)
def test_json_value(text: str, value: object) -> None:
    """A mapping or list is read out of a text; every other text stays as it is."""
    assert json_value(text) == value


@pytest.mark.parametrize(
    ("text", "number"), [("5", 5), ("-0.5e1", -5.0), ("007", None), ("NaN", None), ("", None), ("9" * 700, None)]
)
def test_json_number(text: str, number: object) -> None:
    """A text that is a JSON number is read as an int or a float; every other text, or one too long, is none."""
    assert json_number(text) == number
    assert type(json_number(text)) is type(number)
