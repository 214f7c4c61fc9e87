"""``tracewitness simulate``: the cases of an eval file, played with a live agent."""

from __future__ import annotations

import asyncio
import math
import os
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

import click
from msgspec import Struct

from tracewitness.errors import UsageError
from tracewitness.evals import SuiteCheck
from tracewitness.evals.simulation.agents import agent_from
from tracewitness.evals.simulation.budget import Budget
from tracewitness.evals.simulation.journal import Identity, Journal, write_results
from tracewitness.evals.simulation.models import ModelClient, Retries
from tracewitness.evals.simulation.results import Row
from tracewitness.evals.simulation.runner import Limits, Plan, prepare, simulate
from tracewitness.evals.simulation.traffic import Traffic
from tracewitness.readers import Run, read_text_trace
from tracewitness.reports.json_file import JsonReport
from tracewitness.reports.simulation import SimulatedRun, SimulationConsole, SimulationSummary, progress
from tracewitness.suites import Suite, load_suite

__all__ = ["command"]

_INTERRUPTED: Final = 130

#: How long tasks that are left over at the end may take to end.
_GRACE_SECONDS: Final = 1.0


def _above_nothing(context: click.Context, parameter: click.Parameter, value: float | None) -> float | None:  # noqa: ARG001
    """Refuse a number of seconds or dollars that is not above 0, or not finite."""
    if value is not None and not (math.isfinite(value) and value > 0):
        raise click.BadParameter(f"{value} is no finite number above 0")
    return value


_COUNT: Final = click.IntRange(min=1)
_RETRIES: Final = click.IntRange(min=0)


class _Options(Struct, frozen=True):
    """What was given on the command line."""

    suite: str
    agent: str
    tools: str | None
    agent_model: str | None
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
    json_path: str | None
    quiet: bool
    no_color: bool

    def settings(self) -> dict[str, Any]:
        """Return what bears on what a run does; only with the same a simulation can be continued."""
        fields = ("agent", "tools", "agent_model", "user_model", "judge_model", "base_url", "judge_votes", "opening")
        return {field: getattr(self, field) for field in (*fields, "runs", "replay")}

    def journal_path(self) -> str | None:
        """Return where the journal is: beside the results, unless it is named."""
        return self.journal or (f"{self.output}.journal" if self.output else None)


