"""Histories of chat completions that are decoded at once make the same traces as those that are not."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from quick_support import told

from tracewitness.errors import ReadError
from tracewitness.readers import read
from tracewitness.readers.documents import decode_document
from tracewitness.readers.providers.openai_chat_quick import decode_history, history_of
from tracewitness.readers.registry import detected, trace_of
from tracewitness.trace import Trace

_TEXTS = st.sampled_from(["", "hi", "null", "a:b", 'say "so": "no"', "é\u2028\n\t\\", "\u007f", "1"])
_MAYBE = st.one_of(st.none(), _TEXTS)
_ARGUMENTS = st.sampled_from(
    [
        *("{}", "", "null", "[]", '{}""', '{"q": "lamp"}', '{"q":{"a":[1,{"b":2}]}}', '{"a":1,"a":2}'),
        *('{"a":"x:y","a":1}', '"{\\"q\\": 1}"', "{", "[1]", '{"a":1}{"a":2}', "7", '{"\\u003a": 1, "b": ":"}'),
        '{"n": 1' + "0" * 5000 + "}",
    ]
)


def _optional(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({}, optional=fields)


def _joined(*parts: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    return st.tuples(*parts).map(lambda found: {key: value for part in found for key, value in part.items()})


_FUNCTIONS = _joined(st.fixed_dictionaries({"name": _TEXTS}), _optional(arguments=st.one_of(st.none(), _ARGUMENTS)))
_CALLS = _joined(st.fixed_dictionaries({"function": _FUNCTIONS}), _optional(id=_MAYBE, type=st.just("function")))
_MESSAGES = _joined(
    st.fixed_dictionaries(
        {"role": st.sampled_from(["system", "developer", "user", "assistant", "tool", "function", "x"])}
    ),
    _optional(
        content=st.one_of(_MAYBE, st.just([{"type": "text", "text": "hi"}])),
        name=_MAYBE,
        tool_call_id=_MAYBE,
        refusal=_MAYBE,
        function_call=st.none(),
        audio=st.none(),
        annotations=st.sampled_from([None, [], [{"type": "url_citation"}]]),
        tool_calls=st.one_of(st.none(), st.lists(_CALLS, max_size=3)),
    ),
    st.sampled_from([{}, {}, {}, {}, {"index": 1}, {"tool_calls": [{"id": "c", "name": "x", "arguments": {}}]}]),
)
_HISTORIES = st.lists(_MESSAGES, max_size=6)


@given(_HISTORIES, st.sampled_from([None, 0, 2]), st.sampled_from([(", ", ": "), (",", ":")]), st.booleans())
def test_quick_and_slow_agree(
    messages: list[dict[str, Any]], indent: int | None, separators: tuple[str, str], ascii_only: bool
) -> None:
    """On events, problems, places and formats; and what is not decoded at once is left to the reader."""
    data = json.dumps(messages, indent=indent, separators=separators, ensure_ascii=ascii_only).encode()
    found = [decode_history(data), decode_history(data, test_keys=False), history_of(messages)]
    for quick in found:
        if quick is not None:
            slow = trace_of(decode_document(data))
            assert [reader.name for reader in detected(messages)] == ["openai-chat"]
            assert told(quick) == told(slow)
            assert (quick.problems, quick.no_evidence) == (slow.problems, None)
            assert told(pickle.loads(pickle.dumps(quick))) == told(slow)  # noqa: S301 - our own
            assert told(Trace.from_events(quick.to_events())) == told(slow)
    assert not (is_usual(messages) and None in found)


def is_usual(messages: list[dict[str, Any]]) -> bool:
    """Whether nothing is odd in messages: then they are decoded at once."""
    return bool(messages) and all(map(_is_usual, messages)) and not any(m["role"] == "tool" for m in messages)


def _is_usual(message: dict[str, Any]) -> bool:
    keys = (
        {"role", "content", "refusal", "annotations", "audio", "function_call"}
        if message["role"] == "assistant"
        else {"role", "content"}
    )
    return (
        message["role"] in ("system", "developer", "user", "assistant")
        and keys.issuperset(message)
        and isinstance(message.get("content"), str)
        and message.get("refusal") is None
        and not message.get("annotations")
    )


@pytest.mark.parametrize("spaced", [True, False])
def test_usual_histories_are_decoded_at_once(spaced: bool) -> None:
    """Whether there are spaces in them or not, and with accents and line breaks."""
    messages = [
        {"role": "system", "content": "é\n: "},
        {"role": "user", "content": "hi"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "1", "type": "function", "function": {"name": "a", "arguments": '{"q": 1}'}}],
        },
        {"role": "tool", "tool_call_id": "1", "name": "a", "content": "{}"},
    ]
    text = json.dumps(messages, separators=None if spaced else (",", ":"), ensure_ascii=False)
    assert decode_history(text.encode()) is not None
    assert read(text) == read(messages)


@pytest.mark.parametrize(
    "text",
    [
        '[{"role": "tool", "tool_call_id": "1", "content": "a", "content": "b"}]',
        '[{"role":"tool","tool_call_id":"1","content":"a","content":"b"}]',
        '[{"role":"tool","tool_call_id":"1","content":"\\u003a\\u003a","content":"::"}]',
        '[{"role":"tool","tool_call_id":"1","content":"\\u0041\\u0041","content":"b"}]',
        '[{"role":"assistant","tool_calls":[{"function":{"name":"a","name":"b"}}]}]',
        '[{"role":"assistant","tool_calls":[],"tool_calls":[{"function":{"name":"b"}}]}]',
    ],
)
def test_keys_that_stand_twice_are_found(text: str) -> None:
    """Unless that is not asked for."""
    assert decode_history(text.encode()) is None
    assert decode_history(text.encode(), test_keys=False) is not None
    with pytest.raises(ReadError, match="stands twice"):
        read(text)
    assert len(read(text, test_keys=False)) == 1


def test_arguments_keep_their_place() -> None:
    """A problem of a call names its message and its number there."""
    call = {"function": {"name": "a", "arguments": "{"}}
    messages = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "", "tool_calls": [call, call]}]
    assert [problem.place for problem in read(json.dumps(messages)).problems] == [
        "$[1].tool_calls[0]",
        "$[1].tool_calls[1]",
    ]


_SPACES = st.sampled_from(["", "", "", " ", " ", "  ", "\n"])


@st.composite
def _documents_with_a_repeated_key(draw: st.DrawFn) -> str:
    """Write a usual history in which one object has a key twice, with any spaces between its tokens."""
    call = [("function", [("name", '"a"'), ("arguments", '"{}"')]), ("id", '"1"'), ("type", '"function"')]
    messages: list[list[tuple[str, Any]]] = [
        [("role", '"user"'), ("content", draw(st.sampled_from(['"hi"', '"a, b: c"', '"}, {"', '""'])))],
        [("role", '"assistant"'), ("content", "null"), ("tool_calls", [call])],
        [("role", '"tool"'), ("tool_call_id", '"1"'), ("name", '"a"'), ("content", '"{\\"a\\": 1}"')],
    ]
    pairs = draw(st.sampled_from([*messages, call, call[0][1]]))
    key, _ = draw(st.sampled_from(pairs))
    values = ['""', "null", '"user"', '"tool"', '"1"', '"function"', '[{"a": 1}, {"role": "user"}]', "0", "[]", "{}"]
    texts = st.text(st.characters(max_codepoint=127), max_size=40).map(json.dumps)
    pairs.insert(draw(st.integers(0, len(pairs))), (key, draw(st.sampled_from(values) | texts)))
    return _written(messages, lambda: draw(_SPACES))


def _written(value: Any, space: Callable[[], str]) -> str:
    """Write lists, and lists of pairs as objects; texts are JSON already."""
    if isinstance(value, str):
        return value
    if value and isinstance(value[0], tuple):
        pairs = (f'"{key}"{space()}:{space()}{_written(item, space)}{space()}' for key, item in value)
        return "{" + space() + f",{space()}".join(pairs) + "}"
    return "[" + space() + f",{space()}".join(_written(item, space) + space() for item in value) + "]"


@settings(max_examples=500)
@given(_documents_with_a_repeated_key())
def test_no_repeated_key_is_taken_in_silence(text: str) -> None:
    """At whatever depth it stands, and whatever spaces there are elsewhere to make up for its length."""
    assert decode_history(text.encode()) is None
    with pytest.raises(ReadError, match="stands twice"):
        read(text)


def test_what_only_looks_like_text_is_left_to_the_reader() -> None:
    """Of data, only texts themselves are taken, and what happens to the data later does not change the trace."""

    class Loose(str):
        def __eq__(self, other: object) -> bool:
            return True

        __hash__ = str.__hash__

    messages: list[dict[str, Any]] = [{"role": "user", "content": Loose("hi")}]
    assert history_of(messages) is None
    assert [type(event["user"]) for event in read(messages).to_events()] == [str]
    messages = [{"role": "user", "content": "hi"}, {"role": "tool", "tool_call_id": "1", "content": "3"}]
    trace = history_of(messages)
    assert trace is not None
    messages[0]["content"] = "bye"
    messages.clear()
    assert trace.to_events() == [{"user": "hi"}, {"result": "3", "id": "1"}]
