"""What `evaluate` takes, what it refuses, and what its result says."""

from __future__ import annotations

import copy
import io
import warnings
from collections import OrderedDict
from types import MappingProxyType
from typing import Any
from unittest.mock import MagicMock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scoring_strategies import expected, made

from tracewitness.errors import ExpectationError, UsageError
from tracewitness.fluent import ToolScoreAssertionError, assert_tools
from tracewitness.matching import ANY, Contains, Each, Eq, Partial, Regex, Search
from tracewitness.scoring import EvaluationResult, ExpectedCall, assess, evaluate, warn_of_missing_calls
from tracewitness.trace import Problem, Trace

SEARCH = {"tool": "search", "args": {"q": "lamp"}}


def traced(*events: dict[str, Any]) -> Trace:
    """Read events in neutral form."""
    return Trace.from_events(list(events))


# ------------------------------------------------------------------------------------------------- what was expected


@pytest.mark.parametrize(
    ("wanted", "path", "says"),
    [
        ([{"tool": "a", "arguments": {}}], "$.expected[0]", "'arguments'; args is meant"),
        ([{"tool": "a"}, {"name": "a"}], "$.expected[1]", "'name'; tool is meant"),
        ([{"tool": "a", "arg": {}}], "$.expected[0]", "args is meant"),
        ([{"tool": "a", "params": {}}], "$.expected[0]", "args is meant"),
        ([{"tool": "a", "output": 1}], "$.expected[0]", "result is meant"),
        ([{"tool": "a", "zzzzzz": 1}], "$.expected[0]", "there are tool, args, result"),
        ([{"args": {}}], "$.expected[0]", "tool"),
        ([{"tool": ""}], "$.expected[0].tool", "name"),
        ([{"tool": None}], "$.expected[0].tool", "None"),
        ([{"tool": ["a"]}], "$.expected[0].tool", "['a']"),
        ([{"tool": "a", "args": None}], "$.expected[0].args", "leave it out"),
        ([{"tool": "a", "args": [1]}], "$.expected[0].args", "mapping"),
        ([{"tool": "a", "args": "{}"}], "$.expected[0].args", "mapping"),
        ([{"tool": "a", "args": {1: 2}}], "$.expected[0].args", "text"),
        ([{"tool": "a", "args": {"x": {"$regx": "a"}}}], "$.expected[0].args.x", "$regex"),
        ([{"tool": "a", "args": {"x": [{"$regex": "("}]}}], "$.expected[0].args.x[0]", "("),
        ([{"tool": "a", "args": {"$partal": {}}}], "$.expected[0].args", "$partial"),
        ([{"tool": "a", "result": {"$typ": "string"}}], "$.expected[0].result", "$type"),
        (["a"], "$.expected[0]", "'a'"),
        ([None], "$.expected[0]", "None"),
    ],
)
def test_malformed_expectations(wanted: Any, path: str, says: str) -> None:
    """A malformed expectation is an error that says what is wrong, what was meant and where; called or not."""
    for calls in ([], [{"tool": "a", "args": {}}]):
        with pytest.raises(ExpectationError) as raised:
            evaluate(wanted, calls)
        assert says in str(raised.value)
        assert f"(at {path}" in str(raised.value)


@pytest.mark.parametrize("wanted", [None, "search", b"search", 3, SEARCH, ExpectedCall("search")], ids=repr)
def test_expected_is_a_list(wanted: Any) -> None:
    """Anything else than a list of calls is refused, a single call too."""
    with pytest.raises(ExpectationError, match="expected is a list"):
        evaluate(wanted, [])


def test_an_expected_call_checks_itself() -> None:
    """An `ExpectedCall` can't be made of what it can't hold."""
    with pytest.raises(ExpectationError, match="name"):
        ExpectedCall("")
    with pytest.raises(ExpectationError, match="mapping"):
        ExpectedCall("a", [1])
    with pytest.raises(AttributeError):
        ExpectedCall("a").tool = "b"  # type: ignore[misc]


def test_calls_in_other_forms() -> None:
    """Any mapping, tuple, generator or `ExpectedCall` says the same as a list of dicts."""
    forms: list[Any] = [
        (SEARCH,), iter([SEARCH]), [OrderedDict(SEARCH)], [MappingProxyType(SEARCH)],
        [ExpectedCall("search", {"q": "lamp"})], [{"tool": "search", "args": MappingProxyType({"q": "lamp"})}],
    ]  # fmt: skip
    for form in forms:
        assert evaluate(form, [SEARCH]).score == 1.0


