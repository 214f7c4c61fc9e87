"""Streams of Bedrock Converse, Cohere, Ollama, Mistral's conversations and OpenAI Assistants."""

from __future__ import annotations

import re
from typing import Any

import pytest
from stream_support import json_lines, read_everywhere

from tracewitness.readers import read
from tracewitness.trace import MalformedArguments


def _assert_broken(stream: list[Any], reason: str) -> None:
    trace = read(stream)
    assert any(re.search(reason, problem.reason) and problem.hides_call for problem in trace.problems), trace.problems


# ------------------------------------------------------------------------------------------------------------- Bedrock

BEDROCK = "bedrock-converse-stream"


def _block(kind: str, index: int = 0, **fields: Any) -> dict[str, Any]:
    return {f"contentBlock{kind}": {"contentBlockIndex": index, **fields}}


def _use(index: int, call_id: str = "t1") -> dict[str, Any]:
    return _block("Start", index, start={"toolUse": {"toolUseId": call_id, "name": "search"}})


def _input(index: int, text: Any) -> dict[str, Any]:
    return _block("Delta", index, delta={"toolUse": {"input": text}})


def _text(index: int, text: str) -> dict[str, Any]:
    return _block("Delta", index, delta={"text": text})


_BEGIN = {"messageStart": {"role": "assistant"}}
_END = {"messageStop": {"stopReason": "tool_use"}}
_NUMBERS = {"metadata": {"usage": {"inputTokens": 1}}}


def test_bedrock() -> None:
    """Texts have no start, calls have one, blocks interleave, and an index is used again once its block has stopped."""
    stream = [
        _BEGIN,
        _block("Delta", 0, delta={"reasoningContent": {"text": "hm"}}),
        _block("Stop", 0),
        _text(1, "I "),
        _text(1, "look."),
        _block("Stop", 1),
        _use(2),
        _use(3, "t2"),
        _input(3, '{"m":'),
        _input(2, '{"n":'),
        _input(3, " 2}"),
        _input(2, " 1}"),
        _block("Stop", 2),
        _use(2, "t3"),
        _input(2, ""),
        _NUMBERS,
        _END,
    ]
    trace = read_everywhere(stream, BEDROCK)
    assert trace.to_events() == [
        {"agent": "I look."},
        {"call": "search", "args": {"n": 1}, "id": "t1"},
        {"call": "search", "args": {"m": 2}, "id": "t2"},
        {"call": "search", "args": {}, "id": "t3"},
    ]
    assert trace.problems == ()


def test_bedrock_streams_and_messages_between_them() -> None:
    """A history in which every answer is a stream; numbers after an end belong to it."""
    result = {"toolResult": {"toolUseId": "t1", "content": [{"json": {"r": 1}}], "status": "success"}}
    stream = [
        {"role": "user", "content": [{"text": "Find it."}]},
        *(_BEGIN, _use(0), _input(0, '{"n": 1}'), _END, _NUMBERS),
        {"role": "user", "content": [result]},
        *(_BEGIN, _text(0, "Done."), {"messageStop": {"stopReason": "end_turn"}}),
        *(_BEGIN, _use(0, "t2"), _END),
    ]
    trace = read_everywhere(stream, BEDROCK)
    assert trace.to_events() == [
        {"user": "Find it."},
        {"call": "search", "args": {"n": 1}, "id": "t1"},
        {"result": {"r": 1}, "id": "t1", "is_error": False},
        {"agent": "Done."},
        {"call": "search", "args": {}, "id": "t2"},
    ]
    assert trace.problems == ()


def test_bedrock_results_of_tools_of_the_model() -> None:
    """A result may be streamed, too."""
    stream = [
        _use(0),
        _block("Start", 1, start={"toolResult": {"toolUseId": "t1", "status": "error"}}),
        _block("Delta", 1, delta={"toolResult": [{"text": "broken"}]}),
        _END,
    ]
    assert read(stream).calls[0].is_error is True
    assert read(stream).calls[0].result == "broken"


