"""Runs by their names in one mapping, each in a format of its own."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tracewitness.errors import ReadError
from tracewitness.readers import read, read_all
from tracewitness.readers.registry import detected

HELLO = {"messages": [{"role": "user", "content": "Hello."}]}
CALL = {"contents": [{"role": "model", "parts": [{"functionCall": {"name": "a"}}]}]}


ODD: list[Any] = [
    {"first": []},
    {"first": HELLO["messages"], "second": []},
    {"first": [{"user": "bob", "age": 3}]},
    {"first": ["a"], "second": [1]},
    {"first": HELLO["messages"], "second": 3},
]


def test_each_is_read_in_its_format() -> None:
    """And goes by its name, where it has none itself."""
    own = {"name": "own", "events": [{"call": "b"}]}
    traces = list(read_all({"first": HELLO, "second": CALL, "third": own}))
    assert [(trace.name, [call.name for call in trace.calls]) for trace in traces] == [
        ("first", []),
        ("second", ["a"]),
        ("own", ["b"]),
    ]


def test_one_alone_is_a_run() -> None:
    """Two are not."""
    assert read({"first": CALL}).name == "first"
    with pytest.raises(ReadError, match="several runs"):
        read({"first": HELLO, "second": CALL})


def test_messages_are_runs() -> None:
    """As are events, and messages of a format that needs no mapping around them."""
    document = {"first": HELLO["messages"], "second": CALL["contents"], "third": [{"user": "hi"}, {"call": "b"}]}
    for source in (document, json.dumps(document)):
        assert [(trace.name, [call.name for call in trace.calls]) for trace in read_all(source)] == [
            ("first", []),
            ("second", ["a"]),
            ("third", ["b"]),
        ]


PARTS = [
    {"request": HELLO, "response": CALL},
    {"Request": HELLO, "_response": CALL},
    {"input": HELLO, "output": CALL},
    {"inputs": HELLO["messages"], "outputs": CALL},
    {"prompt": HELLO["messages"], "completion": CALL["contents"]},
    {"llm_request": HELLO, "llm_response": CALL, "other": CALL},
    {"modelInput": HELLO, "modelOutput": CALL},
    {"input-1": HELLO, "output-1": CALL},
    {"question": HELLO, "answer": CALL},
    {"history": HELLO["messages"], "new": CALL},
    {"first": HELLO, "response": CALL},
]


@pytest.mark.parametrize("document", PARTS)
def test_parts_of_one_exchange_are_no_runs(document: Any) -> None:
    """What was asked and what was answered belong together."""
    assert "named-runs" not in [reader.name for reader in detected(document)]


@pytest.mark.parametrize(
    "document",
    [
        {"order_request": HELLO, "refund_request": CALL},
        {"bad response": CALL, "good response": CALL},
        {"response": CALL},
    ],
)
def test_names_that_only_sound_like_parts(document: Any) -> None:
    """They are names like others."""
    assert [trace.name for trace in read_all(document)] == list(document)


@pytest.mark.parametrize(
    "document", [{}, {"first": {}}, {"first": HELLO, "second": {"x": 1}}, {"first": {"a": HELLO}}, *ODD]
)
def test_what_is_none(document: Any) -> None:
    """One that is no run leaves all in doubt."""
    with pytest.raises(ReadError):
        list(read_all(document))


@pytest.mark.parametrize("document", [3, None])
def test_what_is_refused_by_name(document: Any) -> None:
    """With what one looks like."""
    with pytest.raises(ReadError, match="a mapping of names to runs"):
        list(read_all([document], "named-runs"))


def test_a_format_that_knows_such_a_mapping_has_it() -> None:
    """It would not be ambiguous."""
    assert [reader.name for reader in detected({"first": HELLO, "second": CALL})] == ["named-runs"]
    deep: Any = CALL
    for _ in range(500):
        deep = {"first": deep}
    for source in (deep, json.dumps(deep)):
        with pytest.raises(ReadError):
            read(source)
