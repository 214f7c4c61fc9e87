"""Anthropic Messages: blocks of every type, responses, requests and histories."""

from __future__ import annotations

from typing import Any

import pytest

from tracewitness.readers import read
from tracewitness.readers.registry import detected
from tracewitness.trace import UNANSWERED, MalformedArguments


def _use(name: str = "search", given: Any = None, use_id: Any = "t1", kind: str = "tool_use") -> dict[str, Any]:
    return {"type": kind, "id": use_id, "name": name, "input": {} if given is None else given}


def _result(content: Any = "ok", use_id: Any = "t1", kind: str = "tool_result", **more: Any) -> dict[str, Any]:
    return {"type": kind, "tool_use_id": use_id, "content": content, **more}


def _agent(*blocks: Any, **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks), **more}


def _user(*blocks: Any) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks)}


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def test_a_history() -> None:
    """Words and calls in their order; a user's message is one turn, after the results in it."""
    trace = read(
        [
            {"role": "user", "content": "hi"},
            _agent(
                {"type": "thinking", "thinking": "hm"},
                _text("I look."),
                _use("a"),
                _text("And."),
                _use("b", use_id="t2"),
            ),
            _user(_result("of b", "t2"), _text("go"), _result("of a"), {"type": "image"}, _text("on")),
            _agent(_text("Done.")),
        ]
    )
    assert trace.to_events() == [
        {"user": "hi"},
        {"agent": "I look."},
        {"call": "a", "args": {}, "id": "t1"},
        {"agent": "And."},
        {"call": "b", "args": {}, "id": "t2"},
        {"result": "of b", "id": "t2"},
        {"result": "of a", "id": "t1"},
        {"user": "go\non"},
        {"agent": "Done."},
    ]
    assert [call.result for call in trace.calls] == ["of a", "of b"]
    assert trace.problems == ()


@pytest.mark.parametrize(
    ("given", "args"),
    [({"a": 1}, {"a": 1}), (None, {}), ('{"a": 1}', {"a": 1}), ("", {}), ([], {})],
)
def test_arguments(given: Any, args: Any) -> None:
    """An object; some that write the format down keep the text."""
    trace = read([_agent({**_use(), "input": given})])
    assert (trace.calls[0].args, trace.problems) == (args, ())


def test_malformed_arguments() -> None:
    """They stay as they were."""
    trace = read([_agent(_use(given='{"a": '), _use(given=[1]))])
    assert [call.args.raw for call in trace.calls if isinstance(call.args, MalformedArguments)] == ['{"a": ', [1]]
    assert [problem.place for problem in trace.problems] == ["$[0].content[0]", "$[0].content[1]"]


@pytest.mark.parametrize(
    ("more", "is_error"),
    [({}, None), ({"is_error": None}, None), ({"is_error": True}, True), ({"is_error": False}, False)],
)
def test_errors_have_three_values(more: Any, is_error: Any) -> None:
    """Where the flag is not there nothing is known."""
    assert read([_agent(_use()), _user(_result(**more))]).calls[0].is_error is is_error


@pytest.mark.parametrize(
    ("content", "payload"),
    [
        ("ok", "ok"),
        ([_text("ok")], "ok"),
        ([_text("a"), _text("b")], [_text("a"), _text("b")]),
        ([{"type": "image"}], [{"type": "image"}]),
        ([], []),
        (None, None),
    ],
)
def test_payloads(content: Any, payload: Any) -> None:
    """Only a list of one text is opened."""
    assert read([_agent(_use()), _user(_result(content))]).calls[0].result == payload


def test_a_result_without_content() -> None:
    """It is an answer."""
    trace = read([_agent(_use()), _user({"type": "tool_result", "tool_use_id": "t1"})])
    assert (trace.calls[0].result, trace.calls[0].answer is not None) == (None, True)


_FOUND = [{"type": "web_search_result", "url": "u"}]
_RAN = {"type": "bash_code_execution_result", "stdout": "1", "return_code": 0}


@pytest.mark.parametrize(
    ("name", "kind", "content", "is_error"),
    [
        ("web_search", "web_search_tool_result", _FOUND, False),
        ("web_search", "web_search_tool_result", {"type": "web_search_tool_result_error", "error_code": "x"}, True),
        ("web_fetch", "web_fetch_tool_result", {"type": "web_fetch_result", "url": "u"}, False),
        ("bash_code_execution", "bash_code_execution_tool_result", _RAN, False),
        ("code_execution", "code_execution_tool_result", {"type": "code_execution_tool_result_error"}, True),
        ("advisor", "advisor_tool_result", None, None),
    ],
)
def test_tools_that_the_provider_runs(name: str, kind: str, content: Any, is_error: Any) -> None:
    """Call and result stand in one message; the type of the content says whether it is an error."""
    blocks = [_use(name, {"q": 1}, "s1", "server_tool_use"), _result(content, "s1", kind), _text("So.")]
    trace = read({"type": "message", "role": "assistant", "stop_reason": "end_turn", "content": blocks})
    (call,) = trace.calls
    assert (call.name, call.args, call.result, call.is_error) == (name, {"q": 1}, content, is_error)
    assert trace.problems == ()


