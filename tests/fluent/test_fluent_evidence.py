"""What does not show that something held: used-up iterators, mocks, lists of calls that say nothing of messages."""

from __future__ import annotations

import asyncio
import csv
import gc
import io
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any
from unittest.mock import AsyncMock, MagicMock

import pytest

from tracewitness import ReadError, ToolScoreAssertionError, Trace, UsageError, expect

CALLS = [{"tool": "a"}]


def gives_calls() -> Iterator[dict[str, Any]]:
    """Yield calls."""
    yield from CALLS


async def gives_calls_later() -> AsyncIterator[dict[str, Any]]:
    """Yield calls, to be awaited."""
    for made in CALLS:
        yield made


class Empty:
    """An iterator of nothing in particular."""

    def __iter__(self) -> Empty:
        return self

    def __next__(self) -> Any:
        raise StopIteration


class EmptyLater:
    """An async iterator of nothing in particular."""

    def __aiter__(self) -> EmptyLater:
        return self

    async def __anext__(self) -> Any:
        raise StopAsyncIteration


NOTHING_OF_THE_KIND: dict[str, Callable[[], Any]] = {
    "text file": lambda: io.StringIO(""),
    "bytes file": lambda: io.BytesIO(b""),
    "rows": lambda: csv.reader([]),
    "mock": MagicMock,
    "async mock": AsyncMock,
    "keys": lambda: iter({}),
    "set": lambda: iter(set()),
    "zip": lambda: zip((), (), strict=True),
    "iterator": Empty,
}


@pytest.mark.parametrize("make", NOTHING_OF_THE_KIND.values(), ids=NOTHING_OF_THE_KIND)
def test_an_empty_iterable_is_no_run_without_calls(make: Callable[[], Any]) -> None:
    """Only a list, a tuple or a generator of calls says that there was none."""
    with pytest.raises((ReadError, TypeError)):
        expect(lambda _: make()).on("hi").does_not_call("rm").run()

    async def later(_: str) -> Any:
        return make()

    for agent in (lambda _: make(), later):
        with pytest.raises(ReadError):
            asyncio.run(expect(agent).on("hi").does_not_call("rm").run_async())


@pytest.mark.parametrize("mock", [MagicMock(), AsyncMock()], ids=["sync", "async"])
def test_a_mock_is_no_agent_that_made_no_call(mock: Any) -> None:
    """A mock that nobody told what to return returns a mock."""
    with pytest.raises(ReadError):
        asyncio.run(expect(mock).on("hi").does_not_call("rm").run_async())


def test_an_async_iterator_of_nothing_in_particular() -> None:
    """It says nothing, as its sync brother does."""
    with pytest.raises(ReadError, match="EmptyLater"):
        asyncio.run(expect(lambda _: EmptyLater()).on("hi").does_not_call("rm").run_async())


def test_an_empty_file_on_disk() -> None:
    """An open file is no list of calls."""
    with Path(os.devnull).open(encoding="utf-8") as file, pytest.raises(ReadError):
        expect(file).does_not_call("rm").run()


def test_what_a_generator_returns_is_read() -> None:
    """Calls are put to those that it gave; where it gave none, what it returns is what it produced."""

    def more(_: str) -> Any:
        yield {"tool": "a"}
        return [{"tool": "rm"}]

    def instead(_: str) -> Any:
        yield from ()
        return Trace.from_events([{"call": "rm"}])

    for agent in (more, instead):
        with pytest.raises(ToolScoreAssertionError, match="rm was called"):
            expect(agent).on("hi").does_not_call("rm").run()


@pytest.mark.parametrize("returned", [{"tool": "rm"}, "done", 5, [1], Trace(())], ids=repr)
def test_what_a_generator_returns_and_nobody_understands(returned: Any) -> None:
    """It is refused and not thrown away."""

    def agent(_: str) -> Any:
        yield {"tool": "a"}
        return returned

    with pytest.raises(ReadError, match="returned"):
        expect(agent).on("hi").does_not_call("rm").run()


