"""Decode simulations of tau2-bench at once, where they are written as most of them are.

As in `openai_chat_quick`, whatever has any oddity is left to the reader of the format.
"""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar, Final, Literal

from msgspec import UNSET, Raw, Struct, UnsetType
from msgspec.structs import replace

from tracewitness.errors import path_text
from tracewitness.readers.lean import (
    AFTER_TEXTS,
    Name,
    decoder_to,
    has_unique_keys,
    is_absent,
    is_filled,
    keys_are_unique,
    without_spaces,
)
from tracewitness.readers.recording import NO_IDS, Path
from tracewitness.trace import AnyRecord, Kind, LeanRecord, Record, Trace

__all__ = ["decode_simulation"]

#: What is passed over.
_Aside = Raw | UnsetType
_Time = str | UnsetType | None
_ENDINGS: Final = frozenset({"user_stop", "agent_stop"})


class _Call(
    LeanRecord, frozen=True, gc=False, forbid_unknown_fields=True, rename={"call": "name", "args": "arguments"}
):
    kind: ClassVar[Kind] = "call"

    id: Name
    call: Name
    args: dict[str, Any]
    requestor: Literal["assistant", "user"]

    @property
    def by(self) -> str | UnsetType:
        """The user, where it was the user who called."""
        return "user" if self.requestor == "user" else UNSET


class _Result(
    LeanRecord,
    frozen=True,
    gc=False,
    forbid_unknown_fields=True,
    tag_field="role",
    tag="tool",
    rename={"result": "content", "is_error": "error", "at": "timestamp"},
):
    kind: ClassVar[Kind] = "result"

    id: Name
    result: Raw
    requestor: str | UnsetType | None = UNSET
    turn_idx: int | UnsetType | None = UNSET
    is_error: bool | UnsetType = UNSET
    at: Name | UnsetType = UNSET


class _Said(LeanRecord, frozen=True, gc=False, forbid_unknown_fields=True, tag_field="role", kw_only=True):
    tool_calls: list[_Call] | UnsetType | None = UNSET
    turn_idx: int | UnsetType | None = UNSET
    timestamp: _Time = UNSET
    cost: _Aside = UNSET
    usage: _Aside = UNSET
    raw_data: _Aside = UNSET


class _Answer(_Said, frozen=True, gc=False, tag="assistant", kw_only=True, rename={"agent": "content"}):
    kind: ClassVar[Kind] = "agent"

    agent: Raw


class _Question(_Said, frozen=True, gc=False, tag="user", kw_only=True, rename={"user": "content"}):
    kind: ClassVar[Kind] = "user"

    user: Raw


class _Simulation(Struct, frozen=True, gc=False, forbid_unknown_fields=True, kw_only=True):
    task_id: str | int
    termination_reason: str
    messages: list[_Answer | _Question | _Result]
    id: _Aside = UNSET
    timestamp: _Aside = UNSET
    start_time: _Aside = UNSET
    end_time: _Aside = UNSET
    duration: _Aside = UNSET
    agent_cost: _Aside = UNSET
    user_cost: _Aside = UNSET
    reward_info: _Aside = UNSET
    trial: _Aside = UNSET
    seed: _Aside = UNSET
    mode: _Aside = UNSET


_Messages = list[_Answer | _Question | _Result]
_PASSED_OVER: Final = tuple(field for field in _Simulation.__struct_fields__ if field not in ("task_id", "messages"))
_decode: Final = decoder_to(_Simulation)


def decode_simulation(data: bytes, *, name: str = "", test_keys: bool = True) -> Trace | None:
    """Decode one simulation, with the reason why it ended.

    Arguments, result: as of `openai_chat_quick.decode_history`.

    >>> said = '[{"role": "user", "content": "hi"}]'
    >>> decode_simulation(f'{{"task_id": "7", "termination_reason": "user_stop", "messages": {said}}}'.encode())
    <Trace 7: 2 events>
    """
    document = without_spaces(data) if test_keys else data
    simulation = _decode(document)
    if simulation is None or (test_keys and not _keys_are_unique(document, simulation)):
        return None
    records = _records_of(simulation.messages)
    if not records:
        return None
    if simulation.termination_reason in _ENDINGS:
        records.append(Record(end=True))
    return Trace(records, name=str(simulation.task_id) or name, place_of=partial(_place_of, simulation.messages))


def _keys_are_unique(document: bytes, simulation: _Simulation) -> bool:
    beside = (getattr(simulation, field) for field in _PASSED_OVER)
    return keys_are_unique(document, simulation) and all(map(has_unique_keys, beside))


def _records_of(messages: _Messages) -> list[AnyRecord] | None:
    """Make records of messages; None where one is odd."""
    records: list[AnyRecord] = []
    for message in messages:
        kind = type(message)
        if kind is _Result:
            if not message.result < AFTER_TEXTS or message.id in NO_IDS:
                return None
            records.append(message)
            continue
        text = message.agent if kind is _Answer else message.user
        if not (text < AFTER_TEXTS or (message.tool_calls and is_absent(text))) or not _is_all_read(message):
            return None
        if not message.tool_calls or is_filled(text):
            records.append(message)
        for call in message.tool_calls or ():
            if call.id in NO_IDS:
                return None
            records.append(replace(call.to_record(), at=message.timestamp) if message.timestamp else call)
    return records


def _is_all_read(message: Any) -> bool:
    """Whether no key stands twice in what a message has beside what is read."""
    if message.cost is message.usage is message.raw_data is UNSET:
        return True
    return all(map(has_unique_keys, (message.cost, message.usage, message.raw_data)))


def _place_of(messages: _Messages, position: int) -> str:
    return path_text(_paths_of(messages)[position])


def _paths_of(messages: _Messages) -> list[Path]:
    """Return where each event stands, in the order of the records."""
    paths: list[Path] = []
    for index, message in enumerate(messages):
        calls = () if type(message) is _Result else message.tool_calls or ()
        if not calls or is_filled(message.agent if type(message) is _Answer else message.user):
            paths.append(("messages", index))
        paths += [("messages", index, "tool_calls", number) for number in range(len(calls))]
    return [*paths, ("termination_reason",)]
