"""The Claude Agent SDK and Claude Code, run for real with a model on this machine: messages, streams, transcripts."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from framework_mutations import assert_known_alone, assert_mutants_are_read_or_refused
from framework_support import FIRST_TURN, SECOND_TURN, WHEEL, Tools
from provider_support import corpora
from scripted_servers import Model, anthropic_stream, served

from tracewitness.errors import ReadError
from tracewitness.readers import read, read_all
from tracewitness.trace import UNANSWERED, Trace


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _use(call_id: str, name: str, arguments: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": name, "input": arguments}


def _result(call_id: str, content: Any, **fields: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call_id, "content": content, **fields}


def _assistant(*blocks: Any, message_id: Any = None, **fields: Any) -> dict[str, Any]:
    message = {"id": message_id, "role": "assistant", "content": list(blocks)}
    return {"type": "assistant", "message": message, "parent_tool_use_id": None, "session_id": "s1", **fields}


def _user(content: Any, **fields: Any) -> dict[str, Any]:
    message = {"role": "user", "content": content}
    return {"type": "user", "message": message, "parent_tool_use_id": None, "session_id": "s1", **fields}


INIT = {"type": "system", "subtype": "init", "session_id": "s1", "tools": ["Bash"]}
DONE = {"type": "result", "subtype": "success", "is_error": False, "num_turns": 1, "session_id": "s1"}


# ------------------------------------------------------------------------------------------- the SDK's stream, by hand


def test_a_stream() -> None:
    """Calls, results and words, and an empty message where the SDK leaves the prompt out."""
    trace = read(
        [
            INIT,
            _assistant(_text("Looking."), _use("t1", "Read", {"path": "a"})),
            _user([_result("t1", [_text("abc")], is_error=False)]),
            _assistant(_text("Done.")),
            DONE,
        ]
    )
    assert trace.name == "s1"
    assert trace.to_events() == [
        {"user": ""},
        {"agent": "Looking."},
        {"call": "Read", "args": {"path": "a"}, "id": "t1"},
        {"result": "abc", "id": "t1", "is_error": False},
        {"agent": "Done."},
    ]
    assert trace.problems == ()


def test_turns() -> None:
    """Each result ends a turn. One that the program began itself is no user's."""
    notified = {**DONE, "origin": {"kind": "task-notification"}}
    told = _user("the task is done", origin={"kind": "task-notification"})
    stream = [INIT, _user("hi"), _assistant(_use("t1", "a", {})), DONE, INIT, _assistant(_use("t2", "b", {})), DONE]
    trace = read([*stream, told, _assistant(_use("t3", "c", {})), notified, INIT, _assistant(_use("t4", "d", {}))])
    assert [(call.name, call.turn) for call in trace.calls] == [("a", 1), ("b", 2), ("c", 2), ("d", 3)]
    assert [event.get("system") for event in trace.to_events() if "system" in event] == ["the task is done"]


def test_sub_agents() -> None:
    """Their calls are theirs, and what they are told is no user's message."""
    given = {"subagent_type": "helper", "prompt": "look"}
    trace = read(
        [
            _user("hi"),
            _assistant(_use("t1", "Agent", given)),
            _user("look", parent_tool_use_id="t1"),
            _assistant(_use("t2", "Bash", {"command": "ls"}), parent_tool_use_id="t1"),
            _user([_result("t2", "a.txt")], parent_tool_use_id="t1"),
            _user([_result("t1", "There is a.txt.")]),
        ]
    )
    assert [(call.name, call.agent, call.turn, call.metadata) for call in trace.calls] == [
        ("Agent", None, 1, None),
        ("Bash", "helper", 1, {"parent_tool_use_id": "t1"}),
    ]
    assert [call.result for call in trace.calls] == ["There is a.txt.", "a.txt"]


def _owned(parent: str | None, number: int, message_id: Any) -> list[dict[str, Any]]:
    """Return a call and its result, both with an id that others use as well."""
    call = _assistant(_use("b", "Bash", {"n": number}), message_id=message_id, parent_tool_use_id=parent)
    return [call, _user([_result("b", f"r{number}")], parent_tool_use_id=parent)]


@pytest.mark.parametrize("message_ids", [("m2", "m3", "m4"), ("m2", "m2", "m2"), (None, None, None)])
@pytest.mark.parametrize("order", [(0, 2, 4, 1, 3, 5), (0, 2, 4, 5, 3, 1), (0, 1, 2, 3, 4, 5)])
@pytest.mark.parametrize("owners", [("t1", "t2", "t3"), (None, "t1", "t2")])
def test_one_id_in_several_agents(
    owners: tuple[str | None, ...], order: tuple[int, ...], message_ids: tuple[Any, ...]
) -> None:
    """Each result is that of the call of the same agent, in whatever order they come."""
    lines = [line for number in range(3) for line in _owned(owners[number], number, message_ids[number])]
    begun = _assistant(*(_use(f"t{number}", "Task", {"prompt": "p"}) for number in (1, 2, 3)), message_id="m1")
    trace = read([begun, *(lines[index] for index in order)])
    calls = [call for call in trace.calls if call.name == "Bash"]
    assert [(call.args, call.result) for call in calls] == [({"n": number}, f"r{number}") for number in range(3)]
    assert [(call.metadata or {}).get("tool_use_id", call.id) for call in calls] == ["b"] * 3
    assert [(call.metadata or {}).get("parent_tool_use_id") for call in calls] == list(owners)
    assert trace.problems == ()


