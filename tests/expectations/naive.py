"""What every check means, said a second time: over the whole trace, from SEMANTICS.md alone.

Nothing here is quick, and nothing here knows how the library does it: traces are read from their neutral form
and results are paired again, by the words of the page. Only whether one value matches another is asked of the
library.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import permutations, product
from typing import Any

from tracewitness.expectations import ClaimedAction
from tracewitness.expectations.claim_lexicon import READY, Lexicon, could_do
from tracewitness.expectations.claim_phrases import claims_in
from tracewitness.expectations.claimed_actions import claimed_actions
from tracewitness.expectations.derivations import computed, is_computed
from tracewitness.expectations.readings import FORMS, folded
from tracewitness.matching import Eq, JSONSchema, Matcher, compile_expected, matches, parse

# --------------------------------------------------------------------------- reading a trace

OPTIONAL = {"by", "at", "until", "metadata"}
KINDS = {
    "user": OPTIONAL,
    "agent": OPTIONAL,
    "system": OPTIONAL,
    "call": {*OPTIONAL, "args", "raw_args", "id"},
    "result": {*OPTIONAL, "of", "id", "is_error"},
    "raw_result": {*OPTIONAL, "of", "id", "is_error"},
    "transfer": OPTIONAL,
    "end": OPTIONAL,
}
ANYTHING = object
NOTHING = type(None)
TYPES: dict[str, Any] = {
    **dict.fromkeys(("user", "agent", "system", "call", "raw_result", "transfer"), str),
    **dict.fromkeys(("result", "args"), ANYTHING),
    **dict.fromkeys(("of", "by", "raw_args"), (str, NOTHING)),
    **dict.fromkeys(("at", "until"), (str, int, float, NOTHING)),
    "end": bool,
    "id": (str, int, NOTHING),
    "is_error": (bool, NOTHING),
    "metadata": (dict, NOTHING),
}
BOOLEAN = {"end", "is_error", "result", "args"}


class Malformed:
    """Arguments or a result that could not be decoded."""


MALFORMED = Malformed()


@dataclass(eq=False)
class Answer:
    """A result, and the call that it answers."""

    position: int
    payload: Any
    is_error: bool
    call: Call | None = None
    turn: int = 0
    event: Mapping[str, Any] = field(default_factory=dict)


@dataclass(eq=False)
class Call:
    """A call, and the result that answers it."""

    position: int
    name: str
    args: Any
    metadata: Any
    id: Any
    answer: Answer | None = None
    turn: int = 0
    event: Mapping[str, Any] = field(default_factory=dict)


@dataclass(eq=False)
class Message:
    """Something that was said."""

    position: int
    role: str
    text: str
    turn: int = 0
    event: Mapping[str, Any] = field(default_factory=dict)


@dataclass(eq=False)
class Reading:
    """What a trace holds."""

    calls: list[Call] = field(default_factory=list)
    answers: list[Answer] = field(default_factory=list)
    messages: list[Message] = field(default_factory=list)
    has_problem: bool = False
    hides_call: bool = False


def kind_of(event: Any) -> str | None:
    """Return what an event is, or None where it can't be read."""
    if not isinstance(event, Mapping):
        return None
    kinds = [kind for kind in KINDS if kind in event]
    if len(kinds) != 1 or not set(event) <= {kinds[0], *KINDS[kinds[0]]}:
        return None
    if event.get("end", True) is not True or not all(well_typed(key, event[key]) for key in event):
        return None
    both = not is_missing(event.get("args")) and not is_missing(event.get("raw_args"))
    return None if both else kinds[0]


def well_typed(key: str, value: Any) -> bool:
    """Say whether a field holds what it may hold; a bool is never a number."""
    return isinstance(value, TYPES[key]) and (not isinstance(value, bool) or key in BOOLEAN)


def is_missing(value: Any) -> bool:
    """Say whether arguments, an id or a name are not there: absent, null and the empty text are one."""
    return value is None or (isinstance(value, str) and value == "")


def read(events: Sequence[Any]) -> Reading:
    """Read a trace in neutral form."""
    reading = Reading()
    for position, event in enumerate(events):
        kind = kind_of(event)
        if kind is None:
            reading.has_problem = reading.hides_call = True
        elif kind in ("user", "agent", "system"):
            reading.messages.append(Message(position, kind, event[kind], event=event))
        elif kind == "call":
            read_call(reading, position, event)
        elif kind in ("result", "raw_result"):
            read_result(reading, position, event, kind)
    for each in (*reading.calls, *reading.answers, *reading.messages):
        each.turn = sum(said.role == "user" and said.position <= each.position for said in reading.messages)
    return reading


def read_call(reading: Reading, position: int, event: Mapping[str, Any]) -> None:
    """Add a call. What is known of it is known although its arguments can't be read: it hides no call."""
    args = decoded_arguments(event)
    if args is MALFORMED:
        reading.has_problem = True
    call = Call(position, event["call"], args, event.get("metadata"), event.get("id"), event=event)
    reading.calls.append(call)


def decoded_arguments(event: Mapping[str, Any]) -> Any:
    """Return a call's arguments: `{}` for none, `MALFORMED` for what is no object."""
    if not is_missing(event.get("raw_args")):
        return MALFORMED
    args = event.get("args")
    if is_missing(args):
        return {}
    return args if isinstance(args, Mapping) else MALFORMED


def read_result(reading: Reading, position: int, event: Mapping[str, Any], kind: str) -> None:
    """Add a result, and pair it with its call. One that answers nothing may hide the call that it answers."""
    payload = event["result"] if kind == "result" else MALFORMED
    answer = Answer(position, payload, event.get("is_error") is True, event=event)
    call = call_answered_by(event, [call for call in reading.calls if call.answer is None])
    if kind == "raw_result":
        reading.has_problem = True
    if call is None:
        reading.has_problem = reading.hides_call = True
    else:
        answer.call, call.answer = call, answer
    reading.answers.append(answer)


def call_answered_by(event: Mapping[str, Any], unanswered: list[Call]) -> Call | None:
    """Pair a result with one of the calls before it that nothing has answered yet."""
    if not is_missing(event.get("id")):
        with_id = [call for call in unanswered if not is_missing(call.id) and call.id == event["id"]]
        return with_id[-1] if with_id else None
    if not is_missing(event.get("of")):
        named = [call for call in unanswered if one_name(call.name, event["of"])]
        return named[0] if named else None
    return unanswered[0] if unanswered else None


