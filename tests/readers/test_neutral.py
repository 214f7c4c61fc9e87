"""Neutral JSON: the quick way and the lenient one make the same trace, and what is no JSON is an error."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tracewitness.errors import ReadError
from tracewitness.readers import decode_trace, read, read_neutral, trace_of
from tracewitness.trace import MalformedArguments, MalformedResult, ToolCall, Unreadable

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
    document = {"name": "order-1", "events": _EVENTS, "recorded_by": "us", "version": 1}
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


_LONG = "9" * 5000
_TOO_LONG = {
    "alone": _LONG,
    "negative": "-" + _LONG,
    "in a mapping": '{"a": {"b": ' + _LONG + "}}",
    "in a list": '[1, "x", ' + _LONG + "]",
    "longer by one digit": "1" + "0" * 4300,
    "the longest of all": "7" * 100_000,
}


@pytest.mark.parametrize("number", _TOO_LONG.values(), ids=_TOO_LONG.keys())
@pytest.mark.parametrize("shift", [0, 1, 429, 430, 431])
def test_a_result_with_a_number_too_long_is_a_problem(number: str, shift: int) -> None:
    """It answers its call, can't be read, and is listed: also where nobody looks at the payload."""
    agent = json.dumps({"agent": "x" * shift})
    data = f'{{"events": [{agent}, {{"call": "a"}}, {{"result": {number}, "of": "a"}}]}}'.encode()
    trace = decode_trace(data)
    (problem,) = trace.problems
    assert (problem.position, "undecodable result" in problem.reason, problem.hides_call) == (2, True, False)
    result = trace.calls[0].result
    assert isinstance(result, MalformedResult)
    assert result.raw == number.replace(" ", "")


def test_arguments_with_a_number_too_long_are_malformed() -> None:
    """The call is there, and what it was called with can't be read."""
    data = f'[{{"call": "a", "args": {{"x": {_LONG}}}}}, {{"result": 1, "of": "a"}}]'.encode()
    trace = decode_trace(data)
    assert [type(call.args) for call in trace.calls] == [MalformedArguments]
    assert [problem.hides_call for problem in trace.problems] == [False]


@pytest.mark.parametrize("text", ["9" * 4300, "9" * 5000 + ".5", '"' + "9" * 5000 + '"', "0." + "9" * 5000])
def test_other_long_runs_of_digits_are_read(text: str) -> None:
    """A number that Python converts, a fraction and a text are no problem."""
    data = f'{{"events": [{{"call": "a"}}, {{"result": {text}, "of": "a"}}]}}'.encode()
    trace = decode_trace(data)
    assert (trace.problems, trace.calls[0].result) == ((), json.loads(text))


@pytest.mark.parametrize(
    "text",
    [
        f'{{"events": [], "name": {_LONG}}}',
        f'[{{"call": "a", "id": {_LONG}}}]',
        f'[{{"call": "a", "args": {{"x": {_LONG}}}, "raw_args": "y"}}]',
        f'[{{"call": "a", "args": {{"x": {_LONG}}}, "y": 1}}]',
    ],
)
def test_a_number_too_long_elsewhere_is_an_error(text: str) -> None:
    """Where an event or a document needs it, there is nothing to keep it as."""
    with pytest.raises(ReadError, match="more than 4300 digits"):
        decode_trace(text.encode())


def test_half_a_character_beside_a_number_too_long_is_an_error() -> None:
    """Such a payload can't be written as text again."""
    with pytest.raises(ReadError, match="4300 digits"):
        decode_trace(f'[{{"result": ["\\ud800", {_LONG}]}}]'.encode())


_CONFLICTS = [
    {"events": _EVENTS, "results": []},
    {"events": _EVENTS, "results": None},
    {"results": [{"detailed_trace": []}], "events": _EVENTS},
    {"events": [], "detailed_trace": []},
    {"detailed_trace": ["User: x"], "events": _EVENTS},
]


@pytest.mark.parametrize("document", _CONFLICTS)
def test_two_accounts_of_one_run_are_an_error(document: dict[str, Any]) -> None:
    """Neither of them is left aside in silence: decoded quickly, from plain data, or as a row."""
    other = next(key for key in ("results", "detailed_trace") if key in document)
    with pytest.raises(ReadError, match=f"both events and {other}"):
        decode_trace(json.dumps(document).encode())
    for reading in (read_neutral, trace_of):
        with pytest.raises(ReadError, match=f"both events and {other}"):
            reading(document)


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
        (b'{"events": [], "x": ' + b"9" * 5000 + b"}", "number"),
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


# --------------------------------------------------------------------------------------------- problems written with it

_GOOD = {"reason": "an unknown role", "position": None, "place": "$[3]", "hides_call": True}
_WRITTEN = [
    [],
    None,
    [_GOOD],
    [{"reason": "x"}],
    [_GOOD, {**_GOOD, "hides_call": False, "position": 0}],
    [{**_GOOD, "position": 1}],
    [{**_GOOD, "position": 9}],
    [{**_GOOD, "position": -1}],
    [{**_GOOD, "hides_call": "no"}],
    [{"place": "x"}],
    [5],
    5,
    {},
    "x",
    {"reason": "x"},
]


@pytest.mark.parametrize("written", _WRITTEN, ids=str)
def test_problems_that_were_written_are_problems(written: Any) -> None:
    """Whichever way the document is decoded; one that can't be read may hide anything."""
    document = {"events": [{"user": "hi"}, {"call": "a"}], "problems": written}
    told = [
        read_neutral(document),
        read(document),
        read(json.dumps(document)),
        decode_trace(json.dumps(document).encode()),
    ]
    expected = [] if written is None else written if isinstance(written, list) else [written]
    for trace in told:
        assert len(trace.problems) == len(expected)
        for problem, item in zip(trace.problems, expected, strict=True):
            if isinstance(item, dict) and item.get("hides_call") != "no":
                assert item.get("reason", "") in problem.reason
            assert problem.hides_call or item["hides_call"] is False
    assert len({str(trace.problems) for trace in told}) == 1


def test_problems_of_events_are_not_doubled() -> None:
    """They are found again; where they stood is kept."""
    found = read([{"user": "hi"}, {"cal": 1}]).problems[0]
    written = {"reason": found.reason, "position": 1, "place": "$.x[7]", "hides_call": found.hides_call}
    trace = read_neutral({"events": [{"user": "hi"}, {"cal": 1}], "problems": [written]})
    assert [(problem.reason, problem.place) for problem in trace.problems] == [(found.reason, "$.x[7]")]
