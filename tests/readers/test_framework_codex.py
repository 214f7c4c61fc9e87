"""Codex, run for real with a model on this machine: rollouts, the events of exec, and the turns of its SDK."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from framework_mutations import assert_known_alone, assert_mutants_are_read_or_refused
from framework_support import FIRST_TURN, SECOND_TURN, Note, Tools, assert_witnessed
from provider_support import corpora
from scripted_servers import Model, responses_stream, served

from tracewitness.errors import ReadError
from tracewitness.readers import read, read_all
from tracewitness.trace import UNANSWERED, Trace


def _event(kind: str, item_type: str = "command_execution", **fields: Any) -> dict[str, Any]:
    return {"type": f"item.{kind}", "item": {"id": "item_1", "type": item_type, **fields}}


def _line(kind: str, **payload: Any) -> dict[str, Any]:
    return {"timestamp": "2026-01-01T00:00:00Z", "type": kind, "payload": payload}


def _call(call_id: str, name: str = "exec_command", **fields: Any) -> dict[str, Any]:
    item = {"type": "function_call", "name": name, "arguments": '{"cmd": "ls"}', "call_id": call_id}
    return _line("response_item", **item, **fields)


def _output(call_id: str, output: Any) -> dict[str, Any]:
    return _line("response_item", type="function_call_output", call_id=call_id, output=output)


def _message(role: str, text: str) -> dict[str, Any]:
    kind = "output_text" if role == "assistant" else "input_text"
    return _line("response_item", type="message", role=role, content=[{"type": kind, "text": text}])


STARTED = [{"type": "thread.started", "thread_id": "th"}, {"type": "turn.started"}]
RUNNING = {"command": "ls", "aggregated_output": "", "exit_code": None, "status": "in_progress"}
RAN = {"command": "ls", "aggregated_output": "a", "exit_code": 0, "status": "completed"}
USED = {"server": "shop", "tool": "search", "arguments": {"q": "lamp"}}


# -------------------------------------------------------------------------------------------------------- exec, by hand


def test_events() -> None:
    """A call stands where it started, and its result where it was done."""
    trace = read(
        [
            *STARTED,
            _event("completed", "agent_message", text="Looking."),
            _event("started", **RUNNING),
            {"type": "item.started", "item": {"id": "item_2", "type": "web_search", "query": ""}},
            _event("updated", **RUNNING),
            _event("completed", **RAN),
            {"type": "item.completed", "item": {"id": "item_2", "type": "web_search", "query": "lamps"}},
            {"type": "turn.completed", "usage": {}},
        ]
    )
    assert trace.name == "th"
    assert trace.to_events() == [
        {"user": ""},
        {"agent": "Looking."},
        {"call": "command_execution", "args": {"command": "ls"}, "id": "item_1"},
        {"call": "web_search", "args": {"query": "lamps"}, "id": "item_2"},
        {"result": "a", "of": "command_execution", "id": "item_1", "is_error": False},
        {"result": None, "of": "web_search", "id": "item_2"},
    ]
    assert trace.problems == ()


@pytest.mark.parametrize(
    ("fields", "is_error"),
    [
        ({"exit_code": 0, "status": "completed"}, False),
        ({"exit_code": 3, "status": "failed"}, True),
        ({"exit_code": 3, "status": "completed"}, True),
        ({"exit_code": None, "status": "declined"}, True),
        ({"exit_code": None, "status": "completed"}, False),
        ({}, None),
    ],
)
def test_exit_codes(fields: dict[str, Any], is_error: bool | None) -> None:
    """They say whether a command failed."""
    (call,) = read([_event("completed", command="ls", aggregated_output="", **fields)]).calls
    assert call.is_error is is_error


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        (
            {"type": "mcp_tool_call", **USED, "result": {"content": [{"type": "text", "text": "3"}]}},
            ("search", {"q": "lamp"}, "3", None),
        ),
        (
            {"type": "mcp_tool_call", **USED, "result": None, "error": {"message": "no"}, "status": "failed"},
            ("search", {"q": "lamp"}, {"message": "no"}, True),
        ),
        (
            {"type": "file_change", "changes": [{"path": "a", "kind": "add"}], "status": "completed"},
            ("file_change", {"changes": [{"path": "a", "kind": "add"}]}, "completed", False),
        ),
        (
            {"type": "dynamicToolCall", "tool": "t", "arguments": {}, "contentItems": [1], "success": False},
            ("t", {}, [1], True),
        ),
        (
            {"type": "collab_tool_call", "tool": "spawn_agent", "prompt": "go", "agents_states": {}},
            ("spawn_agent", {"prompt": "go"}, {}, None),
        ),
        ({"type": "imageView", "path": "a.png"}, ("image_view", {"path": "a.png"}, None, None)),
        ({"item_type": "command_execution", **RAN}, ("command_execution", {"command": "ls"}, "a", False)),
    ],
)
def test_items_that_call(item: Any, expected: Any) -> None:
    """In every spelling of their types."""
    trace = read([{"type": "item.completed", "item": {"id": "i", **item}}])
    (call,) = trace.calls
    assert (call.name, call.args, call.result, call.is_error) == expected
    assert trace.problems == ()


def test_items_that_call_nothing() -> None:
    """Thoughts, plans and warnings, and what a user ran in the shell."""
    silent = [_event("completed", kind) for kind in ("reasoning", "todo_list", "contextCompaction")]
    warning = _event("completed", "error", message="slow")
    own = _event("completed", **RAN, source="userShell")
    trace = read([*STARTED, *silent, warning, own, {"type": "error", "message": "again"}])
    assert trace.to_events() == [{"user": ""}, {"system": "slow"}, {"system": "again"}]
    assert trace.problems == ()


@pytest.mark.parametrize(
    ("event", "hides_call"),
    [
        (_event("completed", "novel_call"), True),
        ({"type": "item.completed", "item": None}, True),
        ({"type": "novel.event"}, True),
        ({"type": "turn.failed", "error": {"message": "no model"}}, False),
        ("{", True),
    ],
)
def test_what_is_not_understood_is_a_problem(event: Any, hides_call: bool) -> None:
    """Also that a turn failed."""
    trace = read([*STARTED, _event("completed", **RAN), event])
    assert [problem.hides_call for problem in trace.problems] == [hides_call]


def test_a_call_that_never_ended() -> None:
    """It was made."""
    assert [call.result for call in read([*STARTED, _event("started", **RUNNING)]).calls] == [UNANSWERED]


def test_ids_that_are_used_again() -> None:
    """A second thread in one file counts from the beginning again."""
    second = [_event("started", **{**RUNNING, "command": "rm"}), _event("completed", **{**RAN, "command": "rm"})]
    trace = read([*STARTED, _event("started", **RUNNING), _event("completed", **RAN), *STARTED, *second])
    assert [(call.args, call.result) for call in trace.calls] == [({"command": "ls"}, "a"), ({"command": "rm"}, "a")]


# ---------------------------------------------------------------------------------------------------- rollouts, by hand


def test_a_rollout() -> None:
    """Its items in order, with their times."""
    trace = read(
        [
            _line("session_meta", id="s1", cwd="/"),
            _line("turn_context", model="m"),
            _message("user", "<environment_context>…"),
            _message("user", "list it"),
            _line("event_msg", type="user_message", message="list it"),
            _line("response_item", type="reasoning", summary=[], encrypted_content="x"),
            _call("c1"),
            _line("event_msg", type="exec_command_end", call_id="c1", exit_code=2),
            _output("c1", "no such file"),
            _message("assistant", "Done."),
            _line("event_msg", type="agent_message", message="Done."),
            _line("response_item", type="ghost_snapshot"),
            _line("compacted", message="", replacement_history=[_call("c1")["payload"]]),
        ]
    )
    at = "2026-01-01T00:00:00Z"
    assert trace.name == "s1"
    assert trace.to_events() == [
        {"system": "<environment_context>…", "at": at},
        {"user": "list it", "at": at},
        {"call": "exec_command", "args": {"cmd": "ls"}, "id": "c1", "at": at},
        {"result": "no such file", "id": "c1", "is_error": True, "at": at},
        {"agent": "Done.", "at": at},
    ]
    assert trace.problems == ()


@pytest.mark.parametrize(
    ("event", "is_error"),
    [
        ({"type": "exec_command_end", "exit_code": 0}, False),
        ({"type": "patch_apply_end", "success": False}, True),
        ({"type": "mcp_tool_call_end", "invocation": USED, "result": {"Err": "no"}}, True),
        ({"type": "mcp_tool_call_end", "invocation": USED, "result": {"Ok": {"content": [], "isError": True}}}, True),
        ({"type": "mcp_tool_call_end", "invocation": USED, "result": {"Ok": {"content": []}}}, False),
        ({"type": "item_completed", "item": {"type": "CommandExecution", "id": "c1", "exit_code": 3}}, True),
        ({"type": "item_completed", "item": {"type": "McpToolCall", "id": "c1", "status": "completed"}}, False),
        ({"type": "token_count"}, None),
    ],
)
def test_errors_are_told_beside_the_results(event: Any, is_error: bool | None) -> None:
    """By an event with the call's id, in whatever way its version tells it."""
    (call,) = read([_call("c1"), _line("event_msg", call_id="c1", **event), _output("c1", "x")]).calls
    assert call.is_error is is_error


