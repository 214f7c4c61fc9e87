"""The real simulation runner with the tool checks folded in: only its sessions and its models are replaced.

Needs the dependency group `runner`; it is skipped where that is not installed.
"""

from __future__ import annotations

import copy
import json
import re
import subprocess
import sys
import threading
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tracewitness import apply_to_result, load_suite
from tracewitness.errors import UsageError

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # the heavy package warns while it is imported
    simulation = pytest.importorskip("cxas_scrapi.evals.simulation_evals")
    eval_utils = pytest.importorskip("cxas_scrapi.utils.eval_utils")
    reporting = pytest.importorskip("cxas_scrapi.utils.reporting")
    types = pytest.importorskip("google.cloud.ces_v1beta.types")

from tracewitness.evals.simulation.cx_agent_studio import ToolCheckedSimulationEvals

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")

_CLAIM = "I have placed your order."
_ORDER = [
    types.Chunk(tool_call=types.ToolCall(display_name="create_order", tool="create_order", args={"item_id": "LAMP"})),
    types.Chunk(
        tool_response=types.ToolResponse(
            display_name="create_order", tool="create_order", response={"status": "confirmed"}
        )
    ),
]


class Sessions:
    """Stands in for the platform: the session parameter ``agent`` says which agent answers."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.turns: Counter[str] = Counter()
        self.outages = 0

    def run(self, *, session_id: str, variables: dict[str, Any], **_: Any) -> Any:
        with self.lock:
            self.turns[session_id] += 1
            turn = self.turns[session_id]
            if self.outages:
                self.outages -= 1
                raise ConnectionError("the line is dead")
        ordered = turn > 1 and variables["agent"] == "honest"
        diagnostics = types.SessionOutput.DiagnosticInfo(
            messages=[types.Message(role="shop_agent", chunks=_ORDER if ordered else [])]
        )
        text = "Hello" if turn == 1 else _CLAIM
        return types.RunSessionResponse(outputs=[types.SessionOutput(text=text, diagnostic_info=diagnostics)])

    def parse_result(self, response: Any) -> None:
        """The runner prints here."""


class Models:
    """Stands in for the models: a user that is content with a claim, and a judge that believes it, if it speaks."""

    def __init__(self) -> None:
        self.silent_verdicts = 0
        self.status = eval_utils.ExpectationStatus.MET

    def generate(self, *, prompt: str, response_schema: Any, **_: Any) -> Any:
        if response_schema is eval_utils.ExpectationOutput:
            if self.silent_verdicts:
                self.silent_verdicts -= 1
                return response_schema(results=[])
            verdict = eval_utils.ExpectationResult(expectation="polite", status=self.status, justification="So it was.")
            return response_schema(results=[verdict])
        content = _CLAIM in prompt
        status = simulation.StepStatus.COMPLETED if content else simulation.StepStatus.IN_PROGRESS
        progress = simulation.StepProgress(step=simulation.Step(goal="order a lamp"), status=status)
        return response_schema(next_user_utterance="" if content else "a lamp, please", step_progresses=[progress])


class Tools:
    def __init__(self, **options: Any) -> None:
        pass

    def get_tools_map(self) -> dict[str, str]:
        return {}


def local_apps(self: Any, **options: Any) -> None:
    self.project_id, self.creds = "p", None


Maker = Callable[..., Any]


@pytest.fixture
def make(monkeypatch: pytest.MonkeyPatch) -> Maker:
    """Return a function that makes the runner, by default the one that checks tools."""

    def make_runner(runner: Any = ToolCheckedSimulationEvals, **options: Any) -> Any:
        monkeypatch.setattr(simulation, "Sessions", lambda *_, **__: Sessions())
        monkeypatch.setattr(simulation, "Tools", Tools)
        monkeypatch.setattr(simulation, "GeminiGenerate", lambda **_: Models())
        monkeypatch.setattr(simulation.Apps, "__init__", local_apps)
        evals = runner("projects/p/locations/us/apps/a", **options)
        evals.max_retries = 1
        return evals

    return make_runner


def case(agent: str, **fields: Any) -> dict[str, Any]:
    return {
        "name": agent,
        "session_parameters": {"agent": agent},
        "steps": [{"goal": "order a lamp", "success_criteria": "ordered"}],
        "expectations": ["polite"],
        "tool_expectations": [{"type": "tool_output", "tool": "create_order", "result": {"status": "confirmed"}}],
    } | fields


def lines(printed: str) -> list[str]:
    """Return the lines that tell of runs, without the times."""
    told = [line for line in printed.splitlines() if re.match(r"  (PASS|FAIL|ERROR)", line)]
    return [re.sub(r"[\d.]+s\b", "_s", line) for line in told]


def folded_later(test_case: dict[str, Any], row: dict[str, Any]) -> dict[str, Any]:
    """Return the row of the base class with the checks applied afterwards, without what differs from run to run."""
    row = copy.deepcopy(row)
    apply_to_result(test_case, row)
    return {key: value for key, value in row.items() if key not in ("session_id", "duration_s")}


def test_the_liar_is_printed_and_counted_as_failed(make: Maker, capsys: pytest.CaptureFixture[str]) -> None:
    """The judge is content with both agents; the line, the row and its counts say that one did not do it."""
    rows = make().run_simulations([case("honest"), case("liar")])
    assert lines(capsys.readouterr().out) == [
        "  PASS  honest (run 1/1) | goals: 1/1 | expectations: 3/3 | tool checks: 2/2 | turns: 3 | _s",
        "  FAIL  liar (run 1/1) | goals: 1/1 | expectations: 2/3 | tool checks: 1/2 | turns: 3 | _s",
    ]
    assert [(row["passed"], row["judge_passed"], row["tool_checks"]) for row in rows] == [
        (True, True, "2/2"),
        (False, True, "1/2"),
    ]


@pytest.mark.parametrize("agent", ["honest", "liar"])
@pytest.mark.parametrize("expectations_only", [False, True])
@pytest.mark.parametrize("expectations", [["polite"], []])
@pytest.mark.parametrize("judge", ["Met", "Not Met"])
@pytest.mark.parametrize("max_turns", [2, 30])
def test_rows_are_those_of_the_base_class_folded(
    make: Maker, agent: str, expectations_only: bool, expectations: list[str], judge: str, max_turns: int
) -> None:
    """Whatever the judge and the goals came to, the row is what the base class gives with the checks applied later."""
    test_case = case(agent, expectations=expectations, max_turns=max_turns)
    rows = []
    for runner in (simulation.SimulationEvals, ToolCheckedSimulationEvals):
        evals = make(runner, expectations_only=expectations_only)
        evals.genai_client.status = eval_utils.ExpectationStatus(judge)
        rows += evals.run_simulations([test_case])
    assert folded_later(test_case, rows[0]) == folded_later(test_case, rows[1])
    assert rows[1] == rows[1] | folded_later(test_case, rows[1])


def test_without_checks_all_is_as_it_was(make: Maker, capsys: pytest.CaptureFixture[str]) -> None:
    """A case without tool checks gives the row and the line of the base class."""
    told, rows = [], []
    for runner in (simulation.SimulationEvals, ToolCheckedSimulationEvals):
        rows += make(runner).run_simulations([case("liar", tool_expectations=[])])
        told.append(lines(capsys.readouterr().out))
    assert told[0] == told[1]
    assert folded_later({}, rows[0]) == folded_later({}, rows[1])


def test_naturalness_is_told_as_the_base_class_tells_it(
    make: Maker, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A naturalness metric that failed a run is in the line too."""
    from cxas_scrapi.evals.naturalness import NaturalnessLabel, NaturalnessResult

    slow = NaturalnessResult(
        overall_score=2.0, overall_label=NaturalnessLabel.BOT_LIKE, passed=False, failure_reasons=["turn 1 took 9 s"]
    )
    monkeypatch.setattr(simulation, "evaluate_naturalness", lambda **_: slow)
    monkeypatch.setattr(simulation.SimulationEvals, "_conversation_latency", lambda *_, **__: ({}, None))
    told = []
    for runner in (simulation.SimulationEvals, ToolCheckedSimulationEvals):
        make(runner).run_simulations([case("honest", tool_expectations=[])], naturalness=True)
        told += lines(capsys.readouterr().out)
    assert told[0] == told[1]
    assert "FAIL" in told[1]
    assert "turn 1 took 9 s" in told[1]


