"""Streams of chat completions: fragments find their calls, whatever servers leave out; a broken end is a problem."""

from __future__ import annotations

import re
from typing import Any

import pytest
from stream_support import read_everywhere, reasons, server_sent

from tracewitness.errors import ReadError
from tracewitness.readers import read
from tracewitness.readers.registry import detected
from tracewitness.trace import MalformedArguments

NAME = "openai-chat-stream"


def _chunk(delta: Any = None, finish: str | None = None, **more: Any) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta or {}, "finish_reason": finish}
    return {"object": "chat.completion.chunk", "id": "chatcmpl-1", "choices": [choice], **more}


def _fragment(
    index: int | None = None, call_id: Any = None, name: str | None = None, arguments: Any = None
) -> dict[str, Any]:
    """Return a fragment of a call, without the fields that are None."""
    told = {"name": name, "arguments": arguments}
    function = {key: value for key, value in told.items() if value is not None}
    fields = {"index": index, "id": call_id, "function": function}
    return {key: value for key, value in fields.items() if value is not None}


def _stream(*fragments: Any, finish: str = "tool_calls") -> list[dict[str, Any]]:
    """Return a stream of fragments; a list of them comes in one chunk."""
    lists = [fragment if isinstance(fragment, list) else [fragment] for fragment in fragments]
    chunks = [_chunk({"tool_calls": fragments}) for fragments in lists]
    return [_chunk({"role": "assistant", "content": None}), *chunks, _chunk(finish=finish)]


def _calls(trace: Any) -> list[tuple[Any, ...]]:
    return [(call.id, call.name, call.args) for call in trace.calls]


_F = _fragment
ROUTES: dict[str, tuple[list[Any], list[tuple[Any, ...]]]] = {
    "one after the other": (
        [
            _F(0, "c1", "a", ""),
            _F(0, arguments='{"n"'),
            _F(0, arguments=": 1}"),
            _F(1, "c2", "b"),
            _F(1, arguments="{}"),
        ],
        [("c1", "a", {"n": 1}), ("c2", "b", {})],
    ),
    "interleaved": (
        [
            [_F(0, "c1", "a", ""), _F(1, "c2", "b", "")],
            [_F(1, arguments='{"n":'), _F(0, arguments='{"m":')],
            [_F(0, arguments=" 1}"), _F(1, arguments=" 2}")],
        ],
        [("c1", "a", {"m": 1}), ("c2", "b", {"n": 2})],
    ),
    "whole calls": (
        [[_F(None, "c1", "a", '{"n": 1}'), _F(None, "c2", "a", '{"n": 2}')]],
        [("c1", "a", {"n": 1}), ("c2", "a", {"n": 2})],
    ),
    "all on index 0 without ids": (
        [_F(0, None, "a", '{"n": 1}'), _F(0, None, "a", '{"n": 1}'), _F(0, "", "b", "{}"), _F(0, "", "a", "{}")],
        [(None, "a", {"n": 1}), (None, "a", {"n": 1}), (None, "b", {}), (None, "a", {})],
    ),
    "the same index with different ids": (
        [_F(0, "c1", "a", '{"n": 1}'), _F(0, "c2", "a", '{"n": 2}')],
        [("c1", "a", {"n": 1}), ("c2", "a", {"n": 2})],
    ),
    "no index, fragments by id": (
        [
            _F(None, "c1", "a", '{"n":'),
            _F(None, "c2", "b", '{"m":'),
            _F(None, "c1", None, " 1}"),
            _F(None, "c2", None, " 2}"),
        ],
        [("c1", "a", {"n": 1}), ("c2", "b", {"m": 2})],
    ),
    "no index and no id": (
        [_F(None, None, "a", '{"n":'), _F(None, None, None, " 1}"), _F(None, None, "b", "{}")],
        [(None, "a", {"n": 1}), (None, "b", {})],
    ),
    "name and id in every fragment": (
        [_F(0, "c1", "a", '{"n":'), _F(0, "c1", "a", " 1}"), _F(1, "c2", "a", '{"n":'), _F(1, "c2", "a", " 2}")],
        [("c1", "a", {"n": 1}), ("c2", "a", {"n": 2})],
    ),
    "the name in every fragment, no id": (
        [_F(0, None, "a", '{"n":'), _F(0, None, "a", ' "}\\"'), _F(0, None, "a", '"}'), _F(0, None, "a", "{}")],
        [(None, "a", {"n": '}"'}), (None, "a", {})],
    ),
    "another id in every fragment": (
        [_F(0, "x1", "a", ""), _F(0, "x2", None, '{"n":'), _F(0, "x3", None, " 1}")],
        [("x1", "a", {"n": 1})],
    ),
    "empty ids after the first": (
        [_F(0, "c1", "a", ""), _F(0, "", None, '{"n": 1}'), _F(0, "", None, "")],
        [("c1", "a", {"n": 1})],
    ),
    "id first, then the name": ([_F(0, "c1"), _F(0, None, "a"), _F(0, arguments="{}")], [("c1", "a", {})]),
    "the id last": ([_F(0, None, "a", "{"), _F(0, "c1", None, "}")], [("c1", "a", {})]),
    "arguments as a mapping": ([_F(0, "c1", "a", {"n": 1})], [("c1", "a", {"n": 1})]),
    "no arguments": (
        [_F(0, "c1", "a"), _F(1, "c2", "a", ""), _F(2, "c3", "a", "{}")],
        [(f"c{n}", "a", {}) for n in (1, 2, 3)],
    ),
    "an id used twice": (
        [_F(0, "c1", "a", "{}"), _F(1, "c1", "b", "{"), _F(1, "c1", None, "}")],
        [("c1", "a", {}), ("c1", "b", {})],
    ),
    "the index last": ([_F(None, "c1", "a", "{"), _F(0, "c1", None, "}")], [("c1", "a", {})]),
}


