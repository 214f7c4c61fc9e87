"""The monitor of args_from: did each argument's value appear earlier, in a result, a parameter or what the user said?

What is so trivial that it proves nothing where it is found, and nothing where it is not, depends on how the argument
is named. One that is listed by name is checked whatever its value is, since its author asked for that: a quantity of
3 must come from somewhere. Under ``*``, which stands for all arguments that are not listed, these need no source: what
is absent or empty, ``true`` and ``false``, and whole numbers of one digit, in figures or in quotes. They stand in
nearly every text, so that finding them would say nothing, and not finding them would mostly be noise. In both cases a
value that the tool's own schema names, in an ``enum``, a ``const`` or as the default, needs no source where ``schema``
is given: the agent has it from there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Any, Final

from msgspec import UNSET, Struct, field

from tracewitness.display import printable
from tracewitness.errors import ExpectationError, path_text
from tracewitness.expectations import wording
from tracewitness.expectations.derivations import Groups, computed, is_computed, ways_to_choose
from tracewitness.expectations.lookalikes import nearest_seen
from tracewitness.expectations.operators import ArgsFrom
from tracewitness.expectations.plan import Monitor, Plan, Subscription, ToolNames, calls_to
from tracewitness.expectations.readings import FORMS
from tracewitness.expectations.result_paths import (
    Place,
    Steps,
    leaves_of,
    parse_path,
    placed_at,
    readings_of,
    values_at,
)
from tracewitness.expectations.sightings import Origin, Sightings, sightings_in
from tracewitness.expectations.sources import (
    ANY_FORM,
    EVERY_ARGUMENT,
    ArgumentSource,
    Derived,
    Formatted,
    SessionSource,
    Source,
)
from tracewitness.matching import Difference, json_number, strict_key
from tracewitness.trace import EventIndex, MalformedArguments, MalformedResult, Message, ToolCall, ToolResult
from tracewitness.verdict import NearMiss, Verdict

__all__ = ["GroundingWatch", "is_trivial"]

_SAME: Final = "same"


class _Place(Struct, frozen=True):
    """A source, compiled: what of a trace goes into one index.

    Attributes:
        kind: ``user``, ``session``, ``results``, ``result`` for a path of one tool's, ``taken`` for an argument that a
            call took, ``own`` for another argument of the same call.
        tool: whose, where it is somebody's.
        steps: the path; none for all that is there.
        form: in which form of writing values are compared; none for those that something is computed of.
    """

    kind: str
    tool: str = ""
    steps: Steps = ()
    form: str = _SAME

    def found_in(self, result: ToolResult, call: ToolCall) -> Iterator[tuple[Place, Any]]:
        """Yield what of a result, and of the call that it answers, belongs here, each with its path."""
        if self.kind == "taken":
            yield from placed_at(call.args, self.steps) if not isinstance(call.args, MalformedArguments) else ()
            return
        for reading in readings_of(result.payload) if self.kind == "result" else [result.payload]:
            yield from placed_at(reading, self.steps) if self.kind == "result" else leaves_of(reading)

    @property
    def is_wide(self) -> bool:
        """Whether values may stand inside of the texts that are there."""
        return self.kind in ("user", "results")


class _Derivation(Struct, frozen=True):
    """A rule by which a value is computed: for each operand the number of a place, or a number."""

    rule: Derived
    operands: tuple[int | Groups, ...]


class _Argument(Struct, frozen=True):
    """One listed argument: its path where its name is one, and where its value may come from."""

    name: str
    steps: Steps | None
    places: tuple[int, ...]
    derivations: tuple[_Derivation, ...]

    def placed_in(self, arguments: Mapping[str, Any]) -> list[tuple[Place, Any]]:
        """Return what the call has there, each with its place: under the name itself, else at the path that it is."""
        if self.name in arguments:
            return [((self.name,), arguments[self.name])]
        return [] if self.steps is None else placed_at(arguments, self.steps)


class _Grounding:
    """The compiled check.

    Attributes:
        places: the sources of all arguments, each once.
        given: for the numbers of those that no event is needed for, what is known.
        arguments: those that are listed by name.
        others: where all others come from; None where they may come from anywhere.
        allowed: by argument, the keys of values that the tool's schema names.
    """

    def __init__(self, operator: ArgsFrom, names: ToolNames) -> None:
        self.places: list[_Place] = []
        self.given: dict[int, Any] = {}
        self._names = names
        self._session = None if operator.session is UNSET else operator.session
        compiled = {name: self._argument(name, sources) for name, sources in operator.args.items()}
        self.others = compiled.pop(EVERY_ARGUMENT, None)
        self.arguments = list(compiled.values())
        self.allowed = _named_values(None if operator.schema is UNSET else operator.schema)
        self.lacks_session = self._session is None and any(place.kind == "session" for place in self.places)

    def _argument(self, name: str, sources: Iterable[Any]) -> _Argument:
        places: list[int] = []
        derivations = []
        for source in sources:
            if isinstance(source, Derived):
                operands = tuple(self._operand(each) for each in source.of)
                derivations.append(_Derivation(source, operands))
            elif isinstance(source, Formatted):
                forms = (_SAME, *FORMS) if source.format == ANY_FORM else (source.format,)
                places.extend(self._place(each, form) for each in source.of for form in forms)
            else:
                places.append(self._place(source, _SAME))
        return _Argument(name, _path_in(name), tuple(places), tuple(derivations))

    def _operand(self, source: Any) -> int | Groups:
        if isinstance(source, (int, float)):
            constant = Groups()
            constant.add([source], None)
            return constant
        return self._place(source, "")

    def _place(self, source: Any, form: str) -> int:
        """Return the number of a source in one form of writing."""
        place = self._compiled(source, form)
        if place not in self.places:
            self.places.append(place)
            if place.kind == "session":
                self.given[len(self.places) - 1] = self._known(place)
        return self.places.index(place)

    def _compiled(self, source: Any, form: str) -> _Place:
        if isinstance(source, str):
            return _Place(source, form=form)
        if isinstance(source, Source):
            return _Place("result", self._names.primary(source.tool), parse_path(source.path), form)
        if isinstance(source, SessionSource):
            return _Place("session", steps=parse_path(source.session), form=form)
        steps = parse_path(source.argument)
        if source.tool is UNSET:
            return _Place("own", steps=steps, form=form)
        return _Place("taken", self._names.primary(source.tool), steps, form)

    def _known(self, place: _Place) -> Any:
        """Return what the session's parameters are for a place, indexed once for all traces."""
        state = _state(place)
        session = {} if self._session is None else self._session
        found = placed_at(session, place.steps) if place.steps else list(leaves_of(session))
        if isinstance(state, Groups):
            state.add([value for _, value in found], Origin((), _in_session))
            return state
        for path, value in found:
            state.add(value, Origin((), partial(_in_session, path=path)))
        return state


