"""Histories of chat completions that are decoded at once make the same traces as those that are not."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracewitness.errors import ReadError
from tracewitness.readers import read
from tracewitness.readers.documents import decode_document
from tracewitness.readers.providers.openai_chat_quick import decode_history
from tracewitness.readers.registry import detected, trace_of

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
        tool_calls=st.one_of(st.none(), st.lists(_CALLS, max_size=3)),
    ),
    st.sampled_from([{}, {}, {}, {}, {"index": 1}, {"tool_calls": [{"id": "c", "name": "x", "arguments": {}}]}]),
)
_HISTORIES = st.lists(_MESSAGES, max_size=6)


def _slowly(data: bytes) -> Any:
    """Return what the reader makes of a document: a trace, or the words of its error."""
    try:
        return trace_of(decode_document(data))
    except ReadError as error:
        return str(error)


@given(_HISTORIES, st.booleans(), st.booleans())
def test_quick_and_slow_agree(messages: list[dict[str, Any]], spaced: bool, ascii_only: bool) -> None:
    """On events, problems, places and formats; and what is not decoded at once is left to the reader."""
    separators = None if spaced else (",", ":")
    data = json.dumps(messages, separators=separators, ensure_ascii=ascii_only).encode()
    for test_keys in (True, False):
        quick = decode_history(data, test_keys=test_keys)
        if quick is None:
            continue
        slow = _slowly(data)
        assert [reader.name for reader in detected(messages)] == ["openai-chat"]
        assert (quick.to_events(), quick.problems, quick.no_evidence) == (slow.to_events(), slow.problems, None)


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
