"""What the engines have to do alike: the same input, and what the engine for one machine makes of it."""

from __future__ import annotations

import gzip
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tracewitness import Satisfies, TracewitnessError
from tracewitness.batch import local
from tracewitness.batch.checking import Job
from tracewitness.batch.inputs import Columns, locate
from tracewitness.batch.kernel import Kernel
from tracewitness.batch.parts import Part, Parts, Plan
from tracewitness.batch.pieces import Piece
from tracewitness.expectations import ToolCalled
from tracewitness.suites import Suite

SUITE: Final = """\
common_tool_expectations:
  - {type: tool_called, tool: pay, args: {amount: {$gt: 0}}}
  - {type: tool_not_called, tool: refund, reason: Only people refund.}
evals:
  - name: refused
    tool_expectations: [{type: max_calls, max: 0}]
"""


def run(name: str, amount: int, model: str = "m-1") -> dict[str, Any]:
    """Return a run that pays."""
    events = [{"call": "pay", "args": {"amount": amount}, "id": "c1"}, {"result": {"ok": True}, "id": "c1"}]
    return {"name": name, "metadata": {"model": model}, "events": events}


def write_inputs(folder: Path) -> None:
    """Write files of several forms, with broken runs, records that can't be read, and a torn file."""
    folder.mkdir()
    runs = [run(f"r{number}", number % 3 - 1, f"m-{number % 2}") for number in range(60)]
    runs.append({"name": "refused", "events": [{"agent": "No."}]})
    lines = [json.dumps(each) for each in runs]
    (folder / "a.jsonl").write_text("\n".join([*lines, '{"events": "many"}', '{"torn": ']), "utf-8")
    (folder / "b.jsonl.gz").write_bytes(gzip.compress("\n".join(lines).encode())[:-9])
    (folder / "c.json").write_text(json.dumps(runs[:7]), "utf-8")
    table = pa.table({"trace": [*lines[:5], None, "no JSON"], "model": ["m-1", None, "m-2", "m-1", "é", "x", "y"]})
    pq.write_table(table, folder / "d.parquet")


def scan(folder: Path, output: str, *options: str) -> subprocess.CompletedProcess[str]:
    """Scan the folder ``in`` beside a suite by the command, in a process of its own."""
    command = [sys.executable, "-m", "tracewitness", "scan", "suite.yaml", "in", "-o", output, *options]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def rows(path: Path) -> list[str]:
    """Return the verdicts in a file, sorted: a set in which each is counted."""
    return sorted(json.dumps(row, sort_keys=True) for row in pq.read_table(path).to_pylist())


def assert_scans_alike(engine: str, folder: Path) -> None:
    """Scan the same input with the engine and with the one for one machine, and compare all that comes of it."""
    (folder / "suite.yaml").write_text(SUITE, "utf-8")
    write_inputs(folder / "in")
    options = ("--by", "model", "--by", "metadata.model", "--sample", "5", "--workers", "2")
    ours = scan(folder, "local.parquet", *options)
    theirs = scan(folder, "engine.parquet", *options, "--engine", engine)
    assert ours.returncode == theirs.returncode == 2, theirs.stderr
    assert rows(folder / "engine.parquet") == rows(folder / "local.parquet")
    assert len(rows(folder / "local.parquet")) > 300
    assert _lasting(theirs.stdout).replace("engine.parquet", "local.parquet") == _lasting(ours.stdout)
    assert "Traceback" not in theirs.stderr
    samples = [folder / f"{name}.parquet.sample" for name in ("local", "engine")]
    written = [{path.name: path.read_bytes() for path in sample.rglob("*.*")} for sample in samples]
    assert written[0] == written[1]
    assert not list(folder.glob("*.parts"))


def _lasting(text: str) -> str:
    """Leave out of a summary how long it took, which differs."""
    return re.sub(r"[\d.,]+ s, [\d.,]+ a second", "", text)


def fatal_suite() -> Suite:
    """Return a suite whose check ends the process where the argument is a number."""
    return Suite("fatal", (), (ToolCalled(tool="pay", args={"amount": Satisfies(os._exit)}),))


def pieces_in(folder: Path, fatal: tuple[int, ...], count: int = 6) -> list[Piece]:
    """Write so many files of ten runs, some of them fatal, and return a piece for each."""
    folder.mkdir()
    for number in range(count):
        runs = [run(f"r{place}", 7) if number in fatal and place == 5 else _harmless(place) for place in range(10)]
        (folder / f"f{number}.jsonl").write_text("".join(json.dumps(each) + "\n" for each in runs), "utf-8")
    return [Piece(number, (each,), Columns()) for number, each in enumerate(locate([str(folder)]))]


def _harmless(place: int) -> dict[str, Any]:
    return {"name": f"r{place}", "events": [{"call": "pay", "args": {"amount": "much"}}]}


def job_for(output: Path, suite: Suite) -> Job:
    """Return a job whose folder of parts is there."""
    parts = Parts(str(output))
    parts.begin(Plan("", "", ""), resume=False)
    return Job(Kernel(suite), parts)


def assert_outlives_workers(pool: Callable[[Job, int], Any], folder: Path) -> None:
    """Check pieces of which two end the process that checks them, and compare with the engine for one machine."""
    pieces = pieces_in(folder / "in", (1, 4))
    counts = {}
    for name, maker in {"local": local.Pool, "engine": pool}.items():
        job = job_for(folder / f"{name}.parquet", fatal_suite())
        with maker(job, 2) as engine:
            parts: list[Part] = sorted(engine.parts(iter(pieces)), key=lambda part: part.number)
        counts[name] = [(part.number, part.tally.broken, part.tally.unreadable) for part in parts]
        assert not list(job.parts.folder.glob(".piece*"))
        job.parts.join(len(pieces), job.kernel.schema)
    assert counts["engine"] == counts["local"] == [(n, 0, 10) if n in (1, 4) else (n, 10, 0) for n in range(6)]
    assert _places(folder / "engine.parquet") == _places(folder / "local.parquet")
    unchecked = pq.read_table(folder / "engine.parquet", filters=[("status", "=", "error")])[
        "justification"
    ].to_pylist()
    assert set(unchecked) == {"it was not checked: the process that checked its batch died 2 times"}


def _places(path: Path) -> list[tuple[str, str]]:
    table = pq.read_table(path)
    return sorted(zip(table["trace_id"].to_pylist(), table["status"].to_pylist(), strict=True))


def assert_says_what_ended_it(pool: Callable[[Job, int], Any], folder: Path) -> None:
    """What is raised where a piece is checked comes out as it is: here the folder of parts is gone."""
    pieces = pieces_in(folder / "in", ())
    job = job_for(folder / "out.parquet", fatal_suite())
    (job.parts.folder / "plan.json").unlink()
    job.parts.folder.rmdir()
    with pool(job, 2) as engine, pytest.raises(TracewitnessError, match="parts can't be written: No such file"):
        list(engine.parts(iter(pieces)))
