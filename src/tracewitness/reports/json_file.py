"""The report as a JSON file, written while the runs come and put in its place when it is complete."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Any, Final

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
        path: the file; an older one is replaced when the new one is complete.
        suite: the eval file's name.

    Raises:
        UsageError: the file can't be written.
    """

    def __init__(self, path: str, suite: str) -> None:
        self._path = Path(path)
        self._suite = suite
        self._count = 0

    def __enter__(self) -> JsonReport:
        try:
            handle, name = tempfile.mkstemp(prefix=f".{self._path.name}.", dir=self._path.parent or ".")
        except OSError as error:
            raise UsageError(f"{self._path} can't be written: {error.strerror or error}") from error
        self._unfinished = Path(name)
        self._file = os.fdopen(handle, "wb")
        head: dict[str, Any] = {"version": REPORT_VERSION, "tracewitness": __version__, "suite": self._suite}
        self._file.write(msgspec.json.encode(head)[:-1] + b',"runs":[')
        return self

    def run(self, report: RunReport) -> None:
        """Write what came of one run."""
        self._file.write((b",\n" if self._count else b"\n") + msgspec.json.encode(_encodable(report.to_dict())))
        self._count += 1

    def summary(self, summary: Summary, notices: tuple[str, ...] = ()) -> None:
        """Write the counts, and put the file in its place."""
        tail = {"summary": summary.to_dict(), "notices": list(notices)}
        self._file.write(b"\n]," + msgspec.json.encode(_encodable(tail))[1:] + b"\n")
        self._file.close()
        self._unfinished.chmod(0o666 & ~_umask())
        self._unfinished.replace(self._path)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()
        self._unfinished.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise UsageError(f"{self._path} can't be written: {error.strerror or error}") from error


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
