"""The words of every justification. What a person reads is made here, from positions and names, and nowhere else."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from tracewitness.display import nearest_name, plural, printable, show
from tracewitness.trace import Problem

if TYPE_CHECKING:
    from tracewitness.expectations.sightings import Origin

_NAMES = 5
_SOURCES = 3


def events(positions: Iterable[int]) -> str:
    """Name events by their positions: ``event 3``, ``events 3, 7``."""
    all_positions = list(positions)
    listed = ", ".join(str(position) for position in all_positions[:_NAMES])
    more = f" and {len(all_positions) - _NAMES} more" if len(all_positions) > _NAMES else ""
    return f"event{'' if len(all_positions) == 1 else 's'} {listed}{more}"


def names(listed_tools: Iterable[str]) -> str:
    """List tools' names, each once, not too many."""
    distinct = list(dict.fromkeys(listed_tools))
    listed = ", ".join(tool(name) for name in distinct[:_NAMES])
    return f"{listed} and {len(distinct) - _NAMES} more" if len(distinct) > _NAMES else listed


def tool(name: str) -> str:
    """Write a tool's name; in quotes where it is empty or has white space in it, which would not be seen."""
    is_plain = bool(name) and not any(character.isspace() for character in name)
    return printable(name, 60) if is_plain else show(name, 60)


def times(count: int) -> str:
    """Write how often: ``once``, ``3 times``."""
    return "once" if count == 1 else f"{count} times"


def _instead(wanted: str, called: Sequence[str]) -> str:
    """Say what was called in place of a tool, and which of it was probably meant."""
    if not called:
        return "no tool was called at all"
    return f"called were {names(called)}{meant(wanted, called)}"


def meant(wanted: str, called: Iterable[str]) -> str:
    """Say, to end a sentence on a tool that was not called, which of those called was probably meant; or nothing."""
    near = near_tool(wanted, called)
    return f"; {tool(near)} was called: if it is the same tool, give it as an alias" if near else ""


def near_tool(wanted: str, called: Iterable[str]) -> str | None:
    """Return the called tool whose name differs only by a prefix, a case or a slip, or None."""
    others = [name for name in dict.fromkeys(called) if name != wanted]
    for name in others:
        if wanted.lower() in (_last_part(name), name.lower()) or name.lower() == _last_part(wanted):
            return name
    return nearest_name(wanted, others, score=80)


def _last_part(name: str) -> str:
    """Return a name without the prefixes that frameworks put before it, in lower case."""
    return name.replace("__", "/").replace(".", "/").replace(":", "/").rpartition("/")[2].lower()


def matching_calls(wanted: str, positions: Sequence[int], count: int, with_args: bool) -> str:
    matching = "a matching call" if count == 1 else f"{count} matching calls"
    what = matching if with_args else plural(count, "call")
    where = f" ({events(positions)})" if count == len(positions) else f", the first at {events(positions)}"
    return f"{what} to {tool(wanted)}{where}"


def never_called(wanted: str, called: Sequence[str]) -> str:
    return f"{tool(wanted)} was never called; {_instead(wanted, called)}"


def too_few(wanted: str, found: int, least: int, seen: int, with_args: bool) -> str:
    if not with_args:
        return f"{tool(wanted)} was called {times(found)}, expected at least {least}"
    return (
        f"{tool(wanted)} was called {times(seen)}, {found or 'none'} with matching arguments, expected at least {least}"
    )


def too_many(wanted: str, most: int, positions: Sequence[int], with_args: bool) -> str:
    what = plural(most, "matching call" if with_args else "call")
    return f"more than {what} to {tool(wanted)} ({events(positions)}), expected at most {most}"


def not_ruled_out(wanted: str, position: int, doubt: str) -> str:
    return f"the arguments of {tool(wanted)} at event {position} {doubt}: a match can't be ruled out"


def not_called(wanted: str) -> str:
    return f"no call was made to {tool(wanted)}"


def not_called_so(wanted: str) -> str:
    return f"no call to {tool(wanted)} matches"


def forbidden(wanted: str, positions: Sequence[int]) -> str:
    return f"{tool(wanted)} was called ({events(positions)}), and must not be"


def before_marker(wanted: str, marker: str, positions: Sequence[int], marker_position: int) -> str:
    return (
        f"{tool(wanted)} was called ({events(positions)}) before {tool(marker)}, which came at event {marker_position}"
    )


def never_marked(wanted: str, marker: str, positions: Sequence[int], called: Sequence[str]) -> str:
    before = f"{tool(wanted)} was called ({events(positions)}) before {tool(marker)}"
    return f"{before}, which never happened{meant(marker, called)}"


