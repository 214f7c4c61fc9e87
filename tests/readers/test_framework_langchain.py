"""LangChain and LangGraph: messages in every spelling, states and streams, and the real frameworks with a script."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
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
from tracewitness.readers import read, read_all
from tracewitness.trace import UNANSWERED, MalformedArguments, Trace

HUMAN = {"type": "human", "content": "Find a lamp."}
DONE = {"type": "ai", "content": "Done."}


def ai(*calls: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """Return an answer with calls."""
    return {"type": "ai", "content": "", "tool_calls": list(calls), "invalid_tool_calls": [], **fields}


def call(name: str = "search", call_id: Any = "c1", **args: Any) -> dict[str, Any]:
    return {"type": "tool_call", "name": name, "args": args, "id": call_id}


def tool(content: Any, call_id: Any = "c1", **fields: Any) -> dict[str, Any]:
    return {"type": "tool", "content": content, "tool_call_id": call_id, **fields}


def called(trace: Trace) -> list[tuple[str, Any]]:
    return [(call.name, call.args) for call in trace.calls]


# ------------------------------------------------------------------------------------------------------------- messages

LC_AI = {
    "lc": 1,
    "type": "constructor",
    "id": ["langchain", "schema", "messages", "AIMessage"],
    "kwargs": {"content": "", "tool_calls": [call(q="lamp")]},
}
SPELLINGS = {
    "fields": [HUMAN, ai(call(q="lamp")), tool("a lamp", status="success")],
    "type and data": [
        {"type": item["type"], "data": {"content": "", **item}}
        for item in (HUMAN, ai(call(q="lamp")), tool("a lamp", status="success"))
    ],
    "constructors": [
        {"lc": 1, "type": "constructor", "id": ["langchain_core", "messages", "HumanMessage"], "kwargs": HUMAN},
        LC_AI,
        {
            "lc": 1,
            "type": "constructor",
            "id": ["langchain", "schema", "messages", "ToolMessage"],
            "kwargs": {"content": "a lamp", "tool_call_id": "c1", "status": "success"},
        },
    ],
    "chunks": [
        {"type": "HumanMessageChunk", "content": "Find a lamp."},
        {"type": "AIMessageChunk", "content": "", "tool_calls": [call(q="lamp")]},
        {"type": "ToolMessageChunk", "content": "a lamp", "tool_call_id": "c1", "status": "success"},
    ],
}
WHOLE = [
    {"user": "Find a lamp."},
    {"call": "search", "args": {"q": "lamp"}, "id": "c1"},
    {"result": "a lamp", "id": "c1", "is_error": False},
]


@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize("wrap", [list, lambda items: {"messages": items}, lambda items: {"values": {"chat": items}}])
def test_every_spelling_is_read_the_same(spelling: str, wrap: Any) -> None:
    document = wrap(SPELLINGS[spelling])
    assert detected_names(document) == ["langchain"]
    assert read(document).to_events() == WHOLE


CASES: dict[str, tuple[Any, list[dict[str, Any]]]] = {
    "calls in parallel, results out of order": (
        [ai(call(call_id="a"), call(call_id="b", q="x")), tool("2", "b"), tool("1", "a")],
        [
            {"call": "search", "args": {}, "id": "a"},
            {"call": "search", "args": {"q": "x"}, "id": "b"},
            {"result": "2", "id": "b"},
            {"result": "1", "id": "a"},
        ],
    ),
    "status and artifact": (
        [ai(call()), tool("stuck", name="search", status="error", artifact={"log": 1})],
        [
            {"call": "search", "args": {}, "id": "c1"},
            {"result": "stuck", "of": "search", "id": "c1", "is_error": True, "metadata": {"artifact": {"log": 1}}},
        ],
    ),
    "no ids": (
        [ai(call(call_id=None), call("steer", None)), tool("1", "", name="search")],
        [{"call": "search", "args": {}}, {"call": "steer", "args": {}}, {"result": "1", "of": "search"}],
    ),
    "a name is the agent": (
        [ai(call(), name="shop"), {**DONE, "name": "shop"}],
        [{"call": "search", "args": {}, "id": "c1", "by": "shop"}, {"agent": "Done.", "by": "shop"}],
    ),
    "a handover is a call": (
        [ai(call("transfer_to_billing")), tool("transferred", name="transfer_to_billing")],
        [
            {"call": "transfer_to_billing", "args": {}, "id": "c1"},
            {"result": "transferred", "of": "transfer_to_billing", "id": "c1"},
        ],
    ),
    "blocks that repeat the call": (
        [ai(call(q=1), content=[{"type": "text", "text": "Hm."}, {"type": "tool_use", "id": "c1", "name": "search"}])],
        [{"agent": "Hm."}, {"call": "search", "args": {"q": 1}, "id": "c1"}],
    ),
    "a block with a call that is not listed": (
        [ai(call(), content=[{"type": "tool_use", "id": "c2", "name": "steer", "input": {"a": 1}}])],
        [{"call": "steer", "args": {"a": 1}, "id": "c2"}, {"call": "search", "args": {}, "id": "c1"}],
    ),
    "a call as its provider wrote it": (
        [
            {
                "type": "ai",
                "content": "",
                "additional_kwargs": {"tool_calls": [{"id": "c1", "function": {"name": "a", "arguments": '{"n": 1}'}}]},
            },
            {"type": "ai", "content": "", "additional_kwargs": {"function_call": {"name": "b", "arguments": "{}"}}},
            {"type": "function", "content": "ok", "name": "b"},
        ],
        [
            {"call": "a", "args": {"n": 1}, "id": "c1"},
            {"call": "b", "args": {}},
            {"result": "ok", "of": "b"},
        ],
    ),
    "tools of the provider": (
        [
            ai(
                content=[
                    {"type": "text", "text": "Looking."},
                    {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"q": "x"}},
                    {"type": "web_search_tool_result", "tool_use_id": "s1", "content": []},
                    {"type": "server_tool_call", "id": "s2", "name": "web_search", "args": {}},
                    {"type": "server_tool_result", "tool_call_id": "s2", "status": "error", "output": "no"},
                    {
                        "type": "non_standard",
                        "value": {"type": "mcp_call", "id": "m1", "name": "get", "arguments": "{}"},
                    },
                    {"type": "executable_code", "executable_code": "1", "language": "python", "id": "e1"},
                    {"type": "code_execution_result", "code_execution_result": "1", "outcome": 1, "tool_call_id": "e1"},
                ]
            )
        ],
        [
            {"agent": "Looking."},
            {"call": "web_search", "args": {"q": "x"}, "id": "s1"},
            {"result": [], "id": "s1", "is_error": False},
            {"call": "web_search", "args": {}, "id": "s2"},
            {"result": "no", "id": "s2", "is_error": True},
            {"call": "get", "args": {}, "id": "m1"},
            {"call": "code_execution", "args": {"executable_code": "1", "language": "python"}, "id": "e1"},
            {"result": "1", "of": "code_execution", "id": "e1", "is_error": False},
        ],
    ),
    "thoughts and files": (
        [
            {"type": "human", "content": [{"type": "image", "url": "x"}, {"type": "text", "text": "What is it?"}]},
            ai(content=[{"type": "reasoning", "reasoning": "hm"}, "A lamp."]),
        ],
        [{"user": "What is it?"}, {"agent": "A lamp."}],
    ),
    "roles of OpenAI among them": (
        [{"type": "human", "content": "hi"}, {"role": "assistant", "content": "ho"}, DONE],
        [{"user": "hi"}, {"agent": "ho"}, {"agent": "Done."}],
    ),
    "a free role": (
        [{"type": "chat", "role": "assistant", "content": "ho", "additional_kwargs": {}}, HUMAN],
        [{"agent": "ho"}, {"user": "Find a lamp."}],
    ),
    "what was removed had happened": (
        [ai(call(), id="m1"), {"type": "remove", "content": "", "id": "m1", "additional_kwargs": {}}],
        [{"call": "search", "args": {}, "id": "c1"}],
    ),
    "an empty answer": ([HUMAN, ai()], [{"user": "Find a lamp."}, {"agent": ""}]),
}


@pytest.mark.parametrize("name", CASES)
def test_messages(name: str) -> None:
    document, events = CASES[name]
    assert detected_names(document) == ["langchain"]
    trace = read(document)
    assert trace.to_events() == events
    assert trace.problems == ()


def test_an_id_that_comes_again_is_of_the_latest_call() -> None:
    trace = read([ai(call("a")), tool("1"), ai(call("b")), tool("2"), tool("3")])
    assert [(call.name, call.result) for call in trace.calls] == [("a", "1"), ("b", "2")]
    assert len(trace.problems) == 1  # two results, and one call is left


@pytest.mark.parametrize("raw", ['{"q": ', "[1]", '{"a": 1}{"a": 2}'])
def test_invalid_calls_keep_their_text(raw: str) -> None:
    """They stand beside the valid ones; where the content has them in order, that is the order."""
    invalid = {"type": "invalid_tool_call", "name": "search", "args": raw, "id": "c1", "error": "not JSON"}
    copies = [{"type": "tool_use", "id": call_id, "name": "x", "input": {}} for call_id in ("c1", "c2")]
    trace = read([ai(call("steer", "c2"), invalid_tool_calls=[invalid], content=copies)])
    assert [call.id for call in trace.calls] == ["c1", "c2"]
    assert isinstance(trace.calls[0].args, MalformedArguments)
    assert trace.calls[0].args.raw == raw
    assert trace.calls[0].metadata == {"error": "not JSON"}
    assert trace.problems


@pytest.mark.parametrize("arguments", [None, "", "{}", [], {}])
def test_no_arguments(arguments: Any) -> None:
    trace = read([ai({"name": "search", "args": arguments, "id": "c1"})])
    assert called(trace) == [("search", {})]
    assert trace.problems == ()


PROBLEMS: dict[str, tuple[Any, str]] = {
    "a call without a name": ([ai(call(""))], "without a name"),
    "no list of calls": ([ai(tool_calls={"name": "a"})], "a list was promised"),
    "an unknown block": ([ai(content=[{"type": "teleport"}])], "teleport"),
    "a stop for a call that is not there": ([ai(response_metadata={"finish_reason": "tool_calls"})], "no call"),
    "an answer that was withheld": ([ai(response_metadata={"finish_reason": "content_filter"})], "withheld"),
    "no message among messages": ([HUMAN, "hello"], "what is none"),
    "not written down": (
        [HUMAN, DONE, [{"lc": 1, "type": "not_implemented", "id": ["x", "AIMessage"], "repr": "AIMessage()"}]],
        "not written down",
    ),
    "an unknown role": ([HUMAN, {"type": "chat", "role": "judge", "content": "", "additional_kwargs": {}}], "judge"),
    "two lists of one state": ({"messages": [HUMAN, ai(call())], "notes": [ai(call("b", "c2"))]}, "order"),
}


def kept(*calls: tuple[str, Any, str], **fields: Any) -> dict[str, Any]:
    """Return what a provider wrote: calls with name, id and arguments."""
    copies = [{"id": call_id, "function": {"name": name, "arguments": text}} for name, call_id, text in calls]
    return {"additional_kwargs": {"tool_calls": copies, **fields}}


KEPT: dict[str, tuple[dict[str, Any], list[str]]] = {
    "the same": (ai(call(q=1), **kept(("search", "c1", '{"q": 1}'))), ["search"]),
    "one more": (ai(call(), **kept(("search", "c1", "{}"), ("b", "c2", "{}"))), ["search", "b"]),
    "one more, before": (ai(call(), **kept(("b", "c2", "{}"), ("search", "c1", "{}"))), ["b", "search"]),
    "one more of the same tool": (ai(call(), **kept(("search", "c1", "{}"), ("search", "c2", "{}"))), ["search"] * 2),
    "only there": (ai(**kept(("b", "c2", "{}"))), ["b"]),
    "another": (ai(call(), **kept(("b", "c2", "{}"))), ["b", "search"]),
    "one that could not be parsed": (
        ai(invalid_tool_calls=[{"name": "b", "args": "{", "id": "c1", "error": "e"}], **kept(("b", "c1", "{"))),
        ["b"],
    ),
    "with another id": (ai(call(q=1), **kept(("search", "x", '{"q": 1}'))), ["search"]),
    "with another id and other arguments": (ai(call(q=1), **kept(("search", "x", '{"q": 2}'))), ["search"] * 2),
    "one of two with another id": (
        ai(call(q=1), **kept(("search", "x", '{"q": 1}'), ("search", "y", '{"q": 1}'))),
        ["search"] * 2,
    ),
    "without an id": (ai(call(), **kept(("search", None, "{}"))), ["search"]),
    "of another tool, without an id": (ai(call(), **kept(("b", None, "{}"))), ["search", "b"]),
    "listed without an id": (ai(call(call_id=None), **kept(("search", "x", "{}"))), ["search"]),
    "the only function": (
        ai(call(), additional_kwargs={"function_call": {"name": "search", "arguments": "{}"}}),
        ["search"],
    ),
    "another function": (
        ai(call(), additional_kwargs={"function_call": {"name": "b", "arguments": "{}"}}),
        ["search", "b"],
    ),
}


@pytest.mark.parametrize("name", KEPT)
def test_calls_as_the_provider_wrote_them(name: str) -> None:
    """Each call once, also one that the message lists nowhere else."""
    message, names = KEPT[name]
    trace = read([HUMAN, message])
    assert [made.name for made in trace.calls] == names
    assert [problem for problem in trace.problems if problem.hides_call] == []


@pytest.mark.parametrize("name", PROBLEMS)
def test_what_makes_no_sense_is_a_problem(name: str) -> None:
    document, reason = PROBLEMS[name]
    (problem,) = read(document).problems
    assert reason in problem.reason
    assert problem.hides_call


# ------------------------------------------------------------------------------------------------- states and streams


def test_a_stream_of_states_tells_every_message_once() -> None:
    first, second = [HUMAN, ai(call())], [HUMAN, ai(call()), tool("1"), DONE]
    document = [{"messages": [HUMAN]}, {"messages": first}, {"messages": first}, {"messages": second}]
    assert detected_names(document) == ["langchain"]
    assert read(document).to_events() == read(second).to_events()


NODES = ("agent", "call", "end", "model", "raw_result", "result", "system", "transfer", "user")


@pytest.mark.parametrize("node", NODES)
@pytest.mark.parametrize("others", [("tools",), ("tools", "agent"), ("result", "user")])
def test_nodes_may_be_called_anything(node: str, others: tuple[str, ...]) -> None:
    """Also what events of a trace are called."""
    document: list[Any] = [{node: {"messages": [ai(call())]}}, {others[0]: {"messages": [tool("1")]}}]
    document += [{others[-1]: None}, {node: {"messages": [DONE]}}]
    assert detected_names(document) == ["langchain"]
    for source in (document, json.dumps(document)):
        (trace,) = read_all(source)
        assert trace.to_events() == read([ai(call()), tool("1"), DONE]).to_events()


@pytest.mark.parametrize(
    "events",
    [
        [{"user": "hi"}, {"call": "a"}, {"result": {"messages": [HUMAN, DONE]}}],
        [{"call": "a", "args": {"messages": [HUMAN]}}, {"result": {"messages": [HUMAN]}}, {"result": {"x": [DONE]}}],
        [{"user": "hi"}, {"result": {"messages": [HUMAN]}, "of": "a"}],
    ],
)
def test_events_that_hold_messages_stay_events(events: Any) -> None:
    """A tool may give back messages of any kind."""
    assert detected_names(events) == ["neutral"]


def task(name: str, number: int, given: Any, *, wrap: Any = dict) -> list[dict[str, Any]]:
    """Return what a stream tells of the beginning and of the end of a task."""
    history, gave = given
    begun = {"id": str(number), "name": name, "input": {"messages": history}, "triggers": ["x"]}
    return [
        begun,
        {"id": str(number), "name": name, "error": None, "result": wrap({"messages": gave}), "interrupts": []},
    ]


@pytest.mark.parametrize("has_ids", [True, False])
@pytest.mark.parametrize("wrap", [dict, lambda state: [list(item) for item in state.items()]])
def test_a_stream_of_tasks(wrap: Any, has_ids: bool) -> None:
    """What a task is given was told before."""
    told = [HUMAN, ai(call()), tool("1"), DONE]
    told = [{**item, "id": f"m{number}"} for number, item in enumerate(told)] if has_ids else told
    names = enumerate(("agent", "tools", "agent"), 1)
    document = [part for end, name in names for part in task(name, end, (told[:end], [told[end]]), wrap=wrap)]
    assert detected_names(document) == ["langchain"]
    for source in (document, json.dumps(document)):
        (trace,) = read_all(source)
        assert trace.to_events() == read(told).to_events()


def test_a_later_version_of_a_message_is_the_one_that_counts() -> None:
    """A person may change a call before it is made."""
    document = [
        {"model": {"messages": [ai(call(q="lamp"), id="m1")]}},
        {"review": {"messages": [ai(call(q="desk"), id="m1")]}},
        {"tools": {"messages": [tool("a desk")]}},
    ]
    trace = read(document)
    assert called(trace) == [("search", {"q": "desk"})]
    assert trace.calls[0].result == "a desk"


def test_the_history_of_a_thread_is_listed_from_the_newest_on() -> None:
    messages = [{**item, "id": f"m{number}"} for number, item in enumerate((HUMAN, ai(call()), tool("1")))]
    snapshots = [
        {"values": {"messages": messages[1:]}, "created_at": "2026-01-01T00:00:02"},
        {"values": {"messages": messages[:2]}, "created_at": "2026-01-01T00:00:01"},
    ]
    assert read(snapshots).to_events() == read(messages).to_events()


def chunk(content: Any = "", *calls: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"type": "AIMessageChunk", "id": "r1", "content": content, "tool_call_chunks": list(calls), **fields}


def piece(index: Any, args: Any, name: Any = None, call_id: Any = None) -> dict[str, Any]:
    return {"type": "tool_call_chunk", "index": index, "args": args, "name": name, "id": call_id}


STREAMS = {
    "fragments interleave": [
        chunk("", piece(0, "", "search", "c1")),
        chunk("", piece(1, '{"a":', "steer", "c2")),
        chunk("", piece(0, '{"q": '), piece(1, " 1}")),
        chunk("", piece(0, '"lamp"}'), chunk_position="last"),
    ],
    "the same index with different ids": [
        chunk("", piece(0, '{"q": "lamp"}', "search", "c1")),
        chunk("", piece(0, '{"a": 1}', "steer", "c2")),
    ],
    "whole calls without an index": [
        chunk("", piece(None, '{"q": "lamp"}', "search", "c1"), piece(None, '{"a": 1}', "steer", "c2"))
    ],
}


@pytest.mark.parametrize("name", STREAMS)
def test_pieces_of_a_message_are_put_together(name: str) -> None:
    events = [
        {"call": "search", "args": {"q": "lamp"}, "id": "c1"},
        {"call": "steer", "args": {"a": 1}, "id": "c2"},
    ]
    node = {"langgraph_node": "model", "langgraph_step": 1}
    assert read(STREAMS[name]).to_events() == events
    assert read([[piece, node] for piece in STREAMS[name]]).to_events() == events
    assert read([["messages", [piece, node]] for piece in STREAMS[name]]).to_events() == events


def test_a_stream_that_breaks_off_leaves_a_call_that_can_not_be_read() -> None:
    trace = read(STREAMS["fragments interleave"][:3])
    assert isinstance(trace.calls[0].args, MalformedArguments)
    assert called(trace)[1] == ("steer", {"a": 1})
    assert trace.problems


def test_texts_of_pieces_are_one_text() -> None:
    texts = [chunk("Hel"), chunk("lo"), chunk([{"type": "text", "text": "!", "index": 0}])]
    assert read(texts[:2]).to_events() == [{"agent": "Hello"}]
    assert read(texts).to_events() == [{"agent": "Hello\n!"}]


# ----------------------------------------------------------------------------------------------------------- detection


@pytest.mark.parametrize(
    "document",
    [
        [{"role": "user", "content": "hi"}],
        {"messages": [{"role": "assistant", "content": "ho"}]},
        {"type": "system", "subtype": "init", "content": "x", "uuid": "1"},
        {"run_type": "chain", "run_id": "1", "inputs": {"messages": [HUMAN]}},
        {"type": "tool", "content": []},
        {"messages": []},
    ],
)
def test_other_documents_are_left_to_others(document: Any) -> None:
    assert "langchain" not in detected_names(document)


@pytest.mark.parametrize("document", [[], {}, "x", 1, {"messages": []}])
def test_nothing_of_the_kind(document: Any) -> None:
    with pytest.raises(ReadError):
        read(document if not isinstance(document, str) else [document], "langchain")


def test_deep_nesting_is_refused() -> None:
    deep: Any = [HUMAN]
    for _ in range(3000):
        deep = [deep]
    with pytest.raises(ReadError):
        read(deep, "langchain")


# ---------------------------------------------------------------------------------------------- databases and events


def database(states: list[tuple[Any, ...]], *statements: str) -> bytes:
    """Return a database with checkpoints: threads, graphs, ids, those of the ones before, kinds and blobs."""
    with contextlib.closing(sqlite3.connect(":memory:")) as made:
        for statement in statements or CHECKPOINTS:
            made.execute(statement)
        for state in states:
            made.execute("INSERT INTO checkpoints VALUES (?, ?, ?, ?, ?, ?, '')", state)
        made.commit()
        return made.serialize()


CHECKPOINTS = (
    "CREATE TABLE checkpoints"
    " (thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint, metadata)",
    "CREATE TABLE writes (thread_id, checkpoint_ns, checkpoint_id, task_id, idx, channel, type, value)",
)


def packed(messages: Any, code: int = 5) -> bytes:
    """Return a state as it is saved, with messages as objects."""
    pack = msgspec.msgpack.encode
    made = [msgspec.msgpack.Ext(code, pack(["a.module", "AClass", item, "a_method"])) for item in messages]
    return pack({"v": 4, "channel_values": {"messages": made}})


@pytest.mark.parametrize("code", range(6))
def test_states_in_message_pack(code: int) -> None:
    """Of objects the data is taken, whatever would make them; a state repeats what the one before it has."""
    told = [HUMAN, ai(call()), tool("1"), HUMAN, DONE]
    states = [("t", "", str(end), str(end - 1), "msgpack", packed(told[:end], code)) for end in range(1, 6)]
    (trace,) = read_all(database(states))
    assert trace.to_events() == read(told).to_events()
    assert trace.problems == ()


@pytest.mark.parametrize(
    ("kind", "blob"),
    [
        ("pickle", b"cos\nsystem\n(S'true'\ntR."),
        ("other", b""),
        ("msgpack", b"\xc1"),
        ("json", b"{"),
        ("msgpack", packed([ai(call())], 6)),
        ("msgpack", packed([ai(call())], 99)),
        ("msgpack", msgspec.msgpack.encode({"channel_values": {"messages": [msgspec.msgpack.Ext(5, b"\xc0")]}})),
        ("msgpack", 5),
    ],
)
def test_states_that_can_not_be_read_hide_calls(kind: str, blob: Any) -> None:
    """They are never made objects of; what the other states have is read."""
    states = [("t", "", "1", None, "msgpack", packed([HUMAN])), ("t", "", "2", "1", kind, blob)]
    (trace,) = read_all(database(states))
    assert [event.get("user") for event in trace.to_events()] == ["Find a lamp."]
    assert True in [problem.hides_call for problem in trace.problems]


def test_objects_in_objects_without_end() -> None:
    """They are taken apart so deep and no deeper."""
    inside = msgspec.msgpack.encode(1)
    for _ in range(200):
        inside = msgspec.msgpack.encode(msgspec.msgpack.Ext(7, inside))
    blob = b"\x81" + msgspec.msgpack.encode("channel_values") + b"\x81" + msgspec.msgpack.encode("x") + inside
    states = [("t", "", "1", None, "msgpack", packed([HUMAN])), ("t", "", "2", "1", "msgpack", blob)]
    (trace,) = read_all(database(states))
    assert [problem.hides_call for problem in trace.problems] == [True]


@pytest.mark.parametrize(
    "data",
    [
        database([], "CREATE TABLE other (x)"),
        database([], "CREATE VIEW checkpoints AS SELECT 1", CHECKPOINTS[1]),
        database([], CHECKPOINTS[0]),
        database([], "CREATE TABLE checkpoints (x)", "CREATE TABLE writes (x)"),
        b"SQLite format 3\x00",
        b"SQLite format 3\x00" + bytes(5000),
        database([("t", "", "1", None, "msgpack", packed([HUMAN, ai(call())]))])[:5000],
    ],
    ids=range(7),
)
def test_databases_of_other_kinds_are_refused(data: bytes) -> None:
    """One without checkpoints, one that is broken, one that would run a query of its own."""
    with pytest.raises(ReadError, match=r"database|no run|no known format"):
        list(read_all(data))


def happened(name: str, run: str, tool_name: str = "m", **data: Any) -> dict[str, Any]:
    return {"event": f"on_{name}", "run_id": run, "name": tool_name, "data": data, "tags": [], "parent_ids": []}


def test_events_by_hand() -> None:
    """A tool that a node called for the model is the model's call, and its result is told once."""
    asked = [
        happened("chat_model_start", "1", input={"messages": [[HUMAN]]}),
        happened("chat_model_stream", "1", chunk=ai()),
    ]
    answered = [*asked, happened("chat_model_end", "1", output=ai(call(q="lamp")))]
    ran = [
        happened("tool_start", "2", "search", input={"q": "lamp"}),
        happened("tool_end", "2", "search", output="a lamp"),
    ]
    told = happened("chain_end", "3", output={"messages": [tool("1")]})
    assert read([*answered, *ran]).calls[0].result == "a lamp"
    assert len(read([*answered, *ran, told]).to_events()) == 3
    failed = [ran[0], happened("tool_error", "2", "search", error="stuck")]
    assert [(found.name, found.is_error) for found in read([*answered, *failed]).calls] == [("search", True)]
    assert [(found.name, found.args) for found in read([*answered, *ran, *ran]).calls] == [
        ("search", {"q": "lamp"})
    ] * 2
    retried = read([*answered, *failed, *ran])
    assert [(found.result, found.is_error) for found in retried.calls] == [("a lamp", False)]
    assert [problem.hides_call for problem in read(asked).problems] == [True]
    assert [problem.hides_call for problem in read([*answered, {"run_id": "1"}, 5]).problems] == [True, True]