ONCE: dict[str, Callable[[], Any]] = {"generator": gives_calls, "iterator": lambda: iter(CALLS)}


@pytest.mark.parametrize("make", ONCE.values(), ids=ONCE)
def test_what_is_used_up_says_nothing(make: Callable[[], Any]) -> None:
    """Neither a second contract nor a second run takes it for a run without calls."""
    shared = make()
    assert expect(shared).calls("a").run()
    with pytest.raises(ReadError, match="already consumed"):
        expect(shared).does_not_call("a").run()
    returned = make()
    with pytest.raises(ReadError, match="already consumed"):
        expect(lambda _: returned).on("hi").calls("a").repeat(2, at_least=1).run()


def test_what_somebody_began_to_use_says_too_little() -> None:
    """The calls that it gave before are lost."""
    begun = gives_calls()
    next(begun)
    with pytest.raises(ReadError, match="already consumed"):
        expect(begun).does_not_call("a").run()


def test_an_async_generator_that_is_used_up() -> None:
    """As a sync one."""

    async def main() -> None:
        shared = gives_calls_later()
        assert await expect(shared).calls("a").run_async()
        with pytest.raises(ReadError, match="already consumed"):
            await expect(shared).does_not_call("a").run_async()

    asyncio.run(main())


def test_an_async_function_that_returns_a_coroutine() -> None:
    """It is awaited, however often."""

    async def inner() -> Any:
        return CALLS

    async def middle() -> Awaitable[Any]:
        return inner()

    async def outer(_: str) -> Awaitable[Any]:
        return middle()

    assert asyncio.run(expect(outer).on("hi").calls("a").run_async())


# ------------------------------------------------------------------------------- lists of calls, and messages


SILENT = [
    {"type": "claim", "says": "done", "tool": "a"},
    {"type": "max_turns", "max": 1},
]


@pytest.mark.parametrize("check", SILENT, ids=lambda check: check["type"])
@pytest.mark.parametrize("made", [[], CALLS])
def test_a_list_of_calls_says_nothing_of_messages(check: dict[str, Any], made: list[Any]) -> None:
    """What speaks of messages or turns is broken on it, given or made by an agent; on a trace it is not."""
    for contract in (expect(made), expect(lambda _: made).on("hi")):
        with pytest.raises(AssertionError, match="a list of calls says nothing of messages"):
            contract.check(check).run()
    trace = Trace.from_events([{"user": "hi"}, {"call": "a"}, {"agent": "done"}])
    assert expect(trace).check(check).run()


@pytest.mark.parametrize(
    ("made", "check", "holds"),
    [
        ([], {"max": 0}, True),
        ([{"tool": "a"}], {"max": 0}, False),
        ([{"tool": "a"}], {"max": 1}, True),
        ([{"tool": "a"}], {"max": 0, "tool": "b"}, True),
        ([{"tool": "a", "result": None}], {"max": 0}, True),
        ([{"tool": "a", "result": 1}, {"tool": "a"}], {"max": 0}, False),
        ([{"tool": "a", "error": "x"}, {"tool": "a"}], {"max": 1}, False),
        ([{"tool": "a", "error": "x"}, {"tool": "a"}], {"max": 2}, True),
    ],
)
def test_results_that_are_not_recorded_may_be_errors(made: list[Any], check: dict[str, Any], holds: bool) -> None:
    """In a list of calls a call without a result is one of which nobody knows whether it failed."""
    result = expect(made).check({"type": "max_errors", **check}).attempt()
    assert bool(result) is holds


GROUNDED = {"type": "args_from", "tool": "buy", "args": {"item": "user"}}


