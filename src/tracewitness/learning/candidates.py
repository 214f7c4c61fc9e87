"""What could be expected of an agent: everything of some families that holds on all recorded good runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import permutations
from typing import Any, Final

from tracewitness.expectations import (
    FollowedBy,
    LastTool,
    Marker,
    MaxCalls,
    MaxErrors,
    MaxTurns,
    Next,
    NoDuplicateCalls,
    NoOtherTools,
    Step,
    TerminalTool,
    ToolCalled,
    ToolNotCalled,
    ToolOutput,
    compile_checks,
)
from tracewitness.expectations import (
    Sequence as SequenceOf,
)
from tracewitness.learning.argument_candidates import argument_candidates, expected_value
from tracewitness.learning.facts import Facts, deciding, facts_of, supported
from tracewitness.learning.grounding import grounding_candidates
from tracewitness.learning.proposal import Candidate
from tracewitness.matching import ANY, strict_key
from tracewitness.trace import Trace

__all__ = ["FAMILIES", "candidates"]

#: The calls are asked to be these and no others only where so many runs are alike.
_RUNS_FOR_EXACT: Final = 5
#: Of more tools than this, not every pair is looked at.
_MOST_TOOLS: Final = 30
_MOST_CALLS: Final = 40

#: The families, from what seldom breaks without reason to what does so sooner. Of two candidates that are as useful,
#: the earlier is proposed.
FAMILIES: Final = (
    "errors",
    "duplicates",
    "always called",
    "always answered",
    "conditional order",
    "grounding",
    "argument shape",
    "argument type",
    "argument constant",
    "enumeration",
    "format",
    "called with",
    "last tool",
    "order",
    "other tools",
    "budget",
    "exact calls",
)

_NO_TOOLS: Final[tuple[str, ...]] = ()

_Candidates = Iterator[Candidate]


def candidates(
    traces: Sequence[Trace], aliases: Mapping[str, Sequence[str]] | None = None
) -> tuple[list[Candidate], int]:
    """Return what could be expected, all of which holds on every one of the runs, and how much was considered.

    Arguments:
        traces: good runs of one case.
        aliases: for a tool's name, its other names.

    >>> run = Trace.from_events([{"call": "look"}, {"result": 1}, {"call": "order"}, {"result": 2}])
    >>> next(each.operator for each in candidates([run, run])[0] if each.family == "conditional order")
    ToolNotCalled(tool='order', before=Marker(tool='look', result=ANY))
    """
    primary = {other: tool for tool, others in (aliases or {}).items() for other in others}
    facts = facts_of(traces, lambda name: primary.get(name, name))
    found = _unique([candidate for maker in _MAKERS for candidate in maker(facts)])
    return _holding(found, traces, aliases), len(found)


def _unique(found: list[Candidate]) -> list[Candidate]:
    """Drop what says the same as another."""
    unique: dict[Any, Candidate] = {}
    for candidate in found:
        unique.setdefault(strict_key(candidate.operator.to_mapping()), candidate)
    return list(unique.values())


def _holding(
    found: list[Candidate], traces: Sequence[Trace], aliases: Mapping[str, Sequence[str]] | None
) -> list[Candidate]:
    """Return those that no run refutes, by the checks themselves."""
    checks = compile_checks([candidate.operator for candidate in found], aliases)
    refuted = {number for trace in traces for number, verdict in enumerate(checks.check(trace)) if not verdict.held}
    return [candidate for number, candidate in enumerate(found) if number not in refuted]


def _always_called(facts: Facts) -> _Candidates:
    for tool in facts.common_tools:
        counts = sorted(len(calls[tool]) for calls in facts.calls)
        least = counts[0] if counts[0] == counts[facts.needed - 1] else 1
        yield Candidate("always called", ToolCalled(tool, min=least), 1, facts.runs)
        yield Candidate("always answered", ToolOutput(tool, ANY, min=least), 1, facts.runs)


def _called_with(facts: Facts) -> _Candidates:
    """Propose single calls that every run makes, arguments and all, where a tool is called with others as well."""
    for tool in facts.common_tools:
        runs = facts.arguments(tool)
        keyed = [{strict_key(args): args for args in each if args} for each in runs]
        common = set.intersection(*(set(each) for each in keyed))
        for key, args in list(keyed[0].items())[:_MOST_CALLS]:
            if key in common:
                expected = {name: expected_value(value) for name, value in args.items()}
                yield Candidate("called with", ToolCalled(tool, expected), 1, facts.runs)


def _orders(facts: Facts) -> _Candidates:
    tools = facts.tools[:_MOST_TOOLS]
    for first, then in permutations(tools, 2):
        if facts.calling(then) >= facts.needed:
            both = facts.calling(then)
            yield Candidate("conditional order", ToolNotCalled(then, before=Marker(first, result=ANY)), 1, both)
            yield Candidate("conditional order", ToolNotCalled(then, before=Marker(first)), 1, both)
        if facts.calling(first) >= facts.needed:
            yield Candidate("order", FollowedBy(first, Next(then)), 1, facts.calling(first))


def _sequences(facts: Facts) -> _Candidates:
    if not all(facts.names):
        return
    names, changes = deciding(facts.names[1:], facts.names[0], _common_subsequence)
    alike = len(set(facts.names)) == 1
    if len(names) > 1 and changes == 0:
        steps = tuple(map(Step, names))
        yield Candidate("order", SequenceOf(steps, "in_order"), 1, facts.runs)
        if alike and facts.runs >= _RUNS_FOR_EXACT:
            yield Candidate("exact calls", SequenceOf(steps, "exact"), 1, facts.runs)


def _common_subsequence(one: tuple[str, ...], other: tuple[str, ...]) -> tuple[str, ...]:
    """Return a longest common subsequence, by the textbook's table."""
    longest: list[tuple[str, ...]] = [()] * (len(other) + 1)
    for name in one:
        diagonal: tuple[str, ...] = ()
        for at, other_name in enumerate(other, start=1):
            above = longest[at]
            if name == other_name:
                longest[at] = (*diagonal, name)
            elif len(longest[at - 1]) > len(above):
                longest[at] = longest[at - 1]
            diagonal = above
    return longest[-1]


