"""A model is asked through Pydantic AI and the provider's real package, here against a small server in this process."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

pytest.importorskip("pydantic_ai")

from scripted_models import answering

from tracewitness.errors import InfrastructureError, UsageError
from tracewitness.evals.simulation.conversation import Usage
from tracewitness.evals.simulation.models import Answer, ModelClient, Retries, retrying


@dataclass
class City:
    """A city."""

    name: str
    inhabitants: int


def completion(arguments: Any, tokens: tuple[int, int] = (11, 7)) -> dict[str, Any]:
    """A chat completion that calls the tool which stands for the answer."""
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    call = {"id": "c1", "type": "function", "function": {"name": "final_result", "arguments": text}}
    message = {"role": "assistant", "content": None, "tool_calls": [call]}
    usage = {"prompt_tokens": tokens[0], "completion_tokens": tokens[1], "total_tokens": sum(tokens)}
    choice = {"index": 0, "finish_reason": "tool_calls", "message": message}
    return {"id": "x", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], "usage": usage}


OSLO = completion({"name": "Oslo", "inhabitants": 709_000})


class Reply:
    """What the server answers: a status, a body, headers, perhaps after a while."""

    def __init__(self, status: int, body: Any, *, after: float = 0.0, **headers: str) -> None:
        self.status = status
        self.body = body
        self.after = after
        self.headers = headers


class ChatServer:
    """Answers chat requests with the given replies, the last one again and again, and notes what was asked."""

    def __init__(self, *replies: Reply, lookup: Reply | None = None, gate: threading.Barrier | None = None) -> None:
        self.replies = list(replies) or [Reply(200, OSLO)]
        self.lookup = lookup or Reply(404, {"detail": "Not Found"})
        self.asked: list[dict[str, Any]] = []
        self.keys: list[str | None] = []
        self.gate = gate
        self.url = ""

    def reply(self, handler: BaseHTTPRequestHandler) -> Reply:
        self.keys.append(handler.headers.get("Authorization"))
        if handler.command == "GET":
            return self.lookup
        self.asked.append(json.loads(handler.rfile.read(int(handler.headers["Content-Length"]))))
        if self.gate:
            self.gate.wait()
        return self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]


@contextmanager
def serving(server: ChatServer) -> Iterator[ChatServer]:
    class Handler(BaseHTTPRequestHandler):
        def answer(self) -> None:
            reply = server.reply(self)
            time.sleep(reply.after)
            body = reply.body.encode() if isinstance(reply.body, str) else json.dumps(reply.body).encode()
            headers = {"Content_Type": "application/json"} | reply.headers
            self.send_response(reply.status)
            for name, value in headers.items():
                self.send_header(name.replace("_", "-"), value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST = answer  # noqa: N815 - the names are those of the class above

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name is that of the class above
            """Keep the output clean."""

    class Server(ThreadingHTTPServer):
        request_queue_size = 64

    with Server(("127.0.0.1", 0), Handler) as http:
        thread = threading.Thread(target=http.serve_forever)
        thread.start()
        server.url = f"http://127.0.0.1:{http.server_port}/v1"
        try:
            yield server
        finally:
            http.shutdown()
            thread.join()


class Sleeps:
    """Stands for waiting: it notes how long, and the wait is over."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)


def patient(sleeps: Sleeps | None = None, **fields: Any) -> Retries:
    """Retries that always draw the longest wait and don't wait."""
    return Retries(**{"sleep": sleeps or Sleeps(), "random": lambda: 1.0} | fields)


def ask(client: ModelClient, check: Callable[[City], str | None] | None = None) -> Answer[City]:
    async def asking() -> Answer[City]:
        try:
            return await client.ask("Name a city.", "In Norway, please.", City, "a city", check)
        finally:
            await client.close()

    return asyncio.run(asking())


def prepare(client: ModelClient) -> None:
    async def preparing() -> None:
        try:
            await client.prepare()
        finally:
            await client.close()

    asyncio.run(preparing())


