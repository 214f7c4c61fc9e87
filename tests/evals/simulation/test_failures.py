"""Whose failure it is when an agent raises: real errors of the libraries that agents ask models and servers with."""

from __future__ import annotations

import asyncio
import json
import socket
import urllib.error
from collections.abc import Callable
from email.message import Message
from typing import Any

import pytest
from scripted_agents import ORDER, ScriptedAgent, ScriptedSession, case, suite

from tracewitness.errors import AgentError, UsageError
from tracewitness.evals.simulation.agents import agent_of
from tracewitness.evals.simulation.conversation import AgentTurn, Usage, UserTurn
from tracewitness.evals.simulation.failures import around_agent
from tracewitness.evals.simulation.models import Retries
from tracewitness.evals.simulation.plan import Plan
from tracewitness.evals.simulation.results import Row
from tracewitness.evals.simulation.runner import simulate
from tracewitness.suites import Suite

httpx = pytest.importorskip("httpx")
httpx2 = pytest.importorskip("httpx2")
openai = pytest.importorskip("openai")
anthropic = pytest.importorskip("anthropic")
cohere = pytest.importorskip("cohere.core.api_error")
ollama = pytest.importorskip("ollama")
genai = pytest.importorskip("google.genai.errors")
botocore = pytest.importorskip("botocore.exceptions")
pydantic_ai = pytest.importorskip("pydantic_ai.exceptions")

URL = "http://models.test/v1"
TRANSIENT, FOR_GOOD, AGENT = True, False, None


def _httpx_status(status: int, library: Any = httpx) -> Exception:
    request = library.Request("POST", URL)
    error: Exception = library.HTTPStatusError("refused", request=request, response=library.Response(status))
    return error


def _of_provider(library: Any, name: str, status: int) -> Exception:
    """An error that a client of OpenAI's making raises for a status."""
    kind = getattr(library, name)
    base = httpx2 if "httpx2" in getattr(library, "DefaultHttpxClient", type).__mro__[1].__module__ else httpx
    error: Exception = kind("no", response=base.Response(status, request=base.Request("POST", URL)), body=None)
    return error


def _connection(library: Any, name: str) -> Exception:
    error: Exception = getattr(library, name)(request=httpx.Request("POST", URL))
    return error


def _raised_from(cause: BaseException, error: Exception) -> Exception:
    error.__cause__ = cause
    return error


def _raised_while_handling(context: BaseException, error: Exception) -> Exception:
    error.__context__ = context
    return error


def _urllib_status(status: int) -> Exception:
    return urllib.error.HTTPError(URL, status, "no", Message(), None)


def _aws(status: int) -> Exception:
    error: Exception = botocore.ClientError({"ResponseMetadata": {"HTTPStatusCode": status}}, "Converse")
    return error


def _grpc(name: str) -> Exception:
    grpc = pytest.importorskip("grpc")
    aio = pytest.importorskip("grpc.aio")
    error: Exception = aio.AioRpcError(grpc.StatusCode[name], aio.Metadata(), aio.Metadata())
    return error


def _aiohttp(name: str, **fields: Any) -> Exception:
    aiohttp = pytest.importorskip("aiohttp")
    arguments = (None, ()) if name == "ClientResponseError" else ()
    error: Exception = getattr(aiohttp, name)(*arguments, **fields)
    return error


def _requests(name: str, status: int | None = None) -> Exception:
    requests = pytest.importorskip("requests")
    response = requests.Response()
    response.status_code = status
    error: Exception = getattr(requests.exceptions, name)("no", response=response if status else None)
    return error


def _api_core(name: str) -> Exception:
    exceptions = pytest.importorskip("google.api_core.exceptions")
    error: Exception = getattr(exceptions, name)("no")
    return error


