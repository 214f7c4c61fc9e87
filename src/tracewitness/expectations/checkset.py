"""A set of checks, compiled once, that passes once over each trace."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from tracewitness.display import show
from tracewitness.errors import ExpectationError
from tracewitness.expectations import wording
from tracewitness.expectations.claimed_actions import ClaimsWatch
from tracewitness.expectations.claims import ClaimWatch
from tracewitness.expectations.counting import (
    CallBudget,
    CallCounter,
    DuplicateWatch,
    ErrorBudget,
    EveryCallWatch,
    OtherToolsWatch,
    OutputCounter,
    TurnBudget,
)
from tracewitness.expectations.elapsed import elapsed_plan
from tracewitness.expectations.operators import Operator, TraceParsed, parse_operator
from tracewitness.expectations.ordering import (
    FollowedByWatch,
    LastToolWatch,
    SessionEndWatch,
    TerminalWatch,
    UncalledWatch,
)
from tracewitness.expectations.plan import Handler, Monitor, Plan, Subscription, ToolNames, checked_aliases
from tracewitness.expectations.provenance import GroundingWatch
from tracewitness.expectations.recovery import RecoveryWatch, RetryWatch
from tracewitness.expectations.scopes import scoped
from tracewitness.expectations.scores import ScoreWatch
from tracewitness.expectations.sequences import sequence_plan
from tracewitness.expectations.spending import CostBudget, TokenBudget
from tracewitness.expectations.state import StateWatch
from tracewitness.expectations.tool_schemas import SchemaWatch
from tracewitness.trace import Event, EventIndex, Message, Problem, Record, ToolCall, ToolResult, Trace, short_tool_name
from tracewitness.verdict import Status, Verdict

__all__ = ["CheckSet", "LiveCheck", "check", "compile_checks"]

_Handlers = tuple[tuple[int, Handler], ...]
#: What is known of a recorded tool name: who wants its calls, who wants its results, and its last part.
_Route = tuple[_Handlers, _Handlers, str | None]

#: Tool names come from recordings; the table of routes must not grow with whatever they hold.
_MOST_ROUTES = 4096


class _TraceParsedWatch(Monitor, gc=False):
    """Says whether the trace had problems; `CheckSet` knows those of the reader too."""

    @classmethod
    def compile(cls, operator: TraceParsed, names: ToolNames) -> Plan:  # noqa: ARG003 - no tool is concerned
        return Plan(operator, cls, [])

    def verdict(self, index: EventIndex) -> Verdict:
        return self._held((), wording.parsed, len(index))


class _FailedMonitor(Monitor, gc=False):
    """Stands in for a monitor that raised: the check could not be evaluated."""

    error: Exception

    def verdict(self, index: EventIndex) -> Verdict:  # noqa: ARG002 - the same for every monitor
        return Verdict(self.plan.operator, "error", (), (wording.check_failed, self.error))


_COMPILERS: dict[str, Any] = {
    "tool_called": CallCounter.compile,
    "tool_not_called": UncalledWatch.compile,
    "tool_input": CallCounter.compile,
    "tool_output": OutputCounter.compile,
    "last_tool": LastToolWatch.compile,
    "every_call": EveryCallWatch.compile,
    "followed_by": FollowedByWatch.compile,
    "terminal_tool": TerminalWatch.compile,
    "end_session": SessionEndWatch.compile,
    "trace_parsed": _TraceParsedWatch.compile,
    "sequence": sequence_plan,
    "no_other_tools": OtherToolsWatch.compile,
    "no_duplicate_calls": DuplicateWatch.compile,
    "max_errors": ErrorBudget.compile,
    "max_calls": CallBudget.compile,
    "max_turns": TurnBudget.compile,
    "args_from": GroundingWatch.compile,
    "claim": ClaimWatch.compile,
    "claims": ClaimsWatch.compile,
    "score": ScoreWatch.compile,
    "retry_after_error": RetryWatch.compile,
    "must_recover": RecoveryWatch.compile,
    "within_seconds": elapsed_plan,
    "max_cost": CostBudget.compile,
    "max_tokens": TokenBudget.compile,
    "valid_arguments": SchemaWatch.compile,
    "state": StateWatch.compile,
}


class _Watched(Struct, gc=False):
    """The monitors of one trace, and what of the tools' names could be ambiguous."""

    monitors: list[Monitor | None]
    full_names: dict[str, dict[str, None]] = {}


