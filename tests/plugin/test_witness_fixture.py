"""The fixture ``witness`` checks whatever it is given, and what it saw is in the report."""

from __future__ import annotations

import pytest
from plugin_support import SUITE, Project, settings_for_asyncio

from tracewitness import ChecksAssertionError, ToolScoreAssertionError, Trace, UsageError, expect, load_suite
from tracewitness.pytest_plugin.checking import Witness
from tracewitness.suites import Suite

CALLS = [{"tool": "create_order", "args": {"item_id": "ITEM-42"}}]
TRACE = Trace.from_events([{"call": "create_order", "args": {"item_id": "ITEM-42"}}], name="order")
CHECK = {"type": "tool_called", "tool": "create_order"}
CASE = {"name": "order", "tool_expectations": [CHECK]}

#: What is expected in each form, with what holds of `CALLS` and what does not.
FORMS = {
    "checks": ([CHECK], [{**CHECK, "args": {"item_id": "ITEM-7"}}]),
    "one check": (CHECK, {**CHECK, "min": 2}),
    "a mapping of a case": (CASE, {**CASE, "tool_expectations": [{"type": "tool_called", "tool": "pay"}]}),
    "a malformed case": (CASE, {**CASE, "tool_expectations": [{"type": "tool_caled", "tool": "create_order"}]}),
    "calls": (CALLS, [{"tool": "create_order", "args": {"item_id": "ITEM-7"}}]),
    "one call": (CALLS[0], {"tool": "pay"}),
    "a contract": (expect([]).calls("create_order"), expect([]).calls("pay")),
    "a ban": (expect([]).does_not_call("pay"), expect([]).does_not_call("create_order")),
    "what calls do not say": (CHECK, {"type": "max_turns", "max": 3}),
}


@pytest.fixture
def suite(tmp_path_factory: pytest.TempPathFactory) -> Suite:
    """Return an eval file."""
    path = tmp_path_factory.mktemp("evals") / "shop.evals.yaml"
    path.write_text(SUITE, "utf-8")
    return load_suite(path)


@pytest.mark.parametrize("form", FORMS)
def test_what_is_expected(witness: Witness, form: str) -> None:
    """What holds is returned, what does not hold is an assertion error."""
    holds, broken = FORMS[form]
    outcome = witness(CALLS, holds)
    assert outcome.held
    assert [call.name for call in outcome.trace.calls] == ["create_order"]
    with pytest.raises((ChecksAssertionError, ToolScoreAssertionError)):
        witness(CALLS, broken)


@pytest.mark.parametrize(
    "subject", [CALLS, TRACE, tuple(CALLS), iter(CALLS), {"name": "order", "events": TRACE.to_events()}]
)
def test_what_is_witnessed(witness: Witness, subject: object) -> None:
    """A subject is whatever ``expect`` takes as already produced."""
    assert witness(subject, CHECK).held


def test_a_contract_of_its_own_subject(witness: Witness) -> None:
    """A contract that has a subject is witnessed alone; an agent is asked once."""
    asked = []

    def agent(prompt: str) -> list[dict[str, object]]:
        asked.append(prompt)
        return CALLS

    assert witness(expect(agent).on("Order it").calls("create_order")).held
    with pytest.raises(ToolScoreAssertionError, match="pay was never called"):
        witness(expect(agent).on("Pay").calls("pay"))
    assert asked == ["Order it", "Pay"]


def test_a_case_of_a_suite(witness: Witness, suite: Suite) -> None:
    """The case is the one that is named, or that the trace is named as."""
    assert witness(TRACE, suite).held
    assert witness(CALLS, suite, case="order").held
    assert witness(CALLS, suite.cases[0]).held
    with pytest.raises(ChecksAssertionError, match="broken: tool_called cancel_order"):
        witness(TRACE, suite, case="cancel")


def test_an_agent_plays_a_case(witness: Witness, suite: Suite) -> None:
    """An agent is called with the case."""
    played = []

    def agent(case: object) -> list[dict[str, object]]:
        played.append(case)
        return CALLS

    assert witness(agent, suite, case="order").held
    assert witness(agent, CASE).held
    assert played == [suite.cases[0], CASE]


def test_async_subjects(witness: Witness, suite: Suite) -> None:
    """What is async is awaited by ``run_async``."""
    import asyncio

    async def agent(case: object) -> list[dict[str, object]]:
        return CALLS

    async def calls() -> list[dict[str, object]]:
        return CALLS

    async def test() -> None:
        assert (await witness.run_async(agent, suite, case="order")).held
        assert (await witness.run_async(calls(), CHECK)).held
        assert (await witness.run_async(CALLS, CHECK)).held
        assert (await witness.run_async(expect(agent).on("x").calls("create_order"))).held
        with pytest.raises(ChecksAssertionError):
            await witness.run_async(calls(), {**CHECK, "min": 2})

    asyncio.run(test())
    for subject in (agent, calls()):
        with pytest.raises(UsageError, match=r"is async: await witness\.run_async"):
            witness(subject, CASE)


@pytest.mark.parametrize(
    ("expected", "said"),
    [
        (None, "expected a contract, a case, checks such as"),
        ([], "expected a contract, a case, checks such as"),
        ((), "expected a contract, a case, checks such as"),
        ("tool_called", "expected a contract, a case, checks such as"),
        ({CHECK["type"]}, "expected a contract, a case, checks such as"),
        ([CHECK, CALLS[0]], "can't be mixed"),
        (expect([]), "the contract expects nothing"),
        ([{"type": "tool_caled", "tool": "x"}], "tool_called was meant"),
        ([{"type": "tool_called", "tool": "x", "min": 0}], "could not fail"),
        ([{"tool": "x", "arguments": {}}], "args is meant"),
    ],
)
def test_what_can_not_be_checked(witness: Witness, expected: object, said: str) -> None:
    """What could not fail, or is malformed, is an error and no success."""
    with pytest.raises(ValueError, match=said):
        witness(CALLS, expected)


