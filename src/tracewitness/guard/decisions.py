"""What a guard answers to a call that is about to be made."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from tracewitness.display import printable
from tracewitness.errors import TracewitnessError
from tracewitness.verdict import Verdict

__all__ = ["Action", "BlockedCallError", "Decision"]

Action = Literal["allow", "warn", "block"]

#: A reason goes to a model, so that it has an end.
_MOST_OF_A_REASON = 1000


class Decision(Struct, frozen=True):
    """The answer to one call.

    Attributes:
        action: ``allow``; ``warn``, the call may be made and breaks a check; or ``block``, it must not be made.
        tool: the tool's name, as the guard was told.
        call_id: the id that the call has in the trace; hand it to `Guard.result`.
        reasons: why, a line for each check, for the model and for the log.
        verdicts: what each of these checks would say, in the same order; empty where the guard itself failed.
    """

    action: Action
    tool: str
    call_id: str | int
    reasons: tuple[str, ...] = ()
    verdicts: tuple[Verdict, ...] = ()

    @property
    def allowed(self) -> bool:
        """Whether the call may be made."""
        return self.action != "block"

    @property
    def message(self) -> str:
        """What the model is told in place of a result."""
        return f"The call to {printable(self.tool, 100)} was not made: {'; '.join(self.reasons)}"


class BlockedCallError(TracewitnessError):
    """A tool that a guard watches was called, and the call was not made.

    Arguments:
        decision: the guard's answer.
    """

    __module__ = "tracewitness.guard"

    def __init__(self, decision: Decision) -> None:
        self.decision = decision
        super().__init__(decision.message)

    def __reduce__(self) -> tuple[type[BlockedCallError], tuple[Decision]]:
        return type(self), (self.decision,)


def reason_of(verdict: Verdict) -> str:
    """Say for the model why a check stands against a call: the author's own words first, where there are any."""
    explained = printable(verdict.justification, _MOST_OF_A_REASON)
    return f"{printable(verdict.reason, _MOST_OF_A_REASON)} ({explained})" if verdict.reason else explained
