"""What an expected call demands of an actual one, and how much of that one meets."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from enum import Enum
from typing import Any, Final, NamedTuple

from msgspec import UNSET, Struct

from tracewitness.display import show
from tracewitness.errors import ExpectationError
from tracewitness.matching import (
    ABSENT,
    Compiled,
    Matcher,
    compile_expected,
    inside_envelope,
    parse,
    sees_envelope,
    strict_key,
)
from tracewitness.matching.values import UndecidedError
from tracewitness.trace import MalformedArguments, MalformedResult, ToolCall

from .expected import ExpectedCall
from .keys import Odd, argument_keys, key_or_odd, plain_keys

__all__ = [
    "LENIENT",
    "STRICT",
    "Condition",
    "Counts",
    "Demand",
    "DemandShape",
    "Offer",
    "OfferShape",
    "Policy",
    "Slot",
    "SlotName",
    "compare",
    "count",
    "demand_of",
    "offer_of",
    "payloads",
    "result_keys",
    "strange_names",
]


class Policy(NamedTuple):
    """How values are compared.

    Attributes:
        name: the policy's name, ``strict`` or ``lenient``.
        exact: whether it is ``strict``.
    """

    name: str
    exact: bool


LENIENT: Final = Policy("lenient", exact=False)
STRICT: Final = Policy("strict", exact=True)


class Slot(Enum):
    """What has to be right beside single arguments, which go by their names."""

    RESULT = "result"
    ALL_ARGUMENTS = "args"


SlotName = str | Slot


class Counts(Struct, frozen=True, gc=False):
    """How well a call meets a demand.

    Attributes:
        correct: how many of the things that are demanded are right.
        given: how many things came where something is demanded; what is not correct of them came in vain.
    """

    correct: int
    given: int


_UNCHECKED: Final = Counts(0, 0)


class Condition:
    """A demand that has to be tried on each call. Two that were written the same are equal.

    Arguments:
        slot: what it looks at: an argument's name or a `Slot`.
        expected: what that has to match.
        policy: how values are compared.

    Attributes:
        optional: whether an argument that is absent is right.

    Raises:
        ExpectationError: a matcher is malformed.
    """

    __slots__ = ("_compiled", "_identity", "optional", "slot")

    def __init__(self, slot: SlotName, expected: object, policy: Policy) -> None:
        self.slot = slot
        self.optional = False
        self._identity: Hashable = None
        if isinstance(slot, Slot):
            self._compiled = compile_expected(expected, policy.name)
        else:
            self._compiled = _compiled_argument(slot, expected, policy)
            self.optional = self._compiled.matches({})

    def holds(self, call: ToolCall) -> bool:
        """Whether the call has what is demanded. Malformed arguments have nothing."""
        slot, args, matches = self.slot, call.args, self._compiled.matches
        if slot is Slot.RESULT:
            only_inside = not sees_envelope(self._compiled.expected)
            return any(map(matches, payloads(call, only_inside=only_inside)))
        if isinstance(args, MalformedArguments):
            return False
        if slot is Slot.ALL_ARGUMENTS:
            return matches(args)
        return matches({slot: args[slot]}) if slot in args else self.optional

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Condition) and hash(self) == hash(other) and self._identity == other._identity

    def __hash__(self) -> int:
        if self._identity is None:
            expected: Any = self._compiled.expected
            part = expected if isinstance(self.slot, Slot) else expected[self.slot]
            self._identity = self.slot, part if isinstance(part, Matcher) else strict_key(part)
        return hash(self._identity)


def _compiled_argument(name: str, expected: object, policy: Policy) -> Compiled:
    """Compile one argument with its name, so that it can say what holds where the argument is absent."""
    # Beside another name, one with a $ is no matcher's.
    beside = {"": ABSENT} if name.startswith("$") else {}
    return compile_expected({name: expected, **beside}, policy.name)


def payloads(call: ToolCall, *, only_inside: bool = False) -> list[Any]:
    """Return what counts as the call's result: the payload, and what is inside it where it is an envelope.

    What failed has no result, and neither has JSON of which nobody can tell whether it is an envelope.

    Arguments:
        only_inside: whether an envelope itself does not count.
    """
    if call.answer is None or call.is_error is True:
        return []
    payload = call.result
    if isinstance(payload, MalformedResult):
        return []
    try:
        inside = inside_envelope(payload)
    except UndecidedError:
        return []
    return [inside] if only_inside or inside is payload else [payload, inside]


def result_keys(call: ToolCall, policy: Policy) -> list[Hashable]:
    """Return the keys of what counts as the call's result."""
    return [key_or_odd(payload, policy.exact) for payload in payloads(call)]


class DemandShape(NamedTuple):
    """What a demand speaks of, whatever the values.

    Attributes:
        names: the names of the arguments that may come; None where they are not checked one by one.
        as_one: whether all arguments together are one thing, which a matcher is for.
        result: whether the result has to be right.
    """

    names: frozenset[str] | None
    as_one: bool
    result: bool


