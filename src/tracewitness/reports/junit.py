"""The report as JUnit XML, which Jenkins, GitLab and most other servers read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, Literal
from xml.sax.saxutils import escape, quoteattr

from msgspec import UNSET, Struct

from tracewitness.display import printable
from tracewitness.reports.document import JudgedEntry, RunEntry, StepEntry, SummaryEntry, VerdictEntry
from tracewitness.reports.listening import FileReport

__all__ = ["JunitReport"]

_Kind = Literal["passed", "failure", "error", "skipped"]

_MOST: Final = 2000
_LONGEST_NAME: Final = 500


class _Test(Struct, frozen=True):
    """One test case of the XML."""

    name: str
    kind: _Kind = "passed"
    message: str = ""
    lines: tuple[str, ...] = ()
    file: str = ""
    line: int = 0
    properties: Mapping[str, str] = {}


class _Case(Struct):
    """The tests of one case, as XML, and their counts. XML has the counts first, so they are kept until the end.

    Servers know a test by its name, so the names are kept too.
    """

    name: str
    tests: list[str] = []
    names: dict[str, int] = {}
    failures: int = 0
    errors: int = 0
    skipped: int = 0
    seconds: float = 0.0


class JunitReport(FileReport):
    """Writes a test suite for each case, and in it a test for each check, goal and judged expectation of each run.

    What could not be read, an error of infrastructure and a run without a judge's verdict are errors; a run that was
    not begun is skipped.
    """

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._cases: dict[str, _Case] = {}

    def run(self, run: RunEntry) -> None:
        """Keep the tests of one run."""
        case = self._cases.setdefault(run.group, _Case(run.group))
        case.seconds += _seconds(run)
        tests = list(_tests(run))
        for index, test in enumerate(tests):  # servers add up the times, so a run's counts once
            self._add(case, test, _seconds(run) if index == 0 else 0.0)

    def finish(self, summary: SummaryEntry, notices: Sequence[str]) -> None:  # noqa: ARG002 - as all who listen
        """Write the file, and put it in its place."""
        for name in summary.missing:
            case = self._cases.setdefault(name, _Case(name))
            self._add(case, _Test("a run of this case", "failure", "no run of this case was found"), 0.0)
        if not self._cases:
            nothing = _Test("runs", "error", "no run was checked")
            self._add(self._cases.setdefault("nothing", _Case("nothing")), nothing, 0.0)
        cases = list(self._cases.values())
        self._file.write('<?xml version="1.0" encoding="UTF-8"?>\n')
        self._file.write(f"<testsuites{_attributes({'name': self._head.suite or 'tracewitness', **_counts(cases)})}>\n")
        for case in cases:
            self._file.write("".join(self._suite(case)))
        self._file.write("</testsuites>\n")
        self._file.complete()

    def _add(self, case: _Case, test: _Test, seconds: float) -> None:
        case.failures += test.kind == "failure"
        case.errors += test.kind == "error"
        case.skipped += test.kind == "skipped"
        seen = case.names[test.name] = case.names.get(test.name, 0) + 1
        if seen > 1:  # runs of several files may have one number
            test = _renamed(test, f"{test.name} ({seen})", {})
        classname = ".".join(part.replace(".", "_") for part in (self._head.suite or "tracewitness", case.name))
        case.tests.append("".join(_written(test, classname, seconds)))

    def _suite(self, case: _Case) -> Iterator[str]:
        stamp = {"timestamp": self._head.created_at[:19]}
        yield f"  <testsuite{_attributes({'name': case.name, **_counts([case], skipped=True), **stamp})}>\n"
        told = {"suite": self._head.suite, "command": self._head.command, "tracewitness": self._head.tracewitness}
        yield from _properties(told, "    ")
        yield from case.tests
        yield "  </testsuite>\n"


def _counts(cases: Sequence[_Case], *, skipped: bool = False) -> dict[str, str]:
    counts = {
        "tests": sum(len(case.tests) for case in cases),
        "failures": sum(case.failures for case in cases),
        "errors": sum(case.errors for case in cases),
    }
    if skipped:
        counts["skipped"] = sum(case.skipped for case in cases)
    return {**{name: str(count) for name, count in counts.items()}, "time": f"{sum(c.seconds for c in cases):.3f}"}


def _seconds(run: RunEntry) -> float:
    return 0.0 if run.duration_s is UNSET else run.duration_s


# ----------------------------------------------------------------------------------------------- what the tests are


def _tests(run: RunEntry) -> Iterator[_Test]:
    """Yield the tests of a run. At least one of them says so where the run did not pass."""
    told = {"outcome": run.outcome, "source": run.where}
    where = f"run {run.run}"
    if run.outcome == "not_run":
        yield _Test(where, "skipped", run.error or "not run", properties=told)
        return
    if run.outcome in ("unreadable", "infrastructure") or run.error:
        kind: _Kind = "failure" if run.outcome == "failed" else "error"
        lines = () if run.traceback is UNSET else tuple(run.traceback.splitlines())
        yield _Test(where, kind, run.error or run.outcome, lines, properties=told)
    tests = [*map(_of_check, run.verdicts), *map(_of_step, run.steps), *map(_of_judged, run.judged)]
    names = [printable(test.name, _LONGEST_NAME) for test in tests]
    for test, name in zip(tests, _distinct(names), strict=True):
        yield _renamed(test, f"{name} [{where}]", told)
    if run.outcome == "inconclusive" and not any(verdict.status == "inconclusive" for verdict in run.verdicts):
        yield _Test(where, "error", "inconclusive: verdicts of the judge are missing", properties=told)
    elif not run.error and run.outcome == "failed" and all(test.kind == "passed" for test in tests):
        yield _Test(where, "failure", "the run failed", properties=told)
    elif not tests and not run.error:
        yield _Test(where, properties=told)


def _distinct(names: Sequence[str]) -> Iterator[str]:
    """Yield the names; one that stands twice has a number the second time, since servers know tests by their names."""
    seen: dict[str, int] = {}
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        yield name if seen[name] == 1 else f"{name} #{seen[name]}"


def _renamed(test: _Test, name: str, told: Mapping[str, str]) -> _Test:
    properties = {**test.properties, **told}
    return _Test(name, test.kind, test.message, test.lines, test.file, test.line, properties)


def _of_check(verdict: VerdictEntry) -> _Test:
    kinds: dict[str, _Kind] = {"held": "passed", "broken": "failure", "inconclusive": "error", "error": "error"}
    near = verdict.near_miss
    lines = [f"nearest, at event {near.position}: {each.text}" for each in near.differences] if near else []
    lines += [f"reason: {verdict.reason}"] if verdict.reason else []
    told = {"operator": verdict.operator, "tools": " ".join(verdict.tools)}
    return _Test(
        verdict.label,
        kinds[verdict.status],
        f"inconclusive: {verdict.justification}" if verdict.status == "inconclusive" else verdict.justification,
        tuple(lines),
        verdict.file or "",
        verdict.line or 0,
        {name: value for name, value in told.items() if value},
    )


def _of_step(step: StepEntry) -> _Test:
    return _Test(f"goal: {step.goal}", "passed" if step.reached else "failure", f"{step.status}: {step.justification}")


def _of_judged(judged: JudgedEntry) -> _Test:
    name = judged.title or judged.expectation
    kind: _Kind = "passed" if judged.met else "failure" if judged.status == "Not Met" else "error"
    return _Test(f"judged: {name}", kind, f"{judged.status}: {judged.justification}")


# --------------------------------------------------------------------------------------------------------- as XML


def _written(test: _Test, classname: str, seconds: float) -> Iterator[str]:
    place = {"file": test.file, "line": str(test.line)} if test.file and test.line else {}
    named = {"classname": classname, "name": test.name, "time": f"{seconds:.3f}", **place}
    yield f"    <testcase{_attributes(named)}>\n"
    yield from _properties(test.properties, "      ")
    if test.kind == "skipped":
        yield f"      <skipped{_attributes({'message': test.message})}/>\n"
    elif test.kind != "passed":
        lines = "\n".join(_safe(line) for line in (test.message, *test.lines))
        yield f"      <{test.kind}{_attributes({'message': test.message, 'type': test.kind})}>{lines}</{test.kind}>\n"
    yield "    </testcase>\n"


def _properties(properties: Mapping[str, str], indent: str) -> Iterator[str]:
    if properties:
        yield f"{indent}<properties>\n"
        for name, value in properties.items():
            yield f"{indent}  <property{_attributes({'name': name, 'value': value})}/>\n"
        yield f"{indent}</properties>\n"


def _attributes(attributes: Mapping[str, str]) -> str:
    return "".join(f" {name}={quoteattr(printable(value, _MOST))}" for name, value in attributes.items())


def _safe(text: str) -> str:
    return escape(printable(text, _MOST))