def after_marker(wanted: str, marker: str, position: int) -> str:
    return f"no call to {tool(wanted)} before {tool(marker)} (event {position})"


def outputs(wanted: str, positions: Sequence[int], there_may_be_more: bool) -> str:
    count = plural(len(positions), "matching result")
    return f"{'at least ' if there_may_be_more else ''}{count} of {tool(wanted)} ({events(positions)})"


def too_few_outputs(wanted: str, found: int, least: int, seen: int) -> str:
    return f"{plural(seen, 'result')} of {tool(wanted)}, {found or 'none'} matching, expected at least {least}"


def no_output(wanted: str, unanswered: int, called: Sequence[str]) -> str:
    if unanswered:
        return f"{tool(wanted)} was called {times(unanswered)}, and nothing came back"
    return never_called(wanted, called)


def no_calls() -> str:
    return "no call was made"


def last_is(name: str, position: int) -> str:
    return f"the last call is {tool(name)} (event {position})"


def last_is_not(wanted: str, name: str, position: int) -> str:
    return f"the last call is {tool(name)} (event {position}), expected {tool(wanted)}{meant(wanted, [name])}"


def last_differs(name: str, position: int) -> str:
    return f"the last call is {tool(name)} (event {position}), with other arguments"


def every_call_matches(wanted: str, count: int) -> str:
    return f"the one call to {tool(wanted)} matches" if count == 1 else f"all {count} calls to {tool(wanted)} match"


def call_differs(wanted: str, positions: Sequence[int]) -> str:
    calls = "a call" if len(positions) == 1 else "calls"
    return f"{calls} to {tool(wanted)} ({events(positions)}) with other arguments"


def followed(wanted: str, following: str, position: int) -> str:
    return f"every call to {tool(wanted)} is followed by {tool(following)} (event {position})"


def not_followed(wanted: str, following: str, position: int, called: Sequence[str]) -> str:
    after = f"the call to {tool(wanted)} at event {position}"
    return f"nothing that matches {tool(following)} comes after {after}{meant(following, called)}"


def terminal(wanted: str, position: int) -> str:
    return f"{tool(wanted)} was called once, and no call comes after it (event {position})"


def called_again(wanted: str, first: int, second: int) -> str:
    return f"{tool(wanted)} was called at event {first} and again at event {second}, expected at most once"


def call_after(wanted: str, position: int, later: str, later_position: int) -> str:
    return f"{tool(later)} was called at event {later_position}, after {tool(wanted)} at event {position}"


def only_these(count: int) -> str:
    return f"{plural(count, 'call')}, all to listed tools"


def other_tools(others: list[str], positions: Sequence[int]) -> str:
    return f"{names(others)} {'was' if len(others) == 1 else 'were'} called ({events(positions)}), and not listed"


def no_duplicates(count: int) -> str:
    return f"{plural(count, 'call')}, no two alike"


def duplicates(name: str, first: int, second: int) -> str:
    return f"{tool(name)} was called with the same arguments at event {first} and event {second}"


def maybe_duplicates(name: str, position: int) -> str:
    return (
        f"the arguments of {tool(name)} at event {position} could not be read: "
        "that the call repeats another can't be ruled out"
    )


def within(count: int, most: int, noun: str) -> str:
    return f"{plural(count, noun)}, at most {most} allowed"


def over(count: int, most: int, noun: str, positions: Sequence[int]) -> str:
    return f"{plural(count, noun)}, at most {most} allowed; the first too many is event {positions[-1]}"


def sequence_held(mode: str, count: int) -> str:
    return f"the calls are as listed ({mode}, {count} listed)"


def sequence_missing(wanted: str, mode: str, after: int | None, instead: str) -> str:
    where = "" if after is None else f" after event {after}"
    return f"no call for {wanted}{where} ({mode}){instead}"


def sequence_surplus(name: str, position: int, mode: str) -> str:
    return f"{tool(name)} at event {position} has no entry of its own ({mode})"


def sequence_other(wanted: str, name: str, position: int) -> str:
    return f"expected {tool(wanted)}, got {tool(name)} at event {position}"


def grounded(wanted: str, count: int, found: Sequence[tuple[str, object, Origin]]) -> str:
    """Say that all was seen, and where what the first call had comes from."""
    listed = "; ".join(
        f"{printable(name, 60)} = {show(value, 60)} from {origin.describe(value)}"
        for name, value, origin in found[:_SOURCES]
    )
    more = f" and {len(found) - _SOURCES} more" if len(found) > _SOURCES else ""
    where = f": {listed}{more}" if listed else ""
    return f"every listed argument of {plural(count, 'call')} to {tool(wanted)} was seen before{where}"


