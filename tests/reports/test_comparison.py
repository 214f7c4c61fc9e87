"""Comparing reports: rates and what they mean, Fisher's test, what comes and goes, and which calls changed."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs
from report_support import GOOD, HOSTILE, WRONG, entries, is_visible
from scipy.stats import fisher_exact as scipy_fisher
from test_report_markdown import OURS, tags_of

from tracewitness import UsageError
from tracewitness.reports.comparison import Comparison, compare
from tracewitness.reports.comparison.console import comparison_lines
from tracewitness.reports.comparison.fisher import fisher_exact, least_p_value
from tracewitness.reports.comparison.writing import as_html, as_json, as_markdown
from tracewitness.reports.counting import Counts
from tracewitness.reports.document import JudgedEntry, ReportDocument, RunEntry, StepEntry
from tracewitness.reports.listening import new_head

COUNT = st.integers(0, 40)


@given(COUNT, COUNT, COUNT, COUNT)
def test_fisher_agrees_with_scipy(a: int, b: int, c: int, d: int) -> None:
    """On every table, up to what floating point makes of it."""
    if (a + b) * (c + d) == 0:
        assert fisher_exact(a, b, c, d) == 1
        return
    assert float(fisher_exact(a, b, c, d)) == pytest.approx(scipy_fisher([[a, b], [c, d]]).pvalue, rel=1e-9)


@given(COUNT, COUNT, COUNT, COUNT)
def test_fisher_is_the_same_from_each_side(a: int, b: int, c: int, d: int) -> None:
    """Which side is which, and what is called passed, changes nothing; it is a probability."""
    value = fisher_exact(a, b, c, d)
    assert value == fisher_exact(c, d, a, b) == fisher_exact(b, a, d, c)
    assert 0 < value <= 1


def test_the_lady_tasting_tea() -> None:
    """Fisher's own example, with all cups right: 1 of 70 ways, and its mirror image."""
    assert fisher_exact(4, 0, 0, 4) == least_p_value(4, 4) == Fraction(2, 70)


def document(*runs: RunEntry) -> ReportDocument:
    """Return a report of runs."""
    counts = Counts()
    for run in runs:
        counts.add(run)
    head = structs.asdict(new_head("suite.evals.yaml", "check"))
    return ReportDocument(**head, runs=runs, summary=counts.entry(0), notices=())


PASSED, FAILED = entries(("order", GOOD), ("order", WRONG))


def runs(passed: int, failed: int) -> ReportDocument:
    return document(*[PASSED] * passed, *[FAILED] * failed)


@pytest.mark.parametrize(
    ("base", "new", "options", "kind", "status"),
    [
        ((1, 0), (1, 0), {}, None, 0),
        ((0, 1), (0, 1), {}, None, 0),
        ((1, 0), (0, 1), {}, "newly_broken", 1),
        ((0, 1), (1, 0), {}, "newly_held", 0),
        ((3, 0), (2, 1), {}, "newly_broken", 1),
        ((2, 1), (3, 0), {}, "newly_held", 0),
        ((2, 1), (2, 1), {}, "flaky", 0),
        ((1, 2), (2, 1), {}, "flaky", 0),
        ((0, 3), (1, 2), {}, "flaky", 0),
        ((2, 1), (4, 2), {}, "flaky", 0),
        ((2, 1), (1, 2), {}, "newly_broken", 1),
        ((10, 0), (9, 1), {"tolerance": "0.1"}, "flaky", 0),
        ((10, 0), (9, 1), {"tolerance": "0.09"}, "newly_broken", 1),
        ((10, 0), (8, 2), {"tolerance": "0.1"}, "newly_broken", 1),
        ((1, 0), (0, 1), {"tolerance": "0.99"}, "newly_broken", 1),
        ((10, 0), (9, 1), {"alpha": "0.05"}, "flaky", 0),
        ((10, 0), (2, 8), {"alpha": "0.05"}, "newly_broken", 1),
        ((1, 0), (0, 1), {"alpha": "0.05"}, "newly_broken", 1),  # so few runs can never be significant
        ((3, 0), (2, 1), {"alpha": "0.05"}, "newly_broken", 1),
        ((4, 0), (3, 1), {"alpha": "0.05"}, "flaky", 0),
    ],
)
def test_rates(base: Any, new: Any, options: dict[str, Any], kind: str | None, status: int) -> None:
    """A rate that drops broke, unless that is allowed; one that is mixed is flaky."""
    comparison = compare(runs(*base), runs(*new), **options)
    assert comparison.exit_status == status
    assert [case.kind for case in comparison.cases] == ([] if kind is None else [kind])
    for case in comparison.cases:
        checks = {check.label: check.kind for check in case.checks}
        assert checks == {"tool_called create_order": kind}
        assert (case.p_value is None) is (max(sum(base), sum(new)) == 1)


