"""Decode histories of Anthropic Messages at once, where they are written as most of them are.

As in `openai_chat_quick`, whatever has any oddity is left to the reader of the format. What a message says is a text or
a list of blocks, and no type is both JSON that is left alone and a list that is decoded: so such a text is decoded,
and those of blocks are not.
"""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar, Final

from msgspec import UNSET, Raw, Struct, UnsetType

from tracewitness.errors import path_text
from tracewitness.readers.lean import (
    AFTER_TEXTS,
    Name,
    decode_text,
    decoder_to,
    keys_are_unique,
    without_spaces,
)
from tracewitness.readers.recording import NO_IDS, Path
from tracewitness.trace import AnyRecord, Kind, LeanRecord, Record, Trace

__all__ = ["decode_history"]

_CacheControl = dict[str, str] | UnsetType | None


class _QuestionText(
    LeanRecord, frozen=True, gc=False, forbid_unknown_fields=True, tag_field="type", tag="text", rename={"user": "text"}
):
    kind: ClassVar[Kind] = "user"

    user: Raw
    cache_control: _CacheControl = UNSET


class _AnswerText(
    LeanRecord,
    frozen=True,
    gc=False,
    forbid_unknown_fields=True,
    tag_field="type",
    tag="text",
    rename={"agent": "text"},
):
    kind: ClassVar[Kind] = "agent"

    agent: Raw
    cache_control: _CacheControl = UNSET


class _Thinking(Struct, frozen=True, gc=False, forbid_unknown_fields=True, tag_field="type", tag="thinking"):
    thinking: str
    signature: str | UnsetType = UNSET


class _Call(
    LeanRecord,
    frozen=True,
    gc=False,
    forbid_unknown_fields=True,
    tag_field="type",
    tag="tool_use",
    rename={"call": "name", "args": "input"},
):
    kind: ClassVar[Kind] = "call"

    id: Name
    call: Name
    args: dict[str, Any]
    cache_control: _CacheControl = UNSET


class _Result(
    LeanRecord,
    frozen=True,
    gc=False,
    forbid_unknown_fields=True,
    tag_field="type",
    tag="tool_result",
    rename={"id": "tool_use_id"},
):
    kind: ClassVar[Kind] = "result"

    id: Name
    content: Raw
    is_error: bool | UnsetType = UNSET
    cache_control: _CacheControl = UNSET

    @property
    def result(self) -> Raw:
        """The payload: a text, or that of the only block."""
        return self.content if self.content < AFTER_TEXTS else _decode_one_text(self.content)[0].user  # type: ignore[index]

    def is_one_text(self) -> bool:
        """Whether the content is one block of text, in which no key stands twice."""
        blocks = _decode_one_text(self.content)
        return blocks is not None and bool(blocks[0].user < AFTER_TEXTS) and keys_are_unique(self.content, blocks)


class _Question(
    LeanRecord,
    frozen=True,
    gc=False,
    forbid_unknown_fields=True,
    tag_field="role",
    tag="user",
    rename={"user": "content"},
):
    kind: ClassVar[Kind] = "user"

    user: str | list[_QuestionText | _Result]


class _Answer(
    LeanRecord,
    frozen=True,
    gc=False,
    forbid_unknown_fields=True,
    tag_field="role",
    tag="assistant",
    rename={"agent": "content"},
):
    kind: ClassVar[Kind] = "agent"

    agent: str | list[_AnswerText | _Call | _Thinking]


_Messages = list[_Question | _Answer]
#: Blocks that are events at their own place.
_EVENTS: Final = frozenset({_Result, _Call, _AnswerText})
#: Blocks that no other format has.
_MARKS: Final = frozenset({_Result, _Call, _Thinking})
_decode: Final = decoder_to(list[_Question | _Answer])
_decode_one_text: Final = decoder_to(tuple[_QuestionText])


def decode_history(data: bytes, *, name: str = "", test_keys: bool = True) -> Trace | None:
    """Decode a list of messages with a call, a result or a thought.

    Arguments, result: as of `openai_chat_quick.decode_history`.

    >>> block = b'{"type": "tool_use", "id": "t1", "name": "search", "input": {}}'
    >>> decode_history(b'[{"role": "assistant", "content": [' + block + b"]}]").to_events()
    [{'call': 'search', 'args': {}, 'id': 't1'}]
    >>> decode_history(b'[{"role": "user", "content": "hi"}]')
    """
    document = without_spaces(data) if test_keys else data
    messages = _decode(document)
    if messages is None or (test_keys and not keys_are_unique(document, messages)):
        return None
    records = _records_of(messages)
    return Trace(records, name=name, place_of=partial(_place_of, messages)) if records else None


def _records_of(messages: _Messages) -> list[AnyRecord] | None:
    """Make records of messages and blocks; None where one is odd, or none is of this format alone."""
    records: list[AnyRecord] = []
    is_marked = False
    for message in messages:
        is_answer = type(message) is _Answer
        said: Any = message.agent if is_answer else message.user
        if type(said) is str:
            records.append(message)
            continue
        found = _answered(said) if is_answer else _asked(said)
        if not found:  # something is odd, or there is nothing, or nothing but thoughts
            return None
        is_marked = is_marked or any(type(block) in _MARKS for block in said)
        records += found
    return records if is_marked else None


def _answered(blocks: list[Any]) -> list[AnyRecord] | None:
    """Make records of what the model said and called; None where a block is odd."""
    for block in blocks:
        kind = type(block)
        if kind is _Call:
            if block.id in NO_IDS:
                return None
        elif kind is _AnswerText and not block.agent < AFTER_TEXTS:
            return None
    return blocks if _Thinking not in map(type, blocks) else [block for block in blocks if type(block) is not _Thinking]


def _asked(blocks: list[Any]) -> list[AnyRecord] | None:
    """Make records of results, and one of all that the user said beside them; None where a block is odd."""
    texts = []
    for block in blocks:
        if type(block) is _QuestionText:
            if not block.user < AFTER_TEXTS:
                return None
            texts.append(block)
        elif block.id in NO_IDS or not (block.content < AFTER_TEXTS or block.is_one_text()):
            return None
    if not texts:
        return blocks
    results = [block for block in blocks if type(block) is _Result]
    said = texts[0] if len(texts) == 1 else Record(user="\n".join(str(decode_text(text.user)) for text in texts))
    return [*results, said]


def _place_of(messages: _Messages, position: int) -> str:
    return path_text(_paths_of(messages)[position])


def _paths_of(messages: _Messages) -> list[Path]:
    """Return where each event stands, in the order of the records."""
    paths: list[Path] = []
    for index, message in enumerate(messages):
        said = message.user if type(message) is _Question else message.agent
        blocks = [] if type(said) is str else said
        paths += [(index, "content", number) for number, block in enumerate(blocks) if type(block) in _EVENTS]
        if type(said) is str or any(type(block) is _QuestionText for block in blocks):
            paths.append((index,))
    return paths
