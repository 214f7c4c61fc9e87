"""The reports of a simulation: what was reached, judged and checked of each run, side by side."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import IO, Any, Final

import click
import msgspec
from msgspec import UNSET, Struct

from tracewitness.display import plural, printable
from tracewitness.evals import RunOutcome, RunReport, Summary
from tracewitness.evals.simulation.conversation import Usage
from tracewitness.evals.simulation.results import Outcome, Row
from tracewitness.reports.console import ConsoleReport
from tracewitness.reports.document import CaseEntry, RunEntry, SummaryEntry

__all__ = ["CaseOutcomes", "SimulatedRun", "SimulationConsole", "SimulationSummary", "progress"]

_OUTCOMES: Final[tuple[Outcome, ...]] = ("passed", "failed", "inconclusive", "infrastructure", "not_run")
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

    @property
    def outcome(self) -> RunOutcome:
        """What became of the whole run."""
        return self.row.outcome


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
            **{outcome: self.count(outcome) for outcome in _OUTCOMES},
            "unfinished": self.unfinished,
            "cases": [
                {"name": case.name, **{outcome: case.counts.get(outcome, 0) for outcome in _OUTCOMES}}
                for case in self.outcomes.values()
            ],
            "usage": {name: getattr(self.usage, name) for name in Usage.__struct_fields__},
        }


class SimulationConsole(ConsoleReport):
    """Writes the reports of simulated runs as they come.

    Arguments: as of `ConsoleReport`; ``quiet`` leaves out runs that passed.
    """

    def run(self, run: RunEntry) -> None:
        """Write what came of one run."""
        if self._is_silent or (self._quiet and run.outcome == "passed"):
            return
        if run.outcome == "not_run":  # there is nothing to tell of it but why
            why = printable(run.error.removeprefix("not run: "), 500)
            self._line(f"{printable(run.name)}, run {run.run}  {why}", status=run.outcome)
            return
        self._line(f"{printable(run.name)}, run {run.run}  {_counts(run)}", status=run.outcome)
        if run.error:
            self._line(f"{printable(run.error, 500)}{_raised_at(run)}", indent=4)
            return
        for words in _not_met(run):
            self._line(words, indent=4)
        self._checks(run)

    def finish(self, summary: SummaryEntry, notices: Sequence[str]) -> None:  # noqa: ARG002 - they were told before
        """Write the counts."""
        for case in summary.cases:
            if case.runs > 1:
                conclusive = case.passed + case.failed
                self._line(f"{printable(case.name)}: {case.passed}/{conclusive} passed{_apart(case)}")
        parts = [f"{plural(summary.passed, 'run')} passed", f"{summary.failed} failed"]
        others = [(getattr(summary, outcome), words) for outcome, words in _COUNTED.items() if outcome != "failed"]
        unfinished = 0 if summary.unfinished is UNSET else summary.unfinished
        parts += [f"{count} {words}" for count, words in [*others, (unfinished, "unfinished")] if count]
        self._line(", ".join(parts))
        usage = msgspec.convert({} if summary.usage is UNSET else summary.usage, Usage)
        if usage.requests:
            self._line(_used(usage))

    def note(self, text: str) -> None:
        """Write what the user should know."""
        click.echo(f"note: {printable(text, 500)}", err=True)


def _apart(case: CaseEntry) -> str:
    """Say what is counted apart from what passed and failed."""
    others = [(getattr(case, outcome), words) for outcome, words in _COUNTED.items() if outcome != "failed"]
    told = ", ".join(f"{count} {words}" for count, words in others if count)
    return f" ({told})" if told else ""


def _counts(run: RunEntry) -> str:
    """Return goals, judged expectations and tool checks side by side, and how long it took."""
    took = "" if run.duration_s is UNSET else f"{run.duration_s:.1f} s"
    took = took if run.turns is UNSET else f"({plural(run.turns, 'turn')}, {took})"
    if run.error:
        return took
    parts = [f"goals {sum(step.reached for step in run.steps)}/{len(run.steps)}"]
    parts += [f"judged {sum(judged.met for judged in run.judged)}/{len(run.judged)}"] if run.judged else []
    parts += [f"tool checks {sum(verdict.held for verdict in run.verdicts)}/{len(run.verdicts)}"]
    return f"{'  '.join(parts)}  {took}"


def _raised_at(run: RunEntry) -> str:
    """Say where an agent's error was raised."""
    traceback = "" if run.traceback is UNSET else run.traceback
    places = re.findall(r'^  File "(.*)", line (\d+)', traceback, re.MULTILINE)
    return f"  ({printable(places[-1][0])}:{places[-1][1]})" if places else ""


def _not_met(run: RunEntry) -> Iterator[str]:
    """Yield what was not reached and what is not met in the judge's eyes; a model's words are untrusted."""
    for step in run.steps:
        if not step.reached:
            why = printable(step.justification, 300)
            yield f"{step.status.upper()} goal: {printable(step.goal, 120)}{f': {why}' if why else ''}"
    for judged in run.judged:
        if not judged.met:
            title = printable(judged.title or judged.expectation, 120)
            yield f"NOT MET {title}: {printable(judged.justification, 300)}"


def _used(usage: Usage) -> str:
    tokens = f"{usage.input_tokens + usage.output_tokens:,} tokens"
    cost = "cost unknown" if usage.cost is None else f"${usage.cost:.4f}"
    return f"{plural(usage.requests, 'model request')}, {tokens}, {cost}"


class _Bar:
    """What is told of progress, if anything: a bar of rich's, which has one task."""

    def __init__(self, bar: Any = None) -> None:
        self._bar = bar

    def advance(self) -> None:
        """Tell that one more run is finished."""
        if self._bar is not None:
            self._bar.advance(self._bar.task_ids[0])

    @contextmanager
    def hidden(self) -> Iterator[None]:
        """Take the bar away meanwhile, so that lines are printed where it stood and not behind it."""
        if self._bar is None:
            yield
            return
        self._bar.stop()
        try:
            yield
        finally:
            self._bar.start()


@contextmanager
def progress(total: int, terminal: IO[str] | None) -> Iterator[_Bar]:
    """Show how many runs are finished, where ``terminal`` is one."""
    if terminal is None or not terminal.isatty():
        yield _Bar()
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns: Iterable[Any] = (BarColumn(), MofNCompleteColumn(), TextColumn("runs"), TimeElapsedColumn())
    # What an agent prints goes above the bar, where that is a terminal too.
    is_terminal = sys.stdout is not None and sys.stdout.isatty()
    with Progress(*columns, console=Console(file=terminal), transient=True, redirect_stdout=is_terminal) as bar:
        bar.add_task("", total=total)
        yield _Bar(bar)
