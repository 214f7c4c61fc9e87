"""``tracewitness read``: what was understood of a recording."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator
from typing import Any

import click

from tracewitness.display import plural, printable, show
from tracewitness.errors import ReadError, UsageError
from tracewitness.readers import Run, iter_runs
from tracewitness.readers.frameworks.atif_writing import atif_of
from tracewitness.readers.neutral_schema import TRACE_VERSION
from tracewitness.readers.registry import reader_named
from tracewitness.reports.trace_table import table_lines
from tracewitness.trace import Trace

__all__ = ["command"]

_FORMS = ("table", "json", "atif")


@click.command("read")
@click.argument("file", type=click.Path())
@click.option("--as", "form", type=click.Choice(_FORMS), default=_FORMS[0], help="What to print; a table by default.")
@click.option("--format", "format_name", metavar="NAME", help="The recording's format; by default it is found.")
@click.option("--run", "wanted", metavar="NAME|NUMBER", help="Only the runs of that name, or the one with that number.")
@click.option("--no-color", is_flag=True, help="Do not colour; the variable NO_COLOR does the same.")
def command(file: str, form: str, format_name: str | None, wanted: str | None, no_color: bool) -> None:
    """Show what is understood of a recording, and what is not.

    FILE is a recording in any format of `tracewitness formats`, or a folder with some. As JSON each run is a line in
    neutral form, with its problems, that can be read again; as ATIF each is a trajectory on a line.

    Exit status: 0 all was understood, 1 there are problems, 2 a run could not be read.

    \b
    Examples:
      tracewitness read session.jsonl
      tracewitness read results.json --run order-1 --as json
    """
    reader = None if format_name is None else reader_named(format_name)
    color = False if no_color or os.environ.get("NO_COLOR") else None
    status = 0
    for run in _chosen(iter_runs([file], reader), wanted):
        status = max(status, _show(run, form, color))
    sys.exit(status)


def _chosen(runs: Iterable[Run], wanted: str | None) -> Iterator[Run]:
    """Yield the runs that are wanted. A name goes before a number, since names may be numbers."""
    if wanted is None:
        yield from runs
        return
    numbered, count, is_named = None, 0, False
    for count, run in enumerate(runs, 1):
        if run.name == wanted:
            is_named = True
            yield run
        elif str(count) == wanted:
            numbered = run
    if numbered is not None and not is_named:
        yield numbered
    elif not is_named:
        raise UsageError(f"no run is named {show(wanted)}; there are {plural(count, 'run')}")


def _show(run: Run, form: str, color: bool | None) -> int:
    """Print a run, and return what it means for the exit status."""
    if run.trace is None:
        click.echo(f"error: {printable(str(run.error), 2000)}", err=True)
        return 2
    if form == "table":
        _show_table(run, run.trace, color)
    else:
        _show_json(run, atif_of if form == "atif" else _neutral)
    return 1 if run.trace.problems or run.trace.no_evidence is not None else 0


def _show_table(run: Run, trace: Trace, color: bool | None) -> None:
    name = printable(run.name) or "a run without a name"
    where = printable(f"{run.source}, {run.place}" if run.place else run.source)
    counted = f"{plural(len(trace), 'event')}, {plural(len(trace.calls), 'call')}"
    click.echo(click.style(f"{name}  ({where})  {counted}", bold=True), color=color)
    for line in table_lines(trace):
        click.echo(f"  {line}", color=color)
    click.echo()


def _show_json(run: Run, written: Any) -> None:
    try:
        text = json.dumps(written(run.trace), ensure_ascii=False, default=show)
    except RecursionError as error:
        raise ReadError("it is nested too deeply to be written", run.source, run.place) from error
    click.echo(text)


def _neutral(trace: Trace) -> dict[str, Any]:
    """Return a trace as a document in neutral form, which can be read again, and its problems."""
    document = {"version": TRACE_VERSION, "name": trace.name, "events": trace.to_events()}
    if trace.no_evidence is not None:
        document["error"] = trace.no_evidence
    problems = [
        {
            "reason": problem.reason,
            "position": problem.position,
            "place": problem.place,
            "hides_call": problem.hides_call,
        }
        for problem in trace.problems
    ]
    return {**document, "problems": problems}
