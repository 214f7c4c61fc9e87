"""``tracewitness simulate`` from the outside: what it prints, what it keeps, and with which exit status."""

from __future__ import annotations

import json
import os
import random
import re
import runpy
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tracewitness.cli import main

ROOT = Path(__file__).resolve().parents[2]

SUITE = """
evals:
  - name: order
    tags: [P0]
    steps:
      - static_utterance: Order ITEM-42, please.
    tool_expectations:
      - {type: tool_called, tool: create_order, args: {item: ITEM-42}, reason: the customer wants it}
  - name: talk
    tags: [P1]
    steps:
      - static_utterance: Hello?
    tool_expectations:
      - {type: tool_not_called, tool: cancel_order}
"""

DESK = '''
import asyncio, time
from tracewitness.evals.simulation.conversation import AgentTurn, Usage
from tracewitness.trace import Record

ORDERED = {"reply": "I have placed your order.", "calls": [{"name": "create_order", "args": {"item": "ITEM-42"}}]}

def honest(text):
    return ORDERED

def liar(text):
    return "I have placed your order."

def raising(text):
    raise KeyError("stock")

def raising_once(text, session_id, ids=set()):
    ids.add(session_id)
    if len(ids) == 1:
        raise KeyError("stock")
    return ORDERED

async def hanging(text):
    await asyncio.sleep(60)

def blocking(text):
    open("sessions.log", "a").close()
    time.sleep(60)

async def logging(text, session_id):
    with open("sessions.log", "a") as file:
        file.write(session_id + "\\n")
    await asyncio.sleep(0.05)
    return ORDERED

class Metered:
    """An agent that tells what its own models used."""

    name, id = "metered", "one"

    async def prepare(self): ...

    async def open(self, parameters, session_id):
        return self

    async def send(self, turn):
        calls = (Record(call="create_order", args={"item": "ITEM-42"}), Record(result={}))
        return AgentTurn(calls, usage=Usage(2, 60, 40, None))

    async def close(self): ...

metered = Metered()

class Unclosable:
    def send(self, text):
        return ORDERED

    def close(self):
        raise OSError("still busy")

class UnclosableAgent(Metered):
    name = "unclosable"

    async def close(self):
        raise SystemExit(7)

    async def open(self, parameters, session_id):
        return metered

unclosable = UnclosableAgent()

class Unready(Metered):
    async def prepare(self):
        raise LookupError("no address")

unready = Unready()
'''


class Answer(NamedTuple):
    """What a command did."""

    status: int
    out: str
    err: str


