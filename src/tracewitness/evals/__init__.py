"""Evals of recorded and simulated conversations: deterministic checks beside a judge's grades."""

from tracewitness.evals.runs import (
    OUTCOMES,
    CaseCount,
    RunOutcome,
    RunReport,
    RunStatus,
    SuiteCheck,
    Summary,
    status_of,
)
from tracewitness.evals.tool_expectations import apply_to_result, evaluate_case

__all__ = [
    "OUTCOMES",
    "CaseCount",
    "RunOutcome",
    "RunReport",
    "RunStatus",
    "SuiteCheck",
    "Summary",
    "apply_to_result",
    "evaluate_case",
    "status_of",
]
