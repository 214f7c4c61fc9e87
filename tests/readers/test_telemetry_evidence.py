"""Spans that were cut off, contradict each other, or are many in one another: nothing is lost in silence."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from test_telemetry_spans import LAMP, TEXT, answered, called, chat, span, told, tool

from tracewitness.expectations import check
from tracewitness.readers import read
from tracewitness.readers.encodings import server_sent_events

_BAN = [{"type": "tool_not_called", "tool": "delete_all"}]
_TASK = [{"role": "user", "parts": [{"type": "text", "content": "hi"}]}]
_CALL = {"id": "c1", "type": "function", "function": {"name": "delete_all", "arguments": "{}"}}
_MESSAGE = {"role": "assistant", "content": None, "tool_calls": [_CALL]}
_WHOLE = json.dumps([{"role": "assistant", "parts": [{"type": "tool_call", "name": "delete_all", "arguments": {}}]}])


def _bans_hold(document: Any) -> bool:
    return all(verdict.status == "held" for verdict in check(read(document), _BAN))


def _may_hide_call(document: Any) -> bool:
    return any(problem.hides_call for problem in read(document).problems)


# ------------------------------------------------------------------------------------------------ cut texts

_MODEL = {"gen_ai.operation.name": "chat"}
_AGENT = {"gen_ai.operation.name": "invoke_agent"}
_OBSERVATION = {"id": "2", "traceId": "t", "type": "GENERATION", "name": "g", "startTime": "2026-01-01T00:00:01Z"}
_RUN: dict[str, Any] = {
    "id": "1",
    "trace_id": "t",
    "name": "m",
    "start_time": "2026-01-01T00:00:00",
    "inputs": {},
    "error": None,
}


def _with_events(*events: tuple[str, dict[str, Any]]) -> list[dict[str, Any]]:
    listed = [{"name": name, "attributes": attributes} for name, attributes in events]
    return [span("chat", 0, 1, attributes=_MODEL, events=listed)]


_HOLDERS: dict[str, Any] = {
    "output messages": lambda text: [span("c", 0, 1, attributes={**_MODEL, "gen_ai.output.messages": text})],
    "an agent's messages": lambda text: [span("a", 0, 1, attributes={**_AGENT, "pydantic_ai.all_messages": text})],
    "input messages": lambda text: (
        [chat(0, 1, _TASK, [TEXT]), span("a", 2, 3, attributes={**_AGENT, "gen_ai.input.messages": text})]
    ),
    "messages as events": lambda text: [span("a", 0, 1, attributes={**_AGENT, "events": text})],
    "MLflow's outputs": lambda text: [
        span("m", 0, 1, attributes={"mlflow.spanType": "CHAT_MODEL", "mlflow.spanOutputs": text})
    ],
    "a choice": lambda text: _with_events(("gen_ai.choice", {"message": text})),
    "Azure's choice": lambda text: _with_events(("gen_ai.choice", {"gen_ai.event.content": text})),
    "details": lambda text: _with_events(
        ("gen_ai.client.inference.operation.details", {"gen_ai.output.messages": text})
    ),
    "Langfuse": lambda text: [{**_OBSERVATION, "output": text}],
    "Langfuse, a step around": lambda text: [{**_OBSERVATION, "type": "SPAN", "output": text}],
    "Langfuse, as OpenTelemetry's": lambda text: [
        span("g", 0, 1, attributes={"langfuse.observation.type": "generation", "langfuse.observation.output": text})
    ],
    "LangSmith": lambda text: [{**_RUN, "run_type": "llm", "outputs": {"output": text}}],
    "LangSmith, all outputs": lambda text: [{**_RUN, "run_type": "llm", "outputs": text}],
}


@pytest.mark.parametrize("holder", _HOLDERS)
@pytest.mark.parametrize("whole", [_WHOLE, json.dumps(_MESSAGE), json.dumps({"choices": [{"message": _MESSAGE}]})])
def test_a_text_that_was_cut_off_may_hide_a_call(holder: str, whole: str) -> None:
    """Wherever it was cut: nobody said it."""
    for end in (*range(40, len(whole), 9), len(whole) - 1):
        document = _HOLDERS[holder](whole[:end])
        assert _may_hide_call(document), whole[:end]
        assert not _bans_hold(document)
        words = [record.agent for record in read(document).records if record.agent]
        assert words in ([], ["Done."]), words


@pytest.mark.parametrize("text", ["[1] says so", "{name}, hello", "[INST] hi", "Done."])
def test_words_that_begin_like_json_are_words(text: str) -> None:
    """And JSON that is whole may be what an agent says."""
    answer = [{"role": "assistant", "parts": [{"type": "text", "content": text}]}]
    for document in ([chat(0, 1, _TASK, answer)], [{**_OBSERVATION, "output": text}]):
        assert read(document).problems == ()
    for said in ('{"city": "Oslo"}', "[1, 2]", '{"a": "an answer that ended early'):
        answer = [{"role": "assistant", "parts": [{"type": "text", "content": said}]}]
        assert told([chat(0, 1, _TASK, answer)])[1:] == [("agent", said)]
        assert read([chat(0, 1, _TASK, answer)]).problems == ()


# ----------------------------------------------------------------------------------------- messages in events


@pytest.mark.parametrize(
    "attributes",
    [
        {"message": json.dumps(_MESSAGE)},
        {"message": json.dumps({"tool_calls": [_CALL]}), "finish_reason": "tool_calls"},
        {"message": _MESSAGE},
        {"role": "assistant", "message": json.dumps(_MESSAGE)},
        {"content": json.dumps(_MESSAGE)},
        {"tool_calls": json.dumps([_CALL])},
        {
            "message": json.dumps(
                {"role": "assistant", "parts": [{"type": "tool_call", "id": "c1", "name": "delete_all"}]}
            )
        },
        {"gen_ai.event.content": json.dumps({"index": 0, "finish_reason": "tool_calls", "message": _MESSAGE})},
        {"gen_ai.event.content": json.dumps({"message": {"tool_calls": [_CALL]}})},
        {"gen_ai.event.content": json.dumps(_MESSAGE)},
    ],
)
def test_a_message_in_an_event_is_read(attributes: dict[str, Any]) -> None:
    """Also where it is JSON in a text, and where what stands around it is, as Azure has it."""
    document = _with_events(("gen_ai.user.message", {"content": "hi"}), ("gen_ai.choice", attributes))
    trace = read(document)
    assert [(call.name, call.id) for call in trace.calls] == [("delete_all", "c1")]
    assert [record.agent for record in trace.records if isinstance(record.agent, str)] == []
    for name in ("gen_ai.assistant.message", "gen_ai.choice"):
        assert [call.name for call in read(_with_events((name, attributes))).calls] == ["delete_all"]


def test_azures_history() -> None:
    """Of events whose bodies are JSON in an attribute."""
    bodies = (
        ("gen_ai.user.message", {"role": "user", "content": "hi"}),
        ("gen_ai.assistant.message", {"role": "assistant", "tool_calls": [_CALL]}),
        ("gen_ai.tool.message", {"id": "c1", "content": "ok"}),
        ("gen_ai.choice", {"index": 0, "finish_reason": "stop", "message": {"content": "Done."}}),
    )
    document = _with_events(*((name, {"gen_ai.event.content": json.dumps(body)}) for name, body in bodies))
    assert told(document) == [("user", "hi"), ("call", "delete_all", {}), ("result", None, "ok"), ("agent", "Done.")]
    assert read(document).problems == ()


def test_a_finish_reason_beside_a_message_is_of_it() -> None:
    """It speaks of a call that is not there."""
    choice = {"finish_reason": "tool_calls", "message": {"role": "assistant", "content": "I'll do it."}}
    assert _may_hide_call(_with_events(("gen_ai.choice", choice)))


# ---------------------------------------------------------------------------------------------- disagreements


def _ran(name: str = "f", call_id: str | None = "c1", arguments: Any = None, result: Any = "R", **more: Any) -> Any:
    attributes = {
        "gen_ai.tool.call.id": call_id,
        "gen_ai.tool.call.arguments": json.dumps({"x": 1} if arguments is None else arguments),
        "gen_ai.tool.call.result": result,
    }
    kept = {key: value for key, value in attributes.items() if value is not None}
    return tool(name, 1, 2, attributes={**kept, **more})


_ASKED = chat(0, 1, _TASK, [called("c1", "f", {"x": 1})])
_LATER = chat(3, 4, [*_TASK, called("c1", "f", {"x": 1}), answered("c1", "R")], [TEXT])


def _told(payload: Any) -> dict[str, Any]:
    return chat(3, 4, [*_TASK, called("c1", "f", {"x": 1}), answered("c1", payload)], [TEXT])


@pytest.mark.parametrize(
    ("spans", "said"),
    [
        ([_ASKED, _ran(arguments={"x": 999})], ["{'x': 1}", "{'x': 999}"]),
        ([_ASKED, _ran(arguments={"y": 1})], ["{'x': 1}", "{'y': 1}"]),
        ([_ASKED, _ran(arguments={})], ["{'x': 1}", "{}"]),
        ([_LATER, _ran(arguments={"x": 999})], ["{'x': 1}", "{'x': 999}"]),
        ([_ASKED, _ran(), _told("DIFFERENT")], ["'R'", "'DIFFERENT'"]),
        ([_ran(), _told("DIFFERENT")], ["'R'", "'DIFFERENT'"]),
        ([_ASKED, _ran(result='{"n": 1}'), _told('{"n": 2}')], ["{'n': 1}", '{"n": 2}']),
        ([_ASKED, _ran(call_id="OTHER")], ["'OTHER'", "'c1'"]),
        ([_LATER, _ran(call_id="OTHER")], ["'OTHER'", "'c1'"]),
        ([_ASKED, _ran(name="g")], ["'g'", "'c1'", "f"]),
        ([_LATER, _ran(name="g")], ["'g'", "'c1'", "f"]),
    ],
)
def test_a_span_and_a_message_that_contradict_each_other_are_a_problem(spans: list[Any], said: list[str]) -> None:
    """It says what both say, and no ban holds: which of the two is true is not known."""
    for document in (spans, spans[::-1]):
        (problem,) = (problem for problem in read(document).problems if "which is true" in problem.reason)
        assert problem.hides_call
        assert all(one in problem.reason for one in said), problem.reason
        assert not _bans_hold(document)


@pytest.mark.parametrize(
    "spans",
    [
        [_ASKED, _ran(arguments={"x": 1, "limit": 3}), _LATER],
        [_ASKED, _ran(arguments={"x": "1"}), _LATER],
        [_ASKED, _ran(arguments={"kwargs": {"x": 1}}), _LATER],
        [chat(0, 1, _TASK, [called("c1", "f", {"x": 1, "y": None})]), _ran()],
        [
            chat(0, 1, _TASK, [called("c1", "f", {"x": {"a": [1, {"b": 2}]}})]),
            _ran(arguments={"x": '{"a":[1,{"b":2}]}'}),
        ],
        [_ASKED, _ran(result='"R"'), _LATER],
        [_ASKED, _ran(result="content='R' tool_call_id='c1'"), _LATER],
        [_ASKED, _ran(result='{"n": 1, "b": true}'), _told("{'n': 1, 'b': True}")],
        [_ASKED, _ran(result='{"t": "caf\\u00e9 au lait"}'), _told("{'t': 'café au lait'}")],
        [_ASKED, _ran(result='[{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]'), _told("a\nb")],
        [_ASKED, _ran(result="A long answer that goes on and on and on"), _told("A long answer that goes o")],
        [_ASKED, _ran(result="null"), _told("The tool ran.")],
        [_ASKED, {**_ran(result=None), "status": {"code": "ERROR", "message": "stuck"}}, _told("It failed, sorry.")],
        [
            _ASKED,
            _ran(),
            _LATER,
            chat(5, 6, [*_TASK, called("c1", "f", {"x": 1}), answered("c1", "(cleared)")], [TEXT]),
        ],
    ],
)
def test_what_is_written_in_another_way_is_the_same(spans: list[Any]) -> None:
    """With defaults, wrapped, as Python shows it, with words around it, cut off."""
    trace = read(spans)
    assert [problem.reason for problem in trace.problems] == []
    assert len(trace.calls) == 1


def test_ids_that_are_used_again_are_told_apart_by_arguments() -> None:
    """Of one answer, the run with the very arguments of a call is that call's."""
    answer = [called("c1", "f", {"x": 1}), called("c1", "f", {"x": 2})]
    second = {**_ran(arguments={"x": 2}, result="two"), "span_id": "2"}
    trace = read([chat(0, 1, _TASK, answer), second, {**_ran(result="one"), "start_time": second["start_time"] + 9}])
    assert trace.problems == ()
    assert len(trace.calls) == 2


