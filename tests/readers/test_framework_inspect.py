"""Inspect: archives, logs, samples and events, real logs, and what the real one writes."""

from __future__ import annotations

import contextlib
import io
import json
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
from framework_mutations import assert_known_alone, assert_mutants_are_read_or_refused
from framework_support import FIRST_TURN, SECOND_TURN, WHEEL, Tools, assert_witnessed
from provider_support import corpora

from tracewitness.errors import ReadError
from tracewitness.readers import read, read_all
from tracewitness.readers.registry import detected
from tracewitness.trace import UNANSWERED, MalformedArguments, Trace

_AT = "2026-01-01T00:00:{:02}+00:00"


def _call(call_id: str = "c1", function: str = "search", **arguments: Any) -> dict[str, Any]:
    return {"id": call_id, "function": function, "arguments": arguments, "type": "function"}


def _model(second: int, *calls: Any, text: str = "", told: Any = (), **more: Any) -> dict[str, Any]:
    message = {"id": f"m{second}", "role": "assistant", "content": text, "tool_calls": list(calls) or None}
    output = {"choices": [{"message": message, "stop_reason": "tool_calls" if calls else "stop"}]}
    return {"event": "model", "timestamp": _AT.format(second), "input": list(told), "output": output, **more}


def _tool(second: int, until: int, call: Any, result: Any = "", **more: Any) -> dict[str, Any]:
    times = {"timestamp": _AT.format(second), "completed": _AT.format(until)}
    return {"event": "tool", **call, **times, "result": result, "events": [], **more}


def _begin(second: int, span: str, parent: str | None, kind: str, name: str) -> dict[str, Any]:
    times = {"timestamp": _AT.format(second), "id": span, "parent_id": parent}
    return {"event": "span_begin", **times, "type": kind, "name": name}


def _sample(events: Any = None, messages: Any = (), **more: Any) -> dict[str, Any]:
    return {"id": 1, "epoch": 1, "input": "x", "messages": list(messages), "events": events, **more}


def _log(*samples: Any, **more: Any) -> dict[str, Any]:
    about = {"task": "shop", "model": "mockllm/model"}
    return {"version": 2, "status": "success", "eval": about, "plan": {}, "samples": list(samples), **more}


def _archive(members: dict[str, Any]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data if isinstance(data, (str, bytes)) else json.dumps(data))
    return file.getvalue()


USER = {"id": "u1", "role": "user", "content": "Find a lamp."}
SYSTEM = {"id": "s1", "role": "system", "content": [{"type": "text", "text": "Help."}]}


def test_events_tell_what_happened() -> None:
    """Times and agents, results where they came, the history that each answer repeats, and a handoff."""
    told = [SYSTEM, USER]
    events = [
        _begin(1, "a", None, "agent", "alice"),
        _model(2, _call("1", n=1), _call("2", n=2), text="I look.", told=told, span_id="a"),
        _tool(3, 6, _call("1", n=1), "one", span_id="a"),
        _tool(4, 5, _call("2", n=2), "", error={"type": "timeout", "message": "late"}, span_id="a"),
        _model(
            7,
            _call("3", "transfer_to_bob"),
            told=[*told, {"role": "tool", "tool_call_id": "1", "id": "t1"}],
            span_id="a",
        ),
        _tool(8, 20, _call("3", "transfer_to_bob"), "Transferred.", agent="bob", span_id="a"),
        _begin(9, "b", "a", "agent", "bob"),
        _model(10, _call("4", "order"), span_id="b"),
        _tool(11, 12, _call("4", "order"), "done", span_id="b"),
        {"event": "span_end", "id": "b", "timestamp": _AT.format(19)},
        _model(21, text="Done.", told=[*told, {"id": "u2", "role": "user", "content": "Go on."}], span_id="a"),
        _begin(30, "s", None, "scorers", "scorers"),
        _begin(30, "s2", "s", "scorer", "judge"),
        _model(31, _call("9", "grade"), span_id="s2"),
    ]
    trace = read(_log(_sample(events)))
    assert trace.problems == ()
    assert trace.name == "shop/1"
    assert [_short(event) for event in trace.to_events()] == [
        "system Help.",
        "user Find a lamp.",
        "agent I look.",
        "call 1",
        "call 2",
        "result 2",
        "result 1",
        "call 3",
        "transfer bob",
        "call 4",
        "result 4",
        "result 3",
        "user Go on.",
        "agent Done.",
    ]
    assert [call.agent for call in trace.calls] == ["alice", "alice", "alice", "bob"]
    assert [call.is_error for call in trace.calls] == [False, True, False, False]
    assert trace.calls[1].result == "late"
    assert (trace.calls[0].started_at, trace.calls[0].ended_at) == (_AT.format(3), _AT.format(6))