def test_a_check_that_breaks_in_a_broken_case() -> None:
    """A case that failed before can still get worse."""
    both = entries(("order", [*WRONG, {"call": "cancel_order", "args": {}}]))
    comparison = compare(document(FAILED), document(*both))
    assert comparison.exit_status == 1
    (case,) = comparison.cases
    assert case.kind == "same"
    assert [(check.label, check.kind) for check in case.checks] == [("nothing is cancelled", "newly_broken")]
    assert "cancel_order" in case.checks[0].why


def other(name: str, run: RunEntry) -> RunEntry:
    return structs.replace(run, name=name, case=name)


@pytest.mark.parametrize(
    ("base", "new", "allow_missing", "kinds", "status"),
    [
        ([PASSED, other("b", PASSED)], [PASSED], False, {"b": "vanished"}, 1),
        ([PASSED, other("b", PASSED)], [PASSED], True, {"b": "vanished"}, 0),
        ([PASSED], [PASSED, other("b", PASSED)], False, {"b": "new"}, 0),
        ([PASSED], [PASSED, other("b", FAILED)], False, {"b": "newly_broken"}, 1),
        ([PASSED], [structs.replace(PASSED, outcome="infrastructure", verdicts=())], True, {"order": "undecided"}, 1),
        ([PASSED], [structs.replace(PASSED, outcome="not_run", verdicts=())], False, {"order": "undecided"}, 1),
        ([PASSED], [structs.replace(PASSED, outcome="inconclusive")], False, {"order": "undecided"}, 1),
        ([structs.replace(PASSED, outcome="not_run", verdicts=())], [PASSED], False, {"order": "new"}, 0),
        ([structs.replace(PASSED, outcome="not_run", verdicts=())], [FAILED], False, {"order": "newly_broken"}, 1),
        ([PASSED], [structs.replace(PASSED, outcome="unreadable", verdicts=())], False, {"order": "newly_broken"}, 1),
        (
            [PASSED],
            [structs.replace(PASSED, outcome="failed", error="x", verdicts=())],
            False,
            {"order": "newly_broken"},
            1,
        ),
    ],
)
def test_what_comes_and_goes(base: Any, new: Any, allow_missing: bool, kinds: dict[str, str], status: int) -> None:
    """What held and can't be told to hold any more is not well; that cases are gone can be allowed."""
    comparison = compare(document(*base), document(*new), allow_missing=allow_missing)
    assert {case.name: case.kind for case in comparison.cases} == kinds
    assert comparison.exit_status == status


def test_checks_that_come_and_go() -> None:
    """So it is with the checks of a case; one that stands twice is two."""
    one, two, three = PASSED.verdicts
    twice = structs.replace(PASSED, verdicts=(one, one, two))
    less = structs.replace(PASSED, verdicts=(one, three))
    comparison = compare(document(twice), document(less))
    (case,) = comparison.cases
    assert {check.label: check.kind for check in case.checks} == {
        "tool_called create_order #2": "vanished",
        "nothing is cancelled": "vanished",
        "trace_parsed": "new",
    }
    assert comparison.exit_status == 1
    assert compare(document(twice), document(less), allow_missing=True).exit_status == 0


