"""The section at the end of a session, and the reports that are asked for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from plugin_support import CANCEL, SUITE, Project, order

PROCESSES = pytest.mark.parametrize("processes", [(), ("-n", "2")], ids=["one process", "two workers"])

TESTS = """
def test_pays(witness):
    witness([{"tool": "create_order"}], {"type": "tool_called", "tool": "pay"})

def test_nothing():
    pass
"""


@pytest.fixture
def shop(project: Project) -> Project:
    """Return a project with eval files and tests, of which some fail."""
    project.ini("tracewitness_results = runs.jsonl")
    project.write("shop.evals.yaml", SUITE)
    project.write("test_shop.py", TESTS)
    project.runs(order(), order("ITEM-7"), order("ITEM-8"), CANCEL)
    return project


@PROCESSES
@pytest.mark.parametrize("per_check", [False, True], ids=["per case", "per check"])
def test_the_section(shop: Project, processes: tuple[str, ...], per_check: bool) -> None:
    """The section counts contracts and checks, and groups what is broken; per check it counts the same."""
    shop.ini("tracewitness_results = runs.jsonl", f"tracewitness_per_check = {per_check}")
    test = "shop.evals.yaml::order" + ("::tool_called-create_order" if per_check else "")
    shop.run(*processes).stdout.fnmatch_lines(
        [
            "*= tracewitness =*",
            "5 contracts, 14 checks: 11 held, 3 broken",
            f"  tool_called create_order: 2 not held, in {test}",
            "  tool_called pay: 1 not held, in test_shop.py::test_pays",
            "note: the tag order desk is the marker order_desk",
        ]
    )


@pytest.mark.parametrize("arguments", [[], ["-n", "2"], ["-v"], ["-q"]], ids=str)
def test_no_section_where_nothing_is_used(project: Project, arguments: list[str]) -> None:
    """A project that uses nothing of the plugin sees nothing of it."""
    project.write("test_a.py", "def test_a():\n    assert [1] == [1]\ndef test_b():\n    assert [1] == [2]\n")
    result = project.run(*arguments)
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.no_fnmatch_line("*= tracewitness =*")


def test_many_groups_are_cut(project: Project) -> None:
    """Of very many operators and tools, and of tests, the first are named."""
    project.write(
        "test_many.py",
        "import pytest\n@pytest.mark.parametrize('number', range(30))\ndef test_many(witness, number):\n"
        "    witness([], [{'type': 'tool_called', 'tool': tool} for tool in (f'tool_{number}', 'pay')])\n",
    )
    project.run().stdout.fnmatch_lines(
        [
            "30 contracts, 90 checks: 30 held, 60 broken",
            "  tool_called pay: 30 not held, in test_many.py::test_many[[]0], *2[]] and 27 more tests",
            "  … and 11 more operators and tools",
        ]
    )


def document(path: Path) -> dict[str, Any]:
    """Return a JSON report, once it is found to be of its form."""
    import msgspec

    from tracewitness.reports.document import ReportDocument

    msgspec.json.decode(path.read_bytes(), type=ReportDocument)
    found: dict[str, Any] = json.loads(path.read_bytes())
    return found


@PROCESSES
@pytest.mark.parametrize("per_check", [False, True], ids=["per case", "per check"])
def test_json(shop: Project, processes: tuple[str, ...], per_check: bool) -> None:
    """The JSON report has each run once, with its checks, their places and what happened."""
    shop.ini("tracewitness_results = runs.jsonl", f"tracewitness_per_check = {per_check}")
    shop.run("--witness-json", "report.json", *processes)
    report = document(shop.path / "report.json")
    assert report["command"] == "pytest"
    assert report["suite"] == "shop.evals.yaml"
    runs = sorted((run["source"], run["number"], run["case"], run["status"]) for run in report["runs"] if run["case"])
    assert runs == [
        ("runs.jsonl", 1, "order", "held"),
        ("runs.jsonl", 2, "order", "broken"),
        ("runs.jsonl", 3, "order", "broken"),
        ("runs.jsonl", 4, "cancel", "held"),
    ]
    (own,) = (run for run in report["runs"] if not run["case"])
    assert (own["source"], own["name"], own["status"]) == ("test_shop.py", "test_pays", "broken")
    (broken,) = (run for run in report["runs"] if run["number"] == 2)
    (verdict,) = (verdict for verdict in broken["verdicts"] if verdict["status"] == "broken")
    assert (verdict["file"], verdict["line"], verdict["near_miss"]["position"]) == ("shop.evals.yaml", 7, 1)
    assert broken["events"][1] == {"call": "create_order", "args": {"item_id": "ITEM-7"}}
    assert report["summary"]["exit_status"] == 1
    assert report["summary"]["checks"] == 14
    assert report["notices"] == ["note: the tag order desk is the marker order_desk"]


def test_json_of_a_case_without_a_run(shop: Project) -> None:
    """A case that could not be checked is missing in the report."""
    shop.runs(order())
    shop.run("--witness-json", "report.json")
    assert document(shop.path / "report.json")["summary"]["missing"] == ["cancel"]


def test_json_hides_secrets(shop: Project) -> None:
    """What has the look of a secret is in no report."""
    key = "sk-proj-" + "a1B2" * 12
    call = {"call": "create_order", "args": {"item_id": "ITEM-42", "api_key": key}}
    shop.runs({"name": "order", "events": [{"user": f"use {key}"}, call]}, CANCEL)
    shop.run("--witness-json", "report.json", "--witness-html", "report.html")
    assert key not in (shop.path / "report.json").read_text("utf-8")


@PROCESSES
def test_json_without_anything_used(project: Project, processes: tuple[str, ...]) -> None:
    """A report that was asked for is written though nothing was checked."""
    project.write("test_a.py", "def test_a():\n    pass\n")
    project.run("--witness-json", "report.json", *processes)
    assert document(project.path / "report.json")["runs"] == []


@pytest.mark.parametrize("option", ["--witness-json", "--witness-html"])
@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("", "*the report needs a file's name, not an empty one*"),
        ("folder", "*folder is a folder; the report is a file*"),
        ("missing/report", "*missing/report can't be written: there is no folder*"),
        ("-", "*the standard output is pytest's; name a file*"),
    ],
)
def test_reports_that_can_not_be_written(shop: Project, option: str, target: str, said: str) -> None:
    """What can't be written is told of before any test runs."""
    (shop.path / "folder").mkdir()
    result = shop.run(f"{option}={target}")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: {option}: {said}"])


