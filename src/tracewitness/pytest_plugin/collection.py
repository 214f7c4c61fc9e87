"""Eval files as tests: one for each case, or for each check of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from tracewitness.display import printable
from tracewitness.errors import SuiteError, TracewitnessError
from tracewitness.expectations import Operator, compile_checks
from tracewitness.pytest_plugin import session_of
from tracewitness.pytest_plugin.cases import CaseRuns, OtherRuns
from tracewitness.pytest_plugin.failures import BrokenRuns, Refused, explanation_of
from tracewitness.pytest_plugin.runs import has_recorded_runs, shown_path
from tracewitness.suites import Suite, load_suite

__all__ = ["EvalFile"]

#: The test of the runs that no case has.
_OTHERS: Final = "runs-without-a-case"
#: Markers that have a meaning of their own: a tag of an eval file must not skip a test.
_RESERVED: Final = frozenset(
    {
        *("anyio", "asyncio", "filterwarnings", "flaky", "hypothesis", "no_cover", "parametrize", "skip", "skipif"),
        *("timeout", "trio", "tryfirst", "trylast", "usefixtures", "witness", "xdist_group", "xfail"),
        *("parameterize", "parametrise", "parameterise"),
    }
)


_BRACKETS: Final = str.maketrans("[]", "()")


class EvalFile(pytest.Module):
    """An eval file. To pytest it is a module without an object, as a text file with doctests is."""

    obj = None

    def collect(self) -> Iterator[pytest.Item | pytest.Collector]:
        """Yield the tests of the file.

        Raises:
            CollectError: something in the file is wrong; it says what and where.
        """
        suite = self._suite()
        session_of(self.config).add_suite(suite)
        names = _node_names(case.name for case in suite.cases)
        per_check = self.config.getini("tracewitness_per_check")
        for case, name in zip(suite.cases, names, strict=True):
            runs = CaseRuns(suite, case)
            yield CaseChecks.make(self, name, runs) if per_check else _case_test(self, name, runs)
        if has_recorded_runs(self.config) or not suite.cases:
            (name,) = _node_names([_OTHERS], taken=names)
            yield EvalTest.make(self, name, OtherRuns(suite), line=1)

    def _suite(self) -> Suite:
        try:
            return load_suite(shown_path(self.path))
        except SuiteError as error:
            notes = getattr(error, "__notes__", ())
            raise self.CollectError("\n".join([printable(str(error), 2000), *map(printable, notes)])) from None


class CaseChecks(pytest.Collector):
    """A case of which every check is a test."""

    _runs: CaseRuns

    @classmethod
    def make(cls, parent: pytest.Collector, name: str, runs: CaseRuns) -> CaseChecks:
        """Make the node of a case."""
        node: CaseChecks = cls.from_parent(parent, name=name)
        node._runs = runs
        _mark(node, runs.case.tags)
        return node

    def collect(self) -> Iterator[pytest.Item]:
        """Yield a test for each check, also for the one that the trace could be read."""
        case = self._runs.case
        checks = compile_checks(case.tool_expectations, case.aliases).operators
        for number, name in enumerate(_node_names(map(_title, checks))):
            place = case.places[number] if number < len(case.places) else case.place
            yield EvalTest.make(self, name, self._runs, line=place.line, number=number)


def _title(check: Operator) -> str:
    return check.title.replace(" ", "-")


def _case_test(parent: pytest.Collector, name: str, runs: CaseRuns) -> EvalTest:
    test = EvalTest.make(parent, name, runs, line=runs.case.place.line)
    _mark(test, runs.case.tags)
    return test


class EvalTest(pytest.Function):
    """A test of an eval file. It is a function of ours, so that fixtures work in it as in any other."""

    _line: int

    @classmethod
    def make(
        cls, parent: pytest.Collector, name: str, runs: CaseRuns | OtherRuns, *, line: int, number: int | None = None
    ) -> EvalTest:
        """Make a test.

        Arguments:
            parent: the file, or the case.
            name: its own part of the node id.
            runs: what it checks.
            line: where it stands in the file.
            number: which check alone is looked at; None for all.
        """
        test: EvalTest = cls.from_parent(parent, name=name, callobj=_function_of(runs, number))
        test._line = line
        return test

    def reportinfo(self) -> tuple[Path, int, str]:
        """Return where the case or check stands; pytest counts lines from 0."""
        names = [node.name for node in self.listchain() if isinstance(node, (CaseChecks, EvalTest))]
        return self.path, self._line - 1, "::".join(names)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException]) -> Any:  # type: ignore[override]
        """Return what a failure shows: of what is broken, and of wrong input, no frames."""
        explanation = explanation_of(excinfo.value, self)
        return super().repr_failure(excinfo) if explanation is None else explanation


def _function_of(runs: CaseRuns | OtherRuns, number: int | None) -> Callable[[pytest.FixtureRequest], None]:
    def check_runs(request: pytest.FixtureRequest) -> None:
        __tracebackhide__ = True
        try:
            checked = runs.check(request)
        except TracewitnessError as error:
            runs.note_missing(request.node)
            raise Refused(str(error)) from None
        except pytest.skip.Exception:
            raise
        except BaseException:  # what the agent raised, whatever it is: pytest tells that, and it is no run
            runs.note_missing(request.node)
            raise
        checked.note(request.node, number)
        if not checked.held(number):
            raise BrokenRuns(checked, number)

    return check_runs


def _mark(node: pytest.Item | pytest.Collector, tags: Iterable[str]) -> None:
    """Make markers of tags, known ones also where pytest is strict."""
    for tag in tags:
        name = _marker_name(tag)
        known = f"{name}: a tag of eval files"
        if known not in node.config.getini("markers"):
            node.config.addinivalue_line("markers", known)
        if name != tag:
            session_of(node.config).notices[f"note: the tag {printable(tag, 60)} is the marker {name}"] = None
        node.add_marker(getattr(pytest.mark, name))
        node.extra_keyword_matches.add(tag)


def _marker_name(tag: str) -> str:
    """Return a marker's name for a tag: an identifier that means nothing else.

    >>> [_marker_name(tag) for tag in ("P0", "order desk", "1st", "skip", "_", "été")]
    ['P0', 'order_desk', 'tag_1st', 'tag_skip', 'tag__', 'été']
    """
    name = re.sub(r"\W", "_", tag)
    is_free = name.isidentifier() and not name.startswith("_") and name not in _RESERVED
    return name if is_free else f"tag_{name}"


def _node_names(names: Iterable[str], taken: Iterable[str] = ()) -> list[str]:
    """Return names for node ids: printable, without what pytest parts ids at, each once.

    Those are two colons, also of a name and what joins it to the next, and what pytest takes for the beginning of
    parameters, a bracket: it would look for the test under another name, or show it under one.

    >>> _node_names(["order", "a::b", "order", "x\\ny", "in [1]:"])
    ['order', 'a:b', 'order#2', 'x\\\\ny', 'in (1)']
    """
    used = set(taken)
    made = []
    for name in names:
        base = re.sub(":{2,}", ":", printable(name)).translate(_BRACKETS).strip(": ") or "-"
        unique, count = base, 1
        while unique in used:
            count += 1
            unique = f"{base}#{count}"
        used.add(unique)
        made.append(unique)
    return made
