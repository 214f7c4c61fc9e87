"""Agents that are functions or objects: what they are given, where they run, and how what they return is read."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

from tracewitness.errors import AgentError, UsageError
from tracewitness.evals.simulation.agents import agent_of
from tracewitness.evals.simulation.agents.callables import FactoryAgent
from tracewitness.evals.simulation.conversation import Agent, AgentTurn, UserTurn
from tracewitness.readers import read
from tracewitness.trace import Record, Trace

PARAMETERS = {"shop": "Bern", "limits": {"most": 3}}


def converse(agent: Agent, *said: str | UserTurn, parameters: Any = PARAMETERS) -> list[AgentTurn]:
    """Return what an agent does in the turns of one session."""

    async def talk() -> list[AgentTurn]:
        await agent.prepare()
        session = await agent.open(parameters, "s1")
        try:
            assert session.id == "s1"
            return [await session.send(UserTurn(text) if isinstance(text, str) else text) for text in said]
        finally:
            await session.close()
            await agent.close()

    return asyncio.run(talk())


def events(turn: AgentTurn) -> list[dict[str, Any]]:
    return [record.to_event() for record in turn.records]


def returning(*values: Any) -> Callable[[str], Any]:
    """Return a function that returns one value after the other."""
    left = iter(values)
    return lambda _: next(left)


# ------------------------------------------------------------------------------------------------ what it is, and gets


def sync_reply(text: str) -> str:
    return f"{text}!"


async def async_reply(text: str) -> str:
    await asyncio.sleep(0)
    return f"{text}!"


def pieces(text: str) -> Iterator[str]:
    yield text
    yield "!"


async def async_pieces(text: str) -> AsyncIterator[str]:
    yield text
    yield "!"


class Desk:
    def __call__(self, text: str) -> str:
        return f"{text}!"


class AsyncDesk:
    async def send(self, text: str) -> str:
        return f"{text}!"


@pytest.mark.parametrize(
    "agent",
    [
        sync_reply,
        async_reply,
        pieces,
        async_pieces,
        Desk(),
        Desk,
        AsyncDesk(),
        AsyncDesk,
        lambda text: async_reply(text),
        lambda text: async_pieces(text),
    ],
)
def test_whatever_can_be_called(agent: Any) -> None:
    """Sync or async, at once or in pieces, a function or an object."""
    (turn,) = converse(agent_of(agent), "hi")
    assert events(turn) == [{"agent": "hi!"}]
    assert not turn.ended
    assert turn.problems == ()


def one_event(text: str) -> Iterator[Any]:
    yield {"agent": f"{text}!"}


async def one_async_event(text: str) -> AsyncIterator[Any]:
    yield {"agent": f"{text}!"}


@pytest.mark.parametrize("agent", [one_event, one_async_event, lambda text: {"agent": f"{text}!"}])
def test_one_event_is_read_as_a_list_of_one(agent: Any) -> None:
    """What a generator gives is read the same, be it one event or more."""
    assert events(converse(agent_of(agent), "hi")[0]) == [{"agent": "hi!"}]


def test_one_call_is_read_as_a_list_of_one() -> None:
    (turn,) = converse(agent_of(returning({"call": "search", "args": {"q": 1}})), "hi")
    assert events(turn) == [{"call": "search", "args": {"q": 1}}]


@pytest.mark.parametrize("value", [{"agent": {"name": "x"}}, {"agent": "hi!", "odd": 1}, {"result": {"a": 1}}])
def test_what_only_resembles_an_event_is_refused(value: Any) -> None:
    with pytest.raises(AgentError, match="what the agent returned can't be read"):
        converse(agent_of(returning(value)), "hi")


def test_what_a_function_is_given_by_name() -> None:
    """What was said before, what happened before, the variables of the turn, and what the session is."""
    given: list[Any] = []

    def reply(
        text: str, history: Any, trace: Trace, *, variables: Any, session_id: str, parameters: Any, note: str = ""
    ) -> Any:
        given.append((text, history, trace.to_events(), variables, session_id, parameters))
        variables["mine"] = parameters["mine"] = True
        return {"calls": [{"call": "search"}], "reply": "found"}

    converse(agent_of(reply), UserTurn("a", {"shop": "Bern"}), "b")
    assert given == [
        ("a", [], [], {"shop": "Bern", "mine": True}, "s1", {**PARAMETERS, "mine": True}),
        (
            "b",
            [{"role": "user", "content": "a"}, {"role": "assistant", "content": "found"}],
            [{"user": "a"}, {"call": "search", "args": {}}, {"agent": "found"}],
            {"mine": True},
            "s1",
            {**PARAMETERS, "mine": True},
        ),
    ]
    assert "mine" not in PARAMETERS


def test_what_a_function_has_no_parameters_for() -> None:
    """It is left out; the first parameter is what the user said, whatever its name."""
    assert events(converse(agent_of(lambda history: history), "hi")[0]) == [{"agent": "hi"}]
    assert events(converse(agent_of(lambda *said, **more: f"{said} {more}"), "hi")[0]) == [{"agent": "('hi',) {}"}]
    assert events(converse(agent_of(str.upper), "hi")[0]) == [{"agent": "HI"}]


# -------------------------------------------------------------------------------------------------- threads, and errors


def test_sessions_run_at_once() -> None:
    """Fifty sync agents that wait a while take hardly longer than one, however few processors there are."""
    barrier = threading.Barrier(50, timeout=20)

    def reply(text: str) -> str:
        barrier.wait()
        return text

    async def talk() -> list[str]:
        agent = agent_of(reply)
        sessions = [await agent.open({}, str(number)) for number in range(50)]
        turns = await asyncio.gather(*(session.send(UserTurn(session.id)) for session in sessions))
        for session in sessions:
            await session.close()
        return [turn.text for turn in turns]

    assert asyncio.run(talk()) == [str(number) for number in range(50)]
    for thread in threading.enumerate():
        if thread.name == "tracewitness session":
            thread.join(10)
            assert not thread.is_alive()


def test_what_belongs_to_a_thread_is_there_on_the_next_turn() -> None:
    """A connection of sqlite3 may be used only where it was made, and is closed there too."""
    closed: list[str] = []

    class Stock:
        def __init__(self, session_id: str, parameters: Any) -> None:
            self.database = sqlite3.connect(":memory:")
            self.database.execute("create table said (words text)")
            self.name = f"{session_id} in {parameters['shop']}"

        def send(self, text: str) -> str:
            self.database.execute("insert into said values (?)", [text])
            (count,) = self.database.execute("select count(*) from said").fetchone()
            return f"{self.name}: {count}"

        def close(self) -> None:
            self.database.close()
            closed.append(self.name)

    turns = converse(agent_of(Stock), "a", "b")
    assert [turn.text for turn in turns] == ["s1 in Bern: 1", "s1 in Bern: 2"]
    assert closed == ["s1 in Bern"]


def test_a_turn_that_hangs_can_be_left() -> None:
    """Nobody waits for the thread, not even when the session is closed."""
    hanging, closed = threading.Event(), []

    class Desk:
        def send(self, text: str) -> str:
            hanging.wait(20)
            return text

        def close(self) -> None:
            closed.append(True)

    async def talk() -> float:
        session = await agent_of(Desk).open({}, "s1")
        begin = time.monotonic()
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(session.send(UserTurn("hi")), 0.1)
        await session.close()
        return time.monotonic() - begin

    assert asyncio.run(talk()) < 5
    hanging.set()
    assert closed == []


class BrokenError(Exception):
    """What an agent raises."""


def raising(error: BaseException) -> Callable[[str], str]:
    def reply(text: str) -> str:
        raise error

    return reply


def raising_later(error: BaseException) -> Callable[[str], Any]:
    async def reply(text: str) -> str:
        raise error

    return reply


@pytest.mark.parametrize("make", [raising, raising_later])
def test_what_an_agent_raises_passes_through(make: Any) -> None:
    """With its traceback."""
    with pytest.raises(BrokenError) as caught:
        converse(agent_of(make(BrokenError("no database"))), "hi")
    assert caught.traceback[-1].name == "reply"


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (raising, SystemExit(3)),
        (raising_later, SystemExit(3)),
        (raising, StopIteration()),
        (raising, KeyboardInterrupt()),
        (raising, asyncio.CancelledError()),
    ],
)
def test_what_would_end_more_than_the_agent(make: Any, error: BaseException) -> None:
    """An agent that exits ends its turn, not the program and not the event loop."""
    with pytest.raises(RuntimeError, match="the agent raised") as caught:
        converse(agent_of(make(error)), "hi")
    assert caught.value.__cause__ is error


def test_a_factory_that_raises() -> None:
    with pytest.raises(BrokenError):
        converse(FactoryAgent(lambda: raising(BrokenError())(""), "shop", agent_of), "hi")


def test_a_factory_may_be_async_and_so_may_what_it_makes_be_closed() -> None:
    closed = []

    class Desk:
        async def send(self, text: str) -> str:
            return text

        async def aclose(self) -> None:
            closed.append(True)

    async def make(parameters: Any) -> Desk:
        assert parameters == PARAMETERS
        return Desk()

    assert converse(FactoryAgent(make, "shop", agent_of), "hi")[0].text == "hi"
    assert closed == [True]


def test_a_parameter_that_nobody_gives() -> None:
    with pytest.raises(UsageError, match="needs b, which nobody gives"):
        agent_of(lambda a, b: a + b)


# --------------------------------------------------------------------------------------------------- what it may return

MADE = {"call": "search", "args": {"q": "lamp"}, "id": "c1"}
TOOL_CALL = {"id": "c1", "type": "function", "function": {"name": "search", "arguments": '{"q": "lamp"}'}}
COMPLETION = {"choices": [{"message": {"role": "assistant", "content": None, "tool_calls": [TOOL_CALL]}}]}

RETURNED: dict[str, tuple[Any, list[dict[str, Any]]]] = {
    "a text": ("hello", [{"agent": "hello"}]),
    "a text that looks like a recording": ('{"events": []}', [{"agent": '{"events": []}'}]),
    "an empty text": ("", [{"agent": ""}]),
    "a trace": (Trace.from_events([MADE, {"agent": "x"}]), [MADE, {"agent": "x"}]),
    "a turn": (AgentTurn((Record(agent="x"),)), [{"agent": "x"}]),
    "events": ([MADE, {"result": 1, "id": "c1"}], [MADE, {"result": 1, "id": "c1"}]),
    "no events": ({"events": []}, []),
    "a response of a provider": (COMPLETION, [MADE]),
    "messages": ((COMPLETION["choices"][0]["message"],), [MADE]),  # type: ignore[index]
    "a reply and calls": (
        {
            "reply": "Done.",
            "calls": [
                {"call": "search", "args": {"q": "lamp"}, "result": None, "id": "c1"},
                {"name": "steer", "arguments": '{"angle": 1}', "error": "stuck"},
                {"tool": "wait"},
            ],
        },
        [
            MADE,
            {"result": None, "of": "search", "id": "c1"},
            {"call": "steer", "args": {"angle": 1}},
            {"result": "stuck", "of": "steer", "is_error": True},
            {"call": "wait", "args": {}},
            {"agent": "Done."},
        ],
    ),
    "calls alone": ([{"tool": "search", "args": {"q": "lamp"}, "id": "c1"}], [MADE]),
    "a generator of events and texts": (
        iter(["Look", "ing.", MADE, {"result": 1}, "Done", "."]),
        [{"agent": "Looking."}, MADE, {"result": 1}, {"agent": "Done."}],
    ),
    "a generator of nothing": (iter([]), [{"agent": ""}]),
    "a generator of one thing": (iter([COMPLETION]), [MADE]),
    "what the user said and the system": ([{"system": "be kind"}, {"user": "hi"}, {"agent": "x"}], [{"agent": "x"}]),
}


@pytest.mark.parametrize("name", RETURNED)
def test_what_an_agent_may_return(name: str) -> None:
    value, expected = RETURNED[name]
    (turn,) = converse(agent_of(returning(value)), "hi")
    assert events(turn) == expected
    assert turn.problems == ()
    assert not turn.ended


@pytest.mark.parametrize(
    "value",
    [
        {"reply": "bye", "ended": True},
        {"events": [{"agent": "bye"}], "ended": True},
        [{"agent": "bye"}, {"end": True}],
        {"reply": "bye", "calls": [{"call": "end_session"}]},
        {"reply": "bye", "calls": [{"call": "projects/p/locations/l/apps/a/tools/end_session", "result": "ok"}]},
    ],
)
def test_an_agent_that_ends_the_session(value: Any) -> None:
    """It says so, or calls the tool for it; the end itself is no event of the turn."""
    (turn,) = converse(agent_of(returning(value)), "hi")
    assert turn.ended
    assert turn.text == "bye"
    assert not any(record.end is True for record in turn.records)


def test_an_end_that_failed_is_none() -> None:
    value = {"reply": "hm", "calls": [{"call": "end_session", "error": "not now"}]}
    assert not converse(agent_of(returning(value)), "hi")[0].ended


NONSENSE: dict[str, tuple[Any, str]] = {
    "nothing": (None, "the agent returned None; it returns a text, "),
    "a number": (12.5, "the agent returned 12.5; "),
    "an unknown mapping": (
        {"answer": "x"},
        "what the agent returned can't be read: {'answer': 'x'}; it returns a text, ",
    ),
    "an object": (object(), "what the agent returned can't be read: "),
    "an error": (
        {"events": [{"agent": "x"}], "error": "boom"},
        "what the agent returned tells nothing: the run failed",
    ),
    "a reply that is no text": ({"reply": 1}, "a reply is a text, not 1"),
    "calls that are no list": ({"calls": {"call": "a"}}, "calls are a list of mappings such as {'call': …, 'args': …}"),
    "a call that is no mapping": ({"calls": ["a"]}, "a call is a mapping such as {'call': …, 'args': …}, not 'a'"),
    "a call with a typing error": ({"calls": [{"call": "a", "arg": {}}]}, "not 'arg'; args was meant"),
    "an end that is none": ({"reply": "x", "ended": "yes"}, "ended is true or false, not 'yes'"),
}


@pytest.mark.parametrize("name", NONSENSE)
def test_what_can_not_be_understood(name: str) -> None:
    value, problem = NONSENSE[name]
    with pytest.raises(AgentError) as caught:
        converse(agent_of(returning(value)), "hi")
    assert problem in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("wrap", [lambda events: {"events": events}, Trace.from_events], ids=["events", "trace"])
def test_a_beginning_that_may_be_told_again_or_done_again_is_kept(wrap: Any) -> None:
    """Without the user's words nothing tells the two apart: no call is taken away, and the doubt is a problem."""
    first = [ORDER, {"result": {}}, OK]
    found = converse(agent_of(returning(wrap(first), wrap([*first, {"agent": "Again."}]))), "a", "b")
    assert [len(turn.records) for turn in found] == [3, 4]
    assert found[0].problems == ()
    assert "begins with all that was returned on the last one" in found[1].problems[0].reason


