"""What an agent did: a `Trace` of messages, tool calls, results, transfers and the session's end.

A trace is read once and never changes. It is kept as it was written down (a list of `Record`), since that is what a
decoder makes for nothing; the typed events and the pairing of results with calls are made from it in one pass, when
somebody first asks.
"""

from __future__ import annotations

import json
import sys
from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import takewhile
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType
from msgspec.structs import force_setattr

from tracewitness.display import nearest_name, printable, show
from tracewitness.errors import ReadError

__all__ = [
    "UNANSWERED",
    "AnyRecord",
    "End",
    "Event",
    "EventIndex",
    "FrequentRecord",
    "LeanRecord",
    "MalformedArguments",
    "MalformedResult",
    "Message",
    "Problem",
    "Record",
    "Role",
    "ToolCall",
    "ToolResult",
    "Trace",
    "Transfer",
    "Unanswered",
    "Unreadable",
    "short_tool_name",
]

Role = Literal["user", "agent", "system"]
#: Kinds of events; the last three are what chats call what an agent says, a result, and what the system says.
Kind = Literal["user", "agent", "system", "call", "result", "assistant", "tool", "developer"]


class Unanswered:
    """The type of `UNANSWERED`, the result of a call that nothing answered. ``None`` is a legitimate payload."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "UNANSWERED"

    def __bool__(self) -> bool:
        return False


UNANSWERED: Final = Unanswered()


class MalformedArguments(Struct, frozen=True):
    """Arguments that are no object, as they were recorded. They are never taken for ``{}``.

    Attributes:
        raw: what was recorded: a text that could not be decoded, or a value that is no mapping.
        reason: why it could not be read.
    """

    raw: Any
    reason: str


class MalformedResult(Struct, frozen=True):
    """A result whose payload could not be decoded. It answers its call, and matches no expectation.

    Attributes:
        raw: the text that was recorded.
        reason: why it could not be read.
    """

    raw: str
    reason: str


class Problem(Struct, frozen=True):
    """Something in a recording that a reader could not make sense of.

    Attributes:
        reason: what is wrong.
        position: the event's position in the trace, where it has one.
        place: the line or path in the source, for example ``detailed_trace[3], line 2``.
        hides_call: whether a tool call may be hidden by it; then what says “no such call” can't be relied on.
        cut: whether the recording breaks off here, before the run was over; what the rest could change is not known.
    """

    reason: str
    position: int | None = None
    place: str = ""
    hides_call: bool = True
    cut: bool = False

    def __str__(self) -> str:
        where = self.place or (f"event {self.position}" if self.position is not None else "")
        return f"{where}: {self.reason}" if where else self.reason


class _Written(Struct, frozen=True, gc=False):
    """What all kinds of records share.

    Attributes:
        kind: which kind of event it is, where every record of the class is of one kind.
    """

    kind: ClassVar[Kind | None] = None

    def to_event(self) -> dict[str, Any]:
        """Return the record as the mapping that it was written as."""
        fields = ((field, getattr(self, field)) for field in Record.__struct_fields__)
        return {
            field: _decoded(value) if value.__class__ is Raw else value for field, value in fields if value is not UNSET
        }


class Record(_Written, frozen=True, gc=False, forbid_unknown_fields=True, repr_omit_defaults=True):
    """One event as it is written down in neutral JSON. Exactly one of its first eight fields is set.

    A result may be left as JSON (`msgspec.Raw`) by who has made sure that it is well formed.

    The order of the fields is the order in which `Trace.to_events` writes them. ``gc=False`` is safe: what a record
    holds was decoded before it, so nothing in it can refer back to it.
    """

    call: str | UnsetType = UNSET
    result: Any = UNSET
    raw_result: str | UnsetType = UNSET
    user: str | UnsetType = UNSET
    agent: str | UnsetType = UNSET
    system: str | UnsetType = UNSET
    transfer: str | UnsetType = UNSET
    end: bool | UnsetType = UNSET

    args: Any = UNSET
    raw_args: str | UnsetType | None = UNSET
    of: str | UnsetType | None = UNSET
    id: str | int | UnsetType | None = UNSET
    is_error: bool | UnsetType | None = UNSET
    by: str | UnsetType | None = UNSET
    at: str | int | float | UnsetType | None = UNSET
    until: str | int | float | UnsetType | None = UNSET
    metadata: dict[str, Any] | UnsetType | None = UNSET


class FrequentRecord(_Written, frozen=True, gc=False, forbid_unknown_fields=True, repr_omit_defaults=True):
    """A `Record` that has only the fields that most events are made of; the others are never set.

    A record costs by the number of its fields, so the decoder of neutral JSON tries this one first. Its result stays
    JSON until somebody looks at it: most results are never looked at. Only this module sees such records: whoever asks
    a trace or an event for one gets a `Record`.
    """

    # In the order in which they are mostly written, since a decoder looks for each from the one before it.
    agent: str | UnsetType = UNSET
    user: str | UnsetType = UNSET
    call: str | UnsetType = UNSET
    args: Any = UNSET
    result: Raw | UnsetType = UNSET
    of: str | UnsetType | None = UNSET
    id: str | int | UnsetType | None = UNSET
    is_error: bool | UnsetType | None = UNSET
    system: str | UnsetType = UNSET

    raw_result: ClassVar[UnsetType] = UNSET
    transfer: ClassVar[UnsetType] = UNSET
    end: ClassVar[UnsetType] = UNSET
    raw_args: ClassVar[UnsetType] = UNSET
    by: ClassVar[UnsetType] = UNSET
    at: ClassVar[UnsetType] = UNSET
    until: ClassVar[UnsetType] = UNSET
    metadata: ClassVar[UnsetType] = UNSET

    def to_record(self) -> Record:
        """Return the record with all fields."""
        return Record(**{field: getattr(self, field) for field in self.__struct_fields__})


class LeanRecord(_Written, frozen=True, gc=False):
    """A record of one `kind`, as one message or part of a message in a provider's format is decoded to it.

    A subclass has the fields of its kind, each with the name that it has in `Record`; what is not there is never set.
    A text or payload may be left as JSON (`msgspec.Raw`) by who has made sure that it is well formed. Such JSON keeps
    all bytes in memory of which it is a piece: the document of the trace, and no more. As with a `FrequentRecord`,
    whoever asks a trace or an event for a record gets a `Record`.
    """

    if TYPE_CHECKING:

        def __getattr__(self, field: str) -> Any: ...

    def to_record(self) -> Record:
        """Return the record with all fields, and nothing in it left as JSON."""
        return Record(**self.to_event())


for _field in Record.__struct_fields__:
    setattr(LeanRecord, _field, UNSET)

AnyRecord = Record | FrequentRecord | LeanRecord

_KINDS = Record.__struct_fields__[:8]
_OWN_FIELDS: dict[str, frozenset[str]] = {
    "call": frozenset({"args", "raw_args", "id", "by", "at", "until", "metadata"}),
    "result": frozenset({"of", "id", "is_error", "by", "at", "until", "metadata"}),
    "raw_result": frozenset({"of", "id", "is_error", "by", "at", "until", "metadata"}),
}
_FIELDS_OF_ALL = frozenset({"by", "at", "until", "metadata"})


class Unreadable(Struct, frozen=True, gc=False):
    """An event that could not be understood; it keeps its position.

    Attributes:
        position: its place in the trace.
        raw: what stood there.
        reason: why it could not be read.
    """

    position: int
    raw: Any
    reason: str

    def to_event(self) -> Any:
        """Return what stood there."""
        return self.raw


class _OfRecord(Struct, frozen=True, gc=False):
    """What was made of a record, and keeps it."""

    @property
    def record(self) -> Record:
        """The event as it was written down."""
        return _with_all_fields(self._record)  # type: ignore[attr-defined]  # each has it as its own field


class Message(_OfRecord, frozen=True, gc=False):
    """Something that was said.

    Attributes:
        position: its place in the trace, from 0.
        turn: the turn it stands in; a user's message begins one, and turn 0 is what comes before the first.
        role: who said it.
        text: the words, as they were recorded.
    """

    position: int
    turn: int
    role: Role
    text: str
    _record: AnyRecord

    def __repr__(self) -> str:
        return f"<Message {self.position}: {self.role} {show(self.text, 60)}>"


class ToolResult(_OfRecord, frozen=True, gc=False):
    """What a tool returned.

    Attributes:
        position: its place in the trace, from 0.
        turn: the turn it stands in.
        is_error: whether the recording marks it as an error; None where it doesn't say.
        call_position: the position of the call that it answers; None where it answers nothing.
        call_number: the number of that call among the calls, from 0.
    """

    position: int
    turn: int
    _payload: Any
    is_error: bool | None
    call_position: int | None
    call_number: int | None
    _record: AnyRecord

    @property
    def payload(self) -> Any:
        """What came back, decoded as it was recorded, or a `MalformedResult`.

        Most payloads are never looked at, so a decoder may leave one as JSON; it is decoded here, once.
        """
        payload = self._payload
        if payload.__class__ is Raw:
            payload = _decoded(payload)
            force_setattr(self, "_payload", payload)
        return payload

    @property
    def is_malformed(self) -> bool:
        """Whether the payload is a `MalformedResult`. JSON that can be decoded for certain is not decoded for that."""
        raw = self._payload
        return not (raw.__class__ is Raw and _is_readable(raw)) and self.payload.__class__ is MalformedResult

    def __repr__(self) -> str:
        mark = " (error)" if self.is_error else ""
        return f"<ToolResult {self.position} of {self.call_position}: {show(self.payload, 60)}{mark}>"


class ToolCall(_OfRecord, frozen=True, gc=False):
    """A call that the agent made.

    Attributes:
        position: its place in the trace, from 0.
        turn: the turn it stands in.
        name: the tool's name, as it was recorded.
        args: the arguments, or `MalformedArguments` where they are no object.
        number: its place among the calls, from 0.
        answer: the `ToolResult`, or None where nothing answered.
    """

    position: int
    turn: int
    name: str
    args: dict[str, Any] | MalformedArguments
    _record: AnyRecord
    number: int
    answer: ToolResult | None = None

    @property
    def id(self) -> str | int | None:
        """The call's id, where the recording has one."""
        value = self._record.id
        return None if value is UNSET else value

    @property
    def agent(self) -> str | None:
        """The agent that made the call, where the recording says so."""
        value = self._record.by
        return None if value is UNSET else value

    @property
    def started_at(self) -> str | float | None:
        """When the call began, as recorded: ISO 8601 text or seconds."""
        value = self._record.at
        return None if value is UNSET else value

    @property
    def ended_at(self) -> str | float | None:
        """When the call ended, as recorded: ISO 8601 text or seconds."""
        value = self._record.until
        return None if value is UNSET else value

    @property
    def metadata(self) -> dict[str, Any] | None:
        """What stands beside the arguments, where the recording has it."""
        value = self._record.metadata
        return None if value is UNSET else value

    @property
    def result(self) -> Any:
        """What the tool returned, or `UNANSWERED`."""
        return UNANSWERED if self.answer is None else self.answer.payload

    @property
    def is_error(self) -> bool | None:
        """Whether the recording marks the result as an error; None where it doesn't say or nothing answered."""
        return None if self.answer is None else self.answer.is_error

    def __repr__(self) -> str:
        return f"<ToolCall {self.position}: {printable(self.name, 60)}({show(self.args, 60)})>"


