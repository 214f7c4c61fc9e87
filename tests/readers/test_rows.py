"""Result files in every shape, streamed: what can be read is yielded, and what can't says why and where."""

from __future__ import annotations

import gzip
import json
import os
import threading
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tracewitness.errors import ReadError
from tracewitness.readers import Row, iter_rows, iter_runs, read_all, rows, trace_of

_TRACE: dict[str, Any] = {"name": "neutral", "events": [{"user": "hi"}, {"call": "a", "args": {"n": 1}}]}
_RESULT: dict[str, Any] = {"name": "simulated", "passed": True, "detailed_trace": ["Tool Call: b with args {}"]}
_FAILED: dict[str, Any] = {"name": "failed", "run": 1, "passed": False, "error": "timed out"}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Return the path of a file that is yet to be written."""
    return tmp_path / "runs.json"


def _write(path: Path, text: str | bytes) -> Path:
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def _calls(path: Path) -> list[list[str]]:
    return [[call.name for call in next(row.traces()).calls] for row in iter_rows(path)]


def _lines(*documents: Any) -> str:
    return "".join(json.dumps(document) + "\n" for document in documents)


# ---------------------------------------------------------------------------------------------------------- shapes

_SHAPES = {
    "an array": (json.dumps([_TRACE, _RESULT]), [["a"], ["b"]]),
    "an indented array": (json.dumps([_TRACE, _RESULT], indent=2), [["a"], ["b"]]),
    "a mapping with results": (json.dumps({"version": 1, "results": [_TRACE, _RESULT]}), [["a"], ["b"]]),
    "results before other keys": (json.dumps({"results": [_RESULT], "x": {"y": [1]}}), [["b"]]),
    "a trace": (json.dumps(_TRACE), [["a"]]),
    "an indented trace": (json.dumps(_TRACE, indent=2), [["a"]]),
    "a row": (json.dumps(_RESULT), [["b"]]),
    "a list of events": (json.dumps(_TRACE["events"]), [["a"]]),
    "an array of lists of events": (json.dumps([_TRACE["events"], _TRACE["events"]]), [["a"], ["a"]]),
    "lines": (_lines(_TRACE, _RESULT, _TRACE), [["a"], ["b"], ["a"]]),
    "rows with keys like events": (
        json.dumps([{"user": "Ann", **_RESULT}, {"agent": "shop", **_TRACE}]),
        [["b"], ["a"]],
    ),
    "lines with blank ones": ("\n\n" + _lines(_TRACE) + "  \n\n" + _lines(_RESULT), [["a"], ["b"]]),
    "lines that end in a carriage return": (_lines(_TRACE, _RESULT).replace("\n", "\r\n"), [["a"], ["b"]]),
    "lines without the last end": (_lines(_TRACE, _RESULT).rstrip(), [["a"], ["b"]]),
}


@pytest.mark.parametrize(("text", "calls"), _SHAPES.values(), ids=_SHAPES.keys())
@pytest.mark.parametrize("mark", ["", "\ufeff"], ids=["plain", "marked"])
def test_reads_every_shape(file: Path, text: str, calls: list[Any], mark: str) -> None:
    """Each shape gives its rows in order, with or without a byte order mark."""
    assert _calls(_write(file, mark + text)) == calls


def test_one_line_of_json_lines_is_read(tmp_path: Path) -> None:
    """The ending tells that each line is a run, also a bare list of events."""
    assert _calls(_write(tmp_path / "runs.jsonl", _lines(_TRACE["events"]))) == [["a"]]


@pytest.mark.parametrize("chunk", [1, 16, 200])
def test_lines_are_told_from_a_document_wherever_the_buffer_ends(
    file: Path, monkeypatch: pytest.MonkeyPatch, chunk: int
) -> None:
    """The first line may be longer than what is read at once, and the second may come after many blank ones."""
    monkeypatch.setattr(rows, "_CHUNK", chunk)
    text = json.dumps(_TRACE)
    assert _calls(_write(file, text + "\n" * 50 + text)) == [["a"], ["a"]]
    assert _calls(_write(file, text + "\n" * 50)) == [["a"]]
    assert _calls(_write(file, '{"results":\n[' + text + "]}")) == [["a"]]


def test_rows_are_numbered_and_placed(file: Path) -> None:
    """Numbers count rows; places are rows in a document and lines of the file in JSON Lines."""
    document = list(iter_rows(_write(file, json.dumps([_TRACE, _RESULT]))))
    assert [(row.source, row.number, row.place) for row in document] == [
        (str(file), 1, "row 1"),
        (str(file), 2, "row 2"),
    ]
    lines = list(iter_rows(_write(file, _lines(_TRACE) + "\n" + _lines(_RESULT))))
    assert [(row.number, row.place) for row in lines] == [(1, "line 1"), (2, "line 3")]


def test_a_run_has_its_own_name_or_the_files(file: Path) -> None:
    """A row without a name is called as the file is."""
    nameless = {"events": [{"call": "a"}]}
    runs = list(iter_runs([_write(file, _lines(nameless, _TRACE, _FAILED, 5))]))
    assert [run.name for run in runs] == ["runs", "neutral", "failed", "runs"]
    assert [None if run.trace is None else run.trace.name for run in runs] == ["runs", "neutral", "failed", None]


def test_a_failed_row_is_a_trace_without_evidence(file: Path) -> None:
    """The run was there, so that it is no reading error, and no check holds on it."""
    (row,) = iter_rows(_write(file, json.dumps([_FAILED])))
    assert "timed out" in (next(row.traces()).no_evidence or "")


# ------------------------------------------------------------------------------------------------------ what is amiss

_WHOLE = {
    "empty": ("", "empty"),
    "blank": (" \n\n ", "empty"),
    "no row": ("[]", "no row"),
    "no results": ('{"results": []}', "no row"),
    "torn array": ('[{"events"', "ends in the middle"),
    "torn mapping": ('{"name": "x", ', "key was expected"),
    "torn text": ('{"name": "x', "ends in the middle"),
    "no JSON": ("hello", "not JSON"),
    "a key that is no text": ("{1: 2}", "key was expected"),
    "no colon": ('{"a" 1}', "':' was expected"),
    "too deep": ("[" * 100_000, "nested too deeply"),
    "a number too long": ('{"x": ' + "9" * 5000 + "}", "number"),
    "not UTF-8": (b'[{"events": "\xff"}]', "not UTF-8"),
    "UTF-16": ("[{}]".encode("utf-16"), "not UTF-8 but UTF-16"),
    "half a character": ('["é'.encode()[:-1], "not UTF-8"),
}


@pytest.mark.parametrize(("text", "reason"), _WHOLE.values(), ids=_WHOLE.keys())
def test_a_file_that_gives_no_row_is_an_error(file: Path, text: str | bytes, reason: str) -> None:
    """What is wrong before the first row is raised, with the file's name."""
    with pytest.raises(ReadError, match=reason) as caught:
        list(iter_rows(_write(file, text)))
    assert str(file) in str(caught.value)


