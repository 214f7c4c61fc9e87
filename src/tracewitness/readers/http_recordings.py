"""Read recordings of traffic over HTTP: cassettes, and HAR files. One recording is one run.

The requests to models and their answers are read in their order, each by the reader of its format, and put together
by `Conversation`. Formats may change on the way.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Mapping
from typing import Any, Final

from msgspec import Struct

from tracewitness.display import show
from tracewitness.errors import ReadError
from tracewitness.readers.conversation import Conversation, recording_of
from tracewitness.readers.documents import MAX_DOCUMENT, decode_document
from tracewitness.readers.encodings.compressions import StillPackedError, is_zstd, uncompressed
from tracewitness.readers.reader import Reader
from tracewitness.readers.recording import Path, each_mapping, refuse, word
from tracewitness.trace import Trace

__all__ = ["READER", "SHAPE", "detects", "read"]

SHAPE: Final = "a recording of HTTP traffic has interactions with request and response, or a log with entries"

_LISTS: Final = ("interactions", "http_interactions")
_PROVIDERS: Final = "tracewitness.readers.providers."
# What an answer of a model has somewhere that calls a tool, whatever the format is.
_MARKS: Final = (b'"tool_calls"', b'"tool_use"', b'"toolUse"', b'"functionCall"', b'"function_call"', b'"toolCall"')
_MARK_KEYS: Final = frozenset(mark.decode().strip('"') for mark in _MARKS)
_CALL_TYPES: Final = frozenset({"tool_use", "function_call", "tool-call"})
# Fields of a request by which the provider finds the history that it keeps.
_KEPT: Final = ("previous_response_id", "conversation", "previous_interaction_id", "conversation_id")
# Fields of a request that tell what came before.
_HISTORIES: Final = frozenset({"chat_history", "contents", "input", "inputs", "messages"})
_PENDING: Final = frozenset({"queued", "in_progress"})
# How deep an answer that no reader knows is searched for calls.
_DEPTH: Final = 12


class _Side(Struct):
    """A request or a response.

    Attributes:
        path: where its body stands.
        data: the body, decoded, or None where it can't be.
        raw: the body, where it is no data.
        problem: why it can't be decoded.
        reader: of the format of a request to a model or of its answer.
    """

    path: Path
    data: Any = None
    raw: bytes = b""
    problem: str = ""
    reader: Reader | None = None


class _Exchange(Struct):
    """A request and the response to it."""

    path: Path
    method: str
    status: int
    request: _Side
    response: _Side

    @property
    def failed(self) -> bool:
        """Whether the server says so."""
        return self.status >= 400

    @property
    def asks_model(self) -> bool:
        """Whether it is known for a call of a model, by what was sent or what came back."""
        return self.response.reader is not None or (self.request.reader is not None and self.method == "POST")


def detects(document: Any) -> bool:
    """Whether decoded data is of this format."""
    if not isinstance(document, Mapping):
        return False
    _, exchanges = _listed(document)
    return isinstance(exchanges, list) and any(
        isinstance(item, Mapping) and isinstance(item.get("request"), Mapping) and "response" in item
        for item in exchanges
    )


def read(document: Any, name: str = "") -> Trace:
    """Read a recording.

    Raises:
        ReadError: it is none.

    >>> call = {"type": "tool_use", "id": "t1", "name": "search", "input": {}}
    >>> read({"interactions": [{
    ...     "request": {"method": "POST", "parsed_body": {"messages": [{"role": "user", "content": "Find a lamp."}]}},
    ...     "response": {"parsed_body": {"type": "message", "role": "assistant", "content": [call]}},
    ... }]}).to_events()
    [{'user': 'Find a lamp.'}, {'call': 'search', 'args': {}, 'id': 't1'}]
    """
    path, listed = _listed(document) if isinstance(document, Mapping) else ((), None)
    if not isinstance(listed, list):
        raise refuse(document, SHAPE)
    conversation = Conversation()
    exchanges = list(_exchanges(conversation, listed, path))
    superseded = _superseded(exchanges)
    last = max((number for number, exchange in enumerate(exchanges) if exchange.asks_model), default=-1)
    for number, exchange in enumerate(exchanges):
        _read_request(conversation, exchange)
        if number not in superseded:
            _read_response(conversation, exchange, is_last=number == last)
    if not len(conversation) and conversation.failure is None:
        conversation.failure = f"none of the {len(exchanges)} requests in it was to a model"
    return conversation.trace(name)


def _listed(document: Mapping[str, Any]) -> tuple[Path, Any]:
    """Return where the exchanges of a recording are listed, and the list."""
    log = document.get("log")
    if isinstance(log, Mapping) and isinstance(log.get("entries"), list):
        return ("log", "entries"), log["entries"]
    key = next((key for key in _LISTS if key in document), _LISTS[0])
    return (key,), document.get(key)


# ------------------------------------------------------------------------------------------------------------ exchanges


def _exchanges(conversation: Conversation, listed: list[Any], path: Path) -> Iterator[_Exchange]:
    for item, place in each_mapping(conversation, listed, path, "an exchange"):
        request, response = item.get("request"), item.get("response")
        if not isinstance(request, Mapping) or not isinstance(response, Mapping):
            conversation.doubt(f"an exchange has a request and a response, this has {show(list(item))}", place)
            continue
        sent = _side(conversation, request, (*place, "request"))
        came = _side(conversation, response, (*place, "response"))
        if sent.reader is None and came.reader is not None:
            sent.reader = _reader_beside(came.reader, sent.data)
        yield _Exchange(place, (word(request, "method") or "POST").upper(), _status(response), sent, came)


def _status(response: Mapping[str, Any]) -> int:
    status = response.get("status")
    if isinstance(status, Mapping):  # VCR
        status = status.get("code")
    if isinstance(status, str):  # “200 OK”
        status = status.partition(" ")[0]
    for told in (status, response.get("code"), response.get("status_code")):
        if type(told) is int:
            return told
        if isinstance(told, str) and told.isdecimal() and len(told) == 3:
            return int(told)
    return 200


def _side(conversation: Conversation, message: Mapping[str, Any], path: Path) -> _Side:
    """Decode a body and find out what format it is in."""
    key = next((key for key in ("parsed_body", "content", "postData") if message.get(key) is not None), "body")
    side = _Side((*path, key))
    try:
        body = message.get(key)
        side.data = body if key == "parsed_body" else _decoded(side, body, _codings(message.get("headers")))
    except StillPackedError as error:
        conversation.doubt(error.problem, side.path)
        side.problem = error.problem
        return side
    except ReadError as error:
        side.problem = error.problem
        return side
    found = _readers_of(side.data)
    if len(found) > 1:
        names = " and ".join(reader.name for reader in found)
        conversation.doubt(f"a body in several formats, {names}; read as the first", side.path)
    side.reader = found[0] if found else None
    return side


def _decoded(side: _Side, body: Any, codings: list[str]) -> Any:
    """Return the data of a body, and keep its bytes.

    Arguments:
        codings: how it was compressed. Most recordings keep it as it was before.

    Raises:
        ReadError: it is none.
    """
    side.raw = _bytes_of(body)
    if not side.raw.strip():
        return None
    try:
        return decode_document(side.raw)
    except ReadError:
        if _is_text(side.raw):  # a page, say, of which only the headers tell that it was compressed
            raise
        for coding in codings or (["zstd"] if is_zstd(side.raw) else []):
            side.raw = uncompressed(side.raw, coding, MAX_DOCUMENT)
        return decode_document(side.raw if codings else _perhaps_deflated(side.raw))


def _is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _perhaps_deflated(data: bytes) -> bytes:
    """Undo deflate, which has no mark, where data is in it."""
    try:
        return uncompressed(data, "deflate", MAX_DOCUMENT)
    except StillPackedError:
        return data


def _codings(headers: Any) -> list[str]:
    """Return how a body was compressed, the last first. VCR has a mapping of headers, HAR a list of them."""
    if isinstance(headers, list):
        pairs = [(word(item, "name"), item.get("value")) for item in headers if isinstance(item, Mapping)]
    else:
        pairs = list(headers.items()) if isinstance(headers, Mapping) else []
    found = [value for name, value in pairs if str(name).lower() == "content-encoding"]
    texts = [text for value in found for text in (value if isinstance(value, list) else [value])]
    codings = [coding.strip().lower() for text in texts if isinstance(text, str) for coding in text.split(",")]
    return [coding for coding in reversed(codings) if coding not in ("", "identity")]


def _bytes_of(body: Any) -> bytes:
    """Return the bytes of a body: VCR has them under ``string``, HAR under ``text``, others have them as they are."""
    encoding = ""
    if isinstance(body, Mapping):
        encoding = "base64" if "base64_string" in body else word(body, "encoding")
        body = next((body[key] for key in ("string", "text", "base64_string") if body.get(key) is not None), None)
    if isinstance(body, (bytes, bytearray)):
        return bytes(body)
    if not isinstance(body, str):
        return b""
    try:
        return base64.b64decode(body, validate=True) if encoding == "base64" else body.encode()
    except (binascii.Error, UnicodeEncodeError, ValueError) as error:
        raise ReadError(f"an undecodable body: {show(error)}") from error


def _readers_of(data: Any) -> list[Reader]:
    """Return the readers of the formats of models that data is in. What telemetry sends, say, is none of ours."""
    from tracewitness.readers.registry import READERS  # here, since it imports this module

    if not isinstance(data, (Mapping, list)):
        return []
    found = [reader for reader in READERS if _is_of_models(reader) and reader.detects(data)]
    return [reader for reader in found if len(found) == 1 or not reader.yields(data)] or found[:1]


def _is_of_models(reader: Reader) -> bool:
    """Whether a reader is of what goes to models or comes from them; those that users register are."""
    module = str(getattr(reader.read, "__module__", ""))
    return module.startswith(_PROVIDERS) or not module.startswith("tracewitness.")


def _reader_beside(reader: Reader, sent: Any) -> Reader | None:
    """Return the reader of a request that shows what it is by its answer alone: one of the same provider."""
    from tracewitness.readers.registry import READERS  # here, since it imports this module

    if not _has_history(sent):
        return None
    provider = reader.name.partition("-")[0]
    near = [known for known in READERS if _is_of_models(known) and known.name.partition("-")[0] == provider]
    near.sort(key=lambda known: not f"{reader.name}-".startswith(f"{known.name}-"))  # of a stream, that of the whole
    return next((known for known in near if _can_read(known, sent)), None)


def _can_read(reader: Reader, sent: Any) -> bool:
    try:
        return len(reader.read(sent)) > 0
    except ReadError:
        return False


def _superseded(exchanges: list[_Exchange]) -> set[int]:
    """Return the exchanges whose answer was not ready, and which came later under the same id."""
    later: set[Any] = set()
    found = set()
    for number in range(len(exchanges) - 1, -1, -1):
        data = exchanges[number].response.data
        if not isinstance(data, Mapping) or not isinstance(data.get("id"), str):
            continue
        if data["id"] in later and word(data, "status") in _PENDING:
            found.add(number)
        later.add(data["id"])
    return found


# ------------------------------------------------------------------------------------------------------------- reading


def _read_request(conversation: Conversation, exchange: _Exchange) -> None:
    side = exchange.request
    if side.reader is None:
        if exchange.response.reader is not None and (_has_history(side.data) or _may_call(side)):
            conversation.doubt(f"a request that can't be read: {show(side.data, 200)}", side.path)
        return
    is_whole = not (isinstance(side.data, Mapping) and any(side.data.get(key) for key in _KEPT))
    try:
        history = recording_of(side.reader.read(side.data), side.path)
    except ReadError as error:
        conversation.doubt(f"a request that can't be read: {error}", side.path)
        return
    conversation.add_request(history, is_whole=is_whole)


def _has_history(data: Any) -> bool:
    return isinstance(data, Mapping) and not _HISTORIES.isdisjoint(data)


def _read_response(conversation: Conversation, exchange: _Exchange, *, is_last: bool) -> None:
    side = exchange.response
    if exchange.failed and exchange.asks_model:
        _doubt_failure(conversation, exchange, is_last=is_last)
    elif side.reader is None:
        if exchange.asks_model or _may_call(side):
            shown = side.problem or show(side.raw if side.data is None else side.data, 200)
            conversation.doubt(f"an answer of a model that can't be read: {shown}", side.path)
    else:
        try:
            answer = recording_of(side.reader.read(side.data), side.path)
        except ReadError as error:
            conversation.doubt(f"an answer of a model that can't be read: {error}", side.path)
            return
        if _is_answer(exchange):
            conversation.add_response(answer)
        else:
            conversation.add_request(answer)


def _is_answer(exchange: _Exchange) -> bool:
    """Whether a response is what a model just answered, and not what is kept of an earlier one."""
    data = exchange.response.data
    kind = word(data, "object") if isinstance(data, Mapping) else ""
    return exchange.method == "POST" and not kind.startswith("thread")


def _doubt_failure(conversation: Conversation, exchange: _Exchange, *, is_last: bool) -> None:
    """Note that a model did not answer. It hides nothing where it was asked again, unless an error tells of a call."""
    side = exchange.response
    shown = show(side.raw if side.data is None else side.data, 300)
    reason = f"the request failed with status {exchange.status}: {shown}"
    conversation.doubt(reason, side.path, hides_call=is_last or _may_call(side) or b"failed_generation" in side.raw)
    if is_last:
        conversation.failure = reason


def _may_call(side: _Side) -> bool:
    """Whether a body that no reader knows has a mark of a call."""
    if side.data is None:
        return any(mark in side.raw for mark in _MARKS)
    return _has_mark(side.data, _DEPTH)


def _has_mark(data: Any, depth: int) -> bool:
    if depth == 0:
        return True
    if isinstance(data, Mapping):
        if not _MARK_KEYS.isdisjoint(data) or word(data, "type") in _CALL_TYPES:
            return True
        return any(_has_mark(value, depth - 1) for value in data.values())
    return isinstance(data, list) and any(_has_mark(item, depth - 1) for item in data)


READER: Final = Reader(
    "http-recording",
    detects=detects,
    read=read,
    shape=SHAPE,
    keys=frozenset({*_LISTS, "log"}),
)
