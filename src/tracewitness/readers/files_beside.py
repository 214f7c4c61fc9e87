"""Read with a file what belongs to it in the files beside it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from tracewitness.errors import ReadError
from tracewitness.readers.documents import Encoding, Lines
from tracewitness.readers.encodings import sqlite_checkpoints
from tracewitness.readers.reader import Reader
from tracewitness.readers.registry import detected

if TYPE_CHECKING:
    from tracewitness.readers.rows import Row

__all__ = ["refuse_unfinished", "with_files_beside"]


def refuse_unfinished(path: Path, encoding: Encoding) -> None:
    """Refuse a database whose latest changes stand in a log beside it.

    Raises:
        ReadError: it is one.
    """
    log = path.with_name(f"{path.name}-wal")
    if encoding.decode is sqlite_checkpoints.decode and log.is_file() and log.stat().st_size:
        raise ReadError(f"its latest changes are still in {log.name}: close what writes it first", str(path))


def with_files_beside(rows: Iterator[Row], path: Path, reader: Reader | None) -> Iterator[Row]:
    """Yield the rows of a log, with what belongs to them in the files beside theirs.

    Arguments:
        path: of the log.
        reader: of its format; by default it is found.
    """
    for row in rows:
        found = [reader] if reader is not None else detected(row.data)
        beside = found[0].beside if len(found) == 1 else None
        is_whole = beside is None or row.error is not None or not isinstance(row.data, Lines)
        yield row if is_whole or beside is None else msgspec.structs.replace(row, data=beside(row.data, path))
