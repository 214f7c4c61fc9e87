"""Records of few fields, whose results stay JSON, make the same traces as all others."""

from __future__ import annotations

import json
import pickle
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Raw

from tracewitness.readers import decode_trace
from tracewitness.trace import FrequentRecord, MalformedResult, Record, ToolResult, Trace

_IDS = st.sampled_from(["c1", "c2", 0, 1, "", None])
_CALLS = st.fixed_dictionaries(
    {"call": st.sampled_from(["order", "projects/p/tools/order"])},
    optional={"args": st.sampled_from([{}, {"n": 1}, None, "", 3, "x"]), "id": _IDS},
)
_RESULTS = st.fixed_dictionaries(
    {"result": st.sampled_from([None, "", "x", {"n": [1]}, [{}]])},
    optional={"id": _IDS, "of": st.sampled_from(["order", "", None]), "is_error": st.sampled_from([True, False, None])},
)
_MESSAGES = st.sampled_from([{"user": "hi"}, {"agent": "well"}, {"system": "you are"}, {"user": "", "id": "c1"}])
_ODD = st.dictionaries(
    st.sampled_from(["call", "user", "agent", "system", "of", "id"]), st.just("order"), max_size=4
) | st.sampled_from([{"result": 1, "args": {}}, {"user": "hi", "args": {}}, {"call": "order", "is_error": True}])
_RARE = st.sampled_from(
    [
        {"end": True},
        {"transfer": "x"},
        {"call": "order", "raw_args": "{"},
        {"raw_result": "{"},
        {"agent": "x", "by": "y"},
    ]
)
_FREQUENT = _CALLS | _RESULTS | _MESSAGES | _ODD


def told(trace: Trace) -> tuple[Any, ...]:
    """Return what a trace says of itself."""
    calls = [(call.position, call.answer and call.answer.position, call.id, call.is_error) for call in trace.calls]
    shown = [repr(event).replace("_UndecodedRecord", "Record") for event in trace.events]
    return trace.to_events(), shown, list(map(str, trace.problems)), calls, trace.index.turn_starts


@settings(deadline=None)
@given(st.lists(_FREQUENT, min_size=1) | st.lists(_FREQUENT | _RARE, min_size=1))
def test_decoded_traces_are_those_of_plain_data(events: list[dict[str, Any]]) -> None:
    """However few fields the records have, calls, pairs, turns and problems are the same."""
    decoded = decode_trace(json.dumps({"events": events}).encode())
    assert told(decoded) == told(Trace.from_events(events))
    assert told(pickle.loads(pickle.dumps(decoded))) == told(decoded)  # noqa: S301 - our own


@settings(deadline=None)
@given(st.lists(st.tuples(_FREQUENT, st.booleans()), min_size=1))
def test_both_kinds_of_records_in_one_trace(events: list[tuple[dict[str, Any], bool]]) -> None:
    """A trace may have records of both kinds, in any order."""
    records: list[Any] = []
    for event, is_frequent in events:
        trace = decode_trace(json.dumps({"events": [event]}).encode()) if is_frequent else Trace.from_events([event])
        records += trace._records
    assert told(Trace(records)) == told(Trace.from_events([event for event, _ in events]))


@pytest.mark.parametrize(
    ("events", "kind"),
    [
        ([{"user": "hi"}, {"call": "a", "args": {}}], FrequentRecord),
        ([{"user": "hi"}, {"transfer": "b"}, {"user": "there"}], Record),
        ([{"user": "hi"}, {"end": True}], Record),
        ([{"user": 'the word "end"'}], FrequentRecord),
    ],
)
def test_which_records_are_made(events: list[dict[str, Any]], kind: type) -> None:
    """One event with another field is enough for records with all fields."""
    trace = decode_trace(json.dumps({"events": events}).encode())
    assert all(isinstance(record, kind) for record in trace._records)
    assert all(isinstance(record, Record) for record in trace.records)
    assert [record.to_event() for record in trace.records] == events
    assert [event.record for event in trace.events] == list(trace.records)  # type: ignore[union-attr]
    assert told(Trace.from_events(trace.records)) == told(trace)


RESULTS = {
    "text": b'"\\u00e9 {{{"',
    "mapping": b'{"a": [1, 2.5e400]}',
    "deep": b"[" * 150 + b"]" * 150,
    "too deep": b"[" * 5000 + b"]" * 5000,
    "a long number": b"9" * 4000,
    "too long a number": b"9" * 5000,
    "a large list": b"[" + b"1, " * 5000 + b"1]",
    "half of a pair": b'{"a": "\\ud800"}',
}


@pytest.mark.parametrize("name", RESULTS)
def test_what_is_malformed_is_known_without_decoding(name: str) -> None:
    """Whether a result is malformed is the same, whether its payload was asked for or not."""
    asked, unasked = (_result(RESULTS[name]) for _ in range(2))
    malformed = isinstance(asked.payload, MalformedResult)
    assert asked.is_malformed is unasked.is_malformed is malformed
    assert malformed is name.startswith("too")


def _result(raw: bytes) -> ToolResult:
    (_, result) = Trace([FrequentRecord(call="a", args={}), FrequentRecord(result=Raw(raw))]).events
    assert isinstance(result, ToolResult)
    return result
