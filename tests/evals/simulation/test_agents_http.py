"""An agent behind an endpoint: OpenAI's real client against a server of ours, which also is down or talks nonsense."""

from __future__ import annotations

import asyncio
import json
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from endpoints import Answer, Endpoint, completion

from tracewitness.errors import InfrastructureError, UsageError
from tracewitness.evals.simulation.agents.http import ChatAgent
from tracewitness.evals.simulation.agents.tools import ToolBox
from tracewitness.evals.simulation.conversation import AgentTurn, Usage, UserTurn
from tracewitness.trace import Trace


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> Iterator[Endpoint]:
    for name in ("OPENAI_API_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"):
        monkeypatch.delenv(name, raising=False)
    server = Endpoint()
    yield server
    server.close()


def scripted(*bodies: Any) -> Callable[[dict[str, Any]], Answer]:
    left = iter(bodies)
    return lambda _: (200, next(left))


def converse(agent: ChatAgent, *said: str | UserTurn, parameters: Any = {}) -> list[AgentTurn]:  # noqa: B006
    async def talk() -> list[AgentTurn]:
        try:
            await agent.prepare()
            session = await agent.open(parameters, "s1")
            try:
                return [await session.send(UserTurn(text) if isinstance(text, str) else text) for text in said]
            finally:
                await session.close()
        finally:
            await agent.close()

    return asyncio.run(talk())


def events(turn: AgentTurn) -> list[dict[str, Any]]:
    return [record.to_event() for record in turn.records]


# --------------------------------------------------------------------------------------------------------- conversation


def test_a_conversation(endpoint: Endpoint) -> None:
    """The whole conversation is sent each time, to the only model that there is, with the session's id and no key."""
    turns = converse(ChatAgent(endpoint.url), "hi", "bye")
    assert [turn.text for turn in turns] == ["Hello.", "Hello."]
    assert turns[0].usage == Usage(1, 10, 2, cost=None)
    assert endpoint.asked[0] == {"model": "desk-1", "messages": [{"role": "user", "content": "hi"}]}
    assert [message["role"] for message in endpoint.asked[1]["messages"]] == ["user", "assistant", "user"]
    assert {headers["x-session-id"] for headers in endpoint.headers} == {"s1"}
    assert not any("authorization" in headers for headers in endpoint.headers)


