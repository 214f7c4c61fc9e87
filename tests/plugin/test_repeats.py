"""Tests that run several times: when they end, what they come out as, and what lives from run to run."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from typing import Any

import pytest
from plugin_support import Project, settings_for_asyncio

from tracewitness import UsageError
from tracewitness.pytest_plugin.repeats import Rule, rule_of

pytest_plugins = ["pytester"]

#: `log` writes a line to a file beside the tests, so that each run leaves a trace; `number` counts the runs of a test.
HELP = """
import asyncio, sys, unittest
from pathlib import Path
import pytest

LOG = Path(__file__).with_name("log.txt")
NUMBERS = {}

def log(*words):
    with LOG.open("a") as file:
        print(*words, file=file)

def number(name="test"):
    NUMBERS[name] = NUMBERS.get(name, 0) + 1
    return NUMBERS[name]
"""


def run(project: Project, body: str, *arguments: str) -> tuple[list[str], pytest.RunResult]:
    """Run a module of tests, and return what was logged, and the result."""
    project.write("test_it.py", HELP + body)
    result = project.run("-p", "no:cacheprovider", *arguments)
    path = project.path / "log.txt"
    return path.read_text("utf-8").splitlines() if path.exists() else [], result


# The marker, whether each run holds (the last stands for all further ones), runs made, outcome of the test.
RULES: list[tuple[str, list[bool], int, str]] = [
    ("runs=3", [True], 3, "passed"),
    ("runs=3", [False], 1, "failed"),
    ("runs=3", [True, True, False], 3, "failed"),
    ("runs=10, at_least=9", [True], 9, "passed"),
    ("runs=10, at_least=9", [True, False, True], 10, "passed"),
    ("runs=10, at_least=9", [False, True, False], 3, "failed"),
    ("runs=10, at_least=1", [False, False, True], 3, "passed"),
    ("runs=10, at_least=1", [False], 10, "failed"),
    ("runs=1", [True], 1, "passed"),
    ("runs=1, at_least=1", [False], 1, "failed"),
    ("runs=4, at_least=0.5", [False, True], 3, "passed"),
    ("runs=4, at_least=0.5", [False], 3, "failed"),
]


@pytest.mark.parametrize(("marker", "holds", "made", "outcome"), RULES)
def test_the_rule(project: Project, marker: str, holds: list[bool], made: int, outcome: str) -> None:
    """Runs end when enough held, or when enough can't hold any more; there is one outcome."""
    body = f"""
HOLDS = {holds}

@pytest.mark.witness({marker})
def test_it():
    count = number()
    log(count)
    assert HOLDS[min(count, len(HOLDS)) - 1], "no order"
"""
    logged, result = run(project, body)
    assert len(logged) == made
    result.assert_outcomes(**{outcome: 1})


def test_what_a_failure_says(project: Project) -> None:
    """The first traceback, the rate with its interval, pass@k and pass^k, and what the failed runs have in common."""
    body = """
@pytest.mark.witness(runs=10, at_least=8)
def test_it():
    count = number()
    print("this is run", count)
    if count % 2:
        return
    if count == 4:
        raise LookupError("gone\\x1b[2J")
    assert count == 0, f"no order {count}"
"""
    _, result = run(project, body)
    result.stdout.fnmatch_lines(
        [
            ">       assert count == 0*",
            "E       AssertionError: no order 2",
            "*- repeated runs -*",
            "3 of 6 runs held (rate 0.50, 95 % interval 0.19 to 0.81), at least 8 of 10 had to",
            "pass@1 0.50, pass^1 0.50",
            "pass@2 0.80, pass^2 0.20",
            "pass@5 1.00, pass^5 0.00",
            "pass@6 1.00, pass^6 0.00",
            "2 of 3 failed runs: AssertionError: no order 2 (test_it.py:*)",
            "1 of 3 failed runs: LookupError: gone\\x1b[[]2J (test_it.py:*)",
            "*- Captured stdout call -*",
            "this is run 2",
            "FAILED test_it.py::test_it - 3 of 6 runs held, at least 8 of 10 had to; *",
        ]
    )
    assert result.stdout.str().count("\nthis is run") == 1


