"""Laws that hold for every trace and every check, whatever they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import naive
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from tracewitness import testing
from tracewitness.expectations import compile_checks, parse_operator
from tracewitness.matching import Eq, matches
from tracewitness.trace import Problem, Trace

Check = dict[str, Any]
Events = list[Any]

quick = settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])

#: Once broken, broken for good: nothing that comes later takes back what was done.
BROKEN_FOR_GOOD = (
    "tool_not_called",
    "every_call",
    "terminal_tool",
    "no_other_tools",
    "no_duplicate_calls",
    "max_errors",
    "max_calls",
    "max_turns",
    "args_from",
    "claim",
    "trace_parsed",
    "valid_arguments",
)
#: Once held, held for good, as long as no two tools come to share a name.
HELD_FOR_GOOD = ("tool_called", "tool_input", "tool_output", "sequence")


def status(check: Check, events: Events, aliases: dict[str, list[str]] | None = None) -> str:
    """Return the verdict of one check on a trace in neutral form."""
    return compile_checks([check], aliases).check(Trace.from_events(events))[0].status


def holds(check: Check, events: Events) -> bool:
    return status(check, events) == "held"


def checks_of(*type_names: str) -> st.SearchStrategy[Check]:
    """Generate checks of some operators."""
    return st.sampled_from(type_names).flatmap(testing.checks)


def at_least(check: Check) -> Check:
    """Return a positive check without what is not positive in it: a maximum, or a mode that allows no other calls."""
    if check["type"] == "sequence":
        order = "any_order" if check.get("mode", "in_order") in ("any_order", "subset") else "in_order"
        return {**check, "calls": check["calls"] or [{"tool": "order"}], "mode": order}
    return {**without(check, "max"), "min": max(1, check.get("min", 1))}


def without(check: Check, *fields: str, **changed: Any) -> Check:
    """Return a check without some fields, and with others."""
    return {**{key: value for key, value in check.items() if key not in fields}, **changed}


def explicit(events: Events) -> Events:
    """Return a readable trace with an id of its own for each call, and for each result that of the call it answers."""
    ids = {answer.position: f"call {answer.call.position}" for answer in naive.read(events).answers if answer.call}
    return [
        {**event, "id": ids.get(position, f"call {position}" if "call" in event else "nobody")}
        if naive.kind_of(event) in ("call", "result", "raw_result")
        else event
        for position, event in enumerate(events)
    ]


def renamed(value: Any, rename: Callable[[str], str]) -> Any:
    """Return events or a check with every tool's name changed."""
    if isinstance(value, list):
        return [renamed(each, rename) if not isinstance(each, str) else rename(each) for each in value]
    if not isinstance(value, dict):
        return value
    deeper = {"before", "next", "calls", "tools"}
    return {
        key: rename(each)
        if key in ("call", "of", "tool") and isinstance(each, str) and each
        else renamed(each, rename)
        if key in deeper
        else each
        for key, each in value.items()
    }


def renamed_definitions(tools: Any, rename: Callable[[str], str]) -> Any:
    """Return definitions of tools with other names."""
    if isinstance(tools, dict):
        return {rename(name): schema for name, schema in tools.items()}
    return [
        {**each, "function": renamed_definitions([each["function"]], rename)[0]}
        if "function" in each
        else {**each, "name": rename(each["name"])}
        for each in tools
    ]


# ---------------------------------------------------------------------------------------- what changes nothing


@quick
@given(
    testing.events(),
    checks_of("tool_called", "tool_input", "tool_output", "every_call", "tool_not_called", "followed_by", "claim"),
    st.data(),
)
def test_unrelated_calls_change_nothing(events: Events, check: Check, data: st.DataObject) -> None:
    """A call to a tool that no check names, with its result, changes no verdict on other tools."""
    at = data.draw(st.integers(0, len(events)))
    unrelated = [{"call": "weather", "args": {"item": 1}, "id": "w"}, {"result": {"id": 1}, "id": "w"}]
    assert status(check, [*events[:at], *unrelated, *events[at:]]) == status(check, events)


@quick
@given(testing.events(), testing.checks(), st.data())
def test_events_that_no_check_is_about_change_nothing(events: Events, check: Check, data: st.DataObject) -> None:
    """What the system says, a transfer and an end change no verdict, wherever they stand."""
    at = data.draw(st.integers(0, len(events)))
    added = data.draw(st.sampled_from([{"system": "done"}, {"transfer": "order"}, {"end": True}]))
    assert status(check, [*events[:at], added, *events[at:]]) == status(check, events)


