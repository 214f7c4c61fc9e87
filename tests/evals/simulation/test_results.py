"""The rows: what stands in them, and that a reader of the file comes to the same verdicts."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scripted_agents import CREATED, LIE, ORDER, case

from tracewitness import testing
from tracewitness.errors import UsageError
from tracewitness.evals import SuiteCheck, apply_to_result
from tracewitness.evals.simulation.conversation import AgentTurn, Conversation, Usage, UserTurn
from tracewitness.evals.simulation.journal import write_results
from tracewitness.evals.simulation.judge import JudgedEntry, Judgement, Votes
from tracewitness.evals.simulation.results import Played, Row, Spent, error_row, finished_row, not_run_row
from tracewitness.evals.simulation.user import StepProgress, StepStatus
from tracewitness.expectations import compile_checks, parse_operator
from tracewitness.readers import Run, iter_runs, read_text_trace, trace_of
from tracewitness.readers.registry import detected
from tracewitness.readers.text_trace_writing import text_entries
from tracewitness.suites import Case, Suite
from tracewitness.trace import MalformedArguments, MalformedResult, Problem, Record, Trace


def played(*turns: AgentTurn, of: Case | None = None, steps: tuple[StepStatus, ...] = ("completed",)) -> Played:
    """A run in which the user said one thing before each turn."""
    conversation = Conversation()
    for turn in turns or (ORDER,):
        conversation.add_user(UserTurn("Order ITEM-42."))
        conversation.add_agent(turn)
    progress = [StepProgress("Order.", "A number.", status=status, justification="so") for status in steps]
    spent = Spent(Usage(1, 10, 2, 0.5), Usage(2, 20, 4, None), Usage())
    return Played(of or case("order", CREATED), 1, "s-1", conversation, progress, 1.23456, spent)


def judgement(*statuses: str) -> Judgement:
    """A judgement of expectations; ``Missing`` is one without a verdict."""
    return Judgement(
        tuple(
            JudgedEntry(
                f"expectation {number}",
                "",
                "Met" if status == "Met" else "Not Met",
                "so it is",
                Votes(status == "Met", status == "Not Met", status == "Missing"),
                status != "Missing",
            )
            for number, status in enumerate(statuses)
        )
    )


def test_a_row_has_what_simulation_tools_read() -> None:
    """All fields are there, plain, with judged expectations and tool checks in one list."""
    row = finished_row(played(of=case("order", CREATED, session_parameters={"channel": "web"})), judgement("Met"))
    assert Row.from_data(json.loads(row.encoded())).data == row.data
    assert row.data | {"usage": None} == {
        "name": "order",
        "run": 1,
        "passed": True,
        "judge_passed": True,
        "outcome": "passed",
        "goals": "1/1",
        "expectations": "3/3",
        "tool_checks": "2/2",
        "turns": 1,
        "duration_s": 1.235,
        "session_id": "s-1",
        "session_parameters": {"channel": "web"},
        "transcript": "User: Order ITEM-42.\nAgent Action: Call Tool create_order with args {'item': 'ITEM-42'}\n"
        "Agent: I have placed your order.",
        "detailed_trace": [
            "User: Order ITEM-42.",
            "Tool Call: create_order with args {'item': 'ITEM-42'}\n"
            "Tool Response: create_order with result {'order_id': 7}\nAgent Text: I have placed your order.",
        ],
        "trace": [
            {"user": "Order ITEM-42."},
            {"call": "create_order", "args": {"item": "ITEM-42"}, "id": "c1"},
            {"result": {"order_id": 7}, "id": "c1"},
            {"agent": "I have placed your order."},
        ],
        "step_details": [
            {"goal": "Order.", "success_criteria": "A number.", "status": "Completed", "justification": "so"}
        ],
        "expectation_details": [
            {
                "expectation": "expectation 0",
                "status": "Met",
                "justification": "so it is",
                "votes": {"met": 1, "not_met": 0, "missing": 0},
            },
            *row.data["expectation_details"][1:],
        ],
        "usage": None,
    }
    assert [entry["operator"] for entry in row.data["expectation_details"][1:]] == ["tool_called", "trace_parsed"]
    assert row.data["usage"]["requests"] == 3
    assert row.data["usage"]["cost"] is None  # one of the two is not known
    assert row.data["usage"]["user"] == {"requests": 1, "input_tokens": 10, "output_tokens": 2, "cost": 0.5}
    assert row.usage == Usage(3, 30, 6, None)


@pytest.mark.parametrize(
    ("turn", "steps", "judged", "outcome", "judge_passed"),
    [
        (ORDER, ("completed",), ("Met",), "passed", True),
        (ORDER, ("completed",), (), "passed", True),
        (LIE, ("completed",), ("Met",), "failed", True),
        (ORDER, ("completed", "in_progress"), ("Met",), "failed", False),
        (ORDER, ("failed",), ("Met",), "failed", False),
        (ORDER, ("completed",), ("Met", "Not Met"), "failed", False),
        (ORDER, ("completed",), ("Met", "Missing"), "inconclusive", False),
        # What fails for another reason is no longer open: another attempt would give a liar another chance.
        (LIE, ("completed",), ("Missing",), "failed", False),
        (ORDER, ("not_started",), ("Missing",), "failed", False),
        (ORDER, ("completed",), ("Missing", "Not Met"), "failed", False),
    ],
)
def test_what_decides(
    turn: AgentTurn, steps: tuple[StepStatus, ...], judged: tuple[str, ...], outcome: str, judge_passed: bool
) -> None:
    """A run passes where goals, judge and tool checks say so; missing verdicts leave open what nothing else failed."""
    row = finished_row(played(turn, steps=steps), judgement(*judged))
    assert (row.outcome, row.data["judge_passed"]) == (outcome, judge_passed)
    assert row.data["passed"] == (outcome == "passed")
    assert row.data.get("inconclusive", False) == ("Missing" in judged)


def test_a_case_without_checks_has_the_one_of_every_run() -> None:
    """A trace with a problem fails it, as it does for ``tracewitness check``."""
    odd = AgentTurn((Record(agent="hi"),), problems=(Problem("half of it is missing"),))
    for turn, outcome in ((LIE, "passed"), (odd, "failed")):
        row = finished_row(played(turn, of=case("talk")), judgement())
        assert (row.outcome, row.data["tool_checks"]) == (outcome, "1/1" if outcome == "passed" else "0/1")
        (report,) = SuiteCheck(Suite("s", (case("talk"),))).reports(_runs_of(row))
        assert (report.status == "held") == (outcome == "passed")


def test_a_run_without_a_turn_is_no_evidence() -> None:
    """Where nothing was said, no check holds."""
    nothing = Played(case("order", CREATED), 1, "s", Conversation(), [StepProgress("", "")], 0.0, Spent())
    row = finished_row(nothing, judgement())
    assert (row.outcome, row.data["tool_checks"], row.data["trace"]) == ("failed", "0/2", [])


def test_an_error_keeps_what_happened_until_then() -> None:
    """The row has the conversation, and is no evidence for any check."""
    try:
        raise ValueError("no \ud800 stock")
    except ValueError as error:
        row = error_row(played(), "agent", error, error)
    assert (row.outcome, row.data["error_kind"], row.data["error"]) == (
        "failed",
        "agent",
        "ValueError: no \\ud800 stock",
    )
    assert "test_results.py" in row.data["traceback"]
    assert row.data["detailed_trace"][0] == "User: Order ITEM-42."
    assert [reader.name for reader in detected(row.data)] == ["simulation result"]
    (report,) = SuiteCheck(Suite("s", (case("order", CREATED),))).reports(_runs_of(row))
    assert not any(verdict.held for verdict in report.verdicts)
    assert not_run_row(case(), 3, "no money").outcome == "not_run"


@pytest.mark.parametrize(
    "data",
    [
        None,
        [],
        {},
        {"name": "a", "run": 1, "passed": True},
        {"name": "a", "run": "1", "passed": True, "outcome": "passed"},
        {"name": "a", "run": 1, "passed": True, "outcome": "well"},
        {"name": "a", "run": 1, "passed": True, "outcome": "passed", "usage": {"requests": "many"}},
    ],
)
def test_what_is_no_row_is_refused(data: Any) -> None:
    """A row from a file is looked at before it is counted."""
    with pytest.raises(UsageError):
        Row.from_data(data)


# ------------------------------------------------------------------------------------------------ strict JSON


@pytest.mark.parametrize(
    "odd",
    [
        float("nan"),
        float("-inf"),
        {"a": [float("inf")]},
        b"bytes",
        {1, 2},
        object(),
        {1: "a"},
        {"\ud800": 1, "\\ud800": 2},
        10**5000,
    ],
    ids=lambda odd: type(odd).__name__,
)
def test_what_json_cannot_hold_is_there_and_matches_nothing(odd: Any) -> None:
    """Such arguments are malformed and such a result undecodable: neither is lost or passes for another value."""
    turn = AgentTurn((Record(call="pay", args={"sum": odd}, id="1"), Record(result=odd, id="1")))
    row = finished_row(played(turn), judgement())
    json.loads(row.encoded(), parse_constant=_refuse)
    call = read_text_trace(row.data).calls[0]
    assert isinstance(call.args, MalformedArguments)
    assert isinstance(call.result, MalformedResult)
    assert row.outcome == "failed"


def test_deep_values_do_not_spoil_the_file() -> None:
    """A value that is nested too deeply for a reader is kept as text."""
    deep: Any = 1
    for _ in range(5000):
        deep = [deep]
    row = finished_row(
        played(AgentTurn((Record(call="a", args={"x": 1}, id="1"), Record(result=deep, id="1")))), judgement()
    )
    assert "raw_result" in json.loads(row.encoded())["trace"][2]


@given(st.lists(testing.json_values(allow_nan=True), max_size=3))
def test_plain_values_stay_as_they_are(values: list[Any]) -> None:
    """What JSON can hold is read back as it was, to the type of each number."""
    records = [Record(call="a", args={"value": value}) for value in values]
    row = finished_row(played(AgentTurn(tuple(records))), judgement())
    again = read_text_trace(json.loads(row.encoded(), parse_constant=_refuse))
    for call, value in zip(again.calls, values, strict=True):
        assert isinstance(call.args, MalformedArguments) or repr(call.args) == repr({"value": _cleaned(value)})


def _refuse(constant: str) -> None:
    raise AssertionError(f"{constant} is no JSON")


def _cleaned(value: Any) -> Any:
    return json.loads(json.dumps(value))


# ---------------------------------------------------------------------------------------------- the same verdicts


def _runs_of(row: Row) -> list[Run]:
    """The runs of a results file with this row in it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "results.json"
        write_results(path, [row])
        return list(iter_runs([path]))


