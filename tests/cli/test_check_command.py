"""``tracewitness check`` from the outside: what it prints, and with which exit status."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tracewitness.cli import main

SUITE = """
common_tool_expectations:
  - {type: max_errors, max: 0}
evals:
  - name: order
    tags: [P0]
    tool_expectations:
      - {type: tool_called, tool: create_order, args: {item_id: ITEM-42}, reason: the customer wants it}
      - {type: end_session}
  - name: refund
    tags: [P1]
    tool_expectations:
      - {type: tool_not_called, tool: create_order}
"""

#: Twenty levels of anchors, each with the one before it twice: a million texts in half a kilobyte.
BOMB = "evals:\n  - name: a\n    session_parameters:\n      a0: &a0 [x, x]\n" + "".join(
    f"      a{level}: &a{level} [*a{level - 1}, *a{level - 1}]\n" for level in range(1, 21)
)

GOOD = [{"call": "create_order", "args": {"item_id": "ITEM-42"}}, {"call": "end_session"}]
WRONG_ITEM = [{"call": "create_order", "args": {"item_id": "ITEM-24"}}, {"call": "end_session"}]
REFUND = [{"user": "my money, please"}, {"call": "refund", "args": {"id": 1}}]


class Answer(NamedTuple):
    """What a command did."""

    status: int
    out: str
    err: str


Run = Callable[..., Answer]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Return a function that runs the command line in a folder with the suite above."""
    (tmp_path / "suite.evals.yaml").write_text(SUITE, "utf-8")
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str) -> Answer:
        monkeypatch.setattr(sys, "argv", ["tracewitness", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = capsys.readouterr()
        assert "Traceback" not in out + err
        return Answer(ended.value.code if isinstance(ended.value.code, int) else 0, out, err)

    return call


def write(name: str, content: Any) -> None:
    """Write a file: bytes as they are, text as it is, anything else as JSON."""
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        path.write_text(content if isinstance(content, str) else json.dumps(content), "utf-8")


def traces(**runs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return rows in neutral form, by the names of runs."""
    return [{"name": name, "events": events} for name, events in runs.items()]


def test_all_held_is_status_0(run: Run) -> None:
    """Where all checks hold, each run has its line, and the status is 0."""
    write("results.json", traces(order=GOOD, refund=REFUND))
    answer = run("check", "suite.evals.yaml", "results.json")
    assert answer.status == 0
    assert answer.out.splitlines() == [
        "HELD   order   (results.json, row 1)  4/4 checks held",
        "HELD   refund  (results.json, row 2)  3/3 checks held",
        "2 runs held, 0 broken",
    ]


def test_what_is_broken_is_explained(run: Run) -> None:
    """A broken check shows its line in the eval file, why, the nearest miss and the author's reason."""
    write("results.json", traces(order=WRONG_ITEM, refund=REFUND))
    answer = run("check", "suite.evals.yaml", "results.json")
    assert answer.status == 1
    assert answer.out.splitlines()[:5] == [
        "BROKEN order   (results.json, row 1)  3/4 checks held",
        "    BROKEN tool_called create_order  (suite.evals.yaml:8)",
        "        create_order was called once, none with matching arguments, expected at least 1",
        "        nearest, at event 0: args.item_id: expected 'ITEM-42', got 'ITEM-24'",
        "        reason: the customer wants it",
    ]


def test_several_runs_of_a_case_are_counted(run: Run) -> None:
    """Runs with one name are runs of one case."""
    rows = [*traces(order=GOOD), *traces(order=WRONG_ITEM), *traces(order=GOOD, refund=REFUND)]
    write("results.json", {"results": rows})
    answer = run("check", "suite.evals.yaml", "results.json")
    assert "order: 2/3 held" in answer.out.splitlines()
    assert "refund:" not in answer.out


def test_a_case_without_a_run_is_broken(run: Run) -> None:
    """A case that nothing was recorded for is no success, unless that is allowed."""
    write("results.json", traces(order=GOOD))
    answer = run("check", "suite.evals.yaml", "results.json")
    assert answer.status == 1
    assert "refund  no run of this case was found" in answer.out
    assert "1 case without a run" in answer.out
    allowed = run("check", "suite.evals.yaml", "results.json", "--allow-missing")
    assert allowed.status == 0
    assert "refund" not in allowed.out


def test_a_run_without_a_case_is_listed(run: Run) -> None:
    """A run that no case has is checked by what is common, and named."""
    write("results.json", traces(order=GOOD, refund=REFUND, refnd=REFUND))
    answer = run("check", "suite.evals.yaml", "results.json")
    assert answer.status == 0
    assert "HELD   refnd   (results.json, row 3)  2/2 checks held, no case of that name" in answer.out
    assert "note: no case is named refnd; its runs had the common checks only" in answer.out


def test_common_checks_apply_to_runs_without_a_case(run: Run) -> None:
    """What is common to all can break a run without a case."""
    failed = [{"call": "pay"}, {"result": "declined", "is_error": True}]
    write("results.json", traces(order=GOOD, refund=REFUND, other=failed))
    answer = run("check", "suite.evals.yaml", "results.json")
    assert answer.status == 1
    assert "BROKEN other" in answer.out


def test_the_file_names_a_trace_without_a_name(run: Run) -> None:
    """The stem of a file picks the case of a trace that has no name."""
    write("runs/order.json", {"events": GOOD})
    write("runs/deeper/refund.json", REFUND)
    write("runs/notes.txt", "not a run")
    answer = run("check", "suite.evals.yaml", "runs")
    assert answer.status == 0
    assert "2 runs held, 0 broken" in answer.out


def test_one_case_for_all_runs(run: Run) -> None:
    """``--case`` checks every run against one case, whatever it is called."""
    write("a.json", {"events": GOOD})
    write("b.json", {"events": WRONG_ITEM})
    answer = run("check", "suite.evals.yaml", "a.json", "b.json", "--case", "order")
    assert answer.status == 1
    assert "order: 1/2 held" in answer.out
    assert "without a run" not in answer.out


@pytest.mark.parametrize("option", [("--tag", "P1"), ("--name", "refund")])
def test_filters(run: Run, option: tuple[str, str]) -> None:
    """Filters leave cases out; their runs are counted, not judged."""
    write("results.json", traces(order=WRONG_ITEM, refund=REFUND))
    answer = run("check", "suite.evals.yaml", "results.json", *option)
    assert answer.status == 0
    assert answer.out.splitlines()[-1] == "1 run held, 0 broken, 1 not selected"


@pytest.mark.parametrize(
    ("option", "meant"), [(("--tag", "P00"), "P0"), (("--name", "refnd"), "refund"), (("--case", "ordr"), "order")]
)
def test_a_filter_that_names_nothing_is_refused(run: Run, option: tuple[str, str], meant: str) -> None:
    """A misspelt filter would select nothing and pass; it is an error that names what was meant."""
    write("results.json", traces(order=GOOD, refund=REFUND))
    answer = run("check", "suite.evals.yaml", "results.json", *option)
    assert answer.status == 2
    assert meant in answer.err
    assert len(answer.err.splitlines()) == 1


def test_json_lines(run: Run) -> None:
    """JSON Lines are read line by line; a torn one is reported, and the rest is checked."""
    lines = [json.dumps(row) for row in traces(order=GOOD, refund=REFUND)]
    write("results.jsonl", "\n".join([lines[0], "", '{"name": "order", "events": [', lines[1]]))
    answer = run("check", "suite.evals.yaml", "results.jsonl")
    assert answer.status == 2
    assert "2 runs held, 0 broken, 1 could not be read" in answer.out
    assert "line 3" in answer.out


def test_a_row_that_is_a_number(run: Run) -> None:
    """A row that is no run is reported with status 2; the others are still checked."""
    order, refund = traces(order=GOOD, refund=REFUND)
    write("results.json", [order, refund, 5, order])
    answer = run("check", "suite.evals.yaml", "results.json")
    assert answer.status == 2
    assert "row 3" in answer.out
    assert "3 runs held, 0 broken, 1 could not be read" in answer.out


def test_a_row_with_an_error_fails_every_check(run: Run) -> None:
    """A run that failed is no evidence, also for what it would hold of nothing."""
    write("results.json", [*traces(order=GOOD), {"name": "refund", "passed": False, "error": "connection lost"}])
    answer = run("check", "suite.evals.yaml", "results.json")
    assert answer.status == 1
    assert "BROKEN refund  (results.json, row 2)  0/3 checks held" in answer.out
    assert "connection lost" in answer.out


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("cut.json", '[{"name": "order", "events": ['),
        ("empty.json", ""),
        ("binary.json", b"\xff\xfe\x00\x01"),
        ("number.json", "5"),
        ("other.json", '{"hello": "world"}'),
        ("deep.json", "[" * 100_000),
        ("no_rows.json", "[]"),
        ("words.json", "All went well."),
    ],
)
def test_unreadable_results(run: Run, name: str, content: Any) -> None:
    """What can't be read or understood is named, with status 2."""
    write(name, content)
    answer = run("check", "suite.evals.yaml", name, "--allow-missing")
    assert answer.status == 2
    assert name in answer.out + answer.err


def test_missing_results_and_empty_folders(run: Run) -> None:
    """A path that is not there, or a folder without runs, is one line on standard error."""
    Path("nothing").mkdir()
    for path in ("no_such.json", "nothing"):
        answer = run("check", "suite.evals.yaml", path)
        assert answer.status == 2
        assert path in answer.err
        assert len(answer.err.splitlines()) == 1


def test_a_byte_order_mark_is_accepted(run: Run) -> None:
    """Files written with a byte order mark are read, both the suite and the results."""
    write("bom.evals.yaml", b"\xef\xbb\xbf" + SUITE.encode())
    write("bom.json", b"\xef\xbb\xbf" + json.dumps(traces(order=GOOD, refund=REFUND)).encode())
    assert run("check", "bom.evals.yaml", "bom.json").status == 0


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("evals:\n  - name: a\n    tool_expectation: []\n", "bad.yaml:3:5"),
        ("evals:\n  - name: a\n    tool_expectations: [{type: tool_caled, tool: x}]\n", "tool_called"),
        ("evals: [\n", "bad.yaml"),
        (BOMB, "bad.yaml"),
        ("[" * 10_000, "bad.yaml"),
        (b"\xff\xfe\xff", "bad.yaml"),
        ("", "bad.yaml"),
    ],
)
def test_bad_suites(run: Run, content: Any, said: str) -> None:
    """A bad eval file is one line that says what, where and what to do, with status 2."""
    write("bad.yaml", content)
    write("results.json", traces(order=GOOD))
    answer = run("check", "bad.yaml", "results.json")
    assert answer.status == 2
    assert said in answer.err
    assert len(answer.err.splitlines()) == 1
    assert answer.out == ""


