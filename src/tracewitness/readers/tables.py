"""Make rows of tables: data frames of pandas and polars, and tables of Arrow, known by what they can do."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from datetime import date, datetime
from typing import Any, Final

import msgspec

from tracewitness.readers.json_text import decode_text

__all__ = ["rows_of_table"]

# Columns whose cells hold a recording, or a part of one, perhaps as JSON text; and those that hold a whole one.
_RECORDINGS: Final = frozenset(
    {"attributes", "detailed_trace", "events", "inputs", "messages", "outputs", "resource", "span_events", "spans"}
)
_WHOLES: Final = frozenset({"conversation", "history", "run", "trace", "trajectory", "transcript"})
_NAMES: Final = ("name", "id")


def rows_of_table(value: Any) -> list[Any] | None:
    """Return the rows of a table as mappings, the cells of a column as a list, or None for what is neither.

    Cells that are empty are left out. A row with a whole recording in one cell is that recording.
    """
    rows = _rows(value)
    return None if rows is None else [_row(row) if isinstance(row, Mapping) else _cell(row) for row in rows]


def _rows(value: Any) -> Iterable[Any] | None:
    kind = type(value)
    for name, arguments in (("to_pylist", {}), ("to_dicts", {}), ("to_dict", {"orient": "records"}), ("to_list", {})):
        method: Callable[..., Any] | None = getattr(kind, name, None)
        if callable(method) and _is_table(kind, name):
            found = method(value, **arguments)
            return found if isinstance(found, list) else None
    return None


def _is_table(kind: type, method: str) -> bool:
    """Whether a class with a method of that name is one of tables or columns: others have such methods too."""
    if method in ("to_pylist", "to_dicts"):
        return True
    return hasattr(kind, "iterrows" if method == "to_dict" else "value_counts")


def _row(row: Mapping[Any, Any]) -> Any:
    cells = {str(column): _cell_of(str(column), value) for column, value in row.items()}
    cells = {column: value for column, value in cells.items() if value is not None}
    whole = [column for column in cells if column in _WHOLES and isinstance(cells[column], (dict, list))]
    if len(whole) != 1 or any(column in _RECORDINGS for column in cells):
        return cells
    recording = cells[whole[0]]
    name = next((cells[column] for column in _NAMES if isinstance(cells.get(column), (str, int))), None)
    return {"name": str(name), **recording} if isinstance(recording, dict) and name is not None else recording


def _cell_of(column: str, value: Any) -> Any:
    value = _cell(value)
    if isinstance(value, str) and column in _RECORDINGS | _WHOLES and value.lstrip().startswith(("{", "[")):
        try:
            decoded = decode_text(value)
        except (ValueError, RecursionError, msgspec.MsgspecError):
            return value
        return value if decoded.repeated_key is not None or decoded.has_raw else decoded.value
    return value


def _cell(value: Any) -> Any:
    """Return a cell as plain data; None for one that is empty."""
    if isinstance(value, float):
        return None if math.isnan(value) else float(value)
    if isinstance(value, (str, bytes)):
        return value
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return None
    return _plain(value)


def _plain(value: Any) -> Any:
    """Return what stands in a cell with its arrays as lists, its numbers as Python's and its times as texts."""
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, (datetime, date)):
        return value.isoformat()
    is_array = type(value).__module__.partition(".")[0] == "numpy" and callable(getattr(value, "tolist", None))
    return _plain(value.tolist()) if is_array else value
