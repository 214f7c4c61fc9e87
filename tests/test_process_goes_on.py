"""What is tested can't end the process of the tests."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys

import pytest

from tracewitness.cli import simulate


@pytest.mark.parametrize("status", [0, 3, 130])
def test_a_command_that_leaves_its_process(status: int) -> None:
    """The simulation does so where an agent does not end; the tests see the status, and go on."""
    with pytest.raises(SystemExit) as ended:
        simulate._leave(status)
    assert ended.value.code == status


@pytest.mark.skipif(not hasattr(os, "posix_spawn"), reason="no process can be forked")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_process_ends() -> None:
    """Else it would go on with the tests, a second time."""
    child = os.fork()
    if not child:
        os._exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


def test_what_is_sent_to_another_process_ends_that() -> None:
    """Engines send what uses `os._exit` to their workers, which have to end."""
    leave = os._exit
    code = f"import pickle; pickle.loads({pickle.dumps(leave)!r})(9)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 9
