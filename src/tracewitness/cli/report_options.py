"""The options for reports, which are the same for all commands that make some."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from typing import Any, Final

import click
from msgspec import Struct

from tracewitness.errors import UsageError
from tracewitness.redaction import Redaction
from tracewitness.reports.console import ConsoleReport
from tracewitness.reports.document import Head, ReportDocument
from tracewitness.reports.listening import Listener, Reports
from tracewitness.reports.output import STANDARD_OUTPUT, OutputFile

__all__ = ["FORMATS", "ReportOptions", "color_of", "file_listener", "report_options"]

#: What a report can be written as.
FORMATS: Final = ("json", "html", "junit", "markdown", "csv")
_OPTIONS: Final = (
    click.option(
        "--json", "json_path", metavar="FILE", help="Write everything to FILE as JSON; - is the standard output."
    ),
    click.option(
        "--html", "html_path", metavar="FILE", help="Write everything to FILE as a page that opens from disk."
    ),
    click.option("--junit", "junit_path", metavar="FILE", help="Write the checks to FILE as JUnit XML."),
    click.option("--markdown", "markdown_path", metavar="FILE", help="Write a summary to FILE as Markdown."),
    click.option("--csv", "csv_path", metavar="FILE", help="Write the checks to FILE as CSV, one row a check."),
    click.option("--github", is_flag=True, help="Annotate the eval file, and append to $GITHUB_STEP_SUMMARY."),
    click.option(
        "--redact", "redact", metavar="PATH", multiple=True, help="Hide this, such as args.card; may be repeated."
    ),
    click.option(
        "--redact-secrets/--no-redact-secrets",
        "redact_secrets",
        default=True,
        help="Whether to hide what looks like a secret; it is by default.",
    ),
)


class ReportOptions(Struct, frozen=True):
    """What was given on the command line.

    Attributes:
        json_path, html_path, junit_path, markdown_path, csv_path: the files to write.
        github: whether it is for a workflow of GitHub.
        redact: patterns of paths to what is hidden.
        redact_secrets: whether known secrets are hidden.
    """

    json_path: str | None = None
    html_path: str | None = None
    junit_path: str | None = None
    markdown_path: str | None = None
    csv_path: str | None = None
    github: bool = False
    redact: tuple[str, ...] = ()
    redact_secrets: bool = True

    @property
    def paths(self) -> dict[str, str]:
        """The files to write, by format."""
        given = {form: getattr(self, f"{form}_path") for form in FORMATS}
        return {form: path for form, path in given.items() if path is not None}

    @property
    def files(self) -> dict[str, str]:
        """The files to write that are not the standard output, by format."""
        return {form: path for form, path in self.paths.items() if path != STANDARD_OUTPUT}

    @property
    def takes_standard_output(self) -> bool:
        """Whether a report is written to the standard output, so that nothing else may be."""
        return STANDARD_OUTPUT in self.paths.values()

    @property
    def redaction(self) -> Redaction:
        """What is hidden.

        Raises:
            UsageError: a pattern is malformed.
        """
        return Redaction(self.redact, secrets=self.redact_secrets)

    def open(
        self,
        head: Head,
        console: ConsoleReport | None,
        inputs: Iterable[str],
        *,
        earlier: Sequence[ReportDocument] = (),
    ) -> Reports:
        """Return what tells all that were asked for; it is to be used as a context.

        Arguments:
            head: what stands before the runs.
            console: what is printed, if anything.
            inputs: the files that are being read.
            earlier: earlier reports, the oldest first, for the page.

        Raises:
            UsageError: a file can't be written, or is needed for something else.
        """
        inputs = tuple(inputs)
        _refuse_twice(self.paths)
        listeners: list[Listener] = [
            file_listener(form, path, head, inputs, earlier) for form, path in self.paths.items()
        ]
        if console is not None:
            listeners.append(console)
        if self.github:
            listeners.append(_github(head, takes_standard_output=self.takes_standard_output))
        return Reports(listeners, self.redaction, head.suite)


def report_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options for reports; it takes them together as ``reports``, a `ReportOptions`."""

    @wraps(command)
    def with_reports(**given: Any) -> Any:
        reports = ReportOptions(**{name: given.pop(name) for name in ReportOptions.__struct_fields__})
        return command(reports=reports, **given)

    for option in reversed(_OPTIONS):
        option(with_reports)
    return with_reports


def file_listener(
    form: str, path: str, head: Head, inputs: Iterable[str], earlier: Sequence[ReportDocument] = ()
) -> Listener:
    """Return what writes a file in one of `FORMATS`; each is imported when it is asked for.

    Raises:
        UsageError: the file can't be written.
    """
    if form == "html":
        from tracewitness.reports.html import HtmlReport

        return HtmlReport(path, head, earlier=earlier, inputs=inputs)
    file = OutputFile(path, inputs)
    if form == "junit":
        from tracewitness.reports.junit import JunitReport

        return JunitReport(file, head)
    if form == "markdown":
        from tracewitness.reports.markdown import MarkdownReport

        return MarkdownReport(file, head)
    if form == "csv":
        from tracewitness.reports.csv_file import CsvReport

        return CsvReport(file, head)
    from tracewitness.reports.json_file import JsonReport

    return JsonReport(file, head)


def _refuse_twice(paths: dict[str, str]) -> None:
    """Refuse two reports in one file."""
    seen: dict[str, str] = {}
    for form, path in paths.items():
        other = seen.setdefault(path if path == STANDARD_OUTPUT else os.path.realpath(path), form)
        if other != form:
            name = "the standard output" if path == STANDARD_OUTPUT else path
            raise UsageError(f"--{other} and --{form} can't both be written to {name}; each needs a file of its own")


def _github(head: Head, *, takes_standard_output: bool) -> Listener:
    from tracewitness.reports.github import SUMMARY_VARIABLE, GithubReport

    # GitHub takes commands from both streams.
    stream = sys.stderr if takes_standard_output else sys.stdout
    return GithubReport(head, stream, os.environ.get(SUMMARY_VARIABLE))


def color_of(no_color: bool) -> bool | None:
    """Return whether to colour; None leaves it to the terminal."""
    return False if no_color or os.environ.get("NO_COLOR") else None
