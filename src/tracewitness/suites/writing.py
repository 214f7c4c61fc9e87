"""Write checks as an eval file that reads back as the same checks."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import yaml

from tracewitness.display import show
from tracewitness.errors import ExpectationError, SuiteError
from tracewitness.expectations import Operator
from tracewitness.matching import strict_key
from tracewitness.suites.loading import parse_suite

__all__ = ["write_case"]

_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
#: Words that some version of YAML takes for something else than a text.
_NO_TEXT = frozenset({"null", "true", "false", "yes", "no", "on", "off", "y", "n"})


class _Dumper(yaml.SafeDumper):
    """Quotes every text: which plain words are texts depends on a reader's version of YAML, quoted ones are always."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 - the base class's interface
        return True


def _represent_text(dumper: _Dumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style='"')


def _represent_mapping(dumper: _Dumper, mapping: dict[Any, Any]) -> yaml.MappingNode:
    pairs = []
    for key, value in mapping.items():
        if not isinstance(key, str):
            raise ExpectationError(f"a key of a file is a text, not {show(key)}")
        plain = _PLAIN_KEY.fullmatch(key) and key.lower() not in _NO_TEXT
        node = dumper.represent_scalar("tag:yaml.org,2002:str", key) if plain else _represent_text(dumper, key)
        pairs.append((node, dumper.represent_data(value)))
    return yaml.MappingNode("tag:yaml.org,2002:map", pairs, flow_style=False)


_Dumper.add_representer(str, _represent_text)
_Dumper.add_representer(dict, _represent_mapping)


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
    written = _dump({"evals": [{"name": name, "tool_expectations": checks}]})
    _check_readable(written, checks)
    return written


def _dump(document: dict[str, Any]) -> str:
    try:
        text: str = yaml.dump(document, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=110)
    except (yaml.YAMLError, RecursionError, ValueError) as error:  # ValueError: a number of too many digits
        raise ExpectationError(f"a file can't hold a value of the contract: {show(str(error), 120)}") from error
    return text


def _check_readable(written: str, checks: list[dict[str, Any]]) -> None:
    """Refuse to hand out a file that reads back as something else, or not at all."""
    try:
        (case,) = parse_suite(written).cases
    except SuiteError as error:
        raise ExpectationError(f"a file can't hold the contract: {error.problem}", error.path) from error
    read = [operator.to_mapping() for operator in case.tool_expectations]
    if strict_key(read) != strict_key(checks):
        raise ExpectationError("a file can't hold a value of the contract: it would be read as another one")