def _short(event: dict[str, Any]) -> str:
    kind = next(iter(event))
    return f"{kind} {event['id'] if kind in ('call', 'result') else event[kind]}"


def test_a_sample_without_a_transcript() -> None:
    """Its messages are what there is."""
    messages = [
        USER,
        {"role": "assistant", "content": "", "tool_calls": [_call("1", n=1), _call("", n=2), _call("", n=3)]},
        {"role": "tool", "tool_call_id": "1", "function": "search", "content": [{"type": "text", "text": "one"}]},
        {"role": "tool", "tool_call_id": "", "function": "search", "content": "two"},
        {"role": "tool", "tool_call_id": None, "function": "search", "content": "", "error": {"message": "no"}},
        {"role": "assistant", "content": [{"type": "reasoning", "reasoning": "hm"}, {"type": "text", "text": "Done."}]},
    ]
    trace = read(_log(_sample(messages=messages)))
    assert [(call.args, call.result, call.is_error) for call in trace.calls] == [
        ({"n": 1}, "one", False),
        ({"n": 2}, "two", False),
        ({"n": 3}, "no", True),
    ]
    assert trace.to_events()[-1] == {"agent": "Done."}


def test_a_tool_of_the_provider() -> None:
    """Its call is a part of what the model said."""
    use = {
        "type": "tool_use",
        "tool_type": "web_search",
        "id": "w1",
        "name": "search",
        "arguments": '{"q": 1}',
        "result": "r",
    }
    failed = {**use, "id": "w2", "error": "no", "context": "server"}
    trace = read(_log(_sample(messages=[{"role": "assistant", "content": [use, failed]}])))
    assert [(call.args, call.result, call.is_error) for call in trace.calls] == [
        ({"q": 1}, "r", False),
        ({"q": 1}, "no", True),
    ]
    assert trace.calls[1].metadata == {"context": "server"}


def test_what_is_kept_apart() -> None:
    """Long texts are attachments, and messages that are repeated stand in a pool."""
    events = [
        _model(1, _call("1", q="attachment://a"), input_refs=[[0, 2]]),
        _tool(2, 3, _call("1", q="attachment://a"), "attachment://b"),
        _model(4, text="attachment://gone", input_refs=[[0, 2], [5, 9], ["x"]]),
    ]
    more = {"attachments": {"a": "long", "b": "longer"}}
    for pool in ({"message_pool": [SYSTEM, USER]}, {"events_data": {"messages": [SYSTEM, USER]}}):
        trace = read(_log(_sample(events, **more, **pool)))
        assert [_short(event) for event in trace.to_events()[:3]] == ["system Help.", "user Find a lamp.", "call 1"]
        assert (trace.calls[0].args, trace.calls[0].result) == ({"q": "long"}, "longer")
        assert [problem.reason for problem in trace.problems] == [
            "input_refs that point nowhere: [5, 9]",
            "input_refs that point nowhere: ['x']",
            "'attachment://gone' is not in the log",
        ]


def test_arguments_that_could_not_be_parsed() -> None:
    """They are written as none, which they were not."""
    call = {**_call(), "parse_error": 'Error parsing: {"q": '}
    trace = read(_log(_sample([_model(1, call), _tool(2, 3, call, error={"type": "parsing", "message": "bad"})])))
    assert isinstance(trace.calls[0].args, MalformedArguments)
    assert trace.calls[0].is_error


