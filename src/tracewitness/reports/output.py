"""A file that is written while the runs come and put in its place when it is complete."""

from __future__ import annotations

import os
import stat
import sys
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import IO, Final, Self

from tracewitness.errors import UsageError

__all__ = ["STANDARD_OUTPUT", "OutputFile"]

#: What stands for the standard output in place of a file's name.
STANDARD_OUTPUT: Final = "-"


class OutputFile:
    """A file to write. Used as a context; what is not completed leaves no file, and an older one as it was.

    Arguments:
        path: the file; an older one is replaced when the new one is complete. What is no regular file, such as a pipe,
            is written to as it is; - is the standard output.
        inputs: the files that are being read; none of them is written over.

    Raises:
        UsageError: the file can't be written.
    """

    def __init__(self, path: str, inputs: Iterable[str] = ()) -> None:
        if not path:
            raise UsageError("the report needs a file's name, not an empty one")
        self.is_standard_output = path == STANDARD_OUTPUT
        self._path = Path(os.path.realpath(path))
        self._unfinished: Path | None = None
        self._file: IO[bytes] | None = None
        if self.is_standard_output:
            return
        if self._path.is_dir():
            raise UsageError(f"{path} is a folder; the report is a file")
        for each in inputs:
            if self._path.exists() and Path(each).exists() and self._path.samefile(each):
                raise UsageError(f"{path} is being read; the report needs a file of its own")

    def __enter__(self) -> Self:
        try:
            self._file = self._open()
        except OSError as error:
            raise self._unwritable(error) from error
        return self

    def _open(self) -> IO[bytes]:
        if self.is_standard_output:
            sys.stdout.flush()
            return sys.stdout.buffer
        if self._path.exists() and not self._path.is_file():
            return self._path.open("wb")
        handle, name = tempfile.mkstemp(prefix=f".{self._path.name}.", dir=self._path.parent)
        self._unfinished = Path(name)
        return os.fdopen(handle, "wb")

    def write(self, text: str) -> None:
        """Write a text. Lone surrogates, which come from recordings and have no UTF-8, are escaped.

        Raises:
            UsageError: it can't be written.
        """
        assert self._file is not None  # noqa: S101 - it is used as a context
        try:
            self._file.write(text.encode("utf-8", "backslashreplace"))
        except BrokenPipeError:
            raise
        except OSError as error:
            raise self._unwritable(error) from error

    def complete(self) -> None:
        """Put the file in its place.

        Raises:
            UsageError: it can't be written.
        """
        assert self._file is not None  # noqa: S101 - it is used as a context
        try:
            if self.is_standard_output:
                self._file.flush()
                return
            self._file.close()
            if self._unfinished is not None:
                self._unfinished.chmod(self._mode())
                self._unfinished.replace(self._path)
        except BrokenPipeError:
            raise
        except OSError as error:
            raise self._unwritable(error) from error

    def _mode(self) -> int:
        """Return who may read the file: those who might read the older one, which may have been few."""
        return stat.S_IMODE(self._path.stat().st_mode) if self._path.exists() else 0o666 & ~_umask()

    def _unwritable(self, error: OSError) -> UsageError:
        name = "the standard output" if self.is_standard_output else self._path
        return UsageError(f"{name} can't be written: {error.strerror or error}")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is not None and not self.is_standard_output:
            with suppress(OSError):  # what was left to write belongs to a report that is given up
                self._file.close()
        if self._unfinished is not None:
            self._unfinished.unlink(missing_ok=True)


def _umask() -> int:
    """Return the process's mask for new files; it can only be read by setting it."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
