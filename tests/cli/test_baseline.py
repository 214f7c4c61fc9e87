"""``tracewitness baseline``: looking at recorded calls, taking over what failed comparisons have seen, removing."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tracewitness import Trace
from tracewitness.baselines import BaselineStore, baseline_path


def tracewitness(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tracewitness", "baseline", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def run(*calls: tuple[str, dict[str, Any]]) -> Trace:
    events: list[Any] = [{"user": "go"}]
    for number, (tool, args) in enumerate(calls):
        events += [{"call": tool, "args": args, "id": f"{number}"}, {"result": 1, "id": f"{number}"}]
    return Trace.from_events(events)


ORDER = ("order", {"item": "L-1", "quantity": 2})
OTHER = ("order", {"item": "L-1", "quantity": 3})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a module of tests, two baselines, and a failed comparison with one of them."""
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_orders.py").write_text("")
    store = BaselineStore(baseline_path(tmp_path / "tests" / "test_orders.py"))
    store.check("test_order", run(("search", {"q": "lamp"}), ORDER))
    store.check("test_refund[a b]", run())
    assert not store.check("test_order", run(("search", {"q": "lamp"}), OTHER)).passed
    return tmp_path


def baselines(folder: Path) -> Path:
    return baseline_path(folder / "tests" / "test_orders.py")


def is_recorded(folder: Path, key: str, *calls: tuple[str, dict[str, Any]]) -> bool:
    return BaselineStore(baselines(folder), ci=True).check(key, run(*calls)).passed


def test_the_list_says_what_there_is_and_what_waits(folder: Path) -> None:
    done = tracewitness("list", folder=folder)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == (
        "tests/__witness__/test_orders.witness.yaml\n"
        "  test_order  2 calls: search, order  changes wait to be accepted\n"
        "  test_refund[a b]  no calls\n"
    )
    assert tracewitness("list", "tests/test_orders.py", folder=folder).stdout == done.stdout


def test_the_list_names_files_without_tests_and_broken_ones(folder: Path) -> None:
    (folder / "tests" / "test_orders.py").unlink()
    broken = baseline_path(folder / "test_broken.py")
    broken.parent.mkdir()
    broken.write_text("version: 1\nbaselines: [\n")
    done = tracewitness("list", ".", folder=folder)
    assert done.returncode == 2
    assert "test_orders.witness.yaml  (there is no tests/test_orders.py)\n" in done.stdout
    assert "error: __witness__/test_broken.witness.yaml:3:1: not valid YAML" in done.stderr
    assert "test_order  2 calls" in done.stdout


def test_an_empty_folder_has_none(tmp_path: Path) -> None:
    assert tracewitness("list", folder=tmp_path).stdout == "no baselines in .\n"
    assert tracewitness("accept", folder=tmp_path).stdout == "nothing waits to be accepted\n"


def test_a_baseline_is_shown_with_what_would_change(folder: Path) -> None:
    done = tracewitness("show", "tests/test_orders.py", "test_order", folder=folder)
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0] == "test_order  (tests/__witness__/test_orders.witness.yaml)"
    assert lines[1:3] == ["  search(q='lamp')", "  order(item='L-1', quantity=2)"]
    assert "  -      quantity: 2" in lines
    assert "  +      quantity: 3" in lines
    assert "test_refund[a b]" in tracewitness("show", str(baselines(folder)), folder=folder).stdout


def test_what_waits_is_accepted_without_another_run(folder: Path) -> None:
    done = tracewitness("accept", folder=folder)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "accepted test_order  (tests/__witness__/test_orders.witness.yaml)\n"
    assert is_recorded(folder, "test_order", ("search", {"q": "lamp"}), OTHER)
    assert is_recorded(folder, "test_refund[a b]")
    assert tracewitness("accept", folder=folder).stdout == "nothing waits to be accepted\n"


def test_the_command_that_a_failure_names_works_as_it_stands(folder: Path) -> None:
    store = BaselineStore(baselines(folder))
    explanation = store.check("test_refund[a b]", run(ORDER)).explanation
    command = explanation.partition("`")[2].partition("`")[0]
    assert shlex.split(command)[:3] == ["tracewitness", "baseline", "accept"]
    done = tracewitness(*shlex.split(command)[2:], folder=folder)
    assert (done.returncode, done.stderr) == (0, "")
    assert is_recorded(folder, "test_refund[a b]", ORDER)
    assert is_recorded(folder, "test_order", ("search", {"q": "lamp"}), ORDER)


