"""An agent that is a command: real processes that speak the protocol, break it, die, hang, or start others."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import os
import shlex
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tracewitness.errors import AgentError, InfrastructureError
from tracewitness.evals.simulation.agents import command
from tracewitness.evals.simulation.agents.command import CommandAgent
from tracewitness.evals.simulation.conversation import AgentTurn, Usage, UserTurn

DESK = """
import json, sys

def tell(**event):
    print(json.dumps(event))

for line in sys.stdin:
    message = json.loads(line)
    if message["type"] == "start":
        start = message
        continue
    text = message["text"]
    print()
    tell(call="search", args={"query": text}, id="c1")
    tell(result={"found": 1}, id="c1")
    told = (start["session_id"], start["parameters"], message["variables"], text)
    tell(agent=json.dumps(told))
    tell(type="turn_end", ended=text == "bye", usage={"requests": 2, "input_tokens": 5, "cost": 0.5})
"""


@pytest.fixture
def run_by(tmp_path: Path) -> Any:
    """Return what makes an agent of the text of a program."""

    def make(program: str, **options: Any) -> CommandAgent:
        path = tmp_path / "my agent.py"
        path.write_text(program)
        return CommandAgent(f"{shlex.quote(sys.executable)} {shlex.quote(str(path))}", **options)

    return make


def converse(agent: CommandAgent, *said: str | UserTurn, parameters: Any = {}) -> list[AgentTurn]:  # noqa: B006
    async def talk() -> list[AgentTurn]:
        await agent.prepare()
        session = await agent.open(parameters, "s1")
        try:
            return [await session.send(UserTurn(text) if isinstance(text, str) else text) for text in said]
        finally:
            await session.close()
            await agent.close()

    return asyncio.run(talk())


def answering(*lines: Any) -> str:
    """Return a program that answers its first turn with lines."""
    texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    written = "".join(f"{text}\n" for text in texts)
    return f"import sys\nsys.stdin.readline()\nsys.stdin.readline()\nsys.stdout.write({written!r})\nsys.stdin.read()\n"


END = {"type": "turn_end", "ended": False}


def test_a_conversation(run_by: Any) -> None:
    """Parameters and variables reach it, and what it does comes back."""
    parameters = {"shop": "Zürich \ud83d", "since": time.struct_time}
    turns = converse(run_by(DESK), "hä", UserTurn("bye", {"level": 1}), parameters=parameters)
    assert [record.to_event() for record in turns[0].records] == [
        {"call": "search", "args": {"query": "hä"}, "id": "c1"},
        {"result": {"found": 1}, "id": "c1"},
        {"agent": turns[0].text},
    ]
    told = {"shop": "Zürich \ud83d", "since": "<class 'time.struct_time'>"}
    assert json.loads(turns[0].text) == ["s1", told, {}, "hä"]
    assert json.loads(turns[1].text) == ["s1", told, {"level": 1}, "bye"]
    assert [turn.ended for turn in turns] == [False, True]
    assert turns[0].usage == Usage(2, 5, 0, cost=0.5)


def test_sessions_are_apart(run_by: Any) -> None:
    """Each has its process."""
    agent = run_by(DESK)

    async def one(number: int) -> str:
        session = await agent.open({}, f"session {number}")
        try:
            return (await session.send(UserTurn("hi"))).text
        finally:
            await session.close()

    async def all_of_them() -> list[str]:
        return await asyncio.gather(*map(one, range(12)))

    assert asyncio.run(all_of_them()) == [f'["session {number}", {{}}, {{}}, "hi"]' for number in range(12)]


@pytest.mark.parametrize(
    "lines",
    [
        [{"agent": "bye"}, {"end": True}, END],
        [{"call": "end_session"}, {"agent": "bye"}, END],
        [{"agent": "bye"}, {**END, "ended": True}],
    ],
)
def test_ways_to_end_the_session(run_by: Any, lines: Any) -> None:
    (turn,) = converse(run_by(answering(*lines)), "hi")
    assert (turn.ended, turn.text) == (True, "bye")


def test_transfers_and_what_is_no_event_of_the_agent(run_by: Any) -> None:
    lines = [
        {"system": "x"},
        {"user": "hi"},
        {"transfer": "billing"},
        {"agent": "b", "by": "billing"},
        {"type": "turn_end"},
    ]
    (turn,) = converse(run_by(answering(*lines)), "hi")
    assert [record.to_event() for record in turn.records] == [{"transfer": "billing"}, {"agent": "b", "by": "billing"}]
    assert turn.usage == Usage()


BROKEN: dict[str, tuple[str, str]] = {
    "no JSON": (answering({"agent": "a"}, "Loading…"), "wrote 'Loading…' (line 2), which can't be read: not JSON: "),
    "no event": (answering('"hello"'), "wrote '\"hello\"' (line 1), which is no event: an event is a mapping"),
    "an unknown event": (answering({"agnet": "a"}), "which is no event: an event has one of the keys call, result, "),
    "two events in one": (answering({"agent": "a", "call": "b"}), "an event has one kind, this has call and agent"),
    "an unknown type": (answering({"type": "turn_over"}), "which is no event: an event has one of the keys"),
    "an odd end": (answering({"type": "turn_end", "ended": "no"}), "which ends no turn: Expected `bool`, got `str`"),
    "an unknown key at the end": (answering({**END, "enede": True}), "unknown field `enede`"),
    "an unknown usage": (answering({**END, "usage": {"tokens": 5}}), "unknown field `tokens` - at `$.usage`"),
    "negative tokens": (answering({**END, "usage": {"input_tokens": -1}}), "`int` >= 0 - at `$.usage.input_tokens`"),
    "a negative cost": (answering({**END, "usage": {"cost": -0.5}}), "`float` >= 0.0 - at `$.usage.cost`"),
    "an absurd cost": (answering({**END, "usage": {"cost": 1e9}}), "`float` <= 1000000.0 - at `$.usage.cost`"),
    "absurd tokens": (answering({**END, "usage": {"output_tokens": 10**15}}), "`int` <= 1000000000000 - at "),
    "a cost that is no number": (answering('{"type": "turn_end", "usage": {"cost": NaN}}'), "`float` >= 0.0"),
    "an endless cost": (answering('{"type": "turn_end", "usage": {"cost": Infinity}}'), "`float` <= 1000000.0"),
    "a key that stands twice": (answering('{"call": "a", "call": "b"}'), "the key 'call' stands twice"),
    "not UTF-8": (
        'import sys\nsys.stdout.buffer.write(b\'{"agent": "\\xff"}\\n\')\nsys.stdin.read()\n',
        "which can't be read: not UTF-8",
    ),
    "dead at once": (
        "import sys\nsys.exit('no\\n database')\n",
        "ended before its turn was over (exit status 1); it said on ",
    ),
    "dead in a turn": (
        "import sys\nsys.stdin.readline()\nsys.stdin.readline()\nsys.stdout.write('{\"agent\"')\nsys.exit(3)\n",
        "ended before its turn was over, in the middle of a line: it wrote '{\"agent\"' (line 1) (exit status 3)",
    ),
    "killed": ("import os\nos.kill(os.getpid(), 9)\n", "ended before its turn was over (exit status -9)"),
    "an exception": ("raise RuntimeError('no database')\n", "RuntimeError: no database"),
    "silent at the end": (
        "import sys\nsys.stdin.readline()\nsys.stdin.readline()\n",
        "ended before its turn was over (exit status 0)",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_command_that_breaks_the_protocol(run_by: Any, name: str) -> None:
    """It is the agent's failure: the line is shown, how the process ended, and what it had to say."""
    program, problem = BROKEN[name]
    with pytest.raises(AgentError) as caught:
        converse(run_by(program), "hi")
    assert problem in str(caught.value)
    assert "\n" not in str(caught.value)


