"""Pydantic AI: messages as several releases write them, results of runs, and the real framework with a script."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from framework_support import (
    FIRST_TURN,
    SECOND_TURN,
    WHEEL,
    Tools,
    assert_mutants_are_read,
    assert_witnessed,
    detected_names,
)

from tracewitness import ReadError
from tracewitness.readers import read
from tracewitness.trace import MalformedArguments, Trace


def request(*parts: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"kind": "request", "parts": list(parts), **fields}


def response(*parts: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"kind": "response", "parts": list(parts), **fields}


def call(name: str = "search", call_id: Any = "c1", args: Any = None, kind: str = "tool-call") -> dict[str, Any]:
    return {"part_kind": kind, "tool_name": name, "args": args, "tool_call_id": call_id}


def result(content: Any, call_id: Any = "c1", name: str = "search", **fields: Any) -> dict[str, Any]:
    return {"part_kind": "tool-return", "tool_name": name, "content": content, "tool_call_id": call_id, **fields}


def text(kind: str, content: Any) -> dict[str, Any]:
    return {"part_kind": kind, "content": content}


def called(trace: Trace) -> list[tuple[str, Any]]:
    return [(call.name, call.args) for call in trace.calls]


# ------------------------------------------------------------------------------------------------------------- messages

MADE = {"call": "search", "args": {}, "id": "c1"}
CASES: dict[str, tuple[Any, list[dict[str, Any]]]] = {
    "as the first releases wrote it": (
        [
            request(text("system-prompt", "Help."), text("user-prompt", "Find.")),
            response(call(args={"args_json": '{"q": 1}'}), call(call_id="c2", args={"args_dict": {"q": 2}})),
            request(result({"n": 1}), {**text("retry-prompt", "stuck"), "tool_name": "search", "tool_call_id": "c2"}),
            response(text("text", "Done.")),
        ],
        [
            {"system": "Help."},
            {"user": "Find."},
            {"call": "search", "args": {"q": 1}, "id": "c1"},
            {"call": "search", "args": {"q": 2}, "id": "c2"},
            {"result": {"n": 1}, "of": "search", "id": "c1"},
            {"result": "stuck", "of": "search", "id": "c2", "is_error": True},
            {"agent": "Done."},
        ],
    ),
    "instructions are told where they are new": (
        [
            request(instructions="A"),
            response(call()),
            request(result("1"), instructions="A"),
            request(instructions="B"),
        ],
        [{"system": "A"}, MADE, {"result": "1", "of": "search", "id": "c1"}, {"system": "B"}],
    ),
    "times": (
        [response(call(), timestamp="2026-01-01T00:00:00Z"), request(result("1", timestamp="2026-01-01T00:00:01Z"))],
        [
            {**MADE, "at": "2026-01-01T00:00:00Z"},
            {"result": "1", "of": "search", "id": "c1", "at": "2026-01-01T00:00:01Z"},
        ],
    ),
    "an answer that called nothing is to be given again": (
        [
            request(text("user-prompt", "Find.")),
            response(text("text", "Hm.")),
            request({**text("retry-prompt", [{"type": "missing"}]), "tool_name": None, "tool_call_id": "x"}),
            response(),
            request({**text("retry-feedback", "Say something."), "retry": {"cause": "no_output"}}),
        ],
        [
            {"user": "Find."},
            {"agent": "Hm."},
            {"system": '[{"type": "missing"}]'},
            {"agent": ""},
            {"system": "Say something."},
        ],
    ),
    "tools of the provider": (
        [
            response(
                text("thinking", "hm"),
                call("web_search", "s1", {"q": 1}, "builtin-tool-call"),
                {**result([1], "s1", "web_search"), "part_kind": "builtin-tool-return", "outcome": "success"},
                text("text", "Done."),
            )
        ],
        [
            {"call": "web_search", "args": {"q": 1}, "id": "s1"},
            {"result": [1], "of": "web_search", "id": "s1", "is_error": False},
            {"agent": "Done."},
        ],
    ),
    "texts and pictures": (
        [
            request(
                text(
                    "user-prompt",
                    [
                        "What",
                        {"kind": "image-url", "url": "x"},
                        {"kind": "text-content", "content": "is it?"},
                        {"kind": "binary", "data": "eA==", "media_type": "image/png"},
                    ],
                )
            ),
            response(text("text", "A lamp."), {"part_kind": "file", "content": {"kind": "binary", "data": ""}}),
        ],
        [{"user": "What\nis it?"}, {"agent": "A lamp."}],
    ),
    "speech": (
        [
            request({"part_kind": "speech", "speaker": "user", "transcript": "Hi."}),
            response({"part_kind": "speech", "speaker": "assistant", "transcript": "Ho."}),
        ],
        [{"user": "Hi."}, {"agent": "Ho."}],
    ),
    "what else the model is told": (
        [request({"part_kind": "tool-availability-delta"}, {"part_kind": "instruction-baseline"}), response(call())],
        [MADE],
    ),
    "no ids": (
        [response(call(call_id=""), call("steer", None)), request(result("1", None), result("2", "", "steer"))],
        [
            {"call": "search", "args": {}},
            {"call": "steer", "args": {}},
            {"result": "1", "of": "search"},
            {"result": "2", "of": "steer"},
        ],
    ),
    "a list of one text is a list": (
        [response(call()), request(result(["1"]))],
        [MADE, {"result": ["1"], "of": "search", "id": "c1"}],
    ),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize(
    "wrap", [list, lambda m: {"messages": m, "output": 1}, lambda m: {"_state": {"message_history": m}}]
)
def test_messages(name: str, wrap: Any) -> None:
    messages, events = CASES[name]
    document = wrap(messages)
    assert detected_names(document) == ["pydantic-ai"]
    trace = read(document)
    assert trace.to_events() == events
    assert trace.problems == ()


@pytest.mark.parametrize(
    ("outcome", "is_error"),
    [("success", False), ("failed", True), ("retried", True), ("denied", True), ("interrupted", True), (None, None)],
)
def test_outcomes(outcome: str | None, is_error: bool | None) -> None:
    """What was denied or interrupted was not what the tool returned."""
    (found,) = read([response(call()), request(result("x", outcome=outcome))]).calls
    assert found.is_error is is_error
    assert found.result == "x"


@pytest.mark.parametrize("args", [None, "", "{}", {}, "null", [], '{}""'])
def test_no_arguments(args: Any) -> None:
    trace = read(response(call(args=args)))
    assert called(trace) == [("search", {})]
    assert trace.problems == ()


@pytest.mark.parametrize("args", ['{"q', "[1]", 3, '{"a": 1}{"a": 2}'])
def test_arguments_that_are_none(args: Any) -> None:
    (found,) = read(response(call(args=args))).calls
    assert isinstance(found.args, MalformedArguments)


ASKED = request({"part_kind": "user-prompt", "content": "hi"})
NEW = {
    "after the history": {"message_history": [ASKED], "new_messages": [response(call()), request(result("x"))]},
    "before the history, in the file": {"new_messages": [response(call()), request(result("x"))], "messages": [ASKED]},
    "the last of the history": {
        "message_history": [ASKED, response(call()), request(result("x"))],
        "new_messages": [response(call()), request(result("x"))],
    },
    "all there is": {"new_messages": [ASKED, response(call()), request(result("x"))], "message_history": None},
    "none": {"message_history": [ASKED, response(call()), request(result("x"))], "new_messages": []},
    "of a state": {
        "_state": {"message_history": [ASKED]},
        "new_messages": [response(call()), request(result("x"))],
    },
}


@pytest.mark.parametrize("name", NEW)
def test_new_messages(name: str) -> None:
    """The history and what is new, each once and in order."""
    assert detected_names(NEW[name]) == ["pydantic-ai"]
    trace = read(NEW[name])
    assert trace.to_events() == read([ASKED, response(call()), request(result("x"))]).to_events()
    assert trace.problems == ()


def test_a_history_that_is_none() -> None:
    """It is not passed over."""
    with pytest.raises(ReadError):
        read({"message_history": {"x": 1}, "new_messages": [ASKED]}, "pydantic-ai")


def test_arguments_that_look_wrapped_and_are_not() -> None:
    arguments = {"args_dict": {"q": 1}, "limit": 2}
    assert called(read(response(call(args=arguments)))) == [("search", arguments)]


PROBLEMS: dict[str, tuple[Any, str, bool]] = {
    "an unknown part": ([response({"part_kind": "teleport"})], "teleport", True),
    "no part": ([response(call()), request("x")], "a part is a mapping", True),  # type: ignore[arg-type]
    "no message": ([response(call()), 3], "a message is a mapping", True),
    "a message of no kind": ([response(call()), {"kind": "x", "parts": []}], "a request or a response", True),
    "a call without a name": ([response(call(""))], "without a name", True),
    "withheld": ([response(finish_reason="content_filter")], "withheld", True),
    "a stop for a call that is not there": ([response(finish_reason="tool_call")], "no call", True),
    "cut off": ([response(call(), state="interrupted")], "interrupted", True),
    "summed up": ([response(text("compaction", "…")), response(call())], "summed up", True),
    "an odd prompt": ([request(text("user-prompt", [3])), response(call())], "unknown part 3", False),
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_what_makes_no_sense_is_a_problem(name: str) -> None:
    document, reason, hides_call = PROBLEMS[name]
    (problem,) = read(document).problems
    assert reason in problem.reason
    assert problem.hides_call is hides_call


# ----------------------------------------------------------------------------------------------------------- detection


@pytest.mark.parametrize(
    "document",
    [
        [{"kind": "request", "parts": [{"text": "hi"}]}],
        [{"role": "model", "parts": [{"text": "hi"}]}],
        {"messages": [{"role": "user", "content": "hi"}]},
        {"kind": "response"},
    ],
)
def test_other_documents_are_left_to_others(document: Any) -> None:
    assert "pydantic-ai" not in detected_names(document)


@pytest.mark.parametrize("document", [{}, {"messages": 1}, {"kind": "request"}])
def test_nothing_of_the_kind(document: Any) -> None:
    with pytest.raises(ReadError):
        read(document, "pydantic-ai")


def test_mutants() -> None:
    for messages, _ in CASES.values():
        assert_mutants_are_read(messages, 150, ("pydantic-ai",))


# -------------------------------------------------------------------------------------------------------- the framework

ONE, TWO = (
    [{"tool_name": name, "args": args, "tool_call_id": f"{turn}{number}"} for number, (name, args) in enumerate(calls)]
    for turn, calls in (("a", FIRST_TURN), ("b", SECOND_TURN))
)


def agent_of(script: list[list[Any]], tools: list[Any], **options: Any) -> Any:
    """Return an agent whose model says what it is told to."""
    ai = pytest.importorskip("pydantic_ai")
    from pydantic_ai.messages import ModelResponse
    from pydantic_ai.models.function import DeltaToolCall, FunctionModel

    def answer(*_: Any) -> Any:
        return ModelResponse(parts=script.pop(0))

    async def stream(*_: Any) -> Any:
        for number, part in enumerate(script.pop(0)):
            if part.part_kind == "text":
                yield part.content
            else:
                yield {number: DeltaToolCall(part.tool_name, part.args[:4], tool_call_id=part.tool_call_id)}
                yield {number: DeltaToolCall(json_args=part.args[4:])}

    return ai.Agent(FunctionModel(answer, stream_function=stream), tools=tools, retries=3, **options)


def run(agent: Any, *given: Any, **options: Any) -> Any:
    """Run an agent in an event loop of its own, and close that."""
    return asyncio.run(agent.run(*given, **options))


def forgiving(tools: Tools) -> Any:
    """Return a tool that always fails, and tells the model so."""
    from pydantic_ai import ModelRetry

    def steer(angle: float) -> str:
        try:
            return tools.steer(angle)
        except RuntimeError as error:
            raise ModelRetry(str(error)) from error

    return steer


def assert_as_scripted(trace: Trace, tools: Tools) -> None:
    assert_witnessed(trace, tools)
    assert called(trace) == [*FIRST_TURN, *SECOND_TURN]
    assert [call.turn for call in trace.calls] == [1, 1, 2, 2]
    assert all(call.started_at for call in trace.calls)


@pytest.mark.parametrize("as_text", [False, True])
def test_pydantic_ai(as_text: bool) -> None:
    pytest.importorskip("pydantic_ai")
    from pydantic import TypeAdapter
    from pydantic_ai import AgentRunResult
    from pydantic_ai.messages import ModelMessagesTypeAdapter, TextPart, ToolCallPart

    def calls(turn: list[Any]) -> list[Any]:
        return [
            ToolCallPart(**{**item, "args": json.dumps(item["args"]) if as_text else item["args"]}) for item in turn
        ]

    tools = Tools()
    script = [calls(ONE), [TextPart("Found.")], [TextPart("Turning."), *calls(TWO)], [TextPart("It is stuck.")]]
    agent = agent_of(script, [tools.search, forgiving(tools), tools.weather], instructions="Help.")
    first = run(agent, "Find.")
    second = run(agent, "Turn.", message_history=first.all_messages())
    sources = [
        second,
        second.all_messages(),
        second.all_messages_json(),
        json.loads(second.all_messages_json()),
        ModelMessagesTypeAdapter.dump_python(second.all_messages()),
        TypeAdapter(AgentRunResult).dump_json(second),
    ]
    for source in sources:
        assert_as_scripted(read(source), tools)
    assert called(read(second.new_messages())) == list(SECOND_TURN)


def test_pydantic_ai_stream() -> None:
    pytest.importorskip("pydantic_ai")
    from pydantic_ai.messages import TextPart, ToolCallPart

    tools = Tools()
    calls = [ToolCallPart(**{**item, "args": json.dumps(item["args"])}) for item in TWO]
    agent = agent_of([calls, [TextPart("It is stuck.")]], [forgiving(tools), tools.weather])

    async def streamed_run() -> Trace:
        async with agent.run_stream("Turn.") as streamed:
            assert await streamed.get_output() == "It is stuck."
            return read(streamed)

    trace = asyncio.run(streamed_run())
    assert_witnessed(trace, tools)
    assert called(trace) == list(SECOND_TURN)


def test_pydantic_ai_output_and_calls_that_fail() -> None:
    """An answer that is a call, after one with wrong arguments, one to no tool, and one that is no JSON."""
    pytest.importorskip("pydantic_ai")
    from pydantic_ai.messages import ToolCallPart

    tools = Tools()
    wrong = [
        ToolCallPart("weather", {"town": 1}, "w1"),
        ToolCallPart("nope", None, "w2"),
        ToolCallPart("weather", "{", "w3"),
    ]
    script = [wrong, [ToolCallPart("final_result", {"response": {"a": "b"}}, "f1")]]
    agent = agent_of(script, [tools.weather], output_type=dict[str, str])
    trace = read(run(agent, "Go."))
    assert [(call.name, call.is_error) for call in trace.calls] == [
        ("weather", True),
        ("nope", True),
        ("weather", True),
        ("final_result", False),
    ]
    assert tools.made == []
    assert [problem.hides_call for problem in trace.problems] == [False]


def test_pydantic_ai_delegation() -> None:
    """What an agent does inside another's tool is a run of its own."""
    pytest.importorskip("pydantic_ai")
    from pydantic_ai.messages import TextPart, ToolCallPart

    tools, inner_runs = Tools(), []
    inner = agent_of([[ToolCallPart("weather", {"city": "Bern"}, "i1")], [TextPart("Sunny.")]], [tools.weather])

    async def delegate(question: str) -> str:
        inner_runs.append(await inner.run(question))
        return str(inner_runs[0].output)

    outer = agent_of([[ToolCallPart("delegate", {"question": "Bern?"}, "o1")], [TextPart("Sunny.")]], [delegate])
    trace = read(run(outer, "Is it sunny?"))
    assert called(trace) == [("delegate", {"question": "Bern?"})]
    assert trace.calls[0].result == "Sunny."
    assert_witnessed(read(inner_runs[0]), tools)