Call = Callable[..., Answer]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Go to a folder with the suite and the agents above; modules from there are forgotten afterwards."""
    (tmp_path / "suite.yaml").write_text(SUITE, "utf-8")
    (tmp_path / "desk.py").write_text(DESK, "utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    yield tmp_path
    for name in [name for name, module in sys.modules.items() if _is_in(module, tmp_path)]:
        del sys.modules[name]


def _is_in(module: Any, folder: Path) -> bool:
    return str(getattr(module, "__file__", None) or "").startswith(str(folder))


@pytest.fixture
def run(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    """Return a function that runs the command line."""

    def call(*arguments: str) -> Answer:
        monkeypatch.setattr(sys, "argv", ["tracewitness", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = capsys.readouterr()
        assert "Traceback" not in out + err
        return Answer(ended.value.code if isinstance(ended.value.code, int) else 0, out, err)

    return call


def rows(path: str = "results.json") -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = json.loads(Path(path).read_bytes())
    return listed


# ------------------------------------------------------------------------------------------------ what is printed


def test_all_passed_is_status_0(run: Call) -> None:
    """Goals, judge and checks stand side by side; the results are written, and nothing else but the journal."""
    answer = run("simulate", "suite.yaml", "--agent", "desk:honest", "-o", "results.json")
    assert answer.status == 0
    lines = [line.partition("  (")[0] for line in answer.out.splitlines()]
    assert lines == [
        "PASSED order, run 1  goals 1/1  tool checks 2/2",
        "PASSED talk, run 1  goals 1/1  tool checks 2/2",
        "2 runs passed, 0 failed",
    ]
    assert [(row["name"], row["run"], row["passed"]) for row in rows()] == [("order", 1, True), ("talk", 1, True)]
    assert sorted(path.name for path in Path().iterdir() if path.is_file()) == [
        "desk.py",
        "results.json",
        "results.json.journal",
        "suite.yaml",
    ]


def test_a_lie_is_explained_as_check_explains_it(run: Call) -> None:
    """The same verdicts are printed, and found again on the results file."""
    answer = run("simulate", "suite.yaml", "--agent", "desk:liar", "-o", "results.json")
    assert answer.status == 1
    told = answer.out.splitlines()
    assert told[0].startswith("FAILED order, run 1  goals 1/1  tool checks 1/2  (1 turn, ")
    assert told[1:4] == [
        "    BROKEN tool_called create_order  (suite.yaml:8)",
        "        create_order was never called; no tool was called at all",
        "        reason: the customer wants it",
    ]
    assert told[-1] == "1 run passed, 1 failed"
    checked = run("check", "suite.yaml", "results.json")
    assert checked.status == 1
    assert checked.out.splitlines()[1:4] == told[1:4]


def test_runs_are_counted_by_case(run: Call) -> None:
    """With several runs each case has a line; quiet leaves out what passed."""
    answer = run("simulate", "suite.yaml", "--agent", "desk:honest", "--runs", "3", "--parallel", "4", "--quiet")
    assert answer == (0, "order: 3/3 passed\ntalk: 3/3 passed\n6 runs passed, 0 failed\n", "")


def test_an_agent_that_raises_fails_its_runs_alone(run: Call) -> None:
    """The error is shown with its place; the traceback is in the results."""
    answer = run("simulate", "suite.yaml", "--agent", "desk:raising_once", "-o", "results.json")
    assert answer.status == 1
    assert "KeyError: 'stock'  (" in answer.out
    line = 1 + DESK[: DESK.rindex("raise KeyError")].count("\n")
    assert f"desk.py:{line})" in answer.out
    assert answer.out.splitlines()[-1] == "1 run passed, 1 failed"
    assert "def raising_once" not in rows()[0]["traceback"]
    assert rows()[0]["error_kind"] == "agent"


def test_infrastructure_alone_is_status_3(run: Call) -> None:
    """An agent that does not answer in time did not fail, and the run can be made up for."""
    hanging = [
        "simulate",
        "suite.yaml",
        "--agent",
        "desk:hanging",
        "--timeout",
        "0.05",
        "--retries",
        "0",
        "-o",
        "r.json",
    ]
    answer = run(*hanging)
    assert answer.status == 3
    assert "INFRA  order, run 1  (1 turn, " in answer.out
    assert "did not answer within 0.05 s; --timeout sets the limit" in answer.out
    assert answer.out.splitlines()[-1] == "0 runs passed, 0 failed, 2 failed by infrastructure"
    assert "2 of 2 runs have no result; the same with --resume runs them" in answer.err
    refused = run(*hanging)
    assert (refused.status, refused.err) == (
        2,
        "error: r.json.journal has 2 rows of a simulation already; --resume goes on with it, or delete the file, or "
        "name another with --journal\n",
    )
    assert run(*hanging, "--resume").status == 3


def test_what_was_not_run_is_told_apart(run: Call) -> None:
    """When the budget is used up no run begins, and the reason is given with each that did not."""
    budget = ["simulate", "suite.yaml", "--agent", "desk:metered", "--runs", "3", "-o", "results.json"]
    answer = run(*budget, "--max-tokens", "150")
    assert answer.status == 3
    assert "NOT RUN talk, run 1  200 of 150 tokens are used up; --max-tokens sets the limit\n" in answer.out
    assert answer.out.splitlines()[-4:] == [
        "order: 2/2 passed (1 not run)",
        "talk: 0/0 passed (3 not run)",
        "2 runs passed, 0 failed, 4 not run",
        "4 model requests, 200 tokens, cost unknown",
    ]
    assert len(rows()) == 2
    assert run(*budget, "--resume").out.splitlines()[-2:] == [
        "6 runs passed, 0 failed",
        "12 model requests, 600 tokens, cost unknown",
    ]
    assert len(rows()) == 6


def test_the_report_as_json(run: Call) -> None:
    """Everything that is printed can be read by programs, with each verdict."""
    run("simulate", "suite.yaml", "--agent", "desk:liar", "--json", "report.json")
    report = json.loads(Path("report.json").read_bytes())
    assert [(each["name"], each["outcome"], len(each["steps"])) for each in report["runs"]] == [
        ("order", "failed", 1),
        ("talk", "passed", 1),
    ]
    assert [verdict["status"] for verdict in report["runs"][0]["verdicts"]] == ["broken", "held"]
    assert report["summary"]["cases"][0] == {
        "name": "order",
        "runs": 1,
        "passed": 0,
        "failed": 1,
        "inconclusive": 0,
        "infrastructure": 0,
        "not_run": 0,
        "unreadable": 0,
        "held": 0,
        "broken": 1,
    }
    assert report["summary"]["exit_status"] == 1


def test_quiet_takes_a_line_for_a_run_that_was_not_run(run: Call) -> None:
    answer = run("simulate", "suite.yaml", "--agent", "desk:metered", "--runs", "3", "--max-tokens", "150", "--quiet")
    not_run = [line for line in answer.out.splitlines() if "--max-tokens" in line]
    assert len(not_run) == 4
    assert len(answer.out.splitlines()) == 4 + 4


def test_what_could_not_be_closed_is_told(run: Call) -> None:
    """Beside the verdicts, which stay as they are."""
    answer = run("simulate", "suite.yaml", "--agent", "desk:Unclosable", "-o", "results.json")
    assert (answer.status, answer.out.splitlines()[-1]) == (0, "2 runs passed, 0 failed")
    assert "note: order, run 1: its session could not be closed: OSError: still busy\n" in answer.err
    assert [row["close_error"] for row in rows()] == ["OSError: still busy"] * 2
    answer = run("simulate", "suite.yaml", "--agent", "desk:unclosable")
    assert (answer.status, answer.out.splitlines()[-2]) == (0, "2 runs passed, 0 failed")
    assert answer.err == "note: the agent unclosable could not be closed: SystemExit: 7\n"


def test_an_agent_that_can_not_be_made_ready_is_status_2(run: Call) -> None:
    answer = run("simulate", "suite.yaml", "--agent", "desk:unready", "-o", "results.json")
    assert (answer.status, answer.out) == (2, "")
    assert answer.err == "error: the agent metered can't be made ready: LookupError: no address\n"
    assert not Path("results.json.journal").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals")
@pytest.mark.parametrize("into_a_file", [False, True])
def test_a_progress_bar_on_a_terminal(folder: Path, into_a_file: bool) -> None:
    """It is shown where the errors go, if that is a terminal; the output is whole wherever it goes."""
    import pty

    terminal, end = pty.openpty()
    with (folder / "out.txt").open("wb") as file:
        process = start("--agent", "desk:honest", stdout=file if into_a_file else end, stderr=end)
        os.close(end)
        shown = b""
        while chunk := _read(terminal):
            shown += chunk
        os.close(terminal)
        assert process.wait(timeout=20) == 0
    assert b"2/2" in shown
    lines = (folder / "out.txt").read_bytes().decode().splitlines() if into_a_file else on_screen(shown.decode())
    assert [without_time(line) for line in lines if line] == [
        "PASSED order, run 1  goals 1/1  tool checks 2/2",
        "PASSED talk, run 1  goals 1/1  tool checks 2/2",
        "2 runs passed, 0 failed",
    ]
    assert "\x1b[?25l" not in shown.decode().rpartition("\x1b[?25h")[2]  # the cursor is there again


def on_screen(shown: str) -> list[str]:
    """Return the lines that stand on a terminal after all was written: colours, and what was written over, are gone."""
    screen, row, column = [""], 0, 0
    for each in re.findall(r"\x1b\[[0-9;?]*[A-Za-z]|[^\x1b]", shown):
        if each == "\n":
            row += 1
            screen += [""] * (row - len(screen) + 1)
        elif each == "\r":
            column = 0
        elif not each.startswith("\x1b"):
            screen[row] = screen[row][:column].ljust(column) + each + screen[row][column + 1 :]
            column += 1
        elif each.endswith("A"):
            row = max(0, row - int(each[2:-1] or 1))
        elif each == "\x1b[2K":
            screen[row] = ""
        else:
            assert each.endswith(("m", "h", "l")), each
    return [line.rstrip() for line in screen]


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # its other end was closed
        return b""


# ------------------------------------------------------------------------------------------------ bad input


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["suite.yaml"], "Missing option '--agent'"),
        (["none.yaml", "--agent", "desk:honest"], "none.yaml: there is no such file"),
        (["suite.yaml", "--agent", "desk:hones"], "desk has no hones; honest was meant"),
        (["suite.yaml", "--agent", "nowhere:reply"], "there is no module nowhere"),
        (["suite.yaml", "--agent", "desk:honest", "--name", "ordre"], "'order' was meant"),
        (["suite.yaml", "--agent", "desk:honest", "--runs", "0"], "Invalid value for '--runs'"),
        (["suite.yaml", "--agent", "desk:honest", "--timeout", "nan"], "no finite number above 0"),
        (["suite.yaml", "--agent", "desk:honest", "--resume"], "--resume goes on with a journal"),
        (["suite.yaml", "--agent", "desk:honest", "--record", "a", "--replay", "b"], "don't go together"),
        (["suite.yaml", "--agent", "desk:honest", "--replay", "none"], "no model traffic was recorded here"),
        (["suite.yaml", "--agent", "desk:honest", "-o", "none/r.json"], "none is no folder"),
        (["suite.yaml", "--agent", "desk:honest", "-o", "-"], "the results are a file"),
        (["suite.yaml", "--agent", "desk:honest", "-o", "/dev/stdout"], "/dev/stdout is"),
        (["suite.yaml", "--agent", "desk:honest", "-o", "/dev/full"], "/dev/full is no regular file"),
        (["suite.yaml", "--agent", "desk:honest", "-o", "/dev/null"], "/dev/null is no regular file"),
        (["suite.yaml", "--agent", "desk:honest", "-o", "/proc/r.json"], "can't be written into its folder"),
        (["suite.yaml", "--agent", "desk:honest", "--journal", "/dev/full"], "/dev/full is no regular file"),
        (["suite.yaml", "--agent", "desk:honest", "--agent-header", "X=y"], "can only be given for an endpoint"),
        (["suite.yaml", "--agent", "desk:honest", "--agent-instructions", "x"], "can only be given for an endpoint"),
        (["suite.yaml", "--agent", "desk:honest", "--agent-instructions", " "], "has no instructions in it"),
        (["suite.yaml", "--agent", "desk:honest", "--agent-instructions", "@no"], "'no' can't be read: No such file"),
        (["suite.yaml", "--agent", "desk:honest", "-o", "."], ". is a folder; the results are a file"),
        (["suite.yaml", "--agent", "desk:honest", "-o", "suite.yaml"], "is the eval file and --output too"),
        (["suite.yaml", "--agent", "desk:honest", "-o", "r.json", "--json", "./r.json"], "is --output and --json too"),
        (["suite.yaml", "--agent", "desk:honest", "-o", "r", "--journal", "r"], "is --output and the journal too"),
        (["suite.yaml", "--agent", "desk:honest", "--journal", "desk.py"], "is no journal of a simulation"),
        (["goal.yaml", "--agent", "desk:honest"], "name one with --user-model"),
        (["goal.yaml", "--agent", "desk:honest", "--user-model", "openai:gpt-5"], "OPENAI_API_KEY"),
        (["goal.yaml", "--agent", "desk:honest", "--user-model", "no-such-model"], "no model no-such-model"),
        (["judged.yaml", "--agent", "desk:honest"], "--judge-model"),
    ],
)
def test_bad_input_is_status_2_before_the_first_run(run: Call, arguments: list[str], words: str) -> None:
    """One line says what and what to do, no session was begun, and no journal is left behind."""
    pytest.importorskip("pydantic_ai")
    Path("goal.yaml").write_text("evals: [{name: a, steps: [{goal: Order a lamp}]}]", "utf-8")
    Path("judged.yaml").write_text(
        "evals: [{name: a, steps: [{static_utterance: hi}], expectations: [polite]}]", "utf-8"
    )
    answer = run("simulate", *arguments)
    assert answer.status == 2
    assert words in answer.err
    assert answer.out == ""
    assert not Path("sessions.log").exists()
    assert not list(Path().glob("*.journal"))


def test_a_missing_extra_is_status_2(run: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    """It says what to install."""
    monkeypatch.setitem(sys.modules, "pydantic_ai", None)
    monkeypatch.delitem(sys.modules, "tracewitness.evals.simulation.model_requests", raising=False)
    simulation = sys.modules["tracewitness.evals.simulation"]
    monkeypatch.delattr(simulation, "model_requests", raising=False)
    Path("goal.yaml").write_text("evals: [{name: a, steps: [{goal: Order a lamp}]}]", "utf-8")
    answer = run("simulate", "goal.yaml", "--agent", "desk:honest", "--user-model", "openai:gpt-5", "-o", "r.json")
    assert answer.status == 2
    assert "pip install 'tracewitness[simulate]'" in answer.err
    assert not Path("r.json.journal").exists()


def test_an_endpoint_that_is_down_is_status_2(run: Call) -> None:
    """What can be known before the first run is known then, of the agent and of the models."""
    pytest.importorskip("pydantic_ai")
    Path("goal.yaml").write_text("evals: [{name: a, steps: [{goal: Order a lamp}]}]", "utf-8")
    models = ["--user-model", "user", "--base-url", "http://127.0.0.1:9/v1"]
    answer = run("simulate", "goal.yaml", "--agent", "desk:honest", *models)
    assert answer.status == 2
    assert "127.0.0.1:9/v1/ can't be reached" in answer.err
    answer = run("simulate", "suite.yaml", "--agent", "http://127.0.0.1:9/v1", "--agent-model", "desk", "-o", "r.json")
    assert answer.status == 2
    assert "127.0.0.1:9" in answer.err
    assert not Path("r.json.journal").exists()


# ------------------------------------------------------------------------------------------------ models, recorded

GOALS = """
evals:
  - name: sold-out
    steps:
      - goal: Order one piece of ITEM-99
        success_criteria: The agent says that the item is out of stock
      - static_utterance: Goodbye, please.
    expectations:
      - The agent is polite.
    tool_expectations:
      - {type: tool_not_called, tool: create_order}
