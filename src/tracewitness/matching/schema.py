"""The matcher of values that are valid under a JSON Schema."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tracewitness.display import printable, show
from tracewitness.errors import ExpectationError

from .base import Matcher, Read, Write
from .difference import Difference, Path
from .jsontext import unfold
from .nodes import Node, Rules
from .values import UndecidedError, kind_of, named

_SHOWN = 20  # differences; a schema can find one in every item of a long list


class JSONSchema(Matcher):
    """Match a value that is valid under a JSON Schema; needs ``pip install tracewitness[schema]``.

    Where the policy looks into JSON in texts, a mapping or list in a text is what counts; a schema whose
    ``type`` takes texts may take the text itself. A ``$ref`` reaches only into the schema and the published
    meta-schemas; nothing is fetched.

    Arguments:
        schema: draft 2020-12 unless its own ``$schema`` says otherwise.

    >>> JSONSchema({"type": "object"})
    JSONSchema({'type': 'object'})
    """

    __slots__ = ("schema",)
    key = "$schema"
    fields = ("schema",)
    schema: Any

    def __init__(self, schema: Mapping[str, object]) -> None:
        if not isinstance(schema, Mapping):
            raise ExpectationError(f"JSONSchema needs a schema as a mapping, not {show(schema)}")
        self._set(schema=schema)
        self._validator()

    @classmethod
    def from_file(cls, value: object, _read: Read, /) -> Matcher:
        return cls(value)  # type: ignore[arg-type]  # the constructor checks it

    def to_file(self, _write: Write, /) -> dict[str, object]:
        return {self.key: self.schema}

    def _validator(self) -> Any:
        try:
            from jsonschema.exceptions import SchemaError
            from jsonschema.validators import Draft202012Validator, extend, validator_for
            from jsonschema_specifications import REGISTRY  # type: ignore[import-untyped]
        except ImportError as error:
            problem = "JSONSchema needs the extra 'schema'; run: pip install 'tracewitness[schema]'"
            raise ExpectationError(problem) from error
        try:
            draft = validator_for(self.schema, default=Draft202012Validator)
            draft.check_schema(self.schema)
        except SchemaError as error:
            place = ".".join(map(str, error.absolute_path))
            problem = f"the schema is not valid{f' at {place}' if place else ''}: {printable(error.message)}"
            raise ExpectationError(problem) from error
        except Exception as error:  # of a $schema that is no text, a pattern that does not compile …
            raise ExpectationError(f"the schema is not valid; reading it raised {named(error)}") from error
        checker = draft.TYPE_CHECKER.redefine("array", _is_array).redefine("object", _is_object)
        extended = extend(draft, type_checker=checker)  # type: ignore[no-untyped-call]
        return extended(self.schema, registry=REGISTRY)

    def build(self, rules: Rules, /) -> Node:
        find_errors = _finder(self._validator())
        takes_text = "string" in _types(self.schema)

        def candidates(actual: object, levels: int) -> list[object]:
            """Return the readings of a value of which one has to be valid."""
            if not (rules.coerces and isinstance(actual, str)):
                return [actual]
            inside, _ = unfold(actual, levels)
            if isinstance(inside, str):
                return [actual]
            return [inside, actual] if takes_text else [inside]

        def test(actual: object, levels: int) -> bool:
            return any(not find_errors(reading, 1) for reading in candidates(actual, levels))

        def explain(actual: object, path: Path, levels: int) -> list[Difference]:
            try:
                if test(actual, levels):
                    return []
                errors = find_errors(candidates(actual, levels)[0], _SHOWN)
            except UndecidedError as undecided:
                return [Difference(path, self, actual, undecided.reason)]
            return [
                Difference((*path, *where), self, found, f"not valid under the schema: {message}")
                for where, found, message in errors
            ]

        return Node(self, test, explain)


def _is_array(_checker: object, value: object) -> bool:
    return kind_of(value) == "list"


def _is_object(_checker: object, value: object) -> bool:
    return isinstance(value, Mapping)


def _types(schema: Mapping[str, Any]) -> list[str]:
    types = schema.get("type", [])
    return [types] if isinstance(types, str) else list(types)


def _finder(validator: Any) -> Callable[[object, int], list[tuple[Path, object, str]]]:
    """Return what finds a value's first errors: path, value and message of each."""
    from itertools import islice

    from referencing.exceptions import Unresolvable

    def find_errors(value: object, limit: int) -> list[tuple[Path, object, str]]:
        try:
            errors = list(islice(validator.iter_errors(value), limit))
        except Unresolvable as error:
            raise UndecidedError(f"the schema refers to what it does not hold: {error.ref}") from error
        except RecursionError as error:
            raise UndecidedError("the value nests too deeply, or the schema refers in a circle") from error
        except Exception as error:  # of a pattern that is no Python regular expression, say
            raise UndecidedError(f"the schema could not be applied: {named(error)}") from error
        return [(tuple(error.absolute_path), error.instance, printable(error.message)) for error in errors]

    return find_errors
