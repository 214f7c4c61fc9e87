"""Wrapped tools: what is recorded of a call, and that the tool stays what it was."""

from __future__ import annotations

import asyncio
import functools
import inspect
import pickle
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest

from tracewitness import UNANSWERED, UsageError, record
from tracewitness.capture import Recording


@record.tool
def search(query: str, limit: int = 10, *more: str, sort: str = "price", **filters: Any) -> list[str]:
    """Search the catalogue."""
    return [query] * 2


@record.tool
def refuse(reason: str) -> None:
    raise LookupError(reason)


@record.tool
async def search_later(query: str) -> str:
    await asyncio.sleep(0)
    return f"found {query}"


@record.tool
async def refuse_later(reason: str) -> None:
    raise LookupError(reason)


def positional(item: str, /, **further: Any) -> str:
    return item


def only_call(recording: Recording) -> Any:
    (call,) = recording.calls
    return call


# Arguments of `search`, and what is recorded of them.
CALLS: list[tuple[tuple[Any, ...], dict[str, Any], dict[str, Any]]] = [
    (("lamp",), {}, {"query": "lamp", "limit": 10, "sort": "price"}),
    (("lamp", 3), {}, {"query": "lamp", "limit": 3, "sort": "price"}),
    ((), {"query": "lamp", "sort": "name"}, {"query": "lamp", "limit": 10, "sort": "name"}),
    (("lamp", 3, "a", "b"), {}, {"query": "lamp", "limit": 3, "more": ["a", "b"], "sort": "price"}),
    (("lamp",), {"colour": "red"}, {"query": "lamp", "limit": 10, "sort": "price", "colour": "red"}),
]


@pytest.mark.parametrize(("args", "kwargs", "recorded"), CALLS)
def test_arguments_by_their_names(args: tuple[Any, ...], kwargs: dict[str, Any], recorded: dict[str, Any]) -> None:
    """They are named as the parameters are, defaults with them; what is given by other names keeps its name."""
    with record() as trace:
        search(*args, **kwargs)
    assert only_call(trace).args == recorded


def test_a_further_name_that_is_a_parameters_too() -> None:
    """Nothing takes the place of another argument."""
    tool = record.tool(positional)
    with record() as trace:
        tool("a", item="b", count=1)
    assert only_call(trace).args == {"item": "a", "further": {"item": "b", "count": 1}}


@pytest.mark.parametrize(
    ("args", "kwargs", "recorded"),
    [((), {}, {}), (("lamp", 1), {"limit": 2}, {"*args": ["lamp", 1], "limit": 2})],
)
def test_arguments_that_do_not_fit(args: tuple[Any, ...], kwargs: dict[str, Any], recorded: dict[str, Any]) -> None:
    """The tool raises what it always raises; the call was made, with what was given."""
    with record() as trace, pytest.raises(TypeError, match=r"query|limit"):
        search(*args, **kwargs)
    call = only_call(trace)
    assert (call.args, call.is_error) == (recorded, True)
    assert call.result.startswith("TypeError: ")


def test_results_and_exceptions() -> None:
    """A result is as it came back; an exception goes on as it is, and is recorded as an error."""
    with record() as trace:
        assert search("lamp") == ["lamp", "lamp"]
        with pytest.raises(LookupError) as raised:
            refuse("no\nlamp")
    found, refused = trace.calls
    assert (found.result, found.is_error) == (["lamp", "lamp"], False)
    assert (refused.result, refused.is_error) == ("LookupError: no\nlamp", True)
    assert raised.traceback[-1].name == "refuse"
    assert raised.value.__cause__ is raised.value.__context__ is None


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, StopIteration, asyncio.CancelledError])
def test_exceptions_of_every_kind(error: type[BaseException]) -> None:
    """Also what ends programs passes through and is recorded."""

    @record.tool
    def end() -> None:
        raise error("now")

    with record() as trace, pytest.raises(error):
        end()
    assert only_call(trace).result == f"{error.__name__}: now"


def test_an_exception_whose_message_raises() -> None:
    """The tool's exception is the one that comes out."""

    class OddError(Exception):
        def __str__(self) -> str:
            raise RuntimeError("hidden")

    @record.tool
    def fail() -> None:
        raise OddError

    with record() as trace, pytest.raises(OddError):
        fail()
    assert only_call(trace).result == "OddError: a message that can't be read"


def test_async_tools() -> None:
    """They are recorded when they have been awaited."""

    async def main() -> None:
        assert await search_later("lamp") == "found lamp"
        with pytest.raises(LookupError):
            await refuse_later("no")

    with record() as trace:
        asyncio.run(main())
    assert [(call.result, call.is_error) for call in trace.calls] == [("found lamp", False), ("LookupError: no", True)]


