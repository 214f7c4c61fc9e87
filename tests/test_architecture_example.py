"""The reader that ARCHITECTURE.md shows is a whole one: it runs as it stands there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tracewitness import ReadError, read
from tracewitness.readers.registry import READERS, detected

_TEXT = (Path(__file__).parents[1] / "ARCHITECTURE.md").read_text("utf-8")
_BLOCKS: list[str] = re.findall(r"^```python\n(.*?)^```$", _TEXT, re.MULTILINE | re.DOTALL)
LOG = {
    "robot": "r2",
    "entries": [
        {"tick": 1, "did": "call", "tool": "grip", "with": {"force": 3}},
        {"tick": 2, "did": "call", "tool": "turn", "with": '{"by": 90}'},
        {"tick": 3, "did": "return", "of": 2, "value": "stuck", "fault": "E7"},
        {"tick": 4, "did": "return", "of": 1, "value": "held"},
    ],
}


@pytest.fixture
def example() -> Iterator[str]:
    """Run the example, and give it up again."""
    before = list(READERS)
    exec(compile(_BLOCKS[-1], "ARCHITECTURE.md", "exec"), {})  # noqa: S102 - it is our own text
    (added,) = READERS[len(before) :]
    yield added.name
    READERS[:] = before


def test_the_example_is_short() -> None:
    """As is promised; blank lines are not counted."""
    lines = [line for line in _BLOCKS[-1].splitlines() if line.strip()]
    assert len(lines) <= 30
    assert max(map(len, lines)) <= 120


def test_the_example_reads(example: str) -> None:
    """By detection and by its name."""
    assert [reader.name for reader in detected(LOG)] == [example]
    for trace in (read(LOG), read(LOG, example)):
        assert [(call.name, call.args, call.agent, call.result, call.is_error) for call in trace.calls] == [
            ("grip", {"force": 3}, "r2", "held", False),
            ("turn", {"by": 90}, "r2", "stuck", True),
        ]
        assert trace.problems == ()


@pytest.mark.parametrize("entry", [{"tick": 5, "did": "dance"}, 5, {"tick": 5, "did": "call"}])
def test_the_example_doubts(example: str, entry: Any) -> None:
    """What it can't make sense of is a problem."""
    (problem,) = read({**LOG, "entries": [*LOG["entries"], entry]}).problems
    assert problem.place == "$.entries[4]"


def test_the_example_refuses(example: str) -> None:
    """What is nothing of the kind."""
    with pytest.raises(ReadError, match="a robot's log has entries"):
        read({"entries": []}, example)