@pytest.mark.parametrize(
    ("stream", "reason"),
    [
        ([_BEGIN, _use(0), _block("Stop", 0)], "the stream breaks off: messageStop is missing"),
        ([_BEGIN, _use(0), _BEGIN, _END], "the stream breaks off"),
        ([_BEGIN, _END], "stopReason is tool_use, and there is no call"),
        ([_BEGIN, _input(0, "{}"), _END], "a call without a name"),
        ([_BEGIN, _text(0, "x"), {"throttlingException": {"message": "slow"}}], "the stream failed: .*slow"),
        ([_BEGIN, {"throttlingException": {"message": "slow"}}], "the stream failed: .*slow"),
        ([_BEGIN, _block("Delta", 0, delta={"new": {}}), _END], "an unknown delta"),
        ([_BEGIN, {"messageStop": 5}], "an event is a mapping, not 5"),
        ([_BEGIN, {"newEvent": {}}, _END], "neither an event nor a message"),
        ([_BEGIN, "the event stream is cut off at byte 5"], "an event is a mapping"),
    ],
)
def test_what_is_broken_in_bedrock_may_hide_a_call(stream: list[Any], reason: str) -> None:
    """A problem says what is wrong."""
    _assert_broken(stream, reason)


# -------------------------------------------------------------------------------------------------------------- Cohere

COHERE = "cohere-stream"


def _cohere(kind: str, index: int | None = None, **message: Any) -> dict[str, Any]:
    return {"type": kind, **({} if index is None else {"index": index}), "delta": {"message": message}}


def _cohere_call(index: int, call_id: str, arguments: str = "") -> dict[str, Any]:
    call = {"id": call_id, "type": "function", "function": {"name": "search", "arguments": arguments}}
    return _cohere("tool-call-start", index, tool_calls=call)


def _cohere_delta(index: int, arguments: Any) -> dict[str, Any]:
    return _cohere("tool-call-delta", index, tool_calls={"function": {"arguments": arguments}})


def _cohere_end(reason: str = "TOOL_CALL", **fields: Any) -> dict[str, Any]:
    return {"type": "message-end", "delta": {"finish_reason": reason, **fields}}


def test_cohere() -> None:
    """Plans and thoughts are not said; calls come one after the other, and interleaved."""
    stream = [
        {"role": "user", "content": "Find it."},
        _cohere("message-start", role="assistant", content=[]),
        _cohere("tool-plan-delta", tool_plan="I will"),
        _cohere_call(0, "c1"),
        _cohere_call(1, "c2"),
        _cohere_delta(1, '{"m":'),
        _cohere_delta(0, '{"n":'),
        _cohere_delta(1, " 2}"),
        _cohere_delta(0, " 1}"),
        {"type": "tool-call-end", "index": 0},
        _cohere_end(),
        {"role": "tool", "tool_call_id": "c1", "content": "x"},
        _cohere("message-start"),
        _cohere("content-start", 0, content={"type": "thinking", "thinking": "hm"}),
        _cohere("content-start", 1, content={"type": "text", "text": ""}),
        _cohere("content-delta", 1, content={"text": "Do"}),
        _cohere("content-delta", 1, content={"text": "ne."}),
        {"type": "citation-start", "index": 0, "delta": {}},
        _cohere_end("COMPLETE"),
    ]
    trace = read_everywhere(stream, COHERE)
    assert trace.to_events() == [
        {"user": "Find it."},
        {"call": "search", "args": {"n": 1}, "id": "c1"},
        {"call": "search", "args": {"m": 2}, "id": "c2"},
        {"result": "x", "id": "c1"},
        {"agent": "Done."},
    ]
    assert trace.problems == ()


def test_the_first_interface_of_cohere() -> None:
    """Calls come whole, and again at the end, where they are no others."""
    calls = [{"name": "search", "parameters": {"n": 1}}, {"name": "search", "parameters": {"n": 2}}]
    begin = {"event_type": "stream-start", "generation_id": "g"}
    stream = [
        begin,
        {"event_type": "text-generation", "text": "I look"},
        {"event_type": "tool-calls-chunk", "tool_call_delta": {"name": "search", "index": 0}},
        {"event_type": "tool-calls-generation", "tool_calls": calls},
        {"event_type": "stream-end", "finish_reason": "COMPLETE", "response": {"text": "I look.", "tool_calls": calls}},
        begin,
        {"event_type": "text-generation", "text": "Done."},
        {"event_type": "stream-end", "finish_reason": "COMPLETE", "response": {"text": ""}},
    ]
    trace = read_everywhere(stream, COHERE)
    assert trace.to_events() == [
        {"agent": "I look."},
        {"call": "search", "args": {"n": 1}},
        {"call": "search", "args": {"n": 2}},
        {"agent": "Done."},
    ]
    assert trace.problems == ()


