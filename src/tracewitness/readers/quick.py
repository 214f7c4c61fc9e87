"""Decode a usual document of the most frequent formats at once, without detection: see `lean`."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from tracewitness.readers.frameworks.tau2_quick import decode_simulation
from tracewitness.readers.providers import anthropic_quick, openai_chat_quick
from tracewitness.trace import Trace

__all__ = ["begins_as_history", "decode_quickly"]

_Decoders = tuple[tuple[str, Callable[..., Trace | None]], ...]

#: Matches what begins as a usual history.
begins_as_history: Final = re.compile(
    rb"""\s* (?: \[\s*\{\s* "(?:role|content)" \s*:\s* (?P<system> "system" | "developer" )?
    | (?P<simulation> \{ ) \s* "(?:id|task_id)" \s*: )""",
    re.VERBOSE,
).match
# A history of Anthropic mostly has blocks among what comes first.
_BLOCKS: Final = (b'"content":[', b'"content": [')
_SEEN: Final = 4096
_CHAT_FIRST: Final[_Decoders] = (
    ("openai-chat", openai_chat_quick.decode_history),
    ("anthropic-messages", anthropic_quick.decode_history),
)
_BLOCKS_FIRST: Final = _CHAT_FIRST[::-1]
_SIMULATION: Final[_Decoders] = (("tau2-bench", decode_simulation),)


def decode_quickly(
    data: bytes, format_name: str | None = None, *, name: str = "", test_keys: bool = True
) -> Trace | None:
    """Decode a usual history; None where data is none, or has any oddity.

    Arguments:
        data: a document, or a line of JSON Lines.
        format_name: the format that it has to be in.
        name: the run's name where it has none.
        test_keys: whether to make sure that no key stands twice in an object.

    >>> decode_quickly(b'[{"role": "user", "content": "hi"}]', name="order-1")
    <Trace order-1: 1 events>
    """
    begun = begins_as_history(data)
    if begun is None:
        return None
    for known_name, decode in _decoders_for(data, begun.lastgroup):
        if format_name is None or format_name == known_name:
            trace = decode(data, name=name, test_keys=test_keys)
            if trace is not None:
                return trace
    return None


def _decoders_for(data: bytes, begun: str | None) -> _Decoders:
    if begun is not None:
        return _SIMULATION if begun == "simulation" else _CHAT_FIRST
    return _BLOCKS_FIRST if any(data.find(mark, 0, _SEEN) >= 0 for mark in _BLOCKS) else _CHAT_FIRST
