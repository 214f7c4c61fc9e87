"""``tracewitness compare`` from the outside: what it prints and writes, and with which exit status."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from report_support import GOOD, SUITE, WRONG, Answer, command, write_rows

from tracewitness.reports.comparison import comparison_schema


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Any:
    """Return a function that runs the command line in a folder with two reports."""
    monkeypatch.chdir(tmp_path)
    Path("suite.evals.yaml").write_text(SUITE, "utf-8")

    def call(*arguments: str) -> Answer:
        return command(monkeypatch, capfd, *arguments)

    for name, runs in (("good", (GOOD, GOOD)), ("bad", (GOOD, WRONG))):
        write_rows(f"{name}.runs.json", *(("order", events) for events in runs))
        call("check", "suite.evals.yaml", f"{name}.runs.json", "--json", f"{name}.json")
    return call


def test_what_broke(run: Any) -> None:
    """The case, the check with why, and the call that changed."""
    answer = run("compare", "good.json", "bad.json")
    assert answer == (
        1,
        "BROKEN order  2/2 → 1/2 passed (p = 1)\n"
        "    BROKEN tool_called create_order  2/2 → 1/2 held (p = 1)\n"
        "        create_order was called once, none with matching arguments, expected at least 1\n"
        "    calls, run 1 → run 2:\n"
        "        create_order changed args.item_id: was 'ITEM-42', is 'ITEM-24'\n"
        "2 newly broken, 0 cases as before\n",
        "",
    )


@pytest.mark.parametrize(
    ("arguments", "status", "last"),
    [
        (["good.json", "good.json"], 0, "1 case as before"),
        (["bad.json", "good.json"], 0, "2 newly held, 0 cases as before"),
        (["bad.json", "bad.json"], 0, "2 flaky, 0 cases as before"),
        (["good.json", "bad.json", "--tolerance", "0.5"], 0, "2 flaky, 0 cases as before"),
        (["good.json", "bad.json", "--tolerance", "0.4"], 1, "2 newly broken, 0 cases as before"),
        (["good.json", "bad.json", "--alpha", "0.05"], 1, "2 newly broken, 0 cases as before"),
        (["good.json", "bad.json", "--alpha", "0.5"], 0, "2 flaky, 0 cases as before"),
        (["good.runs.json", "bad.runs.json", "--suite", "suite.evals.yaml"], 1, "2 newly broken, 0 cases as before"),
    ],
)
def test_statuses(run: Any, arguments: list[str], status: int, last: str) -> None:
    """Only what broke, or can't be told any more, is status 1."""
    answer = run("compare", *arguments)
    assert (answer.status, answer.out.splitlines()[-1]) == (status, last)


def test_json_is_valid(run: Any) -> None:
    """What is written is what the published schema describes."""
    answer = run("compare", "good.json", "bad.json", "--as", "json")
    comparison = json.loads(answer.out)
    jsonschema.Draft202012Validator(comparison_schema()).validate(comparison)
    assert comparison["exit_status"] == answer.status == 1
    assert comparison["counts"] == {"newly_broken": 2}
    assert json.loads(run("schema", "--of", "comparison").out) == json.loads(json.dumps(comparison_schema()))


@pytest.mark.parametrize(
    ("name", "begin"), [("c.md", "## tracewitness: ❌"), ("c.html", "<!doctype html>"), ("c.json", '{"version":1,')]
)
def test_files(run: Any, name: str, begin: str) -> None:
    """The ending says the form; the lines are printed all the same."""
    answer = run("compare", "good.json", "bad.json", "-o", name)
    assert answer.status == 1
    assert Path(name).read_text("utf-8").startswith(begin)
    assert answer.out.startswith("BROKEN order")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["good.json"], "Missing argument"),
        (["good.json", "none.json"], "there is no such file"),
        (["good.json", "torn.json"], "is not of the form that `--json` writes"),
        (["good.json", "bad.runs.json"], "name the eval file with --suite"),
        (["good.json", "bad.json", "--tolerance", "1"], "tolerance is a number from 0 to below 1"),
        (["good.json", "bad.json", "--alpha", "x"], "alpha is a number from 0 to below 1"),
        (["good.json", "bad.json", "-o", "c.txt"], "does not end in"),
        (["good.json", "bad.json", "-o", "bad.json"], "is being read"),
        (["good.json", "empty.json"], "has no run"),
    ],
)
def test_bad_input_is_status_2(run: Any, arguments: list[str], words: str) -> None:
    """One line says what is wrong."""
    Path("torn.json").write_text('{"version": 2, "tracewitness": "0.1.0", "runs": [{}]}', "utf-8")
    empty = json.loads(Path("good.json").read_text("utf-8")) | {"runs": []}
    Path("empty.json").write_text(json.dumps(empty), "utf-8")
    answer = run("compare", *arguments)
    assert answer.status == 2
    assert words in answer.err
    assert "BROKEN" not in answer.out


def test_the_standard_input_is_one_report(run: Any) -> None:
    """It can't be read twice."""
    answer = run("compare", "-", "-")
    assert (answer.status, answer.out) == (2, "")
    assert answer.err == "error: the standard input can be one of the two reports, and not both\n"
