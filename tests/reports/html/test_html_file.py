"""What is written: a whole file or none, from documents that are what they should be."""

from __future__ import annotations

import base64
import gzip
import json
import os
import re
import stat
from pathlib import Path
from typing import Any

import msgspec
import pytest
from report_documents import case_run, demo_document, document_of, earlier_documents, order_run, verdict

from tracewitness import UsageError
from tracewitness.reports.document import ReportDocument
from tracewitness.reports.html import HtmlReport, write_html

HEAD = {"version": 2, "tracewitness": "1", "suite": "s", "command": "check", "created_at": "2026-01-01T00:00:00Z"}
SUMMARY = document_of([])["summary"]


def element(path: Path, name: str) -> str:
    """Return what stands in an element of a page."""
    found = re.search(rf'<script type="[a-z/]*" id="{name}">([^<]*)</script>', path.read_text("utf-8"))
    assert found is not None
    return found[1]


def unpacked(path: Path, name: str) -> str:
    """Return packed data of a page."""
    return gzip.decompress(base64.b64decode(element(path, name))).decode()


def test_the_data_of_a_page(tmp_path: Path) -> None:
    """It has an overview, an index of columns, and the runs, one in a line, with how their events are understood."""
    path = tmp_path / "report.html"
    write_html(document_of([order_run(1), order_run(2)]), path)
    overview = json.loads(element(path, "report"))
    assert overview["results"]["outcomes"] == {"passed": 1, "failed": 1}
    assert overview["changes"] is None
    assert overview["tools"][0] == {"tool": "quote_shipping", "calls": 4, "errors": 2, "unanswered": 0, "runs": 2}
    index = json.loads(unpacked(path, "index"))
    assert index["count"] == 2
    assert index["columns"]["result"] == ["passed", "failed"]
    assert index["columns"]["checks"] == [[7, 7], [5, 7]]
    assert index["columns"]["finding"] == ["", "tool_called create_order; claim create_order"]
    first, second = map(json.loads, unpacked(path, "chunk-0").split("\n"))
    assert {key: second[key] for key in second if key != "read"}.keys() == order_run(2).keys()
    assert first["read"]["answers"] == {"6": 3, "7": 4, "8": 5, "10": 9, "15": 14}
    assert first["read"]["kinds"][:5] == ["system", "user", "agent", "call", "call"]
    assert first["read"]["turns"][:5] == [0, 1, 1, 1, 1]


