"""The fixture ``witness``: check what an agent did, and put it on record."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from tracewitness.display import printable, show
from tracewitness.errors import UsageError
from tracewitness.evals import RunReport
from tracewitness.evals.tool_expectations import evaluate_case
from tracewitness.expectations import Next, Operator, Score, compile_checks
from tracewitness.fluent import ChecksAssertionError, Expectation, ToolScoreAssertionError
from tracewitness.fluent.contents import without_frames
from tracewitness.fluent.failure import explain
from tracewitness.fluent.subject import Subject, Witnessed
from tracewitness.fluent.verdicts import on_calls_alone
from tracewitness.pytest_plugin import session_of
from tracewitness.pytest_plugin.failures import entry_of, trace_lines, verdict_lines
from tracewitness.pytest_plugin.notes import Note, check_notes, evidence_of, keep
from tracewitness.reports.document import RunEntry
from tracewitness.scoring import EvaluationResult, ExpectedCall, assess, warn_of_missing_calls
from tracewitness.suites import Case, Place, Suite
from tracewitness.trace import Trace
from tracewitness.verdict import Verdict

if TYPE_CHECKING:
    import pytest

__all__ = ["Outcome", "Witness"]

#: Hides the frames of this module in a traceback.
__tracebackhide__ = True

_AROUND: Final = 12


class Outcome(Struct, frozen=True):
    """What came of what an agent did.

    Attributes:
        trace: what it did.
        verdicts: what each check came to; that of expected calls is the check of their score.
        result: of a contract or of expected calls, the whole result; else None.
    """

    trace: Trace
    verdicts: tuple[Verdict, ...]
    result: EvaluationResult | None = None

    @property
    def held(self) -> bool:
        """Whether everything is as expected."""
        return all(verdict.held for verdict in self.verdicts) and (self.result is None or self.result.passed)


class _Asked(Struct, frozen=True):
    """What is checked.

    Attributes:
        case, suite, places: of a case of an eval file, its name, the file and where the checks stand in it.
    """

    case: str | None = None
    suite: str = ""
    places: tuple[Place, ...] = ()
    tags: tuple[str, ...] = ()


class Witness:
    """Checks what an agent did. What a test has checked is in its report, and at the end of the session.

    Arguments:
        item: the test.

    Example::

        def test_order(witness):
            witness(agent("Order ITEM-42"), [{"type": "tool_called", "tool": "create_order"}])
    """

    def __init__(self, item: pytest.Item) -> None:
        self._item = item
        self._seen: list[Verdict] = []
        self._cases: dict[str, None] = {}
        self._count = 0

    def __call__(self, subject: Any, expected: Any = None, /, *, case: str | None = None) -> Outcome:
        """Check what an agent did.

        Arguments:
            subject: what it did: a `Trace`, a list of calls, a recording in a form that a reader knows. Or an agent: a
                function that takes the case of an eval file. Or, alone, a contract that has a subject of its own.
            expected: what is expected of it: a contract (`expect`), a `Case`, a suite, a case as a
                mapping, checks as in an eval file, or calls such as ``{"tool": "search", "args": {…}}``.
            case: of a suite, the name of the case; left out it is the one that the trace is named as, or its only one.

        Raises:
            AssertionError: it is not as expected.
            UsageError: what is expected is nothing that can be checked, or the agent is async.
            ReadError: what the agent did can't be read.
        """
        __tracebackhide__ = True
        if isinstance(subject, Expectation) and expected is None:
            return self._ended(_outcome_of(subject.attempt()), _Asked())
        given = Subject(subject)
        if given.is_async:
            given.discard()
            raise UsageError(f"{show(subject)} is async: await witness.run_async(…) in place of witness(…)")
        return self._checked(given.witness(_prompt_of(given, expected, case)), expected, case)

    async def run_async(self, subject: Any, expected: Any = None, /, *, case: str | None = None) -> Outcome:
        """Do what calling it does with a subject that may be async."""
        __tracebackhide__ = True
        if isinstance(subject, Expectation) and expected is None:
            return self._ended(_outcome_of(await subject.attempt_async()), _Asked())
        given = Subject(subject)
        return self._checked(await given.witness_async(_prompt_of(given, expected, case)), expected, case)

    def __repr__(self) -> str:
        return "<witness>"

    def _checked(self, seen: Witnessed, expected: Any, case: str | None) -> Outcome:
        __tracebackhide__ = True
        outcome, asked = without_frames(lambda: _check(seen, expected, case))
        return self._ended(outcome, asked)

    def _ended(self, outcome: Outcome, asked: _Asked) -> Outcome:
        """Put an outcome on record, and raise what is not as expected."""
        __tracebackhide__ = True
        self._count += 1
        evidence_of(self._item).witnessed += 1
        report = self._report(outcome, asked)
        self._note(report, asked)
        self._set_properties(outcome, asked)
        if outcome.result is not None:
            if not outcome.result.passed:
                raise ToolScoreAssertionError(explain(outcome.result), outcome.result)
            warn_of_missing_calls(outcome.result)
        if not outcome.held:
            raise ChecksAssertionError("\n".join(_broken_lines(entry_of(report, asked.suite))), outcome.verdicts)
        return outcome

    def _report(self, outcome: Outcome, asked: _Asked) -> RunReport:
        number = evidence_of(self._item).witnessed
        places = (*asked.places, *(None,) * (len(outcome.verdicts) - len(asked.places)))
        return RunReport(
            printable(self._item.nodeid, 1000).partition("::")[0],
            number,
            "",
            printable(outcome.trace.name or self._item.name),
            asked.case,
            outcome.verdicts,
            places,
            run=number,
            tags=asked.tags,
            trace=outcome.trace,
        )

    def _note(self, report: RunReport, asked: _Asked) -> None:
        item = self._item
        test = printable(item.nodeid, 1000)
        run = session_of(item.config).entry_of(report, asked.suite)
        keep(item, Note(test, f"{test}\n{report.number}", check_notes(report.verdicts), run))
        title = f"witnessed trace {self._count}" if self._count > 1 else "witnessed trace"
        evidence_of(item).sections.append((title, partial(_section_lines, report, asked.suite)))

    def _set_properties(self, outcome: Outcome, asked: _Asked) -> None:
        """Say in the test's properties what all its checks came to so far."""
        self._seen += outcome.verdicts
        self._cases |= {} if asked.case is None else {printable(asked.case): None}
        broken = [verdict for verdict in self._seen if not verdict.held]
        told = {
            "witness_case": ", ".join(self._cases),
            "witness_status": "broken" if broken else "held",
            "witness_operator": ", ".join(dict.fromkeys(verdict.operator for verdict in broken)),
        }
        others = [each for each in self._item.user_properties if each[0] not in told]
        self._item.user_properties[:] = [*others, *((name, value) for name, value in told.items() if value)]