def _path_in(name: str) -> Steps | None:
    """Return the path that an argument's name is, where it is more than a name."""
    if name == EVERY_ARGUMENT or {".", "["}.isdisjoint(name):
        return None
    try:
        return parse_path(name)
    except ExpectationError:
        return None


def _state(place: _Place) -> Any:
    """Return what keeps what was seen at a place."""
    return sightings_in(place.form) if place.form else Groups()


class GroundingWatch(Monitor, gc=False):
    """Keeps what was seen, and compares each call's arguments with it."""

    lasting = frozenset({"broken"})

    calls: int = 0
    ungrounded: list[tuple[Any, ...]] = []
    #: Of the first call: each argument that was found, its value, and where.
    found: list[tuple[str, Any, Origin]] = []
    seen: list[Any] = field(default_factory=list)

    def __post_init__(self) -> None:
        grounding = self.plan.parts[0]
        given = grounding.given
        self.seen = [given.get(number) or _state(place) for number, place in enumerate(grounding.places)]

    @classmethod
    def compile(cls, operator: ArgsFrom, names: ToolNames) -> Plan:
        grounding = _Grounding(operator, names)
        sources = {place.tool for place in grounding.places if place.kind in ("result", "taken")}
        kinds = {place.kind for place in grounding.places}
        wanted = None if "results" in kinds else lambda counted: not sources.isdisjoint(counted)
        subscriptions = [
            Subscription("call", calls_to(names, operator.tool), cls.call),
            Subscription("result", wanted, cls.result),
        ]
        if "user" in kinds:
            subscriptions.append(Subscription("message", None, cls.message))
        return Plan(operator, cls, subscriptions, (grounding, names))

    def message(self, message: Message) -> None:
        if message.role != "user":
            return
        origin = Origin((message.position,), partial(_said, position=message.position))
        for seen, place in zip(self.seen, self.plan.parts[0].places, strict=True):
            if place.kind == "user":
                seen.say(message.text, origin)

    def result(self, result: ToolResult, call: ToolCall) -> None:
        if result.is_error is True or isinstance(result.payload, MalformedResult):
            return
        grounding, names = self.plan.parts
        counted = names.counted_as(call.name)
        for seen, place in zip(self.seen, grounding.places, strict=True):
            if place.kind == "results" or (place.kind in ("result", "taken") and place.tool in counted):
                _keep(seen, place, result, call)

    def call(self, call: ToolCall) -> None:
        self.calls += 1
        grounding = self.plan.parts[0]
        if isinstance(call.args, MalformedArguments) and not grounding.arguments:
            self.ungrounded.append((wording.arguments_unread, call.position))
        arguments = {} if isinstance(call.args, MalformedArguments) else call.args
        listed: set[Place] = set()
        for argument in grounding.arguments:
            placed = argument.placed_in(arguments)
            listed.update(place for place, _ in placed)
            if not placed:
                self.ungrounded.append((wording.argument_missing, call.position, argument.name))
            for place, value in placed:
                self._test(call, argument, place, value)
        if grounding.others is not None:
            for place, value in _others(arguments, listed):
                self._test(call, grounding.others, place, value)

    def _test(self, call: ToolCall, argument: _Argument, at: Place, value: Any) -> None:
        """Look for one value in the sources of its argument."""
        grounding = self.plan.parts[0]
        if strict_key(value) in grounding.allowed.get(at[0], ()):
            return
        name = path_text(at, root="")
        origin = self._origin(value, argument, call)
        if origin is None:
            self.ungrounded.append(
                (wording.not_grounded, call.position, name, value, grounding.lacks_session, argument)
            )
        elif self.calls == 1:
            self.found.append((name, value, origin))

    def _origin(self, value: Any, argument: _Argument, call: ToolCall) -> Origin | None:
        """Return where a value comes from, or None."""
        for number in argument.places:
            place = self.plan.parts[0].places[number]
            seen = _own(place, call) if place.kind == "own" else self.seen[number]
            origin: Origin | None = seen.find(value)
            if origin is not None:
                return origin
        for derivation in argument.derivations:
            for result, positions in self._results(derivation, call):
                if is_computed(value, result):
                    return Origin(positions, partial(_computed, rule=derivation.rule, positions=positions))
        return None

    def _results(self, derivation: _Derivation, call: ToolCall) -> Iterator[tuple[Any, tuple[int, ...]]]:
        """Yield what a rule comes to, with the events that it is computed of; the latest results first."""
        rule = derivation.rule
        for chosen in ways_to_choose([self._groups(operand, call) for operand in derivation.operands]):
            values = [value for group, _ in chosen for value in group]
            origins = [origin for _, origin in chosen if origin is not None]
            positions = tuple(dict.fromkeys(position for origin in origins for position in origin.positions))
            yield computed(rule.operation, values, rule.separator), positions

    def _groups(self, operand: int | Groups, call: ToolCall) -> Groups:
        if isinstance(operand, Groups):
            return operand
        place = self.plan.parts[0].places[operand]
        groups: Groups = _own(place, call) if place.kind == "own" else self.seen[operand]
        return groups

    def verdict(self, index: EventIndex) -> Verdict:
        tool = self.plan.operator.tool
        if self.ungrounded:
            make, *rest = self.ungrounded[0]
            evidence = tuple(dict.fromkeys(words[1] for words in self.ungrounded))
            misses = None
            if make is wording.not_grounded:
                position, name, value, _, argument = rest
                rest.pop()
                misses = partial(self._nearest, argument, position, name, value, index)
            return self._broken(evidence, make, tool, *rest, misses=misses)
        if not self.calls:
            return self._held((), wording.not_called, tool)
        evidence = tuple(sorted({position for _, _, origin in self.found for position in origin.positions}))
        return self._held(evidence, wording.grounded, tool, self.calls, self.found)

    def _nearest(self, argument: _Argument, position: int, name: str, value: Any, index: EventIndex) -> NearMiss | None:
        """Find what was seen and looks most like a value that was not, or what the value should have come to."""
        call = next(call for call in index.calls if call.position == position)
        for derivation in argument.derivations:
            for result, positions in self._results(derivation, call):
                if result is not None and all(each < position for each in positions):
                    reason = _computed(None, derivation.rule, positions)
                    difference = Difference(("args", name), _shown(result), value, reason)
                    return NearMiss(position, call.name, (difference,))
        seen = (each for number in argument.places for each in self.seen[number].candidates())
        near = nearest_seen(value, seen, position)
        if near is None:
            return None
        other, origin, edits = near
        reason = f"{wording.edits(edits)}; {printable(other, 60)} is from {origin.describe(other)}"
        difference = Difference(("args", name), other, value, reason)
        return NearMiss((*origin.positions, position)[0], call.name, (difference,))


