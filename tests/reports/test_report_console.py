"""The report on a terminal: aligned by columns, wrapped where there is one, whole lines where there is none."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from report_support import GOOD, HOSTILE, SUITE, WRONG, entries, is_visible, write_rows
from rich.cells import cell_len

from tracewitness.reports.console import ConsoleReport
from tracewitness.reports.widths import cells, padded, wrapped

NAMES = ("order", "注文をする", "👩‍👩‍👧 family", "cafe\u0301", "a" * 50)


@pytest.mark.parametrize("name", NAMES)
def test_columns_are_aligned(capsys: pytest.CaptureFixture[str], name: str) -> None:
    """What stands behind names begins in one column, whatever their characters take."""
    console = ConsoleReport(names=NAMES)
    for run in entries((name, GOOD)):
        console.run(run)
    line = capsys.readouterr().out
    assert cell_len(line[: line.index("(runs.json")]) == 7 + max(32, cell_len(name)) + 2


def test_several_runs_are_told_by_case(capsys: pytest.CaptureFixture[str]) -> None:
    """At the end each case with several runs has a line, and below it how often which check did not hold."""
    from tracewitness.reports.counting import Counts

    console, counts = ConsoleReport(quiet=True), Counts()
    for run in entries(("order", WRONG), ("order", GOOD), ("order", WRONG), ("other", GOOD), ("other", GOOD)):
        console.run(run)
        counts.add(run)
    console.finish(counts.entry(1), ())
    assert capsys.readouterr().out.splitlines()[-4:] == [
        "order: 1/3 held",
        "    not held in 2 of 3: tool_called create_order",
        "other: 2/2 held",
        "3 runs held, 2 broken",
    ]


@pytest.mark.parametrize("hostile", HOSTILE)
def test_hostile_texts_are_visible(capsys: pytest.CaptureFixture[str], hostile: str) -> None:
    """Nothing moves the cursor, colours the text or turns a line round."""
    console = ConsoleReport(color=False)
    for run in entries((hostile, [{"call": hostile, "args": {"item_id": hostile}}]), ("order", WRONG)):
        console.run(run)
    assert is_visible(capsys.readouterr().out)


def on_a_terminal(folder: Path, columns: int, *arguments: str) -> str:
    """Run the command line on a terminal of that width, and return what it shows."""
    main_end, other_end = os.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "tracewitness", *arguments],
        cwd=folder,
        stdout=other_end,
        stderr=other_end,
        env={**os.environ, "COLUMNS": str(columns), "TERM": "xterm-256color", "NO_COLOR": "1"},
    )
    process.wait()
    os.close(other_end)
    shown = b""
    while True:
        try:
            chunk = os.read(main_end, 65536)
        except OSError:  # its other end was closed
            break
        if not chunk:
            break
        shown += chunk
    os.close(main_end)
    return shown.decode()


def test_sixty_columns(tmp_path: Path) -> None:
    """On a narrow terminal no line is too long, and what is wrapped stands under its beginning."""
    (tmp_path / "suite.evals.yaml").write_text(SUITE.replace("the customer wants it", "注文 " * 30), "utf-8")
    write_rows(tmp_path / "runs.json", ("order", WRONG))
    lines = on_a_terminal(tmp_path, 60, "check", "suite.evals.yaml", "runs.json").splitlines()
    assert max(map(cell_len, lines)) <= 60
    start = next(index for index, line in enumerate(lines) if "create_order was called once" in line)
    assert lines[start : start + 2] == [
        "        create_order was called once, none with matching",
        "        arguments, expected at least 1",
    ]
    reason = [line for line in lines if "注文" in line]
    assert len(reason) > 2
    assert all(line.startswith("        ") and cell_len(line) <= 60 for line in reason)


def test_without_a_terminal_each_line_is_whole(tmp_path: Path) -> None:
    """Who greps finds what belongs together on one line, whatever the width is."""
    (tmp_path / "suite.evals.yaml").write_text(SUITE, "utf-8")
    write_rows(tmp_path / "runs.json", ("order", WRONG))
    command = [sys.executable, "-m", "tracewitness", "check", "suite.evals.yaml", "runs.json"]
    environment = {**os.environ, "COLUMNS": "60"}
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, env=environment)
    assert "create_order was called once, none with matching arguments, expected at least 1" in done.stdout


@given(text=st.text(st.characters(exclude_categories=["C"]), max_size=60), width=st.integers(6, 40))
def test_wrapping_loses_nothing(text: str, width: int) -> None:
    """All that is not space is there in its order, and no line is wider than it may be."""
    lines = wrapped(text, width, 4)
    assert re.sub(r" ", "", "".join(lines)) == re.sub(r" ", "", text)
    assert all(cells(line) <= max(width - 4, 2) for line in lines)


@given(text=st.text(st.characters(exclude_categories=["C"]), max_size=20))
def test_padding(text: str) -> None:
    """A padded text takes just the columns that were asked for, where it is not wider."""
    assert cells(padded(text, 60)) == max(60, cells(text))