def _conversation(trace: Trace) -> Conversation:
    conversation = Conversation()
    conversation.records = list(trace.records)
    return conversation


@settings(max_examples=150)
@given(testing.traces(), st.lists(testing.checks(), min_size=1, max_size=3))
def test_check_comes_to_the_same_verdicts(trace: Trace, checks: list[dict[str, Any]]) -> None:
    """The row's own verdicts are those that ``tracewitness check`` finds on the results file."""
    conversation = _conversation(trace)
    of = case("order", *checks)
    row = finished_row(Played(of, 1, "s", conversation, [], 0.0, Spent()), judgement())
    (report,) = SuiteCheck(Suite("s", (of,))).reports(_runs_of(row))
    told = [entry["status"] == "Met" for entry in row.data["expectation_details"]]
    assert told == [verdict.held for verdict in report.verdicts]
    again = dict(row.data)
    apply_to_result(of.to_mapping(), again)
    assert again == row.data


PLAIN_WORDS = st.text(st.characters(codec="utf-8", exclude_characters="\r"), max_size=30).filter(
    lambda text: not any(sign in text for sign in ("User", "Agent", "Tool", "Custom", "[Turn"))
)
PAYLOADS = testing.json_values(max_leaves=4)


@st.composite
def told_by_text(draw: st.DrawFn) -> Trace:
    """Traces that text can carry: results in the order of their calls, none marked, no id, and no forged lines."""
    events: list[dict[str, Any]] = [{"user": draw(PLAIN_WORDS)}]
    for _ in range(draw(st.integers(0, 4))):
        kind = draw(st.sampled_from(["call", "call", "answered", "agent", "transfer", "user"]))
        tool = draw(st.sampled_from(["search", "order", "end_session"]))
        if kind in ("call", "answered"):
            events.append({"call": tool, "args": draw(testing.arguments())})
        if kind == "answered":
            events.append({"result": draw(PAYLOADS), "of": tool})
        elif kind == "transfer":
            events.append({"transfer": "billing"})
        elif kind in ("agent", "user"):
            events.append({kind: draw(PLAIN_WORDS)})
    return Trace.from_events(events, name="order")


