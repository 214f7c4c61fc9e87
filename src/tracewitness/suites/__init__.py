"""Eval files: what agents are expected to do, written down in YAML or JSON."""

from __future__ import annotations

from tracewitness.suites.loading import load_suite, parse_suite
from tracewitness.suites.model import Case, JudgedExpectation, Step, Suite
from tracewitness.suites.places import Place
from tracewitness.suites.schema import suite_schema
from tracewitness.suites.writing import write_case

__all__ = [
    "Case",
    "JudgedExpectation",
    "Place",
    "Step",
    "Suite",
    "load_suite",
    "parse_suite",
    "suite_schema",
    "write_case",
]
