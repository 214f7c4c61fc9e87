"""The fields of operators: what each may hold, the same wherever its name occurs.

A validator takes a value and returns it as it is kept, or raises an `ExpectationError` that says what was expected,
what came and what to do. The error's path begins below the field.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, ClassVar

from msgspec import UNSET, Struct, structs

from tracewitness.display import nearest_name, show
from tracewitness.errors import ExpectationError
from tracewitness.matching import Matcher, fits_mappings, parse, to_file_notation

__all__ = [
    "Fields",
    "Validator",
    "amount",
    "array",
    "choice",
    "count",
    "data",
    "flag",
    "label",
    "mapping_of",
    "number",
    "pattern",
    "share",
    "struct",
    "text",
    "value",
    "values",
]

Validator = Callable[[Any], Any]


def text(given: Any) -> str:
    """Accept a text that is not empty."""
    if not isinstance(given, str):
        raise ExpectationError(f"expected a text, got {show(given)}")
    if not given:
        raise ExpectationError("expected a text that is not empty")
    return given


def label(given: Any) -> str:
    """Accept any text."""
    if not isinstance(given, str):
        raise ExpectationError(f"expected a text, got {show(given)}")
    return given


def count(given: Any) -> int:
    """Accept a whole number from 0; a bool is never a number."""
    if isinstance(given, bool) or not isinstance(given, int):
        raise ExpectationError(f"expected a whole number, got {show(given)}")
    if given < 0:
        raise ExpectationError(f"expected a number of 0 or more, got {given}")
    return given


def number(given: Any) -> float:
    """Accept a number; a bool is none."""
    if isinstance(given, bool) or not isinstance(given, (int, float)):
        raise ExpectationError(f"expected a number, got {show(given)}")
    return float(given)


def amount(given: Any) -> float:
    """Accept a finite number from 0."""
    if not 0 <= number(given) < float("inf"):
        raise ExpectationError(f"expected a number of 0 or more, got {show(given)}")
    return float(given)


def share(given: Any) -> float:
    """Accept a number from 0 to 1."""
    if not 0 <= number(given) <= 1:
        raise ExpectationError(f"expected a number from 0 to 1, got {show(given)}")
    return float(given)


def flag(given: Any) -> bool:
    """Accept true or false."""
    if not isinstance(given, bool):
        raise ExpectationError(f"expected true or false, got {show(given)}")
    return given


def values(given: Any) -> Any:
    """Accept expected arguments: a mapping, or a matcher that a mapping can match."""
    if not isinstance(given, (Mapping, Matcher)):
        raise ExpectationError(f"expected a mapping of arguments, got {show(given)}")
    expected = parse(given)
    if fits_mappings(expected) is False:
        raise ExpectationError(
            f"args are always a mapping, and none matches {show(expected)}; put matchers under the arguments' names"
        )
    return expected


def value(given: Any) -> Any:
    """Accept any expected value, with matchers in it."""
    return parse(given)


def pattern(given: Any) -> str:
    """Accept a regular expression."""
    expression = text(given)
    try:
        re.compile(expression)
    except Exception as error:  # re.error, OverflowError, RecursionError, a FutureWarning made an error …
        raise ExpectationError(f"not a regular expression: {error}; got {show(given)}") from error
    return expression


def data(given: Any) -> dict[str, Any]:
    """Accept a mapping of plain values, in which nothing is a matcher."""
    if not isinstance(given, Mapping) or not all(isinstance(key, str) for key in given):
        raise ExpectationError(f"expected a mapping of names and values, got {show(given)}")
    return dict(given)


def choice(*allowed: str) -> Validator:
    """Make a validator that accepts one of some texts."""

    def validate(given: Any) -> str:
        if given in allowed and isinstance(given, str):
            return given
        near = nearest_name(given, allowed) if isinstance(given, str) else None
        meant = f"; {near} was meant" if near else ""
        raise ExpectationError(f"expected one of {', '.join(allowed)}, got {show(given)}{meant}")

    return validate


def array(item: Validator) -> Validator:
    """Make a validator of lists."""

    def validate(given: Any) -> tuple[Any, ...]:
        if not isinstance(given, (list, tuple)):
            raise ExpectationError(f"expected a list, got {show(given)}")
        return tuple(_at(index, item, each) for index, each in enumerate(given))

    return validate


def mapping_of(item: Validator) -> Validator:
    """Make a validator of mappings with at least one key."""

    def validate(given: Any) -> dict[str, Any]:
        if not isinstance(given, Mapping):
            raise ExpectationError(f"expected a mapping, got {show(given)}")
        if not given:
            raise ExpectationError("expected at least one key; an empty mapping could not fail")
        return {text(key): _at(key, item, each) for key, each in given.items()}

    return validate


def struct(kind: type[Fields]) -> Validator:
    """Make a validator of mappings with the fields of ``kind``."""
    return lambda given: given if isinstance(given, kind) else kind.from_mapping(given)


def _at(part: Any, validate: Validator, given: Any) -> Any:
    try:
        return validate(given)
    except ExpectationError as error:
        raise error.under(part) from None
    except Exception as error:  # a foreign value may raise anything
        raise ExpectationError(f"{show(given)} can't be read: {type(error).__name__}: {error}", (part,)) from error


class Fields(Struct, frozen=True, repr_omit_defaults=True):
    """A frozen value whose fields are validated, made in Python or from a mapping of a file alike."""

    validators: ClassVar[dict[str, Validator]] = {}

    def __post_init__(self) -> None:
        for field in self.__struct_fields__:
            given = getattr(self, field)
            if given is not UNSET:
                structs.force_setattr(self, field, _at(field, self.validators[field], given))
        self.validate()

    def validate(self) -> None:
        """Check what concerns several fields at once."""

    @classmethod
    def from_mapping(cls, given: Any) -> Any:
        """Make one from a mapping of a file.

        Raises:
            ExpectationError: a field is unknown, missing or of the wrong type; its path says which.
        """
        if not isinstance(given, Mapping):
            raise ExpectationError(f"expected a mapping, got {show(given)}")
        for field in given:
            if field not in cls.__struct_fields__:
                raise ExpectationError(cls._unknown(field), (field,) if isinstance(field, str) else ())
        for field in cls.required():
            if field not in given:
                raise ExpectationError(f"missing field {field}")
        return cls(**given)

    @classmethod
    @cache
    def required(cls) -> tuple[str, ...]:
        """Return the fields that have no default."""
        return tuple(field.name for field in structs.fields(cls) if field.required)

    @classmethod
    @cache
    def defaults(cls) -> dict[str, Any]:
        """Return the default of each field."""
        return {field.name: field.default for field in structs.fields(cls)}

    @classmethod
    def _unknown(cls, field: Any) -> str:
        near = nearest_name(field, cls.__struct_fields__) if isinstance(field, str) else None
        meant = f"; {near} was meant" if near else f"; it has {', '.join(cls.__struct_fields__)}"
        return f"unknown field {show(field)}{meant}"

    def to_mapping(self) -> dict[str, Any]:
        """Return the fields as a mapping of a file."""
        given = ((field, default, getattr(self, field)) for field, default in self.defaults().items())
        return {field: _as_written(value) for field, default, value in given if value is not default}


def _as_written(given: Any) -> Any:
    if isinstance(given, Fields):
        return given.to_mapping()
    if isinstance(given, tuple):
        return [_as_written(each) for each in given]
    if isinstance(given, dict) and any(isinstance(each, (Fields, tuple)) for each in given.values()):
        return {key: _as_written(each) for key, each in given.items()}
    return to_file_notation(given)