class Demand(Struct, gc=False):
    """An expected call, made ready for many comparisons.

    Attributes:
        call: the expected call.
        wanted: for each thing that has to be right, its key or a `Condition`.
        by_name: whether arguments are checked one by one.
        plain: whether it is arguments that are checked, all of them plain values, and nothing else.
    """

    call: ExpectedCall
    wanted: dict[Any, Hashable]
    by_name: bool
    plain: bool

    @property
    def checked(self) -> bool:
        """Whether anything is demanded beside the tool."""
        return self.by_name or bool(self.wanted)

    @property
    def shape(self) -> DemandShape:
        """What it speaks of."""
        if self.plain:
            return DemandShape(frozenset(self.wanted), False, False)
        names = frozenset([name for name in self.wanted if not isinstance(name, Slot)]) if self.by_name else None
        return DemandShape(names, Slot.ALL_ARGUMENTS in self.wanted, Slot.RESULT in self.wanted)

    def value_of(self, slot: SlotName) -> object:
        """Return what is expected of an argument or of the result, as it was written."""
        return self.call.result if slot is Slot.RESULT else self.call.args[slot]


def demand_of(call: ExpectedCall, policy: Policy) -> Demand:
    """Make an expected call ready.

    Raises:
        ExpectationError: a matcher in it is malformed; it knows the path.
    """
    args, result = call.args, call.result
    if args.__class__ is dict and result is UNSET:
        keys = plain_keys(args, policy.exact)
        if keys is not None:
            return Demand(call, keys, True, True)
    wanted: dict[Any, Hashable] = {}
    by_name = False if args is UNSET else _want_arguments(wanted, args, policy)
    if result is not UNSET:
        _want(wanted, Slot.RESULT, result, policy)
    return Demand(call, wanted, by_name, by_name and result is UNSET and Condition not in map(type, wanted.values()))


def _want_arguments(wanted: dict[Any, Hashable], args: Any, policy: Policy) -> bool:
    """Enter what is wanted of arguments; tell whether it is wanted of each by name."""
    if isinstance(args, Matcher) or _has_notation(args):
        args = _parsed(args)
        if isinstance(args, Matcher):
            wanted[Slot.ALL_ARGUMENTS] = _condition(Slot.ALL_ARGUMENTS, args, policy)
            return False
    for name, expected in args.items():
        _want(wanted, name, expected, policy)
    return True


def _want(wanted: dict[Any, Hashable], slot: SlotName, expected: object, policy: Policy) -> None:
    key = key_or_odd(expected, policy.exact, True)
    wanted[slot] = _condition(slot, expected, policy) if key.__class__ is Odd else key


def _has_notation(args: Mapping[Any, object]) -> bool:
    """Whether a name could be a matcher's."""
    for name in args:
        if not isinstance(name, str):
            raise ExpectationError(f"an argument's name is a text, not {show(name)}", ("args",))
        if name[:1] == "$":
            return True
    return False


def _parsed(args: object) -> object:
    try:
        return parse(args)
    except ExpectationError as error:
        raise error.under("args") from error.__cause__


def _condition(slot: SlotName, expected: object, policy: Policy) -> Condition:
    try:
        return Condition(slot, expected, policy)
    except ExpectationError as error:
        place = "args" if slot is not Slot.RESULT else "result"
        raise error.under(place) from error.__cause__


class OfferShape(NamedTuple):
    """What a call brings, whatever the values.

    Attributes:
        names: the names of its arguments; None where they are malformed.
        answered: whether it has a result.
    """

    names: frozenset[str] | None
    answered: bool


class Offer(Struct, gc=False):
    """An actual call, made ready for many comparisons.

    Attributes:
        call: the call.
        given: the keys of its arguments; None where they are malformed.
    """

    call: ToolCall
    given: dict[str, Hashable] | None

    @property
    def shape(self) -> OfferShape:
        """What it brings."""
        return OfferShape(None if self.given is None else frozenset(self.given), self.call.answer is not None)


def offer_of(call: ToolCall, policy: Policy) -> Offer:
    """Make an actual call ready."""
    args = call.args
    return Offer(call, None if isinstance(args, MalformedArguments) else argument_keys(args, policy.exact))


def compare(demand: Demand, offer: Offer, policy: Policy) -> Counts:
    """Count what of a demand a call meets."""
    wanted, given = demand.wanted, offer.given
    if demand.plain and given is not None:
        if wanted == given:
            return Counts(len(wanted), len(wanted))
        if Odd not in map(type, given.values()):
            return Counts(len(wanted.items() & given.items()), len(given))
    if not demand.checked:
        return _UNCHECKED
    met = [slot for slot in wanted if _is_met(slot, demand, offer, policy)]
    absent = sum([slot not in given for slot in met if not isinstance(slot, Slot)]) if given is not None else 0
    return count(demand.shape, offer.shape, len(met), absent)


def count(demand: DemandShape, offer: OfferShape, correct: int, absent: int) -> Counts:
    """Count what came where something is demanded.

    Arguments:
        correct: how many of the things that are demanded are right.
        absent: how many of these are arguments that are absent, as they may be.
    """
    given = 0
    if demand.names is not None:
        # What can't be read is something that came, and is not right.
        given = 1 if offer.names is None else len(offer.names) + absent
    elif demand.as_one:
        given = 1
    if demand.result and offer.answered:
        given += 1
    return Counts(correct, given)


def strange_names(demand: DemandShape, offer: OfferShape) -> int:
    """Count the arguments that came under names that are not expected."""
    return 0 if demand.names is None or offer.names is None else len(offer.names - demand.names)


def _is_met(slot: SlotName, demand: Demand, offer: Offer, policy: Policy) -> bool:
    want = demand.wanted[slot]
    if isinstance(want, Condition):
        return want.holds(offer.call)
    if slot is Slot.RESULT:
        keys = result_keys(offer.call, policy)
    else:
        keys = [offer.given[slot]] if offer.given and slot in offer.given else []
    if want in keys:
        return True
    return Odd in map(type, keys) and Condition(slot, demand.value_of(slot), policy).holds(offer.call)
