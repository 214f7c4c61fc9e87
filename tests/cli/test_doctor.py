"""``tracewitness doctor`` tells what is there, what is missing and what to do, on this machine and on odd ones."""

from __future__ import annotations

import json
import platform
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

import tracewitness
from tracewitness.cli import doctor


def run(*arguments: str, code: str = "") -> subprocess.CompletedProcess[str]:
    """Run the command in a process of its own; ``code`` runs before it."""
    program = f"import sys\n{code}\nsys.argv = ['tracewitness', 'doctor', *{arguments!r}]\n"
    program += "from tracewitness.cli import main\nmain()\n"
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)


def hidden(*names: str) -> str:
    """Return code after which distributions of these names are not installed."""
    return (
        "from importlib import metadata\n"
        "real = metadata.version\n"
        "def version(name):\n"
        f"    if name in {names!r}:\n"
        "        raise metadata.PackageNotFoundError(name)\n"
        "    return real(name)\n"
        "metadata.version = version\n"
    )


def test_what_is_there_is_told() -> None:
    answer = run()
    assert (answer.returncode, answer.stderr) == (0, "")
    assert answer.stdout.startswith(f"tracewitness {tracewitness.__version__} in ")
    assert f"Python {platform.python_version()}" in answer.stdout
    assert f"msgspec {metadata.version('msgspec')}" in answer.stdout
    assert f"pytest: {pytest.__version__}, which loads the plugin" in answer.stdout
    assert answer.stdout.endswith("no problem found\n")


def test_the_same_as_json() -> None:
    answer = run("--json")
    found = json.loads(answer.stdout)
    assert answer.returncode == 0
    assert found["tracewitness"] == tracewitness.__version__
    assert found["formats"] > 40
    assert Path(found["location"]) == Path(tracewitness.__file__).parent
    assert found["problems"] == []
    needed = {"click", "msgspec", "rich", "rapidfuzz"}
    assert needed <= {package["name"] for package in found["core"] if package["state"] == "fits"}


def test_each_extra_of_the_metadata_is_told_with_its_purpose() -> None:
    extras = {extra["name"]: extra for extra in json.loads(run("--json").stdout)["extras"]}
    assert set(extras) == set(metadata.metadata("tracewitness").get_all("Provides-Extra") or ())
    assert [name for name, extra in extras.items() if not extra["purpose"]] == []


def test_an_extra_that_is_not_there_is_no_problem_and_told_how_to_get() -> None:
    answer = run(code=hidden("pyspark", "pandas"))
    assert answer.returncode == 0
    (line,) = (line for line in answer.stdout.splitlines() if line.startswith("  spark"))
    assert "missing: pip install --upgrade 'tracewitness[spark]'" in line
    assert answer.stdout.endswith("no problem found\n")


def test_a_missing_part_of_the_core_is_a_problem() -> None:
    answer = run(code=hidden("rapidfuzz"))
    assert answer.returncode == 1
    assert "problem: rapidfuzz is missing: run pip install --upgrade tracewitness" in answer.stdout
    assert "no problem" not in answer.stdout


def test_without_pytest_and_packaging_it_still_answers() -> None:
    code = hidden("pytest") + "sys.modules['packaging'] = sys.modules['packaging.specifiers'] = None\n"
    answer = run(code=code + "sys.modules['packaging.markers'] = None\n")
    assert answer.returncode == 0, answer.stderr
    assert "pytest: not installed" in answer.stdout


@pytest.mark.parametrize(
    ("version", "bounds", "state"),
    [
        ("1.2", ">=1.2", "fits"),
        ("1.2.0rc1", ">=1.2", "too old"),
        ("2.0.dev1", ">=1.2", "fits"),
        ("1.10", ">=1.9", "fits"),
        ("1.9", ">=1.10", "too old"),
        ("3", "", "fits"),
        ("", ">=1", "missing"),
    ],
)
def test_versions_are_compared(version: str, bounds: str, state: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "_version", lambda name: version if name == "some" else "")
    assert doctor._package("some", bounds).state == state


def test_an_extra_that_is_too_old_is_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    real = doctor._version
    monkeypatch.setattr(doctor, "_version", lambda name: "0.1" if name == "duckdb" else real(name))
    found: Any = doctor._diagnosis()
    (problem,) = found.problems
    assert problem.startswith("duckdb 0.1 is too old: >=")
    assert problem.endswith("for batch: run pip install --upgrade 'tracewitness[batch]'")