@quick
@given(testing.events(), testing.checks())
def test_explicit_ids_change_nothing(events: Events, check: Check) -> None:
    """Writing down by id which call each result answers gives the same verdicts as leaving it to the rules."""
    assert status(check, explicit(events)) == status(check, events)


@quick
@given(testing.events(), testing.checks())
def test_absent_arguments_are_an_empty_object(events: Events, check: Check) -> None:
    """Arguments that are absent, null or an empty text are the same as an empty object."""
    written = [
        {**event, "args": {}}
        if naive.kind_of(event) == "call" and naive.decoded_arguments(event) == {} and "raw_args" not in event
        else event
        for event in events
    ]
    assert status(check, written) == status(check, events)


@quick
@given(testing.events(), testing.checks())
def test_names_of_tools_mean_nothing(events: Events, check: Check) -> None:
    """Giving all tools but end_session other names, in the trace and in the check, keeps the verdict."""

    def rename(name: str) -> str:
        head, slash, last = name.rpartition("/")
        return head + slash + {"search": "find", "order": "buy"}.get(last, last)

    written = [renamed(event, rename) if naive.kind_of(event) else event for event in events]
    other = renamed(check, rename)
    if check["type"] == "args_from":
        sources = {name: renamed(naive.as_list(source), rename) for name, source in check["args"].items()}
        other = {**other, "args": sources}
    if check["type"] == "valid_arguments":
        other = {**check, "tools": renamed_definitions(check["tools"], rename)}
    assert status(other, written) == status(check, events)


@quick
@given(testing.events(), testing.checks())
def test_an_alias_is_the_tool(events: Events, check: Check) -> None:
    """A trace that calls a tool by an alias has the verdicts of one that calls it by its name."""
    alias = "mcp__shop__search"
    written = [
        renamed(event, lambda name: alias if name == "search" else name) if naive.kind_of(event) else event
        for event in events
    ]
    assert status(check, written, {"search": [alias]}) == status(check, events)


@quick
@given(testing.events(), testing.checks())
def test_written_operators_mean_the_same(events: Events, check: Check) -> None:
    """An operator that is written as a mapping and read again gives the same verdict."""
    again = parse_operator(check).to_mapping()
    assert parse_operator(again) == parse_operator(check)
    assert status(again, events) == status(check, events)


@quick
@given(testing.events())
def test_round_trip(events: Events) -> None:
    """A trace gives back the events that it was made of, and is equal to the trace made of those."""
    trace = Trace.from_events(events)
    assert trace.to_events() == events
    assert Trace.from_events(trace.to_events()) == trace


# ---------------------------------------------------------------------------------------- sets of checks


@quick
@given(testing.events(), st.lists(testing.checks(), max_size=6), st.data())
def test_checks_do_not_know_of_each_other(events: Events, checks: list[Check], data: st.DataObject) -> None:
    """Checks that are compiled together, in any order, give what each gives alone."""
    order = data.draw(st.permutations(range(len(checks))))
    verdicts = compile_checks([checks[number] for number in order]).check(Trace.from_events(events))
    together = {number: verdict.to_dict() for number, verdict in zip(order, verdicts, strict=False)}
    alone = [compile_checks([check]).check(Trace.from_events(events))[0].to_dict() for check in checks]
    assert [together[number] for number in range(len(checks))] == alone


@quick
@given(st.lists(testing.events(), min_size=2, max_size=4), st.lists(testing.checks(), min_size=1, max_size=4))
def test_no_state_is_kept_between_traces(runs: list[Events], checks: list[Check]) -> None:
    """A compiled set of checks gives each trace the verdicts that a new set gives it."""
    compiled = compile_checks(checks)
    for events in [*runs, *reversed(runs)]:
        again = compile_checks(checks).check(Trace.from_events(events))
        assert [each.to_dict() for each in compiled.check(Trace.from_events(events))] == [
            each.to_dict() for each in again
        ]


