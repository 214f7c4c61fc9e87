"""Markdown: what a renderer makes of it has no markup but ours, and it stays within what GitHub takes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import unescape
from pathlib import Path

import pytest
from markdown_it import MarkdownIt
from msgspec import structs
from report_support import GOOD, HOSTILE, WRONG, entries, is_visible

from tracewitness.display import printable
from tracewitness.reports.counting import Counts
from tracewitness.reports.document import JudgedEntry, RunEntry
from tracewitness.reports.listening import new_head
from tracewitness.reports.markdown import MOST_BYTES, MarkdownReport, MarkdownText, code
from tracewitness.reports.output import OutputFile

#: As GitHub renders it: CommonMark with tables and strikethrough, and HTML that is let through.
RENDER = MarkdownIt("commonmark").enable(["table", "strikethrough"])
OURS = {"h2", "h3", "p", "code", "table", "thead", "tbody", "tr", "th", "td", "ul", "li", "strong"}


def text_of(runs: Sequence[RunEntry], *, missing: tuple[str, ...] = (), notices: tuple[str, ...] = ()) -> str:
    """Return runs as Markdown."""
    text, counts = MarkdownText(new_head("suite.evals.yaml", "check")), Counts()
    for run in runs:
        counts.add(run)
        text.run(run)
    failed = any(run.outcome != "passed" for run in runs)
    return text.text(counts.entry(1 if failed else 0, missing=missing), notices)


def tags_of(markdown: str) -> set[str]:
    return set(re.findall(r"</?([a-z0-9]+)", RENDER.render(markdown)))


def test_what_is_shown(tmp_path: Path) -> None:
    """Counts, a table of cases with what did not pass first, and each broken check."""
    runs = entries(("order", GOOD), ("order", WRONG), ("other", GOOD))
    path = tmp_path / "summary.md"
    counts = Counts()
    with MarkdownReport(OutputFile(str(path)), new_head("suite.evals.yaml", "check")) as report:
        for run in runs:
            counts.add(run)
            report.run(run)
        report.finish(counts.entry(1, missing=("refund",), not_selected=2), ("a key of another tool",))
    assert path.read_text("utf-8").splitlines() == [
        "## tracewitness: ❌ 2 of 3 runs passed, 1 failed, 1 case without a run",
        "",
        "<code>suite.evals.yaml</code>",
        "",
        "| case | passed | failed | other | tool checks held |",
        "| --- | ---: | ---: | ---: | ---: |",
        "| <code>refund</code> | no run | | | |",
        "| <code>order</code> | 1/2 | 1 |  | 1/2 |",
        "| <code>other</code> | 1/1 | 0 |  | 1/1 |",
        "",
        "### Not passed",
        "",
        "- **failed** <code>order</code>, run 2 <code>runs.json, row 2</code>",
        "  - **broken** <code>tool&#95;called create&#95;order</code> <code>suite.evals.yaml&#58;6</code>",
        "    - <code>create&#95;order was called once, none with matching arguments, expected at least 1</code>",
        "    - nearest, at event 1: <code>args.item&#95;id&#58; expected 'ITEM-42', got 'ITEM-24'</code>",
        "    - reason: <code>the customer wants it</code>",
        "",
        "- <code>2 runs not selected</code>",
        "- <code>a key of another tool</code>",
    ]


def test_all_is_well() -> None:
    """Where all passed there is nothing but counts."""
    text = text_of(entries(("order", GOOD)))
    assert text.startswith("## tracewitness: ✅ 1 of 1 run passed\n")
    assert "Not passed" not in text


@pytest.mark.parametrize("hostile", HOSTILE)
def test_code_shows_a_text_and_nothing_else(hostile: str) -> None:
    """In a paragraph, a list and a table's cell a renderer shows just the text, as code."""
    shown = code(hostile)
    if not printable(hostile, 600).strip():
        return
    for around, tags in (("{}", {"p"}), ("- {}", {"ul", "li"}), ("| a |\n| --- |\n| {} |", OURS - {"p"})):
        html = RENDER.render(around.format(shown))
        assert set(re.findall(r"</?([a-z0-9]+)", html)) <= tags | {"code"}
        (inner,) = re.findall(r"<code>(.*?)</code>", html, re.DOTALL)
        assert unescape(inner) == printable(hostile, 600)


@pytest.mark.parametrize("hostile", HOSTILE)
def test_hostile_traces_are_no_markup(hostile: str) -> None:
    """Names, arguments, errors and a judge's words are shown as text wherever they stand."""
    (run,) = entries((hostile, [{"call": hostile, "args": {"item_id": hostile}}]))
    broken = structs.replace(entries(("order", WRONG))[0], name=hostile, case=hostile, source=hostile)
    judged = structs.replace(broken, judged=(JudgedEntry(hostile, "Not Met", hostile),))
    failed = structs.replace(broken, outcome="unreadable", error=hostile)
    text = text_of([run, broken, judged, failed], missing=(hostile,), notices=(hostile,))
    assert tags_of(text) <= OURS
    assert is_visible(text)
    outside = re.sub(r"<code>.*?</code>", "", text)
    assert "@" not in outside
    assert "http" not in outside


def test_it_stays_within_what_github_takes() -> None:
    """What there is no room for is counted, the table is never all of it, and not one byte is too many."""
    (run,) = entries(("order", WRONG))
    runs = [structs.replace(run, case=f"case {number} {'注' * 100}") for number in range(12_000)]
    text = text_of(runs)
    assert len(text.encode()) <= MOST_BYTES
    assert len(text.encode()) > MOST_BYTES * 0.8
    kept = text.count("- **failed**")
    assert f"… and {12_000 - kept} more" in text
    assert kept > 100
    rows = text.count("\n| <code>")
    assert f"| … | and {12_000 - rows} more cases | | | |" in text


@pytest.mark.parametrize("limit", [0, 10, 300, 5000])
def test_any_limit_is_kept(limit: int) -> None:
    """Also one that hardly leaves room for the counts."""
    text, counts = MarkdownText(new_head("suite.evals.yaml", "check")), Counts()
    for run in entries(*[("order", WRONG)] * 40):
        counts.add(run)
        text.run(run)
    assert len(text.text(counts.entry(1), ("note",) * 50, limit).encode()) <= limit
