"""``tracewitness schema``: the JSON Schema of eval files, traces, reports and comparisons."""

from __future__ import annotations

import json
from typing import Any

import click

__all__ = ["command"]


@click.command("schema")
@click.option(
    "--of",
    "what",
    type=click.Choice(["suite", "trace", "report", "comparison"]),
    default="suite",
    help="Eval files by default.",
)
def command(what: str) -> None:
    """Print the JSON Schema of eval files, for editors and validators; or that of traces in neutral JSON, of reports
    that `--json` writes, or of comparisons.

    \b
    Examples:
      tracewitness schema > tracewitness.schema.json
      tracewitness schema --of trace > trace.schema.json
      tracewitness schema --of report > report.schema.json
    """
    click.echo(json.dumps(_schema(what), indent=2, ensure_ascii=False))


def _schema(what: str) -> dict[str, Any]:
    """Return a schema; what makes it is imported when it is asked for."""
    if what == "trace":
        from tracewitness.readers.neutral_schema import trace_schema

        return trace_schema()
    if what == "report":
        from tracewitness.reports.document import report_schema

        return report_schema()
    if what == "comparison":
        from tracewitness.reports.comparison import comparison_schema

        return comparison_schema()
    from tracewitness.suites import suite_schema

    return suite_schema()
