"""What the engines of Ray and Spark share: pieces go out as bytes, a window of them at a time, and answers come back.

Where a piece is checked its part is written, too, as the engine for one machine does it. So the folder of the output,
and the files of the input, must be where all processes of the cluster find them under the same path.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Final

import msgspec
import pyarrow as pa
from msgspec import Struct

from tracewitness.batch.checking import Job, check_piece, report_piece
from tracewitness.batch.inputs import Input, Segment
from tracewitness.batch.inputs.segments import FileLines
from tracewitness.batch.parts import UNFINISHED, Part, Parts, unwritable
from tracewitness.batch.pieces import Piece
from tracewitness.errors import ReadError, TracewitnessError

__all__ = ["ANSWERS", "TRIES", "Window", "answer_all", "packed_job", "part_of", "windows_of"]

#: How often a piece is tried before its records get the verdict ``error``.
TRIES: Final = 2
#: The columns of what comes back: the number of the piece, and its part or what ended the scan.
ANSWERS: Final = pa.schema([pa.field("number", pa.int64()), pa.field("answer", pa.binary())])
#: How many bytes of records are held for a window. Lines of files are only pointed at, and read where they are checked.
_MOST_BYTES: Final = 128 * 1024 * 1024


class Window(Struct, frozen=True):
    """Pieces that go out together.

    Attributes:
        pieces: each by its number.
        packed: each as bytes.
    """

    pieces: dict[int, Piece]
    packed: list[bytes]

    @property
    def tables(self) -> list[pa.Table]:
        """A table for each piece, with a row for it."""
        numbers = list(self.pieces)
        return [
            pa.table({"number": pa.array([number], pa.int64()), "piece": pa.array([data], pa.binary())})
            for number, data in zip(numbers, self.packed, strict=True)
        ]

    def singly(self) -> Iterator[Window]:
        """Yield a window for each piece."""
        for (number, piece), data in zip(self.pieces.items(), self.packed, strict=True):
            yield Window({number: piece}, [data])


def windows_of(pieces: Iterable[Piece], most: int) -> Iterator[Window]:
    """Yield windows of at most so many pieces, and of a bounded size."""
    held: dict[int, Piece] = {}
    packed: list[bytes] = []
    size = 0
    for piece in pieces:
        held[piece.number] = piece
        packed.append(pickle.dumps(_anywhere(piece)))
        size += len(packed[-1])
        if len(held) >= most or size >= _MOST_BYTES:
            yield Window(held, packed)
            held, packed, size = {}, [], 0
    if held:
        yield Window(held, packed)


def _anywhere(piece: Piece) -> Piece:
    """Return a piece whose paths are whole: processes of a cluster work in folders of their own."""
    return msgspec.structs.replace(piece, content=tuple(map(_with_whole_path, piece.content)))


def _with_whole_path(content: Segment | Input) -> Segment | Input:
    if isinstance(content, FileLines):
        return msgspec.structs.replace(content, path=str(Path(content.path).absolute()))
    if isinstance(content, Input) and content.kind == "file":
        return msgspec.structs.replace(content, address=str(Path(content.address).absolute()))
    return content


def packed_job(job: Job) -> bytes:
    """Return a job as bytes, with whole paths."""
    return pickle.dumps(job._replace(parts=Parts(str(job.parts.output.absolute()))))


# A process of a cluster gets the same job again and again, and is to compile its checks once.
@lru_cache(maxsize=1)
def _job_of(data: bytes) -> Job:
    job: Job = pickle.loads(data)  # noqa: S301 - of this library's own making, and no part of any trace
    return job


def answer_all(table: pa.Table | pa.RecordBatch, job: bytes, below: int | None) -> Iterator[pa.RecordBatch]:
    """Check pieces where they are, and yield an answer for each.

    A piece that ended the processes that tried it is not tried again, however often an engine does: its records get
    the verdict ``error``.
    """
    for number, data in zip(table.column("number").to_pylist(), table.column("piece").to_pylist(), strict=True):
        piece: Piece = pickle.loads(data)  # noqa: S301 - as above
        answer = pickle.dumps(_answer(piece, _job_of(job), below))
        yield pa.RecordBatch.from_pydict({"number": [number], "answer": [answer]}, ANSWERS)


def _answer(piece: Piece, job: Job, below: int | None) -> Part | TracewitnessError:
    try:
        return job.parts.done(piece.number) or _tried(piece, job, below)
    except TracewitnessError as error:
        return error
    except OSError as error:
        return ReadError(f"the input can't be read any more: {error.strerror or error}")


def _tried(piece: Piece, job: Job, below: int | None) -> Part:
    marks = [job.parts.folder / f".piece-{piece.number:08}.{number}{UNFINISHED}" for number in range(TRIES)]
    if _is_marked(marks):
        part = check_piece(piece, job, below)
    else:
        part = report_piece(piece, job, f"it was not checked: the process that checked its batch died {TRIES} times")
    for mark in marks:
        mark.unlink(missing_ok=True)
    return part


def _is_marked(marks: list[Path]) -> bool:
    """Set the first mark that is not set; False where all are. One that stays is of a process that died."""
    for mark in marks:
        try:
            mark.open("xb").close()
        except FileExistsError:
            continue
        except OSError as error:
            raise unwritable(mark.parent, error) from error
        return True
    return False


def part_of(answer: bytes) -> Part:
    """Return the part in an answer.

    Raises:
        UsageError, ReadError: what ended the scan there.
    """
    found: Part | TracewitnessError = pickle.loads(answer)  # noqa: S301 - as above
    if isinstance(found, TracewitnessError):
        raise found
    return found