@pytest.mark.parametrize(
    ("args", "correct"),
    [
        ({"q": ANY, "n": ANY}, 2),
        ({"q": Regex("l.*"), "n": {"$gt": 2}}, 2),
        ({"q": "lamp", "n": {"$absent": True}}, 1),
        ({"q": "lamp", "n": 3, "page": {"$absent": True}}, 3),
        ({"q": "lamp", "n": 3, "page": {"$any_of": [{"$absent": True}, 1]}}, 3),
        ({"q": {"$eq": "lamp"}, "n": [3]}, 1),
        (Partial({"q": "lamp"}), 1),
        ({"$partial": {"q": "lamp"}}, 1),
        (Partial({"q": "desk"}), 0),
        (ANY, 1),
        (Eq({"q": "lamp", "n": 3}), 1),
    ],
    ids=repr,
)
def test_matchers_of_arguments(args: Any, correct: int) -> None:
    """Matchers stand for an argument, at any depth, or for all arguments, which then count as one thing."""
    pair = evaluate([{"tool": "search", "args": args}], [{"tool": "search", "args": {"q": "lamp", "n": 3}}]).pairs[0]
    assert pair.correct == correct
    assert pair.is_exact is (pair.differences == [])


def test_deep_matchers() -> None:
    """A matcher inside a list inside a mapping works in both policies."""
    wanted = [{"tool": "t", "args": {"o": {"items": Each({"id": Regex(r"L-\d+"), "n": ANY})}}}]
    calls = [{"tool": "t", "args": {"o": {"items": [{"id": "L-1", "n": None}, {"id": "L-2", "n": 2}]}}}]
    assert evaluate(wanted, calls).score == evaluate(wanted, calls, strict=True).score == 1.0


def test_names_with_a_dollar() -> None:
    """A mapping with other names beside ``$`` names is data, as everywhere."""
    wanted = [{"tool": "t", "args": {"$filter": "a", "top": 5}}]
    assert evaluate(wanted, [{"tool": "t", "args": {"$filter": "a", "top": 5}}]).argument_f1 == 1.0
    assert evaluate(wanted, [{"tool": "t", "args": {"$filter": "b", "top": 5}}]).argument_f1 == 0.5


# ------------------------------------------------------------------------------------------------------ what was done


@pytest.mark.parametrize(
    ("item", "says"),
    [
        ({"name": "a"}, "tool is meant"),
        ({"tool": "a", "arguments": {}}, "args is meant"),
        ({"tool": "a", "input": {}}, "args is meant"),
        ({"tool": "a", "arg": {}}, "args is meant"),
        ({"tool": "a", "is_error": True}, "error is meant"),
        ({"args": {}}, "tool is a tool's name"),
        ({"tool": ""}, "tool is a tool's name"),
        ({"tool": 3}, "tool is a tool's name"),
        ({"tool": "a", "id": [1]}, "id is a text"),
        ("a", "'a'"),
        (ExpectedCall("a"), "ExpectedCall"),
    ],
    ids=repr,
)
def test_malformed_calls(item: Any, says: str) -> None:
    """What is no call is refused with its place, and with the key that was meant."""
    with pytest.raises(UsageError) as raised:
        evaluate([], [SEARCH, item])
    assert says in str(raised.value)
    assert "$.actual[1]" in str(raised.value)


@pytest.mark.parametrize("actual", [None, "search", {"tool": "search"}, 3, traced({"call": "a"}).calls[0]], ids=repr)
def test_actual_is_a_trace_or_a_list(actual: Any) -> None:
    """Anything else is refused, a single call too."""
    with pytest.raises(UsageError, match="actual is a Trace or a list"):
        evaluate([], actual)


def test_a_call_may_have_more_to_it() -> None:
    """Other keys of a call are kept as its metadata, and checked by nothing."""
    result = evaluate([SEARCH], [{**SEARCH, "duration_ms": 12, "model": "m"}])
    assert result.score == 1.0
    assert result.trace.calls[0].metadata == {"duration_ms": 12, "model": "m"}


