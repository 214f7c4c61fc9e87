"""Streams of Gemini: chunks that are responses, calls whose arguments come piece by piece, and interactions."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from stream_support import json_lines, read_everywhere, reasons

from tracewitness.readers import read, read_all
from tracewitness.readers.registry import detected
from tracewitness.trace import MalformedArguments

NAME = "gemini-stream"


def _chunk(*parts: Any, finish: str | None = None, **more: Any) -> dict[str, Any]:
    candidate: dict[str, Any] = {"content": {"role": "model", "parts": list(parts)}}
    if finish:
        candidate["finishReason"] = finish
    return {"candidates": [candidate], "responseId": "r1", "modelVersion": "m", **more}


def _call(name: str | None = None, **fields: Any) -> dict[str, Any]:
    return {"functionCall": {"name": name, **fields} if name else fields}


def _piece(path: str, continues: bool = False, **value: Any) -> dict[str, Any]:
    return {"jsonPath": path, **value, **({"willContinue": True} if continues else {})}


def _pieces(*pieces: Any, end: bool = False) -> dict[str, Any]:
    return _call(partialArgs=list(pieces), **({} if end else {"willContinue": True}))


_END = _chunk({"text": ""}, finish="STOP")
_BEGIN = _call("search", willContinue=True)
STREAMS: dict[str, tuple[list[Any], list[Any]]] = {
    "text and whole calls": (
        [
            _chunk({"text": "hm", "thought": True}),
            _chunk({"text": "I "}),
            _chunk({"text": "look."}),
            _chunk(_call("a", args={"n": 1}), _call("a", args={"n": 2})),
            _chunk(_call("b", id="c1")),
            _END,
        ],
        [
            {"agent": "I look."},
            {"call": "a", "args": {"n": 1}},
            {"call": "a", "args": {"n": 2}},
            {"call": "b", "args": {}, "id": "c1"},
        ],
    ),
    "arguments in pieces": (
        [
            _chunk(_BEGIN),
            _chunk(_pieces(_piece("$.q", True, stringValue="la"))),
            _chunk(_pieces(_piece("$.q", stringValue="mp"), _piece("$.limit", numberValue=2))),
            _chunk(_call()),
            _chunk(finish="STOP"),
        ],
        [{"call": "search", "args": {"q": "lamp", "limit": 2}}],
    ),
    "an end without an empty call": (
        [_chunk(_BEGIN), _chunk(_pieces(_piece("$.q", stringValue="x"), end=True)), _chunk(finish="STOP")],
        [{"call": "search", "args": {"q": "x"}}],
    ),
    "all kinds of values and places": (
        [
            _chunk(_BEGIN),
            _chunk(_pieces(_piece("$.a[0].b", stringValue="x"), _piece("$.a[0].c", boolValue=False))),
            _chunk(_pieces(_piece("$.a[1].b", nullValue="NULL_VALUE"), _piece("$['d e'][\"f\"]", numberValue=0.5))),
            _chunk(_pieces(_piece("$.g[0][0]", numberValue=1), end=True), finish="STOP"),
        ],
        [{"call": "search", "args": {"a": [{"b": "x", "c": False}, {"b": None}], "d e": {"f": 0.5}, "g": [[1]]}}],
    ),
    "a call with an id, in the spelling of the SDK": (
        [
            {
                "candidates": [
                    {
                        "content": {
                            "parts": [{"function_call": {"name": "a", "id": "c1", "will_continue": True, "args": None}}]
                        }
                    }
                ],
                "response_id": "r1",
            },
            {
                "candidates": [
                    {
                        "content": {
                            "parts": [
                                {
                                    "function_call": {
                                        "partial_args": [{"json_path": "$.n", "number_value": 1.0}],
                                        "will_continue": False,
                                    }
                                }
                            ]
                        },
                        "finish_reason": "STOP",
                    }
                ],
                "response_id": "r1",
            },
        ],
        [{"call": "a", "args": {"n": 1.0}, "id": "c1"}],
    ),
    "a call right after one": (
        [
            _chunk(_BEGIN),
            _chunk(_call()),
            _chunk(_call("other", willContinue=True)),
            _chunk(_call()),
            _chunk(finish="STOP"),
        ],
        [{"call": "search", "args": {}}, {"call": "other", "args": {}}],
    ),
}


@pytest.mark.parametrize(("stream", "events"), STREAMS.values(), ids=STREAMS.keys())
def test_what_a_stream_says(stream: list[Any], events: list[Any], tmp_path: Path) -> None:
    """Parts in order; pieces of a call are that call. The server sends an array where it is not asked for events."""
    trace = read_everywhere(stream, NAME)
    assert trace.to_events() == events
    assert trace.problems == ()
    for number, text in enumerate((json.dumps(stream), json_lines(stream))):
        path = tmp_path / f"recording-{number}.txt"
        path.write_text(text)
        for source in (text, path):
            assert [other.to_events() for other in read_all(source)] == [events]


@pytest.mark.parametrize(
    "pieces",
    [
        [_piece("$.a[1]", stringValue="x")],
        [_piece("$.a[999999999]", stringValue="x")],
        [_piece("$.a", stringValue="x"), _piece("$.a.b", stringValue="x")],
        [_piece("$.a", numberValue=1), _piece("$.a", numberValue=1)],
        [_piece("$", stringValue="x")],
        [_piece("$..a", stringValue="x")],
        [_piece("$[0]", stringValue="x")],
        [_piece("$.a" * 200, stringValue="x")],
        [_piece("$" + ".a" * 200, stringValue="x")],
        [_piece("a", stringValue="x")],
        [_piece("$.a")],
        [{"stringValue": "x"}],
        [5],
    ],
)
def test_pieces_that_make_no_arguments(pieces: list[Any]) -> None:
    """They stay as they are."""
    (call,) = read([_chunk(_BEGIN), _chunk(_pieces(*pieces, end=True)), _END]).calls
    assert isinstance(call.args, MalformedArguments)
    assert call.args.raw == pieces


def test_streams_and_contents_between_them() -> None:
    """A history in which every answer is a stream; two that follow each other have different ids or an end."""
    trace = read_everywhere(
        [
            {"role": "user", "parts": [{"text": "Find it."}]},
            _chunk(_call("a", args={})),
            _END,
            {"role": "user", "parts": [{"functionResponse": {"name": "a", "response": {"r": 1}}}]},
            _chunk({"text": "Do"}, responseId="r2"),
            _chunk({"text": "ne."}, responseId="r2", finish="STOP"),
            {"usageMetadata": {"totalTokenCount": 1}, "modelVersion": "m"},
            _chunk(_call("b"), responseId="r3"),
            _chunk(responseId="r3", finish="STOP"),
        ],
        NAME,
    )
    assert [next(iter(event)) for event in trace.to_events()] == ["user", "call", "result", "agent", "call"]
    assert (trace.calls[0].result, trace.problems) == ({"r": 1}, ())


def test_a_history_of_automatic_calls() -> None:
    """It takes the place of the chunks before it, which lack what was asked and what came back; it is read once."""
    history = [
        {"role": "user", "parts": [{"text": "Find it."}]},
        {"role": "model", "parts": [_call("a", args={"n": 1})]},
        {"role": "user", "parts": [{"functionResponse": {"name": "a", "response": {"r": 1}}}]},
    ]
    after = [
        _chunk({"text": "Do"}, automaticFunctionCallingHistory=history),
        _chunk({"text": "ne."}, automaticFunctionCallingHistory=history, finish="STOP"),
    ]
    trace = read([_chunk(_call("a", args={"n": 1})), _chunk(finish="STOP"), *after])
    assert trace.to_events() == [
        {"user": "Find it."},
        {"call": "a", "args": {"n": 1}},
        {"result": {"r": 1}, "of": "a"},
        {"agent": "Done."},
    ]
    assert trace.problems == ()
    other = read([_chunk(_call("a", args={"n": 2})), _chunk(finish="STOP"), *after])
    assert [call.args for call in other.calls] == [{"n": 2}, {"n": 1}]
    assert "history of automatic calls" in other.problems[0].reason


def _bare(*parts: Any, finish: str | None = None) -> dict[str, Any]:
    """Return a chunk with nothing but its candidate."""
    candidate = {"content": {"role": "model", "parts": list(parts)}, **({"finishReason": finish} if finish else {})}
    return {"candidates": [candidate]}


@pytest.mark.parametrize(
    ("stream", "events"),
    [
        (
            [_bare({"text": "I have sub"}), _bare({"text": "mitted it."}, finish="STOP")],
            [{"agent": "I have submitted it."}],
        ),
        ([_bare({"text": "a"}), _bare({"text": "b"}), _bare({"text": "c"}, finish="STOP")], [{"agent": "abc"}]),
        ([_bare({"text": "a"}), _bare(_call("f")), _bare(finish="STOP")], [{"agent": "a"}, {"call": "f", "args": {}}]),
        (
            [_bare({"text": "a"}), _bare({"text": "b"}, finish="STOP"), _bare({"text": "c"}, finish="STOP")],
            [{"agent": "ab"}, {"agent": "c"}],
        ),
        (
            [
                _bare({"text": "a"}),
                {**_bare(finish="STOP"), "usageMetadata": {}},
                {"role": "user", "parts": [{"text": "u"}]},
            ],
            [{"agent": "a"}, {"user": "u"}],
        ),
    ],
)
def test_chunks_without_an_id(stream: list[Any], events: list[Any]) -> None:
    """A response that doesn't say how it ends, before another one, is the middle of a stream."""
    trace = read_everywhere(stream, NAME)
    assert trace.to_events() == events
    assert trace.problems == ()
    snake = json.loads(
        json.dumps(stream).replace("finishReason", "finish_reason").replace("functionCall", "function_call")
    )
    for chunk in snake:  # as the SDK dumps its objects
        chunk.setdefault("response_id", None)
        for candidate in chunk.get("candidates", ()):
            candidate.setdefault("finish_reason", None)
    assert read(snake).to_events() == events


