"""``tracewitness init``: a first test and a first eval file for a project, which pass at once."""

from __future__ import annotations

import os
from importlib.resources import files
from pathlib import Path
from typing import Final

import click

from tracewitness.cli.frameworks_in_use import FRAMEWORKS, Framework, find_frameworks
from tracewitness.display import printable
from tracewitness.errors import UsageError

__all__ = ["command"]

_TITLES: Final = {framework.name: framework for framework in FRAMEWORKS}
_TEST: Final = "test_agent_witness.py"
_SUITE: Final = "agent.evals.yaml"
_AGENT: Final = "conftest.py"


@click.command("init")
@click.argument("project", type=click.Path(path_type=Path, exists=True, file_okay=False), default=Path())
@click.option("--framework", type=click.Choice(list(_TITLES)), help="What the agent is written with; found by default.")
@click.option("--dry-run", is_flag=True, help="Print what would be written.")
def command(project: Path, framework: str | None, dry_run: bool) -> None:
    """Write a first test and a first eval file, which pass at once.

    PROJECT is the project's folder, by default this one. The framework is found by what the project depends on, or
    imports. Three files come into its folder of tests: the test, the eval file, and a conftest.py with an agent that
    stands in for yours; where there is one already, they come into tests/witness. No file is ever overwritten.

    \b
    Examples:
      tracewitness init --dry-run
      tracewitness init --framework pydantic-ai
    """
    chosen, why = (_TITLES[framework], "as you said") if framework else _framework_of(project)
    texts = _texts_for(chosen, _folder_for(project))
    click.echo(f"the agent is written with {chosen.title} ({printable(why)})")
    if dry_run:
        for path, text in texts.items():
            click.echo(f"\n{_shown(path)} would be:\n\n{text}", nl=False)
        return
    _write(texts)
    for path in texts:
        click.echo(f"wrote {_shown(path)}")
    click.echo(f"next: pytest {_shown(next(iter(texts)).parent)}, then put your agent into {_AGENT} there")


def _framework_of(project: Path) -> tuple[Framework, str]:
    """Return the framework that a project uses, and how that is known.

    Raises:
        UsageError: it uses several.
    """
    found = find_frameworks(project)
    if len(found) > 1:
        named = " and ".join(f"{each.framework.name} (in {printable(each.where)})" for each in found)
        raise UsageError(f"the project uses several frameworks, {named}; choose one with --framework")
    if found:
        return found[0].framework, f"found in {found[0].where}"
    return _TITLES["functions"], "no framework was found; --framework names one"


def _folder_for(project: Path) -> Path:
    """Return the folder of the tests, or one in it where they have a conftest.py of somebody else."""
    tests = project / "tests"
    is_ours = any(os.path.lexists(tests / name) for name in (_TEST, _SUITE))
    return tests / "witness" if os.path.lexists(tests / _AGENT) and not is_ours else tests


def _texts_for(framework: Framework, folder: Path) -> dict[Path, str]:
    """Return the files to be written.

    Raises:
        UsageError: one of them is there already.
    """
    templates = files("tracewitness.cli") / "templates"
    sources = {
        _TEST: "test_agent_witness.txt",
        _SUITE: _SUITE,
        _AGENT: f"conftest_{framework.name.replace('-', '_')}.txt",
    }
    there = [_shown(folder / name) for name in sources if os.path.lexists(folder / name)]
    if there:
        verb = "is" if len(there) == 1 else "are"
        raise UsageError(f"{', '.join(there)} {verb} there already; nothing is overwritten, and nothing was written")
    return {folder / name: (templates / source).read_text("utf-8") for name, source in sources.items()}


def _write(texts: dict[Path, str]) -> None:
    """Write all files or none; one that has come into being meanwhile stays as it is.

    Raises:
        UsageError: one can't be written.
    """
    written: list[Path] = []
    try:
        for path, text in texts.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("x", encoding="utf-8") as file:
                written.append(path)
                file.write(text)
    except OSError as error:
        for path in written:
            path.unlink()
        raise UsageError(f"{_shown(path)} can't be written: {error.strerror or error}; nothing was written") from error


def _shown(path: Path) -> str:
    return printable(path.as_posix())
