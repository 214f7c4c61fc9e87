"""CrewAI: events of its bus, what a crew puts out, and what a real crew makes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from framework_mutations import assert_known_alone, assert_mutants_are_read_or_refused
from framework_support import FIRST_TURN, SECOND_TURN, WHEEL, Tools, assert_witnessed

from tracewitness.readers import read
from tracewitness.readers.registry import detected
from tracewitness.trace import UNANSWERED, MalformedArguments

_AT = "2026-01-01T00:00:{:02}Z"


def _started(number: int, tool: str = "search", args: Any = None, **more: Any) -> dict[str, Any]:
    about = {"tool_name": tool, "tool_args": {} if args is None else args, "agent_role": "finder"}
    about |= {"event_id": f"e{number}", "emission_sequence": number, "timestamp": _AT.format(number)}
    return {"type": "tool_usage_started", **about, **more}


def _ended(
    number: int, begin: int, output: Any = "x", tool: str = "search", args: Any = None, **more: Any
) -> dict[str, Any]:
    event = {
        **_started(number, tool, args),
        "type": "tool_usage_finished",
        "started_event_id": f"e{begin}",
        "output": output,
    }
    return {**event, **more}


def _failed(number: int, begin: int, error: str, tool: str = "search", args: Any = None) -> dict[str, Any]:
    return {**_ended(number, begin, None, tool, args), "type": "tool_usage_error", "error": error}


def test_events() -> None:
    """In the order in which they were sent: an end names its begin, and arguments are read from either."""
    events = [
        {"type": "crew_kickoff_started", "emission_sequence": 1},
        {"type": "agent_execution_started", "task_prompt": "Find both.", "emission_sequence": 2},
        _ended(6, 4, "two", args={"n": 2}),
        _started(4, args={"n": 2}),
        _started(3, args="{'n': 1}"),
        _failed(5, 3, "stuck", args={"n": 1}),
        {"type": "agent_execution_completed", "output": "Done.", "agent_role": "finder", "emission_sequence": 7},
        {"type": "something_of_a_new_version", "emission_sequence": 8},
    ]
    trace = read(events)
    assert trace.to_events() == [
        {"user": "Find both."},
        {"call": "search", "args": {"n": 1}, "id": "e3", "by": "finder", "at": _AT.format(3), "until": _AT.format(5)},
        {"call": "search", "args": {"n": 2}, "id": "e4", "by": "finder", "at": _AT.format(4), "until": _AT.format(6)},
        {"result": "stuck", "of": "search", "id": "e3", "is_error": True, "at": _AT.format(5)},
        {"result": "two", "of": "search", "id": "e4", "is_error": False, "at": _AT.format(6)},
        {"agent": "Done.", "by": "finder"},
    ]
    assert trace.problems == ()


def test_older_events() -> None:
    """They have no ids and no order of their own: ends go to the begin of their tool."""
    events = [
        _started(1, "a"),
        _started(2, "a"),
        _ended(3, 0, "first", "a"),
        _ended(4, 0, "second", "a"),
        _started(5, "b"),
    ]
    left = {"event_id", "started_event_id", "emission_sequence", "agent_role", "timestamp"}
    trace = read([{key: value for key, value in event.items() if key not in left} for event in events])
    assert [(call.name, call.result) for call in trace.calls] == [("a", "first"), ("a", "second"), ("b", UNANSWERED)]
    assert trace.problems == ()


def test_each_attempt_is_a_call() -> None:
    """CrewAI tries again by itself, and the tool runs each time."""
    events = [_started(1), _failed(2, 1, "no"), _started(3, run_attempts=2), _ended(4, 3)]
    trace = read(events)
    assert [(call.is_error, call.metadata) for call in trace.calls] == [(True, None), (False, {"run_attempts": 2})]


def test_ends_alone() -> None:
    """They tell what was called too."""
    trace = read([_ended(2, 1, "a", args={"n": 1}), _ended(4, 3, "b", failure={"message": "no"})])
    assert [(call.args, call.result, call.is_error) for call in trace.calls] == [
        ({"n": 1}, "a", False),
        ({}, "b", True),
    ]


@pytest.mark.parametrize("kind", ["tool_selection_error", "tool_validate_input_error"])
def test_what_was_not_run(kind: str) -> None:
    """There is no such tool, or no such arguments: it is told as often as CrewAI tried, and is one problem."""
    refused = {"type": kind, "tool_name": "missing", "tool_args": "{", "error": "no such tool", "parent_event_id": "p"}
    trace = read([_started(1), _ended(2, 1), refused, dict(refused)])
    assert [str(problem) for problem in trace.problems] == ["$[2]: 'missing' with '{' was not run: 'no such tool'"]
    assert trace.problems[0].hides_call


def test_models_that_called_without_events_of_tools() -> None:
    """What came of it was not recorded."""
    events = [
        {"type": "crew_kickoff_started"},
        {"type": "llm_call_completed", "call_type": "tool_call", "response": []},
    ]
    assert [problem.hides_call for problem in read(events).problems] == [True]
    assert read([*events, _started(1)]).problems == ()


def test_agents_that_run_alone() -> None:
    """They are asked with messages."""
    messages = [{"role": "system", "content": "Help."}, {"role": "user", "content": "hi"}]
    events = [
        {"type": "lite_agent_execution_started", "messages": messages, "agent_info": {"role": "finder"}},
        _started(1, agent_role=None, agent={"role": "finder"}),
        {"type": "lite_agent_execution_completed", "output": "Done.", "agent_info": {"role": "finder"}},
    ]
    trace = read(events)
    assert [next(iter(event)) for event in trace.to_events()] == ["system", "user", "call", "agent"]
    assert trace.calls[0].agent == "finder"


def _task(*messages: Any, **more: Any) -> dict[str, Any]:
    return {"description": "Find.", "raw": "Done.", "agent": "finder", "messages": list(messages), **more}


def _output(*tasks: Any) -> dict[str, Any]:
    return {"raw": "Done.", "tasks_output": list(tasks), "token_usage": {}}


def _calling(*calls: tuple[str, str, str]) -> dict[str, Any]:
    made = [{"id": call_id, "function": {"name": name, "arguments": args}} for call_id, name, args in calls]
    return {"role": "assistant", "content": "", "tool_calls": made}


def _result(call_id: str, content: Any, name: str = "a") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "name": name, "content": content}


def test_what_a_crew_puts_out() -> None:
    """Messages of its tasks; which call failed stands beside them."""
    failure = {"tool_name": "a", "tool_args": {"n": 2}, "failure": {"message": "no"}}
    messages = [
        {"role": "system", "content": "Help."},
        {"role": "user", "content": "Find."},
        _calling(("1", "a", '{"n": 1}'), ("2", "a", '{"n": 2}')),
        _result("1", "one"),
        _result("2", "Error: no"),
        {"role": "assistant", "content": "Done."},
    ]
    trace = read(_output(_task(*messages, tool_failures=[failure]), _task({"role": "user", "content": "More."})))
    assert trace.to_events() == [
        {"system": "Help."},
        {"user": "Find."},
        {"call": "a", "args": {"n": 1}, "id": "1", "by": "finder"},
        {"call": "a", "args": {"n": 2}, "id": "2", "by": "finder"},
        {"result": "one", "of": "a", "id": "1"},
        {"result": "Error: no", "of": "a", "id": "2", "is_error": True},
        {"agent": "Done.", "by": "finder"},
        {"user": "More."},
    ]
    assert trace.problems == ()


def test_ids_and_arguments() -> None:
    """Reused and empty ids, arguments that are none, and a result that answers nothing."""
    trace = read(
        _output(
            _task(
                _calling(("1", "a", ""), ("", "b", "{bad"), ("", "b", '{"a":1}{"a":2}')),
                _result("1", "a"),
                _result("", "b", "b"),
                _calling(("1", "c", "null")),
                _result("1", "c", "c"),
                _result("1", "again", "c"),
            )
        )
    )
    assert [(call.name, call.result) for call in trace.calls] == [("a", "a"), ("b", "b"), ("b", UNANSWERED), ("c", "c")]
    assert [type(call.args) for call in trace.calls] == [dict, MalformedArguments, MalformedArguments, dict]
    assert len(trace.problems) == 3


def test_calls_that_are_written_as_text() -> None:
    """Agents whose models can't call write what they mean; what was run then stands in events only."""
    text = 'Thought: I look.\nAction: search\nAction Input: {"n": 1}\nObservation: one'
    trace = read(_output(_task({"role": "assistant", "content": text})))
    assert [problem.hides_call for problem in trace.problems] == [True]
    assert read(_output(_task())).problems[0].hides_call


