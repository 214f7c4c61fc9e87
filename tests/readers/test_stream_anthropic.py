"""Streams of Anthropic Messages: blocks by index, deltas of each kind, and broken ends."""

from __future__ import annotations

import re
from typing import Any

import pytest
from stream_support import read_everywhere, reasons, server_sent

from tracewitness.readers import read
from tracewitness.trace import MalformedArguments

NAME = "anthropic-stream"


def _begin(*content: Any, **fields: Any) -> dict[str, Any]:
    message = {"id": "msg_1", "type": "message", "role": "assistant", "content": list(content), "stop_reason": None}
    return {"type": "message_start", "message": {**message, **fields}}


def _start(index: int, kind: str, **fields: Any) -> dict[str, Any]:
    return {"type": "content_block_start", "index": index, "content_block": {"type": kind, **fields}}


def _use(index: int, call_id: str = "t1", given: Any = None) -> dict[str, Any]:
    return _start(index, "tool_use", id=call_id, name="search", input={} if given is None else given)


def _delta(index: int, kind: str, **fields: Any) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": index, "delta": {"type": kind, **fields}}


def _json(index: int, text: Any) -> dict[str, Any]:
    return _delta(index, "input_json_delta", partial_json=text)


def _text(index: int, text: str) -> dict[str, Any]:
    return _delta(index, "text_delta", text=text)


def _stop(index: int) -> dict[str, Any]:
    return {"type": "content_block_stop", "index": index}


def _end(reason: str = "end_turn") -> list[dict[str, Any]]:
    return [{"type": "message_delta", "delta": {"stop_reason": reason}}, {"type": "message_stop"}]


def _call(call_id: str = "t1", **args: Any) -> dict[str, Any]:
    return {"call": "search", "args": args, "id": call_id}


_PING = {"type": "ping"}
STREAMS: dict[str, tuple[list[Any], list[Any]]] = {
    "text and a call": (
        [
            _begin(),
            _start(0, "thinking", thinking=""),
            _delta(0, "thinking_delta", thinking="hm"),
            _delta(0, "signature_delta", signature="x"),
            _stop(0),
            _start(1, "text", text=""),
            _PING,
            _text(1, "I "),
            _text(1, "look."),
            _delta(1, "citations_delta", citation={}),
            _stop(1),
            _use(2),
            _json(2, ""),
            _json(2, '{"n"'),
            _json(2, ": 1}"),
            _stop(2),
            *_end("tool_use"),
        ],
        [{"agent": "I look."}, _call(n=1)],
    ),
    "interleaved": (
        [
            _begin(),
            _use(0),
            _use(1, "t2"),
            _json(1, '{"m":'),
            _json(0, '{"n":'),
            _json(1, "2}"),
            _json(0, "1}"),
            *_end(),
        ],
        [_call(n=1), _call("t2", m=2)],
    ),
    "the same index twice": (
        [_begin(), _use(0), _json(0, '{"n": 1}'), _use(0, "t2"), _json(0, '{"n": 2}'), *_end()],
        [_call(n=1), _call("t2", n=2)],
    ),
    "no arguments": ([_begin(), _use(0), _stop(0), _use(1, "t2"), _json(1, ""), *_end()], [_call(), _call("t2")]),
    "arguments at once": ([_begin(), _use(0, given={"n": 1}), _stop(0), *_end()], [_call(n=1)]),
    "a message that begins with blocks": (
        [
            _begin({"type": "tool_use", "id": "t1", "name": "search", "input": {"n": 1}}, stop_reason="tool_use"),
            {"type": "message_stop"},
        ],
        [_call(n=1)],
    ),
    "a tool of the provider": (
        [
            _begin(),
            _start(0, "server_tool_use", id="s1", name="web_search", input={}),
            _json(0, '{"query": "x"}'),
            _start(1, "web_search_tool_result", tool_use_id="s1", content=[]),
            *_end(),
        ],
        [
            {"call": "web_search", "args": {"query": "x"}, "id": "s1"},
            {"result": [], "id": "s1", "is_error": False},
        ],
    ),
    "events of the client's helper": (
        [
            _begin(),
            _start(0, "text", text=""),
            _text(0, "Hi"),
            {"type": "text", "text": "Hi", "snapshot": "Hi"},
            _stop(0),
            _use(1),
            _json(1, "{}"),
            {"type": "input_json", "partial_json": "{}", "snapshot": {}},
            {"type": "signature", "signature": "x"},
            *_end(),
        ],
        [{"agent": "Hi"}, _call()],
    ),
    "nothing": ([_begin(), *_end()], [{"agent": ""}]),
}


