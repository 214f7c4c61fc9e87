"""Write checks as an eval file that reads back as the same checks."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import yaml

from tracewitness.display import show
from tracewitness.errors import ExpectationError
from tracewitness.expectations import Operator

__all__ = ["write_case"]

_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NO_TEXT = frozenset({"null", "true", "false"})


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
    document = {"evals": [{"name": name, "tool_expectations": checks}]}
    try:
        written: str = yaml.dump(document, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=110)
    except (yaml.YAMLError, RecursionError) as error:
        raise ExpectationError(f"a file can't hold a value of the contract: {show(str(error), 120)}") from error
    return written
