"""The journal of a simulation: each finished run is in it, safely, before anybody is told of the run.

It is a file of JSON Lines. The first line says what is simulated; a line for each process that wrote into it says which
one; all others are rows, each written at once and synced, or say that all is done and the results are written. A
process that was killed leaves at most one torn line at the end. The file is locked while a process has it, so that two
never write into it at once.
"""

from __future__ import annotations

import io
import json
import os
import socket
import stat
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Final

from msgspec import Struct

from tracewitness.display import printable, show
from tracewitness.errors import UsageError
from tracewitness.evals.simulation.results import Row
from tracewitness.suites import Suite

__all__ = ["Identity", "Journal", "refuse_unwritable", "write_results"]

_KIND: Final = "tracewitness simulate"
_VERSION: Final = 1
_MAGIC: Final = f'{{"journal":"{_KIND}",'.encode()

Key = tuple[str, int]


class Identity(Struct, frozen=True):
    """What a simulation is about; only the same one can be continued.

    Attributes:
        suite: the eval file's name.
        cases: a hash of its selected cases, with all that is in them.
        settings: what else bears on what its runs do, such as the agent and the names of models.
    """

    suite: str
    cases: str
    settings: Mapping[str, Any]

    @classmethod
    def of(cls, suite: Suite, settings: Mapping[str, Any]) -> Identity:
        """Return the identity of a simulation."""
        cases = json.dumps([case.to_mapping() for case in suite.cases], sort_keys=True, default=repr)
        return cls(suite.source, sha256(cases.encode("utf-8", "backslashreplace")).hexdigest(), dict(settings))

    def differences(self, header: Mapping[str, Any]) -> list[str]:
        """Say how the simulation of a journal's first line differs from this one."""
        found = [] if header.get("cases") == self.cases else [f"the cases of {show(header.get('suite'))} were others"]
        earlier = header.get("settings")
        earlier = earlier if isinstance(earlier, Mapping) else {}
        pairs = ((name, earlier.get(name), self.settings.get(name)) for name in sorted({*earlier, *self.settings}))
        return found + [f"{name} was {show(was)} and is {show(now)}" for name, was, now in pairs if was != now]

    def header(self) -> dict[str, Any]:
        """Return the journal's first line."""
        about = {"suite": self.suite, "cases": self.cases, "settings": dict(self.settings)}
        return {"journal": _KIND, "version": _VERSION, **about}


