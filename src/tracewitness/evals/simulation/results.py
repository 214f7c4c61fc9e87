"""The rows of a simulation's results: one for each run, strict JSON, in the shape that simulation tools read.

The checks are made on the row as a reader of the file will see it, so that ``tracewitness check`` comes to the same
verdicts on the file.
"""

from __future__ import annotations

import json
import math
import traceback
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, Literal

import msgspec
from msgspec import Struct, structs

from tracewitness.display import show
from tracewitness.errors import AgentError, InfrastructureError, UsageError
from tracewitness.evals.simulation.conversation import Conversation, Usage
from tracewitness.evals.simulation.judge import JudgedEntry, Judgement
from tracewitness.evals.simulation.user import StepProgress
from tracewitness.evals.tool_expectations import apply_to_result
from tracewitness.expectations import parse_operator
from tracewitness.readers import read_text_trace
from tracewitness.readers.literals import MAX_DEPTH
from tracewitness.readers.text_trace_writing import text_entries
from tracewitness.suites import Case
from tracewitness.trace import MalformedResult, Message, ToolCall, Trace
from tracewitness.verdict import Verdict

__all__ = ["ErrorKind", "Outcome", "Played", "Row", "Spent", "error_row", "finished_row", "not_run_row"]

Outcome = Literal["passed", "failed", "inconclusive", "infrastructure", "not_run"]
ErrorKind = Literal["agent", "infrastructure"]

_TRACE_PARSED: Final = parse_operator({"type": "trace_parsed"})
_MOST_ERROR: Final = 20_000
#: Fewer binary digits than any reader refuses: Python reads numbers of up to 4,300 decimal ones.
_MOST_BITS: Final = 14_000


class Spent(Struct, frozen=True):
    """What a run used of models, by who asked them."""

    user: Usage = Usage()
    judge: Usage = Usage()
    agent: Usage = Usage()

    @property
    def total(self) -> Usage:
        """All of it."""
        return self.user + self.judge + self.agent

    def __add__(self, other: Spent) -> Spent:
        return Spent(self.user + other.user, self.judge + other.judge, self.agent + other.agent)

    def to_dict(self) -> dict[str, Any]:
        """Return it as it stands in a row."""
        parts = {"user": self.user, "judge": self.judge, "agent": self.agent}
        return structs.asdict(self.total) | {name: structs.asdict(part) for name, part in parts.items()}


class Played(Struct, frozen=True):
    """What was played of a run, to its end or until something failed.

    Attributes:
        case, run: the case, and the run's number, from 1.
        session_id: what the session is called.
        conversation, steps: what was said and done, and how far the user got.
        duration: how long it took, in seconds.
        spent: what was used of models.
    """

    case: Case
    run: int
    session_id: str
    conversation: Conversation
    steps: Sequence[StepProgress]
    duration: float
    spent: Spent


class _Written(Struct, frozen=True):
    """What a row has to have."""

    name: str
    run: int
    passed: bool
    outcome: Outcome
    usage: Usage = Usage()