def test_a_result_of_an_agent_that_did_not_call() -> None:
    """It is no result of what another agent called."""
    calls = [_owned(parent, number, None)[0] for number, parent in enumerate(("t1", "t2"))]
    trace = read([*calls, _user([_result("b", "x")], parent_tool_use_id="t3")])
    assert [call.result for call in trace.calls] == [UNANSWERED, UNANSWERED]
    assert len(trace.problems) == 1


def test_a_history_that_begins_with_that_of_another_agent() -> None:
    """An answer that is told again is no second one."""
    own = _assistant(_use("b", "Bash", {"n": 1}), message_id="m1")
    trace = read([own, {**own, "parent_tool_use_id": "t1"}, _user([_result("b", "x")])])
    assert [(call.id, call.result) for call in trace.calls] == [("b", "x")]
    assert trace.problems == ()


def test_an_answer_in_pieces_is_one() -> None:
    """A call that is told again, and more of it, is the same call with what was told last."""
    trace = read(
        [
            _assistant(_text("Looking."), _use("t1", "a", {}), message_id="m1"),
            _assistant(_text("Looking."), _use("t1", "a", {"n": 1}), _use("t2", "a", {"n": 2}), message_id="m1"),
            _assistant(_use("t1", "a", {"n": 3}), message_id="m2"),
        ]
    )
    assert [call.args for call in trace.calls] == [{"n": 1}, {"n": 2}, {"n": 3}]
    assert sum("agent" in event for event in trace.to_events()) == 1


def test_fragments_of_a_stream() -> None:
    """They are told again by a message; a call that none tells of is a problem."""
    begun = {"type": "content_block_start", "index": 0, "content_block": _use("t1", "a", {})}
    event = {"type": "stream_event", "event": begun, "session_id": "s1"}
    assert read([INIT, event, _assistant(_use("t1", "a", {}))]).problems == ()
    (problem,) = read([INIT, event, _assistant(_text("x"))]).problems
    assert (problem.place, problem.hides_call) == ("$[1]", True)


def test_denials() -> None:
    """A denied call is a call; one that only the end of the turn tells of is one too."""
    denials = [
        {"tool_name": "Bash", "tool_use_id": "t1", "tool_input": {"command": "rm"}},
        {"tool_name": "Bash", "tool_use_id": "t2", "tool_input": {"command": "mv"}},
    ]
    stream = [
        _user("hi"),
        _assistant(_use("t1", "Bash", {"command": "rm"})),
        _user([_result("t1", "no", is_error=True)]),
    ]
    trace = read([*stream, {**DONE, "permission_denials": denials}])
    assert [(call.args["command"], call.is_error, call.metadata) for call in trace.calls] == [
        ("rm", True, {"permission_denied": True}),
        ("mv", None, {"permission_denied": True}),
    ]


def test_a_deferred_call() -> None:
    """It may be told by the result alone."""
    deferred = {**DONE, "deferred_tool_use": {"id": "t1", "name": "a", "input": {"n": 1}}}
    assert [call.args for call in read([_user("hi"), deferred]).calls] == [{"n": 1}]
    assert len(read([_user("hi"), _assistant(_use("t1", "a", {"n": 1})), deferred]).calls) == 1


@pytest.mark.parametrize(
    ("item", "hides_call"),
    [
        ({**DONE, "subtype": "error_max_turns", "is_error": True}, False),
        ({**DONE, "is_error": True, "result": "API Error"}, False),
        (_assistant(_text("x"), error="rate_limit"), False),
        ({"type": "assistant", "message": None}, True),
        ({"type": "novel", "message": {"content": [_use("t9", "b", {})]}}, True),
        (_assistant({"type": "novel_block"}), True),
        (_assistant("text"), True),
        ({}, True),
        ("no message", True),
    ],
)
def test_what_is_not_understood_is_a_problem(item: Any, hides_call: bool) -> None:
    """Also that a run ended before it was done."""
    trace = read([_user("hi"), _assistant(_use("t1", "a", {})), item])
    assert [problem.hides_call for problem in trace.problems] == [hides_call]


def test_a_run_that_ended_at_once() -> None:
    """There is no evidence in it."""
    trace = read([INIT, {**DONE, "subtype": "error_during_execution", "errors": ["no model"]}])
    assert trace.no_evidence == "the run ended early: 'error_during_execution': ['no model']"


def test_mapping_arguments_and_other_quirks() -> None:
    """No arguments, a result without content, an image as a prompt, calls of the provider's tools."""
    trace = read(
        [
            _user([{"type": "image", "source": {}}]),
            _assistant(_use("t1", "a", None), {**_use("t2", "web_search", {"q": "x"}), "type": "server_tool_use"}),
            _assistant({"type": "web_search_tool_result", "tool_use_id": "t2", "content": []}),
            _user([{"type": "tool_result", "tool_use_id": "t1"}, _text("and now?")]),
        ]
    )
    assert [(call.args, call.result, call.is_error) for call in trace.calls] == [
        ({}, None, None),
        ({"q": "x"}, [], False),
    ]
    assert [event["user"] for event in trace.to_events() if "user" in event] == ["", "and now?"]
    assert trace.problems == ()


# ------------------------------------------------------------------------------------------------- transcripts, by hand


def _line(kind: str, uuid: str, content: Any, message_id: Any = None, **fields: Any) -> dict[str, Any]:
    message = {"role": kind, "content": content, **({"id": message_id} if message_id else {})}
    own = {"isSidechain": False, "sessionId": "s1", "timestamp": f"2026-01-01T00:00:0{uuid[1:]}Z"}
    return {"parentUuid": None, "type": kind, "uuid": uuid, "message": message, **own, **fields}


