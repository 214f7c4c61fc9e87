"""An environment that was made for tests runs all of them: where it skips one, its run fails."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

CONFTEST = Path(__file__).parents[1] / "conftest.py"
PASSES = "def test_one():\n    pass\n"
MODULE = "import pytest\npytest.importorskip('no_such_package', reason='it is missing')\ndef test_two():\n    pass\n"
TEST = "import pytest\ndef test_two():\n    pytest.skip('{}')\n"
FAILS = "import pytest\n@pytest.mark.xfail\ndef test_two():\n    raise RuntimeError\n"
NOTED = "*skipped, which TRACEWITNESS_NO_SKIPS forbids: *test_second.py*"
OK, FAILED, NO_TESTS = pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.NO_TESTS_COLLECTED


@pytest.fixture
def folder(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """Return a folder with the project's conftest, where no test may be skipped; no plugin is loaded unless named."""
    pytester.makeconftest(CONFTEST.read_text("utf-8"))
    monkeypatch.setenv("TRACEWITNESS_NO_SKIPS", "1")
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    return pytester


@pytest.mark.parametrize(
    ("second", "code"),
    [(PASSES, OK), (FAILS, OK), (MODULE, FAILED), (TEST.format("not today"), FAILED)],
    ids=["nothing skipped", "an expected failure", "a module", "a test"],
)
def test_a_run(second: str, code: int, folder: pytest.Pytester) -> None:
    """It fails where a test or a module was skipped, and says which."""
    folder.makepyfile(test_first=PASSES, test_second=second)
    result = folder.runpytest_inprocess()
    assert result.ret == code
    if code == FAILED:
        result.stdout.fnmatch_lines([NOTED])
    else:
        result.stdout.no_fnmatch_line(NOTED)


def test_a_run_of_nothing(folder: pytest.Pytester) -> None:
    """Where the only module was skipped, no test ran, which is a failure anyhow."""
    folder.makepyfile(test_second=MODULE)
    result = folder.runpytest_inprocess()
    assert result.ret == NO_TESTS
    result.stdout.fnmatch_lines([NOTED])


def test_a_run_in_several_processes(folder: pytest.Pytester) -> None:
    """What was skipped when another process looked for tests counts, too."""
    pytest.importorskip("xdist", reason="pytest-xdist is not installed")
    folder.makepyfile(test_first=PASSES, test_second=MODULE)
    result = folder.runpytest_subprocess("-p", "xdist.plugin", "--numprocesses", "1")
    assert result.ret == FAILED
    result.stdout.fnmatch_lines([NOTED])


def test_recordings_may_be_missing(folder: pytest.Pytester) -> None:
    """They lie outside of the project."""
    folder.makepyfile(test_first=PASSES, test_second=TEST.format("the recordings of Strands are not here"))
    assert folder.runpytest_inprocess().ret == OK


def test_without_the_variable(folder: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is skipped is skipped."""
    monkeypatch.delenv("TRACEWITNESS_NO_SKIPS")
    folder.makepyfile(test_first=PASSES, test_second=MODULE)
    assert folder.runpytest_inprocess().ret == OK
