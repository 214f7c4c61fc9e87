"""Fold the checks of a test case into the result of a simulation that a judge has graded already."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, MutableMapping
from typing import Any, Final

from msgspec import Struct

from tracewitness.display import printable, show
from tracewitness.errors import ExpectationError, UsageError
from tracewitness.expectations import Operator, checked_aliases, compile_checks, parse_operator
from tracewitness.readers.text_trace import read_text_trace
from tracewitness.trace import Trace
from tracewitness.verdict import Verdict

__all__ = ["apply_to_result", "evaluate_case"]

_PREFIX: Final = "[tool] "
_MOST_WORDS: Final = 2000
_LABEL_FIELDS = frozenset({"type", "tool", "name", "reason"})


def apply_to_result(
    test_case: Mapping[str, Any], result: MutableMapping[str, Any], *, judge_passed: bool | None = None
) -> list[Verdict]:
    """Evaluate the checks of a case on the trace in a simulation's result, and enter them there.

    The result's `expectation_details` gain an entry for each check, `expectations` and `tool_checks` count
    them, `judge_passed` keeps the verdict from before, and `passed` is that and all checks. Applying it again
    changes nothing. A case without checks is left as it was; one whose checks were taken away gets its own
    verdict back.

    Arguments:
        test_case: the case; its `tool_expectations` are mappings as in an eval file, or operators, and its
            `aliases` the other names of tools.
        result: a row of the simulation's results. It is changed in place, and only when all checks are done.
        judge_passed: the verdict of a new judgement, where there was one.

    Returns:
        One verdict for each check, that of `trace_parsed` last; none where the case has no checks. A
        malformed expectation is a verdict that says what is wrong.

    Raises:
        UsageError: an argument is no mapping, or the result's `expectation_details` are no list.

    >>> row = {"passed": True, "detailed_trace": ["User: hi", "Agent Text: I have ordered it."]}
    >>> case = {"tool_expectations": [{"type": "tool_called", "tool": "create_order"}]}
    >>> [verdict.status for verdict in apply_to_result(case, row)], row["passed"], row["judge_passed"]
    (['broken', 'held'], False, True)
    """
    details = _details(test_case, result)
    judged = [entry for entry in details if not _is_own(entry)]
    had_own = len(judged) < len(details)
    judge = _judge_verdict(result, judge_passed, had_own=had_own)
    if _has_no_checks(test_case):
        if had_own or "tool_checks" in result:
            _take_away(result, judged, judge)
        return []
    verdicts = evaluate_case(test_case, read_text_trace(result))
    own = [_entry(verdict) for verdict in verdicts]
    result.update(
        expectation_details=[*judged, *own],
        expectations=_met(judged + own),
        tool_checks=_met(own),
        judge_passed=judge,
        passed=judge and all(verdict.held for verdict in verdicts),
    )
    return verdicts


def evaluate_case(test_case: Mapping[str, Any], trace: Trace) -> list[Verdict]:
    """Check a trace against the `tool_expectations` of a case.

    Arguments:
        test_case: as for `apply_to_result`.
        trace: what the agent did.

    Returns:
        One verdict for each expectation, in order, that of `trace_parsed` last unless it was listed. A
        malformed expectation has the status `error`, and the others are checked all the same.
    """
    operators, malformed = _operators(test_case.get("tool_expectations"))
    aliases: Mapping[str, Any] | None = None
    try:
        aliases = checked_aliases(test_case.get("aliases"))
    except ExpectationError as error:
        malformed[len(operators) + len(malformed)] = _malformed("aliases", "", error)
    parameters = test_case.get("session_parameters")
    if isinstance(parameters, Mapping):
        operators = [operator.in_session(parameters) for operator in operators]
    checked = iter(compile_checks(operators, aliases).check(trace))
    count = len(operators) + len(malformed)
    verdicts = [malformed[number] if number in malformed else next(checked) for number in range(count)]
    return [*verdicts, *checked]


class _MalformedCheck(Struct, frozen=True):
    """Stands for an expectation that could not be understood.

    Attributes:
        type_name: the operator that it names, as far as it names one.
        title: the same with its tool.
    """

    type_name: str
    title: str
    reason_text: str = ""


def _operators(given: Any) -> tuple[list[Operator], dict[int, Verdict]]:
    """Return those expectations that can be checked, and by number the verdicts of those that can't."""
    if not isinstance(given, (list, tuple)):
        if given is None:
            return [], {}
        error = ExpectationError(f"tool_expectations is a list of mappings, not {show(given)}")
        return [], {0: _malformed("malformed", "", error)}
    operators: list[Operator] = []
    malformed: dict[int, Verdict] = {}
    for number, each in enumerate(given):
        try:
            operators.append(each if isinstance(each, Operator) else parse_operator(each))
        except ExpectationError as error:
            fields = each if isinstance(each, Mapping) else {}
            malformed[number] = _malformed(fields.get("type"), fields.get("tool"), error.under(number))
    return operators, malformed