def test_foreign_keys_are_named_in_one_notice(run: Run) -> None:
    """Keys of other tools are kept and named once; ``--quiet`` leaves the notice out."""
    write("foreign.yaml", SUITE.replace("  - name: order\n", "  - name: order\n    voice_config: {rate: 1}\n"))
    write("results.json", traces(order=GOOD, refund=REFUND))
    answer = run("check", "foreign.yaml", "results.json")
    assert answer.status == 0
    assert len([line for line in answer.err.splitlines() if "voice_config" in line]) == 1
    quiet = run("check", "foreign.yaml", "results.json", "--quiet")
    assert quiet.err == ""
    assert quiet.out == "2 runs held, 0 broken\n"


def test_json_report(run: Run) -> None:
    """``--json`` writes everything: runs, verdicts with evidence and nearest miss, counts."""
    write("results.json", [*traces(order=WRONG_ITEM, refund=REFUND), 5])
    answer = run("check", "suite.evals.yaml", "results.json", "--json", "report.json")
    report = json.loads(Path("report.json").read_text("utf-8"))
    assert answer.status == report["summary"]["exit_status"] == 2
    assert [one["status"] for one in report["runs"]] == ["broken", "held", "unreadable"]
    broken = next(verdict for verdict in report["runs"][0]["verdicts"] if verdict["status"] == "broken")
    assert broken["operator"] == "tool_called"
    assert broken["line"] == 8
    assert broken["near_miss"]["differences"] == [
        {
            "path": "args.item_id",
            "reason": "",
            "text": "args.item_id: expected 'ITEM-42', got 'ITEM-24'",
            "expected": "ITEM-42",
            "actual": "ITEM-24",
        }
    ]
    assert report["version"] == 2
    assert list(Path().glob(".report.json.*")) == []