def test_older_logs() -> None:
    """They have steps in the place of spans, and events of sub-agents inside of those of tools."""
    inner = [_model(4, _call("2", "inner")), _tool(5, 6, _call("2", "inner"), 2)]
    subtask = {
        "event": "subtask",
        "timestamp": _AT.format(8),
        "name": "s",
        "events": [_tool(8, 8, _call("3", "third"), 3)],
    }
    step = {"event": "step", "timestamp": _AT.format(9), "type": "scorer", "name": "judge"}
    events = [
        {"event": "step", "action": "begin", "type": "agent", "name": "alice", "timestamp": _AT.format(0)},
        _model(1, _call("1", "outer")),
        {**_tool(2, 7, _call("1", "outer"), 1), "events": inner},
        {"event": "step", "action": "end", "timestamp": _AT.format(7)},
        subtask,
        {**step, "action": "begin"},
        _model(9, _call("9", "grade")),
        {**step, "action": "end"},
        _model(10, text="Done."),
    ]
    trace = read(_log(_sample(events)))
    assert [_short(event) for event in trace.to_events()] == [
        *("call 1", "call 2", "result 2", "result 1", "call 3", "result 3", "agent Done."),
    ]
    assert [call.agent for call in trace.calls] == ["alice", "alice", None]


def test_tools_that_ran_elsewhere_and_such_that_did_not_end() -> None:
    """A bridge runs them: their results stand in what the model is told next. One is still running."""
    answer = {"id": "t1", "role": "tool", "tool_call_id": "1", "function": "search", "content": "one"}
    history = {"id": "old", "role": "assistant", "content": "", "tool_calls": [_call("0")]}
    events = [
        _model(1, _call("1"), told=[USER, history]),
        _model(2, _call("2"), told=[USER, history, answer]),
        _tool(3, 3, _call("2"), pending=True),
        _tool(4, 4, _call("3"), "", failed=True),
    ]
    trace = read(_log(_sample(events)))
    assert [(call.id, call.result) for call in trace.calls] == [
        ("0", UNANSWERED),
        ("1", "one"),
        ("2", UNANSWERED),
        ("3", ""),
    ]
    assert [call.is_error for call in trace.calls] == [None, False, None, True]


def test_runs_of_a_log() -> None:
    """Each sample is a run, in an archive and in JSON; one that is broken can't be read."""
    samples = [_sample([_model(1, _call())], id=number, epoch=epoch) for number, epoch in ((1, 1), ("b", 1), ("b", 2))]
    members = {"header.json": _log(), **{f"samples/{s['id']}_epoch_{s['epoch']}.json": s for s in samples}}
    for document in (_log(*samples), _archive(members), _archive({"_journal/start.json": _log(), **members})):
        assert [trace.name for trace in read_all(document)] == ["shop/1", "shop/b", "shop/b epoch 2"]
    broken, whole = (
        read_all(_archive({**members, "samples/1_epoch_1.json": "{", "samples/b_epoch_2.json": b"\xff"})),
        [],
    )
    whole = [trace for trace in broken if trace.no_evidence is None]
    assert [trace.name for trace in whole] == ["shop/b"]
    with pytest.raises(ReadError, match="no run"):
        read(_log())


