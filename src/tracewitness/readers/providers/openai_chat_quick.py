"""Decode histories of chat completions at once, where they are written as most of them are.

A typed decoder is quicker than a plain one, and what it decodes needs no detection. Whatever has any oddity is left to
the reader of `openai_chat`, which makes the same trace of what is decoded here.
"""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar, Final, Generic, Literal, TypeVar

from msgspec import UNSET, Raw, Struct, UnsetType

from tracewitness.errors import path_text
from tracewitness.readers.json_text import decode_object
from tracewitness.readers.lean import (
    AFTER_TEXTS,
    NULL,
    Name,
    OptionalName,
    converter_to,
    decode_optional_text,
    decode_text,
    decoder_to,
    is_filled,
    keys_are_unique,
    without_spaces,
)
from tracewitness.readers.recording import NO_IDS, Path, read_arguments
from tracewitness.trace import AnyRecord, Kind, LeanRecord, Trace

__all__ = ["decode_history", "history_of"]

#: `Raw` where texts stay JSON, else what a text was decoded to.
_Text = TypeVar("_Text")


class _Function(Struct, Generic[_Text], frozen=True, gc=False, forbid_unknown_fields=True):
    name: Name
    arguments: _Text | UnsetType = UNSET


class _Call(LeanRecord, Generic[_Text], frozen=True, gc=False, forbid_unknown_fields=True):
    kind: ClassVar[Kind] = "call"

    function: _Function[_Text]
    id: OptionalName = UNSET
    type: Literal["function"] | UnsetType = UNSET

    @property
    def call(self) -> str:
        """The tool's name."""
        return self.function.name

    @property
    def args(self) -> Any:
        """The arguments, decoded anew."""
        text = self.function.arguments
        if text.__class__ is Raw:
            text = decode_optional_text(text)
        args = decode_object(text) if text.__class__ is str else None
        return read_arguments(None if text is UNSET else text)[0] if args is None else args

    @property
    def raw_args(self) -> str | UnsetType:
        """The arguments where they are not JSON."""
        return read_arguments(decode_text(self.function.arguments))[1]


class _Message(
    LeanRecord,
    Generic[_Text],
    frozen=True,
    gc=False,
    forbid_unknown_fields=True,
    rename={"kind": "role", "id": "tool_call_id", "of": "name"},
):
    """A message of any role: a type for each role would pass twice over what stands before the role.

    What only some roles have is tested in `_records_of`.
    """

    kind: Literal["system", "developer", "user", "assistant", "tool"]  # type: ignore[misc]  # here each has its own
    id: OptionalName = UNSET
    of: OptionalName = UNSET
    content: _Text | UnsetType = UNSET
    tool_calls: list[_Call[_Text]] | UnsetType | None = UNSET
    # What the provider's own library writes into every answer.
    refusal: UnsetType | None = UNSET
    function_call: UnsetType | None = UNSET
    audio: UnsetType | None = UNSET
    annotations: tuple[()] | UnsetType | None = UNSET

    @property
    def result(self) -> Any:
        """What a tool returned."""
        return self.content if self.kind == "tool" else UNSET

    @property
    def agent(self) -> Any:
        """What the model said."""
        return self.content if self.kind == "assistant" else UNSET

    @property
    def user(self) -> Any:
        """What the user said."""
        return self.content if self.kind == "user" else UNSET

    @property
    def system(self) -> Any:
        """What the model was told."""
        return self.content if self.kind in ("system", "developer") else UNSET


#: How long the JSON of an empty text is.
_NO_WORDS: Final = 2
_Messages = list[_Message[Any]]
_decode: Final = decoder_to(list[_Message[Raw]])
_convert: Final = converter_to(list[_Message[str | None]])


def decode_history(data: bytes, *, name: str = "", test_keys: bool = True) -> Trace | None:
    """Decode a list of messages.

    Arguments:
        name: the run's name.
        test_keys: whether to make sure that no key stands twice in an object.

    Returns:
        The trace; None where data is anything else, or has any oddity.

    >>> decode_history(b'[{"role": "tool", "tool_call_id": "c1", "content": "3"}]').to_events()
    [{'result': '3', 'id': 'c1'}]
    >>> decode_history(b'[{"role": "tool", "content": "3"}]')
    """
    document = without_spaces(data) if test_keys else data
    messages = _decode(document)
    trace = None if messages is None else _trace_of(messages, name)
    return None if trace is None or (test_keys and not keys_are_unique(document, messages)) else trace


def history_of(data: list[Any]) -> Trace | None:
    """Make a trace of a list of messages that is decoded already, as `decode_history` does.

    >>> history_of([{"role": "tool", "tool_call_id": "c1", "content": "3"}]).to_events()
    [{'result': '3', 'id': 'c1'}]
    """
    messages = _convert(data)
    return None if messages is None else _trace_of(messages)


def _trace_of(messages: _Messages, name: str = "") -> Trace | None:
    records = _records_of(messages)
    return Trace(records, name=name, place_of=partial(_place_of, messages)) if records else None


def _records_of(messages: _Messages) -> list[AnyRecord] | None:  # noqa: C901 - flat on purpose, see below
    """Make records of messages; None where one is odd.

    Most messages are records themselves. One flat loop: the benchmarks hold it to account.
    """
    records: list[AnyRecord] = []
    add = records.append
    names: dict[OptionalName, str] = {}
    for message in messages:
        text = message.content
        kind = message.kind
        if kind == "assistant":
            if not (message.id is message.of is UNSET):
                return None
            if calls := message.tool_calls:
                if type(text) is Raw:
                    if text < AFTER_TEXTS:
                        if len(text) > _NO_WORDS:
                            add(message)
                    elif text != NULL:
                        return None
                elif text is not UNSET and text:
                    add(message)
                for call in calls:
                    function = call.function
                    arguments = function.arguments
                    if type(arguments) is Raw and not (arguments < AFTER_TEXTS or arguments == NULL):
                        return None
                    names[call.id] = function.name
                records += calls
                continue
        elif message.tool_calls is not UNSET:
            return None
        elif kind == "tool":
            call_id, of = message.id, message.of
            if call_id is of or call_id in NO_IDS or (of is not UNSET and names.get(call_id, of) != of):
                return None  # nothing says which call it answers, or its id and its name disagree
        elif not (message.id is message.of is UNSET):
            return None
        if not (type(text) is Raw and text < AFTER_TEXTS) and type(text) is not str:
            return None
        add(message)
    return None if not NO_IDS.isdisjoint(names) else records


def _place_of(messages: _Messages, position: int) -> str:
    return path_text(_paths_of(messages)[position])


def _paths_of(messages: _Messages) -> list[Path]:
    """Return where each event stands, in the order of `_records_of`."""
    paths: list[Path] = []
    for index, message in enumerate(messages):
        calls = message.tool_calls
        if not calls or is_filled(message.content):
            paths.append((index,))
        paths += [(index, "tool_calls", number) for number in range(len(calls or ()))]
    return paths