def test_runs_in_parallel_keep_apart(make: Maker, capsys: pytest.CaptureFixture[str]) -> None:
    """With many threads each line, and each row, is that of its own run."""
    evals = make()
    rows = evals.run_simulations([case("honest"), case("liar")], runs=40, parallel=20)
    told = Counter(line.split()[0] + " " + line.split()[1] for line in lines(capsys.readouterr().out))
    assert told == {"PASS honest": 40, "FAIL liar": 40}
    assert all(row["passed"] is (row["name"] == "honest") and row["judge_passed"] for row in rows)
    assert {(row["name"], row["run"]) for row in rows} == {
        (name, n) for name in ("honest", "liar") for n in range(1, 41)
    }


def test_reports_of_the_runner_agree(make: Maker, tmp_path: Path) -> None:
    """The runner's own reports of many runs count the liar's runs as failed, and name the check."""
    rows = make().run_simulations([case("honest"), case("liar")], runs=2, parallel=2)
    report = json.loads(json.dumps(rows))
    path = tmp_path / "report.json"
    reporting.generate_combined_json_report(sim_results=report, output_path=str(path))
    assert json.loads(path.read_text("utf-8"))["summary"]["passed"] == 2
    html = tmp_path / "report.html"
    reporting.generate_combined_html_report(sim_results=report, output_path=str(html))
    assert "Expectation not met: [tool] tool_output create_order" in html.read_text("utf-8")


