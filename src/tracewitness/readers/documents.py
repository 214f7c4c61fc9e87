"""From bytes to decoded data: what a document is written in shows in its first bytes, whatever its file is called."""

from __future__ import annotations

import codecs
import contextlib
import gzip
import importlib
import io
import zipfile
import zlib
from collections.abc import Callable
from typing import IO, Any, Final, NamedTuple

from tracewitness.errors import ReadError
from tracewitness.readers.encodings import (
    aws_event_stream,
    otlp_protobuf,
    server_sent_events,
    sqlite_checkpoints,
    text_lines,
    yaml_cassette,
)
from tracewitness.readers.neutral import decode_plainly

__all__ = [
    "ENCODINGS",
    "GZIP",
    "LINE_BEGINS",
    "LINE_ENDS",
    "MAX_DOCUMENT",
    "MAX_PACKED",
    "Encoding",
    "Lines",
    "decode_document",
    "encoding_of",
    "lines_of",
    "refuse_other_charset",
    "unzipped",
]

#: The most bytes that a document has once it is unpacked: what is small may unpack to more than any memory holds.
MAX_DOCUMENT: Final = 256 * 1024 * 1024
#: In how many layers of gzip a document may be: twice happens, more is an attack.
MAX_PACKED: Final = 2
#: How gzip begins.
GZIP: Final = b"\x1f\x8b"
_ZIP: Final = b"PK\x03\x04"
# How members of archives are compressed that older versions of Python can't undo by themselves.
_ZSTD: Final = 93
_NEEDS_ZSTD: Final = (
    "Python reads that from 3.14 on, older ones with the package backports.zstd: install tracewitness[inspect]"
)
# How much of a member is read at a time: where it is made to, so little of zstd or bzip2 unpacks to some 100 MiB.
_PIECE: Final = 4096
_SPACE: Final = b" \t\r\n"
_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
# That of UTF-32 begins with that of UTF-16, and goes first.
_OTHER_MARKS: Final = {
    codecs.BOM_UTF32_LE: "UTF-32",
    codecs.BOM_UTF32_BE: "UTF-32",
    codecs.BOM_UTF16_LE: "UTF-16",
    codecs.BOM_UTF16_BE: "UTF-16",
}
#: How a line of JSON Lines begins that holds a run, or some, and how it ends then.
LINE_ENDS: Final = {b"{": b"}", b"[": b"]"}
LINE_BEGINS: Final = tuple(LINE_ENDS)


class Lines(list[Any]):
    """What stands on the lines of JSON Lines. A line that is no JSON stands in it as text."""


class Encoding(NamedTuple):
    """What a document may be written in beside JSON.

    Attributes:
        name: what it is called.
        fits: whether the beginning of a document, at least 64 bytes where it has as many, is in it.
        decode: makes data of a whole document. It raises `ReadError` where that is broken.
    """

    name: str
    fits: Callable[[bytes], bool]
    decode: Callable[[bytes], Any]


def decode_document(data: bytes) -> Any:
    """Decode a whole document.

    Returns:
        Plain data; `Lines` where it is JSON Lines.

    Raises:
        ReadError: it is in no known encoding, or broken.

    >>> decode_document(gzip.compress(b'{"call": "search"}'))
    {'call': 'search'}
    >>> decode_document(b'{"call": "search"}\\n{"call": "order"}')
    [{'call': 'search'}, {'call': 'order'}]
    """
    encoding = encoding_of(data[:1024])
    if encoding is not None:
        return encoding.decode(data)
    refuse_other_charset(data)
    if not data.removeprefix(_BYTE_ORDER_MARK).strip(_SPACE):
        raise ReadError("it is empty: there is nothing to read")
    try:
        return decode_plainly(data)
    except ReadError:
        lines = lines_of(data)
        if lines is None:
            raise
        return lines


def encoding_of(head: bytes) -> Encoding | None:
    """Return what the beginning of a document shows it is written in, or None for JSON."""
    return next((encoding for encoding in ENCODINGS if encoding.fits(head)), None)


