"""The AI SDK of Vercel: messages of both kinds, results, streams, and what the real one recorded."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from framework_mutations import assert_known_alone, assert_mutants_are_read_or_refused

from tracewitness.errors import ReadError
from tracewitness.readers import read
from tracewitness.trace import UNANSWERED, MalformedArguments, Trace

MADE = Path(__file__).parents[1] / "fixtures" / "make"


def _tool(name: str = "search", call_id: str = "c1", state: str = "output-available", **more: Any) -> dict[str, Any]:
    return {"type": f"tool-{name}", "toolCallId": call_id, "state": state, **more}


def _ui(*parts: Any, role: str = "assistant") -> dict[str, Any]:
    return {"id": "m1", "role": role, "parts": list(parts)}


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _call(name: str = "search", call_id: str = "c1", **more: Any) -> dict[str, Any]:
    return {"type": "tool-call", "toolCallId": call_id, "toolName": name, **more}


def _result(call_id: str = "c1", name: str = "search", **more: Any) -> dict[str, Any]:
    return {"type": "tool-result", "toolCallId": call_id, "toolName": name, **more}


STEP = {"type": "step-start"}


def test_parallel_tools_of_a_step_are_called_before_any_answers() -> None:
    """Results stand where they came: after the calls that were made at the same time, before what was said then."""
    trace = read(
        [
            _ui(_text("Find"), _text("both."), role="user"),
            _ui(
                STEP,
                {"type": "reasoning", "text": "hm"},
                _text("I look."),
                _tool("a", "1", input={"n": 1}, output="one"),
                _tool("b", "2", state="output-error", input={}, errorText="stuck"),
                STEP,
                _text("Done."),
            ),
        ]
    )
    assert trace.to_events() == [
        {"user": "Find\nboth."},
        {"agent": "I look."},
        {"call": "a", "args": {"n": 1}, "id": "1"},
        {"call": "b", "args": {}, "id": "2"},
        {"result": "one", "id": "1", "is_error": False},
        {"result": "stuck", "id": "2", "is_error": True},
        {"agent": "Done."},
    ]
    assert trace.problems == ()


def test_a_message_without_marked_steps() -> None:
    """Text begins a new step; what the provider ran has its result at once."""
    trace = read(
        _ui(_tool("a", "1", output=1), _text("x"), _tool("b", "2", output=2, providerExecuted=True), _text("y"))
    )
    assert [next(iter(event)) for event in trace.to_events()] == ["call", "result", "agent", "call", "result", "agent"]
    assert [call.metadata for call in trace.calls] == [None, {"providerExecuted": True}]


@pytest.mark.parametrize(
    ("part", "result", "is_error"),
    [
        (_tool(state="output-available", output={"a": 1}), {"a": 1}, False),
        (_tool(state="output-available", output=None), None, False),
        (_tool(state="output-available", output="half", preliminary=True), UNANSWERED, None),
        (_tool(state="output-error", errorText="no", input={}), "no", True),
        (_tool(state="output-denied", approval={"id": "a", "approved": False, "reason": "no"}), "no", True),
        (_tool(state="input-available", input={}), UNANSWERED, None),
        (_tool(state="approval-requested", input={}, approval={"id": "a"}), UNANSWERED, None),
        ({"type": "dynamic-tool", "toolName": "search", "toolCallId": "c1", "state": "output-available"}, None, False),
        (
            {"type": "tool-invocation", "toolInvocation": {**_call(args={}), "state": "result", "result": 3}},
            3,
            None,
        ),
    ],
)
def test_states(part: Any, result: Any, is_error: Any) -> None:
    """A part holds a call and, where its state says so, a result."""
    trace = read([_ui(part)])
    (call,) = trace.calls
    assert (call.name, call.args, call.result, call.is_error, trace.problems) == ("search", {}, result, is_error, ())


@pytest.mark.parametrize(
    ("part", "args"),
    [
        (_tool(input={"q": 1}), {"q": 1}),
        (_tool(rawInput={"q": 1}), {"q": 1}),
        (_tool(input=None, rawInput='{"q": 1}'), {"q": 1}),
        (_tool(input=""), {}),
        (_tool(), {}),
        (_tool(input='"{\\"q\\": 1}"'), {"q": 1}),
        (_tool(input=[]), {}),
    ],
)
def test_arguments(part: Any, args: Any) -> None:
    """They are the input, or what of it could not be used."""
    assert read([_ui({"output": 1, **part})]).calls[0].args == args


@pytest.mark.parametrize("text", ['{"q": ', '{"a":1}{"a":2}', "[1]"])
def test_arguments_that_are_none(text: str) -> None:
    """They stay as they were."""
    trace = read([_ui(_tool(state="output-error", rawInput=text, errorText="Invalid input"))])
    assert isinstance(trace.calls[0].args, MalformedArguments)
    assert trace.problems[0].place == "$[0].parts[0]"


def test_a_call_that_is_not_complete() -> None:
    """A stream that broke off leaves half a call."""
    trace = read([_ui(_tool(state="input-streaming", input={"q": "la"}))])
    assert [problem.reason for problem in trace.problems] == ["a call to 'search' that is not complete"]


def test_messages_of_models() -> None:
    """Newer ones write input and output with its type, older ones args and result."""
    output = {"type": "json", "value": {"n": 1}}
    trace = read(
        {
            "messages": [
                {"role": "system", "content": "Help."},
                {"role": "user", "content": [_text("a"), {"type": "file", "data": ""}, _text("b")]},
                {
                    "role": "assistant",
                    "content": [_text("x"), _call("a", "1", input={"n": 1}), _call("b", "2", args={})],
                },
                {
                    "role": "tool",
                    "content": [_result("1", "a", output=output), _result("2", "b", result=2, isError=True)],
                },
                {"role": "assistant", "content": "Done."},
            ]
        }
    )
    assert trace.to_events() == [
        {"system": "Help."},
        {"user": "a\nb"},
        {"agent": "x"},
        {"call": "a", "args": {"n": 1}, "id": "1"},
        {"call": "b", "args": {}, "id": "2"},
        {"result": {"n": 1}, "of": "a", "id": "1", "is_error": False},
        {"result": 2, "of": "b", "id": "2", "is_error": True},
        {"agent": "Done."},
    ]


@pytest.mark.parametrize(
    ("part", "payload", "is_error"),
    [
        (_result(output={"type": "text", "value": "x"}), "x", False),
        (_result(output={"type": "error-text", "value": "x"}), "x", True),
        (_result(output={"type": "error-json", "value": {"x": 1}}), {"x": 1}, True),
        (_result(output={"type": "content", "value": [_text("x")]}), "x", False),
        (_result(output={"type": "execution-denied", "reason": "no"}), "no", True),
        (_result(output={"other": 1}), {"other": 1}, None),
        (_result(result="x"), "x", None),
        (_result(result="x", isError=False), "x", False),
    ],
)
def test_outputs(part: Any, payload: Any, is_error: Any) -> None:
    """What an output is says whether it is an error."""
    trace = read([{"role": "assistant", "content": [_call(input={})]}, {"role": "tool", "content": [part]}])
    assert (trace.calls[0].result, trace.calls[0].is_error) == (payload, is_error)


def test_ids() -> None:
    """Ids that are reused, empty or absent, and results that answer nothing."""
    trace = read(
        [
            {
                "role": "assistant",
                "content": [_call("a", "1", input={}), _call("b", "", input={}), _call("b", "", input={})],
            },
            {"role": "tool", "content": [_result("1", "a", result="a"), _result("", "b", result="b1")]},
            {"role": "assistant", "content": [_call("c", "1", input={})]},
            {"role": "tool", "content": [_result("1", "c", result="c"), _result("", "b", result="b2")]},
            {"role": "tool", "content": [_result("1", "c", result="again")]},
        ]
    )
    assert [(call.name, call.result) for call in trace.calls] == [("a", "a"), ("b", "b1"), ("b", "b2"), ("c", "c")]
    assert len(trace.problems) == 1


def test_older_steps() -> None:
    """They list calls beside results."""
    step = {
        "text": "x",
        "finishReason": "tool-calls",
        "toolCalls": [{"toolCallId": "1", "toolName": "a", "args": {}}],
        "toolResults": [{"toolCallId": "1", "toolName": "a", "args": {}, "result": 1}],
    }
    for document in ([step], {"steps": [step], "text": "x"}):
        trace = read(document)
        assert [(call.name, call.result) for call in trace.calls] == [("a", 1)]
        assert_known_alone("vercel-ai", document)


def test_messages_that_hold_invocations() -> None:
    """Still older ones of the user interface list them beside the text."""
    invocation = {"state": "result", "toolCallId": "1", "toolName": "a", "args": {"n": 1}, "result": 2}
    trace = read([{"role": "assistant", "content": "x", "toolInvocations": [invocation]}])
    assert [(call.args, call.result) for call in trace.calls] == [({"n": 1}, 2)]


ASKED: list[Any] = [{"role": "user", "content": "hi"}]
TOLD = [{"user": "hi"}, {"call": "search", "args": {"q": 1}, "id": "c1"}, {"result": "x", "of": "search", "id": "c1"}]
LISTED: dict[str, Any] = {"toolCalls": [_call(args={"q": 1})], "toolResults": [_result(result="x")]}
ANSWERED = [*ASKED, {"role": "assistant", "content": [_call(args={"q": 1})]}]
ANSWERED += [{"role": "tool", "content": [_result(result="x")]}, {"role": "assistant", "content": "Done."}]
DONE = {"text": "Done.", "finishReason": "stop", "toolCalls": [], "toolResults": []}
CONTENT = {"content": [_call(args={"q": 1}), _result(result="x")], "finishReason": "tool-calls"}
BESIDE: dict[str, tuple[dict[str, Any], list[Any]]] = {
    "steps": ({"messages": ASKED, "steps": [LISTED]}, TOLD),
    "steps that end": ({"messages": ASKED, "steps": [{**LISTED, "finishReason": "tool-calls"}]}, TOLD),
    "steps with content": ({"messages": ASKED, "steps": [CONTENT]}, [*TOLD[:2], {**TOLD[2]}]),
    "messages of the user interface": ({"messages": [_ui(_text("hi"), role="user")], "steps": [LISTED]}, TOLD),
    "steps in the file before": ({"steps": [LISTED], "messages": ASKED}, TOLD),
    "a result": ({"messages": ASKED, **LISTED}, TOLD),
    "a result and its steps": ({"messages": ASKED, "steps": [LISTED], **LISTED}, TOLD),
    "no messages": ({**LISTED}, TOLD[1:]),
    "steps alone": ({"steps": [LISTED]}, TOLD[1:]),
    "steps that the messages tell": ({"messages": ANSWERED, "steps": [LISTED, DONE]}, [*TOLD, {"agent": "Done."}]),
    "content that the messages tell": ({"messages": ANSWERED, "steps": [CONTENT, DONE]}, [*TOLD, {"agent": "Done."}]),
    "a result of which the messages tell the call": ({"messages": ANSWERED[:2], **LISTED}, TOLD),
    "one step more": (
        {"messages": ANSWERED, "steps": [LISTED, DONE, DONE]},
        [*TOLD, {"agent": "Done."}, {"agent": "Done."}],
    ),
}


@pytest.mark.parametrize("name", BESIDE)
def test_results_beside_messages(name: str) -> None:
    """Both are read, in order, and what both tell is told once."""
    document, events = BESIDE[name]
    trace = read(document)
    assert trace.to_events() == events
    assert trace.problems == ()


@pytest.mark.parametrize("parts", [{}, {"parts": [_text("x")]}])
def test_calls_of_another_format_in_a_message(parts: Any) -> None:
    """They are not passed over."""
    message = {"role": "assistant", "content": "x", "tool_calls": [{"id": "a"}], **parts}
    assert [problem.hides_call for problem in read([message], "vercel-ai").problems] == [True]


def test_a_stream_that_broke_off() -> None:
    """Half a call, half a text, and pieces that belong to nothing."""
    trace = read(
        [
            {"type": "start"},
            {"type": "start-step"},
            {"type": "text-delta", "id": "t", "delta": "I lo"},
            {"type": "tool-input-start", "toolCallId": "1", "toolName": "a"},
            {"type": "tool-input-delta", "toolCallId": "1", "inputTextDelta": '{"n": '},
            {"type": "tool-input-delta", "toolCallId": "2", "inputTextDelta": "1"},
            {"type": "tool-output-available", "toolCallId": "9", "output": 1, "preliminary": True},
            {"type": "data-weather", "data": 1},
            {"type": "error", "errorText": "gone"},
            {"type": "teleport"},
        ]
    )
    assert [next(iter(event)) for event in trace.to_events()] == ["agent", "call"]
    reasons = " ".join(problem.reason for problem in trace.problems)
    assert all(reason in reasons for reason in ("did not begin", "gone", "teleport", "not complete"))


@pytest.mark.parametrize(
    ("item", "hides_call"),
    [
        (_ui({"type": "teleport"}), True),
        (_ui({"type": "teleport"}, role="user"), False),
        (_ui("x"), True),
        ({"role": "assistant", "content": [{"type": "teleport"}]}, True),
        ({"role": "robot", "content": []}, True),
        ({"role": "robot", "parts": []}, True),
        ({"other": 1}, True),
        ("x", True),
        (_ui(_tool("", "1", "input-available")), True),
    ],
)
def test_what_can_not_be_understood(item: Any, hides_call: bool) -> None:
    """It is a problem with its place; the messages beside it are read."""
    trace = read([_ui(_tool("a", "7", output=1)), item])
    assert trace.calls[0].result == 1
    assert [problem.hides_call for problem in trace.problems] == [hides_call]
    assert trace.problems[0].place.startswith("$[1]")


def test_what_it_is_not() -> None:
    """Other formats have parts and steps too."""
    for document in (
        [{"role": "user", "parts": [{"type": "text", "content": "x"}]}],
        [{"type": "tool-x"}],
        {"steps": []},
    ):
        with pytest.raises(ReadError):
            read(document)


# ------------------------------------------------------------------------------------------------------------ the real


@pytest.fixture(scope="module")
def recorded() -> dict[str, Any]:
    """Return what the script in the folder of fixtures wrote."""
    return json.loads((MADE / "vercel_ai.json").read_text("utf-8"))  # type: ignore[no-any-return]


def _assert_as_noted(trace: Trace, notes: list[dict[str, Any]], malformed: Any) -> None:
    """Check a trace against what the tools noted, and the two calls that could not be made."""
    ran, refused = trace.calls[: len(notes)], trace.calls[len(notes) :]
    assert [(call.name, call.args) for call in ran] == [(note["name"], note["args"]) for note in notes]
    assert [call.result for call in ran] == [note["error"] or note["result"] for note in notes]
    assert [call.is_error for call in ran] == [bool(note["error"]) for note in notes]
    assert [(call.name, call.is_error) for call in refused] == [("missing", True), ("search", True)]
    assert (refused[0].args, getattr(refused[1].args, "raw", refused[1].args)) == ({"a": 1}, malformed)
    kinds = [next(iter(event)) for event in trace.to_events() if not {"user", "agent"} & event.keys()]
    assert kinds[:8] == ["call", "call", "result", "result"] * 2
    assert trace.no_evidence is None


@pytest.mark.parametrize(
    ("kind", "form", "malformed", "turns"),
    [
        ("model", "messages", {}, 2),  # in these the SDK writes arguments that it can't read as none
        ("model", "steps", '{"query": ', 0),
        ("ui", "messages", '{"query": ', 2),
        ("ui", "chunks", '{"query": ', 0),
    ],
)
def test_what_the_real_one_recorded(recorded: Any, kind: str, form: str, malformed: Any, turns: int) -> None:
    """Two turns, parallel calls, a tool that fails, one that is not there, and arguments that are none."""
    document = recorded[kind][form]
    assert_known_alone("vercel-ai", document)
    trace = read(document)
    _assert_as_noted(trace, recorded[kind]["notes"], malformed)
    assert max(call.turn for call in trace.calls) == turns
    assert len(trace.problems) == (malformed != {})


def test_the_script_records_the_same_today(recorded: Any) -> None:
    """Run it with the package that is installed in this folder, or in that which is named."""
    folder = Path(os.environ.get("TRACEWITNESS_NODE_FOLDER", "."))
    node = shutil.which("node")
    if node is None or not (folder / "node_modules" / "ai").exists():
        pytest.skip("node or its package ai is not here")
    command = [node, "--input-type=module", "--eval", (MADE / "vercel_ai.mjs").read_text("utf-8")]
    done = subprocess.run(command, cwd=folder, capture_output=True, check=True, timeout=120)
    for kind in ("model", "ui"):
        now = json.loads(done.stdout)[kind]
        assert now["notes"] == recorded[kind]["notes"]
        assert read(now["messages"]).to_events() == read(recorded[kind]["messages"]).to_events()


def test_mutants(recorded: Any) -> None:
    """They raise nothing else."""
    for document in (recorded["model"]["messages"], recorded["ui"]["messages"], recorded["ui"]["chunks"]):
        assert_mutants_are_read_or_refused("vercel-ai", document, 150)