def _prompt_of(given: Subject, expected: Any, case: str | None) -> Any:
    """Return what an agent is called with: the case that it plays.

    Raises:
        UsageError: the subject is an agent, and nothing says what it is asked.
    """
    if not given.is_agent:
        return None
    if isinstance(expected, Suite):
        return _chosen(expected, case, "")
    if isinstance(expected, (Case, Mapping)):
        return expected
    raise UsageError(
        f"{show(given.given)} is an agent, and only a case says what it is asked; witness what it returns, or "
        "witness(expect(agent).on(prompt)…)"
    )


def _check(seen: Witnessed, expected: Any, case: str | None) -> tuple[Outcome, _Asked]:
    """Return what comes of what an agent did, and what it was asked."""
    if case is not None and not isinstance(expected, Suite):
        raise UsageError(f"case picks a case of a suite, and {show(expected)} is none")
    if isinstance(expected, Expectation):
        return _outcome_of(expected.evaluate(seen)), _Asked()
    if isinstance(expected, Suite):
        chosen = _chosen(expected, case, seen.trace.name)
        return _outcome_of_case(seen, chosen), _asked(chosen, expected.source)
    if isinstance(expected, Case):
        return _outcome_of_case(seen, expected), _asked(expected, "")
    if isinstance(expected, Mapping) and "tool_expectations" in expected:
        verdicts = evaluate_case(expected, seen.trace)
        name = expected.get("name")
        return _outcome(seen, verdicts), _Asked(name if isinstance(name, str) else None)
    return _outcome_of_list(seen, expected), _Asked()


