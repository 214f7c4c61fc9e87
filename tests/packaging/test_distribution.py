"""What is published: a wheel and an archive of sources that build, install in an empty environment, and work there.

TRACEWITNESS_PYTHON names another interpreter for that environment, 3.11 or newer.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

import tracewitness

ROOT = Path(__file__).parents[2]
PYTHON = os.environ.get("TRACEWITNESS_PYTHON", sys.executable)
CORE = {"click", "filelock", "msgspec", "PyYAML", "rapidfuzz", "rich"}
#: What the core's own dependencies bring.
BROUGHT = {"markdown-it-py", "mdurl", "Pygments", "pip", "setuptools", "tracewitness"}

pytestmark = pytest.mark.xdist_group("distribution")


def run(*words: str | Path, folder: Path | None = None) -> str:
    """Run a command and return what it printed."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    answer = subprocess.run(words, capture_output=True, text=True, check=False, cwd=folder, env=environment)
    assert answer.returncode == 0, answer.stdout + answer.stderr
    return answer.stdout


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Return the wheel and the archive of sources; the wheel is built from the archive."""
    folder = tmp_path_factory.mktemp("built")
    run(sys.executable, "-m", "build", "--outdir", folder, ROOT)
    (wheel,) = folder.glob("*.whl")
    (archive,) = folder.glob("*.tar.gz")
    return wheel, archive


@pytest.fixture(scope="session")
def installed(built: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of programs of an empty environment into which only the wheel was installed."""
    folder = tmp_path_factory.mktemp("empty")
    run(PYTHON, "-m", "venv", folder)
    run(folder / "bin" / "python", "-m", "pip", "install", "--quiet", built[0])
    return folder / "bin"


def test_the_wheel_has_the_library_and_nothing_else(built: tuple[Path, Path]) -> None:
    with zipfile.ZipFile(built[0]) as wheel:
        names = wheel.namelist()
    package = {name for name in names if ".dist-info/" not in name}
    here = {
        f"tracewitness/{path.relative_to(ROOT / 'src' / 'tracewitness').as_posix()}"
        for path in (ROOT / "src" / "tracewitness").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert package == here
    assert "tracewitness/py.typed" in package
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in names)


def test_the_archive_has_what_a_packager_needs(built: tuple[Path, Path]) -> None:
    with tarfile.open(built[1]) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"LICENSE", "README.md", "CHANGELOG.md", "Makefile", "pyproject.toml", "tests/conftest.py"} <= names
    assert not [name for name in names if ".venv" in name or "__pycache__" in name or name.startswith(".git/")]


def test_only_the_small_core_is_brought(installed: Path) -> None:
    listed = json.loads(run(installed / "python", "-m", "pip", "list", "--format=json"))
    names = {package["name"].lower() for package in listed}
    assert {name.lower() for name in CORE} <= names
    assert names <= {name.lower() for name in CORE | BROUGHT}


def test_it_works_there(installed: Path, tmp_path: Path) -> None:
    """The command, the module and the library, on the files of the first example."""
    assert run(installed / "tracewitness", "--version").split()[-1] == tracewitness.__version__
    assert run(installed / "python", "-m", "tracewitness", "--version").split()[-1] == tracewitness.__version__
    found = json.loads(run(installed / "tracewitness", "doctor", "--json", folder=tmp_path))
    assert found["problems"] == []
    assert Path(found["location"]).is_relative_to(installed.parent)
    code = """if True:
        from tracewitness import ANY, expect
        calls = [{"tool": "search", "args": {"city": "Oslo"}}]
        expect(calls).calls("search", city=ANY).does_not_call("delete").run()
        print("held")
    """
    assert run(installed / "python", "-W", "error", "-c", code, folder=tmp_path) == "held\n"


def test_each_command_has_help_without_the_extras(installed: Path) -> None:
    """What a command needs besides the core is imported when it runs."""
    from tracewitness.cli import _COMMANDS

    program = "from tracewitness.cli import _root, _COMMANDS\nimport click\ncontext = click.Context(_root)\n"
    program += (
        "for name in _COMMANDS: assert _root.get_command(context, name).get_help(context), name\nprint(len(_COMMANDS))"
    )
    assert run(installed / "python", "-W", "error", "-c", program) == f"{len(_COMMANDS)}\n"


def test_every_extra_names_what_can_be_had() -> None:
    """An extra is something to install, and each is explained by doctor."""
    from importlib import metadata

    from tracewitness.cli.doctor import _PURPOSES

    assert set(metadata.metadata("tracewitness").get_all("Provides-Extra") or ()) == set(_PURPOSES)
