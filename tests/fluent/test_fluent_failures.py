"""What a person reads when a contract is broken: the line that says it all, the table, and the traceback."""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

import tracewitness.errors
from tracewitness import ANY, Contains, Expectation, Regex, ToolScoreAssertionError, Trace, expect
from tracewitness.fluent.failure import reasons
from tracewitness.scoring import out_of_order
from tracewitness.testing import traces


def message(contract: Expectation) -> str:
    """Return what a broken contract says."""
    with pytest.raises(ToolScoreAssertionError) as caught:
        contract.run()
    return str(caught.value)


def call(tool: str, **args: Any) -> dict[str, Any]:
    """Write a call."""
    return {"tool": tool, "args": args}


def test_the_error_is_an_assertion_error_with_the_result() -> None:
    """A test runner takes it for a failed assertion; the result is there to look at."""
    with pytest.raises(AssertionError) as caught:
        expect([]).calls("a").run()
    assert type(caught.value) is ToolScoreAssertionError
    assert [missing.tool for missing in caught.value.result.missing_calls] == ["a"]
    assert caught.value.repeated is None


def test_the_error_can_be_copied_and_pickled() -> None:
    """So that it comes from another process as it was."""
    with pytest.raises(ToolScoreAssertionError) as caught:
        expect([call("a")]).calls("b", x=Regex("c")).does_not_call("a").at_most("a", 0).run()
    for again in (copy.copy(caught.value), pickle.loads(pickle.dumps(caught.value))):  # noqa: S301 - our own
        assert str(again) == str(caught.value)
        assert again.result.to_dict() == caught.value.result.to_dict()


FIRST_LINES: dict[str, tuple[Callable[[], Expectation], str]] = {
    "the example": (
        lambda: (
            expect([call("search_flights", origin="SFO", destination="LAX")])
            .calls("search_flights", origin=ANY, destination="NYC")
            .then_calls("book_flight", flight_id=Regex(r"FL-\d+"))
        ),
        "book_flight was never called; search_flights.destination: expected 'NYC', got 'LAX' (score 0.72 < 0.90)",
    ),
    "only unexpected calls": (
        lambda: expect([call("a"), call("delete_all"), call("b")]).calls("a"),
        "delete_all at event 1 was not expected; b at event 2 was not expected (score 0.53 < 0.90)",
    ),
    "only the order": (
        lambda: expect([call("b"), call("a")]).calls("a").calls("b"),
        "a at event 1 is out of order (score 0.80 < 0.90)",
    ),
    "only a failed call": (
        lambda: expect([{**call("a"), "error": "no"}]).calls("a").with_weights(required_call_recall=1),
        "a at event 0 failed (score 0.50 < 0.90)",
    ),
    "an argument more": (
        lambda: expect([call("a", x=1, y=2)]).calls("a", x=1).with_score(1),
        "a.y: did not expect 2 (score 0.90 < 1.00)",
    ),
    "an argument missing": (
        lambda: expect([call("a")]).calls("a", x=1),
        "a.x: expected 1, but it is missing (score 0.70 < 0.90)",
    ),
    "an odd name": (
        lambda: expect([call("a", **{"x-y z": {"k.l": 1}})]).calls("a", **{"x-y z": {"k.l": 2}}),
        "a['x-y z']['k.l']: expected 2, got 1 (score 0.70 < 0.90)",
    ),
    "malformed": (
        lambda: expect([{"tool": "a", "args": "{x"}]).calls("a", x=1),
        "a: expected {'x': 1}, got '{x' (the arguments could not be read: ",
    ),
    "called once of two times": (
        lambda: expect([call("a")]).calls("a").calls("a"),
        "a was called once, expected 2 times (score 0.90 >= 0.90)",
    ),
    "a near name": (
        lambda: expect([call("mcp__shop__book")]).calls("book"),
        "book was never called, but mcp__shop__book was; mcp__shop__book at event 0 was not expected (score 0.30 <",
    ),
    "a ban": (
        lambda: expect([call("a"), call("rm")]).does_not_call("rm"),
        "rm was called at event 1, which is forbidden (score 1.00 >= 0.90)",
    ),
    "a ban comes first": (
        lambda: expect([call("rm"), call("a", x=1)]).calls("a", x=2).calls("b").does_not_call("rm"),
        "rm was called at event 0, which is forbidden; b was never called; a.x: expected 2, got 1 (score",
    ),
    "a check": (
        lambda: expect([call("a")]).calls("a").at_most("a", 0),
        "1 call, at most 0 allowed; the first too many is event 0 (score 1.00 >= 0.90)",
    ),
    "a check before what the score tolerates": (
        lambda: expect([call("a", x=1)]).calls("a", x=2).at_most("a", 0).with_score(0),
        "1 call, at most 0 allowed; the first too many is event 0; a.x: expected 2, got 1 (score 0.70 >= 0.00)",
    ),
    "many": (
        lambda: expect([]).calls("a").calls("b").calls("c").calls("d").calls("e"),
        "a was never called; b was never called; c was never called; and 2 more (score 0.10 < 0.90)",
    ),
    "no evidence": (
        lambda: expect(Trace.from_events([], error="boom")).calls("a").does_not_call("b").no_calls(),
        "no evidence: the run failed: 'boom' (score 0.10 < 0.90)",
    ),
    "a result": (
        lambda: expect([{"tool": "a", "result": {"id": 1}}]).returns("a", id=2),
        "1 result of a, none matching, expected at least 1; nearest, at event 1: result.id: expected 2, got 1 (score 1",
    ),
}


