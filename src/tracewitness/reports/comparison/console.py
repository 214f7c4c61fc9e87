"""A comparison on a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import click

from tracewitness.reports.widths import wrapped

from .model import Comparison, Kind
from .telling import notes, told_cases, totals

__all__ = ["comparison_lines"]

_WORDS: Final[dict[Kind, tuple[str, str]]] = {
    "newly_broken": ("BROKEN", "red"),
    "vanished": ("GONE", "red"),
    "undecided": ("UNSURE", "red"),
    "flaky": ("FLAKY", "yellow"),
    "newly_held": ("HELD", "green"),
    "new": ("NEW", "green"),
    "same": ("SAME", ""),
}
_NARROWEST: Final = 40


def comparison_lines(comparison: Comparison, width: int | None = None) -> Iterator[str]:
    """Yield the lines of a comparison, coloured.

    Arguments:
        width: how wide the terminal is; None where lines are not to be wrapped.
    """
    for case in told_cases(comparison):
        yield _line(f"{case.case.title}  {case.case.text}", 0, width, case.kind)
        for kind, check in case.checks:
            yield _line(f"{check.title}  {check.text}", 4, width, kind)
            for line in check.more:
                yield _line(line, 8, width)
        if case.calls is not None:
            yield _line(f"calls, {case.calls.text}:", 4, width)
            for line in case.calls.more:
                yield _line(line, 8, width)
    for note in notes(comparison):
        yield _line(note, 0, width)
    yield _line(totals(comparison), 0, width)


def _line(text: str, indent: int, width: int | None, kind: Kind | None = None) -> str:
    word, color = _WORDS[kind] if kind else ("", "")
    begin = indent + (7 if word else 0)
    lines = [text] if width is None else wrapped(text, max(width, _NARROWEST), begin)
    styled = click.style(word.ljust(6), fg=color or None, bold=color == "red") + " " if word else ""
    return " " * indent + styled + f"\n{' ' * begin}".join(lines)
