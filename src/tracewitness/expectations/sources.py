"""Where an argument's value may come from: the sources of ``args_from``, and the rules by which a value comes of them.

In a file a source is a word or a mapping::

    user                                    # the user's words before the call
    session                                 # any of the session's parameters
    results                                 # any earlier result, of whatever tool
    {tool: search, path: "items[*].id"}     # what stands at a path of a tool's earlier results
    {session: customer.id}                  # one of the session's parameters
    {argument: item_id}                     # another argument of the same call
    {tool: reserve, argument: item_id}      # an argument of an earlier call, which was answered without an error

and a rule says how the value comes of sources::

    {$same: [user, results]}                # the value itself, which is what a source without a rule means, too
    {$format: date, of: user}               # the same day, amount of money, number or text, written otherwise
    {$derived: sum, of: {tool: cart, path: "items[*].price"}}

Every place of results is one of results without an error; an envelope is opened once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Final

from msgspec import UNSET, Meta, UnsetType

from tracewitness.display import show
from tracewitness.errors import ExpectationError
from tracewitness.expectations import fields
from tracewitness.expectations.fields import Fields
from tracewitness.expectations.readings import FORMS
from tracewitness.expectations.result_paths import parse_path

__all__ = [
    "ANY_FORM",
    "EVERY_ARGUMENT",
    "OPERATIONS",
    "WORDS",
    "AnySource",
    "ArgumentSource",
    "Derived",
    "Formatted",
    "SessionSource",
    "Source",
    "named_in",
    "parse_sources",
    "plain_sources",
]

WORDS: Final = ("user", "session", "results")
OPERATIONS: Final = ("sum", "count", "min", "max", "mean", "difference", "product", "concat")
#: The name that stands for all arguments that are not listed.
EVERY_ARGUMENT: Final = "*"
#: A format: in any of the forms, or as it is.
ANY_FORM: Final = "any"
_FORMATS: Final = (*FORMS, ANY_FORM)


def _path(given: Any) -> str:
    path = fields.text(given)
    parse_path(path)
    return path


Path = Annotated[str, Meta(min_length=1, description="Dotted keys with [n] and [*], for example items[*].id.")]


class Source(Fields, frozen=True):
    """Where a value may come from: a path in an earlier result of a tool."""

    tool: Annotated[str, Meta(min_length=1, description="The tool's exact name.")]
    path: Path

    validators = {"tool": fields.text, "path": _path}


class ArgumentSource(Fields, frozen=True):
    """An argument: of the same call, or of an earlier call to a tool that was answered without an error."""

    argument: Annotated[str, Meta(min_length=1, description="The argument's name, or a path in the arguments.")]
    tool: Annotated[str, Meta(min_length=1, description="Whose; without it, another argument of the same call.")] | (
        UnsetType
    ) = UNSET

    validators = {"argument": _path, "tool": fields.text}


class SessionSource(Fields, frozen=True):
    """One of the session's parameters."""

    session: Annotated[str, Meta(min_length=1, description="A parameter's name, or a path in the parameters.")]

    validators = {"session": _path}


AnySource = str | Source | ArgumentSource | SessionSource


class _Rule(Fields, frozen=True):
    """A rule: its name stands under a key that begins with ``$``."""

    @classmethod
    def from_mapping(cls, given: Any) -> Any:
        key = _KEYS[cls]
        rest = {field: each for field, each in given.items() if field != key}
        unknown = [field for field in rest if field not in cls.__struct_fields__[1:]]
        if unknown:
            known = ", ".join(cls.__struct_fields__[1:])
            raise ExpectationError(f"unknown field {show(unknown[0])} beside {key}; it has {known}")
        if "of" not in rest:
            raise ExpectationError(f"missing field of: what {key} is about")
        try:
            return cls(given[key], **rest)
        except ExpectationError as error:
            if error.path[:1] != cls.__struct_fields__[:1]:
                raise
            raise ExpectationError(error.problem, (key, *error.path[1:])) from None

    def to_mapping(self) -> dict[str, Any]:
        first, *_ = self.__struct_fields__
        written = super().to_mapping()
        return {_KEYS[type(self)]: written.pop(first), **written}


class Formatted(_Rule, frozen=True):
    """The value is that of a source, written otherwise.

    ``date``: the same day, as ``2024-05-03``, ``May 3rd`` or ``3 May 2024, 10:00``; where one of the two has no year,
    any year will do, and ``05/03/2024`` is either of two days. No day comes of words such as tomorrow. ``money``: the
    same amount, and the same currency where both have one; ``$`` is the sign of several. ``number``: ``1,299``,
    ``1299.0``, ``twelve``. ``text``: whatever the case, and with spaces, hyphens and underscores alike. ``any``: as it
    is, or in any of these forms.
    """

    format: Annotated[str, Meta(description="date, money, number, text, or any.")]
    of: tuple[AnySource, ...]

    validators = {"format": fields.choice(*_FORMATS), "of": lambda given: plain_sources(given)}


