"""Bedrock Converse, Cohere, Mistral's conversations, Ollama, Gemini's interactions, OpenAI Assistants, and choices."""

from __future__ import annotations

import json
from typing import Any

import pytest
from provider_support import PLAN, Tools, assert_as_planned, corpora, scripted

from tracewitness.errors import ReadError
from tracewitness.readers import read
from tracewitness.readers.registry import detected
from tracewitness.trace import MalformedArguments, Trace

CALLED = {"call": "search", "args": {"q": "lamp"}, "id": "c1"}
ANSWERED = {"result": "a lamp", "id": "c1"}
ASKED, DONE, TOLD = {"user": "hi"}, {"agent": "Done."}, {"system": "Help."}
ARGS = {"q": "lamp"}


def _reasons(trace: Trace) -> list[str]:
    return [str(problem) for problem in trace.problems]


def _without_id(event: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in event.items() if key != "id"}


# Bedrock
USE = {"toolUse": {"toolUseId": "c1", "name": "search", "input": ARGS}}


def _result(*content: Any, **more: Any) -> dict[str, Any]:
    return {"role": "user", "content": [{"toolResult": {"toolUseId": "c1", "content": list(content), **more}}]}


def _message(*blocks: Any, role: str = "assistant") -> dict[str, Any]:
    return {"role": role, "content": list(blocks)}


def _converse(*blocks: Any, stop: str = "end_turn") -> dict[str, Any]:
    return {"output": {"message": _message(*blocks)}, "stopReason": stop, "usage": {}}


# Cohere
V1_CALL = {"name": "search", "parameters": ARGS}
V2_CALL = {"id": "c1", "type": "function", "function": {"name": "search", "arguments": '{"q": "lamp"}'}}
# Mistral
ENTRY = {"object": "entry", "type": "function.call", "tool_call_id": "c1", "name": "search", "arguments": ARGS}
# Gemini's interactions
STEP = {"type": "function_call", "id": "c1", "name": "search", "arguments": ARGS}