SAMPLE = [
    {"messages": [*(item for items in SPELLINGS.values() for item in items)]},
    {"messages": [{**message, "id": f"m{number}"} for number, message in enumerate(CASES["tools of the provider"][0])]},
    {"model": {"messages": [ai(call(), invalid_tool_calls=[{"name": "a", "args": "{", "id": "x", "error": "e"}])]}},
]


def test_mutants() -> None:
    assert read(SAMPLE).calls
    events = [happened("chat_model_start", "1", input=[HUMAN]), happened("chat_model_end", "1", output=ai(call()))]
    events += [happened("tool_start", "2", input={}), happened("tool_end", "2", output=tool("1"))]
    for document in (SAMPLE, events, *STREAMS.values()):
        assert_mutants_are_read(document, 400, ("langchain",))


# ------------------------------------------------------------------------------------------------------- the frameworks


@pytest.fixture
def graph() -> Any:  # noqa: C901 - the classes of the framework can be derived from only where it is installed
    """Return what makes an agent of the framework: it says what it is told to, and calls the tools."""
    pytest.importorskip("langgraph")
    agents = pytest.importorskip("langchain.agents")
    from langchain.agents.middleware import AgentMiddleware
    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import AIMessage, AIMessageChunk, ToolMessage
    from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult

    class Scripted(BaseChatModel):
        script: list[Any]

        @property
        def _llm_type(self) -> str:
            return "scripted"

        def bind_tools(self, *_: Any, **__: Any) -> Any:
            return self

        def _generate(self, *_: Any, **__: Any) -> Any:
            return ChatResult(generations=[ChatGeneration(message=self.script.pop(0))])

        def _stream(self, *_: Any, **__: Any) -> Iterator[Any]:
            message = self.script.pop(0)
            yield ChatGenerationChunk(message=AIMessageChunk(content=message.content))
            for index, call in enumerate(message.tool_calls):
                text = json.dumps(call["args"])
                for part, name, call_id in ((text[:5], call["name"], call["id"]), (text[5:], None, None)):
                    chunk = {"name": name, "args": part, "id": call_id, "index": index, "type": "tool_call_chunk"}
                    yield ChatGenerationChunk(message=AIMessageChunk(content="", tool_call_chunks=[chunk]))

    class Forgiving(AgentMiddleware):  # type: ignore[type-arg]
        """Tells the model what a tool raised."""

        def wrap_tool_call(self, request: Any, handler: Any) -> Any:
            try:
                return handler(request)
            except RuntimeError as error:
                return self._told(request, error)

        async def awrap_tool_call(self, request: Any, handler: Any) -> Any:
            try:
                return await handler(request)
            except RuntimeError as error:
                return self._told(request, error)

        def _told(self, request: Any, error: Exception) -> Any:
            call = request.tool_call
            return ToolMessage(str(error), tool_call_id=call["id"], name=call["name"], status="error")

    def make(script: list[Any], tools: list[Any], **options: Any) -> Any:
        messages = [AIMessage(content=text, tool_calls=calls) for text, calls in script]
        return agents.create_agent(Scripted(script=messages), tools, middleware=[Forgiving()], **options)

    return make


