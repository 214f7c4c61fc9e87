"""``tracewitness init``: the framework that is found, the files that are written, and that they pass at once."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tracewitness import ReadError
from tracewitness.cli import main
from tracewitness.cli.frameworks_in_use import FRAMEWORKS, find_frameworks

Run = Callable[..., tuple[int, str, str]]

WRITTEN = {"test_agent_witness.py", "agent.evals.yaml", "conftest.py"}


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Run:
    """Return a function that runs the command in an empty folder, and returns its status and what it printed."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["tracewitness", "init", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        printed = capsys.readouterr()
        return int(ended.value.code or 0), printed.out, printed.err

    return call


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")


PYPROJECT = '[project]\nname = "x"\ndependencies = {}\n'

# The files of a project, and the frameworks that are found in it.
PROJECTS: dict[str, tuple[dict[str, str], list[str]]] = {
    "nothing": ({}, []),
    "another library": ({"requirements.txt": "requests\npydantic\nopenai-whisper\n"}, []),
    "project": (
        {"pyproject.toml": PYPROJECT.format("[\"Pydantic_AI.slim[openai]>=1 ; python_version > '3'\"]")},
        ["pydantic-ai"],
    ),
    "optional": ({"pyproject.toml": '[project.optional-dependencies]\nx = ["langchain==1"]\n'}, ["langgraph"]),
    "group": ({"pyproject.toml": '[dependency-groups]\ndev = [{include-group = "a"}, "google-adk"]\n'}, ["google-adk"]),
    "poetry": (
        {"pyproject.toml": '[tool.poetry.dependencies]\npython = "^3"\nopenai-agents = "*"\n'},
        ["openai-agents"],
    ),
    "poetry group": (
        {"pyproject.toml": '[tool.poetry.group.dev.dependencies]\nanthropic = {version = "*"}\n'},
        ["anthropic"],
    ),
    "uv": ({"pyproject.toml": '[tool.uv]\ndev-dependencies = ["openai"]\n'}, ["openai"]),
    "pdm": ({"pyproject.toml": '[tool.pdm.dev-dependencies]\ntest = ["openai"]\n'}, ["openai"]),
    "odd types": ({"pyproject.toml": 'project = 1\n[tool]\npoetry = []\nuv = {dev-dependencies = "openai"}\n'}, []),
    "requirements": ({"requirements.txt": "-r more.txt\n# openai\n  LangGraph ~= 1.0  # x\n"}, ["langgraph"]),
    "requirements of tests": ({"requirements-dev.txt": "anthropic"}, ["anthropic"]),
    "a folder of requirements": ({"requirements/base.txt": "anthropic @ https://example.com/x.whl"}, ["anthropic"]),
    "setup.cfg": ({"setup.cfg": "[options]\ninstall_requires =\n  requests\n  openai>=1\n"}, ["openai"]),
    "extras of setup.cfg": ({"setup.cfg": "[options.extras_require]\nx = google-adk; langgraph\n"}, ["google-adk"]),
    "Pipfile": ({"Pipfile": '[packages]\nopenai-agents = "*"\n'}, ["openai-agents"]),
    "a framework and an SDK": ({"requirements.txt": "openai\npydantic-ai\nanthropic\n"}, ["pydantic-ai"]),
    "two SDKs": ({"requirements.txt": "openai\nanthropic\n"}, ["openai", "anthropic"]),
    "two frameworks": ({"requirements.txt": "langchain\nlanggraph\npydantic-ai\n"}, ["langgraph", "pydantic-ai"]),
    "imports": ({"src/shop/a.py": "import os\nfrom pydantic_ai import Agent\n"}, ["pydantic-ai"]),
    "imports of parts": ({"a.py": "  import openai.types as t, anthropic\n"}, ["openai", "anthropic"]),
    "imports of a namespace": ({"a.py": "from google.adk.agents import LlmAgent\n"}, ["google-adk"]),
    "imports from a namespace": ({"a.py": "from google import adk\n"}, ["google-adk"]),
    "another part of the namespace": ({"a.py": "from google import genai\nimport google.auth\n"}, []),
    "a folder of its own": ({"agents/__init__.py": "", "main.py": "import agents\n"}, []),
    "a module of its own": ({"src/agents.py": "", "main.py": "from agents import x\n"}, []),
    "what is declared wins": ({"requirements.txt": "anthropic", "a.py": "import openai\n"}, ["anthropic"]),
    "not its own code": (
        {"venv/a.py": "import openai", ".x/a.py": "import openai", "node_modules/a.py": "import openai"},
        [],
    ),
    "not Python": ({"a.py": "\ufffd\x00import openai\n"}, []),
}


@pytest.mark.parametrize("name", PROJECTS)
def test_the_framework(name: str, tmp_path: Path) -> None:
    """It is found by what is declared, and as a last resort by what is imported."""
    files, expected = PROJECTS[name]
    write(tmp_path, files)
    assert sorted(each.framework.name for each in find_frameworks(tmp_path)) == sorted(expected)


UNREADABLE = {"pyproject.toml": "[project\n", "setup.cfg": "openai\n", "Pipfile": "a = ", "requirements.txt": "\udcff"}


@pytest.mark.parametrize("name", UNREADABLE)
def test_files_that_cannot_be_read(name: str, tmp_path: Path) -> None:
    """It is said which file it is."""
    (tmp_path / name).write_bytes(UNREADABLE[name].encode("utf-8", "surrogateescape"))
    with pytest.raises(ReadError) as raised:
        find_frameworks(tmp_path)
    assert name in str(raised.value)