@quick
@given(testing.events(), st.lists(testing.checks(), min_size=1, max_size=4))
def test_live_words_are_those_of_the_recording(events: Events, checks: list[Check]) -> None:
    """At the end of a live trace its verdicts have the status, evidence and words of the recorded one."""
    live = compile_checks(checks).watch()
    for event in events:
        live.feed(event)
    recorded = compile_checks(checks).check(Trace.from_events(events))
    assert [each.to_dict() for each in live.verdicts()] == [each.to_dict() for each in recorded]


# ---------------------------------------------------------------------------------------- what more events do


@quick
@given(testing.events(), testing.events(), checks_of(*BROKEN_FOR_GOOD))
def test_broken_for_good(events: Events, more: Events, check: Check) -> None:
    """Events that come later never turn a broken negative or universal check to held."""
    assert holds(check, events) or not holds(check, [*events, *more])


@quick
@given(testing.events(faults=False), testing.events(faults=False), checks_of(*HELD_FOR_GOOD))
def test_held_for_good(events: Events, more: Events, check: Check) -> None:
    """Events that come later never take back what a positive check has found."""
    check = at_least(check)
    assert not holds(check, events) or holds(check, [*events, *more])


@quick
@given(testing.events(), checks_of("tool_not_called", "every_call", "followed_by", "terminal_tool", "max_calls"))
def test_nothing_is_ruled_out_in_the_unreadable(events: Events, check: Check) -> None:
    """An event that can't be read, anywhere, breaks every negative and universal check."""
    for at in (0, len(events)):
        assert status(check, [*events[:at], {"cal": "order"}, *events[at:]]) == "broken"


@quick
@given(testing.events(), testing.checks(), st.booleans())
def test_problems_of_the_reader(events: Events, check: Check, hides_call: bool) -> None:
    """What a reader could not make sense of breaks trace_parsed, and, where it may hide a call, universal checks."""
    records = Trace.from_events(events)
    problem = Problem("a line of no kind", hides_call=hides_call)
    trace = Trace(records.records, unreadable=records.unreadable, problems=[problem])
    breaks = check["type"] == "trace_parsed" or (hides_call and naive.is_universal(check))
    assert compile_checks([check]).check(trace)[0].status == ("broken" if breaks else status(check, events))


@settings(quick, max_examples=300)
@given(testing.events(faults=False), testing.events(faults=False), testing.checks())
def test_what_is_decided_on_a_cut_recording_stays(events: Events, more: Events, check: Check) -> None:
    """Where a recording breaks off, whatever more there could have been, a verdict that is given is the right one."""
    records = Trace.from_events(events)
    cut = Trace(records.records, problems=[Problem("the file ends here", cut=True)])
    verdict, *_ = compile_checks([check]).check(cut)
    whole, *_ = compile_checks([check]).check(Trace.from_events([*events, *more]))
    assume("ambiguous" not in whole.justification)
    if not events:
        assert verdict.status == "broken"  # no event, no evidence
    elif verdict.status == "inconclusive":
        assert not verdict.held
        assert "the file ends here" in verdict.justification
    else:
        assert verdict.status == whole.status


@pytest.mark.parametrize(
    ("check", "found"),
    [
        ({"type": "tool_called", "tool": "order"}, "held"),
        ({"type": "tool_called", "tool": "order", "max": 1}, "inconclusive"),
        ({"type": "tool_called", "tool": "refund"}, "inconclusive"),
        ({"type": "tool_called", "tool": "search", "max": 1}, "broken"),
        ({"type": "tool_input", "tool": "order", "args": {"id": 1}}, "held"),
        ({"type": "tool_input", "tool": "order", "args": {"id": 2}}, "inconclusive"),
        ({"type": "tool_output", "tool": "search", "result": {"n": 1}}, "held"),
        ({"type": "tool_not_called", "tool": "order"}, "broken"),
        ({"type": "tool_not_called", "tool": "refund"}, "inconclusive"),
        ({"type": "tool_not_called", "tool": "order", "before": {"tool": "search"}}, "held"),
        ({"type": "tool_not_called", "tool": "search", "before": {"tool": "order"}}, "broken"),
        ({"type": "last_tool", "tool": "order"}, "inconclusive"),
        ({"type": "every_call", "tool": "order", "args": {"id": 1}}, "inconclusive"),
        ({"type": "every_call", "tool": "order", "args": {"id": 2}}, "broken"),
        ({"type": "followed_by", "tool": "search", "next": {"tool": "order"}}, "inconclusive"),
        ({"type": "terminal_tool", "tool": "search"}, "broken"),
        ({"type": "end_session"}, "inconclusive"),
        ({"type": "no_other_tools", "tools": ["order"]}, "broken"),
        ({"type": "no_duplicate_calls"}, "broken"),
        ({"type": "max_calls", "max": 2}, "broken"),
        ({"type": "max_turns", "max": 1}, "inconclusive"),
        ({"type": "sequence", "calls": [{"tool": "search"}, {"tool": "order"}]}, "held"),
        ({"type": "sequence", "calls": [{"tool": "order"}, {"tool": "search"}]}, "inconclusive"),
        ({"type": "claim", "says": "Done", "tool": "refund"}, "broken"),
        ({"type": "claim", "says": "Done", "tool": "order"}, "inconclusive"),
        ({"type": "trace_parsed"}, "inconclusive"),
    ],
    ids=lambda value: value["type"] if isinstance(value, dict) else value,
)
def test_checks_on_a_cut_recording(check: Check, found: str) -> None:
    """What the rest of the run could change is inconclusive; what happened has happened."""
    events = [{"user": "hi"}, {"call": "search"}, {"result": {"n": 1}}, {"call": "search"}]
    events += [{"call": "order", "args": {"id": 1}}, {"agent": "Done."}]
    trace = Trace(Trace.from_events(events).records, problems=[Problem("the stream breaks off", cut=True)])
    assert compile_checks([check]).check(trace)[0].status == found