# ----------------------------------------------------------------------------------------- spans in one another


def _chain(count: int) -> list[dict[str, Any]]:
    own = {"gen_ai.tool.call.arguments": "{}"}
    return [tool("f", i, i + 1, f"s{i - 1}" if i else "", span_id=f"s{i}", attributes=own) for i in range(count)]


def _retries(count: int, **ids: str) -> list[dict[str, Any]]:
    own = {"gen_ai.tool.call.arguments": "{}", **{f"gen_ai.tool.call.{key}": value for key, value in ids.items()}}
    outer = tool("f", 0, 9_000, span_id="outer", attributes=own)
    return [outer, *(tool("f", i + 1, i + 2, "outer", span_id=f"s{i}", attributes=own) for i in range(count))]


@pytest.mark.parametrize(
    ("spans", "count"),
    [
        (_chain(1), 1),
        (_chain(2), 1),
        (_chain(4), 1),
        (_chain(5), 5),
        (_chain(400), 400),
        (_retries(1), 1),
        (_retries(1, id="c1"), 1),
        (_retries(2), 3),
        (_retries(3, id="c1"), 4),
        (_retries(399), 400),
    ],
)
def test_a_wrapper_is_no_call_and_each_of_several_runs_in_one_is(spans: list[Any], count: int) -> None:
    """Layers are few, and each has one in it; a tool that runs itself again is called again."""
    assert len(read(spans).calls) == count
    assert len(read(spans[::-1]).calls) == count


