"""Scan for some minutes while things go wrong, and show that every record has exactly one set of verdicts in the end.

Each round writes new input, some of it torn, and scans it once in peace. Then it scans it again while workers are
killed at random, the scan itself is killed, and no file may have more than a few bytes; what was ended is resumed. The
verdicts are compared record by record: each has those of the scan in peace, or one ``error`` that says that the process
that checked it died twice. Everything is drawn with a seed, which is printed, so that a round can be had again.

    python benchmarks/soak.py [SECONDS [SEED]]
"""

from __future__ import annotations

import gzip
import json
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

SECONDS = 180
FILES, RECORDS = 24, 1_500
#: What a disk quota lets a scan write to one file.
QUOTA = 20_000
#: A round that is still not through after so many resumptions is a failure.
MOST_RESUMPTIONS = 40
NOT_CHECKED = "it was not checked: the process that checked its batch died"
SUITE = """\
common_tool_expectations:
  - {type: tool_called, tool: pay, args: {amount: {$gt: 0}}}
  - {type: tool_not_called, tool: refund}
  - {type: max_calls, max: 3}
evals: []
"""
Verdicts = dict[tuple[str, int], list[tuple[Any, ...]]]


def write_inputs(folder: Path, chance: random.Random) -> None:
    """Write files of lines: plain ones and packed ones, some torn in a line, some in the middle of what is packed."""
    folder.mkdir()
    for number in range(FILES):
        lines = b"".join(_line(chance) for _ in range(RECORDS))
        if chance.random() < 0.3:
            lines = lines[: -chance.randrange(1, 200)]
        if chance.random() < 0.7:
            (folder / f"{number:03}.jsonl").write_bytes(lines)
            continue
        packed = gzip.compress(lines, 1)
        torn = packed[: -chance.randrange(1, len(packed) // 2)] if chance.random() < 0.3 else packed
        (folder / f"{number:03}.jsonl.gz").write_bytes(torn)


def _line(chance: random.Random) -> bytes:
    if chance.random() < 0.01:
        return b'{"events": [{"call": 7}}\n'
    said = f"{chance.getrandbits(256):x} " * chance.randrange(30, 150)
    events: list[dict[str, Any]] = [{"user": said}]
    for call in range(chance.randrange(6)):
        events.append({"call": "pay", "args": {"amount": chance.randrange(-2, 5)}, "id": f"c{call}"})
        events.append({"result": {"ok": True}, "id": f"c{call}"})
    return json.dumps({"events": events}).encode() + b"\n"


def begin_scan(folder: Path, output: str, *, resume: bool = False, quota: bool = False) -> subprocess.Popen[str]:
    """Begin a scan in a process of its own."""
    command = [sys.executable, "-m", "tracewitness", "scan", "suite.yaml", "in", "-o", output, "-q", "--workers", "2"]
    limit: Callable[[], None] | None = _limit_files if quota else None
    return subprocess.Popen(
        command + ["--resume"] * resume,
        cwd=folder,
        preexec_fn=limit,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def _limit_files() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (QUOTA, QUOTA))


def workers_of(scan: int) -> list[int]:
    """Return the ids of the processes that a scan has begun to check pieces."""
    try:
        children = Path(f"/proc/{scan}/task/{scan}/children").read_text("ascii").split()
        return [int(child) for child in children if b"spawn_main" in Path(f"/proc/{child}/cmdline").read_bytes()]
    except OSError:
        return []  # it has ended meanwhile


def kill_at_random(scan: subprocess.Popen[str], chance: random.Random, counts: Counter[str]) -> None:
    """Kill workers of a scan, and now and then the scan, until it has ended."""
    while scan.poll() is None:
        time.sleep(chance.uniform(0.5, 4))
        workers = workers_of(scan.pid)
        if chance.random() < 0.15 and scan.poll() is None:
            scan.kill()
            counts["scans killed"] += 1
        elif workers:
            try:
                os.kill(chance.choice(workers), signal.SIGKILL)
            except ProcessLookupError:
                continue
            counts["workers killed"] += 1


def scan_in_trouble(folder: Path, chance: random.Random, counts: Counter[str]) -> None:
    """Scan until it is through, while things go wrong."""
    for attempt in range(MOST_RESUMPTIONS):
        quota = chance.random() < 0.25
        scan = begin_scan(folder, "troubled.parquet", resume=attempt > 0, quota=quota)
        killer = threading.Thread(target=kill_at_random, args=(scan, chance, counts))
        if not quota:
            killer.start()
        _, errors = scan.communicate()
        if not quota:
            killer.join()
        if scan.returncode == -signal.SIGKILL:
            continue
        assert "Traceback" not in errors, errors
        if "can't be written" in errors:
            counts["times that the quota was full"] += 1
            assert quota, errors
            assert scan.returncode == 2, errors
            continue
        if (folder / "troubled.parquet").exists():
            return
        raise AssertionError(f"exit status {scan.returncode}, no output: {errors}")
    raise AssertionError(f"not through after {MOST_RESUMPTIONS} resumptions")


def verdicts_in(path: Path) -> Verdicts:
    """Return the verdicts of each record, in their order."""
    found: Verdicts = defaultdict(list)
    columns = ("source", "record", "run", "label", "status", "justification")
    table = pq.read_table(path, columns=list(columns))
    for row in zip(*(table[column].to_pylist() for column in columns), strict=True):
        found[row[:2]].append(row[2:])
    return found


def compare(peaceful: Verdicts, troubled: Verdicts, counts: Counter[str]) -> None:
    """Make sure that each record has exactly one set of verdicts, and the right one."""
    assert peaceful.keys() == troubled.keys(), sorted(peaceful.keys() ^ troubled.keys())[:5]
    for place, expected in peaceful.items():
        found = troubled[place]
        if found == expected:
            counts["records with the same verdicts"] += 1
            continue
        assert [each[2] for each in found] == ["error"], (place, expected, found)
        assert str(found[0][3]).startswith(NOT_CHECKED), (place, expected, found)
        counts["records reported as not checked"] += 1


def one_round(chance: random.Random, counts: Counter[str]) -> None:
    """Write input, scan it in peace and in trouble, and compare."""
    with tempfile.TemporaryDirectory(prefix="tracewitness-soak-") as name:
        folder = Path(name)
        (folder / "suite.yaml").write_text(SUITE, "utf-8")
        write_inputs(folder / "in", chance)
        scan = begin_scan(folder, "peaceful.parquet")
        _, errors = scan.communicate()
        assert (folder / "peaceful.parquet").exists(), errors
        scan_in_trouble(folder, chance, counts)
        assert not list(folder.glob("*.parts")), "parts are left"
        compare(verdicts_in(folder / "peaceful.parquet"), verdicts_in(folder / "troubled.parquet"), counts)
    counts["rounds"] += 1


def main() -> None:
    """Go on until the time is over."""
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else SECONDS
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else random.SystemRandom().randrange(1_000_000)
    print(f"seed {seed}, {seconds:.0f} seconds", flush=True)
    counts: Counter[str] = Counter()
    begun, number = time.monotonic(), 0
    while time.monotonic() - begun < seconds:
        one_round(random.Random(seed + number), counts)  # noqa: S311 - it must be had again
        number += 1
        print(", ".join(f"{count} {what}" for what, count in sorted(counts.items())), flush=True)
    print("every record has exactly one set of verdicts")


if __name__ == "__main__":
    main()
