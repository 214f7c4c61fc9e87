"""The three policies: how plain values are compared."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import NoneType
from typing import Any, Final

from .containers import Items, build_list, build_mapping
from .difference import Difference, Path, why_different
from .jsontext import LEVELS, unfold
from .keys import strict_key
from .nodes import DEPTH, Buildable, Node, Rules, Test, leaf
from .numeric import is_nan, same_number, spelling_of, text_equals
from .values import (
    MISSING,
    Kind,
    UndecidedError,
    as_list,
    as_mapping,
    equals,
    has_own_equality,
    kind_of,
    nested_deeper_than,
    noun,
)

_PLAIN_TYPES: Final = frozenset({bool, float, int, NoneType})
_BY_TYPE = (bytes, bytearray, set, frozenset)


def build(expected: object, rules: Rules) -> Node:
    """Compile an expectation, whose file notation is already parsed, under a policy's rules."""
    if isinstance(expected, Buildable) and not rules.literal:
        return expected.build(rules)
    if has_own_equality(expected):
        return _build_foreign(expected)
    return _BUILDERS[kind_of(expected)](expected, rules)


def _plain(expected: object, test: Test, quick: type | None = None) -> Node:
    return leaf(
        expected,
        test,
        lambda actual: why_different(expected, actual),
        quick=(quick, expected) if quick else None,
    )


def _build_null(expected: object, _rules: Rules) -> Node:
    return _plain(expected, lambda actual, _levels: actual is None)


def _build_bool(expected: object, rules: Rules) -> Node:
    if not rules.coerces:
        return _plain(expected, lambda actual, _levels: actual is expected, bool)

    def test(actual: object, _levels: int) -> bool:
        return actual is expected or (isinstance(actual, str) and bool_of(actual) is expected)

    return _plain(expected, test, bool)


def bool_of(text: str) -> bool | None:
    """Return the bool that a text spells, in any case, or None."""
    if len(text) > len("false"):
        return None
    return {"true": True, "false": False}.get(text.lower())


def _build_number(expected: Any, rules: Rules) -> Node:
    expected_type = type(expected)
    quick = None if is_nan(expected) else expected_type
    if rules.exact:

        def is_exactly(actual: object, _levels: int) -> bool:
            return type(actual) is expected_type and same_number(expected, actual)

        return _plain(expected, is_exactly, quick)

    spelling = spelling_of(expected)

    def is_spelled(text: str) -> bool:
        if spelling is not None and "." not in text and "e" not in text and "E" not in text:
            return text == spelling  # quicker than the grammar, and by far the most frequent
        return text_equals(text, expected)

    coerces = rules.coerces

    def test(actual: object, _levels: int) -> bool:
        if isinstance(actual, str):
            return coerces and is_spelled(actual)
        return kind_of(actual) == "number" and same_number(expected, actual)

    return _plain(expected, test, quick)


def _build_text(expected: str, rules: Rules) -> Node:
    text = str.__str__(expected)
    if rules.wildcard and text == "*":
        return leaf("*", _is_something, _why_nothing)
    if rules.coerces:
        return _build_coerced_text(text, rules)
    if rules.strips:
        stripped = text.strip()

        def is_stripped(actual: object, _levels: int) -> bool:
            return isinstance(actual, str) and str.strip(actual) == stripped

        return _plain(text, is_stripped)

    def test(actual: object, _levels: int) -> bool:
        return isinstance(actual, str) and str.__eq__(text, actual)

    return _plain(text, test, str)


def _is_something(actual: object, _levels: int) -> bool:
    if actual.__class__ is str:
        return actual != ""
    if actual is None or actual is MISSING:
        return False
    if isinstance(actual, str):
        return len(actual) > 0
    content = as_mapping(actual)
    items = as_list(actual) if content is None else content
    return items is None or len(items) > 0


def _why_nothing(actual: object) -> str:
    came = "null" if actual is None else f"{noun(actual)} that is empty"
    return f"expected anything but null and what is empty, got {came}"


def _build_coerced_text(text: str, rules: Rules) -> Node:
    """Compile a text under rules by which a number, a bool, a mapping or a list may be what it spells."""
    spelled = bool_of(text)
    inside, levels_used = _build_json_inside(text, rules)

    def test(actual: object, levels: int) -> bool:
        if isinstance(actual, str):
            return str.__eq__(text, actual)
        kind = kind_of(actual)
        if kind == "number":
            return text_equals(text, actual)
        if kind == "bool":
            return actual is spelled
        return inside is not None and levels >= levels_used and inside.test(actual, levels - levels_used)

    node = _plain(text, test, str)
    if inside is None:
        return node
    json_inside, explain_whole = inside, node.explain

    def explain(actual: object, path: Path, levels: int) -> Iterable[Difference]:
        if kind_of(actual) in ("mapping", "list") and levels >= levels_used:
            return json_inside.explain(actual, path, levels - levels_used)
        return explain_whole(actual, path, levels)

    return Node(text, test, explain, quick=node.quick)


def _build_json_inside(text: str, rules: Rules) -> tuple[Node | None, int]:
    """Compile what an expected text holds as JSON; None where that is no mapping and no list."""
    try:
        value, levels_left = unfold(text, LEVELS)
    except UndecidedError as undecided:
        return _undecided_container(text, undecided.reason), 0
    if isinstance(value, str):
        return None, 0
    if nested_deeper_than(value, DEPTH - rules.depth):
        return _undecided_container(text, "the JSON text nests too deeply to be compared"), 0
    # What stands in a text is data: its $keys are no matchers.
    return build(value, rules.taken_literally()), LEVELS - levels_left


def _undecided_container(text: str, reason: str) -> Node:
    def test(actual: object, _levels: int) -> bool:
        if kind_of(actual) in ("mapping", "list"):
            raise UndecidedError(reason)
        return False

    return _plain(text, test)


def _build_mapping(expected: Mapping[object, object], rules: Rules) -> Node:
    below = rules.below()
    parts = {key: build(value, below) for key, value in expected.items()}
    return build_mapping(expected, parts, coerces=rules.coerces, open_keys=rules.open_keys)


def _build_list(expected: Sequence[object], rules: Rules) -> Node:
    below = rules.below()
    parts = Items(expected, _is_plain, lambda item: build(item, below))
    return build_list(expected, parts, coerces=rules.coerces, exact=rules.exact)


def _is_plain(item: object) -> bool:
    """Whether an item matches its equal of the same type. A text that may hold JSON is compiled as that at once."""
    return type(item) in _PLAIN_TYPES or (type(item) is str and not item.lstrip().startswith(("{", "[", '"')))


def _build_other(expected: object, _rules: Rules) -> Node:
    if not isinstance(expected, _BY_TYPE):
        return _build_foreign(expected)
    expected_type, key = type(expected), strict_key(expected)

    def test(actual: object, _levels: int) -> bool:
        return type(actual) is expected_type and strict_key(actual) == key

    return _plain(expected, test)


def _build_foreign(expected: object) -> Node:
    """Compile an object that says itself what it equals."""

    def test(actual: object, _levels: int) -> bool:
        return equals(expected, actual)

    return leaf(expected, test, lambda _actual: "")


_BUILDERS: Final[dict[Kind, Callable[[Any, Rules], Node]]] = {
    "null": _build_null,
    "bool": _build_bool,
    "number": _build_number,
    "text": _build_text,
    "mapping": _build_mapping,
    "list": _build_list,
    "other": _build_other,
}