@pytest.mark.parametrize("field", ["args", "error"])
def test_what_is_no_known_key_of_a_call_is_refused(field: str) -> None:
    """Arguments or a failure under another key would be lost, and a ban kept that the call breaks."""
    words = {
        "args": "tool_input agrs argz tool_args toolArgs payload data inputs body options query Arguments tool-input",
        "error": "error_message errorMessage exception status errors",
    }
    for key in words[field].split():
        with pytest.raises(UsageError, match=f"unknown key '{key}'; {field} is meant"):
            evaluate([], [{"tool": "sh", key: {"cmd": "rm -rf /"}}], forbidden=[{"tool": "sh", "args": {"cmd": "x"}}])
    with pytest.raises(UsageError, match="unknown key 'zz'; a call has tool, args, result, error and id"):
        evaluate([], [{"tool": "sh", "zz": 1}])


@pytest.mark.parametrize("actual", [MagicMock(), io.StringIO("x"), set(), {}.keys(), iter([]), range(0), b""], ids=type)
def test_what_may_be_used_up_or_is_no_list_is_refused(actual: Any) -> None:
    """What gives no item when it is read could have held any number of calls."""
    with pytest.raises(UsageError, match="actual is a Trace or a list"):
        evaluate([], actual, forbidden=["rm"])


FULL_NAME = "projects/{}/locations/l/apps/a/tools/search"
DOUBTFUL: list[tuple[list[Any], Any, str]] = [
    ([], traced({"user": "hi"}, {"cal": "delete_all"}), "this has ['cal']"),
    ([{"tool": "a"}], [{"tool": "a", "args": "{bad"}], "malformed arguments of a"),
    ([{"tool": "a"}], Trace(traced({"call": "a"}).records, problems=[Problem("line 3")]), "line 3"),
    ([{"tool": "search"}], [{"tool": FULL_NAME.format("p")}, {"tool": FULL_NAME.format("q")}], "search is ambiguous"),
    ([{"tool": "search"}], [{"tool": "search"}, *[{"tool": FULL_NAME.format(p)} for p in "pq"]], "search is ambiguous"),
]


@pytest.mark.parametrize(("expected", "actual", "says"), DOUBTFUL, ids=[says for _, _, says in DOUBTFUL])
def test_what_is_in_doubt_does_not_pass(expected: list[Any], actual: Any, says: str) -> None:
    """What the trace leaves in doubt fails whatever the score is, and says so, as in a contract and in an eval file."""
    result = evaluate(expected, actual, min_score=0.0)
    assert not result.passed
    assert says in result.verdicts[0].justification
    assert says in str(result.to_dict()["verdicts"])
    assert "broken check" in repr(result)
    with pytest.raises(ToolScoreAssertionError) as raised:
        assert_tools(expected, actual, min_score=0.0)
    assert says in str(raised.value).splitlines()[0]
    assert copy.deepcopy(result.verdicts[0]).justification == result.verdicts[0].justification


def test_what_is_not_in_doubt_passes() -> None:
    """One full name, or two that nobody asks for by their last part, are not ambiguous."""
    full = [{"tool": FULL_NAME.format("p")}, {"tool": FULL_NAME.format("q")}]
    assert evaluate(full, full).passed
    assert evaluate([{"tool": "search"}], full[:1]).passed


def test_the_differences_of_a_call_have_a_limit() -> None:
    """The first 20 of the arguments are shown, then how many more there are."""
    wanted, came = ([{"tool": "a", "args": {"x": values}}] for values in (list(range(10_000)), [-1] * 10_000))
    result = evaluate(wanted, came)
    found = result.pairs[0].differences
    assert [str(difference) for difference in found[19:]] == ["args.x[19]: expected 19, got -1", "args: and 9,980 more"]
    assert len(result.to_dict()["pairs"][0]["differences"]) == 21


@pytest.mark.parametrize("args", [None, "", {}], ids=repr)
def test_no_arguments(args: Any) -> None:
    """Null, an empty text and ``{}`` are all no arguments, as is leaving them out."""
    assert evaluate([{"tool": "a", "args": {}}], [{"tool": "a", "args": args}]).pairs[0].is_exact
    assert evaluate([{"tool": "a", "args": {}}], [{"tool": "a"}]).pairs[0].is_exact


def test_arguments_as_json_text() -> None:
    """Arguments that come as the text of an object are that object."""
    assert evaluate([SEARCH], [{"tool": "search", "args": '{"q": "lamp"}'}]).score == 1.0