@pytest.mark.parametrize("flag", [True, False])
def test_calls_to_servers(flag: bool) -> None:
    """The server's name stands beside the arguments."""
    use = {**_use("add", {"a": 1}, "m1", "mcp_tool_use"), "server_name": "calc"}
    trace = read([_agent(use, _result([_text("2")], "m1", "mcp_tool_result", is_error=flag))])
    (call,) = trace.calls
    assert (call.name, call.metadata, call.result, call.is_error) == ("add", {"server_name": "calc"}, "2", flag)


def test_ids() -> None:
    """Reused ones go to the latest open call; a second result and an unknown id are problems; a call may stay open."""
    trace = read(
        [
            _agent(_use("a")),
            _user(_result("of a")),
            _agent(_use("b")),
            _user(_result("of b"), _result("twice"), _result("?", "t9")),
            _agent(_use("c", use_id="t3")),
        ]
    )
    assert [call.result for call in trace.calls] == ["of a", "of b", UNANSWERED]
    assert [problem.place for problem in trace.problems] == ["$[3].content[1]", "$[3].content[2]"]


@pytest.mark.parametrize("content", [[], None, ""])
def test_an_answer_without_anything_is_a_run_without_calls(content: Any) -> None:
    """It is evidence that nothing was called."""
    trace = read({"type": "message", "role": "assistant", "content": content, "stop_reason": "end_turn"})
    assert (trace.to_events(), trace.problems, trace.no_evidence) == ([{"agent": ""}], (), None)


def test_an_end_that_speaks_of_a_call_that_is_not_there() -> None:
    """A call may be hidden."""
    trace = read(_agent(_text("x"), type="message", stop_reason="tool_use"))
    assert [problem.reason for problem in trace.problems] == ["stop_reason is tool_use, and there is no call"]


def test_a_request() -> None:
    """What the system is to be stands beside the messages; tools are no calls."""
    messages = [{"role": "user", "content": "hi"}]
    tools = [{"name": "search", "input_schema": {}}]
    for system in ("Help.", [_text("Help.")]):
        trace = read({"model": "m", "system": system, "messages": messages, "tools": tools})
        assert trace.to_events() == [{"system": "Help."}, {"user": "hi"}]


def test_blocks_alone() -> None:
    """The content of an answer may be given by itself."""
    trace = read([_text("I look."), _use("a"), {"type": "thinking", "thinking": "hm"}])
    assert trace.to_events() == [{"agent": "I look."}, {"call": "a", "args": {}, "id": "t1"}]


def test_a_message_of_a_picture_is_a_turn() -> None:
    """It has no words; a message of results alone is no turn."""
    trace = read([_user({"type": "image"}), _agent(_use()), _user(_result())])
    assert trace.index.turn_starts == [0]


@pytest.mark.parametrize(
    ("message", "reason", "hides"),
    [
        (_agent({"type": "teleport_use", "name": "x"}), "an unknown block of type 'teleport_use'", True),
        (_agent({"toolUse": {"name": "x"}}), "a block without a type", True),
        (_agent({"type": ["tool_use"]}), "a block without a type", True),
        (_user({"type": "novelty"}), "an unknown block", False),
        (_agent({"type": "compaction", "content": "x"}), "summed up", True),
        (_agent(_use(name="")), "a call without a name", True),
        (_agent("text"), "a block is a mapping", True),
        ({"role": "assistant", "content": {"0": _use()}}, "a list was promised", True),
        ({"role": "robot", "content": "x"}, "an unknown role", True),
        ({"content": "x"}, "a block without a type", True),
        (None, "a message is a mapping", True),
    ],
)
def test_what_can_not_be_understood(message: Any, reason: str, hides: bool) -> None:
    """It is a problem with its place; a user's own words hide no call. The messages beside it are read."""
    trace = read([_agent(_use("a")), message, _user(_result("of a"))], "anthropic-messages")
    assert trace.calls[0].result == "of a"
    (problem,) = trace.problems
    assert reason in problem.reason
    assert (problem.place.startswith("$[1]"), problem.hides_call) == (True, hides)


@pytest.mark.parametrize(
    "document",
    [
        {"system": [{"text": "Help."}], "messages": [{"role": "user", "content": [{"text": "hi"}]}]},
        {
            "system": "Help.",
            "messages": [{"role": "user", "content": "hi"}, {"role": "user", "content": [{"text": "x"}]}],
        },
        {"type": "message_start", "message": {}},
        {"messages": [{"type": "human", "content": "hi"}], "system": "x"},
    ],
)
def test_other_formats_are_not_taken_for_it(document: Any) -> None:
    """Nor the events of a stream."""
    assert "anthropic-messages" not in [reader.name for reader in detected(document)]