@pytest.mark.parametrize(
    "item",
    [
        {"tool_name": "x"},
        "x",
        _started(9, tool=""),
        {"type": ["tool_usage_started"]},
    ],
)
def test_what_can_not_be_understood_may_hide_a_call(item: Any) -> None:
    """It is a problem with its place; the events beside it are read."""
    trace = read([_started(1), item, _ended(2, 1)])
    assert trace.calls[0].result == "x"
    assert [problem.hides_call for problem in trace.problems] == [True]
    assert trace.problems[0].place.startswith("$[1]")


def test_detection() -> None:
    """Each kind of document is known, and others are not taken for it."""
    assert_known_alone("crewai", [_started(1)], _started(1), _output(_task()), [{"type": "task_started"}])
    for document in ([{"type": "tool_call"}], {"type": "text"}, {"tasks_output": 1}):
        assert "crewai" not in {reader.name for reader in detected(document)}


def test_mutants() -> None:
    """They raise nothing else."""
    started = {"type": "lite_agent_execution_started", "messages": [{"role": "user", "content": "x"}], "agent_info": {}}
    events = [started, _started(1, args="{}"), _failed(2, 1, "no"), {"type": "tool_selection_error", "tool_args": {}}]
    assert_mutants_are_read_or_refused("crewai", events)
    failures = [{"tool_name": "a", "tool_args": {}}]
    task = _task(_calling(("1", "a", "{}")), _result("1", "x"), tool_failures=failures)
    assert_mutants_are_read_or_refused("crewai", _output(task))