def _malformed(operator: Any, tool: Any, error: ExpectationError) -> Verdict:
    operator = printable(operator, 40) if isinstance(operator, str) and operator else "malformed"
    tool = printable(tool, 60) if isinstance(tool, str) else ""
    check = _MalformedCheck(operator, f"{operator} {tool}".rstrip())
    return Verdict(check, "error", (), (_why_malformed, error))


def _why_malformed(error: ExpectationError) -> str:
    return f"the expectation is malformed: {error}"


def _details(test_case: Any, result: Any) -> list[Any]:
    """Return the entries that the result has, or raise what is wrong with the arguments."""
    if not isinstance(test_case, Mapping):
        raise UsageError(f"a test case is a mapping, not {show(test_case)}")
    if not isinstance(result, MutableMapping):
        raise UsageError(f"a result is a mapping that can be changed, not {show(result)}")
    details = result.get("expectation_details")
    if details is not None and not isinstance(details, list):
        raise UsageError(f"the result's expectation_details are a list, not {show(details)}")
    return details or []


def _is_own(entry: Any) -> bool:
    """Whether an entry was made here: a judge's has no operator, though its text may begin alike."""
    if not isinstance(entry, Mapping) or not isinstance(entry.get("operator"), str):
        return False
    text = entry.get("expectation")
    return isinstance(text, str) and text.startswith(_PREFIX)


def _judge_verdict(result: Mapping[str, Any], given: bool | None, *, had_own: bool) -> bool:
    """Return the judge's own verdict. Where checks were folded in and it was not kept, it counts as false."""
    if given is not None:
        return given is True
    if "judge_passed" in result:
        return result["judge_passed"] is True
    return not had_own and result.get("passed") is True


def _has_no_checks(test_case: Mapping[str, Any]) -> bool:
    given = test_case.get("tool_expectations")
    return given is None or (isinstance(given, (list, tuple)) and not given)


def _take_away(result: MutableMapping[str, Any], judged: list[Any], judge: bool) -> None:
    """Undo an earlier application. The judge's verdict stays, for when checks are given back."""
    result.update(expectation_details=judged, expectations=_met(judged), judge_passed=judge, passed=judge)
    result.pop("tool_checks", None)


def _met(entries: Iterable[Any]) -> str:
    """Count the entries that are met: ``met/total``."""
    statuses = [entry.get("status") if isinstance(entry, Mapping) else None for entry in entries]
    return f"{statuses.count('Met')}/{len(statuses)}"


def _entry(verdict: Verdict) -> dict[str, Any]:
    entry = {
        "operator": verdict.operator,
        "expectation": _PREFIX + _description(verdict),
        "status": "Met" if verdict.held else "Not Met",
        "justification": printable(verdict.explain(), _MOST_WORDS),
    }
    return {**entry, "inconclusive": True} if verdict.status == "inconclusive" else entry


def _description(verdict: Verdict) -> str:
    """Describe a check: operator and tool first, since reports group on the beginning, then the rest."""
    check = verdict.check
    if not isinstance(check, Operator):
        return verdict.label
    words = " ".join((check.type_name, *check.named_tools[:1]))
    named = f": {check.name}" if check.name else ""
    said = ", ".join(f"{field}={show(value)}" for field, value in _fields(check).items())
    return printable(f"{words}{named}{' ' if said else ''}{said}")


def _fields(check: Operator) -> dict[str, Any]:
    try:
        written = check.to_mapping()
    except ExpectationError:  # a matcher that only Python has
        return {}
    return {field: value for field, value in written.items() if field not in _LABEL_FIELDS}