def not_grounded(wanted: str, position: int, argument: str, value: object, lacks_session: bool) -> str:
    given = f"{printable(argument, 60)} = {show(value)}"
    unknown = "; the session's parameters are not known" if lacks_session else ""
    return f"{tool(wanted)} at event {position}: {given} appears in none of its sources before{unknown}"


def arguments_unread(wanted: str, position: int) -> str:
    return f"the arguments of {tool(wanted)} at event {position} could not be read: where they come from can't be told"


def edits(count: int) -> str:
    """Say by how many edits two texts differ, their case apart."""
    return f"{plural(count, 'edit')} apart" if count else "differs only in case"


def argument_missing(wanted: str, position: int, argument: str) -> str:
    return f"{tool(wanted)} at event {position} has no argument {printable(argument, 60)}"


def claim_backed(wanted: str, position: int, backing: int) -> str:
    return f"what the agent says at event {position} is backed by {tool(wanted)} (event {backing})"


def claim_never_made() -> str:
    return "the agent never says it"


def claim_unbacked(wanted: str, position: int, said: str, called: Sequence[str]) -> str:
    says = f"the agent says {show(said, 60)} at event {position}"
    return f"{says}, and no matching call to {tool(wanted)} came before{meant(wanted, called)}"


def nothing_claimed() -> str:
    return "the agent says of nothing that it has done it"


def claims_backed(position: int, backing: int) -> str:
    return f"what the agent says it did, it did: what it says at event {position} is backed by event {backing}"


def claims_unbacked(said: str, position: int, tools: Sequence[str], called: Sequence[str]) -> str:
    """Say which claim nothing backs, and what was called instead."""
    which = f"call to {' or '.join(map(tool, tools[:_NAMES]))}" if tools else "call that could have done it"
    instead = f"called were {names(called)}" if called else "no tool was called at all"
    return f"the agent says {show(said, 100)} at event {position}, and no successful {which} came before; {instead}"


def scored(score: float, bar: float, missing: list[str]) -> str:
    """Write a score and its bar, and which expected calls have no partner."""
    without = f"; never called: {names(missing)}" if missing else ""
    return f"score {score:.2f}, expected at least {bar:.2f}{without}"


def scored_in_order(missing: list[str], early: tuple[str, int] | None) -> str:
    """Write whether the calls that stand for the expected ones have their order."""
    if missing:
        return f"no call for {names(missing)} (in order)"
    if early is None:
        return "the expected calls came in their order"
    return f"{tool(early[0])} at event {early[1]} is out of order"


def parsed(count: int) -> str:
    return f"{plural(count, 'event')}, nothing unreadable"


def has_problems(problems: tuple[Problem, ...]) -> str:
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    return f"{problems[0]}{more}"


def no_evidence(reason: str) -> str:
    return f"no evidence: {reason}"


def may_hide_a_call(problem: Problem) -> str:
    return f"can't be ruled out: what could not be read may hide a call ({problem})"


def cut_off(problem: Problem, words: tuple[object, ...]) -> str:
    make, *arguments = words
    return f"can't be told: the recording breaks off ({problem}); up to there: {make(*arguments)}"  # type: ignore[operator]


def ambiguous(short: str, full_names: list[str]) -> str:
    return f"{tool(short)} is ambiguous: {' and '.join(tool(name) for name in full_names[:_NAMES])} share that name"


def check_failed(error: BaseException) -> str:
    return f"the check could not be evaluated: {type(error).__name__}: {printable(str(error))}"


def from_text_alone(words: tuple[object, ...]) -> str:
    make, *arguments = words
    return f"{make(*arguments)} (read from text alone)"  # type: ignore[operator]


def scope(turns: tuple[int, int] | None, agent: str | None, marker: str | None, position: int | None) -> str:
    """Say which events a check looks at."""
    parts = []
    if turns is not None:
        parts.append(f"in turn {turns[0]}" if turns[0] == turns[1] else f"in turns {turns[0]} to {turns[1]}")
    if agent is not None:
        parts.append(f"by {tool(agent)}")
    if marker is not None:
        came = "which never came" if position is None else f"event {position}"
        parts.append(f"after {tool(marker)} ({came})")
    return ", ".join(parts)


def scoped(where: str, words: tuple[object, ...]) -> str:
    make, *arguments = words
    return f"{where}: {make(*arguments)}"  # type: ignore[operator]