@pytest.mark.parametrize(("code", "is_error"), [(0, False), (1, True)])
def test_errors_of_older_versions(code: int, is_error: bool) -> None:
    """They stand in the result."""
    output = json.dumps({"output": "x", "metadata": {"exit_code": code, "duration_seconds": 0.1}})
    assert read([_call("c1"), _output("c1", output)]).calls[0].is_error is is_error
    for odd in ('{"output', '{"output": 1, "metadata": []}', '{"output": "x"}'):
        assert read([_call("c1"), _output("c1", odd)]).calls[0].is_error is None


def _said(role: str, text: str) -> dict[str, Any]:
    """Return the event that tells of a message."""
    return _line("event_msg", type="user_message" if role == "user" else "agent_message", message=text)


def _done(kind: str, **item: Any) -> dict[str, Any]:
    return _line("event_msg", type="item_completed", item={"type": kind, **item})


IMAGE = [{"type": "input_text", "text": "<image>"}, {"type": "input_image"}, {"type": "input_text", "text": "</image>"}]
MESSAGES: dict[str, tuple[list[dict[str, Any]], list[tuple[str, str]]]] = {
    "only in an event": ([_said("user", "hi"), _said("agent", "ho")], [("user", "hi"), ("agent", "ho")]),
    "in an item before and after": (
        [_message("user", "hi"), _said("user", "hi"), _said("agent", "ho"), _message("assistant", "ho")],
        [("user", "hi"), ("agent", "ho")],
    ),
    "one with an item and one without": (
        [_message("assistant", "ho"), _said("agent", "ho"), _said("agent", "he")],
        [("agent", "ho"), ("agent", "he")],
    ),
    "twice, and one item": (
        [_message("assistant", "ho"), _said("agent", "ho"), _said("agent", "ho")],
        [("agent", "ho"), ("agent", "ho")],
    ),
    "twice, and no item": ([_said("agent", "ho"), _said("agent", "ho")], [("agent", "ho"), ("agent", "ho")]),
    "in events of two types": (
        [_said("agent", "ho"), _done("AgentMessage", content=[{"type": "Text", "text": "ho"}])],
        [("agent", "ho")],
    ),
    "in an event of the other type": (
        [_done("UserMessage", content=[{"type": "text", "text": "hi"}]), _done("AgentMessage", text="ho")],
        [("user", "hi"), ("agent", "ho")],
    ),
    "an agent says what the user said": (
        [_message("user", "hi"), _said("user", "hi"), _said("agent", "hi")],
        [("user", "hi"), ("agent", "hi")],
    ),
    "with what is not shown": (
        [_message("assistant", "ho<oai-mem-citation>x</oai-mem-citation>"), _said("agent", "ho\n")],
        [("agent", "ho<oai-mem-citation>x</oai-mem-citation>")],
    ),
    "an image": (
        [_line("response_item", type="message", role="user", content=IMAGE), _said("user", "")],
        [("user", "<image>\n</image>")],
    ),
    "what the program adds": (
        [
            {
                "type": "event_msg",
                "payload": {"type": "user_message", "message": "<environment>", "kind": "environment_context"},
            }
        ],
        [("system", "<environment>")],
    ),
}


