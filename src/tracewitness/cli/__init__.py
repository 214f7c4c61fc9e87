"""The command line: one module a command, imported when the command is used."""

from __future__ import annotations

import errno
import importlib
import os
import signal
import sys
from typing import NoReturn

import click

from tracewitness import __version__
from tracewitness.display import printable
from tracewitness.errors import TracewitnessError

__all__ = ["main"]

#: Each command's line of help stands here, so that the list of commands imports none of them.
_COMMANDS = {
    "baseline": "List, show, remove and accept baselines of tests.",
    "check": "Check recorded runs against an eval file.",
    "compare": "Compare two reports.",
    "completion": "Print a script by which a shell completes commands.",
    "doctor": "Tell what is installed, and what is missing.",
    "formats": "List the formats of recordings.",
    "init": "Write a first test and a first eval file, which pass at once.",
    "query": "Ask the verdicts of a scan by SQL.",
    "read": "Show what is understood of a recording.",
    "report": "Write reports of what was checked before.",
    "scan": "Check any number of recorded runs; write verdicts to a file.",
    "schema": "Print the JSON Schema of eval files, traces or reports.",
    "simulate": "Play the cases of an eval file with a live agent.",
    "validate": "Tell whether eval files can be used.",
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


def main() -> NoReturn:
    """Run the command line.

    What is wrong with the input is one line, and exit status 2. An interruption is status 130 and a reader that went
    away 141, as a shell has it: neither says anything of the runs.
    """
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    if "_TRACEWITNESS_COMPLETE" in os.environ:  # a shell asks for completions; click answers
        _root(prog_name="tracewitness")
    sys.exit(_status())


def _status() -> int:
    try:
        # Not by click's own `main`, which takes a closed pipe for a failure of the command.
        with _root.make_context("tracewitness", sys.argv[1:]) as context:
            _root.invoke(context)
        _flush()
    except click.exceptions.Exit as ended:
        return ended.exit_code
    except TracewitnessError as error:
        return _refused(str(error))
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        return 128 + signal.SIGINT
    except SystemExit as ended:
        return _ended(ended)
    except OSError as error:
        return _unwritable(error)
    return 0


def _ended(ended: SystemExit) -> int:
    """Return the status that a command ended with, once all that it wrote is out."""
    try:
        _flush()
    except OSError as error:
        return _unwritable(error)
    return ended.code if isinstance(ended.code, int) else 0


def _flush() -> None:
    if sys.stdout is not None:
        sys.stdout.flush()


def _unwritable(error: OSError) -> int:
    """Say that the output can't be written; what is left of it is given up, so that nobody tries again at the end."""
    if sys.stdout is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if error.errno == errno.EPIPE:
        return 128 + signal.SIGPIPE
    return _refused(f"the output can't be written: {error.strerror or error}")


def _refused(problem: str) -> int:
    click.echo(f"error: {printable(problem, 2000)}", err=True)
    return 2
