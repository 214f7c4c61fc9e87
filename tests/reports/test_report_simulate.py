"""The options for reports on ``tracewitness simulate``: the same forms, with goals beside the checks."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from report_support import Answer, command

from tracewitness.reports.document import report_schema

SUITE = """
evals:
  - name: order
    tags: [P0]
    steps: [{static_utterance: "Order ITEM-42, please."}]
    tool_expectations:
      - {type: tool_called, tool: create_order, args: {item: ITEM-42}}
  - name: talk
    steps: [{static_utterance: "Hello?"}]
    tool_expectations:
      - {type: tool_not_called, tool: cancel_order}
"""

AGENTS = """
CALLS = [{"name": "create_order", "args": {"item": "ITEM-42", "card": "CARD-31337-X"}}]

def honest(text):
    return {"reply": "I have placed your order with CARD-31337-X.", "calls": CALLS}

def liar(text):
    return "I have placed your order."

def raising(text):
    raise KeyError("CARD-31337-X")
"""


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Any:
    """Return a function that runs the command line in a folder with the suite and the agents above."""
    Path(tmp_path / "suite.yaml").write_text(SUITE, "utf-8")
    Path(tmp_path / "report_agents.py").write_text(AGENTS, "utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)

    def call(*arguments: str) -> Answer:
        return command(monkeypatch, capfd, *arguments)

    yield call
    sys.modules.pop("report_agents", None)


def document(path: str) -> dict[str, Any]:
    read: dict[str, Any] = json.loads(Path(path).read_text("utf-8"))
    jsonschema.Draft202012Validator(report_schema()).validate(read)
    return read


@pytest.mark.parametrize(
    ("agent", "outcomes", "status"),
    [("honest", ["passed", "passed"], 0), ("liar", ["failed", "passed"], 1), ("raising", ["failed", "failed"], 1)],
)
def test_the_document(run: Any, agent: str, outcomes: list[str], status: int) -> None:
    """What became of each run, with the trace also of one that an error ended."""
    arguments = ("simulate", "suite.yaml", "--agent", f"report_agents:{agent}", "--json", "r.json", "-o", "rows.json")
    assert run(*arguments).status == status
    read = document("r.json")
    assert read["command"] == "simulate"
    assert read["summary"]["exit_status"] == status
    assert [each["outcome"] for each in read["runs"]] == outcomes
    assert all(each["events"][0]["user"] for each in read["runs"])
    first = read["runs"][0]
    assert (first["name"], first["run"], first["tags"], len(first["steps"])) == ("order", 1, ["P0"], 1)
    assert bool(first["verdicts"]) is (agent != "raising")
    assert ("traceback" in first) is (agent == "raising")
    assert run("report", "rows.json", "--suite", "suite.yaml", "-o", "again.json").status == 0
    assert [each["outcome"] for each in document("again.json")["runs"]] == outcomes


def test_a_resumed_simulation_reports_all_runs(run: Any) -> None:
    """Runs that the journal has already are in the report, and are not printed again."""
    options = ("--agent", "report_agents:honest", "--journal", "j", "--csv", "r.csv", "--markdown", "r.md")
    assert run("simulate", "suite.yaml", *options).status == 0
    again = run("simulate", "suite.yaml", *options, "--resume")
    assert "PASSED" not in again.out
    assert "none is repeated" in again.err
    assert Path("r.csv").read_bytes().count(b"\r\n") == 5
    assert "2 of 2 runs passed" in Path("r.md").read_text("utf-8")


def test_redaction(run: Any) -> None:
    """What is hidden is hidden on the terminal and in all files; a row stays as it was, for the checks."""
    files = ["--json", "r.json", "--junit", "r.xml", "--markdown", "r.md", "--csv", "r.csv"]
    for agent in ("honest", "raising"):
        answer = run("simulate", "suite.yaml", "--agent", f"report_agents:{agent}", *files, "--redact", "args.card")
        told = {"terminal": answer.out, **{name: Path(name).read_text("utf-8") for name in files[1::2]}}
        leaking = [name for name, text in told.items() if "CARD-31337-X" in text]
        assert leaking == ([] if agent == "honest" else ["terminal", *files[1::2]])  # nothing says that it is a card


def test_the_standard_output_and_github(run: Any) -> None:
    """As of `check`."""
    answer = run("simulate", "suite.yaml", "--agent", "report_agents:liar", "--csv", "-", "--github")
    assert answer.out.startswith("case,run,name")
    assert "::" not in answer.out
    lines = answer.err.splitlines()
    assert lines[0].startswith("::stop-commands::")
    assert any(line.startswith("FAILED order, run 1") for line in lines)
    assert lines[-1].startswith("::error file=suite.yaml,line=7,")


@pytest.mark.parametrize("form", ["json", "html", "junit", "markdown", "csv"])
@pytest.mark.parametrize("path", ["suite.yaml", "rows.json", "rows.json.journal"])
def test_no_file_is_used_twice(run: Any, form: str, path: str) -> None:
    """A report is never written over the eval file, the results or the journal."""
    arguments = ("simulate", "suite.yaml", "--agent", "report_agents:honest", "-o", "rows.json", f"--{form}", path)
    answer = run(*arguments)
    assert answer.status == 2
    assert f"and --{form} too" in answer.err
    assert Path("suite.yaml").read_text("utf-8") == SUITE
