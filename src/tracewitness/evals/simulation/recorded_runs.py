"""What a recording of model traffic has to know of its runs, so that a replay gives the same rows.

An agent may speak of its session, and then a model is asked about those words: a replay needs the same session id.
"""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path

import msgspec
from msgspec import Struct

from tracewitness.display import show
from tracewitness.errors import InfrastructureError
from tracewitness.evals.simulation.traffic import Traffic

__all__ = ["RecordedRun", "load_run", "save_run"]


class RecordedRun(Struct, frozen=True):
    """What is recorded of a run beside its traffic.

    Attributes:
        session_id: what its session was called.
        duration: how long it took, in seconds.
    """

    session_id: str
    duration: float


def load_run(traffic: Traffic, case: str, run: int) -> RecordedRun | None:
    """Return what was recorded of a run; None where nothing was, or it can't be read."""
    try:
        return msgspec.json.decode(_path(traffic, case, run).read_bytes(), type=RecordedRun)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return None


def save_run(traffic: Traffic, case: str, run: int, recorded: RecordedRun) -> None:
    """Record a run.

    Raises:
        InfrastructureError: it can't be written.
    """
    path = _path(traffic, case, run)
    document = {"case": show(case, 200), "run": run, "session_id": recorded.session_id, "duration": recorded.duration}
    try:
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(document, indent=2) + "\n", "utf-8")
    except OSError as error:
        raise InfrastructureError(f"{path}: the run can't be recorded: {error.strerror}; make room") from error


def _path(traffic: Traffic, case: str, run: int) -> Path:
    name = sha256(case.encode("utf-8", "backslashreplace")).hexdigest()[:16]
    return traffic.directory / "sessions" / f"{name}-{run:04}.json"
