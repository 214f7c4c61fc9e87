"""Rows of a simulation's results as entries of the report document, as they say themselves what came of them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Final, TypeGuard

import msgspec

from tracewitness.errors import ReadError
from tracewitness.evals import OUTCOMES, RunOutcome, RunReport, status_of
from tracewitness.hidden_values import HiddenValues
from tracewitness.readers import Run
from tracewitness.redaction import Redaction
from tracewitness.reports.document import RunEntry, VerdictEntry
from tracewitness.reports.entries import run_entry_and_hidden
from tracewitness.verdict import Status

__all__ = ["entry_of_row", "judged_too"]

_PREFIX: Final = "[tool] "
#: No case has so many runs; a larger number would be none that every reader of the report can hold.
_LARGEST: Final = 2**31
_OWN_OUTCOMES: Final[dict[Any, RunOutcome]] = {
    "failed": "failed",
    "inconclusive": "inconclusive",
    "infrastructure": "infrastructure",
    "not_run": "not_run",
}


def entry_of_row(run: Run, taken: Collection[int], redaction: Redaction) -> RunEntry:
    """Return what a row says of its run.

    Arguments:
        run: the run as it was read.
        taken: the numbers of the runs of its case that came before. A row may say its own, but rows of several files
            say the same.
        redaction: what is hidden.

    Raises:
        ReadError: it is no row of a simulation's results.
    """
    row = run.data
    if not isinstance(row, Mapping) or not isinstance(row.get("passed"), bool):
        problem = "a recording says not by itself what is expected of it; name the eval file with --suite"
        raise ReadError(problem, run.source, run.place)
    error = row.get("error")
    told = error if isinstance(error, str) else "" if not error else str(error)
    own_number = row.get("run")
    report = RunReport(
        *(run.source, run.number, run.place, run.name, run.name),
        error=told or ("" if run.error is None else run.error.problem),
        run=own_number if _is_free(own_number, taken) else max(taken, default=0) + 1,
        trace=run.trace,
        data=row,
    )
    entry, hidden = run_entry_and_hidden(report, redaction)
    verdicts = tuple(_verdicts(row, hidden))
    status = entry.status if entry.error else status_of(verdict.status for verdict in verdicts)
    return judged_too(msgspec.structs.replace(entry, verdicts=verdicts, status=status, outcome=OUTCOMES[status]), row)


def _is_free(number: Any, taken: Collection[int]) -> TypeGuard[int]:
    return type(number) is int and 0 < number <= _LARGEST and number not in taken


def judged_too(entry: RunEntry, row: Any) -> RunEntry:
    """Return an entry whose outcome is also what its row says: what a judge found, or that it never came to that."""
    if not isinstance(row, Mapping):
        return entry
    own = _OWN_OUTCOMES.get(row.get("outcome")) if isinstance(row.get("outcome"), str) else None
    if own is None and row.get("passed") is False:
        own = "failed"
    is_broken = entry.outcome == "failed" and own not in ("infrastructure", "not_run")
    return entry if own is None or is_broken else msgspec.structs.replace(entry, outcome=own)


def _verdicts(row: Mapping[Any, Any], hidden: HiddenValues) -> list[VerdictEntry]:
    """Return the checks that were folded into a row. Of their evidence it has only the words."""
    details = row.get("expectation_details")
    own = [each for each in details if _is_check(each)] if isinstance(details, list) else []
    return [
        VerdictEntry(
            operator=each["operator"],
            label=hidden.text(each["expectation"].removeprefix(_PREFIX)),
            status="held" if each.get("status") == "Met" else _unmet(each),
            evidence=(),
            justification=hidden.told(str(each.get("justification", ""))),
            reason="",
            tools=(),
            near_miss=None,
            file=None,
            line=None,
            column=None,
        )
        for each in own
    ]


def _unmet(entry: Mapping[str, Any]) -> Status:
    return "inconclusive" if entry.get("inconclusive") is True else "broken"


def _is_check(entry: Any) -> bool:
    if not isinstance(entry, Mapping) or not isinstance(entry.get("operator"), str):
        return False
    return isinstance(entry.get("expectation"), str)
