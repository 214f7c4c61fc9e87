"""Gemini: parts of every kind in both spellings, responses, requests and histories."""

from __future__ import annotations

from typing import Any

import pytest

from tracewitness.readers import read
from tracewitness.readers.registry import detected
from tracewitness.trace import UNANSWERED, MalformedArguments


def _call(name: str = "search", **more: Any) -> dict[str, Any]:
    return {"functionCall": {"name": name, **more}}


def _result(name: str = "search", response: Any = None, **more: Any) -> dict[str, Any]:
    return {"functionResponse": {"name": name, "response": response, **more}}


def _model(*parts: Any) -> dict[str, Any]:
    return {"role": "model", "parts": list(parts)}


def _user(*parts: Any) -> dict[str, Any]:
    return {"role": "user", "parts": list(parts)}


def _response(*parts: Any, **more: Any) -> dict[str, Any]:
    return {"candidates": [{"content": _model(*parts), "finishReason": "STOP", **more}]}


def test_a_history() -> None:
    """Words, parallel calls without ids, and results by name, first in first out."""
    trace = read(
        [
            _user({"text": "Find "}, {"text": "both."}),
            _model({"text": "hm", "thought": True}, _call("a", args={"n": 1}), _call("b"), _call("a", args={"n": 2})),
            _user(_result("b", {"r": "b"}), _result("a", {"r": "a1"}), _result("a", {"r": "a2"})),
            _model({"text": "Do"}, {"text": "ne."}),
        ]
    )
    assert trace.to_events() == [
        {"user": "Find both."},
        {"call": "a", "args": {"n": 1}},
        {"call": "b", "args": {}},
        {"call": "a", "args": {"n": 2}},
        {"result": {"r": "b"}, "of": "b"},
        {"result": {"r": "a1"}, "of": "a"},
        {"result": {"r": "a2"}, "of": "a"},
        {"agent": "Done."},
    ]
    assert [call.result for call in trace.calls] == [{"r": "a1"}, {"r": "b"}, {"r": "a2"}]
    assert trace.problems == ()


def test_both_spellings() -> None:
    """Each key for itself, as proto dumps and JSON mix them, with their nulls."""
    trace = read(
        {
            "candidates": [
                {
                    "content": {
                        "role": "model",
                        "parts": [
                            {"function_call": {"name": "a", "args": None, "id": None}, "text": None, "thought": None},
                            {"functionCall": {"name": "b", "args": {"camelCase": 1, "snake_case": None}}},
                            {"function_response": {"name": "a", "response": {"x": 1}}},
                        ],
                    },
                    "finish_reason": "STOP",
                    "finishMessage": None,
                }
            ],
            "usage_metadata": {},
        }
    )
    assert trace.to_events() == [
        {"call": "a", "args": {}},
        {"call": "b", "args": {"camelCase": 1, "snake_case": None}},
        {"result": {"x": 1}, "of": "a"},
    ]


def test_ids_where_there_are_any() -> None:
    """They are what results go by."""
    trace = read(
        [
            _model(_call("a", id="1"), _call("a", id="2")),
            _user(_result("a", "two", id="2"), _result("a", "one", id="1")),
        ]
    )
    assert [call.result for call in trace.calls] == ["one", "two"]


def test_errors_are_not_guessed() -> None:
    """A payload with the key error is a payload."""
    call = read([_model(_call()), _user(_result(response={"error": "no"}))]).calls[0]
    assert (call.result, call.is_error) == ({"error": "no"}, None)


def test_malformed_arguments() -> None:
    """Arguments that are no object stay as they were."""
    trace = read(_response(_call(args=[1])))
    assert trace.calls[0].args == MalformedArguments([1], "arguments are an object, this is a list")
    assert trace.problems[0].place == "$.candidates[0].content.parts[0]"


