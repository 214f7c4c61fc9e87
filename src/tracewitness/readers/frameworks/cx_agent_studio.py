"""Read CX Agent Studio: responses of a session, streams of one, and conversations, in both spellings.

What is decided here:

- The last output of a turn tells the whole turn over again in its diagnostic messages. They are the account of it, and
  of what stands on top only that is taken which they leave out. A call on top and one in the messages are the same
  where the ids are equal, or the arguments and the names (or one name is a resource's).
- A tool goes by its display name where it has one. Its resource name is in the call's metadata.
- A session that ends without a call to ``end_session`` ends with an event of its own.
- Variables, images and citations neither call nor answer. A custom payload is kept as a system message.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from msgspec import UNSET

from tracewitness.display import show
from tracewitness.readers.frameworks.stamps import stamp
from tracewitness.readers.pairing import CallKey, freeze, pair_calls
from tracewitness.readers.providers.gemini import fields_of
from tracewitness.readers.reader import Reader
from tracewitness.readers.recording import Path, Recording, each_mapping, refuse, word
from tracewitness.trace import Record, Trace

__all__ = ["READER", "SHAPE", "detects", "read"]

SHAPE: Final = "a run of CX Agent Studio has outputs, or turns with messages, which have chunks"

_END_SESSION: Final = "end_session"
_OUTPUT_KEYS: Final = frozenset(
    {
        "audio",
        "citations",
        "context",
        "diagnostic_info",
        "end_session",
        "google_search_suggestions",
        "payload",
        "text",
        "tool_calls",
        "turn_completed",
        "turn_index",
    }
)
_OWN_OUTPUT_KEYS: Final = _OUTPUT_KEYS - {"audio", "citations", "context", "payload", "text", "tool_calls"}
_INPUT_KEYS: Final = frozenset(
    {"audio", "blob", "dtmf", "event", "image", "text", "tool_responses", "variables", "will_continue"}
)
_STREAMED: Final = frozenset(
    {"session_output", "recognition_result", "interruption_signal", "end_session", "go_away", "realtime_input"}
)
# How many messages show what they are.
_LOOKED_AT: Final = 64
_AGENT_ROLES: Final = frozenset({"", "agent", "assistant", "model"})
_SILENT_CHUNKS: Final = frozenset({"blob", "default_variables", "image", "updated_variables"})


def detects(document: Any) -> bool:
    """Whether decoded data is of this format."""
    if isinstance(document, Mapping):
        return _is_exchange(document) or _has_chunks(document)
    return isinstance(document, list) and any(
        isinstance(item, Mapping) and (_is_exchange(item) or _is_message(item) or _is_own_output(item))
        for item in document
    )


def read(document: Any, name: str = "") -> Trace:
    """Read a response with ``outputs``, a conversation, or a list of responses, requests or messages of one session.

    Raises:
        ReadError: it is nothing of the kind.

    >>> call = {"toolCall": {"tool": "projects/p/tools/t1", "displayName": "search", "args": {"q": "lamp"}}}
    >>> read({"turns": [{"messages": [{"role": "shop", "chunks": [call]}]}]}).calls
    (<ToolCall 0: search({'q': 'lamp'})>,)
    """
    recording = Recording()
    if isinstance(document, list):
        session = _Session(recording)
        for item, path in each_mapping(recording, document, (), "a response"):
            session.add(fields_of(item), path)
        session.finish()
    elif isinstance(document, Mapping):
        fields = fields_of(document)
        name = word(fields, "name").rpartition("/")[2] or name
        _read_document(recording, fields)
    else:
        raise refuse(document, SHAPE)
    return recording.trace(name)


# ----------------------------------------------------------------------------------------------------------- detection


def _is_exchange(document: Mapping[str, Any]) -> bool:
    """Whether a mapping is a response or a request, or a message of a stream."""
    outputs = document.get("outputs")
    if isinstance(outputs, list):
        return any(map(_is_output, outputs)) and all(isinstance(item, Mapping) for item in outputs)
    if isinstance(document.get("inputs"), list):
        return "config" in document and isinstance(document["config"], Mapping) and "session" in document["config"]
    streamed = document.get("sessionOutput", document.get("session_output"))
    return isinstance(streamed, Mapping) and _is_output(streamed)


def _is_output(item: Any) -> bool:
    if not isinstance(item, Mapping):
        return False
    fields = fields_of(item)
    calls = fields.get("tool_calls")
    has_own = not _OWN_OUTPUT_KEYS.isdisjoint(fields) or (isinstance(calls, Mapping) and _is_list_of_calls(calls))
    return has_own or (fields.keys() <= _OUTPUT_KEYS and isinstance(fields.get("text"), str))


def _is_own_output(item: Mapping[str, Any]) -> bool:
    """Whether a mapping is an output of which each field has its name here alone."""
    fields = fields_of(item)
    return {"turn_index", "turn_completed"} & fields.keys() != set() and fields.keys() <= _OUTPUT_KEYS


def _is_list_of_calls(calls: Mapping[str, Any]) -> bool:
    return "toolCalls" in calls or "tool_calls" in calls


def _is_message(item: Any) -> bool:
    if not isinstance(item, Mapping) or not isinstance(item.get("role"), str):
        return False
    chunks = item.get("chunks")
    return isinstance(chunks, list) and all(isinstance(chunk, Mapping) for chunk in chunks)


def _has_chunks(document: Mapping[str, Any]) -> bool:
    """Whether a mapping is a conversation or a turn of one."""
    messages, turns = document.get("messages"), document.get("turns")
    if isinstance(messages, list) and any(map(_is_message, messages[:_LOOKED_AT])):
        return True
    return isinstance(turns, list) and any(isinstance(turn, Mapping) and _has_chunks(turn) for turn in turns)


# ------------------------------------------------------------------------------------------------------------- reading


def _read_document(recording: Recording, fields: dict[str, Any]) -> None:
    if "turns" in fields:
        for turn, path in each_mapping(recording, fields["turns"], ("turns",), "a turn"):
            _read_messages(recording, turn.get("messages"), (*path, "messages"))
    elif "messages" in fields:
        _read_messages(recording, fields["messages"], ("messages",))
    elif {"outputs", "inputs", "session_output"}.isdisjoint(fields):
        raise refuse(fields, SHAPE)
    else:
        session = _Session(recording)
        session.add(fields, ())
        session.finish()


_Told = tuple[dict[str, Any], Path]


class _Session:
    """Reads requests, responses and messages of a stream, turn by turn."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._turn: list[tuple[bool, _Told]] = []  # whether each is an input
        self._heard: tuple[str, Path] | None = None

    def add(self, fields: dict[str, Any], path: Path) -> None:
        """Read one of them."""
        recording = self._recording
        for item, place in each_mapping(recording, fields.get("inputs"), (*path, "inputs"), "an input"):
            self._turn.append((True, (fields_of(item), place)))
        for item, place in each_mapping(recording, fields.get("outputs"), (*path, "outputs"), "an output"):
            self._output(fields_of(item), place)
        if not _STREAMED.isdisjoint(fields):
            self._streamed(fields, path)
        elif "chunks" in fields:
            self.finish()
            _read_message(recording, fields, path)
        elif not _OWN_OUTPUT_KEYS.isdisjoint(fields):
            self._output(fields, path)
        elif {"inputs", "outputs"}.isdisjoint(fields):
            recording.doubt(f"neither a response nor a message: {show(list(fields))}", path)

    def _streamed(self, fields: dict[str, Any], path: Path) -> None:
        heard, said = fields.get("recognition_result"), fields.get("realtime_input")
        if isinstance(heard, Mapping) and word(heard, "transcript"):
            self._heard = word(heard, "transcript"), (*path, "recognitionResult")  # each has the one before in it
        if isinstance(said, Mapping):
            self._turn.append((True, (fields_of(said), (*path, "realtimeInput"))))
        if isinstance(fields.get("session_output"), Mapping):
            self._output(fields_of(fields["session_output"]), (*path, "sessionOutput"))
        elif not _OWN_OUTPUT_KEYS.isdisjoint(fields):
            self._output(fields, path)

    def _output(self, fields: dict[str, Any], path: Path) -> None:
        self._turn.append((False, (fields, path)))
        if fields.get("turn_completed") is True or "diagnostic_info" in fields:
            self.finish()

    def finish(self) -> None:
        """Read what is left of a turn: by its own account, and in the order in which it came where there is none."""
        recording, turn, heard = self._recording, self._turn, self._heard
        self._turn, self._heard = [], None
        begin = len(recording)
        account = _account([told for is_input, told in turn if not is_input])
        if account.records:
            steps = [([told for own, told in turn if own], [told for own, told in turn if not own])]
        else:
            steps = [([told], []) if own else ([], [told]) for own, told in turn]
        if heard is not None and not _speaks(account, 0):
            recording.say("user", *heard)
        for number, (inputs, outputs) in enumerate(steps):
            _read_said(recording, begin, inputs, account)
            if not number:
                recording.take(account)
            _read_calls_on_top(recording, outputs, account.records)
            _read_results_given(recording, inputs, account)
            _read_on_top(recording, begin, outputs, account)


