"""The plugin is there in every project, and costs nothing where it is not used."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PROBE = """
import sys

def pytest_unconfigure():
    ours = sorted(name for name in sys.modules if name.partition(".")[0] == "tracewitness")
    print("modules:", *ours)
"""


def run(folder: Path, *arguments: str) -> str:
    """Run pytest in a process of its own."""
    (folder / "conftest.py").write_text(PROBE, "utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:asyncio", "-W", "error", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False).stdout


@pytest.mark.parametrize("arguments", [[], ["--collect-only"], ["--markers"], ["--help"]], ids=str)
def test_an_unused_plugin_imports_nothing(tmp_path: Path, arguments: list[str]) -> None:
    """Where nothing of it is used, the plugin's module alone is imported, also where tests fail."""
    (tmp_path / "test_a.py").write_text(
        "def test_a():\n    assert [1] == [1]\ndef test_b():\n    assert {1} == {2}\n", "utf-8"
    )
    assert "modules: tracewitness tracewitness.pytest_plugin\n" in run(tmp_path, *arguments)


def test_it_can_be_left_out(tmp_path: Path) -> None:
    """``-p no:tracewitness`` leaves it out."""
    (tmp_path / "test_a.py").write_text("def test_a():\n    pass\n", "utf-8")
    (tmp_path / "a.evals.yaml").write_text("nonsense", "utf-8")
    shown = run(tmp_path, "-p", "no:tracewitness")
    assert "1 passed" in shown
    assert "modules:\n" in shown


def test_help_names_options_and_settings(tmp_path: Path) -> None:
    """``--help`` lists what there is."""
    shown = run(tmp_path, "--help")
    for name in ("--witness-results", "--witness-update", "--witness-ci", "--witness-json", "--witness-html"):
        assert name in shown
    for name in ("tracewitness_files", "tracewitness_per_check", "tracewitness_results"):
        assert name in shown


def test_the_marker_is_known(tmp_path: Path) -> None:
    """``--markers`` names the marker."""
    assert "@pytest.mark.witness(runs, at_least)" in run(tmp_path, "--markers")
