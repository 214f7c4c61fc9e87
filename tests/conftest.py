"""What all tests have: nothing that is tested ends the process of the tests."""

from __future__ import annotations

import os
import sys
from typing import NoReturn

import pytest


@pytest.fixture(autouse=True)
def _process_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let `os._exit`, by which the command line leaves a process that an agent holds, raise `SystemExit` here.

    It would end the tests without a word, with the status of the command. In a process that a test has forked it does
    what it does.
    """
    own, leave = os.getpid(), os._exit

    def end(status: int) -> NoReturn:
        if os.getpid() != own:
            leave(status)
        sys.exit(status)

    monkeypatch.setattr(os, "_exit", end)