def test_wrappers_whose_calls_have_other_ids_are_two_calls() -> None:
    """Also where the span between the two has none."""
    outer, middle, inner = _chain(3)
    outer["attributes"]["gen_ai.tool.call.id"] = "c1"
    inner["attributes"]["gen_ai.tool.call.id"] = "c2"
    assert [call.id for call in read([outer, middle, inner]).calls] == ["c1", "c2"]


def test_a_node_that_runs_several_tools_is_none() -> None:
    """It has no tool's name."""
    node = span("Tool node", 0, 9, attributes={"openinference.span.kind": "TOOL", "input.value": '{"q": "lamp"}'})
    own = {"gen_ai.tool.call.arguments": '{"q": "lamp"}'}
    inside = [tool("search", i, i + 1, "Tool node-0", attributes=own) for i in (1, 2)]
    assert told([node, *inside]) == [("call", "search", LAMP)] * 2


@pytest.mark.parametrize("kind", ["tool", "llm", "chain"])
def test_long_chains_are_read_in_linear_time(kind: str) -> None:
    """Of spans of OpenTelemetry, and of runs of LangSmith that name their parents alone."""
    count = 20_000
    begin = time.perf_counter()
    runs: list[dict[str, Any]] = [
        {"id": f"r{i}", "run_type": kind, "name": "f", "start_time": "2026-01-01T00:00:00", "inputs": {}, "outputs": {}}
        for i in range(count)
    ]
    for i, run in enumerate(runs):
        run["parent_run_id"] = f"r{i - 1}" if i else None
    trace = read(runs)
    assert len(trace.calls) == (count if kind == "tool" else 0)
    if kind == "tool":
        assert len(read(_chain(count)).calls) == count
    elif kind == "llm":
        answer = {**_MODEL, "gen_ai.output.messages": json.dumps([TEXT])}
        read([span("chat", i, i + 1, f"s{i - 1}", span_id=f"s{i}", attributes=answer) for i in range(count)])
    assert time.perf_counter() - begin < 40