def test_the_prompt_is_what_the_user_said() -> None:
    """Where the agent's own trace has no message of the user, its prompt is one; the rest comes one later."""

    def agent(_: str) -> Any:
        return [{"tool": "buy", "args": {"item": "X-1"}}]

    result = expect(agent).on("get me X-1").check(GROUNDED).does_not_call("rm").run()
    assert result.trace.to_events() == [{"user": "get me X-1"}, {"call": "buy", "args": {"item": "X-1"}}]
    for prompt in ("get me X-2", "", {"text": "X-1"}, None):
        with pytest.raises(AssertionError):
            expect(agent).on(prompt).check(GROUNDED).run()
    without = expect(agent).on("get me X-1").calls("buy").run()
    assert without.trace.calls[0].position == 0


def test_what_the_user_said_is_not_said_twice() -> None:
    """A trace that has the user's words keeps them; one without evidence stays so."""
    trace = Trace.from_events([{"user": "get me X-2"}, {"call": "buy", "args": {"item": "X-1"}}])
    with pytest.raises(AssertionError, match="none of its sources"):
        expect(lambda _: trace).on("get me X-1").check(GROUNDED).run()
    with pytest.raises(AssertionError, match=r"^no evidence"):
        expect(lambda _: Trace.from_events([])).on("get me X-1").check(GROUNDED).run()


# ------------------------------------------------------------------------------------ agents and recordings


def test_an_agent_whose_state_looks_like_a_recording() -> None:
    """An object of the user's own class that can be called is called, whatever it has become by then."""

    class Agent:
        def __init__(self) -> None:
            self.messages: list[Any] = []

        def model_dump(self) -> Any:
            return {"messages": self.messages}

        def __call__(self, prompt: str) -> Any:
            self.messages += [{"role": "user", "content": prompt}, {"role": "assistant", "content": "Done."}]
            return CALLS

    agent = Agent()
    for _ in range(2):
        assert expect(agent).on("hi").calls("a").run()


# ------------------------------------------------------------------------------ contracts that nobody has run


def test_a_contract_is_no_outcome() -> None:
    """``assert expect(…).calls(…)`` is refused; what a run returns is true where it passed."""
    for contract in (expect(CALLS).calls("a"), expect(lambda _: CALLS).on("hi").calls("a").repeat(2)):
        with pytest.raises(UsageError, match=r"add \.run\(\)"):
            bool(contract)
        assert contract.run()
    assert not expect(CALLS).calls("b").attempt()


def test_no_coroutine_is_left_behind() -> None:
    """A warning that nobody awaited one would be an error here."""

    async def coroutine() -> Any:
        return CALLS

    with pytest.raises(UsageError):
        expect(coroutine()).calls("a").repeat(2)
    for run in (lambda c: c.run(), lambda c: asyncio.run(c.run_async())):
        with pytest.raises(UsageError):
            run(expect(coroutine()).on("hi").calls("a"))
        with pytest.raises(UsageError):
            run(expect(coroutine()))
    assert expect(coroutine()).calls("a").to_yaml("x")
    contract = expect(coroutine()).calls("a")
    assert contract.to_yaml("x")
    assert asyncio.run(contract.run_async())
    gc.collect()


def test_what_is_said_after_repeat_does_not_change_it() -> None:
    """A contract of several runs is the one of when it was made."""
    contract = expect(lambda _: CALLS).on("hi").calls("a").in_order()
    repeated = contract.repeat(2)
    contract.calls("b").does_not_call("a").with_score(1).with_weights(sequence_accuracy=1).with_strict_args().no_calls()
    assert repeated.run().held == 2
    with pytest.raises(AssertionError):
        contract.run()


@pytest.mark.parametrize("say", ["calls", "does_not_call", "every_call", "ends_with", "returns"])
def test_what_was_given_may_change_later(say: str) -> None:
    """The contract keeps what it was told."""
    given = {"items": [1, {"k": 1}]}
    contract = getattr(expect([]), say)("a", x=given)
    before = contract.operators()
    given["items"].append(2)
    given["items"][1]["k"] = 2  # type: ignore[index]
    assert contract.operators() == before
    check = {"type": "tool_called", "tool": "a", "args": given}
    contract.check(check)
    before = contract.operators()
    given["items"].append(3)
    assert contract.operators() == before