# ------------------------------------------------------------------------------------------------------------ the real


def _crew(tools: Tools, monkeypatch: pytest.MonkeyPatch, is_native: bool) -> tuple[Any, list[Any]]:
    """Run a crew with a model that answers from a list; return what it put out, and the events."""
    for variable in ("CREWAI_DISABLE_TELEMETRY", "CREWAI_DISABLE_TRACKING", "OTEL_SDK_DISABLED"):
        monkeypatch.setenv(variable, "true")
    crewai = pytest.importorskip("crewai", reason="CrewAI is not installed")
    from crewai.events import crewai_event_bus
    from crewai.events.types import agent_events, crew_events, task_events, tool_usage_events
    from crewai.llms.base_llm import BaseLLM
    from crewai.tools import tool

    class Scripted(BaseLLM):
        answers: list[Any] = []

        def call(self, *_: Any, **__: Any) -> Any:
            return self.answers.pop(0)

        def supports_function_calling(self) -> bool:
            return is_native

        def supports_stop_words(self) -> bool:
            return True

        def get_context_window_size(self) -> int:
            return 8000

    answers = _native_answers() if is_native else _written_answers()
    own = [tool("search")(_search(tools)), tool("steer")(_steer(tools)), tool("weather")(_weather(tools))]
    agent = crewai.Agent(
        role="finder", goal="Find.", backstory="-", llm=Scripted(model="m", answers=answers), tools=own
    )
    tasks = [
        crewai.Task(description=description, expected_output="Things.", agent=agent)
        for description in ("Find both.", "Turn the wheel.")
    ]
    events: list[Any] = []
    kinds = [
        value
        for module in (agent_events, crew_events, task_events, tool_usage_events)
        for value in vars(module).values()
        if isinstance(value, type) and value.__name__.endswith("Event") and value.__module__ == module.__name__
    ]
    with crewai_event_bus.scoped_handlers():
        for kind in kinds:
            crewai_event_bus.on(kind)(lambda _, event: events.append(event))
        output = crewai.Crew(agents=[agent], tasks=tasks).kickoff()
        crewai_event_bus.flush()
    return output, events


