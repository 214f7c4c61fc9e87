"""Files of usual histories are read at once, and say the same as those that are not."""

from __future__ import annotations

import gzip
import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from quick_support import USUAL_ANTHROPIC, USUAL_CHAT, USUAL_TAU2, told

from tracewitness.errors import ReadError
from tracewitness.readers import Run, iter_rows, iter_runs, read, read_all
from tracewitness.readers.quick import decode_quickly
from tracewitness.readers.records import RecordReader
from tracewitness.readers.registry import reader_named, trace_of
from tracewitness.trace import Trace

_DOCUMENTS: dict[str, Any] = {
    "openai-chat": USUAL_CHAT,
    "anthropic-messages": USUAL_ANTHROPIC,
    "tau2-bench": USUAL_TAU2,
}
_ALL = list(_DOCUMENTS.values())


def _line(document: Any) -> bytes:
    return json.dumps(document).encode() + b"\n"


def _assert_same(run: Run, document: Any, source: Path, number: int, place: str) -> None:
    """Compare a run with what the reader of its format makes of the document."""
    trace = trace_of(document, "runs")
    assert run.trace is not None
    assert (told(run.trace), run.trace.problems) == (told(trace), trace.problems)
    assert (run.source, run.number, run.place, run.name) == (str(source), number, place, trace.name)
    assert (run.data, run.error) == (document, None)


@pytest.mark.parametrize("name", _DOCUMENTS)
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
@pytest.mark.parametrize("is_named", [False, True])
def test_lines_and_documents_alone(tmp_path: Path, name: str, pack: Callable[[bytes], bytes], is_named: bool) -> None:
    """With blank lines between them, packed or not, whether the format is named or not."""
    document, line = _DOCUMENTS[name], _line(_DOCUMENTS[name])
    reader = reader_named(name) if is_named else None
    assert decode_quickly(line) is not None
    lines, alone = tmp_path / "runs.jsonl", tmp_path / "runs.json"
    lines.write_bytes(pack(line + b"\n" + line))
    alone.write_bytes(pack(line))
    runs = list(iter_runs([lines], reader))
    assert len(runs) == 2
    _assert_same(runs[0], document, lines, 1, "line 1")
    _assert_same(runs[1], document, lines, 2, "line 3")
    [run] = iter_runs([alone], reader)
    _assert_same(run, document, alone, 1, "row 1")
    assert read(alone) == read_all_of(alone)[0] == run.trace


def read_all_of(path: Path) -> list[Trace]:
    """Read every run of a file."""
    return list(read_all(path))


def test_what_is_odd_stands_between_what_is_usual(tmp_path: Path) -> None:
    """It is read by the reader of its format, or is an error at its own place."""
    odd = [{"role": "user", "content": [{"type": "text", "text": "hi"}]}]
    twice = b'[{"role": "user", "content": "hi", "content": "bye"}]\n'
    path = tmp_path / "runs.jsonl"
    path.write_bytes(_line(USUAL_CHAT) + _line(odd) + twice + b'[{"role": \n' + _line(USUAL_TAU2))
    runs = list(iter_runs([path]))
    assert [run.place for run in runs] == [f"line {number}" for number in range(1, 6)]
    _assert_same(runs[1], odd, path, 2, "line 2")
    assert "stands twice" in str(runs[2].error)
    assert "not JSON" in str(runs[3].error)
    _assert_same(runs[4], USUAL_TAU2, path, 5, "line 5")


def test_a_format_that_is_named_is_the_only_one(tmp_path: Path) -> None:
    """What is in another is not read as if it were in the one that is named."""
    path = tmp_path / "runs.jsonl"
    path.write_bytes(_line(USUAL_TAU2) * 2)
    reader = reader_named("anthropic-messages")
    expected = told(trace_of(USUAL_TAU2, "runs", reader))
    assert [told(run.trace) for run in iter_runs([path], reader) if run.trace] == [expected, expected]
    assert decode_quickly(_line(USUAL_TAU2), "openai-chat") is None
    assert decode_quickly(_line(USUAL_CHAT), "anthropic-messages") is None


def test_rows_and_runs_can_be_sent_elsewhere(tmp_path: Path) -> None:
    """Their data, too."""
    path = tmp_path / "runs.jsonl"
    path.write_bytes(_line(USUAL_CHAT) * 2)
    row = next(iter_rows(path))
    assert (row.number, row.place, row.data, row.error) == (1, "line 1", USUAL_CHAT, None)
    assert [told(trace) for trace in row.traces()] == [told(trace_of(USUAL_CHAT))]
    for sent in (row, next(iter_runs([path]))):
        again = pickle.loads(pickle.dumps(sent))  # noqa: S301 - our own
        assert again == sent
        assert again.data == USUAL_CHAT


def test_records_are_named_as_rows_are() -> None:
    """A run that has no name of its own gets the record's."""
    [trace] = RecordReader().traces(_line(USUAL_CHAT), "record-7")
    assert trace.name == "record-7"
    [trace] = RecordReader("tau2-bench").traces(_line(USUAL_TAU2), "record-7")
    assert trace.name == USUAL_TAU2["task_id"]


def test_a_log_stays_a_log_whatever_stands_on_its_first_line(tmp_path: Path) -> None:
    """The lines that follow a usual history decide with it, as they do where all is read before."""
    event = {"type": "user", "message": {"role": "user", "content": "hi"}, "uuid": "u1", "sessionId": "s1"}
    path = tmp_path / "log.jsonl"
    for first in _ALL:
        data = _line(first) + _line(event) + _line({**event, "uuid": "u2"})
        path.write_bytes(data)
        assert _outcomes(lambda: read_all(path)) == _outcomes(lambda: read_all(data))  # noqa: B023 - called at once


@pytest.mark.parametrize("line", [b'{"name": "\xff", "events": []}', b'"\\ud800"', b"\xff", b'"\\udcff"'])
def test_lines_from_memory_are_no_better_than_those_of_files(tmp_path: Path, line: bytes) -> None:
    """Bytes that are no UTF-8 are not replaced by others in silence."""
    data = _line(USUAL_CHAT) + line + b"\n"
    path = tmp_path / "runs.jsonl"
    path.write_bytes(data)
    for source in (data, path):
        traces = read_all(source)
        assert len(next(traces)) == len(trace_of(USUAL_CHAT))
        with pytest.raises(ReadError, match="line 2"):
            next(traces)


def _outcomes(read_them: Callable[[], Any]) -> list[Any]:
    found: list[Any] = []
    try:
        found.extend((told(trace), trace.problems) for trace in read_them())
    except ReadError:
        found.append(ReadError)  # its words are others where it has lines to name
    return found


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.sampled_from(_ALL), min_size=2, max_size=4), st.data())
def test_mutated_lines_are_read_as_they_are_from_memory(
    tmp_path: Path, documents: list[Any], data: st.DataObject
) -> None:
    """There every line is decoded to plain data first; the first line is left as it is, since it says what they are."""
    lines = bytearray(b"".join(map(_line, documents)))
    for _ in range(data.draw(st.integers(0, 3))):
        begin = data.draw(st.integers(len(_line(documents[0])), len(lines) - 1))
        lines[begin : begin + data.draw(st.integers(0, 12))] = data.draw(
            st.sampled_from([b"", b'"', b"null", b"\n", b" ", b'"content": "x", ', b"\\u003a", b"\xff", b"{}", b"1e5"])
        )
    path = tmp_path / "runs.jsonl"
    path.write_bytes(lines)
    assert _outcomes(lambda: read_all(path)) == _outcomes(lambda: read_all(bytes(lines)))
