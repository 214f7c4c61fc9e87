"""``tracewitness check``: recorded runs against an eval file."""

from __future__ import annotations

import os
import sys
from contextlib import ExitStack

import click

from tracewitness.errors import UsageError
from tracewitness.evals import SuiteCheck
from tracewitness.readers import iter_runs
from tracewitness.readers.folders import path_of_argument
from tracewitness.reports.console import ConsoleReport, with_progress
from tracewitness.reports.json_file import JsonReport
from tracewitness.suites import load_suite

__all__ = ["command"]


@click.command("check")
@click.argument("suite", type=click.Path())
@click.argument("results", type=click.Path(), nargs=-1, required=True)
@click.option("--case", metavar="NAME", help="Check all runs against this case, whatever their names.")
@click.option("--name", "names", metavar="NAME", multiple=True, help="Only the case with this name; may be repeated.")
@click.option("--tag", "tags", metavar="TAG", multiple=True, help="Only cases with this tag; may be repeated.")
@click.option("--allow-missing", is_flag=True, help="A case without a run is not broken.")
@click.option("--json", "json_path", metavar="FILE", help="Write everything to FILE as JSON.")
@click.option("-q", "--quiet", is_flag=True, help="Print only what is not held, and the last line.")
@click.option("--no-color", is_flag=True, help="Do not colour; the variable NO_COLOR does the same.")
def command(
    suite: str,
    results: tuple[str, ...],
    case: str | None,
    names: tuple[str, ...],
    tags: tuple[str, ...],
    allow_missing: bool,
    json_path: str | None,
    quiet: bool,
    no_color: bool,
) -> None:
    """Check recorded runs against an eval file.

    SUITE is the eval file, YAML or JSON. RESULTS are files or folders: rows of a simulation's results, traces in
    neutral JSON, JSON Lines of either, or recordings in any other format of `tracewitness formats`; - is the standard
    input. A run's name, else its file's, picks its case.

    Exit status: 0 all held, 1 something is broken, 2 the input could not be read or understood.

    \b
    Examples:
      tracewitness check orders.evals.yaml results.json
      tracewitness check orders.evals.yaml runs/ --tag P0 --json report.json
      tracewitness check orders.evals.yaml trace.json --case order-in-stock
    """
    if case is not None and (names or tags):
        raise UsageError("--case checks every run against one case; it does not go with --name or --tag")
    loaded = load_suite(suite)
    checking = SuiteCheck(loaded, names=names, tags=tags, case=case, allow_missing=allow_missing)
    color = False if no_color or os.environ.get("NO_COLOR") else None
    console = ConsoleReport(loaded.source, color=color, quiet=quiet)
    console.notices(loaded.notices)
    with ExitStack() as stack:
        inputs = (suite, *results)
        file = None if json_path is None else stack.enter_context(JsonReport(json_path, loaded.source, inputs))
        for report in with_progress(checking.reports(iter_runs(map(path_of_argument, results))), sys.stderr, "runs"):
            console.run(report)
            if file:
                file.run(report)
        if file:
            file.summary(checking.summary, loaded.notices)
    console.summary(checking.summary)
    sys.exit(checking.summary.exit_status)
