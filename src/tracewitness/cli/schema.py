"""``tracewitness schema``: the JSON Schema of eval files."""

from __future__ import annotations

import json

import click

from tracewitness.suites import suite_schema

__all__ = ["command"]


@click.command("schema")
def command() -> None:
    """Print the JSON Schema of eval files, for editors and validators.

    \b
    Example:
      tracewitness schema > tracewitness.schema.json
    """
    click.echo(json.dumps(suite_schema(), indent=2, ensure_ascii=False))