@pytest.mark.parametrize("style", ["--tb=native", "--tb=line", "--tb=no", "--tb=long -vv --color=yes"])
def test_a_failure_in_every_style(project: Project, style: str) -> None:
    """However tracebacks are shown, the rate is in the summary."""
    body = "@pytest.mark.witness(runs=2)\ndef test_it():\n    assert False\n"
    _, result = run(project, body, *style.split())
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*0 of 1 run held, at least 2 of 2 had to*"])


def test_a_failure_without_a_traceback(project: Project) -> None:
    """It is text."""
    body = """
@pytest.mark.witness(runs=2)
def test_it():
    pytest.fail("no order", pytrace=False)
"""
    _, result = run(project, body)
    result.stdout.fnmatch_lines(
        [
            "no order",
            "*- repeated runs -*",
            "0 of 1 run held (rate 0.00, *), at least 2 of 2 had to",
            "1 of 1 failed run: Failed: no order (test_it.py:*)",
        ]
    )


def test_a_pass_with_failed_runs(project: Project) -> None:
    """It is said at the end, on one line, whatever the failure's message holds."""
    body = """
@pytest.mark.witness(runs=4, at_least=3)
@pytest.mark.parametrize("item", ["a", "b"])
def test_it(item):
    assert number(item) != 2 or item == "b", "no\\norder\\x1b[2J"
"""
    _, result = run(project, body)
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(
        [
            "*= tracewitness =*",
            "test_it.py::test_it[[]a[]]: 3 of 4 runs held (rate 0.75, 95 % interval 0.30 to 0.95); "
            "1 of 1 failed run: AssertionError: no (test_it.py:*)",
        ]
    )
    result.stdout.no_fnmatch_line("*test_it[[]b[]]:*")


# ------------------------------------------------------------------------------------------------ fixtures

FIXTURES = """
@pytest.fixture(scope="session")
def of_session():
    log("session up"); yield; log("session down")

@pytest.fixture(scope="module")
def of_module(of_session):
    log("module up"); yield; log("module down")

@pytest.fixture(scope="class")
def of_class(of_module):
    log("class up"); yield; log("class down")

@pytest.fixture(autouse=True)
def automatic():
    log("up"); yield; log("down")
"""


def test_fixtures(project: Project) -> None:
    """Those of the test are new for each run; those of a wider scope are kept, and go when their time has come."""
    body = FIXTURES + (
        """
class TestFirst:
    @pytest.mark.witness(runs=3, at_least=2)
    def test_first(self, of_class, tmp_path):
        count = number()
        log("run", count, len(list(tmp_path.iterdir())), hasattr(self, "seen"))
        (tmp_path / "file").touch()
        self.seen = True
        assert count != 1

class TestSecond:
    def test_second(self, of_class):
        log("second")
"""
    )
    logged, result = run(project, body)
    result.assert_outcomes(passed=2)
    runs = [each for count in (1, 2, 3) for each in ("up", f"run {count} 0 False", "down")]
    wide = ["session up", "module up", "class up"]
    assert logged == [
        *wide,
        *runs,
        "class down",
        "class up",
        "up",
        "second",
        "down",
        "class down",
        "module down",
        "session down",
    ]


def test_a_parametrized_fixture(project: Project) -> None:
    """Each parameter has its own runs and rule; a fixture of the module is made once for each."""
    body = """
@pytest.fixture(scope="module", params=["a", "b"])
def item(request):
    log("up", request.param); yield request.param; log("down", request.param)

@pytest.mark.witness(runs=2)
def test_it(item, monkeypatch, capsys, caplog, recwarn):
    log(item)
    monkeypatch.setenv("ITEM", item)
    print(item)
    assert capsys.readouterr().out == item + "\\n"
    assert not caplog.records and not recwarn.list
"""
    logged, result = run(project, body)
    result.assert_outcomes(passed=2)
    assert logged == ["up a", "a", "a", "down a", "up b", "b", "b", "down b"]


