"""Put the pieces together in which LangChain streams a message."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from tracewitness.readers.recording import word

__all__ = ["joined_fields"]

# Fields that go on from piece to piece; of the others the first one counts.
_TEXTS: Final = frozenset({"args", "partial_json", "refusal", "text"})


def joined_fields(messages: list[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the fields of the message that pieces make: those of the first, with the content and the calls of all.

    The calls are in `tool_call_chunks`, with their arguments as they were streamed.

    >>> pieces = [{"index": 0, "name": "search", "args": "{"}, {"index": 0, "args": "}"}]
    >>> joined_fields([{"content": "", "tool_call_chunks": [piece]} for piece in pieces])["tool_call_chunks"]
    [{'index': 0, 'name': 'search', 'args': '{}'}]
    """
    fields = dict(messages[0])
    calls = _Pieces()
    for message in messages:
        for call in _calls_of(message):
            calls.add(call)
    fields["content"] = _joined_content([message.get("content") for message in messages])
    fields["tool_call_chunks"] = calls.joined()
    for name in ("name", "response_metadata"):
        fields[name] = next((message[name] for message in reversed(messages) if message.get(name)), None)
    return fields


def _calls_of(message: Mapping[str, Any]) -> list[Any]:
    for keys in (("tool_call_chunks",), ("tool_calls", "invalid_tool_calls")):
        found = [call for key in keys if isinstance(message.get(key), list) for call in message[key]]
        if found:
            return found
    return []


def _joined_content(contents: list[Any]) -> Any:
    """Return the content of pieces: one text, or blocks of which those with one index are one."""
    contents = [content for content in contents if content]
    if all(isinstance(content, str) for content in contents):
        return "".join(contents)
    blocks = _Pieces()
    for content in contents:
        for block in content if isinstance(content, list) else [content]:
            blocks.add(block)
    return blocks.joined()


class _Fragments(list[str]):
    """A text in the making: to add to a text itself copies it each time."""


class _Pieces:
    """Puts blocks or calls together: pieces with one index and no two ids are one, and texts that follow each other."""

    def __init__(self) -> None:
        self._wholes: list[Any] = []
        self._latest: dict[Any, dict[str, Any]] = {}

    def add(self, piece: Any) -> None:
        """Add a piece to what it goes on from, or as the first of its own."""
        if isinstance(piece, Mapping):
            self._add_mapping(piece)
        elif not isinstance(piece, str):
            self._wholes.append(piece)
        elif self._wholes and isinstance(self._wholes[-1], _Fragments):
            self._wholes[-1].append(piece)
        else:
            self._wholes.append(_Fragments([piece]))

    def joined(self) -> list[Any]:
        """Return what the pieces make."""
        return [
            {key: _text(value) for key, value in whole.items()} if isinstance(whole, dict) else _text(whole)
            for whole in self._wholes
        ]

    def _add_mapping(self, piece: Mapping[str, Any]) -> None:
        index = piece.get("index")
        is_one_of_several = isinstance(index, (int, str))
        whole = self._latest.get(index) if is_one_of_several else None
        if whole is None or word(whole, "id") not in ("", word(piece, "id") or word(whole, "id")):
            whole = {}
            self._wholes.append(whole)
            if is_one_of_several:
                self._latest[index] = whole
        _extend(whole, piece)


def _extend(whole: dict[str, Any], piece: Mapping[str, Any]) -> None:
    for key, value in piece.items():
        former = whole.get(key)
        if isinstance(former, _Fragments) and isinstance(value, str):
            former.append(value)
        elif not former:
            whole[key] = _Fragments([value]) if key in _TEXTS and isinstance(value, str) else value


def _text(value: Any) -> Any:
    return "".join(value) if isinstance(value, _Fragments) else value