def test_server_sent_events_are_decoded_in_linear_time() -> None:
    """A long stream takes no more time for each of its events than a short one."""
    event = b'data: {"object": "chat.completion.chunk", "choices": [{"delta": {"content": "hello"}}]}\n\n'
    taken = []
    for count in (5_000, 50_000):
        begin = time.perf_counter()
        assert len(server_sent_events.decode(event * count)) == count
        taken.append((time.perf_counter() - begin) / count)
    assert taken[1] < 10 * taken[0]


# ---------------------------------------------------------------------------------------------- times and values


@pytest.mark.parametrize(
    ("key", "value", "seconds"),
    [
        ("startTimeUnixNano", "5000000000", 5.0),
        ("startTimeUnixNano", 5, 5e-9),
        ("start_time_unix_nano", 1_700_000_000_000_000_000, 1.7e9),
        ("start_time_unix_nano", 1_700_000_000, 1.7),
        ("start_time_ns", 1_700_000_000, 1.7),
        ("start_ns", 2_000_000_000, 2.0),
        ("start_time", 1_700_000_000, 1.7e9),
        ("startTime", 1_700_000_000_000, 1.7e9),
        ("start_timestamp", "1970-01-01T00:00:05+00:00", 5.0),
    ],
)
def test_a_key_that_says_nanoseconds_means_them(key: str, value: Any, seconds: float) -> None:
    """The unit is guessed only where the key does not say it."""
    item = tool("f", 0, 1, attributes={"tool_arguments": "{}"})
    del item["start_time"], item["end_time"]
    (call,) = read([{**item, key: value}]).calls
    assert call.record.at == pytest.approx(seconds)