@pytest.mark.parametrize("when", ["setup", "teardown"])
@pytest.mark.parametrize("run_number", [1, 2])
def test_an_error_of_a_fixture(project: Project, when: str, run_number: int) -> None:
    """It says nothing of what is tested, so that no rule tolerates it: it ends the test as an error."""
    body = f"""
@pytest.fixture(scope="module")
def wide():
    yield
    log("wide down")

@pytest.fixture
def service(wide):
    count = number()
    log("up")
    if "{when}" == "setup" and count == {run_number}:
        raise OSError("no service")
    yield
    if "{when}" == "teardown" and count == {run_number}:
        raise OSError("no service")

@pytest.mark.witness(runs=5, at_least=1 + {run_number})
def test_it(service):
    log("run")

def test_next():
    log("next")
"""
    logged, result = run(project, body)
    result.assert_outcomes(errors=1, passed=1 + (when == "teardown"))
    assert logged.count("up") == run_number
    assert logged[-2:] == ["wide down", "next"] or logged[-2:] == ["next", "wide down"]
    after = "" if run_number == 1 else ", after 1 of 1 run held"
    result.stdout.fnmatch_lines([f"ended by this in run {run_number} of 5{after}"])


def test_methods_of_a_test_case(project: Project) -> None:
    """They are run again with an object of their own; what belongs to the class is kept."""
    body = """
class TestIt(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        log("class up")

    @classmethod
    def tearDownClass(cls):
        log("class down")

    def setUp(self):
        log("up", hasattr(self, "seen"))
        self.seen = True

    def tearDown(self):
        log("down")

    @pytest.mark.witness(runs=3, at_least=2)
    def test_it(self):
        self.assertNotEqual(number(), 1)

    def test_other(self):
        log("other")
"""
    logged, result = run(project, body)
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["*1 of 1 failed run: AssertionError: 1 == 1 (test_it.py:*)"])
    assert logged == ["class up", *["up False", "down"] * 3, "up False", "other", "down", "class down"]


# ------------------------------------------------------------------------------------------------ other outcomes


def test_a_skip(project: Project) -> None:
    """A run that is skipped skips the test, and the reason tells in which run. It hides no failure before it."""
    body = """
@pytest.mark.witness(runs=5, at_least=4)
def test_it():
    count = number()
    log(count)
    if count == 3:
        pytest.skip("the quota is used up")

@pytest.mark.witness(runs=5, at_least=2)
def test_failed_before():
    count = number() - 3
    assert count != 1
    if count == 3:
        pytest.skip("the quota is used up")

@pytest.mark.xfail
@pytest.mark.witness(runs=5, at_least=4)
def test_expected_before():
    count = number() - 6
    assert count != 1
    if count == 2:
        pytest.skip("the quota is used up")

@pytest.mark.skip(reason="not today")
@pytest.mark.witness(runs=5)
def test_never():
    log("never")
"""
    logged, result = run(project, body, "-rs")
    result.assert_outcomes(skipped=3, failed=1)
    assert logged == ["1", "2", "3"]
    result.stdout.fnmatch_lines_random(
        [
            "*the quota is used up (in run 3 of 5, after 2 of 2 runs held)",
            "*the quota is used up (in run 2 of 5, after 0 of 1 run held)",
            "1 of 2 runs held (*), at least 2 of 5 had to, and run 3 was skipped (the quota is used up)",
            "*not today (in run 1 of 5)",
        ]
    )


# The decorator of the test, which runs fail, and what comes out.
XFAILS: list[tuple[str, str, str]] = [
    ("xfail(reason='known')", "count >= 1", "xfailed"),
    ("xfail(reason='known', strict=False)", "count == 1", "xpassed"),
    ("xfail(reason='known', strict=True)", "count == 1", "failed"),
    ("xfail(reason='known', strict=True)", "count <= 2", "xfailed"),
    ("xfail(raises=LookupError, strict=True)", "count <= 2", "failed"),
    ("xfail(raises=AssertionError, strict=True)", "count <= 2", "xfailed"),
    ("xfail(run=False, reason='crashes')", "False", "xfailed"),
]


