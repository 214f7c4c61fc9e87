"""Load YAML that others wrote: no tag makes an object, no text becomes a time, and aliases have an end."""

from __future__ import annotations

from typing import Any, Final

import yaml

from tracewitness.display import show
from tracewitness.errors import ReadError

__all__ = ["load"]

#: The most values that a document has once every alias in it is written out.
MAX_VALUES: Final = 20_000_000
_MOST_DIGITS: Final = 4000


def load(data: bytes) -> Any:
    """Decode a document.

    Aliases are allowed, since writers put one where a body stands twice; what they add up to is bounded.

    Raises:
        ReadError: it is broken, or it has tags that make objects, keys that stand twice, or aliases without end.

    >>> load(b"interactions:\\n- request: {method: GET}\\n")
    {'interactions': [{'request': {'method': 'GET'}}]}
    """
    try:
        document = yaml.load(data, Loader=_Loader)  # noqa: S506 - it is derived from the safe one
        values = _count(document, {})
    except yaml.YAMLError as error:
        raise ReadError(f"broken YAML: {show(str(error), 300)}") from error
    except RecursionError as error:
        raise ReadError("nested too deeply to be read") from error
    except ValueError as error:
        raise ReadError(f"broken YAML: {show(error)}") from error
    if values > MAX_VALUES:
        raise ReadError(f"its aliases add up to {values} values")
    return document


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """The safe loader, without what takes time or changes texts: merged keys, times, and numbers in base 60."""

    yaml_implicit_resolvers = {
        first: [
            (tag, matches) for tag, matches in resolvers if tag.rpartition(":")[2] in ("null", "bool", "int", "float")
        ]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        """Leave keys as they are: merging can take time without end."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        mapping: dict[Any, Any] = super().construct_mapping(node, deep=deep)
        if len(mapping) < len(node.value):
            raise yaml.constructor.ConstructorError(None, None, "a key that stands twice", node.start_mark)
        return mapping

    def construct_yaml_int(self, node: yaml.ScalarNode) -> Any:
        is_plain = ":" not in node.value and len(node.value) < _MOST_DIGITS
        return super().construct_yaml_int(node) if is_plain else node.value

    def construct_yaml_float(self, node: yaml.ScalarNode) -> Any:
        return super().construct_yaml_float(node) if ":" not in node.value else node.value


_Loader.add_constructor("tag:yaml.org,2002:int", _Loader.construct_yaml_int)
_Loader.add_constructor("tag:yaml.org,2002:float", _Loader.construct_yaml_float)


def _count(value: Any, counted: dict[int, int]) -> int:
    """Count the values in data as if those that stand in several places were written out in each.

    Arguments:
        counted: by identity, how many are in a value; 0 while they are being counted.

    Raises:
        ValueError: a value is in itself.
    """
    if not isinstance(value, (dict, list)):
        return 1
    known = counted.get(id(value))
    if known == 0:
        raise ValueError("an alias of what it stands in")
    if known is None:
        counted[id(value)] = 0
        items = value.values() if isinstance(value, dict) else value
        known = counted[id(value)] = 1 + sum(_count(item, counted) for item in items)
    return known
