"""``tracewitness read`` from the outside: what it shows of a recording, and with which exit status."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import click
import pytest
from jsonschema import Draft202012Validator

from tracewitness.cli import main
from tracewitness.readers import read, read_all
from tracewitness.readers.neutral_schema import trace_schema
from tracewitness.reports.trace_table import table_lines
from tracewitness.trace import Trace

CHAT = [
    {"role": "user", "content": "a lamp"},
    {
        "role": "assistant",
        "name": "scout",
        "tool_calls": [{"id": "c1", "function": {"name": "search", "arguments": '{"q": "lamp"}'}}],
    },
    {"role": "tool", "tool_call_id": "c1", "content": "none", "is_error": True},
]
ODD = [*CHAT, {"role": "robot"}]
ROWS = [
    {"name": "a", "events": [{"call": "x"}]},
    {"name": "2", "events": [{"user": "hi"}]},
    {"name": "b", "events": []},
]


class Answer(NamedTuple):
    """What a command did."""

    status: int
    out: str
    err: str


Run = Callable[..., Answer]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Return a function that runs the command line on a recording, given as data or as text."""
    monkeypatch.chdir(tmp_path)

    def call(recording: Any, *options: str) -> Answer:
        text = recording if isinstance(recording, str) else json.dumps(recording)
        Path("run.json").write_text(text, "utf-8", "surrogatepass")
        monkeypatch.setattr(sys, "argv", ["tracewitness", "read", "run.json", *options])
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = capsys.readouterr()
        assert "Traceback" not in out + err
        return Answer(ended.value.code if isinstance(ended.value.code, int) else 0, out, err)

    return call


def test_a_table(run: Run) -> None:
    """One line an event: position, turn, kind, agent, tool and what was said, passed or returned."""
    answer = run(CHAT)
    assert (answer.status, answer.err) == (0, "")
    assert answer.out.splitlines() == [
        "run  (run.json, row 1)  3 events, 1 call",
        "  event  turn  kind   agent  tool",
        '  0      1     user                  "a lamp"',
        "  1      1     call   scout  search  {'q': 'lamp'}",
        "  2      1     error         search  'none'  (of 1)",
        "",
    ]


def test_problems_stand_below_with_their_places(run: Run) -> None:
    """And the status says that there are some."""
    answer = run(ODD)
    assert answer.status == 1
    assert answer.out.splitlines()[-3:] == [
        "  1 problem:",
        "    $[3]: an unknown role 'robot'; it may hide a call",
        "",
    ]


def test_every_kind_of_event(run: Run) -> None:
    """Each can be told from the others."""
    events = [
        {"call": "a", "raw_args": "{"},
        {"raw_result": "{", "of": "a"},
        {"call": "b"},
        {"result": 1, "id": "z"},
        {"transfer": "billing", "by": "front"},
        {"end": True},
        {"x": 1},
    ]
    assert run(events).out.splitlines()[2:9] == [
        "  0      0     call               a     malformed: '{'",
        "  1      0     result             a     undecodable: '{'  (of 0)",
        "  2      0     call               b     {}  (unanswered)",
        "  3      0     result                   1  (answers no call)",
        "  4      0     transfer    front        to billing",
        "  5      0     end",
        "  6            unreadable               {'x': 1}",
    ]


def test_no_evidence_is_no_success(run: Run) -> None:
    """A run of which nothing is known is not read without problems."""
    answer = run({"events": [], "error": "crashed"})
    assert answer.status == 1
    assert "no evidence: the run failed: 'crashed'" in answer.out


def test_json_can_be_read_again(run: Run) -> None:
    """A line for each run, valid under the schema, with the problems."""
    answer = run(ROWS, "--as", "json")
    lines = answer.out.splitlines()
    assert [Draft202012Validator(trace_schema()).is_valid(json.loads(line)) for line in lines] == [True] * 3
    again = list(read_all(answer.out))
    assert [(trace.name, trace.to_events()) for trace in again] == [(row["name"], row["events"]) for row in ROWS]
    assert again[2].no_evidence is not None
    problems = json.loads(run(ODD, "--as", "json").out)["problems"]
    assert problems == [
        {"reason": "an unknown role 'robot'", "position": None, "place": "$[3]", "hides_call": True, "cut": False}
    ]


