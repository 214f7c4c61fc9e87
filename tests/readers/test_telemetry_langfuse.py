"""Langfuse: traces, observations and messages in every document that has them, real ones, and its SDK with a script."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from framework_support import (
    FIRST_TURN,
    SECOND_TURN,
    Tools,
    assert_mutants_are_read,
    assert_witnessed,
    detected_names,
)
from provider_support import corpora

from tracewitness.errors import ReadError
from tracewitness.readers import read, read_all
from tracewitness.trace import UNANSWERED, MalformedArguments, Trace

LAMP = {"q": "lamp"}
ASKED = [{"role": "user", "content": "Find a lamp."}]


def observation(kind: str, name: str, second: int, **fields: Any) -> dict[str, Any]:
    """Return an observation that began in a second of the day and took one."""
    return {
        "id": f"o{second}",
        "traceId": "t1",
        "type": kind,
        "name": name,
        "startTime": f"2026-01-02T00:00:{second:02}.000Z",
        "endTime": f"2026-01-02T00:00:{second + 1:02}.000Z",
        "level": "DEFAULT",
        "statusMessage": None,
        **fields,
    }


def calling(*calls: tuple[str, str, Any]) -> dict[str, Any]:
    """Return what a model answers that calls, by id, name and arguments."""
    functions = [
        {"id": call_id, "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
        for call_id, name, arguments in calls
    ]
    return {"role": "assistant", "content": None, "tool_calls": functions}


MODEL = observation("GENERATION", "chat", 1, input=ASKED, output=calling(("c1", "search", LAMP)))
TOOL = observation("TOOL", "search", 3, input=LAMP, output="a lamp")
DONE = observation(
    "GENERATION",
    "chat",
    5,
    input=[*ASKED, MODEL["output"], {"role": "tool", "tool_call_id": "c1", "content": "a lamp"}],
    output={"role": "assistant", "content": "Here is a lamp."},
)
TRACE = {"id": "t1", "timestamp": "2026-01-02T00:00:00.000Z", "name": "agent", "projectId": "p", "tags": []}


def told(trace: Trace) -> list[dict[str, Any]]:
    """Return the events without their times."""
    return [{key: value for key, value in event.items() if key not in ("at", "until")} for event in trace.to_events()]


WHOLE = [
    {"user": "Find a lamp."},
    {"call": "search", "args": LAMP, "id": "c1"},
    {"result": "a lamp", "of": "search", "id": "c1"},
    {"agent": "Here is a lamp."},
]
STEPS = [MODEL, TOOL, DONE]


def snake(item: dict[str, Any]) -> dict[str, Any]:
    """Return a row as exports to blob storage have it: other names, and times without an offset."""
    names = {"traceId": "trace_id", "startTime": "start_time", "endTime": "end_time", "statusMessage": "status_message"}
    row = {names.get(key, key): value for key, value in item.items()}
    for key in ("start_time", "end_time"):
        row[key] = row[key].replace("T", " ").removesuffix("Z")
    return {**row, "parent_observation_id": None}


def nested(item: dict[str, Any], layers: int) -> dict[str, Any]:
    """Return a row with its input and output as JSON in texts in texts."""
    row = dict(item)
    for key in ("input", "output"):
        for _ in range(layers):
            row[key] = json.dumps(row[key])
    return row


DOCUMENTS: dict[str, Any] = {
    "a list of observations": STEPS,
    "in any order": STEPS[::-1],
    "a page of the API": {"data": STEPS, "meta": {"cursor": None}},
    "a trace with observations": {**TRACE, "observations": STEPS},
    "a trace beside observations": {"trace": TRACE, "observations": STEPS},
    "both, of which one is bare": {
        "trace": {**TRACE, "observations": [{**step, "input": None, "output": None} for step in STEPS]},
        "observations": STEPS,
    },
    "JSON in texts": [nested(step, 1) for step in STEPS],
    "JSON in texts in texts": [nested(step, 3) for step in STEPS],
    "rows of an export": [snake(step) for step in STEPS],
    "lines of traces and observations": [TRACE, *STEPS],
    "what an SDK sends": {
        "batch": [
            {"id": "e0", "type": "trace-create", "timestamp": "2026-01-02T00:00:00Z", "body": {"id": "t1"}},
            *(
                {"id": f"e{index}", "type": kind, "body": {**step, "output": None}}
                for index, (kind, step) in enumerate(
                    [("generation-create", MODEL), ("observation-create", TOOL), ("generation-create", DONE)]
                )
            ),
            *(
                {"id": f"u{index}", "type": "observation-update", "body": {"id": step["id"], "traceId": "t1", **end}}
                for index, step in enumerate(STEPS)
                for end in ({"output": step["output"], "type": step["type"]},)
            ),
        ]
    },
}


@pytest.mark.parametrize("case", DOCUMENTS)
def test_documents_of_one_run(case: str) -> None:
    """Each in data, as JSON and as lines."""
    document = DOCUMENTS[case]
    assert detected_names(document) == ["langfuse"]
    encodings = [document, json.dumps(document)]
    if isinstance(document, list):
        encodings.append("\n".join(map(json.dumps, document)))
    for source in encodings:
        (trace,) = read_all(source)
        assert told(trace) == WHOLE
        assert trace.problems == ()
        assert trace.to_events()[1]["at"] is not None


def test_times_of_exports_are_in_utc() -> None:
    """They have no offset: the machine's own is not theirs."""
    assert read([snake(TOOL)]).to_events()[0]["at"] == datetime(2026, 1, 2, 0, 0, 3, tzinfo=UTC).timestamp()


