"""Read attributes of spans: they are texts and numbers, so that all else is JSON in a text or spread over keys."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from tracewitness.errors import ReadError
from tracewitness.readers.json_text import decode_text
from tracewitness.readers.literals import parse_literal

__all__ = ["arguments_of", "decoded", "flattened", "gathered", "is_broken", "opened"]

_MAX_DEPTH: Final = 40
_OPENERS: Final = ("{", "[")
# How an object or a list of objects, lists or texts begins: not so "[1] see below", nor "{name}".
_begins_as_json = re.compile(r"""\s*(?:\{\s*(?:["'}]|$)|\[\s*(?:["'{\[\]]|$))""").match


def decoded(value: Any) -> Any:
    """Decode a value that is JSON in a text; return any other as it is.

    >>> decoded('{"city": "Oslo"}'), decoded("Oslo")
    ({'city': 'Oslo'}, 'Oslo')
    """
    if not isinstance(value, str):
        return value
    try:
        return msgspec.json.decode(value)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return _decoded_widely(value)


def _decoded_widely(text: str) -> Any:
    if not text.lstrip().startswith(_OPENERS):
        return text
    try:
        found = decode_text(text)
    except (ValueError, RecursionError):
        return text
    return text if found.has_raw or found.repeated_key is not None else found.value


def opened(value: Any) -> Any:
    """Return what is in a text that is a JSON object or list; return any other value as it is.

    >>> opened("[1]"), opened("1")
    ([1], '1')
    """
    inside = decoded(value)
    return inside if isinstance(inside, (dict, list)) else value


def is_broken(value: Any) -> bool:
    """Whether a value is a text that begins as JSON and is none: exporters cut long attributes off.

    >>> is_broken('[{"role": "assi'), is_broken('[{"role": "user"}]'), is_broken("[1] says so")
    (True, False, False)
    """
    return isinstance(value, str) and _begins_as_json(value) is not None and opened(value) is value


def arguments_of(value: Any) -> Any:
    """Return arguments as a mapping where they are one, in JSON or in Python's notation; else as they were recorded."""
    if not isinstance(value, str):
        return value
    inside = opened(value)
    if inside is not value or not value.lstrip().startswith("{"):
        return inside
    try:
        literal = parse_literal(value)
    except ReadError:
        return value
    return literal if isinstance(literal, dict) else value


def flattened(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Return attributes with a key for each value in them: exports write mappings where spans have dotted keys.

    What holds mappings stays beside its values. What is nested too deeply is not spread out.

    >>> flattened({"llm": {"tools": [{"tool.name": "a"}]}})["llm.tools.0.tool.name"]
    'a'
    """
    flat: dict[str, Any] = {}
    for key, value in attributes.items():
        if value.__class__ is dict or value.__class__ is list:
            flat.update(_spread(str(key), value, 0))
        else:
            flat[str(key)] = value
    return flat


def _spread(key: str, value: Any, depth: int) -> Iterator[tuple[str, Any]]:
    yield key, value
    if depth == _MAX_DEPTH or not _holds_mappings(value):
        return
    for name, item in value.items() if isinstance(value, Mapping) else enumerate(value):
        yield from _spread(f"{key}.{name}", item, depth + 1)


def _holds_mappings(value: Any) -> bool:
    return isinstance(value, Mapping) or (isinstance(value, list) and any(map(_is_mapping, value)))


def _is_mapping(value: Any) -> bool:
    return isinstance(value, Mapping)


def gathered(attributes: Mapping[str, Any], prefix: str) -> Any:
    """Return what is spread over the keys that begin with a prefix: mappings, and lists where the keys are numbers.

    >>> gathered({"m.0.role": "user", "m.1.role": "tool", "n": 1}, "m.")
    [{'role': 'user'}, {'role': 'tool'}]
    """
    tree: dict[str, Any] = {}
    for key, value in attributes.items():
        if key.startswith(prefix) and not _holds_mappings(value):
            _plant(tree, key[len(prefix) :].split(".", _MAX_DEPTH), value)
    return _with_lists(tree)


def _plant(tree: dict[str, Any], parts: list[str], value: Any) -> None:
    for part in parts[:-1]:
        branch = tree.get(part)
        if not isinstance(branch, dict):
            # A value on the way says less than what is under it.
            branch = tree[part] = {}
        tree = branch
    if not isinstance(tree.get(parts[-1]), dict):
        tree[parts[-1]] = value


def _with_lists(tree: Any) -> Any:
    if not isinstance(tree, dict):
        return tree
    items = {key: _with_lists(item) for key, item in tree.items()}
    if not items or not all(key.isdecimal() and key.isascii() and len(key) < 9 for key in items):
        return items
    return [items[key] for key in sorted(items, key=int)]
