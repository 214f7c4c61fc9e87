"""``tracewitness report``, the options for reports, and ``validate``, from the outside."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from report_support import GOOD, SUITE, WRONG, Answer, command, write_rows

from tracewitness.cli.report_options import FORMATS, file_listener
from tracewitness.reports.reading import read_document

ROWS: list[dict[str, Any]] = [
    {"name": "order", "run": 1, "passed": True, "outcome": "passed", "trace": GOOD, "expectation_details": []},
    {"name": "order", "run": 2, "passed": False, "outcome": "inconclusive", "trace": GOOD},
    {"name": "order", "run": 3, "passed": False, "outcome": "infrastructure", "error": "down", "trace": GOOD[:1]},
    {
        "name": "order",
        "run": 4,
        "passed": True,
        "trace": WRONG,
        "expectation_details": [
            {
                "operator": "tool_called",
                "expectation": "[tool] tool_called x",
                "status": "Not Met",
                "justification": "no",
            }
        ],
    },
    {"name": "order", "passed": False, "error": "", "trace": GOOD},
]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Any:
    """Return a function that runs the command line in a folder with a suite and a report."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    Path("suite.evals.yaml").write_text(SUITE, "utf-8")
    write_rows("runs.json", ("order", GOOD), ("order", WRONG))

    def call(*arguments: str) -> Answer:
        return command(monkeypatch, capfd, *arguments)

    assert call("check", "suite.evals.yaml", "runs.json", "--json", "report.json").status == 1
    return call


@pytest.mark.parametrize(
    ("name", "begin"),
    [
        ("r.html", "<!doctype html>"),
        ("r.HTM", "<!doctype html>"),
        ("r.json", '{"version":2,'),
        ("r.xml", "<?xml "),
        ("r.md", "## tracewitness: ❌"),
        ("r.markdown", "## tracewitness: ❌"),
        ("r.csv", "case,run,name"),
    ],
)
def test_the_ending_says_the_form(run: Any, name: str, begin: str) -> None:
    """Each form is written from the document alone, and nothing is printed."""
    assert run("report", "report.json", "-o", name) == (0, "", "")
    assert Path(name).read_text("utf-8").lower().startswith(begin.lower())


@pytest.mark.parametrize("form", ["json", "junit", "markdown", "csv"])
def test_check_and_report_write_the_same(run: Any, form: str) -> None:
    """What `check` writes is what `report` makes of its document, but for the time."""
    run("check", "suite.evals.yaml", "runs.json", f"--{form}", "one")
    run("report", "report.json", f"--{form}", "other")
    one, other = (
        [
            line
            for line in Path(name).read_text("utf-8").splitlines()
            if "created_at" not in line and "timestamp" not in line
        ]
        for name in ("one", "other")
    )
    assert one == other


def test_without_a_file_it_is_printed_as_it_was(run: Any) -> None:
    """The lines are those of the command that wrote the report; the status says that it is written."""
    checked = run("check", "suite.evals.yaml", "runs.json")
    shown = run("report", "report.json")
    assert (shown.status, shown.out) == (0, checked.out)


@pytest.mark.parametrize("form", FORMATS)
def test_the_standard_output(run: Any, form: str) -> None:
    """A dash is the standard output; what else is told goes to the error output."""
    shown = run("check", "suite.evals.yaml", "runs.json", f"--{form}", "-")
    assert "1 run held, 1 broken" in shown.err
    assert "1 run held, 1 broken" not in shown.out
    assert run("report", "report.json", "--as", form).out.splitlines()[1:3] == shown.out.splitlines()[1:3]


def test_a_document_on_the_standard_input(run: Any) -> None:
    """Reports can be piped; recordings there are for `check`."""
    for content, status in ((Path("report.json").read_bytes(), 0), (Path("runs.json").read_bytes(), 2)):
        arguments = [sys.executable, "-m", "tracewitness", "report", "-", "--as", "csv"]
        done = subprocess.run(arguments, input=content, capture_output=True, check=False)
        assert done.returncode == status
        assert (done.stdout == b"") is (status == 2)


def test_earlier_reports_are_history(run: Any) -> None:
    """The last document is the present one; the page knows those before."""
    write_rows("better.json", ("order", GOOD), ("order", GOOD))
    run("check", "suite.evals.yaml", "better.json", "--json", "later.json")
    assert run("report", "report.json", "later.json", "-o", "r.html", "--csv", "r.csv").status == 0
    assert "broken" not in Path("r.csv").read_text("utf-8")
    assert '"earlier":[{' in Path("r.html").read_text("utf-8").replace(" ", "")


def test_recordings_with_a_suite(run: Any) -> None:
    """They are checked as `check` checks them."""
    assert run("report", "runs.json", "--suite", "suite.evals.yaml", "--csv", "a.csv").status == 0
    assert run("report", "report.json", "--csv", "b.csv").status == 0
    assert Path("a.csv").read_text("utf-8") == Path("b.csv").read_text("utf-8")


