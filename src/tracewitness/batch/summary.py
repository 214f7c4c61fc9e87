"""What a scan found, in words: checks by how often they broke, the tools and reasons, and rates by column."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Final

import msgspec

from tracewitness.batch.kernel import READ_OPERATOR
from tracewitness.batch.scanning import ScanResult
from tracewitness.batch.tally import OTHER, CheckTally, Tally, ValueTally
from tracewitness.display import plural, printable
from tracewitness.fluent.rates import wilson_interval

__all__ = ["summary_lines"]

_MOST_LINES: Final = 10
_MOST_VALUES: Final = 20
_WIDEST: Final = 60


def summary_lines(result: ScanResult, *, quiet: bool = False) -> Iterator[str]:
    """Yield the summary of a scan, a line each.

    Arguments:
        quiet: whether to leave out all but the last line.
    """
    tally = result.tally
    if not quiet:
        yield from _section("checks by how often they are not held", list(_checks(tally)))
        yield from _section("tools by checks that are not held", list(_tools(tally)))
        yield from _section("reasons", list(_reasons(tally)))
        yield from _section("records that can't be read, for example", list(_unreadable(tally)))
        for column, values in tally.by.items():
            yield from _section(f"broken by {printable(column)}", list(_values(values)))
        if result.missing:
            names = ", ".join(map(printable, result.missing[:_MOST_LINES]))
            rest = f" and {len(result.missing) - _MOST_LINES} more" if len(result.missing) > _MOST_LINES else ""
            yield from _section(f"{plural(len(result.missing), 'case')} without a run", [f"{names}{rest}"])
    yield _last_line(result)


def _section(title: str, lines: list[str]) -> Iterator[str]:
    if lines:
        yield f"{title}:"
        yield from (f"  {line}" for line in lines)
        yield ""


def _checks(tally: Tally) -> Iterator[str]:
    broken = [check for check in tally.checks.values() if check.held < check.runs and check.operator != READ_OPERATOR]
    broken.sort(key=lambda check: (check.held / check.runs, -check.runs, check.case or "", check.check or 0))
    for check in broken[:_MOST_LINES]:
        examples = ", ".join(printable(each.trace_id) for each in check.examples)
        errors = f", {check.error:,} of them errors" if check.error else ""
        yield f"{_rate(check.runs - check.held, check.runs)}{errors}  {_title(check)}  e.g. {examples}"
    yield from _rest(len(broken), _MOST_LINES, "check")


def _most(counts: Mapping[str, int]) -> list[tuple[str, int]]:
    """Return the most frequent; of equally many the first by name, whichever part of the input was ready first."""
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:_MOST_LINES]


def _title(check: CheckTally) -> str:
    case = "common to all" if check.case is None else printable(check.case, _WIDEST)
    return f"{printable(check.label, _WIDEST)}  ({case})"


def _rest(count: int, shown: int, noun: str) -> Iterator[str]:
    if count > shown:
        yield f"and {plural(count - shown, noun)} more"


def _tools(tally: Tally) -> Iterator[str]:
    tools = Counter[str]()
    for check in tally.checks.values():
        if check.tool is not None and check.held < check.runs:
            tools[check.tool] += check.runs - check.held
    yield from (f"{count:>9,}  {printable(tool, _WIDEST)}" for tool, count in _most(tools))
    yield from _rest(len(tools), _MOST_LINES, "tool")


def _reasons(tally: Tally) -> Iterator[str]:
    yield from (f"{count:>9,}  {printable(reason, 160)}" for reason, count in _most(tally.reasons))
    yield from _rest(len(tally.reasons), _MOST_LINES, "reason")


def _unreadable(tally: Tally) -> Iterator[str]:
    yield from (f"{printable(each.trace_id)}: {printable(each.why)}" for each in tally.unreadable_examples)


def _values(values: dict[str, ValueTally]) -> Iterator[str]:
    """Yield the most frequent values, each with the share of its runs that are broken, and how sure that is."""
    known = sorted(values.items(), key=lambda item: (-sum(msgspec.structs.astuple(item[1])), item[0]))
    for value, counts in known[:_MOST_VALUES]:
        name = printable(value, _WIDEST) if value else "(none)"
        read = counts.held + counts.broken
        unread = _not_told(counts)
        yield f"{_rate(counts.broken, read) if read else 'no run could be read':<50}  {name}{unread}"
    yield from _rest(len(known) - (OTHER in values), _MOST_VALUES, "value")


def _not_told(counts: Tally | ValueTally) -> str:
    """Say how many runs are in no rate: those that were cut, and those that could not be read."""
    cut = f", {counts.inconclusive:,} inconclusive" if counts.inconclusive else ""
    return cut + (f", {counts.unreadable:,} could not be read" if counts.unreadable else "")


def _rate(broken: int, runs: int) -> str:
    """Write a share with its 95 % interval.

    >>> _rate(1, 10)
    ' 10.0 % (95 %: 1.8 to 40.4)  1 of 10'
    """
    low, high = (bound * 100 for bound in wilson_interval(broken, runs))
    return f"{broken / runs * 100:5.1f} % (95 %: {low:.1f} to {high:.1f})  {broken:,} of {runs:,}"


def _last_line(result: ScanResult) -> str:
    tally = result.tally
    rate = tally.runs / result.seconds if result.seconds else 0
    unread = _not_told(tally)
    in_format = f", read as {result.format_name}" if result.format_name else ""
    before = f", {plural(result.resumed, 'part')} from before" if result.resumed else ""
    died = f", {plural(result.deaths, 'worker')} died and came back" if result.deaths else ""
    counts = f"{tally.runs:,} runs: {tally.held:,} held, {tally.broken:,} broken{unread}"
    return (
        f"{counts}; {result.seconds:.1f} s, {rate:,.0f} a second{in_format}{before}{died}; {printable(result.output)}"
    )
