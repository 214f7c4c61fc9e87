"""Spark, really: on this machine, the engine of scans and the kernel over DataFrames."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from engine_cases import (
    SUITE,
    assert_outlives_workers,
    assert_says_what_ended_it,
    assert_scans_alike,
    fatal_suite,
    job_for,
    run,
)

from tracewitness import UsageError
from tracewitness.batch.kernel import Kernel
from tracewitness.batch.spark import Pool, verdicts
from tracewitness.suites import parse_suite

# PySpark says that it does not know the newest pandas yet.
pytestmark = [pytest.mark.filterwarnings("default::FutureWarning"), pytest.mark.xdist_group("spark")]


@pytest.fixture(scope="module")
def session() -> Iterator[Any]:
    """Have Spark run on this machine."""
    _need_spark()
    from pyspark.sql import SparkSession

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        builder = SparkSession.builder.config("spark.ui.enabled", "false").config("spark.log.level", "OFF")
        started = builder.config("spark.driver.host", "127.0.0.1").master("local[2,3]").getOrCreate()
        yield started
        started.stop()


def _need_spark() -> None:
    pytest.importorskip("pyspark", reason="pyspark is not installed")
    if shutil.which("java") is None:
        pytest.skip("java is not installed")


def test_a_scan(tmp_path: Path) -> None:
    """The command comes to the same verdicts, counts and sample."""
    _need_spark()
    assert_scans_alike("spark", tmp_path)


def test_workers_that_die(tmp_path: Path, session: Any) -> None:
    """A piece that ends what checks it is tried twice, and then reported; the others are checked."""
    assert_outlives_workers(Pool, tmp_path)


def test_what_ends_a_scan(tmp_path: Path, session: Any) -> None:
    """An error of a worker is the error of the scan."""
    assert_says_what_ended_it(Pool, tmp_path)


def test_a_session_that_runs_goes_on(tmp_path: Path, session: Any) -> None:
    """Only what was started for a scan is stopped at its end."""
    with Pool(job_for(tmp_path / "out.parquet", fatal_suite()), 2) as pool:
        assert not list(pool.parts(iter([])))
    assert session.range(3).count() == 3


@pytest.mark.parametrize("module", ["pyspark.sql", "py4j.protocol"])
def test_it_is_not_installed(module: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One line says what to install."""
    pytest.importorskip("pyspark", reason="pyspark is not installed")
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(UsageError, match=r"^the engine spark needs py.*: pip install 'tracewitness\[spark\]' "):
        Pool(job_for(tmp_path / "out.parquet", fatal_suite()), 2)


RUNS = [run(f"r{number}", number - 2, f"m-{number % 2}") for number in range(8)]
MESSAGES = [
    {"role": "user", "content": "Pay, please"},
    {
        "role": "assistant",
        "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "pay", "arguments": '{"amount": 2}'}}],
    },
    {"role": "tool", "tool_call_id": "c1", "content": "paid"},
]
NESTED = (
    "messages array<struct<role: string, content: string, tool_call_id: string, "
    "tool_calls: array<struct<id: string, type: string, function: struct<name: string, arguments: string>>>>>"
)


def _as_set(rows: list[dict[str, Any]], *without: str) -> list[str]:
    kept = ({key: value for key, value in row.items() if key not in without} for row in rows)
    return sorted(json.dumps(row, sort_keys=True) for row in kept)


def _found(frame: Any) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = frame.toArrow().to_pylist()
    return rows


def _expected(table: dict[str, list[Any]], **options: Any) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = Kernel(parse_suite(SUITE), **options)(pa.table(table)).to_pylist()
    return rows