@pytest.mark.parametrize(("fragments", "calls"), ROUTES.values(), ids=ROUTES.keys())
def test_fragments_find_their_call(fragments: list[Any], calls: list[tuple[Any, ...]]) -> None:
    """By index and id, and by what is left where a server leaves these out."""
    trace = read_everywhere(_stream(*fragments), NAME)
    assert _calls(trace) == calls
    assert trace.problems == ()


@pytest.mark.parametrize(
    ("fragments", "is_doubted"),
    [
        ([_F(0, "c1", "get_"), _F(0, None, "weather", "{}")], True),
        ([_F(0, "c1", "get_", ""), _F(0, "c1", "weather", "{}")], True),
        ([_F(0, None, "get_"), _F(0, None, "weather", "{}")], True),
        ([_F(0, None, "get_"), _F(0, "c1", "weather", "{}")], True),
        ([_F(0, "c1", "get_"), _F(0, "c2", "weather", "{}")], False),
        ([_F(0, "c1", "get_"), _F(1, None, "weather", "{}")], False),
        ([_F(0, None, "get_", "{}"), _F(0, None, "weather", "{}")], False),
        ([[_F(None, None, "get_"), _F(None, None, "weather", "{}")]], False),
    ],
)
def test_a_name_that_may_be_the_rest_of_one(fragments: list[Any], is_doubted: bool) -> None:
    """Two calls, or one whose name came in fragments: nobody knows, unless an id or arguments speak against it."""
    trace = read_everywhere(_stream(*fragments), NAME)
    assert [call.name for call in trace.calls] == ["get_", "weather"]
    assert [problem.hides_call for problem in trace.problems] == [True] * is_doubted


def test_a_mapping_where_a_list_was_promised() -> None:
    """It is the one call."""
    chunks = [_chunk({"tool_calls": _F(0, "c1", "a", "{}")}), _chunk(finish="tool_calls")]
    assert _calls(read(chunks)) == [("c1", "a", {})]


@pytest.mark.parametrize(
    ("fragments", "raw"),
    [
        ([_F(0, "c1", "a", '{"n": 1}'), _F(0, None, None, '{"n": 2}')], '{"n": 1}{"n": 2}'),
        ([_F(0, "c1", "a", '{"n": ')], '{"n": '),
        ([_F(0, "c1", "a", {"n": 1}), _F(0, None, None, {"m": 1})], [{"n": 1}, {"m": 1}]),
        ([_F(0, "c1", "a", {"n": 1}), _F(0, None, None, "x")], [{"n": 1}, "x"]),
        ([_F(0, "c1", "a", "[1]")], "[1]"),
    ],
)
def test_fragments_that_are_no_arguments(fragments: list[Any], raw: Any) -> None:
    """They stay as they are."""
    (call,) = read(_stream(*fragments)).calls
    assert isinstance(call.args, MalformedArguments)
    assert call.args.raw == raw


