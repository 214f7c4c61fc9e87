"""Whatever is changed in a usual history, decoding it at once makes the same trace or the same error as its reader."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from quick_support import USUAL_ANTHROPIC, USUAL_CHAT, USUAL_TAU2, told

from tracewitness.errors import ReadError
from tracewitness.readers import read
from tracewitness.readers.documents import decode_document
from tracewitness.readers.frameworks.tau2_quick import decode_simulation
from tracewitness.readers.providers import anthropic_quick, openai_chat_quick
from tracewitness.readers.registry import trace_of
from tracewitness.trace import Trace

#: The document, and what decodes it at once.
USUAL: dict[str, tuple[Any, Callable[[bytes], Trace | None]]] = {
    "chat completions": (USUAL_CHAT, openai_chat_quick.decode_history),
    "Anthropic": (USUAL_ANTHROPIC, anthropic_quick.decode_history),
    "tau2-bench": (USUAL_TAU2, decode_simulation),
}
_PIECES = [
    *(
        b"null",
        b'""',
        b'"x"',
        b"0",
        b"[]",
        b"{}",
        b",",
        b":",
        b'"',
        b"{",
        b"}",
        b"[",
        b"]",
        b" ",
        b"\n",
        b"\\",
        b"\xff",
    ),
    *(b"\\ud800", b"\\u003a", b"\\u0022", b"1e5", b"9" * 5000, b'"role":"user",', b'"content":"x",', b'"id":"c9",'),
    *(b'"tool"', b'"assistant"', b'"c1"', b"true", b"NaN", b"-0", b"\xe2\x80\xa8", b'"a":1,', b'{"a":1},'),
]


@st.composite
def _mutants(draw: st.DrawFn, data: bytes) -> bytes:
    """Cut pieces out of a document, put others in, and repeat some."""
    for _ in range(draw(st.integers(1, 3))):
        begin = draw(st.integers(0, len(data)))
        end = draw(st.integers(begin, min(len(data), begin + 40)))
        if draw(st.booleans()):
            data = data[:begin] + draw(st.sampled_from(_PIECES)) + data[end:]
        else:
            data = data[:end] + data[begin:]
    return data


def _tokens_of(data: bytes) -> list[bytes]:
    """Split a document between its tokens, so that pieces of it are values and pairs."""
    return [piece for piece in data.replace(b",", b"\0,\0").replace(b":", b"\0:\0").split(b"\0") if piece]


@st.composite
def _reordered(draw: st.DrawFn, data: bytes) -> bytes:
    """Change whole tokens of a document."""
    tokens = _tokens_of(data)
    for _ in range(draw(st.integers(1, 2))):
        index = draw(st.integers(0, len(tokens) - 1))
        tokens[index] = draw(st.sampled_from([*tokens, *_PIECES]))
    return b"".join(tokens)


def _outcome(read_one: Callable[[bytes], Trace], data: bytes) -> Any:
    try:
        trace = read_one(data)
    except ReadError as error:
        return str(error)
    return told(trace), trace.problems, trace.no_evidence, trace.name


@pytest.mark.parametrize("name", USUAL)
@pytest.mark.parametrize("spaced", [True, False])
def test_mutants_read_the_same(name: str, spaced: bool) -> None:
    """By `read`, which decodes at once where it can, and by detection and the reader alone."""
    document, decode = USUAL[name]
    data = json.dumps(document, ensure_ascii=False, separators=None if spaced else (",", ":")).encode()
    assert decode(data) is not None

    @settings(max_examples=300)
    @given(_mutants(data) | _reordered(data))
    def try_mutant(mutant: bytes) -> None:
        found = decode(mutant)
        if found is not None:
            slow = _outcome(lambda data: trace_of(decode_document(data)), mutant)
            assert _outcome(lambda _: found, mutant) == slow
            assert _outcome(read, mutant) == slow

    try_mutant()
