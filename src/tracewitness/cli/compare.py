"""``tracewitness compare``: what changed from one report to another."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Final

import click

from tracewitness.cli.report_options import color_of
from tracewitness.errors import UsageError
from tracewitness.redaction import Redaction
from tracewitness.reports.comparison import Comparison, compare
from tracewitness.reports.comparison.console import comparison_lines
from tracewitness.reports.comparison.writing import as_html, as_json, as_markdown
from tracewitness.reports.document import ReportDocument
from tracewitness.reports.output import STANDARD_OUTPUT, OutputFile
from tracewitness.reports.reading import read_reports
from tracewitness.suites import Suite, load_suite

__all__ = ["command"]

_FORMS: Final = {"markdown": as_markdown, "html": as_html, "json": as_json}
_ENDINGS: Final = {".md": "markdown", ".markdown": "markdown", ".html": "html", ".htm": "html", ".json": "json"}


@click.command("compare")
@click.argument("base", type=click.Path())
@click.argument("new", type=click.Path())
@click.option("--name", "names", metavar="NAME", multiple=True, help="Only the case with this name; may be repeated.")
@click.option(
    "--tolerance", default="0", metavar="RATE", help="A pass rate may drop by so much, such as 0.1; 0 by default."
)
@click.option(
    "--alpha", metavar="P", help="A drop counts only where chance explains it with less than P, such as 0.05."
)
@click.option("--allow-missing", is_flag=True, help="Cases and checks may be gone.")
@click.option("--suite", metavar="SUITE", help="The eval file that recordings are checked against.")
@click.option("-o", "--output", metavar="FILE", help="Write it to FILE too, in the form that its name ends in.")
@click.option("--as", "form", type=click.Choice([*_FORMS]), help="The form of FILE, or of the standard output.")
@click.option("--redact", metavar="PATH", multiple=True, help="Hide this, such as args.card; may be repeated.")
@click.option("--redact-secrets/--no-redact-secrets", default=True, help="Whether to hide what looks like a secret.")
@click.option("--no-color", is_flag=True, help="Do not colour; the variable NO_COLOR does the same.")
def command(
    base: str,
    new: str,
    names: tuple[str, ...],
    tolerance: str,
    alpha: str | None,
    allow_missing: bool,
    suite: str | None,
    output: str | None,
    form: str | None,
    redact: tuple[str, ...],
    redact_secrets: bool,
    no_color: bool,
) -> None:
    """Compare two reports.

    BASE and NEW are reports that `--json` wrote, rows of a simulation's results, or, with --suite, recordings. Told is
    what broke, what holds now, what is flaky, what is new or gone, and which calls changed. Of a case with several runs
    the rates are compared, with the p-value of Fisher's exact test: how likely they differ so much by chance.

    A case or check broke where it holds less often than before; what is new breaks where it does not hold. With
    --tolerance or --alpha a drop may be flaky instead. Where so few runs could never have a p-value below --alpha, it
    counts all the same.

    Exit status: 0 nothing broke; 1 something broke, is gone (--allow-missing), or has no run any more that says
    something of the agent; 2 the input could not be read or understood.

    \b
    Examples:
      tracewitness compare monday.json tuesday.json
      tracewitness compare main.json branch.json --tolerance 0.1 -o comparison.md
    """
    if base == new == STANDARD_OUTPUT:
        raise UsageError("the standard input can be one of the two reports, and not both")
    form = _form_of(output, form)
    loaded = None if suite is None else load_suite(suite)
    redaction = Redaction(redact, secrets=redact_secrets)
    documents = [_read(path, loaded, redaction) for path in (base, new)]
    comparison = compare(*documents, names=names, tolerance=tolerance, alpha=alpha, allow_missing=allow_missing)
    is_taken = form is not None and output in (None, STANDARD_OUTPUT)
    if form is not None:
        _write(comparison, form, output or STANDARD_OUTPUT, [path for path in (base, new, suite) if path])
    if not is_taken:
        width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
        for line in comparison_lines(comparison, width):
            click.echo(line, color=color_of(no_color))
    sys.exit(comparison.exit_status)


def _form_of(output: str | None, form: str | None) -> str | None:
    if output is None or form is not None:
        return form
    found = _ENDINGS.get(Path(output).suffix.lower())
    if found is None:
        raise UsageError(f"{output} does not end in {', '.join(_ENDINGS)}; say what it is to be with --as")
    return found


def _read(path: str, suite: Suite | None, redaction: Redaction) -> ReportDocument:
    (document,) = read_reports([path], suite, redaction)
    return document


def _write(comparison: Comparison, form: str, path: str, inputs: list[str]) -> None:
    with OutputFile(path, inputs) as file:
        file.write(_FORMS[form](comparison))
        file.complete()