def test_an_unwritable_json_report_is_an_error(run: Run) -> None:
    """A report that can't be written is an error before anything is checked."""
    write("results.json", traces(order=GOOD, refund=REFUND))
    answer = run("check", "suite.evals.yaml", "results.json", "--json", "no/such/folder/report.json")
    assert answer.status == 2
    assert "report.json" in answer.err


def test_hostile_names_can_not_touch_the_terminal(run: Run) -> None:
    """Control characters of a recording are escaped in the output."""
    hostile = "x\x1b[2J\u202e\r\n"
    write("results.json", [{"name": hostile, "events": [{"call": hostile, "args": {hostile: hostile}}]}])
    answer = run("check", "suite.evals.yaml", "results.json", "--case", "order", "--json", "r.json")
    assert answer.status == 1
    assert all(character.isprintable() or character == "\n" for character in answer.out)
    assert "\x1b" not in Path("r.json").read_text("utf-8")


@pytest.mark.parametrize("arguments", [["--no-color"], []])
def test_colour_only_where_wanted(arguments: list[str], tmp_path: Path) -> None:
    """Without a terminal, with ``--no-color`` or NO_COLOR, the output has no colour."""
    (tmp_path / "suite.yaml").write_text(SUITE, "utf-8")
    (tmp_path / "results.json").write_text(json.dumps(traces(order=WRONG_ITEM)), "utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "tracewitness", "check", "suite.yaml", "results.json", *arguments],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "NO_COLOR": "1"},
    )
    assert done.returncode == 1
    assert "\x1b" not in done.stdout


