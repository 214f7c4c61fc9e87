"""OpenAI Responses: items of every type, responses, requests and histories."""

from __future__ import annotations

from typing import Any

import pytest

from tracewitness.readers import read
from tracewitness.readers.registry import detected
from tracewitness.trace import UNANSWERED, MalformedArguments


def _call(name: str = "search", arguments: Any = "{}", call_id: Any = "c1", **more: Any) -> dict[str, Any]:
    return {"type": "function_call", "id": "fc_1", "call_id": call_id, "name": name, "arguments": arguments, **more}


def _output(output: Any = "ok", call_id: Any = "c1", **more: Any) -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": call_id, "output": output, **more}


def _said(*parts: Any, role: str = "assistant") -> dict[str, Any]:
    return {"type": "message", "role": role, "content": list(parts)}


def _text(text: str, kind: str = "output_text") -> dict[str, Any]:
    return {"type": kind, "text": text}


def _response(*output: Any, **more: Any) -> dict[str, Any]:
    return {"object": "response", "id": "resp_1", "status": "completed", "error": None, "output": list(output), **more}


def test_a_response() -> None:
    """Words, parallel calls and what the model thought, in order; tools and instructions are no calls."""
    trace = read(
        _response(
            {"type": "reasoning", "summary": [_text("hm", "summary_text")]},
            _said(_text("I look.")),
            _call("a", '{"n": 1}', "c1"),
            _call("b", "", "c2"),
            instructions="Help.",
            tools=[{"type": "function", "name": "c"}],
        )
    )
    assert trace.to_events() == [
        {"system": "Help."},
        {"agent": "I look."},
        {"call": "a", "args": {"n": 1}, "id": "c1"},
        {"call": "b", "args": {}, "id": "c2"},
    ]
    assert trace.problems == ()


def test_results_are_paired_by_the_call_s_id() -> None:
    """Not by the item's own, and in any order."""
    items = [
        _call("a", call_id="c1"),
        _call("b", call_id="c2"),
        _output("of b", "c2"),
        _output("of a", "c1", id="fc_1"),
    ]
    assert [(call.name, call.result) for call in read(items).calls] == [("a", "of a"), ("b", "of b")]


@pytest.mark.parametrize(
    ("output", "payload"),
    [
        ("ok", "ok"),
        ([_text("ok", "input_text")], "ok"),
        ([_text("a", "input_text"), _text("b", "input_text")], [_text("a", "input_text"), _text("b", "input_text")]),
        ([{"type": "input_image", "image_url": "x"}], [{"type": "input_image", "image_url": "x"}]),
        (None, None),
    ],
)
def test_outputs(output: Any, payload: Any) -> None:
    """A text or a list; only a list of one text is opened. Nothing says whether it is an error."""
    call = read([_call(), _output(output)]).calls[0]
    assert (call.result, call.is_error) == (payload, None)


def test_malformed_arguments() -> None:
    """They stay as they were."""
    trace = read([_call(arguments='{"a": 1}{"a": 2}')])
    assert trace.calls[0].args == MalformedArguments('{"a": 1}{"a": 2}', "the recording could not decode them")
    assert trace.problems[0].place == "$[0]"


def test_custom_tools() -> None:
    """Their input is a free text, their output is paired as others are."""
    call = {"type": "custom_tool_call", "call_id": "c1", "name": "sql", "input": "select 1"}
    trace = read([call, {"type": "custom_tool_call_output", "call_id": "c1", "output": "1"}])
    assert [(call.name, call.args, call.result) for call in trace.calls] == [("sql", {"input": "select 1"}, "1")]