@pytest.mark.parametrize(("begin", "line"), FIRST_LINES.values(), ids=FIRST_LINES)
def test_the_first_line(begin: Callable[[], Expectation], line: str) -> None:
    """It says all that matters, in the order of its weight."""
    first = message(begin()).splitlines()[0]
    assert first.startswith(line)
    assert first.endswith(")")


def test_the_whole_message() -> None:
    """Every mark of the table, each difference on a line of its own, calls side by side by pairing."""
    made = [
        call("book", flight="FL-1", seat=2),
        call("search", to="LAX", cabin="first", day=1),
        call("rm", path="/"),
        call("log_in"),
        {**call("pay", amount=5), "error": "declined"},
        call("spy"),
    ]
    contract = (
        expect(made)
        .calls("search", to="NYC", cabin="economy", day=1)
        .calls("book", flight=ANY, seat=2)
        .calls("login")
        .calls("pay", amount=5)
        .does_not_call("rm", path="/")
        .at_most("pay", 0)
    )
    assert message(contract) == WHOLE.strip("\n")


WHOLE = """
rm with args {'path': '/'} was called at event 2, which is forbidden; login was never called, but log_in was; \
search.to: expected 'NYC', got 'LAX'; and 5 more (score 0.52 < 0.90)

             expected                                  actual
WRONG ORDER  search(to='NYC', cabin='economy', day=1)  search(to='LAX', cabin='first', day=1)  event 1
               args.to: expected 'NYC', got 'LAX'
               args.cabin: expected 'economy', got 'first'
ok           book(flight=ANY, seat=2)                  book(flight='FL-1', seat=2)             event 0
ok           pay(amount=5)                             pay(amount=5)                           event 4, failed
MISSING      login(…)                                  -
               log_in was called: is it the same tool?
FORBIDDEN    no rm(path='/')                           rm(path='/')                            event 2
EXTRA        -                                         log_in()                                event 3
EXTRA        -                                         spy()                                   event 6
BROKEN       max_calls pay: 1 call, at most 0 allowed; the first too many is event 4

score 0.52, grade F: selection_accuracy 0.50 (weight 0.40), argument_f1 0.67 (weight 0.30), \
sequence_accuracy 0.33 (weight 0.20), redundant_rate 0.50 (weight 0.10), required_call_recall 0.50 (weight 0.00)
"""


def test_long_values_are_shortened_around_the_place_where_they_differ() -> None:
    """Of two long texts the part is shown in which they differ, in the first line and in the table."""
    common, rest = "x" * 5_000, "y" * 5_000
    text = message(expect([call("a", note=common + "LAX" + rest)]).calls("a", note=common + "NYC" + rest))
    first, *table = text.splitlines()
    assert "NYC" in first
    assert "LAX" in first
    assert sum("NYC" in line and "LAX" in line for line in table) == 1
    assert max(map(len, text.splitlines())) < 400


def test_a_broken_checks_differences_stand_on_lines_of_their_own() -> None:
    """What came nearest to a check is shown difference by difference."""
    lines = message(expect([call("a", x=1, y=2)]).ends_with("a", x=2, y=3)).splitlines()
    assert lines[2:5] == [
        "BROKEN       last_tool a: the last call is a (event 0), with other arguments",
        "               nearest, at event 0: args.x: expected 2, got 1",
        "               nearest, at event 0: args.y: expected 3, got 2",
    ]


@pytest.mark.parametrize("at", [0, 50, 99])
def test_a_long_table_keeps_what_is_wrong(at: int) -> None:
    """Rows that are ok give way, wherever what is wrong stands."""
    made = [call(f"t{number}", x=1) for number in range(100)]
    contract = expect(made)
    for number in range(100):
        contract.calls(f"t{number}", x=2 if number == at else 1)
    text = message(contract.calls("lost").with_score(1.0))
    assert len(text.splitlines()) < 70
    assert f"t{at}(x=2)" in text
    assert "lost(…)" in text
    assert "more rows, of which" in text


