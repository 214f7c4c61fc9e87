"""Read logs of the Model Context Protocol: the JSON-RPC messages that went between clients and servers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from tracewitness.display import show
from tracewitness.readers.json_text import decode_text
from tracewitness.readers.reader import Reader
from tracewitness.readers.recording import Path, Recording, each_mapping, payload_of, refuse, word
from tracewitness.trace import Trace

__all__ = ["READER", "read"]

SHAPE: Final = "a log of MCP is a list of JSON-RPC messages, among them requests for tools/call"

_CALL: Final = "tools/call"
# Requests that a server makes of a client; all others go the other way.
_OF_SERVERS: Final = frozenset({"sampling/createMessage", "elicitation/create", "roots/list"})
_METHODS: Final = ("tools/", "resources/", "prompts/", "notifications/", "completion/", "logging/", "server/", "tasks/")
_OTHER_METHODS: Final = _OF_SERVERS | {"initialize", "ping"}
# Where programs that write logs put the message, who sent it, over which connection and when.
_MESSAGE_KEYS: Final = ("message", "data", "payload", "msg", "frame", "raw")
_SENDER_KEYS: Final = ("direction", "from", "sender", "source", "origin")
_CONNECTION_KEYS: Final = (
    "session_id",
    "sessionId",
    "session",
    "connection_id",
    "connectionId",
    "connection",
    "server",
)
_TIME_KEYS: Final = ("timestamp", "time", "ts", "at")
_LOOKED_AT: Final = 64
_NO_CALL: Final = object()


class _Sighting(NamedTuple):
    """A message, and what the log says about it.

    Attributes:
        sender: who sent it or where to, in the log's own words; None where it doesn't say.
        connection: the connection's name, or None.
    """

    message: Mapping[str, Any]
    path: Path
    sender: Any = None
    connection: Any = None
    at: Any = None


class _Request(NamedTuple):
    """A request that is waiting for its response.

    Attributes:
        call_id: the id that the call has in the trace; ``_NO_CALL`` where the request is none.
    """

    message: Mapping[str, Any]
    sender: Any
    call_id: Any


def read(document: Any, name: str = "") -> Trace:
    """Read a log: bare messages, batches of them, or messages in the entries of a program that logs them.

    Ids are unique to a connection and a direction. Where a log tells of several connections, a call's id in the trace
    is ``connection:id``.

    Raises:
        ReadError: it is nothing of the kind.

    >>> request = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "add", "arguments": {"a": 1}}}
    >>> response = {"jsonrpc": "2.0", "id": 1, "result": {"content": [{"type": "text", "text": "1"}]}}
    >>> read([request, response]).calls[0].result
    '1'
    """
    messages, path = _messages_of(document)
    if not isinstance(messages, list):
        raise refuse(document, SHAPE)
    recording = Recording()
    sightings = [
        sighting
        for entry, place in _entries(recording, messages, path)
        for sighting in _sightings(recording, entry, place)
    ]
    _Log(recording, sightings).read()
    return recording.trace(name)


# ----------------------------------------------------------------------------------------------------------- detection


def _messages_of(document: Any) -> tuple[Any, Path]:
    if isinstance(document, Mapping):
        return document.get("messages"), ("messages",)
    if isinstance(document, list) and len(document) == 1 and isinstance(document[0], list):
        return document[0], (0,)
    return document, ()


def _detects(document: Any) -> bool:
    messages, _ = _messages_of(document)
    return isinstance(messages, list) and any(map(_is_of_protocol, messages[:_LOOKED_AT]))


def _is_of_protocol(entry: Any) -> bool:
    if not isinstance(entry, Mapping):
        return False
    found, _ = _unwrapped(entry)
    return any(
        _is_message(message) and (method := word(message, "method")) and _is_known(method)
        for message in (found if isinstance(found, list) else [found])
    )


def _is_known(method: str) -> bool:
    return method in _OTHER_METHODS or method.startswith(_METHODS)


def _is_message(value: Any) -> bool:
    return isinstance(value, Mapping) and isinstance(value.get("jsonrpc"), str)


def _unwrapped(entry: Mapping[str, Any]) -> tuple[Any, Path]:
    """Return what an entry of a log has for a message, or a batch, and where."""
    if _is_message(entry):
        return entry, ()
    for key in _MESSAGE_KEYS:
        found = entry.get(key)
        if isinstance(found, str) and '"jsonrpc"' in found:
            found = _decoded(found)
        if _is_message(found) or (isinstance(found, list) and any(map(_is_message, found))):
            return found, (key,)
    return None, ()


def _decoded(text: str) -> Any:
    try:
        decoded = decode_text(text)
    except (ValueError, RecursionError):
        return None
    return None if decoded.repeated_key is not None or decoded.has_raw else decoded.value


# ------------------------------------------------------------------------------------------------------------- reading


def _entries(recording: Recording, items: list[Any], path: Path) -> Iterator[tuple[Mapping[str, Any], Path]]:
    """Yield the entries of a log; a list among them is a batch."""
    for index, item in enumerate(items):
        if isinstance(item, list):
            yield from each_mapping(recording, item, (*path, index), "a message")
        elif isinstance(item, Mapping):
            yield item, (*path, index)
        else:
            recording.doubt(f"a message is a mapping, not {show(item)}", (*path, index))


def _sightings(recording: Recording, entry: Mapping[str, Any], path: Path) -> Iterator[_Sighting]:
    """Yield the messages of an entry: one, or those of a batch."""
    found, inside = _unwrapped(entry)
    place = (*path, *inside)
    about = {} if found is entry else entry
    batch = [(found, place)] if not isinstance(found, list) else [(item, (*place, n)) for n, item in enumerate(found)]
    for message, where in batch:
        if _is_message(message):
            yield _Sighting(
                message, where, _first(about, _SENDER_KEYS), _first(about, _CONNECTION_KEYS), _first(about, _TIME_KEYS)
            )
        else:
            recording.doubt(f"an entry without a JSON-RPC message: {show(dict(entry))}", where)


def _first(entry: Mapping[str, Any], keys: tuple[str, ...]) -> Any:
    values = (entry.get(key) for key in keys)
    return next((value for value in values if isinstance(value, (str, int, float))), None)


class _Log:
    """Follows the messages of a log, and adds the calls among them, each with its response."""

    def __init__(self, recording: Recording, sightings: list[_Sighting]) -> None:
        self._recording = recording
        self._sightings = sightings
        self._has_connections = len({sighting.connection for sighting in sightings}) > 1
        # Where all have the same sender, the word is for something else.
        self._has_senders = len({sighting.sender for sighting in sightings}) > 1
        self._open: dict[tuple[Any, str], list[_Request]] = {}
        self._closed: dict[tuple[Any, str], Mapping[str, Any]] = {}
        # A call goes on in another request where it needs more input, or where it became a task.
        self._awaiting_input: list[tuple[Mapping[str, Any], Any]] = []
        self._tasks: dict[Any, Any] = {}

    def read(self) -> None:
        for sighting in self._sightings:
            message = sighting.message
            if "method" in message:
                if "id" in message:
                    self._read_request(sighting)
            elif "result" in message or "error" in message:
                self._read_response(sighting)
            else:
                self._recording.doubt(f"neither request nor response: {show(list(message))}", sighting.path)

    def _key(self, sighting: _Sighting) -> tuple[Any, str]:
        return sighting.connection, repr(sighting.message.get("id"))  # 1 and "1" are two ids

    def _read_request(self, sighting: _Sighting) -> None:
        message = sighting.message
        waiting = self._open.setdefault(self._key(sighting), [])
        if any(request.message == message for request in waiting):
            return  # as it came in and as it was passed on
        waiting.append(_Request(message, sighting.sender, self._call_id(sighting)))

    def _call_id(self, sighting: _Sighting) -> Any:
        """Return the id of the call that a request is, or goes on with."""
        message = sighting.message
        params = message.get("params")
        params = params if isinstance(params, Mapping) else {}
        if message["method"] == "tasks/result":
            return self._tasks.get(repr(params.get("taskId")), _NO_CALL)
        if message["method"] != _CALL:
            return _NO_CALL
        goes_on = "inputResponses" in params or "requestState" in params
        call_id = self._continued(params) if goes_on else _NO_CALL
        return self._add_call(sighting, params) if call_id is _NO_CALL else call_id

    def _continued(self, params: Mapping[str, Any]) -> Any:
        """Return the id of the call that was put off until there was more input."""
        for position, (before, call_id) in enumerate(self._awaiting_input):
            if all(before.get(key) == params.get(key) for key in ("name", "arguments")):
                del self._awaiting_input[position]
                return call_id
        return _NO_CALL

    def _add_call(self, sighting: _Sighting, params: Mapping[str, Any]) -> Any:
        call_id = sighting.message["id"]
        if self._has_connections:
            call_id = f"{sighting.connection}:{call_id}"
        self._recording.call(params.get("name"), params.get("arguments"), call_id, sighting.path, at=sighting.at)
        return call_id

    def _read_response(self, sighting: _Sighting) -> None:
        key, message = self._key(sighting), sighting.message
        request = self._answered(self._open.get(key, []), sighting)
        if request is None:
            if self._closed.get(key) != message:
                self._read_orphan(sighting)
            return
        self._closed[key] = message
        if request.call_id is not _NO_CALL:
            self._answer(request, sighting)

    def _answered(self, waiting: list[_Request], sighting: _Sighting) -> _Request | None:
        """Take the request that a response answers out of those that have its id.

        There are two where both sides asked at once. Nobody answers a request of their own; where the log doesn't
        say who spoke, the form of the response shows what it answers.
        """
        fitting = waiting
        if self._has_senders:
            fitting = [request for request in waiting if not _is_same_sender(request.sender, sighting.sender)]
        if len(fitting) > 1:
            is_of_server = _is_answer_to_server(sighting.message)
            fitting = [
                item for item in fitting if (word(item.message, "method") in _OF_SERVERS) is is_of_server
            ] or fitting
        if len(fitting) > 1:
            self._recording.doubt(f"{len(fitting)} open requests have the id of this response", sighting.path)
        if not fitting:
            return None
        request = fitting[0]
        waiting.remove(request)
        return request

    def _answer(self, request: _Request, sighting: _Sighting) -> None:
        message = sighting.message
        result = message.get("result")
        if isinstance(result, Mapping) and "error" not in message:
            params = request.message.get("params")
            if result.get("resultType") == "input_required":
                self._awaiting_input.append((params if isinstance(params, Mapping) else {}, request.call_id))
                return
            task = result.get("task")
            if isinstance(task, Mapping) and "content" not in result:
                self._tasks[repr(task.get("taskId"))] = request.call_id
                return
        self._add_result(message, request.call_id, sighting)

    def _add_result(self, message: Mapping[str, Any], call_id: Any, sighting: _Sighting) -> None:
        payload, is_error = _outcome(message)
        self._recording.answer(payload, call_id, sighting.path, is_error=is_error, at=sighting.at)

    def _read_orphan(self, sighting: _Sighting) -> None:
        """Read a response to a request that the log doesn't have; what other requests give hides no call."""
        message = sighting.message
        result = message.get("result")
        if isinstance(result, Mapping) and isinstance(result.get("content"), list):
            self._add_result(message, message.get("id"), sighting)
        elif "error" in message:
            self._recording.doubt(f"an error in answer to no request: {show(message['error'])}", sighting.path)


def _is_same_sender(one: Any, other: Any) -> bool:
    """Whether a log says that two messages went the same way."""
    return one is not None and other is not None and bool(one == other)


def _is_answer_to_server(message: Mapping[str, Any]) -> bool:
    result = message.get("result")
    return isinstance(result, Mapping) and not {"role", "action", "roots"}.isdisjoint(result)


def _outcome(message: Mapping[str, Any]) -> tuple[Any, bool]:
    """Return what a call gave, and whether it failed: in the tool or in the protocol, which says so by silence too."""
    if "error" in message:
        return message["error"], True
    result = message["result"]
    if not isinstance(result, Mapping):
        return result, False
    structured = result.get("structuredContent")
    payload = payload_of(result.get("content")) if structured is None else structured
    return payload, result.get("isError") is True


READER: Final = Reader(
    "mcp",
    detects=_detects,
    read=read,
    shape=SHAPE,
    keys=frozenset({"jsonrpc", "messages", *_MESSAGE_KEYS}),
    is_log=True,
)
