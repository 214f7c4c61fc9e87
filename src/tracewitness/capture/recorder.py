"""`record`: a block that records, and the tools that are recorded in it."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Collection
from typing import Any, Final, TypeVar, overload

from tracewitness.capture.arguments import Parameters
from tracewitness.capture.recordings import OPEN, Recording
from tracewitness.capture.running import AsyncSteps, Tool, begin, followed, steps_of
from tracewitness.display import printable, show
from tracewitness.errors import UsageError

__all__ = ["Recorder", "record"]

#: Hides the frames of this module in a test runner's traceback.
__tracebackhide__ = True

#: Whatever is wrapped keeps its type: its signature, and whether it is async.
F = TypeVar("F")

_MARK: Final = "__tracewitness_tool__"
_OWN_OBJECT: Final = frozenset({"self", "cls", "mcs"})


class Recorder:
    """Record what an agent does where its framework records nothing. There is one: ``record``.

    ``with record() as trace:`` (or ``async with``) begins a recording; every call of a tool that `tool` wraps is in it,
    with its arguments as they were when it was made, its result or exception, and its times. `Recording` says what else
    can be told, and stands for its `Trace` wherever one is taken.

    - Blocks within blocks: what is called in the inner one is in both.
    - Calls that run at once have ids, so that results pair. Where a tool calls another, both are in the trace, and the
      inner call's metadata has the outer one's id as ``parent``.
    - Tasks, and threads that run in a copy of the context (as those of ``asyncio.to_thread`` do), belong to the block
      that they were begun in. So do others where one block alone goes on; where several do, each trace has a problem
      that says so. What runs in another process is not seen.
    - A block that an exception ends is a run that failed, and its trace no evidence; neither is that of a block in
      which nothing was called and nothing said.

    >>> @record.tool
    ... def create_order(item: str, count: int = 1) -> dict[str, str]:
    ...     return {"status": "confirmed"}
    >>> with record() as trace:
    ...     trace.user("Order a lamp")
    ...     reply = create_order("lamp")
    >>> trace.calls
    (<ToolCall 1: create_order({'count': 1, 'item': 'lamp'})>,)
    """

    def __call__(self, name: str = "") -> Recording:
        """Return a recording, for one ``with`` block.

        Arguments:
            name: the run's name; it picks the case of an eval file.

        Raises:
            UsageError: the name is no text, as where ``@record`` stands in place of ``@record.tool``.
        """
        if not isinstance(name, str):
            raise UsageError(f"record(name) takes a run's name, not {show(name)}; record.tool wraps a tool")
        return Recording(name)

    @overload
    def tool(
        self,
        function: str | None = None,
        /,
        *,
        name: str | None = None,
        leave_out: Collection[str] = (),
        plain: Callable[[Any], Any] | None = None,
    ) -> Callable[[F], F]: ...

    @overload
    def tool(
        self,
        function: F,
        /,
        *,
        name: str | None = None,
        leave_out: Collection[str] = (),
        plain: Callable[[Any], Any] | None = None,
    ) -> F: ...

    def tool(
        self,
        function: Any = None,
        /,
        *,
        name: str | None = None,
        leave_out: Collection[str] = (),
        plain: Callable[[Any], Any] | None = None,
    ) -> Any:
        """Wrap a tool, so that its calls are recorded where somebody records; elsewhere it costs next to nothing.

        It stays what it was: a function, async or not, a generator, a method, with its signature. Use it below the
        decorators of frameworks, which are to see the wrapped function: ``@function_tool`` above ``@record.tool``.

        Arguments:
            function: a function, a method, or what else can be called; or the name, as of `name`.
            name: what it is called in recordings; by default its own name.
            leave_out: the names of parameters that are not recorded, such as a connection to a database. ``self`` and
                ``cls`` of methods never are, and neither is the context that a known framework puts in by itself.
            plain: is given each argument or result that has no plain form, and returns plain data of it. Without it,
                a call with such an argument has arguments that can't be read, and such a result can't be read either,
                so that no check relies on them.

        Raises:
            UsageError: it can't be wrapped so.

        >>> @record.tool("book", leave_out=["session"])
        ... def book_flight(flight: str, session: object = None) -> str:
        ...     return "booked"
        >>> with record() as trace:
        ...     _ = book_flight("FL-1", object())
        >>> trace.to_events()[0]["call"], trace.to_events()[0]["args"]
        ('book', {'flight': 'FL-1'})
        """
        if isinstance(function, str) and name is not None:
            raise UsageError(f"a tool has one name: {show(function)} or {show(name)}")
        if function is None or isinstance(function, str):
            own = name if function is None else function
            return functools.partial(self.tool, name=own, leave_out=leave_out, plain=plain)
        _check_options(name, leave_out)
        return _wrapped(function, name, leave_out, plain)

    def __repr__(self) -> str:
        return "record"


#: The one `Recorder`.
record: Final = Recorder()


def _check_options(name: object, leave_out: object) -> None:
    if name is not None and (not isinstance(name, str) or not name):
        raise UsageError(f"a tool's name is a text, not {show(name)}")
    if isinstance(leave_out, str) or not isinstance(leave_out, Collection):
        raise UsageError(f"leave_out is a list of parameters' names, not {show(leave_out)}")


def _wrapped(function: Any, name: str | None, leave_out: Collection[str], plain: Callable[[Any], Any] | None) -> Any:
    if isinstance(function, (classmethod, staticmethod)):
        inner = _wrapped(function.__func__, name, leave_out, plain)
        return type(function)(inner)
    if isinstance(function, type) or not callable(function):
        raise UsageError(f"record.tool wraps a function or a method, not {show(function)}")
    if (wrapped := _unwrapped(function)) is not None:
        if name is None and not leave_out and plain is None:
            return function
        function = wrapped  # wrapped anew, or each call would be recorded twice
    own_name = name or getattr(function, "__name__", None) or type(function).__name__
    parameters = Parameters(function, is_method=_is_method(function), leave_out=leave_out, plain=plain)
    wrapper = _wrapper(function, Tool(printable(own_name, 500), parameters, plain))
    setattr(wrapper, _MARK, wrapper)
    return wrapper


def _unwrapped(function: Any) -> Any:
    """Return what a function or bound method of ours wraps, or None where it is none."""
    own: Any = function.__func__ if inspect.ismethod(function) else function
    attributes: dict[str, Any] = getattr(own, "__dict__", {})
    if _MARK not in attributes or attributes[_MARK] is not own:  # other decorators copy the mark of what they wrap
        return None
    wrapped: Any = own.__wrapped__
    return wrapped.__get__(function.__self__) if inspect.ismethod(function) else wrapped


def _is_method(function: Any) -> bool:
    """Whether a function was written in a class, and its first parameter is the object or class."""
    parents = getattr(function, "__qualname__", "").split(".")[:-1]
    if inspect.ismethod(function) or not parents or parents[-1] == "<locals>":
        return False
    code = getattr(inspect.unwrap(function), "__code__", None)
    return code is not None and code.co_argcount > 0 and code.co_varnames[0] in _OWN_OBJECT


def _wrapper(function: Any, tool: Tool) -> Any:
    kind = _called(function)
    if inspect.iscoroutinefunction(kind):
        return _async(function, tool)
    if inspect.isasyncgenfunction(kind):
        return _async_generator(function, tool)
    if inspect.isgeneratorfunction(kind):
        return _generator(function, tool)
    return _plain(function, tool)


def _called(function: Any) -> Any:
    """Return what shows whether calling something is async: of an object that can be called, its method."""
    while isinstance(function, functools.partial):
        function = function.func
    return function if inspect.isroutine(function) else getattr(type(function), "__call__", function)  # noqa: B004


def _plain(function: Any, tool: Tool) -> Any:
    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        running = begin(tool, args, kwargs) if OPEN else None
        if running is None:
            return function(*args, **kwargs)
        return followed(running, functools.partial(function, *args, **kwargs))

    return wrapper


def _async(function: Any, tool: Tool) -> Any:
    @functools.wraps(function)
    async def wrapper(*args: Any, **kwargs: Any) -> Any:
        running = begin(tool, args, kwargs) if OPEN else None
        if running is None:
            return await function(*args, **kwargs)
        return await followed(running, functools.partial(function, *args, **kwargs))

    return wrapper


def _generator(function: Any, tool: Tool) -> Any:
    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        running = begin(tool, args, kwargs) if OPEN else None
        if running is None:
            return (yield from function(*args, **kwargs))
        return (yield from followed(running, functools.partial(function, *args, **kwargs)))

    return wrapper


def _async_generator(function: Any, tool: Tool) -> Any:
    def start(*args: Any, **kwargs: Any) -> AsyncSteps:
        running = begin(tool, args, kwargs) if OPEN else None
        if running is None:
            return AsyncSteps(None, function(*args, **kwargs))
        return AsyncSteps(None, followed(running, functools.partial(function, *args, **kwargs)))

    return functools.wraps(function)(steps_of(start))