class TestAsking:
    def test_a_server_of_the_chat_protocol_answers_with_a_type(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The name goes to the server without `openai:`; without a key a placeholder does; no price is known."""
        monkeypatch.delenv("OPENAI_API_KEY", raising=False)
        with serving(ChatServer()) as server:
            answer = ask(ModelClient("openai:tiny", base_url=server.url, settings={"temperature": 0.0}))
        assert answer == Answer(City("Oslo", 709_000), Usage(1, 11, 7, None))
        assert [server.asked[0][key] for key in ("model", "temperature")] == ["tiny", 0.0]
        assert [message["content"] for message in server.asked[0]["messages"]] == ["Name a city.", "In Norway, please."]
        assert server.keys == ["Bearer api-key-not-set"]

    @pytest.mark.parametrize("name", ["qwen3:8b", "vendor/model", "mistral:7b"])
    def test_a_servers_own_names_stay_as_they_are(self, name: str) -> None:
        with serving(ChatServer()) as server:
            ask(ModelClient(name, base_url=server.url))
        assert server.asked[0]["model"] == name

    def test_the_key_is_that_of_the_environment(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("OPENAI_API_KEY", "secret")
        with serving(ChatServer()) as server:
            ask(ModelClient("tiny", base_url=server.url))
        assert server.keys == ["Bearer secret"]

    def test_an_answer_that_does_not_fit_is_asked_for_again(self) -> None:
        """What was wrong goes back to the model; all that it took is counted."""
        bad = [Reply(200, completion({"name": "Oslo"})), Reply(200, completion("{"))]
        with serving(ChatServer(*bad, Reply(200, OSLO))) as server:
            answer = ask(ModelClient("tiny", base_url=server.url))
        assert answer.output.name == "Oslo"
        assert answer.usage == Usage(3, 33, 21, None)
        assert "inhabitants" in json.dumps(server.asked[1]["messages"][-1])

    def test_after_two_more_answers_that_do_not_fit_it_is_an_error(self) -> None:
        with serving(ChatServer(Reply(200, completion({"name": "Oslo"})))) as server:
            client = ModelClient("tiny", base_url=server.url, retries=patient())
            with pytest.raises(InfrastructureError, match=r"tiny gave no answer that fits for a city") as caught:
                ask(client)
        assert len(server.asked) == 3
        assert not caught.value.transient
        assert client.usage == Usage(3, 33, 21, None)

    def test_a_check_can_refuse_an_answer(self) -> None:
        model = answering({"name": "Atlantis", "inhabitants": 0}, {"name": "Oslo", "inhabitants": 1})
        check = {"Atlantis": "There is no such city."}.get
        assert ask(ModelClient(model), lambda city: check(city.name)).output == City("Oslo", 1)

    def test_where_a_price_is_known_the_cost_is(self) -> None:
        answer = ask(ModelClient(answering({"name": "Oslo", "inhabitants": 1}, name="gpt-4o")))
        assert answer.usage.cost is not None
        assert answer.usage.cost > 0

    def test_the_test_model_of_pydantic_ai_needs_nothing(self) -> None:
        client = ModelClient("test")
        prepare(client)
        assert isinstance(ask(client).output, City)

    @pytest.mark.filterwarnings("ignore:The model:DeprecationWarning")
    def test_another_provider_with_its_own_package_and_price(self, monkeypatch: pytest.MonkeyPatch) -> None:
        pytest.importorskip("anthropic")
        message = {"id": "m", "type": "message", "role": "assistant", "model": "claude-sonnet-4-5", "content": []}
        delta = {"type": "input_json_delta", "partial_json": '{"name": "Oslo", "inhabitants": 1}'}
        tool = {"type": "tool_use", "id": "t", "name": "final_result", "input": {}}
        events: list[dict[str, Any]] = [
            {"type": "message_start", "message": message | {"usage": {"input_tokens": 1000, "output_tokens": 0}}},
            {"type": "content_block_start", "index": 0, "content_block": tool},
            {"type": "content_block_delta", "index": 0, "delta": delta},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 100}},
            {"type": "message_stop"},
        ]
        stream = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)
        reply = Reply(200, stream, Content_Type="text/event-stream")
        with serving(ChatServer(Reply(529, ERROR), reply, lookup=Reply(200, {}))) as server:
            monkeypatch.setenv("ANTHROPIC_API_KEY", "secret")
            monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url.removesuffix("/v1"))
            prepare(ModelClient("anthropic:claude-sonnet-4-5"))
            found = ask(ModelClient("anthropic:claude-sonnet-4-5", retries=patient()))
        assert found.output == City("Oslo", 1)
        assert found.usage == Usage(1, 1000, 100, pytest.approx(0.0045))
        assert len(server.asked) == 2

    def test_many_are_answered_at_once(self) -> None:
        """The server answers none of twenty requests before it has all of them; each client counts its own."""

        async def many(client: ModelClient) -> list[Answer[City]]:
            one = client.within(None)
            answers = await asyncio.gather(*(one.ask("i", str(n), City, "p") for n in range(20)))
            assert (one.usage.requests, client.usage.requests) == (20, 0)
            await client.close()
            return answers

        with serving(ChatServer(gate=threading.Barrier(20, timeout=30))) as server:
            answers = asyncio.run(many(ModelClient("tiny", base_url=server.url, retries=patient(most=0))))
        assert {answer.output.name for answer in answers} == {"Oslo"}


ERROR = {"error": {"message": "Not today.\x1b[31m", "type": "x", "code": None}}


class TestFailing:
    @pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 504, 529])
    def test_what_may_pass_is_tried_again(self, status: int) -> None:
        """Waits double; the provider's package makes no tries of its own in between."""
        sleeps = Sleeps()
        with serving(ChatServer(Reply(status, ERROR), Reply(status, ERROR), Reply(200, OSLO))) as server:
            answer = ask(ModelClient("tiny", base_url=server.url, retries=patient(sleeps)))
        assert (answer.output.name, len(server.asked), sleeps.seconds) == ("Oslo", 3, [0.5, 1.0])

    @pytest.mark.parametrize("status", [400, 401, 402, 403, 404, 422])
    def test_what_stays_is_not(self, status: int) -> None:
        with (
            serving(ChatServer(Reply(status, ERROR))) as server,
            pytest.raises(InfrastructureError, match=rf"the model tiny failed: {status}: Not today.\\x1b") as caught,
        ):
            ask(ModelClient("tiny", base_url=server.url, retries=patient()))
        assert (len(server.asked), caught.value.transient) == (1, False)

    def test_a_used_up_quota_is_not(self) -> None:
        body = {
            "error": {"message": "You exceeded your quota.", "type": "insufficient_quota", "code": "insufficient_quota"}
        }
        with serving(ChatServer(Reply(429, body))) as server, pytest.raises(InfrastructureError, match="quota"):
            ask(ModelClient("tiny", base_url=server.url, retries=patient()))
        assert len(server.asked) == 1

    def test_in_the_end_it_is_given_up(self) -> None:
        with serving(ChatServer(Reply(503, ERROR))) as server, pytest.raises(InfrastructureError) as caught:
            ask(ModelClient("tiny", base_url=server.url, retries=patient(most=3)))
        assert (len(server.asked), caught.value.transient) == (4, True)

    @pytest.mark.parametrize(("asked", "waited"), [("7", 7.0), ("3600", 30.0), ("0", 0.5), ("soon", 0.5)])
    def test_the_wait_that_a_provider_asks_for_is_kept(self, asked: str, waited: float) -> None:
        sleeps = Sleeps()
        with serving(ChatServer(Reply(429, ERROR, Retry_After=asked), Reply(200, OSLO))) as server:
            ask(ModelClient("tiny", base_url=server.url, retries=patient(sleeps)))
        assert sleeps.seconds == [waited]

    @pytest.mark.parametrize("body", ["<html>", "{}", "[]", '{"choices": []}', "null", ""])
    def test_garbage_is_an_error_in_one_line(self, body: str) -> None:
        with serving(ChatServer(Reply(200, body))) as server, pytest.raises(InfrastructureError) as caught:
            ask(ModelClient("tiny", base_url=server.url, retries=patient()))
        assert not caught.value.transient
        assert "\n" not in str(caught.value)

    def test_a_slow_answer_is_a_time_out(self) -> None:
        with serving(ChatServer(Reply(200, OSLO, after=0.5))) as server:
            client = ModelClient("tiny", base_url=server.url, settings={"timeout": 0.05}, retries=patient(most=0))
            with pytest.raises(InfrastructureError) as caught:
                ask(client)
        assert caught.value.transient

    def test_a_server_that_is_down(self) -> None:
        client = ModelClient("tiny", base_url="http://127.0.0.1:9/v1", retries=patient(most=1))
        with pytest.raises(InfrastructureError, match="is the server running, and the address right") as caught:
            ask(client)
        assert caught.value.transient

    def test_a_cancelled_request_is_cancelled(self) -> None:
        async def cancelled(client: ModelClient) -> None:
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.05):
                    await client.ask("i", "p", City, "p")
            await client.close()

        with serving(ChatServer(Reply(200, OSLO, after=0.3))) as server:
            asyncio.run(cancelled(ModelClient("tiny", base_url=server.url)))