def test_a_cut_recording_with_another_problem_is_not_parsed() -> None:
    problems = [Problem("the stream breaks off", cut=True), Problem("a line of no kind")]
    trace = Trace(Trace.from_events([{"call": "order"}]).records, problems=problems)
    statuses = [verdict.status for verdict in compile_checks([{"type": "tool_not_called", "tool": "x"}]).check(trace)]
    assert statuses == ["broken", "broken"]


@quick
@given(testing.events(), testing.checks())
def test_without_evidence_nothing_holds(events: Events, check: Check) -> None:
    """A run that failed, or whose recording is empty or missing, breaks every check, vacuous ones too."""
    traces = [
        Trace.from_events(events, error="timed out"),
        Trace.from_events([]),
        Trace.without_evidence("no such file"),
    ]
    for trace in traces:
        assert {verdict.status for verdict in compile_checks([check]).check(trace)} == {"broken"}


@quick
@given(
    testing.events(faults=False),
    st.sampled_from(testing.TOOLS),
    checks_of("tool_input", "tool_output", "last_tool"),
    checks_of("tool_not_called", "every_call", "terminal_tool", "max_calls"),
)
def test_without_its_calls_a_tool_was_not_called(events: Events, tool: str, positive: Check, vacuous: Check) -> None:
    """Without the calls to a tool, and their results, positive checks on it are broken, and vacuous ones hold."""
    events = explicit(events)
    calls = naive.View(naive.read(events), naive.Names(None)).calls_to(tool)
    gone = {call.position for call in calls} | {call.answer.position for call in calls if call.answer}
    rest = [event for position, event in enumerate(events) if position not in gone]
    assert status({**positive, "tool": tool}, rest) == "broken"
    assert status({**vacuous, "tool": tool}, rest) == ("held" if rest else "broken")


# ---------------------------------------------------------------------------------------- evidence


@quick
@given(testing.events(), testing.checks())
def test_evidence_exists(events: Events, check: Check) -> None:
    """The positions of evidence and of the nearest miss are positions of the trace, each named once."""
    verdict = compile_checks([check]).check(Trace.from_events(events))[0]
    assert all(0 <= position < len(events) for position in verdict.evidence)
    assert len(set(verdict.evidence)) == len(verdict.evidence)
    assert verdict.near_miss is None or 0 <= verdict.near_miss.position < len(events)


@quick
@given(testing.events(), checks_of(*BROKEN_FOR_GOOD))
def test_evidence_of_a_breach_suffices(events: Events, check: Check) -> None:
    """What is broken for good is broken as soon as all of its evidence is there."""
    verdict = compile_checks([check]).check(Trace.from_events(events))[0]
    if verdict.status == "broken" and verdict.evidence:
        assert status(check, events[: max(verdict.evidence) + 1]) == "broken"