def test_schema_command(run: Run) -> None:
    """``tracewitness schema`` prints the JSON Schema of eval files."""
    answer = run("schema")
    assert answer.status == 0
    assert json.loads(answer.out)["$schema"].startswith("https://json-schema.org/draft/2020-12/")


def test_help_names_every_command(run: Run) -> None:
    """The help lists the commands, and each command has one of its own with examples."""
    answer = run("--help")
    assert answer.status == 0
    for command in ("check", "schema"):
        assert command in answer.out
        assert "Example" in run(command, "--help").out


@pytest.mark.parametrize("arguments", [["chekc"], ["check"], ["check", "suite.evals.yaml"], ["check", "--nope"]])
def test_wrong_usage_is_status_2(run: Run, arguments: list[str]) -> None:
    """A command or option that is not there, or a missing argument, is status 2."""
    assert run(*arguments).status == 2


def test_json_report_to_what_is_no_regular_file(run: Run) -> None:
    """A device or pipe is written to as it is, never replaced by a file."""
    write("results.json", traces(order=GOOD, refund=REFUND))
    answer = run("check", "suite.evals.yaml", "results.json", "--json", "/dev/null")
    assert answer.status == 0
    assert Path("/dev/null").is_char_device()


def test_json_report_through_a_link(run: Run) -> None:
    """A link is followed, not replaced."""
    write("results.json", traces(order=GOOD, refund=REFUND))
    Path("link.json").symlink_to("target.json")
    assert run("check", "suite.evals.yaml", "results.json", "--json", "link.json").status == 0
    assert Path("link.json").is_symlink()
    assert json.loads(Path("target.json").read_text("utf-8"))["summary"]["held"] == 2


@pytest.mark.parametrize("target", ["results.json", "suite.evals.yaml", "folder", "", "linked.json"])
def test_json_report_never_overwrites_what_is_read(run: Run, target: str) -> None:
    """The eval file, the results, a folder and an empty name are refused before anything is done."""
    write("results.json", traces(order=GOOD, refund=REFUND))
    Path("folder").mkdir()
    Path("linked.json").symlink_to("results.json")
    before = Path("results.json").read_bytes(), Path("suite.evals.yaml").read_bytes()
    answer = run("check", "suite.evals.yaml", "results.json", "--json", target)
    assert answer.status == 2
    assert len(answer.err.splitlines()) == 1
    assert (Path("results.json").read_bytes(), Path("suite.evals.yaml").read_bytes()) == before