_LATER = {
    "torn": ('[{"events": []}, {"ev', "ends in the middle"),
    "no comma": ('[{"events": []} {"events": []}]', "',' was expected"),
    "no end": ('[{"events": []}', "end of the file"),
    "no JSON": ('[{"events": []}, oops]', "not JSON"),
    "torn results": ('{"results": [{"events": []}', "end of the file"),
    "something after it": ('[{"events": []}] x', "after the end"),
    "not UTF-8": (b'[{"events": []}, "' + b"x" * 2_000_000 + b'\xff"]', "not UTF-8"),
}


@pytest.mark.parametrize(("text", "reason"), _LATER.values(), ids=_LATER.keys())
def test_what_breaks_later_leaves_the_rows_before_it(file: Path, text: str | bytes, reason: str) -> None:
    """The rows that were read are yielded; then comes one whose error says where and why."""
    first, broken = iter_rows(_write(file, text))
    assert first.error is None
    assert broken.error is not None
    assert reason in str(broken.error)
    with pytest.raises(ReadError) as caught:
        next(broken.traces())
    assert caught.value is broken.error


def test_a_row_that_is_no_mapping_is_an_error_of_its_own(file: Path) -> None:
    """The rows after it still come."""
    found = list(iter_rows(_write(file, json.dumps([5, "x", None, _TRACE]))))
    assert [row.error is None for row in found] == [False, False, False, True]
    assert "row 2: a row is a mapping, not 'x'" in str(found[1].error)