def test_a_coroutine_that_nobody_awaits_is_no_call() -> None:
    """A call of an async function does nothing until it is awaited."""
    with record() as trace:
        search_later("lamp").close()
    assert not trace.calls


def test_times() -> None:
    """A call has its beginning and its end in UTC, and the result comes at the end."""
    with record() as trace:
        search("lamp")
    call, answer = trace.to_events()
    assert call["at"] <= call["until"] == answer["at"]
    assert call["until"].endswith("Z")


# ----------------------------------------------------------------------------------------------------- generators


@record.tool
def count(to: int) -> Iterator[int]:
    yield from range(to)


@record.tool
def converse(greeting: str) -> Any:
    said = []
    heard = yield greeting
    while heard is not None:
        said.append(heard)
        try:
            heard = yield f"{heard}?"
        except ValueError as error:
            heard = f"not {error}"
    return said


@record.tool
async def count_later(to: int) -> AsyncIterator[int]:
    for number in range(to):
        yield number


@record.tool
async def converse_later(greeting: str) -> Any:
    heard = yield greeting
    while heard is not None:
        try:
            heard = yield f"{heard}?"
        except ValueError as error:
            heard = f"not {error}"


def test_generators() -> None:
    """What one gives is its result, as a list, recorded at its end."""
    with record() as trace:
        numbers = count(3)
        assert not trace.calls
        assert next(numbers) == 0
        assert only_call(trace).result is UNANSWERED
        assert list(numbers) == [1, 2]
    assert only_call(trace).result == [0, 1, 2]


def test_generators_that_are_spoken_to() -> None:
    """What is sent and thrown reaches the generator, and what it returns its caller."""
    with record() as trace:
        talk = converse("hello")
        heard = [next(talk), talk.send("a"), talk.throw(ValueError("b"))]
        with pytest.raises(StopIteration) as end:
            talk.send(None)
    assert heard == ["hello", "a?", "not b?"]
    assert end.value.value == ["a", "not b"]
    answer = trace.to_events()[-1]
    assert (answer["result"], answer["metadata"]) == (heard, {"returned": ["a", "not b"]})


def test_generators_that_are_left() -> None:
    """What was given until nobody asked for more is the result."""
    with record() as trace:
        numbers = count(3)
        next(numbers)
        numbers.close()  # type: ignore[attr-defined]
    answer = trace.to_events()[-1]
    assert (answer["result"], answer["metadata"], answer["is_error"]) == ([0], {"closed": True}, False)


def test_generators_that_fail() -> None:
    """The exception is the result; what came before it is kept beside it."""

    @record.tool
    def fail() -> Iterator[int]:
        yield 1
        raise LookupError("gone")

    with record() as trace, pytest.raises(LookupError):
        list(fail())
    answer = trace.to_events()[-1]
    assert (answer["result"], answer["is_error"]) == ("LookupError: gone", True)
    assert answer["metadata"] == {"yielded": [1]}


@pytest.mark.parametrize("recorded", [True, False])
def test_async_generators(recorded: bool) -> None:
    """They work as those that are not async, where somebody records and where nobody does."""

    async def main() -> list[Any]:
        talk = converse_later("hello")
        heard = [await anext(talk), await talk.asend("a"), await talk.athrow(ValueError("b"))]
        with pytest.raises(StopAsyncIteration):
            await talk.asend(None)
        left = count_later(3)
        heard.append(await anext(left))
        await left.aclose()  # type: ignore[attr-defined]
        return [*heard, *[number async for number in count_later(2)]]

    expected = ["hello", "a?", "not b?", 0, 0, 1]
    if not recorded:
        assert asyncio.run(main()) == expected
        return
    with record() as trace:
        assert asyncio.run(main()) == expected
    assert [call.result for call in trace.calls] == [["hello", "a?", "not b?"], [0], [0, 1]]


def test_an_async_generator_that_fails() -> None:
    """As above."""

    @record.tool
    async def fail() -> AsyncIterator[int]:
        yield 1
        raise LookupError("gone")

    async def main() -> None:
        async for _ in fail():
            pass

    with record() as trace, pytest.raises(LookupError):
        asyncio.run(main())
    assert only_call(trace).answer.record.metadata == {"yielded": [1]}


# ------------------------------------------------------------------------------------- what comes in another way


def test_functions_that_return_what_is_awaited() -> None:
    """A function that is not async and returns a coroutine is recorded when that was awaited."""
    tool = record.tool(lambda query: search_later(query), name="outer")

    async def main() -> str:
        return await tool("lamp")  # type: ignore[no-any-return]

    with record() as trace:
        assert asyncio.run(main()) == "found lamp"
    assert [(call.name, call.result) for call in trace.calls] == [
        ("outer", "found lamp"),
        ("search_later", "found lamp"),
    ]