@click.command("simulate")
@click.argument("suite", type=click.Path())
@click.option(
    "--agent", required=True, metavar="SPEC", help="module:attribute, an http(s) address, or cmd: and a command."
)
@click.option("--tools", metavar="MODULE:TOOLS", help="Functions that an agent behind an address calls here.")
@click.option("--agent-model", metavar="NAME", help="The model's name at the agent's address.")
@click.option("--user-model", metavar="NAME", help="Who speaks for the user, such as openai:gpt-5.")
@click.option("--judge-model", metavar="NAME", help="Who judges the expectations; by default the user's model.")
@click.option("--base-url", metavar="URL", help="A server that speaks OpenAI's protocol, for user and judge.")
@click.option(
    "--judge-votes", type=_COUNT, default=1, metavar="N", help="How often the judge is asked; most votes decide."
)
@click.option("--opening", metavar="TEXT", help='Say this first, such as "event: welcome".')
@click.option("--name", "names", metavar="NAME", multiple=True, help="Only the case with this name; may be repeated.")
@click.option("--tag", "tags", metavar="TAG", multiple=True, help="Only cases with this tag; may be repeated.")
@click.option("--runs", type=_COUNT, default=1, metavar="N", help="How often each case is run.")
@click.option("--parallel", type=_COUNT, default=1, metavar="N", help="How many runs go on at once.")
@click.option(
    "--timeout",
    type=float,
    callback=_above_nothing,
    default=60.0,
    metavar="SECONDS",
    help="For each turn of the agent; 60.",
)
@click.option(
    "--case-timeout", type=float, callback=_above_nothing, default=900.0, metavar="SECONDS", help="For each run; 900."
)
@click.option(
    "--retries", type=_RETRIES, default=3, metavar="N", help="How often to retry what fails for the moment; 3."
)
@click.option(
    "--retry-inconclusive", type=_RETRIES, default=0, metavar="N", help="How often to repeat a run without result."
)
@click.option(
    "--max-cost",
    type=float,
    callback=_above_nothing,
    metavar="DOLLARS",
    help="Begin no run when models have cost so much.",
)
@click.option("--max-tokens", type=_COUNT, metavar="N", help="Begin no run when models have used so many tokens.")
@click.option("--record", metavar="DIR", help="Record the traffic of user and judge.")
@click.option("--replay", metavar="DIR", help="Take the answers of user and judge from a recording.")
@click.option("-o", "--output", metavar="FILE", help="Write the results to FILE, as JSON.")
@click.option("--journal", metavar="FILE", help="Keep each finished run here at once; by default beside the results.")
@click.option("--resume", is_flag=True, help="Go on with the journal; no finished run is repeated.")
@click.option("--json", "json_path", metavar="FILE", help="Write the report to FILE as JSON.")
@click.option("-q", "--quiet", is_flag=True, help="Print only what did not pass, and the last lines.")
@click.option("--no-color", is_flag=True, help="Do not colour; the variable NO_COLOR does the same.")
def command(**given: Any) -> None:
    """Play the cases of an eval file with a live agent.

    SUITE is the eval file, YAML or JSON. A model plays the user and pursues the steps of each case, a model judges its
    expectations, and its tool_expectations are checked on what the agent did. A run passes where all three say so.

    Exit status: 0 all passed, 1 something failed, 2 bad input, 3 only infrastructure failed, or runs are inconclusive
    or were not run. 130 after Ctrl-C, with what was done until then.

    \b
    Examples:
      tracewitness simulate orders.evals.yaml --agent shop.agent:reply --user-model openai:gpt-5 -o results.json
      tracewitness simulate orders.evals.yaml --agent http://localhost:8000/v1 --agent-model desk --tools shop:tools \\
        --user-model openai:gpt-5 --runs 5 --parallel 10 -o results.json
      tracewitness check orders.evals.yaml results.json
    """
    options = _Options(**given)
    loaded = load_suite(options.suite)
    suite = loaded.select(options.names, options.tags)
    plan = _plan(options, suite)
    color = False if options.no_color or os.environ.get("NO_COLOR") else None
    console = SimulationConsole(suite.source, color=color, quiet=options.quiet)
    console.notices(loaded.notices)
    with ExitStack() as stack:
        simulation = _Simulation(options, suite, plan, console, stack)
        status = simulation.run()
    if not simulation.all_ended:
        _leave(status)
    sys.exit(status)