@pytest.mark.parametrize(
    ("more", "result", "is_error"),
    [
        ({"output": "4", "error": None}, "4", False),
        ({"output": None, "error": None, "status": "completed"}, None, False),
        ({"output": None, "error": "no such tool"}, "no such tool", True),
        ({"output": None, "error": {"code": 404}, "status": "failed"}, {"code": 404}, True),
        ({"output": "partly", "error": "cut"}, "partly", True),
        ({"status": "failed"}, None, True),
        ({"status": "in_progress"}, UNANSWERED, None),
        ({}, UNANSWERED, None),
    ],
)
def test_calls_to_servers(more: Any, result: Any, is_error: Any) -> None:
    """Call and result are one item; the server's name stands beside the arguments."""
    item = {"type": "mcp_call", "id": "mcp_1", "server_label": "calc", "name": "add", "arguments": '{"a": 2}', **more}
    trace = read([_call("a"), item, _output("of a")])
    first, call = trace.calls
    assert (call.name, call.args, call.metadata) == ("add", {"a": 2}, {"server_label": "calc"})
    assert (call.result, call.is_error) == (result, is_error)
    assert (first.result, trace.problems) == ("of a", ())


_IMAGE = {"type": "image_generation_call", "id": "i1", "status": "completed"}
_PROGRAM = {"type": "program", "id": "p1", "call_id": "c9", "code": "x()"}


@pytest.mark.parametrize(
    ("items", "args", "result", "is_error"),
    [
        (
            [
                {
                    "type": "web_search_call",
                    "id": "w1",
                    "status": "completed",
                    "action": {"type": "search", "query": "q"},
                }
            ],
            {"type": "search", "query": "q"},
            UNANSWERED,
            None,
        ),
        ([{"type": "web_search_call", "id": "w1", "status": "failed"}], {}, None, True),
        (
            [{"type": "file_search_call", "id": "f1", "queries": ["q"], "results": [{"text": "t"}]}],
            {"queries": ["q"]},
            [{"text": "t"}],
            False,
        ),
        (
            [{"type": "file_search_call", "id": "f1", "queries": ["q"], "results": None}],
            {"queries": ["q"]},
            UNANSWERED,
            None,
        ),
        (
            [{"type": "code_interpreter_call", "id": "i1", "code": "1", "container_id": "k", "outputs": []}],
            {"code": "1", "container_id": "k"},
            [],
            False,
        ),
        ([{**_IMAGE, "result": "aGk=", "size": "1x1"}], {"size": "1x1"}, "aGk=", False),
        ([{**_IMAGE, "result": None, "error": {"message": "no"}}], {}, {"message": "no"}, True),
        (
            [
                {"type": "computer_call", "id": "k1", "call_id": "c1", "action": {"type": "click", "x": 1}},
                {"type": "computer_call_output", "call_id": "c1", "output": {"type": "computer_screenshot"}},
            ],
            {"type": "click", "x": 1},
            {"type": "computer_screenshot"},
            None,
        ),
        (
            [{"type": "computer_call", "id": "k1", "call_id": "c1", "actions": [{"type": "wait"}]}],
            {"actions": [{"type": "wait"}]},
            UNANSWERED,
            None,
        ),
        (
            [
                {"type": "shell_call", "id": "s1", "call_id": "c1", "action": {"commands": ["ls"]}},
                {"type": "shell_call_output", "call_id": "c1", "output": [{"stdout": "a"}]},
            ],
            {"commands": ["ls"]},
            [{"stdout": "a"}],
            None,
        ),
        (
            [
                {"type": "local_shell_call", "id": "ls_1", "call_id": "c1", "action": {"command": ["ls"]}},
                {"type": "local_shell_call_output", "id": "ls_1", "output": "a"},
            ],
            {"command": ["ls"]},
            "a",
            None,
        ),
        (
            [
                {"type": "local_shell_call", "id": "ls_1", "call_id": "c1", "action": {"command": ["ls"]}},
                {"type": "local_shell_call_output", "id": "c1", "output": "a"},
            ],
            {"command": ["ls"]},
            "a",
            None,
        ),
        (
            [
                {"type": "apply_patch_call", "call_id": "c1", "operation": {"type": "delete_file", "path": "x"}},
                {"type": "apply_patch_call_output", "call_id": "c1", "status": "failed", "output": "no such file"},
            ],
            {"type": "delete_file", "path": "x"},
            "no such file",
            True,
        ),
        (
            [
                {"type": "apply_patch_call", "call_id": "c1", "operation": {"type": "delete_file", "path": "x"}},
                {"type": "apply_patch_call_output", "call_id": "c1", "status": "completed"},
            ],
            {"type": "delete_file", "path": "x"},
            None,
            False,
        ),
        (
            [
                {"type": "tool_search_call", "call_id": None, "id": "t1", "arguments": {"goal": "x"}},
                {"type": "tool_search_output", "call_id": None, "tools": []},
            ],
            {"goal": "x"},
            [],
            None,
        ),
        ([_PROGRAM, {"type": "program_output", "call_id": "c9", "result": "1"}], {"code": "x()"}, "1", None),
    ],
    ids=lambda value: (
        value[0]["type"]
        if isinstance(value, list) and value and isinstance(value[0], dict) and "type" in value[0]
        else ""
    ),
)
def test_hosted_tools(items: list[Any], args: Any, result: Any, is_error: Any) -> None:
    """They are calls named by their type, with what arguments and results they have."""
    trace = read(items)
    (call,) = trace.calls
    assert (call.name, call.args, call.result, call.is_error) == (items[0]["type"], args, result, is_error)
    assert trace.problems == ()