def test_a_frame_with_all_columns(session: Any) -> None:
    """Sources, numbers, names and columns for the rates are used, and the verdicts are those of the kernel."""
    raw = [*(json.dumps(each) for each in RUNS), "no JSON", None]
    count = len(raw)
    numbers, sources = list(range(101, 101 + count)), [f"day={number % 3}" for number in range(count)]
    names, models = ["refused"] * count, [None, *["m-1"] * (count - 1)]
    frame = session.createDataFrame(
        pa.table({"trace": raw, "record": numbers, "source": sources, "name": names, "model": models})
    )
    found = _found(verdicts(frame.repartition(3), parse_suite(SUITE), by=["model", "metadata.model"]))
    table = {"raw": raw, "record": numbers, "source": sources, "name": names, "by_model": models}
    assert _as_set(found) == _as_set(_expected(table, by=["model", "metadata.model"]))


def test_a_frame_without_numbers(session: Any) -> None:
    """Every row has a number of its own."""
    frame = session.createDataFrame(pa.table({"trace": [json.dumps(each) for each in RUNS]})).repartition(4)
    found = _found(verdicts(frame, parse_suite(SUITE)))
    expected = _expected({"raw": [json.dumps(each) for each in RUNS]})
    assert _as_set(found, "record", "trace_id") == _as_set(expected, "record", "trace_id")
    assert len({row["trace_id"] for row in found}) == len(RUNS)


@pytest.mark.parametrize(
    ("rows", "schema"),
    [
        ([(json.dumps(MESSAGES),)], "messages string"),
        ([(bytearray(json.dumps(MESSAGES).encode()),)], "messages binary"),
        ([(MESSAGES,)], NESTED),
        ([(MESSAGES, 7)], f"{NESTED}, `record` string"),
        ([(json.dumps(MESSAGES), "x")], "`the.tra``ce` string, other string"),
    ],
    ids=["text", "bytes", "nested", "a record that is no number", "an odd name"],
)
def test_columns(rows: list[tuple[Any, ...]], schema: str, session: Any) -> None:
    """A trace is text, bytes or nested, in a column of any name."""
    frame = session.createDataFrame(rows, schema)
    column = None if "messages" in frame.columns else frame.columns[0]
    found = _found(verdicts(frame, parse_suite(SUITE), column=column))
    assert [(row["label"], row["status"]) for row in found if row["operator"] == "tool_called"] == [
        ("tool_called pay", "held")
    ]


def test_a_whole_row(session: Any) -> None:
    """Where no column is the trace, the row is."""
    frame = session.createDataFrame([(json.loads("[]"), "s-1")], f"{NESTED.replace('messages', 'history')}, id string")
    assert [row["status"] for row in _found(verdicts(frame, parse_suite(SUITE)))] == ["error"]


def test_numbers_that_are_null(session: Any) -> None:
    """A row without a number gets one that no other has."""
    text = json.dumps(RUNS[3])
    frame = session.createDataFrame([(text, 1), (text, None), (text, None)], "trace string, record int")
    ids = [row["trace_id"] for row in _found(verdicts(frame, parse_suite(SUITE)))]
    assert len(set(ids)) == 3
    assert "#1" in ids


@pytest.mark.parametrize(
    ("column", "options", "problem"),
    [
        ("mesages", {}, "the DataFrame can't be checked: it has no column mesages; messages was meant"),
        ("count", {}, "the column count holds long; a trace is text, bytes, or a nested value of messages"),
        ("messages", {"case": "refuse"}, "has no case 'refuse'; refused was meant"),
        ("messages", {"by": ["count", "count"]}, "rates are broken down by each column once"),
    ],
)
def test_what_can_not_be_used(column: str, options: dict[str, Any], problem: str, session: Any) -> None:
    """It is said before anything runs."""
    frame = session.createDataFrame([("[]", 1)], "messages string, count long")
    with pytest.raises(UsageError, match=problem):
        verdicts(frame, parse_suite(SUITE), column=column, **options)


def test_a_suite_by_its_path(session: Any, tmp_path: Path) -> None:
    """The suite may be named."""
    (tmp_path / "suite.yaml").write_text(SUITE, "utf-8")
    frame = session.createDataFrame([(json.dumps(RUNS[3]),)], "trace string")
    found = _found(verdicts(frame, str(tmp_path / "suite.yaml"), justify_held=True))
    assert [row["status"] for row in found] == ["held"] * 3
    assert all(row["justification"] for row in found)