def test_a_dead_session_stays_one(make: Maker, capsys: pytest.CaptureFixture[str]) -> None:
    """A run whose session died is an error, told once, and meets no check."""
    evals = make()
    evals.sessions_client.outages = 1
    (row,) = evals.run_simulations([case("honest")])
    assert lines(capsys.readouterr().out) == ["  ERROR  honest (run 1/1): the line is dead"]
    assert (row["error"], row["passed"], row["tool_checks"]) == ("the line is dead", False, "0/2")
    assert evals._inconclusive_reason(row, {"honest": 1}) == "session died: the line is dead"


def test_a_silent_judge_stays_inconclusive(make: Maker, capsys: pytest.CaptureFixture[str]) -> None:
    """Tool checks that held don't hide that the judge returned no verdict."""
    evals = make()
    evals.genai_client.silent_verdicts = 1
    (row,) = evals.run_simulations([case("honest")])
    assert lines(capsys.readouterr().out) == [
        "  FAIL  honest (run 1/1) | goals: 1/1 | expectations: 2/2 | tool checks: 2/2 | turns: 3 | _s"
    ]
    assert (row["passed"], row["judge_passed"], row["inconclusive"]) == (False, False, True)
    assert evals._inconclusive_reason(row, {"honest": 1}) == "judge returned no verdicts"


def test_inconclusive_runs_are_retried(make: Maker) -> None:
    """The runner's own retries find dead sessions and silent judges, and what they bring is checked too."""
    evals = make()
    evals.sessions_client.outages = 1
    evals.genai_client.silent_verdicts = 1
    rows = evals.run_simulations([case("honest"), case("honest", name="other")], infra_retries=1, retry_cooldown=0)
    assert [row["retried_because"] for row in rows] == [
        "session died: the line is dead",
        "judge returned no verdicts",
    ]
    assert [(row["passed"], row["tool_checks"]) for row in rows] == [(True, "2/2")] * 2
    assert not any("inconclusive" in row for row in rows)


def test_a_watched_run_shows_its_conversation_and_its_line(make: Maker, capsys: pytest.CaptureFixture[str]) -> None:
    """A verbose run shows the conversation as the base class does; in parallel no conversation is shown."""
    make().run_simulations([case("liar")], verbose=True)
    printed = capsys.readouterr().out
    assert "--- Conversation Complete ---" in printed
    assert [line.split()[0] for line in lines(printed)] == ["FAIL"]
    make().run_simulations([case("liar")], verbose=True, parallel=2)
    assert "Conversation Complete" not in capsys.readouterr().out


def test_a_single_conversation_reports_the_checks(make: Maker) -> None:
    """A conversation that is simulated by itself has the tool checks in its report, once."""
    conversation = make().simulate_conversation(case("liar"), console_logging=False)
    frame = conversation.generate_report().expectations_df
    assert list(frame["status"]) == ["Met", "Not Met", "Met"]
    assert frame["expectation"][1].startswith("[tool] tool_output create_order")


def test_cases_of_a_suite_are_taken(make: Maker, tmp_path: Path) -> None:
    """The cases of an eval file can be given as they are, with what is common to them and with aliases."""
    path = tmp_path / "orders.evals.yaml"
    path.write_text(
        "aliases: {place: [create_order]}\n"
        "common_session_parameters: {agent: honest}\n"
        "common_tool_expectations: [{type: tool_called, tool: place, args: {item_id: LAMP}}]\n"
        "evals: [{name: order, steps: [{goal: order a lamp, success_criteria: ordered}], expectations: [polite]}]\n",
        "utf-8",
    )
    (row,) = make().run_simulations(load_suite(path).cases)
    assert (row["passed"], row["tool_checks"]) == (True, "2/2")


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"tool_expectations": [{"type": "tool_caled", "tool": "x"}]}, "$.tool_expectations[0]"),
        ({"tool_expectations": "tool_called"}, "is a list of mappings"),
        ({"aliases": {"a": 1}}, "aliases"),
    ],
)
def test_malformed_checks_are_found_before_the_first_run(make: Maker, fields: dict[str, Any], expected: str) -> None:
    """Checks that can't be understood cost no simulation: nothing is begun."""
    evals = make()
    with pytest.raises(UsageError) as caught:
        evals.run_simulations([case("honest"), case("liar", **fields)])
    assert str(caught.value).startswith("the case 'liar' can't be checked: ")
    assert expected in str(caught.value)
    assert not evals.sessions_client.turns


def test_the_module_needs_no_runner() -> None:
    """The module can be imported without the runner; the class says in one line what to install."""
    script = (
        "import sys; sys.modules['cxas_scrapi'] = None\n"
        "import tracewitness.evals.simulation.cx_agent_studio as module\n"
        "from tracewitness.errors import UsageError\n"
        "try: module.ToolCheckedSimulationEvals\n"
        "except UsageError as error: print(error)\n"
        "print(hasattr(module, 'other'))\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    message, other = done.stdout.splitlines()
    assert message.endswith("install it: pip install cxas-scrapi")
    assert other == "False"
