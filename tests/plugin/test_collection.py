"""Eval files are tests: what they are called, how they are picked, where their runs come from, what a failure shows."""

from __future__ import annotations

import json

import pytest
from plugin_support import CANCEL, SUITE, Project, order

#: With and without pytest-xdist.
PROCESSES = pytest.mark.parametrize("processes", [(), ("-n", "2")], ids=["one process", "two workers"])

OTHERS = "shop.evals.yaml::runs-without-a-case"


@pytest.fixture
def shop(project: Project) -> Project:
    """Return a project with an eval file, of which one case is broken by one of its runs."""
    project.ini("tracewitness_results = runs.jsonl")
    project.write("shop.evals.yaml", SUITE)
    project.runs(order(), order("ITEM-7"), CANCEL)
    return project


def collected(project: Project, *arguments: str) -> list[str]:
    """Return the node ids that are collected."""
    lines = project.run("--collect-only", "-q", *arguments).outlines
    return [line for line in lines if "::" in line]


# ------------------------------------------------------------------------------------------------------------ names


def test_a_case_is_a_test(shop: Project) -> None:
    """Each case is a test, and what no case has is one, too."""
    assert collected(shop) == ["shop.evals.yaml::order", "shop.evals.yaml::cancel", OTHERS]


def test_a_check_is_a_test(shop: Project) -> None:
    """By a setting each check is one, also that the trace could be read."""
    shop.ini("tracewitness_results = runs.jsonl", "tracewitness_per_check = true")
    assert collected(shop) == [
        "shop.evals.yaml::order::tool_not_called-delete_all",
        "shop.evals.yaml::order::tool_called-create_order",
        "shop.evals.yaml::order::trace_parsed",
        "shop.evals.yaml::cancel::tool_not_called-delete_all",
        "shop.evals.yaml::cancel::tool_called-cancel_order",
        "shop.evals.yaml::cancel::trace_parsed",
        OTHERS,
    ]


@pytest.mark.parametrize(
    ("name", "node"),
    [
        ("order in stock", "order in stock"),
        ("Bestellung für Zoë", "Bestellung für Zoë"),
        ("a::b", "a:b"),
        ("a[b]", "a(b)"),
        ("\\e[31mred", "\\x1b(31mred"),
        ("line\\nbreak", "line\\nbreak"),
        ("\\u202egnp.exe", "\\u202egnp.exe"),
        ("runs-without-a-case", "runs-without-a-case"),
    ],
)
def test_odd_names(project: Project, name: str, node: str) -> None:
    """A case's name is its id; what would part an id or harm a terminal is written otherwise."""
    project.ini("tracewitness_results = runs.jsonl")
    project.write("odd.evals.yaml", f'[{{name: "{name}", tool_expectations: [{{type: tool_called, tool: a}}]}}]')
    assert collected(project)[0] == f"odd.evals.yaml::{node}"
    assert len(set(collected(project))) == 2


def test_names_that_become_alike(project: Project) -> None:
    """Names that would become the same id are numbered."""
    check = "tool_expectations: [{type: tool_called, tool: a}, {type: tool_called, tool: a, max: 1}]"
    project.write("odd.evals.yaml", f'[{{name: "a:b", {check}}}, {{name: "a::b", {check}}}]')
    project.ini("tracewitness_per_check = true")
    assert collected(project)[3:5] == [
        "odd.evals.yaml::a:b#2::tool_called-a",
        "odd.evals.yaml::a:b#2::tool_called-a#2",
    ]


