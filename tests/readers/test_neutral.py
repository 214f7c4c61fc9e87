"""Neutral JSON: the quick way and the lenient one make the same trace, and what is no JSON is an error."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tracewitness.errors import ReadError
from tracewitness.readers import decode_trace, read_neutral
from tracewitness.trace import MalformedResult, ToolCall, Unreadable

_EVENTS: list[dict[str, Any]] = [
    {"user": "Order ITEM-42, please"},
    {"call": "create_order", "args": {"item_id": "ITEM-42"}, "id": "c1", "at": 1.5, "metadata": {"x": 1}},
    {"result": {"status": "confirmed"}, "of": "create_order", "id": "c1"},
    {"agent": "Done."},
    {"transfer": "billing"},
    {"end": True},
]


def test_decodes_a_document() -> None:
    """Name and events are read; other keys at the top are left aside."""
    document = {"name": "order-1", "events": _EVENTS, "recorded_by": "us", "version": 3}
    trace = decode_trace(json.dumps(document).encode())
    assert (trace.name, trace.to_events(), trace.problems) == ("order-1", _EVENTS, ())


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_decodes_a_bare_list(mark: bytes) -> None:
    """The list of events may stand alone, with or without a byte order mark."""
    assert decode_trace(mark + json.dumps(_EVENTS).encode()).to_events() == _EVENTS


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("NaN", "nan"),
        ("-Infinity", "-inf"),
        ("1e400", "inf"),
        ("18446744073709551616", "18446744073709551616"),
        ("9" * 400, "9" * 400),
        (r'"\ud83d"', r"'\ud83d'"),
        (r'"\ud83d\ude00"', "'😀'"),
    ],
)
def test_decodes_what_strict_json_lacks(text: str, value: str) -> None:
    """Numbers and texts that only some decoders take are read as Python reads them, in calls and in results."""
    data = f'{{"events": [{{"call": "a", "args": {{"x": {text}}}}}, {{"result": {{"x": {text}}}, "of": "a"}}]}}'
    trace = decode_trace(data.encode())
    assert repr(trace.calls[0].args) == f"{{'x': {value}}}"
    assert repr(trace.calls[0].result) == f"{{'x': {value}}}"
    assert trace.problems == ()


def test_a_result_that_cannot_be_decoded_later_is_malformed() -> None:
    """A payload is decoded when it is first looked at; what then can't be read answers its call still."""
    data = b'{"events": [{"call": "a"}, {"result": ' + b"9" * 5000 + b', "of": "a"}]}'
    assert isinstance(decode_trace(data).calls[0].result, MalformedResult)


def test_a_deep_result_may_be_looked_at_deep_in_a_stack() -> None:
    """How deep a decoder goes depends on how deep the caller is; that raises nothing."""

    def looked_at(depth: int) -> Any:
        return looked_at(depth - 1) if depth else trace.calls[0].result

    deep = b"[" * 900 + b"]" * 900
    trace = decode_trace(b'{"events": [{"call": "a"}, {"result": ' + deep + b', "of": "a"}]}')
    assert isinstance(looked_at(300), (MalformedResult, list))


def test_an_odd_event_is_a_problem_of_its_own() -> None:
    """The events beside it are read, and it keeps its position."""
    events = [{"call": "a"}, {"cal": "b"}, 5, {"call": "c", "args": [1]}]
    trace = decode_trace(json.dumps({"events": events}).encode())
    assert [type(event) for event in trace.events] == [ToolCall, Unreadable, Unreadable, ToolCall]
    assert [problem.position for problem in trace.problems] == [1, 2, 3]


@pytest.mark.parametrize(
    ("document", "reason"), [({"events": []}, "empty"), ({"events": _EVENTS, "error": "boom"}, "boom")]
)
def test_an_empty_or_failed_run_is_no_evidence(document: dict[str, Any], reason: str) -> None:
    """Decoded quickly or read from plain data, it proves nothing."""
    for trace in (decode_trace(json.dumps(document).encode()), read_neutral(document)):
        assert reason in (trace.no_evidence or "")


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "not JSON"),
        (b'{"events": [', "not JSON"),
        (b'{"events": []} x', "not JSON"),
        (b'{"events": [{"call": "\xff"}]}', "not UTF-8"),
        (b'{"events": [{"call": "a"}, {"result": "\xff"}]}', "not UTF-8"),
        (b'{"events": [{"call": "a"}, {"result": [{}}]}', "not JSON"),
        (b'{"events": [{"call": "a"}, {"result": tru}]}', "not JSON"),
        ('{"events": []}'.encode("utf-16"), "not UTF-8"),
        (b'{"events": [' + b"[" * 100_000, "nested too deeply"),
        (b'{"events": [{"result": ' + b"[" * 100_000 + b"]" * 100_000 + b"}]}", "nested too deeply"),
        (b'{"events": [{"call": "a", "args": {"x": ' + b"9" * 5000 + b"}}]}", "number"),
        (b"5", "mapping with events"),
        (b'{"event": []}', "key events"),
        (b'{"events": {}}', "list of mappings"),
        (b'{"events": null}', "list of mappings"),
    ],
)
def test_what_is_no_trace_is_an_error(data: bytes, reason: str) -> None:
    """The error says what was wrong, and nothing else is raised."""
    with pytest.raises(ReadError, match=reason):
        decode_trace(data)


def test_the_documents_name_goes_before_the_fallback() -> None:
    """A caller's name stands in only where the document has none, or one that is no text."""
    assert read_neutral({"name": "own", "events": _EVENTS}, name="file").name == "own"
    assert read_neutral({"name": "", "events": _EVENTS}, name="file").name == "file"
    assert read_neutral({"name": 7, "events": _EVENTS}, name="file").name == "file"
    assert read_neutral(_EVENTS, name="file").name == "file"


_ANY_EVENT = st.fixed_dictionaries(
    {},
    optional={
        "call": st.text() | st.none(),
        "result": st.integers() | st.text(),
        "user": st.text(),
        "agent": st.text() | st.integers(),
        "args": st.dictionaries(st.text(), st.integers()) | st.text() | st.none(),
        "id": st.text() | st.integers() | st.floats(allow_nan=False) | st.none(),
        "of": st.text(),
        "other": st.none(),
    },
)


@settings(deadline=None)
@given(st.lists(_ANY_EVENT, min_size=1))
def test_both_ways_make_the_same_trace(events: list[dict[str, Any]]) -> None:
    """However odd the events are, decoding bytes and reading plain data find the same calls and problems."""
    quick = decode_trace(json.dumps({"events": events}).encode())
    plain = read_neutral({"events": json.loads(json.dumps(events))})
    assert quick == plain
    assert [str(problem) for problem in quick.problems] == [str(problem) for problem in plain.problems]
    assert [repr(event) for event in quick.events] == [repr(event) for event in plain.events]