@pytest.mark.parametrize(
    ("outcome", "is_error"),
    [("OUTCOME_OK", False), ("OUTCOME_FAILED", True), ("OUTCOME_DEADLINE_EXCEEDED", True), (None, None), (1, False)],
)
def test_code_that_the_provider_runs(outcome: Any, is_error: Any) -> None:
    """It is a call with the code as its argument, and says whether it failed."""
    trace = read(
        _response(
            {"executableCode": {"language": "PYTHON", "code": "1 + 1"}},
            {"codeExecutionResult": {"outcome": outcome, "output": "2"}},
            {"text": "2"},
        )
    )
    (call,) = trace.calls
    assert (call.name, call.args) == ("code_execution", {"code": "1 + 1", "language": "PYTHON"})
    assert (call.result, call.is_error, trace.problems) == ("2", is_error, ())


def test_tools_that_the_provider_runs() -> None:
    """They are called by their type."""
    trace = read(
        _response(
            {"toolCall": {"toolType": "GOOGLE_MAPS", "args": {"q": 1}, "id": "1"}},
            {"tool_response": {"tool_type": "GOOGLE_MAPS", "response": {"r": 2}, "id": "1"}},
        )
    )
    assert [(call.name, call.args, call.result) for call in trace.calls] == [("GOOGLE_MAPS", {"q": 1}, {"r": 2})]


@pytest.mark.parametrize(
    "candidate",
    [
        {"content": {"role": "model", "parts": []}, "finishReason": "STOP"},
        {"content": {"role": "model"}, "finishReason": "STOP"},
        {"content": {}, "finishReason": "MAX_TOKENS"},
        {"finishReason": "STOP"},
        {"content": None, "finishReason": 1},
        {"content": {"parts": [{"text": ""}]}},
    ],
)
def test_an_answer_without_anything_is_a_run_without_calls(candidate: Any) -> None:
    """It is evidence that nothing was called."""
    trace = read({"candidates": [candidate]})
    assert (trace.to_events(), trace.problems, trace.no_evidence) == ([{"agent": ""}], (), None)


@pytest.mark.parametrize(
    "reason", ["MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "SAFETY", "A_NEW_ONE", 10, ["x"]]
)
def test_an_end_that_may_hide_a_call(reason: Any) -> None:
    """A call that was malformed or not allowed has no part; what was withheld may have had one."""
    for key in ("finishReason", "finish_reason"):
        trace = read({"candidates": [{key: reason, "finishMessage": "Malformed call: print(x)"}]})
        (problem,) = trace.problems
        assert (problem.place, problem.hides_call, trace.calls) == ("$.candidates[0]", True, ())
    assert "print(x)" in problem.reason or reason == ["x"]


def test_a_request_that_was_blocked_is_no_evidence() -> None:
    """There is no candidate; beside other answers it is a problem."""
    blocked = {"promptFeedback": {"blockReason": "SAFETY"}}
    assert read(blocked).no_evidence == "the response has no candidate"
    trace = read([_user({"text": "hi"}), blocked])
    assert trace.no_evidence is None
    assert [problem.reason for problem in trace.problems] == [
        "the request was blocked: 'SAFETY'",
        "the response has no candidate",
    ]


def test_the_first_candidate_is_read() -> None:
    """By its index, not by where it stands."""
    candidates = [{"index": index, "content": _model(_call(f"tool_{index}"))} for index in (1, 0)]
    assert [call.name for call in read({"candidates": candidates}).calls] == ["tool_0"]


def test_a_request() -> None:
    """With what the system is to be, in either spelling; tools are no calls."""
    tools = [{"functionDeclarations": [{"name": "search"}]}]
    for key in ("systemInstruction", "system_instruction"):
        trace = read({key: {"parts": [{"text": "Help."}]}, "contents": [_user({"text": "hi"})], "tools": tools})
        assert trace.to_events() == [{"system": "Help."}, {"user": "hi"}]
    trace = read({"systemInstruction": "Help.", "contents": [_user({"text": "hi"}), {"role": "robot", "parts": []}]})
    assert trace.to_events()[0] == {"system": "Help."}
    assert [problem.place for problem in trace.problems] == ["$.contents[1]"]


def test_roles() -> None:
    """A content without a role is the user's; results may come from a role of their own."""
    trace = read([{"parts": [{"text": "hi"}]}, _model(_call()), {"role": "function", "parts": [_result(response=1)]}])
    assert trace.to_events()[0] == {"user": "hi"}
    assert trace.calls[0].result == 1


def test_a_message_of_a_picture_is_a_turn() -> None:
    """It has no words; a message of results alone is no turn."""
    trace = read([_user({"inlineData": {}}), _model(_call()), _user(_result(response=1))])
    assert trace.index.turn_starts == [0]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (_model({"teleport": {"name": "x"}}), "an unknown part with ['teleport']"),
        (_model({"functionCall": "search"}), "a function_call is a mapping"),
        (_model(_call("")), "a call without a name"),
        (_model(_call("b", willContinue=True)), "not complete"),
        (_model({"text": 5}), "a text is none"),
        (_model("hi"), "a part is a mapping"),
        ({"role": "model", "parts": {"0": _call()}}, "a list was promised"),
        ({"role": "robot", "parts": []}, "an unknown role"),
        ({"candidates": [{"content": "x"}]}, "a content is a mapping"),
        ({"candidates": ["x"]}, "a candidate is a mapping"),
        ({"x": 1}, "neither a content nor a response"),
        (3, "a content is a mapping"),
    ],
)
def test_what_can_not_be_understood_may_hide_a_call(content: Any, reason: str) -> None:
    """It is a problem with its place; the contents beside it are read."""
    trace = read([_model(_call("a")), content, _user(_result("a", "of a"))])
    assert trace.calls[0].result == "of a"
    problem = trace.problems[0]
    assert reason in problem.reason
    assert (problem.place.startswith("$[1]"), problem.hides_call) == (True, True)