def _without_zstd(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let zipfile be as it is before Python 3.14, where nothing has changed it."""
    monkeypatch.delattr(zipfile, "ZIP_ZSTANDARD", raising=False)


def test_zstd() -> None:
    """Newer archives are compressed with it, which Python reads from 3.14 on, and before with a package."""
    name = "zipfile" if hasattr(zipfile, "ZIP_ZSTANDARD") else "backports.zstd.zipfile"
    file, archives = io.BytesIO(), pytest.importorskip(name, reason="backports.zstd is not installed")
    with archives.ZipFile(file, "w", archives.ZIP_ZSTANDARD) as archive:
        for member, data in {"header.json": _log(), "samples/1_epoch_1.json": _sample([_model(1, _call())])}.items():
            archive.writestr(member, json.dumps(data))
    assert [call.name for call in read(file.getvalue()).calls] == ["search"]
    data = file.getvalue()
    for place in range(0, len(data), 7):
        with contextlib.suppress(ReadError):
            read(data[:place] + bytes([data[place] ^ 0x55]) + data[place + 1 :])


def test_zstd_where_nothing_reads_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error says what to install."""
    _without_zstd(monkeypatch)
    monkeypatch.setitem(sys.modules, "backports.zstd.zipfile", None)
    data = bytearray(_archive({"header.json": _log(), "samples/1_epoch_1.json": _sample()}))
    for mark, offset in ((b"PK\x03\x04", 8), (b"PK\x01\x02", 10)):
        at = data.find(mark)
        while at >= 0:
            data[at + offset] = 93
            at = data.find(mark, at + 4)
    with pytest.raises(ReadError, match=r"zstd.*tracewitness\[inspect\]"):
        read(bytes(data))


def test_a_sample_that_failed() -> None:
    """What it did before is read, and that it failed is a problem."""
    trace = read(_log(_sample([_model(1, _call())], error={"message": "out of memory"})))
    assert len(trace.calls) == 1
    assert [str(problem) for problem in trace.problems] == ["$.error: the sample failed: 'out of memory'"]


@pytest.mark.parametrize(
    "event",
    [
        {"event": "teleport", "timestamp": _AT.format(1)},
        {"event": "model", "timestamp": _AT.format(1), "output": {"choices": ["x"]}},
        {"event": "model", "timestamp": _AT.format(1), "output": {"choices": [{"message": 1}]}},
        {"event": "model", "timestamp": _AT.format(1), "input": [{"role": "robot"}]},
        {"event": "tool", "timestamp": _AT.format(1), "pending": True},
        _model(1, "x"),
        "x",
    ],
)
def test_what_can_not_be_understood_may_hide_a_call(event: Any) -> None:
    """It is a problem with its place; the events beside it are read."""
    trace = read(_log(_sample([_model(0, _call("1")), event, _tool(2, 3, _call("1"), "x")])))
    assert trace.calls[0].result == "x"
    assert [problem.hides_call for problem in trace.problems] == [True]
    assert trace.problems[0].place.startswith("$.events[1]")


def test_detection() -> None:
    """Logs, samples and lists of events, and nothing else."""
    events = [_model(1, _call())]
    archive = {"header.json": b"{}", "samples/1_epoch_1.json": b"{}"}
    assert_known_alone("inspect", _log(), _log(_sample(events)), _sample(events), events, {"events": events}, archive)
    for document in ({"eval": {}}, {"events": [{"event": "model"}]}, [{"event": "tool"}]):
        assert "inspect" not in {reader.name for reader in detected(document)}


def test_mutants() -> None:
    """They raise nothing else."""
    events = [
        _begin(1, "a", None, "agent", "alice"),
        _model(2, _call("1", n="attachment://a"), told=[USER], span_id="a", input_refs=[[0, 1]]),
        {**_tool(3, 4, _call("1", n=1), "one", span_id="a"), "events": [_model(3, _call("2"))]},
    ]
    sample = _sample(events, messages=[USER], attachments={"a": "x"}, message_pool=[SYSTEM])
    assert_mutants_are_read_or_refused("inspect", _log(sample, _sample(messages=[USER])))


# ---------------------------------------------------------------------------------------------------- real recordings

#: Files that hold no model's answer, and why.
_EMPTY = {"2025-05-12T20-28-13-04-00_no-samples.json": "no sample ended before the run was cancelled"}


def _marked(events: Any) -> int:
    """Count the calls in answers of models that are not judges: none of the judges here calls a tool."""
    return sum(
        len(choice["message"].get("tool_calls") or ())
        for event in events
        if event["event"] == "model"
        for choice in event["output"]["choices"]
    )


def _marked_in(path: Path) -> list[int]:
    if path.suffix == ".json":
        data = json.loads(path.read_bytes())
        return [_marked(data["events"])] if "events" in data else [_marked(s["events"]) for s in data["samples"]]
    with zipfile.ZipFile(path) as archive:
        names = sorted(name for name in archive.namelist() if name.startswith("samples/"))
        return [_marked(json.loads(archive.read(name))["events"]) for name in names]


def test_corpora() -> None:
    """Every file, by detection alone, has as many runs and calls as its own markers say."""
    folder = corpora() / "inspect_ai"
    if not folder.exists():
        pytest.skip("the recordings of inspect_ai are not here")
    counts = []
    for path in sorted(file for file in folder.rglob("*") if file.suffix in (".json", ".eval")):
        if path.name in _EMPTY:
            continue
        traces = list(read_all(path))
        assert [len(trace.calls) for trace in traces] == _marked_in(path), path
        assert [trace.problems for trace in traces if trace.problems] == []
        assert all(call.result is not UNANSWERED for trace in traces for call in trace.calls)
        counts.append((len(traces), sum(len(trace.calls) for trace in traces)))
    assert (len(counts), sum(runs for runs, _ in counts), sum(calls for _, calls in counts)) == (11, 20, 9)


# ------------------------------------------------------------------------------------------------------------ the real


def _answer(model: Any, text: str, *calls: tuple[str, dict[str, Any]]) -> Any:
    """Return a model's answer that calls tools. It says how long it is: to count that needs the network."""
    output = model.ModelOutput.from_content("mockllm/model", text)
    made = [
        {"id": f"{text}-{number}", "function": name, "arguments": args} for number, (name, args) in enumerate(calls)
    ]
    output.choices[0].message.tool_calls = [pytest.importorskip("inspect_ai.tool").ToolCall(**call) for call in made]
    output.choices[0].stop_reason = "tool_calls" if calls else "stop"
    output.usage = model.ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
    return output


def _inspected(tmp_path: Path, tools: Tools) -> Any:
    """Run a task in which one agent hands over to another, and return its log."""
    inspect_ai = pytest.importorskip("inspect_ai", reason="Inspect is not installed")
    from inspect_ai import agent, dataset, model, tool

    @tool.tool
    def search() -> Any:
        async def execute(query: str, limit: int = 3) -> str:
            """Find things.

            Args:
                query: what to look for.
                limit: how many to find.
            """
            return json.dumps(tools.search(query, limit))

        return execute

    @tool.tool
    def steer() -> Any:
        async def execute(angle: float) -> str:
            """Turn the wheel.

            Args:
                angle: how far.
            """
            try:
                return tools.steer(angle)
            except RuntimeError as error:
                raise tool.ToolError(str(error)) from error

        return execute

    @tool.tool
    def weather() -> Any:
        async def execute(city: str) -> str:
            """Say what the weather is like.

            Args:
                city: where.
            """
            return tools.weather(city)

        return execute

    answers = [
        _answer(model, "first", *FIRST_TURN),
        _answer(model, "second", SECOND_TURN[0]),
        _answer(model, "over", ("transfer_to_bob", {})),
        _answer(model, "third", SECOND_TURN[1]),
        _answer(model, "Bob is done."),
        _answer(model, "last", ("submit", {"answer": "Sunny."})),
    ]
    bob = agent.react(name="bob", description="Knows the weather.", tools=[weather()], submit=False)
    alice = agent.react(name="alice", prompt="You help.", tools=[search(), steer(), agent.handoff(bob)])
    (log,) = inspect_ai.eval(
        inspect_ai.Task(name="shop", dataset=[dataset.Sample(input="Find a lamp and a desk.")], solver=alice),
        model=model.get_model("mockllm/model", custom_outputs=answers),
        log_dir=str(tmp_path),
        log_format="json",
        display="none",
    )
    assert log.status == "success"
    return log


@pytest.mark.filterwarnings("ignore")
def test_what_the_real_one_writes(tmp_path: Path) -> None:
    """A log as an object and as a file, with parallel calls, a tool that fails, and a handoff."""
    tools = Tools()
    log = _inspected(tmp_path, tools)
    for trace in (read(next(tmp_path.glob("*.json"))), read(log), read(log.samples[0])):
        _assert_inspected(trace, tools)


def _assert_inspected(trace: Trace, tools: Tools) -> None:
    assert_witnessed(trace, tools)
    assert [(call.name, call.agent) for call in trace.calls] == [
        ("search", "alice"),
        ("search", "alice"),
        ("steer", "alice"),
        ("transfer_to_bob", "alice"),
        ("weather", "bob"),
        ("submit", "alice"),
    ]
    assert trace.calls[2].result == WHEEL
    kinds = [
        f"{kind} {event[kind]}" for event in trace.to_events() if (kind := next(iter(event))) in ("call", "transfer")
    ]
    assert kinds[3:5] == ["call transfer_to_bob", "transfer bob"]
    assert all(call.started_at and call.ended_at for call in trace.calls)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("by", ["what Inspect imports", "backports.zstd"])
def test_an_archive_that_the_real_one_writes(by: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is compressed with zstd, which Python reads from 3.14 on, where Inspect is imported, or with a package."""
    log_module = pytest.importorskip("inspect_ai.log", reason="Inspect is not installed")
    tools = Tools()
    log = _inspected(tmp_path, tools)
    log_module.write_eval_log(log, str(tmp_path / "log.eval"))
    with zipfile.ZipFile(tmp_path / "log.eval") as archive:
        assert {info.compress_type for info in archive.infolist()} == {93}
    if by == "backports.zstd" and sys.version_info < (3, 14):
        _without_zstd(monkeypatch)
    _assert_inspected(read(tmp_path / "log.eval"), tools)
