"""Hold back, before it is made, a call that would break a check for good."""

from tracewitness.guard.decisions import BlockedCallError, Decision
from tracewitness.guard.guard import Guard

__all__ = ["BlockedCallError", "Decision", "Guard"]
