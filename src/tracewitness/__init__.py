"""Witness what an AI agent really did: deterministic checks of its tool calls.

Everything public is here by name; it is imported from its room when it is first used, so that ``import tracewitness``
costs next to nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tracewitness.capture import (
        Recording as Recording,
    )
    from tracewitness.capture import (
        record as record,
    )
    from tracewitness.errors import (
        AgentError as AgentError,
    )
    from tracewitness.errors import (
        ExpectationError as ExpectationError,
    )
    from tracewitness.errors import (
        InfrastructureError as InfrastructureError,
    )
    from tracewitness.errors import (
        ReadError as ReadError,
    )
    from tracewitness.errors import (
        SuiteError as SuiteError,
    )
    from tracewitness.errors import (
        TracewitnessError as TracewitnessError,
    )
    from tracewitness.errors import (
        UsageError as UsageError,
    )
    from tracewitness.evals import (
        apply_to_result as apply_to_result,
    )
    from tracewitness.expectations import (
        CheckSet as CheckSet,
    )
    from tracewitness.expectations import (
        check as check,
    )
    from tracewitness.expectations import (
        compile_checks as compile_checks,
    )
    from tracewitness.fluent import (
        ChecksAssertionError as ChecksAssertionError,
    )
    from tracewitness.fluent import (
        Expectation as Expectation,
    )
    from tracewitness.fluent import (
        RepeatedResult as RepeatedResult,
    )
    from tracewitness.fluent import (
        ToolScoreAssertionError as ToolScoreAssertionError,
    )
    from tracewitness.fluent import (
        assert_tools as assert_tools,
    )
    from tracewitness.fluent import (
        expect as expect,
    )
    from tracewitness.guard import (
        Guard as Guard,
    )
    from tracewitness.matching import (
        ABSENT as ABSENT,
    )
    from tracewitness.matching import (
        ANY as ANY,
    )
    from tracewitness.matching import (
        AllOf as AllOf,
    )
    from tracewitness.matching import (
        AnyOf as AnyOf,
    )
    from tracewitness.matching import (
        Approx as Approx,
    )
    from tracewitness.matching import (
        Contains as Contains,
    )
    from tracewitness.matching import (
        Difference as Difference,
    )
    from tracewitness.matching import (
        Each as Each,
    )
    from tracewitness.matching import (
        Eq as Eq,
    )
    from tracewitness.matching import (
        Exactly as Exactly,
    )
    from tracewitness.matching import (
        GreaterOrEqual as GreaterOrEqual,
    )
    from tracewitness.matching import (
        GreaterThan as GreaterThan,
    )
    from tracewitness.matching import (
        IsDate as IsDate,
    )
    from tracewitness.matching import (
        IsDateTime as IsDateTime,
    )
    from tracewitness.matching import (
        IsType as IsType,
    )
    from tracewitness.matching import (
        JSONSchema as JSONSchema,
    )
    from tracewitness.matching import (
        Length as Length,
    )
    from tracewitness.matching import (
        LessOrEqual as LessOrEqual,
    )
    from tracewitness.matching import (
        LessThan as LessThan,
    )
    from tracewitness.matching import (
        Matcher as Matcher,
    )
    from tracewitness.matching import (
        Not as Not,
    )
    from tracewitness.matching import (
        OneOf as OneOf,
    )
    from tracewitness.matching import (
        Partial as Partial,
    )
    from tracewitness.matching import (
        Regex as Regex,
    )
    from tracewitness.matching import (
        Satisfies as Satisfies,
    )
    from tracewitness.matching import (
        Search as Search,
    )
    from tracewitness.matching import (
        Unordered as Unordered,
    )
    from tracewitness.matching import (
        differences as differences,
    )
    from tracewitness.matching import (
        matches as matches,
    )
    from tracewitness.readers import (
        Reader as Reader,
    )
    from tracewitness.readers import (
        atif_of as atif_of,
    )
    from tracewitness.readers import (
        iter_runs as iter_runs,
    )
    from tracewitness.readers import (
        read as read,
    )
    from tracewitness.readers import (
        read_all as read_all,
    )
    from tracewitness.readers import (
        register_reader as register_reader,
    )
    from tracewitness.redaction import (
        Redaction as Redaction,
    )
    from tracewitness.scoring import (
        EvaluationResult as EvaluationResult,
    )
    from tracewitness.scoring import (
        ExpectedCall as ExpectedCall,
    )
    from tracewitness.scoring import (
        evaluate as evaluate,
    )
    from tracewitness.suites import (
        Suite as Suite,
    )
    from tracewitness.suites import (
        load_suite as load_suite,
    )
    from tracewitness.trace import (
        UNANSWERED as UNANSWERED,
    )
    from tracewitness.trace import (
        MalformedArguments as MalformedArguments,
    )
    from tracewitness.trace import (
        Problem as Problem,
    )
    from tracewitness.trace import (
        ToolCall as ToolCall,
    )
    from tracewitness.trace import (
        ToolResult as ToolResult,
    )
    from tracewitness.trace import (
        Trace as Trace,
    )
    from tracewitness.verdict import (
        NearMiss as NearMiss,
    )
    from tracewitness.verdict import (
        Verdict as Verdict,
    )

__version__ = "0.1.0"

__all__ = [
    "ABSENT",
    "ANY",
    "UNANSWERED",
    "AgentError",
    "AllOf",
    "AnyOf",
    "Approx",
    "CheckSet",
    "ChecksAssertionError",
    "Contains",
    "Difference",
    "Each",
    "Eq",
    "EvaluationResult",
    "Exactly",
    "Expectation",
    "ExpectationError",
    "ExpectedCall",
    "GreaterOrEqual",
    "GreaterThan",
    "Guard",
    "InfrastructureError",
    "IsDate",
    "IsDateTime",
    "IsType",
    "JSONSchema",
    "Length",
    "LessOrEqual",
    "LessThan",
    "MalformedArguments",
    "Matcher",
    "NearMiss",
    "Not",
    "OneOf",
    "Partial",
    "Problem",
    "ReadError",
    "Reader",
    "Recording",
    "Redaction",
    "Regex",
    "RepeatedResult",
    "Satisfies",
    "Search",
    "Suite",
    "SuiteError",
    "ToolCall",
    "ToolResult",
    "ToolScoreAssertionError",
    "Trace",
    "TracewitnessError",
    "Unordered",
    "UsageError",
    "Verdict",
    "__version__",
    "apply_to_result",
    "assert_tools",
    "atif_of",
    "check",
    "compile_checks",
    "differences",
    "evaluate",
    "expect",
    "iter_runs",
    "load_suite",
    "matches",
    "read",
    "read_all",
    "record",
    "register_reader",
]

#: For each public name, the room that it comes from.
_ROOMS = {
    "Recording": "capture",
    "record": "capture",
    "AgentError": "errors",
    "ExpectationError": "errors",
    "InfrastructureError": "errors",
    "ReadError": "errors",
    "SuiteError": "errors",
    "TracewitnessError": "errors",
    "UsageError": "errors",
    "apply_to_result": "evals",
    "CheckSet": "expectations",
    "check": "expectations",
    "compile_checks": "expectations",
    "ChecksAssertionError": "fluent",
    "Expectation": "fluent",
    "RepeatedResult": "fluent",
    "ToolScoreAssertionError": "fluent",
    "assert_tools": "fluent",
    "expect": "fluent",
    "Guard": "guard",
    "ABSENT": "matching",
    "ANY": "matching",
    "AllOf": "matching",
    "AnyOf": "matching",
    "Approx": "matching",
    "Contains": "matching",
    "Difference": "matching",
    "Each": "matching",
    "Eq": "matching",
    "Exactly": "matching",
    "GreaterOrEqual": "matching",
    "GreaterThan": "matching",
    "IsDate": "matching",
    "IsDateTime": "matching",
    "IsType": "matching",
    "JSONSchema": "matching",
    "Length": "matching",
    "LessOrEqual": "matching",
    "LessThan": "matching",
    "Matcher": "matching",
    "Not": "matching",
    "OneOf": "matching",
    "Partial": "matching",
    "Regex": "matching",
    "Satisfies": "matching",
    "Search": "matching",
    "Unordered": "matching",
    "differences": "matching",
    "matches": "matching",
    "Reader": "readers",
    "atif_of": "readers",
    "iter_runs": "readers",
    "read": "readers",
    "read_all": "readers",
    "register_reader": "readers",
    "Redaction": "redaction",
    "EvaluationResult": "scoring",
    "ExpectedCall": "scoring",
    "evaluate": "scoring",
    "Suite": "suites",
    "load_suite": "suites",
    "UNANSWERED": "trace",
    "MalformedArguments": "trace",
    "Problem": "trace",
    "ToolCall": "trace",
    "ToolResult": "trace",
    "Trace": "trace",
    "NearMiss": "verdict",
    "Verdict": "verdict",
}


def __getattr__(name: str) -> Any:
    if name not in _ROOMS:
        raise AttributeError(f"module 'tracewitness' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"tracewitness.{_ROOMS[name]}"), name)
    globals()[name] = value  # so that the next look-up finds it at once
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
