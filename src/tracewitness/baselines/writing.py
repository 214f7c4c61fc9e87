"""Files that are there whole or not at all, whatever happens while they are written, and one writer at a time."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from tracewitness.baselines.locations import LOCAL_FOLDER, local_path
from tracewitness.display import printable
from tracewitness.errors import UsageError

__all__ = ["WAIT", "locked", "remove_file", "write_file"]

#: How long a writer waits for another one, in seconds. Writing takes a moment; who holds a lock longer hangs.
WAIT: Final = 60.0
_UNFINISHED: Final = "unfinished"


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Let no other process write a file of baselines for a while. The folder is made where there is none.

    Raises:
        UsageError: the folder can't be written to, or another process does not let go.
    """
    from filelock import FileLock, Timeout  # only who writes needs it

    try:
        _make_local_folder(path)
        lock = FileLock(local_path(path, "lock"), timeout=WAIT)
        lock.acquire()
    except Timeout:
        raise UsageError(f"{_named(path)} has been locked by another process for {WAIT:.0f} s; end it") from None
    except OSError as error:
        raise _unwritable(path, error) from error
    try:
        yield
    finally:
        lock.release()


def write_file(path: Path, data: bytes, *, lock: Path) -> None:
    """Put data into a file, all of it or nothing, for who holds the lock.

    Arguments:
        lock: the file of baselines whose lock is held. What is unfinished stands beside the lock.

    Raises:
        UsageError: the file can't be written; what was there before is there still.
    """
    target = path.resolve()  # a link stays one
    _remove_unfinished(lock)
    unfinished = local_path(lock, f"{secrets.token_hex(4)}.{_UNFINISHED}")
    try:
        with unfinished.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            unfinished.chmod(target.stat().st_mode & 0o7777)
            if not os.access(target, os.W_OK, effective_ids=os.access in os.supports_effective_ids):
                raise PermissionError(13, "it is write-protected")
        unfinished.replace(target)
        _make_lasting(target.parent)
    except OSError as error:
        with suppress(OSError):
            unfinished.unlink(missing_ok=True)
        raise _unwritable(path, error) from error


def remove_file(path: Path) -> None:
    """Remove a file, for who holds the lock.

    Raises:
        UsageError: that can't be done.
    """
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise _unwritable(path, error) from error


def _make_local_folder(path: Path) -> None:
    folder = path.parent / LOCAL_FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    marker = folder / ".gitignore"
    if not marker.exists():
        marker.write_text(
            "# Made by tracewitness: nothing in here belongs under version control.\n*\n", encoding="utf-8"
        )


def _remove_unfinished(path: Path) -> None:
    """Remove what writers left that were killed: none is at work, since the lock is held."""
    for left in (path.parent / LOCAL_FOLDER).glob(f"*.{_UNFINISHED}"):
        if left.name.startswith(f"{path.name}."):
            left.unlink(missing_ok=True)


def _make_lasting(folder: Path) -> None:
    """Have the new name of a file survive a loss of power, where the system can do that for folders."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _unwritable(path: Path, error: OSError) -> UsageError:
    reason = printable(error.strerror or str(error))
    return UsageError(f"{_named(path)} can't be written: {reason}; check the permissions of the file and its folder")


def _named(path: Path) -> str:
    return printable(str(path), 400)