def test_standard_error_is_read_and_its_end_is_told(run_by: Any) -> None:
    """A process that says much there is not held up."""
    program = "import sys\nsys.stderr.write('x' * 3_000_000 + ' the end\\x1b[2J')\nsys.exit(1)\n"
    with pytest.raises(AgentError) as caught:
        converse(run_by(program), "hi")
    assert str(caught.value).endswith(r"xxx the end\x1b[2J")
    assert len(str(caught.value)) < 1000


LATE = """
import sys, time

for number, line in enumerate(sys.stdin):
    if number:
        print('{"agent": "Done."}')
        print('{"type": "turn_end"}', flush=True)
        time.sleep(DELAY)
        print('{"call": "cancel_order", "args": {"all": true}}', flush=True)
"""


@pytest.mark.parametrize("delay", [0, 0.15])
def test_what_comes_after_the_end_of_a_turn_is_an_error(run_by: Any, delay: float) -> None:
    """It is no part of the next turn, and a call in it is not lost."""

    async def talk() -> None:
        session = await run_by(LATE.replace("DELAY", str(delay))).open({}, "s1")
        try:
            await session.send(UserTurn("hi"))
            await asyncio.sleep(0.5)
            await session.send(UserTurn("and now?"))
        finally:
            await session.close()

    with pytest.raises(AgentError, match=r"cancel_order.* after its turn was over"):
        asyncio.run(talk())