@pytest.mark.parametrize(
    ("setting", "files"),
    [
        ("", ["shop.evals.yaml"]),
        ("tracewitness_files = *.evals.json", ["shop.evals.json"]),
        ("tracewitness_files = *.evals.yaml *.evals.json", ["shop.evals.json", "shop.evals.yaml"]),
        ("tracewitness_files = deep/*.yaml", ["deep/shop.yaml"]),
        ("tracewitness_files = nothing", []),
    ],
)
def test_which_files_are_eval_files(project: Project, setting: str, files: list[str]) -> None:
    """A setting says what eval files are called, or where they are."""
    project.ini(setting)
    for file in ("shop.evals.yaml", "deep/shop.yaml"):
        project.write(file, "[{name: a, tool_expectations: [{type: tool_called, tool: a}]}]")
    project.write("shop.evals.json", '[{"name": "a", "tool_expectations": [{"type": "tool_called", "tool": "a"}]}]')
    assert sorted(collected(project)) == [f"{file}::a" for file in files]


# ---------------------------------------------------------------------------------------------------------- picking


@pytest.mark.parametrize(
    ("arguments", "picked"),
    [
        (["-k", "cancel"], ["cancel"]),
        (["-k", "not order and not runs"], ["cancel"]),
        (["-m", "P0"], ["order"]),
        (["-m", "order_desk"], ["order"]),
        (["-m", "not P0"], ["cancel", "runs-without-a-case"]),
        (["shop.evals.yaml::cancel"], ["cancel"]),
        (["shop.evals.yaml::order", "shop.evals.yaml::cancel"], ["order", "cancel"]),
        (["--deselect", "shop.evals.yaml::order"], ["cancel", "runs-without-a-case"]),
    ],
)
def test_tests_are_picked(shop: Project, arguments: list[str], picked: list[str]) -> None:
    """Names, tags and node ids pick cases, as they pick other tests."""
    assert collected(shop, *arguments) == [f"shop.evals.yaml::{name}" for name in picked]


@pytest.mark.parametrize(
    ("argument", "picked"),
    [
        ("shop.evals.yaml::order", 3),
        ("shop.evals.yaml::order::trace_parsed", 1),
        ("shop.evals.yaml", 7),
    ],
)
def test_checks_are_picked(shop: Project, argument: str, picked: int) -> None:
    """A case's id picks its checks, a check's id the check."""
    shop.ini("tracewitness_results = runs.jsonl", "tracewitness_per_check = true")
    assert len(collected(shop, argument)) == picked


def test_tags_are_markers_of_checks(shop: Project) -> None:
    """Where each check is a test, the case's tags pick all of them."""
    shop.ini("tracewitness_results = runs.jsonl", "tracewitness_per_check = true")
    assert len(collected(shop, "-m", "P0")) == 3


def test_a_tag_that_is_no_identifier_is_said(shop: Project) -> None:
    """A tag whose marker is called otherwise is told of."""
    shop.run("-q").stdout.fnmatch_lines(["note: the tag order desk is the marker order_desk"])


@pytest.mark.parametrize("tag", ["skip", "xfail", "skipif", "parametrize", "usefixtures", "_private", "1st", "witness"])
def test_a_tag_does_nothing_but_pick(project: Project, tag: str) -> None:
    """A tag that is the name of a marker with a meaning does not skip or excuse a test."""
    project.ini("tracewitness_results = runs.jsonl")
    project.write(
        "a.evals.yaml", f"[{{name: order, tags: [{tag}], tool_expectations: [{{type: tool_called, tool: x}}]}}]"
    )
    project.runs(order())
    assert project.outcomes("-m", f"tag_{tag}") == {"a.evals.yaml::order": "failed"}


@PROCESSES
def test_what_comes_of_tests(shop: Project, processes: tuple[str, ...]) -> None:
    """A case holds where all its runs hold."""
    assert shop.outcomes(*processes) == {
        "shop.evals.yaml::order": "failed",
        "shop.evals.yaml::cancel": "passed",
        OTHERS: "passed",
    }


@PROCESSES
def test_what_comes_of_checks(shop: Project, processes: tuple[str, ...]) -> None:
    """A check holds where it holds on all runs."""
    shop.ini("tracewitness_results = runs.jsonl", "tracewitness_per_check = true")
    outcomes = shop.outcomes(*processes)
    assert [name for name, outcome in outcomes.items() if outcome == "failed"] == [
        "shop.evals.yaml::order::tool_called-create_order"
    ]
    assert len(outcomes) == 7


