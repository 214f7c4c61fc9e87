"""The log of a guard: a line for each event that happened and each call that was held back, written as it comes."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import msgspec

from tracewitness.errors import UsageError

__all__ = ["DecisionLog"]


class DecisionLog:
    """Writes JSON Lines that `tracewitness.read` takes back as the trace that the guard saw.

    Each line is a mapping with ``guard`` (``allow``, ``warn``, ``block``, or ``event`` for what is no call), ``event``
    in neutral form and, where there are some, ``reasons``. A line stands whole or not at all: where writing fails, what
    there was of it is taken away again.

    Arguments:
        path: the file; it must not exist, so that two runs never share one.
        sync: whether each line is on the disk before the guard answers.

    Raises:
        UsageError: the file exists, or can't be made.
    """

    def __init__(self, path: str | os.PathLike[str], *, sync: bool = False) -> None:
        self._sync = sync
        self._end = 0
        try:
            self._file = Path(path).open("xb", buffering=0)  # noqa: SIM115 - open as long as the guard
        except FileExistsError:
            raise UsageError(f"{os.fspath(path)}: the log exists; name a new file for each run") from None
        except OSError as error:
            raise UsageError(f"{os.fspath(path)}: the log can't be made: {error.strerror or error}") from None

    def write(self, action: str, event: Any, reasons: tuple[str, ...] = ()) -> None:
        """Write a line.

        Raises:
            OSError: it can't be written; then nothing of it stands in the file.
        """
        line: dict[str, Any] = {"guard": action, "event": event}
        if reasons:
            line["reasons"] = list(reasons)
        data = msgspec.json.encode(line) + b"\n"
        try:
            self._write_all(data)
            if self._sync:
                os.fsync(self._file.fileno())
        except OSError:
            self._take_back()
            raise
        self._end += len(data)

    def _write_all(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[self._file.write(view) or 0 :]

    def _take_back(self) -> None:
        try:
            self._file.truncate(self._end)
            self._file.seek(self._end)
        except OSError:  # a pipe, or a device that is gone: a reader sees a line that is cut
            return

    def close(self) -> None:
        """Close the file."""
        self._file.close()