def test_rows_of_a_simulation(run: Any) -> None:
    """Without a suite, rows say themselves what came of them; a broken check is never passed over."""
    Path("rows.json").write_text(json.dumps(ROWS), "utf-8")
    assert run("report", "rows.json", "--json", "r.json").status == 0
    document = json.loads(Path("r.json").read_text("utf-8"))
    outcomes = ["passed", "inconclusive", "infrastructure", "failed", "failed"]
    assert [each["outcome"] for each in document["runs"]] == outcomes
    assert [each["run"] for each in document["runs"]] == [1, 2, 3, 4, 5]
    assert document["runs"][2]["events"] == GOOD[:1]
    assert document["summary"]["exit_status"] == 1
    assert "INCONCLUSIVE order, run 2" in run("report", "rows.json").out


def test_rows_with_a_suite_keep_what_the_judge_found(run: Any) -> None:
    """A run whose checks hold has not passed where its row says that it has not."""
    Path("rows.json").write_text(json.dumps(ROWS), "utf-8")
    run("report", "rows.json", "--suite", "suite.evals.yaml", "--json", "r.json")
    document = json.loads(Path("r.json").read_text("utf-8"))
    outcomes = ["passed", "inconclusive", "infrastructure", "failed", "failed"]
    assert [each["outcome"] for each in document["runs"]] == outcomes
    assert [each["status"] for each in document["runs"]] == ["held", "held", "broken", "broken", "held"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["report"], "Missing argument"),
        (["report", "none.json"], "there is no such file"),
        (["report", "runs.json"], "name the eval file with --suite"),
        (["report", "report.json", "-o", "r.txt"], "r.txt does not end in"),
        (["report", "report.json", "-o", "r.md", "--markdown", "s.md"], "leave one of them out"),
        (["report", "report.json", "--html", "report.json"], "report.json is being read"),
        (["report", "report.json", "--csv", "./report.json"], "is being read"),
        (
            ["report", "runs.json", "--suite", "suite.evals.yaml", "-o", "suite.evals.yaml", "--as", "csv"],
            "is being read",
        ),
        (["report", "report.json", "--csv", "a", "--junit", "./a"], "can't both be written to a"),
        (["report", "report.json", "--csv", "-", "--junit", "-"], "can't both be written to the standard output"),
        (["report", "report.json", "--csv", "none/r.csv"], "can't be written"),
        (["report", "report.json", "--html", "none/r.html"], "can't be written"),
        (["report", "report.json", "--csv", ""], "needs a file's name"),
        (["report", "report.json", "--csv", "."], "is a folder"),
        (["report", "report.json", "--redact", "args..["], "path"),
        (["report", "old.json"], "a report in version 1; version 2 is read"),
    ],
)
def test_bad_input_is_status_2(run: Any, arguments: list[str], words: str) -> None:
    """One line says what is wrong, and nothing is written."""
    Path("old.json").write_text('{"version": 1, "tracewitness": "0.1.0", "runs": []}', "utf-8")
    before = {path: path.read_bytes() for path in Path().iterdir()}
    answer = run(*arguments)
    assert answer.status == 2
    assert words in answer.err
    assert {path: path.read_bytes() for path in Path().iterdir()} == before


@pytest.mark.parametrize("form", FORMATS)
def test_nothing_is_half_written(run: Any, form: str) -> None:
    """Where the work ends before its end, an older report stays as it was, and no piece is left over."""
    Path("old").write_text("old", "utf-8")
    before = sorted(path.name for path in Path().iterdir())
    document = read_document("report.json")
    assert document is not None
    listener = file_listener(form, "old", document.head, ())
    with listener:
        listener.run(document.runs[0])
    assert Path("old").read_text("utf-8") == "old"
    assert sorted(path.name for path in Path().iterdir()) == before


@pytest.mark.parametrize("form", FORMATS)
def test_a_full_disk_is_an_error(run: Any, form: str) -> None:
    """In every form."""
    answer = run("check", "suite.evals.yaml", "runs.json", f"--{form}", "/dev/full")
    assert answer.status == 2
    assert "/dev/full can't be written: No space left on device" in answer.err


def test_all_forms_at_once(run: Any) -> None:
    """One pass writes them all, and an older file is replaced with its mode as any new one."""
    Path("r.csv").write_text("old", "utf-8")
    options = ["--json", "r.json", "--html", "r.html", "--junit", "r.xml", "--markdown", "r.md", "--csv", "r.csv"]
    assert run("check", "suite.evals.yaml", "runs.json", *options).status == 1
    assert all(Path(name).stat().st_size > 100 for name in options[1::2])
    assert list(Path().glob(".r.*")) == []


