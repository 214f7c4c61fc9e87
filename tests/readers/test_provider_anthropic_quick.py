"""Histories of Anthropic Messages that are decoded at once make the same traces as those that are not."""

from __future__ import annotations

import json
import pickle
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from quick_support import optional, told

from tracewitness.errors import ReadError
from tracewitness.readers import read
from tracewitness.readers.documents import decode_document
from tracewitness.readers.providers.anthropic_quick import decode_history
from tracewitness.readers.registry import detected, trace_of

_TEXTS = st.sampled_from(["", "hi", "null", "a:b", 'say "so": "no"', "é\u2028\n\t\\", "\u007f", "}, {"])
_IDS = st.sampled_from(["t1", "t2", "t1", "", "null", None, 7])
_CACHED = st.sampled_from([None, {"type": "ephemeral"}])
_TEXT_BLOCKS = optional({"type": st.just("text"), "text": _TEXTS}, cache_control=_CACHED)
_INPUTS: st.SearchStrategy[Any] = st.sampled_from(
    [{}, {"q": "lamp"}, {"q": {"a": [1, {"b": 2.50}]}}, {"a:b": ":"}, {"n": 1e400}, None, [], "{}", {"é": "\u2028"}]
)
_CALLS = optional(
    {"type": st.just("tool_use"), "id": _IDS, "name": _TEXTS, "input": _INPUTS},
    cache_control=_CACHED,
)
_CONTENTS: st.SearchStrategy[Any] = (
    _TEXTS | st.lists(_TEXT_BLOCKS, max_size=2) | st.sampled_from([None, {}, [{"type": "image"}]])
)
_RESULTS = optional(
    {"type": st.just("tool_result"), "tool_use_id": _IDS},
    content=_CONTENTS,
    is_error=st.sampled_from([True, False, None]),
)
_OTHERS = st.sampled_from(
    [{"type": "thinking", "thinking": "hm", "signature": "x"}, {"type": "image", "source": {}}, {"type": 3}, "text"]
)
_BLOCKS = st.lists(_TEXT_BLOCKS | _CALLS | _RESULTS | _OTHERS, max_size=4)
_USUAL_BLOCKS = st.lists(_TEXT_BLOCKS | _CALLS, max_size=3)
_MESSAGES = st.fixed_dictionaries(
    {"role": st.just("assistant"), "content": _TEXTS | _USUAL_BLOCKS | _BLOCKS}
) | st.fixed_dictionaries(
    {"role": st.sampled_from(["user", "user", "system", "tool"]), "content": _TEXTS | st.lists(_RESULTS) | _BLOCKS}
)
_SEPARATORS = st.sampled_from([(", ", ": "), (",", ":")])


@settings(max_examples=400)
@given(st.lists(_MESSAGES, max_size=6), st.sampled_from([None, 2]), _SEPARATORS, st.booleans())
def test_quick_and_slow_agree(
    messages: list[dict[str, Any]], indent: int | None, separators: tuple[str, str], ascii_only: bool
) -> None:
    """On events, problems, places and formats; and what is not decoded at once is left to the reader."""
    data = json.dumps(messages, indent=indent, separators=separators, ensure_ascii=ascii_only).encode()
    for quick in (decode_history(data), decode_history(data, test_keys=False)):
        if quick is not None:
            slow = trace_of(decode_document(data))
            assert [reader.name for reader in detected(decode_document(data))] == ["anthropic-messages"]
            assert told(quick) == told(slow)
            assert (quick.problems, quick.no_evidence) == (slow.problems, None)
            assert told(pickle.loads(pickle.dumps(quick))) == told(slow)  # noqa: S301 - our own