def _search(tools: Tools) -> Any:
    def search(query: str, limit: int = 3) -> dict[str, Any]:
        """Find things."""
        return tools.search(query, limit)

    return search


def _steer(tools: Tools) -> Any:
    def steer(angle: float) -> str:
        """Turn the wheel."""
        return tools.steer(angle)

    return steer


def _weather(tools: Tools) -> Any:
    def weather(city: str) -> str:
        """Say what the weather is like."""
        return tools.weather(city)

    return weather


def _native_answers() -> list[Any]:
    def calling(*calls: tuple[str, dict[str, Any]]) -> Any:
        return [
            {"id": f"{name}-{args}", "type": "function", "function": {"name": name, "arguments": json.dumps(args)}}
            for name, args in calls
        ]

    return [calling(*FIRST_TURN), "Found both.", calling(*SECOND_TURN), "Sunny."]


def _written_answers() -> list[Any]:
    def acting(name: str, args: dict[str, Any]) -> str:
        return f"Thought: I act.\nAction: {name}\nAction Input: {json.dumps(args)}"

    final = "Thought: I now know the final answer\nFinal Answer: "
    first, second = [acting(*call) for call in FIRST_TURN], [acting(*call) for call in SECOND_TURN]
    return [*first, f"{final}Found both.", *second, f"{final}Sunny."]


def _decoded(payload: Any) -> Any:
    """CrewAI writes what a tool returned as Python does."""
    return json.loads(payload.replace("'", '"')) if payload.startswith("{") else payload


@pytest.mark.filterwarnings("ignore")
def test_what_a_real_crew_makes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two tasks, parallel calls and a tool that fails: events as objects and as JSON, and what the crew put out."""
    tools = Tools()
    output, events = _crew(tools, monkeypatch, is_native=True)
    dumped = json.loads(json.dumps([event.to_json() for event in events], default=str))
    for source in (events, dumped):
        trace = read(source)
        assert_witnessed(trace, tools, decode=_decoded)
        assert [call.turn for call in trace.calls] == [1, 1, 2, 2]
        assert {call.agent for call in trace.calls} == {"finder"}
        assert all(call.started_at and call.ended_at for call in trace.calls)
    for source in (output, json.loads(output.model_dump_json())):
        trace = read(source)
        assert trace.problems == ()
        assert [(call.name, call.args) for call in trace.calls] == [*FIRST_TURN, *SECOND_TURN]
        assert [call.is_error for call in trace.calls] == [None, None, True, None]
        assert WHEEL in str(trace.calls[2].result)


@pytest.mark.filterwarnings("ignore")
def test_what_a_real_crew_makes_whose_model_writes_its_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    """CrewAI tries a tool that fails three times, and runs it twice each time; only the events tell of it."""
    tools = Tools()
    output, events = _crew(tools, monkeypatch, is_native=False)
    trace = read(events)
    assert trace.problems == ()
    calls = [(call.name, call.args) for call in trace.calls]
    assert calls == [*FIRST_TURN, *[SECOND_TURN[0]] * 3, SECOND_TURN[1]]
    assert [call.is_error for call in trace.calls] == [False, False, True, True, True, False]
    ran = {(note.name, repr(note.args)) for note in tools.made}
    assert ran == {(name, repr(args)) for name, args in calls}
    assert [problem.hides_call for problem in read(output).problems] == [True] * 4
