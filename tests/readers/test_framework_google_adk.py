"""Google ADK, run for real with a model of its own making: events, sessions, and what evaluation sets keep of them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from framework_mutations import assert_known_alone, assert_mutants_are_read_or_refused
from framework_support import FIRST_TURN, SECOND_TURN, Tools, assert_witnessed
from provider_support import corpora

from tracewitness.errors import ReadError
from tracewitness.readers import read, read_all
from tracewitness.trace import UNANSWERED, Trace


def _text(text: str, role: str = "model") -> dict[str, Any]:
    return {"role": role, "parts": [{"text": text}]}


def _part(kind: str, **fields: Any) -> dict[str, Any]:
    return {kind: fields}


def _event(*parts: Any, author: str = "shop", **fields: Any) -> dict[str, Any]:
    content = {"role": "user" if author == "user" else "model", "parts": list(parts)}
    return {"author": author, "invocationId": "i1", "content": content, "timestamp": 10.5, **fields}


CALL = _part("functionCall", name="a", args={"n": 1}, id="adk-1")
ANSWER = _part("functionResponse", name="a", response={"result": 2}, id="adk-1")


# ------------------------------------------------------------------------------------------------------------ by hand


def test_events_keep_agents_and_times() -> None:
    """A call, its result and what was said, with who did it and when."""
    trace = read([_event({"text": "hi"}, author="user"), _event(CALL), _event(ANSWER), _event({"text": "Two."})])
    assert trace.to_events() == [
        {"user": "hi", "at": 10.5},
        {"call": "a", "args": {"n": 1}, "id": "adk-1", "by": "shop", "at": 10.5},
        {"result": {"result": 2}, "of": "a", "id": "adk-1", "at": 10.5},
        {"agent": "Two.", "by": "shop", "at": 10.5},
    ]
    assert trace.problems == ()
    assert trace.calls[0].is_error is None


def test_both_spellings() -> None:
    """A session as JSON has it and as its dump has it."""
    camel = {"id": "s1", "appName": "x", "userId": "u", "events": [_event(CALL)]}
    content = {"role": "model", "parts": [{"function_call": {"name": "a", "args": {"n": 1}, "id": "adk-1"}}]}
    event = {"author": "shop", "invocation_id": "i1", "content": content, "timestamp": 10.5, "partial": None}
    snake = {"id": "s1", "app_name": "x", "user_id": "u", "events": [event]}
    assert read(camel).to_events() == read(snake).to_events()
    assert read(camel).name == read(snake).name == "s1"


def test_a_session_without_events() -> None:
    """It is a session all the same, and no evidence."""
    trace = read({"id": "s1", "appName": "x", "userId": "u", "events": []})
    assert (trace.name, trace.no_evidence) == ("s1", "the recording is empty")


def test_fragments_are_told_once() -> None:
    """What is streamed comes again as a whole."""
    trace = read([_event({"text": "Lo"}, partial=True), _event(CALL, partial=True), _event({"text": "Look."}, CALL)])
    assert [event for event in trace.to_events() if "call" in event or "agent" in event] == [
        {"agent": "Look.", "by": "shop", "at": 10.5},
        {"call": "a", "args": {"n": 1}, "id": "adk-1", "by": "shop", "at": 10.5},
    ]
    assert trace.problems == ()


def test_a_stream_that_breaks_off_is_a_problem() -> None:
    """It may have been the beginning of a call."""
    trace = read([_event({"text": "hi"}, author="user"), _event({"text": "Lo"}, partial=True)])
    assert [(problem.place, problem.hides_call) for problem in trace.problems] == [("$[1]", True)]


def test_a_transfer_is_a_call_a_result_and_a_transfer() -> None:
    """The framework tells of it in two events."""
    call = _part("functionCall", name="transfer_to_agent", args={"agent_name": "billing"}, id="adk-2")
    answer = _part("functionResponse", name="transfer_to_agent", response={"result": None}, id="adk-2")
    trace = read([_event(call), _event(answer, actions={"transferToAgent": "billing"}), _event(CALL, author="billing")])
    events = trace.to_events()
    assert [next(iter(event)) for event in events] == ["call", "result", "transfer", "call"]
    assert events[2] == {"transfer": "billing", "by": "shop", "at": 10.5}
    assert [call.agent for call in trace.calls] == ["shop", "billing"]


def test_a_long_running_tool_answers_more_than_once() -> None:
    """Its last word is the result."""
    pending = _part("functionResponse", name="a", response={"status": "pending"}, id="adk-1")
    trace = read([_event(CALL, longRunningToolIds=["adk-1"]), _event(pending), _event(ANSWER, author="user")])
    assert (trace.calls[0].result, trace.problems) == ({"result": 2}, ())
    assert trace.calls[0].metadata == {"long_running": True}
    assert read([_event(CALL), _event(pending)]).calls[0].result == {"status": "pending"}


def test_what_a_person_is_asked_is_no_call() -> None:
    """A confirmation is asked for by the framework, and answered by a person."""
    ask = _part("functionCall", name="adk_request_confirmation", args={"originalFunctionCall": {}}, id="adk-3")
    yes = _part("functionResponse", name="adk_request_confirmation", response={"confirmed": True}, id="adk-3")
    wait = _part("functionResponse", name="a", response={"error": "needs confirmation"}, id="adk-1")
    trace = read([_event(CALL), _event(ask), _event(wait), _event(yes, author="user"), _event(ANSWER)])
    assert [(call.name, call.result) for call in trace.calls] == [("a", {"result": 2})]
    assert trace.problems == ()


ASKED = {"originalFunctionCall": {"name": "a", "args": {}, "id": "adk-1"}}
INTERIM: dict[str, dict[str, Any]] = {
    "it takes long": {"call": {"longRunningToolIds": ["adk-1"]}},
    "a person has to confirm it": {"ask": _part("functionCall", name="adk_request_confirmation", args=ASKED, id="q")},
    "it needs a credential": {
        "ask": _part("functionCall", name="adk_request_credential", args={"functionCallId": "adk-1"}, id="q")
    },
    "its answer says that it waits": {"answer": {"actions": {"requestedToolConfirmations": {"adk-1": {"hint": ""}}}}},
    "its answer asks for a credential": {"answer": {"actions": {"requestedAuthConfigs": {"adk-1": {}}}}},
}
FINAL: dict[str, dict[str, Any]] = {
    "an ordinary tool": {},
    "another call takes long": {"call": {"longRunningToolIds": ["adk-2"]}},
    "another call is asked for": {
        "ask": _part("functionCall", name="adk_request_credential", args={"functionCallId": "adk-2"}, id="q")
    },
    "a person is asked, for no call": {"ask": _part("functionCall", name="adk_request_input", args={}, id="q")},
    "ids that are none": {
        "call": {"longRunningToolIds": ["", 1, None]},
        "answer": {"actions": {"requestedAuthConfigs": ["x"], "requestedToolConfirmations": {"": {}}}},
    },
}


def _answered_twice(case: dict[str, Any]) -> Trace:
    boom = _part("functionResponse", name="a", response={"error": "boom"}, id="adk-1")
    ask = [_event(case["ask"])] if "ask" in case else []
    first = _event(ANSWER, id="e2", **case.get("answer", {}))
    return read([_event(CALL, id="e1", **case.get("call", {})), *ask, first, _event(boom, id="e3")])


@pytest.mark.parametrize("name", INTERIM)
def test_an_answer_on_the_way_is_no_result(name: str) -> None:
    trace = _answered_twice(INTERIM[name])
    assert ([call.result for call in trace.calls], trace.problems) == ([{"error": "boom"}], ())


@pytest.mark.parametrize("name", FINAL)
def test_of_two_answers_none_is_lost(name: str) -> None:
    """The first one is the result, and that there is a second one is a problem."""
    trace = _answered_twice(FINAL[name])
    assert [event["result"] for event in trace.to_events() if "result" in event] == [{"result": 2}, {"error": "boom"}]
    assert [call.result for call in trace.calls] == [{"result": 2}]
    assert ["no unanswered call" in problem.reason for problem in trace.problems] == [True]


def test_two_answers_in_one_event() -> None:
    """They are two all the same."""
    boom = _part("functionResponse", name="a", response={"error": "boom"}, id="adk-1")
    trace = read([_event(CALL), _event(ANSWER, boom)])
    assert (trace.calls[0].result, len(trace.problems)) == ({"result": 2}, 1)


def test_ids_that_are_used_again() -> None:
    """Each call has its own result, and none is taken for an earlier word of another."""
    other = _part("functionResponse", name="b", response=3, id="adk-1")
    again = _part("functionCall", name="b", id="adk-1")
    trace = read([_event(CALL), _event(ANSWER), _event(again), _event(other)])
    assert [(call.name, call.result) for call in trace.calls] == [("a", {"result": 2}), ("b", 3)]


@pytest.mark.parametrize(
    ("event", "hides_call"),
    [
        (_event({"text": "x"}, errorCode="MALFORMED_FUNCTION_CALL", errorMessage="no"), True),
        ({"author": "shop", "invocationId": "i1", "content": ["x"]}, True),
        (_event({"text": "x"}, author=""), False),
        (_event({"newKind": {}}), True),
    ],
)
def test_what_is_not_understood_is_a_problem(event: Any, hides_call: bool) -> None:
    """Never an exception, and never passed over."""
    trace = read([_event(CALL), event])
    assert [problem.hides_call for problem in trace.problems] == [hides_call]


def test_what_is_said_aloud() -> None:
    """It stands beside the content."""
    heard = {"author": "user", "invocationId": "i1", "inputTranscription": {"text": "hello", "finished": True}}
    said = {"author": "shop", "invocationId": "i1", "outputTranscription": {"text": "Hi.", "finished": True}}
    assert read([heard, said]).to_events() == [{"user": "hello"}, {"agent": "Hi.", "by": "shop"}]


# ----------------------------------------------------------------------------------------------------- evaluation sets

OLD = [
    {
        "query": "hi",
        "expected_tool_use": [{"tool_name": "a", "tool_input": {"n": 1}, "mock_tool_output": 5}],
        "expected_intermediate_agent_responses": [{"author": "helper", "text": "One moment."}],
        "reference": "Done.",
    },
    {"query": "bye", "expected_tool_use": [], "reference": "Bye."},
]
OLD_EVENTS = [
    {"user": "hi"},
    {"call": "a", "args": {"n": 1}},
    {"result": 5, "of": "a"},
    {"agent": "One moment.", "by": "helper"},
    {"agent": "Done."},
    {"user": "bye"},
    {"agent": "Bye."},
]


@pytest.mark.parametrize("document", [OLD, [{"name": "case", "data": OLD}], {"name": "case", "data": OLD}])
def test_the_older_schema(document: Any) -> None:
    """A list of turns, alone or in a case with a name."""
    (trace,) = read_all(document)
    assert trace.to_events() == OLD_EVENTS
    assert trace.name == ("" if document is OLD else "case")


def _case(name: str, *invocations: Any) -> dict[str, Any]:
    return {"eval_id": name, "conversation": list(invocations), "creation_timestamp": 1.0}


def _invocation(between: Any, final: Any = None) -> dict[str, Any]:
    return {
        "invocation_id": "i1",
        "user_content": _text("hi", "user"),
        "final_response": final,
        "intermediate_data": between,
        "creation_timestamp": 0.0,
    }


def test_the_newer_schema_with_calls_and_results_apart() -> None:
    """Each case is a run."""
    uses = {
        "tool_uses": [{"id": None, "name": "a", "args": {"n": 1}}, {"id": "x", "name": "b", "args": {}}],
        "tool_responses": [{"id": "x", "name": "b", "response": 1}],
        "intermediate_responses": [["helper", [{"text": "One moment."}]]],
    }
    document = {"eval_set_id": "set", "eval_cases": [_case("one", _invocation(uses, _text("Done."))), _case("two")]}
    one, two = read_all(document)
    assert [one.name, two.name] == ["one", "two"]
    assert one.to_events() == [
        {"user": "hi"},
        {"call": "a", "args": {"n": 1}},
        {"call": "b", "args": {}, "id": "x"},
        {"result": 1, "of": "b", "id": "x"},
        {"agent": "One moment.", "by": "helper"},
        {"agent": "Done."},
    ]
    assert two.no_evidence == "the recording is empty"


def test_the_newer_schema_with_events() -> None:
    """An answer that is an event as well stands there once."""
    last = {"role": "model", "parts": [{"text": "Waiting."}, {"function_call": {"name": "b", "args": {}, "id": "y"}}]}
    steps = [
        {"author": "shop", "content": {"role": "model", "parts": [CALL]}},
        {"author": "shop", "content": {"role": "user", "parts": [ANSWER]}},
        {"author": "shop", "content": last},
        {"author": "shop", "content": None},
    ]
    (trace,) = read_all({"evalCases": [_case("one", _invocation({"invocationEvents": steps}, last))]})
    assert [(call.name, call.agent, call.result) for call in trace.calls] == [
        ("a", "shop", {"result": 2}),
        ("b", "shop", UNANSWERED),
    ]
    assert trace.problems == ()


def test_a_scenario_is_no_conversation() -> None:
    """It says what a user is to want, and nothing that an agent did."""
    case = {"eval_id": "one", "conversation": None, "conversation_scenario": {"starting_prompt": "hi"}}
    (trace,) = read_all({"eval_set_id": "set", "eval_cases": [case]})
    assert trace.no_evidence == "a scenario, and no conversation that was had"


def test_results_of_an_evaluation() -> None:
    """What the agent did is read, not what it was to do."""
    actual = _invocation({"tool_uses": [{"name": "a", "args": {}}]})
    expected = _invocation({"tool_uses": [{"name": "b", "args": {}}]})
    result = {"actual_invocation": actual, "expected_invocation": expected}
    case = {"eval_id": "one", "eval_metric_result_per_invocation": [result]}
    (trace,) = read_all({"eval_set_id": "set", "eval_case_results": [case]})
    assert [call.name for call in trace.calls] == ["a"]


def test_what_is_none_is_refused() -> None:
    """The settings of an evaluation are no recording."""
    with pytest.raises(ReadError, match="a run has events"):
        read({"criteria": {"tool_trajectory_avg_score": 1.0}})
    with pytest.raises(ReadError, match="a run of Google ADK"):
        read({"criteria": {}}, "google-adk")
    with pytest.raises(ReadError, match="a run of Google ADK"):
        read(3, "google-adk")


def test_detected_as_this_alone() -> None:
    """By what is there."""
    assert_known_alone(
        "google-adk",
        [_event(CALL)],
        {"id": "s1", "appName": "x", "userId": "u", "events": []},
        {"events": [_event(CALL)]},
        OLD,
        [{"name": "case", "data": OLD}],
        {"eval_cases": []},
        _case("one", _invocation({"tool_uses": []})),
    )


def test_mutants() -> None:
    """Of events and of both kinds of evaluation sets."""
    steps = [{"author": "shop", "content": {"role": "model", "parts": [CALL, ANSWER]}}]
    uses = {
        "tool_uses": [{"id": "x", "name": "b", "args": {}}],
        "tool_responses": [{"id": "x", "name": "b", "response": 1}],
        "intermediate_responses": [["helper", [{"text": "One moment."}]]],
    }
    events = [
        _event({"text": "hi"}, author="user"),
        _event({"text": "x"}, partial=True),
        _event({"text": "x"}, CALL, longRunningToolIds=["adk-1"], branch="a"),
        _event(ANSWER, actions={"transferToAgent": "billing"}),
        _event(ANSWER, inputTranscription={"text": "x"}, errorCode="X", errorMessage="y"),
    ]
    cases = [_case("one", _invocation(uses, _text("Done.")), _invocation({"invocation_events": steps}))]
    for document in ({"id": "s1", "appName": "x", "userId": "u", "events": events}, {"eval_cases": cases}, OLD):
        assert_mutants_are_read_or_refused("google-adk", document)


# ----------------------------------------------------------------------------------------------------------- recordings

_NO_RECORDING = {"test_config.json": "the criteria of an evaluation, not a conversation"}


def _marked(node: Any) -> int:
    """Count the markers of calls."""
    if isinstance(node, list):
        return sum(map(_marked, node))
    if not isinstance(node, dict):
        return 0
    count = sum(len(node.get(key) or ()) for key in ("expected_tool_use", "tool_uses"))
    count += sum(bool(node.get(key)) for key in ("function_call", "functionCall"))
    return count + sum(_marked(value) for value in node.values())


def test_real_recordings() -> None:
    """Every file is read by detection alone, with as many calls as its own markers say."""
    folder = corpora() / "adk-samples"
    fixture = corpora() / "strands-evals/tests/strands_evals/extractors/fixtures/google_adk_load_skill.json"
    if not folder.exists() or not fixture.exists():
        pytest.skip("the recordings of Google ADK are not here")
    paths = [path for path in sorted(folder.rglob("*.json")) if path.name not in _NO_RECORDING]
    total = 0
    for path in [*paths, fixture]:
        traces = list(read_all(Path(path)))
        count = sum(len(trace.calls) for trace in traces)
        assert count == _marked(json.loads(path.read_text("utf-8"))), path.name
        assert [problem for trace in traces for problem in trace.problems] == []
        total += count
    assert (len(paths), total) == (16, 71)


# ------------------------------------------------------------------------------------------------------- the framework


class _Script:
    """What the model does, one answer for each time it is asked."""

    def __init__(self, types: Any, *answers: tuple[Any, ...]) -> None:
        self._types = types
        self._answers = list(answers)

    def next(self) -> Any:
        """Return the next answer as a content."""
        parts = [self._part(step) for step in self._answers.pop(0)]
        return self._types.Content(role="model", parts=parts)

    def _part(self, step: Any) -> Any:
        if isinstance(step, str):
            return self._types.Part(text=step)
        name, args = step
        return self._types.Part(function_call=self._types.FunctionCall(name=name, args=args))


def _model(script: _Script) -> Any:
    """Return a model that follows a script, and streams where it is asked to."""
    from google.adk.models import BaseLlm, LlmResponse

    class Scripted(BaseLlm):
        async def generate_content_async(self, llm_request: Any, stream: bool = False) -> AsyncIterator[Any]:  # noqa: ARG002
            content = script.next()
            if stream and content.parts[0].text:
                first = content.model_copy(update={"parts": content.parts[:1]})
                yield LlmResponse(content=first, partial=True)
            yield LlmResponse(content=content)

    return Scripted(model="scripted")


async def _told(tool: Any, args: Any, tool_context: Any, error: Exception) -> dict[str, Any]:
    return {"error": str(error)}


def _converse(agent: Any, prompts: list[str], *, stream: bool = False) -> tuple[list[Any], Any]:
    """Run an agent, and return the events that came and the session."""
    from google.adk.agents.run_config import RunConfig, StreamingMode
    from google.adk.runners import InMemoryRunner
    from google.genai import types

    async def run() -> tuple[list[Any], Any]:
        runner = InMemoryRunner(agent=agent, app_name="shop")
        session = await runner.session_service.create_session(app_name="shop", user_id="u")
        config = RunConfig(streaming_mode=StreamingMode.SSE if stream else StreamingMode.NONE)
        events = []
        for prompt in prompts:
            message = types.Content(role="user", parts=[types.Part(text=prompt)])
            arguments = {"user_id": "u", "session_id": session.id, "new_message": message, "run_config": config}
            events += [event async for event in runner.run_async(**arguments)]
        stored = await runner.session_service.get_session(app_name="shop", user_id="u", session_id=session.id)
        return events, stored

    return asyncio.run(run())


@pytest.fixture(name="adk")
def _adk() -> Any:
    """Return the module of the framework's agents."""
    return pytest.importorskip("google.adk.agents", reason="google-adk is not installed")