class CheckSet:
    """Checks that are compiled together. Make one with `compile_checks`; it keeps no state between traces.

    Attributes:
        operators: the checks, in order; `TraceParsed` comes last unless it was listed.
    """

    def __init__(self, operators: Iterable[Operator], aliases: Mapping[str, Iterable[str]] | None = None) -> None:
        given = tuple(operators)
        self._aliases = {name: tuple(others) for name, others in checked_aliases(aliases).items()}
        parsed = any(isinstance(operator, TraceParsed) for operator in given)
        self.operators = given if parsed else (*given, TraceParsed())
        self._names = ToolNames(self._aliases)
        self._plans = [
            scoped(_COMPILERS[operator.type_name](operator, self._names), self._names) for operator in self.operators
        ]
        self._messages = self._handlers("message", ())
        self._routes: dict[str, _Route] = {}
        self._named = [tuple(self._names.primary(tool) for tool in operator.all_tools) for operator in self.operators]

    def check(self, trace: Trace) -> list[Verdict]:
        """Check a trace: one verdict for each operator, in order.

        Never raises for what a trace holds. A trace without evidence breaks every check.
        """
        if trace.no_evidence is not None:
            words = (wording.no_evidence, trace.no_evidence)
            return [Verdict(operator, "broken", (), words) for operator in self.operators]
        index = trace.index
        watched = _Watched([None] * len(self._plans))
        self._pass_over(index.events if self._messages else index.steps, watched, index)
        verdicts = self._verdicts(watched, index)
        if index.problems or trace.reader_problems:
            verdicts = self._doubted(verdicts, trace.problems, watched)
        if watched.full_names:
            verdicts = self._disambiguated(verdicts, watched)
        return _from_text(verdicts) if trace.text_alone else verdicts

    def __reduce__(self) -> tuple[Any, ...]:
        """Be sent to another process as what it was made of."""
        return type(self), (self.operators, self._aliases)

    def watch(self) -> LiveCheck:
        """Begin to check a trace while it happens."""
        return LiveCheck(self)

    def _pass_over(  # noqa: C901 - flat on purpose, see below
        self, events: Iterable[Event], watched: _Watched, index: EventIndex
    ) -> None:
        """Hand each event to the monitors that asked for it.

        Flat on purpose: this is the loop that every check of every trace goes through.
        """
        monitors, plans, routes, messages = watched.monitors, self._plans, self._routes, self._messages
        calls = index.calls
        for event in events:
            kind = event.__class__
            if kind is ToolCall:
                calling, _, short = routes.get(event.name) or self._route(event.name)  # type: ignore[union-attr]
                if short is not None:
                    watched.full_names.setdefault(short, {})[event.name] = None  # type: ignore[union-attr]
                for number, handler in calling:
                    monitor = monitors[number]
                    try:
                        if monitor is None:
                            monitor = monitors[number] = plans[number].start()
                        handler(monitor, event)
                    except Exception as error:  # noqa: BLE001 - a check that raises is the verdict `error`
                        _fail(watched, plans, number, error)
            elif kind is ToolResult:
                if event.call_number is None:  # type: ignore[union-attr]
                    continue
                call = calls[event.call_number]  # type: ignore[union-attr]
                for number, handler in (routes.get(call.name) or self._route(call.name))[1]:
                    monitor = monitors[number]
                    try:
                        if monitor is None:
                            monitor = monitors[number] = plans[number].start()
                        handler(monitor, event, call)
                    except Exception as error:  # noqa: BLE001 - as above
                        _fail(watched, plans, number, error)
            elif messages and kind is Message:
                for number, handler in messages:
                    monitor = monitors[number]
                    try:
                        if monitor is None:
                            monitor = monitors[number] = plans[number].start()
                        handler(monitor, event)
                    except Exception as error:  # noqa: BLE001 - as above
                        _fail(watched, plans, number, error)

    def _route(self, name: str) -> _Route:
        """Find out who wants the events of a tool, once for each name."""
        if len(self._routes) >= _MOST_ROUTES:
            self._routes.clear()
        counted = self._names.counted_as(name)
        route = (self._handlers("call", counted), self._handlers("result", counted), short_tool_name(name))
        self._routes[name] = route
        return route

    def _handlers(self, kind: str, counted: tuple[str, ...]) -> _Handlers:
        def wants(subscription: Subscription) -> bool:
            return subscription.kind == kind and (subscription.wanted is None or subscription.wanted(counted))

        return tuple(
            (number, subscription.handler)
            for number, plan in enumerate(self._plans)
            for subscription in plan.subscriptions
            if wants(subscription)
        )

    def _verdicts(self, watched: _Watched, index: EventIndex) -> list[Verdict]:
        verdicts = []
        for plan, monitor in zip(self._plans, watched.monitors, strict=True):
            try:
                if monitor is not None:
                    verdicts.append(monitor.verdict(index))
                else:
                    verdicts.append(plan.untouched or plan.pristine.verdict(index))
            except Exception as error:  # noqa: BLE001 - a check that raises is the verdict `error`
                verdicts.append(_FailedMonitor(plan, error).verdict(index))
        return verdicts

    def _doubted(self, verdicts: list[Verdict], problems: tuple[Problem, ...], watched: _Watched) -> list[Verdict]:
        """Let no verdict stand that a problem leaves in doubt.

        Broken is what could be hidden by something unreadable. Where the recording is cut, what the rest of the run
        could still change is inconclusive.
        """
        cut = next((problem for problem in problems if problem.cut), None)
        unread = tuple(problem for problem in problems if not problem.cut)
        hiding = next((problem for problem in unread if problem.hides_call), None)
        doubted = []
        for plan, monitor, verdict in zip(self._plans, watched.monitors, verdicts, strict=True):
            if verdict.held and isinstance(plan.operator, TraceParsed):
                verdict = _not_parsed(plan.operator, unread or problems)
            elif verdict.held and hiding is not None and plan.universal:
                evidence = () if hiding.position is None else (hiding.position,)
                verdict = Verdict(plan.operator, "broken", evidence, (wording.may_hide_a_call, hiding))
            elif (
                cut is not None
                and verdict.status != "error"
                and not (monitor or plan.pristine).is_final(verdict.status)
            ):
                verdict = replace(verdict, status="inconclusive", words=(wording.cut_off, cut, verdict.words))
            doubted.append(verdict)
        return doubted

    def _disambiguated(self, verdicts: list[Verdict], watched: _Watched) -> list[Verdict]:
        """Break the checks on a name that two tools of the trace share."""
        shared = {
            self._names.primary(short): list(full)
            for short, full in watched.full_names.items()
            if len({self._names.primary(name) for name in full}) > 1
        }
        result = []
        for operator, named, verdict in zip(self.operators, self._named, verdicts, strict=True):
            tool = next((tool for tool in named if tool in shared), None)
            if tool is not None and verdict.status != "error":
                verdict = Verdict(operator, "broken", (), (wording.ambiguous, tool, shared[tool]))
            result.append(verdict)
        return result


