"""Every command has help that a stranger can use: what it does, what it ends with, examples that are real."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from tracewitness.cli import _COMMANDS, _root

CONTEXT = click.Context(_root, info_name="tracewitness")


def commands() -> Iterator[tuple[str, click.Command]]:
    """Yield each command, and those of a group, by the words by which it is called."""
    for name in _COMMANDS:
        command = _root.get_command(CONTEXT, name)
        assert command is not None
        yield name, command
        if isinstance(command, click.Group):
            yield from ((f"{name} {each}", part) for each, part in command.commands.items())


ALL = dict(commands())


def examples(command: click.Command) -> list[str]:
    _, _, after = (command.help or "").replace("\\\n", " ").partition("Example")
    return re.findall(r"^ *(?:.*\| *)?(tracewitness .*)$", after, re.MULTILINE)


@pytest.mark.parametrize("name", [name for name, command in ALL.items() if not isinstance(command, click.Group)])
def test_help_has_an_example_that_is_understood(name: str) -> None:
    """The options and values of each example are such as the command takes."""
    found = examples(ALL[name])
    assert found, f"tracewitness {name} --help shows no example"
    assert any(line.startswith(f"tracewitness {name}") for line in found)
    for line in found:
        words = shlex.split(line.split(" > ")[0].split(" | ")[0])[1:]
        words = words[: words.index("&&")] if "&&" in words else words
        _parse(words)


def _parse(words: list[str]) -> None:
    """Parse the words of a command as the command would, but run nothing."""
    command: click.Command = _root
    context = CONTEXT
    while isinstance(command, click.Group):
        found = command.get_command(context, words[0])
        assert found is not None, words
        command, words = found, words[1:]
        context = click.Context(command, parent=context, info_name=command.name)
    _, rest, _ = command.make_parser(context).parse_args(list(words))
    assert rest == [] or context.allow_extra_args, rest


@pytest.mark.parametrize("name", ALL)
def test_every_option_is_explained(name: str) -> None:
    command = ALL[name]
    assert (command.help or "").strip(), name
    unexplained = [
        option.name
        for option in command.params
        if isinstance(option, click.Option) and not option.hidden and not option.help
    ]
    assert unexplained == []


@pytest.mark.parametrize("name", ALL)
def test_help_keeps_to_the_width_of_a_terminal(name: str) -> None:
    words = [sys.executable, "-m", "tracewitness", *name.split(), "--help"]
    environment = {**os.environ, "COLUMNS": "80"}
    answer = subprocess.run(words, capture_output=True, text=True, check=True, env=environment)
    assert answer.stdout.startswith("Usage: ")
    too_long = [line for line in answer.stdout.splitlines() if len(line) > 120]
    assert too_long == []


@pytest.mark.parametrize("shell", ["bash", "fish", "zsh"])
def test_a_completion_script_is_one_of_its_shell(shell: str) -> None:
    words = [sys.executable, "-m", "tracewitness", "completion", shell]
    script = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    assert "_TRACEWITNESS_COMPLETE" in script
    program = shutil.which(shell)
    if program is not None:
        subprocess.run([program, "-n"], input=script, capture_output=True, text=True, check=True)


def test_bash_completes_commands_and_options(tmp_path: Path) -> None:
    """By the script, in a real bash."""
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("bash is not installed")
    program = tmp_path / "tracewitness"
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m tracewitness "$@"\n')
    program.chmod(0o755)
    script = """
        eval "$(tracewitness completion bash)"
        complete_words() {
            COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
            _tracewitness_completion "$1"
            echo "${COMPREPLY[@]}"
        }
        complete_words tracewitness va
        complete_words tracewitness read --as a
    """
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    answer = subprocess.run([bash, "-c", script], capture_output=True, text=True, check=True, env=environment)
    assert answer.stdout.splitlines() == ["validate", "atif"]
