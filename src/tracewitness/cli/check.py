"""``tracewitness check``: recorded runs against an eval file."""

from __future__ import annotations

import sys

import click

from tracewitness.cli.report_options import ReportOptions, color_of, report_options
from tracewitness.errors import UsageError
from tracewitness.evals import SuiteCheck
from tracewitness.readers import iter_runs
from tracewitness.readers.folders import path_of_argument
from tracewitness.reports.console import ConsoleReport, with_progress
from tracewitness.reports.listening import new_head
from tracewitness.suites import load_suite

__all__ = ["command"]


@click.command("check")
@click.argument("suite", type=click.Path())
@click.argument("results", type=click.Path(), nargs=-1, required=True)
@click.option("--case", metavar="NAME", help="Check all runs against this case, whatever their names.")
@click.option("--name", "names", metavar="NAME", multiple=True, help="Only the case with this name; may be repeated.")
@click.option("--tag", "tags", metavar="TAG", multiple=True, help="Only cases with this tag; may be repeated.")
@click.option("--allow-missing", is_flag=True, help="A case without a run is not broken.")
@report_options
@click.option("-q", "--quiet", is_flag=True, help="Print only what is not held, and the last line.")
@click.option("--no-color", is_flag=True, help="Do not colour; the variable NO_COLOR does the same.")
def command(
    suite: str,
    results: tuple[str, ...],
    case: str | None,
    names: tuple[str, ...],
    tags: tuple[str, ...],
    allow_missing: bool,
    quiet: bool,
    no_color: bool,
    reports: ReportOptions,
) -> None:
    """Check recorded runs against an eval file.

    SUITE is the eval file, YAML or JSON. RESULTS are files or folders: rows of a simulation's results, traces in
    neutral JSON, JSON Lines of either, or recordings in any other format of `tracewitness formats`; - is the standard
    input. A run's name, else its file's, picks its case.

    Reports go to files in any number of forms, each whole or not at all. What looks like a secret is hidden in all of
    them and on the terminal, and so is what --redact names: args.card, result.**.token, user.

    Exit status: 0 all held, 1 something is broken, 2 the input could not be read or understood, 3 nothing is broken but
    something is inconclusive: a recording breaks off.

    \b
    Examples:
      tracewitness check orders.evals.yaml results.json
      tracewitness check orders.evals.yaml runs/ --tag P0 --json report.json
      tracewitness check orders.evals.yaml trace.json --case order-in-stock
      tracewitness check orders.evals.yaml runs/ --html report.html --junit junit.xml --redact args.card_number
    """
    if case is not None and (names or tags):
        raise UsageError("--case checks every run against one case; it does not go with --name or --tag")
    loaded = load_suite(suite)
    checking = SuiteCheck(loaded, names=names, tags=tags, case=case, allow_missing=allow_missing)
    console = ConsoleReport(
        color=color_of(no_color),
        quiet=quiet,
        names=[count.name for count in checking.summary.cases],
        to_errors=reports.takes_standard_output,
    )
    console.notices(loaded.notices)
    runs = checking.reports(iter_runs(map(path_of_argument, results)))
    with reports.open(new_head(loaded.source, "check"), console, (suite, *results)) as told:
        for report in with_progress(runs, sys.stderr, "runs"):
            told.run(report)
        told.finish(checking.summary, loaded.notices)
    sys.exit(checking.summary.exit_status)