@pytest.mark.parametrize("delay", [0.1, 0.5])
def test_what_comes_after_the_last_turn_is_an_error(run_by: Any, delay: float) -> None:
    """The process is read to its end, so that a late call is told and not lost."""
    with pytest.raises(AgentError, match=r"cancel_order.* \(line 3\) after its last turn was over"):
        converse(run_by(LATE.replace("DELAY", str(delay))), "hi")


def test_what_a_process_that_does_not_end_wrote_is_an_error(run_by: Any) -> None:
    """It is killed, and what it wrote before that is read."""
    program = LATE.replace("DELAY", "0.1") + "        time.sleep(60)\n"
    with pytest.raises(AgentError, match=r"cancel_order.* after its last turn was over"):
        converse(run_by(program), "hi")


def test_an_end_that_is_not_well_is_told(run_by: Any) -> None:
    """It is no failure of the run: whoever keeps the session's errors has something to keep."""
    with pytest.raises(InfrastructureError, match=r"did not end well .* \(exit status 4\); it said .*: no disk"):
        converse(run_by(f"{DESK}\nsys.stderr.write('no disk')\nsys.exit(4)\n"), "hi")


def test_a_line_that_is_too_long_after_the_end_of_a_turn_is_an_error(
    run_by: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Though nothing of it is kept, it is not passed over."""
    monkeypatch.setattr(command, "MAX_LINE", 1024)
    with pytest.raises(AgentError, match=r"too long.* after its turn was over"):
        converse(run_by(answering({"agent": "Done."}, END, {"agent": "x" * 50_000})), "hi", "and now?")


def test_lines_and_turns_that_are_too_long(run_by: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "MAX_LINE", 1024 * 1024)
    monkeypatch.setattr(command, "MAX_TURN", 2 * 1024 * 1024)
    with pytest.raises(AgentError, match=r"wrote a line \(line 2\) of more than 1 MiB"):
        converse(run_by(answering({"agent": "a"}, {"agent": "x" * 5_000_000})), "hi")
    with pytest.raises(AgentError, match="wrote more than 2 MiB in one turn"):
        converse(run_by('import itertools\nfor _ in itertools.count():\n    print(\'{"agent": "x"}\')\n'), "hi")
    (turn,) = converse(run_by(answering({"agent": "x" * 900_000}, END)), "hi")
    assert len(turn.text) == 900_000


def test_a_turn_that_takes_too_long(run_by: Any) -> None:
    """It may go better another time; the session can't go on, since a late answer would be taken for the next."""
    agent = run_by("import sys, time\nsys.stderr.write('thinking')\ntime.sleep(60)\n", timeout=0.5)

    async def talk() -> None:
        session = await agent.open({}, "s1")
        try:
            with pytest.raises(InfrastructureError, match=r"gave no answer in 0.5 s; it said .*: thinking") as caught:
                await session.send(UserTurn("hi"))
            assert caught.value.transient
            with pytest.raises(AgentError, match="failed on an earlier turn; the session can't go on"):
                await session.send(UserTurn("hi"))
        finally:
            await session.close()

    begin = time.monotonic()
    asyncio.run(talk())
    assert time.monotonic() - begin < 20


def is_alive(process: int) -> bool:
    """Whether a process runs; one that has ended and that nobody has asked after does not."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are looked at in /proc")
@pytest.mark.parametrize("given_up", [False, True])
def test_nothing_is_left_of_it(run_by: Any, tmp_path: Path, given_up: bool) -> None:
    """Neither a process that goes on when its input is closed, nor what it started."""
    pids = tmp_path / "pids"
    program = f"""
import os, signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
open({str(pids)!r} + "~", "w").write(f"{{os.getpid()}} {{child.pid}}")
os.rename({str(pids)!r} + "~", {str(pids)!r})
sys.stdin.readline()
sys.stdin.readline()
if not {given_up}:
    print('{{"type": "turn_end"}}')
time.sleep(60)
"""

    async def talk() -> None:
        session = await run_by(program).open({}, "s1")
        try:
            while not pids.exists():
                await asyncio.sleep(0.01)
            async with asyncio.timeout(0.3 if given_up else 30):
                await session.send(UserTurn("hi"))
        except TimeoutError:
            assert given_up
        finally:
            await session.close()

    asyncio.run(talk())
    for process in map(int, pids.read_text().split()):
        deadline = time.monotonic() + 10
        while is_alive(process) and time.monotonic() < deadline:
            time.sleep(0.01)
        assert not is_alive(process)


def test_how_a_killed_process_ended_is_not_lost(run_by: Any, caplog: pytest.LogCaptureFixture) -> None:
    """Nobody but asyncio asks the system for that, or else it complains on the terminal."""
    program = "import signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\ntime.sleep(60)\n"

    async def give_up() -> None:
        session = await run_by(program).open({}, "s1")
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(0.05):
                await session.send(UserTurn("hi"))
        await session.close()

    for _ in range(5):
        asyncio.run(give_up())
    assert [record.getMessage() for record in caplog.records] == []


@pytest.mark.skipif(not hasattr(os, "killpg"), reason="there are no groups of processes")
def test_a_process_that_got_the_number_of_one_that_ended_is_spared() -> None:
    """Systems give numbers of processes again; a group with such a number is somebody else's."""
    other = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, start_new_session=True)
    ended = SimpleNamespace(pid=other.pid, returncode=0)
    command._kill(cast("asyncio.subprocess.Process", ended), "a mark that nothing has")
    other.communicate(b"\n", timeout=60)
    assert other.returncode == 0


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="processes are looked for in /proc")
def test_what_left_the_group_is_ended_too(run_by: Any, tmp_path: Path) -> None:
    """Also what has no parent anymore, in a session of its own, and holds the pipes; no pipe is left open."""
    pids = tmp_path / "pids"
    program = f"""
import os, sys, time
sys.stdin.readline()
sys.stdin.readline()
if not os.fork():
    os.setsid()
    if os.fork():
        os._exit(0)
    open({str(pids)!r} + "~", "w").write(str(os.getpid()))
    os.rename({str(pids)!r} + "~", {str(pids)!r})
    time.sleep(60)
while not os.path.exists({str(pids)!r}):
    time.sleep(0.01)
print('{{"type": "turn_end"}}')
"""
    converse(run_by(program), "hi")
    gc.collect()  # a pipe that is left open is a warning, which is an error here
    process = int(pids.read_text())
    deadline = time.monotonic() + 10
    while is_alive(process) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not is_alive(process)