def test_a_transcript() -> None:
    """Lines in order, with their times; each block once."""
    lines = [
        {"type": "queue-operation", "operation": "enqueue", "sessionId": "s1", "content": "hi"},
        _line("user", "u1", "hi"),
        {"type": "attachment", "uuid": "u0", "isSidechain": False, "attachment": {"type": "environment"}},
        _line("assistant", "u2", [_text("Looking.")], "m1"),
        _line("assistant", "u3", [_text("Looking."), _use("t1", "Read", {"path": "a"})], "m1"),
        _line("assistant", "u3", [_use("t1", "Read", {"path": "a"})], "m1"),
        _line("user", "u4", [_result("t1", "abc")], toolUseResult={"file": {}}),
        {"type": "api-request-blob", "message": {"role": "user", "content": "hi"}, "sessionId": "s1"},
        {"type": "summary", "summary": "x", "leafUuid": "u4"},
    ]
    trace = read(lines)
    assert trace.name == "s1"
    assert trace.to_events() == [
        {"user": "hi", "at": "2026-01-01T00:00:01Z"},
        {"agent": "Looking.", "at": "2026-01-01T00:00:02Z"},
        {"call": "Read", "args": {"path": "a"}, "id": "t1", "at": "2026-01-01T00:00:03Z"},
        {"result": "abc", "id": "t1", "at": "2026-01-01T00:00:04Z"},
    ]
    assert trace.problems == ()
    assert trace.calls[0].is_error is None
    text = "\n".join(map(json.dumps, lines))
    assert read(text).to_events() == read({"messages": lines}).to_events() == trace.to_events()


def test_a_branch_that_was_left_was_made_all_the_same() -> None:
    """A user went back, and what was done before can't be undone by that."""
    lines = [
        _line("user", "u1", "delete it"),
        _line("assistant", "u2", [_use("t1", "delete", {})], "m1", parentUuid="u1"),
        _line("user", "u3", "keep it", parentUuid=None),
        _line("assistant", "u4", [_use("t2", "keep", {})], "m2", parentUuid="u3"),
    ]
    assert [call.name for call in read(lines).calls] == ["delete", "keep"]


def test_a_line_that_says_something_else_is_no_repetition() -> None:
    """Whatever its uuid is, and whatever the id of its call."""
    first = _line("assistant", "u1", [_use("t1", "a", {})], "m1")
    other = _line("assistant", "u1", [_use("t1", "b", {})], "m1")
    assert [call.name for call in read([first, first, other]).calls] == ["a", "b"]


def test_what_the_program_says_is_no_users_message() -> None:
    """Reminders, summaries and notices begin no turn."""
    lines = [
        _line("user", "u1", "hi"),
        _line("user", "u2", "a caveat", isMeta=True),
        _line("user", "u3", "what came before", isCompactSummary=True),
        _line("user", "u4", "a task is done", origin={"kind": "task-notification"}),
        _line("user", "u5", "typed", origin={"kind": "human"}),
        _line("user", "u6", "<local-command-stdout>Compacted</local-command-stdout>"),
    ]
    kinds = [next(iter(event)) for event in read(lines).to_events()]
    assert kinds == ["user", "system", "system", "system", "user", "system"]


def test_what_was_typed_while_the_agent_worked() -> None:
    """It is an attachment."""
    queued = {"type": "queued_command", "prompt": "stop", "commandMode": "prompt"}
    notice = {"type": "queued_command", "prompt": "a task is done", "commandMode": "task-notification"}
    own = {"type": "attachment", "isSidechain": False, "sessionId": "s1"}
    lines = [_line("user", "u1", "hi"), {**own, "attachment": queued}, {**own, "attachment": notice}]
    assert read(lines).to_events()[1:] == [{"user": "stop"}, {"system": "a task is done"}]


def test_sidechains_and_progress_are_sub_agents() -> None:
    """Whichever way a version wrote them, each call once."""
    given = {"subagent_type": "helper", "prompt": "look"}
    inner = _line("assistant", "u3", [_use("t2", "ls", {})], "m2")
    progress = {"type": "agent_progress", "agentId": "x", "message": inner}
    done = {"agentId": "y", "status": "completed"}
    lines = [
        _line("user", "u1", "hi"),
        _line("assistant", "u2", [_use("t1", "Task", given)], "m1"),
        {"type": "progress", "parentToolUseID": "t1", "data": progress, "isSidechain": False, "sessionId": "s1"},
        {"type": "progress", "data": {"type": "hook_progress"}, "isSidechain": False, "sessionId": "s1"},
        _line("user", "u4", "look", isSidechain=True, agentId="y"),
        _line("assistant", "u5", [_use("t3", "cat", {})], "m3", isSidechain=True, agentId="y"),
        _line(
            "assistant", "u6", [_use("t4", "rm", {})], "m4", isSidechain=True, agentId="z", attributionAgent="cleaner"
        ),
        _line("assistant", "u7", [_use("t5", "mv", {})], "m5", isSidechain=True),
        _line("user", "u8", [_result("t1", "done")], toolUseResult=done),
    ]
    trace = read(lines)
    assert [(call.name, call.agent, call.metadata) for call in trace.calls] == [
        ("Task", None, None),
        ("ls", "helper", {"parent_tool_use_id": "t1"}),
        ("cat", "helper", {"parent_tool_use_id": "t1"}),
        ("rm", "cleaner", {"sidechain": True}),
        ("mv", None, {"sidechain": True}),
    ]
    assert [call.turn for call in trace.calls] == [1] * 5
    assert trace.problems == ()


