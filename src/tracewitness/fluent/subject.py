"""What a contract is about: an agent that is called with a prompt, or what one has already produced."""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import AsyncIterator, Iterator, Mapping
from types import AsyncGeneratorType, GeneratorType
from typing import Any, NamedTuple

from tracewitness.display import show
from tracewitness.errors import ReadError, UsageError
from tracewitness.fluent.contents import without_frames
from tracewitness.readers import read
from tracewitness.readers.objects import is_sdk_object
from tracewitness.readers.registry import converters
from tracewitness.scoring import as_trace
from tracewitness.trace import LiveTrace, ToolCall, Trace

__all__ = ["Subject", "Witnessed", "needs_run_async", "read_produced"]

#: Hides the frames of this module in a test runner's traceback.
__tracebackhide__ = True

#: What a mapping with a ``name`` has that is no call as `evaluate` takes it, but a part of some recording.
_KEYS_OF_RECORDINGS = frozenset({"role", "type", "events"})

#: The iterators of lists and tuples, beside generators the only ones that may say that no call was made.
_ITERATORS: Any = (type(iter([])), type(iter(())))

#: What ``__reduce__`` of these has: the third part is the place, which goes when they are used up.
_PARTS_WHILE_IT_LASTS = 3


class Witnessed(NamedTuple):
    """What is known of a run.

    Attributes:
        trace: what the agent did.
        calls_only: whether it is a list of calls, which says nothing of messages.
    """

    trace: Trace
    calls_only: bool = False


class Subject:
    """A subject of ``expect``, and how it is asked.

    Attributes:
        given: what was given to ``expect``.
        is_agent: whether it is called with a prompt; else it is what an agent has produced.
        is_async: whether it gives something to be awaited, as far as that shows without calling it.
    """

    def __init__(self, given: Any) -> None:
        self.given = given
        self.is_agent = _is_agent(given)
        self.is_async = _is_async(given) if self.is_agent else _comes_later(given)
        self._gives_once = not self.is_agent and (self.is_async or isinstance(given, Iterator))
        self._begun = False
        self._seen: Witnessed | None = None
        self._may_be_left = False

    def witness(self, prompt: Any) -> Witnessed:
        """Return what the agent did, asking it where it is one. What it raises passes through untouched.

        Raises:
            TypeError: it is async, though nothing showed it before it was called.
        """
        if self._seen is not None:
            return self._seen
        produced = self._produce(prompt)
        if _comes_later(produced):
            _close(produced)
            raise TypeError(needs_run_async(self.given))
        return self._keep(read_produced(_collected(produced)))

    async def witness_async(self, prompt: Any) -> Witnessed:
        """Return what the agent did; it may be sync or async."""
        if self._seen is not None:
            return self._seen
        produced = self._produce(prompt)
        while inspect.isawaitable(produced):  # an async function may return a coroutine that it did not await
            produced = await produced
        if isinstance(produced, AsyncIterator):
            produced = await _collected_async(produced)
        return self._keep(read_produced(_collected(produced)))

    def discard(self) -> None:
        """Close a coroutine that will not be awaited, so that nobody is warned of it."""
        if inspect.iscoroutine(self.given):
            self.given.close()

    def may_be_left(self) -> None:
        """Let a coroutine go unawaited without a warning, if it comes to that: what it is about has been written."""
        self._may_be_left = True

    def __del__(self) -> None:
        if getattr(self, "_may_be_left", False):
            self.discard()

    def _produce(self, prompt: Any) -> Any:
        if self.is_agent:
            return self.given(prompt)
        if self._gives_once:
            if self._begun:  # what is left of it would look like a run without calls
                raise UsageError(f"{_name(self.given)} gives its calls once, and an earlier run has used it up")
            self._begun = True
        return self.given

    def _keep(self, seen: Witnessed) -> Witnessed:
        """Keep what came of a subject that gives its calls only once."""
        if self._gives_once:
            self._seen = seen
        return seen


def needs_run_async(given: Any) -> str:
    """Say that a subject is async."""
    return f"{_name(given)} is async: await expect(…).run_async() in place of run()"


def read_produced(produced: Any) -> Witnessed:
    """Read what an agent produced: a trace, calls, or a recording in a form that a reader knows.

    Raises:
        ReadError: it is nothing of the kind.
        UsageError: it is a list of calls, one of which is malformed.
    """
    return without_frames(lambda: _read(produced))


def _read(produced: Any) -> Witnessed:
    if isinstance(produced, Trace):
        return Witnessed(produced)
    if isinstance(produced, LiveTrace):
        return Witnessed(produced.trace)
    if isinstance(produced, (list, tuple)) and all(map(_is_call, produced)):
        return Witnessed(as_trace(produced), calls_only=True)
    if _is_call(produced) or produced is None or isinstance(produced, (str, bytes, int, float)):
        raise ReadError(
            f"the agent produced {show(produced)}; expected a Trace, a list of calls such as {{'tool': 'search', "
            "'args': {…}}, or a recording in a form that a reader knows"
        )
    return Witnessed(read(list(produced) if isinstance(produced, tuple) else produced))


