"""``tracewitness simulate``: the cases of an eval file, played with a live agent."""

from __future__ import annotations

import math
import os
import sys
from contextlib import ExitStack
from typing import Any, Final

import click

from tracewitness.cli.agent_options import instructions_from
from tracewitness.cli.own_streams import OwnStreams
from tracewitness.cli.report_options import color_of, report_options
from tracewitness.cli.simulation import Simulation, SimulationOptions
from tracewitness.reports.simulation import SimulationConsole
from tracewitness.suites import load_suite

__all__ = ["command"]


def _above_nothing(context: click.Context, parameter: click.Parameter, value: float | None) -> float | None:  # noqa: ARG001
    """Refuse a number of seconds or dollars that is not above 0, or not finite."""
    if value is not None and not (math.isfinite(value) and value > 0):
        raise click.BadParameter(f"{value} is no finite number above 0")
    return value


_COUNT: Final = click.IntRange(min=1)
_RETRIES: Final = click.IntRange(min=0)
# All runs are listed before the first one: a slip of the finger must not fill the memory.
_RUNS: Final = click.IntRange(min=1, max=100_000)


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
@click.option("--runs", type=_RUNS, default=1, metavar="N", help="How often each case is run.")
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
    options = SimulationOptions(**given)
    os.environ.setdefault("PYDANTIC_AI_NO_BANNER", "1")  # it would stand among the lines of the runs
    loaded = load_suite(options.suite)
    suite = loaded.select(options.names, options.tags)
    console = SimulationConsole(
        color=color_of(options.no_color), quiet=options.quiet, to_errors=options.reports.takes_standard_output
    )
    console.notices(loaded.notices)
    with OwnStreams() as streams, ExitStack() as stack:
        simulation = Simulation(options, suite, console, streams, stack)
        status = simulation.run()
    if not simulation.all_ended:
        _leave(status)
    sys.exit(status)


def _leave(status: int) -> None:
    """End the process at once, after all is written: what an agent still does in it would keep it from ending."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)