"""

MANNERS = """
def reply(text, session_id):
    if "goodbye" in text.lower():
        return "Thank you. Goodbye!"
    return f"I am sorry, ITEM-99 is out of stock; your session is {session_id}."

def other(text):
    return "I am sorry, ITEM-99 is sold out."
"""


def test_a_replayed_simulation_gives_the_same_bytes(run: Call) -> None:
    """Without a network and a key, also where the agent speaks of its session; what was not recorded is named."""
    pytest.importorskip("pydantic_ai")
    serving = runpy.run_path(str(ROOT / "examples" / "orders" / "model_server.py"))["serving"]
    Path("goals.yaml").write_text(GOALS, "utf-8")
    Path("manners.py").write_text(MANNERS, "utf-8")
    models = ["--user-model", "user", "--judge-model", "judge", "--runs", "3", "--parallel", "3"]
    simulate = ["simulate", "goals.yaml", "--agent", "manners:reply", *models]
    with serving() as server:
        url = server if isinstance(server, str) else server.url
        recorded = run(*simulate, "--base-url", url, "--record", "traffic", "-o", "recorded.json")
    assert recorded.status == 0, recorded
    assert "judged 1/1  tool checks 2/2" in recorded.out
    for attempt in ("one.json", "two.json"):
        replayed = run(*simulate, "--replay", "traffic", "-o", attempt)
        assert replayed.status == 0, replayed
        assert Path(attempt).read_bytes() == Path("recorded.json").read_bytes()
        assert sorted(replayed.out.splitlines()) == sorted(recorded.out.splitlines())
    simulate[3] = "manners:other"
    missing = run(*simulate, "--replay", "traffic")
    assert missing.status == 3
    assert "user turn 2 of run 1 of 'sold-out'" in missing.out
    assert "is not in the recording" in missing.out


# ------------------------------------------------------------------------------------------------ ends


def start(*arguments: str, stdout: Any = subprocess.PIPE, stderr: Any = subprocess.PIPE) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tracewitness", "simulate", "suite.yaml", *arguments]
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src"), "PYTHONUNBUFFERED": "1"}
    return subprocess.Popen(command, stdout=stdout, stderr=stderr, text=True, env=environment)


def test_ctrl_c_ends_cleanly_with_what_is_done(folder: Path) -> None:
    """Each run that was told of is in the results, the counts are printed, and the rest can be run later."""
    out = folder / "out.txt"
    with out.open("wb") as file:
        process = start(
            "--agent", "desk:logging", "--runs", "200", "--parallel", "4", "-o", "results.json", stdout=file
        )
        _wait_for(lambda: b"PASSED" in out.read_bytes(), process)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "Traceback" not in err
    told = out.read_text("utf-8").count("PASSED")
    assert 0 < told == len(rows()) < 400
    assert f"{told} runs passed, 0 failed, {400 - told} unfinished" in out.read_text("utf-8").replace(
        "1 run ", "1 runs "
    )
    assert f"{400 - told} of 400 runs have no result; the same with --resume runs them" in err


def test_ctrl_c_does_not_wait_for_an_agent_that_hangs(folder: Path) -> None:
    """Nor does it leave anything behind where no run was finished."""
    process = start("--agent", "desk:blocking", "-o", "results.json")
    _wait_for((folder / "sessions.log").exists, process)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out) == (130, "0 runs passed, 0 failed, 2 unfinished\n")
    assert "Traceback" not in err
    assert not (folder / "results.json").exists()
    assert not (folder / "results.json.journal").exists()


def _wait_for(condition: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    """Wait until something has happened; a process that ends before it is an error, not an endless wait."""
    while not condition():
        assert process.poll() is None
        time.sleep(0.005)


def journaled(path: Path) -> dict[tuple[str, int], str]:
    """The session ids of the runs that are in a journal, which may be torn at its end."""
    if not path.exists():
        return {}
    lines = [json.loads(line) for line in path.read_bytes().splitlines(keepends=True) if line.endswith(b"\n")]
    return {(row["name"], row["run"]): row["session_id"] for line in lines if (row := line.get("row"))}


def test_kill_9_loses_no_finished_run_and_repeats_none(folder: Path) -> None:
    """Ten times at random: what a journal had once stays as it was, and what was printed had been in it."""
    seed = random.randrange(10**6)
    chance, journal, known = random.Random(seed), folder / "results.json.journal", dict[tuple[str, int], str]()
    arguments = ["--agent", "desk:logging", "--runs", "100", "--parallel", "4", "-o", "results.json"]
    told = Counter[str]()
    for number in range(10):
        begun = len(known)
        process = start(*arguments, *(["--resume"] if number else []))
        _wait_for(lambda before=begun: len(journaled(journal)) > before, process)
        time.sleep(chance.random() * 0.15)
        process.kill()
        out, err = process.communicate()
        assert process.returncode == -signal.SIGKILL, (seed, out, err)
        now = journaled(journal)
        assert known.items() <= now.items(), (seed, number)
        assert out.count("PASSED") <= len(now) - begun
        told.update(line.partition("  ")[0] for line in out.splitlines() if line.startswith("PASSED"))
        known = now
    assert 10 <= len(known) < 200
    process = start(*arguments, "--resume")
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, (seed, out, err)
    told.update(line.partition("  ")[0] for line in out.splitlines() if line.startswith("PASSED"))
    assert max(told.values()) == 1  # no run was printed twice
    finished = {(row["name"], row["run"]): row["session_id"] for row in rows()}
    assert len(finished) == 200
    assert known.items() <= finished.items()
    sessions = len((folder / "sessions.log").read_text("utf-8").splitlines())
    assert 200 <= sessions <= 200 + 10 * 4  # beyond the finished ones only those that were going on when it was killed


def test_two_simulations_on_one_journal(folder: Path) -> None:
    """The second is refused, with status 2 and the first one's number, and does no harm."""
    first = start("--agent", "desk:logging", "--runs", "40", "-o", "results.json")
    try:
        _wait_for(lambda: bool(journaled(folder / "results.json.journal")), first)
        second = start("--agent", "desk:logging", "--runs", "40", "-o", "results.json", "--resume")
        out, err = second.communicate(timeout=30)
        assert (second.returncode, out) == (2, "")
        assert f"results.json.journal is in use by process {first.pid} on " in err
    finally:
        out, err = first.communicate(timeout=60)
    assert (first.returncode, len(rows())) == (0, 80), (out, err)


