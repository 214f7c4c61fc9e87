"""Recorded model traffic: replayed without network and key, it gives the same answers, whatever the order."""

from __future__ import annotations

import asyncio
import json
import random
import subprocess
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pydantic_ai")

from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ThinkingPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from scripted_models import answering, prompt_of

from tracewitness.errors import InfrastructureError, UsageError
from tracewitness.evals.simulation.conversation import AgentTurn, Conversation, Usage
from tracewitness.evals.simulation.judge import Judge
from tracewitness.evals.simulation.models import ModelClient, Retries
from tracewitness.evals.simulation.traffic import Traffic
from tracewitness.evals.simulation.user import SimulatedUser
from tracewitness.suites import Case, JudgedExpectation, Step
from tracewitness.suites.places import Place
from tracewitness.trace import Record


@dataclass
class Number:
    """A number."""

    value: int


def counting(*, delay: Callable[[], float] = lambda: 0.0) -> FunctionModel:
    """A model that never answers the same: with how many answers it gave before, after a while."""
    count = 0

    async def give(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        nonlocal count
        await asyncio.sleep(delay())
        count += 1
        return ModelResponse(parts=[ToolCallPart(info.output_tools[0].name, {"value": count})])

    return FunctionModel(give, model_name="counting")


def offline(traffic: Traffic, name: str = "function:counting") -> ModelClient:
    """A client of a model that can't be asked: there is no such provider."""
    return ModelClient(name, traffic=traffic)


async def numbers(client: ModelClient, prompts: list[str], purpose: str = "a number") -> list[int]:
    return [(await client.ask("Count.", prompt, Number, purpose)).output.value for prompt in prompts]


def files(directory: Path) -> list[Path]:
    return sorted(path for path in directory.rglob("*") if path.is_file())


class TestReplay:
    def test_the_nth_same_request_gets_the_nth_answer(self, tmp_path: Path) -> None:
        prompts = ["a", "b", "a", "a", "b"]

        async def both() -> None:
            recorded = ModelClient(counting()).within(Traffic.record(tmp_path).of_run("case", 1))
            assert await numbers(recorded, prompts) == [1, 2, 3, 4, 5]
            replayed = offline(Traffic.replay(tmp_path)).within(Traffic.replay(tmp_path).of_run("case", 1))
            assert await numbers(replayed, ["b", "a", "a", "b", "a"]) == [2, 1, 3, 5, 4]
            assert replayed.usage == recorded.usage

        asyncio.run(both())

    def test_parallel_runs_get_their_own_answers_in_any_order(self, tmp_path: Path) -> None:
        """All runs ask the same at the same time and get different answers; each gets its own again."""
        clock = random.Random(7)

        async def runs(client: ModelClient, traffic: Traffic, order: list[int]) -> dict[int, list[int]]:
            async def one(run: int) -> list[int]:
                await asyncio.sleep(clock.random() / 100)
                return await numbers(client.within(traffic.of_run("case", run)), ["a", "b", "a"])

            return dict(zip(order, await asyncio.gather(*map(one, order)), strict=True))

        order = list(range(30))
        model = counting(delay=lambda: clock.random() / 100)
        recorded = asyncio.run(runs(ModelClient(model), Traffic.record(tmp_path), order))
        assert len({value for values in recorded.values() for value in values}) == 90
        for _ in range(3):
            clock.shuffle(order)
            traffic = Traffic.replay(tmp_path)
            assert asyncio.run(runs(offline(traffic), traffic, order)) == recorded

    def test_whole_conversations_are_the_same_again(self, tmp_path: Path) -> None:
        """Users and judges of many runs at once, with three votes; all of it is replayed by another process's clock."""
        clock = random.Random(3)

        async def speak(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
            await asyncio.sleep(clock.random() / 200)
            document = json.loads(prompt_of(messages))
            if "transcript" in document:
                verdict = {"number": 1, "met": clock.random() < 0.5, "justification": str(clock.random())}
                output: dict[str, Any] = {"verdicts": [verdict]}
            else:
                done = len(document["conversation"]) > 4
                output = {"completed": done, "words": str(clock.random()), "justification": str(clock.random())}
            return ModelResponse(parts=[ToolCallPart(info.output_tools[0].name, output)])

        case = Case("phone", Place(1, 1), steps=(Step(goal="Order."), Step(goal="Cancel.")))

        async def simulate(client: ModelClient, traffic: Traffic, run: int) -> list[Any]:
            model = client.within(traffic.of_run(case.name, run))
            user, conversation = SimulatedUser(case, model), Conversation()
            while turn := await user.next(conversation):
                conversation.add_user(turn)
                conversation.add_agent(AgentTurn((Record(agent=f"You said {turn.text}."),)))
            judgement = await Judge(model, 3).judge(conversation, [JudgedExpectation("It is polite.")])
            return [conversation.records, user.steps, judgement]

        async def all_runs(client: ModelClient, traffic: Traffic) -> list[Any]:
            return await asyncio.gather(*(simulate(client, traffic, run) for run in range(12)))

        recorded = asyncio.run(all_runs(ModelClient(FunctionModel(speak, model_name="x")), Traffic.record(tmp_path)))
        replay = Traffic.replay(tmp_path)
        assert asyncio.run(all_runs(offline(replay, "function:x"), replay)) == recorded

    def test_it_needs_no_key_and_no_provider(self, tmp_path: Path) -> None:
        """The name is a real provider's, whose package can't even be imported here; a socket can't be made."""
        model = counting()
        model._model_name, model._system = "claude-sonnet-4-5", "anthropic"

        async def record() -> None:
            await numbers(ModelClient(model, traffic=Traffic.record(tmp_path)), ["a"])

        asyncio.run(record())
        program = f"""
import asyncio, os, socket, sys
sys.modules["anthropic"] = sys.modules["openai"] = None
os.environ.pop("ANTHROPIC_API_KEY", None)
sys.path.insert(0, {str(Path(__file__).parent)!r})
from test_traffic import ModelClient, Traffic, numbers

async def replay():
    socket.socket.connect = lambda *_: sys.exit("a connection")
    client = ModelClient("anthropic:claude-sonnet-4-5", traffic=Traffic.replay({str(tmp_path)!r}))
    await client.prepare()
    print(await numbers(client, ["a"]))
    await client.close()

asyncio.run(replay())
"""
        done = subprocess.run([sys.executable, "-c", program], check=False, capture_output=True, text=True)
        assert (done.stdout, done.stderr) == ("[1]\n", "")

    def test_answers_that_did_not_fit_are_replayed_too(self, tmp_path: Path) -> None:
        """The usage is that of all of them, with the cost as it was then; a text is an answer as a call is one."""
        outputs = [TextPart("no number"), ToolCallPart("final_result", '{"value": "x"}'), TextPart('{"value": 5}')]

        def give(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
            return ModelResponse(parts=[ThinkingPart("Hm."), outputs.pop(0)])

        async def both() -> None:
            recorded = ModelClient(FunctionModel(give, model_name="gpt-4o"), traffic=Traffic.record(tmp_path))
            assert await numbers(recorded, ["a"]) == [5]
            replayed = offline(Traffic.replay(tmp_path), "function:gpt-4o")
            assert await numbers(replayed, ["a"]) == [5]
            assert replayed.usage == recorded.usage
            assert (replayed.usage.requests, (replayed.usage.cost or 0) > 0) == (3, True)

        asyncio.run(both())

    def test_a_request_that_came_to_nothing_comes_to_the_same_nothing(self, tmp_path: Path) -> None:
        def failure(client: ModelClient) -> str:
            with pytest.raises(InfrastructureError, match="gave no answer that fits for a number") as caught:
                asyncio.run(numbers(client, ["a"]))
            return str(caught.value)

        recorded = failure(ModelClient(answering({"value": "x"}), traffic=Traffic.record(tmp_path)))
        assert failure(offline(Traffic.replay(tmp_path), "function:function")) == recorded

    def test_a_request_that_failed_on_the_way_is_not_recorded(self, tmp_path: Path) -> None:
        def give(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
            if len(messages) > 1:
                raise InfrastructureError("the line is dead")
            return ModelResponse(parts=[TextPart("no number")])

        client = ModelClient(FunctionModel(give), traffic=Traffic.record(tmp_path), retries=Retries(most=0))
        with pytest.raises(InfrastructureError, match="the line is dead"):
            asyncio.run(numbers(client, ["a"]))
        assert files(tmp_path) == []


class TestRecording:
    def record(self, directory: Path, prompts: list[str], **fields: Any) -> None:
        asyncio.run(numbers(ModelClient(counting(), traffic=Traffic.record(directory), **fields), prompts))

    def test_a_file_can_be_read(self, tmp_path: Path) -> None:
        """Prompts that are JSON stand there as what they say; keys, headers and time-outs don't stand there."""
        settings = {"temperature": 0.5, "extra_headers": {"X-Key": "secret"}, "timeout": 3.0}
        self.record(tmp_path, ['{"goal": "Ordé"}'], settings=settings)
        (path,) = files(tmp_path)
        assert path.name.startswith("a-number-")
        text = path.read_text()
        document = json.loads(text)
        assert text == json.dumps(document, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
        assert document["request"].pop("output_schema")["properties"]["value"]["type"] == "integer"
        assert document == {
            "version": 1,
            "request": {
                "purpose": "a number",
                "model": "function:counting",
                "instructions": "Count.",
                "prompt": {"goal": "Ordé"},
                "settings": {"temperature": 0.5},
            },
            "responses": [{"parts": [{"call": "final_result", "args": {"value": 1}}]}],
            "usage": {"requests": 1, "input_tokens": 54, "output_tokens": 4, "cost": None},
        }

    def test_the_same_requests_make_the_same_files(self, tmp_path: Path) -> None:
        for name in ("one", "two"):
            self.record(tmp_path / name, ["a", "b", "a"])
        contents = [
            {path.relative_to(tmp_path / name): path.read_bytes() for path in files(tmp_path / name)}
            for name in ("one", "two")
        ]
        assert contents[0] == contents[1]
        assert len(contents[0]) == 3

    def test_cases_that_look_alike_have_folders_of_their_own(self, tmp_path: Path) -> None:
        names = ["A b", "a B", "a/b", "../a b", "", "注文", "注文する", "a" * 300, "\ud800"]
        traffic = Traffic.record(tmp_path)

        async def record() -> None:
            for name in names:
                await numbers(ModelClient(counting()).within(traffic.of_run(name, 1)), ["a"])

        asyncio.run(record())
        assert len(list(tmp_path.iterdir())) == len(names)
        assert len(files(tmp_path)) == len(names)

    def test_the_last_attempt_at_a_run_is_what_stays(self, tmp_path: Path) -> None:
        """An attempt that went another way leaves nothing behind; other runs stay, and so do other people's files."""

        async def attempts() -> None:
            traffic = Traffic.record(tmp_path)
            client = ModelClient(counting())
            await numbers(client.within(traffic.of_run("case", 1)), ["a", "b"])
            (folder,) = tmp_path.glob("case-*/run-0001")
            (folder / "notes.txt").write_text("mine")
            await numbers(client.within(traffic.of_run("case", 2)), ["a"])
            await numbers(client.within(traffic.of_run("case", 1)), ["a"])
            assert len(files(folder)) == 2
            assert (folder / "notes.txt").read_text() == "mine"
            traffic = Traffic.replay(tmp_path)
            assert await numbers(offline(traffic).within(traffic.of_run("case", 1)), ["a"]) == [4]
            assert await numbers(offline(traffic).within(traffic.of_run("case", 2)), ["a"]) == [3]

        asyncio.run(attempts())

    def test_a_file_is_written_wholly_or_not_at_all(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def full(*_: Any) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr("os.replace", full)
        with pytest.raises(InfrastructureError, match=r"can't be recorded: No space left on device; make room"):
            self.record(tmp_path, ["a"])
        assert files(tmp_path) == []

    def test_a_folder_that_can_not_be_made(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("")
        with pytest.raises(UsageError, match="no folder to record into"):
            Traffic.record(tmp_path / "file" / "folder")


class TestMissing:
    """A request that is not in the recording is an error that says which."""

    def missing(self, directory: Path, ask: Callable[[ModelClient], Awaitable[Any]], name: str = "counting") -> str:
        async def record() -> None:
            traffic = Traffic.record(directory)
            client = ModelClient(counting(), settings={"seed": 1}).within(traffic.of_run("order a phone", 3))
            await client.ask("Count.", '{"goal": "Order", "conversation": []}', Number, "user turn 1")
            await client.ask("Count.", '{"goal": "Order", "conversation": [{"user": "Hi."}]}', Number, "user turn 1")

        async def replay() -> None:
            traffic = Traffic.replay(directory)
            client = ModelClient(f"function:{name}", traffic=traffic, settings={"seed": 1})
            await ask(client.within(traffic.of_run("order a phone", 3)))

        asyncio.run(record())
        with pytest.raises(InfrastructureError) as caught:
            asyncio.run(replay())
        assert not caught.value.transient
        return str(caught.value)

    def test_it_says_which_and_what_is_nearest(self, tmp_path: Path) -> None:
        prompt = '{"goal": "Order", "conversation": [{"user": "Ho."}]}'
        told = self.missing(tmp_path, lambda client: client.ask("Count.", prompt, Number, "user turn 1"))
        nearest = max(files(tmp_path), key=lambda path: "Hi." in path.read_text())
        assert told.startswith('user turn 1 of run 3 of \'order a phone\' (\'{"goal": "Order"')
        assert told.endswith(
            f"is not in the recording; the nearest is {nearest.name}, which differs in its prompt; "
            "record it again with --record"
        )

    def test_it_says_what_else_differs(self, tmp_path: Path) -> None:
        prompt = '{"goal": "Order", "conversation": []}'
        told = self.missing(tmp_path, lambda client: client.ask("Other.", prompt, Number, "user turn 1"), "gpt")
        assert "which differs in its model and instructions" in told

    def test_a_purpose_of_which_nothing_is_recorded(self, tmp_path: Path) -> None:
        told = self.missing(tmp_path, lambda client: client.ask("Count.", "p", Number, "judge vote 1"))
        assert "nothing is recorded for judge vote 1" in told

    def test_once_more_than_it_was_recorded(self, tmp_path: Path) -> None:
        async def twice(client: ModelClient) -> None:
            for _ in range(2):
                await client.ask("Count.", '{"goal": "Order", "conversation": []}', Number, "user turn 1")

        assert "was recorded 1 time and is asked for once more" in self.missing(tmp_path, twice)

    @pytest.mark.parametrize(
        "content",
        [
            b"",
            b"{",
            b"[]",
            b"{}",
            b'{"version": 2}',
            b'{"version": 1}',
            b"\xff",
            b'{"version": 1, "responses": 3, "usage": {}}',
        ],
    )
    def test_a_file_that_is_none(self, tmp_path: Path, content: bytes) -> None:
        asyncio.run(numbers(ModelClient(counting(), traffic=Traffic.record(tmp_path)), ["a"]))
        (path,) = files(tmp_path)
        path.write_bytes(content)
        with pytest.raises(InfrastructureError, match=f"{path}: no recorded model traffic: .*record it again"):
            asyncio.run(numbers(offline(Traffic.replay(tmp_path)), ["a"]))

    def test_a_recording_that_ends_too_early(self, tmp_path: Path) -> None:
        asyncio.run(numbers(ModelClient(counting(), traffic=Traffic.record(tmp_path)), ["a"]))
        (path,) = files(tmp_path)
        document = json.loads(path.read_text())
        document["responses"] = [{"parts": [{"text": "no number"}]}]
        path.write_text(json.dumps(document))
        with pytest.raises(InfrastructureError, match="the recording of function:counting ends too early"):
            asyncio.run(numbers(offline(Traffic.replay(tmp_path)), ["a"]))

    @pytest.mark.parametrize("folder", ["", "nowhere"])
    def test_a_folder_that_holds_no_traffic(self, tmp_path: Path, folder: str) -> None:
        (tmp_path / "some-file.json").write_text("{}")
        with pytest.raises(UsageError, match="no model traffic was recorded here"):
            Traffic.replay(tmp_path / folder)

    def test_usage_starts_at_nothing(self, tmp_path: Path) -> None:
        assert ModelClient("test", traffic=Traffic.record(tmp_path)).usage == Usage()