def test_text_custom_tools_and_functions_of_old() -> None:
    """Words, a refusal, what was spoken, a call with free text, and one from before there were tools."""
    chunks = [
        _chunk({"role": "assistant", "content": "Let me "}),
        _chunk({"content": "see.", "function_call": None, "refusal": None}),
        _chunk({"refusal": "But "}),
        _chunk({"refusal": "no.", "audio": {"id": "x", "transcript": "Hm"}}),
        _chunk({"audio": {"transcript": "m."}}),
        _chunk(
            {"tool_calls": [{"index": 0, "id": "c1", "type": "custom", "custom": {"name": "sql", "input": "SELECT"}}]}
        ),
        _chunk({"tool_calls": [{"index": 0, "custom": {"input": " 1"}}]}),
        _chunk({"function_call": {"name": "old", "arguments": ""}}),
        _chunk({"function_call": {"arguments": '{"n": 1}'}}),
        _chunk(finish="tool_calls"),
        {"object": "chat.completion.chunk", "id": "chatcmpl-1", "choices": [], "usage": {"total_tokens": 1}},
    ]
    assert read_everywhere(chunks, NAME).to_events() == [
        {"agent": "Let me see.\nBut no.\nHmm."},
        {"call": "sql", "args": {"input": "SELECT 1"}, "id": "c1"},
        {"call": "old", "args": {"n": 1}},
    ]


def test_contents_as_lists_of_parts() -> None:
    """Thoughts are not said, and texts are one text."""
    chunks = [
        _chunk({"content": [{"type": "thinking", "thinking": []}]}),
        _chunk({"content": [{"type": "text", "text": "Hel"}]}),
        _chunk({"content": "lo"}),
        _chunk(finish="stop"),
    ]
    assert read(chunks).to_events() == [{"agent": "Hello"}]


def test_a_message_that_comes_whole() -> None:
    """It is the answer; where it has no calls, those of the fragments are."""
    whole = {
        "role": "assistant",
        "content": "Done.",
        "tool_calls": [{"id": "c1", "function": {"name": "a", "arguments": "{}"}}],
    }
    last = {"object": "chat.completion.chunk", "choices": [{"index": 0, "message": whole, "finish_reason": "stop"}]}
    assert _calls(read([_chunk({"content": "Do"}), last])) == [("c1", "a", {})]
    del whole["tool_calls"]
    trace = read([_chunk({"tool_calls": [_F(0, "c2", "b", "{}")]}), last])
    assert trace.to_events() == [{"agent": "Done."}, {"call": "b", "args": {}, "id": "c2"}]


def test_of_several_choices_the_first_is_read() -> None:
    """Their fragments have the same indexes."""
    chunks = []
    for index in (1, 0):
        chunk = _chunk({"tool_calls": [_F(0, f"c{index}", "a", f'{{"n": {index}}}')]}, "tool_calls")
        chunk["choices"][0]["index"] = index
        chunks.append(chunk)
    assert _calls(read(chunks)) == [("c0", "a", {"n": 0})]


# ----------------------------------------------------------------------------------- several streams, and broken ones


def test_streams_and_messages_between_them() -> None:
    """A history in which every answer is a stream; its ids tell two streams apart that follow each other."""
    second = [
        {**chunk, "id": "chatcmpl-2"}
        for chunk in (_chunk({"role": "assistant", "content": "A lamp."}), _chunk(finish="stop"))
    ]
    third = [{**chunk, "id": "chatcmpl-3"} for chunk in _stream(_F(0, "c2", "b", "{}"))]
    history = [
        {"role": "user", "content": "Find a lamp."},
        *_stream(_F(0, "c1", "search", '{"q": "lamp"}')),
        {"role": "tool", "tool_call_id": "c1", "content": "lamp-0"},
        *second,
        *third,
    ]
    trace = read_everywhere(history, NAME)
    assert trace.to_events() == [
        {"user": "Find a lamp."},
        {"call": "search", "args": {"q": "lamp"}, "id": "c1"},
        {"result": "lamp-0", "id": "c1"},
        {"agent": "A lamp."},
        {"call": "b", "args": {}, "id": "c2"},
    ]
    assert trace.problems == ()


@pytest.mark.parametrize("ids", [("", ""), ("a", "b")])
def test_two_streams_without_ids(ids: tuple[str, str]) -> None:
    """The second begins where the role is said again after an end."""
    chunks = [{**chunk, "id": chunk_id} for chunk_id in ids for chunk in _stream(_F(0, None, "a", '{"n": 1}'))]
    assert [call.args for call in read(chunks).calls] == [{"n": 1}, {"n": 1}]


def test_chunks_of_one_stream_with_different_ids() -> None:
    """Some servers make a new id for each chunk; it is one stream until its end."""
    chunks = [
        {**chunk, "id": f"x{n}"} for n, chunk in enumerate(_stream(_F(0, "c1", "a", '{"n":'), _F(0, arguments="1}")))
    ]
    assert _calls(read(chunks)) == [("c1", "a", {"n": 1})]