class Journal:
    """A journal that this process writes into. Used as a context.

    Arguments:
        path: the file; it is made where there is none.
        identity: what is simulated.
        resume: whether to go on with what is there. Without it, a file that has rows is refused, unless all of its
            simulation is done: then it is begun anew.

    Attributes:
        path: the file, as it was given.
        notices: what the user should know, a line each.

    Raises:
        UsageError: the file can't be written, is in use, is no journal, has rows, or is of another simulation.
    """

    def __init__(self, path: str | Path, identity: Identity, *, resume: bool = False) -> None:
        self.path = Path(path)
        # Code of the agent that runs in this process may go to another folder.
        self._place = self.path.absolute()
        self.notices: list[str] = []
        self._is_completed = False
        self._places: dict[Key, tuple[int, int]] = {}
        self._conclusive: set[Key] = set()
        self._file = _open_locked(self._place, self.path)
        try:
            self._begin(identity, resume=resume)
        except BaseException:
            self._file.close()
            raise

    @property
    def finished(self) -> frozenset[Key]:
        """The runs that need not be run again: those that say something of the agent."""
        return frozenset(self._conclusive)

    @property
    def is_empty(self) -> bool:
        """Whether it has no row."""
        return not self._places

    @property
    def keys(self) -> frozenset[Key]:
        """The runs that have a row."""
        return frozenset(self._places)

    def complete(self) -> None:
        """Note that all is done and what it holds is in the results: who simulates again begins anew.

        Raises:
            UsageError: it can't be written.
        """
        if not self._is_completed:
            self._write(_line({"completed": True}))
        self._is_completed = True

    def append(self, row: Row) -> None:
        """Write a row, and wait until it is on the disk. A later row of the same run stands in the place of an earlier.

        Raises:
            UsageError: it can't be written, since the disk is full for example.
        """
        line = b'{"row":' + row.encoded() + b"}\n"
        self._is_completed = False
        self._places[row.key] = (self._write(line), len(line))
        if row.is_conclusive:
            self._conclusive.add(row.key)
        else:
            self._conclusive.discard(row.key)

    def rows(self, keys: Iterable[Key] | None = None) -> Iterator[Row]:
        """Yield the rows of runs, read from the file one by one; runs that have none are left out.

        Arguments:
            keys: the runs, in the order wanted; by default all, as they were written.
        """
        for key in [*self._places] if keys is None else keys:
            if key in self._places:
                start, length = self._places[key]
                with _buffered(self._file, start) as reader:
                    line = reader.read(length)
                yield Row.from_data(json.loads(line)["row"])

    def remove(self) -> None:
        """Close the file and delete it."""
        if sys.platform == "win32":  # there an open file can't be deleted
            self.close()
        self._place.unlink(missing_ok=True)
        self.close()

    def close(self) -> None:
        """Close the file, and with that unlock it."""
        self._file.close()

    def __enter__(self) -> Journal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _begin(self, identity: Identity, *, resume: bool) -> None:
        """Read what is there, and write who goes on with it."""
        has_header = self._read(identity, check=resume)
        if self._places and not resume and not self._is_completed:
            count = len(self._places)
            raise UsageError(
                f"{self.path} has {count} {'row' if count == 1 else 'rows'} of a simulation already; "
                "--resume goes on with it, or delete the file, or name another with --journal"
            )
        if not (has_header and resume):
            self._cut(0)
            self._places.clear()
            self._conclusive.clear()
            self._is_completed = False
            self._write(_line(identity.header()) + _line({"process": _this_process()}))
            _sync_folder(self._place)
        else:
            self._write(_line({"process": _this_process()}))

    def _read(self, identity: Identity, *, check: bool) -> bool:
        """Enter the rows that are there, cut a torn last line off, and return whether there is a first line."""
        with _buffered(self._file) as reader:
            return self._read_from(reader, identity, check=check)

    def _read_from(self, reader: io.BufferedReader[io.FileIO], identity: Identity, *, check: bool) -> bool:
        first = reader.readline()
        if not first.endswith(b"\n"):
            if first and not _MAGIC.startswith(first[: len(_MAGIC)]):
                raise self._no_journal()
            return False
        header = _decoded(first)
        if not isinstance(header, Mapping) or header.get("journal") != _KIND:
            raise self._no_journal()
        if header.get("version") != _VERSION:
            raise UsageError(f"{self.path} is a journal of version {show(header.get('version'))}, not {_VERSION}")
        differences = identity.differences(header) if check else []
        if differences:
            what = f"{self.path} is the journal of another simulation: {'; '.join(differences)}"
            raise UsageError(f"{what}; without --resume this one is begun anew, or name another with --journal")
        self._read_lines(reader, len(first))
        return True

    def _read_lines(self, reader: io.BufferedReader[io.FileIO], start: int) -> None:
        """Enter the rows after the first line. Only the last line may be broken: the process was killed there."""
        number, torn = 1, None
        for line in iter(reader.readline, b""):
            if torn is not None:
                raise UsageError(f"{self.path}, line {number}: this is no JSON; was the file edited? Name another one")
            number += 1
            entry = _decoded(line) if line.endswith(b"\n") else None
            if entry is None:
                torn = start
            else:
                self._enter(entry, number, start, len(line))
                start += len(line)
        if torn is not None:
            self._cut(torn)
            self.notices.append(f"{self.path}, line {number}: the last line was torn, so its run is not in the journal")

    def _enter(self, entry: Any, number: int, start: int, length: int) -> None:
        if isinstance(entry, Mapping) and entry.get("completed") is True:
            self._is_completed = True
        if not isinstance(entry, Mapping) or "row" not in entry:
            return
        self._is_completed = False
        try:
            row = Row.from_data(entry["row"])
        except UsageError as error:
            raise UsageError(f"{self.path}, line {number}: {error}") from error
        self._places[row.key] = (start, length)
        (self._conclusive.add if row.is_conclusive else self._conclusive.discard)(row.key)

    def _write(self, data: bytes) -> int:
        """Write at the end, all or nothing, and return where."""
        start = self._file.seek(0, os.SEEK_END)
        left = memoryview(data)
        try:
            while left:  # all of it in one write, unless the disk is full
                left = left[self._file.write(left) :]
            os.fsync(self._file.fileno())
        except OSError as error:
            with suppress(OSError):  # a torn line at the end is found by the next one who reads
                self._cut(start)
            raise UsageError(f"{self.path} can't be written: {error.strerror or error}; make room") from error
        return start

    def _cut(self, length: int) -> None:
        self._file.truncate(length)

    def _no_journal(self) -> UsageError:
        return UsageError(f"{self.path} is no journal of a simulation, and is left as it is; name another file")


def _line(document: Mapping[str, Any]) -> bytes:
    text = json.dumps(document, ensure_ascii=False, separators=(",", ":"), default=repr)
    return text.encode("utf-8", "backslashreplace") + b"\n"