def test_a_bad_line_is_an_error_of_its_own(tmp_path: Path) -> None:
    """Torn, garbled or wrong, it does not stop the lines after it."""
    good = json.dumps(_TRACE).encode()
    bad = [good[:-5], b'{"events": "\xff"}', b"5", b"[" * 100_000, b'{"x": 1}']
    path = _write(tmp_path / "runs.jsonl", b"\n".join([good, *bad, good]) + b"\n" + good[:20])
    runs = list(iter_runs([path]))
    assert [run.error is None for run in runs] == [True, *[False] * 5, True, False]
    assert [run.place for run in runs][-2:] == ["line 7", "line 8"]
    assert str(runs[1].error).startswith(f"{path}, line 2: ")


def test_empty_json_lines_are_an_error(tmp_path: Path) -> None:
    """A file that holds only blank lines holds no run."""
    with pytest.raises(ReadError, match="empty"):
        list(iter_rows(_write(tmp_path / "runs.jsonl", "\n \n")))


def test_a_line_beyond_the_bound_is_an_error_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A row may be large, but not without end; the line after it is read, whatever the long one ends in."""
    monkeypatch.setattr(rows, "MAX_ROW", 3_000_000)
    good, space = json.dumps(_TRACE).encode(), b" " * 7_000_000
    path = _write(tmp_path / "runs.jsonl", b"\n".join([b"[" + space + b"]", good, space, good, b"[" + space]))
    found = list(iter_rows(path))
    assert [row.error is None for row in found] == [False, True, False, True, False]
    assert all("longer than" in str(row.error) for row in found[::2])


def test_a_row_beyond_the_bound_is_an_error(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a document nobody can tell where it would end."""
    monkeypatch.setattr(rows, "MAX_ROW", 3_000_000)
    _write(file, json.dumps([_TRACE, "x" * 9_000_000, _TRACE]))
    first, broken = iter_rows(file)
    assert first.error is None
    assert "longer than" in str(broken.error)


def test_a_missing_file_and_a_folder_are_errors(tmp_path: Path) -> None:
    """The error says which of the two it is."""
    with pytest.raises(ReadError, match="no such file"):
        list(iter_rows(tmp_path / "none.json"))
    with pytest.raises(ReadError, match="folder"):
        list(iter_rows(tmp_path))


