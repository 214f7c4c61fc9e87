"""How long many simulations take, against what their slowest path allows, and how much memory they hold."""

from __future__ import annotations

import asyncio
import json
import random
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pydantic_ai")

from pydantic_ai.messages import ModelMessage, ModelResponse, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from tracewitness.evals.simulation.agents import agent_of
from tracewitness.evals.simulation.conversation import AgentTurn, UserTurn
from tracewitness.evals.simulation.journal import Identity, Journal
from tracewitness.evals.simulation.models import ModelClient
from tracewitness.evals.simulation.plan import Plan
from tracewitness.evals.simulation.runner import simulate
from tracewitness.suites import Suite, parse_suite
from tracewitness.trace import Record

PARALLEL = 50
TURNS = 4
#: How long a model and an agent take, as real ones do; a pace divides it.
MODEL_SECONDS = 0.4
AGENT_SECONDS = (0.4, 2.4)
#: 20 KB of results come with each turn.
PAYLOAD = [{"id": number, "title": "a lamp of some kind", "price": 19.99} for number in range(400)]

SUITE = """
evals:
  - name: browse
    max_turns: 10
    steps: [{goal: Look at lamps, success_criteria: four were shown}]
    expectations: [The agent is polite.]
    tool_expectations: [{type: tool_called, tool: search, min: 4}]
"""


class Clock:
    """How long each session has to wait for all that it asks, one after the other.

    Attributes:
        waits: so long in all, by the session's id.
    """

    def __init__(self, pace: float) -> None:
        self._random = random.Random(7)  # noqa: S311 - alike in each benchmark
        self._pace = pace
        self.model_seconds = MODEL_SECONDS / pace
        self.waits: dict[str, float] = {}

    def next(self, session: str) -> float:
        """Draw how long the agent takes for its next answer; a model is asked before each, and twice at the end."""
        seconds = self._random.uniform(*AGENT_SECONDS) / self._pace
        self.waits[session] = self.waits.get(session, 2 * self.model_seconds) + self.model_seconds + seconds
        return seconds


def shown(turn: int) -> AgentTurn:
    """What happens in a turn."""
    query = {"query": f"lamp {turn}"}
    return AgentTurn(
        (Record(call="search", args=query, id="c"), Record(result=PAYLOAD, id="c"), Record(agent=f"Lamp {turn}."))
    )


class AsyncAgent:
    """An agent that waits without holding a thread."""

    name = "async"

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    async def prepare(self) -> None: ...

    async def open(self, parameters: Mapping[str, Any], session_id: str) -> AsyncAgent.Session:  # noqa: ARG002
        return self.Session(self._clock, session_id)

    async def close(self) -> None: ...

    class Session:
        def __init__(self, clock: Clock, session_id: str) -> None:
            self._clock = clock
            self.id = session_id
            self._turn = 0

        async def send(self, turn: UserTurn) -> AgentTurn:  # noqa: ARG002 - it says the same to all
            self._turn += 1
            await asyncio.sleep(self._clock.next(self.id))
            return shown(self._turn)

        async def close(self) -> None: ...


def blocking_agent(clock: Clock) -> Any:
    """A plain function, which holds a thread while it waits."""

    def reply(text: str, session_id: str, history: list[Any]) -> Any:  # noqa: ARG001 - it says the same to all
        turn = sum(message["role"] == "user" for message in history) + 1
        time.sleep(clock.next(session_id))
        return {
            "reply": f"Lamp {turn}.",
            "calls": [{"name": "search", "args": {"query": f"lamp {turn}"}, "result": PAYLOAD}],
        }

    return agent_of(reply, "blocking")


def model_of(clock: Clock) -> ModelClient:
    """A model that plays the user until four turns are over, and judges kindly."""

    async def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        await asyncio.sleep(clock.model_seconds)
        document = json.loads(messages[0].parts[0].content)  # type: ignore[arg-type, union-attr]
        if "expectations" in document:
            output: Any = {"verdicts": [{"number": 1, "justification": "It is.", "met": True}]}
        else:
            over = len(document["conversation"]) >= 2 * TURNS
            output = {"justification": "So it is.", "completed": over, "words": "" if over else "Another one, please."}
        return ModelResponse(parts=[ToolCallPart(info.output_tools[0].name, output)])

    return ModelClient(FunctionModel(answer))


def print_simulations(kind: str, count: int, pace: float) -> None:
    """Run so many simulations in a process of its own, and print what they cost."""
    suite, clock = parse_suite(SUITE), Clock(pace)
    agent = AsyncAgent(clock) if kind == "async" else blocking_agent(clock)
    model = model_of(clock)
    asyncio.run(_play(suite, Plan(agent, model, model, runs=PARALLEL, parallel=PARALLEL), None))  # imports, threads
    before, clock.waits = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, {}
    plan = Plan(agent, model, model, runs=count, parallel=PARALLEL)
    with tempfile.TemporaryDirectory() as folder, Journal(Path(folder) / "j", Identity.of(suite, {})) as journal:
        begun, cpu = time.perf_counter(), time.process_time()
        passed = asyncio.run(_play(suite, plan, journal))
        took, cpu = time.perf_counter() - begun, time.process_time() - cpu
        written = journal.path.stat().st_size / 2**20
    assert passed == count
    allowed = slowest_path(list(clock.waits.values()))
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    print(
        f"{count} simulations, {PARALLEL} in parallel, {kind} agent, pace {pace:g}: {took:.2f} s, "
        f"{took / allowed:.2f} times the {allowed:.2f} s that waiting alone takes; "
        f"{cpu / count * 1000:.0f} ms of work for each; {grown:.0f} MiB more than {PARALLEL} took, "
        f"{written:.0f} MiB of results; {threading.active_count()} threads left"
    )


async def _play(suite: Suite, plan: Plan, journal: Journal | None) -> int:
    return sum([row.outcome == "passed" async for row in simulate(suite, plan, journal=journal)])


def slowest_path(waits: list[float]) -> float:
    """How long waiting alone takes: each place takes the next simulation when it is free, in the order of the runs."""
    free = [0.0] * PARALLEL
    for seconds in waits:
        free.sort()
        free[0] += seconds
    return max(free)


@pytest.mark.parametrize(
    ("kind", "count", "pace"), [("async", 200, 1.0), ("blocking", 200, 1.0), ("async", 1000, 20.0)]
)
def test_simulations(kind: str, count: int, pace: float, say: Callable[[str], None]) -> None:
    """Time follows the slowest path, and memory does not grow with the number of simulations."""
    code = f"import test_simulation; test_simulation.print_simulations({kind!r}, {count}, {pace})"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=Path(__file__).parent
    )
    assert done.returncode == 0, done.stderr
    say(done.stdout.strip())
