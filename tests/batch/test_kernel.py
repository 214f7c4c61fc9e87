"""The kernel: records in, verdicts out, and nothing in a record makes it raise."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tracewitness.batch.kernel import Kernel, check_batch
from tracewitness.batch.schemas import verdict_schema
from tracewitness.errors import ReadError, UsageError
from tracewitness.evals import SuiteCheck
from tracewitness.readers import iter_runs
from tracewitness.suites import load_suite, parse_suite

ORDERS = Path(__file__).parents[2] / "examples" / "orders"
SUITE = parse_suite(
    """
common_tool_expectations:
- {type: tool_called, tool: pay}
evals:
- name: refund
  tool_expectations:
  - {type: tool_not_called, tool: delete, reason: Nothing is deleted.}
""",
    source="pay.evals.yaml",
)
PAYS = '{"events": [{"call": "pay"}]}'
CALL = '{"id": "1", "type": "function", "function": {"name": "pay", "arguments": "{}"}}'
CHAT = f'[{{"role": "user", "content": "hi"}}, {{"role": "assistant", "content": null, "tool_calls": [{CALL}]}}]'
BLOCKS = '[{"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "pay", "input": {}}]}]'
PLAIN = '[{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]'


def batch(*raws: str | bytes | None, **columns: list[Any]) -> pa.RecordBatch:
    encoded = [raw.encode() if isinstance(raw, str) else raw for raw in raws]
    return pa.RecordBatch.from_pydict({"raw": pa.array(encoded, pa.binary()), **columns})


def rows(found: pa.RecordBatch, *columns: str) -> list[tuple[Any, ...]]:
    return list(zip(*(found.column(column).to_pylist() for column in columns), strict=True))


def test_a_row_for_each_check_of_each_run() -> None:
    found = check_batch(batch(PAYS, '{"events": [{"call": "wait"}]}', source=["a", "a"], record=[7, 9]), SUITE)
    assert found.schema == verdict_schema()
    assert rows(found, "trace_id", "check", "operator", "tool", "status", "evidence") == [
        ("a#7", 0, "tool_called", "pay", "held", [0]),
        ("a#7", 1, "trace_parsed", None, "held", []),
        ("a#9", 0, "tool_called", "pay", "broken", []),
        ("a#9", 1, "trace_parsed", None, "held", []),
    ]
    assert found.column("justification").to_pylist() == [
        None,
        None,
        "pay was never called; called were wait",
        None,
    ]


def test_what_held_is_justified_where_that_is_asked_for() -> None:
    found = check_batch(batch(PAYS), SUITE, justify_held=True)
    assert all(found.column("justification").to_pylist())


def test_the_name_picks_the_case() -> None:
    named = '{"name": "refund", "events": [{"call": "pay"}, {"call": "delete"}]}'
    found = check_batch(batch(named, PAYS, PAYS, name=["other", "refund", None]), SUITE)
    broken = ("refund", "refund", "tool_not_called", "broken", "Nothing is deleted.")
    assert rows(found, "name", "case", "operator", "status", "reason") == [
        ("refund", "refund", "tool_called", "held", None),
        broken,
        ("refund", "refund", "trace_parsed", "held", None),
        ("refund", "refund", "tool_called", "held", None),
        ("refund", "refund", "tool_not_called", "held", "Nothing is deleted."),
        ("refund", "refund", "trace_parsed", "held", None),
        ("", None, "tool_called", "held", None),
        ("", None, "trace_parsed", "held", None),
    ]


def test_a_case_for_all() -> None:
    found = check_batch(batch(PAYS), SUITE, case="refund")
    assert found.column("case").to_pylist() == ["refund"] * 3


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        (None, "there is no record: it is null"),
        (b"", "it is empty"),
        (b"oh", "not JSON"),
        (b"{", "not JSON"),
        (b"\xff\xfe", "UTF-16"),
        (b'"text"', "a row is a mapping"),
        (b"17", "a row is a mapping"),
        (b"[]", "it holds no row"),
        (b"{}", "no known format"),
        (b'{"a": 1, "a": 2}', "stands twice"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"role": "user", "content": "hi"}', "a message or an item of a history, not a run"),
        (b'{"events": 3}', "events"),
    ],
)
def test_a_record_that_cannot_be_read_is_one_verdict(raw: bytes | None, why: str) -> None:
    found = check_batch(batch(PAYS, raw, PAYS, source=["f"] * 3, record=[1, 2, 3]), SUITE)
    assert [row for row in rows(found, "trace_id", "check", "operator", "status") if row[0] == "f#2"] == [
        ("f#2", None, "read", "error")
    ]
    assert why in found.column("justification").to_pylist()[2]
    assert found.num_rows == 5


def test_what_is_odd_about_a_record_is_told_where_it_cannot_be_read() -> None:
    odd = "the file ends in the middle of this line"
    found = check_batch(batch('{"events": [', PAYS, problem=[odd, odd]), SUITE)
    assert odd in found.column("justification").to_pylist()[0]
    assert found.column("status").to_pylist() == ["error", "held", "held"]


def test_a_record_of_several_runs() -> None:
    found = check_batch(batch(f'{{"results": [{PAYS}, {PAYS}]}}', source=["f"], record=[4]), SUITE)
    assert rows(found, "trace_id", "run") == [("f#4", 1), ("f#4", 1), ("f#4.2", 2), ("f#4.2", 2)]


def test_a_run_that_cannot_be_read_among_others_of_its_record() -> None:
    found = check_batch(batch(f"[{PAYS}, {{}}, {PAYS}]"), SUITE)
    assert rows(found, "trace_id", "status")[:2] == [("#1", "held"), ("#1", "held")]
    assert rows(found, "trace_id", "operator", "status")[2] == ("#1.2", "read", "error")


FORMATS = {"neutral": PAYS, "openai-chat": CHAT, "anthropic-messages": BLOCKS}


@pytest.mark.parametrize("fixed", FORMATS)
@pytest.mark.parametrize("came", FORMATS)
def test_a_record_of_another_format_is_an_error_that_says_so(fixed: str, came: str) -> None:
    found = check_batch(batch(FORMATS[came]), SUITE, format_name=fixed)
    if fixed == came:
        assert found.column("status").to_pylist() == ["held", "held"]
    else:
        assert found.column("status").to_pylist() == ["error"]
        assert (
            f"in the format {came}, and not in that of the first records, {fixed}" in found["justification"][0].as_py()
        )


@pytest.mark.parametrize("fixed", ["openai-chat", "anthropic-messages", None])
@pytest.mark.parametrize("piece", ['{"role": "user", "content": "hi"}', BLOCKS[1:-1]])
def test_a_message_is_no_run(piece: str, fixed: str | None) -> None:
    found = check_batch(batch(piece), SUITE, format_name=fixed)
    assert found.column("status").to_pylist() == ["error"]
    assert "a message or an item of a history, not a run" in found.column("justification")[0].as_py()


@pytest.mark.parametrize("fixed", ["openai-chat", "anthropic-messages", None])
def test_messages_without_a_call_are_of_every_format_of_messages(fixed: str | None) -> None:
    found = check_batch(batch(PLAIN), SUITE, format_name=fixed)
    assert found.column("status").to_pylist() == ["broken", "held"]


def test_values_to_break_rates_down_by() -> None:
    raws = [
        '{"model": "m-1", "metadata": {"day": 3}, "events": [{"call": "pay"}]}',
        '{"events": [{"call": "pay"}]}',
        "oh",
    ]
    columns = {"by_region": ["eu", None, "us"], "by_model": [None, "m-3", None]}
    given = batch(*raws, source=["day=2/zone=z-1/a", "zone=z-2/a", "b"], **columns)
    found = check_batch(given, SUITE, by=("model", "metadata.day", "region", "zone"))
    assert rows(found, "record", "by_model", "by_metadata.day", "by_region", "by_zone")[1:4] == [
        (1, "m-1", "3", "eu", "z-1"),
        (2, "m-3", None, None, "z-2"),
        (2, "m-3", None, None, "z-2"),
    ]
    assert rows(found, "record", "by_region", "by_zone")[4:] == [(3, "us", None)]


def test_texts_that_no_terminal_and_no_arrow_can_hold_are_escaped() -> None:
    named = r'{"name": "a\u001b[31m\ud800", "events": [{"call": "x\u202e"}]}'
    found = check_batch(batch(named), SUITE)
    texts = [text for column in ("name", "justification") for text in found.column(column).to_pylist() if text]
    assert texts
    assert all(text.isprintable() for text in texts)


def test_what_looks_like_a_secret_is_hidden_in_words() -> None:
    secret = "sk-" + "proj-aB3dE6gH9jK2mN5pQ8sT1vW4xY7z" * 2
    called = {"events": [{"call": "delete", "args": {"key": secret}}]}
    suite = parse_suite("{evals: [], common_tool_expectations: [{type: tool_input, tool: delete, args: {key: x}}]}")
    found = check_batch(batch(json.dumps(called), json.dumps(secret)), suite)
    words = " ".join(text for text in found.column("justification").to_pylist() if text)
    assert "redacted" in words
    assert secret[:20] not in words


def test_it_gives_the_same_in_another_process_and_for_tables() -> None:
    kernel = Kernel(SUITE, by=("model",), justify_held=True)
    given = batch(PAYS, CHAT, "oh", None)
    again = pickle.loads(pickle.dumps(kernel))  # noqa: S301 - our own
    assert again(given) == kernel(given) == kernel(pa.Table.from_batches([given]))
    assert kernel(given.slice(1, 2)).num_rows == 3
    assert kernel(given.slice(0, 0)).num_rows == 0


def test_verdicts_are_those_of_a_check() -> None:
    suite = load_suite(ORDERS / "orders.evals.yaml")
    results = json.loads((ORDERS / "results.json").read_text("utf-8"))
    results = results["results"] if isinstance(results, dict) else results
    found = check_batch(batch(*map(json.dumps, results)), suite, justify_held=True)
    expected = [
        (
            report.name,
            report.case,
            number,
            verdict.operator,
            verdict.status,
            list(verdict.evidence),
            verdict.justification,
        )
        for report in SuiteCheck(suite).reports(iter_runs([ORDERS / "results.json"]))
        for number, verdict in enumerate(report.verdicts)
    ]
    assert rows(found, "name", "case", "check", "operator", "status", "evidence", "justification") == expected


@pytest.mark.parametrize(
    ("options", "error", "why"),
    [
        ({"case": "refun"}, UsageError, "refund was meant"),
        ({"by": ("a", "a")}, UsageError, "once"),
        ({"format_name": "openai"}, ReadError, "was meant"),
    ],
)
def test_options_that_cannot_be_used(options: dict[str, Any], error: type[Exception], why: str) -> None:
    with pytest.raises(error) as raised:
        Kernel(SUITE, **options)
    assert why in str(raised.value)


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"text": ["x"]}, "has a column raw, this has text"),
        ({"raw": [3]}, "the column raw holds binary, not int64"),
        ({"raw": [b"x"], "record": ["a"]}, "the column record holds int64, not string"),
    ],
)
def test_columns_that_cannot_be_used(given: dict[str, Any], why: str) -> None:
    with pytest.raises(UsageError) as raised:
        check_batch(pa.RecordBatch.from_pydict(given), SUITE)
    assert why in str(raised.value)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.one_of(st.none(), st.binary(max_size=40), st.sampled_from([PAYS, CHAT, BLOCKS]).map(str.encode))))
def test_every_record_has_exactly_one_set_of_verdicts(raws: list[bytes | None]) -> None:
    found = check_batch(batch(*raws), SUITE)
    firsts = [record for record, number in rows(found, "record", "check") if not number]
    assert sorted(set(firsts)) == list(range(1, len(raws) + 1))
    assert len(rows(found, "trace_id", "check")) == len(set(rows(found, "trace_id", "check")))