def _not_parsed(operator: TraceParsed, problems: tuple[Problem, ...]) -> Verdict:
    """Say that a trace has problems: broken, or inconclusive where it was only cut."""
    positions = (problem.position for problem in problems if problem.position is not None)
    status: Status = "inconclusive" if all(problem.cut for problem in problems) else "broken"
    return Verdict(operator, status, tuple(dict.fromkeys(positions)), (wording.has_problems, problems))


def _fail(watched: _Watched, plans: list[Plan], number: int, error: Exception) -> None:
    """Put a failed monitor in the place of one that raised; the first error is kept."""
    if not isinstance(watched.monitors[number], _FailedMonitor):
        watched.monitors[number] = _FailedMonitor(plans[number], error)


def _from_text(verdicts: list[Verdict]) -> list[Verdict]:
    return [replace(verdict, words=(wording.from_text_alone, verdict.words)) for verdict in verdicts]


class LiveCheck:
    """Checks a trace while it happens, with the same monitors as a recorded one.

    >>> live = compile_checks([{"type": "tool_not_called", "tool": "delete"}]).watch()
    >>> live.feed({"call": "delete"})
    >>> live.verdicts()[0].status
    'broken'
    """

    def __init__(self, checks: CheckSet) -> None:
        self._checks = checks
        self._index = EventIndex()
        self._watched = _Watched([None] * len(checks.operators))
        self._records: list[Record] = []

    def feed(self, event: Any) -> None:
        """Add an event in neutral form."""
        trace = Trace.from_events([event])
        before = len(self._index.events)  # events are asked for each time, so that they are made one by one
        odd = trace.unreadable.get(0)
        self._index.extend(trace.records, {} if odd is None else {before: replace(odd, position=before)})
        self._checks._pass_over(self._index.events[before:], self._watched, self._index)

    def verdicts(self) -> list[Verdict]:
        """Return what the events so far say; more events may change it. Before the first there is no evidence."""
        if not len(self._index):
            return self._checks.check(Trace.from_events([]))
        verdicts = self._checks._verdicts(self._watched, self._index)
        if self._index.problems:
            verdicts = self._checks._doubted(verdicts, tuple(self._index.problems), self._watched)
        return self._checks._disambiguated(verdicts, self._watched)