def test_atif_can_be_read_again(run: Run) -> None:
    """With its problems too."""
    answer = run(ODD, "--as", "atif")
    assert answer.status == 1
    trace = read(answer.out)
    assert trace.to_events() == read(ODD).to_events()
    assert len(trace.problems) == 1


@pytest.mark.parametrize("form", ["json", "atif"])
def test_half_a_character_is_still_json(run: Run, form: str) -> None:
    """Such text comes from recordings that were cut."""
    assert read(run('[{"user": "\\ud800"}]', "--as", form).out).to_events() == [{"user": "\ud800"}]


@pytest.mark.parametrize(("wanted", "names"), [("a", ["a"]), ("1", ["a"]), ("3", ["b"]), ("2", ["2"]), ("b", ["b"])])
def test_a_run_by_name_or_number(run: Run, wanted: str, names: list[str]) -> None:
    """A name goes before a number."""
    lines = run(ROWS, "--as", "json", "--run", wanted).out.splitlines()
    assert [json.loads(line)["name"] for line in lines] == names


def test_all_runs_are_shown(run: Run) -> None:
    """With their places."""
    out = run(ROWS).out
    assert [f"row {number}" in out for number in (1, 2, 3)] == [True] * 3


def test_a_run_that_is_not_there(run: Run) -> None:
    """It says how many there are."""
    answer = run(ROWS, "--run", "c")
    assert (answer.status, answer.out) == (2, "")
    assert "no run is named 'c'; there are 3 runs" in answer.err


def test_a_named_format(run: Run) -> None:
    """It is taken where several fit or none is found."""
    assert run({"messages": []}, "--format", "openai-chat").status == 1
    assert "there is no format 'openai-chta'; openai-chat was meant" in run(CHAT, "--format", "openai-chta").err


@pytest.mark.parametrize("recording", ["{", "5", '{"x": 1}', ""])
def test_what_can_not_be_read(run: Run, recording: str) -> None:
    """Status 2, and why."""
    answer = run(recording)
    assert (answer.status, answer.out) == (2, "")
    assert answer.err.startswith("error: run.json")


def test_one_bad_run_hides_no_other(run: Run) -> None:
    """The others are shown, and the status is the worst of all."""
    answer = run('{"name": "a", "events": []}\n{"x": 1}\n{"name": "b", "events": [{"call": "x"}]}')
    assert answer.status == 2
    assert "a  (run.json, line 1)" in answer.out
    assert "b  (run.json, line 3)" in answer.out
    assert "run.json, line 2" in answer.err