class Transfer(Struct, frozen=True, gc=False):
    """The session was handed over to another agent; it is no tool call."""

    position: int
    turn: int
    agent: str
    record: Record


class End(Struct, frozen=True, gc=False):
    """The session ended without a tool saying so."""

    position: int
    turn: int
    record: Record


Event = Message | ToolCall | ToolResult | Transfer | End | Unreadable


def _with_all_fields(record: AnyRecord) -> Record:
    return record if isinstance(record, Record) else record.to_record()


def _decoded(raw: Raw) -> Any:
    """Decode JSON whose grammar was checked when it was passed over; JSON as Python writes it goes further."""
    try:
        return msgspec.json.decode(raw)
    except (msgspec.MsgspecError, RecursionError):
        try:
            return json.loads(bytes(raw))
        except (ValueError, RecursionError) as error:
            return MalformedResult(bytes(raw).decode("utf-8", "replace"), f"{type(error).__name__}: {error}")


#: So many levels of lists and mappings are decoded wherever Python has room to go on at all.
_NOT_DEEP: Final = 100


def _is_readable(raw: Raw) -> bool:
    """Whether it is certain that well-formed JSON can be decoded: no number in it is too long, and it is not deep."""
    data = bytes(raw)
    if data.startswith(b'"'):
        return True
    return len(data) <= sys.get_int_max_str_digits() and data.count(b"{") + data.count(b"[") <= _NOT_DEEP