def test_a_finished_simulation_is_not_repeated(run: Call) -> None:
    """With ``--resume`` it is said and counted again, also where the agent is gone; without it all begins anew."""
    arguments = ["simulate", "suite.yaml", "--agent", "desk:logging", "-o", "results.json"]
    first = run(*arguments)
    written = Path("results.json").read_bytes()
    Path("results.json").unlink()
    again = run(*arguments, "--resume")
    assert (again.status, again.out) == (0, "2 runs passed, 0 failed\n")
    assert "all 2 runs are finished, as results.json.journal has it; none is repeated" in again.err
    assert Path("results.json").read_bytes() == written
    assert len(Path("sessions.log").read_text().splitlines()) == 2
    anew = run(*arguments)
    assert sorted(map(without_time, anew.out.splitlines())) == sorted(map(without_time, first.out.splitlines()))
    assert anew.err == ""
    assert Path("results.json").read_bytes() != written
    assert len(Path("sessions.log").read_text().splitlines()) == 4


def test_one_finished_run_is_not_called_all_runs(run: Call) -> None:
    arguments = ["simulate", "suite.yaml", "--agent", "desk:honest", "-o", "results.json", "--name", "talk"]
    run(*arguments)
    assert "note: the one run is finished, as results.json.journal has it" in run(*arguments, "--resume").err