def test_functions_that_return_futures() -> None:
    """The future is handed on as it is; its outcome is the call's."""
    with ThreadPoolExecutor(1) as pool:
        tool = record.tool(lambda number: pool.submit(divmod, 7, number), name="submit")
        with record() as trace:
            held, failed = tool(2), tool(0)
            assert isinstance(held, Future)
            assert held.result() == (3, 1)
            assert isinstance(failed.exception(), ZeroDivisionError)
            pool.shutdown()
    results = [(call.result, call.is_error) for call in trace.calls]
    assert results[0] == ([3, 1], False)
    assert results[1][1] is True


def test_functions_that_return_tasks() -> None:
    """So it is with a task."""

    async def main() -> str:
        begun = record.tool(lambda query: asyncio.ensure_future(search_later(query)), name="begin")("lamp")
        assert isinstance(begun, asyncio.Task)
        return await begun  # type: ignore[no-any-return]

    with record() as trace:
        assert asyncio.run(main()) == "found lamp"
    assert [call.result for call in trace.calls] == ["found lamp", "found lamp"]


def test_functions_that_return_generators() -> None:
    """What is iterated over is recorded when it ends."""
    with record() as trace:
        assert list(record.tool(lambda: (n * n for n in range(3)), name="squares")()) == [0, 1, 4]
    assert only_call(trace).result == [0, 1, 4]


# ----------------------------------------------------------------------------------------------------- methods


class Desk:
    """An order desk, whose methods are tools in every way of writing them."""

    def __init__(self) -> None:
        self.orders: list[str] = []

    @record.tool
    def order(self, item: str) -> str:
        self.orders.append(item)
        return item

    @record.tool
    async def order_later(self, item: str) -> str:
        return item

    @record.tool
    @classmethod
    def open(cls, item: str) -> str:
        return item

    @classmethod
    @record.tool
    def open_below(cls, item: str) -> str:
        return item

    @record.tool
    @staticmethod
    def shut(item: str) -> str:
        return item

    @staticmethod
    @record.tool
    def shut_below(item: str) -> str:
        return item

    def plain(self, item: str) -> str:
        return item

    @record.tool(name="calls")
    def __call__(self, item: str) -> str:
        return item


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda item: Desk().order(item), "order"),
        (lambda item: Desk.order(Desk(), item), "order"),
        (lambda item: asyncio.run(Desk().order_later(item)), "order_later"),
        (lambda item: Desk.open(item), "open"),
        (lambda item: Desk.open_below(item), "open_below"),
        (lambda item: Desk().shut(item), "shut"),
        (lambda item: Desk.shut_below(item), "shut_below"),
        (lambda item: record.tool(Desk().plain)(item), "plain"),
        (lambda item: record.tool(Desk.plain)(Desk(), item), "plain"),
        (lambda item: Desk()(item), "calls"),
    ],
)
def test_methods(call: Callable[[str], str], name: str) -> None:
    """``self`` and ``cls`` are no arguments of the tool."""
    with record() as trace:
        call("lamp")
    recorded = only_call(trace)
    assert (recorded.name, recorded.args) == (name, {"item": "lamp"})
    assert not trace.problems


def test_a_function_whose_parameter_is_called_self() -> None:
    """Outside of a class it is a parameter as any other."""

    @record.tool
    def tag(self: str) -> str:
        return self

    with record() as trace:
        tag("x")
    assert only_call(trace).args == {"self": "x"}


def test_objects_that_can_be_called() -> None:
    """They are wrapped under the name of their class, or under a given one; a partial keeps what it is given."""

    class Finder:
        async def __call__(self, item: str) -> str:
            return item

    tool = record.tool(Finder())
    assert inspect.iscoroutinefunction(tool)
    part = record.tool(functools.partial(search.__wrapped__, sort="name"), name="part")  # type: ignore[attr-defined]
    with record() as trace:
        asyncio.run(tool("lamp"))
        part("desk")
    assert [(call.name, call.args) for call in trace.calls] == [
        ("Finder", {"item": "lamp"}),
        ("part", {"query": "desk", "limit": 10, "sort": "name"}),
    ]


def test_built_in_functions() -> None:
    """Where there is no signature, arguments have no names."""
    tool = record.tool(max)
    with record() as trace:
        assert tool(1, 2) == 2
    assert only_call(trace).args == {"*args": [1, 2]}


# ------------------------------------------------------------------------------------------- it stays what it was