def test_a_file_that_may_not_be_read_is_an_error(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The system's reason is passed on."""

    def refuse(*_: Any) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(ReadError, match="can't be read: Permission denied"):
        list(iter_rows(file))


@pytest.mark.parametrize("data", [5, "x", None, {}, {"x": 1}, {"results": 5}])
def test_data_of_no_format_is_an_error(data: Any) -> None:
    """The error says what was expected and what came."""
    with pytest.raises(ReadError, match="a run has events"):
        trace_of(data)


def test_unusable_rows_name_their_place(file: Path) -> None:
    """A mapping that is no run says so where it stands."""
    row = list(iter_rows(_write(file, json.dumps([_TRACE, {"x": 1}]))))[1]
    with pytest.raises(ReadError, match="row 2: no known format: this has"):
        next(row.traces())


# -------------------------------------------------------------------------------------------- events among the rows

_EVENT_LIKE = [{"result": "pass"}, {"user": "Ann"}, {"call": "x", "args": {}}]
_ROWS = [_TRACE, _RESULT, _FAILED, _TRACE["events"]]


def _shapes(items: list[Any]) -> dict[str, str]:
    return {
        "runs.json": json.dumps(items),
        "indented.json": json.dumps(items, indent=1),
        "results.json": json.dumps({"results": items}),
        "lines.jsonl": _lines(items),
        "results.jsonl": _lines({"results": items}),
    }


@pytest.mark.parametrize("name", _shapes([]))
@pytest.mark.parametrize("before", [1, 2, 3])
@pytest.mark.parametrize("row", _ROWS, ids=["trace", "result", "failed", "list"])
def test_what_looks_like_an_event_before_rows_is_a_row_of_its_own(
    tmp_path: Path, name: str, before: int, row: Any
) -> None:
    """It is an error, and the rows after it are read: an array is a trace only where nothing in it is a row."""
    items = [*_EVENT_LIKE[:before], row, _TRACE, _EVENT_LIKE[0], row]
    runs = list(iter_runs([_write(tmp_path / name, _shapes(items)[name])]))
    assert [run.error is None for run in runs] == [False] * before + [True, True, False, True]
    assert [run.number for run in runs] == list(range(1, len(items) + 1))


@pytest.mark.parametrize("name", _shapes([]))
def test_events_alone_are_one_trace(tmp_path: Path, name: str) -> None:
    """Also where one of them is of no kind: that is a problem of the trace."""
    items = [*_EVENT_LIKE, {"cal": "misspelt"}, 5]
    (run,) = iter_runs([_write(tmp_path / name, _shapes(items)[name])])
    assert run.trace is not None
    assert len(run.trace) == len(items)
    assert len(run.trace.problems) == 3


def test_an_ambiguous_event_makes_the_list_an_error(file: Path) -> None:
    """A trace of which one event can't be used is no trace; among rows it is one error of several."""
    twice = '{"call": "y", "call": "x"}'
    for text in (f'[{twice}, {{"user": "hi"}}]', f'[{{"user": "hi"}}, {twice}]'):
        (run,) = iter_runs([_write(file, text)])
        assert "stands twice" in str(run.error)
    runs = iter_runs([_write(file, f"[{twice}, {json.dumps(_TRACE)}]")])
    assert [run.error is None for run in runs] == [False, True]


def test_lines_may_hold_several_rows(tmp_path: Path) -> None:
    """Lists of rows and mappings with results are read, each row with its line and its place in it."""
    two = [_TRACE, _RESULT]
    path = _write(
        tmp_path / "runs.jsonl",
        _lines(_TRACE, two, {"results": two, "version": 1}, {"results": [_TRACE]}, [_TRACE], _TRACE["events"]),
    )
    runs = list(iter_runs([path]))
    assert [run.error for run in runs] == [None] * 8
    assert [run.place for run in runs] == [
        "line 1",
        "line 2, row 1",
        "line 2, row 2",
        "line 3, row 1",
        "line 3, row 2",
        "line 4, row 1",
        "line 5, row 1",
        "line 6",
    ]
    assert [run.number for run in runs] == list(range(1, 9))


@pytest.mark.parametrize("empty", [[], {"results": []}])
def test_a_line_without_rows_is_an_error(tmp_path: Path, empty: Any) -> None:
    """It is named as other lines are that hold no run."""
    runs = list(iter_runs([_write(tmp_path / "runs.jsonl", _lines(empty, _TRACE))]))
    assert [run.place for run in runs] == ["line 1", "line 2"]
    assert [run.error is None for run in runs] == [False, True]
    assert "no row" in str(runs[0].error)


# -------------------------------------------------------------------------------------------- where something is amiss

_ONE = json.dumps(_TRACE)
_PLACES = {
    "no comma between keys": (f'[\n{_ONE},\n{_ONE},\n  {{"name" "x"}}]', "row 3", 4, 11),
    "no comma between rows": (f"[{_ONE}\n {_ONE}]", "row 2", 2, 2),
    "no JSON": (f"[{_ONE},\n\n oops]", "row 2", 3, 2),
    "after the end": (f"[{_ONE}]\n\nx", "row 2", 3, 1),
    "a key that is no text": ('{"a": 1,\n 2: 3}', "", 2, 2),
    "the end in a text": (f'[{_ONE},\n{{"name": "xy', "row 2", 2, 10),
    "a key twice": (f'[{_ONE},\n  {{"x": 1, "x": 2}}]', "row 2", 2, 3),
    "too deep": (f"[{_ONE},\n   " + "[" * 100_000, "row 2", 2, 4),
    "in the results": (f'{{"results": [\n{_ONE}, {{]', "row 2", 2, len(_ONE) + 4),
}


@pytest.mark.parametrize(("text", "place", "line", "column"), _PLACES.values(), ids=_PLACES.keys())
@pytest.mark.parametrize("chunk", [16, 100, 1_000_000])
@pytest.mark.parametrize("mark", ["", "\ufeff"], ids=["plain", "marked"])
def test_errors_in_a_document_say_where(
    file: Path, monkeypatch: pytest.MonkeyPatch, text: str, place: str, line: int, column: int, chunk: int, mark: str
) -> None:
    """They name the row, and the line and column of the file, however little of it is held at a time."""
    monkeypatch.setattr(rows, "_CHUNK", chunk)
    (error,) = [run.error for run in iter_runs([_write(file, mark + text)]) if run.error]
    assert (error.source, error.place) == (str(file), place)
    assert error.problem.endswith(f"at line {line}, column {column}")


@pytest.mark.parametrize("chunk", [1, 7, 1_000_000])
def test_bytes_that_are_no_text_are_counted(file: Path, monkeypatch: pytest.MonkeyPatch, chunk: int) -> None:
    """The byte is that of the file, from 0, also after a byte order mark."""
    monkeypatch.setattr(rows, "_CHUNK", chunk)
    for data in (b'["\xc3\xa9\xff"]', b'\xef\xbb\xbf["\xff"]', b'["' + b"x" * 99 + b'\xff"]', b'["\xc3"]'):
        (error,) = [run.error for run in iter_runs([_write(file, data)]) if run.error]
        bad = data.index(b"\xff") if b"\xff" in data else data.index(b"\xc3")
        assert error.problem.endswith(f"at byte {bad}")


def test_a_number_too_long_spoils_what_holds_it_alone(tmp_path: Path) -> None:
    """In a result it is a problem of the trace, elsewhere an error of the row; the same in every shape of file."""
    number = "9" * 5000
    inside = f'{{"events": [{{"call": "a"}}, {{"result": {{"n": {number}}}, "of": "a"}}]}}'
    row = f'{{"passed": true, "detailed_trace": ["User: x"], "n": {number}}}'
    for name, text in {
        "array.json": f"[{inside}, {row}, {inside}]",
        "results.json": f'{{"results": [{inside}, {row}, {inside}]}}',
        "runs.jsonl": f"{inside}\n{row}\n{inside}\n",
    }.items():
        first, second, third = iter_runs([_write(tmp_path / name, text)])
        assert "4300 digits" in str(second.error)
        for run in (first, third):
            assert run.trace is not None
            assert "undecodable result" in run.trace.problems[0].reason


# --------------------------------------------------------------------------------------------------- files and folders


def test_folders_are_read_in_order(tmp_path: Path) -> None:
    """All result files of a folder come, sorted, also those of folders in it; other files are left aside."""
    (tmp_path / "b").mkdir()
    for name in ("c.json", "a.jsonl", "b/x.json", "d.txt"):
        _write(tmp_path / name, json.dumps(_TRACE))
    runs = list(iter_runs([tmp_path]))
    assert [Path(run.source).relative_to(tmp_path).as_posix() for run in runs] == ["a.jsonl", "b/x.json", "c.json"]


def test_a_folder_without_results_is_an_error(tmp_path: Path) -> None:
    """Nothing to check must not look like success."""
    _write(tmp_path / "notes.txt", "x")
    with pytest.raises(ReadError, match="folder without any file"):
        list(iter_runs([tmp_path]))


def test_a_missing_path_is_an_error_before_any_run(tmp_path: Path, file: Path) -> None:
    """A mistyped path is found at once, not after the files before it."""
    _write(file, json.dumps(_TRACE))
    with pytest.raises(ReadError, match="no such file or folder"):
        next(iter_runs([file, tmp_path / "none.json"]))


def test_a_bad_file_does_not_stop_the_others(tmp_path: Path) -> None:
    """It is a run with an error, of number 0."""
    _write(tmp_path / "a.json", "oops")
    _write(tmp_path / "b.json", json.dumps(_TRACE))
    bad, good = iter_runs([tmp_path])
    assert (bad.number, bad.name, bad.trace) == (0, "a", None)
    assert "not JSON" in str(bad.error)
    assert good.trace is not None


# ----------------------------------------------------------------------------------------------------------- streaming


def _rows_of(path: Path) -> int:
    return sum(1 for row in iter_rows(path) if row.error is None)


@pytest.mark.parametrize("ending", ["json", "jsonl", "results"])
def test_memory_stays_flat(tmp_path: Path, ending: str) -> None:
    """A file of forty megabytes is read in a fraction of that, whatever its shape."""
    row = json.dumps({**_TRACE, "note": "x" * 10_000})
    path = tmp_path / f"runs.{ending}"
    with path.open("w") as stream:
        opening, between, closing = {
            "json": ("[", ",", "]"),
            "jsonl": ("", "\n", ""),
            "results": ('{"results": [', ",\n", "]}"),
        }[ending]
        stream.write(opening + between.join([row] * 4_000) + closing)
    tracemalloc.start()
    try:
        assert _rows_of(path) == 4_000
        assert tracemalloc.get_traced_memory()[1] < 12_000_000
    finally:
        tracemalloc.stop()


def test_rows_come_before_the_file_is_read(tmp_path: Path) -> None:
    """The first row of a file that is torn at its end is there at once."""
    path = _write(tmp_path / "runs.json", "[" + ",".join([json.dumps(_TRACE)] * 50_000))
    assert next(next(iter_rows(path)).traces()).name == "neutral"


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
_MAPPINGS = st.lists(st.fixed_dictionaries({"passed": st.booleans()}, optional={"x": _JSON}), min_size=1, max_size=4)


@settings(deadline=None)
@given(_MAPPINGS, st.sampled_from([1, 2, 3, 7, 64]), st.sampled_from([None, 1]), st.booleans())
def test_rows_are_the_same_wherever_the_buffer_ends(
    tmp_path_factory: pytest.TempPathFactory, data: list[Any], chunk: int, indent: int | None, ascii_only: bool
) -> None:
    """Every row is what a decoder of the whole file finds, however small the pieces are that are read."""
    path = tmp_path_factory.getbasetemp() / "chunks.json"
    for document in (data, {"before": data, "results": data}):
        path.write_text(json.dumps(document, indent=indent, ensure_ascii=ascii_only), encoding="utf-8", newline="")
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(rows, "_CHUNK", chunk)
            assert [row.data for row in iter_rows(path)] == data


@settings(deadline=None)
@given(_MAPPINGS, st.integers(0, 400), st.sampled_from([3, 64, 4096]))
def test_a_torn_file_gives_only_whole_rows(
    tmp_path_factory: pytest.TempPathFactory, data: list[Any], cut: int, chunk: int
) -> None:
    """Cut anywhere, a file gives the rows before the cut and then an error, and never anything else."""
    path = tmp_path_factory.getbasetemp() / "torn.json"
    text = json.dumps(data).encode()
    path.write_bytes(text[: min(cut, len(text) - 1)])
    found: list[Row] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rows, "_CHUNK", chunk)
        try:
            found = list(iter_rows(path))
        except ReadError:
            return
    assert [row.data for row in found[:-1]] == data[: len(found) - 1]
    assert found[-1].error is not None


