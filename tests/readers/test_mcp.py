"""Logs of the Model Context Protocol: messages in every wrapping, pairing by connection and direction."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tracewitness.errors import ReadError
from tracewitness.readers import READERS, read, read_all
from tracewitness.readers.registry import detected
from tracewitness.trace import UNANSWERED, Trace


def _request(request_id: Any, method: str = "tools/call", **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}


def _call(request_id: Any, name: str, **arguments: Any) -> dict[str, Any]:
    return _request(request_id, name=name, arguments=arguments)


def _response(request_id: Any, **result: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": request_id, "result": result}


def _text(request_id: Any, text: str, **more: Any) -> dict[str, Any]:
    return _response(request_id, content=[{"type": "text", "text": text}], **more)


def _outcomes(trace: Trace) -> list[tuple[Any, ...]]:
    return [(call.name, call.args, call.result, call.is_error) for call in trace.calls]


SESSION: list[Any] = [
    _request(0, "initialize", protocolVersion="2025-06-18", clientInfo={"name": "c"}),
    _response(0, serverInfo={"name": "s"}, capabilities={}),
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
    _request(1, "tools/list"),
    _response(1, tools=[{"name": "add", "inputSchema": {}}]),
    _call(2, "add", a=1),
    _call(3, "add", a=2),
    {"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": 2}},
    _text(3, "2"),
    _text(2, '{"sum": 1}', structuredContent={"sum": 1}, isError=False),
    _request(4, name="fail"),
    _text(4, "no", isError=True),
    _call(5, "nothing"),
    {"jsonrpc": "2.0", "id": 5, "error": {"code": -32602, "message": "Unknown tool"}},
]
EVENTS = [
    {"call": "add", "args": {"a": 1}, "id": 2},
    {"call": "add", "args": {"a": 2}, "id": 3},
    {"result": "2", "id": 3, "is_error": False},
    {"result": {"sum": 1}, "id": 2, "is_error": False},
    {"call": "fail", "args": {}, "id": 4},
    {"result": "no", "id": 4, "is_error": True},
    {"call": "nothing", "args": {}, "id": 5},
    {"result": {"code": -32602, "message": "Unknown tool"}, "id": 5, "is_error": True},
]


def _lines(messages: list[Any]) -> bytes:
    return b"\n".join(json.dumps(message).encode() for message in messages)


@pytest.mark.parametrize(
    "form",
    [
        lambda session: session,
        json.dumps,
        _lines,
        lambda session: {"messages": session},
        lambda session: [session],
        lambda session: [session[0], session[1:9], *session[9:]],
        lambda session: [{"message": message} for message in session],
        lambda session: _lines([{"direction": "x", "data": json.dumps(message)} for message in session]),
        lambda session: [{"payload": session[:5]}, {"payload": session[5:]}],
    ],
    ids=["list", "text", "lines", "messages", "one batch", "batches", "wrapped", "wrapped as text", "wrapped batches"],
)
def test_a_session_in_every_wrapping(form: Any, tmp_path: Path) -> None:
    """Definitions, notifications and other requests are no calls; results out of order find theirs."""
    source = form(SESSION)
    assert read(source).to_events() == EVENTS
    assert read(source).problems == ()
    path = tmp_path / "log.json"
    path.write_bytes(source if isinstance(source, bytes) else json.dumps(form(SESSION)).encode())
    if not isinstance(source, str):
        assert [trace.to_events() for trace in read_all(path)] == [EVENTS]


def _entry(message: Any, sender: str, **more: Any) -> dict[str, Any]:
    return {"timestamp": "2026-01-01T00:00:00Z", "direction": sender, "message": message, **more}


def test_both_sides_use_the_same_id() -> None:
    """A server asks while the client's call is open: who spoke tells the two responses apart."""
    ask = _request(7, "sampling/createMessage", messages=[])
    said = _response(7, role="assistant", content={"type": "text", "text": "hm"})
    log = [_entry(_call(7, "a"), "out"), _entry(ask, "in"), _entry(said, "out"), _entry(_text(7, "ok"), "in")]
    assert _outcomes(read(log)) == [("a", {}, "ok", False)]
    assert read(log).to_events()[0]["at"] == "2026-01-01T00:00:00Z"
    # Without a word about who spoke, the form of the response tells.
    assert _outcomes(read([_call(7, "a"), ask, said, _text(7, "ok")])) == [("a", {}, "ok", False)]
    assert _outcomes(read([_call(7, "a"), ask, _text(7, "ok"), said])) == [("a", {}, "ok", False)]


def test_a_word_that_is_the_same_everywhere_is_not_the_sender() -> None:
    """Some logs name the transport there."""
    log = [{"source": "stdio", "message": message} for message in (_call(1, "a"), _text(1, "ok"))]
    assert _outcomes(read(log)) == [("a", {}, "ok", False)]


def test_connections_share_ids() -> None:
    """Each response goes to the call of its own connection."""
    log = [
        _entry(_call(1, "a"), "out", session_id="s"),
        _entry(_call(1, "b"), "out", session_id="t"),
        _entry(_text(1, "of a"), "in", session_id="s"),
        _entry(_text(1, "of b"), "in", session_id="t"),
    ]
    trace = read(log)
    assert _outcomes(trace) == [("a", {}, "of a", False), ("b", {}, "of b", False)]
    assert [call.id for call in trace.calls] == ["s:1", "t:1"]


def test_ids_are_used_again_and_by_type() -> None:
    """When a call was answered its id is free; 1 and "1" are two."""
    log = [_call(1, "a"), _text(1, "x"), _call(1, "b"), _call("1", "c"), _text("1", "z"), _text(1, "y")]
    assert [(call.name, call.result) for call in read(log).calls] == [("a", "x"), ("b", "y"), ("c", "z")]