def calls_of(turn: tuple[tuple[str, dict[str, Any]], ...], prefix: str) -> list[dict[str, Any]]:
    return [{"name": name, "args": args, "id": f"{prefix}{number}"} for number, (name, args) in enumerate(turn)]


SCRIPT = [
    ("", calls_of(FIRST_TURN, "a")),
    ("Found.", []),
    ("Turning.", calls_of(SECOND_TURN, "b")),
    ("It is stuck.", []),
]


def assert_as_scripted(trace: Trace, tools: Tools) -> None:
    assert_witnessed(trace, tools)
    assert called(trace) == [*FIRST_TURN, *SECOND_TURN]
    assert [call.turn for call in trace.calls] == [1, 1, 2, 2]
    assert {call.agent for call in trace.calls} == {"shop"}


@pytest.mark.parametrize(
    "mode", ["values", "updates", "messages", "debug", ["updates", "values"], ["messages", "values"]]
)
@pytest.mark.parametrize("version", ["v1", "v2"])
def test_langgraph_streams(graph: Any, mode: Any, version: str) -> None:
    tools = Tools()
    agent = graph(SCRIPT[2:], [tools.steer, tools.weather], name="shop")
    asked = {"messages": [{"role": "user", "content": "Turn."}]}
    trace = read(list(agent.stream(asked, stream_mode=mode, version=version)))
    assert_witnessed(trace, tools)
    assert called(trace) == list(SECOND_TURN)


