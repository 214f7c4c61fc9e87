"""Write the page: runs are packed as they come, and the file is put in its place when it is complete."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any, Final, Self, TypeVar

import msgspec

from tracewitness.errors import UsageError
from tracewitness.reports.document import Head, ReportDocument, RunEntry, SummaryEntry
from tracewitness.reports.output import OutputFile
from tracewitness.trace import Trace

from .history import Results, changes, results_of
from .index import Index, events_read
from .packing import browser_json, fields_of, inline_json, packed
from .page import page_parts

__all__ = ["HtmlReport", "write_html"]

_Form = TypeVar("_Form")

#: So many bytes of runs, before they are packed, make a piece of the page's data: the browser unpacks one at a time.
_CHUNK: Final = 400_000
#: Packed runs are kept in memory up to so many bytes, and beyond that in a file.
_IN_MEMORY: Final = 8 << 20
_COPIED: Final = 1 << 20


class HtmlReport:
    """Writes the report page. Used as a context; what is not completed leaves no file.

    Arguments:
        path: the file, as of `OutputFile`.
        head: what the document says of itself: ``suite``, ``command``, ``created_at`` and so on.
        earlier: documents of earlier reports, the oldest first. The last is what the page compares with; all are in
            its chart of pass rates.
        inputs: the files that are being read; none of them is written over.

    Raises:
        UsageError: the file can't be written, or something is not of the form of report documents.

    Example::

        with HtmlReport("report.html", head) as report:
            for run in runs:
                report.run(run)
            report.finish(summary)
    """

    #: What happened in each run is shown, and the words of checks that held.
    needs_all: bool = True

    def __init__(
        self,
        path: str | os.PathLike[str],
        head: Mapping[str, Any] | Head,
        *,
        earlier: Iterable[Mapping[str, Any] | ReportDocument] = (),
        inputs: Iterable[str] = (),
    ) -> None:
        self._file = OutputFile(os.fspath(path), inputs)
        self._head = _as(Head, head, "the head of the report")
        documents = (_as(ReportDocument, document, "an earlier report") for document in earlier)
        self._earlier = [results_of(document.head, document.runs) for document in documents]
        self._results = Results(self._head)
        self._index = Index()
        self._chunks = 0
        self._lines: list[bytes] = []
        self._size = 0

    def __enter__(self) -> Self:
        self._file.__enter__()
        # The index stands before the runs in the page and is known after them.
        self._packed = tempfile.SpooledTemporaryFile(_IN_MEMORY)
        return self

    def run(self, run: Mapping[str, Any] | RunEntry) -> None:
        """Take in one run, as it stands in the document.

        Raises:
            UsageError: it is not of the form of report documents, or can't be written.
        """
        entry = _as(RunEntry, run, "a run of the report")
        plain: dict[str, Any] = fields_of(run) if isinstance(run, RunEntry) else dict(run)
        trace = _trace(entry)
        self._index.add(entry, trace, self._chunks)
        self._results.add(entry)
        line = browser_json(plain if trace is None else {**plain, "read": events_read(trace)})
        self._lines.append(line)
        self._size += len(line)
        if self._size >= _CHUNK:
            self._pack()

    def _pack(self) -> None:
        """Write the runs that were collected as one piece."""
        if not self._lines:
            return
        piece = packed(b"\n".join(self._lines))
        try:
            self._packed.write(_data(f"chunk-{self._chunks}", "text/plain", piece).encode())
        except OSError as error:
            raise UsageError(f"no room for the report's data: {error.strerror or error}") from error
        self._chunks += 1
        self._lines, self._size = [], 0

    def finish(self, summary: Mapping[str, Any] | SummaryEntry, notices: Sequence[str] = ()) -> None:
        """Write the page with its counts, and put the file in its place.

        Arguments:
            summary: the document's summary.
            notices: what the reader should know.

        Raises:
            UsageError: the summary is not of the form of report documents, or the file can't be written.
        """
        overview = self._overview(_as(SummaryEntry, summary, "the summary of the report"), notices)
        self._pack()
        before, script, after = page_parts()
        index = packed(browser_json(self._index.to_dict()))
        self._file.write(before)
        self._file.write(_data("report", "application/json", inline_json(overview | {"chunks": self._chunks})))
        self._file.write(_data("index", "text/plain", index))
        self._file.write(script)
        self._copy_packed()
        self._file.write(after)
        self._file.complete()

    def _overview(self, summary: SummaryEntry, notices: Sequence[str]) -> dict[str, Any]:
        """Return what the page shows before it unpacks anything."""
        return {
            **{name: getattr(self._head, name) for name in ("suite", "command", "created_at", "tracewitness")},
            "summary": summary,
            "notices": list(notices),
            "results": self._results.to_dict(),
            "earlier": [results.to_dict() for results in self._earlier],
            "changes": changes(self._earlier[-1], self._results) if self._earlier else None,
            "tools": self._index.tools.to_list(),
        }

    def _copy_packed(self) -> None:
        self._packed.seek(0)
        while data := self._packed.read(_COPIED):
            self._file.write(data.decode())

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._packed.close()
        self._file.__exit__(kind, error, trace)


def write_html(
    document: Mapping[str, Any] | ReportDocument,
    path: str | os.PathLike[str],
    *,
    earlier: Sequence[Mapping[str, Any] | ReportDocument] = (),
) -> None:
    """Write a report document as a page.

    Arguments:
        document: the document, redacted as it is to be shown.
        path: the file.
        earlier: documents of earlier reports, the oldest first.

    Raises:
        UsageError: the file can't be written, or a document is not of its form.

    Example::

        write_html(json.loads(Path("report.json").read_text()), "report.html")
    """
    whole = _as(ReportDocument, document, "the report")
    runs = document.runs if isinstance(document, ReportDocument) else document["runs"]
    with HtmlReport(path, whole.head, earlier=earlier) as report:
        for run in runs:
            report.run(run)
        report.finish(whole.summary, whole.notices)


def _as(form: type[_Form], value: Any, what: str) -> _Form:
    """Return a value in its form; a document may come from anywhere."""
    if isinstance(value, form):
        return value
    try:
        return msgspec.convert(value, form)
    except (msgspec.ValidationError, RecursionError) as error:
        raise UsageError(f"{what} is not of the form that `--json` writes: {error}") from error


def _trace(run: RunEntry) -> Trace | None:
    """Return the run's trace, by which its events are understood."""
    return None if run.events is None else Trace.from_events(run.events)


def _data(name: str, kind: str, data: str) -> str:
    return f'<script type="{kind}" id="{name}">{data}</script>\n'
