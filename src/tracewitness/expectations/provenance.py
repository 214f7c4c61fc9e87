"""The monitor of args_from: did each argument's value appear earlier, in a result or in what the user said?"""

from __future__ import annotations

import math
import re
from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import Any, Final

from msgspec import field

from tracewitness.errors import ExpectationError
from tracewitness.expectations import wording
from tracewitness.expectations.operators import ArgsFrom, Source
from tracewitness.expectations.plan import Monitor, Plan, Subscription, ToolNames, calls_to
from tracewitness.matching import Eq, json_number, json_value, matches, opened, strict_key
from tracewitness.trace import EventIndex, MalformedArguments, MalformedResult, Message, ToolCall, ToolResult
from tracewitness.verdict import Verdict

__all__ = ["GroundingWatch", "parse_path"]

_EACH: Final = "*"
_PathStep = str | int  # a key, an index, or _EACH inside brackets as the tuple below
_STEP = re.compile(r"(?:^|\.)(?P<key>[^.\[\]]+)|\[(?P<index>\d+|\*)\]")


def parse_path(path: str) -> tuple[tuple[str, Any], ...]:
    """Read a path of dotted keys with ``[n]`` and ``[*]``.

    Raises:
        ExpectationError: the path is none.

    >>> parse_path("items[*].id")
    (('key', 'items'), ('index', '*'), ('key', 'id'))
    """
    steps: list[tuple[str, Any]] = []
    at = 0
    while at < len(path):
        found = _STEP.match(path, at)
        if found is None:
            raise ExpectationError(
                f"not a path: {path!r} at character {at + 1}; write keys with dots and [n] or [*], as items[*].id"
            )
        key, index = found.group("key"), found.group("index")
        steps.append(("key", key) if key is not None else ("index", _EACH if index == _EACH else int(index)))
        at = found.end()
    return tuple(steps)


def values_at(payload: Any, steps: tuple[tuple[str, Any], ...]) -> Iterator[Any]:
    """Yield what stands at a path; JSON in text is looked into."""
    found = [payload]
    for kind, part in steps:
        found = [child for value in found for child in _children(_decoded(value), kind, part)]
    yield from found


def _decoded(value: Any) -> Any:
    return json_value(value) if isinstance(value, str) else value


def _children(value: Any, kind: str, part: Any) -> Iterable[Any]:
    if kind == "key":
        return [value[part]] if isinstance(value, Mapping) and part in value else []
    if not isinstance(value, (list, tuple)):
        return []
    return value if part == _EACH else value[part : part + 1]


class _Seen:
    """Values that stood in results, so that a later argument is found in one step.

    Scalars are equal by ``subset``: a number or a bool and its text are the same, two different texts are not. Those
    that could be equal share a bucket, so that few are compared. Mappings and lists are equal by ``strict``.
    """

    __slots__ = ("_buckets",)

    def __init__(self) -> None:
        self._buckets: dict[Hashable, list[Any]] = {}

    def add(self, value: Any) -> None:
        kind, key = _bucket(value)
        bucket = self._buckets.setdefault((kind, key), [])
        if not bucket or (kind in _COERCED and key != _NAN and not any(_is_just(value, each) for each in bucket)):
            bucket.append(value)

    def has(self, value: Any) -> bool:
        kind, key = _bucket(value)
        bucket = self._buckets.get((kind, key), [])
        if kind not in _COERCED:
            return bool(bucket)
        return any(_is_just(value, each) or matches(Eq(each), value, "subset") for each in bucket)


_COERCED: Final = ("number", "bool")
_NAN: Final = "nan"  # stands for itself in a bucket's key; the number is not even equal to itself


def _bucket(value: Any) -> tuple[str, Hashable]:
    """Return the kind of a value, and a key that all values share that are the same."""
    if isinstance(value, bool):
        return "bool", value
    if isinstance(value, str):
        if value.lower() in ("true", "false"):
            return "bool", value.lower() == "true"
        return ("text", value) if json_number(value) is None else ("number", _magnitude(value))
    return ("number", _magnitude(value)) if _is_number(value) else ("value", strict_key(value))


def _magnitude(number: Any) -> float | str:
    """Return about how much a number is, or the text of one."""
    try:
        about = float(number)
    except OverflowError:  # of a whole number beyond what a float holds
        return math.inf if number > 0 else -math.inf
    return _NAN if math.isnan(about) else about


def _is_just(one: Any, other: Any) -> bool:
    return type(one) is type(other) and bool(one == other)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


