"""Editors complete, explain and underline eval files by the published schema; the language server for YAML says so.

`make test` installs the server where there is npm; without it these tests skip by name.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from language_server import LanguageServer

from tracewitness.suites import suite_schema

SERVER = Path(sys.prefix, "editor", "node_modules", "yaml-language-server", "bin", "yaml-language-server")

GOOD = """\
aliases: {search: [web_search]}
evals:
- name: order
  tags: [smoke]
  steps:
  - {goal: Order a book, success_criteria: The order is confirmed}
  expectations:
  - The agent is polite
  tool_expectations:
  - type: tool_called
    tool: search
    args: {city: {$regex: "N.*"}}
    min: 1
  - type: tool_not_called
    tool: delete
    before: {tool: search, result: {}}
"""
BAD = """\
evals:
- name: order
  tool_expectations:
  - type: tool_caled
    tool: search
  - type: tool_called
    tol: search
  - type: max_calls
    max: many
  - type: tool_called
    tool: search
    args: {city: {$regexp: "N.*"}}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("project")
    (made / "schema.json").write_text(json.dumps(suite_schema()), "utf-8")
    (made / "good.evals.yaml").write_text(GOOD, "utf-8")
    (made / "bad.evals.yaml").write_text(BAD, "utf-8")
    return made


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[LanguageServer]:
    node = shutil.which("node")
    if node is None or not SERVER.exists():
        pytest.skip("yaml-language-server is not installed; make test installs it where there is npm")
    with LanguageServer([node, str(SERVER), "--stdio"], folder / "schema.json") as running:
        yield running


def test_nothing_is_underlined_in_a_good_file(server: LanguageServer, folder: Path) -> None:
    assert server.open(folder / "good.evals.yaml") == []


def test_what_is_wrong_is_underlined_where_it_stands(server: LanguageServer, folder: Path) -> None:
    found = server.open(folder / "bad.evals.yaml")
    told = {(each["range"]["start"]["line"], each["range"]["start"]["character"]): each["message"] for each in found}
    lines = [line for line, _ in told]
    assert set(lines) == {3, 5, 6, 8, 11}
    assert "tool_called" in told[3, 10]  # which was meant
    assert '"tool"' in told[5, 4]
    assert "tol" in told[6, 4]
    assert "integer" in told[8, 9]


@pytest.mark.parametrize(
    ("line", "character", "told"),
    [
        (0, 2, "other names"),
        (2, 4, "name"),
        (8, 4, "must and must not have done"),
        (10, 6, "exact name"),
        (9, 12, "'min' calls match"),
        (12, 6, "at least so many"),
        (15, 6, "must have happened first"),
    ],
)
def test_each_field_is_explained(server: LanguageServer, folder: Path, line: int, character: int, told: str) -> None:
    path = folder / "good.evals.yaml"
    server.open(path)
    shown = server.hover(path, line, character)
    assert told in shown.lower(), shown


def test_operators_and_fields_are_offered(server: LanguageServer, folder: Path) -> None:
    path = folder / "begun.evals.yaml"
    path.write_text("evals:\n- name: order\n  tool_expectations:\n  - type: \n", "utf-8")
    server.open(path)
    assert {"tool_called", "tool_not_called", "every_call"} <= set(server.complete(path, 3, 10))
    path = folder / "fields.evals.yaml"
    path.write_text("evals:\n- name: order\n  tool_expectations:\n  - type: tool_called\n    \n", "utf-8")
    server.open(path)
    assert {"tool", "min", "max", "args", "reason"} <= set(server.complete(path, 4, 4))