@pytest.mark.parametrize("city", ["Bern", "東京", "서울", "👩‍🚀", "e\u0301", "\uff57\uff49\uff44\uff45", "🇨🇭"])
def test_columns_stand_below_each_other_in_a_terminal(city: str) -> None:
    """Whatever is written in them: some characters are two cells wide, some none."""
    made = [call("search", city=city), call("search", city=city * 2)]
    said = message(expect(made).calls("search", city="NYC").calls("search", city=city))
    rows = [line for line in said.splitlines()[1:] if " event" in line or " actual" in line]
    actual = [row.rindex(word) for row, word in zip(rows, ("actual", "search(", "search("), strict=True)]
    assert len({cell_len(row[:at]) for row, at in zip(rows, actual, strict=True)}) == 1
    assert len({cell_len(row[: row.rindex("event")]) for row in rows[1:]}) == 1


def test_a_doubtful_ban_in_the_table() -> None:
    """What can't be ruled out is shown as such, with the reason."""
    text = message(expect(Trace.from_events([{"call": "a"}, {"cal": "b"}])).does_not_call("b"))
    assert "FORBIDDEN    no b(…)   can't be ruled out" in text
    text = message(expect([{"tool": "b", "args": "{x"}]).does_not_call("b", x=Contains("y")))
    assert "b(<malformed>)" in text
    assert "could not be read" in text.splitlines()[0]


HOSTILE = ["\x1b[31mred", "a\nb", "\u202egnirts", "\x00", "\ud800", "\u2028", "\r\tx"]


@pytest.mark.parametrize("text", HOSTILE, ids=repr)
def test_nothing_unprintable(text: str) -> None:
    """Whatever names, arguments and results hold, the message is plain printable text."""
    made = [call(text, **{text: text}), {"tool": "b", "args": {"x": text}, "error": text}, call(text + "c")]
    for contract in (
        expect(made).calls(text, **{text: text + "!"}).calls("b", x=1).does_not_call(text + "c").nothing_else(),
        expect(made).calls(text + "d", x=text).every_call("b", x=text + "!").returns("b", y=text),
        expect(made).check({"type": "last_tool", "tool": "b", "name": text, "reason": text}),
        expect(Trace.from_events([], error=text)).no_calls(),
        expect(lambda _: made).on(text).calls(text + "d", x=text).repeat(2),
    ):
        with pytest.raises(ToolScoreAssertionError) as caught:
            contract.run()
        shown = str(caught.value)
        assert all(line.isprintable() for line in shown.split("\n"))
        assert shown.splitlines() == shown.split("\n")


tools = st.sampled_from(["search", "order", "end_session"])
arguments = st.dictionaries(st.sampled_from(["item", "n"]), st.sampled_from([1, 1.0, "1", "a", None, ANY]), max_size=2)
some_calls = st.lists(st.tuples(tools, arguments), min_size=1, max_size=4)
weights = st.dictionaries(st.sampled_from(["argument_f1", "required_call_recall"]), st.sampled_from([0, 1, 5]))


@given(traces(), some_calls, weights, st.sampled_from([None, 0.5, 1.0]))
def test_a_broken_contract_says_why(trace: Trace, wanted: Any, given_weights: Any, bar: float | None) -> None:
    """The first line never begins with nothing: each cause of a low score has words."""
    contract = expect(trace).with_weights(**given_weights)
    for tool, args in wanted:
        contract.calls(tool, **args)
    result = (contract if bar is None else contract.with_score(bar)).attempt()
    if not result.passed:
        assert reasons(result)
        assert all(reason.text for reason in reasons(result))


@given(st.permutations(range(7)))
def test_as_few_calls_as_possible_are_out_of_order(order: list[int]) -> None:
    """Those that are marked are the fewest without which the rest is in order; where all are in order, none."""
    made = [call(f"t{number}") for number in order]
    contract = expect(made).with_score(0)
    for number in range(7):
        contract.calls(f"t{number}")
    marked = out_of_order(contract.attempt().pairs)
    kept = [tool for position, tool in enumerate(order) if position not in marked]
    assert kept == sorted(kept)
    assert len(kept) == max(len(row) for row in increasing_rows(order))


def increasing_rows(order: list[int]) -> list[list[int]]:
    """Return every subsequence that increases, naively."""
    rows: list[list[int]] = [[]]
    for item in order:
        rows += [[*row, item] for row in rows if not row or row[-1] < item]
    return rows