def test_langgraph_states(graph: Any) -> None:
    from langchain_core.load import dumpd
    from langchain_core.messages import messages_to_dict
    from langgraph.checkpoint.memory import InMemorySaver

    tools, saver = Tools(), InMemorySaver()
    agent = graph(SCRIPT, [tools.search, tools.steer, tools.weather], name="shop", checkpointer=saver)
    config: Any = {"configurable": {"thread_id": "1"}}
    agent.invoke({"messages": [("user", "Find.")]}, config)
    state = agent.invoke({"messages": [("user", "Turn.")]}, config)
    messages = state["messages"]
    dumped = [message.model_dump() for message in messages]
    sources = [
        state,
        messages,
        dumped,
        json.dumps(dumped),
        messages_to_dict(messages),
        dumpd(messages),
        dumpd(state),
        agent.get_state(config),
        list(agent.get_state_history(config)),
        saver.get_tuple(config),
    ]
    for source in sources:
        assert_as_scripted(read(source), tools)


@pytest.mark.filterwarnings("ignore:astream_events")
@pytest.mark.parametrize("version", ["v1", "v2"])
def test_langgraph_events(graph: Any, version: str) -> None:
    """Each message stands in many events, and is told once; the calls are those that the tools noted."""
    tools = Tools()
    agent = graph(SCRIPT[2:], [tools.steer, tools.weather], name="shop")

    async def events() -> list[Any]:
        asked = {"messages": [{"role": "user", "content": "Turn."}]}
        return [event async for event in agent.astream_events(asked, version=version)]

    found = asyncio.run(events())
    trace = read(found)
    assert_witnessed(trace, tools)
    assert called(trace) == list(SECOND_TURN)
    said = [
        (event.get("user"), event.get("agent")) for event in trace.to_events() if "user" in event or "agent" in event
    ]
    assert said == [("Turn.", None), (None, "Turning."), (None, "It is stuck.")]
    asked = next(index for index, event in enumerate(found) if event["event"] == "on_chat_model_start")
    broken = read(found[: asked + 1])
    assert [problem.hides_call for problem in broken.problems] == [True]


