"""The reports of a simulation: what was reached, judged and checked of each run, side by side."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import IO, Any, Final

import click
from msgspec import Struct

from tracewitness.display import plural, printable
from tracewitness.evals import RunReport, Summary
from tracewitness.evals.simulation.conversation import Usage
from tracewitness.evals.simulation.results import Outcome, Row
from tracewitness.reports.console import ConsoleReport

__all__ = ["CaseOutcomes", "SimulatedRun", "SimulationConsole", "SimulationSummary", "progress"]

_WORDS: Final[dict[Outcome, str]] = {
    "passed": "PASSED",
    "failed": "FAILED",
    "inconclusive": "UNSURE",
    "infrastructure": "INFRA",
    "not_run": "NOT RUN",
}
_COLORS: Final[dict[Outcome, str]] = {
    "passed": "green",
    "failed": "red",
    "inconclusive": "yellow",
    "infrastructure": "yellow",
    "not_run": "yellow",
}
_COUNTED: Final[dict[Outcome, str]] = {
    "failed": "failed",
    "inconclusive": "inconclusive",
    "infrastructure": "failed by infrastructure",
    "not_run": "not run",
}


class SimulatedRun(RunReport, frozen=True, kw_only=True):
    """What came of one simulated run.

    Attributes:
        row: its row in the results.
    """

    row: Row

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain data that JSON can hold."""
        kept = ("run", "outcome", "goals", "expectations", "tool_checks", "turns", "duration_s", "usage", "error_kind")
        told = {name: self.row.data[name] for name in kept if name in self.row.data}
        return super().to_dict() | told | {"error": self.row.data.get("error", "")}


class CaseOutcomes(Struct):
    """How often the runs of one case came out so."""

    name: str
    counts: dict[Outcome, int] = {}

    @property
    def conclusive(self) -> int:
        """How many runs say something of the agent."""
        return self.counts.get("passed", 0) + self.counts.get("failed", 0)


class SimulationSummary(Summary):
    """What came of all simulated runs. What says nothing of the agent is counted apart from what failed.

    Attributes:
        outcomes: how often the runs of each case came out so, by the case's name.
        usage: what models were used for.
        unfinished: how many runs were not finished when the simulation was interrupted.
    """

    outcomes: dict[str, CaseOutcomes] = {}
    usage: Usage = Usage()
    unfinished: int = 0

    def add(self, row: Row) -> None:
        """Count a run."""
        counts = self.outcomes.setdefault(row.name, CaseOutcomes(row.name)).counts
        counts[row.outcome] = counts.get(row.outcome, 0) + 1
        self.usage += row.usage

    def count(self, outcome: Outcome) -> int:
        """Return how many runs came out so."""
        return sum(case.counts.get(outcome, 0) for case in self.outcomes.values())

    @property
    def exit_status(self) -> int:
        """0: all passed. 1: something failed. 3: only infrastructure failed, or runs are inconclusive or missing."""
        if self.count("failed"):
            return 1
        undecided = self.unfinished + sum(self.count(outcome) for outcome in _COUNTED)
        return 3 if undecided or not self.count("passed") else 0

    def to_dict(self) -> dict[str, Any]:
        """Return the summary as plain data that JSON can hold."""
        return {
            "exit_status": self.exit_status,
            **{outcome: self.count(outcome) for outcome in _WORDS},
            "unfinished": self.unfinished,
            "cases": [
                {"name": case.name, **{outcome: case.counts.get(outcome, 0) for outcome in _WORDS}}
                for case in self.outcomes.values()
            ],
            "usage": {name: getattr(self.usage, name) for name in Usage.__struct_fields__},
        }