def test_last_failed(shop: Project) -> None:
    """``--lf`` runs again what failed, and ``--ff`` runs that first."""
    shop.run()
    assert shop.outcomes("--lf") == {"shop.evals.yaml::order": "failed"}
    shop.runs(order(), CANCEL)
    assert shop.outcomes("--lf") == {"shop.evals.yaml::order": "passed"}
    shop.runs(order())
    shop.run()
    assert next(iter(shop.outcomes("--ff"))) == "shop.evals.yaml::cancel"


def test_last_failed_checks(shop: Project) -> None:
    """``--lf`` works on checks, too."""
    shop.ini("tracewitness_results = runs.jsonl", "tracewitness_per_check = true")
    shop.run()
    assert shop.outcomes("--lf") == {"shop.evals.yaml::order::tool_called-create_order": "failed"}


def test_stop_at_the_first_failure(shop: Project) -> None:
    """``-x`` stops."""
    assert shop.outcomes("-x") == {"shop.evals.yaml::order": "failed"}


@pytest.mark.parametrize(
    "arguments",
    [
        ["-p", "no:cacheprovider"],
        ["-W", "error"],
        ["--import-mode=importlib"],
        ["-p", "no:terminal"],
        ["-p", "no:assertion"],
        ["-p", "no:junitxml"],
        ["-p", "no:doctest", "-p", "no:unittest"],
        ["--strict-config"],
        ["--setup-show"],
        ["--durations=3", "-vv"],
        ["--tb=line"],
        ["--doctest-modules"],
    ],
    ids=" ".join,
)
def test_other_options(shop: Project, arguments: list[str]) -> None:
    """Whatever else pytest is told, the same comes of the tests."""
    assert list(shop.outcomes(*arguments).values()) == ["failed", "passed", "passed"]


def test_setup_plan_asks_nobody(project: Project) -> None:
    """Where tests are only planned, no agent is asked."""
    project.write("shop.evals.yaml", SUITE)
    project.write(
        "conftest.py", "import pytest\n@pytest.fixture\ndef witness_agent():\n    raise SystemExit('asked')\n"
    )
    assert project.run("--setup-plan").ret == 0


# ------------------------------------------------------------------------------------------------------------- runs


@pytest.mark.parametrize(
    "results",
    ["results/runs.jsonl", "results", "results/*.jsonl", "**/runs.jsonl", "results/runs.jsonl results/runs.jsonl"],
)
def test_results_of_the_setting(project: Project, results: str) -> None:
    """The setting names files, folders and patterns, seen from the rootdir, wherever pytest is called."""
    project.ini(f"tracewitness_results = {results}")
    project.write("evals/shop.evals.yaml", SUITE)
    project.runs(order(), CANCEL, name="results/runs.jsonl")
    assert project.outcomes() == {
        f"evals/shop.evals.yaml::{name}": "passed" for name in ("order", "cancel", "runs-without-a-case")
    }


def test_results_of_the_option(shop: Project) -> None:
    """The option takes the place of the setting, and may be given several times."""
    shop.runs(order(), name="one.jsonl")
    shop.runs(CANCEL, name="two.jsonl")
    arguments = ["--witness-results", "one.jsonl", "--witness-results", "two.jsonl"]
    assert set(shop.outcomes(*arguments).values()) == {"passed"}
    assert shop.outcomes("--witness-results", "one.jsonl")["shop.evals.yaml::cancel"] == "failed"


@pytest.mark.parametrize(
    ("results", "said"),
    [
        ("missing.jsonl", "*tracewitness_results names 'missing.jsonl', from *: there is no such file or folder"),
        ("missing/*.jsonl", "*tracewitness_results names 'missing/*.jsonl', from *: no file fits this pattern"),
        ("empty", "*empty: a folder without any file that ends in *"),
    ],
)
def test_results_that_are_not_there(shop: Project, results: str, said: str) -> None:
    """Every test fails, and says why, where the runs are not what the setting says."""
    shop.ini(f"tracewitness_results = {results}")
    (shop.path / "empty").mkdir()
    result = shop.run()
    result.assert_outcomes(failed=3)
    result.stdout.fnmatch_lines([f"shop.evals.yaml:*: {said}"])