@pytest.mark.parametrize("args", ["{", "lamp", "[1]", '"{}"', "3", [1], 3, True], ids=repr)
def test_malformed_arguments_match_nothing(args: Any) -> None:
    """Arguments that can't be read are neither ``{}`` nor anything else; only an unchecked call does not mind."""
    calls = [{"tool": "a", "args": args}]
    for wanted in ({}, {"q": "lamp"}, {"q": {"$absent": True}}, ANY, Partial({})):
        result = evaluate([{"tool": "a", "args": wanted}], calls)
        assert result.argument_f1 == 0.0
        assert not result.passed
        (difference,) = result.pairs[0].differences
        assert "could not be read" in str(difference)
    assert evaluate([{"tool": "a"}], calls).score == 1.0


def test_a_clean_run_without_calls() -> None:
    """An empty list says that no call was made: right where none is expected, a missing call where one is."""
    assert evaluate([], []).passed
    result = evaluate([SEARCH], [])
    assert not result.passed
    assert result.missing_calls == (ExpectedCall("search", {"q": "lamp"}),)


@pytest.mark.parametrize(
    "trace",
    [Trace.from_events([]), Trace.from_events([{"call": "a"}], error="timeout"), Trace.without_evidence("lost")],
)
def test_a_trace_without_evidence_never_passes(trace: Trace) -> None:
    """An empty recording, a failed run and a lost one are no evidence, whatever they score."""
    assert not evaluate([], trace).passed
    assert not evaluate([], trace, min_score=0.0).passed
    assert not evaluate([], trace, forbidden=["rm"]).passed


def test_a_trace_and_its_calls_say_the_same() -> None:
    """A `Trace`, its `ToolCall` objects and call mappings are evaluated alike, results with their own calls."""
    trace = traced(
        {"user": "hi"}, {"call": "a", "args": {"x": 1}}, {"call": "a", "args": {"x": 2}, "id": "2"},
        {"result": "two", "id": "2"}, {"call": "b", "id": "3"}, {"result": "no", "id": "3", "is_error": True},
    )  # fmt: skip
    wanted = [{"tool": "a", "args": {"x": 2}, "result": "two"}, {"tool": "a", "result": "one"}, {"tool": "b"}]
    mappings = [
        {"tool": "a", "args": {"x": 1}},
        {"tool": "a", "args": {"x": 2}, "result": "two"},
        {"tool": "b", "error": "no"},
    ]
    results = [evaluate(wanted, form) for form in (trace, trace.calls, list(trace.calls), mappings)]
    assert {result.score for result in results} == {results[0].score}
    assert {result.required_call_recall for result in results} == {2 / 3}
    assert results[1].trace.calls[1].result == "two"


def test_results_of_calls_without_ids_stay_with_them() -> None:
    """A result belongs to the call that it stands in, also where earlier calls of that name have none, or reuse ids."""
    calls = [
        {"tool": "a", "args": {"x": 1}, "id": "c"},
        {"tool": "a", "args": {"x": 2}, "result": 2},
        {"tool": "a", "args": {"x": 3}, "id": "c", "result": 3},
        {"tool": "a", "args": {"x": 4}, "id": "", "result": None},
    ]
    trace = evaluate([], calls).trace
    assert [call.answer and call.result for call in trace.calls] == [None, 2, 3, None]
    assert not trace.problems
    again = evaluate([], trace.calls).trace
    assert [call.answer and call.result for call in again.calls] == [None, 2, 3, None]
    first, second = traced({"call": "a", "args": {"x": 1}}, {"result": 1}, {"call": "a", "args": {"x": 2}}).calls
    assert [call.answer and call.result for call in evaluate([], [second, first]).trace.calls] == [None, 1]


@pytest.mark.parametrize(
    ("outcome", "is_error", "payload"),
    [
        ({"error": "failed"}, True, "failed"),
        ({"error": True}, True, True),
        ({"error": "failed", "result": {"code": 5}}, True, {"code": 5}),
        ({"error": None, "result": 1}, None, 1),
        ({"error": False, "result": 1}, None, 1),
        ({"error": "", "result": None}, True, None),
        ({"error": ""}, True, ""),
        ({"error": {}}, True, {}),
        ({"error": [], "result": 1}, True, 1),
        ({"error": 0}, True, 0),
    ],
    ids=repr,
)
def test_errors_of_calls(outcome: dict[str, Any], is_error: bool | None, payload: Any) -> None:
    """``error`` marks the result as an error, unless it is null or false; an empty text may be an empty message."""
    call = evaluate([], [{"tool": "a", **outcome}]).trace.calls[0]
    assert (call.is_error, call.result) == (is_error, payload)