@pytest.mark.parametrize(
    ("stream", "reason"),
    [
        ([_cohere("message-start"), _cohere_call(0, "c1")], "the stream breaks off: message-end is missing"),
        ([_cohere("message-start"), _cohere("message-start"), _cohere_end("COMPLETE")], "the stream breaks off"),
        ([_cohere("message-start"), _cohere_end()], "finish_reason is TOOL_CALL, and there is no call"),
        ([_cohere("message-start"), _cohere_end("ERROR", error="slow")], "the stream failed: 'slow'"),
        ([_cohere("message-start"), _cohere_delta(0, "{}"), _cohere_end()], "a call without a name"),
        ([_cohere("message-start"), _cohere("tool-call-start", 0), _cohere_end()], "an event of a call that has none"),
        ([_cohere("message-start"), {"type": "new-event"}, _cohere_end("COMPLETE")], "neither an event nor a message"),
        ([{"event_type": "tool-calls-generation", "tool_calls": [5]}], "a call is a mapping, not 5"),
        ([{"event_type": "stream-end", "finish_reason": "TIMEOUT"}], "the stream failed: 'TIMEOUT'"),
    ],
)
def test_what_is_broken_in_cohere_may_hide_a_call(stream: list[Any], reason: str) -> None:
    """A problem says what is wrong."""
    _assert_broken(stream, reason)


# -------------------------------------------------------------------------------------------------------------- Ollama

OLLAMA = "ollama-stream"


def _ollama(content: str = "", *calls: Any, done: bool = False) -> dict[str, Any]:
    message = {"role": "assistant", "content": content, **({"tool_calls": list(calls)} if calls else {})}
    return {"model": "m", "created_at": "2026-01-01T00:00:00Z", "message": message, "done": done}


def _ollama_call(**args: Any) -> dict[str, Any]:
    return {"function": {"name": "search", "arguments": args}}


def test_ollama() -> None:
    """Every chunk has whole calls, which have no ids."""
    stream = [
        {"role": "user", "content": "Find it."},
        _ollama("I "),
        _ollama("look."),
        _ollama("", _ollama_call(n=1), _ollama_call(n=2)),
        _ollama("", _ollama_call(n=3)),
        _ollama(done=True),
        {"role": "tool", "tool_name": "search", "content": "x"},
        _ollama("Done."),
        _ollama(done=True),
    ]
    trace = read_everywhere(stream, OLLAMA)
    assert trace.to_events() == [
        {"user": "Find it."},
        {"agent": "I look."},
        *({"call": "search", "args": {"n": n}} for n in (1, 2, 3)),
        {"result": "x", "of": "search"},
        {"agent": "Done."},
    ]
    assert trace.problems == ()


@pytest.mark.parametrize(
    ("stream", "reason"),
    [
        ([_ollama("x"), _ollama("", _ollama_call())], "the stream breaks off: done: true is missing"),
        ([_ollama("x"), {"error": "slow"}], "the stream failed: 'slow'"),
        ([_ollama("x", 5), _ollama(done=True)], "a tool call is a mapping, not 5"),
        ([_ollama("x"), {"kind": "x"}, _ollama(done=True)], "neither an event nor a message"),
    ],
)
def test_what_is_broken_in_ollama_may_hide_a_call(stream: list[Any], reason: str) -> None:
    """A problem says what is wrong."""
    _assert_broken(stream, reason)


def test_a_line_that_is_torn() -> None:
    """The lines before it are there."""
    trace = read(json_lines([_ollama("x", _ollama_call(n=1)), _ollama(done=True)])[:-20])
    assert [call.args for call in trace.calls] == [{"n": 1}]
    assert len(trace.problems) == 2


# --------------------------------------------------------------------------------------------- Mistral's conversations

MISTRAL = "mistral-conversations-stream"


def _entry(kind: str, entry_id: str, index: int = 0, **fields: Any) -> dict[str, Any]:
    return {"type": kind, "id": entry_id, "output_index": index, **fields}


_STARTED = {"type": "conversation.response.started", "conversation_id": "x"}
_DONE = {"type": "conversation.response.done", "usage": {}}