def test_a_pipe_that_another_process_holds_is_closed(run_by: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where what left the group can't be found the session ends all the same, and nothing is left open here."""
    monkeypatch.setattr(command, "_PROCESSES", Path("/nowhere"))
    program = """
import os, sys, time
sys.stdin.readline()
sys.stdin.readline()
if not os.fork():
    os.setsid()
    time.sleep(5)
    os._exit(0)
print('{"type": "turn_end"}')
"""
    converse(run_by(program), "hi")
    gc.collect()


def test_a_command_has_a_moment_to_end_by_itself(run_by: Any, tmp_path: Path) -> None:
    """When its input is closed."""
    program = f"{DESK}\nopen({str(tmp_path / 'done')!r}, 'w').write('done')\n"
    converse(run_by(program), "hi")
    assert (tmp_path / "done").read_text() == "done"


def test_a_command_that_can_not_be_started(tmp_path: Path) -> None:
    path = tmp_path / "agent"
    path.write_text("no program at all\x00")
    path.chmod(0o755)
    with pytest.raises(InfrastructureError, match="can't be started: "):
        converse(CommandAgent(str(path)), "hi")


def test_many_turns_of_much(run_by: Any) -> None:
    """Both sides write more than a pipe holds."""
    program = """
import json, sys
sys.stdin.readline()
for line in sys.stdin:
    text = json.loads(line)["text"]
    for _ in range(20):
        print(json.dumps({"agent": text}))
    print(json.dumps({"type": "turn_end"}))
"""
    turns = converse(run_by(program), *(["x" * 200_000] * 5))
    assert [len(turn.records) for turn in turns] == [20] * 5
