"""The action for GitHub and the hooks for pre-commit: their files are well-formed, and what they run works."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from report_support import GOOD, SUITE, WRONG, write_rows

ROOT = Path(__file__).resolve().parents[2]
ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
HOOKS: list[dict[str, Any]] = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))
STEPS: dict[str, dict[str, Any]] = {step["name"]: step for step in ACTION["runs"]["steps"]}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with a suite, runs, and the command on its own."""
    (tmp_path / "suite.evals.yaml").write_text(SUITE, "utf-8")
    write_rows(tmp_path / "good runs.json", ("order", GOOD))
    write_rows(tmp_path / "bad.json", ("order", WRONG))
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "tracewitness"
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m tracewitness "$@"\n', "utf-8")
    program.chmod(0o755)
    return tmp_path


def environment(folder: Path) -> dict[str, str]:
    return {**os.environ, "PATH": f"{folder / 'bin'}:{os.environ['PATH']}"}


def check(folder: Path, **inputs: str) -> subprocess.CompletedProcess[str]:
    """Run the script of the action's last step as GitHub does, with inputs."""
    step = STEPS["Check"]
    given = {name: each.get("default", "") for name, each in ACTION["inputs"].items()} | inputs
    asked = {name: re.fullmatch(r"\$\{\{ inputs\.([a-z-]+) \}\}", value) for name, value in step["env"].items()}
    variables = {name: given[found[1]] for name, found in asked.items() if found}
    assert variables.keys() == step["env"].keys()
    bash = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
    summary = {"GITHUB_STEP_SUMMARY": str(folder / "summary.md")}
    env = {**environment(folder), **variables, **summary}
    return subprocess.run(bash, cwd=folder, env=env, capture_output=True, text=True, check=False)


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
def test_the_action_checks(folder: Path) -> None:
    """It ends with the status of the check, and leaves annotations, a summary and the files that were asked for."""
    good = check(folder, suite="suite.evals.yaml", results="good runs.json\n", junit="junit.xml", html="r.html")
    assert (good.returncode, good.stderr) == (0, "")
    assert (folder / "junit.xml").exists()
    assert (folder / "r.html").exists()
    bad = check(
        folder, suite="suite.evals.yaml", results="good runs.json\nbad.json", json="r.json", redact="args\nuser"
    )
    assert bad.returncode == 1
    assert "::error file=suite.evals.yaml,line=6" in bad.stdout
    assert "ITEM-24" not in bad.stdout + (folder / "r.json").read_text("utf-8")
    assert (folder / "summary.md").read_text("utf-8").count("## tracewitness") == 2
    assert check(folder, suite="suite.evals.yaml", results="bad.json", options="--name\nnone").returncode == 2


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
@pytest.mark.parametrize(
    "value", ["$(touch forged)", "`touch forged`", '"; touch forged; "', "--json=forged", "-- forged"]
)
def test_inputs_are_no_part_of_a_script(folder: Path, value: str) -> None:
    """What an input holds is a file's name, whatever it looks like."""
    done = check(folder, suite=value, results=value, redact="args")
    assert done.returncode == 2
    assert not (folder / "forged").exists()


def test_the_action_is_well_formed() -> None:
    """All inputs are described and used, and none stands in a script's text."""
    assert ACTION["runs"]["using"] == "composite"
    text = (ROOT / "action.yml").read_text("utf-8")
    for name, each in ACTION["inputs"].items():
        assert each["description"]
        assert each.get("required") or "default" in each
        assert f"inputs.{name}" in text
    for step in STEPS.values():
        assert "${{" not in step.get("run", "")
        assert ("run" in step) is ("shell" in step)
    assert [step.get("uses", "").partition("@")[0] for step in STEPS.values()] == ["actions/setup-python", "", ""]


def hook(name: str) -> dict[str, Any]:
    return next(each for each in HOOKS if each["id"] == name)


def test_the_hooks_run(folder: Path) -> None:
    """The commands are there, and do what the hooks' names say."""
    (folder / "bad.evals.yaml").write_text("evals: [{name: a, steps: [], tool_expectatons: []}]", "utf-8")
    runs = [
        (hook("tracewitness-validate"), ["suite.evals.yaml"], 0),
        (hook("tracewitness-validate"), ["suite.evals.yaml", "bad.evals.yaml"], 2),
        (hook("tracewitness-check"), ["suite.evals.yaml", "good runs.json"], 0),
        (hook("tracewitness-check"), ["suite.evals.yaml", "bad.json"], 1),
    ]
    for each, arguments, status in runs:
        command = [*shlex.split(each["entry"]), *arguments]
        done = subprocess.run(command, cwd=folder, env=environment(folder), capture_output=True, text=True, check=False)
        assert done.returncode == status


@pytest.mark.parametrize(
    ("path", "is_meant"),
    [
        ("orders.evals.yaml", True),
        ("a/b.evals.yml", True),
        ("x.evals.json", True),
        ("evals.yaml", False),
        ("a.evals.yaml.bak", False),
    ],
)
def test_which_files_are_validated(path: str, is_meant: bool) -> None:
    """Those that are named as eval files are."""
    assert bool(re.search(hook("tracewitness-validate")["files"], path)) is is_meant
    assert {each["language"] for each in HOOKS} == {"python"}