def test_doubts_are_kept_once() -> None:
    """What a reader can't make sense of stays a doubt, and a history that has it in it tells it once."""
    bad = {"call": "search", "arguments": {}}
    first = [{"user": "a"}, bad, {"agent": "x"}]
    turns = converse(agent_of(returning(first, [*first, {"user": "b"}, {"agent": "y"}])), "a", "b")
    assert [len(turn.problems) for turn in turns] == [1, 0]
    assert turns[0].problems[0].hides_call
    assert [events(turn) for turn in turns] == [[{"agent": "x"}], [{"agent": "y"}]]


def test_a_call_without_a_name_is_a_doubt() -> None:
    (turn,) = converse(agent_of(returning({"reply": "x", "calls": [{"args": {}}]})), "hi")
    assert [problem.reason for problem in turn.problems] == ["a call without a name: None"]


# ------------------------------------------------------------------------------------------------------ whole histories

ASKED = {"user": "yes"}
ORDER = {"call": "order", "args": {"n": 1}}
OK = {"agent": "Ok."}

HISTORIES: dict[str, list[tuple[str, list[Any], list[Any]]]] = {
    "the turn alone": [("a", [ORDER, OK], [ORDER, OK]), ("b", [OK], [OK])],
    "the same twice, the turn alone": [("yes", [ORDER, OK], [ORDER, OK]), ("yes", [ORDER, OK], [ORDER, OK])],
    "the same twice, with the user": [
        ("yes", [ASKED, ORDER, OK], [ORDER, OK]),
        ("yes", [ASKED, ORDER, OK], [ORDER, OK]),
    ],
    "the same and more, with the user": [
        ("yes", [ASKED, OK], [OK]),
        ("yes", [ASKED, OK, ORDER, OK], [OK, ORDER, OK]),
    ],
    "the same twice, told whole": [
        ("yes", [ASKED, ORDER, OK], [ORDER, OK]),
        ("yes", [ASKED, ORDER, OK, ASKED, ORDER, OK], [ORDER, OK]),
    ],
    "told whole": [
        ("a", [{"user": "a"}, ORDER, OK], [ORDER, OK]),
        ("b", [{"user": "a"}, ORDER, OK, {"user": " b\n"}, OK], [OK]),
        ("c", [{"user": "a"}, ORDER, OK, {"user": "b"}, OK, {"user": "c"}, ORDER], [ORDER]),
    ],
    "told whole, the beginning gone": [
        ("a", [{"user": "a"}, ORDER, OK], [ORDER, OK]),
        ("b", [{"system": "a summary"}, {"user": "b"}, ORDER, OK], [ORDER, OK]),
    ],
    "told whole, the user's words in others": [
        ("yes", [{"user": "<yes>"}, ORDER, OK], [ORDER, OK]),
        ("yes", [{"user": "<yes>"}, ORDER, OK, {"user": "<yes>"}, ORDER], [ORDER]),
    ],
    "told whole, without the user": [
        ("a", [ORDER, OK], [ORDER, OK]),
        ("b", [ORDER, OK, ORDER, {"agent": "Again."}], [ORDER, OK, ORDER, {"agent": "Again."}]),
    ],
    "the same call and another, the turn alone": [("a", [ORDER], [ORDER]), ("b", [ORDER, ORDER], [ORDER, ORDER])],
    "told with times that are new each time": [
        ("a", [{"user": "a", "at": 1}, {**OK, "at": 2}], [{**OK, "at": 2}]),
        ("b", [{"user": "a", "at": 3}, {**OK, "at": 3}, {"user": "B", "at": 3}, {**OK, "at": 3}], [{**OK, "at": 3}]),
    ],
    "a word of the framework as the user's": [("a", [{"user": "a"}, ORDER, {"user": "Go on."}, OK], [ORDER, OK])],
}


@pytest.mark.parametrize("name", HISTORIES)
def test_of_a_whole_history_only_the_turn_is_taken(name: str) -> None:
    turns = HISTORIES[name]
    given = [Trace.from_events(told) for _, told, _ in turns]
    found = converse(agent_of(returning(*given)), *(said for said, _, _ in turns))
    assert [events(turn) for turn in found] == [expected for _, _, expected in turns]


def test_a_history_that_a_provider_has() -> None:
    """An agent that keeps its messages and returns all of them each time."""
    messages: list[dict[str, Any]] = [{"role": "system", "content": "You sell lamps."}]

    def reply(text: str) -> list[dict[str, Any]]:
        messages.append({"role": "user", "content": text})
        call = {**TOOL_CALL, "id": f"c{len(messages)}"}
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": call["id"], "content": "a lamp"})
        messages.append({"role": "assistant", "content": "Done."})
        return messages

    turns = converse(agent_of(reply), "yes", "yes", "yes")
    assert [len(turn.records) for turn in turns] == [3, 3, 3]
    records = [record for turn in turns for record in turn.records]
    assert [call.answer is not None for call in Trace(records).calls] == [True, True, True]
    assert len(read(messages).calls) == 3