def _keep(seen: Any, place: _Place, result: ToolResult, call: ToolCall) -> None:
    """Put what of a result belongs to a place into its index."""
    origin = Origin((result.position,), partial(_in_result, place=place, result=result, call=call))
    if isinstance(seen, Groups):
        for reading in readings_of(result.payload) if place.kind == "result" else [call.args]:
            seen.add(values_at(reading, place.steps), origin)
        return
    for _, value in place.found_in(result, call):
        seen.add(value, origin)
        if place.is_wide and isinstance(value, str):
            seen.say(value, origin)


def _own(place: _Place, call: ToolCall) -> Any:
    """Return what the call itself has at a place of its arguments."""
    state = _state(place)
    origin = Origin((), partial(_in_call, place=place))
    values = [] if isinstance(call.args, MalformedArguments) else values_at(call.args, place.steps)
    if isinstance(state, Groups):
        state.add(values, origin)
        return state
    for value in values:
        state.add(value, origin)
    return state


# ---------------------------------------------------------------------------------------- what needs no source


def is_trivial(value: Any) -> bool:
    """Whether finding a value somewhere would say nothing: see this module's description.

    >>> [is_trivial(value) for value in ("", False, "true", 3, "3", 12, "no")]
    [True, True, True, True, True, False, False]
    """
    if isinstance(value, str):
        number = json_number(value)
        if number is None:
            return not value.strip() or value.strip().lower() in ("true", "false")
        value = number
    return value is None or isinstance(value, bool) or (isinstance(value, (int, float)) and value in range(10))


