"""The parts of the output: each is written whole or not at all, and all of them become one file at the end.

While a scan runs, its parts are in a folder beside the output, ``verdicts.parquet.parts``: ``plan.json`` says of what
scan they are; ``part-00000017.parquet`` are the verdicts of a piece, and ``part-00000017.json`` its counts, which is
there before. When all are there they are joined, the output is put in its place, and the folder is removed.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, Literal

import filelock
import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
from msgspec import Struct

from tracewitness.batch.sampling import Drawn
from tracewitness.batch.tally import Tally
from tracewitness.errors import UsageError

__all__ = ["UNFINISHED", "Part", "PartWriter", "Parts", "Plan", "unwritable"]

Form = Literal["parquet", "jsonl"]

_FORMS: Final[dict[str, Form]] = {".parquet": "parquet", ".jsonl": "jsonl", ".ndjson": "jsonl"}
_PLAN: Final = "plan.json"
#: How the names end of what a process that is killed leaves behind.
UNFINISHED: Final = ".unfinished"
_encode: Final = msgspec.json.Encoder().encode


class Plan(Struct, frozen=True):
    """Of what scan parts are; another scan can't go on with them.

    Attributes:
        suite: a hash of the suite.
        options: a hash of what else decides on the verdicts.
        inputs: a hash of the inputs: names, sizes and times.
        known: the inputs themselves, where they are few, to say which one has changed.
    """

    suite: str
    options: str
    inputs: str
    known: dict[str, str] = {}


class Part(Struct, frozen=True):
    """What there is to know of a part beside its verdicts."""

    number: int
    size: int
    tally: Tally
    drawn: list[Drawn] = []


def unwritable(path: Path | str, error: OSError) -> UsageError:
    """Return the error for a file that can't be written."""
    reason = error.strerror or error
    return UsageError(f"{path} can't be written: {reason}; what is complete is kept, and --resume goes on from there")


class PartWriter:
    """Writes the verdicts of one piece.

    Arguments:
        folder: where to.
        form: Parquet or JSON Lines.
        schema: the columns.

    Raises:
        UsageError: it can't be written.
    """

    def __init__(self, folder: Path, form: Form, schema: pa.Schema) -> None:
        self._folder = folder
        self._form = form
        self._schema = schema
        self._sink = pa.BufferOutputStream()
        self._parquet = _parquet_writer(self._sink, schema) if form == "parquet" else None

    def add(self, verdicts: pa.RecordBatch) -> None:
        """Add a batch of verdicts."""
        if self._parquet is not None:
            self._parquet.write_batch(verdicts)
            return
        for row in verdicts.to_pylist():
            self._sink.write(_encode(row) + b"\n")

    def complete(self, part: Part) -> None:
        """Put the part in its place, its counts before it."""
        if self._parquet is not None:
            self._parquet.close()
        name = _part_name(part.number)
        _write(self._folder / f"{name}.json", _encode(part))
        _write(self._folder / f"{name}.{self._form}", self._sink.getvalue())


def _parquet_writer(sink: Any, schema: pa.Schema) -> pq.ParquetWriter:
    # Ids differ from row to row, or nearly: a dictionary of them would only be made to be thrown away.
    repeated = [name for name in schema.names if name not in ("trace_id", "record", "evidence")]
    return pq.ParquetWriter(sink, schema, compression="zstd", use_dictionary=repeated, write_statistics=True)


def _part_name(number: int) -> str:
    return f"part-{number:08}"


def _write(path: Path, data: Any) -> None:
    """Write a file under another name, and rename it when it is complete."""
    unfinished = path.with_name(f".{path.name}.{os.getpid()}{UNFINISHED}")
    try:
        with unfinished.open("wb") as file:
            file.write(data)
        unfinished.replace(path)
    except OSError as error:
        unfinished.unlink(missing_ok=True)
        raise unwritable(path, error) from error