# --------------------------------------------------------------------------- names


def last_part(name: str) -> str | None:
    """Return `X` of a full resource name `projects/…/tools/X`."""
    found = re.fullmatch(r"projects/(?:.*/)?tools/([^/]+)", name, re.DOTALL)
    return found[1] if found else None


def one_name(one: str, other: str) -> bool:
    """Say whether two names are one: a full resource name also counts as its last part."""
    return one == other or last_part(one) == other or last_part(other) == one


class Names:
    """The names of tools, with the suite's aliases."""

    def __init__(self, aliases: Mapping[str, Sequence[str]] | None) -> None:
        self.of_alias = {alias: name for name, known in (aliases or {}).items() for alias in known}

    def canonical(self, name: str) -> str:
        """Return the name that an alias stands for, or the name itself."""
        return self.of_alias.get(name, name)

    def counts_as(self, name: str, tool: str) -> bool:
        """Say whether a call to `name` counts as one to the tool that a check names."""
        last = last_part(name)
        return self.canonical(name) == self.canonical(tool) or (
            last is not None and self.canonical(last) == self.canonical(tool)
        )

    def is_ambiguous(self, tool: str, calls: Sequence[Call]) -> bool:
        """Say whether two tools of the trace share the last part that a check names."""
        full = {call.name for call in calls if last_part(call.name) is not None}
        parts = {last_part(name) for name in full}
        return any(
            len({self.canonical(name) for name in full if last_part(name) == part}) > 1
            for part in parts
            if self.canonical(part) == self.canonical(tool)
        )


# --------------------------------------------------------------------------- values


def args_match(check: Mapping[str, Any], args: Any) -> bool:
    """Say whether arguments are as a check wants them; what can't be read does not match."""
    return "args" not in check or (args is not MALFORMED and matches(check["args"], args, "subset"))


def args_may_match(check: Mapping[str, Any], args: Any) -> bool:
    """Say whether it can't be ruled out that arguments are as a check does not want them."""
    return "args" not in check or args is MALFORMED or compile_expected(check["args"]).decides(args) is not False


def envelope(payload: Any) -> list[Any]:
    """Return what is inside an envelope, as a list of one, or an empty list."""
    payload = decoded(payload)
    is_envelope = isinstance(payload, Mapping) and list(payload) == ["result"]
    return [payload["result"]] if is_envelope else []


def payload_matches(expected: Any, payload: Any) -> bool:
    """Say whether a payload, or what is in its envelope, matches."""
    inside = envelope(payload)
    seen = [payload, *inside] if not inside or demands_result(expected) else inside
    return any(matches(expected, each, "subset") for each in seen)


def demands_result(expected: Any) -> bool:
    """Say whether an expectation is a plain mapping, also as JSON text, that demands the key `result`."""
    expected = decoded(expected) if isinstance(expected, str) else parse(expected)
    if expected == {}:
        return True
    return isinstance(expected, dict) and "result" in expected and not matches({"result": expected["result"]}, {})


def result_matches(check: Mapping[str, Any], answer: Answer | None, *, empty_is_any: bool = True) -> bool:
    """Say whether a result is as a check wants it: `result`, and `is_error` where it says so."""
    if answer is None or answer.payload is MALFORMED or answer.is_error is not check.get("is_error", False):
        return False
    if empty_is_any and check["result"] == {}:
        return True
    return payload_matches(check["result"], answer.payload)


# --------------------------------------------------------------------------- operators


class View:
    """A trace as the operators look at it."""

    def __init__(self, reading: Reading, names: Names) -> None:
        self.reading = reading
        self.names = names
        self.calls = reading.calls
        self.answers = [answer for answer in reading.answers if answer.call is not None]

    def calls_to(self, tool: str | None) -> list[Call]:
        """Return the calls to a tool, or all calls."""
        return [call for call in self.calls if tool is None or self.names.counts_as(call.name, tool)]

    def matching(self, step: Mapping[str, Any]) -> list[Call]:
        """Return the calls that match a step `{tool, args?, result?, is_error?}`."""
        return [
            call
            for call in self.calls_to(step["tool"])
            if args_match(step, call.args) and ("result" not in step or result_matches(step, call.answer))
        ]

    def said_by(self, role: str) -> list[Message]:
        """Return what somebody said."""
        return [message for message in self.reading.messages if message.role == role]


def tool_called(check: Mapping[str, Any], view: View) -> bool:
    calls = view.calls_to(check["tool"])
    for_sure = sum(args_match(check, call.args) for call in calls)
    perhaps = sum(args_may_match(check, call.args) for call in calls)
    return for_sure >= check.get("min", 1) and ("max" not in check or perhaps <= check["max"])


def tool_not_called(check: Mapping[str, Any], view: View) -> bool:
    offending = [call for call in view.calls_to(check["tool"]) if args_may_match(check, call.args)]
    if "before" not in check:
        return not offending
    markers = view.matching(check["before"])
    positions = [marker.answer.position if "result" in check["before"] else marker.position for marker in markers]
    # A call is never its own marker; no position is earlier than itself, so that needs no further word here.
    return all(any(position < call.position for position in positions) for call in offending)


def tool_input(check: Mapping[str, Any], view: View) -> bool:
    return len(view.matching(check)) >= check.get("min", 1)


def tool_output(check: Mapping[str, Any], view: View) -> bool:
    calls = view.calls_to(check["tool"])
    found = [call for call in calls if result_matches(check, call.answer, empty_is_any=False)]
    return len(found) >= check.get("min", 1)


def last_tool(check: Mapping[str, Any], view: View) -> bool:
    return bool(view.calls) and any(call is view.calls[-1] for call in view.matching(check))


def every_call(check: Mapping[str, Any], view: View) -> bool:
    return all(args_match(check, call.args) for call in view.calls_to(check["tool"]))


def followed_by(check: Mapping[str, Any], view: View) -> bool:
    later = view.matching(check["next"])
    return all(any(other.position > call.position for other in later) for call in view.calls_to(check["tool"]))


def terminal_tool(check: Mapping[str, Any], view: View) -> bool:
    calls = view.calls_to(check["tool"])
    return not calls or (len(calls) == 1 and calls[0] is view.calls[-1])


def end_session(check: Mapping[str, Any], view: View) -> bool:
    if not view.calls or not any(call is view.calls[-1] for call in view.calls_to("end_session")):
        return False
    return "args" not in check or any(
        matches(check["args"], each, "subset") for each in ending_arguments(view.calls[-1])
    )