@quick
@given(testing.events(), checks_of(*HELD_FOR_GOOD))
def test_evidence_of_success_suffices(events: Events, check: Check) -> None:
    """What a positive check has found is held as soon as all of its evidence is there."""
    check = at_least(check)
    verdict = compile_checks([check]).check(Trace.from_events(events))[0]
    if verdict.status == "held":
        assert status(check, events[: max(verdict.evidence) + 1]) == "held"


# ---------------------------------------------------------------------------------------- checks among each other


def always(check: Check) -> Callable[[Check], Check]:
    """Return a check that does not depend on the one that was drawn."""
    return lambda _: check


NO_CALL = always({"type": "max_calls", "max": 0})


EQUIVALENT: dict[str, tuple[str, Callable[[Check], Check], Callable[[Check], Check]]] = {
    "tool_input is tool_called with args": (
        "tool_input",
        lambda check: check,
        lambda check: {**check, "type": "tool_called"},
    ),
    "not called is called no time": (
        "tool_not_called",
        lambda check: without(check, "before"),
        lambda check: without(check, "before", type="tool_called", min=0, max=0),
    ),
    "called once is a sequence of one": (
        "last_tool",
        lambda check: {**check, "type": "tool_called"},
        lambda check: {"type": "sequence", "calls": [without(check, "type")]},
    ),
    "in_order and any_order of one are one": (
        "last_tool",
        lambda check: {"type": "sequence", "calls": [without(check, "type")]},
        lambda check: {"type": "sequence", "calls": [without(check, "type")], "mode": "any_order"},
    ),
    "a budget of one tool is a maximum": (
        "max_calls",
        lambda check: {"tool": "order", **check},
        lambda check: {"tool": "order", **check, "type": "tool_called", "min": 0},
    ),
    "no tool allowed is no call": ("max_calls", NO_CALL, always({"type": "no_other_tools", "tools": []})),
    "exactly nothing is no call": (
        "max_calls",
        NO_CALL,
        always({"type": "sequence", "calls": [], "mode": "exact"}),
    ),
    "end_session is last": (
        "end_session",
        always({"type": "end_session"}),
        always({"type": "last_tool", "tool": "end_session"}),
    ),
    "handoff is end_session": ("end_session", lambda check: check, lambda check: {**check, "type": "handoff"}),
    "a group of one is a step": (
        "last_tool",
        lambda check: {"type": "sequence", "calls": [without(check, "type")], "mode": "exact"},
        lambda check: {"type": "sequence", "calls": [[without(check, "type")]], "mode": "exact"},
    ),
}


@pytest.mark.parametrize("law", EQUIVALENT)
def test_two_ways_to_say_one_thing(law: str) -> None:
    """Two checks that say the same have the same verdict on every trace."""
    type_name, one, other = EQUIVALENT[law]

    @settings(quick, max_examples=50)
    @given(testing.events(), testing.checks(type_name))
    def agree(events: Events, check: Check) -> None:
        assert status(one(check), events) == status(other(check), events)

    agree()


def called(tool: str) -> Check:
    return {"type": "tool_called", "tool": tool}