def _asked(case: Case, suite: str) -> _Asked:
    return _Asked(case.name, suite, case.places if suite else (), case.tags)


def _chosen(suite: Suite, case: str | None, name: str) -> Case:
    """Return the case of a suite that is meant.

    Raises:
        UsageError: that can't be told.
    """
    if case is not None:
        return suite.select([case]).cases[0]
    named = [each for each in suite.cases if each.name == name] or list(suite.cases)
    if len(named) != 1:
        raise UsageError(f"{suite.source} has {len(suite.cases)} cases; say which: witness(…, suite, case=…)")
    return named[0]


def _outcome_of_case(seen: Witnessed, case: Case) -> Outcome:
    return _outcome(seen, compile_checks(case.tool_expectations, case.aliases).check(seen.trace))


def _outcome(seen: Witnessed, verdicts: Sequence[Verdict]) -> Outcome:
    return Outcome(seen.trace, tuple(on_calls_alone(verdicts, seen.trace) if seen.calls_only else verdicts))


def _outcome_of_list(seen: Witnessed, expected: Any) -> Outcome:
    """Return what comes of checks, or of expected calls.

    Raises:
        UsageError: it is neither, or both.
    """
    single = isinstance(expected, (Mapping, Operator, ExpectedCall))
    items: Any = [expected] if single else expected
    if not isinstance(items, (list, tuple)) or not items:
        raise UsageError(
            f"expected a contract, a case, checks such as {{'type': 'tool_called', 'tool': 'search'}}, or calls such "
            f"as {{'tool': 'search'}}, not {show(expected)}"
        )
    if all(map(_is_call, items)):
        return _outcome_of(assess(items, seen.trace))
    if any(map(_is_call, items)):
        raise UsageError("checks, which have a type, and expected calls, which have none, can't be mixed")
    return _outcome(seen, compile_checks(items).check(seen.trace))


def _is_call(item: Any) -> bool:
    return isinstance(item, ExpectedCall) or (isinstance(item, Mapping) and "tool" in item and "type" not in item)


def _outcome_of(result: EvaluationResult) -> Outcome:
    """Return the outcome of expected calls: beside the verdicts that the result has, one on the score."""
    expected = (*(pair.expected for pair in result.pairs), *result.missing_calls)
    if not expected:
        return Outcome(result.trace, result.verdicts, result)
    score = Score(tuple(Next(call.tool, call.args, call.result) for call in expected))
    holds = result.reaches_min_score and (result.min_score is not None or not result.missing_calls)
    evidence = tuple(pair.actual.position for pair in result.pairs if not pair.is_exact)
    verdict = Verdict(score, "held" if holds else "broken", () if holds else evidence, (_scored, result))
    return Outcome(result.trace, (verdict, *result.verdicts), result)


def _scored(result: EvaluationResult) -> str:
    missing = ", ".join(dict.fromkeys(call.tool for call in result.missing_calls))
    return f"score {result.score:.2f}, expected at least {result.bar:.2f}" + (
        f"; missing: {missing}" if missing else ""
    )


def _broken_lines(entry: RunEntry) -> Iterator[str]:
    """Yield the words of a failure; the first line is what a summary shows."""
    broken = [verdict for verdict in entry.verdicts if not verdict.held]
    labels = ", ".join(printable(verdict.label, 60) for verdict in broken)
    yield f"broken: {labels}" + (f" (case {printable(entry.case)})" if entry.case is not None else "")
    yield ""
    for verdict in broken:
        yield from verdict_lines(verdict)


def _section_lines(report: RunReport, suite: str) -> Iterator[str]:
    """Yield the lines of what was witnessed, as they may be shown."""
    assert report.trace is not None  # noqa: S101 - it was checked
    entry = entry_of(report, suite)
    broken = [verdict for verdict in entry.verdicts if not verdict.held]
    return trace_lines(entry, report.trace, broken, _AROUND)