def test_a_missing_file(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """One line."""
    monkeypatch.setattr(sys, "argv", ["tracewitness", "read", "nowhere.json"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_problems_survive_being_written(run: Run) -> None:
    """What could not be read of a recording can't be read of its JSON either, and the status says so."""
    for recording in (ODD, [*ODD, {"role": "tool", "tool_call_id": "zz", "content": "x"}], [{"user": "x"}, {"cal": 1}]):
        first = run(recording, "--as", "json")
        again = run(first.out, "--as", "json")
        assert (first.status, again.status) == (1, 1)
        assert json.loads(again.out)["problems"] == json.loads(first.out)["problems"]


_NOT_JSON = [
    ('[{"call": "a", "args": {"x": NaN}}]', {"call": "a", "raw_args": '{"x": NaN}'}),
    ('[{"call": "a"}, {"result": [Infinity]}]', {"raw_result": "[Infinity]"}),
    ('[{"user": "a"}, {"call": "a", "at": NaN}]', {"call": "a", "at": "NaN"}),
    ('[{"call": "a", "metadata": {"x": -Infinity}}]', {"call": "a", "metadata": {"undecoded": '{"x": -Infinity}'}}),
]


@pytest.mark.parametrize(("recording", "last"), _NOT_JSON)
def test_what_json_can_not_hold(run: Run, recording: str, last: Any) -> None:
    """In neutral form it is text, in ATIF it is refused: both are read as JSON by everybody."""

    def refuse(token: str) -> None:
        raise AssertionError(token)

    out = run(recording, "--as", "json").out
    assert json.loads(out, parse_constant=refuse)["events"][-1] == last
    assert read(out).to_events()[-1] == last
    atif = run(recording, "--as", "atif")
    assert atif.status == 2 or json.loads(atif.out, parse_constant=refuse)


_MOVING = "\x00\x1b\x7f\x85\x9b\u00ad\u200b\u200e\u2028\u202e\u2066\ufeff\U000e0041 é 😀"


@pytest.mark.parametrize("form", ["json", "atif"])
def test_nothing_in_json_moves_the_cursor(run: Run, form: str) -> None:
    """It is escaped, and read back it is the same."""
    events = [{"user": _MOVING}, {"call": _MOVING, "args": {_MOVING: _MOVING}}]
    out = run({"name": "a", "events": events}, "--as", form).out
    assert out.rstrip("\n").isprintable()
    assert "é 😀" in out
    assert read(out).to_events()[-1]["args"] == {_MOVING: _MOVING}


def test_the_standard_input() -> None:
    """A dash stands for it, and what comes packed is unpacked."""
    for data in (json.dumps(CHAT).encode(), gzip.compress(json.dumps(CHAT).encode())):
        done = subprocess.run(
            [sys.executable, "-m", "tracewitness", "read", "-"], input=data, capture_output=True, check=False
        )
        assert (done.returncode, done.stderr) == (0, b"")
        assert b"3 events, 1 call" in done.stdout


def test_one_run_is_one(run: Run) -> None:
    """The sentence knows."""
    assert "there is 1 run\n" in run(ROWS[:1], "--run", "c").err


_HOSTILE = "\x1b[31m\u202egnp.exe\r\n\x07" + "x" * 1000


def test_nothing_in_a_recording_moves_the_cursor(run: Run) -> None:
    """Control characters and the overrides of a line's direction are made visible, and long texts are cut."""
    events = [
        {"user": _HOSTILE},
        {"call": _HOSTILE, "args": {_HOSTILE: _HOSTILE}, "by": _HOSTILE},
        {"result": _HOSTILE},
        {"transfer": _HOSTILE},
        {_HOSTILE: 1},
    ]
    answer = run({"name": _HOSTILE, "events": events})
    assert all(line.isprintable() for line in answer.out.split("\n"))
    assert "\\x1b[31m\\u202egnp.exe\\r\\n" in answer.out
    assert max(map(len, answer.out.splitlines())) < 600


def test_colour(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not where nobody wants it, nor where the output is no terminal."""
    assert "\x1b" in "".join(table_lines(Trace.from_events([{"user": "hi"}])))
    assert "\x1b" not in run(CHAT).out
    echoed: list[Any] = []
    monkeypatch.setattr(click, "echo", lambda *_, color=None, **__: echoed.append(color))
    run(CHAT, "--no-color")
    monkeypatch.setenv("NO_COLOR", "1")
    run(CHAT)
    assert False in echoed
    assert True not in echoed


@pytest.mark.parametrize("module", ["read", "formats"])
def test_nothing_heavy_is_imported(module: str) -> None:
    """To show a recording needs no checks, no SDK and no progress bar."""
    heavy = ("rich", "rapidfuzz", "yaml", "tracewitness.fluent", "tracewitness.expectations", "pydantic", "openai")
    script = (
        f"import sys, tracewitness.cli.{module}; heavy = {heavy!r};"
        "print([name for name in sys.modules if name.startswith(heavy)])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
