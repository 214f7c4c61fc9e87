"""The index of the runs: what the page's list, filters and matrix show without a look into a single run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from msgspec import UNSET

from tracewitness.reports.document import RunEntry
from tracewitness.trace import End, Event, Message, ToolCall, ToolResult, Trace, Transfer, Unreadable

__all__ = ["Index", "ToolCounts", "events_read"]

_MOST_FINDING = 200


class Names:
    """Names that are written once and meant by their number."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def number(self, name: str) -> int:
        """Return the number of a name; a new one gets the next."""
        return self._numbers.setdefault(name, len(self._numbers))

    def numbers(self, names: Iterable[str]) -> list[int]:
        """Return the numbers of names, each once."""
        return list(dict.fromkeys(map(self.number, names)))

    def __iter__(self) -> Iterator[str]:
        return iter(self._numbers)


class ToolCounts:
    """How often each tool was called, by how many runs, and what came of it."""

    def __init__(self) -> None:
        self._counts: dict[str, list[int]] = {}

    def add(self, calls: tuple[ToolCall, ...]) -> None:
        """Count the calls of one run."""
        seen = set()
        for call in calls:
            counts = self._counts.setdefault(call.name, [0, 0, 0, 0])
            counts[0] += 1
            counts[1] += bool(call.is_error)
            counts[2] += call.answer is None
            counts[3] += call.name not in seen
            seen.add(call.name)

    def to_list(self) -> list[dict[str, Any]]:
        """Return the counts, the tool that was called most often first."""
        ordered = sorted(self._counts.items(), key=lambda item: (-item[1][0], item[0]))
        return [
            {"tool": tool, **dict(zip(("calls", "errors", "unanswered", "runs"), counts, strict=True))}
            for tool, counts in ordered
        ]


class Index:
    """Columns of what is known of each run, in the order of the runs."""

    def __init__(self) -> None:
        self.tools = ToolCounts()
        self._cases, self._tags, self._operators, self._tool_names = Names(), Names(), Names(), Names()
        self._rows: list[list[Any]] = []

    def __len__(self) -> int:
        return len(self._rows)

    def add(self, run: RunEntry, trace: Trace | None, chunk: int) -> None:
        """Take in a run, which stands in a chunk of the page's data."""
        calls = () if trace is None else trace.calls
        self.tools.add(calls)
        broken = [check for check in run.verdicts if not check.held]
        asked = [tool for check in run.verdicts for tool in check.tools]
        self._rows.append(
            [
                self._cases.number(run.group),
                run.run,
                run.name if run.name != run.group else None,
                run.outcome,
                run.status,
                self._tags.numbers(run.tags),
                self._operators.numbers([check.operator for check in run.verdicts]),
                self._operators.numbers([check.operator for check in broken]),
                self._tool_names.numbers([*(call.name for call in calls), *asked]),
                [len(run.verdicts) - len(broken), len(run.verdicts)],
                _met([each.met for each in run.judged]),
                len(calls),
                None if run.duration_s is UNSET else run.duration_s,
                _finding(run, [check.label for check in broken]),
                chunk,
            ]
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the names and the columns."""
        names = (
            "case",
            "run",
            "name",
            "result",
            "status",
            "tags",
            "operators",
            "broken",
            "tools",
            "checks",
            "judged",
            "calls",
            "seconds",
            "finding",
            "chunk",
        )
        columns = zip(*self._rows, strict=True) if self._rows else ([] for _ in names)
        return {
            "names": {
                "case": list(self._cases),
                "tags": list(self._tags),
                "operators": list(self._operators),
                "tools": list(self._tool_names),
            },
            "count": len(self._rows),
            "columns": {name: list(column) for name, column in zip(names, columns, strict=True)},
        }


def _met(met: list[bool]) -> list[int] | None:
    return [sum(met), len(met)] if met else None


def _finding(run: RunEntry, broken: list[str]) -> str:
    """Say in a few words why a run is not as it should be."""
    not_met = [each.expectation for each in run.judged if not each.met]
    text = run.error or "; ".join([*broken, *not_met])
    return text if len(text) <= _MOST_FINDING else text[: _MOST_FINDING - 1] + "…"


def events_read(trace: Trace) -> dict[str, Any]:
    """Return how the events of a trace are understood, so that the page has no reading of its own.

    Returns: for each event its kind and its turn, for the results the calls that they answer, and for what could not be
        understood the reason.
    """
    kinds, turns, answers, unread = [], [], {}, {}
    for event in trace.events:
        kinds.append(_kind(event))
        turns.append(getattr(event, "turn", None))
        if isinstance(event, ToolResult) and event.call_position is not None:
            answers[str(event.position)] = event.call_position
        if isinstance(event, Unreadable):
            unread[str(event.position)] = event.reason
    return {"kinds": kinds, "turns": turns, "answers": answers, "unread": unread}


_KINDS: Final[dict[type, str]] = {
    ToolCall: "call",
    ToolResult: "result",
    Transfer: "transfer",
    End: "end",
    Unreadable: "unread",
}


def _kind(event: Event) -> str:
    return event.role if isinstance(event, Message) else _KINDS[type(event)]
