"""A recording that breaks off: what the rest could decide is inconclusive in every report, and in the exit status."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from report_support import Answer, command

from tracewitness import expect, read
from tracewitness.errors import TracewitnessError
from tracewitness.evals import apply_to_result

SUITE = """\
evals:
- name: order
  tool_expectations:
  - {type: tool_called, tool: search}
  - {type: tool_called, tool: order}
  - {type: tool_not_called, tool: delete}
"""
BROKEN = SUITE + "  - {type: tool_not_called, tool: search}\n"
CUT: dict[str, Any] = {
    "name": "order",
    "events": [{"user": "hi"}, {"call": "search"}, {"result": 1}],
    "problems": [{"reason": "the file ends here", "cut": True}],
}


Run = Callable[..., Answer]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    """Return a function that runs the command line in a folder with two suites and a cut recording."""
    monkeypatch.chdir(tmp_path)
    Path("order.evals.yaml").write_text(SUITE)
    Path("broken.evals.yaml").write_text(BROKEN)
    Path("runs.json").write_text(json.dumps(CUT))
    Path("lines.jsonl").write_text(json.dumps(CUT) + "\n")
    return lambda *arguments: command(monkeypatch, capfd, *arguments)


def test_check_ends_with_a_status_of_its_own(run: Run) -> None:
    answer = run("check", "order.evals.yaml", "runs.json")
    assert answer.status == 3
    assert "INCONCLUSIVE" in answer.out
    assert "BROKEN" not in answer.out
    assert "the file ends here" in answer.out


def test_what_is_broken_is_broken_all_the_same(run: Run) -> None:
    answer = run("check", "broken.evals.yaml", "runs.json")
    assert answer.status == 1
    assert "BROKEN" in answer.out


def test_every_report_says_so(run: Run) -> None:
    options = ["--json", "out.json", "--junit", "out.xml", "--markdown", "out.md", "--csv", "out.csv"]
    answer = run("check", "order.evals.yaml", "runs.json", *options)
    assert answer.status == 3
    document = json.loads(Path("out.json").read_text())
    (reported,) = document["runs"]
    assert [verdict["status"] for verdict in reported["verdicts"]] == ["held", *["inconclusive"] * 3]
    assert (reported["status"], reported["outcome"]) == ("inconclusive", "inconclusive")
    assert reported["problems"][0]["cut"] is True
    counts = document["summary"]
    assert (counts["inconclusive"], counts["passed"], counts["failed"], counts["broken"]) == (1, 0, 0, 0)
    suites = ElementTree.parse("out.xml").getroot()  # noqa: S314 - written by the command above
    assert (suites.get("failures"), suites.get("errors")) == ("0", "3")
    assert Path("out.md").read_text().count("  - **inconclusive**") == 3
    assert Path("out.csv").read_text().count(",inconclusive,") >= 3


def test_a_report_of_results_and_a_comparison_know_it(run: Run) -> None:
    run("check", "order.evals.yaml", "runs.json", "--json", "cut.json")
    Path("whole.json").write_text(json.dumps({**CUT, "problems": [], "events": [*CUT["events"], {"call": "order"}]}))
    run("check", "order.evals.yaml", "whole.json", "--json", "held.json")
    answer = run("compare", "held.json", "cut.json")
    assert "newly broken" not in answer.out.lower()
    assert answer.status == 1  # a case that can't be told any more must not look like success


def test_a_scan_counts_it_apart(run: Run) -> None:
    pytest.importorskip("pyarrow")
    answer = run("scan", "order.evals.yaml", "lines.jsonl", "-o", "verdicts.parquet")
    assert answer.status == 3
    assert "0 held, 0 broken, 1 inconclusive" in answer.out


def test_it_is_folded_into_a_result_as_not_met() -> None:
    case = {"tool_expectations": [{"type": "tool_called", "tool": "order"}]}
    row: dict[str, Any] = {"name": "order", "passed": True, "trace": CUT["events"], "trace_problems": CUT["problems"]}
    apply_to_result(case, row)
    assert row["passed"] is False
    assert [(entry["status"], entry.get("inconclusive")) for entry in row["expectation_details"]] == [
        ("Not Met", True),
        ("Not Met", True),
    ]


def test_a_contract_does_not_pass_on_it() -> None:
    with pytest.raises((AssertionError, TracewitnessError), match="the file ends here"):
        expect(read(CUT)).calls("search").does_not_call("delete").run()


@pytest.mark.parametrize("form", ["json", "atif"])
def test_what_is_written_down_of_a_cut_is_read_again(run: Run, form: str) -> None:
    answer = run("read", "runs.json", "--as", form)
    assert answer.status == 1  # it has a problem
    assert [problem.cut for problem in read(json.loads(answer.out)).problems] == [True]
