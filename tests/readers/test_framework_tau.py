"""Results of tau-bench and tau2-bench: what becomes of each row, and the verdicts that real ones have recorded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from provider_support import corpora

from tracewitness.errors import ReadError
from tracewitness.readers import READERS, read, read_all
from tracewitness.readers.registry import detected
from tracewitness.trace import ToolCall, ToolResult, Trace

TAU_BENCH = "tau-bench/historical_trajectories/gpt-4o-airline.json"
TAU2 = "tau2-toolorchestra/web/leaderboard/public/submissions/toolorchestra_nvidia_2025-12-02"
TAU2_RUNS = f"{TAU2}/trajectories/toolorchestra_airline_gpt-5_1trial.json"
#: What holds no model's answer, and why it is not read.
NOT_READ = {f"{TAU2}/submission.json": "who submitted, and the scores"}


def _recording(name: str) -> Path:
    path = corpora() / name
    if not path.exists():
        pytest.skip(f"{name} is not here")
    return path


def _call(name: str, arguments: dict[str, Any], call_id: str = "c1") -> dict[str, Any]:
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {"role": "assistant", "content": None, "tool_calls": [{"id": call_id, "function": function}]}


# ----------------------------------------------------------------------------------------------------------- tau-bench

ROW = {
    "task_id": 7,
    "trial": 1,
    "reward": 0.0,
    "info": {"task": {"actions": [{"name": "pay", "kwargs": {}}]}},
    "traj": [
        {"role": "system", "content": "Help."},
        {"role": "user", "content": "Two lamps."},
        _call("order", {"n": 1}),
        {"role": "tool", "tool_call_id": "c1", "name": "order", "content": "Error: none left"},
        _call("refund", {"n": 2}),  # the same id, for another tool
        {"role": "tool", "tool_call_id": "c1", "name": "refund", "content": 2.5},
        {"role": "assistant", "content": "Sorry."},
    ],
}
EVENTS = [
    {"system": "Help."},
    {"user": "Two lamps."},
    {"call": "order", "args": {"n": 1}, "id": "c1"},
    {"result": "Error: none left", "of": "order", "id": "c1"},
    {"call": "refund", "args": {"n": 2}, "id": "c1"},
    {"result": 2.5, "of": "refund", "id": "c1"},
    {"agent": "Sorry."},
]


def test_a_row_of_tau_bench() -> None:
    """The expected actions beside the history are no calls; an error is not told from other text."""
    trace = read(ROW)
    assert trace.name == "7"
    assert trace.to_events() == EVENTS
    assert [(call.result, call.is_error) for call in trace.calls] == [("Error: none left", None), (2.5, None)]
    assert trace.problems == ()


def test_rows_of_tau_bench(tmp_path: Path) -> None:
    """A list is several runs, whether it is data, text or a file; of one row it is that run."""
    rows = [ROW, {**ROW, "task_id": "8"}]
    path = tmp_path / "results.json"
    path.write_text(json.dumps(rows), "utf-8")
    for source in (rows, json.dumps(rows), path):
        for form in (None, "tau-bench"):
            assert [trace.name for trace in read_all(source, form)] == ["7", "8"]
            with pytest.raises(ReadError, match="several runs"):
                read(source, form)
    assert read([ROW]).to_events() == EVENTS


def test_a_run_of_tau_bench_that_failed() -> None:
    """It has no history, and what went wrong is why there is no evidence."""
    trace = read({"task_id": 1, "trial": 0, "reward": 0.0, "info": {"error": "out of credit"}, "traj": []})
    assert trace.no_evidence == "the run failed: 'out of credit'"


@pytest.mark.parametrize(
    ("traj", "reasons"),
    [
        ({"role": "user"}, ["a list was promised"]),
        ([5, "x"], ["a message is a mapping", "a message is a mapping"]),
        ([{"role": "robot"}], ["an unknown role"]),
    ],
)
def test_what_is_odd_in_a_row_is_a_problem(traj: Any, reasons: list[str]) -> None:
    """It may hide a call."""
    trace = read({**ROW, "traj": traj}, "tau-bench")
    assert len(trace.problems) == len(reasons)
    for problem, reason in zip(trace.problems, reasons, strict=True):
        assert reason in str(problem)
        assert problem.hides_call
        assert problem.place.startswith("$.traj")


def test_real_tau_bench() -> None:
    """200 runs with 1,164 calls, 73 of which reuse an id: no result goes to a call of another tool."""
    path = _recording(TAU_BENCH)
    rows: list[dict[str, Any]] = json.loads(path.read_text("utf-8"))
    traces = list(read_all(path))
    assert (len(traces), sum(len(trace.calls) for trace in traces)) == (200, 1164)
    assert [trace.problems for trace in traces if trace.problems] == []
    for row, trace in zip(rows, traces, strict=True):
        assert trace.name == str(row["task_id"])
        answers = [message["name"] for message in row["traj"] if message["role"] == "tool"]
        results = [event for event in trace.events if isinstance(event, ToolResult)]
        assert [trace.calls[result.call_number or 0].name for result in results] == answers
        calls = [call for message in row["traj"] for call in message.get("tool_calls") or ()]
        assert [call.args for call in trace.calls] == [json.loads(call["function"]["arguments"]) for call in calls]


# ---------------------------------------------------------------------------------------------------------- tau2-bench

SIMULATION: dict[str, Any] = {
    "id": "s1",
    "task_id": "7",
    "trial": 0,
    "reward_info": {"reward": 1.0},
    "termination_reason": "user_stop",
    "messages": [
        {"role": "assistant", "content": "Hi!", "tool_calls": None, "timestamp": "2025-01-01T00:00:00"},
        {
            "role": "user",
            "content": None,
            "timestamp": "2025-01-01T00:00:01",
            "tool_calls": [{"id": "u1", "name": "toggle", "arguments": {"on": True}, "requestor": "user"}],
        },
        {"role": "tool", "id": "u1", "content": "on", "requestor": "user", "error": False},
        {"role": "user", "content": "It is on."},
        {
            "role": "assistant",
            "content": "Looking.",
            "tool_calls": [
                {"id": "a", "name": "look", "arguments": {"n": 1}, "requestor": "assistant"},
                {"id": "b", "name": "look", "arguments": {}},
            ],
        },
        {
            "role": "tool",
            "tool_messages": [
                {"role": "tool", "id": "b", "content": "none", "error": True, "timestamp": "2025-01-01T00:00:03"},
                {"role": "tool", "id": "a", "content": '{"n": 1}'},
            ],
        },
        {"role": "user", "content": "###STOP###"},
    ],
}
SIMULATION_EVENTS = [
    {"agent": "Hi!"},
    {"call": "toggle", "args": {"on": True}, "id": "u1", "by": "user", "at": "2025-01-01T00:00:01"},
    {"result": "on", "id": "u1", "is_error": False},
    {"user": "It is on."},
    {"agent": "Looking."},
    {"call": "look", "args": {"n": 1}, "id": "a"},
    {"call": "look", "args": {}, "id": "b"},
    {"result": "none", "id": "b", "is_error": True, "at": "2025-01-01T00:00:03"},
    {"result": '{"n": 1}', "id": "a"},
    {"user": "###STOP###"},
    {"end": True},
]


def test_a_simulation() -> None:
    """The user's calls are marked; results out of order find theirs; a user who only calls begins no turn."""
    trace = read(SIMULATION)
    assert trace.name == "7"
    assert trace.to_events() == SIMULATION_EVENTS
    assert trace.problems == ()
    assert [(call.agent, call.turn, call.result) for call in trace.calls] == [
        ("user", 0, "on"),
        (None, 1, '{"n": 1}'),
        (None, 1, "none"),
    ]


