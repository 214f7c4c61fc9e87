"""What the rates are broken down by: a column of the source, a key of the record, or a part of the source's path."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

import msgspec
import pyarrow as pa
from msgspec import Raw

from tracewitness.batch.schemas import by_column
from tracewitness.display import printable

__all__ = ["Breakdown", "value_in"]

_LONGEST: Final = 200
_decode_mapping: Final = msgspec.json.Decoder(dict[str, Raw]).decode
_decode_list: Final = msgspec.json.Decoder(list[Raw]).decode
_decode: Final = msgspec.json.Decoder().decode
# How many items of a list are looked at for a key: in a history of responses the first has it.
_ITEMS_LOOKED_AT: Final = 4


class Breakdown:
    """Finds the values by which a batch's rates are broken down.

    Arguments:
        by: the names of columns, or dotted keys of records.
        batch: the raw records, with or without those columns.
        sources: the source of each record.
    """

    def __init__(self, by: Sequence[str], batch: pa.RecordBatch | pa.Table, sources: Sequence[str]) -> None:
        self._by = by
        self._batch = batch
        self._sources = sources

    def columns(self, raws: Sequence[bytes | None], positions: Sequence[int]) -> dict[str, pa.Array]:
        """Return a column for each name, with a value for each position."""
        return {by_column(name): self._column(name, raws, positions) for name in self._by}

    def _column(self, name: str, raws: Sequence[bytes | None], positions: Sequence[int]) -> pa.Array:
        is_given = by_column(name) in self._batch.schema.names
        given = self._batch.column(by_column(name)).to_pylist() if is_given else [None] * len(raws)
        path = name.split(".")
        in_source = re.compile(rf"(?:^|[/\\]){re.escape(name)}=([^/\\]*)")
        found = []
        for position in positions:
            value = given[position]
            if value is None:
                value = value_in(raws[position], path)
            if value is None and (part := in_source.search(self._sources[position])) is not None:
                value = part[1]
            found.append(_text(value))
        return pa.array(found, pa.string())


def value_in(raw: bytes | Raw | None, path: Sequence[str]) -> Any:
    """Return what stands at a path of a JSON document, or of the first items of a list; None where nothing does.

    >>> value_in(b'{"metadata": {"model": "m-1"}, "events": []}', ["metadata", "model"])
    'm-1'
    """
    if raw is None:
        return None
    try:
        for item in _decode_list(raw)[:_ITEMS_LOOKED_AT] if bytes(raw).startswith(b"[") else [raw]:
            value: Any = item
            for key in path:
                value = _decode_mapping(value).get(key)
                if value is None:
                    break
            else:
                return _decode(value)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None
    return None


def _text(value: Any) -> str | None:
    if value is None:
        return None
    if isinstance(value, (dict, list)):
        value = msgspec.json.encode(value).decode()
    return printable(str(value), _LONGEST)
