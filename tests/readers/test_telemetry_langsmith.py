"""LangSmith: runs in every document that has them, and its SDK and LangChain's tracer with a script."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest
from framework_support import (
    FIRST_TURN,
    SECOND_TURN,
    Tools,
    assert_mutants_are_read,
    assert_witnessed,
    detected_names,
)

from tracewitness.errors import ReadError
from tracewitness.readers import read, read_all
from tracewitness.readers.telemetry import langsmith
from tracewitness.trace import MalformedArguments, Trace

LAMP = {"q": "lamp"}
ASKED = [{"role": "user", "content": "Find a lamp."}]


def order(*seconds: int) -> str:
    """Return the dotted order of a run, by when it and those that it is in began."""
    return ".".join(f"20260102T0000{second:02}000000Zr{second}" for second in seconds)


def run(kind: str, name: str, second: int, **fields: Any) -> dict[str, Any]:
    """Return a run in run r0 that began in a second of the day and took one."""
    return {
        "id": f"r{second}",
        "trace_id": "r0",
        "parent_run_id": "r0",
        "dotted_order": order(0, second),
        "run_type": kind,
        "name": name,
        "start_time": f"2026-01-02T00:00:{second:02}",
        "end_time": f"2026-01-02T00:00:{second + 1:02}",
        "error": None,
        **fields,
    }


CALLING = {
    "role": "assistant",
    "content": None,
    "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "search", "arguments": json.dumps(LAMP)}}],
}
ROOT = run("chain", "agent", 0, inputs={"question": "Find a lamp."}, parent_run_id=None, dotted_order=order(0))
MODEL = run("llm", "chat", 1, inputs={"messages": ASKED, "model": "x"}, outputs=CALLING)
TOOL = run("tool", "search", 3, inputs=LAMP, outputs={"output": "a lamp"})
RESULT = {"role": "tool", "tool_call_id": "c1", "content": "a lamp"}
DONE = run(
    "llm",
    "chat",
    5,
    inputs={"messages": [*ASKED, CALLING, RESULT]},
    outputs={"choices": [{"message": {"role": "assistant", "content": "Here is a lamp."}}]},
)
RUNS = [ROOT, MODEL, TOOL, DONE]


def told(trace: Trace) -> list[dict[str, Any]]:
    """Return the events without their times."""
    return [{key: value for key, value in event.items() if key not in ("at", "until")} for event in trace.to_events()]


def without(item: dict[str, Any], *keys: str) -> dict[str, Any]:
    return {key: value for key, value in item.items() if key not in keys}


def begun(item: dict[str, Any]) -> dict[str, Any]:
    """Return what is sent when a run begins."""
    return {**without(item, "end_time", "error"), "outputs": {}}


def ended(item: dict[str, Any], *keys: str) -> dict[str, Any]:
    """Return what is sent when a run has ended."""
    return without(item, "inputs", "start_time", *keys)


DOCUMENTS: dict[str, Any] = {
    "a list": RUNS,
    "in any order": RUNS[::-1],
    "an answer of the API": {"runs": RUNS, "cursors": {"next": None}},
    "what is sent in a batch": {"post": [begun(item) for item in RUNS], "patch": [ended(item) for item in RUNS]},
    "what is sent one by one": [row for item in RUNS for row in (begun(item), ended(item))],
    "what older SDKs send": [row for item in RUNS for row in (begun(item), ended(item, "run_type", "name"))],
    "a tree": {
        **without(ROOT, "dotted_order"),
        "child_runs": [without(item, "trace_id", "parent_run_id", "dotted_order") for item in RUNS[1:]],
    },
    "by their dotted orders alone": [without(item, "trace_id", "parent_run_id", "start_time") for item in RUNS],
    "times of JavaScript": [
        {**item, "start_time": 1767312000000 + 1000 * second, "end_time": 1767312000500 + 1000 * second}
        for item, second in zip(RUNS, (0, 1, 3, 5), strict=True)
    ],
}


@pytest.mark.parametrize("case", DOCUMENTS)
def test_documents_of_one_run(case: str) -> None:
    """Each in data, as JSON and as lines."""
    document = DOCUMENTS[case]
    assert detected_names(document) == ["langsmith"]
    sources = [document, json.dumps(document)]
    if isinstance(document, list):
        sources.append("\n".join(map(json.dumps, document)))
    for source in sources:
        (trace,) = read_all(source)
        assert told(trace) == [
            {"user": "Find a lamp."},
            {"call": "search", "args": LAMP, "id": "c1"},
            {"result": "a lamp", "of": "search", "id": "c1", "is_error": False},
            {"agent": "Here is a lamp."},
        ]
        assert trace.problems == ()


def test_times_are_in_utc() -> None:
    """They have no offset: the machine's own is not theirs."""
    expected = datetime(2026, 1, 2, 0, 0, 3, tzinfo=UTC).timestamp()
    for tool in (TOOL, without(TOOL, "start_time")):
        assert read([tool]).to_events()[0]["at"] == expected