class TestPreparing:
    """What can be known before the first run is found out then."""

    @pytest.mark.parametrize(
        ("name", "told"),
        [
            ("gpt-5", "no model gpt-5: Unknown model"),
            ("nobody:gpt-5", "a name is provider:model"),
            ("openai:gpt-5", "OPENAI_API_KEY"),
            (
                "anthropic:claude-sonnet-4-5",
                "needs a key that is not there; set the environment variable ANTHROPIC_API_KEY",
            ),
        ],
    )
    def test_an_unknown_name_and_a_missing_key(self, name: str, told: str, monkeypatch: pytest.MonkeyPatch) -> None:
        for variable in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "OPENAI_BASE_URL"):
            monkeypatch.delenv(variable, raising=False)
        with pytest.raises(UsageError, match=told) as caught:
            prepare(ModelClient(name))
        assert "\n" not in str(caught.value)

    def test_an_address_that_is_none(self) -> None:
        with pytest.raises(UsageError, match="begins with http"):
            prepare(ModelClient("tiny", base_url="localhost:8000"))

    @pytest.mark.parametrize("url", ["http://me:secret@x:80000/v1", "http://me:secret@x:0", "https://me:secret@:1/v1"])
    def test_an_address_behind_which_nothing_can_be(self, url: str) -> None:
        """It is said in one line, without the password."""
        with pytest.raises(UsageError, match="its base URL has ") as caught:
            prepare(ModelClient("tiny", base_url=url))
        assert "secret" not in str(caught.value)
        assert "\n" not in str(caught.value)

    def test_a_server_that_is_down(self) -> None:
        with pytest.raises(InfrastructureError, match=r"can't be reached: .*is the server running"):
            prepare(ModelClient("tiny", base_url="http://127.0.0.1:9/v1"))

    def test_a_key_that_is_refused(self) -> None:
        with (
            serving(ChatServer(lookup=Reply(401, ERROR))) as server,
            pytest.raises(InfrastructureError, match="refuses"),
        ):
            prepare(ModelClient("tiny", base_url=server.url))

    @pytest.mark.parametrize(
        "error",
        [
            {"message": "No model.", "type": "invalid_request_error", "code": "model_not_found"},
            {"message": 'model "tiny" not found', "type": "not_found_error", "code": None},
        ],
    )
    def test_a_name_that_the_server_does_not_know(self, error: dict[str, Any]) -> None:
        lookup = Reply(404, {"error": error})
        with serving(ChatServer(lookup=lookup)) as server, pytest.raises(UsageError, match=r"tiny at .* is unknown"):
            prepare(ModelClient("tiny", base_url=server.url))

    @pytest.mark.parametrize(
        "lookup",
        [Reply(404, {"detail": "Not Found"}), Reply(405, ""), Reply(500, "oh"), Reply(200, "<html>"), Reply(200, {})],
    )
    def test_a_server_that_can_not_look_a_model_up_may_know_it_all_the_same(self, lookup: Reply) -> None:
        with serving(ChatServer(lookup=lookup)) as server:
            prepare(ModelClient("tiny", base_url=server.url))
        assert not server.asked

    def test_without_pydantic_ai_it_says_what_to_install(self) -> None:
        program = """
import asyncio, sys
sys.modules["pydantic_ai"] = None
from tracewitness.evals.simulation.models import ModelClient
asyncio.run(ModelClient("openai:gpt-5").prepare())
"""
        done = subprocess.run([sys.executable, "-c", program], check=False, capture_output=True, text=True)
        assert "UsageError" in done.stderr
        assert done.stderr.rstrip().endswith("install it: pip install 'tracewitness[simulate]'")

    def test_pydantic_ai_is_imported_only_when_a_model_is_asked(self) -> None:
        modules = ", ".join(f"tracewitness.evals.simulation.{name}" for name in ("models", "user", "judge", "traffic"))
        program = f"import sys, {modules}; sys.exit('pydantic_ai' in sys.modules or 'pydantic' in sys.modules)"
        assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


