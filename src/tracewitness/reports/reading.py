"""Read reports again: report documents, the rows of a simulation, and recordings that are checked at once."""

from __future__ import annotations

import codecs
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from tracewitness.display import show
from tracewitness.errors import ReadError
from tracewitness.evals import SuiteCheck
from tracewitness.readers import Run, iter_runs
from tracewitness.readers.documents import GZIP, unzipped
from tracewitness.readers.folders import path_of_argument
from tracewitness.redaction import Redaction
from tracewitness.reports.counting import Counts
from tracewitness.reports.document import REPORT_VERSION, Head, ReportDocument, RunEntry, SummaryEntry
from tracewitness.reports.entries import Entries
from tracewitness.reports.listening import new_head
from tracewitness.reports.redacting import redacted_run
from tracewitness.reports.rows import entry_of_row, judged_too
from tracewitness.suites import Suite

__all__ = ["read_document", "read_reports"]

#: How a report begins, whatever became of the rest of it.
_BEGIN: Final = re.compile(rb'\s*\{\s*"version"\s*:[^,"{]{0,20},\s*"tracewitness"\s*:')
#: What became of a run of which nothing is known yet.
_UNDECIDED: Final = ("inconclusive", "infrastructure", "not_run")


class _Sniffed(Struct):
    """What tells a report document from all other JSON."""

    version: Any = UNSET
    tracewitness: Any = UNSET
    runs: Raw | UnsetType = UNSET


def read_document(path: str) -> ReportDocument | None:
    """Read a report document; None where the file is something else.

    Raises:
        ReadError: it is a report document that can't be used.
    """
    data = _content(path)
    try:
        sniffed = msgspec.json.decode(data, type=_Sniffed)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        if _BEGIN.match(data):
            problem = f"a report that is cut off or damaged: {error}; write it anew"
            raise ReadError(problem, path) from error
        return None
    if not isinstance(sniffed.tracewitness, str) or sniffed.runs is UNSET:
        return None
    if sniffed.version != REPORT_VERSION:
        version = "without a version" if sniffed.version is UNSET else f"in version {show(sniffed.version)}"
        problem = f"a report {version}; version {REPORT_VERSION} is read, so write it anew"
        raise ReadError(problem, path)
    try:
        return msgspec.json.decode(data, type=ReportDocument)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        problem = f"it is not of the form that `--json` writes: {error}; see `tracewitness schema --of report`"
        raise ReadError(problem, path) from error


def _content(path: str) -> bytes:
    """Return a file's bytes, unpacked and without a byte order mark; none where it can't be read.

    What reads recordings says then what is wrong with it.
    """
    try:
        data = Path(path).read_bytes()
        return (unzipped(data) if data.startswith(GZIP) else data).removeprefix(codecs.BOM_UTF8)
    except (OSError, ValueError, ReadError):
        return b""


def read_reports(paths: Sequence[str], suite: Suite | None, redaction: Redaction) -> list[ReportDocument]:
    """Read report documents, in order. All that are none are one report of recordings, which is the last.

    Arguments:
        paths: report documents, rows of a simulation, recordings, and folders with these; - is the standard input.
        suite: what recordings are checked against; without one they are to be rows that say what came of them.
        redaction: what is hidden.

    Raises:
        ReadError: something can't be read.
    """
    documents: list[ReportDocument] = []
    recordings: list[str] = []
    for argument in paths:
        path = path_of_argument(argument)
        document = None if Path(path).is_dir() else read_document(path)
        if document is not None:
            documents.append(_redacted(document, redaction))
        elif path != argument:
            raise ReadError("the standard input is no report document; recordings there are for `check`", "-")
        else:
            recordings.append(path)
    if recordings:
        runs = iter_runs(recordings)
        documents.append(_of_rows(runs, redaction) if suite is None else _checked(runs, suite, redaction))
    return documents


def _redacted(document: ReportDocument, redaction: Redaction) -> ReportDocument:
    """Return a document with what must not be shown hidden, in the names of its summary as well."""
    runs = tuple(redacted_run(run, redaction) for run in document.runs)
    counts, names = Counts(), dict[str, str]()
    for before, now in zip(document.runs, runs, strict=True):
        counts.add(now)
        if before.name != now.name:
            names[before.name] = now.name
    if not names:
        return msgspec.structs.replace(document, runs=runs)
    without_case = dict.fromkeys(names.get(name, name) for name in document.summary.without_case)
    cases = counts.entry(document.summary.exit_status).cases
    summary = msgspec.structs.replace(document.summary, cases=cases, without_case=tuple(without_case))
    return msgspec.structs.replace(document, runs=runs, summary=summary)


def _of_rows(runs: Iterable[Run], redaction: Redaction) -> ReportDocument:
    taken: defaultdict[str, set[int]] = defaultdict(set)
    entries: list[RunEntry] = []
    counts = Counts()
    for run in runs:
        if run.error is not None and run.data is None:
            raise run.error
        entries.append(entry_of_row(run, taken[run.name], redaction))
        taken[run.name].add(entries[-1].run)
        counts.add(entries[-1])
    return _document(new_head("", "report"), entries, counts.entry(_exit_status(entries)), ())


def _checked(runs: Iterable[Run], suite: Suite, redaction: Redaction) -> ReportDocument:
    checking = SuiteCheck(suite)
    entries: list[RunEntry] = []
    counts = Counts()
    make = Entries(redaction, suite.source)
    for report in checking.reports(runs):
        entries.append(judged_too(make.run(report), report.data))
        counts.add(entries[-1])
    status = max(checking.summary.exit_status, _exit_status(entries))
    summary = counts.entry(
        status,
        missing=tuple(checking.summary.missing),
        without_case=tuple(checking.summary.without_case),
    )
    return _document(new_head(suite.source, "report"), entries, summary, suite.notices)


def _document(head: Head, runs: Sequence[RunEntry], summary: SummaryEntry, notices: Sequence[str]) -> ReportDocument:
    fields = msgspec.structs.asdict(head)
    return ReportDocument(**fields, runs=tuple(runs), summary=summary, notices=tuple(notices))


def _exit_status(runs: Sequence[RunEntry]) -> int:
    """Return what `check` or `simulate` would end with."""
    outcomes = {run.outcome for run in runs}
    if "unreadable" in outcomes or not runs:
        return 2
    return 1 if "failed" in outcomes else 3 if outcomes.intersection(_UNDECIDED) else 0