def test_a_full_disk_is_an_error(run: Run) -> None:
    """What can't be written is one line and status 2, for the report as for standard output."""
    write("results.json", traces(order=GOOD, refund=REFUND))
    assert run("check", "suite.evals.yaml", "results.json", "--json", "/dev/full").status == 2
    with Path("/dev/full").open("w") as full:
        done = command_line("check", "suite.evals.yaml", "results.json", stdout=full)
    assert done.returncode == 2
    assert "can't be written" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_reader_that_goes_away_says_nothing_of_the_runs(run: Run) -> None:
    """A closed pipe is the shell's status for it, not that something is broken."""
    write("results.json", traces(order=GOOD, refund=REFUND))
    read_end, write_end = os.pipe()
    os.close(read_end)
    done = command_line("check", "suite.evals.yaml", "results.json", stdout=write_end)
    os.close(write_end)
    assert done.returncode == 141
    assert done.stderr == ""


def command_line(*arguments: str, stdout: Any) -> subprocess.CompletedProcess[str]:
    """Run the command line as a process of its own."""
    command = [sys.executable, "-m", "tracewitness", *arguments]
    return subprocess.run(command, stdout=stdout, stderr=subprocess.PIPE, text=True, check=False)


def test_case_does_not_go_with_filters(run: Run) -> None:
    """``--case`` with a filter would silently ignore one of them."""
    write("results.json", traces(order=GOOD))
    answer = run("check", "suite.evals.yaml", "results.json", "--case", "order", "--name", "refund")
    assert answer.status == 2


def test_checking_nothing_is_no_success(run: Run) -> None:
    """Where no run belongs to any case, nothing was checked, and ``--allow-missing`` does not make that a success."""
    write("results.json", traces(ordr=GOOD))
    answer = run("check", "suite.evals.yaml", "results.json", "--allow-missing")
    assert answer.status == 2
    assert "no run was checked against a case" in answer.out


def test_errors_do_not_touch_the_terminal(run: Run) -> None:
    """A file's name is escaped in an error, too."""
    answer = run("check", "suite.evals.yaml", "no\x1b[31mfile")
    assert answer.status == 2
    assert "\x1b" not in answer.err


def test_progress_and_colour_on_a_terminal(run: Run) -> None:
    """On a terminal the statuses are coloured; without one of them nothing is."""
    write("results.json", traces(order=WRONG_ITEM, refund=REFUND))
    main_end, other_end = os.openpty()
    environment = {key: value for key, value in os.environ.items() if key != "NO_COLOR"}
    process = subprocess.Popen(
        [sys.executable, "-m", "tracewitness", "check", "suite.evals.yaml", "results.json"],
        stdout=other_end,
        stderr=other_end,
        env={**environment, "TERM": "xterm-256color"},
    )
    status = process.wait()
    os.close(other_end)
    shown = os.read(main_end, 100_000).decode()
    os.close(main_end)
    assert status == 1
    assert "\x1b[31m" in shown
    assert "BROKEN" in shown


def test_what_can_not_be_read_is_told_once(run: Run) -> None:
    """A case whose run can't be read is not missing too, and no line says that nothing was checked."""
    write("one.evals.yaml", "evals: [{name: only, tool_expectations: [{type: tool_called, tool: a}]}]")
    for name, missing in (("only.json", 0), ("other.json", 1)):
        write(name, '{"hello": "world"}')
        answer = run("check", "one.evals.yaml", name)
        assert answer.status == 2
        assert answer.out.count("MISSING") == missing
        assert "could not be read" in answer.out


def test_the_nearest_format_is_told_before_all_others(run: Run) -> None:
    """A long line is cut, and what helps must not be what is cut off."""
    write("run.json", {"candidates": {}})
    assert "the nearest is gemini, by candidates, but" in run("check", "suite.evals.yaml", "run.json").out


def test_the_standard_input_is_read() -> None:
    """A dash stands for it."""
    suite = "examples/orders/orders.evals.yaml"
    results = Path("examples/orders/results.json")
    told = [
        subprocess.run(
            [sys.executable, "-m", "tracewitness", "check", suite, source, "--quiet"],
            input=results.read_bytes(),
            capture_output=True,
            check=False,
        )
        for source in ("-", str(results))
    ]
    assert told[0].returncode == told[1].returncode == 1
    assert told[0].stdout.replace(b"/dev/stdin", str(results).encode()) == told[1].stdout