def _known(value: Any) -> Any:
    return None if value is UNSET else value


def short_tool_name(name: str) -> str | None:
    """Return ``X`` for a full resource name ``projects/…/tools/X``, else None.

    >>> short_tool_name("projects/p/locations/l/apps/a/tools/create_order")
    'create_order'
    """
    if not name.startswith("projects/"):
        return None
    head, separator, last = name.rpartition("/")
    return last if separator and last and head.endswith("/tools") else None


class _OpenCalls:
    """The calls that nothing has answered yet, and the rule that pairs a result with one of them.

    By id, the latest call; without an id by name, the earliest; without a name, the earliest of all. The indexes by
    name are made when the first result without an id comes: most recordings never need them.
    """

    __slots__ = ("_by_id", "_by_last_part", "_by_name", "_calls", "_first_open", "_named")

    def __init__(self, calls: list[ToolCall], by_id: dict[Any, ToolCall | list[ToolCall]]) -> None:
        self._calls = calls
        self._by_id = by_id
        self._first_open = 0
        self._by_name: dict[str, deque[ToolCall]] = {}
        self._by_last_part: dict[str, deque[ToolCall]] = {}
        self._named = 0

    def answered_by(self, record: AnyRecord) -> ToolCall | None:
        """Return the call that a result answers, or None."""
        result_id = record.id
        if result_id or result_id == 0:
            return self._latest_with_id(result_id)
        if record.of is UNSET or not record.of:
            return self._earliest()
        return self._earliest_named(record.of)

    def _latest_with_id(self, result_id: str | int) -> ToolCall | None:
        found = self._by_id.get(result_id)
        if not isinstance(found, list):
            return found if found is not None and found.answer is None else None
        while found:
            call = found.pop()
            if call.answer is None:
                return call
        return None

    def _earliest(self) -> ToolCall | None:
        calls, at = self._calls, self._first_open
        while at < len(calls) and calls[at].answer is not None:
            at += 1
        self._first_open = at
        return calls[at] if at < len(calls) else None

    def _earliest_named(self, name: str) -> ToolCall | None:
        """Return the earliest open call of a name; a full resource name also counts as its last part, both ways."""
        self._index_names()
        queues = [self._by_name.get(name), self._by_last_part.get(name)]
        short = short_tool_name(name)
        if short is not None:
            queues.append(self._by_name.get(short))
        found = (call for call in map(_first_open, queues) if call is not None)
        return min(found, key=lambda call: call.position, default=None)

    def _index_names(self) -> None:
        """Enter the calls since the last time."""
        for call in self._calls[self._named :]:
            if call.answer is None:
                self._by_name.setdefault(call.name, deque()).append(call)
                short = short_tool_name(call.name)
                if short is not None:
                    self._by_last_part.setdefault(short, deque()).append(call)
        self._named = len(self._calls)