@pytest.mark.parametrize("name", MESSAGES)
def test_messages_are_told_once(name: str) -> None:
    """By an item, or by an event where no item tells of them."""
    lines, expected = MESSAGES[name]
    trace = read([_line("session_meta", id="s1"), *lines])
    told = [
        next((role, event[role]) for role in ("user", "agent", "system") if role in event)
        for event in trace.to_events()
    ]
    assert told == expected
    assert trace.problems == ()


@pytest.mark.parametrize(
    ("event", "reason"),
    [
        ({"type": "turn_aborted", "reason": "interrupted"}, "aborted: 'interrupted'"),
        ({"type": "turn_aborted"}, "aborted: None"),
        ({"type": "agent_message", "message": 5}, "a text or a list, not 5"),
        ({"type": "user_message"}, "a text or a list, not None"),
    ],
)
def test_what_ended_a_turn_or_is_no_message_is_a_problem(event: Any, reason: str) -> None:
    """One that hides no call."""
    (problem,) = read([_call("c1"), _output("c1", "x"), _line("event_msg", **event)]).problems
    assert reason in problem.reason
    assert not problem.hides_call


def test_a_call_that_only_an_event_tells_of() -> None:
    """What a script of the agent called has no item. What a user ran is no call of the agent."""
    inner = {"type": "McpToolCall", "id": "x1", **USED, "status": "completed", "result": {"content": []}}
    own = {"type": "CommandExecution", "id": "x2", "command": ["ls"], "source": "user_shell", "exit_code": 0}
    events = [_line("event_msg", type="item_completed", item=item) for item in (inner, own)]
    trace = read([_call("c1"), *events, _output("c1", "x")])
    assert [(call.name, call.id) for call in trace.calls] == [("exec_command", "c1"), ("search", "x1")]
    assert trace.problems == ()