class Parts:
    """The folder of parts of an output.

    Arguments:
        output: the file that the verdicts are to be in; its ending says in which form.

    Raises:
        UsageError: the ending is another, or there is something in the way.
    """

    def __init__(self, output: str) -> None:
        self.output = Path(output)
        form = _FORMS.get(self.output.suffix.lower())
        if form is None:
            raise UsageError(f"{output}: verdicts are written to a file that ends in {', '.join(_FORMS)}")
        if self.output.is_dir():
            raise UsageError(f"{output} is a folder; the verdicts are written to a file")
        self.form: Form = form
        self.folder = self.output.with_name(self.output.name + ".parts")

    def begin(self, plan: Plan, *, resume: bool) -> None:
        """Make the folder, or go on with one.

        Raises:
            UsageError: there is one, and it is not to be gone on with; or it is of another scan; or it can't be made.
        """
        path = self.folder / _PLAN
        if path.exists():
            if not resume:
                raise UsageError(
                    f"{self.folder} has the parts of a scan that did not end: go on with it by --resume, or remove it"
                )
            _refuse_other(_read_plan(path), plan, self.folder)
            self._sweep()
            return
        self._make_folder()
        _write(path, _encode(plan))

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other scans from writing the same output.

        Raises:
            UsageError: one does.
        """
        self._make_folder()
        lock = filelock.FileLock(self.folder / ".lock")
        try:
            lock.acquire(timeout=0)
        except filelock.Timeout as error:
            raise UsageError(f"another scan is writing {self.output}; wait until it has ended") from error
        except OSError as error:
            raise unwritable(self.folder, error) from error
        try:
            yield
        finally:
            lock.release()

    def _make_folder(self) -> None:
        try:
            self.folder.mkdir(exist_ok=True)
        except FileNotFoundError as error:
            raise UsageError(f"{self.output.parent} does not exist; the verdicts need a folder that does") from error
        except OSError as error:
            raise unwritable(self.folder, error) from error

    def give_up(self, *, can_resume: bool) -> None:
        """Remove the folder of a scan that failed, where there is nothing in it to go on with."""
        if not can_resume or not any(self.folder.glob("part-*")):
            shutil.rmtree(self.folder, ignore_errors=True)

    def _sweep(self) -> None:
        """Remove what a scan that was killed left unfinished."""
        for path in self.folder.glob(f".*{UNFINISHED}"):
            path.unlink(missing_ok=True)

    def done(self, number: int) -> Part | None:
        """Return what is known of a part that is complete; None where it is not.

        Raises:
            UsageError: what is known of it can't be read.
        """
        name = _part_name(number)
        if not (self.folder / f"{name}.{self.form}").exists():
            return None
        path = self.folder / f"{name}.json"
        try:
            return msgspec.json.decode(path.read_bytes(), type=Part)
        except (OSError, msgspec.MsgspecError) as error:
            raise UsageError(f"{path} can't be read: {error}; remove {self.folder} and scan again") from error

    def writer(self, schema: pa.Schema) -> PartWriter:
        """Return what writes a part."""
        return PartWriter(self.folder, self.form, schema)

    def join(self, count: int, schema: pa.Schema) -> None:
        """Make one file of all parts, put it in its place, and remove the parts.

        Raises:
            UsageError: it can't be written, or a part is missing.
        """
        paths = [self.folder / f"{_part_name(number)}.{self.form}" for number in range(count)]
        missing = next((path for path in paths if not path.exists()), None)
        if missing is not None:
            raise UsageError(f"{missing} is missing: was it removed while the scan ran? --resume makes it again")
        unfinished = self.folder / f"joined{UNFINISHED}"
        try:
            if len(paths) == 1:
                paths[0].replace(unfinished)
            else:
                _JOINERS[self.form](paths, unfinished, schema)
            unfinished.replace(self.output)
            shutil.rmtree(self.folder)
        except OSError as error:
            raise unwritable(self.output, error) from error


def _join_parquet(paths: list[Path], target: Path, schema: pa.Schema) -> None:
    with target.open("wb") as file, _parquet_writer(file, schema) as writer:
        for batch in _batches(paths, schema):
            writer.write_batch(batch, row_group_size=None)


def _batches(paths: list[Path], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Yield what is in Parquet files, as many rows at a time as make a good row group."""
    held: list[pa.RecordBatch] = []
    rows = 0
    for path in paths:
        for batch in pq.read_table(path).to_batches():
            held.append(batch)
            rows += batch.num_rows
        if rows >= _ROWS_OF_GROUP:
            yield pa.Table.from_batches(held, schema).combine_chunks().to_batches()[0]
            held, rows = [], 0
    if rows:
        yield pa.Table.from_batches(held, schema).combine_chunks().to_batches()[0]


def _join_lines(paths: list[Path], target: Path, schema: pa.Schema) -> None:  # noqa: ARG001 - as of the others
    with target.open("wb") as file:
        for path in paths:
            with path.open("rb") as part:
                shutil.copyfileobj(part, file, 1 << 20)


_ROWS_OF_GROUP: Final = 32_768
_JOINERS: Final[dict[Form, Callable[[list[Path], Path, pa.Schema], None]]] = {
    "parquet": _join_parquet,
    "jsonl": _join_lines,
}


def _read_plan(path: Path) -> Plan:
    try:
        return msgspec.json.decode(path.read_bytes(), type=Plan)
    except (OSError, msgspec.MsgspecError) as error:
        raise UsageError(f"{path} can't be read: {error}; remove {path.parent} and scan again") from error


def _refuse_other(found: Plan, plan: Plan, folder: Path) -> None:
    """Raise a `UsageError` where parts are of another scan."""
    again = f"remove {folder} and scan again"
    if found.suite != plan.suite:
        raise UsageError(f"the suite is not the one that the scan began with: {again}")
    if found.options != plan.options:
        raise UsageError(
            f"the options are not those that the scan began with, or the version is not: use the same, or {again}"
        )
    if found.inputs != plan.inputs:
        keys = sorted(found.known.keys() | plan.known.keys())
        changed = next((key for key in keys if found.known.get(key) != plan.known.get(key)), "the input")
        raise UsageError(f"{changed} has changed since the scan began: {again}")
