"""What ``expect`` takes: agents of every kind, and what they have produced."""

from __future__ import annotations

import asyncio
import functools
import gc
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any
from unittest.mock import AsyncMock, MagicMock, Mock

import pytest

from tracewitness import Expectation, ReadError, Trace, UsageError, expect
from tracewitness.fluent.subject import Subject
from tracewitness.testing import agent as agent_said
from tracewitness.testing import call, trace, user

CALLS = [{"tool": "search", "args": {"city": "NYC"}}]


def function(prompt: str) -> list[dict[str, Any]]:
    """Answer as an agent does."""
    assert prompt == "hi"
    return CALLS


def generator(prompt: str) -> Iterator[dict[str, Any]]:
    """Yield calls."""
    yield from function(prompt)


async def coroutine_function(prompt: str) -> list[dict[str, Any]]:
    """Answer after a while."""
    await asyncio.sleep(0)
    return function(prompt)


async def async_generator(prompt: str) -> AsyncIterator[dict[str, Any]]:
    """Yield calls, each after a while."""
    for made in function(prompt):
        await asyncio.sleep(0)
        yield made


class Agent:
    """Agents with state."""

    def method(self, prompt: str) -> list[dict[str, Any]]:
        """Answer as a bound method."""
        return function(prompt)

    async def async_method(self, prompt: str) -> list[dict[str, Any]]:
        """Answer as an async bound method."""
        return function(prompt)

    def __call__(self, prompt: str) -> list[dict[str, Any]]:
        return function(prompt)


class AsyncAgent:
    """An object whose call is async."""

    async def __call__(self, prompt: str) -> list[dict[str, Any]]:
        return function(prompt)


class AsyncGeneratorAgent:
    """An object whose call is an async generator."""

    async def __call__(self, prompt: str) -> AsyncIterator[dict[str, Any]]:
        for made in function(prompt):
            yield made


def with_setting(setting: int, prompt: str) -> list[dict[str, Any]]:
    """Take another argument first."""
    return function(prompt)


async def async_with_setting(setting: int, prompt: str) -> list[dict[str, Any]]:
    """Take another argument first, async."""
    return function(prompt)


SYNC_AGENTS: dict[str, Any] = {
    "function": function,
    "lambda": lambda prompt: function(prompt),
    "generator": generator,
    "bound method": Agent().method,
    "object": Agent(),
    "partial": functools.partial(with_setting, 1),
    "partial of an object": functools.partial(Agent()),
    "mock": Mock(return_value=CALLS),
    "magic mock": MagicMock(return_value=CALLS),
    "gives a tuple": lambda _: tuple(CALLS),
    "gives a trace": lambda prompt: trace(user(prompt), call("search", city="NYC")),
    "gives events": lambda prompt: [{"user": prompt}, {"call": "search", "args": {"city": "NYC"}}],
    "gives a document": lambda _: {"events": [{"call": "search", "args": {"city": "NYC"}}]},
    "gives tool calls": lambda _: trace(call("search", city="NYC")).calls,
}
KNOWN_ASYNC_AGENTS: dict[str, Any] = {
    "coroutine function": coroutine_function,
    "async generator": async_generator,
    "async bound method": Agent().async_method,
    "object with an async call": AsyncAgent(),
    "object with an async generator": AsyncGeneratorAgent(),
    "partial": functools.partial(async_with_setting, 1),
    "partial of an object": functools.partial(AsyncAgent()),
    "partial of a partial": functools.partial(functools.partial(async_with_setting), 1),
    "async mock": AsyncMock(return_value=CALLS),
}
HIDDEN_ASYNC_AGENTS: dict[str, Any] = {
    "lambda": lambda prompt: coroutine_function(prompt),
    "lambda with a generator": lambda prompt: async_generator(prompt),
    "wrapped": lambda *args: AsyncAgent()(*args),
}
ASYNC_AGENTS = {**KNOWN_ASYNC_AGENTS, **{f"hidden: {name}": agent for name, agent in HIDDEN_ASYNC_AGENTS.items()}}