SIDES: dict[str, list[dict[str, Any]]] = {
    "by the ids of the agents": [{"agentId": "x"}, {"agentId": "y"}],
    "by the lines with which they began": [{"parentUuid": "u6"}, {"parentUuid": "u7"}],
    "the main agent and another": [{"isSidechain": False}, {"agentId": "x"}],
}


@pytest.mark.parametrize("name", SIDES)
def test_one_id_in_several_agents_of_a_transcript(name: str) -> None:
    """Each result is that of the call of the same agent."""
    first, second = ({"isSidechain": True, **side} for side in SIDES[name])
    lines = [
        _line("user", "u5", "hi"),
        _line("user", "u6", "look", isSidechain=True),
        _line("user", "u7", "look", isSidechain=True),
        _line("assistant", "u1", [_use("b", "Bash", {"n": 1})], "m1", **first),
        _line("assistant", "u2", [_use("b", "Bash", {"n": 2})], "m2", **second),
        _line("user", "u3", [_result("b", "r1")], **first),
        _line("user", "u4", [_result("b", "r2")], **second),
    ]
    trace = read(lines)
    assert [(call.args, call.result) for call in trace.calls] == [({"n": 1}, "r1"), ({"n": 2}, "r2")]
    assert trace.problems == ()


def test_one_id_in_lines_of_progress() -> None:
    """They name the call that began the sub-agent."""
    lines = [
        _line("user", "u1", "hi"),
        _line("assistant", "u2", [_use("t1", "Task", {}), _use("t2", "Task", {})], "m0"),
    ]
    for parent, number in (("t1", 3), ("t2", 4)):
        inner = _line("assistant", f"u{number}", [_use("b", "Bash", {"n": number})], f"m{number}")
        lines.append({"type": "progress", "parentToolUseID": parent, "data": {"message": inner}, "sessionId": "s1"})
    for parent, number in (("t1", 3), ("t2", 4)):
        inner = _line("user", f"u{number + 2}", [_result("b", f"r{number}")])
        lines.append({"type": "progress", "parentToolUseID": parent, "data": {"message": inner}, "sessionId": "s1"})
    calls = [call for call in read(lines).calls if call.name == "Bash"]
    assert [(call.args, call.result, call.agent) for call in calls] == [
        ({"n": 3}, "r3", "Task"),
        ({"n": 4}, "r4", "Task"),
    ]


SECOND = {"sessionId": "s2"}
SESSIONS: dict[str, tuple[list[dict[str, Any]], list[tuple[str, list[str]]]]] = {
    "two, one after the other": (
        [
            _line("user", "u1", "hi"),
            _line("assistant", "u2", [_use("t1", "a", {})]),
            {"type": "summary", "summary": "x", "leafUuid": "u2"},
            _line("user", "u3", "ho", **SECOND),
            _line("assistant", "u4", [_use("t1", "b", {})], parentUuid="u3", **SECOND),
        ],
        [("s1", ["a"]), ("s2", ["b"])],
    ),
    "two that alternate": (
        [
            _line("assistant", "u1", [_use("t1", "a", {})]),
            _line("assistant", "u2", [_use("t2", "b", {})], **SECOND),
            _line("assistant", "u3", [_use("t3", "c", {})], parentUuid="u1"),
        ],
        [("s1", ["a", "c"]), ("s2", ["b"])],
    ),
    "one that goes on from another": (
        [
            _line("assistant", "u1", [_use("t1", "a", {})]),
            _line("assistant", "u2", [_use("t2", "b", {})], parentUuid="u1", **SECOND),
            _line("assistant", "u3", [_use("t3", "c", {})], parentUuid="u2", sessionId="s3"),
        ],
        [("s1", ["a", "b", "c"])],
    ),
    "one that goes on from what was compacted": (
        [
            _line("assistant", "u1", [_use("t1", "a", {})]),
            _line("assistant", "u2", [_use("t2", "b", {})], logicalParentUuid="u1", **SECOND),
        ],
        [("s1", ["a", "b"])],
    ),
    "one that is found later to go on from another": (
        [
            _line("assistant", "u1", [_use("t1", "a", {})]),
            _line("assistant", "u2", [_use("t2", "b", {})], **SECOND),
            _line("assistant", "u3", [_use("t3", "c", {})], parentUuid="u1", **SECOND),
        ],
        [("s1", ["a", "b", "c"])],
    ),
}


@pytest.mark.parametrize("name", SESSIONS)
def test_sessions_are_runs(name: str) -> None:
    """In a list, in JSON Lines and in a mapping; nothing is lost."""
    lines, expected = SESSIONS[name]
    for source in (lines, "\n".join(map(json.dumps, lines)), {"messages": lines}):
        traces = list(read_all(source))
        assert [(trace.name, [call.name for call in trace.calls]) for trace in traces] == expected
        assert [problem for trace in traces for problem in trace.problems] == []
    if len(expected) > 1:
        with pytest.raises(ReadError, match="several runs"):
            read(lines)


def test_problems_of_sessions_say_where_they_are() -> None:
    """By the place in the whole file."""
    lines = [_line("user", "u1", "hi"), _line("user", "u2", "ho", **SECOND), "{", {"type": "", **SECOND}]
    traces = list(read_all(lines, "claude-code"))
    assert [[problem.place for problem in trace.problems] for trace in traces] == [[], ["$[2]", "$[3]"]]