def ending_arguments(call: Call) -> list[Any]:
    """Return where the arguments of an end of the session may stand; none where they can't be read."""
    if call.args is MALFORMED:
        return []
    data = [each for each in (call.metadata, call.args.get("metadata")) if isinstance(each, Mapping)]
    merged = {key: value for each in (*data, call.args) for key, value in each.items()}
    return [call.args, *data, merged]


def trace_parsed(check: Mapping[str, Any], view: View) -> bool:
    return not view.reading.has_problem


def sequence(check: Mapping[str, Any], view: View) -> bool:
    if any(is_group(entry) for entry in check["calls"]):
        pattern = {"ordered": check["calls"]}
        if check.get("mode", "in_order") == "exact":
            return is_made_of(view.calls, pattern, view)
        return any(is_made_of(chosen, pattern, view) for chosen in choices(view.calls))
    groups = [entry if isinstance(entry, list) else [entry] for entry in check["calls"]]
    numbers = [number for number, group in enumerate(groups) for _ in group]
    fitting = [view.matching(step) for group in groups for step in group]
    mode = check.get("mode", "in_order")
    if mode == "subset":
        steps = [[number for number, calls in enumerate(fitting) if call in calls] for call in view.calls]
        return any(True for _ in one_to_one(steps))
    if mode == "exact" and len(view.calls) != len(fitting):
        return False
    return any(mode == "any_order" or in_order(numbers, chosen) for chosen in one_to_one(fitting))


def is_group(entry: Any) -> bool:
    return isinstance(entry, Mapping) and "tool" not in entry


def choices(calls: Sequence[Call]) -> Iterator[list[Call]]:
    """Yield every part of the calls, in their order."""
    for chosen in product([False, True], repeat=len(calls)):
        yield [call for call, taken in zip(calls, chosen, strict=True) if taken]


def is_made_of(calls: Sequence[Call], entry: Any, view: View) -> bool:
    """Say whether calls are exactly what an entry of a sequence says, by trying every way to take them apart."""
    if isinstance(entry, list):
        return is_made_of(calls, {"unordered": entry}, view)
    if not is_group(entry):
        return len(calls) == 1 and calls[0] in view.matching(entry)
    ((kind, parts),) = entry.items()
    if kind == "ordered":
        return is_row(calls, parts, view)
    if kind == "optional":
        return not calls or is_row(calls, parts, view)
    if kind == "one_of":
        return any(is_made_of(calls, part, view) for part in parts)
    if kind == "repeat":
        return is_repeated(calls, parts, view)
    return any(
        all(is_made_of([c for c, o in zip(calls, owners, strict=True) if o == n], p, view) for n, p in enumerate(parts))
        for owners in product(range(len(parts)), repeat=len(calls))
    )


def is_row(calls: Sequence[Call], parts: Sequence[Any], view: View) -> bool:
    if not parts:
        return not calls
    return any(
        is_made_of(calls[:end], parts[0], view) and is_row(calls[end:], parts[1:], view)
        for end in range(len(calls) + 1)
    )


def is_repeated(calls: Sequence[Call], repeat: Mapping[str, Any], view: View) -> bool:
    """Say whether calls are enough rounds; a round of no calls may be had as often as one likes."""
    least, most = repeat.get("min", 1), repeat.get("max", len(calls) + repeat.get("min", 1))
    return any(is_row(calls, repeat["calls"] * rounds, view) for rounds in range(least, most + 1))


def one_to_one(candidates: Sequence[list[Any]]) -> Iterator[tuple[Any, ...]]:
    """Yield every way to take one of each list of candidates, none of them twice."""
    if not candidates:
        yield ()
    elif all(candidates):
        for first in candidates[0]:
            rest = [[other for other in each if other != first] for each in candidates[1:]]
            yield from ((first, *others) for others in one_to_one(rest))


def in_order(numbers: list[int], calls: Sequence[Call]) -> bool:
    """Say whether the calls of each group come after all those of the groups before it."""
    return all(
        one.position < other.position
        for number, one in zip(numbers, calls, strict=True)
        for later, other in zip(numbers, calls, strict=True)
        if number < later
    )


def no_other_tools(check: Mapping[str, Any], view: View) -> bool:
    return all(any(view.names.counts_as(call.name, tool) for tool in check["tools"]) for call in view.calls)


def no_duplicate_calls(check: Mapping[str, Any], view: View) -> bool:
    calls = view.calls_to(check.get("tool"))
    return not any(
        may_be_duplicates(one, other, view.names) for number, one in enumerate(calls) for other in calls[number + 1 :]
    )


def may_be_duplicates(one: Call, other: Call, names: Names) -> bool:
    """Say whether it can't be ruled out that two calls are the same."""
    if not (names.counts_as(one.name, other.name) or names.counts_as(other.name, one.name)):
        return False
    return MALFORMED in (one.args, other.args) or matches(Eq(one.args), other.args, "strict")


def max_errors(check: Mapping[str, Any], view: View) -> bool:
    calls = view.calls_to(check.get("tool"))
    return sum(call.answer is not None and call.answer.is_error for call in calls) <= check["max"]


def max_calls(check: Mapping[str, Any], view: View) -> bool:
    return len(view.calls_to(check.get("tool"))) <= check["max"]


def max_turns(check: Mapping[str, Any], view: View) -> bool:
    return len(view.said_by("user")) <= check["max"]


def args_from(check: Mapping[str, Any], view: View) -> bool:
    return all(
        call.args is not MALFORMED
        and all(is_listed_grounded(call, argument, check, view) for argument in check["args"] if argument != "*")
        and ("*" not in check["args"] or are_others_grounded(call, check, view))
        for call in view.calls_to(check["tool"])
    )


def is_listed_grounded(call: Call, argument: str, check: Mapping[str, Any], view: View) -> bool:
    """Say whether an argument is there, and all that is there comes from one of its sources."""
    found = argument_places(call.args, argument)
    return bool(found) and all(is_grounded(call, place, value, argument, check, view) for place, value in found)


def are_others_grounded(call: Call, check: Mapping[str, Any], view: View) -> bool:
    """Say whether each leaf that is not listed, and not trivial, comes from one of the sources of all others."""
    listed = [place for argument in check["args"] for place, _ in argument_places(call.args, argument)]
    return all(
        is_grounded(call, place, value, "*", check, view)
        for place, value in leaves(call.args)
        if not any(place[: len(other)] == other for other in listed) and not is_trivial(value)
    )


