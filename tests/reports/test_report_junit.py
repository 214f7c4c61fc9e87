"""JUnit XML: valid by the form that servers read, with right counts, and nothing of a trace is markup."""

from __future__ import annotations

from io import StringIO
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import xmlschema
from msgspec import structs
from report_support import GOOD, HOSTILE, WRONG, entries

from tracewitness.reports.counting import Counts
from tracewitness.reports.document import JudgedEntry, RunEntry, StepEntry
from tracewitness.reports.junit import JunitReport
from tracewitness.reports.listening import new_head
from tracewitness.reports.output import OutputFile

#: The form of JUnit XML that Jenkins, GitLab and the reporters of GitHub read, in short and in our own words: what may
#: stand where, of which type, and what has to be there. What no report of ours has is left out.
FORM = """
<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" elementFormDefault="qualified">
  <xs:simpleType name="seconds">
    <xs:restriction base="xs:decimal"><xs:minInclusive value="0"/></xs:restriction>
  </xs:simpleType>
  <xs:simpleType name="count"><xs:restriction base="xs:nonNegativeInteger"/></xs:simpleType>
  <xs:simpleType name="moment">
    <xs:restriction base="xs:dateTime"><xs:pattern value="[0-9T:-]{19}"/></xs:restriction>
  </xs:simpleType>
  <xs:complexType name="outcome">
    <xs:simpleContent><xs:extension base="xs:string">
      <xs:attribute name="message" type="xs:string"/><xs:attribute name="type" type="xs:string"/>
    </xs:extension></xs:simpleContent>
  </xs:complexType>
  <xs:complexType name="property">
    <xs:attribute name="name" type="xs:string" use="required"/>
    <xs:attribute name="value" type="xs:string" use="required"/>
  </xs:complexType>
  <xs:element name="properties"><xs:complexType><xs:sequence>
    <xs:element name="property" type="property" maxOccurs="unbounded"/>
  </xs:sequence></xs:complexType></xs:element>
  <xs:element name="testcase"><xs:complexType>
    <xs:sequence>
      <xs:element ref="properties" minOccurs="0"/>
      <xs:choice minOccurs="0">
        <xs:element name="skipped" type="outcome"/><xs:element name="error" type="outcome"/>
        <xs:element name="failure" type="outcome"/>
      </xs:choice>
    </xs:sequence>
    <xs:attribute name="name" type="xs:string" use="required"/>
    <xs:attribute name="classname" type="xs:string" use="required"/>
    <xs:attribute name="time" type="seconds"/>
    <xs:attribute name="file" type="xs:string"/><xs:attribute name="line" type="xs:positiveInteger"/>
  </xs:complexType></xs:element>
  <xs:element name="testsuite"><xs:complexType>
    <xs:sequence>
      <xs:element ref="properties" minOccurs="0"/><xs:element ref="testcase" maxOccurs="unbounded"/>
    </xs:sequence>
    <xs:attribute name="name" type="xs:string" use="required"/>
    <xs:attribute name="tests" type="count" use="required"/>
    <xs:attribute name="failures" type="count" use="required"/>
    <xs:attribute name="errors" type="count" use="required"/>
    <xs:attribute name="skipped" type="count"/>
    <xs:attribute name="time" type="seconds"/><xs:attribute name="timestamp" type="moment"/>
  </xs:complexType></xs:element>
  <xs:element name="testsuites"><xs:complexType>
    <xs:sequence><xs:element ref="testsuite" maxOccurs="unbounded"/></xs:sequence>
    <xs:attribute name="name" type="xs:string"/><xs:attribute name="time" type="seconds"/>
    <xs:attribute name="tests" type="count"/><xs:attribute name="failures" type="count"/>
    <xs:attribute name="errors" type="count"/>
  </xs:complexType></xs:element>
</xs:schema>
"""


@pytest.fixture(scope="module")
def form() -> xmlschema.XMLSchema:
    return xmlschema.XMLSchema(StringIO(FORM))


@pytest.fixture
def written(tmp_path: Path, form: xmlschema.XMLSchema) -> Any:
    """Return a function that writes runs as XML, finds it valid with right counts, and returns its root."""

    def write(*runs: RunEntry, missing: tuple[str, ...] = ()) -> ElementTree.Element:
        path = tmp_path / "junit.xml"
        counts = Counts()
        with JunitReport(OutputFile(str(path)), new_head("suite.evals.yaml", "check")) as report:
            for run in runs:
                counts.add(run)
                report.run(run)
            report.finish(counts.entry(0, missing=missing), ())
        form.validate(str(path))
        root = ElementTree.fromstring(path.read_bytes())  # noqa: S314 - it was written a moment ago
        _check_counts(root)
        return root

    return write