each_sync = pytest.mark.parametrize("subject", SYNC_AGENTS.values(), ids=SYNC_AGENTS)
each_async = pytest.mark.parametrize("subject", ASYNC_AGENTS.values(), ids=ASYNC_AGENTS)


@each_sync
def test_sync_agents(subject: Any) -> None:
    """Whatever can be called with a prompt is an agent, and is judged by the calls that it gives."""
    assert expect(subject).on("hi").calls("search", city="NYC").run().score == 1.0
    with pytest.raises(AssertionError):
        expect(subject).on("hi").calls("search", city="LAX").run()


@each_sync
def test_sync_agents_with_run_async(subject: Any) -> None:
    """`run_async` takes sync agents as well."""
    assert asyncio.run(expect(subject).on("hi").calls("search", city="NYC").run_async()).score == 1.0


@each_async
def test_async_agents(subject: Any) -> None:
    """Async agents are awaited by `run_async`."""
    assert asyncio.run(expect(subject).on("hi").calls("search", city="NYC").run_async()).score == 1.0
    with pytest.raises(AssertionError):
        asyncio.run(expect(subject).on("hi").does_not_call("search").run_async())


@each_async
def test_run_refuses_async_agents(subject: Any) -> None:
    """`run` says that `run_async` is meant, and leaves nothing behind that was never awaited."""
    with pytest.raises(TypeError, match=r"is async: await expect\(…\)\.run_async\(\)"):
        expect(subject).on("hi").calls("search").run()
    gc.collect()  # a coroutine that nobody awaited would warn now, and warnings are errors


@pytest.mark.parametrize(
    ("subject", "name"),
    [
        (coroutine_function, "coroutine_function"),
        (functools.partial(async_with_setting, 1), "async_with_setting"),
        (AsyncAgent(), "AsyncAgent"),
        (Agent().async_method, "Agent.async_method"),
    ],
)
def test_run_names_the_async_agent(subject: Any, name: str) -> None:
    """The error begins with the agent's name."""
    with pytest.raises(TypeError, match=f"^{name} is async"):
        expect(subject).on("hi").calls("search").run()


@pytest.mark.parametrize("subject", KNOWN_ASYNC_AGENTS.values(), ids=KNOWN_ASYNC_AGENTS)
def test_async_shows_without_a_call(subject: Any) -> None:
    """Functions, objects, partials of both: none has to be called to know."""
    assert Subject(subject).is_async


@pytest.mark.parametrize("subject", [*SYNC_AGENTS.values(), *HIDDEN_ASYNC_AGENTS.values(), AsyncAgent])
def test_sync_is_what_shows_nothing_else(subject: Any) -> None:
    """A class is called as it is; what its objects do is another matter."""
    assert not Subject(subject).is_async


def test_an_agent_that_is_known_to_be_async_is_not_called_by_run() -> None:
    """What shows without a call needs none."""
    subject = AsyncMock(return_value=CALLS)
    with pytest.raises(TypeError):
        expect(subject).on("hi").calls("search").run()
    subject.assert_not_called()


def test_a_task_that_an_agent_made_is_cancelled() -> None:
    """`run` inside a running loop leaves no task behind."""

    async def main() -> None:
        tasks: list[asyncio.Task[Any]] = []

        def subject(prompt: str) -> asyncio.Task[Any]:
            tasks.append(asyncio.ensure_future(coroutine_function(prompt)))
            return tasks[0]

        with pytest.raises(TypeError):
            expect(subject).on("hi").calls("search").run()
        await asyncio.sleep(0)
        assert tasks[0].cancelled()

    asyncio.run(main())


PRODUCED: dict[str, Callable[[], Any]] = {
    "list of calls": lambda: CALLS,
    "tuple of calls": lambda: tuple(CALLS),
    "tool calls": lambda: list(trace(call("search", city="NYC")).calls),
    "trace": lambda: trace(call("search", city="NYC")),
    "generator": lambda: generator("hi"),
    "iterator": lambda: iter(CALLS),
    "events": lambda: [{"call": "search", "args": {"city": "NYC"}}],
    "tuple of events": lambda: ({"call": "search", "args": {"city": "NYC"}},),
    "document": lambda: {"name": "run-1", "events": [{"call": "search", "args": {"city": "NYC"}}]},
}
each_produced = pytest.mark.parametrize("produce", PRODUCED.values(), ids=PRODUCED)


