"""A key that stands twice in one object is ambiguous: whatever is read from a file says so, and never picks one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tracewitness.errors import ReadError
from tracewitness.readers import decode_trace, iter_rows, iter_runs, rows
from tracewitness.readers.neutral import decode_plainly

_TWICE = {
    "call": '{"events": [{"call": "y", "call": "x"}]}',
    "call, the same": '{"events": [{"call": "x", "call": "x"}]}',
    "events": '{"events": [{"call": "y"}], "events": [{"call": "x"}]}',
    "name": '{"name": "a", "events": [{"call": "x"}], "name": "b"}',
    "error": '{"error": "boom", "events": [{"call": "x"}], "error": null}',
    "another key of the document": '{"x": 1, "events": [{"call": "x"}], "x": 2}',
    "args": '{"events": [{"call": "x", "args": {"n": 1}, "args": {}}]}',
    "in args": '{"events": [{"call": "x", "args": {"n": 1, "n": 2}}]}',
    "deep in args": '{"events": [{"call": "x", "args": {"a": [{"b": {"n": 1, "n": 2}}]}}]}',
    "in a result": '{"events": [{"call": "x"}, {"result": {"ok": false, "ok": true}}]}',
    "in metadata": '{"events": [{"call": "x", "metadata": {"n": 1, "n": 2}}]}',
    "user": '{"events": [{"user": "a", "user": "b"}, {"call": "x"}]}',
    "spelled in two ways": '{"events": [{"call": "y", "c\\u0061ll": "x"}]}',
    "with space before the colon": '{"events": [{"call" : "y", "call"\\n:"x"}]}'.replace("\\n", "\n"),
    "made up for by a colon": '{"events": [{"call": "y", "call": "x"}, {"user": "\\u003a"}]}',
    "made up for by a colon in capitals": '{"events": [{"call": "y", "call": "x"}, {"user": "\\u003A"}]}',
    "beside texts with colons": '{"events": [{"user": ":{\\"a\\": 1}"}, {"call": "y", "call": ":x:"}]}',
    "an empty key": '{"events": [{"call": "x", "args": {"": 1, "": 2}}]}',
    "detailed_trace": '{"detailed_trace": ["User: a"], "detailed_trace": ["User: b"]}',
    "in a span": '{"detailed_trace": ["User: a"], "turn_traces": [{"turn_index": 0, "turn_index": 1}]}',
    "beside a number too long": '{"events": [{"call": "x", "args": {"n": 1, "n": ' + "9" * 5000 + "}}]}",
    "beside NaN": '{"events": [{"call": "x", "args": {"n": NaN, "n": NaN}}]}',
}
_ONCE = {
    "the same key at two levels": '{"events": [{"call": "x", "args": {"call": "y", "args": {"call": 1}}}]}',
    "the same key in two events": '{"events": [{"call": "x"}, {"call": "x"}]}',
    "an escaped colon": '{"events": [{"call": "x", "args": {"\\u003a": "\\u003A"}}]}',
    "other escapes": '{"events": [{"call": "x", "args": {"n": "\\u003d\\u00e9\\\\u003a"}}]}',
    "a key that says it stands twice": '{"events": [{"call": "x", "args": {"a\\": 1, \\"a": 1}}]}',
    "other keys": '{"revision": {"of": 1}, "events": [{"call": "x"}], "by": "us"}',
}
_GOOD = '{"name": "good", "events": [{"call": "a"}]}'
_AROUND = {
    "alone": "{}",
    "in an array": "[" + _GOOD + ", {}, " + _GOOD + "]",
    "in results": '{"version": 1, "results": [' + _GOOD + ", {}, " + _GOOD + "]}",
    "in lines": f"{_GOOD}\n{{}}\n{_GOOD}\n",
    "in results in a line": f'{_GOOD}\n{{"results": [{{}}]}}\n{_GOOD}\n',
}


def _errors(path: Path) -> list[str]:
    return [run.error.problem for run in iter_runs([path]) if run.error is not None]


@pytest.mark.parametrize("text", _TWICE.values(), ids=_TWICE.keys())
@pytest.mark.parametrize("around", _AROUND.values(), ids=_AROUND.keys())
@pytest.mark.parametrize("chunk", [7, 1_000_000])
def test_a_file_with_a_key_twice_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, around: str, chunk: int
) -> None:
    """One row is an error that names the key, the same for every size and shape of file."""
    monkeypatch.setattr(rows, "_CHUNK", chunk)
    line = text.replace("\n", " ")
    path = tmp_path / "runs.json"
    path.write_text(around.replace("{}", line))
    (error,) = _errors(path)
    assert "stands twice" in error


@pytest.mark.parametrize("around", list(_AROUND.values())[1:4], ids=list(_AROUND)[1:4])
def test_the_rows_beside_it_are_read(tmp_path: Path, around: str) -> None:
    """Where its end is known, the ambiguous row alone is lost; it keeps its name and its place."""
    path = tmp_path / "runs.json"
    path.write_text(around.replace("{}", '{"name": "bad", "events": [{"call": "y", "call": "x"}]}'))
    runs = list(iter_runs([path]))
    assert [(run.name, run.error is None) for run in runs] == [("good", True), ("bad", False), ("good", True)]
    assert runs[1].place in ("row 2", "line 2")


@pytest.mark.parametrize("text", _TWICE.values(), ids=_TWICE.keys())
def test_a_key_twice_is_refused_on_request(text: str) -> None:
    """Bytes are tested where the caller asks for it."""
    with pytest.raises(ReadError, match="stands twice"):
        decode_trace(text.encode(), test_keys=True)


@pytest.mark.parametrize("text", _ONCE.values(), ids=_ONCE.keys())
def test_keys_that_stand_once_are_no_error(tmp_path: Path, text: str) -> None:
    """Nothing that only looks alike is refused, and the trace is the same, tested or not."""
    assert decode_trace(text.encode(), test_keys=True) == decode_trace(text.encode())
    path = tmp_path / "runs.json"
    path.write_text(text)
    assert _errors(path) == []


@pytest.mark.parametrize("key", ["results", "x"])
def test_a_key_of_the_whole_file_twice_is_an_error(tmp_path: Path, key: str) -> None:
    """The rows that came before are there; that the file is ambiguous is an error after them."""
    path = tmp_path / "runs.json"
    path.write_text(f'{{"x": 1, "results": [{_GOOD}], "{key}": [{_GOOD}]}}')
    first, error = iter_rows(path)
    assert (first.error, error.place) == (None, "row 2")
    assert f"the key '{key}' stands twice" in str(error.error)


_EVENTS_BESIDE = [
    ('{"events": [{"call": "a"}], "results": [ROW]}', "events and results"),
    ('{"results": [ROW], "events": [{"call": "a"}]}', "events and results"),
    ('{"events": [{"call": "a"}], "detailed_trace": []}', "events and detailed_trace"),
    ('{"detailed_trace": ["User: x"], "events": [{"call": "a"}]}', "events and detailed_trace"),
    ('{"detailed_trace": ["User: x"], "results": [ROW]}', "results and detailed_trace"),
]


@pytest.mark.parametrize(("text", "names"), _EVENTS_BESIDE)
@pytest.mark.parametrize("lines", [False, True], ids=["document", "lines"])
@pytest.mark.parametrize("padding", [0, 2_000_000])
def test_two_accounts_in_one_document_are_an_error(
    tmp_path: Path, text: str, names: str, lines: bool, padding: int
) -> None:
    """Neither half is left aside in silence, whatever the size of the file."""
    path = tmp_path / ("runs.jsonl" if lines else "runs.json")
    note = f'{{"note": "{"x" * padding}", '
    path.write_text(note + text.replace("ROW", _GOOD)[1:] + "\n")
    (error,) = _errors(path)
    assert f"both {names}" in error


# ------------------------------------------------------------------------------------------------- against a decoder

_KEYS = st.sampled_from(["call", "a", ":", '":', "é", ""])
_TEXTS = st.text(st.sampled_from('a:"\\{},é\u2028'), max_size=4)


def _written(value: Any, escape: bool) -> str:
    text = json.dumps(value, ensure_ascii=escape)
    return text.replace(":", "\\u003a") if escape and isinstance(value, str) else text


@st.composite
def _documents(draw: st.DrawFn, depth: int = 3) -> str:
    """Draw JSON whose objects may have a key twice, written in any of the ways that JSON may be written in."""
    kind = draw(st.sampled_from(["object", "object", "array", "scalar"])) if depth else "scalar"
    space, escape = draw(st.sampled_from(["", " ", "\n"])), draw(st.booleans())
    inner = _documents(depth - 1) if depth else st.nothing()
    if kind == "object":
        pairs = draw(st.lists(st.tuples(_KEYS, inner), max_size=3))
        items = [f"{_written(key, escape)}{space}:{space}{value}" for key, value in pairs]
        return "{" + f"{space},{space}".join(items) + "}"
    if kind == "array":
        return "[" + f",{space}".join(draw(st.lists(inner, max_size=3))) + "]"
    scalars = _TEXTS | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.none()
    return _written(draw(scalars), escape)


def _has_repeated_key(text: str) -> bool:
    found = []

    def note(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found.append(len(dict(pairs)) < len(pairs))
        return dict(pairs)

    json.loads(text, object_pairs_hook=note)
    return any(found)


@settings(max_examples=300)
@given(_documents())
def test_a_repeated_key_is_found_exactly_where_there_is_one(text: str) -> None:
    """The quick test of the quick decoder's work and a slow look at every pair agree."""
    if _has_repeated_key(text):
        with pytest.raises(ReadError, match="stands twice"):
            decode_plainly(text.encode())
    else:
        assert decode_plainly(text.encode()) == json.loads(text)
