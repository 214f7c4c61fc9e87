"""``tracewitness formats``: what recordings can be read."""

from __future__ import annotations

import textwrap
from typing import Final

import click

from tracewitness.readers.reader import CONTENT_LIST, Reader
from tracewitness.readers.registry import READERS

__all__ = ["command"]

_SHOWN_KEYS: Final = 8
_WIDTH: Final = 100


@click.command("formats")
def command() -> None:
    """List the formats of recordings, and how their documents are known.

    \b
    Example:
      tracewitness formats
    """
    for reader in READERS:
        click.echo(click.style(reader.name, bold=True))
        for line in (reader.shape, _keys(reader)):
            if line:
                click.echo(textwrap.indent(textwrap.fill(line, _WIDTH), "    "))


def _keys(reader: Reader) -> str:
    """Return some of the keys of which each document has at least one."""
    keys = sorted("content (a list)" if key == CONTENT_LIST else key for key in reader.keys)
    more = ", …" if len(keys) > _SHOWN_KEYS else ""
    lines = "; JSON Lines are one run" if reader.is_log else ""
    return f"keys: {', '.join(keys[:_SHOWN_KEYS])}{more}{lines}" if keys else f"keys: no certain ones{lines}"