#: By case: the format's name, the document, what is read.
CASES: dict[str, tuple[str, Any, list[dict[str, Any]]]] = {
    "Bedrock: a response": ("bedrock-converse", _converse(USE, stop="tool_use"), [CALLED]),
    "Bedrock: a request": (
        "bedrock-converse",
        {
            "system": [{"text": "Help."}, {"cachePoint": {"type": "default"}}],
            "toolConfig": {"tools": [{"toolSpec": {"name": "other"}}]},
            "messages": [
                _message({"text": "h"}, {"image": {}}, {"text": "i"}, role="user"),
                _message({"reasoningContent": {"reasoningText": {"text": "?"}}}, {"text": "I look."}, USE),
                _result({"json": {"found": 1}}, status="success"),
                _message({"text": "Done."}),
            ],
        },
        [
            TOLD,
            {"user": "h\ni"},
            {"agent": "I look."},
            CALLED,
            {"result": {"found": 1}, "id": "c1", "is_error": False},
            DONE,
        ],
    ),
    "Bedrock: messages without calls": (
        "bedrock-converse",
        [_message({"text": "hi"}, role="user"), _message({"text": "Done."})],
        [ASKED, DONE],
    ),
    "Bedrock: a failure": (
        "bedrock-converse",
        [_message(USE), _result({"text": "no"}, status="error")],
        [CALLED, {"result": "no", "id": "c1", "is_error": True}],
    ),
    "Bedrock: a result of two parts, and no status": (
        "bedrock-converse",
        [_message(USE), _result({"text": "a"}, {"json": 1})],
        [CALLED, {"result": [{"text": "a"}, {"json": 1}], "id": "c1"}],
    ),
    "Bedrock: responses, requests and blocks in a list": (
        "bedrock-converse",
        [{"messages": [_message({"text": "hi"}, role="user")]}, _converse(USE), USE],
        [ASKED, CALLED, CALLED],
    ),
    "Bedrock: results and words in one message": (
        "bedrock-converse",
        [_message(USE), {"role": "user", "content": [{"text": "hi"}, *_result({"text": "a lamp"})["content"]]}],
        [CALLED, ANSWERED, ASKED],
    ),
    "Bedrock: an empty answer": ("bedrock-converse", _converse(), [{"agent": ""}]),
    "Cohere: a response of old": (
        "cohere-chat",
        {"text": "I look.", "generation_id": "g", "finish_reason": "COMPLETE", "tool_calls": [V1_CALL]},
        [{"agent": "I look."}, _without_id(CALLED)],
    ),
    "Cohere: a request of old": (
        "cohere-chat",
        {
            "preamble": "Help.",
            "chat_history": [
                {"role": "USER", "message": "hi"},
                {"role": "CHATBOT", "message": "", "tool_calls": [V1_CALL]},
            ],
            "message": "",
            "tool_results": [{"call": V1_CALL, "outputs": [{"found": 1}]}],
        },
        [TOLD, ASKED, _without_id(CALLED), {"result": {"found": 1}, "of": "search"}],
    ),
    "Cohere: a response with its history": (
        "cohere-chat",
        {
            "text": "Done.",
            "response_id": "r",
            "chat_history": [{"role": "USER", "message": "hi"}, {"role": "CHATBOT", "message": "Done."}],
        },
        [ASKED, DONE],
    ),
    "Cohere: results in another order": (
        "cohere-chat",
        [
            {
                "role": "CHATBOT",
                "message": "",
                "tool_calls": [V1_CALL, {"name": "search", "parameters": {"q": "desk"}}],
            },
            {
                "role": "TOOL",
                "tool_results": [
                    {"call": {"name": "search", "parameters": {"q": "desk"}}, "outputs": [{"n": 2}]},
                    {"call": V1_CALL, "outputs": [{"n": 1}, {"n": 0}]},
                ],
            },
        ],
        [
            _without_id(CALLED),
            {"call": "search", "args": {"q": "desk"}},
            {"result": [{"n": 1}, {"n": 0}], "of": "search"},
            {"result": {"n": 2}, "of": "search"},
        ],
    ),
    "Cohere: a response": (
        "openai-chat",
        {
            "id": "r",
            "finish_reason": "TOOL_CALL",
            "message": {"role": "assistant", "tool_plan": "?", "tool_calls": [V2_CALL]},
        },
        [CALLED],
    ),
    "Cohere: a document for a result": (
        "openai-chat",
        [
            {"role": "assistant", "tool_calls": [V2_CALL]},
            {"role": "tool", "tool_call_id": "c1", "content": [{"type": "document", "document": {"data": {"a": 1}}}]},
        ],
        [CALLED, {"result": {"a": 1}, "id": "c1"}],
    ),
    "Ollama": (
        "openai-chat",
        {
            "model": "m",
            "message": {
                "role": "assistant",
                "content": "",
                "tool_calls": [{"function": {"name": "search", "arguments": ARGS}}],
            },
            "done": True,
        },
        [_without_id(CALLED)],
    ),
    "Ollama: a request": (
        "openai-chat",
        {
            "model": "m",
            "messages": [
                {"role": "user", "content": "hi", "images": None},
                {
                    "role": "assistant",
                    "content": "",
                    "tool_calls": [{"function": {"name": "search", "arguments": ARGS}}],
                },
                {"role": "tool", "tool_name": "search", "content": "a lamp"},
            ],
        },
        [ASKED, _without_id(CALLED), {"result": "a lamp", "of": "search"}],
    ),
    "Mistral: the text null for an id": (
        "openai-chat",
        [{"role": "assistant", "tool_calls": [{"id": "null", "function": {"name": "search", "arguments": ARGS}}]}],
        [_without_id(CALLED)],
    ),
    "Mistral: a conversation": (
        "mistral-conversations",
        {
            "object": "conversation.history",
            "entries": [
                {"type": "message.input", "role": "user", "content": "hi"},
                {**ENTRY, "agent_id": "a1", "created_at": "2026-01-01T00:00:00Z"},
                {"type": "function.result", "tool_call_id": "c1", "result": "a lamp"},
                {
                    "type": "agent.handoff",
                    "previous_agent_id": "a1",
                    "next_agent_id": "a2",
                    "next_agent_name": "driver",
                },
                {"type": "tool.execution", "id": "t1", "name": "web_search", "arguments": "{}", "info": {"n": 1}},
                {"type": "message.output", "agent_id": "a2", "content": [{"type": "text", "text": "Done."}]},
            ],
        },
        [
            ASKED,
            {**CALLED, "by": "a1", "at": "2026-01-01T00:00:00Z"},
            ANSWERED,
            {"transfer": "driver", "by": "a1"},
            {"call": "web_search", "args": {}, "id": "t1"},
            {"result": {"n": 1}, "id": "t1", "of": "web_search"},
            {"agent": "Done.", "by": "driver"},
        ],
    ),
    "Mistral: a request": (
        "mistral-conversations",
        {"model": "m", "instructions": "Help.", "inputs": [ENTRY]},
        [TOLD, CALLED],
    ),
    "Mistral: a response, an entry": (
        "mistral-conversations",
        [{"object": "conversation.response", "conversation_id": "x", "outputs": [ENTRY]}, ENTRY],
        [CALLED, CALLED],
    ),
    "interactions: a response": (
        "gemini-interactions",
        {"object": "interaction", "status": "requires_action", "steps": [{"type": "thought", "signature": "x"}, STEP]},
        [CALLED],
    ),
    "interactions: as they were": (
        "gemini-interactions",
        {"id": "i", "outputs": [{"type": "text", "text": "Done."}, STEP]},
        [DONE, CALLED],
    ),
    "interactions: a request with steps": (
        "gemini-interactions",
        {
            "model": "m",
            "system_instruction": "Help.",
            "input": [
                {"type": "user_input", "content": [{"type": "text", "text": "hi"}, {"type": "image"}]},
                STEP,
                {"type": "function_result", "call_id": "c1", "name": "search", "result": "no", "is_error": True},
                {"type": "model_output", "content": [{"type": "text", "text": "Done."}]},
            ],
        },
        [TOLD, ASKED, CALLED, {"result": "no", "of": "search", "id": "c1", "is_error": True}, DONE],
    ),
    "interactions: turns": (
        "gemini-interactions",
        {
            "object": "interaction",
            "input": [
                {"role": "user", "content": "hi"},
                {"role": "model", "content": [{"type": "text", "text": "Done."}]},
            ],
        },
        [ASKED, DONE],
    ),
    "interactions: contents alone": (
        "gemini-interactions",
        {"object": "interaction", "input": [{"type": "text", "text": "hi"}, {"type": "image"}], "steps": []},
        [ASKED],
    ),
    "interactions: a text alone": ("gemini-interactions", {"object": "interaction", "input": "hi"}, [ASKED]),
    "interactions: a turn with calls": (
        "gemini-interactions",
        {"input": [{"role": "model", "content": [STEP]}], "object": "interaction"},
        [CALLED],
    ),
    "interactions: tools of the provider": (
        "gemini-interactions",
        [
            {"type": "google_search_call", "id": "g1", "arguments": {"queries": ["x"]}},
            {
                "type": "google_search_result",
                "call_id": "g1",
                "result": [{"search_suggestions": "y"}],
                "is_error": False,
            },
            {"type": "mcp_server_tool_call", "id": "m1", "name": "ask", "server_name": "wiki", "arguments": {}},
        ],
        [
            {"call": "google_search", "args": {"queries": ["x"]}, "id": "g1"},
            {"result": [{"search_suggestions": "y"}], "id": "g1", "is_error": False},
            {"call": "ask", "args": {}, "id": "m1", "metadata": {"server_name": "wiki"}},
        ],
    ),
    "Assistants: a run": (
        "openai-assistants",
        {
            "object": "thread.run",
            "status": "requires_action",
            "required_action": {"submit_tool_outputs": {"tool_calls": [V2_CALL]}},
        },
        [CALLED],
    ),
    "Assistants: outputs": (
        "openai-assistants",
        [
            {"object": "thread.run", "required_action": {"submit_tool_outputs": {"tool_calls": [V2_CALL]}}},
            {"tool_outputs": [{"tool_call_id": "c1", "output": "a lamp"}]},
        ],
        [CALLED, ANSWERED],
    ),
    "Assistants: steps, the latest first": (
        "openai-assistants",
        {
            "object": "list",
            "data": [
                {
                    "object": "thread.message",
                    "created_at": 2,
                    "role": "assistant",
                    "content": [{"type": "text", "text": {"value": "Done."}}, {"type": "image_file"}],
                },
                {
                    "object": "thread.run.step",
                    "created_at": 1,
                    "step_details": {
                        "tool_calls": [
                            {**V2_CALL, "function": {**V2_CALL["function"], "output": "a lamp"}},
                            {
                                "id": "i1",
                                "type": "code_interpreter",
                                "code_interpreter": {"input": "1", "outputs": ["1"]},
                            },
                        ]
                    },
                },
            ],
        },
        [
            CALLED,
            ANSWERED,
            {"call": "code_interpreter", "args": {"input": "1"}, "id": "i1"},
            {"result": ["1"], "id": "i1"},
            DONE,
        ],
    ),
    "Assistants: what was watched": (
        "openai-assistants",
        [
            {"id": "r1", "object": "thread.run", "status": "queued"},
            {"id": "s1", "object": "thread.run.step", "status": "in_progress", "step_details": {"tool_calls": []}},
            {"id": "s1", "object": "thread.run.step", "status": "completed", "step_details": {"tool_calls": [V2_CALL]}},
            {"id": "r1", "object": "thread.run", "status": "completed"},
        ],
        [CALLED],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_what_is_read(name: str) -> None:
    """The format is found, by its reader alone, and nothing in it is a problem."""
    form, document, events = CASES[name]
    assert [reader.name for reader in detected(document)] == [form]
    for trace in (read(document), read(document, form), read(json.dumps(document))):
        assert (trace.to_events(), _reasons(trace)) == (events, [])


BROKEN: dict[str, tuple[Any, str, bool]] = {
    "Bedrock: withheld": (
        _converse({"text": "x"}, stop="guardrail_intervened"),
        "stopReason guardrail_intervened",
        True,
    ),
    "Bedrock: malformed": (_converse({"text": "x"}, stop="malformed_tool_use"), "malformed_tool_use", True),
    "Bedrock: the call is missing": (_converse({"text": "x"}, stop="tool_use"), "there is no call", True),
    "Bedrock: an unknown block": (_converse(USE, {"novelty": 1}), "an unknown block", True),
    "Bedrock: an unknown block of the user": (
        _message(USE["toolUse"] and {"novelty": 1}, {"toolResult": {}}, role="user"),
        "an unknown block",
        False,
    ),
    "Bedrock: no block": (_message(USE, 5), "a block is a mapping", True),
    "Bedrock: a call without a name": (_converse({"toolUse": {"toolUseId": "c1"}}), "a call without a name", True),
    "Bedrock: blocks that are none": (
        [_message(USE), {"role": "assistant", "content": "x"}],
        "a list was promised",
        True,
    ),
    "Bedrock: a role": ([_message(USE), {"role": "robot", "content": []}], "an unknown role 'robot'", True),
    "Cohere: failed": ({"text": "", "generation_id": "g", "finish_reason": "ERROR"}, "finish_reason ERROR", True),
    "Cohere: failed, of late": ({"finish_reason": "ERROR", "message": {"content": []}}, "finish_reason error", True),
    "Cohere: a role": ([{"role": "USER", "message": "hi"}, {"role": "ROBOT"}], "an unknown role", True),
    "Cohere: neither": ([{"role": "USER", "message": "hi"}, {"x": 1}], "neither a message nor a response", True),
    "Cohere: a result without its call": (
        [{"role": "TOOL", "tool_results": [{"outputs": []}]}, {"role": "USER", "message": "hi"}],
        "a result has its call",
        False,
    ),
    "Ollama: not done": ({"message": {"role": "assistant", "content": "x"}, "done": False}, "done is false", True),
    "Mistral: an entry": ([ENTRY, {"type": "novelty"}], "an unknown entry of type 'novelty'", True),
    "Mistral: neither": ([ENTRY, {"x": 1}], "neither an entry nor a response", True),
    "Mistral: to nobody": ([ENTRY, {"type": "agent.handoff"}], "a transfer to nobody", False),
    "interactions: failed": (
        {"object": "interaction", "status": "failed", "steps": []},
        "the interaction is failed",
        True,
    ),
    "interactions: a step": ([STEP, {"type": "novelty"}], "an unknown step of type 'novelty'", True),
    "interactions: a content": (
        [STEP, {"type": "model_output", "content": [{"type": "novelty"}]}],
        "an unknown content",
        True,
    ),
    "interactions: a role": (
        {"object": "interaction", "input": [{"role": "robot", "content": "x"}]},
        "an unknown role",
        True,
    ),
    "Assistants: failed": ({"object": "thread.run", "status": "failed", "last_error": {}}, "the run is failed", True),
    "Assistants: expired": ({"object": "thread.run", "status": "expired"}, "the run is expired", True),
    "Assistants: an action": ({"object": "thread.run", "status": "requires_action"}, "an action is required", True),
    "Assistants: a failed step": ({"object": "thread.run.step", "last_error": {"code": "x"}}, "the step failed", True),
    "Assistants: a part": (
        {"object": "thread.message", "role": "user", "content": [{"type": "novelty"}]},
        "an unknown part",
        False,
    ),
    "Assistants: neither": ([{"object": "thread.run"}, {"x": 1}], "neither a run nor what belongs to one", True),
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_can_not_be_understood(name: str) -> None:
    """It is a problem; whether it may hide a call is told."""
    document, reason, hides = BROKEN[name]
    found = [problem for problem in read(document).problems if reason in problem.reason]
    assert [problem.hides_call for problem in found] == [hides]


@pytest.mark.parametrize("arguments", ['{"a": 1}{"a": 2}', [1], 5, "x"], ids=lambda value: repr(value)[:20])
def test_malformed_arguments_stay_as_they_were(arguments: Any) -> None:
    """Whatever stands there."""
    for document in (
        _converse({"toolUse": {"name": "a", "input": arguments}}),
        {"text": "", "generation_id": "g", "tool_calls": [{"name": "a", "parameters": arguments}]},
        {"outputs": [{**ENTRY, "arguments": arguments}]},
        {"object": "interaction", "steps": [{**STEP, "arguments": arguments}]},
    ):
        (call,) = read(document).calls
        assert isinstance(call.args, MalformedArguments)
        assert call.args.raw == arguments


@pytest.mark.parametrize("arguments", [None, "", "null", [], {}, '{}""'])
def test_no_arguments(arguments: Any) -> None:
    """In every way in which they are written."""
    for document in (
        _converse({"toolUse": {"name": "a", "input": arguments}}),
        {"text": "", "generation_id": "g", "tool_calls": [{"name": "a", "parameters": arguments}]},
        {"outputs": [{**ENTRY, "arguments": arguments}]},
        {"object": "interaction", "steps": [{**STEP, "arguments": arguments}]},
    ):
        assert [call.args for call in read(document).calls] == [{}]


@pytest.mark.parametrize(
    "name", ["bedrock-converse", "cohere-chat", "mistral-conversations", "gemini-interactions", "openai-assistants"]
)
def test_a_document_that_is_nothing_of_the_kind(name: str) -> None:
    """It says what was expected."""
    for document in ({"x": 1}, {}):
        with pytest.raises(ReadError, match="this is"):
            read(document, name)


# ------------------------------------------------------------------------------------------------------ several choices

CHOICES = {
    "object": "chat.completion",
    "choices": [
        {"index": 1, "message": {"content": None, "tool_calls": [V2_CALL]}},
        {"index": 0, "message": {"content": "Done."}},
    ],
}


def test_one_of_several_choices() -> None:
    """The first, unless another is asked for: by its index, wherever it stands."""
    assert read(CHOICES).to_events() == [DONE]
    assert read(CHOICES, "openai-chat").to_events() == [DONE]
    assert read(CHOICES, "openai-chat", choice=1).to_events() == [CALLED]
    assert read(json.dumps([CHOICES]), "openai-chat", choice=1).to_events() == [CALLED]
    unnumbered = {"choices": [{"message": choice["message"]} for choice in CHOICES["choices"]]}
    assert read(unnumbered, "openai-chat", choice=1).to_events() == [DONE]
    from_one = {"choices": [{**choice, "index": choice["index"] + 1} for choice in CHOICES["choices"]]}
    assert read(from_one).to_events() == [DONE]


CANDIDATES = {
    "candidates": [
        {"index": index, "content": {"role": "model", "parts": [part]}, "finishReason": "STOP"}
        for index, part in ((1, {"functionCall": {"name": "search", "args": {}}}), (0, {"text": "Done."}))
    ]
}
CHUNKS = [
    {"choices": [{"index": choice["index"], "delta": choice["message"], "finish_reason": "stop"}]}
    for choice in CHOICES["choices"]
]


@pytest.mark.parametrize(
    ("name", "document"),
    [
        ("openai-chat", CHOICES),
        ("openai-chat", {"messages": [{"role": "user", "content": "hi"}], **CHOICES}),
        ("openai-chat-stream", CHUNKS),
        ("gemini", CANDIDATES),
        ("gemini-stream", [{**CANDIDATES, "responseId": "r"}, {"candidates": [], "responseId": "r"}]),
    ],
)
def test_calls_of_choices_that_are_not_read(name: str, document: Any) -> None:
    """They were not made, unless the program took that choice: it is noted, until it is told which one it took."""
    trace = read(document, name)
    assert trace.calls == ()
    assert [(problem.hides_call, "choice=" in problem.reason) for problem in trace.problems] == [(False, True)]
    assert (read(document, name, choice=0).calls, read(document, name, choice=0).problems) == ((), ())
    taken = read(document, name, choice=1)
    assert len(taken.calls) == 1
    assert taken.problems == ()


def test_choices_without_calls_are_passed_over() -> None:
    """Other words for an answer are no other deeds."""
    document = {"choices": [{"index": index, "message": {"content": str(index)}} for index in range(3)]}
    assert read(document).problems == ()
    several = [{"content": {"role": "model", "parts": [{"text": text}]}, "finishReason": "STOP"} for text in "ab"]
    trace = read({"candidates": several}, "gemini")
    assert (trace.to_events(), trace.problems) == ([{"agent": "a"}], ())
    missing = read({"candidates": several}, "gemini", choice=2)
    assert missing.no_evidence == "the response has no candidate 2"


def test_a_choice_that_is_not_there() -> None:
    """Then the answer that was meant is not in the recording."""
    trace = read(CHOICES, "openai-chat", choice=2)
    assert (trace.no_evidence, _reasons(trace)) == ("the response has no choice 2", ["$: the response has no choice 2"])


def test_options_that_a_format_has_not() -> None:
    """They are errors that say which there are."""
    with pytest.raises(ReadError, match="openai-chat has no option chioce; it has choice"):
        read(CHOICES, "openai-chat", chioce=1)
    with pytest.raises(ReadError, match="bedrock-converse has no option choice; it has none"):
        read(_converse(USE), "bedrock-converse", choice=1)
    with pytest.raises(ReadError, match="choice: an option belongs to a format"):
        read(CHOICES, choice=1)


# ------------------------------------------------------------------------------------------------- the client of Gemini


def test_interactions_of_the_client() -> None:
    """Objects of the client, and what it sends."""
    httpx = pytest.importorskip("httpx2", reason="the client needs it")
    genai = pytest.importorskip("google.genai")
    tools, requests = Tools(), []
    steps = [
        {"type": "function_call", "id": f"call_{number}", "name": name, "arguments": arguments}
        for number, (name, arguments) in enumerate(PLAN)
    ]

    def said(text: str) -> dict[str, Any]:
        return {"type": "model_output", "content": [{"type": "text", "text": text}]}

    answers = [
        {"id": "i", "object": "interaction", "status": "completed", "model": "m", "steps": made}
        for made in (steps[:2], [said("A lamp and a desk.")], [said("I try."), steps[2]], [said("I can't.")])
    ]
    options = genai.types.HttpOptions(httpx_client=scripted(httpx, answers, requests))
    client = genai.Client(api_key="none", http_options=options)
    history: list[Any] = []
    for question in ("Find a lamp and a desk.", "Turn the wheel."):
        history.append({"type": "user_input", "content": [{"type": "text", "text": question}]})
        while True:
            made = client.interactions.create(model="m", input=history).steps
            history += made
            calls = [step for step in made if step.type == "function_call"]
            if not calls:
                break
            history += [_function_result(tools, call) for call in calls]
    trace = read(history)
    assert_as_planned(trace, tools)
    assert [call.is_error for call in trace.calls] == [False, False, True]
    assert_as_planned(read(requests[-1]), tools)


def _function_result(tools: Tools, call: Any) -> dict[str, Any]:
    text, failed = tools.run(call.name, dict(call.arguments))
    return {"type": "function_result", "call_id": call.id, "name": call.name, "result": text, "is_error": failed}


# ------------------------------------------------------------------------------------------------------ real recordings


def _marks(node: Any) -> int:
    """Count the markers of calls in an answer, whatever the format."""
    if isinstance(node, list):
        return sum(map(_marks, node))
    if not isinstance(node, dict):
        return 0
    kind = str(node.get("type", ""))
    count = int(kind.endswith("_call") or kind in ("tool_use", "server_tool_use", "mcp_tool_use"))
    for key, value in node.items():
        if key in ("functionCall", "toolUse"):
            count += 1
        elif key == "tool_calls":
            count += len(value)
        elif key not in ("tools", "input", "args", "arguments", "action"):
            count += _marks(value)
    return count


#: Read by readers of other formats, and tested with them.
_ELSEWHERE = frozenset({"subagent-step-stream.json"})


def test_real_responses() -> None:
    """Responses of thirteen providers, found by detection alone, with as many calls as their own markers tell of."""
    folder = corpora() / "vercel-ai"
    if not folder.exists():
        pytest.skip("the recordings of vercel-ai are not here")
    files = [path for path in sorted(folder.rglob("*.json")) if path.name not in _ELSEWHERE]
    counts = [(path.name, len(read(path).calls)) for path in files]
    assert counts == [(path.name, _marks(json.loads(path.read_text("utf-8")))) for path in files]
    assert (len(files), sum(count for _, count in counts)) == (46, 104)