def _speaks(recording: Recording, begin: int) -> bool:
    """Whether the user says something from ``begin`` on."""
    return any(record.user is not UNSET for record in recording.records[begin:])


def _account(outputs: list[_Told]) -> Recording:
    """Return the account of a turn that is in its diagnostic messages."""
    account = Recording()
    for fields, path in outputs:
        info = fields.get("diagnostic_info")
        if isinstance(info, Mapping):
            _read_messages(account, info.get("messages"), (*path, "diagnosticInfo", "messages"))
        elif info is not None:
            account.doubt(f"diagnostic info is a mapping, not {show(info)}", path)
    return account


def _read_said(recording: Recording, begin: int, inputs: list[_Told], told: Recording) -> None:
    """Read what the user said, unless the account of the turn tells it. What was spoken comes in many pieces."""
    texts = {record.user for record in told.records if record.user is not UNSET}
    for fields, path in inputs:
        for key in fields.keys() - _INPUT_KEYS:
            recording.doubt(f"an unknown input {show(key)}", path, hides_call=False)
        event = fields.get("event")
        said = fields.get("text") or fields.get("dtmf") or (event.get("event") if isinstance(event, Mapping) else None)
        if isinstance(said, str) and said not in texts:
            recording.say("user", said, path)
        elif not fields.keys().isdisjoint({"audio", "image", "blob"}) and not texts and not _speaks(recording, begin):
            recording.say("user", "", path)


