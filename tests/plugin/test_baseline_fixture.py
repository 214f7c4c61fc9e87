"""The fixture ``witness_baseline``: the first run is kept, later ones are compared with it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from plugin_support import Project

PROCESSES = pytest.mark.parametrize("processes", [(), ("-n", "2")], ids=["one process", "two workers"])

TESTS = """
import pytest

def calls(item):
    return [{{"tool": "create_order", "args": {{"item_id": item, "request_id": {number}}}}}]

@pytest.mark.parametrize("item", ["lamp", "vase"])
def test_order(witness_baseline, item):
    witness_baseline(calls(item), ignore=["**.request_id"])

class TestTwice:
    def test_two(self, witness_baseline):
        witness_baseline(calls("{word}"), ignore=["**.request_id"])
        witness_baseline([], name="nothing")
        witness_baseline(calls("third"), ignore=["**.request_id"])
"""

KEYS = {
    "test_order[[]lamp]",
    "test_order[[]vase]",
    "TestTwice::test_two",
    "TestTwice::test_two # nothing",
    "TestTwice::test_two # 3",
}


@pytest.fixture
def shop(project: Project, monkeypatch: pytest.MonkeyPatch) -> Project:
    """Return a project with tests that have baselines, on a machine of a person."""
    monkeypatch.delenv("CI", raising=False)
    write(project)
    return project


def write(project: Project, number: int = 1, word: str = "first") -> None:
    """Write the tests; a number is in them that changes each time, and a word that does so when something is new."""
    project.write("tests/test_shop.py", TESTS.format(number=number, word=word))


def baselines(project: Project) -> Path:
    """Return the file beside the tests."""
    return project.path / "tests" / "__witness__" / "test_shop.witness.yaml"


@PROCESSES
def test_the_first_run_is_kept(shop: Project, processes: tuple[str, ...]) -> None:
    """The first run writes and passes; the second is compared, and what is declared may change."""
    result = shop.run(*processes)
    result.assert_outcomes(passed=3)
    lines = [f"  written: {key} in tests/__witness__/test_shop.witness.yaml" for key in sorted(KEYS)]
    result.stdout.fnmatch_lines(["5 baselines: 5 written"])
    result.stdout.fnmatch_lines_random(lines)
    text = baselines(shop).read_text("utf-8")
    assert "request_id" not in text
    write(shop, number=2)
    result = shop.run(*processes)
    result.assert_outcomes(passed=3)
    result.stdout.fnmatch_lines(["5 baselines: 5 held"])
    assert baselines(shop).read_text("utf-8") == text


@PROCESSES
def test_a_run_that_differs(shop: Project, processes: tuple[str, ...]) -> None:
    """A run that differs fails, says where and in what, and changes nothing; ``--witness-update`` takes it over."""
    shop.run()
    text = baselines(shop).read_text("utf-8")
    write(shop, word="other")
    result = shop.run(*processes)
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(
        [">       witness_baseline(calls(*", "E *first*other*", "3 baselines: 2 held, 1 broken"]
    )
    result.stdout.no_fnmatch_line("*baselines.py*")
    assert baselines(shop).read_text("utf-8") == text
    result = shop.run("--witness-update", *processes)
    result.assert_outcomes(passed=3)
    result.stdout.fnmatch_lines(["5 baselines: 4 held, 1 updated", "  updated: TestTwice::test_two in *"])
    assert baselines(shop).read_text("utf-8") == text.replace("first", "other")


@pytest.mark.parametrize(
    ("variable", "options", "passes"),
    [
        ("true", [], False),
        ("1", [], False),
        ("", [], True),
        ("false", [], True),
        (None, ["--witness-ci"], False),
        (None, ["--witness-ci", "--witness-update"], False),
        (None, [], True),
    ],
)
def test_a_missing_baseline_in_ci(
    shop: Project, monkeypatch: pytest.MonkeyPatch, variable: str | None, options: list[str], passes: bool
) -> None:
    """In CI a missing baseline fails, and nothing is written."""
    if variable is not None:
        monkeypatch.setenv("CI", variable)
    result = shop.run(*options)
    result.assert_outcomes(**{"passed" if passes else "failed": 3})
    assert baselines(shop).exists() is passes


@PROCESSES
def test_unused_baselines(shop: Project, processes: tuple[str, ...]) -> None:
    """Baselines that no test uses any longer are told of, but not where tests were left out or failed."""
    shop.run()
    shop.write(
        "tests/test_shop.py", TESTS.format(number=1, word="first").replace('witness_baseline([], name="nothing")', "")
    )
    shop.run(*processes).stdout.fnmatch_lines(
        ["* unused; tracewitness baseline rm takes them away", "  TestTwice::test_two # nothing in tests/__witness__/*"]
    )
    write(shop)
    for arguments in (["-k", "lamp"], ["tests/test_shop.py::test_order"]):
        shop.run(*arguments, *processes).stdout.no_fnmatch_line("*baseline* unused*")


def test_a_test_that_is_gone(shop: Project) -> None:
    """The baseline of a test that is gone is told of where the whole module ran."""
    shop.run()
    shop.write("tests/test_shop.py", TESTS.format(number=1, word="first").replace('"lamp", ', ""))
    shop.run().stdout.fnmatch_lines(["1 baseline unused; *", "  test_order[[]lamp] in *"])


def test_a_module_that_is_gone(shop: Project) -> None:
    """The file of a module that is gone is told of."""
    shop.run()
    (baselines(shop).parent / "test_gone.witness.yaml").write_bytes(baselines(shop).read_bytes())
    shop.run().stdout.fnmatch_lines(["*test_gone.witness.yaml: its module of tests is not there"])


def test_a_broken_file(shop: Project) -> None:
    """A file that a person broke fails with its place, and is left as it is."""
    shop.run()
    baselines(shop).write_text("version: [", "utf-8")
    result = shop.run()
    result.assert_outcomes(failed=3)
    result.stdout.fnmatch_lines(["E *test_shop.witness.yaml:1:*"])
    assert baselines(shop).read_text("utf-8") == "version: ["


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("witness_baseline(lambda prompt: [])", "*UsageError: a baseline is of what an agent did*"),
        ("witness_baseline([], name='a'); witness_baseline([], name='a')", "*UsageError: a second baseline*'a'*"),
        ("witness_baseline(None)", "*ReadError: the agent produced None*"),
        ("witness_baseline([], ignore=['a..b'])", "*UsageError: *"),
    ],
)
def test_what_has_no_baseline(shop: Project, body: str, said: str) -> None:
    """What is nothing that an agent did has no baseline."""
    shop.write("tests/test_shop.py", f"def test_a(witness_baseline):\n    {body}\n")
    result = shop.run()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([f"E {said}"])


def test_a_run_without_evidence(shop: Project) -> None:
    """A run that shows nothing is no baseline."""
    shop.write(
        "tests/test_shop.py",
        "from tracewitness import Trace\ndef test_a(witness_baseline):\n    witness_baseline(Trace.from_events([]))\n",
    )
    shop.run().assert_outcomes(failed=1)
    assert not baselines(shop).exists()


MOVING = """
def test_moves(witness_baseline, monkeypatch):
    monkeypatch.chdir("/")
    witness_baseline([{"tool": "a", "args": {}}])

