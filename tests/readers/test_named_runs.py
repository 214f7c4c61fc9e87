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


@pytest.mark.parametrize("document", [{}, {"first": {}}, {"first": HELLO, "second": {"x": 1}}, {"first": {"a": HELLO}}])
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