def test_chunks_without_an_id_and_without_an_end() -> None:
    """They break off."""
    assert "breaks off" in str(reasons(read([_bare({"text": "a"}), _bare({"text": "b"})])))


def test_text_beside_a_call_in_one_part() -> None:
    """Neither is lost."""
    begin = {**_BEGIN, "text": "I look."}
    for part in (begin, {**_call("search"), "text": "I look."}):
        trace = read([_chunk(part), _chunk(_call()) if part is begin else _chunk({"text": ""}), _END])
        assert trace.to_events() == [{"agent": "I look."}, {"call": "search", "args": {}}]
        assert trace.problems == ()


@pytest.mark.parametrize(
    ("stream", "reason"),
    [
        ([_chunk(_call("a")), _chunk({"text": "x"})], "the stream breaks off: a finishReason is missing"),
        ([_chunk({"text": "x"}), _chunk({"text": "x"}, responseId="r2", finish="STOP")], "the stream breaks off"),
        ([_chunk(_BEGIN), _END], "a call to 'search' that is not complete"),
        ([_chunk(_BEGIN), _chunk(_call("b")), _END], "a call to 'search' that is not complete"),
        ([_chunk(_call()), _END], "a call without a name"),
        ([_chunk(finish=None), _chunk(finish="MALFORMED_FUNCTION_CALL")], "finishReason 'MALFORMED_FUNCTION_CALL'"),
        ([_chunk({"text": "x"}), {"promptFeedback": {"blockReason": "SAFETY"}}, _END], "the request was blocked"),
        ([_chunk({"text": "x"}), {"candidates": [5]}, _END], "a candidate is a mapping"),
        ([_chunk({"text": "x"}), {"candidates": [{"content": 5}]}, _END], "a content is a mapping"),
        ([_chunk({"text": "x"}), {"kind": "x"}, _END], "neither an event nor a message"),
        ([_chunk({"text": "x"}), "{", _END], "an event is a mapping"),
    ],
)
def test_what_is_broken_may_hide_a_call(stream: list[Any], reason: str) -> None:
    """A problem says what is wrong."""
    trace = read(stream)
    assert any(re.search(reason, problem.reason) and problem.hides_call for problem in trace.problems)


