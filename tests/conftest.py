"""What all tests have: nothing that is tested ends the process of the tests."""

from __future__ import annotations

import os
import pkgutil
import sys
from collections.abc import Callable
from typing import Any, NoReturn

import pytest


class _End:
    """Stands for `os._exit`: raises `SystemExit` in the process of the tests, and ends any other.

    Sent to another process, it is what it stands for.
    """

    def __init__(self) -> None:
        self._process = os.getpid()
        self._leave = os._exit

    def __call__(self, status: int) -> NoReturn:
        if os.getpid() != self._process:
            self._leave(status)
        sys.exit(status)

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return pkgutil.resolve_name, ("os:_exit",)


@pytest.fixture(autouse=True)
def _process_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let `os._exit`, by which the command line leaves a process that an agent holds, raise `SystemExit` here.

    It would end the tests without a word, with the status of the command.
    """
    monkeypatch.setattr(os, "_exit", _End())