class Derived(_Rule, frozen=True):
    """The value is computed of the values at some places; numbers exactly, or to the cent.

    Each place stands for the values there in one earlier result, whichever; with a single place also for those of all
    results together. A list stands for its items. ``difference`` is the first value less all others, and ``concat``
    joins texts with the separator.
    """

    operation: Annotated[str, Meta(description=", ".join(OPERATIONS))]
    of: tuple[Source | ArgumentSource | SessionSource | int | float, ...]
    separator: str = " "

    validators = {
        "operation": fields.choice(*OPERATIONS),
        "of": lambda given: _operands(given),
        "separator": fields.label,
    }


_RULES: Final[dict[str, type[_Rule]]] = {"$format": Formatted, "$derived": Derived}
_KEYS: Final = {kind: key for key, kind in _RULES.items()}
_SAME: Final = "$same"


def parse_sources(given: Any) -> tuple[AnySource | Formatted | Derived, ...]:
    """Read the sources of an argument: one source or rule, or a list of which any will do.

    Raises:
        ExpectationError: one is none.

    >>> parse_sources(["user", {"$format": "date", "of": "results"}])
    ('user', Formatted(format='date', of=('results',)))
    """
    return _read(given, _source_or_rule)


def plain_sources(given: Any) -> tuple[AnySource, ...]:
    """Read sources where no rule may stand.

    Raises:
        ExpectationError: one is none, or a rule.
    """
    return _read(given, _plain_source)


def named_in(sources: Any) -> Iterator[AnySource | int | float]:
    """Yield every plain source, those in rules as well."""
    for source in sources:
        if isinstance(source, (Formatted, Derived)):
            yield from source.of
        else:
            yield source


def _read(given: Any, read: Any) -> tuple[Any, ...]:
    if isinstance(given, Mapping) and _SAME in given:
        if len(given) > 1:
            raise ExpectationError(f"{_SAME} stands alone, with its sources; got {show(given)}")
        return plain_sources(given[_SAME])
    if not isinstance(given, (list, tuple)):
        return (read(given),)
    if not given:
        raise ExpectationError("expected at least one source")
    flat = fields.array(lambda each: _read(each, read) if isinstance(each, Mapping) else (read(each),))(given)
    return tuple(source for sources in flat for source in sources)


def _source_or_rule(given: Any) -> Any:
    if isinstance(given, (Formatted, Derived)):
        return given
    key = _rule_of(given)
    if key is None:
        return _plain_source(given)
    return _RULES[key].from_mapping(given)


def _rule_of(given: Any) -> str | None:
    """Return the key that makes a mapping a rule, or None."""
    keys = [key for key in given if isinstance(key, str) and key.startswith("$")] if isinstance(given, Mapping) else []
    if not keys:
        return None
    if len(keys) > 1 or keys[0] not in _RULES:
        raise ExpectationError(f"expected one of {', '.join((_SAME, *_RULES))}, got {show(keys)}")
    return keys[0]


def _plain_source(given: Any) -> AnySource:
    if isinstance(given, (Source, ArgumentSource, SessionSource)):
        return given
    if isinstance(given, str):
        if given not in WORDS:
            raise ExpectationError(f'expected {{tool, path}}, "user", "session" or "results", got {show(given)}')
        return given
    if isinstance(given, Mapping):
        if _rule_of(given) is not None:
            raise ExpectationError(f"expected a source, got the rule {show(given)}")
        for field, kind in (("argument", ArgumentSource), ("session", SessionSource)):
            if field in given:
                return kind.from_mapping(given)  # type: ignore[no-any-return]
    return Source.from_mapping(given)  # type: ignore[no-any-return]


def _operands(given: Any) -> tuple[Any, ...]:
    if not isinstance(given, (list, tuple)):
        given = [given]
    if not given:
        raise ExpectationError("expected at least one place of values")
    operands: tuple[Any, ...] = fields.array(_operand)(given)
    if all(isinstance(operand, (int, float)) for operand in operands):
        raise ExpectationError(f"expected at least one place of values, got numbers alone: {show(given)}")
    return operands


def _operand(given: Any) -> Any:
    if isinstance(given, (int, float)) and not isinstance(given, bool):
        return given
    if isinstance(given, str):
        raise ExpectationError(f"expected a place of values, as {{tool, path}}, got {show(given)}")
    return _plain_source(given)