def _collected(produced: Any) -> Any:
    """Return what an iterator gives as a list, anything else as it is.

    An empty list says that no call was made, so that nothing may become one that does not say so: not what somebody
    has used up before, and no iterator of another kind, such as an empty file.

    Raises:
        ReadError: it was used before, or it is empty and nothing that gives calls.
    """
    if not isinstance(produced, Iterator):
        return produced
    _refuse_used(produced)
    items, returned = _drained(produced)
    if not items and returned is None and not isinstance(produced, (GeneratorType, *_ITERATORS)):
        raise ReadError(f"an empty {type(produced).__qualname__} does not say that no call was made; return a list")
    return _with_returned(items, returned)


async def _collected_async(produced: AsyncIterator[Any]) -> list[Any]:
    _refuse_used(produced)
    items = [item async for item in produced]
    if not items and not isinstance(produced, AsyncGeneratorType):
        raise ReadError(f"an empty {type(produced).__qualname__} does not say that no call was made; return a list")
    return items


def _drained(produced: Iterator[Any]) -> tuple[list[Any], Any]:
    """Return what an iterator gives, and what a generator returns at its end."""
    items: list[Any] = []
    while True:
        try:
            items.append(next(produced))
        except StopIteration as end:
            return items, end.value


def _with_returned(items: list[Any], returned: Any) -> Any:
    """Put what a generator returned to what it gave: further calls, or the whole recording where it gave nothing.

    Raises:
        ReadError: it is neither.
    """
    if returned is None:
        return items
    if not items:
        return returned
    if isinstance(returned, (list, tuple)) and all(map(_is_call, returned)):
        return [*items, *returned]
    raise ReadError(
        f"the generator gave calls and returned {show(returned)}; expected a list of further calls, or none"
    )


def _refuse_used(produced: Any) -> None:
    """Refuse what somebody has iterated over: the calls that it gave then are lost.

    Raises:
        ReadError: that is the case.
    """
    if isinstance(produced, GeneratorType):
        used = inspect.getgeneratorstate(produced) != inspect.GEN_CREATED
    elif isinstance(produced, AsyncGeneratorType):
        used = produced.ag_frame is None
    else:
        used = isinstance(produced, _ITERATORS) and len(produced.__reduce__()) < _PARTS_WHILE_IT_LASTS
    if used:
        raise ReadError(f"the {type(produced).__name__} is already consumed; make a new one for each run")


def _is_call(item: Any) -> bool:
    if isinstance(item, ToolCall):
        return True
    if not isinstance(item, Mapping):
        return False
    # A call that is named by ``name`` is let through here, since `as_trace` says what is meant.
    return "tool" in item or ("name" in item and _KEYS_OF_RECORDINGS.isdisjoint(item))


def _is_agent(given: Any) -> bool:
    """Whether it can be called with a prompt. A recording that happens to be callable is a recording."""
    return callable(given) and not isinstance(given, (Trace, Mapping)) and not _is_recording(given)


def _is_recording(given: Any) -> bool:
    """Whether an object that can be called is a recording that a reader knows.

    An object of a class of the user's own is an agent, whatever its state looks like: that changes with each call.
    """
    if isinstance(given, (list, tuple)):
        return True
    if inspect.isroutine(given) or isinstance(given, (functools.partial, type)) or not _is_of_sdk(given):
        return False
    try:
        read(given)
    except ReadError:
        return False
    return True


def _is_of_sdk(given: Any) -> bool:
    return is_sdk_object(given, converters())


def _is_async(agent: Any) -> bool:
    """Whether calling it gives something to be awaited, as far as that shows without calling it."""
    while isinstance(agent, functools.partial):
        agent = agent.func
    for function in (agent, getattr(type(agent), "__call__", None)):  # noqa: B004 - the method itself is looked at
        if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
            return True
    return False


def _comes_later(produced: Any) -> bool:
    """Whether something has to be awaited."""
    return inspect.isawaitable(produced) or isinstance(produced, AsyncIterator)


def _close(produced: Any) -> None:
    """Close what an agent made and nobody will await: a coroutine is closed, a task cancelled. A mock has no say."""
    if inspect.iscoroutine(produced):
        produced.close()
    elif asyncio.isfuture(produced):
        produced.cancel()


def _name(given: Any) -> str:
    while isinstance(given, functools.partial):
        given = given.func
    return show(getattr(given, "__qualname__", None) or type(given).__qualname__, 60).strip("'\"")
