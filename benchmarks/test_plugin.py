"""What the pytest plugin costs in a project that does not use it: whole processes with it and without it."""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

ROUNDS = 21
TESTS = "import pytest\n\n" + "\n".join(f"def test_{number}():\n    pass\n" for number in range(50))


@pytest.mark.parametrize("what", ["--collect-only", "run"])
def test_start_up(tmp_path: Path, say: Callable[[str], None], what: str) -> None:
    """The plugin costs under 10 ms, of start, collection of 20 files, and 1,000 tests."""
    for number in range(20):
        (tmp_path / f"test_{number}.py").write_text(TESTS, "utf-8")
    (tmp_path / "pytest.ini").write_text("[pytest]\n", "utf-8")
    (tmp_path / "empty_plugin.py").touch()
    options = ["--collect-only"] if what == "--collect-only" else []
    _cost(tmp_path, *options)  # so that all modules are compiled
    costs = [_cost(tmp_path, *options) for _ in range(ROUNDS)]
    walls, works = zip(*costs, strict=True)
    say(
        f"pytest {what} of 1,000 tests: {statistics.median(walls) * 1000:.1f} ms more with the plugin, of which "
        f"{statistics.median(works) * 1000:.1f} ms are the processor's (medians of {ROUNDS} pairs; the goal is 10)"
    )


def _cost(folder: Path, *options: str) -> tuple[float, float]:
    """Return how much longer a process takes with the plugin than with an empty one: by the clock, on the processor."""
    alone = _seconds(folder, "empty_plugin", *options)
    ours = _seconds(folder, "tracewitness.pytest_plugin", *options)
    return ours[0] - alone[0], ours[1] - alone[1]


def _seconds(folder: Path, plugin: str, *options: str) -> tuple[float, float]:
    """Return what a process takes. Of other plugins there are none, so that they add no noise."""
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": str(folder)}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", plugin, *options]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begun = time.perf_counter()
    subprocess.run(command, cwd=folder, env=environment, capture_output=True, check=True)
    wall = time.perf_counter() - begun
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
