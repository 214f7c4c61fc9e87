"""CSV: rows as RFC 4180 has them, one a check, and no cell is a formula."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from msgspec import structs
from report_support import GOOD, HOSTILE, WRONG, entries, is_visible

from tracewitness.reports.counting import Counts
from tracewitness.reports.csv_file import CsvReport
from tracewitness.reports.document import RunEntry
from tracewitness.reports.listening import new_head
from tracewitness.reports.output import OutputFile


def written(path: Path, *runs: RunEntry, missing: tuple[str, ...] = ()) -> tuple[str, list[dict[str, str]]]:
    """Return runs as CSV, and what a reader makes of it."""
    with CsvReport(OutputFile(str(path)), new_head("suite.evals.yaml", "check")) as report:
        for run in runs:
            report.run(run)
        report.finish(Counts().entry(1, missing=missing), ())
    text = path.read_bytes().decode("utf-8")
    return text, list(csv.DictReader(io.StringIO(text, newline=""), strict=True))


def test_one_row_a_check(tmp_path: Path) -> None:
    """Each row has its run, its check and what came of it."""
    text, rows = written(tmp_path / "checks.csv", *entries(("order", GOOD), ("order", WRONG)), missing=("refund",))
    assert [(row["case"], row["run"], row["check"], row["status"]) for row in rows] == [
        ("order", "1", "tool_called create_order", "held"),
        ("order", "1", "nothing is cancelled", "held"),
        ("order", "1", "trace_parsed", "held"),
        ("order", "2", "tool_called create_order", "broken"),
        ("order", "2", "nothing is cancelled", "held"),
        ("order", "2", "trace_parsed", "held"),
        ("refund", "", "", ""),
    ]
    broken = rows[3]
    assert broken["nearest"] == "args.item_id: expected 'ITEM-42', got 'ITEM-24'"
    assert (broken["file"], broken["line"], broken["tools"]) == ("suite.evals.yaml", "6", "create_order")
    assert rows[-1]["outcome"] == "missing"
    assert text.count("\r\n") == text.count("\n") == 8


def test_a_run_without_checks_has_a_row(tmp_path: Path) -> None:
    """What could not be read is not lost."""
    (run,) = entries(("order", GOOD))
    _, (row,) = written(tmp_path / "c.csv", structs.replace(run, verdicts=(), outcome="unreadable", error="torn"))
    assert (row["outcome"], row["error"], row["status"]) == ("unreadable", "torn", "")


@pytest.mark.parametrize("hostile", HOSTILE)
def test_no_cell_is_a_formula(tmp_path: Path, hostile: str) -> None:
    """Cells that a spreadsheet would evaluate begin with an apostrophe; rows and columns stay what they are."""
    (run,) = entries(("order", WRONG))
    verdict = structs.replace(run.verdicts[0], justification=hostile, label=hostile, tools=(hostile, hostile))
    run = structs.replace(run, name=hostile, error=hostile, source=hostile, verdicts=(verdict,))
    text, rows = written(tmp_path / "c.csv", run, missing=(hostile,))
    assert len(rows) == 2
    assert is_visible(text.replace("\r\n", "\n"))
    for cell in (cell for row in rows for cell in row.values()):
        assert not cell.lstrip().startswith(("=", "+", "-", "@", "\t", "\r"))
