"""Write checks as an eval file that reads back as the same checks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tracewitness.errors import ExpectationError, SuiteError
from tracewitness.expectations import Operator
from tracewitness.matching import strict_key
from tracewitness.suites.loading import parse_suite
from tracewitness.suites.yaml_writing import yaml_text

__all__ = ["write_case"]


def write_case(name: str, operators: Iterable[Operator]) -> str:
    """Write an eval file with one case.

    Arguments:
        name: the case's name.
        operators: its checks.

    Returns:
        YAML; `parse_suite` of it gives the same checks.

    Raises:
        ExpectationError: a check has a value that a file can't hold.

    >>> from tracewitness.expectations import ToolCalled
    >>> print(write_case("greets", [ToolCalled("greet", {"name": "Ada"})]), end="")
    evals:
    - name: "greets"
      tool_expectations:
      - type: "tool_called"
        tool: "greet"
        args:
          name: "Ada"
    """
    checks = [operator.to_mapping() for operator in operators]
    written = yaml_text({"evals": [{"name": name, "tool_expectations": checks}]})
    _check_readable(written, checks)
    return written


def _check_readable(written: str, checks: list[dict[str, Any]]) -> None:
    """Refuse to hand out a file that reads back as something else, or not at all."""
    try:
        (case,) = parse_suite(written).cases
    except SuiteError as error:
        raise ExpectationError(f"a file can't hold the contract: {error.problem}", error.path) from error
    read = [operator.to_mapping() for operator in case.tool_expectations]
    if strict_key(read) != strict_key(checks):
        raise ExpectationError("a file can't hold a value of the contract: it would be read as another one")
