"""The report as a JSON file, written while the runs come and put in its place when it is complete."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Final

import msgspec

from tracewitness import __version__
from tracewitness.errors import UsageError
from tracewitness.evals import RunReport, Summary

__all__ = ["REPORT_VERSION", "JsonReport"]

#: The version of the report's form. It grows when a reader of the old form could be misled by the new one.
REPORT_VERSION: Final = 1


class JsonReport:
    """Writes reports to a file as they come. Used as a context; what is not completed leaves no file.

    Arguments:
        path: the file; an older one is replaced when the new one is complete. What is no regular file, such as a pipe,
            is written to as it is.
        suite: the eval file's name.
        inputs: the files that are being read; none of them is written over.

    Raises:
        UsageError: the file can't be written.
    """

    def __init__(self, path: str, suite: str, inputs: Iterable[str] = ()) -> None:
        if not path:
            raise UsageError("the report needs a file's name, not an empty one")
        self._path = Path(os.path.realpath(path))
        self._suite = suite
        self._count = 0
        self._unfinished: Path | None = None
        if self._path.is_dir():
            raise UsageError(f"{path} is a folder; the report is a file")
        for each in inputs:
            if self._path.exists() and Path(each).exists() and self._path.samefile(each):
                raise UsageError(f"{path} is being read; the report needs a file of its own")

    def __enter__(self) -> JsonReport:
        try:
            self._file = self._open()
            head: dict[str, Any] = {"version": REPORT_VERSION, "tracewitness": __version__, "suite": self._suite}
            self._file.write(msgspec.json.encode(_encodable(head))[:-1] + b',"runs":[')
        except OSError as error:
            raise self._unwritable(error) from error
        return self

    def _open(self) -> IO[bytes]:
        if self._path.exists() and not self._path.is_file():
            return self._path.open("wb")
        handle, name = tempfile.mkstemp(prefix=f".{self._path.name}.", dir=self._path.parent)
        self._unfinished = Path(name)
        return os.fdopen(handle, "wb")

    def run(self, report: RunReport) -> None:
        """Write what came of one run."""
        self._write((b",\n" if self._count else b"\n") + msgspec.json.encode(_encodable(report.to_dict())))
        self._count += 1

    def summary(self, summary: Summary, notices: tuple[str, ...] = ()) -> None:
        """Write the counts, and put the file in its place."""
        tail = {"summary": summary.to_dict(), "notices": list(notices)}
        self._write(b"\n]," + msgspec.json.encode(_encodable(tail))[1:] + b"\n")
        try:
            self._file.close()
            if self._unfinished is not None:
                self._unfinished.chmod(0o666 & ~_umask())
                self._unfinished.replace(self._path)
        except OSError as error:
            raise self._unwritable(error) from error

    def _write(self, data: bytes) -> None:
        try:
            self._file.write(data)
        except OSError as error:
            raise self._unwritable(error) from error

    def _unwritable(self, error: OSError) -> UsageError:
        return UsageError(f"{self._path} can't be written: {error.strerror or error}")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with suppress(OSError):  # what was left to write belongs to a report that is given up
            self._file.close()
        if self._unfinished is not None:
            self._unfinished.unlink(missing_ok=True)


def _umask() -> int:
    """Return the process's mask for new files; it can only be read by setting it."""
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _encodable(value: Any) -> Any:
    """Replace lone surrogates, which come from recordings and have no UTF-8."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode("utf-8")
    if isinstance(value, dict):
        return {key: _encodable(each) for key, each in value.items()}
    return [_encodable(each) for each in value] if isinstance(value, list) else value