#: For a check of an operator: where all of the first hold, the second holds.
IMPLIED: dict[str, tuple[str, Callable[[Check], list[Check]], Callable[[Check], Check]]] = {
    "last is called": ("last_tool", lambda check: [check], lambda check: {**check, "type": "tool_called"}),
    "terminal is last": (
        "terminal_tool",
        lambda check: [check, called(check["tool"])],
        lambda check: {**check, "type": "last_tool"},
    ),
    "last and once is terminal": (
        "terminal_tool",
        lambda check: [
            {**check, "type": "last_tool"},
            {"type": "max_calls", "tool": check["tool"], "max": 1},
        ],
        lambda check: check,
    ),
    "every is some": (
        "every_call",
        lambda check: [check, called(check["tool"])],
        lambda check: {**check, "type": "tool_input"},
    ),
    "last is the session's end": (
        "end_session",
        lambda check: [{**check, "type": "last_tool", "tool": "end_session"}],
        lambda check: check,
    ),
    "never is not before": (
        "tool_not_called",
        lambda check: [without(check, "before")],
        lambda check: check,
    ),
    "after the result is after the call": (
        "tool_not_called",
        lambda check: [check],
        lambda check: (
            {**check, "before": without(check["before"], "result", "is_error")} if "before" in check else check
        ),
    ),
    "an output is a call": ("tool_output", lambda check: [check], lambda check: called(check["tool"])),
    "followed with a result is followed": (
        "followed_by",
        lambda check: [check],
        lambda check: {**check, "next": without(check["next"], "result")},
    ),
    "claimed with a result is claimed": ("claim", lambda check: [check], lambda check: without(check, "result")),
    "two is one": ("tool_input", lambda check: [{**check, "min": 2}], lambda check: {**check, "min": 1}),
    "a budget is within a larger one": (
        "max_errors",
        lambda check: [check],
        lambda check: {**check, "max": check["max"] + 1},
    ),
    "a budget of all is one of each": (
        "max_calls",
        lambda check: [without(check, "tool")],
        lambda check: {**check, "tool": "end_session"},
    ),
    "at most one call is no duplicate": (
        "max_calls",
        lambda check: [{**check, "max": 1}],
        lambda check: without(check, "max", type="no_duplicate_calls"),
    ),
    "exact is in order": (
        "sequence",
        lambda check: [{**check, "calls": check["calls"] or [{"tool": "order"}], "mode": "exact"}],
        lambda check: {**check, "calls": check["calls"] or [{"tool": "order"}], "mode": "in_order"},
    ),
    "in order is in any order": (
        "sequence",
        lambda check: [{**check, "calls": check["calls"] or [{"tool": "order"}], "mode": "in_order"}],
        lambda check: {**check, "calls": check["calls"] or [{"tool": "order"}], "mode": "any_order"},
    ),
    "exact is a subset": (
        "sequence",
        lambda check: [{**check, "mode": "exact"}],
        lambda check: {**check, "mode": "subset"},
    ),
    "a subset of calls is of these tools": (
        "sequence",
        lambda check: [{**check, "mode": "subset"}],
        lambda check: {"type": "no_other_tools", "tools": sorted(naive.tools_named(check))},
    ),
}


def names_an_ambiguous_tool(check: Check, events: Events) -> bool:
    """Say whether two tools of the trace share a name of the check: that breaks it, however little it says."""
    view = naive.View(naive.read(events), naive.Names(None))
    return any(view.names.is_ambiguous(tool, view.calls) for tool in naive.tools_named(check))


@pytest.mark.parametrize("law", IMPLIED)
def test_one_check_implies_another(law: str) -> None:
    """Where stronger checks hold, a weaker one holds."""
    type_name, stronger, weaker = IMPLIED[law]
    # Implications are tried only where the stronger check holds, so these traces are short and without faults.
    short = testing.events(faults=False, max_size=4) | testing.events()

    @settings(quick, max_examples=80)
    @given(short, testing.checks(type_name))
    def implied(events: Events, check: Check) -> None:
        assume(not names_an_ambiguous_tool(weaker(check), events))
        assert not all(holds(each, events) for each in stronger(check)) or holds(weaker(check), events)

    implied()


@quick
@given(testing.events(), st.sampled_from(testing.TOOLS), testing.arguments())
def test_exact_arguments_are_a_subset_of_themselves(events: Events, tool: str, args: dict[str, Any]) -> None:
    """A call with exactly some arguments is a call with at least these."""
    exactly = {"type": "tool_called", "tool": tool, "args": {"$exactly": args}}
    assert not holds(exactly, events) or holds({**exactly, "args": args}, events)


@quick
@given(testing.events(), checks_of("tool_output"))
def test_an_envelope_hides_nothing(events: Events, check: Check) -> None:
    """Putting results that are no envelopes in one keeps what tool_output has found."""
    wrapped = [
        {**event, "result": {"result": event["result"]}}
        if naive.kind_of(event) == "result" and not naive.envelope(event["result"])
        else event
        for event in events
    ]
    assert not holds(check, events) or holds(check, wrapped)


@settings(quick, max_examples=300)
@given(testing.json_values(allow_nan=True), testing.json_values(allow_nan=True))
def test_strict_is_the_narrowest_policy(one: Any, other: Any) -> None:
    """Plain values that match under strict match under the other policies, each value with itself above all."""
    for expected, actual in ((one, one), (one, other), ([one, other], [one, other]), ({"k": one}, {"k": other})):
        if matches(Eq(expected), actual, "strict"):
            assert matches(Eq(expected), actual, "lenient")
            assert matches(Eq(expected), actual, "subset")
    assert matches(Eq(one), one, "strict")
