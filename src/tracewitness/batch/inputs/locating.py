"""What the arguments of a scan stand for: files, folders, globs, URLs, queries and the standard input, one by one."""

from __future__ import annotations

import glob
import os
import re
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final, Literal
from urllib.parse import unquote, unquote_plus

from msgspec import Struct

from tracewitness.batch.extras import need
from tracewitness.errors import ReadError, UsageError

__all__ = ["ENDINGS", "Input", "file_system", "locate", "name_of"]

Kind = Literal["file", "remote", "stream", "duckdb", "sqlite"]

_DATABASES: Final[dict[str, Kind]] = {"duckdb": "duckdb", "sqlite": "sqlite"}
_PACKED: Final = (".gz", ".zst", ".zstd")
_PLAIN: Final = (".jsonl", ".ndjson", ".json", ".parquet", ".arrow", ".arrows", ".feather", ".ipc", ".eval")
#: How the names of files end that are read of a folder.
ENDINGS: Final = (*_PLAIN, *(plain + packed for plain in _PLAIN[:3] for packed in _PACKED))
_STANDARD_INPUT: Final = "-"
_SEPARATORS: Final = re.compile(r"[/\\]")
_URL: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")


class Input(Struct, frozen=True):
    """One input.

    Attributes:
        source: what it is called in verdicts and messages.
        kind: how it is opened. A stream can be read once only.
        address: its path or URL, or that of the database.
        size: how many bytes it has, where that is known.
        version: what changes when it changes.
        query: what is asked of a database.
        problem: why it can't be read, or an empty text.
    """

    source: str
    kind: Kind
    address: str
    size: int | None = None
    version: str = ""
    query: str = ""
    problem: str = ""


class _LeftOut:
    """Files and folders that are no input."""

    def __init__(self, paths: Iterable[str | Path]) -> None:
        self._paths = {os.path.realpath(path) for path in paths}
        self._names = {os.path.basename(path) for path in self._paths}  # noqa: PTH119 - as the other names

    def __contains__(self, path: str) -> bool:
        # The name first: to resolve the path of each of very many files would take long.
        return os.path.basename(path) in self._names and os.path.realpath(path) in self._paths  # noqa: PTH119

    def has_any(self, real: str) -> bool:
        """Whether a resolved path is one of them, or in one."""
        return real in self._paths or any(str(folder) in self._paths for folder in Path(real).parents)


def locate(arguments: Iterable[str], own: Iterable[str | Path] = ()) -> Iterator[Input]:
    """Yield the inputs that arguments stand for, folders and globs sorted.

    Arguments:
        own: files and folders that are no input where a folder or a glob has them: what the scan itself writes.

    Raises:
        ReadError: there is nothing of that name, or a folder or glob has no file that can be read.
        UsageError: a URL can't be understood, or needs what is not installed.
    """
    left_out = _LeftOut(own)
    for argument in arguments:
        yield from _located(argument, left_out)


def _located(argument: str, left_out: _LeftOut) -> Iterator[Input]:
    if argument == _STANDARD_INPUT:
        yield Input("<stdin>", "stream", "/dev/stdin")
        return
    scheme = argument.partition("://")[0].lower() if _URL.match(argument) else ""
    if scheme in _DATABASES:
        yield _database(argument, _DATABASES[scheme])
    elif scheme:
        yield from _remote(argument)
    else:
        yield from _local(argument, left_out)


def _local(argument: str, left_out: _LeftOut) -> Iterator[Input]:
    path = Path(argument)
    if glob.has_magic(argument) and not path.exists():
        paths = sorted(glob.iglob(argument, recursive=True))  # noqa: PTH207 - Path.glob takes no absolute pattern
        found = (each for each in _each_once(paths, left_out) if not Path(each).is_dir())
        yield from _some(map(_file, found), f"no file fits {argument}")
    elif path.is_dir():
        endings = ", ".join(_PLAIN)
        yield from _some(_in_folder(path, left_out), f"{argument} is a folder without any file that ends in {endings}")
    else:
        located = _file(argument)
        if located.problem:
            raise ReadError(located.problem, argument)
        yield located


def _each_once(paths: Iterable[str], left_out: _LeftOut) -> Iterator[str]:
    """Leave out the ways to a file that was met already: links may lead back to where they came from."""
    seen: set[str] = set()
    for path in paths:
        real = os.path.realpath(path)
        if real not in seen and not left_out.has_any(real):
            seen.add(real)
            yield path


def _some(inputs: Iterable[Input], problem: str) -> Iterator[Input]:
    any_found = False
    for each in inputs:
        any_found = True
        yield each
    if not any_found:
        raise ReadError(problem)