def _others(arguments: Mapping[str, Any], listed: set[Place]) -> Iterator[tuple[Place, Any]]:
    """Yield the leaves of all arguments that are not in what is listed, and not trivial."""
    for place, value in leaves_of(arguments):
        is_listed = any(place[:end] in listed for end in range(1, len(place) + 1))
        if not is_listed and not is_trivial(value):
            yield place, value


def _named_values(schema: Mapping[str, Any] | None) -> dict[str, set[Any]]:
    """Return, by argument, the keys of the values that a schema of arguments names."""
    properties = (schema or {}).get("properties")
    if not isinstance(properties, Mapping):
        return {}
    return {str(name): set(map(strict_key, _values_named(part))) for name, part in properties.items()}


def _values_named(schema: Any, depth: int = 0) -> Iterator[Any]:
    """Yield what a schema names as allowed values or defaults, at every depth."""
    if depth > 20:
        return
    if isinstance(schema, (list, tuple)):
        for part in schema:
            yield from _values_named(part, depth + 1)
    elif isinstance(schema, Mapping):
        named = schema.get("enum")
        yield from named if isinstance(named, (list, tuple)) else ()
        yield from (schema[key] for key in ("const", "default") if key in schema)
        for key, part in schema.items():
            if key not in ("enum", "const", "default", "examples"):
                yield from _values_named(part, depth + 1)


# ---------------------------------------------------------------------------------------- words


def _said(_value: Any, position: int) -> str:
    return f"the user's words ({wording.events([position])})"


def _in_session(_value: Any, path: Place = ()) -> str:
    return f"the session's parameter {printable(path_text(path, root=''), 60)}".rstrip()


def _in_call(_value: Any, place: _Place) -> str:
    return f"the argument {_path_of(place.steps)} of the same call"


def _in_result(value: Any, place: _Place, result: ToolResult, call: ToolCall) -> str:
    """Say where in a result a value stands, the path with its very keys and indexes."""
    path = next((path for path, each in place.found_in(result, call) if _is_at(value, each, place)), ())
    at = printable(path_text(path, root=""), 80) or "the result"
    what = f"the argument {at}" if place.kind == "taken" else at
    return f"{what} of {wording.tool(call.name)} ({wording.events([result.position])})"


def _is_at(value: Any, found: Any, place: _Place) -> bool:
    """Whether a value is found in one place alone."""
    alone: Sightings = sightings_in(place.form or _SAME)
    nowhere = Origin((), str)
    alone.add(found, nowhere)
    if place.is_wide and isinstance(found, str):
        alone.say(found, nowhere)
    return alone.find(value) is not None


def _computed(_value: Any, rule: Derived, positions: tuple[int, ...]) -> str:
    of = " and ".join(_operand_words(each) for each in rule.of)
    where = f" ({wording.events(positions)})" if positions else ""
    return f"the {rule.operation} of {of}{where}"


def _operand_words(source: Any) -> str:
    if isinstance(source, Source):
        return f"{printable(source.path, 60)} of {wording.tool(source.tool)}"
    if isinstance(source, ArgumentSource):
        whose = "" if source.tool is UNSET else f" of {wording.tool(source.tool)}"
        return f"the argument {printable(source.argument, 60)}{whose}"
    return f"the session's {printable(source.session, 60)}" if isinstance(source, SessionSource) else f"{source}"


def _path_of(steps: Steps) -> str:
    return printable(path_text([part for _, part in steps], root=""), 60)


def _shown(result: Any) -> Any:
    """Return a number as it would be written in JSON."""
    if isinstance(result, str):
        return result
    return int(result) if result == result.to_integral_value() else float(result)
