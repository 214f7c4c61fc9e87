"""One call of ``tracewitness simulate``, from the journal that is opened to the results that are written."""

from __future__ import annotations

import asyncio
import os
from contextlib import ExitStack, aclosing, suppress
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from tracewitness.cli.agent_options import headers_from
from tracewitness.cli.own_streams import OwnStreams
from tracewitness.cli.report_options import ReportOptions
from tracewitness.cli.steady_loop import run_steadily
from tracewitness.display import plural
from tracewitness.errors import UsageError
from tracewitness.evals import SuiteCheck
from tracewitness.evals.simulation.addresses import without_password
from tracewitness.evals.simulation.agents import agent_from
from tracewitness.evals.simulation.budget import Budget
from tracewitness.evals.simulation.journal import Identity, Journal, refuse_unwritable, write_results
from tracewitness.evals.simulation.models import ModelClient, Retries
from tracewitness.evals.simulation.plan import Limits, Plan, prepare
from tracewitness.evals.simulation.results import Row
from tracewitness.evals.simulation.runner import simulate
from tracewitness.evals.simulation.traffic import Traffic
from tracewitness.readers import Run, read_text_trace
from tracewitness.reports.listening import new_head
from tracewitness.reports.simulation import SimulatedRun, SimulationConsole, SimulationSummary, progress
from tracewitness.suites import Suite

__all__ = ["Simulation", "SimulationOptions"]

_INTERRUPTED: Final = 130


class SimulationOptions(Struct, frozen=True):
    """What was given on the command line."""

    suite: str
    agent: str
    tools: str | None
    agent_model: str | None
    agent_instructions: str | None
    agent_headers: tuple[str, ...]
    user_model: str | None
    judge_model: str | None
    base_url: str | None
    judge_votes: int
    opening: str | None
    names: tuple[str, ...]
    tags: tuple[str, ...]
    runs: int
    parallel: int
    timeout: float
    case_timeout: float
    retries: int
    retry_inconclusive: int
    max_cost: float | None
    max_tokens: int | None
    record: str | None
    replay: str | None
    output: str | None
    journal: str | None
    resume: bool
    quiet: bool
    no_color: bool
    reports: ReportOptions

    def settings(self) -> dict[str, Any]:
        """Return what bears on what a run does; only with the same a simulation can be continued."""
        # Of what may be secret only what tells it apart.
        instructions = self.agent_instructions
        told = {
            "agent": without_password(self.agent),
            "base_url": None if self.base_url is None else without_password(self.base_url),
            "agent_headers": sorted(header.partition("=")[0] for header in self.agent_headers),
            "agent_instructions": None if instructions is None else sha256(instructions.encode()).hexdigest()[:16],
        }
        fields = ("tools", "agent_model", "user_model", "judge_model", "judge_votes", "opening")
        return told | {field: getattr(self, field) for field in (*fields, "replay")}

    def journal_path(self) -> str | None:
        """Return where the journal is: beside the results, unless it is named."""
        return self.journal or (f"{self.output}.journal" if self.output else None)


def _plan(options: SimulationOptions, suite: Suite, traffic: Traffic | None) -> Plan:
    """Return how the cases are run."""
    retries = Retries(most=options.retries)

    def model(name: str | None) -> ModelClient | None:
        return None if name is None else ModelClient(name, base_url=options.base_url, traffic=traffic, retries=retries)

    user = model(options.user_model)
    judge = user if options.judge_model in (None, options.user_model) else model(options.judge_model)
    return Plan(
        agent_from(
            options.agent,
            tools=options.tools,
            model=options.agent_model,
            instructions=options.agent_instructions,
            headers=headers_from(options.agent_headers),
        ),
        user,
        judge if any(case.expectations for case in suite.cases) else None,
        judge_votes=options.judge_votes,
        opening=options.opening,
        runs=options.runs,
        parallel=options.parallel,
        limits=Limits(options.timeout, options.case_timeout),
        retries=retries,
        retry_inconclusive=options.retry_inconclusive,
        traffic=traffic,
    )