@pytest.mark.parametrize(("stream", "events"), STREAMS.values(), ids=STREAMS.keys())
def test_what_a_stream_says(stream: list[Any], events: list[Any]) -> None:
    """Blocks in their order, each with its deltas."""
    trace = read_everywhere(stream, NAME)
    assert trace.to_events() == events
    assert trace.problems == ()


def test_events_that_are_named_twice() -> None:
    """As the server sends them: the name of each stands before its data, too."""
    stream, events = STREAMS["text and a call"]
    assert read(server_sent(stream, named=True)).to_events() == events


def test_streams_and_messages_between_them() -> None:
    """A history in which every answer is a stream."""
    result = {"type": "tool_result", "tool_use_id": "t1", "content": "lamp-0", "is_error": True}
    trace = read_everywhere(
        [
            {"role": "user", "content": "Find a lamp."},
            _begin(),
            _use(0),
            _json(0, '{"n": 1}'),
            *_end("tool_use"),
            {"role": "user", "content": [result]},
            _begin(),
            _start(0, "text", text="It is "),
            _text(0, "stuck."),
            *_end(),
            _begin(),
            _use(0, "t2"),
            *_end("tool_use"),
        ],
        NAME,
    )
    assert trace.to_events() == [
        {"user": "Find a lamp."},
        _call(n=1),
        {"result": "lamp-0", "id": "t1", "is_error": True},
        {"agent": "It is stuck."},
        _call("t2"),
    ]
    assert trace.problems == ()


def test_a_call_that_was_cut_off() -> None:
    """Its arguments stay as far as they came, and the missing end is a problem."""
    trace = read([_begin(), _use(0), _json(0, '{"n"')])
    assert isinstance(trace.calls[0].args, MalformedArguments)
    assert reasons(trace)[0] == "the stream breaks off: message_stop is missing"


@pytest.mark.parametrize(
    ("stream", "reason"),
    [
        ([_begin(), _use(0), *_end()[:1]], "the stream breaks off: message_stop is missing"),
        ([_begin(), _begin(), *_end()], "the stream breaks off"),
        ([_begin(), {"type": "error", "error": {"type": "overloaded_error"}}], "the stream failed: .*overloaded"),
        ([_begin(), *_end("tool_use")], "stop_reason is tool_use, and there is no call"),
        ([_begin(), _json(0, "{}"), *_end()], "an event of a block that is not here"),
        ([_begin(), {"type": "content_block_start", "index": 0}, *_end()], "an event of a block that is not here"),
        ([_begin(), _use(0), _delta(0, "new_delta"), *_end()], "an unknown delta of type 'new_delta'"),
        ([_begin(), _start(0, "new_block"), *_end()], "an unknown block of type 'new_block'"),
        ([_begin(), _start(0, "compaction", content=None), *_end()], "what came before was summed up"),
        ([_begin(), {"type": "new_event"}, *_end()], "neither an event nor a message"),
        ([_begin(), "{", *_end()], "an event is a mapping"),
    ],
)
def test_what_is_broken_may_hide_a_call(stream: list[Any], reason: str) -> None:
    """A problem says what is wrong."""
    (problem,) = read(stream).problems
    assert problem.hides_call
    assert re.search(reason, problem.reason)


def test_an_error_alone_is_no_evidence() -> None:
    """Nothing was answered, and the trace says why."""
    trace = read(server_sent([_PING, {"type": "error", "error": {"message": "slow"}}], named=True), NAME)
    assert (trace.no_evidence or "").startswith("the stream failed")
