"""The README is executed: its Python prints what it shows, its commands answer what it shows, its YAML loads."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tracewitness import load_suite

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text("utf-8")
BLOCKS = [
    (match["language"], match["text"])
    for match in re.finditer(r"^```(?P<language>\w+)\n(?P<text>.*?)^```$", README, re.MULTILINE | re.DOTALL)
]


def blocks(language: str) -> list[tuple[str, str]]:
    """Return the blocks of a language, each with the ``text`` block that follows it at once, or an empty text."""
    following = [*BLOCKS[1:], ("", "")]
    return [
        (text, shown if shown_as == "text" else "")
        for (found, text), (shown_as, shown) in zip(BLOCKS, following, strict=True)
        if found == language
    ]


@pytest.mark.parametrize(("code", "shown"), blocks("python"))
def test_python_blocks(code: str, shown: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Every Python block runs, and prints what the README shows below it."""
    exec(compile(code, "README.md", "exec"), {})  # noqa: S102 - the README is ours
    assert capsys.readouterr().out == shown


@pytest.mark.parametrize("session", [text for text, _ in blocks("console")])
def test_console_blocks(session: str) -> None:
    """Every command answers what the README shows below it."""
    command, _, shown = session.removeprefix("$ ").partition("\n")
    program, *arguments = shlex.split(command)
    assert program in ("tracewitness", "pytest")
    done = subprocess.run(
        [sys.executable, "-m", program, *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )
    lines = done.stdout.splitlines(keepends=True)
    timeless = lines if program == "tracewitness" else lines[:-1]  # the last line of pytest has the time that it took
    assert "".join(timeless) == shown


@pytest.mark.parametrize("code", [code for code, _ in blocks("python") if "\ndef test_" in code])
def test_tests_in_python_blocks(code: str, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a Python block has tests, they pass, on the first run and on the next."""
    monkeypatch.delenv("CI", raising=False)
    pytester.path.joinpath("test_readme_block.py").write_text(code, "utf-8")
    for _ in range(2):
        result = pytester.runpytest_inprocess("-p", "no:asyncio", "-W", "error")
        assert result.ret == 0
        assert result.parseoutcomes().get("passed", 0) >= 1


@pytest.mark.parametrize("document", [text for text, _ in blocks("yaml")])
def test_yaml_blocks(document: str, tmp_path: Path) -> None:
    """Every YAML block is an eval file that loads."""
    path = tmp_path / "readme.evals.yaml"
    path.write_text(document, "utf-8")
    assert load_suite(path).cases


def test_the_readme_has_blocks() -> None:
    """The tests above run on something: each kind of block is there."""
    assert len(blocks("python")) >= 3
    assert blocks("console")
    assert blocks("yaml")