def refuse_other_charset(head: bytes) -> None:
    """Refuse what a byte order mark shows to be no UTF-8.

    Raises:
        ReadError: it is in UTF-16 or UTF-32.
    """
    for mark, charset in _OTHER_MARKS.items():
        if head.startswith(mark):
            raise ReadError(f"not UTF-8 but {charset}, as its byte order mark says; write it in UTF-8")


def lines_of(data: bytes) -> Lines | None:
    """Decode JSON Lines; None where the first line is no object and no array, or is the only one.

    One that is broken still is one where it ends as one and the next line begins another.
    """
    lines = [line.strip(_SPACE) for line in data.removeprefix(_BYTE_ORDER_MARK).splitlines() if line.strip()]
    if len(lines) < 2 or not lines[0].startswith(LINE_BEGINS):
        return None
    decoded = Lines(map(_decoded_line, lines))
    is_line = not isinstance(decoded[0], str) or (
        lines[0].endswith(LINE_ENDS[lines[0][:1]]) and lines[1].startswith(LINE_BEGINS)
    )
    return decoded if is_line else None


def _decoded_line(line: bytes) -> Any:
    try:
        return decode_plainly(line)
    except ReadError:
        return line.decode("utf-8", "surrogateescape")


def unzipped(data: bytes) -> bytes:
    """Undo gzip.

    Raises:
        ReadError: it is cut off or broken, or longer than `MAX_DOCUMENT`.
    """
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
            plain = file.read(MAX_DOCUMENT + 1)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ReadError(f"broken gzip: {error}") from error
    return _bounded(plain)


def _bounded(data: bytes) -> bytes:
    if len(data) > MAX_DOCUMENT:
        raise ReadError(f"it unpacks to more than {MAX_DOCUMENT // 1024 // 1024} MiB")
    return data


def _decode_gzip(data: bytes) -> Any:
    for _ in range(MAX_PACKED):
        data = unzipped(data)
        if not data.startswith(GZIP):
            return decode_document(data)
    raise ReadError("gzip in gzip in gzip")


def _members(data: bytes) -> dict[str, bytes]:
    """Return what an archive holds: bytes by name. What they are is known to those who write archives."""
    members: dict[str, bytes] = {}
    left = MAX_DOCUMENT
    archives = _zipfile()
    try:
        with archives.ZipFile(io.BytesIO(data)) as archive:
            for info in archive.infolist():
                if info.is_dir():
                    continue
                if info.compress_type == _ZSTD and not hasattr(archives, "ZIP_ZSTANDARD"):
                    raise ReadError(f"{info.filename} is compressed with zstd: {_NEEDS_ZSTD}")
                with archive.open(info) as file:
                    members[info.filename] = _at_most(left, file)
                left -= len(members[info.filename])
    except ReadError:
        raise
    except Exception as error:  # what undoes a compression has errors of its own
        raise ReadError(f"a broken archive: {error}") from error
    return members


def _zipfile() -> Any:
    """Return what reads archives, with zstd where that is to be had."""
    if not hasattr(zipfile, "ZIP_ZSTANDARD"):
        with contextlib.suppress(ImportError):
            return importlib.import_module("backports.zstd.zipfile")
    return zipfile


def _at_most(limit: int, file: IO[bytes]) -> bytes:
    unpacked = bytearray()
    while piece := file.read(_PIECE):
        unpacked += piece
        if len(unpacked) > limit:
            raise ReadError(f"it unpacks to more than {MAX_DOCUMENT // 1024 // 1024} MiB")
    return bytes(unpacked)


ENCODINGS: list[Encoding] = [
    Encoding("gzip", lambda head: head.startswith(GZIP), _decode_gzip),
    Encoding("zip", lambda head: head.startswith(_ZIP), _members),
    Encoding("SQLite checkpoints", sqlite_checkpoints.fits, sqlite_checkpoints.decode),
    Encoding("AWS event stream", aws_event_stream.fits, aws_event_stream.decode),
    Encoding("server-sent events", server_sent_events.fits, server_sent_events.decode),
    Encoding("YAML cassette", yaml_cassette.fits, yaml_cassette.decode),
    Encoding("OTLP protocol buffers", otlp_protobuf.fits, otlp_protobuf.decode),
    Encoding("text trace", text_lines.fits, text_lines.decode),
]