def _first_open(queue: deque[ToolCall] | None) -> ToolCall | None:
    """Return the first call that nothing has answered; those before it are dropped."""
    while queue:
        if queue[0].answer is None:
            return queue[0]
        queue.popleft()
    return None


class EventIndex(Struct, eq=False, gc=False):
    """Turns records into typed events in one pass, also while they still come.

    Calls and results are made at once; the other events, which most checks do not look at, when `events` is asked for.

    Attributes:
        steps: the calls and results so far, in order.
        calls: the calls among them.
        turn_starts: the positions of the user's messages.
        problems: what could not be made sense of so far.
    """

    steps: list[ToolCall | ToolResult] = []
    calls: list[ToolCall] = []
    turn_starts: list[int] = []
    problems: list[Problem] = []
    _records: list[AnyRecord] = []
    _events: list[Event] = []
    _rare_events: dict[int, Transfer | End | Unreadable] = {}
    _by_id: dict[Any, ToolCall | list[ToolCall]] = {}
    _open_calls: _OpenCalls | None = None

    def extend(self, records: Iterable[AnyRecord], unreadable: Mapping[int, Unreadable] = {}) -> None:
        """Add events.

        Arguments:
            records: the events as they were written down.
            unreadable: by position, those of them that could not be understood.
        """
        begin, new = len(self._records), list(records)
        if begin:
            self._records += new
        else:
            self._records = new
        if new and new[0].kind is not None:
            self._add_lean(new, begin, unreadable)
        elif new and new[0].__class__ is FrequentRecord:
            self._add_frequent(new, begin, unreadable)
        else:
            self._add(new, begin, unreadable)

    def _add_lean(self, records: Iterable[Any], begin: int, unreadable: Mapping[int, Unreadable]) -> None:
        """Add events whose records are of one kind each, and leave others and calls of odd arguments to `_add`.

        Flat for the same reason as the loops below.
        """
        add_step, calls, turn_starts, by_id = self.steps.append, self.calls, self.turn_starts, self._by_id
        for position, record in enumerate(records, begin):
            kind = record.kind
            if kind == "user":
                turn_starts.append(position)
            elif kind == "call":
                if (args := record.args).__class__ is dict:
                    call = ToolCall(position, len(turn_starts), record.call, args, record, len(calls))
                    calls.append(call)
                    add_step(call)
                    if (call_id := record.id) or call_id == 0:  # neither UNSET nor null nor empty
                        by_id[call_id] = call if call_id not in by_id else self._again(call, call_id)
                else:
                    self._add((_with_all_fields(record),), position, unreadable)
            elif kind == "tool" or kind == "result":
                answered = by_id.get(record.id)
                if answered.__class__ is ToolCall and answered.answer is None:
                    error = record.is_error
                    result = ToolResult(
                        position,
                        len(turn_starts),
                        record.result,
                        None if error is UNSET else error,
                        answered.position,
                        answered.number,
                        record,
                    )
                    force_setattr(answered, "answer", result)
                    add_step(result)
                else:
                    self._result(position, record.result, record)
            elif kind is None:
                self._add((record,), position, unreadable)

    def _add_frequent(  # noqa: C901 - flat on purpose, see below
        self, records: Iterable[AnyRecord], begin: int, unreadable: Mapping[int, Unreadable]
    ) -> None:
        """Add events of the kinds that most traces are made of, and leave all others to `_add`.

        One flat loop on purpose: every event of such a trace comes through it, and the benchmarks hold it to account.
        It tests that a record is of one kind only with as few look-ups as that takes.
        """
        add_step, calls, turn_starts, by_id = self.steps.append, self.calls, self.turn_starts, self._by_id
        frequent = FrequentRecord
        unset = UNSET
        for position, record in enumerate(records, begin):
            if record.__class__ is not frequent:
                self._add((record,), position, unreadable)
            elif (name := record.call) is not unset:
                if (
                    record.result is record.user is record.agent is record.system is unset
                    and record.of is record.is_error is unset
                    and (args := record.args).__class__ is dict
                ):
                    call = ToolCall(position, len(turn_starts), name, args, record, len(calls))
                    calls.append(call)
                    add_step(call)
                    if (call_id := record.id) or call_id == 0:  # neither UNSET nor null nor empty
                        by_id[call_id] = call if call_id not in by_id else self._again(call, call_id)
                else:
                    self._add((record,), position, unreadable)
            elif (payload := record.result) is not unset:
                if (
                    record.args is record.user is record.agent is record.system is unset
                    and (answered := by_id.get(record.id)).__class__ is ToolCall
                    and answered.answer is None
                ):
                    error: Any = record.is_error
                    result = ToolResult(
                        position,
                        len(turn_starts),
                        payload,
                        None if error is unset else error,
                        answered.position,
                        answered.number,
                        record,
                    )
                    force_setattr(answered, "answer", result)
                    add_step(result)
                else:
                    self._add((record,), position, unreadable)
            elif record.args is not unset:
                self._add((record,), position, unreadable)
            elif record.agent is not unset:
                if not (record.user is record.system is unset):
                    self._add((record,), position, unreadable)
            elif record.user is not unset:
                if record.system is unset:
                    turn_starts.append(position)
                else:
                    self._add((record,), position, unreadable)
            elif record.system is unset:
                self._add((record,), position, unreadable)

    def _add(  # noqa: C901 - flat on purpose, as above
        self, records: Iterable[AnyRecord], begin: int, unreadable: Mapping[int, Unreadable]
    ) -> None:
        """Add events of all kinds, in a flat loop as well."""
        add_step, calls, turn_starts, by_id = self.steps.append, self.calls, self.turn_starts, self._by_id
        unset = UNSET
        for position, record in enumerate(records, begin):
            args = record.args
            if (name := record.call) is not unset:
                if not (
                    record.result is record.raw_result is record.user is record.agent is unset
                    and record.system is record.transfer is record.end is unset
                    and record.raw_args is record.is_error is record.of is unset
                    and args.__class__ is dict
                ):
                    read = self._odd_arguments(position, record)
                    if read is None:
                        continue
                    args = read
                call = ToolCall(position, len(turn_starts), name, args, record, len(calls))
                calls.append(call)
                add_step(call)
                if (call_id := record.id) or call_id == 0:  # neither UNSET nor null nor empty
                    by_id[call_id] = call if call_id not in by_id else self._again(call, call_id)
            elif not (args is record.raw_args is record.raw_result is record.transfer is record.end is unset):
                self._rare(position, record, unreadable)
            elif (payload := record.result) is not unset:
                if not (record.user is record.agent is record.system is unset):
                    self._unreadable(position, record)
                elif (answered := by_id.get(record.id)).__class__ is ToolCall and answered.answer is None:
                    error: Any = record.is_error
                    result = ToolResult(
                        position,
                        len(turn_starts),
                        payload,
                        None if error is unset else error,
                        answered.position,
                        answered.number,
                        record,
                    )
                    force_setattr(answered, "answer", result)
                    add_step(result)
                else:
                    self._result(position, payload, record)
            elif record.agent is not unset:
                if not (record.user is record.system is unset):
                    self._unreadable(position, record)
            elif record.user is not unset:
                if record.system is unset:
                    turn_starts.append(position)
                else:
                    self._unreadable(position, record)
            elif record.system is unset:
                self._rare(position, record, unreadable)

    def __len__(self) -> int:
        """Return the number of events so far."""
        return len(self._records)

    @property
    def records(self) -> list[AnyRecord]:
        """The records so far."""
        return self._records

    @property
    def events(self) -> list[Event]:
        """Every event so far, at its position."""
        if len(self._events) < len(self._records):
            self._complete()
        return self._events

    def _complete(self) -> None:
        """Make the events that were put off. A live trace asks after each event, so only what is new is looked at.

        The list is put in its place when it is complete: threads that share a recorded trace may both make it.
        """
        made = self._events
        begin = len(made)
        new = takewhile(lambda step: step.position >= begin, reversed(self.steps))
        steps = {step.position: step for step in new}
        turn = bisect_left(self.turn_starts, begin)
        added: list[Event] = []
        for position, record in enumerate(self._records[begin:], begin):
            event: Event | None = steps.get(position) or self._rare_events.get(position)
            if event is None:
                turn += record.user is not UNSET
                event = _message(position, turn, record)
            added.append(event)
        if begin:
            made += added
        else:
            self._events = added

    def _again(self, call: ToolCall, call_id: str | int) -> list[ToolCall]:
        """Return the calls with an id that was used before: real recordings reuse ids, also for other tools."""
        earlier = self._by_id[call_id]
        if not isinstance(earlier, list):
            return [earlier, call]
        earlier.append(call)
        return earlier

    def _result(self, position: int, payload: Any, record: AnyRecord) -> ToolResult:
        """Pair a result with its call. The call's `answer` is set here and in `extend`, once."""
        if self._open_calls is None:
            self._open_calls = _OpenCalls(self.calls, self._by_id)
        call = self._open_calls.answered_by(record)
        turn, is_error = len(self.turn_starts), _known(record.is_error)
        if call is None:
            self.problems.append(Problem(_orphan_reason(record), position))
            result = ToolResult(position, turn, payload, is_error, None, None, record)
        else:
            result = ToolResult(position, turn, payload, is_error, call.position, call.number, record)
            force_setattr(call, "answer", result)
        self.steps.append(result)
        return result

    def _rare(self, position: int, record: AnyRecord, unreadable: Mapping[int, Unreadable]) -> None:
        """Add an event of a kind that most traces have once or never."""
        if position in unreadable:
            self._keep_unreadable(unreadable[position])
            return
        kinds = [kind for kind in _KINDS if getattr(record, kind) is not UNSET]
        turn = len(self.turn_starts)
        if not (record.args is record.raw_args is UNSET):
            self._unreadable(position, record)
        elif kinds == ["transfer"]:
            self._rare_events[position] = Transfer(position, turn, record.transfer, record)  # type: ignore[arg-type]
        elif kinds == ["end"] and record.end is True:
            self._rare_events[position] = End(position, turn, record)  # type: ignore[arg-type]
        elif kinds == ["raw_result"]:
            self._raw_result(position, record)
        else:
            self._unreadable(position, record)

    def _raw_result(self, position: int, record: AnyRecord) -> None:
        raw: str = record.raw_result  # type: ignore[assignment]
        result = self._result(position, MalformedResult(raw, "the recording could not decode it"), record)
        hides = result.call_position is None
        self.problems.append(Problem(f"undecodable result {show(raw)}", position, hides_call=hides))

    def _unreadable(self, position: int, record: AnyRecord) -> None:
        """Keep an event that is of no kind, or of several."""
        event = record.to_event()
        self._keep_unreadable(Unreadable(position, event, _why_unreadable(event)))

    def _keep_unreadable(self, event: Unreadable) -> None:
        self._rare_events[event.position] = event
        self.problems.append(Problem(event.reason, event.position))

    def _odd_arguments(self, position: int, record: AnyRecord) -> dict[str, Any] | MalformedArguments | None:
        """Read the arguments of a call that has none, or whose arguments are no object; None where it is no call."""
        args, raw = record.args, record.raw_args
        foreign = any(getattr(record, field) is not UNSET for field in (*_KINDS[1:], "is_error", "of"))
        if foreign or (not _absent(args) and not _absent(raw)):
            self._unreadable(position, record)
            return None
        if isinstance(args, Mapping):
            return dict(args)
        if _absent(args) and _absent(raw):
            return {}
        malformed = (
            MalformedArguments(raw, "the recording could not decode them")
            if _absent(args)
            else MalformedArguments(args, f"arguments are an object, this is {_json_type(args)}")
        )
        reason = f"malformed arguments of {printable(str(record.call), 60)}: {show(malformed.raw)}"
        self.problems.append(Problem(f"{reason} ({malformed.reason})", position, hides_call=False))
        return malformed


