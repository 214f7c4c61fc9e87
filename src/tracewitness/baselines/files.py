"""Files of baselines, read and changed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tracewitness.baselines.document import Document, parse_document
from tracewitness.baselines.locations import local_path
from tracewitness.baselines.writing import locked, remove_file, write_file
from tracewitness.display import printable
from tracewitness.errors import ReadError

__all__ = ["KeptDocument", "pending_path"]


def pending_path(baseline: Path) -> Path:
    """Return the file with what failed comparisons have seen, until somebody accepts it."""
    return local_path(baseline, "pending")


class KeptDocument:
    """A file of baselines, which is read again when it has changed.

    Arguments:
        path: the file; it need not be there.
        shown: what it is called in errors; left out, its path.
    """

    def __init__(self, path: Path, shown: str = "") -> None:
        self.path = path
        self._shown = shown or str(path)
        self._stamp: tuple[int, ...] | None = None
        self._data: bytes | None = None
        self._document = Document.empty(self._shown)

    def exists(self) -> bool:
        """Tell whether the file is there."""
        return self._stamp_now() is not None

    def read(self) -> Document:
        """Return what the file says.

        Raises:
            ReadError: it can't be opened.
            SuiteError: it is broken; it says at which line and column.
        """
        stamp = self._stamp_now()
        if stamp is None:
            return Document.empty(self._shown)
        if stamp != self._stamp:
            self._take(self._bytes())
            self._stamp = stamp
        return self._document

    def change(self, change: Callable[[Document], Document], *, lock: Path | None = None) -> None:
        """Change the file, with every other writer kept out. A file without baselines is removed.

        Arguments:
            change: takes what is in the file now, and returns what is to be in it.
            lock: the file of baselines whose lock is held, where that is not this one.

        Raises:
            ReadError, SuiteError: as `read`; the file is left as it is.
            UsageError: it can't be written.
        """
        with locked(lock or self.path):
            # Its stamp would not do: two changes within the resolution of a file's times look like one.
            before = self._take(self._bytes()) if self.exists() else Document.empty(self._shown)
            after = change(before)
            if after is before:
                return
            if after.entries:
                data = after.text.replace("\n", after.newline).encode("utf-8")
                write_file(self.path, data, lock=lock or self.path)
                self._data, self._document = data, after
            else:
                remove_file(self.path)
            self._stamp = self._stamp_now()

    def _take(self, data: bytes) -> Document:
        """Read what is in the file, if it is not what was in it before."""
        if data != self._data:
            self._document = parse_document(data, self._shown)
            self._data = data
        return self._document

    def _bytes(self) -> bytes:
        try:
            return self.path.read_bytes()
        except OSError as error:
            raise ReadError(f"can't be opened: {printable(error.strerror or str(error))}", self._shown) from error

    def _stamp_now(self) -> tuple[int, ...] | None:
        """Return what changes when the file is replaced or rewritten; None where there is none."""
        try:
            status = self.path.stat()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise ReadError(f"can't be read: {printable(error.strerror or str(error))}", self._shown) from error
        return status.st_ino, status.st_mtime_ns, status.st_size