def _is_paired_in_order(trace: Trace) -> bool:
    """Whether each result answers the call before it, as text has to assume."""
    return all(call.answer is None or call.answer.position == call.position + 1 for call in trace.calls)


@settings(max_examples=300)
@given(told_by_text().filter(_is_paired_in_order), st.lists(testing.checks(), min_size=1, max_size=4))
def test_text_and_events_tell_the_same(trace: Trace, checks: list[dict[str, Any]]) -> None:
    """Where text can carry a trace, a reader of the text alone comes to the verdicts of the events."""
    row = finished_row(Played(case(), 1, "s", _conversation(trace), [], 0.0, Spent()), judgement()).data
    compiled = compile_checks([parse_operator(check) for check in checks])
    by_events = compiled.check(read_text_trace(row))
    by_text = compiled.check(read_text_trace({"detailed_trace": row["detailed_trace"]}))
    assert [verdict.status for verdict in by_events] == [verdict.status for verdict in by_text]


# --------------------------------------------------------------------------------------------- reading the events


def test_events_decide_over_forged_text() -> None:
    """An agent's words that look like a call are no call, and are no disagreement either."""
    lie = AgentTurn((Record(agent="Done.\nTool Call: create_order with args {'item': 'ITEM-42'}"),))
    row = finished_row(played(lie), judgement())
    trace = read_text_trace(row.data)
    assert (trace.calls, trace.problems, trace.text_alone, row.outcome) == ((), (), False, "failed")
    assert len(read_text_trace({"detailed_trace": row.data["detailed_trace"]}).calls) == 1  # what text alone tells