def is_grounded(
    call: Call, place: tuple[Any, ...], value: Any, argument: str, check: Mapping[str, Any], view: View
) -> bool:
    """Say whether a value is named by the tool's schema or comes from a source."""
    named = schema_values(check.get("schema", {}).get("properties", {}).get(place[0]))
    sources = as_list(check["args"][argument])
    return any(matches(Eq(each), value, "strict") for each in named) or any(
        comes_from(call, value, source, view, check.get("session", {})) for source in sources
    )


def argument_places(args: Mapping[str, Any], argument: str) -> list[tuple[tuple[Any, ...], Any]]:
    """Return what stands under an argument's name, else at the path that it is."""
    if argument in args:
        return [((argument,), args[argument])]
    is_path = re.fullmatch(r"[^.\[\]]+(\.[^.\[\]]+|\[(\d+|\*)\])+", argument)
    return places_at(args, argument) if is_path else []


def places_at(value: Any, path: str) -> list[tuple[tuple[Any, ...], Any]]:
    """Return what stands at a path, with the keys and indexes that lead there."""
    found: list[tuple[tuple[Any, ...], Any]] = [((), value)]
    for key, index in re.findall(r"([^.\[\]]+)|\[(\d+|\*)\]", path):
        start = 0 if index in ("", "*") else int(index)
        found = [
            ((*place, key or start + number), child)
            for place, each in found
            for number, child in enumerate(children(decoded(each), key, index))
        ]
    return found


