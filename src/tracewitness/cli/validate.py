"""``tracewitness validate``: whether eval files can be used."""

from __future__ import annotations

import sys

import click

from tracewitness.display import plural, printable
from tracewitness.errors import TracewitnessError
from tracewitness.suites import load_suite

__all__ = ["command"]


@click.command("validate")
@click.argument("suites", type=click.Path(), nargs=-1, required=True)
@click.option("-q", "--quiet", is_flag=True, help="Print only what is wrong.")
def command(suites: tuple[str, ...], quiet: bool) -> None:
    """Tell whether eval files can be used.

    SUITES are eval files, YAML or JSON. Each that can't be used has a line that says what is wrong, where, and what was
    meant.

    Exit status: 0 all can be used, 2 one of them can't.

    \b
    Example:
      tracewitness validate orders.evals.yaml refunds.evals.yaml
    """
    status = 0
    for path in suites:
        try:
            suite = load_suite(path)
        except TracewitnessError as error:
            status = 2
            click.echo(f"error: {printable(str(error), 2000)}", err=True)
        else:
            if not quiet:
                checks = sum(len(case.tool_expectations) for case in suite.cases)
                counted = f"{plural(len(suite.cases), 'case')}, {plural(checks, 'check')}"
                click.echo(f"{printable(path)}: {counted}")
    sys.exit(status)
