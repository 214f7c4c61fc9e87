"""Run the synchronous code of a session apart from the event loop, so that no session waits for another."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from queue import SimpleQueue
from typing import Any, TypeVar

__all__ = ["SessionThread", "raised_by_agent"]

T = TypeVar("T")
_Calls = SimpleQueue["tuple[Future[Any], Callable[[], Any]] | None"]


class SessionThread:
    """A thread in which a session's code runs, one call after the other.

    It is the session's own: what belongs to a thread, such as a connection of ``sqlite3``, is there again on the next
    turn, and the size of no pool limits how many sessions run at once. A call that hangs can't be stopped: who waits
    for it may stop waiting, and the thread, a daemon, keeps no program from ending.
    """

    def __init__(self) -> None:
        self._calls: _Calls = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._last: Future[Any] | None = None

    async def run(self, call: Callable[[], T]) -> T:
        """Return what a call returns, made in the thread. What it raises passes through."""
        if self._thread is None:
            self._thread = threading.Thread(target=_work, args=(self._calls,), daemon=True, name="tracewitness session")
            self._thread.start()
        future: Future[T] = Future()
        self._last = future
        self._calls.put((future, partial(contextvars.copy_context().run, call)))
        return await asyncio.wrap_future(future)

    @property
    def hangs(self) -> bool:
        """Whether a call still runs that nobody waits for."""
        return self._last is not None and not self._last.done()

    def close(self) -> None:
        """Let the thread end when the call that runs in it has."""
        if self._thread is not None:
            self._calls.put(None)


def _work(calls: _Calls) -> None:
    while (item := calls.get()) is not None:
        future, call = item
        if not future.set_running_or_notify_cancel():
            continue
        try:
            result = call()
        except BaseException as error:  # noqa: BLE001 - whatever it is, it is for the one who waits
            future.set_exception(raised_by_agent(error))
        else:
            future.set_result(result)
        del item, future, call


def raised_by_agent(error: BaseException) -> Exception:
    """Return what an agent's code raised as an error that ends its turn, and not the program or the event loop."""
    if isinstance(error, Exception) and not isinstance(error, StopIteration):
        return error
    told = RuntimeError(f"the agent raised {error!r}")
    told.__cause__ = error
    return told