def test_what_can_not_be_picked(witness: Witness, suite: Suite) -> None:
    """A case has to be told, and an agent needs one."""
    with pytest.raises(UsageError, match="has 2 cases; say which"):
        witness(CALLS, suite)
    with pytest.raises(UsageError, match="no case 'oder' in the suite; 'order' was meant"):
        witness(CALLS, suite, case="oder")
    with pytest.raises(UsageError, match="case picks a case of a suite"):
        witness(CALLS, CHECK, case="order")
    with pytest.raises(UsageError, match="is an agent, and only a case says what it is asked"):
        witness(len, [CHECK])


@pytest.mark.parametrize("subject", [None, 3, "done", b"", [{"x": 1}], Trace.from_events([])])
def test_what_is_no_evidence(witness: Witness, subject: object) -> None:
    """What shows nothing never holds."""
    with pytest.raises((ValueError, AssertionError)):
        witness(subject, {"type": "tool_not_called", "tool": "pay"})


FAILING = """
from tracewitness import load_suite

def test_order(witness):
    calls = [{"tool": "create_order", "args": {"item_id": "ITEM-7"}}]
    witness(calls, {"type": "tool_called", "tool": "create_order"})
    witness(calls, load_suite("shop.evals.yaml"), case="order")
"""


@pytest.mark.parametrize("processes", [(), ("-n", "2")], ids=["one process", "two workers"])
def test_what_a_failure_shows(project: Project, processes: tuple[str, ...]) -> None:
    """A failure shows the user's line, place and verdict of the check, and the trace; of ours no frames."""
    project.write("shop.evals.yaml", SUITE)
    project.write("test_shop.py", FAILING)
    result = project.run("test_shop.py", *processes)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            '>       witness(calls, load_suite("shop.evals.yaml"), case="order")',
            "E       tracewitness.ChecksAssertionError: broken: tool_called create_order (case order)",
            "E       shop.evals.yaml:7: broken: tool_called create_order",
            "E           nearest, at event 0: args.item_id: expected 'ITEM-42', got 'ITEM-7'",
            "E           reason: the customer waits for it",
            "test_shop.py:7: ChecksAssertionError",
            "*witnessed trace 2*",
            "> 0      0     call         create_order  {'item_id': 'ITEM-7'}  (unanswered)",
            "2 contracts, 5 checks: 4 held, 1 broken",
            "  tool_called create_order: 1 not held, in test_shop.py::test_order",
        ]
    )
    result.stdout.no_fnmatch_line("*checking.py*")


def test_a_test_that_passes_shows_no_trace(project: Project) -> None:
    """The trace is shown where a test fails, and nowhere else."""
    project.write(
        "test_a.py", "def test_a(witness):\n    witness([{'tool': 'secret_tool'}], [{'tool': 'secret_tool'}])\n"
    )
    result = project.run("-rA")
    result.assert_outcomes(passed=1)
    result.stdout.no_fnmatch_line("*witnessed trace*")


RECORDED = """
from tracewitness import check, expect, record

@record.tool
def create_order(item_id, count=1):
    return {"status": "confirmed"}

def test_recorded(record_trace, witness):
    record_trace.user("Order a lamp")
    create_order("LAMP")
    assert witness(record_trace, [{"type": "tool_called", "tool": "create_order", "args": {"count": 1}}]).held
    assert record_trace == expect([]).calls("create_order", item_id="LAMP", count=1)

def test_others_are_not_recorded(record_trace):
    assert len(record_trace) == 0
    create_order("VASE")
    assert [call.args["item_id"] for call in record_trace.calls] == ["VASE"]

def test_fails(record_trace):
    create_order("\\x1b[31mLAMP")
    assert False

def test_is_recorded_by_none():
    assert create_order("LAMP") == {"status": "confirmed"}
"""


@pytest.mark.parametrize("processes", [(), ("-n", "2")], ids=["one process", "two workers"])
def test_recorded_traces(project: Project, processes: tuple[str, ...]) -> None:
    """A test has a recording of its own, which is shown where it fails."""
    project.write("test_record.py", RECORDED)
    result = project.run(*processes)
    result.assert_outcomes(passed=3, failed=1)
    result.stdout.fnmatch_lines(["*recorded trace*", "*call*create_order  {'count': 1, 'item_id': '?x1b*LAMP'}"])


def test_recorded_traces_of_async_tests(project: Project) -> None:
    """With pytest-asyncio and anyio the recording is that of the test, too."""
    pytest.importorskip("pytest_asyncio")
    project.write(
        "test_async.py",
        "import pytest\nfrom tracewitness import record\n"
        "@record.tool\nasync def look(city):\n    return city\n"
        "async def _test(record_trace, witness):\n"
        "    await look('Paris')\n"
        "    expected = {'type': 'tool_called', 'tool': 'look', 'args': {'city': 'Paris'}}\n"
        "    await witness.run_async(record_trace, expected)\n"
        "    assert len(record_trace.calls) == 1\n"
        "@pytest.mark.asyncio\nasync def test_asyncio(record_trace, witness):\n    await _test(record_trace, witness)\n"
        "@pytest.mark.anyio\n@pytest.mark.parametrize('anyio_backend', ['asyncio'])\n"
        "async def test_anyio(record_trace, witness, anyio_backend):\n    await _test(record_trace, witness)\n",
    )
    project.write("pytest.ini", "\n".join(["[pytest]", "filterwarnings = error", *settings_for_asyncio()]))
    project.run_apart().assert_outcomes(passed=2)