def test_a_report_that_fails_at_the_end(shop: Project) -> None:
    """What can't be written at the end is told of there, and the session has failed."""
    shop.write("test_shop.py", "import shutil\ndef test_a():\n    shutil.rmtree('reports')\n")
    (shop.path / "reports").mkdir()
    result = shop.run("--witness-json", "reports/report.json", "-k", "cancel or test_a")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stdout.fnmatch_lines(["error: *reports/report.json can't be written: No such file or directory"])


@pytest.mark.parametrize("arguments", [["-p", "no:terminal"], ["-q", "--tb=no"]], ids=" ".join)
def test_reports_without_a_terminal(shop: Project, arguments: list[str]) -> None:
    """Reports are written whatever the terminal shows."""
    shop.run("--witness-json", "report.json", *arguments)
    assert len(document(shop.path / "report.json")["runs"]) == 5


def test_html(shop: Project) -> None:
    """The HTML report is a page with the runs."""
    shop.run("--witness-html", "report.html")
    page = (shop.path / "report.html").read_text("utf-8")
    assert page.lower().startswith("<!doctype html>")
    assert "shop.evals.yaml" in page


@PROCESSES
def test_junit(shop: Project, processes: tuple[str, ...]) -> None:
    """pytest's own JUnit report has what the checks came to as properties, and the first line of the failure."""
    shop.run("--junitxml", "junit.xml", *processes)
    cases = {case.get("name"): case for case in ElementTree.parse(shop.path / "junit.xml").iter("testcase")}  # noqa: S314
    told = {
        name: {each.get("name"): each.get("value") for each in case.iter("property")} for name, case in cases.items()
    }
    assert told == {
        "order": {
            "witness_case": "order",
            "witness_status": "broken",
            "witness_runs": "3",
            "witness_operator": "tool_called",
        },
        "cancel": {"witness_case": "cancel", "witness_status": "held", "witness_runs": "1"},
        "runs-without-a-case": {"witness_status": "held", "witness_runs": "0"},
        "test_pays": {"witness_status": "broken", "witness_operator": "tool_called"},
        "test_nothing": {},
    }
    failure = cases["order"].find("failure")
    assert failure is not None
    assert failure.get("message") == "2 of 3 runs, broken: tool_called create_order"
    assert "shop.evals.yaml:7: broken: tool_called create_order" in (failure.text or "")


def test_junit_of_a_missing_run(shop: Project) -> None:
    """A case without a run has the status missing."""
    shop.runs(order())
    shop.run("--junitxml", "junit.xml", "-k", "cancel")
    properties = ElementTree.parse(shop.path / "junit.xml").iter("property")  # noqa: S314
    assert {each.get("name"): each.get("value") for each in properties} == {
        "witness_case": "cancel",
        "witness_status": "missing",
    }


SECRET = "sk-proj-" + "a1B2" * 12

LEAKS = f"""
import pytest
from tracewitness import record
EVENTS = [{{"user": "use {SECRET}"}}, {{"call": "pay", "args": {{"api_key": "{SECRET}"}}}}]

@record.tool
def pay(api_key):
    return api_key

@pytest.fixture
def run():
    return {{"name": "order", "events": EVENTS}}

def test_checks(witness, run):
    witness(run, {{"type": "tool_called", "tool": "pay", "args": {{"api_key": "other"}}}})
"""


def test_secrets_are_not_shown(shop: Project) -> None:
    """What has the look of a secret is not in what the plugin shows, of eval files and of fixtures."""
    shop.write("test_shop.py", LEAKS)
    call = {"call": "create_order", "args": {"item_id": SECRET}}
    shop.runs({"name": "order", "events": [{"user": f"use {SECRET}"}, call, {"agent": SECRET}]}, CANCEL)
    result = shop.run("--tb=short")
    result.assert_outcomes(failed=2, passed=2)
    assert SECRET not in result.stdout.str()
    result.stdout.fnmatch_lines(["*nearest, at event 1: args.item_id: expected *ITEM-42*, got *redacted*"])


def test_repeated_tests(project: Project) -> None:
    """Of a test that is repeated every run is counted."""
    project.write(
        "test_often.py",
        "import pytest\n@pytest.mark.witness(runs=3)\ndef test_often(witness):\n"
        "    witness([{'tool': 'pay'}], {'type': 'tool_called', 'tool': 'pay'})\n",
    )
    result = project.run()
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["3 contracts, 6 checks: 6 held"])