def test_a_file_of_simulations() -> None:
    """Each is a run."""
    results = {"info": {}, "tasks": [], "simulations": [SIMULATION, {**SIMULATION, "task_id": "8"}]}
    assert [trace.name for trace in read_all(json.dumps(results))] == ["7", "8"]
    with pytest.raises(ReadError, match="several runs"):
        read(results)
    with pytest.raises(ReadError, match="no run"):
        read({"tasks": [], "simulations": []})


@pytest.mark.parametrize("beside", [{}, {"tasks": []}])
@pytest.mark.parametrize("ending", [{}, {"termination_reason": "user_stop"}])
def test_messages_beside_simulations(beside: Any, ending: Any) -> None:
    """They are a run of their own."""
    call = {"id": "c1", "name": "order", "arguments": {}}
    simulation = {"task_id": "7", "messages": [{"role": "assistant", "content": "", "tool_calls": [call]}], **ending}
    asked = [{"role": "user", "content": "hi"}]
    traces = list(read_all({"messages": asked, "simulations": [simulation], **beside}))
    assert [(trace.name, [call.name for call in trace.calls]) for trace in traces] == [("", []), ("7", ["order"])]
    assert traces[0].to_events() == [{"user": "hi"}]


@pytest.mark.parametrize("reason", ["max_steps", "too_many_errors", "agent_error", None, ["user_stop"]])
def test_a_simulation_that_was_cut_off_did_not_end(reason: Any) -> None:
    """Nobody ended it."""
    events = read({**SIMULATION, "messages": [{"role": "user", "content": "x"}], "termination_reason": reason}).events
    assert len(events) == 1


