"""For GitHub: annotations at the lines of the eval file, and nothing of a trace is a command."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest
from msgspec import structs
from report_support import GOOD, HOSTILE, WRONG, entries

from tracewitness import UsageError
from tracewitness.reports.counting import Counts
from tracewitness.reports.document import RunEntry
from tracewitness.reports.github import GithubReport, annotation
from tracewitness.reports.listening import new_head
from tracewitness.reports.markdown import MOST_BYTES


def told(runs: list[RunEntry], summary: Path | None = None, missing: tuple[str, ...] = ()) -> list[str]:
    """Return the lines that are printed."""
    stream, counts = io.StringIO(), Counts()
    with GithubReport(new_head("suite.evals.yaml", "check"), stream, summary and str(summary)) as report:
        for run in runs:
            counts.add(run)
            report.run(run)
        report.finish(counts.entry(1, missing=missing), ())
    return stream.getvalue().splitlines()


def test_annotations() -> None:
    """A check that breaks in several runs is annotated once, at its line, with how often."""
    lines = told(entries(("order", WRONG), ("order", GOOD), ("order", WRONG)), missing=("refund",))
    token = lines[0].removeprefix("::stop-commands::")
    assert re.fullmatch(r"[0-9a-f]{32}", token)
    assert lines[1:] == [
        f"::{token}::",
        "::error file=suite.evals.yaml,line=6,col=9,title=order%3A tool_called create_order::broken in 2 of 3 runs: "
        "create_order was called once, none with matching arguments, expected at least 1",
        "::error title=refund::no run of this case was found",
    ]


def test_what_has_no_line() -> None:
    """A run that could not be read is annotated by its name."""
    (run,) = entries(("order", GOOD))
    lines = told([structs.replace(run, verdicts=(), outcome="unreadable", error="torn")])
    assert lines[-1] == "::error title=order%2C run 1::unreadable: torn"


def test_their_number_is_bounded() -> None:
    """GitHub shows ten; the last says how many there are beyond."""
    (run,) = entries(("order", WRONG))
    runs = [structs.replace(run, case=f"case {number}") for number in range(40)]
    errors = [line for line in told(runs) if line.startswith("::error")]
    assert len(errors) == 10
    assert errors[-1] == "::error title=tracewitness::31 more findings; the report has all"
    unreadable = [structs.replace(run, verdicts=(), outcome="unreadable") for _ in range(5000)]
    assert "4991 more findings" in told(unreadable)[-1]


@pytest.mark.parametrize("hostile", HOSTILE)
def test_nothing_of_a_trace_is_a_command(hostile: str) -> None:
    """Each command is one line, and its properties and text end where they should."""
    line = annotation(hostile, hostile, hostile, 3, 1)
    assert line.isprintable()
    command = re.fullmatch(r"::error file=([^:,]*),line=3,col=1,title=([^:,]*)::(.*)", line)
    assert command is not None
    assert not re.search(r"%(?!25|0D|0A|3A|2C)", line)
    (run,) = entries(("order", WRONG))
    lines = told([structs.replace(run, case=hostile, name=hostile)])
    assert [each.startswith("::error ") for each in lines] == [False, False, True]


def test_the_summary_is_appended_to(tmp_path: Path) -> None:
    """What other steps wrote stays, and the whole is never more than GitHub takes."""
    path = tmp_path / "summary.md"
    path.write_text("before\n", "utf-8")
    told(entries(("order", WRONG)), path)
    assert path.read_text("utf-8").startswith("before\n## tracewitness: ❌ 0 of 1 run passed, 1 failed")
    path.write_bytes(b"x" * (MOST_BYTES - 100))
    told(entries(("order", WRONG)), path)
    assert path.stat().st_size <= MOST_BYTES
    path.write_bytes(b"x" * (MOST_BYTES + 5))
    told(entries(("order", WRONG)), path)
    assert path.stat().st_size == MOST_BYTES + 5


def test_a_summary_that_can_not_be_written(tmp_path: Path) -> None:
    """It is an error before the first run."""
    with pytest.raises(UsageError, match="GITHUB_STEP_SUMMARY"):
        told([], tmp_path / "none" / "summary.md")


def test_commands_are_taken_again_after_an_error() -> None:
    """Where the command fails, GitHub is told so too."""
    stream = io.StringIO()
    with pytest.raises(KeyError), GithubReport(new_head("s", "check"), stream):
        raise KeyError
    first, last = stream.getvalue().splitlines()
    assert last == f"::{first.removeprefix('::stop-commands::')}::"