class SimulationConsole(ConsoleReport):
    """Writes the reports of simulated runs as they come.

    Arguments: as of `ConsoleReport`; ``quiet`` leaves out runs that passed.
    """

    def simulated(self, report: SimulatedRun) -> None:
        """Write what came of one run."""
        row = report.row
        if self._quiet and row.outcome == "passed":
            return
        self._line(f"{_styled(row.outcome)} {printable(row.name)}, run {row.key[1]}  {_counts(row)}")
        error = row.data.get("error")
        if error:
            self._line(f"    {printable(str(error), 500)}{_raised_at(row)}")
            return
        for words in _not_met(row):
            self._line(f"    {words}")
        for verdict, place in zip(report.verdicts, report.places, strict=True):
            if not verdict.held:
                self._broken(verdict, f"  ({self._suite}:{place.line})" if place else "")

    def totals(self, summary: SimulationSummary) -> None:
        """Write the counts."""
        for case in summary.outcomes.values():
            if sum(case.counts.values()) > 1:
                passed = case.counts.get("passed", 0)
                self._line(f"{printable(case.name)}: {passed}/{case.conclusive} passed{_apart(case)}")
        parts = [f"{plural(summary.count('passed'), 'run')} passed", f"{summary.count('failed')} failed"]
        others = [(summary.count(outcome), words) for outcome, words in _COUNTED.items() if outcome != "failed"]
        parts += [f"{count} {words}" for count, words in [*others, (summary.unfinished, "unfinished")] if count]
        self._line(", ".join(parts))
        if summary.usage.requests:
            self._line(_used(summary.usage))

    def note(self, text: str) -> None:
        """Write what the user should know."""
        click.echo(f"note: {printable(text, 500)}", err=True)


def _styled(outcome: Outcome) -> str:
    return click.style(_WORDS[outcome].ljust(6), fg=_COLORS[outcome], bold=outcome != "passed")


def _apart(case: CaseOutcomes) -> str:
    """Say what is counted apart from what passed and failed."""
    others = [(case.counts.get(outcome, 0), words) for outcome, words in _COUNTED.items() if outcome != "failed"]
    told = ", ".join(f"{count} {words}" for count, words in others if count)
    return f" ({told})" if told else ""


def _counts(row: Row) -> str:
    """Return goals, judged expectations and tool checks side by side, and how long it took."""
    if row.data.get("error"):
        return f"({plural(row.data['turns'], 'turn')}, {row.data['duration_s']:.1f} s)" if "turns" in row.data else ""
    judged = [entry for entry in row.data["expectation_details"] if "operator" not in entry]
    met = sum(entry["status"] == "Met" for entry in judged)
    parts = [f"goals {row.data['goals']}"]
    parts += [f"judged {met}/{len(judged)}"] if judged else []
    parts += [f"tool checks {row.data['tool_checks']}"]
    return f"{'  '.join(parts)}  ({plural(row.data['turns'], 'turn')}, {row.data['duration_s']:.1f} s)"


def _raised_at(row: Row) -> str:
    """Say where an agent's error was raised."""
    places = re.findall(r'^  File "(.*)", line (\d+)', str(row.data.get("traceback", "")), re.MULTILINE)
    return f"  ({printable(places[-1][0])}:{places[-1][1]})" if places else ""


def _not_met(row: Row) -> Iterator[str]:
    """Yield what was not reached and what is not met in the judge's eyes; a model's words are untrusted."""
    for step in row.data["step_details"]:
        if step["status"] != "Completed":
            why = printable(step["justification"], 300)
            yield f"{step['status'].upper()} goal: {printable(step['goal'], 120)}{f': {why}' if why else ''}"
    for entry in row.data["expectation_details"]:
        if "operator" not in entry and entry["status"] != "Met":
            title = printable(entry.get("title") or entry["expectation"], 120)
            yield f"NOT MET {title}: {printable(entry['justification'], 300)}"


def _used(usage: Usage) -> str:
    tokens = f"{usage.input_tokens + usage.output_tokens:,} tokens"
    cost = "cost unknown" if usage.cost is None else f"${usage.cost:.4f}"
    return f"{plural(usage.requests, 'model request')}, {tokens}, {cost}"


class _Bar:
    """What is told of progress."""

    def __init__(self, advance: Any) -> None:
        self._advance = advance

    def advance(self) -> None:
        """Tell that one more run is finished."""
        if self._advance is not None:
            self._advance()


@contextmanager
def progress(total: int, terminal: IO[str] | None) -> Iterator[_Bar]:
    """Show how many runs are finished, where ``terminal`` is one."""
    if terminal is None or not terminal.isatty():
        yield _Bar(None)
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns: Iterable[Any] = (BarColumn(), MofNCompleteColumn(), TextColumn("runs"), TimeElapsedColumn())
    # Where the output is a terminal too, its lines go above the bar; a file must get them all the same.
    with Progress(*columns, console=Console(file=terminal), transient=True, redirect_stdout=sys.stdout.isatty()) as bar:
        task = bar.add_task("", total=total)
        yield _Bar(lambda: bar.advance(task))
