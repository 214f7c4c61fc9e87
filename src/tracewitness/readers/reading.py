"""`read` and `read_all`: what was recorded, wherever it is and in whatever format, as traces."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tracewitness.errors import ReadError
from tracewitness.readers.documents import Lines, decode_document
from tracewitness.readers.objects import plain
from tracewitness.readers.reader import Reader
from tracewitness.readers.registry import converters, is_log, reader_named, trace_of, traces_of
from tracewitness.readers.rows import iter_runs, rows_of
from tracewitness.trace import Trace

__all__ = ["read", "read_all"]


def read(source: Any, format: str | None = None) -> Trace:  # noqa: A002 - the word that users write
    """Read one run, in whatever format it was recorded.

    Arguments:
        source: a `Trace`, which is returned as it is; the `pathlib.Path` of a file; what such a file holds, as text
            or bytes; a mapping; a list of messages and responses of one format; an object of an SDK or framework,
            or a list with some.
        format: the name of the format, where several fit or none is recognised.

    Raises:
        ReadError: it is in no format, in several, or not in the one that was named; it holds no run or several.

    >>> read('{"choices": [{"message": {"role": "assistant", "content": "Hello."}}]}').to_events()
    [{'agent': 'Hello.'}]
    """
    if isinstance(source, Trace):
        return source
    reader = None if format is None else reader_named(format)
    if isinstance(source, os.PathLike):
        return _only(_traces_of_files([source], reader), str(source))
    data = _data_of(source)
    if isinstance(data, Lines):
        data = _one_run(data, reader)
    return trace_of(data, reader=reader)


def read_all(source: Any, format: str | None = None) -> Iterator[Trace]:  # noqa: A002 - the word that users write
    """Read every run, one after the other.

    Arguments:
        source: as of `read`, with any number of runs in it; the path of a folder; an iterator, of which each item
            is a source of its own.
        format: as of `read`.

    Raises:
        ReadError: as of `read`, when what can't be read is reached. To go on behind it, use `iter_runs`, which
            yields an error in the place of such a run.

    >>> [trace.name for trace in read_all(b'{"name": "a", "events": []}\\n{"name": "b", "events": []}')]
    ['a', 'b']
    """
    reader = None if format is None else reader_named(format)
    if isinstance(source, Trace):
        yield source
    elif isinstance(source, os.PathLike):
        yield from _traces_of_files([source], reader)
    elif isinstance(source, Iterator):
        for item in source:
            yield from read_all(item, format)
    else:
        data = _data_of(source)
        rows = data if isinstance(data, Lines) and not _is_one_run(data, reader) else rows_of(data, reader)
        for row in rows:
            yield from traces_of(row, reader=reader)


def _data_of(source: Any) -> Any:
    if isinstance(source, (str, bytes, bytearray, memoryview)):
        return decode_document(_encoded(source))
    return plain(source, converters())


def _encoded(source: str | bytes | bytearray | memoryview) -> bytes:
    if not isinstance(source, str):
        return bytes(source)
    try:
        return source.encode()
    except UnicodeEncodeError as error:
        raise ReadError(f"not Unicode: {error.reason} at character {error.start}") from error


def _is_one_run(lines: Lines, reader: Reader | None) -> bool:
    return is_log(lines) if reader is None else reader.is_log


def _one_run(lines: Lines, reader: Reader | None) -> Any:
    """Return the data of JSON Lines that are one run."""
    if _is_one_run(lines, reader):
        return lines
    raise ReadError(f"it holds {len(lines)} runs, one on each line; read_all reads each")


def _traces_of_files(paths: list[os.PathLike[str]], reader: Reader | None) -> Iterator[Trace]:
    for run in iter_runs(map(Path, paths), reader):
        if run.trace is None:
            raise run.error or ReadError("it can't be read", run.source, run.place)
        yield run.trace


def _only(traces: Iterator[Trace], source: str) -> Trace:
    trace = next(traces, None)
    if trace is None:
        raise ReadError("it holds no run", source)
    if next(traces, None) is not None:
        raise ReadError("it holds several runs; read_all reads each", source)
    return trace
