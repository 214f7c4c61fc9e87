"""Open an input as a stream of bytes, unpacked: what it is packed in shows in its first bytes."""

from __future__ import annotations

import gzip
import io
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from tracewitness.batch.inputs.locating import Input, file_system
from tracewitness.errors import ReadError
from tracewitness.readers.documents import GZIP, MAX_PACKED

__all__ = ["HEAD", "Opened", "opened"]

_CHUNK: Final = 1024 * 1024
# What is unpacked at a time: so much is lost at most before a place where it is broken.
_PIECE: Final = 32 * 1024
_ZSTD: Final = b"\x28\xb5\x2f\xfd"
#: How much of a stream is looked at to find out what it is.
HEAD: Final = 1024 * 1024


class Opened:
    """A stream whose beginning can be looked at before it is read.

    Attributes:
        head: its first bytes, a mebibyte where it has as many.
        is_plain: whether it is the file itself, not unpacked.
    """

    def __init__(self, file: Any, packing: str = "") -> None:
        self._file = file
        # One piece at a time: what was unpacked before the place where it breaks is not lost.
        self._read_some = getattr(file, "read1", file.read)
        self._packing = packing
        self._error: ReadError | None = None
        self._left = b""
        self.is_plain = not packing
        self.head = b""
        with suppress(ReadError):  # which is raised again when what came before it has been read
            self.head = self.read(HEAD)
        self._left = self.head

    def read(self, size: int) -> bytes:
        """Return the next bytes, as many as asked for; fewer at the end, or before a place where it breaks.

        Raises:
            ReadError: it is broken here.
        """
        pieces = [self._left[:size]]
        self._left = self._left[size:]
        missing = size - len(pieces[0])
        while missing and (piece := self._next(missing)):
            pieces.append(piece)
            missing -= len(piece)
        data = pieces[0] if len(pieces) == 1 else b"".join(pieces)
        if not data and size and self._error is not None:
            raise self._error
        return data

    def _next(self, size: int) -> bytes:
        if self._error is not None:
            return b""
        try:
            return bytes(self._read_some(min(size, _PIECE) if self._packing else size))
        except Exception as error:  # noqa: BLE001 - each store and each compression has errors of its own
            what = f"broken {self._packing}" if self._packing else "it can't be read"
            self._error = ReadError(f"{what}: {getattr(error, 'strerror', None) or error}")
        return b""

    def give_back(self, data: bytes) -> None:
        """Put bytes back that were read, to be read next."""
        self._left = data + self._left

    def read_again(self) -> Any:
        """Return the file itself, at its beginning, where it can be sought in."""
        self._file.seek(0)
        return self._file

    def as_file(self) -> Any:
        """Return what is left to read as a file that can't be sought in."""
        return io.BufferedReader(_Raw(self), _CHUNK)


@contextmanager
def opened(source: Input) -> Iterator[Opened]:
    """Open an input.

    Raises:
        ReadError: it can't be opened.
    """
    with ExitStack() as stack:
        file = stack.enter_context(_open(source))
        stream = Opened(file)
        for _ in range(MAX_PACKED + 1):
            unpacked, packing = _unpacked(stream)
            if unpacked is None:
                yield stream
                return
            stream = Opened(stack.enter_context(unpacked), packing)
        raise ReadError("it is packed in more than two layers")


def _open(source: Input) -> Any:
    try:
        if source.kind == "remote":
            system, path = file_system(source.address)
            return system.open(path, "rb")
        return Path(source.address).open("rb")
    except ReadError:
        raise
    except Exception as error:  # each store has errors of its own
        raise ReadError(f"it can't be opened: {getattr(error, 'strerror', None) or error}") from error


def _unpacked(stream: Opened) -> tuple[Any | None, str]:
    """Return what is packed in a stream as a file, and how it is packed; None where it is not."""
    if stream.head.startswith(GZIP):
        return gzip.GzipFile(fileobj=stream.as_file(), mode="rb"), "gzip"
    if stream.head.startswith(_ZSTD):
        return pa.CompressedInputStream(pa.PythonFile(stream.as_file(), "r"), "zstd"), "zstd"
    return None, ""


class _Raw(io.RawIOBase):
    """A stream as a file that others can read."""

    def __init__(self, stream: Opened) -> None:
        self._stream = stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            data = self._stream.read(len(buffer))
        except ReadError as error:
            raise OSError(error.problem) from error
        buffer[: len(data)] = data
        return len(data)
