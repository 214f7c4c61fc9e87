"""The table of a broken contract: expected and actual calls side by side, by pairing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from msgspec import UNSET

from tracewitness.display import plural, printable, show
from tracewitness.expectations.wording import near_tool
from tracewitness.scoring import EvaluationResult, ExpectedCall, Pair, Violation, out_of_order
from tracewitness.trace import MalformedArguments, ToolCall
from tracewitness.verdict import Verdict

__all__ = ["nearest_calls", "table"]

_WIDTH = 48
_ROWS = 60
_MARK = 13
_OK = "ok"


class _Row(NamedTuple):
    """A row of the table, and what stands below it.

    Attributes:
        mark: what is to be said of it: ``ok``, ``MISSING`` and the like.
        expected: what was expected.
        actual: what came.
        place: where in the trace, and whether it failed.
        below: lines of detail.
    """

    mark: str
    expected: str
    actual: str
    place: str = ""
    below: tuple[str, ...] = ()


def table(result: EvaluationResult, broken: Sequence[Verdict]) -> list[str]:
    """Lay out what was expected and what came, and the checks that are broken.

    Arguments:
        broken: the verdicts that are not held, and not shown as violations.
    """
    rows = [*_paired(result), *_missing(result), *_forbidden(result), *_extra(result)]
    kept = _shortened(rows)
    lines = list(_laid_out(kept)) if rows else []
    if len(kept) < len(rows):
        lines.append(f"{'…':{_MARK}}{plural(len(rows) - len(kept), 'more row')}, of which {_ok(rows) - _ok(kept)} ok")
    return [*lines, *(line for verdict in broken for line in _broken(verdict))]


def nearest_calls(result: EvaluationResult) -> dict[str, str | None]:
    """Return for each missing tool the unexpected one that was probably meant, or None."""
    called = list(dict.fromkeys(call.name for call in result.unexpected_calls))
    return {tool: near_tool(tool, called) for tool in {call.tool for call in result.missing_calls}}


def _paired(result: EvaluationResult) -> Iterator[_Row]:
    early = out_of_order(result.pairs)
    for pair in result.pairs:
        below = tuple(str(difference) for difference in pair.differences)
        yield _Row(_mark(pair, early), _expected(pair.expected), *_actual(pair.actual), below)


def _mark(pair: Pair, early: set[int]) -> str:
    if pair.actual.position in early:
        return "WRONG ORDER"
    return _OK if pair.is_exact else "DIFFERENT"


def _missing(result: EvaluationResult) -> Iterator[_Row]:
    near_names = nearest_calls(result)
    for call in result.missing_calls:
        near = near_names[call.tool]
        below = (f"{printable(near, 60)} was called: is it the same tool?",) if near else ()
        yield _Row("MISSING", _expected(call), "-", "", below)


def _forbidden(result: EvaluationResult) -> Iterator[_Row]:
    for violation in result.violations:
        below = (printable(violation.reason),) if violation.reason else ()
        yield _Row("FORBIDDEN", f"no {_expected(violation.rule)}", *_made(violation), below)


def _made(violation: Violation) -> tuple[str, str]:
    return ("can't be ruled out", "") if violation.call is None else _actual(violation.call)


def _extra(result: EvaluationResult) -> Iterator[_Row]:
    forbidden = {violation.position for violation in result.violations}
    for call in result.unexpected_calls:
        if call.position not in forbidden:
            yield _Row("EXTRA", "-", *_actual(call))


def _shortened(rows: list[_Row]) -> list[_Row]:
    """Leave out rows where there are too many, those that are ok first."""
    room = max(0, _ROWS - sum(row.mark != _OK for row in rows))
    kept = []
    for row in rows:
        if row.mark != _OK or room > 0:
            kept.append(row)
            room -= row.mark == _OK
    return kept[:_ROWS]


def _ok(rows: Iterable[_Row]) -> int:
    return sum(row.mark == _OK for row in rows)


def _laid_out(rows: Sequence[_Row]) -> Iterator[str]:
    shown = (_Row("", "expected", "actual"), *rows)
    expected, actual = _padded([row.expected for row in shown]), _padded([row.actual for row in shown])
    for row, wanted, came in zip(shown, expected, actual, strict=True):
        yield f"{row.mark:{_MARK}}{wanted}  {came}  {row.place}".rstrip()
        for line in row.below:
            yield f"{'':{_MARK}}  {line}"


def _padded(texts: Sequence[str]) -> list[str]:
    """Make texts equally wide, as a terminal shows them: an ideograph or an emoji takes two cells."""
    from rich.cells import cell_len  # takes its time to import, and only failures need it

    widths = [cell_len(text) for text in texts]
    return [text + " " * (max(widths) - width) for text, width in zip(texts, widths, strict=True)]


def _broken(verdict: Verdict) -> Iterator[str]:
    yield f"{verdict.status.upper():{_MARK}}{verdict.label}: {verdict.justification}"
    near = verdict.near_miss
    for difference in () if near is None else near.differences:
        yield f"{'':{_MARK}}  nearest, at event {near.position if near else ''}: {difference}"
    if verdict.reason:
        yield f"{'':{_MARK}}  reason: {printable(verdict.reason)}"


def _expected(call: ExpectedCall) -> str:
    args = call.args
    if args is UNSET:
        return printable(f"{call.tool}(…)", _WIDTH)
    shown = _keywords(args.items()) if isinstance(args, Mapping) else show(args, 30)
    return printable(f"{call.tool}({shown})", _WIDTH)


def _actual(call: ToolCall) -> tuple[str, str]:
    args = "<malformed>" if isinstance(call.args, MalformedArguments) else _keywords(call.args.items())
    failed = ", failed" if call.is_error else ""
    return printable(f"{call.name}({args})", _WIDTH), f"event {call.position}{failed}"


def _keywords(items: Iterable[tuple[object, object]]) -> str:
    return ", ".join(f"{key}={show(value, 24)}" for key, value in items)