def test_an_open_call_and_an_unknown_result() -> None:
    """The one stays open, the other is a problem."""
    trace = read([_model(_call("a")), _user(_result("b", 1))])
    assert trace.calls[0].result is UNANSWERED
    assert "no unanswered call to it" in trace.problems[0].reason


@pytest.mark.parametrize(
    "document",
    [
        [{"role": "user", "parts": [{"type": "text", "text": "hi"}]}],
        [{"role": "user", "parts": [{"kind": "text", "text": "hi"}]}],
        [{"author": "agent", "content": _model(_call())}],
        {"usageMetadata": {}},
    ],
)
def test_other_formats_are_not_taken_for_it(document: Any) -> None:
    """Parts of other formats say their type."""
    assert "gemini" not in [reader.name for reader in detected(document)]


@pytest.mark.parametrize(
    ("part", "events"),
    [
        ({"text": "Hi.", **_call()}, [{"agent": "Hi."}, {"call": "search", "args": {}}]),
        ({"text": "", **_call()}, [{"call": "search", "args": {}}]),
        ({"text": "hm", "thought": True, **_call()}, [{"call": "search", "args": {}}]),
        (
            {"text": "Hi.", "executableCode": {"code": "1"}},
            [{"agent": "Hi."}, {"call": "code_execution", "args": {"code": "1"}}],
        ),
    ],
)
def test_text_beside_a_call_in_one_part(part: Any, events: list[Any]) -> None:
    """Both are read."""
    for document in ([_model(part)], _response(part)):
        trace = read(document)
        assert trace.to_events() == events
        assert trace.problems == ()


def test_text_beside_a_result_in_one_part() -> None:
    """It is what the user said."""
    trace = read([_model(_call()), _user({"text": "So?", **_result(response={"r": 1})})])
    assert trace.to_events()[1:] == [{"result": {"r": 1}, "of": "search"}, {"user": "So?"}]


def test_text_beside_a_call_in_one_block_of_bedrock() -> None:
    """Its blocks are much like parts."""
    use = {"toolUseId": "c1", "name": "a", "input": {}}
    trace = read([{"role": "assistant", "content": [{"text": "Hi.", "toolUse": use}]}])
    assert trace.to_events() == [{"agent": "Hi."}, {"call": "a", "args": {}, "id": "c1"}]
    assert trace.problems == ()
