"""What the checks of a contract come to: their verdicts, and the forbidden calls that were made."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeGuard

from msgspec import UNSET

from tracewitness.display import plural
from tracewitness.expectations import (
    Claim,
    MaxErrors,
    MaxTurns,
    Operator,
    Score,
    ToolNotCalled,
    compile_checks,
    wording,
)
from tracewitness.scoring import ExpectedCall, Violation
from tracewitness.trace import ToolCall, Trace, short_tool_name
from tracewitness.verdict import Checked, Verdict

__all__ = ["is_plain_ban", "named_tools", "on_calls_alone", "verdicts_on", "violations_of"]

#: Hides the frames of this module in a test runner's traceback.
__tracebackhide__ = True


def verdicts_on(trace: Trace, checks: Sequence[Operator], score: Callable[[], Score] | None) -> list[Verdict]:
    """Return what the checks say of a trace.

    Arguments:
        score: makes the check of the score; None where nothing is scored. The score itself is not computed twice: the
            check is asked only where a tool's name may be ambiguous, and has a verdict only where that breaks it.
    """
    if score is None or not any(short_tool_name(call.name) for call in trace.index.calls):
        return compile_checks(checks).check(trace)
    scored, *others = compile_checks([score(), *checks]).check(trace)
    return others if _made_by(scored, wording.scored) else [scored, *others]


def on_calls_alone(verdicts: Iterable[Verdict], trace: Trace) -> list[Verdict]:
    """Return what verdicts come to on a list of calls: those that hold on what such a list does not say are broken."""
    return [_unknown(verdict, trace) or verdict if verdict.held else verdict for verdict in verdicts]


def _unknown(verdict: Verdict, trace: Trace) -> Verdict | None:
    check = verdict.check
    if isinstance(check, (Claim, MaxTurns)):
        return Verdict(check, "broken", (), (_no_messages,))
    if isinstance(check, MaxErrors):
        return _unknown_results(check, trace)
    return None


def _unknown_results(check: MaxErrors, trace: Trace) -> Verdict | None:
    """Count calls without a result as errors: whether they failed is not known."""
    calls = [call for call in trace.index.calls if check.tool is UNSET or _is_call_to(check.tool, call)]
    unknown = [call.position for call in calls if call.answer is None]
    failed = sum(call.is_error is True for call in calls)
    if failed + len(unknown) <= check.max:
        return None
    return Verdict(check, "broken", tuple(unknown), (_no_results, len(unknown)))


def _is_call_to(tool: str, call: ToolCall) -> bool:
    return tool in (call.name, short_tool_name(call.name))


def _no_messages() -> str:
    return "a list of calls says nothing of messages and turns; give a Trace or a recording"


def _no_results(count: int) -> str:
    return f"whether {plural(count, 'call')} failed is not known: a list of calls has results only where they are given"


def violations_of(verdicts: Iterable[Verdict], trace: Trace) -> tuple[Violation, ...]:
    """Return what breaks the bans: the calls that were made, and those that can't be ruled out."""
    if trace.no_evidence is not None:
        return ()
    return tuple(
        violation
        for verdict in verdicts
        if not verdict.held and is_plain_ban(verdict.check)
        for violation in _violations(verdict, trace)
    )


def is_plain_ban(check: Checked) -> bool:
    """Whether a check is a ban that a violation shows completely: one without marker, name and reason."""
    return _is_ban(check) and check.name is UNSET and check.reason is UNSET


def named_tools(operators: Iterable[Operator]) -> tuple[str, ...]:
    """Return the tools that checks name, but for those that bans name."""
    allowing = (operator for operator in operators if not _is_ban(operator))
    return tuple(dict.fromkeys(tool for operator in allowing for tool in operator.named_tools))


def _is_ban(check: Checked) -> TypeGuard[ToolNotCalled]:
    return isinstance(check, ToolNotCalled) and check.before is UNSET


def _violations(verdict: Verdict, trace: Trace) -> Iterator[Violation]:
    ban: Any = verdict.check
    rule = ExpectedCall(ban.tool, ban.args)
    reason = "" if _made_by(verdict, wording.forbidden) else verdict.justification
    calls = {call.position: call for call in trace.index.calls}
    for position in verdict.evidence or (None,):
        yield Violation(rule, position, None if position is None else calls.get(position), reason)


def _made_by(verdict: Verdict, words: Callable[..., str]) -> bool:
    """Whether a function made the words of a verdict."""
    make, *rest = verdict.words
    return (rest[0][0] if make is wording.from_text_alone else make) is words
