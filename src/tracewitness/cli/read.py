"""``tracewitness read``: what was understood of a recording."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import click

from tracewitness.display import plural, printable, show
from tracewitness.errors import ReadError, UsageError
from tracewitness.readers import Run, iter_runs
from tracewitness.readers.folders import path_of_argument
from tracewitness.readers.frameworks.atif_writing import atif_of
from tracewitness.readers.neutral_schema import TRACE_VERSION
from tracewitness.readers.registry import reader_named
from tracewitness.reports.trace_table import table_lines
from tracewitness.trace import Trace

__all__ = ["command"]

_FORMS = ("table", "json", "atif")
_STRICTLY: Final[dict[str, Any]] = {"ensure_ascii": False, "allow_nan": False, "default": show}
_MOST_SHOWN: Final = 2000


@click.command("read")
@click.argument("file", type=click.Path())
@click.option("--as", "form", type=click.Choice(_FORMS), default=_FORMS[0], help="What to print; a table by default.")
@click.option("--format", "format_name", metavar="NAME", help="The recording's format; by default it is found.")
@click.option("--run", "wanted", metavar="NAME|NUMBER", help="Only the runs of that name, or the one with that number.")
@click.option("--no-color", is_flag=True, help="Do not colour; the variable NO_COLOR does the same.")
def command(file: str, form: str, format_name: str | None, wanted: str | None, no_color: bool) -> None:
    """Show what is understood of a recording, and what is not.

    FILE is a recording in any format of `tracewitness formats`, or a folder with some; - is the standard input. As
    JSON each run is a line in neutral form, with its problems, that can be read again; as ATIF each is a trajectory
    on a line.

    Exit status: 0 all was understood, 1 there are problems, 2 a run could not be read.

    \b
    Examples:
      tracewitness read session.jsonl
      tracewitness read results.json --run order-1 --as json
    """
    reader = None if format_name is None else reader_named(format_name)
    color = False if no_color or os.environ.get("NO_COLOR") else None
    status = 0
    for run in _chosen(iter_runs([path_of_argument(file)], reader), wanted):
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
        there = "there is" if count == 1 else "there are"
        raise UsageError(f"no run is named {show(wanted)}; {there} {plural(count, 'run')}")


def _show(run: Run, form: str, color: bool | None) -> int:
    """Print a run, and return what it means for the exit status."""
    if run.trace is None:
        click.echo(f"error: {printable(str(run.error), 2000)}", err=True)
        return 2
    if form == "table":
        _show_table(run, run.trace, color)
    else:
        try:
            click.echo(_json_of(run, run.trace, form))
        except ReadError as error:
            click.echo(f"error: {printable(str(error), 2000)}", err=True)
            return 2
    return 1 if run.trace.problems or run.trace.no_evidence is not None else 0


def _show_table(run: Run, trace: Trace, color: bool | None) -> None:
    name = printable(run.name) or "a run without a name"
    where = printable(f"{run.source}, {run.place}" if run.place else run.source)
    counted = f"{plural(len(trace), 'event')}, {plural(len(trace.calls), 'call')}"
    click.echo(click.style(f"{name}  ({where})  {counted}", bold=True), color=color)
    for line in table_lines(trace):
        click.echo(f"  {line}", color=color)
    click.echo()


def _json_of(run: Run, trace: Trace, form: str) -> str:
    """Return a trace as a line of strict JSON in which nothing moves the cursor or turns the line round.

    Raises:
        ReadError: JSON can't hold it.
    """
    try:
        text = json.dumps(atif_of(trace) if form == "atif" else _neutral(trace), **_STRICTLY)
    except RecursionError as error:
        raise ReadError("it is nested too deeply to be written", run.source, run.place) from error
    except (TypeError, ValueError) as error:
        raise ReadError(f"it has what JSON can't hold: {error}", run.source, run.place) from error
    return text if text.isprintable() else "".join(map(_escaped, text))


def _escaped(character: str) -> str:
    return character if character.isprintable() else json.dumps(character)[1:-1]


def _neutral(trace: Trace) -> dict[str, Any]:
    """Return a trace as a document in neutral form, which can be read again, and its problems."""
    document = {"version": TRACE_VERSION, "name": trace.name, "events": list(map(_event, trace.to_events()))}
    if trace.no_evidence is not None:
        document["error"] = trace.no_evidence
    problems = [
        {
            "reason": problem.reason,
            "position": problem.position,
            "place": problem.place,
            "hides_call": problem.hides_call,
            "cut": problem.cut,
        }
        for problem in trace.problems
    ]
    return {**document, "problems": problems}


def _event(event: Any) -> Any:
    """Return an event as strict JSON has it: arguments or a result with NaN are kept as undecoded text."""
    if not isinstance(event, Mapping):
        return event if _is_strict(event) else show(event)
    written: dict[str, Any] = {}
    for key, value in event.items():
        if _is_strict(value):
            written[key] = value
        elif key in ("args", "result"):
            written[f"raw_{key}"] = _loose(value)
        else:
            written[key] = {"undecoded": _loose(value)} if isinstance(value, Mapping) else _loose(value)
    return written


def _is_strict(value: Any) -> bool:
    if value is None or isinstance(value, (str, bool)):
        return True
    try:
        json.dumps(value, **_STRICTLY)
    except (TypeError, ValueError):
        return False
    return True


def _loose(value: Any) -> str:
    """Return a value as JSON with what Python adds to it, else as Python shows it."""
    try:
        return json.dumps(value, ensure_ascii=False, default=show)
    except (TypeError, ValueError):
        return show(value, _MOST_SHOWN)
