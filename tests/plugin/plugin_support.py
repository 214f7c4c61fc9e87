"""A small project with eval files, recorded runs and tests, in which pytest is run."""

from __future__ import annotations

import importlib.metadata
import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pytest

__all__ = ["CANCEL", "SUITE", "Project", "order", "settings_for_asyncio"]

SUITE = """\
common_tool_expectations:
  - {type: tool_not_called, tool: delete_all}
evals:
  - name: order
    tags: [P0, order desk]
    tool_expectations:
      - {type: tool_called, tool: create_order, args: {item_id: ITEM-42}, reason: the customer waits for it}
  - name: cancel
    tool_expectations:
      - {type: tool_called, tool: cancel_order}
"""


def order(item: str = "ITEM-42", name: str = "order") -> dict[str, Any]:
    """Return a run in which an item was ordered."""
    events = [{"user": f"Order {item}"}, {"call": "create_order", "args": {"item_id": item}}, {"agent": "Done."}]
    return {"name": name, "events": events}


CANCEL = {"name": "cancel", "events": [{"call": "cancel_order"}]}


class Project:
    """The project. Warnings are errors in it, and pytest is strict."""

    def __init__(self, pytester: pytest.Pytester) -> None:
        self.pytester = pytester
        self.path = pytester.path
        self.ini()

    def ini(self, *settings: str) -> None:
        """Write its settings anew."""
        lines = ["[pytest]", "addopts = --strict-markers -p no:asyncio", "filterwarnings = error", *settings]
        self.pytester.path.joinpath("pytest.ini").write_text("\n".join(lines) + "\n", "utf-8")

    def write(self, name: str, text: str) -> None:
        """Write a file."""
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")

    def runs(self, *runs: Any, name: str = "runs.jsonl") -> None:
        """Write recorded runs."""
        self.write(name, "".join(json.dumps(run) + "\n" for run in runs))

    def run(self, *arguments: str) -> pytest.RunResult:
        """Run pytest in this process."""
        return self.pytester.runpytest_inprocess(*arguments)

    def run_apart(self, *arguments: str) -> pytest.RunResult:
        """Run pytest in a process of its own, where what plugins leave open there is nobody's concern here."""
        return self.pytester.runpytest_subprocess(*arguments)

    def outcomes(self, *arguments: str) -> dict[str, str]:
        """Run pytest, and return for each test what came of it; of one that could not be collected, too."""
        heard = _Heard()
        self.pytester.runpytest_inprocess(*arguments, plugins=[heard])
        return heard.outcomes


def settings_for_asyncio() -> list[str]:
    """Return what pytest-asyncio wants to be set, which only newer ones know."""
    version = importlib.metadata.version("pytest-asyncio")
    knows_scopes = tuple(map(int, version.split(".")[:2])) >= (0, 24)
    return ["asyncio_default_fixture_loop_scope = function"] if knows_scopes else []


class _Heard:
    """Hears what came of tests, whichever process ran them."""

    def __init__(self) -> None:
        self.outcomes: dict[str, str] = {}

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.outcomes[report.nodeid] = "not collected"

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" or not report.passed:
            self.outcomes[report.nodeid] = report.outcome
