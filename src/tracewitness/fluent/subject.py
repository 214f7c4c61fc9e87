"""What a contract is about: an agent that is called with a prompt, or what one has already produced."""

from __future__ import annotations

import functools
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping
from typing import Any

from msgspec import Struct

from tracewitness.display import show
from tracewitness.errors import ReadError
from tracewitness.readers import trace_of
from tracewitness.scoring import as_trace
from tracewitness.trace import Trace

__all__ = ["Subject"]

_CALL_KEYS = frozenset({"tool", "name"})


class Subject(Struct, frozen=True):
    """A subject of ``expect``, and how it is asked.

    Attributes:
        given: what was given to ``expect``.
        is_agent: whether it is called with a prompt; else it is what an agent has produced.
        is_async: whether calling it gives something to be awaited.
    """

    given: Any
    is_agent: bool
    is_async: bool

    @classmethod
    def of(cls, given: Any) -> Subject:
        """Find out what a subject is. A recording that happens to be callable is a recording."""
        is_agent = callable(given) and not isinstance(given, (Trace, Mapping)) and not _is_recording(given)
        return cls(given, is_agent, is_agent and _is_async(given))

    def witness(self, prompt: Any) -> Trace:
        """Return what the agent did, asking it where it is one. What it raises passes through untouched.

        Raises:
            TypeError: it is async, though nothing showed it before it was called.
        """
        if not self.is_agent:
            return read_produced(self.given)
        produced = self.given(prompt)
        if inspect.isawaitable(produced) or isinstance(produced, AsyncIterator):
            _close(produced)
            raise TypeError(needs_run_async(self.given))
        return read_produced(produced)

    async def witness_async(self, prompt: Any) -> Trace:
        """Return what the agent did; it may be sync or async."""
        if not self.is_agent:
            return read_produced(self.given)
        produced = self.given(prompt)
        if isinstance(produced, AsyncIterator):
            produced = [item async for item in produced]
        elif inspect.isawaitable(produced):
            produced = await produced
        return read_produced(produced)


def needs_run_async(given: Any) -> str:
    """Say that a subject is async."""
    return f"{_name(given)} is async: await expect(…).run_async() in place of run()"


def read_produced(produced: Any) -> Trace:
    """Read what an agent produced: a trace, calls, or a recording in a form that a reader knows.

    Raises:
        ReadError: it is nothing of the kind.
    """
    if isinstance(produced, Trace):
        return produced
    if isinstance(produced, Iterator):
        produced = list(produced)
    if isinstance(produced, (list, tuple)) and all(_is_call(item) for item in produced):
        return as_trace(produced)
    if produced is None or isinstance(produced, (str, bytes, int, float)):
        raise ReadError(
            f"the agent produced {show(produced)}; expected a Trace, a list of calls such as {{'tool': 'search', "
            "'args': {…}}, or a recording in a form that a reader knows"
        )
    return trace_of(produced)


def _is_call(item: Any) -> bool:
    return isinstance(item, Mapping) and not _CALL_KEYS.isdisjoint(item) and "role" not in item


def _is_recording(given: Any) -> bool:
    """Whether an object is a recording that a reader knows."""
    if inspect.isroutine(given) or isinstance(given, (functools.partial, type)):
        return False
    try:
        trace_of(given)
    except ReadError:
        return False
    return True


def _is_async(given: Callable[..., Any]) -> bool:
    """Whether calling it gives something to be awaited, as far as that shows without calling it."""
    while isinstance(given, functools.partial):
        given = given.func
    for function in (given, getattr(type(given), "__call__", None)):  # noqa: B004 - the method itself is looked at
        if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
            return True
    return False


def _close(produced: Awaitable[Any] | AsyncIterator[Any]) -> None:
    """Close what will not be awaited, so that nobody is warned of it."""
    close = getattr(produced, "close", None) or getattr(produced, "cancel", None)
    if close is not None:
        close()


def _name(given: Any) -> str:
    while isinstance(given, functools.partial):
        given = given.func
    return show(getattr(given, "__qualname__", None) or type(given).__qualname__, 60).strip("'\"")


