"""``expect(...)``: a contract on an agent in a line."""

from tracewitness.fluent.asserting import assert_tools
from tracewitness.fluent.expectation import Expectation, expect
from tracewitness.fluent.failure import ChecksAssertionError, ToolScoreAssertionError
from tracewitness.fluent.repeat import Repeated, RepeatedResult, wilson_interval

__all__ = [
    "ChecksAssertionError",
    "Expectation",
    "Repeated",
    "RepeatedResult",
    "ToolScoreAssertionError",
    "assert_tools",
    "expect",
    "wilson_interval",
]
