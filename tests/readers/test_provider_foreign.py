"""A recording that is read under the name of another format: it is refused where nothing in it is of that one."""

from __future__ import annotations

from typing import Any

import pytest
from test_provider_mutations import SAMPLES
from test_stream_mutations import SAMPLES as STREAM_SAMPLES

from tracewitness.errors import ReadError
from tracewitness.readers import READERS, read

_NAMES = [reader.name for reader in READERS if ".providers." in reader.read.__module__]
_DOCUMENTS: dict[str, Any] = {**{name: SAMPLES[name] for name in SAMPLES if name in _NAMES}, **STREAM_SAMPLES}
# Formats whose messages are nothing like those of chat completions.
_UNLIKE = ("gemini", "bedrock", "cohere-chat", "mistral", "openai-assistants")
_CALL = {"id": "c1", "type": "function", "function": {"name": "act", "arguments": "{}"}}
_CHAT = [
    {"role": "user", "content": "hi"},
    {"role": "assistant", "content": None, "tool_calls": [_CALL]},
    {"role": "tool", "tool_call_id": "c1", "content": "ok"},
    {"role": "assistant", "content": "Done."},
]


@pytest.mark.parametrize("name", _NAMES)
@pytest.mark.parametrize("written", _DOCUMENTS)
def test_no_trace_is_without_evidence(written: str, name: str) -> None:
    """What another format has no words for is refused; where a part of it fits, the rest is a problem."""
    document = _DOCUMENTS[written]
    try:
        trace = read(document, name)
    except ReadError:
        return
    assert trace.no_evidence is None or "failed" in trace.no_evidence
    calls = [(call.name, call.args) for call in trace.calls]
    assert trace.problems or calls == [(call.name, call.args) for call in read(document).calls]


@pytest.mark.parametrize("name", [name for name in _NAMES if name.startswith(_UNLIKE)])
def test_a_history_of_chat_completions(name: str) -> None:
    """The error says what is there, and what was to be."""
    with pytest.raises(ReadError, match=r"\$\[[01]\].*; .+"):
        read(_CHAT[1:3], name)


@pytest.mark.parametrize("field", ["tool_calls", "toolCalls", "tool_call", "function_call"])
@pytest.mark.parametrize("name", ["anthropic-messages", "openai-responses", "bedrock-converse", "gemini-interactions"])
def test_calls_that_another_format_writes(name: str, field: str) -> None:
    """Messages are much alike, so those of chat completions may be read as others; their calls are not lost then."""
    said = [{"role": "user", "content": [{"type": "text", "text": "hi"}]}]
    for role in ("assistant", "model"):
        answer = {"role": role, "content": [{"type": "text", "text": "x"}], field: [_CALL]}
        assert any(problem.hides_call for problem in read([*said, answer], name).problems)


def test_a_broken_document_of_its_own_format_is_read() -> None:
    """Its problems are what there is to say of it."""
    trace = read([{"role": "assistant", "content": None, "tool_calls": [{"function": {"name": ""}}]}], "openai-chat")
    assert trace.problems
    assert trace.no_evidence
