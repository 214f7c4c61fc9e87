"""``tracewitness baseline``: the recorded calls that tests are compared with."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from tracewitness.baselines.accepting import accept, files_at, pending_changes, remove, stored, waiting
from tracewitness.baselines.document import Entry, FileCall
from tracewitness.baselines.encoding import expectation
from tracewitness.baselines.locations import test_module_of
from tracewitness.display import plural, printable, show
from tracewitness.errors import ExpectationError, ReadError, UsageError
from tracewitness.matching import parse

__all__ = ["command"]

_PLACE = click.Path(path_type=Path)


@click.group("baseline")
def command() -> None:
    """List, show, remove and accept baselines of tests.

    A baseline has the calls of a test's first run. PLACE is a folder, a module of tests, or a file of baselines such
    as tests/__witness__/test_orders.witness.yaml; KEY is a baseline in it, as the list shows it.
    """


@command.command("list")
@click.argument("place", type=_PLACE, default=".")
def list_command(place: Path) -> None:
    """List baselines, those with changes that wait to be accepted, and those that no test has.

    Exit status: 0, or 2 where a file could not be read.

    \b
    Example:
      tracewitness baseline list tests
    """
    files = files_at(place)
    statuses = [_listed(path) for path in files]
    if not files:
        click.echo(f"no baselines in {printable(str(place), 400)}")
    sys.exit(max(statuses, default=0))


def _listed(path: Path) -> int:
    """Print one file, and return what it means for the exit status."""
    module = test_module_of(path)
    missing = "" if module.exists() else f"  (there is no {printable(str(module), 400)})"
    click.echo(click.style(printable(str(path), 400), bold=True) + missing)
    try:
        entries, pending = stored(path).entries, waiting(path).entries
    except (ExpectationError, ReadError) as error:
        click.echo(f"  error: {printable(str(error), 2000)}", err=True)
        return 2
    for key in sorted({*entries, *pending}):
        told = _told(entries[key]) if key in entries else "not recorded"
        mark = "  changes wait to be accepted" if key in pending else ""
        click.echo(f"  {printable(key, 300)}  {told}{mark}")
    return 0


def _told(entry: Entry) -> str:
    tools = [call.tool for item in entry.items for call in item.calls]
    return f"{plural(len(tools), 'call')}: {printable(', '.join(tools), 80)}" if tools else "no calls"


@command.command("show")
@click.argument("place", type=_PLACE)
@click.argument("keys", nargs=-1, metavar="[KEY]...")
def show_command(place: Path, keys: tuple[str, ...]) -> None:
    """Show the calls of baselines, and what waits to be accepted.

    \b
    Example:
      tracewitness baseline show tests/test_orders.py test_refund
    """
    for path in files_at(place):
        entries, pending = stored(path).entries, waiting(path).entries
        known = sorted({*entries, *pending})
        for key in keys or known:
            if key not in known:
                raise UsageError(f"{printable(str(path), 400)} has no baseline {show(key, 200)}; see the list")
            _show(path, key, entries.get(key))


def _show(path: Path, key: str, entry: Entry | None) -> None:
    click.echo(click.style(printable(key, 300), bold=True) + f"  ({printable(str(path), 400)})")
    for item in () if entry is None else entry.items:
        for call in item.calls:
            click.echo(f"  {'in parallel: ' if item.is_group else ''}{_shown(call)}")
    for line in pending_changes(path, key):
        click.echo(f"  {line}")


def _shown(call: FileCall) -> str:
    try:
        fields: Any = parse(expectation(call.fields))
    except ExpectationError as error:
        raise call.located(error) from error
    args = fields.get("args", fields.get("raw_args", {}))
    inside = ", ".join(f"{key}={show(value)}" for key, value in args.items()) if isinstance(args, dict) else show(args)
    answer = f" -> {show(fields['result'])}" if "result" in fields else ""
    return printable(f"{call.tool}({inside}){answer}", 1000)


@command.command("rm")
@click.argument("place", type=_PLACE)
@click.argument("keys", nargs=-1, metavar="[KEY]...")
@click.option("--all", "everything", is_flag=True, help="Remove all baselines of the file.")
def rm_command(place: Path, keys: tuple[str, ...], everything: bool) -> None:
    """Remove baselines. The next run records them anew.

    \b
    Example:
      tracewitness baseline rm tests/test_orders.py test_refund
    """
    if bool(keys) == everything:
        raise UsageError("name the baselines that are to be removed, or say --all")
    if place.is_dir():
        raise UsageError("baselines are removed from one file at a time; name it, or its module of tests")
    for path in files_at(place):
        for key in remove(path, keys):
            click.echo(f"removed {printable(key, 300)}  ({printable(str(path), 400)})")


@command.command("accept")
@click.argument("place", type=_PLACE, default=".")
@click.argument("keys", nargs=-1, metavar="[KEY]...")
def accept_command(place: Path, keys: tuple[str, ...]) -> None:
    """Take over what failed comparisons have seen, without another run.

    Matchers that a person wrote into a baseline stay where they match what came.

    \b
    Examples:
      tracewitness baseline accept
      tracewitness baseline accept tests/test_orders.py test_refund
    """
    if keys and place.is_dir():
        raise UsageError("single baselines are accepted from one file; name it, or its module of tests")
    accepted = [(path, key) for path in files_at(place) for key in accept(path, keys)]
    for path, key in accepted:
        click.echo(f"accepted {printable(key, 300)}  ({printable(str(path), 400)})")
    if not accepted:
        click.echo("nothing waits to be accepted")