def _at(second: int, line: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {**line, "timestamp": f"2026-01-01T00:00:{second:02}.000Z", **fields}


def _sub_agent(agent: str, second: int, call_id: str, *more: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the lines of a sub-agent that calls one tool, and is answered five seconds later."""
    own = {"isSidechain": True, "agentId": agent, "attributionAgent": agent}
    asked = _line("user", f"{agent}1", "Look.")
    called = _line("assistant", f"{agent}2", [_use(call_id, "Bash", {"of": agent})], f"m{agent}")
    answered = _line("user", f"{agent}3", [_result(call_id, agent)])
    lines = [_at(second, asked), _at(second, called), *more, _at(second + 5, answered)]
    return [{**line, **own} for line in lines]


def _ended(agent: str, call_id: str, **told: Any) -> dict[str, Any]:
    line = _line("user", f"end of {agent}", [_result(call_id, "Done.")])
    return {**line, "toolUseResult": {"status": "completed", "agentId": agent, **told}}


_TASKS = [_use(call_id, "Agent", {"subagent_type": call_id, "prompt": "Look."}) for call_id in ("x", "y")]
_SESSION = [
    _at(0, _line("user", "u1", "hi")),
    _at(1, _line("assistant", "u2", _TASKS, "m1")),
    _at(20, _ended("a", "x")),
    _at(21, _ended("b", "y")),
    _at(22, _line("assistant", "u5", [_text("Done.")], "m2")),
]


def _told(*files: tuple[str, str | None, list[Any]]) -> dict[str, Any]:
    return {
        "messages": _SESSION,
        "sub_agents": {name: {"toolUseId": began, "messages": told} for name, began, told in files},
    }


WITNESSED = [
    ("Agent", None, {}),
    ("Agent", None, {}),
    ("Bash", "a", {"parent_tool_use_id": "x"}),
    ("Bash", "b", {"parent_tool_use_id": "y"}),
]


@pytest.mark.parametrize("began", [("x", "y"), (None, None)])
def test_sub_agents_in_files_of_their_own(began: Any) -> None:
    """Their calls stand by their times between the call that began them and its result."""
    trace = read(
        _told(("b.jsonl", began[1], _sub_agent("b", 4, "c2")), ("a.jsonl", began[0], _sub_agent("a", 2, "c1")))
    )
    assert [(call.name, call.agent, call.metadata or {}) for call in trace.calls] == WITNESSED
    assert [call.result for call in trace.calls] == ["Done.", "Done.", "a", "b"]
    results = [event["id"] for event in trace.to_events() if "result" in event]
    assert results == ["c1", "c2", "x", "y"]
    assert trace.problems == ()
    assert trace.calls[2].turn == 1


def test_a_sub_agent_of_a_sub_agent() -> None:
    """Its lines stand between those of the one that began it, in whatever order the files are read."""
    begins = _at(4, _line("assistant", "a4", [_use("z", "Agent", {"subagent_type": "c", "prompt": "p"})], "m9"))
    ends = _at(6, _ended("c", "z"))
    outer = ("a.jsonl", "x", _sub_agent("a", 2, "c1", begins, ends))
    inner = ("c.jsonl", "z", _sub_agent("c", 4, "c3"))
    for files in ((outer, inner), (inner, outer)):
        trace = read(_told(*files, ("b.jsonl", "y", _sub_agent("b", 10, "c2"))))
        assert [(call.name, call.agent) for call in trace.calls] == [
            ("Agent", None),
            ("Agent", None),
            ("Bash", "a"),
            ("Agent", "a"),
            ("Bash", "c"),
            ("Bash", "b"),
        ]
        results = [event["id"] for event in trace.to_events() if "result" in event]
        assert results == ["c3", "z", "c1", "c2", "x", "y"]


@pytest.mark.parametrize(
    ("told", "is_doubtful"),
    [({}, True), ({"toolsUsed": ["Bash"]}, True), ({"toolsUsed": []}, False), ({"totalToolUseCount": 0}, False)],
)
def test_a_sub_agent_whose_transcript_is_not_there(told: dict[str, Any], is_doubtful: bool) -> None:
    """What it called is hidden, unless the session says that it called nothing."""
    lines = [*_SESSION[:2], _at(20, _ended("a", "x", **told))]
    trace = read(lines)
    assert [problem.hides_call for problem in trace.problems] == [True] * is_doubtful


def _write(path: Path, lines: list[Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


@pytest.mark.parametrize("place", ["s1/subagents/agent-{}.jsonl", "s1/subagents/more/agent-{}.jsonl", "agent-{}.jsonl"])
def test_transcripts_of_sub_agents_are_found(tmp_path: Path, place: str) -> None:
    """Below the session's own folder, or, of older versions, beside it. Others' are left alone."""
    _write(tmp_path / "s1.jsonl", _SESSION)
    for agent, second, call_id in (("a", 2, "c1"), ("b", 4, "c2")):
        _write(tmp_path / place.format(agent), _sub_agent(agent, second, call_id))
    stranger = [{**line, "sessionId": "s9"} for line in _sub_agent("d", 2, "c4")]
    _write(tmp_path / "agent-d.jsonl", stranger)
    (tmp_path / "s1" / "subagents").mkdir(parents=True, exist_ok=True)
    (tmp_path / place.format("a")).with_suffix(".meta.json").write_text('{"toolUseId": "x"}')
    trace = read(tmp_path / "s1.jsonl")
    assert [(call.name, call.agent, call.metadata or {}) for call in trace.calls] == WITNESSED
    assert trace.problems == ()
    found = {trace.name: [call.agent for call in trace.calls] for trace in read_all(tmp_path)}
    assert found == {"s1": [None, None, "a", "b"], "d": ["d"]}
    assert [call.agent for call in read(tmp_path / place.format("a")).calls] == ["a"]


@pytest.mark.parametrize("content", [b"", b"{", b"[1]\n[2]\n", b"\xff\xfe", b'{"a": 1}'])
def test_a_broken_transcript_of_a_sub_agent_is_a_problem_of_its_session(tmp_path: Path, content: bytes) -> None:
    """It may hide calls; what the session tells is read."""
    _write(tmp_path / "s1.jsonl", _SESSION)
    _write(tmp_path / "s1/subagents/agent-b.jsonl", _sub_agent("b", 4, "c2"))
    (tmp_path / "s1/subagents/agent-a.jsonl").write_bytes(content)
    (trace,) = read_all(tmp_path)
    assert [call.agent for call in trace.calls] == [None, None, "b"]
    assert all(problem.hides_call for problem in trace.problems)
    assert any("sub_agents" in problem.place for problem in trace.problems)


@pytest.mark.parametrize("sub_agents", [None, [], "x", {"a": None}, {"a": {"messages": 1}}, {1: {"messages": [1]}}])
def test_odd_sub_agents(sub_agents: Any) -> None:
    """What is none hides what it stands for."""
    trace = read({"messages": _SESSION, "sub_agents": sub_agents})
    assert [call.name for call in trace.calls] == ["Agent", "Agent"]
    assert True in [problem.hides_call for problem in trace.problems]


def test_a_sub_agents_own_transcript() -> None:
    """It is a run of its own, and who gave it its task is its user."""
    own = {"isSidechain": True, "agentId": "x"}
    lines = [_line("user", "u1", "look", **own), _line("assistant", "u2", [_use("t1", "ls", {})], **own)]
    trace = read(lines)
    assert (trace.name, trace.calls[0].turn, trace.calls[0].agent) == ("x", 1, "x")


@pytest.mark.parametrize(
    "line",
    [
        "{",
        {"type": "assistant", "uuid": "u9", "isSidechain": False},
        {"type": "novel", "sessionId": "s1", "message": {"role": "assistant", "content": []}},
        {"isSidechain": False},
        _line("assistant", "u9", [{"type": "novel"}]),
    ],
)
def test_lines_that_are_not_understood_are_problems(line: Any) -> None:
    """They may hide a call."""
    trace = read([_line("user", "u1", "hi"), line])
    assert [problem.hides_call for problem in trace.problems] == [True]


def test_an_answer_that_never_came() -> None:
    """The program says so in the model's place."""
    line = _line("assistant", "u2", [_text("API Error")], isApiErrorMessage=True)
    (problem,) = read([_line("user", "u1", "hi"), line]).problems
    assert not problem.hides_call


# ------------------------------------------------------------------------------------------------- detection, refusals


@pytest.mark.parametrize(
    ("document", "name"),
    [
        ([INIT], "claude-agent-sdk"),
        ([_assistant(_text("x"))], "claude-agent-sdk"),
        ({"messages": [_assistant(_use("t1", "a", {}))]}, "claude-agent-sdk"),
        ([DONE], "claude-agent-sdk"),
        ([_line("user", "u1", "hi")], "claude-code"),
        ({"messages": [_line("assistant", "u1", [_use("t1", "a", {})])]}, "claude-code"),
        ([{"type": "queue-operation", "sessionId": "s1"}], "claude-code"),
        (["{", _line("user", "u1", "hi")], "claude-code"),
    ],
)
def test_detected_as_one_alone(document: Any, name: str) -> None:
    """By what is there."""
    assert_known_alone(name, document)


def test_mutants() -> None:
    """Of a stream and of a transcript."""
    given = {"subagent_type": "helper", "prompt": "look"}
    begun = {"type": "content_block_start", "index": 0, "content_block": _use("t1", "a", {})}
    denial = {"tool_name": "b", "tool_use_id": "t3", "tool_input": {}}
    stream = [
        INIT,
        _user("hi", origin={"kind": "human"}),
        {"type": "stream_event", "event": begun},
        _assistant(_text("x"), _use("t1", "Agent", given), message_id="m1"),
        _assistant(_use("t2", "Bash", {"n": 1}), parent_tool_use_id="t1", error="x"),
        _user([_result("t2", [_text("x")], is_error=True), _text("y")], parent_tool_use_id="t1"),
        {**DONE, "permission_denials": [denial], "deferred_tool_use": {"id": "t4", "name": "a", "input": {}}},
    ]
    inner = _line("assistant", "u5", [_use("t5", "ls", {})], "m2")
    own = {"sessionId": "s1", "isSidechain": False}
    lines = [
        _line("user", "u1", "hi", origin={"kind": "human"}),
        _line("assistant", "u2", [_text("x"), _use("t1", "Task", given)], "m1"),
        {"type": "progress", "parentToolUseID": "t1", "data": {"agentId": "x", "message": inner}, **own},
        _line("assistant", "u3", [_use("t3", "cat", {})], "m3", isSidechain=True, agentId="y"),
        _line("user", "u4", [_result("t1", "done")], toolUseResult={"agentId": "y"}, toolDenialKind="x"),
        {"type": "attachment", "attachment": {"type": "queued_command", "prompt": [_text("x")]}, **own},
    ]
    assert_mutants_are_read_or_refused("claude-agent-sdk", stream)
    assert_mutants_are_read_or_refused("claude-code", lines)
    files = (("a", "x", _sub_agent("a", 2, "c1")), ("b", None, _sub_agent("b", 4, "c2")))
    assert_mutants_are_read_or_refused("claude-code", _told(*files))


@pytest.mark.parametrize("name", ["claude-agent-sdk", "claude-code"])
@pytest.mark.parametrize("document", [3, {"messages": 3}, {"role": "user"}])
def test_what_is_none_is_refused(name: str, document: Any) -> None:
    """With what one looks like."""
    with pytest.raises(ReadError, match="Claude"):
        read(document, name)


def _marked(node: Any) -> int:
    """Count the markers of calls."""
    if isinstance(node, list):
        return sum(map(_marked, node))
    return int(node.get("type") == "tool_use") + sum(map(_marked, node.values())) if isinstance(node, dict) else 0


def test_real_recordings() -> None:
    """Every file is read by detection alone, with as many calls as its own markers say."""
    root = corpora()
    fixtures = root / "strands-evals/tests/strands_evals/extractors/fixtures"
    paths = [
        fixtures / "claude_code_skill_tool.json",
        *sorted((root / "vercel-ai/packages/harness-claude-code").rglob("*.json")),
    ]
    if not all(path.exists() for path in paths) or len(paths) < 2:
        pytest.skip("the recordings of Claude Code are not here")
    total = 0
    for path in paths:
        traces = list(read_all(path))
        count = sum(len(trace.calls) for trace in traces)
        assert count == _marked(json.loads(path.read_text("utf-8"))), path.name
        assert [problem for trace in traces for problem in trace.problems] == []
        total += count
    assert (len(paths), total) == (2, 4)


# -------------------------------------------------------------------------------------------------- the SDK's own types


def _sdk() -> Any:
    return pytest.importorskip("claude_agent_sdk", reason="claude-agent-sdk is not installed")


def test_message_objects() -> None:
    """They don't say their types, and lose them as mappings."""
    sdk = _sdk()
    calls = [sdk.TextBlock("Looking."), sdk.ThinkingBlock("hm", "x"), sdk.ToolUseBlock("t1", "a", {"n": 1})]
    searches = [sdk.ServerToolUseBlock("t2", "advisor", {}), sdk.ServerToolResultBlock("t2", {"type": "x_error"})]
    denial = {"tool_name": "b", "tool_use_id": "t3", "tool_input": {}}
    ended = {"duration_ms": 1, "duration_api_ms": 1, "num_turns": 1, "session_id": "s1"}
    trace = read(
        [
            sdk.SystemMessage("init", INIT),
            sdk.UserMessage("hi"),
            sdk.AssistantMessage([*calls, *searches], "model", message_id="m1"),
            sdk.UserMessage([sdk.ToolResultBlock("t1", [{"type": "text", "text": "ok"}], True)]),
            sdk.ResultMessage(subtype="success", is_error=False, permission_denials=[denial], **ended),
        ]
    )
    assert [(call.name, call.args, call.result, call.is_error) for call in trace.calls] == [
        ("a", {"n": 1}, "ok", True),
        ("advisor", {}, {"type": "x_error"}, True),
        ("b", {}, UNANSWERED, None),
    ]
    assert (trace.problems, trace.name) == ((), "s1")


# -------------------------------------------------------------------------------------------------------- the real one

_PREFIX = "mcp__shop__"


class _Plan:
    """What the model does, told by what it is asked: the program asks for more than one agent at once."""

    def __init__(self) -> None:
        self._helper_done = threading.Event()

    def __call__(self, asked: dict[str, Any]) -> list[dict[str, Any]]:
        texts, answered = _asked(asked["messages"][-1]["content"])
        first = [_use(f"t{i}", _PREFIX + name, args) for i, (name, args) in enumerate(FIRST_TURN, 1)]
        second = [_use(f"t{i}", _PREFIX + name, args) for i, (name, args) in enumerate(SECOND_TURN, 3)]
        given = {"description": "look", "prompt": "SUBTASK", "subagent_type": "helper", "run_in_background": False}
        steps: list[tuple[bool, list[dict[str, Any]]]] = [
            ("t6" in answered, [_text("Sunny in Rome.")]),
            ("t7" in answered, [_text("Done.")]),
            ("t1" in answered, [_text("Found both.")]),
            ("t4" in answered, [_use("t7", "Agent", given)]),
            ("t3" in answered, second[1:]),
            ("SUBTASK" in texts, [_use("t6", f"{_PREFIX}weather", {"city": "Rome"})]),
            ("second" in texts, second[:1]),
            ("first" in texts, [_text("Looking."), *first]),
        ]
        if "t6" in answered:
            self._helper_done.set()
        elif "t7" in answered:
            self._helper_done.wait(10)
        return next((answer for is_next, answer in steps if is_next), [_text("Nothing.")])


def _asked(content: Any) -> tuple[str, set[str]]:
    """Return the words of the last message, and the calls that it answers."""
    blocks = [_text(content)] if isinstance(content, str) else content
    texts = "\n".join(block["text"] for block in blocks if block["type"] == "text")
    return texts, {block["tool_use_id"] for block in blocks if block["type"] == "tool_result"}


@pytest.fixture(name="home")
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give the program a home of its own: nothing of this machine's settings is to reach it."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    for name in list(os.environ):
        monkeypatch.delenv(name)
    for name, value in kept.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "settings"))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    (tmp_path / "work").mkdir()
    return tmp_path