def _function_call(number: int, arguments: str) -> dict[str, Any]:
    fields = {"tool_call_id": f"c{number}", "name": "search", "arguments": arguments}
    return _entry("function.call.delta", f"f{number}", number, **fields)


@pytest.mark.parametrize("wrapped", [False, True])
def test_mistral(wrapped: bool) -> None:
    """Words, calls in pieces, a tool of the provider and a handoff; the client wraps each event."""
    events = [
        _STARTED,
        _entry("agent.handoff.started", "h1", 0, previous_agent_id="a1", previous_agent_name="First"),
        _entry("agent.handoff.done", "h2", 0, next_agent_id="a2", next_agent_name="Second"),
        _entry("message.output.delta", "m1", 1, content="I ", role="assistant"),
        _entry("message.output.delta", "m1", 1, content=[{"type": "text", "text": "look."}], role="assistant"),
        _entry("tool.execution.started", "t1", 2, name="web_search", arguments=""),
        _entry("tool.execution.delta", "t1", 2, name="web_search", arguments='{"query": "x"}'),
        _entry("tool.execution.done", "t1", 2, name="web_search", info={"n": 1}),
        _function_call(3, '{"n":'),
        _function_call(4, "{}"),
        _function_call(3, " 1}"),
        _DONE,
    ]
    result = {"type": "function.result", "tool_call_id": "c3", "result": "x"}
    events = [{"event": event["type"], "data": event} for event in events] if wrapped else events
    trace = read_everywhere([*events, result, _STARTED, _DONE], MISTRAL)
    assert trace.to_events() == [
        {"transfer": "Second", "by": "First"},
        {"agent": "I look."},
        {"call": "web_search", "args": {"query": "x"}, "id": "t1"},
        {"result": {"n": 1}, "of": "web_search", "id": "t1"},
        {"call": "search", "args": {"n": 1}, "id": "c3"},
        {"call": "search", "args": {}, "id": "c4"},
        {"result": "x", "id": "c3"},
    ]
    assert trace.problems == ()


@pytest.mark.parametrize(
    ("stream", "reason"),
    [
        ([_STARTED, _function_call(1, "{}")], "the stream breaks off: conversation.response.done is missing"),
        ([_STARTED, {"type": "conversation.response.error", "message": "slow"}], "the stream failed: 'slow'"),
        ([_STARTED, _function_call(1, "{}"), _STARTED, _DONE], "the stream breaks off"),
        ([_STARTED, _entry("function.call.delta", "f1"), _DONE], "a call without a name"),
        ([_STARTED, {"type": "new.event"}, _DONE], "neither an event nor a message"),
    ],
)
def test_what_is_broken_in_mistral_may_hide_a_call(stream: list[Any], reason: str) -> None:
    """A problem says what is wrong."""
    _assert_broken(stream, reason)


# --------------------------------------------------------------------------------------------------- OpenAI Assistants

ASSISTANTS = "openai-assistants-stream"


def _run(status: str, *calls: Any, **fields: Any) -> dict[str, Any]:
    action = {"type": "submit_tool_outputs", "submit_tool_outputs": {"tool_calls": list(calls)}} if calls else None
    return {"id": "r1", "object": "thread.run", "created_at": 1, "status": status, "required_action": action, **fields}


def _step(*calls: Any, status: str = "in_progress") -> dict[str, Any]:
    details = {"type": "tool_calls", "tool_calls": list(calls)}
    return {"id": "s1", "object": "thread.run.step", "created_at": 1, "status": status, "step_details": details}


def _step_delta(*calls: Any) -> dict[str, Any]:
    details = {"type": "tool_calls", "tool_calls": list(calls)}
    return {"id": "s1", "object": "thread.run.step.delta", "delta": {"step_details": details}}


def _function(call_id: str, arguments: str, **fields: Any) -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": "search", "arguments": arguments, **fields}}


def _message(text: str) -> dict[str, Any]:
    content = [{"type": "text", "text": {"value": text, "annotations": []}}] if text else []
    return {"id": "m1", "object": "thread.message", "created_at": 1, "role": "assistant", "content": content}


def _message_delta(text: str) -> dict[str, Any]:
    delta = {"content": [{"index": 0, "type": "text", "text": {"value": text}}]}
    return {"id": "m1", "object": "thread.message.delta", "delta": delta}