@each_produced
def test_what_was_produced_already(produce: Callable[[], Any]) -> None:
    """Without a prompt, a recording in any form is judged, as often as one likes."""
    contract = expect(produce()).calls("search", city="NYC").nothing_else()
    assert contract.run().score == contract.run().score == 1.0
    assert asyncio.run(expect(produce()).calls("search", city="NYC").run_async()).score == 1.0
    with pytest.raises(AssertionError):
        expect(produce()).does_not_call("search").run()


@pytest.mark.parametrize("produce", [lambda: coroutine_function("hi"), lambda: async_generator("hi")])
def test_what_is_still_to_be_awaited(produce: Callable[[], Any]) -> None:
    """A coroutine or an async generator in place of an agent is awaited once; `run` says that it has to be."""

    async def twice() -> None:
        contract = expect(produce()).calls("search", city="NYC")
        assert (await contract.run_async()).score == (await contract.run_async()).score == 1.0

    asyncio.run(twice())
    with pytest.raises(TypeError, match="run_async"):
        expect(produce()).calls("search").run()
    gc.collect()


def test_a_generator_that_failed_is_not_taken_for_a_run_without_calls() -> None:
    """What is left of a generator after an exception is nothing that says that no call was made."""

    def failing() -> Iterator[dict[str, Any]]:
        yield {"tool": "delete"}
        raise LookupError("gone")

    contract = expect(failing()).does_not_call("delete")
    with pytest.raises(LookupError, match="gone"):
        contract.run()
    with pytest.raises(UsageError, match="used it up"):
        contract.run()


class CallableResponse(dict[str, Any]):
    """A response object that happens to be callable."""

    def __call__(self, _prompt: str = "") -> None:
        raise AssertionError("a response must not be called")


class CallableList(list[Any]):
    """A list of events that happens to be callable."""

    def __call__(self, _prompt: str = "") -> None:
        raise AssertionError("a response must not be called")


@pytest.mark.parametrize("response", [CallableResponse(events=[{"call": "a"}]), CallableList([{"call": "a"}])])
def test_a_callable_response_is_a_response(response: Any) -> None:
    """It is read and not called; a prompt for it is refused."""
    assert expect(response).calls("a").run().passed
    with pytest.raises(UsageError, match="prompt"):
        expect(response).on("hi").calls("a").run()


CHAT_ANSWER = {
    "object": "chat.completion",
    "choices": [
        {
            "index": 0,
            "finish_reason": "tool_calls",
            "message": {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {"id": "c1", "type": "function", "function": {"name": "search", "arguments": '{"city": "NYC"}'}}
                ],
            },
        }
    ],
}
ANTHROPIC_ANSWER = {
    "type": "message",
    "role": "assistant",
    "stop_reason": "tool_use",
    "content": [{"type": "tool_use", "id": "t1", "name": "search", "input": {"city": "NYC"}}],
}


class Completion:
    """A response as an SDK gives it: an object that can be dumped, and called for some reason."""

    __module__ = "openai.types.chat"

    def __init__(self, data: Any) -> None:
        self._data = data

    def model_dump(self) -> Any:
        """Return plain data, as a pydantic model does."""
        return self._data

    def __call__(self, _prompt: str = "") -> None:
        raise AssertionError("a response must not be called")


@pytest.mark.parametrize("answer", [CHAT_ANSWER, ANTHROPIC_ANSWER], ids=["chat", "anthropic"])
def test_raw_responses_of_providers(answer: Any) -> None:
    """As plain data, as an SDK's object (callable or not), and as what an agent returned."""
    for subject in (answer, Completion(answer)):
        assert expect(subject).calls("search", city="NYC").nothing_else().run().score == 1.0
        assert expect(lambda _, given=subject: given).on("hi").calls("search", city="NYC").run().score == 1.0
        with pytest.raises(UsageError, match="prompt"):
            expect(subject).on("hi").calls("search").run()