# -------------------------------------------------------------------------------------------------------------- quirks


def tool(**fields: Any) -> list[dict[str, Any]]:
    return [run("tool", "search", 1, **{"inputs": LAMP, **fields})]


def answer_of_langchain(*calls: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """Return what LangChain's tracer records of a model's answer."""
    message = {
        "lc": 1,
        "type": "constructor",
        "id": ["langchain", "schema", "messages", "AIMessage"],
        "kwargs": {"content": "", "type": "ai", "tool_calls": list(calls), "invalid_tool_calls": [], **fields},
    }
    return {"generations": [[{"text": "", "type": "ChatGeneration", "message": message}]], "llm_output": None}


_CALL = {"call": "search", "args": LAMP, "id": "r1"}
_INVALID = {"type": "invalid_tool_call", "id": "c2", "name": "b", "args": '{"n": ', "error": "cut"}
_MESSAGE = {"type": "tool", "tool_call_id": "c9", "name": "search", "content": "no", "status": "error"}
QUIRKS: dict[str, tuple[Any, list[dict[str, Any]]]] = {
    "a tool that failed": (
        tool(error="no lamps", outputs=None),
        [_CALL, {"result": "no lamps", "of": "search", "id": "r1", "is_error": True}],
    ),
    "a tool that has not ended": (tool(end_time=None, outputs={}), [_CALL]),
    "a tool of no arguments that returned nothing": (
        tool(inputs={}, outputs={}),
        [
            {"call": "search", "args": {}, "id": "r1"},
            {"result": {}, "of": "search", "id": "r1", "is_error": False},
        ],
    ),
    "arguments as Python shows them": (
        tool(inputs={"input": "{'q': 'lamp'}"}, end_time=None),
        [_CALL],
    ),
    "an argument called input": (
        tool(inputs={"input": "lamp"}, end_time=None),
        [{"call": "search", "args": {"input": "lamp"}, "id": "r1"}],
    ),
    "arguments with what has no notation": (
        tool(inputs={"input": "{'day': datetime.date(2026, 1, 2)}"}, end_time=None),
        [{"call": "search", "raw_args": "{'day': datetime.date(2026, 1, 2)}", "id": "r1"}],
    ),
    "a message of LangChain's as a result": (
        tool(outputs={"output": {"lc": 1, "type": "constructor", "id": ["ToolMessage"], "kwargs": _MESSAGE}}),
        [{**_CALL, "id": "c9"}, {"result": "no", "of": "search", "id": "c9", "is_error": True}],
    ),
    "an answer of LangChain's": (
        [
            run(
                "llm",
                "chat",
                1,
                inputs={"messages": [[{"type": "human", "content": "Find a lamp."}], [{"type": "human"}]]},
                outputs=answer_of_langchain(
                    {"type": "tool_call", "id": "c1", "name": "a", "args": {}}, invalid_tool_calls=[_INVALID]
                ),
            )
        ],
        [
            {"user": "Find a lamp."},
            {"call": "a", "args": {}, "id": "c1"},
            {"call": "b", "raw_args": '{"n": ', "id": "c2", "metadata": {"error": "cut"}},
        ],
    ),
    "of Anthropic": (
        [
            run(
                "llm",
                "chat",
                1,
                inputs={"messages": ASKED, "system": "Help."},
                outputs={"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "a", "input": {}}]},
            )
        ],
        [{"system": "Help."}, {"user": "Find a lamp."}, {"call": "a", "args": {}, "id": "c1"}],
    ),
    "a prompt and a text": (
        [run("llm", "x", 1, inputs={"prompts": ["Hello."]}, outputs={"output": "Good day."})],
        [{"user": "Hello."}, {"agent": "Good day."}],
    ),
    "a state of LangGraph's where no model's run is": (
        [
            run(
                "chain",
                "x",
                1,
                outputs={"messages": [{"type": "ai", "content": "", "tool_calls": [{"id": "c1", "name": "a"}]}]},
            )
        ],
        [{"call": "a", "args": {}, "id": "c1"}],
    ),
    "chains, retrievers and definitions are no calls": (
        [
            run("chain", "tools", 1, inputs={"name": "search", "args": LAMP}, outputs={"output": "x"}),
            run("retriever", "search", 2, inputs={"query": "lamp"}, outputs={"documents": []}),
            run(
                "llm",
                "chat",
                3,
                inputs={"messages": ASKED, "tools": [{"type": "function", "function": {"name": "search"}}]},
                outputs={"role": "assistant", "content": "No."},
                extra={"invocation_params": {"tools": [{"name": "search"}]}},
            ),
        ],
        [{"user": "Find a lamp."}, {"agent": "No."}],
    ),
    "the agent that metadata names": (
        tool(end_time=None, extra={"metadata": {"lc_agent_name": "shop"}, "tool_call_id": "c7"}),
        [{**_CALL, "id": "c7", "by": "shop"}],
    ),
}


@pytest.mark.parametrize("case", QUIRKS)
def test_quirks(case: str) -> None:
    """Of runs, each told as far as it was recorded."""
    document, events = QUIRKS[case]
    assert detected_names(document) == ["langsmith"]
    trace = read(document)
    assert told(trace) == events
    malformed = sum(isinstance(call.args, MalformedArguments) for call in trace.calls)
    assert len(trace.problems) == malformed


DOUBTFUL: dict[str, tuple[Any, str]] = {
    "a line that is none": ([*RUNS, "{cut"], "a run has an id"),
    "another row": ([*RUNS, {"id": "x", "score": 1}], "a run has an id"),
    "an end without a beginning": ([ended(TOOL, "run_type", "name"), MODEL], "whose beginning is not in the document"),
    "a model without an answer": ([run("llm", "x", 1, inputs={"messages": ASKED})], "was not recorded"),
    "arguments that were not recorded": ([without(TOOL, "inputs")], "not recorded"),
}


@pytest.mark.parametrize("case", DOUBTFUL)
def test_what_is_missing(case: str) -> None:
    """Is a problem."""
    document, reason = DOUBTFUL[case]
    (trace,) = read_all(document)
    assert any(reason in problem.reason for problem in trace.problems), trace.problems


def test_runs_are_traces_and_threads() -> None:
    """Each trace is a run, in the order in which they began; those of one thread are one."""
    earlier = run("tool", "search", 0, id="s0", trace_id="s0", parent_run_id=None, dotted_order=None, inputs={})
    earlier["start_time"] = "2026-01-01T00:00:00"
    assert [trace.name for trace in read_all([*RUNS, earlier])] == ["s0", "r0"]
    thread = {"extra": {"metadata": {"thread_id": UUID(int=7)}}}
    (trace,) = read_all([{**item, **thread} for item in (*RUNS, earlier)])
    assert [(call.name, call.args) for call in trace.calls] == [("search", {}), ("search", LAMP)]
    with pytest.raises(ReadError, match="several runs"):
        read([*RUNS, earlier])


def test_a_run_in_itself() -> None:
    """Live runs can be: each is read once."""
    root = dict(ROOT)
    root["child_runs"] = [root, {**TOOL, "child_runs": [root, root]}, root]
    assert [call.args for call in langsmith.read(root).calls] == [LAMP]


def test_runs_that_are_nested_too_deeply() -> None:
    """Are a problem."""
    tree = dict(TOOL)
    for number in range(10, 150):
        tree = {**run("chain", "x", 0), "id": f"n{number}", "child_runs": [tree]}
    assert "nested too deeply" in str(read(tree).problems[0])


def test_what_is_nothing_of_the_kind() -> None:
    """Is refused, also where the format is named."""
    for document in ({}, [], {"runs": []}, {"id": "x", "run_type": "job", "start_time": 1}, {"post": 5}, "x"):
        with pytest.raises(ReadError):
            read(document, "langsmith")


@pytest.mark.parametrize("case", [*DOCUMENTS, *QUIRKS])
def test_mutants(case: str) -> None:
    """Raise nothing but a `ReadError`."""
    assert_mutants_are_read(DOCUMENTS.get(case) or QUIRKS[case][0], 60, ("langsmith",))


# -------------------------------------------------------------------------------------------------------- the real SDK


class _Session:
    """Takes what the SDK sends over HTTP, and keeps it."""

    def __init__(self) -> None:
        self.rows: list[Any] = []
        self.headers: dict[str, str] = {}

    def mount(self, *_: Any) -> None:
        """Take an adapter for a kind of address: nothing is sent."""

    def close(self) -> None:
        """Close what was never opened."""

    def request(self, method: str, url: str, **fields: Any) -> Any:
        del method, url
        if fields.get("data"):
            self.rows.append(json.loads(fields["data"]))
        return _Response()


class _Response:
    status_code = 200
    text = "{}"
    content = b"{}"
    headers: dict[str, str] = {}

    def raise_for_status(self) -> None:
        """Raise nothing."""

    def json(self) -> Any:
        return {}


@pytest.fixture
def session() -> _Session:
    return _Session()


@pytest.fixture
def client(session: _Session, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    sdk = pytest.importorskip("langsmith", reason="langsmith is not installed")
    monkeypatch.setenv("LANGSMITH_TRACING", "true")
    sdk.utils.get_env_var.cache_clear()
    yield sdk.Client(api_url="http://localhost:9", api_key="none", session=session, info={}, auto_batch_tracing=False)
    sdk.utils.get_env_var.cache_clear()


def _forms(rows: list[Any]) -> list[Any]:
    """Return what was sent in the forms in which people have it."""
    batch = {
        "post": [row for row in rows if "end_time" not in row],
        "patch": [row for row in rows if "end_time" in row],
    }
    return [rows, batch, "\n".join(map(json.dumps, rows))]


def test_decorated_functions(client: Any, session: _Session) -> None:
    """A conversation, its model and its tools, by the SDK's decorator."""
    from langsmith import traceable

    tools = Tools()
    named = {
        name: traceable(run_type="tool", name=name, client=client)(getattr(tools, name))
        for name in ("search", "steer", "weather")
    }
    plan = [FIRST_TURN, SECOND_TURN]

    @traceable(run_type="llm", client=client)
    def model(messages: list[Any]) -> Any:
        if messages[-1]["role"] == "tool":
            return {"role": "assistant", "content": "Done."}
        calls = [
            {"id": f"c{name}{args}", "type": "function", "function": {"name": name, "arguments": json.dumps(args)}}
            for name, args in plan.pop(0)
        ]
        return {"role": "assistant", "content": None, "tool_calls": calls}

    def turn(messages: list[Any]) -> list[Any]:
        answer = model(messages=messages)
        messages = [*messages, answer]
        for call in answer["tool_calls"]:
            function = call["function"]
            try:
                payload = json.dumps(named[function["name"]](**json.loads(function["arguments"])))
            except RuntimeError as error:
                payload = str(error)
            messages = [*messages, {"role": "tool", "tool_call_id": call["id"], "content": payload}]
        return [*messages, model(messages=messages)]

    @traceable(run_type="chain", client=client)
    def conversation() -> None:
        history = turn([{"role": "user", "content": "Find a lamp and a desk."}])
        turn([*history, {"role": "user", "content": "Steer, then the weather."}])

    conversation()
    for document in _forms(session.rows):
        (trace,) = read_all(document)
        assert_witnessed(trace, tools)
        assert [call.name for call in trace.calls] == [note.name for note in tools.made]
        assert [call.turn for call in trace.calls] == [1, 1, 2, 2]
        assert sum("user" in event for event in trace.to_events()) == 2


def test_live_trees(client: Any) -> None:
    """A tree of runs is read as it is, and so are the API's objects of runs."""
    from langsmith.run_trees import RunTree
    from langsmith.schemas import Run

    tree = RunTree(name="agent", run_type="chain", inputs={"q": "hi"}, client=client)
    for name, arguments, outcome in (
        ("search", LAMP, {"outputs": {"output": "a lamp"}}),
        ("steer", {"input": "{'angle': 12.5}"}, {"error": "stuck"}),
    ):
        child = tree.create_child(name, run_type="tool", inputs=arguments)
        child.end(**outcome)
    tree.end(outputs={"output": "Done."})
    runs = [Run(**{**item, "id": UUID(int=index), "trace_id": UUID(int=9)}) for index, item in enumerate(API_ROWS)]
    for source in (tree, [tree], runs):
        trace = read(source)
        assert [(call.name, call.args, call.is_error) for call in trace.calls] == [
            ("search", LAMP, False),
            ("steer", {"angle": 12.5}, True),
        ]
        assert [call.result for call in trace.calls] == ["a lamp", "stuck"]
        assert trace.problems == ()


API_ROWS = [
    {
        **without(run(kind, name, 1 + index, inputs=inputs, **outcome), "id", "trace_id", "parent_run_id"),
        "dotted_order": "",
        "session_id": UUID(int=8),
        "status": "error" if "error" in outcome else "success",
    }
    for index, (kind, name, inputs, outcome) in enumerate(
        (
            ("tool", "search", LAMP, {"outputs": {"output": "a lamp"}}),
            ("tool", "steer", {"input": "{'angle': 12.5}"}, {"error": "stuck"}),
        )
    )
]


def test_langchain(client: Any, session: _Session) -> None:
    """An agent of LangChain's, by its own tracer, with a tool that fails."""
    agents = pytest.importorskip("langchain.agents", reason="langchain is not installed")
    from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
    from langchain_core.messages import AIMessage
    from langchain_core.tools import StructuredTool
    from langchain_core.tracers.langchain import LangChainTracer

    class Scripted(GenericFakeChatModel):
        def bind_tools(self, *_: Any, **__: Any) -> Any:
            return self

    def answer(turn: Any) -> Any:
        calls = [{"id": f"c{name}{args}", "name": name, "args": args, "type": "tool_call"} for name, args in turn]
        return AIMessage("", tool_calls=calls)

    tools = Tools()
    made = [StructuredTool.from_function(getattr(tools, name)) for name in ("search", "steer", "weather")]
    script = iter([answer(FIRST_TURN), answer(SECOND_TURN[1:]), answer(SECOND_TURN[:1])])
    agent = agents.create_agent(Scripted(messages=script), made, name="shop")
    tracer = LangChainTracer(client=client)
    with pytest.raises(RuntimeError):
        agent.invoke({"messages": [("user", "Find, then steer.")]}, config={"callbacks": [tracer]})
    tracer.wait_for_futures()
    for document in _forms(session.rows):
        (trace,) = read_all(document)
        assert_witnessed(trace, tools)
        assert {call.agent for call in trace.calls} == {"shop"}
        assert [call.name for call in trace.calls] == ["search", "search", "weather", "steer"]
        assert sum("user" in event for event in trace.to_events()) == 1