def _read_results_given(recording: Recording, inputs: list[_Told], told: Recording) -> None:
    """Read what the client's own tools gave, unless the account of the turn tells it."""
    ids = {record.id for record in told.records if record.result is not UNSET and record.id is not UNSET}
    for fields, path in inputs:
        given = fields.get("tool_responses")
        listed = fields_of(given).get("tool_responses") if isinstance(given, Mapping) else given
        for answer, place in each_mapping(recording, listed, (*path, "toolResponses"), "a result"):
            if not (isinstance(answer.get("id"), str) and answer["id"] in ids):
                _read_answer(recording, fields_of(answer), place)


def _read_on_top(recording: Recording, begin: int, outputs: list[_Told], told: Recording) -> None:
    """Read of a turn's outputs what the account of it leaves out."""
    has_words = any(record.agent is not UNSET for record in told.records)
    for fields, path in outputs:
        if not has_words and isinstance(fields.get("text"), str):
            recording.say("agent", fields["text"], path)
        if not len(told) and fields.get("payload") is not None:
            _say_payload(recording, fields["payload"], path)
        if "end_session" in fields:
            _read_end(recording, begin, fields["end_session"], path)
        for key in fields.keys() - _OUTPUT_KEYS:
            recording.doubt(f"an unknown output {show(key)}", path)


def _read_calls_on_top(recording: Recording, outputs: list[_Told], told: list[Record]) -> None:
    """Read the calls that the client is asked for, those left aside that the messages tell of."""
    asked = [single for fields, path in outputs for single in _calls_on_top(recording, fields, path)]
    calls = [record for record in told if record.call is not UNSET]
    ids = {record.id for record in calls if record.id is not UNSET}
    rest = [single for single in asked if single.records[0].id not in ids]
    asked_ids = {single.records[0].id for single in asked}
    free = [record for record in calls if record.id is UNSET or record.id not in asked_ids]
    pairs = pair_calls([_key(single.records[0]) for single in rest], [_key(record) for record in free])
    for index, single in enumerate(rest):
        # Two ids are two calls, however alike these are.
        is_told = index in pairs and UNSET in (single.records[0].id, free[pairs[index]].id)
        if not is_told:
            recording.take(single)


def _calls_on_top(recording: Recording, output: dict[str, Any], path: Path) -> Iterator[Recording]:
    """Yield each call of an output as a recording of its own. What is no call is a problem."""
    asked = output.get("tool_calls")
    listed = fields_of(asked).get("tool_calls") if isinstance(asked, Mapping) else asked
    for call, place in each_mapping(recording, listed, (*path, "toolCalls"), "a call"):
        single = Recording()
        _read_call(single, fields_of(call), place)
        if single.records:
            yield single
        else:
            recording.take(single)


def _key(record: Record) -> CallKey:
    return CallKey(str(record.call), (freeze(record.args), str(record.raw_args)))


