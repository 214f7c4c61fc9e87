"""Values as a file of baselines holds them, and what is expected where it holds them.

Most values are plain data and stand in the file as they are. What YAML or the notation of matchers would take for
something else has a form of its own:

=====================================  =================================================================
``{$eq: …}``                           a mapping that looks like a matcher
``{$bytes: "aGk="}``                   bytes, in base64
``{$tuple: […]}``                      a tuple, which is no list
``{$pairs: [[key, value], …]}``        a mapping with keys that are no texts, or that can't be written otherwise
``{$text: "\\\\ud800"}``                 a text with half of a surrogate pair, which is no character, as JSON has it
``{$int: "0x…"}``                      a whole number of thousands of digits
``{$python: "Decimal('1')", type: …}``   any other object, by its type and its ``repr``
=====================================  =================================================================
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from msgspec import Struct

from tracewitness.display import printable, show
from tracewitness.errors import ExpectationError, PathPart, UsageError, path_text
from tracewitness.matching import Eq

__all__ = ["Comparing", "Foreign", "expectation", "is_form", "looks_like_matcher", "part_of", "written"]

#: How deeply a value may nest; for a whole file, and for comparing, the limit is 100.
MOST_LEVELS: Final = 80
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
#: What may stand beside the one key with a dollar that says what the mapping is.
_BESIDE: Final = {"$approx": ("rel", "abs"), "$python": ("type",)}
_LARGE: Final = 10**1000
_ADDRESS: Final = re.compile(r" at 0x[0-9a-fA-F]{4,}")
_MOST_SHOWN: Final = 20_000


class Foreign(Struct, frozen=True):
    """An object that is no plain data, as it is compared.

    Attributes:
        type: the name of its type, with the module.
        text: its ``repr``.
    """

    type: str
    text: str

    def __repr__(self) -> str:
        return self.text


class Comparing(Struct, frozen=True):
    """Makes values comparable: mappings, lists and tuples plain ones, other objects what they show of themselves.

    Attributes:
        shown: what is done to the ``repr`` of an object before it is kept.

    >>> Comparing().value([1, {2}], ("args", "items"))
    [1, set({2})]
    """

    shown: Callable[[str], str] = str

    def value(self, value: Any, path: tuple[PathPart, ...]) -> Any:
        """Return a value as it is compared.

        Arguments:
            path: where the value stands, for errors.

        Raises:
            UsageError: it nests too deeply or in itself, or an object shows nothing that is the same in the next run.
        """
        return self._value(value, path, MOST_LEVELS)

    def _value(self, value: Any, path: tuple[PathPart, ...], levels: int) -> Any:
        kind = type(value)
        if value is None or kind in (bool, int, float, str, bytes):
            return value
        if levels < 0:
            where = path_text(path[:12], root="")
            raise UsageError(f"{where}… nests more than {MOST_LEVELS} levels deep, more than a file holds; ignore it")
        if isinstance(value, Mapping):
            items = value.items()
            return {self._key(key, path): self._value(item, (*path, part_of(key)), levels - 1) for key, item in items}
        if kind in (list, tuple):
            return kind(self._value(item, (*path, index), levels - 1) for index, item in enumerate(value))
        return self._foreign(value, path)

    def _key(self, key: Any, path: tuple[PathPart, ...]) -> Any:
        is_plain = key is None or type(key) in (bool, int, float, str, bytes)
        return key if is_plain else self._foreign(key, path)

    def _foreign(self, value: Any, path: tuple[PathPart, ...]) -> Foreign:
        what = f"{path_text(path, root='')} is a {type(value).__qualname__}"
        what_to_do = "ignore it, or hand it on as plain data"
        try:
            text = self.shown(_sorted_repr(value))
        except Exception as error:
            raise UsageError(f"{what} whose repr raised {type(error).__name__}; {what_to_do}") from error
        if _ADDRESS.search(text) or len(text) > _MOST_SHOWN:
            raise UsageError(f"{what}, {printable(text, 60)}, which no baseline can hold; {what_to_do}")
        return Foreign(f"{type(value).__module__}.{type(value).__qualname__}", text)


def part_of(key: Any) -> str:
    """Return what stands in a path for a key."""
    return key if isinstance(key, str) else str(key)


def _sorted_repr(value: Any) -> str:
    """Return the ``repr``, that of a set in an order that is the same in every process."""
    if type(value) in (set, frozenset):
        return f"{type(value).__name__}({{{', '.join(sorted(map(_sorted_repr, value)))}}})"
    return repr(value)


def written(value: Any) -> Any:
    """Return a comparable value as the file holds it. The keys of mappings are sorted.

    >>> written({"b": b"hi", "a": {"$any": True}})
    {'a': {'$eq': {'$any': True}}, 'b': {'$bytes': 'aGk='}}
    """
    if isinstance(value, str):
        return {"$text": json.dumps(value)[1:-1]} if _SURROGATE.search(value) else value
    if isinstance(value, bytes):
        return {"$bytes": base64.b64encode(value).decode("ascii")}
    if isinstance(value, list):
        return [written(item) for item in value]
    if isinstance(value, tuple):
        return {"$tuple": [written(item) for item in value]}
    if isinstance(value, dict):
        return _written_mapping(value)
    if isinstance(value, Foreign):
        return {"$python": written(value.text), "type": written(value.type)}
    return {"$int": hex(value)} if type(value) is int and abs(value) > _LARGE else value


def _written_mapping(mapping: dict[Any, Any]) -> dict[str, Any]:
    if not all(isinstance(key, str) and not _SURROGATE.search(key) for key in mapping):
        return {"$pairs": [[written(key), written(item)] for key, item in mapping.items()]}
    ordered = dict(sorted(mapping.items()))
    if not looks_like_matcher(mapping):
        return {key: written(item) for key, item in ordered.items()}
    if _is_literal(mapping):
        return {"$eq": ordered}
    return {"$pairs": [[key, written(item)] for key, item in ordered.items()]}


def looks_like_matcher(mapping: Mapping[Any, Any]) -> bool:
    """Tell whether a mapping may be taken for a matcher, or for a form of this module."""
    beside = next((names for key, names in _BESIDE.items() if key in mapping), ())
    names = [key for key in mapping if key not in beside]
    return bool(names) and all(isinstance(key, str) and key.startswith("$") for key in names)


def _is_literal(value: Any) -> bool:
    """Whether YAML holds a value as it is, with nothing in it in a form of its own."""
    if isinstance(value, dict):
        return all(isinstance(key, str) and _is_literal(key) and _is_literal(item) for key, item in value.items())
    if isinstance(value, list):
        return all(map(_is_literal, value))
    if isinstance(value, tuple | bytes | Foreign):
        return False
    return not isinstance(written(value), dict)


def expectation(value: Any) -> Any:
    """Return what is expected where the file holds ``value``: its own forms undone, matchers left as they are.

    Raises:
        ExpectationError: a form is malformed; it knows the path.
    """
    if isinstance(value, list):
        return [_under(index, item, expectation) for index, item in enumerate(value)]
    if not isinstance(value, dict):
        return value
    form = is_form(value)
    if form is not None:
        return _under(form, value, _FORMS[form])
    if value.keys() == {"$eq"}:  # nothing in it is anything else than data
        return value
    return {key: _under(key, item, expectation) for key, item in value.items()}


def is_form(value: Mapping[str, Any]) -> str | None:
    """Return the name of the form of this module that a mapping is in, or None."""
    form = next((key for key in value if key in _FORMS), None)
    return form if form is not None and value.keys() - set(_BESIDE.get(form, ())) == {form} else None


def _under(part: PathPart, value: Any, read: Callable[[Any], Any]) -> Any:
    try:
        return read(value)
    except ExpectationError as error:
        raise error.under(part) from error.__cause__


def _bytes(form: dict[str, Any]) -> bytes:
    try:
        return base64.b64decode(form["$bytes"], validate=True)
    except (binascii.Error, TypeError, ValueError) as error:
        raise ExpectationError(f"$bytes has bytes in base64, not {show(form['$bytes'])}") from error


def _tuple(form: dict[str, Any]) -> tuple[Any, ...]:
    if not isinstance(form["$tuple"], list):
        raise ExpectationError(f"$tuple has a list, not {show(form['$tuple'])}")
    return tuple(expectation(form["$tuple"]))


def _pairs(form: dict[str, Any]) -> Any:
    """Return a mapping; one that looks like a matcher is data all the same, and so is all that is in it."""
    pairs = form["$pairs"]
    if not isinstance(pairs, list) or not all(isinstance(pair, list) and len(pair) == 2 for pair in pairs):
        raise ExpectationError(f"$pairs has a list of lists of a key and a value, not {show(pairs)}")
    try:
        keys = [_data(key) for key, _ in pairs]
        if looks_like_matcher(dict.fromkeys(keys)):
            return Eq({key: _data(item) for key, (_, item) in zip(keys, pairs, strict=True)})
    except TypeError as error:
        raise ExpectationError(f"a key in $pairs can't be one: {error}") from error
    return {key: expectation(item) for key, (_, item) in zip(keys, pairs, strict=True)}


def _data(value: Any) -> Any:
    """Return the data that the file holds as ``value``, where it is known that no matcher is in it."""
    return _opened(expectation(value))


def _opened(value: Any) -> Any:
    if isinstance(value, Eq):
        return value.part
    if isinstance(value, dict):
        return value["$eq"] if value.keys() == {"$eq"} else {key: _opened(item) for key, item in value.items()}
    return type(value)(map(_opened, value)) if isinstance(value, (list, tuple)) else value


def _text(form: dict[str, Any]) -> str:
    try:
        text = json.loads(f'"{form["$text"]}"')
    except ValueError as error:
        raise ExpectationError(f"$text has a text as JSON has it, not {show(form['$text'])}") from error
    return str(text)


def _int(form: dict[str, Any]) -> int:
    try:
        return int(form["$int"], 16)
    except (TypeError, ValueError) as error:
        raise ExpectationError(f"$int has a whole number such as '0x1f', not {show(form['$int'])}") from error


def _python(form: dict[str, Any]) -> Foreign:
    text, kind = expectation(form["$python"]), expectation(form.get("type"))
    if not isinstance(text, str) or not isinstance(kind, str):
        raise ExpectationError("$python has the repr of an object, and type beside it the name of its type")
    return Foreign(kind, text)


_FORMS: Final[dict[str, Callable[[dict[str, Any]], Any]]] = {
    "$bytes": _bytes,
    "$tuple": _tuple,
    "$pairs": _pairs,
    "$text": _text,
    "$int": _int,
    "$python": _python,
}