def test_github(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Annotations are printed after all else, and the summary is appended to."""
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(Path("summary.md").absolute()))
    answer = run("check", "suite.evals.yaml", "runs.json", "--github")
    assert answer.status == 1
    lines = answer.out.splitlines()
    assert lines[0].startswith("::stop-commands::")
    assert lines[-2] == f"::{lines[0].removeprefix('::stop-commands::')}::"
    assert lines[-1].startswith("::error file=suite.evals.yaml,line=6,")
    assert Path("summary.md").read_text("utf-8").startswith("## tracewitness: ❌")
    printed = run("report", "report.json", "--github", "--csv", "-")
    assert "::error" in printed.err
    assert "::" not in printed.out


def test_validate(run: Any) -> None:
    """Each eval file is loaded; what is wrong is told with its line, and the others all the same."""
    Path("bad.yaml").write_text("evals: [{name: a, tool_expectations: [{type: tool_caled, tool: x}]}]", "utf-8")
    answer = run("validate", "bad.yaml", "suite.evals.yaml", "none.yaml")
    assert answer.status == 2
    assert answer.out == "suite.evals.yaml: 1 case, 2 checks\n"
    assert "bad.yaml:1:" in answer.err
    assert "tool_called" in answer.err
    assert "none.yaml" in answer.err
    assert run("validate", "suite.evals.yaml", "--quiet") == (0, "", "")


@pytest.mark.parametrize("prepare", ["bom", "gzip", "crlf", "indented"])
def test_a_report_is_known_however_it_was_kept(run: Any, prepare: str) -> None:
    """Tools put a byte order mark before it, pack it, or write its lines anew."""
    plain = Path("report.json").read_text("utf-8")
    kept = {
        "bom": plain.encode("utf-8-sig"),
        "gzip": gzip.compress(plain.encode()),
        "crlf": plain.replace("\n", "\r\n").encode(),
        "indented": json.dumps(json.loads(plain), indent=2, sort_keys=True).encode(),
    }
    Path("kept.json").write_bytes(kept[prepare])
    assert run("report", "kept.json") == run("report", "report.json")
    assert run("compare", "report.json", "kept.json").status == 0


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda text: text[: len(text) // 2], "a report that is cut off or damaged: Input data was truncated"),
        (lambda text: text[:60], "a report that is cut off or damaged: Input data was truncated"),
        (lambda text: text.replace("confirmed", "\\ud800", 1), "a report that is cut off or damaged: "),
        (lambda text: text.replace('"version":2,', "", 1), "a report without a version; version 2 is read"),
        (lambda text: text.replace('"version":2', '"version":1', 1), "a report in version 1; version 2 is read"),
        (lambda text: text.replace('"version":2', '"version":"2"', 1), "a report in version '2'; version 2 is read"),
    ],
)
def test_a_report_that_can_not_be_read_is_called_one(run: Any, change: Any, told: str) -> None:
    """It is not taken for a recording, which would need an eval file; and nothing is written."""
    Path("changed.json").write_text(change(Path("report.json").read_text("utf-8")), "utf-8")
    for arguments in (("report", "changed.json", "-o", "r.html"), ("compare", "report.json", "changed.json")):
        answer = run(*arguments)
        assert (answer.status, answer.out) == (2, "")
        assert answer.err.startswith(f"error: changed.json: {told}")
    assert not Path("r.html").exists()


def test_runs_of_several_files_have_numbers_of_their_own(run: Any) -> None:
    """Two files number their rows alike, and one says what can be no number."""
    rows = [{"name": "order", "run": number, "passed": True, "trace": GOOD} for number in (1, 2, 1, 10**30, -1, "3")]
    Path("one.json").write_text(json.dumps(rows), "utf-8")
    Path("two.json").write_text(json.dumps([*rows[:2], {**rows[0], "name": "other"}]), "utf-8")
    assert run("report", "one.json", "two.json", "--json", "both.json").status == 0
    runs = json.loads(Path("both.json").read_text("utf-8"))["runs"]
    assert [each["run"] for each in runs if each["name"] == "order"] == [1, 2, 3, 4, 5, 6, 7, 8]
    assert [each["run"] for each in runs if each["name"] == "other"] == [1]


def test_a_report_is_no_recording(run: Any) -> None:
    """Who reads a folder that a report was written into is told what it is."""
    Path("runs").mkdir()
    write_rows("runs/runs.json", ("order", GOOD))
    assert run("check", "suite.evals.yaml", "runs", "--json", "runs/report.json").status == 0
    again = run("check", "suite.evals.yaml", "runs", "--json", "other.json")
    assert again.status == 2
    assert "a report that `--json` wrote, and no recording; `report` and `compare` read reports" in again.out


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such modes")
def test_who_may_read_a_report_stays(run: Any) -> None:
    """A report that is written anew is no more open than it was; a new one is as files are."""
    Path("mine.json").write_text("{}", "utf-8")
    Path("mine.json").chmod(0o600)
    Path("link.json").symlink_to("mine.json")
    for name in ("mine.json", "link.json", "new.json"):
        run("report", "report.json", "-o", name)
    Path("plain").touch()
    assert Path("mine.json").stat().st_mode & 0o777 == 0o600
    assert Path("link.json").is_symlink()
    assert Path("new.json").stat().st_mode == Path("plain").stat().st_mode