def test_events_of_tools_that_no_model_called() -> None:
    """Their runs are the calls: one that failed too, and one that never ended."""
    pytest.importorskip("langchain_core")
    from langchain_core.runnables import RunnableLambda
    from langchain_core.tools import StructuredTool

    tools = Tools()
    search, steer = StructuredTool.from_function(tools.search), StructuredTool.from_function(tools.steer)

    async def both(_: Any, config: Any) -> None:
        await search.ainvoke({"query": "lamp", "limit": 1}, config)
        await steer.ainvoke({"angle": 1.5}, config)

    async def events() -> list[Any]:
        found = []
        with contextlib.suppress(RuntimeError):
            async for event in RunnableLambda(both).astream_events(1, version="v2"):
                found.append(event)  # noqa: PERF401 - what came before it raised is wanted
        return found

    found = asyncio.run(events())
    trace = read(found)
    assert [(call.name, call.args, call.is_error) for call in trace.calls] == [
        ("search", {"query": "lamp", "limit": 1}, False),
        ("steer", {"angle": 1.5}, True),
    ]
    assert trace.calls[0].result == tools.made[0].result
    begun = [event for event in found if event["event"] == "on_tool_start"]
    assert [(call.name, call.result) for call in read(begun).calls] == [("search", UNANSWERED), ("steer", UNANSWERED)]