def _check_counts(root: ElementTree.Element) -> None:
    for suite in root:
        tests = suite.findall("testcase")
        assert int(suite.attrib["tests"]) == len(tests)
        for kind, element in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
            assert int(suite.attrib[kind]) == sum(test.find(element) is not None for test in tests)
        names = [(test.attrib["classname"], test.attrib["name"]) for test in tests]
        assert len(set(names)) == len(names)
    for kind in ("tests", "failures", "errors"):
        assert int(root.attrib[kind]) == sum(int(suite.attrib[kind]) for suite in root)


def test_each_check_is_a_test(written: Any) -> None:
    """A case is a suite; a broken check fails at its line of the eval file, with the nearest miss."""
    root = written(*entries(("order", GOOD), ("order", WRONG)))
    (suite,) = root
    assert suite.attrib["name"] == "order"
    assert len(suite.findall("testcase")) == 6
    (failed,) = [test for test in suite.findall("testcase") if test.find("failure") is not None]
    assert failed.attrib["name"] == "tool_called create_order [run 2]"
    assert (failed.attrib["file"], failed.attrib["line"]) == ("suite.evals.yaml", "6")
    failure = failed.find("failure")
    assert failure is not None
    assert failure.attrib["message"].startswith("create_order was called once, none with matching arguments")
    assert "expected 'ITEM-42', got 'ITEM-24'" in (failure.text or "")
    assert "reason: the customer wants it" in (failure.text or "")
    told = {each.attrib["name"]: each.attrib["value"] for each in failed.iter("property")}
    assert told == {
        "operator": "tool_called",
        "tools": "create_order",
        "outcome": "failed",
        "source": "runs.json, row 2",
    }


def _as(outcome: str, **more: Any) -> RunEntry:
    (run,) = entries(("order", GOOD))
    return structs.replace(run, outcome=outcome, **more)


@pytest.mark.parametrize(
    ("run", "failures", "errors", "skipped"),
    [
        (_as("passed"), 0, 0, 0),
        (_as("unreadable", error="torn", verdicts=()), 0, 1, 0),
        (_as("infrastructure", error="no connection", verdicts=()), 0, 1, 0),
        (_as("failed", error="KeyError", traceback="Traceback\n  File", verdicts=()), 1, 0, 0),
        (_as("not_run", error="budget", verdicts=()), 0, 0, 1),
        (_as("inconclusive"), 0, 1, 0),
        (_as("failed"), 1, 0, 0),  # whatever made it fail, it does not pass in silence
        (_as("failed", steps=(StepEntry("Order", "", "In Progress", "no"),)), 1, 0, 0),
        (_as("failed", judged=(JudgedEntry("polite", "Not Met", "rude"),)), 1, 0, 0),
        (_as("inconclusive", judged=(JudgedEntry("polite", "No Verdict", ""),)), 0, 2, 0),
        (_as("passed", verdicts=()), 0, 0, 0),
    ],
)
def test_what_became_of_a_run(written: Any, run: RunEntry, failures: int, errors: int, skipped: int) -> None:
    """A run that did not pass has a test that says so."""
    (suite,) = written(run)
    assert [int(suite.attrib[kind]) for kind in ("failures", "errors", "skipped")] == [failures, errors, skipped]


def test_cases_without_a_run_fail(written: Any) -> None:
    """So does a report in which nothing was checked."""
    (suite,) = written(missing=("refund",))
    assert (suite.attrib["name"], suite.attrib["failures"]) == ("refund", "1")
    (nothing,) = written()
    assert nothing.attrib["errors"] == "1"


def test_checks_of_one_label_are_numbered(written: Any) -> None:
    """Servers know tests by their names, so that no two may have one."""
    (run,) = entries(("order", GOOD))
    (suite,) = written(structs.replace(run, verdicts=(*run.verdicts, *run.verdicts)))
    assert "tool_called create_order #2 [run 1]" in [test.attrib["name"] for test in suite.findall("testcase")]


@pytest.mark.parametrize("hostile", HOSTILE)
def test_hostile_texts_are_text(written: Any, hostile: str) -> None:
    """Nothing of a trace is an element, and what XML can't hold is made visible."""
    (run,) = entries((hostile, [{"call": "create_order", "args": {"item_id": hostile}}]))
    judged = (JudgedEntry(hostile, "Not Met", hostile),)
    broken = structs.replace(entries(("order", WRONG))[0], judged=judged, name=hostile, case=None, source=hostile)
    root = written(run, broken, structs.replace(broken, outcome="unreadable", error=hostile))
    assert {element.tag for element in root.iter()} <= {
        *("testsuites", "testsuite", "testcase", "properties", "property", "failure", "error"),
    }
    texts = [*(element.text or "" for element in root.iter()), *(v for e in root.iter() for v in e.attrib.values())]
    assert all(character.isprintable() or character == "\n" for text in texts for character in text)