@pytest.mark.parametrize(
    ("tool", "test"),
    [
        (search, inspect.isfunction),
        (search_later, inspect.iscoroutinefunction),
        (search_later, asyncio.iscoroutinefunction),
        (count, inspect.isgeneratorfunction),
        (count_later, inspect.isasyncgenfunction),
        (Desk.open, inspect.ismethod),
    ],
)
@pytest.mark.filterwarnings("ignore:.*asyncio.iscoroutinefunction.*:DeprecationWarning")
def test_its_kind(tool: Any, test: Callable[[Any], bool]) -> None:
    """Frameworks look whether a tool is async."""
    assert test(tool)


def test_its_signature() -> None:
    """Frameworks make a schema of names, types and the docstring."""
    original = search.__wrapped__  # type: ignore[attr-defined]
    assert inspect.signature(search) == inspect.signature(original)
    assert (search.__name__, search.__doc__, search.__module__) == ("search", original.__doc__, __name__)
    assert search.__annotations__ == original.__annotations__


def test_pickling() -> None:
    """A wrapped function of a module is found there again."""
    packed = pickle.dumps([search, functools.partial(search_later, query="x")])
    found, part = pickle.loads(packed)  # noqa: S301 - it is ours
    assert found is search
    assert part.func is search_later


def test_outside_of_a_block() -> None:
    """Where nobody records, a tool does what it does, and nothing is kept of it."""
    assert search("lamp") == ["lamp", "lamp"]
    assert list(count(2)) == [0, 1]
    assert asyncio.run(search_later("lamp")) == "found lamp"
    with record() as trace:
        pass
    search("late")
    assert len(trace) == 0


def test_wrapped_twice() -> None:
    """A call is recorded once, under the last name."""
    again = record.tool(search)
    assert again is search
    renamed = record.tool(search, name="find")
    desk = Desk()
    renamed_method = record.tool(desk.order, name="buy")
    assert record.tool(desk.order) == desk.order
    with record() as trace:
        renamed("lamp")
        renamed_method("desk")
        search("chair")
    assert [call.name for call in trace.calls] == ["find", "buy", "search"]
    assert desk.orders == ["desk"]


def test_below_another_decorator_that_copies_attributes() -> None:
    """What wraps a wrapped tool may be a tool of its own."""

    @functools.wraps(search)
    def cached(query: str) -> Any:
        return search(query)

    outer = record.tool(cached, name="cached")
    with record() as trace:
        outer("lamp")
    assert [call.name for call in trace.calls] == ["cached", "search"]


@pytest.mark.parametrize(
    "decorate", [record.tool("find"), record.tool(name="find"), lambda f: record.tool(f, name="find")]
)
def test_names(decorate: Callable[[Any], Any]) -> None:
    """A name can be given in three ways."""
    tool = decorate(lambda query: query)
    with record() as trace:
        tool("lamp")
    assert only_call(trace).name == "find"


def test_without_parentheses_or_with_empty_ones() -> None:
    """Both wrap under the tool's own name."""

    @record.tool()
    def find() -> None: ...

    with record() as trace:
        find()
    assert only_call(trace).name == "find"


def test_parameters_that_are_left_out() -> None:
    """Neither what was given nor a default is recorded of them."""

    @record.tool(leave_out=["session", "token"])
    def find(query: str, session: object, token: str = "secret", **more: Any) -> None: ...  # noqa: S107

    with record() as trace:
        find("lamp", object(), colour="red")
        find("lamp", session=object(), token="x")  # noqa: S106
    assert [call.args for call in trace.calls] == [{"query": "lamp", "colour": "red"}, {"query": "lamp"}]
    assert not trace.problems


@pytest.mark.parametrize(
    ("wrap", "words"),
    [
        (
            lambda: record.tool(leave_out=["sesion"])(positional_with_session),
            "'sesion'; session was meant",
        ),
        (lambda: record.tool(leave_out="session")(positional_with_session), "a list of parameters' names"),
        (lambda: record.tool(Desk), "wraps a function or a method, not"),
        (lambda: record.tool(7), "wraps a function or a method, not 7"),
        (lambda: record.tool("a", name="b"), "a tool has one name: 'a' or 'b'"),
        (lambda: record.tool("")(positional), "a tool's name is a text, not ''"),
        (lambda: record.tool(positional, name=7), "a tool's name is a text, not 7"),
        (lambda: record(positional), "record.tool wraps a tool"),
    ],
)
def test_what_cannot_be_wrapped(wrap: Callable[[], Any], words: str) -> None:
    """It is said at once, and what was meant."""
    with pytest.raises(UsageError, match=r".*") as raised:
        wrap()
    assert words in str(raised.value)


def positional_with_session(query: str, session: object) -> None:
    """Be wrapped."""