def _leave(status: int) -> None:
    """End the process at once, after all is written: what an agent still does in it would keep it from ending."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def _plan(options: _Options, suite: Suite) -> Plan:
    """Return how the cases are run."""
    traffic = _traffic(options)
    retries = Retries(most=options.retries)

    def model(name: str | None) -> ModelClient | None:
        return None if name is None else ModelClient(name, base_url=options.base_url, traffic=traffic, retries=retries)

    user = model(options.user_model)
    judge = user if options.judge_model in (None, options.user_model) else model(options.judge_model)
    return Plan(
        agent_from(options.agent, tools=options.tools, model=options.agent_model),
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


def _traffic(options: _Options) -> Traffic | None:
    if options.record is not None and options.replay is not None:
        raise UsageError("--record and --replay don't go together: record first, then replay")
    if options.replay is not None:
        return Traffic.replay(options.replay)
    return None if options.record is None else Traffic.record(options.record)


class _Simulation:
    """One call of the command, from the journal that is opened to the results that are written.

    Attributes:
        all_ended: whether all tasks ended. Those of an agent that takes no cancellation don't, and after a second
            Ctrl-C none is waited for: then the event loop can't be closed, and the process is to be left with `_leave`.
    """

    def __init__(
        self, options: _Options, suite: Suite, plan: Plan, console: SimulationConsole, stack: ExitStack
    ) -> None:
        self.all_ended = False
        self._options = options
        self._suite = suite
        self._plan = plan
        self._console = console
        self._checking = SuiteCheck(suite)
        self._keys = [(case.name, run) for case in suite.cases for run in range(1, plan.runs + 1)]
        self._summary = SimulationSummary([], unfinished=len(self._keys))
        _check_files(options)
        self._journal = _open_journal(options, suite, stack)
        written = [path for path in (options.suite, options.output, options.journal_path()) if path]
        self._json = (
            None
            if options.json_path is None
            else stack.enter_context(JsonReport(options.json_path, suite.source, written))
        )

    def run(self) -> int:
        """Run everything, and return the exit status."""
        self._count_finished()
        try:
            self._run_loop()
        except KeyboardInterrupt:
            self._finish()
            return _INTERRUPTED
        except BaseException:
            self._forget_empty_journal()
            raise
        self._finish()
        return self._summary.exit_status

    def _run_loop(self) -> None:
        """Do as `asyncio.run`, but wait for no task that does not end."""
        runner = asyncio.Runner()
        try:
            runner.run(self._play_and_end())
        finally:
            if self.all_ended:
                runner.close()

    async def _play_and_end(self) -> None:
        try:
            await self._play()
        finally:
            self.all_ended = await _tasks_end()

    async def _play(self) -> None:
        await prepare(self._suite, self._plan)
        budget = Budget(self._options.max_cost, self._options.max_tokens)
        with progress(self._summary.unfinished, sys.stderr) as bar:
            async for row in simulate(self._suite, self._plan, budget=budget, journal=self._journal):
                report = self._count(row)
                self._console.simulated(report)
                bar.advance()

    def _count_finished(self) -> None:
        """Count the runs that the journal has already."""
        if self._journal is None:
            return
        for notice in self._journal.notices:
            self._console.note(notice)
        finished = [key for key in self._keys if key in self._journal.finished]
        for row in self._journal.rows(finished):
            self._count(row)
        if finished:
            self._console.note(f"{len(finished)} of {len(self._keys)} runs are in {self._journal.path} already")

    def _count(self, row: Row) -> SimulatedRun:
        report = self._report(row)
        self._summary.add(row)
        self._summary.unfinished -= 1
        if self._json is not None:
            self._json.run(report)
        return report

    def _report(self, row: Row) -> SimulatedRun:
        """Return the report of a run, with the verdicts that ``tracewitness check`` comes to on the row."""
        name, number = row.key
        place, error = f"run {number}", str(row.data.get("error", ""))
        if error:
            return SimulatedRun(self._plan.agent.name, number, place, name, name, error=error, row=row)
        run = Run(self._plan.agent.name, number, place, name, read_text_trace(row.data), data=row.data)
        (checked,) = self._checking.reports([run])
        return SimulatedRun(run.source, number, place, name, checked.case, checked.verdicts, checked.places, row=row)

    def _finish(self) -> None:
        """Write the results, and the counts."""
        if self._json is not None:
            self._json.summary(self._summary, self._suite.notices)
        self._console.totals(self._summary)
        if self._journal is None or self._journal.is_empty:
            self._forget_empty_journal()
            return
        if self._options.output is not None:
            write_results(self._options.output, self._journal.rows(self._keys))
        left = len(self._keys) - len(self._journal.finished.intersection(self._keys))
        if left:
            self._console.note(f"{left} of {len(self._keys)} runs have no result; the same with --resume runs them")
        elif self._options.journal is None:
            self._journal.remove()  # all that it held is in the results

    def _forget_empty_journal(self) -> None:
        """Leave no journal behind where no run was finished."""
        if self._journal is not None and self._journal.is_empty:
            self._journal.remove()


async def _tasks_end() -> bool:
    """End the tasks that are left over, and tell whether they ended soon."""
    left = asyncio.all_tasks() - {asyncio.current_task()}
    for task in left:
        task.cancel()
    return not left or not (await asyncio.wait(left, timeout=_GRACE_SECONDS))[1]


def _check_files(options: _Options) -> None:
    """Find out before the first run whether the results can be written, and over nothing that is needed."""
    given = {
        "the eval file": options.suite,
        "--output": options.output,
        "the journal": options.journal_path(),
        "--json": options.json_path,
    }
    names: dict[str, str] = {}
    for name, path in given.items():
        if path is not None:
            other = names.setdefault(os.path.realpath(path), name)
            if other != name:
                raise UsageError(f"{path} is {other} and {name} too; each is a file of its own")
    if options.output is None:
        return
    output = Path(options.output)
    if output.is_dir():
        raise UsageError(f"{output} is a folder; the results are a file")
    if not output.parent.is_dir() or not os.access(output.parent, os.W_OK):
        raise UsageError(f"{output} can't be written: {output.parent} is no folder that can be written to")


def _open_journal(options: _Options, suite: Suite, stack: ExitStack) -> Journal | None:
    path = options.journal_path()
    if path is None:
        if options.resume:
            raise UsageError("--resume goes on with a journal; name it with --journal, or the results with --output")
        return None
    identity = Identity.of(suite, options.settings())
    return stack.enter_context(Journal(path, identity, resume=options.resume))