@pytest.mark.parametrize(("mark", "fails", "outcome"), XFAILS)
def test_an_expected_failure(project: Project, mark: str, fails: str, outcome: str) -> None:
    """It is the whole that is expected to fail: by the rule, whatever single runs do."""
    body = f"""
@pytest.mark.{mark}
@pytest.mark.witness(runs=3, at_least=2)
def test_it():
    count = number()
    assert not ({fails})
"""
    _, result = run(project, body)
    result.assert_outcomes(**{outcome: 1})


@pytest.mark.parametrize(("count", "outcome"), [(1, "passed"), (2, "xfailed")])
def test_an_expected_failure_that_a_run_declares(project: Project, count: int, outcome: str) -> None:
    """Such a run did not hold."""
    body = f"""
@pytest.mark.witness(runs=3, at_least=2)
def test_it():
    if number() <= {count}:
        pytest.xfail("known")
"""
    _, result = run(project, body)
    result.assert_outcomes(**{outcome: 1})


def test_subtests_are_refused(project: Project) -> None:
    """They report one by one, and no rule could take that back."""
    body = """
@pytest.fixture
def subtests(): ...

@pytest.mark.witness(runs=2)
def test_it(subtests): ...
"""
    _, result = run(project, body)
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["test_it.py::test_it: @pytest.mark.witness: subtests are reported one by one*"])


# ------------------------------------------------------------------------------------------------ the marker

BAD: list[tuple[tuple[Any, ...], dict[str, Any], str]] = [
    ((), {}, "runs=… is missing"),
    ((), {"at_least": 1}, "runs=… is missing"),
    ((10,), {}, "given by name, not 10 alone"),
    ((), {"runs": 0}, "runs is a whole number of 1 or more, not 0"),
    ((), {"runs": -1}, "runs is a whole number of 1 or more, not -1"),
    ((), {"runs": True}, "runs is a whole number of 1 or more, not True"),
    ((), {"runs": "10"}, "runs is a whole number of 1 or more, not '10'"),
    ((), {"runs": 2.0}, "runs is a whole number of 1 or more, not 2.0"),
    ((), {"runs": 3, "at_least": 4}, "at_least is a whole number from 1 to 3, not 4"),
    ((), {"runs": 3, "at_least": 0}, "at_least is a whole number from 1 to 3, not 0"),
    ((), {"runs": 3, "at_least": True}, "at_least is a whole number from 1 to 3, not True"),
    ((), {"runs": 3, "at_least": None}, "at_least is a whole number from 1 to 3, not None"),
    ((), {"runs": 3, "at_least": 0.0}, "a share above 0.0 and up to 1.0, not 0.0"),
    ((), {"runs": 3, "at_least": 1.5}, "a share above 0.0 and up to 1.0, not 1.5"),
    ((), {"runs": 3, "at_least": float("nan")}, "a share above 0.0 and up to 1.0, not nan"),
    ((), {"runs": 3, "atleast": 2}, "there is no 'atleast'; at_least was meant"),
    ((), {"runs": 3, "x": 2}, "there is no 'x'; it has runs and at_least"),
]


@pytest.mark.parametrize(("args", "kwargs", "words"), BAD)
def test_markers_that_cannot_be_read(args: tuple[Any, ...], kwargs: dict[str, Any], words: str) -> None:
    """It is said what was expected and what came."""
    with pytest.raises(UsageError) as raised:
        rule_of(pytest.mark.witness(*args, **kwargs).mark)
    assert words in str(raised.value)