def test_a_blocked_stream_has_an_end() -> None:
    """It has no candidate, and says why."""
    blocked = {"promptFeedback": {"blockReason": "SAFETY"}, "responseId": "r1"}
    assert "breaks off" not in str(reasons(read([blocked, {"usageMetadata": {}, "modelVersion": "m"}], NAME)))


@pytest.mark.parametrize(
    "document",
    [
        [_chunk({"text": "a"}, finish="STOP"), _chunk({"text": "b"}, responseId="r2", finish="STOP")],
        [
            {"candidates": [{"content": {"parts": [{"text": "x"}]}}]},
            {"role": "user", "parts": [{"text": "x"}]},
            {"candidates": [{"content": {"parts": [{"text": "x"}]}}]},
        ],
        [
            {"contents": [], "candidates": [{"content": {"parts": [{"text": "x"}]}}]},
            {"contents": [], "candidates": [{"content": {"parts": [{"text": "x"}]}}]},
        ],
        [{"candidates": [{"content": {"parts": [{"text": "x"}]}}]}],
        [{"role": "user", "parts": [{"text": "x"}]}],
        _chunk({"text": "x"}),
    ],
)
def test_whole_responses_are_no_stream(document: Any) -> None:
    """Responses that say how they end, and what nobody served, are read one by one."""
    assert [reader.name for reader in detected(document)] == ["gemini"]


# -------------------------------------------------------------------------------------------------------- interactions

INTERACTIONS = "gemini-interactions-stream"


def _event(kind: str, **fields: Any) -> dict[str, Any]:
    return {"event_type": kind, **fields}


