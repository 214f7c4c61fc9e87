"""``tracewitness completion``: what makes a shell complete commands and options."""

from __future__ import annotations

from typing import Final

import click
from click.shell_completion import get_completion_class

from tracewitness.errors import UsageError

__all__ = ["command"]

_SHELLS: Final = ("bash", "fish", "zsh")
_PROGRAM: Final = "tracewitness"


@click.command("completion")
@click.argument("shell", type=click.Choice(_SHELLS))
@click.pass_context
def command(context: click.Context, shell: str) -> None:
    """Print a script by which a shell completes commands, options and their values.

    \b
    Examples:
      tracewitness completion bash > ~/.local/share/bash-completion/completions/tracewitness
      tracewitness completion zsh > ~/.zfunc/_tracewitness
      tracewitness completion fish > ~/.config/fish/completions/tracewitness.fish
    """
    kind = get_completion_class(shell)
    if kind is None:
        raise UsageError(f"this version of click knows nothing of {shell}; run: pip install --upgrade click")
    made = kind(context.find_root().command, {}, _PROGRAM, f"_{_PROGRAM.upper()}_COMPLETE")
    click.echo(made.source_template % made.source_vars())