def test_a_key_and_headers(endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k1")
    converse(ChatAgent(f"{endpoint.url}/chat/completions", model="m2", headers={"X-Shop": "Bern"}), "hi")
    assert endpoint.headers[0]["authorization"] == "Bearer k1"
    assert endpoint.headers[0]["x-shop"] == "Bern"
    assert endpoint.asked[0]["model"] == "m2"


def test_headers_may_be_the_key(endpoint: Endpoint) -> None:
    converse(ChatAgent(endpoint.url, headers={"Authorization": "Basic x"}), "hi")
    assert endpoint.headers[0]["authorization"] == "Basic x"


def test_parameters_and_variables_stand_first(endpoint: Endpoint) -> None:
    """As they are now, in one message of the system: some servers take one only, and only there."""
    agent = ChatAgent(endpoint.url, instructions="Be brief.")
    converse(agent, "hi", UserTurn("more", {"level": "gold"}), parameters={"shop": "Bern", "level": "tin"})
    first = [body["messages"][0] for body in endpoint.asked]
    assert first[0] == {
        "role": "system",
        "content": 'Be brief.\n\nSession variables: {"shop": "Bern", "level": "tin"}',
    }
    assert first[1]["content"].endswith('{"shop": "Bern", "level": "gold"}')
    assert [message["role"] for message in endpoint.asked[1]["messages"]] == ["system", "user", "assistant", "user"]


def test_calls_that_the_server_makes_itself(endpoint: Endpoint) -> None:
    """They are told in the trace, and are not sent back, where they would miss their results."""
    endpoint.answer = scripted(completion("Looking.", ("c1", "search", {"q": "lamp"})), completion("Done."))
    turns = converse(ChatAgent(endpoint.url), "hi", "and?")
    assert events(turns[0]) == [{"agent": "Looking."}, {"call": "search", "args": {"q": "lamp"}, "id": "c1"}]
    assert endpoint.asked[1]["messages"][1] == {"role": "assistant", "content": "Looking."}


# ---------------------------------------------------------------------------------------------------------------- tools

SHOP_TOOLS = '''
import sqlite3

made = []

def search(query: str, limit: int = 3) -> dict:
    """Find things.

    Args:
        query: what to look for.
    """
    made.append((query, limit))
    return {"found": [query] * limit}

async def steer(angle: float) -> str:
    """Turn the wheel."""
    raise RuntimeError("the wheel is stuck")

def end_session() -> None:
    """Say goodbye."""

def mixed(first: int, /, *rest: int, last: int) -> int:
    return first + sum(rest) + last

tools = [search, steer, end_session]
named = {"find": search, "mixed": mixed}

def stock(session_id, parameters):
    database = sqlite3.connect(":memory:")
    database.execute("create table orders (item text)")

    def order(item: str) -> int:
        database.execute("insert into orders values (?)", [item])
        return database.execute("select count(*) from orders").fetchone()[0]

    def where() -> str:
        return f"{session_id} in {parameters['shop']}"

    return [order, where]

def bad():
    return 12

def odd(thing: "NoSuchType"):
    return thing

odd_tools = [odd]
twice = [search, search]
number = 3
names = ["search"]
'''


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    (tmp_path / "shop_tools.py").write_text(SHOP_TOOLS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield
    sys.modules.pop("shop_tools", None)


def test_tools_run_here(endpoint: Endpoint, shop: None) -> None:
    """Their schemas are told to the model, and what they return, until it calls no more."""
    calls = [("c1", "search", {"query": "lamp", "limit": 1}), ("c2", "steer", {"angle": 1})]
    endpoint.answer = scripted(completion("Looking.", *calls), completion("Done."), completion("Bye."))
    turns = converse(ChatAgent(endpoint.url, tools="shop_tools:tools"), "hi", "bye")
    failed = "Error: RuntimeError: the wheel is stuck"
    assert events(turns[0]) == [
        {"agent": "Looking."},
        {"call": "search", "args": {"query": "lamp", "limit": 1}, "id": "c1"},
        {"call": "steer", "args": {"angle": 1}, "id": "c2"},
        {"result": {"found": ["lamp"]}, "of": "search", "id": "c1"},
        {"result": failed, "of": "steer", "id": "c2", "is_error": True},
        {"agent": "Done."},
    ]
    assert Trace(turns[0].records).problems == ()
    assert turns[0].usage.requests == 2
    told = endpoint.asked[1]["messages"]
    assert [message["role"] for message in told] == ["user", "assistant", "tool", "tool"]
    assert [json.loads(told[2]["content"]), told[3]["content"]] == [{"found": ["lamp"]}, failed]
    assert [call["id"] for call in told[1]["tool_calls"]] == ["c1", "c2"]
    schema = endpoint.asked[0]["tools"][0]
    assert (schema["type"], schema["function"]["name"]) == ("function", "search")
    assert schema["function"]["description"] == "Find things."
    assert schema["function"]["parameters"]["required"] == ["query"]
    assert schema["function"]["parameters"]["properties"]["query"]["description"] == "what to look for."
    assert len(endpoint.asked[2]["messages"]) == 6


def test_calls_that_can_not_be_made(endpoint: Endpoint, shop: None) -> None:
    """The model is told why, and the trace says that they failed."""
    endpoint.answer = scripted(
        completion(
            None,
            ("c1", "serch", {}),
            ("c2", "search", "{"),
            ("c3", "search", {"query": 1, "limit": "x"}),
            ("c4", "search", '{"query": "a", "more": 1}'),
        ),
        completion("Hm."),
    )
    (turn,) = converse(ChatAgent(endpoint.url, tools="shop_tools:tools"), "hi")
    results = [event for event in events(turn) if "result" in event]
    assert [result["is_error"] for result in results] == [True] * 4
    texts = [result["result"] for result in results]
    assert texts[0] == "Error: there is no tool 'serch'; search was meant"
    assert texts[1].startswith("Error: Invalid JSON")
    assert texts[2].startswith("Error: query: Input should be a valid string; limit: Input should be a valid integer")
    assert texts[3].startswith("Error: more: ")
    assert [message["content"] for message in endpoint.asked[1]["messages"][2:]] == texts
    assert sys.modules["shop_tools"].made == []


def test_tools_of_a_session(endpoint: Endpoint, shop: None) -> None:
    """They are made for it, with its parameters, and run in its thread."""
    endpoint.answer = scripted(
        completion(None, ("", "order", {"item": "a"}), ("", "where", "")),
        completion(None, ("", "order", {"item": "b"})),
        completion("Done."),
    )
    (turn,) = converse(ChatAgent(endpoint.url, tools="shop_tools:stock"), "hi", parameters={"shop": "Bern"})
    calls = Trace(turn.records).calls
    assert [(call.name, call.result) for call in calls] == [("order", 1), ("where", "s1 in Bern"), ("order", 2)]


def test_names_and_kinds_of_parameters(endpoint: Endpoint, shop: None) -> None:
    endpoint.answer = scripted(
        completion(None, ("c1", "find", {"query": "a"}), ("c2", "mixed", {"first": 1, "rest": [2, 3], "last": 4})),
        completion("Done."),
    )
    (turn,) = converse(ChatAgent(endpoint.url, tools="shop_tools:named"), "hi")
    assert [call.result for call in Trace(turn.records).calls] == [{"found": ["a", "a", "a"]}, 10]


def test_a_model_that_calls_on_and_on(endpoint: Endpoint, shop: None) -> None:
    """The session is ended, and what was done is told."""
    endpoint.answer = lambda _: (200, completion(None, ("c", "search", {"query": "a"})))
    (turn,) = converse(ChatAgent(endpoint.url, tools="shop_tools:tools", most_requests=3), "hi")
    assert turn.ended
    assert len(Trace(turn.records).calls) == 3
    assert [problem.hides_call for problem in turn.problems] == [False]
    assert "the model called tools in 3 answers on end" in turn.problems[0].reason


def test_a_tool_that_ends_the_session(endpoint: Endpoint, shop: None) -> None:
    endpoint.answer = scripted(completion(None, ("c", "end_session", {})), completion("Bye."))
    (turn,) = converse(ChatAgent(endpoint.url, tools="shop_tools:tools"), "hi")
    assert (turn.ended, turn.text) == (True, "Bye.")


def test_what_a_server_keeps_in_its_answers_is_sent_back(endpoint: Endpoint, shop: None) -> None:
    """Some can't go on without it."""
    first = completion(None, ("c", "search", {"query": "a"}), reasoning_content="hm")
    first["choices"][0]["message"]["tool_calls"][0]["extra_content"] = {"signature": "x"}
    endpoint.answer = scripted(first, completion("Done."))
    converse(ChatAgent(endpoint.url, tools="shop_tools:tools"), "hi")
    sent = endpoint.asked[1]["messages"][1]
    assert sent["reasoning_content"] == "hm"
    assert sent["tool_calls"][0]["extra_content"] == {"signature": "x"}


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("missing", "a list of tools shop_tools:missing: shop_tools has no missing"),
        ("number", "shop_tools:number is a list of functions, or a dict of them by name, not 3"),
        ("names", "shop_tools:names is a list of functions; this is none: 'search'"),
        ("twice", "two tools of shop_tools:twice have the same name"),
        ("odd_tools", "the tool odd of shop_tools:odd_tools has no usable signature: name 'NoSuchType' is not defined"),
        ("search", "shop_tools:search is one function, and tools are a list of functions, or what makes one for each"),
    ],
)
def test_tools_that_are_none(shop: None, name: str, problem: str) -> None:
    """It is found out at once."""
    with pytest.raises(UsageError) as caught:
        ChatAgent("http://localhost/v1", tools=f"shop_tools:{name}")
    assert str(caught.value).startswith(problem)


