"""What came of a run as an entry of the report document: plain data, with what must not be shown hidden."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from msgspec import UNSET, Struct, structs

from tracewitness.display import printable
from tracewitness.errors import path_text
from tracewitness.evals import RunReport
from tracewitness.hidden_values import HiddenValues
from tracewitness.matching import MISSING
from tracewitness.redaction import Redaction, redact_events
from tracewitness.reports.document import (
    DifferenceEntry,
    JudgedEntry,
    NearMissEntry,
    ProblemEntry,
    RunEntry,
    StepEntry,
    VerdictEntry,
)
from tracewitness.scoring.plain import expectation_data, json_data
from tracewitness.suites import Place
from tracewitness.trace import Problem, Trace
from tracewitness.verdict import Checked, NearMiss, PathDifference, Verdict

__all__ = ["Entries", "events_of", "run_entry", "run_entry_and_hidden"]

_MOST_SHOWN: Final = 20_000
_FOR_EVER: Final = 1e12
#: So many checks are known at once; contracts of a test run may be any number.
_MOST_KNOWN: Final = 10_000
_NOTHING: Final = HiddenValues((), (), Redaction.none())


class _Known(Struct, frozen=True):
    """What is the same of a check in all runs.

    Attributes:
        check: the check; it is kept, so that no other one takes its identity.
        held: the entry of a verdict that held, without its words.
    """

    check: Checked
    reason: str
    held: VerdictEntry


class Entries:
    """Makes entries of what came of runs. What is the same of a check in all runs is made once.

    Arguments:
        redaction: what is hidden.
        suite: the eval file's name.
        in_full: whether entries have what happened, and the words of checks that held.
    """

    def __init__(self, redaction: Redaction, suite: str = "", *, in_full: bool = True) -> None:
        self._redaction = redaction
        self._suite = suite
        self._in_full = in_full
        self._known: dict[tuple[int, Place | None], _Known] = {}
        self._nothing = HiddenValues((), (), redaction)

    def run(self, report: RunReport) -> RunEntry:
        """Return what came of a run as an entry."""
        return self.run_and_hidden(report)[0]

    def run_and_hidden(self, report: RunReport) -> tuple[RunEntry, HiddenValues]:
        """Return what came of a run as an entry, and what was hidden in it."""
        row = report.data if isinstance(report.data, Mapping) else {}
        needs_words = (
            self._in_full or bool(self._redaction.paths) or report.status != "held" or report.outcome != "passed"
        )
        events, hidden = _events_and_hidden(report, row, self._redaction) if needs_words else (None, self._nothing)
        verdicts = [
            self.verdict(verdict, place, hidden) for verdict, place in zip(report.verdicts, report.places, strict=True)
        ]
        entry = RunEntry(
            source=_text(self._redaction.text(report.source)),
            number=report.number,
            place=_text(self._redaction.text(report.place)),
            name=_text(hidden.text(report.name)),
            case=None if report.case is None else _text(report.case),
            run=report.run,
            tags=tuple(map(_text, report.tags)),
            status=report.status,
            outcome=report.outcome,
            error=_text(hidden.text(report.error)) if report.error else "",
            verdicts=tuple(verdicts),
            steps=_steps(row, hidden),
            judged=_judged(row, hidden, self._redaction),
            events=events if self._in_full else None,
            problems=_problems(report.trace, hidden),
            **_told_of_row(row, hidden, self._redaction),
        )
        return entry, hidden

    def verdict(self, verdict: Verdict, place: Place | None, hidden: HiddenValues) -> VerdictEntry:
        """Return a verdict as an entry.

        Arguments:
            place: where the check stands in the eval file, if it does.
            hidden: what was hidden in the events.
        """
        known = self._known.get((id(verdict.check), place)) or self._learn(verdict, place)
        if verdict.held and not self._in_full:
            return known.held
        near = None if verdict.held else verdict.near_miss
        return structs.replace(
            known.held,
            status=verdict.status,
            evidence=verdict.evidence,
            justification=_text(self._without_expected(near, hidden.text(verdict.justification))),
            reason=_text(hidden.text(known.reason)) if known.reason else "",
            near_miss=None if near is None else _near_miss(near, hidden, self._redaction),
        )

    def _without_expected(self, near: NearMiss | None, text: str) -> str:
        """Return a text without what was expected at a place that is hidden: the words may quote it, too."""
        if near is None or not self._redaction.paths:
            return text
        before = [{"args": expectation_data(difference.expected)} for difference in near.differences]
        after = [
            {"args": self._redaction.value(each["args"], _plain_path(difference))}
            for each, difference in zip(before, near.differences, strict=True)
        ]
        return HiddenValues(before, after, Redaction.none()).text(text)

    def _learn(self, verdict: Verdict, place: Place | None) -> _Known:
        if len(self._known) >= _MOST_KNOWN:
            self._known.clear()
        held = VerdictEntry(
            operator=verdict.operator,
            label=_text(self._redaction.text(verdict.label)),
            status="held",
            evidence=(),
            justification="",
            reason="",
            tools=tuple(map(_text, getattr(verdict.check, "named_tools", ()))),
            near_miss=None,
            file=_text(self._suite) if place and self._suite else None,
            line=place.line if place else None,
            column=place.column if place else None,
        )
        known = self._known[id(verdict.check), place] = _Known(verdict.check, verdict.reason, held)
        return known


def run_entry(report: RunReport, redaction: Redaction, suite: str = "") -> RunEntry:
    """Return what came of one run as an entry.

    Arguments:
        report: what came of it.
        redaction: what is hidden.
        suite: the eval file's name.
    """
    return Entries(redaction, suite).run(report)


def run_entry_and_hidden(report: RunReport, redaction: Redaction) -> tuple[RunEntry, HiddenValues]:
    """Return what came of one run as an entry, and what was hidden in it, for who tells more of it.

    Arguments: as of `run_entry`.
    """
    return Entries(redaction).run_and_hidden(report)


def events_of(trace: Trace, redaction: Redaction) -> tuple[list[Any], HiddenValues]:
    """Return a trace's events as plain data without what is hidden, and what that was."""
    return _redacted(trace.to_events(), redaction)


