"""A call of a wrapped tool while it runs: its place among the others, and what comes of it in the end."""

from __future__ import annotations

import inspect
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import nullcontext
from contextvars import ContextVar
from functools import partial
from types import AsyncGeneratorType, GeneratorType, TracebackType
from typing import Any, Final

from msgspec import Struct

from tracewitness.capture.arguments import Parameters
from tracewitness.capture.recordings import RecordedCall, Recording, recordings_here, words_of
from tracewitness.capture.snapshots import Snapshot, snapshot

__all__ = ["AsyncSteps", "Running", "Tool", "begin", "followed", "steps_of"]

#: Hides the frames of this module in a test runner's traceback.
__tracebackhide__ = True

_NOTHING: Final[dict[str, Any]] = {}


class Tool(Struct, frozen=True, eq=False):
    """What is known of a wrapped tool.

    Attributes:
        name: what it is called in recordings.
        parameters: how its arguments are named.
        plain: as of `snapshot`.
    """

    name: str
    parameters: Parameters
    plain: Callable[[Any], Any] | None


def begin(tool: Tool, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Running | None:
    """Record that a tool is called, or return None where nobody records."""
    recordings = recordings_here(tool.name)
    if not recordings:
        return None
    given = tool.parameters.given(tool.name, args, kwargs)
    parent = _running.get()
    calls: list[tuple[Recording, RecordedCall]] = []
    for recording in recordings:
        call = recording.begin(tool.name, given, None if parent is None else parent.id_in(recording))
        if call is not None:
            calls.append((recording, call))
    return Running(tool, calls)


class Running:
    """A call that has begun. As a context it is what calls made in it are made by; it records what is raised there."""

    __slots__ = ("_before", "_calls", "_tool")

    def __init__(self, tool: Tool, calls: list[tuple[Recording, RecordedCall]]) -> None:
        self._tool = tool
        self._calls = calls
        self._before: Running | None = None

    def id_in(self, recording: Recording) -> str | None:
        """Return its id in a recording."""
        return next((call.id for each, call in self._calls if each is recording), None)

    def __enter__(self) -> Running:
        self._before = _running.get()
        _running.set(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if _running.get() is self:  # else it ends in another context, as a coroutine that nobody awaits any more
            _running.set(self._before)

    def returned(self, value: Any, metadata: dict[str, Any] = _NOTHING) -> None:
        """Record what came back."""
        self._answer(snapshot(value, (), self._tool.plain), metadata)

    def raised(self, error: BaseException, metadata: dict[str, Any] = _NOTHING) -> None:
        """Record an exception."""
        self._answer(Snapshot(words_of(error)), metadata, is_error=True)

    def yielded(self, items: list[Snapshot], metadata: dict[str, Any] = _NOTHING) -> None:
        """Record what a generator gave, up to its end or until nobody asked for more."""
        values = [item.value for item in items]
        self._answer(Snapshot(values, tuple(opaque for item in items for opaque in item.opaque)), metadata)

    def copied(self, value: Any, number: int) -> Snapshot:
        """Copy the item of a number that a generator gives."""
        return snapshot(value, (number,), self._tool.plain)

    def _answer(self, result: Snapshot, metadata: dict[str, Any], *, is_error: bool = False) -> None:
        for recording, call in self._calls:
            recording.answer(call, result, is_error=is_error, metadata=metadata)


#: The call during which others are made.
_running: ContextVar[Running | None] = ContextVar("tracewitness_running_call", default=None)


def followed(running: Running, call: Callable[[], Any]) -> Any:
    """Make a call and record what comes of it, also where that comes later: what is awaited or iterated over."""
    with running:
        try:
            value = call()
        except BaseException as error:
            running.raised(error)
            raise
    if isinstance(value, GeneratorType):
        return _stepwise(running, value)
    if isinstance(value, AsyncGeneratorType):
        return _stepwise_async(running, value)
    if callable(getattr(type(value), "add_done_callback", None)):
        value.add_done_callback(partial(_done, running))
    elif inspect.isawaitable(value):
        return _awaited(running, value)
    else:
        running.returned(value)
    return value


def _done(running: Running, future: Any) -> None:
    """Record what came of a future or task."""
    try:
        value = future.result()
    except BaseException as error:  # noqa: BLE001 - whoever waits for it gets it, too
        running.raised(error)
    else:
        running.returned(value)


async def _awaited(running: Running, call: Awaitable[Any]) -> Any:
    with running:
        try:
            value = await call
        except BaseException as error:
            running.raised(error)
            raise
    running.returned(value)
    return value


class _Yielded:
    """What a generator gave so far, and how its end is recorded."""

    __slots__ = ("_items", "_running")

    def __init__(self, running: Running) -> None:
        self._running = running
        self._items: list[Snapshot] = []

    def add(self, value: Any) -> None:
        self._items.append(self._running.copied(value, len(self._items)))

    def ended(self, returned: Any = None) -> None:
        """Record all of it, and what the generator returned at its end."""
        last = None if returned is None else self._running.copied(returned, len(self._items))
        self._running.yielded(self._items, {} if last is None else {"returned": _writable(last)})

    def closed(self) -> None:
        """Record what it gave until nobody asked for more."""
        self._running.yielded(self._items, {"closed": True})

    def raised(self, error: BaseException) -> None:
        """Record an exception, and what came before it."""
        self._running.raised(error, {"yielded": [_writable(item) for item in self._items]})


def _writable(copied: Snapshot) -> Any:
    return repr(copied.value) if copied.opaque else copied.value


def _stepwise(running: Running, generator: Generator[Any, Any, Any]) -> Generator[Any, Any, Any]:
    """Hand on what a generator gives and what it is sent, and record it when it ends."""
    yielded = _Yielded(running)
    step: Callable[[], Any] = partial(next, generator)
    while True:
        try:
            with running:
                value = step()
        except StopIteration as end:
            yielded.ended(end.value)
            return end.value
        except BaseException as error:
            yielded.raised(error)
            raise
        yielded.add(value)
        try:
            step = partial(generator.send, (yield value))
        except GeneratorExit:
            _close(running, generator, yielded)
            raise
        except BaseException as error:  # noqa: BLE001 - it is for the generator, which may go on
            step = partial(generator.throw, error)


def _close(running: Running, generator: Generator[Any, Any, Any], yielded: _Yielded) -> None:
    try:
        with running:
            generator.close()
    except BaseException as error:
        yielded.raised(error)
        raise
    yielded.closed()


class AsyncSteps:
    """The steps of an async generator; they are recorded where somebody records."""

    __slots__ = ("_generator", "_running", "_step", "_yielded", "value")

    def __init__(self, running: Running | None, generator: AsyncGenerator[Any, Any]) -> None:
        self._running = running
        self._generator = generator
        self._yielded = None if running is None else _Yielded(running)
        self._step: Callable[[], Awaitable[Any]] = partial(anext, generator)
        self.value: Any = None

    async def advance(self) -> bool:
        """Make the next step; whether there was one."""
        try:
            self.value = await self._within(self._step())
        except StopAsyncIteration:
            if self._yielded is not None:
                self._yielded.ended()
            return False
        except BaseException as error:
            if self._yielded is not None:
                self._yielded.raised(error)
            raise
        if self._yielded is not None:
            self._yielded.add(self.value)
        return True

    def send(self, value: Any) -> None:
        """Let the next step be given a value."""
        self._step = partial(self._generator.asend, value)

    def throw(self, error: BaseException) -> None:
        """Let the next step raise an exception in the generator."""
        self._step = partial(self._generator.athrow, error)

    async def close(self) -> None:
        """Close the generator."""
        try:
            await self._within(self._generator.aclose())
        except BaseException as error:
            if self._yielded is not None:
                self._yielded.raised(error)
            raise
        if self._yielded is not None:
            self._yielded.closed()

    async def _within(self, step: Awaitable[Any]) -> Any:
        with self._running or nullcontext():
            return await step


def steps_of(start: Callable[..., AsyncSteps]) -> Callable[..., AsyncGenerator[Any, Any]]:
    """Return an async generator function that hands on the steps that `start` begins."""

    async def hand_on(*args: Any, **kwargs: Any) -> AsyncGenerator[Any, Any]:
        steps = start(*args, **kwargs)
        while await steps.advance():
            try:
                steps.send((yield steps.value))
            except GeneratorExit:
                await steps.close()
                raise
            except BaseException as error:  # noqa: BLE001 - it is for the generator, which may go on
                steps.throw(error)

    return hand_on


_stepwise_async: Final = steps_of(AsyncSteps)
