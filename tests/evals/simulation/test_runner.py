"""Runs: what becomes of each, what is tried again, and what ends them all."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pydantic_ai")

from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.messages import ModelMessage, ModelResponse, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from scripted_agents import CREATED, LIE, ORDER, ScriptedAgent, ScriptedSession, case, costing, slow, suite
from scripted_models import prompt_of

from tracewitness.errors import InfrastructureError, UsageError
from tracewitness.evals.simulation import agent_task, attempt, runner
from tracewitness.evals.simulation.budget import Budget
from tracewitness.evals.simulation.conversation import AgentTurn, UserTurn
from tracewitness.evals.simulation.journal import Identity, Journal
from tracewitness.evals.simulation.models import ModelClient, Retries
from tracewitness.evals.simulation.plan import Limits, Plan, prepare
from tracewitness.evals.simulation.results import Row
from tracewitness.evals.simulation.runner import simulate
from tracewitness.evals.simulation.traffic import Traffic
from tracewitness.suites import Step, Suite
from tracewitness.trace import Record


async def _no_wait(seconds: float) -> None:
    await asyncio.sleep(0)


AT_ONCE = Retries(most=2, sleep=_no_wait)


def plan(agent: ScriptedAgent, **fields: Any) -> Plan:
    return Plan(agent, **{"retries": AT_ONCE, **fields})


def run_all(of: Suite, how: Plan, **given: Any) -> list[Row]:
    """Run everything and return the rows, sorted."""

    async def running() -> list[Row]:
        return [row async for row in simulate(of, how, **given)]

    return sorted(asyncio.run(running()), key=lambda row: row.key)


def failing(*errors: BaseException | None, then: AgentTurn = ORDER) -> ScriptedAgent:
    """An agent whose first sessions raise these errors."""
    left = list(errors)

    async def reply(turn: UserTurn, session: ScriptedSession) -> AgentTurn:
        error = left.pop(0) if left else None
        if error is not None:
            raise error
        return then

    return ScriptedAgent(reply)


DOWN = InfrastructureError("the shop is closed", transient=True)
GONE = InfrastructureError("there is no shop")


# ------------------------------------------------------------------------------------------------ what becomes of a run


def test_each_case_is_run_so_often() -> None:
    """Each run of each case has a session of its own, which is closed; so is the agent, at the end."""
    agent = ScriptedAgent(slow(ORDER, 0.001))
    rows = run_all(suite(case("a", CREATED), case("b")), plan(agent, runs=3, parallel=2))
    assert [row.key for row in rows] == [(name, run) for name in "ab" for run in (1, 2, 3)]
    assert {row.outcome for row in rows} == {"passed"}
    assert (agent.opened, agent.closed, agent.is_closed) == (6, 6, True)
    assert len({row.data["session_id"] for row in rows}) == 6
    assert agent.most_at_once == 2


def test_a_lie_fails_by_the_tool_checks() -> None:
    """What was said is not what was done."""
    (row,) = run_all(suite(case("order", CREATED)), plan(ScriptedAgent(LIE)))
    assert (row.outcome, row.data["judge_passed"], row.data["tool_checks"]) == ("failed", True, "1/2")


@pytest.mark.parametrize(
    "error",
    [ValueError("no stock"), TimeoutError("mine"), SystemExit(3), asyncio.CancelledError("inside"), UsageError("odd")],
    ids=repr,
)
def test_an_agent_that_raises_fails_its_run_alone(error: BaseException) -> None:
    """Its traceback is in the row, it is not tried again, and the others go on."""
    agent = failing(error)
    rows = run_all(suite(case("a"), case("b")), plan(agent, retry_inconclusive=3))
    assert [row.outcome for row in rows] == ["failed", "passed"]
    assert rows[0].data["error_kind"] == "agent"
    assert rows[0].data["error"].rpartition(".")[2].startswith(f"{type(error).__name__}: {error}")
    assert "scripted_agents.py" in rows[0].data["traceback"]
    assert rows[0].data["trace"] == [{"user": "Order ITEM-42."}]
    assert agent.opened == agent.closed == 2


def test_an_agent_that_breaks_the_protocol_fails_its_run() -> None:
    """Whatever it gives in place of a turn is the agent's error."""

    async def reply(turn: UserTurn, session: ScriptedSession) -> Any:
        return "hello"

    (row,) = run_all(suite(), plan(ScriptedAgent(reply)))
    assert (row.data["error_kind"], row.outcome) == ("agent", "failed")