def test_a_slip_of_the_finger_runs_nothing(run: Call) -> None:
    """So many runs that their list alone fills the memory are refused before anything is opened."""
    answer = run("simulate", "suite.yaml", "--agent", "desk:honest", "-o", "results.json", "--runs", "100000000000")
    assert answer.status == 2
    assert "is not in the range 1<=x<=100000" in answer.err
    assert not Path("results.json.journal").exists()


@pytest.mark.parametrize("step", ["{}", "{goal: ''}", "{goal: '  ', success_criteria: ''}", "{static_utterance: ''}"])
def test_a_step_that_says_nothing_is_refused(run: Call, step: str) -> None:
    """Any model could call it done."""
    Path("empty.yaml").write_text(f"evals: [{{name: a, steps: [{{static_utterance: Hi.}}, {step}]}}]", "utf-8")
    answer = run("simulate", "empty.yaml", "--agent", "desk:honest", "--user-model", "test")
    assert (answer.status, answer.out) == (2, "")
    assert answer.err.startswith("error: step 2 of the case 'a' says nothing, so any model can call it done; ")


def test_the_password_of_an_address_is_not_in_the_journal(run: Call) -> None:
    """Neither that of the models' server nor the agent's."""
    addresses = ["--agent", "http://me:geheim1@127.0.0.1:9/v1", "--agent-model", "m"]
    addresses += ["--base-url", "http://me:geheim2@127.0.0.1:9/v1"]
    answer = run("simulate", "suite.yaml", *addresses, "--journal", "j")
    assert answer.status == 2
    run("simulate", "suite.yaml", "--agent", "desk:honest", *addresses[4:], "--journal", "j")
    kept = Path("j").read_text("utf-8")
    assert '"base_url":"http://127.0.0.1:9/v1"' in kept
    assert "geheim" not in kept + answer.err