def _shop(adk: Any, tools: Tools, *answers: Any, more: Any = (), **fields: Any) -> Any:
    """Return an agent with the tools and some more, which answers as scripted."""
    from google.genai import types

    model = _model(_Script(types, *answers))
    own = [tools.search, tools.steer, tools.weather, *more]
    return adk.LlmAgent(name="shop", model=model, tools=own, on_tool_error_callback=_told, **fields)


def _unwrapped(payload: Any) -> Any:
    """Return what a tool gave: the framework puts what is no mapping into one."""
    return payload["result"] if set(payload) == {"result"} else payload


def _assert_witnessed(trace: Trace, tools: Tools) -> None:
    assert_witnessed(trace, tools, errors_told=False, decode=_unwrapped)


TWO_TURNS = (("Looking.", *FIRST_TURN), ("Found both.",), SECOND_TURN, ("Done.",))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("stream", [False, True])
def test_two_turns_for_real(adk: Any, stream: bool) -> None:
    """Events, the session, its dump and its JSON tell the same calls, and they are those that were made."""
    tools = Tools()
    events, session = _converse(_shop(adk, tools, *TWO_TURNS), ["find", "steer"], stream=stream)
    as_json = session.model_dump_json(by_alias=True)
    sources: dict[str, Callable[[], Any]] = {
        "session": lambda: session,
        "dump": session.model_dump,
        "json": lambda: json.loads(as_json),
        "text": lambda: as_json,
    }
    for source in sources.values():
        trace = read(source())
        _assert_witnessed(trace, tools)
        assert [call.turn for call in trace.calls] == [1, 1, 2, 2]
        assert {call.agent for call in trace.calls} == {"shop"}
    _assert_witnessed(read(events), tools)  # without the user's messages
    assert any(event.partial for event in events) is stream
    said = [event["agent"] for event in read(session).to_events() if "agent" in event]
    assert said == ["Looking.", "Found both.", "Done."]


