"""A contract written as an eval file says the same as the contract."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tracewitness import (
    ABSENT,
    ANY,
    AllOf,
    Approx,
    Contains,
    Each,
    Eq,
    Exactly,
    Expectation,
    ExpectationError,
    GreaterThan,
    IsType,
    Length,
    Not,
    OneOf,
    Partial,
    Regex,
    Satisfies,
    Trace,
    Unordered,
    compile_checks,
    expect,
)
from tracewitness.expectations import Operator
from tracewitness.matching import strict_key
from tracewitness.suites import parse_suite
from tracewitness.testing import TOOLS, checks, json_values, traces
from tracewitness.verdict import Verdict

Say = Callable[[Expectation], Expectation]


def read_back(contract: Expectation) -> tuple[Operator, ...]:
    """Write a contract, and read the checks of its file."""
    (case,) = parse_suite(contract.to_yaml("contract")).cases
    return case.tool_expectations


MATCHERS: list[Any] = [
    ANY, ABSENT, Not(1), Regex("[ab]"), OneOf(1, "a"), IsType("string", "null"), GreaterThan(1), Approx(1, abs=0.5),
    Contains("a"), Length(1), Exactly(1.0), Eq("*"), Each(ANY), Unordered([1, "a"]), Partial({"item": 1}),
    AllOf(IsType("string"), Length(1)), {"$any": True}, {"$eq": {"$regex": "a"}}, {"item": Not("a")}, [ANY],
]  # fmt: skip
VALUES: list[Any] = [1, 2, 1.0, "1", "a", " a", "a ", "*", "true", "", True, False, None, {"item": 1}, [1]]

tools = st.sampled_from([*TOOLS, *TOOLS, "projects/p/locations/l/tools/order"])
names = st.sampled_from(["item", "n", "metadata"])
args = st.dictionaries(names, st.sampled_from([*VALUES, *MATCHERS]), max_size=2)
some_args = st.dictionaries(names, st.sampled_from([*VALUES, *MATCHERS]), min_size=1, max_size=2)


def saying(name: str, *values: st.SearchStrategy[Any], keywords: st.SearchStrategy[Any] | None = None) -> Any:
    """Generate a use of one builder method."""
    return st.builds(
        lambda given, named: lambda contract: getattr(contract, name)(*given, **named),
        st.tuples(*values),
        st.just({}) if keywords is None else keywords,
    )


markers = tools | st.builds(lambda tool, result: {"tool": tool, "result": result}, tools, st.sampled_from([{}, ANY, 1]))
weights = st.dictionaries(
    st.sampled_from(["argument_f1", "required_call_recall", "redundant_rate"]), st.sampled_from([0, 0.1, 1, 7])
)
expected_calls = st.one_of(
    saying("calls", tools, keywords=args),
    saying("then_calls", tools, keywords=args),
    saying("calls_without_args", tools),
)
twins = st.one_of(
    saying("does_not_call", tools, keywords=args),
    saying("returns", tools, keywords=st.dictionaries(st.just("id"), st.sampled_from([*VALUES, *MATCHERS]))),
    saying("every_call", tools, keywords=some_args),
    saying("not_before", tools, markers, keywords=args),
    saying("followed_by", tools, tools, keywords=args),
    saying("ends_with", tools, keywords=args),
    saying("terminal", tools),
    saying("at_most", tools, st.integers(0, 3)),
    saying("no_calls"),
    saying("check", checks()),
)
settings_ = st.one_of(
    saying("with_score", st.sampled_from([0, 0.3, 0.6, 0.9, 1])),
    saying("with_weights", keywords=weights),
    saying("with_strict_args"),
)
of_all_expected = st.sampled_from(["nothing_else", "in_order", "exactly"]).flatmap(saying)


@st.composite
def contracts(draw: st.DrawFn, subject: Any = ()) -> Expectation:
    """Generate contracts, by the builder's methods in any order."""
    calls = draw(st.lists(expected_calls, max_size=3))
    sayings = [*calls, *draw(st.lists(twins, max_size=2)), *draw(st.lists(settings_, max_size=2))]
    if calls:
        sayings += draw(st.lists(of_all_expected, max_size=1))
    contract = expect(subject)
    for say in draw(st.permutations(sayings)):
        say(contract)
    return contract if calls or contract.operators() else contract.no_calls()


def statuses(verdicts: list[Verdict]) -> dict[str, list[str]]:
    """Return the statuses of verdicts by operator, in order."""
    found: dict[str, list[str]] = {}
    for verdict in verdicts:
        found.setdefault(f"{verdict.operator} {verdict.label}", []).append(verdict.status)
    return found


@settings(max_examples=300)
@given(contracts(), traces())
def test_reading_back_gives_the_same_verdicts(contract: Expectation, trace: Trace) -> None:
    """The checks of the file hold exactly where the contract does, and each twin has the same status."""
    result = contract.evaluate(trace)
    verdicts = compile_checks(read_back(contract)).check(trace)
    assert all(verdict.held for verdict in verdicts) == result.passed
    in_file = statuses(verdicts)
    for operator, found in statuses(list(result.verdicts)).items():
        assert in_file[operator][-len(found) :] == found


@given(contracts())
def test_reading_back_gives_the_same_checks(contract: Expectation) -> None:
    """Operator by operator, and writing them again gives the same file."""
    read = read_back(contract)
    assert [operator.to_mapping() for operator in read] == [each.to_mapping() for each in contract.operators()]
    assert contract.to_yaml("a") == contract.to_yaml("a")