def without_time(line: str) -> str:
    return line.partition("  (")[0]


def test_a_finished_simulation_that_failed_still_has_its_status(run: Call) -> None:
    arguments = ["simulate", "suite.yaml", "--agent", "desk:liar", "-o", "results.json"]
    assert run(*arguments).status == 1
    again = run(*arguments, "--resume")
    assert (again.status, again.out) == (1, "1 run passed, 1 failed\n")
    assert run("simulate", "suite.yaml", "--agent", "desk:honest", "-o", "results.json").status == 0


@pytest.mark.parametrize("named", [False, True])
def test_more_runs_go_on_and_fewer_are_told(run: Call, named: bool) -> None:
    """Only those that are missing are run; what is in the journal beyond what is asked for is not in the results."""
    arguments = ["simulate", "suite.yaml", "--agent", "desk:logging", "-o", "results.json"]
    arguments += ["--journal", "j"] if named else []
    run(*arguments, "--runs", "2")
    more = run(*arguments, "--runs", "3", "--resume")
    assert "4 of 6 runs are in" in more.err
    assert (len(rows()), len(Path("sessions.log").read_text().splitlines())) == (6, 6)
    fewer = run(*arguments, "--resume")
    assert "4 runs in" in fewer.err
    assert "are more than --runs asks for" in fewer.err
    assert "all 2 runs are finished" in fewer.err
    assert [row["run"] for row in rows()] == [1, 1]


