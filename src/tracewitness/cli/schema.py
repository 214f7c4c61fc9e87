"""``tracewitness schema``: the JSON Schema of eval files, and of traces."""

from __future__ import annotations

import json

import click

__all__ = ["command"]


@click.command("schema")
@click.option("--of", "what", type=click.Choice(["suite", "trace"]), default="suite", help="Eval files by default.")
def command(what: str) -> None:
    """Print the JSON Schema of eval files, or of traces in neutral JSON, for editors and validators.

    \b
    Examples:
      tracewitness schema > tracewitness.schema.json
      tracewitness schema --of trace > trace.schema.json
    """
    if what == "trace":
        from tracewitness.readers.neutral_schema import trace_schema as schema
    else:
        from tracewitness.suites import suite_schema as schema
    click.echo(json.dumps(schema(), indent=2, ensure_ascii=False))