def compile_checks(expectations: Iterable[Any], aliases: Mapping[str, Iterable[str]] | None = None) -> CheckSet:
    """Compile checks, once for any number of traces.

    Arguments:
        expectations: operators, or mappings as in a file.
        aliases: for a tool's name, its other names.

    Raises:
        ExpectationError: one is malformed; its path begins with its number in the list. Or an alias is.
    """
    if isinstance(expectations, (str, bytes, Mapping)) or not isinstance(expectations, Iterable):
        raise ExpectationError(f"expected a list of expectations, got {show(expectations)}")
    return CheckSet([_operator(number, given) for number, given in enumerate(expectations)], aliases)


def _operator(number: int, given: Any) -> Operator:
    if isinstance(given, Operator):
        return given
    try:
        return parse_operator(given)
    except ExpectationError as error:
        raise error.under(number) from None


def check(trace: Any, expectations: Iterable[Any], aliases: Mapping[str, Iterable[str]] | None = None) -> list[Verdict]:
    """Check a trace against expectations.

    Arguments:
        trace: what the agent did: a `Trace`, or whatever `read` takes.
        expectations: operators, or mappings as in a file.
        aliases: for a tool's name, its other names.

    Returns:
        One verdict for each expectation, in order; that of ``trace_parsed`` comes last unless it was listed.

    Raises:
        ExpectationError: an expectation is malformed.
        ReadError: ``trace`` is none, and can't be read.

    >>> from tracewitness import Trace
    >>> trace = Trace.from_events([{"call": "search", "args": {"city": "LAX"}}])
    >>> verdict, _ = check(trace, [{"type": "tool_called", "tool": "search", "args": {"city": "NYC"}}])
    >>> verdict.status, str(verdict.near_miss)
    ('broken', "args.city: expected 'NYC', got 'LAX'")
    """
    checks = compile_checks(expectations, aliases)
    if not isinstance(trace, Trace):
        from tracewitness.readers import read  # checking a trace needs none of the readers

        trace = read(trace)
    return checks.check(trace)
