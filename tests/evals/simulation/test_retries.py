"""What is tried again, how often, and what is kept of what failed: with real clients against a server that fails."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("pydantic_ai")

from endpoints import Endpoint, completion
from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.models.function import FunctionModel
from scripted_agents import ScriptedAgent, case, suite

from tracewitness.evals.simulation.agents.http import ChatAgent
from tracewitness.evals.simulation.models import ModelClient, Retries
from tracewitness.evals.simulation.plan import Limits, Plan
from tracewitness.evals.simulation.results import Row
from tracewitness.evals.simulation.runner import simulate
from tracewitness.suites import Step, Suite

GOAL = case("order", steps=(Step(goal="Order.", success_criteria="Ordered."),))


async def _no_wait(seconds: float) -> None:
    await asyncio.sleep(0)


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> Iterator[Endpoint]:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    server = Endpoint()
    yield server
    server.close()


def run(of: Suite, plan: Plan) -> Row:
    async def running() -> list[Row]:
        return [row async for row in simulate(of, plan)]

    (row,) = asyncio.run(running())
    return row


@pytest.mark.parametrize("retries", [0, 1, 3])
@pytest.mark.parametrize("status", [503, 429, 408])
def test_an_endpoint_is_asked_as_often_as_the_run_says(endpoint: Endpoint, retries: int, status: int) -> None:
    """The client tries nothing again by itself, so that nothing multiplies."""
    endpoint.answer = lambda _: (status, {"error": {"message": "no\nroom"}})
    row = run(suite(), Plan(ChatAgent(endpoint.url), retries=Retries(retries, sleep=_no_wait)))
    assert len(endpoint.asked) == retries + 1
    assert row.outcome == "infrastructure"
    assert f"answered with status {status}: " in row.data["error"]
    assert len(row.data.get("retried_because", [])) == retries


@pytest.mark.parametrize("status", [400, 404, 422])
def test_what_stays_wrong_is_not_tried_again(endpoint: Endpoint, status: int) -> None:
    endpoint.answer = lambda _: (status, {})
    run(suite(), Plan(ChatAgent(endpoint.url), retries=Retries(3, sleep=_no_wait)))
    assert len(endpoint.asked) == 1


def test_a_conversation_begins_anew(endpoint: Endpoint) -> None:
    """An answer that was lost may have done something: it is told in no trace, so the session is another."""
    answers = iter([(200, completion("One.")), (503, {}), (200, completion("Two.")), (200, completion("Three."))])
    endpoint.answer = lambda _: next(answers)
    two_turns = case(steps=(Step(static_utterance="a"), Step(static_utterance="b")))
    row = run(suite(two_turns), Plan(ChatAgent(endpoint.url), retries=Retries(1, sleep=_no_wait)))
    assert [event.get("agent") for event in row.data["trace"] if "agent" in event] == ["Two.", "Three."]
    assert len({headers["x-session-id"] for headers in endpoint.headers}) == 2


def test_a_time_out_tells_what_failed_before(endpoint: Endpoint) -> None:
    """A time-out alone says little; the reason of the attempt before may say it all."""
    begun = iter([(503, {"error": {"message": "no room"}})])

    def answer(_: Any) -> Any:
        found = next(begun, None)
        if found is None:
            time.sleep(0.4)
        return found or (200, completion("Hello."))

    endpoint.answer = answer
    limits = Limits(turn=0.1)
    row = run(suite(), Plan(ChatAgent(endpoint.url), retries=Retries(1, sleep=_no_wait), limits=limits))
    assert row.outcome == "infrastructure"
    begin, _, before = row.data["error"].partition("; before that: ")
    assert begin == "the agent did not answer within 0.1 s; --timeout sets the limit"
    assert "answered with status 503: " in before
    assert "no room" in before


def test_a_time_out_of_the_run_tells_what_failed_at_last() -> None:
    """A model's requests are tried again within the run, which may end meanwhile."""

    def refuse(messages: Any, info: Any) -> Any:
        raise ModelHTTPError(503, "m", {"message": "no room"})

    model = ModelClient(FunctionModel(refuse), retries=Retries(5, sleep=lambda _: asyncio.sleep(60)))
    row = run(suite(GOAL), Plan(ScriptedAgent(), user_model=model, limits=Limits(case=0.2)))
    begin, _, last = row.data["error"].partition("; the last that failed: ")
    assert begin == "the run was not over within 0.2 s; --case-timeout sets the limit"
    assert "503" in last
    assert "no room" in last


GARBAGE: list[Any] = [
    {"choices": []},
    completion("x") | {"choices": []},
    completion("x") | {"choices": [None]},
    completion("x") | {"choices": [{"index": 0, "finish_reason": "stop", "message": None}]},
    completion("x") | {"choices": "many"},
    {"error": {"message": "no capacity"}},
    b"<html>Welcome</html>",
    b"",
    None,
    [],
]


@pytest.mark.parametrize("garbage", GARBAGE, ids=lambda value: json.dumps(value, default=repr)[:60])
def test_a_model_that_answers_garbage_is_one_line_of_ours(endpoint: Endpoint, garbage: Any) -> None:
    """No text of a client library that only its authors understand."""
    endpoint.answer = lambda _: (200, garbage)
    model = ModelClient("m", base_url=endpoint.url, retries=Retries(0))
    row = run(suite(GOAL), Plan(ScriptedAgent(), user_model=model))
    assert row.outcome == "infrastructure"
    error = row.data["error"]
    assert error.startswith("the model m ")
    assert "traceback" not in row.data
    assert not any(word in error for word in ("\n", "list index", "NoneType", "errors.pydantic.dev"))