@pytest.mark.parametrize(
    "line",
    [
        _line("response_item", type="novel_call"),
        {"type": "response_item", "payload": 3},
        _line("novel", call_id="c9"),
        "{",
    ],
)
def test_lines_that_are_not_understood_are_problems(line: Any) -> None:
    """They may hide a call."""
    assert [problem.hides_call for problem in read([_call("c1"), line]).problems] == [True]
    assert read([_call("c1"), _line("novel", state=1)]).problems == ()


def test_a_tool_of_a_server_keeps_its_namespace() -> None:
    """Beside its arguments."""
    assert read([_call("c1", "search", namespace="mcp__shop")]).calls[0].metadata == {"namespace": "mcp__shop"}


@pytest.mark.parametrize("key", ["items", "events"])
def test_mappings_with_lists(key: str) -> None:
    """As other programs keep them."""
    lines = [_call("c1"), _output("c1", "x")]
    assert len(read({key: lines}).calls) == 1
    assert len(read({key: [line["payload"] for line in lines]}).calls) == 1
    assert len(read({key: [*STARTED, _event("completed", **RAN)]}).calls) == 1
    assert (
        len(read({"id": "t", "turns": [{"id": "1", key: []}, {"id": "2", "items": [_event("", **RAN)["item"]]}]}).calls)
        == 1
    )


@pytest.mark.parametrize(
    "document",
    [
        STARTED,
        [_event("completed", **RAN)],
        [_line("session_meta", id="s1")],
        ["{", _call("c1")],
        {"items": [_call("c1")["payload"]]},
        {"events": [_event("completed", **RAN)]},
        [{"items": [_event("", **RAN)["item"]]}],
    ],
)
def test_detected_as_this_alone(document: Any) -> None:
    """By what is there."""
    assert_known_alone("codex", document)


