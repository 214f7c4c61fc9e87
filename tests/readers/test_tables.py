"""Data frames of pandas and polars, and tables of Arrow, as sources: rows that are runs, and rows of one run."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from tracewitness import check, read, read_all
from tracewitness.errors import ReadError
from tracewitness.readers.objects import plain


def _pandas(rows: list[dict[str, Any]]) -> Any:
    return pytest.importorskip("pandas").DataFrame(rows)


def _polars(rows: list[dict[str, Any]]) -> Any:
    return pytest.importorskip("polars").DataFrame(rows)


def _arrow(rows: list[dict[str, Any]]) -> Any:
    return pytest.importorskip("pyarrow").Table.from_pylist(rows)


def _arrow_batch(rows: list[dict[str, Any]]) -> Any:
    return pytest.importorskip("pyarrow").RecordBatch.from_pylist(rows)


def _pandas_of_arrow(rows: list[dict[str, Any]]) -> Any:
    """Lists are arrays of numpy in it, as in one that was read from a file of Parquet."""
    pytest.importorskip("pandas")
    return _arrow(rows).to_pandas()


TABLES = [_pandas, _polars, _arrow, _arrow_batch, _pandas_of_arrow]
Table = Callable[[list[dict[str, Any]]], Any]


def _messages(city: str) -> list[dict[str, Any]]:
    function = {"name": "search", "arguments": json.dumps({"city": city})}
    return [
        {"role": "user", "content": "Hello."},
        {"role": "assistant", "content": None, "tool_calls": [{"id": "c1", "type": "function", "function": function}]},
        {"role": "tool", "content": "found", "tool_call_id": "c1"},
    ]


EVENTS = [
    {"user": "Hello."},
    {"call": "search", "args": {"city": "Bern"}, "id": "c1"},
    {"result": "found", "id": "c1"},
]


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("is_text", [False, True])
def test_a_column_of_messages(table: Table, is_text: bool) -> None:
    """Each row is a run, also where the messages are JSON text; a cell that is empty is left out."""
    runs = [_messages("Bern"), _messages("Rome")]
    rows = [
        {"id": number, "score": None if number else 0.5, "messages": json.dumps(run) if is_text else run}
        for number, run in enumerate(runs)
    ]
    first, second = read_all(table(rows))
    assert first.to_events() == EVENTS
    assert [call.args for call in second.calls] == [{"city": "Rome"}]
    assert (first.problems, second.problems) == ((), ())


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("is_text", [False, True])
def test_a_column_of_whole_recordings(table: Table, is_text: bool) -> None:
    """The row is what stands in it, by the row's name."""
    trace = {"events": [{"call": "search", "args": {"city": "Bern"}}]}
    rows = [{"name": name, "trace": json.dumps(trace) if is_text else trace} for name in ("a", "b")]
    found = list(read_all(table(rows)))
    assert [(trace.name, [call.args for call in trace.calls]) for trace in found] == [
        ("a", [{"city": "Bern"}]),
        ("b", [{"city": "Bern"}]),
    ]


@pytest.mark.parametrize("table", TABLES)
def test_rows_of_spans(table: Table) -> None:
    """All rows together are the run, as an export of spans has it."""
    attributes = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "search"}
    rows = [
        {
            "trace_id": "1",
            "span_id": str(number),
            "parent_id": None,
            "name": "execute_tool search",
            "start_time": datetime(2026, 1, 1, 0, 0, number, tzinfo=UTC),
            "end_time": datetime(2026, 1, 1, 0, 0, number + 1, tzinfo=UTC),
            **{f"attributes.{key}": value for key, value in attributes.items()},
            "attributes.gen_ai.tool.call.arguments": json.dumps({"n": number}),
        }
        for number in (2, 1)
    ]
    (trace,) = read_all(table(rows))
    assert [(call.name, call.args) for call in trace.calls] == [("search", {"n": 1}), ("search", {"n": 2})]
    assert trace.problems == ()


def test_columns_alone() -> None:
    """A column is a list of what stands in its cells."""
    pandas, polars, arrow = map(pytest.importorskip, ("pandas", "polars", "pyarrow"))
    runs = [_messages("Bern"), _messages("Rome")]
    for column in (pandas.Series(runs), polars.Series(runs), arrow.array(runs), arrow.chunked_array([runs])):
        assert [trace.calls[0].args["city"] for trace in read_all(column)] == ["Bern", "Rome"]


def test_runs_of_a_table_are_checked_as_any_other() -> None:
    """What `read` takes as one run is a table whose rows are one."""
    table = _pandas([{"messages": _messages("Bern")}])
    for trace in read_all(table):
        verdicts = check(trace, [{"type": "tool_called", "tool": "search", "args": {"city": "Bern"}}])
        assert [verdict.status for verdict in verdicts] == ["held", "held"]
    assert read(_pandas(_messages("Bern"))).to_events()[0] == EVENTS[0]


@pytest.mark.parametrize("rows", [[{"a": 1}], [{"messages": "[{"}], [{"messages": '[{"role": "user", "role": 1}]'}]])
def test_tables_without_runs_are_refused(rows: Any) -> None:
    """An error says what is missing."""
    with pytest.raises(ReadError):
        list(read_all(_pandas(rows)))


def test_a_table_that_a_tool_gave_back_stays_what_it_is() -> None:
    """Only a source is taken apart."""
    table = _pandas([{"a": 1}])
    assert plain({"result": table})["result"] is table
    assert plain(table) == [{"a": 1}]


def test_other_objects_with_such_methods_are_no_tables() -> None:
    """A class that makes a mapping of itself is none; what its method raises is an error that names it."""

    class Model:
        def to_dict(self, **_: Any) -> list[Any]:
            return []

    class Broken:
        def to_pylist(self) -> list[Any]:
            raise KeyError("broken")

    model = Model()
    assert plain(model) is model
    with pytest.raises(ReadError, match="KeyError"):
        plain(Broken())