def scope_unknown(position: int, agent: str | None) -> str:
    why = "or whether it comes after the marker" if agent is None else f"whether it is one of {tool(agent)}"
    return f"can't be ruled out: event {position} counts if it is in the scope, and it is not known {why}"


def never_failed(wanted: str) -> str:
    return f"no call to {tool(wanted)} failed"


def retried(wanted: str, count: int) -> str:
    return f"{tool(wanted)} failed {times(count)}, and was called again each time"


def not_retried(wanted: str, position: int) -> str:
    return f"{tool(wanted)} failed at event {position}, and was not called again"


def retried_too_often(wanted: str, most: int, positions: Sequence[int]) -> str:
    again = f"{tool(wanted)} was called again {times(len(positions))} ({events(positions)})"
    return f"{again} without success, at most {most} allowed"


def recovered(wanted: str, position: int, success: int) -> str:
    return f"{tool(wanted)} failed, at last at event {position}, and succeeded later (event {success})"


def not_recovered(wanted: str, position: int, tried: bool) -> str:
    later = "no later call succeeded" if tried else "it was not called again"
    return f"{tool(wanted)} failed at event {position}, and {later}"


def in_time(subject: str, took: float, limit: float) -> str:
    return f"{subject} took {took:g} s, at most {limit:g} s allowed"


def too_slow(subject: str, took: float, limit: float, begin: int, end: int) -> str:
    where = f"event {begin}" if begin == end else f"event {begin} to event {end}"
    return f"{subject} took {took:g} s ({where}), at most {limit:g} s allowed"


def time_unknown(position: int) -> str:
    return f"the time of event {position} is not recorded, or can't be compared: how long it took is not known"


def nothing_timed() -> str:
    return "nothing was said or called"


def no_answer(wanted: str, position: int) -> str:
    return f"nothing answered the call to {tool(wanted)} at event {position}"


def spent(noun: str, total: object, limit: float) -> str:
    return f"{noun} {total}, at most {limit:g} allowed"


def overspent(noun: str, total: object, limit: float, position: int) -> str:
    return f"{noun} {total}, at most {limit:g} allowed; more from event {position} on"


def spending_unknown(noun: str, position: int, odd: bool) -> str:
    if odd:
        return f"the {noun} that event {position} says can't be read"
    return f"the {noun} of the turn of event {position} is not recorded"


def nothing_spent(noun: str) -> str:
    return f"the recording says nothing of {noun}"


def no_definitions() -> str:
    return "no definitions of tools are known: list them under tools"


def arguments_valid(count: int) -> str:
    return f"the arguments of {plural(count, 'call')} are valid"


def tool_undefined(name: str, position: int, defined: Sequence[str]) -> str:
    near = near_tool(name, defined)
    return f"{tool(name)} at event {position} is not defined; defined are {names(defined)}" + (
        f"; {tool(near)} was probably meant" if near else ""
    )


def not_ruled_out_valid(name: str, position: int) -> str:
    return f"the arguments of {tool(name)} at event {position} could not be read"


def arguments_invalid(name: str, position: int) -> str:
    return f"the arguments of {tool(name)} at event {position} are not valid under its schema"


def state_unknown(database: str, reason: str) -> str:
    return f"the state of {printable(database, 60)} is not known: {printable(reason)}"


def state_as_expected(database: str, count: int) -> str:
    return f"{printable(database, 60)} is as expected ({plural(count, 'row')} after the run)"


def state_changed(database: str, added: list[object], removed: list[object]) -> str:
    there = f"only after the run: {show(added, 100)}" if added else f"only before the run: {show(removed, 100)}"
    return f"{printable(database, 60)} has changed; {there}"


def rows_differ(database: str, what: str, expected: list[object], actual: list[object]) -> str:
    return f"{printable(database, 60)}, rows {what}: expected {show(expected, 150)}, got {show(actual, 150)}"


def pattern_incomplete(wanted: str, place: str, after: int | None, mode: str, more: Sequence[str]) -> str:
    where = "" if after is None else f" after event {after}"
    then = f"; missing after it: {', '.join(more[:_NAMES])}{' …' if len(more) > _NAMES else ''}" if more else ""
    return f"no call for {wanted} ({place}){where} ({mode}){then}"


def pattern_misfit(expected: Sequence[tuple[str, str]], could_end: bool, name: str, position: int) -> str:
    listed = [f"{shown} ({place})" for shown, place in expected[:_NAMES]]
    wanted = " or ".join([*listed, *(["no further call"] if could_end else [])])
    return f"expected {wanted}, got {tool(name)} at event {position}"
