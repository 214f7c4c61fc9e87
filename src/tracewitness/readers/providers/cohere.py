"""Read Cohere's first chat interface: responses with ``text``, requests with ``chat_history``, and histories.

The second one writes what `openai_chat` reads.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from tracewitness.display import show
from tracewitness.readers.pairing import freeze
from tracewitness.readers.providers.shared import doubt_cut, give_back, told_trace
from tracewitness.readers.reader import Reader
from tracewitness.readers.recording import Path, Recording, each_mapping, refuse, word
from tracewitness.trace import Role, Trace

__all__ = ["READER", "SHAPE", "detects", "read"]

SHAPE: Final = "a response of Cohere's first interface has a text, and calls with name and parameters"

_SPEAKERS: Final[dict[str, Role]] = {"USER": "user", "CHATBOT": "agent", "SYSTEM": "system"}
_FAILED: Final = frozenset({"ERROR", "ERROR_TOXIC", "ERROR_LIMIT", "USER_CANCEL", "TIMEOUT"})


def detects(document: Any) -> bool:
    """Whether decoded data is of this format."""
    if isinstance(document, Mapping):
        return _is_marked(document)
    return isinstance(document, list) and any(map(_is_marked, document))


def read(document: Any, name: str = "") -> Trace:
    """Read a response, a request, a message of a history, or a list of them.

    Raises:
        ReadError: it is nothing of the kind.

    >>> read({"text": "", "generation_id": "g", "tool_calls": [
    ...     {"name": "search", "parameters": {"q": "lamp"}}]}).to_events()
    [{'call': 'search', 'args': {'q': 'lamp'}}]
    """
    reading = _Reading()
    if isinstance(document, list):
        reading.items(document, ())
    elif isinstance(document, Mapping) and _is_marked(document):
        reading.item(document, ())
    else:
        raise refuse(document, SHAPE)
    return told_trace(reading.recording, document, name, detects, SHAPE)


def _is_marked(item: Any) -> bool:
    """Whether an item is of this format and of no other."""
    if not isinstance(item, Mapping):
        return False
    if word(item, "role") in {*_SPEAKERS, "TOOL"}:
        return isinstance(item.get("message"), str) or isinstance(item.get("tool_results"), list)
    if isinstance(item.get("text"), str):
        return "generation_id" in item or "response_id" in item
    is_request = isinstance(item.get("message"), str) and not isinstance(item.get("messages"), list)
    return is_request and any(isinstance(item.get(key), list) for key in ("chat_history", "tool_results"))


class _Reading:
    """Reads items in order.

    Attributes:
        recording: the trace in the making.
    """

    def __init__(self) -> None:
        self.recording = Recording()
        self._open_calls: list[Any] = []

    def items(self, items: Any, path: Path) -> None:
        """Read a list of items."""
        for item, place in each_mapping(self.recording, items, path, "a message"):
            self.item(item, place)

    def item(self, item: Mapping[str, Any], path: Path) -> None:
        """Read a message, a response or a request."""
        if "role" in item:
            self._message(item, path)
        elif "text" in item:
            self._response(item, path)
        elif "message" in item:
            self._request(item, path)
        else:
            self.recording.doubt(f"neither a message nor a response: {show(list(item))}", path)

    def _request(self, request: Mapping[str, Any], path: Path) -> None:
        preamble = word(request, "preamble")
        if preamble:
            self.recording.say("system", preamble, (*path, "preamble"))
        self.items(request.get("chat_history"), (*path, "chat_history"))
        self._asked(request, None, path)

    def _asked(self, request: Mapping[str, Any], history: Any, path: Path) -> None:
        """Read what a request has beside its history; an answer that was kept with it may have that in the history."""
        asked = {"role": "USER", "message": request.get("message")}
        told = [item for item in history if isinstance(item, Mapping)] if isinstance(history, list) else []
        is_told = any(all(item.get(key) == value for key, value in asked.items()) for item in told[-2:])
        if word(request, "message") and not is_told:
            self.recording.say("user", request["message"], (*path, "message"))
        self._results(request.get("tool_results"), (*path, "tool_results"))

    def _response(self, response: Mapping[str, Any], path: Path) -> None:
        """Read a response. It may have the history, with the response at its end."""
        preamble, history = word(response, "preamble"), response.get("chat_history")
        if preamble:
            self.recording.say("system", preamble, (*path, "preamble"))
        self.items(history, (*path, "chat_history"))
        last = history[-1] if isinstance(history, list) and history else None
        events_before = len(self.recording)
        if not _is_same(last, response):
            self._asked(response, history, path)
            self._said("agent", response["text"], response.get("tool_calls"), path)
        doubt_cut(self.recording, events_before, response.get("finish_reason"), None, path)
        reason = word(response, "finish_reason")
        if reason in _FAILED:
            self.recording.doubt(f"the answer failed: finish_reason {reason}", path)

    def _message(self, message: Mapping[str, Any], path: Path) -> None:
        role = word(message, "role")
        if role in _SPEAKERS:
            self._said(_SPEAKERS[role], word(message, "message"), message.get("tool_calls"), path)
        elif role == "TOOL":
            self._results(message.get("tool_results"), (*path, "tool_results"))
        else:
            self.recording.doubt(f"an unknown role {show(message.get('role'))}", path)

    def _said(self, speaker: Role, text: Any, calls: Any, path: Path) -> None:
        """Read what somebody said and called. An answer has the words of its plan beside its calls."""
        text = text if isinstance(text, str) else ""
        if text or not calls:
            self.recording.say(speaker, text, path)
        for call, place in each_mapping(self.recording, calls, (*path, "tool_calls"), "a call"):
            self.recording.call(call.get("name"), call.get("parameters"), call.get("id"), place)
            self._open_calls.append(_content(call))

    def _results(self, results: Any, path: Path) -> None:
        """Read results in the order of their calls: they have no ids, and each tells which call it answers."""
        found = list(each_mapping(self.recording, results, path, "a result"))
        for result, place in sorted(found, key=lambda item: self._place_of(item[0])):
            call, outputs = result.get("call"), result.get("outputs")
            if not isinstance(call, Mapping):
                self.recording.doubt(f"a result has its call, this has {show(list(result))}", place, hides_call=False)
                call = {}
            content = _content(call)
            if content in self._open_calls:
                self._open_calls.remove(content)
            payload = outputs[0] if isinstance(outputs, list) and len(outputs) == 1 else outputs
            give_back(self.recording, result, payload, call.get("id"), place, of=call.get("name"))

    def _place_of(self, result: Mapping[str, Any]) -> int:
        call = result.get("call")
        content = _content(call) if isinstance(call, Mapping) else None
        return self._open_calls.index(content) if content in self._open_calls else len(self._open_calls)


def _content(call: Mapping[str, Any]) -> Any:
    """Return what makes two calls the same."""
    return word(call, "name"), freeze(call.get("parameters") or {})


def _is_same(message: Any, response: Mapping[str, Any]) -> bool:
    if not isinstance(message, Mapping) or message.get("role") != "CHATBOT":
        return False
    calls = message.get("tool_calls") or [], response.get("tool_calls") or []
    return message.get("message") == response["text"] and calls[0] == calls[1]


READER: Final = Reader(
    "cohere-chat",
    detects=detects,
    read=read,
    shape=SHAPE,
    keys=frozenset({"generation_id", "response_id", "chat_history", "tool_results", "message"}),
)
