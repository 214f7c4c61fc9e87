"""Decode histories of chat completions at once, where they are written as most of them are.

A typed decoder is quicker than a plain one, and what it decodes needs no detection. Whatever has any oddity is left to
the reader of `openai_chat`, which makes the same trace of what is decoded here.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final, Literal

import msgspec
from msgspec import UNSET, Struct, UnsetType

from tracewitness.errors import path_text
from tracewitness.readers.recording import NO_IDS, Path, id_of, read_arguments
from tracewitness.trace import Record, Trace

__all__ = ["decode_history"]

_Text = str | UnsetType | None


def _named(**names: str) -> Callable[[str], str]:
    """Return how fields are named in a message. Those that a message does not have get a name that no key is."""
    return lambda field: names.get(field, f"\0{field}")


# Messages are events themselves where one is one event: to make others of them would take as long as decoding. Every
# value in them is a text, so that `_keys_are_unique` can go by lengths.


class _System(
    Record, frozen=True, gc=False, kw_only=True, tag_field="role", tag="system", rename=_named(system="content")
):
    system: str


class _Developer(_System, frozen=True, gc=False, tag="developer", rename=_named(system="content")):
    pass


class _User(Record, frozen=True, gc=False, kw_only=True, tag_field="role", tag="user", rename=_named(user="content")):
    user: str


class _Result(
    Record,
    frozen=True,
    gc=False,
    kw_only=True,
    tag_field="role",
    tag="tool",
    rename=_named(result="content", of="name", id="tool_call_id"),
):
    result: str | None
    of: _Text = UNSET
    id: _Text = UNSET


class _Function(Struct, frozen=True, gc=False, forbid_unknown_fields=True):
    name: str
    arguments: _Text = UNSET


class _Call(Struct, frozen=True, gc=False, forbid_unknown_fields=True):
    function: _Function
    id: _Text = UNSET
    type: Literal["function"] | UnsetType = UNSET


class _Answer(
    Record,
    frozen=True,
    gc=False,
    kw_only=True,
    tag_field="role",
    tag="assistant",
    rename=_named(agent="content", by="name", calls="tool_calls", refusal="refusal", former="function_call"),
):
    agent: _Text = UNSET  # type: ignore[assignment]
    by: _Text = UNSET
    calls: list[_Call] | UnsetType | None = UNSET
    refusal: UnsetType | None = UNSET
    former: UnsetType | None = UNSET


_Message = _System | _Developer | _User | _Result | _Answer
# What stands for no name or no id, where one is written.
_ODD: Final = NO_IDS | {None}
_decode: Final = msgspec.json.Decoder(list[_Message]).decode
_encode: Final = msgspec.json.Encoder().encode


def decode_history(data: bytes, *, test_keys: bool = True) -> Trace | None:
    """Decode a list of messages with a call or a result.

    Arguments:
        test_keys: whether to make sure that no key stands twice in an object.

    Returns:
        The trace; None where data is anything else, or has any oddity.

    >>> decode_history(b'[{"role": "tool", "tool_call_id": "c1", "content": "3"}]').to_events()
    [{'result': '3', 'id': 'c1'}]
    >>> decode_history(b'[{"role": "user", "content": "hi"}]')
    """
    try:
        messages = _decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    if test_keys and not _keys_are_unique(data, messages):
        return None
    records = _records_of(messages)
    return None if records is None else Trace(records, place_of=partial(_place_of, messages))


def _keys_are_unique(data: bytes, messages: list[_Message]) -> bool:
    """Whether it is certain that no key stands twice.

    Texts are never longer when they are encoded again, and there is nothing else in messages; so an encoding of the
    same length shows that nothing was dropped. Where spaces or escapes made it shorter, colons are counted: each key
    has one, all others stand in texts, and an escape could only make up for one where it is written as such.
    """
    encoded = _encode(messages)
    if len(encoded) == len(data):
        return True
    return b"\\u003" not in data and data.count(b":") == encoded.count(b":")


def _records_of(messages: list[_Message]) -> list[Record] | None:
    """Make events of messages; None where one is odd, or none has a call or a result.

    A flat loop on purpose: the benchmarks hold it to account.
    """
    records: list[Record] = []
    add = records.append
    is_marked = False
    names: dict[_Text, str] = {}
    for message in messages:
        if isinstance(message, _Answer):
            agent, calls = message.by or UNSET, message.calls
            if message.agent and message.by is agent:
                add(message)
            elif message.agent or not calls:
                add(Record(agent=message.agent or "", by=agent))
            if calls:
                is_marked = True
                for call in calls:
                    function = call.function
                    if not function.name:
                        return None
                    names[call.id] = function.name
                    args, raw_args = read_arguments(None if function.arguments is UNSET else function.arguments)
                    add(Record(call=function.name, args=args, raw_args=raw_args, id=id_of(call.id), by=agent))
        else:
            if isinstance(message, _Result):
                if _is_odd(message, names):
                    return None
                is_marked = True
            add(message)
    return records if is_marked else None


def _is_odd(result: _Result, names: dict[_Text, str]) -> bool:
    """Whether nothing says which call a result answers, or its id or its name says it oddly, or these disagree.

    Arguments:
        names: the name of the latest call before it, by id.
    """
    call_id, of = result.id, result.of
    if call_id in _ODD or of in _ODD or call_id is of:
        return True
    return of is not UNSET and names.get(call_id, of) != of


def _place_of(messages: list[_Message], position: int) -> str:
    return path_text(_paths_of(messages)[position])


def _paths_of(messages: list[_Message]) -> list[Path]:
    """Return where each event stands, in the order of `_records_of`."""
    paths: list[Path] = []
    for index, message in enumerate(messages):
        calls = message.calls if isinstance(message, _Answer) else None
        if not calls or message.agent:
            paths.append((index,))
        paths += [(index, "tool_calls", number) for number in range(len(calls or ()))]
    return paths
