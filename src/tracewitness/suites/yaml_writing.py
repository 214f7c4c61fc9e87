"""Write data as YAML that every reader takes for the same data."""

from __future__ import annotations

import math
import re
from typing import Any, Final

import yaml

from tracewitness.display import show
from tracewitness.errors import ExpectationError

__all__ = ["yaml_key", "yaml_text"]

_PLAIN_KEY: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
#: Words that some version of YAML takes for something else than a text.
_NO_TEXT: Final = frozenset({"null", "true", "false", "yes", "no", "on", "off", "y", "n"})


class _Dumper(yaml.SafeDumper):
    """Quotes every text: which plain words are texts depends on a reader's version of YAML, quoted ones are always."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 - the base class's interface
        return True


class _BlockDumper(_Dumper):
    """Writes texts of several lines as blocks, a line for a line, where a block holds them exactly."""


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style='"')


def _represent_lines(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    lines = text.split("\n")
    is_block = len(lines) > 1 and lines[0][:1].strip() and not text.endswith("\n\n")
    if is_block and all(line.isprintable() and not line.endswith(" ") for line in lines):
        return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|")
    return _represent_text(dumper, text)


def _represent_mapping(dumper: yaml.SafeDumper, mapping: dict[Any, Any]) -> yaml.MappingNode:
    pairs = []
    for key, value in mapping.items():
        if not isinstance(key, str):
            raise ExpectationError(f"a key of a file is a text, not {show(key)}")
        plain = _PLAIN_KEY.fullmatch(key) and key.lower() not in _NO_TEXT
        node = dumper.represent_scalar("tag:yaml.org,2002:str", key) if plain else _represent_text(dumper, key)
        pairs.append((node, dumper.represent_data(value)))
    return yaml.MappingNode("tag:yaml.org,2002:map", pairs, flow_style=False)


for _dumper in (_Dumper, _BlockDumper):
    _dumper.add_representer(str, _represent_text)
    _dumper.add_representer(dict, _represent_mapping)
_BlockDumper.add_representer(str, _represent_lines)


def yaml_text(document: Any, *, blocks: bool = False) -> str:
    """Return plain data as YAML.

    Arguments:
        document: mappings with texts as keys, lists, texts, numbers, bools and None. Keys stay in their order.
        blocks: whether texts of several lines are written a line for a line.

    Raises:
        ExpectationError: a value can't be written.

    >>> print(yaml_text({"name": "no", "quantity": 1}), end="")
    name: "no"
    quantity: 1
    """
    dumper = _BlockDumper if blocks else _Dumper
    try:
        text: str = yaml.dump(document, Dumper=dumper, sort_keys=False, allow_unicode=True, width=110)
    except (yaml.YAMLError, RecursionError, ValueError) as error:  # ValueError: a number of too many digits
        raise ExpectationError(f"a file can't hold this value: {show(str(error), 120)}") from error
    return text


def yaml_key(key: str) -> str:
    """Return a text as it stands before a colon: in quotes, on one line.

    >>> yaml_key("a: b")
    '"a: b"'
    """
    text: str = yaml.dump(key, Dumper=_Dumper, allow_unicode=True, width=math.inf)
    return text.rstrip("\n")