@pytest.mark.parametrize(
    ("share", "runs", "at_least"),
    [(0.9, 10, 9), (0.07, 100, 7), (0.1, 3, 1), (1.0, 3, 3), (0.85, 10, 9), (1e-9, 5, 1), (0.29, 100, 29)],
)
def test_shares(share: float, runs: int, at_least: int) -> None:
    """A share is as it is written, so that 7 % of 100 are 7; a part of a run is a whole one."""
    assert rule_of(pytest.mark.witness(runs=runs, at_least=share).mark) == Rule(runs, at_least)


@pytest.mark.parametrize("arguments", [[], ["--collect-only"], ["-n", "2"]], ids=["plain", "collect-only", "xdist"])
def test_a_bad_marker_ends_the_collection(project: Project, arguments: list[str]) -> None:
    """No test runs, and it is said which test has it."""
    body = """
def test_before():
    log("ran")

@pytest.mark.witness(runs=0)
def test_it():
    log("ran")
"""
    logged, result = run(project, body, *arguments)
    assert result.ret != pytest.ExitCode.OK
    assert logged == []
    result.stdout.fnmatch_lines(
        [
            "*ERROR collecting test_it.py*",
            "test_it.py::test_it: @pytest.mark.witness: runs is a whole number of 1 or more, not 0",
        ]
    )
    result.stdout.no_fnmatch_line("*INTERNALERROR*")


@pytest.mark.parametrize("arguments", [[], ["-n", "1"]], ids=["plain", "xdist"])
def test_a_bad_marker_that_comes_late(project: Project, arguments: list[str]) -> None:
    """One that is added after the collection is an error of its test."""
    project.write(
        "conftest.py",
        "import pytest\ndef pytest_collection_modifyitems(items):\n"
        "    items[0].add_marker(pytest.mark.witness(runs=0))\n    items[1].add_marker(pytest.mark.witness(runs=2))\n",
    )
    logged, result = run(project, "def test_it(): log('bad')\n\ndef test_next(): log('ran')\n", *arguments)
    assert logged == ["ran", "ran"]
    result.assert_outcomes(errors=1, passed=1)
    result.stdout.fnmatch_lines(["*test_it: @pytest.mark.witness: runs is a whole number of 1 or more, not 0"])


def test_the_closest_marker(project: Project) -> None:
    """One at the test wins over one at its class or module."""
    body = """
pytestmark = pytest.mark.witness(runs=2)

@pytest.mark.witness(runs=3)
class TestIt:
    @pytest.mark.witness(runs=4)
    def test_a(self): log("a")
    def test_b(self): log("b")

def test_c(): log("c")
"""
    logged, _ = run(project, body)
    assert logged == [*"aaaa", *"bbb", *"cc"]


# ------------------------------------------------------------------------------------------------ with others

SOME_FAIL = """
@pytest.mark.witness(runs=10, at_least=9)
@pytest.mark.parametrize("item", [f"{n}" for n in range(4)])
def test_it(item, record_property):
    count = number(item)
    log(item)
    record_property("count", count)
    assert item != "3" or count != 2, f"no order {count}"
    assert item != "2" or count < 2, f"no order {count}"
"""


def test_xdist(project: Project) -> None:
    """In several processes it is as in one; what is said at the end comes to the one that says it."""
    pytest.importorskip("xdist")
    logged, result = run(project, SOME_FAIL, "-n", "2")
    result.assert_outcomes(passed=3, failed=1)
    assert sorted(logged) == ["0"] * 9 + ["1"] * 9 + ["2"] * 3 + ["3"] * 10
    result.stdout.fnmatch_lines(
        [
            "*- repeated runs -*",
            "1 of 3 runs held *, at least 9 of 10 had to",
            "2 of 2 failed runs: AssertionError: no order 2 (test_it.py:*)",
            "test_it.py::test_it[[]3[]]: 9 of 10 runs held *",
            "FAILED test_it.py::test_it[[]2[]] - 1 of 3 runs held, at least 9 of 10 had to; *",
        ]
    )
    assert result.stdout.str().count("test_it[3]: 9 of 10 runs held") == 1