@pytest.mark.parametrize(
    ("spec", "meant"), [("shop_tools", ""), ("shop_tools.py", "; shop_tools:TOOLS was meant"), (":", "")]
)
def test_a_name_that_names_no_tools(spec: str, meant: str) -> None:
    """The example, and the hint, are of tools and not of an agent."""
    with pytest.raises(UsageError) as caught:
        ToolBox(spec)
    assert str(caught.value) == (f"a list of tools is named module:attribute, such as shop:TOOLS, not {spec!r}{meant}")


def test_tools_that_turn_out_to_be_none(shop: None) -> None:
    with pytest.raises(UsageError, match="shop_tools:bad is a list of functions, or a dict of them by name, not 12"):
        asyncio.run(ToolBox("shop_tools:bad").open({}, "s1"))


# ------------------------------------------------------------------------------------------------ what there is to fail


def test_an_endpoint_that_is_down(endpoint: Endpoint) -> None:
    """It is found out before the first run."""
    endpoint.close()
    endpoint.close = lambda: None  # type: ignore[method-assign]
    with pytest.raises(InfrastructureError) as caught:
        converse(ChatAgent(endpoint.url), "hi")
    assert str(caught.value).startswith(f"the agent {endpoint.url} can't be reached: ")
    assert str(caught.value).endswith("is it running, and is the address right?")
    assert caught.value.transient