RAISED: dict[str, tuple[Callable[[], BaseException], bool | None]] = {
    "a refused connection": (lambda: ConnectionRefusedError(111, "Connection refused"), TRANSIENT),
    "a lost connection": (lambda: ConnectionResetError(104, "reset"), TRANSIENT),
    "no such host": (lambda: socket.gaierror(-2, "Name or service not known"), TRANSIENT),
    "httpx, no connection": (lambda: httpx.ConnectError("no"), TRANSIENT),
    "httpx, too slow": (lambda: httpx.ReadTimeout("slow"), TRANSIENT),
    "httpx, cut off": (lambda: httpx.RemoteProtocolError("cut"), TRANSIENT),
    "httpx2, no connection": (lambda: httpx2.ConnectError("no"), TRANSIENT),
    "httpx, an odd address": (lambda: httpx.UnsupportedProtocol("ftp"), AGENT),
    "httpx, a header that is none": (lambda: httpx.LocalProtocolError("bad header"), AGENT),
    "httpx, 503": (lambda: _httpx_status(503), TRANSIENT),
    "httpx, 429": (lambda: _httpx_status(429), TRANSIENT),
    "httpx, 404": (lambda: _httpx_status(404), AGENT),
    "httpx, 403": (lambda: _httpx_status(403), AGENT),
    "httpx2, 500": (lambda: _httpx_status(500, httpx2), TRANSIENT),
    "openai, no connection": (lambda: _connection(openai, "APIConnectionError"), TRANSIENT),
    "openai, too slow": (lambda: _connection(openai, "APITimeoutError"), TRANSIENT),
    "openai, too many": (lambda: _of_provider(openai, "RateLimitError", 429), TRANSIENT),
    "openai, its failure": (lambda: _of_provider(openai, "InternalServerError", 502), TRANSIENT),
    "openai, a wrong key": (lambda: _of_provider(openai, "AuthenticationError", 401), FOR_GOOD),
    "openai, a wrong request": (lambda: _of_provider(openai, "BadRequestError", 400), AGENT),
    "anthropic, no connection": (lambda: _connection(anthropic, "APIConnectionError"), TRANSIENT),
    "anthropic, overloaded": (lambda: _of_provider(anthropic, "APIStatusError", 529), TRANSIENT),
    "anthropic, a wrong key": (lambda: _of_provider(anthropic, "PermissionDeniedError", 403), FOR_GOOD),
    "anthropic, a wrong request": (lambda: _of_provider(anthropic, "NotFoundError", 404), AGENT),
    "cohere, its failure": (lambda: cohere.ApiError(status_code=500), TRANSIENT),
    "cohere, a wrong request": (lambda: cohere.ApiError(status_code=422), AGENT),
    "ollama, its failure": (lambda: ollama.ResponseError("loading", 503), TRANSIENT),
    "genai, its failure": (lambda: genai.ServerError(503, {"error": {"status": "UNAVAILABLE"}}), TRANSIENT),
    "genai, too many": (lambda: genai.ClientError(429, {"error": {"status": "RESOURCE_EXHAUSTED"}}), TRANSIENT),
    "genai, a wrong request": (lambda: genai.ClientError(400, {"error": {"status": "INVALID_ARGUMENT"}}), AGENT),
    "api_core, unavailable": (lambda: _api_core("ServiceUnavailable"), TRANSIENT),
    "api_core, not found": (lambda: _api_core("NotFound"), AGENT),
    "botocore, no connection": (lambda: botocore.EndpointConnectionError(endpoint_url=URL), TRANSIENT),
    "botocore, too slow": (lambda: botocore.ReadTimeoutError(endpoint_url=URL), TRANSIENT),
    "botocore, throttled": (lambda: _aws(429), TRANSIENT),
    "botocore, a wrong request": (lambda: _aws(400), AGENT),
    "pydantic-ai, its failure": (lambda: pydantic_ai.ModelHTTPError(503, "m"), TRANSIENT),
    "pydantic-ai, a wrong key": (lambda: pydantic_ai.ModelHTTPError(401, "m"), FOR_GOOD),
    "pydantic-ai, a wrong request": (lambda: pydantic_ai.ModelHTTPError(400, "m"), AGENT),
    "pydantic-ai, an odd answer": (lambda: pydantic_ai.UnexpectedModelBehavior("odd"), AGENT),
    "aiohttp, no connection": (lambda: _aiohttp("ClientConnectionError"), TRANSIENT),
    "aiohttp, too slow": (lambda: _aiohttp("ServerTimeoutError"), TRANSIENT),
    "aiohttp, 504": (lambda: _aiohttp("ClientResponseError", status=504), TRANSIENT),
    "aiohttp, 404": (lambda: _aiohttp("ClientResponseError", status=404), AGENT),
    "requests, no connection": (lambda: _requests("ConnectionError"), TRANSIENT),
    "requests, too slow": (lambda: _requests("ReadTimeout"), TRANSIENT),
    "requests, 503": (lambda: _requests("HTTPError", 503), TRANSIENT),
    "requests, 404": (lambda: _requests("HTTPError", 404), AGENT),
    "requests, an odd address": (lambda: _requests("MissingSchema"), AGENT),
    "grpc, unavailable": (lambda: _grpc("UNAVAILABLE"), TRANSIENT),
    "grpc, a wrong request": (lambda: _grpc("INVALID_ARGUMENT"), AGENT),
    "urllib, no connection": (lambda: urllib.error.URLError(ConnectionRefusedError(111, "refused")), TRANSIENT),
    "urllib, an odd address": (lambda: urllib.error.URLError("unknown url type: ftps"), AGENT),
    "urllib, 500": (lambda: _urllib_status(500), TRANSIENT),
    "urllib, 404": (lambda: _urllib_status(404), AGENT),
    "raised from one of these": (lambda: _raised_from(httpx.ConnectError("no"), RuntimeError("my model")), TRANSIENT),
    "raised while another was handled": (lambda: _raised_while_handling(httpx.ConnectError("no"), KeyError(1)), AGENT),
    "a group of these": (lambda: ExceptionGroup("x", [httpx.ConnectError("no"), _httpx_status(503)]), TRANSIENT),
    "a group with a bug": (lambda: ExceptionGroup("x", [httpx.ConnectError("no"), KeyError(1)]), AGENT),
    "a bug": (lambda: KeyError("stock"), AGENT),
    "a time-out of its own": (lambda: TimeoutError("mine"), AGENT),
    "a file that is missing": (lambda: FileNotFoundError(2, "no such file"), AGENT),
    "an exit": (lambda: SystemExit(3), AGENT),
    "an interruption of its own": (lambda: KeyboardInterrupt(), AGENT),
    "an exit of a generator": (lambda: GeneratorExit(), AGENT),
    "what ends a task": (lambda: asyncio.CancelledError("inside"), AGENT),
    "what is no exception of a program": (lambda: BaseException("odd"), AGENT),
    "an error of ours": (lambda: UsageError("odd"), AGENT),
}


