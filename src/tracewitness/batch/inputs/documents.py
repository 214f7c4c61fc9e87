"""The records of a JSON document: the items of an array or of ``results``, or the whole of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import chain
from typing import Any, Final

from tracewitness.batch.inputs.json_stream import JsonStream
from tracewitness.batch.inputs.segments import MAX_RECORD, RawRecord, too_long
from tracewitness.batch.inputs.streams import Opened
from tracewitness.display import show
from tracewitness.errors import ReadError
from tracewitness.readers.neutral import decode_plainly, refuse_two_accounts
from tracewitness.readers.rows import holds_one_run, is_piece

__all__ = ["records_of_document"]

#: Items of an array may be runs, and long: so few of them are held before the first is handed on.
_ITEMS_LOOKED_AT: Final = 16
_BYTES_LOOKED_AT: Final = 4 * 1024 * 1024


def records_of_document(stream: Opened, source: str, name: str) -> Iterator[RawRecord]:
    """Yield the records of a JSON document, and what is wrong with it where it goes wrong."""
    count = 0
    try:
        for raw in _values(JsonStream(stream)):
            count += 1
            problem = too_long("record") if len(raw) > MAX_RECORD else None
            yield RawRecord(source, count, None if problem else raw, problem, name)
    except ReadError as error:
        yield RawRecord(source, count + 1 if count else 0, None, error.problem, name)
    else:
        if not count:
            yield RawRecord(source, 0, None, "the file holds no record", name)


def _values(document: JsonStream) -> Iterator[bytes]:
    first = document.peek()
    if not first:
        raise ReadError("the file is empty")
    if first == "[":
        yield from _items_or_run(document)
    elif first == "{":
        yield from _results_or_mapping(document)
    else:
        yield document.value().encode()
    document.end()


def _items(document: JsonStream) -> Iterator[bytes]:
    document.take("[")
    if document.skip("]"):
        return
    while True:
        yield document.value().encode("utf-8", "surrogatepass")
        if document.skip("]"):
            return
        document.take(",")


def _items_or_run(document: JsonStream) -> Iterator[bytes]:
    """Yield the items of an array; where they are pieces of one run, the array is that run, and is yielded whole."""
    items = _items(document)
    ahead: list[bytes] = []
    size = 0
    broken: ReadError | None = None
    try:
        while len(ahead) < _ITEMS_LOOKED_AT and size < _BYTES_LOOKED_AT and (item := next(items, None)) is not None:
            ahead.append(item)
            size += len(item)
    except ReadError as error:
        broken = error
    is_one = holds_one_run([_decoded(item) for item in ahead])
    if broken is not None:
        yield from () if is_one else ahead
        raise broken
    yield from [_joined(chain(ahead, items))] if is_one else chain(ahead, items)


def _joined(items: Iterator[bytes]) -> bytes:
    held: list[bytes] = []
    size = 0
    for item in items:
        size += len(item)
        if size > MAX_RECORD:
            raise ReadError(too_long("run"))
        held.append(item)
    return b"[%b]" % b",".join(held)


def _decoded(item: bytes) -> Any:
    try:
        return decode_plainly(item)
    except ReadError:
        return None


def _new_key(document: JsonStream, keys: dict[str, Any]) -> str:
    """Return the next key as it was written, and note it.

    Raises:
        ReadError: it is none; or it stands there twice, or tells of the same as another.
    """
    if document.peek() != '"':
        raise ReadError(f"a key was expected, {show(document.peek())} came")
    written = document.value()
    key: str = json.loads(written)
    if key in keys:
        raise ReadError(f"the key {show(key)} stands twice in one object, which is ambiguous")
    keys[key] = None
    refuse_two_accounts(keys)
    return written


def _results_or_mapping(document: JsonStream) -> Iterator[bytes]:
    """Yield the items of the mapping's ``results``, or the mapping itself where it has no such list."""
    document.take("{")
    written: list[str] = []
    keys: dict[str, Any] = {}
    size, has_results = 0, False
    while not document.skip("}"):
        if keys:
            document.take(",")
        key = _new_key(document, keys)
        document.take(":")
        if key == '"results"' and document.peek() == "[":
            has_results = True
            yield from _items_or_run(document)
            continue
        value = document.value()
        size += len(key) + len(value)
        if not has_results:
            written.append(f"{key}:{value}")
        if size > MAX_RECORD:
            raise ReadError(too_long("record"))
    if not has_results:
        raw = f"{{{','.join(written)}}}".encode("utf-8", "surrogatepass")
        # A message alone in a file is a history of one; on a line or in a list it would be a piece of one.
        yield b"[%b]" % raw if is_piece(_decoded(raw)) else raw