@pytest.mark.filterwarnings("ignore")
def test_a_transfer_for_real(adk: Any) -> None:
    """The other agent's calls are its own."""
    from google.genai import types

    tools = Tools()
    helper = adk.LlmAgent(
        name="helper",
        description="Knows the weather.",
        model=_model(_Script(types, (("weather", {"city": "Bern"}),), ("Sunny.",))),
        tools=[tools.weather],
    )
    shop = _shop(adk, tools, (("transfer_to_agent", {"agent_name": "helper"}),), sub_agents=[helper])
    _, session = _converse(shop, ["weather?"])
    trace = read(session)
    _assert_witnessed(trace, tools)
    assert [(call.name, call.agent) for call in trace.calls] == [("transfer_to_agent", "shop"), ("weather", "helper")]
    kinds = [next(iter(event)) for event in trace.to_events()]
    assert kinds == ["user", "call", "result", "transfer", "call", "result", "agent"]


@pytest.mark.filterwarnings("ignore")
def test_an_agent_as_a_tool_for_real(adk: Any) -> None:
    """It is one call, with what the agent answered; what that agent called is not in the session."""
    from google.adk.tools.agent_tool import AgentTool
    from google.genai import types

    tools = Tools()
    helper = adk.LlmAgent(
        name="helper",
        description="Knows the weather.",
        model=_model(_Script(types, (("weather", {"city": "Bern"}),), ("Sunny.",))),
        tools=[tools.weather],
    )
    answers = ((("helper", {"request": "weather in Bern"}),), ("It is sunny.",))
    _, session = _converse(_shop(adk, tools, *answers, more=[AgentTool(helper)]), ["weather?"])
    trace = read(session)
    assert [(call.name, call.args) for call in trace.calls] == [("helper", {"request": "weather in Bern"})]
    assert "Sunny." in str(trace.calls[0].result)
    assert trace.problems == ()
    assert [note.name for note in tools.made] == ["weather"]