def _traffic(options: SimulationOptions) -> Traffic | None:
    if options.record is not None and options.replay is not None:
        raise UsageError("--record and --replay don't go together: record first, then replay")
    if options.replay is not None:
        return Traffic.replay(options.replay)
    return None if options.record is None else Traffic.record(options.record)


class Simulation:
    """One call of the command, from the journal that is opened to the results that are written.

    All files are found and opened before the agent is: its code runs in this process, may go to another folder and
    close what it finds open.

    Attributes:
        all_ended: whether all that ran has ended. An agent that takes no cancellation does not, and after a second
            Ctrl-C none is waited for: then the event loop can't be closed, and the process is to be left at once.
    """

    def __init__(
        self,
        options: SimulationOptions,
        suite: Suite,
        console: SimulationConsole,
        streams: OwnStreams,
        stack: ExitStack,
    ) -> None:
        self.all_ended = False
        self._options = options
        self._suite = suite
        self._console = console
        self._streams = streams
        self._checking = SuiteCheck(suite)
        self._tags = {case.name: case.tags for case in suite.cases}
        self._keys = [(case.name, run) for case in suite.cases for run in range(1, options.runs + 1)]
        self._summary = SimulationSummary([], unfinished=len(self._keys))
        _check_files(options)
        self._output = None if options.output is None else os.path.realpath(options.output)
        traffic = _traffic(options)
        self._journal = _open_journal(options, suite, stack)
        stack.callback(self._forget_empty_journal)
        written = [path for path in (options.suite, options.output, options.journal_path()) if path]
        head = new_head(suite.source, "simulate")
        with streams.used():
            self._reports = stack.enter_context(options.reports.open(head, console, written))
        self._plan = _plan(options, suite, traffic)

    def run(self) -> int:
        """Run everything, and return the exit status."""
        with self._streams.used():
            self._count_finished()
        try:
            run_steadily(self._play(), self._note_end, self._note)
        except KeyboardInterrupt:
            status = _INTERRUPTED
        except asyncio.CancelledError:
            self._note("code of the agent has cancelled the simulation; it ends as after Ctrl-C")
            status = _INTERRUPTED
        except BaseException:
            with suppress(UsageError):  # what was finished is kept, whatever ended the rest
                self._write_results()
            raise
        else:
            status = self._summary.exit_status
        with self._streams.used():
            self._finish()
        return status

    def _note_end(self) -> None:
        self.all_ended = True

    async def _play(self) -> None:
        if self._summary.unfinished:
            await prepare(self._suite, self._plan)
        budget = Budget(self._options.max_cost, self._options.max_tokens)
        runs = simulate(self._suite, self._plan, budget=budget, journal=self._journal, notice=self._note)
        with progress(self._summary.unfinished, self._streams.errors) as bar:
            async with aclosing(runs):
                async for row in runs:
                    with bar.hidden(), self._streams.used():
                        self._tell(row)
                    bar.advance()

    def _tell(self, row: Row) -> None:
        """Count a run, which prints what came of it."""
        self._count(row)
        close_error = row.data.get("close_error")
        if close_error:
            self._console.note(f"{row.name}, run {row.key[1]}: its session could not be closed: {close_error}")

    def _note(self, text: str) -> None:
        with self._streams.used():
            self._console.note(text)

    def _count_finished(self) -> None:
        """Count the runs that the journal has already."""
        if self._journal is None:
            return
        for notice in self._journal.notices:
            self._console.note(notice)
        finished = [key for key in self._keys if key in self._journal.finished]
        with self._console.silenced():
            for row in self._journal.rows(finished):
                self._count(row)
        beyond = len(self._journal.keys.difference(self._keys))
        if beyond:
            self._console.note(f"{plural(beyond, 'run')} in {self._journal.path} are more than --runs asks for")
        if finished and not self._summary.unfinished:
            all_runs = "the one run is" if len(finished) == 1 else f"all {len(finished):,} runs are"
            told = f"{all_runs} finished, as {self._journal.path} has it; none is repeated"
            self._console.note(told if self._options.journal else f"{told}, and without --resume all begins anew")
        elif finished:
            self._console.note(f"{len(finished)} of {len(self._keys)} runs are in {self._journal.path} already")

    def _count(self, row: Row) -> None:
        self._summary.add(row)
        self._summary.unfinished -= 1
        self._reports.run(self._report(row))

    def _report(self, row: Row) -> SimulatedRun:
        """Return the report of a run, with the verdicts that ``tracewitness check`` comes to on the row."""
        name, number = row.key
        place, error = f"run {number}", str(row.data.get("error", ""))
        if error:
            return SimulatedRun(
                *(self._plan.agent.name, number, place, name, name),
                error=error,
                run=number,
                tags=self._tags[name],
                data=row.data,
                row=row,
            )
        run = Run(self._plan.agent.name, number, place, name, read_text_trace(row.data), data=row.data)
        (checked,) = self._checking.reports([run])
        return SimulatedRun(
            *(run.source, number, place, name, checked.case, checked.verdicts, checked.places),
            run=number,
            tags=checked.tags,
            trace=checked.trace,
            data=row.data,
            row=row,
        )

    def _finish(self) -> None:
        """Write the results, and the counts."""
        self._write_results()
        self._reports.finish(self._summary, self._suite.notices)
        if self._journal is None or self._journal.is_empty:
            return
        left = len(self._keys) - len(self._journal.finished.intersection(self._keys))
        if left:
            self._console.note(f"{left} of {len(self._keys)} runs have no result; the same with --resume runs them")
        elif self._options.journal is None:
            self._journal.complete()  # all that it holds is in the results

    def _write_results(self) -> None:
        """Write what the journal has of the runs, if anything."""
        if self._output is not None and self._journal is not None and not self._journal.is_empty:
            write_results(self._output, self._journal.rows(self._keys))

    def _forget_empty_journal(self) -> None:
        """Leave no journal behind where no run was finished."""
        if self._journal is not None and self._journal.is_empty:
            self._journal.remove()