@pytest.mark.parametrize("name", RAISED)
def test_whose_failure_it_is(name: str) -> None:
    """Whether infrastructure failed, and then whether it may do better later."""
    make, transient = RAISED[name]
    found = around_agent(make())
    assert (None if found is None else found.transient) is transient
    assert found is None or "\n" not in found.problem


def test_an_endless_chain_of_causes_is_followed_only_so_far() -> None:
    """An exception can be its own cause."""
    one, other = KeyError(1), KeyError(2)
    one.__cause__, other.__cause__ = other, one
    assert around_agent(one) is None


async def _no_wait(seconds: float) -> None:
    await asyncio.sleep(0)


def run_all(of: Suite, agent: Any, retries: int = 0) -> list[Row]:
    async def running() -> list[Row]:
        plan = Plan(agent, retries=Retries(most=retries, sleep=_no_wait))
        return [row async for row in simulate(of, plan)]

    return sorted(asyncio.run(running()), key=lambda row: row.key)


@pytest.mark.parametrize("name", RAISED)
def test_what_a_run_becomes_by_it(name: str) -> None:
    """Only what may do better is tried again, the others go on, and the traceback says where it was raised."""
    make, transient = RAISED[name]
    left = [make(), make()]

    async def reply(turn: UserTurn, session: ScriptedSession) -> AgentTurn:
        if left:
            raise left.pop()
        return ORDER

    agent = ScriptedAgent(reply)
    rows = run_all(suite(case("a"), case("b")), agent, retries=1)
    kind = "agent" if transient is None else "infrastructure"
    failed = 1 if transient else 2
    outcomes = ["infrastructure" if kind == "infrastructure" else "failed"] * failed + ["passed"] * (2 - failed)
    assert [row.outcome for row in rows] == outcomes
    assert {row.data["error_kind"] for row in rows[:failed]} == {kind}
    assert "in reply" in rows[0].data["traceback"]
    assert rows[0].data.get("attempts") == (2 if transient else None)
    assert agent.opened == agent.closed == (3 if transient else 2)


@pytest.mark.parametrize(
    "returned", [None, 7, b"\xff", object(), {"rely": "x"}, [{"tool": "a", "agrs": {}}], {"reply": 1}]
)
@pytest.mark.parametrize("is_async", [False, True])
def test_an_agent_that_returns_garbage_failed(returned: Any, is_async: bool) -> None:
    """It is not tried again, and no traceback of ours is shown for it."""

    def reply(text: str) -> Any:
        return returned

    async def reply_async(text: str) -> Any:
        return returned

    (row,) = run_all(suite(), agent_of(reply_async if is_async else reply), retries=2)
    assert (row.outcome, row.data["error_kind"], "attempts" in row.data) == ("failed", "agent", False)
    assert "traceback" not in row.data
    assert row.data["trace"] == [{"user": "Order ITEM-42."}]
    json.dumps(row.data)


@pytest.mark.parametrize(
    "usage",
    [
        Usage(-1),
        Usage(1, -5),
        Usage(1, 0, 10**13),
        Usage(1, 0, 0, -0.5),
        Usage(1, 0, 0, float("nan")),
        Usage(1, 0, 0, float("inf")),
        Usage(1, 0, 0, 1e9),
        Usage("many"),  # type: ignore[arg-type]
    ],
    ids=repr,
)
def test_a_usage_that_can_not_be_fails_the_run(usage: Usage) -> None:
    """It would end a budget, or bring it back to life."""
    (row,) = run_all(suite(), ScriptedAgent(AgentTurn(ORDER.records, usage=usage)))
    assert (row.outcome, row.data["error_kind"]) == ("failed", "agent")
    assert "the agent tells a usage that can't be: " in row.data["error"]
    assert row.usage == Usage()


def test_what_an_agent_does_after_its_last_turn_fails_the_run() -> None:
    """No other error of its `close` does; that one is kept beside the verdict."""
    agent = ScriptedAgent()
    agent.failing_close = AgentError("it called cancel_order after its last turn was over")
    (row,) = run_all(suite(), agent)
    assert (row.outcome, row.data["error"]) == ("failed", "it called cancel_order after its last turn was over")
    assert len(row.data["trace"]) == 4
    agent.failing_close = KeyError("busy")
    (row,) = run_all(suite(), agent)
    assert (row.outcome, row.data["close_error"]) == ("passed", "KeyError: 'busy'")