def _message(position: int, turn: int, record: AnyRecord) -> Message:
    role: Role
    for role in ("agent", "user", "system"):
        text = getattr(record, role)
        if text is not UNSET:
            break
    return Message(position, turn, role, _decoded(text) if text.__class__ is Raw else text, record)


#: What converting something that is no record raises; the last is for text with half of a surrogate pair.
_NO_RECORD = (msgspec.ValidationError, RecursionError, UnicodeEncodeError)


def _absent(args: Any) -> bool:
    """Whether arguments are none: providers send nothing, null or an empty text for a call without any."""
    return args is UNSET or args is None or (isinstance(args, str) and args == "")


def _json_type(value: Any) -> str:
    names = {bool: "a bool", int: "a number", float: "a number", str: "a text", list: "a list"}
    return names.get(type(value), f"a {type(value).__name__}")


def _orphan_reason(record: AnyRecord) -> str:
    if record.id or record.id == 0:
        return f"a result with id {show(record.id)}, and no unanswered call with that id before it"
    if record.of:
        return f"a result of {printable(record.of, 60)}, and no unanswered call to it before it"
    return "a result, and no unanswered call before it"


def _why_unreadable(event: Any) -> str:
    """Say why something is no event: what was expected, what came, what to do."""
    if not isinstance(event, Mapping):
        return f"an event is a mapping, this is {show(event)}"
    kinds = [kind for kind in _KINDS if kind in event]
    if not kinds:
        return f"an event has one of the keys {', '.join(_KINDS)}; this has {show(list(event))}"
    if len(kinds) > 1:
        return f"an event has one kind, this has {' and '.join(kinds)}; write them as events of their own"
    if kinds == ["end"] and event["end"] is False:
        return "end is true or not there"
    allowed = {kinds[0], *_OWN_FIELDS.get(kinds[0], _FIELDS_OF_ALL)}
    for key in event:
        if key not in allowed:
            near = nearest_name(key, allowed) if isinstance(key, str) else None
            meant = f"; {near} was meant" if near else ""
            return f"a {kinds[0]} event has no {show(key, 40)}{meant}"
    if "args" in event and "raw_args" in event:
        return "a call has args or raw_args, not both"
    return f"a value of the wrong type in {show(dict(event))}"