def _events_and_hidden(
    report: RunReport, row: Mapping[Any, Any], redaction: Redaction
) -> tuple[list[Any] | None, HiddenValues]:
    """Return a run's events. A run that failed is no evidence, but its row may say what happened until then."""
    if report.trace is not None and len(report.trace):
        return events_of(report.trace, redaction)
    written = row.get("trace")
    if isinstance(written, list):
        return _redacted(written, redaction)
    return None if report.trace is None else [], HiddenValues.of_no_events(redaction)


def _redacted(events: Sequence[Any], redaction: Redaction) -> tuple[list[Any], HiddenValues]:
    before: list[Any] = json_data(list(events))
    if not redaction:
        return before, _NOTHING
    after = redact_events(before, redaction)
    hidden = HiddenValues(before, after, redaction)
    return [hidden.event(event) for event in after], hidden


def _near_miss(near: NearMiss, hidden: HiddenValues, redaction: Redaction) -> NearMissEntry:
    differences = [_difference(difference, hidden, redaction) for difference in near.differences]
    return NearMissEntry(near.position, _text(printable(near.tool)), tuple(differences))


def _difference(difference: PathDifference, hidden: HiddenValues, redaction: Redaction) -> DifferenceEntry:
    path = _plain_path(difference)

    def shown(value: Any, data: Any) -> tuple[Any, bool]:
        if value is MISSING:
            return UNSET, False
        told = hidden.value(redaction.value(data, path)) if redaction else data
        return told, told != data

    expected, one_is_hidden = shown(difference.expected, expectation_data(difference.expected))
    actual, other_is_hidden = shown(difference.actual, json_data(difference.actual))
    place = printable(path_text(path, root=""))
    words, reason = str(difference), printable(difference.reason, 500)
    if one_is_hidden or other_is_hidden:  # a reason may quote both
        words, reason = f"{place}: {_in_words(expected, actual)}", ""
    return DifferenceEntry(
        path=_text(hidden.text(place)),
        reason=_text(hidden.text(reason)),
        text=_text(hidden.text(words)),
        expected=expected,
        actual=actual,
    )