@pytest.mark.parametrize("base", [other("a", PASSED), structs.replace(PASSED, outcome="not_run", verdicts=())])
def test_a_new_case_that_fails_says_why(base: RunEntry) -> None:
    """Of its checks those are told that do not hold; that the others are new is no news."""
    (case,) = [case for case in compare(document(base), document(FAILED)).cases if case.name == "order"]
    assert case.kind == "newly_broken"
    assert [(check.label, check.kind) for check in case.checks] == [("tool_called create_order", "newly_broken")]
    assert "none with matching arguments" in case.checks[0].why


def test_goals_and_judged_expectations_are_compared() -> None:
    """As checks are; a verdict that a judge did not come to is none."""

    def simulated(goal: str, *judged: str) -> RunEntry:
        entered = tuple(JudgedEntry(f"e{n}", status, "so") for n, status in enumerate(judged))
        return structs.replace(PASSED, steps=(StepEntry("Order", "", goal, "why"),), judged=entered)

    base = document(simulated("Completed", "Met", "Met"))
    comparison = compare(base, document(simulated("In Progress", "Not Met", "No Verdict")))
    assert {check.label: check.kind for check in comparison.cases[0].checks} == {
        "goal: Order": "newly_broken",
        "judged: e0": "newly_broken",
        "judged: e1": "vanished",
    }


def with_calls(*calls: Any, run: RunEntry = PASSED) -> ReportDocument:
    return document(structs.replace(run, events=[{"call": name, "args": args} for name, args in calls]))


@pytest.mark.parametrize(
    ("before", "now", "told"),
    [
        ([("a", {"x": 1})], [("a", {"x": 1})], []),
        ([("a", {"x": 1})], [("a", {"x": 2})], [("different", "a", "args.x: was 1, is 2")]),
        ([("a", {"x": 1})], [("a", {"x": "1"})], [("different", "a", "args.x: was the number 1, is the text '1'")]),
        ([("a", {"x": 1})], [("a", {})], [("different", "a", "args.x: was 1, but it is missing")]),
        ([("a", {})], [("a", {"y": 1})], [("different", "a", "args.y: did not expect 1")]),
        ([("a", {"x": 1})], [("b", {})], [("missing", "a", "{'x': 1}"), ("added", "b", "{}")]),
        ([("a", {}), ("b", {})], [("b", {}), ("a", {})], [("order", "", "the calls come in another order")]),
        ([("a", {"x": {"$regex": ".*"}})], [("a", {"x": "any"})], [("different", "a", None)]),
        ([("a", {"x": "*"})], [("a", {"x": "any"})], [("different", "a", "args.x: was '*', is 'any'")]),
        ([("a", {"n": n}) for n in range(500)], [("a", {"n": 1})], [("different", "", None)]),
        ([("", {"x": 1})], [("", {"x": 2})], [("different", "(no name)", "args.x: was 1, is 2")]),
        ([("a", {})], [("a", {}), ("", {})], [("added", "(no name)", "{}")]),
    ],
)
def test_changed_calls(before: Any, now: Any, told: list[tuple[str, str, str | None]]) -> None:
    """Calls are paired one to one; an argument that looks like a matcher is none."""
    comparison = compare(with_calls(*before), with_calls(*now))
    changes = [change for case in comparison.cases if case.calls for change in case.calls.changes]
    assert [(change.kind, change.tool) for change in changes] == [(kind, tool) for kind, tool, _ in told]
    for change, (_, _, text) in zip(changes, told, strict=True):
        assert text is None or change.text == text


def test_of_several_runs_those_that_tell_most_are_compared() -> None:
    """One that passed before, and one that fails now."""
    comparison = compare(runs(2, 1), document(PASSED, structs.replace(FAILED, run=7)))
    calls = comparison.cases[0].calls
    assert calls is not None
    assert (calls.base_run, calls.new_run) == (PASSED.run, 7)
    assert [change.text for change in calls.changes] == ["args.item_id: was 'ITEM-42', is 'ITEM-24'"]