def _file(path: str) -> Input:
    try:
        status = Path(path).stat()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        return Input(path, "file", path, problem=f"it can't be read: {reason}")
    if not stat.S_ISREG(status.st_mode):
        return Input(path, "stream", path)
    return Input(path, "file", path, status.st_size, f"{status.st_size}:{status.st_mtime_ns}")


def _in_folder(root: Path, left_out: _LeftOut) -> Iterator[Input]:
    unreadable: list[OSError] = []
    seen: set[tuple[int, int]] = set()
    for folder, subfolders, files in os.walk(root, onerror=unreadable.append, followlinks=True):
        status = Path(folder).stat()
        if (status.st_dev, status.st_ino) in seen or folder in left_out:
            subfolders.clear()  # links may lead back to where they came from
            continue
        seen.add((status.st_dev, status.st_ino))
        subfolders.sort()
        for name in sorted(files):
            if name.lower().endswith(ENDINGS) and (path := str(Path(folder, name))) not in left_out:
                yield _in_a_folder(_file(path))
    for error in unreadable:
        problem = f"a folder that can't be read: {error.strerror or error}"
        yield Input(str(error.filename), "file", str(error.filename), problem=problem)


def _in_a_folder(found: Input) -> Input:
    """Refuse what is no plain file: to read a pipe that nobody writes to would wait for ever."""
    if found.kind != "stream":
        return found
    return Input(found.source, "file", found.address, problem="no plain file; to have it read, give its own path")


def file_system(address: str) -> tuple[Any, str]:
    """Return the file system of a URL, and the path in it.

    Raises:
        UsageError: fsspec, or what it needs for this kind of URL, is not installed; or there is no such kind.
    """
    fsspec = need("fsspec", "batch", f"reading {address.partition('://')[0]}:// URLs")
    try:
        found: tuple[Any, str] = fsspec.core.url_to_fs(address)
    except (ImportError, ValueError) as error:
        raise UsageError(f"{address} can't be opened: {error}") from error
    return found


def _remote(address: str) -> Iterator[Input]:
    system, path = file_system(address)
    scheme = address.partition("://")[0]
    try:
        if glob.has_magic(path):
            found = sorted(system.glob(path))
        elif system.isdir(path):
            found = sorted(each for each in system.find(path) if each.lower().endswith(ENDINGS))
        else:
            found = [path]
        infos = [(each, system.info(each)) for each in found]
    except FileNotFoundError as error:
        raise ReadError("there is no such file or folder", address) from error
    except Exception as error:  # each store has errors of its own
        raise ReadError(f"it can't be looked into: {type(error).__name__}: {error}", address) from error
    files = ((each, info) for each, info in infos if info.get("type") != "directory")
    yield from _some((_stored(scheme, each, info) for each, info in files), f"{address} has no file that can be read")


def _stored(scheme: str, path: str, info: dict[str, Any]) -> Input:
    url = f"{scheme}://{path}"
    marks = (info.get(key) for key in ("ETag", "etag", "mtime", "last_modified", "LastModified", "created"))
    version = next((str(mark) for mark in marks if mark is not None), "")
    return Input(url, "remote", url, info.get("size"), f"{info.get('size')}:{version}")


def _database(address: str, kind: Kind) -> Input:
    """Understand ``duckdb://file?query=…`` or ``?table=…``.

    Raises:
        ReadError: there is no such file.
        UsageError: neither a query nor a table is given.
    """
    place, _, asked = address.partition("?")
    path = unquote(place.partition("://")[2])
    what, _, text = asked.partition("=")
    if not path or what not in ("query", "table") or not text.strip():
        raise UsageError(f"{address}: write {kind}://FILE?table=NAME or {kind}://FILE?query=SELECT …")
    # A query with spaces was not encoded for a URL: what looks like it then is SQL, as in like '%ad%'.
    text = text if " " in text else unquote_plus(text)
    if what == "table":
        quoted = text.replace('"', '""')
        text = f'select * from "{quoted}"'  # noqa: S608 - quoted, and the user's own
    file = _file(path)
    if file.problem:
        raise ReadError(file.problem, path)
    return Input(f"{kind}://{path}", kind, path, None, file.version, text)


def name_of(source: str) -> str:
    """Return the name of the runs of a file that have none of their own: the file's without its endings.

    >>> name_of("runs/order-1.json.gz")
    'order-1'
    """
    name = _SEPARATORS.split(source)[-1]
    packed = next((ending for ending in _PACKED if name.lower().endswith(ending)), "")
    return Path(name[: len(name) - len(packed)]).stem