def test_a_case_without_a_run(shop: Project) -> None:
    """A case of which there is no run fails."""
    shop.runs(order())
    result = shop.run()
    result.assert_outcomes(failed=1, passed=2)
    result.stdout.fnmatch_lines(
        [
            "shop.evals.yaml:8: no run of the case 'cancel' was found in runs.jsonl",
            "*not checked, since there is no run: cancel",
            "FAILED shop.evals.yaml::cancel - no run of the case*",
        ]
    )


def test_nothing_to_check(project: Project) -> None:
    """Without runs and agent every case fails, and says what to set."""
    project.write("shop.evals.yaml", SUITE)
    result = project.run()
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(["*there are no runs to check: set tracewitness_results (or --witness-results)*"])


def test_a_file_without_cases(project: Project) -> None:
    """What is common to all runs is checked on every run; without runs that fails, too."""
    project.write("all.evals.yaml", "common_tool_expectations: [{type: tool_not_called, tool: delete_all}]\n")
    assert project.outcomes() == {"all.evals.yaml::runs-without-a-case": "failed"}
    project.runs(order())
    assert project.outcomes("--witness-results=runs.jsonl") == {"all.evals.yaml::runs-without-a-case": "passed"}


def test_a_run_of_no_case(shop: Project) -> None:
    """A run that no case has is held to what is common to all, as on the command line."""
    shop.runs(order(), CANCEL, {"name": "else", "events": [{"call": "delete_all"}]})
    assert shop.outcomes()[OTHERS] == "failed"


def test_a_run_of_a_case_of_another_file(shop: Project) -> None:
    """A run that another eval file has a case for is not held to this one's checks."""
    shop.write("other.evals.yaml", "[{name: else, tool_expectations: [{type: tool_called, tool: delete_all}]}]")
    shop.runs(order(), CANCEL, {"name": "else", "events": [{"call": "delete_all"}]})
    assert set(shop.outcomes().values()) == {"passed"}


@pytest.mark.parametrize("name", ["order", "nobody knows"])
def test_a_run_that_can_not_be_read(shop: Project, name: str) -> None:
    """A run that can't be read fails the test of its case, else that of the runs without one."""
    shop.runs(order(), CANCEL, {"name": name, "events": 3})
    failed = "shop.evals.yaml::order" if name == "order" else OTHERS
    assert [test for test, outcome in shop.outcomes().items() if outcome == "failed"] == [failed]
    shop.run().stdout.fnmatch_lines(
        ["  it can't be read: events are a list of mappings, not 3", "*1 run could not be read"]
    )


# ------------------------------------------------------------------------------------------------------------ agent

AGENTS = {
    "a function": "def witness_agent():\n    return play",
    "an async function": "def witness_agent():\n    async def ask(case):\n        return play(case)\n    return ask",
    "a generator": "def witness_agent():\n    def each(case):\n        yield from play(case)\n    return each",
    "an async generator": (
        "def witness_agent():\n    async def each(case):\n        for call in play(case):\n            yield call\n"
        "    return each"
    ),
    "an object": "def witness_agent():\n    class Agent:\n        __call__ = staticmethod(play)\n    return Agent()",
    "a trace": (
        "def witness_agent():\n    from tracewitness import Trace\n"
        "    return lambda case: Trace.from_events([{'call': c['tool'], 'args': c['args']} for c in play(case)])"
    ),
    "with other fixtures": "def witness_agent(tmp_path, monkeypatch):\n    return play",
}

PLAY = """
import pytest
def play(case):
    assert case.tags in (("P0", "order desk"), ()) and case.steps == () and case.session_parameters == {}
    return [{"tool": f"{case.name}_order".replace("order_order", "create_order"), "args": {"item_id": "ITEM-42"}}]
@pytest.fixture
"""