def test_stays(witness_baseline):
    witness_baseline([{"tool": "b", "args": {}}])
"""


@PROCESSES
def test_a_test_that_goes_to_another_folder(shop: Project, processes: tuple[str, ...]) -> None:
    """Its baseline is named as that of other tests, and none that was used is called unused."""
    shop.write("tests/test_shop.py", MOVING)
    shop.run(*processes).stdout.fnmatch_lines_random(
        [f"  written: {test} in tests/__witness__/test_shop.witness.yaml" for test in ("test_moves", "test_stays")]
    )
    result = shop.run(*processes)
    result.stdout.fnmatch_lines(["2 baselines: 2 held"])
    result.stdout.no_fnmatch_line("*unused*")


def test_a_failure_names_the_file_from_where_pytest_was_started(shop: Project) -> None:
    """So the command that it tells can be copied."""
    shop.write("tests/test_shop.py", MOVING)
    shop.run()
    shop.write("tests/test_shop.py", MOVING.replace('"tool": "a"', '"tool": "c"'))
    shop.run().stdout.fnmatch_lines(
        [
            "E *the baseline 'test_moves' in tests/__witness__/test_shop.witness.yaml: *",
            "E *`tracewitness baseline accept tests/__witness__/test_shop.witness.yaml test_moves` takes it over*",
        ]
    )


def test_a_broken_file_is_told_without_frames_of_the_library(shop: Project) -> None:
    """The error says where the file is broken, and the traceback ends at the test's line."""
    shop.run()
    baselines(shop).write_text("- 1", "utf-8")
    result = shop.run()
    result.assert_outcomes(failed=3)
    result.stdout.fnmatch_lines(["E *SuiteError: tests/__witness__/test_shop.witness.yaml:1:1: *"])
    result.stdout.no_fnmatch_line("*src/tracewitness*")


def test_an_update_in_ci_is_said_to_have_written_nothing(shop: Project) -> None:
    """Where both are asked for, nothing is written, and a line says so."""
    shop.run()
    text = baselines(shop).read_text("utf-8")
    write(shop, word="other")
    result = shop.run("--witness-update", "--witness-ci")
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(["--witness-update wrote nothing, since this is CI *"])
    assert baselines(shop).read_text("utf-8") == text