@pytest.mark.parametrize("odd", [{1: 2}, {None: 1}, {(): {}}, {1: {"stringValue": "x"}}])
def test_live_mappings_may_have_any_keys(odd: dict[Any, Any]) -> None:
    """In a value, an attribute, an event, a status, a span."""
    listed = [{"key": "gen_ai.tool.name", "value": odd}, {"key": "x", "value": {"kvlistValue": odd}}, odd]
    event = {"name": "gen_ai.choice", "attributes": {**odd, "message": odd}, "body": odd}
    span_ids = {"traceId": "a" * 32, "spanId": "d" * 16, "name": "execute_tool q", "startTimeUnixNano": "1"}
    for more in (
        {"attributes": listed},
        {"attributes": {**odd, "gen_ai.tool.name": "q", "gen_ai.tool.call.arguments": odd}},
        {"attributes": {"gen_ai.operation.name": "chat", "gen_ai.output.messages": [odd]}},
        {"events": [event, odd], "attributes": _MODEL},
        {"status": odd, "context": odd, "scope": odd},
        odd,
    ):
        item = {**span_ids, **more}
        read({"resourceSpans": [{**odd, "scopeSpans": [{**odd, "spans": [item]}]}]})
        if "startTimeUnixNano" in item:
            read([{**item, "context": None}])


@pytest.mark.parametrize(
    ("recorded", "result"),
    [
        ('"R"', "R"),
        ('"say \\"R\\""', 'say "R"'),
        ("R", "R"),
        ('"R" and "S"', '"R" and "S"'),
        ('"', '"'),
        ("", ""),
        ("2", "2"),
        ("true", "true"),
        ("null", None),
        ('{"n": 1}', {"n": 1}),
        ("[1, 2]", [1, 2]),
        ('{"n": ', '{"n": '),
        ("{name}", "{name}"),
        ({"n": 1}, {"n": 1}),
    ],
)
def test_a_result_that_is_json_by_the_conventions_is_decoded(recorded: Any, result: Any) -> None:
    """Where it is; other text stays, and a number in a text equals the number in checks."""
    (call,) = read([_ran(result=recorded)]).calls
    assert call.result == result
    assert type(call.result) is type(result)
