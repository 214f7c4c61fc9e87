"""How long a scan takes: a trace on one core, two processes, and a million traces.

The recordings are few; where more are needed they are replicated, which every line of the results says.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pytest
from test_check import ORDER_EVENTS
from test_reading import CHECKS

from conftest import anthropic
from tracewitness.batch.kernel import Kernel
from tracewitness.expectations import compile_checks, parse_operator
from tracewitness.readers.records import RecordReader
from tracewitness.suites import Suite

#: How many traces the recorded ones are replicated to.
TRACES = int(os.environ.get("TRACEWITNESS_BENCH_TRACES", "200000"))
BATCH = 512
FORMATS = {"chat completions": "openai-chat", "Anthropic": "anthropic-messages", "tau2-bench": "tau2-bench"}
SUITE = Suite("bench", (), tuple(map(parse_operator, CHECKS)))
#: The same checks as a file, for whole scans.
SUITE_FILE = json.dumps({"common_tool_expectations": CHECKS, "evals": []})
ORDERS_FILE = json.dumps(
    {
        "common_tool_expectations": [
            {"type": "tool_called", "tool": "create_order", "args": {"item_id": "*"}},
            {"type": "tool_not_called", "tool": "create_order", "before": {"tool": "check_availability", "result": {}}},
            {"type": "end_session"},
        ],
        "evals": [],
    }
)


@pytest.fixture(scope="session")
def recorded_lines(
    recorded_rows: list[dict[str, Any]], recorded_simulations: list[dict[str, Any]]
) -> dict[str, list[bytes]]:
    """Return recorded conversations in their providers' formats, compact as servers write them."""
    called = [row for row in recorded_rows if any(message["role"] == "tool" for message in row["traj"])]
    histories: dict[str, list[Any]] = {
        "chat completions": [row["traj"] for row in recorded_rows],
        "Anthropic": [anthropic(row) for row in called],
        "tau2-bench": recorded_simulations,
    }
    return {
        name: [json.dumps(each, separators=(",", ":")).encode() for each in them] for name, them in histories.items()
    }


def _batches(lines: list[bytes], count: int) -> Iterator[list[bytes]]:
    for begin in range(0, count, BATCH):
        yield [lines[number % len(lines)] for number in range(begin, min(begin + BATCH, count))]


def _seconds(work: Callable[[], object]) -> float:
    # The processor's time: what else runs on the machine disturbs it least.
    begun = time.process_time()
    work()
    return time.process_time() - begun


@pytest.mark.parametrize("name", FORMATS)
def test_decode_and_check(name: str, recorded_lines: dict[str, list[bytes]], say: Callable[[str], None]) -> None:
    """On one core: read and check, and the kernel with its Arrow batches, beside decoding the same bytes."""
    lines = recorded_lines[name]
    decode = msgspec.json.Decoder().decode
    reader, checks, kernel = (
        RecordReader(FORMATS[name]),
        compile_checks(CHECKS),
        Kernel(SUITE, format_name=FORMATS[name]),
    )

    def read_and_check(batch: list[bytes]) -> None:
        for line in batch:
            for trace in reader.traces(line):
                checks.check(trace)

    def decode_all(batch: list[bytes]) -> None:
        for line in batch:
            decode(line)

    checking, whole, decoding = [], [], []
    for batch in _batches(lines, TRACES):
        raw = pa.RecordBatch.from_pydict({"raw": batch, "record": range(len(batch)), "source": ["bench"] * len(batch)})
        base = _seconds(lambda batch=batch: decode_all(batch))
        decoding.append(base / len(batch))
        checking.append(_seconds(lambda batch=batch: read_and_check(batch)) / base)
        whole.append(_seconds(lambda raw=raw: kernel(raw)) / base)
    say(
        f"{name} ({len(lines)} recorded conversations replicated to {TRACES:,}; "
        f"{statistics.median(decoding) * 1e6:.0f} µs to decode one): reading and checking "
        f"{statistics.median(checking):.2f} times decoding, the kernel with its verdicts in Arrow and the words of "
        f"those that do not hold {statistics.median(whole):.2f} times; the goal is 2.5"
    )


def _scan(folder: Path, workers: int) -> tuple[float, float, int]:
    """Scan in a process of its own; return its seconds, those of all processors, and the most memory in MB."""
    code = (
        "import resource, sys\n"
        "from tracewitness.batch.scanning import Options, scan\n"
        "if __name__ == '__main__':\n"
        "    scan('suite.yaml', ['in.jsonl'], 'out.parquet', Options(workers=int(sys.argv[1])))\n"
        "    both = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]\n"
        "    print(sum(each.ru_utime + each.ru_stime for each in both), max(each.ru_maxrss for each in both) // 1024)\n"
    )
    (folder / "run.py").write_text(code, "utf-8")
    begun = time.perf_counter()
    command = [sys.executable, "run.py", str(workers)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    seconds = time.perf_counter() - begun
    processor, memory = done.stdout.split()
    return seconds, float(processor), int(memory)


def test_two_processes(tmp_path: Path, recorded_lines: dict[str, list[bytes]], say: Callable[[str], None]) -> None:
    """The same scan with one process that checks and with two."""
    count = TRACES // 5
    (tmp_path / "suite.yaml").write_text(SUITE_FILE, "utf-8")
    with (tmp_path / "in.jsonl").open("wb") as file:
        for batch in _batches(recorded_lines["chat completions"], count):
            file.write(b"\n".join(batch) + b"\n")
    one, two = _scan(tmp_path, 1), _scan(tmp_path, 2)
    (tmp_path / "in.jsonl").unlink()
    say(
        f"a scan of {count:,} conversations (200 recorded ones replicated): {one[0]:.1f} s with one process, "
        f"{two[0]:.1f} s with two, {one[0] / two[0]:.2f} times as fast; the goal is 1.8. Seconds of processors: "
        f"{one[1]:.1f} and {two[1]:.1f} (load of the machine: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores)"
    )


@pytest.mark.parametrize("count", [10_000, 100_000, 1_000_000])
def test_cost_a_trace(count: int, tmp_path: Path, say: Callable[[str], None]) -> None:
    """The time of all processors a trace, and the memory, whatever the number of traces."""
    (tmp_path / "suite.yaml").write_text(ORDERS_FILE, "utf-8")
    line = json.dumps({"name": "order", "events": ORDER_EVENTS}).encode() + b"\n"
    with (tmp_path / "in.jsonl").open("wb") as file:
        for _ in range(count // 1000):
            file.write(line * 1000)
    _, begin, _ = _start_alone(tmp_path)
    _, processor, memory = _scan(tmp_path, 1)
    (tmp_path / "in.jsonl").unlink()
    say(
        f"a scan of {count:,} traces (one of 15 events, replicated): {(processor - begin) / count * 1e6:.1f} µs of "
        f"processors a trace beyond the start of the processes, at most {memory} MB in a process"
    )


def _start_alone(folder: Path) -> tuple[float, float, int]:
    """Scan one trace: what remains is the start of the processes."""
    alone = folder / "alone"
    alone.mkdir()
    (alone / "suite.yaml").write_text(ORDERS_FILE, "utf-8")
    (alone / "in.jsonl").write_text(json.dumps({"events": ORDER_EVENTS}) + "\n", "utf-8")
    return _scan(alone, 1)