class TestRetrying:
    """`retrying` serves agents too: anything that may raise an error that passes."""

    def tries(self, *errors: Exception, **fields: Any) -> tuple[Any, int, list[float]]:
        sleeps, count = Sleeps(), 0
        left = list(errors)

        async def action() -> str:
            nonlocal count
            count += 1
            if left:
                raise left.pop(0)
            return "done"

        try:
            result: Any = asyncio.run(retrying(action, patient(sleeps, **fields)))
        except Exception as error:  # noqa: BLE001 - the tests look at it
            result = error
        return result, count, sleeps.seconds

    def test_it_doubles_up_to_the_longest_wait(self) -> None:
        errors = [InfrastructureError("busy", transient=True) for _ in range(4)]
        assert self.tries(*errors, first_delay=1.0, longest_delay=3.0) == ("done", 5, [1.0, 2.0, 3.0, 3.0])

    def test_each_wait_is_drawn_from_all_of_it(self) -> None:
        error = InfrastructureError("busy", transient=True)
        assert self.tries(error, first_delay=8.0, random=lambda: 0.25) == ("done", 2, [2.0])

    @pytest.mark.parametrize("error", [InfrastructureError("no"), ValueError("bug"), KeyError("x")])
    def test_other_errors_pass_at_once(self, error: Exception) -> None:
        assert self.tries(error) == (error, 1, [])

    def test_the_last_error_is_raised(self) -> None:
        errors = [InfrastructureError(str(number), transient=True) for number in range(9)]
        result, count, _ = self.tries(*errors, most=2)
        assert (str(result), count) == ("2", 3)