def test_accepting_keeps_what_a_person_wrote(folder: Path) -> None:
    path = baselines(folder)
    path.write_text(path.read_text().replace('q: "lamp"', '# whatever it is\n      q: {$regex: "l.*"}'))
    BaselineStore(path).check("test_order", run(("search", {"q": "lump"}), OTHER))
    assert tracewitness("accept", "tests", folder=folder).returncode == 0
    assert '      # whatever it is\n      q: {$regex: "l.*"}\n' in path.read_text()
    assert is_recorded(folder, "test_order", ("search", {"q": "lip"}), OTHER)


def test_a_later_run_that_passes_leaves_nothing_to_be_accepted(folder: Path) -> None:
    assert BaselineStore(baselines(folder)).check("test_order", run(("search", {"q": "lamp"}), ORDER)).passed
    assert tracewitness("accept", folder=folder).stdout == "nothing waits to be accepted\n"


def test_the_last_failed_run_is_the_one_that_is_accepted(folder: Path) -> None:
    BaselineStore(baselines(folder)).check("test_order", run(ORDER))
    tracewitness("accept", folder=folder)
    assert is_recorded(folder, "test_order", ORDER)


def test_baselines_are_removed_and_the_file_with_the_last(folder: Path) -> None:
    done = tracewitness("rm", "tests/test_orders.py", "test_order", folder=folder)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "removed test_order  (tests/__witness__/test_orders.witness.yaml)\n"
    assert tracewitness("list", folder=folder).stdout.splitlines()[1:] == ["  test_refund[a b]  no calls"]
    assert tracewitness("rm", "tests/test_orders.py", "--all", folder=folder).returncode == 0
    assert not baselines(folder).exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["show", "tests/test_orders.py", "test_ordr"], "has no baseline 'test_ordr'"),
        (["show", "tests/test_none.py"], "tests/test_none.py has no baselines"),
        (["rm", "tests/test_orders.py", "test_ordr"], "did you mean 'test_order'?"),
        (["rm", "tests/test_orders.py"], "name the baselines that are to be removed, or say --all"),
        (["rm", "tests/test_orders.py", "test_order", "--all"], "or say --all"),
        (["rm", "tests", "--all"], "one file at a time"),
        (["accept", "tests/test_orders.py", "test_refund[a b]"], "has nothing to be accepted under 'test_refund[a b]'"),
        (["accept", "tests", "test_order"], "from one file"),
    ],
)
def test_what_cant_be_done_is_one_line_and_changes_nothing(folder: Path, arguments: list[str], said: str) -> None:
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    done = tracewitness(*arguments, folder=folder)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert done.stderr.count("\n") == 1
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


def test_a_broken_file_is_neither_accepted_into_nor_removed_from(folder: Path) -> None:
    path = baselines(folder)
    path.write_text(path.read_text().replace("args:", "arg:"))
    before = path.read_bytes()
    for arguments in (["accept"], ["rm", str(path), "test_order"], ["show", str(path)]):
        done = tracewitness(*arguments, folder=folder)
        assert done.returncode == 2
        assert ":7:5: unknown key 'arg'; args was meant" in done.stderr
    assert path.read_bytes() == before


def test_nothing_that_is_shown_can_do_anything_to_a_terminal(tmp_path: Path) -> None:
    path = baseline_path(tmp_path / "test_x.py")
    BaselineStore(path).check("test\x1b[2J\u202e", run(("a\x1b[2J", {"x\u202e": "\x07"})))
    BaselineStore(path).check("test\x1b[2J\u202e", run(("b\x1b[2J", {"x\u202e": "\x07"})))
    for arguments in (["list"], ["show", "test_x.py"], ["accept"]):
        done = tracewitness(*arguments, folder=tmp_path)
        assert done.returncode == 0
        assert all(line.isprintable() for line in done.stdout.splitlines())
