"""What a contract is about: an agent that is called with a prompt, or what one has already produced."""

from __future__ import annotations

import functools
import inspect
from collections.abc import AsyncIterator, Awaitable, Iterator, Mapping
from typing import Any

from tracewitness.display import show
from tracewitness.errors import ReadError, UsageError
from tracewitness.readers import read
from tracewitness.scoring import as_trace
from tracewitness.trace import ToolCall, Trace

__all__ = ["Subject", "needs_run_async", "read_produced"]

#: What a mapping with a ``name`` has that is no call as `evaluate` takes it, but a part of some recording.
_KEYS_OF_RECORDINGS = frozenset({"role", "type", "events"})


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
        self._trace: Trace | None = None

    def witness(self, prompt: Any) -> Trace:
        """Return what the agent did, asking it where it is one. What it raises passes through untouched.

        Raises:
            TypeError: it is async, though nothing showed it before it was called.
        """
        if self._trace is not None:
            return self._trace
        produced = self._produce(prompt)
        if _comes_later(produced):
            _close(produced)
            raise TypeError(needs_run_async(self.given))
        return self._keep(read_produced(produced))

    async def witness_async(self, prompt: Any) -> Trace:
        """Return what the agent did; it may be sync or async."""
        if self._trace is not None:
            return self._trace
        produced = self._produce(prompt)
        if inspect.isawaitable(produced):
            produced = await produced
        if isinstance(produced, AsyncIterator):
            produced = [item async for item in produced]
        return self._keep(read_produced(produced))

    def discard(self) -> None:
        """Close a coroutine that will not be awaited, so that nobody is warned of it."""
        if inspect.iscoroutine(self.given):
            self.given.close()

    def _produce(self, prompt: Any) -> Any:
        if self.is_agent:
            return self.given(prompt)
        if self._gives_once:
            if self._begun:  # what is left of it would look like a run without calls
                raise UsageError(f"{_name(self.given)} gives its calls once, and an earlier run has used it up")
            self._begun = True
        return self.given

    def _keep(self, trace: Trace) -> Trace:
        """Keep the trace of what gives its calls only once."""
        if self._gives_once:
            self._trace = trace
        return trace


def needs_run_async(given: Any) -> str:
    """Say that a subject is async."""
    return f"{_name(given)} is async: await expect(…).run_async() in place of run()"


def read_produced(produced: Any) -> Trace:
    """Read what an agent produced: a trace, calls, or a recording in a form that a reader knows.

    Raises:
        ReadError: it is nothing of the kind.
        UsageError: it is a list of calls, one of which is malformed.
    """
    if isinstance(produced, Trace):
        return produced
    if isinstance(produced, Iterator):
        produced = list(produced)
    if isinstance(produced, (list, tuple)) and all(map(_is_call, produced)):
        return as_trace(produced)
    if _is_call(produced) or produced is None or isinstance(produced, (str, bytes, int, float)):
        raise ReadError(
            f"the agent produced {show(produced)}; expected a Trace, a list of calls such as {{'tool': 'search', "
            "'args': {…}}, or a recording in a form that a reader knows"
        )
    return read(list(produced) if isinstance(produced, tuple) else produced)


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
    """Whether an object is a recording that a reader knows."""
    if inspect.isroutine(given) or isinstance(given, (functools.partial, type)):
        return False
    try:
        read(given)
    except ReadError:
        return False
    return True


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


def _close(produced: Awaitable[Any] | AsyncIterator[Any]) -> None:
    """Close what an agent made and nobody will await: a coroutine is closed, a task cancelled."""
    close = getattr(produced, "close", None) or getattr(produced, "cancel", None)
    if close is not None:
        close()


def _name(given: Any) -> str:
    while isinstance(given, functools.partial):
        given = given.func
    return show(getattr(given, "__qualname__", None) or type(given).__qualname__, 60).strip("'\"")