@pytest.mark.parametrize(
    "item",
    [
        {"type": "mcp_approval_request", "id": "a1", "name": "drop", "arguments": "{}", "server_label": "db"},
        {"type": "mcp_approval_response", "approval_request_id": "a1", "approve": True},
        {"type": "mcp_list_tools", "server_label": "db", "tools": [{"name": "drop"}]},
        {"type": "reasoning", "summary": []},
        {"type": "additional_tools", "role": "developer", "tools": [{"type": "function", "name": "x"}]},
    ],
    ids=lambda item: item["type"],
)
def test_what_is_no_call(item: Any) -> None:
    """What is asked of a person, what there is, and what was thought."""
    trace = read(_response(item))
    assert (trace.calls, trace.problems, trace.no_evidence) == ((), (), None)


@pytest.mark.parametrize(
    ("item", "reason"),
    [
        ({"type": "teleport_call", "id": "x"}, "an unknown item of type 'teleport_call'"),
        ({"type": "function_result", "call_id": "x"}, "an unknown item of type"),
        ({"type": "compaction", "encrypted_content": "x"}, "an unknown item of type 'compaction'"),
        ({"type": "item_reference", "id": "elsewhere"}, "a reference to an item that is not here"),
        ({"id": "elsewhere"}, "a reference to an item that is not here"),
        ({"name": "x"}, "an item without a type"),
        ({"type": ["function_call"], "x": 1}, "an item without a type"),
        (_said({"type": "tool-call"}), "an unknown part"),
        ({"type": "message", "role": "robot", "content": "x"}, "an unknown role"),
        ({"type": "message", "role": "assistant", "content": 5}, "a list was promised"),
        (_call(name=""), "a call without a name"),
        (7, "an item is a mapping"),
    ],
)
def test_what_can_not_be_understood_may_hide_a_call(item: Any, reason: str) -> None:
    """It is a problem with its place; the items beside it are read."""
    trace = read([_call("a"), item, _output("of a")], "openai-responses")
    assert trace.calls[0].result == "of a"
    (problem,) = trace.problems
    assert reason in problem.reason
    assert (problem.place.startswith("$[1]"), problem.hides_call) == (True, True)


def test_a_reference_to_an_item_that_is_here() -> None:
    """It says nothing new."""
    trace = read([_call("a"), {"type": "item_reference", "id": "fc_1"}])
    assert (len(trace.calls), trace.problems) == (1, ())


def test_messages() -> None:
    """Of every role, as text, as parts, with and without their type."""
    trace = read(
        [
            {"role": "developer", "content": "Help."},
            _said(_text("hi", "input_text"), {"type": "input_image"}, role="user"),
            {"type": "message", "role": "user", "content": "again"},
            _said({"type": "refusal", "refusal": "No."}),
        ]
    )
    assert trace.to_events() == [{"system": "Help."}, {"user": "hi"}, {"user": "again"}, {"agent": "No."}]
    assert trace.problems == ()