@pytest.mark.parametrize("agent", AGENTS.values(), ids=AGENTS)
def test_an_agent_plays(project: Project, agent: str) -> None:
    """The project's conftest gives an agent, which is asked for each case."""
    project.write("shop.evals.yaml", SUITE)
    project.write("conftest.py", PLAY + agent)
    assert project.outcomes() == {"shop.evals.yaml::order": "passed", "shop.evals.yaml::cancel": "passed"}


def test_an_agent_is_asked_once_a_case(project: Project) -> None:
    """However many checks are tests, the agent plays a case once."""
    project.ini("tracewitness_per_check = true")
    project.write("shop.evals.yaml", SUITE)
    project.write(
        "conftest.py",
        PLAY + "def witness_agent():\n    def ask(case):\n        print('playing', case.name)\n"
        "        return play(case)\n    return ask\n",
    )
    result = project.run("-s")
    result.assert_outcomes(passed=6)
    assert result.stdout.str().count("playing") == 2


def test_an_agent_that_does_wrong(project: Project) -> None:
    """What an agent does is checked; what a list of calls does not say is not taken to hold."""
    project.write(
        "shop.evals.yaml", "[{name: order, tool_expectations: [{type: claim, says: Done, tool: create_order}]}]"
    )
    project.write("conftest.py", PLAY + "def witness_agent():\n    return play\n")
    result = project.run()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["  shop.evals.yaml:1: broken: claim create_order", "*a list of calls says nothing of*"]
    )


def test_an_agent_that_raises(project: Project) -> None:
    """What the agent raises is shown with its own frames, and none of ours."""
    project.write("shop.evals.yaml", SUITE)
    project.write(
        "conftest.py",
        "import pytest\n@pytest.fixture\ndef witness_agent():\n    def play(case):\n"
        "        raise ConnectionError('the model is away')\n    return play\n",
    )
    result = project.run()
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(["*raise ConnectionError('the model is away')", "conftest.py:5: ConnectionError"])
    result.stdout.no_fnmatch_line("*pytest_plugin*")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("None", "the fixture witness_agent gives None; expected a function that takes a case*"),
        ("[]", "the fixture witness_agent gives [[][]]; expected a function that takes a case*"),
        (
            "lambda case: None",
            "what witness_agent returned for the case 'order' can't be read: the agent produced None*",
        ),
        ("lambda case: 'done'", "what witness_agent returned for the case 'order' can't be read: *'done'*"),
        ("lambda case: {'x': 1}", "what witness_agent returned for the case 'order' can't be read: *"),
    ],
)
def test_a_fixture_that_gives_no_agent(project: Project, given: str, said: str) -> None:
    """What is no agent, or returns nothing that can be read, fails with words and no frames."""
    project.write("shop.evals.yaml", SUITE)
    project.write("conftest.py", f"import pytest\n@pytest.fixture\ndef witness_agent():\n    return {given}\n")
    result = project.run()
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines([f"shop.evals.yaml:4: {said}"])
    result.stdout.no_fnmatch_line("*Traceback*")


def test_recorded_runs_go_before_an_agent(shop: Project) -> None:
    """Where runs are recorded, no agent is asked."""
    shop.runs(order(), CANCEL)
    shop.write("conftest.py", "import pytest\n@pytest.fixture\ndef witness_agent():\n    raise SystemExit('asked')\n")
    assert set(shop.outcomes().values()) == {"passed"}


def test_a_fixture_that_is_missing_for_the_agent(project: Project) -> None:
    """What the agent's fixture needs and nobody gives is pytest's to tell."""
    project.write("shop.evals.yaml", SUITE)
    project.write(
        "conftest.py", "import pytest\n@pytest.fixture\ndef witness_agent(no_such_thing):\n    return print\n"
    )
    project.run().stdout.fnmatch_lines(["*fixture 'no_such_thing' not found"])


