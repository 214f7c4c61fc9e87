"""The report document: valid by the published schema, strict JSON, and read again as it was written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from report_support import GOOD, HOSTILE, SUITE, WRONG, Answer, command, entries, write_rows

from tracewitness import ReadError, Trace
from tracewitness.redaction import Redaction
from tracewitness.reports.comparison import comparison_schema
from tracewitness.reports.document import ReportDocument, RunEntry, report_schema
from tracewitness.reports.json_file import json_line
from tracewitness.reports.reading import read_document

#: A row of a simulation with all that a row may tell.
ROW: dict[str, Any] = {
    "name": "order",
    "run": 3,
    "passed": False,
    "outcome": "failed",
    "turns": 2,
    "duration_s": 1.5,
    "session_id": "s-1",
    "trace": GOOD,
    "step_details": [{"goal": "Order", "success_criteria": "It is", "status": "Completed", "justification": "yes"}],
    "expectation_details": [
        {
            "title": "Polite",
            "expectation": "is polite",
            "status": "Not Met",
            "justification": "rude",
            "votes": {"met": 1},
        },
        {"operator": "tool_called", "expectation": "[tool] tool_called x", "status": "Met", "justification": "so"},
    ],
    "usage": {"requests": 2, "cost": None},
}


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Any:
    monkeypatch.chdir(tmp_path)
    Path("suite.evals.yaml").write_text(SUITE, "utf-8")

    def call(*arguments: str) -> Answer:
        return command(monkeypatch, capfd, *arguments)

    return call


def test_what_is_written_is_valid(run: Any) -> None:
    """`--json` writes what `tracewitness schema --of report` describes."""
    rows = [{"name": "order", "events": GOOD}, {"name": "order", "events": WRONG}, ROW, {"name": "order", "error": "x"}]
    Path("rows.json").write_text(json.dumps([*rows, 5]), "utf-8")
    assert run("check", "suite.evals.yaml", "rows.json", "--json", "report.json").status == 2
    document = json.loads(Path("report.json").read_text("utf-8"))
    schema = json.loads(run("schema", "--of", "report").out)
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.Draft202012Validator(schema).validate(document)
    assert [each["outcome"] for each in document["runs"]] == ["passed", "failed", "passed", "failed", "unreadable"]
    assert [each["run"] for each in document["runs"]] == [1, 2, 3, 4, 1]
    assert document["command"] == "check"
    assert document["summary"]["checks"] == 12
    told = document["runs"][2]
    assert (told["turns"], told["duration_s"], told["session_id"]) == (2, 1.5, "s-1")
    assert told["judged"] == [
        {
            "expectation": "is polite",
            "status": "Not Met",
            "justification": "rude",
            "title": "Polite",
            "votes": {"met": 1},
        }
    ]
    assert [step["goal"] for step in told["steps"]] == ["Order"]
    assert told["tags"] == ["P0"]
    assert document["runs"][4]["events"] is None


@pytest.mark.parametrize("schema", [report_schema(), comparison_schema()])
def test_schemas_are_schemas(schema: dict[str, Any]) -> None:
    """Both are of draft 2020-12, and refuse what is of another form."""
    jsonschema.Draft202012Validator.check_schema(schema)
    assert not jsonschema.Draft202012Validator(schema).is_valid({"version": 1})


def test_verdicts_point_at_events_and_lines() -> None:
    """Evidence and the nearest miss are positions among the events; the place is that in the eval file."""
    good, wrong = entries(("order", GOOD), ("order", WRONG))
    assert good.events is not None
    assert [good.events[position] for position in good.verdicts[0].evidence] == [GOOD[1]]
    broken = wrong.verdicts[0]
    assert (broken.file, broken.line, broken.column, broken.tools) == ("suite.evals.yaml", 6, 9, ("create_order",))
    assert broken.near_miss is not None
    assert broken.near_miss.position == 1
    (difference,) = broken.near_miss.differences
    assert (difference.path, difference.expected, difference.actual) == ("args.item_id", "ITEM-42", "ITEM-24")
    added = wrong.verdicts[-1]
    assert (added.operator, added.file, added.line) == ("trace_parsed", None, None)


def test_a_missing_value_is_left_out() -> None:
    """What is not there has no stand-in that could be taken for a value."""
    (entry,) = entries(("order", [{"call": "create_order", "args": {}}]))
    near = entry.verdicts[0].near_miss
    assert near is not None
    assert "actual" not in msgspec.to_builtins(near)["differences"][0]


def test_brief_entries_have_what_the_terminal_needs() -> None:
    """Without a file to write, neither events nor the words of what held are made."""
    from tracewitness.evals import SuiteCheck
    from tracewitness.readers import Run
    from tracewitness.reports.entries import Entries
    from tracewitness.suites import parse_suite

    checking = SuiteCheck(parse_suite(SUITE, "s.yaml"))
    (report,) = checking.reports([Run("r", 1, "", "order", Trace.from_events(WRONG))])
    brief, full = (Entries(Redaction(), "s.yaml", in_full=each).run(report) for each in (False, True))
    assert brief.events is None
    assert full.events == WRONG
    assert [bool(each.justification) for each in brief.verdicts] == [not each.held for each in full.verdicts]
    assert brief.verdicts[0] == full.verdicts[0]


@pytest.mark.parametrize("hostile", HOSTILE)
def test_hostile_texts_stay_within_their_line(hostile: str) -> None:
    """Whatever a trace holds, a run is one printable line of JSON that says what stood there."""
    events = [{"call": "create_order", "args": {"item_id": hostile, hostile: [hostile]}}, {"user": hostile}]
    (entry,) = entries(("order", events), redaction=Redaction.none())
    line = json_line(entry)
    assert line.isprintable()
    said = json.loads(line)["events"][1]["user"]
    assert said == hostile.encode("utf-8", "backslashreplace").decode("utf-8")
    assert msgspec.json.decode(line, type=RunEntry) == entry


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(), max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(args=st.dictionaries(st.text(st.characters(), max_size=6), _JSON, max_size=4), result=_JSON, raw=_JSON)
def test_any_event_can_be_written_and_read_again(args: dict[str, Any], result: Any, raw: Any) -> None:
    """No value of a trace keeps a report from being written, or read."""
    (entry,) = entries(("order", [{"call": "create_order", "args": args}, {"result": result}, raw]))
    assert msgspec.json.decode(json_line(entry), type=RunEntry) == entry
    assert entry.events is not None
    assert len(entry.events) == 3


def test_numbers_that_json_can_not_hold_are_texts() -> None:
    """NaN and numbers that readers can't hold are shown as texts."""
    events = [{"call": "create_order", "args": {"nan": float("nan"), "huge": 10**40, "deep": [[float("inf")]]}}]
    (entry,) = entries(("order", events))
    assert entry.events == [{"call": "create_order", "args": {"nan": "nan", "huge": str(10**40), "deep": [["inf"]]}}]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (
            '{"version": 1, "tracewitness": "0.1.0", "suite": "s", "runs": []}',
            "a report in version 1; version 2 is read",
        ),
        ('{"version": 3, "tracewitness": "9", "runs": []}', "a report in version 3; version 2 is read"),
        ('{"tracewitness": "9", "runs": []}', "a report without a version; version 2 is read"),
        ('{"version": 2, "tracewitness": "9", "runs": []}', "is not of the form that `--json` writes"),
        ('{"version": 2, "tracewitness": "9", "runs": [{"status": "\\u001b"}]}', "is not of the form"),
    ],
)
def test_documents_that_can_not_be_used(tmp_path: Path, content: str, said: str) -> None:
    """Another version, or one that was torn or changed, is refused with what was expected."""
    path = tmp_path / "report.json"
    path.write_text(content, "utf-8")
    with pytest.raises(ReadError, match=said):
        read_document(str(path))


@pytest.mark.parametrize(
    "content", ["", "[", "[]", "5", '{"results": []}', '{"tracewitness": "x"}', "\xff", "[" * 9999]
)
def test_what_is_no_document(tmp_path: Path, content: str) -> None:
    """Anything else is left to what reads recordings."""
    path = tmp_path / "other.json"
    path.write_text(content, "latin-1")
    assert read_document(str(path)) is None
    assert read_document(str(tmp_path / "none.json")) is None


def test_a_document_is_read_as_it_was_written(run: Any) -> None:
    """Reading and writing again changes nothing."""
    write_rows("rows.json", ("order", GOOD), ("order", WRONG))
    run("check", "suite.evals.yaml", "rows.json", "--json", "report.json")
    document = read_document("report.json")
    assert isinstance(document, ReportDocument)
    assert run("report", "report.json", "--as", "json").out == Path("report.json").read_text("utf-8")