class _Words:
    """What the user said so far. Each value is looked for once in each message."""

    __slots__ = ("_found", "_messages")

    def __init__(self) -> None:
        self._messages: list[str] = []
        self._found: dict[str, int | bool] = {}

    def add(self, text: str) -> None:
        self._messages.append(text)

    def has(self, value: Any) -> bool:
        """Whether the value, as text, stands in a message with no letter or digit beside it."""
        return any(self._said(text) for text in _as_texts(value))

    def _said(self, text: str) -> bool:
        looked = self._found.get(text, 0)
        if looked is True:
            return True
        said = any(_stands_in(text, message) for message in self._messages[looked:])
        self._found[text] = said or len(self._messages)
        return said


def _as_texts(value: Any) -> tuple[str, ...]:
    """Return how a person would write a value: ``2.0`` also as ``2``. Lists and mappings are not said in one piece."""
    if isinstance(value, str):
        return (value,) if value else ()
    if isinstance(value, bool):
        return ("true", "True") if value else ("false", "False")
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return (str(value), str(int(value)))
    return (str(value),) if _is_number(value) else ()


def _stands_in(text: str, message: str) -> bool:
    at = message.find(text)
    while at >= 0:
        end = at + len(text)
        if not (message[at - 1 : at].isalnum() if at else False) and not message[end : end + 1].isalnum():
            return True
        at = message.find(text, at + 1)
    return False


class _Grounding:
    """The compiled sources: for each argument, which places it may come from."""

    __slots__ = ("arguments", "places")

    def __init__(self, operator: ArgsFrom, names: ToolNames) -> None:
        self.places: list[tuple[str, tuple[tuple[str, Any], ...]]] = []
        self.arguments: dict[str, list[int | None]] = {}
        for argument, sources in operator.args.items():
            self.arguments[argument] = [self._place(source, names) for source in sources]

    def _place(self, source: Source | str, names: ToolNames) -> int | None:
        """Return the number of a place in results; None is what the user said."""
        if isinstance(source, str):
            return None
        place = (names.primary(source.tool), parse_path(source.path))
        if place not in self.places:
            self.places.append(place)
        return self.places.index(place)


class GroundingWatch(Monitor, gc=False):
    """Keeps what was seen, and compares each call's arguments with it."""

    lasting = frozenset({"broken"})

    calls: int = 0
    ungrounded: list[tuple[Any, ...]] = []
    said: _Words = field(default_factory=_Words)
    seen: list[_Seen] = []

    def __post_init__(self) -> None:
        self.seen = [_Seen() for _ in self.plan.parts[0].places]

    @classmethod
    def compile(cls, operator: ArgsFrom, names: ToolNames) -> Plan:
        grounding = _Grounding(operator, names)
        sources = {tool for tool, _ in grounding.places}
        subscriptions = [
            Subscription("call", calls_to(names, operator.tool), cls.call),
            Subscription("result", lambda counted: not sources.isdisjoint(counted), cls.result),
        ]
        if any(None in places for places in grounding.arguments.values()):
            subscriptions.append(Subscription("message", None, cls.message))
        return Plan(operator, cls, subscriptions, (grounding, names))

    def message(self, message: Message) -> None:
        if message.role == "user":
            self.said.add(message.text)

    def result(self, result: ToolResult, call: ToolCall) -> None:
        if result.is_error is True or isinstance(result.payload, MalformedResult):
            return
        grounding, names = self.plan.parts
        counted = names.counted_as(call.name)
        readings = _readings(result.payload)
        for seen, (tool, path) in zip(self.seen, grounding.places, strict=True):
            if tool in counted:
                for reading in readings:
                    for value in values_at(reading, path):
                        seen.add(value)

    def call(self, call: ToolCall) -> None:
        self.calls += 1
        arguments = {} if isinstance(call.args, MalformedArguments) else call.args
        for argument, places in self.plan.parts[0].arguments.items():
            if argument not in arguments:
                self.ungrounded.append((wording.argument_missing, call.position, argument))
            elif not self._grounded(arguments[argument], places):
                words = (wording.not_grounded, call.position, argument, arguments[argument])
                self.ungrounded.append(words)

    def _grounded(self, value: Any, places: list[int | None]) -> bool:
        return any(self.said.has(value) if place is None else self.seen[place].has(value) for place in places)

    def verdict(self, index: EventIndex) -> Verdict:  # noqa: ARG002 - the same for every monitor
        tool = self.plan.operator.tool
        if self.ungrounded:
            make, *rest = self.ungrounded[0]
            evidence = tuple(dict.fromkeys(words[1] for words in self.ungrounded))
            return self._broken(evidence, make, tool, *rest)
        if not self.calls:
            return self._held((), wording.not_called, tool)
        return self._held((), wording.grounded, tool, self.calls)


def _readings(payload: Any) -> list[Any]:
    """Return a payload, and where it is an envelope what is inside it as well."""
    inside = opened(payload)
    return [payload] if inside is payload else [payload, inside]
