"""``tracewitness report``: reports of what was checked before, or of recordings that are checked now."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import click
from msgspec import structs

from tracewitness.cli.report_options import FORMATS, ReportOptions, color_of, report_options
from tracewitness.errors import UsageError
from tracewitness.reports.console import ConsoleReport
from tracewitness.reports.document import ReportDocument
from tracewitness.reports.output import STANDARD_OUTPUT
from tracewitness.reports.reading import read_reports
from tracewitness.reports.simulation import SimulationConsole
from tracewitness.suites import load_suite

__all__ = ["command"]

_ENDINGS: Final = {
    ".json": "json",
    ".html": "html",
    ".htm": "html",
    ".xml": "junit",
    ".md": "markdown",
    ".markdown": "markdown",
    ".csv": "csv",
}


@click.command("report")
@click.argument("results", type=click.Path(), nargs=-1, required=True)
@click.option("-o", "--output", metavar="FILE", help="Write the report to FILE, in the form that its name ends in.")
@click.option("--as", "form", type=click.Choice(FORMATS), help="The form of FILE, or of the standard output.")
@click.option("--suite", metavar="SUITE", help="The eval file that recordings are checked against.")
@report_options
@click.option("-q", "--quiet", is_flag=True, help="Print only what did not pass, and the last lines.")
@click.option("--no-color", is_flag=True, help="Do not colour; the variable NO_COLOR does the same.")
def command(
    results: tuple[str, ...],
    output: str | None,
    form: str | None,
    suite: str | None,
    quiet: bool,
    no_color: bool,
    reports: ReportOptions,
) -> None:
    """Write reports of what was checked before.

    RESULTS are reports that `--json` wrote, rows of a simulation's results, or, with --suite, recordings in any
    format, which are checked now. Of several reports the last is the present one; the page compares it with those
    before. Without a file to write, the report is printed.

    Exit status: 0 the report is written, whatever it says; 2 the input could not be read or understood.

    \b
    Examples:
      tracewitness report report.json -o report.html
      tracewitness report monday.json tuesday.json -o report.html --junit junit.xml
      tracewitness report runs/ --suite orders.evals.yaml --as markdown
    """
    loaded = None if suite is None else load_suite(suite)
    asked = _asked(reports, output, form)
    documents = read_reports(results, loaded, asked.redaction)
    *earlier, present = documents
    console = None if asked.paths or asked.github else _console(present, quiet, no_color)
    inputs = [*results, *([suite] if suite else [])]
    with asked.open(present.head, console, inputs, earlier=earlier) as told:
        for run in present.runs:
            told.tell(run)
        told.tell_end(present.summary, present.notices)


def _asked(reports: ReportOptions, output: str | None, form: str | None) -> ReportOptions:
    """Return what is to be written, with what ``-o`` and ``--as`` ask for."""
    if output is None and form is None:
        return reports
    path = STANDARD_OUTPUT if output is None else output
    form = form or _ENDINGS.get(Path(path).suffix.lower())
    if form is None:
        raise UsageError(f"{path} does not end in {', '.join(_ENDINGS)}; say what it is to be with --as")
    if form in reports.paths:
        raise UsageError(f"--{form} and -o both name the file for {form}; leave one of them out")
    return structs.replace(reports, **{f"{form}_path": path})


def _console(document: ReportDocument, quiet: bool, no_color: bool) -> ConsoleReport:
    """Return what prints a report as the command did that wrote it."""
    is_judged = any(run.steps or run.judged or run.outcome not in ("passed", "failed") for run in document.runs)
    names = [case.name for case in document.summary.cases]
    is_simulated = document.command == "simulate" or (document.command == "report" and is_judged)
    kind = SimulationConsole if is_simulated else ConsoleReport
    return kind(color=color_of(no_color), quiet=quiet, names=names)