def test_a_changed_suite_is_named(run: Call) -> None:
    """It is not mixed with what was finished; without ``--resume`` it is simulated anew."""
    arguments = ["simulate", "suite.yaml", "--agent", "desk:honest", "-o", "results.json"]
    run(*arguments)
    Path("suite.yaml").write_text(SUITE.replace("cancel_order", "create_order"), "utf-8")
    refused = run(*arguments, "--resume")
    assert (refused.status, refused.out) == (2, "")
    assert "the cases of 'suite.yaml' were others; without --resume this one is begun anew" in refused.err
    assert run(*arguments).status == 1


def test_a_journal_goes_on_only_with_the_same_simulation(run: Call) -> None:
    """What differs is named."""
    arguments = ["suite.yaml", "--agent", "desk:honest", "--journal", "j"]
    assert run("simulate", *arguments).status == 0
    assert run("simulate", *arguments, "--resume").out == "2 runs passed, 0 failed\n"
    for change, words in (
        (["--agent", "desk:liar"], "agent was 'desk:honest' and is 'desk:liar'"),
        (["--name", "talk"], "the cases of 'suite.yaml' were others"),
        (["--opening", "event: welcome"], "opening was None and is 'event: welcome'"),
    ):
        answer = run("simulate", *arguments, *change, "--resume")
        assert (answer.status, answer.out) == (2, "")
        assert words in answer.err
        assert "without --resume this one is begun anew, or name another with --journal" in answer.err