@pytest.mark.parametrize("name", ["tolerance", "alpha"])
@pytest.mark.parametrize("value", ["-0.1", "1", "2", "nan", "x", "", "1/0"])
def test_limits_out_of_bounds(name: str, value: str) -> None:
    """A limit that would allow everything, or is no number, is refused."""
    limits: dict[str, Any] = {name: value}
    with pytest.raises(UsageError, match=f"{name} is a number from 0 to below 1"):
        compare(runs(1, 0), runs(1, 0), **limits)


def test_some_cases_alone() -> None:
    """A name that only one report has is compared too; one that none has is refused."""
    base, new = document(PASSED, other("gone", PASSED)), document(FAILED, other("b", PASSED))
    assert compare(base, new, names=["b"]).exit_status == 0
    assert [case.kind for case in compare(base, new, names=["gone"]).cases] == ["vanished"]
    with pytest.raises(UsageError, match="no case 'ordr' in the reports; 'order' was meant"):
        compare(base, new, names=["ordr"])


def test_nothing_can_not_be_compared() -> None:
    """A report without runs would make every comparison pass."""
    with pytest.raises(UsageError, match="the new report has no run"):
        compare(runs(1, 0), document())
    with pytest.raises(UsageError, match="the base has no run"):
        compare(document(), runs(1, 0))


def hostile_comparison(hostile: str) -> Comparison:
    hostile = hostile.encode("utf-8", "backslashreplace").decode()  # as all texts of a document are
    base = structs.replace(PASSED, name=hostile, case=hostile, events=[{"call": hostile, "args": {hostile: hostile}}])
    verdict = structs.replace(FAILED.verdicts[0], label=hostile, justification=hostile)
    new = structs.replace(FAILED, name=hostile, case=hostile, verdicts=(verdict,), events=[{"call": "b", "args": {}}])
    return compare(document(base), document(new))


@pytest.mark.parametrize("hostile", HOSTILE)
def test_hostile_texts_are_text(hostile: str) -> None:
    """In every form nothing of a trace is markup, and everything is visible."""
    comparison = hostile_comparison(hostile)
    assert is_visible(click.unstyle("\n".join(comparison_lines(comparison))))
    markdown, page = as_markdown(comparison), as_html(comparison)
    assert is_visible(markdown)
    assert is_visible(page)
    assert is_visible(as_json(comparison))
    assert tags_of(markdown) <= OURS
    assert "<script" not in page
    assert page.count("<h2>") == len(comparison.cases)
    assert "Content-Security-Policy" in page


def test_many_cases_stay_within_what_github_takes() -> None:
    """What there is no room for is counted."""
    changed = [other(f"case {number} {'x' * 150}", FAILED) for number in range(8000)]
    text = as_markdown(compare(document(PASSED), document(PASSED, *changed)))
    assert len(text.encode()) <= 1024 * 1024
    assert "more cases" in text


@pytest.mark.parametrize(
    ("base", "new", "is_doubtful"),
    [
        ("a/x.evals.yaml", "b/x.evals.yaml", False),
        ("C:\\a\\x.evals.yaml", "/b/x.evals.yaml", False),
        ("x.evals.yaml", "", False),
        ("x.evals.yaml", "y<b>\x1b.evals.yaml", True),
    ],
)
def test_reports_of_two_eval_files(base: str, new: str, is_doubtful: bool) -> None:
    """They can be compared, and every form says that they are of two."""
    one, other = (structs.replace(document(PASSED), suite=suite) for suite in (base, new))
    comparison = compare(one, other)
    texts = ("\n".join(comparison_lines(comparison)), as_markdown(comparison), as_html(comparison))
    assert [("the reports are of two eval files" in text) for text in texts] == [is_doubtful] * 3
    assert not any("y<b>" in text or "\x1b.evals" in text for text in texts[1:])
    assert comparison.exit_status == 0