def _plain_path(difference: PathDifference) -> tuple[str | int, ...]:
    return tuple(part if isinstance(part, (str, int)) else str(part) for part in difference.path)


def _in_words(expected: Any, actual: Any) -> str:
    """Say what differs of which a part is hidden."""
    if expected is UNSET:
        return f"did not expect {_shown(actual)}"
    if actual is UNSET:
        return f"expected {_shown(expected)}, but it is missing"
    return f"expected {_shown(expected)}, got {_shown(actual)}"


def _shown(data: Any) -> str:
    return printable(data if isinstance(data, str) else repr(data), 80)


# -------------------------------------------------------------------------------------------- rows of a simulation


def _steps(row: Mapping[Any, Any], hidden: HiddenValues) -> tuple[StepEntry, ...]:
    return tuple(
        StepEntry(
            goal=_said(step, "goal", hidden),
            success_criteria=_said(step, "success_criteria", hidden),
            status=_said(step, "status", hidden),
            justification=_told(step, hidden),
        )
        for step in _mappings(row.get("step_details"))
    )


def _judged(row: Mapping[Any, Any], hidden: HiddenValues, redaction: Redaction) -> tuple[JudgedEntry, ...]:
    """Return what a judge decided: the entries that name no operator."""
    return tuple(
        JudgedEntry(
            expectation=_said(entry, "expectation", hidden),
            status=_said(entry, "status", hidden),
            justification=_told(entry, hidden),
            title=_said(entry, "title", hidden) if entry.get("title") else UNSET,
            votes=_data(entry["votes"], hidden, redaction) if "votes" in entry else UNSET,
        )
        for entry in _mappings(row.get("expectation_details"))
        if not isinstance(entry.get("operator"), str)
    )


def _mappings(value: Any) -> Iterable[Mapping[Any, Any]]:
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else ()


def _said(entry: Mapping[Any, Any], key: str, hidden: HiddenValues) -> str:
    return _text(hidden.text(_words(entry, key)))


def _told(entry: Mapping[Any, Any], hidden: HiddenValues) -> str:
    return _text(hidden.told(_words(entry, "justification")))


def _words(entry: Mapping[Any, Any], key: str) -> str:
    value = entry.get(key, "")
    return value if isinstance(value, str) else str(json_data(value))


def _data(value: Any, hidden: HiddenValues, redaction: Redaction) -> Any:
    """Return data of a row that is no part of the trace, with what must not be shown hidden."""
    return hidden.value(redaction.value(json_data(value)))


def _told_of_row(row: Mapping[Any, Any], hidden: HiddenValues, redaction: Redaction) -> dict[str, Any]:
    """Return what else a row tells, as far as it is what it should be."""
    told: dict[str, Any] = {}
    for key in ("error_kind", "traceback", "session_id"):
        if isinstance(row.get(key), str) and row[key]:
            told[key] = _text(hidden.told(row[key]) if key == "traceback" else hidden.text(row[key]))
    turns, duration = row.get("turns"), row.get("duration_s")
    if isinstance(turns, int) and not isinstance(turns, bool) and turns >= 0:
        told["turns"] = turns
    if isinstance(duration, (int, float)) and not isinstance(duration, bool) and 0 <= duration < _FOR_EVER:
        told["duration_s"] = float(duration)
    if "usage" in row:
        told["usage"] = _data(row["usage"], hidden, redaction)
    return told


def _problems(trace: Trace | None, hidden: HiddenValues) -> tuple[ProblemEntry, ...]:
    problems: tuple[Problem, ...] = () if trace is None else trace.problems
    return tuple(
        ProblemEntry(
            reason=_text(hidden.text(problem.reason)),
            position=problem.position,
            place=_text(hidden.text(problem.place)),
            hides_call=problem.hides_call,
            cut=problem.cut,
        )
        for problem in problems
    )


def _text(text: str) -> str:
    """Return a text without lone surrogates, which have no UTF-8, and no longer than can be of use."""
    text = text[:_MOST_SHOWN]
    return str(text) if text.isascii() else text.encode("utf-8", "backslashreplace").decode("utf-8")