def test_fixtures_of_every_scope(shop: Project) -> None:
    """Fixtures that are used by themselves work around tests of eval files as around others."""
    fixtures = "".join(
        f"@pytest.fixture(autouse=True, scope='{scope}')\ndef in_{scope}():\n    yield print('begun', '{scope}')\n"
        for scope in ("session", "package", "module", "class", "function")
    )
    shop.write("conftest.py", f"import pytest\n{fixtures}")
    result = shop.run("-s", "-k", "cancel")
    result.assert_outcomes(passed=1, deselected=2)
    assert result.stdout.str().count("begun") == 5


# --------------------------------------------------------------------------------------------------------- failures


@PROCESSES
def test_a_failure_shows_check_verdict_and_trace(shop: Project, processes: tuple[str, ...]) -> None:
    """A failure shows the check's place, the verdict, the nearest miss and the trace around it, and no frames."""
    result = shop.run(*processes)
    result.stdout.fnmatch_lines(
        [
            "1 of 2 runs are not as expected",
            "run order (runs.jsonl, line 2)",
            "  shop.evals.yaml:7: broken: tool_called create_order",
            "      create_order was called once, none with matching arguments, expected at least 1",
            "      nearest, at event 1: args.item_id: expected 'ITEM-42', got 'ITEM-7'",
            "      reason: the customer waits for it",
            "    event  turn  kind   agent  tool",
            '    0      1     user                        "Order ITEM-7"',
            "  > 1      1     call          create_order  {'item_id': 'ITEM-7'}  (unanswered)",
            '    2      1     agent                       "Done."',
            "FAILED shop.evals.yaml::order - 1 of 2 runs, broken: tool_called*",
        ]
    )
    result.stdout.no_fnmatch_line("*.py:*")


def test_a_long_trace_is_cut(shop: Project) -> None:
    """Of a long trace the events around the evidence are shown."""
    talk = [{"agent": f"word {number}"} for number in range(50)]
    wrong = {"call": "create_order", "args": {"item_id": "ITEM-7"}}
    shop.runs({"name": "order", "events": [*talk, wrong, *talk]})
    shown = shop.run("-k", "order").stdout
    shown.fnmatch_lines(["  * 47 events", '*"word 47"', "*> 50 *", '*"word 2"', "  * 47 events"])
    shown.no_fnmatch_line("*word 46*")


def test_a_failure_of_one_check(shop: Project) -> None:
    """The test of a check shows that check alone."""
    shop.ini("tracewitness_results = runs.jsonl", "tracewitness_per_check = true")
    shop.runs(order("ITEM-7"), CANCEL, {"name": "order", "events": [{"call": "delete_all"}]})
    result = shop.run("shop.evals.yaml::order::tool_called-create_order")
    result.stdout.fnmatch_lines(["2 of 2 runs are not as expected", "  shop.evals.yaml:7: broken: tool_called*"])
    result.stdout.no_fnmatch_line("*broken: tool_not_called*")


def test_crash_line(shop: Project) -> None:
    """``--tb=line`` points into the eval file."""
    shop.run("--tb=line").stdout.fnmatch_lines(["shop.evals.yaml:7: 1 of 2 runs, broken: tool_called create_order"])


def test_nothing_of_a_trace_is_printed_raw(shop: Project) -> None:
    """What stands in a trace can't move the cursor, or forge lines of the report."""
    evil = "\x1b[2J\u202e\n=== 1 passed ===\r"
    call = {"call": "create_order", "args": {"item_id": evil}}
    shop.runs({"name": "order", "events": [{"user": evil}, call, {"agent": evil}]}, CANCEL, {"name": evil, "events": 3})
    shown = shop.run().stdout.str()
    assert "\x1b[2J" not in shown
    assert "\u202e" not in shown
    assert "\n=== 1 passed" not in shown


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "evals:\n  - name: a\n    tool_expectation: []\n",
            "bad.evals.yaml:3:5: unknown key 'tool_expectation'; tool_exp*",
        ),
        ("evals:\n  - nmae: a\n", "bad.evals.yaml:2:5: unknown key 'nmae'; name was meant*"),
        ("evals: [", "bad.evals.yaml:1:*"),
        ("", "bad.evals.yaml: the file is empty; list cases under evals"),
    ],
)
def test_a_malformed_file(project: Project, text: str, said: str) -> None:
    """A malformed file is an error of collection with our words, not frames."""
    project.write("bad.evals.yaml", text)
    result = project.run()
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*ERROR collecting bad.evals.yaml*", said])
    result.stdout.no_fnmatch_line("*.py*Error*")
    assert result.ret == pytest.ExitCode.INTERRUPTED