def test_junit(project: Project) -> None:
    """One test case, with the numbers as properties, and those that the shown run recorded."""
    run(project, SOME_FAIL, "--junitxml=junit.xml", "-o", "junit_family=xunit1")
    cases = ET.parse(project.path / "junit.xml").getroot().findall(".//testcase")  # noqa: S314 - pytest has just made it
    found = {
        case.get("name"): [(each.get("name"), each.get("value")) for each in case.findall("./properties/property")]
        for case in cases
    }
    assert found["test_it[0]"] == [("count", "9"), ("witness_runs", "9"), ("witness_held", "9")]
    assert found["test_it[2]"] == [("count", "2"), ("witness_runs", "3"), ("witness_held", "1")]
    assert found["test_it[3]"] == [("count", "10"), ("witness_runs", "10"), ("witness_held", "9")]
    failures = [failure.get("message") for case in cases for failure in case.findall("failure")]
    assert failures == ["1 of 3 runs held, at least 9 of 10 had to; first: AssertionError: no order 2"]


def test_only_what_failed(project: Project) -> None:
    """``--lf`` runs what failed as a whole, and ``-x`` stops at it."""
    project.write("test_it.py", HELP + SOME_FAIL)
    assert project.run("-x").parseoutcomes() == {"passed": 2, "failed": 1}
    project.run("--lf").assert_outcomes(failed=1)


def test_no_marker_no_repetition(project: Project) -> None:
    """Other tests run once, and nothing is said of them."""
    logged, result = run(project, "def test_it():\n    log('ran')\n")
    assert logged == ["ran"]
    result.stdout.no_fnmatch_line("*= tracewitness =*")


def test_setup_only(project: Project) -> None:
    """Where no test is run, it is set up once."""
    body = FIXTURES + "@pytest.mark.witness(runs=3)\ndef test_it(of_module):\n    log('ran')\n"
    logged, result = run(project, body, "--setup-only")
    assert logged == ["session up", "module up", "up", "down", "module down", "session down"]
    result.stdout.fnmatch_lines(["*SETUP    M of_module*"])


def test_the_evidence_of_each_run(project: Project) -> None:
    """What the fixtures witnessed in every run is counted at the end; a failure shows its own."""
    body = """
from tracewitness import record

@record.tool
def order(item): return "confirmed"

@pytest.mark.witness(runs=3, at_least=2)
def test_it(witness, record_trace):
    order("lamp" if number() != 2 else "desk")
    witness(record_trace, [{"type": "tool_called", "tool": "order", "args": {"item": "lamp"}}])
"""
    _, result = run(project, body)
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(
        [
            "*= tracewitness =*",
            "  tool_called order: 1 not held, in test_it.py::test_it",
            "test_it.py::test_it: 2 of 3*",
        ]
    )


def test_an_interruption(project: Project) -> None:
    """It ends all, in whatever run it comes."""
    body = """
@pytest.mark.witness(runs=3, at_least=1)
def test_it():
    log("ran")
    raise KeyboardInterrupt
"""
    project.write("test_it.py", HELP + body)
    result = project.pytester.runpytest_subprocess("-p", "no:cacheprovider")
    assert result.ret == pytest.ExitCode.INTERRUPTED
    assert (project.path / "log.txt").read_text() == "ran\n"


def test_a_test_that_ends_the_session(project: Project) -> None:
    """What is not decided when the session is to stop does not hold."""
    body = """
@pytest.mark.witness(runs=3, at_least=2)
def test_it(request):
    log("ran")
    request.session.shouldstop = "enough"
"""
    logged, result = run(project, body)
    assert logged == ["ran"]
    assert result.parseoutcomes()["failed"] == 1
    result.stdout.fnmatch_lines(["1 of 1 run held, at least 2 of 3 had to"])