class Row(Struct, frozen=True):
    """One run in the results.

    Attributes:
        data: the row, plain data that strict JSON can hold.
    """

    data: dict[str, Any]

    @classmethod
    def from_data(cls, data: Any) -> Row:
        """Take a row that was written before.

        Raises:
            UsageError: it is none.
        """
        fields = data if isinstance(data, Mapping) else {}
        try:
            msgspec.convert(fields, _Written)
        except msgspec.ValidationError as error:
            raise UsageError(f"no row of a simulation's results: {error}; it is {show(data)}") from error
        return cls(dict(fields))

    @property
    def name(self) -> str:
        """The case's name."""
        return str(self.data["name"])

    @property
    def key(self) -> tuple[str, int]:
        """The case's name and the run's number; no other row has the two."""
        return self.name, self.data["run"]

    @property
    def outcome(self) -> Outcome:
        """What became of the run.

        It is inconclusive where verdicts of the judge are missing and nothing else failed it. A broken tool check, a
        goal that was not reached or a verdict that is Not Met fail it, whatever the missing verdicts would have been.
        """
        outcome: Outcome = self.data["outcome"]
        return outcome

    @property
    def is_conclusive(self) -> bool:
        """Whether it says something of the agent. If not, the run may be tried again."""
        return self.outcome in ("passed", "failed")

    @property
    def usage(self) -> Usage:
        """What was used of models."""
        return msgspec.convert(self.data.get("usage", {}), Usage)

    def encoded(self) -> bytes:
        """Return the row as JSON on one line."""
        return json.dumps(self.data, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode("utf-8")


def finished_row(played: Played, judgement: Judgement) -> Row:
    """Make the row of a run that was played to its end."""
    completed = sum(step.status == "completed" for step in played.steps)
    reached = completed == len(played.steps)
    judge_passed = reached and judgement.passed and not judgement.missing
    data = _beginning(played)
    data |= {
        "passed": judge_passed,
        "judge_passed": judge_passed,
        "outcome": "failed",
        "goals": f"{completed}/{len(played.steps)}",
        "expectations": "0/0",
        "tool_checks": "0/0",
        **_account(played),
        "expectation_details": [_judged(entry) for entry in judgement.entries],
        "usage": played.spent.to_dict(),
    }
    # A case without checks has the one that every run has.
    checks = {"tool_expectations": played.case.tool_expectations or (_TRACE_PARSED,), "aliases": played.case.aliases}
    verdicts = apply_to_result(checks, data, judge_passed=judge_passed)
    if judgement.missing:
        data |= {"inconclusive": True, "missing_verdicts": judgement.missing}
    otherwise_good = all(entry.status == "Met" or not entry.decided for entry in judgement.entries)
    otherwise_good = otherwise_good and reached and all(_may_hold(verdict) for verdict in verdicts)
    data["outcome"] = "passed" if data["passed"] else "inconclusive" if otherwise_good else "failed"
    if data["outcome"] == "inconclusive":
        data["inconclusive"] = True
    return Row(data)


def _may_hold(verdict: Verdict) -> bool:
    return verdict.status in ("held", "inconclusive")


def error_row(played: Played, kind: ErrorKind, error: BaseException, raised: BaseException | None = None) -> Row:
    """Make the row of a run that an error ended; it keeps what happened until then.

    Arguments:
        kind: whether the agent failed, or something around it.
        error: what ended it.
        raised: what was raised by code that is not this library's, whose traceback is kept.
    """
    lines = traceback.format_exception_only(error)
    message = str(error) if isinstance(error, (AgentError, InfrastructureError)) else "".join(lines).strip()
    data = _beginning(played)
    data |= {
        "passed": False,
        "outcome": "failed" if kind == "agent" else "infrastructure",
        "error": _text(message or type(error).__name__, _MOST_ERROR),
        "error_kind": kind,
    }
    if raised is not None:
        data["traceback"] = _text("".join(traceback.format_exception(raised)), _MOST_ERROR)
    return Row(data | _account(played) | {"usage": played.spent.to_dict()})


def not_run_row(case: Case, run: int, reason: str) -> Row:
    """Make the row that stands for a run that was not begun."""
    error = {"error": f"not run: {reason}", "error_kind": "not_run"}
    return Row({"name": _text(case.name), "run": run, "passed": False, "outcome": "not_run", **error})


def _beginning(played: Played) -> dict[str, Any]:
    return {"name": _text(played.case.name), "run": played.run}


def _account(played: Played) -> dict[str, Any]:
    """Return what was said and done."""
    trace = played.conversation.trace(played.case.name)
    events = [_event(event) for event in trace.to_events()]
    told: dict[str, Any] = {"trace": events}
    problems = [_problem(problem) for problem in trace.reader_problems]
    if problems:
        told["trace_problems"] = problems
    as_read = read_text_trace(told) if events else trace
    return {
        "turns": played.conversation.turns,
        "duration_s": round(played.duration, 3),
        "session_id": _text(played.session_id),
        "session_parameters": _mapping(played.case.session_parameters),
        "transcript": "\n".join(_transcript(as_read)),
        "detailed_trace": text_entries(as_read),
        **told,
        "step_details": [_step(step) for step in played.steps],
    }


def _transcript(trace: Trace) -> Iterator[str]:
    for event in trace.events:
        if isinstance(event, Message) and event.role != "system":
            yield f"{event.role.title()}: {event.text}"
        elif isinstance(event, ToolCall):
            yield f"Agent Action: Call Tool {event.name} with args {event.args}"


def _step(step: StepProgress) -> dict[str, Any]:
    return {
        "goal": _text(step.goal or step.static_utterance),
        "success_criteria": _text(step.success_criteria),
        "status": step.status.replace("_", " ").title(),
        "justification": _text(step.justification),
    }


def _judged(entry: JudgedEntry) -> dict[str, Any]:
    """Return a judge's entry as it stands in a row."""
    told = {
        "expectation": _text(entry.expectation),
        "status": entry.status,
        "justification": _text(entry.justification),
        "votes": structs.asdict(entry.votes),
    }
    return {"title": _text(entry.title), **told} if entry.title else told


# --------------------------------------------------------------------------------------------------- plain data

_MISSING: Final = object()


class _NotJsonError(ValueError):
    """A value that strict JSON can't hold as it is."""


def _text(text: str, most: int | None = None) -> str:
    """Return a text without lone surrogates, which have no UTF-8."""
    text = text[:most]
    return str(text) if text.isascii() else text.encode("utf-8", "backslashreplace").decode("utf-8")


def _mapping(value: Mapping[str, Any]) -> Any:
    """Return a mapping as plain data, or as a text that shows it."""
    try:
        return _plain(value)
    except _NotJsonError:
        return show(value, _MOST_ERROR)


def _event(event: Any) -> Any:
    """Return an event as plain data.

    What JSON can't hold of arguments or a result, such as NaN or an object, is kept as a text that could not be
    decoded: it is there, and matches nothing.
    """
    if not isinstance(event, Mapping):
        return show(event, _MOST_ERROR)
    written: dict[str, Any] = {}
    for key, value in event.items():
        plain = _plain_or_missing(value)
        if plain is not _MISSING:
            written[key] = plain
        elif key in ("args", "result"):
            raw = value.raw if isinstance(value, MalformedResult) else show(value, _MOST_ERROR)
            written[f"raw_{key}"] = _text(raw)
    return written


def _problem(problem: Any) -> dict[str, Any]:
    return {name: _text(value) if isinstance(value, str) else value for name, value in structs.asdict(problem).items()}


def _plain_or_missing(value: Any) -> Any:
    try:
        return _plain(value)
    except _NotJsonError:
        return _MISSING


def _plain(value: Any, depth: int = 0) -> Any:
    """Return a value as strict JSON has it. Most values are of the plain types, which are tested first.

    Raises:
        _NotJsonError: JSON can't hold it.
    """
    kind = type(value)
    if kind is str:
        return value if value.isascii() else _text(value)
    if value is None or kind is bool:
        return value
    if isinstance(value, int) and value.bit_length() < _MOST_BITS:
        return int(value)
    if isinstance(value, float) and math.isfinite(value):
        return float(value)
    if depth < MAX_DEPTH and isinstance(value, (list, tuple)):
        return [_plain(item, depth + 1) for item in value]
    if depth < MAX_DEPTH and (kind is dict or isinstance(value, Mapping)):
        if all(isinstance(key, str) for key in value):
            plain = {_text(key): _plain(item, depth + 1) for key, item in value.items()}
            if len(plain) == len(value):
                return plain
    elif isinstance(value, str):
        return _text(value)
    raise _NotJsonError(kind.__name__)
