"""The command line: one module a command, imported when the command is used."""

from __future__ import annotations

import importlib
import sys

import click

from tracewitness import __version__
from tracewitness.errors import TracewitnessError

__all__ = ["main"]

#: Each command's line of help stands here, so that the list of commands imports none of them.
_COMMANDS = {
    "check": "Check recorded runs against an eval file.",
    "schema": "Print the JSON Schema of eval files.",
}


class _Commands(click.Group):
    """Commands that are imported when they are used, so that ``--help`` answers at once."""

    def list_commands(self, context: click.Context) -> list[str]:  # noqa: ARG002 - click's interface
        return list(_COMMANDS)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:  # noqa: ARG002
        if name not in _COMMANDS:
            return None
        command: click.Command = importlib.import_module(f"tracewitness.cli.{name}").command
        return command

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl(list(_COMMANDS.items()))


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="tracewitness")
def _root() -> None:
    """Witness what an AI agent really did: deterministic checks of its tool calls."""


def main() -> None:
    """Run the command line. What is wrong with the input is one line, and exit status 2."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        _root(prog_name="tracewitness")
    except TracewitnessError as error:
        click.echo(f"error: {' '.join(str(error).splitlines())}", err=True)
        sys.exit(2)
