"""``expect(...)``: a contract on an agent in a line."""

from tracewitness.fluent.expectation import Expectation, expect
from tracewitness.fluent.failure import ToolScoreAssertionError
from tracewitness.fluent.repeat import RepeatedResult, wilson_interval

__all__ = ["Expectation", "RepeatedResult", "ToolScoreAssertionError", "expect", "wilson_interval"]
