"""``tracewitness simulate`` with agents that do to this process what they can: all runs are told and written."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]

SUITE = """
evals:
  - {name: first, steps: [{static_utterance: Hi.}]}
  - {name: second, steps: [{static_utterance: Hi.}]}
  - {name: third, steps: [{static_utterance: Hi.}]}
"""

#: Only the first session is hostile; the other two say how it ends for them.
AGENT = """
import asyncio, contextlib, os, signal, sys, threading, time

sessions = []

async def later():
    {later}

{kind} hostile():
    {code}
    return "Hello."

{kind} reply(text, session_id):
    sessions.append(session_id)
    if len(sessions) == 1:
        return {call} hostile()
    return "Hello."
"""

SYNC, ASYNC = "def", "async def"
PASSED, FAILED = "passed", "failed"

HOSTILE: dict[str, tuple[str, str, str]] = {
    "closes the output": (SYNC, "sys.stdout.close(); sys.stderr.close()", PASSED),
    "closes what is below the output": (SYNC, "os.close(1); os.close(2)", PASSED),
    "puts something else there": (SYNC, "sys.stdout = None; sys.stderr = object()", PASSED),
    "leads the output elsewhere": (SYNC, "os.dup2(os.open(os.devnull, os.O_WRONLY), 1)", PASSED),
    "goes to another folder": (SYNC, "os.chdir('/')", PASSED),
    "goes to a folder that is gone": (SYNC, "os.mkdir('x'); os.chdir('x'); os.rmdir(os.getcwd())", PASSED),
    "empties the environment": (SYNC, "os.environ.clear()", PASSED),
    "says much": (SYNC, "print('x' * 5_000_000); print('y' * 5_000_000, file=sys.stderr)", PASSED),
    "exits": (SYNC, "sys.exit(3)", FAILED),
    "exits, async": (ASYNC, "sys.exit(3)", FAILED),
    "raises an interruption": (SYNC, "raise KeyboardInterrupt", FAILED),
    "raises an interruption, async": (ASYNC, "raise KeyboardInterrupt", FAILED),
    "raises what is no exception": (SYNC, "raise BaseException('odd')", FAILED),
    "raises what is no exception, async": (ASYNC, "raise BaseException('odd')", FAILED),
    "raises the exit of a generator": (ASYNC, "raise GeneratorExit", FAILED),
    "raises a cancellation": (ASYNC, "raise asyncio.CancelledError", FAILED),
    "cancels itself": (ASYNC, "asyncio.current_task().cancel(); await asyncio.sleep(0)", FAILED),
    "calls itself without end": (SYNC, "return hostile()", FAILED),
    "stops the loop": (ASYNC, "asyncio.get_running_loop().stop(); await asyncio.sleep(0)", PASSED),
    "closes the loop": (ASYNC, "asyncio.get_running_loop().close()", FAILED),
    "runs the loop in itself": (ASYNC, "asyncio.get_running_loop().run_until_complete(later())", FAILED),
    "has a task that exits": (ASYNC, "asyncio.create_task(later()); await asyncio.sleep(0.01)", PASSED),
    "takes all signals": (ASYNC, "signal.signal(signal.SIGINT, signal.SIG_IGN)", PASSED),
    "leaves a thread that never ends": (
        SYNC,
        "threading.Thread(target=time.sleep, args=(60,), daemon=True).start()",
        PASSED,
    ),
    "leaves a thread of asyncio's": (ASYNC, "asyncio.create_task(asyncio.to_thread(time.sleep, 60))", PASSED),
}


def start(folder: Path, kind: str, code: str, *options: str, stdout: Any = subprocess.PIPE) -> subprocess.Popen[str]:
    call = "await" if kind == ASYNC else ""
    agent = AGENT.format(kind=kind, code=code, call=call, later="sys.exit(5)")
    (folder / "agent.py").write_text(agent, "utf-8")
    (folder / "suite.yaml").write_text(SUITE, "utf-8")
    command = [sys.executable, "-m", "tracewitness", "simulate", "suite.yaml", "--agent", "agent:reply", *options]
    variables = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    return subprocess.Popen(command, cwd=folder, stdout=stdout, stderr=subprocess.PIPE, text=True, env=variables)


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_agent(tmp_path: Path, name: str) -> None:
    """It fails its own run at the most. What is printed and written is whole, and no traceback of ours is."""
    kind, code, outcome = HOSTILE[name]
    process = start(tmp_path, kind, code, "-o", "results.json", "--json", "report.json")
    out, err = process.communicate(timeout=60)
    told = [line for line in out.splitlines() if not line.startswith("x")]
    counts = "3 runs passed, 0 failed" if outcome == PASSED else "2 runs passed, 1 failed"
    assert told[-1] == counts, (out[-500:], err[-500:])
    assert sum(line.startswith("PASSED") for line in told) == (3 if outcome == PASSED else 2)
    assert process.returncode == (0 if outcome == PASSED else 1)
    ours = [line for line in err.splitlines() if 'File "' in line and "tracewitness" in line]
    assert not ours, err
    rows: list[dict[str, Any]] = json.loads((tmp_path / "results.json").read_bytes())
    assert [(row["name"], row["outcome"]) for row in rows] == [
        ("first", outcome),
        ("second", PASSED),
        ("third", PASSED),
    ]
    assert outcome == PASSED or rows[0]["error_kind"] == "agent"
    assert json.loads((tmp_path / "report.json").read_bytes())["summary"]["passed"] == (3 if outcome == PASSED else 2)
    assert (tmp_path / "results.json.journal").exists()


def test_what_a_task_of_the_agent_raises_is_told(tmp_path: Path) -> None:
    """In one line, with its place; nobody waits for it, so no run fails by it."""
    process = start(tmp_path, ASYNC, "asyncio.create_task(later()); await asyncio.sleep(0.01)")
    _, err = process.communicate(timeout=60)
    assert process.returncode == 0
    assert err == "note: something that the agent began by itself raised SystemExit: 5  (agent.py:7)\n"


def test_an_agent_that_cancels_all(tmp_path: Path) -> None:
    """The simulation ends as after Ctrl-C, what was finished is written, and it is told who did that."""
    code = "[task.cancel() for task in asyncio.all_tasks()]; await asyncio.sleep(60)"
    process = start(tmp_path, ASYNC, code, "-o", "results.json")
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in err
    assert out.splitlines()[-1].endswith("unfinished")
    assert "note: code of the agent has cancelled the simulation; it ends as after Ctrl-C" in err.splitlines()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full disk to write to")
@pytest.mark.parametrize("where", ["output", "report"])
def test_output_that_can_not_be_written_loses_no_run(tmp_path: Path, where: str) -> None:
    """It ends the simulation in one line; what was finished is in the results and in the journal."""
    options = ["--json", "/dev/full"] if where == "report" else []
    with Path("/dev/full" if where == "output" else os.devnull).open("wb") as output:
        process = start(tmp_path, SYNC, "print('x' * 100_000)", "-o", "results.json", *options, stdout=output)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 2
    assert err.splitlines()[-1].startswith("error: ")
    assert err.splitlines()[-1].endswith("can't be written: No space left on device")
    assert "generator" not in err
    rows = json.loads((tmp_path / "results.json").read_bytes())
    assert 1 <= len(rows) <= 3
    assert (tmp_path / "results.json.journal").read_text("utf-8").count('{"row":') == len(rows)


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGINT to send")
@pytest.mark.parametrize(
    "handler", ["signal.default_int_handler", "lambda *_: (_ for _ in ()).throw(KeyboardInterrupt)"], ids=["its", "odd"]
)
def test_ctrl_c_where_an_agent_has_put_a_handler_of_its_own(tmp_path: Path, handler: str) -> None:
    """What it raises is an interruption like any other."""
    code = f"signal.signal(signal.SIGINT, {handler}); open('asked', 'w').close(); await asyncio.sleep(60)"
    process = start(tmp_path, ASYNC, code, "-o", "results.json")
    while not (tmp_path / "asked").exists():
        assert process.poll() is None
        time.sleep(0.01)
    time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in err
    assert "has cancelled" not in err
    assert out == "0 runs passed, 0 failed, 3 unfinished\n"


def test_an_agent_that_goes_elsewhere_when_it_is_imported(tmp_path: Path) -> None:
    """All files are where they were named: results, journal, report and recording."""
    process = start(tmp_path, SYNC, "pass", "-o", "results.json", "--record", "traffic", "--json", "report.json")
    process.communicate(timeout=60)
    agent = (tmp_path / "agent.py").read_text("utf-8")
    for path in tmp_path.glob("r*.json*"):
        path.unlink()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "agent.py").write_text(f"import os\nos.chdir('elsewhere')\n{agent}", "utf-8")
    command = [sys.executable, "-m", "tracewitness", "simulate", "suite.yaml", "--agent", "agent:reply"]
    options = ["-o", "results.json", "--record", "traffic", "--json", "report.json"]
    done = subprocess.run(
        [*command, *options],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env=os.environ | {"PYTHONPATH": str(ROOT / "src")},
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert not list((tmp_path / "elsewhere").iterdir())
    assert {path.name for path in tmp_path.glob("r*.json*")} == {"report.json", "results.json", "results.json.journal"}