BROKEN = [f"def test_{name}():" for name in ("run", "run_async", "repeat", "judge", "assert_tools")]
FAILING_TESTS = """
import asyncio
from tracewitness import assert_tools, expect

MADE = [{"tool": "a", "args": {"x": 1}}]

def agent(prompt):
    return MADE

def raising(prompt):
    raise LookupError("from the agent")

def test_run():
    expect(MADE).calls("a", x=2).run()

def test_run_async():
    async def main():
        await expect(MADE).calls("a", x=2).run_async()
    asyncio.run(main())

def test_repeat():
    expect(agent).on("hi").calls("a", x=2).repeat(2).run()

def test_judge():
    contract = expect(MADE).calls("a", x=2)
    contract.judge(contract.attempt().trace)

def test_assert_tools():
    assert_tools([{"tool": "a", "args": {"x": 2}}], MADE)

def test_agent_raises():
    expect(raising).on("hi").calls("a").run()

def test_async_agent_raises():
    async def later(prompt):
        raising(prompt)
    asyncio.run(expect(later).on("hi").calls("a").run_async())

def test_malformed_call():
    expect(MADE).calls("")

def test_malformed_ban():
    expect(MADE).does_not_call("")

def test_malformed_check():
    expect(MADE).check({"type": "tool_caled", "tool": "a"})

def test_malformed_matcher():
    expect(MADE).calls("a", x={"$regx": "a"}).run()

def test_malformed_score():
    expect(MADE).with_score(2)

def test_malformed_weight():
    expect(MADE).with_weights(speed=1)

def test_nothing_expected():
    expect(MADE).run()

def test_no_prompt():
    expect(agent).calls("a").run()

def test_async_agent():
    async def later(prompt):
        return MADE
    expect(later).on("hi").calls("a").run()

def test_unreadable():
    expect(lambda _: "text").on("hi").calls("a").run()

def test_unreadable_recording():
    expect({"choices": 5}).calls("a").run()

def test_malformed_made_call():
    expect([{"name": "a"}]).calls("a").run()

def test_malformed_run_of_many():
    expect(agent).on("hi").repeat(2).run()

def test_malformed_repeat():
    expect(MADE).calls("a").repeat(2)

def test_malformed_number():
    expect(agent).on("hi").calls("a").repeat(0)

def test_malformed_assert():
    assert_tools([{"name": "a"}], MADE)

def test_unwritable():
    expect(MADE).calls("a", x=object()).to_yaml("x")
"""

#: The tests that a usage error ends, or an agent's own.
ERRORS = [
    line.removeprefix("def test_").removesuffix("():")
    for line in FAILING_TESTS.splitlines()
    if line.startswith("def test_") and line not in BROKEN
]


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return what pytest says of tests that fail by broken contracts."""
    folder = tmp_path_factory.mktemp("failing")
    (folder / "test_failing.py").write_text(FAILING_TESTS, "utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--color=no", "test_failing.py"],
        cwd=folder, capture_output=True, text=True, check=False, env={**os.environ, "COLUMNS": "250"},
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    return done.stdout


@pytest.mark.parametrize("name", ["run", "run_async", "repeat", "judge", "assert_tools"])
def test_a_test_runners_summary_line_is_useful(report: str, name: str) -> None:
    """The line of pytest's summary names what was expected and what came."""
    (line,) = [line for line in report.splitlines() if line.startswith(f"FAILED test_failing.py::test_{name} ")]
    assert "a.x: expected 2, got 1" in line


@pytest.mark.parametrize("name", ["run", "run_async", "repeat", "judge", "assert_tools"])
def test_frames_of_the_library_are_hidden(report: str, name: str) -> None:
    """The traceback ends in the test, at the line of the contract."""
    _, _, section = report.partition(f"_ test_{name} _")
    section = section.partition("\n____")[0]
    assert "test_failing.py:" in section
    assert str(Path("tracewitness", "fluent")) not in section


@pytest.mark.parametrize("name", ERRORS)
def test_frames_of_the_library_are_hidden_behind_other_errors(report: str, name: str) -> None:
    """What can't work is shown at the line of the test that says it, what an agent raises at the agent's line."""
    _, _, section = report.partition(f"_ test_{name} _")
    section = section.partition("\n____")[0].partition("=== short test summary")[0]
    assert "test_failing.py:" in section
    assert str(Path("src", "tracewitness")) not in section


@pytest.mark.parametrize("name", ["ToolScoreAssertionError", *tracewitness.errors.__all__])
def test_errors_have_short_names(name: str) -> None:
    """A summary line of 80 columns has no room for a path; a pickled error is found under the name."""
    error = getattr(tracewitness, name, None) or getattr(tracewitness.errors, name)
    if isinstance(error, type):
        assert f"{error.__module__}.{error.__qualname__}" == f"tracewitness.{name}"
        assert getattr(tracewitness, name) is error


def test_frames_of_the_agent_are_shown(report: str) -> None:
    """Where an agent raises, its own line is there."""
    assert 'raise LookupError("from the agent")' in report