def _read_end(recording: Recording, begin: int, ended: Any, path: Path) -> None:
    """Read that the session ended, unless a call since ``begin`` says so."""
    records = recording.records
    if any(_END_SESSION in str(record.call) for record in records[begin:] if record.call is not UNSET):
        return
    position = len(records)
    recording.end(path)
    metadata = ended.get("metadata") if isinstance(ended, Mapping) else None
    if isinstance(metadata, Mapping) and metadata:
        stamp(recording, position, metadata=lambda _: dict(metadata))


def _read_messages(recording: Recording, messages: Any, path: Path) -> None:
    for message, place in each_mapping(recording, messages, path, "a message"):
        _read_message(recording, fields_of(message), place)


def _read_message(recording: Recording, message: dict[str, Any], path: Path) -> None:
    """Read the chunks of a message. Its role is the user's, or the name of the agent."""
    begin = len(recording)
    role = word(message, "role")
    is_user = role.lower() == "user"
    for chunk, place in each_mapping(recording, message.get("chunks"), (*path, "chunks"), "a chunk"):
        _read_chunk(recording, fields_of(chunk), place, is_user=is_user)
    by = None if is_user or role.lower() in _AGENT_ROLES else role
    stamp(recording, begin, by=by, at=message.get("event_time"))


def _read_chunk(recording: Recording, chunk: dict[str, Any], path: Path, *, is_user: bool) -> None:
    for kind, value in chunk.items():
        if kind in ("text", "transcript") and isinstance(value, str):
            recording.say("user" if is_user else "agent", value, path)
        elif kind == "payload":
            _say_payload(recording, value, path)
        elif kind in _CHUNK_READERS and isinstance(value, Mapping):
            _CHUNK_READERS[kind](recording, fields_of(value), path)
        elif kind not in _SILENT_CHUNKS:
            recording.doubt(f"an unknown chunk {show(kind)}: {show(value)}", path)


def _say_payload(recording: Recording, payload: Any, path: Path) -> None:
    try:
        text = json.dumps(payload, ensure_ascii=False)
    except (TypeError, ValueError):
        text = show(payload)
    recording.say("system", f"Custom Payload: {text}", path)


def _read_call(recording: Recording, call: dict[str, Any], path: Path) -> None:
    name, resource = _names(call)
    beside = {"tool": resource} if resource and resource != name else None
    recording.call(name, call.get("args"), call.get("id"), path, metadata=beside)


def _read_answer(recording: Recording, answer: dict[str, Any], path: Path) -> None:
    recording.answer(answer.get("response"), answer.get("id"), path, of=_names(answer)[0])


def _read_transfer(recording: Recording, transfer: dict[str, Any], path: Path) -> None:
    recording.transfer(word(transfer, "display_name") or transfer.get("target_agent"), path)


def _names(call: dict[str, Any]) -> tuple[str, str]:
    """Return what a tool is called, and its resource name."""
    resource = word(call, "tool") or word(call, "name")
    toolset = call.get("toolset_tool")
    own = fields_of(toolset) if isinstance(toolset, Mapping) else {}
    name = word(call, "display_name") or word(own, "tool_id") or resource
    return name, resource or word(own, "toolset")


_CHUNK_READERS: Final[dict[str, Callable[[Recording, dict[str, Any], Path], None]]] = {
    "agent_transfer": _read_transfer,
    "function_call": _read_call,
    "function_response": _read_answer,
    "tool_call": _read_call,
    "tool_response": _read_answer,
}


# ------------------------------------------------------------------------------------------------------------- objects


def _converted_wrapper(value: Any) -> Any:
    """Make data of what the client library wraps messages and their lists in."""
    dump = getattr(type(value), "to_dict", None)
    if dump is not None:
        return dump(value, always_print_fields_with_no_presence=False)  # what was left out is not there
    if isinstance(value, Mapping):
        return dict(value)
    return list(value) if isinstance(value, Sequence) else value


def _converted_message(value: Any) -> Any:
    """Make data of a bare protocol buffer. Whoever has one has loaded what writes it as JSON, or the client library."""
    writer = sys.modules.get("google.protobuf.json_format")
    is_message = hasattr(type(value), "DESCRIPTOR") and hasattr(type(value), "ListFields")
    return writer.MessageToDict(value) if writer is not None and is_message else value


READER: Final = Reader(
    "cx-agent-studio",
    detects=detects,
    read=read,
    shape=SHAPE,
    keys=frozenset(
        {"outputs", "inputs", "sessionOutput", "session_output", "turns", "messages", "chunks"}
        | {"turnIndex", "turn_index", "turnCompleted", "turn_completed"}
    ),
    objects={"proto": _converted_wrapper, "google": _converted_message},
)