_CALLS = (_function("c1", '{"n": 1}'), _function("c2", '{"n": 2}'))
_PAUSED = [
    _run("in_progress"),
    _step(),
    _step_delta({"index": 0, **_function("c1", "")}),
    _step_delta({"index": 0, "type": "function", "function": {"arguments": '{"n":'}}),
    _step_delta({"index": 1, **_function("c2", '{"n": 2}')}),
    _step_delta({"index": 0, "type": "function", "function": {"arguments": " 1}"}}),
    _run("requires_action", *_CALLS),
]
_TOLD = [
    {"call": "search", "args": {"n": 1}, "id": "c1"},
    {"call": "search", "args": {"n": 2}, "id": "c2"},
]


def test_assistants_tell_a_call_several_times() -> None:
    """In deltas, in what the run requires, and in its step with the output: it is one call with one result."""
    outputs = {"tool_outputs": [{"tool_call_id": "c1", "output": "one"}]}
    done = _step(*(_function(f"c{n}", f'{{"n": {n}}}', output=word) for n, word in ((1, "one"), (2, "two"))))
    stream = [*_PAUSED, outputs, done, _message(""), _message_delta("Do"), _message_delta("ne."), _run("completed")]
    trace = read_everywhere(stream, ASSISTANTS)
    assert trace.to_events() == [
        *_TOLD,
        {"result": "one", "id": "c1"},
        {"result": "two", "id": "c2"},
        {"agent": "Done."},
    ]
    assert trace.problems == ()


@pytest.mark.parametrize(
    "stream",
    [
        _PAUSED,
        [_step_delta({"index": 0, **_CALLS[0]}), _run("requires_action", *_CALLS)],
        [_step_delta(), _run("requires_action", *_CALLS)],
        [_step_delta(), _step(*_CALLS), _run("requires_action", *_CALLS)],
        [_step_delta(), _step(*_CALLS), _run("completed")],
        [{"event": f"thread.{kind}", "data": event} for kind, event in zip("abcdefg", _PAUSED, strict=True)],
    ],
)
def test_a_call_of_assistants_that_is_told_in_part(stream: list[Any]) -> None:
    """Whichever of its places it is told in, also in the events of the client."""
    trace = read_everywhere(stream, ASSISTANTS)
    assert trace.to_events() == _TOLD
    assert trace.problems == ()


def test_tools_of_assistants_of_the_provider() -> None:
    """Code comes in fragments; what it gave is its result."""
    code = {"index": 0, "id": "c1", "type": "code_interpreter", "code_interpreter": {"input": "", "outputs": []}}
    more = [
        {"index": 0, "type": "code_interpreter", "code_interpreter": fields}
        for fields in ({"input": "1+"}, {"input": "1"})
    ]
    output = {"index": 0, "type": "code_interpreter", "code_interpreter": {"outputs": [{"type": "logs", "logs": "2"}]}}
    stream = [
        _step_delta(code),
        *map(_step_delta, more),
        _step_delta(output),
        _message_delta("Two."),
        _run("completed"),
    ]
    assert read_everywhere(stream, ASSISTANTS).to_events() == [
        {"call": "code_interpreter", "args": {"input": "1+1"}, "id": "c1"},
        {"result": [{"type": "logs", "logs": "2"}], "id": "c1"},
        {"agent": "Two."},
    ]


@pytest.mark.parametrize(
    ("stream", "reason"),
    [
        (_PAUSED[:-1], "the stream breaks off: the run's end is missing"),
        ([_step_delta(), _run("failed", last_error={"code": "x"})], "the run is failed"),
        ([_step_delta(), {"event": "error", "data": {"message": "slow"}}], "the stream failed: .*slow"),
        ([_step_delta(), {"error": {"message": "slow"}}], "the stream failed: .*slow"),
        ([{"object": "thread.run.step.delta", "delta": 5}, _run("completed")], "a delta that is none"),
        ([_step_delta(), {"object": "thread.new"}, _run("completed")], "neither an event nor a message"),
    ],
)
def test_what_is_broken_in_assistants_may_hide_a_call(stream: list[Any], reason: str) -> None:
    """A problem says what is wrong."""
    _assert_broken(stream, reason)


def test_a_call_of_assistants_that_was_cut_off() -> None:
    """Its arguments stay as far as they came."""
    (call,) = read(_PAUSED[:4]).calls
    assert isinstance(call.args, MalformedArguments)
    assert call.args.raw == '{"n":'