@pytest.mark.filterwarnings("ignore")
def test_a_long_running_tool_for_real(adk: Any) -> None:
    """Its first word is its result until it says more."""
    from google.adk.tools.long_running_tool import LongRunningFunctionTool

    def ask(question: str) -> dict[str, str]:
        """Ask the boss."""
        return {"status": "pending"}

    answers = ((("ask", {"question": "may I?"}),), ("I asked.",))
    agent = _shop(adk, Tools(), *answers, more=[LongRunningFunctionTool(func=ask)])
    _, session = _converse(agent, ["ask"])
    (call,) = read(session).calls
    assert (call.result, call.metadata) == ({"status": "pending"}, {"long_running": True})


@pytest.mark.filterwarnings("ignore")
def test_a_confirmation_for_real(adk: Any) -> None:
    """A person is asked before the tool runs: one call, with what came of it at last."""
    from google.adk.runners import InMemoryRunner
    from google.adk.tools.function_tool import FunctionTool
    from google.genai import types

    tools = Tools()
    answers = ((("weather", {"city": "Bern"}),), ("Sunny.",), ("Sunny at last.",))
    agent = adk.LlmAgent(
        name="shop",
        model=_model(_Script(types, *answers)),
        tools=[FunctionTool(tools.weather, require_confirmation=True)],
    )

    async def run() -> Any:
        runner = InMemoryRunner(agent=agent, app_name="shop")
        session = await runner.session_service.create_session(app_name="shop", user_id="u")
        place = {"user_id": "u", "session_id": session.id}
        prompt = types.Content(role="user", parts=[types.Part(text="weather?")])
        events = [event async for event in runner.run_async(**place, new_message=prompt)]
        (asked,) = [call for event in events for call in event.get_function_calls() if call.name != "weather"]
        yes = types.FunctionResponse(id=asked.id, name=asked.name, response={"confirmed": True})
        agreed = types.Content(role="user", parts=[types.Part(function_response=yes)])
        assert [event async for event in runner.run_async(**place, new_message=agreed)]
        return await runner.session_service.get_session(app_name="shop", **place)

    trace = read(asyncio.run(run()))
    _assert_witnessed(trace, tools)
    assert [call.name for call in trace.calls] == ["weather"]


@pytest.mark.filterwarnings("ignore")
def test_evaluation_sets_for_real(adk: Any) -> None:
    """What the framework makes of a session for its evaluation has the same calls."""
    pytest.importorskip("google.adk.evaluation.eval_set")
    from google.adk.evaluation.eval_case import EvalCase
    from google.adk.evaluation.eval_set import EvalSet
    from google.adk.evaluation.evaluation_generator import EvaluationGenerator

    tools = Tools()
    _, session = _converse(_shop(adk, tools, *TWO_TURNS), ["find", "steer"])
    invocations = EvaluationGenerator.convert_events_to_eval_invocations(session.events)
    found = EvalSet(eval_set_id="set", eval_cases=[EvalCase(eval_id="one", conversation=invocations)])
    for source in (found, found.model_dump(), found.model_dump_json(by_alias=True)):
        (trace,) = read_all(source)
        _assert_witnessed(trace, tools)
        assert (trace.name, [call.turn for call in trace.calls]) == ("one", [1, 1, 2, 2])
        assert isinstance(trace, Trace)