def test_an_answer_without_anything_is_a_run_without_calls() -> None:
    """It is evidence that nothing was called."""
    trace = read(_response())
    assert (trace.to_events(), trace.problems, trace.no_evidence) == ([{"agent": ""}], (), None)


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"status": "failed", "error": {"code": "server_error"}}, "the response failed: {'code': 'server_error'}"),
        ({"status": "queued"}, "the response is queued"),
        ({"status": "cancelled"}, "the response is cancelled"),
    ],
)
def test_a_response_that_did_not_come_is_no_evidence(more: Any, reason: str) -> None:
    """Beside other answers it is a problem."""
    assert read(_response(**more)).no_evidence == reason
    trace = read([_call(), _response(**more)])
    assert (trace.no_evidence, [problem.reason for problem in trace.problems]) == (None, [reason])


def test_an_incomplete_response() -> None:
    """One that became too long has nothing to hide; one that was filtered may."""
    long = _response(_said(_text("x")), status="incomplete", incomplete_details={"reason": "max_output_tokens"})
    filtered = _response(status="incomplete", incomplete_details={"reason": "content_filter"})
    assert read(long).problems == ()
    assert "withheld" in read(filtered).problems[0].reason


def test_a_request() -> None:
    """Its input is a text or items."""
    assert read({"model": "m", "input": "hi", "instructions": "Help."}).to_events() == [
        {"system": "Help."},
        {"user": "hi"},
    ]
    items = [{"role": "user", "content": "hi"}]
    assert read({"model": "m", "input": items, "tools": [_call()]}).to_events() == [{"user": "hi"}]


def test_instructions_are_told_once() -> None:
    """Every response repeats them."""
    first, again, new = (_response(_said(_text("x")), instructions=text) for text in ("A", "A", "B"))
    events = read([first, again, new]).to_events()
    assert [event["system"] for event in events if "system" in event] == ["A", "B"]


@pytest.mark.parametrize(
    "document",
    [
        {"model": "text-embedding", "input": "hi"},
        {"model": "m", "input": [{"role": "user", "content": [{"type": "novelty"}]}]},
        {"model": "m", "input": [{"role": "robot", "content": "hi"}]},
        {"output": {"message": {"role": "assistant", "content": [{"toolUse": {}}]}}},
        [{"type": "function_call", "id": "x", "name": "a", "arguments": {}}],
        [{"type": "message", "content": []}],
        [{"type": "user", "message": {}}],
    ],
)
def test_other_formats_are_not_taken_for_it(document: Any) -> None:
    """Nor what is to be embedded."""
    assert "openai-responses" not in [reader.name for reader in detected(document)]


# ------------------------------------------------------------------------------------------------ items that come again

_HOSTED = {"type": "web_search_call", "id": "w1", "action": {"type": "search"}, "status": "completed"}
_MCP = {"type": "mcp_call", "id": "m1", "name": "a", "arguments": "{}", "output": "1"}


@pytest.mark.parametrize("item", [_call(), {**_call(), "type": "custom_tool_call", "input": "x"}, _HOSTED, _MCP])
def test_an_item_that_comes_again_is_one(item: dict[str, Any]) -> None:
    """It has an id of its own, and is sent again with what comes next; how far it is may differ."""
    for again in (item, {**item, "status": None}):
        for document in ([item, again], [_response(item), {"model": "m", "input": [again]}]):
            trace = read(document, "openai-responses")
            assert len(trace.calls) == 1
            assert trace.problems == ()


@pytest.mark.parametrize(
    ("items", "count", "problems"),
    [
        ([_call(call_id="a"), _call(call_id="b")], 2, 0),
        ([_call("f"), _call("g")], 2, 0),
        ([{**_call(), "id": None}, {**_call(), "id": None}], 2, 0),
        ([_call(), _call(arguments='{"n": 1}')], 2, 1),
        ([_call(), _output("1"), _call(), _output("2")], 2, 1),
        ([_call(), _call(), _output("1")], 1, 0),
    ],
)
def test_items_that_share_an_id(items: list[Any], count: int, problems: int) -> None:
    """Recordings use ids again: what differs is another call, and what may be either is a problem."""
    trace = read(items)
    assert (len(trace.calls), len(trace.problems)) == (count, problems)