def test_the_same_document_makes_the_same_page(tmp_path: Path) -> None:
    """Nothing of the time or the machine is in it, whether runs come as mappings, as entries or one by one."""
    document = demo_document()
    one, other, third = (tmp_path / name for name in ("one.html", "other.html", "third.html"))
    write_html(document, one, earlier=earlier_documents())
    earlier = [msgspec.convert(each, ReportDocument) for each in earlier_documents()]
    head = {name: value for name, value in document.items() if name not in ("runs", "summary", "notices")}
    with HtmlReport(other, head, earlier=earlier) as report:
        for run in document["runs"]:
            report.run(run)
        report.finish(document["summary"], document["notices"])
    assert one.read_bytes() == other.read_bytes()
    write_html(msgspec.convert(document, ReportDocument), third, earlier=earlier)
    for name in ("report", "index"):
        assert element(third, name) == element(one, name)
    runs = [json.loads(line) for path in (one, third) for line in unpacked(path, "chunk-0").split("\n")]
    assert runs[: len(runs) // 2] == runs[len(runs) // 2 :]


@pytest.mark.parametrize("levels", [150, 1_500, 50_000])
def test_depth(levels: int, tmp_path: Path) -> None:
    """What is nested deeper than anybody looks at is cut in the page, and says so; it makes no error."""
    deep: Any = "the bottom"
    for _ in range(levels):
        deep = {"in": deep}
    document = document_of([case_run("a", events=[{"call": "t", "args": deep}])])
    for each in (document, msgspec.convert(document, ReportDocument)):
        write_html(each, tmp_path / "report.html")
        text = unpacked(tmp_path / "report.html", "chunk-0")
        assert ("the bottom" in text) == (levels == 150)
        assert ("nested deeper than 200 levels" in text) == (levels > 150)


@pytest.mark.parametrize(
    ("before", "now", "expected"),
    [
        ([("a", True)], [("a", True)], {"same": 1}),
        ([("a", True)], [("a", False)], {"worse": ["a"]}),
        ([("a", False)], [("a", True)], {"better": ["a"]}),
        ([("a", True), ("a", False)], [("a", True), ("a", True), ("a", False), ("a", False)], {"same": 1}),
        ([("a", True)] * 3, [("a", True)] * 2 + [("a", False)], {"worse": ["a"]}),
        ([("a", True)], [("b", True)], {"new": ["b"], "vanished": ["a"]}),
        ([("a", True)], [("a", None)], {"same": 1}),
        ([("a", None)], [("a", False)], {"same": 1}),
        ([], [("a", False)], {"new": ["a"]}),
    ],
)
def test_changes(before: list[Any], now: list[Any], expected: dict[str, Any], tmp_path: Path) -> None:
    """Cases are compared by the share of their decided runs that passed; what was not decided says nothing."""

    def document(runs: list[Any]) -> dict[str, Any]:
        outcomes = {True: "passed", False: "failed", None: "infrastructure"}
        return document_of([case_run(name, number + 1, outcome=outcomes[ok]) for number, (name, ok) in enumerate(runs)])

    write_html(document(now), tmp_path / "report.html", earlier=[document(before)])
    changes = json.loads(element(tmp_path / "report.html", "report"))["changes"]
    found = {
        kind: [each if isinstance(each, str) else each["case"] for each in entries]
        for kind, entries in changes.items()
        if kind != "same" and entries
    }
    assert found | ({"same": changes["same"]} if changes["same"] else {}) == expected


def test_which_checks_changed(tmp_path: Path) -> None:
    """A case that became worse says which checks are newly broken."""
    before = document_of([case_run("a", verdicts=[verdict("claim"), verdict("max_calls", "broken")])])
    now = document_of([case_run("a", verdicts=[verdict("claim", "broken"), verdict("max_calls", "broken")])])
    now["runs"].append(case_run("b"))
    held = document_of([case_run("a", outcome="passed", verdicts=before["runs"][0]["verdicts"])])
    write_html(now, tmp_path / "report.html", earlier=[before, held])
    (change,) = json.loads(element(tmp_path / "report.html", "report"))["changes"]["worse"]
    assert (change["before"], change["now"]) == ([1, 1], [0, 1])
    assert change["newly_broken"] == ["claim create_order"]
    assert change["no_longer_broken"] == []


@pytest.mark.parametrize(
    ("run", "says"),
    [
        ({"name": 1}, "Expected `str`, got `int` - at `$.name`"),
        ({"events": {"user": "x"}}, "Expected `array | null`, got `object` - at `$.events`"),
        ({"outcome": "splendid"}, "Invalid enum value 'splendid' - at `$.outcome`"),
        ({"verdicts": [{"operator": "claim"}]}, "missing required field `label`"),
        ({"tags": ["a", 1]}, "at `$.tags[1]`"),
    ],
)
def test_what_is_no_run(run: dict[str, Any], says: str, tmp_path: Path) -> None:
    """It is refused by name, and no file is left."""
    with pytest.raises(UsageError) as caught:
        write_html(document_of([]) | {"runs": [case_run("a") | run]}, tmp_path / "report.html")
    assert "is not of the form that `--json` writes" in str(caught.value)
    assert says.replace("`$.", "`$.runs[0].") in str(caught.value)
    with (
        HtmlReport(tmp_path / "report.html", HEAD) as report,
        pytest.raises(UsageError, match="a run of the report") as caught,
    ):
        report.run(case_run("a") | run)
    assert says in str(caught.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("document", [None, [], {}, {"version": 1, "runs": []}, document_of([]) | {"version": 3}])
def test_what_is_no_document(document: Any, tmp_path: Path) -> None:
    """It is refused, also where it stands among the earlier ones."""
    with pytest.raises(UsageError, match="the report is not of the form"):
        write_html(document, tmp_path / "report.html")
    with pytest.raises(UsageError, match="an earlier report is not of the form"):
        write_html(document_of([]), tmp_path / "report.html", earlier=[document])
    assert list(tmp_path.iterdir()) == []


def test_what_is_not_completed_leaves_no_file(tmp_path: Path) -> None:
    """An older page stays as it was."""
    path = tmp_path / "report.html"
    path.write_text("older")
    with HtmlReport(path, HEAD) as report:
        report.run(case_run("a"))
    assert path.read_text() == "older"
    assert list(tmp_path.iterdir()) == [path]


def test_the_file(tmp_path: Path) -> None:
    """It replaces an older one when it is complete, as others may read it; inputs are not written over."""
    path = tmp_path / "report.html"
    path.write_text("older")
    with HtmlReport(path, HEAD) as report:
        report.finish(SUMMARY)
        assert "<!doctype html>" in path.read_text("utf-8")
    mask = os.umask(0)
    os.umask(mask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~mask
    with pytest.raises(UsageError, match="is being read"):
        HtmlReport(path, HEAD, inputs=[str(path)])
    with pytest.raises(UsageError, match="is a folder"):
        HtmlReport(tmp_path, HEAD)
    with pytest.raises(UsageError, match="can't be written"):
        write_html(document_of([]), tmp_path / "no" / "report.html")


def test_values_that_json_does_not_have(tmp_path: Path) -> None:
    """They reach the page marked, so that nothing is rounded, lost or taken for something else."""
    args = {
        "nan": float("nan"),
        "big": 2**60,
        "list": [float("inf")],
        "text": "\0mark",
        "lone": "\ud83d",
        "\udc00": 1.5,
    }
    write_html(document_of([case_run("a", events=[{"call": "t", "args": args}])]), tmp_path / "report.html")
    (event,) = json.loads(unpacked(tmp_path / "report.html", "chunk-0"))["events"]
    marked = {
        "nan": "\0NaN",
        "big": f"\0{2**60}",
        "list": ["\0Infinity"],
        "text": "\0\0mark",
        "lone": "\ud83d",
        "\udc00": 1.5,
    }
    assert event["args"] == marked


def test_the_parts_are_in_the_package() -> None:
    """Every file of the page is used, so that none is forgotten."""
    from tracewitness.reports.html import page

    folder = Path(page.__file__).parent / "static"
    used = {f"{name}.css" for name in page._STYLES} | {f"{name}.js" for name in page._SCRIPTS} | {"page.html"}
    assert {each.name for each in folder.iterdir()} == used