def test_checkpoints_in_sqlite(graph: Any, tmp_path: Path) -> None:
    """The database that the checkpointer writes: a run for each thread, nothing told twice."""
    saver_module = pytest.importorskip("langgraph.checkpoint.sqlite")
    tools, other = Tools(), Tools()
    path = tmp_path / "checkpoints.sqlite"
    with saver_module.SqliteSaver.from_conn_string(str(path)) as saver:
        agent = graph(SCRIPT, [tools.search, tools.steer, tools.weather], name="shop", checkpointer=saver)
        for text in ("Find.", "Turn."):
            agent.invoke({"messages": [("user", text)]}, {"configurable": {"thread_id": "1"}})
        agent = graph(SCRIPT, [other.search, other.steer, other.weather], name="shop", checkpointer=saver)
        for text in ("Find.", "Turn."):
            agent.invoke({"messages": [("user", text)]}, {"configurable": {"thread_id": "2"}})
        with pytest.raises(ReadError, match="wal"):
            read(path)
    for source in (path, path.read_bytes()):
        first, second = read_all(source)
        assert (first.name, second.name) == ("1", "2")
        assert_as_scripted(first, tools)
        assert_as_scripted(second, other)


def test_checkpoints_of_a_run_that_stopped_between_states(graph: Any, tmp_path: Path) -> None:
    """What a task gave before another one failed stands in no state, and happened all the same."""
    saver_module = pytest.importorskip("langgraph.checkpoint.sqlite")
    from langchain_core.messages import AIMessage
    from langgraph.graph import START, MessagesState, StateGraph

    def node(number: int) -> Any:
        def called(_: Any) -> Any:
            if number == 2:
                raise RuntimeError(WHEEL)
            return {"messages": [AIMessage("", tool_calls=calls_of(SECOND_TURN, "b"))]}

        return called

    path = tmp_path / "checkpoints.sqlite"
    made = StateGraph(MessagesState)
    for number in (1, 2):
        made.add_node(str(number), node(number))
        made.add_edge(START, str(number))
    with saver_module.SqliteSaver.from_conn_string(str(path)) as saver, pytest.raises(RuntimeError):
        made.compile(checkpointer=saver).invoke(
            {"messages": [("user", "Turn.")]}, {"configurable": {"thread_id": "1"}}, durability="sync"
        )
    assert called(read(path)) == list(SECOND_TURN)


