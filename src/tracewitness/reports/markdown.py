"""The report as Markdown, for the summary of a pull request: counts, a table of cases, and what is not held."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from tracewitness.display import plural, printable
from tracewitness.reports.document import CaseEntry, Head, RunEntry, SummaryEntry, VerdictEntry
from tracewitness.reports.listening import FileReport

__all__ = ["MOST_BYTES", "MarkdownReport", "MarkdownText", "code"]

#: As much as GitHub takes of a step's summary: 1 MiB.
MOST_BYTES: Final = 1024 * 1024
#: What is kept free of that for the counts and for what says that something is left out.
_RESERVE: Final = 2048
#: The share of the space that the table of cases may have.
_SHARE_OF_TABLE: Final = 0.25
_MOST: Final = 600
_APART: Final = ("inconclusive", "infrastructure", "not_run", "unreadable")
#: What could be more than a character to Markdown, to HTML or to who looks for names and links in the text.
_ENTITIES: Final = str.maketrans({character: f"&#{ord(character)};" for character in "&<>|`*_[]~\\@:#$"})


def code(text: str, limit: int = _MOST) -> str:
    """Return an untrusted text as code. Nothing in it is markup, a mention, a link or the end of a table's cell.

    >>> code("a|b @me")
    '<code>a&#124;b &#64;me</code>'
    """
    return f"<code>{printable(text, limit).translate(_ENTITIES)}</code>" if text else ""


class MarkdownText:
    """Keeps what is not held while the runs come, as much as there is room for.

    Arguments:
        head: what stands before the runs.
    """

    def __init__(self, head: Head) -> None:
        self._head = head
        self._blocks: list[str] = []
        self._size = 0
        self._left_out = 0

    def run(self, run: RunEntry) -> None:
        """Keep what is not well in a run."""
        if run.outcome == "passed":
            return
        block = "\n".join(_block(run))
        size = len(block.encode("utf-8", "backslashreplace"))
        if self._left_out or self._size + size > MOST_BYTES:
            self._left_out += 1
            return
        self._blocks.append(block)
        self._size += size

    def text(self, summary: SummaryEntry, notices: Sequence[str], limit: int = MOST_BYTES) -> str:
        """Return the whole, of at most so many bytes; what is left out is counted."""
        beginning = f"## tracewitness: {_heading(summary)}\n\n{code(self._head.suite)}\n\n"
        room = max(limit - _RESERVE - len(beginning.encode()), 0)
        table = _cut(list(_rows(summary)), int(room * _SHARE_OF_TABLE), "| … | and {} more cases | | | |")
        parts = (
            [beginning, "\n".join((*_TABLE_HEAD, *table)), "\n"] if summary.cases or summary.missing else [beginning]
        )
        room -= sum(len(part.encode()) for part in parts)
        blocks = _cut(self._blocks, room, "… and {} more", self._left_out)
        if blocks:
            parts += ["\n### Not passed\n\n", "\n".join(blocks), "\n"]
        lines = [f"- {code(notice)}" for notice in (*_apart(summary), *notices)][:20]
        text = "".join([*parts, "\n", "\n".join(lines), "\n" if lines else ""])
        return text if len(text.encode()) <= limit else beginning[:limit]


_TABLE_HEAD: Final = ("| case | passed | failed | other | tool checks held |", "| --- | ---: | ---: | ---: | ---: |")


class MarkdownReport(FileReport):
    """Writes the report as GitHub Flavored Markdown of at most 1 MiB."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._text = MarkdownText(self._head)

    def run(self, run: RunEntry) -> None:
        """Keep what came of one run."""
        self._text.run(run)

    def finish(self, summary: SummaryEntry, notices: Sequence[str]) -> None:
        """Write the file, and put it in its place."""
        self._file.write(self._text.text(summary, notices))
        self._file.complete()


def _heading(summary: SummaryEntry) -> str:
    parts = [f"{summary.passed} of {plural(summary.runs, 'run')} passed"]
    parts += [f"{summary.failed} failed"] if summary.failed else []
    for outcome in _APART:
        count = getattr(summary, outcome)
        parts += [f"{count} {outcome.replace('_', ' ')}"] if count else []
    if summary.missing:
        parts.append(f"{plural(len(summary.missing), 'case')} without a run")
    mark = "✅" if summary.exit_status == 0 else "❌"
    return f"{mark} {', '.join(parts)}"


def _rows(summary: SummaryEntry) -> Iterator[str]:
    """Yield the rows of the table: what did not pass first, since the rest may be left out."""
    for name in summary.missing:
        yield f"| {code(name, 120)} | no run | | | |"
    for case in sorted(summary.cases, key=lambda case: case.passed == case.runs):
        yield _row(case)


def _row(case: CaseEntry) -> str:
    others = ", ".join(
        f"{getattr(case, outcome)} {outcome.replace('_', ' ')}" for outcome in _APART if getattr(case, outcome)
    )
    counted = f"{case.held}/{case.held + case.broken}"
    return f"| {code(case.name, 120)} | {case.passed}/{case.runs} | {case.failed} | {others} | {counted} |"


def _block(run: RunEntry) -> Iterator[str]:
    outcome = run.outcome.replace("_", " ")
    yield f"- **{outcome}** {code(run.group, 120)}, run {run.run} {code(run.where, 200)}"
    if run.error:
        yield f"  - {code(run.error)}"
        return
    for step in run.steps:
        if not step.reached:
            yield f"  - **goal** {code(step.goal, 200)}: {code(f'{step.status}: {step.justification}')}"
    for judged in run.judged:
        if not judged.met:
            yield f"  - **judged** {code(judged.title or judged.expectation, 200)}: {code(judged.justification)}"
    for verdict in run.verdicts:
        if not verdict.held:
            yield from _of_check(verdict)


def _of_check(verdict: VerdictEntry) -> Iterator[str]:
    place = f" {code(f'{verdict.file}:{verdict.line}', 200)}" if verdict.file and verdict.line else ""
    yield f"  - **{verdict.status}** {code(verdict.label, 200)}{place}"
    yield f"    - {code(verdict.justification)}"
    if verdict.near_miss is not None:
        for difference in verdict.near_miss.differences:
            yield f"    - nearest, at event {verdict.near_miss.position}: {code(difference.text)}"
    if verdict.reason:
        yield f"    - reason: {code(verdict.reason)}"


def _apart(summary: SummaryEntry) -> Iterator[str]:
    for name in summary.without_case:
        yield f"no case is named {name}; its runs had the common checks only"
    if summary.not_selected:
        yield f"{plural(summary.not_selected, 'run')} not selected"


def _cut(lines: Sequence[str], room: int, words: str, more: int = 0) -> list[str]:
    """Return as many of the lines as there is room for, and at the end how many there are beyond."""
    kept: list[str] = []
    for line in lines:
        room -= len(line.encode("utf-8", "backslashreplace")) + 1
        if room < 0:
            break
        kept.append(line)
    more += len(lines) - len(kept)
    return [*kept, words.format(more)] if more else kept