def _ends(facts: Facts) -> _Candidates:
    last = {names[-1] if names else None for names in facts.names}
    if len(last) == 1 and (tool := last.pop()) is not None:
        yield Candidate("last tool", LastTool(tool), 1, facts.runs)
        yield Candidate("last tool", TerminalTool(tool), 1, facts.runs)


def _budgets(facts: Facts) -> _Candidates:
    yield Candidate("errors", MaxErrors(max=0), 0, facts.runs)
    yield Candidate("duplicates", NoDuplicateCalls(), 0, facts.runs)
    for tool in facts.tools:
        if facts.calling(tool) < facts.needed:
            continue
        counts = sorted((len(calls.get(tool, ())) for calls in facts.calls), reverse=True)
        if counts[0] == counts[facts.needed - 1]:
            yield Candidate("budget", MaxCalls(counts[0], tool), 1, facts.calling(tool))
        yield Candidate("duplicates", NoDuplicateCalls(tool), 1, facts.calling(tool))
        yield Candidate("errors", MaxErrors(0, tool), 1, facts.calling(tool))
    yield Candidate("budget", MaxCalls(_with_room(max(map(len, facts.names)))), 1, facts.runs)
    yield Candidate(
        "budget", MaxTurns(_with_room(max(len(each.index.turn_starts) for each in facts.traces))), 1, facts.runs
    )


def _with_room(most: int) -> int:
    """Return a limit with half as much again: the most of a few runs is soon passed by another good one."""
    return most + (most + 1) // 2


def _other_tools(facts: Facts) -> _Candidates:
    tools, changes = deciding(facts.names, _NO_TOOLS, lambda seen, names: tuple(dict.fromkeys((*seen, *names))))
    if set(supported(facts.names, facts.needed)) == set(tools):
        yield Candidate("other tools", NoOtherTools(tools), changes, facts.runs)


_MAKERS: Final = (
    _always_called,
    _called_with,
    _orders,
    _sequences,
    _ends,
    _budgets,
    _other_tools,
    argument_candidates,
    grounding_candidates,
)
