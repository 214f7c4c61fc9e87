"""What the failed runs of a repeated test have in common, and how its report says so."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final

from _pytest._code.code import ExceptionRepr
from msgspec import Struct

from tracewitness.display import plural, printable

__all__ = ["Failure", "common_lines", "with_summary"]

_MOST_GROUPS: Final = 5
_SECTION: Final = "repeated runs"

#: What differs from run to run in a message that is the same: numbers, addresses, identifiers with digits in them.
_varying: Final = re.compile(r"\b0x[0-9a-fA-F]++|\d++").sub


class Failure(Struct, frozen=True):
    """Why a run failed, in a line.

    Attributes:
        message: the first line of the exception.
        place: file and line where it was raised, where that is known.
    """

    message: str
    place: str = ""

    @classmethod
    def of(cls, report: Any, root: str) -> Failure:
        """Return it of a report.

        Arguments:
            root: the folder from which files are named.
        """
        crash = getattr(report.longrepr, "reprcrash", None)
        if crash is None:
            reason = getattr(report, "wasxfail", "") or str(report.longrepr or "")
            return cls(_first_line(reason))
        place = _last_shown(report.longrepr) or crash  # of a TestCase, the crash is in the code of unittest
        path = Path(root, place.path)
        shown = path.relative_to(root).as_posix() if path.is_relative_to(root) else str(path)
        return cls(_first_line(crash.message), printable(f"{shown}:{place.lineno}"))

    @property
    def kind(self) -> tuple[str, str]:
        """What is the same in failures that are alike."""
        return _varying("#", self.message), self.place

    def __str__(self) -> str:
        return f"{self.message} ({self.place})" if self.place else self.message


def _last_shown(failure: Any) -> Any:
    """Return the place of the last frame that a traceback shows; None where it shows none."""
    entries = getattr(getattr(failure, "reprtraceback", None), "reprentries", ())
    return getattr(entries[-1], "reprfileloc", None) if entries else None


def _first_line(text: str) -> str:
    return printable(next(iter(text.strip().splitlines()), "") or "no message", 300)


def common_lines(failures: Sequence[Failure]) -> list[str]:
    """Return a line for each kind of failure, the most frequent first.

    >>> common_lines([Failure("no order 1", "t.py:3"), Failure("late"), Failure("no order 2", "t.py:3")])
    ['2 of 3 failed runs: no order 1 (t.py:3)', '1 of 3 failed runs: late']
    """
    groups: dict[tuple[str, str], list[Failure]] = {}
    for failure in failures:
        groups.setdefault(failure.kind, []).append(failure)
    ordered = sorted(groups.values(), key=len, reverse=True)
    total = plural(len(failures), "failed run")
    lines = [f"{len(group)} of {total}: {group[0]}" for group in ordered[:_MOST_GROUPS]]
    if len(ordered) > _MOST_GROUPS:
        lines.append(f"… and {plural(len(ordered) - _MOST_GROUPS, 'other kind')} of failure")
    return lines


def with_summary(report: Any, head: str, lines: Iterable[str]) -> None:
    """Let a report of the first failed run say what came of all: its message, and a section after its traceback.

    Arguments:
        head: what came of all, in a line.
        lines: more of it.
    """
    report.outcome = "failed"
    text = "\n".join(lines)
    failure = report.longrepr
    if not isinstance(failure, ExceptionRepr):
        first = f"\n\nthe first failed run:\n{failure}" if failure else ""
        report.longrepr = f"{head}\n\n{text}{first}"
        return
    failure.addsection(_SECTION, text)
    if failure.reprcrash is not None:
        failure.reprcrash.message = f"{head}; first: {_first_line(failure.reprcrash.message)}"
