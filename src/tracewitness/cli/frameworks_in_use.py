"""Which agent framework a project uses: by what it depends on, and where that says nothing, by what it imports."""

from __future__ import annotations

import configparser
import os
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from tracewitness.errors import ReadError

__all__ = ["FRAMEWORKS", "Found", "Framework", "find_frameworks"]


class Framework(Struct, frozen=True):
    """An agent framework that there is a template for.

    Attributes:
        name: what it is called on the command line.
        title: what it is called in sentences.
        packages: the distributions that bring it, in normalised form.
        modules: what its users import.
        is_sdk: whether it only talks to a model; a project that has a framework besides is of the framework.
    """

    name: str
    title: str
    packages: frozenset[str] = frozenset()
    modules: frozenset[str] = frozenset()
    is_sdk: bool = False


class Found(Struct, frozen=True):
    """A framework that a project uses.

    Attributes:
        where: the file that says so.
    """

    framework: Framework
    where: str


FRAMEWORKS: Final = (
    Framework(
        "langgraph",
        "LangGraph",
        frozenset({"langgraph", "langchain"}),
        frozenset({"langgraph", "langchain"}),
    ),
    Framework("pydantic-ai", "Pydantic AI", frozenset({"pydantic-ai", "pydantic-ai-slim"}), frozenset({"pydantic_ai"})),
    Framework("openai-agents", "the OpenAI Agents SDK", frozenset({"openai-agents"}), frozenset({"agents"})),
    Framework("google-adk", "Google ADK", frozenset({"google-adk"}), frozenset({"google.adk"})),
    Framework("openai", "the OpenAI SDK", frozenset({"openai"}), frozenset({"openai"}), is_sdk=True),
    Framework("anthropic", "the Anthropic SDK", frozenset({"anthropic"}), frozenset({"anthropic"}), is_sdk=True),
    Framework("functions", "plain functions"),
)

_name_of_requirement: Final = re.compile(r"\s*([A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)").match
_import_of_line: Final = re.compile(r"\s*(?:from\s+([\w.]+)\s+import\s+(\w+)|import\s+([\w., \t]+))").match
_MOST_MODULES: Final = 2000
_MOST_BYTES: Final = 1_000_000
_NOT_OWN: Final = frozenset({"__pycache__", "build", "dist", "env", "node_modules", "site-packages", "venv"})


def find_frameworks(project: Path) -> list[Found]:
    """Return the frameworks that a project uses; one that only talks to a model only where there is no other.

    Raises:
        ReadError: a file that says what the project depends on can't be read.
    """
    found = _known(_declared(project), lambda framework: framework.packages)
    found = found or _known(_imported(project), lambda framework: framework.modules)
    return [each for each in found if not each.framework.is_sdk] or found


def _known(names: Iterable[tuple[str, str]], known: Any) -> list[Found]:
    """Return the frameworks that names belong to, each with the first file that has one."""
    found: dict[str, Found] = {}
    for name, where in names:
        for framework in FRAMEWORKS:
            if name in known(framework):
                found.setdefault(framework.name, Found(framework, where))
    return list(found.values())


# -------------------------------------------------------------------------------------------------- what is declared


def _declared(project: Path) -> Iterator[tuple[str, str]]:
    """Yield the distributions that a project depends on, in normalised form, and the file that says so."""
    for path in _files(project):
        for requirement in _requirements(path):
            match = _name_of_requirement(requirement)
            if match is not None:
                yield re.sub(r"[-_.]+", "-", match[1]).lower(), path.relative_to(project).as_posix()


def _files(project: Path) -> Iterator[Path]:
    names = [project / name for name in ("pyproject.toml", "setup.cfg", "Pipfile")]
    lists = [*project.glob("requirements*.txt"), *project.glob("requirements/*.txt"), *project.glob("requirements*.in")]
    lists.sort(key=lambda path: path.with_suffix("").as_posix())
    yield from (path for path in [*names, *lists] if path.is_file())


def _requirements(path: Path) -> Iterator[str]:
    try:
        text = path.read_text("utf-8-sig")
        if path.name == "pyproject.toml":
            yield from _of_pyproject(tomllib.loads(text))
        elif path.name == "Pipfile":
            document = tomllib.loads(text)
            yield from (*_mapping(document, "packages"), *_mapping(document, "dev-packages"))
        elif path.name == "setup.cfg":
            yield from _of_setup(text)
        else:
            yield from (line for line in text.splitlines() if not line.lstrip().startswith(("#", "-")))
    except (OSError, ValueError, configparser.Error, RecursionError) as error:
        raise ReadError(f"it can't be read: {error}", str(path)) from error


def _of_pyproject(document: Mapping[str, Any]) -> Iterator[str]:
    project, tool = _mapping(document, "project"), _mapping(document, "tool")
    yield from _texts(project.get("dependencies"))
    groups = [_mapping(project, "optional-dependencies"), _mapping(document, "dependency-groups")]
    groups.append(_mapping(_mapping(tool, "pdm"), "dev-dependencies"))
    for group in groups:
        for requirements in group.values():
            yield from _texts(requirements)
    yield from _texts(_mapping(tool, "uv").get("dev-dependencies"))
    poetry = _mapping(tool, "poetry")
    yield from (*_mapping(poetry, "dependencies"), *_mapping(poetry, "dev-dependencies"))
    for group in _mapping(poetry, "group").values():
        yield from _mapping(group, "dependencies")


def _of_setup(text: str) -> Iterator[str]:
    parser = configparser.ConfigParser(interpolation=None)
    parser.read_string(text)
    yield from parser.get("options", "install_requires", fallback="").splitlines()
    if parser.has_section("options.extras_require"):
        for _, requirements in parser.items("options.extras_require"):
            yield from requirements.splitlines()


def _mapping(document: Any, key: str) -> Mapping[str, Any]:
    value = document.get(key) if isinstance(document, Mapping) else None
    return value if isinstance(value, Mapping) else {}


def _texts(values: Any) -> Iterator[str]:
    return (value for value in (values if isinstance(values, list) else ()) if isinstance(value, str))


# -------------------------------------------------------------------------------------------------- what is imported


def _imported(project: Path) -> Iterator[tuple[str, str]]:
    """Yield the modules that a project's own code imports, each with all that it is in, and the file that does so.

    Lines are looked at, and nothing is run; a project's own folder of a name hides a module of that name.
    """
    for path in islice(_modules(project), _MOST_MODULES):
        try:
            text = path.read_bytes()[:_MOST_BYTES].decode("utf-8", "replace")
        except OSError:
            continue
        for line in text.splitlines():
            for name in _imports(line):
                if not _is_own(project, name.partition(".")[0]):
                    yield name, path.relative_to(project).as_posix()


def _modules(project: Path) -> Iterator[Path]:
    for folder, folders, files in os.walk(project):
        folders[:] = sorted(name for name in folders if name not in _NOT_OWN and not name.startswith("."))
        yield from (Path(folder, name) for name in sorted(files) if name.endswith(".py"))


def _imports(line: str) -> Iterator[str]:
    match = _import_of_line(line)
    if match is None:
        return
    source, first, plain = match.groups()
    names = [f"{source}.{first}"] if source else [part.split()[0] for part in plain.split(",") if part.split()]
    for name in names:
        parts = name.split(".")
        yield from (".".join(parts[:count]) for count in range(1, len(parts) + 1))


def _is_own(project: Path, name: str) -> bool:
    roots = (project, project / "src")
    return any((root / name).is_dir() or (root / f"{name}.py").is_file() for root in roots)