HISTORY = [
    {"role": "user", "content": "order it"},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "order", "arguments": "{}"}}],
    },
    {"role": "tool", "tool_call_id": "c1", "content": "ok"},
    {"role": "assistant", "content": "Done."},
]


def test_a_history_of_messages_is_one_run(tmp_path: Path) -> None:
    """An array of messages is one run: cut in pieces, each would seem not to call what another calls."""
    path = tmp_path / "history.json"
    path.write_text(json.dumps(HISTORY), "utf-8")
    (run,) = iter_runs([path])
    assert run.trace is not None
    assert [call.name for call in run.trace.calls] == ["order"]
    assert run.trace.calls[0].result == "ok"


def test_a_message_on_a_line_is_no_run(tmp_path: Path) -> None:
    """JSON Lines with a message on each line are refused line by line, never judged in pieces."""
    path = tmp_path / "history.jsonl"
    path.write_text("\n".join(map(json.dumps, HISTORY)), "utf-8")
    runs = list(iter_runs([path]))
    assert [run.trace for run in runs] == [None] * len(HISTORY)
    assert all("not a run" in str(run.error) for run in runs)


# ------------------------------------------------------------------------------------- the same however it is handed in

_MESSAGE = {"role": "user", "content": "hi"}
_OF_LINES = {
    "arrays": [[_TRACE], [_TRACE, _RESULT]],
    "arrays of events": [_TRACE["events"], _TRACE["events"]],
    "an array first": [[_TRACE], _RESULT],
    "an object first": [_RESULT, [_TRACE, _TRACE]],
    "messages": HISTORY,
    "results": [{"results": [_TRACE, _RESULT]}, _TRACE],
    "a message later": [_TRACE, _MESSAGE],
}