@pytest.mark.parametrize(
    ("models", "problem"),
    [
        ((200, {"data": []}), "the endpoint lists none"),
        ((200, {"data": [{"id": "a"}, {"id": "b"}]}), "the endpoint lists a, b"),
        ((404, {}), "the endpoint lists none"),
        ((200, [1]), "the endpoint lists none"),
        ((200, b"<html>"), "the endpoint lists none"),
        ((200, {"data": 12}), "the endpoint lists none"),
    ],
)
def test_no_model_is_named(endpoint: Endpoint, models: Answer, problem: str) -> None:
    endpoint.models = models
    with pytest.raises((UsageError, InfrastructureError)) as caught:
        converse(ChatAgent(endpoint.url), "hi")
    assert problem in str(caught.value) or "can't be understood" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_model_that_is_named_needs_no_list(endpoint: Endpoint) -> None:
    endpoint.models = (404, {"error": "no such page"})
    assert converse(ChatAgent(endpoint.url, model="m"), "hi")[0].text == "Hello."


@pytest.mark.parametrize("status", [401, 403])
def test_a_key_that_is_refused(endpoint: Endpoint, status: int) -> None:
    endpoint.models = (status, {"error": {"message": "bad key"}})
    with pytest.raises(InfrastructureError, match="set OPENAI_API_KEY to a key that it takes") as caught:
        converse(ChatAgent(endpoint.url), "hi")
    assert f"answered with status {status}: " in str(caught.value)
    assert not caught.value.transient


@pytest.mark.parametrize(
    ("status", "transient"),
    [(400, False), (401, False), (404, False), (422, False), (408, True), (429, True), (503, True)],
)
def test_statuses(endpoint: Endpoint, status: int, transient: bool) -> None:
    endpoint.answer = lambda _: (status, {"error": {"message": "no\nway"}})
    with pytest.raises(InfrastructureError, match=f"answered with status {status}: ") as caught:
        converse(ChatAgent(endpoint.url), "hi")
    assert caught.value.transient is transient
    assert "\n" not in str(caught.value)
    assert len(endpoint.asked) == 1