def test_an_answer_without_calls() -> None:
    """An answer in words alone, or in none at all, is a clean run."""
    for answer in (
        {**ANTHROPIC_ANSWER, "stop_reason": "end_turn", "content": [{"type": "text", "text": "Hello."}]},
        {"choices": [{"message": {"role": "assistant", "content": "Hello."}}]},
    ):
        assert expect(answer).does_not_call("search").no_calls().run().score == 1.0
        with pytest.raises(AssertionError, match=r"^search was never called"):
            expect(answer).calls("search").run()


EMPTY: dict[str, Callable[[], Expectation]] = {
    "list": lambda: expect([]),
    "tuple": lambda: expect(()),
    "generator": lambda: expect(made for made in ()),
    "agent": lambda: expect(lambda _: []).on("hi"),
    "generator agent": lambda: expect(lambda _: iter(())).on("hi"),
    "words alone": lambda: expect(trace(user("hi"), agent_said("hello"))),
}


@pytest.mark.parametrize("begin", EMPTY.values(), ids=EMPTY)
def test_no_call_at_all_is_a_valid_run(begin: Callable[[], Expectation]) -> None:
    """It is a clean one for a ban, and a broken one where a call is expected."""
    result = begin().does_not_call("delete").no_calls().run()
    assert (result.score, result.passed) == (1.0, True)
    with pytest.raises(AssertionError, match=r"^search was never called \(score 0\.10 < 0\.90\)"):
        begin().calls("search").run()


@pytest.mark.parametrize("produced", [None, "text", b"{}", 5, 1.5, True, {"tool": "search"}, {}, {1, 2}, object()])
def test_what_is_no_recording(produced: Any) -> None:
    """It is refused: an agent that returned nothing is not one that made no call."""
    with pytest.raises(ReadError, match=r"expected a Trace|a run has events|make a list of it first"):
        expect(lambda _: produced).on("hi").does_not_call("delete").run()
    with pytest.raises(ReadError):
        expect(produced).does_not_call("delete").run()


def test_a_malformed_call_is_refused() -> None:
    """A key that another one is meant by is named, so that no call is overlooked."""
    with pytest.raises(UsageError, match="tool is meant"):
        expect([{"name": "delete"}]).does_not_call("delete").run()


def test_an_empty_trace_is_no_evidence() -> None:
    """A recording without an event says nothing: every contract is broken, a ban's too."""
    with pytest.raises(AssertionError, match=r"^no evidence: the recording is empty"):
        expect(Trace.from_events([])).does_not_call("delete").run()


class Failure(BaseException):
    """What no library should catch."""


@pytest.mark.parametrize(
    "error",
    [ValueError("x"), TypeError("y"), AssertionError("z"), UsageError("u"), Failure(), KeyboardInterrupt()],
    ids=repr,
)
def test_what_an_agent_raises_passes_through(error: BaseException) -> None:
    """The very object comes out of `run` and `run_async`, whether raised at once or between two calls."""

    def at_once(prompt: str) -> Any:
        raise error

    def between(prompt: str) -> Iterator[dict[str, Any]]:
        yield {"tool": "search"}
        raise error

    for subject in (at_once, between):
        with pytest.raises(type(error)) as caught:
            expect(subject).on("hi").calls("search").run()
        assert caught.value is error


@pytest.mark.parametrize("error", [ValueError("x"), AssertionError("z"), Failure()], ids=repr)
def test_what_an_async_agent_raises_passes_through(error: BaseException) -> None:
    """The very object comes out of `run_async`."""

    async def at_once(prompt: str) -> Any:
        raise error

    async def between(prompt: str) -> AsyncIterator[dict[str, Any]]:
        yield {"tool": "search"}
        raise error

    for subject in (at_once, between):
        with pytest.raises(type(error)) as caught:
            asyncio.run(expect(subject).on("hi").calls("search").run_async())
        assert caught.value is error


def test_the_prompt_is_handed_over_as_it_is() -> None:
    """Any object will do, None too."""
    for prompt in (None, {"messages": []}, ["a"], object()):
        subject = Mock(return_value=[])
        expect(subject).on(prompt).no_calls().run()
        assert subject.call_args.args[0] is prompt