# ------------------------------------------------------------------------------------------------------------ results


@pytest.mark.parametrize(
    ("wanted", "outcome", "is_right"),
    [
        ("ok", {"result": "ok"}, True),
        ("ok", {"result": " ok "}, True),
        ("ok", {"result": "no"}, False),
        ("ok", {}, False),
        ("ok", {"result": "ok", "error": True}, False),
        (None, {"result": None}, True),
        (None, {}, False),
        ({"id": 1}, {"result": {"id": 1}}, True),
        ({"id": 1}, {"result": {"id": 1, "more": 2}}, False),
        (Partial({"id": 1}), {"result": {"id": 1, "more": 2}}, True),
        ({"id": 1}, {"result": {"result": {"id": 1}}}, True),
        ({"id": 1}, {"result": '{"result": {"id": 1}}'}, True),
        ({"result": {"id": 1}}, {"result": {"result": {"id": 1}}}, True),
        ({"id": 1}, {"result": {"result": {"result": {"id": 1}}}}, False),
        ({"$not": "bad"}, {"result": {"result": "bad"}}, False),
        (ANY, {"result": None}, True),
        (ANY, {}, False),
        (1, {"result": True}, False),
    ],
    ids=repr,
)
def test_a_result_is_one_more_thing_to_be_right(wanted: Any, outcome: dict[str, Any], is_right: bool) -> None:
    """It counts beside the arguments; an envelope counts with what is inside, once; what failed has no result."""
    result = evaluate([{"tool": "a", "args": {"x": 1}, "result": wanted}], [{"tool": "a", "args": {"x": 1}, **outcome}])
    pair = result.pairs[0]
    assert (pair.correct, pair.demanded) == (1 + is_right, 2)
    assert (result.argument_f1 == 1.0) is is_right
    assert {difference.path[0] for difference in pair.differences} == (set() if is_right else {"result"})


def test_a_result_that_is_missing_is_missed() -> None:
    """An expected result of a call that was not made counts as missed."""
    result = evaluate([{"tool": "a", "result": 1}, {"tool": "b"}], [{"tool": "b"}])
    assert result.argument_f1 == 0.0


# ---------------------------------------------------------------------------------------------------------- forbidden


@pytest.mark.parametrize(
    ("forbidden", "positions"),
    [
        (["rm"], [0, 1]),
        (["RM"], []),
        ([{"tool": "rm", "args": {"path": "/"}}], [1]),
        ([{"tool": "rm", "args": {"path": Contains("tmp")}}], [0]),
        ([{"tool": "rm", "args": {"path": {"$contains": "/"}}}], [0, 1]),
        ([{"tool": "rm", "args": {"force": True, "path": "/"}}], [1]),
        ([{"tool": "rm", "args": {}}], [0, 1]),
        ([{"tool": "rm", "args": {"$eq": {"path": "/tmp"}}}], [0]),  # noqa: S108 - an argument, no file
        ([ExpectedCall("rm"), "search"], [0, 1, 2]),
        ([], []),
    ],
    ids=repr,
)
def test_forbidden_calls(forbidden: Any, positions: list[int]) -> None:
    """Every forbidden call is a violation with its position; more arguments than the ban has are no way round it."""
    calls = [{"tool": "rm", "args": {"path": "/tmp"}}, {"tool": "rm", "args": {"path": "/", "force": True}}, SEARCH]  # noqa: S108
    result = evaluate(calls, calls, forbidden=forbidden)
    assert [violation.position for violation in result.violations] == positions
    assert result.passed is (not positions)
    assert result.score == 1.0


def test_nothing_but_bans_has_nothing_to_score() -> None:
    """Where only bans are given the score is 1.0, and only a forbidden call fails."""
    clean = evaluate([], [SEARCH], forbidden=["rm"])
    assert (clean.score, clean.passed, clean.unexpected_calls) == (1.0, True, ())
    assert evaluate([], [], forbidden=["rm"]).passed
    broken = evaluate([], [SEARCH, {"tool": "rm"}], forbidden=["rm"])
    assert (broken.score, broken.passed) == (1.0, False)
    assert str(broken.violations[0]) == "rm was called at event 1, which is forbidden"