GARBAGE: dict[str, Any] = {
    "no JSON": b"<html>Welcome</html>",
    "nothing": b"",
    "cut off": json.dumps(completion("Hello.")).encode()[:60],
    "not UTF-8": b'{"choices": "\xff\xfe"}',
    "null": None,
    "a list": [],
    "a number": 12,
    "no choices": {"choices": []},
    "choices of another kind": {"choices": "many"},
    "a choice of another kind": {"choices": ["x"]},
    "no message": {"choices": [{"index": 0}]},
    "a message of another kind": {"choices": [{"message": "Hello."}]},
    "an error with a good status": {"error": {"message": "no capacity"}},
    "calls of another kind": {"choices": [{"message": {"role": "assistant", "tool_calls": 7}}]},
    "a call of another kind": {"choices": [{"message": {"role": "assistant", "tool_calls": ["x"]}}]},
    "a call without a function": {"choices": [{"message": {"role": "assistant", "tool_calls": [{"id": "c"}]}}]},
    "usage of another kind": completion(None, ("c", "search", {})) | {"usage": 3},
    "content of another kind": {"choices": [{"message": {"role": "assistant", "content": {"a": 1}}}]},
}
UNDERSTOOD = ("usage of another kind", "content of another kind")


@pytest.mark.parametrize("with_tools", [False, True])
@pytest.mark.parametrize("name", GARBAGE)
def test_garbage(endpoint: Endpoint, shop: None, name: str, with_tools: bool) -> None:
    """It is a failure of what is around the agent, or is told with a doubt; it never is another error."""
    answers = iter([(200, GARBAGE[name])])
    endpoint.answer = lambda _: next(answers, (200, completion("Done.")))
    agent = ChatAgent(endpoint.url, tools="shop_tools:tools" if with_tools else None)
    if name in UNDERSTOOD:
        (turn,) = converse(agent, "hi")
        assert turn.problems or Trace(turn.records).calls
        return
    with pytest.raises(InfrastructureError) as caught:
        converse(agent, "hi")
    assert str(caught.value).startswith(f"the agent {endpoint.url} answered ")
    assert "\n" not in str(caught.value)
    assert not caught.value.transient


def test_garbage_that_is_named(endpoint: Endpoint) -> None:
    endpoint.answer = lambda _: (200, {"error": {"message": "no capacity"}})
    with pytest.raises(InfrastructureError, match=r"answered what is no chat completion: .*no capacity"):
        converse(ChatAgent(endpoint.url), "hi")


def test_a_turn_that_is_given_up(endpoint: Endpoint) -> None:
    """Who waits no longer is not kept waiting."""
    begun, go_on = threading.Event(), threading.Event()

    def wait(_: Any) -> Answer:
        begun.set()
        go_on.wait(20)
        return 200, completion("Late.")

    endpoint.answer = wait

    async def talk() -> float:
        agent = ChatAgent(endpoint.url)
        session = await agent.open({}, "s1")
        begin = time.monotonic()
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(session.send(UserTurn("hi")), 0.3)
        await session.close()
        await agent.close()
        return time.monotonic() - begin

    assert asyncio.run(talk()) < 5
    go_on.set()
    assert begun.is_set()


def test_many_at_once(endpoint: Endpoint) -> None:
    """Sessions are apart: each has its own conversation."""
    endpoint.answer = lambda body: (200, completion(body["messages"][0]["content"]))

    async def talk() -> list[str]:
        agent = ChatAgent(endpoint.url)
        await agent.prepare()

        async def one(number: int) -> str:
            session = await agent.open({}, str(number))
            await session.send(UserTurn(f"I am {number}"))
            turn = await session.send(UserTurn("who am I?"))
            await session.close()
            return turn.text

        said = await asyncio.gather(*map(one, range(30)))
        await agent.close()
        return said

    assert asyncio.run(talk()) == [f"I am {number}" for number in range(30)]
