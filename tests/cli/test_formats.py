"""``tracewitness formats`` and ``tracewitness schema``."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable

import pytest

from tracewitness.cli import main
from tracewitness.readers import READERS
from tracewitness.readers.neutral_schema import trace_schema
from tracewitness.readers.reader import CONTENT_LIST
from tracewitness.suites import suite_schema

Run = Callable[..., str]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Return a function that runs the command line and returns what it printed."""

    def call(*arguments: str) -> str:
        monkeypatch.setattr(sys, "argv", ["tracewitness", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        assert not ended.value.code
        return capsys.readouterr().out

    return call


def test_every_format_is_listed(run: Run) -> None:
    """Each by its name, with what its documents look like and keys that are in them."""
    lines = run("formats").splitlines()
    assert [line for line in lines if not line.startswith(" ")] == [reader.name for reader in READERS]
    assert max(map(len, lines)) <= 104
    text = " ".join(" ".join(lines).split())
    for reader in READERS:
        assert " ".join(reader.shape.split()) in text
        assert not reader.keys or min(reader.keys - {CONTENT_LIST}) in text
    assert "JSON Lines are one run" in text


def test_schemas(run: Run) -> None:
    """Of eval files where nothing is said."""
    assert json.loads(run("schema")) == json.loads(run("schema", "--of", "suite")) == suite_schema()
    assert json.loads(run("schema", "--of", "trace")) == trace_schema()