def test_mutants() -> None:
    """Of events, of a rollout, and of turns."""
    used = {"type": "mcp_tool_call", "id": "i2", **USED, "result": {"content": [{"type": "text", "text": "3"}]}}
    events = [
        *STARTED,
        _event("started", **RUNNING),
        _event("completed", **RAN, source="agent"),
        {"type": "item.completed", "item": used},
        {"type": "turn.failed", "error": {}},
    ]
    told = {"type": "McpToolCall", "id": "x1", **USED, "status": "completed", "result": {"content": []}}
    lines = [
        _line("session_meta", id="s1"),
        _message("user", "list it"),
        _line("event_msg", type="user_message", message="list it"),
        _call("c1", namespace="mcp__shop"),
        _line("event_msg", type="mcp_tool_call_end", call_id="c1", invocation=USED, result={"Ok": {"isError": True}}),
        _output("c1", '{"output": "x", "metadata": {"exit_code": 1}}'),
        _line("event_msg", type="item_completed", item=told),
    ]
    user = {"type": "userMessage", "id": "u", "content": [{"type": "text", "text": "x"}]}
    for document in (events, lines, {"turns": [{"id": "1", "items": [user, used]}]}):
        assert_mutants_are_read_or_refused("codex", document)


def test_logs_are_one_run() -> None:
    """Each line is a piece."""
    text = "\n".join(map(json.dumps, [*STARTED, _event("completed", **RAN)]))
    assert len(read(text).calls) == 1
    assert len(list(read_all(text))) == 1


@pytest.mark.parametrize("document", [3, {"items": 3}, {"items": [], "events": []}, {"name": "x"}])
def test_what_is_none_is_refused(document: Any) -> None:
    """With what one looks like."""
    with pytest.raises(ReadError, match="Codex"):
        read(document, "codex")


def test_real_recordings() -> None:
    """Every file is read by detection alone, with as many calls as its own markers say."""
    folder = corpora() / "strands-evals/tests/strands_evals/extractors/fixtures"
    paths = sorted(folder.glob("codex_*.json"))
    if not paths:
        pytest.skip("the recordings of Codex are not here")
    total = 0
    for path in paths:
        document = json.loads(path.read_text("utf-8"))
        kinds = [item.get("item", item)["type"] for item in (*document.get("items", ()), *document.get("events", ()))]
        started = sum(event["type"] == "item.started" for event in document.get("events", ()))
        count = kinds.count("function_call") + kinds.count("command_execution") - started
        (trace,) = read_all(Path(path))
        assert len(trace.calls) == count, path.name
        assert trace.problems == ()
        total += count
    assert (len(paths), total) == (2, 3)


# ------------------------------------------------------------------------------------------------------------- for real


def _program() -> str:
    program = pytest.importorskip("codex_cli_bin", reason="openai-codex is not installed")
    return str(program.bundled_codex_path())


def _use(call_id: str, name: str, arguments: Any, namespace: str = "mcp__shop") -> dict[str, Any]:
    own = {"namespace": namespace} if namespace else {}
    return {"type": "function_call", "call_id": call_id, "name": name, "arguments": json.dumps(arguments), **own}


def _say(text: str) -> dict[str, Any]:
    return {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}


FAILING = "cat none.txt; exit 3"


def _script(asked: dict[str, Any]) -> list[dict[str, Any]]:
    """Do what comes after what was asked last."""
    last = asked["input"][-1]
    answered = last.get("call_id")
    first = [_use(f"c{i}", name, args) for i, (name, args) in enumerate(FIRST_TURN, 1)]
    second = [_use(f"c{i}", name, args) for i, (name, args) in enumerate(SECOND_TURN, 3)]
    if answered in ("c1", "c2"):
        return [_say("Found both.")]
    if answered in ("c3", "c4"):
        return second[1:] if answered == "c3" else [_use("c5", "exec_command", {"cmd": FAILING}, "")]
    if answered == "c5":
        return [_say("Done.")]
    return second[:1] if "and now" in json.dumps(last) else [_say("Looking."), *first]