def test_events_stand_where_they_began() -> None:
    """The place of what is wrong with a call is that of its first fragment."""
    trace = read(
        _stream(_F(0, "c1", "a", "{"), _F(0, arguments="}"), _F(1, ["c2"], "b", "{}"), _F(2, "c3", None, "{}"))
    )
    assert [problem.place for problem in trace.problems] == [
        "$[3].choices[0].delta.tool_calls[0]",
        "$[4].choices[0].delta.tool_calls[0]",
    ]


BROKEN: dict[str, tuple[list[Any], str]] = {
    "no end": (_stream(_F(0, "c1", "a", "{}"))[:-1], "the stream breaks off: a finish_reason is missing"),
    "no end of the second": ([*_stream(), _chunk({"role": "assistant"}, id="chatcmpl-2")], "the stream breaks off"),
    "an end that is no JSON": ([_chunk({"content": "x"}), '{"object": "chat.comp'], "an event is a mapping"),
    "an error": ([_chunk({"content": "x"}), {"error": {"message": "slow down"}}], "the stream failed: .*slow down"),
    "an error alone": ([_chunk(choices=[]), {"error": {"message": "slow down"}}], "the stream failed: .*slow down"),
    "an error in a choice": ([_chunk(choices=[{"delta": {}, "error": "x"}])], "the answer failed"),
    "calls that are missing": (_stream(), "finish_reason is tool_calls, and there is no call"),
    "withheld": (_stream(finish="content_filter"), "withheld"),
    "a call without a name": (_stream(_F(0, "c1", None, "{}")), "a call without a name"),
    "another call without a name": (_stream(_F(0, "c1", "a", "{}"), _F(0, "c2", None, "{}")), "a call without a name"),
    "a delta that is none": ([*_stream(), _chunk(choices=[{"delta": 5}])], "a delta is a mapping, not 5"),
    "a choice that is none": ([*_stream(), _chunk(choices=[5])], "a choice is a mapping, not 5"),
    "calls that are none": (_stream([5], finish="stop"), "a tool call is a mapping, not 5"),
    "choices that are none": ([*_stream(), _chunk(choices="x")], "a list was promised"),
    "a function that is none": ([_chunk({"function_call": "x"}), *_stream()], "a function call is a mapping, not 'x'"),
    "something else": ([*_stream(), {"kind": "x"}], "neither an event nor a message"),
}


@pytest.mark.parametrize(("chunks", "reason"), BROKEN.values(), ids=BROKEN.keys())
def test_what_is_broken_may_hide_a_call(chunks: list[Any], reason: str) -> None:
    """A problem says what is wrong, and every negative check is broken by it."""
    trace = read(chunks)
    assert any(re.search(reason, problem.reason) and problem.hides_call for problem in trace.problems), trace.problems


def test_a_cut_text_is_a_problem() -> None:
    """Bytes that end in the middle of an event: what was before is there."""
    text = server_sent(_stream(_F(0, "c1", "a", "{}")))
    trace = read(text[: text.rindex("finish_reason")])
    assert _calls(trace) == [("c1", "a", {})]
    assert [reason.split(":")[0] for reason in reasons(trace)] == [
        'an event is a mapping, not \'{"object"',
        "the stream breaks off",
    ]


# ----------------------------------------------------------------------------------------------------------- detection


@pytest.mark.parametrize(
    "document",
    [
        [{"choices": [{"delta": {"content": "x"}}]}],
        [{"object": "chat.completion.chunk", "choices": []}],
        [{"type": "chunk", "chunk": _chunk({"content": "x"}), "snapshot": {}}, {"type": "content.delta", "delta": "x"}],
        [{"data": _chunk({"content": "x"})}],
        ["cut off", _chunk({"content": "x"})],
        [
            {"role": "user", "content": "hi"},
            {"role": "tool", "tool_call_id": "c1", "content": "x"},
            _chunk({"content": "x"}),
        ],
    ],
)
def test_it_is_known(document: list[Any]) -> None:
    """By one chunk, also in what the clients of OpenAI and Mistral wrap it in."""
    assert [reader.name for reader in detected(document)] == [NAME]
    assert "x" in str(read(document).to_events()) or document[0].get("choices") == []


def test_it_needs_a_list() -> None:
    """One chunk alone is no run, unless it is said to be a stream."""
    with pytest.raises(ReadError, match="a stream of a chat completion is a list of chunks"):
        read(_chunk({"content": "x"}))
    with pytest.raises(ReadError, match="a list of chunks"):
        read(_chunk({"content": "x"}), NAME)
