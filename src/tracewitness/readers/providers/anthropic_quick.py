"""Decode histories of Anthropic Messages at once, where they are written as most of them are.

As in `openai_chat_quick`, whatever has any oddity is left to the reader of the format. What a message says is a text or
a list of blocks, and no type is both JSON that is left alone and a list that is decoded: so blocks are decoded apart.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, ClassVar, Final

from msgspec import UNSET, Raw, Struct, UnsetType
from msgspec.structs import force_setattr

from tracewitness.errors import path_text
from tracewitness.readers.lean import (
    AFTER_TEXTS,
    Name,
    decode_object,
    decode_text,
    decoder_to,
    keys_are_unique,
    without_spaces,
)
from tracewitness.readers.recording import NO_IDS, Path
from tracewitness.trace import AnyRecord, Kind, LeanRecord, Record, Trace

__all__ = ["decode_history"]

_CacheControl = dict[str, str] | UnsetType | None


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

    user: Raw


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

    agent: Raw


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
    rename={"call": "name"},
):
    kind: ClassVar[Kind] = "call"

    id: Name
    call: Name
    input: Raw
    cache_control: _CacheControl = UNSET
    # What the input was decoded to when its keys were tested: nothing in a document can set it.
    args: UnsetType = UNSET


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

    def is_readable(self) -> bool:
        """Whether the content is a text or one block of text, in which no key stands twice."""
        if self.content < AFTER_TEXTS:
            return True
        blocks = _decode_one_text(self.content)
        return blocks is not None and bool(blocks[0].user < AFTER_TEXTS) and keys_are_unique(self.content, blocks)


_Messages = list[_Question | _Answer]
#: Blocks that are events at their own place.
_EVENTS: Final = frozenset({_Result, _Call, _AnswerText})
#: Blocks that no other format has.
_MARKS: Final = frozenset({_Result, _Call, _Thinking})
_Blocks = Iterator[list[Any]]
_decode: Final = decoder_to(list[_Question | _Answer])
_decode_questions: Final = decoder_to(list[list[_QuestionText | _Result]])
_decode_answers: Final = decoder_to(list[list[_AnswerText | _Call | _Thinking]])
_decode_one_text: Final = decoder_to(tuple[_QuestionText])


def decode_history(data: bytes, *, test_keys: bool = True) -> Trace | None:
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
    blocks = _blocks_of(messages, test_keys=test_keys)
    records = None if blocks is None else _records_of(messages, *blocks)
    return Trace(records, place_of=partial(_place_of, messages)) if records else None


def _blocks_of(messages: _Messages, *, test_keys: bool = False) -> tuple[_Blocks, _Blocks] | None:
    """Return the blocks of those messages that are no text: the user's and the model's; None where these are none.

    Those of one role are decoded together: to begin to decode costs more than to decode a block.
    """
    found = []
    for decode, pieces in (
        (
            _decode_questions,
            [said.user for said in messages if type(said) is _Question and not said.user < AFTER_TEXTS],
        ),
        (_decode_answers, [said.agent for said in messages if type(said) is _Answer and not said.agent < AFTER_TEXTS]),
    ):
        joined = b"[%b]" % b",".join(pieces)
        blocks = decode(joined)
        if blocks is None or (test_keys and not keys_are_unique(joined, blocks)):
            return None
        found.append(iter(blocks))
    return found[0], found[1]


def _records_of(messages: _Messages, questions: _Blocks, answers: _Blocks) -> list[AnyRecord] | None:
    """Make records of messages and blocks; None where one is odd, or none is of this format alone."""
    records: list[AnyRecord] = []
    is_marked = False
    for message in messages:
        if type(message) is _Answer:
            if message.agent < AFTER_TEXTS:
                records.append(message)
                continue
            blocks = next(answers)
            found = _answered(blocks)
        else:
            if message.user < AFTER_TEXTS:
                records.append(message)
                continue
            blocks = next(questions)
            found = _asked(blocks)
        if not found:  # something is odd, or there is nothing, or nothing but thoughts
            return None
        is_marked = is_marked or not _MARKS.isdisjoint(map(type, blocks))
        records += found
    return records if is_marked else None


def _answered(blocks: list[Any]) -> list[AnyRecord] | None:
    """Make records of what the model said and called; None where one is odd."""
    records: list[AnyRecord] = []
    for block in blocks:
        kind = type(block)
        if kind is _Call:
            args = decode_object(block.input)
            if args is None or block.id in NO_IDS:
                return None
            force_setattr(block, "args", args)
            records.append(block)
        elif kind is _AnswerText:
            if not block.agent < AFTER_TEXTS:
                return None
            records.append(block)
    return records


def _asked(blocks: list[Any]) -> list[AnyRecord] | None:
    """Make records of results, and one of all that the user said beside them; None where one is odd."""
    results = [block for block in blocks if type(block) is _Result]
    for result in results:
        if result.id in NO_IDS or not result.is_readable():
            return None
    if len(results) == len(blocks):
        return list(results)
    texts = [block for block in blocks if type(block) is _QuestionText]
    if not all(text.user < AFTER_TEXTS for text in texts):
        return None
    said = texts[0] if len(texts) == 1 else Record(user="\n".join(str(decode_text(text.user)) for text in texts))
    return [*results, said]


def _place_of(messages: _Messages, position: int) -> str:
    return path_text(_paths_of(messages)[position])


def _paths_of(messages: _Messages) -> list[Path]:
    """Return where each event stands, in the order of the records."""
    paths: list[Path] = []
    questions, answers = _blocks_of(messages) or (iter(()), iter(()))
    for index, message in enumerate(messages):
        is_question = type(message) is _Question
        is_text = (message.user if is_question else message.agent) < AFTER_TEXTS
        blocks = [] if is_text else next(questions if is_question else answers)
        paths += [(index, "content", number) for number, block in enumerate(blocks) if type(block) in _EVENTS]
        if is_text or any(type(block) is _QuestionText for block in blocks):
            paths.append((index,))
    return paths