class _Home:
    """A home for the program, with nothing of this machine's settings in it."""

    def __init__(self, path: Path, url: str) -> None:
        self.work, self.settings, self.notes = path / "work", path / "settings", path / "notes.jsonl"
        self.work.mkdir()
        self.settings.mkdir()
        server = Path(__file__).with_name("mcp_tools.py")
        provider = f'name = "here"\nbase_url = "{url}/v1"\nwire_api = "responses"\nenv_key = "NO_KEY"\n'
        shop = f"command = {json.dumps(sys.executable)}\nargs = {json.dumps([str(server), str(self.notes)])}\n"
        head = 'model = "gpt-5"\nmodel_provider = "here"\n'
        text = f"{head}[model_providers.here]\n{provider}[mcp_servers.shop]\n{shop}"
        (self.settings / "config.toml").write_text(text, "utf-8")
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(path),
            "CODEX_HOME": str(self.settings),
            "NO_KEY": "none",
        }

    def tools(self) -> Tools:
        """Return what the tools noted in their process."""
        tools = Tools()
        tools.made = [Note(**json.loads(line)) for line in self.notes.read_text("utf-8").splitlines()]
        return tools

    def rollout(self) -> Trace:
        """Return the trace of the session's file."""
        (path,) = (self.settings / "sessions").rglob("*.jsonl")
        return read(path)


def _tools_answer(payload: Any) -> Any:
    """Return what a tool gave, which stands after how long it took."""
    text = payload[-1]["text"] if isinstance(payload, list) else str(payload)
    return json.loads(text) if text.startswith("{") else text


def _check_command(trace: Trace, name: str) -> None:
    (call,) = [call for call in trace.calls if call.name == name]
    assert FAILING in str(call.args)
    assert "No such file" in str(call.result)
    assert call.is_error is True


def test_exec_for_real(tmp_path: Path) -> None:
    """The events that it writes tell what the tools noted, and so does the rollout."""
    program = _program()
    with served(Model(_script, responses_stream)) as url:
        home = _Home(tmp_path, url)
        options = ["--json", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"]
        first = _run([program, "exec", *options, "find"], home)
        again = _run([program, "exec", *options, "resume", "--last", "and now steer"], home)
    lines = first + again
    trace = read(lines)
    assert_witnessed(trace, home.tools(), decode=_tools_answer)
    assert [call.turn for call in trace.calls] == [1, 1, 2, 2, 2]
    _check_command(trace, "command_execution")
    rollout = home.rollout()
    assert_witnessed(rollout, home.tools(), decode=_tools_answer)
    assert [call.turn for call in rollout.calls] == [1, 1, 2, 2, 2]
    _check_command(rollout, "exec_command")
    assert [event["user"] for event in rollout.to_events() if "user" in event] == ["find", "and now steer"]


def _run(command: list[str], home: _Home) -> bytes:
    done = subprocess.run(
        command,
        cwd=home.work,
        env=home.environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=120,
        check=True,
    )
    return done.stdout


@pytest.mark.filterwarnings("ignore")
def test_the_sdk_for_real(tmp_path: Path) -> None:
    """The turns that it returns tell what the tools noted."""
    sdk = pytest.importorskip("openai_codex", reason="openai-codex is not installed")
    from openai_codex.client import CodexConfig

    with served(Model(_script, responses_stream)) as url:
        home = _Home(tmp_path, url)
        config = CodexConfig(cwd=str(home.work), env=home.environment)
        with sdk.Codex(config) as codex:
            settings = {"sandbox": sdk.Sandbox.full_access, "approval_mode": sdk.ApprovalMode.deny_all}
            thread = codex.thread_start(cwd=str(home.work), **settings)
            turns = [thread.run("find"), thread.run("and now steer")]
    trace = read(turns)
    assert_witnessed(trace, home.tools(), decode=_tools_answer)
    assert [call.turn for call in trace.calls] == [1, 1, 2, 2, 2]
    assert [event["user"] for event in trace.to_events() if "user" in event] == ["find", "and now steer"]
    _check_command(trace, "command_execution")
    assert len(read(turns[0]).calls) == 2
    assert_witnessed(home.rollout(), home.tools(), decode=_tools_answer)
