"""Write what was learned as an eval file that a person reads and edits."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping
from typing import Any, Final

from tracewitness.display import plural, printable
from tracewitness.errors import ExpectationError, SuiteError
from tracewitness.fluent import wilson_interval
from tracewitness.learning.learned import Learned
from tracewitness.learning.ranking import Chosen
from tracewitness.matching import strict_key
from tracewitness.suites import parse_suite
from tracewitness.suites.yaml_writing import yaml_key, yaml_text

__all__ = ["checks_text", "learned_text"]

_WIDTH: Final = 112
_HEAD: Final = """\
Proposed by tracewitness learn: what good runs have in common. A person decides which of it has to be so: strike what
is so by chance, and give a reason to what stays.

Every check held on all good runs of its case. Behind “by chance” stands how often it could still break on other good
runs, at 95 %, taken by itself: 3 / n after n runs (the rule of three) for what none of them decided, more for what was
read off them. Behind “tells” stands how many wrong runs, made of the good ones with one fault each, it breaks on, and
how many of these no other check breaks on.
"""


def learned_text(cases: Mapping[str, Learned], common: Learned | None = None) -> str:
    """Return an eval file with what was learned.

    Arguments:
        cases: for each case's name what was learned of it.
        common: what was learned of all runs.

    Raises:
        ExpectationError: a check has a value that a file can't hold.
    """
    lines = [*_comment(_HEAD), ""]
    if common is not None:
        lines += [*_comment(_summary(common)), "common_tool_expectations:", *_checks(common)]
    told = {name: learned for name, learned in cases.items() if learned.checks}
    if told:
        lines.append("evals:")
    for name, learned in told.items():
        lines += [*_indented(_comment(_summary(learned))), f"- name: {yaml_key(name)}", "  tool_expectations:"]
        lines += _indented(_checks(learned))
    text = "\n".join(lines) + "\n"
    _check_readable(text, [*([] if common is None else [common]), *told.values()])
    return text


def checks_text(checks: list[dict[str, Any]]) -> str:
    """Return checks as they stand under ``tool_expectations``."""
    return yaml_text(checks)


def _summary(learned: Learned) -> str:
    runs = plural(learned.runs, "good run")
    told = f"{len(learned.killed)} of {plural(learned.wrong, 'wrong run')} made of them"
    bad = f" and {len(learned.refuted)} of {plural(learned.bad, 'recorded bad run')}" if learned.bad else ""
    withheld = f" {plural(learned.withheld, 'check')} with a secret left out." if learned.withheld else ""
    return (
        f"{runs}; {told}{bad} are told. At least one check breaks on at most {_percent(learned.bound)} of other good "
        f"runs, the choice from {learned.considered} allowed for (95 %).{_of_left_out(learned)}{withheld}"
    )


def _of_left_out(learned: Learned) -> str:
    """Say what came of runs that were left out; the interval is of what was learned from fewer runs."""
    broken, runs = learned.left_out
    if not runs:
        return ""
    low, high = wilson_interval(broken, runs)
    return (
        f" Learned anew without them, such checks broke on {broken} of {plural(runs, 'run')} left out in turn: "
        f"{low:.0%} to {high:.0%}."
    )


def _checks(learned: Learned) -> Iterator[str]:
    for chosen in learned.checks:
        yield from _comment(_said_of(learned, chosen))
        yield from yaml_text([chosen.candidate.operator.to_mapping()]).splitlines()


def _said_of(learned: Learned, chosen: Chosen) -> str:
    candidate = chosen.candidate
    others = (each.kills for each in learned.checks if each is not chosen)
    alone = len(chosen.kills - frozenset().union(*others))
    bad = f"; breaks on {len(chosen.refutes)} of {plural(learned.bad, 'bad run')}" if learned.bad else ""
    spoke = "" if candidate.speaks == learned.runs else f", in {candidate.speaks} of which it had something to look at"
    return (
        f"{candidate.family}: held on {plural(learned.runs, 'run')}{spoke}; by chance ≤ "
        f"{_percent(learned.bound_of(chosen))}; tells {len(chosen.kills)}, {alone} alone{bad}"
    )


def _percent(share: float) -> str:
    """Return a share in percent, rounded up: a bound must not become less by being shown."""
    return f"{min(100, int(share * 1000 + 1) / 10):g} %"


def _comment(text: str) -> Iterator[str]:
    for paragraph in text.strip().split("\n\n"):
        for line in textwrap.wrap(printable(" ".join(paragraph.split()), 2000), _WIDTH):
            yield f"# {line}"
        if not text.rstrip().endswith(paragraph):
            yield "#"


def _indented(lines: Iterator[str]) -> Iterator[str]:
    return (f"  {line}" if line else line for line in lines)


def _check_readable(text: str, written: list[Learned]) -> None:
    """Refuse to hand out a file that reads back as something else, or not at all."""
    try:
        suite = parse_suite(text)
    except SuiteError as error:
        raise ExpectationError(f"a file can't hold what was learned: {error.problem}", error.path) from error
    common = [operator.to_mapping() for operator in suite.common_tool_expectations]
    read = [case.tool_expectations[len(common) :] for case in suite.cases]
    groups = [*([common] if common else []), *([each.to_mapping() for each in case] for case in read)]
    meant = [[chosen.candidate.operator.to_mapping() for chosen in learned.checks] for learned in written]
    if strict_key(groups) != strict_key([group for group in meant if group]):
        raise ExpectationError("a file can't hold a value of what was learned: it would be read as another one")