@given(contracts(), traces())
def test_the_score_in_the_file_holds_where_the_contracts_own_does(contract: Expectation, trace: Trace) -> None:
    """The file's first check is the score: it is broken where the contract's numbers say so."""
    result = contract.evaluate(trace)
    verdict = compile_checks(read_back(contract)).check(trace)[0]
    enough = result.reaches_min_score and (result.min_score is not None or not result.missing_calls)
    if contract.operators()[0].type_name == "score" and not enough:
        assert not verdict.held


@given(json_values(allow_nan=True), st.text())
def test_any_plain_value_can_be_written(value: Any, name: str) -> None:
    """Names and values of all kinds come back as they were, or it is said that a file can't hold them."""
    contract = expect([]).calls("a", x=Eq(value))
    try:
        (case,) = parse_suite(contract.to_yaml(name)).cases
    except ExpectationError:
        assert not name.strip() or has_surrogate(name) or has_surrogate(value) or "inf" in repr(value)
        return
    assert case.name == name
    assert strict_key(case.tool_expectations[0].to_mapping()) == strict_key(contract.operators()[0].to_mapping())


def has_surrogate(value: Any) -> bool:
    """Whether there is half of a surrogate pair in a value: its repr escapes them, as it does backslashes."""
    return "\\ud" in repr(value).replace("\\\\", "")


def test_the_file() -> None:
    """It reads as a person would write it."""
    contract = (
        expect([])
        .calls("search", origin=ANY, to="NYC")
        .then_calls("book", flight=Regex(r"FL-\d+"), no="on")
        .does_not_call("cancel")
        .not_before("book", {"tool": "search", "result": {"status": "ok"}})
        .nothing_else()
        .with_score(0.8)
        .with_weights(argument_f1=1)
        .with_strict_args()
    )
    assert contract.to_yaml("book a flight") == (
        'evals:\n'
        '- name: "book a flight"\n'
        '  tool_expectations:\n'
        '  - type: "score"\n'
        '    calls:\n'
        '    - tool: "search"\n'
        '      args:\n'
        '        origin:\n'
        '          "$any": true\n'
        '        to: "NYC"\n'
        '    - tool: "book"\n'
        '      args:\n'
        '        flight:\n'
        '          "$regex": "FL-\\\\d+"\n'
        '        "no": "on"\n'
        '    min: 0.8\n'
        '    weights:\n'
        '      argument_f1: 1.0\n'
        '    strict: true\n'
        '  - type: "tool_not_called"\n'
        '    tool: "cancel"\n'
        '  - type: "tool_not_called"\n'
        '    tool: "book"\n'
        '    before:\n'
        '      tool: "search"\n'
        '      result:\n'
        '        status: "ok"\n'
        '  - type: "no_other_tools"\n'
        '    tools:\n'
        '    - "search"\n'
        '    - "book"\n'
    )  # fmt: skip


UNWRITABLE: dict[str, Any] = {
    "a function": Satisfies(bool),
    "an object": object(),
    "a decimal": Decimal(1),
    "bytes": b"x",
    "a date": date(2026, 1, 1),
    "a set": {1},
    "half of a surrogate pair": "\ud800",
    "a number that is too long": 10**5_000,
    "a key that is no text": {1: 2},
    "something in a list": [{"a": [Satisfies(bool)]}],
}


@pytest.mark.parametrize("value", UNWRITABLE.values(), ids=UNWRITABLE)
@pytest.mark.parametrize("say", ["calls", "does_not_call", "every_call", "ends_with", "returns"])
def test_what_a_file_cannot_hold(value: Any, say: str) -> None:
    """It is an error, never a file that says something else."""
    contract = getattr(expect([]), say)("a", x=value)
    with pytest.raises(ExpectationError):
        contract.to_yaml("x")


@pytest.mark.parametrize("name", ["", "  ", "\ud800"], ids=repr)
def test_a_name_that_a_file_cannot_have(name: str) -> None:
    """A case needs a name."""
    with pytest.raises(ExpectationError):
        expect([]).no_calls().to_yaml(name)


def test_tuples_and_strict_arguments() -> None:
    """A file has lists only: where types count, a tuple is refused; where they don't, it is written as a list."""
    contract = expect([]).calls("a", x=(1, 2))
    (case,) = parse_suite(contract.to_yaml("x")).cases
    trace = Trace.from_events([{"call": "a", "args": {"x": [1, 2]}}])
    assert contract.evaluate(trace).passed
    assert all(verdict.held for verdict in compile_checks(case.tool_expectations).check(trace))
    with pytest.raises(ExpectationError, match="write lists"):
        contract.with_strict_args().to_yaml("x")


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 10**300, 2**53 + 1, -0.0, 1e-300, 1e300, "007", "1e3"])
def test_numbers_and_texts_that_look_like_them(value: Any) -> None:
    """They are read back as they were, or refused: never as another value."""
    contract = expect([]).calls("a", x=value)
    try:
        (operator,) = read_back(contract)
    except ExpectationError:
        assert not math.isfinite(value)
        return
    found = operator.calls[0].args["x"]  # type: ignore[attr-defined]
    assert (type(found), repr(found)) == (type(value), repr(value))