def _environment(url: str) -> dict[str, str]:
    quiet = {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1", "DISABLE_TELEMETRY": "1"}
    return {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "none", **quiet}


def _served_tools(sdk: Any, tools: Tools) -> Any:
    """Return the tools on a server in this process."""

    def made(name: str, parameters: dict[str, Any]) -> Any:
        async def call(arguments: dict[str, Any]) -> dict[str, Any]:
            result = getattr(tools, name)(**arguments)
            return {"content": [_text(result if isinstance(result, str) else json.dumps(result))]}

        return sdk.tool(name, "A tool.", parameters)(call)

    search = made("search", {"query": str, "limit": int})
    return sdk.create_sdk_mcp_server(
        "shop", tools=[search, made("steer", {"angle": float}), made("weather", {"city": str})]
    )


def _converse(sdk: Any, tools: Tools, home: Path, prompts: list[str], **options: Any) -> list[Any]:
    """Run the client for real, and return its messages."""

    async def run(url: str) -> list[Any]:
        helper = sdk.AgentDefinition(description="helps", prompt="Help.", tools=[f"{_PREFIX}weather"])
        settings = sdk.ClaudeAgentOptions(
            cwd=str(home / "work"),
            env=_environment(url),
            mcp_servers={"shop": _served_tools(sdk, tools)},
            allowed_tools=[*(_PREFIX + name for name in ("search", "steer", "weather")), "Agent"],
            agents={"helper": helper},
            setting_sources=[],
            model="claude-sonnet-4-5",
            **options,
        )
        messages = []
        async with sdk.ClaudeSDKClient(settings) as client:
            for prompt in prompts:
                await client.query(prompt)
                messages += [message async for message in client.receive_response()]
        return messages

    with served(Model(_Plan(), anthropic_stream)) as url:
        return asyncio.run(asyncio.wait_for(run(url), 120))


def _assert_witnessed(trace: Trace, tools: Tools, *, without: tuple[str, ...] = ()) -> None:
    """Check a trace against the tools' notes.

    Arguments:
        without: the agents whose calls are not to be in it.
    """
    assert trace.problems == ()
    calls = [call for call in trace.calls if call.name.startswith(_PREFIX)]
    notes = [note for note in tools.made if not (without and note.args == {"city": "Rome"})]
    assert [(call.name.removeprefix(_PREFIX), call.args) for call in calls] == [
        (note.name, note.args) for note in notes
    ]
    for call, note in zip(calls, notes, strict=True):
        if note.error is None:
            assert call.is_error is not True
            assert note.result in (call.result, _decoded(call.result))
        else:
            assert call.is_error is True
            assert WHEEL in str(call.result)


def _decoded(payload: Any) -> Any:
    return json.loads(payload) if str(payload).startswith("{") else payload


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("partial", [False, True])
def test_the_client_for_real(home: Path, partial: bool) -> None:
    """Messages and transcripts tell the calls that were made, in order, with whose they were."""
    sdk = _sdk()
    tools = Tools()
    messages = _converse(sdk, tools, home, ["first", "second"], include_partial_messages=partial)
    assert any(type(message).__name__ == "StreamEvent" for message in messages) is partial
    trace = read(messages)
    _assert_witnessed(trace, tools)
    assert [(call.turn, call.agent) for call in trace.calls] == [(1, None)] * 2 + [(2, None)] * 3 + [(2, "helper")]
    assert trace.calls[-1].metadata == {"parent_tool_use_id": "t7"}
    _check_transcripts(sdk, home, tools)


def _check_transcripts(sdk: Any, home: Path, tools: Tools) -> None:
    (folder,) = (home / "settings" / "projects").iterdir()
    (path,) = folder.glob("*.jsonl")
    whole = read(path)
    _assert_witnessed(whole, tools)
    told = [(call.turn, call.agent) for call in whole.calls]
    assert told == [(1, None)] * 2 + [(2, None)] * 3 + [(2, "helper")]
    assert whole.calls[-1].metadata == {"parent_tool_use_id": "t7"}
    assert whole.calls[-2].answer.position > whole.calls[-1].answer.position
    for source in (folder, home / "settings" / "projects"):
        (again,) = read_all(source)
        assert again.to_events() == whole.to_events()
    session = read(path.read_bytes())
    assert [problem.hides_call for problem in session.problems] == [True]
    assert [call.turn for call in session.calls] == [1, 1, 2, 2, 2]
    assert [event["user"] for event in session.to_events() if "user" in event] == ["first", "second"]
    assert session.name == path.stem
    (own,) = folder.glob("*/subagents/*.jsonl")
    helper = read(own)
    assert [(call.name, call.agent) for call in helper.calls] == [(f"{_PREFIX}weather", "helper")]
    listed = sdk.get_session_messages(path.stem)
    assert [call.args for call in read(listed).calls] == [call.args for call in session.calls]


@pytest.mark.filterwarnings("ignore")
def test_the_command_line_for_real(home: Path) -> None:
    """What it writes as stream-json, read from the file."""
    sdk = _sdk()
    program = Path(sdk.__file__).parent / "_bundled" / "claude"
    if not program.exists():
        pytest.skip("claude-agent-sdk has no program with it")
    steps = [
        [_use("t1", "Bash", {"command": "echo one"}), _use("t2", "Read", {"file_path": str(home / "none.txt")})],
        [_text("Done.")],
    ]
    with served(Model(lambda asked: steps.pop(0) if asked.get("tools") else [_text("x")], anthropic_stream)) as url:
        options = ["-p", "go", "--output-format", "stream-json", "--verbose", "--allowedTools", "Bash(echo:*)"]
        done = subprocess.run(
            [str(program), *options, "--model", "claude-sonnet-4-5"],
            cwd=home / "work",
            env={**os.environ, **_environment(url)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=120,
            check=True,
        )
    path = home / "run.jsonl"
    path.write_bytes(done.stdout)
    trace = read(path)
    assert trace.problems == ()
    assert [(call.name, call.turn, call.is_error) for call in trace.calls] == [("Bash", 1, False), ("Read", 1, True)]
    assert trace.calls[0].result == "one"


def test_objects_of_other_packages_are_left_alone() -> None:
    """What only looks like a message is none."""
    with pytest.raises(ReadError):
        read([SimpleNamespace(type="assistant")])