def test_what_fails_at_closing_is_kept_beside_the_result() -> None:
    """A session that can't be closed was played all the same."""
    agent = ScriptedAgent()
    agent.failing_close = OSError("still busy")
    (row,) = run_all(suite(), plan(agent))
    assert (row.outcome, row.data["close_error"]) == ("passed", "OSError: still busy")


def test_an_agent_can_change_its_variables() -> None:
    """What it does to them stays in its session."""

    async def reply(turn: UserTurn, session: ScriptedSession) -> AgentTurn:
        assert session.parameters == turn.variables == {"cart": {}}
        session.parameters["cart"]["item"] = 1
        turn.variables["cart"]["item"] = 2
        return ORDER

    rows = run_all(suite(case(session_parameters={"cart": {}})), plan(ScriptedAgent(reply), runs=2))
    assert [(row.outcome, row.data["session_parameters"]) for row in rows] == [("passed", {"cart": {}})] * 2


def test_the_user_speaks_once_more_after_the_last_word() -> None:
    """A session that the agent ends leaves the steps after it undone."""
    steps = (Step(static_utterance="One."), Step(static_utterance="Two."))
    ending = AgentTurn((Record(agent="Bye."),), ended=True)
    (row,) = run_all(suite(case(steps=steps)), plan(ScriptedAgent(ending)))
    assert (row.outcome, row.data["goals"], row.data["trace"][-1]) == ("failed", "1/2", {"end": True})


# ------------------------------------------------------------------------------------------------ trying again


def test_what_fails_for_the_moment_is_tried_again_from_the_start() -> None:
    """With a new session each time, so that nothing that was done twice is told once."""
    agent = failing(DOWN, DOWN)
    (row,) = run_all(suite(case("order", CREATED)), plan(agent))
    assert (row.outcome, agent.opened, agent.closed) == ("passed", 3, 3)
    assert (row.data["attempts"], row.data["retried_because"]) == (3, ["the shop is closed"] * 2)
    assert len(row.data["trace"]) == 4


@pytest.mark.parametrize(("error", "attempts"), [(DOWN, 3), (GONE, 1)])
def test_infrastructure_that_stays_down_is_no_failure(error: InfrastructureError, attempts: int) -> None:
    """What may pass is tried again a few times, what will not is not."""
    agent = failing(*[error] * 9)
    (row,) = run_all(suite(), plan(agent))
    assert (row.outcome, row.data["error"], row.data["error_kind"]) == (
        "infrastructure",
        error.problem,
        "infrastructure",
    )
    assert agent.opened == attempts
    assert "traceback" not in row.data


def test_runs_without_a_result_are_repeated() -> None:
    """``retry_inconclusive`` repeats what infrastructure failed for good, as often as it says."""
    for errors, outcome in (([GONE, GONE], "passed"), ([GONE] * 3, "infrastructure")):
        agent = failing(*errors)
        (row,) = run_all(suite(), plan(agent, retry_inconclusive=2))
        assert (row.outcome, agent.opened, row.data["attempts"]) == (outcome, 3, 3)
        assert row.data["retried_because"] == ["there is no shop"] * 2


def test_an_agent_that_hangs_is_infrastructure() -> None:
    """Neither a turn nor a run takes longer than it may, and the session is closed."""
    for limits, words in ((Limits(0.05, 9), "--timeout sets"), (Limits(9, 0.05), "--case-timeout sets")):
        agent = ScriptedAgent(slow(ORDER, 60))
        (row,) = run_all(suite(), plan(agent, limits=limits, retries=Retries(most=0)))
        assert row.outcome == "infrastructure"
        assert words in row.data["error"]
        assert agent.opened == agent.closed == 1


async def _stubborn(turn: UserTurn, session: ScriptedSession) -> AgentTurn:
    """Take no cancellation, until the test is over."""
    for _ in range(1000):
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.sleep(30)
    return ORDER


