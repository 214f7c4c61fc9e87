"""Compare two reports, case by case and check by check."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from fractions import Fraction

from msgspec import Struct

from tracewitness.display import nearest_name, show
from tracewitness.errors import UsageError
from tracewitness.reports.document import ReportDocument

from .calls import changed_calls
from .fisher import fisher_exact, least_p_value
from .model import BAD_KINDS, CaseChange, CheckChange, Comparison, Kind, Rate
from .tallies import Tally, tallies_of

__all__ = ["compare"]


class _Change(Struct, frozen=True):
    """How one rate became another."""

    kind: Kind
    p_value: float | None = None
    allowed: str = ""


class _Limits(Struct, frozen=True):
    tolerance: Fraction
    alpha: Fraction | None


def compare(
    base: ReportDocument,
    new: ReportDocument,
    *,
    names: Collection[str] = (),
    tolerance: Fraction | str = Fraction(0),
    alpha: Fraction | str | None = None,
    allow_missing: bool = False,
) -> Comparison:
    """Compare two reports.

    A case or check broke where it holds less often than it did. One that holds in some runs and not in others is
    flaky. What is gone, or has no run that says something of the agent, is not well either: what held can't be told to
    hold.

    Arguments:
        base: the report as it was.
        new: the report as it is.
        names: where given, only cases with one of these names are compared.
        tolerance: a drop of the rate by so much, from 0 to below 1, does not count.
        alpha: a drop does not count where its p-value is this or more. It counts all the same where so few runs could
            never have a smaller one.
        allow_missing: whether cases and checks may be gone.

    Raises:
        UsageError: a report without any run, a name that is in neither, or a limit out of bounds.
    """
    limits = _Limits(_checked("tolerance", tolerance), None if alpha is None else _checked("alpha", alpha))
    for name, document in (("the base", base), ("the new report", new)):
        if not document.runs:
            raise UsageError(f"{name} has no run, so there is nothing to compare")
    before, now = tallies_of(base), tallies_of(new)
    chosen = _chosen([*before, *_others(now, before)], names)
    changes = [_case(name, before.get(name), now.get(name), limits) for name in chosen]
    told = tuple(change for change in changes if change.kind != "same" or change.checks or change.calls)
    counts = Counter(kind for change in told for kind in _kinds(change))
    bad = [kind for kind in BAD_KINDS if counts[kind] and not (allow_missing and kind == "vanished")]
    return Comparison(
        version=1,
        base=base.head,
        new=new.head,
        exit_status=1 if bad else 0,
        tolerance=float(limits.tolerance),
        alpha=None if limits.alpha is None else float(limits.alpha),
        counts={kind: count for kind, count in counts.items() if kind != "same"},
        unchanged=len(changes) - len(told),
        cases=told,
    )


def _checked(name: str, value: Fraction | str) -> Fraction:
    try:
        number = Fraction(value)
    except (ValueError, ZeroDivisionError) as error:
        raise UsageError(f"{name} is a number from 0 to below 1, not {value!r}") from error
    if not 0 <= number < 1:
        raise UsageError(f"{name} is a number from 0 to below 1, not {value}")
    return number


def _chosen(known: list[str], names: Collection[str]) -> list[str]:
    """Return the cases to compare. What is misspelt would seem to be as before, so it is refused."""
    for name in names:
        if name not in known:
            near = nearest_name(name, known)
            meant = f"{show(near)} was meant" if near else f"there are {', '.join(map(show, known[:20]))}"
            raise UsageError(f"no case {show(name)} in the reports; {meant}")
    return [name for name in known if not names or name in names]


def _others(names: Iterable[str], known: Iterable[str]) -> list[str]:
    seen = set(known)
    return [name for name in names if name not in seen]


def _kinds(change: CaseChange) -> Iterator[Kind]:
    yield change.kind
    for check in change.checks:
        yield check.kind


def _case(name: str, before: Tally | None, now: Tally | None, limits: _Limits) -> CaseChange:
    if now is None or before is None:
        change = _Change("vanished") if now is None else _appeared(now.rate)
        checks = () if now is None else tuple(_checks(Tally(), now, limits))
        return CaseChange(name, change.kind, _rate(before), _rate(now), change.p_value, change.allowed, checks)
    change = _case_change(before.rate, now.rate, limits)
    return CaseChange(
        name,
        change.kind,
        before.rate,
        now.rate,
        change.p_value,
        change.allowed,
        tuple(_checks(before, now, limits)),
        changed_calls(before, now),
    )


def _rate(tally: Tally | None) -> Rate | None:
    return None if tally is None else tally.rate


def _case_change(before: Rate, now: Rate, limits: _Limits) -> _Change:
    if before.runs and now.runs:
        return _between(before, now, limits)
    if before.runs:
        return _Change("undecided")
    return _appeared(now) if now.runs else _Change("same")


def _appeared(rate: Rate) -> _Change:
    """Say what something new is: where it does not hold in all runs, it did not fail before."""
    return _Change("new" if rate.passed == rate.runs else "newly_broken")


def _checks(before: Tally, now: Tally, limits: _Limits) -> Iterator[CheckChange]:
    """Yield the checks that are not as they were. What the case says already is not told of each of its checks.

    That is so where no new run came to be checked, and of what holds where there was no run before.
    """
    if not now.seen:
        return
    for label in [*before.seen, *_others(now.seen, before.seen)]:
        was = before.rate_of(label) if label in before.seen else None
        rate = now.rate_of(label) if label in now.seen else None
        if rate is None:
            change = _Change("vanished")
        else:
            change = _appeared(rate) if was is None else _between(was, rate, limits)
        is_told = change.kind == "new" and not before.conclusive
        if change.kind != "same" and not is_told:
            yield CheckChange(label, change.kind, was, rate, change.p_value, change.allowed, now.why.get(label, ""))


def _between(before: Rate, now: Rate, limits: _Limits) -> _Change:
    p_value = fisher_exact(before.passed, before.runs - before.passed, now.passed, now.runs - now.passed)
    told = float(p_value) if max(before.runs, now.runs) > 1 else None
    drop = before.share - now.share
    if drop > 0:
        allowed = _why_allowed(drop, p_value, least_p_value(before.runs, now.runs), limits)
        return _Change("flaky" if allowed else "newly_broken", told, allowed)
    if now.is_mixed:
        return _Change("flaky", told)
    return _Change("newly_held", told) if drop < 0 else _Change("same")


def _why_allowed(drop: Fraction, p_value: Fraction, least: Fraction, limits: _Limits) -> str:
    """Say why a drop does not count, or nothing."""
    if drop <= limits.tolerance:
        return "within the tolerance"
    if limits.alpha is not None and least < limits.alpha <= p_value:
        return "may be chance"
    return ""
