"""Find the result files of folders. What can't be looked into is named, never left aside in silence."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from tracewitness.errors import ReadError
from tracewitness.readers.frameworks.claude_code_files import is_read_with_another

__all__ = ["LINES_SUFFIXES", "PACKED_SUFFIXES", "Found", "find_files", "path_of_argument"]

LINES_SUFFIXES: Final = frozenset({".jsonl", ".ndjson"})
#: The endings of what is packed; the ending before it says what it is.
PACKED_SUFFIXES: Final = frozenset({".gz"})
_SUFFIXES: Final = LINES_SUFFIXES | {".json", ".eval"}
_NOTHING_THERE: Final = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP})


class Found(NamedTuple):
    """A file to read, or a path of which it can't be known what runs it holds.

    Attributes:
        problem: why it can't be read, or an empty text.
    """

    path: Path
    problem: str = ""


def path_of_argument(argument: str) -> str:
    """Return the path that an argument of a command stands for: a dash is the standard input."""
    return "/dev/stdin" if argument == "-" else argument


def find_files(path: Path) -> list[Found]:
    """Return the files that a path stands for: itself, or a folder's result files, sorted.

    Links are followed, to files and to folders; a folder is read once, however many ways lead to it. Whatever
    is given by its own path is read, also a pipe. A file that is read with another of the folder is left out.

    Raises:
        ReadError: there is nothing of that name, or it is a folder without result files.
    """
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError) as error:
        raise ReadError(_why_unreachable(path, error), str(path)) from error
    if not stat.S_ISDIR(mode):
        return [Found(path)]
    every = sorted(_in_folder(path))
    paths = {file.path for file in every}
    found = [file for file in every if file.problem or not is_read_with_another(file.path, paths)]
    if not found:
        raise ReadError(f"a folder without any file that ends in {', '.join(sorted(_SUFFIXES))}", str(path))
    return found


def _why_unreachable(path: Path, error: OSError | ValueError) -> str:
    if isinstance(error, OSError) and error.errno not in _NOTHING_THERE:
        return f"it can't be read: {error.strerror or error}"
    return "a link that leads nowhere" if path.is_symlink() else "there is no such file or folder"


def _in_folder(root: Path) -> Iterator[Found]:
    unreadable: list[OSError] = []
    seen: set[tuple[int, int]] = set()
    for folder, subfolders, files in os.walk(root, onerror=unreadable.append, followlinks=True):
        if not _is_new(Path(folder), seen):
            subfolders.clear()
            continue
        for name in files:
            yield from _file(Path(folder, name))
    for error in unreadable:
        yield Found(Path(error.filename), f"a folder that can't be read: {error.strerror or error}")


def _is_new(folder: Path, seen: set[tuple[int, int]]) -> bool:
    """Whether a folder is met for the first time: links may lead back to where they came from."""
    status = folder.stat()
    identity = (status.st_dev, status.st_ino)
    if identity in seen:
        return False
    seen.add(identity)
    return True


def _file(path: Path) -> Iterator[Found]:
    """Yield what is not a folder, where it is a result file or may have been meant to lead to some."""
    suffix = _suffix(path)
    try:
        is_file = stat.S_ISREG(path.stat().st_mode)
    except OSError as error:
        if suffix in _SUFFIXES or not suffix:
            yield Found(path, _why_unreachable(path, error))
        return
    if suffix in _SUFFIXES:
        # To read a pipe that nobody writes to would wait for ever.
        yield Found(path, "" if is_file else "no plain file; to have it read, give its own path")


def _suffix(path: Path) -> str:
    """Return the ending of a file's name, of what is packed the one before."""
    suffix = path.suffix.lower()
    return Path(path.stem).suffix.lower() if suffix in PACKED_SUFFIXES else suffix