def _check_files(options: SimulationOptions) -> None:
    """Find out before the first run whether the results can be written, and over nothing that is needed."""
    given = {
        "the eval file": options.suite,
        "--output": options.output,
        "the journal": options.journal_path(),
        **{f"--{form}": path for form, path in options.reports.files.items()},
    }
    names: dict[str, str] = {}
    for name, path in given.items():
        if path is not None:
            other = names.setdefault(os.path.realpath(path), name)
            if other != name:
                raise UsageError(f"{path} is {other} and {name} too; each is a file of its own")
    if options.output == "-":
        raise UsageError("the results are a file, since what is printed is the report; --json - prints that as JSON")
    if options.output is not None:
        _refuse_stream(options.output)
        refuse_unwritable(Path(os.path.realpath(options.output)), options.output)


def _refuse_stream(path: str) -> None:
    """Raise an error where a file is what is printed to: it is put in its place by another name, and that would go."""
    for descriptor, name in ((1, "output"), (2, "error output")):
        with suppress(OSError):
            if os.path.samestat(Path(path).stat(), os.fstat(descriptor)) and not Path(path).is_dir():
                raise UsageError(f"{path} is the standard {name}; the results are a file of their own")


def _open_journal(options: SimulationOptions, suite: Suite, stack: ExitStack) -> Journal | None:
    path = options.journal_path()
    if path is None:
        if options.resume:
            raise UsageError("--resume goes on with a journal; name it with --journal, or the results with --output")
        return None
    identity = Identity.of(suite, options.settings())
    return stack.enter_context(Journal(path, identity, resume=options.resume))