def left_behind(how: Plan) -> tuple[list[Row], int]:
    """Run the suite, and return the rows and how many tasks were left behind."""

    async def running() -> tuple[list[Row], int]:
        rows = [row async for row in simulate(suite(), how)]
        left = asyncio.all_tasks() - {asyncio.current_task()}
        while any(not task.done() for task in left):  # it takes a thousand cancellations
            for task in left:
                task.cancel()
            await asyncio.sleep(0)
        return rows, len(left)

    return asyncio.run(running())


@pytest.mark.parametrize(
    ("limits", "words"), [(Limits(0.05, 9), "--timeout sets"), (Limits(9, 0.05), "--case-timeout sets")]
)
def test_an_agent_that_takes_no_cancellation_is_left(
    limits: Limits, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run is a time-out like any other, and the session is closed."""
    monkeypatch.setattr(agent_task, "_GRACE_SECONDS", 0.05)
    agent = ScriptedAgent(_stubborn)
    (row,), left = left_behind(plan(agent, limits=limits, retries=Retries(most=0)))
    assert (row.outcome, left) == ("infrastructure", 1)
    assert words in row.data["error"]
    assert agent.opened == agent.closed == 1
    assert row.data["trace"] == [{"user": "Order ITEM-42."}]


def test_a_close_that_takes_no_cancellation_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """The run was played all the same."""
    monkeypatch.setattr(agent_task, "_GRACE_SECONDS", 0.05)
    monkeypatch.setattr(attempt, "CLOSE_SECONDS", 0.05)

    async def close(session: ScriptedSession) -> None:
        await _stubborn(UserTurn(""), session)

    monkeypatch.setattr(ScriptedSession, "close", close)
    (row,), left = left_behind(plan(ScriptedAgent()))
    assert (row.outcome, left) == ("passed", 1)
    assert row.data["close_error"] == "TimeoutError: it took longer than 0.05 s"


@pytest.mark.parametrize("waits", [True, False])
def test_an_agent_that_cancels_its_own_task(*, waits: bool) -> None:
    """It ends its own turn where it waits for anything, and nothing else."""

    async def reply(turn: UserTurn, session: ScriptedSession) -> AgentTurn:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        if waits:
            await asyncio.sleep(0)
        return ORDER

    agent = ScriptedAgent(reply)
    rows, left = left_behind(plan(agent, runs=3))
    assert [row.outcome for row in rows] == ["failed" if waits else "passed"] * 3
    assert (agent.closed, left) == (3, 0)
    assert waits == all("CancelledError" in row.data.get("error", "") for row in rows)


def test_a_session_is_used_from_one_task() -> None:
    """What is bound to a task or its context is there again on the next turn."""
    variable: ContextVar[int] = ContextVar("variable", default=0)
    seen: list[tuple[Any, int]] = []

    async def reply(turn: UserTurn, session: ScriptedSession) -> AgentTurn:
        seen.append((asyncio.current_task(), variable.get()))
        variable.set(session.turns)
        return ORDER

    steps = (Step(static_utterance="One."), Step(static_utterance="Two."))
    run_all(suite(case(steps=steps)), plan(ScriptedAgent(reply)))
    assert [value for _, value in seen] == [0, 1]
    assert seen[0][0] is seen[1][0]


def test_an_agent_that_holds_up_the_loop_is_too_slow() -> None:
    """It answers, but later than it may."""

    async def reply(turn: UserTurn, session: ScriptedSession) -> AgentTurn:
        time.sleep(0.1)
        return ORDER

    (row,) = run_all(suite(), plan(ScriptedAgent(reply), limits=Limits(0.05, 9), retries=Retries(most=0)))
    assert row.outcome == "infrastructure"
    assert "did not answer within 0.05 s; --timeout sets" in row.data["error"]


STUBBORN = """
import asyncio, pathlib

async def reply(text):
    pathlib.Path("asked").touch()
    while True:
        try:
            await asyncio.sleep(30)
        except asyncio.CancelledError:
            pass
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGINT to send")
@pytest.mark.parametrize(("interruptions", "status"), [(0, 3), (1, 130), (2, 130)])
def test_the_command_ends_though_a_task_does_not(tmp_path: Path, interruptions: int, status: int) -> None:
    """All is written before: the counts and the results."""
    (tmp_path / "desk.py").write_text(STUBBORN)
    (tmp_path / "suite.yaml").write_text("evals: [{name: a, steps: [{static_utterance: Hi.}]}]")
    options = ["--agent", "desk:reply", "--timeout", "60" if interruptions else "0.1", "--retries", "0"]
    process = subprocess.Popen(
        [sys.executable, "-m", "tracewitness", "simulate", "suite.yaml", *options, "--json", "report.json"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": str(Path(runner.__file__).parents[3])},
    )
    for _ in range(interruptions):
        while not (tmp_path / "asked").exists():
            assert process.poll() is None
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        time.sleep(0.2)
    out, err = process.communicate(timeout=20)
    assert (process.returncode, err) == (status, ""), (out, err)
    assert "0 runs passed" in out
    assert json.loads((tmp_path / "report.json").read_text())


# ------------------------------------------------------------------------------------------------ models


def playing(*verdicts: list[dict[str, Any]]) -> FunctionModel:
    """A model that plays a user who is content with the first answer, and a judge who gives these verdicts."""
    left = list(verdicts)

    def give(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        document = json.loads(prompt_of(messages))
        output: dict[str, Any] = {"justification": "So it is.", "completed": False, "words": "Order ITEM-42, please."}
        if "expectations" in document:
            output = {"verdicts": left.pop(0) if len(left) > 1 else left[0]}
        elif any("agent" in turn for turn in document["conversation"]):
            output = {"justification": "It said so.", "completed": True, "words": ""}
        return ModelResponse(parts=[ToolCallPart(info.output_tools[0].name, output)])

    return FunctionModel(give, model_name="playing")


MET = [{"number": 1, "justification": "It was polite.", "met": True}]
GOAL = case("order", CREATED, judged=("It is polite.",), steps=(Step(goal="Order.", success_criteria="Ordered."),))


def with_models(agent: ScriptedAgent, *verdicts: list[dict[str, Any]], **fields: Any) -> Plan:
    model = ModelClient(playing(*verdicts), traffic=fields.get("traffic"))
    return plan(agent, user_model=model, judge_model=model, **fields)


def test_user_judge_and_checks_decide_together() -> None:
    """What each used is told apart."""
    (row,) = run_all(suite(GOAL), with_models(ScriptedAgent(costing(0.5)), MET))
    assert (row.outcome, row.data["goals"], row.data["expectations"]) == ("passed", "1/1", "3/3")
    requests = {who: row.data["usage"][who]["requests"] for who in ("user", "judge", "agent")}
    assert requests == {"user": 2, "judge": 1, "agent": 1}


def test_missing_verdicts_are_tried_again_where_nothing_failed() -> None:
    """What all attempts used is counted; a liar gets no second chance."""
    agent = ScriptedAgent()
    (row,) = run_all(suite(GOAL), with_models(agent, [], [], MET, retry_inconclusive=1))
    assert (row.outcome, row.data["attempts"], agent.opened) == ("passed", 2, 2)
    assert row.data["retried_because"] == ["verdicts of the judge are missing"]
    assert row.data["usage"]["judge"]["requests"] == 3
    (row,) = run_all(suite(GOAL), with_models(ScriptedAgent(), [], retry_inconclusive=1))
    assert (row.outcome, row.data["inconclusive"], row.data["passed"]) == ("inconclusive", True, False)
    liar = ScriptedAgent(LIE)
    (row,) = run_all(suite(GOAL), with_models(liar, [], [], MET, retry_inconclusive=1))
    assert (row.outcome, row.data["inconclusive"], liar.opened) == ("failed", True, 1)


@pytest.mark.parametrize("status", [503, 401])
def test_a_model_that_fails_is_infrastructure(status: int) -> None:
    """Its requests were tried again already, so the run is not."""

    def refuse(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        raise ModelHTTPError(status, "refusing")

    agent = ScriptedAgent()
    model = ModelClient(FunctionModel(refuse), retries=AT_ONCE)
    (row,) = run_all(suite(GOAL), plan(agent, user_model=model, judge_model=model))
    assert (row.outcome, row.data["error_kind"], agent.opened) == ("infrastructure", "infrastructure", 1)
    assert str(status) in row.data["error"]


def test_a_model_that_can_not_be_asked_ends_all() -> None:
    """A name that is unknown is no failure of a run; ``prepare`` would have found it."""
    model = ModelClient("no-such-model")
    with pytest.raises(UsageError, match="no-such-model"):
        run_all(suite(GOAL), plan(ScriptedAgent(), user_model=model, judge_model=model, runs=9))
    with pytest.raises(UsageError, match="no-such-model"):
        asyncio.run(prepare(suite(GOAL), plan(ScriptedAgent(), user_model=model, judge_model=model)))


def test_a_replay_gives_the_last_attempt(tmp_path: Path) -> None:
    """What was recorded of a run is what its row was made of, with its session and how long it took."""
    recorded = run_all(
        suite(GOAL),
        with_models(ScriptedAgent(), [], [], MET, retry_inconclusive=1, traffic=Traffic.record(tmp_path)),
    )
    replayed = run_all(suite(GOAL), with_models(ScriptedAgent(), [], traffic=Traffic.replay(tmp_path)))
    beside = {"attempts", "retried_because", "usage"}
    told = [{name: value for name, value in row.data.items() if name not in beside} for row in (*recorded, *replayed)]
    assert told[0] == told[1]


# ------------------------------------------------------------------------------------------------ budget


@pytest.mark.parametrize(
    ("budget", "turn", "ran", "words"),
    [
        (Budget(max_cost=0.3), costing(0.1), 3, r"\$0.3000 of \$0.3000 are used up; --max-cost"),
        (Budget(max_tokens=25), costing(None), 3, "30 of 25 tokens are used up; --max-tokens"),
        (Budget(max_cost=5.0), costing(None), 1, "not known, so --max-cost can't be kept"),
        (Budget(max_tokens=25), costing(0.1, tokens=0), 1, "not known, so --max-tokens can't be kept"),
        (Budget(max_tokens=25), ORDER, 5, ""),
        (Budget(max_cost=5.0, max_tokens=1000), costing(0.1), 5, ""),
    ],
)
def test_no_run_begins_when_the_budget_is_used_up(budget: Budget, turn: AgentTurn, ran: int, words: str) -> None:
    """Those that were not begun are told apart from all others, and what is not known ends the budget."""
    agent = ScriptedAgent(turn)
    rows = run_all(suite(), plan(agent, runs=5), budget=budget)
    assert Counter(row.outcome for row in rows) == Counter({"passed": ran, "not_run": 5 - ran})
    assert agent.opened == ran
    assert all(re.search(words, row.data["error"]) for row in rows[ran:])


def test_a_journal_counts_for_the_budget(tmp_path: Path) -> None:
    """What was used before the simulation was killed was used."""
    identity = Identity.of(suite(), {})
    with Journal(tmp_path / "j", identity) as journal:
        run_all(suite(), plan(ScriptedAgent(costing(1.0)), runs=2), journal=journal)
    with Journal(tmp_path / "j", identity, resume=True) as journal:
        rows = run_all(suite(), plan(ScriptedAgent(costing(1.0)), runs=5), journal=journal, budget=Budget(max_cost=3.0))
    assert [(row.key[1], row.outcome) for row in rows] == [(3, "passed"), (4, "not_run"), (5, "not_run")]


# ------------------------------------------------------------------------------------------------ journal and the end


def test_only_what_says_something_of_the_agent_is_not_repeated(tmp_path: Path) -> None:
    """A journal that goes on runs what infrastructure failed, and what was not run."""
    identity = Identity.of(suite(), {})
    with Journal(tmp_path / "j", identity) as journal:
        run_all(suite(), plan(failing(None, GONE, ValueError("x")), runs=3), journal=journal)
    agent = ScriptedAgent()
    with Journal(tmp_path / "j", identity, resume=True) as journal:
        rows = run_all(suite(), plan(agent, runs=4), journal=journal)
        assert [row.key[1] for row in rows] == [2, 4]
        kept = [(row.key[1], row.outcome) for row in journal.rows([("order", run) for run in range(1, 5)])]
    assert kept == [(1, "passed"), (2, "passed"), (3, "failed"), (4, "passed")]


def test_a_row_is_in_the_journal_before_it_is_told(tmp_path: Path) -> None:
    """Who hears of a run can rely on it."""

    async def running() -> None:
        with Journal(tmp_path / "j", Identity.of(suite(), {})) as journal:
            async for row in simulate(suite(), plan(ScriptedAgent(), runs=5, parallel=3), journal=journal):
                last = (tmp_path / "j").read_bytes()
                assert row.key in {Row.from_data(json.loads(line)["row"]).key for line in last.splitlines()[2:]}

    asyncio.run(running())


def test_cancelling_ends_all_and_tells_what_was_finished(tmp_path: Path) -> None:
    """Every row of the journal was told of, sessions are closed, and nothing goes on."""
    agent = ScriptedAgent()

    async def reply(turn: UserTurn, session: ScriptedSession) -> AgentTurn:
        await asyncio.sleep(0.02 if session.number < 6 else 60)
        return ORDER

    agent.reply = reply
    told: list[Row] = []

    async def running(journal: Journal) -> None:
        async for row in simulate(suite(), plan(agent, runs=50, parallel=10), journal=journal):
            told.append(row)  # noqa: PERF401 - what was told until it was cancelled is what this is about

    async def interrupted(journal: Journal) -> None:
        task = asyncio.create_task(running(journal))
        while len(journal.finished) < 5:
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert len(asyncio.all_tasks()) == 1

    with Journal(tmp_path / "j", Identity.of(suite(), {})) as journal:
        asyncio.run(interrupted(journal))
        assert sorted(row.key for row in journal.rows()) == sorted(row.key for row in told)
    assert len(told) == 5
    assert agent.opened == agent.closed > 5
    assert agent.is_closed


def test_who_stops_listening_ends_all() -> None:
    """A loop that is left closes what it opened."""
    agent = ScriptedAgent(slow(ORDER, 0.01))

    async def first(rows: AsyncIterator[Row]) -> None:
        async for _ in rows:
            break
        await rows.aclose()  # type: ignore[attr-defined]

    asyncio.run(first(simulate(suite(), plan(agent, runs=50, parallel=5))))
    assert agent.opened == agent.closed < 20
    assert agent.is_closed


def test_a_slow_listener_is_waited_for() -> None:
    """Rows that nobody asked for yet don't pile up without end."""
    agent = ScriptedAgent()

    async def listening() -> None:
        async for _ in simulate(suite(), plan(agent, runs=100, parallel=5)):
            await asyncio.sleep(0.001)
            break
        for _ in range(50):
            await asyncio.sleep(0)
        assert agent.opened <= 2 * 5 + 5

    asyncio.run(listening())


def test_a_journal_that_can_not_be_written_ends_the_simulation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs that can't be kept are not paid for."""
    agent = ScriptedAgent()
    with Journal(tmp_path / "j", Identity.of(suite(), {})) as journal:

        def full(row: Row) -> None:
            raise UsageError("the disk is full")

        monkeypatch.setattr(journal, "append", full)
        with pytest.raises(UsageError, match="disk is full"):
            run_all(suite(), plan(agent, runs=500, parallel=2), journal=journal)
    assert agent.opened == agent.closed < 10


# ------------------------------------------------------------------------------------------------ before the first run


@pytest.mark.parametrize(
    ("of", "words"),
    [
        (Suite("suite.yaml", ()), "has no evals"),
        (suite(case(steps=())), "'order' has no steps"),
        (suite(case(steps=(Step(goal="Order."),))), "name one with --user-model"),
        (suite(case(judged=("It is polite.",))), "--judge-model"),
    ],
)
def test_what_can_not_be_run_is_known_before(of: Suite, words: str) -> None:
    """A case that needs what is not there is an error before anything is run."""
    with pytest.raises(UsageError, match=words):
        asyncio.run(prepare(of, plan(ScriptedAgent())))
    asyncio.run(prepare(suite(), plan(ScriptedAgent())))