def test_langgraph_stops_for_a_person(graph: Any) -> None:
    """A call that waits to be approved is a call without a result, in the state and in the snapshot."""
    from langgraph.checkpoint.memory import InMemorySaver

    tools = Tools()
    agent = graph(
        SCRIPT[2:], [tools.steer, tools.weather], name="shop", checkpointer=InMemorySaver(), interrupt_before=["tools"]
    )
    config: Any = {"configurable": {"thread_id": "1"}}
    state = agent.invoke({"messages": [("user", "Turn.")]}, config)
    for source in (state, agent.get_state(config)):
        trace = read(source)
        assert called(trace) == list(SECOND_TURN)
        assert all(call.answer is None for call in trace.calls)
        assert trace.problems == ()


def test_langgraph_handover(graph: Any) -> None:
    """To hand over is a call of the one agent; the calls after it are the other's."""
    swarm = pytest.importorskip("langgraph_swarm")
    tools = Tools()
    handover = swarm.create_handoff_tool(agent_name="billing")
    shop = graph([("", [{"name": handover.name, "args": {}, "id": "h1"}])], [handover, tools.search], name="shop")
    billing = graph([("", calls_of(SECOND_TURN[1:], "b")), ("Done.", [])], [tools.weather], name="billing")
    agents = swarm.create_swarm([shop, billing], default_active_agent="shop").compile()
    state = agents.invoke({"messages": [("user", "Is it sunny?")]})
    trace = read(state)
    assert_witnessed(trace, tools)
    assert [(call.name, call.agent) for call in trace.calls] == [(handover.name, "shop"), ("weather", "billing")]
    assert trace.calls[0].answer is not None


def test_langchain_objects() -> None:
    """A message alone, and a call that could not be parsed, put together from pieces."""
    messages = pytest.importorskip("langchain_core.messages")
    chunks = [
        messages.AIMessageChunk(content="", tool_call_chunks=[piece(0, '{"q": "la', "search", "c1")], id="r1"),
        messages.AIMessageChunk(content="", tool_call_chunks=[piece(0, 'mp"')], id="r1"),
    ]
    whole = chunks[0] + chunks[1]
    assert whole.tool_calls[0]["args"] == {"q": "lamp"}  # mended by the framework, which is not what was said
    for source in (whole, chunks, {"messages": [whole]}, [{"messages": [whole]}, {"messages": [whole]}]):
        (found,) = read(source).calls
        assert isinstance(found.args, MalformedArguments)
        assert found.args.raw == '{"q": "lamp"'


def test_rows_of_a_file_are_states(tmp_path: Any) -> None:
    path = tmp_path / "states.jsonl"
    path.write_text("\n".join(json.dumps({"messages": items}) for items in SPELLINGS.values()))
    assert [trace.to_events() for trace in read_all(path)] == [WHOLE] * len(SPELLINGS)
