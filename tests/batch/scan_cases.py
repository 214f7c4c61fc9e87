"""What the tests of scans share: a suite, inputs, and the verdicts of a file as a set."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

SUITE = """
common_tool_expectations:
- {type: tool_called, tool: pay, reason: Who orders pays.}
- {type: max_calls, max: 3}
evals:
- name: refund
  tool_expectations:
  - {type: tool_not_called, tool: delete}
"""


def run_of(number: int) -> dict[str, Any]:
    """Return a run: each third pays nothing, each tenth is a refund."""
    events: list[Any] = [{"user": f"order {number}"}, {"call": "pay" if number % 3 else "wait", "args": {"n": number}}]
    return {"name": "refund" if number % 10 == 0 else f"run-{number}", "model": f"m-{number % 2}", "events": events}


def lines_of(count: int, padding: int = 0) -> bytes:
    """Return JSON Lines of runs, each with so many bytes of text beside the rest."""
    rows = (run_of(number) | {"padding": "x" * padding} for number in range(count))
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def suite_in(folder: Path) -> str:
    """Write the suite, and return where it is."""
    path = folder / "pay.evals.yaml"
    path.write_text(SUITE)
    return str(path)


def verdicts_in(path: Path | str) -> set[tuple[Any, ...]]:
    """Return the verdicts of a file as a set, and make sure that none is there twice."""
    columns = ["trace_id", "case", "check", "operator", "status", "justification"]
    rows = pq.read_table(path, columns=columns).to_pylist()
    found = {tuple(row.values()) for row in rows}
    assert len(found) == len(rows), "a verdict is there twice"
    return found


def start(*arguments: str, environment: Mapping[str, str] | None = None, **options: Any) -> subprocess.Popen[str]:
    """Start the command line in a process of its own."""
    command = [sys.executable, "-m", "tracewitness", *arguments]
    return subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **(environment or {})},
        **options,
    )


def run(*arguments: str, **options: Any) -> tuple[int, str, str]:
    """Run the command line, and return its exit status, its output and its errors."""
    given = options.pop("input", None)
    process = start(*arguments, stdin=subprocess.PIPE if given is not None else subprocess.DEVNULL, **options)
    output, errors = process.communicate(given, timeout=120)
    return process.returncode, output, errors