@pytest.mark.parametrize(
    ("message", "events"),
    [
        ({"role": "user", "content": None}, [{"user": ""}]),
        ({"role": "user", "content": "UklGRg==", "is_audio": True, "audio_script_gold": "hi"}, [{"user": "hi"}]),
        ({"role": "system", "content": "Be brief."}, [{"system": "Be brief."}]),
        (
            {"role": "assistant", "tool_calls": [{"id": "", "name": "a", "arguments": None}]},
            [{"call": "a", "args": {}}],
        ),
        ({"role": "tool", "id": None, "content": None}, [{"result": None}]),
    ],
)
def test_messages_of_a_simulation(message: Any, events: list[Any]) -> None:
    """Sound is not text; what is absent is not made up."""
    assert read({**SIMULATION, "messages": [message], "termination_reason": ""}).to_events() == events


@pytest.mark.parametrize(
    ("part", "reason", "hides"),
    [
        ({"messages": [5]}, "a message is a mapping", True),
        ({"messages": [{"role": "robot"}]}, "an unknown role", True),
        ({"messages": [{"role": "user", "content": {}}]}, "content is a text", False),
        ({"messages": [{"role": "user", "tool_calls": [{"name": None}]}]}, "a call without a name", True),
        ({"messages": [{"role": "user", "tool_calls": "x"}]}, "a list was promised", True),
        ({"messages": [], "ticks": [{"tick_id": 0}]}, "ticks", True),
    ],
)
def test_what_is_odd_in_a_simulation_is_a_problem(part: Any, reason: str, hides: bool) -> None:
    """With its place."""
    problem = read({**SIMULATION, **part}, "tau2-bench").problems[0]
    assert reason in str(problem)
    assert problem.hides_call is hides


def test_real_simulations() -> None:
    """As many calls as the file has; equality of whole arguments gives each verdict that is recorded there."""
    path = _recording(TAU2_RUNS)
    simulations = json.loads(path.read_text("utf-8"))["simulations"]
    traces = list(read_all(path))
    verdicts = {True: 0, False: 0}
    for simulation, trace in zip(simulations, traces, strict=True):
        calls = [call for message in simulation["messages"] for call in message.get("tool_calls") or ()]
        assert (trace.name, len(trace.calls), trace.problems) == (simulation["task_id"], len(calls), ())
        assert all(call.answer is not None for call in trace.calls)
        for check in simulation["reward_info"]["action_checks"] or ():
            assert _was_made(trace, check["action"]) is check["action_match"]
            verdicts[check["action_match"]] += 1
    assert (len(traces), sum(len(trace.calls) for trace in traces)) == (50, 581)
    assert verdicts == {True: 121, False: 27}


def _was_made(trace: Trace, action: dict[str, Any]) -> bool:
    """Whether a call has an action's arguments, or those of them that it says are to be compared."""
    compared = action["compare_args"]

    def fits(call: ToolCall) -> bool:
        if compared is None:
            return bool(call.args == action["arguments"])
        assert isinstance(call.args, dict)
        return all(call.args.get(key) == action["arguments"].get(key) for key in compared)

    return any(call.name == action["name"] and fits(call) for call in trace.calls)


# ----------------------------------------------------------------------------------------------------------- detection


@pytest.mark.parametrize(
    ("document", "name"),
    [
        (ROW, "tau-bench"),
        ([ROW], "tau-bench"),
        ({"task_id": 1, "traj": []}, "tau-bench"),
        (SIMULATION, "tau2-bench"),
        ({**SIMULATION, "messages": [{"role": "user", "content": "hi"}]}, "tau2-bench"),
        ({**SIMULATION, "messages": []}, "tau2-bench"),
        ({"info": {}, "tasks": [], "simulations": []}, "tau2-bench"),
        ({"simulations": [SIMULATION]}, "tau2-bench"),
    ],
)
def test_detected_by_its_reader_alone(document: Any, name: str) -> None:
    """Also where no tool was called."""
    assert [reader.name for reader in detected(document)] == [name]


@pytest.mark.parametrize("document", [{"traj": []}, {"simulations": {}}, {"task_id": 1}, {"simulations": [5]}, []])
def test_what_is_of_neither(document: Any) -> None:
    """A key alone is not enough."""
    assert not {reader.name for reader in detected(document)} & {"tau-bench", "tau2-bench"}


@pytest.mark.parametrize("name", ["tau-bench", "tau2-bench"])
@pytest.mark.parametrize("document", [{}, 5, None, "x", {"x": []}])
def test_what_is_nothing_of_the_kind_is_refused(name: str, document: Any) -> None:
    """It says what was expected."""
    reader = next(reader for reader in READERS if reader.name == name)
    with pytest.raises(ReadError, match="of tau"):
        reader.read(document)


@pytest.mark.parametrize("name", NOT_READ)
def test_what_is_not_read(name: str) -> None:
    """It is refused, not read as an empty run."""
    with pytest.raises(ReadError):
        list(read_all(_recording(name)))
