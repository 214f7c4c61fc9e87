"""Read OpenAI Responses: responses, their items, requests with ``input``, and histories of these."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from msgspec import Struct

from tracewitness.display import show
from tracewitness.readers.providers.shared import (
    doubt_cut,
    doubt_foreign_calls,
    give_back,
    holds_actions,
    told_trace,
)
from tracewitness.readers.providers.streams import holds_events
from tracewitness.readers.reader import CONTENT_LIST, Reader
from tracewitness.readers.recording import Path, Recording, each_mapping, one_text, payload_of, refuse, word
from tracewitness.trace import Role, Trace

__all__ = ["READER", "SHAPE", "ItemReader", "detects", "read"]

SHAPE: Final = "a response of OpenAI Responses has object: response and an output, or is a list of its items"

_SPEAKERS: Final[dict[str, Role]] = {"user": "user", "system": "system", "developer": "system", "assistant": "agent"}
_MESSAGE_PARTS: Final = frozenset({"input_text", "output_text", "input_image", "input_file", "summary_text"})
_SILENT_PARTS: Final = frozenset({"input_image", "input_file", "input_audio", "output_audio", "image_url", "file"})
# Items that call nothing: what the model thought, which tools there are, and what was asked of a person.
_SILENT_ITEMS: Final = frozenset(
    {
        "additional_tools",
        "compaction_trigger",
        "mcp_approval_request",
        "mcp_approval_response",
        "mcp_list_tools",
        "reasoning",
    }
)
_CUT: Final = "incomplete"
_RUNNING: Final = frozenset({"queued", "in_progress"})
_UNFINISHED: Final = _RUNNING | {"cancelled", "failed"}


class _Hosted(Struct, frozen=True):
    """A tool that the provider has or knows; its calls are named by their type.

    Attributes:
        arguments: the fields that hold its arguments. One alone that is a mapping is the arguments.
        results: the field that holds the result, where it stands in the call itself.
    """

    arguments: tuple[str, ...]
    results: str = ""


_HOSTED: Final = {
    "apply_patch_call": _Hosted(("operation",)),
    "code_interpreter_call": _Hosted(("code", "container_id"), "outputs"),
    "computer_call": _Hosted(("action", "actions")),
    "file_search_call": _Hosted(("queries",), "results"),
    "image_generation_call": _Hosted(("action", "revised_prompt", "size", "quality", "background"), "result"),
    "local_shell_call": _Hosted(("action",)),
    "program": _Hosted(("code",)),
    "shell_call": _Hosted(("action", "environment")),
    "tool_search_call": _Hosted(("arguments",)),
    "web_search_call": _Hosted(("action",), "results"),
}
_CALLS: Final = frozenset({"function_call", "custom_tool_call", "mcp_call"}) | _HOSTED.keys()
# Items that answer a call, and the field that holds the payload.
_OUTPUTS: Final = {
    "apply_patch_call_output": "output",
    "computer_call_output": "output",
    "custom_tool_call_output": "output",
    "function_call_output": "output",
    "local_shell_call_output": "output",
    "program_output": "result",
    "shell_call_output": "output",
    "tool_search_output": "tools",
}


def detects(document: Any) -> bool:
    """Whether decoded data is of this format."""
    if isinstance(document, Mapping):
        lists = (document.get("output"), document.get("input"))
        marked = any(isinstance(items, list) and any(map(_is_marked, items)) for items in lists)
        return _is_marked(document) or marked or _is_request(document)
    return isinstance(document, list) and any(map(_is_marked, document))


def read(document: Any, name: str = "") -> Trace:
    """Read a response, an item, a list of them, or a request with ``input``.

    Raises:
        ReadError: it is nothing of the kind.

    >>> read({"object": "response", "output": [
    ...     {"type": "function_call", "call_id": "c1", "name": "search", "arguments": "{}"}]}).to_events()
    [{'call': 'search', 'args': {}, 'id': 'c1'}]
    """
    reading = ItemReader(Recording())
    if isinstance(document, list):
        reading.items(document, ())
    elif isinstance(document, Mapping) and not document.keys().isdisjoint({"output", "input", "type", "role"}):
        reading.item(document, ())
    else:
        raise refuse(document, SHAPE)
    return told_trace(reading.recording, document, name, detects, SHAPE)


# ----------------------------------------------------------------------------------------------------------- detection


def _is_marked(item: Any) -> bool:
    """Whether an item is of this format and of no other."""
    if not isinstance(item, Mapping):
        return False
    kind = item.get("type")
    if item.get("object") == "response":
        return True
    if kind == "function_call":  # other formats have this type too, with other fields
        return "call_id" in item and not isinstance(item.get("arguments"), Mapping)
    if kind == "message" or (kind is None and "role" in item):
        return _is_message(item, typed=kind is not None)
    if kind == "reasoning":
        return "summary" in item or "encrypted_content" in item
    if kind in ("program", "program_output"):  # common words
        return "call_id" in item
    return isinstance(kind, str) and (kind in _CALLS or kind in _OUTPUTS or kind in _SILENT_ITEMS)


def _is_request(document: Mapping[str, Any]) -> bool:
    """Whether a mapping asks for an answer. What is to be embedded is asked for in the same words, with less beside."""
    given = document.get("input")
    if "model" not in document or "object" in document:
        return False
    if isinstance(given, str):
        return "instructions" in document or "tools" in document
    return isinstance(given, list) and bool(given) and all(_is_plain_message(item) for item in given)


def _is_plain_message(item: Any) -> bool:
    return isinstance(item, Mapping) and word(item, "role") in _SPEAKERS and isinstance(item.get("content"), str)


def _is_message(item: Mapping[str, Any], *, typed: bool) -> bool:
    content = item.get("content")
    if isinstance(content, list):
        return any(isinstance(part, Mapping) and word(part, "type") in _MESSAGE_PARTS for part in content)
    return typed and isinstance(content, str) and "stop_reason" not in item and word(item, "role") in _SPEAKERS


# ------------------------------------------------------------------------------------------------------------- reading


class ItemReader:
    """Reads items in order.

    Attributes:
        recording: the trace in the making.
    """

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self._instructions: str | None = None
        self._seen_ids: set[Any] = set()
        self._shell_ids: dict[Any, Any] = {}
        self._calls: dict[tuple[str, ...], Mapping[str, Any]] = {}
        self._answered: set[Any] = set()

    def items(self, items: Any, path: Path) -> None:
        """Read a list of items."""
        for item, place in each_mapping(self.recording, items, path, "an item"):
            self.item(item, place)

    def item(self, item: Mapping[str, Any], path: Path) -> None:
        """Read an item, a response or a request."""
        kind = item.get("type")
        item_id = item.get("id")
        if "output" in item and ("object" in item or kind is None):
            self._response(item, path)
        elif "input" in item and kind is None:
            self._request(item, path)
        elif kind == "message" or (kind is None and "role" in item):
            self._message(item, path)
        elif kind == "item_reference" or (kind is None and item.keys() <= {"id", "type"}):
            if not isinstance(item_id, str) or item_id not in self._seen_ids:
                self.recording.doubt(f"a reference to an item that is not here: {show(item_id)}", path)
        elif isinstance(kind, str):
            self._event(kind, item, path)
        else:
            self.recording.doubt(f"an item without a type: {show(list(item))}", path)
        if isinstance(item_id, str):
            self._seen_ids.add(item_id)

    def _response(self, response: Mapping[str, Any], path: Path) -> None:
        self._request(response, path)
        events_before = len(self.recording)
        output = response.get("output")
        self.items(output, (*path, "output"))
        self._doubt_end(response, path)
        last = output[-1] if isinstance(output, list) and output else None
        if isinstance(last, Mapping):
            reason = response.get("status") if last.get("status") != _CUT else None  # the item said so itself
            doubt_cut(self.recording, events_before, reason if reason == _CUT else None, _given(last), path)
        if len(self.recording) == events_before and self.recording.failure is None:
            self.recording.say("agent", "", path)  # an empty answer is an answer

    def _request(self, request: Mapping[str, Any], path: Path) -> None:
        """Read what the model was given: instructions where they are new, and input."""
        instructions = request.get("instructions")
        if isinstance(instructions, str) and instructions != self._instructions:
            self._instructions = instructions
            self.recording.say("system", instructions, (*path, "instructions"))
        given = request.get("input")
        if isinstance(given, str):
            self.recording.say("user", given, (*path, "input"))
        else:
            self.items(given, (*path, "input"))

    def _doubt_end(self, response: Mapping[str, Any], path: Path) -> None:
        """Look for signs that there was to be more than is there."""
        status, error, details = word(response, "status"), response.get("error"), response.get("incomplete_details")
        if error or status in _UNFINISHED:
            self.recording.failure = f"the response failed: {show(error)}" if error else f"the response is {status}"
            self.recording.doubt(self.recording.failure, path, cut=not error and status in _RUNNING)
        elif isinstance(details, Mapping) and details.get("reason") == "content_filter":
            self.recording.doubt("the answer was withheld: content_filter", path)

    def _message(self, message: Mapping[str, Any], path: Path) -> None:
        speaker = _SPEAKERS.get(word(message, "role"))
        if speaker is None:
            self.recording.doubt(f"an unknown role {show(message.get('role'))}", path)
            return
        doubt_foreign_calls(self.recording, message, path)
        self.recording.say(speaker, self._text(message.get("content"), path, may_call=speaker == "agent"), path)

    def _text(self, content: Any, path: Path, *, may_call: bool) -> str:
        if isinstance(content, str):
            return content
        texts: list[str] = []
        for part, place in each_mapping(self.recording, content, (*path, "content"), "a part"):
            kind, text = word(part, "type"), one_text(part)
            if kind == "refusal":
                text = word(part, "refusal")
            if text is not None:
                texts.append(text)
            elif kind not in _SILENT_PARTS:
                self.recording.doubt(f"an unknown part {show(dict(part))}", place, hides_call=may_call)
        return "\n".join(texts)

    def _event(self, kind: str, item: Mapping[str, Any], path: Path) -> None:
        events_before, read = len(self.recording), _CALL_READERS.get(kind)
        if kind in _CALLS and self._is_told(kind, item, path):
            return
        if read is not None:
            read(self.recording, item, path)
        elif kind in _HOSTED:
            self._hosted(kind, item, path)
        elif kind in _OUTPUTS:
            self._output(kind, item, path)
        elif kind not in _SILENT_ITEMS:
            self.recording.doubt(f"an unknown item of type {show(kind)}", path)
        if item.get("status") == _CUT:
            doubt_cut(self.recording, events_before, _CUT, _given(item), path)

    def _is_told(self, kind: str, item: Mapping[str, Any], path: Path) -> bool:
        """Whether a call is one that was read already: an item has an id of its own, and is sent again in an input.

        Some recordings use ids again; a call that was answered since, or has other arguments, may be another one.
        """
        ids = (word(item, "id"), word(item, "call_id"))
        if not ids[0]:
            return False
        key = (kind, *ids)
        before = self._calls.setdefault(key, item)
        if before is item:
            return False
        if _content(before) == _content(item) and not (ids[1] and ids[1] in self._answered):
            return True
        if before.get("name") == item.get("name"):
            reason = f"the item {show(ids[0])} a second time, which may be another call"
            self.recording.doubt(reason, path, hides_call=False)
        return False

    def _hosted(self, kind: str, item: Mapping[str, Any], path: Path) -> None:
        """Read a call of a tool that the provider has, with its result where it stands beside it."""
        tool = _HOSTED[kind]
        call_id = item.get("call_id") or item.get("id")
        if kind == "local_shell_call" and isinstance(item.get("id"), str):
            self._shell_ids[item["id"]] = call_id
        self.recording.call(kind, _hosted_arguments(tool, item), call_id, path)
        payload = item.get(tool.results) if tool.results else None
        error = item.get("error") or None
        if item.get("status") == "failed" or error is not None:
            self.recording.answer(error if payload is None else payload, call_id, path, of=kind, is_error=True)
        elif payload is not None:
            self.recording.answer(payload, call_id, path, of=kind, is_error=False)

    def _output(self, kind: str, item: Mapping[str, Any], path: Path) -> None:
        call_id = item.get("call_id")
        if kind == "local_shell_call_output" and not call_id:
            call_id = item.get("id")
            call_id = self._shell_ids.get(call_id, call_id) if isinstance(call_id, str) else call_id
        if isinstance(call_id, str):
            self._answered.add(call_id)
        payload, is_error = payload_of(item.get(_OUTPUTS[kind])), _output_error(kind, item)
        give_back(self.recording, item, payload, call_id, path, is_error=is_error)


def _content(item: Mapping[str, Any]) -> dict[str, Any]:
    """Return what must be the same in two accounts of an item: how far it is may differ."""
    return {key: value for key, value in item.items() if key != "status" and value is not None}


def _given(item: Mapping[str, Any]) -> Any:
    """Return the arguments of a call as they were recorded, where these are JSON: what is none may end anywhere."""
    return item.get("arguments")


def _hosted_arguments(tool: _Hosted, item: Mapping[str, Any]) -> Any:
    found = {field: item[field] for field in tool.arguments if item.get(field) is not None}
    alone = next(iter(found.values())) if len(found) == 1 else None
    if isinstance(alone, Mapping) or tool.arguments == ("arguments",):
        return alone
    return found or item.get("arguments")  # where xAI writes them


def _output_error(kind: str, item: Mapping[str, Any]) -> bool | None:
    """Return whether an output says that it is an error: patches and screens have a status for it, others nothing."""
    status = item.get("status")
    if status == "failed":
        return True
    return False if kind == "apply_patch_call_output" and status == "completed" else None


def _read_function_call(recording: Recording, item: Mapping[str, Any], path: Path) -> None:
    recording.call(item.get("name"), item.get("arguments"), item.get("call_id"), path)


def _read_custom_call(recording: Recording, item: Mapping[str, Any], path: Path) -> None:
    text = item.get("input")
    recording.call(item.get("name"), None if text is None else {"input": text}, item.get("call_id"), path)


def _read_mcp_call(recording: Recording, item: Mapping[str, Any], path: Path) -> None:
    """Read a call to a tool of a server, and what came back, which is the same item."""
    server, call_id, name = item.get("server_label"), item.get("id"), item.get("name")
    beside = {"server_label": server} if isinstance(server, str) else None
    recording.call(name, item.get("arguments"), call_id, path, metadata=beside)
    output, error = item.get("output"), item.get("error")
    if error or item.get("status") == "failed":
        recording.answer(error if output is None else output, call_id, path, of=name, is_error=True)
    elif output is not None or item.get("status") == "completed":
        recording.answer(output, call_id, path, of=name, is_error=False)


_CALL_READERS: Final[dict[str, Callable[[Recording, Mapping[str, Any], Path], None]]] = {
    "custom_tool_call": _read_custom_call,
    "function_call": _read_function_call,
    "mcp_call": _read_mcp_call,
}


READER: Final = Reader(
    "openai-responses",
    detects=detects,
    read=read,
    shape=SHAPE,
    yields=lambda document: holds_events(document) or holds_actions(document),
    keys=frozenset({"output", "input", "object", "type", "call_id", "arguments", CONTENT_LIST}),
)