def test_a_malformed_file_in_workers(project: Project) -> None:
    """Workers tell of it in the same words."""
    project.write("bad.evals.yaml", "evals: [")
    result = project.run("-n", "2")
    result.stdout.fnmatch_lines(["*ERROR collecting bad.evals.yaml*", "bad.evals.yaml:1:9: not valid YAML*"])
    assert result.ret == pytest.ExitCode.TESTS_FAILED


def test_all_problems_of_a_malformed_file(project: Project) -> None:
    """Every problem of the file is told at once."""
    project.write("bad.evals.yaml", "evals:\n  - name: 3\n    stpes: []\n")
    project.run().stdout.fnmatch_lines(
        ["bad.evals.yaml:2:*", "bad.evals.yaml:3:5: unknown key 'stpes'; steps was meant*"]
    )


@PROCESSES
def test_foreign_keys_are_told_of(shop: Project, processes: tuple[str, ...]) -> None:
    """What a file has for other tools is told of at the end, once."""
    shop.write("shop.evals.yaml", SUITE + "    voice_config: {}\n")
    shown = shop.run(*processes).stdout.str()
    assert shown.count("note: shop.evals.yaml: kept, but not used by tracewitness: voice_config (line 11)") == 1


def test_the_place_of_a_test(shop: Project) -> None:
    """A test's place is where its case stands in the file."""
    items, _ = shop.pytester.inline_genitems()
    assert [item.location for item in items] == [
        ("shop.evals.yaml", 3, "order"),
        ("shop.evals.yaml", 7, "cancel"),
        ("shop.evals.yaml", 0, "runs-without-a-case"),
    ]


ODD_NAMES = ("a::b", "in [1]", "open [1", "Order:", ":: [x] ::", "a/b.yaml", "[]", "x - y")


@pytest.mark.parametrize("name", ODD_NAMES)
@pytest.mark.parametrize("per_check", ["false", "true"])
def test_a_test_is_found_by_the_id_that_is_shown(project: Project, name: str, per_check: str) -> None:
    """Whatever a case is called, its node id picks it, and a summary shows that id."""
    project.ini("tracewitness_results = runs.jsonl", f"tracewitness_per_check = {per_check}")
    checks = [{"type": "tool_called", "tool": "x", "name": "is [x]: y"}]
    project.write("a.evals.yaml", json.dumps([{"name": name, "tool_expectations": checks}]))
    project.runs(order(name=name))
    (failed,) = (test for test, outcome in project.outcomes().items() if outcome == "failed")
    assert project.outcomes(failed) == {failed: "failed"}
    shown = failed.replace("[", "[[]")
    project.run("-n", "1").stdout.fnmatch_lines([f"FAILED {shown} - *"])


def test_what_an_agent_raises_is_shown_from_its_own_frames(project: Project) -> None:
    """Of the event loop that calls it there is nothing; the case is told of as not checked."""
    project.write("a.evals.yaml", "[{name: order, tool_expectations: [{type: tool_called, tool: x}]}]")
    project.write(
        "conftest.py",
        "import pytest\n@pytest.fixture\ndef witness_agent():\n    async def play(case):\n"
        "        raise ValueError('no model')\n    return play\n",
    )
    result = project.run()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["E *ValueError: no model", "  not checked, since there is no run: order"])
    result.stdout.no_fnmatch_line("*asyncio*py*")
