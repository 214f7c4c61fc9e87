"""What the tests of reports share: hostile texts, and small reports."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tracewitness.cli import main
from tracewitness.evals import SuiteCheck
from tracewitness.readers import Run
from tracewitness.redaction import Redaction
from tracewitness.reports.document import RunEntry
from tracewitness.reports.entries import run_entry
from tracewitness.suites import parse_suite
from tracewitness.trace import Trace

SUITE = """
evals:
  - name: order
    tags: [P0]
    tool_expectations:
      - {type: tool_called, tool: create_order, args: {item_id: ITEM-42}, reason: the customer wants it}
      - {type: tool_not_called, tool: cancel_order, name: nothing is cancelled}
"""

GOOD: list[Any] = [
    {"user": "ITEM-42, please"},
    {"call": "create_order", "args": {"item_id": "ITEM-42"}, "id": "c1"},
    {"result": {"status": "confirmed"}, "id": "c1"},
    {"agent": "Done."},
]
WRONG: list[Any] = [
    {"user": "ITEM-42, please"},
    {"call": "create_order", "args": {"item_id": "ITEM-24"}, "id": "c1"},
    {"result": {"status": "confirmed"}, "id": "c1"},
]

#: What tries to be more than text, in a terminal, in markup, in a spreadsheet or to a server that reads output.
HOSTILE: tuple[str, ...] = (
    "\x1b[2J\x1b[31mred",
    "\u202eevil\u2066\u200f",
    "a\r\n::error file=x::forged",
    "::set-output name=x::y",
    "##[add-mask]x",
    "<script>alert(1)</script>",
    "</failure><testcase name='forged'/>",
    "]]><![CDATA[",
    "&lt;b&gt; &amp; &#60;",
    "| a | b |\n| --- | --- |",
    "`code` ``` fence ~~~",
    "@octocat and #1 and https://example.com www.example.com",
    "![image](https://example.com/x.png) [link](javascript:alert(1))",
    "# heading\n- item\n> quote\n\n---",
    "**bold** _under_ ~~gone~~ $math$ \\",
    '=HYPERLINK("http://example.com")',
    "+1+1",
    "-2+3",
    "@SUM(A1)",
    "\t=1",
    "\r=1",
    "  =1",
    'quote " comma , semicolon ;',
    "\x00\x08\x0b\ufffe\uffff",
    "\ud800 alone",
    "\U0001d4b3 emoji 👩‍👩‍👧 e\u0301 注文",
    "%0A%25 100%",
    "x" * 5000,
)


class Answer(NamedTuple):
    """What a command did."""

    status: int
    out: str
    err: str


def command(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], *arguments: str) -> Answer:
    """Run the command line."""
    monkeypatch.setattr(sys, "argv", ["tracewitness", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    out, err = capfd.readouterr()
    assert "Traceback (most recent" not in out + err
    return Answer(ended.value.code if isinstance(ended.value.code, int) else 0, out, err)


def write_rows(path: str | Path, *runs: tuple[str, Sequence[Any]]) -> None:
    """Write rows in neutral form."""
    rows = [{"name": name, "events": list(events)} for name, events in runs]
    Path(path).write_text(json.dumps(rows), "utf-8")


def entries(*runs: tuple[str, Sequence[Any]], suite: str = SUITE, redaction: Redaction | None = None) -> list[RunEntry]:
    """Return what comes of runs, checked against a suite, as entries of the report document."""
    loaded = parse_suite(suite, "suite.evals.yaml")
    made = [
        Run("runs.json", n, f"row {n}", name, Trace.from_events(events, name=name))
        for n, (name, events) in enumerate(runs, 1)
    ]
    checking = SuiteCheck(loaded, allow_missing=True)
    hiding = Redaction() if redaction is None else redaction
    return [run_entry(report, hiding, loaded.source) for report in checking.reports(made)]


def is_visible(text: str) -> bool:
    """Whether nothing in a text of several lines moves the cursor or turns a line round."""
    return all(character.isprintable() or character == "\n" for character in text)