def leaves(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Yield what is no list and no mapping; JSON in a text is looked into."""
    inside = decoded(value) if isinstance(value, str) else value
    if isinstance(inside, Mapping):
        for key, child in inside.items():
            yield from leaves(child, (*place, key))
    elif isinstance(inside, list):
        for index, child in enumerate(inside):
            yield from leaves(child, (*place, index))
    else:
        yield place, value


def is_trivial(value: Any) -> bool:
    """Say whether a value is nothing, a truth value or a whole number of one digit."""
    if value is None or isinstance(value, bool):
        return True
    if isinstance(value, str) and value.strip().lower() in ("", "true", "false"):
        return True
    return any(matches(Eq(digit), value, "subset") for digit in range(10))


def schema_values(schema: Any) -> list[Any]:
    """Return what a schema names in an enum, as a const or as a default, at every depth."""
    if isinstance(schema, list):
        return [value for part in schema for value in schema_values(part)]
    if not isinstance(schema, Mapping):
        return []
    named = [*schema.get("enum", []), *(schema[key] for key in ("const", "default") if key in schema)]
    deeper = [part for key, part in schema.items() if key not in ("enum", "const", "default", "examples")]
    return [*named, *(value for part in deeper for value in schema_values(part))]


def as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def comes_from(call: Call, value: Any, source: Any, view: View, session: Mapping[str, Any]) -> bool:
    """Say whether a value stands in a source at an earlier position than the call, or comes of one by a rule."""
    if isinstance(source, Mapping) and "$same" in source:
        return any(comes_from(call, value, each, view, session) for each in as_list(source["$same"]))
    if isinstance(source, Mapping) and "$derived" in source:
        return is_derived(call, value, source, view, session)
    forms, sources = ["same"], [source]
    if isinstance(source, Mapping) and "$format" in source:
        forms = ["same", *FORMS] if source["$format"] == "any" else [source["$format"]]
        sources = as_list(source["of"])
    return any(
        is_written_so(value, found, form, whole=whole)
        for each in sources
        for found, whole in seen_before(call, each, view, session)
        for form in forms
    )


def seen_before(call: Call, source: Any, view: View, session: Mapping[str, Any]) -> Iterator[tuple[Any, bool]]:
    """Yield what a source had before a call: values that are there as a whole, and texts in which a value may stand."""
    if source == "user":
        yield from ((said.text, False) for said in view.said_by("user") if said.position < call.position)
    elif source == "session":
        yield from ((value, True) for _, value in leaves(session))
    elif source == "results":
        for answer in successes_before(call, view.calls):
            for _, leaf in leaves(answer.payload):
                yield leaf, True
                if isinstance(leaf, str):
                    yield leaf, False
    else:
        yield from ((value, True) for group in groups_before(call, source, view, session) for value in group)


def groups_before(call: Call, source: Any, view: View, session: Mapping[str, Any]) -> list[list[Any]]:
    """Return what stood at a place before a call, by the result in which it did."""
    if not isinstance(source, Mapping):
        return [[source]]
    if "session" in source:
        return [at_path(session, source["session"])]
    if "tool" not in source:
        return [at_path(call.args, source["argument"])]
    answers = successes_before(call, view.calls_to(source["tool"]))
    if "argument" in source:
        taken = [answer.call.args for answer in answers if answer.call is not None]
        return [at_path(args, source["argument"]) for args in taken if args is not MALFORMED]
    readings = [payload for answer in answers for payload in (answer.payload, *envelope(answer.payload))]
    return [at_path(payload, source["path"]) for payload in readings]


def successes_before(call: Call, calls: Sequence[Call]) -> list[Answer]:
    """Return the results of calls that are no errors, can be read, and came before a call."""
    answers = [other.answer for other in calls if other.answer is not None]
    good = [answer for answer in answers if not answer.is_error and answer.payload is not MALFORMED]
    return sorted((answer for answer in good if answer.position < call.position), key=lambda each: each.position)


def is_written_so(value: Any, found: Any, form: str, *, whole: bool) -> bool:
    """Say whether a value is what was found, or stands in it, in one form of writing."""
    if form == "same":
        return is_same(value, found) if whole else any(stands_alone(text, found) for text in as_texts(value))
    if form == "text":
        texts = [folded(text) for text in as_texts(value) if folded(text)]
        if not whole:
            return any(stands_alone(text, folded(found)) for text in texts)
        return not {folded(text) for text in as_texts(found)}.isdisjoint(texts)
    within = FORMS[form].within
    others = FORMS[form].of(found) if whole or within is None else list(within(found))
    return any(
        one.key == other.key and FORMS[form].agree(one.detail, other.detail)
        for one in FORMS[form].of(value)
        for other in others
    )


def is_derived(call: Call, value: Any, rule: Mapping[str, Any], view: View, session: Mapping[str, Any]) -> bool:
    """Say whether a value is computed of values that stood, for each place, in one result, or in all of them."""
    operands = [
        [opened_lists(group) for group in groups_before(call, source, view, session) if group][-16:]
        for source in as_list(rule["of"])
    ]
    ways = [[item for group in chosen for item in group] for chosen in product(*operands)]
    if len(operands) == 1:
        ways.append([item for group in operands[0] for item in group])
    return any(
        way and is_computed(value, computed(rule["$derived"], way, rule.get("separator", " ")))
        for way in (ways if all(operands) else [])
    )


def opened_lists(values: list[Any]) -> list[Any]:
    """Return values, lists opened."""
    return [item for value in values for item in (value if isinstance(value, list) else [value])]


def is_same(value: Any, found: Any) -> bool:
    """Say whether a value is the one that was found: a scalar by `subset`, all else to the letter."""
    whole = isinstance(value, (list, Mapping)) or isinstance(found, (list, Mapping))
    return matches(Eq(value), found, "strict" if whole else "subset")


def as_texts(value: Any) -> list[str]:
    """Return how a person may write a value; what is not said in one piece is not said."""
    if isinstance(value, bool):
        return [str(value), str(value).lower()]
    if isinstance(value, float) and value.is_integer():
        return [str(value), str(int(value))]
    return [str(value)] if isinstance(value, (str, int, float)) and value != "" else []


def stands_alone(value: str, text: str) -> bool:
    """Say whether a text has a value in it with no letter or digit beside it."""
    return any(
        text.startswith(value, start)
        and not text[:start][-1:].isalnum()
        and not text[start + len(value) :][:1].isalnum()
        for start in range(len(text) + 1)
    )


def at_path(payload: Any, path: str) -> list[Any]:
    """Return what stands at a path of dotted keys with `[n]` and `[*]`; JSON in a text is looked into."""
    found = [payload]
    for key, index in re.findall(r"([^.\[\]]+)|\[(\d+|\*)\]", path):
        found = [child for each in found for child in children(decoded(each), key, index)]
    return found


def children(value: Any, key: str, index: str) -> list[Any]:
    """Return what stands at one step of a path."""
    if key:
        return [value[key]] if isinstance(value, Mapping) and key in value else []
    if not isinstance(value, list):
        return []
    return value if index == "*" else value[int(index) :][:1]


def decoded(value: Any) -> Any:
    """Return what a text holds as JSON, or the value itself."""
    try:
        return json.loads(value) if isinstance(value, str) else value
    except ValueError:
        return value


def claim(check: Mapping[str, Any], view: View) -> bool:
    evidence = [call.answer.position if "result" in check else call.position for call in view.matching(check)]
    return all(
        any(position < said.position for position in evidence)
        for said in view.said_by("agent")
        if re.search(check["says"], said.text, re.DOTALL)
    )


def claims(check: Mapping[str, Any], view: View) -> bool:
    """Say whether each claim is backed; what a sentence claims, and what a name can do, is asked of the library."""
    given = check.get("tools", {})
    listed = {tool: claimed_actions(tool, ClaimedAction.from_mapping(words)) for tool, words in given.items()}
    ready = READY if check.get("ready", True) else ()
    lexicon = Lexicon([*(action for actions in listed.values() for action in actions), *ready])
    return all(
        is_backed(said, message.position, given, listed, Lexicon(ready), view)
        for message in view.said_by("agent")
        for said in claims_in(message.text, lexicon)
    )


def is_backed(
    said: Any, position: int, given: Mapping[str, Any], listed: Mapping[str, Any], ready: Lexicon, view: View
) -> bool:
    """Say whether a result that is no error came before a claim, of a tool that the claim is about."""
    tools = [tool for tool, actions in listed.items() if Lexicon(actions).matching(said.verb, said.noun)]
    if tools:
        return any(
            call.answer is not None
            and call.answer.position < position
            and result_matches({"result": given[tool].get("result", {})}, call.answer)
            for tool in tools
            for call in view.calls_to(tool)
        )
    actions = ready.matching(said.verb, said.noun)
    names = [
        view.names.canonical(last_part(call.name) or call.name)
        for call in view.calls
        if call.answer is not None
        and call.answer.position < position
        and not call.answer.is_error
        and call.answer.payload is not MALFORMED
    ]
    return not actions or any(could_do(action, said.noun, name) for action in actions for name in names)


def score(check: Mapping[str, Any], view: View) -> bool:
    """Score the calls by section 6: of all one-to-one pairings by tool the best, then five metrics, then their mean."""
    wanted = check["calls"]
    policy = "strict" if check.get("strict") else "lenient"
    pairs = best_pairing(wanted, view, policy)
    one_tool = names_of_one_tool(wanted, view)
    made = [one_tool.get(tool, tool) for tool in (tool_of(call, wanted, view) for call in view.calls)]
    tools = [one_tool.get(tool, tool) for tool in (view.names.canonical(each["tool"]) for each in wanted)]
    total = (
        0.4 * selection(tools, made)
        + 0.3 * argument_f1(wanted, pairs, view, policy)
        + 0.2 * (1 - edit_distance(tools, made) / max(len(tools), len(made)))
        + 0.1 * (1 - redundant(tools, made))
    )
    if check.get("in_order") and not has_best_in_order(wanted, pairs, view, policy):
        return False
    if "min" in check:
        return total >= check["min"] - 1e-9
    return total >= 0.9 - 1e-9 and len(pairs) == len(wanted)


def names_of_one_tool(wanted: Sequence[Mapping[str, Any]], view: View) -> dict[str, str]:
    """Return the full names of which more is called than expected, with the last part that is expected, not called."""
    expected = [view.names.canonical(each["tool"]) for each in wanted]
    called = [tool_of(call, wanted, view) for call in view.calls]
    parts = {name: view.names.canonical(part) for name in called if (part := last_part(name)) is not None}
    return {
        name: part
        for name, part in parts.items()
        if 0 < expected.count(name) < called.count(name) and part in expected and part not in called
    }


def tool_of(call: Call, wanted: Sequence[Mapping[str, Any]], view: View) -> str:
    """Return the expected tool that a call counts as, one of exactly its name before others, or its own name."""
    own = view.names.canonical(call.name)
    found = [view.names.canonical(each["tool"]) for each in wanted if view.names.counts_as(call.name, each["tool"])]
    return own if own in found or not found else found[0]


def best_pairing(wanted: Sequence[Mapping[str, Any]], view: View, policy: str) -> list[tuple[int, int]]:
    """Try every pairing: most pairs, then most that is right, then fewest arguments that were not asked for."""
    best: list[tuple[int, int]] = []
    worth = (-1, -1, 0)

    def extend(index: int, pairs: list[tuple[int, int]], taken: frozenset[int]) -> None:
        nonlocal best, worth
        if index == len(wanted):
            right = sum(right_of(wanted[one], view.calls[other], policy) for one, other in pairs)
            extra = sum(extra_of(wanted[one], view.calls[other]) for one, other in pairs)
            if (len(pairs), right, -extra) > worth:
                best, worth = pairs, (len(pairs), right, -extra)
            return
        extend(index + 1, pairs, taken)
        for number, call in enumerate(view.calls):
            if number not in taken and view.names.counts_as(call.name, wanted[index]["tool"]):
                extend(index + 1, [*pairs, (index, number)], taken | {number})

    extend(0, [], frozenset())
    return best


def has_best_in_order(
    wanted: Sequence[Mapping[str, Any]], best: Sequence[tuple[int, int]], view: View, policy: str
) -> bool:
    """Say whether the calls have partners in the expected order that are as good as the best ones in any order."""

    def worth(numbers: Sequence[int]) -> tuple[int, int]:
        right = sum(right_of(each, view.calls[at], policy) for each, at in zip(wanted, numbers, strict=True))
        given = sum(given_of(each, view.calls[at], policy) for each, at in zip(wanted, numbers, strict=True))
        return right, right - given

    def all_named(numbers: Sequence[int]) -> bool:
        made = zip(wanted, numbers, strict=True)
        return all(view.names.counts_as(view.calls[at].name, each["tool"]) for each, at in made)

    if len(best) < len(wanted):
        return False
    choices = [numbers for numbers in permutations(range(len(view.calls)), len(wanted)) if all_named(numbers)]
    ordered = [numbers for numbers in choices if list(numbers) == sorted(numbers)]
    return bool(ordered) and max(map(worth, ordered)) == max(map(worth, choices))


def right_of(wanted: Mapping[str, Any], call: Call, policy: str) -> int:
    """Count the arguments, and the result, that came as expected."""
    right = 0
    if "args" in wanted and call.args is not MALFORMED:
        right += (
            whole(wanted["args"], call, policy)
            if is_matcher(wanted["args"])
            else sum(
                matches({key: value}, {key: call.args[key]} if key in call.args else {}, policy)
                for key, value in wanted["args"].items()
            )
        )
    return right + ("result" in wanted and returned(wanted["result"], call, policy))


def is_matcher(expected: Any) -> bool:
    """Say whether expected arguments are one matcher of them all."""
    return isinstance(parse(expected), Matcher)


def whole(expected: Any, call: Call, policy: str) -> int:
    """Count one where all arguments together match."""
    return int(matches(expected, call.args, policy))


def returned(expected: Any, call: Call, policy: str) -> bool:
    """Say whether a call returned what was expected, the envelope opened once."""
    answer = call.answer
    if answer is None or answer.is_error or answer.payload is MALFORMED:
        return False
    inside = envelope(answer.payload)
    seen = inside if inside and is_matcher(expected) else [answer.payload, *inside]
    return any(matches(expected, reading, policy) for reading in seen)


def extra_of(wanted: Mapping[str, Any], call: Call) -> int:
    """Count the arguments that were not asked for, where arguments are checked."""
    if "args" not in wanted or call.args is MALFORMED or is_matcher(wanted["args"]):
        return 0
    return len(set(call.args) - set(wanted["args"]))


def selection(tools: Sequence[str], made: Sequence[str]) -> float:
    """Return the share of the calls made whose tool is expected."""
    return sum(tool in tools for tool in made) / len(made) if made else 0.0


def redundant(tools: Sequence[str], made: Sequence[str]) -> float:
    """Return the share of calls beyond the expected number of each tool."""
    beyond = sum(max(0, made.count(tool) - tools.count(tool)) for tool in set(made))
    return beyond / len(made) if made else 0.0


def argument_f1(
    wanted: Sequence[Mapping[str, Any]], pairs: Sequence[tuple[int, int]], view: View, policy: str
) -> float:
    """Return F1 over all arguments and results of pairs; what an expected call without a partner asks for is missed."""
    if not view.calls:
        return 0.0
    right = sum(right_of(wanted[one], view.calls[other], policy) for one, other in pairs)
    given = sum(given_of(wanted[one], view.calls[other], policy) for one, other in pairs)
    asked = sum(asked_of(each) for each in wanted)
    return 2 * right / (given + asked) if given + asked else 1.0


def given_of(wanted: Mapping[str, Any], call: Call, policy: str) -> int:
    """Count what came where something is checked; what is rightly absent came too, what can't be read is one thing."""
    result = int("result" in wanted and call.answer is not None)
    if "args" not in wanted:
        return result
    if is_matcher(wanted["args"]) or call.args is MALFORMED:
        return result + 1
    absent = [name for name in wanted["args"] if name not in call.args]
    return result + len(call.args) + sum(matches({name: wanted["args"][name]}, {}, policy) for name in absent)


def asked_of(wanted: Mapping[str, Any]) -> int:
    """Count what is expected of a call."""
    args = wanted.get("args", {})
    return int("result" in wanted) + (1 if is_matcher(args) else len(args))


def edit_distance(one: Sequence[str], other: Sequence[str]) -> int:
    """Return Levenshtein's distance, straight from its recursion."""
    if not one or not other:
        return len(one) + len(other)
    return min(
        edit_distance(one[1:], other) + 1,
        edit_distance(one, other[1:]) + 1,
        edit_distance(one[1:], other[1:]) + (one[0] != other[0]),
    )


def errors_of(tool: str, view: View) -> list[Answer]:
    return [call.answer for call in view.calls_to(tool) if call.answer is not None and call.answer.is_error]


def retry_after_error(check: Mapping[str, Any], view: View) -> bool:
    calls, most = view.calls_to(check["tool"]), check.get("max")
    successes = [call.answer.position for call in calls if call.answer is not None and not call.answer.is_error]
    errors = [answer.position for answer in errors_of(check["tool"], view)]

    def retries_until(position: int) -> int:
        """Count the calls before a position that came after an error, since the last success."""
        since = max((each for each in successes if each < position), default=-1)
        failed = [each for each in errors if since < each]
        return sum(any(each < call.position for each in failed) and since < call.position < position for call in calls)

    if most is not None and any(retries_until(call.position + 1) > most for call in calls):
        return False
    return all(
        any(call.position > error for call in calls) or (most is not None and retries_until(error) >= most)
        for error in errors
    )


def must_recover(check: Mapping[str, Any], view: View) -> bool:
    good = [
        call
        for call in view.calls_to(check["tool"])
        if call.answer is not None and not call.answer.is_error and call.answer.payload is not MALFORMED
    ]
    return all(any(call.position > error.position for call in good) for error in errors_of(check["tool"], view))


def time_at(event: Mapping[str, Any], key: str = "at") -> float | None:
    """Return a time; generated ones are numbers."""
    return event.get(key)


def within_seconds(check: Mapping[str, Any], view: View) -> bool:
    limit = check["seconds"]
    if "tool" not in check:
        said = [*view.said_by("user"), *view.said_by("agent")]
        events = sorted([*view.calls, *view.answers, *said], key=lambda each: each.position)
        times = [time_at(each.event) for each in events]
        if not events:
            return True
        known = [time for time in times if time is not None]
        return None not in (times[0], times[-1]) and max(known) - min(known) <= limit
    calls = view.calls_to(check["tool"])
    if any("args" in check and call.args is MALFORMED for call in calls):
        return False
    calls = [call for call in calls if args_match(check, call.args)]
    if "next" not in check:
        return all(call.answer is not None and in_seconds(call, call.answer, limit) for call in calls)
    following = view.matching(check["next"])
    for call in calls:
        later = [each for each in following if each.position > call.position]
        ends = [each.answer if "result" in check["next"] else each for each in later]
        end = min(ends, key=lambda each: each.position, default=None)  # type: ignore[union-attr]
        if end is None or not in_seconds(call, end, limit):
            return False
    return True


def in_seconds(begin: Call, end: Call | Answer, limit: float) -> bool:
    times = time_at(begin.event), time_at(end.event)
    return None not in times and 0 <= times[1] - times[0] <= limit  # type: ignore[operator]


def spending(check: Mapping[str, Any], view: View, told: Any) -> bool:
    """Add up what is told; in each turn in which the agent did something, something must be told."""
    events = [*view.calls, *view.answers, *view.reading.messages]
    amounts = [(each.turn, told(each.event.get("metadata") or {})) for each in events]
    acted = {call.turn for call in view.calls} | {said.turn for said in view.said_by("agent")}
    known = {turn for turn, amount in amounts if amount is not None}
    total = sum(Fraction(str(amount)) for _, amount in amounts if amount is not None)
    return bool(known) and acted <= known and total <= Fraction(str(check["max"]))


def max_cost(check: Mapping[str, Any], view: View) -> bool:
    return spending(check, view, lambda beside: beside.get("cost", (beside.get("usage") or {}).get("cost")))


def max_tokens(check: Mapping[str, Any], view: View) -> bool:
    return spending(check, view, lambda beside: tokens_of(beside.get("usage")))


def tokens_of(usage: Mapping[str, int] | None) -> int | None:
    if usage is None:
        return None
    return usage["total_tokens"] if "total_tokens" in usage else sum(usage[key] for key in usage if "tokens" in key)


def valid_arguments(check: Mapping[str, Any], view: View) -> bool:
    tools = check["tools"]
    schemas = {}
    for each in [] if isinstance(tools, Mapping) else tools:
        inner = each.get("function", each)
        schemas[inner["name"]] = inner.get("parameters", inner.get("input_schema"))
    schemas = schemas or tools
    for call in view.calls_to(check.get("tool")):
        found = [schema for name, schema in schemas.items() if view.names.counts_as(call.name, name)]
        if not found or call.args is MALFORMED or not matches(JSONSchema(found[0]), call.args, "strict"):
            return False
    return True


def state(check: Mapping[str, Any], view: View) -> bool:
    records = []
    for said in view.said_by("system"):
        record = (said.event.get("metadata") or {}).get("database_state")
        if record is not None and (not isinstance(record, Mapping) or record["database"] == check["database"]):
            records.append((said.position, record))
    if len(records) != 1 or not isinstance(records[0][1], Mapping):
        return False
    position, record = records[0]
    if any(each.position > position for each in (*view.calls, *view.answers)):
        return False
    asked = [each for each in record["queries"] if each["query"] == check["query"]]
    if len(asked) != 1 or "rows" not in asked[0]["before"]:
        return False
    before, after = (
        [dict(zip(asked[0][when]["columns"], row, strict=True)) for row in asked[0][when]["rows"]]
        for when in ("before", "after")
    )
    if "rows" in check and not same_rows(check["rows"], after):
        return False
    if check.get("unchanged") and not same_rows([Eq(row) for row in before], after):
        return False
    return "changed" not in check or rows_changed(check, before, after)


def same_rows(wanted: Sequence[Any], rows: Sequence[Any]) -> bool:
    """Say whether each row is wanted once, in any order."""
    return len(wanted) == len(rows) and any(
        all(matches(one, other, "subset") for one, other in zip(wanted, order, strict=True))
        for order in permutations(rows)
    )


def rows_changed(check: Mapping[str, Any], before: list[Any], after: list[Any]) -> bool:
    changed: list[Any] = []
    if "key" in check:
        keys = (
            [[row[name] for name in check["key"]] for row in before],
            [[row[name] for name in check["key"]] for row in after],
        )
        if any(rows.count(key) > 1 for rows in keys for key in rows):
            return False
        pairs = [(one, other) for one in before for other in after if all(one[k] == other[k] for k in check["key"])]
        changed = [{"before": one, "after": other} for one, other in pairs if one != other]
        added = [row for row in after if not any(row is other for _, other in pairs)]
        removed = [row for row in before if not any(row is one for one, _ in pairs)]
    else:
        added, removed = list(after), list(before)
        for row in before:
            if row in added:
                added.remove(row)
                removed.remove(row)
    wanted = check["changed"]
    return all(
        same_rows(wanted.get(what, []), rows)
        for what, rows in (("added", added), ("removed", removed), ("changed", changed))
    )


RULES = {
    rule.__name__: rule
    for rule in (
        tool_called,
        tool_not_called,
        tool_input,
        tool_output,
        last_tool,
        every_call,
        followed_by,
        terminal_tool,
        end_session,
        trace_parsed,
        sequence,
        no_other_tools,
        no_duplicate_calls,
        max_errors,
        max_calls,
        max_turns,
        args_from,
        claim,
        claims,
        score,
        retry_after_error,
        must_recover,
        within_seconds,
        max_cost,
        max_tokens,
        valid_arguments,
        state,
    )
}
GROUPS = ("ordered", "unordered", "optional", "one_of", "repeat")
POSITIVE = {"tool_called", "tool_input", "tool_output", "trace_parsed"}


def is_universal(check: Mapping[str, Any]) -> bool:
    """Say whether a check says that something did not happen, or says something of all events."""
    if check["type"] == "sequence":
        return check.get("mode", "in_order") in ("exact", "subset")
    return check["type"] not in POSITIVE or "max" in check


def tools_named(given: Any) -> set[str]:
    """Return every tool that a check names, wherever it names it; not what stands in values."""
    if isinstance(given, list):
        return {name for each in given for name in tools_named(each)}
    if not isinstance(given, Mapping):
        return set()
    named = {given["tool"]} if isinstance(given.get("tool"), str) else set()
    named |= set(names_of_definitions(given.get("tools", ())))
    parts = [given.get(key) for key in ("before", "next", "calls", "after", "of", "$same", *GROUPS)]
    if given.get("type") == "args_from":
        parts.extend(given["args"].values())
    return named.union(*(tools_named(part) for part in parts))


def names_of_definitions(tools: Any) -> Iterator[str]:
    """Yield the names of tools that are listed, or defined."""
    for each in tools:
        yield each if isinstance(each, str) else each.get("function", each)["name"]


def verdict(check: Mapping[str, Any], events: Sequence[Any], aliases: Mapping[str, Sequence[str]] | None = None) -> str:
    """Return `held` or `broken`: what the page says of one check on one trace in neutral form."""
    check = {**check, "type": "end_session" if check["type"] == "handoff" else check["type"]}
    view = View(read(events), Names(aliases))
    tools = tools_named(check) | ({"end_session"} if check["type"] == "end_session" else set())
    if not events or any(view.names.is_ambiguous(tool, view.calls) for tool in tools):
        return "broken"
    if is_universal(check) and view.reading.hides_call:
        return "broken"
    scope = {key: check[key] for key in ("within", "agent", "after") if key in check}
    if scope and is_universal(check) and any(in_scope(each, scope, view) is None for each in concerned(check, view)):
        return "broken"
    return "held" if RULES[check["type"]](check, seen_in(scope, view)) else "broken"


# --------------------------------------------------------------------------- scopes


def in_scope(event: Call | Answer | Message, scope: Mapping[str, Any], view: View) -> bool | None:
    """Say whether an event is in a scope; None where it can't be told. A result is where its call is, too."""
    parts = [event.call, event] if isinstance(event, Answer) else [event]
    first, last = scope.get("within", {}).get("turns", [scope.get("within", {}).get("turn")] * 2)
    if "within" in scope and not all(first <= part.turn <= last for part in parts):  # type: ignore[union-attr]
        return False
    answers = [by_agent(parts[0], scope), *(comes_after(part, scope, view) for part in parts)]
    return False if False in answers else None if None in answers else True


def by_agent(event: Any, scope: Mapping[str, Any]) -> bool | None:
    if "agent" not in scope or (isinstance(event, Message) and event.role != "agent"):
        return True
    by = event.event.get("by")
    return None if not by else by == scope["agent"]


def comes_after(event: Any, scope: Mapping[str, Any], view: View) -> bool | None:
    if "after" not in scope:
        return True
    marker = scope["after"]
    waits = "result" in marker
    calls = view.calls_to(marker["tool"])
    sure = [call.answer.position if waits else call.position for call in view.matching(marker)]  # type: ignore[union-attr]
    perhaps = [
        call.answer.position if waits and call.answer else call.position
        for call in calls
        if args_may_match(marker, call.args) and (not waits or may_be_result(marker, call))
    ]
    if any(position < event.position for position in sure):
        return True
    return None if any(position < event.position for position in perhaps) else False


def may_be_result(marker: Mapping[str, Any], call: Call) -> bool:
    answer = call.answer
    if answer is None or answer.is_error is not marker.get("is_error", False):
        return False
    return answer.payload is MALFORMED or result_matches(marker, answer)


def seen_in(scope: Mapping[str, Any], view: View) -> View:
    """Return what is in a scope: nothing else exists."""
    if not scope:
        return view
    kept = {
        id(each): each for each in (*view.calls, *view.answers, *view.reading.messages) if in_scope(each, scope, view)
    }
    calls = [replace(call, answer=None) for call in view.calls if id(call) in kept]
    by_position = {call.position: call for call in calls}
    answers = []
    for answer in view.answers:
        if id(answer) in kept and answer.call is not None:
            call = by_position[answer.call.position]
            call.answer = replace(answer, call=call)
            answers.append(call.answer)
    messages = [said for said in view.reading.messages if id(said) in kept]
    return View(Reading(calls, answers, messages), view.names)


def concerned(check: Mapping[str, Any], view: View) -> list[Any]:
    """Return the events that a check asks for: those that it would count if they were in its scope."""
    kind = check["type"]
    listed = check["tools"] if kind == "no_other_tools" else ()
    everything = [*view.calls, *view.answers, *view.reading.messages]
    if kind in ("max_cost", "max_tokens") or (kind == "within_seconds" and "tool" not in check):
        return everything
    if kind == "no_other_tools":
        return [call for call in view.calls if not any(view.names.counts_as(call.name, tool) for tool in listed)]
    if kind in ("last_tool", "end_session", "terminal_tool", "score", "no_duplicate_calls", "max_calls", "sequence"):
        return (
            view.calls_to(check["tool"])
            if kind in ("no_duplicate_calls", "max_calls") and "tool" in check
            else view.calls
        )
    calls = view.calls_to(check.get("tool"))
    answers = [call.answer for call in calls if call.answer is not None]
    if kind == "max_errors":
        return answers
    if kind in ("retry_after_error", "must_recover") or (kind == "within_seconds" and "next" not in check):
        return [*calls, *answers]
    if kind == "claim":
        return [*view.reading.messages, *(answers if "result" in check else calls)]
    return [*calls, *(each for key in ("before", "next") if key in check for each in marked(check[key], view))]


def marked(marker: Mapping[str, Any], view: View) -> list[Any]:
    """Return the calls, or results, of which one may be a marker."""
    calls = view.calls_to(marker["tool"])
    return [call.answer for call in calls if call.answer is not None] if "result" in marker else calls