def test_pydantic_ai_asks_a_person() -> None:
    """A call that is to be approved has no result; one that was denied has an error."""
    ai = pytest.importorskip("pydantic_ai")
    from pydantic_ai.messages import TextPart, ToolCallPart

    tools = Tools()
    script = [[ToolCallPart("weather", {"city": "Bern"}, "c1")], [TextPart("No.")]]
    options = {"output_type": [str, ai.DeferredToolRequests]}
    agent = agent_of(script, [ai.Tool(tools.weather, requires_approval=True)], **options)
    asked = run(agent, "Go.")
    assert [call.answer for call in read(asked).calls] == [None]
    answers = ai.DeferredToolResults(approvals={"c1": False})
    denied = run(agent, message_history=asked.all_messages(), deferred_tool_results=answers)
    (found,) = read(denied).calls
    assert found.is_error is True
    assert tools.made == []


def test_the_error_of_a_tool_is_what_the_model_was_told() -> None:
    pytest.importorskip("pydantic_ai")
    from pydantic_ai.messages import TextPart, ToolCallPart

    tools = Tools()
    agent = agent_of([[ToolCallPart("steer", {"angle": 1.0}, "c1")], [TextPart("Stuck.")]], [forgiving(tools)])
    (found,) = read(run(agent, "Turn.")).calls
    assert found.result == WHEEL
