"""What every check means, said a second time: over the whole trace, from SEMANTICS.md alone.

Nothing here is quick, and nothing here knows how the library does it: traces are read from their neutral form
and results are paired again, by the words of the page. Only whether one value matches another is asked of the
library.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import permutations
from typing import Any

from tracewitness.matching import Eq, Matcher, compile_expected, matches, parse

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


@dataclass(eq=False)
class Call:
    """A call, and the result that answers it."""

    position: int
    name: str
    args: Any
    metadata: Any
    id: Any
    answer: Answer | None = None


@dataclass(eq=False)
class Message:
    """Something that was said."""

    position: int
    role: str
    text: str


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
            reading.messages.append(Message(position, kind, event[kind]))
        elif kind == "call":
            read_call(reading, position, event)
        elif kind in ("result", "raw_result"):
            read_result(reading, position, event, kind)
    return reading


def read_call(reading: Reading, position: int, event: Mapping[str, Any]) -> None:
    """Add a call. What is known of it is known although its arguments can't be read: it hides no call."""
    args = decoded_arguments(event)
    if args is MALFORMED:
        reading.has_problem = True
    call = Call(position, event["call"], args, event.get("metadata"), event.get("id"))
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
    answer = Answer(position, payload, event.get("is_error") is True)
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
        and argument in call.args
        and any(comes_from(call, call.args[argument], source, view) for source in as_list(sources))
        for call in view.calls_to(check["tool"])
        for argument, sources in check["args"].items()
    )


def as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def comes_from(call: Call, value: Any, source: Any, view: View) -> bool:
    """Say whether a value stands in a source at an earlier position than the call."""
    if source == "user":
        said = [each.text for each in view.said_by("user") if each.position < call.position]
        return any(stands_alone(text, message) for text in as_texts(value) for message in said)
    answers = [other.answer for other in view.calls_to(source["tool"]) if other.answer is not None]
    return any(
        is_same(value, found)
        for answer in answers
        if answer.position < call.position and not answer.is_error and answer.payload is not MALFORMED
        for payload in (answer.payload, *envelope(answer.payload))
        for found in at_path(payload, source["path"])
    )


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
        score,
    )
}
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
    named |= set(given.get("tools", ()))
    parts = [given.get("before"), given.get("next"), given.get("calls")]
    if given.get("type") == "args_from":
        parts.extend(given["args"].values())
    return named.union(*(tools_named(part) for part in parts))


def verdict(check: Mapping[str, Any], events: Sequence[Any], aliases: Mapping[str, Sequence[str]] | None = None) -> str:
    """Return `held` or `broken`: what the page says of one check on one trace in neutral form."""
    check = {**check, "type": "end_session" if check["type"] == "handoff" else check["type"]}
    view = View(read(events), Names(aliases))
    tools = tools_named(check) | ({"end_session"} if check["type"] == "end_session" else set())
    if not events or any(view.names.is_ambiguous(tool, view.calls) for tool in tools):
        return "broken"
    if is_universal(check) and view.reading.hides_call:
        return "broken"
    return "held" if RULES[check["type"]](check, view) else "broken"