def test_a_ban_over_two_lines() -> None:
    """`Contains` and `Search` find what is forbidden in a text of several lines."""
    calls = [{"tool": "sh", "args": {"command": "ls\nrm -rf /"}}]
    for matcher in (Contains("rm -rf"), Search("rm -rf")):
        assert not evaluate([], calls, forbidden=[{"tool": "sh", "args": {"command": matcher}}]).passed


def test_what_cannot_be_read_cannot_be_ruled_out() -> None:
    """Malformed arguments, and a problem that may hide a call, break a ban that they could be hiding from."""
    ban: list[Any] = [{"tool": "rm", "args": {"path": "/"}}]
    malformed = evaluate([], [{"tool": "rm", "args": "{"}], forbidden=ban)
    assert not malformed.passed
    assert "can't be ruled out" in str(malformed.violations[0])
    trace = Trace(traced({"call": "a"}).records, problems=[Problem("line 3 is cut off")])
    hidden = evaluate([], trace, forbidden=["rm", *ban])
    assert not hidden.passed
    assert "line 3 is cut off" in str(hidden.violations[0])
    assert evaluate([{"tool": "a"}], trace).score == 1.0


def test_a_full_resource_name_is_forbidden_by_its_last_part() -> None:
    """A ban on a tool also holds for its full resource name."""
    trace = traced({"call": "projects/p/locations/l/apps/a/tools/rm"})
    assert not evaluate([], trace, forbidden=["rm"]).passed


@pytest.mark.parametrize(
    ("forbidden", "says"),
    [
        ("rm", "forbidden is a list"),
        ({"tool": "rm"}, "forbidden is a list"),
        ([{"tool": "rm", "arguments": {}}], "args is meant"),
        ([{"tool": "rm", "result": 1}], "unknown key 'result'"),
        ([ExpectedCall("rm", result=1)], "leave result out"),
        ([{"tool": "rm", "args": {"x": {"$regx": "a"}}}], "$.forbidden[0].args.x"),
        ([3], "$.forbidden[0]"),
        ([""], "name"),
    ],
    ids=repr,
)
def test_malformed_bans(forbidden: Any, says: str) -> None:
    """A malformed ban is an error; it never passes for one that nothing breaks."""
    with pytest.raises(ExpectationError) as raised:
        evaluate([], [], forbidden=forbidden)
    assert says in str(raised.value)


# -------------------------------------------------------------------------------------------------------- tools' names


def test_a_full_resource_name_counts_as_its_last_part() -> None:
    """A recorded ``projects/…/tools/X`` counts as X where X is expected; where two tools share it, as neither."""
    full = "projects/p/locations/l/apps/{}/tools/search"
    assert evaluate([SEARCH], traced({"call": full.format("a"), "args": {"q": "lamp"}})).score == 1.0
    assert evaluate([{"tool": full.format("a")}], traced({"call": full.format("a")})).score == 1.0
    assert evaluate([{"tool": full.format("a")}], traced({"call": "search"})).score < 1.0
    two = traced({"call": full.format("a")}, {"call": full.format("b")})
    assert len(evaluate([SEARCH], two).missing_calls) == 1


@pytest.mark.parametrize("wanted", [["full", "search"], ["search", "full"], ["search", "full", "search", "full"]])
def test_a_full_resource_name_stands_for_both_of_its_names(wanted: list[str]) -> None:
    """Where both names are expected, what is called more often by the full one than so expected counts as the other."""
    full = "projects/p/locations/l/apps/a/tools/search"
    tools = [full if name == "full" else name for name in wanted]
    calls = [{"tool": full, "args": {"n": number}} for number in range(len(tools))]
    assert evaluate([{"tool": tool} for tool in tools], calls).score == 1.0
    turned = [{"tool": tool, "args": {"n": number}} for number, tool in enumerate(tools)]
    result = evaluate(turned, calls[::-1])
    assert (result.score, [pair.is_exact for pair in result.pairs]) == (1.0, [True] * len(tools))
    less = evaluate([{"tool": tool} for tool in tools], calls[1:])
    assert len(less.missing_calls) == 1
    assert evaluate([{"tool": full}, {"tool": "search"}], [{"tool": full}, {"tool": "search"}]).score == 1.0
    assert len(evaluate([{"tool": full}, {"tool": "search"}], [{"tool": "search"}] * 2).missing_calls) == 1


# ------------------------------------------------------------------------------------------------- passed and warnings