@pytest.mark.parametrize("separators", [(", ", ": "), (",", ":")])
def test_usual_histories_are_decoded_at_once(separators: tuple[str, str]) -> None:
    """With all that most of them have, in one of them."""
    messages = [
        {"role": "user", "content": [{"type": "text", "text": "é: hi", "cache_control": {"type": "ephemeral"}}]},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "hm", "signature": "x"},
                {"type": "text", "text": "well"},
                {"type": "tool_use", "id": "t1", "name": "a", "input": {"q": {"n": 1.50}}},
                {"type": "tool_use", "id": "t2", "name": "b", "input": {}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "and"},
                {"type": "tool_result", "tool_use_id": "t2", "content": "{}", "is_error": True},
                {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "3"}]},
                {"type": "text", "text": "so"},
            ],
        },
        {"role": "assistant", "content": "done"},
    ]
    text = json.dumps(messages, separators=separators)
    trace = decode_history(text.encode())
    assert trace is not None
    assert trace.to_events() == [
        {"user": "é: hi"},
        {"agent": "well"},
        {"call": "a", "args": {"q": {"n": 1.5}}, "id": "t1"},
        {"call": "b", "args": {}, "id": "t2"},
        {"result": "{}", "id": "t2", "is_error": True},
        {"result": "3", "id": "t1"},
        {"user": "and\nso"},
        {"agent": "done"},
    ]
    assert read(text) == read(messages) == trace


@pytest.mark.parametrize(
    "text",
    [
        '[{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"a","input":{"a":1,"a":2}}]}]',
        '[{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"a","input":{"b":{"a":1,"a":2}}}]}]',
        # What is decoded could be written longer than it was, and make up for the pair that is missing.
        '[{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"a","input":{"a":1,"a":1e5,"b":1}}]}]',
        '[{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"a","input":{"a":1,"a":1E9}}]}]',
        '[{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"a","input":{"":1,"":[1e3,1e3]}}]}]',
        '[{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"a","input":{"a":"\\u003a","a":"::"}}]}]',
        '[{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"a","name":"b","input":{}}]}]',
        '[{"role": "assistant", "content": [{"type": "tool_use", "id": "1", "name": "a", "name": "b", "input": {}}]}]',
        '[{"role":"assistant","content":"hi","content":[{"type":"tool_use","id":"1","name":"a","input":{}}]}]',
        '[{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":[{"type":"text","text":"a",'
        '"text":"b"}]}]}]',
    ],
)
def test_keys_that_stand_twice_are_found(text: str) -> None:
    """At every depth, also in the arguments."""
    assert decode_history(text.encode()) is None
    with pytest.raises(ReadError, match="stands twice"):
        read(text)


def test_what_is_odd_keeps_its_place() -> None:
    """A result that answers nothing names its message and its number there."""
    results = [{"type": "text", "text": "so"}, {"type": "tool_result", "tool_use_id": "t9", "content": "{"}]
    trace = decode_history(json.dumps([{"role": "user", "content": results}]).encode())
    assert trace is not None
    assert [problem.place for problem in trace.problems] == ["$[0].content[1]"]


@pytest.mark.parametrize("number", ["1e5", "1.50", "-0.0", "1e400", "-1e400", "1e-7", "9" * 30, "-0", "0.1"])
@pytest.mark.parametrize("separators", [None, (",", ":")])
def test_numbers_are_those_of_the_reader(number: str, separators: tuple[str, str] | None) -> None:
    """Whether they are written as they would be again, or longer, or go beyond what a number can be."""
    call = {"type": "tool_use", "id": "1", "name": "a", "input": {"n": [0], "m": {"a": "b"}}}
    text = json.dumps([{"role": "assistant", "content": [call]}], separators=separators)
    data = text.replace("0", number).encode()
    quick, slow = decode_history(data), trace_of(decode_document(data))
    assert quick is None or told(quick) == told(slow)
    assert told(read(data)) == told(slow)


def test_numbers_that_are_too_long_are_found() -> None:
    """They are more than Python converts."""
    call = {"type": "tool_use", "id": "1", "name": "a", "input": {"n": 0}}
    data = json.dumps([{"role": "assistant", "content": [call]}]).replace("0", "9" * 5000).encode()
    assert decode_history(data) is None
    with pytest.raises(ReadError, match="digits"):
        read(data)