def _start(index: int, kind: str, **fields: Any) -> dict[str, Any]:
    return _event("step.start", index=index, step={"type": kind, **fields})


def _delta(index: int, kind: str, **fields: Any) -> dict[str, Any]:
    return _event("step.delta", index=index, delta={"type": kind, **fields})


_CREATED = _event("interaction.created", interaction={"id": "i1", "object": "interaction", "status": "in_progress"})
_COMPLETED = _event("interaction.completed", interaction={"id": "i1", "object": "interaction", "status": "completed"})


def test_an_interaction() -> None:
    """Thoughts, words, calls whose arguments come in fragments, and a tool of the provider."""
    trace = read_everywhere(
        [
            _CREATED,
            _event("interaction.status_update", status="in_progress"),
            _start(0, "thought"),
            _delta(0, "thought_signature", signature="x"),
            _event("step.stop", index=0),
            _start(1, "model_output"),
            _delta(1, "text", text="I "),
            _delta(1, "text", text="look."),
            _start(2, "function_call", id="c1", name="search", arguments={}),
            _start(3, "function_call", id="c2", name="search", arguments={"n": 2}),
            _delta(2, "arguments_delta", arguments='{"n":'),
            _delta(2, "arguments_delta", arguments=" 1}"),
            _start(4, "google_search_call", id="g1"),
            _delta(4, "google_search_call", arguments={"queries": ["x"]}),
            _start(5, "google_search_result", call_id="g1"),
            _delta(5, "google_search_result", result=[{"title": "x"}], is_error=False),
            _COMPLETED,
        ],
        INTERACTIONS,
    )
    assert trace.to_events() == [
        {"agent": "I look."},
        {"call": "search", "args": {"n": 1}, "id": "c1"},
        {"call": "search", "args": {"n": 2}, "id": "c2"},
        {"call": "google_search", "args": {"queries": ["x"]}, "id": "g1"},
        {"result": [{"title": "x"}], "id": "g1", "is_error": False},
    ]
    assert trace.problems == ()


def test_contents_as_they_were_before_steps() -> None:
    """Older clients write a whole call in a delta."""
    call = {"type": "function_call", "id": "c1", "name": "search", "arguments": {"n": 1}}
    stream = [
        _event("interaction.start", interaction={"id": "i1", "status": "in_progress"}),
        _event("content.start", index=0, content={"type": "text"}),
        _event("content.delta", index=0, delta={"type": "text", "text": "Hi."}),
        _event("content.delta", index=1, delta=call),
        _event("interaction.complete", interaction={"id": "i1", "status": "requires_action"}),
        {"type": "function_result", "call_id": "c1", "name": "search", "result": "x", "is_error": True},
        _CREATED,
        _COMPLETED,
    ]
    trace = read_everywhere(stream, INTERACTIONS)
    assert trace.to_events()[:3] == [
        {"agent": "Hi."},
        {"call": "search", "args": {"n": 1}, "id": "c1"},
        {"result": "x", "of": "search", "id": "c1", "is_error": True},
    ]
    assert trace.problems == ()


def test_an_interaction_that_has_its_steps_at_its_end() -> None:
    """They decide."""
    step = {"type": "function_call", "id": "c1", "name": "search", "arguments": {"n": 1}}
    end = _event("interaction.completed", interaction={"object": "interaction", "status": "completed", "steps": [step]})
    trace = read_everywhere(
        [_CREATED, _start(0, "function_call", id="c1", name="search", arguments={}), end], INTERACTIONS
    )
    assert [call.args for call in trace.calls] == [{"n": 1}]


@pytest.mark.parametrize(
    ("stream", "reason"),
    [
        ([_CREATED, _start(0, "function_call", id="c1", name="a")], "the stream breaks off"),
        ([_CREATED, _CREATED, _COMPLETED], "the stream breaks off"),
        ([_CREATED, _event("error", error={"message": "slow"})], "the stream failed: .*slow"),
        ([_CREATED, _event("interaction.completed", interaction={"status": "failed"})], "the interaction is failed"),
        ([_CREATED, _start(0, "new_step"), _COMPLETED], "an unknown step of type 'new_step'"),
        ([_CREATED, _event("step.start", index=0), _COMPLETED], "an event of a step that has none"),
        ([_CREATED, _event("new.event"), _COMPLETED], "neither an event nor a message"),
    ],
)
def test_a_broken_interaction_may_hide_a_call(stream: list[Any], reason: str) -> None:
    """A problem says what is wrong."""
    trace = read(stream)
    assert any(re.search(reason, problem.reason) and problem.hides_call for problem in trace.problems)