@pytest.mark.parametrize("size", [2, 10, 100])
def test_a_missing_call_fails_whatever_the_score(size: int) -> None:
    """The score is blind to a missing call, so that without a bar of the caller's own it fails by name."""
    wanted = [{"tool": f"t{number}"} for number in range(size)]
    result = evaluate(wanted, wanted[:-1])
    assert result.score >= 0.9
    assert not result.passed
    assert [call.tool for call in result.missing_calls] == [f"t{size - 1}"]


def test_the_callers_own_bar_lets_a_missing_call_through_with_a_warning() -> None:
    """Then it passes, and a warning that points to the caller names the missing call."""
    wanted = [{"tool": f"t{number}"} for number in range(10)]
    with pytest.warns(UserWarning, match="not called: t9; the score 0.98") as caught:
        assert evaluate(wanted, wanted[:-1], min_score=0.9).passed
    assert caught[0].filename == __file__
    with pytest.warns(UserWarning, match="t4, t5, t6 and 3 more calls"):
        evaluate(wanted, wanted[:4], min_score=0.0)


def test_no_warning_where_nothing_is_let_through() -> None:
    """A missing call that fails the evaluation, or none, needs no warning; nor does `assess`."""
    wanted = [{"tool": "a"}, {"tool": "b"}]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        evaluate(wanted, wanted[:1])
        evaluate(wanted, wanted[:1], min_score=0.95)
        evaluate(wanted, wanted, min_score=0.5)
        evaluate(wanted, [*wanted[:1], {"tool": "rm"}], forbidden=["rm"], min_score=0.1)
        result = assess(wanted, wanted[:1], min_score=0.5)
    with pytest.warns(UserWarning, match="not called: b"):
        warn_of_missing_calls(result)


def test_the_bar_is_reached_from_0_9() -> None:
    """The default bar is 0.9, and a sum that only rounding keeps below a bar reaches it."""
    swapped = [{"tool": f"t{number}"} for number in range(3)]
    result = evaluate(swapped, [swapped[0], *swapped])
    assert result.score == pytest.approx(0.925)
    assert result.passed
    low = evaluate(swapped, swapped[::-1])
    assert low.score == pytest.approx(1 - 0.2 * 2 / 3)
    assert not low.passed
    weights = {"selection_accuracy": 0, "argument_f1": 0.1, "sequence_accuracy": 0.7, "redundant_rate": 0}
    wrong = evaluate([SEARCH], [{"tool": "search", "args": {"q": "desk"}}], {**weights, "required_call_recall": 0.2})
    assert wrong.score == pytest.approx(0.9)
    assert wrong.passed


@pytest.mark.parametrize("min_score", [-0.1, 1.1, float("nan"), float("inf"), True, "0.9", [0.9]], ids=repr)
def test_a_bar_is_a_number_from_0_to_1(min_score: Any) -> None:
    """Any other bar is refused."""
    with pytest.raises(UsageError, match="min_score"):
        evaluate([], [], min_score=min_score)


@settings(max_examples=60, deadline=None)
@given(st.lists(expected, max_size=4), st.lists(made, max_size=4), st.booleans())
def test_pairs_explain_themselves(wanted: list[ExpectedCall], calls: list[dict[str, Any]], strict: bool) -> None:
    """A pair has differences exactly where it is not exact; a score below 1 is explained by something."""
    result: EvaluationResult = evaluate(wanted, calls, strict=strict)
    for pair in result.pairs:
        assert pair.is_exact is (pair.differences == [])
        assert all(str(difference) for difference in pair.differences)
    in_order = [pair.actual.position for pair in result.pairs] == sorted(pair.actual.position for pair in result.pairs)
    is_clean = not (result.missing_calls or result.unexpected_calls) and in_order
    if is_clean and all(pair.is_exact for pair in result.pairs):
        assert result.score == 1.0


def test_an_envelope_that_can_not_be_read_is_no_result() -> None:
    """Nobody can tell what is inside, so that not even a negation holds on it; the pair says why."""
    unreadable = '{"result": {"status": "failed", "x": ' + "[" * 3000 + "]" * 3000 + "}}"
    expected = [{"tool": "pay", "result": {"$not": {"status": "failed"}}}]
    result = evaluate(expected, [{"tool": "pay", "result": unreadable}])
    assert result.argument_f1 == 0.0
    assert "can't be read" in str(result.pairs[0].differences[0])