def _told(traces: Any) -> list[Any]:
    found: list[Any] = []
    try:
        found.extend([call.name for call in trace.calls] for trace in traces)
    except ReadError as error:
        found.append(error.problem)
    return found


@pytest.mark.parametrize("lines", _OF_LINES.values(), ids=_OF_LINES)
def test_lines_are_read_alike_by_whatever_name_and_without_one(tmp_path: Path, lines: list[Any]) -> None:
    """As text, as bytes, and as a file whose name says that it is lines, or that it is not."""
    text = _lines(*lines)
    told = _told(read_all(text))
    assert told
    assert told == _told(read_all(text.encode()))
    for name in ("runs.json", "runs.jsonl", "runs"):
        assert _told(read_all(_write(tmp_path / name, text))) == told


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("text", [shape[0] for shape in _SHAPES.values()], ids=_SHAPES)
def test_a_pipe_is_read_as_a_file_is(tmp_path: Path, packed: bool, text: str) -> None:
    """It can't be read twice, and what is packed in it neither."""
    data = gzip.compress(text.encode()) if packed else text.encode()
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(data,))
    writer.start()
    calls = _calls(pipe)
    writer.join()
    assert calls == _calls(_write(tmp_path / "file", data))


@pytest.mark.parametrize("charset", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
def test_other_charsets_are_named(tmp_path: Path, charset: str) -> None:
    """By their byte order mark, in a file and without one."""
    data = ("\ufeff" + json.dumps([_TRACE])).encode(charset)
    for source in (data, _write(tmp_path / "runs.json", data)):
        with pytest.raises(ReadError, match=f"not UTF-8 but {charset[:6].upper()}"):
            list(read_all(source))
