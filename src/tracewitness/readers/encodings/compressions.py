"""Undo the compressions of bodies sent over HTTP, also by packages that only recordings in brotli or zstd need."""

from __future__ import annotations

import importlib
import sys
import zlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from tracewitness.display import show
from tracewitness.errors import ReadError

__all__ = ["StillPackedError", "is_zstd", "uncompressed"]

_ZSTD: Final = b"\x28\xb5\x2f\xfd"
# So much of brotli is undone at a time: a few bytes of it may stand for 16 MiB.
_PIECE: Final = 64
_ZSTD_MODULE: Final = "compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd"


class StillPackedError(ReadError):
    """Compressed data that can't be undone: what it holds is not known."""


def is_zstd(data: bytes) -> bool:
    """Whether data begins as zstd does; brotli begins with anything."""
    return data.startswith(_ZSTD)


def uncompressed(data: bytes, coding: str, limit: int) -> bytes:
    """Undo a compression.

    Arguments:
        coding: its name in a header of HTTP.
        limit: how long it may become.

    Raises:
        StillPackedError: it is broken or cut off, or becomes too long; no such compression is known, or the package
            that undoes it is not installed.
    """
    undo = _UNDO.get(coding)
    if undo is None:
        raise StillPackedError(f"a body in the unknown coding {show(coding)}")
    length, pieces = 0, []
    try:
        for piece in undo(data, limit):
            pieces.append(piece)
            length += len(piece)
            if length > limit:
                raise StillPackedError(f"it unpacks to more than {limit // 1024 // 1024} MiB")
    except (StillPackedError, MemoryError):
        raise
    except Exception as error:  # what undoes a compression has errors of its own
        raise StillPackedError(f"a body that is no {coding}: {error}") from error
    return b"".join(pieces)


def _inflated(data: bytes, limit: int) -> Iterator[bytes]:
    """Undo deflate, with the frame of zlib or, as some servers send it, without."""
    for window in (zlib.MAX_WBITS, -zlib.MAX_WBITS):
        try:
            yield zlib.decompressobj(window).decompress(data, limit + 1)
        except zlib.error:
            continue
        return
    raise StillPackedError("a body that is no deflate")


def _gunzipped(data: bytes, limit: int) -> Iterator[bytes]:
    unpacker = zlib.decompressobj(zlib.MAX_WBITS | 16)
    yield unpacker.decompress(data, limit + 1)
    if not unpacker.eof:
        raise StillPackedError("broken gzip: it is cut off")


def _unbrotlied(data: bytes, _limit: int) -> Iterator[bytes]:
    unpacker = _package("brotli", "brotli").Decompressor()
    for begin in range(0, len(data), _PIECE):
        yield unpacker.process(data[begin : begin + _PIECE])
    if not unpacker.is_finished():
        raise StillPackedError("broken brotli: it is cut off")


def _unzstd(data: bytes, limit: int) -> Iterator[bytes]:
    package = _package(_ZSTD_MODULE, "zstd")
    while data:
        unpacker = package.ZstdDecompressor()
        yield unpacker.decompress(data, max_length=limit + 1)
        if not unpacker.eof:
            raise StillPackedError("broken zstd: it is cut off, or too long")
        data = unpacker.unused_data


def _package(module: str, coding: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        needed = f"a body in {coding}, which is read with the package {module}: install tracewitness[http]"
        raise StillPackedError(needed) from error


_UNDO: Final[Mapping[str, Callable[[bytes, int], Iterator[bytes]]]] = {
    "br": _unbrotlied,
    "deflate": _inflated,
    "gzip": _gunzipped,
    "x-gzip": _gunzipped,
    "zstd": _unzstd,
}