def test_what_is_written(run: Run, tmp_path: Path) -> None:
    """Three files, and each is named."""
    write(tmp_path, {"requirements.txt": "pydantic-ai"})
    status, out, _ = run()
    assert status == 0
    assert out.splitlines() == [
        "the agent is written with Pydantic AI (found in requirements.txt)",
        "wrote tests/test_agent_witness.py",
        "wrote tests/agent.evals.yaml",
        "wrote tests/conftest.py",
        "next: pytest tests, then put your agent into conftest.py there",
    ]
    assert {path.name for path in (tmp_path / "tests").iterdir()} == WRITTEN


def test_again(run: Run, tmp_path: Path) -> None:
    """What is there is left as it is, and it is said what is there."""
    run()
    (tmp_path / "tests/agent.evals.yaml").write_text("mine")
    status, out, err = run("--framework", "openai")
    assert status == 2
    assert "wrote" not in out
    assert err.startswith(
        "error: tests/test_agent_witness.py, tests/agent.evals.yaml, tests/conftest.py are there already;"
    )
    assert (tmp_path / "tests/agent.evals.yaml").read_text() == "mine"
    assert {path.name for path in (tmp_path / "tests").iterdir()} == WRITTEN


@pytest.mark.parametrize("name", ["test_agent_witness.py", "agent.evals.yaml"])
def test_one_file_is_there(name: str, run: Run, tmp_path: Path) -> None:
    """Then nothing is written, also where it is a link that leads nowhere."""
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / name).symlink_to("nowhere")
    status, _, err = run()
    assert status == 2
    assert f"tests/{name} is there already; nothing is overwritten" in err
    assert names_in(tmp_path / "tests") == [name]


def test_a_conftest_of_somebody_else(run: Run, tmp_path: Path) -> None:
    """It stays, and the files come into a folder of their own."""
    write(tmp_path, {"tests/conftest.py": "mine"})
    status, out, _ = run()
    assert status == 0
    assert "wrote tests/witness/conftest.py" in out
    assert (tmp_path / "tests/conftest.py").read_text() == "mine"
    assert {path.name for path in (tmp_path / "tests/witness").iterdir()} == WRITTEN


def test_a_dry_run(run: Run, tmp_path: Path) -> None:
    """It prints the files and writes none."""
    status, out, _ = run("--dry-run")
    assert status == 0
    assert 'tests/conftest.py would be:\n\n"""The agent that' in out
    assert names_in(tmp_path) == []


def test_several_frameworks(run: Run, tmp_path: Path) -> None:
    """One has to be chosen."""
    write(tmp_path, {"requirements.txt": "langgraph\n", "requirements-dev.txt": "openai-agents\n"})
    status, _, err = run()
    assert status == 2
    named = "langgraph (in requirements.txt) and openai-agents (in requirements-dev.txt)"
    assert f"{named}; choose one with --framework" in err
    assert run("--framework", "openai-agents")[0] == 0


def test_a_folder_that_cannot_be_written(run: Run, tmp_path: Path) -> None:
    """It is said why, and no part is left."""
    (tmp_path / "tests").write_text("a file")
    status, _, err = run()
    assert status == 2
    assert "can't be written: " in err
    assert (tmp_path / "tests").read_text() == "a file"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full device here")
def test_a_file_that_cannot_be_written_to_its_end(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was written before is taken away."""
    opened = Path.open

    def open_full(path: Path, mode: str = "r", **options: object) -> object:
        if path.name == "conftest.py" and mode == "x":
            opened(path, mode).close()
            return opened(Path("/dev/full"), "w", encoding="utf-8")
        return opened(path, mode, **options)  # type: ignore[call-overload]

    monkeypatch.setattr(Path, "open", open_full)
    status, _, err = run()
    assert status == 2
    assert "nothing was written" in err
    assert names_in(tmp_path / "tests") == []


MODULES = {
    "google-adk": "google.adk",
    "langgraph": "langgraph",
    "openai-agents": "agents",
    "pydantic-ai": "pydantic_ai",
}


def is_installed(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:  # what it is a part of is missing
        return False


@pytest.mark.parametrize("framework", [each.name for each in FRAMEWORKS])
def test_what_is_written_passes(framework: str, run: Run, tmp_path: Path) -> None:
    """Pytest passes at once, with the real framework and no network."""
    module = MODULES.get(framework)
    if module is not None and not is_installed(module):
        pytest.skip(f"{framework} is not installed")
    assert run("--framework", framework)[0] == 0
    assert_passes(tmp_path, 2, "-W", "default" if framework == "google-adk" else "error")


def test_what_is_written_beside_other_tests_passes(run: Run, tmp_path: Path) -> None:
    """So do the project's own."""
    write(tmp_path, {"tests/conftest.py": "", "tests/test_other.py": "def test_other(): pass\n"})
    assert run()[0] == 0
    assert_passes(tmp_path, 3, "-W", "error")


def assert_passes(project: Path, tests: int, *options: str) -> None:
    """Run pytest in a project, as its user does."""
    command = [sys.executable, "-m", "pytest", "-p", "no:asyncio", "-p", "no:cacheprovider", "--strict-markers", "-q"]
    done = subprocess.run([*command, *options], capture_output=True, text=True, cwd=project)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 contract, 4 checks: 4 held" in done.stdout
    assert f"{tests} passed" in done.stdout
