"""The task in which an agent's code runs, so that nothing that it does ends the run around it."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeVar

from msgspec import Struct

from tracewitness.errors import InfrastructureError
from tracewitness.evals.simulation.failures import around_agent

__all__ = ["AgentFailedError", "AgentTask"]

T = TypeVar("T")

#: How long an agent that is cancelled may take to end what it does, before it is left to itself.
_GRACE_SECONDS: Final = 2.0


class AgentFailedError(Exception):
    """The agent raised ``error``, which says something of the agent."""

    def __init__(self, error: BaseException) -> None:
        super().__init__(error)
        self.error = error


class _Outcome(Struct, frozen=True):
    """What became of a call: what it returned or raised, and after how many seconds."""

    value: Any
    error: BaseException | None
    seconds: float


class AgentTask:
    """The task in which an agent's code runs, one call after the other, as `Session` promises.

    It is not the task of the run. So whatever the agent makes of a cancellation, and whatever it does to its own task,
    the run goes on: a call that does not end is left to itself.
    """

    def __init__(self) -> None:
        self._is_left = False
        self._calls: asyncio.Queue[tuple[Callable[[], Awaitable[Any]], asyncio.Future[_Outcome]] | None]
        self._calls = asyncio.Queue()
        self._task = asyncio.create_task(self._work())

    @property
    def is_lost(self) -> bool:
        """Whether nothing more can be called here, since a call was left to itself or the task was ended."""
        return self._is_left or self._task.done()

    async def run(self, call: Callable[[], Awaitable[T]], seconds: float) -> T:
        """Return what a call returns.

        Raises:
            TimeoutError: it took longer, also where it held up the event loop and returned after all.
            InfrastructureError: it raised that, or what the library of a client raises where a server fails.
            AgentFailedError: it raised anything else.
        """
        future: asyncio.Future[_Outcome] = asyncio.get_running_loop().create_future()
        self._calls.put_nowait((call, future))
        try:
            await self._wait(future, seconds)
        except asyncio.CancelledError:
            await self._stop(future)
            raise
        if not future.done():
            await self._stop(future)
            raise TimeoutError(f"it took longer than {seconds:g} s")
        value: T = _returned(future.result(), seconds)
        return value

    async def end(self) -> None:
        """End the task, unless a call was left in it."""
        self._calls.put_nowait(None)
        if not self._is_left:
            await asyncio.wait([self._task], timeout=_GRACE_SECONDS)

    async def _stop(self, future: asyncio.Future[_Outcome]) -> None:
        """Cancel the call, and leave it where it does not end soon."""
        if future.done():
            return
        self._is_left = True
        self._task.cancel()
        await self._wait(future, _GRACE_SECONDS)
        self._is_left = not future.done()

    async def _wait(self, future: asyncio.Future[_Outcome], seconds: float) -> None:
        """Wait until a call is over. One that had not begun when the task was cancelled never is."""
        either: tuple[asyncio.Future[Any], ...] = (future, self._task)
        await asyncio.wait(either, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)

    async def _work(self) -> None:
        while (asked := await self._calls.get()) is not None:
            call, future = asked
            outcome = await _outcome(call)
            await _settled()
            future.set_result(outcome)


async def _outcome(call: Callable[[], Awaitable[Any]]) -> _Outcome:
    """Make a call, and tell what became of it, be it an exception that would end a program."""
    began = time.monotonic()
    try:
        value = await call()
    except BaseException as error:  # whatever it is, it is for the one who waits
        if isinstance(error, GeneratorExit) and not _is_running():
            raise
        return _Outcome(None, error, time.monotonic() - began)
    return _Outcome(value, None, time.monotonic() - began)


def _is_running() -> bool:
    """Whether this is a step of a task. A coroutine that is thrown away with its loop is closed outside of any."""
    try:
        return asyncio.current_task() is not None
    except RuntimeError:
        return False


async def _settled() -> None:
    """Take a cancellation of this task that came late, so that it does not end what comes next."""
    with contextlib.suppress(asyncio.CancelledError):
        await asyncio.sleep(0)
    task = asyncio.current_task()
    while task is not None and task.uncancel() > 0:
        pass


def _returned(outcome: _Outcome, seconds: float) -> Any:
    """Return what a call returned, or raise what `AgentTask.run` says."""
    if isinstance(outcome.error, InfrastructureError):
        raise outcome.error
    if outcome.error is not None:
        around = around_agent(outcome.error)
        if around is not None:
            raise around from outcome.error
        raise AgentFailedError(outcome.error) from outcome.error
    if outcome.seconds > seconds:
        raise TimeoutError(f"it took {outcome.seconds:.3g} s, longer than {seconds:g} s")
    return outcome.value