def test_the_debugger(project: Project) -> None:
    """It opens at the first failed run, also where the rule would tolerate it."""
    pytest.importorskip("pexpect", reason="pexpect is not installed")
    body = """
@pytest.mark.witness(runs=3, at_least=2)
def test_it():
    count = number()
    assert count != 1, f"no order {count}"
"""
    project.write("test_it.py", HELP + body)
    child = project.pytester.spawn_pytest("--pdb -p no:cacheprovider", expect_timeout=120)
    child.expect("no order 1")
    child.expect("Pdb")
    child.sendline("p 'count is', count")
    child.expect("count is")
    child.sendline("c")
    child.expect("1 passed")
    child.wait()


# ------------------------------------------------------------------------------------------------ async tests

ASYNC = """
@pytest.mark.witness(runs=3, at_least=2)
{marker}
async def test_it(resource):
    count = number()
    log("run", count, resource)
    await asyncio.sleep(0)
    assert count != 1

class TestIt:
    @pytest.mark.witness(runs=2)
    {marker}
    async def test_method(self, resource):
        log("method", hasattr(self, "seen"), resource)
        self.seen = True
"""


def async_log(runs: int) -> list[str]:
    return [each for run in range(1, runs + 1) for each in (f"up {run}", f"run {run} {run}", f"down {run}")]


def test_pytest_asyncio(project: Project) -> None:
    """Async tests and fixtures of pytest-asyncio are run again, each time in a loop of their own."""
    pytest.importorskip("pytest_asyncio")
    body = """
import pytest_asyncio

@pytest_asyncio.fixture
async def resource():
    count = number("resource")
    log("up", count)
    await asyncio.sleep(0)
    yield count
    log("down", count)
""" + ASYNC.format(marker="@pytest.mark.asyncio")
    project.write("pytest.ini", "\n".join(["[pytest]", "filterwarnings = error", *settings_for_asyncio()]))
    project.write("test_it.py", HELP + body)
    result = project.run_apart("-p", "no:cacheprovider")
    logged = (project.path / "log.txt").read_text("utf-8").splitlines()
    result.assert_outcomes(passed=2)
    assert logged[:9] == async_log(3)
    assert logged[9:] == [each for n in (4, 5) for each in (f"up {n}", f"method False {n}", f"down {n}")]


def test_anyio(project: Project) -> None:
    """So it is with anyio; a fixture of the module that is async is kept."""
    body = """
@pytest.fixture(scope="module")
def anyio_backend():
    return "asyncio"

@pytest.fixture(scope="module")
async def wide(anyio_backend):
    log("wide up")
    yield
    log("wide down")

@pytest.fixture
async def resource(wide):
    count = number("resource")
    log("up", count)
    await asyncio.sleep(0)
    yield count
    log("down", count)
""" + ASYNC.format(marker="@pytest.mark.anyio")
    logged, result = run(project, body)
    result.assert_outcomes(passed=2)
    assert logged[:10] == ["wide up", *async_log(3)]
    assert logged[10:] == [each for n in (4, 5) for each in (f"up {n}", f"method False {n}", f"down {n}")] + [
        "wide down"
    ]


def test_async_test_cases(project: Project) -> None:
    """And with unittest's own."""
    body = """
class TestIt(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self):
        log("up")

    @pytest.mark.witness(runs=3, at_least=2)
    async def test_it(self):
        await asyncio.sleep(0)
        self.assertNotEqual(number(), 1)
"""
    logged, result = run(project, body)
    result.assert_outcomes(passed=1)
    assert logged == ["up"] * 3


def test_recording_in_async_tests(project: Project) -> None:
    """The fixture `record_trace` is a new recording in each run, also where the test runs in a task."""
    body = """
from tracewitness import record

@record.tool
async def order(item): return "confirmed"

@pytest.fixture
def anyio_backend():
    return "asyncio"

@pytest.mark.witness(runs=3)
@pytest.mark.anyio
async def test_it(record_trace):
    await asyncio.gather(order("a"), asyncio.to_thread(lambda: asyncio.run(order("b"))))
    log(sorted(call.args["item"] for call in record_trace.calls), len(record_trace.problems))
"""
    logged, _ = run(project, body)
    assert logged == ["['a', 'b'] 0"] * 3
