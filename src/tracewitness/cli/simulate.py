"""``tracewitness simulate``: the cases of an eval file, played with a live agent."""

from __future__ import annotations

import asyncio
import math
import os
import sys
from contextlib import ExitStack, aclosing, suppress
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import click
from msgspec import Struct

from tracewitness.cli.agent_options import headers_from, instructions_from
from tracewitness.cli.own_streams import OwnStreams
from tracewitness.cli.report_options import ReportOptions, color_of, report_options
from tracewitness.cli.steady_loop import run_steadily
from tracewitness.display import plural
from tracewitness.errors import UsageError
from tracewitness.evals import SuiteCheck
from tracewitness.evals.simulation.agents import agent_from, without_password
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
from tracewitness.suites import Suite, load_suite

__all__ = ["command"]

_INTERRUPTED: Final = 130


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
            "agent_headers": sorted(header.partition("=")[0] for header in self.agent_headers),
            "agent_instructions": None if instructions is None else sha256(instructions.encode()).hexdigest()[:16],
        }
        fields = ("tools", "agent_model", "user_model", "judge_model", "base_url", "judge_votes", "opening")
        return told | {field: getattr(self, field) for field in (*fields, "replay")}

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
@click.option("--agent-instructions", metavar="TEXT", help="What it is told first; @FILE is what stands in a file.")
@click.option(
    "--agent-header",
    "agent_headers",
    metavar="NAME=VALUE",
    multiple=True,
    help="Sent to the agent's address; $NAME in it is a variable of the environment. May be repeated.",
)
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
@report_options
@click.option("-q", "--quiet", is_flag=True, help="Print only what did not pass, and the last lines.")
@click.option("--no-color", is_flag=True, help="Do not colour; the variable NO_COLOR does the same.")
def command(**given: Any) -> None:
    """Play the cases of an eval file with a live agent.

    SUITE is the eval file, YAML or JSON. A model plays the user and pursues the steps of each case, a model judges its
    expectations, and its tool_expectations are checked on what the agent did. A run passes where all three say so.

    \b
    The agent is one of:
      module:attribute  a function that takes what the user says and returns what it did, a class of objects
                        with a method send, or an agent of LangGraph, Pydantic AI, OpenAI's Agents SDK or Google ADK
      factory:module:attribute  what makes such an agent for each session
      http://…          an endpoint of the chat-completions protocol; see --agent-model, --agent-header and --tools
      'cmd: COMMAND'    a command, started for each session, that speaks JSON Lines. On its standard input:
                          {"type": "start", "session_id": "…", "parameters": {…}}    once; nothing is answered
                          {"type": "user", "text": "…", "variables": {…}}            for each turn
                        On its standard output, for each turn, what it did, and then that the turn is over:
                          {"call": "create_order", "args": {…}, "id": "c1"}
                          {"result": {…}, "id": "c1"}
                          {"agent": "I have placed your order."}
                          {"type": "turn_end", "ended": false}
                        Other output belongs on standard error.

    What the agent raises, or returns and can't be read, is its failure. A server that it can't reach, that fails or
    is too slow is infrastructure: such runs are tried again (--retries), and counted apart.

    Exit status: 0 all passed, 1 something failed, 2 bad input, 3 only infrastructure failed, or runs are inconclusive
    or were not run. 130 after Ctrl-C, with what was done until then.

    \b
    Examples:
      tracewitness simulate orders.evals.yaml --agent shop.agent:reply --user-model openai:gpt-5 -o results.json
      tracewitness simulate orders.evals.yaml --agent http://localhost:8000/v1 --agent-model desk --tools shop:tools \\
        --user-model openai:gpt-5 --runs 5 --parallel 10 -o results.json
      tracewitness check orders.evals.yaml results.json
    """
    given["agent_instructions"] = instructions_from(given["agent_instructions"])
    options = _Options(**given)
    os.environ.setdefault("PYDANTIC_AI_NO_BANNER", "1")  # it would stand among the lines of the runs
    loaded = load_suite(options.suite)
    suite = loaded.select(options.names, options.tags)
    console = SimulationConsole(
        color=color_of(options.no_color), quiet=options.quiet, to_errors=options.reports.takes_standard_output
    )
    console.notices(loaded.notices)
    with OwnStreams() as streams, ExitStack() as stack:
        simulation = _Simulation(options, suite, console, streams, stack)
        status = simulation.run()
    if not simulation.all_ended:
        _leave(status)
    sys.exit(status)


def _leave(status: int) -> None:
    """End the process at once, after all is written: what an agent still does in it would keep it from ending."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def _plan(options: _Options, suite: Suite, traffic: Traffic | None) -> Plan:
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


def _traffic(options: _Options) -> Traffic | None:
    if options.record is not None and options.replay is not None:
        raise UsageError("--record and --replay don't go together: record first, then replay")
    if options.replay is not None:
        return Traffic.replay(options.replay)
    return None if options.record is None else Traffic.record(options.record)


class _Simulation:
    """One call of the command, from the journal that is opened to the results that are written.

    All files are found and opened before the agent is: its code runs in this process, may go to another folder and
    close what it finds open.

    Attributes:
        all_ended: whether all that ran has ended. An agent that takes no cancellation does not, and after a second
            Ctrl-C none is waited for: then the event loop can't be closed, and the process is to be left with `_leave`.
    """

    def __init__(
        self, options: _Options, suite: Suite, console: SimulationConsole, streams: OwnStreams, stack: ExitStack
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
        except (KeyboardInterrupt, asyncio.CancelledError):
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
            told = f"all {plural(len(finished), 'run')} are finished, as {self._journal.path} has it; none is repeated"
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


def _check_files(options: _Options) -> None:
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


def _open_journal(options: _Options, suite: Suite, stack: ExitStack) -> Journal | None:
    path = options.journal_path()
    if path is None:
        if options.resume:
            raise UsageError("--resume goes on with a journal; name it with --journal, or the results with --output")
        return None
    identity = Identity.of(suite, options.settings())
    return stack.enter_context(Journal(path, identity, resume=options.resume))
