"""An event loop for code that nobody vouches for: it goes on until what it was given is over."""

from __future__ import annotations

import asyncio
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, TypeVar

from tracewitness.display import printable
from tracewitness.evals.simulation.failures import named

__all__ = ["run_steadily"]

T = TypeVar("T")

#: How long tasks and threads that are left over at the end may take to end.
_GRACE_SECONDS: Final = 1.0

if sys.platform == "win32":
    _Loop = asyncio.ProactorEventLoop
else:
    _Loop = asyncio.SelectorEventLoop


def run_steadily(main: Coroutine[Any, Any, T], ended: Callable[[], None], notice: Callable[[str], None]) -> T:
    """Do as `asyncio.run`, but wait for no task or thread that does not end, and let nobody stop the loop.

    Where one of an agent's own tasks raises what would end the program, or something stops the loop, it goes on. The
    first Ctrl-C cancels ``main``, the second is a `KeyboardInterrupt` at once.

    Arguments:
        main: what is run.
        ended: is called where all tasks and threads have ended. If it is not, the process is to be left at once: what
            is still at work in it would keep it from ending.
        notice: takes a line on what went wrong where nobody waits for it.

    Raises:
        KeyboardInterrupt: it was ended by Ctrl-C.
        asyncio.CancelledError: it was cancelled from within, by code of an agent.
    """
    loop = _SteadyLoop()
    loop.set_exception_handler(lambda _, context: notice(_what_happened(context)))
    runner = asyncio.Runner(loop_factory=lambda: loop)
    all_ended = False

    async def run_and_end() -> T:
        nonlocal all_ended
        try:
            return await main
        finally:
            all_ended = await _left_over_end(loop)

    try:
        return runner.run(run_and_end())
    except asyncio.CancelledError:
        if loop.is_interrupted:
            raise KeyboardInterrupt from None
        raise
    finally:
        if all_ended:
            runner.close()
            ended()


async def _left_over_end(loop: _SteadyLoop) -> bool:
    """End what is left over, and tell whether it ended soon."""
    left = asyncio.all_tasks() - {asyncio.current_task()}
    for task in left:
        task.cancel()
    if left and (await asyncio.wait(left, timeout=_GRACE_SECONDS))[1]:
        return False
    waited = 0.0
    while loop.threads.is_busy and waited < _GRACE_SECONDS:
        await asyncio.sleep(0.02)
        waited += 0.02
    return not loop.threads.is_busy


def _what_happened(context: dict[str, Any]) -> str:
    """Say on one line what a loop tells of something that went wrong in it."""
    error = context.get("exception")
    if not isinstance(error, BaseException):
        return f"in what the agent began by itself: {printable(str(context.get('message')))}"
    frames = traceback.extract_tb(error.__traceback__)
    place = f"  ({printable(Path(frames[-1].filename).name)}:{frames[-1].lineno})" if frames else ""
    return f"something that the agent began by itself raised {named(error)}{place}"


class _SteadyLoop(_Loop):
    """A loop whose `run_until_complete` is over when its future is, and not before.

    Attributes:
        threads: where `asyncio.to_thread` runs what it is given.
    """

    def __init__(self) -> None:
        super().__init__()
        self.threads = _Threads(thread_name_prefix="asyncio")
        self.set_default_executor(self.threads)
        self._interruptions = 0

    @property
    def is_interrupted(self) -> bool:
        """Whether there was a Ctrl-C."""
        return self._interruptions > 0

    def run_until_complete(self, future: Any) -> Any:
        """Run until a future is done, though something else raises or stops the loop."""
        if self.is_running() or self.is_closed():
            return super().run_until_complete(future)  # which refuses
        task: asyncio.Future[Any] = asyncio.ensure_future(future, loop=self)
        with self._interrupted_by_user(task):
            while True:
                try:
                    return super().run_until_complete(task)
                except KeyboardInterrupt:  # by a handler that an agent has put there, or the second one
                    if task.done() or self._interruptions > 1:
                        raise
                    self._interrupt(task)
                except BaseException:
                    if task.done() or self.is_closed():
                        raise

    @contextmanager
    def _interrupted_by_user(self, task: asyncio.Future[Any]) -> Iterator[None]:
        """Let Ctrl-C cancel a task, where it would raise an exception wherever the program is just then."""
        is_ours = threading.current_thread() is threading.main_thread()
        if not is_ours or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
            yield
            return
        signal.signal(signal.SIGINT, lambda *_: self._interrupt(task))
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, signal.default_int_handler)

    def _interrupt(self, task: asyncio.Future[Any]) -> None:
        self._interruptions += 1
        if self._interruptions > 1:
            raise KeyboardInterrupt
        self.call_soon_threadsafe(task.cancel)


class _Threads(ThreadPoolExecutor):
    """Threads of which it is known whether they still do something."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._busy: set[Future[Any]] = set()

    @property
    def is_busy(self) -> bool:
        """Whether something still runs."""
        return bool(self._busy)

    def submit(self, function: Callable[..., T], /, *args: Any, **options: Any) -> Future[T]:
        """Run a function in a thread."""
        future = super().submit(function, *args, **options)
        self._busy.add(future)
        future.add_done_callback(self._busy.discard)
        return future
