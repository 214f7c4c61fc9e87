"""`read` and `read_all`: what was recorded, wherever it is and in whatever format, as traces."""

from __future__ import annotations

import io
import os
from collections import deque
from collections.abc import AsyncIterable, Awaitable, Iterable, Iterator, Mapping, Set, ValuesView
from functools import partial
from pathlib import Path
from typing import Any, Final

from tracewitness.errors import ReadError
from tracewitness.readers.documents import Lines, decode_document
from tracewitness.readers.encodings.events import Events
from tracewitness.readers.objects import plain
from tracewitness.readers.providers import openai_chat_quick
from tracewitness.readers.quick import decode_quickly
from tracewitness.readers.reader import Reader
from tracewitness.readers.registry import converters, is_log, reader_named, trace_of, traces_of
from tracewitness.readers.rows import iter_runs, rows_of, rows_of_lines
from tracewitness.trace import LiveTrace, Trace

__all__ = ["read", "read_all"]

_DATA: Final = frozenset({dict, list, str, bytes, Trace})
_TEXTS: Final = (str, bytes, bytearray, memoryview)


def read(
    source: Any,
    format: str | None = None,  # noqa: A002 - the word that users write
    *,
    test_keys: bool = True,
    **options: Any,
) -> Trace:
    """Read one run, in whatever format it was recorded.

    Arguments:
        source: a `Trace`, which is returned as it is; a recording of `record`; the `pathlib.Path` of a file; what
            such a file holds, as text or bytes; a mapping; a list of messages and responses of one format; an object
            of an SDK or framework, or a list with some.
        format: the name of the format, where several fit or none is recognised.
        test_keys: whether to make sure that no key stands twice in an object of text or bytes, where that is not
            found by the way. In a usual history it takes a fifth of the time of decoding, with spaces between the
            tokens most of it, and elsewhere as much; leave it out only for data whose writer can't write such keys.
        options: what the reader of that format can be told, such as ``choice`` for openai-chat.

    Raises:
        ReadError: it is in no format, in several, or not in the one that was named; it holds no run or several;
            the format has no such option.

    >>> read('{"choices": [{"message": {"role": "assistant", "content": "Hello."}}]}').to_events()
    [{'agent': 'Hello.'}]
    """
    if isinstance(source, (Trace, LiveTrace)):
        return source if isinstance(source, Trace) else source.trace
    reader = _reader_with(format, options)
    if isinstance(source, _TEXTS):
        data = source if type(source) is bytes else _encoded(source)
        trace = decode_quickly(data, test_keys=test_keys) if reader is None else None
        return _read_one(decode_document(data), reader) if trace is None else trace
    _refuse_source(source)
    if isinstance(source, Iterator) and not _is_mock(source):
        raise ReadError(
            f"{_kind_of(source)} of what may be many runs: read_all reads each, list(…) makes one run of all"
        )
    if _is_path(source):
        return _only(_traces_of_files([source], reader), str(source))
    trace = openai_chat_quick.history_of(source) if reader is None and _is_like_messages(source) else None
    return _read_one(plain(source, converters()), reader) if trace is None else trace


def _read_one(data: Any, reader: Reader | None) -> Trace:
    return trace_of(_one_run(data, reader) if isinstance(data, Lines) else data, reader=reader)


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
    _refuse_source(source)
    if isinstance(source, (Trace, LiveTrace)):
        yield read(source)
    elif _is_path(source):
        yield from _traces_of_files([source], reader)
    elif isinstance(source, Iterator) and not _is_mock(source):
        for item in source:
            yield from read_all(item, format)
    else:
        data = _data_of(source)
        for row in _rows_of(data, reader):
            yield from traces_of(row, reader=reader)


def _is_path(source: Any) -> bool:
    """Whether a source is a path; a mock is whatever it is asked for."""
    return isinstance(source, os.PathLike) and not _is_mock(source)


def _is_mock(source: Any) -> bool:
    return any(vars(base).get("__module__") == "unittest.mock" for base in type(source).__mro__)


def _refuse_source(source: Any) -> None:
    """Refuse what holds a recording and is none, and say how to get at it.

    Raises:
        ReadError: it has to be waited for, or opened, or is a collection of no order.
    """
    if type(source) in _DATA or _is_mock(source):
        return
    if isinstance(source, AsyncIterable):
        raise ReadError(f"{_kind_of(source)}, which has to be waited for: read a list of what it yields")
    if isinstance(source, Awaitable):
        raise ReadError(f"{_kind_of(source)}, which has to be awaited: read what comes of it")
    if isinstance(source, io.IOBase):
        raise ReadError(f"{_kind_of(source)}, an open file: read what its read() returns, or the pathlib.Path of it")
    if isinstance(source, (deque, Set, ValuesView)):
        raise ReadError(f"{_kind_of(source)}: make a list of it first, with list(…)")


def _kind_of(source: Any) -> str:
    return f"this is of the type {type(source).__name__}"


def _reader_with(format_name: str | None, options: Mapping[str, Any]) -> Reader | None:
    """Return the reader of a format that is named, told its options."""
    if format_name is None:
        if options:
            raise ReadError(f"{', '.join(options)}: an option belongs to a format, which has to be named")
        return None
    reader = reader_named(format_name)
    known = [option for option in getattr(reader.read, "__kwdefaults__", None) or {} if option != "name"]
    for option in options:
        if option not in known:
            raise ReadError(f"the format {reader.name} has no option {option}; it has {', '.join(known) or 'none'}")
    return reader._replace(read=partial(reader.read, **options)) if options else reader


def _is_like_messages(source: Any) -> bool:
    """Whether data looks like such a history."""
    return type(source) is list and len(source) > 0 and type(source[0]) is dict and "role" in source[0]


def _data_of(source: Any) -> Any:
    if isinstance(source, _TEXTS):
        return decode_document(_encoded(source))
    return plain(source, converters())


def _encoded(source: str | bytes | bytearray | memoryview) -> bytes:
    if not isinstance(source, str):
        return bytes(source)
    try:
        return source.encode()
    except UnicodeEncodeError as error:
        raise ReadError(f"not Unicode: {error.reason} at character {error.start}") from error


def _rows_of(data: Any, reader: Reader | None) -> Iterable[Any]:
    """Return the runs of data, or what holds some."""
    if isinstance(data, Events):
        return [data]
    if isinstance(data, Lines):
        return [data] if _is_one_run(data, reader) else rows_of_lines(data)
    return rows_of(data, reader)


def _is_one_run(lines: Lines, reader: Reader | None) -> bool:
    return is_log(lines) if reader is None else reader.is_log


def _one_run(lines: Lines, reader: Reader | None) -> Any:
    """Return the data of JSON Lines that are one run."""
    if _is_one_run(lines, reader):
        return lines
    next(rows_of_lines(lines), None)  # what is no run is said to be none
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
