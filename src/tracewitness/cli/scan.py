"""``tracewitness scan``: any number of recorded runs against an eval file."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from tracewitness.batch.extras import need, use_little_memory
from tracewitness.cli.scan_progress import ScanProgress
from tracewitness.display import printable

if TYPE_CHECKING:
    from tracewitness.batch.scanning import ScanResult

__all__ = ["command"]


@click.command("scan")
@click.argument("suite", type=click.Path())
@click.argument("inputs", nargs=-1, required=True, metavar="INPUT...")
@click.option("-o", "--output", required=True, metavar="FILE", help="Write the verdicts to it: .parquet or .jsonl.")
@click.option("--case", metavar="NAME", help="Check all runs against this case, whatever their names.")
@click.option("--format", "format_name", metavar="NAME", help="The records' format; any: each its own.")
@click.option("--column", metavar="NAME", help="Of a table, the column with the trace or its messages.")
@click.option("--by", multiple=True, metavar="NAME", help="Break the rates down by a column or a key of the records.")
@click.option("--engine", type=click.Choice(["local", "ray", "spark"]), default="local", help="What does the work.")
@click.option("--workers", type=int, metavar="N", help="How many processes; by default as many as cores.")
@click.option("--max-errors", type=click.IntRange(min=0), metavar="N", help="End when more records can't be read.")
@click.option("--resume", is_flag=True, help="Go on with a scan that did not end.")
@click.option("--sample", type=click.IntRange(min=0), default=0, metavar="N", help="Save N of the broken runs.")
@click.option("--sample-to", metavar="FOLDER", help="Where to; by default FILE.sample.")
@click.option("--seed", type=int, default=0, metavar="N", help="Another seed draws other runs for the sample.")
@click.option("--justify-held", is_flag=True, help="Write the justifications of checks that held, too.")
@click.option("--allow-missing", is_flag=True, help="A case without a run is not broken.")
@click.option("-q", "--quiet", is_flag=True, help="Print only the last line.")
def command(
    suite: str,
    inputs: tuple[str, ...],
    output: str,
    by: tuple[str, ...],
    allow_missing: bool,
    quiet: bool,
    **options: Any,
) -> None:
    """Check any number of recorded runs against an eval file, and write the verdicts to a file.

    SUITE is the eval file. INPUT is a file, a folder, a glob, a URL of fsspec, - for the standard input, or a table:
    duckdb://FILE?query=SELECT…, sqlite://FILE?table=NAME. Files are JSON Lines (plain, gzip, zstd), JSON arrays,
    Parquet and Arrow IPC; their records are in any format of `tracewitness formats`, which is found out on the first
    ones.

    A record that can't be read is a verdict, error, and ends nothing. What is complete is kept: after a kill, --resume
    goes on.

    Exit status: 0 all held, 1 something is broken, 2 something could not be read or understood, 3 nothing is broken but
    something is inconclusive: a recording breaks off.

    \b
    Examples:
      tracewitness scan orders.evals.yaml traffic/ -o verdicts.parquet --by model
      tracewitness scan orders.evals.yaml 'day=*/*.jsonl.zst' -o verdicts.parquet --sample 100
      tracewitness scan orders.evals.yaml logs.parquet --column messages --case refund -o verdicts.parquet
      tracewitness query verdicts.parquet "select label, count(*) from verdicts where status = 'broken' group by all"
    """
    scanning = need("tracewitness.batch.scanning", "batch", "a scan")
    use_little_memory()
    options["sample_to"] = (options["sample_to"] or f"{output}.sample") if options["sample"] else None
    with _interrupted_by_terminate(), ScanProgress(sys.stderr) as progress:
        result: ScanResult = scanning.scan(
            suite, inputs, output, scanning.Options(by=by, **options), progress=progress.show
        )
    for line in need("tracewitness.batch.summary", "batch", "a scan").summary_lines(result, quiet=quiet):
        click.echo(line)
    if options["sample"]:
        _save_sample(result, options["sample_to"], quiet=quiet)
    sys.exit(result.exit_status(allow_missing=allow_missing))


@contextmanager
def _interrupted_by_terminate() -> Iterator[None]:
    """Have SIGTERM end a scan as an interruption does: processes are ended, and what is complete is kept."""

    def end(number: int, _frame: object) -> None:
        signal.signal(number, signal.SIG_IGN)  # once is enough
        sys.exit(128 + number)

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _save_sample(result: ScanResult, folder: str, *, quiet: bool) -> None:
    saved = need("tracewitness.batch.sampling", "batch", "a scan").save(result.drawn, folder)
    if not quiet:
        click.echo(f"{saved} broken runs saved in {printable(folder)}; tracewitness check reads that folder")