@pytest.mark.parametrize(
    "changes",
    [
        {"detailed_trace": ["User: hi", "Agent Text: I did nothing."]},
        {"detailed_trace": ["User: hi", "Tool Call: create_order with args {'item': 'ITEM-43'}"]},
        {"detailed_trace": "nothing"},
        {"trace_problems": "many"},
        {"trace_problems": [{"position": 1}]},
    ],
)
def test_two_accounts_that_disagree_are_a_problem(changes: dict[str, Any]) -> None:
    """A row whose text was changed and whose events were not can't be relied on."""
    row = finished_row(played(), judgement()).data | changes
    assert len(read_text_trace(row).problems) == 1
    verdicts = apply_to_result({"tool_expectations": [CREATED]}, row)
    assert [verdict.status for verdict in verdicts] == ["held", "broken"]


@pytest.mark.parametrize("foreign", ["abc", {"a": 1}, [], [1, 2], [{"span": 1}], None])
def test_a_trace_of_another_kind_is_left_to_others(foreign: Any) -> None:
    """Where ``trace`` holds no events, the text is read as before."""
    row = {"detailed_trace": ["User: hi", "Tool Call: a with args {}"], "trace": foreign}
    assert [call.name for call in read_text_trace(row).calls] == ["a"]


def test_events_without_text_are_enough() -> None:
    """A row with events needs no text; its problems are read with it."""
    row = {"name": "a", "passed": True, "trace": [{"call": "x"}, {"odd": 1}], "trace_problems": [{"reason": "torn"}]}
    trace = trace_of(row)
    assert ([call.name for call in trace.calls], len(trace.problems)) == (["x"], 2)


def test_the_text_of_odd_events() -> None:
    """No name forges a line, and what is malformed is told as it was."""
    events = [
        {"call": "a\nTool Call: b", "raw_args": "{torn\n"},
        {"result": 1, "of": ""},
        {"raw_result": "{", "of": "never"},
        {"call": "x", "args": [1]},
        {"system": "Be brief."},
        {"end": True},
        {"odd": 1},
    ]
    assert text_entries(Trace.from_events(events)) == [
        "Tool Call: a\\nTool Call: b with args {torn\\n\n"
        "Tool Response: a\\nTool Call: b with result 1\n"
        "Tool Response: never with result {\n"
        "Tool Call: x with args [1]\n"
        "Custom Payload: Be brief."
    ]
