"""OpenAI chat completions, and what compatible servers make of them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tracewitness.errors import ReadError
from tracewitness.readers import read
from tracewitness.readers.registry import detected
from tracewitness.trace import MalformedArguments, Trace


def _call(name: str = "search", arguments: Any = "{}", **more: Any) -> dict[str, Any]:
    return {"id": "c1", "type": "function", "function": {"name": name, "arguments": arguments}, **more}


def _assistant(*calls: Any, **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": None, "tool_calls": list(calls), **more}


def _tool(content: Any = "ok", **more: Any) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": "c1", "content": content, **more}


def _response(message: Any, **more: Any) -> dict[str, Any]:
    choice = {"index": 0, "message": message, "finish_reason": "stop", **more}
    return {"object": "chat.completion", "choices": [choice]}


def _reasons(trace: Trace) -> list[str]:
    return [str(problem) for problem in trace.problems]


# ------------------------------------------------------------------------------------------------------------ arguments


@pytest.mark.parametrize(
    ("arguments", "args"),
    [
        ('{"a": 1}', {"a": 1}),
        (' {"a": 1}\n', {"a": 1}),
        ({"a": 1}, {"a": 1}),
        (json.dumps('{"a": 1}'), {"a": 1}),
        ('{"a": {"b": [1, null]}}', {"a": {"b": [1, None]}}),
        ('{"a": 1e400}', {"a": float("inf")}),
        (None, {}),
        ("null", {}),
        ("", {}),
        (" ", {}),
        ("[]", {}),
        ([], {}),
        ("{}", {}),
        ('{}""', {}),
        ('""', {}),
        ('"null"', {}),
        ({}, {}),
    ],
)
def test_arguments_that_are_an_object_or_none(arguments: Any, args: Any) -> None:
    """Text, mapping, encoded twice; and every way in which servers write that there are none."""
    trace = read([_assistant(_call(arguments=arguments))])
    assert [call.args for call in trace.calls] == [args]
    assert trace.problems == ()


def test_arguments_that_are_not_there() -> None:
    """Some servers leave the key out."""
    trace = read([_assistant({"id": "c1", "function": {"name": "search"}})])
    assert ([call.args for call in trace.calls], trace.problems) == ([{}], ())


@pytest.mark.parametrize(
    "arguments",
    [
        '{"a": 1}{"a": 2}',
        '{"a": 1',
        '{"a": 1, "a": 2}',
        "search for a lamp",
        "[1]",
        "5",
        '{"a": ' + "9" * 5000 + "}",
        "\ud800",
        json.dumps(json.dumps('{"a": 1}')),
        "[" * 100_000,
        [1],
        5,
        False,
    ],
    ids=lambda value: repr(value)[:20],
)
def test_malformed_arguments(arguments: Any) -> None:
    """They stay as they were, the call counts, and a problem tells of it that hides no call."""
    trace = read([_assistant(_call(arguments=arguments), _call("other", "{}"))])
    first, second = trace.calls
    assert isinstance(first.args, MalformedArguments)
    assert first.args.raw == arguments
    assert (second.name, second.args) == ("other", {})
    (problem,) = trace.problems
    assert (problem.hides_call, problem.place) == (False, "$[0].tool_calls[0]")


# --------------------------------------------------------------------------------------------------------------- calls


def test_calls_in_order_with_their_results() -> None:
    """Parallel calls keep their order, their results come in any."""
    trace = read(
        [
            {"role": "system", "content": "Help."},
            {"role": "user", "content": "Find both."},
            _assistant(_call("a", id="c1"), _call("b", id="c2"), content="I look."),
            _tool("of b", tool_call_id="c2"),
            _tool("of a"),
            {"role": "assistant", "content": "Done."},
        ]
    )
    assert trace.to_events() == [
        {"system": "Help."},
        {"user": "Find both."},
        {"agent": "I look."},
        {"call": "a", "args": {}, "id": "c1"},
        {"call": "b", "args": {}, "id": "c2"},
        {"result": "of b", "id": "c2"},
        {"result": "of a", "id": "c1"},
        {"agent": "Done."},
    ]
    assert [call.result for call in trace.calls] == ["of a", "of b"]


@pytest.mark.parametrize("missing", ["", None, "null"])
@pytest.mark.parametrize("named", [True, False])
def test_parallel_calls_without_ids(missing: Any, named: bool) -> None:
    """Results go by name where they have one, else in order."""
    calls = [_call("a", id=missing), _call("b", id=missing), _call("a", '{"n": 2}', id=missing)]
    order = [("b", "of b"), ("a", "of a"), ("a", "of a 2")] if named else [("", "of a"), ("", "of b"), ("", "of a 2")]
    results = [_tool(text, tool_call_id=missing, name=name) for name, text in order]
    trace = read([_assistant(*calls), *results])
    assert [call.result for call in trace.calls] == ["of a", "of b", "of a 2"]
    assert [call.id for call in trace.calls] == [None, None, None]
    assert [("of" in event, "id" in event) for event in trace.to_events()[3:]] == [(named, False)] * 3
    assert trace.problems == ()


def test_an_id_that_is_used_again() -> None:
    """The latest call with it that is open is meant, also where it is a call of another tool."""
    trace = read([_assistant(_call("a")), _tool("of a"), _assistant(_call("b")), _tool("of b")])
    assert [(call.name, call.result) for call in trace.calls] == [("a", "of a"), ("b", "of b")]
    assert trace.problems == ()


def test_two_results_for_one_id() -> None:
    """The second answers nothing, and is a problem."""
    trace = read([_assistant(_call("a")), _tool("first"), _tool("second")])
    assert trace.calls[0].result == "first"
    assert "no unanswered call with that id" in str(trace.problems[0])
    assert trace.problems[0].place == "$[2]"


def test_an_id_that_is_no_text() -> None:
    """It is told of, and counts as none."""
    trace = read([_assistant(_call("a", id={"x": 1})), _tool("of a", tool_call_id=["x"])])
    assert trace.calls[0].result == "of a"
    assert [reason.partition(",")[0] for reason in _reasons(trace)] == [
        "$[0].tool_calls[0]: an id is a text",
        "$[1]: an id is a text",
    ]


def test_custom_tools() -> None:
    """Their input is a free text."""
    custom = {"id": "c1", "type": "custom", "custom": {"name": "shell", "input": "ls -la"}}
    none = {"id": "c2", "type": "custom", "custom": {"name": "noop"}, "function": None}
    trace = read([_assistant(custom, none), _tool("a b")])
    assert [(call.name, call.args) for call in trace.calls] == [("shell", {"input": "ls -la"}), ("noop", {})]
    assert trace.calls[0].result == "a b"


def test_legacy_function_calls() -> None:
    """They have no id; results go by name."""
    trace = read(
        [
            {"role": "assistant", "content": None, "function_call": {"name": "a", "arguments": '{"n": 1}'}},
            {"role": "function", "name": "a", "content": "of a"},
            {"role": "assistant", "content": "Done.", "function_call": None, "tool_calls": None},
        ]
    )
    assert trace.to_events() == [
        {"call": "a", "args": {"n": 1}},
        {"result": "of a", "of": "a"},
        {"agent": "Done."},
    ]
    assert trace.calls[0].result == "of a"


def test_a_call_that_is_written_in_both_ways_is_one() -> None:
    """Some servers repeat a tool call as a function call; another one beside it counts."""
    same = read([_assistant(_call("a"), function_call={"name": "a", "arguments": "{}"})])
    other = read([_assistant(_call("a"), function_call={"name": "b", "arguments": "{}"})])
    assert ([call.name for call in same.calls], [call.name for call in other.calls]) == (["a"], ["a", "b"])


@pytest.mark.parametrize("empty", [{"name": "", "arguments": ""}, {"name": None, "arguments": None}, None, {}])
def test_an_empty_function_call_is_none(empty: Any) -> None:
    """Dumps and some servers write it with nothing in it."""
    trace = read(_response({"role": "assistant", "content": "Hello.", "function_call": empty, "tool_calls": []}))
    assert (trace.to_events(), trace.problems) == ([{"agent": "Hello."}], ())


def test_tool_definitions_are_no_calls() -> None:
    """A request lists them beside its messages."""
    request = {
        "model": "m",
        "messages": [{"role": "user", "content": "hi"}],
        "tools": [{"type": "function", "function": {"name": "search", "parameters": {}}}],
        "function_call": "auto",
    }
    assert read(request).to_events() == [{"user": "hi"}]


def test_calls_alone() -> None:
    """The calls of a message may be given by themselves."""
    assert [call.name for call in read([_call("a"), _call("b")]).calls] == ["a", "b"]
    definition = {"type": "function", "function": {"name": "search", "parameters": {}}}
    with pytest.raises(ReadError):
        read([definition])


def test_the_agent_is_the_message_s_name() -> None:
    """Where several agents speak, they say who they are."""
    trace = read([_assistant(_call("a"), name="billing", content="Yes.")])
    assert trace.to_events()[0] == {"agent": "Yes.", "by": "billing"}
    assert trace.calls[0].agent == "billing"


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        (_assistant({"id": "c1"}), "a tool call has a function"),
        (_assistant(5), "a tool call is a mapping"),
        (_assistant(_call("")), "a call without a name"),
        (_assistant(_call(name=7)), "a call without a name"),
        ({"role": "assistant", "tool_calls": {"0": _call()}}, "a list was promised"),
        ({"role": "assistant", "function_call": "search"}, "a function call is a mapping"),
        ({"role": "assistant", "content": [{"type": "tool-call", "toolName": "x"}]}, "an unknown part"),
        ({"role": "assistant", "content": 5}, "content is a text or a list"),
        ({"role": "user", "content": "hi", "tool_calls": [_call()]}, "a message of user that calls tools"),
        ({"role": "robot", "content": "hi"}, "an unknown role 'robot'"),
        ({"role": ["x"]}, "an unknown role"),
        ({"content": "hi"}, "neither a message nor a response"),
        ("hi", "a message is a mapping"),
    ],
)
def test_what_can_not_be_understood_may_hide_a_call(message: Any, reason: str) -> None:
    """It is a problem with its place; the messages beside it are read."""
    trace = read([_assistant(_call("a")), message, _tool("of a")])
    assert trace.calls[0].result == "of a"
    (problem,) = trace.problems
    assert reason in problem.reason
    assert problem.place.startswith("$[1]")
    assert problem.hides_call


# ------------------------------------------------------------------------------------------------------------- results


@pytest.mark.parametrize(
    ("content", "payload"),
    [
        ("", ""),
        ("0", "0"),
        ('{"a": 1}', '{"a": 1}'),
        (None, None),
        ([{"type": "text", "text": "one"}], "one"),
        ([], []),
        ([{"type": "text", "text": "one"}, {"type": "text", "text": "two"}], None),
        ({"a": 1}, {"a": 1}),
    ],
)
def test_payloads_stay_as_they_were_recorded(content: Any, payload: Any) -> None:
    """Only a list of one text is opened."""
    trace = read([_assistant(_call()), _tool(content)])
    assert trace.calls[0].result == (content if payload is None else payload)
    assert trace.problems == ()


def test_a_result_without_content() -> None:
    """An absent content is an answer too."""
    trace = read([_assistant(_call()), {"role": "tool", "tool_call_id": "c1"}])
    assert trace.calls[0].result is None


@pytest.mark.parametrize(
    ("more", "is_error"),
    [({}, None), ({"is_error": True}, True), ({"is_error": False}, False), ({"status": "error"}, True)],
)
def test_an_error_is_known_where_it_is_said(more: Any, is_error: Any) -> None:
    """The format has no word for it; a text that begins with Error does not make one."""
    trace = read([_assistant(_call()), _tool("Error: no", **more)])
    assert trace.calls[0].is_error is is_error


# ----------------------------------------------------------------------------------------------------------- responses


@pytest.mark.parametrize("content", [None, "", []])
def test_an_answer_without_anything_is_a_run_without_calls(content: Any) -> None:
    """It is evidence that nothing was called."""
    for source in (_response({"role": "assistant", "content": content}), [{"role": "assistant", "content": content}]):
        trace = read(source)
        assert (trace.calls, trace.problems, trace.no_evidence) == ((), (), None)
        assert trace.to_events() == [{"agent": ""}]


def test_the_first_choice_is_read() -> None:
    """By its index, not by where it stands."""
    choices = [{"index": index, "message": _assistant(_call(f"tool_{index}"))} for index in (1, 0, 2)]
    assert [call.name for call in read({"choices": choices}).calls] == ["tool_0"]


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], "a\nb"),
        ([{"type": "refusal", "refusal": "No."}], "No."),
        ([{"type": "text", "text": "a"}, {"type": "image_url", "image_url": {}}], "a"),
    ],
)
def test_contents_in_parts(content: Any, text: str) -> None:
    """Texts are put together; pictures are not said."""
    for role, key in (("assistant", "agent"), ("user", "user"), ("developer", "system")):
        trace = read([{"role": role, "content": content}])
        assert (trace.to_events(), trace.problems) == ([{key: text}], ())


def test_refusals_and_spoken_answers() -> None:
    """Both are words of the agent."""
    refusal = _response({"role": "assistant", "content": None, "refusal": "No."})
    spoken = _response({"role": "assistant", "content": None, "audio": {"id": "a", "transcript": "Yes."}})
    assert (read(refusal).to_events(), read(spoken).to_events()) == ([{"agent": "No."}], [{"agent": "Yes."}])


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"finish_reason": "tool_calls"}, "finish_reason is tool_calls, and there is no call"),
        ({"finish_reason": "function_call"}, "finish_reason is function_call, and there is no call"),
        ({"finish_reason": "content_filter"}, "withheld"),
        ({"error": {"message": "boom"}}, "the answer failed"),
    ],
)
def test_an_end_that_speaks_of_more_than_is_there(more: Any, reason: str) -> None:
    """A call may be hidden."""
    trace = read(_response({"role": "assistant", "content": "x"}, **more))
    (problem,) = trace.problems
    assert (reason in problem.reason, problem.place, problem.hides_call) == (True, "$.choices[0]", True)


def test_a_response_without_a_choice_is_no_evidence() -> None:
    """Nothing came back; beside other answers it is a problem."""
    empty = {"object": "chat.completion", "choices": []}
    assert read(empty).no_evidence == "the response has no choice"
    trace = read([_assistant(_call()), empty])
    assert (trace.no_evidence, _reasons(trace)) == (None, ["$[1]: the response has no choice"])


@pytest.mark.parametrize("message", [None, 5, "hi"])
def test_a_choice_without_a_message(message: Any) -> None:
    """It is a problem where the response says what it is."""
    trace = read(_response(message))
    assert "a choice has a message" in str(trace.problems[0])


def test_a_history_of_messages_and_responses() -> None:
    """A response stands where its message would."""
    trace = read(
        [
            {"role": "user", "content": "hi"},
            _response(_assistant(_call("a"))),
            _tool("of a"),
            _response({"role": "assistant", "content": "Done."}),
        ]
    )
    assert [(call.name, call.result) for call in trace.calls] == [("a", "of a")]
    assert trace.index.turn_starts == [0]


def test_a_request_with_its_answer() -> None:
    """Where both stand in one mapping, what was sent comes first."""
    trace = read({"messages": [{"role": "user", "content": "hi"}], **_response(_assistant(_call("a")))})
    assert trace.to_events() == [{"user": "hi"}, {"call": "a", "args": {}, "id": "c1"}]


# ----------------------------------------------------------------------------------------------------------- detection


@pytest.mark.parametrize("key", ["tool_call_id", "name", "tool_name"])
@pytest.mark.parametrize("role", ["tool", "function"])
def test_one_result_is_enough_to_know_it(key: str, role: str) -> None:
    """Whatever it names its call by."""
    trace = read([{"role": role, key: "x", "content": "ok"}])
    assert (len(trace.problems), len(trace)) == (1, 1)


@pytest.mark.parametrize(
    "document",
    [
        {"object": "chat.completion.chunk", "choices": [{"delta": {"content": "x"}}]},
        {"choices": [{"text": "a completion of old"}]},
        [5, {"choices": "x"}],
        {"messages": []},
        {"messages": [{"role": "assistant", "content": [{"toolUse": {"name": "x"}}]}]},
        [{"role": "assistant", "content": [{"type": "tool-call", "toolName": "x"}]}],
        [{"role": "assistant", "tool_calls": [{"id": "1", "name": "x", "arguments": {}}]}],
        [{"type": "ai", "content": "hi"}],
        [{"role": "user"}],
    ],
)
def test_other_formats_are_not_taken_for_it(document: Any) -> None:
    """Reading them as messages would lose their calls."""
    assert "openai-chat" not in [reader.name for reader in detected(document)]
