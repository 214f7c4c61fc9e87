"""An agent that is a command: one process a session, spoken to in JSON Lines.

What is written to its standard input, a line each::

    {"type": "start", "session_id": "…", "parameters": {…}}     once, at first; nothing is answered
    {"type": "user", "text": "…", "variables": {…}}             for each turn

What it answers to each turn on its standard output, a line each: events in neutral form as they happen, then that the
turn is over::

    {"call": "search", "args": {"query": "lamp"}, "id": "c1"}
    {"result": {"found": 2}, "id": "c1"}
    {"agent": "I found two lamps."}
    {"type": "turn_end", "ended": false}

``ended`` is true where the session is over; ``usage`` may stand beside it, with ``requests``, ``input_tokens``,
``output_tokens`` and ``cost``. Empty lines are skipped. What else there is to say belongs on standard error. When the
session ends, standard input is closed; a process that does not end by itself within a second is killed, and with it all
that it started. What is written after the end of a turn, at whatever time, fails the run: a call must not be lost.

What breaks this protocol, an end in the middle of a turn too, is the agent's failure. Only that it can't be started, or
takes too long, is not.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shlex
import shutil
import signal
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta, Struct

from tracewitness.display import printable, show
from tracewitness.errors import AgentError, InfrastructureError, ReadError, UsageError
from tracewitness.evals.simulation.agents.replies import own_events
from tracewitness.evals.simulation.conversation import (
    MOST_COST,
    MOST_TOKENS,
    AgentTurn,
    Session,
    Usage,
    UserTurn,
)
from tracewitness.readers.neutral import decode_plainly
from tracewitness.trace import Record, Trace, Unreadable

__all__ = ["CommandAgent"]

#: The longest line that a command may write, and the most of a turn, in bytes.
MAX_LINE: Final = 16 * 1024 * 1024
MAX_TURN: Final = 64 * 1024 * 1024
_STDERR_TAIL: Final = 2000
# How long a process has to end by itself, and how long it is waited for that one says what it died of.
_GRACE_SECONDS: Final = 1.0
_TELL_SECONDS: Final = 0.3
# How long it is waited for what a process writes after the end of a turn.
_MORE_SECONDS: Final = 0.02
# By this variable, in its environment, a process is known that left the group of the one that started it.
_MARK: Final = "TRACEWITNESS_COMMAND"
_PROCESSES: Final = Path("/proc")


class CommandAgent:
    """A command that is started for each session.

    Arguments:
        command: as it is written in a shell; no shell runs it.
        timeout: how many seconds a turn may take; None for as long as it likes.

    Raises:
        UsageError: it can't be split into words, or there is no such program.
    """

    def __init__(self, command: str, *, timeout: float | None = None) -> None:
        self.name = command
        self._timeout = timeout
        try:
            self._words = shlex.split(command)
        except ValueError as error:
            raise UsageError(f"the command {show(command)} can't be split into words: {error}") from error
        if not self._words:
            raise UsageError("the command of the agent is empty; it is such as 'cmd: python agent.py'")
        if shutil.which(self._words[0]) is None:
            raise UsageError(f"there is no program {show(self._words[0])} to run for the agent {printable(command)}")

    async def prepare(self) -> None:
        """Do nothing: to start it may have effects, so that is done when it is needed."""

    async def open(self, parameters: Mapping[str, Any], session_id: str) -> Session:
        """Start the command.

        Raises:
            InfrastructureError: it can't be started.
        """
        mark = uuid.uuid4().hex
        try:
            process = await asyncio.create_subprocess_exec(
                *self._words,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                limit=MAX_LINE,
                start_new_session=True,
                # Python holds back what it writes to a pipe, and each would wait for the other.
                env={**os.environ, "PYTHONUNBUFFERED": "1", _MARK: mark},
            )
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            problem = f"the agent {printable(self.name)} can't be started: {printable(str(reason))}"
            raise InfrastructureError(problem) from error
        session = _CommandSession(self.name, process, mark, session_id, self._timeout)
        try:
            await session.write({"type": "start", "session_id": session_id, "parameters": parameters})
        except BaseException:
            await session.close()
            raise
        return session

    async def close(self) -> None:
        """Do nothing: each process ended with its session."""


class _CommandSession:
    """A session with a process."""

    def __init__(
        self, name: str, process: asyncio.subprocess.Process, mark: str, session_id: str, timeout: float | None
    ) -> None:
        self.id = session_id
        self._mark = mark
        self._name = printable(name)
        self._process = process
        self._timeout = timeout
        self._lines = 0
        self._broken = False
        self._has_answered = False
        self._stderr = b""
        self._late = b""
        self._stderr_reading = asyncio.create_task(self._keep_stderr())

    async def send(self, turn: UserTurn) -> AgentTurn:
        """Write what the user said, and read until the turn is over."""
        if self._broken:  # an answer to an earlier turn may still come, and would be taken for one to this
            raise AgentError(f"the agent {self._name} failed on an earlier turn; the session can't go on")
        self._broken = True
        if self._has_answered:
            await self._refuse_more()
        try:
            async with asyncio.timeout(self._timeout):
                await self.write({"type": "user", "text": turn.text, "variables": turn.variables})
                answer = await self._read_turn()
        except TimeoutError as error:
            raise InfrastructureError(
                await self._told(f"gave no answer in {self._timeout:g} s"), transient=True
            ) from error
        self._broken = False
        self._has_answered = True
        return answer

    async def write(self, message: Mapping[str, Any]) -> None:
        """Write a line. That the process is gone shows when an answer is read."""
        assert self._process.stdin is not None  # noqa: S101 - it was asked for
        with contextlib.suppress(ConnectionError):
            self._process.stdin.write(json.dumps(message, default=str).encode() + b"\n")
            await self._process.stdin.drain()

    async def _read_turn(self) -> AgentTurn:
        events: list[Record] = []
        read = 0
        while True:
            line = await self._read_line()
            read += len(line)
            if read > MAX_TURN:
                raise await self._failure(f"wrote more than {MAX_TURN // 1024 // 1024} MiB in one turn")
            if not line.strip():
                continue
            message = await self._decode(line)
            if message.get("type") == "turn_end":
                return await self._finish(events, message, line)
            trace = Trace.from_events([message])
            if isinstance(trace.events[0], Unreadable):
                raise await self._failure(f"{self._wrote(line)}, which is no event: {trace.events[0].reason}")
            events += trace.records

    async def _read_line(self) -> bytes:
        """Return the next line.

        Raises:
            AgentError: there is none, or it is too long.
        """
        assert self._process.stdout is not None  # noqa: S101 - it was asked for
        self._lines += 1
        try:
            line = await self._process.stdout.readline()
        except ValueError as error:  # what asyncio raises for a line beyond its limit
            limit = f"{MAX_LINE // 1024 // 1024} MiB"
            raise await self._failure(f"wrote a line (line {self._lines}) of more than {limit}") from error
        if not line.endswith(b"\n"):
            cut = f", in the middle of a line: it {self._wrote(line)}" if line else ""
            raise await self._failure(f"ended before its turn was over{cut}")
        return line

    async def _decode(self, line: bytes) -> dict[str, Any]:
        try:
            message = decode_plainly(line.strip())
        except ReadError as error:
            hint = "what is not of the protocol belongs on standard error"
            raise await self._failure(f"{self._wrote(line)}, which can't be read: {error}; {hint}") from error
        if not isinstance(message, dict):
            raise await self._failure(f"{self._wrote(line)}, which is no event: an event is a mapping")
        return message

    async def _finish(self, events: list[Record], message: dict[str, Any], line: bytes) -> AgentTurn:
        """Return the turn that a message ends."""
        try:
            end = msgspec.convert(message, _TurnEnd)
        except msgspec.ValidationError as error:
            raise await self._failure(f"{self._wrote(line)}, which ends no turn: {error}") from error
        await self._refuse_more()
        kept, ends = own_events(events)
        usage = Usage(end.usage.requests, end.usage.input_tokens, end.usage.output_tokens, end.usage.cost)
        return AgentTurn(tuple(kept), ended=end.ended or ends, usage=usage)

    async def _refuse_more(self) -> None:
        """Wait a moment for what comes after the end of a turn: it would be taken for a part of the next, or be lost.

        Raises:
            AgentError: something came.
        """
        assert self._process.stdout is not None  # noqa: S101 - it was asked for
        try:
            async with asyncio.timeout(_MORE_SECONDS):
                line = await self._process.stdout.readline()
        except TimeoutError:
            return
        except ValueError:  # a line beyond the limit, of which asyncio keeps nothing
            line = b"a line that is too long"
        if line.strip():
            self._lines += 1
            self._broken = True
            raise await self._failure(f"{self._wrote(line)} after its turn was over")

    def _wrote(self, line: bytes) -> str:
        return f"wrote {show(line.decode('utf-8', 'replace').strip(), 120)} (line {self._lines})"

    async def _failure(self, what: str) -> AgentError:
        return AgentError(await self._told(what))

    async def _told(self, what: str) -> str:
        """Say what the process did, how it ended, and what it had to say."""
        ending = asyncio.create_task(self._process.wait())
        await asyncio.wait({ending, self._stderr_reading}, timeout=_TELL_SECONDS)  # for one that is about to be gone
        ending.cancel()
        code = self._process.returncode
        status = "" if code is None else f" (exit status {code})"
        said = self._stderr.decode("utf-8", "replace").strip()
        tail = f"; it said on standard error: {printable(said[-400:], 400)}" if said else ""
        return f"the agent {self._name} {what}{status}{tail}"

    async def _keep_stderr(self) -> None:
        """Read standard error, so that the process does not wait for that, and keep its end."""
        assert self._process.stderr is not None  # noqa: S101 - it was asked for
        while chunk := await self._process.stderr.read(65536):
            self._stderr = (self._stderr + chunk)[-_STDERR_TAIL:]

    async def close(self) -> None:
        """Close standard input, give the process a moment, and kill what is left of it.

        Raises:
            AgentError: it wrote something after its last turn, which nobody would know of.
            InfrastructureError: it ended with an exit status that says that something went wrong.
        """
        process = self._process
        rest = asyncio.create_task(self._read_rest())
        code: int | None = None
        try:
            if process.stdin is not None:
                process.stdin.close()
            if not self._broken:
                with contextlib.suppress(TimeoutError):
                    code = await asyncio.wait_for(process.wait(), _GRACE_SECONDS)
        finally:
            _kill(process, self._mark)
            await asyncio.wait({rest, self._stderr_reading}, timeout=_GRACE_SECONDS)
            rest.cancel()
            self._stderr_reading.cancel()
            await self._let_go()
        if self._late and not self._broken:
            self._lines += 1
            raise await self._failure(f"{self._wrote(self._late)} after its last turn was over")
        if code:
            raise InfrastructureError(await self._told("did not end well when its session was over"))

    async def _read_rest(self) -> None:
        """Read to the end, so that the pipe is closed, and keep the first line."""
        assert self._process.stdout is not None  # noqa: S101 - it was asked for
        while chunk := await self._process.stdout.read(65536):
            if not self._late:
                self._late = chunk.strip().partition(b"\n")[0]

    async def _let_go(self) -> None:
        """Close the pipes, also those that a process holds that could not be found, and wait for the one that was."""
        transport: Any = self._process._transport  # type: ignore[attr-defined]  # there is no other way to it
        # Closing it would ask the system how the process ended, and take that from asyncio, which tells of the loss.
        waited = 0.0
        while self._process.returncode is None and waited < _GRACE_SECONDS:
            await asyncio.sleep(0.005)
            waited += 0.005
        transport.close()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._process.wait(), _GRACE_SECONDS)


class _TurnUsage(Struct, frozen=True, forbid_unknown_fields=True):
    """What a command says that it used in a turn."""

    requests: Annotated[int, Meta(ge=0, le=MOST_TOKENS)] = 0
    input_tokens: Annotated[int, Meta(ge=0, le=MOST_TOKENS)] = 0
    output_tokens: Annotated[int, Meta(ge=0, le=MOST_TOKENS)] = 0
    cost: Annotated[float, Meta(ge=0, le=MOST_COST)] | None = 0.0


class _TurnEnd(Struct, frozen=True, forbid_unknown_fields=True):
    """The line that ends a turn."""

    type: Literal["turn_end"]
    ended: bool = False
    usage: _TurnUsage = _TurnUsage()


def _kill(process: asyncio.subprocess.Process, mark: str) -> None:
    """Kill a process and all that it started, in its group or out of it, as far as that can be found."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if not hasattr(os, "killpg"):
            process.kill()
        elif process.returncode is None or not _exists(process.pid):
            os.killpg(process.pid, signal.SIGKILL)
    for other in _marked(f"{_MARK}={mark}".encode()):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(other, signal.SIGKILL)


def _exists(number: int) -> bool:
    """Whether there is a process with a number. Where the one that had it has ended, that is somebody else's now."""
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _marked(variable: bytes) -> Iterator[int]:
    """Yield the processes that have a variable in their environment, where the system shows that."""
    for folder in _PROCESSES.glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if variable in (folder / "environ").read_bytes().split(b"\0"):
                yield int(folder.name)