# -------------------------------------------------------------------------------------------------------------- quirks


def one(kind: str, **fields: Any) -> list[dict[str, Any]]:
    return [observation(kind, "search", 1, **fields)]


def failed(**fields: Any) -> list[dict[str, Any]]:
    return one("TOOL", input=LAMP, level="ERROR", **fields)


_CALL = {"call": "search", "args": LAMP, "id": "o1"}
_RESULT = {"result": "a lamp", "of": "search", "id": "o1"}
_OPEN_TELEMETRY = {"attributes": {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "search"}}
_KOOG = [{"id": "c1", "type": "function", "function": {"name": "search", "arguments": '{"q": "lamp"}'}}]
QUIRKS: dict[str, tuple[Any, list[dict[str, Any]]]] = {
    "a tool that failed": (
        failed(statusMessage="no lamps"),
        [_CALL, {"result": "no lamps", "of": "search", "id": "o1", "is_error": True}],
    ),
    "a tool that failed and returned": (
        failed(output="sold out", statusMessage="x"),
        [_CALL, {"result": "sold out", "of": "search", "id": "o1", "is_error": True}],
    ),
    "a tool without an end": (one("TOOL", input=LAMP, endTime=None), [_CALL]),
    "a tool of no arguments": (one("TOOL", input={}), [{"call": "search", "args": {}, "id": "o1"}]),
    "arguments as Python shows them": (one("TOOL", input="{'q': 'lamp'}", output="a lamp"), [_CALL, _RESULT]),
    "arguments by name of a decorated function": (
        one("TOOL", input={"args": [], "kwargs": LAMP}, output="a lamp"),
        [_CALL, _RESULT],
    ),
    "a span that OpenTelemetry calls a tool": (
        one("SPAN", input=LAMP, output="a lamp", metadata=json.dumps(_OPEN_TELEMETRY)),
        [_CALL, _RESULT],
    ),
    "a message of LangChain's as a result": (
        one(
            "TOOL",
            input=LAMP,
            output={"type": "tool", "tool_call_id": "c9", "content": "a lamp", "status": "error"},
            metadata={"tool_call_id": '"c9"'},
        ),
        [{**_CALL, "id": "c9"}, {"result": "a lamp", "of": "search", "id": "c9", "is_error": True}],
    ),
    "calls as a text, as Koog has them": (
        [
            observation(
                "GENERATION", "x", 1, input=ASKED, output=[{"role": "assistant", "content": json.dumps(_KOOG)}]
            ),
            observation(
                "GENERATION",
                "x",
                5,
                input=[
                    *ASKED,
                    {"role": "tool", "content": json.dumps(_KOOG)},
                    {"role": "tool", "content": "a lamp"},
                ],
                output=[{"role": "assistant", "content": "Here."}],
            ),
        ],
        [
            {"user": "Find a lamp."},
            {"call": "search", "args": LAMP, "id": "c1"},
            {"result": "a lamp"},
            {"agent": "Here."},
        ],
    ),
    "of Anthropic": (
        one(
            "GENERATION",
            output={"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "a", "input": LAMP}]},
        ),
        [{"call": "a", "args": LAMP, "id": "c1"}],
    ),
    "of Gemini": (
        one("GENERATION", output={"candidates": [{"content": {"parts": [{"functionCall": {"name": "a"}}]}}]}),
        [{"call": "a", "args": {}}],
    ),
    "of OpenAI's Responses": (
        one(
            "GENERATION",
            output={
                "object": "response",
                "output": [
                    {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "a", "arguments": "{}"},
                    {"type": "mcp_call", "id": "m1", "name": "b", "arguments": "{}", "output": "ok"},
                ],
            },
        ),
        [
            {"call": "a", "args": {}, "id": "c1"},
            {"call": "b", "args": {}, "id": "m1"},
            {"result": "ok", "of": "b", "id": "m1", "is_error": False},
        ],
    ),
    "of the GenAI conventions": (
        one(
            "GENERATION",
            output=[
                {"role": "assistant", "parts": [{"type": "tool_call", "id": "c1", "name": "a", "arguments": "{}"}]}
            ],
        ),
        [{"call": "a", "args": {}, "id": "c1"}],
    ),
    "parallel calls without ids": (
        [
            observation("GENERATION", "x", 1, output=calling(("", "a", {}), ("", "b", {}), ("", "a", {"n": 2}))),
            observation("TOOL", "b", 3, id="s1", input={}, output="of b"),
            observation("TOOL", "a", 4, id="s2", input={"n": 2}, output="of 2"),
            observation("TOOL", "a", 5, id="s3", input={}, output="of a"),
        ],
        [
            {"call": "a", "args": {}, "id": "s3"},
            {"call": "b", "args": {}, "id": "s1"},
            {"call": "a", "args": {"n": 2}, "id": "s2"},
            {"result": "of b", "of": "b", "id": "s1"},
            {"result": "of 2", "of": "a", "id": "s2"},
            {"result": "of a", "of": "a", "id": "s3"},
        ],
    ),
    "plain texts": (
        one("GENERATION", input="Hello.", output="Good day."),
        [{"user": "Hello."}, {"agent": "Good day."}],
    ),
    "a trace's own texts where no observation tells": (
        {**TRACE, "input": "Hello.", "output": "Good day.", "observations": one("TOOL", input=LAMP, output="a lamp")},
        [{"user": "Hello."}, _CALL, _RESULT, {"agent": "Good day."}],
    ),
    "a wrapper, a definition and an event are no calls": (
        [
            observation("SPAN", "search", 1, input=LAMP, output="a lamp"),
            observation("EVENT", "search", 2, input=LAMP, endTime=None),
            observation("CHAIN", "tools", 3, input=LAMP),
            observation(
                "GENERATION",
                "chat",
                4,
                input={"messages": ASKED, "tools": [{"type": "function", "function": {"name": "search"}}]},
                output={"role": "assistant", "content": "No."},
                toolDefinitions={"search": "{}"},
            ),
        ],
        [{"user": "Find a lamp."}, {"agent": "No."}],
    ),
    "a generation in a generation that keeps its texts alone": (
        [
            observation("GENERATION", "invoke", 1, output=calling(("c1", "search", LAMP))),
            observation("GENERATION", "chat", 2, parentObservationId="o1", input="user: hi", output="None"),
        ],
        [{"call": "search", "args": LAMP, "id": "c1"}],
    ),
    "a state of LangGraph's": (
        one("CHAIN", output={"messages": [{"type": "ai", "content": "", "tool_calls": [{"id": "c1", "name": "a"}]}]}),
        [{"call": "a", "args": {}, "id": "c1"}],
    ),
}


@pytest.mark.parametrize("case", QUIRKS)
def test_quirks(case: str) -> None:
    """Of recordings that say all that can be asked of them."""
    document, events = QUIRKS[case]
    assert detected_names(document) == ["langfuse"]
    trace = read(document)
    assert told(trace) == events
    assert trace.problems == ()


DOUBTFUL: dict[str, tuple[Any, str]] = {
    "a trace whose observations are elsewhere": ({**TRACE, "observations": ["o1", "o2"]}, "not in the document"),
    "a line that is none": ([*STEPS, "{cut"], "an observation is a mapping"),
    "another row": ([*STEPS, {"id": "s1", "value": 0.5}], "neither an observation nor a trace"),
    "an observation without an id": ([*STEPS, {**TOOL, "id": None}], "without an id"),
    "a call that was counted and not recorded": (
        one("GENERATION", input=ASKED, output="…", toolCallNames=["search"]),
        "a call to 'search' was counted",
    ),
    "lines of a text": (one("GENERATION", input="system: x\nuser: hi\nassistant: None\ntool: 1", output="x"), "lines"),
    "a model without an answer": (one("GENERATION", input=ASKED), "what a model answered was not recorded"),
}


@pytest.mark.parametrize("case", DOUBTFUL)
def test_what_may_hide_a_call(case: str) -> None:
    """Is a problem, and nobody can rely on there being no call."""
    document, reason = DOUBTFUL[case]
    (trace,) = read_all(document)
    assert any(reason in problem.reason and problem.hides_call for problem in trace.problems), trace.problems


def test_a_trace_without_observations() -> None:
    """Is no evidence of anything."""
    assert read({**TRACE, "observations": []}).no_evidence is not None


@pytest.mark.parametrize("given", [{"args": ["lamp"], "kwargs": {}}, {"args": [1, 2], "kwargs": {"n": 3}}, None])
def test_arguments_that_have_no_names(given: Any) -> None:
    """They are not known, unless the model's answer has them."""
    tool = {**TOOL, "input": given}
    (call,) = read([tool]).calls
    assert isinstance(call.args, MalformedArguments)
    (call,) = read([MODEL, tool]).calls
    assert (call.args, call.result, call.id) == (LAMP, "a lamp", "c1")


def test_agents_are_named() -> None:
    """By what an agent's observation says, or by its name where no other instrumentation made that up."""
    agent = observation("AGENT", "shop", 0, metadata={"scope": {"name": "langfuse-sdk"}})
    made_up = observation("AGENT", "invoke_agent 1", 0, metadata={"scope": {"name": "agent_framework"}})
    told_so = observation(
        "AGENT", "run", 0, metadata={"attributes": {"gen_ai.agent.name": "sales"}, "scope": {"name": "x"}}
    )
    for outer, name in ((agent, "shop"), (made_up, ""), (told_so, "sales")):
        inside = [{**step, "parentObservationId": outer["id"]} for step in STEPS]
        assert {call.agent or "" for call in read([outer, *inside]).calls} == {name}


def test_runs_are_traces_and_sessions() -> None:
    """Each trace is a run, in the order in which they began; those of one session are one."""
    other = [{**step, "traceId": "t0", "startTime": "2026-01-01T00:00:00Z"} for step in (TOOL,)]
    assert [trace.name for trace in read_all([*STEPS, *other])] == ["t0", "t1"]
    in_session = [{**step, "sessionId": "s1"} for step in (*STEPS, *other)]
    (trace,) = read_all(in_session)
    assert [call.name for call in trace.calls] == ["search", "search"]
    with pytest.raises(ReadError, match="several runs"):
        read([*STEPS, *other])


def test_what_is_nothing_of_the_kind() -> None:
    """Is refused, also where the format is named."""
    for document in ({}, [], {"data": []}, {"trace": {"id": "t"}}, {"observations": 5}, "x"):
        with pytest.raises(ReadError):
            read(document, "langfuse")


@pytest.mark.parametrize("case", [*DOCUMENTS, *QUIRKS])
def test_mutants(case: str) -> None:
    """Raise nothing but a `ReadError`."""
    assert_mutants_are_read(DOCUMENTS.get(case) or QUIRKS[case][0], 40, ("langfuse",))


def test_what_is_nested_deeply() -> None:
    """Is a problem or refused."""
    deep: Any = []
    for _ in range(5000):
        deep = [deep]
    for document in ([{**MODEL, "output": deep}], [{**MODEL, "output": "[" * 5000 + "]" * 5000}], {"data": deep}):
        try:
            trace = read(document, "langfuse")
        except ReadError:
            continue
        assert len(trace.calls) <= 1


# --------------------------------------------------------------------------------------- messages of the platform's own


def side(*messages: Any) -> dict[str, Any]:
    return {"success": True, "data": list(messages)}


_FAILURE = {"success": False, "error": {"name": "ZodError", "message": "expected array"}}
_CALLING = {"role": "assistant", "tool_calls": [{"id": "c1", "name": "search", "arguments": '{"q": "lamp"}'}]}
_ANSWER = {"role": "tool", "tool_call_id": "c1", "content": "a lamp"}
MESSAGES: dict[str, Any] = {
    "the later observation first": {
        "o2": {"input": side(*ASKED, _CALLING, _ANSWER), "output": side({"role": "assistant", "content": "Here."})},
        "o1": {"input": side(*ASKED), "output": side(_CALLING)},
    },
    "the whole conversation again, and a result alone": {
        "o3": {"output": side(_ANSWER)},
        "o0": {
            "input": side(*ASKED),
            "output": side(*ASKED, _CALLING, _ANSWER, {"role": "assistant", "content": "Here."}),
        },
        "o1": {"input": side(*ASKED), "output": side(_CALLING)},
    },
    "parts that were put aside": {
        "o1": {"input": side(*ASKED), "output": side(_CALLING)},
        "o2": {
            "input": side(*ASKED, _CALLING, _ANSWER, {"tools": []}),
            "output": side({"json": {"index": 0, "message": {"role": "assistant", "content": "Here."}}}),
        },
        "o3": {
            "input": side(*ASKED, _CALLING, _ANSWER, {"role": "assistant", "json": {"text": "Here."}}),
            "output": side({"role": "assistant", "content": [{"type": "text", "text": "Here."}]}),
        },
    },
}


@pytest.mark.parametrize("case", MESSAGES)
def test_messages_of_observations(case: str) -> None:
    """Each event is told once, in the order that the histories show."""
    assert detected_names(MESSAGES[case]) == ["langfuse-chatml"]
    trace = read(MESSAGES[case])
    assert told(trace) == [
        {"user": "Find a lamp."},
        {"call": "search", "args": LAMP, "id": "c1"},
        {"result": "a lamp", "id": "c1"},
        {"agent": "Here."},
    ]
    assert [problem for problem in trace.problems if problem.hides_call] == []


@pytest.mark.parametrize(
    ("observation", "hides"),
    [
        ({"input": _FAILURE, "output": side(_CALLING)}, False),
        ({"input": side(*ASKED), "output": _FAILURE}, True),
        ({"output": side({"json": {"temperature": 5}})}, True),
        ({"output": {"success": True, "data": {"role": "assistant"}}}, True),
        ({"output": {"success": True, "error": None}}, True),
    ],
)
def test_sides_that_are_no_messages(observation: Any, hides: bool) -> None:
    """What came out may be what a model called; what went in is told elsewhere."""
    problems = read({"o1": observation}).problems
    assert [problem.hides_call for problem in problems] == [hides]


def test_conversations_without_an_order() -> None:
    """There are no times: that is said where no history shows what came first."""
    trace = read({"a": {"output": side(_CALLING)}, "b": {"output": side({"role": "assistant", "content": "x"})}})
    assert [problem.reason.partition(":")[0] for problem in trace.problems] == ["observations have no times"]


@pytest.mark.parametrize("case", MESSAGES)
def test_mutants_of_messages(case: str) -> None:
    """Raise nothing but a `ReadError`."""
    assert_mutants_are_read(MESSAGES[case], 100, ("langfuse-chatml",))


# ------------------------------------------------------------------------------------------------------ real recordings

_FOLDER = corpora() / "langfuse"
# Recordings in which no model calls a tool, or none that is recorded, and why.
_WITHOUT_CALLS = {
    "autogen-2025-06-06.chatml.json": "neither what the model was given nor its answer was a list of messages",
    "autogen-2025-06-06.trace.json": "the model only says hello",
    "beeai-2025-08-01.chatml.json": "tools are called by texts in a notation of the framework's",
    "crewai-2025-07-11.chatml.json": "the model only writes a page",
    "crewai-2025-07-11.trace.json": "the model only writes a page",
    "llamaindex-2025-06-05.chatml.json": "neither what the model was given nor its answer was a list of messages",
    "pydantic-ai-2025-06-06.chatml.json": "the model only explains",
    "pydantic-ai-tools-2025-06-06.chatml.json": "the model only explains",
    "pydantic-ai-with-gemini-2025-12-24.trace.json": "the model only answers",
}


def _files() -> list[Path]:
    return sorted(_FOLDER.rglob("*.json"))


@pytest.mark.skipif(not _FOLDER.is_dir(), reason="the recordings of langfuse are missing")
def test_real_recordings_are_read_by_detection_alone() -> None:
    """Each with as many calls as there are ids of calls in it, however often each is told."""
    without = []
    for file in _files():
        (trace,) = read_all(file)
        ids = _ids_of_calls(json.loads(file.read_text()))
        assert sorted(str(call.id) for call in trace.calls) == sorted(ids), file.name
        assert all(not isinstance(call.args, MalformedArguments) for call in trace.calls)
        if not ids:
            without.append(file.name)
    assert without == sorted(_WITHOUT_CALLS)
    assert len(_files()) == 20


@pytest.mark.skipif(not _FOLDER.is_dir(), reason="the recordings of langfuse are missing")
def test_real_traces_have_no_problems() -> None:
    """But for one, in which messages are lines of one text. Every call is answered."""
    for file in _files():
        if file.name.endswith(".trace.json"):
            (trace,) = read_all(file)
            assert bool(trace.problems) is file.name.startswith("autogen"), file.name
            assert all(call.result is not UNANSWERED for call in trace.calls)
            assert all("at" in event for event in trace.to_events() if "call" in event)
            assert sum("user" in event for event in trace.to_events()) == 1, file.name


def _ids_of_calls(value: Any) -> set[str]:
    """Return the ids of what is written as calls anywhere in a document, in texts of JSON too."""
    if isinstance(value, str):
        try:
            inside = json.loads(value)
        except ValueError:
            return set()
        return set() if isinstance(inside, (int, float)) else _ids_of_calls(inside)
    if isinstance(value, list):
        return set().union(*map(_ids_of_calls, value))
    if not isinstance(value, dict):
        return set()
    found = set().union(*map(_ids_of_calls, value.values()))
    is_call = value.get("type") in ("function", "tool_call", "tool_use", "function_call") and (
        "arguments" in value or "input" in value or "args" in value or "arguments" in (value.get("function") or {})
    )
    return found | {value.get("call_id") or value["id"]} if is_call else found


# -------------------------------------------------------------------------------------------------------- the real SDK


@pytest.fixture(scope="module")
def only_exporter() -> Any:
    """Where the SDK exports to, which has one client for a key."""
    langfuse = pytest.importorskip("langfuse", reason="langfuse is not installed")
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    exporter = InMemorySpanExporter()
    langfuse.Langfuse(
        public_key="pk-lf-test",
        secret_key="none",  # noqa: S106 - nothing is sent
        base_url="http://localhost:9",
        span_exporter=exporter,
    )
    return exporter


@pytest.fixture
def exporter(only_exporter: Any) -> Any:
    """What the SDK exports in a test."""
    only_exporter.clear()
    return only_exporter


def _flushed(exporter: Any) -> list[Any]:
    import langfuse

    langfuse.get_client(public_key="pk-lf-test").flush()
    return list(exporter.get_finished_spans())


def _of_the_api(spans: list[Any]) -> list[Any]:
    """Return the objects of the API that the platform makes of spans."""
    from langfuse.api.commons.types.observation_v2 import ObservationV2

    prefix = "langfuse.observation."
    return [
        ObservationV2(
            id=format(span.context.span_id, "016x"),
            trace_id=format(span.context.trace_id, "032x"),
            parent_observation_id=format(span.parent.span_id, "016x") if span.parent else None,
            start_time=datetime.fromtimestamp(span.start_time / 1e9, UTC),
            end_time=datetime.fromtimestamp(span.end_time / 1e9, UTC),
            project_id="p",
            type=span.attributes[prefix + "type"].upper(),
            name=span.name,
            level=span.attributes.get(prefix + "level", "DEFAULT"),
            status_message=span.attributes.get(prefix + "status_message"),
            input=span.attributes.get(prefix + "input"),
            output=span.attributes.get(prefix + "output"),
            metadata={
                "scope": {"name": span.instrumentation_scope.name},
                **{
                    key.removeprefix(prefix + "metadata."): value
                    for key, value in span.attributes.items()
                    if key.startswith(prefix + "metadata.")
                },
            },
        )
        for span in spans
    ]


def _forms(spans: list[Any]) -> dict[str, Any]:
    """Return what the SDK exported in the forms in which people have it."""
    objects = _of_the_api(spans)
    rows = [item.model_dump(mode="json", by_alias=True) for item in objects]
    return {
        "spans": spans,
        "objects": objects,
        "rows": rows,
        "a page": {"data": rows, "meta": {}},
        "lines": "\n".join(map(json.dumps, rows)),
    }


def test_decorated_functions(exporter: Any) -> None:
    """An agent, its model and its tools, by the SDK's decorator."""
    from langfuse import observe

    tools = Tools()
    named = {name: observe(as_type="tool", name=name)(getattr(tools, name)) for name in ("search", "steer", "weather")}
    plan = [FIRST_TURN, SECOND_TURN]

    @observe(as_type="generation")
    def model(messages: list[Any]) -> Any:
        if not plan or messages[-1]["role"] == "tool":
            return {"role": "assistant", "content": "Done."}
        return calling(*((f"c{name}{args}", name, args) for name, args in plan.pop(0)))

    @observe(as_type="agent")
    def shop(messages: list[Any]) -> list[Any]:
        answer = model(messages)
        results = []
        for call in answer["tool_calls"]:
            function = call["function"]
            try:
                payload = json.dumps(named[function["name"]](**json.loads(function["arguments"])))
            except RuntimeError as error:
                payload = str(error)
            results.append({"role": "tool", "tool_call_id": call["id"], "content": payload})
        return [*messages, answer, *results, model([*messages, answer, *results])]

    @observe()
    def conversation() -> None:
        history = shop([{"role": "user", "content": "Find a lamp and a desk."}])
        shop([*history, {"role": "user", "content": "Steer, then the weather."}])

    conversation()
    for form, document in _forms(_flushed(exporter)).items():
        (trace,) = read_all(document)
        assert_witnessed(trace, tools, errors_told=True)
        assert [call.name for call in trace.calls] == [note.name for note in tools.made], form
        assert {call.agent for call in trace.calls} == {"shop"}, form
        assert [call.turn for call in trace.calls] == [1, 1, 2, 2], form
        assert sum("user" in event for event in trace.to_events()) == 2, form


def test_langchain(exporter: Any) -> None:
    """An agent of LangChain's, by the SDK's callback handler, with a tool that fails."""
    agents = pytest.importorskip("langchain.agents", reason="langchain is not installed")
    from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
    from langchain_core.messages import AIMessage
    from langchain_core.tools import StructuredTool
    from langfuse.langchain import CallbackHandler

    class Scripted(GenericFakeChatModel):
        def bind_tools(self, *_: Any, **__: Any) -> Any:
            return self

    def answer(turn: Any) -> Any:
        calls = [{"id": f"c{name}{args}", "name": name, "args": args, "type": "tool_call"} for name, args in turn]
        return AIMessage("", tool_calls=calls)

    tools = Tools()
    made = [StructuredTool.from_function(getattr(tools, name)) for name in ("search", "steer", "weather")]

    def answers() -> Iterator[Any]:
        yield answer(FIRST_TURN)
        yield AIMessage("Found.")
        yield answer(SECOND_TURN[1:])
        yield answer(SECOND_TURN[:1])

    agent = agents.create_agent(Scripted(messages=answers()), made, name="shop")
    messages = agent.invoke({"messages": [("user", "Find.")]}, config={"callbacks": [CallbackHandler()]})["messages"]
    with pytest.raises(RuntimeError):
        agent.invoke({"messages": [*messages, ("user", "Steer.")]}, config={"callbacks": [CallbackHandler()]})
    for document in _forms(_flushed(exporter)).values():
        traces = list(read_all(document))
        assert len(traces) == 2
        assert [(call.name, call.args) for call in traces[0].calls] == list(FIRST_TURN)
        # Calls that run at once are noted in any order.
        noted = [next(note.result for note in tools.made if note.args == call.args) for call in traces[0].calls]
        assert [json.loads(call.result) for call in traces[0].calls] == noted
        assert [call.is_error for call in traces[0].calls] == [False, False]
        assert [call.name for call in traces[1].calls] == ["search", "search", "weather", "steer"]
        assert (traces[1].calls[-1].is_error, traces[1].calls[-1].result) == (True, "the wheel is stuck")
        assert [trace.problems for trace in traces] == [(), ()]