class Trace:
    """What an agent did in one session, in order. It never changes.

    Make one with `from_events`, with `tracewitness.testing`, or with a reader.

    Attributes:
        name: the run's name; it picks the case of an eval file.
        no_evidence: why there is nothing to check (an error, no recording, an empty one), or None. Every check on such
            a trace is broken.
        text_alone: whether it was read from lines of text, where an agent's words can look like a tool line.
        unreadable: by position, the events that could not be understood.
        reader_problems: what the reader could not make sense of; `problems` has those of the events too.
    """

    # What holds for most traces stands here; a trace keeps only what is otherwise with it.
    _records: Sequence[AnyRecord]
    name: str = ""
    no_evidence: str | None = None
    text_alone: bool = False
    unreadable: Mapping[int, Unreadable] = {}
    reader_problems: tuple[Problem, ...] = ()
    _place_of: Callable[[int], str] | None = None
    _index: EventIndex | None = None

    def __init__(
        self,
        records: Sequence[AnyRecord],
        *,
        name: str = "",
        problems: Iterable[Problem] = (),
        no_evidence: str | None = None,
        text_alone: bool = False,
        unreadable: Mapping[int, Unreadable] | None = None,
        place_of: Callable[[int], str] | None = None,
    ) -> None:
        """Make a trace of what a reader has read.

        Arguments:
            records: the events as they were written down.
            name: the run's name.
            problems: what the reader could not make sense of, beyond single events.
            no_evidence, text_alone: as in the attributes.
            unreadable: by position, the events that could not be understood; their records are empty.
            place_of: says where in the source the event at a position stands.
        """
        kept = self.__dict__  # a trace refuses to be assigned to
        kept["_records"] = records
        if name:
            kept["name"] = name
        if no_evidence is not None:
            kept["no_evidence"] = no_evidence
        if text_alone:
            kept["text_alone"] = True
        if unreadable:
            kept["unreadable"] = unreadable
        if problems:
            kept["reader_problems"] = tuple(problems)
        if place_of is not None:
            kept["_place_of"] = place_of

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a Trace never changes: {name} can't be set; make another one")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a Trace never changes: {name} can't be deleted")

    def __reduce__(self) -> tuple[Callable[..., Trace], tuple[Sequence[AnyRecord]]]:
        """Copy and pickle what was read; typed events and pairing are made again where they are needed."""
        make = partial(
            Trace,
            name=self.name,
            problems=self.reader_problems,
            no_evidence=self.no_evidence,
            text_alone=self.text_alone,
            unreadable=self.unreadable,
            place_of=self._known_places(),
        )
        return make, (self._records,)

    def _known_places(self) -> Callable[[int], str] | None:
        """Return what can be pickled in the stead of `place_of`: the places of the events that have a problem."""
        place_of = self._place_of
        if place_of is None:
            return None
        positions = (problem.position for problem in self.index.problems)
        return {position: place_of(position) for position in positions if position is not None}.__getitem__

    @classmethod
    def from_events(cls, events: Iterable[Any], *, name: str = "", error: object = None) -> Trace:
        """Read events in neutral form, in order.

        Arguments:
            events: mappings such as ``{"user": "…"}`` or ``{"call": "search", "args": {…}}``. One that can't be
                understood is kept and listed in `problems`. No event at all is an empty recording: no evidence.
            name: the run's name.
            error: what ended the run, where it failed; then the trace is no evidence.

        Raises:
            ReadError: ``events`` is no list of events.

        >>> Trace.from_events([{"user": "hi"}, {"call": "greet"}]).calls
        (<ToolCall 1: greet({})>,)
        """
        if isinstance(events, (str, bytes, Mapping)) or not isinstance(events, Iterable):
            raise ReadError(f"events are a list of mappings, not {show(events)}")
        raw = events if isinstance(events, list) else list(events)
        try:
            records, unreadable = msgspec.convert(raw, list[Record]), None
        except _NO_RECORD:
            records, unreadable = _convert_each(raw)
        return cls(records, name=name, no_evidence=_why_no_evidence(bool(raw), error), unreadable=unreadable)

    @classmethod
    def without_evidence(cls, reason: str, *, name: str = "") -> Trace:
        """Make the trace of a run of which nothing is known: every check on it is broken with ``reason``."""
        return cls((), name=name, problems=(Problem(reason),), no_evidence=reason)

    @classmethod
    def of_index(cls, index: EventIndex) -> Trace:
        """Make a trace of events that were turned into typed ones already, as those of a live trace."""
        trace = cls(index.records)
        trace.__dict__["_index"] = index
        return trace

    @property
    def records(self) -> Sequence[Record]:
        """The events as they were written down; one that could not be understood is an empty record here."""
        return list(map(_with_all_fields, self._records))

    @property
    def events(self) -> tuple[Event, ...]:
        """Every event, at its position."""
        return tuple(self.index.events)

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The tool calls, in order, each with its result."""
        return tuple(self.index.calls)

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What could not be made sense of, by the reader first, then in the order of the events."""
        found: Iterable[Problem] = self.index.problems
        if self._place_of is not None:
            found = (self._placed(problem, self._place_of) for problem in found)
        return (*self.reader_problems, *found)

    @staticmethod
    def _placed(problem: Problem, place_of: Callable[[int], str]) -> Problem:
        if problem.position is None or problem.place:
            return problem
        return msgspec.structs.replace(problem, place=place_of(problem.position))

    @property
    def index(self) -> EventIndex:
        """The typed events and the pairing, made on first use and kept. For reading only."""
        index = self._index
        if index is None:
            index = EventIndex()
            index.extend(self._records, self.unreadable)
            self.__dict__["_index"] = index
        return index

    def to_events(self) -> list[Any]:
        """Return the events in neutral form; `from_events` of it is the same trace."""
        return [
            self.unreadable[position].raw if position in self.unreadable else record.to_event()
            for position, record in enumerate(self._records)
        ]

    def __len__(self) -> int:
        return len(self._records)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Trace):
            return NotImplemented
        return self.name == other.name and self.to_events() == other.to_events()

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        name = f" {printable(self.name, 40)}" if self.name else ""
        return f"<Trace{name}: {len(self._records)} events>"


class LiveTrace:
    """What stands for a trace that may still grow.

    Whatever takes a `Trace` from a user takes it, and asks for `trace`.
    """

    @property
    def trace(self) -> Trace:
        """What is known so far."""
        raise NotImplementedError


def _why_no_evidence(any_event: bool, error: object) -> str | None:
    if error:
        return f"the run failed: {show(error)}"
    return None if any_event else "the recording is empty"


def _convert_each(events: list[Any]) -> tuple[list[Record], dict[int, Unreadable]]:
    """Convert events one by one, keeping those that are none at their positions."""
    records: list[Record] = []
    unreadable: dict[int, Unreadable] = {}
    for position, event in enumerate(events):
        try:
            record = event if isinstance(event, Record) else msgspec.convert(event, Record)
        except _NO_RECORD:
            unreadable[position] = Unreadable(position, event, _why_unreadable(event))
            record = Record()
        records.append(record)
    return records, unreadable
