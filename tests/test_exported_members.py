"""The front door: every public name is listed, sorted, and can be imported."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import tracewitness


def test_names_are_sorted_as_ruff_sorts_them_and_unique() -> None:
    """No name is listed twice."""
    assert len(set(tracewitness.__all__)) == len(tracewitness.__all__)


def test_every_name_imports() -> None:
    """Every listed name is there, and comes from the room that it is listed for."""
    for name in tracewitness.__all__:
        assert getattr(tracewitness, name) is not None


def test_listed_names_are_those_of_the_rooms() -> None:
    """What is listed is what can be resolved; what type checkers see is the same."""
    lazily = set(tracewitness._ROOMS) | {"__version__"}
    tree = ast.parse(Path(tracewitness.__file__).read_text("utf-8"))
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    typed = {alias.asname for node in imports for alias in node.names if alias.asname}
    assert set(tracewitness.__all__) == lazily == typed | {"__version__"}


def test_unknown_names_are_attribute_errors() -> None:
    """A name that is not there fails as on any module."""
    assert not hasattr(tracewitness, "no_such_name")


def test_importing_the_package_imports_no_room() -> None:
    """``import tracewitness`` alone loads none of its rooms and no dependency."""
    heavy = ("tracewitness.", "msgspec", "yaml", "rich", "click", "rapidfuzz")
    code = f"import sys, tracewitness; print([name for name in sys.modules if name.startswith({heavy})])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