def _decoded(line: bytes) -> Any:
    """Return what stands on a line; None where it is no JSON."""
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def _this_process() -> dict[str, Any]:
    now = datetime.now(UTC).isoformat(timespec="seconds")
    return {"pid": os.getpid(), "host": socket.gethostname(), "since": now}


# ---------------------------------------------------------------------------------------------------- the lock


def _open_locked(path: Path, shown: Path) -> io.FileIO:
    """Open a file for this process alone.

    Arguments:
        path: the file.
        shown: its name in messages.

    Raises:
        UsageError: it can't be opened, or another process has it.
    """
    while True:
        file = _open(path, shown)
        if not _lock(file):
            with file:
                raise UsageError(f"{shown} is in use{_by_whom(file)}; wait for it, or name another with --journal")
        with suppress(OSError):
            # Whoever had it may have deleted it in between: a lock on a file that nobody finds keeps nobody out.
            if os.path.samestat(path.stat(), os.fstat(file.fileno())):
                return file
        file.close()


def _open(path: Path, shown: Path) -> io.FileIO:
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o666)
    except OSError as error:
        raise UsageError(f"{shown} can't be written: {error.strerror or error}; name another with --journal") from error
    file = io.FileIO(descriptor, "r+b")  # without a buffer: a row is one write
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        file.close()
        raise UsageError(f"{shown} is no regular file; a journal is read again, so name another with --journal")
    return file


if sys.platform == "win32":
    import msvcrt

    #: Far behind all that is written: on this system what is locked can't be read by others.
    _LOCKED_BYTE: Final = 2**62

    def _lock(file: io.FileIO) -> bool:
        """Lock a file until it is closed; return whether that was possible."""
        file.seek(_LOCKED_BYTE)
        try:
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:
    import fcntl

    def _lock(file: io.FileIO) -> bool:
        """Lock a file until it is closed; return whether that was possible."""
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


@contextmanager
def _buffered(file: io.FileIO, start: int = 0) -> Iterator[io.BufferedReader[io.FileIO]]:
    """Read a file from a place on, through a buffer, and leave it open."""
    file.seek(start)
    reader = io.BufferedReader(file)
    try:
        yield reader
    finally:
        reader.detach()


def _by_whom(file: io.FileIO) -> str:
    """Say which process wrote into a journal last."""
    process: Any = None
    with _buffered(file) as reader:
        for line in iter(reader.readline, b""):
            entry = _decoded(line) if line.startswith(b'{"process":') else None
            process = entry.get("process") if isinstance(entry, Mapping) else process
    if not isinstance(process, Mapping):
        return " by another process"
    pid, host, since = (printable(str(process.get(name)), 80) for name in ("pid", "host", "since"))
    return f" by process {pid} on {host}, since {since}"


def _sync_folder(path: Path) -> None:
    """Make sure that a new file is found again after a crash; a system that can't do that does it by itself."""
    with suppress(OSError):
        descriptor = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


# ------------------------------------------------------------------------------------------------- the results


def write_results(path: str | Path, rows: Iterable[Row]) -> None:
    """Write rows as a JSON array: the whole file or none.

    Raises:
        UsageError: it can't be written.
    """
    target = Path(os.path.realpath(path))
    refuse_unwritable(target, path)
    try:
        descriptor, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
        try:
            with os.fdopen(descriptor, "wb") as file:
                _write_array(file, rows)
                file.flush()
                os.fsync(file.fileno())
            Path(name).chmod(0o666 & ~_umask())
            Path(name).replace(target)
        finally:
            Path(name).unlink(missing_ok=True)
    except OSError as error:
        raise UsageError(f"{path} can't be written: {error.strerror or error}") from error


def refuse_unwritable(target: Path, shown: str | Path) -> None:
    """Raise an error where a file can't be written whole: found out by writing another into its folder.

    Arguments:
        target: the file.
        shown: its name in messages.

    Raises:
        UsageError: it is no regular file, or its folder can't be written to.
    """
    if target.is_dir():
        raise UsageError(f"{shown} is a folder; the results are a file")
    if target.exists() and not target.is_file():
        raise UsageError(f"{shown} is no regular file; the results are one, which is put in its place when it is whole")
    if not target.parent.is_dir():
        raise UsageError(f"{shown} can't be written: {target.parent} is no folder")
    try:
        with tempfile.TemporaryFile(prefix=f".{target.name}.", dir=target.parent):
            pass
    except OSError as error:
        raise UsageError(f"{shown} can't be written into its folder: {error.strerror or error}") from error


def _write_array(file: IO[bytes], rows: Iterable[Row]) -> None:
    file.write(b"[")
    for number, row in enumerate(rows):
        file.write((b",\n" if number else b"\n") + row.encoded())
    file.write(b"\n]\n")


def _umask() -> int:
    """Return the process's mask for new files; it can only be read by setting it."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
