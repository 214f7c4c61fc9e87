"""Tools that are plain functions, wrapped so that a guard decides about each call."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tracewitness.capture.arguments import Parameters
from tracewitness.display import show
from tracewitness.errors import UsageError
from tracewitness.guard.decisions import BlockedCallError, Decision

if TYPE_CHECKING:
    from tracewitness.guard.guard import Guard

__all__ = ["aguarded_call", "guarded", "guarded_call"]


def guarded(guard: Guard, function: Any, name: str | None, *, returns: bool) -> Callable[..., Any]:
    """Wrap a function; see `Guard.tool`."""
    if not inspect.isroutine(function):
        raise UsageError(f"a guard wraps functions, not {show(function)}")
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise UsageError(f"{function.__name__} is a generator, whose calls a guard can't watch; wrap what runs it")
    tool, parameters = name or function.__name__, Parameters(function)

    def decided(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Decision:
        given = parameters.given(tool, args, kwargs)
        return guard.call(tool, given.raw_args if given.args is None else given.args)

    def refused(decision: Decision) -> str:
        if returns:
            return decision.message
        raise BlockedCallError(decision)

    @functools.wraps(function)
    def plain(*args: Any, **kwargs: Any) -> Any:
        decision = decided(args, kwargs)
        return (
            guarded_call(guard, decision, lambda: function(*args, **kwargs)) if decision.allowed else refused(decision)
        )

    @functools.wraps(function)
    async def awaited(*args: Any, **kwargs: Any) -> Any:
        decision = decided(args, kwargs)
        if not decision.allowed:
            return refused(decision)
        return await aguarded_call(guard, decision, lambda: function(*args, **kwargs))

    return awaited if inspect.iscoroutinefunction(function) else plain


def guarded_call(guard: Guard, decision: Decision, make: Callable[[], Any]) -> Any:
    """Make a call that was allowed, and tell the guard what came of it."""
    try:
        returned = make()
    except BaseException as error:
        guard.result(decision, f"{type(error).__name__}: {error}", is_error=True)
        raise
    guard.result(decision, returned)
    return returned


async def aguarded_call(guard: Guard, decision: Decision, make: Callable[[], Any]) -> Any:
    """Await a call that was allowed, and tell the guard what came of it; one that is cancelled failed."""
    try:
        returned = await make()
    except BaseException as error:
        guard.result(decision, f"{type(error).__name__}: {error}", is_error=True)
        raise
    guard.result(decision, returned)
    return returned