def test_a_message_seen_twice_is_one() -> None:
    """A proxy logs what comes in and what it passes on."""
    log = [message for message in (_call(1, "a"), _text(1, "x"), _call(2, "a"), _text(2, "x")) for _ in range(2)]
    trace = read(log)
    assert [(call.id, call.result) for call in trace.calls] == [(1, "x"), (2, "x")]
    assert trace.problems == ()


def test_a_call_that_needs_input_is_one() -> None:
    """The client asks again with what was wanted."""
    again = _request(2, name="a", arguments={"n": 1}, inputResponses={"q": {}}, requestState="s")
    log = [_call(1, "a", n=1), _response(1, resultType="input_required", inputRequests={}), again, _text(2, "ok")]
    assert read(log).to_events() == [
        {"call": "a", "args": {"n": 1}, "id": 1},
        {"result": "ok", "id": 1, "is_error": False},
    ]
    assert [call.id for call in read([_request(1, "initialize"), again]).calls] == [
        2
    ]  # the first one is not in the log


def test_a_call_that_became_a_task_is_one() -> None:
    """Its result is fetched by the task's id."""
    log = [
        _request(1, name="a", task={"ttl": 1}),
        _response(1, task={"taskId": "t", "status": "working"}),
        _request(2, "tasks/result", taskId="t"),
        _text(2, "ok"),
        _request(3, "tasks/result", taskId="u"),
        _text(3, "of a call before the log"),
    ]
    assert _outcomes(read(log)) == [("a", {}, "ok", False)]


@pytest.mark.parametrize(
    ("arguments", "read_as"),
    [({"a": 1}, {"a": 1}), (None, {}), ([], {}), ("", {}), ('{"a": 1}', {"a": 1})],
)
def test_arguments(arguments: Any, read_as: Any) -> None:
    """Nothing stands for none."""
    assert read([_request(1, name="a", arguments=arguments)]).calls[0].args == read_as


@pytest.mark.parametrize(
    ("result", "payload"),
    [
        ({"content": []}, []),
        ({}, None),
        ({"content": [{"type": "image", "data": "x"}]}, [{"type": "image", "data": "x"}]),
        ({"content": [], "structuredContent": None}, []),
        ({"content": [], "structuredContent": 0}, 0),
        ("odd", "odd"),
    ],
)
def test_payloads(result: Any, payload: Any) -> None:
    """Structured content is what the tool gave; one text is that text."""
    assert read([_call(1, "a"), {"jsonrpc": "2.0", "id": 1, "result": result}]).calls[0].result == payload


def test_a_call_that_nothing_answered() -> None:
    """It was given up, or the log ends before."""
    cancelled = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}
    assert read([_call(1, "a"), cancelled]).calls[0].result is UNANSWERED


@pytest.mark.parametrize(
    ("message", "reason", "hides"),
    [
        (5, "a message is a mapping", True),
        ([5], "a message is a mapping", True),
        ({"event": "started"}, "an entry without a JSON-RPC message", True),
        ({"message": [_request(9, "ping"), 5]}, "an entry without a JSON-RPC message", True),
        ({"jsonrpc": "2.0", "id": 9}, "neither request nor response", True),
        (_request(9), "a call without a name", True),
        (_text(9, "x"), "a result with id 9", True),
        ({"jsonrpc": "2.0", "id": 9, "error": {"code": 1}}, "an error in answer to no request", True),
        ({"message": '{"jsonrpc": "2.0", "id": 9, "id": 9}'}, "an entry without a JSON-RPC message", True),
    ],
)
def test_what_is_odd_is_a_problem(message: Any, reason: str, hides: bool) -> None:
    """It may hide a call."""
    trace = read([*SESSION, message])
    (problem,) = trace.problems
    assert reason in str(problem)
    assert problem.hides_call is hides
    assert problem.place.startswith(f"$[{len(SESSION)}]")


def test_a_broken_line_is_a_problem() -> None:
    """The lines around it are read."""
    trace = read(_lines(SESSION) + b'\n{"jsonrpc": "2.0", "id"')
    assert trace.to_events() == EVENTS
    assert len(trace.problems) == 1


def test_open_requests_with_one_id_are_doubted() -> None:
    """Which of the two calls was answered can't be told."""
    assert "2 open requests" in str(read([_call(1, "a"), _call(1, "b"), _text(1, "x")]).problems[0])


@pytest.mark.parametrize("document", [SESSION, {"messages": SESSION}, SESSION[2:3], [{"payload": SESSION}]])
def test_detected_by_its_reader_alone(document: Any) -> None:
    """Also before there is a call."""
    assert [reader.name for reader in detected(document)] == ["mcp"]


@pytest.mark.parametrize(
    "document",
    [
        [],
        _call(1, "a"),
        [_text(1, "x")],
        [{"jsonrpc": "2.0", "method": "message/send", "id": 1}],
        [{"method": "tools/call", "id": 1}],
        [{"jsonrpc": "2.0", "method": ["tools/call"], "id": 1}],
        {"messages": {}},
    ],
)
def test_what_is_not_of_it(document: Any) -> None:
    """One message is no log, and other protocols use JSON-RPC too."""
    assert "mcp" not in [reader.name for reader in detected(document)]


@pytest.mark.parametrize("document", [{}, 5, None, "x", {"messages": 5}])
def test_what_is_nothing_of_the_kind_is_refused(document: Any) -> None:
    """It says what was expected."""
    reader = next(reader for reader in READERS if reader.name == "mcp")
    with pytest.raises(ReadError, match="log of MCP"):
        reader.read(document)
