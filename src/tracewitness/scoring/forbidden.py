"""Calls that must not be made, and those that were made all the same."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from msgspec import UNSET, Struct

from tracewitness.display import printable, show
from tracewitness.errors import ExpectationError
from tracewitness.matching import Compiled, compile_expected, parse
from tracewitness.trace import MalformedArguments, Problem, ToolCall, Trace, short_tool_name

from .expected import ExpectedCall, is_listing, read_call

__all__ = ["Violation", "read_forbidden", "violations_in"]

_FIELDS: Final = ("tool", "args")
_UNDECIDED: Final = "whether its arguments match can't be told"
_UNREAD: Final = "its arguments could not be read, so that it can't be ruled out"


class Violation(Struct, frozen=True):
    """A call that was made though it is forbidden, or that can't be ruled out.

    Attributes:
        rule: what is forbidden.
        position: the event's position in the trace; None where a problem of the trace has none.
        call: the call, or None where the trace has a problem that may hide one.
        reason: why a call can't be ruled out; empty where it was made.
    """

    rule: ExpectedCall
    position: int | None
    call: ToolCall | None = None
    reason: str = ""

    def __str__(self) -> str:
        rule, place = self.rule, "" if self.position is None else f" at event {self.position}"
        tool = printable(rule.tool, 60)
        such = "" if rule.args is UNSET else f" with args {show(rule.args)}"
        if not self.reason:
            return f"{tool}{such} was called{place}, which is forbidden"
        return f"{tool}{such} is forbidden, and may have been called{place}: {printable(self.reason)}"


class Rule(Struct, frozen=True):
    """A forbidden call, made ready.

    Attributes:
        call: what is forbidden.
        args: what the arguments must not match; None where the tool must not be called at all.
    """

    call: ExpectedCall
    args: Compiled | None


def read_forbidden(forbidden: object) -> list[Rule]:
    """Read what is forbidden.

    Arguments:
        forbidden: a list of tools' names, of mappings ``{tool, args?}`` or of `ExpectedCall`; or None. A call with
            more arguments than those of ``args`` is forbidden, too: another argument is no way round a ban. They are
            compared by ``subset``, as in the check ``tool_not_called``.

    Raises:
        ExpectationError: it is no such list; it says where.
    """
    if forbidden is None:
        return []
    if not is_listing(forbidden):
        raise ExpectationError(f"forbidden is a list of tools' names or of {{tool, args?}}, not {show(forbidden)}")
    return [_rule(item, index) for index, item in enumerate(forbidden)]


def _rule(item: object, index: int) -> Rule:
    call = read_call({"tool": item} if isinstance(item, str) else item, "forbidden", index, _FIELDS)
    if call.result is not UNSET:
        raise ExpectationError(
            "what is forbidden is a call, whatever its result; leave result out", ("forbidden", index)
        )
    if call.args is UNSET:
        return Rule(call, None)
    try:
        return Rule(call, compile_expected(parse(call.args), "subset"))
    except ExpectationError as error:
        raise error.under("forbidden", index, "args") from error.__cause__


def violations_in(trace: Trace, rules: Sequence[Rule]) -> tuple[Violation, ...]:
    """Return the calls of a trace that are forbidden, and what may hide one."""
    if not rules:
        return ()
    by_tool: dict[str, list[Rule]] = {}
    for rule in rules:
        by_tool.setdefault(rule.call.tool, []).append(rule)
    made = [violation for call in trace.index.calls for violation in _violations_of(call, by_tool)]
    hidden = [_may_hide(problem, rule) for problem in trace.problems if problem.hides_call for rule in rules]
    return (*made, *hidden)


def _violations_of(call: ToolCall, by_tool: Mapping[str, list[Rule]]) -> Iterator[Violation]:
    """Find the rules that a call breaks; a full resource name also counts as its last part."""
    short = short_tool_name(call.name)
    rules = by_tool.get(call.name, [])
    for rule in rules if short is None else [*rules, *by_tool.get(short, [])]:
        if rule.args is None:
            yield Violation(rule.call, call.position, call)
        elif isinstance(call.args, MalformedArguments):
            yield Violation(rule.call, call.position, call, _UNREAD)
        elif (forbidden := rule.args.decides(call.args)) is not False:
            yield Violation(rule.call, call.position, call, "" if forbidden else _UNDECIDED)


def _may_hide(problem: Problem, rule: Rule) -> Violation:
    return Violation(rule.call, problem.position, reason=f"{problem}")
